(** Sums on grids keep the bounds of Bounds.v, which are the ones the code claims, and their accuracy.

    Our own grid, down to the bit patterns the C++ kernel gets, and any other step; with the paper's step the integers
    of n records add up to 2^(bits - 2) - n at most. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Sums Wide Grid GridKernel OurGrid Rationals.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Binary64 Bounds.
Import ListNotations.
Open Scope R_scope.

(** Our grid: the integers of Bounds.v are those of OurGrid.v, and the sums keep
    the bound, which is at most the ideal. *)
Section OurGrid.
Variables (L U : Q) (sized : bool) (eta : Z).
Hypothesis LU : Q2R L <= Q2R U.
Notation RL := (Q2R L).
Notation RU := (Q2R U).
Notation g := (OurGrid.g RL RU sized eta).
Notation D := (bpow radix2 g).
Notation offset := (IZR (OurGrid.m RL RU sized eta) * D).

Lemma Q2R_ideal : Q2R (Bounds.ideal sized L U) = OurGrid.ideal RL RU sized.
Proof. unfold Bounds.ideal, OurGrid.ideal. destruct sized; [apply Q2R_minus|apply Q2R_magnitude]. Qed.

Theorem our_grid_is_our_grid :
  0 < OurGrid.ideal RL RU sized
  -> Bounds.our_grid sized eta L U
       = Bounds.Grid g (OurGrid.m RL RU sized eta) (low RL RU D offset) (high RL RU D offset).
Proof.
intros Hi. unfold Bounds.our_grid.
assert (Eg : Z.max (Bounds.floor_log2 (Bounds.ideal sized L U) - 50) eta = g).
{ rewrite floor_log2_is_mag; rewrite Q2R_ideal; auto. }
rewrite Eg. assert (D0 : ~ Bounds.pow2 g == 0).
{ intros E. apply Qeq_eqR in E. rewrite Q2R_pow2, Q2R_0 in E. generalize (bpow_gt_0 radix2 g); lra. }
assert (Em : (if sized then
          if Bounds.below 0 L then Qfloor (L / Bounds.pow2 g)
          else if Bounds.below U 0 then Qceiling (U / Bounds.pow2 g)
          else 0%Z
        else 0%Z) = OurGrid.m RL RU sized eta).
{ unfold OurGrid.m. destruct sized eqn:S; auto.
  rewrite floor_is_floor, ceiling_is_ceiling, (Q2R_div L _ D0), (Q2R_div U _ D0), Q2R_pow2.
  destruct (Bounds.below 0 L) eqn:A.
  - apply Q2R_below in A. rewrite Q2R_0 in A. destruct Rlt_dec; [reflexivity|lra].
  - assert (~ 0 < RL). { rewrite <- Q2R_0. intros H. apply Q2R_below in H. congruence. }
    destruct Rlt_dec; [lra|]. destruct (Bounds.below U 0) eqn:B.
    + apply Q2R_below in B. rewrite Q2R_0 in B. destruct Rlt_dec; [reflexivity|lra].
    + assert (~ RU < 0). { rewrite <- Q2R_0. intros H'. apply Q2R_below in H'. congruence.
      } destruct Rlt_dec; [lra|reflexivity]. }
rewrite Em. set (m := OurGrid.m RL RU sized eta) in *.
assert (El : Qceiling ((L - inject_Z m * Bounds.pow2 g) / Bounds.pow2 g) = low0 RL D offset).
{ rewrite ceiling_is_ceiling, (Q2R_div _ _ D0), Q2R_minus, Q2R_mult, Q2R_Z, Q2R_pow2. reflexivity. }
assert (Eh : Qfloor ((U - inject_Z m * Bounds.pow2 g) / Bounds.pow2 g) = high0 RU D offset).
{ rewrite floor_is_floor, (Q2R_div _ _ D0), Q2R_minus, Q2R_mult, Q2R_Z, Q2R_pow2. reflexivity. }
rewrite El, Eh. unfold low, high, nearer. fold m. set (l := low0 RL D (IZR m * D)). set (h := high0 RU D (IZR m * D)).
destruct (Z.leb_spec l h), (Z.leb_spec (Z.abs l) (Z.abs h)); repeat destruct Z_le_gt_dec; try lia; reflexivity.
Qed.

Lemma Q2R_grid_sensitivity :
  0 < OurGrid.ideal RL RU sized
  -> Q2R (Bounds.grid_sensitivity sized eta L U) = D * IZR (OurGrid.grid_sensitivity RL RU sized eta).
Proof.
intros Hi. unfold Bounds.grid_sensitivity. destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z.
- apply Q2R_zero in Z. rewrite Q2R_ideal in Z. lra.
- rewrite our_grid_is_our_grid by auto. rewrite Q2R_mult, Q2R_pow2, Q2R_Z.
  unfold OurGrid.grid_sensitivity, magnitudeZ. now destruct sized.
Qed.

Theorem grid_promise :
  0 < OurGrid.ideal RL RU sized
  -> (sized = true -> sensitivity change_one (grid_sum RL RU D offset) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false -> sensitivity symmetric (grid_sum RL RU D offset) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ Q2R (Bounds.grid_sensitivity sized eta L U) <= Q2R (Bounds.ideal sized L U)
     /\ ((eta <= Bounds.floor_log2 (Bounds.ideal sized L U) - 50)%Z
         -> (1 - bpow radix2 (-49)) * Q2R (Bounds.ideal sized L U) < Q2R (Bounds.grid_sensitivity sized eta L U)).
Proof.
intros Hi. rewrite Q2R_grid_sensitivity by auto. rewrite Q2R_ideal. assert (dp : 0 < D) by apply bpow_gt_0.
split; [|split; [|split]].
- intros S d d' H. rewrite grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le. unfold OurGrid.grid_sensitivity. rewrite S.
    apply wide_change_one; auto using low_high, q_within.
  + left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
    now rewrite (Permutation_length P), (Permutation_length Q).
- intros S d d' H. rewrite grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le. unfold OurGrid.grid_sensitivity. rewrite S.
    apply wide_symmetric; auto using q_within.
  + right. unfold OurGrid.m. rewrite S. ring.
- now apply at_most_the_ideal.
- intros E. apply little_is_lost; auto. rewrite floor_log2_is_mag in E by (now rewrite Q2R_ideal).
  rewrite Q2R_ideal in E. lia.
Qed.

(** An ideal of 0: every record is one constant, the step is 1, and the sum does not move. *)
Theorem grid_promise_of_nothing :
  OurGrid.ideal RL RU sized = 0
  -> Q2R (Bounds.grid_sensitivity sized eta L U) = 0
     /\ (sized = true -> sensitivity change_one (grid_sum RL RU 1 RL) (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false -> sensitivity symmetric (grid_sum RL RU 1 0) (Q2R (Bounds.grid_sensitivity sized eta L U))).
Proof.
intros Hi. assert (E : Q2R (Bounds.grid_sensitivity sized eta L U) = 0).
{ unfold Bounds.grid_sensitivity. replace (Bounds.is_zero (Bounds.ideal sized L U)) with true; [apply Q2R_0|].
  symmetry. apply Q2R_zero. now rewrite Q2R_ideal. }
rewrite E. split; auto. unfold OurGrid.ideal in Hi. split; intros S d d' H; rewrite S in Hi.
- rewrite <- Hi. apply grid_change_one; auto. lra.
- rewrite <- Hi. apply grid_symmetric; auto. lra.
Qed.

Theorem grid_accuracy_of_nothing randomised n :
  OurGrid.ideal RL RU sized = 0
  -> Q2R (Bounds.grid_accuracy randomised sized eta n L U) = 0
     /\ (sized = true -> forall d, grid_sum RL RU 1 RL d = sum (map (clampR RL RU) d))
     /\ (sized = false -> forall d, grid_sum RL RU 1 0 d = sum (map (clampR RL RU) d)).
Proof.
intros Hi. split.
{ unfold Bounds.grid_accuracy. replace (Bounds.is_zero (Bounds.ideal sized L U)) with true; [apply Q2R_0|].
  symmetry. apply Q2R_zero. now rewrite Q2R_ideal. }
assert (G : RU = RL -> forall d, grid_sum RL RU 1 RL d = sum (map (clampR RL RU) d)).
{ intros E. rewrite E. assert (C : forall x, clampR RL RL x = RL).
  { intros x. unfold clampR, Rmax, Rmin. repeat destruct Rle_dec; lra. }
  assert (Z0 : (RL - RL) / 1 = IZR 0) by (simpl; field).
  assert (Q : forall x, q RL RL 1 RL x = 0%Z).
  { intros x. unfold q, low, high, low0, high0. rewrite C, Z0, Zceil_IZR, Zfloor_IZR, (Zrnd_IZR ZnearestE 0).
    destruct Z_le_gt_dec; [reflexivity|lia]. }
  intros d. unfold grid_sum. replace (wide (q RL RL 1 RL) d) with 0%Z.
  - induction d as [|x d IH]; [simpl; ring|]. cbn [map sum fold_right length]. fold (sum (map (clampR RL RL) d)).
    rewrite <- IH, C, S_INR. ring.
  - unfold wide. induction d as [|x d IH]; [reflexivity|]. cbn [map sumZ fold_right]. rewrite Q. unfold sumZ in IH.
    lia. }
split; intros S; unfold OurGrid.ideal in Hi; rewrite S in Hi.
- apply G. lra.
- assert (A := magnitude_bound RL RU RL). assert (B := magnitude_bound RL RU RU). unfold within in A, B.
  rewrite Hi in A, B. assert (RL = 0 /\ RU = 0) as [E1 E2].
  { generalize (A ltac:(lra)) (B ltac:(lra)). unfold Rabs. repeat destruct Rcase_abs; lra. }
  intros d. rewrite <- (G ltac:(lra) d). now rewrite E1.
Qed.

(** The whole way from bit patterns to the bound: what the C++ expression makes of every record, NaN and infinities
    included, added exactly and scaled back, moves by at most what the code claims. *)
Notation J := (low RL RU D offset).
Notation K := (high RL RU D offset).
Notation double := Bits.binary64.
Notation is z r := (Binary.is_finite 53 1024 z = true /\ Binary.B2R 53 1024 z = r).

Definition kernel_sum (shift : Z) (base scale more low64 high64 : double) (d : list double) : R :=
  D * IZR (wide (fun x => Binary64.block64 base scale more low64 high64 (J - shift) (K - shift) x + shift)%Z d)
    + INR (length d) * offset.

Theorem kernel_promise shift base scale more low64 high64 :
  0 < OurGrid.ideal RL RU sized
  -> Rabs RL < bpow radix2 1024
  -> Rabs RU < bpow radix2 1024
  -> (-1074 <= eta <= 0)%Z
  -> GridKernel.base 53 (-1074) g (OurGrid.m RL RU sized eta) = offset + IZR shift * D
  -> is base (GridKernel.base 53 (-1074) g (OurGrid.m RL RU sized eta))
  -> is scale (bpow radix2 (OurGrid.e1 RL RU sized eta))
  -> is more (bpow radix2 (OurGrid.e2 RL RU sized eta))
  -> is low64 (GridKernel.anchor 53 + IZR (J - shift))
  -> is high64 (GridKernel.anchor 53 + IZR (K - shift))
  -> (J < K)%Z
  -> (Z.abs (J - shift) <= 2 ^ 51)%Z /\ (Z.abs (K - shift) <= 2 ^ 51)%Z
  -> (sized = true
      -> sensitivity change_one (kernel_sum shift base scale more low64 high64)
           (Q2R (Bounds.grid_sensitivity sized eta L U)))
     /\ (sized = false
         -> sensitivity symmetric (kernel_sum shift base scale more low64 high64)
              (Q2R (Bounds.grid_sensitivity sized eta L U))).
Proof.
intros Hi RL1 RU1 He Hs Hb Hsc Hm Hl Hh JK Hr. rewrite Q2R_grid_sensitivity by auto.
assert (dp : 0 < D) by apply bpow_gt_0. destruct (steps_of_doubles RL RU sized eta Hi RL1 RU1 (proj2 He)) as [G0 G2].
assert (G1 : (-1074 <= g <= 1022)%Z) by (split; [unfold OurGrid.g; lia|exact G0]).
set (q := fun x => (Binary64.block64 base scale more low64 high64 (J - shift) (K - shift) x + shift)%Z).
assert (W : forall x, (J <= q x <= K)%Z).
{ intros x. unfold q.
  rewrite
    (the_kernel_is_exact RL RU sized eta LU Hi G1 G2 shift base scale more low64 high64 Hs Hb Hsc Hm Hl Hh JK Hr).
  destruct x as [s|[|]|s pl Hpl|s mx ex Hx]; cbn [OurGrid.q64]; try (apply q_within); lia. }
assert (S : forall d d', length d = length d' \/ offset = 0 ->
  Rabs (kernel_sum shift base scale more low64 high64 d - kernel_sum shift base scale more low64 high64 d')
    = D * IZR (Z.abs (wide q d - wide q d'))).
{ intros d d' H. unfold kernel_sum. fold q. rewrite abs_IZR, minus_IZR.
  match goal with |- Rabs ?x = _ => replace x with (D * (IZR (wide q d) - IZR (wide q d'))) end.
  - rewrite Rabs_mult, (Rabs_pos_eq D) by lra. reflexivity.
  - destruct H as [->| ->]; ring. }
split; intros Z d d' H; rewrite S.
- assert (E : OurGrid.grid_sensitivity RL RU sized eta = (K - J)%Z) by (unfold OurGrid.grid_sensitivity; now rewrite Z).
  rewrite E. apply Rmult_le_compat_l; [lra|]. apply IZR_le. apply wide_change_one; auto. lia.
- left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
  now rewrite (Permutation_length P), (Permutation_length Q).
- assert (E : OurGrid.grid_sensitivity RL RU sized eta = magnitudeZ J K)
    by (unfold OurGrid.grid_sensitivity; now rewrite Z).
  rewrite E. apply Rmult_le_compat_l; [lra|]. apply IZR_le. now apply wide_symmetric.
- right. unfold OurGrid.m. rewrite Z. ring.
Qed.

Theorem grid_accuracy_promise n d :
  0 < OurGrid.ideal RL RU sized -> length d = n
  -> Rabs (grid_sum RL RU D offset d - sum (map (clampR RL RU) d)) <= Q2R (Bounds.grid_accuracy false sized eta n L U).
Proof.
intros Hi Hd. apply Rle_trans with (1 := grid_accuracy RL RU D offset LU (bpow_gt_0 radix2 g) d). right. rewrite Hd.
unfold Bounds.grid_accuracy.
destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z; [apply Q2R_zero in Z; rewrite Q2R_ideal in Z; lra|].
rewrite our_grid_is_our_grid by auto. unfold record_error.
rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z, !Q2R_pow2.
rewrite Q2R_div, Q2R_pow2, Q2R_2 by discriminate. reflexivity.
Qed.

Theorem randomised_accuracy_promise n (d : list (bool * R)) :
  0 < OurGrid.ideal RL RU sized -> length d = n
  -> Rabs (randomised_sum RL RU D offset d - sum (map (fun cx => clampR RL RU (snd cx)) d))
       <= Q2R (Bounds.grid_accuracy true sized eta n L U).
Proof.
intros Hi Hd. apply Rle_trans with (1 := randomised_accuracy RL RU D offset LU (bpow_gt_0 radix2 g) d). right.
rewrite Hd. unfold Bounds.grid_accuracy.
destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z; [apply Q2R_zero in Z; rewrite Q2R_ideal in Z; lra|].
rewrite our_grid_is_our_grid by auto. unfold randomised_error.
rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z, !Q2R_pow2. reflexivity.
Qed.
End OurGrid.

(** A grid with any step. *)
Section AnyStep.
Variables (L U D : Q) (sized : bool).
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis D_pos : 0 < Q2R D.
Notation RL := (Q2R L).
Notation RU := (Q2R U).
Notation RD := (Q2R D).
Notation offset := (Q2R (Bounds.stepped_offset sized L U)).

Lemma inward_is o : Bounds.inward L U D o = (low RL RU RD (Q2R o), high RL RU RD (Q2R o)).
Proof.
assert (D0 : ~ D == 0) by (intros E; apply Qeq_eqR in E; rewrite Q2R_0 in E; lra).
unfold Bounds.inward, low, high, nearer, low0, high0.
rewrite ceiling_is_ceiling, floor_is_floor, !(Q2R_div _ _ D0), !Q2R_minus.
set (l := Zceil _). set (h := Zfloor _).
destruct (Z.leb_spec l h), (Z.leb_spec (Z.abs l) (Z.abs h)); repeat destruct Z_le_gt_dec; try lia; reflexivity.
Qed.

Theorem stepped_promise :
  (sized = true -> sensitivity change_one (grid_sum RL RU RD offset) (Q2R (Bounds.stepped_sensitivity sized D L U)))
  /\ (sized = false -> sensitivity symmetric (grid_sum RL RU RD offset) (Q2R (Bounds.stepped_sensitivity sized D L U)))
  /\ (forall d,
        Rabs (grid_sum RL RU RD offset d - sum (map (clampR RL RU) d))
          <= Q2R (Bounds.stepped_accuracy false sized D (length d) L U))
  /\ (forall d,
        Rabs (randomised_sum RL RU RD offset d - sum (map (fun cx => clampR RL RU (snd cx)) d))
          <= Q2R (Bounds.stepped_accuracy true sized D (length d) L U)).
Proof.
unfold Bounds.stepped_sensitivity, Bounds.stepped_accuracy. rewrite inward_is. split; [|split; [|split]].
- intros S d d' H. rewrite Q2R_mult, Q2R_Z, grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le.
    destruct sized; [|discriminate]. apply wide_change_one; auto using low_high, q_within.
  + left. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
    now rewrite (Permutation_length P), (Permutation_length Q).
- intros S d d' H. rewrite Q2R_mult, Q2R_Z, grid_diff; auto.
  + apply Rmult_le_compat_l; [lra|]. apply IZR_le.
    destruct sized; [discriminate|]. apply wide_symmetric; auto using q_within.
  + right. unfold Bounds.stepped_offset. rewrite S. apply Q2R_0.
- intros d. apply Rle_trans with (1 := grid_accuracy RL RU RD offset LU D_pos d). right. unfold record_error.
  rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z.
  rewrite Q2R_div, Q2R_2 by discriminate. reflexivity.
- intros d. apply Rle_trans with (1 := randomised_accuracy RL RU RD offset LU D_pos d). right. unfold randomised_error.
  rewrite Q2R_mult, Q2R_nat, !Q2R_max, !Q2R_abs, !Q2R_minus, !Q2R_plus, !Q2R_mult, !Q2R_Z. reflexivity.
Qed.

(** Integers are no larger than W / D, if no record is further than W from the offset. *)
Lemma integers_at_most W o x : - W <= RL - o -> RU - o <= W -> Rabs (IZR (q RL RU RD o x)) * RD <= W.
Proof.
intros A B. assert (Q := q_within RL RU RD o x).
generalize (low0_ge RL RD o D_pos) (high0_le RU RD o D_pos) (low0_lt RL RD o D_pos) (high0_gt RU RD o D_pos).
revert Q. unfold low, high. destruct Z_le_gt_dec as [h|h]; intros [Q1 Q2] H1 H2 H3 H4.
- apply IZR_le in Q1, Q2.
  apply (Rmult_le_compat_r RD) in Q1; [|lra]. apply (Rmult_le_compat_r RD) in Q2; [|lra].
  unfold Rabs. destruct Rcase_abs; lra.
- set (l := low0 RL RD o) in *. set (t := high0 RU RD o) in *.
  assert (E : l = (t + 1)%Z).
  { assert (l < t + 2)%Z; [|lia]. apply lt_IZR. rewrite plus_IZR. apply Rmult_lt_reg_r with RD; lra. }
  assert (F : q RL RU RD o x = nearer l t) by lia. rewrite F. unfold nearer.
  destruct Z_le_gt_dec as [g|g].
  + assert (l <= 0)%Z by lia. rewrite Rabs_left1 by (now apply IZR_le). lra.
  + assert (0 <= t)%Z by lia. rewrite Rabs_pos_eq by (now apply IZR_le). lra.
Qed.

(** The paper's step: n integers add up to 2^(bits - 2) - n at most. *)
Theorem paper_step_leaves_room bits n :
  D = Bounds.paper_step sized bits n L U -> (0 < n)%nat -> INR n < bpow radix2 (bits - 2)
  -> 0 < Q2R (Bounds.ideal sized L U)
  -> forall d, (length d <= n)%nat -> Rabs (IZR (wide (q RL RU RD offset) d)) <= bpow radix2 (bits - 2) - INR n.
Proof.
intros ED n0 Hn Hlu d Hd. set (b := bpow radix2 (bits - 2)) in *. apply lt_INR in n0. simpl in n0.
set (W := if sized then RU - RL else Rmax (RU - RL) (magnitude RL RU)).
assert (W0 : 0 < W).
{ revert Hlu. unfold W, Bounds.ideal. destruct sized; [rewrite Q2R_minus|rewrite Q2R_magnitude]; intros; [lra|].
  generalize (Rmax_r (RU - RL) (magnitude RL RU)). lra. }
assert (EW : RD = W * INR n / (b - INR n)).
{ assert (ne : ~ Bounds.pow2 (bits - 2) - Bounds.nat_Q n == 0).
  { intros E. apply Qeq_eqR in E. rewrite Q2R_minus, Q2R_pow2, Q2R_nat, Q2R_0 in E. fold b in E. lra. }
  assert (E : Q2R ((if sized then U - L else Qmax (U - L) (Bounds.magnitude L U)) * Bounds.nat_Q n
            / (Bounds.pow2 (bits - 2) - Bounds.nat_Q n)) = W * INR n / (b - INR n)).
  { rewrite (Q2R_div _ _ ne), Q2R_mult, Q2R_nat, Q2R_minus, Q2R_pow2, Q2R_nat. unfold W.
    destruct sized; [now rewrite Q2R_minus|now rewrite Q2R_max, Q2R_minus, Q2R_magnitude]. }
  rewrite ED. unfold Bounds.paper_step. destruct (Bounds.is_zero _) eqn:Z; [|exact E].
  apply Q2R_zero in Z. rewrite E in Z. exfalso. assert (0 < W * INR n / (b - INR n)); [|lra].
  apply Rdiv_lt_0_compat; nra. }
assert (R : - W <= RL - offset /\ RU - offset <= W).
{ revert Hlu. unfold W, Bounds.stepped_offset, Bounds.ideal. destruct sized; intros Hlu.
  - rewrite Q2R_minus in Hlu. destruct (Qle_bool (Qabs L) (Qabs U)) eqn:C.
    + apply Q2R_le in C. rewrite !Q2R_abs in C. rewrite Q2R_max, Q2R_0. revert C.
      unfold Rabs, Rmax. repeat destruct Rcase_abs; destruct Rle_dec; lra.
    + rewrite Q2R_min, Q2R_0. assert (C' : Rabs RU < Rabs RL).
      { apply Rnot_le_lt. intros C'. rewrite <- !Q2R_abs in C'. apply Q2R_le in C'. congruence. }
      revert C'. unfold Rabs, Rmin. repeat destruct Rcase_abs; destruct Rle_dec; lra.
  - rewrite Q2R_0.
    generalize (Rmax_r (RU - RL) (magnitude RL RU)) (Rmax_l (Rabs RL) (Rabs RU)) (Rmax_r (Rabs RL) (Rabs RU))
      (Rle_abs RU) (Rle_abs (- RL)).
    rewrite Rabs_Ropp. unfold magnitude. lra. }
assert (B : forall x, Rabs (IZR (q RL RU RD offset x)) <= (b - INR n) / INR n).
{ intros x. apply Rmult_le_reg_r with RD; auto. apply Rle_trans with W; [now apply integers_at_most|].
  right. rewrite EW. field. lra. }
assert (S : Rabs (IZR (wide (q RL RU RD offset) d)) <= INR (length d) * ((b - INR n) / INR n)).
{ clear Hd. unfold wide. induction d as [|x d IH]; [simpl; rewrite Rabs_R0; lra|].
  cbn [map sumZ fold_right length]. rewrite plus_IZR, S_INR. apply Rle_trans with (1 := Rabs_triang _ _).
  unfold sumZ in IH. generalize (B x). lra. }
apply Rle_trans with (1 := S). apply le_INR in Hd.
assert (P : 0 <= (b - INR n) / INR n) by (apply Rlt_le, Rdiv_lt_0_compat; lra).
apply Rle_trans with (INR n * ((b - INR n) / INR n)); [now apply Rmult_le_compat_r|]. right. field. lra.
Qed.
End AnyStep.
