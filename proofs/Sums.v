(** Exact sums, of reals and of integers: the ideal sensitivity (docs/theorems/wide.md, `thrm:reals-sens`).

    Records lie within [L, U]. One record more or fewer moves the exact sum by at most max(|L|, |U|), one changed record
    by at most U - L, in any order; and some neighbours are that far apart.

    Page: docs/theorems/lemmas.md. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia.
From Soundsum Require Import Relations.
Import ListNotations.
Open Scope R_scope.

Definition magnitude (L U : R) := Rmax (Rabs L) (Rabs U).
Definition within (L U : R) (x : R) := L <= x <= U.

Lemma magnitude_bound L U x : within L U x -> Rabs x <= magnitude L U.
Proof.
unfold magnitude, within; intros H.
generalize (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)).
revert H; unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Definition sum (l : list R) := fold_right Rplus 0 l.

Lemma sum_app a b : sum (a ++ b) = sum a + sum b.
Proof. induction a as [|x a IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sum_perm u v : Permutation u v -> sum u = sum v.
Proof. induction 1; simpl; lra. Qed.

(** The ideal sensitivity: the exact sum, in any order. Records in the bounds by hypothesis on every record. *)
Theorem ideal_symmetric L U u v :
  Forall (within L U) u -> Forall (within L U) v -> symmetric u v -> Rabs (sum u - sum v) <= magnitude L U.
Proof.
intros Fu Fv H. apply symmetric_cases in H as [P|(z & [P|P])].
- rewrite (sum_perm _ _ P), Rminus_diag_eq, Rabs_R0 by reflexivity.
  apply Rle_trans with (2 := Rmax_l _ _), Rabs_pos.
- rewrite P in Fv. apply Forall_inv in Fv. rewrite (sum_perm _ _ P); simpl.
  replace (sum u - (z + sum u)) with (- z) by ring. rewrite Rabs_Ropp. now apply magnitude_bound.
- rewrite P in Fu. apply Forall_inv in Fu. rewrite (sum_perm _ _ P); simpl.
  replace (z + sum v - sum v) with z by ring. now apply magnitude_bound.
Qed.

Theorem ideal_change_one L U u v :
  L <= U -> Forall (within L U) u -> Forall (within L U) v -> change_one u v -> Rabs (sum u - sum v) <= U - L.
Proof.
intros LU Fu Fv H. apply change_one_cases in H as [P|(x & y & w & P & Q)].
- rewrite (sum_perm _ _ P), Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- rewrite P in Fu. rewrite Q in Fv. apply Forall_inv in Fu, Fv.
  rewrite (sum_perm _ _ P), (sum_perm _ _ Q); simpl.
  replace (x + sum w - (y + sum w)) with (x - y) by ring. unfold within in *; apply Rabs_le; lra.
Qed.

(** Tight: two datasets of one record, or none, reach it. *)
Theorem ideal_symmetric_tight L U :
  L <= U
  -> exists u v,
       Forall (within L U) u /\ Forall (within L U) v /\ insert_delete u v /\ Rabs (sum u - sum v) = magnitude L U.
Proof.
intros LU; unfold magnitude. destruct (Rle_dec (Rabs L) (Rabs U)) as [g|g].
- exists [], [U]. split; [constructor|]. split; [constructor; [unfold within; lra|constructor]|].
  split; [apply (id_insert [] U [])|].
  simpl. rewrite Rmax_right by lra. replace (0 - (U + 0)) with (-U) by ring. apply Rabs_Ropp.
- exists [], [L]. split; [constructor|]. split; [constructor; [unfold within; lra|constructor]|].
  split; [apply (id_insert [] L [])|].
  simpl. rewrite Rmax_left by lra. replace (0 - (L + 0)) with (-L) by ring. apply Rabs_Ropp.
Qed.

(** Integers. q is any map of a record, alone, to an integer clamped to [J, K]. *)
Definition sumZ (l : list Z) := fold_right Z.add 0%Z l.

Lemma sumZ_R l : IZR (sumZ l) = sum (map IZR l).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. now rewrite plus_IZR, IH. Qed.

Definition clamp (J K z : Z) := Z.max J (Z.min K z).

Lemma clamp_within J K z : (J <= K)%Z -> (J <= clamp J K z <= K)%Z.
Proof. unfold clamp; lia. Qed.

Definition magnitudeZ (J K : Z) := Z.max (Z.abs J) (Z.abs K).

Lemma magnitudeZ_R J K : IZR (magnitudeZ J K) = magnitude (IZR J) (IZR K).
Proof.
unfold magnitudeZ, magnitude. rewrite <- !abs_IZR.
destruct (Z.max_spec (Z.abs J) (Z.abs K)) as [[h ->]|[h ->]].
- rewrite Rmax_right; auto. apply IZR_le; lia.
- rewrite Rmax_left; auto. apply IZR_le; lia.
Qed.

(** Lists of integers. *)
Open Scope Z_scope.

Definition in_bounds L U (l : list Z) := Forall (fun x => L <= x <= U) l.

Lemma sumZ_app a b : sumZ (a ++ b) = sumZ a + sumZ b.
Proof. induction a as [|x a IH]; simpl; [|rewrite IH]; lia. Qed.

Lemma sumZ_perm u v : Permutation u v -> sumZ u = sumZ v.
Proof. induction 1; simpl; lia. Qed.

Lemma sumZ_bounds L U l : in_bounds L U l -> Z.of_nat (length l) * L <= sumZ l <= Z.of_nat (length l) * U.
Proof.
induction l as [|x l IH]; intros F; [simpl; lia|]. generalize (Forall_inv F) (IH (Forall_inv_tail F)).
cbn [sumZ fold_right length]. fold (sumZ l). rewrite Nat2Z.inj_succ. simpl. lia.
Qed.

(** Sensitivity of the exact sum on lists of integers in bounds. *)
Lemma exact_symmetric L U u v :
  in_bounds L U u -> in_bounds L U v -> symmetric u v -> Z.abs (sumZ u - sumZ v) <= magnitudeZ L U.
Proof.
intros Fu Fv H. unfold magnitudeZ. apply symmetric_cases in H as [P|(z & [P|P])].
- rewrite (sumZ_perm _ _ P). lia.
- unfold in_bounds in Fv. rewrite P in Fv. apply Forall_inv in Fv. rewrite (sumZ_perm _ _ P). simpl in *; lia.
- unfold in_bounds in Fu. rewrite P in Fu. apply Forall_inv in Fu. rewrite (sumZ_perm _ _ P). simpl in *; lia.
Qed.

Lemma exact_change_one L U u v :
  L <= U -> in_bounds L U u -> in_bounds L U v -> change_one u v -> Z.abs (sumZ u - sumZ v) <= U - L.
Proof.
intros LU Fu Fv H. apply change_one_cases in H as [P|(x & y & w & P & Q)].
- rewrite (sumZ_perm _ _ P). lia.
- unfold in_bounds in *. rewrite P in Fu. rewrite Q in Fv. apply Forall_inv in Fu, Fv.
  rewrite (sumZ_perm _ _ P), (sumZ_perm _ _ Q). simpl in *; lia.
Qed.
