(** Finite attacks (docs/theorems/attack_proofs.md): the attacks on float sums in IEEE arithmetic, of any precision and
    exponent range.

    There floats have a largest value. For each attack a condition that can be computed says for which parameters every
    record and every sum on the way is finite; under it IEEE additions move the sum by just as much as without a largest
    value (the files named Attack). In binary64, binary32, binary16 and bfloat16 there is a scale at which each attack
    fits, for all its other parameters (for trees, of up to 2^emax records). Here are also the attacks that need IEEE
    arithmetic: a NaN, an infinity, and a sum beyond the largest value. *)

From Coq Require Import List Permutation Bool ZArith Reals Lra Lia.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary.
From Soundsum Require Import Relations Sums GridKernel Trees Pairwise Iterated Kahan Binary64 Overflow Steps
  IntegerAttacks ReorderingAttack ResultRoundingAttack TreeRoundingAttack RepeatedRoundingAttacks RoundingAttack.
Import ListNotations.

(** The conditions, of k mantissa bits and values below 2^emax. The smallest value is 2^(2 - emax - k). *)
Section Conditions.
Open Scope Z_scope.
Open Scope bool_scope.
Variables k emax : Z.
Definition smallest := 3 - emax - (k + 1).

Definition reordering_fits (a d j : Z) : bool :=
  (0 <=? a) && (1 <=? d) && (a + d <=? k + 1) && (smallest <=? j)
  && (j + k + (if a =? 0 then 3 else 2) <=? emax).

Definition rounding_fits (j m : Z) : bool := (2 <=? j) && (j <? k) && (smallest <=? m - k) && (m + j + 1 <=? emax).

Definition result_rounding_fits (j m : Z) : bool :=
  (1 <=? j) && (j <=? k) && (smallest <=? m - k) && (k + m + j + 1 <=? emax).

(** L = (2 i + 1) 2^e. *)
Definition tree_rounding_fits (j i e : Z) : bool :=
  (0 <=? j) && (smallest <=? e) && (2 ^ k <=? 2 * i + 1) && (2 * i + 1 <? 2 ^ (k + 1))
  && (e + k + j + (if 2 * i + 2 =? 2 ^ (k + 1) then 2 else 1) <=? emax).

Definition repeated_rounding_1_fits (j m : Z) : bool :=
  (1 <=? j) && (j <=? k) && (smallest <=? m - k) && (k + m + j + 2 <=? emax).

(** U = 2^v. *)
Definition repeated_rounding_2_fits (j v : Z) : bool :=
  (2 <=? j) && (j <? k) && (smallest <=? v + j - 1 - 2 * k) && (v + j <=? emax).
End Conditions.

Ltac read_condition :=
  repeat match goal with
         | H : (_ && _)%bool = true |- _ => apply andb_prop in H as [? ?]
         | H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H
         | H : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in H
         end.

Open Scope R_scope.

Section Ieee.
Variables k emax : Z.
Hypothesis k_2 : (2 <= k)%Z.
Context (prec_pos : Prec_gt_0 (k + 1)) (prec_emax : Prec_lt_emax (k + 1) emax).
Notation prec := (k + 1)%Z.
Notation emin := (3 - emax - (k + 1))%Z.
Notation float := (binary_float prec emax).
Notation format := (generic_format radix2 (FLT_exp emin prec)).
Notation fl := (round radix2 (FLT_exp emin prec) ZnearestE).
Notation B2R := (Binary.B2R prec emax).
Notation finite := (Binary.is_finite prec emax).
Notation top := (bpow radix2 emax).
Variable payload : float -> float -> { x : float | Binary.is_nan prec emax x = true }.
Notation plus := (Overflow.plus prec emax prec_pos prec_emax payload).
Notation minus := (Overflow.minus prec emax prec_pos prec_emax payload).
Notation zero := (Overflow.zero prec emax).
Notation sum_fl := (iterated prec emin even).

(** One operation whose result is below 2^emax. *)
Lemma adds (x y : float) :
  finite x = true -> finite y = true -> Rabs (fl (B2R x + B2R y)) < top
  -> finite (plus x y) = true /\ B2R (plus x y) = fl (B2R x + B2R y).
Proof.
intros Fx Fy H. generalize (Binary.Bplus_correct prec emax prec_pos prec_emax payload mode_NE x y Fx Fy).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|exact H].
Qed.

Lemma subtracts (x y : float) :
  finite x = true -> finite y = true -> Rabs (fl (B2R x - B2R y)) < top
  -> finite (minus x y) = true /\ B2R (minus x y) = fl (B2R x - B2R y).
Proof.
intros Fx Fy H. generalize (Binary.Bminus_correct prec emax prec_pos prec_emax payload mode_NE x y Fx Fy).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl.
rewrite Rlt_bool_true; [intros (E & F & _); auto|exact H].
Qed.

(** The float of a real number that is one. *)
Definition float_of (x : R) : float :=
  Binary.binary_normalize prec emax prec_pos prec_emax mode_NE
    (Ztrunc (scaled_mantissa radix2 (FLT_exp emin prec) x)) (cexp radix2 (FLT_exp emin prec) x) false.

Definition value (x : R) := format x /\ Rabs x < top.

Lemma float_of_value x : value x -> finite (float_of x) = true /\ B2R (float_of x) = x.
Proof.
intros [F B]. assert (Fx := F). unfold float_of.
generalize (Binary.binary_normalize_correct prec emax prec_pos prec_emax mode_NE
  (Ztrunc (scaled_mantissa radix2 (FLT_exp emin prec) x)) (cexp radix2 (FLT_exp emin prec) x) false).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl. unfold generic_format in F at 1.
set (y := F2R _) in *. clearbody y. subst y. rewrite (round_generic _ _ _ x) by auto with typeclass_instances.
rewrite Rlt_bool_true by exact B. intros (E1 & E2 & _). auto.
Qed.

Lemma floats_of_values d :
  Forall value d -> Forall (fun x => finite x = true) (map float_of d) /\ map B2R (map float_of d) = d.
Proof.
induction 1 as [|x d Hx H [I1 I2]]; [split; constructor|]. destruct (float_of_value x Hx) as [A B]. cbn [map]. split.
- constructor; auto.
- now rewrite B, I2.
Qed.

(** Sums in sequence: all of them stay below 2^emax. *)
Notation add := (fun s x => fl (s + x)).

Fixpoint stays (s : R) (l : list R) : Prop :=
  Rabs s < top /\ match l with [] => True | x :: l => stays (fl (s + x)) l end.

Lemma stays_app l l' : forall s, stays s l -> stays (fold_left add l s) l' -> stays s (l ++ l').
Proof.
induction l as [|x l IH]; intros s H H'; [exact H'|]. destruct H as [H1 H2]. split; [exact H1|]. now apply IH.
Qed.

Lemma stays_in_ieee l :
  forall s : float,
    finite s = true -> Forall (fun x => finite x = true) l -> stays (B2R s) (map B2R l)
    -> (forall i, finite (fold_left plus (firstn i l) s) = true)
       /\ B2R (fold_left plus l s) = fold_left add (map B2R l) (B2R s).
Proof.
induction l as [|x l IH]; intros s Fs F S; [split; [intros [|i]|]; auto|]. destruct S as [_ S]. cbn [map] in S.
assert (B : Rabs (fl (B2R s + B2R x)) < top) by (destruct (map B2R l); apply S).
destruct (adds s x Fs (Forall_inv F) B) as [A1 A2].
destruct (IH (plus s x) A1 (Forall_inv_tail F)) as [I1 I2]; [now rewrite A2|]. split.
- intros [|i]; [exact Fs|]. apply I1.
- cbn [map fold_left]. now rewrite I2, A2.
Qed.

(** Every record of d and every sum on the way is finite. *)
Definition all_finite (d : list float) :=
  Forall (fun x => finite x = true) d /\ forall i, finite (iterated_sum float zero plus (firstn i d)) = true.

(** Two datasets of floats with these values, and how far apart their sums are. *)
Definition moved (related : list float -> list float -> Prop) (d d' : list R) (difference : R) :=
  exists f f' : list float,
    map B2R f = d
    /\ map B2R f' = d'
    /\ related f f'
    /\ all_finite f
    /\ all_finite f'
    /\ B2R (iterated_sum float zero plus f) - B2R (iterated_sum float zero plus f') = difference.

Lemma in_ieee d :
  Forall value d -> stays 0 d
  -> all_finite (map float_of d) /\ B2R (iterated_sum float zero plus (map float_of d)) = sum_fl d.
Proof.
intros V S. destruct (floats_of_values d V) as [F E].
destruct (stays_in_ieee (map float_of d) zero eq_refl F) as [A B]; [now rewrite E|]. split; [split; auto|].
unfold iterated_sum. rewrite B, E. reflexivity.
Qed.

Lemma moves (related : list float -> list float -> Prop) d d' difference :
  Forall value d -> Forall value d' -> stays 0 d -> stays 0 d'
  -> related (map float_of d) (map float_of d') -> sum_fl d - sum_fl d' = difference -> moved related d d' difference.
Proof.
intros V V' S S' H D. exists (map float_of d), (map float_of d'). destruct (in_ieee d V S) as [A B].
destruct (in_ieee d' V' S') as [A' B']. rewrite B, B'.
split; [now apply floats_of_values|]. split; [now apply floats_of_values|]. auto.
Qed.

(** Where records are not negative the last sum is the largest, and no record is larger than it. *)
Lemma grows s x : format s -> 0 <= x -> s <= fl (s + x).
Proof. intros F H. apply round_ge_generic; auto with typeclass_instances. lra. Qed.

Lemma format_fl x : format (fl x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma stays_growing l :
  forall s, format s -> 0 <= s -> Forall (Rle 0) l -> fold_left add l s < top -> s <= fold_left add l s /\ stays s l.
Proof.
induction l as [|x l IH]; intros s F H P B.
- simpl in *. rewrite Rabs_pos_eq by auto. repeat split; auto. lra.
- cbn [fold_left] in *. assert (G := grows s x F (Forall_inv P)).
  destruct (IH (fl (s + x)) (format_fl _) ltac:(lra) (Forall_inv_tail P) B) as [I1 I2].
  split; [lra|]. split; [rewrite Rabs_pos_eq; lra|exact I2].
Qed.

Lemma growing d : Forall (Rle 0) d -> sum_fl d < top -> stays 0 d.
Proof. intros P B. apply stays_growing; auto; [apply generic_format_0|lra]. Qed.

Lemma growing_values d : Forall (Rle 0) d -> Forall (fun x => format x) d -> sum_fl d < top -> Forall value d.
Proof.
intros P F B. enough (G : forall s, format s -> 0 <= s -> fold_left add d s < top -> Forall value d)
  by (apply (G 0); auto; [apply generic_format_0|lra]).
clear B. induction d as [|x d IH]; intros s Fs Hs B; [constructor|]. cbn [fold_left] in B.
assert (X := Forall_inv P). assert (G := grows s x Fs X).
assert (G' : x <= fl (s + x)) by (rewrite Rplus_comm; apply grows; auto; exact (Forall_inv F)).
destruct (stays_growing d (fl (s + x)) (format_fl _) ltac:(lra) (Forall_inv_tail P) B) as [S _]. constructor.
- split; [exact (Forall_inv F)|]. rewrite Rabs_pos_eq by exact X. lra.
- apply (IH (Forall_inv_tail P) (Forall_inv_tail F) (fl (s + x))); auto; [apply format_fl|lra].
Qed.

Lemma repeated (P : R -> Prop) x i : P x -> Forall P (repeat x i).
Proof. intros H. apply Forall_forall. intros y Hy. apply repeat_spec in Hy. now subst. Qed.

Lemma powers_are_values e : (emin <= e < emax)%Z -> value (bpow radix2 e).
Proof.
intros H. split; [apply generic_format_FLT_bpow; auto with typeclass_instances; lia|].
rewrite Rabs_pos_eq by apply bpow_ge_0. apply bpow_lt. lia.
Qed.

Lemma twice_power e : bpow radix2 (e + 1) = 2 * bpow radix2 e.
Proof. rewrite bpow_plus. change (bpow radix2 1) with 2. ring. Qed.

Notation copies x i := (repeat (bpow radix2 x) (Z.to_nat (2 ^ i))).

Theorem reordering_in_ieee a d j :
  reordering_fits k emax a d j = true
  -> moved (@Permutation float) (copies j (k + 1 - a) ++ copies (j + d) (k + 1 - d))
       (copies (j + d) (k + 1 - d) ++ copies j (k + 1 - a)) (bpow radix2 (k + 1 - a - d) * bpow radix2 (j + d)).
Proof.
intros H. unfold reordering_fits, smallest in H. read_condition.
assert (T : (j + k + 2 <= emax)%Z) by (destruct (Z.eqb a 0); lia).
destruct (float_reordering k emin j a d) as (P & FL & FU & D); auto.
assert (S := swallowed_sum k emin j a d ltac:(auto) ltac:(auto) ltac:(auto) ltac:(auto) ltac:(auto)).
assert (VL : value (bpow radix2 j)) by (apply powers_are_values; lia).
assert (VU : value (bpow radix2 (j + d))) by (apply powers_are_values; lia).
assert (PL := bpow_ge_0 radix2 j). assert (PU := bpow_ge_0 radix2 (j + d)).
assert (B' : bpow radix2 (j + k + 1) < top) by (apply bpow_lt; lia).
assert (B : bpow radix2 (k + 1 - a - d) * bpow radix2 (j + d) + bpow radix2 (j + k + 1) < top).
{ rewrite <- bpow_plus. replace (k + 1 - a - d + (j + d))%Z with (j + k + 1 - a)%Z by ring.
  destruct (Z.eqb_spec a 0) as [->|n0].
  - apply Rle_lt_trans with (bpow radix2 (j + k + 1 + 1)); [|apply bpow_lt; lia].
    rewrite (twice_power (j + k + 1)), Z.sub_0_r. lra.
  - apply Rlt_le_trans with (bpow radix2 (j + k + 1 + 1)); [|apply bpow_le; lia].
    rewrite (twice_power (j + k + 1)).
    assert (bpow radix2 (j + k + 1 - a) < bpow radix2 (j + k + 1)) by (apply bpow_lt; lia). lra. }
apply moves; auto; try (apply Forall_app; split; apply repeated; auto).
- apply growing; [apply Forall_app; split; apply repeated; auto|]. lra.
- apply growing; [apply Forall_app; split; apply repeated; auto|]. lra.
- apply Permutation_map. exact P.
Qed.

Theorem rounding_in_ieee j m :
  rounding_fits k emax j m = true
  -> moved (@hamming float) (repeat (L k j m) (n j) ++ [U k j m]) (repeat (L k j m) (n j) ++ [L k j m])
       (bpow radix2 j * (U k j m - L k j m)).
Proof.
intros H. unfold rounding_fits, smallest in H. read_condition.
destruct (bounds_are_floats k j m emin) as [FL FU]; try lia.
assert (D := iterated_sums k j m emin ltac:(lia) ltac:(lia) ltac:(lia)).
assert (B := total_below k j m emin ltac:(lia) ltac:(lia) ltac:(lia)).
assert (T : bpow radix2 (m + j + 1) <= top) by (apply bpow_le; lia).
assert (O := bounds_in_order k j m). assert (PL := bound_positive k j m). assert (PJ := bpow_gt_0 radix2 j).
assert (PD : 0 <= bpow radix2 j * (U k j m - L k j m)) by (apply Rmult_le_pos; lra).
assert (P : forall x, 0 <= x -> Forall (Rle 0) (repeat (L k j m) (n j) ++ [x])) by (intros; apply pair_within; lra).
apply moves; auto.
- apply growing_values; [apply P; lra|apply pair_within; auto|lra].
- apply growing_values; [apply P; lra|apply pair_within; auto|lra].
- apply growing; [apply P|]; lra.
- apply growing; [apply P|]; lra.
- rewrite !map_app. cbn [map]. constructor.
Qed.

Theorem repeated_rounding_1_in_ieee (j : nat) m :
  repeated_rounding_1_fits k emax (Z.of_nat j) m = true
  -> moved (@insert_delete float) (top_record k m :: top_record k m :: phases k m j) (top_record k m :: phases k m j)
       (bpow radix2 (Z.of_nat j) * top_record k m).
Proof.
intros H. unfold repeated_rounding_1_fits, smallest in H. read_condition.
assert (F := phases_are_floats k emin m ltac:(lia) ltac:(lia) j).
destruct (repeated_rounding_1 k emin m ltac:(lia) ltac:(lia) j) as (_ & _ & D).
destruct (phases_sums k emin m ltac:(lia) ltac:(lia) j) as [S S'].
assert (W := repeated_rounding_1_within k m k_2 j ltac:(lia)).
assert (P : Forall (Rle 0) (top_record k m :: top_record k m :: phases k m j))
  by (apply Forall_impl with (2 := W); intros x Hx; apply Hx).
assert (B : bpow radix2 (k + m + 1 + Z.of_nat j) < top) by (apply bpow_lt; lia).
assert (B' : bpow radix2 (k + m + Z.of_nat j) < top) by (apply bpow_lt; lia).
assert (FF : Forall (fun x => format x) (top_record k m :: top_record k m :: phases k m j))
  by (constructor; [exact (Forall_inv F)|exact F]).
apply moves; auto.
- apply growing_values; auto; lra.
- apply growing_values; auto; [exact (Forall_inv_tail P)|lra].
- apply growing; auto; lra.
- apply growing; [exact (Forall_inv_tail P)|lra].
- apply (id_delete []).
Qed.

(** Repeated rounding II has negative records: its sums are followed one by one. *)
Lemma stays_in_pairs v j i q :
  (2 <= j < k)%Z -> (emin <= v + j - 1 - k - k)%Z -> (v + j <= emax)%Z -> (2 ^ k <= q)%Z
  -> ((q + Z.of_nat i < 2 ^ (k + 1))%Z -> stays (IZR q * bpow radix2 (v + j - 1 - k)) (in_turn k v j i))
     /\ ((q + 2 <= 2 ^ (k + 1))%Z -> stays (IZR q * bpow radix2 (v + j - 1 - k - 1)) (in_turn k v j i)).
Proof.
intros Hj He Hv Hq. assert (K0 : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
assert (B : forall r e, (0 <= r < 2 ^ (k + 1))%Z -> (e <= v + j - 1 - k)%Z -> Rabs (IZR r * bpow radix2 e) < top).
{ intros r e Hr Hre. rewrite Rabs_pos_eq by (apply Rmult_le_pos; [apply IZR_le; lia|apply bpow_ge_0]).
  apply Rlt_le_trans with (bpow radix2 (k + 1) * bpow radix2 e).
  - apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- pow_real by lia. apply IZR_lt. lia.
  - rewrite <- bpow_plus. apply bpow_le. lia. }
split.
- revert q Hq. induction i as [|i IH]; intros q Hq H; cbn [in_turn stays]; [split; auto; apply B; lia|].
  destruct (pair_up k emin v j Hj He q) as [E1 E2]; try lia. rewrite E1, E2.
  repeat (split; [apply B; lia|]). apply IH; lia.
- intros H. induction i as [|i IH]; cbn [in_turn stays]; [split; auto; apply B; lia|].
  destruct (pair_back k emin v j Hj He q) as [E1 E2]; try lia. rewrite E1, E2.
  repeat (split; [apply B; lia|]). exact IH.
Qed.

Theorem repeated_rounding_2_in_ieee j v :
  repeated_rounding_2_fits k emax j v = true
  -> moved (@insert_delete float)
       (repeat (U2 v) (Z.to_nat (2 ^ (j - 1))) ++ pairs k v j)
       (repeat (U2 v) (Z.to_nat (2 ^ (j - 1) - 1)) ++ pairs k v j)
       (U2 v + bpow radix2 (2 * j - (k + 3)) * U2 v).
Proof.
intros H. unfold repeated_rounding_2_fits, smallest in H. read_condition.
assert (Hj : (2 <= j < k)%Z) by lia. assert (He : (emin <= v + j - 1 - k - k)%Z) by lia.
destruct (repeated_rounding_2 k emin v j Hj He) as (_ & Fx & FL & FU & D).
destruct (halves_of k j Hj) as (H4 & H5 & H6 & H7). destruct (halves_in_steps k v j Hj) as [S1 S2].
assert (K2 : (2 ^ (k + 1) = 2 ^ k + 2 ^ k)%Z) by (rewrite Z.pow_add_r by lia; lia).
assert (K4 : (2 ^ (k - j + 2) = 2 * 2 ^ (k - j + 1))%Z)
  by (replace (k - j + 2)%Z with (1 + (k - j + 1))%Z by ring; rewrite Z.pow_add_r by lia; reflexivity).
assert (K3 : (2 <= 2 ^ (k - j + 1))%Z) by (apply (Z.pow_le_mono_r 2 1); lia).
assert (VU : value (U2 v)) by (apply powers_are_values; lia).
assert (VW : Forall value (pairs k v j)).
{ assert (E : bpow radix2 (v + j - 1 - k) < top) by (apply bpow_lt; lia).
  destruct (eighth k j Hj) as [t0 t1]. assert (P := bpow_gt_0 radix2 (v + j - 1 - k)).
  assert (value (x2 k v j) /\ value (L2 k v j)) as [Vx VL].
  { split; (split; [assumption|]); unfold x2, L2; apply Rabs_lt; split; nra. }
  unfold pairs. induction (Z.to_nat (2 ^ (j - 2))) as [|i IH]; [constructor|]. cbn [in_turn]. auto. }
assert (R : forall h, (0 <= h <= 2 ^ (j - 1))%Z ->
  fold_left add (repeat (U2 v) (Z.to_nat h)) 0 = IZR h * U2 v /\ stays 0 (repeat (U2 v) (Z.to_nat h))).
{ intros h Hh. assert (E := tops k emin v j Hj He (Z.to_nat h)). rewrite Z2Nat.id in E by lia.
  assert (U0 : 0 <= U2 v) by apply bpow_ge_0.
  split; [apply E; lia|]. apply growing; [apply repeated; exact U0|].
  unfold iterated. rewrite E by lia. apply Rle_lt_trans with (IZR (2 ^ (j - 1)) * U2 v).
  - apply Rmult_le_compat_r; auto. apply IZR_le. lia.
  - unfold U2. rewrite pow_real, <- bpow_plus by lia. apply bpow_lt. lia. }
destruct (R (2 ^ (j - 1))%Z) as [R1 R2]; [lia|]. destruct (R (2 ^ (j - 1) - 1)%Z) as [R3 R4]; [lia|].
apply moves; auto; try (apply Forall_app; split; auto; apply repeated; auto).
- apply stays_app; auto. rewrite R1, S1. apply stays_in_pairs; try lia.
- apply stays_app; auto. rewrite R3, S2. apply stays_in_pairs; try lia; nia.
- replace (Z.to_nat (2 ^ (j - 1))) with (S (Z.to_nat (2 ^ (j - 1) - 1))) by lia. cbn [repeat app map].
  apply (id_delete []).
Qed.

(** Kahan's sum: where records less their compensation are not negative, nothing on the way is larger than the sum. *)
Notation state_of sc := (B2R (fst sc), B2R (snd sc)).
Notation both_finite := (both_finite prec emax).

Fixpoint climbs_with (sc : R * R) (l : list R) : Prop :=
  match l with
  | [] => True
  | x :: l => 0 <= fl (x - snd sc) /\ fst (step prec emin sc x) < top /\ climbs_with (step prec emin sc x) l
  end.

Lemma one_climb sc (x : float) :
  both_finite sc -> finite x = true -> 0 <= B2R (fst sc) -> 0 <= fl (B2R x - B2R (snd sc))
  -> fst (step prec emin (state_of sc) (B2R x)) < top
  -> both_finite (kahan_step float plus minus sc x)
     /\ state_of (kahan_step float plus minus sc x) = step prec emin (state_of sc) (B2R x)
     /\ 0 <= B2R (fst (kahan_step float plus minus sc x)).
Proof.
destruct sc as [s c]. intros [Fs Fc] Fx. cbn [fst snd] in *. unfold kahan_step, step. cbn [fst snd].
assert (Rs : format (B2R s)) by apply (Binary.generic_format_B2R prec emax).
intros Hs Hy Ht. assert (Ry := format_fl (B2R x - B2R c)). set (y := fl (B2R x - B2R c)) in *.
assert (Rt := format_fl (B2R s + y)). set (t := fl (B2R s + y)) in *.
assert (St : B2R s <= t) by (apply grows; auto).
assert (Yt : y <= t) by (unfold t; rewrite Rplus_comm; now apply grows).
assert (Z1 : 0 <= fl (t - B2R s))
  by (apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra]).
assert (Z2 : fl (t - B2R s) <= t) by (apply round_le_generic; auto with typeclass_instances; lra).
assert (C : Rabs (fl (fl (t - B2R s) - y)) <= t).
{ apply abs_round_le_generic; auto with typeclass_instances. apply Rabs_le. lra. }
destruct (subtracts x c Fx Fc) as [A1 A2]; [fold y; rewrite Rabs_pos_eq; lra|]. fold y in A2.
destruct (adds s (minus x c) Fs A1) as [B1 B2]; [rewrite A2; fold t; rewrite Rabs_pos_eq; lra|].
rewrite A2 in B2. fold t in B2.
destruct (subtracts (plus s (minus x c)) s B1 Fs) as [C1 C2]; [rewrite B2, Rabs_pos_eq; lra|]. rewrite B2 in C2.
destruct (subtracts _ _ C1 A1) as [D1 D2]; [rewrite C2, A2; lra|]. rewrite C2, A2 in D2.
rewrite B2, D2. repeat split; auto. lra.
Qed.

Lemma climbs_in_ieee l :
  forall sc,
    both_finite sc -> Forall (fun x => finite x = true) l -> 0 <= B2R (fst sc) -> climbs_with (state_of sc) (map B2R l)
    -> (forall i, both_finite (fold_left (kahan_step float plus minus) (firstn i l) sc))
       /\ state_of (fold_left (kahan_step float plus minus) l sc)
           = fold_left (step prec emin) (map B2R l) (state_of sc).
Proof.
induction l as [|x l IH]; intros sc Fs F Hs C; [split; [intros [|i]|]; auto|]. destruct C as (C1 & C2 & C3).
destruct (one_climb sc x Fs (Forall_inv F) Hs C1 C2) as (A1 & A2 & A3).
destruct (IH _ A1 (Forall_inv_tail F) A3) as [I1 I2]; [now rewrite A2|]. split.
- intros [|i]; [exact Fs|]. apply I1.
- cbn [map fold_left]. now rewrite I2, A2.
Qed.

(** Every record and, after each of them, the sum and its compensation are finite (so are the two differences on the
    way to them: an infinity or a NaN would come out in the compensation). *)
Definition kahan_all_finite (d : list float) :=
  Forall (fun x => finite x = true) d
  /\ forall i, both_finite (fold_left (kahan_step float plus minus) (firstn i d) (zero, zero)).

Theorem rounding_of_kahan_in_ieee j m :
  rounding_fits k emax j m = true
  -> exists f f' : list float,
       map B2R f = repeat (L k j m) (n j) ++ [U k j m]
       /\ map B2R f' = repeat (L k j m) (n j) ++ [L k j m]
       /\ hamming f f'
       /\ kahan_all_finite f
       /\ kahan_all_finite f'
       /\ B2R (kahan_sum float zero plus minus f) - B2R (kahan_sum float zero plus minus f')
           = bpow radix2 j * (U k j m - L k j m).
Proof.
intros H. destruct (rounding_in_ieee j m H) as (f & f' & Ef & Ef' & N & [Ff _] & [Ff' _] & _). exists f, f'.
unfold rounding_fits, smallest in H. read_condition.
assert (j_2 : (2 <= j)%Z) by lia. assert (j_k : (j < k)%Z) by lia. assert (small : (emin <= m - k)%Z) by lia.
destruct (bounds_are_floats k j m emin j_2 j_k small) as [FL FU]. assert (O := bounds_in_order k j m).
assert (PL := bound_positive k j m). assert (PJ := bpow_gt_0 radix2 j).
destruct (kahan_sums k j m emin j_2 j_k small) as [D B].
assert (T : bpow radix2 (m + j + 1) <= top) by (apply bpow_le; lia).
assert (PD : 0 <= bpow radix2 j * (U k j m - L k j m)) by (apply Rmult_le_pos; lra).
assert (C : forall x, format x -> 0 <= x -> kahan prec emin (repeat (L k j m) (n j) ++ [x]) < top
  -> climbs_with (0, 0) (repeat (L k j m) (n j) ++ [x])).
{ intros x Fx Px. unfold kahan. rewrite fold_left_app, compensated by (auto; lia). intros Bx.
  assert (E0 := no_copies k j m j_2 j_k). rewrite <- E0.
  assert (G : forall i i0, (i0 + i = n j)%nat -> climbs_with (state k j m i0) (repeat (L k j m) i ++ [x])).
  { induction i as [|i IH]; intros i0 Hi.
    - rewrite Nat.add_0_r in Hi. subst i0. cbn [repeat app climbs_with]. split; [|split; [exact Bx|exact I]].
      destruct (all_compensated k j m j_2 j_k) as [-> _]. cbn [snd].
      rewrite Rminus_0_r, round_generic by auto with typeclass_instances. exact Px.
    - destruct (one_copy k j m emin j_2 j_k small i0) as (E1 & E2 & E3); [lia|].
      cbn [repeat app climbs_with]. rewrite E1. repeat split; [exact E3|lra|]. apply IH. lia. }
  now apply G. }
assert (Z : both_finite (zero, zero)) by (split; reflexivity).
destruct (climbs_in_ieee f (zero, zero) Z Ff) as [A1 A2]; [simpl; lra|rewrite Ef; apply C; auto; lra|].
destruct (climbs_in_ieee f' (zero, zero) Z Ff') as [A1' A2']; [simpl; lra|rewrite Ef'; apply C; auto; lra|].
repeat (split; [auto; split; auto|]). apply (f_equal fst) in A2, A2'. cbn [fst] in A2, A2'.
unfold kahan_sum. rewrite A2, A2', Ef, Ef'. exact D.
Qed.

(** Trees: the sum of every subtree is finite. *)
Fixpoint tree_all_finite (t : tree float) : Prop :=
  finite (evaluate plus t) = true
  /\ match t with leaf _ => True | node t t' => tree_all_finite t /\ tree_all_finite t' end.

Notation sum_of := (computed prec emin even).

Fixpoint tree_stays (t : tree R) : Prop :=
  Rabs (sum_of t) < top /\ match t with leaf _ => True | node t t' => tree_stays t /\ tree_stays t' end.

Lemma tree_in_ieee t :
  Forall (fun x => format x) (leaves t) -> tree_stays t
  -> tree_all_finite (map_tree float_of t)
     /\ B2R (evaluate plus (map_tree float_of t)) = sum_of t
     /\ map_tree B2R (map_tree float_of t) = t.
Proof.
induction t as [x|t IH t' IH']; intros F S; cbn [leaves] in F; cbn [map_tree tree_all_finite evaluate].
- destruct (float_of_value x) as [A B]; [split; [exact (Forall_inv F)|apply S]|]. cbn [computed]. rewrite B. auto.
- destruct S as (S & S1 & S2). apply Forall_app in F as [F F']. destruct (IH F S1) as (A1 & A2 & A3).
  destruct (IH' F' S2) as (B1 & B2 & B3). cbn [computed] in *. rewrite <- A2, <- B2 in S.
  assert (finite (evaluate plus (map_tree float_of t)) = true) by (destruct t; apply A1).
  assert (finite (evaluate plus (map_tree float_of t')) = true) by (destruct t'; apply B1).
  destruct (adds (evaluate plus (map_tree float_of t)) (evaluate plus (map_tree float_of t'))) as [C1 C2]; auto.
  rewrite C2, A2, B2, A3, B3. auto.
Qed.

Theorem tree_rounding_in_ieee (j : nat) i e t :
  tree_rounding_fits k emax (Z.of_nat j) i e = true -> one_upper i e j t
  -> exists f f' : tree float,
       map_tree B2R f = t
       /\ map_tree B2R f' = all_lower i e j
       /\ hamming (leaves f') (leaves f)
       /\ tree_all_finite f
       /\ tree_all_finite f'
       /\ B2R (evaluate plus f) - B2R (evaluate plus f') = bpow radix2 (Z.of_nat j) * (upper i e - lower i e).
Proof.
intros H N. unfold tree_rounding_fits, smallest in H. read_condition.
assert (e_emin : (emin <= e)%Z) by lia. assert (normal : (2 ^ k <= 2 * i + 1 < 2 ^ (k + 1))%Z) by lia.
assert (K0 : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
assert (O : 0 <= lower i e <= upper i e).
{ unfold lower, upper. split; [apply Rmult_le_pos; [apply IZR_le; lia|apply bpow_ge_0]|].
  apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply IZR_le. lia. }
assert (B : bpow radix2 (Z.of_nat j) * upper i e < top).
{ unfold upper. rewrite (Rmult_comm _ (bpow radix2 e)), <- Rmult_assoc, <- bpow_plus, Rmult_comm.
  destruct (Z.eqb_spec (2 * i + 2) (2 ^ (k + 1))) as [->|E].
  - rewrite pow_real, <- bpow_plus by lia. apply bpow_lt. lia.
  - apply Rlt_le_trans with (bpow radix2 (k + 1 + (Z.of_nat j + e))); [|apply bpow_le; lia].
    rewrite (bpow_plus radix2 (k + 1)), <- (pow_real (k + 1)) by lia.
    apply Rmult_lt_compat_r; [apply bpow_gt_0|]. apply IZR_lt. lia. }
assert (below : forall a x, (a <= j)%nat -> 0 <= x <= upper i e -> Rabs (bpow radix2 (Z.of_nat a) * x) < top).
{ intros a x Ha Hx. assert (P := bpow_ge_0 radix2 (Z.of_nat a)).
  assert (Q : bpow radix2 (Z.of_nat a) <= bpow radix2 (Z.of_nat j)) by (apply bpow_le; lia).
  rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra). apply Rle_lt_trans with (2 := B). apply Rmult_le_compat; lra. }
assert (FL : format (lower i e)).
{ generalize (doubled_is_a_float k emin e k_2 e_emin (2 * i + 1) 0 ltac:(lia)). simpl. now rewrite Rmult_1_l. }
assert (FU : format (upper i e)).
{ generalize (doubled_is_a_float k emin e k_2 e_emin (2 * i + 2) 0 ltac:(lia)). simpl. now rewrite Rmult_1_l. }
assert (SL : forall a,
  (a <= j)%nat -> tree_stays (all_lower i e a) /\ Forall (fun x => format x) (leaves (all_lower i e a))).
{ induction a as [|a IH]; intros Ha.
  - split; [split; auto; apply (below 0%nat (lower i e)) in Ha; [now rewrite Rmult_1_l in Ha|lra]|]. now constructor.
  - destruct IH as [I1 I2]; [lia|]. split; [|now apply Forall_app]. split; [|auto].
    change (Rabs (sum_of (all_lower i e (S a))) < top). rewrite all_lower_sum by auto. apply below; auto; lra. }
assert (SU : forall a s, one_upper i e a s -> (a <= j)%nat -> tree_stays s /\ Forall (fun x => format x) (leaves s)).
{ intros a s M. assert (V : forall a s, one_upper i e a s -> sum_of s = bpow radix2 (Z.of_nat a) * upper i e).
  { clear - k_2 e_emin normal. intros a s M. destruct (tree_rounding k emin i e k_2 e_emin normal a s M) as [D _].
    rewrite all_lower_sum in D by auto. lra. }
  induction M as [|a s M IH|a s M IH]; intros Ha.
  - split; [split; auto; apply (below 0%nat (upper i e)) in Ha; [now rewrite Rmult_1_l in Ha|lra]|]. now constructor.
  - destruct IH as [I1 I2]; [lia|]. destruct (SL a) as [L1 L2]; [lia|]. split; [|now apply Forall_app].
    split; [|auto]. erewrite V by (constructor; eassumption). apply below; auto; lra.
  - destruct IH as [I1 I2]; [lia|]. destruct (SL a) as [L1 L2]; [lia|]. split; [|now apply Forall_app].
    split; [|auto]. erewrite V by (constructor; eassumption). apply below; auto; lra. }
destruct (SL j (le_n j)) as [L1 L2]. destruct (SU j t N (le_n j)) as [U1 U2].
destruct (tree_in_ieee t U2 U1) as (A1 & A2 & A3). destruct (tree_in_ieee _ L2 L1) as (B1 & B2 & B3).
destruct (tree_rounding k emin i e k_2 e_emin normal j t N) as [D M].
exists (map_tree float_of t), (map_tree float_of (all_lower i e j)). rewrite A2, B2, !map_leaves.
repeat (split; [auto|]). { now apply map_hamming. } auto.
Qed.

(** A pairwise sum of 2^j records is such a tree. *)
Corollary pairwise_rounding_in_ieee (j : nat) i e t :
  tree_rounding_fits k emax (Z.of_nat j) i e = true -> one_upper i e j t
  -> exists f f' : tree float,
       map B2R (leaves f) = leaves t
       /\ map B2R (leaves f') = leaves (all_lower i e j)
       /\ hamming (leaves f') (leaves f)
       /\ tree_all_finite (pairwise_tree zero (leaves f))
       /\ tree_all_finite (pairwise_tree zero (leaves f'))
       /\ B2R (pairwise_sum float zero plus (leaves f)) - B2R (pairwise_sum float zero plus (leaves f'))
           = bpow radix2 (Z.of_nat j) * (upper i e - lower i e).
Proof.
intros H N. destruct (tree_rounding_in_ieee j i e t H N) as (f & f' & E & E' & R). exists f, f'. unfold pairwise_sum.
assert (B := one_upper_balanced i e j t N). assert (B' := all_lower_balanced i e j).
rewrite <- E in B |- *. rewrite <- E' in B' |- *. rewrite !map_leaves.
rewrite !(pairwise_of_balanced _ _ j) by (eapply balanced_map; eassumption). repeat (split; [auto|]); apply R.
Qed.

(** Any sum that is the exact one, rounded once, where that is finite; there is such a sum. *)
Lemma an_exact_sum_exists :
  exists f : list float -> float,
    forall d,
      Forall (fun x => finite x = true) d -> Rabs (fl (sum (map B2R d))) < top
      -> finite (f d) = true /\ B2R (f d) = fl (sum (map B2R d)).
Proof.
exists (fun d => float_of (fl (sum (map B2R d)))). intros d _ H. apply float_of_value. split; [apply format_fl|exact H].
Qed.

Theorem result_rounding_in_ieee (f : list float -> float) j m :
  (forall d,
     Forall (fun x => finite x = true) d -> Rabs (fl (sum (map B2R d))) < top
     -> finite (f d) = true /\ B2R (f d) = fl (sum (map B2R d)))
  -> result_rounding_fits k emax j m = true
  -> exists d d' : list float,
       map B2R d = tied k m j
       /\ map B2R d' = one_above k m j
       /\ insert_delete d d'
       /\ Forall (fun x => finite x = true) d'
       /\ finite (f d) = true
       /\ finite (f d') = true
       /\ B2R (f d') - B2R (f d) = bpow radix2 j * bpow radix2 m.
Proof.
intros E H. unfold result_rounding_fits, smallest in H. read_condition.
destruct (result_rounding k emin m j) as [N D]; try lia. destruct (result_sums k emin m j) as [S S']; try lia.
assert (V : Forall value (tied k m j)) by (apply repeated, powers_are_values; lia).
assert (V' : Forall value (one_above k m j)) by (constructor; [apply powers_are_values; lia|exact V]).
destruct (floats_of_values _ V) as [F M]. destruct (floats_of_values _ V') as [F' M'].
assert (T : bpow radix2 (k + m + j) + bpow radix2 (m + j) < top).
{ apply Rlt_le_trans with (bpow radix2 (k + m + j + 1)); [|apply bpow_le; lia]. rewrite twice_power.
  assert (bpow radix2 (m + j) < bpow radix2 (k + m + j)) by (apply bpow_lt; lia). lra. }
assert (P := bpow_gt_0 radix2 (k + m + j)). assert (P' := bpow_gt_0 radix2 (m + j)).
destruct (E _ F) as [A B]; [rewrite M, S, Rabs_pos_eq; lra|].
destruct (E _ F') as [A' B']; [rewrite M', S', Rabs_pos_eq; lra|].
exists (map float_of (tied k m j)), (map float_of (one_above k m j)). rewrite B, B', M, M'.
repeat (split; [auto; now apply map_insert_delete|]). exact D.
Qed.

(** Special values: one NaN among the records, one infinity, or one record more than the largest value allows shows in
    the sum. *)
Notation is_nan := (Binary.is_nan prec emax).
Notation infinity := (Binary.B754_infinity prec emax).

Lemma nan_stays (x y : float) : is_nan x = true \/ is_nan y = true -> is_nan (plus x y) = true.
Proof.
intros H. unfold Overflow.plus, Binary.Bplus. rewrite Binary.is_nan_BSN2B.
destruct x, y; simpl in *; destruct H; try discriminate; reflexivity.
Qed.

Theorem a_nan_shows d x : In x d -> is_nan x = true -> is_nan (iterated_sum float zero plus d) = true.
Proof.
intros H N. unfold iterated_sum. generalize zero. induction d as [|y d IH]; intros s; [destruct H|]. cbn [fold_left].
destruct H as [->|H]; [|now apply IH]. assert (S : is_nan (plus s x) = true) by (apply nan_stays; now right).
clear - S. revert S. generalize (plus s x). induction d as [|y d IH]; intros t S; [exact S|].
cbn [fold_left]. apply IH, nan_stays. now left.
Qed.

Theorem an_infinity_shows d s : all_finite d -> iterated_sum float zero plus (d ++ [infinity s]) = infinity s.
Proof.
intros [_ F]. specialize (F (length d)). rewrite firstn_all in F. unfold iterated_sum in *.
rewrite fold_left_app. cbn [fold_left]. destruct (fold_left plus d zero); try discriminate; reflexivity.
Qed.

Theorem one_record_too_many_shows (x : float) :
  finite x = true -> 0 < B2R x -> top <= fl (B2R x + B2R x)
  -> all_finite [x] /\ iterated_sum float zero plus [x; x] = infinity false.
Proof.
intros F P T. assert (R : format (B2R x)) by apply (Binary.generic_format_B2R prec emax).
assert (Z : Rabs (fl (B2R zero + B2R x)) < top).
{ simpl. rewrite Rplus_0_l, round_generic by auto with typeclass_instances. apply (Binary.abs_B2R_lt_emax prec emax). }
destruct (adds zero x eq_refl F Z) as [A B].
assert (E : B2R (plus zero x) = B2R x)
  by (rewrite B; simpl; rewrite Rplus_0_l; apply round_generic; auto with typeclass_instances).
split; [split; [now constructor|]; intros [|[|i]]; auto; exact A|]. unfold iterated_sum. cbn [fold_left].
generalize (Binary.Bplus_correct prec emax prec_pos prec_emax payload mode_NE (plus zero x) x A F).
change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl. rewrite E.
rewrite Rlt_bool_false by (rewrite Rabs_pos_eq; [exact T|generalize (bpow_ge_0 radix2 emax); lra]).
intros [O S]. change (Binary.Bplus prec emax prec_pos prec_emax payload mode_NE) with plus in O.
assert (Sx : Binary.Bsign prec emax x = false).
{ destruct x as [t|t|t q h|[] q e h]; simpl in *; try discriminate; try lra; auto.
  generalize (F2R_lt_0 radix2 (Float radix2 (Zneg q) e) eq_refl). lra. }
rewrite S, Sx in O. destruct (plus (plus zero x) x); try discriminate. now injection O as ->.
Qed.
End Ieee.

(** The mantissa bits and exponents of binary64, binary32, binary16 and bfloat16. In each of them every attack fits, at
    a scale of its own, for all the other parameters that its condition allows; trees with up to 2^emax records. *)
Definition types : list (Z * Z) := [(52, 1024); (23, 128); (10, 16); (7, 128)]%Z.

Definition every_attack_fits (k emax : Z) : Prop :=
  (forall a d, (0 <= a)%Z -> (1 <= d)%Z -> (a + d <= k + 1)%Z -> reordering_fits k emax a d 0 = true)
  /\ (forall j, (2 <= j < k)%Z -> rounding_fits k emax j (-1) = true)
  /\ (forall j, (1 <= j <= k)%Z -> result_rounding_fits k emax j (- k) = true)
  /\ (forall j i,
        (0 <= j <= emax)%Z -> (2 ^ k <= 2 * i + 1 < 2 ^ (k + 1))%Z -> tree_rounding_fits k emax j i (- k - 2) = true)
  /\ (forall j, (1 <= j <= k)%Z -> repeated_rounding_1_fits k emax j (- k) = true)
  /\ (forall j, (2 <= j < k)%Z -> repeated_rounding_2_fits k emax j 0 = true).

Theorem attacks_fit : Forall (fun '(k, emax) => every_attack_fits k emax) types.
Proof.
unfold types. repeat constructor; intros; unfold reordering_fits, rounding_fits, result_rounding_fits,
  tree_rounding_fits, repeated_rounding_1_fits, repeated_rounding_2_fits, smallest; rewrite ?andb_true_iff; repeat split;
  try (apply Z.leb_le || apply Z.ltb_lt); try lia; case Z.eqb_spec; lia.
Qed.
