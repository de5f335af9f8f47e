(** Groups that nobody listed, found with Gaussian noise (docs/theorems/groups.md): every group that somebody counts in gets
    noise Z, and is named where its noisy number of persons reaches a threshold. A person counts in at most g groups. If
    vectors of so many numbers are (epsilon, delta')-close with this noise, the tables with and without a person are
    (epsilon, 1 - (1 - delta') (1 - t)^g)-close, where t = P(1 + Z >= threshold). *)

From Coq Require Import List Permutation ZArith QArith Qreals Reals Lra Lia Bool Arith.
From Soundsum Require Import Relations Conditions Claims Programs Samplers Coins Laplace Private Composition Gaussian Theta Zcdp.
From Soundsum Require Import Shares Released Renyi Units GaussianReleases Deltas Selection.
Import ListNotations.
Open Scope R_scope.

(** `GroupPlan.select`: noise for the groups that are there, in order; what is seen of every group. *)
Definition there (counts : list nat) : list Z := map Z.of_nat (filter (fun n => negb (n =? 0)%nat) counts).

Definition shown (threshold v : Z) : option Z := if (threshold <=? v)%Z then Some v else None.

Fixpoint named (threshold : Z) (counts : list nat) (noisy : list Z) : list (option Z) :=
  match counts with
  | [] => []
  | O :: counts => None :: named threshold counts noisy
  | S _ :: counts =>
      match noisy with
      | v :: noisy => shown threshold v :: named threshold counts noisy
      | [] => None :: named threshold counts []
      end
  end.

Definition find_groups_with (n : noise) (threshold : Z) (counts : list nat) : nat -> program (list (option Z)) :=
  then_read (noisy_vector n (there counts)) (named threshold counts).

Lemma grows_find n threshold counts : grows (find_groups_with n threshold counts).
Proof. apply grows_read, grows_vector. Qed.

Section Noise.
Variables (s2 : Q) (threshold : Z).
Hypothesis s2_pos : (0 < Qnum s2)%Z.
Notation noise := (GaussianNoise s2).
Notation find := (find_groups_with noise threshold).

(** The chance that a group of one person is named. *)
Definition alone : R := at_least s2 (threshold - 1).

(** The sampler always ends. *)
Lemma draws_tend : tends (draw noise) (fun _ => 1) 1.
Proof.
assert (W : unit_weight (fun _ : Z => 1)) by (intros z; lra).
destruct (value Z (draw noise) _ (grows_draw _) W) as [v T]. enough (E : v = 1) by now rewrite E in T.
assert (V := value_range Z (draw noise) _ v W T). apply Rle_antisym; [apply V|].
set (c := Zcdp.c (Qnum s2) (Zpos (Qden s2))). assert (C : 0 < c) by now apply c_pos. assert (T0 := theta_pos c 0 C).
assert (L : law Z.eq_dec (draw noise) (chance s2)).
{ intros z. apply tends_ext with (2 := the_gaussian_is_exact (Qnum s2) (Zpos (Qden s2)) s2_pos eq_refl z). intros n.
  cbn [draw]. apply weigh_ext. intros y. unfold passes, one_is. destruct (Z.eq_dec z y) as [->|E]; [now rewrite Z.eqb_refl|].
  destruct (Z.eqb_spec z y); [contradiction|reflexivity]. }
assert (B : theta c 0 <= v * theta c 0); [|nra].
apply theta_least; auto. intros l N.
assert (S := law_sums_below Z.eq_dec (draw noise) _ (fun _ => 1) v l (grows_draw _) L W T N).
rewrite (lsum_ext _ _ (fun z => / theta c 0 * g c 0 z)) in S by (intros; unfold gaussian_mass; fold c; field; lra).
rewrite lsum_scal in S. apply Rmult_le_compat_r with (r := theta c 0) in S; [|lra].
replace (/ theta c 0 * lsum (g c 0) l * theta c 0) with (lsum (g c 0) l) in S by (field; lra). exact S.
Qed.

Notation under := (passes (fun z => negb (threshold - 1 <=? z)%Z)).

Lemma below_tends : tends (draw noise) under (1 - alone).
Proof.
apply tends_ext with (fun n => weigh (draw noise n) (fun _ => 1) - weigh (draw noise n) (passes (Z.leb (threshold - 1)))).
- intros n. rewrite (weigh_ext _ _ (fun _ => 1) (fun z => under z + passes (Z.leb (threshold - 1)) z)).
  + rewrite weigh_plus. ring.
  + intros z. unfold passes. destruct (threshold - 1 <=? z)%Z; cbn [negb]; ring.
- apply CV_minus; [apply draws_tend|now apply the_sampler_draws_at_least].
Qed.

Lemma alone_range : 0 <= alone <= 1.
Proof.
apply (value_range Z (draw noise) (passes (Z.leb (threshold - 1)))); [intros z; apply passes_range|].
now apply the_sampler_draws_at_least.
Qed.

(** One group after another. *)
Lemma find_nobody l w fuel : weigh (find (0%nat :: l) fuel) w = weigh (find l fuel) (fun r => w (None :: r)).
Proof. unfold find_groups_with, then_read, then_. rewrite !weigh_bind. reflexivity. Qed.

Lemma find_somebody n l w fuel :
  weigh (find (S n :: l) fuel) w
  = weigh (draw noise fuel) (fun z => weigh (find l fuel) (fun r => w (shown threshold (Z.of_nat (S n) + z) :: r))).
Proof.
unfold find_groups_with, then_read, then_, there. cbn [filter negb Nat.eqb map noisy_vector]. rewrite weigh_bind.
unfold then_, add_noise, then_. rewrite !weigh_bind. apply weigh_ext. intros z. cbn [weigh]. rewrite !weigh_bind.
apply weigh_ext. intros r. reflexivity.
Qed.

Lemma everything_is_found l : tends (find l) (fun _ => 1) 1.
Proof.
induction l as [|[|n] l IH].
- exact (tends_const 1).
- apply tends_ext with (2 := IH). intros fuel. now rewrite find_nobody.
- enough (E : forall y, y = 1 * 1 -> tends (find (S n :: l)) (fun _ => 1) y) by (apply E; ring). intros y ->.
  apply tends_ext with (fun fuel => weigh (find l fuel) (fun _ => 1) * weigh (draw noise fuel) (fun _ => 1)).
  + intros fuel. rewrite find_somebody, <- weigh_scal. apply weigh_ext. intros z. apply Rmult_1_r.
  + apply (CV_mult (fun fuel => weigh (find l fuel) (fun _ => 1))); [exact IH|exact draws_tend].
Qed.

(** Without some groups of one person, of which there are m. *)
Inductive without : nat -> list nat -> list nat -> Prop :=
| without_none : without 0 [] []
| without_same m n l l0 : without m l l0 -> without m (n :: l) (n :: l0)
| without_one m l l0 : without m l l0 -> without (S m) (1%nat :: l) (0%nat :: l0).

Lemma found_at_least m l l0 w fuel :
  without m l l0 -> (forall a, 0 <= w a) -> weigh (draw noise fuel) under ^ m * weigh (find l0 fuel) w <= weigh (find l fuel) w.
Proof.
intros H. set (b := weigh (draw noise fuel) under). assert (B : 0 <= b) by apply weigh_passes_range.
revert w. induction H as [|m [|n] l l0 H IH|m l l0 H IH]; intros w W.
- simpl. lra.
- rewrite !find_nobody. now apply IH.
- rewrite !find_somebody, <- weigh_scal. apply weigh_le. intros z. now apply IH.
- rewrite find_nobody, find_somebody. cbn [pow]. set (x := weigh (find l fuel) (fun r => w (None :: r))).
  assert (X : b ^ m * weigh (find l0 fuel) (fun r => w (None :: r)) <= x) by now apply IH.
  apply Rle_trans with (x * b).
  + rewrite Rmult_assoc, (Rmult_comm x). now apply Rmult_le_compat_l.
  + unfold b. rewrite <- weigh_scal. apply weigh_le. intros z.
    assert (P : forall o, 0 <= weigh (find l fuel) (fun r => w (o :: r))) by (intros; apply weigh_nonneg; auto).
    unfold passes. destruct (Z.leb_spec (threshold - 1) z) as [L|L]; cbn [negb]; [rewrite Rmult_0_r; apply P|].
    rewrite Rmult_1_r. unfold shown. destruct (Z.leb_spec threshold (Z.of_nat 1 + z)); [lia|]. apply Rle_refl.
Qed.

Lemma pow_tends (a : nat -> R) l m : Un_cv a l -> Un_cv (fun n => a n ^ m) (l ^ m).
Proof. intros H. induction m as [|m IH]; [exact (tends_const 1)|]. now apply (CV_mult a (fun n => a n ^ m)). Qed.

(** A group of one person is named seldom: the others' law is nearly the same without it. *)
Lemma seldom_named m l l0 w v v0 :
  without m l l0 -> unit_weight w -> tends (find l) w v -> tends (find l0) w v0
  -> let s := (1 - alone) ^ m in s * v0 <= v <= s * v0 + (1 - s).
Proof.
intros H W T T0. cbv zeta. assert (Least : forall u x x0, unit_weight u -> tends (find l) u x -> tends (find l0) u x0
  -> (1 - alone) ^ m * x0 <= x).
{ intros u x x0 U X X0.
  apply (limits_le (fun fuel => weigh (draw noise fuel) under ^ m * weigh (find l0 fuel) u) (fun fuel => weigh (find l fuel) u)); auto.
  - intros fuel. apply found_at_least; auto. intros; apply U.
  - apply (CV_mult (fun fuel => weigh (draw noise fuel) under ^ m)); auto. apply pow_tends, below_tends. }
split; [now apply (Least w)|]. assert (U : unit_weight (fun a => 1 + -1 * w a)) by (intros a; generalize (W a); lra).
assert (C : forall k x, tends (find k) w x -> tends (find k) (fun a => 1 + -1 * w a) (1 - x)).
{ intros k x X. apply tends_ext with (fun fuel => weigh (find k fuel) (fun _ => 1) - weigh (find k fuel) w).
  - intros fuel. rewrite (weigh_plus _ _ (fun _ => 1) (fun a => -1 * w a)), weigh_scal. ring.
  - apply CV_minus; [apply everything_is_found|exact X]. }
assert (H2 := Least _ _ _ U (C l v T) (C l0 v0 T0)). lra.
Qed.

(** * Two tables *)
(** A group that one of them does not have is taken from both. *)
Fixpoint in_both (l l' : list nat) : list nat :=
  match l, l' with n :: l, n' :: l' => (match n' with O => O | _ => n end) :: in_both l l' | _, _ => [] end.

Fixpoint only (l l' : list nat) : nat :=
  match l, l' with n :: l, n' :: l' => ((match n, n' with S _, O => 1 | _, _ => 0 end) + only l l')%nat | _, _ => O end.

Lemma without_only l l' : Forall2 beside l l' -> without (only l l') l (in_both l l').
Proof.
induction 1 as [|n n' l l' B _ IH]; [constructor|]. cbn [only in_both]. unfold beside in B.
destruct n' as [|n'], n as [|n]; cbn [Nat.add]; try (now constructor). replace n with O by lia. now constructor.
Qed.

Lemma beside_flip l l' : Forall2 beside l l' -> Forall2 beside l' l.
Proof. unfold beside. induction 1; constructor; auto. lia. Qed.

Lemma named_alike l l' r : Forall2 beside l l' -> named threshold (in_both l l') r = named threshold (in_both l' l) r.
Proof.
intros H. revert r. induction H as [|n n' l l' B _ IH]; intros r; [reflexivity|]. cbn [in_both].
destruct n as [|n], n' as [|n']; cbn [named]; destruct r; now rewrite ?IH.
Qed.

Lemma there_moves l l' :
  Forall2 beside l l'
  -> let a := there (in_both l l') in let b := there (in_both l' l) in
     length a = length b /\ (only l l' + only l' l + differ a b <= changes l l')%nat
     /\ (L1 a b = Z.of_nat (differ a b) /\ L2 a b = Z.of_nat (differ a b))%Z.
Proof.
cbv zeta. induction 1 as [|n n' l l' B _ IH]; [repeat split; auto|]. unfold beside in B. cbn [in_both only changes].
destruct IH as (Len & C & E1 & E2).
destruct n as [|n], n' as [|n']; unfold there in *; cbn [filter negb Nat.eqb map length differ L1 L2]; try (repeat split; lia).
fold Nat.eqb. destruct (Z.eqb_spec (Z.of_nat (S n)) (Z.of_nat (S n'))), (Nat.eqb_spec n n'); try lia;
  rewrite E1, E2; repeat split; try lia.
assert (D : ((Z.of_nat (S n) - Z.of_nat (S n')) = 1 \/ (Z.of_nat (S n) - Z.of_nat (S n')) = -1)%Z) by lia.
destruct D as [-> | ->]; lia.
Qed.

Theorem found_groups_are_nearly_close g epsilon delta l l' :
  (0 < epsilon)%Q -> (0 < delta <= 1)%Q -> (1 <= g)%nat
  -> gaussian_fits epsilon delta (Norms (Z.of_nat g) (Z.of_nat g) (Z.of_nat g)) noise
  -> Forall2 beside l l' -> (changes l l' <= g)%nat
  -> nearly_close (Q2R epsilon) (1 - (1 - Q2R delta) * (1 - alone) ^ g) (find l) (find l').
Proof.
intros E [D D1] G F B C w v v' W T T'. destruct (there_moves l l' B) as (Len & Few & E1 & E2).
set (a := there (in_both l l')) in *. set (b := there (in_both l' l)) in *.
assert (M : is_moved (Norms (Z.of_nat g) (Z.of_nat g) (Z.of_nat g)) = true) by (apply Z.ltb_lt; cbn; lia).
assert (Close : nearly_close (Q2R epsilon) (Q2R delta) (noisy_vector noise a) (noisy_vector noise b)).
{ assert (H := a_part_is_nearly_close epsilon delta _ noise a b E D F). rewrite M in H. apply H.
  - intros _. cbn. lia.
  - unfold moves. cbn. repeat split; auto; lia.
  - unfold few. cbn. lia. }
destruct (value _ (find (in_both l l')) w (grows_find _ _ _) W) as [x X].
destruct (value _ (find (in_both l' l)) w (grows_find _ _ _) W) as [x' X'].
assert (XX : x <= exp (Q2R epsilon) * x' + Q2R delta).
{ apply (nearly_close_map _ _ _ _ (named threshold (in_both l l')) _ _ (grows_vector noise a) (grows_vector noise b) Close w x x' W X).
  apply tends_ext with (2 := X'). intros fuel. unfold find_groups_with, then_read, then_. rewrite !weigh_bind. apply weigh_ext.
  intros r. cbn [weigh]. now rewrite (named_alike l l'). }
destruct (seldom_named _ _ _ w v x (without_only l l' B) W T X) as [_ Up].
destruct (seldom_named _ _ _ w v' x' (without_only l' l (beside_flip l l' B)) W T' X') as [Down _].
destruct alone_range as [t0 t1]. set (p := 1 - alone) in *. assert (P : 0 <= p <= 1) by (unfold p; lra).
assert (Pw : forall m, 0 <= p ^ m <= 1).
{ intros m. split; [apply pow_le; lra|]. rewrite <- (pow1 m). apply pow_incr. lra. }
set (s := p ^ only l l') in *. set (s' := p ^ only l' l) in *.
assert (S : p ^ g <= s * s').
{ unfold s, s'. rewrite <- pow_add. replace g with (only l l' + only l' l + (g - (only l l' + only l' l)))%nat by lia.
  rewrite (pow_add p (only l l' + only l' l)). generalize (Pw (only l l' + only l' l)%nat) (Pw (g - (only l l' + only l' l))%nat).
  intros. nra. }
assert (s0 := Pw (only l l')). assert (s0' := Pw (only l' l)). fold s in s0. fold s' in s0'.
assert (x1 := value_range _ (find (in_both l l')) w x W X). assert (v1 := value_range _ (find l') w v' W T').
assert (D2 : Q2R delta <= 1) by (rewrite <- RMicromega.Q2R_1; now apply Qle_Rle).
assert (E0 : 0 < exp (Q2R epsilon)) by apply exp_pos.
assert (Y : x <= exp (Q2R epsilon) * v' + 1 - s' * (1 - Q2R delta)).
{ assert (s' * x <= s' * (exp (Q2R epsilon) * x' + Q2R delta)) by (apply Rmult_le_compat_l; lra).
  assert ((1 - s') * x <= (1 - s') * 1) by (apply Rmult_le_compat_l; lra).
  assert (exp (Q2R epsilon) * (s' * x') <= exp (Q2R epsilon) * v') by (apply Rmult_le_compat_l; lra). lra. }
assert (Z : s * x <= s * (exp (Q2R epsilon) * v' + 1 - s' * (1 - Q2R delta))) by (apply Rmult_le_compat_l; lra).
assert (V0 : 0 <= exp (Q2R epsilon) * v') by (apply Rmult_le_pos; lra).
assert (s * (exp (Q2R epsilon) * v') <= 1 * (exp (Q2R epsilon) * v')) by (apply Rmult_le_compat_r; lra).
assert (p ^ g * (1 - Q2R delta) <= s * s' * (1 - Q2R delta)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** * Tables *)
Section Tables.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (groups_of : X -> list G) (every : list G).
Hypothesis every_once : NoDup every.
Notation counts := (counts X G same groups_of every).
Variables (epsilon delta : Q).
Hypothesis epsilon_pos : (0 < epsilon)%Q.
Hypothesis delta_range : (0 < delta <= 1)%Q.

(** Adding or removing a person, who counts in at most g groups. *)
Lemma finding_with_gaussian_noise_is_nearly_close g table table' :
  (1 <= g)%nat -> (forall a, (length (groups_of a) <= g)%nat) -> symmetric table table'
  -> gaussian_fits epsilon delta (Norms (Z.of_nat g) (Z.of_nat g) (Z.of_nat g)) noise
  -> nearly_close (Q2R epsilon) (1 - (1 - Q2R delta) * (1 - alone) ^ g) (find (counts table)) (find (counts table')).
Proof.
intros G1 Few H F. assert (S : forall u v, Permutation u v -> counts u = counts v)
  by (intros; apply map_ext; intros; now apply persons_perm).
apply symmetric_cases in H as [P|(a & [P|P])]; apply found_groups_are_nearly_close; auto; rewrite (S _ _ P).
- apply nothing_changes.
- destruct (nothing_changes (counts table')) as [_ ->]. lia.
- now apply (one_more X G same groups_of every every_once g).
- now apply (one_more X G same groups_of every every_once g).
- apply beside_flip. now apply (one_more X G same groups_of every every_once g).
- rewrite changes_sym. now apply (one_more X G same groups_of every every_once g).
Qed.

Theorem finding_with_gaussian_noise_is_private g table table' :
  (1 <= g)%nat -> (forall a, (length (groups_of a) <= g)%nat) -> symmetric table table'
  -> gaussian_fits epsilon delta (Norms (Z.of_nat g) (Z.of_nat g) (Z.of_nat g)) noise
  -> nearly_private (Q2R epsilon) (1 - (1 - Q2R delta) * (1 - alone) ^ g) (find (counts table)) (find (counts table')).
Proof. intros. apply nearly_close_is_private; auto using grows_find. now apply finding_with_gaussian_noise_is_nearly_close. Qed.

(** Changing a record, which may leave one group and join another. *)
Lemma finding_of_changed_records_with_gaussian_noise_is_nearly_close table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table' -> gaussian_fits epsilon delta (Norms 2 2 2) noise
  -> nearly_close (Q2R epsilon) (1 - (1 - Q2R delta) * (1 - alone) ^ 2) (find (counts table)) (find (counts table')).
Proof.
intros Few H F. destruct (changed_records_are_beside X G same groups_of every every_once table table' Few H) as [B C].
apply found_groups_are_nearly_close; auto.
Qed.

Theorem finding_of_changed_records_with_gaussian_noise_is_private table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table' -> gaussian_fits epsilon delta (Norms 2 2 2) noise
  -> nearly_private (Q2R epsilon) (1 - (1 - Q2R delta) * (1 - alone) ^ 2) (find (counts table)) (find (counts table')).
Proof.
intros. apply nearly_close_is_private; auto using grows_find. now apply finding_of_changed_records_with_gaussian_noise_is_nearly_close.
Qed.

(** Then statistics over the groups that were found, which are private for every public list of groups; under any relation. *)
Theorem statistics_over_found_groups_are_private A r limit g e2 d2 (f f' : list (option Z) -> nat -> program A) table table' :
  let moved := if is_sized r then 2%nat else g in
  let n := Norms (Z.of_nat moved) (Z.of_nat moved) (Z.of_nat moved) in
  (1 <= g)%nat -> (forall a, (length (groups_of a) <= if is_sized r then 1 else g)%nat) -> neighbours r limit table table'
  -> gaussian_fits epsilon delta n noise
  -> (forall found, grows (f found)) -> (forall found, grows (f' found)) -> 0 <= d2
  -> (forall found, nearly_close e2 d2 (f found) (f' found))
  -> nearly_private (Q2R epsilon + e2) (1 - (1 - Q2R delta) * (1 - alone) ^ moved + d2)
       (then_ (find (counts table)) f) (then_ (find (counts table')) f').
Proof.
intros moved n G1 Few N F K K' D2 C. apply nearly_close_is_private; auto using grows_then, grows_find.
apply nearly_close_then; auto using grows_find. apply neighbours_unordered in N. unfold n, moved in *. destruct (is_sized r).
- now apply finding_of_changed_records_with_gaussian_noise_is_nearly_close.
- now apply finding_with_gaussian_noise_is_nearly_close.
Qed.
End Tables.
End Noise.
