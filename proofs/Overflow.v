(** No overflow (docs/theorems/iterated.md, pairwise.md, numpy_pairwise.md, kahan.md, toward_zero.md): the check of the
    pages is enough, in IEEE arithmetic of any precision and exponent range.

    A tree of IEEE additions over finite records of magnitude at most M is finite, and is the sum of the unbounded
    format that Trees.v speaks about, if n M + n (n-1) u M (any tree), or n M + h u / (1 - h u) n M
    (a tree of height at most h, h u < 1), is at most the largest finite value; Kahan's sum if n M + 3 u n M is. Rounded
    toward zero, sums are held at the largest finite value, as TowardZero.v says, and need no check. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Accuracy Trees Iterated Pairwise NumpyPairwise Kahan TowardZero
  TowardZeroOneSign Shifted Binary64.
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
unfold Prec_gt_0 in prec_pos. unfold Prec_lt_emax in prec_emax.
assert (0 < 2 ^ prec)%Z by (apply Z.pow_pos_nonneg; lia).
apply generic_format_FLT. exists (Float radix2 (2 ^ prec - 1) (emax - prec)); [reflexivity| |cbn [Fexp]; lia].
cbn [Fnum]. rewrite Z.abs_eq by lia. change (radix_val radix2) with 2%Z. lia.
Qed.

Lemma Omega_below : Omega < bpow radix2 emax.
Proof.
unfold Prec_gt_0 in prec_pos. unfold Omega. apply Rlt_le_trans with (IZR (2 ^ prec) * bpow radix2 (emax - prec)).
- apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
- change (2 ^ prec)%Z with (Zpower radix2 prec). rewrite IZR_Zpower, <- bpow_plus by lia. apply bpow_le. lia.
Qed.

Lemma Omega_pos : 0 <= Omega.
Proof.
unfold Prec_gt_0 in prec_pos. unfold Omega. apply Rmult_le_pos; [|apply bpow_ge_0]. apply IZR_le.
assert (0 < 2 ^ prec)%Z by (apply Z.pow_pos_nonneg; lia). lia.
Qed.

Lemma finite_format (x : float) : format (B2R x).
Proof. apply (Binary.generic_format_B2R prec emax). Qed.

(** One addition whose exact value is at most the largest finite value. *)
Lemma one_addition (x y : float) :
  finite x = true -> finite y = true -> Rabs (B2R x + B2R y) <= Omega
  -> finite (plus x y) = true /\ B2R (plus x y) = fl (B2R x + B2R y).
Proof.
intros Fx Fy H. generalize (Binary.Bplus_correct prec emax prec_pos prec_emax payload mode_NE x y Fx Fy).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|].
apply Rle_lt_trans with (2 := Omega_below).
apply abs_round_le_generic; auto using Omega_format with typeclass_instances.
Qed.

Definition record M (x : float) := finite x = true /\ Rabs (B2R x) <= M.
Notation real t := (map_tree B2R t).

Lemma real_floats t : floats prec emin (real t).
Proof.
unfold floats. rewrite map_leaves. apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _).
apply finite_format.
Qed.

Lemma real_magnitudes M t : Forall (record M) (leaves t) -> mags (real t) <= INR (length (leaves t)) * M.
Proof.
intros F. unfold mags. rewrite map_leaves, <- (map_length B2R). apply sum_of_magnitudes. apply Forall_forall.
intros y Hy.
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
Hypothesis enough_room :
  forall t t',
    Forall (record M) (leaves (node t t'))
    -> Rabs (computed prec emin even (real t) + computed prec emin even (real t')) <= room (node t t').

Lemma finite_if_room t :
  Forall (record M) (leaves t) -> room t <= Omega
  -> finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
Proof.
induction t as [x|t IH t' IH']; intros F H; [split; auto; now apply Forall_inv in F as [F _]|].
assert (G := enough_room t t' F). cbn [leaves] in F. apply Forall_app in F as [F F'].
destruct IH as [I1 I2]; auto; [generalize (room_left t t'); lra|].
destruct IH' as [J1 J2]; auto; [generalize (room_right t t'); lra|].
cbn [evaluate]. destruct (one_addition _ _ I1 J1) as [K1 K2]; [rewrite I2, J2; lra|]. split; auto. rewrite K2, I2, J2.
reflexivity.
Qed.
End Any.

Lemma subtree_magnitude t :
  Rabs (computed prec emin even (real t)) <= mags (real t) + Rabs (computed prec emin even (real t) - exact (real t)).
Proof.
set (c := computed _ _ _ _). replace c with (exact (real t) + (c - exact (real t))) at 1 by ring.
apply Rle_trans with (1 := Rabs_triang _ _). generalize (exact_mags (real t)). lra.
Qed.

(** In any tree at all. *)
Theorem any_order_does_not_overflow M t :
  0 <= M -> Forall (record M) (leaves t)
  -> INR (length (leaves t)) * M + INR (length (leaves t)) * (INR (length (leaves t)) - 1) * u * M <= Omega
  -> finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
Proof.
intros M0 F H. assert (u0 := u_pos prec).
set
  (room := fun s : tree float =>
       INR (length (leaves s)) * M + INR (length (leaves s)) * (INR (length (leaves s)) - 1) * u * M) in *.
assert (grow : forall a b, 1 <= a <= b -> a * M + a * (a - 1) * u * M <= b * M + b * (b - 1) * u * M).
{ intros a b Hab. assert (0 <= u * M) by (apply Rmult_le_pos; lra).
  assert (a * M <= b * M) by (apply Rmult_le_compat_r; lra).
  assert (a * (a - 1) * (u * M) <= b * (b - 1) * (u * M)) by (apply Rmult_le_compat_r; nra). lra. }
assert (one : forall s : tree float, 1 <= INR (length (leaves s))) by (intros s; apply (le_INR 1), leaves_not_empty).
apply finite_if_room with M room; auto.
- intros s s'. unfold room. cbn [leaves]. apply grow. split; auto. apply le_INR. rewrite app_length. lia.
- intros s s'. unfold room. cbn [leaves]. apply grow. split; auto. apply le_INR. rewrite app_length. lia.
- intros s s' G. unfold room. cbn [leaves] in *. rewrite app_length, plus_INR. apply Forall_app in G as [G G'].
  generalize (tree_error prec emin even (real s) (real_floats s))
    (tree_error prec emin even (real s') (real_floats s')).
  rewrite !size_leaves, !map_leaves, !map_length.
  generalize (one s) (one s') (subtree_magnitude s) (subtree_magnitude s') (real_magnitudes M s G)
    (real_magnitudes M s' G') (mags_pos (real s)) (mags_pos (real s')).
  set (a := INR (length (leaves s))). set (b := INR (length (leaves s'))). intros.
  apply Rle_trans with (1 := Rabs_triang _ _). assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
  assert ((a - 1) * u * mags (real s) <= (a - 1) * u * (a * M))
    by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; lra).
  assert ((b - 1) * u * mags (real s') <= (b - 1) * u * (b * M))
    by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; lra).
  assert ((a - 1) * a + (b - 1) * b <= (a + b) * (a + b - 1)) by nra.
  assert (((a - 1) * a + (b - 1) * b) * (u * M) <= (a + b) * (a + b - 1) * (u * M)) by (apply Rmult_le_compat_r; auto).
  lra.
Qed.

(** In a tree of height at most h. *)
Theorem a_low_tree_does_not_overflow M h t :
  0 <= M -> Forall (record M) (leaves t) -> (height t <= h)%nat -> INR h * u < 1
  -> INR (length (leaves t)) * M + tree_accuracy prec h (length (leaves t)) M <= Omega
  -> finite (evaluate plus t) = true /\ B2R (evaluate plus t) = computed prec emin even (real t).
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
cbn [leaves height] in *. apply Forall_app in G as [G G']. unfold room in *. cbn [leaves] in R.
rewrite app_length, plus_INR in R.
assert (A1 := pos_INR (length (leaves s))). assert (A2 := pos_INR (length (leaves s'))).
assert (P1 : 0 <= (1 + w) * (INR (length (leaves s)) * M)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra).
assert (P2 : 0 <= (1 + w) * (INR (length (leaves s')) * M)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra).
destruct IH as [I1 I2]; auto; [lia|lra|]. destruct IH' as [J1 J2]; auto; [lia|lra|].
cbn [evaluate]. destruct (one_addition _ _ I1 J1) as [K1 K2]; [|split; auto; rewrite K2, I2, J2; reflexivity].
rewrite I2, J2. apply Rle_trans with (1 := Rabs_triang _ _).
assert (E : forall r, (height r <= h)%nat -> Forall (record M) (leaves r)
      -> Rabs (computed prec emin even (real r)) <= (1 + w) * (INR (length (leaves r)) * M)).
{ intros r Hr Gr. apply Rle_trans with (1 := subtree_magnitude r).
  generalize (tree_error_height prec emin even (real r) (real_floats r)) (mags_pos (real r)) (real_magnitudes M r Gr)
    (height_bound prec h Hu).
  fold w. rewrite map_height. intros T1 T2 T3 T4.
  assert ((1 + u) ^ height r <= (1 + u) ^ h) by (apply Rle_pow; auto; lra).
  assert (1 <= (1 + u) ^ height r) by (apply pow_R1_Rle; lra).
  assert (((1 + u) ^ height r - 1) * mags (real r) <= w * mags (real r)) by (apply Rmult_le_compat_r; lra).
  assert (w * mags (real r) <= w * (INR (length (leaves r)) * M)) by (apply Rmult_le_compat_l; lra). lra. }
generalize (E s ltac:(lia) G) (E s' ltac:(lia) G'). lra.
Qed.

Lemma list_eq_nil {A} (l : list A) : l = [] \/ l <> [].
Proof. destruct l; [now left|now right]. Qed.

(** The sums. Starting from +0 adds nothing but a sign of zero. *)
Definition zero : float := Binary.B754_zero prec emax false.

Theorem iterated_does_not_overflow M l :
  0 <= M -> Forall (record M) l -> INR (length l) * M + INR (length l) * (INR (length l) - 1) * u * M <= Omega
  -> finite (iterated_sum float zero plus l) = true
     /\ B2R (iterated_sum float zero plus l) = iterated prec emin even (map B2R l).
Proof.
intros M0 F H. destruct l as [|x l]; [split; reflexivity|].
unfold iterated_sum. cbn [fold_left].
assert (Z : finite (plus zero x) = true /\ B2R (plus zero x) = B2R x).
{ destruct (Forall_inv F) as [Fx Bx]. destruct (one_addition zero x eq_refl Fx) as [A B].
  - simpl. rewrite Rplus_0_l. apply Rle_trans with (1 := Bx).
    assert (1 <= INR (length (x :: l))) by (apply (le_INR 1); simpl; lia).
    assert (0 <= u * M) by (apply Rmult_le_pos; [generalize (u_pos prec); lra|lra]).
    assert (0 <= INR (length (x :: l)) * (INR (length (x :: l)) - 1) * (u * M)) by (apply Rmult_le_pos; nra). nra.
  - split; auto. rewrite B. simpl. rewrite Rplus_0_l.
    apply round_generic; auto using finite_format with typeclass_instances. }
destruct Z as [Z1 Z2].
assert (E := in_order_evaluate plus l (leaf (plus zero x))). cbn [evaluate] in E. rewrite <- E.
destruct (any_order_does_not_overflow M (in_order (leaf (plus zero x)) l)) as [A B]; auto.
- rewrite in_order_leaves. cbn [leaves app]. constructor; [|now apply Forall_inv_tail in F]. split; auto. rewrite Z2.
  now apply Forall_inv in F as [_ F].
- rewrite in_order_leaves. exact H.
- split; auto. rewrite B. unfold iterated. cbn [map fold_left].
  rewrite Rplus_0_l, (round_generic _ _ _ (B2R x)) by (auto using finite_format with typeclass_instances).
  rewrite computed_evaluate.
  replace (real (in_order (leaf (plus zero x)) l)) with (in_order (leaf (B2R x)) (map B2R l)).
  + rewrite in_order_evaluate. reflexivity.
  + clear -Z2. assert (G : forall m (t : tree float), real (in_order t m) = in_order (real t) (map B2R m)).
    { induction m as [|y m IH]; intros t; [reflexivity|]. unfold in_order in *. cbn [map fold_left]. now rewrite IH. }
    rewrite G. simpl. now rewrite Z2.
Qed.

Theorem pairwise_does_not_overflow M l :
  0 <= M -> Forall (record M) l -> INR (Nat.log2_up (length l)) * u < 1
  -> INR (length l) * M + pairwise_accuracy prec (length l) M <= Omega
  -> finite (pairwise_sum float zero plus l) = true
     /\ B2R (pairwise_sum float zero plus l) = pairwise prec emin even (map B2R l).
Proof.
intros M0 F Hu H. destruct (list_eq_nil l) as [->|Hl]; [split; reflexivity|]. unfold pairwise. change 0 with (B2R zero).
rewrite <- pairwise_map.
apply a_low_tree_does_not_overflow with M (Nat.log2_up (length l)); auto.
- now rewrite pairwise_leaves.
- apply pairwise_height.
- now rewrite pairwise_leaves.
Qed.

Theorem numpy_does_not_overflow M l :
  0 <= M -> Forall (record M) l -> INR (safe_height (length l)) * u < 1
  -> INR (length l) * M + tree_accuracy prec (safe_height (length l)) (length l) M <= Omega
  -> finite (numpy_sum float zero plus l) = true
     /\ B2R (numpy_sum float zero plus l) = numpy_pairwise prec emin even (map B2R l).
Proof.
intros M0 F Hu H. destruct (list_eq_nil l) as [->|Hl]; [split; reflexivity|]. unfold numpy_pairwise.
change 0 with (B2R zero). rewrite <- numpy_tree_map.
assert (P := numpy_tree_leaves float zero l Hl).
apply a_low_tree_does_not_overflow with M (safe_height (length l)); auto.
- rewrite P. exact F.
- rewrite numpy_tree_height. apply height_is_safe.
- rewrite (Permutation_length P). exact H.
Qed.

(** Kahan's sum. *)
Section Kahan.
Definition minus : float -> float -> float := Binary.Bminus prec emax prec_pos prec_emax payload mode_NE.

Lemma one_subtraction (x y : float) :
  finite x = true -> finite y = true -> Rabs (B2R x - B2R y) <= Omega
  -> finite (minus x y) = true /\ B2R (minus x y) = fl (B2R x - B2R y).
Proof.
intros Fx Fy H. generalize (Binary.Bminus_correct prec emax prec_pos prec_emax payload mode_NE x y Fx Fy).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|].
apply Rle_lt_trans with (2 := Omega_below).
apply abs_round_le_generic; auto using Omega_format with typeclass_instances.
Qed.

Notation pair_of sc := (B2R (fst sc), B2R (snd sc)).

Definition both_finite (sc : float * float) := finite (fst sc) = true /\ finite (snd sc) = true.

Lemma one_kahan_step (sc : float * float) x :
  both_finite sc
  -> finite x = true
  -> (let s := B2R (fst sc) in
      let c := B2R (snd sc) in
      let y := fl (B2R x - c) in
      let t := fl (s + y) in
      let z := fl (t - s) in
      Rabs (B2R x - c) <= Omega /\ Rabs (s + y) <= Omega /\ Rabs (t - s) <= Omega /\ Rabs (z - y) <= Omega)
  -> both_finite (kahan_step float plus minus sc x)
     /\ pair_of (kahan_step float plus minus sc x) = step prec emin (pair_of sc) (B2R x).
Proof.
destruct sc as [s c]. intros [Fs Fc] Fx (H1 & H2 & H3 & H4). cbn [fst snd] in *. unfold kahan_step, step.
destruct (one_subtraction x c Fx Fc H1) as [A1 A2]. rewrite <- A2 in *.
destruct (one_addition s (minus x c) Fs A1 H2) as [B1 B2]. rewrite <- B2 in *.
destruct (one_subtraction (plus s (minus x c)) s B1 Fs H3) as [C1 C2]. rewrite <- C2 in *.
destruct (one_subtraction _ _ C1 A1 H4) as [D1 D2]. cbn [fst snd]. rewrite <- D2. split; [split; auto|reflexivity].
Qed.

Theorem kahan_does_not_overflow M l :
  0 <= M -> Forall (record M) l -> INR (length l) * u <= / 4 -> INR (length l) * M + 3 * u * INR (length l) * M <= Omega
  -> finite (kahan_sum float zero plus minus l) = true
     /\ B2R (kahan_sum float zero plus minus l) = kahan prec emin (map B2R l).
Proof.
intros M0 F Hu H. assert (u0 := u_pos prec).
assert (E0 : (emin <= 0)%Z) by (unfold Prec_gt_0 in prec_pos; unfold Prec_lt_emax in prec_emax; lia).
enough (G : both_finite (fold_left (kahan_step float plus minus) l (zero, zero)) /\
  pair_of (fold_left (kahan_step float plus minus) l (zero, zero)) = fold_left (step prec emin) (map B2R l) (0, 0)).
{ destruct G as [[G1 _] G2]. split; [exact G1|]. unfold kahan_sum, kahan. now rewrite <- G2. }
assert (id : forall x, format x -> fl x = x) by (intros; apply round_generic; auto with typeclass_instances).
revert F Hu H. induction l as [|x l IH] using rev_ind; intros F Hu H; [split; [split; reflexivity|reflexivity]|].
rewrite app_length, plus_INR in Hu, H. simpl (INR (length [x])) in Hu, H. apply Forall_app in F as [F Fx].
destruct (Forall_inv Fx) as [Fx1 Bx].
assert (n0 := pos_INR (length l)). set (n := INR (length l)) in *.
assert (nu : 0 <= n * u) by (apply Rmult_le_pos; lra). assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
assert (nM : 0 <= n * M) by (apply Rmult_le_pos; lra).
assert (nuM : 0 <= n * (u * M)) by (apply Rmult_le_pos; lra).
destruct IH as [I1 I2]; auto; [lra|lra|]. rewrite map_app, !fold_left_app. cbn [map fold_left]. rewrite <- I2.
set (sc := fold_left (kahan_step float plus minus) l (zero, zero)) in *.
assert (FR : Forall (fun y => format y /\ Rabs y <= M) (map B2R l)).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (z & <- & Hz). split; [apply finite_format|].
  rewrite Forall_forall in F. now destruct (F z Hz). }
apply one_kahan_step; auto.
assert (FX := finite_format x). set (X := B2R x) in *.
destruct (le_lt_dec 2 (length l)) as [h|h].
- assert (prec_4 : (4 <= prec)%Z).
  { destruct (Z_le_gt_dec 4 prec) as [g|g]; auto. exfalso.
    assert (/ 8 <= u) by (change (/ 8) with (bpow radix2 (-3)); apply bpow_le; lia).
    assert (2 <= n) by (apply (le_INR 2); lia). assert (2 * u <= n * u) by (apply Rmult_le_compat_r; lra). lra. }
  assert (P := good_prefix prec emin prec_4 E0 M (map B2R l) ltac:(now rewrite map_length)
        ltac:(rewrite map_length; fold n; lra) FR).
  rewrite map_length in P. fold n in P. rewrite <- I2 in P. assert (N2 : 2 <= n) by (apply (le_INR 2); lia).
  destruct (step_room prec emin prec_4 M n _ _ _ X N2 ltac:(lra) P FX Bx) as (R1 & R2 & R3 & R4).
  assert (2 * M <= n * M) by (apply Rmult_le_compat_r; lra). repeat split; cbn [fst snd] in *; lra.
- destruct l as [|x1 [|x2 l]]; simpl in h; try lia.
  + clear I2. subst sc. cbn [fold_left fst snd]. change (B2R zero) with 0. cbv zeta.
    repeat (rewrite Rminus_0_r || rewrite Rplus_0_l || rewrite (id X FX) || rewrite (Rminus_diag_eq X X eq_refl)).
    rewrite Rabs_R0.
    unfold n in *. simpl in H. repeat split; lra.
  + assert (n = 1) by reflexivity. assert (u1 : u <= / 8) by (rewrite H0 in Hu; lra).
    destruct (Forall_inv FR) as [F1 B1]. set (X1 := B2R x1) in *.
    assert (S1 : pair_of sc = (X1, 0)).
    { rewrite I2. cbn [map fold_left step]. fold X1.
      repeat (rewrite Rminus_0_r || rewrite Rplus_0_l || rewrite (id X1 F1) || rewrite (Rminus_diag_eq X1 X1 eq_refl)).
      rewrite round_0; auto with typeclass_instances. }
    assert (Es : B2R (fst sc) = X1) by exact (f_equal fst S1). assert (Ec : B2R (snd sc) = 0) by exact (f_equal snd S1).
    cbv zeta. rewrite Es, Ec, Rminus_0_r, (id X FX).
    assert (A : Rabs (X1 + X) <= 2 * M) by (apply Rle_trans with (1 := Rabs_triang _ _); lra).
    assert (Be := add_u prec emin even X1 X F1 FX). set (t := fl (X1 + X)) in *.
    assert (Ft : format t) by (apply generic_format_round; auto with typeclass_instances).
    assert (Be' : Rabs (t - (X1 + X)) <= u * (2 * M)) by (apply Rle_trans with (1 := Be), Rmult_le_compat_l; lra).
    assert (Ts : Rabs (t - X1) <= 2 * M).
    { replace (t - X1) with (X + (t - (X1 + X))) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
      assert (u * (2 * M) <= / 8 * (2 * M)) by (apply Rmult_le_compat_r; lra). lra. }
    assert (De := add_u prec emin even t (- X1) Ft (generic_format_opp _ _ _ F1)). fold (t - X1) in De.
    set (z := fl (t - X1)) in *.
    assert (De' : Rabs (z - (t - X1)) <= u * (2 * M)) by (apply Rle_trans with (1 := De), Rmult_le_compat_l; lra).
    assert (Zy : Rabs (z - X) <= 2 * M).
    { replace (z - X) with ((z - (t - X1)) + (t - (X1 + X))) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
      assert (u * (2 * M) <= / 8 * (2 * M)) by (apply Rmult_le_compat_r; lra). lra. }
    rewrite H0 in H. repeat split; lra.
Qed.
End Kahan.

(** Shifted: if U - L, rounded, is finite, the subtraction of L from a record within [L, U] is the one of Shifted.v. *)
Theorem shift_does_not_overflow (L U x : float) :
  finite L = true -> finite x = true -> B2R L <= B2R x <= B2R U -> U' prec emin (B2R L) (B2R U) <= Omega
  -> finite (minus x L) = true /\ B2R (minus x L) = moved prec emin float B2R (B2R L) x.
Proof.
intros FL Fx [Lx xU] H. generalize (Binary.Bminus_correct prec emax prec_pos prec_emax payload mode_NE x L Fx FL).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|].
apply Rle_lt_trans with (2 := Omega_below). apply Rle_trans with (2 := H). unfold U'.
rewrite Rabs_pos_eq; [apply round_le; auto with typeclass_instances; lra|].
apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra].
Qed.

(** Rounded toward zero an overflowing sum stays at the largest finite value. *)
Definition plus_down : float -> float -> float := Binary.Bplus prec emax prec_pos prec_emax payload mode_ZR.

Lemma Omega_is : Omega = bpow radix2 emax - bpow radix2 (emax - prec).
Proof.
unfold Prec_gt_0 in prec_pos. unfold Omega. rewrite minus_IZR. change (2 ^ prec)%Z with (Zpower radix2 prec).
rewrite IZR_Zpower by lia.
rewrite Rmult_minus_distr_r, <- bpow_plus. replace (prec + (emax - prec))%Z with emax by ring. ring.
Qed.

Lemma below_Omega (x : float) : Rabs (B2R x) <= Omega.
Proof. rewrite Omega_is. now apply (Binary.abs_B2R_le_emax_minus_prec prec emax). Qed.

Lemma sign_says (x : float) : finite x = true -> if Binary.Bsign prec emax x then B2R x <= 0 else 0 <= B2R x.
Proof.
destruct x as [s| | |s m e H]; try discriminate; intros _; simpl; [destruct s; lra|].
destruct s; [apply F2R_le_0|apply F2R_ge_0]; simpl; lia.
Qed.

Lemma one_addition_down (x y : float) :
  finite x = true -> finite y = true
  -> finite (plus_down x y) = true /\ B2R (plus_down x y) = held prec emin Omega (B2R x + B2R y).
Proof.
intros Fx Fy. generalize (Binary.Bplus_correct prec emax prec_pos prec_emax payload mode_ZR x y Fx Fy).
fold (plus_down x y).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_ZR)) with (round radix2 (FLT_exp emin prec) Ztrunc).
set (r := round radix2 (FLT_exp emin prec) Ztrunc (B2R x + B2R y)).
assert (Sx := sign_says x Fx). assert (Sy := sign_says y Fy).
case Rlt_bool_spec; intros H.
- intros (E & F & _). split; auto. rewrite E. assert (B := below_Omega (plus_down x y)). rewrite E in B.
  apply Rabs_le_inv in B.
  unfold held. fold r. rewrite Rmin_right, Rmax_right; lra.
- intros (E & S). unfold Binary.binary_overflow, BinarySingleNaN.binary_overflow in E. simpl in E.
  assert (P2 : (1 < 2 ^ prec)%Z) by (unfold Prec_gt_0 in prec_pos; apply Z.pow_gt_1; lia).
  split; [rewrite <- (Binary.is_finite_B2FF prec emax), E; reflexivity|].
  rewrite <- (Binary.FF2R_B2FF prec emax), E. generalize Omega_below; intros OB. unfold held. fold r.
  destruct (Binary.Bsign prec emax x).
  + rewrite <- S in Sy.
    assert (R0 : r <= 0) by (apply round_le_generic; auto with typeclass_instances; [apply generic_format_0|lra]).
    rewrite Rabs_left1 in H by auto. generalize Omega_pos; intros. rewrite Rmin_right, Rmax_left by lra.
    unfold Binary.FF2R, F2R. cbn [Fnum Fexp cond_Zopp]. rewrite Z2Pos.id by lia. rewrite opp_IZR. unfold Omega. ring.
  + rewrite <- S in Sy.
    assert (R0 : 0 <= r) by (apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra]).
    rewrite Rabs_pos_eq in H by auto. generalize Omega_pos; intros. rewrite Rmin_left, Rmax_right by lra.
    unfold Binary.FF2R, F2R. cbn [Fnum Fexp cond_Zopp]. rewrite Z2Pos.id by lia. reflexivity.
Qed.

Variables above_zero below_zero : float -> bool.
Hypothesis above_zero_ok : forall x, finite x = true -> above_zero x = Rlt_bool 0 (B2R x).
Hypothesis below_zero_ok : forall x, finite x = true -> below_zero x = Rlt_bool (B2R x) 0.

Lemma half_is_half (keep : float -> bool) (f : R -> bool) (l : list float) :
  (forall x, finite x = true -> keep x = f (B2R x)) -> Forall (fun x => finite x = true) l
  -> forall s,
       finite s = true
       -> finite (fold_left (fun s x => plus_down s (if keep x then x else zero)) l s) = true
          /\ B2R (fold_left (fun s x => plus_down s (if keep x then x else zero)) l s)
              = half_from prec emin Omega (B2R s) (map (fun x => if f x then x else 0) (map B2R l)).
Proof.
intros K. induction l as [|x l IH]; intros F s Fs; [split; auto|]. cbn [fold_left map half_from].
assert (Fx := Forall_inv F). assert (Fk : finite (if keep x then x else zero) = true) by (destruct (keep x); auto).
destruct (one_addition_down s _ Fs Fk) as [A B]. destruct (IH (Forall_inv_tail F) _ A) as [C D]. split; auto.
rewrite D, B.
unfold half_from. cbn [fold_left]. rewrite (K x Fx). now destruct (f (B2R x)).
Qed.

Lemma skipped_zeros (f : R -> bool) l s :
  TowardZero.record prec emin s -> s <= Omega
  -> Forall (TowardZero.record prec emin) (map (fun x => if f x then x else 0) l)
  -> half_from prec emin Omega s (map (fun x => if f x then x else 0) l) = half_from prec emin Omega s (filter f l).
Proof.
revert s; induction l as [|x l IH]; intros s Rs Hs F; [reflexivity|]. cbn [map filter] in *. destruct (Rs) as [Fs Ps].
assert (R1 := Forall_inv F). assert (F1 := Forall_inv_tail F). unfold half_from in *. destruct (f x); cbn [fold_left].
- destruct R1 as [Fx Px]. apply IH; auto; [apply held_record|apply held_Omega]; auto using Omega_format, Omega_pos; lra.
- rewrite Rplus_0_r, held_id by auto using Omega_pos. now apply IH.
Qed.

Theorem toward_zero_is_held l :
  Forall (fun x => finite x = true) l
  -> finite (toward_zero_sum float zero plus plus_down above_zero below_zero l) = true
     /\ B2R (toward_zero_sum float zero plus plus_down above_zero below_zero l) = total prec emin Omega (map B2R l).
Proof.
intros F. unfold toward_zero_sum.
destruct (half_is_half above_zero (Rlt_bool 0) l above_zero_ok F zero eq_refl) as [A B].
destruct (half_is_half below_zero (fun x => Rlt_bool x 0) l below_zero_ok F zero eq_refl) as [C D].
set (P := fold_left _ l zero) in A, B. set (N := fold_left _ l zero) in C, D. change (B2R zero) with 0 in *.
assert (R0 : TowardZero.record prec emin 0) by (split; [apply generic_format_0|lra]).
assert (EP : B2R P = half prec emin Omega (TowardZero.ups (map B2R l))).
{ rewrite B, skipped_zeros; auto using Omega_pos.
  - unfold half.
    rewrite <- (zeros_add_nothing prec emin Omega Omega_format Omega_pos (TowardZero.ups (map B2R l)) 0 R0 Omega_pos).
    + f_equal. unfold TowardZero.ups. clear. induction (map B2R l) as [|x m IH]; [reflexivity|]. simpl.
      case Rle_bool_spec; case Rlt_bool_spec; intros; simpl; try lra; rewrite ?IH; auto; case Rlt_bool_spec; intros;
        try lra; now rewrite ?IH.
    + unfold TowardZero.ups. apply Forall_forall. intros y Hy. apply filter_In in Hy as [Hy S].
      apply in_map_iff in Hy as (x & <- & _).
      split; [apply finite_format|]. revert S. case Rle_bool_spec; intros; [auto|discriminate].
  - apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx). apply in_map_iff in Hx as (z & <- & _).
    case Rlt_bool_spec; intros; auto. split; [apply finite_format|lra]. }
assert (EN : B2R N = half prec emin Omega (TowardZero.downs (map B2R l))).
{ rewrite D. assert (O : forall m s, - half_from prec emin Omega s m = half_from prec emin Omega (- s) (map Ropp m)).
  { induction m as [|x m IH]; intros s; [reflexivity|]. unfold half_from in *. cbn [map fold_left]. rewrite IH.
    f_equal. rewrite <- Ropp_plus_distr, held_opp; auto using Omega_pos. }
  unfold half, TowardZero.downs. match goal with |- ?a = ?b => enough (E : - a = - b) by lra end. rewrite !O, Ropp_0.
  replace (map Ropp (map (fun x => if Rlt_bool x 0 then x else 0) (map B2R l)))
    with (map (fun x => if Rlt_bool 0 x then x else 0) (map Ropp (map B2R l))).
  - rewrite skipped_zeros; auto using Omega_pos.
    + f_equal. clear. induction (map B2R l) as [|x m IH]; [reflexivity|]. simpl.
      case Rlt_bool_spec; case Rlt_bool_spec; intros; simpl; try lra; now rewrite IH.
    + apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx).
      apply in_map_iff in Hx as (z & <- & Hz). apply in_map_iff in Hz as (t & <- & _).
      case Rlt_bool_spec; intros; auto. split; [apply generic_format_opp, finite_format|lra].
  - rewrite !map_map. apply map_ext. intros x. case Rlt_bool_spec; case Rlt_bool_spec; intros; try lra; ring. }
assert (PP : 0 <= B2R P).
{ rewrite B. apply half_record; auto using Omega_format, Omega_pos. apply Forall_forall. intros y Hy.
  apply in_map_iff in Hy as (x & <- & Hx). apply in_map_iff in Hx as (z & <- & _).
  case Rlt_bool_spec; intros; auto. split; [apply finite_format|lra]. }
assert (NN : B2R N <= 0).
{ rewrite EN. assert (G : 0 <= half prec emin Omega (map Ropp (TowardZero.downs (map B2R l)))).
  { apply half_record; auto using Omega_format, Omega_pos. apply Forall_forall. intros y Hy.
    apply in_map_iff in Hy as (x & <- & Hx). apply filter_In in Hx as [Hx S]. apply in_map_iff in Hx as (z & <- & _).
    split; [apply generic_format_opp, finite_format|]. revert S. case Rlt_bool_spec; intros; [lra|discriminate]. }
  rewrite half_opp in G; auto using Omega_pos. lra. }
destruct (one_addition P N A C) as [G H].
- generalize (below_Omega P) (below_Omega N). intros B1 B2. apply Rabs_le_inv in B1, B2. apply Rabs_le. lra.
- split; [exact G|]. rewrite EP, EN in H. exact H.
Qed.
End Ieee.

(** The additions the tests run in binary64 and binary32 are these. *)
Theorem additions_that_run :
  (exists p e,
     Binary64.add = plus 53 1024 p e binop_nan_pl64
     /\ Binary64.sub = minus 53 1024 p e binop_nan_pl64
     /\ b64_plus mode_ZR = plus_down 53 1024 p e binop_nan_pl64)
  /\ (exists p e,
        b32_plus mode_NE = plus 24 128 p e binop_nan_pl32
        /\ b32_minus mode_NE = minus 24 128 p e binop_nan_pl32
        /\ b32_plus mode_ZR = plus_down 24 128 p e binop_nan_pl32).
Proof. split; do 2 eexists; repeat split; reflexivity. Qed.
