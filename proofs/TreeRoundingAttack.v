(** Rounding a tree (docs/theorems/attack_proofs.md): L has an odd last bit, U is the next float. In a balanced tree of
    2^j records one U moves the sum by 2^j (U - L). *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Soundsum Require Import Relations Sums GridKernel Trees Pairwise Steps.
Import ListNotations.
Open Scope R_scope.

Section Tree.
Variables k emin m e : Z.
Hypothesis k_pos : (2 <= k)%Z.
Hypothesis e_emin : (emin <= e)%Z.
Hypothesis m_normal : (2 ^ k <= 2 * m + 1 < 2 ^ (k + 1))%Z.

Local Instance precision_of_trees : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin (k + 1))).
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).
Notation sum_of t := (computed (k + 1) emin (fun x => negb (Z.even x)) t).

Definition lower := IZR (2 * m + 1) * bpow radix2 e.
Definition upper := IZR (2 * m + 2) * bpow radix2 e.

Fixpoint all_lower (j : nat) : tree R :=
  match j with O => leaf lower | S j => node (all_lower j) (all_lower j) end.

Inductive one_upper : nat -> tree R -> Prop :=
| upper_here : one_upper 0 (leaf upper)
| upper_left j t : one_upper j t -> one_upper (S j) (node t (all_lower j))
| upper_right j t : one_upper j t -> one_upper (S j) (node (all_lower j) t).

Lemma doubled_is_a_float n i :
  (Z.abs n <= 2 ^ (k + 1))%Z -> format (bpow radix2 (Z.of_nat i) * (IZR n * bpow radix2 e)).
Proof.
intros H.
replace (bpow radix2 (Z.of_nat i) * (IZR n * bpow radix2 e)) with (IZR n * bpow radix2 (Z.of_nat i + e))
  by (rewrite bpow_plus; ring).
apply multiple_format; auto; lia.
Qed.

Lemma twice i x : bpow radix2 (Z.of_nat i) * x + bpow radix2 (Z.of_nat i) * x = bpow radix2 (Z.of_nat (S i)) * x.
Proof. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite bpow_plus. change (bpow radix2 1) with 2. ring. Qed.

Lemma all_lower_sum j : sum_of (all_lower j) = bpow radix2 (Z.of_nat j) * lower.
Proof.
induction j as [|j IH]; [simpl; ring|]. cbn [all_lower computed]. rewrite IH, twice.
apply round_generic; auto with typeclass_instances. apply doubled_is_a_float. lia.
Qed.

Lemma lifted i :
  fl (bpow radix2 (Z.of_nat i) * upper + bpow radix2 (Z.of_nat i) * lower) = bpow radix2 (Z.of_nat (S i)) * upper.
Proof.
assert (N : (ZnearestE (IZR (2 * m) + 3 / 2) = 2 * m + 2)%Z).
{ rewrite nearest_plus_even. f_equal. unfold Znearest. rewrite (Zfloor_imp 1) by (simpl; lra).
  replace (3 / 2 - 1) with (/ 2) by lra.
  rewrite Rcompare_Eq by reflexivity. simpl. apply Zceil_imp. simpl. lra. }
replace (bpow radix2 (Z.of_nat i) * upper + bpow radix2 (Z.of_nat i) * lower)
  with ((IZR (2 * m) + 3 / 2) * bpow radix2 (Z.of_nat (S i) + e)).
- destruct m_normal as [A B]. apply IZR_le in A. assert (B' : (2 * m + 2 <= 2 ^ (k + 1))%Z) by lia. apply IZR_le in B'.
  assert (PK : IZR (2 ^ k) = bpow radix2 k) by (apply (IZR_Zpower radix2); lia).
  assert (PK1 : IZR (2 ^ (k + 1)) = bpow radix2 (k + 1)) by (apply (IZR_Zpower radix2); lia).
  rewrite plus_IZR, PK in A. rewrite plus_IZR, PK1 in B'.
  rewrite rounds_to; try lia; [|lra]. rewrite N. unfold upper. rewrite bpow_plus. ring.
- rewrite Nat2Z.inj_succ. unfold Z.succ, upper, lower. rewrite !bpow_plus, !plus_IZR. change (bpow radix2 1) with 2.
  field.
Qed.

Theorem tree_rounding j t :
  one_upper j t
  -> sum_of t - sum_of (all_lower j) = bpow radix2 (Z.of_nat j) * (upper - lower)
     /\ hamming (leaves (all_lower j)) (leaves t).
Proof.
intros H. assert (S : sum_of t = bpow radix2 (Z.of_nat j) * upper).
{ induction H as [|j t H IH|j t H IH]; [simpl; ring| |]; cbn [computed]; rewrite IH, all_lower_sum; [apply lifted|].
  rewrite Rplus_comm. apply lifted. }
split; [rewrite S, all_lower_sum; ring|]. clear S.
induction H as [|j t H IH|j t H IH]; [apply (ham_change [] lower upper [])| |]; cbn [all_lower leaves].
- remember (leaves (all_lower j)) as r. destruct IH as [w|a x y b]; [constructor|]. rewrite <- !app_assoc.
  apply (ham_change a x y (b ++ r)) || (simpl; apply ham_change).
- destruct IH as [w|a x y b]; [constructor|]. rewrite !app_assoc. constructor.
Qed.

(** A pairwise sum of 2^j records is such a tree. *)
Lemma all_lower_balanced j : balanced j (all_lower j).
Proof. induction j; cbn [all_lower balanced]; auto. Qed.

Lemma one_upper_balanced j t : one_upper j t -> balanced j t.
Proof. induction 1; cbn [balanced]; auto using all_lower_balanced. Qed.

Theorem pairwise_rounding j t :
  one_upper j t
  -> pairwise (k + 1) emin (fun x => negb (Z.even x)) (leaves t)
       - pairwise (k + 1) emin (fun x => negb (Z.even x)) (leaves (all_lower j))
     = bpow radix2 (Z.of_nat j) * (upper - lower).
Proof.
intros H. unfold pairwise. rewrite !(pairwise_of_balanced _ _ j) by auto using all_lower_balanced, one_upper_balanced.
now apply tree_rounding.
Qed.
End Tree.
