(** Releases by any other method: a sum with a proved bound (`Claims`), floored to a step, with noise; modular sums, whose
    noise wraps as they do; and methods that permute secretly, whose bound is a coupling, as a statement about
    probabilities. Truncation is in the claims.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List Permutation ZArith QArith Qreals Reals Lra Lia Bool.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Conditions Claims Programs Coins Private Composition Shares Released.
From Soundsum Require Import Renyi GaussianReleases Deltas.
From Soundsum Require Privacy Modular Bounds Split Saturating.
Import ListNotations.
Open Scope R_scope.

(** * One number *)
Definition one_number (n : Z) : norms := Norms n (n * n) 1.

(** Laplace noise; Gaussian noise with an alpha of the analysis (any will do) and a delta; or Gaussian noise whose sigma^2, by
    how far the number moves, is enough by the discrete Gaussian's own delta. *)
Inductive promise :=
  Pure (epsilon : Q) | Concentrated (rho : Q) (alpha epsilon delta : R) | Within (own : Z -> Q) (epsilon delta : Q).

Definition noise_for (p : promise) (n : Z) : noise :=
  match p with
  | Pure epsilon => laplace_for epsilon (one_number n)
  | Concentrated rho _ _ _ => gaussian_for rho (one_number n)
  | Within own epsilon delta => gaussian_within (fun n _ _ => own n) (fun _ _ => 0%Q) epsilon delta 1 (one_number n)
  end.

(** Of a number that moves by at most n. *)
Definition is_kept (p : promise) (n : Z) : Prop :=
  match p with
  | Pure epsilon => (0 < epsilon)%Q
  | Concentrated rho alpha epsilon delta =>
      (0 < rho)%Q /\ 1 < alpha /\ 0 < delta /\ alpha * Q2R rho - epsilon <= log_term alpha delta
  | Within own epsilon delta =>
      (0 <= epsilon)%Q /\ (0 <= delta)%Q
      /\ ((0 < n)%Z -> (0 < Qnum (own n))%Z /\ exists e, (0 <= e <= epsilon)%Q /\ gaussian_delta (own n) n e <= Q2R delta)
  end.

Definition epsilon_of (p : promise) : R := 
  match p with Pure epsilon | Within _ epsilon _ => Q2R epsilon | Concentrated _ _ epsilon _ => epsilon end.
Definition delta_of (p : promise) : R := 
  match p with Pure _ => 0 | Concentrated _ _ _ delta => delta | Within _ _ delta => Q2R delta end.

Definition noisy_release {A} (p : promise) (n : Z) (read : Z -> A) (a : Z) : nat -> program A :=
  then_read (add_noise (noise_for p n) a) read.

Lemma grows_noisy_release A p n (read : Z -> A) a : grows (noisy_release p n read a).
Proof. apply grows_read, grows_add_noise. Qed.

Lemma private_is_nearly A epsilon (p p' : nat -> program A) : private epsilon p p' -> nearly_private epsilon 0 p p'.
Proof. intros H event. destruct (H event) as (x & x' & X & X' & E). exists x, x'. repeat split; auto. lra. Qed.

Lemma noisy_laplace_close n epsilon a b :
  (0 < epsilon)%Q -> (Z.abs (a - b) <= n)%Z
  -> close (Q2R epsilon) (add_noise (laplace_for epsilon (one_number n)) a) (add_noise (laplace_for epsilon (one_number n)) b).
Proof.
intros E H. assert (E0 : 0 < Q2R epsilon) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
destruct (is_moved (one_number n)) eqn:M.
- destruct (scale_is (one_number n) epsilon E M) as (t & s & -> & T & F). cbn [norm1 one_number] in F.
  apply (noisy_numbers_are_close t (Zpos s) a b (Q2R epsilon)); auto; [lia|]. rewrite <- F.
  apply Rmult_le_compat_l; [apply IZR_le; lia|now apply IZR_le].
- unfold is_moved in M. cbn [norm1 one_number] in M. apply Z.ltb_ge in M. replace b with a by lia. apply close_refl. lra.
Qed.

Theorem a_noisy_number_is_private A p n (read : Z -> A) a b :
  is_kept p n -> (Z.abs (a - b) <= n)%Z
  -> nearly_private (epsilon_of p) (delta_of p) (noisy_release p n read a) (noisy_release p n read b).
Proof.
intros K H. destruct p as [epsilon|rho alpha epsilon delta|own epsilon delta]; cbn [is_kept epsilon_of delta_of] in *.
- apply private_is_nearly, close_is_private; auto using grows_noisy_release.
  apply close_map; auto using grows_add_noise. now apply noisy_laplace_close.
- destruct K as (R & Al & D & L). apply (nearly_more _ _ _ _ _ _ (the_codes_conversion alpha delta (Q2R rho) epsilon Al D L)).
  apply (zcdp_is_nearly_private _ _ Z.eq_dec); auto using grows_add_noise. cbn [noise_for].
  destruct (is_moved (one_number n)) eqn:M.
  + unfold is_moved in M. cbn [norm1 one_number] in M. apply Z.ltb_lt in M.
    destruct (sigma_is (one_number n) rho R) as (s2 & E & P & F).
    * unfold is_moved. now apply Z.ltb_lt.
    * cbn [norm2 one_number]. nia.
    * rewrite E. rewrite <- F. cbn [norm2 one_number].
      apply (zcdp_more _ (IZR ((a - b) * (a - b)) * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2))));
        [|now apply noisy_numbers_are_zcdp].
      assert (0 < IZR (Qnum s2)) by now apply IZR_lt. unfold Rdiv. apply Rmult_le_compat_r.
      -- apply Rlt_le, Rinv_0_lt_compat. lra.
      -- apply Rmult_le_compat_r; apply IZR_le; [lia|nia].
  + unfold is_moved in M. cbn [norm1 one_number] in M. apply Z.ltb_ge in M. replace b with a by lia.
    apply (zcdp_more _ 0); [|apply zcdp_refl, grows_add_noise]. rewrite <- RMicromega.Q2R_0. now apply Qle_Rle, Qlt_le_weak.
- destruct K as (E & D & Own). apply nearly_close_is_private; auto using grows_noisy_release.
  apply nearly_close_map; auto using grows_add_noise. cbn [noise_for]. unfold gaussian_within. cbn [entries norm1 one_number].
  rewrite Z.eqb_refl. apply Qle_Rle in D. rewrite RMicromega.Q2R_0 in D. destruct (is_moved (one_number n)) eqn:M.
  + unfold is_moved in M. cbn [norm1 one_number] in M. apply Z.ltb_lt in M. destruct (Own M) as (P & e & [e0 Le] & G).
    apply nearly_close_more with (Q2R e) (gaussian_delta (own n) n e); auto; [now apply Qle_Rle|].
    now apply a_number_is_nearly_close.
  + unfold is_moved in M. cbn [norm1 one_number] in M. apply Z.ltb_ge in M. replace b with a by lia.
    apply nearly_close_more with 0 0; auto using nearly_close_refl. rewrite <- RMicromega.Q2R_0. now apply Qle_Rle.
Qed.

(** * Couplings, as probabilities *)
(** A uniform draw of o, in secret, and then a program: its probabilities are means. *)
Definition nearly_private_on_average {A B} (epsilon delta : R) (draws draws' : list A) (p : A -> nat -> program B) :=
  forall event, exists x : A -> R,
    (forall o, probability (on_bytes (p o) event) (x o))
    /\ Privacy.mean x draws <= exp epsilon * Privacy.mean x draws' + delta.

Lemma probability_unique (event : list Z -> bool) x y : probability event x -> probability event y -> x = y.
Proof. apply UL_sequence. Qed.

Theorem a_coupling_is_private A B epsilon delta (p : A -> nat -> program B) draws draws' :
  (forall o, grows (p o)) -> draws <> [] -> draws' <> []
  -> coupled draws draws' (fun o o' => nearly_private epsilon delta (p o) (p o'))
  -> nearly_private_on_average epsilon delta draws draws' p.
Proof.
intros G N N' (m & m' & pairs & Hm & Hm' & P & P' & H) event.
set (x o := proj1_sig (value B (p o) (passes event) (G o) (passes_is_a_weight _ event))).
assert (X : forall o, probability (on_bytes (p o) event) (x o)).
{ intros o. apply value_on_bytes; auto. exact (proj2_sig (value B (p o) (passes event) (G o) (passes_is_a_weight _ event))). }
exists x. split; auto.
rewrite <- (Privacy.mean_times A x m draws), <- (Privacy.mean_times A x m' draws'), <- (Privacy.mean_permutation A x _ _ P),
  <- (Privacy.mean_permutation A x _ _ P') by auto.
assert (L : 0 < INR (length pairs)).
{ apply lt_0_INR. rewrite <- (map_length fst), (Permutation_length P), Privacy.length_times. destruct draws; [easy|]. simpl.
  destruct m; lia. }
unfold Privacy.mean. rewrite !map_map, !map_length.
assert (T : sum (map (fun q => x (fst q)) pairs) <= exp epsilon * sum (map (fun q => x (snd q)) pairs) + INR (length pairs) * delta).
{ clear L P P'. induction pairs as [|q pairs IH]; [simpl; lra|]. cbn [map sum fold_right length].
  fold (sum (map (fun q => x (fst q)) pairs)) (sum (map (fun q => x (snd q)) pairs)). rewrite S_INR.
  specialize (IH (fun r Hr => H r (or_intror Hr))). destruct (H q (or_introl eq_refl) event) as (y & y' & Y & Y' & E).
  rewrite (probability_unique _ _ _ Y (X (fst q))), (probability_unique _ _ _ Y' (X (snd q))) in E. lra. }
apply Rmult_le_reg_r with (INR (length pairs)); auto. unfold Rdiv.
rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma orders_are_some X (d : list X) : orders d <> [].
Proof. intros E. generalize (orders_length d). rewrite E. simpl. generalize (lt_O_fact (length d)). lia. Qed.

Lemma coupled_more A (draws draws' : list A) (rel rel' : A -> A -> Prop) :
  (forall o o', rel o o' -> rel' o o') -> coupled draws draws' rel -> coupled draws draws' rel'.
Proof. intros I (m & m' & pairs & Hm & Hm' & P & P' & H). exists m, m', pairs. repeat split; auto. Qed.

(** * Every method *)
(** A sum floored to steps of G, and how far it moves. *)
Definition in_steps (G x : R) : Z := Zfloor (x / G).
Definition steps_for (G b : R) : Z := Zceil (b / G).

Theorem a_method_is_private permutes r limit X A (f : list X -> R) b G p (read : Z -> A) d d' :
  protected permutes r limit f (within_of b) -> 0 < G -> is_kept p (steps_for G b) -> neighbours r limit d d'
  -> let of o := noisy_release p (steps_for G b) read (in_steps G (f o)) in
     if permutes then nearly_private_on_average (epsilon_of p) (delta_of p) (orders d) (orders d') of
     else nearly_private (epsilon_of p) (delta_of p) (of d) (of d').
Proof.
intros C HG K N. cbv zeta. specialize (C d d' N). destruct permutes.
- apply a_coupling_is_private; auto using orders_are_some, grows_noisy_release.
  apply coupled_more with (2 := C). intros o o' H. apply a_noisy_number_is_private; auto. now apply Privacy.noise_on_a_grid.
- apply a_noisy_number_is_private; auto. now apply Privacy.noise_on_a_grid.
Qed.

(** * Modular sums *)
Lemma the_short_way lo hi a b : (lo <= 0 <= hi)%Z -> exists t, (Z.abs (a - (b + t * Modular.N lo hi)) <= Modular.circle lo hi a b)%Z.
Proof.
intros H. assert (P := Modular.N_pos lo hi H). unfold Modular.circle. set (n := Modular.N lo hi) in *.
destruct (Z_le_gt_dec ((a - b) mod n) ((b - a) mod n)) as [h|h].
- exists ((a - b) / n)%Z. rewrite Z.min_l by lia. generalize (Z.div_mod (a - b) n ltac:(lia)) (Z.mod_pos_bound (a - b) n P). lia.
- exists (- ((b - a) / n))%Z. rewrite Z.min_r by lia. generalize (Z.div_mod (b - a) n ltac:(lia)) (Z.mod_pos_bound (b - a) n P). lia.
Qed.

Lemma wrap_shifted lo hi z t : (lo <= 0 <= hi)%Z -> Modular.wrap lo hi (z + t * Modular.N lo hi) = Modular.wrap lo hi z.
Proof.
intros H. unfold Modular.wrap. replace (z + t * Modular.N lo hi - lo)%Z with (z - lo + t * Modular.N lo hi)%Z by ring.
now rewrite Z_mod_plus_full.
Qed.

(** The noise wraps as the sum does: then it hides the distance on the circle. *)
Theorem modular_noise_is_private A lo hi p n (read : Z -> A) a b :
  (lo <= 0 <= hi)%Z -> is_kept p n -> (Modular.circle lo hi a b <= n)%Z
  -> nearly_private (epsilon_of p) (delta_of p) (noisy_release p n (fun z => read (Modular.wrap lo hi z)) a)
       (noisy_release p n (fun z => read (Modular.wrap lo hi z)) b).
Proof.
intros H K C. destruct (the_short_way lo hi a b H) as [t T]. set (b' := (b + t * Modular.N lo hi)%Z) in *.
assert (P := a_noisy_number_is_private A p n (fun z => read (Modular.wrap lo hi z)) a b' K ltac:(lia)).
intros event. destruct (P event) as (x & x' & X & X' & E). exists x, x'. repeat split; auto.
unfold probability in *. apply tends_ext with (2 := X'). intros k. unfold share. do 2 f_equal. apply filter_length_ext.
intros bytes _. unfold on_bytes, noisy_release, then_read, add_noise, then_. rewrite !run_bind.
destruct (run (draw (noise_for p n) (S (S (length bytes)))) bytes) as [[z rest]|]; [|reflexivity]. cbn [run].
unfold b'. replace (b + t * Modular.N lo hi + z)%Z with (b + z + t * Modular.N lo hi)%Z by ring. now rewrite wrap_shifted.
Qed.

Theorem a_modular_sum_is_private r limit T L U X A (c : X -> Z) l h p (read : Z -> A) d d' :
  let n := Zceil (Q2R (Bounds.modular_sensitivity (is_sized r) (bits T) (inject_Z l) (inject_Z h))) in
  integer_bounds T L U = true -> records L U l h c -> (least T <= 0 <= greatest T)%Z -> is_kept p n -> neighbours r limit d d'
  -> let of d := noisy_release p n
       (fun z => read (Modular.wrap (least T) (greatest T) z)) (Modular.modular (least T) (greatest T) (map c d)) in
     nearly_private (epsilon_of p) (delta_of p) (of d) (of d').
Proof.
intros n B R H K N. cbv zeta. apply modular_noise_is_private; auto.
assert (C := modular_claim r T limit L U B X c l h R d d' N). cbn beta in C. apply le_IZR.
apply Rle_trans with (1 := C). apply Zceil_ub.
Qed.

(** * Saturating sums, secretly permuted where they must be *)
Theorem a_saturating_sum_is_private r limit T L U X A (c : X -> Z) l h p (read : Z -> A) d d' :
  let n := steps_for 1 (Q2R (Bounds.ideal (is_sized r) (inject_Z l) (inject_Z h))) in
  integer_bounds T L U = true -> records L U l h c -> is_kept p n -> neighbours r limit d d'
  -> let of o := noisy_release p n read
       (Saturating.saturating (least T) (greatest T) (map c o)) in
     if saturating_permutes r L U then nearly_private_on_average (epsilon_of p) (delta_of p) (orders d) (orders d') of
     else nearly_private (epsilon_of p) (delta_of p) (of d) (of d').
Proof.
intros n B R K N. cbv zeta.
assert (M := a_method_is_private (saturating_permutes r L U) r limit X A
  (fun d => IZR (Saturating.saturating (least T) (greatest T) (map c d)))
  (Q2R (Bounds.ideal (is_sized r) (inject_Z l) (inject_Z h))) 1 p read d d'
  (saturating_claim r T limit L U B X c l h R) Rlt_0_1 K N). cbv zeta in M.
assert (E : forall z, in_steps 1 (IZR z) = z) by (intros z; unfold in_steps, Rdiv; rewrite Rinv_1, Rmult_1_r; apply Zfloor_IZR).
destruct (saturating_permutes r L U); [|now rewrite !E in M].
intros event. destruct (M event) as (x & X' & Hx). exists x. split; [|exact Hx]. intros o. specialize (X' o). now rewrite E in X'.
Qed.
