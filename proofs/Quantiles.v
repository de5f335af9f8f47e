(** A quantile is chosen among public candidates (src/soundsum/privacy/choice.py): the candidates' errors, how far one unit
    moves them, and the privacy of permute-and-flip and of the exponential mechanism.

    Page: docs/theorems/quantiles.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool Arith Permutation.
From Soundsum Require Import Programs Samplers Coins Laplace Private Composition Theta Renyi Relations Conditions Claims Shares Ranges Choices Released.
Import ListNotations.
Open Scope R_scope.

(** * Errors *)
(** Of a candidate c for the quantile p/q among n values, of which `below` are less than c and `upto` not above it, in
    q-ths of a rank. *)
Definition error (p q below upto n : Z) : Z := Z.max 0 (Z.max (q * below - p * n) (p * n - q * upto)).

Definition below_it (c : Z) (l : list Z) : Z := Z.of_nat (length (filter (fun x => x <? c)%Z l)).
Definition upto_it (c : Z) (l : list Z) : Z := Z.of_nat (length (filter (fun x => x <=? c)%Z l)).

Definition error_of (p q : Z) (l : list Z) (c : Z) : Z := error p q (below_it c l) (upto_it c l) (Z.of_nat (length l)).
Definition errors (p q : Z) (candidates l : list Z) : list Z := map (error_of p q l) candidates.

(** `find_errors`, from the counts of all cells in order; `points` are the candidates' cells. *)
Fixpoint sum_Z (l : list Z) : Z := match l with [] => 0 | x :: l => x + sum_Z l end%Z.
Definition errors_of_counts (p q : Z) (points : list nat) (counts : list Z) : list Z :=
  map (fun i => error p q (sum_Z (firstn i counts)) (sum_Z (firstn (S i) counts)) (sum_Z counts)) points.

(** The most that one value moves an error, and how many times as long the range of all changes is: for the quantiles 0 and
    1 all have one sign. *)
Definition most (p q : Z) : Z := Z.max p (q - p).
Definition double (p q : Z) : Z := if (p =? 0)%Z || (p =? q)%Z then 1%Z else 2%Z.

Open Scope Z_scope.
Definition most_groups (u : privacy_unit) : Z := Z.min (max_groups u) (match groups u with Some m => m | None => 1 end).
Definition has_more_groups (u : privacy_unit) : bool := match groups u with Some m => negb (m =? 1) | None => false end.

(** `RankNorms.span` and `RankNorms.squares`. *)
Definition rank_span (u : privacy_unit) (p q : Z) (sized : bool) : Z :=
  let d := double p q in
  match max_rows u with
  | Some r => d * (r * most p q) * most_groups u
  | None => if sized then Z.max (d * q) (if has_more_groups u then 2 * (d * most p q) else 0) else d * most p q
  end.

Definition rank_squares (u : privacy_unit) (p q : Z) (sized : bool) : Z :=
  let d := double p q in
  match max_rows u with
  | Some r => (d * (r * most p q)) ^ 2 * most_groups u
  | None => if sized then Z.max ((d * q) ^ 2) (if has_more_groups u then 2 * (d * most p q) ^ 2 else 0) else (d * most p q) ^ 2
  end.
Close Scope Z_scope.

Lemma count_app (t : Z -> bool) l l' : length (filter t (l ++ l')) = (length (filter t l) + length (filter t l'))%nat.
Proof. now rewrite filter_app, app_length. Qed.

Lemma count_most (t : Z -> bool) l : (length (filter t l) <= length l)%nat.
Proof. induction l as [|x l IH]; [auto|]. cbn [filter length]. destruct (t x); cbn [length]; lia. Qed.

Lemma below_upto c l : (0 <= below_it c l <= upto_it c l)%Z.
Proof.
unfold below_it, upto_it. split; [lia|]. apply inj_le. induction l as [|x l IH]; [auto|]. cbn [filter].
destruct (Z.ltb_spec x c), (Z.leb_spec x c); cbn [length]; lia.
Qed.

(** k values are added. *)
Lemma added_values p q l more c :
  (0 <= p <= q)%Z -> let k := Z.of_nat (length more) in
  (- (k * most p q) <= error_of p q (l ++ more) c - error_of p q l c <= k * most p q)%Z
  /\ (p = 0 \/ p = q -> 0 <= error_of p q (l ++ more) c - error_of p q l c)%Z.
Proof.
intros P k. unfold error_of, error. assert (B : (below_it c (l ++ more) = below_it c l + below_it c more)%Z)
  by (unfold below_it; rewrite count_app; lia).
assert (U : (upto_it c (l ++ more) = upto_it c l + upto_it c more)%Z) by (unfold upto_it; rewrite count_app; lia).
assert (N : (Z.of_nat (length (l ++ more)) = Z.of_nat (length l) + k)%Z) by (unfold k; rewrite app_length; lia).
rewrite B, U, N. assert (A1 := below_upto c l). assert (A2 := below_upto c more).
assert (A3 : (upto_it c more <= k)%Z) by (unfold upto_it, k; apply inj_le, count_most).
assert (A4 : (upto_it c l <= Z.of_nat (length l))%Z) by (unfold upto_it; apply inj_le, count_most).
set (b := below_it c l) in *. set (u := upto_it c l) in *. set (b' := below_it c more) in *. set (u' := upto_it c more) in *.
set (n := Z.of_nat (length l)) in *. set (x := (q * b - p * n)%Z). set (y := (p * n - q * u)%Z).
replace (q * (b + b') - p * (n + k))%Z with (x + (q * b' - p * k))%Z by (unfold x; ring).
replace (p * (n + k) - q * (u + u'))%Z with (y + (p * k - q * u'))%Z by (unfold y; ring).
assert (M1 : (p <= most p q)%Z) by (unfold most; lia). assert (M2 : (q - p <= most p q)%Z) by (unfold most; lia).
assert (X : (- (k * most p q) <= q * b' - p * k <= k * most p q)%Z) by (split; nia).
assert (Y : (- (k * most p q) <= p * k - q * u' <= k * most p q)%Z) by (split; nia).
split; [lia|]. intros [E|E].
- assert ((y <= 0)%Z) by (unfold y; nia). assert ((p * k - q * u' <= 0)%Z) by nia. assert ((0 <= q * b' - p * k)%Z) by nia. lia.
- assert ((x <= 0)%Z) by (unfold x; nia). assert ((0 <= p * k - q * u')%Z) by nia. assert ((q * b' - p * k <= 0)%Z) by nia. lia.
Qed.

(** One value is changed. *)
Lemma changed_value p q l x y c :
  (0 <= p <= q)%Z ->
  (- q <= error_of p q (x :: l) c - error_of p q (y :: l) c <= q)%Z
  /\ (p = 0 -> x <= y -> 0 <= error_of p q (x :: l) c - error_of p q (y :: l) c)%Z
  /\ (p = q -> x <= y -> error_of p q (x :: l) c - error_of p q (y :: l) c <= 0)%Z.
Proof.
intros P. unfold error_of, error, below_it, upto_it. cbn [filter length].
set (b := Z.of_nat (length (filter (fun x => (x <? c)%Z) l))). set (u := Z.of_nat (length (filter (fun x => (x <=? c)%Z) l))).
set (n := Z.of_nat (S (length l))).
assert (A4 : (u <= n - 1)%Z) by (unfold u, n; generalize (count_most (fun x => (x <=? c)%Z) l); lia).
assert (b0 : (0 <= b)%Z) by (unfold b; lia).
assert (X : forall z, (Z.of_nat (length (if (z <? c)%Z then z :: filter (fun x => (x <? c)%Z) l else filter (fun x => (x <? c)%Z) l))
  = b + (if z <? c then 1 else 0))%Z) by (intros z; unfold b; destruct (z <? c)%Z; cbn [length]; lia).
assert (Y : forall z, (Z.of_nat (length (if (z <=? c)%Z then z :: filter (fun x => (x <=? c)%Z) l else filter (fun x => (x <=? c)%Z) l))
  = u + (if z <=? c then 1 else 0))%Z) by (intros z; unfold u; destruct (z <=? c)%Z; cbn [length]; lia).
rewrite !X, !Y. clear X Y. assert (Q0 : (0 <= q * b)%Z) by nia. assert (Q1 : (q * u <= q * n - q)%Z) by nia.
assert (Q2 : (b <= u)%Z) by (generalize (below_upto c l); unfold below_it, upto_it; fold b u; lia).
assert (Q3 : (q * b <= q * u)%Z) by nia. rewrite !Z.mul_add_distr_l.
destruct (Z.ltb_spec x c), (Z.ltb_spec y c), (Z.leb_spec x c), (Z.leb_spec y c); try lia; rewrite ?Z.mul_1_r, ?Z.mul_0_r;
  (split; [lia|split; intros -> ?; lia]).
Qed.

(** * A column of values, and the units that move it *)
Open Scope Z_scope.

Lemma same_values p q l l' c : Permutation l l' -> error_of p q l c = error_of p q l' c.
Proof.
intros P. unfold error_of, below_it, upto_it. rewrite (Permutation_length P).
assert (F : forall t : Z -> bool, length (filter t l) = length (filter t l')).
{ intros t. clear - P. induction P; cbn [filter]; auto; try congruence.
  - destruct (t x); cbn [length]; congruence.
  - destruct (t x), (t y); reflexivity. }
now rewrite !F.
Qed.

Lemma double_pos p q : 1 <= double p q.
Proof. unfold double. destruct (_ || _); lia. Qed.

Lemma most_at_most_q p q : 0 <= p <= q -> 0 <= most p q <= q.
Proof. unfold most. lia. Qed.

Lemma map_both A (f g : A -> Z) (P : Z -> Z -> Prop) l : (forall x, P (f x) (g x)) -> Forall2 P (map f l) (map g l).
Proof. intros H. induction l; constructor; auto. Qed.

Lemma unmoved candidates p q l l' : Permutation l l' -> within_range 0 (errors p q candidates l) (errors p q candidates l').
Proof. intros P. exists 0. apply map_both. intros c. rewrite (same_values p q l l' c P). lia. Qed.

Lemma added_range candidates p q l l' more :
  0 <= p <= q -> Permutation l' (l ++ more)
  -> within_range (double p q * (Z.of_nat (length more) * most p q)) (errors p q candidates l) (errors p q candidates l').
Proof.
intros P H. set (k := Z.of_nat (length more)). assert (K : 0 <= k) by (unfold k; lia). assert (M := most_at_most_q p q P).
assert (km : 0 <= k * most p q) by nia.
unfold double. destruct ((p =? 0) || (p =? q)) eqn:E.
- exists 0. apply map_both. intros c. rewrite (same_values p q l' _ c H). destruct (added_values p q l more c P) as [B S].
  fold k in B. apply orb_prop in E. rewrite !Z.eqb_eq in E. specialize (S E). lia.
- exists (- (k * most p q)). apply map_both. intros c. rewrite (same_values p q l' _ c H).
  destruct (added_values p q l more c P) as [B _]. fold k in B. lia.
Qed.

Lemma changed_range candidates p q l l' w x y :
  0 <= p <= q -> Permutation l (x :: w) -> Permutation l' (y :: w)
  -> within_range (double p q * q) (errors p q candidates l) (errors p q candidates l').
Proof.
intros P H H'. assert (B := fun c => changed_value p q w y x c P). assert (B' := fun c => changed_value p q w x y c P).
assert (S : forall c, error_of p q l c = error_of p q (x :: w) c) by (intros; now apply same_values).
assert (S' : forall c, error_of p q l' c = error_of p q (y :: w) c) by (intros; now apply same_values).
unfold double. destruct ((p =? 0) || (p =? q)) eqn:E.
- apply orb_prop in E. rewrite !Z.eqb_eq in E.
  assert (Up : forall c, 0 <= error_of p q (y :: w) c - error_of p q (x :: w) c \/ True) by auto.
  destruct (Z.le_ge_cases x y) as [O|O], E as [E|E].
  + exists (- q). apply map_both. intros c. rewrite S, S'. destruct (B c) as (? & ? & ?), (B' c) as (? & Z0 & _).
    specialize (Z0 E O). lia.
  + exists 0. apply map_both. intros c. rewrite S, S'. destruct (B c) as (? & ? & ?), (B' c) as (? & _ & Z1).
    specialize (Z1 E O). lia.
  + exists 0. apply map_both. intros c. rewrite S, S'. destruct (B c) as (? & Z0 & _). specialize (Z0 E O). lia.
  + exists (- q). apply map_both. intros c. rewrite S, S'. destruct (B c) as (? & _ & Z1). specialize (Z1 E O). lia.
- exists (- q). apply map_both. intros c. rewrite S, S'. destruct (B c) as [? _]. lia.
Qed.

Section Columns.
Variables (X G : Type) (listed : list G).

(** The values that count, of what a record, or all rows of a person, adds to each group. *)
Variable adds : X -> G -> list Z.
Variables p q : Z.
Hypothesis quantile : 0 <= p <= q.
Hypothesis q_pos : 1 <= q.
Variable candidates : list Z.

Definition values (d : list X) (g : G) : list Z := flat_map (fun x => adds x g) d.
Definition all_errors (d : list X) : list (list Z) := map (fun g => errors p q candidates (values d g)) listed.

Definition own (x : X) (g : G) : Z := Z.of_nat (length (adds x g)).
Definition all_own (x : X) : Z := fold_right Z.add 0 (map (own x) listed).

Lemma values_perm d d' g : Permutation d d' -> Permutation (values d g) (values d' g).
Proof. intros P. unfold values. now apply Permutation_flat_map. Qed.

Lemma each_group ranges (r : G -> Z) d d' :
  ranges = map r listed -> (forall g, 0 <= r g) -> (forall g, within_range (r g) (errors p q candidates (values d g)) (errors p q candidates (values d' g)))
  -> ranges_within ranges (all_errors d) (all_errors d').
Proof.
intros -> R W. unfold all_errors. induction listed as [|g l IH]; cbn [map ranges_within]; auto.
Qed.

Lemma added_unit d d' x :
  Permutation d' (x :: d)
  -> ranges_within (map (fun g => double p q * (own x g * most p q)) listed) (all_errors d) (all_errors d').
Proof.
intros P. apply (each_group _ (fun g => double p q * (own x g * most p q))); auto.
- intros g. assert (D := double_pos p q). assert (M := most_at_most_q p q quantile). unfold own. nia.
- intros g. apply added_range; auto. rewrite (values_perm _ _ g P). unfold values. cbn [flat_map]. apply Permutation_app_comm.
Qed.

Definition changed (x y : X) (g : G) : Z :=
  match adds x g, adds y g with
  | [], l | l, [] => double p q * (Z.of_nat (length l) * most p q)
  | _, _ => double p q * q
  end.

Lemma changed_unit d d' w x y :
  (forall x g, own x g <= 1) -> Permutation d (x :: w) -> Permutation d' (y :: w)
  -> ranges_within (map (changed x y) listed) (all_errors d) (all_errors d').
Proof.
intros One P P'. assert (D := double_pos p q). assert (M := most_at_most_q p q quantile).
apply (each_group _ (changed x y)); auto.
- intros g. unfold changed. destruct (adds x g); [nia|]. destruct (adds y g); nia.
- intros g. assert (V := values_perm _ _ g P). assert (V' := values_perm _ _ g P'). unfold values in V, V' at 2. cbn [flat_map] in V, V'.
  fold (values d g) in V. change (flat_map (fun x => adds x g) w) with (values w g) in V, V'.
  assert (Ox := One x g). assert (Oy := One y g). unfold own in Ox, Oy. unfold changed.
  destruct (adds x g) as [|a [|]] eqn:Ex; cbn [length] in Ox; try lia.
  + cbn [app] in V. apply added_range; auto. rewrite V', V. apply Permutation_app_comm.
  + destruct (adds y g) as [|b [|]] eqn:Ey; cbn [length] in Oy; try lia; cbn [app] in V, V'.
    * apply within_range_sym. apply (added_range _ _ _ _ _ [a]); auto. rewrite V, V'. apply (Permutation_app_comm [a]).
    * now apply (changed_range candidates p q _ _ (values w g) a b).
Qed.

(** ** How much the ranges add up to *)
Lemma sum_le (f g : G -> Z) l : (forall x, f x <= g x) -> fold_right Z.add 0 (map f l) <= fold_right Z.add 0 (map g l).
Proof. intros H. induction l as [|x l IH]; cbn [map fold_right]; [lia|]. specialize (H x). lia. Qed.

Lemma sum_scal (k : Z) (f : G -> Z) l : fold_right Z.add 0 (map (fun x => k * f x) l) = k * fold_right Z.add 0 (map f l).
Proof. induction l as [|x l IH]; cbn [map fold_right]; [lia|]. rewrite IH. ring. Qed.

Lemma sum_nonneg (f : G -> Z) l : (forall x, 0 <= f x) -> 0 <= fold_right Z.add 0 (map f l).
Proof. intros H. induction l as [|x l IH]; cbn [map fold_right]; [lia|]. specialize (H x). lia. Qed.

(** Two records, each in one group at most: in the same one, or in two. *)
Lemma two_records (f : G -> Z) (a b : Z) x y l :
  0 <= b <= a -> (forall g, f g = match adds x g, adds y g with
    | [], [] => 0 | [], _ | _, [] => b | _, _ => a end)
  -> (forall g, own x g <= 1) -> (forall g, own y g <= 1)
  -> fold_right Z.add 0 (map (own x) l) <= 1 -> fold_right Z.add 0 (map (own y) l) <= 1
  -> let i := fold_right Z.add 0 (map (own x) l) in let j := fold_right Z.add 0 (map (own y) l) in
     0 <= i /\ 0 <= j
     /\ fold_right Z.add 0 (map f l)
       <= (if i + j =? 0 then 0 else if i + j =? 1 then b else if (length l <=? 1)%nat then a else Z.max a (2 * b)).
Proof.
intros AB F Ox Oy. cbv zeta. induction l as [|g l IH]; cbn [map fold_right length]; intros I J; [cbn; lia|].
assert (N : forall x g, 0 <= own x g) by (intros; unfold own; lia).
assert (Nx := N x g). assert (Ny := N y g). assert (Sx := sum_nonneg (own x) l (N x)). assert (Sy := sum_nonneg (own y) l (N y)).
destruct IH as (_ & _ & IH); [lia|lia|]. specialize (Ox g). specialize (Oy g). rewrite F.
set (i := fold_right Z.add 0 (map (own x) l)) in *. set (j := fold_right Z.add 0 (map (own y) l)) in *.
assert (L : l = [] -> i = 0 /\ j = 0) by (intros ->; auto).
clearbody i j. set (sum := fold_right Z.add 0 (map f l)) in *. clearbody sum.
assert (E : forall z, adds z g = [] /\ own z g = 0 \/ (exists v m, adds z g = v :: m) /\ 1 <= own z g).
{ intros z. unfold own. destruct (adds z g); [left|right]; split; cbn [length]; eauto; lia. }
assert (K : (length l <=? 1)%nat = true -> sum <= (if i + j =? 0 then 0 else if i + j =? 1 then b else a)).
{ intros K. now rewrite K in IH. }
assert (K' : sum <= (if i + j =? 0 then 0 else if i + j =? 1 then b else Z.max a (2 * b))).
{ apply Z.le_trans with (1 := IH). destruct (i + j =? 0), (i + j =? 1), (length l <=? 1)%nat; lia. }
split; [lia|split; [lia|]]. replace (S (length l) <=? 1)%nat with (length l =? 0)%nat by (destruct l; reflexivity).
destruct (E x) as [(-> & Zx)|((v & m & ->) & Zx)], (E y) as [(-> & Zy)|((v' & m' & ->) & Zy)]; rewrite ?Zx, ?Zy;
  destruct (Nat.eqb_spec (length l) 0) as [Z0|Z0]; try (apply length_zero_iff_nil in Z0; destruct (L Z0) as [-> ->]);
  repeat match goal with
  | H : context [?m =? ?n] |- _ => destruct (Z.eqb_spec m n) in H
  | |- context [?m =? ?n] => destruct (Z.eqb_spec m n)
  end; lia.
Qed.

(** A record adds at most one value, in one group; a person at most r in each of some groups. *)
Definition adds_within (u : privacy_unit) : Prop :=
  match max_rows u with
  | None => (forall x g, own x g <= 1) /\ (forall x, all_own x <= 1)
  | Some r => 0 <= r /\ (forall x g, own x g <= r)
      /\ forall x, Z.of_nat (length (filter (fun g => 0 <? own x g) listed)) <= most_groups u
  end.

Definition lists_groups (u : privacy_unit) : Prop :=
  match groups u with Some m => Z.of_nat (length listed) <= m | None => length listed = 1%nat end.

Lemma capped_sum x (f : G -> Z) r :
  0 <= r -> (forall g, f g <= r) -> (forall g, own x g = 0 -> f g = 0)
  -> fold_right Z.add 0 (map f listed) <= r * Z.of_nat (length (filter (fun g => 0 <? own x g) listed)).
Proof.
intros R F N. induction listed as [|g l IH]; cbn [map fold_right filter]; [cbn; lia|]. specialize (F g). specialize (N g).
destruct (Z.ltb_spec 0 (own x g)); cbn [length]; [lia|]. rewrite N; [lia|]. unfold own in *. lia.
Qed.

Lemma sum_squares (f : G -> Z) l : map (fun r => r * r) (map f l) = map (fun g => f g * f g) l.
Proof. now rewrite map_map. Qed.

Lemma ranges_sym ranges es fs : ranges_within ranges es fs -> ranges_within ranges fs es.
Proof.
revert es fs. induction ranges as [|r ranges IH]; intros [|e es] [|f fs] H; cbn [ranges_within] in *; try contradiction; auto.
destruct H as [[R W] H]. repeat split; auto. now apply within_range_sym.
Qed.

Lemma no_ranges d d' :
  Permutation d d' -> ranges_within (map (fun _ => 0) listed) (all_errors d) (all_errors d').
Proof. intros P. apply (each_group _ (fun _ => 0)); auto; [lia|]. intros g. apply unmoved. now apply values_perm. Qed.

Lemma zeros l : fold_right Z.add 0 (map (fun _ : G => 0) l) = 0 /\ fold_right Z.add 0 (map (fun r => r * r) (map (fun _ : G => 0) l)) = 0.
Proof. induction l as [|g l [I J]]; cbn [map fold_right]; [auto|]. rewrite I, J. auto. Qed.

Lemma span_nonneg u sized : adds_within u -> lists_groups u -> 0 <= max_groups u -> 0 <= rank_span u p q sized /\ 0 <= rank_squares u p q sized.
Proof.
intros A L Mg. assert (D := double_pos p q). assert (M := most_at_most_q p q quantile). unfold rank_span, rank_squares, adds_within in *.
destruct (max_rows u) as [r|].
- assert (0 <= most_groups u) by (unfold most_groups, lists_groups in *; destruct (groups u); lia). destruct A as (R & _ & _).
  split; [nia|]. apply Z.mul_nonneg_nonneg; [|lia]. apply Z.pow_nonneg. nia.
- destruct sized; [|split; [nia|apply Z.pow_nonneg; nia]]. split; [nia|]. assert (0 <= (double p q * q) ^ 2) by (apply Z.pow_nonneg; nia). lia.
Qed.

(** One unit moves the errors of all groups within ranges that add up to the span, and whose squares do. *)
Theorem errors_move u r limit d d' :
  adds_within u -> lists_groups u -> 0 <= max_groups u -> (max_rows u <> None -> r = Symmetric) -> neighbours r limit d d'
  -> exists ranges, ranges_within ranges (all_errors d) (all_errors d')
       /\ fold_right Z.add 0 ranges <= rank_span u p q (is_sized r)
       /\ fold_right Z.add 0 (map (fun r => r * r) ranges) <= rank_squares u p q (is_sized r).
Proof.
intros A L Mg Sym N. destruct (span_nonneg u (is_sized r) A L Mg) as [S0 Q0].
assert (D := double_pos p q). assert (M := most_at_most_q p q quantile). set (dd := double p q) in *.
assert (Still : Permutation d d' -> exists ranges, ranges_within ranges (all_errors d) (all_errors d')
  /\ fold_right Z.add 0 ranges <= rank_span u p q (is_sized r)
  /\ fold_right Z.add 0 (map (fun r => r * r) ranges) <= rank_squares u p q (is_sized r)).
{ intros P. exists (map (fun _ => 0) listed). destruct (zeros listed) as [-> ->]. split; [now apply no_ranges|split; assumption]. }
assert (Sums : is_sized r = false -> forall x, let ranges := map (fun g => dd * (own x g * most p q)) listed in
  fold_right Z.add 0 ranges <= rank_span u p q (is_sized r)
  /\ fold_right Z.add 0 (map (fun r => r * r) ranges) <= rank_squares u p q (is_sized r)).
{ intros -> x. cbv zeta. rewrite sum_squares. rewrite sum_scal.
  assert (E : map (fun g => own x g * most p q) listed = map (fun g => most p q * own x g) listed)
    by (apply map_ext; intros; ring). rewrite E, sum_scal.
  unfold adds_within, rank_span, rank_squares in *. destruct (max_rows u) as [rows|].
  - destruct A as (R & C & F). specialize (F x). assert (T := capped_sum x (own x) rows R (C x) ltac:(auto)).
    set (k := Z.of_nat (length (filter _ listed))) in *. fold (all_own x) in T |- *. fold dd. assert (T' : all_own x <= rows * most_groups u) by nia.
    split.
    { replace (dd * (most p q * all_own x)) with (dd * most p q * all_own x) by ring.
      replace (dd * (rows * most p q) * most_groups u) with (dd * most p q * (rows * most_groups u)) by ring.
      apply Z.mul_le_mono_nonneg_l; [nia|exact T']. }
    assert (T2 := capped_sum x (fun g => dd * (own x g * most p q) * (dd * (own x g * most p q))) ((dd * (rows * most p q)) ^ 2)
      ltac:(apply Z.pow_nonneg; nia)). fold k in T2. cbv beta in T2. rewrite Z.pow_2_r in *.
    apply Z.le_trans with (dd * (rows * most p q) * (dd * (rows * most p q)) * k).
    + apply T2; [|intros g ->; ring]. intros g. specialize (C x g). assert (0 <= own x g) by (unfold own; lia).
      assert (M1 : 0 <= own x g * most p q <= rows * most p q) by nia.
      assert (M2 : 0 <= dd * (own x g * most p q) <= dd * (rows * most p q)) by nia. apply Z.mul_le_mono_nonneg; lia.
    + apply Z.mul_le_mono_nonneg_l; [nia|exact F].
  - destruct A as (C & T). specialize (T x). fold (all_own x). fold dd. split; [unfold all_own in *; nia|].
    apply Z.le_trans with (fold_right Z.add 0 (map (fun g => (dd * most p q) ^ 2 * own x g) listed)).
    + apply sum_le. intros g. specialize (C x g). assert (O : own x g = 0 \/ own x g = 1) by (unfold own in *; lia).
      destruct O as [-> | ->]; rewrite Z.pow_2_r; lia.
    + rewrite sum_scal. fold (all_own x). assert (0 <= (dd * most p q) ^ 2) by (apply Z.pow_nonneg; nia). nia. }
assert (Added : is_sized r = false -> forall x, Permutation d' (x :: d) \/ Permutation d (x :: d') -> exists ranges, ranges_within ranges (all_errors d) (all_errors d')
  /\ fold_right Z.add 0 ranges <= rank_span u p q (is_sized r)
  /\ fold_right Z.add 0 (map (fun r => r * r) ranges) <= rank_squares u p q (is_sized r)).
{ intros Z x P. exists (map (fun g => dd * (own x g * most p q)) listed). split; [|apply (Sums Z)].
  destruct P as [P|P]; [now apply added_unit|apply ranges_sym; now apply added_unit]. }
assert (U : if is_sized r then change_one d d' else symmetric d d').
{ destruct r; cbn [neighbours is_sized] in *; auto; try tauto.
  - now apply insert_delete_is_symmetric.
  - destruct N as [_ N]. now apply hamming_is_change_one. }
destruct (is_sized r) eqn:Z.
- apply change_one_cases in U as [P|(x & y & w & P & P')]; [now apply Still|].
  unfold adds_within in A. destruct (max_rows u) as [rows|] eqn:Er; [rewrite (Sym ltac:(discriminate)) in Z; discriminate|].
  destruct A as (C & T). exists (map (changed x y) listed). split; [now apply (changed_unit d d' w)|].
  assert (C1 := two_records (changed x y) (dd * q) (dd * most p q) x y listed ltac:(nia)).
  assert (C2 := two_records (fun g => changed x y g * changed x y g) ((dd * q) ^ 2) ((dd * most p q) ^ 2) x y listed).
  cbv zeta in C1, C2. fold (all_own x) (all_own y) in C1, C2. unfold rank_span, rank_squares. rewrite Er. fold dd.
  assert (F : forall g, changed x y g = match adds x g, adds y g with [], [] => 0 | [], _ | _, [] => dd * most p q | _, _ => dd * q end).
  { intros g. assert (Ox := C x g). assert (Oy := C y g). unfold changed, own in *. fold dd.
    destruct (adds x g) as [|? [|]], (adds y g) as [|? [|]]; cbn [length] in *; lia. }
  destruct C1 as (_ & _ & C1); auto.
  destruct C2 as (_ & _ & C2); auto; [split; [apply Z.pow_nonneg; nia|apply Z.pow_le_mono_l; nia]| |].
  { intros g. rewrite F, !Z.pow_2_r. destruct (adds x g), (adds y g); ring. }
  rewrite <- sum_squares in C2. assert (More : has_more_groups u = true \/ (length listed <= 1)%nat /\ has_more_groups u = false).
  { unfold lists_groups, has_more_groups in *. destruct (groups u) as [m|]; [|right; split; [lia|reflexivity]].
    destruct (Z.eqb_spec m 1); [right; split; [lia|reflexivity]|now left]. }
  assert (0 <= (dd * most p q) ^ 2 <= (dd * q) ^ 2) by (split; [apply Z.pow_nonneg; nia|apply Z.pow_le_mono_l; nia]).
  set (a2 := (dd * q) ^ 2) in *. set (b2 := (dd * most p q) ^ 2) in *. set (a1 := dd * q) in *. set (b1 := dd * most p q) in *.
  assert (0 <= b1 <= a1) by (unfold a1, b1; nia). clearbody a1 b1 a2 b2. set (n := all_own x + all_own y) in *.
  destruct More as [-> | [Short ->]].
  + destruct (n =? 0), (n =? 1), (length listed <=? 1)%nat; lia.
  + rewrite (proj2 (Nat.leb_le _ _) Short) in C1, C2. destruct (n =? 0), (n =? 1); lia.
- apply symmetric_cases in U as [P|(x & [P|P])]; [now apply Still|apply (Added eq_refl x); auto|apply (Added eq_refl x); auto].
Qed.
End Columns.

Arguments values {X G}.
Arguments all_errors {X G}.
Arguments adds_within {X G}.
Arguments lists_groups {G}.

(** * Quantiles of every group, whole *)
(** `RankNorms.choose_by`, for an epsilon. *)
Definition rate_for (epsilon : Q) (u : privacy_unit) (p q : Z) (sized : bool) : Q :=
  Qred (epsilon / inject_Z (rank_span u p q sized)).

Definition choose_at (rate : Q) := permute_and_flip (Zpos (Qden rate)) (Qnum rate).
Definition choose_by_rho_at (rate : Q) := exponential_choice (Zpos (Qden rate)) (Qnum rate).

(** `_floor_root`'s condition: what a rate may cost in rho. *)
Definition rate_keeps (rate rho : Q) (u : privacy_unit) (p q : Z) (sized : bool) : bool :=
  Qle_bool (rate * rate * inject_Z (rank_squares u p q sized)) (8 * rho).

Lemma num_pos (x : Q) : (0 < x)%Q -> 0 < Qnum x.
Proof. destruct x as [n d]. unfold Qlt. cbn [Qnum Qden]. lia. Qed.

Section Quantiles.
Variables (X G : Type) (listed : list G) (adds : X -> G -> list Z) (u : privacy_unit) (r : relation) (limit : option N).
Variables (p q : Z) (candidates : list Z).
Hypothesis quantile : 0 <= p <= q.
Hypothesis q_pos : 1 <= q.
Hypothesis some_candidate : candidates <> [].
Hypothesis unit_is : adds_within listed adds u /\ lists_groups listed u /\ 0 <= max_groups u /\ (max_rows u <> None -> r = Symmetric).

Notation errors_of := (all_errors listed adds p q candidates).
Notation sp := (rank_span u p q (is_sized r)).

Open Scope R_scope.

Theorem quantiles_are_close epsilon d d' :
  (0 < epsilon)%Q -> (0 < sp)%Z -> neighbours r limit d d'
  -> let rate := rate_for epsilon u p q (is_sized r) in
     close (Q2R epsilon) (choose_all (choose_at rate) (errors_of d)) (choose_all (choose_at rate) (errors_of d')).
Proof.
intros E S N. cbv zeta. set (rate := rate_for epsilon u p q (is_sized r)). destruct unit_is as (A & L & Mg & Sym).
destruct (errors_move X G listed adds p q quantile q_pos candidates u r limit d d' A L Mg Sym N) as (ranges & W & Sp & _).
assert (Eq : (rate * inject_Z sp == epsilon)%Q).
{ unfold rate, rate_for. rewrite Qred_correct. field. intros Z. unfold Qeq in Z. cbn in Z. lia. }
assert (R := Qeq_eqR _ _ Eq). rewrite Q2R_mult in R. unfold Q2R at 2 in R. cbn [Qnum Qden inject_Z] in R. rewrite Rinv_1, Rmult_1_r in R.
assert (P : (0 < rate)%Q).
{ unfold rate, rate_for. rewrite Qred_correct. apply Qlt_shift_div_l; [unfold Qlt; cbn [Qnum Qden inject_Z]; lia|]. now rewrite Qmult_0_l. }
rewrite <- R. unfold Q2R at 1. apply choices_are_private with (ranges := ranges); auto; [lia|now apply num_pos].
Qed.

(** For every event of whatever is made of the candidates chosen in all groups. *)
Theorem quantiles_are_private A (read : list nat -> A) epsilon d d' :
  (0 < epsilon)%Q -> (0 < sp)%Z -> neighbours r limit d d'
  -> let rate := rate_for epsilon u p q (is_sized r) in
     private (Q2R epsilon) (then_read (choose_all (choose_at rate) (errors_of d)) read)
       (then_read (choose_all (choose_at rate) (errors_of d')) read).
Proof.
intros E S N. cbv zeta. set (rate := rate_for epsilon u p q (is_sized r)).
assert (P : (0 < Qnum rate)%Z).
{ assert (P : (0 < rate)%Q).
  { unfold rate, rate_for. rewrite Qred_correct. apply Qlt_shift_div_l; [unfold Qlt; cbn [Qnum Qden inject_Z]; lia|]. now rewrite Qmult_0_l. }
  now apply num_pos. }
assert (G0 : forall es, grows (choose_all (choose_at rate) es)) by (intros; apply grows_all; intros; apply grows_choice; [lia|exact P]).
apply close_is_private; auto using grows_read. apply close_map; auto. now apply quantiles_are_close.
Qed.

Theorem quantiles_are_zcdp rate rho d d' :
  (0 < rate)%Q -> rate_keeps rate rho u p q (is_sized r) = true -> neighbours r limit d d'
  -> zcdp_close (list_eq_dec Nat.eq_dec) (Q2R rho)
       (choose_all (choose_by_rho_at rate) (errors_of d)) (choose_all (choose_by_rho_at rate) (errors_of d')).
Proof.
intros P K N. destruct unit_is as (A & L & Mg & Sym).
destruct (errors_move X G listed adds p q quantile q_pos candidates u r limit d d' A L Mg Sym N) as (ranges & W & _ & Sq).
apply Qle_bool_iff in K. apply Qle_Rle in K. rewrite !Q2R_mult in K. unfold Q2R at 3 4 in K. cbn [Qnum Qden inject_Z] in K.
rewrite !Rinv_1, !Rmult_1_r in K.
apply (zcdp_more _ ((IZR (Qnum rate) / IZR (Zpos (Qden rate))) ^ 2 * IZR (rank_squares u p q (is_sized r)) / 8)).
- change (IZR (Qnum rate) / IZR (Zpos (Qden rate))) with (Q2R rate). lra.
- apply exponential_choices_are_zcdp with (ranges := ranges); auto; [lia|now apply num_pos|].
  apply Forall_forall. intros e H. unfold all_errors in H. apply in_map_iff in H as (g & <- & _). unfold errors.
  destruct candidates; [congruence|discriminate].
Qed.
End Quantiles.
