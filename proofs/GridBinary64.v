(** grid (docs/theorems/grid.md, statement 3) in IEEE binary64, as src/kernels/exact.cpp writes it: for every bit
    pattern, overflow, infinities and NaN included, the kernel's integer is the q of the rationals. *)

From Coq Require Import List ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Wide Grid GridKernel Binary64.
Open Scope R_scope.

Local Instance prec53 : Prec_gt_0 53. Proof. reflexivity. Qed.

Notation fl64 := (round radix2 (FLT_exp (-1074) 53) ZnearestE).
Notation B2R64 := (Binary.B2R 53 1024).
Notation fin := (Binary.is_finite 53 1024).
Notation inf := (Binary.B754_infinity 53 1024).
Notation big := (bpow radix2 1024).

Lemma overflowed (f : binary64) s : Binary.B2FF 53 1024 f = Binary.binary_overflow 53 1024 mode_NE s -> f = inf s.
Proof. destruct f; simpl; intros E; try discriminate. now injection E as ->. Qed.

Lemma sign_pos (f : binary64) : fin f = true -> Binary.Bsign 53 1024 f = false -> 0 <= B2R64 f.
Proof. destruct f; simpl; intros; try lra; try discriminate. subst. apply F2R_ge_0; simpl; lia. Qed.

Lemma sign_neg (f : binary64) : fin f = true -> Binary.Bsign 53 1024 f = true -> B2R64 f <= 0.
Proof. destruct f; simpl; intros; try lra; try discriminate. subst. apply F2R_le_0; simpl; lia. Qed.

Lemma format64 (f : binary64) : generic_format radix2 (FLT_exp (-1074) 53) (B2R64 f).
Proof. apply (Binary.generic_format_B2R 53 1024). Qed.

Lemma fl64_pos r : 0 <= r -> 0 <= fl64 r.
Proof. intros; apply round_ge_generic; auto with typeclass_instances. apply generic_format_0. Qed.

Lemma fl64_neg r : r <= 0 -> fl64 r <= 0.
Proof. intros; apply round_le_generic; auto with typeclass_instances. apply generic_format_0. Qed.

(** A machine number stands for a real: equal, or infinite where the real is beyond a threshold. *)
Definition stands (f : binary64) (r lo hi : R) :=
  (fin f = true /\ B2R64 f = r) \/ (f = inf false /\ hi <= r) \/ (f = inf true /\ r <= lo).

Lemma sub_stands x b : fin x = true -> fin b = true -> stands (sub x b) (fl64 (B2R64 x - B2R64 b)) (- big) big.
Proof.
intros Fx Fb. generalize (Binary.Bminus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x b Fx Fb).
change (round radix2 (SpecFloat.fexp 53 1024) (round_mode mode_NE)) with fl64.
case Rlt_bool_spec; intros H.
- intros (E & F & _). left. split; auto.
- intros (O & S). apply overflowed in O. destruct (Binary.Bsign 53 1024 x) eqn:Sx.
  + right; right. split; [exact O|]. symmetry in S; apply Bool.negb_true_iff in S.
    generalize (sign_neg x Fx Sx) (sign_pos b Fb S). intros.
    assert (G := fl64_neg (B2R64 x - B2R64 b) ltac:(lra)). rewrite Rabs_left1 in H; lra.
  + right; left. split; [exact O|]. symmetry in S; apply Bool.negb_false_iff in S.
    generalize (sign_pos x Fx Sx) (sign_neg b Fb S). intros.
    assert (G := fl64_pos (B2R64 x - B2R64 b) ltac:(lra)). rewrite Rabs_pos_eq in H; lra.
Qed.

(** Multiplication by a positive power of two. *)
Lemma mul_stands x s r T e :
  fin s = true -> B2R64 s = bpow radix2 e -> stands x r (- T) T -> (-1074 <= 1024 + e)%Z
  -> forall t,
       T = bpow radix2 t -> (-1074 <= t + e)%Z -> (t + e <= 1024)%Z
       -> stands (mul x s) (fl64 (r * bpow radix2 e)) (- bpow radix2 (t + e)) (bpow radix2 (t + e)).
Proof.
intros Fs Es X He t Et Ht Ht2.
assert (Ps : Binary.Bsign 53 1024 s = false).
{ destruct (Binary.Bsign 53 1024 s) eqn:S; auto. generalize (sign_neg s Fs S) (bpow_gt_0 radix2 e). lra. }
assert (Ft : generic_format radix2 (FLT_exp (-1074) 53) (bpow radix2 (t + e))).
{ apply generic_format_FLT_bpow; auto with typeclass_instances. }
assert (Bt : bpow radix2 (t + e) <= big) by now apply bpow_le.
destruct X as [[Fx Ex]|[[-> H]|[-> H]]].
- generalize (Binary.Bmult_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x s).
  change (round radix2 (SpecFloat.fexp 53 1024) (round_mode mode_NE)) with fl64. rewrite Ex, Es.
  case Rlt_bool_spec; intros H.
  + intros (E & F & _). left. rewrite Fx, Fs in F. split; auto.
  + intros O. rewrite Ps, Bool.xorb_false_r in O. apply overflowed in O. destruct (Binary.Bsign 53 1024 x) eqn:Sx.
    * right; right. split; [exact O|]. generalize (sign_neg x Fx Sx) (bpow_gt_0 radix2 e). rewrite Ex; intros.
      assert (G := fl64_neg (r * bpow radix2 e) ltac:(nra)). rewrite Rabs_left1 in H; lra.
    * right; left. split; [exact O|]. generalize (sign_pos x Fx Sx) (bpow_gt_0 radix2 e). rewrite Ex; intros.
      assert (G := fl64_pos (r * bpow radix2 e) ltac:(nra)). rewrite Rabs_pos_eq in H; lra.
- right; left. split.
  + destruct s; simpl in *; try discriminate; [generalize (bpow_gt_0 radix2 e); lra|]. now subst.
  + apply round_ge_generic; auto with typeclass_instances. rewrite bpow_plus.
    apply Rmult_le_compat_r; [apply bpow_ge_0|lra].
- right; right. split.
  + destruct s; simpl in *; try discriminate; [generalize (bpow_gt_0 radix2 e); lra|]. now subst.
  + apply round_le_generic; auto using generic_format_opp with typeclass_instances.
    rewrite bpow_plus, <- Ropp_mult_distr_l_reverse.
    apply Rmult_le_compat_r; [apply bpow_ge_0|lra].
Qed.

Lemma anchor64_fin : fin anchor64 = true. Proof. reflexivity. Qed.

Lemma anchor64_R : B2R64 anchor64 = anchor 53.
Proof. unfold anchor64. vm_compute b64_of_bits. unfold anchor. simpl. unfold F2R; simpl. lra. Qed.

Lemma add_stands y r :
  stands y r (- bpow radix2 51) (bpow radix2 51)
  -> stands (add y anchor64) (fl64 (anchor 53 + r)) (anchor 53 - bpow radix2 51) (anchor 53 + bpow radix2 51).
Proof.
assert (P : bpow radix2 51 = IZR (2 ^ 51)) by reflexivity.
assert (A : anchor 53 = 3 * bpow radix2 51) by now rewrite anchor_pow.
assert (B : anchor 53 + bpow radix2 51 <= big).
{ rewrite A.
  replace (3 * bpow radix2 51 + bpow radix2 51) with (bpow radix2 2 * bpow radix2 51)
    by (change (bpow radix2 2) with 4; ring).
  rewrite <- bpow_plus. now apply bpow_le. }
generalize (bpow_gt_0 radix2 51). intros Pp.
intros [[Fy Ey]|[[-> H]|[-> H]]].
- generalize (Binary.Bplus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE y anchor64 Fy anchor64_fin).
  change (round radix2 (SpecFloat.fexp 53 1024) (round_mode mode_NE)) with fl64. rewrite Ey, anchor64_R, (Rplus_comm r).
  case Rlt_bool_spec; intros H.
  + intros (E & F & _). left; auto.
  + intros (O & S). apply overflowed in O. change (Binary.Bsign 53 1024 anchor64) with false in S. rewrite S in O.
    right; left. split; [exact O|]. generalize (sign_pos y Fy S). rewrite Ey; intros.
    assert (G := fl64_pos (anchor 53 + r) ltac:(lra)). rewrite Rabs_pos_eq in H; lra.
- right; left. split; [reflexivity|].
  assert (E : fl64 (anchor 53 + bpow radix2 51) = anchor 53 + bpow radix2 51).
  { rewrite (anchored 53 (-1074)) by (try lia; rewrite Rabs_pos_eq; simpl; lra).
    rewrite P, Zrnd_IZR; auto with typeclass_instances. }
  rewrite <- E. apply round_le; auto with typeclass_instances; lra.
- right; right. split; [reflexivity|].
  assert (E : fl64 (anchor 53 + - bpow radix2 51) = anchor 53 - bpow radix2 51).
  { rewrite (anchored 53 (-1074)) by (try lia; rewrite Rabs_Ropp, Rabs_pos_eq; simpl; lra).
    rewrite P, <- opp_IZR, Zrnd_IZR, opp_IZR; auto with typeclass_instances. }
  rewrite <- E. apply round_le; auto with typeclass_instances; lra.
Qed.

(** The comparisons. *)
Lemma less_R x y : fin x = true -> fin y = true -> less x y = Rlt_bool (B2R64 x) (B2R64 y).
Proof.
intros Fx Fy. unfold less, b64_compare. rewrite (Binary.Bcompare_correct 53 1024) by auto.
case Rcompare_spec; case Rlt_bool_spec; intros; auto; lra.
Qed.

Lemma clamp64_stands low high y r a b :
  fin low = true -> fin high = true -> B2R64 low <= B2R64 high -> a <= B2R64 low -> B2R64 high <= b -> stands y r a b
  -> fin (clamp64 low high y) = true /\ B2R64 (clamp64 low high y) = held_between (B2R64 low) (B2R64 high) r.
Proof.
intros Fl Fh LH Ha Hb. unfold clamp64, held_between.
assert (K : forall z, fin z = true -> fin (if less z high then z else high) = true /\
            B2R64 (if less z high then z else high) = Rmin (B2R64 high) (B2R64 z)).
{ intros z Fz. rewrite less_R by auto. case Rlt_bool_spec; intros H; split; auto; unfold Rmin; destruct Rle_dec; lra. }
intros [[Fy Ey]|[[-> H]|[-> H]]].
- rewrite (less_R low y) by auto. case Rlt_bool_spec; intros G.
  + rewrite Rmax_right by lra. rewrite <- Ey. now apply K.
  + rewrite Rmax_left by lra. now apply K.
- assert (L : less low (inf false) = true) by (destruct low; try discriminate; reflexivity). rewrite L.
  assert (L' : less (inf false) high = false) by (destruct high; try discriminate; reflexivity). rewrite L'.
  split; auto. rewrite Rmax_right, Rmin_left by lra. reflexivity.
- assert (L : less low (inf true) = false) by (destruct low; try discriminate; destruct s; reflexivity). rewrite L.
  rewrite Rmax_left by lra. now apply K.
Qed.

(** The bit pattern counts up by one with the double between 2^52 and 2^53. *)
Lemma bits_count (y : binary64) q :
  fin y = true -> B2R64 y = anchor 53 + IZR q -> (Z.abs q <= 2 ^ 51)%Z -> (bits_of_b64 y - bits_of_b64 anchor64 = q)%Z.
Proof.
intros Fy Ey Hq. assert (A : anchor 53 = IZR (3 * 2 ^ 51)) by reflexivity. rewrite A, <- plus_IZR in Ey.
set (n := (3 * 2 ^ 51 + q)%Z) in *. assert (Hn : (2 ^ 52 <= n <= 2 ^ 53)%Z) by (unfold n; lia).
change (bits_of_b64 anchor64) with 0x4338000000000000%Z.
destruct y as [s|s|s pl Hpl|s m e H]; try discriminate.
- simpl in Ey. apply eq_IZR in Ey. lia.
- simpl in Ey.
  assert (s = false) as ->.
  { destruct s; auto. assert (IZR n <= 0) by (rewrite <- Ey; apply F2R_le_0; simpl; lia). apply le_IZR in H0. lia. }
  assert (C := H). unfold SpecFloat.bounded in C. apply andb_prop in C as [C _].
  apply (canonical_canonical_mantissa 53 1024 false) in C.
  unfold canonical in C. simpl cond_Zopp in C. simpl in C. change (cond_Zopp false (Z.pos m)) with (Z.pos m) in Ey.
  rewrite Ey in C. unfold cexp in C.
  destruct (Z.eq_dec n (2 ^ 53)) as [E|E].
  + assert (M : mag radix2 (IZR n) = 54%Z :> Z).
    { rewrite E. change (IZR (2 ^ 53)) with (bpow radix2 53). now rewrite mag_bpow. }
    rewrite M in C. vm_compute in C. subst e. unfold F2R in Ey. simpl in Ey. rewrite <- mult_IZR in Ey.
    apply eq_IZR in Ey.
    assert (Zm : Zpos m = (2 ^ 52)%Z) by lia. unfold bits_of_b64, bits_of_binary_float. rewrite Zm. simpl.
    unfold n in E. lia.
  + assert (M : mag radix2 (IZR n) = 53%Z :> Z).
    { apply mag_unique. rewrite Rabs_pos_eq by (apply IZR_le; lia). change (bpow radix2 (53 - 1)) with (IZR (2 ^ 52)).
      change (bpow radix2 53) with (IZR (2 ^ 53)). split; [apply IZR_le|apply IZR_lt]; lia. }
    rewrite M in C. vm_compute in C. subst e. unfold F2R in Ey. simpl in Ey. rewrite Rmult_1_r in Ey.
    apply eq_IZR in Ey.
    unfold bits_of_b64, bits_of_binary_float. rewrite Ey.
    replace (0 <=? n - 2 ^ 52)%Z with true by (symmetry; apply Z.leb_le; lia).
    unfold join_bits. simpl Z.shiftl. unfold n. lia.
Qed.

(** Where all integers are on one side of 0, a record of 0 has the one nearest 0. *)
Lemma q_of_zero_is_low L U D :
  0 < D -> (low0 L D 0 <= high0 U D 0)%Z -> (0 <= low L U D 0)%Z -> Grid.q L U D 0 0 = low L U D 0.
Proof.
intros dp S H. assert (E : low L U D 0 = low0 L D 0) by (unfold low; destruct Z_le_gt_dec; [auto|lia]).
assert (G : (ZnearestE ((Grid.clampR L U 0 - 0) / D) <= low L U D 0)%Z).
{ apply nearest_le. apply Rmult_le_reg_r with D; auto. rewrite Rminus_0_r.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  generalize (low0_ge L D 0 dp). rewrite <- E, Rplus_0_r. apply IZR_le in H. assert (0 <= IZR (low L U D 0) * D) by nra.
  unfold Grid.clampR, Rmin, Rmax. repeat destruct Rle_dec; lra. }
generalize (low_high L U D 0). unfold Grid.q, clamp. lia.
Qed.

Lemma q_of_zero_is_high L U D :
  0 < D -> (low0 L D 0 <= high0 U D 0)%Z -> (high L U D 0 <= 0)%Z -> Grid.q L U D 0 0 = high L U D 0.
Proof.
intros dp S H. assert (E : high L U D 0 = high0 U D 0) by (unfold high; destruct Z_le_gt_dec; [auto|lia]).
assert (E' : low L U D 0 = low0 L D 0) by (unfold low; destruct Z_le_gt_dec; [auto|lia]).
assert (G : (high L U D 0 <= ZnearestE ((Grid.clampR L U 0 - 0) / D))%Z).
{ apply nearest_ge. apply Rmult_le_reg_r with D; auto. rewrite Rminus_0_r.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (LJ := low0_ge L D 0 dp). assert (KU := high0_le U D 0 dp). rewrite <- E in KU. rewrite <- E' in LJ.
  assert (JK : IZR (low L U D 0) <= IZR (high L U D 0)) by apply IZR_le, low_high.
  apply IZR_le in H. assert (IZR (high L U D 0) * D <= 0) by nra.
  assert (IZR (low L U D 0) * D <= IZR (high L U D 0) * D) by nra.
  unfold Grid.clampR, Rmin, Rmax. repeat destruct Rle_dec; lra. }
generalize (low_high L U D 0). unfold Grid.q, clamp. lia.
Qed.

(** The C++ kernel returns the q of the rationals for every double. *)
Section Kernel64.
Variables (L U : R) (g e1 e2 m shift : Z) (base scale more low64 high64 : binary64).
Notation D := (bpow radix2 g).
Notation offset := (IZR m * D).
Notation first_double := (GridKernel.base 53 (-1074) g m).
Notation J := (low L U D offset).
Notation K := (high L U D offset).
Hypothesis LU : L <= U.
Hypothesis g_range : (-1074 <= g)%Z.
Hypothesis scales : (e1 + e2 = - g)%Z.
Hypothesis one_or_up : e2 = 0%Z \/ (0 <= e1 /\ 0 <= e2)%Z.
Hypothesis choice :
  m = 0%Z /\ magnitude L U < bpow radix2 51 * D
  \/ 0 < L /\ m = Zfloor (L / D) /\ U - L < bpow radix2 51 * D
  \/ U < 0 /\ m = Zceil (U / D) /\ U - L < bpow radix2 51 * D.
Hypothesis some : (low0 L D offset <= high0 U D offset)%Z.
Hypothesis shift_ok : first_double = offset + IZR shift * D.
Hypothesis within_reach : (Z.abs (J - shift) <= 2 ^ 51)%Z /\ (Z.abs (K - shift) <= 2 ^ 51)%Z.
Hypothesis range : (-1022 <= e1 <= 1023)%Z /\ (0 <= e2 <= 1023)%Z /\ ((-973 <= e1)%Z \/ m = 0%Z).
Hypothesis base_ok : fin base = true /\ B2R64 base = first_double.
Hypothesis scale_ok : fin scale = true /\ B2R64 scale = bpow radix2 e1.
Hypothesis more_ok : fin more = true /\ B2R64 more = bpow radix2 e2.
Hypothesis low_ok : fin low64 = true /\ B2R64 low64 = anchor 53 + IZR (J - shift).
Hypothesis high_ok : fin high64 = true /\ B2R64 high64 = anchor 53 + IZR (K - shift).

Lemma no_offset : m = 0%Z -> first_double = 0.
Proof.
clear. intros ->. unfold GridKernel.base. rewrite Rmult_0_l.
destruct Rle_dec; apply round_0; auto with typeclass_instances.
Qed.

Lemma weaken_stands f r T T' : T' <= T -> stands f r (- T) T -> stands f r (- T') T'.
Proof. intros H [X|[[-> X]|[-> X]]]; [now left|right; left; split; auto; lra|right; right; split; auto; lra]. Qed.

Lemma chain_stands x :
  fin x = true
  -> stands (mul (mul (sub x base) scale) more) (chain 53 (-1074) e1 e2 (fl64 (B2R64 x - first_double)))
       (- bpow radix2 51) (bpow radix2 51).
Proof.
intros Fx. destruct base_ok as [Fb Eb], scale_ok as [Fs Es], more_ok as [Fm Em], range as (R1 & R2 & R3).
generalize (sub_stands x base Fx Fb). rewrite Eb. intros S.
assert (T : exists t, (51 <= t + e1)%Z /\ (t + e1 <= 1024)%Z /\ ((0 <= e1)%Z -> (t + e1 = 1024)%Z) /\
  stands (sub x base) (fl64 (B2R64 x - first_double)) (- bpow radix2 t) (bpow radix2 t)).
{ destruct (Z_le_gt_dec 0 e1) as [h|h].
  - exists (1024 - e1)%Z. repeat split; try lia.
    apply weaken_stands with big; auto. apply bpow_le; lia.
  - destruct R3 as [R3|R3].
    + exists 1024%Z. repeat split; try lia. auto.
    + exists (1024 - e1)%Z. repeat split; try lia. left.
      assert (E : fl64 (B2R64 x - first_double) = B2R64 x).
      { rewrite (no_offset R3), Rminus_0_r. apply round_generic; auto with typeclass_instances. apply format64. }
      rewrite E in *. generalize (Binary.abs_B2R_lt_emax 53 1024 x). intros A. apply Rabs_lt_inv in A.
      destruct S as [S|[[_ S]|[_ S]]]; auto; lra. }
destruct T as (t & T1 & T2 & T3 & S').
generalize (mul_stands _ scale _ _ e1 Fs Es S' ltac:(lia) t eq_refl ltac:(lia) T2). intros S2. unfold chain.
set (t2 := Z.min (t + e1) (1024 - e2)).
apply weaken_stands with (T' := bpow radix2 t2) in S2; [|apply bpow_le; unfold t2; lia].
generalize (mul_stands _ more _ _ e2 Fm Em S2 ltac:(lia) t2 eq_refl ltac:(unfold t2; lia) ltac:(unfold t2; lia)).
intros S3.
apply weaken_stands with (2 := S3). apply bpow_le. unfold t2. lia.
Qed.

Lemma bounds64 :
  fin low64 = true
  /\ fin high64 = true
  /\ B2R64 low64 <= B2R64 high64
  /\ anchor 53 - bpow radix2 51 <= B2R64 low64
  /\ B2R64 high64 <= anchor 53 + bpow radix2 51.
Proof.
destruct low_ok as [Fl El], high_ok as [Fh Eh], within_reach as [RL RH].
assert (P : bpow radix2 51 = IZR (2 ^ 51)) by reflexivity.
assert (LH : (J <= K)%Z) by apply low_high. repeat split; auto.
- rewrite El, Eh; apply Rplus_le_compat_l, IZR_le; lia.
- rewrite El, P. unfold Rminus. rewrite <- opp_IZR. apply Rplus_le_compat_l, IZR_le; lia.
- rewrite Eh, P; apply Rplus_le_compat_l, IZR_le; lia.
Qed.

(** The clamped double decides the integer. *)
Lemma integer_of z x :
  generic_format radix2 (FLT_exp (-1074) 53) x
  -> fin z = true
  -> B2R64 z
      = held_between (B2R64 low64) (B2R64 high64) (fl64 (anchor 53 + chain 53 (-1074) e1 e2 (fl64 (x - first_double))))
  -> (bits_of_b64 z - bits_of_b64 anchor64 + shift = Grid.q L U D offset x)%Z.
Proof.
intros Fx Fz Ez. destruct low_ok as [_ El], high_ok as [_ Eh], within_reach as [RL RH].
enough (H : (bits_of_b64 z - bits_of_b64 anchor64 = Grid.q L U D offset x - shift)%Z) by lia.
apply bits_count; auto.
- rewrite Ez, El, Eh.
  generalize (our_grid_exact 53 (-1074) ltac:(lia) ltac:(lia) L U LU g e1 e2 g_range scales one_or_up m choice some
      shift shift_ok within_reach x Fx).
  unfold kernel. rewrite (minus_IZR (Grid.q _ _ _ _ _)). intros <-. ring.
- generalize (q_within L U D offset x). lia.
Qed.

Lemma finite_is_not_nan x : fin x = true -> not_nan x = x.
Proof.
intros Fx. unfold not_nan, b64_compare. rewrite (Binary.Bcompare_correct 53 1024) by auto.
now rewrite Rcompare_Eq.
Qed.

Theorem kernel64_exact x :
  fin x = true -> (kernel64 base scale more low64 high64 x + shift = Grid.q L U D offset (B2R64 x))%Z.
Proof.
intros Fx. unfold anchored64. rewrite finite_is_not_nan by auto. destruct bounds64 as (Fl & Fh & A1 & A2 & A3).
destruct (clamp64_stands low64 high64 _ _ _ _ Fl Fh A1 A2 A3 (add_stands _ _ (chain_stands x Fx))) as [FC EC].
apply integer_of; auto using format64.
Qed.

(** Whatever the record (NaN and infinities too), the result is within the integer bounds: what privacy rests on. *)
Theorem kernel64_infinite s : (kernel64 base scale more low64 high64 (inf s) + shift = if s then J else K)%Z.
Proof.
destruct base_ok as [Fb Eb], scale_ok as [Fs Es], more_ok as [Fm Em], low_ok as [Fl El], high_ok as [Fh Eh].
destruct within_reach as [RL RH].
assert (LH : (J <= K)%Z) by apply low_high.
assert (Y : add (mul (mul (sub (inf s) base) scale) more) anchor64 = inf s).
{ assert (Y1 : sub (inf s) base = inf s) by (destruct base; try discriminate; reflexivity).
  assert (M : forall (c : binary64) e, fin c = true -> B2R64 c = bpow radix2 e -> mul (inf s) c = inf s).
  { intros c e Fc Ec. destruct c; try discriminate; simpl in Ec; [generalize (bpow_gt_0 radix2 e); lra|].
    destruct s0; [|now destruct s]. exfalso. apply Rlt_not_le with (1 := bpow_gt_0 radix2 e).
    rewrite <- Ec. apply F2R_le_0. simpl. lia. }
  rewrite Y1, (M scale e1), (M more e2) by auto. now destruct s. }
unfold anchored64, not_nan. replace (b64_compare (inf s) (inf s)) with (Some Eq) by now destruct s. rewrite Y.
destruct s.
- assert (E : clamp64 low64 high64 (inf true) = if less low64 high64 then low64 else high64).
  { unfold clamp64.
    now replace (less low64 (inf true)) with false by (destruct low64; try discriminate; destruct s; reflexivity). }
  rewrite E, less_R by auto. rewrite El, Eh.
  enough
    (H : (bits_of_b64 (if Rlt_bool (anchor 53 + IZR (J - shift)) (anchor 53 + IZR (K - shift)) then low64 else high64)
             - bits_of_b64 anchor64 = J - shift)%Z) by lia.
  case Rlt_bool_spec; intros H; apply bits_count; auto.
  apply Rplus_le_reg_l, le_IZR in H. rewrite Eh. do 2 f_equal. lia.
- assert (E : clamp64 low64 high64 (inf false) = high64).
  { unfold clamp64. replace (less low64 (inf false)) with true by (destruct low64; try discriminate; reflexivity).
    now replace (less (inf false) high64) with false by (destruct high64; try discriminate; reflexivity). }
  rewrite E. enough (H : (bits_of_b64 high64 - bits_of_b64 anchor64 = K - shift)%Z) by lia. apply bits_count; auto.
Qed.

Theorem kernel64_nan x :
  Binary.is_nan 53 1024 x = true -> (kernel64 base scale more low64 high64 x + shift = Grid.q L U D offset 0)%Z.
Proof.
intros Hx. change 0 with (B2R64 zero). rewrite <- kernel64_exact by reflexivity.
destruct x; try discriminate. reflexivity.
Qed.

(** `Plain`: no base and one scale. Then nothing is subtracted and nothing shifted. *)
Section Plain.
Hypothesis no_base : m = 0%Z.
Hypothesis one_scale : e2 = 0%Z.

Lemma plain_shift : shift = 0%Z.
Proof.
clear - no_base shift_ok.
apply eq_IZR. apply Rmult_eq_reg_r with D; [|generalize (bpow_gt_0 radix2 g); lra].
generalize shift_ok. rewrite (no_offset no_base), no_base. lra.
Qed.

Lemma plain_chain x :
  generic_format radix2 (FLT_exp (-1074) 53) x
  -> chain 53 (-1074) e1 e2 (fl64 (x - first_double)) = fl64 (x * bpow radix2 e1).
Proof.
intros Fx. unfold chain.
rewrite (no_offset no_base), Rminus_0_r, (round_generic _ _ _ x), one_scale, Rmult_1_r by auto with typeclass_instances.
apply round_generic; auto with typeclass_instances. apply generic_format_round; auto with typeclass_instances.
Qed.

Lemma plain_stands x :
  fin x = true
  -> stands (mul x scale) (chain 53 (-1074) e1 e2 (fl64 (B2R64 x - first_double))) (- bpow radix2 51) (bpow radix2 51).
Proof.
intros Fx. rewrite plain_chain by apply format64. destruct scale_ok as [Fs Es], range as (R1 & _ & _).
assert (S : stands x (B2R64 x) (- bpow radix2 (1024 - e1)) (bpow radix2 (1024 - e1))) by (left; auto).
generalize (mul_stands _ scale _ _ e1 Fs Es S ltac:(lia) _ eq_refl ltac:(lia) ltac:(lia)).
apply weaken_stands. apply bpow_le. lia.
Qed.

(** Clamping from above first makes no difference, except to a NaN. *)
Lemma clamp64_from_above_stands y r a b :
  a <= B2R64 low64 -> B2R64 high64 <= b -> stands y r a b
  -> fin (clamp64_from_above low64 high64 y) = true
     /\ B2R64 (clamp64_from_above low64 high64 y) = held_between (B2R64 low64) (B2R64 high64) r.
Proof.
intros Ha Hb S. destruct bounds64 as (Fl & Fh & LH & _ & _). unfold clamp64_from_above, held_between.
assert (M : forall z, fin z = true -> fin (if less low64 z then z else low64) = true /\
            B2R64 (if less low64 z then z else low64) = Rmax (B2R64 low64) (B2R64 z)).
{ intros z Fz. rewrite less_R by auto. case Rlt_bool_spec; intros H; split; auto; unfold Rmax; destruct Rle_dec; lra. }
assert (E : forall t, Rmin (B2R64 high64) (Rmax (B2R64 low64) t) = Rmax (B2R64 low64) (Rmin (B2R64 high64) t)).
{ intros t. unfold Rmin, Rmax. repeat destruct Rle_dec; lra. }
rewrite E. destruct S as [[Fy Ey]|[[-> H]|[-> H]]].
- rewrite (less_R y high64) by auto. case Rlt_bool_spec; intros G.
  + rewrite Rmin_right by lra. rewrite <- Ey. now apply M.
  + rewrite Rmin_left by lra. now apply M.
- assert (Q : less (inf false) high64 = false) by (destruct high64; try discriminate; reflexivity). rewrite Q.
  rewrite Rmin_left by lra. now apply M.
- assert (Q : less (inf true) high64 = true) by (destruct high64; try discriminate; destruct s; reflexivity). rewrite Q.
  assert (Q' : less low64 (inf true) = false) by (destruct low64; try discriminate; destruct s; reflexivity).
  rewrite Q'.
  split; auto. rewrite Rmin_right, Rmax_left by lra. reflexivity.
Qed.

Theorem plain64_exact how x :
  fin x = true -> (anchored64 how true base scale more low64 high64 x + shift = Grid.q L U D offset (B2R64 x))%Z.
Proof.
intros Fx. unfold anchored64. destruct bounds64 as (Fl & Fh & A1 & A2 & A3).
destruct (clamp64_stands low64 high64 _ _ _ _ Fl Fh A1 A2 A3 (add_stands _ _ (plain_stands x Fx))) as [FC EC].
destruct (clamp64_from_above_stands _ _ _ _ A2 A3 (add_stands _ _ (plain_stands x Fx))) as [FC' EC'].
destruct how; cbv zeta iota; rewrite ?finite_is_not_nan by auto; apply integer_of; auto using format64.
Qed.

Lemma less_itself x : fin x = true -> less x x = false.
Proof. intros F. rewrite less_R by auto. apply Rlt_bool_false. lra. Qed.

Lemma low_of_bits : (bits_of_b64 low64 - bits_of_b64 anchor64 + shift = J)%Z.
Proof.
destruct low_ok, within_reach. enough (bits_of_b64 low64 - bits_of_b64 anchor64 = J - shift)%Z by lia.
apply bits_count; auto.
Qed.

Lemma high_of_bits : (bits_of_b64 high64 - bits_of_b64 anchor64 + shift = K)%Z.
Proof.
destruct high_ok, within_reach. enough (bits_of_b64 high64 - bits_of_b64 anchor64 = K - shift)%Z by lia.
apply bits_count; auto.
Qed.

Lemma low_below_high : less low64 high64 = false -> J = K.
Proof.
destruct low_ok as [Fl El], high_ok as [Fh Eh]. rewrite less_R, El, Eh by auto. case Rlt_bool_spec; [discriminate|].
intros H _.
apply Rplus_le_reg_l, le_IZR in H. generalize (low_high L U D offset). lia.
Qed.

Theorem plain64_infinite how s :
  (anchored64 how true base scale more low64 high64 (inf s) + shift = if s then J else K)%Z.
Proof.
destruct scale_ok as [Fs Es], bounds64 as (Fl & Fh & _).
assert (Y : add (mul (inf s) scale) anchor64 = inf s).
{ assert (M : mul (inf s) scale = inf s); [|rewrite M; now destruct s].
  destruct scale; try discriminate; simpl in Es; [generalize (bpow_gt_0 radix2 e1); lra|].
  destruct s0; [|now destruct s]. exfalso. apply Rlt_not_le with (1 := bpow_gt_0 radix2 e1). rewrite <- Es.
  apply F2R_le_0. simpl. lia. }
assert (N : not_nan (inf s) = inf s) by now destruct s.
unfold anchored64.
destruct how; cbv zeta iota; rewrite ?N, Y; unfold clamp64, clamp64_from_above; cbv zeta;
replace (less low64 (inf s)) with (negb s)
    by (destruct low64; try discriminate; destruct s; try destruct s0; reflexivity);
replace (less (inf s) high64) with s by (destruct high64; try discriminate; destruct s; try destruct s0; reflexivity);
destruct s; simpl negb; cbv iota;
try (replace (less low64 (inf true)) with false by (destruct low64; try discriminate; destruct s; reflexivity));
try (replace (less (inf false) high64) with false by (destruct high64; try discriminate; destruct s; reflexivity));
try apply low_of_bits; try apply high_of_bits;
(destruct (less low64 high64) eqn:E; [try apply low_of_bits; apply high_of_bits|];
 generalize low_of_bits high_of_bits (low_below_high E); lia).
Qed.

(** A NaN comes out as low or high, where that is what it counts as; else it is made 0 first. *)
Lemma plain_offset : offset = 0.
Proof. rewrite no_base. ring. Qed.

Lemma q_of_zero_from_below : (0 <= J)%Z -> Grid.q L U D offset 0 = J.
Proof. intros H. generalize some H. rewrite plain_offset. apply q_of_zero_is_low, bpow_gt_0. Qed.

Lemma q_of_zero_from_above : (K <= 0)%Z -> Grid.q L U D offset 0 = K.
Proof. intros H. generalize some H. rewrite plain_offset. apply q_of_zero_is_high, bpow_gt_0. Qed.

Theorem plain64_nan how x :
  Binary.is_nan 53 1024 x = true -> match how with Low => (0 <= J)%Z | High => (K <= 0)%Z | Zero => True end
  -> (anchored64 how true base scale more low64 high64 x + shift = Grid.q L U D offset 0)%Z.
Proof.
intros Hx H. destruct x as [| |sx pl Hpl|]; try discriminate. destruct how.
- rewrite q_of_zero_from_below by auto. unfold anchored64, clamp64.
  assert (Y : forall y, less low64 y = false
        -> (bits_of_b64 (let y0 := if less low64 y then y else low64 in if less y0 high64 then y0 else high64)
                - bits_of_b64 anchor64 + shift = J)%Z).
  { intros y ->. cbv zeta iota. destruct (less low64 high64) eqn:E; [apply low_of_bits|].
    generalize high_of_bits (low_below_high E). lia. }
  apply Y.
  destruct scale; try discriminate (proj1 scale_ok); destruct low64; try discriminate (proj1 low_ok); reflexivity.
- rewrite q_of_zero_from_above by auto. unfold anchored64, clamp64_from_above.
  assert (Y : forall y, less y high64 = false
        -> (bits_of_b64 (let y0 := if less y high64 then y else high64 in if less low64 y0 then y0 else low64)
                - bits_of_b64 anchor64 + shift = K)%Z).
  { intros y ->. cbv zeta iota. destruct (less low64 high64) eqn:E; [apply high_of_bits|].
    generalize low_of_bits (low_below_high E). lia. }
  apply Y.
  destruct scale; try discriminate (proj1 scale_ok); destruct high64; try discriminate (proj1 high_ok); reflexivity.
- change 0 with (B2R64 zero). rewrite <- (plain64_exact Zero) by reflexivity. reflexivity.
Qed.
End Plain.
End Kernel64.
