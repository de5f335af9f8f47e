(** Rounding (docs/theorems/attack_proofs.md): one changed record moves a float sum, and Kahan's, by 2^j (U - L), for
    every k and every 2 <= j < k. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums Grid GridKernel Trees Iterated Kahan Steps.
Import ListNotations.
Open Scope R_scope.

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

(** Up to 2^(k+1) halves of an ulp are added exactly; from there on sums are rounded to whole ulps. *)
Lemma added_exactly z : (0 <= z <= 2 ^ (k + 1))%Z -> fl (IZR z * h) = IZR z * h.
Proof. intros H. apply round_generic; auto with typeclass_instances. apply multiple_format; lia. Qed.

Lemma whole y :
  IZR (2 ^ k) <= y < IZR (2 ^ (k + 1))
  -> fl (y * bpow radix2 (m + j - k)) = IZR (ZnearestE y) * bpow radix2 (m + j - k).
Proof.
rewrite !pow_real by lia. intros [H1 H2]. generalize (bpow_gt_0 radix2 k); intros P. unfold round, scaled_mantissa.
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
rewrite bpow_plus, <- pow_real by lia.
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
replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h)
  by (rewrite pow_real, <- bpow_plus by lia; f_equal; ring).
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
    by (rewrite pow_real, <- bpow_plus by lia; f_equal; ring).
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
    by (rewrite pow_real, <- bpow_plus by lia; f_equal; ring).
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
replace (bpow radix2 (m + j + 1)) with (IZR (2 ^ (k + 2)) * h)
  by (rewrite pow_real, <- bpow_plus by lia; f_equal; ring).
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
