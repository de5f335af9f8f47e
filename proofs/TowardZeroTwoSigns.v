(** toward_zero of two signs (docs/theorems/toward_zero.md): a record more moves the sum by at most max(U + p(U), |L| +
    p(|L|)) + max(p(U), p(|L|)), a changed one by at most U + p_n(U) + |L| + p_n(|L|) + max(p_n(U), p_n(|L|)). *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
From Soundsum Require Import Relations Sums TowardZero.
Import ListNotations.
Open Scope R_scope.

Section TowardZero.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Notation fexp := (FLT_exp emin p).
Notation format := (generic_format radix2 fexp).
Notation ulp := (ulp radix2 fexp).
Notation down := (round radix2 fexp Zfloor).
Notation rz := (round radix2 fexp Ztrunc).
Notation fl := (round radix2 fexp ZnearestE).
Variable Omega : R.
Hypothesis Omega_format : format Omega.
Hypothesis Omega_pos : 0 <= Omega.
Notation half := (half p emin Omega).
Notation record := (record p emin).
Notation small := (small p emin).
Notation pwn := (pwn p).
Notation ceiling := (ceiling p).
Notation parts := (parts p emin Omega).
Notation total := (total p emin Omega).
Notation half_record := (half_record p emin Omega Omega_format Omega_pos).
Notation half_opp := (half_opp p emin Omega Omega_pos).
Notation small_record := (small_record p emin).
Notation pwn_pos := (pwn_pos p).
Notation one_half_insert := (one_half_insert p emin Omega Omega_format Omega_pos).
Notation one_half_insert_n := (one_half_insert_n p emin Omega Omega_format Omega_pos).
Notation half_n := (half_n p emin Omega Omega_format Omega_pos).
Notation ceiling_half := (ceiling_half p emin Omega Omega_format Omega_pos).
Notation last_up := (last_up p emin).

Section TwoSigns.
Variables L U : R.
Hypothesis FL : format L.
Hypothesis FU : format U.
Hypothesis L_neg : L < 0.
Hypothesis U_pos : 0 < U.

Definition fit x := format x /\ L <= x <= U.
Notation pU := (pw U).
Notation pL := (pw (- L)).

Lemma ups_small l : Forall fit l -> Forall (small U) (ups l).
Proof.
intros F. apply Forall_forall. intros x H. apply filter_In in H as [H S]. rewrite Forall_forall in F.
destruct (F x H) as [Fx Bx].
revert S; case Rle_bool_spec; intros; [|discriminate]. split; [split|]; auto; lra.
Qed.

Lemma downs_small l : Forall fit l -> Forall (small (- L)) (map Ropp (downs l)).
Proof.
intros F. apply Forall_forall. intros x H. apply in_map_iff in H as (z & <- & H). apply filter_In in H as [H S].
rewrite Forall_forall in F. destruct (F z H) as [Fx Bx].
revert S; case Rlt_bool_spec; intros; [|discriminate]. split; [split|]; auto using generic_format_opp; lra.
Qed.

Lemma last_addition l : Forall fit l -> Rabs (total l - (half (ups l) + half (downs l))) <= Rmax pU pL / 2.
Proof.
intros F. generalize (ceiling_half U (ups l) FU U_pos (ups_small l F)).
generalize (ceiling_half (- L) _ (generic_format_opp _ _ _ FL) ltac:(lra) (downs_small l F)). rewrite half_opp.
intros HN HP.
unfold total. set (y := half (ups l) + half (downs l)).
generalize (Rmax_l pU pL) (Rmax_r pU pL); intros.
destruct (Rle_lt_dec 0 y) as [h|h].
- apply Rle_trans with (pU / 2); [apply last_up; auto; unfold y in *; lra|lra].
- replace y with (- (- y)) by ring. rewrite round_NE_opp.
  replace (- fl (- y) - - - y) with (- (fl (- y) - - y)) by ring. rewrite Rabs_Ropp.
  apply Rle_trans with (pL / 2); [|lra]. apply last_up; auto using generic_format_opp; unfold y in *; lra.
Qed.

(** How far P + N moves. *)
Lemma up_cons z l : ups (z :: l) = if Rle_bool 0 z then z :: ups l else ups l. Proof. reflexivity. Qed.

Lemma down_cons z l : downs (z :: l) = if Rlt_bool z 0 then z :: downs l else downs l. Proof. reflexivity. Qed.

Lemma ups_insert a z b :
  Forall fit (a ++ z :: b) -> 0 <= z -> 0 <= half (ups (a ++ z :: b)) - half (ups (a ++ b)) <= U + pU.
Proof.
intros F Hz. apply ups_small in F. unfold ups in *. rewrite !filter_app in *. fold (ups (z :: b)) in *.
fold (ups a) (ups b) in *.
rewrite up_cons, Rle_bool_true in * by auto. apply Forall_app in F as [Fa F].
apply one_half_insert; auto; [now apply Forall_inv in F|now apply Forall_inv_tail in F].
Qed.

Lemma downs_insert a z b :
  Forall fit (a ++ z :: b) -> z < 0 -> 0 <= half (downs (a ++ b)) - half (downs (a ++ z :: b)) <= - L + pL.
Proof.
intros F Hz. apply downs_small in F. unfold downs in *. rewrite !filter_app in *. fold (downs (z :: b)) in *.
fold (downs a) (downs b) in *.
rewrite down_cons, Rlt_bool_true in * by auto. rewrite !map_app in F. apply Forall_app in F as [Fa F]. simpl in F.
generalize (one_half_insert (- L) (generic_format_opp _ _ _ FL) ltac:(lra) (map Ropp (downs a)) (- z)
    (map Ropp (downs b)) Fa (Forall_inv F) (Forall_inv_tail F)).
replace (map Ropp (downs a) ++ - z :: map Ropp (downs b)) with (map Ropp (downs a ++ z :: downs b))
  by now rewrite map_app.
rewrite <- map_app, !half_opp. lra.
Qed.

Lemma ups_skip a z b : z < 0 -> ups (a ++ z :: b) = ups (a ++ b).
Proof. intros H. unfold ups. rewrite !filter_app. simpl. now rewrite Rle_bool_false. Qed.

Lemma downs_skip a z b : 0 <= z -> downs (a ++ z :: b) = downs (a ++ b).
Proof. intros H. unfold downs. rewrite !filter_app. simpl. now rewrite Rlt_bool_false. Qed.

Lemma parts_insert a z b :
  Forall fit (a ++ z :: b)
  -> (0 <= z -> 0 <= parts (a ++ z :: b) - parts (a ++ b) <= U + pU)
     /\ (z < 0 -> - (- L + pL) <= parts (a ++ z :: b) - parts (a ++ b) <= 0).
Proof.
intros F. unfold parts. split; intros H.
- rewrite (downs_skip a z b H). generalize (ups_insert a z b F H). lra.
- rewrite (ups_skip a z b H). generalize (downs_insert a z b F H). lra.
Qed.

Lemma joined d d' x :
  Forall fit d -> Forall fit d' -> Rabs (parts d - parts d') <= x -> Rabs (total d - total d') <= x + Rmax pU pL.
Proof.
intros F F' H. generalize (last_addition d F) (last_addition d' F'). fold (parts d) (parts d'). revert H.
unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Theorem two_signs_insert_delete d d' :
  Forall fit d -> Forall fit d' -> insert_delete d d'
  -> Rabs (total d - total d') <= Rmax (U + pU) (- L + pL) + Rmax pU pL.
Proof.
intros F F' H. apply joined; auto.
generalize (Rmax_l (U + pU) (- L + pL)) (Rmax_r (U + pU) (- L + pL)) (pw_pos U); intros A1 A2 A3.
destruct H as [d|a z b|a z b].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- destruct (parts_insert a z b F') as [I1 I2].
  destruct (Rle_lt_dec 0 z) as [h|h]; [specialize (I1 h)|specialize (I2 h)]; apply Rabs_le; lra.
- destruct (parts_insert a z b F) as [I1 I2].
  destruct (Rle_lt_dec 0 z) as [h|h]; [specialize (I1 h)|specialize (I2 h)]; apply Rabs_le; lra.
Qed.

(** Through the dataset without the record; two records in one half move it in opposite directions. *)
Theorem two_signs_hamming d d' :
  Forall fit d -> Forall fit d' -> hamming d d' -> Rabs (total d - total d') <= U + pU + (- L + pL) + Rmax pU pL.
Proof.
intros F F' H. apply joined; auto. generalize (pw_pos U) (pw_pos (- L)); intros A1 A2. destruct H as [d|a x y b].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- destruct (parts_insert a x b F) as [I1 I2], (parts_insert a y b F') as [J1 J2].
  destruct (Rle_lt_dec 0 x) as [h|h]; [specialize (I1 h)|specialize (I2 h)];
  (destruct (Rle_lt_dec 0 y) as [g|g]; [specialize (J1 g)|specialize (J2 g)]; apply Rabs_le; lra).
Qed.

Corollary at_most_3_M d d' :
  Forall fit d -> Forall fit d' -> insert_delete d d' -> Rabs (total d - total d') <= 3 * magnitude L U.
Proof.
intros F F' H. apply Rle_trans with (1 := two_signs_insert_delete d d' F F' H).
generalize (pw_le U) (pw_le (- L)) (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)). fold (magnitude L U).
rewrite (Rabs_pos_eq U), (Rabs_left L) by lra. intros.
assert (Rmax (U + pU) (- L + pL) <= 2 * magnitude L U) by (apply Rmax_lub; lra).
assert (Rmax pU pL <= magnitude L U) by (apply Rmax_lub; lra). lra.
Qed.

(** Public n: p_n in place of p. *)
Section PublicSize.
Variable n : nat.
Notation nU := (pwn n U).
Notation nL := (pwn n (- L)).

Lemma halves_are_shorter l : (length (ups l) <= length l)%nat /\ (length (downs l) <= length l)%nat.
Proof.
unfold ups, downs. induction l as [|x l [IH IH']]; [simpl; lia|]. simpl.
destruct (Rle_bool 0 x), (Rlt_bool x 0); simpl; lia.
Qed.

Lemma last_up_n b P N :
  format b -> 0 < b -> format P -> format N -> 0 <= P + N -> P + N <= ceiling b -> P + N <= INR n * b
  -> Rabs (fl (P + N) - (P + N)) <= pwn n b / 2.
Proof.
intros Fb Pb FP FN H1 H2 H3. generalize (last_up b (P + N) Fb Pb (conj H1 H2)) (pwn_pos b n); intros A B.
destruct (Rlt_dec (INR n * b) (bpow radix2 (emin + p))) as [h|h].
- rewrite (round_generic _ _ _ (P + N)), Rminus_diag_eq, Rabs_R0; auto with typeclass_instances; [lra|].
  apply FLT_format_plus_small; auto. rewrite Rabs_pos_eq by lra. rewrite Zplus_comm. lra.
- apply Rnot_lt_le in h. generalize (bpow_gt_0 radix2 (emin + p)); intros B0.
  assert (C : Rabs (fl (P + N) - (P + N)) <= pw (INR n * b) * bpow radix2 (1 - p) / 2).
  { apply Rle_trans with (/ 2 * ulp (P + N)); [apply error_le_half_ulp; auto with typeclass_instances|].
    assert (ulp (P + N) <= pw (INR n * b) * bpow radix2 (1 - p)); [|lra].
    unfold pw. rewrite Req_bool_false by lra. rewrite <- bpow_plus.
    assert (E : (emin + p < mag radix2 (INR n * b))%Z).
    { apply lt_bpow with radix2. apply Rle_lt_trans with (1 := h). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra.
      apply bpow_mag_gt. }
    apply ulp_below with b; auto; try lia.
    replace (p + (mag radix2 (INR n * b) - 1 + (1 - p)))%Z with (mag radix2 (INR n * b) : Z) by ring.
    apply Rle_lt_trans with (1 := H3). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra. apply bpow_mag_gt. }
  unfold pwn, Rmin. destruct Rle_dec; lra.
Qed.

Lemma last_addition_n l : Forall fit l -> (length l <= n)%nat -> Rabs (total l - parts l) <= Rmax nU nL / 2.
Proof.
intros F Hn. assert (FL' : format (- L)) by now apply generic_format_opp. destruct (halves_are_shorter l) as [S1 S2].
assert (SU := ups_small l F). assert (SD := downs_small l F).
generalize (ceiling_half U (ups l) FU U_pos SU) (half_n U U_pos n (ups l) SU ltac:(lia)).
generalize (ceiling_half (- L) _ FL' ltac:(lra) SD) (half_n (- L) ltac:(lra) n _ SD ltac:(rewrite map_length; lia)).
rewrite half_opp. intros HN HN' HP HP'.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (FP : format (half (ups l))) by (apply half_record; auto; now apply small_record with U).
assert (FN : format (- half (downs l)))
  by (rewrite <- half_opp; apply half_record; auto; now apply small_record with (- L)).
assert (FN' : format (half (downs l))) by (rewrite <- (Ropp_involutive (half (downs l))); now apply generic_format_opp).
unfold total, parts. generalize (Rmax_l nU nL) (Rmax_r nU nL); intros.
destruct (Rle_lt_dec 0 (half (ups l) + half (downs l))) as [h|h].
- apply Rle_trans with (nU / 2); [apply last_up_n; auto; lra|lra].
- set (y := half (ups l) + half (downs l)) in *.
  replace y with (- (- half (ups l) + - half (downs l))) by (unfold y; ring).
  rewrite round_NE_opp.
  match goal with |- Rabs (- ?a - - ?b) <= _ => replace (- a - - b) with (- (a - b)) by ring end. rewrite Rabs_Ropp.
  apply Rle_trans with (nL / 2); [|lra]. apply last_up_n; auto using generic_format_opp; try lra; unfold y in h; lra.
Qed.

Lemma parts_insert_n a z b :
  Forall fit (a ++ z :: b) -> (length (a ++ z :: b) <= n)%nat
  -> (0 <= z -> 0 <= parts (a ++ z :: b) - parts (a ++ b) <= U + nU)
     /\ (z < 0 -> - (- L + nL) <= parts (a ++ z :: b) - parts (a ++ b) <= 0).
Proof.
intros F Hn. destruct (halves_are_shorter (a ++ z :: b)) as [S1 S2]. unfold parts. split; intros H.
- rewrite (downs_skip a z b H). apply ups_small in F. revert S1. unfold ups in *. rewrite !filter_app in *.
  fold (ups (z :: b)) in *. fold (ups a) (ups b) in *.
  rewrite up_cons, Rle_bool_true in * by auto. intros S1. apply Forall_app in F as [Fa F].
  generalize (one_half_insert_n U FU U_pos n (ups a) z (ups b) Fa (Forall_inv F) (Forall_inv_tail F) ltac:(lia)). lra.
- rewrite (ups_skip a z b H). apply downs_small in F. revert S2. unfold downs in *. rewrite !filter_app in *.
  fold (downs (z :: b)) in *. fold (downs a) (downs b) in *.
  rewrite down_cons, Rlt_bool_true in * by auto. intros S2. rewrite !map_app in F. apply Forall_app in F as [Fa F].
  simpl in F.
  assert (len : (length (map Ropp (downs a) ++ - z :: map Ropp (downs b)) <= n)%nat).
  { replace (length (map Ropp (downs a) ++ - z :: map Ropp (downs b))) with (length (downs a ++ z :: downs b)); [lia|].
    rewrite !app_length. cbn [length]. now rewrite !map_length. }
  generalize (one_half_insert_n (- L) (generic_format_opp _ _ _ FL) ltac:(lra) n (map Ropp (downs a)) (- z)
      (map Ropp (downs b)) Fa (Forall_inv F) (Forall_inv_tail F) len).
  replace (map Ropp (downs a) ++ - z :: map Ropp (downs b)) with (map Ropp (downs a ++ z :: downs b))
    by now rewrite map_app.
  rewrite <- map_app, !half_opp. lra.
Qed.

Theorem two_signs_hamming_n d d' :
  Forall fit d -> Forall fit d' -> length d = n -> hamming d d'
  -> Rabs (total d - total d') <= U + nU + (- L + nL) + Rmax nU nL.
Proof.
intros F F' Hn H. assert (Hn' : length d' = n) by (destruct H; auto; rewrite app_length in *; simpl in *; lia).
generalize (last_addition_n d F ltac:(lia)) (last_addition_n d' F' ltac:(lia)). intros E E'.
assert (G : Rabs (parts d - parts d') <= U + nU + (- L + nL)).
{ generalize (pwn_pos U n) (pwn_pos (- L) n); intros A1 A2. clear E E'. destruct H as [d|a x y b].
  - rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - destruct (parts_insert_n a x b F ltac:(lia)) as [I1 I2], (parts_insert_n a y b F' ltac:(lia)) as [J1 J2].
    destruct (Rle_lt_dec 0 x) as [h|h]; [specialize (I1 h)|specialize (I2 h)];
    (destruct (Rle_lt_dec 0 y) as [g|g]; [specialize (J1 g)|specialize (J2 g)]; apply Rabs_le; lra). }
revert E E' G. unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Corollary at_most_5_M d d' :
  Forall fit d -> Forall fit d' -> length d = n -> hamming d d' -> Rabs (total d - total d') <= 5 * magnitude L U.
Proof.
intros F F' Hn H. apply Rle_trans with (1 := two_signs_hamming_n d d' F F' Hn H).
assert (P : forall b, 0 < b -> pwn n b <= b) by (intros b Hb; apply Rle_trans with (1 := Rmin_l _ _), pw_le; lra).
generalize (P U U_pos) (P (- L) ltac:(lra)) (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)). fold (magnitude L U).
rewrite (Rabs_pos_eq U), (Rabs_left L) by lra. intros.
assert (Rmax nU nL <= magnitude L U) by (apply Rmax_lub; lra). lra.
Qed.
End PublicSize.
End TwoSigns.

End TowardZero.
