(** How far one unit moves what a release adds up, part by part: the norms that the code computes (`Unit.norms`) hold for
    records, for records by group, and for persons, under every relation.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List Permutation ZArith QArith Reals Lia Bool.
From Soundsum Require Import Relations Sums Wide Conditions Claims Composition Shares Released.
From Soundsum Require Statistics.
Import ListNotations.
Open Scope Z_scope.

(** Where groups are found, the norms are those of any number of groups that is large enough. *)
Theorem any_number_of_groups m m' r g low high sized :
  2 <= m -> 2 <= m' -> g <= m -> g <= m' -> unit_norms (Unit (Some m) r g) low high sized = unit_norms (Unit (Some m') r g) low high sized.
Proof.
intros M M' G G'. unfold unit_norms. cbn [groups max_rows max_groups]. destruct r as [r|].
- now rewrite !Z.min_l by assumption.
- destruct sized; [|reflexivity]. destruct (Z.eqb_spec m 1), (Z.eqb_spec m' 1); try lia. reflexivity.
Qed.

Section Units.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (listed : list G).
Hypothesis listed_once : NoDup listed.

(** How a dataset is added up: one sum of every record; one for each listed group; or one for each listed group of what
    persons add, each person in the groups that are kept of theirs, with a total that is clamped last. *)
Inductive way :=
| EveryRecord
| ByGroup (key : X -> G)
| OfPersons (r : Z) (kept : X -> list G).

Definition adds (w : way) (range : Z * Z) (v : X -> G -> Z) (g : G) (x : X) : Z :=
  match w with
  | EveryRecord => v x g
  | ByGroup key => if same (key x) g then v x g else 0
  | OfPersons r kept =>
      if in_dec same g (kept x) then clamp (r * Z.min (fst range) 0) (r * Z.max (snd range) 0) (v x g) else 0
  end.

Definition vector (w : way) (range : Z * Z) (v : X -> G -> Z) (d : list X) : list Z :=
  map (fun g => wide (adds w range v g) d) listed.

(** Planned for as many groups as there are, or for more: groups that are found may be any number. *)
Definition has_room (u : privacy_unit) : Prop :=
  match groups u with Some m => Z.of_nat (length listed) <= m | None => length listed = 1%nat end.

(** The unit that such a release protects. *)
Definition is_of (u : privacy_unit) (w : way) : Prop :=
  match w with
  | EveryRecord => groups u = None /\ max_rows u = None /\ length listed = 1%nat
  | ByGroup _ => groups u <> None /\ has_room u /\ max_rows u = None
  | OfPersons r kept =>
      max_rows u = Some r /\ 0 <= r /\ 0 <= max_groups u
      /\ (forall x, Z.of_nat (length (kept x)) <= max_groups u) /\ has_room u
  end.

(** What a record adds is in the range of its part; what a person adds is clamped. Persons are added or removed. *)
Definition in_range (w : way) (range : Z * Z) (v : X -> G -> Z) : Prop :=
  match w with OfPersons _ _ => True | _ => forall x g, fst range <= v x g <= snd range end.

Definition is_allowed (r : relation) (w : way) : Prop :=
  match w with OfPersons _ _ => r = Symmetric | _ => True end.

Lemma neighbours_unordered r limit (d d' : list X) :
  neighbours r limit d d' -> if is_sized r then change_one d d' else symmetric d d'.
Proof.
destruct r; cbn [neighbours is_sized].
- auto.
- now apply insert_delete_is_symmetric.
- now intros [_ H].
- intros [_ H]. now apply hamming_is_change_one.
Qed.

Lemma L1_of (f f' : G -> Z) : L1 (map f listed) (map f' listed) = Statistics.l1 G listed (fun g => f g - f' g).
Proof.
clear listed_once. unfold Statistics.l1. induction listed as [|g l IH]; [reflexivity|]. cbn [map L1]. rewrite IH. reflexivity.
Qed.

Lemma L2_of (f f' : G -> Z) : L2 (map f listed) (map f' listed) = Statistics.l2 G listed (fun g => f g - f' g).
Proof.
clear listed_once. unfold Statistics.l2. induction listed as [|g l IH]; [reflexivity|]. cbn [map L2]. rewrite IH. reflexivity.
Qed.

Lemma vector_length w range v d : length (vector w range v d) = length listed.
Proof. apply map_length. Qed.

Lemma same_norms n l l' :
  length l = length l' -> L1 l l' <= norm1 n /\ L2 l l' <= norm2 n -> moves n l l'.
Proof. unfold moves. tauto. Qed.

Lemma by_group key low high v d g :
  wide (adds (ByGroup key) (low, high) v g) d = Statistics.entry X G same key (fun x => v x (key x)) d g.
Proof.
unfold Statistics.entry, wide. f_equal. apply map_ext. intros x. unfold adds, Statistics.share.
destruct (same (key x) g) as [->|_]; reflexivity.
Qed.

Lemma one_number a b m : Z.abs (a - b) <= m -> Z.abs (a - b) + 0 <= m /\ (a - b) * (a - b) + 0 <= m ^ 2.
Proof. rewrite Z.pow_2_r. nia. Qed.

Theorem vector_moves u w r limit low high v d d' :
  is_of u w -> is_allowed r w -> low <= high -> in_range w (low, high) v -> neighbours r limit d d'
  -> moves (unit_norms u low high (is_sized r)) (vector w (low, high) v d) (vector w (low, high) v d').
Proof.
intros O A LH W N. apply neighbours_unordered in N. apply same_norms; [now rewrite !vector_length|].
unfold unit_norms. destruct w as [|key|rows kept]; cbn [is_of is_allowed in_range fst snd] in *.
- destruct O as (Og & Or & One). rewrite Og, Or. unfold vector. destruct listed as [|g [|h l]]; try discriminate One.
  cbn [map L1 L2]. unfold adds.
  assert (Wg : forall x, low <= v x g <= high) by (intros; apply W).
  destruct (is_sized r); cbn [norm1 norm2]; apply one_number.
  + now apply (wide_change_one X (fun x => v x g) low high Wg d d').
  + now apply (wide_symmetric X (fun x => v x g) low high Wg d d').
- destruct O as (Og & Room & Or). unfold has_room in Room. rewrite Or. destruct (groups u) as [m|]; [|contradiction]. unfold vector.
  assert (Wk : forall x, low <= (fun x => v x (key x)) x <= high) by (intros; apply W).
  assert (E : forall d, map (fun g => wide (adds (ByGroup key) (low, high) v g) d) listed
    = map (Statistics.entry X G same key (fun x => v x (key x)) d) listed)
    by (intros; apply map_ext; intros; apply by_group).
  rewrite !E, L1_of, L2_of. destruct (is_sized r) eqn:Sz.
  + destruct (Z.eqb_spec m 1) as [One|Many]; cbn [norm1 norm2]; rewrite !Z.pow_2_r.
    * apply (Statistics.one_group_change_one X G same listed listed_once key _ low high LH Wk d d'); auto. lia.
    * apply (Statistics.groups_change_one X G same listed listed_once key _ low high LH Wk d d' N).
  + cbn [norm1 norm2]. rewrite Z.pow_2_r.
    apply (Statistics.groups_symmetric X G same listed listed_once key _ low high LH Wk d d' N).
- destruct O as (Or & r0 & g0 & Few & Og). unfold has_room in Og. subst r. cbn [is_sized] in *. rewrite Or. cbn [norm1 norm2].
  set (most := Z.min (max_groups u) (match groups u with Some m => m | None => 1 end)).
  set (kept' := fun x => filter (fun g => if in_dec same g (kept x) then true else false) listed).
  assert (Few' : forall x, (length (kept' x) <= Z.to_nat most)%nat).
  { intros x. assert (length (kept' x) <= length (kept x))%nat.
    { apply NoDup_incl_length; [now apply NoDup_filter|]. intros g Hg. apply filter_In in Hg as [_ Hg].
      destruct in_dec; [auto|discriminate]. }
    assert (length (kept' x) <= length listed)%nat.
    { unfold kept'. clear. induction listed as [|g l IH]; [auto|]. cbn [filter]. destruct in_dec; cbn [length]; lia. }
    specialize (Few x). unfold most. destruct (groups u); lia. }
  assert (E : forall d, map (fun g => wide (adds (OfPersons rows kept) (low, high) v g) d) listed
    = map (Statistics.part_sum X G same v low high rows kept' d) listed).
  { intros e. apply map_ext_in. intros g Hg. unfold Statistics.part_sum, wide. f_equal. apply map_ext. intros x.
    unfold adds, Statistics.part. cbn [fst snd].
    destruct (in_dec same g (kept x)) as [h|h], (in_dec same g (kept' x)) as [h'|h']; auto; exfalso.
    - apply h'. apply filter_In. split; auto. destruct in_dec; auto.
    - apply filter_In in h' as [_ h']. destruct in_dec; [auto|discriminate]. }
  assert (m0 : 0 <= most) by (unfold most; destruct (groups u); lia).
  unfold vector. rewrite !E, L1_of, L2_of.
  destruct (Statistics.persons_by_group X G same listed listed_once v low high rows _ LH r0 kept' Few' d d' N) as [H1 H2].
  unfold magnitudeZ in *. rewrite Z2Nat.id in H1, H2 by exact m0. rewrite Z.pow_2_r. split; [lia|exact H2].
Qed.

(** All parts of a statistic. *)
Definition vectors (w : way) (parts : list ((Z * Z) * (X -> G -> Z))) (d : list X) : list (list Z) :=
  map (fun '(range, v) => vector w range v d) parts.

Definition part_norms (u : privacy_unit) (sized : bool) (parts : list ((Z * Z) * (X -> G -> Z))) : list norms :=
  map (fun '((low, high), _) => unit_norms u low high sized) parts.

Theorem vectors_move u w r limit parts d d' :
  is_of u w -> is_allowed r w -> (forall range v, In (range, v) parts -> fst range <= snd range /\ in_range w range v)
  -> neighbours r limit d d'
  -> all_move (part_norms u (is_sized r) parts) (vectors w parts d) (vectors w parts d').
Proof.
intros O A P N. induction parts as [|[[low high] v] parts IH]; [exact I|]. cbn [part_norms vectors map all_move].
split; [|apply IH; intros; apply P; now right]. destruct (P (low, high) v (or_introl eq_refl)) as [LH W].
now apply (vector_moves u w r limit).
Qed.
End Units.

Arguments EveryRecord {X G}.
Arguments ByGroup {X G}.
Arguments OfPersons {X G}.
Arguments in_range {X G}.
Arguments is_allowed {X G}.
Arguments is_of {X G}.
Arguments has_room {G}.
Arguments adds {X G}.
Arguments vector {X G}.
Arguments vectors {X G}.
Arguments part_norms {X G}.
