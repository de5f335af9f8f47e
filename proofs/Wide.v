(** wide (docs/theorems/wide.md): integers added exactly.

    Each record, by itself, becomes an integer in [J, K]. The exact sum moves by at most max(|J|, |K|) if a record is
    added or removed and by at most K - J if one is changed, in any order. n records need room for n max(|J|, |K|):
    fewer than 2^64 integers of magnitude at most 2^51 fit 128 bits by far. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia.
From Soundsum Require Import Relations Sums.
Import ListNotations.
Open Scope R_scope.

Section Wide.
Variables (X : Type) (q : X -> Z) (J K : Z).
Hypothesis q_within : forall x, (J <= q x <= K)%Z.

Definition wide (u : list X) := sumZ (map q u).

Lemma all_within u : Forall (within (IZR J) (IZR K)) (map IZR (map q u)).
Proof.
apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (z & <- & Hz). apply in_map_iff in Hz as (x & <- & _).
split; apply IZR_le; apply q_within.
Qed.

Theorem wide_symmetric u v : symmetric u v -> (Z.abs (wide u - wide v) <= magnitudeZ J K)%Z.
Proof.
intros H. apply le_IZR. rewrite abs_IZR, minus_IZR, magnitudeZ_R. unfold wide; rewrite !sumZ_R.
apply ideal_symmetric; try apply all_within. now apply map_symmetric, map_symmetric.
Qed.

Theorem wide_change_one u v : (J <= K)%Z -> change_one u v -> (Z.abs (wide u - wide v) <= K - J)%Z.
Proof.
intros JK H. apply le_IZR. rewrite abs_IZR, !minus_IZR. unfold wide; rewrite !sumZ_R.
apply ideal_change_one; try apply all_within; [now apply IZR_le|]. now apply map_change_one, map_change_one.
Qed.

Theorem wide_insert_delete u v : insert_delete u v -> (Z.abs (wide u - wide v) <= magnitudeZ J K)%Z.
Proof. intros; now apply wide_symmetric, insert_delete_is_symmetric. Qed.

Theorem wide_hamming u v : (J <= K)%Z -> hamming u v -> (Z.abs (wide u - wide v) <= K - J)%Z.
Proof. intros; now apply wide_change_one, hamming_is_change_one. Qed.

(** Room: n records of magnitude at most Q. *)
Theorem wide_room u : (Z.abs (wide u) <= Z.of_nat (length u) * magnitudeZ J K)%Z.
Proof.
unfold wide; induction u as [|x u IH]; cbn [map sumZ fold_right length]; [lia|].
rewrite Nat2Z.inj_succ. fold (sumZ (map q u)).
generalize (q_within x); unfold magnitudeZ in *; lia.
Qed.

Corollary wide_128_bits u :
  (magnitudeZ J K <= 2 ^ 51)%Z -> (Z.of_nat (length u) < 2 ^ 64)%Z -> (Z.abs (wide u) < 2 ^ 115)%Z.
Proof. generalize (wide_room u). intros. nia. Qed.
End Wide.

Arguments wide {X}.
