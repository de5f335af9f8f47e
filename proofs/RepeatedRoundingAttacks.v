(** Repeated rounding (docs/theorems/attack_proofs.md): one record more moves a float sum by 2^j U (I), or by U + n^2 /
    2^(k+3) U with n = 2^j records (II). *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums GridKernel Trees Iterated Steps.
Import ListNotations.
Open Scope R_scope.

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

Lemma next_power : IZR (2 ^ (k + 1)) = 2 * bpow radix2 k.
Proof. rewrite pow_real, bpow_plus by lia. change (bpow radix2 1) with 2. ring. Qed.

(** From q steps of 2^e on, adding a little over a half step, or a little over a step, moves by one step. *)
Lemma one_up q e :
  (emin <= e)%Z -> (2 ^ k <= q < 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 (e - 1)) = IZR (q + 1) * bpow radix2 e.
Proof.
intros He [A B]. destruct tiny as [t0 t1]. assert (B' : (q + 1 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in A, B'.
rewrite pow_real in A by lia. rewrite plus_IZR, next_power in B'.
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
rewrite pow_real in A by lia.
destruct (Z.eq_dec (q + 1) (2 ^ (k + 1))) as [E|E].
- assert (Eq : IZR q + 1 = 2 * bpow radix2 k) by (rewrite <- next_power, <- E, plus_IZR; ring).
  replace (IZR q * bpow radix2 e + (1 + bpow radix2 (- k)) * bpow radix2 e)
    with ((bpow radix2 k + / 2 * bpow radix2 (- k)) * bpow radix2 (e + 1)).
  + rewrite rounds_to; auto;
    [|lia|rewrite bpow_plus; change (bpow radix2 1) with 2; split; [lra|];
     assert (1 <= bpow radix2 k) by (change 1 with (bpow radix2 0); apply bpow_le; lia); lra].
    replace (ZnearestE (bpow radix2 k + / 2 * bpow radix2 (- k))) with (2 ^ k)%Z.
    * rewrite E, !pow_real, <- !bpow_plus by lia. f_equal. ring.
    * symmetry. apply Znearest_imp. rewrite pow_real by lia. apply Rabs_lt; lra.
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
replace (bpow radix2 (k + e)) with (IZR (2 ^ k) * bpow radix2 e)
  by (rewrite pow_real, <- bpow_plus by lia; reflexivity).
rewrite G; rewrite ?Z2Nat.id by lia; try lia. rewrite <- K2, pow_real, <- bpow_plus by lia. f_equal. ring.
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
- rewrite plus_IZR, pow_real by lia. unfold Zminus. rewrite (bpow_plus radix2 _ (- k)).
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

Lemma twice_real : bpow radix2 (k + 1) = 2 * bpow radix2 k.
Proof. rewrite bpow_plus. change (bpow radix2 1) with 2. ring. Qed.

(** One record x and one L, from q steps on: in the upper binade and in the lower. *)
Lemma pair_up q :
  (2 ^ k <= q)%Z -> (q + 1 < 2 ^ (k + 1))%Z
  -> fl (IZR q * bpow radix2 e + x2) = IZR (q + 1) * bpow radix2 e
     /\ fl (IZR (q + 1) * bpow radix2 e + L2) = IZR (q + 1) * bpow radix2 e.
Proof.
destruct eighth as [t0 t1]. intros A B. apply IZR_le in A. rewrite pow_real in A by lia.
assert (B' : (q + 1 + 1 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in B'.
rewrite !plus_IZR, pow_real, twice_real in B' by lia.
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
destruct eighth as [t0 t1]. intros A Hn. apply IZR_le in A. rewrite pow_real in A by lia.
apply IZR_le in Hn. rewrite plus_IZR, pow_real, twice_real in Hn by lia.
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
split; [unfold U2; rewrite !pow_real, <- !bpow_plus by lia; f_equal; ring|].
unfold U2. rewrite mult_IZR, Rmult_assoc, (pow_real (k - j + 2)), <- bpow_plus by lia. do 2 f_equal. ring.
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
  unfold x2. rewrite plus_IZR, pow_real, P1 by lia.
  replace ((/ 2 + bpow radix2 (- k)) * (bpow radix2 k * bpow radix2 (e - k)))
    with ((/ 2 * bpow radix2 k + bpow radix2 (- k) * bpow radix2 k) * bpow radix2 (e - k)) by ring.
  rewrite P2, P3. field.
- replace L2 with (IZR (- (2 ^ (k - 1) - 1)) * bpow radix2 (e - k)); [apply F; lia|].
  unfold L2. rewrite opp_IZR, minus_IZR, pow_real, P1 by lia.
  replace (- (/ 2 - bpow radix2 (- k)) * (bpow radix2 k * bpow radix2 (e - k)))
    with (- (/ 2 * bpow radix2 k - bpow radix2 (- k) * bpow radix2 k) * bpow radix2 (e - k)) by ring.
  rewrite P2, P3. field.
- apply generic_format_FLT_bpow; auto with typeclass_instances. lia.
- unfold iterated. rewrite !fold_left_app, !tops by (rewrite Z2Nat.id; lia). rewrite !Z2Nat.id by lia. unfold pairs.
  destruct halves_in_steps as [S1 S2]. rewrite S1, climbs; rewrite ?Z2Nat.id by lia; try lia.
  rewrite S2, returns by nia. rewrite <- S2. rewrite plus_IZR, Rmult_plus_distr_r, <- S1, minus_IZR.
  replace (IZR (2 ^ (j - 2)) * bpow radix2 e) with (bpow radix2 (2 * j - (k + 3)) * U2); [ring|].
  unfold U2. rewrite pow_real, <- !bpow_plus by lia. f_equal. ring.
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
