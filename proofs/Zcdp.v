(** Discrete Gaussian noise is (Delta^2 / (2 sigma^2))-zCDP: every Renyi divergence, of every real order above 1.

    Page: docs/theorems/noise.md. *)

From Coq Require Import FinFun List ZArith Reals Lra Lia Psatz Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace Private Gaussian Theta.
Import ListNotations.
Open Scope R_scope.

(** Sums of P^alpha Q^(1 - alpha), over any finite set of results, are at most exp((alpha - 1) alpha rho): the divergence
    of order alpha is at most alpha rho. *)
Definition zcdp (rho : R) (P Q : Z -> R) :=
  forall alpha, 1 < alpha
  -> bounded (fun z => Rpower (P z) alpha * Rpower (Q z) (1 - alpha)) (exp ((alpha - 1) * (alpha * rho))).

Section Gaussian.
Variables p q : Z.
Hypothesis p_pos : (0 < p)%Z.
Hypothesis q_pos : (0 < q)%Z.

(** 1 / (2 sigma^2) *)
Definition c := IZR q / (2 * IZR p).

Lemma c_pos : 0 < c.
Proof. unfold c. apply IZR_lt in p_pos, q_pos. apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat. lra. Qed.

(** The law of a + Z. *)
Definition gaussian_mass (a z : Z) : R := g c (IZR a) z / theta c 0.

Theorem gaussian_mass_is_zcdp a b : zcdp (IZR (a - b) ^ 2 * IZR q / (2 * IZR p)) (gaussian_mass a) (gaussian_mass b).
Proof.
intros alpha A l N. set (rho := IZR (a - b) ^ 2 * IZR q / (2 * IZR p)).
assert (R : rho = c * (IZR a - IZR b) ^ 2).
{ unfold rho, c. rewrite minus_IZR. assert (0 < IZR p) by now apply IZR_lt. field. lra. }
assert (T := theta_pos c 0 c_pos). set (x := alpha * IZR a + (1 - alpha) * IZR b).
assert (L : forall y z, ln (g c y z / theta c 0) = - (c * (IZR z - y) ^ 2) - ln (theta c 0)).
{ intros y z. unfold Rdiv. rewrite ln_mult, ln_Rinv; auto using g_pos, Rinv_0_lt_compat. unfold g. now rewrite ln_exp. }
rewrite (lsum_ext _ _ (fun z => exp ((alpha - 1) * (alpha * rho)) / theta c 0 * g c x z)).
- rewrite lsum_scal. apply Rle_trans with (exp ((alpha - 1) * (alpha * rho)) / theta c 0 * theta c 0).
  + apply Rmult_le_compat_l; [apply Rlt_le, Rmult_lt_0_compat; [apply exp_pos|now apply Rinv_0_lt_compat]|].
    apply Rle_trans with (theta c x); [now apply theta_bounds, c_pos || (apply theta_bounds; auto using c_pos)|].
    apply largest_in_the_middle, c_pos.
  + right. field. lra.
- intros z _. unfold gaussian_mass, Rpower. rewrite !L, <- exp_plus.
  replace (exp ((alpha - 1) * (alpha * rho)) / theta c 0)
    with (exp ((alpha - 1) * (alpha * rho)) * exp (- ln (theta c 0))) by (rewrite exp_Ropp, exp_ln by auto; reflexivity).
  unfold g at 1. rewrite <- !exp_plus. f_equal. rewrite R. unfold x. ring.
Qed.

(** What the sampler draws has this law. *)
Lemma bell_is z : bell p q z = g c 0 z.
Proof.
unfold bell, g, c. f_equal. rewrite Rminus_0_r, Z.pow_2_r, mult_IZR. assert (0 < IZR p) by now apply IZR_lt. field. lra.
Qed.

Theorem the_gaussian_is_exact z :
  Un_cv (fun fuel => weigh (gaussian fuel p q) (is z)) (gaussian_mass 0 z).
Proof.
assert (t0 : (0 < Z.sqrt (p / q) + 1)%Z) by (generalize (Z.sqrt_nonneg (p / q)); lia).
destruct (gaussian_law (Z.sqrt (p / q) + 1) p q t0 p_pos q_pos) as (N & N0 & C & L).
assert (E : N = theta c 0).
{ apply Rle_antisym.
  - apply (limits_le (fun M => window M (bell p q)) (fun _ => theta c 0)); auto using tends_const. intros M.
    rewrite (window_ext M _ (g c 0)) by apply bell_is. rewrite <- lsum_interval. apply theta_bounds; [apply c_pos|].
    apply NoDup_interval.
  - apply theta_least; [apply c_pos|]. intros l D. destruct (in_interval l) as [M I].
    apply Rle_trans with (window M (bell p q)).
    + rewrite (window_ext M _ (g c 0)) by apply bell_is. rewrite <- lsum_interval. apply lsum_incl; auto.
      intros; apply Rlt_le, g_pos.
    + apply (growing_ineq (fun M => window M (bell p q))); auto. apply window_grows. intros; apply Rlt_le, exp_pos. }
unfold gaussian_mass. rewrite <- bell_is, <- E. apply L.
Qed.

Definition gaussian_sample (bytes : list Z) : option (Z * list Z) := run (gaussian (S (S (length bytes))) p q) bytes.

Theorem the_gaussian_is_exact_on_bytes z :
  probability (fun bytes => match gaussian_sample bytes with Some (z', _) => (z =? z')%Z | None => false end)
    (gaussian_mass 0 z).
Proof.
destruct (chances_tend _ (fun fuel => gaussian fuel p q) (fun n => S (S n)) (Z.eqb z) (gaussian_mass 0 z)) as [T _].
- intros; now apply gaussian_extended.
- auto.
- apply the_gaussian_is_exact.
- unfold probability. apply tends_ext with (2 := T). intros n. unfold share, chance. do 2 f_equal.
  apply filter_length_ext. intros bytes H. apply strings_length in H. unfold gaussian_sample, gives. now rewrite H.
Qed.

Lemma moved_mass a v : gaussian_mass 0 (v - a) = gaussian_mass a v.
Proof. unfold gaussian_mass, g. rewrite minus_IZR. do 4 f_equal. ring. Qed.
End Gaussian.
