(** The sums keep the bounds of Bounds.v, which are the ones the code claims.

    For each method the executable bound, read as a real number, bounds what the page's theorem bounds:

    - floats added as floats (iterated, pairwise, numpy_pairwise, kahan, toward_zero), as they are or shifted: how far a
      neighbour's sum can be, in order or after a uniform secret permutation, and how far the sum is from the exact one;
    - integers (wide, checked, saturating, split, split_checked, modular): how far a neighbour's sum can be;
    - grids (our own, down to the bit patterns the C++ kernel gets, and any other step): both again; and with the
      paper's step the integers of n records add up to 2^(bits - 2) - n at most. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Wide Checked Modular Saturating Split Grid GridKernel OurGrid
  Accuracy Trees Iterated Pairwise NumpyPairwise Kahan TowardZero Shifted.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Binary64 Bounds.
Import ListNotations.
Open Scope R_scope.

(** From rationals to reals. *)
Lemma Q2R_Z z : Q2R (inject_Z z) = IZR z.
Proof. unfold Q2R. simpl. field. Qed.

Lemma Q2R_nat n : Q2R (Bounds.nat_Q n) = INR n.
Proof. unfold Bounds.nat_Q. rewrite Q2R_Z. symmetry. apply INR_IZR_INZ. Qed.

Lemma Q2R_pow2 e : Q2R (Bounds.pow2 e) = bpow radix2 e.
Proof.
destruct e as [|q|q]; unfold Bounds.pow2.
- unfold Q2R. simpl. field.
- rewrite Q2R_Z. reflexivity.
- unfold Q2R. cbn [Qnum Qden]. rewrite Rmult_1_l. simpl bpow. do 2 f_equal. now rewrite Pos2Z.inj_pow_pos.
Qed.

Lemma Q2R_abs a : Q2R (Qabs a) = Rabs (Q2R a).
Proof.
destruct (Qlt_le_dec a 0) as [h|h].
- rewrite (Qeq_eqR _ _ (Qabs_neg a (Qlt_le_weak _ _ h))), Q2R_opp. apply Qlt_Rlt in h. rewrite RMicromega.Q2R_0 in h.
  rewrite Rabs_left; lra.
- rewrite (Qeq_eqR _ _ (Qabs_pos a h)). apply Qle_Rle in h. rewrite RMicromega.Q2R_0 in h. rewrite Rabs_pos_eq; lra.
Qed.

Lemma Q2R_max a b : Q2R (Qmax a b) = Rmax (Q2R a) (Q2R b).
Proof.
destruct (Q.max_spec a b) as [[h e]|[h e]]; rewrite (Qeq_eqR _ _ e).
- apply Qlt_Rlt in h. rewrite Rmax_right; lra.
- apply Qle_Rle in h. rewrite Rmax_left; lra.
Qed.

Lemma Q2R_min a b : Q2R (Qmin a b) = Rmin (Q2R a) (Q2R b).
Proof.
destruct (Q.min_spec a b) as [[h e]|[h e]]; rewrite (Qeq_eqR _ _ e).
- apply Qlt_Rlt in h. rewrite Rmin_left; lra.
- apply Qle_Rle in h. rewrite Rmin_right; lra.
Qed.

Lemma Q2R_zero a : Bounds.is_zero a = true <-> Q2R a = 0.
Proof.
unfold Bounds.is_zero. rewrite Qeq_bool_iff. split; intros H.
- rewrite (Qeq_eqR _ _ H). apply RMicromega.Q2R_0.
- apply eqR_Qeq. now rewrite RMicromega.Q2R_0.
Qed.

Lemma Q2R_nonzero a : Bounds.is_zero a = false -> Q2R a <> 0.
Proof. intros H E. apply Q2R_zero in E. congruence. Qed.

Lemma Q2R_magnitude L U : Q2R (Bounds.magnitude L U) = magnitude (Q2R L) (Q2R U).
Proof. unfold Bounds.magnitude, magnitude. now rewrite Q2R_max, !Q2R_abs. Qed.

Lemma Q2R_2 : Q2R 2 = 2. Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_3 : Q2R 3 = 3. Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_1 : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_0 : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_below a b : Bounds.below a b = true <-> Q2R a < Q2R b.
Proof.
unfold Bounds.below. split.
- intros H. apply Bool.negb_true_iff in H. destruct (Rlt_le_dec (Q2R a) (Q2R b)) as [h|h]; auto.
  apply Rle_Qle, Qle_bool_iff in h. congruence.
- intros H. apply Bool.negb_true_iff. destruct (Qle_bool b a) eqn:E; auto. apply Qle_bool_iff, Qle_Rle in E. lra.
Qed.

Lemma Q2R_le a b : Qle_bool a b = true <-> Q2R a <= Q2R b.
Proof. rewrite Qle_bool_iff. split; [apply Qle_Rle|apply Rle_Qle]. Qed.

Lemma floor_is_floor a : Qfloor a = Zfloor (Q2R a).
Proof.
symmetry. apply Zfloor_imp. split.
- rewrite <- Q2R_Z. apply Qle_Rle, Qfloor_le.
- rewrite <- Q2R_Z. apply Qlt_Rlt, Qlt_floor.
Qed.

Lemma ceiling_is_ceiling a : Qceiling a = Zceil (Q2R a).
Proof. unfold Qceiling, Zceil. now rewrite floor_is_floor, Q2R_opp. Qed.

Lemma nearest_is_nearest a : Bounds.nearest a = ZnearestE (Q2R a).
Proof.
unfold Bounds.nearest, Znearest. rewrite floor_is_floor. set (f := Zfloor (Q2R a)).
assert (C : Qcompare (a - inject_Z f) (1 # 2) = Rcompare (Q2R a - IZR f) (/ 2)).
{ assert (E : Q2R (a - inject_Z f) = Q2R a - IZR f) by now rewrite Q2R_minus, Q2R_Z.
  assert (H : Q2R (1 # 2) = / 2) by (unfold Q2R; simpl; lra). rewrite <- E, <- H. symmetry.
  destruct (Qcompare_spec (a - inject_Z f) (1 # 2)) as [e|e|e].
  - apply Rcompare_Eq. now apply Qeq_eqR.
  - apply Rcompare_Lt. now apply Qlt_Rlt.
  - apply Rcompare_Gt. now apply Qlt_Rlt. }
rewrite C. case Rcompare_spec; intros h; auto.
- assert (Zceil (Q2R a) = f + 1)%Z; [|destruct (Z.even f); simpl; auto].
  apply Zceil_floor_neq. fold f. lra.
- symmetry. apply Zceil_floor_neq. fold f. lra.
Qed.

Lemma floor_log2_is_mag x : 0 < Q2R x -> Bounds.floor_log2 x = (mag radix2 (Q2R x) - 1)%Z.
Proof.
intros Hx. enough (H : bpow radix2 (Bounds.floor_log2 x) <= Q2R x < bpow radix2 (Bounds.floor_log2 x + 1)).
{ symmetry. enough (mag radix2 (Q2R x) = (Bounds.floor_log2 x + 1)%Z :> Z) by lia. apply mag_unique.
  rewrite Rabs_pos_eq by lra.
  now replace (Bounds.floor_log2 x + 1 - 1)%Z with (Bounds.floor_log2 x) by ring. }
assert (Np : (0 < Qnum x)%Z).
{ assert (H : (0 < x)%Q) by (apply Rlt_Qlt; now rewrite Q2R_0). unfold Qlt in H. simpl in H. lia. }
assert (B : bpow radix2 (Z.log2 (Qnum x) - Z.log2 (Zpos (Qden x)) - 1) <= Q2R x
      < bpow radix2 (Z.log2 (Qnum x) - Z.log2 (Zpos (Qden x)) + 1)).
{ set (a := Z.log2 (Qnum x)). set (b := Z.log2 (Zpos (Qden x))). assert (A := Z.log2_spec _ Np).
  assert (A' := Z.log2_spec (Zpos (Qden x)) eq_refl). fold a in A. fold b in A'.
  assert (a0 : (0 <= a)%Z) by apply Z.log2_nonneg. assert (b0 : (0 <= b)%Z) by apply Z.log2_nonneg.
  destruct A as [A1 A2], A' as [B1 B2]. apply IZR_le in A1, B1. apply IZR_lt in A2, B2.
  change 2%Z with (radix_val radix2) in A1, A2, B1, B2. rewrite IZR_Zpower in A1, A2, B1, B2 by lia.
  unfold Q2R. set (n := IZR (Qnum x)) in *. set (d := IZR (Zpos (Qden x))) in *.
  assert (d0 : 0 < d) by (apply IZR_lt; reflexivity). generalize (bpow_gt_0 radix2 a) (bpow_gt_0 radix2 b).
  intros pa pb. split.
  - apply Rmult_le_reg_r with d; auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (bpow radix2 (a - b - 1) * bpow radix2 (Z.succ b)).
    + apply Rmult_le_compat_l; [apply bpow_ge_0|lra].
    + rewrite <- bpow_plus. replace (a - b - 1 + Z.succ b)%Z with a by lia. lra.
  - apply Rmult_lt_reg_r with d; auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rlt_le_trans with (1 := A2). apply Rle_trans with (bpow radix2 (a - b + 1) * bpow radix2 b).
    + rewrite <- bpow_plus. apply bpow_le. lia.
    + apply Rmult_le_compat_l; [apply bpow_ge_0|lra]. }
unfold Bounds.floor_log2. set (e := (Z.log2 (Qnum x) - Z.log2 (Zpos (Qden x)))%Z) in *.
destruct (Qle_bool (Bounds.pow2 e) x) eqn:E.
- apply Q2R_le in E. rewrite Q2R_pow2 in E. lra.
- assert (Q2R x < bpow radix2 e).
  { rewrite <- Q2R_pow2. apply Rnot_le_lt. intros H. apply Q2R_le in H. congruence. }
  replace (e - 1 + 1)%Z with e by ring. lra.
Qed.

Lemma power_below_is_pw x : 0 <= Q2R x -> Q2R (Bounds.power_below x) = pw (Q2R x).
Proof.
intros Hx. unfold Bounds.power_below, pw. destruct (Bounds.is_zero x) eqn:Z.
- apply Q2R_zero in Z. rewrite Z, Req_bool_true by auto. apply Q2R_0.
- apply Q2R_nonzero in Z. rewrite Req_bool_false by auto. rewrite Q2R_pow2, floor_log2_is_mag by lra. reflexivity.
Qed.

Lemma u_is_u k : Q2R (Bounds.u k) = u (k + 1).
Proof. unfold Bounds.u, u. apply Q2R_pow2. Qed.

(** Floats added as floats. *)
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

(** Rounded toward zero. *)
Variable Omega : R.
Hypothesis Omega_format : format Omega.
Hypothesis Omega_pos : 0 <= Omega.
Hypothesis L_format : format (Q2R L).
Hypothesis U_format : format (Q2R U).
Notation toward_zero d := (total (k + 1) eta Omega (map c d)).

Lemma Q2R_drift b :
  0 <= Q2R b -> Q2R (Bounds.drift true k n b) = pwn (k + 1) n (Q2R b) /\ Q2R (Bounds.drift false k n b) = pw (Q2R b).
Proof.
intros Hb. unfold Bounds.drift, pwn. split; [|now apply power_below_is_pw].
rewrite Q2R_min, Q2R_mult, Q2R_pow2, !power_below_is_pw, Q2R_mult, Q2R_nat; auto.
- now replace (1 - (k + 1))%Z with (- k)%Z by ring.
- rewrite Q2R_mult, Q2R_nat. apply Rmult_le_pos; [apply pos_INR|auto].
Qed.

Lemma pw_0 : pw 0 = 0. Proof. unfold pw. now rewrite Req_bool_true. Qed.

Lemma pwn_0 : pwn (k + 1) n 0 = 0.
Proof. unfold pwn. rewrite Rmult_0_r, pw_0, Rmult_0_l. apply Rmin_left; lra. Qed.

Lemma all_fit d : Forall (fun x => format x /\ Q2R L <= x <= Q2R U) (map c d).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). split; auto. apply c_within. Qed.

Lemma constant_records d d' : Q2R U - Q2R L = 0 -> length d = length d' -> map c d = map c d'.
Proof.
intros Z Len. assert (E : forall e : list X, map c e = repeat (Q2R L) (length e)).
{ induction e as [|x e IH]; [reflexivity|]. simpl. rewrite IH. f_equal. destruct (c_within x). lra. }
now rewrite !E, Len.
Qed.

Lemma hamming_length (d d' : list X) : hamming d d' -> length d = length d'.
Proof. intros H. destruct H; auto. rewrite !app_length. reflexivity. Qed.

Theorem toward_zero_insert_delete_promise :
  sensitivity insert_delete (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U))
  /\ permuted_sensitivity symmetric (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U)).
Proof.
enough (S : sensitivity insert_delete (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U)))
  by (split; [exact S|now apply permutation_symmetric]).
intros d d' H. unfold Bounds.toward_zero_sensitivity. cbn [Bounds.ideal].
assert (Eu : Q2R (Qmax U 0) = Rmax (Q2R U) 0) by now rewrite Q2R_max, Q2R_0.
assert (Ed : Q2R (Qmax (- L) 0) = Rmax (- Q2R L) 0) by now rewrite Q2R_max, Q2R_0, Q2R_opp.
destruct (Q2R_drift (Qmax U 0)) as [_ Du]; [rewrite Eu; apply Rmax_r|].
destruct (Q2R_drift (Qmax (- L) 0)) as [_ Dd]; [rewrite Ed; apply Rmax_r|].
rewrite Eu in Du. rewrite Ed in Dd.
assert (Iz : Q2R (Bounds.magnitude L U) = 0 -> Q2R L = 0 /\ Q2R U = 0).
{ rewrite Q2R_magnitude. unfold magnitude. intros Z.
  generalize (Rmax_l (Rabs (Q2R L)) (Rabs (Q2R U))) (Rmax_r (Rabs (Q2R L)) (Rabs (Q2R U))) (Rabs_pos (Q2R L))
    (Rabs_pos (Q2R U)).
  rewrite Z. intros.
  split; [destruct (Req_dec (Q2R L) 0) as [e|e]; auto; generalize (Rabs_pos_lt _ e);
    lra|destruct (Req_dec (Q2R U) 0) as [e|e]; auto; generalize (Rabs_pos_lt _ e); lra]. }
destruct (Bounds.is_zero (Bounds.magnitude L U)) eqn:Z.
- apply Q2R_zero in Z. destruct (Iz Z) as [ZL ZU]. rewrite Q2R_0.
  assert (E : forall e : list X, toward_zero e = 0).
  { intros e. assert (R0 : record (k + 1) eta 0) by (split; [apply generic_format_0|lra]).
    assert (M : map c e = repeat 0 (length e)).
    { induction e as [|x e IH]; [reflexivity|]. simpl. rewrite IH. f_equal. destruct (c_within x). lra. }
    rewrite M, total_up; auto with typeclass_instances;
    [|apply Forall_forall; intros y Hy; apply repeat_spec in Hy; now subst].
    unfold half.
    rewrite <- (zeros_add_nothing (k + 1) eta Omega Omega_format Omega_pos (repeat 0 (length e)) 0 R0 Omega_pos);
    [|apply Forall_forall; intros y Hy; apply repeat_spec in Hy; now subst].
    replace (filter _ (repeat 0 (length e))) with (@nil R); [reflexivity|]. generalize (length e). intros m.
    induction m as [|m IH]; [reflexivity|]. simpl. now rewrite Rlt_bool_false by lra. }
  rewrite !E, Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- apply Q2R_nonzero in Z. destruct (Bounds.one_sign L U) eqn:O.
  + rewrite Q2R_max, !Q2R_plus, Du, Dd, Eu, Ed. unfold Bounds.one_sign in O.
    apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O.
    * assert (0 < Q2R U). { destruct (Rle_lt_dec (Q2R U) 0); auto. exfalso. apply Z. rewrite Q2R_magnitude.
      unfold magnitude. replace (Q2R L) with 0 by lra. replace (Q2R U) with 0 by lra. rewrite Rabs_R0.
      apply Rmax_left; lra. }
      apply Rle_trans with (2 := Rmax_l _ _). rewrite Rmax_left by lra. rewrite Rplus_comm.
      apply (positive_insert_delete (k + 1) eta Omega) with (Q2R L);
      auto using all_fit, map_insert_delete with typeclass_instances.
    * assert (Q2R L < 0). { destruct (Rle_lt_dec 0 (Q2R L)); auto. exfalso. apply Z. rewrite Q2R_magnitude.
      unfold magnitude. replace (Q2R L) with 0 by lra. replace (Q2R U) with 0 by lra. rewrite Rabs_R0.
      apply Rmax_left; lra. }
      apply Rle_trans with (2 := Rmax_r _ _). rewrite (Rmax_left (- Q2R L)) by lra. rewrite Rplus_comm.
      apply (negative_insert_delete (k + 1) eta Omega) with (Q2R U);
      auto using all_fit, map_insert_delete with typeclass_instances.
  + unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
    assert (L0 : Q2R L < 0) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    assert (U0 : 0 < Q2R U) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    rewrite Q2R_plus, !Q2R_max, !Q2R_plus, Du, Dd, Eu, Ed. rewrite (Rmax_left (Q2R U)), (Rmax_left (- Q2R L)) by lra.
    rewrite (Rplus_comm (pw (Q2R U))), (Rplus_comm (pw (- Q2R L))).
    apply two_signs_insert_delete; auto using all_fit, map_insert_delete with typeclass_instances.
Qed.

Theorem toward_zero_accuracy_promise d :
  INR n * magnitude (Q2R L) (Q2R U) <= Omega -> (length d <= n)%nat
  -> Rabs (toward_zero d - sum (map c d)) <= Q2R (Bounds.toward_zero_accuracy k n L U).
Proof.
intros H Hd.
assert (F : Forall (fun x => format x /\ Rabs x <= magnitude (Q2R L) (Q2R U)) (map c d)).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). split; auto.
  apply magnitude_bound, c_within. }
destruct
  (toward_zero_accuracy (k + 1) eta Omega Omega_format Omega_pos _ n (magnitude_pos (Q2R L) (Q2R U)) H (map c d) F
     ltac:(now rewrite map_length)) as (_ & A & B).
assert (E : Q2R (2 * Bounds.u k * Bounds.nat_Q (n - 1)) = 2 * bpow radix2 (- (k + 1)) * INR (n - 1))
  by (rewrite !Q2R_mult, Q2R_2, Q2R_nat, u_is_u; reflexivity).
unfold Bounds.toward_zero_accuracy. rewrite Q2R_mult, Q2R_plus, E, Q2R_mult, Q2R_nat, Q2R_magnitude.
destruct (Bounds.one_sign L U) eqn:O.
- rewrite Q2R_0, Rplus_0_r. apply B. unfold Bounds.one_sign in O.
  apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O; [left|right]; apply Forall_forall;
  intros y Hy; apply in_map_iff in Hy as (x & <- & _); destruct (c_within x); lra.
- rewrite u_is_u. exact A.
Qed.

Theorem toward_zero_hamming_promise d d' :
  length d = n -> hamming d d'
  -> Rabs (toward_zero d - toward_zero d') <= Q2R (Bounds.toward_zero_sensitivity true k n L U).
Proof.
intros Hn H. unfold Bounds.toward_zero_sensitivity. cbn [Bounds.ideal].
assert (Eu : Q2R (Qmax U 0) = Rmax (Q2R U) 0) by now rewrite Q2R_max, Q2R_0.
assert (Ed : Q2R (Qmax (- L) 0) = Rmax (- Q2R L) 0) by now rewrite Q2R_max, Q2R_0, Q2R_opp.
destruct (Q2R_drift (Qmax U 0)) as [Du _]; [rewrite Eu; apply Rmax_r|].
destruct (Q2R_drift (Qmax (- L) 0)) as [Dd _]; [rewrite Ed; apply Rmax_r|].
rewrite Eu in Du. rewrite Ed in Dd.
assert (Hm : length (map c d) = n) by now rewrite map_length.
destruct (Bounds.is_zero (U - L)) eqn:Z.
- apply Q2R_zero in Z. rewrite Q2R_minus in Z.
  rewrite (constant_records d d'), Rminus_diag_eq, Rabs_R0, Q2R_0 by auto using hamming_length.
  lra.
- apply Q2R_nonzero in Z. rewrite Q2R_minus in Z. destruct (Bounds.one_sign L U) eqn:O.
  + rewrite Q2R_plus, Q2R_max, Q2R_minus, Du, Dd. unfold Bounds.one_sign in O.
    apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O.
    * apply Rle_trans with (Q2R U - Q2R L + pwn (k + 1) n (Q2R U)).
      -- apply (positive_hamming (k + 1) eta Omega); auto using all_fit, map_hamming with typeclass_instances. lra.
      -- apply Rplus_le_compat_l. rewrite (Rmax_left (Q2R U)) by lra. apply Rmax_l.
    * apply Rle_trans with (Q2R U - Q2R L + pwn (k + 1) n (- Q2R L)).
      -- apply (negative_hamming (k + 1) eta Omega); auto using all_fit, map_hamming with typeclass_instances. lra.
      -- apply Rplus_le_compat_l. rewrite (Rmax_left (- Q2R L)) by lra. apply Rmax_r.
  + unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
    assert (L0 : Q2R L < 0) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    assert (U0 : 0 < Q2R U) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    rewrite !Q2R_plus, Eu, Ed, Q2R_max, Du, Dd. rewrite (Rmax_left (Q2R U)), (Rmax_left (- Q2R L)) by lra.
    generalize (two_signs_hamming_n (k + 1) eta Omega Omega_format Omega_pos (Q2R L) (Q2R U) L_format U_format L0 U0 n
        (map c d) (map c d') (all_fit d) (all_fit d') Hm (map_hamming c H)).
    lra.
Qed.

(** Unordered, after a permutation. *)
Theorem toward_zero_change_one_promise d d' :
  length d = n -> change_one d d'
  -> coupled (orders d) (orders d')
       (fun o o' => Rabs (toward_zero o - toward_zero o') <= Q2R (Bounds.toward_zero_sensitivity true k n L U)).
Proof.
apply (permutation_change_one_of_size (fun e => toward_zero e)). intros e e'. now apply toward_zero_hamming_promise.
Qed.
End Floats.

(** Shifted: the rounded spread is the code's, and the moved records are records within 0 and it, so that every promise
    above holds of them for these bounds. *)
Section ShiftedPromise.
Variables k eta : Z.
Hypothesis k_pos : (1 <= k)%Z.

Local Instance p_pos' : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp eta (k + 1))).

Lemma nearest_float_is_round x :
  Q2R (Bounds.nearest_float k eta x) = round radix2 (FLT_exp eta (k + 1)) ZnearestE (Q2R x).
Proof.
unfold Bounds.nearest_float. destruct (Bounds.is_zero x) eqn:Z.
- apply Q2R_zero in Z. rewrite Z, round_0, Q2R_0; auto with typeclass_instances.
- apply Q2R_nonzero in Z. assert (P : 0 < Q2R (Qabs x)) by (rewrite Q2R_abs; now apply Rabs_pos_lt).
  rewrite Q2R_mult, Q2R_Z, nearest_is_nearest, Q2R_pow2, floor_log2_is_mag, Q2R_abs, mag_abs by auto.
  assert (C : Z.max (mag radix2 (Q2R x) - 1 - k) eta = cexp radix2 (FLT_exp eta (k + 1)) (Q2R x))
    by (unfold cexp, FLT_exp; lia).
  rewrite C. unfold round, F2R, scaled_mantissa. cbn [Fnum Fexp]. f_equal. f_equal. f_equal.
  rewrite Q2R_div, Q2R_pow2; [now rewrite bpow_opp|].
  intros E. apply Qeq_eqR in E. rewrite Q2R_pow2, Q2R_0 in E.
  match type of E with bpow _ ?e = _ => generalize (bpow_gt_0 radix2 e) end. lra.
Qed.

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
  by (unfold Bounds.shifted_upper, U'; now rewrite nearest_float_is_round, Q2R_minus).
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

(** Integers. Records are clamped to [L, U], integers for all but `wide`, which rounds its bounds inward. *)
Section Integers.
Variables (X : Type) (lo hi : Z).
Hypothesis lo_hi : (lo <= 0 <= hi)%Z.
Open Scope Z_scope.

Theorem wide_promise (L U : Q) (c : X -> Z) :
  let l := Z.max (Qceiling L) lo in
  let h := Z.min (Qfloor U) hi in
  l <= h -> (forall x, l <= c x <= h)
  -> sensitivity symmetric (fun d => IZR (wide c d)) (Q2R (Bounds.wide_sensitivity false lo hi L U))
     /\ sensitivity change_one (fun d => IZR (wide c d)) (Q2R (Bounds.wide_sensitivity true lo hi L U)).
Proof.
intros l h LH W. unfold Bounds.wide_sensitivity. fold l h.
split; intros d d' H; rewrite Q2R_Z, <- minus_IZR, <- abs_IZR; apply IZR_le.
- now apply (wide_symmetric X c l h W).
- now apply (wide_change_one X c l h W).
Qed.

Variables L U : Z.
Hypothesis LU : L <= U.
Variable c : X -> Z.
Hypothesis c_within : forall x, L <= c x <= U.
Notation QL := (inject_Z L).
Notation QU := (inject_Z U).

Lemma in_all d : in_bounds L U (map c d).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). apply c_within. Qed.

Lemma Q2R_spread : Q2R (QU - QL) = IZR (U - L).
Proof. now rewrite Q2R_minus, !Q2R_Z, minus_IZR. Qed.

Lemma Q2R_magnitudeZ : Q2R (Bounds.magnitude QL QU) = IZR (magnitudeZ L U).
Proof. now rewrite Q2R_magnitude, !Q2R_Z, magnitudeZ_R. Qed.

Theorem checked_promise n :
  Z.of_nat n * U <= hi -> lo <= Z.of_nat n * L
  -> (forall d d',
        length d = n -> change_one d d'
        -> exists s s',
             checked lo hi (map c d) = Some s
             /\ checked lo hi (map c d') = Some s'
             /\ (Rabs (IZR s - IZR s') <= Q2R (Bounds.checked_sensitivity true QL QU))%R)
     /\ sensitivity insert_delete (fun d => value (checked lo hi (map c (firstn n d))))
          (Q2R (Bounds.checked_sensitivity false QL QU))
     /\ permuted_sensitivity symmetric (fun d => value (checked lo hi (map c (firstn n d))))
          (Q2R (Bounds.checked_sensitivity false QL QU)).
Proof.
intros HU HL.
assert (E : Q2R (Bounds.checked_sensitivity false QL QU) = IZR (Z.max (magnitudeZ L U) (U - L))).
{ unfold Bounds.checked_sensitivity. rewrite Q2R_max, Q2R_magnitudeZ, Q2R_spread. unfold Rmax.
  destruct Rle_dec as [g|g]; [apply le_IZR in g|apply Rnot_le_lt, lt_IZR in g]; f_equal; lia. }
split; [|split; rewrite E; [now apply checked_cut|now apply checked_cut_permuted]].
intros d d' Hd H. assert (Hd' : length d' = n).
{ apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now rewrite <- (Permutation_length P)|].
  now rewrite (Permutation_length Q), <- Hd, (Permutation_length P). }
destruct (checked_change_one lo hi lo_hi X c L U n LU c_within HU HL d d' Hd Hd' H) as (s & s' & E1 & E2 & B).
exists s, s'. repeat split; auto. unfold Bounds.checked_sensitivity. rewrite Q2R_spread, <- minus_IZR, <- abs_IZR.
now apply IZR_le.
Qed.

Theorem saturating_promise :
  (sensitivity insert_delete (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
   /\ sensitivity hamming (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)))
  /\ (permuted_sensitivity symmetric (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
      /\ permuted_sensitivity change_one (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)))
  /\ (0 <= L \/ U <= 0
      -> sensitivity symmetric (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
         /\ sensitivity change_one (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU))).
Proof.
cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ, Q2R_spread. split; [|split].
- split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
  + apply saturating_insert_delete; auto using in_all, map_insert_delete.
  + apply saturating_hamming; auto using in_all, map_hamming.
- split; [now apply saturating_permuted_symmetric|now apply saturating_permuted_change_one].
- intros S. split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
  + apply saturating_one_sign_symmetric; auto using in_all, map_symmetric.
  + apply saturating_one_sign_change_one; auto using in_all, map_change_one.
Qed.

Theorem split_promise :
  sensitivity symmetric (fun d => IZR (split lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
  /\ sensitivity change_one (fun d => IZR (split lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)).
Proof.
cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ, Q2R_spread.
split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
- apply split_symmetric; auto using in_all, map_symmetric.
- apply split_change_one; auto using in_all, map_change_one.
Qed.

Theorem split_checked_promise n :
  L <= 0 <= U -> Z.of_nat n * U <= hi -> lo <= Z.of_nat n * L
  -> sensitivity insert_delete (split_checked lo hi X c n) (Q2R (Bounds.ideal false QL QU))
     /\ permuted_sensitivity symmetric (split_checked lo hi X c n) (Q2R (Bounds.ideal false QL QU)).
Proof.
intros [L0 U0] HU HL. cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ.
split; [now apply split_checked_insert_delete|now apply split_checked_permuted].
Qed.

(** modular: the distance on the circle. *)
Theorem modular_promise w :
  1 <= w -> N lo hi = 2 ^ w
  -> (forall d d',
        symmetric d d'
        -> (IZR (circle lo hi (modular lo hi (map c d)) (modular lo hi (map c d')))
              <= Q2R (Bounds.modular_sensitivity false w QL QU))%R)
     /\ (forall d d',
           change_one d d'
           -> (IZR (circle lo hi (modular lo hi (map c d)) (modular lo hi (map c d')))
                 <= Q2R (Bounds.modular_sensitivity true w QL QU))%R).
Proof.
intros Hw HN. assert (H2 : Q2R (Bounds.pow2 w / 2) = IZR (N lo hi / 2)).
{ rewrite Q2R_div by discriminate. rewrite Q2R_pow2, Q2R_2, HN.
  replace (2 ^ w) with (2 ^ (w - 1) * 2) by (change 2 with (2 ^ 1) at 2; rewrite <- Z.pow_add_r by lia; f_equal; lia).
  rewrite Z.div_mul by lia. replace w with (w - 1 + 1) at 1 by ring. rewrite bpow_plus. change (bpow radix2 1) with 2%R.
  replace (IZR (2 ^ (w - 1))) with (bpow radix2 (w - 1)) by (symmetry; apply (IZR_Zpower radix2); lia). field. }
unfold Bounds.modular_sensitivity. cbn [Bounds.ideal]. rewrite !Q2R_min, H2, Q2R_magnitudeZ, Q2R_spread.
assert (M : forall a b, Rmin (IZR a) (IZR b) = IZR (Z.min a b)).
{ intros a b. unfold Rmin. destruct Rle_dec as [g|g]; [apply le_IZR in g|apply Rnot_le_lt, lt_IZR in g]; f_equal; lia. }
rewrite !M. split; intros d d' H; apply IZR_le.
- apply modular_symmetric; auto using in_all, map_symmetric.
- apply modular_change_one; auto using in_all, map_change_one.
Qed.
End Integers.

(** Our grid: the integers of Bounds.v are those of OurGrid.v, and the sums keep
    the bound, which is at most the ideal. *)
Section OurGrid.
Variables (L U : Q) (sized : bool) (eta : Z).
Hypothesis LU : Q2R L <= Q2R U.
Notation RL := (Q2R L).
Notation RU := (Q2R U).
Notation g := (OurGrid.g RL RU sized eta).
Notation D := (bpow radix2 g).
Notation offset := (IZR (OurGrid.m RL RU sized eta) * D).

Lemma Q2R_ideal : Q2R (Bounds.ideal sized L U) = OurGrid.ideal RL RU sized.
Proof. unfold Bounds.ideal, OurGrid.ideal. destruct sized; [apply Q2R_minus|apply Q2R_magnitude]. Qed.

Theorem our_grid_is_our_grid :
  0 < OurGrid.ideal RL RU sized
  -> Bounds.our_grid sized eta L U
       = Bounds.Grid g (OurGrid.m RL RU sized eta) (low RL RU D offset) (high RL RU D offset).
Proof.
intros Hi. unfold Bounds.our_grid.
assert (Eg : Z.max (Bounds.floor_log2 (Bounds.ideal sized L U) - 50) eta = g).
{ rewrite floor_log2_is_mag; rewrite Q2R_ideal; auto. }
rewrite Eg. assert (D0 : ~ Bounds.pow2 g == 0).
{ intros E. apply Qeq_eqR in E. rewrite Q2R_pow2, Q2R_0 in E. generalize (bpow_gt_0 radix2 g); lra. }
assert (Em : (if sized then
          if Bounds.below 0 L then Qfloor (L / Bounds.pow2 g)
          else if Bounds.below U 0 then Qceiling (U / Bounds.pow2 g)
          else 0%Z
        else 0%Z) = OurGrid.m RL RU sized eta).
{ unfold OurGrid.m. destruct sized eqn:S; auto.
  rewrite floor_is_floor, ceiling_is_ceiling, (Q2R_div L _ D0), (Q2R_div U _ D0), Q2R_pow2.
  destruct (Bounds.below 0 L) eqn:A.
  - apply Q2R_below in A. rewrite Q2R_0 in A. destruct Rlt_dec; [reflexivity|lra].
  - assert (~ 0 < RL). { rewrite <- Q2R_0. intros H. apply Q2R_below in H. congruence. }
    destruct Rlt_dec; [lra|]. destruct (Bounds.below U 0) eqn:B.
    + apply Q2R_below in B. rewrite Q2R_0 in B. destruct Rlt_dec; [reflexivity|lra].
    + assert (~ RU < 0). { rewrite <- Q2R_0. intros H'. apply Q2R_below in H'. congruence.
      } destruct Rlt_dec; [lra|reflexivity]. }
rewrite Em. set (m := OurGrid.m RL RU sized eta) in *.
assert (El : Qceiling ((L - inject_Z m * Bounds.pow2 g) / Bounds.pow2 g) = low0 RL D offset).
{ rewrite ceiling_is_ceiling, (Q2R_div _ _ D0), Q2R_minus, Q2R_mult, Q2R_Z, Q2R_pow2. reflexivity. }
assert (Eh : Qfloor ((U - inject_Z m * Bounds.pow2 g) / Bounds.pow2 g) = high0 RU D offset).
{ rewrite floor_is_floor, (Q2R_div _ _ D0), Q2R_minus, Q2R_mult, Q2R_Z, Q2R_pow2. reflexivity. }
rewrite El, Eh. unfold low, high, nearer. fold m. set (l := low0 RL D (IZR m * D)). set (h := high0 RU D (IZR m * D)).
destruct (Z.leb_spec l h), (Z.leb_spec (Z.abs l) (Z.abs h)); repeat destruct Z_le_gt_dec; try lia; reflexivity.
Qed.

Lemma Q2R_grid_sensitivity :
  0 < OurGrid.ideal RL RU sized
  -> Q2R (Bounds.grid_sensitivity sized eta L U) = D * IZR (OurGrid.grid_sensitivity RL RU sized eta).
Proof.
intros Hi. unfold Bounds.grid_sensitivity. destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z.
- apply Q2R_zero in Z. rewrite Q2R_ideal in Z. lra.
- rewrite our_grid_is_our_grid by auto. rewrite Q2R_mult, Q2R_pow2, Q2R_Z.
  unfold OurGrid.grid_sensitivity, magnitudeZ. now destruct sized.
Qed.

Theorem grid_promise :
  0 < OurGrid.ideal RL RU sized
  -> (sized = true -> sensitivity change_one (grid_sum RL RU D offset) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false -> sensitivity symmetric (grid_sum RL RU D offset) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ Q2R (Bounds.grid_sensitivity sized eta L U) <= Q2R (Bounds.ideal sized L U)
     /\ ((eta <= Bounds.floor_log2 (Bounds.ideal sized L U) - 50)%Z
         -> (1 - bpow radix2 (-49)) * Q2R (Bounds.ideal sized L U) < Q2R (Bounds.grid_sensitivity sized eta L U)).
Proof.
intros Hi. rewrite Q2R_grid_sensitivity by auto. rewrite Q2R_ideal. assert (dp : 0 < D) by apply bpow_gt_0.
split; [|split; [|split]].
- intros S d d' H. rewrite grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le. unfold OurGrid.grid_sensitivity. rewrite S.
    apply wide_change_one; auto using low_high, q_within.
  + left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
    now rewrite (Permutation_length P), (Permutation_length Q).
- intros S d d' H. rewrite grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le. unfold OurGrid.grid_sensitivity. rewrite S.
    apply wide_symmetric; auto using q_within.
  + right. unfold OurGrid.m. rewrite S. ring.
- now apply at_most_the_ideal.
- intros E. apply little_is_lost; auto. rewrite floor_log2_is_mag in E by (now rewrite Q2R_ideal).
  rewrite Q2R_ideal in E. lia.
Qed.

(** An ideal of 0: every record is one constant, the step is 1, and the sum does not move. *)
Theorem grid_promise_of_nothing :
  OurGrid.ideal RL RU sized = 0
  -> Q2R (Bounds.grid_sensitivity sized eta L U) = 0
     /\ (sized = true -> sensitivity change_one (grid_sum RL RU 1 RL) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false -> sensitivity symmetric (grid_sum RL RU 1 0) (Q2R (Bounds.grid_sensitivity sized eta L U))).
Proof.
intros Hi. assert (E : Q2R (Bounds.grid_sensitivity sized eta L U) = 0).
{ unfold Bounds.grid_sensitivity. replace (Bounds.is_zero (Bounds.ideal sized L U)) with true; [apply Q2R_0|].
  symmetry. apply Q2R_zero. now rewrite Q2R_ideal. }
rewrite E. split; auto. unfold OurGrid.ideal in Hi. split; intros S d d' H; rewrite S in Hi.
- rewrite <- Hi. apply grid_change_one; auto. lra.
- rewrite <- Hi. apply grid_symmetric; auto. lra.
Qed.

Theorem grid_accuracy_of_nothing randomised n :
  OurGrid.ideal RL RU sized = 0
  -> Q2R (Bounds.grid_accuracy randomised sized eta n L U) = 0
     /\ (sized = true -> forall d, grid_sum RL RU 1 RL d = sum (map (clampR RL RU) d))
     /\ (sized = false -> forall d, grid_sum RL RU 1 0 d = sum (map (clampR RL RU) d)).
Proof.
intros Hi. split.
{ unfold Bounds.grid_accuracy. replace (Bounds.is_zero (Bounds.ideal sized L U)) with true; [apply Q2R_0|].
  symmetry. apply Q2R_zero. now rewrite Q2R_ideal. }
assert (G : RU = RL -> forall d, grid_sum RL RU 1 RL d = sum (map (clampR RL RU) d)).
{ intros E. rewrite E. assert (C : forall x, clampR RL RL x = RL).
  { intros x. unfold clampR, Rmax, Rmin. repeat destruct Rle_dec; lra. }
  assert (Z0 : (RL - RL) / 1 = IZR 0) by (simpl; field).
  assert (Q : forall x, q RL RL 1 RL x = 0%Z).
  { intros x. unfold q, low, high, low0, high0. rewrite C, Z0, Zceil_IZR, Zfloor_IZR, (Zrnd_IZR ZnearestE 0).
    destruct Z_le_gt_dec; [reflexivity|lia]. }
  intros d. unfold grid_sum. replace (wide (q RL RL 1 RL) d) with 0%Z.
  - induction d as [|x d IH]; [simpl; ring|]. cbn [map sum fold_right length]. fold (sum (map (clampR RL RL) d)).
    rewrite <- IH, C, S_INR. ring.
  - unfold wide. induction d as [|x d IH]; [reflexivity|]. cbn [map sumZ fold_right]. rewrite Q. unfold sumZ in IH.
    lia. }
split; intros S; unfold OurGrid.ideal in Hi; rewrite S in Hi.
- apply G. lra.
- assert (A := magnitude_bound RL RU RL). assert (B := magnitude_bound RL RU RU). unfold within in A, B.
  rewrite Hi in A, B. assert (RL = 0 /\ RU = 0) as [E1 E2].
  { generalize (A ltac:(lra)) (B ltac:(lra)). unfold Rabs. repeat destruct Rcase_abs; lra. }
  intros d. rewrite <- (G ltac:(lra) d). now rewrite E1.
Qed.

(** The whole way from bit patterns to the bound: what the C++ expression makes of every record, NaN and infinities
    included, added exactly and scaled back, moves by at most what the code claims. *)
Notation J := (low RL RU D offset).
Notation K := (high RL RU D offset).
Notation double := Bits.binary64.
Notation is z r := (Binary.is_finite 53 1024 z = true /\ Binary.B2R 53 1024 z = r).

Definition kernel_sum (shift : Z) (base scale more low64 high64 : double) (d : list double) : R :=
  D * IZR (wide (fun x => Binary64.block64 base scale more low64 high64 (J - shift) (K - shift) x + shift)%Z d)
    + INR (length d) * offset.

Theorem kernel_promise shift base scale more low64 high64 :
  0 < OurGrid.ideal RL RU sized
  -> Rabs RL < bpow radix2 1024
  -> Rabs RU < bpow radix2 1024
  -> (-1074 <= eta <= 0)%Z
  -> GridKernel.base 53 (-1074) g (OurGrid.m RL RU sized eta) = offset + IZR shift * D
  -> is base (GridKernel.base 53 (-1074) g (OurGrid.m RL RU sized eta))
  -> is scale (bpow radix2 (OurGrid.e1 RL RU sized eta))
  -> is more (bpow radix2 (OurGrid.e2 RL RU sized eta))
  -> is low64 (GridKernel.anchor 53 + IZR (J - shift))
  -> is high64 (GridKernel.anchor 53 + IZR (K - shift))
  -> (J < K)%Z
  -> (Z.abs (J - shift) <= 2 ^ 51)%Z /\ (Z.abs (K - shift) <= 2 ^ 51)%Z
  -> (sized = true
      -> sensitivity change_one (kernel_sum shift base scale more low64 high64)
           (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false
         -> sensitivity symmetric (kernel_sum shift base scale more low64 high64)
              (Q2R (Bounds.grid_sensitivity sized eta L U))).
Proof.
intros Hi RL1 RU1 He Hs Hb Hsc Hm Hl Hh JK Hr. rewrite Q2R_grid_sensitivity by auto.
assert (dp : 0 < D) by apply bpow_gt_0. destruct (steps_of_doubles RL RU sized eta Hi RL1 RU1 (proj2 He)) as [G0 G2].
assert (G1 : (-1074 <= g <= 1022)%Z) by (split; [unfold OurGrid.g; lia|exact G0]).
set (q := fun x => (Binary64.block64 base scale more low64 high64 (J - shift) (K - shift) x + shift)%Z).
assert (W : forall x, (J <= q x <= K)%Z).
{ intros x. unfold q.
  rewrite
    (the_kernel_is_exact RL RU sized eta LU Hi G1 G2 shift base scale more low64 high64 Hs Hb Hsc Hm Hl Hh JK Hr).
  destruct x as [s|[|]|s pl Hpl|s mx ex Hx]; cbn [OurGrid.q64]; try (apply q_within); lia. }
assert (S : forall d d', length d = length d' \/ offset = 0 ->
  Rabs (kernel_sum shift base scale more low64 high64 d - kernel_sum shift base scale more low64 high64 d')
    = D * IZR (Z.abs (wide q d - wide q d'))).
{ intros d d' H. unfold kernel_sum. fold q. rewrite abs_IZR, minus_IZR.
  match goal with |- Rabs ?x = _ => replace x with (D * (IZR (wide q d) - IZR (wide q d'))) end.
  - rewrite Rabs_mult, (Rabs_pos_eq D) by lra. reflexivity.
  - destruct H as [->| ->]; ring. }
split; intros Z d d' H; rewrite S.
- assert (E : OurGrid.grid_sensitivity RL RU sized eta = (K - J)%Z) by (unfold OurGrid.grid_sensitivity; now rewrite Z).
  rewrite E. apply Rmult_le_compat_l; [lra|]. apply IZR_le. apply wide_change_one; auto. lia.
- left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
  now rewrite (Permutation_length P), (Permutation_length Q).
- assert (E : OurGrid.grid_sensitivity RL RU sized eta = magnitudeZ J K)
    by (unfold OurGrid.grid_sensitivity; now rewrite Z).
  rewrite E. apply Rmult_le_compat_l; [lra|]. apply IZR_le. now apply wide_symmetric.
- right. unfold OurGrid.m. rewrite Z. ring.
Qed.

Theorem grid_accuracy_promise n d :
  0 < OurGrid.ideal RL RU sized -> length d = n
  -> Rabs (grid_sum RL RU D offset d - sum (map (clampR RL RU) d)) <= Q2R (Bounds.grid_accuracy false sized eta n L U).
Proof.
intros Hi Hd. apply Rle_trans with (1 := grid_accuracy RL RU D offset LU (bpow_gt_0 radix2 g) d). right. rewrite Hd.
unfold Bounds.grid_accuracy.
destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z; [apply Q2R_zero in Z; rewrite Q2R_ideal in Z; lra|].
rewrite our_grid_is_our_grid by auto. unfold record_error.
rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z, !Q2R_pow2.
rewrite Q2R_div, Q2R_pow2, Q2R_2 by discriminate. reflexivity.
Qed.

Theorem randomised_accuracy_promise n (d : list (bool * R)) :
  0 < OurGrid.ideal RL RU sized -> length d = n
  -> Rabs (randomised_sum RL RU D offset d - sum (map (fun cx => clampR RL RU (snd cx)) d))
       <= Q2R (Bounds.grid_accuracy true sized eta n L U).
Proof.
intros Hi Hd. apply Rle_trans with (1 := randomised_accuracy RL RU D offset LU (bpow_gt_0 radix2 g) d). right.
rewrite Hd. unfold Bounds.grid_accuracy.
destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z; [apply Q2R_zero in Z; rewrite Q2R_ideal in Z; lra|].
rewrite our_grid_is_our_grid by auto. unfold randomised_error.
rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z, !Q2R_pow2. reflexivity.
Qed.
End OurGrid.

(** A grid with any step. *)
Section AnyStep.
Variables (L U D : Q) (sized : bool).
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis D_pos : 0 < Q2R D.
Notation RL := (Q2R L).
Notation RU := (Q2R U).
Notation RD := (Q2R D).
Notation offset := (Q2R (Bounds.stepped_offset sized L U)).

Lemma inward_is o : Bounds.inward L U D o = (low RL RU RD (Q2R o), high RL RU RD (Q2R o)).
Proof.
assert (D0 : ~ D == 0) by (intros E; apply Qeq_eqR in E; rewrite Q2R_0 in E; lra).
unfold Bounds.inward, low, high, nearer, low0, high0.
rewrite ceiling_is_ceiling, floor_is_floor, !(Q2R_div _ _ D0), !Q2R_minus.
set (l := Zceil _). set (h := Zfloor _).
destruct (Z.leb_spec l h), (Z.leb_spec (Z.abs l) (Z.abs h)); repeat destruct Z_le_gt_dec; try lia; reflexivity.
Qed.

Theorem stepped_promise :
  (sized = true -> sensitivity change_one (grid_sum RL RU RD offset) (Q2R (Bounds.stepped_sensitivity sized D L U)))
  /\ (sized = false -> sensitivity symmetric (grid_sum RL RU RD offset) (Q2R (Bounds.stepped_sensitivity sized D L U)))
  /\ (forall d,
        Rabs (grid_sum RL RU RD offset d - sum (map (clampR RL RU) d))
          <= Q2R (Bounds.stepped_accuracy false sized D (length d) L U))
  /\ (forall d,
        Rabs (randomised_sum RL RU RD offset d - sum (map (fun cx => clampR RL RU (snd cx)) d))
          <= Q2R (Bounds.stepped_accuracy true sized D (length d) L U)).
Proof.
unfold Bounds.stepped_sensitivity, Bounds.stepped_accuracy. rewrite inward_is. split; [|split; [|split]].
- intros S d d' H. rewrite Q2R_mult, Q2R_Z, grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le.
    destruct sized; [|discriminate]. apply wide_change_one; auto using low_high, q_within.
  + left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
    now rewrite (Permutation_length P), (Permutation_length Q).
- intros S d d' H. rewrite Q2R_mult, Q2R_Z, grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le.
    destruct sized; [discriminate|]. apply wide_symmetric; auto using q_within.
  + right. unfold Bounds.stepped_offset. rewrite S. apply Q2R_0.
- intros d. apply Rle_trans with (1 := grid_accuracy RL RU RD offset LU D_pos d). right. unfold record_error.
  rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z.
  rewrite Q2R_div, Q2R_2 by discriminate. reflexivity.
- intros d. apply Rle_trans with (1 := randomised_accuracy RL RU RD offset LU D_pos d). right. unfold randomised_error.
  rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z. reflexivity.
Qed.

(** Integers are no larger than W / D, if no record is further than W from the offset. *)
Lemma integers_at_most W o x : - W <= RL - o -> RU - o <= W -> Rabs (IZR (q RL RU RD o x)) * RD <= W.
Proof.
intros A B. assert (Q := q_within RL RU RD o x).
generalize (low0_ge RL RD o D_pos) (high0_le RU RD o D_pos) (low0_lt RL RD o D_pos) (high0_gt RU RD o D_pos).
revert Q. unfold low, high. destruct Z_le_gt_dec as [h|h]; intros [Q1 Q2] H1 H2 H3 H4.
- apply IZR_le in Q1, Q2.
  apply (Rmult_le_compat_r RD) in Q1; [|lra]. apply (Rmult_le_compat_r RD) in Q2; [|lra].
  unfold Rabs. destruct Rcase_abs; lra.
- set (l := low0 RL RD o) in *. set (t := high0 RU RD o) in *.
  assert (E : l = (t + 1)%Z).
  { assert (l < t + 2)%Z; [|lia]. apply lt_IZR. rewrite plus_IZR. apply Rmult_lt_reg_r with RD; lra. }
  assert (F : q RL RU RD o x = nearer l t) by lia. rewrite F. unfold nearer.
  destruct Z_le_gt_dec as [g|g].
  + assert (l <= 0)%Z by lia. rewrite Rabs_left1 by (now apply IZR_le). lra.
  + assert (0 <= t)%Z by lia. rewrite Rabs_pos_eq by (now apply IZR_le). lra.
Qed.

(** The paper's step: n integers add up to 2^(bits - 2) - n at most. *)
Theorem paper_step_leaves_room bits n :
  D = Bounds.paper_step sized bits n L U -> (0 < n)%nat -> INR n < bpow radix2 (bits - 2)
  -> 0 < Q2R (Bounds.ideal sized L U)
  -> forall d, (length d <= n)%nat -> Rabs (IZR (wide (q RL RU RD offset) d)) <= bpow radix2 (bits - 2) - INR n.
Proof.
intros ED n0 Hn Hlu d Hd. set (b := bpow radix2 (bits - 2)) in *. apply lt_INR in n0. simpl in n0.
set (W := if sized then RU - RL else Rmax (RU - RL) (magnitude RL RU)).
assert (W0 : 0 < W).
{ revert Hlu. unfold W, Bounds.ideal. destruct sized; [rewrite Q2R_minus|rewrite Q2R_magnitude]; intros; [lra|].
  generalize (Rmax_r (RU - RL) (magnitude RL RU)). lra. }
assert (EW : RD = W * INR n / (b - INR n)).
{ assert (ne : ~ Bounds.pow2 (bits - 2) - Bounds.nat_Q n == 0).
  { intros E. apply Qeq_eqR in E. rewrite Q2R_minus, Q2R_pow2, Q2R_nat, Q2R_0 in E. fold b in E. lra. }
  assert (E : Q2R ((if sized then U - L else Qmax (U - L) (Bounds.magnitude L U)) * Bounds.nat_Q n
            / (Bounds.pow2 (bits - 2) - Bounds.nat_Q n)) = W * INR n / (b - INR n)).
  { rewrite (Q2R_div _ _ ne), Q2R_mult, Q2R_nat, Q2R_minus, Q2R_pow2, Q2R_nat. unfold W.
    destruct sized; [now rewrite Q2R_minus|now rewrite Q2R_max, Q2R_minus, Q2R_magnitude]. }
  rewrite ED. unfold Bounds.paper_step. destruct (Bounds.is_zero _) eqn:Z; [|exact E].
  apply Q2R_zero in Z. rewrite E in Z. exfalso. assert (0 < W * INR n / (b - INR n)); [|lra].
  apply Rdiv_lt_0_compat; nra. }
assert (R : - W <= RL - offset /\ RU - offset <= W).
{ revert Hlu. unfold W, Bounds.stepped_offset, Bounds.ideal. destruct sized; intros Hlu.
  - rewrite Q2R_minus in Hlu. destruct (Qle_bool (Qabs L) (Qabs U)) eqn:C.
    + apply Q2R_le in C. rewrite !Q2R_abs in C. rewrite Q2R_max, Q2R_0. revert C.
      unfold Rabs, Rmax. repeat destruct Rcase_abs; destruct Rle_dec; lra.
    + rewrite Q2R_min, Q2R_0. assert (C' : Rabs RU < Rabs RL).
      { apply Rnot_le_lt. intros C'. rewrite <- !Q2R_abs in C'. apply Q2R_le in C'. congruence. }
      revert C'. unfold Rabs, Rmin. repeat destruct Rcase_abs; destruct Rle_dec; lra.
  - rewrite Q2R_0.
    generalize (Rmax_r (RU - RL) (magnitude RL RU)) (Rmax_l (Rabs RL) (Rabs RU)) (Rmax_r (Rabs RL) (Rabs RU))
      (Rle_abs RU) (Rle_abs (- RL)).
    rewrite Rabs_Ropp. unfold magnitude. lra. }
assert (B : forall x, Rabs (IZR (q RL RU RD offset x)) <= (b - INR n) / INR n).
{ intros x. apply Rmult_le_reg_r with RD; auto. apply Rle_trans with W; [now apply integers_at_most|].
  right. rewrite EW. field. lra. }
assert (S : Rabs (IZR (wide (q RL RU RD offset) d)) <= INR (length d) * ((b - INR n) / INR n)).
{ clear Hd. unfold wide. induction d as [|x d IH]; [simpl; rewrite Rabs_R0; lra|].
  cbn [map sumZ fold_right length]. rewrite plus_IZR, S_INR. apply Rle_trans with (1 := Rabs_triang _ _).
  unfold sumZ in IH. generalize (B x). lra. }
apply Rle_trans with (1 := S). apply le_INR in Hd.
assert (P : 0 <= (b - INR n) / INR n) by (apply Rlt_le, Rdiv_lt_0_compat; lra).
apply Rle_trans with (INR n * ((b - INR n) / INR n)); [now apply Rmult_le_compat_r|]. right. field. lra.
Qed.
End AnyStep.
