(** Privacy of programs, and that it composes: a ledger that never spends more than its budget keeps it, however the next
    question depends on the answers so far.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private.
Import ListNotations.
Open Scope R_scope.

(** A randomised computation: programs with more and more fuel. *)
Definition grows {A} (p : nat -> program A) := forall i j, (i <= j)%nat -> extended (p i) (p j).
Definition unit_weight {A} (w : A -> R) := forall a, 0 <= w a <= 1.
Definition tends {A} (p : nat -> program A) (w : A -> R) (v : R) := Un_cv (fun fuel => weigh (p fuel) w) v.

(** e^epsilon-close: for every weight of the results in [0, 1], so for every event. *)
Definition close {A} (epsilon : R) (p p' : nat -> program A) :=
  forall w v v', unit_weight w -> tends p w v -> tends p' w v' -> v <= exp epsilon * v'.

Definition then_ {A B} (p : nat -> program A) (f : A -> nat -> program B) : nat -> program B :=
  fun fuel => bind (p fuel) (fun a => f a fuel).

Lemma value A (p : nat -> program A) w : grows p -> unit_weight w -> { v | tends p w v }.
Proof.
intros G W. apply growing_cv.
- intros n. apply extended_weigh; [intros; apply W|]. apply G. lia.
- exists 1. intros x [n ->]. apply weigh_at_most; [lra|]. intros; apply W.
Qed.

Lemma below_value A (p : nat -> program A) w v fuel :
  grows p -> unit_weight w -> tends p w v -> weigh (p fuel) w <= v.
Proof.
intros G W T. apply (growing_ineq (fun fuel => weigh (p fuel) w)); auto. intros n.
apply extended_weigh; [intros; apply W|]. apply G. lia.
Qed.

Lemma value_range A (p : nat -> program A) w v : unit_weight w -> tends p w v -> 0 <= v <= 1.
Proof.
intros W T. split.
- apply (limits_le (fun _ => 0) (fun fuel => weigh (p fuel) w)); auto using tends_const.
  intros n. apply weigh_nonneg. intros; apply W.
- apply (limits_le (fun fuel => weigh (p fuel) w) (fun _ => 1)); auto using tends_const.
  intros n. apply weigh_at_most; [lra|]. intros; apply W.
Qed.

(** A program of finite fuel has finitely many results: limits of weights are limits. *)
Lemma weigh_tends A (p : program A) (g : nat -> A -> R) G :
  (forall a, Un_cv (fun k => g k a) (G a)) -> Un_cv (fun k => weigh p (g k)) (weigh p G).
Proof.
intros H. induction p as [a|next IH|]; cbn [weigh]; auto using tends_const. unfold byte_mean.
apply (CV_mult (fun k => total 256 _) (fun _ => / 256)); [|apply tends_const]. apply tends_total. auto.
Qed.

Lemma grows_then A B (p : nat -> program A) (f : A -> nat -> program B) :
  grows p -> (forall a, grows (f a)) -> grows (then_ p f).
Proof. intros P F i j H. apply extended_bind; [now apply P|]. intros a. now apply F. Qed.

Theorem close_then A B (p p' : nat -> program A) (f f' : A -> nat -> program B) e1 e2 :
  grows p -> grows p' -> (forall a, grows (f a)) -> (forall a, grows (f' a))
  -> close e1 p p' -> (forall a, close e2 (f a) (f' a)) -> close (e1 + e2) (then_ p f) (then_ p' f').
Proof.
intros P P' F F' C1 C2 w v v' W T T'.
set (V a := proj1_sig (value B (f a) w (F a) W)). set (V' a := proj1_sig (value B (f' a) w (F' a) W)).
assert (HV : forall a, tends (f a) w (V a)) by (intros; apply (proj2_sig (value B (f a) w (F a) W))).
assert (HV' : forall a, tends (f' a) w (V' a)) by (intros; apply (proj2_sig (value B (f' a) w (F' a) W))).
assert (UV' : unit_weight V') by (intros a; now apply (value_range B (f' a) w)).
destruct (value A p V' P UV') as [x X]. destruct (value A p' V' P' UV') as [x' X'].
assert (Up : v <= exp e2 * x).
{ apply (limits_le (fun fuel => weigh (then_ p f fuel) w) (fun fuel => exp e2 * weigh (p fuel) V')); auto.
  - intros fuel. unfold then_. rewrite weigh_bind, <- weigh_scal. apply weigh_le. intros a.
    apply Rle_trans with (V a); [now apply below_value|]. now apply (C2 a w).
  - now apply tends_scal. }
assert (Down : x' <= v').
{ apply (limits_le (fun fuel => weigh (p' fuel) V') (fun _ => v')); auto using tends_const. intros N.
  apply (limits_le (fun k => weigh (p' N) (fun a => weigh (f' a (k + N)%nat) w)) (fun _ => v')); auto using tends_const.
  - intros k. apply Rle_trans with (weigh (then_ p' f' (k + N)) w).
    + unfold then_. rewrite weigh_bind. apply extended_weigh; [|apply P'; lia]. intros a. apply weigh_nonneg.
      intros; apply W.
    + apply (below_value B (then_ p' f')); auto. now apply grows_then.
  - apply weigh_tends. intros a. apply (tends_later (fun fuel => weigh (f' a fuel) w)). apply HV'. }
assert (M := C1 V' x x' UV' X X'). rewrite exp_plus.
assert (0 < exp e1) by apply exp_pos. assert (0 < exp e2) by apply exp_pos.
apply Rle_trans with (1 := Up). rewrite (Rmult_comm (exp e1)), Rmult_assoc. apply Rmult_le_compat_l; [lra|].
apply Rle_trans with (1 := M). apply Rmult_le_compat_l; lra.
Qed.

Lemma close_return A (a : A) e : 0 <= e -> close e (fun _ => Return a) (fun _ => Return a).
Proof.
intros E w v v' W T T'. assert (v = w a) as -> by (apply (UL_sequence _ _ _ T), tends_const).
assert (v' = w a) as -> by (apply (UL_sequence _ _ _ T'), tends_const).
assert (1 <= exp e). { destruct E as [E|<-]; [rewrite <- exp_0; now apply Rlt_le, exp_increasing|rewrite exp_0; lra]. }
generalize (W a). nra.
Qed.

Lemma grows_return A (a : A) : grows (fun _ => Return a).
Proof. intros i j _. constructor. Qed.

(** Post-processing: any function of the result. *)
Theorem close_map A B (p p' : nat -> program A) (g : A -> B) e :
  grows p -> grows p' -> close e p p' -> close e (then_ p (fun a _ => Return (g a))) (then_ p' (fun a _ => Return (g a))).
Proof.
intros P P' C. rewrite <- (Rplus_0_r e). apply close_then; auto using grows_return.
intros; apply close_return. lra.
Qed.

Lemma close_more A (p p' : nat -> program A) e e' : e <= e' -> close e p p' -> close e' p p'.
Proof.
intros E C w v v' W T T'. apply Rle_trans with (1 := C w v v' W T T'). apply Rmult_le_compat_r.
- now apply (value_range A p' w).
- destruct E as [E|<-]; [now apply Rlt_le, exp_increasing|lra].
Qed.

(** * A number plus Laplace noise *)
Definition noisy_number (t s a : Z) : nat -> program Z :=
  fun fuel => bind (laplace fuel t s) (fun z => Return (a + z)%Z).

Lemma grows_noisy t s a : grows (noisy_number t s a).
Proof. intros i j H. apply extended_bind; [now apply laplace_extended|]. intros; constructor. Qed.

Theorem noisy_numbers_are_close t s a b e :
  (0 < t)%Z -> (0 < s)%Z -> IZR s * IZR (Z.abs (a - b)) <= e * IZR t
  -> close e (noisy_number t s a) (noisy_number t s b).
Proof.
intros T0 S0 E w v v' W T T'. unfold tends, noisy_number in T, T'.
assert (C : Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => w (a + z)%Z)) v)
  by (apply tends_ext with (2 := T); intros; rewrite weigh_bind; reflexivity).
assert (C' : Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => w (b + z)%Z)) v')
  by (apply tends_ext with (2 := T'); intros; rewrite weigh_bind; reflexivity).
apply (shifted_weights t s T0 S0 (Z.abs (a - b)) e E a b w); auto. lia.
Qed.

(** Several numbers, each with noise of its own: what counts is the L1 distance. *)
Fixpoint noisy_numbers (t s : Z) (l : list Z) : nat -> program (list Z) :=
  match l with
  | [] => fun _ => Return []
  | a :: l => then_ (noisy_number t s a) (fun v => then_ (noisy_numbers t s l) (fun r _ => Return (v :: r)))
  end.

Fixpoint L1 (l l' : list Z) : Z :=
  match l, l' with a :: l, b :: l' => (Z.abs (a - b) + L1 l l')%Z | _, _ => 0%Z end.

Lemma grows_noisy_numbers t s l : grows (noisy_numbers t s l).
Proof.
induction l as [|a l IH]; [apply grows_return|]. cbn [noisy_numbers]. apply grows_then; [apply grows_noisy|].
intros v. apply grows_then; auto using grows_return.
Qed.

Theorem noisy_vectors_are_close t s l l' :
  (0 < t)%Z -> (0 < s)%Z -> length l = length l'
  -> close (IZR s * IZR (L1 l l') / IZR t) (noisy_numbers t s l) (noisy_numbers t s l').
Proof.
intros T S. assert (T' : 0 < IZR t) by now apply IZR_lt. revert l'. induction l as [|a l IH]; intros [|b l'] H; try discriminate.
- cbn [noisy_numbers L1]. apply close_return. unfold Rdiv. rewrite Rmult_0_r, Rmult_0_l. lra.
- cbn [noisy_numbers L1]. rewrite plus_IZR.
  replace (IZR s * (IZR (Z.abs (a - b)) + IZR (L1 l l')) / IZR t)
    with (IZR s * IZR (Z.abs (a - b)) / IZR t + IZR s * IZR (L1 l l') / IZR t) by (field; lra).
  apply close_then; auto using grows_noisy.
  + intros v. apply grows_then; auto using grows_noisy_numbers, grows_return.
  + intros v. apply grows_then; auto using grows_noisy_numbers, grows_return.
  + apply noisy_numbers_are_close; auto. right. field. lra.
  + intros v. apply (close_map _ _ _ _ (cons v)); auto using grows_noisy_numbers.
Qed.

(** * The ledger *)
Section Ledger.
Variables (Data Answer : Type) (related : Data -> Data -> Prop).

Record mechanism := Mechanism { answers : Data -> nat -> program Answer; costs : Q }.

Definition keeps_its_promise (m : mechanism) :=
  (forall d, grows (answers m d))
  /\ forall d d', related d d' -> close (Q2R (costs m)) (answers m d) (answers m d').

(** The analyst sees all answers and chooses the next mechanism, or stops. A mechanism that costs more than is left is
    refused. *)
Variable analyst : list Answer -> option mechanism.
Hypothesis promises : forall history m, analyst history = Some m -> keeps_its_promise m.

Fixpoint session (rounds : nat) (left : Q) (history : list Answer) (d : Data) : nat -> program (list Answer) :=
  match rounds with
  | O => fun _ => Return history
  | S rounds =>
      match analyst history with
      | None => fun _ => Return history
      | Some m =>
          if Qle_bool (costs m) left then
            then_ (answers m d) (fun a => session rounds (left - costs m) (history ++ [a]) d)
          else fun _ => Return history
      end
  end.

Lemma grows_session rounds left history d : grows (session rounds left history d).
Proof.
revert left history. induction rounds as [|rounds IH]; intros left history; cbn [session]; [apply grows_return|].
destruct (analyst history) as [m|] eqn:E; [|apply grows_return]. destruct (Qle_bool _ _); [|apply grows_return].
apply grows_then; auto. apply (promises history m E).
Qed.

Theorem the_ledger_keeps_its_budget rounds budget history d d' :
  (0 <= budget)%Q -> related d d'
  -> close (Q2R budget) (session rounds budget history d) (session rounds budget history d').
Proof.
intros B R. revert budget history B. induction rounds as [|rounds IH]; intros left history B; cbn [session].
{ apply close_return. rewrite <- RMicromega.Q2R_0. now apply Qle_Rle. }
assert (L0 : 0 <= Q2R left) by (rewrite <- RMicromega.Q2R_0; now apply Qle_Rle).
destruct (analyst history) as [m|] eqn:E; [|now apply close_return].
destruct (Qle_bool (costs m) left) eqn:C; [|now apply close_return]. apply Qle_bool_iff in C.
destruct (promises history m E) as [G K].
replace (Q2R left) with (Q2R (costs m) + Q2R (left - costs m)) by (rewrite Q2R_minus; ring).
apply close_then; auto using grows_session. intros a. apply IH. apply Qle_minus_iff in C. exact C.
Qed.
End Ledger.
