(** checked (docs/theorems/checked.md): the type's own addition where n U and n L fit the type.

    A type is its least and greatest value. Where n U <= max T and n L >= min T no addition leaves the type, so the sum
    of up to n records is the exact one; cut to n records, one record moves it by at most max(M, U - L). *)

From Coq Require Import List Permutation ZArith Reals Lia.
From Soundsum Require Import Relations Permutations Sums.
Import ListNotations.
Open Scope Z_scope.

Section Type_.
Variables lo hi : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

(** Checked: addition that fails outside the type. *)
Definition checked (l : list Z) : option Z :=
  fold_left
    (fun s x =>
       match s with
         Some s => if (lo <=? s + x) && (s + x <=? hi) then Some (s + x) else None
       | None => None
       end)%bool l (Some 0).

Theorem checked_exact L U n l :
  in_bounds L U l -> Z.of_nat (length l) <= n -> n * U <= hi -> lo <= n * L -> checked l = Some (sumZ l).
Proof.
intros F Hn HU HL. unfold checked. revert F Hn. induction l as [|x l IH] using rev_ind; intros F Hn; [reflexivity|].
rewrite fold_left_app, sumZ_app. apply Forall_app in F as [F Fx]. rewrite app_length in Hn. simpl in Hn.
rewrite IH by (auto; lia). simpl.
assert (B : in_bounds L U (l ++ [x])) by (apply Forall_app; auto). apply sumZ_bounds in B.
rewrite app_length, sumZ_app in B. simpl in B.
replace (sumZ l + (x + 0)) with (sumZ l + x) in * by lia.
assert (A1 : lo <= sumZ l + x) by nia. assert (A2 : sumZ l + x <= hi) by nia.
apply Z.leb_le in A1, A2. now rewrite A1, A2.
Qed.

(** Records are clamped one by one: c. *)
Section Sensitivity.
Variables (X : Type) (c : X -> Z) (L U : Z) (n : nat).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, L <= c x <= U.
Hypothesis fits_above : Z.of_nat n * U <= hi.
Hypothesis fits_below : lo <= Z.of_nat n * L.

Lemma clamped_in_bounds u : in_bounds L U (map c u).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). apply c_within. Qed.

Theorem checked_is_exact u : (length u <= n)%nat -> checked (map c u) = Some (sumZ (map c u)).
Proof. intros H. apply checked_exact with L U (Z.of_nat n); auto using clamped_in_bounds. rewrite map_length. lia. Qed.

Theorem checked_change_one u v :
  length u = n -> length v = n -> change_one u v
  -> exists s s', checked (map c u) = Some s /\ checked (map c v) = Some s' /\ Z.abs (s - s') <= U - L.
Proof.
intros Hu Hv H. exists (sumZ (map c u)), (sumZ (map c v)). rewrite !checked_is_exact by lia. repeat split; auto.
apply exact_change_one; auto using clamped_in_bounds, map_change_one.
Qed.

Definition value (s : option Z) := match s with Some s => IZR s | None => 0%R end.

Theorem checked_cut :
  sensitivity insert_delete (fun u => value (checked (map c (firstn n u)))) (IZR (Z.max (magnitudeZ L U) (U - L))).
Proof.
apply truncation with (f := fun u => value (checked (map c u))); intros u v Hu Hv H; rewrite !checked_is_exact by lia;
simpl; rewrite <- minus_IZR, <- abs_IZR; apply IZR_le.
- apply Z.le_trans with (2 := Z.le_max_l _ _).
  apply exact_symmetric; auto using clamped_in_bounds, map_symmetric, insert_delete_is_symmetric.
- apply Z.le_trans with (2 := Z.le_max_r _ _). apply exact_change_one; auto using clamped_in_bounds, map_change_one.
Qed.

Theorem checked_cut_permuted :
  permuted_sensitivity symmetric (fun u => value (checked (map c (firstn n u)))) (IZR (Z.max (magnitudeZ L U) (U - L))).
Proof. apply permutation_symmetric, checked_cut. Qed.

(** For bounds of one sign that is the ideal. *)
Theorem one_sign_is_ideal : 0 <= L \/ U <= 0 -> Z.max (magnitudeZ L U) (U - L) = magnitudeZ L U.
Proof. unfold magnitudeZ. lia. Qed.
End Sensitivity.
End Type_.
