(** The default releases, whole: sums, counts, means, variances and histograms, of records and of persons, by groups, under
    every relation. The records' bits become integers, these are added exactly, epsilon is divided between the parts as the
    code divides it, each part gets Laplace noise drawn from bytes, and anything may be computed from the result.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Conditions GridsAllowed Claims Programs Private Composition Shares Released Units.
From Soundsum Require Statistics Binary64 GridBinary64 GridKernel.
Import ListNotations.
Open Scope Z_scope.

(** * Several statistics of the same records *)
Record asked (X : Type) := Asked {
  weight : Q;
  Entry : Type; (* groups, cells, or pairs of both *)
  same : forall a b : Entry, {a = b} + {a <> b};
  listed : list Entry;
  added : way X Entry;
  unit_of : privacy_unit;
  parts_of : list ((Z * Z) * (X -> Entry -> Z))
}.
Arguments weight {X}.
Arguments Entry {X}.
Arguments same {X}.
Arguments listed {X}.
Arguments added {X}.
Arguments unit_of {X}.
Arguments parts_of {X}.

(** What the code checks or does before it charges. *)
Definition is_covered {X} (r : relation) (a : asked X) :=
  (0 < weight a)%Q /\ NoDup (listed a) /\ is_of (listed a) (unit_of a) (added a) /\ is_allowed r (added a)
  /\ forall range v, In (range, v) (parts_of a) -> fst range <= snd range /\ in_range (added a) range v.

Definition task_of {X} (r : relation) (a : asked X) : task :=
  (weight a, part_norms (unit_of a) (is_sized r) (parts_of a)).

Definition sums_of {X} (a : asked X) (d : list X) : list (list Z) := vectors (same a) (listed a) (added a) (parts_of a) d.

(** The number of records is public under the sized relations, where every record counts in one sum. *)
Definition public_number {X} (r : relation) (d : list X) : option nat := if is_sized r then Some (length d) else None.

Definition release {X A} (r : relation) (fit : Q -> norms -> noise) (whole : Q) (read : option nat -> list (list Z) -> A)
    (every : list (asked X)) (d : list X) : nat -> program A :=
  then_read (released fit whole (map (task_of r) every) (concat (map (fun a => sums_of a d) every)))
    (read (public_number r d)).

Lemma public_number_is_public X r limit (d d' : list X) : neighbours r limit d d' -> public_number r d = public_number r d'.
Proof.
intros N. apply neighbours_unordered in N. unfold public_number. destruct (is_sized r); [|reflexivity]. f_equal.
now apply change_one_length.
Qed.

Lemma sums_move X r limit (every : list (asked X)) d d' :
  (forall a, In a every -> is_covered r a) -> neighbours r limit d d'
  -> all_move (concat (map snd (map (task_of r) every)))
       (concat (map (fun a => sums_of a d) every)) (concat (map (fun a => sums_of a d') every)).
Proof.
intros C N. induction every as [|a every IH]; [exact I|]. cbn [map concat]. apply all_move_app.
- destruct (C a (or_introl eq_refl)) as (_ & Once & O & A & P).
  apply (vectors_move X (Entry a) (same a) (listed a) Once (unit_of a) (added a) r limit); auto.
- apply IH. intros b Hb. apply C. now right.
Qed.

Lemma weights_are_positive X r (every : list (asked X)) t :
  (forall a, In a every -> is_covered r a) -> In t (map (task_of r) every) -> (0 < fst t)%Q.
Proof. intros C H. apply in_map_iff in H as (a & <- & Ha). apply (C a Ha). Qed.

Lemma grows_release X A r fit whole (read : option nat -> list (list Z) -> A) (every : list (asked X)) d :
  grows (release r fit whole read every d).
Proof. apply grows_read, grows_released. Qed.

(** Every default release. *)
Theorem every_release_is_close X A r limit (every : list (asked X)) epsilon (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> (forall a, In a every -> is_covered r a) -> neighbours r limit d d'
  -> close (Q2R epsilon) (release r laplace_for epsilon read every d) (release r laplace_for epsilon read every d').
Proof.
intros E C N. unfold release. rewrite (public_number_is_public X r limit d d' N). apply close_map; auto using grows_released.
apply releases_are_close; auto.
- intros t H. now apply (weights_are_positive X r every).
- now apply (sums_move X r limit).
Qed.

Theorem every_release_is_private X A r limit (every : list (asked X)) epsilon (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> (forall a, In a every -> is_covered r a) -> neighbours r limit d d'
  -> private (Q2R epsilon) (release r laplace_for epsilon read every d) (release r laplace_for epsilon read every d').
Proof.
intros E C N. apply close_is_private; auto using grows_release. now apply (every_release_is_close X A r limit).
Qed.

(** * What each statistic adds up *)
(** Of a record whose integer is q, in [J, K]: to its parts, in the order of `ranges`. *)
Definition contributions {X} (k : statistic) (is_size_public : bool) (J K : Z) (q : X -> Z) : list (X -> Z) :=
  let counted := if is_size_public then [] else [fun _ => 1] in
  match k with
  | Sum => [q]
  | Count | Histogram => [fun _ => 1]
  | Mean => Statistics.centred X q J K :: counted
  | Variance => Statistics.centred X q J K :: Statistics.square X q J K :: counted
  end.

Definition of_records {X G} (k : statistic) (is_size_public : bool) (J K : Z) (q : X -> Z) :
    list ((Z * Z) * (X -> G -> Z)) :=
  combine (ranges k is_size_public J K) (map (fun v x _ => v x) (contributions k is_size_public J K q)).

(** Of a person: whatever their rows add up to in each group, which is clamped. *)
Definition of_persons {X G} (k : statistic) (is_size_public : bool) (J K : Z) (totals : list (X -> G -> Z)) :
    list ((Z * Z) * (X -> G -> Z)) :=
  combine (ranges k is_size_public J K) totals.

Lemma ranges_ascend k p J K range : J <= K -> In range (ranges k p J K) -> fst range <= snd range.
Proof.
intros JK H. assert (N : In range [(J, K); (1, 1); (- (K - J), K - J); (0, (K - J) ^ 2)]).
{ unfold ranges in H. destruct k, p; cbn [In] in *; tauto. }
cbn [In] in N. rewrite Z.pow_2_r in N.
destruct N as [<-|[<-|[<-|[<-|[]]]]]; cbn [fst snd]; nia.
Qed.

Lemma records_are_in_range X G k p J K (q : X -> Z) range (v : X -> G -> Z) :
  J <= K -> (forall x, J <= q x <= K) -> In (range, v) (of_records k p J K q)
  -> fst range <= snd range /\ forall x g, fst range <= v x g <= snd range.
Proof.
intros JK W H.
assert (N : In (range, v) [((J, K), fun x (_ : G) => q x); ((1, 1), fun _ _ => 1);
  ((- (K - J), K - J), fun x _ => Statistics.centred X q J K x);
  ((0, (K - J) ^ 2), fun x _ => Statistics.square X q J K x)]).
{ unfold of_records, ranges, contributions in H. destruct k, p; cbn [map combine In] in *; tauto. }
cbn [In] in N. rewrite Z.pow_2_r in N. destruct N as [N|[N|[N|[N|[]]]]]; injection N as <- <-; cbn [fst snd].
- split; [exact JK|intros x g; apply W].
- split; intros; lia.
- split; [lia|intros x g]. unfold Statistics.centred. generalize (W x). lia.
- split; [nia|intros x g]. now apply Statistics.square_within.
Qed.

Lemma persons_are_in_range X G k p J K (totals : list (X -> G -> Z)) range (v : X -> G -> Z) :
  J <= K -> In (range, v) (of_persons k p J K totals) -> fst range <= snd range.
Proof. intros JK H. apply in_combine_l in H. now apply (ranges_ascend k p J K). Qed.

(** A statistic of records, in one sum or by groups (filters and dropped records are a group), or of persons. *)
Definition public_size (r : relation) (u : privacy_unit) := is_plain u && is_sized r.

Definition statistic_of {X} (r : relation) (k : statistic) (wt : Q) (G : Type) (same : forall a b : G, {a = b} + {a <> b})
    (listed : list G) (w : way X G) (u : privacy_unit) (J K : Z) (q : X -> Z) (totals : list (X -> G -> Z)) : asked X :=
  Asked X wt G same listed w u
    match w with
    | OfPersons _ _ => of_persons k (public_size r u) J K totals
    | _ => of_records k (public_size r u) J K q
    end.

(** Its norms are those of `statistic_norms`. *)
Lemma ranges_of_parts X G k p J K (l : list (X -> G -> Z)) :
  length l = length (ranges k p J K) -> map fst (combine (ranges k p J K) l) = ranges k p J K.
Proof. generalize (ranges k p J K). intros rs. revert l. induction rs as [|a rs IH]; intros [|v l] H; try discriminate; auto.
cbn [combine map fst]. f_equal. apply IH. now injection H. Qed.

Theorem norms_of_a_statistic X r k wt G same listed (w : way X G) u J K q totals :
  length totals = length (ranges k (public_size r u) J K)
  -> task_of r (statistic_of r k wt G same listed w u J K q totals) = (wt, statistic_norms k u (is_sized r) J K).
Proof.
intros T. unfold task_of, statistic_of, part_norms. cbn [weight unit_of parts_of]. f_equal. unfold statistic_norms.
fold (public_size r u).
assert (E : forall parts : list ((Z * Z) * (X -> G -> Z)), map fst parts = ranges k (public_size r u) J K
  -> map (fun '((low, high), _) => unit_norms u low high (is_sized r)) parts
     = map (fun '(low, high) => unit_norms u low high (is_sized r)) (ranges k (public_size r u) J K)).
{ intros parts <-. rewrite map_map. apply map_ext. intros [[low high] v]. reflexivity. }
apply E. unfold of_records, of_persons. destruct w; apply ranges_of_parts; auto; rewrite map_length;
  unfold contributions, ranges; destruct k, (public_size r u); reflexivity.
Qed.

Theorem a_statistic_is_covered X r k wt G same listed (w : way X G) u J K q totals :
  (0 < wt)%Q -> NoDup listed -> is_of listed u w -> is_allowed r w -> J <= K -> (forall x, J <= q x <= K)
  -> is_covered r (statistic_of r k wt G same listed w u J K q totals).
Proof.
intros Wt Once O A JK W. unfold is_covered, statistic_of.
cbn [weight Entry Releases.listed added unit_of parts_of].
repeat (split; [assumption|]). intros range v H. destruct w; cbn [in_range].
- now apply (records_are_in_range X G k (public_size r u) J K q).
- now apply (records_are_in_range X G k (public_size r u) J K q).
- split; [|exact I]. now apply (persons_are_in_range X G k (public_size r u) J K totals range v).
Qed.

(** One statistic with the whole epsilon. *)
Theorem a_statistic_is_private X A r limit k G same listed (w : way X G) u J K q totals epsilon
    (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> NoDup listed -> is_of listed u w -> is_allowed r w -> J <= K -> (forall x, J <= q x <= K)
  -> neighbours r limit d d'
  -> let every := [statistic_of r k 1%Q G same listed w u J K q totals] in
     private (Q2R epsilon) (release r laplace_for epsilon read every d) (release r laplace_for epsilon read every d').
Proof.
intros E Once O Al JK W N. cbv zeta. apply (every_release_is_private X A r limit); auto.
intros a [<-|[]]. now apply a_statistic_is_covered.
Qed.

(** * From bits *)
Section Bits.
Import Binary64 GridBinary64 GridKernel.
Open Scope R_scope.

Notation finite64 := (Binary.is_finite 53 1024).
Notation real64 := (Binary.B2R 53 1024).

Lemma between_is_whole (y : Bits.binary64) J K :
  finite64 y = true -> (Z.abs J <= 2 ^ 51)%Z -> (Z.abs K <= 2 ^ 51)%Z
  -> anchor 53 + IZR J <= real64 y <= anchor 53 + IZR K
  -> (J <= Bits.bits_of_b64 y - Bits.bits_of_b64 anchor64 <= K)%Z.
Proof.
intros F HJ HK B. assert (A : anchor 53 = IZR (3 * 2 ^ 51)) by reflexivity. rewrite A, <- !plus_IZR in B.
assert (W : exists n, real64 y = IZR n).
{ assert (G := format64 y). apply FLT_format_generic in G; [|exact eq_refl]. destruct G as [f E M _].
  change (Z.pow_pos 2 53) with (2 ^ 53)%Z in M. change (Z.pow radix2 53) with (2 ^ 53)%Z in M.
  rewrite E in *. destruct f as [m e]. cbn [Fnum Fexp] in *. destruct (Z_le_gt_dec 0 e) as [h|h].
  - exists (m * 2 ^ e)%Z. unfold F2R. cbn [Fnum Fexp]. rewrite mult_IZR. f_equal.
    change 2%Z with (radix_val radix2) at 1. now rewrite IZR_Zpower.
  - exfalso. assert (P : F2R (Float radix2 m e) < IZR (2 ^ 52)).
    { apply Rle_lt_trans with (IZR (Z.abs m) * bpow radix2 e).
      - unfold F2R. cbn [Fnum Fexp]. apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply IZR_le. lia.
      - apply Rlt_le_trans with (IZR (2 ^ 53) * bpow radix2 e).
        + apply Rmult_lt_compat_r; [apply bpow_gt_0|]. now apply IZR_lt.
        + apply Rle_trans with (IZR (2 ^ 53) * bpow radix2 (-1)).
          * apply Rmult_le_compat_l; [apply IZR_le; lia|]. apply bpow_le. lia.
          * simpl. lra. }
    destruct B as [B _]. assert (IZR (2 ^ 52) <= IZR (3 * 2 ^ 51 + J)) by (apply IZR_le; lia). lra. }
destruct W as [n E]. rewrite E in B. destruct B as [B1 B2]. apply le_IZR in B1, B2.
assert (C : (Bits.bits_of_b64 y - Bits.bits_of_b64 anchor64 = n - 3 * 2 ^ 51)%Z).
{ apply bits_count; auto; [|lia]. rewrite E, A, <- plus_IZR. f_equal. lia. }
lia.
Qed.

Lemma less_if_finite a b : finite64 a = true -> finite64 b = true -> less a b = Rlt_bool (real64 a) (real64 b).
Proof. apply less_R. Qed.

(** The clamp takes anything, NaN and infinities too, to something finite between its ends. *)
Lemma clamped_is_between low high y :
  finite64 low = true -> finite64 high = true -> real64 low <= real64 high
  -> (finite64 (clamp64 low high y) = true /\ real64 low <= real64 (clamp64 low high y) <= real64 high)
     /\ finite64 (clamp64_from_above low high y) = true
     /\ real64 low <= real64 (clamp64_from_above low high y) <= real64 high.
Proof.
intros Fl Fh LH.
assert (C : forall a b, finite64 a = true -> finite64 b = true ->
  (less a b = true /\ real64 a < real64 b) \/ (less a b = false /\ real64 b <= real64 a)).
{ intros a b Fa Fb. rewrite less_if_finite by auto. case Rlt_bool_spec; auto. }
destruct (finite64 y) eqn:Fy.
- split.
  + unfold clamp64. destruct (C low y Fl Fy) as [[-> H]|[-> H]].
    * destruct (C y high Fy Fh) as [[-> H']|[-> H']]; split; auto; lra.
    * destruct (C low high Fl Fh) as [[-> H']|[-> H']]; split; auto; lra.
  + unfold clamp64_from_above. destruct (C y high Fy Fh) as [[-> H]|[-> H]].
    * destruct (C low y Fl Fy) as [[-> H']|[-> H']]; split; auto; lra.
    * destruct (C low high Fl Fh) as [[-> H']|[-> H']]; split; auto; lra.
- assert (E : (less low y = true /\ less y high = false) \/ (less low y = false /\ less y high = true)
    \/ (less low y = false /\ less y high = false)).
  { destruct y as [s|s|s pl Hpl|s m e He]; try discriminate Fy.
    - destruct low as [?|?|? ? ?|[] ? ? ?]; try discriminate Fl; destruct high as [?|?|? ? ?|[] ? ? ?]; try discriminate Fh;
        destruct s; vm_compute; auto.
    - destruct low; try discriminate Fl; destruct high; try discriminate Fh; vm_compute; auto. }
  unfold clamp64, clamp64_from_above. destruct (C low high Fl Fh) as [[Lh H']|[Lh H']];
    destruct E as [[E E']|[[E E']|[E E']]]; rewrite ?E, ?E', ?Lh, ?E, ?E'; repeat split; auto; lra.
Qed.

Theorem every_double_is_in_bounds base scale more low high J K x :
  finite64 low = true -> real64 low = anchor 53 + IZR J -> finite64 high = true -> real64 high = anchor 53 + IZR K
  -> (J <= K)%Z -> (Z.abs J <= 2 ^ 51)%Z -> (Z.abs K <= 2 ^ 51)%Z
  -> (J <= block64 base scale more low high J K x <= K)%Z.
Proof.
intros Fl El Fh Eh JK HJ HK. assert (LH : real64 low <= real64 high) by (rewrite El, Eh; apply IZR_le in JK; lra).
assert (A : forall how plain, (J <= anchored64 how plain base scale more low high x <= K)%Z).
{ intros how plain. unfold anchored64. cbv zeta. set (y := if plain then _ else _).
  destruct (clamped_is_between low high y Fl Fh LH) as [[F1 B1] [F2 B2]]. rewrite El, Eh in B1, B2.
  destruct how; now apply between_is_whole. }
unfold block64. destruct (_ || _)%bool; auto. destruct (0 <=? J)%Z; auto. destruct (K <=? 0)%Z; auto.
Qed.
End Bits.

(** * Columns of doubles and of integers *)
Lemma steps_ascend k u sized eta L U D offset J K : steps_of k u sized eta L U = (D, offset, J, K) -> J <= K.
Proof.
unfold steps_of. destruct (Bounds.is_zero _); intros E.
- injection E as _ _ <- <-. lia.
- assert (H := fine_grid_order (fineness k) (from_near k u sized) eta L U). destruct (fine_grid _ _ _ _ _) as [g m l h].
  injection E as _ _ <- <-. exact H.
Qed.

(** Records with any bits, NaN and infinities included, become integers by the kernel's expression. Nothing is asked of
    the constants but that the last clamp is at the ends of the grid; with those of the code its integers are the nearest
    (`GridsAllowed.doubles_are_exact`). *)
Theorem statistics_of_doubles_are_private X A r limit k G same listed (w : way X G) u T L U D offset J K l h shift
    base scale more low high (value : X -> Bits.binary64) totals epsilon (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> NoDup listed -> is_of listed u w -> is_allowed r w
  -> steps_of k u (is_sized r) (smallest_exponent T) L U = (D, offset, J, K)
  -> l + shift = J -> h + shift = K -> Z.abs l <= 2 ^ 51 -> Z.abs h <= 2 ^ 51
  -> Binary.is_finite 53 1024 low = true -> (Binary.B2R 53 1024 low = GridKernel.anchor 53 + IZR l)%R
  -> Binary.is_finite 53 1024 high = true -> (Binary.B2R 53 1024 high = GridKernel.anchor 53 + IZR h)%R
  -> neighbours r limit d d'
  -> let q x := Binary64.block64 base scale more low high l h (value x) + shift in
     let every := [statistic_of r k 1%Q G same listed w u J K q totals] in
     private (Q2R epsilon) (release r laplace_for epsilon read every d) (release r laplace_for epsilon read every d').
Proof.
intros E Once O Al S Hl Hh Bl Bh Fl El Fh Eh N. cbv zeta. assert (JK := steps_ascend _ _ _ _ _ _ _ _ _ _ S).
apply (a_statistic_is_private X A r limit k G same listed w u J K); auto. intros x.
generalize (every_double_is_in_bounds base scale more low high l h (value x) Fl El Fh Eh ltac:(lia) Bl Bh). lia.
Qed.

(** Integers are clamped to the bounds, rounded inward to integers of their type. *)
Theorem statistics_of_integers_are_private X A r limit k G same listed (w : way X G) u T L U (value : X -> Z) totals
    epsilon (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> NoDup listed -> is_of listed u w -> is_allowed r w -> wide_allowed T limit L U = true
  -> neighbours r limit d d'
  -> let J := Z.max (Qround.Qceiling L) (least T) in
     let K := Z.min (Qround.Qfloor U) (greatest T) in
     let every := [statistic_of r k 1%Q G same listed w u J K (fun x => clamp J K (value x)) totals] in
     private (Q2R epsilon) (release r laplace_for epsilon read every d) (release r laplace_for epsilon read every d').
Proof.
intros E Once O Al C N. cbv zeta. unfold wide_allowed in C. apply andb_prop in C as [C _]. apply andb_prop in C as [_ C].
apply Z.leb_le in C. apply (a_statistic_is_private X A r limit); auto. intros x. now apply clamp_within.
Qed.

(** A part that no unit can move gets no noise of either kind, and is the same for neighbours. *)
Theorem no_noise_where_nothing_moves n l l' own rho epsilon delta share whole :
  moves n l l' -> norm1 n = 0
  -> l = l' /\ laplace_for whole n = NoNoise /\ gaussian_for whole n = NoNoise
     /\ gaussian_within own rho epsilon delta share n = NoNoise.
Proof.
intros (Len & H & _) E. rewrite E in H. unfold laplace_for, gaussian_for, gaussian_within, is_moved. rewrite E. repeat split; auto.
now apply not_apart.
Qed.

(** * The numbers that people read *)
Open Scope Q_scope.
Definition at_least_one (n : Z) : Q := inject_Z (Z.max 1 n).

(** `Additive.exact`: n counts where the number of records is public. *)
Definition read_sum (D offset : Q) (n z : Z) : Q := Qred (inject_Z z * D + inject_Z n * offset).

(** `MeanOfSums.range` and `VarianceOfSums.range`, at a point. *)
Definition read_mean (D offset : Q) (J K S n : Z) : Q :=
  let w := inject_Z (K - J) in
  Qred ((inject_Z (J + K) + Qminmax.Qmax (- w) (Qminmax.Qmin w (inject_Z S / at_least_one n))) / 2 * D + offset).

Definition read_variance (D : Q) (J K S T n : Z) : Q :=
  let x := / at_least_one n in
  Qred (Qminmax.Qmax 0 (Qminmax.Qmin (inject_Z T * x) (inject_Z ((K - J) ^ 2)) - inject_Z (S ^ 2) * (x * x)) * (D * D / 4)).
