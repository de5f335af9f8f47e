(** grid (docs/theorems/grid.md, statements 2, 3 and 4): the grid soundsum chooses, from its bounds to the last bit.

    Let ideal = max(|L|, |U|) for a private n, U - L for a public one, and
    g = max(floor(log2 ideal) - 50, eta). Then D = 2^g times the sensitivity is above (1 - 2^-49) ideal unless
    eta decides, and the ideal itself if eta decides and the bounds are multiples of it. The constants of
    `as_doubles` make src/kernels/exact.cpp return the q of the rationals for every bit pattern, whichever of
    its variants a block gets; and its 64-bit lanes do not lose a bit. *)

From Coq Require Import List ZArith Bool Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Wide Grid GridKernel Binary64 GridBinary64.
Import ListNotations.
Open Scope R_scope.

Local Instance prec53 : Prec_gt_0 53. Proof. reflexivity. Qed.

(** Less than a step is lost at each bound that is rounded inward. *)
Section Losses.
Variables L U D : R.
Hypothesis LU : L <= U.
Hypothesis Dpos : 0 < D.

Lemma unsized_loses_little : magnitude L U - D < D * IZR (magnitudeZ (low L U D 0) (high L U D 0)).
Proof.
rewrite magnitudeZ_R. assert (R : forall a b, D * magnitude a b = Rmax (D * Rabs a) (D * Rabs b)).
{ intros a b; unfold magnitude. rewrite <- RmaxRmult; lra. }
rewrite R.
assert (S : forall z, D * Rabs (IZR z) = Rabs (IZR z * D)) by (intros z; rewrite Rabs_mult, (Rabs_pos_eq D); lra).
rewrite !S. generalize (low0_ge L D 0 Dpos) (high0_le U D 0 Dpos) (low0_lt L D 0 Dpos) (high0_gt U D 0 Dpos).
rewrite !Rplus_0_r.
intros H1 H2 H3 H4. unfold magnitude.
assert (B : forall z, (IZR z * D <= Rabs (IZR z * D)) /\ (- (IZR z * D) <= Rabs (IZR z * D))).
{ intros z. split; [apply Rle_abs|]. rewrite <- Rabs_Ropp. apply Rle_abs. }
assert (low_cases : low L U D 0 = low0 L D 0 /\ high L U D 0 = high0 U D 0
    \/ (high0 U D 0 < low0 L D 0)%Z /\ low L U D 0 = high L U D 0 /\ low L U D 0 = nearer (low0 L D 0) (high0 U D 0)).
{ unfold low, high. destruct Z_le_gt_dec; [now left|right; repeat split; auto; lia]. }
destruct low_cases as [[-> ->]|(N & <- & ->)].
- apply Rle_lt_trans with (Rmax (Rabs L) (Rabs U) - D); [lra|].
  generalize (Rmax_l (Rabs (IZR (low0 L D 0) * D)) (Rabs (IZR (high0 U D 0) * D)))
    (Rmax_r (Rabs (IZR (low0 L D 0) * D)) (Rabs (IZR (high0 U D 0) * D))).
  destruct (B (low0 L D 0)) as [B1 B2], (B (high0 U D 0)) as [B3 B4]. intros M1 M2.
  assert (A1 : Rabs L - D < Rmax (Rabs (IZR (low0 L D 0) * D)) (Rabs (IZR (high0 U D 0) * D))).
  { unfold Rabs at 1. destruct Rcase_abs; lra. }
  assert (A2 : Rabs U - D < Rmax (Rabs (IZR (low0 L D 0) * D)) (Rabs (IZR (high0 U D 0) * D))).
  { unfold Rabs at 1. destruct Rcase_abs; lra. }
  unfold Rmax at 1. destruct Rle_dec; lra.
- rewrite (Rmax_left (Rabs (IZR (nearer _ _) * D))) by lra.
  assert (E : (low0 L D 0 = high0 U D 0 + 1)%Z).
  { assert (g : (low0 L D 0 < high0 U D 0 + 2)%Z); [|lia]. apply lt_IZR. rewrite plus_IZR.
    apply Rmult_lt_reg_r with D; auto.
    replace ((IZR (high0 U D 0) + 2) * D) with (IZR (high0 U D 0) * D + 2 * D) by ring. lra. }
  set (j := IZR (low0 L D 0) * D) in *. set (h := IZR (high0 U D 0) * D) in *.
  assert (JH : j = h + D) by (unfold j, h; rewrite E, plus_IZR; ring).
  unfold nearer. destruct Z_le_gt_dec as [c|c].
  + assert (low0 L D 0 <= 0)%Z by lia. apply IZR_le in H. assert (j <= 0) by (unfold j; nra). fold j.
    rewrite (Rabs_left1 j) by lra. rewrite (Rabs_left1 L), (Rabs_left1 U) by lra. rewrite Rmax_left; lra.
  + assert (0 <= high0 U D 0)%Z by lia. apply IZR_le in H. assert (0 <= h) by (unfold h; nra). fold h.
    rewrite (Rabs_pos_eq h) by lra. rewrite (Rabs_pos_eq L), (Rabs_pos_eq U) by lra. rewrite Rmax_right; lra.
Qed.

(** Bounds on the grid lose nothing. *)
Lemma exact_bounds a b : L = IZR a * D -> U = IZR b * D -> low L U D 0 = a /\ high L U D 0 = b.
Proof.
intros EL EU. assert (l : low0 L D 0 = a).
{ unfold low0. rewrite EL, Rminus_0_r. unfold Rdiv. rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. apply Zceil_IZR. }
assert (h : high0 U D 0 = b).
{ unfold high0. rewrite EU, Rminus_0_r. unfold Rdiv. rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. apply Zfloor_IZR. }
assert (a <= b)%Z by (apply le_IZR, Rmult_le_reg_r with D; auto; lra).
unfold low, high. rewrite l, h. destruct Z_le_gt_dec; [auto|lia].
Qed.
End Losses.

Section Choice.
Variables (L U : R) (sized : bool) (eta : Z).
Hypothesis LU : L <= U.

Definition ideal := if sized then U - L else magnitude L U.
Hypothesis ideal_pos : 0 < ideal.

(** floor(log2 x) is mag x - 1. *)
Definition g := Z.max (mag radix2 ideal - 1 - 50) eta.
Notation D := (bpow radix2 g).

Definition m : Z :=
  if sized then
    if Rlt_dec 0 L then Zfloor (L / D) else if Rlt_dec U 0 then Zceil (U / D) else 0%Z
  else 0%Z.

Notation offset := (IZR m * D).
Notation J := (low L U D offset).
Notation K := (high L U D offset).

Lemma D_positive : 0 < D. Proof. apply bpow_gt_0. Qed.

Lemma ideal_in_steps : ideal < bpow radix2 51 * D.
Proof.
assert (B := bpow_mag_gt radix2 ideal). rewrite Rabs_pos_eq in B by lra. apply Rlt_le_trans with (1 := B).
rewrite <- bpow_plus. apply bpow_le. unfold g. lia.
Qed.

Lemma steps_in_ideal : (eta <= mag radix2 ideal - 1 - 50)%Z -> D <= bpow radix2 (-50) * ideal.
Proof.
intros H. unfold g. rewrite Z.max_l by auto.
replace (mag radix2 ideal - 1 - 50)%Z with (-50 + (mag radix2 ideal - 1))%Z by ring.
rewrite bpow_plus. apply Rmult_le_compat_l; [apply bpow_ge_0|].
generalize (bpow_mag_le radix2 ideal ltac:(lra)). now rewrite Rabs_pos_eq by lra.
Qed.

(** In steps of the grid: what one record can move. *)
Definition grid_sensitivity := if sized then (K - J)%Z else magnitudeZ J K.

Theorem at_most_the_ideal : D * IZR grid_sensitivity <= ideal.
Proof.
unfold grid_sensitivity, ideal. destruct sized eqn:S; [apply grid_sized_at_most_ideal; auto; apply D_positive|].
apply grid_unsized_at_most_ideal; auto; [apply D_positive|]. unfold m. rewrite S. ring.
Qed.

Theorem little_is_lost :
  (eta <= mag radix2 ideal - 1 - 50)%Z -> (1 - bpow radix2 (-49)) * ideal < D * IZR grid_sensitivity.
Proof.
intros H. assert (G := steps_in_ideal H).
assert (T : bpow radix2 (-49) = 2 * bpow radix2 (-50)) by (change (-49)%Z with (1 + -50)%Z; now rewrite bpow_plus).
rewrite T. unfold grid_sensitivity, ideal in *. generalize D_positive; intros dp. destruct sized eqn:S.
- generalize (grid_sized_loses_little L U D offset dp). lra.
- replace m with 0%Z by (unfold m; now rewrite S). rewrite Rmult_0_l. generalize (unsized_loses_little L U D LU dp).
  assert (0 < bpow radix2 (-50) * magnitude L U) by (apply Rmult_lt_0_compat; [apply bpow_gt_0|lra]). lra.
Qed.

Theorem nothing_is_lost a b : L = IZR a * D -> U = IZR b * D -> D * IZR grid_sensitivity = ideal.
Proof.
intros EL EU. generalize D_positive; intros dp. unfold grid_sensitivity, ideal. destruct sized eqn:S.
- destruct (exact_bounds (L - offset) (U - offset) D ltac:(lra) dp (a - m) (b - m)) as [lo hi].
  { rewrite minus_IZR, EL. ring. } { rewrite minus_IZR, EU. ring. }
  assert (EJ : J = (a - m)%Z).
  { rewrite <- lo. unfold low, low0, high0. now rewrite !Rminus_0_r. }
  assert (EK : K = (b - m)%Z).
  { rewrite <- hi. unfold high, low0, high0. now rewrite !Rminus_0_r. }
  rewrite EJ, EK, minus_IZR, !minus_IZR, EL, EU. ring.
- replace m with 0%Z by (unfold m; now rewrite S). rewrite Rmult_0_l.
  destruct (exact_bounds L U D LU dp a b EL EU) as [-> ->]. rewrite magnitudeZ_R, EL, EU. unfold magnitude.
  rewrite !Rabs_mult, (Rabs_pos_eq D) by lra. rewrite <- RmaxRmult by lra. f_equal; ring.
Qed.

(** Doubles. *)
Lemma choice_holds :
  m = 0%Z /\ magnitude L U < bpow radix2 51 * D
  \/ 0 < L /\ m = Zfloor (L / D) /\ U - L < bpow radix2 51 * D
  \/ U < 0 /\ m = Zceil (U / D) /\ U - L < bpow radix2 51 * D.
Proof.
generalize ideal_in_steps. unfold ideal, m. destruct sized; [|now left].
destruct Rlt_dec as [h|h]; [right; left; auto|]. destruct Rlt_dec as [h'|h']; [right; right; auto|].
left; split; auto. apply Rle_lt_trans with (U - L); auto. unfold magnitude. rewrite Rabs_left1, Rabs_pos_eq by lra.
apply Rmax_lub; lra.
Qed.

Lemma mag_range e : ideal < bpow radix2 e -> (mag radix2 ideal <= e)%Z.
Proof. intros H. apply mag_le_bpow; [lra|]. now rewrite Rabs_pos_eq by lra. Qed.

(** If the bounds are in the range of doubles, the step is one that doubles can scale by. *)
Lemma steps_of_doubles :
  Rabs L < bpow radix2 1024 -> Rabs U < bpow radix2 1024 -> (eta <= 0)%Z
  -> (g <= 1022)%Z /\ ((g <= 973)%Z \/ m = 0%Z).
Proof.
intros L_range U_range eta_neg. apply Rabs_lt_inv in L_range, U_range.
assert (B : bpow radix2 1025 = 2 * bpow radix2 1024) by (change 1025%Z with (1 + 1024)%Z; now rewrite bpow_plus). split.
- assert (mag radix2 ideal <= 1025)%Z; [|unfold g; lia]. apply mag_range. unfold ideal. destruct sized; [lra|].
  unfold magnitude. apply Rmax_lub_lt; apply Rabs_lt; lra.
- destruct (Z.eq_dec m 0) as [N|N]; [now right|left].
  assert (mag radix2 ideal <= 1024)%Z; [|unfold g; lia]. apply mag_range. unfold m, ideal in *.
  destruct sized; [|easy].
  destruct Rlt_dec; [lra|]. destruct Rlt_dec; [lra|easy].
Qed.

Hypothesis g_range : (-1074 <= g <= 1022)%Z.
Hypothesis far_offset : (g <= 973)%Z \/ m = 0%Z.

Definition e1 := Z.min (- g) 1000.
Definition e2 := (- g - e1)%Z.

Lemma exponents :
  (-1074 <= g)%Z
  /\ (e1 + e2 = - g)%Z
  /\ (e2 = 0%Z \/ (0 <= e1 /\ 0 <= e2)%Z)
  /\ (-1022 <= e1 <= 1023)%Z
  /\ (0 <= e2 <= 1023)%Z
  /\ ((-973 <= e1)%Z \/ m = 0%Z).
Proof. unfold e2, e1. destruct far_offset; repeat split; lia. Qed.

(** The constants of `as_doubles`. *)
Variables (shift : Z) (base scale more low64 high64 : binary64).
Notation first_double := (GridKernel.base 53 (-1074) g m).
Hypothesis shift_ok : first_double = offset + IZR shift * D.
Hypothesis base_ok : fin base = true /\ B2R64 base = first_double.
Hypothesis scale_ok : fin scale = true /\ B2R64 scale = bpow radix2 e1.
Hypothesis more_ok : fin more = true /\ B2R64 more = bpow radix2 e2.
Hypothesis low_ok : fin low64 = true /\ B2R64 low64 = anchor 53 + IZR (J - shift).
Hypothesis high_ok : fin high64 = true /\ B2R64 high64 = anchor 53 + IZR (K - shift).

(** What `as_doubles` asks: more than one integer, none beyond 2^51. *)
Hypothesis several : (J < K)%Z.
Hypothesis within_reach : (Z.abs (J - shift) <= 2 ^ 51)%Z /\ (Z.abs (K - shift) <= 2 ^ 51)%Z.

Lemma some : (low0 L D offset <= high0 U D offset)%Z.
Proof. revert several. unfold low, high. destruct Z_le_gt_dec; lia. Qed.

(** q of a bit pattern: NaN counts as 0, infinities clamp. *)
Definition q64 (x : binary64) :=
  match x with
  | Binary.B754_nan _ _ _ _ _ => Grid.q L U D offset 0
  | Binary.B754_infinity _ _ s => if s then J else K
  | _ => Grid.q L U D offset (B2R64 x)
  end.

Lemma plain_if : same base zero = true -> same more one = true -> m = 0%Z /\ e2 = 0%Z.
Proof.
assert (S : forall x y, fin x = true -> fin y = true -> same x y = true -> B2R64 x = B2R64 y).
{ intros x y Fx Fy. unfold same, b64_compare. rewrite (Binary.Bcompare_correct 53 1024) by auto.
  case Rcompare_spec; intros; auto; discriminate. }
intros B M. destruct base_ok as [Fb Eb], more_ok as [Fm Em]. split.
- apply (S base zero Fb eq_refl) in B. simpl in B. rewrite Eb in B. apply eq_IZR.
  apply Rmult_eq_reg_r with D; [|generalize D_positive; lra].
  rewrite Rmult_0_l. unfold GridKernel.base in B. destruct Rle_dec as [h|h].
  + assert (offset <= round radix2 (FLT_exp (-1074) 53) Zceil offset)
      by (apply round_UP_pt; auto with typeclass_instances).
    lra.
  + assert (round radix2 (FLT_exp (-1074) 53) Zfloor offset <= offset)
      by (apply round_DN_pt; auto with typeclass_instances).
    lra.
- apply (S more one Fm eq_refl) in M. rewrite Em in M.
  replace (B2R64 one) with (bpow radix2 0) in M; [now apply bpow_inj in M|].
  unfold one. vm_compute b64_of_bits. unfold Binary.B2R, F2R. simpl. lra.
Qed.

Theorem the_kernel_is_exact x : (block64 base scale more low64 high64 (J - shift) (K - shift) x + shift = q64 x)%Z.
Proof.
destruct exponents as (X1 & X2 & X3 & X4 & X5 & X6).
assert (R : (-1022 <= e1 <= 1023)%Z /\ (0 <= e2 <= 1023)%Z /\ ((-973 <= e1)%Z \/ m = 0%Z)) by auto.
unfold block64. destruct (negb (same base zero) || negb (same more one)) eqn:P.
- destruct x as [s|s|s pl Hpl|s mx ex Hx]; cbn [q64].
  + now apply (kernel64_exact L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some).
  + now apply (kernel64_infinite L U g e1 e2 m shift base scale more low64 high64).
  + now apply (kernel64_nan L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some).
  + now apply (kernel64_exact L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some).
- apply orb_false_elim in P as [P1 P2]. apply negb_false_iff in P1, P2. destruct (plain_if P1 P2) as [M0 E0].
  assert (S0 : shift = 0%Z) by now apply (plain_shift g m shift shift_ok).
  assert (A : forall how, match how with Low => (0 <= J)%Z | High => (K <= 0)%Z | Zero => True end ->
    (anchored64 how true base scale more low64 high64 x + shift = q64 x)%Z).
  { intros how H. destruct x as [s|s|s pl Hpl|s mx ex Hx]; cbn [q64].
    - now apply (plain64_exact L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some).
    - now apply (plain64_infinite L U g e1 m shift base scale more low64 high64).
    - now apply (plain64_nan L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some).
    - now apply (plain64_exact L U g e1 e2 m shift base scale more low64 high64 LU X1 X2 X3 choice_holds some). }
  rewrite S0, !Z.sub_0_r in *. destruct (Z.leb_spec 0 J); [now apply (A Low)|].
  destruct (Z.leb_spec K 0); [now apply (A High)|now apply (A Zero)].
Qed.
End Choice.

(** Where J = K, `as_doubles` gives the constants base 0, scales 1 and bounds 0:
    every record, NaN too, comes out as 0. *)
Theorem one_integer_is_exact x : block64 zero one one anchor64 anchor64 0 0 x = 0%Z.
Proof.
assert (S : forall y, less anchor64 y = true -> less y anchor64 = false).
{ intros y. unfold less, b64_compare. rewrite (Binary.Bcompare_swap 53 1024 anchor64 y).
  destruct (Binary.Bcompare 53 1024 anchor64 y) as [[]|]; simpl; intros H; try reflexivity; discriminate H. }
change (block64 zero one one anchor64 anchor64 0 0 x) with
  (bits_of_b64 (clamp64 anchor64 anchor64 (add (mul x one) anchor64)) - bits_of_b64 anchor64)%Z.
unfold clamp64. set (y := add (mul x one) anchor64). destruct (less anchor64 y) eqn:E.
- rewrite (S y E). apply Z.sub_diag.
- destruct (less anchor64 anchor64); apply Z.sub_diag.
Qed.

(** Lanes: patterns added modulo 2^64, the anchors taken off at the end. 2^11
    integers of at most 2^51 stay below 2^63. *)
Open Scope Z_scope.

Theorem lanes_lose_nothing (integers : list Z) (a : Z) :
  Z.abs (sumZ integers) < 2 ^ 63 -> lane64 (map (fun q => a + q) integers) a = sumZ integers.
Proof.
intros H. unfold lane64. rewrite map_length.
assert (F : forall l s, fold_left (fun s b => (s + b) mod 2 ^ 64) (map (fun q => a + q) l) s mod 2 ^ 64
        = (s + Z.of_nat (length l) * a + sumZ l) mod 2 ^ 64).
{ induction l as [|q l IH]; intros s.
  - cbn [map fold_left length sumZ fold_right]. f_equal. change (Z.of_nat 0) with 0. lia.
  - cbn [map fold_left length]. rewrite IH. rewrite Nat2Z.inj_succ.
    change (sumZ (q :: l)) with (q + sumZ l). rewrite <- !Z.add_assoc, Z.add_mod_idemp_l by lia. f_equal. ring. }
set (n := Z.of_nat (length integers)) in *. set (s := fold_left _ _ _).
assert (E : (s - n * a mod 2 ^ 64) mod 2 ^ 64 = sumZ integers mod 2 ^ 64).
{ rewrite Zminus_mod, Zmod_mod. unfold s. rewrite F. fold n. rewrite <- Zminus_mod. f_equal. ring. }
rewrite E. destruct (Z_le_gt_dec 0 (sumZ integers)) as [h|h].
- rewrite Z.mod_small by lia. destruct (Z.ltb_spec (sumZ integers) (2 ^ 63)); lia.
- replace (sumZ integers mod 2 ^ 64) with (sumZ integers + 2 ^ 64).
  + destruct (Z.ltb_spec (sumZ integers + 2 ^ 64) (2 ^ 63)); lia.
  + rewrite <- (Z_mod_plus_full _ 1). rewrite Z.mod_small; lia.
Qed.

Theorem a_block_fits (integers : list Z) :
  (length integers <= 2 ^ 11)%nat -> Forall (fun q => Z.abs q <= 2 ^ 51) integers -> Z.abs (sumZ integers) < 2 ^ 63.
Proof.
intros H F. assert (B : Z.abs (sumZ integers) <= Z.of_nat (length integers) * 2 ^ 51).
{ clear H. induction integers as [|q l IH]; [simpl; lia|]. generalize (Forall_inv F) (IH (Forall_inv_tail F)).
  change (sumZ (q :: l)) with (q + sumZ l). cbn [length]. rewrite Nat2Z.inj_succ. lia. }
assert (Z.of_nat (length integers) <= 2 ^ 11) by (change (2 ^ 11)%nat with (Z.to_nat (2 ^ 11)) in H; lia). lia.
Qed.
