(** A uniform secret permutation (docs/theorems/lemmas.md: random permutation).

    A uniform draw is a list of equally likely outcomes. Two draws are coupled if they can be made together so that
    every pair of outcomes is related. Orders of datasets that are neighbours up to order can be coupled so that they
    are neighbours in order: a bound in order then holds, as a coupling, without it. *)

From Coq Require Import List Permutation Reals Lra Lia Arith.
From Soundsum Require Import Relations.
Import ListNotations.
Set Implicit Arguments.

Section Permutations.
Variable X : Type.
Implicit Types u v w a b : list X.

Fixpoint inserts (z : X) u : list (list X) :=
  (z :: u) :: match u with [] => [] | y :: t => map (cons y) (inserts z t) end.

Fixpoint orders u : list (list X) :=
  match u with [] => [[]] | z :: t => flat_map (inserts z) (orders t) end.

Fixpoint times (A : Type) (n : nat) (l : list A) : list A :=
  match n with 0 => [] | S m => l ++ times m l end.

Lemma inserts_are z u o : In o (inserts z u) -> exists a b, u = a ++ b /\ o = a ++ z :: b.
Proof.
revert o; induction u as [|y t IH]; simpl; intros o.
- intros [<-|[]]. now exists [], [].
- intros [<-|H]; [now exists [], (y :: t)|].
  apply in_map_iff in H as (p & <- & H). destruct (IH _ H) as (a & b & -> & ->).
  now exists (y :: a), b.
Qed.

Lemma inserts_length z u : length (inserts z u) = S (length u).
Proof. induction u as [|y t IH]; simpl; auto. now rewrite map_length, IH. Qed.

Lemma orders_permute u o : In o (orders u) -> Permutation u o.
Proof.
revert o; induction u as [|z t IH]; simpl; intros o.
- intros [<-|[]]; constructor.
- intros H; apply in_flat_map in H as (p & Hp & H).
  destruct (inserts_are _ _ _ H) as (a & b & -> & ->). rewrite (IH _ Hp). apply Permutation_middle.
Qed.

Lemma orders_length u : length (orders u) = fact (length u).
Proof.
assert (F : forall A B (g : A -> list B) n l, (forall p, In p l -> length (g p) = n) ->
            length (flat_map g l) = n * length l).
{ intros A B g n l; induction l as [|p l IH]; simpl; intros H; [lia|].
  rewrite app_length, (H p), IH; auto; lia. }
induction u as [|z t IH]; simpl; auto.
rewrite (F _ _ _ (S (length t))). rewrite IH; simpl; lia.
intros p Hp; rewrite inserts_length. f_equal. symmetry. apply Permutation_length, orders_permute, Hp.
Qed.

Definition coupled (A : Type) (draw draw' : list A) (rel : A -> A -> Prop) :=
  exists m m' (pairs : list (A * A)),
    0 < m
    /\ 0 < m'
    /\ Permutation (map fst pairs) (times m draw)
    /\ Permutation (map snd pairs) (times m' draw')
    /\ forall p, In p pairs -> rel (fst p) (snd p).

(** Adding a record: the two uniform orders can be drawn together so that they differ by one insertion. *)
Theorem orders_of_one_more_record z u : coupled (orders u) (orders (z :: u)) insert_delete.
Proof.
exists (S (length u)), 1, (flat_map (fun p => map (pair p) (inserts z p)) (orders u)).
split; [lia|]. split; [lia|].
split; [|split].
- assert (G : forall l, (forall p, In p l -> length p = length u) ->
    Permutation (map fst (flat_map (fun p => map (pair p) (inserts z p)) l)) (times (S (length u)) l)).
  { assert (R : forall n p (l : list (list X)), Permutation (times n (p :: l)) (repeat p n ++ times n l)).
    { induction n as [|n IH]; simpl; intros p l; auto.
      constructor. rewrite (IH p l). rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm. }
    assert (T0 : forall n, times n (@nil (list X)) = []) by (induction n; simpl; auto).
    induction l as [|p l IH]; intros H.
    - now rewrite T0.
    - rewrite R. cbn [flat_map]. rewrite map_app. apply Permutation_app.
      + rewrite map_map; cbn [fst]. rewrite <- (H p), <- (inserts_length z p) by now left.
        generalize (inserts z p). induction l0; simpl; auto.
      + apply IH. intros q Hq; apply H; now right. }
  apply G. intros p Hp; symmetry; apply Permutation_length, orders_permute, Hp.
- simpl. rewrite app_nil_r.
  induction (orders u) as [|p l IH]; simpl; auto.
  rewrite map_app, map_map; simpl. rewrite map_id. now apply Permutation_app_head.
- intros (p, o) H; simpl. apply in_flat_map in H as (q & Hq & H).
  apply in_map_iff in H as (o' & E & H). injection E as -> ->.
  destruct (inserts_are _ _ _ H) as (a & b & -> & ->). constructor.
Qed.

(** Changing a record: one order for both, Hamming distance at most one. *)
Theorem orders_of_one_changed_record x y u : coupled (orders (x :: u)) (orders (y :: u)) hamming.
Proof.
assert (I : forall p, map fst (combine (inserts x p) (inserts y p)) = inserts x p /\
                      map snd (combine (inserts x p) (inserts y p)) = inserts y p).
{ intros p. assert (L : forall A B (l : list A) (l' : list B), length l = length l' ->
    map fst (combine l l') = l /\ map snd (combine l l') = l').
  { induction l as [|c l IH]; intros [|c' l'] E; simpl in *; try lia; auto.
    destruct (IH l') as [E1 E2]; [lia|]. now rewrite E1, E2. }
  apply L; now rewrite !inserts_length. }
exists 1, 1, (flat_map (fun p => combine (inserts x p) (inserts y p)) (orders u)).
split; [lia|]. split; [lia|]. simpl. rewrite !app_nil_r.
split; [|split].
- induction (orders u) as [|p l IH]; simpl; auto. rewrite map_app, (proj1 (I p)). now apply Permutation_app_head.
- induction (orders u) as [|p l IH]; simpl; auto. rewrite map_app, (proj2 (I p)). now apply Permutation_app_head.
- intros (o, o') H; simpl. apply in_flat_map in H as (p & _ & H). clear -H. revert o o' H.
  induction p as [|c p IH]; simpl; intros o o' H.
  + destruct H as [E|[]]. injection E as <- <-. apply (ham_change [] x y []).
  + destruct H as [E|H]; [injection E as <- <-; apply (ham_change [] x y (c :: p))|].
    assert (M : forall (l l' : list (list X)) o o', In (o, o') (combine (map (cons c) l) (map (cons c) l')) ->
      exists q q', o = c :: q /\ o' = c :: q' /\ In (q, q') (combine l l')).
    { clear. induction l as [|e l IH]; intros [|e' l'] o o' H; simpl in *; try tauto.
      destruct H as [E|H]; [injection E as <- <-; now exists e, e'; auto|].
      destruct (IH _ _ _ H) as (q & q' & ? & ? & ?). exists q, q'; auto. }
    destruct (M _ _ _ _ H) as (q & q' & -> & -> & H').
    destruct (IH _ _ H') as [w|a x' y' b]; [constructor|apply (ham_change (c :: a))].
Qed.

(** The orders of two datasets that are reorderings of each other are the same draw. *)
Lemma flat_map_permutation (A B : Type) (f : A -> list B) l l' :
  Permutation l l' -> Permutation (flat_map f l) (flat_map f l').
Proof.
induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH _ IH']; simpl; auto.
- now apply Permutation_app_head.
- rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
- now apply perm_trans with (flat_map f l').
Qed.

Lemma flat_map_pointwise (A B : Type) (f g : A -> list B) l :
  (forall x, Permutation (f x) (g x)) -> Permutation (flat_map f l) (flat_map g l).
Proof. intros H. induction l as [|x l IH]; simpl; auto. now apply Permutation_app. Qed.

Lemma flat_map_twice (A B C : Type) (f : A -> list B) (g : B -> list C) l :
  flat_map g (flat_map f l) = flat_map (fun x => flat_map g (f x)) l.
Proof. induction l as [|x l IH]; simpl; auto. now rewrite flat_map_app, IH. Qed.

Lemma flat_map_after_map (A B C : Type) (f : A -> B) (g : B -> list C) l :
  flat_map g (map f l) = flat_map (fun x => g (f x)) l.
Proof. induction l as [|x l IH]; simpl; auto. now rewrite IH. Qed.

Lemma map_after_flat_map (A B C : Type) (f : A -> list B) (g : B -> C) l :
  map g (flat_map f l) = flat_map (fun x => map g (f x)) l.
Proof. induction l as [|x l IH]; simpl; auto. now rewrite map_app, IH. Qed.

Lemma flat_map_cons (A B : Type) (f : A -> B) (g : A -> list B) l :
  Permutation (flat_map (fun x => f x :: g x) l) (map f l ++ flat_map g l).
Proof.
induction l as [|x l IH]; simpl; auto. constructor. rewrite IH. rewrite !app_assoc.
apply Permutation_app_tail, Permutation_app_comm.
Qed.

Lemma inserts_commute x y u : Permutation (flat_map (inserts x) (inserts y u)) (flat_map (inserts y) (inserts x u)).
Proof.
induction u as [|z t IH]; [simpl; constructor|].
assert (E : forall a b : X, Permutation (flat_map (inserts a) (inserts b (z :: t)))
        ((a :: b :: z :: t) :: (b :: a :: z :: t) :: map (fun o => b :: z :: o) (inserts a t)
           ++ map (fun o => a :: z :: o) (inserts b t) ++ map (cons z) (flat_map (inserts a) (inserts b t)))).
{ intros a b.
  change (inserts b (z :: t)) with ((b :: z :: t) :: map (cons z) (inserts b t)). cbn [flat_map].
  change (inserts a (b :: z :: t))
    with ((a :: b :: z :: t) :: map (cons b) ((a :: z :: t) :: map (cons z) (inserts a t))).
  cbn [map app]. rewrite map_map. do 2 constructor. apply Permutation_app_head.
  rewrite flat_map_after_map, map_after_flat_map.
  apply (flat_map_cons (fun o => a :: z :: o) (fun o => map (cons z) (inserts a o))). }
rewrite (E x y), (E y x), IH. apply perm_trans with (1 := perm_swap _ _ _). do 2 constructor.
rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.

Theorem orders_of_a_reordering u v : Permutation u v -> Permutation (orders u) (orders v).
Proof.
induction 1 as [|z l l' _ IH|x y l|l l' l'' _ IH _ IH']; simpl; auto.
- now apply flat_map_permutation.
- rewrite !flat_map_twice. apply flat_map_pointwise. intros o. apply inserts_commute.
- now apply perm_trans with (orders l').
Qed.

(** Couplings of draws that are reorderings of coupled ones. *)
Lemma times_permutation (A : Type) m (l l' : list A) : Permutation l l' -> Permutation (times m l) (times m l').
Proof. intros P. induction m as [|m IH]; simpl; auto. now apply Permutation_app. Qed.

Lemma coupled_up_to_order (A : Type) (d d' e e' : list A) rel :
  Permutation d e -> Permutation d' e' -> coupled d d' rel -> coupled e e' rel.
Proof.
intros P P' (m & m' & pairs & Hm & Hm' & H & H' & R). exists m, m', pairs. repeat split; auto.
- rewrite H. now apply times_permutation.
- rewrite H'. now apply times_permutation.
Qed.

Lemma coupled_weaken (A : Type) (d d' : list A) (rel rel' : A -> A -> Prop) :
  (forall a b : A, rel a b -> rel' a b) -> coupled d d' rel -> coupled d d' rel'.
Proof. intros H (m & m' & pairs & Hm & Hm' & P & P' & R). exists m, m', pairs. repeat split; auto. Qed.

Lemma coupled_flip (A : Type) (d d' : list A) (rel : A -> A -> Prop) :
  coupled d d' rel -> coupled d' d (fun a b : A => rel b a).
Proof.
intros (m & m' & pairs & Hm & Hm' & P & P' & R). exists m', m, (map (fun p => (snd p, fst p)) pairs).
repeat split; auto.
- now rewrite map_map.
- now rewrite map_map.
- intros p Hp. apply in_map_iff in Hp as (q & <- & Hq). simpl. auto.
Qed.

Lemma coupled_with_itself (A : Type) (d : list A) : coupled d d eq.
Proof.
exists 1, 1, (map (fun a : A => (a, a)) d). repeat split; auto; simpl; rewrite ?app_nil_r, ?map_map, ?map_id; auto.
intros p Hp. apply in_map_iff in Hp as (a & <- & _). reflexivity.
Qed.

(** The lemma: after a uniform permutation, neighbours up to order are neighbours in order. *)
Theorem permuted_symmetric u v : symmetric u v -> coupled (orders u) (orders v) insert_delete.
Proof.
intros H. apply symmetric_cases in H as [P|(z & [P|P])].
- apply coupled_up_to_order with (orders u) (orders u); auto using orders_of_a_reordering.
  apply coupled_weaken with eq; [intros o o' ->; constructor|apply coupled_with_itself].
- apply coupled_up_to_order with (orders u) (orders (z :: u)); auto.
  + apply orders_of_a_reordering. now symmetry.
  + apply orders_of_one_more_record.
- apply coupled_up_to_order with (orders (z :: v)) (orders v); auto.
  + apply orders_of_a_reordering. now symmetry.
  + apply coupled_weaken with (fun a b : list X => insert_delete b a); [intros o o' I; destruct I; constructor|].
    apply coupled_flip, orders_of_one_more_record.
Qed.

Theorem permuted_change_one u v : change_one u v -> coupled (orders u) (orders v) hamming.
Proof.
intros H. apply change_one_cases in H as [P|(x & y & w & P & Q)].
- apply coupled_up_to_order with (orders u) (orders u); auto using orders_of_a_reordering.
  apply coupled_weaken with eq; [intros o o' ->; constructor|apply coupled_with_itself].
- apply coupled_up_to_order with (orders (x :: w)) (orders (y :: w)).
  + apply orders_of_a_reordering. now symmetry.
  + apply orders_of_a_reordering. now symmetry.
  + apply orders_of_one_changed_record.
Qed.

(** So a bound in order becomes, as a coupling, a bound for the relation that ignores order. *)
Definition permuted_sensitivity (rel : list X -> list X -> Prop) (f : list X -> R) bound :=
  forall u v, rel u v -> coupled (orders u) (orders v) (fun o o' => (Rabs (f o - f o') <= bound)%R).

Theorem permutation_symmetric f bound : sensitivity insert_delete f bound -> permuted_sensitivity symmetric f bound.
Proof. intros S u v H. apply coupled_weaken with (2 := permuted_symmetric H). apply S. Qed.

Theorem permutation_change_one f bound : sensitivity hamming f bound -> permuted_sensitivity change_one f bound.
Proof. intros S u v H. apply coupled_weaken with (2 := permuted_change_one H). apply S. Qed.

(** The same for a bound that holds for datasets of n records. *)
Lemma coupled_of_draws (A : Type) (d d' : list A) (rel : A -> A -> Prop) :
  coupled d d' rel -> coupled d d' (fun x y : A => In x d /\ In y d' /\ rel x y).
Proof.
assert (T : forall m (l : list A) x, In x (times m l) -> In x l).
{ intros m l x; induction m as [|m IH]; simpl; [tauto|]. rewrite in_app_iff. tauto. }
intros (m & m' & pairs & Hm & Hm' & P & P' & R). exists m, m', pairs. repeat split; auto.
- apply (T m), (Permutation_in _ P), in_map, H.
- apply (T m'), (Permutation_in _ P'), in_map, H.
Qed.

Theorem permutation_change_one_of_size n f bound :
  (forall u v, length u = n -> hamming u v -> (Rabs (f u - f v) <= bound)%R)
  -> forall u v,
       length u = n -> change_one u v -> coupled (orders u) (orders v) (fun o o' => (Rabs (f o - f o') <= bound)%R).
Proof.
intros S u v E H. apply coupled_weaken with (2 := coupled_of_draws (permuted_change_one H)).
intros o o' (I & _ & N). apply S; auto. now rewrite <- E, (Permutation_length (orders_permute _ _ I)).
Qed.

(** Truncation after a permutation, for both relations without order. *)
Theorem truncation_symmetric n f bound :
  (forall u v, length u <= n -> length v <= n -> insert_delete u v -> (Rabs (f u - f v) <= bound)%R)
  -> (forall u v, length u = n -> length v = n -> change_one u v -> (Rabs (f u - f v) <= bound)%R)
  -> permuted_sensitivity symmetric (fun u => f (firstn n u)) bound.
Proof. intros I C. now apply permutation_symmetric, truncation. Qed.

Theorem truncation_change_one n m f bound :
  m <= n -> (forall u v, length u = m -> hamming u v -> (Rabs (f u - f v) <= bound)%R)
  -> forall u v,
       length u = n -> change_one u v
       -> coupled (orders u) (orders v) (fun o o' => (Rabs (f (firstn m o) - f (firstn m o')) <= bound)%R).
Proof.
intros L S. apply (permutation_change_one_of_size (fun u => f (firstn m u))). intros u v. now apply truncation_hamming.
Qed.
End Permutations.

Arguments permuted_sensitivity {X}.
