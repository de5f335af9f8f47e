(** shifted (docs/theorems/shifted.md): L is subtracted from every record first, in floats.

    A record x in [L, U] becomes fl(x - L), a float in [0, U'] with U' = fl(U - L); it depends on its own record alone.
    So a sum of the shifted records has the inner method's sensitivity for bounds 0 and U', and n L is public. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Accuracy Trees TowardZero TowardZeroOneSign.
Import ListNotations.
Open Scope R_scope.

Section Shifted.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation fl := (round radix2 (FLT_exp emin p) ZnearestE).
Notation even := (fun x => negb (Z.even x)).
Variables (X : Type) (c : X -> R) (L U : R).
Hypothesis LU : L <= U.
Hypothesis L_format : format L.
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).

Definition U' := fl (U - L).
Definition moved (x : X) := fl (c x - L).

Theorem moved_within x : within 0 U' (moved x).
Proof.
destruct (c_within x) as [A B]. unfold moved, U'. split.
- apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra].
- apply round_le; auto with typeclass_instances. lra.
Qed.

Theorem moved_is_a_float x : format (moved x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma U'_pos : 0 <= U'.
Proof. apply round_ge_generic; auto with typeclass_instances; [apply generic_format_0|lra]. Qed.

Lemma U'_format : format U'.
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma magnitude_U' : magnitude 0 U' = U'.
Proof. unfold magnitude. generalize U'_pos; intros. rewrite Rabs_R0, Rabs_pos_eq by auto. now apply Rmax_right. Qed.

(** Any sum that rests on accuracy, for a public n. *)
Theorem shifted_change_one f a n (d d' : list X) :
  accurate_at (fun x => format x) f a n -> length d = n -> change_one d d'
  -> Rabs (f (map moved d) - f (map moved d')) <= U' + 2 * a U'.
Proof.
intros A Hd H.
generalize
  (from_accuracy_change_one (fun x => format x) f a n X moved 0 U' U'_pos moved_is_a_float moved_within d d' A Hd H).
rewrite magnitude_U'. lra.
Qed.

(** And the sum rounded toward zero, in order; unordered after a uniform secret permutation. *)
Theorem shifted_toward_zero Omega n (d d' : list X) :
  format Omega -> 0 <= Omega -> 0 < U' -> length d = n -> hamming d d'
  -> Rabs (total p emin Omega (map moved d) - total p emin Omega (map moved d')) <= U' + pwn p n U'.
Proof.
intros FO PO PU Hd H. replace U' with (U' - 0) at 1 by ring.
apply (positive_hamming p emin Omega FO PO n 0 U' U'_format); auto using map_hamming; try lra;
try (now rewrite map_length); apply Forall_forall; intros y Hy; apply in_map_iff in Hy as (x & <- & _); split;
auto using moved_is_a_float; apply moved_within.
Qed.

(** What the subtraction costs: at most u (U - L) a record. *)
Theorem shifted_is_accurate f a n (d : list X) :
  accurate_at (fun x => format x) f a n -> length d = n
  -> Rabs (f (map moved d) + INR n * L - sum (map c d)) <= a U' + INR n * u p * (U - L).
Proof.
intros A Hd.
assert (F : Rabs (f (map moved d) - sum (map moved d)) <= a U').
{ rewrite <- magnitude_U' at 1. apply A; [apply magnitude_pos|now rewrite map_length|].
  apply prepared; auto using moved_within, moved_is_a_float. }
assert (S : Rabs (sum (map moved d) + INR (length d) * L - sum (map c d)) <= INR (length d) * u p * (U - L)).
{ clear - LU c_within c_format L_format p_pos.
  induction d as [|x d IH]; [simpl; rewrite Rmult_0_l, Rplus_0_l, Rminus_0_r, Rabs_R0; lra|].
  cbn [map length sum fold_right]. fold (sum (map moved d)) (sum (map c d)). rewrite S_INR.
  assert (E : Rabs (moved x - (c x - L)) <= u p * (U - L)).
  { unfold moved.
    apply Rle_trans with (1 := add_u p emin even (c x) (- L) (c_format x) (generic_format_opp _ _ _ L_format)).
    apply Rmult_le_compat_l; [generalize (u_pos p); lra|]. destruct (c_within x). rewrite Rabs_pos_eq; lra. }
  replace (moved x + sum (map moved d) + (INR (length d) + 1) * L - (c x + sum (map c d))) with
    ((sum (map moved d) + INR (length d) * L - sum (map c d)) + (moved x - (c x - L))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). lra. }
rewrite Hd in S. revert F S. unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.
End Shifted.
