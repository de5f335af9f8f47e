(** Built from sums (docs/theorems/statistics.md): means, variances, histograms, groups and persons.

    Records are integers q in [J, K]. Counted from the middle of the bounds in half steps, one record more moves their
    sum by at most K - J and one changed by at most 2 (K - J); the sum of squares moves by at most (K - J)^2 either way.
    By group, a record added or removed moves the vector of sums by at most M in L1 and in L2; a changed one by at most
    2 M in L1 and by at most max(2 M^2, (K - J)^2) in L2 squared. A person with at most r rows in each of at most g
    groups moves it by at most g r M in L1 and g r^2 M^2 in L2 squared. *)

From Coq Require Import List Permutation ZArith Lia.
From Soundsum Require Import Relations Sums Wide.
Import ListNotations.

Section Integers.
Open Scope Z_scope.
Variables (X : Type) (q : X -> Z) (J K : Z).
Hypothesis q_within : forall x, J <= q x <= K.
Hypothesis JK : J <= K.

Definition centred x := 2 * q x - (J + K).

Theorem mean_symmetric u v : symmetric u v -> Z.abs (wide centred u - wide centred v) <= K - J.
Proof.
intros H.
assert (W : forall x, - (K - J) <= centred x <= K - J) by (intros x; generalize (q_within x); unfold centred; lia).
generalize (wide_symmetric X centred _ _ W u v H). unfold magnitudeZ. lia.
Qed.

Theorem mean_change_one u v : change_one u v -> Z.abs (wide centred u - wide centred v) <= 2 * (K - J).
Proof.
intros H.
assert (W : forall x, - (K - J) <= centred x <= K - J) by (intros x; generalize (q_within x); unfold centred; lia).
generalize (wide_change_one X centred _ _ W u v ltac:(lia) H). lia.
Qed.

Definition count (u : list X) := wide (fun _ => 1) u.

Theorem count_symmetric u v : symmetric u v -> Z.abs (count u - count v) <= 1.
Proof.
intros H. generalize (wide_symmetric X (fun _ => 1) 1 1 ltac:(intros; lia) u v H). unfold count, magnitudeZ. lia.
Qed.

Theorem count_change_one u v : change_one u v -> count u = count v.
Proof.
intros H. generalize (wide_change_one X (fun _ => 1) 1 1 ltac:(intros; lia) u v ltac:(lia) H). unfold count. lia.
Qed.

Definition square x := centred x * centred x.

Lemma square_within x : 0 <= square x <= (K - J) * (K - J).
Proof.
assert (W : - (K - J) <= centred x <= K - J) by (generalize (q_within x); unfold centred; lia).
unfold square. revert W. generalize (centred x) (K - J). intros c w W. nia.
Qed.

Theorem variance_symmetric u v : symmetric u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_symmetric X square _ _ square_within u v H). unfold magnitudeZ. nia.
Qed.

Theorem variance_change_one u v : change_one u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_change_one X square _ _ square_within u v). intros G. apply Z.le_trans with (1 := G ltac:(nia) H). lia.
Qed.

(** Persons: a record is a person's rows, of which some r are kept by looking at that person alone. *)
Variable r : Z.
Hypothesis r_pos : 0 <= r.

Definition person (rows : list X) := clamp (r * Z.min J 0) (r * Z.max K 0) (wide q rows).

Theorem persons_symmetric (u v : list (list X)) :
  symmetric u v -> Z.abs (wide person u - wide person v) <= r * magnitudeZ J K.
Proof.
intros H. assert (W : forall x, r * Z.min J 0 <= person x <= r * Z.max K 0) by (intros x; apply clamp_within; nia).
generalize (wide_symmetric _ person _ _ W u v H). unfold magnitudeZ. nia.
Qed.

(** The clamp changes nothing for a person of at most r rows. *)
Theorem person_exact rows : Z.of_nat (length rows) <= r -> person rows = wide q rows.
Proof.
intros H. unfold person. assert (B : r * Z.min J 0 <= wide q rows <= r * Z.max K 0); [|unfold clamp; lia].
assert (G : forall l, Z.of_nat (length l) * Z.min J 0 <= wide q l <= Z.of_nat (length l) * Z.max K 0).
{ induction l as [|x l IH]; [unfold wide; simpl; lia|]. generalize (q_within x). unfold wide in *.
  cbn [map sumZ fold_right length]. fold (sumZ (map q l)). rewrite Nat2Z.inj_succ. lia. }
generalize (G rows). nia.
Qed.
End Integers.

(** Groups: a vector of sums, one for each listed group. *)
Section Groups.
Open Scope Z_scope.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (listed : list G).
Hypothesis listed_once : NoDup listed.

(** The L1 and squared L2 length of a vector over the listed groups. *)
Definition l1 (d : G -> Z) := sumZ (map (fun g => Z.abs (d g)) listed).
Definition l2 (d : G -> Z) := sumZ (map (fun g => d g * d g) listed).

Lemma sums_below (d e : G -> Z) : (forall g, In g listed -> d g <= e g) -> sumZ (map d listed) <= sumZ (map e listed).
Proof.
clear. induction listed as [|g l IH]; intros H; [apply Z.le_refl|].
generalize (H g (or_introl eq_refl)) (IH (fun h Hh => H h (or_intror Hh))).
cbn [map sumZ fold_right]. fold (sumZ (map d l)) (sumZ (map e l)). lia.
Qed.

Lemma sums_add (d e : G -> Z) : sumZ (map (fun g => d g + e g) listed) = sumZ (map d listed) + sumZ (map e listed).
Proof. clear. induction listed as [|g l IH]; [reflexivity|]. unfold sumZ in *. cbn [map fold_right]. lia. Qed.

(** What is in one group only is counted once at most. *)
Lemma one_entry k a : 0 <= a -> 0 <= sumZ (map (fun g => if same k g then a else 0) listed) <= a.
Proof.
intros Ha. generalize listed_once. clear listed_once. induction listed as [|g l IH]; intros N; [simpl; lia|].
apply NoDup_cons_iff in N as [N N']. specialize (IH N'). unfold sumZ in *. cbn [map fold_right].
destruct (same k g) as [->|_]; [|lia].
assert (Z : fold_right Z.add 0 (map (fun h => if same g h then a else 0) l) = 0); [|lia].
clear - N. induction l as [|h l IH]; [reflexivity|]. cbn [map fold_right].
destruct (same g h) as [->|_]; [exfalso; apply N; now left|].
rewrite IH; auto. intros H. apply N. now right.
Qed.

Variables (key : X -> G) (v : X -> Z) (J K : Z).
Hypothesis JK : J <= K.
Hypothesis v_within : forall x, J <= v x <= K.
Notation M := (magnitudeZ J K).

Definition share (g : G) (x : X) := if same (key x) g then v x else 0.
Definition entry (u : list X) (g : G) := wide (share g) u.
Definition apart (u w : list X) (g : G) := entry u g - entry w g.

Lemma entry_permutation u w g : Permutation u w -> entry u g = entry w g.
Proof. intros P. unfold entry, wide. apply sumZ_perm. now apply Permutation_map. Qed.

Lemma entry_cons x u g : entry (x :: u) g = share g x + entry u g.
Proof. reflexivity. Qed.

Lemma v_magnitude x : Z.abs (v x) <= M.
Proof. generalize (v_within x). unfold magnitudeZ. lia. Qed.

Lemma lengths_of_one d x : (forall g, Z.abs (d g) = Z.abs (share g x)) -> l1 d <= M /\ l2 d <= M * M.
Proof.
intros E. assert (B := v_magnitude x). split; unfold l1, l2.
- apply Z.le_trans with (sumZ (map (fun g => if same (key x) g then Z.abs (v x) else 0) listed)).
  + apply sums_below. intros g _. rewrite E. unfold share. destruct same; lia.
  + generalize (one_entry (key x) (Z.abs (v x)) ltac:(lia)). lia.
- apply Z.le_trans with (sumZ (map (fun g => if same (key x) g then Z.abs (v x) * Z.abs (v x) else 0) listed)).
  + apply sums_below. intros g _. replace (d g * d g) with (Z.abs (d g) * Z.abs (d g)) by nia. rewrite E.
    unfold share. destruct same; lia.
  + generalize (one_entry (key x) (Z.abs (v x) * Z.abs (v x)) (Z.square_nonneg _)). nia.
Qed.

Lemma lengths_of_nothing d : (forall g, d g = 0) -> l1 d = 0 /\ l2 d = 0.
Proof.
intros E. unfold l1, l2. clear - E. induction listed as [|g l [IH IH']]; [auto|]. unfold sumZ in *.
cbn [map fold_right]. rewrite !E. lia.
Qed.

Theorem groups_symmetric u w : symmetric u w -> l1 (apart u w) <= M /\ l2 (apart u w) <= M * M.
Proof.
intros H. assert (M0 : 0 <= M) by (unfold magnitudeZ; lia). apply symmetric_cases in H as [P|(z & [P|P])].
- destruct (lengths_of_nothing (apart u w)) as [-> ->]; [|nia]. intros g. unfold apart.
  rewrite (entry_permutation _ _ g P). lia.
- apply lengths_of_one with z. intros g. unfold apart. rewrite (entry_permutation _ _ g P), entry_cons. lia.
- apply lengths_of_one with z. intros g. unfold apart. rewrite (entry_permutation _ _ g P), entry_cons. lia.
Qed.

Lemma changed u w :
  change_one u w -> (forall g, apart u w g = 0) \/ exists x y, forall g, apart u w g = share g x - share g y.
Proof.
intros H. apply change_one_cases in H as [P|(x & y & r & P & Q)].
- left. intros g. unfold apart. rewrite (entry_permutation _ _ g P). lia.
- right. exists x, y. intros g. unfold apart.
  rewrite (entry_permutation _ _ g P), (entry_permutation _ _ g Q), !entry_cons.
  lia.
Qed.

Theorem groups_change_one u w :
  change_one u w -> l1 (apart u w) <= 2 * M /\ l2 (apart u w) <= Z.max (2 * (M * M)) ((K - J) * (K - J)).
Proof.
intros H. assert (M0 : 0 <= M) by (unfold magnitudeZ; lia). destruct (changed u w H) as [Z|(x & y & E)].
{ destruct (lengths_of_nothing (apart u w) Z) as [-> ->]. nia. }
assert (Bx := v_magnitude x). assert (By := v_magnitude y). split; unfold l1, l2.
- apply Z.le_trans with
    (sumZ (map
      (fun g => (if same (key x) g then Z.abs (v x) else 0) + (if same (key y) g then Z.abs (v y) else 0))
      listed)).
  + apply sums_below. intros g _. rewrite E. unfold share. destruct same, same; lia.
  + rewrite sums_add.
    generalize (one_entry (key x) (Z.abs (v x)) ltac:(lia)) (one_entry (key y) (Z.abs (v y)) ltac:(lia)).
    lia.
- destruct (same (key x) (key y)) as [S|S].
  + apply Z.le_trans with (sumZ (map (fun g => if same (key x) g then (v x - v y) * (v x - v y) else 0) listed)).
    * apply sums_below. intros g _. rewrite E. unfold share. rewrite <- S. destruct same; lia.
    * generalize (one_entry (key x) ((v x - v y) * (v x - v y)) (Z.square_nonneg _)) (v_within x) (v_within y). intros.
      assert ((v x - v y) * (v x - v y) <= (K - J) * (K - J)) by nia. lia.
  + apply Z.le_trans with
      (sumZ (map
        (fun g => (if same (key x) g then v x * v x else 0) + (if same (key y) g then v y * v y else 0))
        listed)).
    * apply sums_below. intros g _. rewrite E. unfold share. destruct (same (key x) g), (same (key y) g); try lia.
      congruence.
    * rewrite sums_add.
      generalize (one_entry (key x) (v x * v x) (Z.square_nonneg _))
        (one_entry (key y) (v y * v y) (Z.square_nonneg _)).
      nia.
Qed.

Theorem one_group_change_one u w :
  (length listed <= 1)%nat -> change_one u w
  -> l1 (apart u w) <= Z.max M (K - J) /\ l2 (apart u w) <= Z.max M (K - J) * Z.max M (K - J).
Proof.
intros One H. assert (M0 : 0 <= M) by (unfold magnitudeZ; lia).
assert (B : forall g, Z.abs (apart u w g) <= Z.max M (K - J)).
{ intros g. destruct (changed u w H) as [Z|(x & y & E)]; [rewrite Z; lia|]. rewrite E. unfold share.
  generalize (v_magnitude x) (v_magnitude y) (v_within x) (v_within y). destruct same, same; lia. }
unfold l1, l2. destruct listed as [|g [|h l]]; simpl in One; try lia; unfold sumZ; simpl; [nia|]. generalize (B g). nia.
Qed.
End Groups.

(** A histogram counts: every record is worth 1. *)
Section Histogram.
Open Scope Z_scope.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (cells : list G) (cell : X -> G).
Hypothesis cells_once : NoDup cells.

Definition histogram_apart := apart X G same cell (fun _ => 1).

Theorem histogram_symmetric u w :
  symmetric u w -> l1 G cells (histogram_apart u w) <= 1 /\ l2 G cells (histogram_apart u w) <= 1.
Proof.
intros H. apply (groups_symmetric X G same cells cells_once cell (fun _ => 1) 1 1 ltac:(lia) ltac:(intros; lia) u w H).
Qed.

Theorem histogram_change_one u w :
  change_one u w -> l1 G cells (histogram_apart u w) <= 2 /\ l2 G cells (histogram_apart u w) <= 2.
Proof.
intros H. apply (groups_change_one X G same cells cells_once cell (fun _ => 1) 1 1 ltac:(lia) ltac:(intros; lia) u w H).
Qed.
End Histogram.

(** Persons by group: a record is a person, with all their rows. Which groups are kept looks at that person alone, and
    keeps few; so does the total of a group's rows, whatever it is, which is clamped last. *)
Section PersonsByGroup.
Open Scope Z_scope.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (listed : list G).
Hypothesis listed_once : NoDup listed.
Variables (total : X -> G -> Z) (J K r : Z) (groups : nat).
Hypothesis JK : J <= K.
Hypothesis r_pos : 0 <= r.
Variable kept : X -> list G.
Hypothesis few_kept : forall rows, (length (kept rows) <= groups)%nat.

Definition part (g : G) (rows : X) :=
  if in_dec same g (kept rows) then clamp (r * Z.min J 0) (r * Z.max K 0) (total rows g) else 0.

Definition part_sum (persons : list X) (g : G) := wide (part g) persons.
Notation d u w := (fun g => part_sum u g - part_sum w g).
Notation M := (magnitudeZ J K).

Lemma parts_of_one (e : G -> Z) rows :
  (forall g, Z.abs (e g) = Z.abs (part g rows))
  -> l1 G listed e <= Z.of_nat groups * (r * M) /\ l2 G listed e <= Z.of_nat groups * ((r * M) * (r * M)).
Proof.
intros E. assert (M0 : 0 <= M) by (unfold magnitudeZ; lia).
assert (B : forall g, Z.abs (part g rows) <= r * M).
{ intros g. unfold part. destruct in_dec; [|nia].
  generalize (clamp_within (r * Z.min J 0) (r * Z.max K 0) (total rows g) ltac:(nia)).
  unfold magnitudeZ. nia. }
assert (N :
    forall a, 0 <= a -> sumZ (map (fun g => if in_dec same g (kept rows) then a else 0) listed) <= Z.of_nat groups * a).
{ intros a Ha.
  apply Z.le_trans
    with (Z.of_nat (length (filter (fun g => if in_dec same g (kept rows) then true else false) listed)) * a).
  - clear -Ha. induction listed as [|g l IH]; [simpl; lia|]. unfold sumZ in *. cbn [map fold_right filter].
    destruct in_dec; cbn [length]; lia.
  - apply Z.mul_le_mono_nonneg_r; auto. apply inj_le. apply Nat.le_trans with (2 := few_kept rows).
    apply NoDup_incl_length.
    + now apply NoDup_filter.
    + intros g Hg. apply filter_In in Hg as [_ Hg]. destruct in_dec; [auto|discriminate]. }
split; unfold l1, l2.
- apply Z.le_trans with (2 := N (r * M) ltac:(nia)). apply sums_below. intros g _. rewrite E. generalize (B g).
  unfold part. destruct in_dec; lia.
- apply Z.le_trans with (2 := N (r * M * (r * M)) ltac:(nia)). apply sums_below. intros g _.
  replace (e g * e g) with (Z.abs (e g) * Z.abs (e g)) by nia. rewrite E. generalize (B g). unfold part.
  destruct in_dec; [nia|lia].
Qed.

Theorem persons_by_group u w :
  symmetric u w
  -> l1 G listed (d u w) <= Z.of_nat groups * (r * M) /\ l2 G listed (d u w) <= Z.of_nat groups * ((r * M) * (r * M)).
Proof.
intros H. assert (M0 : 0 <= M) by (unfold magnitudeZ; lia).
assert (P0 : forall a b g, Permutation a b -> part_sum a g = part_sum b g)
  by (intros a b g P; unfold part_sum, wide; now apply sumZ_perm, Permutation_map).
apply symmetric_cases in H as [P|(z & [P|P])].
- destruct (lengths_of_nothing G listed (d u w)) as [-> ->]; [|nia]. intros g. rewrite (P0 u w g P). lia.
- apply parts_of_one with z. intros g. rewrite (P0 w (z :: u) g P). unfold part_sum, wide. simpl. lia.
- apply parts_of_one with z. intros g. rewrite (P0 u (z :: w) g P). unfold part_sum, wide. simpl. lia.
Qed.
End PersonsByGroup.

(** In means and variances a person's m rows that add up to s count as r times their average if they are more
    than r. The clamp then changes nothing. *)
Definition average (r s m : Z) : Z := if (m <=? r)%Z then s else (r * s / m)%Z.

Theorem average_within (J K r s m : Z) :
  (J <= K -> 0 <= r -> 0 <= m -> m * J <= s <= m * K -> r * Z.min J 0 <= average r s m <= r * Z.max K 0)%Z.
Proof.
intros JK r0 m0 [A B]. unfold average. destruct (Z.leb_spec m r) as [h|h]; [split; nia|].
split; [apply Z.div_le_lower_bound|apply Z.div_le_upper_bound]; nia.
Qed.
