(** Sums of integers keep the bounds of Bounds.v, which are the ones the code claims: wide, checked, saturating, split,
    split_checked and modular.

    Records are clamped to [L, U], integers for all but `wide`, which rounds its bounds inward. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Wide Checked Modular Saturating Split Rationals.
From Soundsum Require Bounds.
Import ListNotations.
Open Scope R_scope.

Section Integers.
Variables (X : Type) (lo hi : Z).
Hypothesis lo_hi : (lo <= 0 <= hi)%Z.
Open Scope Z_scope.

Theorem wide_promise (L U : Q) (c : X -> Z) :
  let l := Z.max (Qceiling L) lo in
  let h := Z.min (Qfloor U) hi in
  l <= h -> (forall x, l <= c x <= h)
  -> sensitivity symmetric (fun d => IZR (wide c d)) (Q2R (Bounds.wide_sensitivity false lo hi L U))
     /\ sensitivity change_one (fun d => IZR (wide c d)) (Q2R (Bounds.wide_sensitivity true lo hi L U)).
Proof.
intros l h LH W. unfold Bounds.wide_sensitivity. fold l h.
split; intros d d' H; rewrite Q2R_Z, <- minus_IZR, <- abs_IZR; apply IZR_le.
- now apply (wide_symmetric X c l h W).
- now apply (wide_change_one X c l h W).
Qed.

Variables L U : Z.
Hypothesis LU : L <= U.
Variable c : X -> Z.
Hypothesis c_within : forall x, L <= c x <= U.
Notation QL := (inject_Z L).
Notation QU := (inject_Z U).

Lemma in_all d : in_bounds L U (map c d).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). apply c_within. Qed.

Lemma Q2R_spread : Q2R (QU - QL) = IZR (U - L).
Proof. now rewrite Q2R_minus, !Q2R_Z, minus_IZR. Qed.

Lemma Q2R_magnitudeZ : Q2R (Bounds.magnitude QL QU) = IZR (magnitudeZ L U).
Proof. now rewrite Q2R_magnitude, !Q2R_Z, magnitudeZ_R. Qed.

Theorem checked_promise n :
  Z.of_nat n * U <= hi -> lo <= Z.of_nat n * L
  -> (forall d d',
        length d = n -> change_one d d'
        -> exists s s',
             checked lo hi (map c d) = Some s
             /\ checked lo hi (map c d') = Some s'
             /\ (Rabs (IZR s - IZR s') <= Q2R (Bounds.checked_sensitivity true QL QU))%R)
     /\ sensitivity insert_delete (fun d => value (checked lo hi (map c (firstn n d))))
          (Q2R (Bounds.checked_sensitivity false QL QU))
     /\ permuted_sensitivity symmetric (fun d => value (checked lo hi (map c (firstn n d))))
          (Q2R (Bounds.checked_sensitivity false QL QU)).
Proof.
intros HU HL.
assert (E : Q2R (Bounds.checked_sensitivity false QL QU) = IZR (Z.max (magnitudeZ L U) (U - L))).
{ unfold Bounds.checked_sensitivity. rewrite Q2R_max, Q2R_magnitudeZ, Q2R_spread. unfold Rmax.
  destruct Rle_dec as [g|g]; [apply le_IZR in g|apply Rnot_le_lt, lt_IZR in g]; f_equal; lia. }
split; [|split; rewrite E; [now apply checked_cut|now apply checked_cut_permuted]].
intros d d' Hd H. assert (Hd' : length d' = n).
{ apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now rewrite <- (Permutation_length P)|].
  now rewrite (Permutation_length Q), <- Hd, (Permutation_length P). }
destruct (checked_change_one lo hi lo_hi X c L U n LU c_within HU HL d d' Hd Hd' H) as (s & s' & E1 & E2 & B).
exists s, s'. repeat split; auto. unfold Bounds.checked_sensitivity. rewrite Q2R_spread, <- minus_IZR, <- abs_IZR.
now apply IZR_le.
Qed.

Theorem saturating_promise :
  (sensitivity insert_delete (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
   /\ sensitivity hamming (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)))
  /\ (permuted_sensitivity symmetric (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
      /\ permuted_sensitivity change_one (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)))
  /\ (0 <= L \/ U <= 0
      -> sensitivity symmetric (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
         /\ sensitivity change_one (fun d => IZR (saturating lo hi (map c d))) (Q2R (Bounds.ideal true QL QU))).
Proof.
cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ, Q2R_spread. split; [|split].
- split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
  + apply saturating_insert_delete; auto using in_all, map_insert_delete.
  + apply saturating_hamming; auto using in_all, map_hamming.
- split; [now apply saturating_permuted_symmetric|now apply saturating_permuted_change_one].
- intros S. split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
  + apply saturating_one_sign_symmetric; auto using in_all, map_symmetric.
  + apply saturating_one_sign_change_one; auto using in_all, map_change_one.
Qed.

Theorem split_promise :
  sensitivity symmetric (fun d => IZR (split lo hi (map c d))) (Q2R (Bounds.ideal false QL QU))
  /\ sensitivity change_one (fun d => IZR (split lo hi (map c d))) (Q2R (Bounds.ideal true QL QU)).
Proof.
cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ, Q2R_spread.
split; intros d d' H; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
- apply split_symmetric; auto using in_all, map_symmetric.
- apply split_change_one; auto using in_all, map_change_one.
Qed.

Theorem split_checked_promise n :
  L <= 0 <= U -> Z.of_nat n * U <= hi -> lo <= Z.of_nat n * L
  -> sensitivity insert_delete (split_checked lo hi X c n) (Q2R (Bounds.ideal false QL QU))
     /\ permuted_sensitivity symmetric (split_checked lo hi X c n) (Q2R (Bounds.ideal false QL QU)).
Proof.
intros [L0 U0] HU HL. cbn [Bounds.ideal]. rewrite Q2R_magnitudeZ.
split; [now apply split_checked_insert_delete|now apply split_checked_permuted].
Qed.

(** modular: the distance on the circle. *)
Theorem modular_promise w :
  1 <= w -> N lo hi = 2 ^ w
  -> (forall d d',
        symmetric d d'
        -> (IZR (circle lo hi (modular lo hi (map c d)) (modular lo hi (map c d')))
              <= Q2R (Bounds.modular_sensitivity false w QL QU))%R)
     /\ (forall d d',
           change_one d d'
           -> (IZR (circle lo hi (modular lo hi (map c d)) (modular lo hi (map c d')))
                 <= Q2R (Bounds.modular_sensitivity true w QL QU))%R).
Proof.
intros Hw HN. assert (H2 : Q2R (Bounds.pow2 w / 2) = IZR (N lo hi / 2)).
{ rewrite Q2R_div by discriminate. rewrite Q2R_pow2, Q2R_2, HN.
  replace (2 ^ w) with (2 ^ (w - 1) * 2) by (change 2 with (2 ^ 1) at 2; rewrite <- Z.pow_add_r by lia; f_equal; lia).
  rewrite Z.div_mul by lia. replace w with (w - 1 + 1) at 1 by ring. rewrite bpow_plus. change (bpow radix2 1) with 2%R.
  replace (IZR (2 ^ (w - 1))) with (bpow radix2 (w - 1)) by (symmetry; apply (IZR_Zpower radix2); lia). field. }
unfold Bounds.modular_sensitivity. cbn [Bounds.ideal]. rewrite !Q2R_min, H2, Q2R_magnitudeZ, Q2R_spread.
assert (M : forall a b, Rmin (IZR a) (IZR b) = IZR (Z.min a b)).
{ intros a b. unfold Rmin. destruct Rle_dec as [g|g]; [apply le_IZR in g|apply Rnot_le_lt, lt_IZR in g]; f_equal; lia. }
rewrite !M. split; intros d d' H; apply IZR_le.
- apply modular_symmetric; auto using in_all, map_symmetric.
- apply modular_change_one; auto using in_all, map_change_one.
Qed.
End Integers.
