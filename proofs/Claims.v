(** What each method claims, under every relation: the sum as the code does it for that relation, of the records as they
    are permuted, cut to the limit and split, moves by at most the claimed sensitivity wherever the condition holds.

    The files named Allowed say of each sum under which relations its bound holds, and after which steps; here the steps are those of
    the code (`Method.steps`), so that one that is missing would leave a claim without a proof. Where the code claims an
    accuracy under a condition of its own, this is proved from it too. *)

From Coq Require Import List Permutation ZArith QArith Qround Qreals Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Wide Checked Saturating Split Grid Accuracy Trees Iterated
  Pairwise NumpyPairwise Kahan TowardZero Shifted Rationals FloatPromises TowardZeroPromises ShiftedPromises.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Modular Bounds Binary64 GridKernel.
From Soundsum Require Import Conditions Types IntegersAllowed FloatsAllowed TowardZeroAllowed ShiftedAllowed
  GridsAllowed.
Import ListNotations.
Open Scope R_scope.

(** Datasets of the public number of records, if it is known. *)
Definition of_size (limit : option N) {X} (d : list X) :=
  match limit with Some n => length d = N.to_nat n | None => True end.

Definition neighbours (r : relation) (limit : option N) {X} (d d' : list X) :=
  match r with
  | Symmetric => symmetric d d'
  | InsertDelete => insert_delete d d'
  | ChangeOne => of_size limit d /\ change_one d d'
  | Hamming => of_size limit d /\ hamming d d'
  end.

(** The results on neighbours are close; if the dataset is permuted first, as a coupling of its orders. *)
Definition protected (permutes : bool) (r : relation) (limit : option N) {X A} (f : list X -> A)
    (close : A -> A -> Prop) :=
  forall d d',
    neighbours r limit d d'
    -> if permutes then coupled (orders d) (orders d') (fun o o' => close (f o) (f o')) else close (f d) (f d').

Notation within_of b := (fun s s' : R => Rabs (s - s') <= b).

(** Only an unsized dataset is cut. *)
Definition cut (r : relation) (n : N) {X} (d : list X) := if is_sized r then d else firstn (N.to_nat n) d.

Lemma order_does_not_matter r limit X A (f : list X -> A) (close : bool -> A -> A -> Prop) :
  (forall d d', symmetric d d' -> close false (f d) (f d'))
  -> (forall d d', change_one d d' -> close true (f d) (f d'))
  -> protected false r limit f (close (is_sized r)).
Proof.
intros S C d d'. destruct r; simpl; intros H; [now apply S|now apply S, insert_delete_is_symmetric|now apply C|].
now apply C, hamming_is_change_one.
Qed.

Theorem wide_claim r T limit L U :
  wide_allowed T limit L U = true
  -> forall X (c : X -> Z),
       (forall x, Z.max (Qceiling L) (least T) <= c x <= Z.min (Qfloor U) (greatest T))%Z
       -> protected false r limit (fun d => IZR (wide c d))
            (within_of (Q2R (Bounds.wide_sensitivity (is_sized r) (least T) (greatest T) L U))).
Proof.
intros H X c W. destruct (wide_keeps_its_promise T limit L U H) as [_ P]. destruct (P X c W) as (S & C & _).
exact (order_does_not_matter r limit X R (fun d => IZR (wide c d))
  (fun sized => within_of (Q2R (Bounds.wide_sensitivity sized (least T) (greatest T) L U))) S C).
Qed.

(** The same where the sum itself depends on whether the size is public. *)
Ltac under_every_relation r S C :=
  intros d d'; destruct r; cbn [neighbours is_sized] in *; intros N;
  [now apply S | now apply S, insert_delete_is_symmetric | now apply C | now apply C, hamming_is_change_one].

Theorem grid_claim r T limit L U D offset J K :
  grid_allowed T limit L U = true
  -> whole_grid (is_sized r) (smallest_exponent T) L U = (D, offset, J, K)
  -> forall X (q : X -> Z),
       (forall x, J <= q x <= K)%Z
       -> protected false r limit (grid_sum_of (Q2R D) (Q2R offset) q)
            (within_of (Q2R (Bounds.grid_sensitivity (is_sized r) (smallest_exponent T) L U))).
Proof.
intros H G X q W. destruct (grid_keeps_its_promise T _ limit L U D offset J K H G) as (_ & _ & _ & P).
destruct (P X q W) as (S & S' & _). under_every_relation r S' S.
Qed.

Theorem stepped_claim r limit D L U J K :
  stepped_allowed limit D L U = true
  -> Bounds.inward L U D (Bounds.stepped_offset (is_sized r) L U) = (J, K)
  -> forall X (q : X -> Z),
       (forall x, J <= q x <= K)%Z
       -> protected false r limit (grid_sum_of (Q2R D) (Q2R (Bounds.stepped_offset (is_sized r) L U)) q)
            (within_of (Q2R (Bounds.stepped_sensitivity (is_sized r) D L U))).
Proof.
intros H G X q W. destruct (stepped_keeps_its_promise _ limit D L U J K H G) as (_ & P).
destruct (P X q W) as (S & S'). under_every_relation r S' S.
Qed.

(** Integers in their own type. *)
Section Integers.
Variables (r : relation) (T : integer_type) (limit : option N) (L U : Q).

(** The records: integers in [l, h], whatever else a row holds. *)
Definition records {X} (l h : Z) (c : X -> Z) :=
  (L == inject_Z l)%Q /\ (U == inject_Z h)%Q /\ forall x, (l <= c x <= h)%Z.

Lemma same_bounds {X} l h l' h' (c : X -> Z) :
  records l h c -> (L == inject_Z l')%Q -> (U == inject_Z h')%Q -> l = l' /\ h = h' /\ forall x, (l <= c x <= h)%Z.
Proof.
intros (E & F & W) E' F'. rewrite E in E'. rewrite F in F'. apply (proj1 (inject_Z_injective _ _)) in E', F'.
split; [exact E'|split; [exact F'|exact W]].
Qed.

Theorem checked_claim :
  checked_allowed T limit L U = true
  -> exists n,
       limit = Some n
       /\ forall X (c : X -> Z) l h,
            records l h c
            -> protected (cut_permutes r) r limit (fun d => value (checked (least T) (greatest T) (map c (cut r n d))))
                 (within_of (Q2R (Bounds.checked_sensitivity (is_sized r) (inject_Z l) (inject_Z h)))).
Proof.
intros H. destruct limit as [n|]; [|discriminate]. exists n. split; [reflexivity|]. intros X c l h B.
destruct (checked_keeps_its_promise T n L U H) as (l' & h' & E & F & P).
destruct (same_bounds l h l' h' c B E F) as (<- & <- & W). destruct (P X c W) as (C & I & S). cbv zeta in *.
assert (C' : forall d d', length d = N.to_nat n -> change_one d d'
  -> Rabs (value (checked (least T) (greatest T) (map c d)) - value (checked (least T) (greatest T) (map c d')))
     <= Q2R (Bounds.checked_sensitivity true (inject_Z l) (inject_Z h))).
{ intros d d' Hd N. destruct (C d d' Hd N) as (s & s' & -> & -> & A). exact A. }
intros d d'. destruct r; cbn [neighbours cut_permutes is_sized cut of_size] in *; intros N.
- now apply S.
- now apply I.
- destruct N. now apply C'.
- destruct N. now apply C', hamming_is_change_one.
Qed.

Theorem split_checked_claim :
  split_checked_allowed (is_sized r) T limit L U = true
  -> exists n,
       limit = Some n
       /\ forall X (c : X -> Z) l h,
            records l h c
            -> protected (cut_permutes r) r limit (split_checked (least T) (greatest T) X c (N.to_nat n))
                 (within_of (Q2R (Bounds.ideal (is_sized r) (inject_Z l) (inject_Z h)))).
Proof.
intros H. destruct limit as [n|]; [|unfold split_checked_allowed in H; rewrite Bool.andb_false_r in H; discriminate].
exists n. split; [reflexivity|]. intros X c l h B.
destruct (split_checked_keeps_its_promise (is_sized r) T n L U H) as (Sz & l' & h' & E & F & P).
destruct (same_bounds l h l' h' c B E F) as (<- & <- & W). destruct (P X c W) as (I & S). cbv zeta in *.
intros d d'. destruct r; cbn [neighbours cut_permutes is_sized] in *; intros N; auto; discriminate.
Qed.

Hypothesis bounds : integer_bounds T L U = true.

Theorem modular_claim X (c : X -> Z) l h :
  records l h c
  -> protected false r limit (fun d => Modular.modular (least T) (greatest T) (map c d))
       (fun s s' => IZR (Modular.circle (least T) (greatest T) s s')
            <= Q2R (Bounds.modular_sensitivity (is_sized r) (bits T) (inject_Z l) (inject_Z h))).
Proof.
intros B. destruct (integer_sums_keep_their_promises T L U bounds) as (l' & h' & E & F & P).
destruct (same_bounds l h l' h' c B E F) as (<- & <- & W). destruct (P X c W) as (S & C & _). cbv zeta in *.
exact (order_does_not_matter r limit X Z (fun d => Modular.modular (least T) (greatest T) (map c d))
  (fun sized s s' => IZR (Modular.circle (least T) (greatest T) s s')
       <= Q2R (Bounds.modular_sensitivity sized (bits T) (inject_Z l) (inject_Z h))) S C).
Qed.

Theorem saturating_claim X (c : X -> Z) l h :
  records l h c
  -> protected (saturating_permutes r L U) r limit (fun d => IZR (saturating (least T) (greatest T) (map c d)))
       (within_of (Q2R (Bounds.ideal (is_sized r) (inject_Z l) (inject_Z h)))).
Proof.
intros B. destruct (integer_sums_keep_their_promises T L U bounds) as (l' & h' & E & F & P).
destruct (same_bounds l h l' h' c B E F) as (<- & <- & W).
destruct (P X c W) as (_ & _ & ID & Ha & PS & PC & O & _). cbv zeta in *. unfold saturating_permutes.
intros d d'. destruct r; cbn [neighbours is_ordered is_sized negb andb] in *; intros N; auto;
  try (destruct N; now apply Ha);
  destruct (Bounds.one_sign L U); cbn [negb] in *.
- now apply O.
- now apply PS.
- now apply O.
- now apply PC.
Qed.

Theorem split_claim X (c : X -> Z) l h :
  records l h c
  -> protected false r limit (fun d => IZR (split (least T) (greatest T) (map c d)))
       (within_of (Q2R (Bounds.ideal (is_sized r) (inject_Z l) (inject_Z h)))).
Proof.
intros B. destruct (integer_sums_keep_their_promises T L U bounds) as (l' & h' & E & F & P).
destruct (same_bounds l h l' h' c B E F) as (<- & <- & W).
destruct (P X c W) as (_ & _ & _ & _ & _ & _ & _ & S & C). cbv zeta in *.
exact (order_does_not_matter r limit X R (fun d => IZR (split (least T) (greatest T) (map c d)))
  (fun sized => within_of (Q2R (Bounds.ideal sized (inject_Z l) (inject_Z h)))) S C).
Qed.

Theorem exact_where_it_fits X (c : X -> Z) l h d n :
  records l h c -> limit = Some n -> stays_in_type T limit L U = true -> (length d <= N.to_nat n)%nat
  -> let s := sumZ (map c d) in
     Modular.modular (least T) (greatest T) (map c d) = s
     /\ saturating (least T) (greatest T) (map c d) = s
     /\ split (least T) (greatest T) (map c d) = s.
Proof.
intros (E & F & W) -> H Hd. unfold stays_in_type, fits in H. apply andb_prop in H as [H1 H2].
apply Qle_bool_iff in H1, H2. rewrite F in H1. rewrite E in H2. unfold count in H1, H2.
rewrite <- inject_Z_mult, <- Zle_Qle in H1, H2.
destruct (integer_bounds_are T L U bounds) as (_ & Z0 & _).
assert (I : in_bounds l h (map c d)).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). apply W. }
assert (Z.of_nat (length (map c d)) <= Z.of_N n)%Z by (rewrite map_length; lia). cbv zeta. repeat split.
- now apply (Modular.modular_exact (least T) (greatest T) Z0 l h (Z.of_N n)).
- now apply (saturating_exact (least T) (greatest T) Z0 l h (Z.of_N n)).
- apply (split_exact (least T) (greatest T) Z0 l h (Z.of_N n)); auto. lia.
Qed.
End Integers.

(** Floats added as floats: any sum whose promise is kept (iterated, pairwise, numpy_pairwise, kahan), as it is, split,
    and shifted. *)
Theorem float_sum_claim r T A L U n f known cut_error F :
  kept T A L U (N.to_nat n) f known cut_error F
  -> forall X (v : X -> R),
       (forall x, is_value T (v x))
       -> protected (cut_permutes r) r (Some n) (fun d => f (map (clamped L U v) (cut r n d)))
            (within_of (Q2R (Bounds.from_accuracy (is_sized r) (if is_sized r then known else cut_error) L U))).
Proof.
intros [P _] X v V. destruct (P X v V) as (C & I & S & _).
intros d d'. destruct r; cbn [neighbours cut_permutes is_sized cut of_size] in *; intros N.
- now apply S.
- now apply I.
- destruct N. now apply C.
- destruct N. now apply C, hamming_is_change_one.
Qed.

Theorem split_sum_claim r T A L U n f known cut_error F :
  split_allowed (is_sized r) L U = true -> kept T A L U (N.to_nat n) f known cut_error F
  -> forall X (v : X -> R),
       (forall x, is_value T (v x))
       -> protected (cut_permutes r) r (Some n) (split_sum f (N.to_nat n) X (clamped L U v))
            (within_of (Q2R (Bounds.split_from_accuracy cut_error L U))).
Proof.
intros H K X v V. destruct (split_keeps_its_promise T A _ L U _ f known cut_error F H K) as [S P].
destruct (P X v V) as [I Y].
intros d d'. destruct r; cbn [neighbours cut_permutes is_sized] in *; intros N; auto; discriminate.
Qed.

Theorem shifted_sum_claim r T A L U n f known cut_error F :
  let top := Bounds.shifted_upper (mantissa T) (smallest_exponent T) L U in
  shift_allowed (is_sized r) T L U = true -> kept T A 0 top (N.to_nat n) f known cut_error F
  -> forall X (v : X -> R),
       (forall x, is_value T (v x))
       -> protected (cut_permutes r) r (Some n)
            (fun d => f (map (moved (mantissa T + 1) (smallest_exponent T) X (clamped L U v) (Q2R L)) d))
            (within_of (Q2R (Bounds.from_accuracy true known 0 top))).
Proof.
intros top H K X v V. destruct (shifted_keeps_its_promise T A _ L U _ f known cut_error F H K) as [S P].
destruct (P X v V) as [C _].
intros d d'. destruct r; cbn [neighbours cut_permutes is_sized of_size] in *; intros N; try discriminate; destruct N.
- now apply C.
- now apply C, hamming_is_change_one.
Qed.

(** Rounded toward zero; n = 0 stands for a private one, which does not count. *)
Definition public_size (limit : option N) := match limit with Some n => N.to_nat n | None => O end.

Theorem toward_zero_claim r T limit L U :
  toward_zero_allowed (is_sized r) T limit L U = true
  -> forall X (v : X -> R),
       (forall x, is_value T (v x))
       -> protected (toward_zero_permutes r) r limit
            (fun d => total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T)) (map (clamped L U v) d))
            (within_of (Q2R (Bounds.toward_zero_sensitivity (is_sized r) (mantissa T) (public_size limit) L U))).
Proof.
intros H X v V. destruct (toward_zero_keeps_its_promise T _ limit L U H) as [P _].
destruct (P X v V) as [I S]. cbv zeta in *.
intros d d'. destruct r; cbn [neighbours toward_zero_permutes is_ordered is_sized negb] in *; intros N.
- now apply I.
- now apply I.
- destruct (S eq_refl) as (n & -> & _ & C). cbn [of_size public_size] in *. destruct N. now apply C.
- destruct (S eq_refl) as (n & -> & C & _). cbn [of_size public_size] in *. destruct N. now apply C.
Qed.

Theorem shifted_toward_zero_claim r T limit L U :
  let top := Bounds.shifted_upper (mantissa T) (smallest_exponent T) L U in
  shift_allowed (is_sized r) T L U = true -> toward_zero_allowed (is_sized r) T limit 0 top = true
  -> forall X (v : X -> R),
       (forall x, is_value T (v x))
       -> protected (toward_zero_permutes r) r limit
            (fun d =>
               total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T))
                 (map (moved (mantissa T + 1) (smallest_exponent T) X (clamped L U v) (Q2R L)) d))
            (within_of (Q2R (Bounds.toward_zero_sensitivity true (mantissa T) (public_size limit) 0 top))).
Proof.
intros top H Z X v V. destruct (shifted_toward_zero_keeps_its_promise T _ limit L U H Z) as (n & -> & P).
destruct (P X v V) as [C C']. cbv zeta in *. cbn [public_size]. unfold shift_allowed in H.
intros d d'. destruct r; cbn [neighbours toward_zero_permutes is_ordered is_sized negb of_size] in *; intros N;
  try discriminate; destruct N; [now apply C'|now apply C].
Qed.

Theorem toward_zero_is_accurate sized T n L U :
  toward_zero_allowed sized T (Some n) L U = true -> stays_finite T (Some n) L U = true
  -> forall X (v : X -> R) d,
       (forall x, is_value T (v x)) -> (length d <= N.to_nat n)%nat
       -> Rabs (total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T)) (map (clamped L U v) d)
              - sum (map (clamped L U v) d))
            <= Q2R (Bounds.toward_zero_accuracy (mantissa T) (N.to_nat n) L U).
Proof.
intros H F X v d V Hd. unfold toward_zero_allowed in H. apply andb_prop in H as [H _].
destruct (float_bounds_are T L U H) as (HT & k1 & e0 & LU & VL & VU).
destruct (largest_is_a_value T HT) as [O1 O2].
apply Q2R_le in F. rewrite Q2R_mult, Q2R_count, Q2R_magnitude in F.
apply (toward_zero_accuracy_promise (mantissa T) (smallest_exponent T) k1 X _ L U (N.to_nat n)
  (fun x => clamped_within L U v x LU) (fun x => clamped_values T L U v x VL VU (V x)) _ O1 O2 d F Hd).
Qed.

Theorem shifted_toward_zero_is_accurate sized T n L U :
  let top := Bounds.shifted_upper (mantissa T) (smallest_exponent T) L U in
  shift_allowed sized T L U = true -> stays_finite T (Some n) 0 top = true
  -> forall X (v : X -> R) d,
       (forall x, is_value T (v x)) -> length d = N.to_nat n
       -> Rabs
            (total (mantissa T + 1) (smallest_exponent T) (Q2R (largest T))
               (map (moved (mantissa T + 1) (smallest_exponent T) X (clamped L U v) (Q2R L)) d)
             + INR (N.to_nat n) * Q2R L - sum (map (clamped L U v) d))
          <= Q2R
               (Bounds.shifted_accuracy (mantissa T) (N.to_nat n)
                  (Bounds.toward_zero_accuracy (mantissa T) (N.to_nat n) 0 top) L U).
Proof.
intros top H F X v d V Hd. unfold shift_allowed in H. apply andb_prop in H as [H _]. apply andb_prop in H as [_ H].
destruct (float_bounds_are T L U H) as (HT & k1 & _ & LU & VL & VU). destruct (largest_is_a_value T HT) as [O1 O2].
apply Q2R_le in F. rewrite Q2R_mult, Q2R_count, Q2R_magnitude in F.
destruct (shifted_toward_zero_promise (mantissa T) (smallest_exponent T) k1 X _ L U LU
  (fun x => clamped_within L U v x LU) VL (fun x => clamped_values T L U v x VL VU (V x)) (N.to_nat n) _ O1 O2)
  as (_ & _ & A).
now apply A.
Qed.

(** The default for arrays of floats, whole: the kernel's integers of every double, NaN and infinities included, added
    exactly. *)
Theorem kernel_claim r T limit L U D offset J K c :
  grid_allowed T limit L U = true
  -> whole_grid (is_sized r) (smallest_exponent T) L U = (D, offset, J, K)
  -> in_doubles (is_sized r) T L U = Some c
  -> let is (z : Bits.binary64) r := Binary.is_finite 53 1024 z = true /\ Binary.B2R 53 1024 z = r in
     forall base64 scale64 more64 low64 high64,
       is base64 (Q2R (base c)) -> is scale64 (bpow radix2 (scale c)) -> is more64 (bpow radix2 (more c))
       -> is low64 (GridKernel.anchor 53 + IZR (least_double c))
       -> is high64 (GridKernel.anchor 53 + IZR (greatest_double c))
       -> protected false r limit
            (grid_sum_of (Q2R D) (Q2R offset)
               (fun x =>
                  Binary64.block64 base64 scale64 more64 low64 high64 (least_double c) (greatest_double c) x
                    + shift c)%Z)
            (within_of (Q2R (Bounds.grid_sensitivity (is_sized r) (smallest_exponent T) L U))).
Proof.
intros H G C is base64 scale64 more64 low64 high64 Hb Hs Hm Hl Hh. apply (grid_claim r T limit L U D offset J K H G).
intros x.
rewrite (doubles_are_exact T _ limit L U D offset J K c H G C base64 scale64 more64 low64 high64 x Hb Hs Hm Hl Hh).
destruct (grid_keeps_its_promise T _ limit L U D offset J K H G) as (_ & W & _).
assert (JK : (J <= K)%Z) by (generalize (W 0); lia).
destruct x as [s|s|s pl Hpl|s mx ex Hx]; cbn [q_of_double]; try apply W. destruct s; lia.
Qed.
