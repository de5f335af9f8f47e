(** Where the condition of a sum of floats holds, it keeps its promise: Conditions.v implies the hypotheses of
    FloatPromises.v and Overflow.v.

    No hypothesis is left but that the records are floats of the type, clamped to the bounds. That IEEE additions give
    these sums is proved of types with k + 1 < 2^(l - 1). *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Permutations Sums Accuracy Trees Iterated Pairwise NumpyPairwise Kahan Rationals
  FloatPromises Conditions Types.
From Soundsum Require Binary64 Overflow Bounds.
Import ListNotations.
Open Scope R_scope.

(** What is kept of a sum f of floats of type T, rounded to type A: the promise, for at most n records; and F, which is
    f in IEEE arithmetic, does not overflow and is f. (Flocq has IEEE formats of k + 1 bits for k + 1 < 2^(l - 1).) *)
Section Kept.
Variables T A : float_type.
Notation prec := (mantissa A + 1)%Z.
Notation float := (Binary.binary_float prec (emax A)).

Definition payloads := float -> float -> { x : float | Binary.is_nan prec (emax A) x = true }.

Definition agrees (n : nat) (M : R) (f : list R -> R)
    (F : forall (p : Prec_gt_0 prec) (e : BinarySingleNaN.Prec_lt_emax prec (emax A)),
           payloads -> list float -> float) :=
  forall p e payload l,
    (length l <= n)%nat -> Forall (Overflow.record prec (emax A) M) l
    -> Binary.is_finite prec (emax A) (F p e payload l) = true
       /\ Binary.B2R prec (emax A) (F p e payload l) = f (map (Binary.B2R prec (emax A)) l).

Definition kept (L U : Q) (n : nat) (f : list R -> R) (known cut : Q -> Q) F :=
  (forall X (v : X -> R), (forall x, is_value T (v x)) -> promised X (clamped L U v) L U n f known cut)
  /\ agrees n (magnitude (Q2R L) (Q2R U)) f F.

Lemma allowed_facts proved reach n L U :
  sum_allowed proved reach T A (Some n) L U = true
  -> (1 <= mantissa A)%Z
     /\ (smallest_exponent A <= 0)%Z
     /\ Q2R L <= Q2R U
     /\ proved n = true
     /\ Q2R (reach n (Bounds.magnitude L U)) <= Overflow.Omega prec (emax A)
     /\ forall X (v : X -> R),
          (forall x, is_value T (v x))
          -> (forall x, within (Q2R L) (Q2R U) (clamped L U v x)) /\ (forall x, is_value A (clamped L U v x)).
Proof.
intros H. unfold sum_allowed in H. conditions.
destruct (float_bounds_are T L U ltac:(assumption)) as (_ & _ & _ & LU & VL & VU).
assert (HA : is_float_type A = true) by (unfold holds in *; conditions; assumption).
destruct (float_type_facts A HA) as (k1 & _ & e0). rewrite <- Q2R_largest.
split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. split; [now apply Q2R_le|].
intros X v V. split; intros x; [now apply clamped_within|].
apply (held_values A T); auto. now apply clamped_values.
Qed.

Lemma magnitude_is_positive L U : 0 <= magnitude (Q2R L) (Q2R U).
Proof. apply magnitude_pos. Qed.

Theorem iterated_keeps_its_promise n L U :
  iterated_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (iterated prec (smallest_exponent A) (fun x => negb (Z.even x)))
       (Bounds.iterated_error (mantissa A) (N.to_nat n)) (Bounds.iterated_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.iterated_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & _ & R & V). split.
- intros X v D. destruct (V X v D) as [W F].
  exact (iterated_promise (mantissa A) (smallest_exponent A) k1 X _ L U (N.to_nat n) LU W F).
- intros p e payload l Hl B. apply Overflow.iterated_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply magnitude_is_positive.
  + apply Rle_trans with (2 := R). unfold iterated_reach.
    rewrite Q2R_plus, !Q2R_mult, Q2R_minus, Q2R_count, Q2R_1, u_is_u, Q2R_magnitude.
    assert (u0 := u_pos prec). assert (M0 := magnitude_is_positive L U). set (M := magnitude _ _) in *.
    apply le_INR in Hl. set (a := INR (length l)) in *. set (b := INR (N.to_nat n)) in *.
    assert (a0 : a * (a - 1) <= b * (b - 1)).
    { unfold a, b in *. destruct (length l) as [|m]; [|rewrite S_INR in *; generalize (pos_INR m); intros; nra].
      destruct (N.to_nat n) as [|m']; [lra|]. rewrite S_INR. simpl (INR 0). generalize (pos_INR m'). intros. nra. }
    assert (a * M <= b * M) by (apply Rmult_le_compat_r; auto).
    assert (a * (a - 1) * (u prec * M) <= b * (b - 1) * (u prec * M))
      by (apply Rmult_le_compat_r; auto; apply Rmult_le_pos; lra).
    lra.
Qed.

Lemma pairwise_height_is n : pairwise_height n = Z.of_nat (Nat.log2_up (N.to_nat n)).
Proof.
unfold pairwise_height. destruct (le_lt_dec (N.to_nat n) 1) as [h|h].
- rewrite Z.log2_up_eqn0 by lia. rewrite Nat.log2_up_eqn0 by lia. reflexivity.
- apply Z.log2_up_unique; [assert (L := Nat.log2_up_pos _ h); lia|]. assert (L := Nat.log2_up_spec _ h).
  set (e := Nat.log2_up (N.to_nat n)) in *.
  assert (E : forall i : nat, Z.of_nat (2 ^ i) = (2 ^ Z.of_nat i)%Z) by (intros i; now rewrite Nat2Z.inj_pow).
  rewrite <- Nat2Z.inj_pred by (assert (P := Nat.log2_up_pos _ h); fold e in P; lia). rewrite <- !E. lia.
Qed.

Lemma numpy_height_is n : highest_numpy_tree n = Z.of_nat (safe_height (N.to_nat n)).
Proof.
unfold highest_numpy_tree, safe_height.
destruct (Z.ltb_spec (Z.of_N n) 8), (Nat.ltb_spec (N.to_nat n) 8); try lia.
destruct (Z.leb_spec (Z.of_N n) 128), (Nat.leb_spec (N.to_nat n) 128); try lia.
assert (E : ((Z.of_N n + 127) / 128)%Z = Z.of_N (N.of_nat ((N.to_nat n + 127) / 128))).
{ rewrite nat_N_Z, Nat2Z.inj_div. f_equal. lia. }
rewrite E. fold (pairwise_height (N.of_nat ((N.to_nat n + 127) / 128))). rewrite pairwise_height_is, Nnat.Nat2N.id. lia.
Qed.

Lemma is_low_means k (h : nat) : is_low k (Z.of_nat h) = true -> INR h * u (k + 1) < 1.
Proof.
intros H. unfold is_low in H. apply Q2R_below in H.
rewrite Q2R_mult, Q2R_Z, u_is_u, Q2R_1, <- INR_IZR_INZ in H. exact H.
Qed.

Lemma tree_reach_covers k h n M (m : nat) i :
  INR h * u (k + 1) < 1 -> 0 <= M -> (m <= N.to_nat n)%nat -> (i <= h)%nat
  -> forall Q, Q2R Q = M -> INR m * M + tree_accuracy (k + 1) i m M <= Q2R (tree_reach k (Z.of_nat h) n Q).
Proof.
intros low M0 Hm Hi Q EQ. unfold tree_reach.
assert (E : Q2R (1 - inject_Z (Z.of_nat h) * Bounds.u k) = 1 - INR h * u (k + 1))
  by now rewrite Q2R_minus, Q2R_mult, Q2R_Z, Q2R_1, u_is_u, <- INR_IZR_INZ.
assert (ne : ~ 1 - inject_Z (Z.of_nat h) * Bounds.u k == 0).
{ intros Z. apply Qeq_eqR in Z. rewrite E, Q2R_0 in Z. lra. }
rewrite Q2R_plus, !Q2R_mult, (Q2R_div _ _ ne), E, Q2R_mult, Q2R_Z, Q2R_count, u_is_u, EQ, <- INR_IZR_INZ.
assert (u0 := u_pos (k + 1)). apply le_INR in Hm, Hi. assert (m0 := pos_INR m). assert (i0 := pos_INR i).
set (r := INR i * u (k + 1)). set (s := INR h * u (k + 1)) in *.
assert (rs : 0 <= r <= s) by (unfold r, s; split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
assert (mM : INR m * M <= INR (N.to_nat n) * M) by now apply Rmult_le_compat_r.
assert (0 <= INR m * M) by now apply Rmult_le_pos.
unfold tree_accuracy. fold r. apply Rplus_le_compat; auto.
assert (r / (1 - r) <= s / (1 - s)).
{ unfold Rdiv. apply Rmult_le_compat; [lra|apply Rlt_le, Rinv_0_lt_compat; lra|lra|]. apply Rinv_le_contravar; lra. }
assert (0 <= r / (1 - r)) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
apply Rmult_le_compat; auto.
Qed.

Theorem pairwise_keeps_its_promise n L U :
  pairwise_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (pairwise prec (smallest_exponent A) (fun x => negb (Z.even x)))
       (Bounds.pairwise_error (mantissa A) (N.to_nat n)) (Bounds.pairwise_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.pairwise_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & low & R & V). cbv beta in low, R.
rewrite pairwise_height_is in low, R. apply is_low_means in low. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (pairwise_promise (mantissa A) (smallest_exponent A) k1 X _ L U (N.to_nat n) LU W F low).
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U).
  assert (h := Nat.log2_up_le_mono _ _ Hl).
  apply Overflow.pairwise_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_lt_trans with (2 := low). apply Rmult_le_compat_r; [generalize (u_pos prec); lra|now apply le_INR].
  + apply Rle_trans with (2 := R). apply tree_reach_covers; auto. apply Q2R_magnitude.
Qed.

Theorem kahan_keeps_its_promise n L U :
  kahan_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (kahan prec (smallest_exponent A)) (Bounds.kahan_error (mantissa A) (N.to_nat n))
       (Bounds.kahan_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.kahan_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)
            (Overflow.minus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & few & R & V). apply Z.leb_le in few.
assert (few' : (Z.of_nat (N.to_nat n) <= 2 ^ (mantissa A - 1))%Z) by lia. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (kahan_promise (mantissa A) (smallest_exponent A) k1 e0 X _ L U (N.to_nat n) LU W F few').
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U).
  assert (u0 := u_pos prec). apply le_INR in Hl.
  apply Overflow.kahan_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_trans with (INR (N.to_nat n) * u prec); [apply Rmult_le_compat_r; lra|].
    apply Rle_trans with (bpow radix2 (mantissa A - 1) * u prec).
    * apply Rmult_le_compat_r; [lra|]. rewrite INR_IZR_INZ, <- (IZR_Zpower radix2) by lia. now apply IZR_le.
    * unfold u. rewrite <- bpow_plus. change (/ 4) with (bpow radix2 (-2)). apply bpow_le. lia.
  + apply Rle_trans with (2 := R). unfold kahan_reach.
    rewrite Q2R_plus, !Q2R_mult, Q2R_3, Q2R_count, u_is_u, Q2R_magnitude. set (M := magnitude _ _) in *.
    assert (INR (length l) * M <= INR (N.to_nat n) * M) by now apply Rmult_le_compat_r.
    assert (3 * u prec * (INR (length l) * M) <= 3 * u prec * (INR (N.to_nat n) * M)) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.
End Kept.

Theorem numpy_pairwise_keeps_its_promise T n L U :
  numpy_pairwise_allowed T (Some n) L U = true
  -> kept T T L U (N.to_nat n) (numpy_pairwise (mantissa T + 1) (smallest_exponent T) (fun x => negb (Z.even x)))
       (Bounds.numpy_error true (mantissa T) (N.to_nat n)) (Bounds.numpy_error false (mantissa T) (N.to_nat n))
       (fun p e payload =>
          Binary64.numpy_sum _ (Overflow.zero (mantissa T + 1) (emax T))
            (Overflow.plus (mantissa T + 1) (emax T) p e payload)).
Proof.
intros H. unfold numpy_pairwise_allowed in H. apply andb_prop in H as [_ H].
apply allowed_facts in H as (k1 & e0 & LU & low & R & V). cbv beta in low, R.
rewrite numpy_height_is in low, R. apply is_low_means in low. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (numpy_pairwise_promise (mantissa T) (smallest_exponent T) k1 X _ L U (N.to_nat n) LU W F low).
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U). assert (h := safe_height_grows _ _ Hl).
  apply Overflow.numpy_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_lt_trans with (2 := low).
    apply Rmult_le_compat_r; [generalize (u_pos (mantissa T + 1)); lra|now apply le_INR].
  + apply Rle_trans with (2 := R). apply tree_reach_covers; auto. apply Q2R_magnitude.
Qed.

(** Each of these with the two signs apart: the halves are cut to n records and added on their own. *)
Theorem split_keeps_its_promise T A sized L U n f known cut F :
  split_allowed sized L U = true -> kept T A L U n f known cut F
  -> sized = false
     /\ forall X (v : X -> R),
          (forall x, is_value T (v x))
          -> let sum := split_sum f n X (clamped L U v) in
             sensitivity insert_delete sum (Q2R (Bounds.split_from_accuracy cut L U))
             /\ permuted_sensitivity symmetric sum (Q2R (Bounds.split_from_accuracy cut L U)).
Proof.
intros H [P _]. unfold split_allowed in H. conditions.
match goal with h : negb sized = true, o : negb (Bounds.one_sign L U) = true |- _ =>
  apply Bool.negb_true_iff in h; apply Bool.negb_true_iff in o; unfold Bounds.one_sign in o;
  apply Bool.orb_false_elim in o as [O1 O2]; split; [exact h|] end.
intros X v V. destruct (P X v V) as (_ & _ & _ & S & _). apply S.
assert (N : forall a b, Qle_bool a b = false -> Q2R b <= Q2R a).
{ intros a b h. apply Rnot_lt_le. intros l. apply Rlt_le, Q2R_le in l. congruence. }
apply N in O1, O2. rewrite Q2R_0 in O1, O2. lra.
Qed.
