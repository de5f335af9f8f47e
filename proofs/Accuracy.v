(** Sensitivity from accuracy (docs/theorems/lemmas.md).

    If every computed sum of n records of magnitude at most M is within a(M) of the exact one, sums of neighbours are
    within the ideal plus 2 a: U - L + 2 a(M) for a public n; max(M, U - L) + 2 a(M) for records cut to the first n;
    and, where negatives and the rest are cut and added apart, |b| + 2 a(|b|) for the worse of the two bounds b. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia.
From Soundsum Require Import Relations Sums.
Import ListNotations.
Open Scope R_scope.

Section FromAccuracy.

(** Which reals are values of the type, and the sum as it is computed. *)
Variables (value : R -> Prop) (f : list R -> R) (a : R -> R) (n : nat).
Hypothesis zero_is_a_value : value 0.

Definition records_up_to M (l : list R) := Forall (fun x => value x /\ Rabs x <= M) l.
Definition accurate_at := forall M l, 0 <= M -> length l = n -> records_up_to M l -> Rabs (f l - sum l) <= a M.

Definition accurate_up_to :=
  forall M l, 0 <= M -> (length l <= n)%nat -> records_up_to M l -> Rabs (f l - sum l) <= a M.

(** Records are prepared one by one: c clamps. *)
Variables (X : Type) (c : X -> R) (L U : R).
Hypothesis LU : L <= U.
Hypothesis c_value : forall x, value (c x).
Hypothesis c_within : forall x, within L U (c x).

Lemma magnitude_pos : 0 <= magnitude L U.
Proof. apply Rle_trans with (2 := Rmax_l _ _), Rabs_pos. Qed.

Lemma prepared u : records_up_to (magnitude L U) (map c u).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). split; auto using magnitude_bound. Qed.

Lemma prepared_within u : Forall (within L U) (map c u).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). apply c_within. Qed.

Lemma two_errors s s' t t' b e :
  Rabs (t - t') <= b -> Rabs (s - t) <= e -> Rabs (s' - t') <= e -> Rabs (s - s') <= b + 2 * e.
Proof. unfold Rabs; repeat destruct Rcase_abs; lra. Qed.

Theorem from_accuracy_change_one u v :
  accurate_at -> length u = n -> change_one u v -> Rabs (f (map c u) - f (map c v)) <= U - L + 2 * a (magnitude L U).
Proof.
intros A Hu H.
assert (Hv : length v = n).
{ apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now rewrite <- (Permutation_length P)|].
  now rewrite (Permutation_length Q), <- Hu, (Permutation_length P). }
apply two_errors with (sum (map c u)) (sum (map c v)).
- apply ideal_change_one; auto using prepared_within, map_change_one.
- apply A; auto using magnitude_pos, prepared; now rewrite map_length.
- apply A; auto using magnitude_pos, prepared; now rewrite map_length.
Qed.

Theorem from_accuracy_cut :
  accurate_up_to
  -> sensitivity insert_delete (fun u => f (map c (firstn n u))) (Rmax (magnitude L U) (U - L) + 2 * a (magnitude L U)).
Proof.
intros A.
apply truncation with (f := fun u => f (map c u)); intros u v Hu Hv H;
apply two_errors with (sum (map c u)) (sum (map c v));
try (apply A; auto using magnitude_pos, prepared; rewrite map_length; lia).
- apply Rle_trans with (2 := Rmax_l _ _).
  apply ideal_symmetric; auto using prepared_within, map_symmetric, insert_delete_is_symmetric.
- apply Rle_trans with (2 := Rmax_r _ _). apply ideal_change_one; auto using prepared_within, map_change_one.
Qed.
End FromAccuracy.

(** Negatives and the rest apart, each cut to n records, the two results added exactly. *)
Section Split.
Variables (value : R -> Prop) (f : list R -> R) (a : R -> R) (n : nat).
Hypothesis zero_is_a_value : value 0.
Variables (X : Type) (c : X -> R) (L U : R).
Hypothesis L_neg : L <= 0.
Hypothesis U_pos : 0 <= U.
Hypothesis c_value : forall x, value (c x).
Hypothesis c_within : forall x, within L U (c x).

Definition negative (x : X) := if Rlt_dec (c x) 0 then true else false.

Definition split_sum (u : list X) :=
  f (map c (firstn n (filter negative u))) + f (map c (firstn n (filter (fun x => negb (negative x)) u))).

Theorem from_accuracy_split :
  accurate_up_to value f a n
  -> sensitivity insert_delete split_sum (Rmax (Rabs L + 2 * a (Rabs L)) (Rabs U + 2 * a (Rabs U))).
Proof.
intros A. set (down x := Rmin 0 (c x)). set (up x := Rmax 0 (c x)).
assert (E : forall (keep : X -> bool) (c' : X -> R), (forall x, keep x = true -> c x = c' x) ->
  forall u, map c (firstn n (filter keep u)) = map c' (firstn n (filter keep u))).
{ intros keep c' H u. apply map_ext_in. intros x Hx. apply H.
  assert (I : In x (filter keep u)) by (rewrite <- (firstn_skipn n); apply in_or_app; now left).
  now apply filter_In in I. }
assert (D : sensitivity insert_delete (fun u => f (map down (firstn n u))) (Rabs L + 2 * a (Rabs L))).
{ assert (M : magnitude L 0 = Rabs L) by (unfold magnitude; rewrite Rabs_R0; apply Rmax_left, Rabs_pos).
  assert (G : Rabs L = 0 - L) by (rewrite Rabs_left1; lra).
  rewrite <- M at 2. replace (Rabs L) with (Rmax (magnitude L 0) (0 - L)) by (rewrite M, G; apply Rmax_left; lra).
  apply from_accuracy_cut with value; auto.
  - intros x; unfold down, Rmin; destruct Rle_dec; auto.
  - intros x; generalize (c_within x); unfold down, within, Rmin; destruct Rle_dec; lra. }
assert (P : sensitivity insert_delete (fun u => f (map up (firstn n u))) (Rabs U + 2 * a (Rabs U))).
{ assert (M : magnitude 0 U = Rabs U) by (unfold magnitude; rewrite Rabs_R0; apply Rmax_right, Rabs_pos).
  assert (G : Rabs U = U - 0) by (rewrite Rabs_pos_eq; lra).
  rewrite <- M at 2. replace (Rabs U) with (Rmax (magnitude 0 U) (U - 0)) by (rewrite M, G; apply Rmax_left; lra).
  apply from_accuracy_cut with value; auto.
  - intros x; unfold up, Rmax; destruct Rle_dec; auto.
  - intros x; generalize (c_within x); unfold up, within, Rmax; destruct Rle_dec; lra. }
intros u v H. unfold split_sum.
rewrite !(E negative down), !(E (fun x => negb (negative x)) up);
  try (intros x; unfold negative, down, up, Rmin, Rmax; destruct Rlt_dec, Rle_dec; intros; try discriminate; lra).
exact (splitting negative D P H).
Qed.
End Split.
