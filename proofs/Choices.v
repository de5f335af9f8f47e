(** Permute-and-flip and the exponential mechanism, from exact coins (src/soundsum/privacy/choice.py): the probability of each
    candidate, and how private the choice is where one unit changes errors within a range.

    Page: docs/theorems/quantiles.md. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private Composition Gaussian Theta Renyi Ranges.
Import ListNotations.
Open Scope R_scope.

(** * Coins *)
(** Heads with probability exp(-(s/t) d): exact geometric noise is at least d. *)
Definition coin (t s d : Z) (fuel : nat) : program bool := bernoulli_exp_any fuel fuel (s * d) t.

Fixpoint flips (coins : list (nat -> program bool)) (fuel : nat) : program (list bool) :=
  match coins with
  | [] => Return []
  | c :: coins => let* b := c fuel in let* r := flips coins fuel in Return (b :: r)
  end.

(** The places of the heads, from a first place on. *)
Fixpoint heads (first : nat) (l : list bool) : list nat :=
  match l with [] => [] | b :: l => if b then first :: heads (S first) l else heads (S first) l end.

(** A uniform one among the heads. *)
Definition one_head (l : list bool) (fuel : nat) : program nat :=
  let* u := below fuel (Z.of_nat (length (heads 0 l))) in Return (nth (Z.to_nat u) (heads 0 l) O).

Fixpoint least (l : list Z) : Z := match l with [] => 0 | [x] => x | x :: l => Z.min x (least l) end%Z.
Definition behind (errors : list Z) : list Z := map (fun e => e - least errors)%Z errors.

(** `PermuteAndFlip.choose`, at the rate s/t. *)
Definition permute_and_flip (t s : Z) (errors : list Z) : nat -> program nat :=
  then_ (flips (map (coin t s) (behind errors))) one_head.

(** * Its law *)
(** The mean over independent coins, of which the i-th shows heads with the i-th chance. *)
Fixpoint flips_mean (chances : list R) (w : list bool -> R) : R :=
  match chances with
  | [] => w []
  | x :: l => x * flips_mean l (fun r => w (true :: r)) + (1 - x) * flips_mean l (fun r => w (false :: r))
  end.

Definition heads_up (l : list bool) : nat := length (heads 0 l).

Lemma heads_length first l : length (heads first l) = heads_up l.
Proof.
unfold heads_up. revert first. assert (G : forall l i j, length (heads i l) = length (heads j l)).
{ clear. induction l as [|b l IH]; intros i j; [reflexivity|]. cbn [heads]. destruct b; cbn [length]; now rewrite (IH (S i) (S j)). }
intros; apply G.
Qed.

Lemma heads_up_cons b l : heads_up (b :: l) = ((if b then 1 else 0) + heads_up l)%nat.
Proof. unfold heads_up at 1. cbn [heads]. destruct b; cbn [length]; now rewrite heads_length. Qed.

Lemma heads_at i first l :
  lsum (passes (one_is Nat.eq_dec i)) (heads first l) = if (i <? first)%nat then 0 else if nth (i - first) l false then 1 else 0.
Proof.
revert first. induction l as [|b l IH]; intros first.
- cbn [heads lsum]. destruct (i <? first)%nat; [reflexivity|]. now destruct (i - first)%nat.
- assert (E : lsum (passes (one_is Nat.eq_dec i)) (heads (S first) l)
    = if (i <? first)%nat then 0 else if (i =? first)%nat then 0 else if nth (i - S first) l false then 1 else 0).
  { rewrite IH. destruct (Nat.ltb_spec i (S first)), (Nat.ltb_spec i first), (Nat.eqb_spec i first); auto; lia. }
  assert (H : passes (one_is Nat.eq_dec i) first = if (i =? first)%nat then 1 else 0).
  { unfold passes, one_is. destruct (Nat.eq_dec i first), (Nat.eqb_spec i first); auto; lia. }
  cbn [heads]. destruct b; cbn [lsum]; rewrite E, ?H.
  + destruct (Nat.ltb_spec i first), (Nat.eqb_spec i first); try lia; try ring.
    * subst. rewrite Nat.sub_diag. cbn. ring.
    * replace (i - first)%nat with (S (i - S first)) by lia. cbn [nth]. ring.
  + destruct (Nat.ltb_spec i first), (Nat.eqb_spec i first); try lia; auto.
    * subst. now rewrite Nat.sub_diag.
    * now replace (i - first)%nat with (S (i - S first)) by lia.
Qed.

Lemma total_nth A (f : A -> R) l d : total (length l) (fun u => f (nth u l d)) = lsum f l.
Proof.
induction l as [|a l IH]; [reflexivity|]. change (length (a :: l)) with (1 + length l)%nat. rewrite total_split. cbn [total lsum].
rewrite Rplus_0_l. f_equal. rewrite <- IH. apply total_ext. reflexivity.
Qed.

(** What is asked of the coins to choose i. *)
Definition chosen (i : nat) (l : list bool) : R := if nth i l false then / INR (heads_up l) else 0.

Lemma nothing_below fuel w : weigh (below fuel 0) w = 0.
Proof.
unfold below. rewrite again_weigh. match goal with |- ?x * _ = 0 => change x with 0 end. ring.
Qed.

Lemma one_head_law i l : Un_cv (fun fuel => weigh (one_head l fuel) (passes (one_is Nat.eq_dec i))) (chosen i l).
Proof.
assert (H := heads_at i 0 l). rewrite Nat.sub_0_r in H. cbn [Nat.ltb] in H. change (i <? 0)%nat with false in H.
unfold chosen, one_head, heads_up. destruct (heads 0 l) as [|h t] eqn:E.
- cbn [lsum length] in *. destruct (nth i l false); [lra|]. apply tends_ext with (fun _ => 0); [|apply tends_const].
  intros n. rewrite weigh_bind. now rewrite nothing_below.
- set (m := length (h :: t)) in *. assert (M : (0 < m)%nat) by (unfold m; cbn [length]; lia).
  destruct (below_law m M) as (r & R & B).
  apply tends_ext with (fun fuel => (1 - r ^ fuel) * ((if nth i l false then 1 else 0) / INR m)).
  + intros n. rewrite weigh_bind, B. f_equal. f_equal. cbn [weigh]. rewrite <- H.
    rewrite <- (total_nth _ (passes (one_is Nat.eq_dec i)) (h :: t) O). fold m. apply total_ext. intros u _. now rewrite Nat2Z.id.
  + replace (if nth i l false then / INR m else 0) with ((1 - 0) * ((if nth i l false then 1 else 0) / INR m))
      by (destruct (nth i l false); unfold Rdiv; ring).
    apply (CV_mult (fun fuel => 1 - r ^ fuel) (fun _ => (if nth i l false then 1 else 0) / INR m)); [|apply tends_const].
    apply (CV_minus (fun _ => 1)); [apply tends_const|]. now apply tends_powers.
Qed.

Definition is_coin (c : nat -> program bool) (x : R) :=
  grows c /\ Un_cv (fun fuel => weigh (c fuel) (passes (fun b => b))) x /\ Un_cv (fun fuel => weigh (c fuel) (passes negb)) (1 - x).

Lemma flips_law coins chances (w : nat -> list bool -> R) W :
  Forall2 is_coin coins chances -> (forall l, Un_cv (fun fuel => w fuel l) (W l))
  -> Un_cv (fun fuel => weigh (flips coins fuel) (w fuel)) (flips_mean chances W).
Proof.
intros F. revert w W. induction F as [|c x coins chances (G & Y & N) F IH]; intros w W H; cbn [flips flips_mean]; [apply H|].
apply tends_ext with (fun fuel =>
  weigh (c fuel) (passes (fun b => b)) * weigh (flips coins fuel) (fun r => w fuel (true :: r))
  + weigh (c fuel) (passes negb) * weigh (flips coins fuel) (fun r => w fuel (false :: r))).
- intros n. symmetry. rewrite weigh_bind, weigh_bool. cbv beta. rewrite !weigh_bind. reflexivity.
- apply (CV_plus (fun fuel => _ * _) (fun fuel => _ * _)); apply (CV_mult (fun fuel => weigh (c fuel) _)); auto.
Qed.

Lemma grows_flips coins : Forall grows coins -> grows (flips coins).
Proof.
induction 1 as [|c coins C F IH]; [apply grows_return|]. intros i j H. cbn [flips]. apply extended_bind; [now apply C|].
intros b. apply extended_bind; [now apply IH|]. intros; constructor.
Qed.

Lemma below_extended i j n : (i <= j)%nat -> extended (below i n) (below j n).
Proof. intros H. apply again_extended; auto. apply extended_refl. Qed.

Lemma grows_one_head l : grows (one_head l).
Proof. intros i j H. apply extended_bind; [now apply below_extended|]. intros; constructor. Qed.

(** * The chance of a candidate, without a sum over all flips *)
Lemma flips_mean_ext chances w w' : (forall l, w l = w' l) -> flips_mean chances w = flips_mean chances w'.
Proof. revert w w'. induction chances as [|x l IH]; intros w w' H; cbn [flips_mean]; auto. now rewrite (IH _ _ (fun r => H (true :: r))), (IH _ _ (fun r => H (false :: r))). Qed.

Lemma flips_mean_zero chances : flips_mean chances (fun _ => 0) = 0.
Proof. induction chances as [|x l IH]; cbn [flips_mean]; [reflexivity|]. rewrite IH. ring. Qed.

(** The mean of 1/(k + 1 + heads) . *)
Definition share_of_heads (chances : list R) (k : nat) : R := flips_mean chances (fun l => / INR (S k + heads_up l)).

Fixpoint others {A} (i : nat) (l : list A) : list A :=
  match i, l with _, [] => [] | O, _ :: l => l | S i, a :: l => a :: others i l end.

Lemma chosen_mean chances i k :
  (i < length chances)%nat
  -> flips_mean chances (fun l => if nth i l false then / INR (k + heads_up l) else 0)
     = nth i chances 0 * share_of_heads (others i chances) k.
Proof.
revert i k. induction chances as [|x chances IH]; intros i k I; cbn [length] in I; [lia|]. destruct i as [|i]; cbn [flips_mean nth others].
- rewrite flips_mean_zero, Rmult_0_r, Rplus_0_r. f_equal.
  apply flips_mean_ext. intros l. rewrite heads_up_cons. do 2 f_equal. lia.
- rewrite (flips_mean_ext _ (fun r => if nth i r false then / INR (k + heads_up (true :: r)) else 0)
    (fun r => if nth i r false then / INR (S k + heads_up r) else 0))
    by (intros r; rewrite heads_up_cons; destruct (nth i r false); auto; do 2 f_equal; lia).
  rewrite (flips_mean_ext _ (fun r => if nth i r false then / INR (k + heads_up (false :: r)) else 0)
    (fun r => if nth i r false then / INR (k + heads_up r) else 0))
    by (intros r; rewrite heads_up_cons; destruct (nth i r false); auto; do 2 f_equal; lia).
  rewrite !IH by lia. unfold share_of_heads at 3. cbn [flips_mean].
  rewrite (flips_mean_ext _ (fun r => / INR (S k + heads_up (true :: r))) (fun r => / INR (S (S k) + heads_up r)))
    by (intros r; rewrite heads_up_cons; do 2 f_equal; lia).
  rewrite (flips_mean_ext _ (fun r => / INR (S k + heads_up (false :: r))) (fun r => / INR (S k + heads_up r)))
    by (intros r; rewrite heads_up_cons; do 2 f_equal; lia).
  unfold share_of_heads. ring.
Qed.

(** It is the area under the product of 1 - x t, t from 0 to 1. *)
Fixpoint area (chances : list R) (k : nat) (u : R) : R :=
  match chances with
  | [] => / INR (S k) * u ^ S k
  | x :: l => (1 - x) * area l k u + x * area l (S k) u
  end.

Fixpoint product (chances : list R) (t : R) : R := match chances with [] => 1 | x :: l => (1 - x * t) * product l t end.

Lemma area_1 chances k : area chances k 1 = share_of_heads chances k.
Proof.
revert k. induction chances as [|x l IH]; intros k.
- unfold share_of_heads. cbn [area flips_mean]. rewrite pow1, Rmult_1_r. do 2 f_equal. cbn. lia.
- cbn [area]. rewrite !IH. unfold share_of_heads. cbn [flips_mean].
  rewrite (flips_mean_ext _ (fun r => / INR (S k + heads_up (true :: r))) (fun r => / INR (S (S k) + heads_up r)))
    by (intros r; rewrite heads_up_cons; do 2 f_equal; lia).
  rewrite (flips_mean_ext _ (fun r => / INR (S k + heads_up (false :: r))) (fun r => / INR (S k + heads_up r)))
    by (intros r; rewrite heads_up_cons; do 2 f_equal; lia).
  ring.
Qed.

Lemma area_0 chances k : area chances k 0 = 0.
Proof. revert k. induction chances as [|x l IH]; intros k; cbn [area]; [rewrite pow_i by lia; ring|]. rewrite !IH. ring. Qed.

Lemma area_slope chances k u : derivable_pt_lim (area chances k) u (u ^ k * product chances (1 - u)).
Proof.
revert k. induction chances as [|x l IH]; intros k; cbn [area product].
- replace (u ^ k * 1) with (/ INR (S k) * (INR (S k) * u ^ pred (S k)))
    by (cbn [pred]; field; apply not_0_INR; lia).
  apply (derivable_pt_lim_scal (fun u => u ^ S k)). apply derivable_pt_lim_pow.
- replace (u ^ k * ((1 - x * (1 - u)) * product l (1 - u)))
    with ((1 - x) * (u ^ k * product l (1 - u)) + x * (u ^ S k * product l (1 - u))) by (cbn [pow]; ring).
  apply (derivable_pt_lim_plus (fun u => (1 - x) * area l k u) (fun u => x * area l (S k) u));
    apply (derivable_pt_lim_scal); apply IH.
Qed.

(** The same from the other end. *)
Definition under (chances : list R) (t : R) : R := area chances 0 1 - area chances 0 (1 - t).

Lemma under_slope chances t : derivable_pt_lim (under chances) t (product chances t).
Proof.
unfold under. replace (product chances t) with (0 - (product chances t) * (0 - 1)) by ring.
apply (derivable_pt_lim_minus (fct_cte (area chances 0 1)) (fun t => area chances 0 (1 - t))); [apply derivable_pt_lim_const|].
apply (derivable_pt_lim_comp (fun t => 1 - t) (area chances 0)).
- apply (derivable_pt_lim_minus (fct_cte 1) id); [apply derivable_pt_lim_const|apply derivable_pt_lim_id].
- replace (product chances t) with ((1 - t) ^ 0 * product chances (1 - (1 - t))); [apply area_slope|].
  cbn [pow]. rewrite Rmult_1_l. f_equal. ring.
Qed.

Lemma under_0 chances : under chances 0 = 0.
Proof. unfold under. rewrite Rminus_0_r. ring. Qed.

Lemma under_1 chances : under chances 1 = share_of_heads chances 0.
Proof. unfold under. replace (1 - 1) with 0 by ring. rewrite area_0, area_1. ring. Qed.

Lemma product_nonneg chances t : 0 <= t <= 1 -> Forall (fun x => 0 <= x <= 1) chances -> 0 <= product chances t.
Proof.
intros T. induction 1 as [|x l X F IH]; cbn [product]; [lra|]. apply Rmult_le_pos; [nra|exact IH].
Qed.

Lemma products_compare chances chances' c t :
  1 <= c -> 0 <= t <= 1 -> Forall2 (fun x y => 0 <= x <= 1 /\ 0 <= y <= c * x) chances chances'
  -> 0 <= product chances t <= product chances' (t / c).
Proof.
intros C T. induction 1 as [|x y l l' [X Y] F IH]; cbn [product]; [lra|].
assert (y * (t / c) <= x * t).
{ unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_reg_r with c; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. nra. }
assert (0 <= x * t <= 1) by nra. split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat; lra.
Qed.

(** Chances that are larger at most c times leave at least 1/c. *)
Theorem shares_compare chances chances' c :
  1 <= c -> Forall2 (fun x y => 0 <= x <= 1 /\ 0 <= y <= 1 /\ y <= c * x) chances chances'
  -> share_of_heads chances 0 <= c * share_of_heads chances' 0.
Proof.
intros C F. rewrite <- !under_1.
assert (F1 : Forall2 (fun x y => 0 <= x <= 1 /\ 0 <= y <= c * x) chances chances')
  by (clear - F; induction F; constructor; [lra|assumption]).
assert (F2 : Forall (fun y => 0 <= y <= 1) chances') by (clear F1; induction F; constructor; tauto).
apply Rle_trans with (c * under chances' (1 / c)).
- set (f t := c * under chances' (t / c) - under chances t).
  assert (S : forall t, derivable_pt_lim f t (product chances' (t / c) - product chances t)).
  { intros t. unfold f. apply (derivable_pt_lim_minus (fun t => c * under chances' (t / c)) (under chances)); [|apply under_slope].
    replace (product chances' (t / c)) with (c * (product chances' (t / c) * / c)) by (field; lra).
    apply (derivable_pt_lim_scal (fun t => under chances' (t / c))).
    apply (derivable_pt_lim_comp (fun t => t / c) (under chances')); [|apply under_slope].
    replace (/ c) with (1 * / c + t * 0) by ring.
    apply (derivable_pt_lim_mult id (fct_cte (/ c))); [apply derivable_pt_lim_id|apply derivable_pt_lim_const]. }
  destruct (MVT_cor2 f _ 0 1 ltac:(lra) ltac:(intros; apply S)) as (b & B & I).
  assert (P := products_compare chances chances' c b C ltac:(lra) F1).
  unfold f in B. unfold Rdiv in B at 2. rewrite Rmult_0_l, !under_0 in B. lra.
- apply Rmult_le_compat_l; [lra|]. assert (D : 0 < 1 / c <= 1).
  { unfold Rdiv. rewrite Rmult_1_l. split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  destruct (Req_dec (1 / c) 1) as [->|N]; [lra|].
  destruct (MVT_cor2 (under chances') (product chances') (1 / c) 1 ltac:(lra) ltac:(intros; apply under_slope)) as (b & B & I).
  assert (0 <= product chances' b) by (apply product_nonneg; [lra|exact F2]). nra.
Qed.

(** * Errors and chances *)
Definition chance (t s d : Z) : R := exp (- (IZR s / IZR t * IZR d)).
Definition chances (t s : Z) (errors : list Z) : list R := map (chance t s) (behind errors).

(** The probability of the i-th candidate. *)
Definition flip_mass (t s : Z) (errors : list Z) (i : nat) : R :=
  nth i (chances t s errors) 0 * share_of_heads (others i (chances t s errors)) 0.

Lemma same_length A B (P : A -> B -> Prop) l l' : Forall2 P l l' -> length l = length l'.
Proof. induction 1; cbn [length]; congruence. Qed.

(** All errors change by numbers within a range. *)
Definition within_range (range : Z) (e f : list Z) := exists a, Forall2 (fun x y => a <= y - x <= a + range)%Z e f.

Lemma within_range_sym range e f : within_range range e f -> within_range range f e.
Proof. intros [a F]. exists (- (a + range))%Z. induction F; constructor; [lia|assumption]. Qed.

Lemma within_range_length range e f : within_range range e f -> length e = length f.
Proof. intros [a F]. exact (same_length _ _ _ _ _ F). Qed.

Lemma least_below l x : In x l -> (least l <= x)%Z.
Proof.
induction l as [|y l IH]; [intros []|]. intros [->|H]; cbn [least]; destruct l as [|z l]; try lia; try contradiction.
specialize (IH H). lia.
Qed.

Lemma least_in l : l <> [] -> In (least l) l.
Proof.
induction l as [|x l IH]; [congruence|]. intros _. cbn [least]. destruct l as [|y l]; [now left|].
destruct (Z.min_spec x (least (y :: l))) as [[_ ->]|[_ ->]]; [now left|]. right. apply IH. discriminate.
Qed.

Section Choice.
Variables t s : Z.
Hypothesis t_pos : (0 < t)%Z.
Hypothesis s_pos : (0 < s)%Z.
Notation rate := (IZR s / IZR t).

Lemma rate_pos : 0 < rate.
Proof. apply Rdiv_lt_0_compat; now apply IZR_lt. Qed.

Lemma chance_range d : (0 <= d)%Z -> 0 < chance t s d <= 1.
Proof.
intros D. unfold chance. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_le. apply IZR_le in D. generalize rate_pos. nra.
Qed.

Lemma behind_nonneg errors : Forall (fun d => 0 <= d)%Z (behind errors).
Proof. apply Forall_forall. intros d H. apply in_map_iff in H as (e & <- & H). generalize (least_below errors e H). lia. Qed.

Lemma coin_is_one d : (0 <= d)%Z -> is_coin (coin t s d) (chance t s d).
Proof.
intros D. assert (T := t_pos). destruct (bernoulli_exp_any_law (s * d) t ltac:(nia) T) as [Y N].
replace (exp (- (IZR (s * d) / IZR t))) with (chance t s d) in *.
2: unfold chance; do 2 f_equal; rewrite mult_IZR; field; apply not_0_IZR; lia.
split; [|split; assumption]. intros i j H. now apply exp_coins_extended.
Qed.

Lemma all_coins errors : Forall2 is_coin (map (coin t s) (behind errors)) (chances t s errors).
Proof.
unfold chances. assert (B := behind_nonneg errors). induction B as [|d l D B IH]; cbn [map]; constructor; auto. now apply coin_is_one.
Qed.

Lemma grows_choice errors : grows (permute_and_flip t s errors).
Proof.
apply grows_then; [|apply grows_one_head]. apply grows_flips. assert (F := all_coins errors).
induction F as [|c x l l' [G _] F IH]; constructor; auto.
Qed.

Lemma beyond_is_never l i g : (length l <= i)%nat -> flips_mean l (fun r => if nth i r false then g r else 0) = 0.
Proof.
revert i g. induction l as [|x l IH]; intros i g H; cbn [flips_mean length] in *; [now destruct i|]. destruct i as [|i]; [lia|].
cbn [nth]. rewrite (IH i (fun r => g (true :: r))), (IH i (fun r => g (false :: r))) by lia. ring.
Qed.

Theorem permute_and_flip_law errors : law Nat.eq_dec (permute_and_flip t s errors) (flip_mass t s errors).
Proof.
intros i. replace (flip_mass t s errors i) with (flips_mean (chances t s errors) (chosen i)).
- apply tends_ext with (fun fuel => weigh (flips (map (coin t s) (behind errors)) fuel)
    (fun l => weigh (one_head l fuel) (passes (one_is Nat.eq_dec i)))).
  + intros n. unfold permute_and_flip, then_. now rewrite weigh_bind.
  + apply (flips_law _ _ (fun fuel l => weigh (one_head l fuel) (passes (one_is Nat.eq_dec i))) (chosen i)); [apply all_coins|].
    intros; apply one_head_law.
- unfold flip_mass, chosen. destruct (Nat.lt_ge_cases i (length (chances t s errors))) as [H|H].
  + rewrite <- (chosen_mean (chances t s errors) i 0 H). reflexivity.
  + rewrite nth_overflow by exact H. rewrite (beyond_is_never _ i (fun r => / INR (heads_up r))) by exact H. ring.
Qed.

Lemma others_both A B (P : A -> B -> Prop) i l l' : Forall2 P l l' -> Forall2 P (others i l) (others i l').
Proof. intros F. revert i. induction F as [|a b l l' H F IH]; intros [|i]; cbn [others]; auto. Qed.

Lemma nth_both A B (P : A -> B -> Prop) i l l' a b : Forall2 P l l' -> (i < length l)%nat -> P (nth i l a) (nth i l' b).
Proof.
intros F. revert i. induction F as [|x y l l' H F IH]; intros [|i] I; cbn [nth length] in *; auto; try lia. apply IH. lia.
Qed.

(** How much larger chances can be, and at least are. *)
Lemma chances_compare e f a range :
  Forall2 (fun x y => a <= y - x <= a + range)%Z e f
  -> let c := exp (rate * IZR (least f - least e - a)) in
     Forall2 (fun x y => 0 < x <= 1 /\ 0 < y <= 1 /\ y <= c * x /\ c * x <= exp (rate * IZR range) * y) (chances t s e) (chances t s f).
Proof.
intros F. cbv zeta. unfold chances, behind. assert (Le := least_below e). assert (Lf := least_below f).
set (l := least e) in *. set (m := least f) in *. clearbody l m.
induction F as [|x y e f H F IH]; cbn [map]; constructor.
- assert (R := rate_pos). assert (Le' := Le x (or_introl eq_refl)). assert (Lf' := Lf y (or_introl eq_refl)).
  split; [apply chance_range; lia|split; [apply chance_range; lia|]]. unfold chance. rewrite <- !exp_plus.
  split; apply exp_le.
  + replace (rate * IZR (m - l - a) + - (rate * IZR (x - l))) with (- (rate * IZR (x - m + a)))
      by (rewrite !minus_IZR, plus_IZR, !minus_IZR; ring).
    apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. apply IZR_le. lia.
  + replace (rate * IZR (m - l - a) + - (rate * IZR (x - l))) with (- (rate * IZR (x - m + a)))
      by (rewrite !minus_IZR, plus_IZR, !minus_IZR; ring).
    replace (rate * IZR range + - (rate * IZR (y - m))) with (- (rate * IZR (y - m - range)))
      by (rewrite !minus_IZR; ring).
    apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. apply IZR_le. lia.
- apply IH; intros; [apply Le|apply Lf]; now right.
Qed.

Lemma least_moves e f a range :
  e <> [] -> Forall2 (fun x y => a <= y - x <= a + range)%Z e f -> (0 <= least f - least e - a)%Z.
Proof.
intros N F. assert (Nf : f <> []) by (intros ->; inversion F; subst; congruence).
destruct (In_nth f (least f) 0%Z (least_in f Nf)) as (j & J & E).
assert (J' : (j < length e)%nat) by (now rewrite (same_length _ _ _ _ _ F)).
assert (H := nth_both _ _ _ j e f 0%Z 0%Z F J'). assert (L := least_below e (nth j e 0%Z) (nth_In e 0%Z J')). cbv beta in H. lia.
Qed.

(** r R-DP: one by one, *)
Theorem flip_masses_are_close e f range i :
  within_range range e f -> flip_mass t s e i <= exp (rate * IZR range) * flip_mass t s f i.
Proof.
intros [a F]. assert (C := chances_compare e f a range F). cbv zeta in C. set (c := exp (rate * IZR (least f - least e - a))) in *.
unfold flip_mass. assert (E := exp_pos (rate * IZR range)).
destruct (Nat.lt_ge_cases i (length (chances t s e))) as [H|H].
2:{ rewrite !nth_overflow; [lra| |exact H]. now rewrite <- (same_length _ _ _ _ _ C). }
assert (c1 : 1 <= c).
{ unfold c. rewrite <- exp_0. apply exp_le, Rmult_le_pos; [apply Rlt_le, rate_pos|]. apply IZR_le.
  apply (least_moves e f a range); auto. intros ->. cbn in H. lia. }
destruct (nth_both _ _ _ i _ _ 0 0 C H) as (X & Y & _ & G). cbv beta in *.
assert (S : share_of_heads (others i (chances t s e)) 0 <= c * share_of_heads (others i (chances t s f)) 0).
{ apply shares_compare; auto. apply others_both. clear - C. induction C; constructor; [lra|assumption]. }
set (x := nth i (chances t s e) 0) in *. set (y := nth i (chances t s f) 0) in *.
set (S' := share_of_heads (others i (chances t s f)) 0) in *.
assert (S0 : 0 <= S').
{ unfold S', share_of_heads. assert (Z : forall l w, Forall (fun x => 0 <= x <= 1) l -> (forall r, 0 <= w r) -> 0 <= flips_mean l w).
  { clear. intros l w F. revert w. induction F as [|x l X F IH]; intros w W; cbn [flips_mean]; auto.
    assert (A := IH (fun r => w (true :: r)) (fun r => W (true :: r))). assert (B := IH (fun r => w (false :: r)) (fun r => W (false :: r))). nra. }
  apply Z.
  - clear - C. assert (F : Forall2 (fun _ y => 0 <= y <= 1) (chances t s e) (chances t s f))
      by (clear - C; induction C; constructor; [lra|assumption]).
    apply (others_both _ _ _ i) in F. induction F; constructor; auto.
  - intros r. apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia. }
apply Rle_trans with (x * (c * S')); [apply Rmult_le_compat_l; lra|].
rewrite <- Rmult_assoc, (Rmult_comm x). apply Rle_trans with (exp (rate * IZR range) * y * S'); [|lra].
apply Rmult_le_compat_r; lra.
Qed.

(** and for every event. *)
Theorem permute_and_flip_is_private e f range :
  within_range range e f -> close (rate * IZR range) (permute_and_flip t s e) (permute_and_flip t s f).
Proof.
intros H. apply (close_laws Nat.eq_dec _ _ (flip_mass t s e) (flip_mass t s f)); auto using grows_choice, permute_and_flip_law.
intros i. now apply flip_masses_are_close.
Qed.

(** * The exponential mechanism *)
(** Candidates are drawn uniformly until the coin of one shows heads. *)
Definition proposal (errors : list Z) (fuel : nat) : program (option nat) :=
  let* u := below fuel (Z.of_nat (length errors)) in
  let* b := coin t s (nth (Z.to_nat u) (behind errors) 0%Z) fuel in
  Return (if b then Some (Z.to_nat u) else None).

Definition exponential_choice (errors : list Z) (fuel : nat) : program nat := again fuel (proposal errors fuel).

Definition exponential_mass (errors : list Z) (i : nat) : R :=
  nth i (chances t s errors) 0 / lsum (fun x => x) (chances t s errors).

Lemma coin_grows d : grows (coin t s d).
Proof. intros i j H. now apply exp_coins_extended. Qed.

Lemma grows_exponential errors : grows (exponential_choice errors).
Proof.
intros i j H. apply again_extended; auto. apply extended_bind; [now apply below_extended|]. intros u.
apply extended_bind; [now apply coin_grows|]. intros; constructor.
Qed.

Lemma proposal_law errors w :
  errors <> []
  -> Un_cv (fun fuel => weigh (proposal errors fuel) w)
       (total (length errors) (fun u => nth u (chances t s errors) 0 * w (Some u) + (1 - nth u (chances t s errors) 0) * w None)
        / INR (length errors)).
Proof.
intros N. set (m := length errors). assert (M : (0 < m)%nat) by (unfold m; destruct errors; [congruence|cbn [length]; lia]).
destruct (below_law m M) as (r & Rr & B).
set (g fuel u := weigh (coin t s (nth u (behind errors) 0%Z) fuel) (passes (fun b => b)) * w (Some u)
  + weigh (coin t s (nth u (behind errors) 0%Z) fuel) (passes negb) * w None).
apply tends_ext with (fun fuel => (1 - r ^ fuel) * (total m (g fuel) / INR m)).
- intros n. unfold proposal. rewrite weigh_bind. fold m. rewrite B. f_equal. f_equal. apply total_ext. intros u _.
  rewrite weigh_bind, weigh_bool. cbn [weigh]. rewrite Nat2Z.id. reflexivity.
- rewrite <- (Rmult_1_l (_ / _)). apply (CV_mult (fun fuel => 1 - r ^ fuel)).
  + replace 1 with (1 - 0) at 1 by ring. apply (CV_minus (fun _ => 1)); [apply tends_const|]. now apply tends_powers.
  + unfold Rdiv. apply (CV_mult _ (fun _ => / INR m)); [|apply tends_const]. apply tends_total. intros u U. unfold g.
    assert (Len : length (behind errors) = m) by apply map_length.
    assert (D : (0 <= nth u (behind errors) 0)%Z).
    { assert (F := behind_nonneg errors). rewrite Forall_forall in F. apply F, nth_In. lia. }
    destruct (coin_is_one _ D) as (_ & Y & No).
    replace (nth u (chances t s errors) 0) with (chance t s (nth u (behind errors) 0%Z)).
    * apply (CV_plus (fun fuel => _ * _) (fun fuel => _ * _)); apply (CV_mult (fun fuel => weigh _ _)); auto using tends_const.
    * unfold chances. rewrite (nth_indep _ 0 (chance t s 0%Z)) by (rewrite map_length; lia). symmetry. apply map_nth.
Qed.

Lemma chances_length errors : length (chances t s errors) = length errors.
Proof. unfold chances, behind. now rewrite !map_length. Qed.

Lemma all_chances errors : Forall (fun x => 0 < x <= 1) (chances t s errors).
Proof.
unfold chances. assert (B := behind_nonneg errors). induction B; cbn [map]; constructor; auto. now apply chance_range.
Qed.

Lemma sum_of_chances errors : total (length errors) (fun u => nth u (chances t s errors) 0) = lsum (fun x => x) (chances t s errors).
Proof. rewrite <- (total_nth R (fun x => x) (chances t s errors) 0), chances_length. reflexivity. Qed.

Lemma sum_positive errors : errors <> [] -> 0 < lsum (fun x => x) (chances t s errors).
Proof.
intros N. assert (F := all_chances errors). assert (L := chances_length errors). destruct (chances t s errors) as [|x l].
{ destruct errors; [congruence|discriminate]. }
inversion F; subst. cbn [lsum]. assert (0 <= lsum (fun x => x) l); [|lra].
clear - H2. induction H2; cbn [lsum]; lra.
Qed.

Theorem exponential_tends errors w :
  errors <> [] -> unit_weight w
  -> tends (exponential_choice errors) w
       (total (length errors) (fun u => nth u (chances t s errors) 0 * w u) / lsum (fun x => x) (chances t s errors)).
Proof.
intros N W. set (m := length errors). set (X := lsum (fun x => x) (chances t s errors)). assert (X0 := sum_positive errors N).
assert (M : 0 < INR m) by (apply lt_0_INR; unfold m; destruct errors; [congruence|cbn [length]; lia]).
assert (L := proposal_law errors lost N). assert (F := proposal_law errors (found w) N). fold m in L, F. cbn [lost found] in L, F.
rewrite (total_ext m _ (fun u => nth u (chances t s errors) 0 * w u)) in F by (intros; ring).
rewrite (total_ext m _ (fun u => 1 - nth u (chances t s errors) 0)) in L by (intros; ring).
rewrite total_minus, total_const in L. unfold m in L at 2. rewrite sum_of_chances in L. fold X in L, X0.
replace ((INR m * 1 - X) / INR m) with (1 - X / INR m) in L by (field; lra).
set (y := total m (fun u => nth u (chances t s errors) 0 * w u)) in *.
replace (y / X) with (y / INR m / (1 - (1 - X / INR m))) by (field; lra).
apply (again_law nat (proposal errors) w); auto. assert (0 < X / INR m) by now apply Rdiv_lt_0_compat. lra.
Qed.

Lemma exponential_law errors : errors <> [] -> law Nat.eq_dec (exponential_choice errors) (exponential_mass errors).
Proof.
intros N i. assert (T := exponential_tends errors (passes (one_is Nat.eq_dec i)) N (one_is_weight Nat.eq_dec i)).
unfold exponential_mass. replace (nth i (chances t s errors) 0)
  with (total (length errors) (fun u => nth u (chances t s errors) 0 * passes (one_is Nat.eq_dec i) u)); [exact T|].
assert (O : forall u, passes (one_is Nat.eq_dec i) u = if (u =? i)%nat then 1 else 0).
{ intros u. unfold passes, one_is. destruct (Nat.eq_dec i u), (Nat.eqb_spec u i); auto; lia. }
destruct (Nat.lt_ge_cases i (length errors)) as [H|H].
- rewrite (total_single _ i); [rewrite O, Nat.eqb_refl; ring|exact H|]. intros u U. rewrite O.
  destruct (Nat.eqb_spec u i); [contradiction|ring].
- rewrite nth_overflow by (now rewrite chances_length). apply total_zero. intros u U. rewrite O.
  destruct (Nat.eqb_spec u i); [lia|ring].
Qed.

Lemma exponential_ends errors : errors <> [] -> ends (exponential_choice errors).
Proof.
intros N. assert (T := exponential_tends errors (fun _ => 1) N ltac:(intros a; lra)). unfold ends.
rewrite (total_ext _ _ (fun u => nth u (chances t s errors) 0)) in T by (intros; ring). rewrite sum_of_chances in T.
assert (X0 := sum_positive errors N). unfold Rdiv in T. rewrite Rinv_r in T by lra. exact T.
Qed.

(** (r R)^2/8-zCDP. *)
Theorem exponential_choice_is_zcdp e f range :
  e <> [] -> (0 <= range)%Z -> within_range range e f
  -> zcdp_close Nat.eq_dec ((rate * IZR range) ^ 2 / 8) (exponential_choice e) (exponential_choice f).
Proof.
intros N Rg [a F]. assert (Nf : f <> []) by (intros ->; inversion F; subst; congruence).
assert (C := chances_compare e f a range F). cbv zeta in C. set (c := exp (rate * IZR (least f - least e - a))) in *.
assert (Xe := sum_positive e N). assert (Xf := sum_positive f Nf).
set (x := lsum (fun x => x) (chances t s e)) in *. set (y := lsum (fun x => x) (chances t s f)) in *.
assert (c0 : 0 < c) by apply exp_pos.
apply (range_is_zcdp Nat.eq_dec _ _ (y / x / c)); auto using grows_exponential, exponential_ends.
- apply Rdiv_lt_0_compat; auto. now apply Rdiv_lt_0_compat.
- apply Rmult_le_pos; [apply Rlt_le, rate_pos|now apply IZR_le].
- intros P Q LP LQ i. rewrite (law_unique _ _ _ _ LP (exponential_law e N)), (law_unique _ _ _ _ LQ (exponential_law f Nf)).
  unfold exponential_mass. fold x y. destruct (Nat.lt_ge_cases i (length (chances t s e))) as [H|H].
  + destruct (nth_both _ _ _ i _ _ 0 0 C H) as (X & Y & G1 & G2). cbv beta in *.
    set (p := nth i (chances t s e) 0) in *. set (q := nth i (chances t s f) 0) in *. split.
    * replace (y / x / c * (q / y)) with (q / c / x) by (field; lra). apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|].
      apply Rmult_le_reg_r with c; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra.
    * replace (y / x / c * exp (rate * IZR range) * (q / y)) with (exp (rate * IZR range) * q / c / x) by (field; lra).
      apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|].
      apply Rmult_le_reg_r with c; auto. unfold Rdiv. rewrite (Rmult_assoc (_ * q)), Rinv_l, Rmult_1_r by lra. lra.
  + rewrite (nth_overflow (chances t s e)) by exact H.
    rewrite (nth_overflow (chances t s f)) by (rewrite <- (same_length _ _ _ _ _ C); exact H).
    unfold Rdiv. rewrite !Rmult_0_l, !Rmult_0_r. lra.
Qed.
End Choice.

(** * One choice for each group *)
Fixpoint choose_all (choose : list Z -> nat -> program nat) (groups : list (list Z)) : nat -> program (list nat) :=
  match groups with [] => fun _ => Return [] | e :: groups => then_cons (choose e) (fun _ => choose_all choose groups) end.

Lemma grows_all choose groups : (forall e, grows (choose e)) -> grows (choose_all choose groups).
Proof. intros G. induction groups as [|e l IH]; [apply grows_return|]. now apply grows_cons. Qed.

Fixpoint ranges_within (ranges : list Z) (es fs : list (list Z)) : Prop :=
  match ranges, es, fs with
  | [], [], [] => True
  | r :: ranges, e :: es, f :: fs => ((0 <= r)%Z /\ within_range r e f) /\ ranges_within ranges es fs
  | _, _, _ => False
  end.

Theorem choices_are_private t s ranges es fs span :
  (0 < t)%Z -> (0 < s)%Z -> ranges_within ranges es fs -> (fold_right Z.add 0 ranges <= span)%Z
  -> close (IZR s / IZR t * IZR span) (choose_all (permute_and_flip t s) es) (choose_all (permute_and_flip t s) fs).
Proof.
intros T S H Sp. assert (R0 := rate_pos t s T S).
apply (close_more _ _ _ (IZR s / IZR t * IZR (fold_right Z.add 0%Z ranges))).
{ apply Rmult_le_compat_l; [lra|now apply IZR_le]. }
clear Sp. revert es fs H. induction ranges as [|r ranges IH]; intros [|e es] [|f fs] H; cbn [ranges_within] in H; try contradiction.
- cbn [choose_all fold_right]. rewrite Rmult_0_r. apply close_return. lra.
- destruct H as [[Rr W] H]. cbn [choose_all fold_right]. rewrite plus_IZR, Rmult_plus_distr_l. unfold then_cons.
  assert (G := grows_choice t s T S). assert (GA := fun l => grows_all (permute_and_flip t s) l G).
  apply close_then; auto.
  + intros a. apply grows_then; auto using grows_return.
  + intros a. apply grows_then; auto using grows_return.
  + now apply permute_and_flip_is_private.
  + intros a. apply (close_map _ _ _ _ (cons a)); auto.
Qed.

Theorem exponential_choices_are_zcdp t s ranges es fs squares :
  (0 < t)%Z -> (0 < s)%Z -> Forall (fun e => e <> []) es -> ranges_within ranges es fs
  -> (fold_right Z.add 0 (map (fun r => r * r) ranges) <= squares)%Z
  -> zcdp_close (list_eq_dec Nat.eq_dec) ((IZR s / IZR t) ^ 2 * IZR squares / 8)
       (choose_all (exponential_choice t s) es) (choose_all (exponential_choice t s) fs).
Proof.
intros T S N H Sq. set (k := (IZR s / IZR t) ^ 2). assert (K : 0 <= k) by apply pow2_ge_0.
apply (zcdp_more _ (k * IZR (fold_right Z.add 0%Z (map (fun r => (r * r)%Z) ranges)) / 8)).
{ apply IZR_le in Sq. unfold Rdiv. apply Rmult_le_compat_r; [lra|]. now apply Rmult_le_compat_l. }
clear Sq. revert es fs N H. induction ranges as [|r ranges IH]; intros [|e es] [|f fs] N H; cbn [ranges_within] in H; try contradiction.
- cbn [choose_all map fold_right]. replace (k * IZR 0 / 8) with 0 by (simpl; field). apply zcdp_refl, grows_return.
- destruct H as [[Rr W] H]. cbn [choose_all map fold_right]. inversion N; subst. rewrite plus_IZR, mult_IZR.
  replace (k * (IZR r * IZR r + IZR (fold_right Z.add 0%Z (map (fun r => (r * r)%Z) ranges))) / 8)
    with ((IZR s / IZR t * IZR r) ^ 2 / 8 + k * IZR (fold_right Z.add 0%Z (map (fun r => (r * r)%Z) ranges)) / 8)
    by (unfold k; field; apply not_0_IZR; lia).
  assert (G := grows_exponential t s). assert (GA := fun l => grows_all (exponential_choice t s) l G).
  apply zcdp_cons; auto. now apply exponential_choice_is_zcdp.
Qed.
