(** Concrete releases, so that nobody can doubt that the hypotheses of the theorems can be met: each theorem is applied to
    a release as somebody would ask for it, and its hypotheses are computed.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List Permutation ZArith QArith Qreals Reals Lra Lia Bool.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Permutations Sums Conditions Types FloatsAllowed Claims Programs Private Composition Shares.
From Soundsum Require Import Released Units Releases Theta Zcdp Renyi GaussianReleases Deltas Methods Selection Searches.
From Soundsum Require Import GaussianSearches Gradients GradientRows Normal GradientReleases.
From Soundsum Require Binary64 Checked GridKernel Iterated Modular Persons Quantiles Ranges Saturating.
Import ListNotations.
Open Scope Z_scope.

Definition double := FloatType 52 11.
Definition records := Unit None None 1.
Definition records_by m := Unit (Some m) None 1.
Definition persons r := Unit None (Some r) 1.
Definition persons_by m r g := Unit (Some m) (Some r) g.
Definition one_sum : list unit := [tt].
Definition same_unit (a b : unit) : {a = b} + {a <> b}. Proof. decide equality. Defined.

Lemma once_three : NoDup [0; 1; 2].
Proof. repeat (constructor; [cbn [In]; lia|]). constructor. Qed.

Lemma once_one : NoDup one_sum.
Proof. repeat (constructor; [cbn [In]; tauto|]). constructor. Qed.

Lemma by_three X (key : X -> Z) : is_of [0; 1; 2] (records_by 3) (ByGroup key).
Proof. split; [discriminate|split; [discriminate|reflexivity]]. Qed.

(** ss.sum(data, lower=0, upper=1000, epsilon="1/2"): steps of 2^-41, a scale of 2 * 1000 * 2^41 steps. *)
Example the_grid_of_a_sum :
  steps_of Sum records false (smallest_exponent double) 0 1000 = (Bounds.pow2 (-41), (0 * Bounds.pow2 (-41))%Q, 0, 1000 * 2 ^ 41).
Proof. vm_compute. reflexivity. Qed.

Example the_scale_of_a_sum :
  noises laplace_for (1 # 2) [(1%Q, statistic_norms Sum records false 0 (1000 * 2 ^ 41))]
  = [[LaplaceNoise (inject_Z (2000 * 2 ^ 41))]].
Proof. vm_compute. reflexivity. Qed.

Definition least_double_of n := Bits.b64_of_bits (0x4338000000000000 + n). (* 0x1.8p52 + n *)

Lemma end_is (z : Bits.binary64) n m :
  Binary.B2FF 53 1024 z = Binary.F754_finite false m 0 -> Z.pos m = 3 * 2 ^ 51 + n
  -> Binary.is_finite 53 1024 z = true /\ (Binary.B2R 53 1024 z = GridKernel.anchor 53 + IZR n)%R.
Proof.
intros F E. split; [destruct z; try discriminate F; reflexivity|]. rewrite <- Binary.FF2R_B2FF, F.
cbn [Binary.FF2R SpecFloat.cond_Zopp]. rewrite E. unfold F2R. cbn [Fnum Fexp bpow].
rewrite plus_IZR. change (GridKernel.anchor 53) with (IZR (3 * 2 ^ 51)). ring.
Qed.

Theorem a_sum_of_doubles X (value : X -> Bits.binary64) base scale more (read : option nat -> list (list Z) -> Q) d d' :
  symmetric d d'
  -> let q x := Binary64.block64 base scale more (least_double_of 0) (least_double_of (1000 * 2 ^ 41)) 0 (1000 * 2 ^ 41)
       (value x) + 0 in
     let every := [statistic_of Symmetric Sum 1%Q unit same_unit one_sum EveryRecord records 0 (1000 * 2 ^ 41) q []] in
     private (Q2R (1 # 2)) (release Symmetric laplace_for (1 # 2) read every d)
       (release Symmetric laplace_for (1 # 2) read every d').
Proof.
intros N. destruct (end_is (least_double_of 0) 0 6755399441055744 ltac:(vm_compute; reflexivity) eq_refl) as [Fl El].
destruct (end_is (least_double_of (1000 * 2 ^ 41)) (1000 * 2 ^ 41) 8954422696607744
  ltac:(vm_compute; reflexivity) eq_refl) as [Fh Eh].
apply (statistics_of_doubles_are_private X Q Symmetric None Sum unit same_unit one_sum EveryRecord records double 0 1000
  (Bounds.pow2 (-41)) (0 * Bounds.pow2 (-41)) 0 (1000 * 2 ^ 41)); auto using once_one; try reflexivity; try lia; repeat split.
Qed.

(** ss.mean(data, by=..., groups=[0, 1, 2], relation="change_one", epsilon="1/3"), of integers from -5 to 10. *)
Example the_noise_of_a_mean_by_groups :
  noises laplace_for (1 # 3) [(1%Q, statistic_norms Mean (records_by 3) true (-5) 10)]
  = [[LaplaceNoise (180 # 1); LaplaceNoise (12 # 1)]].
Proof. vm_compute. reflexivity. Qed.

Theorem a_mean_by_groups X (value key : X -> Z) (read : option nat -> list (list Z) -> list Q) d d' :
  change_one d d'
  -> let q x := clamp (-5) 10 (value x) in
     let every := [statistic_of ChangeOne Mean 1%Q Z Z.eq_dec [0; 1; 2] (ByGroup key) (records_by 3) (-5) 10 q []] in
     private (Q2R (1 # 3)) (release ChangeOne laplace_for (1 # 3) read every d)
       (release ChangeOne laplace_for (1 # 3) read every d').
Proof.
intros N. apply (statistics_of_integers_are_private X (list Q) ChangeOne None Mean Z Z.eq_dec [0; 1; 2] (ByGroup key)
  (records_by 3) (IntegerType 64 true) (-5) 10 value []); auto using once_three, by_three; try reflexivity; try exact I.
split; [exact I|exact N].
Qed.

(** ss.variance(data, privacy_unit=..., max_rows=7, epsilon=3), of integers from 0 to 9: three parts with a third each. *)
Example the_noise_of_a_variance_of_persons :
  noises laplace_for 3 [(1%Q, statistic_norms Variance (persons 7) false 0 9)]
  = [[LaplaceNoise (63 # 1); LaplaceNoise (567 # 1); LaplaceNoise (7 # 1)]].
Proof. vm_compute. reflexivity. Qed.

Theorem a_variance_of_persons X (totals : list (X -> unit -> Z)) (read : option nat -> list (list Z) -> Q) d d' :
  symmetric d d'
  -> let every := [statistic_of Symmetric Variance 1%Q unit same_unit one_sum (OfPersons 7 (fun _ => [tt])) (persons 7) 0 9
       (fun _ => 0) totals] in
     private (Q2R 3) (release Symmetric laplace_for 3 read every d) (release Symmetric laplace_for 3 read every d').
Proof.
intros N. apply (a_statistic_is_private X Q Symmetric None); auto using once_one; try reflexivity; try lia.
repeat split; cbn; intros; lia.
Qed.

(** ss.histogram(data, ..., relation="hamming", epsilon=1): a record leaves one cell for another. *)
Theorem a_histogram X (cell : X -> Z) (read : option nat -> list (list Z) -> list Q) d d' :
  hamming d d'
  -> let every := [statistic_of Hamming Histogram 1%Q Z Z.eq_dec [0; 1; 2] (ByGroup cell) (records_by 3) 1 1 (fun _ => 1) []] in
     noises laplace_for 1 (map (task_of Hamming) every) = [[LaplaceNoise (2 # 1)]]
     /\ private (Q2R 1) (release Hamming laplace_for 1 read every d) (release Hamming laplace_for 1 read every d').
Proof.
intros N. cbv zeta. split; [reflexivity|].
apply (a_statistic_is_private X (list Q) Hamming None); auto using once_three, by_three; try reflexivity; try lia;
  first [exact (conj I N)|now split|now split; lia].
Qed.

(** ss.release([ss.Sum(..., weight=2), ss.Count(), ss.Mean(...)]) under insert_delete, epsilon = 1: a half, a quarter, and
    an eighth to each part of the mean. *)
Definition three_at_once {X} (value : X -> Z) : list (asked X) :=
  [statistic_of InsertDelete Sum 2%Q unit same_unit one_sum EveryRecord records (-5) 10 (fun x => clamp (-5) 10 (value x)) [];
   statistic_of InsertDelete Count 1%Q unit same_unit one_sum EveryRecord records 1 1 (fun _ => 1) [];
   statistic_of InsertDelete Mean 1%Q unit same_unit one_sum EveryRecord records 0 7 (fun x => clamp 0 7 (value x)) []].

Theorem three_statistics X (value : X -> Z) (read : option nat -> list (list Z) -> list Q) d d' :
  insert_delete d d'
  -> noises laplace_for 1 (map (task_of InsertDelete) (three_at_once value))
     = [[LaplaceNoise (20 # 1)]; [LaplaceNoise (4 # 1)]; [LaplaceNoise (56 # 1); LaplaceNoise (8 # 1)]]
     /\ private (Q2R 1) (release InsertDelete laplace_for 1 read (three_at_once value) d)
          (release InsertDelete laplace_for 1 read (three_at_once value) d').
Proof.
intros N. split; [reflexivity|]. apply (every_release_is_private X (list Q) InsertDelete None); auto; [reflexivity|].
intros a [<-|[<-|[<-|[]]]]; apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia;
  try exact I; try (intros; apply clamp_within; lia); repeat split; intros; lia.
Qed.

(** ss.histogram(data, ..., relation="change_one", rho="1/8"): sigma^2 = 2 / (2/8) = 8. *)
Definition a_gaussian_histogram {X} (cell : X -> Z) : list (asked X) :=
  [statistic_of ChangeOne Histogram 1%Q Z Z.eq_dec [0; 1; 2] (ByGroup cell) (records_by 3) 1 1 (fun _ => 1) []].

Theorem a_histogram_with_gaussian_noise X (cell : X -> Z) d d' :
  change_one d d'
  -> let tasks := map (task_of ChangeOne) (a_gaussian_histogram cell) in
     let sums d := concat (map (fun a => sums_of a d) (a_gaussian_histogram cell)) in
     noises gaussian_for (1 # 8) tasks = [[GaussianNoise (8 # 1)]]
     /\ zcdp_close same_vectors (Q2R (1 # 8)) (released gaussian_for (1 # 8) tasks (sums d))
          (released gaussian_for (1 # 8) tasks (sums d')).
Proof.
intros N. split; [reflexivity|]. apply (every_gaussian_release_is_zcdp X ChangeOne None); [reflexivity| | |now split].
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_three, by_three; try reflexivity; try lia; try exact I;
    try (intros; lia).
- intros a [<-|[]]. cbn. lia.
Qed.

(** sigma^2 = 2, which is enough for a number that moves by 1, at epsilon = 2 and delta = 1/10: P(Z >= 4) is at most 1/12. *)
Section OwnDelta.
Open Scope R_scope.

Lemma four_and_more : at_least 2 4 <= / 12.
Proof.
set (c := Zcdp.c (Qnum 2) (Zpos (Qden 2))). assert (C : c = / 4) by (unfold c, Zcdp.c; cbn [Qnum Qden]; lra).
assert (T : 1 <= theta c 0).
{ apply Rle_trans with (lsum (g c 0) [0%Z]); [|apply theta_bounds; [rewrite C; lra|repeat constructor; auto]].
  cbn [lsum]. unfold g. replace (- (c * (0 - 0) ^ 2)) with 0 by ring. rewrite exp_0. lra. }
assert (E : exp (-1) <= / 2).
{ replace (-1) with (- (1)) by ring. rewrite exp_Ropp. apply Rinv_le_contravar; [lra|]. generalize (exp_ineq1_le 1). lra. }
apply (limits_le (fun n => Programs.total n (fun i => gaussian_mass (Qnum 2) (Zpos (Qden 2)) 0 (4 + Z.of_nat i))) (fun _ => / 12));
  [|now apply at_least_tends|apply Coins.tends_const].
intros n. apply Rle_trans with (Programs.total n (fun i => / 16 * (/ 4) ^ i)).
- apply total_le. intros i _. apply Rle_trans with (exp (-1) ^ (4 + 2 * i)).
  + unfold gaussian_mass, g. fold c. apply Rle_trans with (exp (- (c * (IZR (4 + Z.of_nat i) - 0) ^ 2)) * 1).
    * unfold Rdiv. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
    * rewrite Rmult_1_r, Laplace.exp_powers. apply exp_le. rewrite C, plus_IZR, <- INR_IZR_INZ, plus_INR, mult_INR.
      simpl (INR 4). simpl (INR 2). generalize (pow2_ge_0 (INR i)). intros.
      replace (/ 4 * (4 + INR i - 0) ^ 2) with (4 + 2 * INR i + INR i ^ 2 * / 4) by field. lra.
  + rewrite pow_add, pow_mult. apply Rmult_le_compat.
    * apply pow_le, Rlt_le, exp_pos.
    * apply pow_le, pow_le, Rlt_le, exp_pos.
    * replace (/ 16) with ((/ 2) ^ 4) by field. apply pow_incr. split; [apply Rlt_le, exp_pos|exact E].
    * apply pow_incr. split; [apply pow_le, Rlt_le, exp_pos|]. replace (/ 4) with ((/ 2) ^ 2) by field. apply pow_incr.
      split; [apply Rlt_le, exp_pos|exact E].
- rewrite total_scal. assert (S := total_geometric n (/ 4)). assert (P : 0 <= (/ 4) ^ n) by (apply pow_le; lra).
  change (fun i => (/ 4) ^ i) with (pow (/ 4)) in S. lra.
Qed.

Lemma a_small_delta : gaussian_fits 2 (1 # 10) (Norms 1 1 1) (GaussianNoise 2).
Proof.
exists 2%Q, 2%Q. split; [reflexivity|]. split; [reflexivity|]. split; [split; discriminate|]. unfold gaussian_delta.
change (first_beyond 2 2 (norm1 (Norms 1 1 1))) with 4%Z. assert (P := at_least_is 2 eq_refl (4 + norm1 (Norms 1 1 1))).
assert (0 <= at_least 2 (4 + norm1 (Norms 1 1 1))) by (apply (proj1 P []); constructor).
assert (0 < exp (Q2R 2)) by apply exp_pos. assert (F := four_and_more).
assert (Q2R (1 # 10) = / 10) by (unfold Q2R; cbn [Qnum Qden]; lra). nra.
Qed.

(** And a rho of 1/2 for epsilon = 1 and delta = 1/4, by alpha = 2. *)
Lemma a_small_rho : 2 * Q2R (1 # 2) - Q2R 1 <= log_term 2 (Q2R (1 # 4)).
Proof.
unfold log_term. replace (Q2R (1 # 4)) with (/ 2 * / 2) by (unfold Q2R; cbn [Qnum Qden]; lra).
replace (1 - / 2) with (/ 2) by lra. replace (2 - 1) with 1 by lra. rewrite ln_mult, ln_1 by lra.
unfold Q2R. cbn [Qnum Qden]. lra.
Qed.
End OwnDelta.

(** ss.count(data, noise="gaussian", epsilon=2, delta="1/10"), with that sigma^2. *)
Definition enough_for_one : Q -> norms -> noise := gaussian_within (fun _ _ _ => 2%Q) (fun _ _ => 1%Q) 2 (1 # 10).

Theorem a_count_with_its_own_delta X (read : option nat -> list (list Z) -> Z) (d d' : list X) :
  symmetric d d'
  -> let every := [statistic_of Symmetric Count 1%Q unit same_unit one_sum EveryRecord records 1 1 (fun _ => 1) []] in
     noises enough_for_one 1 (map (task_of Symmetric) every) = [[GaussianNoise 2]]
     /\ nearly_private (Q2R 2) (Q2R (1 # 10)) (release Symmetric enough_for_one 1 read every d)
          (release Symmetric enough_for_one 1 read every d').
Proof.
intros N. split; [reflexivity|]. apply (every_release_keeps_its_delta X Z Symmetric None); try reflexivity; auto.
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia; try exact I;
    try (intros; lia). repeat split.
- intros a [<-|[]]. cbn. lia.
- intros n x [E|[]]. injection E as <- <-. apply (gaussian_fits_eq 2 _ (1 # 10)); try reflexivity. exact a_small_delta.
Qed.

(** ss.histogram(..., relation="change_one", noise="gaussian", epsilon=1, delta="1/4"): two entries move, so by a rho. *)
Definition enough_for_two : Q -> norms -> noise := gaussian_within (fun _ _ _ => 1%Q) (fun _ _ => 1 # 2) 1 (1 # 4).

Theorem a_histogram_with_a_delta X (cell : X -> Z) (read : option nat -> list (list Z) -> list Z) d d' :
  change_one d d'
  -> noises enough_for_two 1 (map (task_of ChangeOne) (a_gaussian_histogram cell)) = [[GaussianNoise 2]]
     /\ nearly_private (Q2R 1) (Q2R (1 # 4)) (release ChangeOne enough_for_two 1 read (a_gaussian_histogram cell) d)
          (release ChangeOne enough_for_two 1 read (a_gaussian_histogram cell) d').
Proof.
intros N. split; [reflexivity|]. apply (every_release_keeps_its_delta X (list Z) ChangeOne None); try reflexivity.
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_three, by_three; try reflexivity; try lia; try exact I;
    try (intros; lia).
- intros a [<-|[]]. cbn. lia.
- intros n x [E|[]]. injection E as <- <-. apply (gaussian_fits_eq 1 _ (1 # 4)); try reflexivity.
  exists (1 # 2), 2%R. split; [reflexivity|]. split; [reflexivity|]. split; [lra|exact a_small_rho].
- now split.
Qed.

(** ss.groups(...), of records, with the same noise and the threshold 6. *)
Theorem a_search_with_gaussian_noise X (group : X -> Z) table table' :
  symmetric table table'
  -> let found d := find_groups_with (GaussianNoise 2) 6 (counts X Z Z.eq_dec (fun x => [group x]) [0; 1; 2] d) in
     nearly_private (Q2R 2) (/ 5)%R (found table) (found table').
Proof.
intros N. cbv zeta. apply (nearly_more _ _ (1 - (1 - Q2R (1 # 10)) * (1 - alone 2 6) ^ 1)%R).
- assert (L := at_least_falls 2 eq_refl 4 5 ltac:(lia)). assert (F := four_and_more). unfold alone. change (6 - 1) with 5.
  assert (R : Q2R (1 # 10) = (/ 10)%R) by (unfold Q2R; cbn [Qnum Qden]; lra). rewrite R. lra.
- apply (finding_with_gaussian_noise_is_private 2 6 eq_refl X Z Z.eq_dec (fun x => [group x]) [0; 1; 2] once_three); auto;
    try reflexivity; [split; [reflexivity|discriminate]|exact a_small_delta].
Qed.

(** ss.gradients.Sum(max_norm=1, noise_multiplier=1): K = 2^24 steps, sigma as many; of gradients of two coordinates. *)
Theorem clipped_gradients A (read : list Z -> A) (u v : list (list Bits.binary64)) :
  symmetric u v
  -> let q row j := nth j (clip_row (-24) 29 31 (2 ^ 24) row) 0 in
     let noisy := noisy_gradients _ q 2 (2 ^ 24) 1 in
     let drawn u := draw_vector (curve_of (2 ^ 24)) (gradient_sums _ q 2 u) in
     sigma_for 1 (2 ^ 24) = 2 ^ 24 /\ zcdp_laws (/ 2) (noisy u) (noisy v)
     /\ nearly_as_likely (Q2R 1) (Q2R (1 # 4)) (noisy u) (noisy v)
     /\ nearly_private (Q2R 1) (Q2R (1 # 4)) (then_read (drawn u) read) (then_read (drawn v) read).
Proof.
intros N. cbv zeta. split; [reflexivity|]. set (q := fun row j => nth j (clip_row (-24) 29 31 (2 ^ 24) row) 0).
assert (K : 0 < 2 ^ 24) by lia. assert (Short : forall row, length2 2 (q row) <= 2 ^ 24 * 2 ^ 24).
{ intros row. apply Z.le_trans with (1 := length2_of_nth 2 _). now apply clip_row_at_most. }
assert (R : (/ (2 * Q2R 1 ^ 2) = Q2R (1 # 2))%R) by (unfold Q2R; cbn [Qnum Qden]; field).
assert (D : (0 < Q2R (1 # 4))%R) by (unfold Q2R; cbn [Qnum Qden]; lra).
assert (A2 : (2 * / (2 * Q2R 1 ^ 2) - Q2R 1 <= log_term 2 (Q2R (1 # 4)))%R) by (rewrite R; exact a_small_rho).
split; [|split].
- assert (Z := gradients_of_any_bits_are_zcdp 2 (-24) 29 31 (2 ^ 24) 1 u v ltac:(lia) K eq_refl N). cbv zeta in Z.
  replace (/ (2 * Q2R 1 ^ 2))%R with (/ 2)%R in Z by (rewrite R; unfold Q2R; cbn [Qnum Qden]; field). exact Z.
- apply (one_example_is_hidden _ q 2 (2 ^ 24) 1 K eq_refl Short 2); auto. lra.
- destruct (curve_of_sigma (2 ^ 24) 1 K eq_refl 0) as [C _]. change (sigma_for 1 (2 ^ 24)) with (2 ^ 24) in C.
  apply (a_gradient_release_is_private _ q 2 (2 ^ 24) 1 K eq_refl Short A read 2 (Q2R 1) (Q2R (1 # 4))
    (fun u => draw_vector (curve_of (2 ^ 24)) (gradient_sums _ q 2 u))); auto; try lra.
  + intros w. apply grows_draw_vector.
  + intros w. exact (vectors_have_their_law (curve_of (2 ^ 24)) C (gradient_sums _ q 2 w)).
Qed.

(** Nothing moves a count whose number is public, nor a sum between 0 and 0: no noise, and the same release. *)
Example no_noise :
  noises laplace_for 1 [(1%Q, statistic_norms Count records true 1 1); (1%Q, statistic_norms Sum records false 0 0)]
  = [[NoNoise]; [NoNoise]]
  /\ forall l l', moves (Norms 0 0 1) l l' -> l = l'.
Proof.
split; [vm_compute; reflexivity|]. intros l l' M.
now apply (no_noise_where_nothing_moves (Norms 0 0 1) l l' modest_sigma2 modest_rho 1 (1 # 2) 1 1).
Qed.

(** ss.sum(data, lower=0, upper=10, epsilon="1/2", budget=ss.Budget(rho=1)), of integers: it costs a rho of 1/8. *)
Theorem a_sum_that_costs_a_rho X (value : X -> Z) d d' :
  symmetric d d'
  -> let every := [statistic_of Symmetric Sum 1%Q unit same_unit one_sum EveryRecord records 0 10 (fun x => clamp 0 10 (value x)) []] in
     let sums d := concat (map (fun a => sums_of a d) every) in
     let tasks := map (task_of Symmetric) every in
     zcdp_close (list_eq_dec (list_eq_dec Z.eq_dec)) (Q2R (1 # 8)) (released laplace_for (1 # 2) tasks (sums d))
       (released laplace_for (1 # 2) tasks (sums d')).
Proof.
intros N every. replace (Q2R (1 # 8)) with (Q2R (1 # 2) ^ 2 / 2)%R by (unfold Q2R; cbn [Qnum Qden]; lra).
apply (Ranges.every_release_is_zcdp X Symmetric None every); [reflexivity| |exact N].
intros a [<-|[]]. apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia; try exact I;
  try (intros; apply clamp_within; lia). repeat split.
Qed.

(** * Gaussian noise for any epsilon and delta *)
(** ss.variance(data, noise="gaussian", epsilon=..., delta=...) of integers from 0 to 9: with the noise that a rho gives. *)
Theorem a_variance_with_a_delta X (value : X -> Z) epsilon delta (read : option nat -> list (list Z) -> Q) d d' :
  (0 < epsilon)%Q -> (0 < delta < 1)%Q -> symmetric d d'
  -> let every := [statistic_of Symmetric Variance 1%Q unit same_unit one_sum EveryRecord records 0 9 (fun x => clamp 0 9 (value x)) []] in
     let fit := gaussian_within modest_sigma2 modest_rho epsilon delta in
     nearly_private (Q2R epsilon) (Q2R delta) (release Symmetric fit 1 read every d) (release Symmetric fit 1 read every d').
Proof.
intros E D N. destruct there_is_enough_noise as [Own Rho]. apply nearly_close_is_private; auto using grows_release.
apply (every_release_with_fitted_noise_is_nearly_close X Q Symmetric None); auto.
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia; try exact I;
    try (intros; apply clamp_within; lia). repeat split.
- intros a [<-|[]]. cbn. lia.
Qed.

(** ss.histogram(data, ..., noise="gaussian", rho="1/2", relation="change_one"): 2 / (2/2), and (1, 1/4) by alpha = 2. *)
Theorem a_histogram_with_a_rho X (cell : X -> Z) (read : option nat -> list (list Z) -> list Z) d d' :
  change_one d d'
  -> noises gaussian_for (1 # 2) (map (task_of ChangeOne) (a_gaussian_histogram cell)) = [[GaussianNoise 2]]
     /\ nearly_private (Q2R 1) (Q2R (1 # 4)) (release ChangeOne gaussian_for (1 # 2) read (a_gaussian_histogram cell) d)
          (release ChangeOne gaussian_for (1 # 2) read (a_gaussian_histogram cell) d').
Proof.
intros N. split; [reflexivity|].
apply (every_gaussian_release_is_private X (list Z) ChangeOne None (a_gaussian_histogram cell) (1 # 2) 2).
- reflexivity.
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_three, by_three; try reflexivity; try lia; try exact I;
    try (intros; lia).
- intros a [<-|[]]. cbn. lia.
- now split.
- lra.
- unfold Q2R; cbn [Qnum Qden]; lra.
- exact a_small_rho.
Qed.

(** * Persons *)
(** Two neighbouring tables, of two groups: the second lacks the person 7, who has three rows. *)
Definition rows_of_two : list (Persons.row Z) :=
  [Persons.Row Z (Some 7) 0 true (Some 5); Persons.Row Z (Some 3) 0 true (Some 2); Persons.Row Z (Some 7) 1 true (Some 1);
   Persons.Row Z None 0 true (Some 9); Persons.Row Z (Some 7) 0 true None].
Definition rows_of_one : list (Persons.row Z) :=
  [Persons.Row Z None 0 true (Some 9); Persons.Row Z (Some 3) 0 true (Some 2)].

Example persons_who_are_neighbours :
  Persons.neighbouring Z Z.eq_dec rows_of_two rows_of_one
  /\ Persons.person_sums Z Z.eq_dec 2 false 0 1 3 (fun p g => p + g) Sum 0 10 rows_of_two = [[7; 0]]
  /\ Persons.person_sums Z Z.eq_dec 2 false 0 1 3 (fun p g => p + g) Sum 0 10 rows_of_one = [[2; 0]].
Proof.
split; [|split; vm_compute; reflexivity]. left. exists 7. split; [reflexivity|]. intros q N. unfold Persons.rows_of.
cbn [filter rows_of_two rows_of_one Persons.is_owned Persons.owner]. destruct (Z.eq_dec q 7); [contradiction|].
destruct (Z.eq_dec q 3); apply Permutation_refl.
Qed.

(** Of means with max_rows=2: person 7 has three rows in group 0, which count as two average ones, and one in group 1, which
    does not count. The row without an id counts nowhere. *)
Example a_small_table :
  Persons.person_sums Z Z.eq_dec 2 true 0 1 2 (fun _ g => g) Mean 0 3
    [Persons.Row Z (Some 7) 0 true (Some 3); Persons.Row Z (Some 7) 1 true (Some 3); Persons.Row Z (Some 8) 1 true (Some 1);
     Persons.Row Z None 1 true (Some 3); Persons.Row Z (Some 7) 0 true (Some 0); Persons.Row Z (Some 7) 0 true (Some 1)]
  = [[-1; -1]; [2; 1]].
Proof. reflexivity. Qed.

(** ss.mean(table, by=..., groups=[...], privacy_unit=..., max_rows=3, epsilon=1), of integers from 0 to 10. *)
Theorem a_mean_of_persons (lot : Z -> Z -> Z) (read : option nat -> list (list Z) -> list Q) table table' :
  Persons.neighbouring Z Z.eq_dec table table'
  -> let every := Persons.asked_of_persons Z 2 1 3 lot true Mean 0 10 in
     let of table := Persons.persons_of Z Z.eq_dec 2 true 0 table in
     noises laplace_for 1 (map (task_of Symmetric) every) = [[LaplaceNoise (60 # 1); LaplaceNoise (6 # 1)]]
     /\ all_move (statistic_norms Mean (persons_by 2 3 1) false 0 10)
          (Persons.person_sums Z Z.eq_dec 2 true 0 1 3 lot Mean 0 10 table)
          (Persons.person_sums Z Z.eq_dec 2 true 0 1 3 lot Mean 0 10 table')
     /\ private (Q2R 1) (release Symmetric laplace_for 1 read every (of table)) (release Symmetric laplace_for 1 read every (of table')).
Proof.
intros N. cbv zeta. split; [vm_compute; reflexivity|split].
- apply (Persons.one_person_moves_it Z Z.eq_dec 2 true 0 1 3 lot true Mean 0 10); auto; lia.
- apply (Persons.a_table_of_persons_is_private Z Z.eq_dec 2 true 0 1 3 lot (list Q) true Mean 0 10); auto; try lia. reflexivity.
Qed.

(** The same with Gaussian noise: for rho = 1/8, and for any epsilon and delta. *)
Theorem a_mean_of_persons_with_gaussian_noise (lot : Z -> Z -> Z) epsilon delta (read : option nat -> list (list Z) -> list Q) table table' :
  (0 < epsilon)%Q -> (0 < delta < 1)%Q -> Persons.neighbouring Z Z.eq_dec table table'
  -> let every := Persons.asked_of_persons Z 2 1 3 lot true Mean 0 10 in
     let of table := Persons.persons_of Z Z.eq_dec 2 true 0 table in
     let sums table := concat (map (fun a => sums_of a (of table)) every) in
     let tasks := map (task_of Symmetric) every in
     let fit := gaussian_within modest_sigma2 modest_rho epsilon delta in
     noises gaussian_for (1 # 8) tasks = [[GaussianNoise (7200 # 1); GaussianNoise (72 # 1)]]
     /\ zcdp_close same_vectors (Q2R (1 # 8)) (released gaussian_for (1 # 8) tasks (sums table))
          (released gaussian_for (1 # 8) tasks (sums table'))
     /\ nearly_private (Q2R epsilon) (Q2R delta) (release Symmetric fit 1 read every (of table))
          (release Symmetric fit 1 read every (of table')).
Proof.
intros E D N. cbv zeta. destruct there_is_enough_noise as [Own Rho]. split; [vm_compute; reflexivity|split].
- apply (Persons.a_table_of_persons_is_zcdp Z Z.eq_dec 2 true 0 1 3 lot true Mean 0 10); auto; try lia. reflexivity.
- apply (Persons.a_table_of_persons_keeps_its_delta Z Z.eq_dec 2 true 0 1 3 lot (list Q) true Mean 0 10); auto; lia.
Qed.

(** ss.suggest_max_rows(...): persons in cells by their numbers of rows, each in at most one. *)
Theorem advice_on_persons (lot : Z -> Z -> Z) (read : option nat -> list (list Z) -> Z) table table' :
  Persons.neighbouring Z Z.eq_dec table table'
  -> let of table := Persons.persons_of Z Z.eq_dec 1 true 0 table in
     let cell (x : Persons.person Z) := [Z.min 2 (Persons.number_in Z x 0)] in
     let every := [statistic_of Symmetric Histogram 1%Q Z Z.eq_dec [0; 1; 2] (OfPersons 1 cell) (persons_by 3 1 1) 1 1 (fun _ => 1)
       [fun _ _ => 1]] in
     private (Q2R 1) (release Symmetric laplace_for 1 read every (of table)) (release Symmetric laplace_for 1 read every (of table')).
Proof.
intros N. cbv zeta. apply (Persons.counts_of_persons_are_private Z Z.eq_dec 1 true 0 1 lot Z Z Z.eq_dec [0; 1; 2]
  (fun x => [Z.min 2 (Persons.number_in Z x 0)]) 1 read table table'); auto using once_three; try lia; [reflexivity|]. intros x. cbn. lia.
Qed.

(** * Other methods *)
(** Of int8, bounds -100 to 100, epsilon = 1: the sum and its noise wrap; two sums on the circle are 100 apart at most. *)
Theorem a_modular_sum_of_bytes (value : Z -> Z) (read : Z -> Z) d d' :
  symmetric d d'
  -> let of d := noisy_release (Pure 1) 100 (fun z => read (Modular.wrap (-128) 127 z))
       (Modular.modular (-128) 127 (map (fun x => clamp (-100) 100 (value x)) d)) in
     nearly_private (Q2R 1) 0 (of d) (of d').
Proof.
intros N. assert (R : Claims.records (-100 # 1) (100 # 1) (-100) 100 (fun x => clamp (-100) 100 (value x))).
{ split; [reflexivity|split; [reflexivity|]]. intros x. apply clamp_within. lia. }
assert (M := a_modular_sum_is_private Symmetric None (IntegerType 8 true) (-100 # 1) (100 # 1) Z Z _ _ _ (Pure 1) read d d'
  eq_refl R ltac:(cbn; lia) eq_refl N). cbv zeta in M.
assert (E : Zceil (Q2R (Bounds.modular_sensitivity false 8 (inject_Z (-100)) (inject_Z 100))) = 100%Z).
{ replace (Q2R _) with (IZR 100); [apply Zceil_IZR|]. vm_compute Bounds.modular_sensitivity. unfold Q2R. cbn. lra. }
cbn [is_sized bits] in M. now rewrite E in M.
Qed.

(** Unwrapped noise hides nothing: 127 and -128 are one apart on the circle, and 255 as they stand. *)
Example unwrapped : Modular.circle (-128) 127 127 (-128) = 1%Z /\ Z.abs (127 - -128) = 255%Z.
Proof. split; reflexivity. Qed.

(** Of truth values in int8, epsilon = 2 and delta = 1/10: the sigma^2 of `a_count_with_its_own_delta`, for a sum that wraps. *)
Theorem a_modular_sum_with_its_own_delta (value : Z -> Z) (read : Z -> Z) d d' :
  symmetric d d'
  -> let p := Within (fun _ => 2%Q) 2 (1 # 10) in
     let of d := noisy_release p 1 (fun z => read (Modular.wrap (-128) 127 z))
       (Modular.modular (-128) 127 (map (fun x => clamp 0 1 (value x)) d)) in
     noise_for p 1 = GaussianNoise 2 /\ nearly_private (Q2R 2) (Q2R (1 # 10)) (of d) (of d').
Proof.
intros N. cbv zeta. split; [reflexivity|].
assert (R : Claims.records (0 # 1) (1 # 1) 0 1 (fun x => clamp 0 1 (value x))).
{ split; [reflexivity|split; [reflexivity|]]. intros x. apply clamp_within. lia. }
assert (E : Zceil (Q2R (Bounds.modular_sensitivity false 8 (inject_Z 0) (inject_Z 1))) = 1).
{ replace (Q2R _) with (IZR 1); [apply Zceil_IZR|]. vm_compute Bounds.modular_sensitivity. unfold Q2R. cbn. lra. }
assert (K : is_kept (Within (fun _ => 2%Q) 2 (1 # 10)) 1).
{ split; [discriminate|split; [discriminate|]]. intros _. destruct a_small_delta as (s2 & e & F & P & L & D). injection F as <-.
  split; [reflexivity|]. exists e. auto. }
assert (M := a_modular_sum_is_private Symmetric None (IntegerType 8 true) (0 # 1) (1 # 1) Z Z _ _ _
  (Within (fun _ => 2%Q) 2 (1 # 10)) read d d' eq_refl R ltac:(cbn; lia)). cbv zeta in M. cbn [is_sized bits] in M.
rewrite E in M. now apply M.
Qed.

(** Of int8 with bounds of both signs, saturating, secretly permuted; with an epsilon, and with any epsilon and delta. *)
Theorem a_saturating_sum_of_bytes (value : Z -> Z) (read : Z -> Z) epsilon delta d d' :
  (0 < epsilon)%Q -> (0 < delta < 1)%Q -> symmetric d d'
  -> let of p o := noisy_release p 100 read (Saturating.saturating (-128) 127 (map (fun x => clamp (-100) 100 (value x)) o)) in
     let own n := modest_sigma2 n epsilon delta in
     nearly_private_on_average (Q2R epsilon) 0 (orders d) (orders d') (of (Pure epsilon))
     /\ nearly_private_on_average (Q2R epsilon) (Q2R delta) (orders d) (orders d') (of (Within own epsilon delta)).
Proof.
intros E D N. cbv zeta. assert (R : Claims.records (-100 # 1) (100 # 1) (-100) 100 (fun x => clamp (-100) 100 (value x))).
{ split; [reflexivity|split; [reflexivity|]]. intros x. apply clamp_within. lia. }
assert (S : steps_for 1 (Q2R (Bounds.ideal false (inject_Z (-100)) (inject_Z 100))) = 100).
{ unfold steps_for. replace (Q2R _ / 1)%R with (IZR 100); [apply Zceil_IZR|]. vm_compute Bounds.ideal. unfold Q2R. cbn. lra. }
assert (M := fun p K => a_saturating_sum_is_private Symmetric None (IntegerType 8 true) (-100 # 1) (100 # 1) Z Z _ _ _ p read d d'
  eq_refl R K N). cbv zeta in M. cbn [is_sized] in M. rewrite S in M. split; [now apply (M (Pure epsilon))|].
apply (M (Within (fun n => modest_sigma2 n epsilon delta) epsilon delta)). destruct D as [D0 D1].
split; [now apply Qlt_le_weak|split; [now apply Qlt_le_weak|]]. intros P. destruct there_is_enough_noise as [Own _]. now apply Own.
Qed.

(** Of int16 from 0 to 10, of which at most 100 are added, checked, secretly permuted. *)
Theorem a_checked_sum (value : Z -> Z) (read : Z -> Z) d d' :
  symmetric d d'
  -> let of o := noisy_release (Pure 1) 10 read
       (Methods.in_steps 1 (Checked.value (Checked.checked (-32768) 32767 (map (fun x => clamp 0 10 (value x)) (firstn 100 o))))) in
     nearly_private_on_average (Q2R 1) 0 (orders d) (orders d') of.
Proof.
intros N. destruct (checked_claim Symmetric (IntegerType 16 true) (Some 100%N) 0 10 eq_refl) as (n & E & C). injection E as <-.
specialize (C Z (fun x => clamp 0 10 (value x)) 0 10).
assert (R : Claims.records 0 10 0 10 (fun x => clamp 0 10 (value x))).
{ split; [reflexivity|split; [reflexivity|]]. intros x. apply clamp_within. lia. }
assert (M := a_method_is_private _ Symmetric (Some 100%N) Z Z _ _ 1 (Pure 1) read d d' (C R) Rlt_0_1 eq_refl N). cbv zeta in M.
assert (S : steps_for 1 (Q2R (Bounds.checked_sensitivity (is_sized Symmetric) (inject_Z 0) (inject_Z 10))) = 10).
{ unfold steps_for. replace (Q2R _ / 1)%R with (IZR 10); [apply Zceil_IZR|]. vm_compute Bounds.checked_sensitivity. unfold Q2R. cbn. lra. }
rewrite S in M. exact M.
Qed.

(** Of 1,000 float32 from 0 to 1, added one after another: a changed record moves the sum by 73,419 / 65,536 at most. *)
Definition single := FloatType 23 8.

Theorem a_sum_of_floats (value : R -> R) (read : Z -> Q) d d' :
  (forall x, is_value single (value x)) -> length d = 1000%nat -> change_one d d'
  -> let b := Bounds.from_accuracy true (Bounds.iterated_error 23 1000) 0 1 in
     let of o := noisy_release (Pure (1 # 2)) (steps_for (bpow radix2 (-40)) (Q2R b)) read
       (Methods.in_steps (bpow radix2 (-40)) (Iterated.iterated 24 (smallest_exponent single) (fun x => negb (Z.even x))
         (map (clamped 0 1 value) o))) in
     Qle_bool b (112 # 100) = true /\ nearly_private (Q2R (1 # 2)) 0 (of d) (of d').
Proof.
intros V Len N. cbv zeta. split; [vm_compute; reflexivity|].
assert (K := iterated_keeps_its_promise single single 1000 0 1 ltac:(vm_compute; reflexivity)).
assert (C := float_sum_claim ChangeOne single single 0 1 1000 _ _ _ _ K R value V).
exact (a_method_is_private false ChangeOne (Some 1000%N) R Q _ _ (bpow radix2 (-40)) (Pure (1 # 2)) read d d' C (bpow_gt_0 _ _) eq_refl
  (conj Len N)).
Qed.

(** * Quantiles *)
(** ss.median(data, candidates=[0, 10, 20], epsilon=1): the rate is 1/2; with rho = 1/2 it is 1. *)
Theorem a_median X (value : X -> Z) (read : list nat -> Z) d d' :
  symmetric d d'
  -> let errors d := Quantiles.all_errors one_sum (fun x _ => [value x]) 1 2 [0; 10; 20] d in
     let by_epsilon d := then_read (Choices.choose_all (Quantiles.choose_at (1 # 2)) (errors d)) read in
     Quantiles.rate_for 1 records 1 2 false = (1 # 2)%Q /\ private (Q2R 1) (by_epsilon d) (by_epsilon d')
     /\ zcdp_close (list_eq_dec Nat.eq_dec) (Q2R (1 # 2)) (Choices.choose_all (Quantiles.choose_by_rho_at 1) (errors d))
          (Choices.choose_all (Quantiles.choose_by_rho_at 1) (errors d')).
Proof.
intros N. cbv zeta.
assert (A : Quantiles.adds_within one_sum (fun (x : X) (_ : unit) => [value x]) records /\ Quantiles.lists_groups one_sum records
  /\ 0 <= max_groups records /\ (max_rows records <> None -> Symmetric = Symmetric)).
{ repeat split; cbn; try discriminate; intros; unfold Quantiles.all_own, Quantiles.own; cbn; lia. }
split; [reflexivity|split].
- apply (Quantiles.quantiles_are_private X unit one_sum (fun x _ => [value x]) records Symmetric None 1 2 [0; 10; 20]
    ltac:(lia) ltac:(lia) A Z read 1 d d' eq_refl ltac:(cbn; lia) N).
- apply (Quantiles.quantiles_are_zcdp X unit one_sum (fun x _ => [value x]) records Symmetric None 1 2 [0; 10; 20]
    ltac:(lia) ltac:(lia) ltac:(discriminate) A 1 (1 # 2) d d' eq_refl ltac:(vm_compute; reflexivity) N).
Qed.

(** ss.release([ss.Sum(...), ss.Quantile(..., 0.5, ...)], epsilon=1): each gets a half, and the second may not look at the first. *)
Theorem a_sum_and_a_median X A (value : X -> Z) (read : option nat -> list (list Z) -> list nat -> A) d d' :
  symmetric d d'
  -> let every := [statistic_of Symmetric Sum 1%Q unit same_unit one_sum EveryRecord records 0 10 (fun x => clamp 0 10 (value x)) []] in
     let errors d := Quantiles.all_errors one_sum (fun x _ => [value x]) 1 2 [0; 10; 20] d in
     let both d := then_ (release Symmetric laplace_for (1 # 2) (fun n sums => (n, sums)) every d) (fun s =>
       then_read (Choices.choose_all (Quantiles.choose_at (1 # 4)) (errors d)) (read (fst s) (snd s))) in
     private (Q2R 1) (both d) (both d').
Proof.
intros N. cbv zeta.
assert (A' : Quantiles.adds_within one_sum (fun (x : X) (_ : unit) => [value x]) records /\ Quantiles.lists_groups one_sum records
  /\ 0 <= max_groups records /\ (max_rows records <> None -> Symmetric = Symmetric)).
{ repeat split; cbn; try discriminate; intros; unfold Quantiles.all_own, Quantiles.own; cbn; lia. }
assert (G : forall es, grows (Choices.choose_all (Quantiles.choose_at (1 # 4)) es))
  by (intros; apply Choices.grows_all; intros; apply Choices.grows_choice; reflexivity).
apply close_is_private; try (apply grows_then; [apply grows_release|intros; apply grows_read, G]).
replace (Q2R 1) with (Q2R (1 # 2) + Q2R (1 # 2))%R by (unfold Q2R; cbn [Qnum Qden]; lra).
apply close_then; auto using grows_release, grows_read.
- apply (every_release_is_close X _ Symmetric None); auto; [reflexivity|]. intros a [<-|[]].
  apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia; try exact I; try (intros; apply clamp_within; lia). repeat split.
- intros s. apply close_map; auto.
  exact (Quantiles.quantiles_are_close X unit one_sum (fun x _ => [value x]) records Symmetric None 1 2 [0; 10; 20]
    ltac:(lia) ltac:(lia) A' (1 # 2) d d' eq_refl ltac:(cbn; lia) N).
Qed.

(** * Groups that nobody listed *)
Section FoundGroups.
Open Scope R_scope.

(** Noise of scale 1 within 20: the chance of the end is at most 2^-20. *)
Lemma a_small_edge : edge (IZR 1 / IZR 1) 20 <= / 2 ^ 20.
Proof.
rewrite the_edge_is by lra. cbv zeta. set (a := exp (- (IZR 1 / IZR 1))).
assert (A : 0 < a <= / 2).
{ split; [apply exp_pos|]. unfold a. replace (- (IZR 1 / IZR 1)) with (- (1)) by lra. rewrite exp_Ropp.
  apply Rinv_le_contravar; [lra|]. generalize (exp_ineq1_le 1). lra. }
assert (P : 0 < a ^ 20) by (apply pow_lt; lra). assert (P20 : a ^ 20 <= (/ 2) ^ 20) by (apply pow_incr; lra).
assert (P21 : a ^ 21 <= a * 1).
{ change (a ^ 21) with (a * a ^ 20). apply Rmult_le_compat_l; [lra|]. rewrite <- (pow1 20). apply pow_incr. lra. }
rewrite Rinv_pow by lra. apply Rle_trans with (2 := P20). apply Rmult_le_reg_r with (1 + a - 2 * a ^ 21); [lra|].
unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rmult_le_compat_l; lra.
Qed.

(** ss.groups(...), of records: truncated noise of scale 1 for epsilon = 1; where records change, for epsilon = 2. *)
Theorem a_search X (group : X -> Z) table table' :
  let found d := find_groups 1 1 20 (counts X Z Z.eq_dec (fun x => [group x]) [0; 1; 2]%Z d) in
  (symmetric table table' -> nearly_private 1 (/ 2 ^ 20) (found table) (found table'))
  /\ (change_one table table' -> nearly_private 2 (/ 2 ^ 19) (found table) (found table')).
Proof.
assert (L := a_small_edge). assert (E := edge_range (IZR 1 / IZR 1) 20). cbv zeta. split; intros N.
- apply (nearly_more _ _ (1 - (1 - edge (IZR 1 / IZR 1) 20) ^ 1)); [lra|].
  apply (finding_groups_is_private 1 1 20 eq_refl eq_refl X Z Z.eq_dec (fun x => [group x]) _ once_three 1); auto. simpl. lra.
- apply (nearly_more _ _ (1 - (1 - edge (IZR 1 / IZR 1) 20) ^ 2)); [simpl in *; nra|].
  apply (finding_groups_of_changed_records_is_private 1 1 20 eq_refl eq_refl X Z Z.eq_dec (fun x => [group x]) _ once_three); auto. lra.
Qed.

(** The groups that were named, of those that there could be. *)
Fixpoint names (every : list Z) (found : list (option Z)) : list Z :=
  match every, found with
  | g :: every, Some _ :: found => g :: names every found
  | _ :: every, None :: found => names every found
  | _, _ => []
  end.

Lemma names_are_listed every found : incl (names every found) every.
Proof.
revert found. induction every as [|g every IH]; intros [|[n|] found] h H; cbn [names] in H; try contradiction.
- destruct H as [<-|H]; [now left|right; now apply (IH found)].
- right. now apply (IH found).
Qed.

Lemma named_once every found : NoDup every -> NoDup (names every found).
Proof.
intros N. revert found. induction N as [|g every I N IH]; intros [|[n|] found]; cbn [names]; try constructor; auto.
intros H. apply I. now apply (names_are_listed every found).
Qed.

Lemma few_names found : (Z.of_nat (length (names [0; 1; 2]%Z found)) <= 3)%Z.
Proof.
assert (L := NoDup_incl_length (named_once _ found once_three) (names_are_listed _ found)). cbn [length] in L. lia.
Qed.

(** ss.sum(..., by=..., groups=ss.Found(...)), of records: the search gets epsilon = 1, the sums of what it found a half. *)
Definition sums_of_found {X} (r : relation) (group value : X -> Z) (found : list (option Z)) : list (asked X) :=
  [statistic_of r Sum 1%Q Z Z.eq_dec (names [0; 1; 2]%Z found) (ByGroup group) (records_by 3) 0 10 (fun x => clamp 0 10 (value x)) []].

Lemma sums_of_found_are_covered X r (group value : X -> Z) found a :
  In a (sums_of_found r group value found) -> is_covered r a /\ (0 <= max_groups (unit_of a))%Z.
Proof.
intros [<-|[]]. split; [|cbn; lia]. apply a_statistic_is_covered; auto using named_once, once_three; try reflexivity; try exact I; try lia.
- split; [discriminate|split; [exact (few_names found)|reflexivity]].
- intros x. apply clamp_within. lia.
Qed.

Theorem sums_over_found_groups X (group value : X -> Z) A (read : list (option Z) -> option nat -> list (list Z) -> A) table table' :
  symmetric table table'
  -> let found d := find_groups 1 1 20 (counts X Z Z.eq_dec (fun x => [group x]) [0; 1; 2]%Z d) in
     let sums d seen := release Symmetric laplace_for (1 # 2) (read seen) (sums_of_found Symmetric group value seen) d in
     nearly_private (1 + Q2R (1 # 2)) (/ 2 ^ 20) (then_ (found table) (sums table)) (then_ (found table') (sums table')).
Proof.
intros N. cbv zeta. assert (L := a_small_edge).
apply (nearly_more _ _ (1 - (1 - edge (IZR 1 / IZR 1) 20) ^ 1 + 0)); [simpl in *; lra|].
apply (Searches.statistics_over_found_groups_are_private 1 1 20 eq_refl eq_refl X Z Z.eq_dec (fun x => [group x]) _ once_three
  A Symmetric None 1 1 (Q2R (1 # 2)) 0); auto using grows_release; try lra; [simpl; lra|].
intros seen. apply close_is_nearly. apply (every_release_is_close X A Symmetric None); auto; [reflexivity|].
intros a H. now apply (sums_of_found_are_covered X Symmetric group value seen).
Qed.

(** The same where records change, with Gaussian noise: sigma^2 = 2 for the search by rho = 1/2, which is enough for epsilon = 1 and
    delta = 1/4, and a threshold of 6; what the sums get is for any epsilon and delta. *)
Lemma two_that_move : gaussian_fits 1 (1 # 4) (Norms 2 2 2) (GaussianNoise 2).
Proof.
exists (1 # 2), 2. split; [reflexivity|]. split; [reflexivity|]. split; [lra|exact a_small_rho].
Qed.

Theorem a_search_of_changed_records_with_gaussian_noise X (group : X -> Z) table table' :
  change_one table table'
  -> let found d := find_groups_with (GaussianNoise 2) 6 (counts X Z Z.eq_dec (fun x => [group x]) [0; 1; 2]%Z d) in
     nearly_private (Q2R 1) (1 - (1 - Q2R (1 # 4)) * (1 - alone 2 6) ^ 2) (found table) (found table').
Proof.
intros N. apply (finding_of_changed_records_with_gaussian_noise_is_private 2 6 eq_refl X Z Z.eq_dec (fun x => [group x]) _ once_three);
  auto using two_that_move; try reflexivity. split; [reflexivity|discriminate].
Qed.

Theorem sums_over_found_groups_with_gaussian_noise X (group value : X -> Z) epsilon delta A
    (read : list (option Z) -> option nat -> list (list Z) -> A) table table' :
  (0 < epsilon)%Q -> (0 < delta < 1)%Q -> change_one table table'
  -> let found d := find_groups_with (GaussianNoise 2) 6 (counts X Z Z.eq_dec (fun x => [group x]) [0; 1; 2]%Z d) in
     let fit := gaussian_within modest_sigma2 modest_rho epsilon delta in
     let sums d seen := release ChangeOne fit 1 (read seen) (sums_of_found ChangeOne group value seen) d in
     nearly_private (Q2R 1 + Q2R epsilon) (1 - (1 - Q2R (1 # 4)) * (1 - alone 2 6) ^ 2 + Q2R delta)
       (then_ (found table) (sums table)) (then_ (found table') (sums table')).
Proof.
intros E D N. cbv zeta. destruct there_is_enough_noise as [Own Rho].
apply (GaussianSearches.statistics_over_found_groups_are_private 2 6 eq_refl X Z Z.eq_dec (fun x => [group x]) _ once_three 1 (1 # 4)
  eq_refl ltac:(split; [reflexivity|discriminate]) A ChangeOne None 1); auto using grows_release.
- split; [exact I|exact N].
- exact two_that_move.
- destruct D as [D _]. rewrite <- RMicromega.Q2R_0. now apply Qle_Rle, Qlt_le_weak.
- intros seen. apply (every_release_with_fitted_noise_is_nearly_close X A ChangeOne None); auto;
    try (intros a H; now apply (sums_of_found_are_covered X ChangeOne group value seen)). split; [exact I|exact N].
Qed.
End FoundGroups.

(** * A ledger of epsilons and deltas *)
(** Of two sums of integers from 0 to 10, the second asked for twice as precisely if the first was above 100. *)
Definition a_step (epsilon : Q) : step (list Z) (list (list Z)) :=
  Step _ _ (fun d => release Symmetric laplace_for epsilon (fun _ sums => sums)
    [statistic_of Symmetric Sum 1%Q unit same_unit one_sum EveryRecord records 0 10 (clamp 0 10) []] d) epsilon 0.

Definition an_analyst (history : list (list (list Z))) : option (step (list Z) (list (list Z))) :=
  match history with
  | [] => Some (a_step (1 # 4))
  | [[z] :: _] => Some (a_step (if 100 <? z then 1 # 2 else 1 # 4))
  | _ => None
  end.

Theorem two_questions rounds d d' :
  symmetric d d'
  -> nearly_close (Q2R 1) (Q2R 0) (both_session _ _ an_analyst rounds 1 0 [] d) (both_session _ _ an_analyst rounds 1 0 [] d').
Proof.
intros N. apply (the_ledger_keeps_its_delta _ _ symmetric); auto; try discriminate.
assert (K : forall epsilon, (0 < epsilon)%Q -> keeps_both _ _ symmetric (a_step epsilon)).
{ intros epsilon E. split; [intros; apply grows_release|]. intros e e' H. cbn [epsilon_cost delta_cost a_step answers].
  rewrite RMicromega.Q2R_0. apply close_is_nearly. apply (every_release_is_close Z _ Symmetric None); auto.
  intros a [<-|[]]. apply a_statistic_is_covered; auto using once_one; try reflexivity; try lia; try exact I;
    try (intros; apply clamp_within; lia). repeat split. }
intros history m H. unfold an_analyst in H. destruct history as [|[|[|z [|? ?]] ?] [|? ?]]; try discriminate; injection H as <-;
  apply K; try reflexivity. now destruct (100 <? z).
Qed.

(** * Gradients *)
(** In two blocks, whose limits are chosen from the example itself; and where an example changes. *)
Theorem gradients_in_two_blocks (row : Z -> list Bits.binary64) (u v : list Z) :
  let blocks x := [(if 0 <=? x then 2 ^ 23 else 2 ^ 22, row x); (2 ^ 23, row (x + 1))] in
  let q x j := nth j (concat (clip_blocks (-24) 29 31 (2 ^ 24) (blocks x))) 0 in
  let noisy := noisy_gradients _ q 4 (2 ^ 24) 2 in
  (symmetric u v -> zcdp_laws (/ (2 * Q2R 2 ^ 2)) (noisy u) (noisy v))
  /\ (change_one u v -> zcdp_laws (4 * / (2 * Q2R 2 ^ 2)) (noisy u) (noisy v)).
Proof.
cbv zeta. split; intros N.
- apply (gradients_in_blocks_are_zcdp Z 4 (-24) 29 31 (2 ^ 24) 2
    (fun x => [(if 0 <=? x then 2 ^ 23 else 2 ^ 22, row x); (2 ^ 23, row (x + 1))])); auto; reflexivity || lia.
- apply a_changed_example_is_zcdp; auto; [reflexivity|reflexivity|]. intros x.
  apply Z.le_trans with (1 := length2_of_nth 4 _). now apply clip_blocks_at_most.
Qed.
