(** Where the condition of a sum on a grid holds, it keeps its promise: Conditions.v implies the hypotheses of
    GridPromises.v.

    The integers may be any in [J, K] that depend on their own record alone: rounded to nearest, as `Grid.q` is, or by
    coins, or as the kernel computes them. No hypothesis is left but that where no limit is known, the records are fewer
    than 2^64. *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Accuracy Wide Grid OurGrid Rationals GridPromises Conditions Types.
From Soundsum Require Binary64 GridKernel Overflow Bounds.
Import ListNotations.
Open Scope R_scope.

Definition grid_sum_of {X} (D offset : R) (q : X -> Z) (d : list X) := D * IZR (wide q d) + INR (length d) * offset.

Lemma change_one_length {X} (d d' : list X) : change_one d d' -> length d = length d'.
Proof.
intros H. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
now rewrite (Permutation_length P), (Permutation_length Q).
Qed.

Lemma grid_sums_differ {X} D offset (q : X -> Z) d d' :
  0 <= D -> length d = length d' \/ offset = 0
  -> Rabs (grid_sum_of D offset q d - grid_sum_of D offset q d') = D * IZR (Z.abs (wide q d - wide q d')).
Proof.
intros D0 H. unfold grid_sum_of. rewrite abs_IZR, minus_IZR.
match goal with |- Rabs ?x = _ => replace x with (D * (IZR (wide q d) - IZR (wide q d'))) end.
- now rewrite Rabs_mult, (Rabs_pos_eq D).
- destruct H as [->| ->]; ring.
Qed.

Lemma grid_sums_are_close {X} D offset J K (q : X -> Z) :
  0 <= D -> (J <= K)%Z -> (forall x, J <= q x <= K)%Z
  -> sensitivity change_one (grid_sum_of D offset q) (D * IZR (K - J))
     /\ (offset = 0 -> sensitivity symmetric (grid_sum_of D offset q) (D * IZR (magnitudeZ J K))).
Proof.
intros D0 JK W. split; [intros d d' H|intros O d d' H].
- rewrite grid_sums_differ by auto using change_one_length. apply Rmult_le_compat_l; auto. apply IZR_le.
  now apply wide_change_one.
- rewrite grid_sums_differ by auto. apply Rmult_le_compat_l; auto. apply IZR_le. now apply wide_symmetric.
Qed.

Lemma q_at_the_ends L U D offset :
  L <= U -> q L U D offset L = low L U D offset /\ q L U D offset U = high L U D offset.
Proof.
intros LU. assert (C : clampR L U L = L /\ clampR L U U = U).
{ unfold clampR. split; [rewrite Rmin_right, Rmax_left|rewrite Rmin_left, Rmax_right]; lra. }
destruct C as [C1 C2]. unfold q. rewrite C1, C2.
assert (A := Znearest_le_ceil (fun x => negb (Z.even x)) ((L - offset) / D)).
assert (B := Znearest_ge_floor (fun x => negb (Z.even x)) ((U - offset) / D)).
fold (low0 L D offset) in A. fold (high0 U D offset) in B. revert A B. unfold clamp, low, high.
destruct Z_le_gt_dec; lia.
Qed.

Theorem grid_keeps_its_promise T sized limit L U D offset J K :
  grid_allowed T limit L U = true
  -> whole_grid sized (smallest_exponent T) L U = (D, offset, J, K)
  -> 0 < Q2R D
     /\ (forall x, J <= q (Q2R L) (Q2R U) (Q2R D) (Q2R offset) x <= K)%Z
     /\ Q2R (Bounds.grid_sensitivity sized (smallest_exponent T) L U) <= Q2R (Bounds.ideal sized L U)
     /\ forall X (q : X -> Z),
          (forall x, J <= q x <= K)%Z
          -> (sized = true
              -> sensitivity change_one (grid_sum_of (Q2R D) (Q2R offset) q)
                   (Q2R (Bounds.grid_sensitivity sized (smallest_exponent T) L U)))
             /\ (sized = false
                 -> sensitivity symmetric (grid_sum_of (Q2R D) (Q2R offset) q)
                      (Q2R (Bounds.grid_sensitivity sized (smallest_exponent T) L U)))
             /\ forall d, at_most limit d -> (Z.abs (wide q d) < 2 ^ 115)%Z.
Proof.
intros H G. unfold grid_allowed in H. conditions. assert (LU : Q2R L <= Q2R U) by now apply Q2R_le.
set (eta := smallest_exponent T) in *. assert (I := Q2R_ideal L U sized).
unfold whole_grid in G. destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z.
- assert (E : Q2R (Bounds.grid_sensitivity sized eta L U) = 0)
    by (unfold Bounds.grid_sensitivity; rewrite Z; apply Q2R_0).
  apply Q2R_zero in Z. rewrite I in Z. rewrite E, I, Z. injection G as <- <- <- <-.
  assert (O : Q2R (if sized then L else 0%Q) = Q2R L /\ Q2R U = Q2R L).
  { revert Z. unfold OurGrid.ideal. destruct sized; [lra|]. rewrite Q2R_0. intros Z.
    assert (A := magnitude_bound (Q2R L) (Q2R U) (Q2R L)). assert (B := magnitude_bound (Q2R L) (Q2R U) (Q2R U)).
    unfold within in A, B. rewrite Z in A, B. generalize (A ltac:(lra)) (B ltac:(lra)).
    unfold Rabs. repeat destruct Rcase_abs; lra. }
  destruct O as [O ->]. rewrite O. split; [rewrite Q2R_1; lra|split; [|split; [lra|]]].
  + intros x. assert (W := q_within (Q2R L) (Q2R L) (Q2R 1) (Q2R L) x). revert W. unfold low, high, low0, high0.
    rewrite Q2R_1. replace ((Q2R L - Q2R L) / 1) with (IZR 0) by (simpl; field).
    rewrite Zceil_IZR, Zfloor_IZR. destruct Z_le_gt_dec; lia.
  + intros X q W. assert (Q0 : forall d, wide q d = 0%Z).
    { induction d as [|x d IH]; [reflexivity|]. unfold wide in *. cbn [map sumZ fold_right]. fold (sumZ (map q d)).
      generalize (W x). lia. }
    split; [|split]; [intros S d d' N|intros S d d' N|intros d _; rewrite Q0; reflexivity].
    * unfold grid_sum_of. rewrite !Q0, (change_one_length d d' N), Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
    * rewrite grid_sums_differ, !Q0 by (rewrite ?Q2R_1, <- ?O, ?S, ?Q2R_0; lra || now right). simpl. lra.
- apply Q2R_nonzero in Z. rewrite I in Z.
  assert (Hi : 0 < OurGrid.ideal (Q2R L) (Q2R U) sized).
  { revert Z. unfold OurGrid.ideal. destruct sized; [lra|]. generalize (magnitude_pos (Q2R L) (Q2R U)). lra. }
  destruct (grid_promise L U sized eta LU Hi) as (_ & _ & At & _).
  rewrite (our_grid_is_our_grid L U sized eta Hi) in G. cbn iota beta in G. injection G as <- <- <- <-.
  rewrite !Q2R_mult, !Q2R_Z, !Q2R_pow2.
  rewrite (Q2R_grid_sensitivity L U sized eta Hi) in *. set (g := OurGrid.g (Q2R L) (Q2R U) sized eta) in *.
  set (m := OurGrid.m (Q2R L) (Q2R U) sized eta) in *. set (o := IZR m * bpow radix2 g) in *.
  assert (d0 : 0 < bpow radix2 g) by apply bpow_gt_0. assert (dq : 0 < Q2R (Bounds.pow2 g)) by now rewrite Q2R_pow2.
  split; [auto|split; [intros; apply q_within|split; [exact At|]]].
  assert (big : forall x, (Z.abs (q (Q2R L) (Q2R U) (bpow radix2 g) o x) <= 2 ^ 51)%Z).
  { intros x. set (W := OurGrid.ideal (Q2R L) (Q2R U) sized + bpow radix2 g).
    assert (R : - W <= Q2R L - o /\ Q2R U - o <= W).
    { unfold W, o, m, OurGrid.m, OurGrid.ideal. fold g. destruct sized; [|rewrite Rmult_0_l].
      - destruct Rlt_dec as [h|h]; [|destruct Rlt_dec as [h'|h']; [|lra]].
        + assert (A := Zfloor_lb (Q2R L / bpow radix2 g)). assert (B := Zfloor_ub (Q2R L / bpow radix2 g)).
          apply (Rmult_le_compat_r (bpow radix2 g)) in A; [|lra].
          apply (Rmult_lt_compat_r (bpow radix2 g)) in B; [|lra].
          unfold Rdiv in *. rewrite Rmult_plus_distr_r in B.
          rewrite Rmult_assoc, Rinv_l, Rmult_1_r in A, B by lra. lra.
        + assert (A := Zceil_ub (Q2R U / bpow radix2 g)). assert (B := Zceil_lb (Q2R U / bpow radix2 g)).
          apply (Rmult_le_compat_r (bpow radix2 g)) in A; [|lra].
          apply (Rmult_lt_compat_r (bpow radix2 g)) in B; [|lra].
          unfold Rdiv in *. rewrite Rmult_plus_distr_r in B.
          rewrite Rmult_assoc, Rinv_l, Rmult_1_r in A, B by lra. lra.
      - generalize (Rmax_l (Rabs (Q2R L)) (Rabs (Q2R U))) (Rmax_r (Rabs (Q2R L)) (Rabs (Q2R U))) (Rle_abs (Q2R U))
          (Rle_abs (- Q2R L)).
        rewrite Rabs_Ropp. unfold magnitude. lra. }
    assert (A := integers_at_most L U (Bounds.pow2 g) LU dq W o x (proj1 R) (proj2 R)). rewrite Q2R_pow2 in A.
    assert (B := ideal_in_steps (Q2R L) (Q2R U) sized eta Hi). fold g in B. unfold W in A.
    apply Zlt_succ_le, lt_IZR. rewrite abs_IZR, succ_IZR. apply Rmult_lt_reg_r with (bpow radix2 g); auto.
    change (IZR (2 ^ 51)) with (bpow radix2 51). lra. }
  destruct (q_at_the_ends (Q2R L) (Q2R U) (bpow radix2 g) o LU) as [EJ EK].
  assert (bigJ := big (Q2R L)). assert (bigK := big (Q2R U)). rewrite EJ in bigJ. rewrite EK in bigK.
  intros X q W. destruct (grid_sums_are_close (bpow radix2 g) o _ _ q (Rlt_le _ _ d0) (low_high _ _ _ _) W) as [S1 S2].
  unfold OurGrid.grid_sensitivity. fold g m o. split; [now intros ->|split].
  + intros S. rewrite S. apply S2. unfold o, m, OurGrid.m. rewrite S. ring.
  + intros d A. apply (wide_128_bits X q _ _ W); [unfold magnitudeZ; lia|]. now apply (fewer_records limit).
Qed.

(** The kernel's integers are these, for every double: NaN counts as 0, infinities are clamped. *)
Definition q_of_double (L U D offset : R) (J K : Z) (x : Bits.binary64) :=
  match x with
  | Binary.B754_nan _ _ _ => q L U D offset 0
  | Binary.B754_infinity s => if s then J else K
  | _ => q L U D offset (Binary.B2R 53 1024 x)
  end.

Lemma double_from_is_base g m :
  Q2R (double_from (inject_Z m * Bounds.pow2 g)) = GridKernel.base 53 (-1074) g m.
Proof.
assert (E : Q2R (inject_Z m * Bounds.pow2 g) = IZR m * bpow radix2 g) by now rewrite Q2R_mult, Q2R_Z, Q2R_pow2.
unfold GridKernel.base. rewrite <- E. set (x := (inject_Z m * Bounds.pow2 g)%Q).
unfold double_from. destruct (Bounds.is_zero x) eqn:Z.
- apply Q2R_zero in Z. rewrite Z, Q2R_0. destruct Rle_dec; now rewrite round_0 by auto with typeclass_instances.
- apply Q2R_nonzero in Z. assert (P : 0 < Q2R (Qabs x)) by (rewrite Q2R_abs; now apply Rabs_pos_lt).
  rewrite Q2R_mult, Q2R_Z, Q2R_pow2, floor_log2_is_mag, Q2R_abs, mag_abs by auto.
  assert (C : Z.max (mag radix2 (Q2R x) - 1 - 52) (-1074) = cexp radix2 (FLT_exp (-1074) 53) (Q2R x))
    by (unfold cexp, FLT_exp; lia).
  rewrite C. set (e := cexp _ _ _).
  assert (Q : Q2R (x / Bounds.pow2 e) = scaled_mantissa radix2 (FLT_exp (-1074) 53) (Q2R x)).
  { unfold scaled_mantissa. fold e. rewrite Q2R_div, Q2R_pow2; [now rewrite bpow_opp|].
    intros N. apply Qeq_eqR in N. rewrite Q2R_pow2, Q2R_0 in N. generalize (bpow_gt_0 radix2 e). lra. }
  unfold round, F2R. cbn [Fnum Fexp]. fold e. rewrite floor_is_floor, ceiling_is_ceiling, Q.
  destruct Rle_dec as [h|h]; destruct (Bounds.below x 0) eqn:B; auto.
  + apply Q2R_below in B. rewrite Q2R_0 in B. lra.
  + exfalso. apply h. rewrite <- Q2R_0. apply Rnot_lt_le. intros N. apply Q2R_below in N. congruence.
Qed.

Theorem doubles_are_exact T sized limit L U D offset J K c :
  grid_allowed T limit L U = true
  -> whole_grid sized (smallest_exponent T) L U = (D, offset, J, K)
  -> in_doubles sized T L U = Some c
  -> let is (z : Bits.binary64) r := Binary.is_finite 53 1024 z = true /\ Binary.B2R 53 1024 z = r in
     forall base64 scale64 more64 low64 high64 x,
       is base64 (Q2R (base c)) -> is scale64 (bpow radix2 (scale c)) -> is more64 (bpow radix2 (more c))
       -> is low64 (GridKernel.anchor 53 + IZR (least_double c))
       -> is high64 (GridKernel.anchor 53 + IZR (greatest_double c))
       -> (Binary64.block64 base64 scale64 more64 low64 high64 (least_double c) (greatest_double c) x + shift c)%Z
            = q_of_double (Q2R L) (Q2R U) (Q2R D) (Q2R offset) J K x.
Proof.
intros H G C is. unfold grid_allowed in H. conditions. assert (LU : Q2R L <= Q2R U) by now apply Q2R_le.
set (eta := smallest_exponent T) in *. unfold whole_grid in G. unfold in_doubles in C. fold eta in C.
destruct (Bounds.is_zero (Bounds.ideal sized L U)) eqn:Z; [discriminate|].
assert (Hi : 0 < OurGrid.ideal (Q2R L) (Q2R U) sized).
{ apply Q2R_nonzero in Z. rewrite Q2R_ideal in Z. revert Z. unfold OurGrid.ideal. destruct sized; [lra|].
  generalize (magnitude_pos (Q2R L) (Q2R U)). lra. }
rewrite (our_grid_is_our_grid L U sized eta Hi) in G, C. cbn iota beta zeta in G, C. injection G as <- <- <- <-.
set (g := OurGrid.g (Q2R L) (Q2R U) sized eta) in *. set (m := OurGrid.m (Q2R L) (Q2R U) sized eta) in *.
set (s := Qfloor _) in C. match type of C with (if ?b then _ else _) = _ => destruct b eqn:E; [|discriminate] end.
injection C as <-. cbn [base scale more least_double greatest_double shift]. conditions.
assert (G1 : (-1074 <= g <= 1022)%Z) by (split; now apply Z.leb_le).
assert (G2 : (g <= 973)%Z \/ m = 0%Z).
{ match goal with h : (_ || _)%bool = true |- _ => apply Bool.orb_prop in h as [h|h] end; [right; now apply Z.eqb_eq|].
  match goal with h : Bounds.below (Bounds.magnitude L U) _ = true |- _ =>
    apply Q2R_below in h; rewrite Q2R_magnitude, Q2R_pow2 in h; rename h into far end.
  destruct (float_type_facts T ltac:(assumption)) as (_ & _ & e0).
  apply (steps_of_doubles (Q2R L) (Q2R U) sized eta Hi); auto; apply Rle_lt_trans with (2 := far);
    [apply Rmax_l|apply Rmax_r]. }
rewrite !Q2R_mult, !Q2R_Z, !Q2R_pow2. intros base64 scale64 more64 low64 high64 x Hb Hs Hm Hl Hh.
rewrite double_from_is_base in Hb.
assert (S : GridKernel.base 53 (-1074) g m = IZR m * bpow radix2 g + IZR s * bpow radix2 g).
{ rewrite <- double_from_is_base.
  match goal with h : Qeq_bool _ _ = true |- _ => apply Qeq_bool_iff, Qeq_eqR in h; rewrite h end.
  now rewrite Q2R_plus, !Q2R_mult, !Q2R_Z, Q2R_pow2. }
rewrite (OurGrid.the_kernel_is_exact (Q2R L) (Q2R U) sized eta LU Hi G1 G2 s
  base64 scale64 more64 low64 high64 S Hb Hs Hm Hl Hh).
- reflexivity.
- now apply Z.ltb_lt.
- split; now apply Z.leb_le.
Qed.

Theorem written_out_integers_fit w J K X (q : X -> Z) :
  written_out w J K = true -> (forall x, J <= q x <= K)%Z
  -> forall x, (least (IntegerType w true) <= q x <= greatest (IntegerType w true))%Z.
Proof. intros H W x. unfold written_out in H. conditions. specialize (W x). lia. Qed.

Theorem stepped_keeps_its_promise sized limit D L U J K :
  stepped_allowed limit D L U = true
  -> Bounds.inward L U D (Bounds.stepped_offset sized L U) = (J, K)
  -> let offset := Q2R (Bounds.stepped_offset sized L U) in
     (forall x, J <= q (Q2R L) (Q2R U) (Q2R D) offset x <= K)%Z
     /\ forall X (q : X -> Z),
          (forall x, J <= q x <= K)%Z
          -> (sized = true
              -> sensitivity change_one (grid_sum_of (Q2R D) offset q) (Q2R (Bounds.stepped_sensitivity sized D L U)))
             /\ (sized = false
                 -> sensitivity symmetric (grid_sum_of (Q2R D) offset q)
                      (Q2R (Bounds.stepped_sensitivity sized D L U))).
Proof.
intros H G offset. unfold stepped_allowed in H. conditions. assert (LU : Q2R L <= Q2R U) by now apply Q2R_le.
assert (D0 : 0 < Q2R D) by (rewrite <- Q2R_0; now apply Q2R_below).
unfold Bounds.stepped_sensitivity. rewrite G. rewrite (inward_is L U D D0) in G. injection G as <- <-.
fold offset. split; [intros; apply q_within|]. intros X q W.
destruct (grid_sums_are_close (Q2R D) offset _ _ q (Rlt_le _ _ D0) (low_high _ _ _ _) W) as [S1 S2].
rewrite Q2R_mult, Q2R_Z. split; intros S; rewrite S; [exact S1|]. apply S2. unfold offset. rewrite S. apply Q2R_0.
Qed.

(** The paper's step is one, and n integers and fewer leave room in w bits for noise, where any is needed. *)
Theorem paper_step_keeps_its_promise sized w n L U :
  paper_allowed w (Some n) L U = true
  -> let D := Bounds.paper_step sized w (N.to_nat n) L U in
     stepped_allowed (Some n) D L U = true
     /\ (0 < Q2R (Bounds.ideal sized L U)
         -> forall d,
              (length d <= N.to_nat n)%nat
              -> (Z.abs (wide (q (Q2R L) (Q2R U) (Q2R D) (Q2R (Bounds.stepped_offset sized L U))) d)
                    <= 2 ^ (w - 2) - Z.of_N n)%Z).
Proof.
intros H D. unfold paper_allowed in H. apply andb_prop in H as [H few]. apply andb_prop in H as [le H].
apply Z.ltb_lt in H. assert (LU : Q2R L <= Q2R U) by now apply Q2R_le.
assert (w2 : (0 <= w - 2)%Z).
{ destruct (Z_le_gt_dec 0 (w - 2)) as [h|h]; auto. exfalso. rewrite Z.pow_neg_r in H; lia. }
assert (P : bpow radix2 (w - 2) = IZR (2 ^ (w - 2))) by (symmetry; now apply (IZR_Zpower radix2)).
assert (Hn : INR (N.to_nat n) < bpow radix2 (w - 2)) by (rewrite P, INR_IZR_INZ; apply IZR_lt; lia).
assert (D0 : 0 < Q2R D).
{ unfold D, Bounds.paper_step. destruct (Bounds.is_zero _) eqn:Z; [rewrite Q2R_1; lra|]. apply Q2R_nonzero in Z.
  apply Rnot_le_lt. intros N. apply Z. clear Z. revert N.
  assert (ne : ~ Bounds.pow2 (w - 2) - Bounds.nat_Q (N.to_nat n) == 0).
  { intros E. apply Qeq_eqR in E. rewrite Q2R_minus, Q2R_pow2, Q2R_nat, Q2R_0 in E. lra. }
  rewrite (Q2R_div _ _ ne), Q2R_mult, Q2R_minus, Q2R_pow2, Q2R_nat.
  set (W := Q2R _). assert (W0 : 0 <= W).
  { unfold W. destruct sized; [rewrite Q2R_minus; lra|]. rewrite Q2R_max, Q2R_minus.
    apply Rle_trans with (2 := Rmax_l _ _). lra. }
  intros N. apply Rle_antisym; auto. apply Rmult_le_pos; [apply Rmult_le_pos; auto; apply pos_INR|].
  apply Rlt_le, Rinv_0_lt_compat. lra. }
split.
{ unfold stepped_allowed. rewrite le, few, Bool.andb_true_r. apply Q2R_below. now rewrite Q2R_0. }
intros Hi d Hd.
destruct (N.to_nat n) as [|n'] eqn:En.
- destruct d; [|simpl in Hd; lia]. unfold wide. simpl (Z.abs _). lia.
- apply le_IZR. rewrite abs_IZR, minus_IZR, <- P. replace (IZR (Z.of_N n)) with (INR (S n')).
  + apply (paper_step_leaves_room L U D sized LU D0 w (S n') eq_refl ltac:(lia) Hn Hi d Hd).
  + rewrite INR_IZR_INZ. f_equal. lia.
Qed.
