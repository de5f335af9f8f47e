(** saturating (docs/theorems/saturating.md): every partial sum held at the limits of the type.

    In one order, a record more moves the sum by at most M and a changed one by at most U - L, for every n; of one sign,
    in any order; and after a uniform secret permutation in any order, as a coupling. *)

From Coq Require Import List Permutation ZArith Reals Lia.
From Soundsum Require Import Relations Permutations Sums.
Import ListNotations.
Open Scope Z_scope.

Section Type_.
Variables lo hi : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

(** Saturating, in order. *)
Definition sat z := clamp lo hi z.
Definition saturating_from s l := fold_left (fun s x => sat (s + x)) l s.
Definition saturating l := saturating_from 0 l.

Lemma sat_lipschitz a b : Z.abs (sat a - sat b) <= Z.abs (a - b).
Proof. unfold sat, clamp; lia. Qed.

Lemma saturating_lipschitz l s s' : Z.abs (saturating_from s l - saturating_from s' l) <= Z.abs (s - s').
Proof.
revert s s'; induction l as [|x l IH]; intros s s'; simpl; [lia|].
apply Z.le_trans with (1 := IH _ _). generalize (sat_lipschitz (s + x) (s' + x)). lia.
Qed.

Lemma saturating_range l s : lo <= s <= hi -> lo <= saturating_from s l <= hi.
Proof. revert s; induction l as [|x l IH]; intros s H; simpl; [lia|]. apply IH. unfold sat, clamp; lia. Qed.

Theorem saturating_insert_delete L U u v :
  in_bounds L U u -> in_bounds L U v -> insert_delete u v -> Z.abs (saturating u - saturating v) <= magnitudeZ L U.
Proof.
assert (K : forall a z b, L <= z <= U -> Z.abs (saturating (a ++ b) - saturating (a ++ z :: b)) <= magnitudeZ L U).
{ intros a z b Hz. unfold saturating, saturating_from. rewrite !fold_left_app. simpl.
  fold (saturating_from 0 a). generalize (saturating_range a 0 ltac:(lia)). set (s := saturating_from 0 a). intros R.
  generalize (saturating_lipschitz b s (sat (s + z))). unfold saturating_from, magnitudeZ, sat, clamp in *. lia. }
intros Fu Fv H; destruct H as [u|a z b|a z b].
- unfold magnitudeZ; lia.
- apply K. apply Forall_app in Fv as [_ F]. now apply Forall_inv in F.
- rewrite <- Z.abs_opp.
  replace (- (saturating (a ++ z :: b) - saturating (a ++ b))) with (saturating (a ++ b) - saturating (a ++ z :: b))
    by ring.
  apply K. apply Forall_app in Fu as [_ F]. now apply Forall_inv in F.
Qed.

Theorem saturating_hamming L U u v :
  L <= U -> in_bounds L U u -> in_bounds L U v -> hamming u v -> Z.abs (saturating u - saturating v) <= U - L.
Proof.
intros LU Fu Fv H; destruct H as [u|a x y b]; [lia|].
apply Forall_app in Fu as [_ Fx]. apply Forall_app in Fv as [_ Fy]. apply Forall_inv in Fx, Fy.
unfold saturating, saturating_from. rewrite !fold_left_app. simpl. set (s := fold_left _ a 0).
generalize (saturating_lipschitz b (sat (s + x)) (sat (s + y))) (sat_lipschitz (s + x) (s + y)).
unfold saturating_from. lia.
Qed.

(** One sign: held once at the end, so the order does not matter. *)
Lemma saturating_up l : Forall (fun x => 0 <= x) l -> saturating l = Z.min hi (sumZ l) /\ 0 <= sumZ l.
Proof.
unfold saturating, saturating_from. induction l as [|x l IH] using rev_ind; intros F; [simpl; lia|].
apply Forall_app in F as [F Fx]. apply Forall_inv in Fx. destruct (IH F) as [E P].
rewrite fold_left_app, sumZ_app, E. simpl. unfold sat, clamp. lia.
Qed.

Lemma saturating_down l : Forall (fun x => x < 0) l -> saturating l = Z.max lo (sumZ l) /\ sumZ l <= 0.
Proof.
unfold saturating, saturating_from. induction l as [|x l IH] using rev_ind; intros F; [simpl; lia|].
apply Forall_app in F as [F Fx]. apply Forall_inv in Fx. destruct (IH F) as [E P].
rewrite fold_left_app, sumZ_app, E. simpl. unfold sat, clamp. lia.
Qed.

Lemma saturating_not_above l : Forall (fun x => x <= 0) l -> saturating l = Z.max lo (sumZ l) /\ sumZ l <= 0.
Proof.
unfold saturating, saturating_from. induction l as [|x l IH] using rev_ind; intros F; [simpl; lia|].
apply Forall_app in F as [F Fx]. apply Forall_inv in Fx. destruct (IH F) as [E P].
rewrite fold_left_app, sumZ_app, E. simpl. unfold sat, clamp. lia.
Qed.

Lemma saturating_one_sign L U l : 0 <= L \/ U <= 0 -> in_bounds L U l -> saturating l = sat (sumZ l).
Proof.
intros [H|H] F.
- destruct (saturating_up l) as [-> P]; [|unfold sat, clamp; lia]. apply Forall_impl with (2 := F). lia.
- destruct (saturating_not_above l) as [-> P]; [|unfold sat, clamp; lia]. apply Forall_impl with (2 := F). lia.
Qed.

Theorem saturating_one_sign_symmetric L U u v :
  0 <= L \/ U <= 0 -> in_bounds L U u -> in_bounds L U v -> symmetric u v
  -> Z.abs (saturating u - saturating v) <= magnitudeZ L U.
Proof.
intros S Fu Fv H. rewrite !(saturating_one_sign L U) by auto. apply Z.le_trans with (1 := sat_lipschitz _ _).
now apply exact_symmetric.
Qed.

Theorem saturating_one_sign_change_one L U u v :
  L <= U -> 0 <= L \/ U <= 0 -> in_bounds L U u -> in_bounds L U v -> change_one u v
  -> Z.abs (saturating u - saturating v) <= U - L.
Proof.
intros LU S Fu Fv H. rewrite !(saturating_one_sign L U) by auto. apply Z.le_trans with (1 := sat_lipschitz _ _).
now apply exact_change_one.
Qed.

(** After a uniform secret permutation, in any order. Records are clamped one by one: c. *)
Section Permuted.
Variables (X : Type) (c : X -> Z) (L U : Z).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, L <= c x <= U.

Lemma clamped_in_bounds u : in_bounds L U (map c u).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). apply c_within. Qed.

Theorem saturating_permuted_symmetric :
  permuted_sensitivity symmetric (fun u => IZR (saturating (map c u))) (IZR (magnitudeZ L U)).
Proof.
apply permutation_symmetric. intros u v H. rewrite <- minus_IZR, <- abs_IZR. apply IZR_le.
apply saturating_insert_delete; auto using clamped_in_bounds, map_insert_delete.
Qed.

Theorem saturating_permuted_change_one :
  permuted_sensitivity change_one (fun u => IZR (saturating (map c u))) (IZR (U - L)).
Proof.
apply permutation_change_one. intros u v H. rewrite <- minus_IZR, <- abs_IZR. apply IZR_le.
apply saturating_hamming; auto using clamped_in_bounds, map_hamming.
Qed.
End Permuted.

(** Where the sum fits the type nothing is held. *)
Theorem saturating_exact L U n l :
  in_bounds L U l -> Z.of_nat (length l) <= n -> n * U <= hi -> lo <= n * L -> saturating l = sumZ l.
Proof.
intros F Hn HU HL. unfold saturating, saturating_from. revert F Hn.
induction l as [|x l IH] using rev_ind; intros F Hn; [reflexivity|].
assert (B := sumZ_bounds L U _ F). rewrite fold_left_app, sumZ_app. apply Forall_app in F as [F Fx].
rewrite app_length in *. simpl in Hn.
rewrite IH by (auto; lia). simpl in *. rewrite sumZ_app in B. simpl in B. unfold sat, clamp.
assert (A1 : lo <= sumZ l + x) by nia. assert (A2 : sumZ l + x <= hi) by nia. lia.
Qed.
End Type_.
