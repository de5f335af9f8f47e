(** Where the condition of a shifted sum holds, it keeps its promise: no subtraction overflows, and the inner sum of the
    moved records keeps its promise for bounds 0 and U'. *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz FunctionalExtensionality.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Permutations Sums Grid TowardZero Shifted Rationals FloatPromises
  TowardZeroPromises ShiftedPromises Conditions Types FloatsAllowed.
From Soundsum Require Binary64 Overflow Bounds.
Import ListNotations.
Open Scope R_scope.

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
