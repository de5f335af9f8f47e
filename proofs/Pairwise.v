(** pairwise (docs/theorems/pairwise.md): the first half of the records, the rest, and one addition.

    The tree over n records is ceil(log2 n) high, so its sum is off by at most h u / (1 - h u) n M
    with h = ceil(log2 n), and the sensitivity is the ideal one plus twice that. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz Arith.
From Flocq Require Import Core.
From Soundsum Require Import Relations Sums Accuracy Trees.
Import ListNotations.

(** The paper's recursion. `fuel` bounds its depth; as many as there are records is enough. *)
Section Shape.
Variables (A : Type) (zero : A).

Fixpoint halves (fuel : nat) (l : list A) : tree A :=
  match fuel, l with
  | O, _ | _, [] => leaf zero
  | _, [x] => leaf x
  | S fuel, _ => node (halves fuel (firstn (length l / 2) l)) (halves fuel (skipn (length l / 2) l))
  end.

Definition pairwise_tree (l : list A) := halves (length l) l.

Lemma halves_leaves fuel l : l <> [] -> (length l <= fuel)%nat -> leaves (halves fuel l) = l.
Proof.
revert l; induction fuel as [|fuel IH]; intros l Hl Hf; [destruct l; [easy|simpl in Hf; lia]|].
destruct l as [|x [|y l]]; [easy|reflexivity|]. set (r := x :: y :: l) in *.
assert (N : (2 <= length r)%nat) by (simpl; lia).
change (halves (S fuel) r) with (node (halves fuel (firstn (length r / 2) r)) (halves fuel (skipn (length r / 2) r))).
assert (B : (1 <= length r / 2 < length r)%nat).
{ split; [apply Nat.div_le_lower_bound; lia|apply Nat.div_lt; lia]. }
cbn [leaves]. rewrite !IH; [apply firstn_skipn| | | |].
- intros E. apply (f_equal (@length A)) in E. rewrite skipn_length in E. simpl (length []) in E. lia.
- rewrite skipn_length. lia.
- intros E. apply (f_equal (@length A)) in E. rewrite firstn_length in E. simpl (length []) in E. lia.
- rewrite firstn_length. lia.
Qed.

Lemma halves_height h fuel l : (length l <= 2 ^ h)%nat -> (height (halves fuel l) <= h)%nat.
Proof.
revert fuel l; induction h as [|h IH]; intros [|fuel] [|x [|y l]] H; cbn [halves height]; try lia; [simpl in H; lia|].
set (r := x :: y :: l) in *. cbn [Nat.pow] in H.
assert (height (halves fuel (firstn (length r / 2) r)) <= h /\ height (halves fuel (skipn (length r / 2) r)) <= h)%nat;
[|lia].
split; apply IH.
- rewrite firstn_length. apply Nat.le_trans with (1 := Nat.le_min_l _ _). apply Nat.div_le_upper_bound; lia.
- rewrite skipn_length. generalize (Nat.div_mod (length r) 2 ltac:(lia)) (Nat.mod_upper_bound (length r) 2 ltac:(lia)).
  lia.
Qed.

(** ceil(log2 n) high. *)
Theorem pairwise_height l : (height (pairwise_tree l) <= Nat.log2_up (length l))%nat.
Proof.
apply halves_height. destruct l as [|x [|y l]]; [simpl; lia|simpl; lia|]. apply Nat.log2_up_spec. simpl; lia.
Qed.

Theorem pairwise_leaves l : l <> [] -> leaves (pairwise_tree l) = l.
Proof. intros H. now apply halves_leaves. Qed.

(** Of 2^j records it is the balanced tree. *)
Fixpoint balanced (j : nat) (t : tree A) : Prop :=
  match j, t with
  | O, leaf _ => True
  | S j, node t t' => balanced j t /\ balanced j t'
  | _, _ => False
  end.

Lemma balanced_leaves j t : balanced j t -> length (leaves t) = (2 ^ j)%nat.
Proof.
revert t; induction j as [|j IH]; intros [x|t t'] H; try easy. destruct H as [H H']. cbn [leaves].
rewrite app_length, (IH t H), (IH t' H'). cbn [Nat.pow]. lia.
Qed.

Lemma halves_of_balanced j fuel t : balanced j t -> (2 ^ j <= fuel)%nat -> halves fuel (leaves t) = t.
Proof.
revert fuel t; induction j as [|j IH]; intros fuel [x|t t'] H F; try easy.
- destruct fuel; [simpl in F; lia|reflexivity].
- destruct H as [H H']. assert (N := balanced_leaves j t H). assert (N' := balanced_leaves j t' H').
  assert (P : (0 < 2 ^ j)%nat) by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia). cbn [Nat.pow] in F.
  destruct fuel as [|fuel]; [lia|]. cbn [leaves]. assert (L : length (leaves t ++ leaves t') = (2 * 2 ^ j)%nat)
    by (rewrite app_length; lia).
  assert (C : halves (S fuel) (leaves t ++ leaves t')
    = node (halves fuel (firstn (2 ^ j) (leaves t ++ leaves t'))) (halves fuel (skipn (2 ^ j) (leaves t ++ leaves t')))).
  { replace (2 ^ j)%nat with (length (leaves t ++ leaves t') / 2)%nat
      by (rewrite L, Nat.mul_comm; apply Nat.div_mul; lia).
    destruct (leaves t ++ leaves t') as [|x [|y l]]; [simpl in L; lia|simpl in L; lia|reflexivity]. }
  rewrite C, <- N, firstn_app, skipn_app, firstn_all, skipn_all, Nat.sub_diag. cbn [firstn skipn app].
  rewrite app_nil_r, !IH; auto; lia.
Qed.

Theorem pairwise_of_balanced j t : balanced j t -> pairwise_tree (leaves t) = t.
Proof. intros H. apply halves_of_balanced with j; auto. now rewrite (balanced_leaves j t H). Qed.
End Shape.

Arguments pairwise_tree {A}.
Arguments balanced {A}.

(** The shape does not look at the records. *)
Lemma halves_map A B (f : A -> B) zero fuel l : map_tree f (halves A zero fuel l) = halves B (f zero) fuel (map f l).
Proof.
revert l; induction fuel as [|fuel IH]; intros [|x [|y l]]; auto.
change (map f (x :: y :: l)) with (f x :: f y :: map f l). cbn [halves map_tree].
change (f x :: f y :: map f l) with (map f (x :: y :: l)). now rewrite !IH, map_length, <- firstn_map, <- skipn_map.
Qed.

Lemma pairwise_map A B (f : A -> B) zero l : map_tree f (pairwise_tree zero l) = pairwise_tree (f zero) (map f l).
Proof. unfold pairwise_tree. now rewrite halves_map, map_length. Qed.

Lemma balanced_map A B (f : A -> B) j t : balanced j (map_tree f t) -> balanced j t.
Proof. revert t; induction j as [|j IH]; intros [x|t t'] H; try easy. destruct H as [H H']. split; now apply IH. Qed.

Open Scope R_scope.

Section Pairwise.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Variable choice : Z -> bool.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation u := (u p).

Definition pairwise (l : list R) := computed p emin choice (pairwise_tree 0 l).
Definition pairwise_accuracy (n : nat) (M : R) := tree_accuracy p (Nat.log2_up n) n M.

Theorem pairwise_is_accurate n :
  INR (Nat.log2_up n) * u < 1 -> accurate_up_to (fun x => format x) pairwise (pairwise_accuracy n) n.
Proof.
intros Hu M l M0 Hn F. unfold pairwise_accuracy. generalize (u_pos p); intros u0.
assert (Hh : (Nat.log2_up (length l) <= Nat.log2_up n)%nat) by now apply Nat.log2_up_le_mono.
apply Rle_trans with (tree_accuracy p (Nat.log2_up (length l)) (length l) M).
- destruct l as [|x l].
  + unfold pairwise, tree_accuracy; simpl. rewrite Rminus_0_r, Rabs_R0. lra.
  + apply tree_is_accurate; auto.
    * now rewrite pairwise_leaves.
    * apply pairwise_height.
    * apply le_INR in Hh. apply Rle_lt_trans with (2 := Hu). apply Rmult_le_compat_r; lra.
- now apply tree_accuracy_grows.
Qed.

Section Sensitivity.
Variables (X : Type) (c : X -> R) (L U : R) (n : nat).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).
Hypothesis low_enough : INR (Nat.log2_up n) * u < 1.
Notation M := (magnitude L U).
Notation a := (pairwise_accuracy n).

Theorem pairwise_change_one (d d' : list X) :
  length d = n -> change_one d d' -> Rabs (pairwise (map c d) - pairwise (map c d')) <= U - L + 2 * a M.
Proof.
intros Hd H. apply from_accuracy_change_one with (fun x => format x) n; auto.
intros m l m0 Hl. apply (pairwise_is_accurate n low_enough m l m0). lia.
Qed.

Theorem pairwise_cut : sensitivity insert_delete (fun d => pairwise (map c (firstn n d))) (Rmax M (U - L) + 2 * a M).
Proof. apply from_accuracy_cut with (fun x => format x); auto using pairwise_is_accurate. Qed.

Theorem pairwise_split :
  L <= 0 <= U
  -> sensitivity insert_delete (split_sum pairwise n X c) (Rmax (Rabs L + 2 * a (Rabs L)) (Rabs U + 2 * a (Rabs U))).
Proof.
intros [L0 U0]. apply from_accuracy_split with (fun x => format x); auto using pairwise_is_accurate, generic_format_0.
Qed.
End Sensitivity.
End Pairwise.
