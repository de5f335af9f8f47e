(** Datasets, the four relations, and how a bound moves from one to another (docs/theorems/lemmas.md: relations, group privacy,
    conversions, truncation, splitting by sign).

    Neighbours differ by one record inserted or deleted ([insert_delete]), or by one record changed in its place
    ([hamming]); [symmetric] and [change_one] are the same up to a reordering. A function has sensitivity b under a
    relation if it differs by at most b between neighbours. *)

From Coq Require Import List Permutation Reals Lra Lia Arith.
Import ListNotations.
Set Implicit Arguments.

Section Relations.
Variable X : Type.
Implicit Types u v w a b : list X.

(** Neighbours are datasets at distance at most 1. *)
Inductive insert_delete : list X -> list X -> Prop :=
| id_same u : insert_delete u u
| id_insert a z b : insert_delete (a ++ b) (a ++ z :: b)
| id_delete a z b : insert_delete (a ++ z :: b) (a ++ b).

Inductive hamming : list X -> list X -> Prop :=
| ham_same u : hamming u u
| ham_change a x y b : hamming (a ++ x :: b) (a ++ y :: b).

Definition unordered (rel : list X -> list X -> Prop) u v := exists u', Permutation u u' /\ rel u' v.
Definition symmetric := unordered insert_delete.
Definition change_one := unordered hamming.

(** The shape of unordered neighbours. *)
Lemma symmetric_cases u v :
  symmetric u v <-> Permutation u v \/ exists z, Permutation v (z :: u) \/ Permutation u (z :: v).
Proof.
split.
- intros (u' & P & H); destruct H as [u'|a z b|a z b].
  + now left.
  + right; exists z; left. rewrite P. symmetry; apply Permutation_middle.
  + right; exists z; right. rewrite P. symmetry; apply Permutation_middle.
- intros [P|(z & [P|P])].
  + exists v; split; [exact P|constructor].
  + destruct (in_split z v) as (a & b & ->).
    { apply Permutation_in with (1 := Permutation_sym P); now left. }
    exists (a ++ b); split; [|apply id_insert].
    apply Permutation_cons_inv with (a := z). rewrite <- P. symmetry; apply Permutation_middle.
  + exists (z :: v); split; [exact P|]. apply (id_delete [] z v).
Qed.

Lemma change_one_cases u v :
  change_one u v <-> Permutation u v \/ exists x y w, Permutation u (x :: w) /\ Permutation v (y :: w).
Proof.
split.
- intros (u' & P & H); destruct H as [u'|a x y b].
  + now left.
  + right; exists x, y, (a ++ b); split; [rewrite P|]; symmetry; apply Permutation_middle.
- intros [P|(x & y & w & P & Q)].
  + exists v; split; [exact P|constructor].
  + destruct (in_split y v) as (a & b & ->).
    { apply Permutation_in with (1 := Permutation_sym Q); now left. }
    exists (a ++ x :: b); split; [|constructor].
    rewrite P, <- Permutation_middle. constructor.
    apply Permutation_cons_inv with (a := y). rewrite <- Q. symmetry; apply Permutation_middle.
Qed.

(** A bound on how far f moves between neighbours. *)
Definition sensitivity (rel : list X -> list X -> Prop) (f : list X -> R) (bound : R) :=
  forall u v, rel u v -> (Rabs (f u - f v) <= bound)%R.

Lemma fewer_neighbours_move_it_no_further (rel rel' : list X -> list X -> Prop) f bound :
  (forall u v, rel' u v -> rel u v) -> sensitivity rel f bound -> sensitivity rel' f bound.
Proof. intros H S u v N; apply S, H, N. Qed.

(** Conversions. *)
Lemma insert_delete_is_symmetric u v : insert_delete u v -> symmetric u v.
Proof. intros H; exists u; auto. Qed.

Lemma hamming_is_change_one u v : hamming u v -> change_one u v.
Proof. intros H; exists u; auto. Qed.

Lemma by_way_of_a_third (rel rel' : list X -> list X -> Prop) (f : list X -> R) bound :
  (forall u v, rel' u v -> exists w, rel u w /\ rel w v) -> sensitivity rel f bound -> sensitivity rel' f (2 * bound).
Proof.
intros H S u v N; destruct (H _ _ N) as (w & N1 & N2).
generalize (S _ _ N1) (S _ _ N2) (Rabs_triang (f u - f w) (f w - f v)).
replace (f u - f w + (f w - f v))%R with (f u - f v)%R by ring. lra.
Qed.

Theorem hamming_at_most_twice_insert_delete f bound :
  sensitivity insert_delete f bound -> sensitivity hamming f (2 * bound).
Proof.
apply by_way_of_a_third. intros u v H; destruct H as [u|a x y b].
- exists u; split; constructor.
- exists (a ++ b); split; constructor.
Qed.

Theorem change_one_at_most_twice_symmetric f bound :
  sensitivity symmetric f bound -> sensitivity change_one f (2 * bound).
Proof.
apply by_way_of_a_third. intros u v (u' & P & H); destruct H as [u'|a x y b].
- exists u'; split; [exists u'|exists u']; split; auto; constructor.
- exists (a ++ b); split; [exists (a ++ x :: b)|exists (a ++ b)]; split; auto; constructor.
Qed.

(** Group privacy: d steps move f by at most d bounds. *)
Inductive steps (rel : list X -> list X -> Prop) : nat -> list X -> list X -> Prop :=
| no_step u : steps rel 0 u u
| one_more d u v w : steps rel d u v -> rel v w -> steps rel (S d) u w.

Theorem group_privacy rel f bound d u v :
  sensitivity rel f bound -> steps rel d u v -> (Rabs (f u - f v) <= INR d * bound)%R.
Proof.
intros S H; induction H as [u|d u v w H IH N].
- rewrite Rminus_diag_eq by reflexivity. rewrite Rabs_R0; simpl; lra.
- generalize (S _ _ N) (Rabs_triang (f u - f v) (f v - f w)).
  replace (f u - f v + (f v - f w))%R with (f u - f w)%R by ring. rewrite S_INR. lra.
Qed.

(** Truncation: the first n records of ID neighbours are ID neighbours, or CO neighbours of n records each. *)
Theorem truncation n f bound :
  (forall u v, length u <= n -> length v <= n -> insert_delete u v -> (Rabs (f u - f v) <= bound)%R)
  -> (forall u v, length u = n -> length v = n -> change_one u v -> (Rabs (f u - f v) <= bound)%R)
  -> sensitivity insert_delete (fun u => f (firstn n u)) bound.
Proof.
intros HI HC.
assert (K : forall a z b, (Rabs (f (firstn n (a ++ b)) - f (firstn n (a ++ z :: b))) <= bound)%R).
{ intros a z b.
  destruct (le_lt_dec n (length a)) as [h|h].
  - rewrite !firstn_app. replace (n - length a) with 0 by lia.
    rewrite !firstn_O. apply HI; [| |apply id_same]; rewrite app_length, firstn_length; simpl; lia.
  - rewrite !firstn_app, (@firstn_all2 _ n a) by lia.
    destruct (n - length a) as [|m] eqn:E; [lia|].
    rewrite firstn_cons.
    destruct (le_lt_dec (length b) m) as [g|g].
    + rewrite (@firstn_all2 _ (S m) b), (@firstn_all2 _ m b) by lia.
      apply HI; [| |apply id_insert]; rewrite app_length; simpl; lia.
    + assert (F : exists t, firstn (S m) b = firstn m b ++ [t]).
      { clear -g. revert b g; induction m as [|m IH]; intros [|c b] g; simpl in *; try lia.
        - now exists c.
        - destruct (IH b) as (t & E); [lia|]. exists t. now rewrite E. }
      destruct F as (t & ->).
      assert (length (firstn m b) = m) by (rewrite firstn_length; lia).
      apply HC; try (rewrite !app_length; simpl; rewrite ?app_length; simpl; lia).
      apply change_one_cases. right. exists t, z, (a ++ firstn m b). split.
      * rewrite app_assoc. rewrite <- Permutation_middle. now rewrite app_nil_r.
      * symmetry; apply Permutation_middle. }
intros u v H; destruct H as [u|a z b|a z b].
- rewrite Rminus_diag_eq by reflexivity. rewrite Rabs_R0.
  generalize (HI [] []). simpl. rewrite Rminus_diag_eq by reflexivity. rewrite Rabs_R0.
  intros h; apply h; try lia; constructor.
- apply K.
- rewrite Rabs_minus_sym; apply K.
Qed.

(** Where n is public, records may be cut to m of them: what is kept stands at the same places. *)
Lemma firstn_hamming m u v : hamming u v -> hamming (firstn m u) (firstn m v).
Proof.
intros H; destruct H as [u|a x y b]; [constructor|]. rewrite !firstn_app.
destruct (m - length a) as [|i]; simpl; [rewrite !app_nil_r; constructor|apply ham_change].
Qed.

Theorem truncation_hamming n m f bound :
  m <= n -> (forall u v, length u = m -> hamming u v -> (Rabs (f u - f v) <= bound)%R)
  -> forall u v, length u = n -> hamming u v -> (Rabs (f (firstn m u) - f (firstn m v)) <= bound)%R.
Proof. intros L S u v E H. apply S; [rewrite firstn_length; lia|now apply firstn_hamming]. Qed.

(** Splitting: one record is in one part, so the sum of a function of each part moves by the larger of their bounds. *)
Theorem splitting (keep : X -> bool) g h bg bh :
  sensitivity insert_delete g bg -> sensitivity insert_delete h bh
  -> sensitivity insert_delete (fun u => (g (filter keep u) + h (filter (fun x => negb (keep x)) u))%R) (Rmax bg bh).
Proof.
intros Hg Hh.
assert (K : forall a z b, (Rabs (g (filter keep (a ++ b)) + h (filter (fun x => negb (keep x)) (a ++ b))
              - (g (filter keep (a ++ z :: b)) + h (filter (fun x => negb (keep x)) (a ++ z :: b)))) <= Rmax bg bh)%R).
{ intros a z b. rewrite !filter_app. simpl. destruct (keep z); simpl.
  - match goal with |- (Rabs (?p + ?r - (?p' + ?r)) <= _)%R => replace (p + r - (p' + r))%R with (p - p')%R by ring end.
    apply Rle_trans with (2 := Rmax_l _ _). apply Hg. constructor.
  - match goal with |- (Rabs (?p + ?r - (?p + ?r')) <= _)%R => replace (p + r - (p + r'))%R with (r - r')%R by ring end.
    apply Rle_trans with (2 := Rmax_r _ _). apply Hh. constructor. }
intros u v H; destruct H as [u|a z b|a z b].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. apply Rle_trans with (2 := Rmax_l _ _).
  apply Rle_trans with (2 := Hg [] [] (id_same [])), Rabs_pos.
- apply K.
- rewrite Rabs_minus_sym. apply K.
Qed.

(** A changed record may go over from one part to the other, which takes it out
    of the one and puts it into the other. *)
Theorem splitting_hamming (keep : X -> bool) g h bg bh ig ih :
  sensitivity hamming g bg -> sensitivity hamming h bh -> sensitivity insert_delete g ig
  -> sensitivity insert_delete h ih
  -> sensitivity hamming (fun u => (g (filter keep u) + h (filter (fun x => negb (keep x)) u))%R)
       (Rmax (Rmax bg bh) (ig + ih)).
Proof.
intros Hg Hh Ig Ih u v H.
assert (A := Rmax_l bg bh). assert (B := Rmax_r bg bh). assert (C := Rmax_l (Rmax bg bh) (ig + ih)).
assert (D := Rmax_r (Rmax bg bh) (ig + ih)).
destruct H as [u|a x y b].
- generalize (Hg [] [] (ham_same [])). rewrite !Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- rewrite !filter_app. simpl. destruct (keep x), (keep y); simpl;
  match goal with |- (Rabs (?p + ?r - (?p' + ?r')) <= _)%R =>
    replace (p + r - (p' + r'))%R with ((p - p') + (r - r'))%R by ring;
    apply Rle_trans with (1 := Rabs_triang (p - p') (r - r')) end.
  + rewrite (Rminus_diag_eq (h _)), Rabs_R0 by reflexivity.
    generalize (Hg _ _ (ham_change (filter keep a) x y (filter keep b))). lra.
  + generalize (Ig _ _ (id_delete (filter keep a) x (filter keep b)))
      (Ih _ _ (id_insert (filter (fun z => negb (keep z)) a) y (filter (fun z => negb (keep z)) b))). lra.
  + generalize (Ig _ _ (id_insert (filter keep a) y (filter keep b)))
      (Ih _ _ (id_delete (filter (fun z => negb (keep z)) a) x (filter (fun z => negb (keep z)) b))). lra.
  + rewrite (Rminus_diag_eq (g _)), Rabs_R0 by reflexivity.
    generalize (Hh _ _ (ham_change (filter (fun z => negb (keep z)) a) x y (filter (fun z => negb (keep z)) b))). lra.
Qed.
End Relations.

Arguments insert_delete {X}.
Arguments hamming {X}.
Arguments symmetric {X}.
Arguments change_one {X}.
Arguments sensitivity {X}.

(** A map that looks at one record alone takes neighbours to neighbours. *)
Section Map.
Variables (X Y : Type) (q : X -> Y).

Lemma map_insert_delete u v : insert_delete u v -> insert_delete (map q u) (map q v).
Proof. intros H; destruct H; rewrite ?map_app; simpl; constructor. Qed.

Lemma map_hamming u v : hamming u v -> hamming (map q u) (map q v).
Proof. intros H; destruct H; rewrite ?map_app; simpl; constructor. Qed.

Lemma map_symmetric u v : symmetric u v -> symmetric (map q u) (map q v).
Proof. intros (w & P & H); exists (map q w); split; [now apply Permutation_map|now apply map_insert_delete]. Qed.

Lemma map_change_one u v : change_one u v -> change_one (map q u) (map q v).
Proof. intros (w & P & H); exists (map q w); split; [now apply Permutation_map|now apply map_hamming]. Qed.
End Map.
