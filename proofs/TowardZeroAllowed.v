(** Where the condition of toward_zero holds, it keeps its promise: Conditions.v implies the hypotheses of
    TowardZeroPromises.v and Overflow.v. *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Permutations Sums TowardZero Rationals TowardZeroPromises Conditions Types
  FloatsAllowed.
From Soundsum Require Binary64 Overflow Bounds.
Import ListNotations.
Open Scope R_scope.

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
