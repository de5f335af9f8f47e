(** Shifted sums keep the bounds of Bounds.v, which are the ones the code claims.

    The rounded spread is the code's, and the moved records are records within 0 and it, so that every promise of
    FloatPromises.v and TowardZeroPromises.v holds of them for these bounds. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Accuracy Trees Iterated Pairwise NumpyPairwise Kahan TowardZero
  Shifted Rationals FloatPromises TowardZeroPromises.
From Soundsum Require Bounds.
Import ListNotations.
Open Scope R_scope.

Section ShiftedPromise.
Variables k eta : Z.
Hypothesis k_pos : (1 <= k)%Z.

Local Instance p_pos' : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp eta (k + 1))).

Variables (X : Type) (c : X -> R) (L U : Q).
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis c_within : forall x, within (Q2R L) (Q2R U) (c x).

Theorem shifted_promise :
  Q2R (Bounds.shifted_upper k eta L U) = U' (k + 1) eta (Q2R L) (Q2R U)
  /\ Q2R 0 <= Q2R (Bounds.shifted_upper k eta L U)
  /\ (forall x, within (Q2R 0) (Q2R (Bounds.shifted_upper k eta L U)) (moved (k + 1) eta X c (Q2R L) x))
  /\ (forall x, format (moved (k + 1) eta X c (Q2R L) x)).
Proof.
assert (E : Q2R (Bounds.shifted_upper k eta L U) = U' (k + 1) eta (Q2R L) (Q2R U))
  by (unfold Bounds.shifted_upper, U'; now rewrite nearest_float_is_round, Q2R_minus by auto).
rewrite E, Q2R_0. repeat split.
- apply U'_pos; auto with typeclass_instances.
- apply (moved_within (k + 1) eta X c (Q2R L) (Q2R U)); auto with typeclass_instances.
- apply (moved_within (k + 1) eta X c (Q2R L) (Q2R U)); auto with typeclass_instances.
- intros x. apply moved_is_a_float; auto with typeclass_instances.
Qed.

(** So the sums keep the inner method's bounds for 0 and U', and n L is added back exactly. *)
Notation top := (Bounds.shifted_upper k eta L U).
Notation shift := (moved (k + 1) eta X c (Q2R L)).
Hypothesis L_format : format (Q2R L).
Hypothesis c_format : forall x, format (c x).
Variable n : nat.

Definition shifted_promised (f : list R -> R) (known : Q -> Q) : Prop :=
  (forall d d',
     length d = n -> change_one d d'
     -> Rabs (f (map shift d) - f (map shift d')) <= Q2R (Bounds.from_accuracy true known 0 top))
  /\ (forall d,
        length d = n
        -> Rabs (f (map shift d) + INR n * Q2R L - sum (map c d))
             <= Q2R (Bounds.shifted_accuracy k n (known (Bounds.ideal false 0 top)) L U)).

Lemma shift_costs d :
  length d = n -> Rabs (sum (map shift d) + INR n * Q2R L - sum (map c d)) <= INR n * u (k + 1) * (Q2R U - Q2R L).
Proof.
intros Hd. rewrite <- (Rplus_0_l (INR n * u (k + 1) * _)).
apply (shifted_is_accurate (k + 1) eta X c (Q2R L) (Q2R U) LU L_format c_within c_format sum (fun _ => 0)); auto.
intros M l _ _ _. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
Qed.

Lemma add_back a s e b q :
  Rabs (a - s) <= b -> Rabs (s + q - e) <= INR n * u (k + 1) * (Q2R U - Q2R L)
  -> Rabs (a + q - e) <= b + INR n * u (k + 1) * (Q2R U - Q2R L).
Proof.
intros A B. replace (a + q - e) with ((a - s) + (s + q - e)) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

Lemma Q2R_shifted_accuracy b : Q2R (Bounds.shifted_accuracy k n b L U) = Q2R b + INR n * u (k + 1) * (Q2R U - Q2R L).
Proof. unfold Bounds.shifted_accuracy. now rewrite Q2R_plus, !Q2R_mult, Q2R_nat, u_is_u, Q2R_minus. Qed.

Lemma shifted_from_promise f known cut : promised X shift 0 top n f known cut -> shifted_promised f known.
Proof.
intros (S & _ & _ & _ & A & _). split; [exact S|]. intros d Hd. rewrite Q2R_shifted_accuracy.
exact (add_back _ _ _ _ _ (A d Hd) (shift_costs d Hd)).
Qed.

Theorem shifted_iterated_promise :
  shifted_promised (iterated (k + 1) eta (fun x => negb (Z.even x))) (Bounds.iterated_error k n).
Proof.
destruct shifted_promise as (_ & P & W & F).
now apply shifted_from_promise with (1 := iterated_promise k eta k_pos X shift 0 top n P W F).
Qed.

Theorem shifted_pairwise_promise :
  INR (Nat.log2_up n) * u (k + 1) < 1
  -> shifted_promised (pairwise (k + 1) eta (fun x => negb (Z.even x))) (Bounds.pairwise_error k n).
Proof.
intros H. destruct shifted_promise as (_ & P & W & F).
now apply shifted_from_promise with (1 := pairwise_promise k eta k_pos X shift 0 top n P W F H).
Qed.

Theorem shifted_numpy_pairwise_promise :
  INR (safe_height n) * u (k + 1) < 1
  -> shifted_promised (numpy_pairwise (k + 1) eta (fun x => negb (Z.even x))) (Bounds.numpy_error true k n).
Proof.
intros H. destruct shifted_promise as (_ & P & W & F).
now apply shifted_from_promise with (1 := numpy_pairwise_promise k eta k_pos X shift 0 top n P W F H).
Qed.

Theorem shifted_kahan_promise :
  (eta <= 0)%Z -> (Z.of_nat n <= 2 ^ (k - 1))%Z -> shifted_promised (kahan (k + 1) eta) (Bounds.kahan_error k n).
Proof.
intros E H. destruct shifted_promise as (_ & P & W & F).
now apply shifted_from_promise with (1 := kahan_promise k eta k_pos E X shift 0 top n P W F H).
Qed.

Theorem shifted_toward_zero_promise Omega :
  format Omega -> 0 <= Omega
  -> (forall d d',
        length d = n -> hamming d d'
        -> Rabs (total (k + 1) eta Omega (map shift d) - total (k + 1) eta Omega (map shift d'))
             <= Q2R (Bounds.toward_zero_sensitivity true k n 0 top))
     /\ (forall d d',
           length d = n -> change_one d d'
           -> coupled (orders d) (orders d')
                (fun o o' => Rabs (total (k + 1) eta Omega (map shift o) - total (k + 1) eta Omega (map shift o'))
                     <= Q2R (Bounds.toward_zero_sensitivity true k n 0 top)))
     /\ (forall d,
           length d = n -> INR n * magnitude (Q2R 0) (Q2R top) <= Omega
           -> Rabs (total (k + 1) eta Omega (map shift d) + INR n * Q2R L - sum (map c d))
                <= Q2R (Bounds.shifted_accuracy k n (Bounds.toward_zero_accuracy k n 0 top) L U)).
Proof.
intros FO PO. destruct shifted_promise as (E & P & W & F).
assert (F0 : format (Q2R 0)) by (rewrite Q2R_0; apply generic_format_0).
assert (Ft : format (Q2R top)) by (rewrite E; apply U'_format; auto with typeclass_instances).
split; [|split].
- intros d d'. now apply (toward_zero_hamming_promise k eta k_pos X shift 0 top n P W F).
- intros d d'. now apply (toward_zero_change_one_promise k eta k_pos X shift 0 top n P W F).
- intros d Hd H. rewrite Q2R_shifted_accuracy.
  refine (add_back _ _ _ _ _ _ (shift_costs d Hd)).
  apply (toward_zero_accuracy_promise k eta k_pos X shift 0 top n W F Omega FO PO d H). lia.
Qed.
End ShiftedPromise.
