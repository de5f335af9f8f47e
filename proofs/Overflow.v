(** No overflow (docs/theorems/iterated.md, pairwise.md, numpy_pairwise.md): the check of the pages is enough, in IEEE
    arithmetic of any precision and exponent range.

    A tree of IEEE additions over finite records of magnitude at most M is finite, and is the sum of the unbounded format that
    Trees.v speaks about, if n M + n (n-1) u M (any tree), or n M + h u / (1 - h u) n M (a tree of height at most h, h u < 1),
    is at most the largest finite value. *)
From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Accuracy Trees Iterated Pairwise NumpyPairwise Binary64.
Import ListNotations.
Open Scope R_scope.
Notation even := (fun x => negb (Z.even x)).

Section Ieee.
Variables prec emax : Z.
Context (prec_pos : Prec_gt_0 prec) (prec_emax : Prec_lt_emax prec emax).
Notation emin := (3 - emax - prec)%Z.
Notation float := (binary_float prec emax).
Notation format := (generic_format radix2 (FLT_exp emin prec)).
Notation fl := (round radix2 (FLT_exp emin prec) ZnearestE).
Notation B2R := (Binary.B2R prec emax).
Notation finite := (Binary.is_finite prec emax).
Notation u := (u prec).
Variable payload : float -> float -> { x : float | Binary.is_nan prec emax x = true }. (* of a NaN: any *)
Definition plus : float -> float -> float := Binary.Bplus prec emax prec_pos prec_emax payload mode_NE.

(** The largest finite value. *)
Definition Omega := IZR (2 ^ prec - 1) * bpow radix2 (emax - prec).
Lemma Omega_format : format Omega.
Proof.
unfold Prec_gt_0 in prec_pos. unfold Prec_lt_emax in prec_emax. assert (0 < 2 ^ prec)%Z by (apply Z.pow_pos_nonneg; lia).
apply generic_format_FLT. exists (Float radix2 (2 ^ prec - 1) (emax - prec)); [reflexivity| |cbn [Fexp]; lia].
cbn [Fnum]. rewrite Z.abs_eq by lia. change (radix_val radix2) with 2%Z. lia.
Qed.
Lemma Omega_below : Omega < bpow radix2 emax.
Proof.
unfold Prec_gt_0 in prec_pos. unfold Omega. apply Rlt_le_trans with (IZR (2 ^ prec) * bpow radix2 (emax - prec)).
- apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
- change (2 ^ prec)%Z with (Zpower radix2 prec). rewrite IZR_Zpower, <- bpow_plus by lia. apply bpow_le. lia.
Qed.
Lemma finite_format (x : float) : format (B2R x).
Proof. apply (Binary.generic_format_B2R prec emax). Qed.

(** One addition whose exact value is at most the largest finite value. *)
Lemma one_addition (x y : float) : finite x = true -> finite y = true -> Rabs (B2R x + B2R y) <= Omega ->
  finite (plus x y) = true /\ B2R (plus x y) = fl (B2R x + B2R y).
Proof.
intros Fx Fy H. generalize (Binary.Bplus_correct prec emax prec_pos prec_emax payload mode_NE x y Fx Fy).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|].
apply Rle_lt_trans with (2 := Omega_below). apply abs_round_le_generic; auto using Omega_format with typeclass_instances.
Qed.

Definition record M (x : float) := finite x = true /\ Rabs (B2R x) <= M.
Notation real t := (map_tree B2R t).
Lemma real_floats t : floats prec emin (real t).
Proof. unfold floats. rewrite map_leaves. apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). apply finite_format. Qed.
Lemma real_magnitudes M t : Forall (record M) (leaves t) -> mags (real t) <= INR (length (leaves t)) * M.
Proof.
intros F. unfold mags. rewrite map_leaves, <- (map_length B2R). apply sum_of_magnitudes. apply Forall_forall. intros y Hy.
apply in_map_iff in Hy as (x & <- & Hx). rewrite Forall_forall in F. now destruct (F x Hx).
Qed.
Lemma leaves_not_empty {A} (t : tree A) : (1 <= length (leaves t))%nat.
Proof. induction t; simpl; [lia|]. rewrite app_length. lia. Qed.

(** What has to be below Omega: a bound on the magnitudes that comes out of a subtree, growing with the tree. *)
Section Any.
Variables (M : R) (room : tree float -> R).
Hypothesis M_pos : 0 <= M.
Hypothesis room_left : forall t t', room t <= room (node t t').
Hypothesis room_right : forall t t', room t' <= room (node t t').
Hypothesis enough_room : forall t t', Forall (record M) (leaves (node t t')) ->
  Rabs (computed prec emin even (real t) + computed prec emin even (real t')) <= room (node t t').

Lemma finite_if_room t : Forall (record M) (leaves t) -> room t <= Omega ->
  finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
Proof.
induction t as [x|t IH t' IH']; intros F H; [split; auto; now apply Forall_inv in F as [F _]|].
assert (G := enough_room t t' F). cbn [leaves] in F. apply Forall_app in F as [F F'].
destruct IH as [I1 I2]; auto; [generalize (room_left t t'); lra|]. destruct IH' as [J1 J2]; auto; [generalize (room_right t t'); lra|].
cbn [evaluate]. destruct (one_addition _ _ I1 J1) as [K1 K2]; [rewrite I2, J2; lra|]. split; auto. rewrite K2, I2, J2. reflexivity.
Qed.
End Any.

Lemma subtree_magnitude t : Rabs (computed prec emin even (real t)) <= mags (real t) + Rabs (computed prec emin even (real t) - exact (real t)).
Proof.
set (c := computed _ _ _ _). replace c with (exact (real t) + (c - exact (real t))) at 1 by ring.
apply Rle_trans with (1 := Rabs_triang _ _). generalize (exact_mags (real t)). lra.
Qed.

(** In any tree at all. *)
Theorem any_order_does_not_overflow M t : 0 <= M -> Forall (record M) (leaves t) ->
  INR (length (leaves t)) * M + INR (length (leaves t)) * (INR (length (leaves t)) - 1) * u * M <= Omega ->
  finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
Proof.
intros M0 F H. assert (u0 := u_pos prec).
set (room := fun s : tree float => INR (length (leaves s)) * M + INR (length (leaves s)) * (INR (length (leaves s)) - 1) * u * M) in *.
assert (grow : forall a b, 1 <= a <= b -> a * M + a * (a - 1) * u * M <= b * M + b * (b - 1) * u * M).
{ intros a b Hab. assert (0 <= u * M) by (apply Rmult_le_pos; lra). assert (a * M <= b * M) by (apply Rmult_le_compat_r; lra).
  assert (a * (a - 1) * (u * M) <= b * (b - 1) * (u * M)) by (apply Rmult_le_compat_r; nra). lra. }
assert (one : forall s : tree float, 1 <= INR (length (leaves s))) by (intros s; apply (le_INR 1), leaves_not_empty).
apply finite_if_room with M room; auto.
- intros s s'. unfold room. cbn [leaves]. apply grow. split; auto. apply le_INR. rewrite app_length. lia.
- intros s s'. unfold room. cbn [leaves]. apply grow. split; auto. apply le_INR. rewrite app_length. lia.
- intros s s' G. unfold room. cbn [leaves] in *. rewrite app_length, plus_INR. apply Forall_app in G as [G G'].
  generalize (tree_error prec emin even (real s) (real_floats s)) (tree_error prec emin even (real s') (real_floats s')).
  rewrite !size_leaves, !map_leaves, !map_length. generalize (one s) (one s') (subtree_magnitude s) (subtree_magnitude s') (real_magnitudes M s G) (real_magnitudes M s' G') (mags_pos (real s)) (mags_pos (real s')).
  set (a := INR (length (leaves s))). set (b := INR (length (leaves s'))). intros.
  apply Rle_trans with (1 := Rabs_triang _ _). assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
  assert ((a - 1) * u * mags (real s) <= (a - 1) * u * (a * M)) by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; lra).
  assert ((b - 1) * u * mags (real s') <= (b - 1) * u * (b * M)) by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; lra).
  assert ((a - 1) * a + (b - 1) * b <= (a + b) * (a + b - 1)) by nra.
  assert (((a - 1) * a + (b - 1) * b) * (u * M) <= (a + b) * (a + b - 1) * (u * M)) by (apply Rmult_le_compat_r; auto). lra.
Qed.

(** In a tree of height at most h. *)
Theorem a_low_tree_does_not_overflow M h t : 0 <= M -> Forall (record M) (leaves t) -> (height t <= h)%nat -> INR h * u < 1 ->
  INR (length (leaves t)) * M + tree_accuracy prec h (length (leaves t)) M <= Omega ->
  finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
Proof.
intros M0 F Hh Hu H. assert (u0 := u_pos prec).
set (w := INR h * u / (1 - INR h * u)) in *. assert (w0 : 0 <= w).
{ apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|lra]|]. apply Rlt_le, Rinv_0_lt_compat. lra. }
set (room := fun s : tree float => (1 + w) * (INR (length (leaves s)) * M)).
assert (grow : forall a b : nat, (a <= b)%nat -> (1 + w) * (INR a * M) <= (1 + w) * (INR b * M)).
{ intros a b Hab. apply le_INR in Hab. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra. }
enough (G : forall s, (height s <= h)%nat -> Forall (record M) (leaves s) -> room s <= Omega ->
  finite (evaluate plus s) = true /\ B2R (evaluate plus s) = computed prec emin even (real s)).
{ apply G; auto. unfold room. unfold tree_accuracy in H. fold w in H. lra. }
induction s as [x|s IH s' IH']; intros Hs G R; [split; auto; now apply Forall_inv in G as [G _]|].
cbn [leaves height] in *. apply Forall_app in G as [G G']. unfold room in *. cbn [leaves] in R. rewrite app_length, plus_INR in R.
assert (A1 := pos_INR (length (leaves s))). assert (A2 := pos_INR (length (leaves s'))).
assert (P1 : 0 <= (1 + w) * (INR (length (leaves s)) * M)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra).
assert (P2 : 0 <= (1 + w) * (INR (length (leaves s')) * M)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra).
destruct IH as [I1 I2]; auto; [lia|lra|]. destruct IH' as [J1 J2]; auto; [lia|lra|].
cbn [evaluate]. destruct (one_addition _ _ I1 J1) as [K1 K2]; [|split; auto; rewrite K2, I2, J2; reflexivity].
rewrite I2, J2. apply Rle_trans with (1 := Rabs_triang _ _).
assert (E : forall r, (height r <= h)%nat -> Forall (record M) (leaves r) -> Rabs (computed prec emin even (real r)) <= (1 + w) * (INR (length (leaves r)) * M)).
{ intros r Hr Gr. apply Rle_trans with (1 := subtree_magnitude r).
  generalize (tree_error_height prec emin even (real r) (real_floats r)) (mags_pos (real r)) (real_magnitudes M r Gr) (height_bound prec h Hu). fold w. rewrite map_height. intros T1 T2 T3 T4.
  assert ((1 + u) ^ height r <= (1 + u) ^ h) by (apply Rle_pow; auto; lra). assert (1 <= (1 + u) ^ height r) by (apply pow_R1_Rle; lra).
  assert (((1 + u) ^ height r - 1) * mags (real r) <= w * mags (real r)) by (apply Rmult_le_compat_r; lra).
  assert (w * mags (real r) <= w * (INR (length (leaves r)) * M)) by (apply Rmult_le_compat_l; lra). lra. }
generalize (E s ltac:(lia) G) (E s' ltac:(lia) G'). lra.
Qed.

(** The sums. Starting from +0 adds nothing but a sign of zero. *)
Definition zero : float := Binary.B754_zero prec emax false.
Theorem iterated_does_not_overflow M l : 0 <= M -> Forall (record M) l ->
  INR (length l) * M + INR (length l) * (INR (length l) - 1) * u * M <= Omega ->
  finite (iterated_sum float zero plus l) = true /\ B2R (iterated_sum float zero plus l) = iterated prec emin even (map B2R l).
Proof.
intros M0 F H. destruct l as [|x l]; [split; reflexivity|].
unfold iterated_sum. cbn [fold_left].
assert (Z : finite (plus zero x) = true /\ B2R (plus zero x) = B2R x).
{ destruct (Forall_inv F) as [Fx Bx]. destruct (one_addition zero x eq_refl Fx) as [A B].
  - simpl. rewrite Rplus_0_l. apply Rle_trans with (1 := Bx).
    assert (1 <= INR (length (x :: l))) by (apply (le_INR 1); simpl; lia). assert (0 <= u * M) by (apply Rmult_le_pos; [generalize (u_pos prec); lra|lra]).
    assert (0 <= INR (length (x :: l)) * (INR (length (x :: l)) - 1) * (u * M)) by (apply Rmult_le_pos; nra). nra.
  - split; auto. rewrite B. simpl. rewrite Rplus_0_l. apply round_generic; auto using finite_format with typeclass_instances. }
destruct Z as [Z1 Z2].
assert (E := in_order_evaluate plus l (leaf (plus zero x))). cbn [evaluate] in E. rewrite <- E.
destruct (any_order_does_not_overflow M (in_order (leaf (plus zero x)) l)) as [A B]; auto.
- rewrite in_order_leaves. cbn [leaves app]. constructor; [|now apply Forall_inv_tail in F]. split; auto. rewrite Z2. now apply Forall_inv in F as [_ F].
- rewrite in_order_leaves. exact H.
- split; auto. rewrite B. unfold iterated. cbn [map fold_left].
  rewrite Rplus_0_l, (round_generic _ _ _ (B2R x)) by (auto using finite_format with typeclass_instances).
  rewrite computed_evaluate. replace (real (in_order (leaf (plus zero x)) l)) with (in_order (leaf (B2R x)) (map B2R l)).
  + rewrite in_order_evaluate. reflexivity.
  + clear -Z2. assert (G : forall m (t : tree float), real (in_order t m) = in_order (real t) (map B2R m)).
    { induction m as [|y m IH]; intros t; [reflexivity|]. unfold in_order in *. cbn [map fold_left]. now rewrite IH. }
    rewrite G. simpl. now rewrite Z2.
Qed.
Theorem pairwise_does_not_overflow M l : 0 <= M -> l <> [] -> Forall (record M) l -> INR (Nat.log2_up (length l)) * u < 1 ->
  INR (length l) * M + pairwise_accuracy prec (length l) M <= Omega ->
  finite (pairwise_sum float zero plus l) = true /\ B2R (pairwise_sum float zero plus l) = pairwise prec emin even (map B2R l).
Proof.
intros M0 Hl F Hu H. unfold pairwise. change 0 with (B2R zero). rewrite <- pairwise_map. apply a_low_tree_does_not_overflow with M (Nat.log2_up (length l)); auto.
- now rewrite pairwise_leaves.
- apply pairwise_height.
- now rewrite pairwise_leaves.
Qed.
Theorem numpy_does_not_overflow M l : 0 <= M -> l <> [] -> Forall (record M) l -> INR (safe_height (length l)) * u < 1 ->
  INR (length l) * M + tree_accuracy prec (safe_height (length l)) (length l) M <= Omega ->
  finite (numpy_sum float zero plus l) = true /\ B2R (numpy_sum float zero plus l) = numpy_pairwise prec emin even (map B2R l).
Proof.
intros M0 Hl F Hu H. unfold numpy_pairwise. change 0 with (B2R zero). rewrite <- numpy_tree_map. assert (P := numpy_tree_leaves float zero l Hl).
apply a_low_tree_does_not_overflow with M (safe_height (length l)); auto.
- rewrite P. exact F.
- rewrite numpy_tree_height. apply height_is_safe.
- rewrite (Permutation_length P). exact H.
Qed.
End Ieee.
