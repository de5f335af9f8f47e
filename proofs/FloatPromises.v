(** Sums of floats keep the bounds of Bounds.v, which are the ones the code claims: iterated, pairwise, numpy_pairwise
    and kahan.

    For each the executable bound, read as a real number, bounds what the page's theorem bounds: how far a neighbour's
    sum can be, in order or after a uniform secret permutation, and how far the sum is from the exact one. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Accuracy Trees Iterated Pairwise NumpyPairwise Kahan Rationals.
From Soundsum Require Bounds.
Import ListNotations.
Open Scope R_scope.

Section Floats.
Variables k eta : Z.
Hypothesis k_pos : (1 <= k)%Z.
Hypothesis eta_neg : (eta <= 0)%Z.

Local Instance p_pos : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp eta (k + 1))).
Notation even := (fun x => negb (Z.even x)).
Variables (X : Type) (c : X -> R) (L U : Q) (n : nat).
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis c_within : forall x, within (Q2R L) (Q2R U) (c x).
Hypothesis c_format : forall x, format (c x).

(** What soundsum promises of a sum f whose error is claimed to be at most `known`
    for a public n and `cut` for a limit n. *)
Definition promised (f : list R -> R) (known cut : Q -> Q) : Prop :=
  (forall d d',
     length d = n -> change_one d d' -> Rabs (f (map c d) - f (map c d')) <= Q2R (Bounds.from_accuracy true known L U))
  /\ sensitivity insert_delete (fun d => f (map c (firstn n d))) (Q2R (Bounds.from_accuracy false cut L U))
  /\ permuted_sensitivity symmetric (fun d => f (map c (firstn n d))) (Q2R (Bounds.from_accuracy false cut L U))
  /\ (Q2R L <= 0 <= Q2R U
      -> sensitivity insert_delete (split_sum f n X c) (Q2R (Bounds.split_from_accuracy cut L U))
         /\ permuted_sensitivity symmetric (split_sum f n X c) (Q2R (Bounds.split_from_accuracy cut L U)))
  (* and how far it is from the sum of the records kept *)
  /\ (forall d, length d = n -> Rabs (f (map c d) - sum (map c d)) <= Q2R (known (Bounds.ideal false L U)))
  /\ (forall d, Rabs (f (map c (firstn n d)) - sum (map c (firstn n d))) <= Q2R (cut (Bounds.ideal false L U)))
  /\ (Q2R L <= 0 <= Q2R U
      -> forall d, Rabs (split_sum f n X c d - split_sum sum n X c d) <= Q2R (Bounds.split_accuracy cut L U)).

Lemma promise_from_accuracy f known cut a_known a_cut :
  (forall M, (0 <= Q2R M)%R -> Q2R (known M) = a_known (Q2R M))
  -> (forall M, (0 <= Q2R M)%R -> Q2R (cut M) = a_cut (Q2R M))
  -> a_cut 0 = 0
  -> accurate_at (fun x => format x) f a_known n
  -> accurate_up_to (fun x => format x) f a_cut n
  -> promised f known cut.
Proof.
intros Ek Ec Z0 Ak Ac.
assert (M0 : 0 <= Q2R (Bounds.magnitude L U)) by (rewrite Q2R_magnitude; apply magnitude_pos).
assert (C : sensitivity insert_delete (fun d => f (map c (firstn n d))) (Q2R (Bounds.from_accuracy false cut L U))).
{ intros d d' H.
  apply Rle_trans
    with (1 := from_accuracy_cut (fun x => format x) f a_cut n X c (Q2R L) (Q2R U) LU c_format c_within Ac d d' H).
  unfold Bounds.from_accuracy. cbn [Bounds.ideal]. rewrite <- Q2R_magnitude.
  destruct (Bounds.is_zero (Bounds.magnitude L U)) eqn:Z.
  - apply Q2R_zero in Z. rewrite Z, Z0, Q2R_0. rewrite Q2R_magnitude in Z. unfold magnitude in Z.
    generalize (Rmax_l (Rabs (Q2R L)) (Rabs (Q2R U))) (Rmax_r (Rabs (Q2R L)) (Rabs (Q2R U))) (Rle_abs (- Q2R L))
      (Rle_abs (Q2R U)).
    rewrite Rabs_Ropp, Z. intros.
    unfold Rmax. destruct Rle_dec; lra.
  - rewrite Q2R_plus, Q2R_mult, Q2R_2, Q2R_max, Q2R_minus, Ec by auto. lra. }
assert (R : forall d, records_up_to (fun x => format x) (magnitude (Q2R L) (Q2R U)) (map c d)).
{ intros d. apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). split; auto.
  apply magnitude_bound, c_within. }
split; [|split; [exact C|split; [now apply permutation_symmetric|split; [|split; [|split]]]]].
- intros d d' Hd H. unfold Bounds.from_accuracy. cbn [Bounds.ideal]. destruct (Bounds.is_zero (U - L)) eqn:Z.
  + apply Q2R_zero in Z. rewrite Q2R_minus in Z. rewrite Q2R_0.
    assert (E : forall e : list X, map c e = repeat (Q2R L) (length e)).
    { induction e as [|x e IH]; [reflexivity|]. simpl. rewrite IH. f_equal. destruct (c_within x). lra. }
    assert (Len : length d = length d').
    { apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
      now rewrite (Permutation_length P), (Permutation_length Q). }
    rewrite !E, Len, Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  + rewrite Q2R_plus, Q2R_mult, Q2R_2, Q2R_minus, Ek, Q2R_magnitude by auto.
    apply from_accuracy_change_one with (fun x => format x) n; auto.
- intros [L0 U0].
  assert (S : sensitivity insert_delete (split_sum f n X c) (Q2R (Bounds.split_from_accuracy cut L U))).
  { unfold Bounds.split_from_accuracy.
    rewrite Q2R_max, !Q2R_plus, !Q2R_mult, Q2R_2, !Ec, !Q2R_abs by (rewrite Q2R_abs; apply Rabs_pos).
    apply from_accuracy_split with (fun x => format x); auto using generic_format_0. }
  split; [exact S|now apply permutation_symmetric].
- intros d Hd. cbn [Bounds.ideal]. rewrite Ek, Q2R_magnitude by auto.
  apply Ak; auto using magnitude_pos. now rewrite map_length.
- intros d. cbn [Bounds.ideal]. rewrite Ec, Q2R_magnitude by auto.
  apply Ac; auto using magnitude_pos. rewrite map_length, firstn_length. lia.
- intros [L0 U0] d. unfold Bounds.split_accuracy, split_sum.
  rewrite Q2R_plus, !Ec, !Q2R_abs by (rewrite Q2R_abs; apply Rabs_pos).
  assert (K : forall (keep : X -> bool) b, 0 <= b -> (forall x, keep x = true -> Rabs (c x) <= b) ->
    Rabs (f (map c (firstn n (filter keep d))) - sum (map c (firstn n (filter keep d)))) <= a_cut b).
  { intros keep b b0 H. apply Ac; auto; [rewrite map_length, firstn_length; lia|].
    apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx). split; auto. apply H.
    assert (I : In x (filter keep d)) by (rewrite <- (firstn_skipn n); apply in_or_app; now left).
    now apply filter_In in I. }
  assert (N := K (negative X c) (Rabs (Q2R L)) (Rabs_pos _)).
  assert (P := K (fun x => negb (negative X c x)) (Rabs (Q2R U)) (Rabs_pos _)). cbv beta in P.
  match type of N with _ -> Rabs (?p - ?q) <= _ =>
    match type of P with _ -> Rabs (?r - ?t) <= _ =>
      replace (p + r - (q + t)) with ((p - q) + (r - t)) by ring end end.
  apply Rle_trans with (1 := Rabs_triang _ _). apply Rplus_le_compat.
  + apply N. intros x. unfold negative. destruct Rlt_dec; [intros _|discriminate]. destruct (c_within x).
    rewrite !Rabs_left1; lra.
  + apply P. intros x. unfold negative. destruct Rlt_dec; [discriminate|intros _]. destruct (c_within x).
    rewrite !Rabs_pos_eq; lra.
Qed.

Lemma at_from_up_to f a : accurate_up_to (fun x => format x) f a n -> accurate_at (fun x => format x) f a n.
Proof. intros A M l M0 Hl. apply A; auto. lia. Qed.

Theorem iterated_promise : promised (iterated (k + 1) eta even) (Bounds.iterated_error k n) (Bounds.iterated_error k n).
Proof.
assert (E : forall M, 0 <= Q2R M -> Q2R (Bounds.iterated_error k n M) = iterated_accuracy (k + 1) n (Q2R M)).
{ intros M _. unfold Bounds.iterated_error, iterated_accuracy.
  now rewrite !Q2R_mult, Q2R_minus, Q2R_nat, Q2R_1, u_is_u. }
assert (A := iterated_is_accurate (k + 1) eta even n).
apply promise_from_accuracy with (iterated_accuracy (k + 1) n) (iterated_accuracy (k + 1) n); auto using at_from_up_to.
unfold iterated_accuracy. ring.
Qed.

Lemma tree_error_is_accuracy h M :
  INR h * u (k + 1) < 1 -> Q2R (Bounds.tree_error k h n M) = tree_accuracy (k + 1) h n (Q2R M).
Proof.
intros H. unfold Bounds.tree_error, tree_accuracy.
assert (E : Q2R (1 - Bounds.nat_Q h * Bounds.u k) = 1 - INR h * u (k + 1))
  by now rewrite Q2R_minus, Q2R_mult, Q2R_nat, Q2R_1, u_is_u.
rewrite !Q2R_mult, Q2R_div, E, !Q2R_mult, !Q2R_nat, u_is_u; [reflexivity|].
intros Z. apply Qeq_eqR in Z. rewrite E, Q2R_0 in Z. lra.
Qed.

Lemma tree_accuracy_of_zero h : tree_accuracy (k + 1) h n 0 = 0.
Proof. unfold tree_accuracy. ring. Qed.

Theorem pairwise_promise :
  INR (Nat.log2_up n) * u (k + 1) < 1
  -> promised (pairwise (k + 1) eta even) (Bounds.pairwise_error k n) (Bounds.pairwise_error k n).
Proof.
intros H. assert (A := pairwise_is_accurate (k + 1) eta even n H).
apply promise_from_accuracy with (pairwise_accuracy (k + 1) n) (pairwise_accuracy (k + 1) n); auto using at_from_up_to;
  try (intros M _; now apply tree_error_is_accuracy). apply tree_accuracy_of_zero.
Qed.

Theorem numpy_pairwise_promise :
  INR (safe_height n) * u (k + 1) < 1
  -> promised (numpy_pairwise (k + 1) eta even) (Bounds.numpy_error true k n) (Bounds.numpy_error false k n).
Proof.
intros H. assert (H' : INR (numpy_height n) * u (k + 1) < 1).
{ apply Rle_lt_trans with (2 := H). apply Rmult_le_compat_r; [generalize (u_pos (k + 1)); lra|].
  apply le_INR, height_is_safe. }
apply promise_from_accuracy with (tree_accuracy (k + 1) (numpy_height n) n) (tree_accuracy (k + 1) (safe_height n) n).
- intros M _. now apply tree_error_is_accuracy.
- intros M _. now apply tree_error_is_accuracy.
- apply tree_accuracy_of_zero.
- intros M l M0 Hl F.
  replace (tree_accuracy (k + 1) (numpy_height n) n M) with (tree_accuracy (k + 1) (numpy_height n) (length l) M)
    by now rewrite Hl.
  apply numpy_pairwise_error; auto with typeclass_instances. rewrite Hl. lia.
- apply numpy_pairwise_is_accurate; auto with typeclass_instances.
Qed.

Theorem kahan_promise :
  (Z.of_nat n <= 2 ^ (k - 1))%Z -> promised (kahan (k + 1) eta) (Bounds.kahan_error k n) (Bounds.kahan_error k n).
Proof.
intros H. assert (Hn : INR n * u (k + 1) <= / 4).
{ rewrite INR_IZR_INZ. apply IZR_le in H. change 2%Z with (radix_val radix2) in H. rewrite IZR_Zpower in H by lia.
  apply Rle_trans with (bpow radix2 (k - 1) * u (k + 1)).
  - apply Rmult_le_compat_r; [generalize (u_pos (k + 1)); lra|exact H].
  - unfold u. rewrite <- bpow_plus. change (/ 4) with (bpow radix2 (-2)). apply bpow_le. lia. }
unfold Bounds.kahan_error, Bounds.kahan_constant.
destruct ((7 <=? k) && (Z.of_nat n <=? 2 ^ (k - 5)))%Z%bool eqn:sharp.
- apply andb_prop in sharp as [k7 few]. apply Z.leb_le in k7, few.
  assert (small : u (k + 1) <= / 256) by (change (/ 256) with (bpow radix2 (-8)); apply bpow_le; lia).
  assert (few_u : INR n * u (k + 1) <= / 64).
  { rewrite INR_IZR_INZ. apply IZR_le in few. change 2%Z with (radix_val radix2) in few.
    rewrite IZR_Zpower in few by lia. apply Rle_trans with (bpow radix2 (k - 5) * u (k + 1)).
    - apply Rmult_le_compat_r; [generalize (u_pos (k + 1)); lra|exact few].
    - unfold u. rewrite <- bpow_plus. change (/ 64) with (bpow radix2 (-6)). apply bpow_le. lia. }
  assert (A := kahan_is_accurate_sharp (k + 1) eta eta_neg n ltac:(lia) small few_u).
  set (a := fun M => 9 / 4 * u (k + 1) * INR n * M).
  assert (E : forall M, 0 <= Q2R M -> Q2R ((9 # 4) * Bounds.u k * Bounds.nat_Q n * M) = a (Q2R M)).
  { intros M _. unfold a. rewrite !Q2R_mult, Q2R_nat, u_is_u. unfold Q2R; simpl. lra. }
  apply promise_from_accuracy with a a; auto using at_from_up_to. unfold a. ring.
- assert (E : forall M, 0 <= Q2R M -> Q2R (3 * Bounds.u k * Bounds.nat_Q n * M) = kahan_accuracy (k + 1) n (Q2R M)).
  { intros M _. unfold kahan_accuracy. now rewrite !Q2R_mult, Q2R_3, Q2R_nat, u_is_u. }
  assert (A := kahan_is_accurate (k + 1) eta eta_neg n Hn).
  apply promise_from_accuracy with (kahan_accuracy (k + 1) n) (kahan_accuracy (k + 1) n); auto using at_from_up_to.
  unfold kahan_accuracy. ring.
Qed.

End Floats.
