(** Sums rounded to nearest in any order: a tree of additions (docs/theorems/lemmas.md: one rounded addition; used by
    iterated.md, pairwise.md and numpy_pairwise.md).

    The error of n records is at most (n-1) u times their sum of magnitudes, whatever the tree; and at most
    (1+u)^h - 1 times it, which is at most h u / (1 - h u), for a tree of height h. Any precision p = k + 1, any
    smallest exponent, subnormals included; u = 2^-p. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
From Soundsum Require Import Relations Sums Accuracy.
Import ListNotations.
Open Scope R_scope.

(** A tree of additions over records of any kind: the same tree adds reals in a proof and doubles in a test. *)
Inductive tree (A : Type) := leaf (x : A) | node (t t' : tree A).
Arguments leaf {A}.
Arguments node {A}.

Fixpoint leaves {A} (t : tree A) :=
  match t with leaf x => [x] | node t t' => leaves t ++ leaves t' end.

Fixpoint height {A} (t : tree A) : nat :=
  match t with leaf _ => 0 | node t t' => S (Nat.max (height t) (height t')) end.

Fixpoint evaluate {A} (add : A -> A -> A) (t : tree A) :=
  match t with leaf x => x | node t t' => add (evaluate add t) (evaluate add t') end.

Fixpoint map_tree {A B} (f : A -> B) (t : tree A) :=
  match t with leaf x => leaf (f x) | node t t' => node (map_tree f t) (map_tree f t') end.

(** One record after another, from a tree on. *)
Definition in_order {A} (t : tree A) (l : list A) := fold_left (fun t x => node t (leaf x)) l t.

Lemma in_order_leaves {A} (l : list A) t : leaves (in_order t l) = leaves t ++ l.
Proof.
revert t; induction l as [|x l IH]; intros t; simpl; [now rewrite app_nil_r|]. unfold in_order in *.
rewrite IH; simpl. now rewrite <- app_assoc.
Qed.

Lemma in_order_height {A} (l : list A) t : height (in_order t l) = (height t + length l)%nat.
Proof. revert t; induction l as [|x l IH]; intros t; simpl; [lia|]. unfold in_order in *. rewrite IH. simpl. lia. Qed.

Lemma in_order_evaluate {A} (add : A -> A -> A) l t : evaluate add (in_order t l) = fold_left add l (evaluate add t).
Proof. revert t; induction l as [|x l IH]; intros t; simpl; auto. unfold in_order in *. now rewrite IH. Qed.

Lemma map_leaves {A B} (f : A -> B) t : leaves (map_tree f t) = map f (leaves t).
Proof. induction t as [x|t IH t' IH']; simpl; auto. now rewrite IH, IH', map_app. Qed.

Lemma map_height {A B} (f : A -> B) t : height (map_tree f t) = height t.
Proof. induction t as [x|t IH t' IH']; simpl; auto. Qed.

Lemma sum_of_magnitudes M l : Forall (fun x => Rabs x <= M) l -> sum (map Rabs l) <= INR (length l) * M.
Proof.
induction l as [|x l IH]; intros F; [simpl; lra|]. generalize (Forall_inv F) (IH (Forall_inv_tail F)).
cbn [map sum fold_right length]. fold (sum (map Rabs l)). rewrite S_INR. lra.
Qed.

Section Rounded.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Variable choice : Z -> bool.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation fl := (round radix2 (FLT_exp emin p) (Znearest choice)).

Definition u := bpow radix2 (- p).

Lemma u_pos : 0 < u. Proof. apply bpow_gt_0. Qed.

Lemma u_half : 2 * u <= 1.
Proof.
unfold u. change 2 with (bpow radix2 1). rewrite <- bpow_plus. change 1 with (bpow radix2 0). apply bpow_le.
unfold Prec_gt_0 in p_pos; lia.
Qed.

Lemma format_fl x : format (fl x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

(** One rounded addition. *)
Lemma add_u a b : format a -> format b -> Rabs (fl (a + b) - (a + b)) <= u * Rabs (a + b).
Proof.
intros Fa Fb. destruct (FLT_plus_error_N_ex radix2 emin p choice a b Fa Fb) as (eps & He & ->).
replace ((a + b) * (1 + eps) - (a + b)) with (eps * (a + b)) by ring. rewrite Rabs_mult.
apply Rmult_le_compat_r; [apply Rabs_pos|]. apply Rle_trans with (1 := He).
assert (E : u_ro radix2 p = u).
{ unfold u_ro, u. rewrite bpow_plus. change (bpow radix2 1) with 2. field. }
rewrite E. generalize u_pos; intros. apply Rmult_le_reg_r with (1 + u); [lra|].
unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Fixpoint computed (t : tree R) :=
  match t with leaf x => x | node t t' => fl (computed t + computed t') end.

Fixpoint size (t : tree R) : R := match t with leaf _ => 1 | node t t' => size t + size t' end.

Lemma computed_evaluate t : computed t = evaluate (fun a b => fl (a + b)) t.
Proof. induction t as [x|t IH t' IH']; simpl; auto. now rewrite IH, IH'. Qed.

Definition exact (t : tree R) := sum (leaves t).
Definition mags (t : tree R) := sum (map Rabs (leaves t)).
Definition floats (t : tree R) := Forall (fun x => format x) (leaves t).

Lemma size_leaves t : size t = INR (length (leaves t)).
Proof. induction t as [x|t IH t' IH']; simpl; [reflexivity|]. now rewrite IH, IH', app_length, plus_INR. Qed.

Lemma size_1 t : 1 <= size t.
Proof. induction t; simpl; lra. Qed.

Lemma exact_node t t' : exact (node t t') = exact t + exact t'.
Proof. apply sum_app. Qed.

Lemma mags_node t t' : mags (node t t') = mags t + mags t'.
Proof. unfold mags; simpl. now rewrite map_app, sum_app. Qed.

Lemma exact_mags t : Rabs (exact t) <= mags t.
Proof.
unfold exact, mags. induction (leaves t) as [|x l IH]; simpl; [rewrite Rabs_R0; lra|].
apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

Lemma mags_pos t : 0 <= mags t.
Proof. apply Rle_trans with (2 := exact_mags t), Rabs_pos. Qed.

Lemma computed_format t : floats t -> format (computed t).
Proof. destruct t; simpl; intros F; [now apply Forall_inv in F|apply format_fl]. Qed.

(** Jeannerod and Rump: (n-1) u times the sum of magnitudes, in any tree, for any n. *)
Theorem tree_error t : floats t -> Rabs (computed t - exact t) <= (size t - 1) * u * mags t.
Proof.
induction t as [x|t1 IH1 t2 IH2]; intros F.
- unfold exact, mags; simpl. replace (x - (x + 0)) with 0 by ring. rewrite Rabs_R0. lra.
- apply Forall_app in F as [F1 F2]. specialize (IH1 F1). specialize (IH2 F2).
  generalize (computed_format _ F1) (computed_format _ F2). intros C1 C2.
  generalize (add_u _ _ C1 C2) (plus_error_le_l radix2 (FLT_exp emin p) choice _ _ C1 C2)
    (plus_error_le_r radix2 (FLT_exp emin p) choice _ _ C1 C2).
  cbn [computed size]. rewrite exact_node, mags_node.
  generalize (exact_mags t1) (exact_mags t2) (mags_pos t1) (mags_pos t2) (size_1 t1) (size_1 t2) u_pos u_half.
  set (c1 := computed t1) in *. set (c2 := computed t2) in *. set (s := fl (c1 + c2)).
  set (x1 := exact t1) in *. set (x2 := exact t2) in *. set (m1 := mags t1) in *. set (m2 := mags t2) in *.
  set (n1 := size t1) in *. set (n2 := size t2) in *.
  intros X1 X2 M1 M2 N1 N2 up uh Du Dl Dr.
  replace (s - (x1 + x2)) with ((c1 - x1) + (c2 - x2) + (s - (c1 + c2))) by ring.
  set (d := s - (c1 + c2)) in *. set (E1 := c1 - x1) in *. set (E2 := c2 - x2) in *.
  assert (T : Rabs (E1 + E2 + d) <= Rabs E1 + Rabs E2 + Rabs d).
  { apply Rle_trans with (1 := Rabs_triang _ _). apply Rplus_le_compat_r, Rabs_triang. }
  assert (K1 : Rabs c1 <= m1 + Rabs E1).
  { replace c1 with (x1 + E1) by (unfold E1; ring). apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (K2 : Rabs c2 <= m2 + Rabs E2).
  { replace c2 with (x2 + E2) by (unfold E2; ring). apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (K : Rabs (c1 + c2) <= m1 + m2 + Rabs E1 + Rabs E2).
  { apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  apply Rle_trans with (1 := T).
  assert (Q1 : 0 <= (n1 + n2 - 1) * u * m1) by (repeat apply Rmult_le_pos; lra).
  assert (Q2 : 0 <= (n1 + n2 - 1) * u * m2) by (repeat apply Rmult_le_pos; lra).
  destruct (Rle_lt_dec m2 (u * m1)) as [h2|h2].
  + (* |d| <= |c2| <= m2 + |E2| *)
    assert (P2 : (n2 - 1) * u * m2 * 2 <= (n2 - 1) * u * m1).
    { assert (m2 * 2 <= m1) by nra. assert (0 <= (n2 - 1) * u) by nra. nra. }
    lra.
  + destruct (Rle_lt_dec m1 (u * m2)) as [h1|h1].
    * assert (P1 : (n1 - 1) * u * m1 * 2 <= (n1 - 1) * u * m2).
      { assert (m1 * 2 <= m2) by nra. assert (0 <= (n1 - 1) * u) by nra. nra. }
      lra.
    * assert (A1 : u * Rabs E1 <= (n1 - 1) * u * m2).
      { apply Rle_trans with (u * ((n1 - 1) * u * m1)); [apply Rmult_le_compat_l; lra|].
        replace (u * ((n1 - 1) * u * m1)) with ((n1 - 1) * u * (u * m1)) by ring.
        apply Rmult_le_compat_l; nra. }
      assert (A2 : u * Rabs E2 <= (n2 - 1) * u * m1).
      { apply Rle_trans with (u * ((n2 - 1) * u * m2)); [apply Rmult_le_compat_l; lra|].
        replace (u * ((n2 - 1) * u * m2)) with ((n2 - 1) * u * (u * m2)) by ring.
        apply Rmult_le_compat_l; nra. }
      assert (u * Rabs (c1 + c2) <= u * (m1 + m2 + Rabs E1 + Rabs E2)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** By height: ((1+u)^h - 1), which is at most h u / (1 - h u). *)
Theorem tree_error_height t : floats t -> Rabs (computed t - exact t) <= ((1 + u) ^ height t - 1) * mags t.
Proof.
induction t as [x|t1 IH1 t2 IH2]; intros F.
- unfold exact, mags; simpl. replace (x - (x + 0)) with 0 by ring. rewrite Rabs_R0. lra.
- apply Forall_app in F as [F1 F2]. specialize (IH1 F1). specialize (IH2 F2).
  generalize (add_u _ _ (computed_format _ F1) (computed_format _ F2)).
  cbn [computed height]. rewrite exact_node, mags_node.
  generalize (exact_mags t1) (exact_mags t2) (mags_pos t1) (mags_pos t2) u_pos. intros X1 X2 M1 M2 up Du.
  set (h := Nat.max (height t1) (height t2)).
  assert (P : forall i j, (i <= j)%nat -> (1 + u) ^ i <= (1 + u) ^ j) by (intros; apply Rle_pow; lra || lia).
  assert (P1 := P (height t1) h ltac:(unfold h; lia)). assert (P2 := P (height t2) h ltac:(unfold h; lia)).
  assert (G1 : Rabs (computed t1 - exact t1) <= ((1 + u) ^ h - 1) * mags t1) by nra.
  assert (G2 : Rabs (computed t2 - exact t2) <= ((1 + u) ^ h - 1) * mags t2) by nra.
  clear IH1 IH2 P P1 P2.
  set (c1 := computed t1) in *. set (c2 := computed t2) in *. set (w := (1 + u) ^ h) in *.
  assert (K : Rabs (c1 + c2) <= w * (mags t1 + mags t2)).
  { replace (c1 + c2) with ((c1 - exact t1) + (c2 - exact t2) + (exact t1 + exact t2)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _).
    generalize (Rabs_triang (c1 - exact t1) (c2 - exact t2)) (Rabs_triang (exact t1) (exact t2)).
    lra. }
  replace (fl (c1 + c2) - (exact t1 + exact t2)) with ((c1 - exact t1) + (c2 - exact t2) + (fl (c1 + c2) - (c1 + c2)))
    by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). generalize (Rabs_triang (c1 - exact t1) (c2 - exact t2)).
  assert (u * Rabs (c1 + c2) <= u * (w * (mags t1 + mags t2))) by (apply Rmult_le_compat_l; lra).
  cbn [pow]. fold w. lra.
Qed.

Lemma height_bound h : INR h * u < 1 -> (1 + u) ^ h - 1 <= INR h * u / (1 - INR h * u).
Proof.
intros H. assert (G : (1 + u) ^ h * (1 - INR h * u) <= 1).
{ clear H. generalize u_pos; intros up. induction h as [|h IH]; [simpl; lra|].
  rewrite S_INR. cbn [pow]. generalize (pos_INR h); intros.
  assert (0 < (1 + u) ^ h) by (apply pow_lt; lra).
  apply Rle_trans with (2 := IH).
  replace ((1 + u) * (1 + u) ^ h * (1 - (INR h + 1) * u)) with ((1 + u) ^ h * ((1 + u) * (1 - (INR h + 1) * u)))
    by ring.
  apply Rmult_le_compat_l; nra. }
apply Rmult_le_reg_r with (1 - INR h * u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** h u / (1 - h u) n M: what a tree of height at most h, over n records of
    magnitude at most M in any order, is off by. *)
Definition tree_accuracy (h n : nat) M := INR h * u / (1 - INR h * u) * (INR n * M).

Theorem tree_is_accurate t l h M :
  0 <= M -> Permutation (leaves t) l -> (height t <= h)%nat -> INR h * u < 1 -> records_up_to (fun x => format x) M l
  -> Rabs (computed t - sum l) <= tree_accuracy h (length l) M.
Proof.
intros M0 P Hh Hu F. unfold records_up_to in F. generalize u_pos; intros u0.
assert (Fl : floats t).
{ unfold floats. rewrite Forall_forall in *. intros x Hx. apply (F x), Permutation_in with (1 := P), Hx. }
assert (Ft : Forall (fun x => Rabs x <= M) (leaves t)).
{ rewrite Forall_forall in *. intros x Hx. apply (F x), Permutation_in with (1 := P), Hx. }
apply sum_of_magnitudes in Ft. rewrite (Permutation_length P) in Ft. fold (mags t) in Ft.
generalize (tree_error_height t Fl) (mags_pos t) (height_bound h Hu). unfold exact. rewrite (sum_perm _ _ P).
intros G MP HB.
assert ((1 + u) ^ height t <= (1 + u) ^ h) by (apply Rle_pow; auto; lra).
assert (1 <= (1 + u) ^ height t) by (apply pow_R1_Rle; lra).
apply Rle_trans with (1 := G). unfold tree_accuracy. apply Rmult_le_compat; lra.
Qed.

Lemma tree_accuracy_grows h h' n n' M :
  0 <= M -> (h <= h')%nat -> (n <= n')%nat -> INR h' * u < 1 -> tree_accuracy h n M <= tree_accuracy h' n' M.
Proof.
intros M0 Hh Hn Hu. generalize u_pos; intros u0. unfold tree_accuracy. apply le_INR in Hh, Hn.
generalize (pos_INR h) (pos_INR n); intros h0 n0.
assert (A : INR h * u <= INR h' * u) by (apply Rmult_le_compat_r; lra).
assert (B : 0 <= INR h * u) by (apply Rmult_le_pos; lra).
apply Rmult_le_compat; try (apply Rmult_le_pos; lra).
- apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra.
- apply Rmult_le_compat; try lra.
  + apply Rlt_le, Rinv_0_lt_compat. lra.
  + apply Rinv_le_contravar; lra.
- apply Rmult_le_compat_r; lra.
Qed.
End Rounded.
