(** split (docs/theorems/split.md): negatives and the rest added apart, then together.

    With saturating halves the sum moves by at most M, or U - L for a public n, under every relation and for every n.
    With halves cut to n records and checked it moves by at most M. *)

From Coq Require Import List Permutation ZArith Reals Lia.
From Soundsum Require Import Relations Permutations Sums Checked Modular Saturating.
Import ListNotations.
Open Scope Z_scope.

Section Type_.
Variables lo hi : Z.
Hypothesis lo_hi : lo <= 0 <= hi.
Notation sat := (sat lo hi).
Notation saturating := (saturating lo hi).

(** Split: the two signs apart, then together. *)
Definition ups l := filter (fun x => 0 <=? x) l.
Definition downs l := filter (fun x => x <? 0) l.
Definition split l := sat (saturating (downs l) + saturating (ups l)).

Lemma split_eq l : split l = sat (Z.max lo (sumZ (downs l)) + Z.min hi (sumZ (ups l))).
Proof.
unfold split. destruct (saturating_up lo hi lo_hi (ups l)) as [-> _].
- apply Forall_forall. intros x H. apply filter_In in H. lia.
- destruct (saturating_down lo hi lo_hi (downs l)) as [-> _]; auto. apply Forall_forall. intros x H.
  apply filter_In in H. lia.
Qed.

Lemma filter_perm (f : Z -> bool) u v : Permutation u v -> Permutation (filter f u) (filter f v).
Proof.
induction 1; simpl; auto.
- destruct (f x); auto.
- destruct (f x), (f y); auto. constructor.
- now apply perm_trans with (filter f l').
Qed.

Lemma split_perm u v : Permutation u v -> split u = split v.
Proof.
intros P. rewrite !split_eq. unfold ups, downs.
now rewrite (sumZ_perm _ _ (filter_perm (fun x => 0 <=? x) _ _ P)),
(sumZ_perm _ _ (filter_perm (fun x => x <? 0) _ _ P)).
Qed.

Lemma split_cons z l :
  split (z :: l) = sat (Z.max lo (sumZ (downs l) + Z.min z 0) + Z.min hi (sumZ (ups l) + Z.max z 0)).
Proof.
rewrite split_eq. unfold ups, downs; simpl.
destruct (Z.leb_spec 0 z), (Z.ltb_spec z 0); simpl; try lia; do 2 f_equal; lia.
Qed.

Theorem split_symmetric L U u v :
  in_bounds L U u -> in_bounds L U v -> symmetric u v -> Z.abs (split u - split v) <= magnitudeZ L U.
Proof.
assert (K : forall z l, L <= z <= U -> Z.abs (split l - split (z :: l)) <= magnitudeZ L U).
{ intros z l H. rewrite split_cons, split_eq. apply Z.le_trans with (1 := sat_lipschitz lo hi _ _). unfold magnitudeZ.
  destruct (Z_le_gt_dec 0 z); [rewrite (Z.min_r z 0), (Z.max_l z 0) by lia|rewrite (Z.min_l z 0), (Z.max_r z 0) by lia];
  lia. }
intros Fu Fv H. apply symmetric_cases in H as [P|(z & [P|P])].
- rewrite (split_perm _ _ P). unfold magnitudeZ; lia.
- unfold in_bounds in Fv. rewrite P in Fv. apply Forall_inv in Fv. rewrite (split_perm _ _ P). now apply K.
- unfold in_bounds in Fu. rewrite P in Fu. apply Forall_inv in Fu. rewrite (split_perm _ _ P).
  rewrite <- Z.abs_opp. replace (- (split (z :: v) - split v)) with (split v - split (z :: v)) by ring. now apply K.
Qed.

Theorem split_change_one L U u v :
  L <= U -> in_bounds L U u -> in_bounds L U v -> change_one u v -> Z.abs (split u - split v) <= U - L.
Proof.
intros LU Fu Fv H. apply change_one_cases in H as [P|(x & y & w & P & Q)].
- rewrite (split_perm _ _ P). lia.
- unfold in_bounds in *. rewrite P in Fu. rewrite Q in Fv. apply Forall_inv in Fu, Fv. simpl in *.
  rewrite (split_perm _ _ P), (split_perm _ _ Q), !split_cons. apply Z.le_trans with (1 := sat_lipschitz lo hi _ _).
  generalize (sumZ (downs w)) (sumZ (ups w)); intros d e.
  assert (M : Z.abs (Z.max lo (d + Z.min x 0) - Z.max lo (d + Z.min y 0)) <= Z.abs (Z.min x 0 - Z.min y 0)) by lia.
  assert (M' : Z.abs (Z.min hi (e + Z.max x 0) - Z.min hi (e + Z.max y 0)) <= Z.abs (Z.max x 0 - Z.max y 0)) by lia.
  clear - Fu Fv LU M M'. lia.
Qed.

(** Where every sum fits the type, the split sum is the exact one. *)
Theorem split_exact L U n l :
  in_bounds L U l -> Z.of_nat (length l) <= n -> n * U <= hi -> lo <= n * L -> 0 <= n -> split l = sumZ l.
Proof.
intros F Hn HU HL N0. rewrite split_eq.
assert (S : sumZ l = sumZ (downs l) + sumZ (ups l)).
{ clear. induction l as [|x l IH]; [reflexivity|]. unfold ups, downs in *. simpl.
  destruct (Z.leb_spec 0 x), (Z.ltb_spec x 0); simpl; try lia. }
assert (D : (length (downs l) <= length l)%nat /\ (length (ups l) <= length l)%nat).
{ clear. unfold ups, downs. induction l as [|x l [IH IH']]; [simpl; lia|]. simpl.
  destruct (x <? 0), (0 <=? x); simpl; lia. }
assert (BD : in_bounds (Z.min L 0) 0 (downs l)).
{ apply Forall_forall. intros x Hx. apply filter_In in Hx as [Hx S']. unfold in_bounds in F.
  rewrite Forall_forall in F. generalize (F x Hx). lia. }
assert (BU : in_bounds 0 (Z.max U 0) (ups l)).
{ apply Forall_forall. intros x Hx. apply filter_In in Hx as [Hx S']. unfold in_bounds in F.
  rewrite Forall_forall in F. generalize (F x Hx). lia. }
assert (BL := sumZ_bounds _ _ _ F). apply sumZ_bounds in BD, BU. unfold Saturating.sat, clamp.
assert (A1 : lo <= sumZ (downs l)) by nia. assert (A2 : sumZ (ups l) <= hi) by nia.
assert (A3 : lo <= sumZ l) by nia. assert (A4 : sumZ l <= hi) by nia. lia.
Qed.

(** Halves cut to n records each and checked: what is added cannot leave the type, so each half is its exact sum. *)
Section CheckedHalves.
Variables (X : Type) (c : X -> Z) (L U : Z) (n : nat).
Hypothesis L_neg : L <= 0.
Hypothesis U_pos : 0 <= U.
Hypothesis c_within : forall x, L <= c x <= U.
Hypothesis fits_above : Z.of_nat n * U <= hi.
Hypothesis fits_below : lo <= Z.of_nat n * L.

Definition negative (x : X) := c x <? 0.
Notation half keep u := (checked lo hi (map c (firstn n (filter keep u)))).

Definition split_checked (u : list X) := (value (half negative u) + value (half (fun x => negb (negative x)) u))%R.

Theorem split_checked_is_exact u :
  exists s s',
    half negative u = Some s
    /\ half (fun x => negb (negative x)) u = Some s'
    /\ lo <= s <= 0
    /\ 0 <= s' <= hi
    /\ lo <= s + s' <= hi.
Proof.
assert (K : forall keep, (length (firstn n (filter keep u)) <= n)%nat) by (intros; apply firstn_le_length).
assert (I : forall keep x, In x (firstn n (filter keep u)) -> keep x = true).
{ intros keep x H. assert (H' : In x (filter keep u)) by (rewrite <- (firstn_skipn n); apply in_or_app; now left).
  now apply filter_In in H'. }
assert (BD : in_bounds L 0 (map c (firstn n (filter negative u)))).
{ apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & H). apply I in H. unfold negative in H.
  generalize (c_within x). lia. }
assert (BU : in_bounds 0 U (map c (firstn n (filter (fun x => negb (negative x)) u)))).
{ apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & H). apply I in H. unfold negative in H.
  generalize (c_within x). lia. }
do 2 eexists. split; [apply (checked_exact lo hi lo_hi L 0 (Z.of_nat n)); auto; rewrite ?map_length;
  try apply inj_le, K; lia|].
split; [apply (checked_exact lo hi lo_hi 0 U (Z.of_nat n)); auto; rewrite ?map_length; try apply inj_le, K; lia|].
apply sumZ_bounds in BD, BU. rewrite !map_length in *.
generalize (K negative) (K (fun x => negb (negative x))). intros. repeat split; nia.
Qed.

Theorem split_checked_insert_delete : sensitivity insert_delete split_checked (IZR (magnitudeZ L U)).
Proof.
set (down x := Z.min 0 (c x)). set (up x := Z.max 0 (c x)).
assert (E : forall (keep : X -> bool) (c' : X -> Z), (forall x, keep x = true -> c x = c' x) ->
  forall u, map c (firstn n (filter keep u)) = map c' (firstn n (filter keep u))).
{ intros keep c' H u. apply map_ext_in. intros x Hx. apply H.
  assert (I : In x (filter keep u)) by (rewrite <- (firstn_skipn n); apply in_or_app; now left).
  now apply filter_In in I. }
assert (D : sensitivity insert_delete (fun u => value (checked lo hi (map down (firstn n u))))
      (IZR (Z.max (magnitudeZ L 0) (0 - L)))).
{ apply checked_cut; auto; try lia. intros x. generalize (c_within x). unfold down. lia. }
assert (P : sensitivity insert_delete (fun u => value (checked lo hi (map up (firstn n u))))
      (IZR (Z.max (magnitudeZ 0 U) (U - 0)))).
{ apply checked_cut; auto; try lia. intros x. generalize (c_within x). unfold up. lia. }
intros u v H. unfold split_checked.
rewrite !(E negative down), !(E (fun x => negb (negative x)) up);
  try (intros x; unfold negative, down, up; destruct (Z.ltb_spec (c x) 0); intros; try discriminate; lia).
replace (IZR (magnitudeZ L U))
  with (Rmax (IZR (Z.max (magnitudeZ L 0) (0 - L))) (IZR (Z.max (magnitudeZ 0 U) (U - 0)))).
- exact (splitting negative D P H).
- unfold Rmax.
  destruct Rle_dec as [h|h]; [apply le_IZR in h|apply Rnot_le_lt, lt_IZR in h]; f_equal; unfold magnitudeZ in *; lia.
Qed.

Theorem split_checked_permuted : permuted_sensitivity symmetric split_checked (IZR (magnitudeZ L U)).
Proof. apply permutation_symmetric, split_checked_insert_delete. Qed.
End CheckedHalves.

(** Modular halves, joined modulo 2^w, are the modular sum. *)
Theorem split_modular l : wrap lo hi (modular lo hi (downs l) + modular lo hi (ups l)) = modular lo hi l.
Proof.
assert (S : sumZ l = sumZ (downs l) + sumZ (ups l)).
{ clear. induction l as [|x l IH]; [reflexivity|]. unfold ups, downs in *. simpl.
  destruct (Z.leb_spec 0 x), (Z.ltb_spec x 0); simpl; try lia. }
destruct (modular_cong lo hi lo_hi (downs l)) as (a & ->), (modular_cong lo hi lo_hi (ups l)) as (b & ->).
replace (sumZ (downs l) + a * N lo hi + (sumZ (ups l) + b * N lo hi)) with (sumZ l + (a + b) * N lo hi)
  by (rewrite S; ring).
rewrite wrap_period. symmetry. apply modular_wraps_once; auto.
Qed.
End Type_.
