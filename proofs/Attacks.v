(** Attacks (docs/theorems/attack_proofs.md): for every type, neighbours whose ordinary sums are further apart than the ideal.

    Overflow: one changed record, or one more, moves a modular sum by 2^w - 1. Saturation: a reordering moves a
    saturating sum by 2^w - 1. Reordering: a reordering moves a float sum by 2^(k+1-a-d) U. Rounding: one changed
    record moves a float sum, and Kahan's, by 2^j (U - L), for every k and every 2 <= j < k; and a pairwise sum of n =
    2^j records by n (U - L). Result: one record more moves even the exact sum, rounded once, by 2^j U. Repeated
    rounding: one record more moves a float sum by 2^j U (I), or by U + n^2 / 2^(k+3) U with n = 2^j records (II). *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums Wide Modular Saturating Grid GridKernel Trees Pairwise Iterated
  Kahan.
Import ListNotations.

(** Integers. *)
Section Integers.
Open Scope Z_scope.
Variables lo hi L U : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

Lemma sumZ_repeat x n : sumZ (repeat x n) = Z.of_nat n * x.
Proof.
induction n as [|n IH]; [reflexivity|]. cbn [repeat sumZ fold_right]. fold (sumZ (repeat x n)). rewrite IH. lia.
Qed.

Lemma all_repeat (P : Z -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H. apply Forall_forall. intros y Hy. apply repeat_spec in Hy. now subst. Qed.

(** Fill the type to its greatest value, then add 0, or 1. *)
Definition filled := repeat U (Z.to_nat (hi / U)) ++ [hi mod U].

Lemma filled_sum : 1 <= U -> sumZ filled = hi.
Proof.
intros HU. unfold filled. rewrite sumZ_app, sumZ_repeat. assert (D := Z.div_mod hi U ltac:(lia)).
assert (0 <= hi / U) by (apply Z.div_pos; lia).
rewrite Z2Nat.id by auto. simpl. lia.
Qed.

Lemma filled_bounds : 1 <= U -> L <= 0 -> in_bounds L U filled.
Proof.
intros HU HL. unfold filled. apply Forall_app. split; [apply all_repeat; lia|]. constructor; [|constructor].
generalize (Z.mod_pos_bound hi U ltac:(lia)). lia.
Qed.

Theorem overflow_attack :
  L <= 0 -> 1 <= U
  -> exists u v w,
       in_bounds L U u
       /\ in_bounds L U v
       /\ in_bounds L U w
       /\ hamming u v
       /\ insert_delete w v
       /\ modular lo hi u - modular lo hi v = hi - lo
       /\ modular lo hi w - modular lo hi v = hi - lo.
Proof.
intros HL HU. assert (B := filled_bounds HU HL). assert (S := filled_sum HU).
assert (E : modular lo hi (filled ++ [0]) = hi /\ modular lo hi (filled ++ [1]) = lo /\ modular lo hi filled = hi).
{ rewrite !modular_wraps_once, !sumZ_app, S by auto. simpl. unfold wrap. rewrite Z.add_0_r.
  replace (hi + 1 - lo) with (0 + 1 * N lo hi) by (unfold N; ring).
  rewrite Z_mod_plus_full, (Z.mod_small 0), (Z.mod_small (hi - lo)) by (unfold N; lia). lia. }
destruct E as (E0 & E1 & E2). exists (filled ++ [0]), (filled ++ [1]), filled. rewrite E0, E1, E2.
repeat split; try lia; try (apply Forall_app; split; [exact B|constructor; [lia|constructor]]); auto.
- apply ham_change.
- rewrite <- (app_nil_r filled) at 1. apply id_insert.
Qed.

(** All L first and then all U, or the other way round. *)
Lemma saturating_climbs s n :
  lo <= s <= hi -> 0 <= U -> saturating_from lo hi s (repeat U n) = Z.min hi (s + Z.of_nat n * U).
Proof.
revert s; induction n as [|n IH]; intros s Hs HU; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *.
cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.

Lemma saturating_falls s n :
  lo <= s <= hi -> L <= 0 -> saturating_from lo hi s (repeat L n) = Z.max lo (s + Z.of_nat n * L).
Proof.
revert s; induction n as [|n IH]; intros s Hs HL; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *.
cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.

Theorem saturation_reordering b c :
  L < 0 < U -> hi - lo <= Z.of_nat b * - L -> hi - lo <= Z.of_nat c * U
  -> Permutation (repeat L b ++ repeat U c) (repeat U c ++ repeat L b)
     /\ saturating lo hi (repeat L b ++ repeat U c) - saturating lo hi (repeat U c ++ repeat L b) = hi - lo.
Proof.
intros [HL HU] Hb Hc. split; [apply Permutation_app_comm|].
assert (A : forall s l m, saturating_from lo hi s (l ++ m) = saturating_from lo hi (saturating_from lo hi s l) m)
  by (intros; apply fold_left_app).
unfold saturating. rewrite !A, (saturating_falls 0), (saturating_climbs 0) by lia.
rewrite saturating_climbs, saturating_falls by lia. lia.
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
Lemma exact_run m e i :
  (emin <= e)%Z -> (0 <= m)%Z -> (m + Z.of_nat i <= 2 ^ (k + 1))%Z
  -> fold_left (fun s x => fl (s + x)) (repeat (bpow radix2 e) i) (IZR m * bpow radix2 e)
       = IZR (m + Z.of_nat i) * bpow radix2 e.
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

(** One rounding: (q + d) 2^e with q + d between 2^k and 2^(k+1) goes to the nearest multiple of 2^e. *)
Section Nearby.
Variables k emin : Z.
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).

Lemma rounds_to y e :
  (emin <= e)%Z -> bpow radix2 k <= y < bpow radix2 (k + 1)
  -> fl (y * bpow radix2 e) = IZR (ZnearestE y) * bpow radix2 e.
Proof.
intros He [H1 H2]. assert (P := bpow_gt_0 radix2 k). unfold round, scaled_mantissa.
assert (C : cexp radix2 (FLT_exp emin (k + 1)) (y * bpow radix2 e) = e).
{ unfold cexp. rewrite mag_mult_bpow by lra. rewrite (mag_unique radix2 y (k + 1)); [unfold FLT_exp; lia|].
  rewrite Rabs_pos_eq by lra. now replace (k + 1 - 1)%Z with k by ring. }
rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). now rewrite Rmult_1_r.
Qed.
End Nearby.

(** Rounding the result: so many copies of U = 2^m add up to a tie between two floats that are 2^j U apart, and one more
    is above it. So even the exact sum, rounded once, moves by 2^j U. *)
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

(** Rounding a tree: L has an odd last bit, U is the next float. In a balanced tree of 2^j records one U,
    wherever it is, lifts every sum above it. *)
Section Tree.
Variables k emin m e : Z.
Hypothesis k_pos : (2 <= k)%Z.
Hypothesis e_emin : (emin <= e)%Z.
Hypothesis m_normal : (2 ^ k <= 2 * m + 1 < 2 ^ (k + 1))%Z.

Local Instance precision_of_trees : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_of t := (computed (k + 1) emin (fun x => negb (Z.even x)) t).

Definition lower := IZR (2 * m + 1) * bpow radix2 e.
Definition upper := IZR (2 * m + 2) * bpow radix2 e.

Fixpoint all_lower (j : nat) : tree R :=
  match j with O => leaf lower | S j => node (all_lower j) (all_lower j) end.

Inductive one_upper : nat -> tree R -> Prop :=
| upper_here : one_upper 0 (leaf upper)
| upper_left j t : one_upper j t -> one_upper (S j) (node t (all_lower j))
| upper_right j t : one_upper j t -> one_upper (S j) (node (all_lower j) t).

Lemma doubled_is_a_float n i :
  (Z.abs n <= 2 ^ (k + 1))%Z -> format (bpow radix2 (Z.of_nat i) * (IZR n * bpow radix2 e)).
Proof.
intros H.
replace (bpow radix2 (Z.of_nat i) * (IZR n * bpow radix2 e)) with (IZR n * bpow radix2 (Z.of_nat i + e))
  by (rewrite bpow_plus; ring).
apply multiple_format; auto; lia.
Qed.

Lemma twice i x : bpow radix2 (Z.of_nat i) * x + bpow radix2 (Z.of_nat i) * x = bpow radix2 (Z.of_nat (S i)) * x.
Proof. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite bpow_plus. change (bpow radix2 1) with 2. ring. Qed.

Lemma all_lower_sum j : sum_of (all_lower j) = bpow radix2 (Z.of_nat j) * lower.
Proof.
induction j as [|j IH]; [simpl; ring|]. cbn [all_lower computed]. rewrite IH, twice.
apply round_generic; auto with typeclass_instances. apply doubled_is_a_float. lia.
Qed.

Lemma lifted i :
  fl (bpow radix2 (Z.of_nat i) * upper + bpow radix2 (Z.of_nat i) * lower) = bpow radix2 (Z.of_nat (S i)) * upper.
Proof.
assert (N : (ZnearestE (IZR (2 * m) + 3 / 2) = 2 * m + 2)%Z).
{ rewrite nearest_plus_even. f_equal. unfold Znearest. rewrite (Zfloor_imp 1) by (simpl; lra).
  replace (3 / 2 - 1) with (/ 2) by lra.
  rewrite Rcompare_Eq by reflexivity. simpl. apply Zceil_imp. simpl. lra. }
replace (bpow radix2 (Z.of_nat i) * upper + bpow radix2 (Z.of_nat i) * lower)
  with ((IZR (2 * m) + 3 / 2) * bpow radix2 (Z.of_nat (S i) + e)).
- destruct m_normal as [A B]. apply IZR_le in A. assert (B' : (2 * m + 2 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in B'.
  assert (PK : IZR (2 ^ k) = bpow radix2 k) by (apply (IZR_Zpower radix2); lia).
  assert (PK1 : IZR (2 ^ (k + 1)) = bpow radix2 (k + 1)) by (apply (IZR_Zpower radix2); lia).
  rewrite plus_IZR, PK in A. rewrite plus_IZR, PK1 in B'.
  rewrite rounds_to; try lia; [|lra]. rewrite N. unfold upper. rewrite bpow_plus. ring.
- rewrite Nat2Z.inj_succ. unfold Z.succ, upper, lower. rewrite !bpow_plus, !plus_IZR. change (bpow radix2 1) with 2.
  field.
Qed.

Theorem tree_rounding j t :
  one_upper j t
  -> sum_of t - sum_of (all_lower j) = bpow radix2 (Z.of_nat j) * (upper - lower)
     /\ hamming (leaves (all_lower j)) (leaves t).
Proof.
intros H. assert (S : sum_of t = bpow radix2 (Z.of_nat j) * upper).
{ induction H as [|j t H IH|j t H IH]; [simpl; ring| |]; cbn [computed]; rewrite IH, all_lower_sum; [apply lifted|].
  rewrite Rplus_comm. apply lifted. }
split; [rewrite S, all_lower_sum; ring|]. clear S.
induction H as [|j t H IH|j t H IH]; [apply (ham_change [] lower upper [])| |]; cbn [all_lower leaves].
- remember (leaves (all_lower j)) as r. destruct IH as [w|a x y b]; [constructor|]. rewrite <- !app_assoc.
  apply (ham_change a x y (b ++ r)) || (simpl; apply ham_change).
- destruct IH as [w|a x y b]; [constructor|]. rewrite !app_assoc. constructor.
Qed.

(** A pairwise sum of 2^j records is such a tree. *)
Lemma all_lower_balanced j : balanced j (all_lower j).
Proof. induction j; cbn [all_lower balanced]; auto. Qed.

Lemma one_upper_balanced j t : one_upper j t -> balanced j t.
Proof. induction 1; cbn [balanced]; auto using all_lower_balanced. Qed.

Theorem pairwise_rounding j t :
  one_upper j t
  -> pairwise (k + 1) emin (fun x => negb (Z.even x)) (leaves t)
       - pairwise (k + 1) emin (fun x => negb (Z.even x)) (leaves (all_lower j))
     = bpow radix2 (Z.of_nat j) * (upper - lower).
Proof.
intros H. unfold pairwise. rewrite !(pairwise_of_balanced _ _ j) by auto using all_lower_balanced, one_upper_balanced.
now apply tree_rounding.
Qed.
End Tree.

(** Repeated rounding I: U, U, then 2^k copies of each f(i); against the same without the first U. Where the sum is
    twice as large every record is rounded up, in the other down. *)
Section Repeated.
Variables k emin m : Z.
Hypothesis k_pos : (2 <= k)%Z.
Hypothesis m_emin : (emin <= m - k)%Z.

Local Instance precision_of_runs : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_fl := (iterated (k + 1) emin (fun x => negb (Z.even x))).
Notation copies_of := (Z.to_nat (2 ^ k)).

Definition top_record := bpow radix2 (k + m).
Definition f (i : nat) := (1 + bpow radix2 (- k)) * bpow radix2 (Z.of_nat i + m).
Definition phases (j : nat) := flat_map (fun i => repeat (f i) copies_of) (seq 0 j).

Lemma tiny : 0 < bpow radix2 (- k) <= / 4.
Proof. split; [apply bpow_gt_0|]. change (/ 4) with (bpow radix2 (-2)). apply bpow_le. lia. Qed.

Lemma pow_of e : (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.

Lemma next_power : IZR (2 ^ (k + 1)) = 2 * bpow radix2 k.
Proof. rewrite pow_of, bpow_plus by lia. change (bpow radix2 1) with 2. ring. Qed.

(** From q steps of 2^e on, adding a little over a half step, or a little over a step, moves by one step. *)
Lemma one_up q e :
  (emin <= e)%Z -> (2 ^ k <= q < 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 (e - 1)) = IZR (q + 1) * bpow radix2 e.
Proof.
intros He [A B]. destruct tiny as [t0 t1]. assert (B' : (q + 1 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in A, B'.
rewrite pow_of in A by lia. rewrite plus_IZR, next_power in B'.
replace (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 (e - 1))
  with ((IZR q + (/ 2 + / 2 * bpow radix2 (- k))) * bpow radix2 e).
- rewrite rounds_to; auto; [|rewrite bpow_plus; change (bpow radix2 1) with 2; lra]. do 2 f_equal. apply Znearest_imp.
  rewrite plus_IZR. apply Rabs_lt; lra.
- replace e with (e - 1 + 1)%Z at 1 2 by ring. rewrite (bpow_plus radix2 (e - 1) 1). change (bpow radix2 1) with 2.
  field.
Qed.

Lemma one_down q e :
  (emin <= e)%Z -> (2 ^ k <= q < 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 e) = IZR (q + 1) * bpow radix2 e.
Proof.
intros He [A B]. destruct tiny as [t0 t1]. assert (P := bpow_gt_0 radix2 k). apply IZR_le in A.
rewrite pow_of in A by lia.
destruct (Z.eq_dec (q + 1) (2 ^ (k + 1))) as [E|E].
- assert (Eq : IZR q + 1 = 2 * bpow radix2 k) by (rewrite <- next_power, <- E, plus_IZR; ring).
  replace (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 e)
    with ((bpow radix2 k + / 2 * bpow radix2 (- k)) * bpow radix2 (e + 1)).
  + rewrite rounds_to; auto;
    [|lia|rewrite bpow_plus; change (bpow radix2 1) with 2; split; [lra|];
     assert (1 <= bpow radix2 k) by (change 1 with (bpow radix2 0); apply bpow_le; lia); lra].
    replace (ZnearestE (bpow radix2 k + / 2 * bpow radix2 (- k))) with (2 ^ k)%Z.
    * rewrite E, !pow_of, <- !bpow_plus by lia. f_equal. ring.
    * symmetry. apply Znearest_imp. rewrite pow_of by lia. apply Rabs_lt; lra.
  + replace (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 e)
      with ((IZR q + 1 + bpow radix2 (- k)) * bpow radix2 e) by ring.
    rewrite Eq, (bpow_plus radix2 e 1). change (bpow radix2 1) with 2. field.
- assert (B' : (q + 2 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in B'. rewrite plus_IZR, next_power in B'.
  replace (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 e)
    with ((IZR q + (1 + bpow radix2 (- k))) * bpow radix2 e) by ring.
  rewrite rounds_to; auto; [|rewrite bpow_plus; change (bpow radix2 1) with 2; lra]. do 2 f_equal. apply Znearest_imp.
  rewrite plus_IZR. apply Rabs_lt; lra.
Qed.

Lemma run_of r e :
  (emin <= e)%Z
  -> (forall q, (2 ^ k <= q < 2 ^ (k + 1))%Z -> fl (IZR q * bpow radix2 e + r) = IZR (q + 1) * bpow radix2 e)
  -> fold_left (fun s x => fl (s + x)) (repeat r copies_of) (bpow radix2 (k + e)) = bpow radix2 (k + e + 1).
Proof.
intros He S. assert (G : forall i q, (2 ^ k <= q)%Z -> (q + Z.of_nat i <= 2 ^ (k + 1))%Z ->
  fold_left (fun s x => fl (s + x)) (repeat r i) (IZR q * bpow radix2 e) = IZR (q + Z.of_nat i) * bpow radix2 e).
{ induction i as [|i IH]; intros q Hq Hi; [now rewrite Z.add_0_r|]. cbn [repeat fold_left]. rewrite S by lia.
  rewrite IH by lia. do 2 f_equal. lia. }
assert (K : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
assert (K2 : (2 ^ (k + 1) = 2 ^ k + 2 ^ k)%Z) by (rewrite Z.pow_add_r by lia; lia).
replace (bpow radix2 (k + e)) with (IZR (2 ^ k) * bpow radix2 e) by (rewrite pow_of, <- bpow_plus by lia; reflexivity).
rewrite G; rewrite ?Z2Nat.id by lia; try lia. rewrite <- K2, pow_of, <- bpow_plus by lia. f_equal. ring.
Qed.

Lemma phases_from h j :
  (h = 0 \/ h = 1)%Z
  -> fold_left (fun s x => fl (s + x)) (phases j) (bpow radix2 (k + m + h)) = bpow radix2 (k + m + h + Z.of_nat j).
Proof.
intros Hh. unfold phases. induction j as [|j IH]; [now rewrite Z.add_0_r|].
rewrite seq_S, flat_map_app, fold_left_app, IH. cbn [flat_map plus]. rewrite app_nil_r.
replace (k + m + h + Z.of_nat j)%Z with (k + (m + h + Z.of_nat j))%Z by ring. rewrite run_of; [f_equal; lia|lia|].
intros q Hq. unfold f. replace (Z.of_nat (0 + j)) with (Z.of_nat j) by reflexivity. destruct Hh as [->| ->].
- replace (Z.of_nat j + m)%Z with (m + 0 + Z.of_nat j)%Z by ring. apply one_down; auto. lia.
- replace (Z.of_nat j + m)%Z with (m + 1 + Z.of_nat j - 1)%Z by ring. apply one_up; auto. lia.
Qed.

Lemma phases_are_floats j : Forall (fun x => format x) (top_record :: phases j).
Proof.
assert (FT : format top_record) by (apply generic_format_FLT_bpow; auto with typeclass_instances; lia).
constructor; auto. apply Forall_forall. intros x Hx. unfold phases in Hx. apply in_flat_map in Hx as (i & _ & Hx).
apply repeat_spec in Hx. subst x. unfold f.
replace ((1 + bpow radix2 (- k)) * bpow radix2 (Z.of_nat i + m))
  with (IZR (2 ^ k + 1) * bpow radix2 (Z.of_nat i + m - k)).
- apply multiple_format; try lia. assert (0 < 2 ^ k)%Z by (apply Z.pow_pos_nonneg; lia). rewrite Z.pow_add_r by lia.
  lia.
- rewrite plus_IZR, pow_of by lia. unfold Zminus. rewrite (bpow_plus radix2 _ (- k)).
  rewrite Rmult_plus_distr_r, Rmult_1_l, Rmult_plus_distr_r, Rmult_1_l.
  rewrite <- (Rmult_assoc (bpow radix2 k)), (Rmult_comm (bpow radix2 k)), Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r.
  simpl (bpow _ 0). ring.
Qed.

Lemma phases_sums j :
  sum_fl (top_record :: top_record :: phases j) = bpow radix2 (k + m + 1 + Z.of_nat j)
  /\ sum_fl (top_record :: phases j) = bpow radix2 (k + m + Z.of_nat j).
Proof.
assert (FT : format top_record) by apply (Forall_inv (phases_are_floats 0)).
unfold iterated. cbn [fold_left]. rewrite Rplus_0_l, (round_generic _ _ _ top_record) by auto with typeclass_instances.
assert (T : fl (top_record + top_record) = bpow radix2 (k + m + 1)).
{ unfold top_record.
  replace (bpow radix2 (k + m) + bpow radix2 (k + m)) with (bpow radix2 (k + m + 1))
    by (rewrite (bpow_plus radix2 _ 1); change (bpow radix2 1) with 2; ring).
  apply round_generic; auto with typeclass_instances.
  apply generic_format_FLT_bpow; auto with typeclass_instances; lia. }
rewrite T, phases_from by auto. split; [reflexivity|]. unfold top_record.
replace (k + m)%Z with (k + m + 0)%Z by ring. now apply phases_from; auto.
Qed.

Theorem repeated_rounding_1 j :
  insert_delete (top_record :: phases j) (top_record :: top_record :: phases j)
  /\ Forall (fun x => format x) (top_record :: phases j)
  /\ sum_fl (top_record :: top_record :: phases j) - sum_fl (top_record :: phases j)
      = bpow radix2 (Z.of_nat j) * top_record.
Proof.
split; [apply (id_insert [] top_record)|]. split; [apply phases_are_floats|]. destruct (phases_sums j) as [-> ->].
unfold top_record. rewrite <- bpow_plus.
replace (k + m + 1 + Z.of_nat j)%Z with (Z.of_nat j + (k + m) + 1)%Z by ring.
replace (k + m + Z.of_nat j)%Z with (Z.of_nat j + (k + m))%Z by ring.
rewrite (bpow_plus radix2 _ 1). change (bpow radix2 1) with 2. ring.
Qed.

(** For j up to k all records are within 0 and U, so that 2^j is what the sensitivity is times the ideal, at least. *)
Theorem repeated_rounding_1_within j :
  (Z.of_nat j <= k)%Z -> Forall (within 0 top_record) (top_record :: top_record :: phases j).
Proof.
intros Hj. assert (T : 0 < top_record) by apply bpow_gt_0. do 2 (constructor; [split; lra|]).
apply Forall_forall. intros x Hx. unfold phases in Hx. apply in_flat_map in Hx as (i & Hi & Hx).
apply repeat_spec in Hx. subst x. apply in_seq in Hi. destruct tiny as [t0 t1]. unfold f.
assert (P := bpow_gt_0 radix2 (Z.of_nat i + m)).
assert (B : 2 * bpow radix2 (Z.of_nat i + m) <= top_record).
{ change 2 with (bpow radix2 1). rewrite <- bpow_plus. apply bpow_le. lia. }
split; nra.
Qed.
End Repeated.

(** Repeated rounding II: U, half of the 2^j records, then x and L in turn; against one U fewer. At the
    power of two that U times half is, x rounds up and L rounds back to where it was; just below, where
    floats are twice as dense, they cancel. *)
Section RepeatedTwo.
Variables k emin v j : Z.
Hypothesis j_2 : (2 <= j < k)%Z.
Notation e := (v + j - 1 - k)%Z. (* the step is 2^e *)
Hypothesis v_emin : (emin <= e - k)%Z.

Local Instance precision_of_pairs : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_fl := (iterated (k + 1) emin (fun x => negb (Z.even x))).
Notation add := (fun s x => fl (s + x)).
Notation half := (2 ^ (j - 1))%Z.

Definition U2 := bpow radix2 v.
Definition x2 := (/ 2 + bpow radix2 (- k)) * bpow radix2 e.
Definition L2 := - (/ 2 - bpow radix2 (- k)) * bpow radix2 e.

Fixpoint in_turn (n : nat) : list R := match n with O => [] | S n => x2 :: L2 :: in_turn n end.

Definition pairs := in_turn (Z.to_nat (2 ^ (j - 2))).

Lemma eighth : 0 < bpow radix2 (- k) <= / 8.
Proof. split; [apply bpow_gt_0|]. change (/ 8) with (bpow radix2 (-3)). apply bpow_le. lia. Qed.

Lemma power_real i : (0 <= i)%Z -> IZR (2 ^ i) = bpow radix2 i.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.

Lemma twice_real : bpow radix2 (k + 1) = 2 * bpow radix2 k.
Proof. rewrite bpow_plus. change (bpow radix2 1) with 2. ring. Qed.

(** One record x and one L, from q steps on: in the upper binade and in the lower. *)
Lemma pair_up q :
  (2 ^ k <= q)%Z -> (q + 1 < 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 e + x2) = IZR (q + 1) * bpow radix2 e
     /\ fl (IZR (q + 1) * bpow radix2 e + L2) = IZR (q + 1) * bpow radix2 e.
Proof.
destruct eighth as [t0 t1]. intros A B. apply IZR_le in A. rewrite power_real in A by lia.
assert (B' : (q + 1 + 1 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in B'.
rewrite !plus_IZR, power_real, twice_real in B' by lia.
replace (IZR q * bpow radix2 e + x2) with ((IZR q + (/ 2 + bpow radix2 (- k))) * bpow radix2 e) by (unfold x2; ring).
replace (IZR (q + 1) * bpow radix2 e + L2) with ((IZR q + (/ 2 + bpow radix2 (- k))) * bpow radix2 e)
  by (unfold L2; rewrite plus_IZR; field).
rewrite rounds_to by (try lia; rewrite twice_real; lra).
replace (ZnearestE (IZR q + (/ 2 + bpow radix2 (- k)))) with (q + 1)%Z
  by (symmetry; apply Znearest_imp; rewrite plus_IZR; apply Rabs_lt; lra).
split; reflexivity.
Qed.

Lemma pair_back q :
  (2 ^ k <= q)%Z -> (q + 2 <= 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 (e - 1) + x2) = IZR (q + 1) * bpow radix2 (e - 1)
     /\ fl (IZR (q + 1) * bpow radix2 (e - 1) + L2) = IZR q * bpow radix2 (e - 1).
Proof.
destruct eighth as [t0 t1]. intros A Hn. apply IZR_le in A. rewrite power_real in A by lia.
apply IZR_le in Hn. rewrite plus_IZR, power_real, twice_real in Hn by lia.
assert (E : bpow radix2 e = 2 * bpow radix2 (e - 1))
  by (replace e with (1 + (e - 1))%Z at 1 by ring; rewrite bpow_plus; reflexivity).
replace (IZR q * bpow radix2 (e - 1) + x2) with ((IZR q + (1 + 2 * bpow radix2 (- k))) * bpow radix2 (e - 1))
  by (unfold x2; rewrite E; field).
replace (IZR (q + 1) * bpow radix2 (e - 1) + L2) with ((IZR q + 2 * bpow radix2 (- k)) * bpow radix2 (e - 1))
  by (unfold L2; rewrite plus_IZR, E; field).
split; rewrite rounds_to by (try lia; rewrite twice_real; lra); do 2 f_equal; apply Znearest_imp;
  rewrite ?plus_IZR; apply Rabs_lt; lra.
Qed.

Lemma climbs n q :
  (2 ^ k <= q)%Z -> (q + Z.of_nat n < 2 ^ (k + 1))%Z
  -> fold_left add (in_turn n) (IZR q * bpow radix2 e) = IZR (q + Z.of_nat n) * bpow radix2 e.
Proof.
revert q; induction n as [|n IH]; intros q Hq Hn; [now rewrite Z.add_0_r|]. cbn [in_turn fold_left].
destruct (pair_up q) as [E1 E2]; try lia. rewrite E1, E2, IH by lia. do 2 f_equal. lia.
Qed.

Lemma returns n q :
  (2 ^ k <= q)%Z -> (q + 2 <= 2 ^ (k + 1))%Z
  -> fold_left add (in_turn n) (IZR q * bpow radix2 (e - 1)) = IZR q * bpow radix2 (e - 1).
Proof.
intros Hq Hn. induction n as [|n IH]; [reflexivity|]. cbn [in_turn fold_left].
destruct (pair_back q Hq Hn) as [E1 E2]. rewrite E1, E2. exact IH.
Qed.

Lemma tops i : (Z.of_nat i <= 2 ^ (k + 1))%Z -> fold_left add (repeat U2 i) 0 = IZR (Z.of_nat i) * U2.
Proof.
intros H. replace 0 with (IZR 0 * U2) at 1 by (simpl; ring). unfold U2. rewrite exact_run; try lia.
now rewrite Z.add_0_l.
Qed.

Lemma halves_of :
  (half = 2 * 2 ^ (j - 2) /\ 1 <= 2 ^ (j - 2) /\ half * 2 ^ (k - j + 1) = 2 ^ k /\ 2 ^ (j - 2) < 2 ^ k)%Z.
Proof.
repeat split.
- replace (j - 1)%Z with (1 + (j - 2))%Z by ring. rewrite Z.pow_add_r by lia. reflexivity.
- apply (Z.pow_le_mono_r 2 0); lia.
- rewrite <- Z.pow_add_r by lia. f_equal. ring.
- apply Z.pow_lt_mono_r; lia.
Qed.

Lemma halves_in_steps :
  IZR half * U2 = IZR (2 ^ k) * bpow radix2 e
  /\ IZR (half - 1) * U2 = IZR ((half - 1) * 2 ^ (k - j + 2)) * bpow radix2 (e - 1).
Proof.
split; [unfold U2; rewrite !power_real, <- !bpow_plus by lia; f_equal; ring|].
unfold U2. rewrite mult_IZR, Rmult_assoc, (power_real (k - j + 2)), <- bpow_plus by lia. do 2 f_equal. ring.
Qed.

Theorem repeated_rounding_2 :
  insert_delete (repeat U2 (Z.to_nat (half - 1)) ++ pairs) (repeat U2 (Z.to_nat half) ++ pairs)
  /\ format x2
  /\ format L2
  /\ format U2
  /\ sum_fl (repeat U2 (Z.to_nat half) ++ pairs) - sum_fl (repeat U2 (Z.to_nat (half - 1)) ++ pairs)
      = U2 + bpow radix2 (2 * j - (k + 3)) * U2.
Proof.
destruct halves_of as (H1 & H2 & H3 & H4).
assert (K2 : (2 ^ (k + 1) = 2 ^ k + 2 ^ k)%Z) by (rewrite Z.pow_add_r by lia; lia).
assert (K3 : (4 <= 2 ^ (k - j + 2))%Z) by (apply (Z.pow_le_mono_r 2 2); lia).
assert (K4 : (2 ^ (k - j + 2) = 2 * 2 ^ (k - j + 1))%Z)
  by (replace (k - j + 2)%Z with (1 + (k - j + 1))%Z by ring; rewrite Z.pow_add_r by lia; reflexivity). split.
{ replace (Z.to_nat half) with (S (Z.to_nat (half - 1))) by lia. cbn [repeat app]. apply (id_insert [] U2). }
assert (F : forall n, (Z.abs n <= 2 ^ (k + 1))%Z -> format (IZR n * bpow radix2 (e - k)))
  by (intros n Hn; apply multiple_format; auto; lia).
assert (P1 : bpow radix2 e = bpow radix2 k * bpow radix2 (e - k)) by (rewrite <- bpow_plus; f_equal; ring).
assert (P2 : bpow radix2 (- k) * bpow radix2 k = 1)
  by (rewrite <- bpow_plus; replace (- k + k)%Z with 0%Z by ring; reflexivity).
assert (P3 : bpow radix2 k = 2 * bpow radix2 (k - 1))
  by (replace k with (1 + (k - 1))%Z at 1 by ring; rewrite bpow_plus; reflexivity).
assert (P4 : (0 < 2 ^ (k - 1) <= 2 ^ k)%Z) by (split; [apply Z.pow_pos_nonneg; lia|apply Z.pow_le_mono_r; lia]).
split; [|split; [|split]].
- replace x2 with (IZR (2 ^ (k - 1) + 1) * bpow radix2 (e - k)); [apply F; lia|].
  unfold x2. rewrite plus_IZR, power_real, P1 by lia.
  replace ((/ 2 + bpow radix2 (- k)) * (bpow radix2 k * bpow radix2 (e - k)))
    with ((/ 2 * bpow radix2 k + bpow radix2 (- k) * bpow radix2 k) * bpow radix2 (e - k)) by ring.
  rewrite P2, P3. field.
- replace L2 with (IZR (- (2 ^ (k - 1) - 1)) * bpow radix2 (e - k)); [apply F; lia|].
  unfold L2. rewrite opp_IZR, minus_IZR, power_real, P1 by lia.
  replace (- (/ 2 - bpow radix2 (- k)) * (bpow radix2 k * bpow radix2 (e - k)))
    with (- (/ 2 * bpow radix2 k - bpow radix2 (- k) * bpow radix2 k) * bpow radix2 (e - k)) by ring.
  rewrite P2, P3. field.
- apply generic_format_FLT_bpow; auto with typeclass_instances. lia.
- unfold iterated. rewrite !fold_left_app, !tops by (rewrite Z2Nat.id; lia). rewrite !Z2Nat.id by lia. unfold pairs.
  destruct halves_in_steps as [S1 S2]. rewrite S1, climbs; rewrite ?Z2Nat.id by lia; try lia.
  rewrite S2, returns by nia. rewrite <- S2. rewrite plus_IZR, Rmult_plus_distr_r, <- S1, minus_IZR.
  replace (IZR (2 ^ (j - 2)) * bpow radix2 e) with (bpow radix2 (2 * j - (k + 3)) * U2); [ring|].
  unfold U2. rewrite power_real, <- !bpow_plus by lia. f_equal. ring.
Qed.

(** All records are within L and U. *)
Theorem repeated_rounding_2_within : Forall (within L2 U2) (repeat U2 (Z.to_nat half) ++ pairs).
Proof.
destruct eighth as [t0 t1]. assert (P := bpow_gt_0 radix2 e).
assert (B : 4 * bpow radix2 e <= U2) by (change 4 with (bpow radix2 2); rewrite <- bpow_plus; apply bpow_le; lia).
apply Forall_app. split.
- apply Forall_forall. intros x Hx. apply repeat_spec in Hx. subst x. unfold within, L2. split; nra.
- unfold pairs. generalize (Z.to_nat (2 ^ (j - 2))). intros n. induction n as [|n IH]; [constructor|].
  cbn [in_turn]. constructor; [|constructor; [|exact IH]]; unfold within, L2, x2; split; nra.
Qed.
End RepeatedTwo.

(** Rounding: 2^j copies of L add up to an even number of ulps. One more L makes a tie, which goes down to the even
    side; U is above the tie and goes up. *)
Section Rounding.
Variables k j m emin : Z.
Hypothesis j_2 : (2 <= j)%Z.
Hypothesis j_k : (j < k)%Z.
Hypothesis small : (emin <= m - k)%Z.

Local Instance pos : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_fl := (iterated (k + 1) emin (fun x => negb (Z.even x))).
Notation h := (bpow radix2 (m + j - k - 1)).

Definition odd_part := (2 ^ (k + 1 - j) + 1)%Z.
Notation a := odd_part.

Definition L := IZR (2 ^ (k + 1 - j) + 1) * bpow radix2 (m + j - k - 1).
Definition U := L + bpow radix2 (m - k).
Definition n := Z.to_nat (2 ^ j).

Lemma pow_IZR e : (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.

(** Up to 2^(k+1) halves of an ulp are added exactly; from there on sums are rounded to whole ulps. *)
Lemma added_exactly z : (0 <= z <= 2 ^ (k + 1))%Z -> fl (IZR z * h) = IZR z * h.
Proof. intros H. apply round_generic; auto with typeclass_instances. apply multiple_format; lia. Qed.

Lemma whole y :
  IZR (2 ^ k) <= y < IZR (2 ^ (k + 1))
  -> fl (y * bpow radix2 (m + j - k)) = IZR (ZnearestE y) * bpow radix2 (m + j - k).
Proof.
rewrite !pow_IZR by lia. intros [H1 H2]. generalize (bpow_gt_0 radix2 k); intros P. unfold round, scaled_mantissa.
assert (C : cexp radix2 (FLT_exp emin (k + 1)) (y * bpow radix2 (m + j - k)) = (m + j - k)%Z).
{ unfold cexp. rewrite mag_mult_bpow by lra. rewrite (mag_unique radix2 y (k + 1)); [unfold FLT_exp; lia|].
  rewrite Rabs_pos_eq by lra. replace (k + 1 - 1)%Z with k by ring. lra. }
rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). now rewrite Rmult_1_r.
Qed.

Lemma two_halves y : 2 * y * h = y * bpow radix2 (m + j - k).
Proof.
change 2 with (bpow radix2 1). rewrite (Rmult_comm (bpow radix2 1)), Rmult_assoc, <- bpow_plus. do 2 f_equal. ring.
Qed.

Lemma rounded_to_ulps z : (2 ^ (k + 1) <= z < 2 ^ (k + 2))%Z -> fl (IZR z * h) = IZR (2 * ZnearestE (IZR z / 2)) * h.
Proof.
intros [H1 H2]. replace (IZR z * h) with (2 * (IZR z / 2) * h) by field.
rewrite two_halves, whole, mult_IZR, two_halves.
- reflexivity.
- apply IZR_le in H1. apply IZR_lt in H2. replace (k + 2)%Z with (1 + (k + 1))%Z in H2 by ring.
  rewrite (Z.pow_add_r 2 1) in H2 by lia. replace (k + 1)%Z with (1 + k)%Z in H1 by ring.
  rewrite (Z.pow_add_r 2 1) in H1 by lia. change (2 ^ 1)%Z with 2%Z in *. rewrite mult_IZR in H1, H2. lra.
Qed.

Lemma nearest_half : ZnearestE (/ 2) = 0%Z.
Proof.
unfold Znearest. rewrite (Zfloor_imp 0) by (simpl; lra). rewrite Rminus_0_r, Rcompare_Eq by reflexivity. reflexivity.
Qed.

Lemma nearest_minus_half : ZnearestE (- / 2) = 0%Z.
Proof.
unfold Znearest. rewrite (Zfloor_imp (-1)) by (simpl; lra). replace (- / 2 - -1) with (/ 2) by lra.
rewrite Rcompare_Eq by reflexivity. simpl. apply Zceil_imp. simpl. lra.
Qed.

(** Of a tie the even ulp is taken: a multiple of four halves. *)
Lemma tie_1 q : (2 * ZnearestE (IZR (4 * q + 1) / 2) = 4 * q)%Z.
Proof.
replace (IZR (4 * q + 1) / 2) with (IZR (2 * q) + / 2) by (rewrite plus_IZR, !mult_IZR; field).
rewrite nearest_plus_even, nearest_half. ring.
Qed.

Lemma tie_3 q : (2 * ZnearestE (IZR (4 * q + 3) / 2) = 4 * q + 4)%Z.
Proof.
replace (IZR (4 * q + 3) / 2) with (IZR (2 * (q + 1)) + - / 2)
  by (rewrite mult_IZR, !plus_IZR, mult_IZR; field).
rewrite nearest_plus_even, nearest_minus_half. ring.
Qed.

Lemma no_tie q : (2 * ZnearestE (IZR (2 * q) / 2) = 2 * q)%Z.
Proof.
replace (IZR (2 * q) / 2) with (IZR q) by (rewrite mult_IZR; field).
rewrite Zrnd_IZR by auto with typeclass_instances. reflexivity.
Qed.

Lemma nearest_halves z :
  let r := (2 * ZnearestE (IZR z / 2))%Z in
  (z - 1 <= r <= z + 1)%Z /\ (Z.odd z = true -> r mod 4 = 0)%Z /\ (Z.even r = true).
Proof.
cbv zeta. assert (E : (z = 4 * (z / 4) + z mod 4)%Z) by (apply Z.div_mod; lia).
assert (B := Z.mod_pos_bound z 4 ltac:(lia)). set (q := (z / 4)%Z) in *. set (r := (z mod 4)%Z) in *. rewrite E.
assert (r = 0 \/ r = 1 \/ r = 2 \/ r = 3)%Z as [-> | [-> | [-> | ->]]] by lia.
- replace (4 * q + 0)%Z with (2 * (2 * q))%Z by ring. rewrite no_tie. repeat split; try lia.
  + rewrite Z.odd_mul. discriminate.
  + now rewrite Z.even_mul.
- rewrite tie_1. repeat split; try lia.
  + intros _. rewrite Z.mul_comm. apply Z.mod_mul. lia.
  + now rewrite Z.even_mul.
- replace (4 * q + 2)%Z with (2 * (2 * q + 1))%Z by ring. rewrite no_tie. repeat split; try lia.
  + rewrite Z.odd_mul. discriminate.
  + now rewrite Z.even_mul.
- rewrite tie_3. repeat split; try lia.
  + intros _. replace (4 * q + 4)%Z with ((q + 1) * 4)%Z by ring. apply Z.mod_mul. lia.
  + replace (4 * q + 4)%Z with (2 * (2 * (q + 1)))%Z by ring. now rewrite Z.even_mul.
Qed.

Lemma sizes :
  (a = 4 * 2 ^ (k - 1 - j) + 1
   /\ 0 < 2 ^ (k - 1 - j)
   /\ 2 ^ j * a = 2 ^ (k + 1) + 2 ^ j
   /\ 2 ^ j = 4 * 2 ^ (j - 2)
   /\ 0 < 2 ^ (j - 2)
   /\ 2 ^ (k + 1) = 4 * 2 ^ (k - 1)
   /\ 2 ^ (k + 2) = 8 * 2 ^ (k - 1)
   /\ 2 ^ j <= 2 ^ (k - 1)
   /\ 4 * 2 ^ (k - 1 - j) <= 2 ^ (k - 1)
   /\ 4 <= 2 ^ (k - 1))%Z.
Proof.
unfold odd_part. replace (k + 1 - j)%Z with (2 + (k - 1 - j))%Z by ring.
rewrite (Z.pow_add_r 2 2) by lia. change (2 ^ 2)%Z with 4%Z.
assert (0 < 2 ^ (k - 1 - j))%Z by (apply Z.pow_pos_nonneg; lia).
assert (0 < 2 ^ (j - 2))%Z by (apply Z.pow_pos_nonneg; lia).
assert (E1 : (2 ^ j = 4 * 2 ^ (j - 2))%Z)
  by (replace j with (2 + (j - 2))%Z at 1 by ring; now rewrite Z.pow_add_r by lia).
assert (E2 : (2 ^ (k + 1) = 4 * 2 ^ (k - 1))%Z)
  by (replace (k + 1)%Z with (2 + (k - 1))%Z by ring; now rewrite Z.pow_add_r by lia).
assert (E3 : (2 ^ (k + 2) = 8 * 2 ^ (k - 1))%Z)
  by (replace (k + 2)%Z with (3 + (k - 1))%Z by ring; now rewrite Z.pow_add_r by lia).
assert (E4 : (2 ^ j * 2 ^ (k - 1 - j) = 2 ^ (k - 1))%Z) by (rewrite <- Z.pow_add_r by lia; f_equal; ring).
assert (2 ^ j <= 2 ^ (k - 1))%Z by (apply Z.pow_le_mono_r; lia).
assert (2 ^ 2 <= 2 ^ (k - 1))%Z by (apply Z.pow_le_mono_r; lia). change (2 ^ 2)%Z with 4%Z in *.
repeat split; try lia; nia.
Qed.

(** The sum of i copies of L, in halves of an ulp: exact below 2^(k+1), and then a multiple of
    four, but perhaps for the first one above. *)
Definition reached (i : nat) (z : Z) : Prop :=
  (z = Z.of_nat i * a /\ z < 2 ^ (k + 1))%Z
  \/ (2 ^ (k + 1) <= z <= Z.of_nat i * (a + 1))%Z
    /\ Z.even z = true
    /\ ((z mod 4 = 0)%Z \/ (z = 2 * ZnearestE (IZR (Z.of_nat i * a) / 2))%Z).

Lemma run i : (i <= n)%nat -> exists z, fold_left (fun s x => fl (s + x)) (repeat L i) 0 = IZR z * h /\ reached i z.
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3).
induction i as [|i IH]; intros H.
- exists 0%Z. split; [simpl; ring|]. left. split; [reflexivity|lia].
- destruct IH as (z & Ez & R); [lia|].
  assert (Hi : (Z.of_nat (S i) <= 2 ^ j)%Z) by (unfold n in H; lia).
  change (repeat L (S i)) with (repeat L (1 + i)). rewrite Nat.add_comm, repeat_app, fold_left_app, Ez.
  cbn [repeat fold_left].
  replace (IZR z * h + L) with (IZR (z + a) * h) by (unfold L, odd_part; rewrite (plus_IZR z); ring).
  destruct (nearest_halves (z + a)) as (N1 & N2 & N3).
  assert (Ei : Z.of_nat (S i) = (Z.of_nat i + 1)%Z) by lia. rewrite Ei in *. assert (I0 : (0 <= Z.of_nat i)%Z) by lia.
  set (i' := Z.of_nat i) in *. assert (a0 : (0 <= a)%Z) by lia.
  assert (T : ((i' + 1) * a <= 2 ^ j * a)%Z) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (T0 : (0 <= (i' + 1) * a)%Z) by (apply Z.mul_nonneg_nonneg; lia).
  assert (T1 : ((i' + 1) * (a + 1) = (i' + 1) * a + i' + 1)%Z) by ring.
  assert (T2 : ((i' + 1) * (a + 1) = i' * (a + 1) + a + 1)%Z) by ring.
  destruct R as [[Rz R]|(R1 & R2 & R3)].
  + assert (Z1 : (z + a = (i' + 1) * a)%Z) by (unfold i'; rewrite Rz; ring). rewrite Z1 in *.
    destruct (Z_lt_le_dec ((i' + 1) * a) (2 ^ (k + 1))) as [s|s].
    * exists ((i' + 1) * a)%Z. split; [apply added_exactly; lia|]. left. rewrite Ei. split; [reflexivity|exact s].
    * exists (2 * ZnearestE (IZR ((i' + 1) * a) / 2))%Z. split; [apply rounded_to_ulps; lia|]. right. rewrite Ei.
      assert (E4 : (2 ^ (k + 1) = 2 * (2 * 2 ^ (k - 1)))%Z) by lia.
      assert (B : (2 ^ (k + 1) <= 2 * ZnearestE (IZR ((i' + 1) * a) / 2))%Z).
      { destruct (Z.eq_dec ((i' + 1) * a) (2 ^ (k + 1))) as [e|e]; [rewrite e, E4, no_tie|]; lia. }
      split; [lia|]. split; [exact N3|]. right. reflexivity.
  + fold i' in R1. exists (2 * ZnearestE (IZR (z + a) / 2))%Z. split; [apply rounded_to_ulps; lia|]. right. rewrite Ei.
    assert (O : Z.odd (z + a) = true).
    { rewrite Z.odd_add, Ea, Z.odd_add, Z.odd_mul. rewrite <- Z.negb_even, R2. reflexivity. }
    split; [lia|]. split; [exact N3|]. left. exact (N2 O).
Qed.

Lemma all_copies :
  exists z,
    fold_left (fun s x => fl (s + x)) (repeat L n) 0 = IZR (4 * z) * h
    /\ (2 ^ (k + 1) <= 4 * z <= 2 ^ (k + 1) + 2 * 2 ^ j)%Z.
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3).
destruct (run n (le_n n)) as (z & Ez & R). assert (Hn : Z.of_nat n = (2 ^ j)%Z) by (unfold n; lia).
unfold reached in R. rewrite Hn, En in R.
assert (T : (2 ^ j * (a + 1) = 2 ^ (k + 1) + 2 * 2 ^ j)%Z) by (rewrite Z.mul_add_distr_l, En; ring).
assert (M : (z mod 4 = 0 /\ 2 ^ (k + 1) <= z <= 2 ^ (k + 1) + 2 * 2 ^ j)%Z).
{ destruct R as [[-> R]|(R1 & R2 & [R3|R3])]; [lia| |].
  - split; [exact R3|]. lia.
  - split; [|lia]. rewrite R3. replace (2 ^ (k + 1) + 2 ^ j)%Z with (2 * (2 * (2 ^ (k - 1) + 2 ^ (j - 2))))%Z by lia.
    rewrite no_tie. replace (2 * (2 * (2 ^ (k - 1) + 2 ^ (j - 2))))%Z with ((2 ^ (k - 1) + 2 ^ (j - 2)) * 4)%Z by ring.
    apply Z.mod_mul. lia. }
destruct M as [M B]. exists (z / 4)%Z. assert (E := Z.div_mod z 4 ltac:(lia)). rewrite M, Z.add_0_r in E.
rewrite <- E. auto.
Qed.

Lemma bounds_are_floats : format L /\ format U.
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3).
split; [unfold L; fold odd_part; apply multiple_format; lia|].
unfold U, L. replace (m + j - k - 1)%Z with (j - 1 + (m - k))%Z by ring.
rewrite bpow_plus, <- pow_IZR by lia.
rewrite <- Rmult_assoc, <- mult_IZR.
replace (IZR ((2 ^ (k + 1 - j) + 1) * 2 ^ (j - 1)) * bpow radix2 (m - k) + bpow radix2 (m - k)) with
  (IZR ((2 ^ (k + 1 - j) + 1) * 2 ^ (j - 1) + 1) * bpow radix2 (m - k)) by (rewrite plus_IZR; ring).
apply multiple_format; try lia. rewrite Z.mul_add_distr_r, <- Z.pow_add_r by lia.
replace (k + 1 - j + (j - 1))%Z with k by ring. rewrite (Z.pow_add_r 2 k 1) by lia.
assert (2 ^ (j - 1) < 2 ^ k)%Z by (apply Z.pow_lt_mono_r; lia). generalize (Z.pow_nonneg 2 (j - 1)); lia.
Qed.

(** The last record decides whether an even number of ulps gets one more. *)
Lemma last_record z :
  (2 ^ (k + 1) <= 4 * z <= 2 ^ (k + 1) + 2 * 2 ^ j)%Z
  -> fl (IZR (4 * z) * h + L) = IZR (2 * (2 * z + 2 * 2 ^ (k - 1 - j))) * h
     /\ fl (IZR (4 * z) * h + U) = IZR (2 * (2 * z + 2 * 2 ^ (k - 1 - j) + 1)) * h.
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3). intros B. set (c := (2 ^ (k - 1 - j))%Z) in *. split.
- replace (IZR (4 * z) * h + L) with (IZR (4 * (z + c) + 1) * h).
  + rewrite rounded_to_ulps by lia. rewrite tie_1. f_equal. f_equal. ring.
  + unfold L. fold odd_part. rewrite Ea, !plus_IZR, !mult_IZR, !plus_IZR. ring.
- assert (Bj : bpow radix2 (1 - j) <= / 2) by (change (/ 2) with (bpow radix2 (-1)); apply bpow_le; lia).
  assert (B0 : 0 < bpow radix2 (1 - j)) by apply bpow_gt_0.
  assert (Eh : bpow radix2 (m - k) = bpow radix2 (1 - j) * h) by (rewrite <- bpow_plus; f_equal; ring).
  replace (IZR (4 * z) * h + U) with (2 * (IZR (2 * z + 2 * c) + (/ 2 + bpow radix2 (1 - j) / 2)) * h).
  + rewrite two_halves, whole.
    * replace (IZR (2 * z + 2 * c)) with (IZR (2 * (z + c))) by (f_equal; ring). rewrite nearest_plus_even.
      replace (ZnearestE (/ 2 + bpow radix2 (1 - j) / 2)) with 1%Z.
      -- rewrite <- two_halves, <- mult_IZR. f_equal. f_equal. ring.
      -- symmetry. apply Znearest_imp. apply Rabs_lt; lra.
    * assert (T1 : (2 ^ k <= 2 * z + 2 * c)%Z).
      { replace (2 ^ (k + 1))%Z with (2 * 2 ^ k)%Z in B by (rewrite Z.pow_add_r by lia; ring). lia. }
      assert (T2 : (2 * z + 2 * c + 1 <= 2 ^ (k + 1))%Z) by lia.
      apply IZR_le in T1, T2. rewrite (plus_IZR _ 1) in T2. lra.
  + unfold U, L. fold odd_part. rewrite Eh, Ea, !plus_IZR, !mult_IZR. field.
Qed.

Lemma one_ulp_apart z : IZR (2 * (z + 1)) * h - IZR (2 * z) * h = bpow radix2 j * (U - L).
Proof.
rewrite !(mult_IZR 2), (plus_IZR z 1). replace (2 * (IZR z + 1) * h - 2 * IZR z * h) with (2 * 1 * h) by ring.
rewrite two_halves, Rmult_1_l. unfold U. replace (L + bpow radix2 (m - k) - L) with (bpow radix2 (m - k)) by ring.
rewrite <- bpow_plus. f_equal. ring.
Qed.

Lemma iterated_sums : sum_fl (repeat L n ++ [U]) - sum_fl (repeat L n ++ [L]) = bpow radix2 j * (U - L).
Proof.
destruct all_copies as (z & Ez & B). unfold iterated. rewrite !fold_left_app, Ez. cbn [fold_left].
destruct (last_record z B) as [-> ->]. apply one_ulp_apart.
Qed.

Lemma total_below : sum_fl (repeat L n ++ [U]) < bpow radix2 (m + j + 1).
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3).
destruct all_copies as (z & Ez & B). unfold iterated. rewrite fold_left_app, Ez. cbn [fold_left].
destruct (last_record z B) as [_ ->].
replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h) by (rewrite pow_IZR, <- bpow_plus by lia; f_equal; ring).
apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
Qed.

(** Kahan's sum of copies of L is their exact sum, rounded once; the compensation is what was rounded off. *)
Notation kahan_fl := (kahan (k + 1) emin).

Definition rounded_once (z : Z) := if (z <? 2 ^ (k + 1))%Z then z else (2 * ZnearestE (IZR z / 2))%Z.

Lemma rounds_once z : (0 <= z < 2 ^ (k + 2))%Z -> fl (IZR z * h) = IZR (rounded_once z) * h.
Proof.
intros H. unfold rounded_once. case Z.ltb_spec; intros; [apply added_exactly|apply rounded_to_ulps]; lia.
Qed.

Lemma off_by_one z : (z - 1 <= rounded_once z <= z + 1)%Z.
Proof. unfold rounded_once. case Z.ltb_spec; intros; [lia|]. apply nearest_halves. Qed.

Lemma few_halves z : (Z.abs z <= 2 ^ (k + 1))%Z -> fl (IZR z * h) = IZR z * h.
Proof. intros H. apply round_generic; auto with typeclass_instances. apply multiple_format; lia. Qed.

Definition state (i : nat) :=
  (IZR (rounded_once (Z.of_nat i * a)) * h, IZR (rounded_once (Z.of_nat i * a) - Z.of_nat i * a) * h).

Lemma one_copy i :
  (S i <= n)%nat
  -> step (k + 1) emin (state i) L = state (S i)
     /\ fst (state (S i)) < bpow radix2 (m + j + 1)
     /\ 0 <= fl (L - snd (state i)).
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3). intros H. unfold state. cbn [fst snd].
assert (Hi : (Z.of_nat (S i) <= 2 ^ j)%Z) by (unfold n in H; lia).
replace (Z.of_nat (S i) * a)%Z with (Z.of_nat i * a + a)%Z by lia.
assert (T0 : (0 <= Z.of_nat i * a)%Z) by (apply Z.mul_nonneg_nonneg; lia).
assert (T : (Z.of_nat (S i) * a <= 2 ^ j * a)%Z) by (apply Z.mul_le_mono_nonneg_r; lia).
replace (Z.of_nat (S i) * a)%Z with (Z.of_nat i * a + a)%Z in T by lia. set (z := (Z.of_nat i * a)%Z) in *.
assert (N := off_by_one z). assert (N' := off_by_one (z + a)). set (s := rounded_once z) in *.
unfold step.
replace (L - IZR (s - z) * h) with (IZR (a - (s - z)) * h) by (unfold L; fold odd_part; rewrite (minus_IZR a); ring).
rewrite few_halves by lia. repeat split.
- replace (IZR s * h + IZR (a - (s - z)) * h) with (IZR (z + a) * h)
    by (rewrite <- Rmult_plus_distr_r, <- plus_IZR; f_equal; f_equal; ring).
  rewrite rounds_once by lia. set (s' := rounded_once (z + a)) in *. f_equal.
  rewrite <- Rmult_minus_distr_r, <- minus_IZR, few_halves by lia.
  rewrite <- Rmult_minus_distr_r, <- minus_IZR, few_halves by lia. f_equal. f_equal. ring.
- replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h)
    by (rewrite pow_IZR, <- bpow_plus by lia; f_equal; ring).
  apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
- apply Rmult_le_pos; [apply IZR_le; lia|apply bpow_ge_0].
Qed.

Lemma no_copies : state 0 = (0, 0).
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3).
unfold state, rounded_once. rewrite (proj2 (Z.ltb_lt _ _)) by lia. rewrite Z.sub_diag. f_equal; simpl; ring.
Qed.

Lemma compensated i : (i <= n)%nat -> fold_left (step (k + 1) emin) (repeat L i) (0, 0) = state i.
Proof.
induction i as [|i IH]; intros H; [now rewrite no_copies|].
change (repeat L (S i)) with (repeat L (1 + i)). rewrite Nat.add_comm, repeat_app, fold_left_app, IH by lia.
cbn [repeat fold_left]. now apply one_copy.
Qed.

Lemma all_compensated :
  state n = (IZR (4 * (2 ^ (k - 1) + 2 ^ (j - 2))) * h, 0)
  /\ IZR (4 * (2 ^ (k - 1) + 2 ^ (j - 2))) * h < bpow radix2 (m + j + 1).
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3). split.
- unfold state. replace (Z.of_nat n * a)%Z with (4 * (2 ^ (k - 1) + 2 ^ (j - 2)))%Z
    by (unfold n; rewrite Z2Nat.id by lia; lia).
  assert (E : rounded_once (4 * (2 ^ (k - 1) + 2 ^ (j - 2))) = (4 * (2 ^ (k - 1) + 2 ^ (j - 2)))%Z).
  { unfold rounded_once. case Z.ltb_spec; intros; [reflexivity|].
    replace (4 * (2 ^ (k - 1) + 2 ^ (j - 2)))%Z with (2 * (2 * (2 ^ (k - 1) + 2 ^ (j - 2))))%Z by ring. apply no_tie. }
  rewrite E, Z.sub_diag, Rmult_0_l. reflexivity.
- replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h)
    by (rewrite pow_IZR, <- bpow_plus by lia; f_equal; ring).
  apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
Qed.

Lemma kahan_sums :
  kahan_fl (repeat L n ++ [U]) - kahan_fl (repeat L n ++ [L]) = bpow radix2 j * (U - L)
  /\ kahan_fl (repeat L n ++ [U]) < bpow radix2 (m + j + 1).
Proof.
destruct sizes as (Ea & A & En & Ej & J & K1 & K2 & H1 & H2 & H3). destruct bounds_are_floats as [FL FU].
destruct all_compensated as [C _].
assert (S : forall x, format x -> kahan_fl (repeat L n ++ [x]) = fl (IZR (4 * (2 ^ (k - 1) + 2 ^ (j - 2))) * h + x)).
{ intros x Fx. unfold kahan. rewrite fold_left_app, compensated, C by lia. cbn [fold_left step fst].
  rewrite Rminus_0_r, (round_generic _ _ _ x) by auto with typeclass_instances. reflexivity. }
rewrite !S by auto. destruct (last_record (2 ^ (k - 1) + 2 ^ (j - 2))) as [-> ->]; [lia|].
split; [apply one_ulp_apart|].
replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h) by (rewrite pow_IZR, <- bpow_plus by lia; f_equal; ring).
apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia.
Qed.

Lemma pair_within (Q : R -> Prop) x : Q L -> Q x -> Forall Q (repeat L n ++ [x]).
Proof.
intros QL Qx. apply Forall_app; split; [|now constructor]. apply Forall_forall. intros y Hy.
apply repeat_spec in Hy. now subst.
Qed.

Lemma bounds_in_order : L < U.
Proof. unfold U. generalize (bpow_gt_0 radix2 (m - k)). lra. Qed.

Lemma bound_positive : 0 <= L.
Proof.
apply Rmult_le_pos; [|apply bpow_ge_0]. apply IZR_le. generalize (Z.pow_nonneg 2 (k + 1 - j)). lia.
Qed.

(** The two datasets are an attack on every sum that is so far apart on them. *)
Lemma the_pair_attacks (sum : list R -> R) :
  sum (repeat L n ++ [U]) - sum (repeat L n ++ [L]) = bpow radix2 j * (U - L)
  -> exists d d',
      hamming d d'
      /\ Forall (fun x => format x) d
      /\ Forall (fun x => format x) d'
      /\ Forall (within L U) d
      /\ Forall (within L U) d'
      /\ Rabs (sum d - sum d') = bpow radix2 j * (U - L).
Proof.
intros E. destruct bounds_are_floats as [FL FU]. assert (LU := bounds_in_order). assert (P := bpow_gt_0 radix2 j).
exists (repeat L n ++ [U]), (repeat L n ++ [L]). split; [constructor|].
repeat split; try (apply pair_within; auto; unfold within; lra).
rewrite E, Rabs_pos_eq; nra.
Qed.

Theorem rounding_attack :
  exists d d',
    hamming d d'
    /\ Forall (fun x => format x) d
    /\ Forall (fun x => format x) d'
    /\ Forall (within L U) d
    /\ Forall (within L U) d'
    /\ Rabs (sum_fl d - sum_fl d') = bpow radix2 j * (U - L).
Proof. exact (the_pair_attacks sum_fl iterated_sums). Qed.

Theorem rounding_attack_on_kahan :
  exists d d',
    hamming d d'
    /\ Forall (fun x => format x) d
    /\ Forall (fun x => format x) d'
    /\ Forall (within L U) d
    /\ Forall (within L U) d'
    /\ Rabs (kahan_fl d - kahan_fl d') = bpow radix2 j * (U - L).
Proof. exact (the_pair_attacks kahan_fl (proj1 kahan_sums)). Qed.

(** So no bound below 2^j (U - L) holds: in particular not the ideal one. *)
Corollary not_ideal :
  exists d d', hamming d d' /\ Forall (within L U) d /\ Forall (within L U) d' /\ U - L < Rabs (sum_fl d - sum_fl d').
Proof.
destruct rounding_attack as (d & d' & H & _ & _ & W & W' & E). exists d, d'. rewrite E.
repeat split; auto. assert (0 < U - L) by (unfold U; generalize (bpow_gt_0 radix2 (m - k)); lra).
assert (4 <= bpow radix2 j) by (change 4 with (bpow radix2 2); apply bpow_le; lia). nra.
Qed.
End Rounding.
