(** Who counts: what a table's rows add up to where persons are protected (src/soundsum/engines/person_sums.py, and its
    model in tests/engines/model.py). Which of a person's rows count, in which groups, and how much, is a function of that
    person's rows alone, so a table with all rows of one person more is a neighbour, and the norms of `Units` hold.

    Executable; tests/proofs/test_persons.py compares it with engines. The lots are any function of an id and a group.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List Permutation ZArith QArith Qreals Reals Lia Bool.
From Soundsum Require Import Relations Sums Conditions Claims Composition Shares Released Units Releases Renyi GaussianReleases Deltas.
From Soundsum Require Statistics.
Import ListNotations.
Open Scope Z_scope.

Section Tables.
Variables (P : Type) (same : forall a b : P, {a = b} + {a <> b}).

(** A row, read: whose it is (None: an id is missing), the number of its group (none that is listed, if it is beyond
    them), whether it passes the filter, and its integer (None: a value is missing). *)
Record row := Row { owner : option P; code : Z; passes : bool; value : option Z }.

Variables (m : nat) (drops : bool) (missing : Z) (most_groups most_rows : Z) (lot : P -> Z -> Z).

Definition groups_listed := map Z.of_nat (seq 0 m).

Definition is_of_group (g : Z) (x : row) := code x =? g.

(** Rows without a value are dropped, or have a value of their own. *)
Definition counts (x : row) : bool :=
  passes x && (negb drops || match value x with Some _ => true | None => false end)
  && (0 <=? code x) && (code x <? Z.of_nat m).

Definition integer (x : row) : Z := match value x with Some q => q | None => missing end.

Definition is_owned (p : P) (x : row) : bool := match owner x with Some q => if same p q then true else false | None => false end.
Definition rows_of (p : P) (table : list row) := filter (is_owned p) table.

(** How many rows there are, the sum of their integers and that of their squares. *)
Definition moments (rows : list row) : Z * Z * Z :=
  (Z.of_nat (length rows), sumZ (map integer rows), sumZ (map (fun x => integer x * integer x) rows)).

Definition summary (p : P) (table : list row) : list (Z * Z * Z) :=
  let rows := filter counts (rows_of p table) in map (fun g => moments (filter (is_of_group g) rows)) groups_listed.

Definition owners (table : list row) : list P :=
  nodup same (flat_map (fun x => match owner x with Some p => [p] | None => [] end) (filter counts table)).

(** Each person, with what their rows in each group amount to. *)
Definition person := (P * list (Z * Z * Z))%type.
Definition persons_of (table : list row) : list person := map (fun p => (p, summary p table)) (owners table).

Definition in_group (x : person) (g : Z) : Z * Z * Z := nth (Z.to_nat g) (snd x) (0, 0, 0).
Definition number_in (x : person) (g : Z) : Z := fst (fst (in_group x g)).

(** The groups with most of a person's rows; between equals the lowest lot comes first. *)
Definition is_ahead (x : person) (g h : Z) : bool :=
  (number_in x h <? number_in x g) || ((number_in x g =? number_in x h) && (lot (fst x) g <? lot (fst x) h)).

Fixpoint put (x : person) (g : Z) (l : list Z) : list Z :=
  match l with [] => [g] | h :: l => if is_ahead x h g then h :: put x g l else g :: h :: l end.

Definition ranked (x : person) : list Z := fold_right (put x) [] (filter (fun g => 0 <? number_in x g) groups_listed).

Definition kept (x : person) : list Z := firstn (Z.to_nat most_groups) (ranked x).

(** What they add to a part: in means and variances, who has more rows than allowed counts as that many average ones.
    What is added is clamped last, by `Units.adds`. *)
Definition weigh (w : Z * Z * Z) (s : Z * Z * Z) : Z :=
  let '(a, b, c) := w in let '(n, s, t) := s in a * n + b * s + c * t.

Definition adds_to (together : bool) (w : Z * Z * Z) (x : person) (g : Z) : Z :=
  let own := weigh w (in_group x g) in if together then Statistics.average most_rows own (number_in x g) else own.

(** The parts of each statistic, in the order of `Shares.ranges`: so many times the rows, their sum and their squares. *)
Definition weights (k : statistic) (J K : Z) : list (Z * Z * Z) :=
  match k with
  | Sum => [(0, 1, 0)]
  | Count | Histogram => [(1, 0, 0)]
  | Mean => [(- (J + K), 2, 0); (1, 0, 0)]
  | Variance => [(- (J + K), 2, 0); ((J + K) ^ 2, -4 * (J + K), 4); (1, 0, 0)]
  end.

Definition goes_together (k : statistic) : bool := match k with Mean | Variance => true | _ => false end.

Definition totals (k : statistic) (J K : Z) : list (person -> Z -> Z) :=
  map (adds_to (goes_together k)) (weights k J K).

Definition way_of_persons : way person Z := OfPersons most_rows kept.

(** Everything that is released, before noise. *)
Definition person_sums (k : statistic) (J K : Z) (table : list row) : list (list Z) :=
  vectors Z.eq_dec groups_listed way_of_persons (of_persons k false J K (totals k J K)) (persons_of table).

(** * Neighbouring tables *)
(** One person has rows in one of two tables at most; everybody else has the same rows, in any order and among any rows
    without an id. *)
Definition one_person_more (table table' : list row) :=
  exists p, rows_of p table' = [] /\ forall q, q <> p -> Permutation (rows_of q table) (rows_of q table').

Definition neighbouring (table table' : list row) := one_person_more table table' \/ one_person_more table' table.

Lemma filter_perm A (f : A -> bool) l l' : Permutation l l' -> Permutation (filter f l) (filter f l').
Proof.
induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH _ IH']; cbn [filter]; auto.
- destruct (f x); auto.
- destruct (f x), (f y); auto using perm_swap.
- now apply Permutation_trans with (filter f l').
Qed.

Lemma moments_perm rows rows' : Permutation rows rows' -> moments rows = moments rows'.
Proof.
intros H. unfold moments. f_equal; [f_equal|].
- now rewrite (Permutation_length H).
- now apply sumZ_perm, Permutation_map.
- now apply sumZ_perm, Permutation_map.
Qed.

Lemma summary_perm p table table' : Permutation (rows_of p table) (rows_of p table') -> summary p table = summary p table'.
Proof. intros H. unfold summary. apply map_ext. intros g. now apply moments_perm, filter_perm, filter_perm. Qed.

Lemma in_owners p table : In p (owners table) <-> filter counts (rows_of p table) <> [].
Proof.
unfold owners. rewrite nodup_In, in_flat_map. split.
- intros (x & H & I) E. apply filter_In in H as [H C]. destruct (owner x) as [q|] eqn:O; [|contradiction].
  destruct I as [->|[]]. assert (J : In x (filter counts (rows_of p table))); [|rewrite E in J; contradiction].
  apply filter_In. split; auto. apply filter_In. split; auto. unfold is_owned. rewrite O. now destruct same.
- intros N. destruct (filter counts (rows_of p table)) as [|x l] eqn:E; [contradiction|].
  assert (I : In x (filter counts (rows_of p table))) by (rewrite E; now left). apply filter_In in I as [I C].
  apply filter_In in I as [I O]. exists x. split; [now apply filter_In|]. unfold is_owned in O.
  destruct (owner x) as [q|]; [|discriminate]. destruct (same p q) as [->|]; [now left|discriminate].
Qed.

Lemma same_owners p q table table' : Permutation (rows_of q table) (rows_of q table') -> q <> p
  -> In q (owners table) <-> In q (owners table').
Proof.
intros H _. rewrite !in_owners. assert (L := Permutation_length (filter_perm row counts _ _ H)).
split; intros N E; rewrite E in L; destruct (filter counts _); try discriminate; congruence.
Qed.

Lemma one_more table table' :
  one_person_more table table'
  -> Permutation (persons_of table) (persons_of table') \/ exists x, Permutation (persons_of table) (x :: persons_of table').
Proof.
intros (p & None' & Others). assert (N : ~ In p (owners table')) by (rewrite in_owners, None'; intros H; now apply H).
assert (D : NoDup (owners table)) by apply NoDup_nodup. assert (D' : NoDup (owners table')) by apply NoDup_nodup.
assert (E : map (fun q => (q, summary q table)) (owners table') = persons_of table').
{ apply map_ext_in. intros q Hq. f_equal. apply summary_perm, Others. intros ->. contradiction. }
destruct (in_dec same p (owners table)) as [I|I].
- right. exists (p, summary p table). rewrite <- E. change ((p, summary p table) :: map (fun q => (q, summary q table)) (owners table'))
    with (map (fun q => (q, summary q table)) (p :: owners table')).
  apply Permutation_map, NoDup_Permutation; auto; [now constructor|]. intros q. destruct (same q p) as [->|Q].
  + split; [now left|auto].
  + rewrite (same_owners p q table table') by auto. cbn [In]. intuition congruence.
- left. rewrite <- E. apply Permutation_map, NoDup_Permutation; auto. intros q. destruct (same q p) as [->|Q]; [tauto|].
  apply (same_owners p); auto.
Qed.

Theorem tables_are_neighbours table table' : neighbouring table table' -> symmetric (persons_of table) (persons_of table').
Proof.
intros [H|H]; apply symmetric_cases; apply one_more in H as [H|(x & H)]; auto; try (now left; apply Permutation_sym);
  right; exists x; auto.
Qed.

(** Neither the order of rows, nor rows without an id, nor others' rows decide anything about a person. *)
Theorem who_counts_is_their_own table table' p :
  Permutation (rows_of p table) (rows_of p table') -> kept (p, summary p table) = kept (p, summary p table').
Proof. intros H. now rewrite (summary_perm p table table' H). Qed.

Lemma listed_once : NoDup groups_listed.
Proof. unfold groups_listed. apply FinFun.Injective_map_NoDup; [intros a b; lia|apply seq_NoDup]. Qed.

Lemma few_are_kept x : 0 <= most_groups -> Z.of_nat (length (kept x)) <= most_groups.
Proof. intros H. unfold kept. generalize (firstn_le_length (Z.to_nat most_groups) (ranked x)). lia. Qed.

(** The unit that the code plans for. *)
Definition unit_of_persons (grouped : bool) : privacy_unit :=
  Unit (if grouped then Some (Z.of_nat m) else None) (Some most_rows) most_groups.

Lemma unit_is_of grouped :
  0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat)
  -> is_of groups_listed (unit_of_persons grouped) way_of_persons.
Proof.
intros R G O. unfold is_of, has_room, way_of_persons, unit_of_persons, groups_listed. cbn [max_rows groups max_groups].
rewrite map_length, seq_length. repeat split; auto using few_are_kept. destruct grouped; [lia|].
destruct O as [O|O]; [discriminate|exact O].
Qed.

(** How far one person moves what is released. *)
Theorem one_person_moves_it grouped k J K table table' :
  0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat) -> J <= K -> neighbouring table table'
  -> all_move (statistic_norms k (unit_of_persons grouped) false J K) (person_sums k J K table) (person_sums k J K table').
Proof.
intros R G O JK N. assert (T := norms_of_a_statistic person Symmetric k 1%Q Z Z.eq_dec groups_listed way_of_persons
  (unit_of_persons grouped) J K (fun _ => 0) (totals k J K)).
assert (S : public_size Symmetric (unit_of_persons grouped) = false)
  by (unfold public_size, is_plain; cbn; now destruct grouped).
unfold statistic_of, task_of in T. cbn [weight unit_of parts_of way_of_persons] in T. rewrite S in T.
assert (L : length (totals k J K) = length (ranges k false J K)) by (destruct k; reflexivity).
specialize (T L). injection T as T. cbn [is_sized] in T. rewrite <- T.
apply (vectors_move person Z Z.eq_dec groups_listed listed_once (unit_of_persons grouped) way_of_persons Symmetric None).
- now apply unit_is_of.
- reflexivity.
- intros range v H. split; [|exact I]. now apply (persons_are_in_range person Z k false J K (totals k J K) range v).
- now apply tables_are_neighbours.
Qed.

(** A release of a table of persons, whole. *)
Definition asked_of_persons (grouped : bool) (k : statistic) (J K : Z) : list (asked person) :=
  [statistic_of Symmetric k 1%Q Z Z.eq_dec groups_listed way_of_persons (unit_of_persons grouped) J K (fun _ => 0) (totals k J K)].

Lemma persons_are_covered grouped k J K :
  0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat) -> J <= K
  -> forall a, In a (asked_of_persons grouped k J K) -> is_covered Symmetric a /\ 0 <= max_groups (unit_of a).
Proof.
intros R G O JK a [<-|[]]. split; [|exact G]. unfold is_covered, statistic_of.
cbn [weight Entry Releases.listed added unit_of parts_of way_of_persons].
repeat (split; [reflexivity || apply listed_once || now apply unit_is_of|]). intros range v H. split; [|exact I].
unfold way_of_persons in H. now apply persons_are_in_range in H.
Qed.

Theorem a_table_of_persons_is_private A grouped k J K epsilon (read : option nat -> list (list Z) -> A) table table' :
  (0 < epsilon)%Q -> 0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat) -> J <= K
  -> neighbouring table table'
  -> let every := asked_of_persons grouped k J K in
     private (Q2R epsilon) (release Symmetric laplace_for epsilon read every (persons_of table))
       (release Symmetric laplace_for epsilon read every (persons_of table')).
Proof.
intros E R G O JK N. cbv zeta. apply (every_release_is_private person A Symmetric None); auto; [|now apply tables_are_neighbours].
intros a H. now apply (persons_are_covered grouped k J K R G O JK).
Qed.

(** With Gaussian noise for a rho, and for an epsilon and a delta. *)
Theorem a_table_of_persons_is_zcdp grouped k J K rho table table' :
  (0 < rho)%Q -> 0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat) -> J <= K
  -> neighbouring table table'
  -> let every := asked_of_persons grouped k J K in
     let sums table := concat (map (fun a => sums_of a (persons_of table)) every) in
     let tasks := map (task_of Symmetric) every in
     zcdp_close same_vectors (Q2R rho) (released gaussian_for rho tasks (sums table)) (released gaussian_for rho tasks (sums table')).
Proof.
intros E R G O JK N. cbv zeta. assert (C := persons_are_covered grouped k J K R G O JK).
apply (every_gaussian_release_is_zcdp person Symmetric None); auto; try (intros; now apply C). now apply tables_are_neighbours.
Qed.

Theorem a_table_of_persons_keeps_its_delta A grouped k J K own rho epsilon delta (read : option nat -> list (list Z) -> A) table table' :
  enough_sigma2 own -> enough_rho rho -> (0 < epsilon)%Q -> (0 < delta < 1)%Q
  -> 0 <= most_rows -> 0 <= most_groups -> (grouped = true \/ m = 1%nat) -> J <= K -> neighbouring table table'
  -> let every := asked_of_persons grouped k J K in
     let fit := gaussian_within own rho epsilon delta in
     nearly_private (Q2R epsilon) (Q2R delta) (release Symmetric fit 1 read every (persons_of table))
       (release Symmetric fit 1 read every (persons_of table')).
Proof.
intros Own Rho E D R G O JK N. cbv zeta. assert (C := persons_are_covered grouped k J K R G O JK).
apply nearly_close_is_private; auto using grows_release.
apply (every_release_with_fitted_noise_is_nearly_close person A Symmetric None); auto; try (intros; now apply C).
now apply tables_are_neighbours.
Qed.

(** Persons counted over cells, by anything that their own rows give: a total, a number of rows. *)
Theorem counts_of_persons_are_private A C (equal : forall a b : C, {a = b} + {a <> b}) cells (own : person -> list C) epsilon
    (read : option nat -> list (list Z) -> A) table table' :
  (0 < epsilon)%Q -> 0 <= most_groups -> NoDup cells -> (forall x, Z.of_nat (length (own x)) <= most_groups)
  -> neighbouring table table'
  -> let u := Unit (Some (Z.of_nat (length cells))) (Some 1) most_groups in
     let every := [statistic_of Symmetric Histogram 1%Q C equal cells (OfPersons 1 own) u 1 1 (fun _ => 1) [fun _ _ => 1]] in
     private (Q2R epsilon) (release Symmetric laplace_for epsilon read every (persons_of table))
       (release Symmetric laplace_for epsilon read every (persons_of table')).
Proof.
intros E G Once O N. cbv zeta. apply (a_statistic_is_private person A Symmetric None); auto; try reflexivity; try lia.
- repeat split; auto; cbn; lia.
- now apply tables_are_neighbours.
Qed.
End Tables.
