(** Where probabilities of two programs have ratios within a range, from x to x exp(eta), they are eta^2/8-zCDP (Cesar and
    Rogers 2021). So epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4), which a ledger of rhos counts
    with.

    Page: docs/theorems/quantiles.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Psatz Bool.
From Soundsum Require Import Relations Conditions Claims Programs Samplers Coins Laplace Private Composition Theta Shares Released
  Renyi Releases.
Import ListNotations.
Open Scope R_scope.

(** * Two points *)
Section TwoPoints.
Variables w eta low : R.
Hypothesis w_range : 0 <= w <= 1.
Hypothesis low_pos : 0 < low.
Hypothesis mean_one : (1 - w) * low + w * (low * exp eta) = 1.

Definition tilted (a : R) : R := 1 - w + w * exp (a * eta).
Definition part_above (a : R) : R := w * exp (a * eta) / tilted a.

Lemma tilted_pos a : 0 < tilted a.
Proof.
unfold tilted. assert (E := exp_pos (a * eta)). destruct (Req_dec w 0) as [->|N]; [lra|].
assert (0 < w * exp (a * eta)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

Lemma exp_slope a : derivable_pt_lim (fun a => exp (a * eta)) a (eta * exp (a * eta)).
Proof.
rewrite Rmult_comm. apply (derivable_pt_lim_comp (fun a => a * eta) exp).
- replace eta with (1 * eta + a * 0) at 1 by ring.
  apply (derivable_pt_lim_mult id (fct_cte eta)); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
- apply derivable_pt_lim_exp.
Qed.

Lemma tilted_slope a : derivable_pt_lim tilted a (w * (eta * exp (a * eta))).
Proof.
unfold tilted. replace (w * (eta * exp (a * eta))) with (0 + w * (eta * exp (a * eta))) by ring.
apply (derivable_pt_lim_plus (fct_cte (1 - w)) (fun a => w * exp (a * eta))); [apply derivable_pt_lim_const|].
apply (derivable_pt_lim_scal (fun a => exp (a * eta))). apply exp_slope.
Qed.

(** The cumulants' function, less the parabola that bounds it. *)
Definition gap (a : R) : R := a * ln low + ln (tilted a) - a * (a - 1) * eta ^ 2 / 8.
Definition gap' (a : R) : R := ln low + eta * part_above a - (2 * a - 1) * eta ^ 2 / 8.
Definition gap'' (a : R) : R := eta ^ 2 * (part_above a * (1 - part_above a)) - eta ^ 2 / 4.

Lemma square_slope a : derivable_pt_lim (fun a => a * (a - 1) * eta ^ 2 / 8) a ((2 * a - 1) * eta ^ 2 / 8).
Proof.
apply derivable_pt_lim_ext with (f := (fun a => eta ^ 2 / 8 * (a * (a - 1)))); [intros; field|].
replace ((2 * a - 1) * eta ^ 2 / 8) with (eta ^ 2 / 8 * (1 * (a - 1) + a * (1 - 0))) by field.
apply (derivable_pt_lim_scal (fun a => a * (a - 1))).
apply (derivable_pt_lim_mult id (fun a => a - 1)); [apply derivable_pt_lim_id|].
apply (derivable_pt_lim_minus id (fct_cte 1)); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
Qed.

Lemma gap_slope a : derivable_pt_lim gap a (gap' a).
Proof.
unfold gap, gap'. apply (derivable_pt_lim_minus (fun a => a * ln low + ln (tilted a))); [|apply square_slope].
apply (derivable_pt_lim_plus (fun a => a * ln low) (fun a => ln (tilted a))).
- replace (ln low) with (1 * ln low + a * 0) at 1 by ring.
  apply (derivable_pt_lim_mult id (fct_cte (ln low))); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
- unfold part_above. replace (eta * (w * exp (a * eta) / tilted a)) with (/ tilted a * (w * (eta * exp (a * eta))))
    by (field; generalize (tilted_pos a); lra).
  apply (derivable_pt_lim_comp tilted ln); [apply tilted_slope|]. apply derivable_pt_lim_ln, tilted_pos.
Qed.

Lemma gap'_slope a : derivable_pt_lim gap' a (gap'' a).
Proof.
unfold gap', gap''. assert (T := tilted_pos a).
replace (eta ^ 2 * (part_above a * (1 - part_above a)) - eta ^ 2 / 4)
  with (0 + eta * (eta * (part_above a * (1 - part_above a))) - eta ^ 2 / 8 * (2 * 1 + a * 0 - 0)) by field.
apply derivable_pt_lim_ext with (f := (fun a => ln low + eta * part_above a - eta ^ 2 / 8 * (2 * a - 1))); [intros; field|].
apply (derivable_pt_lim_minus (fun a => ln low + eta * part_above a)).
- apply (derivable_pt_lim_plus (fct_cte (ln low))); [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_scal part_above). unfold part_above at 1.
  replace (eta * (part_above a * (1 - part_above a)))
    with ((w * (eta * exp (a * eta)) * tilted a - w * (eta * exp (a * eta)) * (w * exp (a * eta))) / Rsqr (tilted a))
    by (unfold part_above, Rsqr; field; lra).
  apply (derivable_pt_lim_div (fun a => w * exp (a * eta)) tilted); [|apply tilted_slope|lra].
  apply (derivable_pt_lim_scal (fun a => exp (a * eta))). apply exp_slope.
- apply (derivable_pt_lim_scal (fun a => 2 * a - 1)).
  replace (2 * 1 + a * 0 - 0) with (2 * 1 - 0) by ring.
  apply (derivable_pt_lim_minus (fun a => 2 * a) (fct_cte 1)); [|apply derivable_pt_lim_const].
  apply (derivable_pt_lim_scal id). apply derivable_pt_lim_id.
Qed.

Lemma gap''_neg a : gap'' a <= 0.
Proof.
unfold gap''. assert (0 <= eta ^ 2) by apply pow2_ge_0. assert (0 <= (part_above a - / 2) ^ 2) by apply pow2_ge_0. nra.
Qed.

Lemma gap_at_0 : gap 0 = 0.
Proof. unfold gap, tilted. rewrite !Rmult_0_l, exp_0. replace (1 - w + w * 1) with 1 by ring. rewrite ln_1. field. Qed.

Lemma gap_at_1 : gap 1 = 0.
Proof.
unfold gap. rewrite Rmult_1_l. rewrite <- ln_mult by auto using tilted_pos.
replace (low * tilted 1) with ((1 - w) * low + w * (low * exp eta)) by (unfold tilted; rewrite Rmult_1_l; ring).
rewrite mean_one, ln_1. field.
Qed.

Lemma gap_beyond a : 1 < a -> gap a <= 0.
Proof.
intros A. destruct (MVT_cor2 gap gap' 0 1 ltac:(lra) ltac:(intros; apply gap_slope)) as (c & C & I).
rewrite gap_at_0, gap_at_1 in C. assert (C0 : gap' c = 0) by lra.
destruct (MVT_cor2 gap gap' 1 a A ltac:(intros; apply gap_slope)) as (b & B & J).
destruct (MVT_cor2 gap' gap'' c b ltac:(lra) ltac:(intros; apply gap'_slope)) as (d & D & K).
assert (N := gap''_neg d). rewrite gap_at_1 in B. assert (gap' b <= 0) by nra. nra.
Qed.

Theorem two_points a :
  1 < a -> (1 - w) * Rpower low a + w * Rpower (low * exp eta) a <= exp ((a - 1) * (a * (eta ^ 2 / 8))).
Proof.
intros A. assert (G := gap_beyond a A). assert (T := tilted_pos a). unfold gap in G.
assert (E : (1 - w) * Rpower low a + w * Rpower (low * exp eta) a = exp (a * ln low + ln (tilted a))).
{ unfold Rpower. rewrite ln_mult, ln_exp, Rmult_plus_distr_l, !exp_plus, exp_ln by auto using exp_pos.
  unfold tilted. ring. }
rewrite E. apply exp_le. lra.
Qed.
End TwoPoints.

(** * Powers between two points lie below the line through them *)
Lemma power_below_chord a x low high w :
  1 < a -> 0 < low -> 0 < high -> 0 <= w <= 1 -> x = (1 - w) * low + w * high
  -> Rpower x a <= (1 - w) * Rpower low a + w * Rpower high a.
Proof.
intros A L H W E. assert (X : 0 < x).
{ rewrite E. destruct (Req_dec w 0) as [->|N]; [lra|]. assert (0 < w * high) by (apply Rmult_lt_0_compat; lra). nra. }
assert (B : forall y, 0 < y -> Rpower x a * (1 + a * (y / x - 1)) <= Rpower y a).
{ intros y Y. assert (R := bernoulli_real a (y / x) A ltac:(now apply Rdiv_lt_0_compat)).
  replace (Rpower y a) with (Rpower x a * Rpower (y / x) a).
  - apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact R].
  - rewrite Rpower_mult_distr by (auto; now apply Rdiv_lt_0_compat). f_equal. field. lra. }
assert (B1 := B low L). assert (B2 := B high H).
apply Rle_trans with ((1 - w) * (Rpower x a * (1 + a * (low / x - 1))) + w * (Rpower x a * (1 + a * (high / x - 1)))).
- right. replace ((1 - w) * (Rpower x a * (1 + a * (low / x - 1))) + w * (Rpower x a * (1 + a * (high / x - 1))))
    with (Rpower x a * (1 + a * (((1 - w) * low + w * high) / x - 1))) by (field; lra).
  rewrite <- E. replace (x / x) with 1 by (field; lra). ring.
- apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

(** * Programs that end *)
Definition ends {A} (p : nat -> program A) := tends p (fun _ => 1) 1.

Lemma ends_return A (a : A) : ends (fun _ => Return a).
Proof. exact (tends_const 1). Qed.

Lemma ends_then A B (p : nat -> program A) (f : A -> nat -> program B) :
  grows p -> (forall a, grows (f a)) -> ends p -> (forall a, ends (f a)) -> ends (then_ p f).
Proof.
intros G F E E'. assert (W : unit_weight (fun _ : B => 1)) by (intros b; lra).
destruct (value B (then_ p f) _ (grows_then _ _ p f G F) W) as [v T]. assert (V := value_range _ _ _ _ W T).
cut (v = 1); [intros O; rewrite O in T; exact T|]. apply Rle_antisym; [lra|].
apply (limits_le (fun n => weigh (p n) (fun _ => 1)) (fun _ => v)); auto using tends_const. intros n.
apply (limits_le (fun k => weigh (p n) (fun a => weigh (f a (k + n)%nat) (fun _ => 1))) (fun _ => v)); auto using tends_const.
- intros k. apply Rle_trans with (weigh (then_ p f (k + n)) (fun _ => 1)).
  + unfold then_. rewrite weigh_bind. apply extended_weigh; [|apply G; lia]. intros a. apply weigh_nonneg. intros; lra.
  + apply (below_value B (then_ p f)); auto. now apply grows_then.
- apply weigh_tends. intros a. apply (tends_later (fun fuel => weigh (f a fuel) (fun _ => 1))). apply E'.
Qed.

Section Ranges.
Context {A : Type} (same : forall a b : A, {a = b} + {a <> b}).

Lemma nearly_all p P e :
  grows p -> law same p P -> ends p -> e < 1 -> exists l, NoDup l /\ e < lsum P l.
Proof.
intros G L E H. destruct (E (1 - e) ltac:(lra)) as [N K]. specialize (K N (le_n N)). unfold R_dist in K.
apply Rabs_def2 in K. destruct (weigh_by_results same (p N)) as (l & D & R). exists l. split; auto. rewrite (R (fun _ => 1)) in K.
apply Rlt_le_trans with (lsum (fun a => 1 * weigh (p N) (passes (one_is same a))) l); [lra|]. apply lsum_le. intros a _.
rewrite Rmult_1_l. now apply below_its_law.
Qed.

(** Ratios of probabilities between x and x exp(eta). *)
Definition in_range (low eta : R) (P Q : A -> R) := forall a, low * Q a <= P a <= low * exp eta * Q a.

Lemma one_is_within p p' P Q low eta :
  grows p -> grows p' -> law same p P -> law same p' Q -> ends p -> ends p' -> 0 < low -> in_range low eta P Q
  -> low <= 1 <= low * exp eta.
Proof.
intros G G' L L' E E' W R. assert (X := exp_pos eta). split.
- destruct (Rle_or_lt low 1) as [|F]; auto. destruct (nearly_all p' Q (/ low) G' L' E') as (l & N & S).
  { rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
  assert (B := law_sum same p P l G L N). assert (low * lsum Q l <= lsum P l).
  { rewrite <- lsum_scal. apply lsum_le. intros; apply R. }
  apply Rmult_lt_compat_l with (r := low) in S; auto. rewrite Rinv_r in S; lra.
- destruct (Rle_or_lt 1 (low * exp eta)) as [|F]; auto. destruct (nearly_all p P (low * exp eta) G L E F) as (l & N & S).
  assert (B := law_sum same p' Q l G' L' N). assert (lsum P l <= low * exp eta * lsum Q l).
  { rewrite <- lsum_scal. apply lsum_le. intros; apply R. }
  assert (0 < low * exp eta) by now apply Rmult_lt_0_compat. nra.
Qed.

Lemma term_in_range low eta alpha w P Q :
  1 < alpha -> 0 < low -> 0 <= eta -> 0 <= Q -> low * Q <= P <= low * exp eta * Q
  -> (1 - w) * low + w * (low * exp eta) = 1 -> 0 < exp eta - 1
  -> term alpha P Q <= Rpower low alpha * Q + (Rpower (low * exp eta) alpha - Rpower low alpha) * ((P - low * Q) / (low * (exp eta - 1))).
Proof.
intros H L E Q0 R M X. set (high := low * exp eta) in *. assert (Eta := exp_pos eta).
assert (Hp : 0 < high) by now apply Rmult_lt_0_compat.
assert (D : 0 < low * (exp eta - 1)) by now apply Rmult_lt_0_compat.
destruct Q0 as [Q0|<-].
2:{ assert (P = 0) as -> by lra. unfold term. destruct (Rle_dec 0 0); [|lra]. right. rewrite !Rmult_0_r. unfold Rminus. rewrite Ropp_0, Rplus_0_r. unfold Rdiv. rewrite Rmult_0_l, Rmult_0_r. ring. }
assert (LQ : 0 < low * Q) by now apply Rmult_lt_0_compat. assert (P0 : 0 < P) by lra.
unfold term. destruct (Rle_dec P 0); [lra|]. set (v := (P / Q - low) / (low * (exp eta - 1))).
assert (V : P / Q = (1 - v) * low + v * high) by (unfold v, high; field; lra).
assert (Vr : 0 <= v <= 1).
{ assert (low <= P / Q <= high).
  { split; apply Rmult_le_reg_r with Q; auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra; lra. }
  unfold v. split.
  - apply Rmult_le_pos; [lra|now apply Rlt_le, Rinv_0_lt_compat].
  - apply Rmult_le_reg_r with (low * (exp eta - 1)); auto. unfold Rdiv. rewrite (Rmult_assoc (_ - _)), Rinv_l by lra.
    unfold high in *. lra. }
assert (C := power_below_chord alpha (P / Q) low high v H L Hp Vr V).
assert (T : Rpower P alpha * Rpower Q (1 - alpha) = Q * Rpower (P / Q) alpha).
{ unfold Rpower, Rdiv. assert (0 < / Q) by now apply Rinv_0_lt_compat. rewrite ln_mult, ln_Rinv by auto.
  rewrite <- (exp_ln Q Q0) at 2. rewrite <- !exp_plus. f_equal. ring. }
rewrite T. apply Rmult_le_compat_l with (r := Q) in C; [|lra]. apply Rle_trans with (1 := C). right. unfold v. field. lra.
Qed.

Theorem range_is_zcdp p p' low eta :
  grows p -> grows p' -> ends p -> ends p' -> 0 < low -> 0 <= eta
  -> (forall P Q, law same p P -> law same p' Q -> in_range low eta P Q)
  -> zcdp_close same (eta ^ 2 / 8) p p'.
Proof.
intros G G' E E' L H R P Q LP LQ. specialize (R P Q LP LQ).
destruct (one_is_within p p' P Q low eta G G' LP LQ E E' L R) as [O1 O2].
assert (Q0 : forall a, 0 <= Q a) by (intros; now apply (law_nonneg same p')).
split.
- intros a Pa. destruct (Q0 a) as [|F]; auto. generalize (R a). rewrite <- F. lra.
- intros alpha Al l N. destruct H as [H|<-].
  2:{ rewrite exp_0, Rmult_1_r in O2. assert (low = 1) as -> by lra.
      rewrite (lsum_ext _ _ P).
      - apply Rle_trans with 1; [now apply (law_sum same p)|]. rewrite <- exp_0. apply exp_le. lra.
      - intros a _. generalize (R a). rewrite exp_0. intros Ra. assert (P a = Q a) as -> by lra. now apply term_same. }
  assert (X : 0 < exp eta - 1) by (generalize (exp_ineq1 eta ltac:(lra)); lra).
  set (high := low * exp eta) in *. assert (D : 0 < low * (exp eta - 1)) by now apply Rmult_lt_0_compat.
  set (w := (1 - low) / (low * (exp eta - 1))).
  assert (W : (1 - w) * low + w * high = 1) by (unfold w, high; field; lra).
  assert (Wr : 0 <= w <= 1).
  { unfold w. split.
    - apply Rmult_le_pos; [lra|now apply Rlt_le, Rinv_0_lt_compat].
    - apply Rmult_le_reg_r with (low * (exp eta - 1)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      unfold high in *. lra. }
  assert (Two := two_points w eta low Wr L W alpha Al). fold high in Two.
  set (lo := Rpower low alpha) in *. set (hi := Rpower high alpha) in *.
  assert (Lo : lo <= hi) by (apply Rle_Rpower_l; [lra|]; split; auto; unfold high; nra).
  (* of more and more results *)
  set (k := (hi - lo) / (low * (exp eta - 1))). assert (K : 0 <= k).
  { apply Rmult_le_pos; [lra|now apply Rlt_le, Rinv_0_lt_compat]. }
  assert (Sum : forall m, NoDup m -> lsum (fun a => term alpha (P a) (Q a)) m <= (lo - k * low) * lsum Q m + k * lsum P m).
  { intros m _. rewrite <- !lsum_scal. induction m as [|a m IH]; cbn [lsum]; [lra|].
    generalize (term_in_range low eta alpha w (P a) (Q a) Al L (Rlt_le _ _ H) (Q0 a) (R a) W X). fold high lo hi.
    replace (lo * Q a + (hi - lo) * ((P a - low * Q a) / (low * (exp eta - 1)))) with ((lo - k * low) * Q a + k * P a)
      by (unfold k; field; lra).
    lra. }
  assert (All : (lo - k * low) + k = (1 - w) * lo + w * hi) by (unfold k, w; field; lra).
  apply Rle_trans with (2 := Two). rewrite <- All.
  destruct (Rle_or_lt 0 (lo - k * low)) as [B|B].
  + apply Rle_trans with (1 := Sum l N). apply Rplus_le_compat.
    * rewrite <- Rmult_1_r. apply Rmult_le_compat_l; auto. now apply (law_sum same p').
    * rewrite <- (Rmult_1_r k) at 2. apply Rmult_le_compat_l; auto. now apply (law_sum same p).
  + apply Rnot_lt_le. intros F. set (x := lsum (fun a => term alpha (P a) (Q a)) l) in *.
    set (e := (x - (lo - k * low + k)) / - (lo - k * low)).
    assert (e0 : 0 < e) by (apply Rdiv_lt_0_compat; lra).
    destruct (nearly_all p' Q (1 - e) G' LQ E' ltac:(lra)) as (m & M & Near).
    set (both := nodup same (l ++ m)). assert (Nb : NoDup both) by apply NoDup_nodup.
    assert (x <= lsum (fun a => term alpha (P a) (Q a)) both).
    { apply lsum_incl; auto using term_nonneg. intros a I. apply nodup_In, in_app_iff. now left. }
    assert (lsum Q m <= lsum Q both).
    { apply lsum_incl; auto. intros a I. apply nodup_In, in_app_iff. now right. }
    assert (S := Sum both Nb). assert (lsum P both <= 1) by now apply (law_sum same p).
    assert (k * lsum P both <= k) by (rewrite <- (Rmult_1_r k) at 2; now apply Rmult_le_compat_l).
    assert (Z : (lo - k * low) * lsum Q both < (lo - k * low) * (1 - e)) by (apply Rmult_lt_gt_compat_neg_l; lra).
    replace ((lo - k * low) * (1 - e)) with (lo - k * low + (x - (lo - k * low + k))) in Z by (unfold e; field; lra).
    lra.
Qed.

Lemma close_masses p p' P Q e :
  grows p -> grows p' -> law same p P -> law same p' Q -> close e p p' -> forall a, P a <= exp e * Q a.
Proof. intros G G' L L' C a. apply (C (passes (one_is same a))); auto. apply one_is_weight. Qed.

(** epsilon-DP is epsilon^2/2-zCDP: `Cost.zcdp`. *)
Theorem pure_is_zcdp p p' e :
  grows p -> grows p' -> ends p -> ends p' -> 0 <= e -> close e p p' -> close e p' p -> zcdp_close same (e ^ 2 / 2) p p'.
Proof.
intros G G' E E' H C C'. replace (e ^ 2 / 2) with ((2 * e) ^ 2 / 8) by field.
apply (range_is_zcdp p p' (exp (- e))); auto using exp_pos; [lra|]. intros P Q L L' a.
assert (X := close_masses p p' P Q e G G' L L' C a). assert (Y := close_masses p' p Q P e G' G L' L C' a). split.
- apply Rmult_le_reg_l with (exp e); [apply exp_pos|]. rewrite <- Rmult_assoc, <- exp_plus.
  replace (e + - e) with 0 by ring. rewrite exp_0. lra.
- rewrite <- exp_plus. now replace (- e + 2 * e) with e by ring.
Qed.

(** Masses that are close, one by one, are close for every event. *)
Theorem close_laws p p' P Q e :
  grows p -> grows p' -> law same p P -> law same p' Q -> (forall a, P a <= exp e * Q a) -> close e p p'.
Proof.
intros G G' L L' H w v v' W T T'.
apply (limits_le (fun fuel => weigh (p fuel) w) (fun _ => exp e * v')); auto using tends_const. intros fuel.
destruct (weigh_by_results same (p fuel)) as (l & N & R). rewrite R.
apply Rle_trans with (exp e * lsum (fun a => w a * Q a) l).
- rewrite <- lsum_scal. apply lsum_le. intros a _. assert (B := below_its_law same p P a fuel G L). specialize (H a).
  assert (Wa := W a). apply Rle_trans with (w a * (exp e * Q a)); [|right; ring].
  apply Rmult_le_compat_l; lra.
- apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. now apply (law_sums_below same p' Q w v' l).
Qed.
End Ranges.

(** * Releases with Laplace noise *)
Lemma laplace_ends t s : (0 < t)%Z -> (0 < s)%Z -> ends (fun fuel => laplace fuel t s).
Proof.
intros T S. destruct (bounded_tends t s (fun _ => 1) ltac:(intros; lra)) as [p C].
assert (E : p = 1); [|rewrite E in C; exact C]. apply (UL_sequence _ _ _ (event_tends t s 0 (fun _ => true) p C)).
apply tends_ext with (2 := it_ends t s T S). intros n. unfold share. do 2 f_equal. apply filter_length_ext. intros bytes _.
unfold noisy. destruct (sample t s bytes) as [[z l]|]; reflexivity.
Qed.

Lemma vectors_end n l : match n with GaussianNoise _ => False | _ => drawable n end -> ends (noisy_vector n l).
Proof.
intros D. assert (E : ends (draw n)).
{ destruct n as [|q|q]; cbn [draw]; [apply ends_return|apply laplace_ends; [exact D|reflexivity]|contradiction]. }
induction l as [|a l IH]; [apply ends_return|]. cbn [noisy_vector]. apply ends_then; auto using grows_add_noise.
- intros v. apply grows_then; auto using grows_vector, grows_return.
- apply ends_then; auto using grows_draw, grows_return, ends_return.
- intros v. apply ends_then; auto using grows_vector, grows_return, ends_return.
Qed.

Lemma releases_end epsilon tasks v :
  (0 < epsilon)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> ends (released laplace_for epsilon tasks v).
Proof.
intros E W. unfold released. assert (D : forall n, In n (concat (noises laplace_for epsilon tasks))
  -> match n with GaussianNoise _ => False | _ => drawable n end).
{ intros n H. assert (L := laplace_drawable epsilon tasks n E W H). destruct n; auto.
  rewrite noises_are in H. apply in_map_iff in H as ([m x] & F & _). unfold laplace_for in F.
  destruct (is_moved m); discriminate. }
revert v D. induction (concat (noises laplace_for epsilon tasks)) as [|n ns IH]; intros [|l v] D; try apply ends_return.
cbn [combine noisy_parts]. apply ends_then; auto using grows_vector.
- intros r. apply grows_then; auto using grows_parts, grows_return.
- apply vectors_end, D. now left.
- intros r. apply ends_then; auto using grows_parts, grows_return, ends_return. apply IH. intros m H. apply D. now right.
Qed.

Lemma all_move_back ns v v' : all_move ns v v' -> all_move ns v' v.
Proof.
assert (S : forall l l', L1 l l' = L1 l' l /\ L2 l l' = L2 l' l).
{ induction l as [|a l IH]; intros [|b l']; cbn [L1 L2]; auto. destruct (IH l') as [-> ->]. split; lia. }
revert v v'. induction ns as [|n ns IH]; intros [|l v] [|l' v'] H; cbn [all_move] in *; auto.
destruct H as [(Len & M1 & M2) H]. destruct (S l l') as [S1 S2]. split; [|now apply IH].
unfold moves. rewrite <- S1, <- S2. auto.
Qed.

(** What every default release costs a ledger of rhos: half of epsilon squared. *)
Theorem every_release_is_zcdp X r limit (every : list (asked X)) epsilon d d' :
  (0 < epsilon)%Q -> (forall a, In a every -> is_covered r a) -> neighbours r limit d d'
  -> let sums d := concat (map (fun a => sums_of a d) every) in
     let tasks := map (task_of r) every in
     zcdp_close (list_eq_dec (list_eq_dec Z.eq_dec)) (Q2R epsilon ^ 2 / 2) (released laplace_for epsilon tasks (sums d))
       (released laplace_for epsilon tasks (sums d')).
Proof.
intros E C N. cbv zeta. assert (W := fun t => weights_are_positive X r every t C). assert (M := sums_move X r limit every d d' C N).
apply pure_is_zcdp; auto using grows_released, releases_end, releases_are_close, all_move_back.
rewrite <- RMicromega.Q2R_0. apply Qle_Rle. now apply Qlt_le_weak.
Qed.
