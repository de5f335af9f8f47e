(** Concrete releases, so that nobody can doubt that the hypotheses of the theorems can be met: each theorem is applied to
    a release as somebody would ask for it, and its hypotheses are computed.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Conditions Claims Programs Private Composition Shares Released Units Releases.
From Soundsum Require Import Theta Zcdp Renyi GaussianReleases Deltas Selection GaussianSearches GradientRows GradientReleases.
From Soundsum Require Binary64 GridKernel.
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
  (records_by 3) (IntegerType 64 true) (-5) 10 value []); auto using once_three; try reflexivity; try exact I.
- repeat split.
- split; [exact I|exact N].
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
apply (a_statistic_is_private X (list Q) Hamming None); auto using once_three; try reflexivity; try lia;
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
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_three; try reflexivity; try lia; try exact I;
    try (intros; lia). repeat split.
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
- intros a [<-|[]]. apply a_statistic_is_covered; auto using once_three; try reflexivity; try lia; try exact I;
    try (intros; lia). repeat split.
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
Theorem clipped_gradients (u v : list (list Bits.binary64)) :
  symmetric u v
  -> let q row j := nth j (clip_row (-24) 29 31 (2 ^ 24) row) 0 in
     let noisy := noisy_gradients _ q 2 (2 ^ 24) 1 in
     sigma_for 1 (2 ^ 24) = 2 ^ 24 /\ zcdp_laws (/ 2) (noisy u) (noisy v) /\ nearly_as_likely (Q2R 1) (Q2R (1 # 4)) (noisy u) (noisy v).
Proof.
intros N. cbv zeta. split; [reflexivity|].
assert (Z := gradients_of_any_bits_are_zcdp 2 (-24) 29 31 (2 ^ 24) 1 u v ltac:(lia) ltac:(lia) eq_refl N). cbv zeta in Z.
replace (/ (2 * Q2R 1 ^ 2))%R with (/ 2)%R in Z by (unfold Q2R; cbn [Qnum Qden]; field). split; [exact Z|].
apply (zcdp_laws_are_nearly_as_likely _ (/ 2) 2); auto using noisy_gradients_nonneg.
- intros; apply noisy_gradients_nonneg; [lia|reflexivity].
- intros; apply noisy_gradients_nonneg; [lia|reflexivity].
- lra.
- unfold Q2R; cbn [Qnum Qden]; lra.
- assert (R : Q2R (1 # 2) = (/ 2)%R) by (unfold Q2R; cbn [Qnum Qden]; lra). rewrite <- R. exact a_small_rho.
Qed.

(** Nothing moves a count whose number is public, nor a sum between 0 and 0: no noise, and the same release. *)
Example no_noise :
  noises laplace_for 1 [(1%Q, statistic_norms Count records true 1 1); (1%Q, statistic_norms Sum records false 0 0)]
  = [[NoNoise]; [NoNoise]].
Proof. vm_compute. reflexivity. Qed.
