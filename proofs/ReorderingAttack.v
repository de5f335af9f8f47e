(** Attacks by reordering (docs/theorems/attack_proofs.md): a reordering moves a float sum by 2^(k+1-a-d) U.

    With L = 2^j, U = 2^(j+d), b = 2^(k+1-a) copies of L and c = 2^(k+1-d) of U. U first swallows every L. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Trees Iterated GridKernel Steps.
Import ListNotations.
Open Scope R_scope.

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
    rewrite Rabs_pos_eq by lra. replace (k + 1 - 1)%Z with k by ring. rewrite bpow_plus.
    change (bpow radix2 1) with 2. lra. }
  rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). rewrite Rmult_1_r.
  replace (bpow radix2 k) with (IZR (2 * 2 ^ (k - 1))).
  + rewrite nearest_plus_even. replace (ZnearestE (/ 2)) with 0%Z.
    * unfold F2R; cbn [Fnum Fexp]. rewrite Z.add_0_r. rewrite mult_IZR, pow_real by lia.
      change (IZR 2) with (bpow radix2 1). rewrite <- !bpow_plus. f_equal. ring.
    * unfold Znearest. rewrite (Zfloor_imp 0) by (simpl; lra). rewrite Rminus_0_r, Rcompare_Eq by reflexivity.
      reflexivity.
  + rewrite mult_IZR, pow_real by lia. change (IZR 2) with (bpow radix2 1). rewrite <- bpow_plus. f_equal. ring.
- rewrite Rmult_plus_distr_r, <- bpow_plus. replace (k + (j + 1))%Z with (j + k + 1)%Z by ring. f_equal.
  rewrite (bpow_plus radix2 j 1). change (bpow radix2 1) with 2. field.
Qed.

Lemma swallowed_sum : sum_fl (repeat U c ++ repeat L b) = bpow radix2 (j + k + 1).
Proof.
assert (pc : (0 < 2 ^ (k + 1 - d))%Z) by (apply Z.pow_pos_nonneg; lia). unfold iterated. rewrite fold_left_app.
replace 0 with (IZR 0 * U) by (simpl; ring). rewrite exact_run; rewrite ?Z2Nat.id, ?Z.add_0_l by lia; try lia.
- rewrite pow_real, <- bpow_plus by lia. replace (k + 1 - d + (j + d))%Z with (j + k + 1)%Z by ring. apply swallowed.
- apply Z.pow_le_mono_r; lia.
Qed.

Theorem float_reordering :
  Permutation (repeat L b ++ repeat U c) (repeat U c ++ repeat L b)
  /\ format L
  /\ format U
  /\ sum_fl (repeat L b ++ repeat U c) - sum_fl (repeat U c ++ repeat L b) = bpow radix2 (k + 1 - a - d) * U.
Proof.
split; [apply Permutation_app_comm|]. assert (FL : format L) by (apply generic_format_FLT_bpow;
  auto with typeclass_instances).
assert (FU : format U) by (apply generic_format_FLT_bpow; auto with typeclass_instances; lia). repeat split; auto.
assert (pb : (0 < 2 ^ (k + 1 - a))%Z) by (apply Z.pow_pos_nonneg; lia).
assert (pc : (0 < 2 ^ (k + 1 - d))%Z) by (apply Z.pow_pos_nonneg; lia).
rewrite swallowed_sum. unfold iterated. rewrite fold_left_app.
assert (R1 : fold_left (fun s x => fl (s + x)) (repeat L b) 0 = IZR (2 ^ (k + 1 - a)) * L).
{ replace 0 with (IZR 0 * L) at 1 by (simpl; ring). rewrite exact_run; try lia.
  - rewrite Z2Nat.id by lia. reflexivity.
  - rewrite Z2Nat.id by lia. rewrite Z.add_0_l. apply Z.pow_le_mono_r; lia. }
rewrite R1.
replace (IZR (2 ^ (k + 1 - a)) * L) with (IZR (2 ^ (k + 1 - a - d)) * U)
  by (rewrite !pow_real, <- !bpow_plus by lia; f_equal; ring).
assert (T : (2 ^ (k + 1 - a - d) + 2 ^ (k + 1 - d) <= 2 ^ (k + 1))%Z).
{ replace (k + 1)%Z with (k + 1 - 1 + 1)%Z at 3 by ring. rewrite (Z.pow_add_r 2 (k + 1 - 1) 1) by lia.
  assert (2 ^ (k + 1 - a - d) <= 2 ^ (k + 1 - 1))%Z by (apply Z.pow_le_mono_r; lia).
  assert (2 ^ (k + 1 - d) <= 2 ^ (k + 1 - 1))%Z by (apply Z.pow_le_mono_r; lia). lia. }
rewrite exact_run; try lia.
- rewrite Z2Nat.id by lia. rewrite plus_IZR, Rmult_plus_distr_r, !pow_real, <- !bpow_plus by lia.
  replace (k + 1 - d + (j + d))%Z with (j + k + 1)%Z by ring. ring.
Qed.
End Reordering.
