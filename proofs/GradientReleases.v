(** Releases of clipped gradients (docs/theorems/gradients.md): the sum of integers that are clipped to a length of at most K,
    with round(sigma G) added to every coordinate, sigma = ceil(z K). By the rounded Gaussian's law they are 1 / (2 z^2)-zCDP,
    so (epsilon, delta)-DP. That the code's sampler has this law is no part of this. *)

From Coq Require Import List Permutation ZArith QArith Qreals Reals Lra Lia Psatz Bool Arith.
From Flocq Require IEEE754.Bits.
From Soundsum Require Import Relations Sums Gradients GradientRows Programs Private Composition Theta Released Renyi.
From Soundsum Require Import GaussianReleases Normal.
Import ListNotations.
Open Scope R_scope.

(** `Sum.sigma`, of a noise multiplier. *)
Definition sigma_for (multiplier : Q) (K : Z) : Z := Qround.Qceiling (multiplier * inject_Z K).

Definition curve_of (sigma : Z) : R := / (2 * IZR sigma ^ 2).

(** P(R in E) <= e^epsilon P(R' in E) + delta for every event E that is a finite set of results, and so for every other. *)
Definition nearly_as_likely {A} (epsilon delta : R) (P Q : A -> R) :=
  forall l, NoDup l -> lsum P l <= exp epsilon * lsum Q l + delta.

Theorem zcdp_laws_are_nearly_as_likely A rho alpha epsilon delta (P Q : A -> R) :
  (forall a, 0 <= P a) -> (forall a, 0 <= Q a) -> zcdp_laws rho P Q
  -> 1 < alpha -> 0 < delta -> alpha * rho - epsilon <= log_term alpha delta -> nearly_as_likely epsilon delta P Q.
Proof.
intros P0 Q0 [S B] A1 D L l N. set (k := loss_factor alpha * exp (- ((alpha - 1) * epsilon))).
apply Rle_trans with (lsum (fun a => exp epsilon * Q a + k * term alpha (P a) (Q a)) l).
- apply lsum_le. intros a _. unfold k. apply pointwise; auto.
- assert (E : forall (f h : A -> R) (x y : R) m, lsum (fun a => x * f a + y * h a) m = x * lsum f m + y * lsum h m).
  { intros f h x y m. induction m as [|a m IH]; cbn [lsum]; [ring|]. rewrite IH. ring. }
  rewrite (E Q (fun a => term alpha (P a) (Q a))). apply Rplus_le_compat_l.
  apply Rle_trans with (2 := the_codes_conversion alpha delta rho epsilon A1 D L). unfold k.
  replace (exp ((alpha - 1) * (alpha * rho - epsilon)))
    with (exp (- ((alpha - 1) * epsilon)) * exp ((alpha - 1) * (alpha * rho))) by (rewrite <- exp_plus; f_equal; ring).
  rewrite <- Rmult_assoc. apply Rmult_le_compat_l; [|now apply B].
  apply Rmult_le_pos; [|apply Rlt_le, exp_pos]. unfold loss_factor. apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|lra].
Qed.

Section Release.
Variables (X : Type) (q : X -> nat -> Z) (d : nat) (K : Z) (multiplier : Q).
Hypothesis K_pos : (0 < K)%Z.
Hypothesis multiplier_pos : (0 < multiplier)%Q.
Hypothesis each_at_most : forall x, (length2 d (q x) <= K * K)%Z.

Definition gradient_sums (u : list X) : list Z := map (clipped_sum X q u) (seq 0 d).

Notation sigma := (sigma_for multiplier K).

(** The law of the integers that are released. *)
Definition noisy_gradients (u : list X) : list Z -> R := rounded_vector (curve_of sigma) (gradient_sums u).

Lemma moved_by u v : L2 (gradient_sums u) (gradient_sums v) = length2 d (difference X q u v).
Proof.
unfold gradient_sums, length2, squares, sumZ, difference. induction (seq 0 d) as [|j l IH]; [reflexivity|].
cbn [map L2 fold_right]. now rewrite IH.
Qed.

Lemma sigma_is_enough : 0 < Q2R multiplier * IZR K <= IZR sigma.
Proof.
assert (M : 0 < Q2R multiplier) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (K0 : 0 < IZR K) by now apply IZR_lt. split; [now apply Rmult_lt_0_compat|].
assert (E : forall n, Q2R (inject_Z n) = IZR n) by (intros; unfold Q2R; cbn; field).
rewrite <- (E K), <- (E sigma), <- Q2R_mult. apply Qle_Rle, Qround.Qle_ceiling.
Qed.

Lemma curve_of_sigma n :
  0 < curve_of sigma /\ ((0 <= n)%Z -> curve_of sigma * IZR (n * (K * K)) <= IZR n * / (2 * Q2R multiplier ^ 2)).
Proof.
destruct sigma_is_enough as [S0 S1]. assert (K0 : 0 < IZR K) by now apply IZR_lt.
assert (M : 0 < Q2R multiplier) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt). set (s := IZR sigma) in *.
unfold curve_of. fold s. assert (P : 0 < 2 * s ^ 2) by nra. split; [now apply Rinv_0_lt_compat|]. intros N. apply IZR_le in N.
rewrite !mult_IZR. replace (/ (2 * s ^ 2) * (IZR n * (IZR K * IZR K))) with (IZR n * (IZR K ^ 2 * / (2 * s ^ 2))) by ring.
apply Rmult_le_compat_l; [exact N|]. set (m := Q2R multiplier) in *.
apply Rmult_le_reg_r with (2 * s ^ 2); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
apply Rmult_le_reg_l with (2 * m ^ 2); [nra|]. rewrite <- Rmult_assoc with (r2 := / (2 * m ^ 2)), Rinv_r, Rmult_1_l by nra.
assert ((m * IZR K) ^ 2 <= s ^ 2) by (apply pow_incr; lra). nra.
Qed.

Lemma moved_at_most n u v :
  (0 <= n)%Z -> (length2 d (difference X q u v) <= n * (K * K))%Z
  -> zcdp_laws (IZR n * / (2 * Q2R multiplier ^ 2)) (noisy_gradients u) (noisy_gradients v).
Proof.
intros N H. destruct (curve_of_sigma n) as [C L]. specialize (L N).
destruct (rounded_vectors_are_zcdp (curve_of sigma) C (gradient_sums u) (gradient_sums v)) as [S B].
{ unfold gradient_sums. now rewrite !map_length. }
split; [exact S|]. intros alpha A l D. apply Rle_trans with (1 := B alpha A l D). apply exp_le.
apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (2 := L).
apply Rmult_le_compat_l; [lra|]. apply IZR_le. rewrite moved_by. exact H.
Qed.

(** Adding or removing an example, in any order: 1 / (2 z^2)-zCDP. *)
Theorem one_example_is_zcdp u v :
  symmetric u v -> zcdp_laws (/ (2 * Q2R multiplier ^ 2)) (noisy_gradients u) (noisy_gradients v).
Proof.
intros H. rewrite <- (Rmult_1_l (/ _)). apply (moved_at_most 1); [lia|]. rewrite Z.mul_1_l.
now apply in_any_order_too.
Qed.

(** Changing one: four times that. *)
Theorem a_changed_example_is_zcdp u v :
  change_one u v -> zcdp_laws (4 * / (2 * Q2R multiplier ^ 2)) (noisy_gradients u) (noisy_gradients v).
Proof.
intros H. apply (moved_at_most 4); [lia|]. apply Z.le_trans with ((2 * K) * (2 * K))%Z; [now apply changing_one_moves_at_most_2_K|lia].
Qed.

Lemma noisy_gradients_nonneg u r : 0 <= noisy_gradients u r.
Proof. apply rounded_vector_nonneg. now destruct (curve_of_sigma 0). Qed.

Theorem one_example_is_hidden alpha epsilon delta u v :
  symmetric u v -> 1 < alpha -> 0 < delta -> alpha * / (2 * Q2R multiplier ^ 2) - epsilon <= log_term alpha delta
  -> nearly_as_likely epsilon delta (noisy_gradients u) (noisy_gradients v).
Proof.
intros H A D L. apply (zcdp_laws_are_nearly_as_likely _ (/ (2 * Q2R multiplier ^ 2)) alpha); auto using noisy_gradients_nonneg.
now apply one_example_is_zcdp.
Qed.

(** Drawn by any programs that have this law, for every event of anything that is computed from it: reduced modulo 2^64,
    scaled, rounded to floats. *)
Theorem a_gradient_release_is_private A (read : list Z -> A) alpha epsilon delta (p : list X -> nat -> program (list Z)) u v :
  (forall w, grows (p w)) -> (forall w, law same_vector (p w) (noisy_gradients w))
  -> symmetric u v -> 1 < alpha -> 0 < delta -> alpha * / (2 * Q2R multiplier ^ 2) - epsilon <= log_term alpha delta
  -> nearly_private epsilon delta (then_read (p u) read) (then_read (p v) read).
Proof.
intros G W H A1 D L. apply (nearly_more _ _ _ _ _ _ (the_codes_conversion alpha delta _ epsilon A1 D L)).
apply (zcdp_is_nearly_private _ _ same_vector); auto. intros P Q LP LQ.
apply (zcdp_laws_ext _ _ (noisy_gradients u) (noisy_gradients v)).
- intros. apply (law_unique same_vector (p u)); auto.
- intros. apply (law_unique same_vector (p v)); auto.
- now apply one_example_is_zcdp.
Qed.
End Release.

(** Of gradients with any bits, clipped whole. *)
Theorem gradients_of_any_bits_are_zcdp d a room precision K multiplier (u v : list (list Bits.binary64)) :
  (1 <= precision)%Z -> (0 < K)%Z -> (0 < multiplier)%Q -> symmetric u v
  -> let q row j := nth j (clip_row a room precision K row) 0%Z in
     zcdp_laws (/ (2 * Q2R multiplier ^ 2)) (noisy_gradients _ q d K multiplier u) (noisy_gradients _ q d K multiplier v).
Proof.
intros P K0 M H. cbv zeta. apply one_example_is_zcdp; auto. intros row.
apply Z.le_trans with (1 := length2_of_nth d _). now apply clip_row_at_most.
Qed.

(** In blocks, one after another, each with its limit, which may be chosen in any way from the example itself. *)
Theorem gradients_in_blocks_are_zcdp X d a room precision K multiplier (blocks : X -> list (Z * list Bits.binary64)) u v :
  (1 <= precision)%Z -> (0 < K)%Z -> (0 < multiplier)%Q -> symmetric u v
  -> let q x j := nth j (concat (clip_blocks a room precision K (blocks x))) 0%Z in
     zcdp_laws (/ (2 * Q2R multiplier ^ 2)) (noisy_gradients _ q d K multiplier u) (noisy_gradients _ q d K multiplier v).
Proof.
intros P K0 M H. cbv zeta. apply one_example_is_zcdp; auto. intros x.
apply Z.le_trans with (1 := length2_of_nth d _). now apply clip_blocks_at_most.
Qed.
