(** Quantiles (docs/theorems/quantiles.md): how far one record, or a person with s rows, moves the errors of candidates, and
    that the choice by permute-and-flip then keeps epsilon.

    Values and candidates are compared only, so they are integers here, as their order has them. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Bool.
From Soundsum Require Import Relations Sums Selection PermuteAndFlip.
Import ListNotations.
Open Scope Z_scope.

(** How many values are below a candidate, and how many not above it. *)
Definition below (c : Z) (values : list Z) : Z := sumZ (map (fun x => Z.b2z (x <? c)) values).
Definition at_most (c : Z) (values : list Z) : Z := sumZ (map (fun x => Z.b2z (x <=? c)) values).
Definition number (values : list Z) : Z := Z.of_nat (length values).

(** The error of a candidate for the quantile p/q, in q-ths of a rank. *)
Definition rank_error (p q : Z) (values : list Z) (c : Z) : Z :=
  Z.max 0 (Z.max (q * below c values - p * number values) (p * number values - q * at_most c values)).

Definition rank_errors (p q : Z) (candidates values : list Z) : list Z := map (rank_error p q values) candidates.

(** The largest change of an error by one value more. *)
Definition most (p q : Z) : Z := Z.max p (q - p).

Section Errors.
Variables p q : Z.
Hypothesis quantile : 0 <= p <= q.
Hypothesis q_pos : 0 < q.

Lemma counts_cons c x values :
  below c (x :: values) = Z.b2z (x <? c) + below c values /\ at_most c (x :: values) = Z.b2z (x <=? c) + at_most c values
  /\ number (x :: values) = 1 + number values.
Proof. unfold number. cbn [length]. rewrite Nat2Z.inj_succ. repeat split; try reflexivity. lia. Qed.

Lemma counts_range c values : 0 <= below c values <= at_most c values /\ at_most c values <= number values.
Proof.
induction values as [|x values IH]; [cbn; lia|]. destruct (counts_cons c x values) as (-> & -> & ->).
destruct (Z.ltb_spec x c), (Z.leb_spec x c); cbn [Z.b2z]; lia.
Qed.

Lemma error_perm values values' c : Permutation values values' -> rank_error p q values c = rank_error p q values' c.
Proof.
intros P. unfold rank_error, below, at_most, number. rewrite (Permutation_length P).
now rewrite (sumZ_perm _ _ (Permutation_map (fun x => Z.b2z (x <? c)) P)), (sumZ_perm _ _ (Permutation_map (fun x => Z.b2z (x <=? c)) P)).
Qed.

Theorem one_value_more x values c : Z.abs (rank_error p q (x :: values) c - rank_error p q values c) <= most p q.
Proof.
unfold rank_error, most. destruct (counts_cons c x values) as (-> & -> & ->).
destruct (Z.ltb_spec x c), (Z.leb_spec x c); cbn [Z.b2z]; lia.
Qed.

Theorem some_values_more rows values c :
  Z.abs (rank_error p q (rows ++ values) c - rank_error p q values c) <= number rows * most p q.
Proof.
induction rows as [|x rows IH]; [cbn [app]; unfold number; cbn; lia|]. cbn [app]. generalize (one_value_more x (rows ++ values) c).
unfold number in *. cbn [length]. rewrite Nat2Z.inj_succ. lia.
Qed.

Theorem one_value_changed x y values c : Z.abs (rank_error p q (y :: values) c - rank_error p q (x :: values) c) <= q.
Proof.
unfold rank_error. destruct (counts_cons c x values) as (-> & -> & ->), (counts_cons c y values) as (-> & -> & ->).
destruct (Z.ltb_spec x c), (Z.leb_spec x c), (Z.ltb_spec y c), (Z.leb_spec y c); cbn [Z.b2z]; lia.
Qed.

(** For the quantiles 0 and 1 all changes have one sign. *)
Theorem at_the_ends_of_one_sign x values c :
  p = 0 \/ p = q -> 0 <= rank_error p q (x :: values) c - rank_error p q values c <= q.
Proof.
intros E. unfold rank_error. generalize (counts_range c values). destruct (counts_cons c x values) as (-> & -> & ->).
destruct E as [-> | ->], (Z.ltb_spec x c), (Z.leb_spec x c); cbn [Z.b2z]; nia.
Qed.

Theorem changed_at_the_ends x y values :
  p = 0 \/ p = q -> exists low, forall c, low <= rank_error p q (y :: values) c - rank_error p q (x :: values) c <= low + q.
Proof.
intros E. exists (if xorb (p =? 0) (y <=? x) then - q else 0). intros c. unfold rank_error. generalize (counts_range c values).
destruct (counts_cons c x values) as (-> & -> & ->), (counts_cons c y values) as (-> & -> & ->).
destruct E as [-> | ->]; [rewrite Z.eqb_refl|destruct (Z.eqb_spec q 0); [lia|]]; destruct (Z.leb_spec y x); cbn [xorb];
  destruct (Z.ltb_spec x c), (Z.leb_spec x c), (Z.ltb_spec y c), (Z.leb_spec y c); cbn [Z.b2z]; nia.
Qed.

(** * Choices *)
Open Scope R_scope.
Variables (r epsilon : R) (candidates : list Z).
Hypothesis r_pos : 0 < r.

(** Every candidate's chance, from the values. *)
Definition quantile_law (values : list Z) : list R := choice_law r (rank_errors p q candidates values).

Definition no_likelier (epsilon : R) := Forall2 (fun x y => x <= exp epsilon * y).

Lemma errors_within low R values values' :
  (forall c, low <= rank_error p q values' c - rank_error p q values c <= low + R)%Z
  -> no_likelier (r * IZR R) (quantile_law values) (quantile_law values').
Proof.
intros H. apply every_choice_is_private with low; auto. unfold rank_errors. induction candidates as [|c l IH]; constructor; auto.
Qed.

Lemma no_likelier_more e e' l l' : Forall (fun y => 0 <= y) l' -> e <= e' -> no_likelier e l l' -> no_likelier e' l l'.
Proof.
intros N E H. revert N. induction H as [|x y l l' H _ IH]; intros N; constructor; apply Forall_cons_iff in N as [Y N]; auto.
- apply Rle_trans with (1 := H). apply Rmult_le_compat_r; auto. now apply exp_grows.
- apply IH, N.
Qed.

Lemma quantile_law_perm values values' : Permutation values values' -> quantile_law values = quantile_law values'.
Proof.
intros P. unfold quantile_law, rank_errors. f_equal. apply map_ext. intros c. now apply error_perm.
Qed.

Lemma nothing_less_likely values values' :
  0 <= epsilon -> Permutation values values' -> no_likelier epsilon (quantile_law values) (quantile_law values').
Proof.
intros E P. rewrite (quantile_law_perm _ _ P). apply no_likelier_more with (r * IZR 0); [apply choices_are_chances; exact r_pos|lra|].
apply errors_within with 0%Z. intros c. lia.
Qed.

Lemma within_a_range low R values values' :
  r * IZR R <= epsilon -> (forall c, low <= rank_error p q values' c - rank_error p q values c <= low + R)%Z
  -> no_likelier epsilon (quantile_law values) (quantile_law values')
     /\ no_likelier epsilon (quantile_law values') (quantile_law values).
Proof.
intros E H. split; (apply no_likelier_more with (r * IZR R); [apply choices_are_chances; exact r_pos|exact E|]).
- now apply errors_within with low.
- apply errors_within with (- (low + R))%Z. intros c. generalize (H c). lia.
Qed.

Lemma most_range : (0 <= most p q <= q)%Z.
Proof. unfold most. lia. Qed.

(** A person with at most s rows comes or goes: the rate is epsilon / (2 s M). For a record, s is 1. *)
Theorem quantiles_of_persons_are_private s rows values :
  (number rows <= s)%Z -> r * (2 * IZR s * IZR (most p q)) <= epsilon
  -> no_likelier epsilon (quantile_law values) (quantile_law (rows ++ values))
     /\ no_likelier epsilon (quantile_law (rows ++ values)) (quantile_law values).
Proof.
intros S E. apply within_a_range with (- (s * most p q))%Z (2 * s * most p q)%Z; [now rewrite !mult_IZR|].
intros c. generalize (some_values_more rows values c) most_range. intros. nia.
Qed.

Theorem quantiles_are_private values values' :
  r * (2 * IZR (most p q)) <= epsilon -> symmetric values values' -> no_likelier epsilon (quantile_law values) (quantile_law values').
Proof.
intros E H. assert (M : 0 <= IZR (most p q)) by apply (IZR_le 0), most_range.
assert (A : forall z u, no_likelier epsilon (quantile_law u) (quantile_law (z :: u))
  /\ no_likelier epsilon (quantile_law (z :: u)) (quantile_law u)).
{ intros z u. apply (quantiles_of_persons_are_private 1 [z] u); [reflexivity|]. lra. }
apply symmetric_cases in H as [P|(z & [P|P])].
- apply nothing_less_likely; auto. apply Rle_trans with (2 := E). apply Rmult_le_pos; lra.
- rewrite (quantile_law_perm _ _ P). apply A.
- rewrite (quantile_law_perm _ _ P). apply A.
Qed.

(** A record changes its value: the rate is epsilon / (2 q). *)
Theorem quantiles_of_changed_records_are_private values values' :
  r * (2 * IZR q) <= epsilon -> change_one values values' -> no_likelier epsilon (quantile_law values) (quantile_law values').
Proof.
intros E H. assert (Q : 0 < IZR q) by now apply IZR_lt.
apply change_one_cases in H as [P|(x & y & rest & P & P')].
- apply nothing_less_likely; auto. apply Rle_trans with (2 := E). apply Rmult_le_pos; lra.
- rewrite (quantile_law_perm _ _ P), (quantile_law_perm _ _ P'). apply within_a_range with (- q)%Z (2 * q)%Z.
  + now rewrite mult_IZR.
  + intros c. generalize (one_value_changed x y rest c). lia.
Qed.

(** For the quantiles 0 and 1 half the range is enough: the rates are twice as large. *)
Theorem quantiles_at_the_ends_are_private values values' :
  p = 0%Z \/ p = q -> r * IZR q <= epsilon -> symmetric values values' \/ change_one values values'
  -> no_likelier epsilon (quantile_law values) (quantile_law values').
Proof.
intros Ends E H. assert (Q : 0 < IZR q) by now apply IZR_lt.
assert (E0 : 0 <= epsilon) by (apply Rle_trans with (2 := E), Rmult_le_pos; lra).
assert (A : forall z u, no_likelier epsilon (quantile_law u) (quantile_law (z :: u))
  /\ no_likelier epsilon (quantile_law (z :: u)) (quantile_law u)).
{ intros z u. apply within_a_range with 0%Z q; auto. intros c. now apply at_the_ends_of_one_sign. }
destruct H as [H|H].
- apply symmetric_cases in H as [P|(z & [P|P])]; [now apply nothing_less_likely| |];
    rewrite (quantile_law_perm _ _ P); apply A.
- apply change_one_cases in H as [P|(x & y & rest & P & P')]; [now apply nothing_less_likely|].
  rewrite (quantile_law_perm _ _ P), (quantile_law_perm _ _ P'). destruct (changed_at_the_ends x y rest Ends) as [low L].
  apply (within_a_range low q (x :: rest) (y :: rest) E L).
Qed.
End Errors.

Open Scope R_scope.

(** Groups are chosen for apart from each other: chances multiply, and what each may lose adds up. A record that moves from
    one group to another is one value less and one more. *)
Theorem groups_add_up (losses : list R) (chances chances' : list R) :
  Forall (fun y => 0 <= y) chances -> Forall (fun y => 0 <= y) chances'
  -> Forall2 (fun e p => fst p <= exp e * snd p) losses (combine chances chances')
  -> length chances = length losses -> length chances' = length losses
  -> fold_right Rmult 1 chances <= exp (sum losses) * fold_right Rmult 1 chances'.
Proof.
revert chances chances'. induction losses as [|e losses IH]; intros [|x chances] [|y chances'] X Y H L L'; try discriminate.
- cbn. rewrite exp_0. lra.
- cbn [combine] in H. apply Forall_cons_iff in X as [X0 X], Y as [Y0 Y]. inversion_clear H as [|? ? ? ? H1 H2].
  cbn [fst snd] in H1. cbn [fold_right]. unfold sum. cbn [fold_right]. fold (sum losses). rewrite exp_plus.
  assert (R := IH chances chances' X Y H2 ltac:(cbn in L; lia) ltac:(cbn in L'; lia)).
  assert (N : 0 <= fold_right Rmult 1 chances).
  { clear - X. induction X; cbn; [lra|]. now apply Rmult_le_pos. }
  replace (exp e * exp (sum losses) * (y * fold_right Rmult 1 chances'))
    with (exp e * y * (exp (sum losses) * fold_right Rmult 1 chances')) by ring.
  now apply Rmult_le_compat.
Qed.
