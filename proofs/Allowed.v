(** Where a method's condition holds, it keeps its promise: Conditions.v implies the hypotheses of Promises.v and
    Overflow.v.

    One theorem for each method, from the boolean that the code's `unmet` is compared with to what is proved of its sum.
    No hypothesis is left but that the records are records: integers or floats of the type, clamped to the bounds; and
    where no limit is known, that they are fewer than 2^64. Two things are proved of some types only: that 128 bits hold
    a sum, of integers of at most 64 bits; that IEEE additions give the float sums, of types with k + 1 < 2^(l - 1). *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz FunctionalExtensionality.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Wide Checked Saturating Split Grid OurGrid Accuracy Trees
  Iterated Pairwise NumpyPairwise Kahan TowardZero Shifted Promises.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Binary64 Overflow Bounds Modular.
From Soundsum Require Import Conditions.
Import ListNotations.
Open Scope R_scope.

Ltac conditions := repeat match goal with h : (_ && _)%bool = true |- _ => apply andb_prop in h; destruct h end.

(** How many records there may be: the limit, or fewer than 2^64 where none is known. *)
Definition at_most (limit : option N) {X} (d : list X) :=
  match limit with Some n => (length d <= N.to_nat n)%nat | None => (Z.of_nat (length d) < 2 ^ 64)%Z end.

Lemma fewer_records limit {X} (d : list X) :
  fewer_than_2_64 limit = true -> at_most limit d -> (Z.of_nat (length d) < 2 ^ 64)%Z.
Proof. destruct limit as [n|]; simpl; auto. intros H D. apply Z.ltb_lt in H. lia. Qed.

Lemma Q2R_count n : Q2R (count n) = INR (N.to_nat n).
Proof. unfold count. rewrite Q2R_Z, INR_IZR_INZ. f_equal. lia. Qed.

(** Integers. *)
Lemma integer_type_facts T :
  is_integer_type T = true
  -> (1 <= bits T)%Z /\ (least T <= 0 <= greatest T)%Z /\ Modular.N (least T) (greatest T) = (2 ^ bits T)%Z.
Proof.
intros H. apply Z.leb_le in H. assert (0 < 2 ^ (bits T - 1))%Z by (apply Z.pow_pos_nonneg; lia).
assert (2 ^ bits T = 2 * 2 ^ (bits T - 1))%Z by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
unfold least, greatest, Modular.N. destruct (signed T); lia.
Qed.

Lemma whole_is x : is_whole x = true -> (x == inject_Z (Qfloor x))%Q.
Proof. intros H. apply Qeq_bool_iff in H. now symmetry. Qed.

Lemma integer_bounds_are T L U :
  integer_bounds T L U = true
  -> (1 <= bits T)%Z
     /\ (least T <= 0 <= greatest T)%Z
     /\ Modular.N (least T) (greatest T) = (2 ^ bits T)%Z
     /\ exists l h, (L == inject_Z l)%Q /\ (U == inject_Z h)%Q /\ (least T <= l <= h)%Z /\ (h <= greatest T)%Z.
Proof.
intros H. unfold integer_bounds, in_integer_type in H. conditions.
destruct (integer_type_facts T ltac:(assumption)) as (B & Z0 & EN). split; [|split; [|split]]; auto.
exists (Qfloor L), (Qfloor U).
assert (EL : (L == inject_Z (Qfloor L))%Q) by now apply whole_is.
assert (EU : (U == inject_Z (Qfloor U))%Q) by now apply whole_is.
repeat match goal with h : Qle_bool _ _ = true |- _ => apply Qle_bool_iff in h end.
rewrite EL, EU in *. repeat match goal with h : (inject_Z _ <= inject_Z _)%Q |- _ => rewrite <- Zle_Qle in h end.
rewrite !Qfloor_Z in *. repeat split; auto.
Qed.

Theorem wide_keeps_its_promise T limit L U :
  wide_allowed T limit L U = true
  -> let l := Z.max (Qceiling L) (least T) in
     let h := Z.min (Qfloor U) (greatest T) in
     (l <= h)%Z
     /\ forall X (c : X -> Z),
          (forall x, l <= c x <= h)%Z
          -> sensitivity symmetric (fun d => IZR (wide c d))
               (Q2R (Bounds.wide_sensitivity false (least T) (greatest T) L U))
             /\ sensitivity change_one (fun d => IZR (wide c d))
                  (Q2R (Bounds.wide_sensitivity true (least T) (greatest T) L U))
             /\ ((bits T <= 64)%Z
                 -> forall d,
                      at_most limit d
                      -> if signed T then (- 2 ^ 127 <= wide c d < 2 ^ 127)%Z else (0 <= wide c d < 2 ^ 128)%Z).
Proof.
intros H l h. unfold wide_allowed in H. fold l h in H. conditions.
assert (lh : (l <= h)%Z) by (now apply Z.leb_le). split; auto.
destruct (integer_type_facts T ltac:(assumption)) as (w1 & Z0 & _). intros X c W.
destruct (wide_promise X (least T) (greatest T) L U c lh W) as [S1 S2]. split; [exact S1|split; [exact S2|]].
intros w64 d D. apply (fewer_records limit) in D; auto.
assert (B : forall e, (Z.of_nat (length e) * least T <= wide c e <= Z.of_nat (length e) * greatest T)%Z).
{ induction e as [|x e IH]; [unfold wide; simpl; lia|]. unfold wide in *. cbn [map sumZ fold_right length].
  fold (sumZ (map c e)). rewrite Nat2Z.inj_succ. generalize (W x). unfold l, h. lia. }
specialize (B d). assert (2 ^ bits T <= 2 ^ 64)%Z by (apply Z.pow_le_mono_r; lia).
assert (2 ^ (bits T - 1) <= 2 ^ 63)%Z by (apply Z.pow_le_mono_r; lia).
assert (0 < 2 ^ (bits T - 1))%Z by (apply Z.pow_pos_nonneg; lia).
unfold least, greatest in B. destruct (signed T); nia.
Qed.

Theorem checked_keeps_its_promise T n L U :
  checked_allowed T (Some n) L U = true
  -> exists l h,
       (L == inject_Z l)%Q
       /\ (U == inject_Z h)%Q
       /\ forall X (c : X -> Z),
            (forall x, l <= c x <= h)%Z
            -> let sum d := checked (least T) (greatest T) (map c d) in
               let kept d := value (sum (firstn (N.to_nat n) d)) in
               (forall d d',
                  length d = N.to_nat n -> change_one d d'
                  -> exists s s',
                       sum d = Some s
                       /\ sum d' = Some s'
                       /\ Rabs (IZR s - IZR s') <= Q2R (Bounds.checked_sensitivity true (inject_Z l) (inject_Z h)))
               /\ sensitivity insert_delete kept (Q2R (Bounds.checked_sensitivity false (inject_Z l) (inject_Z h)))
               /\ permuted_sensitivity symmetric kept
                    (Q2R (Bounds.checked_sensitivity false (inject_Z l) (inject_Z h))).
Proof.
intros H. unfold checked_allowed in H. apply andb_prop in H as [B F].
destruct (integer_bounds_are T L U B) as (_ & Z0 & _ & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W. unfold fits in F. apply andb_prop in F as [F1 F2].
apply Qle_bool_iff in F1, F2. rewrite EU in F1. rewrite EL in F2. unfold count in F1, F2.
rewrite <- inject_Z_mult, <- Zle_Qle in F1, F2.
apply (checked_promise X (least T) (greatest T) Z0 l h A2 c W); lia.
Qed.

Theorem split_checked_keeps_its_promise sized T n L U :
  split_checked_allowed sized T (Some n) L U = true
  -> sized = false
     /\ exists l h,
          (L == inject_Z l)%Q
          /\ (U == inject_Z h)%Q
          /\ forall X (c : X -> Z),
               (forall x, l <= c x <= h)%Z
               -> let sum := split_checked (least T) (greatest T) X c (N.to_nat n) in
                  sensitivity insert_delete sum (Q2R (Bounds.ideal false (inject_Z l) (inject_Z h)))
                  /\ permuted_sensitivity symmetric sum (Q2R (Bounds.ideal false (inject_Z l) (inject_Z h))).
Proof.
intros H. unfold split_checked_allowed, checked_allowed in H. apply andb_prop in H as [H B].
apply andb_prop in H as [S O]. apply Bool.negb_true_iff in S, O. split; auto. apply andb_prop in B as [B F].
destruct (integer_bounds_are T L U B) as (_ & Z0 & _ & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W. unfold fits in F. apply andb_prop in F as [F1 F2].
apply Qle_bool_iff in F1, F2. rewrite EU in F1. rewrite EL in F2. unfold count in F1, F2.
rewrite <- inject_Z_mult, <- Zle_Qle in F1, F2.
assert (Z : (l <= 0 <= h)%Z).
{ unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
  assert (~ (0 <= l)%Z).
  { intros P. rewrite Zle_Qle, <- EL in P. apply Qle_bool_iff in P. change (inject_Z 0) with 0%Q in P. congruence. }
  assert (~ (h <= 0)%Z).
  { intros P. rewrite Zle_Qle, <- EU in P. apply Qle_bool_iff in P. change (inject_Z 0) with 0%Q in P. congruence. }
  lia. }
apply (split_checked_promise X (least T) (greatest T) Z0 l h c W (N.to_nat n) Z); lia.
Qed.

(** modular, saturating and split, for any number of records. *)
Theorem integer_sums_keep_their_promises T L U :
  integer_bounds T L U = true
  -> exists l h,
       (L == inject_Z l)%Q
       /\ (U == inject_Z h)%Q
       /\ forall X (c : X -> Z),
            (forall x, l <= c x <= h)%Z
            -> let modular d := Modular.modular (least T) (greatest T) (map c d) in
               let saturating d := IZR (saturating (least T) (greatest T) (map c d)) in
               let split d := IZR (split (least T) (greatest T) (map c d)) in
               let private := Q2R (Bounds.ideal false (inject_Z l) (inject_Z h)) in
               let public := Q2R (Bounds.ideal true (inject_Z l) (inject_Z h)) in
               (forall d d',
                  symmetric d d'
                  -> IZR (Modular.circle (least T) (greatest T) (modular d) (modular d'))
                       <= Q2R (Bounds.modular_sensitivity false (bits T) (inject_Z l) (inject_Z h)))
               /\ (forall d d',
                     change_one d d'
                     -> IZR (Modular.circle (least T) (greatest T) (modular d) (modular d'))
                          <= Q2R (Bounds.modular_sensitivity true (bits T) (inject_Z l) (inject_Z h)))
               /\ sensitivity insert_delete saturating private
               /\ sensitivity hamming saturating public
               /\ permuted_sensitivity symmetric saturating private
               /\ permuted_sensitivity change_one saturating public
               /\ (Bounds.one_sign L U = true
                   -> sensitivity symmetric saturating private /\ sensitivity change_one saturating public)
               /\ sensitivity symmetric split private
               /\ sensitivity change_one split public.
Proof.
intros H. destruct (integer_bounds_are T L U H) as (w1 & Z0 & EN & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W.
destruct (modular_promise X (least T) (greatest T) Z0 l h A2 c W (bits T) w1 EN) as [M1 M2].
destruct (saturating_promise X (least T) (greatest T) Z0 l h A2 c W) as ((S1 & S2) & (S3 & S4) & S5).
destruct (split_promise X (least T) (greatest T) Z0 l h A2 c W) as [P1 P2].
cbv zeta. repeat (split; [assumption|]). split; [|now split]. intros O. apply S5. unfold Bounds.one_sign in O.
apply Bool.orb_prop in O as [O|O]; apply Qle_bool_iff in O; [left; rewrite EL in O|right; rewrite EU in O];
  change 0%Q with (inject_Z 0) in O; now rewrite <- Zle_Qle in O.
Qed.

(** Grids. The integers may be any in [J, K] that depend on their own record alone: rounded to nearest, as `Grid.q` is,
    or by coins, or as the kernel computes them. *)
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

Lemma float_type_facts T :
  is_float_type T = true -> (1 <= mantissa T)%Z /\ (2 <= emax T)%Z /\ (smallest_exponent T <= 0)%Z.
Proof.
intros H. unfold is_float_type in H. conditions. apply Z.leb_le in H, H0.
assert (2 ^ 1 <= emax T)%Z by (apply Z.pow_le_mono_r; lia). unfold smallest_exponent. lia.
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

(** Floats. *)
Notation is_value T x := (generic_format radix2 (FLT_exp (smallest_exponent T) (mantissa T + 1)) x).

Definition clamped {X} (L U : Q) (v : X -> R) (x : X) := clampR (Q2R L) (Q2R U) (v x).

Lemma Q2R_largest T : Q2R (largest T) = Overflow.Omega (mantissa T + 1) (emax T).
Proof. unfold largest, Overflow.Omega. now rewrite Q2R_mult, Q2R_Z, Q2R_pow2. Qed.

Lemma largest_is_a_value T : is_float_type T = true -> is_value T (Q2R (largest T)) /\ 0 <= Q2R (largest T).
Proof.
intros H. destruct (float_type_facts T H) as (k1 & e2 & _). rewrite Q2R_largest. unfold Overflow.Omega.
assert (0 < 2 ^ (mantissa T + 1))%Z by (apply Z.pow_pos_nonneg; lia). split.
- apply generic_format_FLT. exists (Float radix2 (2 ^ (mantissa T + 1) - 1) (emax T - (mantissa T + 1))).
  + reflexivity.
  + cbn [Fnum]. rewrite Z.abs_eq by lia. change (radix_val radix2) with 2%Z. lia.
  + cbn [Fexp]. unfold smallest_exponent. lia.
- apply Rmult_le_pos; [apply IZR_le; lia|apply bpow_ge_0].
Qed.

Lemma in_float_type_is_a_value T x : (1 <= mantissa T)%Z -> in_float_type T x = true -> is_value T (Q2R x).
Proof.
intros k1 H. unfold in_float_type in H. conditions.
match goal with h : Qeq_bool _ _ = true |- _ =>
  apply Qeq_bool_iff, Qeq_eqR in h; rewrite nearest_float_is_round in h by auto; rewrite <- h end.
assert (P : Prec_gt_0 (mantissa T + 1)) by (unfold Prec_gt_0; lia).
apply generic_format_round; auto with typeclass_instances.
Qed.

Lemma clamped_within {X} L U (v : X -> R) x : Q2R L <= Q2R U -> within (Q2R L) (Q2R U) (clamped L U v x).
Proof. intros LU. unfold clamped, clampR, within, Rmax, Rmin. repeat destruct Rle_dec; lra. Qed.

Lemma clamped_values {X} T L U (v : X -> R) x :
  is_value T (Q2R L) -> is_value T (Q2R U) -> is_value T (v x) -> is_value T (clamped L U v x).
Proof. intros A B C. unfold clamped, clampR, Rmax, Rmin. repeat destruct Rle_dec; auto. Qed.

Lemma float_bounds_are T L U :
  float_bounds T L U = true
  -> is_float_type T = true
     /\ (1 <= mantissa T)%Z
     /\ (smallest_exponent T <= 0)%Z
     /\ Q2R L <= Q2R U
     /\ is_value T (Q2R L)
     /\ is_value T (Q2R U).
Proof.
intros H. unfold float_bounds in H. conditions. destruct (float_type_facts T ltac:(assumption)) as (k1 & _ & e0).
repeat split; auto using in_float_type_is_a_value. now apply Q2R_le.
Qed.

Lemma held_values A T x : holds A T = true -> is_value T x -> is_value A x.
Proof.
intros H. unfold holds in H. conditions. destruct (float_type_facts A ltac:(assumption)) as (k1 & e2 & _).
assert (mantissa T <= mantissa A)%Z by now apply Z.leb_le. assert (exponent T <= exponent A)%Z by now apply Z.leb_le.
assert (emax T <= emax A)%Z by (apply Z.pow_le_mono_r; lia).
apply generic_inclusion_mag. intros _. unfold FLT_exp, smallest_exponent. lia.
Qed.

(** What is kept of a sum f of floats of type T, rounded to type A: the promise, for at most n records; and F, which is
    f in IEEE arithmetic, does not overflow and is f. (Flocq has IEEE formats of k + 1 bits for k + 1 < 2^(l - 1).) *)
Section Kept.
Variables T A : float_type.
Notation prec := (mantissa A + 1)%Z.
Notation float := (Binary.binary_float prec (emax A)).

Definition payloads := float -> float -> { x : float | Binary.is_nan prec (emax A) x = true }.

Definition agrees (n : nat) (M : R) (f : list R -> R)
    (F : forall (p : Prec_gt_0 prec) (e : BinarySingleNaN.Prec_lt_emax prec (emax A)),
           payloads -> list float -> float) :=
  forall p e payload l,
    (length l <= n)%nat -> Forall (Overflow.record prec (emax A) M) l
    -> Binary.is_finite prec (emax A) (F p e payload l) = true
       /\ Binary.B2R prec (emax A) (F p e payload l) = f (map (Binary.B2R prec (emax A)) l).

Definition kept (L U : Q) (n : nat) (f : list R -> R) (known cut : Q -> Q) F :=
  (forall X (v : X -> R), (forall x, is_value T (v x)) -> promised X (clamped L U v) L U n f known cut)
  /\ agrees n (magnitude (Q2R L) (Q2R U)) f F.

Lemma allowed_facts proved reach n L U :
  sum_allowed proved reach T A (Some n) L U = true
  -> (1 <= mantissa A)%Z
     /\ (smallest_exponent A <= 0)%Z
     /\ Q2R L <= Q2R U
     /\ proved n = true
     /\ Q2R (reach n (Bounds.magnitude L U)) <= Overflow.Omega prec (emax A)
     /\ forall X (v : X -> R),
          (forall x, is_value T (v x))
          -> (forall x, within (Q2R L) (Q2R U) (clamped L U v x)) /\ (forall x, is_value A (clamped L U v x)).
Proof.
intros H. unfold sum_allowed in H. conditions.
destruct (float_bounds_are T L U ltac:(assumption)) as (_ & _ & _ & LU & VL & VU).
assert (HA : is_float_type A = true) by (unfold holds in *; conditions; assumption).
destruct (float_type_facts A HA) as (k1 & _ & e0). rewrite <- Q2R_largest.
split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. split; [now apply Q2R_le|].
intros X v V. split; intros x; [now apply clamped_within|].
apply (held_values A T); auto. now apply clamped_values.
Qed.

Lemma magnitude_is_positive L U : 0 <= magnitude (Q2R L) (Q2R U).
Proof. apply magnitude_pos. Qed.

Theorem iterated_keeps_its_promise n L U :
  iterated_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (iterated prec (smallest_exponent A) (fun x => negb (Z.even x)))
       (Bounds.iterated_error (mantissa A) (N.to_nat n)) (Bounds.iterated_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.iterated_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & _ & R & V). split.
- intros X v D. destruct (V X v D) as [W F].
  exact (iterated_promise (mantissa A) (smallest_exponent A) k1 X _ L U (N.to_nat n) LU W F).
- intros p e payload l Hl B. apply Overflow.iterated_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply magnitude_is_positive.
  + apply Rle_trans with (2 := R). unfold iterated_reach.
    rewrite Q2R_plus, !Q2R_mult, Q2R_minus, Q2R_count, Q2R_1, u_is_u, Q2R_magnitude.
    assert (u0 := u_pos prec). assert (M0 := magnitude_is_positive L U). set (M := magnitude _ _) in *.
    apply le_INR in Hl. set (a := INR (length l)) in *. set (b := INR (N.to_nat n)) in *.
    assert (a0 : a * (a - 1) <= b * (b - 1)).
    { unfold a, b in *. destruct (length l) as [|m]; [|rewrite S_INR in *; generalize (pos_INR m); intros; nra].
      destruct (N.to_nat n) as [|m']; [lra|]. rewrite S_INR. simpl (INR 0). generalize (pos_INR m'). intros. nra. }
    assert (a * M <= b * M) by (apply Rmult_le_compat_r; auto).
    assert (a * (a - 1) * (u prec * M) <= b * (b - 1) * (u prec * M))
      by (apply Rmult_le_compat_r; auto; apply Rmult_le_pos; lra).
    lra.
Qed.

Lemma pairwise_height_is n : pairwise_height n = Z.of_nat (Nat.log2_up (N.to_nat n)).
Proof.
unfold pairwise_height. destruct (le_lt_dec (N.to_nat n) 1) as [h|h].
- rewrite Z.log2_up_eqn0 by lia. rewrite Nat.log2_up_eqn0 by lia. reflexivity.
- apply Z.log2_up_unique; [assert (L := Nat.log2_up_pos _ h); lia|]. assert (L := Nat.log2_up_spec _ h).
  set (e := Nat.log2_up (N.to_nat n)) in *.
  assert (E : forall i : nat, Z.of_nat (2 ^ i) = (2 ^ Z.of_nat i)%Z) by (intros i; now rewrite Nat2Z.inj_pow).
  rewrite <- Nat2Z.inj_pred by (assert (P := Nat.log2_up_pos _ h); fold e in P; lia). rewrite <- !E. lia.
Qed.

Lemma numpy_height_is n : highest_numpy_tree n = Z.of_nat (safe_height (N.to_nat n)).
Proof.
unfold highest_numpy_tree, safe_height.
destruct (Z.ltb_spec (Z.of_N n) 8), (Nat.ltb_spec (N.to_nat n) 8); try lia.
destruct (Z.leb_spec (Z.of_N n) 128), (Nat.leb_spec (N.to_nat n) 128); try lia.
assert (E : ((Z.of_N n + 127) / 128)%Z = Z.of_N (N.of_nat ((N.to_nat n + 127) / 128))).
{ rewrite nat_N_Z, Nat2Z.inj_div. f_equal. lia. }
rewrite E. fold (pairwise_height (N.of_nat ((N.to_nat n + 127) / 128))). rewrite pairwise_height_is, Nnat.Nat2N.id. lia.
Qed.

Lemma is_low_means k (h : nat) : is_low k (Z.of_nat h) = true -> INR h * u (k + 1) < 1.
Proof.
intros H. unfold is_low in H. apply Q2R_below in H.
rewrite Q2R_mult, Q2R_Z, u_is_u, Q2R_1, <- INR_IZR_INZ in H. exact H.
Qed.

Lemma tree_reach_covers k h n M (m : nat) i :
  INR h * u (k + 1) < 1 -> 0 <= M -> (m <= N.to_nat n)%nat -> (i <= h)%nat
  -> forall Q, Q2R Q = M -> INR m * M + tree_accuracy (k + 1) i m M <= Q2R (tree_reach k (Z.of_nat h) n Q).
Proof.
intros low M0 Hm Hi Q EQ. unfold tree_reach.
assert (E : Q2R (1 - inject_Z (Z.of_nat h) * Bounds.u k) = 1 - INR h * u (k + 1))
  by now rewrite Q2R_minus, Q2R_mult, Q2R_Z, Q2R_1, u_is_u, <- INR_IZR_INZ.
assert (ne : ~ 1 - inject_Z (Z.of_nat h) * Bounds.u k == 0).
{ intros Z. apply Qeq_eqR in Z. rewrite E, Q2R_0 in Z. lra. }
rewrite Q2R_plus, !Q2R_mult, (Q2R_div _ _ ne), E, Q2R_mult, Q2R_Z, Q2R_count, u_is_u, EQ, <- INR_IZR_INZ.
assert (u0 := u_pos (k + 1)). apply le_INR in Hm, Hi. assert (m0 := pos_INR m). assert (i0 := pos_INR i).
set (r := INR i * u (k + 1)). set (s := INR h * u (k + 1)) in *.
assert (rs : 0 <= r <= s) by (unfold r, s; split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
assert (mM : INR m * M <= INR (N.to_nat n) * M) by now apply Rmult_le_compat_r.
assert (0 <= INR m * M) by now apply Rmult_le_pos.
unfold tree_accuracy. fold r. apply Rplus_le_compat; auto.
assert (r / (1 - r) <= s / (1 - s)).
{ unfold Rdiv. apply Rmult_le_compat; [lra|apply Rlt_le, Rinv_0_lt_compat; lra|lra|]. apply Rinv_le_contravar; lra. }
assert (0 <= r / (1 - r)) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
apply Rmult_le_compat; auto.
Qed.

Theorem pairwise_keeps_its_promise n L U :
  pairwise_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (pairwise prec (smallest_exponent A) (fun x => negb (Z.even x)))
       (Bounds.pairwise_error (mantissa A) (N.to_nat n)) (Bounds.pairwise_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.pairwise_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & low & R & V). cbv beta in low, R.
rewrite pairwise_height_is in low, R. apply is_low_means in low. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (pairwise_promise (mantissa A) (smallest_exponent A) k1 X _ L U (N.to_nat n) LU W F low).
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U).
  assert (h := Nat.log2_up_le_mono _ _ Hl).
  apply Overflow.pairwise_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_lt_trans with (2 := low). apply Rmult_le_compat_r; [generalize (u_pos prec); lra|now apply le_INR].
  + apply Rle_trans with (2 := R). apply tree_reach_covers; auto. apply Q2R_magnitude.
Qed.

Theorem kahan_keeps_its_promise n L U :
  kahan_allowed T A (Some n) L U = true
  -> kept L U (N.to_nat n) (kahan prec (smallest_exponent A)) (Bounds.kahan_error (mantissa A) (N.to_nat n))
       (Bounds.kahan_error (mantissa A) (N.to_nat n))
       (fun p e payload =>
          Binary64.kahan_sum float (Overflow.zero prec (emax A)) (Overflow.plus prec (emax A) p e payload)
            (Overflow.minus prec (emax A) p e payload)).
Proof.
intros H. apply allowed_facts in H as (k1 & e0 & LU & few & R & V). apply Z.leb_le in few.
assert (few' : (Z.of_nat (N.to_nat n) <= 2 ^ (mantissa A - 1))%Z) by lia. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (kahan_promise (mantissa A) (smallest_exponent A) k1 e0 X _ L U (N.to_nat n) LU W F few').
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U).
  assert (u0 := u_pos prec). apply le_INR in Hl.
  apply Overflow.kahan_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_trans with (INR (N.to_nat n) * u prec); [apply Rmult_le_compat_r; lra|].
    apply Rle_trans with (bpow radix2 (mantissa A - 1) * u prec).
    * apply Rmult_le_compat_r; [lra|]. rewrite INR_IZR_INZ, <- (IZR_Zpower radix2) by lia. now apply IZR_le.
    * unfold u. rewrite <- bpow_plus. change (/ 4) with (bpow radix2 (-2)). apply bpow_le. lia.
  + apply Rle_trans with (2 := R). unfold kahan_reach.
    rewrite Q2R_plus, !Q2R_mult, Q2R_3, Q2R_count, u_is_u, Q2R_magnitude. set (M := magnitude _ _) in *.
    assert (INR (length l) * M <= INR (N.to_nat n) * M) by now apply Rmult_le_compat_r.
    assert (3 * u prec * (INR (length l) * M) <= 3 * u prec * (INR (N.to_nat n) * M)) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.
End Kept.

Theorem numpy_pairwise_keeps_its_promise T n L U :
  numpy_pairwise_allowed T (Some n) L U = true
  -> kept T T L U (N.to_nat n) (numpy_pairwise (mantissa T + 1) (smallest_exponent T) (fun x => negb (Z.even x)))
       (Bounds.numpy_error true (mantissa T) (N.to_nat n)) (Bounds.numpy_error false (mantissa T) (N.to_nat n))
       (fun p e payload =>
          Binary64.numpy_sum _ (Overflow.zero (mantissa T + 1) (emax T))
            (Overflow.plus (mantissa T + 1) (emax T) p e payload)).
Proof.
intros H. unfold numpy_pairwise_allowed in H. apply andb_prop in H as [_ H].
apply allowed_facts in H as (k1 & e0 & LU & low & R & V). cbv beta in low, R.
rewrite numpy_height_is in low, R. apply is_low_means in low. split.
- intros X v D. destruct (V X v D) as [W F].
  exact (numpy_pairwise_promise (mantissa T) (smallest_exponent T) k1 X _ L U (N.to_nat n) LU W F low).
- intros p e payload l Hl B. assert (M0 := magnitude_is_positive L U). assert (h := safe_height_grows _ _ Hl).
  apply Overflow.numpy_does_not_overflow with (magnitude (Q2R L) (Q2R U)); auto.
  + apply Rle_lt_trans with (2 := low).
    apply Rmult_le_compat_r; [generalize (u_pos (mantissa T + 1)); lra|now apply le_INR].
  + apply Rle_trans with (2 := R). apply tree_reach_covers; auto. apply Q2R_magnitude.
Qed.

(** Each of these with the two signs apart: the halves are cut to n records and added on their own. *)
Theorem split_keeps_its_promise T A sized L U n f known cut F :
  split_allowed sized L U = true -> kept T A L U n f known cut F
  -> sized = false
     /\ forall X (v : X -> R),
          (forall x, is_value T (v x))
          -> let sum := split_sum f n X (clamped L U v) in
             sensitivity insert_delete sum (Q2R (Bounds.split_from_accuracy cut L U))
             /\ permuted_sensitivity symmetric sum (Q2R (Bounds.split_from_accuracy cut L U)).
Proof.
intros H [P _]. unfold split_allowed in H. conditions.
match goal with h : negb sized = true, o : negb (Bounds.one_sign L U) = true |- _ =>
  apply Bool.negb_true_iff in h; apply Bool.negb_true_iff in o; unfold Bounds.one_sign in o;
  apply Bool.orb_false_elim in o as [O1 O2]; split; [exact h|] end.
intros X v V. destruct (P X v V) as (_ & _ & _ & S & _). apply S.
assert (N : forall a b, Qle_bool a b = false -> Q2R b <= Q2R a).
{ intros a b h. apply Rnot_lt_le. intros l. apply Rlt_le, Q2R_le in l. congruence. }
apply N in O1, O2. rewrite Q2R_0 in O1, O2. lra.
Qed.

(** Rounded toward zero: n only counts where it is public. *)
Theorem toward_zero_keeps_its_promise T sized limit L U :
  toward_zero_allowed sized T limit L U = true
  -> let sum l := total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T)) l in
     (forall X (v : X -> R),
        (forall x, is_value T (v x))
        -> let added d := sum (map (clamped L U v) d) in
           (sized = false
            -> sensitivity insert_delete added (Q2R (Bounds.toward_zero_sensitivity false (mantissa T) 0 L U))
               /\ permuted_sensitivity symmetric added
                    (Q2R (Bounds.toward_zero_sensitivity false (mantissa T) 0 L U)))
           /\ (sized = true
               -> exists n,
                    limit = Some n
                    /\ (forall d d',
                          length d = N.to_nat n -> hamming d d'
                          -> Rabs (added d - added d')
                               <= Q2R (Bounds.toward_zero_sensitivity true (mantissa T) (N.to_nat n) L U))
                    /\ (forall d d',
                          length d = N.to_nat n -> change_one d d'
                          -> coupled (orders d) (orders d')
                               (fun o o' => Rabs (added o - added o')
                                    <= Q2R (Bounds.toward_zero_sensitivity true (mantissa T) (N.to_nat n) L U)))))
     /\ forall p e (payload : payloads T) above below,
          let float := Binary.binary_float (mantissa T + 1) (emax T) in
          let finite x := Binary.is_finite (mantissa T + 1) (emax T) x = true in
          let real x := Binary.B2R (mantissa T + 1) (emax T) x in
          (forall x, finite x -> above x = Rlt_bool 0 (real x))
          -> (forall x, finite x -> below x = Rlt_bool (real x) 0)
          -> forall l,
               Forall (fun x => finite x) l
               -> let computed :=
                    Binary64.toward_zero_sum float (Overflow.zero (mantissa T + 1) (emax T))
                      (Overflow.plus (mantissa T + 1) (emax T) p e payload)
                      (Overflow.plus_down (mantissa T + 1) (emax T) p e payload) above below l in
                  finite computed /\ real computed = sum (map real l).
Proof.
intros H sum. unfold toward_zero_allowed in H. apply andb_prop in H as [H K].
destruct (float_bounds_are T L U H) as (HT & k1 & e0 & LU & VL & VU).
destruct (largest_is_a_value T HT) as [O1 O2]. split.
- intros X v V added.
  assert (W : forall x, within (Q2R L) (Q2R U) (clamped L U v x)) by now intros; apply clamped_within.
  assert (F : forall x, is_value T (clamped L U v x)) by now intros; apply clamped_values. split.
  + intros _.
    exact (toward_zero_insert_delete_promise (mantissa T) (smallest_exponent T) k1 X _ L U 0 LU W F _ O1 O2 VL VU).
  + intros ->. destruct limit as [n|]; [|discriminate]. exists n. split; [reflexivity|split]; intros d d'.
    * exact (toward_zero_hamming_promise (mantissa T) (smallest_exponent T) k1 X _ L U _ LU W F _ O1 O2 VL VU d d').
    * exact (toward_zero_change_one_promise (mantissa T) (smallest_exponent T) k1 X _ L U _ LU W F _ O1 O2 VL VU d d').
- intros p e payload above below float finite real A B l F. unfold sum. rewrite Q2R_largest.
  now apply Overflow.toward_zero_is_held.
Qed.

(** Shifted: no subtraction overflows, and the inner sum of the moved records keeps its promise for bounds 0 and U'. *)
Theorem a_shift_does_not_overflow T sized L U p e (payload : payloads T) l x :
  let finite x := Binary.is_finite (mantissa T + 1) (emax T) x = true in
  let real x := Binary.B2R (mantissa T + 1) (emax T) x in
  shift_allowed sized T L U = true -> finite l -> real l = Q2R L -> finite x -> within (Q2R L) (Q2R U) (real x)
  -> finite (Overflow.minus (mantissa T + 1) (emax T) p e payload x l)
     /\ real (Overflow.minus (mantissa T + 1) (emax T) p e payload x l)
        = moved (mantissa T + 1) (smallest_exponent T) _ real (Q2R L) x.
Proof.
intros finite real H Fl El Fx [A1 A2]. unfold shift_allowed in H. apply andb_prop in H as [H R].
apply andb_prop in H as [_ H]. destruct (float_bounds_are T L U H) as (_ & k1 & _ & LU & _ & _).
apply Q2R_le in R. rewrite Q2R_largest in R. unfold Bounds.shifted_upper in R.
rewrite nearest_float_is_round, Q2R_minus in R by auto.
generalize (Binary.Bminus_correct (mantissa T + 1) (emax T) p e payload BinarySingleNaN.mode_NE x l Fx Fl).
match goal with |- context [round radix2 ?f ?m _] =>
  change (round radix2 f m) with (round radix2 (FLT_exp (smallest_exponent T) (mantissa T + 1)) ZnearestE) end.
fold (real x) (real l). rewrite El, Rlt_bool_true; [intros (K1 & K2 & _); now split|].
apply Rle_lt_trans with (2 := Overflow.Omega_below (mantissa T + 1) (emax T) p). apply Rle_trans with (2 := R).
rewrite Rabs_pos_eq; [apply round_le; auto with typeclass_instances; lra|].
apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra].
Qed.

Theorem shifted_keeps_its_promise T A sized L U n f known cut F :
  let top := Bounds.shifted_upper (mantissa T) (smallest_exponent T) L U in
  shift_allowed sized T L U = true -> kept T A 0 top n f known cut F
  -> sized = true
     /\ forall X (v : X -> R),
          (forall x, is_value T (v x))
          -> shifted_promised (mantissa T) (smallest_exponent T) X (clamped L U v) L U n f known.
Proof.
intros top H [P _]. unfold shift_allowed in H. fold top in H. apply andb_prop in H as [H R].
apply andb_prop in H as [S H]. split; [exact S|].
destruct (float_bounds_are T L U H) as (HT & k1 & e0 & LU & VL & VU).
intros X v V. assert (W : forall x, within (Q2R L) (Q2R U) (clamped L U v x)) by now intros; apply clamped_within.
assert (G : forall x, is_value T (clamped L U v x)) by now intros; apply clamped_values.
destruct (shifted_promise (mantissa T) (smallest_exponent T) k1 X _ L U LU W) as (_ & _ & W' & F').
apply (shifted_from_promise (mantissa T) (smallest_exponent T) k1 X _ L U LU W VL G n f known cut). fold top.
assert (E := P X _ F'). fold top in W'. set (w := moved _ _ X _ _) in *.
replace (clamped 0 top w) with w in E; [exact E|]. apply functional_extensionality. intros x.
destruct (W' x). unfold clamped, clampR. rewrite Rmin_right, Rmax_right; lra.
Qed.

Theorem shifted_toward_zero_keeps_its_promise T sized limit L U :
  let top := Bounds.shifted_upper (mantissa T) (smallest_exponent T) L U in
  shift_allowed sized T L U = true -> toward_zero_allowed sized T limit 0 top = true
  -> exists n,
       limit = Some n
       /\ forall X (v : X -> R),
            (forall x, is_value T (v x))
            -> let added d :=
                 total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T))
                   (map (moved (mantissa T + 1) (smallest_exponent T) X (clamped L U v) (Q2R L)) d) in
               let bound := Q2R (Bounds.toward_zero_sensitivity true (mantissa T) (N.to_nat n) 0 top) in
               (forall d d', length d = N.to_nat n -> hamming d d' -> Rabs (added d - added d') <= bound)
               /\ (forall d d',
                     length d = N.to_nat n -> change_one d d'
                     -> coupled (orders d) (orders d') (fun o o' => Rabs (added o - added o') <= bound)).
Proof.
intros top H Z. unfold shift_allowed in H. fold top in H. apply andb_prop in H as [H R].
apply andb_prop in H as [S H]. destruct (float_bounds_are T L U H) as (HT & k1 & e0 & LU & VL & VU).
destruct limit as [n|];
  [|unfold toward_zero_allowed in Z; rewrite S in Z; apply andb_prop in Z as [_ Z]; discriminate].
exists n. split; [reflexivity|]. intros X v V added bound.
assert (W : forall x, within (Q2R L) (Q2R U) (clamped L U v x)) by now intros; apply clamped_within.
assert (G : forall x, is_value T (clamped L U v x)) by now intros; apply clamped_values.
destruct (largest_is_a_value T HT) as [O1 O2].
destruct (shifted_toward_zero_promise (mantissa T) (smallest_exponent T) k1 X _ L U LU W VL G (N.to_nat n) _ O1 O2)
  as (A & B & _).
split; intros d d'; [apply A|apply B].
Qed.
