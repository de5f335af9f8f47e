(** The rounded Gaussian, round(a + sigma G) for a standard normal G, as a law on the integers: the share of the area under
    exp(-c (x - a)^2), c = 1 / (2 sigma^2), between z - 1/2 and z + 1/2. It is c (a - b)^2-zCDP between integers a and b, as
    the Gaussian is that it comes from; and so are vectors.

    Page: docs/theorems/gradients.md. *)

From Coq Require Import List ZArith Reals Lra Lia Psatz Bool Arith.
From Soundsum Require Import Programs Coins Laplace Private Composition Theta Zcdp Released Renyi GaussianReleases.
Import ListNotations.
Open Scope R_scope.

(** * Areas *)
Lemma same_slope f g h a b :
  a <= b -> (forall x, a <= x <= b -> derivable_pt_lim f x (h x)) -> (forall x, a <= x <= b -> derivable_pt_lim g x (h x))
  -> f b - f a = g b - g a.
Proof.
intros [L|<-] F G; [|ring].
destruct (MVT_cor2 (fun x => f x - g x) (fun x => h x - h x) a b L) as (x & E & _).
- intros x X. apply (derivable_pt_lim_minus f g); auto.
- replace ((h x - h x) * (b - a)) with 0 in E by ring. lra.
Qed.

Lemma rises f f' a b :
  a <= b -> (forall x, derivable_pt_lim f x (f' x)) -> (forall x, 0 <= f' x) -> f a <= f b.
Proof.
intros [L|<-] F P; [|lra]. destruct (MVT_cor2 f f' a b L) as (x & E & _); [auto|]. generalize (P x). intros. nra.
Qed.

Section Area.
Variable f : R -> R.
Hypothesis continuous : forall x, continuity_pt f x.

Lemma around_0 n : - INR n <= INR n.
Proof. generalize (pos_INR n). lra. Qed.

Definition area_within (n : nat) : R -> R := primitive (around_0 n) (FTC_P1 (around_0 n) (fun x _ => continuous x)).

Lemma area_within_is n x : - INR n <= x <= INR n -> derivable_pt_lim (area_within n) x (f x).
Proof. apply RiemannInt_P28. Qed.

Definition room_for (x : R) : nat := Z.to_nat (up (Rabs x)).

Lemma room_is_enough x : Rabs x <= INR (room_for x).
Proof.
unfold room_for. destruct (archimed (Rabs x)) as [H _]. assert (0 <= Rabs x) by apply Rabs_pos.
assert (0 < up (Rabs x))%Z by (apply lt_IZR; lra). rewrite INR_IZR_INZ, Z2Nat.id by lia. lra.
Qed.

(** From 0 to x, for every x. *)
Definition area (x : R) : R := area_within (room_for x) x - area_within (room_for x) 0.

Lemma area_is_within n x : Rabs x <= INR n -> area x = area_within n x - area_within n 0.
Proof.
intros H. assert (H' := room_is_enough x). unfold area. set (m := room_for x) in *.
assert (D : forall k, Rabs x <= INR k -> forall y, Rmin 0 x <= y <= Rmax 0 x -> derivable_pt_lim (area_within k) y (f y)).
{ intros k K y Y. apply area_within_is. unfold Rmin, Rmax, Rabs in *. destruct (Rle_dec 0 x), (Rcase_abs x); lra. }
destruct (Rle_dec 0 x) as [L|L].
- rewrite Rmin_left, Rmax_right in D by lra. apply (same_slope _ _ f 0 x L); auto.
- rewrite Rmin_right, Rmax_left in D by lra.
  assert (E : area_within m 0 - area_within m x = area_within n 0 - area_within n x) by (apply (same_slope _ _ f x 0); auto; lra).
  lra.
Qed.

Lemma area_is x : derivable_pt_lim area x (f x).
Proof.
set (n := S (room_for x)). assert (B := room_is_enough x).
assert (N : INR n = INR (room_for x) + 1) by apply S_INR.
assert (Bx := Rabs_le_inv _ _ B).
apply (derivable_pt_lim_locally_ext (fun y => area_within n y - area_within n 0) area x (x - 1) (x + 1)); [lra| |].
- intros z Z. symmetry. apply area_is_within. apply Rabs_le. lra.
- replace (f x) with (f x - 0) by ring. apply (derivable_pt_lim_minus (area_within n) (fun _ => area_within n 0)).
  + apply area_within_is. lra.
  + apply derivable_pt_lim_const.
Qed.
End Area.

(** * The Gaussian *)
Section Normal.
Variable c : R.

Definition density (x : R) : R := exp (- (c * x ^ 2)).

Lemma density_slope x : derivable_pt_lim density x (exp (- (c * x ^ 2)) * - (c * (2 * x))).
Proof.
unfold density. apply (derivable_pt_lim_comp (fun x => - (c * x ^ 2)) exp); [|apply derivable_pt_lim_exp].
apply (derivable_pt_lim_opp (fun x => c * x ^ 2)). apply (derivable_pt_lim_scal (fun x => x ^ 2)).
replace (2 * x) with (INR 2 * x ^ Init.Nat.pred 2) by (simpl; ring). apply derivable_pt_lim_pow.
Qed.

Lemma density_continuous x : continuity_pt density x.
Proof. apply derivable_continuous_pt. exists (exp (- (c * x ^ 2)) * - (c * (2 * x))). apply density_slope. Qed.

Definition below : R -> R := area density density_continuous.

Lemma below_slope x : derivable_pt_lim below x (density x).
Proof. apply area_is. Qed.

Lemma density_pos x : 0 < density x.
Proof. apply exp_pos. Qed.

Lemma below_rises x y : x <= y -> below x <= below y.
Proof. intros H. apply (rises below density); auto using below_slope. intros; apply Rlt_le, density_pos. Qed.

Lemma below_rises_strictly x y : x < y -> below x < below y.
Proof.
intros H. destruct (MVT_cor2 below density x y H) as (z & E & _); [auto using below_slope|].
assert (0 < density z * (y - x)) by (apply Rmult_lt_0_compat; [apply density_pos|lra]). lra.
Qed.

Hypothesis c_pos : 0 < c.

Lemma below_is_bounded x y : x <= y -> below y - below x <= PI / sqrt c.
Proof.
intros L. assert (S : 0 < sqrt c) by now apply sqrt_lt_R0. assert (Sq : sqrt c * sqrt c = c) by (apply sqrt_sqrt; lra).
assert (H : forall z, derivable_pt_lim (fun x => atan (sqrt c * x) * / sqrt c - below x) z
  (/ (1 + (sqrt c * z) ^ 2) * (sqrt c * 1) * / sqrt c - density z)).
{ intros z. apply (derivable_pt_lim_minus (fun x => atan (sqrt c * x) * / sqrt c) below); [|apply below_slope].
  replace (/ (1 + (sqrt c * z) ^ 2) * (sqrt c * 1) * / sqrt c)
    with (/ (1 + (sqrt c * z) ^ 2) * (sqrt c * 1) * / sqrt c + atan (sqrt c * z) * 0) by ring.
  apply (derivable_pt_lim_mult (fun x => atan (sqrt c * x)) (fun _ => / sqrt c)); [|apply derivable_pt_lim_const].
  apply (derivable_pt_lim_comp (fun x => sqrt c * x) atan); [|apply derivable_pt_lim_atan].
  apply (derivable_pt_lim_scal (fun x => x)). apply derivable_pt_lim_id. }
assert (M := rises _ _ x y L H). cbv beta in M.
assert (K : forall z, 0 <= / (1 + (sqrt c * z) ^ 2) * (sqrt c * 1) * / sqrt c - density z).
{ intros z. replace (/ (1 + (sqrt c * z) ^ 2) * (sqrt c * 1) * / sqrt c) with (/ (1 + c * z ^ 2)).
  - unfold density. rewrite exp_Ropp. assert (0 <= c * z ^ 2) by (apply Rmult_le_pos; [lra|apply pow2_ge_0]).
    assert (/ exp (c * z ^ 2) <= / (1 + c * z ^ 2)); [|lra]. apply Rinv_le_contravar; [lra|]. apply exp_ineq1_le.
  - replace ((sqrt c * z) ^ 2) with (sqrt c * sqrt c * z ^ 2) by ring. rewrite Sq.
    assert (0 <= c * z ^ 2) by (apply Rmult_le_pos; [lra|apply pow2_ge_0]). field. lra. }
specialize (M K). destruct (atan_bound (sqrt c * x)), (atan_bound (sqrt c * y)).
assert (I : 0 < / sqrt c) by now apply Rinv_0_lt_compat. unfold Rdiv. nra.
Qed.

Definition middle (n : nat) : R := below (INR n) - below (- INR n).

Lemma middle_grows : Un_growing middle.
Proof.
intros n. unfold middle. rewrite S_INR. assert (H := below_rises (INR n) (INR n + 1) ltac:(lra)).
assert (H' := below_rises (- (INR n + 1)) (- INR n) ltac:(lra)). lra.
Qed.

Lemma middle_has_bound : has_ub middle.
Proof.
exists (PI / sqrt c). intros x [n ->]. apply below_is_bounded. generalize (pos_INR n). lra.
Qed.
End Normal.

(** The area under the whole curve: sigma sqrt(2 pi). *)
Definition whole_area (c : R) : R :=
  match Rlt_dec 0 c with
  | left H => proj1_sig (growing_cv (middle c) (middle_grows c) (middle_has_bound c H))
  | right _ => 0
  end.

Definition cell (c a : R) (z : Z) : R := below c (IZR z + / 2 - a) - below c (IZR z - / 2 - a).

(** P(round(a + sigma G) = z) *)
Definition rounded_normal (c : R) (a z : Z) : R := cell c (IZR a) z / whole_area c.

Section Rounded.
Variable c : R.
Hypothesis c_pos : 0 < c.

Lemma whole_area_is : Un_cv (middle c) (whole_area c).
Proof. unfold whole_area. destruct (Rlt_dec 0 c); [apply proj2_sig|contradiction]. Qed.

Lemma area_at_most x y : x <= y -> below c y - below c x <= whole_area c.
Proof.
intros L. set (n := max (room_for x) (room_for y)).
assert (X := Rabs_le_inv _ _ (room_is_enough x)). assert (Y := Rabs_le_inv _ _ (room_is_enough y)).
assert (Nx : INR (room_for x) <= INR n) by (apply le_INR; lia). assert (Ny : INR (room_for y) <= INR n) by (apply le_INR; lia).
apply Rle_trans with (middle c n).
- unfold middle. assert (H := below_rises c y (INR n) ltac:(lra)). assert (H' := below_rises c (- INR n) x ltac:(lra)). lra.
- apply (growing_ineq (middle c)); [apply middle_grows|apply whole_area_is].
Qed.

Lemma cell_pos a z : 0 < cell c a z.
Proof. unfold cell. assert (H := below_rises_strictly c (IZR z - / 2 - a) (IZR z + / 2 - a) ltac:(lra)). lra. Qed.

Lemma whole_area_pos : 0 < whole_area c.
Proof.
apply Rlt_le_trans with (cell c 0 0); [apply cell_pos|]. apply area_at_most. lra.
Qed.

Lemma rounded_normal_pos a z : 0 < rounded_normal c a z.
Proof. apply Rdiv_lt_0_compat; [apply cell_pos|apply whole_area_pos]. Qed.

Lemma window_of_cells a M :
  window M (cell c a) = below c (INR M + / 2 - a) - below c (- INR M - / 2 - a).
Proof.
induction M as [|M IH].
- unfold window, cell. cbn [Nat.mul total]. change (Z.of_nat 0 - Z.of_nat 0)%Z with 0%Z. simpl (INR 0).
  rewrite Ropp_0. apply Rplus_0_l.
- rewrite Gaussian.window_S, IH. unfold cell. rewrite opp_IZR, <- INR_IZR_INZ, S_INR.
  replace (INR M + 1 - / 2 - a) with (INR M + / 2 - a) by lra.
  replace (- (INR M + 1) + / 2 - a) with (- INR M - / 2 - a) by lra. ring.
Qed.

Lemma cells_are_few a l : NoDup l -> lsum (cell c a) l <= whole_area c.
Proof.
intros N. destruct (in_interval l) as [M I]. apply Rle_trans with (lsum (cell c a) (interval M)).
- apply lsum_incl; auto. intros; apply Rlt_le, cell_pos.
- rewrite lsum_interval, window_of_cells. apply area_at_most. generalize (pos_INR M). lra.
Qed.

(** The masses add up to 1. *)
Theorem rounded_normal_adds_up a : Un_cv (fun M => window M (rounded_normal c a)) 1.
Proof.
assert (W := whole_area_pos). apply tends_ext with (fun M => / whole_area c * window M (cell c (IZR a))).
{ intros M. rewrite <- window_scal. apply window_ext. intros z. unfold rounded_normal, Rdiv. ring. }
replace 1 with (/ whole_area c * whole_area c) by (field; lra). apply tends_scal.
set (k := Z.abs_nat a). assert (K : - INR k <= IZR a <= INR k).
{ unfold k. rewrite INR_IZR_INZ, Zabs2Nat.id_abs, <- opp_IZR. split; apply IZR_le; lia. }
apply tends_from with k. intros e E. destruct (whole_area_is e E) as [n H]. exists n. intros m Hm. specialize (H m Hm).
rewrite window_of_cells. assert (U := area_at_most (- INR (m + k) - / 2 - IZR a) (INR (m + k) + / 2 - IZR a)).
rewrite plus_INR in *. assert (Pm := pos_INR m). assert (Pk := pos_INR k). specialize (U ltac:(lra)).
assert (D : middle c m <= below c (INR m + INR k + / 2 - IZR a) - below c (- (INR m + INR k) - / 2 - IZR a)).
{ unfold middle. assert (A := below_rises c (INR m) (INR m + INR k + / 2 - IZR a) ltac:(lra)).
  assert (B := below_rises c (- (INR m + INR k) - / 2 - IZR a) (- INR m) ltac:(lra)). lra. }
unfold R_dist in *. apply Rabs_def2 in H. apply Rabs_def1; lra.
Qed.

(** Rounding after adding an integer is adding after rounding. *)
Lemma rounded_normal_moves a z : rounded_normal c 0 (z - a) = rounded_normal c a z.
Proof. unfold rounded_normal, cell. rewrite minus_IZR. do 2 f_equal; [f_equal; ring|f_equal; ring]. Qed.

(** One cell: P^alpha Q^(1 - alpha) is at most the area under p^alpha q^(1 - alpha), as tangents are below a power. *)
Lemma one_cell alpha a b z :
  1 < alpha
  -> Rpower (cell c a z) alpha * Rpower (cell c b z) (1 - alpha)
     <= exp ((alpha - 1) * (alpha * (c * (a - b) ^ 2))) * cell c (alpha * a + (1 - alpha) * b) z.
Proof.
intros A. set (P := cell c a z). set (Q := cell c b z). assert (P0 : 0 < P) by apply cell_pos. assert (Q0 : 0 < Q) by apply cell_pos.
set (K := exp _). set (m := alpha * a + (1 - alpha) * b). set (r := P / Q). assert (R0 : 0 < r) by now apply Rdiv_lt_0_compat.
set (u := alpha * Rpower r alpha / r). set (v := (1 - alpha) * Rpower r alpha).
assert (Power : Rpower P alpha * Rpower Q (1 - alpha) = u * P + v * Q).
{ unfold u, v. replace (alpha * Rpower r alpha / r * P + (1 - alpha) * Rpower r alpha * Q) with (Rpower r alpha * Q)
    by (unfold r; field; lra).
  replace (Rpower r alpha * Q) with (Rpower r alpha * exp (ln Q)) by now rewrite exp_ln.
  unfold r, Rpower, Rdiv. rewrite ln_mult, ln_Rinv by auto using Rinv_0_lt_compat. rewrite <- !exp_plus. f_equal. ring. }
rewrite Power. unfold cell in *. fold m.
assert (Moved : forall s x, derivable_pt_lim (fun x => below c (x - s)) x (density c (x - s))).
{ intros s x. replace (density c (x - s)) with (density c (x - s) * (1 - 0)) by ring.
  apply (derivable_pt_lim_comp (fun x => x - s) (below c)); [|apply below_slope].
  apply (derivable_pt_lim_minus (fun x => x) (fun _ => s)); [apply derivable_pt_lim_id|apply derivable_pt_lim_const]. }
assert (H : forall x, derivable_pt_lim (fun x => K * below c (x - m) - (u * below c (x - a) + v * below c (x - b))) x
  (K * density c (x - m) - (u * density c (x - a) + v * density c (x - b)))).
{ intros x. apply (derivable_pt_lim_minus (fun x => K * below c (x - m)) (fun x => u * below c (x - a) + v * below c (x - b))).
  - apply (derivable_pt_lim_scal (fun x => below c (x - m))), Moved.
  - apply (derivable_pt_lim_plus (fun x => u * below c (x - a)) (fun x => v * below c (x - b))).
    + apply (derivable_pt_lim_scal (fun x => below c (x - a))), Moved.
    + apply (derivable_pt_lim_scal (fun x => below c (x - b))), Moved. }
assert (S := rises _ _ (IZR z - / 2) (IZR z + / 2) ltac:(lra) H). cbv beta in S.
enough (N : forall x, 0 <= K * density c (x - m) - (u * density c (x - a) + v * density c (x - b))).
{ specialize (S N). unfold P, Q in *. lra. }
intros x. set (p := density c (x - a)). set (q := density c (x - b)).
assert (p0 : 0 < p) by apply density_pos. assert (q0 : 0 < q) by apply density_pos.
assert (Mix : K * density c (x - m) = Rpower p alpha * Rpower q (1 - alpha)).
{ unfold Rpower, p, q, density, K. rewrite !ln_exp, <- !exp_plus. f_equal. unfold m. ring. }
rewrite Mix. set (t := p / q / r). assert (T : 0 < t) by (repeat apply Rdiv_lt_0_compat; auto).
assert (B := bernoulli_real alpha t A T).
assert (E : Rpower p alpha * Rpower q (1 - alpha) = Rpower r alpha * q * Rpower t alpha).
{ replace (Rpower r alpha * q * Rpower t alpha) with (Rpower r alpha * exp (ln q) * Rpower t alpha) by now rewrite exp_ln.
  unfold t, Rpower, Rdiv. assert (0 < / q) by now apply Rinv_0_lt_compat. assert (0 < / r) by now apply Rinv_0_lt_compat.
  rewrite (ln_mult (p * / q)), (ln_mult p), (ln_Rinv r), (ln_Rinv q) by (auto; now apply Rmult_lt_0_compat).
  rewrite <- !exp_plus. f_equal. ring. }
rewrite E. assert (G : 0 < Rpower r alpha * q) by (apply Rmult_lt_0_compat; auto; apply exp_pos).
apply Rmult_le_compat_l with (r := Rpower r alpha * q) in B; [|lra].
replace (Rpower r alpha * q * (1 + alpha * (t - 1))) with (u * p + v * q) in B by (unfold u, v, t; field; lra). lra.
Qed.

Theorem rounded_normal_is_zcdp a b : zcdp (c * IZR ((a - b) * (a - b))) (rounded_normal c a) (rounded_normal c b).
Proof.
intros alpha A l N. assert (W := whole_area_pos). set (K := exp _).
assert (E : K = exp ((alpha - 1) * (alpha * (c * (IZR a - IZR b) ^ 2)))).
{ unfold K. rewrite mult_IZR, minus_IZR. do 4 f_equal. ring. }
set (m := alpha * IZR a + (1 - alpha) * IZR b).
apply Rle_trans with (lsum (fun z => K / whole_area c * cell c m z) l).
- apply lsum_le. intros z _. unfold rounded_normal. assert (H := one_cell alpha (IZR a) (IZR b) z A).
  assert (Pa := cell_pos (IZR a) z). assert (Pb := cell_pos (IZR b) z). fold m in H. rewrite <- E in H.
  assert (I : 0 < / whole_area c) by now apply Rinv_0_lt_compat. unfold Rdiv. rewrite <- !Rpower_mult_distr by auto.
  assert (One : Rpower (/ whole_area c) alpha * Rpower (/ whole_area c) (1 - alpha) = / whole_area c).
  { rewrite <- Rpower_plus. replace (alpha + (1 - alpha)) with 1 by ring. now apply Rpower_1. }
  apply Rmult_le_compat_r with (r := / whole_area c) in H; [|lra].
  replace (Rpower (cell c (IZR a) z) alpha * Rpower (/ whole_area c) alpha
    * (Rpower (cell c (IZR b) z) (1 - alpha) * Rpower (/ whole_area c) (1 - alpha)))
    with (Rpower (cell c (IZR a) z) alpha * Rpower (cell c (IZR b) z) (1 - alpha)
      * (Rpower (/ whole_area c) alpha * Rpower (/ whole_area c) (1 - alpha))) by ring.
  rewrite One. lra.
- rewrite lsum_scal. assert (F := cells_are_few m l N). assert (0 < K / whole_area c) by (apply Rdiv_lt_0_compat; [apply exp_pos|exact W]).
  apply Rle_trans with (K / whole_area c * whole_area c); [apply Rmult_le_compat_l; lra|]. right. field. lra.
Qed.

(** * Vectors, with noise of its own for every coordinate *)
Fixpoint rounded_vector (l : list Z) : list Z -> R :=
  match l with
  | [] => fun r => match r with [] => 1 | _ => 0 end
  | a :: l => cons_law (rounded_normal c a) (fun _ => rounded_vector l)
  end.

Lemma rounded_vector_nonneg l r : 0 <= rounded_vector l r.
Proof.
revert r. induction l as [|a l IH]; intros [|v r]; cbn [rounded_vector cons_law]; try lra.
apply Rmult_le_pos; [apply Rlt_le, rounded_normal_pos|apply IH].
Qed.

Lemma rounded_normal_laws a b : zcdp_laws (c * IZR ((a - b) * (a - b))) (rounded_normal c a) (rounded_normal c b).
Proof.
split; [intros; apply rounded_normal_pos|]. intros alpha A l N.
apply Rle_trans with (2 := rounded_normal_is_zcdp a b alpha A l N). right. apply lsum_ext. intros z _. unfold term.
destruct (Rle_dec _ 0) as [H|_]; [|reflexivity]. generalize (rounded_normal_pos a z). lra.
Qed.

Theorem rounded_vectors_are_zcdp l l' :
  length l = length l' -> zcdp_laws (c * IZR (L2 l l')) (rounded_vector l) (rounded_vector l').
Proof.
revert l'. induction l as [|a l IH]; intros [|b l'] E; try discriminate.
- cbn [L2 rounded_vector]. split; [auto|]. intros alpha A k N. rewrite Rmult_0_r, Rmult_0_r, Rmult_0_r, exp_0.
  rewrite (lsum_ext _ _ (fun r => match r with [] => 1 | _ => 0 end)) by (intros [|] _; apply term_same; lra).
  clear - N.
  assert (H : forall m, ~ In [] m -> lsum (fun r : list Z => match r with [] => 1 | _ => 0 end) m = 0).
  { intros m. induction m as [|[|v r] m IHm]; intros F; cbn [lsum]; [reflexivity|exfalso; apply F; now left|].
    rewrite IHm; [ring|]. intros I. apply F. now right. }
  induction N as [|[|v r] k I N IHk]; cbn [lsum]; [lra|rewrite H by exact I; lra|lra].
- cbn [L2 rounded_vector]. rewrite plus_IZR, Rmult_plus_distr_l. apply (zcdp_laws_cons Z.eq_dec).
  + intros; apply Rlt_le, rounded_normal_pos.
  + intros _ r. apply rounded_vector_nonneg.
  + apply rounded_normal_laws.
  + intros _. apply IH. now injection E.
Qed.
End Rounded.
