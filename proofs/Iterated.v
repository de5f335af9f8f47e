(** iterated (docs/theorems/iterated.md): one addition after another, rounded to nearest.

    The sum of n records is off by at most n (n-1) u M, so for a public n one changed record moves it by at
    most U - L + n (n-1) M / 2^k; cut to n records, one record more or fewer moves it by at most max(M, U - L) plus the
    same; split by sign and cut, by at most (1 + n (n-1) / 2^k) |b| for the larger bound b. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
From Soundsum Require Import Relations Sums Accuracy Trees.
Import ListNotations.
Open Scope R_scope.

Section Iterated.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Variable choice : Z -> bool.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation fl := (round radix2 (FLT_exp emin p) (Znearest choice)).
Notation u := (u p).
Notation computed := (computed p emin choice).
Notation floats := (floats p emin).

Definition iterated (l : list R) := fold_left (fun s x => fl (s + x)) l 0.

Theorem iterated_error l :
  Forall (fun x => format x) l -> Rabs (iterated l - sum l) <= (INR (length l) - 1) * u * sum (map Rabs l) \/ l = [].
Proof.
destruct l as [|x l]; [now right|]. intros F; left. unfold iterated; simpl fold_left.
rewrite Rplus_0_l, round_generic; auto with typeclass_instances; [|now apply Forall_inv in F].
change x with (evaluate (fun a b => fl (a + b)) (leaf x)) at 1. rewrite <- in_order_evaluate, <- computed_evaluate.
assert (E : leaves (in_order (leaf x) l) = x :: l) by now rewrite in_order_leaves.
generalize (tree_error p emin choice (in_order (leaf x) l)). unfold exact, mags, floats. rewrite size_leaves, E. auto.
Qed.

Definition iterated_accuracy (n : nat) (M : R) := INR n * (INR n - 1) * u * M.

Lemma iterated_accuracy_grows M i n : 0 <= M -> (i <= n)%nat -> iterated_accuracy i M <= iterated_accuracy n M.
Proof.
intros HM H. unfold iterated_accuracy. apply Rmult_le_compat_r; auto.
apply Rmult_le_compat_r; [generalize (u_pos p); lra|].
destruct i as [|i].
- simpl. rewrite Rmult_0_l. destruct n as [|n]; [simpl; lra|]. rewrite S_INR. generalize (pos_INR n); nra.
- apply le_INR in H. rewrite S_INR in *. generalize (pos_INR i). nra.
Qed.

Theorem iterated_is_accurate n : accurate_up_to (fun x => format x) iterated (iterated_accuracy n) n.
Proof.
intros M l M0 Hn F. apply Rle_trans with (2 := iterated_accuracy_grows M (length l) n M0 Hn).
assert (Fl : Forall (fun x => format x) l) by (apply Forall_impl with (2 := F); intros x Hx; apply Hx).
assert (Fm : Forall (fun x => Rabs x <= M) l) by (apply Forall_impl with (2 := F); intros x Hx; apply Hx).
apply sum_of_magnitudes in Fm. generalize (u_pos p); intros u0. unfold iterated_accuracy.
destruct (iterated_error l Fl) as [G| ->]; [|unfold iterated; simpl; rewrite Rminus_0_r, Rabs_R0; lra].
destruct l as [|x l]; [unfold iterated; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
apply Rle_trans with (1 := G).
assert (1 <= INR (length (x :: l))) by (simpl length; rewrite S_INR; generalize (pos_INR (length l)); lra).
replace (INR (length (x :: l)) * (INR (length (x :: l)) - 1) * u * M)
  with ((INR (length (x :: l)) - 1) * u * (INR (length (x :: l)) * M)) by ring.
apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra.
Qed.

Section Sensitivity.
Variables (X : Type) (c : X -> R) (L U : R).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).
Notation M := (magnitude L U).
Notation k_bits := (bpow radix2 (1 - p)).

Lemma twice_the_accuracy n m : 2 * iterated_accuracy n m = INR n * (INR n - 1) * m * k_bits.
Proof.
unfold iterated_accuracy, Trees.u. replace (1 - p)%Z with (1 + - p)%Z by ring. rewrite bpow_plus.
change (bpow radix2 1) with 2. ring.
Qed.

Theorem iterated_change_one n (d d' : list X) :
  length d = n -> change_one d d'
  -> Rabs (iterated (map c d) - iterated (map c d')) <= U - L + INR n * (INR n - 1) * M * k_bits.
Proof.
intros Hd H. rewrite <- twice_the_accuracy. apply from_accuracy_change_one with (fun x => format x) n; auto.
intros m l m0 Hl. apply (iterated_is_accurate n m l m0). lia.
Qed.

Theorem iterated_cut n :
  sensitivity insert_delete (fun d => iterated (map c (firstn n d)))
    (Rmax M (U - L) + INR n * (INR n - 1) * M * k_bits).
Proof.
rewrite <- twice_the_accuracy. apply from_accuracy_cut with (fun x => format x); auto using iterated_is_accurate.
Qed.

Theorem iterated_split n :
  L <= 0 <= U
  -> sensitivity insert_delete (split_sum iterated n X c)
       (Rmax (Rabs L + INR n * (INR n - 1) * Rabs L * k_bits) (Rabs U + INR n * (INR n - 1) * Rabs U * k_bits)).
Proof.
intros [L0 U0]. rewrite <- !twice_the_accuracy.
apply from_accuracy_split with (fun x => format x); auto using iterated_is_accurate, generic_format_0.
Qed.
End Sensitivity.
End Iterated.
