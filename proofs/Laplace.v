(** The law of the Laplace sampler: exactly P(Z = z) = (1 - q) / (1 + q) q^|z| with q = exp(-s/t).

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins.
Import ListNotations.
Open Scope R_scope.

(** * Uniform integers below n *)
Lemma div_of_nat a b v : (0 < b)%Z -> (Z.of_nat a < b)%Z -> ((Z.of_nat a + b * v) / b = v)%Z.
Proof. intros B H. rewrite Z.mul_comm, Z.div_add by lia. rewrite Z.div_small by lia. ring. Qed.

Lemma below_room n : (0 < n)%nat -> (Z.of_nat n <= 2 ^ bits_below (Z.of_nat n))%Z.
Proof.
intros H. unfold bits_below. destruct (Z.eq_dec (Z.of_nat n) 1) as [->|ne]; [simpl; lia|].
generalize (Z.log2_up_spec (Z.of_nat n) ltac:(lia)). lia.
Qed.

Lemma below_attempt n W :
  (0 < n)%nat
  -> let room := 2 ^ Z.to_nat (bits_below (Z.of_nat n)) in
     weigh
       (let* drawn := number_of (Z.to_nat (bytes_below (Z.of_nat n))) 0 in
        let u := drawn / 2 ^ (8 * bytes_below (Z.of_nat n) - bits_below (Z.of_nat n)) in
        Return (if u <? Z.of_nat n then Some u else None))%Z W
     = (total n (fun u => W (Some (Z.of_nat u))) + (room - INR n) * W None) / room
     /\ INR n <= room.
Proof.
intros H room. set (N := Z.of_nat n) in *. assert (R := below_room n H). fold N in R.
assert (b0 : (0 <= bits_below N)%Z) by apply Z.log2_up_nonneg.
set (spare := (8 * bytes_below N - bits_below N)%Z).
assert (s0 : (0 <= spare)%Z).
{ unfold spare, bytes_below. generalize (Z.div_mod (bits_below N + 7) 8) (Z.mod_pos_bound (bits_below N + 7) 8). lia. }
set (B := Z.to_nat (bits_below N)) in *. set (S := Z.to_nat spare). set (C := Z.to_nat (bytes_below N)).
assert (c0 : (0 <= bytes_below N)%Z) by (apply Z.div_pos; lia).
assert (E : (256 ^ C = 2 ^ S * 2 ^ B)%nat).
{ change 256%nat with (2 ^ 8)%nat. rewrite <- Nat.pow_mul_r, <- Nat.pow_add_r. f_equal. unfold C, S, B, spare in *. lia. }
assert (ER : 256 ^ C = INR (2 ^ S) * room).
{ unfold room. rewrite <- INR_256, <- pow_INR, E, mult_INR. f_equal. rewrite pow_INR. reflexivity. }
assert (room0 : 0 < room) by (apply pow_lt; lra).
assert (RB : (n <= 2 ^ B)%nat).
{ unfold B. apply Nat2Z.inj_le. rewrite Nat2Z.inj_pow, Z2Nat.id by auto. exact R. }
assert (RR : INR n <= room).
{ apply le_INR in RB. rewrite pow_INR in RB. exact RB. }
split; auto. rewrite weigh_bind, number_of_weigh. cbn [weigh]. rewrite E, ER, total_product.
rewrite (total_ext (2 ^ B) _
  (fun v => INR (2 ^ S) * W (if (Z.of_nat v <? N)%Z then Some (Z.of_nat v) else None))).
- rewrite total_scal. replace (2 ^ B)%nat with (n + (2 ^ B - n))%nat by lia. rewrite total_split.
  rewrite (total_ext n _ (fun u => W (Some (Z.of_nat u)))), (total_ext (2 ^ B - n) _ (fun _ => W None)), total_const.
  + rewrite minus_INR, (pow_INR 2 B) by auto. change (INR 2 ^ B) with room.
    assert (INR (2 ^ S) <> 0) by (apply not_0_INR, Nat.pow_nonzero; lia). field. lra.
  + intros i _. unfold N. destruct (Z.ltb_spec (Z.of_nat (n + i)) (Z.of_nat n)); [lia|reflexivity].
  + intros i I. unfold N. destruct (Z.ltb_spec (Z.of_nat i) (Z.of_nat n)); [reflexivity|lia].
- intros v _. rewrite <- total_const. apply total_ext. intros u U.
  assert (D : ((0 * 256 ^ Z.of_nat C + Z.of_nat (u + 2 ^ S * v)) / 2 ^ spare = Z.of_nat v)%Z).
  { rewrite Z.mul_0_l, Z.add_0_l, Nat2Z.inj_add, Nat2Z.inj_mul, Nat2Z.inj_pow. unfold S. rewrite Z2Nat.id by auto.
    apply div_of_nat; [now apply Z.pow_pos_nonneg|]. apply Nat2Z.inj_lt in U. rewrite Nat2Z.inj_pow in U. unfold S in U.
    rewrite Z2Nat.id in U by auto. exact U. }
  rewrite D. reflexivity.
Qed.

Theorem below_law n :
  (0 < n)%nat
  -> exists r, 0 <= r < 1
     /\ forall attempts w,
          weigh (below attempts (Z.of_nat n)) w = (1 - r ^ attempts) * (total n (fun u => w (Z.of_nat u)) / INR n).
Proof.
intros H. set (room := 2 ^ Z.to_nat (bits_below (Z.of_nat n))).
assert (n0 : 0 < INR n) by (now apply lt_0_INR). assert (room0 : 0 < room) by (apply pow_lt; lra).
assert (A := fun W => below_attempt n W H). cbv zeta in A. fold room in A.
assert (RR := proj2 (A (fun _ => 0))). exists ((room - INR n) / room). split.
{ split; [apply Rmult_le_pos; [lra|now apply Rlt_le, Rinv_0_lt_compat]|].
  apply Rmult_lt_reg_r with room; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
intros attempts w. unfold below. rewrite again_weigh.
rewrite (proj1 (A (found w))), (proj1 (A lost)). cbn [found lost].
rewrite (total_zero n (fun _ => 0)) by auto. rewrite Rplus_0_l, Rmult_1_r, Rmult_0_r, Rplus_0_r.
rewrite <- total_geometric. set (x := total n _). set (y := total attempts _). field. lra.
Qed.

(** * Discrete Laplace *)
Section Laplace.
Variables t s : nat.
Hypothesis t_pos : (0 < t)%nat.
Hypothesis s_pos : (0 < s)%nat.

Definition a := exp (- / INR t).

Lemma a_range : 0 < a < 1.
Proof.
split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
assert (0 < / INR t) by (apply Rinv_0_lt_compat, lt_0_INR; auto). lra.
Qed.

Lemma exp_powers x n : exp x ^ n = exp (INR n * x).
Proof.
induction n as [|n IH]; [simpl; now rewrite Rmult_0_l, exp_0|]. change (exp x ^ S n) with (exp x * exp x ^ n).
rewrite IH, S_INR, Rmult_plus_distr_r, exp_plus, Rmult_1_l. ring.
Qed.

Lemma a_powers u : exp (- (IZR (Z.of_nat u) / IZR (Z.of_nat t))) = a ^ u.
Proof. unfold a. rewrite exp_powers, <- !INR_IZR_INZ. f_equal. unfold Rdiv. ring. Qed.

Lemma a_t : exp (- (1 / 1)) = a ^ t.
Proof. unfold a. rewrite exp_powers. f_equal. assert (INR t <> 0) by (apply not_0_INR; lia). field. auto. Qed.

(** One attempt. The weights ask for no magnitude but m. *)
Definition hit (m x : nat) : R := if (x / s =? m)%nat then / 2 else 0.

(** What is asked of an attempt: its result has magnitude m and the right sign; if `again`, that it is rejected. *)
Definition asks (m : nat) (rejects : R) (w : option Z -> R) :=
  w None = rejects
  /\ forall x, (w (if Z.of_nat (x / s) =? 0 then None else Some (- Z.of_nat (x / s)))%Z + w (Some (Z.of_nat (x / s)))) / 2
       = hit m x.

Lemma signed_law digits x m rejects w :
  asks m rejects w -> weigh (signed (S digits) (Z.of_nat x / Z.of_nat s)) w = hit m x.
Proof.
intros [_ A]. unfold signed. rewrite weigh_bind, half_law. cbn [weigh]. rewrite <- Nat2Z.inj_div. apply A.
Qed.

Definition rest (fuel u : nat) : program (option Z) :=
  let* kept := bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t) in
  if kept then
    let* v := successes fuel (bernoulli_exp fuel fuel 1 1) 0 in
    signed fuel ((Z.of_nat u + Z.of_nat t * Z.of_nat v) / Z.of_nat s)%Z
  else Return None.

Lemma rest_weigh fuel u w :
  weigh (rest fuel u) w
  = weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) yes
      * total fuel (fun v => weigh (bernoulli_exp fuel fuel 1 1) yes ^ v * weigh (bernoulli_exp fuel fuel 1 1) no
                             * weigh (signed fuel ((Z.of_nat u + Z.of_nat t * Z.of_nat v) / Z.of_nat s)%Z) w)
    + weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) no * w None.
Proof.
unfold rest. rewrite weigh_bind, weigh_bool. f_equal. f_equal. rewrite weigh_bind, successes_weigh. reflexivity.
Qed.

Lemma rest_law u m rejects w :
  (u < t)%nat -> asks m rejects w
  -> Un_cv (fun fuel => weigh (rest fuel u) w)
       (a ^ u * total (S m * s) (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v)) + (1 - a ^ u) * rejects).
Proof.
intros U A. assert (t0 : (0 < Z.of_nat t)%Z) by lia.
destruct (bernoulli_exp_law (Z.of_nat u) (Z.of_nat t) ltac:(lia) t0) as [K1 K0]. rewrite a_powers in K1, K0.
destruct (bernoulli_exp_law 1 1 ltac:(lia) ltac:(lia)) as [T F]. rewrite a_t in T, F.
apply tends_from with (k := S (S m * s)).
apply tends_ext with (fun n =>
  let fuel := (n + S (S m * s))%nat in
  weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) yes
    * total (S m * s) (fun v => weigh (bernoulli_exp fuel fuel 1 1) yes ^ v * weigh (bernoulli_exp fuel fuel 1 1) no
                                * hit m (u + t * v))
  + weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) no * rejects).
- intros n. set (fuel := (n + S (S m * s))%nat). cbv zeta. rewrite rest_weigh. destruct A as [A0 A]. rewrite A0. f_equal. f_equal.
  rewrite (total_ext fuel _ (fun v => weigh (bernoulli_exp fuel fuel 1 1) yes ^ v * weigh (bernoulli_exp fuel fuel 1 1) no
                                * hit m (u + t * v))).
  + symmetry. apply total_beyond; [unfold fuel; lia|]. intros v [V _].
    assert (Hz : hit m (u + t * v) = 0); [|rewrite Hz; ring].
    unfold hit. destruct (Nat.eqb_spec ((u + t * v) / s) m) as [e|]; auto. exfalso.
    assert (M := Nat.mul_succ_div_gt (u + t * v) s ltac:(lia)). rewrite e in M. nia.
  + intros v _. f_equal. rewrite <- Nat2Z.inj_mul, <- Nat2Z.inj_add.
    unfold fuel. rewrite <- plus_n_Sm. eapply signed_law. split; eauto.
- set (M := (S m * s)%nat). set (k := S M).
  apply (tends_later (fun fuel => weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) yes
    * total M (fun v => weigh (bernoulli_exp fuel fuel 1 1) yes ^ v * weigh (bernoulli_exp fuel fuel 1 1) no
                        * hit m (u + t * v))
    + weigh (bernoulli_exp fuel fuel (Z.of_nat u) (Z.of_nat t)) no * rejects)).
  apply (CV_plus (fun fuel => _ * _) (fun fuel => _ * _)).
  + apply (CV_mult (fun fuel => weigh _ _)); auto.
    apply (tends_total M (fun fuel v => weigh (bernoulli_exp fuel fuel 1 1) yes ^ v
      * weigh (bernoulli_exp fuel fuel 1 1) no * hit m (u + t * v))
      (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v))).
    intros v _. apply (CV_mult (fun fuel => _ * _)); [|apply tends_const]. apply (CV_mult (fun fuel => _ ^ v)); auto.
    clear - T. induction v as [|v IH]; [exact (tends_const 1)|]. apply (CV_mult (fun fuel => weigh _ _)); auto.
  + apply (CV_mult (fun fuel => weigh _ _)); auto. apply tends_const.
Qed.

(** The chance that an attempt has the magnitude m with one of the signs. *)
Definition accepted (m : nat) := (1 - a ^ t) / (2 * INR t) * (a ^ (m * s) * ((1 - a ^ s) / (1 - a))).

Lemma hits_add_up m : 
  total t (fun u => a ^ u * total (S m * s) (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v))) / INR t
  = accepted m.
Proof.
assert (A := a_range). assert (t0 : 0 < INR t) by now apply lt_0_INR.
assert (E : total t (fun u => a ^ u * total (S m * s) (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v)))
  = (1 - a ^ t) * total (t * (S m * s)) (fun x => a ^ x * hit m x)).
{ rewrite total_product, total_swap, <- total_scal. apply total_ext. intros u _.
  rewrite <- !total_scal. apply total_ext. intros v _. rewrite pow_add, pow_mult. ring. }
assert (E2 : total (t * (S m * s)) (fun x => a ^ x * hit m x) = a ^ (m * s) * ((1 - a ^ s) / (1 - a)) / 2).
{ replace (t * (S m * s))%nat with (m * s + (s + (t * (S m * s) - S m * s)))%nat by nia.
  rewrite !total_split. rewrite (total_zero (m * s)), (total_zero (t * (S m * s) - S m * s)).
  - rewrite (total_ext s _ (fun i => a ^ (m * s) * / 2 * a ^ i)).
    + rewrite (total_scal s _ (fun i => a ^ i)). replace ((1 - a ^ s) / (1 - a)) with (total s (fun i => a ^ i)); [field|].
      rewrite <- total_geometric. field. lra.
    + intros i I. unfold hit. replace ((m * s + i) / s)%nat with m; [rewrite Nat.eqb_refl, pow_add; ring|].
      apply Nat.div_unique with i; lia.
  - intros i _. unfold hit. destruct (Nat.eqb_spec ((m * s + (s + i)) / s) m) as [e|]; [|ring].
    assert (M := Nat.mul_succ_div_gt (m * s + (s + i)) s ltac:(lia)). rewrite e in M. nia.
  - intros i I. unfold hit. destruct (Nat.eqb_spec (i / s) m) as [e|]; [|ring].
    assert (M := Nat.mul_div_le i s ltac:(lia)). rewrite e in M. nia. }
rewrite E, E2. unfold accepted. field. lra.
Qed.

Definition one_attempt (fuel : nat) := attempt fuel fuel fuel fuel (Z.of_nat t) (Z.of_nat s).

Lemma attempt_law m rejects w :
  asks m rejects w
  -> Un_cv (fun fuel => weigh (one_attempt fuel) w)
       (accepted m + rejects * (1 - (1 - a ^ t) / (INR t * (1 - a)))).
Proof.
intros A. destruct (below_law t t_pos) as (r & R & B). assert (t0 : 0 < INR t) by now apply lt_0_INR.
assert (C : Un_cv (fun fuel => (1 - r ^ fuel) * (total t (fun u => weigh (rest fuel u) w) / INR t))
  ((1 - 0) * (total t (fun u => a ^ u * total (S m * s) (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v))
                              + (1 - a ^ u) * rejects) / INR t))).
{ apply (CV_mult (fun fuel => 1 - r ^ fuel)).
  - apply (CV_minus (fun _ => 1)); [apply tends_const|]. now apply tends_powers.
  - unfold Rdiv. apply (CV_mult _ (fun _ => / INR t)); [|apply tends_const]. apply tends_total. intros u U.
    now apply rest_law. }
assert (E : (1 - 0) * (total t (fun u => a ^ u * total (S m * s) (fun v => (a ^ t) ^ v * (1 - a ^ t) * hit m (u + t * v))
                              + (1 - a ^ u) * rejects) / INR t)
  = accepted m + rejects * (1 - (1 - a ^ t) / (INR t * (1 - a)))).
{ rewrite total_plus. rewrite (total_ext t (fun u => (1 - a ^ u) * rejects) (fun u => rejects * (1 - a ^ u)))
    by (intros; ring).
  rewrite (total_scal t rejects (fun u => 1 - a ^ u)), (total_minus t (fun _ => 1) (fun u => a ^ u)), total_const,
    <- (hits_add_up m), <- total_geometric.
  set (x := total t _). set (y := total t _). generalize a_range. intros. field. lra. }
rewrite <- E. apply tends_ext with (2 := C). intros fuel. unfold one_attempt, attempt. rewrite weigh_bind, B.
reflexivity.
Qed.

Definition q := a ^ s.

Lemma q_range : 0 < q < 1.
Proof.
unfold q. assert (A := a_range). split; [apply pow_lt; lra|]. apply pow_lt_1_compat; [lra|lia].
Qed.

Lemma q_is : q = exp (- (INR s / INR t)).
Proof. unfold q, a. rewrite exp_powers. f_equal. unfold Rdiv. ring. Qed.

Definition mass (z : Z) : R := (1 - q) / (1 + q) * q ^ Z.abs_nat z.

Notation is z := (passes (Z.eqb z)).

Lemma asks_found z : asks (Z.abs_nat z) 0 (found (is z)).
Proof.
split; [reflexivity|]. intros x. unfold hit. set (k := (x / s)%nat). cbn [found]. unfold passes.
destruct (Nat.eqb_spec k (Z.abs_nat z)) as [e|e]; destruct (Z.eqb_spec (Z.of_nat k) 0); cbn [found];
  repeat match goal with |- context [(z =? ?y)%Z] => destruct (Z.eqb_spec z y) end; try lra; lia.
Qed.

Lemma asks_lost : asks 0 1 (@lost Z).
Proof.
split; [reflexivity|]. intros x. unfold hit. set (k := (x / s)%nat).
destruct (Nat.eqb_spec k 0) as [->|e]; cbn [lost Z.of_nat Z.eqb]; [lra|].
destruct (Z.eqb_spec (Z.of_nat k) 0); [lia|]. cbn [lost]. lra.
Qed.

Theorem laplace_law z : Un_cv (fun fuel => weigh (laplace fuel (Z.of_nat t) (Z.of_nat s)) (is z)) (mass z).
Proof.
assert (F := attempt_law _ _ _ (asks_found z)). assert (L := attempt_law _ _ _ asks_lost).
assert (A := a_range). assert (Q := q_range). assert (t0 : 0 < INR t) by now apply lt_0_INR.
assert (At : 0 < 1 - a ^ t) by (assert (a ^ t < 1) by (apply pow_lt_1_compat; [lra|lia]); lra).
rewrite Rmult_0_l, Rplus_0_r in F. rewrite Rmult_1_l in L.
set (lim := accepted 0 + (1 - (1 - a ^ t) / (INR t * (1 - a)))) in *.
assert (E : 1 - lim = (1 - a ^ t) * (1 + q) / (2 * INR t * (1 - a))).
{ unfold lim, accepted. cbn [Nat.mul pow]. fold q. field. lra. }
assert (P : 0 < 1 - lim).
{ rewrite E. apply Rmult_lt_0_compat; [|apply Rinv_0_lt_compat]; repeat apply Rmult_lt_0_compat; lra. }
replace (mass z) with (accepted (Z.abs_nat z) / (1 - lim)).
- unfold laplace, laplace_within. apply (again_law Z one_attempt (is z)); auto; [intros; apply passes_range|lra].
- rewrite E. unfold mass, accepted. rewrite Nat.mul_comm, pow_mult. fold q. field. lra.
Qed.
End Laplace.
