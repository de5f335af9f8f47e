(** Rounding the result (docs/theorems/attack_proofs.md): so many copies of U = 2^m add up to a tie between two floats
    that are 2^j U apart, and one more is above it. So even the exact sum, rounded once, moves by 2^j U. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums GridKernel Steps.
Import ListNotations.
Open Scope R_scope.

Section Result.
Variables k emin m j : Z.
Hypothesis k_1 : (1 <= k)%Z.
Hypothesis j_1 : (1 <= j)%Z.
Hypothesis m_emin : (emin <= m)%Z.

Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).

Definition tied_copies := (2 ^ (k + j) + 2 ^ (j - 1))%Z.
Definition tied := repeat (bpow radix2 m) (Z.to_nat tied_copies).
Definition one_above := bpow radix2 m :: tied.

Lemma sum_of_copies x i : sum (repeat x i) = INR i * x.
Proof.
induction i as [|i IH]; [simpl; ring|]. cbn [repeat sum fold_right]. fold (sum (repeat x i)). rewrite IH, S_INR. ring.
Qed.

Lemma result_sums :
  fl (sum tied) = bpow radix2 (k + m + j) /\ fl (sum one_above) = bpow radix2 (k + m + j) + bpow radix2 (m + j).
Proof.
assert (P2 : forall e, (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e) by (intros; now apply (IZR_Zpower radix2)).
assert (S : sum tied = (bpow radix2 k + / 2) * bpow radix2 (m + j)).
{ unfold tied, tied_copies. assert (0 <= 2 ^ (k + j))%Z by (apply Z.pow_nonneg; lia).
  assert (0 <= 2 ^ (j - 1))%Z by (apply Z.pow_nonneg; lia). rewrite sum_of_copies, INR_IZR_INZ, Z2Nat.id by lia.
  rewrite plus_IZR, !P2 by lia. rewrite Rmult_plus_distr_r, <- !bpow_plus, Rmult_plus_distr_r, <- bpow_plus.
  replace (k + j + m)%Z with (k + (m + j))%Z by ring. f_equal.
  replace (m + j)%Z with (j - 1 + m + 1)%Z by ring. rewrite (bpow_plus radix2 _ 1).
  change (bpow radix2 1) with 2. field. }
assert (K2 : 2 <= bpow radix2 k) by (change 2 with (bpow radix2 1); apply bpow_le; lia).
assert (T : bpow radix2 (k + 1) = 2 * bpow radix2 k) by (rewrite bpow_plus; change (bpow radix2 1) with 2; ring).
assert (H : 0 < bpow radix2 (- j) <= / 2)
  by (split; [apply bpow_gt_0|]; change (/ 2) with (bpow radix2 (-1)); apply bpow_le; lia).
split.
- rewrite S, rounds_to by (try lia; lra).
  replace (ZnearestE (bpow radix2 k + / 2)) with (2 ^ k)%Z; [rewrite P2, <- bpow_plus by lia; f_equal; ring|].
  rewrite <- P2 by lia. replace (2 ^ k)%Z with (2 * 2 ^ (k - 1))%Z
    by (replace k with (1 + (k - 1))%Z at 2 by ring; now rewrite Z.pow_add_r by lia).
  rewrite nearest_plus_even. replace (ZnearestE (/ 2)) with 0%Z; [ring|]. symmetry.
  unfold Znearest. rewrite (Zfloor_imp 0) by (simpl; lra). rewrite Rminus_0_r, Rcompare_Eq by reflexivity. reflexivity.
- unfold one_above. cbn [sum fold_right]. fold (sum tied). rewrite S.
  replace (bpow radix2 m + (bpow radix2 k + / 2) * bpow radix2 (m + j))
    with ((bpow radix2 k + / 2 + bpow radix2 (- j)) * bpow radix2 (m + j)).
  + rewrite rounds_to by (try lia; lra).
    replace (ZnearestE (bpow radix2 k + / 2 + bpow radix2 (- j))) with (2 ^ k + 1)%Z.
    * rewrite plus_IZR, P2, Rmult_plus_distr_r, <- bpow_plus, Rmult_1_l by lia. do 2 f_equal. ring.
    * symmetry. apply Znearest_imp. rewrite plus_IZR, P2 by lia. apply Rabs_lt; lra.
  + rewrite !Rmult_plus_distr_r, <- (bpow_plus radix2 (- j)). replace (- j + (m + j))%Z with m by ring. ring.
Qed.

Theorem result_rounding :
  insert_delete tied one_above /\ fl (sum one_above) - fl (sum tied) = bpow radix2 j * bpow radix2 m.
Proof.
split; [apply (id_insert [] (bpow radix2 m) tied)|]. destruct result_sums as [-> ->].
rewrite (Z.add_comm m j), (bpow_plus radix2 j m). ring.
Qed.
End Result.
