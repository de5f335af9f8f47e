(** Several vectors of integers, each with noise of its own: what a release lets out, drawn from bytes in the order in which
    the code draws. Whatever is computed from them afterwards is as private as they are.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private Composition Gaussian Fuel Shares.
Import ListNotations.
Open Scope R_scope.

(** `Noise.draw` and `Noise.add_to`. *)
Definition draw (n : noise) : nat -> program Z :=
  match n with
  | NoNoise => fun _ => Return 0%Z
  | LaplaceNoise scale => fun fuel => laplace fuel (Qnum scale) (Zpos (Qden scale))
  | GaussianNoise sigma2 => fun fuel => gaussian fuel (Qnum sigma2) (Zpos (Qden sigma2))
  end.

Definition add_noise (n : noise) (a : Z) : nat -> program Z := then_ (draw n) (fun z _ => Return (a + z)%Z).

Fixpoint noisy_vector (n : noise) (l : list Z) : nat -> program (list Z) :=
  match l with
  | [] => fun _ => Return []
  | a :: l => then_ (add_noise n a) (fun v => then_ (noisy_vector n l) (fun r _ => Return (v :: r)))
  end.

Fixpoint noisy_parts (parts : list (noise * list Z)) : nat -> program (list (list Z)) :=
  match parts with
  | [] => fun _ => Return []
  | (n, l) :: parts => then_ (noisy_vector n l) (fun v => then_ (noisy_parts parts) (fun r _ => Return (v :: r)))
  end.

(** Everything that one request lets out: the parts of all its tasks, in order. *)
Definition released (fit : Q -> norms -> noise) (whole : Q) (tasks : list task) (sums : list (list Z)) :=
  noisy_parts (combine (concat (noises fit whole tasks)) sums).

Definition then_read {A B} (p : nat -> program A) (read : A -> B) : nat -> program B :=
  then_ p (fun a _ => Return (read a)).

Lemma grows_draw n : grows (draw n).
Proof.
destruct n; cbn [draw]; [apply grows_return| |]; intros i j H; [now apply laplace_extended|now apply gaussian_extended].
Qed.

Lemma grows_add_noise n a : grows (add_noise n a).
Proof. apply grows_then; auto using grows_draw, grows_return. Qed.

Lemma grows_vector n l : grows (noisy_vector n l).
Proof.
induction l as [|a l IH]; [apply grows_return|]. cbn [noisy_vector]. apply grows_then; auto using grows_add_noise.
intros v. apply grows_then; auto using grows_return.
Qed.

Lemma grows_parts parts : grows (noisy_parts parts).
Proof.
induction parts as [|[n l] parts IH]; [apply grows_return|]. cbn [noisy_parts]. apply grows_then; auto using grows_vector.
intros v. apply grows_then; auto using grows_return.
Qed.

Lemma grows_released fit whole tasks sums : grows (released fit whole tasks sums).
Proof. apply grows_parts. Qed.

Lemma grows_read A B (p : nat -> program A) (read : A -> B) : grows p -> grows (then_read p read).
Proof. intros P. apply grows_then; auto using grows_return. Qed.

(** * How far the integers of two datasets are apart *)
Fixpoint L2 (l l' : list Z) : Z :=
  match l, l' with a :: l, b :: l' => ((a - b) * (a - b) + L2 l l')%Z | _, _ => 0%Z end.

Definition moves (n : norms) (l l' : list Z) :=
  length l = length l' /\ (L1 l l' <= norm1 n)%Z /\ (L2 l l' <= norm2 n)%Z.

Fixpoint all_move (ns : list norms) (v v' : list (list Z)) : Prop :=
  match ns, v, v' with
  | [], [], [] => True
  | n :: ns, l :: v, l' :: v' => moves n l l' /\ all_move ns v v'
  | _, _, _ => False
  end.

Lemma L1_nonneg l l' : (0 <= L1 l l')%Z.
Proof. revert l'. induction l as [|a l IH]; intros [|b l']; cbn [L1]; try lia. generalize (IH l'). lia. Qed.

Lemma not_apart l l' : length l = length l' -> (L1 l l' <= 0)%Z -> l = l'.
Proof.
revert l'. induction l as [|a l IH]; intros [|b l'] E H; try discriminate; auto. cbn [L1] in H.
generalize (L1_nonneg l l'). intros. f_equal; [lia|]. apply IH; [now injection E|lia].
Qed.

Lemma all_move_app ns ns' v w v' w' :
  all_move ns v v' -> all_move ns' w w' -> all_move (ns ++ ns') (v ++ w) (v' ++ w').
Proof.
revert v v'. induction ns as [|n ns IH]; intros [|l v] [|l' v'] H H'; cbn [all_move app] in *; try contradiction; auto.
destruct H. split; auto.
Qed.

(** * Laplace noise *)
Lemma close_refl A (p : nat -> program A) e : 0 <= e -> close e p p.
Proof.
intros E w v v' W T T'. assert (v = v') as -> by (now apply (UL_sequence _ _ _ T)).
destruct (value_range _ _ _ _ W T'). assert (1 <= exp e).
{ destruct E as [E|<-]; [rewrite <- exp_0; now apply Rlt_le, exp_increasing|rewrite exp_0; lra]. } nra.
Qed.

Lemma vector_is_noisy_numbers q l :
  noisy_vector (LaplaceNoise q) l = noisy_numbers (Qnum q) (Zpos (Qden q)) l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [noisy_vector noisy_numbers]. now rewrite IH. Qed.

Lemma scale_is n epsilon :
  (0 < epsilon)%Q -> is_moved n = true
  -> exists t s, laplace_for epsilon n = LaplaceNoise (t # s) /\ (0 < t)%Z
       /\ IZR (Zpos s) * IZR (norm1 n) = Q2R epsilon * IZR t.
Proof.
intros E M. unfold laplace_for. rewrite M. unfold is_moved in M. apply Z.ltb_lt in M.
set (q := Qred (inject_Z (norm1 n) / epsilon)). exists (Qnum q), (Qden q).
assert (Q : (q * epsilon == inject_Z (norm1 n))%Q).
{ unfold q. rewrite Qred_correct. field. intros Z. rewrite Z in E. discriminate. }
assert (R := Qeq_eqR _ _ Q). rewrite Q2R_mult in R. unfold Q2R at 1 3 in R. cbn [Qnum Qden inject_Z] in R.
assert (S0 : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
assert (E0 : 0 < Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (N0 : 0 < IZR (norm1 n)) by now apply IZR_lt.
assert (F : IZR (Zpos (Qden q)) * IZR (norm1 n) = Q2R epsilon * IZR (Qnum q)).
{ rewrite Rinv_1, Rmult_1_r in R. rewrite <- R. field. lra. }
split; [now destruct q|split; auto]. apply lt_IZR. apply Rmult_lt_reg_l with (Q2R epsilon); auto.
rewrite <- F, Rmult_0_r. now apply Rmult_lt_0_compat.
Qed.

Lemma noisy_vectors_are_private n epsilon l l' :
  (is_moved n = true -> 0 < epsilon)%Q -> moves n l l'
  -> close (if is_moved n then Q2R epsilon else 0) (noisy_vector (laplace_for epsilon n) l)
       (noisy_vector (laplace_for epsilon n) l').
Proof.
intros E (Len & H & _). destruct (is_moved n) eqn:M.
- destruct (scale_is n epsilon (E eq_refl) M) as (t & s & -> & t0 & F). rewrite !vector_is_noisy_numbers. cbn [Qnum Qden].
  apply (close_more _ _ _ (IZR (Zpos s) * IZR (L1 l l') / IZR t)); [|now apply noisy_vectors_are_close].
  assert (T : 0 < IZR t) by now apply IZR_lt. apply Rmult_le_reg_r with (IZR t); auto.
  replace (IZR (Zpos s) * IZR (L1 l l') / IZR t * IZR t) with (IZR (Zpos s) * IZR (L1 l l')) by (field; lra).
  rewrite <- F. apply Rmult_le_compat_l; [apply IZR_le; lia|now apply IZR_le].
- unfold is_moved in M. apply Z.ltb_ge in M. rewrite (not_apart l l' Len) by lia. apply close_refl. lra.
Qed.

Lemma spent_cons n x rest :
  Q2R (spent ((n, x) :: rest)) = (if is_moved n then Q2R x else 0) + Q2R (spent rest).
Proof.
unfold spent. cbn [filter fst]. destruct (is_moved n); [|now rewrite Rplus_0_l]. cbn [map sum_Q snd]. apply Q2R_plus.
Qed.

Theorem noisy_parts_are_private whole asked v v' :
  (0 < whole)%Q -> (forall n x, In (n, x) asked -> is_moved n = true -> 0 < x)%Q
  -> all_move (map fst asked) v v'
  -> let noise_of := map (fun '(n, x) => laplace_for (whole * x) n) asked in
     close (Q2R whole * Q2R (spent asked)) (noisy_parts (combine noise_of v)) (noisy_parts (combine noise_of v')).
Proof.
intros W. cbv zeta. revert v v'. induction asked as [|[n x] asked IH]; intros [|l v] [|l' v'] P H;
  cbn [map fst all_move combine] in *; try contradiction.
{ apply close_refl. unfold spent. cbn. rewrite RMicromega.Q2R_0. lra. }
destruct H as [M H]. cbn [noisy_parts]. rewrite spent_cons, Rmult_plus_distr_l.
apply close_then; auto using grows_vector.
- intros a. apply grows_then; auto using grows_parts, grows_return.
- intros a. apply grows_then; auto using grows_parts, grows_return.
- replace (Q2R whole * (if is_moved n then Q2R x else 0)) with (if is_moved n then Q2R (whole * x) else 0)
    by (destruct (is_moved n); [apply Q2R_mult|ring]).
  apply noisy_vectors_are_private; auto. intros N.
  apply Qmult_lt_0_compat; auto. apply (P n); [now left|exact N].
- intros a. apply (close_map _ _ _ _ (cons a)); auto using grows_parts. apply IH; auto. intros m y Hy. apply P. now right.
Qed.

Lemma noises_are fit whole tasks :
  concat (noises fit whole tasks) = map (fun '(n, x) => fit (whole * x)%Q n) (concat (shares tasks)).
Proof. unfold noises. now rewrite concat_map. Qed.

Lemma shares_are_of tasks : map fst (concat (shares tasks)) = concat (map snd tasks).
Proof.
rewrite concat_map. f_equal. unfold shares. rewrite map_map. apply map_ext. intros t. rewrite map_map. cbn [fst].
apply map_id.
Qed.

(** The whole released vector, with the code's own division of epsilon. *)
Theorem releases_are_close epsilon tasks v v' :
  (0 < epsilon)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> all_move (concat (map snd tasks)) v v'
  -> close (Q2R epsilon) (released laplace_for epsilon tasks v) (released laplace_for epsilon tasks v').
Proof.
intros E W M. unfold released. rewrite noises_are.
apply (close_more _ _ _ (Q2R epsilon * Q2R (spent (concat (shares tasks))))).
- rewrite <- (Rmult_1_r (Q2R epsilon)) at 2. apply Rmult_le_compat_l.
  + rewrite <- RMicromega.Q2R_0. apply Qle_Rle. now apply Qlt_le_weak.
  + rewrite <- RMicromega.Q2R_1. apply Qle_Rle. now apply no_more_than_the_whole.
- apply noisy_parts_are_private; auto.
  + intros n x H N. now apply (shares_are_positive tasks n).
  + now rewrite shares_are_of.
Qed.

(** * On bytes *)
Definition on_bytes {A} (p : nat -> program A) (event : A -> bool) (bytes : list Z) : bool :=
  match run (p (S (S (length bytes)))) bytes with Some (a, _) => event a | None => false end.

(** For every event, counted over all lists of bytes. *)
Definition private {A} (epsilon : R) (p p' : nat -> program A) :=
  forall event, exists x x',
    probability (on_bytes p event) x /\ probability (on_bytes p' event) x' /\ x <= exp epsilon * x'.

Lemma passes_is_a_weight A (event : A -> bool) : unit_weight (passes event).
Proof. intros a. apply passes_range. Qed.

Lemma value_on_bytes A (p : nat -> program A) event x :
  grows p -> tends p (passes event) x -> probability (on_bytes p event) x.
Proof.
intros G T. destruct (chances_tend A p (fun n => S (S n)) event x G ltac:(intros; cbv beta; lia) T) as [C _].
unfold probability. apply tends_ext with (2 := C). intros n. unfold share, chance. do 2 f_equal.
apply filter_length_ext. intros bytes H. apply strings_length in H. unfold on_bytes, gives. now rewrite H.
Qed.

Theorem close_is_private A epsilon (p p' : nat -> program A) : grows p -> grows p' -> close epsilon p p' -> private epsilon p p'.
Proof.
intros G G' C event. destruct (value A p (passes event) G (passes_is_a_weight _ _)) as [x X].
destruct (value A p' (passes event) G' (passes_is_a_weight _ _)) as [x' X']. exists x, x'.
repeat split; auto using value_on_bytes. apply (C (passes event)); auto using passes_is_a_weight.
Qed.

(** Anything that is computed from a release. *)
Theorem releases_are_private A (read : list (list Z) -> A) epsilon tasks v v' :
  (0 < epsilon)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> all_move (concat (map snd tasks)) v v'
  -> private (Q2R epsilon) (then_read (released laplace_for epsilon tasks v) read)
       (then_read (released laplace_for epsilon tasks v') read).
Proof.
intros E W M. apply close_is_private; auto using grows_read, grows_released.
apply close_map; auto using grows_released. now apply releases_are_close.
Qed.

(** Fuel is no part of a release either: two more than there are bytes is as good as any more. *)
Definition enough_fuel {A} (p : nat -> program A) :=
  forall L i j, (S (S L) <= i)%nat -> (S (S L) <= j)%nat -> agrees L (p i) (p j).

Lemma enough_return A (a : A) : enough_fuel (fun _ => Return a).
Proof. intros L i j _ _ bytes _. reflexivity. Qed.

Lemma enough_then A B (p : nat -> program A) (f : A -> nat -> program B) :
  enough_fuel p -> (forall a, enough_fuel (f a)) -> enough_fuel (then_ p f).
Proof.
intros P F L i j I J. apply agrees_bind; [now apply P|]. intros bytes a rest B' R. apply rest_is_shorter in R.
apply (F a L i j I J). lia.
Qed.

Definition drawable (n : noise) : Prop :=
  match n with NoNoise => True | LaplaceNoise q | GaussianNoise q => (0 < Qnum q)%Z end.

Lemma enough_draw n : drawable n -> enough_fuel (draw n).
Proof.
destruct n; cbn [draw drawable]; intros D; [apply enough_return| |]; intros L i j I J;
  [now apply laplace_agrees|now apply gaussian_agrees].
Qed.

Lemma enough_vector n l : drawable n -> enough_fuel (noisy_vector n l).
Proof.
intros D. induction l as [|a l IH]; [apply enough_return|]. cbn [noisy_vector].
apply enough_then; [apply enough_then; [now apply enough_draw|intros; apply enough_return]|]. intros v.
apply enough_then; auto. intros; apply enough_return.
Qed.

Lemma enough_parts parts : (forall n l, In (n, l) parts -> drawable n) -> enough_fuel (noisy_parts parts).
Proof.
induction parts as [|[n l] parts IH]; intros D; [apply enough_return|]. cbn [noisy_parts].
apply enough_then; [apply enough_vector, (D n l); now left|]. intros v. apply enough_then; [|intros; apply enough_return].
apply IH. intros m k H. apply (D m k). now right.
Qed.

Lemma laplace_drawable whole tasks n :
  (0 < whole)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> In n (concat (noises laplace_for whole tasks)) -> drawable n.
Proof.
intros W P H. rewrite noises_are in H. apply in_map_iff in H as ([m x] & <- & H).
destruct (is_moved m) eqn:M; [|unfold laplace_for; rewrite M; exact I].
destruct (scale_is m (whole * x)) as (t & s & -> & T & _); auto.
apply Qmult_lt_0_compat; auto. now apply (shares_are_positive tasks m).
Qed.

Theorem released_fuel_is_enough epsilon tasks v bytes fuel r :
  (0 < epsilon)%Q -> (forall t, In t tasks -> 0 < fst t)%Q
  -> run (released laplace_for epsilon tasks v fuel) bytes = Some r
  -> run (released laplace_for epsilon tasks v (S (S (length bytes)))) bytes = Some r.
Proof.
intros E W R. assert (F : enough_fuel (released laplace_for epsilon tasks v)).
{ apply enough_parts. intros n l H. apply in_combine_l in H. now apply (laplace_drawable epsilon tasks). }
rewrite (F (length bytes) _ (max fuel (S (S (length bytes))))) by lia.
apply (extended_run _ (released laplace_for epsilon tasks v fuel)); auto. apply grows_released. lia.
Qed.
