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

(** * Programs with this law *)
(** There are some, so that what is said of them is not about nothing: bytes are the digits of a number in [0, 1), and are
    drawn until it is known in which outcome's share it lies. (The code draws in another way, which is proved on paper.) *)
Section Draw.
Variable P : nat -> R.
Hypothesis nonneg : forall i, 0 <= P i.
Hypothesis whole : Un_cv (fun n => total n P) 1.

Definition width (k : nat) : R := (/ 256) ^ k.

Definition lies_in (k : nat) (b : R) (i : nat) : bool :=
  if Rle_dec (total i P) (b * width k) then if Rle_dec ((b + 1) * width k) (total (S i) P) then true else false else false.

(** b / 256^k are the digits so far. *)
Fixpoint digits (fuel k : nat) (b : R) : program nat :=
  match find (lies_in k b) (seq 0 (S k)) with
  | Some i => Return i
  | None => match fuel with O => Unfinished | S fuel => Draw (fun byte => digits fuel (S k) (256 * b + IZR byte)) end
  end.

Lemma grows_digits k b : grows (fun fuel => digits fuel k b).
Proof.
intros i. revert k b. induction i as [|i IH]; intros k b j L.
- cbn [digits]. destruct j; cbn [digits]; destruct find; constructor.
- destruct j as [|j]; [lia|]. cbn [digits]. destruct find; constructor. intros byte. apply (IH (S k)). lia.
Qed.

Lemma width_pos k : 0 < width k.
Proof. apply pow_lt. lra. Qed.

Lemma parts_ascend i j : (i <= j)%nat -> total i P <= total j P.
Proof. induction 1 as [|j _ IH]; [lra|]. rewrite total_S. generalize (nonneg j). lra. Qed.

Definition held (lo hi x : R) : R := Rmax lo (Rmin x hi).
Definition overlap (lo hi : R) (k : nat) (b : R) : R := held lo hi ((b + 1) * width k) - held lo hi (b * width k).

Lemma telescopes n (h : nat -> R) : total n (fun i => h (S i) - h i) = h n - h O.
Proof. induction n as [|n IH]; [simpl; ring|]. rewrite total_S, IH. ring. Qed.

Lemma overlap_of_bytes lo hi k b : byte_mean (fun byte => overlap lo hi (S k) (256 * b + IZR byte)) * 256 = overlap lo hi k b.
Proof.
unfold byte_mean, overlap. set (h i := held lo hi ((256 * b + INR i) * width (S k))).
rewrite (total_ext _ _ (fun i => h (S i) - h i)).
- rewrite telescopes. unfold h. rewrite INR_256. simpl (INR 0). unfold width. cbn [pow].
  replace ((256 * b + 256) * (/ 256 * (/ 256) ^ k)) with ((b + 1) * (/ 256) ^ k) by field.
  replace ((256 * b + 0) * (/ 256 * (/ 256) ^ k)) with (b * (/ 256) ^ k) by field. field.
- intros i _. unfold h. rewrite S_INR, INR_IZR_INZ. do 2 f_equal. ring.
Qed.

Lemma overlap_range lo hi k b : lo <= hi -> 0 <= overlap lo hi k b <= width k.
Proof.
intros H. assert (W := width_pos k). assert (b * width k <= (b + 1) * width k) by lra.
assert ((b + 1) * width k = b * width k + width k) by ring. unfold overlap, held, Rmax, Rmin.
repeat destruct Rle_dec; lra.
Qed.

Lemma overlap_means lo hi k b : lo <= hi -> 0 < overlap lo hi k b -> lo < hi /\ lo < (b + 1) * width k /\ b * width k < hi.
Proof.
intros H. assert (W := width_pos k). assert ((b + 1) * width k = b * width k + width k) by ring.
unfold overlap, held, Rmax, Rmin. repeat destruct Rle_dec; lra.
Qed.

Lemma found_there k b i : find (lies_in k b) (seq 0 (S k)) = Some i -> total i P <= b * width k /\ (b + 1) * width k <= total (S i) P.
Proof.
intros F. apply find_some in F as [_ F]. unfold lies_in in F. destruct Rle_dec; [|discriminate]. destruct Rle_dec; [auto|discriminate].
Qed.

Notation hits i := (passes (one_is Nat.eq_dec i)).

Lemma hits_is i j : hits i j = if Nat.eq_dec i j then 1 else 0.
Proof. unfold passes, one_is. now destruct Nat.eq_dec. Qed.

Lemma digits_at_most i fuel k b : weigh (digits fuel k b) (hits i) * width k <= overlap (total i P) (total (S i) P) k b.
Proof.
assert (A : total i P <= total (S i) P) by (apply parts_ascend; lia).
revert k b. induction fuel as [|fuel IH]; intros k b; cbn [digits]; destruct find as [j|] eqn:F.
1, 3: cbn [weigh]; rewrite hits_is; destruct (Nat.eq_dec i j) as [->|N];
  [apply found_there in F; unfold overlap, held; rewrite !Rmin_left, !Rmax_right by (generalize (width_pos k); lra); lra
  |rewrite Rmult_0_l; now apply overlap_range].
- cbn [weigh]. rewrite Rmult_0_l. now apply overlap_range.
- cbn [weigh]. rewrite <- overlap_of_bytes.
  replace (byte_mean _ * width k) with (width (S k) * byte_mean (fun byte => weigh (digits fuel (S k) (256 * b + IZR byte)) (hits i)) * 256)
    by (unfold width; cbn [pow]; field).
  apply Rmult_le_compat_r; [lra|]. rewrite <- byte_mean_scal. apply byte_mean_le. intros byte. rewrite (Rmult_comm (width (S k))). apply IH.
Qed.

Lemma digits_at_least i fuel k b :
  (i <= k + fuel)%nat -> let e := width (k + fuel) in let lo := total i P + e in let hi := Rmax lo (total (S i) P - e) in
  overlap lo hi k b <= weigh (digits fuel k b) (hits i) * width k.
Proof.
intros I. cbv zeta. assert (E := width_pos (k + fuel)). assert (Set_ : exists n, n = (k + fuel)%nat) by eauto. destruct Set_ as [n En].
rewrite <- En in *. set (lo := total i P + width n). set (hi := Rmax lo (total (S i) P - width n)).
assert (LH : lo <= hi) by apply Rmax_l.
assert (Hi : lo < hi -> hi = total (S i) P - width n) by (unfold hi, Rmax; destruct Rle_dec; lra).
assert (Elsewhere : forall k b j, find (lies_in k b) (seq 0 (S k)) = Some j -> overlap lo hi k b <= hits i j * width k).
{ clear - nonneg E LH Hi. intros k b j F. apply found_there in F as [F1 F2]. assert (R := overlap_range lo hi k b LH). rewrite hits_is.
  destruct (Nat.eq_dec i j) as [->|N]; [lra|]. rewrite Rmult_0_l. apply Rnot_lt_le. intros O.
  destruct (overlap_means lo hi k b LH O) as (L & L1 & L2). specialize (Hi L). unfold lo in L1.
  destruct (Nat.lt_ge_cases j i) as [J|J].
  - assert (total (S j) P <= total i P) by (apply parts_ascend; lia). lra.
  - assert (total (S i) P <= total j P) by (apply parts_ascend; lia). lra. }
revert k b En. induction fuel as [|fuel IH]; intros k b En; cbn [digits]; destruct find as [j|] eqn:F; try now apply Elsewhere.
- cbn [weigh]. rewrite Rmult_0_l. apply Rnot_lt_le. intros O. destruct (overlap_means lo hi k b LH O) as (L & L1 & L2).
  specialize (Hi L). unfold lo in L1. assert (Same : n = k) by lia. rewrite Same in L1, Hi.
  assert (T : lies_in k b i = true).
  { unfold lies_in. assert ((b + 1) * width k = b * width k + width k) by ring.
    destruct Rle_dec as [_|X]; [|exfalso; apply X; lra]. destruct Rle_dec as [_|X]; [reflexivity|exfalso; apply X; lra]. }
  assert (X := find_none _ _ F i ltac:(apply in_seq; lia)). congruence.
- cbn [weigh]. rewrite <- overlap_of_bytes.
  replace (byte_mean _ * width k) with (width (S k) * byte_mean (fun byte => weigh (digits fuel (S k) (256 * b + IZR byte)) (hits i)) * 256)
    by (unfold width; cbn [pow]; field).
  apply Rmult_le_compat_r; [lra|]. rewrite <- byte_mean_scal. apply byte_mean_le. intros byte. rewrite (Rmult_comm (width (S k))). apply IH; lia.
Qed.

Theorem digits_have_their_law : law Nat.eq_dec (fun fuel => digits fuel 0 0) P.
Proof.
intros i e E. destruct (pow_lt_1_zero (/ 256) ltac:(rewrite Rabs_pos_eq; lra) (e / 2) ltac:(lra)) as [N H].
exists (max N i). intros fuel L. specialize (H fuel ltac:(lia)). fold (width fuel) in H. assert (W := width_pos fuel).
rewrite Rabs_pos_eq in H by lra. assert (Up := digits_at_most i fuel 0 0). assert (Low := digits_at_least i fuel 0 0 ltac:(lia)).
cbv zeta in Low. cbn [Nat.add] in Low. unfold overlap in Up, Low. assert (W0 : width 0 = 1) by reflexivity.
rewrite W0, !Rmult_1_r in Up, Low. replace (0 + 1) with 1 in Up, Low by ring.
assert (Z : 0 <= total i P) by (apply total_nonneg; auto).
assert (One : total (S i) P <= 1).
{ apply (growing_ineq (fun n => total n P)); [|exact whole]. intros n. rewrite total_S. generalize (nonneg n). lra. }
rewrite total_S in *. assert (Pi := nonneg i). set (x := weigh _ _) in *. unfold R_dist. apply Rabs_def1.
- unfold held, Rmax, Rmin in Up. repeat destruct Rle_dec; lra.
- unfold held, Rmax, Rmin in Low. repeat destruct Rle_dec; lra.
Qed.
End Draw.

(** The integers, in the order 0, 1, -1, 2, -2, ... *)
Definition nth_integer (n : nat) : Z := if Nat.even n then (- Z.of_nat (n / 2))%Z else Z.of_nat (S n / 2).
Definition place_of (z : Z) : nat := if (0 <? z)%Z then Z.to_nat (2 * z - 1) else Z.to_nat (- (2 * z)).

Lemma integers_in_order n : nth_integer (2 * n) = (- Z.of_nat n)%Z /\ nth_integer (2 * n + 1) = Z.of_nat (S n).
Proof.
unfold nth_integer. rewrite Nat.even_mul, Nat.even_add, Nat.even_mul. cbn [Nat.even orb eqb].
replace (2 * n / 2)%nat with n by (rewrite Nat.mul_comm, Nat.div_mul; lia).
replace (S (2 * n + 1)) with (S n * 2)%nat by lia. rewrite Nat.div_mul by lia. auto.
Qed.

Lemma place_is z i : nth_integer i = z <-> i = place_of z.
Proof.
assert (A : forall z, nth_integer (place_of z) = z).
{ intros y. unfold place_of. destruct (Z.ltb_spec 0 y) as [H|H].
  - replace (Z.to_nat (2 * y - 1)) with (2 * Z.to_nat (y - 1) + 1)%nat by lia. rewrite (proj2 (integers_in_order _)). lia.
  - replace (Z.to_nat (- (2 * y))) with (2 * Z.to_nat (- y))%nat by lia. rewrite (proj1 (integers_in_order _)). lia. }
split; [|intros ->; apply A]. intros <-. destruct (Nat.Even_or_Odd i) as [[m ->]|[m ->]].
- rewrite (proj1 (integers_in_order m)). unfold place_of. destruct (Z.ltb_spec 0 (- Z.of_nat m)); lia.
- rewrite (proj2 (integers_in_order m)). unfold place_of. destruct (Z.ltb_spec 0 (Z.of_nat (S m))); lia.
Qed.

Lemma in_order_is_a_window f M : total (2 * M + 1) (fun i => f (nth_integer i)) = window M f.
Proof.
induction M as [|M IH].
- unfold window. cbn [Nat.mul Nat.add total]. reflexivity.
- rewrite Gaussian.window_S, <- IH. replace (2 * S M + 1)%nat with (S (S (2 * M + 1))) by lia. rewrite !total_S.
  rewrite (proj2 (integers_in_order M)). replace (S (2 * M + 1)) with (2 * S M)%nat by lia. rewrite (proj1 (integers_in_order (S M))). ring.
Qed.

Section Drawn.
Variable c : R.
Hypothesis c_pos : 0 < c.

Definition draw_rounded (a : Z) : nat -> program Z :=
  then_read (fun fuel => digits (fun i => rounded_normal c a (nth_integer i)) fuel 0 0) nth_integer.

Fixpoint draw_vector (l : list Z) : nat -> program (list Z) :=
  match l with [] => fun _ => Return [] | a :: l => then_cons (draw_rounded a) (fun _ => draw_vector l) end.

Lemma grows_rounded a : grows (draw_rounded a).
Proof. apply grows_read, grows_digits. Qed.

Lemma grows_draw_vector l : grows (draw_vector l).
Proof. induction l as [|a l IH]; [apply grows_return|]. apply grows_cons; auto using grows_rounded. Qed.

Lemma rounded_has_its_law a : law Z.eq_dec (draw_rounded a) (rounded_normal c a).
Proof.
intros z. set (Q i := rounded_normal c a (nth_integer i)). assert (Pos : forall i, 0 <= Q i) by (intros; apply Rlt_le, rounded_normal_pos, c_pos).
assert (Adds := rounded_normal_adds_up c c_pos a).
assert (G : forall n m, (n <= m)%nat -> total n Q <= total m Q) by (intros; now apply parts_ascend).
assert (T : Un_cv (fun n => total n Q) 1).
{ intros e E. destruct (Adds e E) as [M H]. exists (2 * M + 1)%nat. intros n N. specialize (H M ltac:(lia)).
  assert (L : total n Q <= 1).
  { apply Rle_trans with (total (2 * n + 1) Q); [apply G; lia|]. unfold Q. rewrite (in_order_is_a_window (rounded_normal c a)).
    apply (growing_ineq (fun M => window M (rounded_normal c a))); [|exact Adds].
    apply Gaussian.window_grows. intros; apply Rlt_le, rounded_normal_pos, c_pos. }
  assert (L' := G (2 * M + 1)%nat n N). unfold Q at 1 in L'. rewrite (in_order_is_a_window (rounded_normal c a)) in L'.
  unfold R_dist in *. apply Rabs_def2 in H. apply Rabs_def1; lra. }
assert (L := digits_have_their_law Q Pos T (place_of z)). assert (E : Q (place_of z) = rounded_normal c a z).
{ unfold Q. f_equal. now apply place_is. }
rewrite E in L. apply tends_ext with (2 := L). intros fuel. unfold draw_rounded, then_read, then_. rewrite weigh_bind. fold Q.
apply weigh_ext. intros i. cbn [weigh]. unfold passes, one_is. assert (S := place_is z i).
destruct (Z.eq_dec z (nth_integer i)) as [->|N], (Nat.eq_dec (place_of _) i) as [M|M]; auto.
- exfalso. apply M. symmetry. now apply S.
- exfalso. apply N. symmetry. now apply S.
Qed.

(** So vectors of rounded Gaussians can be drawn from bytes. *)
Theorem vectors_have_their_law l : law same_vector (draw_vector l) (rounded_vector c l).
Proof.
induction l as [|a l IH]; cbn [draw_vector rounded_vector].
- intros r. destruct r as [|v r]; apply tends_ext with (2 := tends_const _); intros n; cbn [weigh]; reflexivity.
- apply (law_cons Z.eq_dec); auto using rounded_has_its_law.
Qed.
End Drawn.
