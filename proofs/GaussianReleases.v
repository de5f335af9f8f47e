(** Releases with discrete Gaussian noise, whole: from the records' bits to what is released, rho-zCDP, and (epsilon, delta)
    for every event of whatever is computed from them. The division of rho and each sigma^2 are the code's.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool Arith.
From Soundsum Require Import Relations Sums Conditions Claims Programs Samplers Coins Laplace Private Composition Gaussian.
From Soundsum Require Import Theta Zcdp Fuel Shares Released Renyi Units Releases.
Import ListNotations.
Open Scope R_scope.

Notation same_vector := (list_eq_dec Z.eq_dec).
Notation same_vectors := (list_eq_dec (list_eq_dec Z.eq_dec)).

(** * One number, a vector, several vectors *)
Lemma law_of_a_number s2 a : (0 < Qnum s2)%Z -> law Z.eq_dec (add_noise (GaussianNoise s2) a) (gaussian_mass (Qnum s2) (Zpos (Qden s2)) a).
Proof.
intros H v. assert (L := the_gaussian_is_exact (Qnum s2) (Zpos (Qden s2)) H eq_refl (v - a)). rewrite moved_mass in L.
apply tends_ext with (2 := L). intros n. unfold add_noise, then_, draw. rewrite weigh_bind. apply weigh_ext. intros z.
cbn [weigh]. unfold passes, one_is. destruct (Z.eqb_spec (v - a) z), (Z.eq_dec v (a + z)); (reflexivity || lia).
Qed.

Lemma mass_positive s2 a v : (0 < Qnum s2)%Z -> 0 < gaussian_mass (Qnum s2) (Zpos (Qden s2)) a v.
Proof.
intros H. unfold gaussian_mass. apply Rdiv_lt_0_compat; [apply g_pos|]. apply theta_pos. now apply c_pos.
Qed.

Theorem noisy_numbers_are_zcdp s2 a b :
  (0 < Qnum s2)%Z
  -> zcdp_close Z.eq_dec (IZR ((a - b) * (a - b)) * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2)))
       (add_noise (GaussianNoise s2) a) (add_noise (GaussianNoise s2) b).
Proof.
intros H P Q L M. assert (E := law_unique _ _ _ _ L (law_of_a_number s2 a H)).
assert (E' := law_unique _ _ _ _ M (law_of_a_number s2 b H)). split; [intros v _; rewrite E'; now apply mass_positive|].
intros alpha A l N. assert (Z := gaussian_mass_is_zcdp (Qnum s2) (Zpos (Qden s2)) H eq_refl a b alpha A l N).
replace (IZR ((a - b) * (a - b))) with (IZR (a - b) ^ 2) by (rewrite mult_IZR; ring).
apply Rle_trans with (2 := Z). right. apply lsum_ext. intros v _. rewrite E, E'. unfold term.
destruct (Rle_dec _ 0) as [F|_]; [|reflexivity]. generalize (mass_positive s2 a v H). lra.
Qed.

Theorem noisy_vectors_are_zcdp s2 l l' :
  (0 < Qnum s2)%Z -> length l = length l'
  -> zcdp_close same_vector (IZR (L2 l l') * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2)))
       (noisy_vector (GaussianNoise s2) l) (noisy_vector (GaussianNoise s2) l').
Proof.
intros H. assert (P : 0 < IZR (Qnum s2)) by now apply IZR_lt. revert l'.
induction l as [|a l IH]; intros [|b l'] E; try discriminate.
- cbn [noisy_vector L2]. replace (IZR 0 * _ / _) with 0 by (field; lra). apply zcdp_refl, grows_return.
- cbn [L2]. rewrite plus_IZR, Rmult_plus_distr_r, Rdiv_plus_distr.
  apply (zcdp_cons Z.eq_dec _ _ (add_noise (GaussianNoise s2) a) (add_noise (GaussianNoise s2) b)
    (fun _ => noisy_vector (GaussianNoise s2) l) (fun _ => noisy_vector (GaussianNoise s2) l')); auto using grows_add_noise, grows_vector.
  now apply noisy_numbers_are_zcdp.
Qed.

Lemma sigma_is n rho :
  (0 < rho)%Q -> is_moved n = true -> (0 < norm2 n)%Z
  -> exists s2, gaussian_for rho n = GaussianNoise s2 /\ (0 < Qnum s2)%Z
       /\ IZR (norm2 n) * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2)) = Q2R rho.
Proof.
intros R M N. unfold gaussian_for. rewrite M. set (s2 := Qred (inject_Z (norm2 n) / (2 * rho))). exists s2.
assert (Q : (s2 * (2 * rho) == inject_Z (norm2 n))%Q).
{ unfold s2. rewrite Qred_correct. field. intros Z. rewrite Z in R. discriminate. }
assert (F := Qeq_eqR _ _ Q). rewrite !Q2R_mult in F. unfold Q2R at 1 2 4 in F. cbn [Qnum Qden inject_Z] in F.
assert (D0 : 0 < IZR (Zpos (Qden s2))) by (apply IZR_lt; lia).
assert (R0 : 0 < Q2R rho) by (rewrite <- RMicromega.Q2R_0; now apply Qlt_Rlt).
assert (N0 : 0 < IZR (norm2 n)) by now apply IZR_lt.
assert (S : IZR (Qnum s2) * (2 * Q2R rho) = IZR (norm2 n) * IZR (Zpos (Qden s2))).
{ rewrite Rinv_1, !Rmult_1_r in F. rewrite <- F. field. lra. }
assert (P : 0 < IZR (Qnum s2)).
{ apply Rmult_lt_reg_r with (2 * Q2R rho); [lra|]. rewrite S, Rmult_0_l. now apply Rmult_lt_0_compat. }
split; [reflexivity|split; [now apply lt_IZR|]]. rewrite <- S. field. lra.
Qed.

Lemma vectors_are_zcdp n rho l l' :
  (is_moved n = true -> 0 < rho)%Q -> (is_moved n = true -> 0 < norm2 n)%Z -> moves n l l'
  -> zcdp_close same_vector (if is_moved n then Q2R rho else 0) (noisy_vector (gaussian_for rho n) l)
       (noisy_vector (gaussian_for rho n) l').
Proof.
intros R N (Len & H1 & H2). destruct (is_moved n) eqn:M.
- destruct (sigma_is n rho (R eq_refl) M (N eq_refl)) as (s2 & -> & P & <-).
  apply (zcdp_more _ (IZR (L2 l l') * IZR (Zpos (Qden s2)) / (2 * IZR (Qnum s2)))); [|now apply noisy_vectors_are_zcdp].
  assert (0 < IZR (Qnum s2)) by now apply IZR_lt. unfold Rdiv. apply Rmult_le_compat_r.
  + apply Rlt_le, Rinv_0_lt_compat. lra.
  + apply Rmult_le_compat_r; [apply IZR_le; lia|now apply IZR_le].
- unfold is_moved in M. apply Z.ltb_ge in M. rewrite (not_apart l l' Len) by lia. apply zcdp_refl, grows_vector.
Qed.

(** What can move in L1 can move in L2, as with all norms that the code computes. *)
Definition proper (n : norms) := is_moved n = true -> (0 < norm2 n)%Z.

Theorem noisy_parts_are_zcdp whole asked v v' :
  (0 < whole)%Q -> (forall n x, In (n, x) asked -> proper n /\ (is_moved n = true -> 0 < x)%Q)
  -> all_move (map fst asked) v v'
  -> let noise_of := map (fun '(n, x) => gaussian_for (whole * x) n) asked in
     zcdp_close same_vectors (Q2R whole * Q2R (spent asked)) (noisy_parts (combine noise_of v)) (noisy_parts (combine noise_of v')).
Proof.
intros W. cbv zeta. revert v v'. induction asked as [|[n x] asked IH]; intros [|l v] [|l' v'] P H;
  cbn [map fst all_move combine] in *; try contradiction.
{ unfold spent. cbn. rewrite RMicromega.Q2R_0, Rmult_0_r. apply zcdp_refl, grows_return. }
destruct H as [M H]. rewrite spent_cons, Rmult_plus_distr_l.
apply (zcdp_cons same_vector _ _ (noisy_vector (gaussian_for (whole * x) n) l) (noisy_vector (gaussian_for (whole * x) n) l')
  (fun _ => noisy_parts (combine (map (fun '(n, x) => gaussian_for (whole * x) n) asked) v))
  (fun _ => noisy_parts (combine (map (fun '(n, x) => gaussian_for (whole * x) n) asked) v'))); auto using grows_vector, grows_parts.
- replace (Q2R whole * (if is_moved n then Q2R x else 0)) with (if is_moved n then Q2R (whole * x) else 0)
    by (destruct (is_moved n); [apply Q2R_mult|ring]).
  destruct (P n x (or_introl eq_refl)) as [Pn Px]. apply vectors_are_zcdp; auto. intros N. apply Qmult_lt_0_compat; auto.
- intros _. apply IH; auto. intros m y Hy. apply P. now right.
Qed.

Theorem gaussian_releases_are_zcdp rho tasks v v' :
  (0 < rho)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> (forall t n, In t tasks -> In n (snd t) -> proper n)
  -> all_move (concat (map snd tasks)) v v'
  -> zcdp_close same_vectors (Q2R rho) (released gaussian_for rho tasks v) (released gaussian_for rho tasks v').
Proof.
intros E W Pr M. unfold released. rewrite noises_are.
apply (zcdp_more _ (Q2R rho * Q2R (spent (concat (shares tasks))))).
- rewrite <- (Rmult_1_r (Q2R rho)) at 2. apply Rmult_le_compat_l.
  + rewrite <- RMicromega.Q2R_0. apply Qle_Rle. now apply Qlt_le_weak.
  + rewrite <- RMicromega.Q2R_1. apply Qle_Rle. now apply no_more_than_the_whole.
- apply noisy_parts_are_zcdp; auto.
  + intros n x H. split; [|now apply (shares_are_positive tasks n)].
    assert (I : In n (map fst (concat (shares tasks)))) by (apply in_map_iff; now exists (n, x)).
    rewrite shares_are_of in I. apply in_concat in I as (l & Hl & I). apply in_map_iff in Hl as (t & <- & Ht). now apply (Pr t).
  + now rewrite shares_are_of.
Qed.

(** * The statistics *)
Lemma unit_norms_are_proper u low high sized :
  (low <= high)%Z -> (match max_rows u with Some r => 0 <= r | None => True end)%Z -> (0 <= max_groups u)%Z
  -> (match groups u with Some m => 0 <= m | None => True end)%Z -> proper (unit_norms u low high sized).
Proof.
intros LH R G M. unfold proper, is_moved, unit_norms. intros H.
destruct (max_rows u) as [r|].
- cbn [norm1 norm2] in *. apply Z.ltb_lt in H. set (g := Z.min _ _) in *. set (x := Z.max _ _) in *.
  assert (0 <= g)%Z by (unfold g; destruct (groups u); lia). rewrite Z.pow_2_r.
  assert (g <> 0)%Z by (intros ->; lia). assert (r * x <> 0)%Z by (intros Z; rewrite <- Z.mul_assoc, Z in H; lia). nia.
- destruct sized.
  + destruct (groups u) as [m|].
    * destruct (m =? 1)%Z; cbn [norm1 norm2] in *; apply Z.ltb_lt in H; rewrite ?Z.pow_2_r; nia.
    * cbn [norm1 norm2] in *. apply Z.ltb_lt in H. rewrite Z.pow_2_r. nia.
  + cbn [norm1 norm2] in *. apply Z.ltb_lt in H. rewrite Z.pow_2_r. nia.
Qed.

Lemma tasks_are_proper X r (every : list (asked X)) t n :
  (forall a, In a every -> is_covered r a) -> In t (map (task_of r) every) -> In n (snd t)
  -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z -> proper n.
Proof.
intros C Ht Hn G. apply in_map_iff in Ht as (a & <- & Ha). destruct (C a Ha) as (_ & _ & O & _ & P). specialize (G a Ha).
unfold task_of in Hn. cbn [snd] in Hn. unfold part_norms in Hn. apply in_map_iff in Hn as ([[low high] v] & <- & Hv).
destruct (P (low, high) v Hv) as [LH _]. cbn [fst snd] in LH. unfold is_of in O.
destruct (added a) as [|key|rows kept].
- destruct O as (Og & Or & _). apply unit_norms_are_proper; auto; [now rewrite Or|now rewrite Og].
- destruct O as (_ & Og & Or). apply unit_norms_are_proper; auto; [now rewrite Or|]. unfold has_room in Og. destruct (groups (unit_of a)); lia.
- destruct O as (Or & r0 & g0 & _ & Og). apply unit_norms_are_proper; auto; [now rewrite Or|].
  unfold has_room in Og. destruct (groups (unit_of a)); [lia|exact I].
Qed.

(** What is released, before anything is computed from it, is rho-zCDP. *)
Theorem every_gaussian_release_is_zcdp X r limit (every : list (asked X)) rho d d' :
  (0 < rho)%Q -> (forall a, In a every -> is_covered r a) -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z
  -> neighbours r limit d d'
  -> let sums d := concat (map (fun a => sums_of a d) every) in
     let tasks := map (task_of r) every in
     zcdp_close same_vectors (Q2R rho) (released gaussian_for rho tasks (sums d)) (released gaussian_for rho tasks (sums d')).
Proof.
intros R C G N. cbv zeta. apply gaussian_releases_are_zcdp; auto.
- intros t H. now apply (weights_are_positive X r every).
- intros t n H H'. now apply (tasks_are_proper X r every t).
- now apply (sums_move X r limit).
Qed.

(** For every event of anything that is computed from it, counted over all lists of bytes. *)
Definition nearly_private {A} (epsilon delta : R) (p p' : nat -> program A) :=
  forall event, exists x x',
    probability (on_bytes p event) x /\ probability (on_bytes p' event) x' /\ x <= exp epsilon * x' + delta.

Theorem zcdp_is_nearly_private A B (same : forall a b : A, {a = b} + {a <> b}) rho alpha epsilon p p' (read : A -> B) :
  grows p -> grows p' -> zcdp_close same rho p p' -> 1 < alpha
  -> nearly_private epsilon (loss_factor alpha * exp ((alpha - 1) * (alpha * rho - epsilon))) (then_read p read) (then_read p' read).
Proof.
intros G G' C H event. set (w a := passes event (read a)). assert (W : unit_weight w) by (intros a; apply passes_range).
destruct (value A p w G W) as [x X]. destruct (value A p' w G' W) as [x' X']. exists x, x'.
assert (V : forall q y, grows q -> tends q w y -> probability (on_bytes (then_read q read) event) y).
{ intros q y Gq T. apply value_on_bytes; [now apply grows_read|]. apply tends_ext with (2 := T). intros n.
  unfold then_read, then_. now rewrite weigh_bind. }
repeat split; auto. now apply (zcdp_is_dp same rho alpha epsilon p p' w).
Qed.

(** The code's rho (`zcdp_rho`): for some alpha, alpha rho - epsilon is at most a lower bound of this logarithm. *)
Definition log_term (alpha delta : R) : R := (ln delta + ln (alpha - 1) - alpha * ln (1 - / alpha)) / (alpha - 1).

Theorem the_codes_conversion alpha delta rho epsilon :
  1 < alpha -> 0 < delta -> alpha * rho - epsilon <= log_term alpha delta
  -> loss_factor alpha * exp ((alpha - 1) * (alpha * rho - epsilon)) <= delta.
Proof.
intros H D L. unfold loss_factor, Rpower. rewrite <- (exp_ln (alpha - 1)) at 1 by lra. rewrite <- (exp_ln delta D).
unfold Rdiv. rewrite <- exp_Ropp, <- !exp_plus. apply exp_le. apply Rmult_le_compat_l with (r := alpha - 1) in L; [|lra].
unfold log_term in L.
replace ((alpha - 1) * ((ln delta + ln (alpha - 1) - alpha * ln (1 - / alpha)) / (alpha - 1)))
  with (ln delta + ln (alpha - 1) - alpha * ln (1 - / alpha)) in L by (field; lra). lra.
Qed.

Lemma nearly_more A epsilon delta delta' (p p' : nat -> program A) :
  delta <= delta' -> nearly_private epsilon delta p p' -> nearly_private epsilon delta' p p'.
Proof. intros L H event. destruct (H event) as (x & x' & X & X' & E). exists x, x'. repeat split; auto. lra. Qed.

(** Every release with Gaussian noise: (epsilon, delta)-DP. *)
Theorem every_gaussian_release_is_private X A r limit (every : list (asked X)) rho alpha epsilon delta
    (read : option nat -> list (list Z) -> A) d d' :
  (0 < rho)%Q -> (forall a, In a every -> is_covered r a) -> (forall a, In a every -> 0 <= max_groups (unit_of a))%Z
  -> neighbours r limit d d' -> 1 < alpha -> 0 < delta -> alpha * Q2R rho - epsilon <= log_term alpha delta
  -> nearly_private epsilon delta (release r gaussian_for rho read every d) (release r gaussian_for rho read every d').
Proof.
intros R C G N H D L. apply (nearly_more _ _ _ _ _ _ (the_codes_conversion alpha delta (Q2R rho) epsilon H D L)).
unfold release. rewrite (public_number_is_public X r limit d d' N).
apply (zcdp_is_nearly_private _ _ same_vectors); auto using grows_released.
now apply (every_gaussian_release_is_zcdp X r limit).
Qed.

(** Fuel is enough here too. *)
Theorem released_gaussian_fuel_is_enough whole tasks v bytes fuel x :
  (0 < whole)%Q -> (forall t, In t tasks -> 0 < fst t)%Q -> (forall t n, In t tasks -> In n (snd t) -> proper n)
  -> run (released gaussian_for whole tasks v fuel) bytes = Some x
  -> run (released gaussian_for whole tasks v (S (S (length bytes)))) bytes = Some x.
Proof.
intros W P Pr R. assert (F : enough_fuel (released gaussian_for whole tasks v)).
{ apply enough_parts. intros n l H. apply in_combine_l in H. rewrite noises_are in H.
  apply in_map_iff in H as ([m y] & <- & H). destruct (is_moved m) eqn:M; [|unfold gaussian_for; rewrite M; exact I].
  destruct (sigma_is m (whole * y)) as (s2 & -> & T & _); auto.
  - apply Qmult_lt_0_compat; auto. now apply (shares_are_positive tasks m).
  - assert (I : In m (map fst (concat (shares tasks)))) by (apply in_map_iff; now exists (m, y)).
    rewrite shares_are_of in I. apply in_concat in I as (k & Hk & I). apply in_map_iff in Hk as (t & <- & Ht). now apply (Pr t m). }
rewrite (F (length bytes) _ (max fuel (S (S (length bytes))))) by lia.
apply (extended_run _ (released gaussian_for whole tasks v fuel)); auto. apply grows_released. lia.
Qed.
