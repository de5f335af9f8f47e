(** The code's conversion of zCDP to (epsilon, delta) (src/soundsum/privacy/zcdp.py), in rationals: its bounds of logarithms,
    by the series of atanh with its remainder, and its rho. Executable; tests/proofs/test_zcdp.py compares them.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Qround Qminmax Reals Lra Lia Psatz Bool.
From Flocq Require Import Core.
From Soundsum Require Import Bounds Rationals Renyi GaussianReleases Deltas.
Import ListNotations.

(** * As the code computes them *)
Open Scope Q_scope.
Definition terms := 40%nat.
Definition grain : Q := pow2 (-128).

Fixpoint power (z : Q) (n : nat) : Q := match n with O => 1 | S n => z * power z n end.

Fixpoint series (n : nat) (z : Q) : Q :=
  match n with O => 0 | S n => Qred (series n z + power z (2 * n + 1) / inject_Z (2 * Z.of_nat n + 1)) end.

Definition atanh_below (z : Q) : Q := series terms z.
Definition atanh_above (z : Q) : Q :=
  Qred (series terms z + power z (2 * terms + 1) / (inject_Z (2 * Z.of_nat terms + 1) * (1 - z * z))).

Definition log_bounds (x : Q) : Q * Q :=
  let e := floor_log2 x in
  let m := x / pow2 e in
  let z := inject_Z (Qfloor ((m - 1) / (m + 1) / grain)) * grain in
  let low := atanh_below (1 # 3) in
  let high := atanh_above (1 # 3) in
  let top := Qmin (z + grain) (1 # 3) in
  if (0 <=? e)%Z then (2 * (inject_Z e * low + atanh_below z), 2 * (inject_Z e * high + atanh_above top))
  else (2 * (inject_Z e * high + atanh_below z), 2 * (inject_Z e * low + atanh_above top)).

Definition code_log_term (alpha delta : Q) : Q :=
  (fst (log_bounds delta) + fst (log_bounds (alpha - 1)) + alpha * fst (log_bounds (alpha / (alpha - 1)))) / (alpha - 1).

(** Before it is rounded down. Where this is not above 0, the code uses Bun and Steinke's formula. *)
Definition code_rho (alpha epsilon delta : Q) : Q := Qred ((epsilon + code_log_term alpha delta) / alpha).
Definition code_other_rho (epsilon delta : Q) : Q := Qred (epsilon * epsilon / (4 * (epsilon - fst (log_bounds delta)))).

(** `_round`: to 64 bits, of a number above 0. *)
Definition unit_of_64_bits (x : Q) : Q := pow2 (floor_log2 x - 63).
Definition rounded_down (x : Q) : Q := Qred (inject_Z (Qfloor (x / unit_of_64_bits x)) * unit_of_64_bits x).
Definition rounded_up (x : Q) : Q := Qred (inject_Z (Qceiling (x / unit_of_64_bits x)) * unit_of_64_bits x).

(** `zcdp_rho` and `zcdp_epsilon`, for the alpha that is guessed. *)
Definition code_zcdp_rho (alpha epsilon delta : Q) : Q :=
  let rho := code_rho alpha epsilon delta in rounded_down (if Qle_bool rho 0 then code_other_rho epsilon delta else rho).
Definition code_zcdp_epsilon (alpha rho delta : Q) : Q :=
  let epsilon := alpha * rho - code_log_term alpha delta in if Qle_bool epsilon 0 then 0 else rounded_up epsilon.

(** * The series *)
Open Scope R_scope.
Fixpoint real_series (n : nat) (z : R) : R :=
  match n with O => 0 | S n => real_series n z + z ^ (2 * n + 1) / INR (2 * n + 1) end.

Definition atanh2 (z : R) : R := ln (1 + z) - ln (1 - z). (* twice atanh *)

Definition rest (n : nat) (z : R) : R := z ^ (2 * n + 1) / (INR (2 * n + 1) * (1 - z * z)).

Fixpoint squares_sum (n : nat) (z : R) : R := match n with O => 0 | S n => squares_sum n z + z ^ (2 * n) end.

Lemma squares_sum_is n z : (1 - z * z) * squares_sum n z = 1 - z ^ (2 * n).
Proof.
induction n as [|n IH]; [simpl; ring|]. cbn [squares_sum]. rewrite Rmult_plus_distr_l, IH.
replace (2 * S n)%nat with (2 * n + 2)%nat by lia. rewrite pow_add. simpl. ring.
Qed.

Lemma series_derivative n z : derivable_pt_lim (real_series n) z (squares_sum n z).
Proof.
induction n as [|n IH]; cbn [real_series squares_sum]; [apply derivable_pt_lim_const|].
apply (derivable_pt_lim_plus (real_series n) (fun x : R => pow x (2 * n + 1)%nat / INR (2 * n + 1)%nat)); [exact IH|].
assert (N : INR (2 * n + 1) <> 0) by (apply not_0_INR; lia).
assert (D := derivable_pt_lim_scal (fun x : R => pow x (2 * n + 1)%nat) (/ INR (2 * n + 1)) z _ (derivable_pt_lim_pow z (2 * n + 1))).
replace (Init.Nat.pred (2 * n + 1)%nat) with (2 * n)%nat in D by lia.
replace (/ INR (2 * n + 1) * (INR (2 * n + 1) * z ^ (2 * n))) with (z ^ (2 * n)) in D by (field; exact N).
intros eps E. destruct (D eps E) as [d H]. exists d. intros h h0 hd. specialize (H h h0 hd). unfold mult_real_fct in H.
unfold Rdiv at 2 3. rewrite !(Rmult_comm _ (/ INR (2 * n + 1))). exact H.
Qed.

Lemma atanh2_derivative z : -1 < z < 1 -> derivable_pt_lim atanh2 z (2 / (1 - z * z)).
Proof.
intros H. replace (2 / (1 - z * z)) with (/ (1 + z) * 1 - / (1 - z) * -1) by (field; nra).
assert (A : derivable_pt_lim (fun x : R => 1 + x) z 1).
{ assert (D := derivable_pt_lim_plus (fun _ : R => 1) (fun x : R => x) z 0 1 (derivable_pt_lim_const 1 z) (derivable_pt_lim_id z)).
  rewrite Rplus_0_l in D. exact D. }
assert (B : derivable_pt_lim (fun x : R => 1 - x) z (-1)).
{ assert (D := derivable_pt_lim_minus (fun _ : R => 1) (fun x : R => x) z 0 1 (derivable_pt_lim_const 1 z) (derivable_pt_lim_id z)).
  replace (0 - 1) with (-1) in D by ring. exact D. }
apply (derivable_pt_lim_minus (fun x : R => ln (1 + x)) (fun x : R => ln (1 - x))).
- apply (derivable_pt_lim_comp (fun x : R => 1 + x) ln); [exact A|apply derivable_pt_lim_ln; lra].
- apply (derivable_pt_lim_comp (fun x : R => 1 - x) ln); [exact B|apply derivable_pt_lim_ln; lra].
Qed.

(** A function that starts at 0 and does not fall is not below 0. *)
Lemma does_not_fall f f' z :
  0 <= z -> f 0 = 0 -> (forall t, 0 <= t <= z -> derivable_pt_lim f t (f' t)) -> (forall t, 0 <= t <= z -> 0 <= f' t) -> 0 <= f z.
Proof.
intros [Z|<-] F D P; [|lra]. destruct (MVT_cor2 f f' 0 z Z D) as (c & E & C). rewrite F in E.
assert (0 <= f' c) by (apply P; lra). nra.
Qed.

Theorem series_below n z : 0 <= z < 1 -> 2 * real_series n z <= atanh2 z.
Proof.
intros H. enough (0 <= atanh2 z - 2 * real_series n z) by lra.
apply (does_not_fall (fun z => atanh2 z - 2 * real_series n z) (fun z => 2 / (1 - z * z) - 2 * squares_sum n z)); [lra| | |].
- unfold atanh2. rewrite Rplus_0_r, Rminus_0_r. assert (Z : real_series n 0 = 0).
  { clear. induction n as [|n IH]; [reflexivity|]. cbn [real_series]. rewrite IH, pow_i by lia. unfold Rdiv. ring. }
  rewrite Z. ring.
- intros t T. apply (derivable_pt_lim_minus atanh2 (fun z => 2 * real_series n z)); [apply atanh2_derivative; lra|].
  apply (derivable_pt_lim_scal (real_series n) 2). apply series_derivative.
- intros t T. assert (S := squares_sum_is n t). assert (0 < 1 - t * t) by nra.
  apply Rmult_le_reg_l with (1 - t * t); auto. rewrite Rmult_0_r.
  replace ((1 - t * t) * (2 / (1 - t * t) - 2 * squares_sum n t)) with (2 - 2 * ((1 - t * t) * squares_sum n t)) by (field; lra).
  rewrite S. assert (0 <= t ^ (2 * n)) by (apply pow_le; lra). lra.
Qed.

Theorem series_above n z : 0 <= z < 1 -> atanh2 z <= 2 * (real_series n z + rest n z).
Proof.
intros H. enough (0 <= 2 * (real_series n z + rest n z) - atanh2 z) by lra.
apply (does_not_fall (fun z => 2 * (real_series n z + rest n z) - atanh2 z)
  (fun z => 2 * (squares_sum n z + (z ^ (2 * n) / (1 - z * z) + z ^ (2 * n + 1) * (2 * z) / (INR (2 * n + 1) * (1 - z * z) ^ 2)))
    - 2 / (1 - z * z))); [lra| | |].
- unfold atanh2, rest. rewrite Rplus_0_r, Rminus_0_r. assert (Z : real_series n 0 = 0).
  { clear. induction n as [|n IH]; [reflexivity|]. cbn [real_series]. rewrite IH, pow_i by lia. unfold Rdiv. ring. }
  rewrite Z, pow_i by lia. unfold Rdiv. ring.
- intros t T. apply (derivable_pt_lim_minus (fun z => 2 * (real_series n z + rest n z)) atanh2); [|apply atanh2_derivative; lra].
  apply (derivable_pt_lim_scal (fun z => real_series n z + rest n z) 2).
  apply (derivable_pt_lim_plus (real_series n) (rest n)); [apply series_derivative|].
  assert (N : INR (2 * n + 1) <> 0) by (apply not_0_INR; lia). assert (Q : 1 - t * t <> 0) by nra.
  assert (D := derivable_pt_lim_div (fun x : R => pow x (2 * n + 1)%nat) (fun x : R => INR (2 * n + 1)%nat * (1 - x * x)) t
    (INR (2 * n + 1)%nat * pow t (Init.Nat.pred (2 * n + 1)%nat)) (INR (2 * n + 1)%nat * (0 - (1 * t + t * 1))) (derivable_pt_lim_pow t (2 * n + 1))).
  assert (E : derivable_pt_lim (fun x : R => INR (2 * n + 1)%nat * (1 - x * x)) t (INR (2 * n + 1)%nat * (0 - (1 * t + t * 1)))).
  { apply (derivable_pt_lim_scal (fun z => 1 - z * z)). apply (derivable_pt_lim_minus (fun _ => 1) (fun z => z * z)).
    - apply derivable_pt_lim_const.
    - apply (derivable_pt_lim_mult (fun z => z) (fun z => z)); apply derivable_pt_lim_id. }
  specialize (D E ltac:(now apply Rmult_integral_contrapositive_currified)).
  replace (Init.Nat.pred (2 * n + 1)%nat) with (2 * n)%nat in D by lia.
  replace (t ^ (2 * n) / (1 - t * t) + t ^ (2 * n + 1) * (2 * t) / (INR (2 * n + 1) * (1 - t * t) ^ 2))
    with ((INR (2 * n + 1) * t ^ (2 * n) * (INR (2 * n + 1) * (1 - t * t))
      - INR (2 * n + 1) * (0 - (1 * t + t * 1)) * t ^ (2 * n + 1)) / Rsqr (INR (2 * n + 1) * (1 - t * t)))
    by (unfold Rsqr; field; split; auto).
  exact D.
- intros t T. assert (S := squares_sum_is n t). assert (P : 0 < 1 - t * t) by nra.
  assert (N : 0 < INR (2 * n + 1)) by (apply lt_0_INR; lia).
  assert (K : 0 <= t ^ (2 * n + 1) * (2 * t) / (INR (2 * n + 1) * (1 - t * t) ^ 2)).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply pow_le; lra|lra]|]. apply Rlt_le, Rinv_0_lt_compat.
    apply Rmult_lt_0_compat; auto. now apply pow_lt. }
  set (k := t ^ (2 * n + 1) * (2 * t) / _) in *.
  assert (E : squares_sum n t = (1 - t ^ (2 * n)) / (1 - t * t)).
  { apply Rmult_eq_reg_l with (1 - t * t); [|lra]. rewrite S. field. lra. }
  rewrite E. replace (2 * ((1 - t ^ (2 * n)) / (1 - t * t) + (t ^ (2 * n) / (1 - t * t) + k)) - 2 / (1 - t * t)) with (2 * k)
    by (field; lra). lra.
Qed.

(** * The logarithm *)
Lemma power_is z n : Q2R (power z n) = Q2R z ^ n.
Proof. induction n as [|n IH]; cbn [power pow]; [apply RMicromega.Q2R_1|]. now rewrite Q2R_mult, IH. Qed.

Lemma odd_is n : Q2R (inject_Z (2 * Z.of_nat n + 1)) = INR (2 * n + 1).
Proof. rewrite Q2R_Z, INR_IZR_INZ. apply (f_equal IZR). rewrite Nat2Z.inj_add, Nat2Z.inj_mul. reflexivity. Qed.

Lemma odd_is_not_0 n : ~ (inject_Z (2 * Z.of_nat n + 1) == 0)%Q.
Proof. unfold Qeq, inject_Z. cbn [Qnum Qden]. lia. Qed.

Lemma series_is n z : Q2R (series n z) = real_series n (Q2R z).
Proof.
induction n as [|n IH]; cbn [series real_series]; [apply RMicromega.Q2R_0|].
rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, IH, Q2R_div, power_is, odd_is by apply odd_is_not_0. reflexivity.
Qed.

Lemma below_is_below z : 0 <= Q2R z < 1 -> 2 * Q2R (atanh_below z) <= atanh2 (Q2R z).
Proof. intros H. unfold atanh_below. rewrite series_is. now apply series_below. Qed.

Lemma above_is_above z : 0 <= Q2R z < 1 -> atanh2 (Q2R z) <= 2 * Q2R (atanh_above z).
Proof.
intros H. unfold atanh_above. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, series_is.
assert (P : 0 < 1 - Q2R z * Q2R z) by nra.
assert (E : Q2R (1 - z * z) = 1 - Q2R z * Q2R z) by (rewrite Q2R_minus, Q2R_mult, RMicromega.Q2R_1; reflexivity).
rewrite Q2R_div.
- rewrite power_is, Q2R_mult, odd_is, E. now apply series_above.
- intros Z. apply Qeq_eqR in Z. rewrite Q2R_mult, odd_is, E, RMicromega.Q2R_0 in Z.
  assert (0 < INR (2 * terms + 1)) by (apply lt_0_INR; lia). nra.
Qed.

Lemma log_by_ratio m : 0 < m -> ln m = atanh2 ((m - 1) / (m + 1)).
Proof.
intros H. unfold atanh2. replace (1 + (m - 1) / (m + 1)) with (m * (2 / (m + 1))) by (field; lra).
replace (1 - (m - 1) / (m + 1)) with (2 / (m + 1)) by (field; lra).
rewrite ln_mult by (auto; apply Rdiv_lt_0_compat; lra). ring.
Qed.

Lemma atanh2_increases a b : 0 <= a <= b -> b < 1 -> atanh2 a <= atanh2 b.
Proof.
intros H B. unfold atanh2. assert (L : forall x y, 0 < x -> x <= y -> ln x <= ln y).
{ intros x y X [Y|<-]; [now apply Rlt_le, ln_increasing|lra]. }
assert (ln (1 + a) <= ln (1 + b)) by (apply L; lra). assert (ln (1 - b) <= ln (1 - a)) by (apply L; lra). lra.
Qed.

Lemma a_third : Q2R (1 # 3) = (2 - 1) / (2 + 1).
Proof. unfold Q2R. cbn. field. Qed.

Lemma ln_bpow e : ln (bpow radix2 e) = IZR e * ln 2.
Proof. rewrite bpow_exp, ln_exp. reflexivity. Qed.

Theorem log_from_below x : 0 < Q2R x -> Q2R (fst (log_bounds x)) <= ln (Q2R x).
Proof.
intros X. unfold log_bounds. set (e := floor_log2 x). set (m := (x / pow2 e)%Q).
set (z := (inject_Z (Qfloor ((m - 1) / (m + 1) / grain)) * grain)%Q).
assert (E : bpow radix2 e <= Q2R x < bpow radix2 (e + 1)).
{ unfold e. rewrite floor_log2_is_mag by exact X. destruct (mag radix2 (Q2R x)) as [k K]. cbn [mag_val].
  specialize (K ltac:(lra)). rewrite Rabs_pos_eq in K by lra. replace (k - 1 + 1)%Z with k by ring. exact K. }
assert (B := bpow_gt_0 radix2 e). rewrite bpow_plus in E. change (bpow radix2 1) with 2 in E.
assert (Pe : ~ (pow2 e == 0)%Q) by (intros Z; apply Qeq_eqR in Z; rewrite Q2R_pow2, RMicromega.Q2R_0 in Z; lra).
assert (M : Q2R m = Q2R x / bpow radix2 e) by (unfold m; rewrite Q2R_div, Q2R_pow2 by exact Pe; reflexivity).
assert (M1 : 1 <= Q2R m < 2).
{ rewrite M. split; [apply Rmult_le_reg_r with (bpow radix2 e)|apply Rmult_lt_reg_r with (bpow radix2 e)]; auto;
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra. }
assert (R : Q2R ((m - 1) / (m + 1)) = (Q2R m - 1) / (Q2R m + 1)).
{ assert (N : Q2R (m + 1) = Q2R m + 1) by (rewrite Q2R_plus, RMicromega.Q2R_1; reflexivity).
  rewrite Q2R_div, Q2R_minus, N, RMicromega.Q2R_1; [reflexivity|]. intros Z. apply Qeq_eqR in Z.
  rewrite N, RMicromega.Q2R_0 in Z. lra. }
set (r := (Q2R m - 1) / (Q2R m + 1)) in *.
assert (R1 : 0 <= r < 1).
{ unfold r. split; [apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]|].
  apply Rmult_lt_reg_r with (Q2R m + 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
assert (G : 0 < Q2R grain) by (unfold grain; rewrite Q2R_pow2; apply bpow_gt_0).
assert (G0 : ~ (grain == 0)%Q) by (intros Z; apply Qeq_eqR in Z; rewrite RMicromega.Q2R_0 in Z; lra).
assert (Z1 : 0 <= Q2R z <= r).
{ unfold z. set (y := ((m - 1) / (m + 1) / grain)%Q).
  assert (Y : Q2R y = r / Q2R grain) by (unfold y; rewrite Q2R_div, R by exact G0; reflexivity).
  assert (F := Qfloor_le y). apply Qle_Rle in F. rewrite Q2R_mult. split.
  - apply Rmult_le_pos; [|lra]. rewrite Q2R_Z. apply IZR_le. apply (Qfloor_resp_le 0 y). apply Rle_Qle. rewrite RMicromega.Q2R_0, Y.
    apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat, G.
  - apply Rle_trans with (r / Q2R grain * Q2R grain); [|right; field; lra]. apply Rmult_le_compat_r; [lra|]. now rewrite <- Y. }
assert (Lm : 2 * Q2R (atanh_below z) <= ln (Q2R m)).
{ rewrite (log_by_ratio (Q2R m)) by lra. fold r. apply Rle_trans with (atanh2 (Q2R z)); [apply below_is_below; lra|].
  apply atanh2_increases; lra. }
assert (T : 0 <= Q2R (1 # 3) < 1) by (rewrite a_third; lra).
assert (T2 : atanh2 (Q2R (1 # 3)) = ln 2) by (rewrite a_third, <- log_by_ratio; lra).
assert (A := below_is_below (1 # 3) T). assert (A' := above_is_above (1 # 3) T). rewrite T2 in A, A'.
assert (Lx : ln (Q2R x) = IZR e * ln 2 + ln (Q2R m)).
{ rewrite <- ln_bpow, <- ln_mult by (auto; lra). f_equal. rewrite M. field. lra. }
rewrite Lx. destruct (Z.leb_spec 0 e) as [h|h]; cbn [fst]; rewrite Q2R_mult, Q2R_plus, Q2R_mult, Q2R_Z;
  replace (Q2R 2) with 2 by (unfold Q2R; cbn; lra).
- apply IZR_le in h. nra.
- assert (IZR e <= 0) by (apply IZR_le; lia). nra.
Qed.

Lemma the_codes_log_term alpha delta :
  1 < Q2R alpha -> 0 < Q2R delta -> Q2R (code_log_term alpha delta) <= log_term (Q2R alpha) (Q2R delta).
Proof.
intros A D. assert (M : Q2R (alpha - 1) = Q2R alpha - 1) by (rewrite Q2R_minus, RMicromega.Q2R_1; reflexivity).
assert (A1 : ~ (alpha - 1 == 0)%Q) by (intros Z; apply Qeq_eqR in Z; rewrite M, RMicromega.Q2R_0 in Z; lra).
assert (Q : Q2R (alpha / (alpha - 1)) = Q2R alpha / (Q2R alpha - 1)) by (rewrite Q2R_div, M by exact A1; reflexivity).
assert (Q0 : 0 < Q2R (alpha / (alpha - 1))) by (rewrite Q; apply Rdiv_lt_0_compat; lra).
assert (L1 := log_from_below delta D). assert (L2 := log_from_below (alpha - 1) ltac:(rewrite M; lra)).
assert (L3 := log_from_below (alpha / (alpha - 1)) Q0). rewrite M in L2. rewrite Q in L3.
assert (I : ln (1 - / Q2R alpha) = - ln (Q2R alpha / (Q2R alpha - 1))).
{ rewrite <- ln_Rinv by (apply Rdiv_lt_0_compat; lra). f_equal. field. lra. }
unfold code_log_term, log_term. rewrite Q2R_div, M, !Q2R_plus, Q2R_mult by exact A1. unfold Rdiv. apply Rmult_le_compat_r.
- apply Rlt_le, Rinv_0_lt_compat. lra.
- rewrite I. nra.
Qed.

(** The code's rho implies its epsilon and delta. *)
Theorem the_codes_rho alpha epsilon delta rho :
  1 < Q2R alpha -> 0 < Q2R delta -> Q2R rho <= Q2R (code_rho alpha epsilon delta)
  -> Q2R alpha * Q2R rho - Q2R epsilon <= log_term (Q2R alpha) (Q2R delta).
Proof.
intros A D R. assert (L := the_codes_log_term alpha delta A D). unfold code_rho in R.
rewrite (Qeq_eqR _ _ (Qred_correct _)) in R.
assert (A0 : ~ (alpha == 0)%Q) by (intros Z; apply Qeq_eqR in Z; rewrite RMicromega.Q2R_0 in Z; lra).
rewrite Q2R_div, Q2R_plus in R by exact A0. apply Rmult_le_compat_l with (r := Q2R alpha) in R; [|lra].
replace (Q2R alpha * ((Q2R epsilon + Q2R (code_log_term alpha delta)) / Q2R alpha))
  with (Q2R epsilon + Q2R (code_log_term alpha delta)) in R by (field; lra). lra.
Qed.

(** Of Bun and Steinke's formula: log_term is at least ln(delta) / (alpha - 1), and alpha = 1 + sqrt(l / rho). *)
Theorem the_codes_other_rho epsilon delta rho :
  0 < Q2R epsilon -> 0 < Q2R delta < 1 -> 0 < Q2R rho <= Q2R (code_other_rho epsilon delta)
  -> exists alpha, 1 < alpha /\ alpha * Q2R rho - Q2R epsilon <= log_term alpha (Q2R delta).
Proof.
intros E [D D1] [R0 R]. assert (B := log_from_below delta D). set (low := fst (log_bounds delta)) in *.
assert (N : ln (Q2R delta) < 0) by (rewrite <- ln_1; now apply ln_increasing). set (l := - Q2R low). assert (L : 0 < l) by (unfold l; lra).
assert (F : Q2R (code_other_rho epsilon delta) * (4 * (Q2R epsilon + l)) = Q2R epsilon * Q2R epsilon).
{ unfold code_other_rho. fold low. rewrite (Qeq_eqR _ _ (Qred_correct _)).
  assert (G : Q2R (4 * (epsilon - low)) = 4 * (Q2R epsilon + l)).
  { rewrite Q2R_mult, Q2R_minus. unfold l. replace (Q2R 4) with 4 by (unfold Q2R; cbn; lra). ring. }
  rewrite Q2R_div, G, Q2R_mult; [field; lra|]. intros Z. apply Qeq_eqR in Z. rewrite G, RMicromega.Q2R_0 in Z. lra. }
assert (S2 : 0 < l * Q2R rho) by now apply Rmult_lt_0_compat. set (r := Q2R rho) in *. set (e := Q2R epsilon) in *.
assert (K : 4 * (e + l) * r <= e * e).
{ rewrite <- F, (Rmult_comm (Q2R (code_other_rho epsilon delta))). apply Rmult_le_compat_l; lra. }
assert (S0 : 0 < sqrt (l * r)) by now apply sqrt_lt_R0. assert (Sq : sqrt (l * r) * sqrt (l * r) = l * r) by (apply sqrt_sqrt; lra).
set (s := sqrt (l * r)) in *. clearbody s. set (w := s / r). assert (W : 0 < w) by now apply Rdiv_lt_0_compat.
exists (1 + w). split; [lra|]. assert (E1 : (1 + w) * r = r + s) by (unfold w; field; lra). rewrite E1.
assert (E2 : s * w = l) by (unfold w; apply Rmult_eq_reg_r with r; [field_simplify; nra|lra]).
assert (Most : r + 2 * s <= e).
{ destruct (Rle_or_lt (r + 2 * s) e) as [H|H]; auto. exfalso. assert (r <= e / 4) by (apply Rmult_le_reg_l with (4 * (e + l)); nra).
  assert ((e - r) * (e - r) < (2 * s) * (2 * s)) by (apply Rmult_le_0_lt_compat; lra). nra. }
apply Rle_trans with (- s); [lra|]. unfold log_term. replace (1 + w - 1) with w by ring.
replace (1 - / (1 + w)) with (w / (1 + w)) by (field; lra). unfold Rdiv at 2.
rewrite ln_mult, ln_Rinv by (auto; try lra; apply Rinv_0_lt_compat; lra).
assert (Up : ln w <= ln (1 + w)) by (apply Rlt_le, ln_increasing; lra).
assert (Up0 : 0 < ln (1 + w)) by (rewrite <- ln_1 at 1; apply ln_increasing; lra).
assert (G : 0 <= ln w - (1 + w) * (ln w + - ln (1 + w))).
{ destruct (Rle_or_lt 1 w) as [H|H].
  - assert (0 <= ln w) by (destruct H as [H|<-]; [rewrite <- ln_1; apply Rlt_le, ln_increasing; lra|rewrite ln_1; lra]). nra.
  - assert (ln w < 0) by (rewrite <- ln_1; apply ln_increasing; lra). nra. }
apply Rmult_le_reg_r with w; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. unfold l in E2. lra.
Qed.

(** * Whole *)
Lemma unit_is x : 0 < Q2R x -> 0 < Q2R (unit_of_64_bits x) <= Q2R x.
Proof.
intros X. unfold unit_of_64_bits. rewrite Q2R_pow2. split; [apply bpow_gt_0|]. rewrite floor_log2_is_mag by exact X.
destruct (mag radix2 (Q2R x)) as [k K]. cbn [mag_val]. specialize (K ltac:(lra)). rewrite Rabs_pos_eq in K by lra.
apply Rle_trans with (2 := proj1 K). apply bpow_le. lia.
Qed.

Lemma in_units x y : 0 < Q2R x -> Q2R (y / unit_of_64_bits x) = Q2R y / Q2R (unit_of_64_bits x).
Proof.
intros X. assert (U := unit_is x X). apply Q2R_div. intros Z. apply Qeq_eqR in Z. rewrite RMicromega.Q2R_0 in Z. lra.
Qed.

Lemma rounded_down_is x : 0 < Q2R x -> 0 < Q2R (rounded_down x) <= Q2R x.
Proof.
intros X. assert (U := unit_is x X). unfold rounded_down. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_mult, Q2R_Z.
assert (I := in_units x x X). set (u := Q2R (unit_of_64_bits x)) in *. split.
- apply Rmult_lt_0_compat; [|lra]. apply IZR_lt. enough (1 <= Qfloor (x / unit_of_64_bits x))%Z by lia.
  apply (Qfloor_resp_le 1). apply Rle_Qle. rewrite RMicromega.Q2R_1, I. apply Rmult_le_reg_r with u; [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
- assert (F := Qfloor_le (x / unit_of_64_bits x)). apply Qle_Rle in F. rewrite Q2R_Z, I in F.
  apply Rle_trans with (Q2R x / u * u); [apply Rmult_le_compat_r; lra|right; field; lra].
Qed.

Lemma rounded_up_is x : 0 < Q2R x -> Q2R x <= Q2R (rounded_up x).
Proof.
intros X. assert (U := unit_is x X). unfold rounded_up. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_mult, Q2R_Z.
assert (I := in_units x x X). set (u := Q2R (unit_of_64_bits x)) in *. assert (F := Qle_ceiling (x / unit_of_64_bits x)).
apply Qle_Rle in F. rewrite Q2R_Z, I in F. apply Rle_trans with (Q2R x / u * u); [right; field; lra|apply Rmult_le_compat_r; lra].
Qed.

Lemma above_0 x : Qle_bool x 0 = false -> 0 < Q2R x.
Proof.
intros H. rewrite <- RMicromega.Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros L. apply Qle_bool_iff in L. congruence.
Qed.

(** Whatever alpha is guessed for each epsilon and delta, `zcdp_rho` is enough. *)
Theorem the_codes_rho_is_enough guess :
  (forall e d, 1 < guess e d)%Q -> enough_rho (fun e d => code_zcdp_rho (guess e d) e d).
Proof.
intros G e d E [D D1]. set (alpha := guess e d). assert (A : 1 < Q2R alpha) by (rewrite <- RMicromega.Q2R_1; apply Qlt_Rlt, G).
assert (E0 : 0 < Q2R e) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (D0 : 0 < Q2R d) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (D2 : Q2R d < 1) by (rewrite <- RMicromega.Q2R_1; now apply Qlt_Rlt).
assert (Pos : forall x, 0 < Q2R x -> (0 < x)%Q) by (intros x X; apply Rlt_Qlt; now rewrite RMicromega.Q2R_0).
unfold code_zcdp_rho. destruct (Qle_bool (code_rho alpha e d) 0) eqn:H.
- assert (O : 0 < Q2R (code_other_rho e d)).
  { unfold code_other_rho. assert (B := log_from_below d D0).
    assert (N : ln (Q2R d) < 0) by (rewrite <- ln_1; now apply ln_increasing).
    assert (F : Q2R (4 * (e - fst (log_bounds d))) = 4 * (Q2R e - Q2R (fst (log_bounds d)))).
    { rewrite Q2R_mult, Q2R_minus. replace (Q2R 4) with 4 by (unfold Q2R; cbn; lra). reflexivity. }
    rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_div, F, Q2R_mult.
    - apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|lra].
    - intros Z. apply Qeq_eqR in Z. rewrite F, RMicromega.Q2R_0 in Z. lra. }
  assert (R := rounded_down_is _ O). split; [now apply Pos|]. now apply the_codes_other_rho.
- assert (R := rounded_down_is _ (above_0 _ H)). split; [now apply Pos|]. exists (Q2R alpha). split; [exact A|].
  now apply the_codes_rho.
Qed.

(** And rho implies the code's epsilon. *)
Theorem the_codes_epsilon alpha rho delta :
  1 < Q2R alpha -> 0 < Q2R delta
  -> Q2R alpha * Q2R rho - Q2R (code_zcdp_epsilon alpha rho delta) <= log_term (Q2R alpha) (Q2R delta).
Proof.
intros A D. assert (L := the_codes_log_term alpha delta A D). unfold code_zcdp_epsilon.
set (x := (alpha * rho - code_log_term alpha delta)%Q).
assert (X : Q2R x = Q2R alpha * Q2R rho - Q2R (code_log_term alpha delta)) by (unfold x; now rewrite Q2R_minus, Q2R_mult).
destruct (Qle_bool x 0) eqn:H.
- apply Qle_bool_iff in H. apply Qle_Rle in H. rewrite RMicromega.Q2R_0 in *. lra.
- assert (R := rounded_up_is x (above_0 x H)). lra.
Qed.
