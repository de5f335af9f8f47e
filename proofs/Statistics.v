(** Built from sums (docs/theorems/statistics.md): centred sums for the mean, squares for the variance, persons, and noise on
    a grid (docs/lemmas.md); and the sensitivities of Kahan's sum and of trees of a given height. *)
From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Sums Wide Trees Kahan.
Import ListNotations.

Section Integers.
Open Scope Z_scope.
Variables (X : Type) (q : X -> Z) (J K : Z).
Hypothesis q_within : forall x, J <= q x <= K.
Hypothesis JK : J <= K.

Definition centred x := 2 * q x - (J + K).
Theorem mean_symmetric u v : symmetric u v -> Z.abs (wide centred u - wide centred v) <= K - J.
Proof.
intros H. assert (W : forall x, - (K - J) <= centred x <= K - J) by (intros x; generalize (q_within x); unfold centred; lia).
generalize (wide_symmetric X centred _ _ W u v H). unfold magnitudeZ. lia.
Qed.
Definition square x := centred x * centred x.
Lemma square_within x : 0 <= square x <= (K - J) * (K - J).
Proof.
assert (W : - (K - J) <= centred x <= K - J) by (generalize (q_within x); unfold centred; lia).
unfold square. revert W. generalize (centred x) (K - J). intros c w W. nia.
Qed.
Theorem variance_symmetric u v : symmetric u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_symmetric X square _ _ square_within u v H). unfold magnitudeZ. nia.
Qed.
Theorem variance_change_one u v : change_one u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_change_one X square _ _ square_within u v). intros G. apply Z.le_trans with (1 := G ltac:(nia) H). lia.
Qed.

(** Persons: a record is a person's rows, of which some r are kept by looking at that person alone. *)
Variable r : Z.
Hypothesis r_pos : 0 <= r.
Definition person (rows : list X) := clamp (r * Z.min J 0) (r * Z.max K 0) (wide q rows).
Theorem persons_symmetric (u v : list (list X)) : symmetric u v -> Z.abs (wide person u - wide person v) <= r * magnitudeZ J K.
Proof.
intros H. assert (W : forall x, r * Z.min J 0 <= person x <= r * Z.max K 0) by (intros x; apply clamp_within; nia).
generalize (wide_symmetric _ person _ _ W u v H). unfold magnitudeZ. nia.
Qed.
(** The clamp changes nothing for a person of at most r rows. *)
Theorem person_exact rows : Z.of_nat (length rows) <= r -> person rows = wide q rows.
Proof.
intros H. unfold person. assert (B : r * Z.min J 0 <= wide q rows <= r * Z.max K 0); [|unfold clamp; lia].
assert (G : forall l, Z.of_nat (length l) * Z.min J 0 <= wide q l <= Z.of_nat (length l) * Z.max K 0).
{ induction l as [|x l IH]; [unfold wide; simpl; lia|]. generalize (q_within x). unfold wide in *.
  cbn [map sumZ fold_right length]. fold (sumZ (map q l)). rewrite Nat2Z.inj_succ. lia. }
generalize (G rows). nia.
Qed.
End Integers.

Open Scope R_scope.
Theorem noise_on_a_grid a b G D : 0 < G -> Rabs (a - b) <= D -> (Z.abs (Zfloor (a / G) - Zfloor (b / G)) <= Zceil (D / G))%Z.
Proof.
intros HG H. assert (K : forall x y, x - y <= D -> (Zfloor (x / G) - Zfloor (y / G) <= Zceil (D / G))%Z).
{ intros x y h. assert (T : (Zfloor (x / G) < Zfloor (y / G) + Zceil (D / G) + 1)%Z); [|lia].
  apply lt_IZR. rewrite !plus_IZR. apply Rle_lt_trans with (1 := Zfloor_lb _).
  generalize (Zfloor_ub (y / G)) (Zceil_ub (D / G)). intros.
  assert (x / G <= y / G + D / G); [|lra]. unfold Rdiv. rewrite <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [|lra].
  apply Rlt_le, Rinv_0_lt_compat, HG. }
apply Rabs_le_inv in H. generalize (K a b ltac:(lra)) (K b a ltac:(lra)). lia.
Qed.

Section Floats.
Variables p emin : Z.
Hypothesis p_4 : (4 <= p)%Z.
Hypothesis emin_0 : (emin <= 0)%Z.
Local Instance pp : Prec_gt_0 p. Proof. unfold Prec_gt_0; lia. Qed.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Variables (X : Type) (c : X -> R) (L U : R).
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).
Notation M := (magnitude L U).

(** docs/theorems/kahan.md, statement 1: U - L + 3 n M / 2^k. *)
Theorem kahan_change_one n (d d' : list X) : L <= U -> INR n * u p <= / 4 -> length d = n -> length d' = n -> change_one d d' ->
  Rabs (kahan p emin (map c d) - kahan p emin (map c d')) <= U - L + 3 * INR n * M * bpow radix2 (1 - p).
Proof.
intros LU Hn Hd Hd' H.
assert (A : forall e : list X, length e = n -> Rabs (kahan p emin (map c e) - sum (map c e)) <= 3 * u p * INR n * M).
{ intros e He. rewrite <- He, <- (map_length c e). apply kahan_error; auto; rewrite ?map_length, ?He; auto.
  apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). split; auto. apply magnitude_bound, c_within. }
assert (I : Rabs (sum (map c d) - sum (map c d')) <= U - L).
{ apply ideal_change_one; auto using map_change_one; apply Forall_forall; intros y Hy; apply in_map_iff in Hy as (x & <- & _); apply c_within. }
replace (bpow radix2 (1 - p)) with (2 * u p) by (unfold u, Zminus; now rewrite bpow_plus).
generalize (A d Hd) (A d' Hd'). revert I. unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

(** docs/theorems/pairwise.md, numpy_pairwise.md: any tree of height h over the records, h u < 1. *)
Theorem tree_change_one (t t' : tree) (d d' : list X) h : L <= U -> leaves t = map c d -> leaves t' = map c d' ->
  (height t <= h)%nat -> (height t' <= h)%nat -> INR h * u p < 1 -> change_one d d' ->
  Rabs (computed p emin (fun x => negb (Z.even x)) t - computed p emin (fun x => negb (Z.even x)) t') <=
  U - L + 2 * (INR h * u p / (1 - INR h * u p) * (INR (length d) * M)).
Proof.
intros LU Hd Hd' Hh Hh' Hu H.
assert (Len : length d = length d').
{ apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
  now rewrite (Permutation_length P), (Permutation_length Q). }
assert (A : forall t (e : list X), leaves t = map c e -> (height t <= h)%nat -> length e = length d ->
  Rabs (computed p emin (fun x => negb (Z.even x)) t - sum (map c e)) <= INR h * u p / (1 - INR h * u p) * (INR (length d) * M)).
{ clear - p_4 c_within c_format Hu. intros t e He Hh Hl.
  assert (F : floats p emin t).
  { unfold floats. rewrite He. apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). apply c_format. }
  assert (G := tree_error_height p emin (fun x => negb (Z.even x)) t F). unfold exact in G. rewrite He in G.
  assert (S : 0 <= mags t <= INR (length d) * M).
  { split; [apply mags_pos|]. unfold mags. rewrite He, <- Hl, <- (map_length c e). apply sum_bound.
    apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). apply magnitude_bound, c_within. }
  apply Rle_trans with (1 := G). assert (u0 : 0 < u p) by apply bpow_gt_0.
  assert (1 <= (1 + u p) ^ height t) by (apply pow_R1_Rle; lra).
  assert ((1 + u p) ^ height t <= (1 + u p) ^ h) by (apply Rle_pow; auto; lra).
  generalize (height_bound p h Hu). intros.
  apply Rmult_le_compat; lra. }
assert (I : Rabs (sum (map c d) - sum (map c d')) <= U - L).
{ apply ideal_change_one; auto using map_change_one; apply Forall_forall; intros y Hy; apply in_map_iff in Hy as (x & <- & _); apply c_within. }
generalize (A t d Hd Hh eq_refl) (A t' d' Hd' Hh' (eq_sym Len)). revert I. unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.
End Floats.
