(** Attacks (docs/attacks.md): for every type, neighbours whose ordinary sums are further apart than the ideal.

    Overflow: one changed record, or one more, moves a modular sum by 2^w - 1. Saturation: a reordering moves a saturating sum
    by 2^w - 1. Reordering: a reordering moves a float sum by 2^(k+1-a-d) U. Rounding: one changed record moves a float sum by
    2^j (U - L), for every k and every 2 <= j with 2 j <= k + 1. *)
From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums Wide Modular Saturating Grid GridKernel Trees Iterated.
Import ListNotations.

(** Integers. *)
Section Integers.
Open Scope Z_scope.
Variables lo hi L U : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

Lemma sumZ_repeat x n : sumZ (repeat x n) = Z.of_nat n * x.
Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat sumZ fold_right]. fold (sumZ (repeat x n)). rewrite IH. lia. Qed.
Lemma all_repeat (P : Z -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H. apply Forall_forall. intros y Hy. apply repeat_spec in Hy. now subst. Qed.

(** Fill the type to its greatest value, then add 0, or 1. *)
Definition filled := repeat U (Z.to_nat (hi / U)) ++ [hi mod U].
Lemma filled_sum : 1 <= U -> sumZ filled = hi.
Proof.
intros HU. unfold filled. rewrite sumZ_app, sumZ_repeat. assert (D := Z.div_mod hi U ltac:(lia)). assert (0 <= hi / U) by (apply Z.div_pos; lia).
rewrite Z2Nat.id by auto. simpl. lia.
Qed.
Lemma filled_bounds : 1 <= U -> L <= 0 -> in_bounds L U filled.
Proof.
intros HU HL. unfold filled. apply Forall_app. split; [apply all_repeat; lia|]. constructor; [|constructor]. generalize (Z.mod_pos_bound hi U ltac:(lia)). lia.
Qed.
Theorem overflow_attack : L <= 0 -> 1 <= U ->
  exists u v w, in_bounds L U u /\ in_bounds L U v /\ in_bounds L U w /\ hamming u v /\ insert_delete w v /\
    modular lo hi u - modular lo hi v = hi - lo /\ modular lo hi w - modular lo hi v = hi - lo.
Proof.
intros HL HU. assert (B := filled_bounds HU HL). assert (S := filled_sum HU).
assert (E : modular lo hi (filled ++ [0]) = hi /\ modular lo hi (filled ++ [1]) = lo /\ modular lo hi filled = hi).
{ rewrite !modular_wraps_once, !sumZ_app, S by auto. simpl. unfold wrap. rewrite Z.add_0_r.
  replace (hi + 1 - lo) with (0 + 1 * N lo hi) by (unfold N; ring). rewrite Z_mod_plus_full, (Z.mod_small 0), (Z.mod_small (hi - lo)) by (unfold N; lia). lia. }
destruct E as (E0 & E1 & E2). exists (filled ++ [0]), (filled ++ [1]), filled. rewrite E0, E1, E2.
repeat split; try lia; try (apply Forall_app; split; [exact B|constructor; [lia|constructor]]); auto.
- apply ham_change.
- rewrite <- (app_nil_r filled) at 1. apply id_insert.
Qed.

(** All L first and then all U, or the other way round. *)
Lemma saturating_climbs s n : lo <= s <= hi -> 0 <= U -> saturating_from lo hi s (repeat U n) = Z.min hi (s + Z.of_nat n * U).
Proof.
revert s; induction n as [|n IH]; intros s Hs HU; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *. cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.
Lemma saturating_falls s n : lo <= s <= hi -> L <= 0 -> saturating_from lo hi s (repeat L n) = Z.max lo (s + Z.of_nat n * L).
Proof.
revert s; induction n as [|n IH]; intros s Hs HL; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *. cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.
Theorem saturation_reordering b c : L < 0 < U -> hi - lo <= Z.of_nat b * - L -> hi - lo <= Z.of_nat c * U ->
  Permutation (repeat L b ++ repeat U c) (repeat U c ++ repeat L b) /\
  saturating lo hi (repeat L b ++ repeat U c) - saturating lo hi (repeat U c ++ repeat L b) = hi - lo.
Proof.
intros [HL HU] Hb Hc. split; [apply Permutation_app_comm|].
assert (A : forall s l m, saturating_from lo hi s (l ++ m) = saturating_from lo hi (saturating_from lo hi s l) m) by (intros; apply fold_left_app).
unfold saturating. rewrite !A, (saturating_falls 0), (saturating_climbs 0) by lia. rewrite saturating_climbs, saturating_falls by lia. lia.
Qed.
End Integers.
Open Scope R_scope.

(** Floats: with L = 2^j, U = 2^(j+d), b = 2^(k+1-a) copies of L and c = 2^(k+1-d) of U. U first swallows every L. *)
Section Reordering.
Variables k emin j a d : Z.
Hypothesis k_pos : (2 <= k)%Z.
Hypothesis a_pos : (0 <= a)%Z.
Hypothesis d_pos : (1 <= d)%Z.
Hypothesis a_d : (a + d <= k + 1)%Z.
Hypothesis j_emin : (emin <= j)%Z.
Local Instance precision : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.
Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_fl := (iterated (k + 1) emin (fun x => negb (Z.even x))).
Notation L := (bpow radix2 j).
Notation U := (bpow radix2 (j + d)).
Notation b := (Z.to_nat (2 ^ (k + 1 - a))).
Notation c := (Z.to_nat (2 ^ (k + 1 - d))).

Lemma pow_real e : (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.
(** Additions that stay on multiples of a step, at most 2^(k+1) of them, are exact. *)
Lemma exact_run m e i : (emin <= e)%Z -> (0 <= m)%Z -> (m + Z.of_nat i <= 2 ^ (k + 1))%Z ->
  fold_left (fun s x => fl (s + x)) (repeat (bpow radix2 e) i) (IZR m * bpow radix2 e) = IZR (m + Z.of_nat i) * bpow radix2 e.
Proof.
intros He Hm. revert m Hm; induction i as [|i IH]; intros m Hm H; [now rewrite Z.add_0_r|]. cbn [repeat fold_left].
replace (IZR m * bpow radix2 e + bpow radix2 e) with (IZR (m + 1) * bpow radix2 e) by (rewrite plus_IZR; ring).
rewrite round_generic; auto with typeclass_instances; [|apply multiple_format; lia].
rewrite IH by lia. do 2 f_equal. lia.
Qed.
(** Half a unit in the last place is rounded away. *)
Lemma swallowed i : fold_left (fun s x => fl (s + x)) (repeat L i) (bpow radix2 (j + k + 1)) = bpow radix2 (j + k + 1).
Proof.
induction i as [|i IH]; [reflexivity|]. cbn [repeat fold_left].
assert (E : fl (bpow radix2 (j + k + 1) + L) = bpow radix2 (j + k + 1)); [|now rewrite E].
replace (bpow radix2 (j + k + 1) + L) with ((bpow radix2 k + / 2) * bpow radix2 (j + 1)).
- unfold round, scaled_mantissa.
  assert (P : 4 <= bpow radix2 k) by (change 4 with (bpow radix2 2); apply bpow_le; lia).
  assert (C : cexp radix2 (FLT_exp emin (k + 1)) ((bpow radix2 k + / 2) * bpow radix2 (j + 1)) = (j + 1)%Z).
  { unfold cexp. rewrite mag_mult_bpow by lra. rewrite (mag_unique radix2 _ (k + 1)); [unfold FLT_exp; lia|].
    rewrite Rabs_pos_eq by lra. replace (k + 1 - 1)%Z with k by ring. rewrite bpow_plus. change (bpow radix2 1) with 2. lra. }
  rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). rewrite Rmult_1_r.
  replace (bpow radix2 k) with (IZR (2 * 2 ^ (k - 1))).
  + rewrite nearest_plus_even. replace (ZnearestE (/ 2)) with 0%Z.
    * unfold F2R; cbn [Fnum Fexp]. rewrite Z.add_0_r. rewrite mult_IZR, pow_real by lia. change (IZR 2) with (bpow radix2 1). rewrite <- !bpow_plus. f_equal. ring.
    * unfold Znearest. rewrite (Zfloor_imp 0) by (simpl; lra). rewrite Rminus_0_r, Rcompare_Eq by reflexivity. reflexivity.
  + rewrite mult_IZR, pow_real by lia. change (IZR 2) with (bpow radix2 1). rewrite <- bpow_plus. f_equal. ring.
- rewrite Rmult_plus_distr_r, <- bpow_plus. replace (k + (j + 1))%Z with (j + k + 1)%Z by ring. f_equal.
  rewrite (bpow_plus radix2 j 1). change (bpow radix2 1) with 2. field.
Qed.
Theorem float_reordering :
  Permutation (repeat L b ++ repeat U c) (repeat U c ++ repeat L b) /\ format L /\ format U /\
  sum_fl (repeat L b ++ repeat U c) - sum_fl (repeat U c ++ repeat L b) = bpow radix2 (k + 1 - a - d) * U.
Proof.
split; [apply Permutation_app_comm|]. assert (FL : format L) by (apply generic_format_FLT_bpow; auto with typeclass_instances).
assert (FU : format U) by (apply generic_format_FLT_bpow; auto with typeclass_instances; lia). repeat split; auto.
assert (pb : (0 < 2 ^ (k + 1 - a))%Z) by (apply Z.pow_pos_nonneg; lia). assert (pc : (0 < 2 ^ (k + 1 - d))%Z) by (apply Z.pow_pos_nonneg; lia).
unfold iterated. rewrite !fold_left_app.
assert (R1 : fold_left (fun s x => fl (s + x)) (repeat L b) 0 = IZR (2 ^ (k + 1 - a)) * L).
{ replace 0 with (IZR 0 * L) at 1 by (simpl; ring). rewrite exact_run; try lia.
  - rewrite Z2Nat.id by lia. reflexivity.
  - rewrite Z2Nat.id by lia. rewrite Z.add_0_l. apply Z.pow_le_mono_r; lia. }
assert (R2 : fold_left (fun s x => fl (s + x)) (repeat U c) 0 = bpow radix2 (j + k + 1)).
{ replace 0 with (IZR 0 * U) at 1 by (simpl; ring). rewrite exact_run; try lia.
  - rewrite Z2Nat.id by lia. rewrite Z.add_0_l, pow_real, <- bpow_plus by lia. f_equal. ring.
  - rewrite Z2Nat.id by lia. rewrite Z.add_0_l. apply Z.pow_le_mono_r; lia. }
rewrite R1, R2, swallowed.
replace (IZR (2 ^ (k + 1 - a)) * L) with (IZR (2 ^ (k + 1 - a - d)) * U) by (rewrite !pow_real, <- !bpow_plus by lia; f_equal; ring).
assert (T : (2 ^ (k + 1 - a - d) + 2 ^ (k + 1 - d) <= 2 ^ (k + 1))%Z).
{ replace (k + 1)%Z with (k + 1 - 1 + 1)%Z at 3 by ring. rewrite (Z.pow_add_r 2 (k + 1 - 1) 1) by lia.
  assert (2 ^ (k + 1 - a - d) <= 2 ^ (k + 1 - 1))%Z by (apply Z.pow_le_mono_r; lia).
  assert (2 ^ (k + 1 - d) <= 2 ^ (k + 1 - 1))%Z by (apply Z.pow_le_mono_r; lia). lia. }
rewrite exact_run; try lia.
- rewrite Z2Nat.id by lia. rewrite plus_IZR, Rmult_plus_distr_r, !pow_real, <- !bpow_plus by lia.
  replace (k + 1 - d + (j + d))%Z with (j + k + 1)%Z by ring. ring.
Qed.
End Reordering.

Section Rounding.
Variables k j m emin : Z.
Hypothesis j_2 : (2 <= j)%Z.
Hypothesis j_k : (2 * j <= k + 1)%Z.
Hypothesis small : (emin <= m - k)%Z.
Hypothesis p_bits : (3 <= k + 1)%Z.
Local Instance pos : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.
Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_fl := (iterated (k + 1) emin (fun x => negb (Z.even x))).

Definition L := IZR (2 ^ (k + 1 - j) + 1) * bpow radix2 (m + j - k - 1).
Definition U := L + bpow radix2 (m - k).
Definition n := Z.to_nat (2 ^ j).

Lemma pow_IZR e : (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.
Lemma L_eq : L = bpow radix2 m + bpow radix2 (m + j - k - 1).
Proof. unfold L. rewrite plus_IZR, pow_IZR by lia. rewrite Rmult_plus_distr_r, <- bpow_plus, Rmult_1_l. do 2 f_equal; lia. Qed.

Lemma copies i : (i <= n)%nat -> format (INR i * L).
Proof.
intros Hi. assert (Hz : (Z.of_nat i <= 2 ^ j)%Z) by (unfold n in Hi; lia).
rewrite INR_IZR_INZ. set (z := Z.of_nat i) in *. assert (0 <= z)%Z by lia.
assert (A : (2 ^ j <= 2 ^ (k + 1 - j))%Z) by (apply Z.pow_le_mono_r; lia).
assert (B : (2 ^ (k + 1) = 2 ^ j * 2 ^ (k + 1 - j))%Z) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
destruct (Z.eq_dec z (2 ^ j)) as [->|ne].
- unfold L. rewrite pow_IZR by lia. rewrite (Rmult_comm (bpow radix2 j)), Rmult_assoc, <- bpow_plus.
  apply multiple_format; try lia. assert (2 <= 2 ^ j)%Z by (change 2%Z with (2 ^ 1)%Z at 1; apply Z.pow_le_mono_r; lia). nia.
- unfold L. rewrite <- Rmult_assoc, <- mult_IZR. apply multiple_format; try lia. nia.
Qed.

Lemma run i : (i <= n)%nat -> fold_left (fun s x => fl (s + x)) (repeat L i) 0 = INR i * L.
Proof.
induction i as [|i IH]; intros H; [simpl; ring|].
change (repeat L (S i)) with (repeat L (1 + i)). rewrite Nat.add_comm, repeat_app, fold_left_app, IH by lia. cbn [repeat fold_left].
replace (INR i * L + L) with (INR (S i) * L) by (rewrite S_INR; ring).
apply round_generic; auto with typeclass_instances. now apply copies.
Qed.

Definition top := (2 ^ k + 2 ^ (k - j) + 2 ^ (j - 1))%Z.


(** What the last addition adds: half a unit in the last place for L, a little more for U. *)
Lemma step d : 0 < d < 1 -> fl (INR n * L + (bpow radix2 m + d * bpow radix2 (m + j - k))) =
  IZR (top + ZnearestE d) * bpow radix2 (m + j - k).
Proof.
intros Hd. assert (E : INR n * L + (bpow radix2 m + d * bpow radix2 (m + j - k)) = (IZR top + d) * bpow radix2 (m + j - k)).
{ unfold top. rewrite !plus_IZR, !pow_IZR by lia. rewrite L_eq, INR_IZR_INZ. unfold n. rewrite Z2Nat.id by (apply Z.pow_nonneg; lia).
  rewrite pow_IZR by lia. rewrite !Rmult_plus_distr_l, !Rmult_plus_distr_r, <- !bpow_plus.
  replace (j + m)%Z with (k + (m + j - k))%Z by ring. replace (j + (m + j - k - 1))%Z with (j - 1 + (m + j - k))%Z by ring.
  replace (k - j + (m + j - k))%Z with m by ring. ring. }
assert (Eo : (top = 2 * (2 ^ (k - 1) + 2 ^ (k - j - 1) + 2 ^ (j - 2)))%Z).
{ unfold top. replace k with (1 + (k - 1))%Z at 1 by ring. replace (k - j)%Z with (1 + (k - j - 1))%Z at 1 by ring.
  replace (j - 1)%Z with (1 + (j - 2))%Z at 1 by ring. rewrite !Z.pow_add_r by lia. ring. }
assert (T : (2 ^ k <= top)%Z) by (unfold top; generalize (Z.pow_nonneg 2 (k - j)) (Z.pow_nonneg 2 (j - 1)); lia).
assert (T2 : (top + 1 <= 2 ^ (k + 1))%Z).
{ unfold top. replace (2 ^ (k + 1))%Z with (2 * 2 ^ k)%Z by (rewrite Z.pow_add_r by lia; ring).
  replace (2 ^ k)%Z with (4 * 2 ^ (k - 2))%Z by (replace k with (2 + (k - 2))%Z at 2 by ring; rewrite Z.pow_add_r by lia; ring).
  assert (2 ^ (k - j) <= 2 ^ (k - 2))%Z by (apply Z.pow_le_mono_r; lia).
  assert (2 ^ (j - 1) <= 2 ^ (k - 2))%Z by (apply Z.pow_le_mono_r; lia).
  assert (1 <= 2 ^ (k - 2))%Z by (apply (Z.pow_le_mono_r 2 0); lia). lia. }
rewrite E. unfold round, scaled_mantissa.
assert (C : cexp radix2 (FLT_exp emin (k + 1)) ((IZR top + d) * bpow radix2 (m + j - k)) = (m + j - k)%Z).
{ unfold cexp. rewrite mag_mult_bpow.
  2:{ apply Rgt_not_eq. apply Rplus_le_lt_0_compat; [|lra]. apply IZR_le. generalize (Z.pow_nonneg 2 k); lia. }
  rewrite (mag_unique radix2 _ (k + 1)); [unfold FLT_exp; lia|].
  apply IZR_le in T, T2. rewrite pow_IZR in T, T2 by lia. rewrite plus_IZR in T2.
  generalize (bpow_gt_0 radix2 k); intros. rewrite Rabs_pos_eq by lra. replace (k + 1 - 1)%Z with k by ring. lra. }
rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). rewrite Rmult_1_r.
unfold F2R; simpl. rewrite Eo, nearest_plus_even. reflexivity.
Qed.

Lemma nearest_half : ZnearestE (/ 2) = 0%Z.
Proof.
unfold Znearest. rewrite (Zfloor_imp 0) by (simpl; lra). rewrite Rminus_0_r, Rcompare_Eq by reflexivity. reflexivity.
Qed.

Theorem rounding_attack : exists d d', hamming d d' /\ Forall (fun x => format x) d /\ Forall (fun x => format x) d' /\
  Forall (within L U) d /\ Forall (within L U) d' /\ Rabs (sum_fl d - sum_fl d') = bpow radix2 j * (U - L).
Proof.
assert (P : 0 < bpow radix2 (m - k)) by apply bpow_gt_0.
assert (FL : format L) by (rewrite <- (Rmult_1_l L); apply (copies 1); unfold n; assert (1 <= 2 ^ j)%Z by (apply (Z.pow_le_mono_r 2 0); lia); lia).
assert (FU : format U).
{ unfold U, L. replace (m + j - k - 1)%Z with (j - 1 + (m - k))%Z by ring. rewrite bpow_plus, <- pow_IZR by lia.
  rewrite <- Rmult_assoc, <- mult_IZR.
  replace (IZR ((2 ^ (k + 1 - j) + 1) * 2 ^ (j - 1)) * bpow radix2 (m - k) + bpow radix2 (m - k)) with
    (IZR ((2 ^ (k + 1 - j) + 1) * 2 ^ (j - 1) + 1) * bpow radix2 (m - k)) by (rewrite plus_IZR; ring).
  apply multiple_format; auto. rewrite Z.mul_add_distr_r, <- Z.pow_add_r by lia.
  replace (k + 1 - j + (j - 1))%Z with k by ring. rewrite (Z.pow_add_r 2 k 1) by lia.
  assert (2 ^ (j - 1) < 2 ^ k)%Z by (apply Z.pow_lt_mono_r; lia). generalize (Z.pow_nonneg 2 (j - 1)); lia. }
exists (repeat L n ++ [U]), (repeat L n ++ [L]).
assert (R : forall (Q : R -> Prop) x, Q L -> Q x -> Forall Q (repeat L n ++ [x])).
{ intros Q x QL Qx. apply Forall_app; split; [|now constructor]. apply Forall_forall. intros y Hy.
  apply repeat_spec in Hy. now subst. }
split; [constructor|].
repeat split; try (apply R; auto; unfold within, U; lra).
unfold iterated. rewrite !fold_left_app, run by auto. cbn [fold_left].
assert (L2 : L = bpow radix2 m + / 2 * bpow radix2 (m + j - k)).
{ rewrite L_eq. f_equal. replace (bpow radix2 (m + j - k)) with (bpow radix2 (1 + (m + j - k - 1))) by (f_equal; ring). rewrite (bpow_plus radix2 1). change (bpow radix2 1) with 2. field. }
assert (U2 : U = bpow radix2 m + (/ 2 + bpow radix2 (- j)) * bpow radix2 (m + j - k)).
{ unfold U. rewrite L2, Rmult_plus_distr_r, <- bpow_plus. replace (- j + (m + j - k))%Z with (m - k)%Z by ring. ring. }
assert (B : bpow radix2 (- j) <= / 4) by (change (/ 4) with (bpow radix2 (-2)); apply bpow_le; lia).
assert (B0 : 0 < bpow radix2 (- j)) by apply bpow_gt_0.
assert (SL : fl (INR n * L + L) = IZR (top + 0) * bpow radix2 (m + j - k)).
{ generalize (step (/ 2)). rewrite nearest_half, <- L2. intros S; apply S; lra. }
assert (SU : fl (INR n * L + U) = IZR (top + 1) * bpow radix2 (m + j - k)).
{ assert (N : ZnearestE (/ 2 + bpow radix2 (- j)) = 1%Z) by (apply Znearest_imp; apply Rabs_lt; lra).
  generalize (step (/ 2 + bpow radix2 (- j))). rewrite N, <- U2. intros S; apply S; lra. }
rewrite SL, SU, !plus_IZR. replace ((IZR top + 1) * bpow radix2 (m + j - k) - (IZR top + 0) * bpow radix2 (m + j - k)) with (bpow radix2 (m + j - k)) by ring.
rewrite Rabs_pos_eq by apply bpow_ge_0. unfold U. replace (L + bpow radix2 (m - k) - L) with (bpow radix2 (m - k)) by ring.
rewrite <- bpow_plus. f_equal. ring.
Qed.

(** So no bound below 2^j (U - L) holds: in particular not the ideal one. *)
Corollary not_ideal : exists d d', hamming d d' /\ Forall (within L U) d /\ Forall (within L U) d' /\
  U - L < Rabs (sum_fl d - sum_fl d').
Proof.
destruct rounding_attack as (d & d' & H & _ & _ & W & W' & E). exists d, d'. rewrite E.
repeat split; auto. assert (0 < U - L) by (unfold U; generalize (bpow_gt_0 radix2 (m - k)); lra).
assert (4 <= bpow radix2 j) by (change 4 with (bpow radix2 2); apply bpow_le; lia). nra.
Qed.
End Rounding.
