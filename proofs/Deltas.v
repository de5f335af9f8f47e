(** (epsilon, delta)-closeness of programs, which composes as epsilons do, and the discrete Gaussian's own delta
    (Canonne, Kamath and Steinke 2020, theorem 7): of one integer that moves by at most Delta, and of a vector of which one
    entry does. So it is for a whole release whose epsilon and delta are divided between its parts.

    Page: docs/theorems/noise.md. *)

From Coq Require Import FinFun List Permutation ZArith QArith Qreals Reals Lra Lia Psatz Bool Arith.
From Soundsum Require Import Relations Sums Wide Conditions Claims Programs Samplers Coins Laplace Private Composition Gaussian.
From Soundsum Require Import Theta Zcdp Fuel Shares Released Renyi Units Releases GaussianReleases.
Import ListNotations.
Open Scope R_scope.

(** * Closeness with a delta *)
(** For every weight of the results in [0, 1], so for every event. *)
Definition nearly_close {A} (epsilon delta : R) (p p' : nat -> program A) :=
  forall w v v', unit_weight w -> tends p w v -> tends p' w v' -> v <= exp epsilon * v' + delta.

Lemma nearly_close_more A e e' d d' (p p' : nat -> program A) :
  e <= e' -> d <= d' -> nearly_close e d p p' -> nearly_close e' d' p p'.
Proof.
intros E D C w v v' W T T'. apply Rle_trans with (1 := C w v v' W T T'). apply Rplus_le_compat; auto.
apply Rmult_le_compat_r; [now apply (value_range A p' w)|now apply exp_le].
Qed.

Lemma close_is_nearly A e (p p' : nat -> program A) : close e p p' -> nearly_close e 0 p p'.
Proof. intros C w v v' W T T'. rewrite Rplus_0_r. now apply (C w). Qed.

Lemma nearly_close_refl A (p : nat -> program A) : nearly_close 0 0 p p.
Proof. apply close_is_nearly, close_refl. lra. Qed.

(** One after the other, where the second may depend on the first's result. *)
Theorem nearly_close_then A B (p p' : nat -> program A) (f f' : A -> nat -> program B) e1 d1 e2 d2 :
  grows p -> grows p' -> (forall a, grows (f a)) -> (forall a, grows (f' a)) -> 0 <= d2
  -> nearly_close e1 d1 p p' -> (forall a, nearly_close e2 d2 (f a) (f' a))
  -> nearly_close (e1 + e2) (d1 + d2) (then_ p f) (then_ p' f').
Proof.
intros P P' F F' D2 C1 C2 w v v' W T T'.
set (V a := proj1_sig (value B (f a) w (F a) W)). set (V' a := proj1_sig (value B (f' a) w (F' a) W)).
assert (HV : forall a, tends (f a) w (V a)) by (intros; apply (proj2_sig (value B (f a) w (F a) W))).
assert (HV' : forall a, tends (f' a) w (V' a)) by (intros; apply (proj2_sig (value B (f' a) w (F' a) W))).
assert (UV : unit_weight V) by (intros a; now apply (value_range B (f a) w)).
assert (UV' : unit_weight V') by (intros a; now apply (value_range B (f' a) w)).
assert (E2 : 0 < exp e2) by apply exp_pos.
set (U a := Rmin 1 (exp e2 * V' a)). assert (UU : unit_weight U).
{ intros a. unfold U. destruct (UV' a). split; [apply Rmin_glb; nra|apply Rmin_l]. }
destruct (value A p U P UU) as [x X]. destruct (value A p' U P' UU) as [x' X']. destruct (value A p' V' P' UV') as [y' Y'].
assert (Up : v <= x + d2).
{ apply (limits_le (fun fuel => weigh (then_ p f fuel) w) (fun fuel => weigh (p fuel) U + d2)); auto.
  - intros fuel. unfold then_. rewrite weigh_bind.
    apply Rle_trans with (weigh (p fuel) (fun a => U a + d2)).
    + apply weigh_le. intros a. apply Rle_trans with (V a); [now apply below_value|]. unfold U.
      assert (V a <= exp e2 * V' a + d2) by now apply (C2 a w). destruct (UV a).
      unfold Rmin. destruct (Rle_dec 1 (exp e2 * V' a)); lra.
    + rewrite weigh_plus. apply Rplus_le_compat_l. apply weigh_at_most; auto. intros; lra.
  - apply (CV_plus (fun fuel => weigh (p fuel) U) (fun _ => d2)); auto using tends_const. }
assert (Mid : x' <= exp e2 * y').
{ apply (limits_le (fun fuel => weigh (p' fuel) U) (fun fuel => exp e2 * weigh (p' fuel) V')); auto using tends_scal.
  intros fuel. rewrite <- weigh_scal. apply weigh_le. intros a. apply Rmin_r. }
assert (Down : y' <= v').
{ apply (limits_le (fun fuel => weigh (p' fuel) V') (fun _ => v')); auto using tends_const. intros N.
  apply (limits_le (fun k => weigh (p' N) (fun a => weigh (f' a (k + N)%nat) w)) (fun _ => v')); auto using tends_const.
  - intros k. apply Rle_trans with (weigh (then_ p' f' (k + N)) w).
    + unfold then_. rewrite weigh_bind. apply extended_weigh; [|apply P'; lia]. intros a. apply weigh_nonneg.
      intros; apply W.
    + apply (below_value B (then_ p' f')); auto. now apply grows_then.
  - apply weigh_tends. intros a. apply (tends_later (fun fuel => weigh (f' a fuel) w)). apply HV'. }
assert (M := C1 U x x' UU X X'). assert (E1 : 0 < exp e1) by apply exp_pos. rewrite exp_plus.
assert (exp e1 * x' <= exp e1 * (exp e2 * v')) by (apply Rmult_le_compat_l; [lra|nra]). lra.
Qed.

Theorem nearly_close_map A B (p p' : nat -> program A) (read : A -> B) e d :
  grows p -> grows p' -> nearly_close e d p p' -> nearly_close e d (then_read p read) (then_read p' read).
Proof.
intros P P' C. rewrite <- (Rplus_0_r e), <- (Rplus_0_r d).
apply nearly_close_then; auto using grows_return, nearly_close_refl. lra.
Qed.

(** For every event, counted over all lists of bytes. *)
Theorem nearly_close_is_private A e d (p p' : nat -> program A) :
  grows p -> grows p' -> nearly_close e d p p' -> nearly_private e d p p'.
Proof.
intros P P' C event. assert (W := passes_is_a_weight A event).
destruct (value A p _ P W) as [x X]. destruct (value A p' _ P' W) as [x' X']. exists x, x'.
split; [|split]; [now apply value_on_bytes|now apply value_on_bytes|]. now apply (C (passes event)).
Qed.

Theorem zcdp_is_nearly_close A (same : forall a b : A, {a = b} + {a <> b}) rho alpha epsilon delta p p' :
  grows p -> grows p' -> zcdp_close same rho p p' -> 1 < alpha -> 0 < delta -> alpha * rho - epsilon <= log_term alpha delta
  -> nearly_close epsilon delta p p'.
Proof.
intros G G' C H D L w v v' W T T'. assert (B := zcdp_is_dp same rho alpha epsilon p p' w v v' G G' C H W T T').
assert (K := the_codes_conversion alpha delta rho epsilon H D L). lra.
Qed.

(** Of two laws: what one has beyond e^epsilon times the other, over any finite set of results, is at most delta. *)
Definition beyond (epsilon P Q : R) : R := Rmax 0 (P - exp epsilon * Q).

Theorem laws_are_nearly_close A (same : forall a b : A, {a = b} + {a <> b}) epsilon delta p p' P Q :
  grows p -> grows p' -> law same p P -> law same p' Q
  -> (forall l, NoDup l -> lsum (fun a => beyond epsilon (P a) (Q a)) l <= delta) -> nearly_close epsilon delta p p'.
Proof.
intros G G' LP LQ B w v v' W T T'.
apply (limits_le (fun fuel => weigh (p fuel) w) (fun _ => exp epsilon * v' + delta)); auto using tends_const.
intros fuel. destruct (weigh_by_results same (p fuel)) as (l & N & ByResult). rewrite ByResult.
apply Rle_trans with (lsum (fun a => exp epsilon * (w a * Q a) + beyond epsilon (P a) (Q a)) l).
- apply lsum_le. intros a _. assert (Y := below_its_law same p P a fuel G LP). destruct (W a) as [W0 W1].
  assert (R0 : 0 <= beyond epsilon (P a) (Q a)) by apply Rmax_l.
  assert (R1 : P a - exp epsilon * Q a <= beyond epsilon (P a) (Q a)) by apply Rmax_r. nra.
- assert (L : forall (f h : A -> R) (m : list A), lsum (fun a => exp epsilon * f a + h a) m = exp epsilon * lsum f m + lsum h m).
  { intros f h m. induction m as [|a m IH]; cbn [lsum]; [ring|]. rewrite IH. ring. }
  rewrite (L (fun a => w a * Q a)). assert (D := B l N).
  assert (S := law_sums_below same p' Q w v' l G' LQ W T' N).
  assert (exp epsilon * lsum (fun a => w a * Q a) l <= exp epsilon * v') by (apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact S]).
  lra.
Qed.

(** * One integer with discrete Gaussian noise Z *)
(** The least integer above a = epsilon sigma^2 / Delta - Delta / 2: from there on the one probability is more than
    e^epsilon times the other. *)
Definition first_beyond (s2 epsilon : Q) (Delta : Z) : Z :=
  (Qround.Qfloor (epsilon * s2 / inject_Z Delta - inject_Z Delta / 2) + 1)%Z.

Notation chance s2 := (gaussian_mass (Qnum s2) (Zpos (Qden s2)) 0).

Definition from_on (m : Z) (f : Z -> R) (z : Z) : R := if (m <=? z)%Z then f z else 0.

Lemma chance_pos s2 z : (0 < Qnum s2)%Z -> 0 < chance s2 z.
Proof. apply mass_positive. Qed.

Lemma chances_are_few s2 m : (0 < Qnum s2)%Z -> bounded (from_on m (chance s2)) 1.
Proof.
intros H l N. set (c := Zcdp.c (Qnum s2) (Zpos (Qden s2))). assert (C : 0 < c) by now apply c_pos.
assert (T := theta_pos c 0 C). apply Rle_trans with (lsum (fun z => / theta c 0 * g c 0 z) l).
- apply lsum_le. intros z _. unfold from_on. assert (P := chance_pos s2 z H).
  replace (/ theta c 0 * g c 0 z) with (chance s2 z) by (unfold gaussian_mass; fold c; field; lra).
  destruct (m <=? z)%Z; lra.
- rewrite lsum_scal. apply Rmult_le_reg_l with (theta c 0); auto.
  rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r by lra. now apply theta_bounds.
Qed.

(** P(Z >= m) *)
Definition at_least (s2 : Q) (m : Z) : R :=
  match Z_lt_dec 0 (Qnum s2) with
  | left H => proj1_sig (has_least_bound (from_on m (chance s2)) 1 (chances_are_few s2 m H))
  | right _ => 0
  end.

(** With this delta Z is private for one integer that moves by at most Delta. *)
Definition gaussian_delta (s2 : Q) (Delta : Z) (epsilon : Q) : R :=
  at_least s2 (first_beyond s2 epsilon Delta) - exp (Q2R epsilon) * at_least s2 (first_beyond s2 epsilon Delta + Delta).

Section Noise.
Variable s2 : Q.
Hypothesis s2_pos : (0 < Qnum s2)%Z.
Notation f := (chance s2).

Lemma at_least_is m : least_bound (from_on m f) (at_least s2 m).
Proof. unfold at_least. destruct (Z_lt_dec 0 (Qnum s2)); [apply proj2_sig|contradiction]. Qed.

Definition ramp (m : Z) (n : nat) : list Z := map (fun i => m + Z.of_nat i)%Z (seq 0 n).

Lemma lsum_ramp h m n : lsum h (ramp m n) = total n (fun i => h (m + Z.of_nat i)%Z).
Proof. unfold ramp. now rewrite lsum_map, lsum_seq. Qed.

Lemma NoDup_ramp m n : NoDup (ramp m n).
Proof. apply Injective_map_NoDup; [|apply seq_NoDup]. intros i j E. lia. Qed.

Lemma ramp_covers m l : exists n, incl (filter (Z.leb m) l) (ramp m n).
Proof.
destruct (in_interval l) as [M I]. exists (Z.to_nat (Z.of_nat M - m + 1)). intros z H. apply filter_In in H as [H L].
apply Z.leb_le in L. apply I in H. apply in_map_iff in H as (i & <- & H). apply in_seq in H. apply in_map_iff.
exists (Z.to_nat (Z.of_nat i - Z.of_nat M - m)). split; [lia|]. apply in_seq. lia.
Qed.

Lemma at_least_tends m : Un_cv (fun n => total n (fun i => f (m + Z.of_nat i)%Z)) (at_least s2 m).
Proof.
destruct (at_least_is m) as [B Least].
assert (G : Un_growing (fun n => total n (fun i => f (m + Z.of_nat i)%Z))).
{ intros n. cbn [total]. generalize (chance_pos s2 (m + Z.of_nat n) s2_pos). lra. }
assert (F : forall n, total n (fun i => f (m + Z.of_nat i)%Z) = lsum (from_on m f) (ramp m n)).
{ intros n. rewrite lsum_ramp. apply total_ext. intros i _. unfold from_on. destruct (Z.leb_spec m (m + Z.of_nat i)); [auto|lia]. }
assert (P : forall z, 0 <= from_on m f z).
{ intros z. unfold from_on. destruct (m <=? z)%Z; [apply Rlt_le, chance_pos; exact s2_pos|lra]. }
destruct (growing_cv _ G) as [t T].
{ exists (at_least s2 m). intros x [n ->]. rewrite F. apply B, NoDup_ramp. }
replace (at_least s2 m) with t; auto. apply Rle_antisym.
- apply (limits_le (fun n => total n (fun i => f (m + Z.of_nat i)%Z)) (fun _ => at_least s2 m)); auto using tends_const.
  intros n. rewrite F. apply B, NoDup_ramp.
- apply Least. intros l N. destruct (ramp_covers m l) as [n I]. rewrite (lsum_filter _ _ (Z.leb m)).
  assert (Z : lsum (from_on m f) (filter (fun z => negb (m <=? z)%Z) l) = 0).
  { rewrite (lsum_ext _ _ (fun _ => 0 * 0)); [rewrite lsum_scal; ring|]. intros z H. apply filter_In in H as [_ H].
    unfold from_on. destruct (m <=? z)%Z; [discriminate|ring]. }
  rewrite Z, Rplus_0_r. apply Rle_trans with (lsum (from_on m f) (ramp m n)).
  + apply lsum_incl; auto. now apply NoDup_filter.
  + rewrite <- F. now apply (growing_ineq (fun n => total n (fun i => f (m + Z.of_nat i)%Z))).
Qed.

Lemma at_least_falls m m' : (m <= m')%Z -> at_least s2 m' <= at_least s2 m.
Proof.
intros H. apply at_least_is. intros l N. apply Rle_trans with (lsum (from_on m f) l).
- apply lsum_le. intros z _. unfold from_on. generalize (chance_pos s2 z s2_pos).
  destruct (Z.leb_spec m' z), (Z.leb_spec m z); intros; lra || lia.
- now apply (at_least_is m).
Qed.

(** It is the probability that the sampler draws as much. *)
Theorem the_sampler_draws_at_least m : tends (draw (GaussianNoise s2)) (passes (Z.leb m)) (at_least s2 m).
Proof.
assert (W : unit_weight (passes (Z.leb m))) by (intros z; apply passes_range).
destruct (value Z (draw (GaussianNoise s2)) _ (grows_draw _) W) as [v T]. replace (at_least s2 m) with v; auto.
assert (L : law Z.eq_dec (draw (GaussianNoise s2)) f).
{ intros z. apply tends_ext with (2 := the_gaussian_is_exact (Qnum s2) (Zpos (Qden s2)) s2_pos eq_refl z). intros n.
  cbn [draw]. apply weigh_ext. intros y. unfold passes, one_is. destruct (Z.eq_dec z y) as [->|E]; [now rewrite Z.eqb_refl|].
  destruct (Z.eqb_spec z y); [contradiction|reflexivity]. }
assert (S : forall l, lsum (fun z => passes (Z.leb m) z * f z) l = lsum (from_on m f) l).
{ intros l. apply lsum_ext. intros z _. unfold passes, from_on. destruct (m <=? z)%Z; ring. }
apply Rle_antisym.
- apply (limits_le (fun fuel => weigh (draw (GaussianNoise s2) fuel) (passes (Z.leb m))) (fun _ => at_least s2 m)); auto using tends_const.
  intros fuel. destruct (weigh_by_results Z.eq_dec (draw (GaussianNoise s2) fuel)) as (l & N & E). rewrite E.
  apply Rle_trans with (lsum (fun z => passes (Z.leb m) z * f z) l).
  + apply lsum_le. intros z _. apply Rmult_le_compat_l; [apply W|].
    apply (below_its_law Z.eq_dec (draw (GaussianNoise s2))); auto using grows_draw.
  + rewrite S. now apply at_least_is.
- apply at_least_is. intros l N. rewrite <- S.
  now apply (law_sums_below Z.eq_dec (draw (GaussianNoise s2)) f (passes (Z.leb m)) v l (grows_draw _)).
Qed.

Variable epsilon : Q.
Notation e := (Q2R epsilon).

Lemma first_beyond_is d y :
  (0 < d)%Z -> (first_beyond s2 epsilon d <= y)%Z <-> 2 * (e * Q2R s2) < IZR (d * (2 * y + d)).
Proof.
intros D. unfold first_beyond. set (x := (epsilon * s2 / inject_Z d - inject_Z d / 2)%Q).
assert (X : Q2R x = e * Q2R s2 / IZR d - IZR d / 2).
{ unfold x. assert (N : ~ (inject_Z d == 0)%Q) by (unfold Qeq; cbn; lia).
  rewrite Q2R_minus, !Q2R_div, Q2R_mult by (auto; unfold Qeq; cbn; lia). unfold Q2R. cbn [Qnum Qden inject_Z]. field.
  repeat split; apply not_0_IZR; lia. }
assert (F : (Qround.Qfloor x + 1 <= y)%Z <-> (x < inject_Z y)%Q).
{ split; intros H.
  - apply Qlt_le_trans with (inject_Z (Qround.Qfloor x + 1)); [apply Qround.Qlt_floor|]. rewrite <- Zle_Qle. exact H.
  - enough (Qround.Qfloor x < y)%Z by lia. rewrite Zlt_Qlt. apply Qle_lt_trans with (2 := H). apply Qround.Qfloor_le. }
rewrite F. assert (Y : Q2R (inject_Z y) = IZR y) by (unfold Q2R; cbn; field).
assert (D0 : 0 < IZR d) by now apply IZR_lt. rewrite !mult_IZR, plus_IZR, mult_IZR.
assert (K : IZR d * (e * Q2R s2 / IZR d - IZR d / 2) = e * Q2R s2 - IZR d * IZR d / 2) by (field; lra).
split; intros H.
- apply Qlt_Rlt in H. rewrite X, Y in H. apply (Rmult_lt_compat_l (IZR d)) in H; auto. rewrite K in H. nra.
- apply Rlt_Qlt. rewrite X, Y. apply Rmult_lt_reg_l with (IZR d); auto. rewrite K. nra.
Qed.

(** The gain of the half-line from m on. *)
Notation h d := (fun y => f y - exp e * f (y + d)%Z).

Lemma more_than_its_share d y :
  (0 < d)%Z -> if (first_beyond s2 epsilon d <=? y)%Z then 0 <= h d y else h d y <= 0.
Proof.
intros D. assert (S := first_beyond_is d y D). set (c := Zcdp.c (Qnum s2) (Zpos (Qden s2))).
assert (C : 0 < c) by now apply c_pos. assert (T := theta_pos c 0 C).
assert (Cs : 2 * Q2R s2 * c = 1).
{ unfold c, Zcdp.c, Q2R. assert (0 < IZR (Qnum s2)) by now apply IZR_lt. assert (0 < IZR (Zpos (Qden s2))) by now apply IZR_lt.
  field. lra. }
assert (Q0 : 0 < Q2R s2) by nra.
assert (E : IZR (d * (2 * y + d)) = IZR (y + d) ^ 2 - IZR y ^ 2) by (rewrite !mult_IZR, !plus_IZR, !mult_IZR; ring).
rewrite E in S. unfold gaussian_mass. fold c. unfold g. rewrite !Rminus_0_r. unfold Rdiv. rewrite <- Rmult_assoc, <- exp_plus.
assert (I : 0 < / theta c 0) by now apply Rinv_0_lt_compat.
destruct (Z.leb_spec (first_beyond s2 epsilon d) y) as [L|L].
- apply S in L. assert (exp (e + - (c * IZR (y + d) ^ 2)) <= exp (- (c * IZR y ^ 2))); [|nra]. apply exp_le. nra.
- assert (L' : ~ 2 * (e * Q2R s2) < IZR (y + d) ^ 2 - IZR y ^ 2) by (intros F; apply S in F; lia). apply Rnot_lt_le in L'.
  assert (exp (- (c * IZR y ^ 2)) <= exp (e + - (c * IZR (y + d) ^ 2))); [|nra]. apply exp_le. nra.
Qed.

Lemma half_line_tends d m :
  Un_cv (fun n => lsum (h d) (ramp m n)) (at_least s2 m - exp e * at_least s2 (m + d)).
Proof.
apply tends_ext with (fun n => total n (fun i => f (m + Z.of_nat i)%Z) - exp e * total n (fun i => f (m + d + Z.of_nat i)%Z)).
- intros n. rewrite lsum_ramp, <- total_scal, <- total_minus. apply total_ext. intros i _. do 3 f_equal. ring.
- apply CV_minus; [apply at_least_tends|]. apply tends_scal, at_least_tends.
Qed.

(** No event gains more than the best half-line. *)
Lemma the_best_half_line d l :
  (0 < d)%Z -> NoDup l -> lsum (fun y => beyond e (f y) (f (y + d)%Z)) l <= gaussian_delta s2 d epsilon.
Proof.
intros D N. set (m := first_beyond s2 epsilon d). assert (B : forall y, beyond e (f y) (f (y + d)%Z) = if (m <=? y)%Z then h d y else 0).
{ intros y. assert (M := more_than_its_share d y D). fold m in M. unfold beyond. destruct (m <=? y)%Z; [now apply Rmax_right|now apply Rmax_left]. }
assert (P : forall y, 0 <= beyond e (f y) (f (y + d)%Z)) by (intros; apply Rmax_l).
rewrite (lsum_filter _ _ (Z.leb m)).
assert (Z : lsum (fun y => beyond e (f y) (f (y + d)%Z)) (filter (fun y => negb (m <=? y)%Z) l) = 0).
{ rewrite (lsum_ext _ _ (fun _ => 0 * 0)); [rewrite lsum_scal; ring|]. intros y H. apply filter_In in H as [_ H].
  rewrite B. destruct (m <=? y)%Z; [discriminate|ring]. }
rewrite Z, Rplus_0_r. destruct (ramp_covers m l) as [n I].
apply Rle_trans with (lsum (fun y => beyond e (f y) (f (y + d)%Z)) (ramp m n)); [apply lsum_incl; auto; now apply NoDup_filter|].
assert (R : forall k, lsum (fun y => beyond e (f y) (f (y + d)%Z)) (ramp m k) = lsum (h d) (ramp m k)).
{ intros k. apply lsum_ext. intros y H. rewrite B. apply in_map_iff in H as (i & <- & _).
  destruct (Z.leb_spec m (m + Z.of_nat i)); [reflexivity|lia]. }
rewrite R. apply (growing_ineq (fun k => lsum (h d) (ramp m k))); [|apply half_line_tends].
intros k. rewrite <- !R, !lsum_ramp. cbn [total]. generalize (P (m + Z.of_nat k)%Z). lra.
Qed.

(** A smaller move has a smaller delta. *)
Lemma smaller_moves d Delta : (0 < d <= Delta)%Z -> gaussian_delta s2 d epsilon <= gaussian_delta s2 Delta epsilon.
Proof.
intros [D L]. set (m := first_beyond s2 epsilon d).
apply Rle_trans with (at_least s2 m - exp e * at_least s2 (m + Delta)).
- unfold gaussian_delta. fold m. assert (A := at_least_falls (m + d) (m + Delta) ltac:(lia)). assert (0 < exp e) by apply exp_pos. nra.
- apply (limits_le (fun n => lsum (h Delta) (ramp m n)) (fun _ => gaussian_delta s2 Delta epsilon)); auto using tends_const, half_line_tends.
  intros n. apply Rle_trans with (2 := the_best_half_line Delta (ramp m n) ltac:(lia) (NoDup_ramp m n)).
  apply lsum_le. intros y _. apply Rmax_r.
Qed.

Lemma gaussian_delta_nonneg Delta : (0 < Delta)%Z -> 0 <= gaussian_delta s2 Delta epsilon.
Proof. intros D. apply Rle_trans with (2 := the_best_half_line Delta [] D (NoDup_nil _)). simpl. lra. Qed.

Lemma masses_mirrored a z : gaussian_mass (Qnum s2) (Zpos (Qden s2)) a z = f (a - z).
Proof. unfold gaussian_mass, g. rewrite minus_IZR. do 4 f_equal. ring. Qed.

(** One number that moves by at most Delta. *)
Theorem a_number_is_nearly_close a b Delta :
  (0 < Delta)%Z -> (0 <= epsilon)%Q -> (Z.abs (a - b) <= Delta)%Z
  -> nearly_close e (gaussian_delta s2 Delta epsilon) (add_noise (GaussianNoise s2) a) (add_noise (GaussianNoise s2) b).
Proof.
intros D E0 H. destruct (Z.eq_dec a b) as [->|Ne].
{ apply nearly_close_more with 0 0; auto using gaussian_delta_nonneg, nearly_close_refl.
  rewrite <- RMicromega.Q2R_0. now apply Qle_Rle. }
apply (laws_are_nearly_close Z Z.eq_dec e _ _ _ _ _ (grows_add_noise _ a) (grows_add_noise _ b)
  (law_of_a_number s2 a s2_pos) (law_of_a_number s2 b s2_pos)).
intros l N. apply Rle_trans with (2 := smaller_moves (Z.abs (a - b)) Delta ltac:(lia)). destruct (Z_lt_le_dec b a) as [G|G].
- rewrite (lsum_ext _ _ (fun z => beyond e (f (z - a)%Z) (f (z - a + Z.abs (a - b))%Z))).
  + rewrite <- (lsum_map _ _ (fun y => beyond e (f y) (f (y + Z.abs (a - b))%Z)) (fun z => z - a)%Z).
    apply the_best_half_line; [lia|]. apply Injective_map_NoDup; auto. intros x y X. lia.
  + intros z _. rewrite <- (moved_mass _ _ a), <- (moved_mass _ _ b). do 2 f_equal. lia.
- rewrite (lsum_ext _ _ (fun z => beyond e (f (a - z)%Z) (f (a - z + Z.abs (a - b))%Z))).
  + rewrite <- (lsum_map _ _ (fun y => beyond e (f y) (f (y + Z.abs (a - b))%Z)) (fun z => a - z)%Z).
    apply the_best_half_line; [lia|]. apply Injective_map_NoDup; auto. intros x y X. lia.
  + intros z _. rewrite (masses_mirrored a), (masses_mirrored b). do 2 f_equal. lia.
Qed.
End Noise.

(** * Vectors, and several vectors *)
(** How many entries of two vectors differ. *)
Fixpoint differ (l l' : list Z) : nat :=
  match l, l' with a :: l, b :: l' => ((if (a =? b)%Z then 0 else 1) + differ l l')%nat | _, _ => O end.

Lemma nothing_differs l l' : length l = length l' -> differ l l' = O -> l = l'.
Proof.
revert l'. induction l as [|a l IH]; intros [|b l'] E H; try discriminate; auto. cbn [differ] in H.
destruct (Z.eqb_spec a b) as [->|]; [|lia]. f_equal. apply IH; [now injection E|exact H].
Qed.

Theorem a_vector_is_nearly_close s2 Delta epsilon l l' :
  (0 < Qnum s2)%Z -> (0 < Delta)%Z -> (0 <= epsilon)%Q -> length l = length l' -> (L1 l l' <= Delta)%Z -> (differ l l' <= 1)%nat
  -> nearly_close (Q2R epsilon) (gaussian_delta s2 Delta epsilon) (noisy_vector (GaussianNoise s2) l)
       (noisy_vector (GaussianNoise s2) l').
Proof.
intros P D E0. assert (E : 0 <= Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qle_Rle).
assert (D0 := gaussian_delta_nonneg s2 P epsilon Delta D). revert l'.
induction l as [|a l IH]; intros [|b l'] Len H N; try discriminate.
{ apply nearly_close_more with 0 0; auto using nearly_close_refl. }
cbn [noisy_vector L1 differ] in *. assert (Len' : length l = length l') by now injection Len.
assert (G : forall k (v : Z), grows (then_ (noisy_vector (GaussianNoise s2) k) (fun r _ => Return (v :: r))))
  by (intros; apply grows_then; auto using grows_vector, grows_return).
generalize (L1_nonneg l l'). intros L0. destruct (Z.eqb_spec a b) as [->|Ne].
- rewrite <- (Rplus_0_l (Q2R epsilon)), <- (Rplus_0_l (gaussian_delta _ _ _)).
  apply nearly_close_then; auto using grows_add_noise, nearly_close_refl. intros v.
  apply (nearly_close_map _ _ _ _ (cons v)); auto using grows_vector. apply IH; auto; lia.
- rewrite (nothing_differs l l' Len') by lia. rewrite <- (Rplus_0_r (Q2R epsilon)), <- (Rplus_0_r (gaussian_delta _ _ _)).
  apply nearly_close_then; auto using grows_add_noise, nearly_close_refl; [lra|]. apply a_number_is_nearly_close; auto. lia.
Qed.

(** What the noise of a part must be, for an epsilon and a delta. Where one entry moves, its own delta decides (for an
    epsilon that is no larger); elsewhere a rho does, as the discrete Gaussian is not the same in every direction. *)
Definition gaussian_fits (epsilon delta : Q) (n : norms) (z : noise) : Prop :=
  if is_moved n then
    if (entries n =? 1)%Z then
      exists s2 e, z = GaussianNoise s2 /\ (0 < Qnum s2)%Z /\ (0 <= e <= epsilon)%Q /\ gaussian_delta s2 (norm1 n) e <= Q2R delta
    else
      exists rho alpha, z = gaussian_for rho n /\ (0 < rho)%Q /\ 1 < alpha
        /\ alpha * Q2R rho - Q2R epsilon <= log_term alpha (Q2R delta)
  else z = NoNoise.

Definition few (n : norms) (l l' : list Z) : Prop := entries n = 1%Z -> (differ l l' <= 1)%nat.

Fixpoint all_few (ns : list norms) (v v' : list (list Z)) : Prop :=
  match ns, v, v' with n :: ns, l :: v, l' :: v' => few n l l' /\ all_few ns v v' | _, _, _ => True end.

Lemma all_few_app ns ns' v w v' w' :
  length ns = length v -> length ns = length v' -> all_few ns v v' -> all_few ns' w w' -> all_few (ns ++ ns') (v ++ w) (v' ++ w').
Proof.
revert v v'. induction ns as [|n ns IH]; intros [|l v] [|l' v'] E E' H H'; try discriminate; auto. cbn [all_few app] in *.
destruct H. split; auto.
Qed.

Lemma a_part_is_nearly_close epsilon delta n z l l' :
  (0 < epsilon)%Q -> (0 < delta)%Q -> gaussian_fits epsilon delta n z -> proper n -> moves n l l' -> few n l l'
  -> nearly_close (if is_moved n then Q2R epsilon else 0) (if is_moved n then Q2R delta else 0) (noisy_vector z l) (noisy_vector z l').
Proof.
intros E D F Pr (Len & H1 & H2) Few. unfold gaussian_fits in F. destruct (is_moved n) eqn:M.
- assert (E0 : 0 < Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
  assert (D0 : 0 < Q2R delta) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
  destruct (Z.eqb_spec (entries n) 1) as [One|Many].
  + destruct F as (s2 & e & -> & P & [e0 Le] & G). apply nearly_close_more with (Q2R e) (gaussian_delta s2 (norm1 n) e); auto.
    * now apply Qle_Rle.
    * apply a_vector_is_nearly_close; auto. unfold is_moved in M. now apply Z.ltb_lt.
  + destruct F as (rho & alpha & -> & R & A & L).
    apply (zcdp_is_nearly_close _ same_vector (Q2R rho) alpha); auto using grows_vector.
    assert (V := vectors_are_zcdp n rho l l' (fun _ => R) Pr (conj Len (conj H1 H2))). now rewrite M in V.
- rewrite F. unfold is_moved in M. apply Z.ltb_ge in M. rewrite (not_apart l l' Len) by lia. apply nearly_close_refl.
Qed.

Lemma gaussian_fits_eq epsilon epsilon' delta delta' n z :
  (epsilon == epsilon')%Q -> (delta == delta')%Q -> gaussian_fits epsilon delta n z -> gaussian_fits epsilon' delta' n z.
Proof.
intros E D. assert (E' := Qeq_eqR _ _ E). assert (D' := Qeq_eqR _ _ D). unfold gaussian_fits. rewrite D', E'.
destruct (is_moved n); auto. destruct (entries n =? 1)%Z; auto.
intros (s2 & e & H & P & L & G). exists s2, e. rewrite <- E. auto.
Qed.

Theorem noisy_parts_are_nearly_close fit epsilon delta asked v v' :
  (0 < epsilon)%Q -> (0 < delta)%Q
  -> (forall n x, In (n, x) asked -> proper n /\ (is_moved n = true -> 0 < x)%Q /\ gaussian_fits (epsilon * x) (delta * x) n (fit x n))
  -> all_move (map fst asked) v v' -> all_few (map fst asked) v v'
  -> let noise_of := map (fun '(n, x) => fit x n) asked in
     nearly_close (Q2R epsilon * Q2R (spent asked)) (Q2R delta * Q2R (spent asked))
       (noisy_parts (combine noise_of v)) (noisy_parts (combine noise_of v')).
Proof.
intros E D. cbv zeta. revert v v'. induction asked as [|[n x] asked IH]; intros [|l v] [|l' v'] P H K;
  cbn [map fst all_move all_few combine] in *; try contradiction.
{ unfold spent. cbn. rewrite RMicromega.Q2R_0, !Rmult_0_r. apply nearly_close_refl. }
destruct H as [M H], K as [Few K]. cbn [noisy_parts]. rewrite spent_cons, !Rmult_plus_distr_l.
assert (G : forall k (a : list Z), grows (then_ (noisy_parts k) (fun r _ => Return (a :: r))))
  by (intros; apply grows_then; auto using grows_parts, grows_return).
destruct (P n x (or_introl eq_refl)) as (Pr & X & F). apply nearly_close_then; auto using grows_vector.
- apply Rmult_le_pos; [rewrite <- RMicromega.Q2R_0; now apply Qle_Rle, Qlt_le_weak|].
  assert (S : forall rest, (forall m y, In (m, y) rest -> is_moved m = true -> 0 < y)%Q -> 0 <= Q2R (spent rest)).
  { induction rest as [|[m y] rest IHr]; intros S; [unfold spent; cbn; rewrite RMicromega.Q2R_0; lra|]. rewrite spent_cons.
    assert (0 <= Q2R (spent rest)) by (apply IHr; intros; apply (S m0 y0); auto; now right).
    destruct (is_moved m) eqn:My; [|lra]. assert (0 < Q2R y); [|lra]. rewrite <- RMicromega.Q2R_0. apply Qlt_Rlt.
    apply (S m y); auto. now left. }
  apply S. intros m y I. apply (P m y). now right.
- replace (Q2R epsilon * (if is_moved n then Q2R x else 0)) with (if is_moved n then Q2R (epsilon * x) else 0)
    by (destruct (is_moved n); [apply Q2R_mult|ring]).
  replace (Q2R delta * (if is_moved n then Q2R x else 0)) with (if is_moved n then Q2R (delta * x) else 0)
    by (destruct (is_moved n); [apply Q2R_mult|ring]).
  destruct (is_moved n) eqn:My.
  + specialize (X eq_refl). assert (Ex : (0 < epsilon * x)%Q) by now apply Qmult_lt_0_compat.
    assert (Dx : (0 < delta * x)%Q) by now apply Qmult_lt_0_compat.
    assert (C := a_part_is_nearly_close (epsilon * x) (delta * x) n (fit x n) l l' Ex Dx F Pr M Few). now rewrite My in C.
  + unfold gaussian_fits in F. rewrite My in F. rewrite F. destruct M as (Len & H1 & _).
    unfold is_moved in My. apply Z.ltb_ge in My. rewrite (not_apart l l' Len) by lia. apply nearly_close_refl.
- intros a. apply (nearly_close_map _ _ _ _ (cons a)); auto using grows_parts. apply IH; auto. intros m y I. apply P. now right.
Qed.

Theorem gaussian_releases_are_nearly_close fit epsilon delta tasks v v' :
  (0 < epsilon)%Q -> (0 < delta)%Q -> (forall t, In t tasks -> 0 < fst t)%Q
  -> (forall t n, In t tasks -> In n (snd t) -> proper n)
  -> (forall n x, In (n, x) (concat (shares tasks)) -> gaussian_fits (epsilon * x) (delta * x) n (fit (1 * x)%Q n))
  -> all_move (concat (map snd tasks)) v v' -> all_few (concat (map snd tasks)) v v'
  -> nearly_close (Q2R epsilon) (Q2R delta) (released fit 1 tasks v) (released fit 1 tasks v').
Proof.
intros E D W Pr F M Few. unfold released. rewrite noises_are.
assert (S : Q2R (spent (concat (shares tasks))) <= 1).
{ rewrite <- RMicromega.Q2R_1. apply Qle_Rle. now apply no_more_than_the_whole. }
assert (E0 : 0 < Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (D0 : 0 < Q2R delta) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
apply (nearly_close_more _ (Q2R epsilon * Q2R (spent (concat (shares tasks)))) _ (Q2R delta * Q2R (spent (concat (shares tasks)))));
  [nra|nra|].
apply (noisy_parts_are_nearly_close (fun x n => fit (1 * x)%Q n)); auto.
- intros n x H. split; [|split; [now apply (shares_are_positive tasks n)|now apply F]].
  assert (I : In n (map fst (concat (shares tasks)))) by (apply in_map_iff; now exists (n, x)).
  rewrite shares_are_of in I. apply in_concat in I as (l & Hl & I). apply in_map_iff in Hl as (t & <- & Ht). now apply (Pr t).
- now rewrite shares_are_of.
- now rewrite shares_are_of.
Qed.

(** * The statistics *)
Section Units.
Variables (X G : Type) (same : forall a b : G, {a = b} + {a <> b}) (listed : list G).
Hypothesis listed_once : NoDup listed.

Lemma differ_by (f f' : G -> Z) changed :
  (forall g, f g <> f' g -> In g changed) -> (differ (map f listed) (map f' listed) <= length changed)%nat.
Proof.
intros H. assert (E : differ (map f listed) (map f' listed) = length (filter (fun g => negb (f g =? f' g)%Z) listed)).
{ clear listed_once. induction listed as [|g l IH]; [reflexivity|]. cbn [map differ filter]. rewrite IH.
  destruct (f g =? f' g)%Z; reflexivity. }
rewrite E. apply NoDup_incl_length; [now apply NoDup_filter|]. intros g I. apply filter_In in I as [_ I]. apply H. intros Eq.
rewrite Eq, Z.eqb_refl in I. discriminate.
Qed.

(** Of a unit of which one entry is said to move, one does at most. *)
Theorem vector_moves_few u (w : way X G) r limit low high v d d' :
  is_of listed u w -> is_allowed r w -> neighbours r limit d d'
  -> few (unit_norms u low high (is_sized r)) (vector same listed w (low, high) v d) (vector same listed w (low, high) v d').
Proof.
intros O A N One. apply neighbours_unordered in N. unfold vector.
set (sums e := map (fun g => wide (adds same w (low, high) v g) e) listed).
assert (Short : (length listed <= 1)%nat -> (differ (sums d) (sums d') <= 1)%nat).
{ intros L. apply Nat.le_trans with (2 := L). unfold sums. clear. induction listed as [|g l IH]; [auto|].
  cbn [map differ length]. destruct Z.eqb; lia. }
assert (Symmetric : forall groups_of : X -> list G, (forall x, (length (groups_of x) <= 1)%nat)
  -> (forall g x, adds same w (low, high) v g x <> 0%Z -> In g (groups_of x)) -> symmetric d d'
  -> (differ (sums d) (sums d') <= 1)%nat).
{ intros groups_of One' In' S.
  assert (Pm : forall e e' g, Permutation e e' -> wide (adds same w (low, high) v g) e = wide (adds same w (low, high) v g) e').
  { intros e e' g P. unfold wide, sumZ. clear - P. induction P; cbn [map fold_right]; lia. }
  assert (H : exists changed, (length changed <= 1)%nat
    /\ forall g, wide (adds same w (low, high) v g) d <> wide (adds same w (low, high) v g) d' -> In g changed).
  { apply symmetric_cases in S as [P|(a & [P|P])].
    - exists []. split; [auto|]. intros g F. now rewrite (Pm _ _ g P) in F.
    - exists (groups_of a). split; auto. intros g F. apply In'. rewrite (Pm _ _ g P) in F. unfold wide, sumZ in F.
      cbn [map fold_right] in F. lia.
    - exists (groups_of a). split; auto. intros g F. apply In'. rewrite (Pm _ _ g P) in F. unfold wide, sumZ in F.
      cbn [map fold_right] in F. lia. }
  destruct H as (changed & L & H). apply Nat.le_trans with (2 := L). unfold sums. now apply differ_by. }
destruct w as [|key|rows kept]; cbn [is_of is_allowed] in *.
- apply Short. lia.
- destruct O as (Og & Room & Or). unfold has_room in Room. unfold unit_norms in One. rewrite Or in One.
  destruct (groups u) as [m|]; [|contradiction]. destruct (is_sized r).
  + destruct (Z.eqb_spec m 1) as [L|L]; [apply Short; lia|]. cbn [entries] in One. discriminate.
  + apply (Symmetric (fun x => [key x])); auto. intros g x F. cbn [adds] in F. destruct (same (key x) g); [now left|congruence].
- destruct O as (Or & r0 & g0 & Few & Og). unfold has_room in Og. subst r. cbn [is_sized] in *. unfold unit_norms in One. rewrite Or in One.
  cbn [entries] in One. destruct (groups u) as [m|]; [|apply Short; lia].
  destruct (Z.le_gt_cases (max_groups u) 1) as [L|L]; [|apply Short; lia].
  apply (Symmetric kept); auto.
  + intros x. specialize (Few x). lia.
  + intros g x F. cbn [adds] in F. destruct (in_dec same g (kept x)); [auto|congruence].
Qed.
End Units.

Lemma sums_are_few X r limit (every : list (asked X)) d d' :
  (forall a, In a every -> is_covered r a) -> neighbours r limit d d'
  -> all_few (concat (map snd (map (task_of r) every)))
       (concat (map (fun a => sums_of a d) every)) (concat (map (fun a => sums_of a d') every)).
Proof.
intros C N. induction every as [|a every IH]; [exact I|]. cbn [map concat]. apply all_few_app.
- unfold task_of, sums_of, part_norms, vectors. cbn [snd]. now rewrite !map_length.
- unfold task_of, sums_of, part_norms, vectors. cbn [snd]. now rewrite !map_length.
- destruct (C a (or_introl eq_refl)) as (_ & Once & O & A & _). unfold task_of, sums_of. cbn [snd]. generalize (parts_of a).
  intros parts. induction parts as [|[[low high] v] parts IHp]; [exact I|]. cbn [part_norms vectors map all_few].
  split; [|exact IHp]. now apply (vector_moves_few X (Entry a) (same a) (listed a) Once (unit_of a) (added a) r limit).
- apply IH. intros b Hb. apply C. now right.
Qed.

(** Every release with Gaussian noise for an epsilon and a delta, which are divided between its parts: every event of
    anything that is computed from it. *)
Theorem every_release_is_nearly_close X A r limit (every : list (asked X)) fit epsilon delta
    (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> (0 < delta)%Q -> (forall a, In a every -> is_covered r a) -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z
  -> (forall n x, In (n, x) (concat (shares (map (task_of r) every))) -> gaussian_fits (epsilon * x) (delta * x) n (fit (1 * x)%Q n))
  -> neighbours r limit d d'
  -> nearly_close (Q2R epsilon) (Q2R delta) (release r fit 1 read every d) (release r fit 1 read every d').
Proof.
intros E D C G F N. unfold release. rewrite (public_number_is_public X r limit d d' N).
apply nearly_close_map; auto using grows_released.
apply gaussian_releases_are_nearly_close; auto.
- intros t H. now apply (weights_are_positive X r every).
- intros t n H H'. now apply (tasks_are_proper X r every t).
- now apply (sums_move X r limit).
- now apply (sums_are_few X r limit).
Qed.

Theorem every_release_keeps_its_delta X A r limit (every : list (asked X)) fit epsilon delta
    (read : option nat -> list (list Z) -> A) d d' :
  (0 < epsilon)%Q -> (0 < delta)%Q -> (forall a, In a every -> is_covered r a) -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z
  -> (forall n x, In (n, x) (concat (shares (map (task_of r) every))) -> gaussian_fits (epsilon * x) (delta * x) n (fit (1 * x)%Q n))
  -> neighbours r limit d d'
  -> nearly_private (Q2R epsilon) (Q2R delta) (release r fit 1 read every d) (release r fit 1 read every d').
Proof. intros. apply nearly_close_is_private; auto using grows_release. now apply (every_release_is_nearly_close X A r limit). Qed.

(** * What the code fits *)
(** What it computes for every sensitivity, epsilon and delta: a sigma^2 for a number, a rho for all else. *)
Definition enough_sigma2 (own : Z -> Q -> Q -> Q) : Prop :=
  (forall Delta e d, 0 < e -> 0 < d < 1 -> (0 < Delta)%Z
    -> (0 < Qnum (own Delta e d))%Z /\ exists e', 0 <= e' <= e /\ (gaussian_delta (own Delta e d) Delta e' <= Q2R d)%R)%Q.

Definition enough_rho (rho : Q -> Q -> Q) : Prop :=
  (forall e d, 0 < e -> 0 < d < 1 -> 0 < rho e d /\ exists alpha, (1 < alpha /\ alpha * Q2R (rho e d) - Q2R e <= log_term alpha (Q2R d))%R)%Q.

(** If that is enough, so is the noise of each part. *)
Theorem what_is_fitted own rho epsilon delta share n :
  enough_sigma2 own -> enough_rho rho -> (0 < epsilon)%Q -> (0 < delta)%Q -> (is_moved n = true -> 0 < share /\ delta * share < 1)%Q
  -> gaussian_fits (epsilon * share) (delta * share) n (gaussian_within own rho epsilon delta share n).
Proof.
intros Own Rho E D S. unfold gaussian_fits, gaussian_within. destruct (is_moved n) eqn:M; [|reflexivity].
destruct (S eq_refl) as [S0 S1]. assert (E' : (0 < epsilon * share)%Q) by now apply Qmult_lt_0_compat.
assert (D' : (0 < delta * share < 1)%Q) by (split; [now apply Qmult_lt_0_compat|exact S1]). destruct (entries n =? 1)%Z.
- unfold is_moved in M. apply Z.ltb_lt in M. destruct (Own (norm1 n) _ _ E' D' M) as (P & e' & L & H).
  exists (own (norm1 n) (epsilon * share)%Q (delta * share)%Q), e'. auto.
- destruct (Rho _ _ E' D') as (P & alpha & A & L). exists (rho (epsilon * share)%Q (delta * share)%Q), alpha. auto.
Qed.

(** So every release with it keeps what was asked for. *)
Theorem every_release_with_fitted_noise_is_nearly_close X A r limit (every : list (asked X)) own rho epsilon delta
    (read : option nat -> list (list Z) -> A) d d' :
  enough_sigma2 own -> enough_rho rho -> (0 < epsilon)%Q -> (0 < delta < 1)%Q -> (forall a, In a every -> is_covered r a)
  -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z -> neighbours r limit d d'
  -> let fit := gaussian_within own rho epsilon delta in
     nearly_close (Q2R epsilon) (Q2R delta) (release r fit 1 read every d) (release r fit 1 read every d').
Proof.
intros Own Rho E [D D1] C G N. cbv zeta. apply (every_release_is_nearly_close X A r limit); auto. intros n x H.
assert (W : forall t, In t (map (task_of r) every) -> (0 < fst t)%Q) by (intros t I; now apply (weights_are_positive X r every)).
assert (Same : (1 * x == x)%Q) by ring. apply (gaussian_fits_eq (epsilon * (1 * x)) _ (delta * (1 * x))); try now rewrite Same.
apply what_is_fitted; auto. intros M. rewrite Same. assert (P := shares_are_positive _ n x W H M). split; [exact P|].
assert (L := shares_are_at_most_one _ n x W H M). apply Qle_lt_trans with (delta * 1)%Q; [|now rewrite Qmult_1_r].
rewrite !(Qmult_comm delta). apply Qmult_le_compat_r; [exact L|now apply Qlt_le_weak].
Qed.

(** A sigma^2 that a rho gives is enough by the discrete Gaussian's own delta, too: so there always is one. *)
Theorem a_rho_is_enough s2 Delta epsilon rho alpha delta :
  (0 < Qnum s2)%Z -> IZR (Delta * Delta) * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2)) <= rho
  -> 1 < alpha -> 0 < delta -> alpha * rho - Q2R epsilon <= log_term alpha delta -> gaussian_delta s2 Delta epsilon <= delta.
Proof.
intros P R A D L. set (m := first_beyond s2 epsilon Delta). set (n := GaussianNoise s2).
assert (T : forall a k, tends (add_noise n a) (passes (Z.leb k)) (at_least s2 (k - a))).
{ intros a k. apply tends_ext with (2 := the_sampler_draws_at_least s2 P (k - a)). intros fuel. unfold add_noise, then_.
  rewrite weigh_bind. apply weigh_ext. intros z. cbn [weigh]. unfold passes.
  destruct (Z.leb_spec k (a + z)), (Z.leb_spec (k - a) z); (reflexivity || lia). }
assert (C : nearly_close (Q2R epsilon) delta (add_noise n 0) (add_noise n (- Delta))).
{ apply (zcdp_is_nearly_close _ Z.eq_dec rho alpha); auto using grows_add_noise.
  apply (zcdp_more _ _ _ _ _ R). replace (Delta * Delta)%Z with ((0 - - Delta) * (0 - - Delta))%Z by ring.
  now apply noisy_numbers_are_zcdp. }
assert (H := C _ _ _ (passes_is_a_weight _ (Z.leb m)) (T 0%Z m) (T (- Delta)%Z m)). unfold gaussian_delta. fold m.
replace (m - 0)%Z with m in H by ring. replace (m - - Delta)%Z with (m + Delta)%Z in H by ring. lra.
Qed.

(** For example, of rho = epsilon delta / (1 + delta), which alpha = 1 + 1 / delta shows to be enough. *)
Definition modest_rho (e d : Q) : Q := Qred (e * d / (1 + d)).
Definition modest_sigma2 (Delta : Z) (e d : Q) : Q := Qred (inject_Z (Delta * Delta) / (2 * modest_rho e d)).

Lemma modest_rho_is e d :
  (0 < e)%Q -> (0 < d)%Q -> (0 < modest_rho e d)%Q /\ let alpha := 1 + / Q2R d in
    1 < alpha /\ alpha * Q2R (modest_rho e d) - Q2R e <= log_term alpha (Q2R d).
Proof.
intros E D. assert (E0 : 0 < Q2R e) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (D0 : 0 < Q2R d) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (N : ~ (1 + d == 0)%Q).
{ intros Z. apply Qeq_eqR in Z. rewrite Q2R_plus, RMicromega.Q2R_1, RMicromega.Q2R_0 in Z. lra. }
assert (R : Q2R (modest_rho e d) = Q2R e * Q2R d / (1 + Q2R d)).
{ unfold modest_rho. rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_div, Q2R_mult, Q2R_plus, RMicromega.Q2R_1 by exact N. reflexivity. }
split.
- apply Rlt_Qlt. rewrite RMicromega.Q2R_0, R. apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|lra].
- cbv zeta. assert (I := Rinv_0_lt_compat _ D0). split; [lra|]. rewrite R. set (alpha := 1 + / Q2R d).
  replace (alpha * (Q2R e * Q2R d / (1 + Q2R d)) - Q2R e) with 0 by (unfold alpha; field; lra).
  unfold log_term. replace (alpha - 1) with (/ Q2R d) by (unfold alpha; ring). rewrite ln_Rinv by exact D0.
  apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; exact I].
  assert (0 < / alpha) by (apply Rinv_0_lt_compat; unfold alpha; lra).
  assert (L : ln (1 - / alpha) <= - / alpha).
  { generalize (exp_ineq1_le (ln (1 - / alpha))). rewrite exp_ln; [lra|].
    assert (/ alpha < 1); [|lra]. rewrite <- Rinv_1. apply Rinv_lt_contravar; unfold alpha; lra. }
  assert (alpha * ln (1 - / alpha) <= - (1)).
  { apply Rle_trans with (alpha * - / alpha); [apply Rmult_le_compat_l; [unfold alpha; lra|exact L]|].
    right. field. unfold alpha. lra. }
  lra.
Qed.

Theorem there_is_enough_noise : enough_sigma2 modest_sigma2 /\ enough_rho modest_rho.
Proof.
split; [intros Delta e d E [D _] De|intros e d E [D _]].
- destruct (modest_rho_is e d E D) as (R & A & L). set (rho := modest_rho e d) in *.
  destruct (sigma_is (Norms Delta (Delta * Delta) 1) rho R) as (s2 & F & P & S).
  + unfold is_moved. now apply Z.ltb_lt.
  + cbn [norm2]. nia.
  + unfold gaussian_for, is_moved in F. cbn [norm1 norm2] in F, S. rewrite (proj2 (Z.ltb_lt _ _) De) in F.
    assert (S2 : modest_sigma2 Delta e d = s2) by (unfold modest_sigma2; fold rho; congruence). rewrite S2. split; [exact P|]. exists e. split; [split; [now apply Qlt_le_weak|apply Qle_refl]|].
    apply (a_rho_is_enough s2 Delta e (Q2R rho) (1 + / Q2R d)); auto; [now right|].
    rewrite <- RMicromega.Q2R_0. now apply Qlt_Rlt.
- destruct (modest_rho_is e d E D) as (R & A & L). split; [exact R|]. now exists (1 + / Q2R d).
Qed.

(** * The ledger of epsilons and deltas *)
Section Ledger.
Variables (Data Answer : Type) (related : Data -> Data -> Prop).

Record step := Step { answers : Data -> nat -> program Answer; epsilon_cost : Q; delta_cost : Q }.

Definition keeps_both (m : step) :=
  (forall d, grows (answers m d))
  /\ forall d d', related d d' -> nearly_close (Q2R (epsilon_cost m)) (Q2R (delta_cost m)) (answers m d) (answers m d').

(** The analyst sees all answers and chooses the next step with its cost, or stops. What costs more of either than is left
    is refused. *)
Variable analyst : list Answer -> option step.
Hypothesis promises : forall history m, analyst history = Some m -> keeps_both m.

Fixpoint both_session (rounds : nat) (epsilon delta : Q) (history : list Answer) (d : Data) : nat -> program (list Answer) :=
  match rounds with
  | O => fun _ => Return history
  | S rounds =>
      match analyst history with
      | None => fun _ => Return history
      | Some m =>
          if Qle_bool (epsilon_cost m) epsilon && Qle_bool (delta_cost m) delta then
            then_ (answers m d) (fun a => both_session rounds (epsilon - epsilon_cost m) (delta - delta_cost m) (history ++ [a]) d)
          else fun _ => Return history
      end
  end.

Lemma grows_both_session rounds epsilon delta history d : grows (both_session rounds epsilon delta history d).
Proof.
revert epsilon delta history. induction rounds as [|rounds IH]; intros epsilon delta history; cbn [both_session]; [apply grows_return|].
destruct (analyst history) as [m|] eqn:E; [|apply grows_return]. destruct (_ && _); [|apply grows_return].
apply grows_then; auto. apply (promises history m E).
Qed.

Theorem the_ledger_keeps_its_delta rounds epsilon delta history d d' :
  (0 <= epsilon)%Q -> (0 <= delta)%Q -> related d d'
  -> nearly_close (Q2R epsilon) (Q2R delta) (both_session rounds epsilon delta history d) (both_session rounds epsilon delta history d').
Proof.
intros E D R. revert epsilon delta history E D. induction rounds as [|rounds IH]; intros epsilon delta history E D; cbn [both_session].
all: assert (E0 : 0 <= Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qle_Rle).
all: assert (D0 : 0 <= Q2R delta) by (rewrite <- RMicromega.Q2R_0; now apply Qle_Rle).
all: assert (Stop : nearly_close (Q2R epsilon) (Q2R delta) (fun _ => Return history) (fun _ => Return history))
  by (apply nearly_close_more with 0 0; auto using nearly_close_refl).
{ exact Stop. }
destruct (analyst history) as [m|] eqn:M; [|exact Stop]. destruct (_ && _) eqn:C; [|exact Stop].
apply andb_prop in C as [Ce Cd]. apply Qle_bool_iff in Ce, Cd. destruct (promises history m M) as [G K].
apply Qle_minus_iff in Ce, Cd.
replace (Q2R epsilon) with (Q2R (epsilon_cost m) + Q2R (epsilon - epsilon_cost m)) by (rewrite Q2R_minus; ring).
replace (Q2R delta) with (Q2R (delta_cost m) + Q2R (delta - delta_cost m)) by (rewrite Q2R_minus; ring).
apply nearly_close_then; auto using grows_both_session. rewrite <- RMicromega.Q2R_0. now apply Qle_Rle.
Qed.
End Ledger.
