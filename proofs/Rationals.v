(** From rationals to reals: each executable function of Bounds.v, read as a real number, is Flocq's. *)

From Coq Require Import ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import Sums Trees.
From Soundsum Require Bounds.
Open Scope R_scope.

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

Lemma u_is_u k : Q2R (Bounds.u k) = u (k + 1).
Proof. unfold Bounds.u, u. apply Q2R_pow2. Qed.

Lemma nearest_float_is_round k eta x :
  (1 <= k)%Z
  -> Q2R (Bounds.nearest_float k eta x) = round radix2 (FLT_exp eta (k + 1)) ZnearestE (Q2R x).
Proof.
intros k_pos. assert (Prec_gt_0 (k + 1)) by (unfold Prec_gt_0; lia).
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
