(** kahan (docs/theorems/kahan.md): compensated summation.

    The error of n records is at most 3 u n M if n u <= 1/4, for any precision of at least 4 bits, subnormals included;
    at most 9/4 u n M if n u <= 1/64 and p is at least 8. The proof is by one invariant on the state instead of the
    page's sums: with F the error of s - c and G = s - c, the potential |F| + u max(|G|, K M) grows by a little over
    2 u M a record, because a step whose compensation is inexact leaves a small G behind. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative Sterbenz.
From Flocq.Pff Require Import Pff2Flocq.
From Soundsum Require Import Relations Sums Accuracy Trees.
Import ListNotations.
Open Scope R_scope.

Section Kahan.
Variables p emin : Z.
Hypothesis p_4 : (4 <= p)%Z.
Hypothesis emin_0 : (emin <= 0)%Z.

Local Instance p_pos : Prec_gt_0 p. Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation fl := (round radix2 (FLT_exp emin p) ZnearestE).
Notation u := (u p).

Definition step (sc : R * R) x :=
  let '(s, c) := sc in
  let y := fl (x - c) in
  let t := fl (s + y) in
  (t, fl (fl (t - s) - y)).

Definition kahan l := fst (fold_left step l (0, 0)).

Lemma u_16 : 0 < u <= / 16.
Proof. split; [apply bpow_gt_0|]. change (/ 16) with (bpow radix2 (-4)). apply bpow_le; lia. Qed.

Lemma format_fl x : format (fl x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma fl_id x : format x -> fl x = x.
Proof. intros; apply round_generic; auto with typeclass_instances. Qed.

Lemma add_err a b : format a -> format b -> Rabs (fl (a + b) - (a + b)) <= u * Rabs (a + b).
Proof. intros. apply add_u; auto with typeclass_instances. Qed.

Lemma sub_err a b : format a -> format b -> Rabs (fl (a - b) - (a - b)) <= u * Rabs (a - b).
Proof. intros Fa Fb. apply (add_err a (- b)); auto using generic_format_opp. Qed.

Lemma add_err_round a b : format a -> format b -> Rabs (fl (a + b) - (a + b)) <= u * Rabs (fl (a + b)).
Proof.
intros Fa Fb. destruct (FLT_plus_error_N_round_ex radix2 emin p (fun x => negb (Z.even x)) a b Fa Fb) as (eps & He & E).
rewrite E at 2. replace (fl (a + b) - fl (a + b) * (1 + eps)) with (- eps * fl (a + b)) by ring.
rewrite Rabs_mult, Rabs_Ropp. apply Rmult_le_compat_r; [apply Rabs_pos|].
apply Rle_trans with (1 := He). right. unfold u_ro, Trees.u. rewrite bpow_plus. change (bpow radix2 1) with 2. field.
Qed.

(** What one record does: alpha, beta, gamma as on the page. *)
Lemma one_step s c x :
  format s -> format c -> format x
  -> let y := fl (x - c) in
     let t := fl (s + y) in
     let c' := fl (fl (t - s) - y) in
     exists al be ga,
       y = x - c + al
       /\ Rabs al <= u * Rabs (x - c)
       /\ t = s + y + be
       /\ Rabs be <= u * Rabs (s + y)
       /\ Rabs be <= u * Rabs t
       /\ c' = be + ga
       /\ Rabs ga <= Rabs be
       /\ (ga = 0 \/ Rabs s < Rabs y /\ Rabs ga <= u * (1 + 2 * u) * Rabs y).
Proof.
intros Fs Fc Fx y t c'. destruct u_16 as [u0 u1].
assert (Fy : format y) by apply format_fl. assert (Ft : format t) by apply format_fl.
set (be := t - (s + y)).
assert (B1 : Rabs be <= u * Rabs (s + y)) by now apply add_err.
assert (B2 : Rabs be <= u * Rabs t) by now apply add_err_round.
destruct (Rle_lt_dec (Rabs y) (Rabs s)) as [h|h].
- exists (y - (x - c)), be, 0. repeat split; try (unfold be; ring); auto.
  + apply sub_err; auto.
  + assert (E : t + fl (y + fl (s - t)) = s + y).
    { apply Fast2Sum_correct; auto; try lia. intros z.
      rewrite <- (Z.even_opp (- (z + 1))), Z.opp_involutive, Z.even_add.
      now destruct (Z.even z). }
    unfold c'. replace (t - s) with (- (s - t)) by ring. rewrite round_NE_opp.
    replace (- fl (s - t) - y) with (- (y + fl (s - t))) by ring. rewrite round_NE_opp. unfold be. lra.
  + rewrite Rabs_R0. apply Rabs_pos.
- set (z := fl (t - s)). set (ga := z - (t - s)).
  assert (Fz : format z) by apply format_fl.
  assert (Ets : t - s = y + be) by (unfold be; ring).
  assert (G1 : Rabs ga <= Rabs be).
  { unfold ga, z. destruct (round_N_pt radix2 (FLT_exp emin p) (fun x => negb (Z.even x)) (t - s)) as [_ N].
    apply Rle_trans with (1 := N y Fy). rewrite Ets. replace (y - (y + be)) with (- be) by ring.
    now rewrite Rabs_Ropp; right. }
  assert (G2 : Rabs ga <= u * Rabs (t - s)) by now apply sub_err.
  assert (SY : Rabs (s + y) <= 2 * Rabs y) by (apply Rle_trans with (1 := Rabs_triang _ _); lra).
  assert (BY : Rabs be <= 2 * u * Rabs y) by nra.
  assert (TS : Rabs (t - s) <= (1 + 2 * u) * Rabs y).
  { rewrite Ets. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (Ezy : z - y = be + ga) by (unfold ga; lra).
  assert (ZY : Rabs (z - y) <= Rabs y / 4).
  { rewrite Ezy. apply Rle_trans with (1 := Rabs_triang _ _). assert (0 <= Rabs y) by apply Rabs_pos. nra. }
  assert (Fzy : format (z - y)).
  { apply generic_format_plus_weak; auto using generic_format_opp with typeclass_instances.
    rewrite Rabs_Ropp. assert (0 <= Rabs y) by apply Rabs_pos.
    assert (Rabs y <= Rabs z + Rabs (z - y)).
    { replace y with (z - (z - y)) at 1 by ring. apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
    fold (z - y). apply Rmin_glb; lra. }
  exists (y - (x - c)), be, ga. repeat split; try (unfold be; ring); auto.
  + apply sub_err; auto.
  + unfold c'. fold z. now rewrite fl_id.
  + right. split; auto. apply Rle_trans with (1 := G2). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

Variable M : R.

Definition K := 18 / 5.
Definition B i := K + 1 + 2 * u + (1 + (1 + u) * (1 + 2 * u)) * ((i - 2) * (1 + 19 / 16 * u * (i + 1))).

Record good (i : R) (sc : R * R) (X : R) : Prop := {
  g_s : format (fst sc); g_c : format (snd sc);
  g_E : Rabs (fst sc - X) <= 3 * u * i * M;
  g_2 : u <= / 256 -> i * u <= / 64 -> Rabs (fst sc - X) <= 9 / 4 * u * i * M;
  g_X : Rabs X <= i * M;
  g_cs : Rabs (snd sc) <= 2 * u * Rabs (fst sc);
  g_P : Rabs (fst sc - snd sc - X) + u * Rmax (Rabs (fst sc - snd sc)) (K * M) <= u * M * B i }.

Lemma good_step i sc X x :
  2 <= i -> (i + 1) * u <= / 4 -> good i sc X -> format x -> Rabs x <= M -> good (i + 1) (step sc x) (X + x).
Proof.
destruct sc as [s c]. intros Hi Hu [Fs Fc HE H2 HX Hc HP] Fx Hx. simpl in *. destruct u_16 as [u0 u1].
destruct (one_step s c x Fs Fc Fx) as (al & be & ga & Ey & Hal & Et & Hbe & Hbt & Ec & Hgb & Hga).
set (y := fl (x - c)) in *. set (t := fl (s + y)) in *. set (c' := fl (fl (t - s) - y)) in *.
assert (M0 : 0 <= M) by (apply Rle_trans with (2 := Hx), Rabs_pos).
set (h := Rabs c) in *.
assert (Hs : Rabs s <= (1 + 3 * u) * i * M).
{ replace s with ((s - X) + X) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
assert (iM : 0 <= i * M) by (apply Rmult_le_pos; lra).
assert (Hh : h <= 19 / 8 * u * i * M).
{ apply Rle_trans with (1 := Hc). apply Rle_trans with (2 * u * ((1 + 3 * u) * i * M)); [apply Rmult_le_compat_l; lra|].
  replace (2 * u * ((1 + 3 * u) * i * M)) with ((2 * (1 + 3 * u)) * (u * (i * M))) by ring.
  replace (19 / 8 * u * i * M) with (19 / 8 * (u * (i * M))) by ring. apply Rmult_le_compat_r; [|lra].
  apply Rmult_le_pos; lra. }
assert (Hh2 : h <= 19 / 32 * M).
{ apply Rle_trans with (1 := Hh). replace (19 / 8 * u * i * M) with (19 / 8 * (i * u) * M) by ring.
  apply Rmult_le_compat_r; lra. }
assert (h0 : 0 <= h) by apply Rabs_pos.
assert (Hxc : Rabs (x - c) <= M + h).
{ apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. fold h. lra. }
assert (Hal' : Rabs al <= u * (M + h)) by (apply Rle_trans with (1 := Hal), Rmult_le_compat_l; lra).
set (F := s - c - X) in *. set (G := s - c) in *.
assert (EF : t - c' - (X + x) = F + al - ga) by (unfold F, G; rewrite Ec, Et, Ey; ring).
assert (EG : t - c' = G + x + al - ga) by (unfold G; rewrite Ec, Et, Ey; ring).
assert (EE : t - (X + x) = F + al + be) by (unfold F, G; rewrite Et, Ey; ring).
assert (ESY : s + y = G + x + al) by (unfold G; rewrite Ey; ring).
set (ka := (1 + u) * (1 + 2 * u)).
assert (P0 : 0 <= Rabs F) by apply Rabs_pos.
assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
(* the growth of B *)
assert (HB : B (i + 1) = B i + (1 + ka) * (1 + 19 / 8 * u * i)) by (unfold B, ka; field).
assert (HMh : u * (1 + ka) * (M + h) <= u * M * ((1 + ka) * (1 + 19 / 8 * u * i))).
{ replace (u * M * ((1 + ka) * (1 + 19 / 8 * u * i))) with (u * (1 + ka) * (M + 19 / 8 * u * i * M)) by ring.
  apply Rmult_le_compat_l; [|lra]. unfold ka. clear - u0 u1. apply Rmult_le_pos; nra. }
assert (HBi : B i <= 285 / 100 * i - 97 / 100).
{ unfold B, K. fold ka.
  assert (k1 : ka <= 612 / 512) by (unfold ka; clear - u0 u1; nra).
  assert (k0 : 1 <= ka) by (unfold ka; clear - u0 u1; nra).
  assert (w : 1 + 19 / 16 * u * (i + 1) <= 83 / 64) by lra.
  assert (w0 : 0 <= 1 + 19 / 16 * u * (i + 1)) by (assert (0 <= u * (i + 1)) by (apply Rmult_le_pos; lra); lra).
  assert ((i - 2) * (1 + 19 / 16 * u * (i + 1)) <= (i - 2) * (83 / 64)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= (i - 2) * (1 + 19 / 16 * u * (i + 1))) by (apply Rmult_le_pos; lra).
  assert ((1 + ka) * ((i - 2) * (1 + 19 / 16 * u * (i + 1))) <= (1 + 612 / 512) * ((i - 2) * (83 / 64))).
  { apply Rmult_le_compat; lra. }
  lra. }
assert (Hb : Rabs be <= u * (Rabs G + M + Rabs al)).
{ apply Rle_trans with (1 := Hbe). apply Rmult_le_compat_l; [lra|]. rewrite ESY.
  apply Rle_trans with (1 := Rabs_triang _ _). apply Rplus_le_compat_r. apply Rle_trans with (1 := Rabs_triang _ _).
  lra. }
assert (TE : Rabs (F + al + be) <= u * M * B i + (1 + u) * (u * (M + h)) + u * M).
{ assert (T : Rabs (F + al + be) <= Rabs F + Rabs al + Rabs be).
  { apply Rle_trans with (1 := Rabs_triang _ _). apply Rplus_le_compat_r, Rabs_triang. }
  generalize (Rmax_l (Rabs G) (K * M)); intros MG.
  assert (u * Rabs G <= u * Rmax (Rabs G) (K * M)) by (apply Rmult_le_compat_l; lra).
  assert (u * Rabs al <= u * (u * (M + h))) by (apply Rmult_le_compat_l; lra). lra. }
constructor; simpl; try apply format_fl.
- (* the error *)
  rewrite EE. apply Rle_trans with (1 := TE).
  assert (u * (M + h) <= u * (51 / 32 * M)) by (apply Rmult_le_compat_l; lra).
  assert ((1 + u) * (u * (M + h)) <= 17 / 16 * (u * (51 / 32 * M)))
    by (apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra).
  assert (u * M * B i <= u * M * (285 / 100 * i - 97 / 100)) by (apply Rmult_le_compat_l; lra).
  assert (u * M * 2 <= u * M * i) by (apply Rmult_le_compat_l; lra). lra.
- (* the error, where n u is small *)
  intros v1 v2. rewrite EE. apply Rle_trans with (1 := TE).
  assert (Hh3 : h <= 19 / 512 * M).
  { apply Rle_trans with (1 := Hh). replace (19 / 8 * u * i * M) with (19 / 8 * (i * u) * M) by ring.
    apply Rmult_le_compat_r; lra. }
  assert (HB2 : B i <= 205 / 100 * i + 51 / 100).
  { unfold B, K. fold ka.
    assert (k1 : ka <= 10119 / 10000) by (unfold ka; clear - u0 v1; nra).
    assert (k0 : 1 <= ka) by (unfold ka; clear - u0 u1; nra).
    assert (w : 1 + 19 / 16 * u * (i + 1) <= 1043 / 1024) by lra.
    assert (w0 : 0 <= 1 + 19 / 16 * u * (i + 1)) by (assert (0 <= u * (i + 1)) by (apply Rmult_le_pos; lra); lra).
    assert ((i - 2) * (1 + 19 / 16 * u * (i + 1)) <= (i - 2) * (1043 / 1024)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= (i - 2) * (1 + 19 / 16 * u * (i + 1))) by (apply Rmult_le_pos; lra).
    assert ((1 + ka) * ((i - 2) * (1 + 19 / 16 * u * (i + 1))) <= (1 + 10119 / 10000) * ((i - 2) * (1043 / 1024)))
      by (apply Rmult_le_compat; lra).
    lra. }
  assert (u * (M + h) <= u * (531 / 512 * M)) by (apply Rmult_le_compat_l; lra).
  assert ((1 + u) * (u * (M + h)) <= 257 / 256 * (u * (531 / 512 * M)))
    by (apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra).
  assert (u * M * B i <= u * M * (205 / 100 * i + 51 / 100)) by (apply Rmult_le_compat_l; lra).
  assert (u * M * 2 <= u * M * i) by (apply Rmult_le_compat_l; lra). lra.
- apply Rle_trans with (1 := Rabs_triang _ _). lra.
- rewrite Ec. apply Rle_trans with (1 := Rabs_triang _ _). lra.
- (* the potential *)
  rewrite EF, EG, HB, Rmult_plus_distr_l.
  destruct Hga as [-> | [Hl Hga]].
  + rewrite !Rminus_0_r.
    assert (T : Rabs (F + al) <= Rabs F + Rabs al) by apply Rabs_triang.
    assert (T2 : Rmax (Rabs (G + x + al)) (K * M) <= Rmax (Rabs G) (K * M) + (M + u * (M + h))).
    { assert (0 <= M + u * (M + h)) by (assert (0 <= u * (M + h)) by (apply Rmult_le_pos; lra); lra).
      apply Rmax_lub; [|generalize (Rmax_r (Rabs G) (K * M)); lra].
      apply Rle_trans with (1 := Rabs_triang _ _). generalize (Rabs_triang G x) (Rmax_l (Rabs G) (K * M)). lra. }
    assert (T3 : u * Rmax (Rabs (G + x + al)) (K * M) <= u * (Rmax (Rabs G) (K * M) + (M + u * (M + h))))
      by (apply Rmult_le_compat_l; lra).
    assert (T4 : u * (M + h) + u * (M + u * (M + h)) <= u * (1 + ka) * (M + h)).
    { replace (u * (M + h) + u * (M + u * (M + h))) with (u * ((1 + u) * (M + h) + M)) by ring.
      rewrite (Rmult_assoc u). apply Rmult_le_compat_l; [lra|].
      assert (1 + u <= ka) by (unfold ka; clear - u0 u1; nra).
      assert ((1 + u) * (M + h) <= ka * (M + h)) by (apply Rmult_le_compat_r; lra). lra. }
    lra.
  + assert (Hy : Rabs y <= (1 + u) * (M + h)).
    { rewrite Ey. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
    assert (Hg : Rabs ga <= u * ka * (M + h)).
    { apply Rle_trans with (1 := Hga). unfold ka.
      replace (u * ((1 + u) * (1 + 2 * u)) * (M + h)) with (u * (1 + 2 * u) * ((1 + u) * (M + h))) by ring.
      apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra. }
    assert (T : Rabs (F + al - ga) <= Rabs F + Rabs al + Rabs ga).
    { apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. apply Rplus_le_compat_r, Rabs_triang. }
    assert (T2 : Rmax (Rabs (G + x + al - ga)) (K * M) <= Rmax (Rabs G) (K * M)).
    { apply Rle_trans with (2 := Rmax_r _ _). apply Rmax_lub; [|lra]. rewrite <- ESY.
      apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp.
      generalize (Rabs_triang s y). intros.
      assert ((1 + u) * (M + h) <= 17 / 16 * (51 / 32 * M)) by (apply Rmult_le_compat; lra).
      assert (u * ka <= / 16 * (612 / 512)) by (unfold ka; clear - u0 u1; apply Rmult_le_compat; nra).
      assert (u * ka * (M + h) <= / 16 * (612 / 512) * (51 / 32 * M)).
      { apply Rmult_le_compat; try lra. unfold ka; clear - u0 u1; apply Rmult_le_pos; nra. }
      unfold K. lra. }
    assert (T3 : u * Rmax (Rabs (G + x + al - ga)) (K * M) <= u * Rmax (Rabs G) (K * M))
      by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma good_2 x1 x2 :
  format x1 -> format x2 -> Rabs x1 <= M -> Rabs x2 <= M -> good 2 (step (step (0, 0) x1) x2) (x1 + x2).
Proof.
intros F1 F2 H1 H2. destruct u_16 as [u0 u1].
assert (F0 : format 0) by apply generic_format_0.
assert (E1 : step (0, 0) x1 = (x1, 0)).
{ unfold step.
  now rewrite Rminus_0_r, (fl_id x1), Rplus_0_l, (fl_id x1), Rminus_0_r, (fl_id x1), Rminus_diag_eq, (fl_id 0)
    by auto. }
rewrite E1. destruct (one_step x1 0 x2 F1 F0 F2) as (al & be & ga & Ey & Hal & Et & Hbe & Hbt & Ec & Hgb & Hga).
unfold step. rewrite Rminus_0_r in *. rewrite (fl_id x2 F2) in *.
assert (al = 0) as -> by lra. clear Ey Hal.
set (t := fl (x1 + x2)) in *. set (c' := fl (fl (t - x1) - x2)) in *.
assert (M0 : 0 <= M) by (apply Rle_trans with (2 := H1), Rabs_pos).
assert (S : Rabs (x1 + x2) <= 2 * M) by (apply Rle_trans with (1 := Rabs_triang _ _); lra).
assert (Sb : Rabs be <= u * (2 * M)) by (apply Rle_trans with (1 := Hbe), Rmult_le_compat_l; lra).
assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
assert (Hg : Rabs ga <= u * M * (1 + 2 * u)).
{ destruct Hga as [-> | [_ Hga]]; [rewrite Rabs_R0; apply Rmult_le_pos; lra|].
  apply Rle_trans with (1 := Hga). replace (u * M * (1 + 2 * u)) with (u * (1 + 2 * u) * M) by ring.
  apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra. }
constructor; simpl; try apply format_fl.
- rewrite Et. replace (x1 + x2 + be - (x1 + x2)) with be by ring. lra.
- intros _ _. rewrite Et. replace (x1 + x2 + be - (x1 + x2)) with be by ring. lra.
- exact S.
- rewrite Ec. apply Rle_trans with (1 := Rabs_triang _ _). lra.
- rewrite Ec, Et. replace (x1 + x2 + be - (be + ga) - (x1 + x2)) with (- ga) by ring. rewrite Rabs_Ropp.
  replace (x1 + x2 + be - (be + ga)) with (x1 + x2 - ga) by ring.
  rewrite Rmax_right.
  + unfold B. replace (2 - 2) with 0 by ring. rewrite Rmult_0_l, Rmult_0_r. lra.
  + apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. unfold K.
    assert (u * M * (1 + 2 * u) <= M).
    { replace (u * M * (1 + 2 * u)) with (u * (1 + 2 * u) * M) by ring. rewrite <- (Rmult_1_l M) at 2.
      apply Rmult_le_compat_r; nra. }
    lra.
Qed.

Lemma good_fold l :
  forall i sc X,
    2 <= i -> (i + INR (length l)) * u <= / 4 -> good i sc X -> Forall (fun x => format x /\ Rabs x <= M) l
    -> good (i + INR (length l)) (fold_left step l sc) (X + sum l).
Proof.
destruct u_16 as [u0 _].
induction l as [|x l IH]; intros i sc X Hi Hu G F.
- simpl in *. now rewrite !Rplus_0_r.
- cbn [length fold_left sum fold_right] in *. fold (sum l). rewrite S_INR in *. destruct (Forall_inv F) as [Fx Bx].
  replace (i + (INR (length l) + 1)) with (i + 1 + INR (length l)) in * by ring.
  replace (X + (x + sum l)) with (X + x + sum l) by ring.
  apply IH; auto; [lra| |now apply Forall_inv_tail in F].
  apply good_step; auto. generalize (pos_INR (length l)). nra.
Qed.

Theorem kahan_error_both l :
  INR (length l) * u <= / 4 -> Forall (fun x => format x /\ Rabs x <= M) l
  -> Rabs (kahan l - sum l) <= 3 * u * INR (length l) * M
     /\ (u <= / 256 -> INR (length l) * u <= / 64 -> Rabs (kahan l - sum l) <= 9 / 4 * u * INR (length l) * M).
Proof.
intros Hu F. destruct u_16 as [u0 u1]. unfold kahan.
destruct l as [|x1 [|x2 l]].
- simpl. rewrite Rminus_0_r, Rabs_R0. lra.
- destruct (Forall_inv F) as [F1 B1]. simpl.
  rewrite Rminus_0_r, (fl_id x1), !Rplus_0_l, (fl_id x1), Rplus_0_r, Rminus_diag_eq, Rabs_R0 by auto.
  assert (0 <= M) by (apply Rle_trans with (2 := B1), Rabs_pos). assert (0 <= u * M) by (apply Rmult_le_pos; lra). lra.
- destruct (Forall_inv F) as [F1 B1]. destruct (Forall_inv (Forall_inv_tail F)) as [F2 B2].
  assert (E : INR (length (x1 :: x2 :: l)) = 2 + INR (length l)) by (cbn [length]; rewrite !S_INR; ring).
  rewrite E in *.
  assert (G := good_fold l 2 _ _ ltac:(lra) Hu (good_2 x1 x2 F1 F2 B1 B2) (Forall_inv_tail (Forall_inv_tail F))).
  destruct G as [_ _ G G2 _ _ _]. cbn [fold_left sum fold_right]. fold (sum l).
  replace (x1 + (x2 + sum l)) with (x1 + x2 + sum l) by ring. auto.
Qed.

Theorem kahan_error l :
  INR (length l) * u <= / 4 -> Forall (fun x => format x /\ Rabs x <= M) l
  -> Rabs (kahan l - sum l) <= 3 * u * INR (length l) * M.
Proof. intros. now apply kahan_error_both. Qed.

(** Sharper for k >= 7 and n <= 2^(k-5): 9/4 in place of 3. *)
Theorem kahan_error_sharp l :
  u <= / 256 -> INR (length l) * u <= / 64 -> Forall (fun x => format x /\ Rabs x <= M) l
  -> Rabs (kahan l - sum l) <= 9 / 4 * u * INR (length l) * M.
Proof. intros. apply kahan_error_both; auto. lra. Qed.

(** The state after two records or more. *)
Lemma good_prefix l :
  (2 <= length l)%nat -> INR (length l) * u <= / 4 -> Forall (fun x => format x /\ Rabs x <= M) l
  -> good (INR (length l)) (fold_left step l (0, 0)) (sum l).
Proof.
intros H2 Hu F. destruct l as [|x1 [|x2 l]]; simpl in H2; try lia.
destruct (Forall_inv F) as [F1 B1]. destruct (Forall_inv (Forall_inv_tail F)) as [F2 B2].
assert (E : INR (length (x1 :: x2 :: l)) = 2 + INR (length l)) by (cbn [length]; rewrite !S_INR; ring). rewrite E in *.
cbn [fold_left sum fold_right]. fold (sum l). replace (x1 + (x2 + sum l)) with (x1 + x2 + sum l) by ring.
apply good_fold; auto; [lra|apply good_2; auto|]. now do 2 apply Forall_inv_tail in F.
Qed.

(** What is rounded in one step, before it is rounded. *)
Lemma step_room i s c X x :
  2 <= i -> (i + 1) * u <= / 4 -> good i (s, c) X -> format x -> Rabs x <= M
  -> let y := fl (x - c) in
     let t := fl (s + y) in
     let z := fl (t - s) in
     Rabs (x - c) <= 3 * M
     /\ Rabs (s + y) <= (i + 1) * M + 3 * u * (i + 1) * M
     /\ Rabs (t - s) <= 3 * M
     /\ Rabs (z - y) <= 3 * M.
Proof.
intros Hi Hu [Fs Fc HE _ HX Hc HP] Fx Hx y t z. simpl in *. destruct u_16 as [u0 u1].
assert (M0 : 0 <= M) by (apply Rle_trans with (2 := Hx), Rabs_pos).
assert (Hs : Rabs s <= (1 + 3 * u) * i * M).
{ replace s with ((s - X) + X) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
assert (iM : 0 <= i * M) by (apply Rmult_le_pos; lra).
assert (Hh2 : Rabs c <= 19 / 32 * M).
{ apply Rle_trans with (1 := Hc). apply Rle_trans with (2 * u * ((1 + 3 * u) * i * M)); [apply Rmult_le_compat_l; lra|].
  replace (2 * u * ((1 + 3 * u) * i * M)) with (2 * (1 + 3 * u) * (i * u) * M) by ring. apply Rmult_le_compat_r; auto.
  apply Rle_trans with (2 * (19 / 16) * (/ 4)); [|lra]. apply Rmult_le_compat; try lra. apply Rmult_le_pos; lra. }
assert (Hxc : Rabs (x - c) <= 51 / 32 * M) by (apply Rle_trans with (1 := Rabs_triang _ _); rewrite Rabs_Ropp; lra).
assert (Fy : format y) by apply format_fl. assert (Ft : format t) by apply format_fl.
assert (Hal : Rabs (y - (x - c)) <= u * (51 / 32 * M)).
{ apply Rle_trans with (1 := sub_err x c Fx Fc). apply Rmult_le_compat_l; lra. }
assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
assert (HF : Rabs (s - c - X) + Rabs (y - (x - c)) <= 3 * u * (i + 1) * M).
{ generalize (Rmax_r (Rabs (s - c)) (K * M)); intros KM.
  assert (A : Rabs (s - c - X) <= u * M * (B i - K)).
  { assert (u * (K * M) <= u * Rmax (Rabs (s - c)) (K * M)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (BK : B i - K <= 9 / 8 + 3 * (i - 2)).
  { unfold B. assert (ka : (1 + u) * (1 + 2 * u) <= 6 / 5) by nra.
    assert (iu : 0 <= i * u) by (apply Rmult_le_pos; lra).
    assert (w : 0 <= 1 + 19 / 16 * u * (i + 1) <= 83 / 64) by lra.
    assert (P : (1 + (1 + u) * (1 + 2 * u)) * (1 + 19 / 16 * u * (i + 1)) <= 3).
    { apply Rle_trans with (11 / 5 * (83 / 64)); [|lra]. apply Rmult_le_compat; try lra.
      assert (0 <= (1 + u) * (1 + 2 * u)) by (apply Rmult_le_pos; lra). lra. }
    replace ((1 + (1 + u) * (1 + 2 * u)) * ((i - 2) * (1 + 19 / 16 * u * (i + 1))))
      with ((1 + (1 + u) * (1 + 2 * u)) * (1 + 19 / 16 * u * (i + 1)) * (i - 2)) by ring.
    assert ((1 + (1 + u) * (1 + 2 * u)) * (1 + 19 / 16 * u * (i + 1)) * (i - 2) <= 3 * (i - 2))
      by (apply Rmult_le_compat_r; lra).
    lra. }
  assert (u * M * (B i - K) <= u * M * (9 / 8 + 3 * (i - 2))) by (apply Rmult_le_compat_l; lra).
  replace (3 * u * (i + 1) * M) with (u * M * (3 * (i + 1))) by ring.
  assert (u * M * (9 / 8 + 3 * (i - 2)) + u * (51 / 32 * M) <= u * M * (3 * (i + 1))); [|lra].
  replace (u * M * (9 / 8 + 3 * (i - 2)) + u * (51 / 32 * M)) with (u * M * (9 / 8 + 3 * (i - 2) + 51 / 32)) by ring.
  apply Rmult_le_compat_l; lra. }
assert (Hsy : Rabs (s + y) <= (i + 1) * M + 3 * u * (i + 1) * M).
{ replace (s + y) with (X + x + ((s - c - X) + (y - (x - c)))) by ring.
  generalize (Rabs_triang (X + x) ((s - c - X) + (y - (x - c)))) (Rabs_triang X x)
    (Rabs_triang (s - c - X) (y - (x - c))).
  lra. }
assert (Hy : Rabs y <= 17 / 10 * M).
{ replace y with ((x - c) + (y - (x - c))) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
  assert (u * (51 / 32 * M) <= / 16 * (51 / 32 * M)) by (apply Rmult_le_compat_r; lra). lra. }
assert (Hbe : Rabs (t - (s + y)) <= 3 / 10 * M).
{ apply Rle_trans with (1 := add_err s y Fs Fy).
  apply Rle_trans with (u * ((i + 1) * M + 3 * u * (i + 1) * M)); [apply Rmult_le_compat_l; lra|].
  replace (u * ((i + 1) * M + 3 * u * (i + 1) * M)) with ((i + 1) * u * (1 + 3 * u) * M) by ring.
  apply Rmult_le_compat_r; auto.
  apply Rle_trans with (/ 4 * (19 / 16)); [|lra]. apply Rmult_le_compat; try lra. apply Rmult_le_pos; lra. }
assert (Hts : Rabs (t - s) <= 2 * M).
{ replace (t - s) with (y + (t - (s + y))) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
repeat split; try lra; auto.
replace (z - y) with ((z - (t - s)) + (t - (s + y))) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
assert (Rabs (z - (t - s)) <= u * Rabs (t - s)) by (apply sub_err; auto).
assert (u * Rabs (t - s) <= / 16 * (2 * M)) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra.
Qed.
End Kahan.

(** For every precision: below 4 bits n u <= 1/4 leaves two records, of which only one addition is rounded. *)
Section Sensitivity.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Hypothesis emin_0 : (emin <= 0)%Z.
Notation format := (generic_format radix2 (FLT_exp emin p)).
Notation u := (Trees.u p).
Notation kahan := (kahan p emin).

Definition kahan_accuracy (n : nat) (M : R) := 3 * u * INR n * M.

Lemma kahan_of_two l :
  (length l <= 2)%nat -> Forall (fun x => format x) l -> Rabs (kahan l - sum l) <= u * Rabs (sum l).
Proof.
assert (id : forall x, format x -> round radix2 (FLT_exp emin p) ZnearestE x = x)
  by (intros; apply round_generic; auto with typeclass_instances).
assert (id0 : round radix2 (FLT_exp emin p) ZnearestE 0 = 0) by (apply round_0; auto with typeclass_instances).
destruct l as [|x [|y [|z l]]]; intros H F; simpl in H; try lia; unfold Kahan.kahan;
cbn [fold_left step fst sum fold_right].
- rewrite Rminus_0_r, Rabs_R0. generalize (u_pos p); lra.
- generalize (Forall_inv F); intros Fx.
  rewrite !Rminus_0_r, !Rplus_0_l, !Rplus_0_r, !(id x), Rminus_diag_eq, Rabs_R0 by auto.
  apply Rmult_le_pos; [generalize (u_pos p); lra|apply Rabs_pos].
- generalize (Forall_inv F) (Forall_inv (Forall_inv_tail F)); intros Fx Fy.
  repeat (rewrite Rminus_0_r || rewrite Rplus_0_l || rewrite Rplus_0_r || rewrite (id x Fx) || rewrite (id y Fy) ||
    rewrite (Rminus_diag_eq x x eq_refl) || rewrite id0).
  apply add_u; auto.
Qed.

Theorem kahan_is_accurate n : INR n * u <= / 4 -> accurate_up_to (fun x => format x) kahan (kahan_accuracy n) n.
Proof.
intros Hu M l M0 Hn F. generalize (u_pos p); intros u0. unfold kahan_accuracy.
assert (Hl : INR (length l) <= INR n) by now apply le_INR.
assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
apply Rle_trans with (3 * u * INR (length l) * M).
2:{ replace (3 * u * INR (length l) * M) with (3 * (INR (length l) * (u * M))) by ring.
    replace (3 * u * INR n * M) with (3 * (INR n * (u * M))) by ring. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_compat_r; lra. }
destruct (Z_le_gt_dec 4 p) as [h|h].
- apply kahan_error; auto. apply Rle_trans with (2 := Hu). apply Rmult_le_compat_r; lra.
- assert (u8 : / 8 <= u) by (change (/ 8) with (bpow radix2 (-3)); apply bpow_le; lia).
  assert (n2 : (n <= 2)%nat).
  { apply INR_le. replace (INR 2) with 2 by reflexivity. generalize (pos_INR n). nra. }
  assert (Fl : Forall (fun x => format x) l) by (apply Forall_impl with (2 := F); intros x Hx; apply Hx).
  assert (Fm : Forall (fun x => Rabs x <= M) l) by (apply Forall_impl with (2 := F); intros x Hx; apply Hx).
  apply sum_of_magnitudes in Fm. apply Rle_trans with (1 := kahan_of_two l ltac:(lia) Fl).
  assert (S : Rabs (sum l) <= sum (map Rabs l)).
  { clear. induction l as [|x l IH]; simpl; [rewrite Rabs_R0; lra|]. apply Rle_trans with (1 := Rabs_triang _ _).
    fold (sum l) (sum (map Rabs l)). lra. }
  assert (u * Rabs (sum l) <= u * (INR (length l) * M)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= u * (INR (length l) * M)) by (apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; [apply pos_INR|lra]). lra.
Qed.

Theorem kahan_is_accurate_sharp n :
  (4 <= p)%Z -> u <= / 256 -> INR n * u <= / 64
  -> accurate_up_to (fun x => format x) kahan (fun M => 9 / 4 * u * INR n * M) n.
Proof.
intros p4 Hu Hn M l M0 Hl F. generalize (u_pos p); intros u0.
assert (Hln : INR (length l) <= INR n) by now apply le_INR.
assert (uM : 0 <= u * M) by (apply Rmult_le_pos; lra).
apply Rle_trans with (9 / 4 * u * INR (length l) * M).
- apply kahan_error_sharp; auto. apply Rle_trans with (2 := Hn). apply Rmult_le_compat_r; lra.
- replace (9 / 4 * u * INR (length l) * M) with (9 / 4 * (INR (length l) * (u * M))) by ring.
  replace (9 / 4 * u * INR n * M) with (9 / 4 * (INR n * (u * M))) by ring.
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra.
Qed.

Variables (X : Type) (c : X -> R) (L U : R) (n : nat).
Hypothesis LU : L <= U.
Hypothesis c_within : forall x, within L U (c x).
Hypothesis c_format : forall x, format (c x).
Hypothesis few_enough : INR n * u <= / 4.
Notation M := (magnitude L U).
Notation k_bits := (bpow radix2 (1 - p)).

Lemma twice_the_accuracy m : 2 * kahan_accuracy n m = 3 * INR n * m * k_bits.
Proof.
unfold kahan_accuracy, Trees.u. replace (1 - p)%Z with (1 + - p)%Z by ring. rewrite bpow_plus.
change (bpow radix2 1) with 2. ring.
Qed.

Theorem kahan_change_one (d d' : list X) :
  length d = n -> change_one d d' -> Rabs (kahan (map c d) - kahan (map c d')) <= U - L + 3 * INR n * M * k_bits.
Proof.
intros Hd H. rewrite <- twice_the_accuracy. apply from_accuracy_change_one with (fun x => format x) n; auto.
intros m l m0 Hl. apply (kahan_is_accurate n few_enough m l m0). lia.
Qed.

Theorem kahan_cut :
  sensitivity insert_delete (fun d => kahan (map c (firstn n d))) (Rmax M (U - L) + 3 * INR n * M * k_bits).
Proof.
rewrite <- twice_the_accuracy. apply from_accuracy_cut with (fun x => format x); auto using kahan_is_accurate.
Qed.

Theorem kahan_split :
  L <= 0 <= U
  -> sensitivity insert_delete (split_sum kahan n X c)
       (Rmax (Rabs L + 3 * INR n * Rabs L * k_bits) (Rabs U + 3 * INR n * Rabs U * k_bits)).
Proof.
intros [L0 U0]. rewrite <- !twice_the_accuracy.
apply from_accuracy_split with (fun x => format x); auto using kahan_is_accurate, generic_format_0.
Qed.
End Sensitivity.
