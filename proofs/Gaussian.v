(** The law of the Gaussian sampler: P(Z = z) is exp(-z^2 / (2 sigma^2)) over the sum of these, sigma^2 = p/q.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private.
Import ListNotations.
Open Scope R_scope.

(** `bernoulli_exp`: true with probability exp(-n/d), for any n >= 0. *)
Fixpoint exp_coins (whole terms digits : nat) (n d : Z) : program bool :=
  match whole with
  | O => bernoulli_exp terms digits n d
  | S whole =>
      let* c := bernoulli_exp terms digits 1 1 in if c then exp_coins whole terms digits n d else Return false
  end.

Definition bernoulli_exp_any (terms digits : nat) (n d : Z) : program bool :=
  exp_coins (Z.to_nat (n / d)) terms digits (n mod d) d.

(** `_gaussian`, of sigma^2 = p/q, from Laplace noise of scale t; the code takes t = floor(sqrt(p/q)) + 1. *)
Definition distance (t p q y : Z) : Z := ((Z.abs y * q * t - p) ^ 2)%Z.

Definition gaussian_attempt (fuel : nat) (t p q : Z) : program (option Z) :=
  let* y := laplace fuel t 1 in
  let* accepted := bernoulli_exp_any fuel fuel (distance t p q y) (2 * p * q * t ^ 2) in
  Return (if accepted then Some y else None).

Definition gaussian_from (fuel : nat) (t p q : Z) : program Z := again fuel (gaussian_attempt fuel t p q).

Definition gaussian (fuel : nat) (p q : Z) : program Z := gaussian_from fuel (Z.sqrt (p / q) + 1) p q.

Lemma exp_coins_within whole i i' j j' n d :
  (i <= j)%nat -> (i' <= j')%nat -> extended (exp_coins whole i i' n d) (exp_coins whole j j' n d).
Proof.
intros H H'. induction whole as [|whole IH]; cbn [exp_coins]; [now apply first_failure_extended|].
apply extended_bind; [now apply first_failure_extended|]. intros []; [auto|constructor].
Qed.

Lemma exp_coins_extended whole i j n d :
  (i <= j)%nat -> extended (exp_coins whole i i n d) (exp_coins whole j j n d).
Proof. intros H. now apply exp_coins_within. Qed.

Theorem gaussian_extended i j p q : (i <= j)%nat -> extended (gaussian i p q) (gaussian j p q).
Proof.
intros H. apply again_extended; auto. apply extended_bind; [now apply laplace_extended|]. intros y.
apply extended_bind; [now apply exp_coins_extended|]. intros; apply extended_refl.
Qed.

(** noise.cpp draws it with its own coin, and gives up as it does for Laplace noise. *)
Fixpoint kernel_exp_coins (whole digits : nat) (n d : Z) : program bool :=
  match whole with
  | O => kernel_exp digits n d
  | S whole => let* c := kernel_exp digits 1 1 in if c then kernel_exp_coins whole digits n d else Return false
  end.

Definition kernel_gaussian (fuel : nat) (p q : Z) : program Z :=
  let t := (Z.sqrt (p / q) + 1)%Z in
  again fuel
    (let* y := kernel_laplace fuel t 1 in
     let n := distance t p q y in let d := (2 * p * q * t ^ 2)%Z in
     let* accepted := kernel_exp_coins (Z.to_nat (n / d)) fuel (n mod d) d in
     Return (if accepted then Some y else None)).

Definition kernel_gaussian_then_reference (fuel : nat) (p q : Z) (bytes : list Z) : option (Z * list Z) :=
  match run (kernel_gaussian fuel p q) bytes with Some r => Some r | None => run (gaussian fuel p q) bytes end.

Lemma kernel_exp_coins_alike whole digits n d :
  (0 < d)%Z -> alike (kernel_exp_coins whole digits n d) (exp_coins whole 255 digits n d).
Proof.
intros D. induction whole as [|whole IH]; [now apply kernel_exp_alike|].
apply alike_bind; [apply kernel_exp_alike; lia|]. intros []; [exact IH|apply alike_refl].
Qed.

Theorem the_gaussian_kernel_changes_nothing fuel p q bytes :
  (0 < p)%Z -> (0 < q)%Z -> (256 <= fuel)%nat
  -> kernel_gaussian_then_reference fuel p q bytes = run (gaussian fuel p q) bytes.
Proof.
intros P Q H. set (t := (Z.sqrt (p / q) + 1)%Z). assert (T : (0 < t)%Z) by (generalize (Z.sqrt_nonneg (p / q)); lia).
set (within := again fuel (let* y := laplace_within fuel fuel 255 256 t 1 in
  let* accepted := bernoulli_exp_any 255 fuel (distance t p q y) (2 * p * q * t ^ 2) in
  Return (if accepted then Some y else None))).
assert (K : alike (kernel_gaussian fuel p q) within).
{ apply alike_again, alike_bind; [now apply kernel_laplace_alike|]. intros y. apply alike_bind; [|intros; apply alike_refl].
  apply kernel_exp_coins_alike. rewrite Z.pow_2_r. nia. }
unfold kernel_gaussian_then_reference. rewrite K. destruct (run within bytes) as [r|] eqn:E; [|reflexivity].
symmetry. apply (extended_run _ within); auto. apply again_extended; [lia|]. apply extended_bind.
- apply laplace_within_extended; lia.
- intros y. apply extended_bind; [apply exp_coins_within; lia|]. intros; apply extended_refl.
Qed.

Lemma exp_coins_law whole n d :
  (0 <= n <= d)%Z -> (0 < d)%Z
  -> let l := exp (-1) ^ whole * exp (- (IZR n / IZR d)) in
     Un_cv (fun fuel => weigh (exp_coins whole fuel fuel n d) yes) l
     /\ Un_cv (fun fuel => weigh (exp_coins whole fuel fuel n d) no) (1 - l).
Proof.
intros B D. destruct (bernoulli_exp_law 1 1 ltac:(lia) ltac:(lia)) as [T F].
replace (- (1 / 1)) with (-1) in T, F by field. cbv zeta. induction whole as [|whole [IH1 IH0]].
- simpl pow. rewrite Rmult_1_l. now apply bernoulli_exp_law.
- cbn [exp_coins]. change (exp (-1) ^ S whole) with (exp (-1) * exp (-1) ^ whole). split.
  + apply tends_ext with (fun fuel =>
      weigh (bernoulli_exp fuel fuel 1 1) yes * weigh (exp_coins whole fuel fuel n d) yes
      + weigh (bernoulli_exp fuel fuel 1 1) no * 0).
    { intros fuel. symmetry. rewrite weigh_bind. apply weigh_bool. }
    match goal with |- Un_cv _ ?l => replace l with
      (exp (-1) * (exp (-1) ^ whole * exp (- (IZR n / IZR d))) + (1 - exp (-1)) * 0) by ring end.
    apply (CV_plus (fun fuel => _ * _) (fun fuel => _ * _)).
    * now apply (CV_mult (fun fuel => weigh _ _)).
    * apply (CV_mult (fun fuel => weigh _ _)); auto. apply tends_const.
  + apply tends_ext with (fun fuel =>
      weigh (bernoulli_exp fuel fuel 1 1) yes * weigh (exp_coins whole fuel fuel n d) no
      + weigh (bernoulli_exp fuel fuel 1 1) no * 1).
    { intros fuel. symmetry. rewrite weigh_bind. apply weigh_bool. }
    match goal with |- Un_cv _ ?l => replace l with
      (exp (-1) * (1 - exp (-1) ^ whole * exp (- (IZR n / IZR d))) + (1 - exp (-1)) * 1) by ring end.
    apply (CV_plus (fun fuel => _ * _) (fun fuel => _ * _)).
    * now apply (CV_mult (fun fuel => weigh _ _)).
    * apply (CV_mult (fun fuel => weigh _ _)); auto. apply tends_const.
Qed.

Theorem bernoulli_exp_any_law n d :
  (0 <= n)%Z -> (0 < d)%Z
  -> Un_cv (fun fuel => weigh (bernoulli_exp_any fuel fuel n d) yes) (exp (- (IZR n / IZR d)))
     /\ Un_cv (fun fuel => weigh (bernoulli_exp_any fuel fuel n d) no) (1 - exp (- (IZR n / IZR d))).
Proof.
intros N D. assert (E := Z.div_mod n d ltac:(lia)). assert (M := Z.mod_pos_bound n d D).
assert (Q : (0 <= n / d)%Z) by (apply Z.div_pos; lia).
assert (L := exp_coins_law (Z.to_nat (n / d)) (n mod d) d ltac:(lia) D). cbv zeta in L.
replace (exp (- (IZR n / IZR d))) with (exp (-1) ^ Z.to_nat (n / d) * exp (- (IZR (n mod d) / IZR d))); auto.
rewrite exp_powers, INR_IZR_INZ, Z2Nat.id, <- exp_plus by auto. f_equal.
apply (f_equal IZR) in E. rewrite plus_IZR, mult_IZR in E. assert (IZR d <> 0) by (apply not_0_IZR; lia).
rewrite E. field. auto.
Qed.

(** Windows that grow. *)
Lemma window_S M f : window (S M) f = window M f + f (Z.of_nat (S M)) + f (- Z.of_nat (S M))%Z.
Proof.
unfold window. replace (S (2 * S M)) with (1 + (S (2 * M) + 1))%nat by lia. rewrite !total_split. cbn [total].
set (x := total (2 * M) _). set (y := total (2 * M) _).
replace x with y.
- unfold x, y. rewrite !Rplus_0_l.
  replace (Z.of_nat 0 - Z.of_nat (S M))%Z with (- Z.of_nat (S M))%Z by lia.
  replace (Z.of_nat (1 + (S (2 * M) + 0)) - Z.of_nat (S M))%Z with (Z.of_nat (S M)) by lia.
  replace (Z.of_nat (1 + 2 * M) - Z.of_nat (S M))%Z with (Z.of_nat (2 * M) - Z.of_nat M)%Z by lia. ring.
- apply total_ext. intros i _. f_equal. lia.
Qed.

Lemma window_grows f : (forall z, 0 <= f z) -> Un_growing (fun M => window M f).
Proof. intros F M. rewrite window_S. generalize (F (Z.of_nat (S M))) (F (- Z.of_nat (S M))%Z). lra. Qed.

(** Limits between limits. *)
Lemma squeezed (a : nat -> R) (f g : nat -> nat -> R) (lo hi : nat -> R) l :
  (forall M n, f M n <= a n <= g M n) -> (forall M, Un_cv (f M) (lo M)) -> (forall M, Un_cv (g M) (hi M))
  -> Un_cv lo l -> Un_cv hi l -> Un_cv a l.
Proof.
intros B F G Lo Hi e E. destruct (Lo (e / 2) ltac:(lra)) as [M1 H1]. destruct (Hi (e / 2) ltac:(lra)) as [M2 H2].
set (M := max M1 M2). specialize (H1 M ltac:(lia)). specialize (H2 M ltac:(lia)).
destruct (F M (e / 2) ltac:(lra)) as [N1 K1]. destruct (G M (e / 2) ltac:(lra)) as [N2 K2].
exists (max N1 N2). intros n Hn. specialize (K1 n ltac:(lia)). specialize (K2 n ltac:(lia)). specialize (B M n).
unfold R_dist in *. apply Rabs_def2 in H1, H2, K1, K2. apply Rabs_def1; lra.
Qed.

Section Gaussian.
Variables t p q : Z.
Hypothesis t_pos : (0 < t)%Z.
Hypothesis p_pos : (0 < p)%Z.
Hypothesis q_pos : (0 < q)%Z.

Notation d := (2 * p * q * t ^ 2)%Z.
Notation mass := (laplace_mass t 1).
Definition kept (z : Z) := exp (- (IZR (distance t p q z) / IZR d)).

Lemma d_pos : (0 < d)%Z. Proof. nia. Qed.
Lemma distance_nonneg z : (0 <= distance t p q z)%Z. Proof. unfold distance. nia. Qed.

Lemma kept_range z : 0 < kept z <= 1.
Proof.
split; [apply exp_pos|]. unfold kept. rewrite <- exp_0.
assert (H : 0 <= IZR (distance t p q z) / IZR d).
{ apply Rmult_le_pos; [apply IZR_le, distance_nonneg|]. apply Rlt_le, Rinv_0_lt_compat, IZR_lt, d_pos. }
destruct H as [H|H]; [apply Rlt_le, exp_increasing; lra|]. rewrite <- H, Ropp_0. lra.
Qed.

Lemma mass_pos z : 0 < mass z.
Proof.
unfold laplace_mass. set (x := 1 / IZR t).
assert (X : 0 < x) by (apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat, IZR_lt]).
assert (exp (- x) < 1) by (rewrite <- exp_0; apply exp_increasing; lra). assert (Q0 := exp_pos (- x)).
apply Rmult_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra].
Qed.

Definition accepts fuel y := bernoulli_exp_any fuel fuel (distance t p q y) d.

Lemma accepts_law y : 
  Un_cv (fun fuel => weigh (accepts fuel y) yes) (kept y) /\ Un_cv (fun fuel => weigh (accepts fuel y) no) (1 - kept y).
Proof. apply bernoulli_exp_any_law; [apply distance_nonneg|apply d_pos]. Qed.

Lemma found_weigh fuel z :
  weigh (gaussian_attempt fuel t p q) (found (is z)) = weigh (laplace fuel t 1) (is z) * weigh (accepts fuel z) yes.
Proof.
unfold gaussian_attempt. rewrite weigh_bind, (Rmult_comm (weigh _ (is z))), <- weigh_scal. apply weigh_ext. intros y.
rewrite weigh_bind, weigh_bool. cbn [weigh found]. fold (accepts fuel y). unfold passes at 2 5.
destruct (Z.eqb_spec z y) as [->|ne]; ring.
Qed.

Lemma lost_weigh fuel :
  weigh (gaussian_attempt fuel t p q) lost = weigh (laplace fuel t 1) (fun y => weigh (accepts fuel y) no).
Proof.
unfold gaussian_attempt. rewrite weigh_bind. apply weigh_ext. intros y. rewrite weigh_bind, weigh_bool.
cbn [weigh lost]. fold (accepts fuel y). ring.
Qed.

Definition target z := mass z * kept z.

Lemma yes_and_no (c : program bool) : weigh c yes + weigh c no <= 1.
Proof.
rewrite <- weigh_plus. apply weigh_at_most; [lra|]. intros []; unfold passes; cbn [negb]; lra.
Qed.

Lemma target_adds_up : exists sum, 0 < sum /\ Un_cv (fun M => window M target) sum.
Proof.
assert (P : forall z, 0 < target z <= mass z).
{ intros z. unfold target. generalize (mass_pos z) (kept_range z). intros. split; nra. }
assert (G : Un_growing (fun M => window M target)) by (apply window_grows; intros; generalize (P z); lra).
assert (Gm : Un_growing (fun M => window M mass)) by (apply window_grows; intros; generalize (mass_pos z); lra).
destruct (growing_cv (fun M => window M target) G) as [sum C].
{ exists 1. intros x [M ->]. apply Rle_trans with (window M mass); [apply window_le; intros; apply P|].
  apply (growing_ineq (fun M => window M mass)); auto. apply masses_add_up; auto. lia. }
exists sum. split; auto. apply Rlt_le_trans with (window 0 target); [|now apply (growing_ineq (fun M => window M target))].
unfold window. cbn [Nat.mul total]. rewrite Rplus_0_l. apply P.
Qed.

Lemma lost_law sum :
  Un_cv (fun M => window M target) sum -> Un_cv (fun fuel => weigh (gaussian_attempt fuel t p q) lost) (1 - sum).
Proof.
intros C. apply (squeezed _
  (fun M fuel => window M (fun y => weigh (accepts fuel y) no * weigh (laplace fuel t 1) (is y)))
  (fun M fuel => 1 - window M (fun y => weigh (accepts fuel y) yes * weigh (laplace fuel t 1) (is y)))
  (fun M => window M (fun y => (1 - kept y) * mass y)) (fun M => 1 - window M (fun y => kept y * mass y))).
- intros M fuel. rewrite lost_weigh. split.
  + apply window_below. intros; apply weigh_passes_range.
  + assert (B := window_below t 1 (fun y => weigh (accepts fuel y) yes) M fuel ltac:(intros; apply weigh_passes_range)).
    assert (S : weigh (laplace fuel t 1) (fun y => weigh (accepts fuel y) no)
      + weigh (laplace fuel t 1) (fun y => weigh (accepts fuel y) yes) <= 1).
    { rewrite <- weigh_plus. apply weigh_at_most; [lra|]. intros y. generalize (yes_and_no (accepts fuel y)). lra. }
    lra.
- intros M. apply (tends_total _ (fun fuel i => weigh (accepts fuel (Z.of_nat i - Z.of_nat M)%Z) no
      * weigh (laplace fuel t 1) (is (Z.of_nat i - Z.of_nat M)%Z))
    (fun i => (1 - kept (Z.of_nat i - Z.of_nat M)%Z) * mass (Z.of_nat i - Z.of_nat M)%Z)).
  intros i _. apply (CV_mult (fun fuel => weigh _ _)); [apply accepts_law|apply laplace_tends; auto; lia].
- intros M. apply (CV_minus (fun _ => 1)); [apply tends_const|].
  apply (tends_total _ (fun fuel i => weigh (accepts fuel (Z.of_nat i - Z.of_nat M)%Z) yes
      * weigh (laplace fuel t 1) (is (Z.of_nat i - Z.of_nat M)%Z))
    (fun i => kept (Z.of_nat i - Z.of_nat M)%Z * mass (Z.of_nat i - Z.of_nat M)%Z)).
  intros i _. apply (CV_mult (fun fuel => weigh _ _)); [apply accepts_law|apply laplace_tends; auto; lia].
- apply tends_ext with (fun M => window M mass - window M target).
  + intros M. unfold window. rewrite <- total_minus. apply total_ext. intros. unfold target. ring.
  + apply CV_minus; auto. apply masses_add_up; auto. lia.
- apply (CV_minus (fun _ => 1)); [apply tends_const|]. apply tends_ext with (2 := C). intros M. apply window_ext.
  intros. unfold target. ring.
Qed.

(** exp(-z^2 / (2 sigma^2)) *)
Definition bell (z : Z) : R := exp (- (IZR (z ^ 2) * IZR q / (2 * IZR p))).

Lemma target_is : exists C, 0 < C /\ forall z, target z = C * bell z.
Proof.
set (x := 1 / IZR t). assert (T : 0 < IZR t) by now apply IZR_lt.
assert (X : 0 < x) by (apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat]).
assert (exp (- x) < 1) by (rewrite <- exp_0; apply exp_increasing; lra). assert (Q0 := exp_pos (- x)).
exists ((1 - exp (- x)) / (1 + exp (- x)) * exp (- (IZR p / (2 * IZR q * IZR t ^ 2)))). split.
{ apply Rmult_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra]. }
intros z. unfold target, laplace_mass, kept, bell. fold x. rewrite !Rmult_assoc. f_equal.
rewrite <- !exp_plus. f_equal. unfold x, distance. assert (P : 0 < IZR p) by now apply IZR_lt.
assert (Q : 0 < IZR q) by now apply IZR_lt.
replace (z ^ 2)%Z with (Z.abs z ^ 2)%Z by (rewrite <- Z.abs_pow, Z.abs_eq; nia).
rewrite !Z.pow_2_r, !mult_IZR, minus_IZR, !mult_IZR. field. lra.
Qed.

Theorem gaussian_law :
  exists N, 0 < N /\ Un_cv (fun M => window M bell) N
     /\ forall z, Un_cv (fun fuel => weigh (gaussian_from fuel t p q) (is z)) (bell z / N).
Proof.
destruct target_adds_up as (sum & T0 & C). destruct target_is as (c & c0 & E).
exists (sum / c). split; [|split].
- apply Rmult_lt_0_compat; auto. now apply Rinv_0_lt_compat.
- apply tends_ext with (fun M => / c * window M target).
  + intros M. rewrite <- window_scal. apply window_ext. intros. rewrite E. field. lra.
  + replace (sum / c) with (/ c * sum) by (field; lra). now apply tends_scal.
- intros z. replace (bell z / (sum / c)) with (target z / (1 - (1 - sum))) by (rewrite E; field; lra).
  apply (again_law Z (fun fuel => gaussian_attempt fuel t p q) (is z)); [intros; apply passes_range|lra| |now apply lost_law].
  apply tends_ext with (fun fuel => weigh (laplace fuel t 1) (is z) * weigh (accepts fuel z) yes);
    [intros; symmetry; apply found_weigh|].
  apply (CV_mult (fun fuel => weigh _ _)); [apply laplace_tends; auto; lia|apply accepts_law].
Qed.
End Gaussian.
