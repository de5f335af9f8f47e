(** grid (docs/theorems/grid.md, statement 3) in any float format: doubles compute the q of the rationals.

    Subtraction of the base, scaling by a power of two and the addition of 1.5 2^(p-1), each rounded to nearest even in
    a format of p bits, followed by a clamp, give the very integer the exact rationals give, for every float x within
    the bounds or not. Binary64 is p = 53, emin = -1074. *)

From Coq Require Import List ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Mult_error.
From Soundsum Require Import Relations Sums Wide Grid.
Open Scope R_scope.

Lemma Zfloor_plus n y : Zfloor (IZR n + y) = (n + Zfloor y)%Z.
Proof. apply Zfloor_imp. rewrite !plus_IZR. generalize (Zfloor_lb y) (Zfloor_ub y). simpl; lra. Qed.

Lemma nearest_plus_even m y : ZnearestE (IZR (2 * m) + y) = (2 * m + ZnearestE y)%Z.
Proof.
unfold Znearest. unfold Zceil. rewrite Zfloor_plus.
replace (- (IZR (2 * m) + y)) with (IZR (- (2 * m)) + - y) by (rewrite opp_IZR; ring). rewrite Zfloor_plus.
rewrite plus_IZR. replace (IZR (2 * m) + y - (IZR (2 * m) + IZR (Zfloor y))) with (y - IZR (Zfloor y)) by ring.
destruct Rcompare; try lia. rewrite Z.even_add, Z.even_mul; simpl.
destruct (Z.even (Zfloor y)); simpl; lia.
Qed.

Lemma nearest_ge n y : IZR n <= y -> (n <= ZnearestE y)%Z.
Proof. intros H. rewrite <- (Zrnd_IZR ZnearestE n) at 1. now apply Zrnd_le; auto with typeclass_instances. Qed.

Lemma nearest_le n y : y <= IZR n -> (ZnearestE y <= n)%Z.
Proof. intros H. rewrite <- (Zrnd_IZR ZnearestE n). now apply Zrnd_le; auto with typeclass_instances. Qed.

Section Kernel.
Variables p emin : Z.
Hypothesis p_large : (3 <= p)%Z.
Hypothesis emin_small : (emin + p + 1 <= 0)%Z.

Local Instance p_pos : Prec_gt_0 p. Proof. unfold Prec_gt_0; lia. Qed.

Notation two := radix2.
Notation format := (generic_format two (FLT_exp emin p)).
Notation fl := (round two (FLT_exp emin p) ZnearestE).

(** An integer of at most p bits, times a power of two at or above the smallest, is a float. *)
Lemma multiple_format m e : (emin <= e)%Z -> (Z.abs m <= 2 ^ p)%Z -> format (IZR m * bpow two e).
Proof.
intros He Hm. destruct (Z.eq_dec (Z.abs m) (2 ^ p)) as [E|E].
- assert (m = 2 ^ p \/ m = - 2 ^ p)%Z as [-> | ->] by lia; rewrite ?opp_IZR, ?Ropp_mult_distr_l_reverse;
  [|apply generic_format_opp]; change 2%Z with (radix_val two); rewrite IZR_Zpower, <- bpow_plus by lia;
  apply generic_format_FLT_bpow; auto with typeclass_instances; lia.
- apply generic_format_FLT. exists (Float two m e); simpl; [reflexivity| |exact He]. change (radix_val two) with 2%Z.
  lia.
Qed.

Definition anchor := IZR (3 * 2 ^ (p - 2)).
Definition reach := (2 ^ (p - 2))%Z.

Lemma reach_pow : IZR reach = bpow two (p - 2).
Proof. unfold reach. change 2%Z with (radix_val two). apply IZR_Zpower. simpl; lia. Qed.

Lemma anchor_pow : anchor = 3 * bpow two (p - 2).
Proof. unfold anchor. rewrite mult_IZR. fold reach. now rewrite reach_pow. Qed.

Lemma pow_p1 : bpow two (p - 1) = 2 * bpow two (p - 2).
Proof. replace (p - 1)%Z with (1 + (p - 2))%Z by ring. now rewrite bpow_plus. Qed.

Lemma pow_p : bpow two p = 4 * bpow two (p - 2).
Proof. replace p with (2 + (p - 2))%Z at 1 by ring. now rewrite bpow_plus. Qed.

(** The rounding trick. *)
Theorem anchored y : Rabs y <= bpow two (p - 2) -> fl (anchor + y) = anchor + IZR (ZnearestE y).
Proof.
intros H. apply Rabs_le_inv in H. generalize (bpow_gt_0 two (p - 2)) pow_p1 pow_p anchor_pow; intros H0 H1 H2 H3.
destruct (Req_dec y (bpow two (p - 2))) as [->|ne].
- rewrite <- reach_pow at 2. rewrite Zrnd_IZR by auto with typeclass_instances. rewrite reach_pow.
  apply round_generic; auto with typeclass_instances.
  replace (anchor + bpow two (p - 2)) with (bpow two p) by lra.
  apply generic_format_FLT_bpow; auto with typeclass_instances; lia.
- assert (C : cexp two (FLT_exp emin p) (anchor + y) = 0%Z).
  { unfold cexp. rewrite (mag_unique two _ p); [unfold FLT_exp; lia|].
    rewrite Rabs_pos_eq by lra. lra. }
  unfold round, scaled_mantissa. rewrite C. unfold F2R; simpl. rewrite !Rmult_1_r.
  unfold anchor. replace (3 * 2 ^ (p - 2))%Z with (2 * (3 * 2 ^ (p - 3)))%Z.
  + now rewrite nearest_plus_even, plus_IZR.
  + replace (p - 2)%Z with (1 + (p - 3))%Z by ring. rewrite Z.pow_add_r by lia. ring.
Qed.

(** With the clamp, for every y at all. *)
Definition held_between low high y := Rmin high (Rmax low y).

Lemma held_between_integers low high z :
  (low <= high)%Z
  -> held_between (anchor + IZR low) (anchor + IZR high) (anchor + IZR z) = anchor + IZR (clamp low high z).
Proof.
intros H. unfold held_between, clamp, Rmin, Rmax. repeat destruct Rle_dec;
repeat match goal with h : _ + _ <= _ + _ |- _ => apply Rplus_le_reg_l, le_IZR in h
                     | h : ~ _ + _ <= _ + _ |- _ => apply Rnot_le_lt, Rplus_lt_reg_l, lt_IZR in h end;
do 2 f_equal; lia.
Qed.

Lemma fl_le x y : x <= y -> fl x <= fl y.
Proof. apply round_le; auto with typeclass_instances. Qed.

Theorem anchored_clamped low high y :
  (low <= high)%Z -> (Z.abs low <= reach)%Z -> (Z.abs high <= reach)%Z
  -> held_between (anchor + IZR low) (anchor + IZR high) (fl (anchor + y))
       = anchor + IZR (clamp low high (ZnearestE y)).
Proof.
intros LH Hl Hh. generalize (bpow_gt_0 two (p - 2)) reach_pow; intros H0 HR.
assert (BL : - bpow two (p - 2) <= IZR low <= bpow two (p - 2)).
{ rewrite <- reach_pow, <- opp_IZR. split; apply IZR_le; lia. }
assert (BH : - bpow two (p - 2) <= IZR high <= bpow two (p - 2)).
{ rewrite <- reach_pow, <- opp_IZR. split; apply IZR_le; lia. }
destruct (Rle_lt_dec (Rabs y) (bpow two (p - 2))) as [h|h].
- rewrite anchored by exact h. now apply held_between_integers.
- destruct (Rle_lt_dec 0 y) as [s|s].
  + rewrite Rabs_pos_eq in h by lra.
    assert (G : anchor + IZR reach <= fl (anchor + y)).
    { rewrite <- (Zrnd_IZR ZnearestE reach) at 1. rewrite reach_pow.
      rewrite <- anchored by (rewrite Rabs_pos_eq; lra). apply fl_le; lra. }
    rewrite HR in G.
    assert (N : (reach <= ZnearestE y)%Z) by (apply nearest_ge; lra).
    replace (clamp low high (ZnearestE y)) with high by (unfold clamp; lia).
    unfold held_between. rewrite (Rmax_right (anchor + IZR low)) by lra. apply Rmin_left; lra.
  + rewrite Rabs_left in h by lra.
    assert (G : fl (anchor + y) <= anchor + IZR (- reach)).
    { rewrite <- (Zrnd_IZR ZnearestE (- reach)) at 1. rewrite opp_IZR, reach_pow.
      rewrite <- anchored by (rewrite Rabs_Ropp, Rabs_pos_eq; lra). apply fl_le; lra. }
    rewrite opp_IZR, HR in G.
    assert (N : (ZnearestE y <= - reach)%Z) by (apply nearest_le; rewrite opp_IZR; lra).
    replace (clamp low high (ZnearestE y)) with low by (unfold clamp; lia).
    unfold held_between. rewrite (Rmax_left (anchor + IZR low)) by lra. apply Rmin_right.
    apply Rplus_le_compat_l, IZR_le, LH.
Qed.

(** Scaling a float by a power of two is exact, or so small that it rounds to 0 either way. *)
Lemma scaled d e : format d -> ZnearestE (fl (d * bpow two e)) = ZnearestE (d * bpow two e).
Proof.
intros Fd. destruct (Req_dec d 0) as [->|nz].
{ rewrite Rmult_0_l, round_0; auto with typeclass_instances. }
destruct (Z_le_gt_dec (emin + p - mag two d) e) as [h|h].
- rewrite round_generic; auto with typeclass_instances. now apply mult_bpow_exact_FLT.
- assert (B : Rabs (d * bpow two e) <= bpow two (emin + p - 1)).
  { rewrite Rabs_mult, (Rabs_pos_eq (bpow two e)) by apply bpow_ge_0.
    apply Rle_trans with (bpow two (mag two d) * bpow two e).
    - apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply Rlt_le, bpow_mag_gt.
    - rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (Q : bpow two (emin + p - 1) <= /4).
  { change (/4) with (bpow two (-2)). apply bpow_le; lia. }
  assert (B' : Rabs (fl (d * bpow two e)) <= bpow two (emin + p - 1)).
  { apply abs_round_le_generic; auto with typeclass_instances.
    apply generic_format_FLT_bpow; auto with typeclass_instances; lia. }
  rewrite (Znearest_imp _ _ 0), (Znearest_imp _ _ 0); auto; rewrite Rminus_0_r; lra.
Qed.

(** The subtraction of the base is exact: both are multiples of the smaller of the step and x's own spacing. *)
Lemma subtract_up x m g :
  format x -> (emin <= g)%Z -> 0 <= IZR m * bpow two g <= x -> x - IZR m * bpow two g <= bpow two (p + g)
  -> format (x - IZR m * bpow two g).
Proof.
intros Fx Hg Hm Hd. apply FLT_format_generic in Fx; auto with typeclass_instances.
destruct Fx as [[mx e] -> Hmx He]; simpl in Hmx, He. unfold F2R in *; simpl in *.
destruct (Z_le_gt_dec g e) as [h|h].
- assert (E : IZR mx * bpow two e - IZR m * bpow two g = IZR (mx * 2 ^ (e - g) - m) * bpow two g).
  { rewrite minus_IZR, mult_IZR. change 2%Z with (radix_val two). rewrite IZR_Zpower by lia.
    replace e with (e - g + g)%Z at 1 by ring. rewrite bpow_plus. ring. }
  rewrite E in *. apply multiple_format; auto. rewrite bpow_plus in Hd.
  apply Rmult_le_reg_r in Hd; [|apply bpow_gt_0].
  assert (0 <= IZR (mx * 2 ^ (e - g) - m)).
  { apply Rmult_le_reg_r with (bpow two g); [apply bpow_gt_0|]. lra. }
  rewrite <- IZR_Zpower in Hd by lia. apply le_IZR in Hd, H. simpl in Hd. lia.
- assert (E : IZR mx * bpow two e - IZR m * bpow two g = IZR (mx - m * 2 ^ (g - e)) * bpow two e).
  { rewrite minus_IZR, mult_IZR. change 2%Z with (radix_val two). rewrite IZR_Zpower by lia.
    replace g with (g - e + e)%Z at 1 by ring. rewrite bpow_plus. ring. }
  rewrite E in *. apply multiple_format; auto.
  assert (0 <= IZR (mx - m * 2 ^ (g - e)) <= IZR mx).
  { split; apply Rmult_le_reg_r with (bpow two e); try apply bpow_gt_0; lra. }
  destruct H as [H1 H2]. apply le_IZR in H1, H2. lia.
Qed.

Lemma subtract x m g :
  format x -> (emin <= g)%Z
  -> let base := IZR m * bpow two g in
     base = 0 \/ 0 < base <= x \/ x <= base < 0 -> Rabs (x - base) <= bpow two (p + g) -> format (x - base).
Proof.
intros Fx Hg base [->|[H|H]] B.
- now rewrite Rminus_0_r.
- apply subtract_up; auto; [unfold base in H; lra|]. now apply Rle_trans with (1 := Rle_abs _).
- replace (x - base) with (- (- x - - base)) by ring. apply generic_format_opp.
  unfold base. rewrite <- Ropp_mult_distr_l_reverse, <- opp_IZR. apply subtract_up; auto using generic_format_opp.
  + rewrite opp_IZR, Ropp_mult_distr_l_reverse. fold base. lra.
  + rewrite opp_IZR, Ropp_mult_distr_l_reverse. fold base. apply Rabs_le_inv in B. lra.
Qed.

(** The chain: subtract, scale once or twice. *)
Definition chain e1 e2 d := fl (fl (d * bpow two e1) * bpow two e2).

Lemma chain_nearest e1 e2 d :
  format d -> e2 = 0%Z \/ (0 <= e1 /\ 0 <= e2)%Z -> ZnearestE (chain e1 e2 d) = ZnearestE (d * bpow two (e1 + e2)).
Proof.
intros Fd [->|[H1 H2]]; unfold chain.
- rewrite Rmult_1_r, (round_generic _ _ _ (fl _)), Z.add_0_r; auto with typeclass_instances.
  now apply scaled. apply generic_format_round; auto with typeclass_instances.
- rewrite (round_generic _ _ _ (d * _)); auto with typeclass_instances; [|now apply mult_bpow_pos_exact_FLT].
  rewrite round_generic; auto with typeclass_instances; [|now repeat apply mult_bpow_pos_exact_FLT].
  now rewrite bpow_plus, Rmult_assoc.
Qed.

Lemma chain_le e1 e2 d d' : d <= d' -> chain e1 e2 d <= chain e1 e2 d'.
Proof. intros H. unfold chain. repeat (apply fl_le, Rmult_le_compat_r; [apply bpow_ge_0|]). exact H. Qed.

Definition kernel base e1 e2 low high x :=
  held_between (anchor + IZR low) (anchor + IZR high) (fl (anchor + chain e1 e2 (fl (x - base)))) - anchor.

Theorem kernel_exact L U g base e1 e2 low high x :
  let D := bpow two g in
  format x
  -> L <= U
  -> (emin <= g)%Z
  -> (e1 + e2 = - g)%Z
  -> e2 = 0%Z \/ (0 <= e1 /\ 0 <= e2)%Z
  -> (forall y, format y -> L <= y <= U -> format (y - base))
  -> (low <= high)%Z
  -> (Z.abs low <= reach)%Z
  -> (Z.abs high <= reach)%Z
  -> L <= base + IZR low * D
  -> base + IZR high * D <= U
  -> kernel base e1 e2 low high x = IZR (clamp low high (ZnearestE ((Grid.clampR L U x - base) / D))).
Proof.
intros D Fx LU Hg He Hs Hb LH Hl Hh IL IH. unfold kernel.
rewrite anchored_clamped by auto.
set (y := chain e1 e2 (fl (x - base))).
assert (Dp : 0 < D) by apply bpow_gt_0.
assert (ID : bpow two (e1 + e2) = / D) by (rewrite He; apply bpow_opp).
assert (reach_p : (reach <= 2 ^ p)%Z) by (apply Z.pow_le_mono_r; lia).
assert (E : forall z, (Z.abs z <= reach)%Z -> format (IZR z * D) /\ ZnearestE (chain e1 e2 (IZR z * D)) = z).
{ intros z Hz. assert (Fz : format (IZR z * D)) by (apply multiple_format; auto; lia). split; auto.
  rewrite chain_nearest by auto. rewrite ID, Rmult_assoc, Rinv_r, Rmult_1_r by lra.
  apply Zrnd_IZR; auto with typeclass_instances. }
assert (G : clamp low high (ZnearestE y) = clamp low high (ZnearestE ((Grid.clampR L U x - base) / D))).
{ unfold Grid.clampR. destruct (Rle_lt_dec x U) as [hU|hU]; [destruct (Rle_lt_dec L x) as [hL|hL]|].
  - rewrite Rmin_right, Rmax_right by lra.
    assert (Fd : format (x - base)) by (apply Hb; auto).
    unfold y. rewrite (round_generic _ _ _ (x - base)) by auto with typeclass_instances.
    rewrite chain_nearest by auto. now rewrite ID.
  - rewrite Rmin_right, Rmax_left by lra.
    assert (A : (ZnearestE y <= low)%Z).
    { rewrite <- (proj2 (E low Hl)). apply Zrnd_le; auto with typeclass_instances.
      apply chain_le. apply round_le_generic; auto with typeclass_instances. apply E; auto. lra. }
    assert (B : (ZnearestE ((L - base) / D) <= low)%Z).
    { apply nearest_le. apply Rmult_le_reg_r with D; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
    unfold clamp; lia.
  - rewrite Rmin_left, Rmax_right by lra.
    assert (A : (high <= ZnearestE y)%Z).
    { rewrite <- (proj2 (E high Hh)). apply Zrnd_le; auto with typeclass_instances.
      apply chain_le. apply round_ge_generic; auto with typeclass_instances. apply E; auto. lra. }
    assert (B : (high <= ZnearestE ((U - base) / D))%Z).
    { apply nearest_ge. apply Rmult_le_reg_r with D; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
    unfold clamp; lia. }
rewrite G. ring.
Qed.

End Kernel.

(** `power_of_two_grid` and `as_doubles` (src/soundsum/numbers/grids.py): the steps and offsets they choose. *)

Section OurGrid.
Variables p emin : Z.
Hypothesis p_large : (3 <= p)%Z.
Hypothesis emin_small : (emin + p + 1 <= 0)%Z.
Variables L U : R.
Hypothesis LU : L <= U.
Variables g e1 e2 : Z.
Notation D := (bpow radix2 g).
Hypothesis g_emin : (emin <= g)%Z.
Hypothesis scales : (e1 + e2 = - g)%Z.
Hypothesis one_or_up : e2 = 0%Z \/ (0 <= e1 /\ 0 <= e2)%Z.

(** The offset in steps; ideal < 2^(p-2) D is what g = floor(log2 ideal) - (p - 3) gives, or a larger g. *)
Variable m : Z.
Notation offset := (IZR m * D).
Hypothesis choice :
  m = 0%Z /\ magnitude L U < bpow radix2 (p - 2) * D
  \/ 0 < L /\ m = Zfloor (L / D) /\ U - L < bpow radix2 (p - 2) * D
  \/ U < 0 /\ m = Zceil (U / D) /\ U - L < bpow radix2 (p - 2) * D.
Hypothesis some : (low0 L D offset <= high0 U D offset)%Z.

Lemma D_pos : 0 < D. Proof. apply bpow_gt_0. Qed.

Lemma div_mul x : x / D * D = x.
Proof. field. generalize D_pos; lra. Qed.

Lemma choice_facts :
  (offset = 0 \/ 0 < offset <= L \/ U <= offset < 0)
  /\ - (bpow radix2 (p - 2) + 1) * D < L - offset
  /\ U - offset < (bpow radix2 (p - 2) + 1) * D.
Proof.
generalize D_pos (bpow_gt_0 radix2 (p - 2)); intros dp bp.
destruct choice as [[-> H]|[(HL & E & H)|(HU & E & H)]].
- rewrite Rmult_0_l. split; [now left|]. unfold magnitude in H.
  generalize (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)) (Rle_abs (- L)) (Rle_abs U). rewrite Rabs_Ropp. lra.
- assert (A : offset <= L).
  { rewrite <- (div_mul L), E. apply Rmult_le_compat_r; [lra|]. apply Zfloor_lb. }
  assert (B : L < offset + D).
  { rewrite <- (div_mul L) at 1. replace (offset + D) with ((IZR m + 1) * D) by ring. apply Rmult_lt_compat_r; auto.
    rewrite E. apply Zfloor_ub. }
  assert (C : 0 <= offset).
  { apply Rmult_le_pos; [|lra]. apply IZR_le. rewrite E. apply Zfloor_lub. apply Rmult_le_reg_r with D; auto.
    rewrite div_mul. lra. }
  split; [|split]; [|nra|lra]. destruct C as [C|C]; [right; left; lra|left; lra].
- assert (A : U <= offset).
  { rewrite <- (div_mul U), E. apply Rmult_le_compat_r; [lra|]. apply Zceil_ub. }
  assert (B : offset - D < U).
  { rewrite <- (div_mul U). replace (offset - D) with ((IZR m - 1) * D) by ring. apply Rmult_lt_compat_r; auto.
    rewrite E.
    generalize (Zceil_lb (U / D)); lra. }
  assert (C : offset <= 0).
  { assert (IZR m <= 0); [|nra]. apply IZR_le. rewrite E. apply Zceil_glb. apply Rmult_le_reg_r with D; auto.
    rewrite div_mul. lra. }
  split; [|split]; [|lra|nra]. destruct C as [C|C]; [right; right; lra|left; lra].
Qed.

(** What of the grid is needed for the kernel: no integer beyond 2^(p-2), after the shift if there is one. *)
Lemma reach_ok : (Z.abs (low L U D offset) <= reach p)%Z /\ (Z.abs (high L U D offset) <= reach p)%Z.
Proof.
generalize D_pos (bpow_gt_0 radix2 (p - 2)); intros dp bp. destruct choice_facts as (HB & HL & HU).
assert (E : low L U D offset = low0 L D offset /\ high L U D offset = high0 U D offset).
{ unfold low, high; destruct Z_le_gt_dec; [auto|lia]. }
assert (SL : (- (reach p + 1) < low0 L D offset)%Z).
{ apply lt_IZR. rewrite opp_IZR, plus_IZR, reach_pow by auto. apply Rmult_lt_reg_r with D; auto.
  generalize (low0_ge L D offset dp). lra. }
assert (SH : (high0 U D offset < reach p + 1)%Z).
{ apply lt_IZR. rewrite plus_IZR, reach_pow by auto. apply Rmult_lt_reg_r with D; auto.
  generalize (high0_le U D offset dp). lra. }
rewrite (proj1 E), (proj2 E). lia.
Qed.

(** The base: the offset, or where that is no float the next one inward. *)
Local Instance precision : Prec_gt_0 p. Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin p)).

Definition base :=
  if Rle_dec 0 offset then round radix2 (FLT_exp emin p) Zceil offset else round radix2 (FLT_exp emin p) Zfloor offset.

Variable shift : Z.
Hypothesis shift_ok : base = offset + IZR shift * D.

Lemma base_of_a_float : format offset -> base = offset /\ shift = 0%Z.
Proof.
intros F.
assert (E : base = offset) by (unfold base; destruct Rle_dec; apply round_generic; auto with typeclass_instances).
split; auto. apply eq_IZR. apply Rmult_eq_reg_r with D; [|generalize D_pos; lra]. lra.
Qed.

(** Floats from 2^(p+g) on are multiples of the step. *)
Lemma far_floats_are_multiples x : format x -> bpow radix2 (p + g) <= Rabs x -> exists j, x = IZR j * D.
Proof.
intros F H. assert (C : (g < cexp radix2 (FLT_exp emin p) x)%Z).
{ unfold cexp, FLT_exp. assert (p + g < mag radix2 x)%Z; [|lia]. apply lt_bpow with radix2.
  apply Rle_lt_trans with (1 := H), bpow_mag_gt. }
rewrite F. unfold F2R; simpl. set (e := cexp _ _ _) in *. set (n := Ztrunc _).
exists (n * 2 ^ (e - g))%Z. rewrite mult_IZR. change 2%Z with (radix_val radix2).
rewrite IZR_Zpower, Rmult_assoc, <- bpow_plus by lia.
do 2 f_equal. ring.
Qed.

Lemma offset_is_far : ~ format offset -> bpow radix2 (p + g) < Rabs offset.
Proof.
intros N. destruct (Rle_lt_dec (Rabs offset) (bpow radix2 (p + g))) as [h|h]; auto. exfalso. apply N.
apply multiple_format; auto.
apply le_IZR. rewrite abs_IZR. change (2 ^ p)%Z with (Zpower radix2 p). rewrite IZR_Zpower by lia.
rewrite Rabs_mult, (Rabs_pos_eq D), bpow_plus in h by apply bpow_ge_0. now apply Rmult_le_reg_r in h; [|apply D_pos].
Qed.

Lemma base_is_a_multiple : exists s, base = offset + IZR s * D.
Proof.
destruct (generic_format_EM radix2 (FLT_exp emin p) offset) as [F|F].
- exists 0%Z. rewrite Rmult_0_l, Rplus_0_r.
  unfold base; destruct Rle_dec; apply round_generic; auto with typeclass_instances.
- assert (B := offset_is_far F).
  assert (Fb : format base)
    by (unfold base; destruct Rle_dec; apply generic_format_round; auto with typeclass_instances).
  assert (H : Rabs offset <= Rabs base).
  { unfold base. destruct Rle_dec as [h|h].
    - assert (offset <= round radix2 (FLT_exp emin p) Zceil offset)
        by (apply round_UP_pt; auto with typeclass_instances).
      rewrite !Rabs_pos_eq; lra.
    - assert (round radix2 (FLT_exp emin p) Zfloor offset <= offset)
        by (apply round_DN_pt; auto with typeclass_instances).
      rewrite !Rabs_left1; lra. }
  destruct (far_floats_are_multiples base Fb ltac:(lra)) as (j & E). exists (j - m)%Z. rewrite minus_IZR, E. ring.
Qed.

(** An offset that is no float: within the bounds every float is a whole number of steps
    from it, and no nearer than the base. *)
Lemma no_float_offset y :
  ~ format offset -> format y -> L <= y <= U
  -> (exists j, y = offset + IZR j * D) /\ Rabs (y - base) <= Rabs (y - offset).
Proof.
intros N Fy Hy. destruct choice_facts as (HB & _ & _). assert (B := offset_is_far N).
destruct HB as [E|[H|H]]; [exfalso; apply N; rewrite E; apply generic_format_0| |].
- rewrite Rabs_pos_eq in B by lra. split.
  + destruct (far_floats_are_multiples y Fy) as (j & E); [rewrite Rabs_pos_eq; lra|]. exists (j - m)%Z.
    rewrite minus_IZR, E. ring.
  + unfold base. destruct Rle_dec; [|lra].
    assert (offset <= round radix2 (FLT_exp emin p) Zceil offset) by (apply round_UP_pt; auto with typeclass_instances).
    assert (round radix2 (FLT_exp emin p) Zceil offset <= y)
      by (apply round_le_generic; auto with typeclass_instances; lra).
    rewrite !Rabs_pos_eq; lra.
- rewrite Rabs_left in B by lra. split.
  + destruct (far_floats_are_multiples y Fy) as (j & E); [rewrite Rabs_left; lra|]. exists (j - m)%Z.
    rewrite minus_IZR, E. ring.
  + unfold base. destruct Rle_dec; [lra|].
    assert (round radix2 (FLT_exp emin p) Zfloor offset <= offset)
      by (apply round_DN_pt; auto with typeclass_instances).
    assert (y <= round radix2 (FLT_exp emin p) Zfloor offset)
      by (apply round_ge_generic; auto with typeclass_instances; lra).
    rewrite !Rabs_left1; lra.
Qed.

Lemma steps_of_range : bpow radix2 (p + g) = 4 * bpow radix2 (p - 2) * D.
Proof. replace (p + g)%Z with (2 + (p - 2) + g)%Z by ring. now rewrite !bpow_plus. Qed.

Lemma range_is_wide : 1 < bpow radix2 (p - 2).
Proof. change 1 with (bpow radix2 0). apply bpow_lt; lia. Qed.

Lemma subtraction_is_exact y : format y -> L <= y <= U -> format (y - base).
Proof.
intros Fy Hy. generalize D_pos range_is_wide steps_of_range; intros dp one P. destruct choice_facts as (HB & HL & HU).
assert (R : Rabs (y - offset) <= bpow radix2 (p + g)) by (rewrite P; apply Rabs_le; nra).
destruct (generic_format_EM radix2 (FLT_exp emin p) offset) as [F|F].
- destruct (base_of_a_float F) as [-> _]. apply subtract; auto. lra.
- destruct (no_float_offset y F Fy Hy) as [(j & E) B].
  replace (y - base) with (IZR (j - shift) * D) in * by (rewrite minus_IZR, shift_ok, E; ring).
  apply multiple_format; auto. apply le_IZR. rewrite abs_IZR. change (2 ^ p)%Z with (Zpower radix2 p).
  rewrite IZR_Zpower by lia.
  apply Rmult_le_reg_r with D; auto. rewrite <- bpow_plus. apply Rle_trans with (2 := R). apply Rle_trans with (2 := B).
  rewrite Rabs_mult, (Rabs_pos_eq D); lra.
Qed.

Notation J := (low L U D offset).
Notation K := (high L U D offset).
Hypothesis within_reach : (Z.abs (J - shift) <= reach p)%Z /\ (Z.abs (K - shift) <= reach p)%Z.

Theorem our_grid_exact x :
  format x -> kernel p emin base e1 e2 (J - shift) (K - shift) x + IZR shift = IZR (Grid.q L U D offset x).
Proof.
intros Fx. generalize D_pos; intros dp.
assert (E : J = low0 L D offset /\ K = high0 U D offset).
{ unfold low, high; destruct Z_le_gt_dec; [auto|lia]. }
assert (LJ : L <= offset + IZR J * D) by (rewrite (proj1 E); generalize (low0_ge L D offset dp); lra).
assert (KU : offset + IZR K * D <= U) by (rewrite (proj2 E); generalize (high0_le U D offset dp); lra).
assert (JK : (J <= K)%Z) by apply low_high.
destruct within_reach as [RJ RK].
rewrite (kernel_exact p emin p_large emin_small L U g); auto; try lia; try (rewrite minus_IZR, shift_ok; lra);
[|apply subtraction_is_exact].
unfold Grid.q. rewrite <- plus_IZR. f_equal.
assert (div : forall a b z, a <= b + IZR z * D -> (ZnearestE ((a - b) / D) <= z)%Z).
{ intros a b z H. apply nearest_le. apply Rmult_le_reg_r with D; auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
assert (div' : forall a b z, b + IZR z * D <= a -> (z <= ZnearestE ((a - b) / D))%Z).
{ intros a b z H. apply nearest_ge. apply Rmult_le_reg_r with D; auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
unfold Grid.clampR. destruct (Rle_lt_dec x U) as [hU|hU]; [destruct (Rle_lt_dec L x) as [hL|hL]|].
- rewrite Rmin_right, Rmax_right by lra.
  destruct (generic_format_EM radix2 (FLT_exp emin p) offset) as [F|F].
  + destruct (base_of_a_float F) as [-> ->]. unfold clamp; lia.
  + destruct (no_float_offset x F Fx ltac:(lra)) as [(j & Ej) _].
    replace ((x - base) / D) with (IZR (j - shift)) by (rewrite minus_IZR, shift_ok, Ej; field; lra).
    replace ((x - offset) / D) with (IZR j) by (rewrite Ej; field; lra).
    rewrite !Zrnd_IZR by auto with typeclass_instances. unfold clamp; lia.
- rewrite Rmin_right, Rmax_left by lra.
  generalize (div L offset J LJ) (div L base (J - shift)%Z ltac:(rewrite minus_IZR, shift_ok; lra)). unfold clamp; lia.
- rewrite Rmin_left, Rmax_right by lra.
  generalize (div' U offset K KU) (div' U base (K - shift)%Z ltac:(rewrite minus_IZR, shift_ok; lra)).
  unfold clamp; lia.
Qed.
End OurGrid.
