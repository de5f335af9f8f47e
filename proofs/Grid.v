(** grid (docs/theorems/grid.md, statements 1 and 2): floats summed as integers, in exact rationals.

    A record x becomes q(x), the integer nearest (clamp(x) - offset) / D, clamped to [J, K]. With bounds rounded inward
    the sum of the q, times D, moves by at most the ideal, for every step D; and little of the ideal is lost. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import Relations Sums Wide.
Import ListNotations.
Open Scope R_scope.

(** The grid: step D > 0, an offset, bounds rounded inward; if no multiple lies within, both become the one nearer 0. *)
Section Grid.
Variables L U D offset : R.
Hypothesis LU : L <= U.
Hypothesis Dpos : 0 < D.

Definition low0 := Zceil ((L - offset) / D).
Definition high0 := Zfloor ((U - offset) / D).
Definition nearer (a b : Z) := if Z_le_gt_dec (Z.abs a) (Z.abs b) then a else b.
Definition low := if Z_le_gt_dec low0 high0 then low0 else nearer low0 high0.
Definition high := if Z_le_gt_dec low0 high0 then high0 else nearer low0 high0.
Definition clampR (x : R) := Rmax L (Rmin U x).
Definition q (x : R) := clamp low high (ZnearestE ((clampR x - offset) / D)).

Lemma low_high : (low <= high)%Z.
Proof. unfold low, high; destruct Z_le_gt_dec; lia. Qed.

Lemma q_within x : (low <= q x <= high)%Z.
Proof. apply clamp_within, low_high. Qed.

Lemma low0_ge : L <= IZR low0 * D + offset.
Proof.
generalize (Zceil_ub ((L - offset) / D)); fold low0; intros H.
apply Rmult_le_compat_r with (r := D) in H; [|lra]. unfold Rdiv in H; rewrite Rmult_assoc, Rinv_l in H; lra.
Qed.

Lemma high0_le : IZR high0 * D + offset <= U.
Proof.
generalize (Zfloor_lb ((U - offset) / D)); fold high0; intros H.
apply Rmult_le_compat_r with (r := D) in H; [|lra]. unfold Rdiv in H; rewrite Rmult_assoc, Rinv_l in H; lra.
Qed.

Lemma low0_lt : IZR low0 * D + offset < L + D.
Proof.
assert (H : IZR low0 < (L - offset) / D + 1).
{ generalize (Zceil_ub ((L - offset) / D)) (Zceil_lb ((L - offset) / D)); fold low0; lra. }
apply Rmult_lt_compat_r with (r := D) in H; auto. unfold Rdiv in H.
rewrite Rmult_plus_distr_r, Rmult_assoc, Rinv_l in H; lra.
Qed.

Lemma high0_gt : U - D < IZR high0 * D + offset.
Proof.
generalize (Zfloor_ub ((U - offset) / D)); fold high0; intros H.
apply Rmult_lt_compat_r with (r := D) in H; auto. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H; lra.
Qed.

(** At most the ideal, for every step. *)
Theorem grid_sized_at_most_ideal : D * IZR (high - low) <= U - L.
Proof.
rewrite minus_IZR. unfold low, high; destruct Z_le_gt_dec.
- generalize low0_ge high0_le. lra.
- rewrite Rminus_diag_eq by reflexivity. lra.
Qed.

Theorem grid_unsized_at_most_ideal : offset = 0 -> D * IZR (magnitudeZ low high) <= magnitude L U.
Proof.
intros o. rewrite magnitudeZ_R. generalize low0_ge high0_le low0_lt high0_gt. rewrite o.
set (j := IZR low0 * D) in *. set (h := IZR high0 * D) in *. intros H1 H2 H3 H4.
assert (S : forall z, D * Rabs (IZR z) = Rabs (IZR z * D)).
{ intros z; rewrite Rabs_mult, (Rabs_pos_eq D); lra. }
assert (M : forall a b, D * magnitude a b = Rmax (D * Rabs a) (D * Rabs b)).
{ intros a b; unfold magnitude. rewrite <- RmaxRmult; lra. }
rewrite M, !S. unfold low, high; destruct Z_le_gt_dec as [g|g].
- apply IZR_le in g. apply Rmult_le_compat_r with (r := D) in g; [|lra]. fold j h in g |- *.
  apply Rmax_lub; apply magnitude_bound; unfold within; lra.
- rewrite Rmax_left by lra.
  assert (E : (low0 = high0 + 1)%Z).
  { assert (g' : (low0 < high0 + 2)%Z); [|lia]. apply lt_IZR. rewrite plus_IZR.
    apply Rmult_lt_reg_r with D; auto. fold j. replace ((IZR high0 + 2) * D) with (h + 2 * D) by (unfold h; ring).
    lra. }
  unfold nearer. destruct Z_le_gt_dec as [c|c].
  + destruct (Z_lt_le_dec low0 1) as [d|d].
    * fold j. apply Rle_trans with (Rabs U); [|apply Rmax_r].
      assert (j <= 0) by (unfold j; assert (IZR low0 <= 0) by (apply IZR_le; lia); nra).
      assert (j = h + D) by (unfold j, h; rewrite E, plus_IZR; ring).
      rewrite !Rabs_left1; lra.
    * exfalso. lia.
  + fold h. destruct (Z_lt_le_dec high0 0) as [d|d].
    * exfalso; lia.
    * assert (0 <= h). { unfold h. apply Rmult_le_pos; [apply IZR_le; lia|lra]. }
      rewrite Rabs_pos_eq by auto. apply Rle_trans with (Rabs U); [|apply Rmax_r].
      rewrite Rabs_pos_eq; lra.
Qed.

(** And little is lost: less than one step (private n), less than two (public n). *)
Theorem grid_sized_loses_little : U - L - 2 * D < D * IZR (high - low).
Proof.
rewrite minus_IZR. generalize low0_lt high0_gt low0_ge high0_le. unfold low, high; destruct Z_le_gt_dec as [g|g].
- lra.
- intros. assert (IZR high0 + 1 <= IZR low0) by (rewrite <- plus_IZR; apply IZR_le; lia). nra.
Qed.

(** Statement 1 and 2 together: the sum in the data's units, after scaling back (n offset is public and cancels). *)
Definition grid_sum (u : list R) := D * IZR (wide q u) + INR (length u) * offset.

Lemma grid_diff u v :
  length u = length v \/ offset = 0 -> Rabs (grid_sum u - grid_sum v) = D * IZR (Z.abs (wide q u - wide q v)).
Proof.
intros H. unfold grid_sum. rewrite abs_IZR, minus_IZR.
rewrite <- (Rabs_pos_eq D) at 3 by lra. rewrite <- Rabs_mult. f_equal. destruct H as [->| ->]; ring.
Qed.

Theorem grid_change_one u v : change_one u v -> Rabs (grid_sum u - grid_sum v) <= U - L.
Proof.
intros H. apply Rle_trans with (2 := grid_sized_at_most_ideal). rewrite grid_diff.
- apply Rmult_le_compat_l; [lra|]. apply IZR_le. apply wide_change_one; auto using q_within, low_high.
- left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
  now rewrite (Permutation_length P), (Permutation_length Q).
Qed.

Theorem grid_hamming u v : hamming u v -> Rabs (grid_sum u - grid_sum v) <= U - L.
Proof. intros; now apply grid_change_one, hamming_is_change_one. Qed.

Theorem grid_symmetric u v : offset = 0 -> symmetric u v -> Rabs (grid_sum u - grid_sum v) <= magnitude L U.
Proof.
intros o H. apply Rle_trans with (2 := grid_unsized_at_most_ideal o). rewrite grid_diff by auto.
apply Rmult_le_compat_l; [lra|]. apply IZR_le. apply wide_symmetric; auto using q_within.
Qed.

Theorem grid_insert_delete u v : offset = 0 -> insert_delete u v -> Rabs (grid_sum u - grid_sum v) <= magnitude L U.
Proof. intros; now apply grid_symmetric, insert_delete_is_symmetric. Qed.

(** Accuracy: half a step within [J, K], else what the bounds lost. *)
Definition record_error := Rmax (D / 2) (Rmax (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset)))).

Lemma clampR_within x : L <= clampR x <= U.
Proof. unfold clampR, Rmax, Rmin. repeat destruct Rle_dec; lra. Qed.

Theorem grid_record_accuracy x : Rabs (IZR (q x) * D + offset - clampR x) <= record_error.
Proof.
destruct (clampR_within x) as [A B]. unfold record_error, q. set (y := (clampR x - offset) / D).
assert (Ey : clampR x = y * D + offset) by (unfold y; field; lra).
assert (N := Znearest_half (fun t => negb (Z.even t)) y). apply Rabs_le_inv in N. set (r := ZnearestE y) in *.
assert (JK := low_high).
generalize (Rmax_l (D / 2) (Rmax (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset)))))
  (Rmax_r (D / 2) (Rmax (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset)))))
  (Rmax_l (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset))))
  (Rmax_r (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset)))).
intros M1 M2 M3 M4. unfold clamp. destruct (Z_lt_le_dec high r) as [h|h]; [|destruct (Z_lt_le_dec r low) as [l|l]].
- replace (Z.max low (Z.min high r)) with high by lia.
  apply Rle_trans with (Rabs (U - (IZR high * D + offset))); [|lra].
  assert (H : IZR high + 1 <= IZR r) by (rewrite <- plus_IZR; apply IZR_le; lia).
  assert (G : IZR high * D <= y * D) by (apply Rmult_le_compat_r; lra). rewrite Rabs_minus_sym.
  rewrite !Rabs_pos_eq; lra.
- replace (Z.max low (Z.min high r)) with low by lia. apply Rle_trans with (Rabs (L - (IZR low * D + offset))); [|lra].
  assert (H : IZR r + 1 <= IZR low) by (rewrite <- plus_IZR; apply IZR_le; lia).
  assert (G : y * D <= IZR low * D) by (apply Rmult_le_compat_r; lra). rewrite (Rabs_minus_sym L).
  rewrite !Rabs_pos_eq; lra.
- replace (Z.max low (Z.min high r)) with r by lia. apply Rle_trans with (D / 2); [|lra]. rewrite Ey.
  replace (IZR r * D + offset - (y * D + offset)) with (- (y - IZR r) * D) by ring.
  rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq D) by lra.
  replace (D / 2) with (/ 2 * D) by field. apply Rmult_le_compat_r; [lra|]. apply Rabs_le; lra.
Qed.

Theorem grid_accuracy u : Rabs (grid_sum u - sum (map clampR u)) <= INR (length u) * record_error.
Proof.
unfold grid_sum, wide.
induction u as [|x u IH]; [simpl; rewrite Rmult_0_r, !Rmult_0_l, Rplus_0_l, Rminus_0_r, Rabs_R0; lra|].
cbn [map sumZ fold_right length sum]. fold (sumZ (map q u)) (sum (map clampR u)). rewrite plus_IZR, S_INR.
replace (D * (IZR (q x) + IZR (sumZ (map q u))) + (INR (length u) + 1) * offset - (clampR x + sum (map clampR u)))
  with ((D * IZR (sumZ (map q u)) + INR (length u) * offset - sum (map clampR u)) + (IZR (q x) * D + offset - clampR x))
  by ring.
apply Rle_trans with (1 := Rabs_triang _ _). generalize (grid_record_accuracy x). lra.
Qed.

(** Randomised rounding: a coin decides between the integer below and the next, and the same clamp follows. Whatever the
    coins, a record is within a step; and a coin that falls up with probability y - floor(y) makes the mean y. *)
Definition rounded (coin : bool) (x : R) :=
  let below := Zfloor ((clampR x - offset) / D) in
  clamp low high (if coin then below + 1 else below).

Definition randomised_error := Rmax D (Rmax (Rabs (U - (IZR high * D + offset))) (Rabs (L - (IZR low * D + offset)))).

Definition randomised_sum (u : list (bool * R)) :=
  D * IZR (sumZ (map (fun cx => rounded (fst cx) (snd cx)) u)) + INR (length u) * offset.

Lemma rounded_within coin x : (low <= rounded coin x <= high)%Z.
Proof. apply clamp_within, low_high. Qed.

Theorem randomised_rounding_is_unbiased y :
  let up := y - IZR (Zfloor y) in
  0 <= up < 1 /\ (1 - up) * IZR (Zfloor y) + up * IZR (Zfloor y + 1) = y.
Proof. generalize (Zfloor_lb y) (Zfloor_ub y). rewrite plus_IZR. cbv zeta. intros. split; [lra|ring]. Qed.

Theorem randomised_record_accuracy coin x : Rabs (IZR (rounded coin x) * D + offset - clampR x) <= randomised_error.
Proof.
destruct (clampR_within x) as [A B]. unfold randomised_error, rounded. cbv zeta. set (y := (clampR x - offset) / D).
assert (Ey : clampR x = y * D + offset) by (unfold y; field; lra).
set (r := if coin then (Zfloor y + 1)%Z else Zfloor y).
assert (N : IZR r - 1 <= y <= IZR r + 1).
{ unfold r. generalize (Zfloor_lb y) (Zfloor_ub y). destruct coin; [rewrite plus_IZR|]; lra. }
assert (JK := low_high). set (above := Rabs (U - (IZR high * D + offset))).
set (beneath := Rabs (L - (IZR low * D + offset))).
generalize (Rmax_l D (Rmax above beneath)) (Rmax_r D (Rmax above beneath)) (Rmax_l above beneath)
  (Rmax_r above beneath).
intros M1 M2 M3 M4. unfold clamp. destruct (Z_lt_le_dec high r) as [h|h]; [|destruct (Z_lt_le_dec r low) as [l|l]].
- replace (Z.max low (Z.min high r)) with high by lia. apply Rle_trans with above; [|lra]. unfold above.
  assert (H : IZR high + 1 <= IZR r) by (rewrite <- plus_IZR; apply IZR_le; lia).
  assert (G : IZR high * D <= y * D) by (apply Rmult_le_compat_r; lra). rewrite Rabs_minus_sym.
  rewrite !Rabs_pos_eq; lra.
- replace (Z.max low (Z.min high r)) with low by lia. apply Rle_trans with beneath; [|lra]. unfold beneath.
  assert (H : IZR r + 1 <= IZR low) by (rewrite <- plus_IZR; apply IZR_le; lia).
  assert (G : y * D <= IZR low * D) by (apply Rmult_le_compat_r; lra). rewrite (Rabs_minus_sym L).
  rewrite !Rabs_pos_eq; lra.
- replace (Z.max low (Z.min high r)) with r by lia. apply Rle_trans with D; [|lra]. rewrite Ey.
  replace (IZR r * D + offset - (y * D + offset)) with (- (y - IZR r) * D) by ring.
  rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq D) by lra. rewrite <- (Rmult_1_l D) at 2.
  apply Rmult_le_compat_r; [lra|]. apply Rabs_le; lra.
Qed.

Theorem randomised_accuracy u :
  Rabs (randomised_sum u - sum (map (fun cx => clampR (snd cx)) u)) <= INR (length u) * randomised_error.
Proof.
unfold randomised_sum.
induction u as [|[coin x] u IH]; [simpl; rewrite Rmult_0_r, !Rmult_0_l, Rplus_0_l, Rminus_0_r, Rabs_R0; lra|].
cbn [map sumZ fold_right length sum fst snd]. set (q' := fun cx : bool * R => rounded (fst cx) (snd cx)) in *.
set (c' := fun cx : bool * R => clampR (snd cx)) in *. fold (sumZ (map q' u)) (sum (map c' u)). rewrite plus_IZR, S_INR.
replace (D * (IZR (rounded coin x) + IZR (sumZ (map q' u))) + (INR (length u) + 1) * offset
  - (clampR x + sum (map c' u))) with ((D * IZR (sumZ (map q' u)) + INR (length u) * offset - sum (map c' u))
  + (IZR (rounded coin x) * D + offset - clampR x)) by ring.
apply Rle_trans with (1 := Rabs_triang _ _). generalize (randomised_record_accuracy coin x). lra.
Qed.
End Grid.
