(** Groups that nobody listed, found with the noise that the code draws from bytes (docs/theorems/groups.md): the sampler
    of discrete Laplace noise, again until it lies in [-k, k], for every group that somebody counts in. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Relations Conditions Claims Programs Samplers Coins Laplace Private Composition Theta Released Units.
From Soundsum Require Import GaussianReleases Deltas Selection.
Import ListNotations.
Open Scope R_scope.

(** * Means of programs *)
Lemma tends_then A B (p : nat -> program A) (f : A -> nat -> program B) w V v :
  grows p -> (forall a, grows (f a)) -> unit_weight w -> (forall a, tends (f a) w (V a)) -> tends p V v -> tends (then_ p f) w v.
Proof.
intros P F W HV X. destruct (value B (then_ p f) w (grows_then _ _ _ _ P F) W) as [y Y].
replace v with y; [exact Y|]. apply Rle_antisym.
- apply (limits_le (fun fuel => weigh (then_ p f fuel) w) (fun fuel => weigh (p fuel) V)); auto.
  intros fuel. unfold then_. rewrite weigh_bind. apply weigh_le. intros a. now apply below_value.
- apply (limits_le (fun fuel => weigh (p fuel) V) (fun _ => y)); auto using tends_const. intros N.
  apply (limits_le (fun n => weigh (p N) (fun a => weigh (f a (n + N)%nat) w)) (fun _ => y)); auto using tends_const.
  + intros n. apply Rle_trans with (weigh (then_ p f (n + N)) w).
    * unfold then_. rewrite weigh_bind. apply extended_weigh; [|apply P; lia]. intros a. apply weigh_nonneg. intros; apply W.
    * apply (below_value B (then_ p f)); auto using grows_then.
  + apply weigh_tends. intros a. apply (tends_later (fun fuel => weigh (f a fuel) w)). apply HV.
Qed.

Lemma tends_return A (a : A) w : tends (fun _ => Return a) w (w a).
Proof. exact (tends_const (w a)). Qed.

(** * Noise within reach *)
Section Noise.
Variables (t s : Z) (k : nat).
Hypothesis t_pos : (0 < t)%Z.
Hypothesis s_pos : (0 < s)%Z.
Let x := IZR s / IZR t.

Definition within_reach (z : Z) : option Z := if (Z.abs z <=? Z.of_nat k)%Z then Some z else None.

Definition truncated : nat -> program Z :=
  fun fuel => again fuel (bind (laplace fuel t s) (fun z => Return (within_reach z))).

Lemma x_positive : 0 < x.
Proof. apply Rmult_lt_0_compat; [now apply IZR_lt|]. now apply Rinv_0_lt_compat, IZR_lt. Qed.

Lemma grows_truncated : grows truncated.
Proof.
intros i j H. apply again_extended; auto. apply extended_bind; [now apply laplace_extended|]. intros; constructor.
Qed.

(** What lies within reach, among finitely many results. *)
Lemma weigh_within (p : program Z) (w : Z -> R) :
  weigh p (fun z => found w (within_reach z)) = window k (fun z => w z * weigh p (is z)).
Proof.
rewrite (window_ext k _ (fun z => weigh p (fun a => w z * is z a))) by (intros; symmetry; apply weigh_scal).
rewrite <- (weigh_window _ p k (fun z a => w z * is z a)). apply weigh_ext. intros a. unfold within_reach.
destruct (Z.leb_spec (Z.abs a) (Z.of_nat k)) as [h|h]; cbn [found].
- rewrite (window_single k a); auto.
  + unfold passes. rewrite Z.eqb_refl. ring.
  + intros z Ne. unfold passes. destruct (Z.eqb_spec z a); [contradiction|ring].
- unfold window. rewrite total_zero; [reflexivity|]. intros i I. unfold passes.
  destruct (Z.eqb_spec (Z.of_nat i - Z.of_nat k) a); [lia|ring].
Qed.

Lemma within_tends w :
  Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => found w (within_reach z))) (window k (fun z => w z * laplace_mass t s z)).
Proof.
apply tends_ext with (fun fuel => window k (fun z => w z * weigh (laplace fuel t s) (is z))).
{ intros fuel. symmetry. apply weigh_within. }
apply (tends_total _ (fun fuel i => w (Z.of_nat i - Z.of_nat k)%Z * weigh (laplace fuel t s) (is (Z.of_nat i - Z.of_nat k)%Z))
  (fun i => w (Z.of_nat i - Z.of_nat k)%Z * laplace_mass t s (Z.of_nat i - Z.of_nat k)%Z)).
intros i _. apply tends_scal. now apply laplace_tends.
Qed.

(** The sampler always ends, so only draws beyond reach are lost. *)
Lemma everything_tends : Un_cv (fun fuel => weigh (laplace fuel t s) (fun _ => 1)) 1.
Proof.
destruct (bounded_tends t s (fun _ => 1) ltac:(intros; lra)) as [p C]. enough (E : p = 1) by now rewrite E in C.
assert (P := event_tends t s 0 (fun _ => true) p C). apply (UL_sequence _ _ _ P).
apply tends_ext with (2 := it_ends t s t_pos s_pos). intros n. unfold share. do 2 f_equal. apply filter_length_ext.
intros bytes _. unfold noisy. destruct (sample t s bytes) as [[z l]|]; auto.
Qed.

Lemma beyond_tends :
  Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => lost (within_reach z))) (1 - window k (laplace_mass t s)).
Proof.
apply tends_ext with (fun fuel => weigh (laplace fuel t s) (fun _ => 1)
  - weigh (laplace fuel t s) (fun z => found (fun _ => 1) (within_reach z))).
{ intros fuel. apply Rminus_diag_uniq. rewrite (weigh_ext _ _ (fun _ => 1)
    (fun z => found (fun _ => 1) (within_reach z) + lost (within_reach z))).
  - rewrite weigh_plus. ring.
  - intros z. destruct (within_reach z); cbn [found lost]; ring. }
apply (CV_minus (fun fuel => weigh (laplace fuel t s) (fun _ => 1))); [apply everything_tends|].
rewrite (window_ext k _ (fun z => 1 * laplace_mass t s z)) by (intros; ring). apply within_tends.
Qed.

Lemma mass_is_a_slope : exists c, 0 < c /\ forall z, laplace_mass t s z = c * slope x z.
Proof.
unfold laplace_mass, slope. fold x. exists ((1 - exp (- x)) / (1 + exp (- x))). split; [|reflexivity].
assert (exp (- x) < 1) by (rewrite <- exp_0; apply exp_increasing; generalize x_positive; lra).
assert (0 < exp (- x)) by apply exp_pos. apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra].
Qed.

(** The law of the noise that is drawn: that of Selection.v. *)
Theorem truncated_noise_is_exact w : unit_weight w -> tends truncated w (lsum (fun z => kept x k z * w z) (interval k)).
Proof.
intros W. destruct mass_is_a_slope as (c & C & M). set (part := window k (laplace_mass t s)).
assert (Part : part = c * lsum (slope x) (interval k)).
{ unfold part. rewrite (window_ext k _ (fun z => c * slope x z)) by apply M. now rewrite window_scal, lsum_interval. }
assert (Pos : 0 < part) by (rewrite Part; apply Rmult_lt_0_compat; [exact C|apply slopes_pos]).
replace (lsum _ _) with (window k (fun z => w z * laplace_mass t s z) / (1 - (1 - part))).
- apply (again_law _ (fun fuel => bind (laplace fuel t s) (fun z => Return (within_reach z)))).
  + exact W.
  + lra.
  + apply tends_ext with (2 := within_tends w). intros fuel. rewrite weigh_bind. reflexivity.
  + apply tends_ext with (2 := beyond_tends). intros fuel. rewrite weigh_bind. reflexivity.
- rewrite <- lsum_interval. replace (1 - (1 - part)) with part by ring. unfold Rdiv. rewrite Rmult_comm, <- lsum_scal.
  apply lsum_ext. intros z _. rewrite M, Part. unfold kept. generalize (slopes_pos x k). intros. field. split; lra.
Qed.

(** * Every group *)
(** What the code does for a group of n: nothing where that is 0. *)
Definition find_group (n : nat) : nat -> program (option Z) :=
  match n with O => fun _ => Return None | S _ => then_ truncated (fun z _ => Return (seen k n z)) end.

Fixpoint find_groups (counts : list nat) : nat -> program (list (option Z)) :=
  match counts with
  | [] => fun _ => Return []
  | n :: counts => then_ (find_group n) (fun o => then_ (find_groups counts) (fun rest _ => Return (o :: rest)))
  end.

Lemma grows_group n : grows (find_group n).
Proof. destruct n; [apply grows_return|]. apply grows_then; [apply grows_truncated|]. intros; apply grows_return. Qed.

Lemma grows_groups counts : grows (find_groups counts).
Proof.
induction counts as [|n counts IH]; [apply grows_return|]. cbn [find_groups]. apply grows_then; [apply grows_group|].
intros o. apply grows_then; auto using grows_return.
Qed.

Lemma group_tends n w : unit_weight w -> tends (find_group n) w (one_group x k n w).
Proof.
intros W. destruct n as [|n]; [apply tends_return|]. cbn [find_group one_group].
apply (tends_then _ _ truncated _ w (fun z => w (seen k (S n) z))); auto using grows_truncated, grows_return.
- intros z. apply tends_return.
- apply truncated_noise_is_exact. intros z. apply W.
Qed.

Theorem the_search_is_exact counts w : unit_weight w -> tends (find_groups counts) w (search x k counts w).
Proof.
revert w. induction counts as [|n counts IH]; intros w W; [apply tends_return|]. cbn [find_groups search].
assert (V : forall o, unit_weight (fun rest => w (o :: rest))) by (intros o rest; apply W).
apply (tends_then _ _ _ _ w (fun o => search x k counts (fun rest => w (o :: rest)))); auto using grows_group.
- intros o. apply grows_then; auto using grows_groups, grows_return.
- intros o. apply (tends_then _ _ _ _ w (fun rest => w (o :: rest))); auto using grows_groups, grows_return.
  intros rest. apply tends_return.
- apply group_tends. intros o. now apply (value_range _ (find_groups counts) (fun rest => w (o :: rest))), IH.
Qed.

(** Of any two tables that Selection.v has as near. *)
Theorem near_is_nearly_close epsilon delta l l' :
  near epsilon delta (search x k l) (search x k l') -> nearly_close epsilon delta (find_groups l) (find_groups l').
Proof.
intros N w v v' W T T'. rewrite (UL_sequence _ _ _ T (the_search_is_exact l w W)), (UL_sequence _ _ _ T' (the_search_is_exact l' w W)).
apply near_bounds_events; auto using linear_search, search_is_a_law.
Qed.

(** * Tables *)
Section Tables.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (groups_of : X -> list G) (every : list G).
Hypothesis every_once : NoDup every.

Notation found table := (find_groups (counts X G same groups_of every table)).

(** Adding or removing a person, who counts in at most g groups: the scale t / s is g / epsilon. *)
Lemma finding_groups_is_nearly_close g epsilon table table' :
  (forall a, (length (groups_of a) <= g)%nat) -> symmetric table table' -> INR g * IZR s <= epsilon * IZR t
  -> nearly_close epsilon (1 - (1 - edge x k) ^ g) (found table) (found table').
Proof.
intros Few H E. apply near_is_nearly_close. apply near_more with (INR g * x) (1 - (1 - edge x k) ^ g); auto using linear_search; try lra.
- assert (T : 0 < IZR t) by now apply IZR_lt. apply Rmult_le_reg_r with (IZR t); auto. unfold x.
  replace (INR g * (IZR s / IZR t) * IZR t) with (INR g * IZR s) by (field; lra). exact E.
- apply finding_groups_is_near; auto using x_positive.
Qed.

(** Changing a record: the scale is 2 / epsilon. *)
Lemma finding_groups_of_changed_records_is_nearly_close epsilon table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table' -> 2 * IZR s <= epsilon * IZR t
  -> nearly_close epsilon (1 - (1 - edge x k) ^ 2) (found table) (found table').
Proof.
intros Few H E. apply near_is_nearly_close. apply near_more with (2 * x) (1 - (1 - edge x k) ^ 2); auto using linear_search; try lra.
- assert (T : 0 < IZR t) by now apply IZR_lt. apply Rmult_le_reg_r with (IZR t); auto. unfold x.
  replace (2 * (IZR s / IZR t) * IZR t) with (2 * IZR s) by (field; lra). exact E.
- apply finding_groups_of_changed_records_is_near; auto using x_positive.
Qed.

(** For every event, counted over all lists of bytes. *)
Theorem finding_groups_is_private g epsilon table table' :
  (forall a, (length (groups_of a) <= g)%nat) -> symmetric table table' -> INR g * IZR s <= epsilon * IZR t
  -> nearly_private epsilon (1 - (1 - edge x k) ^ g) (found table) (found table').
Proof. intros. apply nearly_close_is_private; auto using grows_groups. now apply finding_groups_is_nearly_close. Qed.

Theorem finding_groups_of_changed_records_is_private epsilon table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table' -> 2 * IZR s <= epsilon * IZR t
  -> nearly_private epsilon (1 - (1 - edge x k) ^ 2) (found table) (found table').
Proof. intros. apply nearly_close_is_private; auto using grows_groups. now apply finding_groups_of_changed_records_is_nearly_close. Qed.

(** Then statistics over the groups that were found, which are private for every public list of groups; under any relation. *)
Theorem statistics_over_found_groups_are_private A r limit g epsilon e2 d2 (f f' : list (option Z) -> nat -> program A) table table' :
  let moved := if is_sized r then 2%nat else g in
  (forall a, (length (groups_of a) <= if is_sized r then 1 else g)%nat) -> neighbours r limit table table'
  -> INR moved * IZR s <= epsilon * IZR t
  -> (forall seen, grows (f seen)) -> (forall seen, grows (f' seen)) -> 0 <= d2
  -> (forall seen, nearly_close e2 d2 (f seen) (f' seen))
  -> nearly_private (epsilon + e2) (1 - (1 - edge x k) ^ moved + d2) (then_ (found table) f) (then_ (found table') f').
Proof.
intros moved Few N E K K' D2 C. apply nearly_close_is_private; auto using grows_then, grows_groups.
apply nearly_close_then; auto using grows_groups. apply neighbours_unordered in N. unfold moved in *. destruct (is_sized r).
- apply finding_groups_of_changed_records_is_nearly_close; auto.
- now apply finding_groups_is_nearly_close.
Qed.
End Tables.
End Noise.

(** The chance of the end is the number that the code computes: a^k (1 - a) / (1 + a - 2 a^(k + 1)), a = exp(-x). *)
Theorem the_edge_is x k :
  0 < x -> let a := exp (- x) in edge x k = a ^ k * (1 - a) / (1 + a - 2 * a ^ S k).
Proof.
intros X a. assert (A : 0 < a < 1).
{ unfold a. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra. }
assert (V : forall n, slope x (Z.of_nat n) = a ^ n /\ slope x (- Z.of_nat n) = a ^ n).
{ intros n. unfold slope, a. rewrite Z.abs_opp, Z.abs_eq by lia. rewrite <- INR_IZR_INZ.
  assert (P : exp (- x * INR n) = exp (- x) ^ n) by (rewrite exp_powers; f_equal; ring). rewrite P. split; reflexivity. }
assert (Sum : (1 - a) * lsum (slope x) (interval k) = 1 + a - 2 * a ^ S k).
{ rewrite lsum_interval. unfold window. replace (S (2 * k)) with (k + S k)%nat by lia. rewrite total_split.
  assert (Up : total (S k) (fun i => slope x (Z.of_nat (k + i) - Z.of_nat k)) = total (S k) (fun i => a ^ i)).
  { apply total_ext. intros i _. rewrite <- (proj1 (V i)). f_equal. lia. }
  assert (Down : (1 - a) * total k (fun i => slope x (Z.of_nat i - Z.of_nat k)) = a - a ^ S k).
  { clear Up. assert (E : forall m, (m <= k)%nat
      -> (1 - a) * total m (fun i => slope x (Z.of_nat i - Z.of_nat k)) = a ^ S (k - m) - a ^ S k).
    { induction m as [|m IH]; intros H; [rewrite Nat.sub_0_r; simpl; ring|].
      rewrite total_S, Rmult_plus_distr_l, IH by lia.
      replace (Z.of_nat m - Z.of_nat k)%Z with (- Z.of_nat (k - m))%Z by lia. rewrite (proj2 (V (k - m)%nat)).
      replace (S (k - S m)) with (k - m)%nat by lia. cbn [pow]. ring. }
    rewrite E, Nat.sub_diag by lia. simpl. ring. }
  rewrite Rmult_plus_distr_l, Down, Up, total_geometric. cbn [pow]. ring. }
unfold edge, kept. rewrite (proj1 (V k)). rewrite <- Sum. generalize (slopes_pos x k). intros. field. split; lra.
Qed.
