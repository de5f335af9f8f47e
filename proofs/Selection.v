(** Groups that nobody listed (docs/theorems/groups.md): which are named, by noisy numbers of persons above a threshold.

    Every group that somebody counts in gets discrete Laplace noise, given that it lies in [-k, k], and is released with
    its noisy number where that is above k. A person counts in at most g groups. With d the chance of noise k, the tables
    with and without a person are (epsilon, 1 - (1 - d)^g)-close, as the bytes of the code's sampler are drawn. *)

From Coq Require Import FinFun List Permutation ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Relations Programs Samplers Coins Laplace Private Composition Theta Released GaussianReleases.
Import ListNotations.
Open Scope R_scope.

(** * Means, and how close they are *)
(** The mean of a weight of outcomes, under some law, or a part of one. *)
Definition linear {A} (F : (A -> R) -> R) :=
  (forall w w', (forall a, w a <= w' a) -> F w <= F w')
  /\ (forall c w, F (fun a => c * w a) = c * F w)
  /\ (forall w w', F (fun a => w a + w' a) = F w + F w').

(** F consists of a part that F' bounds, up to e^epsilon, and a rest of at most delta. *)
Definition near {A} (epsilon delta : R) (F F' : (A -> R) -> R) :=
  exists G, linear G
  /\ (forall w, (forall a, 0 <= w a) -> G w <= F w /\ G w <= exp epsilon * F' w)
  /\ 1 - delta <= G (fun _ => 1).

Lemma linear_ext A (F : (A -> R) -> R) w w' : linear F -> (forall a, w a = w' a) -> F w = F w'.
Proof. intros (M & _) H. apply Rle_antisym; apply M; intros a; rewrite H; lra. Qed.

Lemma linear_zero A (F : (A -> R) -> R) w : linear F -> (forall a, 0 <= w a) -> 0 <= F w.
Proof.
intros L W. destruct L as (M & S & P). apply Rle_trans with (F (fun a => 0 * w a)).
- rewrite S. lra.
- apply M. intros a. generalize (W a). lra.
Qed.

Lemma exp_grows x y : x <= y -> exp x <= exp y.
Proof. intros [H|<-]; [now apply Rlt_le, exp_increasing|lra]. Qed.

Lemma near_more A e e' d d' (F F' : (A -> R) -> R) : linear F' -> e <= e' -> d <= d' -> near e d F F' -> near e' d' F F'.
Proof.
intros L E D (G & LG & H & One). exists G. split; [exact LG|]. split; [|lra]. intros w W. destruct (H w W) as [H1 H2].
split; [exact H1|]. apply Rle_trans with (1 := H2). apply Rmult_le_compat_r; [now apply linear_zero|now apply exp_grows].
Qed.

Lemma near_itself A (F : (A -> R) -> R) : linear F -> F (fun _ => 1) = 1 -> near 0 0 F F.
Proof. intros L One. exists F. split; [exact L|]. split; [|lra]. intros w _. rewrite exp_0. lra. Qed.

(** For every event, and every weight. *)
Theorem near_bounds_events A e d (F F' : (A -> R) -> R) w :
  linear F -> F (fun _ => 1) = 1 -> near e d F F' -> unit_weight w -> F w <= exp e * F' w + d.
Proof.
intros L One (G & LG & H & Most) W. assert (LG' := LG). destruct L as (M & S & P), LG as (MG & SG & PG).
assert (E : F (fun a => 1 + -1 * w a) = 1 - F w) by (rewrite (P (fun _ => 1)), One, S; ring).
assert (EG : G (fun a => 1 + -1 * w a) = G (fun _ => 1) - G w) by (rewrite (PG (fun _ => 1)), SG; ring).
destruct (H (fun a => 1 + -1 * w a) ltac:(intros a; generalize (W a); lra)) as [H1 _].
destruct (H w ltac:(intros; apply W)) as [_ H2]. rewrite E, EG in H1. lra.
Qed.

(** One after the other, where the second may depend on what the first let out. *)
Theorem near_then A B e d e2 d2 (F F' : (A -> R) -> R) (v v' : A -> (B -> R) -> R) w :
  linear F -> F (fun _ => 1) = 1 -> near e d F F' -> 0 <= d2
  -> unit_weight (fun a => v a w) -> unit_weight (fun a => v' a w) -> (forall a, v a w <= exp e2 * v' a w + d2)
  -> F (fun a => v a w) <= exp (e + e2) * F' (fun a => v' a w) + (d + d2).
Proof.
intros L One (G & LG & BG & OG) D2 V V' C.
assert (H : F (fun a => v a w) <= G (fun a => v a w) + d).
{ destruct (BG (fun a => 1 + -1 * v a w) ltac:(intros a; generalize (V a); lra)) as [H _].
  destruct L as (M & S & P), LG as (MG & SG & PG). rewrite (P (fun _ => 1)), (PG (fun _ => 1)), S, SG, One in H. lra. }
assert (J : G (fun a => v a w) <= G (fun a => exp e2 * v' a w + d2 * 1)) by (apply LG; intros a; generalize (C a); lra).
rewrite (proj2 (proj2 LG) (fun a => exp e2 * v' a w) (fun _ => d2 * 1)), !(proj1 (proj2 LG)) in J.
destruct (BG (fun a => v' a w) ltac:(intros; apply V')) as [_ H2].
destruct (BG (fun _ => 1) ltac:(intros; lra)) as [H3 _]. rewrite One in H3. rewrite exp_plus.
assert (0 < exp e2) by apply exp_pos.
assert (exp e2 * G (fun a => v' a w) <= exp e2 * (exp e * F' (fun a => v' a w))) by (apply Rmult_le_compat_l; lra).
assert (d2 * G (fun _ => 1) <= d2 * 1) by (apply Rmult_le_compat_l; lra). nra.
Qed.

(** One after the other, where the second does not depend on the first: the rests multiply. *)
Definition both {A B} (F : (A -> R) -> R) (F' : (B -> R) -> R) (w : A * B -> R) : R := F (fun a => F' (fun b => w (a, b))).

Lemma linear_both A B (F : (A -> R) -> R) (F' : (B -> R) -> R) : linear F -> linear F' -> linear (both F F').
Proof.
intros L L'. assert (X := linear_ext A F). unfold both. destruct L as (M & S & P), L' as (M' & S' & P'). repeat split.
- intros w w' H. apply M. intros a. apply M'. intros b. apply H.
- intros c w. rewrite <- S. apply X; [now split|]. intros a. apply (S' c (fun b => w (a, b))).
- intros w w'. rewrite <- P. apply X; [now split|]. intros a. apply (P' (fun b => w (a, b)) (fun b => w' (a, b))).
Qed.

Theorem near_both A B e1 d1 e2 d2 (F F' : (A -> R) -> R) (H H' : (B -> R) -> R) :
  linear F -> linear F' -> linear H -> linear H' -> 0 <= d1 <= 1 -> 0 <= d2 <= 1
  -> near e1 d1 F F' -> near e2 d2 H H' -> near (e1 + e2) (1 - (1 - d1) * (1 - d2)) (both F H) (both F' H').
Proof.
intros L L' K K' D1 D2 (G & LG & BG & OG) (J & LJ & BJ & OJ). exists (both G J). split; [now apply linear_both|]. split.
- intros w W. unfold both. assert (N : forall (X : (B -> R) -> R), linear X -> forall a, 0 <= X (fun b => w (a, b)))
    by (intros X LX a; apply linear_zero; auto).
  split.
  + apply Rle_trans with (G (fun a => H (fun b => w (a, b)))).
    * apply LG. intros a. apply BJ. auto.
    * apply BG. now apply N.
  + apply Rle_trans with (G (fun a => exp e2 * H' (fun b => w (a, b)))).
    * apply LG. intros a. apply BJ. auto.
    * rewrite (proj1 (proj2 LG)), exp_plus. rewrite (Rmult_comm (exp e1)), Rmult_assoc.
      apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply BG. now apply N.
- unfold both. assert (E : G (fun _ => J (fun _ => 1)) = J (fun _ => 1) * G (fun _ => 1)).
  { rewrite <- (proj1 (proj2 LG)). apply linear_ext; auto. intros _. ring. }
  rewrite E. clear E. assert (P : (1 - d1) * (1 - d2) <= G (fun _ => 1) * J (fun _ => 1)) by (apply Rmult_le_compat; lra).
  lra.
Qed.

(** * One group *)
Section Noise.
Variables (x : R) (k : nat).
Hypothesis x_pos : 0 < x.
Let K := Z.of_nat k.

Definition slope (z : Z) : R := exp (- x * IZR (Z.abs z)).

(** The chance of noise z in [-k, k]. *)
Definition kept (z : Z) : R := slope z / lsum slope (interval k).

(** The chance of the largest noise: that a group of one person is named. *)
Definition edge : R := kept K.

Lemma in_its_interval z : In z (interval k) <-> (Z.abs z <= K)%Z.
Proof.
unfold interval, K. rewrite in_map_iff. split.
- intros (i & <- & H). apply in_seq in H. lia.
- intros H. exists (Z.to_nat (z + Z.of_nat k)). rewrite in_seq. lia.
Qed.

Lemma slope_pos z : 0 < slope z.
Proof. apply exp_pos. Qed.

Lemma slopes_pos : 0 < lsum slope (interval k).
Proof.
apply Rlt_le_trans with (lsum slope [0%Z]); [simpl; generalize (slope_pos 0); lra|]. apply lsum_incl.
- intros; apply Rlt_le, slope_pos.
- repeat constructor; auto.
- intros z [<-|[]]. apply in_its_interval. unfold K. lia.
Qed.

Lemma kept_pos z : 0 < kept z.
Proof. apply Rmult_lt_0_compat; [apply slope_pos|apply Rinv_0_lt_compat, slopes_pos]. Qed.

Lemma kept_adds_up : lsum kept (interval k) = 1.
Proof.
unfold kept, Rdiv. rewrite (lsum_ext _ _ (fun z => / lsum slope (interval k) * slope z)) by (intros; ring).
rewrite lsum_scal. generalize slopes_pos. intros. field. lra.
Qed.

Lemma edge_range : 0 <= edge <= 1.
Proof.
split; [apply Rlt_le, kept_pos|]. rewrite <- kept_adds_up. apply Rle_trans with (lsum kept [K]); [simpl; unfold edge; lra|].
apply lsum_incl; [intros; apply Rlt_le, kept_pos|repeat constructor; auto|].
intros z [<-|[]]. apply in_its_interval. unfold K. lia.
Qed.

Lemma kept_beside z z' : (Z.abs (z - z') <= 1)%Z -> kept z <= exp x * kept z'.
Proof.
intros H. unfold kept, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, slopes_pos|].
unfold slope. rewrite <- exp_plus. apply exp_grows.
assert (IZR (Z.abs z') <= IZR (Z.abs z) + 1) by (rewrite <- plus_IZR; apply IZR_le; lia). nra.
Qed.

(** What is seen of a group of n persons under the noise z, and the mean over all noise; a group of nobody is never seen. *)
Definition seen (n : nat) (z : Z) : option Z := if (K <? Z.of_nat n + z)%Z then Some (Z.of_nat n + z)%Z else None.

Definition one_group (n : nat) (w : option Z -> R) : R :=
  match n with O => w None | S _ => lsum (fun z => kept z * w (seen n z)) (interval k) end.

Lemma linear_kept A (see : Z -> A) (t : Z -> bool) : linear (fun w => lsum (fun z => kept z * w (see z)) (filter t (interval k))).
Proof.
repeat split.
- intros w w' H. apply lsum_le. intros z _. apply Rmult_le_compat_l; [apply Rlt_le, kept_pos|apply H].
- intros c w. rewrite <- lsum_scal. apply lsum_ext. intros z _. ring.
- intros w w'. generalize (filter t (interval k)). induction l as [|z l IH]; simpl; [ring|]. rewrite IH. ring.
Qed.

Lemma filter_true A (l : list A) : filter (fun _ => true) l = l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [filter]. now rewrite IH. Qed.

Lemma linear_group n : linear (one_group n).
Proof.
destruct n as [|n]; [repeat split; intros; cbn [one_group]; auto|]. assert (H := linear_kept _ (seen (S n)) (fun _ => true)).
rewrite filter_true in H. exact H.
Qed.

Lemma group_is_a_law n : one_group n (fun _ => 1) = 1.
Proof.
destruct n as [|n]; [reflexivity|]. cbn [one_group]. transitivity (lsum kept (interval k)).
- apply lsum_ext. intros; ring.
- apply kept_adds_up.
Qed.

(** All of the noise but one end. *)
Lemma without_an_end (t : Z -> bool) e :
  (Z.abs e = K)%Z -> (forall z, (Z.abs z <= K)%Z -> z <> e -> t z = true) -> 1 - edge <= lsum kept (filter t (interval k)).
Proof.
intros E T. rewrite <- kept_adds_up, (lsum_filter _ kept t). assert (P : forall z, 0 <= kept z) by (intros; apply Rlt_le, kept_pos).
assert (L : lsum kept (filter (fun z => negb (t z)) (interval k)) <= lsum kept [e]).
{ apply lsum_incl; auto; [apply NoDup_filter, NoDup_interval|]. intros z H. apply filter_In in H as [I N].
  left. destruct (Z.eq_dec z e) as [<-|Ne]; auto. rewrite (T z) in N; [discriminate| |exact Ne].
  now apply in_its_interval. }
assert (M : lsum kept [e] = edge).
{ simpl. unfold edge, kept, slope. rewrite E. unfold K. rewrite (Z.abs_eq (Z.of_nat k)) by lia. ring. }
lra.
Qed.

(** One person more or less in a group that others are in: the noise that makes up for it lies within reach, except at
    one end. *)
Lemma step_of_a_group n n' : (Z.abs (Z.of_nat (S n) - Z.of_nat (S n')) = 1)%Z -> near x edge (one_group (S n)) (one_group (S n')).
Proof.
intros One. set (delta := (Z.of_nat (S n') - Z.of_nat (S n))%Z). set (t z := (Z.abs (z - delta) <=? K)%Z).
exists (fun w => lsum (fun z => kept z * w (seen (S n) z)) (filter t (interval k))). split; [apply linear_kept|]. split.
- intros w W. cbn [one_group]. assert (P : forall z, 0 <= kept z * w (seen (S n) z))
    by (intros; apply Rmult_le_pos; [apply Rlt_le, kept_pos|apply W]).
  split.
  + rewrite (lsum_filter _ _ t (interval k)).
    generalize (lsum_nonneg _ _ (filter (fun z => negb (t z)) (interval k)) P). lra.
  + rewrite <- lsum_scal. set (h z := exp x * (kept z * w (seen (S n') z))).
    apply Rle_trans with (lsum (fun z => h (z - delta)%Z) (filter t (interval k))).
    * apply lsum_le. intros z _. unfold h. assert (E : seen (S n') (z - delta) = seen (S n) z).
      { unfold seen, delta. replace (Z.of_nat (S n') + (z - (Z.of_nat (S n') - Z.of_nat (S n))))%Z with (Z.of_nat (S n) + z)%Z by ring.
        reflexivity. }
      rewrite E, <- Rmult_assoc. apply Rmult_le_compat_r; [apply W|]. apply kept_beside. unfold delta. lia.
    * rewrite <- (lsum_map _ _ h (fun z => z - delta)%Z). apply lsum_incl.
      -- intros z. unfold h. apply Rmult_le_pos; [apply Rlt_le, exp_pos|].
         apply Rmult_le_pos; [apply Rlt_le, kept_pos|apply W].
      -- apply Injective_map_NoDup; [intros a b; lia|]. apply NoDup_filter, NoDup_interval.
      -- intros z H. apply in_map_iff in H as (y & <- & H). apply filter_In in H as [_ H]. apply in_its_interval.
         now apply Z.leb_le.
- rewrite (lsum_ext _ _ kept) by (intros; ring). apply (without_an_end t (- delta * K)%Z).
  + unfold K. rewrite Z.abs_mul, Z.abs_opp. replace (Z.abs delta) with 1%Z by (unfold delta; lia). lia.
  + intros z H N. unfold t. apply Z.leb_le. assert (delta = 1 \/ delta = -1)%Z as [->| ->] by (unfold delta; lia); lia.
Qed.

(** One person alone in a group: it is seen with the chance of the end. *)
Lemma alone_in_a_group : near 0 edge (one_group 0) (one_group 1) /\ near 0 edge (one_group 1) (one_group 0).
Proof.
assert (B : forall w : option Z -> R, (forall a, 0 <= w a) -> (1 - edge) * w None <= w None /\ (1 - edge) * w None <= one_group 1 w).
{ intros w W. destruct edge_range as [E0 E1]. split; [generalize (W None); nra|].
  set (t z := negb (z =? K)%Z). cbn [one_group]. rewrite (lsum_filter _ _ t (interval k)).
  assert (R : 0 <= lsum (fun z => kept z * w (seen 1 z)) (filter (fun z => negb (t z)) (interval k))).
  { apply lsum_nonneg. intros z. apply Rmult_le_pos; [apply Rlt_le, kept_pos|apply W]. }
  assert (Q : (1 - edge) * w None <= lsum (fun z => kept z * w (seen 1 z)) (filter t (interval k))); [|lra].
  rewrite (lsum_ext _ _ (fun z => w None * kept z)).
  - rewrite lsum_scal, Rmult_comm. apply Rmult_le_compat_l; [apply W|]. apply (without_an_end t K); [unfold K; lia|].
    intros z _ N. unfold t. destruct (Z.eqb_spec z K); [contradiction|reflexivity].
  - intros z H. apply filter_In in H as [H N]. apply in_its_interval in H. unfold t in N.
    destruct (Z.eqb_spec z K) as [->|Ne]; [discriminate|]. unfold seen.
    destruct (Z.ltb_spec K (Z.of_nat 1 + z)); [lia|ring]. }
assert (L : linear (fun w : option Z -> R => (1 - edge) * w None)).
{ destruct edge_range as [E0 E1]. repeat split; intros; try ring. apply Rmult_le_compat_l; auto. lra. }
assert (O : 1 - edge <= (1 - edge) * 1) by lra.
split; exists (fun w => (1 - edge) * w None); (split; [exact L|]); (split; [|exact O]); intros w W; destruct (B w W);
  rewrite exp_0, Rmult_1_l; auto.
Qed.

Definition beside (n n' : nat) := (Z.abs (Z.of_nat n - Z.of_nat n') <= 1)%Z.

Lemma group_is_near n n' : beside n n' -> near (if (n =? n')%nat then 0 else x) (if (n =? n')%nat then 0 else edge) (one_group n) (one_group n').
Proof.
intros H. unfold beside in H. destruct (Nat.eqb_spec n n') as [->|Ne].
- apply near_itself; auto using linear_group, group_is_a_law.
- destruct n as [|n], n' as [|n']; [contradiction| | |].
  + replace n' with O by lia. apply near_more with 0 edge; auto using linear_group; try lra. apply alone_in_a_group.
  + replace n with O by lia. apply near_more with 0 edge; auto using linear_group; try lra. apply alone_in_a_group.
  + apply step_of_a_group. lia.
Qed.

(** * All groups *)
(** What is seen of every group, in order. *)
Fixpoint search (counts : list nat) (w : list (option Z) -> R) : R :=
  match counts with [] => w [] | n :: counts => one_group n (fun o => search counts (fun rest => w (o :: rest))) end.

Lemma search_ext counts w w' : (forall l, w l = w' l) -> search counts w = search counts w'.
Proof.
revert w w'. induction counts as [|n counts IH]; intros w w' H; [apply H|]. cbn [search].
apply linear_ext; [apply linear_group|]. intros o. apply IH. auto.
Qed.

Lemma search_both n counts w : search (n :: counts) w = both (one_group n) (search counts) (fun p => w (fst p :: snd p)).
Proof. reflexivity. Qed.

Lemma linear_search counts : linear (search counts).
Proof.
induction counts as [|n counts IH]; [repeat split; intros; auto; apply H|].
destruct (linear_both _ _ _ _ (linear_group n) IH) as (M & S & P). repeat split.
- intros w w' H. rewrite !search_both. apply M. intros [a b]. apply H.
- intros c w. rewrite !search_both. apply (S c (fun p => w (fst p :: snd p))).
- intros w w'. rewrite !search_both. apply (P (fun p => w (fst p :: snd p)) (fun p => w' (fst p :: snd p))).
Qed.

Lemma search_is_a_law counts : search counts (fun _ => 1) = 1.
Proof.
induction counts as [|n counts IH]; [reflexivity|]. cbn [search]. rewrite (linear_ext _ _ _ (fun _ => 1)).
- apply group_is_a_law.
- apply linear_group.
- intros _. exact IH.
Qed.

(** In how many groups two tables have different numbers of persons. *)
Fixpoint changes (l l' : list nat) : nat :=
  match l, l' with n :: l, n' :: l' => ((if (n =? n')%nat then 0 else 1) + changes l l')%nat | _, _ => O end.

Lemma power_range m : 0 <= 1 - (1 - edge) ^ m <= 1.
Proof.
destruct edge_range as [E0 E1]. assert (0 <= (1 - edge) ^ m) by (apply pow_le; lra).
assert ((1 - edge) ^ m <= 1 ^ m) by (apply pow_incr; lra). rewrite pow1 in *. lra.
Qed.

Lemma search_is_near l l' :
  Forall2 beside l l' -> near (INR (changes l l') * x) (1 - (1 - edge) ^ changes l l') (search l) (search l').
Proof.
induction 1 as [|n n' l l' B _ IH].
- cbn [changes]. simpl. replace (0 * x) with 0 by ring. replace (1 - 1) with 0 by ring.
  apply (near_itself _ (search [])); [apply linear_search|reflexivity].
- cbn [changes]. set (m := changes l l') in *. assert (H := group_is_near n n' B).
  assert (R : 0 <= (if (n =? n')%nat then 0 else edge) <= 1) by (destruct (n =? n')%nat; [lra|apply edge_range]).
  destruct (near_both _ _ _ _ _ _ _ _ _ _ (linear_group n) (linear_group n') (linear_search l) (linear_search l') R
    (power_range m) H IH) as (G & LG & BG & OG).
  exists (fun w => G (fun p => w (fst p :: snd p))). split; [|split].
  + destruct LG as (M & S & P). repeat split.
    * intros w w' L. apply M. intros [a b]. apply L.
    * intros c w. apply (S c (fun p => w (fst p :: snd p))).
    * intros w w'. apply (P (fun p => w (fst p :: snd p)) (fun p => w' (fst p :: snd p))).
  + intros w W. rewrite !search_both. destruct (BG (fun p => w (fst p :: snd p)) ltac:(intros; apply W)) as [B1 B2].
    split; [exact B1|]. apply Rle_trans with (1 := B2). right. do 2 f_equal. rewrite plus_INR.
    destruct (n =? n')%nat; simpl INR; ring.
  + apply Rle_trans with (2 := OG). right. destruct (n =? n')%nat; simpl Nat.add; cbn [pow]; ring.
Qed.

(** At most g groups change, each by one person. *)
Theorem a_search_is_near g l l' :
  Forall2 beside l l' -> (changes l l' <= g)%nat -> near (INR g * x) (1 - (1 - edge) ^ g) (search l) (search l').
Proof.
intros B C. apply near_more with (INR (changes l l') * x) (1 - (1 - edge) ^ changes l l'); auto using linear_search, search_is_near.
- apply Rmult_le_compat_r; [lra|]. now apply le_INR.
- destruct edge_range as [E0 E1]. replace g with (changes l l' + (g - changes l l'))%nat by lia. rewrite pow_add.
  assert (0 <= (1 - edge) ^ changes l l') by (apply pow_le; lra). generalize (power_range (g - changes l l')). intros. nra.
Qed.

(** Where a group is seen, its number of persons is not 0 and lies within k of what is seen. *)
Theorem what_is_seen_is_near n z y : (Z.abs z <= K)%Z -> seen n z = Some y -> (Z.abs (y - Z.of_nat n) <= K)%Z /\ (1 <= n)%nat.
Proof. unfold seen. intros H. destruct (Z.ltb_spec K (Z.of_nat n + z)); [|discriminate]. injection 1 as <-. lia. Qed.
End Noise.

(** * From a table *)
Section Tables.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}).
Variable groups_of : X -> list G.  (* in which a person, or a record, counts: a function of their own rows *)
Variable every : list G.  (* any groups that there could be, in their order *)
Hypothesis every_once : NoDup every.

Definition is_in (g : G) (a : X) : bool := if in_dec same g (groups_of a) then true else false.
Definition persons_in (table : list X) (g : G) : nat := length (filter (is_in g) table).
Definition counts (table : list X) : list nat := map (persons_in table) every.

Lemma persons_perm table table' g : Permutation table table' -> persons_in table g = persons_in table' g.
Proof.
unfold persons_in. induction 1 as [|a l l' _ IH|a b l|l l' l'' _ IH _ IH']; cbn [filter]; auto.
- destruct (is_in g a); cbn [length]; auto.
- destruct (is_in g a), (is_in g b); reflexivity.
- congruence.
Qed.

Lemma persons_cons a table g : persons_in (a :: table) g = ((if is_in g a then 1 else 0) + persons_in table g)%nat.
Proof. unfold persons_in. cbn [filter]. destruct (is_in g a); reflexivity. Qed.

Lemma counts_beside table table' :
  (forall g, beside (persons_in table g) (persons_in table' g)) -> Forall2 beside (counts table) (counts table').
Proof. intros H. unfold counts. clear every_once. induction every as [|g l IH]; constructor; auto. Qed.

Lemma few_change table table' changed :
  (forall g, persons_in table g <> persons_in table' g -> In g changed)
  -> (changes (counts table) (counts table') <= length changed)%nat.
Proof.
intros H.
assert (E : changes (counts table) (counts table')
  = length (filter (fun g => negb (persons_in table g =? persons_in table' g)%nat) every)).
{ unfold counts. clear every_once. induction every as [|g l IH]; [reflexivity|]. cbn [map changes filter]. rewrite IH.
  destruct (persons_in table g =? persons_in table' g)%nat; reflexivity. }
rewrite E. apply NoDup_incl_length; [now apply NoDup_filter|]. intros g I. apply filter_In in I as [_ I]. apply H.
intros Eq. rewrite Eq, Nat.eqb_refl in I. discriminate.
Qed.

Lemma changes_sym l l' : changes l l' = changes l' l.
Proof. revert l'. induction l as [|n l IH]; intros [|n' l']; auto. cbn [changes]. now rewrite IH, Nat.eqb_sym. Qed.

Lemma beside_sym l l' : Forall2 beside l l' -> Forall2 beside l' l.
Proof. unfold beside. induction 1; constructor; auto. lia. Qed.

Lemma nothing_changes l : Forall2 beside l l /\ changes l l = O.
Proof. induction l as [|n l [IH IH']]; cbn [changes]; [now split|]. rewrite Nat.eqb_refl, IH'. split; [constructor|]; auto. unfold beside. lia. Qed.

Lemma one_more g a table :
  (length (groups_of a) <= g)%nat
  -> Forall2 beside (counts table) (counts (a :: table)) /\ (changes (counts table) (counts (a :: table)) <= g)%nat.
Proof.
intros H. split.
- apply counts_beside. intros h. rewrite persons_cons. unfold beside. destruct (is_in h a); lia.
- apply Nat.le_trans with (2 := H). apply few_change. intros h. rewrite persons_cons. unfold is_in.
  destruct (in_dec same h (groups_of a)); [auto|lia].
Qed.

Lemma changed_records_are_beside table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table'
  -> Forall2 beside (counts table) (counts table') /\ (changes (counts table) (counts table') <= 2)%nat.
Proof.
intros Few H. assert (S : forall u v, Permutation u v -> counts u = counts v)
  by (intros; apply map_ext; intros; now apply persons_perm).
apply change_one_cases in H as [P|(a & b & rest & P & P')].
- rewrite (S _ _ P). destruct (nothing_changes (counts table')) as [B ->]. split; [exact B|lia].
- rewrite (S _ _ P), (S _ _ P'). split.
  + apply counts_beside. intros h. rewrite !persons_cons. unfold beside. destruct (is_in h a), (is_in h b); lia.
  + apply Nat.le_trans with (length (groups_of a ++ groups_of b)).
    * apply few_change. intros h. rewrite !persons_cons. unfold is_in. intros Ne. apply in_or_app.
      destruct (in_dec same h (groups_of a)), (in_dec same h (groups_of b)); auto. lia.
    * rewrite app_length. generalize (Few a) (Few b). lia.
Qed.

Variables (x : R) (k : nat).
Hypothesis x_pos : 0 < x.

(** A person comes or goes, who counts in at most g groups: with x = epsilon / g. *)
Theorem finding_groups_is_near g table table' :
  (forall a, (length (groups_of a) <= g)%nat) -> symmetric table table'
  -> near (INR g * x) (1 - (1 - edge x k) ^ g) (search x k (counts table)) (search x k (counts table')).
Proof.
intros Few H. assert (S : forall u v, Permutation u v -> counts u = counts v)
  by (intros; apply map_ext; intros; now apply persons_perm).
apply symmetric_cases in H as [P|(a & [P|P])]; apply a_search_is_near; auto.
- rewrite (S _ _ P). apply nothing_changes.
- rewrite (S _ _ P). destruct (nothing_changes (counts table')) as [_ ->]. lia.
- rewrite (S _ _ P). now apply (one_more g).
- rewrite (S _ _ P). now apply (one_more g).
- rewrite (S _ _ P). now apply beside_sym, (one_more g).
- rewrite (S _ _ P), changes_sym. now apply (one_more g).
Qed.

(** A record changes: it may leave one group and join another. *)
Theorem finding_groups_of_changed_records_is_near table table' :
  (forall a, (length (groups_of a) <= 1)%nat) -> change_one table table'
  -> near (2 * x) (1 - (1 - edge x k) ^ 2) (search x k (counts table)) (search x k (counts table')).
Proof.
intros Few H. destruct (changed_records_are_beside table table' Few H). replace 2 with (INR 2) by (simpl; ring).
now apply a_search_is_near.
Qed.

(** A group that nobody counts in is not named. *)
Theorem nobody_s_group_is_not_named table g w w' :
  persons_in table g = O -> (w None = w' None) -> one_group x k (persons_in table g) w = one_group x k (persons_in table g) w'.
Proof. intros ->. auto. Qed.
End Tables.
