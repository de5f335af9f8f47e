(** The types, bounds and limits of Conditions.v: what a boolean of theirs says. *)

From Coq Require Import List ZArith QArith Qabs Qround Qreals Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import Sums Grid Rationals Conditions.
From Soundsum Require Overflow Bounds Modular.
Import ListNotations.
Open Scope R_scope.

Ltac conditions := repeat match goal with h : (_ && _)%bool = true |- _ => apply andb_prop in h; destruct h end.

(** How many records there may be: the limit, or fewer than 2^64 where none is known. *)
Definition at_most (limit : option N) {X} (d : list X) :=
  match limit with Some n => (length d <= N.to_nat n)%nat | None => (Z.of_nat (length d) < 2 ^ 64)%Z end.

Lemma fewer_records limit {X} (d : list X) :
  fewer_than_2_64 limit = true -> at_most limit d -> (Z.of_nat (length d) < 2 ^ 64)%Z.
Proof. destruct limit as [n|]; simpl; auto. intros H D. apply Z.ltb_lt in H. lia. Qed.

Lemma Q2R_count n : Q2R (count n) = INR (N.to_nat n).
Proof. unfold count. rewrite Q2R_Z, INR_IZR_INZ. f_equal. lia. Qed.

(** Integers. *)

Lemma integer_type_facts T :
  is_integer_type T = true
  -> (1 <= bits T)%Z /\ (least T <= 0 <= greatest T)%Z /\ Modular.N (least T) (greatest T) = (2 ^ bits T)%Z.
Proof.
intros H. apply Z.leb_le in H. assert (0 < 2 ^ (bits T - 1))%Z by (apply Z.pow_pos_nonneg; lia).
assert (2 ^ bits T = 2 * 2 ^ (bits T - 1))%Z by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
unfold least, greatest, Modular.N. destruct (signed T); lia.
Qed.

Lemma whole_is x : is_whole x = true -> (x == inject_Z (Qfloor x))%Q.
Proof. intros H. apply Qeq_bool_iff in H. now symmetry. Qed.

Lemma integer_bounds_are T L U :
  integer_bounds T L U = true
  -> (1 <= bits T)%Z
     /\ (least T <= 0 <= greatest T)%Z
     /\ Modular.N (least T) (greatest T) = (2 ^ bits T)%Z
     /\ exists l h, (L == inject_Z l)%Q /\ (U == inject_Z h)%Q /\ (least T <= l <= h)%Z /\ (h <= greatest T)%Z.
Proof.
intros H. unfold integer_bounds, in_integer_type in H. conditions.
destruct (integer_type_facts T ltac:(assumption)) as (B & Z0 & EN). split; [|split; [|split]]; auto.
exists (Qfloor L), (Qfloor U).
assert (EL : (L == inject_Z (Qfloor L))%Q) by now apply whole_is.
assert (EU : (U == inject_Z (Qfloor U))%Q) by now apply whole_is.
repeat match goal with h : Qle_bool _ _ = true |- _ => apply Qle_bool_iff in h end.
rewrite EL, EU in *. repeat match goal with h : (inject_Z _ <= inject_Z _)%Q |- _ => rewrite <- Zle_Qle in h end.
rewrite !Qfloor_Z in *. repeat split; auto.
Qed.

(** Floats. *)

Lemma float_type_facts T :
  is_float_type T = true -> (1 <= mantissa T)%Z /\ (2 <= emax T)%Z /\ (smallest_exponent T <= 0)%Z.
Proof.
intros H. unfold is_float_type in H. conditions. apply Z.leb_le in H, H0.
assert (2 ^ 1 <= emax T)%Z by (apply Z.pow_le_mono_r; lia). unfold smallest_exponent. lia.
Qed.

Notation is_value T x := (generic_format radix2 (FLT_exp (smallest_exponent T) (mantissa T + 1)) x).

Definition clamped {X} (L U : Q) (v : X -> R) (x : X) := clampR (Q2R L) (Q2R U) (v x).

Lemma Q2R_largest T : Q2R (largest T) = Overflow.Omega (mantissa T + 1) (emax T).
Proof. unfold largest, Overflow.Omega. now rewrite Q2R_mult, Q2R_Z, Q2R_pow2. Qed.

Lemma largest_is_a_value T : is_float_type T = true -> is_value T (Q2R (largest T)) /\ 0 <= Q2R (largest T).
Proof.
intros H. destruct (float_type_facts T H) as (k1 & e2 & _). rewrite Q2R_largest. unfold Overflow.Omega.
assert (0 < 2 ^ (mantissa T + 1))%Z by (apply Z.pow_pos_nonneg; lia). split.
- apply generic_format_FLT. exists (Float radix2 (2 ^ (mantissa T + 1) - 1) (emax T - (mantissa T + 1))).
  + reflexivity.
  + cbn [Fnum]. rewrite Z.abs_eq by lia. change (radix_val radix2) with 2%Z. lia.
  + cbn [Fexp]. unfold smallest_exponent. lia.
- apply Rmult_le_pos; [apply IZR_le; lia|apply bpow_ge_0].
Qed.

Lemma in_float_type_is_a_value T x : (1 <= mantissa T)%Z -> in_float_type T x = true -> is_value T (Q2R x).
Proof.
intros k1 H. unfold in_float_type in H. conditions.
match goal with h : Qeq_bool _ _ = true |- _ =>
  apply Qeq_bool_iff, Qeq_eqR in h; rewrite nearest_float_is_round in h by auto; rewrite <- h end.
assert (P : Prec_gt_0 (mantissa T + 1)) by (unfold Prec_gt_0; lia).
apply generic_format_round; auto with typeclass_instances.
Qed.

Lemma clamped_within {X} L U (v : X -> R) x : Q2R L <= Q2R U -> within (Q2R L) (Q2R U) (clamped L U v x).
Proof. intros LU. unfold clamped, clampR, within, Rmax, Rmin. repeat destruct Rle_dec; lra. Qed.

Lemma clamped_values {X} T L U (v : X -> R) x :
  is_value T (Q2R L) -> is_value T (Q2R U) -> is_value T (v x) -> is_value T (clamped L U v x).
Proof. intros A B C. unfold clamped, clampR, Rmax, Rmin. repeat destruct Rle_dec; auto. Qed.

Lemma float_bounds_are T L U :
  float_bounds T L U = true
  -> is_float_type T = true
     /\ (1 <= mantissa T)%Z
     /\ (smallest_exponent T <= 0)%Z
     /\ Q2R L <= Q2R U
     /\ is_value T (Q2R L)
     /\ is_value T (Q2R U).
Proof.
intros H. unfold float_bounds in H. conditions. destruct (float_type_facts T ltac:(assumption)) as (k1 & _ & e0).
repeat split; auto using in_float_type_is_a_value. now apply Q2R_le.
Qed.

Lemma held_values A T x : holds A T = true -> is_value T x -> is_value A x.
Proof.
intros H. unfold holds in H. conditions. destruct (float_type_facts A ltac:(assumption)) as (k1 & e2 & _).
assert (mantissa T <= mantissa A)%Z by now apply Z.leb_le. assert (exponent T <= exponent A)%Z by now apply Z.leb_le.
assert (emax T <= emax A)%Z by (apply Z.pow_le_mono_r; lia).
apply generic_inclusion_mag. intros _. unfold FLT_exp, smallest_exponent. lia.
Qed.
