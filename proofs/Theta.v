(** A sum of a Gaussian over the integers is largest where it is centred at an integer.

    Let S(c, x) be the sum of exp(-c (z - x)^2) over all integers z. The usual proof of S(c, x) <= S(c, 0) is Poisson's
    summation formula. Here is one with products of sums only: (z - x)^2 + (w - x)^2 is half the sum of (z + w - 2 x)^2 and
    (z - w)^2, and z + w and z - w are both even or both odd, so
    S(c, x)^2 <= S(2c, x) S(2c, 0) + S(2c, x - 1/2) S(2c, -1/2). This, used twice, and Cauchy's inequality give
    S(c, x)^4 <= S(c, 2x) S(c, 0)^3, and S(c, x) / S(c, 0), which is at most 2 everywhere, is at most 1.

    Page: docs/theorems/noise.md. *)

From Coq Require Import FinFun List ZArith Reals Lra Lia Psatz Bool Arith.
From Soundsum Require Import Programs Coins Laplace Private Gaussian.
Import ListNotations.
Open Scope R_scope.

(** * Sums over finite sets *)
Fixpoint lsum {A} (f : A -> R) (l : list A) : R := match l with [] => 0 | x :: l => f x + lsum f l end.

Lemma lsum_app A (f : A -> R) l l' : lsum f (l ++ l') = lsum f l + lsum f l'.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma lsum_map A B (f : B -> R) (g : A -> B) l : lsum f (map g l) = lsum (fun x => f (g x)) l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma lsum_ext A (f g : A -> R) l : (forall x, In x l -> f x = g x) -> lsum f l = lsum g l.
Proof. induction l as [|x l IH]; intros H; simpl; [ring|]. rewrite (H x) by now left. rewrite IH; auto. intros; apply H; now right. Qed.

Lemma lsum_le A (f g : A -> R) l : (forall x, In x l -> f x <= g x) -> lsum f l <= lsum g l.
Proof.
induction l as [|x l IH]; intros H; simpl; [lra|]. assert (f x <= g x) by (apply H; now left).
assert (lsum f l <= lsum g l) by (apply IH; intros; apply H; now right). lra.
Qed.

Lemma lsum_scal A c (f : A -> R) l : lsum (fun x => c * f x) l = c * lsum f l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma lsum_nonneg A (f : A -> R) l : (forall x, 0 <= f x) -> 0 <= lsum f l.
Proof. intros F. induction l as [|x l IH]; simpl; [lra|]. generalize (F x). lra. Qed.

Lemma lsum_filter A (f : A -> R) (t : A -> bool) l : lsum f l = lsum f (filter t l) + lsum f (filter (fun x => negb (t x)) l).
Proof. induction l as [|x l IH]; simpl; [ring|]. destruct (t x); simpl; rewrite IH; ring. Qed.

Lemma lsum_incl A (f : A -> R) l l' : (forall x, 0 <= f x) -> NoDup l -> incl l l' -> lsum f l <= lsum f l'.
Proof.
intros F N. revert l'. induction N as [|x l Hx N IH]; intros l' I; [now apply lsum_nonneg|].
destruct (in_split x l') as (a & b & ->); [apply I; now left|].
assert (L : lsum f l <= lsum f (a ++ b)).
{ apply IH. intros y Hy. assert (y <> x) by (intros ->; contradiction).
  assert (Hi := I y (or_intror Hy)). apply in_app_or in Hi. apply in_or_app. destruct Hi as [Hi|[Hi|Hi]]; auto.
  congruence. }
rewrite lsum_app in *. simpl. lra.
Qed.

Lemma lsum_prod A B (a : A -> R) (b : B -> R) l l' :
  lsum (fun p => a (fst p) * b (snd p)) (list_prod l l') = lsum a l * lsum b l'.
Proof.
induction l as [|x l IH]; simpl; [ring|]. rewrite lsum_app, IH, lsum_map. cbn [fst snd]. rewrite lsum_scal. ring.
Qed.

Lemma NoDup_both A (l l' : list A) :
  NoDup l -> NoDup l' -> (forall x, In x l -> In x l' -> False) -> NoDup (l ++ l').
Proof.
intros N N' D. induction N as [|x l Hx N IH]; auto. simpl. constructor.
- intros H. apply in_app_or in H as [H|H]; [contradiction|]. apply (D x); auto. now left.
- apply IH. intros y Hy. apply D. now right.
Qed.

Lemma NoDup_prod A B (l : list A) (l' : list B) : NoDup l -> NoDup l' -> NoDup (list_prod l l').
Proof.
intros N N'. induction N as [|x l Hx N IH]; simpl; [constructor|]. apply NoDup_both; auto.
- apply FinFun.Injective_map_NoDup; auto. intros y z E. now injection E.
- intros [a b] H H'. apply in_map_iff in H as (y & E & _). injection E as -> ->. apply in_prod_iff in H' as [H' _].
  contradiction.
Qed.

(** * Sums over the integers *)
Definition bounded (f : Z -> R) (B : R) := forall l, NoDup l -> lsum f l <= B.

Definition least_bound (f : Z -> R) (B : R) := bounded f B /\ forall B', bounded f B' -> B <= B'.

Lemma has_least_bound f B : bounded f B -> { m | least_bound f m }.
Proof.
intros H. destruct (completeness (fun x => exists l, NoDup l /\ x = lsum f l)) as [m [U L]].
- exists B. intros x (l & N & ->). auto.
- exists 0, []. split; [constructor|reflexivity].
- exists m. split.
  + intros l N. apply U. eauto.
  + intros B' HB. apply L. intros x (l & N & ->). auto.
Qed.

Definition interval (M : nat) : list Z := map (fun i => Z.of_nat i - Z.of_nat M)%Z (seq 0 (S (2 * M))).

Lemma lsum_seq (f : nat -> R) n : lsum f (seq 0 n) = total n f.
Proof. induction n as [|n IH]; [reflexivity|]. rewrite seq_S, lsum_app, IH, total_S. simpl. ring. Qed.

Lemma lsum_interval M f : lsum f (interval M) = window M f.
Proof. unfold interval, window. now rewrite lsum_map, lsum_seq. Qed.

Lemma NoDup_interval M : NoDup (interval M).
Proof. apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros i j E. lia. Qed.

Lemma in_interval l : exists M, incl l (interval M).
Proof.
induction l as [|z l [M IH]]; [exists O; intros x []|]. exists (max M (Z.abs_nat z)).
assert (I : forall M M' x, (M <= M')%nat -> In x (interval M) -> In x (interval M')).
{ intros m m' x H Hx. unfold interval in *. apply in_map_iff in Hx as (i & <- & Hi). apply in_seq in Hi. apply in_map_iff.
  exists (i + (m' - m))%nat. split; [lia|]. apply in_seq. lia. }
intros x [<-|Hx].
- apply in_map_iff. exists (Z.to_nat (z + Z.of_nat (max M (Z.abs_nat z)))). split; [lia|]. apply in_seq. lia.
- apply I with M; [lia|]. now apply IH.
Qed.

Definition g (c x : R) (z : Z) : R := exp (- (c * (IZR z - x) ^ 2)).

Lemma g_pos c x z : 0 < g c x z. Proof. apply exp_pos. Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [now apply Rlt_le, exp_increasing|lra]. Qed.

Lemma powers_bounded r : 0 <= r < 1 -> forall M, window M (fun z => r ^ Z.abs_nat z) <= 2 / (1 - r).
Proof.
intros R M. assert (H : window M (fun z => r ^ Z.abs_nat z) <= 2 / (1 - r) - 2 * r ^ S M / (1 - r)).
{ induction M as [|M IH].
  - unfold window. cbn [Nat.mul total]. rewrite Rplus_0_l. change (r ^ Z.abs_nat (Z.of_nat 0 - Z.of_nat 0)) with 1.
    simpl pow. rewrite Rmult_1_r. replace (2 / (1 - r) - 2 * r / (1 - r)) with 2 by (field; lra). lra.
  - rewrite window_S. replace (Z.abs_nat (Z.of_nat (S M))) with (S M) by lia.
    replace (Z.abs_nat (- Z.of_nat (S M))) with (S M) by lia.
    replace (2 / (1 - r) - 2 * r ^ S (S M) / (1 - r)) with (2 / (1 - r) - 2 * r ^ S M / (1 - r) + 2 * r ^ S M)
      by (change (r ^ S (S M)) with (r * r ^ S M); field; lra). lra. }
apply Rle_trans with (1 := H). assert (0 <= r ^ S M) by (apply pow_le; lra).
assert (0 < / (1 - r)) by (apply Rinv_0_lt_compat; lra). unfold Rdiv. nra.
Qed.

Lemma g_bounded c x : 0 < c -> { B | bounded (g c x) B }.
Proof.
intros C. set (r := exp (- c)). assert (R : 0 < r < 1).
{ split; [apply exp_pos|]. unfold r. rewrite <- exp_0. apply exp_increasing. lra. }
set (k := exp (c + c * Rabs x)). assert (k0 : 0 < k) by apply exp_pos.
exists (k * (2 / (1 - r))). intros l N. destruct (in_interval l) as [M I].
apply Rle_trans with (lsum (g c x) (interval M)); [apply lsum_incl; auto; intros; apply Rlt_le, g_pos|].
apply Rle_trans with (lsum (fun z => k * r ^ Z.abs_nat z) (interval M)).
- apply lsum_le. intros z _. unfold g, r, k. rewrite Laplace.exp_powers, <- exp_plus. apply exp_le.
  rewrite INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR.
  assert (T : Rabs (IZR z) <= Rabs (IZR z - x) + Rabs x).
  { replace (IZR z) with (IZR z - x + x) at 1 by ring. apply Rabs_triang. }
  assert (Sq : (IZR z - x) ^ 2 = Rabs (IZR z - x) ^ 2) by (rewrite pow2_abs; reflexivity).
  rewrite Sq. set (y := Rabs (IZR z - x)) in *. assert (0 <= y) by apply Rabs_pos.
  assert (Y : 0 <= c * (y ^ 2 - y + 1)) by (apply Rmult_le_pos; [lra|nra]).
  assert (c * Rabs (IZR z) <= c * (y + Rabs x)) by (apply Rmult_le_compat_l; lra). lra.
- rewrite lsum_scal, lsum_interval. apply Rmult_le_compat_l; [lra|]. apply powers_bounded. lra.
Qed.

Definition theta (c x : R) : R :=
  match Rlt_dec 0 c with
  | left H => proj1_sig (has_least_bound (g c x) _ (proj2_sig (g_bounded c x H)))
  | right _ => 0
  end.

Lemma theta_is c x : 0 < c -> least_bound (g c x) (theta c x).
Proof.
intros H. unfold theta. destruct (Rlt_dec 0 c) as [C|C]; [|contradiction]. apply proj2_sig.
Qed.

Lemma theta_bounds c x l : 0 < c -> NoDup l -> lsum (g c x) l <= theta c x.
Proof. intros C. apply theta_is. auto. Qed.

Lemma theta_least c x B : 0 < c -> bounded (g c x) B -> theta c x <= B.
Proof. intros C. now apply theta_is. Qed.

Lemma theta_pos c x : 0 < c -> 0 < theta c x.
Proof.
intros C. apply Rlt_le_trans with (lsum (g c x) [0%Z]); [simpl; generalize (g_pos c x 0); lra|].
apply theta_bounds; auto. repeat constructor; auto.
Qed.

(** Moved by an integer. *)
Lemma theta_moves_down c x k : 0 < c -> theta c (x + IZR k) <= theta c x.
Proof.
intros C. apply theta_least; auto. intros l N.
rewrite (lsum_ext _ _ (fun z => g c x (z - k)%Z)).
- rewrite <- (lsum_map _ _ (g c x) (fun z => z - k)%Z). apply theta_bounds; auto.
  apply FinFun.Injective_map_NoDup; auto. intros a b E. lia.
- intros z _. unfold g. rewrite minus_IZR. do 3 f_equal. ring.
Qed.

Lemma theta_moves c x k : 0 < c -> theta c (x + IZR k) = theta c x.
Proof.
intros C. apply Rle_antisym; [now apply theta_moves_down|].
replace x with (x + IZR k + IZR (- k)) at 1 by (rewrite opp_IZR; ring). now apply theta_moves_down.
Qed.

(** At most twice the middle. *)
Lemma theta_at_most_twice c x : 0 < c -> theta c x <= 2 * theta c 0.
Proof.
intros C. destruct (archimed x) as [a1 a2]. set (k := (up x - 1)%Z).
assert (E : theta c x = theta c (x - IZR k)).
{ rewrite <- (theta_moves c (x - IZR k) k) by auto. f_equal. ring. }
rewrite E. set (y := x - IZR k). assert (Y : 0 <= y <= 1) by (unfold y, k; rewrite minus_IZR; lra).
apply theta_least; auto. intros l N. rewrite (lsum_filter _ _ (fun z => 1 <=? z)%Z).
assert (M1 : lsum (g c y) (filter (fun z => 1 <=? z)%Z l) <= theta c 0).
{ rewrite <- (theta_moves c 0 1) by auto. rewrite Rplus_0_l.
  apply Rle_trans with (lsum (g c 1) (filter (fun z => 1 <=? z)%Z l)).
  - apply lsum_le. intros z Hz. apply filter_In in Hz as [_ Hz]. apply Z.leb_le, IZR_le in Hz. apply exp_le.
    apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. nra.
  - apply theta_bounds; auto. now apply NoDup_filter. }
assert (M2 : lsum (g c y) (filter (fun z => negb (1 <=? z)%Z) l) <= theta c 0).
{ apply Rle_trans with (lsum (g c 0) (filter (fun z => negb (1 <=? z)%Z) l)).
  - apply lsum_le. intros z Hz. apply filter_In in Hz as [_ Hz].
    assert (Hz' : (z <= 0)%Z) by (destruct (Z.leb_spec 1 z); [discriminate|lia]). apply IZR_le in Hz'. apply exp_le.
    apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. nra.
  - apply theta_bounds; auto. now apply NoDup_filter. }
lra.
Qed.

(** Even and odd integers. *)
Lemma evens c x l :
  0 < c -> NoDup l -> (forall z, In z l -> Z.even z = true) -> lsum (g c (2 * x)) l <= theta (4 * c) x.
Proof.
intros C N E. set (K := map (fun z => z / 2)%Z l).
assert (L : l = map (fun k => 2 * k)%Z K).
{ unfold K. rewrite map_map. rewrite <- (map_id l) at 1. apply map_ext_in. intros z Hz. apply E in Hz.
  apply Z.even_spec in Hz as [m ->]. rewrite Z.mul_comm, Z.div_mul; lia. }
assert (NK : NoDup K) by (apply (NoDup_map_inv (fun k => 2 * k)%Z); now rewrite <- L).
rewrite L, lsum_map. apply Rle_trans with (lsum (g (4 * c) x) K); [|apply theta_bounds; auto; lra].
right. apply lsum_ext. intros z _. unfold g. rewrite mult_IZR. f_equal. ring.
Qed.

Lemma odds c x l :
  0 < c -> NoDup l -> (forall z, In z l -> Z.even z = false) -> lsum (g c (2 * x)) l <= theta (4 * c) (x - / 2).
Proof.
intros C N E. set (K := map (fun z => z / 2)%Z l).
assert (L : l = map (fun k => 2 * k + 1)%Z K).
{ unfold K. rewrite map_map. rewrite <- (map_id l) at 1. apply map_ext_in. intros z Hz. apply E in Hz.
  rewrite <- Z.negb_odd in Hz. apply negb_false_iff, Z.odd_spec in Hz as [m ->].
  assert (D : ((2 * m + 1) / 2 = m)%Z) by (symmetry; apply Z.div_unique with 1%Z; lia). rewrite D. ring. }
assert (NK : NoDup K) by (apply (NoDup_map_inv (fun k => 2 * k + 1)%Z); now rewrite <- L).
rewrite L, lsum_map. apply Rle_trans with (lsum (g (4 * c) (x - / 2)) K); [|apply theta_bounds; auto; lra].
right. apply lsum_ext. intros z _. unfold g. rewrite plus_IZR, mult_IZR. f_equal. field.
Qed.

Lemma theta_halves c x : 0 < c -> theta (4 * c) x + theta (4 * c) (x - / 2) <= theta c (2 * x).
Proof.
intros C. assert (H : theta (4 * c) x <= theta c (2 * x) - theta (4 * c) (x - / 2)); [|lra].
apply theta_least; [lra|]. intros l N.
assert (H : theta (4 * c) (x - / 2) <= theta c (2 * x) - lsum (g (4 * c) x) l); [|lra].
apply theta_least; [lra|]. intros l' N'.
assert (H : lsum (g c (2 * x)) (map (fun k => 2 * k)%Z l ++ map (fun k => 2 * k + 1)%Z l') <= theta c (2 * x)).
{ apply theta_bounds; auto. apply NoDup_both.
  - apply FinFun.Injective_map_NoDup; auto. intros a b E. lia.
  - apply FinFun.Injective_map_NoDup; auto. intros a b E. lia.
  - intros z H H'. apply in_map_iff in H as (a & <- & _). apply in_map_iff in H' as (b & E & _). lia. }
rewrite lsum_app, !lsum_map in H.
rewrite (lsum_ext _ (fun z => g c (2 * x) (2 * z)%Z) (g (4 * c) x)) in H
  by (intros z _; unfold g; rewrite mult_IZR; f_equal; ring).
rewrite (lsum_ext _ (fun z => g c (2 * x) (2 * z + 1)%Z) (g (4 * c) (x - / 2))) in H
  by (intros z _; unfold g; rewrite plus_IZR, mult_IZR; f_equal; field).
lra.
Qed.

(** The product of two sums, turned by 45 degrees. *)
Lemma theta_square c x :
  0 < c
  -> theta c x ^ 2 <= theta (2 * c) x * theta (2 * c) 0 + theta (2 * c) (x - / 2) * theta (2 * c) (- / 2).
Proof.
intros C. set (B := theta (2 * c) x * theta (2 * c) 0 + theta (2 * c) (x - / 2) * theta (2 * c) (- / 2)).
assert (Pos := fun y => theta_pos (2 * c) y ltac:(lra)).
assert (B0 : 0 < B).
{ unfold B. apply Rplus_lt_0_compat; apply Rmult_lt_0_compat; auto. }
assert (H : forall l, NoDup l -> lsum (g c x) l ^ 2 <= B).
{ intros l N. set (phi := fun p : Z * Z => (fst p + snd p, fst p - snd p)%Z).
  set (a := g (/ 2 * c) (2 * x)). set (b := g (/ 2 * c) (2 * 0)).
  set (Q := map phi (list_prod l l)).
  assert (E : lsum (g c x) l ^ 2 = lsum (fun p => a (fst p) * b (snd p)) Q).
  { replace (lsum (g c x) l ^ 2) with (lsum (g c x) l * lsum (g c x) l) by ring. rewrite <- lsum_prod. unfold Q.
    rewrite lsum_map. apply lsum_ext. intros [z w] _. unfold a, b, g, phi. cbn [fst snd].
    rewrite <- !exp_plus, plus_IZR, minus_IZR. f_equal. field. }
  assert (NQ : NoDup Q).
  { apply FinFun.Injective_map_NoDup; [|now apply NoDup_prod]. intros [z w] [z' w'] E'. unfold phi in E'.
    cbn [fst snd] in E'. injection E' as E1 E2. f_equal; lia. }
  set (us := nodup Z.eq_dec (map fst Q)). set (vs := nodup Z.eq_dec (map snd Q)).
  set (odd := fun z => negb (Z.even z)).
  set (big := list_prod (filter Z.even us) (filter Z.even vs) ++ list_prod (filter odd us) (filter odd vs)).
  assert (I : incl Q big).
  { intros [u v] H. assert (U : In u us) by (apply nodup_In, in_map_iff; now exists (u, v)).
    assert (V : In v vs) by (apply nodup_In, in_map_iff; now exists (u, v)).
    unfold Q in H. apply in_map_iff in H as ([z w] & E' & _). unfold phi in E'. cbn [fst snd] in E'. injection E' as E1 E2.
    assert (P : Z.even u = Z.even v).
    { rewrite <- E1, <- E2, Z.even_add, Z.even_sub. reflexivity. }
    apply in_or_app. destruct (Z.even u) eqn:Eu; [left|right]; apply in_prod_iff; split; apply filter_In; split; auto;
      unfold odd; rewrite ?Eu, <- ?P; auto. }
  rewrite E. apply Rle_trans with (lsum (fun p => a (fst p) * b (snd p)) big).
  { apply lsum_incl; auto. intros p. apply Rlt_le, Rmult_lt_0_compat; apply g_pos. }
  unfold big. rewrite lsum_app, !lsum_prod.
  assert (Nu : NoDup us) by apply NoDup_nodup. assert (Nv : NoDup vs) by apply NoDup_nodup.
  assert (four : 4 * (/ 2 * c) = 2 * c) by field.
  assert (h : 0 < / 2 * c) by lra.
  assert (e1 : lsum a (filter Z.even us) <= theta (2 * c) x).
  { rewrite <- four. apply evens; auto using NoDup_filter. intros z Hz. now apply filter_In in Hz. }
  assert (e2 : lsum b (filter Z.even vs) <= theta (2 * c) 0).
  { rewrite <- four. apply evens; auto using NoDup_filter. intros z Hz. now apply filter_In in Hz. }
  assert (o1 : lsum a (filter odd us) <= theta (2 * c) (x - / 2)).
  { rewrite <- four. apply odds; auto using NoDup_filter. intros z Hz. apply filter_In in Hz as [_ Hz].
    now apply negb_true_iff in Hz. }
  assert (o2 : lsum b (filter odd vs) <= theta (2 * c) (- / 2)).
  { replace (- / 2) with (0 - / 2) by ring. rewrite <- four. apply odds; auto using NoDup_filter.
    intros z Hz. apply filter_In in Hz as [_ Hz]. now apply negb_true_iff in Hz. }
  unfold B. apply Rplus_le_compat; apply Rmult_le_compat; auto; apply lsum_nonneg; intros; apply Rlt_le, g_pos. }
assert (T : theta c x <= sqrt B).
{ apply theta_least; auto. intros l N. assert (L0 : 0 <= lsum (g c x) l) by (apply lsum_nonneg; intros; apply Rlt_le, g_pos).
  rewrite <- (sqrt_pow2 (lsum (g c x) l)) by auto. apply sqrt_le_1_alt. auto. }
replace B with (sqrt B ^ 2) by (apply pow2_sqrt; lra). apply pow_incr. split; auto. apply Rlt_le, theta_pos, C.
Qed.

Lemma theta_doubles c x : 0 < c -> theta c x ^ 4 <= theta c (2 * x) * theta c 0 ^ 3.
Proof.
intros C. assert (C2 : 0 < 2 * c) by lra. assert (E4 : 2 * (2 * c) = 4 * c) by ring.
assert (P := fun y => theta_pos c y C). assert (P2 := fun y => theta_pos (2 * c) y C2).
assert (P4 := fun y => theta_pos (4 * c) y ltac:(lra)).
assert (F : forall y, theta (2 * c) y ^ 2 + theta (2 * c) (y - / 2) ^ 2 <= theta c (2 * y) * theta c 0).
{ intros y. assert (S1 := theta_square (2 * c) y C2). assert (S2 := theta_square (2 * c) (y - / 2) C2).
  rewrite E4 in S1, S2.
  assert (M : theta (4 * c) (y - / 2 - / 2) = theta (4 * c) y).
  { rewrite <- (theta_moves (4 * c) (y - / 2 - / 2) 1) by lra. f_equal. field. }
  rewrite M in S2. assert (H1 := theta_halves c y C). assert (H2 := theta_halves c 0 C).
  rewrite Rmult_0_r, Rminus_0_l in H2.
  apply Rle_trans with ((theta (4 * c) y + theta (4 * c) (y - / 2)) * (theta (4 * c) 0 + theta (4 * c) (- / 2))); [lra|].
  apply Rmult_le_compat; auto; apply Rlt_le, Rplus_lt_0_compat; auto. }
assert (Q := theta_square c x C). assert (F1 := F x). assert (F0 := F 0). rewrite Rmult_0_r, Rminus_0_l in F0.
set (a := theta (2 * c) x) in *. set (b := theta (2 * c) 0) in *. set (u := theta (2 * c) (x - / 2)) in *.
set (v := theta (2 * c) (- / 2)) in *.
assert (CS : (a * b + u * v) ^ 2 <= (a ^ 2 + u ^ 2) * (b ^ 2 + v ^ 2)).
{ assert (0 <= (a * v - u * b) ^ 2) by apply pow2_ge_0. nra. }
assert (X := P x). assert (f0 := P 0). assert (f2 := P (2 * x)).
replace (theta c x ^ 4) with ((theta c x ^ 2) ^ 2) by ring.
apply Rle_trans with ((a * b + u * v) ^ 2); [apply pow_incr; split; auto; apply pow2_ge_0|].
apply Rle_trans with (1 := CS). replace (theta c (2 * x) * theta c 0 ^ 3)
  with ((theta c (2 * x) * theta c 0) * (theta c 0 * theta c 0)) by ring.
apply Rmult_le_compat; auto; apply Rplus_le_le_0_compat; apply pow2_ge_0.
Qed.

Theorem largest_in_the_middle c x : 0 < c -> theta c x <= theta c 0.
Proof.
intros C. set (h y := theta c y / theta c 0). assert (P := fun y => theta_pos c y C). assert (P0 := P 0).
assert (H0 : forall y, 0 <= h y) by (intros; apply Rlt_le, Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
assert (H2 : forall y, h y <= 2).
{ intros y. unfold h. apply Rmult_le_reg_r with (theta c 0); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  now apply theta_at_most_twice. }
assert (H4 : forall y, h y ^ 4 <= h (2 * y)).
{ intros y. assert (D := theta_doubles c y C). unfold h. apply Rmult_le_reg_r with (theta c 0 ^ 4); [now apply pow_lt|].
  replace ((theta c y / theta c 0) ^ 4 * theta c 0 ^ 4) with (theta c y ^ 4) by (field; lra).
  replace (theta c (2 * y) / theta c 0 * theta c 0 ^ 4) with (theta c (2 * y) * theta c 0 ^ 3) by (field; lra). exact D. }
assert (All : forall n y, h y ^ (4 ^ n) <= 2).
{ induction n as [|n IH]; intros y; [simpl; rewrite Rmult_1_r; apply H2|].
  rewrite Nat.pow_succ_r', pow_mult. apply Rle_trans with (h (2 * y) ^ (4 ^ n)); auto.
  apply pow_incr. split; auto. apply pow_le. auto. }
destruct (Rle_lt_dec (h x) 1) as [L|L].
- unfold h in L. apply Rmult_le_compat_r with (r := theta c 0) in L; [|lra]. unfold Rdiv in L.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l in L by lra. exact L.
- exfalso. destruct (Pow_x_infinity (h x)) with (b := 3) as [N K]; [rewrite Rabs_pos_eq; auto|].
  assert (G : (N <= 4 ^ N)%nat) by (apply Nat.lt_le_incl, Nat.pow_gt_lin_r; lia).
  specialize (K (4 ^ N)%nat G). rewrite Rabs_pos_eq in K by (apply pow_le; auto). generalize (All N x). lra.
Qed.
