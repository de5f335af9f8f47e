(** Zero-concentrated privacy (zCDP) of programs: it composes, however the next step depends on the answers so far, and it
    implies (epsilon, delta)-DP for every event of everything that was seen.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Psatz Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private Composition Gaussian Theta Zcdp.
Import ListNotations.
Open Scope R_scope.

(** * Laws *)
Section Laws.
Context {A : Type} (same : forall a b : A, {a = b} + {a <> b}).

Definition one_is (a x : A) : bool := if same a x then true else false.

(** The probability of each result. *)
Definition law (p : nat -> program A) (P : A -> R) := forall a, tends p (passes (one_is a)) (P a).

Lemma one_is_weight a : unit_weight (passes (one_is a)).
Proof. intros x. apply passes_range. Qed.

Lemma law_exists p : grows p -> exists P, law p P.
Proof.
intros G. exists (fun a => proj1_sig (value A p _ G (one_is_weight a))). intros a.
exact (proj2_sig (value A p _ G (one_is_weight a))).
Qed.

Lemma law_unique p P Q : law p P -> law p Q -> forall a, P a = Q a.
Proof. intros L M a. exact (UL_sequence _ _ _ (L a) (M a)). Qed.

Lemma law_nonneg p P a : law p P -> 0 <= P a.
Proof. intros L. now apply (value_range A p _ _ (one_is_weight a) (L a)). Qed.

(** * Renyi divergence *)
(** P^alpha Q^(1 - alpha), and 0 where P is 0. *)
Definition term (alpha P Q : R) : R := if Rle_dec P 0 then 0 else Rpower P alpha * Rpower Q (1 - alpha).

Definition zcdp_laws (rho : R) (P Q : A -> R) :=
  (forall a, 0 < P a -> 0 < Q a)
  /\ forall alpha, 1 < alpha -> forall l, NoDup l -> lsum (fun a => term alpha (P a) (Q a)) l <= exp ((alpha - 1) * (alpha * rho)).

Definition zcdp_close (rho : R) (p p' : nat -> program A) := forall P Q, law p P -> law p' Q -> zcdp_laws rho P Q.

Lemma term_nonneg alpha P Q : 0 <= term alpha P Q.
Proof.
unfold term. destruct (Rle_dec P 0); [lra|]. apply Rlt_le, Rmult_lt_0_compat; apply exp_pos.
Qed.

Lemma term_same alpha P : 0 <= P -> term alpha P P = P.
Proof.
intros H. unfold term. destruct (Rle_dec P 0); [lra|]. rewrite <- Rpower_plus.
replace (alpha + (1 - alpha)) with 1 by ring. apply Rpower_1. lra.
Qed.

Lemma term_product alpha P F Q G :
  0 <= P -> 0 <= F -> (0 < P -> 0 < Q) -> (0 < F -> 0 < G)
  -> term alpha (P * F) (Q * G) = term alpha P Q * term alpha F G.
Proof.
intros HP HF HQ HG. unfold term. destruct (Rle_dec P 0) as [p|p].
- replace P with 0 by lra. rewrite Rmult_0_l. destruct (Rle_dec 0 0); [ring|lra].
- destruct (Rle_dec F 0) as [f|f].
  + replace F with 0 by lra. rewrite Rmult_0_r. destruct (Rle_dec 0 0); [ring|lra].
  + assert (0 < P * F) by (apply Rmult_lt_0_compat; lra). destruct (Rle_dec (P * F) 0); [lra|].
    rewrite <- !Rpower_mult_distr by (auto; try lra; (apply HQ || apply HG); lra). ring.
Qed.

Lemma zcdp_more rho rho' p p' : rho <= rho' -> zcdp_close rho p p' -> zcdp_close rho' p p'.
Proof.
intros H C P Q L M. destruct (C P Q L M) as [S B]. split; auto. intros alpha a l N. apply Rle_trans with (1 := B alpha a l N).
apply exp_le. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra.
Qed.

(** * Weights of finitely many results *)
Lemma lsum_weigh (p : program A) B (g : B -> A -> R) l :
  lsum (fun b => weigh p (g b)) l = weigh p (fun x => lsum (fun b => g b x) l).
Proof.
induction l as [|b l IH]; cbn [lsum]; [now rewrite weigh_zero|]. rewrite IH. symmetry. apply weigh_plus.
Qed.

Lemma tends_lsum B (f : nat -> B -> R) F (l : list B) :
  (forall b, Un_cv (fun n => f n b) (F b)) -> Un_cv (fun n => lsum (f n) l) (lsum F l).
Proof.
intros H. induction l as [|b l IH]; [exact (tends_const 0)|]. cbn [lsum].
apply (CV_plus (fun n => f n b) (fun n => lsum (f n) l)); auto.
Qed.

Lemma picks (w : A -> R) l x : NoDup l -> lsum (fun a => w a * passes (one_is a) x) l = if in_dec same x l then w x else 0.
Proof.
induction 1 as [|a l N D IH]; [reflexivity|]. cbn [lsum]. rewrite IH. unfold passes, one_is. destruct (same a x) as [->|E].
- destruct (in_dec same x l); [contradiction|]. destruct (in_dec same x (x :: l)) as [_|F]; [ring|]. exfalso. apply F. now left.
- destruct (in_dec same x l) as [I|I], (in_dec same x (a :: l)) as [J|J]; try ring.
  + exfalso. apply J. now right.
  + destruct J; congruence.
Qed.

Lemma support (p : program A) : exists l, NoDup l /\ forall w w', (forall a, In a l -> w a = w' a) -> weigh p w = weigh p w'.
Proof.
assert (E : exists l, forall w w', (forall a, In a l -> w a = w' a) -> weigh p w = weigh p w').
{ induction p as [a|next IH|]; cbn [weigh].
  - exists [a]. intros w w' H. apply H. now left.
  - assert (F : forall m, exists l, forall i w w', (i < m)%nat -> (forall a, In a l -> w a = w' a)
      -> weigh (next (Z.of_nat i)) w = weigh (next (Z.of_nat i)) w').
    { induction m as [|m [l L]]; [exists []; intros; lia|]. destruct (IH (Z.of_nat m)) as [k K]. exists (k ++ l).
      intros i w w' I H. destruct (Nat.eq_dec i m) as [->|N].
      - apply K. intros; apply H, in_app_iff; now left.
      - apply L; [lia|]. intros; apply H, in_app_iff; now right. }
    destruct (F 256%nat) as [l L]. exists l. intros w w' H. unfold byte_mean. f_equal. apply total_ext. intros i I. now apply L.
  - exists []. reflexivity. }
destruct E as [l L]. exists (nodup same l). split; [apply NoDup_nodup|]. intros w w' H. apply L. intros a I. apply H.
now apply nodup_In.
Qed.

Lemma weigh_by_results (p : program A) :
  exists l, NoDup l /\ forall w, weigh p w = lsum (fun a => w a * weigh p (passes (one_is a))) l.
Proof.
destruct (support p) as (l & N & S). exists l. split; auto. intros w.
rewrite (lsum_ext _ _ (fun a => weigh p (fun x => w a * passes (one_is a) x))) by (intros; symmetry; apply weigh_scal).
rewrite (lsum_weigh p A (fun a x => w a * passes (one_is a) x)). apply S. intros a I. rewrite picks by auto.
destruct (in_dec same a l); [reflexivity|contradiction].
Qed.

Lemma below_its_law p P a fuel : grows p -> law p P -> weigh (p fuel) (passes (one_is a)) <= P a.
Proof. intros G L. apply (below_value A p); auto using one_is_weight. Qed.

Lemma law_sums_below p P w v l :
  grows p -> law p P -> unit_weight w -> tends p w v -> NoDup l -> lsum (fun a => w a * P a) l <= v.
Proof.
intros G L W T N. apply (limits_le (fun k => lsum (fun a => w a * weigh (p k) (passes (one_is a))) l) (fun k => weigh (p k) w)).
- intros k. rewrite (lsum_ext _ _ (fun a => weigh (p k) (fun x => w a * passes (one_is a) x)))
    by (intros; symmetry; apply weigh_scal).
  rewrite (lsum_weigh (p k) A (fun a x => w a * passes (one_is a) x)). apply weigh_le. intros x. rewrite picks by auto.
  destruct (in_dec same x l); [lra|apply W].
- apply (tends_lsum A (fun k a => w a * weigh (p k) (passes (one_is a)))). intros a. apply tends_scal, L.
- exact T.
Qed.

Lemma law_sum p P l : grows p -> law p P -> NoDup l -> lsum P l <= 1.
Proof.
intros G L N. assert (W : unit_weight (fun _ : A => 1)) by (intros a; lra). destruct (value A p _ G W) as [v T].
assert (V := value_range A p _ _ W T). rewrite (lsum_ext _ _ (fun a => 1 * P a)) by (intros; ring).
apply Rle_trans with v; [now apply (law_sums_below p P (fun _ => 1) v l)|apply V].
Qed.

(** A step that does not depend on the data. *)
Theorem zcdp_refl p : grows p -> zcdp_close 0 p p.
Proof.
intros G P Q L M. assert (E := law_unique p P Q L M). split; [intros a; now rewrite E|]. intros alpha _ l N.
rewrite Rmult_0_r, Rmult_0_r, exp_0. rewrite (lsum_ext _ _ P); [now apply (law_sum p)|]. intros a _. rewrite <- E.
apply term_same. now apply (law_nonneg p).
Qed.

(** * To epsilon and delta *)
(** Bernoulli's inequality, for real exponents. *)
Lemma bernoulli_real alpha t : 1 < alpha -> 0 < t -> 1 + alpha * (t - 1) <= Rpower t alpha.
Proof.
intros H T. destruct (Rle_or_lt (1 + alpha * (t - 1)) 0) as [s|s]; [apply Rle_trans with (1 := s), Rlt_le, exp_pos|].
set (s' := 1 + alpha * (t - 1)) in *. rewrite <- (exp_ln s') by exact s. unfold Rpower. apply exp_le.
assert (L : forall x, 0 < x -> ln x <= x - 1).
{ intros x X. generalize (exp_ineq1_le (ln x)). rewrite exp_ln by exact X. lra. }
assert (L1 := L (s' / t) ltac:(now apply Rdiv_lt_0_compat)). assert (L2 := L (1 / t) ltac:(apply Rdiv_lt_0_compat; lra)).
unfold Rdiv in L1, L2. rewrite ln_mult in L1 by (auto using Rinv_0_lt_compat).
rewrite Rmult_1_l in L2. rewrite ln_Rinv in L1, L2 by exact T.
assert (E : s' * / t + (alpha - 1) * / t = alpha) by (unfold s'; field; lra).
nra.
Qed.

Definition loss_factor (alpha : R) : R := Rpower (1 - / alpha) alpha / (alpha - 1).

Lemma beyond_is_little alpha y : 1 < alpha -> 0 < y -> y - 1 <= loss_factor alpha * Rpower y alpha.
Proof.
intros H Y. set (t := y * (1 - / alpha)). assert (I : 0 < / alpha < 1).
{ split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
assert (T : 0 < t) by (apply Rmult_lt_0_compat; lra). assert (B := bernoulli_real alpha t H T).
unfold loss_factor. replace (Rpower (1 - / alpha) alpha / (alpha - 1) * Rpower y alpha) with (Rpower t alpha / (alpha - 1)).
- apply Rmult_le_reg_r with (alpha - 1); [lra|]. replace (Rpower t alpha / (alpha - 1) * (alpha - 1)) with (Rpower t alpha)
    by (field; lra).
  apply Rle_trans with (2 := B). right. unfold t. field. lra.
- unfold t. rewrite <- Rpower_mult_distr by lra. field. lra.
Qed.

Lemma pointwise alpha epsilon P Q :
  1 < alpha -> 0 <= P -> 0 <= Q -> (0 < P -> 0 < Q)
  -> P <= exp epsilon * Q + loss_factor alpha * exp (- ((alpha - 1) * epsilon)) * term alpha P Q.
Proof.
intros H HP HQ S. unfold term. assert (E := exp_pos epsilon). destruct (Rle_dec P 0) as [p|p]; [nra|].
assert (P0 : 0 < P) by lra. assert (Q0 := S P0). set (y := P / Q * exp (- epsilon)).
assert (Y : 0 < y) by (apply Rmult_lt_0_compat; [now apply Rdiv_lt_0_compat|apply exp_pos]).
assert (B := beyond_is_little alpha y H Y).
assert (K : exp epsilon * Q * Rpower y alpha
  = exp (- ((alpha - 1) * epsilon)) * (Rpower P alpha * Rpower Q (1 - alpha))).
{ assert (Ey : ln y = ln P - ln Q - epsilon).
  { unfold y, Rdiv. assert (I : 0 < / Q) by now apply Rinv_0_lt_compat.
    assert (J : 0 < P * / Q) by now apply Rmult_lt_0_compat.
    rewrite (ln_mult _ (exp (- epsilon)) J (exp_pos _)), (ln_mult P _ P0 I), (ln_Rinv Q Q0), ln_exp. ring. }
  unfold Rpower. rewrite Ey. rewrite <- (exp_ln Q Q0) at 1. rewrite <- !exp_plus. f_equal. ring. }
assert (F : P = exp epsilon * Q * y).
{ unfold y. rewrite exp_Ropp. field. split; lra. }
rewrite Rmult_assoc, <- K. rewrite F at 1. assert (0 < exp epsilon * Q) by now apply Rmult_lt_0_compat. nra.
Qed.

(** rho-zCDP is (epsilon, delta)-DP, for each alpha (Canonne, Kamath and Steinke 2020). *)
Theorem zcdp_is_dp rho alpha epsilon p p' w v v' :
  grows p -> grows p' -> zcdp_close rho p p' -> 1 < alpha -> unit_weight w -> tends p w v -> tends p' w v'
  -> v <= exp epsilon * v' + loss_factor alpha * exp ((alpha - 1) * (alpha * rho - epsilon)).
Proof.
intros G G' C H W T T'. destruct (law_exists p G) as [P LP]. destruct (law_exists p' G') as [Q LQ].
destruct (C P Q LP LQ) as [S B]. assert (E := exp_pos epsilon).
assert (F0 : 0 <= loss_factor alpha).
{ unfold loss_factor. apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|lra]. }
apply (limits_le (fun fuel => weigh (p fuel) w)
  (fun _ => exp epsilon * v' + loss_factor alpha * exp ((alpha - 1) * (alpha * rho - epsilon)))); auto using tends_const.
intros fuel. destruct (weigh_by_results (p fuel)) as (l & N & ByResult). rewrite ByResult.
apply Rle_trans with (lsum (fun a => exp epsilon * (w a * Q a)
  + loss_factor alpha * exp (- ((alpha - 1) * epsilon)) * term alpha (P a) (Q a)) l).
- apply lsum_le. intros a _. assert (Wa := W a). assert (X := pointwise alpha epsilon (P a) (Q a) H
    (law_nonneg p P a LP) (law_nonneg p' Q a LQ) (S a)).
  assert (Y := below_its_law p P a fuel G LP). assert (Z := term_nonneg alpha (P a) (Q a)).
  assert (P0 := law_nonneg p P a LP). assert (Q0 := law_nonneg p' Q a LQ).
  set (k := loss_factor alpha * exp (- ((alpha - 1) * epsilon)) * term alpha (P a) (Q a)) in *.
  assert (K0 : 0 <= k).
  { apply Rmult_le_pos; auto. apply Rmult_le_pos; auto. apply Rlt_le, exp_pos. }
  apply Rle_trans with (w a * P a); [apply Rmult_le_compat_l; lra|].
  apply Rle_trans with (w a * (exp epsilon * Q a + k)); [apply Rmult_le_compat_l; lra|]. nra.
- assert (L : forall (f g : A -> R) (x y : R) (m : list A), lsum (fun a => x * f a + y * g a) m = x * lsum f m + y * lsum g m).
  { intros f g x y m. induction m as [|a m IH]; cbn [lsum]; [ring|]. rewrite IH. ring. }
  rewrite (L (fun a => w a * Q a) (fun a => term alpha (P a) (Q a))). apply Rplus_le_compat.
  + apply Rmult_le_compat_l; [lra|]. now apply (law_sums_below p' Q w v' l).
  + replace (exp ((alpha - 1) * (alpha * rho - epsilon)))
      with (exp (- ((alpha - 1) * epsilon)) * exp ((alpha - 1) * (alpha * rho))) by (rewrite <- exp_plus; f_equal; ring).
    rewrite <- Rmult_assoc. apply Rmult_le_compat_l; [|now apply B]. apply Rmult_le_pos; auto. apply Rlt_le, exp_pos.
Qed.
End Laws.

(** * One step, and then others that may depend on its result *)
Definition then_cons {A} (p : nat -> program A) (f : A -> nat -> program (list A)) : nat -> program (list A) :=
  then_ p (fun a => then_ (f a) (fun r _ => Return (a :: r))).

Lemma grows_cons A (p : nat -> program A) f : grows p -> (forall a, grows (f a)) -> grows (then_cons p f).
Proof. intros P F. apply grows_then; auto. intros a. apply grows_then; auto using grows_return. Qed.

Section Composition.
Context {A : Type} (same : forall a b : A, {a = b} + {a <> b}).
Notation same_list := (list_eq_dec same).

Lemma one_is_cons a r x s : passes (one_is same_list (a :: r)) (x :: s) = passes (one_is same a) x * passes (one_is same_list r) s.
Proof.
unfold passes, one_is. destruct (same_list (a :: r) (x :: s)) as [[= -> ->]|N].
- destruct (same x x); [|congruence]. destruct (same_list s s); [ring|congruence].
- destruct (same a x) as [->|]; [|ring]. destruct (same_list r s) as [->|]; [congruence|ring].
Qed.

Definition cons_law (P : A -> R) (F : A -> list A -> R) (l : list A) : R := match l with [] => 0 | a :: r => P a * F a r end.

Lemma law_cons (p : nat -> program A) f P F :
  law same p P -> (forall a, law same_list (f a) (F a)) -> law same_list (then_cons p f) (cons_law P F).
Proof.
intros L M [|a r]; cbn [cons_law]; unfold tends, then_cons, then_.
- apply tends_ext with (fun _ => 0); [|apply tends_const]. intros n. rewrite weigh_bind.
  rewrite <- (weigh_zero _ (p n)). apply weigh_ext. intros x. rewrite weigh_bind. rewrite <- (weigh_zero _ (f x n)).
  apply weigh_ext. intros s. cbn [weigh]. unfold passes, one_is. destruct (same_list [] (x :: s)); [discriminate|reflexivity].
- apply tends_ext with (fun n => weigh (p n) (passes (one_is same a)) * weigh (f a n) (passes (one_is same_list r))).
  + intros n. rewrite weigh_bind, Rmult_comm, <- weigh_scal. apply weigh_ext. intros x. rewrite weigh_bind. cbn [weigh].
    transitivity (weigh (f x n) (fun s => passes (one_is same a) x * passes (one_is same_list r) s));
      [|apply weigh_ext; intros; symmetry; apply one_is_cons].
    rewrite weigh_scal. assert (Z : passes (one_is same a) x = if same a x then 1 else 0)
      by (unfold passes, one_is; now destruct (same a x)).
    rewrite Z. destruct (same a x) as [->|]; ring.
  + apply (CV_mult (fun n => weigh (p n) _) (fun n => weigh (f a n) _)); [apply L|apply M].
Qed.

Lemma lsum_list_prod (h : A * list A -> R) l l' :
  lsum h (list_prod l l') = lsum (fun a => lsum (fun r => h (a, r)) l') l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [list_prod lsum]. now rewrite lsum_app, lsum_map, IH. Qed.

Lemma zcdp_laws_ext B rho (P Q P' Q' : B -> R) :
  (forall b, P b = P' b) -> (forall b, Q b = Q' b) -> zcdp_laws rho P Q -> zcdp_laws rho P' Q'.
Proof.
intros E E' [S H]. split; [intros b; rewrite <- E, <- E'; apply S|]. intros alpha A1 l N.
rewrite (lsum_ext _ _ (fun b => term alpha (P b) (Q b))) by (intros; now rewrite E, E'). now apply H.
Qed.

Lemma zcdp_laws_cons rho1 rho2 (P P' : A -> R) (F F' : A -> list A -> R) :
  (forall a, 0 <= P a) -> (forall a r, 0 <= F a r) -> zcdp_laws rho1 P P' -> (forall a, zcdp_laws rho2 (F a) (F' a))
  -> zcdp_laws (rho1 + rho2) (cons_law P F) (cons_law P' F').
Proof.
intros P0 F0 [S1 B1] C2. split.
- intros [|a r]; cbn [cons_law]; [lra|]. intros H. destruct (C2 a) as [S2 _].
  destruct (P0 a) as [Pa|Pa]; [|rewrite <- Pa in H; lra]. destruct (F0 a r) as [Fr|Fr]; [|rewrite <- Fr in H; lra].
  apply Rmult_lt_0_compat; auto.
- intros alpha H l N.
  set (heads := nodup same (flat_map (fun x => match x with [] => [] | a :: _ => [a] end) l)).
  set (tails := nodup same_list (flat_map (fun x => match x with [] => [] | _ :: r => [r] end) l)).
  apply Rle_trans with (lsum (fun x => term alpha (cons_law P F x) (cons_law P' F' x))
    ([] :: map (fun x => fst x :: snd x) (list_prod heads tails))).
  { apply lsum_incl; auto using term_nonneg. intros [|a r] I; [now left|]. right. apply in_map_iff. exists (a, r).
    split; [reflexivity|]. apply in_prod; apply nodup_In, in_flat_map; exists (a :: r); split; auto; now left. }
  cbn [lsum cons_law]. unfold term at 1. destruct (Rle_dec 0 0); [|lra]. rewrite Rplus_0_l, lsum_map, lsum_list_prod.
  cbn [fst snd cons_law].
  apply Rle_trans with (lsum (fun a => exp ((alpha - 1) * (alpha * rho2)) * term alpha (P a) (P' a)) heads).
  + apply lsum_le. intros a _. destruct (C2 a) as [S2 B2].
    rewrite (lsum_ext _ _ (fun r => term alpha (P a) (P' a) * term alpha (F a r) (F' a r)))
      by (intros; apply term_product; auto).
    rewrite lsum_scal, Rmult_comm. apply Rmult_le_compat_r; [apply term_nonneg|]. apply B2; auto. apply NoDup_nodup.
  + rewrite lsum_scal. replace (exp ((alpha - 1) * (alpha * (rho1 + rho2))))
      with (exp ((alpha - 1) * (alpha * rho2)) * exp ((alpha - 1) * (alpha * rho1))) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply B1; auto. apply NoDup_nodup.
Qed.

Theorem zcdp_cons rho1 rho2 (p p' : nat -> program A) f f' :
  grows p -> grows p' -> (forall a, grows (f a)) -> (forall a, grows (f' a))
  -> zcdp_close same rho1 p p' -> (forall a, zcdp_close same_list rho2 (f a) (f' a))
  -> zcdp_close same_list (rho1 + rho2) (then_cons p f) (then_cons p' f').
Proof.
intros Gp Gp' Gf Gf' C1 C2 K K' LK LK'.
destruct (law_exists same p Gp) as [P LP]. destruct (law_exists same p' Gp') as [P' LP'].
assert (LF : exists F, forall a, law same_list (f a) (F a)).
{ exists (fun a => fun r => proj1_sig (value _ (f a) _ (Gf a) (one_is_weight same_list r))). intros a r.
  exact (proj2_sig (value _ (f a) _ (Gf a) (one_is_weight same_list r))). }
assert (LF' : exists F, forall a, law same_list (f' a) (F a)).
{ exists (fun a => fun r => proj1_sig (value _ (f' a) _ (Gf' a) (one_is_weight same_list r))). intros a r.
  exact (proj2_sig (value _ (f' a) _ (Gf' a) (one_is_weight same_list r))). }
destruct LF as [F LF]. destruct LF' as [F' LF'].
assert (E := law_unique same_list _ _ _ LK (law_cons p f P F LP LF)).
assert (E' := law_unique same_list _ _ _ LK' (law_cons p' f' P' F' LP' LF')).
apply (zcdp_laws_ext _ _ (cons_law P F) (cons_law P' F')); auto.
apply zcdp_laws_cons; auto.
- intros; now apply (law_nonneg same p).
- intros a r; now apply (law_nonneg same_list (f a)).
- intros a. exact (C2 a (F a) (F' a) (LF a) (LF' a)).
Qed.
End Composition.

(** * The ledger of rhos *)
Section Ledger.
Variables (Data Answer : Type) (same : forall a b : Answer, {a = b} + {a <> b}) (related : Data -> Data -> Prop).

Definition keeps_its_rho (m : mechanism Data Answer) :=
  (forall d, grows (answers _ _ m d))
  /\ forall d d', related d d' -> zcdp_close same (Q2R (costs _ _ m)) (answers _ _ m d) (answers _ _ m d').

(** The analyst sees all answers and chooses the next mechanism and its rho, or stops. *)
Variable analyst : list Answer -> option (mechanism Data Answer).
Hypothesis promises : forall history m, analyst history = Some m -> keeps_its_rho m.

(** All answers from here on. *)
Fixpoint rho_session (rounds : nat) (left : Q) (history : list Answer) (d : Data) : nat -> program (list Answer) :=
  match rounds with
  | O => fun _ => Return []
  | S rounds =>
      match analyst history with
      | None => fun _ => Return []
      | Some m =>
          if Qle_bool (costs _ _ m) left then
            then_cons (answers _ _ m d) (fun a => rho_session rounds (left - costs _ _ m) (history ++ [a]) d)
          else fun _ => Return []
      end
  end.

Lemma grows_rho_session rounds left history d : grows (rho_session rounds left history d).
Proof.
revert left history. induction rounds as [|rounds IH]; intros left history; cbn [rho_session]; [apply grows_return|].
destruct (analyst history) as [m|] eqn:E; [|apply grows_return]. destruct (Qle_bool _ _); [|apply grows_return].
apply grows_cons; auto. apply (promises history m E).
Qed.

Theorem the_ledger_keeps_its_rho rounds budget history d d' :
  (0 <= budget)%Q -> related d d'
  -> zcdp_close (list_eq_dec same) (Q2R budget) (rho_session rounds budget history d) (rho_session rounds budget history d').
Proof.
intros B R. revert budget history B. induction rounds as [|rounds IH]; intros left history B; cbn [rho_session].
all: assert (L0 : 0 <= Q2R left) by (rewrite <- RMicromega.Q2R_0; now apply Qle_Rle).
all: assert (Stop : zcdp_close (list_eq_dec same) (Q2R left) (fun _ => Return []) (fun _ => Return []))
  by (apply (zcdp_more _ 0); [exact L0|apply zcdp_refl, grows_return]).
{ exact Stop. }
destruct (analyst history) as [m|] eqn:E; [|exact Stop]. destruct (Qle_bool (costs _ _ m) left) eqn:C; [|exact Stop].
apply Qle_bool_iff in C. destruct (promises history m E) as [G K].
replace (Q2R left) with (Q2R (costs _ _ m) + Q2R (left - costs _ _ m)) by (rewrite Q2R_minus; ring).
apply zcdp_cons; auto using grows_rho_session. intros a. apply IH. apply Qle_minus_iff in C. exact C.
Qed.
End Ledger.
