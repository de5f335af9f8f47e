(** The laws of the coins, of uniform integers and of loops.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers.
Import ListNotations.
Open Scope R_scope.

(** * Limits *)
Lemma Rabs_le_inv x y : Rabs x <= y -> - y <= x <= y.
Proof. unfold Rabs. destruct Rcase_abs; lra. Qed.

Lemma tends_ext f g l : (forall n, f n = g n) -> Un_cv f l -> Un_cv g l.
Proof. intros E H e P. destruct (H e P) as [N K]. exists N. intros n Hn. rewrite <- E. auto. Qed.

Lemma tends_later f l k : Un_cv f l -> Un_cv (fun n => f (n + k)%nat) l.
Proof. intros H e P. destruct (H e P) as [N K]. exists N. intros n Hn. apply K. lia. Qed.

Lemma tends_from f l k : Un_cv (fun n => f (n + k)%nat) l -> Un_cv f l.
Proof.
intros H e P. destruct (H e P) as [N K]. exists (N + k)%nat. intros n Hn.
replace n with (n - k + k)%nat by lia. apply K. lia.
Qed.

Lemma tends_const c : Un_cv (fun _ => c) c.
Proof. intros e P. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto. Qed.

Lemma tends_scal c f l : Un_cv f l -> Un_cv (fun n => c * f n) (c * l).
Proof. intros H. apply (CV_mult (fun _ => c)); auto using tends_const. Qed.

(** A sequence whose distance from l is at most one that tends to 0. *)
Lemma tends_within f l g : (forall n, Rabs (f n - l) <= g n) -> Un_cv g 0 -> Un_cv f l.
Proof.
intros B H e P. destruct (H e P) as [N K]. exists N. intros n Hn. specialize (K n Hn). unfold R_dist in *.
rewrite Rminus_0_r in K. apply Rle_lt_trans with (1 := B n). apply Rle_lt_trans with (2 := K). apply Rle_abs.
Qed.

Lemma tends_powers a : 0 <= a < 1 -> Un_cv (fun n => a ^ n) 0.
Proof.
intros H e P. destruct (pow_lt_1_zero a) with (y := e) as [N K]; auto; [rewrite Rabs_pos_eq; lra|].
exists N. intros n Hn. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.

Lemma tends_total m (f : nat -> nat -> R) (l : nat -> R) :
  (forall i, (i < m)%nat -> Un_cv (fun n => f n i) (l i)) -> Un_cv (fun n => total m (f n)) (total m l).
Proof.
induction m as [|m IH]; intros H; [exact (tends_const 0)|].
apply (CV_plus (fun n => total m (f n)) (fun n => f n m)); auto.
Qed.

(** * Bernoulli(n/d) *)
Notation yes := (passes (fun b : bool => b)).
Notation no := (passes negb).

Lemma total_digit m (q : nat) x a b :
  (q < m)%nat
  -> total m (fun i => if Z.of_nat i =? Z.of_nat q then x else if Z.of_nat i <? Z.of_nat q then a else b)%Z
     = INR q * a + x + (INR m - 1 - INR q) * b.
Proof.
intros H. replace m with (q + (1 + (m - q - 1)))%nat at 1 by lia. rewrite !total_split.
rewrite (total_ext q _ (fun _ => a)), (total_ext (m - q - 1) _ (fun _ => b)), !total_const.
- cbn [total]. rewrite Nat.add_0_r, Z.eqb_refl. rewrite minus_INR, minus_INR by lia. simpl (INR 1). ring.
- intros i Hi. destruct (Z.eqb_spec (Z.of_nat (q + (1 + i))) (Z.of_nat q)); [lia|].
  destruct (Z.ltb_spec (Z.of_nat (q + (1 + i))) (Z.of_nat q)); [lia|reflexivity].
- intros i Hi. destruct (Z.eqb_spec (Z.of_nat i) (Z.of_nat q)); [lia|].
  destruct (Z.ltb_spec (Z.of_nat i) (Z.of_nat q)); [reflexivity|lia].
Qed.

Lemma weigh_digit q (p : program bool) w :
  (0 <= q < 256)%Z
  -> weigh (Draw (fun drawn => if drawn =? q then p else Return (drawn <? q))%Z) w
     = (IZR q * w true + weigh p w + (255 - IZR q) * w false) / 256.
Proof.
intros H. cbn [weigh]. unfold byte_mean. f_equal.
rewrite (total_ext 256 _ (fun i => if Z.of_nat i =? Z.of_nat (Z.to_nat q) then weigh p w
  else if Z.of_nat i <? Z.of_nat (Z.to_nat q) then w true else w false)%Z).
- rewrite total_digit by lia. rewrite INR_256, (INR_IZR_INZ (Z.to_nat q)), Z2Nat.id by lia. ring.
- intros i _. rewrite Z2Nat.id by lia. destruct (_ =? _)%Z; [reflexivity|]. cbn [weigh]. now destruct (_ <? _)%Z.
Qed.

Lemma bernoulli_step digits n d w :
  (0 < n < d)%Z
  -> weigh (bernoulli (S digits) n d) w
     = (IZR (256 * n / d) * w true + weigh (bernoulli digits ((256 * n) mod d) d) w
        + (255 - IZR (256 * n / d)) * w false) / 256.
Proof.
intros H. rewrite <- weigh_digit.
- cbn [bernoulli]. destruct (Z.ltb_spec 0 n); [|lia]. destruct (Z.ltb_spec n d); [|lia]. reflexivity.
- split; [apply Z.div_pos; lia|]. apply Z.div_lt_upper_bound; lia.
Qed.

Lemma part_range n d : (0 <= n <= d)%Z -> (0 < d)%Z -> 0 <= IZR n / IZR d <= 1.
Proof.
intros H D. apply IZR_lt in D. split.
- apply Rmult_le_pos; [apply IZR_le; lia|now apply Rlt_le, Rinv_0_lt_compat].
- apply Rmult_le_reg_r with (IZR d); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
  apply IZR_le. lia.
Qed.

Lemma bernoulli_never digits d w : weigh (bernoulli digits 0 d) w = w false.
Proof. destruct digits; reflexivity. Qed.

Lemma bernoulli_always digits d w : (0 < d)%Z -> weigh (bernoulli digits d d) w = w true.
Proof.
intros H. destruct digits; cbn [bernoulli]; rewrite Z.ltb_irrefl, andb_false_r; cbn [weigh];
  destruct (Z.ltb_spec 0 d); auto; lia.
Qed.

Theorem bernoulli_law digits n d :
  (0 <= n <= d)%Z -> (0 < d)%Z
  -> (IZR n / IZR d - / 256 ^ digits <= weigh (bernoulli digits n d) yes <= IZR n / IZR d)
     /\ (1 - IZR n / IZR d - / 256 ^ digits <= weigh (bernoulli digits n d) no <= 1 - IZR n / IZR d).
Proof.
intros H D. revert n H. induction digits as [|digits IH]; intros n H;
  (assert (D' : 0 < IZR d) by (apply IZR_lt; lia)); assert (X := part_range n d H D);
  assert (P := fun k => Rinv_0_lt_compat _ (pow_256_pos k));
  (destruct (Z.eq_dec n 0) as [->|n0];
   [rewrite !bernoulli_never; replace (0 / IZR d) with 0 by (field; lra); unfold passes; cbn [negb];
    match goal with |- context [256 ^ ?k] => generalize (P k) end; lra|]);
  (destruct (Z.eq_dec n d) as [->|nd];
   [rewrite !bernoulli_always by auto; replace (IZR d / IZR d) with 1 by (field; lra); unfold passes; cbn [negb];
    match goal with |- context [256 ^ ?k] => generalize (P k) end; lra|]).
- cbn [bernoulli]. replace (0 <? n)%Z with true by (symmetry; apply Z.ltb_lt; lia).
  replace (n <? d)%Z with true by (symmetry; apply Z.ltb_lt; lia). cbn [andb weigh]. simpl pow. rewrite Rinv_1. lra.
- rewrite !bernoulli_step by lia.
  assert (E := Z.div_mod (256 * n) d ltac:(lia)). assert (M := Z.mod_pos_bound (256 * n) d D).
  set (q := (256 * n / d)%Z) in *. set (r := ((256 * n) mod d)%Z) in *.
  destruct (IH r ltac:(lia)) as [[Y1 Y2] [N1 N2]].
  replace (yes true) with 1 by reflexivity. replace (yes false) with 0 by reflexivity.
  replace (no true) with 0 by reflexivity. replace (no false) with 1 by reflexivity.
  assert (E' : IZR n / IZR d = (IZR q + IZR r / IZR d) / 256).
  { apply (f_equal IZR) in E. rewrite plus_IZR, !mult_IZR in E. apply Rmult_eq_reg_r with (256 * IZR d); [|lra].
    replace (IZR n / IZR d * (256 * IZR d)) with (256 * IZR n) by (field; lra). rewrite E. field. lra. }
  rewrite E', pow_256, Rinv_mult. lra.
Qed.

(** One digit is enough for 1/2. *)
Lemma half_law digits w : weigh (bernoulli (S digits) 1 2) w = (w true + w false) / 2.
Proof.
rewrite bernoulli_step by lia. change (256 * 1 / 2)%Z with 128%Z. change ((256 * 1) mod 2)%Z with 0%Z.
rewrite bernoulli_never. field.
Qed.

(** * Bernoulli(exp(-n/d)) *)
Section Exponential.
Variable x : R.
Hypothesis x_range : 0 <= x <= 1.

Definition c m := x ^ m / INR (fact m).
Definition alternating m := total m (fun i => (-1) ^ i * c i).

(** With exact coins. sigma is 1 for the chance of true, -1 for that of false. *)
Fixpoint ideal (terms k : nat) (w : bool -> R) : R :=
  match terms with
  | O => 0
  | S terms => x / INR k * ideal terms (S k) w + (1 - x / INR k) * w (Nat.odd k)
  end.

Definition H sigma m := ((1 - c m) + sigma * (alternating m + alternating (S m) - 1)) / 2.

Lemma c_S m : c m * (x / INR (S m)) = c (S m).
Proof.
unfold c. rewrite fact_simpl, mult_INR. change (x ^ S m) with (x * x ^ m).
assert (INR (S m) <> 0) by (apply not_0_INR; lia).
assert (INR (fact m) <> 0) by apply INR_fact_neq_0. field. auto.
Qed.

Lemma H_S sigma m : H sigma (S m) - H sigma m = (1 + sigma * (-1) ^ m) / 2 * (c m - c (S m)).
Proof. unfold H, alternating. rewrite !total_S. change ((-1) ^ S m) with (-1 * (-1) ^ m). field. Qed.

Lemma parity sigma m (w : bool -> R) :
  w true = (1 + sigma) / 2 -> w false = (1 - sigma) / 2 -> w (Nat.odd (S m)) = (1 + sigma * (-1) ^ m) / 2.
Proof.
intros T F. rewrite Nat.odd_succ. assert (E : (-1) ^ m = if Nat.even m then 1 else -1).
{ induction m as [|m IH]; [reflexivity|]. rewrite Nat.even_succ, <- Nat.negb_even. change ((-1) ^ S m) with (-1 * (-1) ^ m).
  rewrite IH. destruct (Nat.even m); simpl; ring. }
rewrite E. destruct (Nat.even m); [rewrite T|rewrite F]; field.
Qed.

Lemma ideal_is sigma w terms m :
  w true = (1 + sigma) / 2 -> w false = (1 - sigma) / 2
  -> c m * ideal terms (S m) w = H sigma (m + terms) - H sigma m.
Proof.
intros T F. revert m. induction terms as [|terms IH]; intros m; [rewrite Nat.add_0_r; simpl; ring|]. cbn [ideal].
rewrite Rmult_plus_distr_l, <- Rmult_assoc, c_S, IH, (parity sigma m w T F).
replace (m + S terms)%nat with (S m + terms)%nat by lia. set (h := H sigma (S m + terms)).
assert (E := H_S sigma m).
replace (c m * ((1 - x / INR (S m)) * ((1 + sigma * (-1) ^ m) / 2)))
  with ((1 + sigma * (-1) ^ m) / 2 * (c m - c m * (x / INR (S m)))) by ring.
rewrite c_S, <- E. ring.
Qed.

Lemma H_0 sigma : H sigma 0 = 0.
Proof. unfold H, alternating, c. simpl. field. Qed.

Lemma alternating_tends : Un_cv alternating (exp (- x)).
Proof.
apply tends_from with (k := 1%nat). intros e P. destruct (exist_exp (- x)) as [l L] eqn:E.
assert (l = exp (- x)) as <- by (unfold exp; now rewrite E).
destruct (L e P) as [N K]. exists N. intros n Hn. specialize (K n Hn).
replace (alternating (n + 1)) with (sum_f_R0 (fun i => / INR (fact i) * (- x) ^ i) n); auto.
rewrite Nat.add_1_r. unfold alternating. clear. induction n as [|n IH]; [unfold c; simpl; field|].
rewrite total_S, <- IH. cbn [sum_f_R0]. f_equal. unfold c. replace (- x) with (-1 * x) by ring.
rewrite Rpow_mult_distr. unfold Rdiv. ring.
Qed.

Lemma H_tends sigma : Un_cv (H sigma) ((1 + sigma * (2 * exp (- x) - 1)) / 2).
Proof.
assert (C : Un_cv c 0) by apply cv_speed_pow_fact.
assert (A := alternating_tends).
assert (A' : Un_cv (fun n => alternating (S n)) (exp (- x))).
{ apply tends_ext with (fun n => alternating (n + 1)); [intros; now rewrite Nat.add_1_r|]. now apply tends_later. }
assert (S1 := CV_plus _ _ _ _ A A'). assert (S2 := tends_scal sigma _ _ S1).
assert (S3 := CV_minus _ _ _ _ S2 C). assert (S4 := CV_plus _ _ _ _ S3 (tends_const (1 - sigma))).
assert (S5 := tends_scal (/ 2) _ _ S4). cbv beta in S5.
match type of S5 with Un_cv _ ?l => replace ((1 + sigma * (2 * exp (- x) - 1)) / 2) with l by field end.
apply tends_ext with (2 := S5). intros n. unfold H. field.
Qed.

Lemma ideal_range terms k w : (forall b, 0 <= w b <= 1) -> (1 <= k)%nat -> 0 <= ideal terms k w <= 1.
Proof.
intros W. revert k. induction terms as [|terms IH]; intros k K; cbn [ideal]; [lra|].
assert (I := IH (S k) ltac:(lia)). assert (W' := W (Nat.odd k)). assert (1 <= INR k) by (apply (le_INR 1); lia).
assert (0 <= x / INR k <= 1).
{ split; [apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]|].
  apply Rmult_le_reg_r with (INR k); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
nra.
Qed.
End Exponential.

(** The coins are off by at most 256^-digits each. *)
Lemma first_failure_near terms digits k n d w :
  (0 <= n <= d)%Z -> (0 < d)%Z -> (forall b, 0 <= w b <= 1) -> (1 <= k)%nat
  -> Rabs (weigh (first_failure terms digits k n d) w - ideal (IZR n / IZR d) terms k w)
     <= INR terms * (2 * / 256 ^ digits).
Proof.
intros B D W. assert (X := part_range n d B D). set (x := IZR n / IZR d) in *. set (e := / 256 ^ digits).
assert (e0 : 0 < e) by (apply Rinv_0_lt_compat, pow_256_pos).
revert k. induction terms as [|terms IH]; intros k K.
{ simpl. rewrite Rminus_0_r, Rabs_R0. lra. }
cbn [first_failure ideal]. rewrite weigh_bind, weigh_bool. cbn [weigh]. specialize (IH (S k) ltac:(lia)).
assert (I := ideal_range x X terms (S k) w W ltac:(lia)).
set (i := ideal x terms (S k) w) in *. set (f := weigh (first_failure terms digits (S k) n d) w) in *.
assert (F : 0 <= f <= 1).
{ split; [apply weigh_nonneg|apply weigh_at_most; [lra|]]; intros; apply W. }
assert (dk : (0 < d * Z.of_nat k)%Z) by nia.
destruct (bernoulli_law digits n (d * Z.of_nat k) ltac:(nia) dk) as [Y N]. fold e in Y, N.
assert (E : IZR n / IZR (d * Z.of_nat k) = x / INR k).
{ unfold x. rewrite mult_IZR, <- INR_IZR_INZ. assert (0 < IZR d) by now apply IZR_lt.
  assert (1 <= INR k) by (apply (le_INR 1); lia). field. lra. }
assert (R : 0 <= x / INR k <= 1) by (rewrite <- E; apply part_range; nia).
rewrite E in Y, N. set (y := weigh _ yes) in *. set (z := weigh _ no) in *. set (r := x / INR k) in *.
assert (W' := W (Nat.odd k)). set (v := w (Nat.odd k)) in *.
rewrite S_INR. apply Rabs_le_inv in IH. apply Rabs_le.
assert (T : y * f + z * v - (r * i + (1 - r) * v) = r * (f - i) + (y - r) * f + (z - (1 - r)) * v) by ring.
rewrite T. assert (P1 : - e <= (y - r) * f <= 0) by (split; nra).
assert (P2 : - e <= (z - (1 - r)) * v <= 0) by (split; nra).
set (m := INR terms * (2 * e)) in *.
assert (M0 : 0 <= m) by lra. assert (P3 : - m <= r * (f - i) <= m) by (split; nra).
replace ((INR terms + 1) * (2 * e)) with (m + 2 * e) by (unfold m; ring). lra.
Qed.

Lemma small_of_fuel : Un_cv (fun n => INR n * (2 * / 256 ^ n)) 0.
Proof.
assert (B : forall n, INR n <= 2 ^ n).
{ induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. change (2 ^ S n) with (2 * 2 ^ n).
  assert (1 <= 2 ^ n) by (apply pow_R1_Rle; lra). lra. }
apply tends_within with (fun n => 2 * (/ 128) ^ n).
- intros n. rewrite Rminus_0_r, Rabs_pos_eq.
  + replace (2 * (/ 128) ^ n) with (2 ^ n * (2 * / 256 ^ n)).
    * apply Rmult_le_compat_r; auto. generalize (Rinv_0_lt_compat _ (pow_256_pos n)). lra.
    * rewrite pow_inv. replace 256 with (2 * 128) by ring. rewrite Rpow_mult_distr. field.
      split; apply pow_nonzero; lra.
  + apply Rmult_le_pos; [apply pos_INR|]. generalize (Rinv_0_lt_compat _ (pow_256_pos n)). lra.
- rewrite <- (Rmult_0_r 2). apply tends_scal, tends_powers. lra.
Qed.

Theorem bernoulli_exp_law n d :
  (0 <= n <= d)%Z -> (0 < d)%Z
  -> Un_cv (fun fuel => weigh (bernoulli_exp fuel fuel n d) yes) (exp (- (IZR n / IZR d)))
     /\ Un_cv (fun fuel => weigh (bernoulli_exp fuel fuel n d) no) (1 - exp (- (IZR n / IZR d))).
Proof.
intros B D. assert (X := part_range n d B D).
assert (G : forall sigma w, (forall b : bool, 0 <= w b <= 1) -> w true = (1 + sigma) / 2 -> w false = (1 - sigma) / 2
  -> Un_cv (fun fuel => weigh (bernoulli_exp fuel fuel n d) w)
       ((1 + sigma * (2 * exp (- (IZR n / IZR d)) - 1)) / 2)).
{ intros sigma w W T F.
  assert (N : Un_cv (fun fuel => weigh (bernoulli_exp fuel fuel n d) w - H (IZR n / IZR d) sigma fuel) 0).
  { apply tends_within with (2 := small_of_fuel). intros fuel. rewrite Rminus_0_r.
    assert (I := ideal_is (IZR n / IZR d) sigma w fuel 0 T F). rewrite H_0 in I.
    replace (c (IZR n / IZR d) 0) with 1 in I by (unfold c; simpl; field).
    rewrite Rminus_0_r, Rmult_1_l, Nat.add_0_l in I. rewrite <- I. now apply first_failure_near. }
  assert (S := CV_plus _ _ _ _ N (H_tends (IZR n / IZR d) sigma)). rewrite Rplus_0_l in S.
  apply tends_ext with (2 := S). intros fuel. cbv beta. ring. }
split.
- replace (exp (- (IZR n / IZR d))) with ((1 + 1 * (2 * exp (- (IZR n / IZR d)) - 1)) / 2) by field.
  apply G; unfold passes; [intros []; lra|lra|lra].
- replace (1 - exp (- (IZR n / IZR d))) with ((1 + -1 * (2 * exp (- (IZR n / IZR d)) - 1)) / 2) by field.
  apply G; unfold passes; cbn [negb]; [intros []; cbn [negb]; lra|lra|lra].
Qed.

(** * Successes before a failure *)
Lemma successes_weigh ones p v w :
  weigh (successes ones p v) w = total ones (fun i => weigh p yes ^ i * weigh p no * w (v + i)%nat).
Proof.
revert v. induction ones as [|ones IH]; intros v; [reflexivity|]. cbn [successes].
rewrite weigh_bind, weigh_bool, IH. change (S ones) with (1 + ones)%nat. rewrite total_split. cbn [total weigh].
rewrite Nat.add_0_r. rewrite Rplus_comm, Rplus_0_l. change (weigh p yes ^ 0) with 1. rewrite Rmult_1_l. f_equal.
rewrite <- total_scal.
apply total_ext. intros i _. replace (v + (1 + i))%nat with (S v + i)%nat by lia.
change (weigh p yes ^ (1 + i)) with (weigh p yes * weigh p yes ^ i). ring.
Qed.

(** * Again *)
Definition found {A} (w : A -> R) (r : option A) : R := match r with Some a => w a | None => 0 end.
Definition lost {A} (r : option A) : R := match r with Some _ => 0 | None => 1 end.

Lemma again_weigh attempts A (p : program (option A)) w :
  weigh (again attempts p) w = weigh p (found w) * total attempts (fun i => weigh p lost ^ i).
Proof.
induction attempts as [|attempts IH].
{ change (0 = weigh p (found w) * 0). ring. }
cbn [again]. rewrite weigh_bind.
rewrite (weigh_ext _ p _ (fun r => found w r + weigh (again attempts p) w * lost r)).
- rewrite (weigh_plus _ p (found w)), (weigh_scal _ p _ lost), IH. change (S attempts) with (1 + attempts)%nat. rewrite total_split.
  rewrite (total_ext attempts (fun i => weigh p lost ^ (1 + i)) (fun i => weigh p lost * weigh p lost ^ i))
    by reflexivity.
  rewrite (total_scal attempts (weigh p lost) (fun i => weigh p lost ^ i)). cbn [total]. change (weigh p lost ^ 0) with 1.
  ring.
- intros [a|]; simpl; ring.
Qed.

Lemma lost_range A (p : program (option A)) : 0 <= weigh p lost <= 1.
Proof. split; [apply weigh_nonneg|apply weigh_at_most; [lra|]]; intros []; simpl; lra. Qed.

Theorem again_law A (p : nat -> program (option A)) w a r :
  (forall x, 0 <= w x <= 1) -> r < 1
  -> Un_cv (fun fuel => weigh (p fuel) (found w)) a -> Un_cv (fun fuel => weigh (p fuel) lost) r
  -> Un_cv (fun fuel => weigh (again fuel (p fuel)) w) (a / (1 - r)).
Proof.
intros W R1 Ca Cr. set (an n := weigh (p n) (found w)) in *. set (rn n := weigh (p n) lost) in *.
set (ln n := weigh (again n (p n)) w).
assert (L : forall n, 0 <= ln n <= 1).
{ intros n. split; [apply weigh_nonneg|apply weigh_at_most; [lra|]]; intros; apply W. }
assert (R01 : forall n, 0 <= rn n <= 1) by (intros; apply lost_range).
assert (E : forall n, (1 - r) * ln n = an n * (1 - rn n ^ n) + ln n * (rn n - r)).
{ intros n. assert (T : (1 - rn n) * ln n = an n * (1 - rn n ^ n)).
  { unfold ln. rewrite again_weigh. fold (an n) (rn n). rewrite <- total_geometric. ring. }
  rewrite <- T. ring. }
assert (r0 : 0 <= r).
{ destruct (Rle_lt_dec 0 r) as [h|h]; auto. exfalso. destruct (Cr (- r) ltac:(lra)) as [N K].
  specialize (K N ltac:(lia)). unfold R_dist in K. apply Rabs_def2 in K. generalize (R01 N). lra. }
assert (P : Un_cv (fun n => rn n ^ n) 0).
{ destruct (Cr ((1 - r) / 2) ltac:(lra)) as [N K]. apply tends_from with (k := N).
  apply tends_within with (fun n => ((1 + r) / 2) ^ (n + N)).
  - intros n. rewrite Rminus_0_r, Rabs_pos_eq by (apply pow_le, R01). apply pow_incr. split; [apply R01|].
    specialize (K (n + N)%nat ltac:(lia)). unfold R_dist in K. apply Rabs_def2 in K. lra.
  - apply tends_later with (f := fun n => ((1 + r) / 2) ^ n). apply tends_powers. lra. }
assert (Q : Un_cv (fun n => ln n * (rn n - r)) 0).
{ apply tends_within with (fun n => Rabs (rn n - r)).
  - intros n. rewrite Rminus_0_r, Rabs_mult, (Rabs_pos_eq (ln n)) by apply L.
    generalize (L n) (Rabs_pos (rn n - r)). nra.
  - intros e He. destruct (Cr e He) as [N K]. exists N. intros n Hn. unfold R_dist in *.
    rewrite Rminus_0_r, Rabs_Rabsolu. auto. }
assert (S1 := CV_mult _ _ _ _ Ca (CV_minus _ _ _ _ (tends_const 1) P)).
assert (S2 := CV_plus _ _ _ _ S1 Q). assert (S3 := tends_scal (/ (1 - r)) _ _ S2). cbv beta in S3.
match type of S3 with Un_cv _ ?l => replace (a / (1 - r)) with l by (field; lra) end.
apply tends_ext with (2 := S3). intros n. cbv beta. rewrite <- E. field. lra.
Qed.

(** * Uniform integers *)
Lemma number_of_weigh count acc w :
  weigh (number_of count acc) w
  = total (256 ^ count)%nat (fun i => w (acc * 256 ^ Z.of_nat count + Z.of_nat i)%Z) / 256 ^ count.
Proof.
revert acc. induction count as [|count IH]; intros acc.
- cbn [number_of weigh Nat.pow total pow]. replace (_ + _)%Z with acc; [field|]. simpl. lia.
- cbn [number_of weigh]. unfold byte_mean.
  rewrite (total_ext 256 _ (fun b => / 256 ^ count * total (256 ^ count)%nat
    (fun i => w ((256 * acc + Z.of_nat b) * 256 ^ Z.of_nat count + Z.of_nat i)%Z)))
    by (intros b _; rewrite IH; unfold Rdiv; ring).
  rewrite total_scal. replace (256 ^ S count)%nat with (256 ^ count * 256)%nat by (rewrite Nat.pow_succ_r'; ring).
  rewrite total_product, pow_256.
  rewrite (total_ext 256 _ (fun b => total (256 ^ count)%nat
    (fun i => w (acc * 256 ^ Z.of_nat (S count) + Z.of_nat (i + 256 ^ count * b))%Z))).
  + generalize (pow_256_pos count). intros. field. lra.
  + intros b _. apply total_ext. intros i _. f_equal. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
    rewrite Nat2Z.inj_add, Nat2Z.inj_mul, Nat2Z.inj_pow. change (Z.of_nat 256) with 256%Z. ring.
Qed.
