(** numpy_pairwise (docs/theorems/numpy_pairwise.md): the tree of additions np.sum does on an aligned 1-D array.

    Fewer than 8 records in sequence; 8 to 128 in eight interleaved sums, joined in pairs, the remainder in
    sequence; more in two parts, the first floor(n/2) rounded down to a multiple of 8. Its height is H(n), at
    most G(n), which grows with n; its sum is off by at most h u / (1 - h u) n M with h = H(n), and the
    sensitivity is the ideal one plus twice that. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz Arith.
From Flocq Require Import Core.
From Soundsum Require Import Relations Sums Accuracy Trees.
Import ListNotations.

Open Scope nat_scope.

Section Shape.
Variables (A : Type) (zero : A).

Definition sequence (l : list A) :=
  match l with [] => leaf zero | x :: l => in_order (leaf x) l end.

(** Eight sums side by side: each row of eight records adds one record to every sum. *)
Fixpoint add_row (sums : list (tree A)) (row : list A) :=
  match sums, row with
    t :: sums, x :: row => node t (leaf x) :: add_row sums row
  | _, _ => sums
  end.

Fixpoint add_rows (rows : nat) (sums : list (tree A)) (l : list A) :=
  match rows with
    O => (sums, l)
  | S rows => add_rows rows (add_row sums (firstn 8 l)) (skipn 8 l)
  end.

Definition join_eight (sums : list (tree A)) :=
  match sums with
  | [a; b; c; d; e; f; g; h] => node (node (node a b) (node c d)) (node (node e f) (node g h))
  | _ => leaf zero
  end.

Definition block (l : list A) :=
  let '(sums, rest) := add_rows (length l / 8 - 1) (map leaf (firstn 8 l)) (skipn 8 l) in
  in_order (join_eight sums) rest.

Definition first_part (n : nat) := n / 2 - (n / 2) mod 8.

Fixpoint numpy (fuel : nat) (l : list A) : tree A :=
  let n := length l in
  if n <? 8 then sequence l
  else if n <=? 128 then block l else
  match fuel with
  | O => leaf zero
  | S fuel => node (numpy fuel (firstn (first_part n) l)) (numpy fuel (skipn (first_part n) l))
  end.

Definition numpy_tree (l : list A) := numpy (length l) l.

(** Every record is in the tree once. *)
Definition all_leaves (sums : list (tree A)) := flat_map leaves sums.

Lemma add_row_leaves sums row :
  (length row <= length sums)%nat -> Permutation (all_leaves (add_row sums row)) (all_leaves sums ++ row).
Proof.
revert row; induction sums as [|t sums IH]; intros [|x row] H; simpl in *; try lia; auto; [now rewrite app_nil_r|].
unfold all_leaves in *. rewrite <- app_assoc. rewrite (IH row) by lia. rewrite <- !app_assoc.
apply Permutation_app_head. simpl.
apply Permutation_middle.
Qed.

Lemma add_row_length sums row : length (add_row sums row) = length sums.
Proof. revert row; induction sums as [|t sums IH]; intros [|x row]; simpl; auto. Qed.

Lemma add_row_heights i sums row :
  length row = length sums -> Forall (fun t => height t = i) sums
  -> Forall (fun t => height t = S i) (add_row sums row).
Proof.
revert row; induction sums as [|t sums IH]; intros [|x row] E F; simpl in *; try lia; [constructor|].
constructor; [simpl; generalize (Forall_inv F); lia|]. apply IH; [lia|now apply Forall_inv_tail in F].
Qed.

Lemma add_rows_spec rows i sums l :
  length sums = 8 -> (8 * rows <= length l)%nat -> Forall (fun t => height t = i) sums
  -> let '(sums', rest) := add_rows rows sums l in
     length sums' = 8
     /\ length rest = (length l - 8 * rows)%nat
     /\ Forall (fun t => height t = (i + rows)%nat) sums'
     /\ Permutation (all_leaves sums' ++ rest) (all_leaves sums ++ l).
Proof.
revert i sums l; induction rows as [|rows IH]; intros i sums l E Hl F; cbn [add_rows].
- rewrite Nat.add_0_r. repeat split; auto. lia.
- assert (R : length (firstn 8 l) = 8) by (rewrite firstn_length; lia).
  specialize (IH (S i) (add_row sums (firstn 8 l)) (skipn 8 l)). destruct (add_rows rows _ _) as [sums' rest].
  destruct IH as (I1 & I2 & I3 & I4);
  [now rewrite add_row_length|rewrite skipn_length; lia|apply add_row_heights; auto; lia|].
  rewrite skipn_length in I2. repeat split; auto; [lia| |].
  + replace (i + S rows)%nat with (S i + rows)%nat by lia. exact I3.
  + rewrite I4, (add_row_leaves sums (firstn 8 l)) by lia. now rewrite <- app_assoc, firstn_skipn.
Qed.

Lemma eight_of (sums : list (tree A)) : length sums = 8 -> exists a b c d e f g h, sums = [a; b; c; d; e; f; g; h].
Proof.
intros E. do 8 (destruct sums as [|? sums]; [discriminate|]). destruct sums; [|discriminate]. repeat eexists.
Qed.

Lemma block_spec l :
  (8 <= length l)%nat -> Permutation (leaves (block l)) l /\ height (block l) = (length l / 8 + 2 + length l mod 8)%nat.
Proof.
intros H. unfold block.
assert (D := Nat.div_mod (length l) 8 ltac:(lia)).
assert (D1 : (1 <= length l / 8)%nat) by (apply Nat.div_le_lower_bound; lia).
assert (Spec := add_rows_spec (length l / 8 - 1) 0 (map leaf (firstn 8 l)) (skipn 8 l)).
destruct (add_rows _ _ _) as [sums rest]. destruct Spec as (S1 & S2 & S3 & S4).
- rewrite map_length, firstn_length. lia.
- rewrite skipn_length. lia.
- apply Forall_forall. intros t Ht. apply in_map_iff in Ht as (x & <- & _). reflexivity.
- rewrite skipn_length in S2. rewrite in_order_leaves, in_order_height.
  destruct (eight_of sums S1) as (a & b & c & d & e & f & g & h & ->).
  assert (R : length rest = (length l mod 8)%nat) by lia. split.
  + replace (leaves (join_eight [a; b; c; d; e; f; g; h])) with (all_leaves [a; b; c; d; e; f; g; h])
      by (unfold all_leaves; simpl; now rewrite app_nil_r, <- !app_assoc).
    rewrite S4. replace (all_leaves (map leaf (firstn 8 l))) with (firstn 8 l); [now rewrite firstn_skipn|].
    unfold all_leaves. generalize (firstn 8 l). induction l0 as [|y m IH]; simpl; auto. now rewrite <- IH.
  + repeat match goal with F : Forall _ (_ :: _) |- _ => apply Forall_cons_iff in F as [? F] end. cbv beta in *.
    cbn [join_eight height]. lia.
Qed.

Lemma numpy_leaves fuel l : l <> [] -> (length l <= fuel)%nat -> Permutation (leaves (numpy fuel l)) l.
Proof.
revert l; induction fuel as [|fuel IH]; intros l Hl Hf; [destruct l; [easy|simpl in Hf; lia]|].
cbn [numpy]. destruct (Nat.ltb_spec (length l) 8); [|destruct (Nat.leb_spec (length l) 128)].
- unfold sequence. destruct l; [easy|]. now rewrite in_order_leaves.
- now apply block_spec.
- set (n := length l) in *. assert (B : (1 <= first_part n < n)%nat).
  { unfold first_part. generalize (Nat.mod_upper_bound (n / 2) 8 ltac:(lia)) (Nat.div_lt n 2 ltac:(lia) ltac:(lia)).
    assert (64 <= n / 2)%nat by (apply Nat.div_le_lower_bound; lia). lia. }
  cbn [leaves]. rewrite !IH; [now rewrite firstn_skipn| | | |].
  + intros E. apply (f_equal (@length A)) in E. rewrite skipn_length in E. fold n in E. simpl (length []) in E. lia.
  + rewrite skipn_length. fold n. lia.
  + intros E. apply (f_equal (@length A)) in E. rewrite firstn_length in E. fold n in E. simpl (length []) in E. lia.
  + rewrite firstn_length. fold n. lia.
Qed.

Theorem numpy_tree_leaves l : l <> [] -> Permutation (leaves (numpy_tree l)) l.
Proof. intros H. now apply numpy_leaves. Qed.
End Shape.

Arguments numpy_tree {A}.

(** The shape does not look at the records. *)
Section Map.
Variables (A B : Type) (f : A -> B) (zero : A).

Lemma in_order_map l (t : tree A) : map_tree f (in_order t l) = in_order (map_tree f t) (map f l).
Proof.
revert t; induction l as [|x l IH]; intros t; [reflexivity|]. unfold in_order in *. cbn [map fold_left].
now rewrite IH.
Qed.

Lemma add_row_map sums row : map (map_tree f) (add_row A sums row) = add_row B (map (map_tree f) sums) (map f row).
Proof. revert row; induction sums as [|t sums IH]; intros [|x row]; simpl; auto. now rewrite IH. Qed.

Lemma add_rows_map rows sums l :
  add_rows B rows (map (map_tree f) sums) (map f l)
    = let '(sums', rest) := add_rows A rows sums l in (map (map_tree f) sums', map f rest).
Proof.
revert sums l; induction rows as [|rows IH]; intros sums l; [reflexivity|]. cbn [add_rows].
now rewrite firstn_map, skipn_map, <- add_row_map, IH.
Qed.

Lemma join_eight_map sums : map_tree f (join_eight A zero sums) = join_eight B (f zero) (map (map_tree f) sums).
Proof. do 9 (destruct sums as [|? sums]; [reflexivity|]). reflexivity. Qed.

Lemma block_map l : map_tree f (block A zero l) = block B (f zero) (map f l).
Proof.
unfold block. rewrite map_length, firstn_map, skipn_map, !map_map.
replace (map (fun x => leaf (f x)) (firstn 8 l)) with (map (map_tree f) (map leaf (firstn 8 l))) by now rewrite map_map.
rewrite add_rows_map. destruct (add_rows A _ _ _) as [sums rest]. now rewrite in_order_map, join_eight_map.
Qed.

Lemma numpy_map fuel l : map_tree f (numpy A zero fuel l) = numpy B (f zero) fuel (map f l).
Proof.
assert (S : forall l, map_tree f (sequence A zero l) = sequence B (f zero) (map f l)).
{ intros [|x m]; [reflexivity|]. unfold sequence. cbn [map]. now rewrite in_order_map. }
revert l; induction fuel as [|fuel IH]; intros l; cbn [numpy]; rewrite map_length;
(destruct (length l <? 8); [apply S|destruct (length l <=? 128); [apply block_map|]]); [reflexivity|].
cbn [map_tree]. now rewrite !IH, <- firstn_map, <- skipn_map.
Qed.

Lemma numpy_tree_map l : map_tree f (numpy_tree zero l) = numpy_tree (f zero) (map f l).
Proof. unfold numpy_tree. now rewrite numpy_map, map_length. Qed.
End Map.

(** H(n), the height; `fuel` bounds the depth of halving. *)
Fixpoint H_fuel (fuel n : nat) : nat :=
  if n <? 8 then n - 1
  else if n <=? 128 then n / 8 + 2 + n mod 8 else
  match fuel with
    O => 0
  | S fuel => S (Nat.max (H_fuel fuel (first_part n)) (H_fuel fuel (n - first_part n)))
  end.

Definition numpy_height (n : nat) := H_fuel n n.

Lemma numpy_height_fuel A (zero : A) fuel l : height (numpy A zero fuel l) = H_fuel fuel (length l).
Proof.
revert l; induction fuel as [|fuel IH]; intros l; cbn [numpy H_fuel];
(destruct (Nat.ltb_spec (length l) 8); [|destruct (Nat.leb_spec (length l) 128)]);
try (unfold sequence; destruct l; [reflexivity|]; rewrite in_order_height; simpl; lia); try (now apply block_spec);
auto.
cbn [height]. rewrite !IH, firstn_length, skipn_length, Nat.min_l; auto.
unfold first_part. generalize (Nat.div_lt (length l) 2 ltac:(lia) ltac:(lia)). lia.
Qed.

Theorem numpy_tree_height A (zero : A) l : height (numpy_tree zero l) = numpy_height (length l).
Proof. apply numpy_height_fuel. Qed.

(** G(n), at or above the height of every tree of n records or fewer. *)
Definition safe_height (n : nat) : nat :=
  if n <? 8 then n - 1
  else if n <=? 128 then 24
  else 25 + Nat.log2_up ((n + 127) / 128).

Lemma height_below_128 fuel n : (n <= 128)%nat -> (H_fuel fuel n <= 24)%nat.
Proof.
intros H.
destruct fuel; cbn [H_fuel]; (destruct (Nat.ltb_spec n 8); [lia|]; destruct (Nat.leb_spec n 128); [|lia]);
generalize (Nat.div_mod n 8 ltac:(lia)) (Nat.mod_upper_bound n 8 ltac:(lia)); lia.
Qed.

Lemma height_of_halvings j : forall fuel n, (n < 15 + 128 * 2 ^ j)%nat -> (H_fuel fuel n <= 25 + j)%nat.
Proof.
assert (P : forall n, (128 < n -> 2 * first_part n <= n /\ 2 * (n - first_part n) <= n + 15)%nat).
{ intros n Hn. unfold first_part.
  generalize (Nat.div_mod n 2 ltac:(lia)) (Nat.mod_upper_bound n 2 ltac:(lia))
    (Nat.mod_upper_bound (n / 2) 8 ltac:(lia)).
  lia. }
induction j as [|j IH]; intros fuel n H;
(destruct (Nat.le_gt_cases n 128) as [h|h]; [apply Nat.le_trans with (1 := height_below_128 fuel n h); lia|]);
destruct fuel as [|fuel]; cbn [H_fuel]; (destruct (Nat.ltb_spec n 8); [lia|]; destruct (Nat.leb_spec n 128); [lia|]);
try lia; destruct (P n h) as [P1 P2].
- simpl in H.
  generalize (height_below_128 fuel (first_part n) ltac:(lia)) (height_below_128 fuel (n - first_part n) ltac:(lia)).
  lia.
- cbn [Nat.pow] in H. generalize (IH fuel (first_part n) ltac:(lia)) (IH fuel (n - first_part n) ltac:(lia)). lia.
Qed.

Theorem height_is_safe n : (numpy_height n <= safe_height n)%nat.
Proof.
unfold safe_height. destruct (Nat.ltb_spec n 8); [|destruct (Nat.leb_spec n 128)].
- unfold numpy_height. destruct n; cbn [H_fuel]; [simpl; lia|]. destruct (Nat.ltb_spec (S n) 8); lia.
- now apply height_below_128.
- apply height_of_halvings. assert (D := Nat.div_mod (n + 127) 128 ltac:(lia)).
  assert (D' := Nat.mod_upper_bound (n + 127) 128 ltac:(lia)).
  assert (L := Nat.log2_up_spec ((n + 127) / 128)). lia.
Qed.

Theorem safe_height_grows m n : (m <= n)%nat -> (safe_height m <= safe_height n)%nat.
Proof.
intros H. unfold safe_height.
destruct (Nat.ltb_spec m 8), (Nat.ltb_spec n 8), (Nat.leb_spec m 128), (Nat.leb_spec n 128); try lia.
assert (Nat.log2_up ((m + 127) / 128) <= Nat.log2_up ((n + 127) / 128))%nat; [|lia].
apply Nat.log2_up_le_mono, Nat.div_le_mono; lia.
Qed.

Open Scope R_scope.

Section NumpyPairwise.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Variable choice : Z -> bool.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation u := (u p).

Definition numpy_pairwise (l : list R) := computed p emin choice (numpy_tree 0 l).

Lemma numpy_pairwise_error M l h :
  0 <= M -> (numpy_height (length l) <= h)%nat -> INR h * u < 1 -> records_up_to (fun x => format x) M l
  -> Rabs (numpy_pairwise l - sum l) <= tree_accuracy p h (length l) M.
Proof.
intros M0 Hh Hu F. destruct l as [|x l].
- unfold numpy_pairwise, tree_accuracy; simpl. rewrite Rminus_0_r, Rabs_R0. lra.
- apply tree_is_accurate; auto; [now apply numpy_tree_leaves|now rewrite numpy_tree_height].
Qed.

Theorem numpy_pairwise_is_accurate n :
  INR (safe_height n) * u < 1
  -> accurate_up_to (fun x => format x) numpy_pairwise (tree_accuracy p (safe_height n) n) n.
Proof.
intros Hu M l M0 Hn F. apply Rle_trans with (tree_accuracy p (safe_height n) (length l) M).
- apply numpy_pairwise_error; auto. apply Nat.le_trans with (1 := height_is_safe _). now apply safe_height_grows.
- now apply tree_accuracy_grows.
Qed.

Section Sensitivity.
Variables (X : Type) (c : X -> R) (L U : R) (n : nat).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).
Hypothesis low_enough : INR (safe_height n) * u < 1.
Notation M := (magnitude L U).

(** Public n: the height of n itself. *)
Theorem numpy_pairwise_change_one (d d' : list X) :
  length d = n -> change_one d d'
  -> Rabs (numpy_pairwise (map c d) - numpy_pairwise (map c d')) <= U - L + 2 * tree_accuracy p (numpy_height n) n M.
Proof.
intros Hd H.
apply from_accuracy_change_one with (a := tree_accuracy p (numpy_height n) n) (value := fun x => format x) (n := n);
auto.
intros m l m0 Hl F. rewrite <- Hl. apply numpy_pairwise_error; auto. rewrite Hl.
apply Rle_lt_trans with (2 := low_enough). apply Rmult_le_compat_r; [generalize (u_pos p); lra|].
apply le_INR, height_is_safe.
Qed.

Notation a := (tree_accuracy p (safe_height n) n).

Theorem numpy_pairwise_cut :
  sensitivity insert_delete (fun d => numpy_pairwise (map c (firstn n d))) (Rmax M (U - L) + 2 * a M).
Proof. apply from_accuracy_cut with (fun x => format x); auto using numpy_pairwise_is_accurate. Qed.

Theorem numpy_pairwise_split :
  L <= 0 <= U
  -> sensitivity insert_delete (split_sum numpy_pairwise n X c)
       (Rmax (Rabs L + 2 * a (Rabs L)) (Rabs U + 2 * a (Rabs U))).
Proof.
intros [L0 U0].
apply from_accuracy_split with (fun x => format x); auto using numpy_pairwise_is_accurate, generic_format_0.
Qed.
End Sensitivity.
End NumpyPairwise.
