(** gradients (docs/theorems/gradients.md): the sum of clipped gradients, in integers.

    A gradient, rounded to integers r in any way, is left as it is if the sum of its squares is at most K^2; otherwise
    each r_j becomes floor(m r_j / 2^s) + [r_j < 0], where m > 0 and m^2 sum(r^2) <= K^2 4^s. Its length is then at
    most K, and so one example moves the sum of them by at most K in L2; the m of the code is such a one; and blocks
    with limits of their own fit together. *)

From Coq Require Import List Permutation ZArith Lia.
From Soundsum Require Import Relations Sums.
Import ListNotations.
Open Scope Z_scope.

(** * One gradient *)

Definition squares (q : list Z) := sumZ (map (fun x => x * x) q).
Definition shorten (m s r : Z) := m * r / 2 ^ s + (if r <? 0 then 1 else 0).
Definition clip (K m s : Z) (r : list Z) := if squares r <=? K * K then r else map (shorten m s) r.
Definition factor (K N s : Z) := Z.sqrt (K * K * 4 ^ s / N).

Lemma squares_nonneg q : 0 <= squares q.
Proof.
unfold squares, sumZ; induction q as [|x q IH]; cbn [map fold_right]; [lia|]. generalize (Z.square_nonneg x). lia.
Qed.

Lemma four_is_a_square s : 0 <= s -> 4 ^ s = 2 ^ s * 2 ^ s.
Proof. intros H. change 4 with (2 * 2). now rewrite Z.pow_mul_l. Qed.

Theorem shorten_is_no_longer m s r : 0 < m -> 0 <= s -> shorten m s r * shorten m s r * 4 ^ s <= m * m * (r * r).
Proof.
intros Hm Hs. rewrite (four_is_a_square s Hs). set (p := 2 ^ s).
assert (Hp : 0 < p) by (unfold p; now apply Z.pow_pos_nonneg).
unfold shorten; fold p.
generalize (Z.div_mod (m * r) p ltac:(lia)) (Z.mod_pos_bound (m * r) p Hp).
set (f := m * r / p); set (e := (m * r) mod p). intros Hd He.
destruct (Z.ltb_spec r 0) as [Hr|Hr].
- assert (Hx : m * r < 0) by nia.
  assert (Hf : f < 0) by nia.
  assert (- (m * r) >= - (f + 1) * p) by nia.
  assert (0 <= - (f + 1) * p) by nia.
  assert (((- (f + 1)) * p) * ((- (f + 1)) * p) <= (- (m * r)) * (- (m * r))) by (apply Z.mul_le_mono_nonneg; lia). nia.
- assert (Hx : 0 <= m * r) by nia.
  assert (Hf : 0 <= f) by (unfold f; apply Z.div_pos; lia).
  assert (f * p <= m * r) by nia.
  assert ((f * p) * (f * p) <= (m * r) * (m * r)) by (apply Z.mul_le_mono_nonneg; nia).
  rewrite Z.add_0_r. nia.
Qed.

Theorem shortened_is_no_longer m s r : 0 < m -> 0 <= s -> squares (map (shorten m s) r) * 4 ^ s <= m * m * squares r.
Proof.
intros Hm Hs. unfold squares, sumZ. induction r as [|x r IH]; cbn [map fold_right]; [lia|].
generalize (shorten_is_no_longer m s x Hm Hs). nia.
Qed.

Theorem clip_at_most K m s r : 0 < m -> 0 <= s -> m * m * squares r <= K * K * 4 ^ s -> squares (clip K m s r) <= K * K.
Proof.
intros Hm Hs H. unfold clip. destruct (Z.leb_spec (squares r) (K * K)) as [L|L]; [exact L|].
generalize (shortened_is_no_longer m s r Hm Hs). intros G.
assert (0 < 4 ^ s) by (apply Z.pow_pos_nonneg; lia).
apply Z.mul_le_mono_pos_r with (p := 4 ^ s); lia.
Qed.

(** The code's m is small enough. *)
Theorem factor_fits K N s : 0 < N -> factor K N s * factor K N s * N <= K * K * 4 ^ s.
Proof.
intros HN. unfold factor. set (x := K * K * 4 ^ s / N).
destruct (Z.le_gt_cases 0 x) as [Hx|Hx].
- generalize (Z.sqrt_spec x Hx). intros [Hl _].
  assert (N * x <= K * K * 4 ^ s) by (apply Z.mul_div_le; lia). nia.
- rewrite Z.sqrt_neg by lia.
  assert (0 <= K * K * 4 ^ s) by (generalize (Z.square_nonneg K) (Z.pow_nonneg 4 s ltac:(lia)); nia). lia.
Qed.

Corollary clipped_by_its_factor K s r :
  0 <= s -> 0 < factor K (squares r) s -> 0 < squares r -> squares (clip K (factor K (squares r) s) s r) <= K * K.
Proof. intros Hs Hm HN. apply clip_at_most; auto. now apply factor_fits. Qed.

(** Blocks with limits of their own. *)
Theorem blocks_at_most K A B a b :
  squares a <= A * A -> squares b <= B * B -> A * A + B * B <= K * K -> squares (a ++ b) <= K * K.
Proof.
intros Ha Hb H. unfold squares, sumZ in *. rewrite map_app, fold_right_app.
enough (E : forall z, fold_right Z.add z (map (fun x => x * x) a) = fold_right Z.add 0 (map (fun x => x * x) a) + z)
  by (rewrite E; lia).
intros z. induction a as [|x a IH]; cbn [map fold_right]; [lia|].
rewrite IH; [lia|]. cbn [map fold_right] in Ha. generalize (Z.square_nonneg x). lia.
Qed.

(** * The sum *)

Section Sum.
Variables (X : Type) (d : nat) (q : X -> nat -> Z) (K : Z).

Definition length2 (v : nat -> Z) := squares (map v (seq 0 d)).
Definition clipped_sum (u : list X) (j : nat) := sumZ (map (fun x => q x j) u).
Definition difference (u v : list X) (j : nat) := clipped_sum u j - clipped_sum v j.
Hypothesis each_at_most : forall x, length2 (q x) <= K * K.

Lemma length2_of_zero v : (forall j, v j = 0) -> length2 v = 0.
Proof.
intros H. unfold length2, squares, sumZ. induction (seq 0 d) as [|j l IH]; cbn [map fold_right]; [reflexivity|].
rewrite H, IH. reflexivity.
Qed.

Lemma length2_ext v w : (forall j, v j = w j \/ v j = - w j) -> length2 v = length2 w.
Proof.
intros H. unfold length2, squares, sumZ. induction (seq 0 d) as [|j l IH]; cbn [map fold_right]; [reflexivity|].
rewrite IH. destruct (H j) as [->| ->]; lia.
Qed.

Lemma sum_with (a : list X) x b j : clipped_sum (a ++ x :: b) j = q x j + clipped_sum (a ++ b) j.
Proof.
unfold clipped_sum, sumZ. induction a as [|y a IH]; cbn [app map fold_right]; [reflexivity|]. rewrite IH. lia.
Qed.

Lemma sum_in_any_order u v j : Permutation u v -> clipped_sum u j = clipped_sum v j.
Proof. unfold clipped_sum, sumZ. induction 1; cbn [map fold_right]; lia. Qed.

Theorem one_example_moves_at_most_K u v : insert_delete u v -> length2 (difference u v) <= K * K.
Proof.
intros H. destruct H as [u|a z b|a z b].
- rewrite length2_of_zero; [apply Z.square_nonneg|]. intros j. unfold difference. lia.
- rewrite (length2_ext _ (q z)); [apply each_at_most|]. intros j. right. unfold difference. rewrite sum_with. lia.
- rewrite (length2_ext _ (q z)); [apply each_at_most|]. intros j. left. unfold difference. rewrite sum_with. lia.
Qed.

Theorem in_any_order_too u v : symmetric u v -> length2 (difference u v) <= K * K.
Proof.
intros (u' & P & H). rewrite (length2_ext _ (difference u' v)); [now apply one_example_moves_at_most_K|].
intros j. left. unfold difference. now rewrite (sum_in_any_order _ _ j P).
Qed.

(** A changed example: (a - b)^2 is at most 2 a^2 + 2 b^2 in every coordinate. *)
Lemma length2_of_two v w e : (forall j, e j = v j - w j) -> length2 e <= 2 * length2 v + 2 * length2 w.
Proof.
intros H. unfold length2, squares, sumZ. induction (seq 0 d) as [|j l IH]; cbn [map fold_right]; [lia|].
rewrite H. generalize (Z.square_nonneg (v j + w j)). lia.
Qed.

Theorem changing_one_moves_at_most_2_K u v : change_one u v -> length2 (difference u v) <= (2 * K) * (2 * K).
Proof.
intros (u' & P & H). assert (K0 := Z.square_nonneg K).
rewrite (length2_ext _ (difference u' v))
  by (intros j; left; unfold difference; now rewrite (sum_in_any_order _ _ j P)).
destruct H as [w|a x y b]; [rewrite length2_of_zero; [nia|]; intros j; unfold difference; lia|].
apply Z.le_trans with (2 * length2 (q x) + 2 * length2 (q y)).
- apply length2_of_two. intros j. unfold difference. rewrite !sum_with. lia.
- generalize (each_at_most x) (each_at_most y). nia.
Qed.
End Sum.
