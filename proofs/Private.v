(** Discrete Laplace noise, drawn from random bytes as the code draws it, hides a change of an integer: for every event,
    counted over all lists of bytes.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Programs Samplers Coins Laplace.
Import ListNotations.
Open Scope R_scope.

Notation is z := (passes (Z.eqb z)).

Lemma limits_le (f g : nat -> R) l m : (forall n, f n <= g n) -> Un_cv f l -> Un_cv g m -> l <= m.
Proof. apply Rle_cv_lim. Qed.

(** * Finitely many results *)
Definition window (M : nat) (f : Z -> R) : R := total (S (2 * M)) (fun i => f (Z.of_nat i - Z.of_nat M)%Z).

Lemma window_le M f g : (forall z, f z <= g z) -> window M f <= window M g.
Proof. intros H. apply total_le. auto. Qed.

Lemma window_ext M f g : (forall z, f z = g z) -> window M f = window M g.
Proof. intros H. apply total_ext. auto. Qed.

Lemma window_scal M k f : window M (fun z => k * f z) = k * window M f.
Proof. apply (total_scal _ k (fun i => f (Z.of_nat i - Z.of_nat M)%Z)). Qed.

Lemma total_single n j f : (j < n)%nat -> (forall i, i <> j -> f i = 0) -> total n f = f j.
Proof.
intros J Z. replace n with (j + (1 + (n - j - 1)))%nat by lia. rewrite !total_split, (total_zero j), (total_zero (n - j - 1)).
- cbn [total]. rewrite Nat.add_0_r. ring.
- intros i _. apply Z. lia.
- intros i I. apply Z. lia.
Qed.

Lemma window_single M a f : (Z.abs a <= Z.of_nat M)%Z -> (forall z, z <> a -> f z = 0) -> window M f = f a.
Proof.
intros A Z. unfold window. rewrite (total_single _ (Z.to_nat (a + Z.of_nat M))).
- f_equal. lia.
- lia.
- intros i I. apply Z. lia.
Qed.

Lemma weigh_total A (p : program A) n (f : nat -> A -> R) :
  weigh p (fun a => total n (fun i => f i a)) = total n (fun i => weigh p (f i)).
Proof.
induction n as [|n IH]; [apply weigh_zero|]. rewrite total_S, <- IH. rewrite <- weigh_plus. apply weigh_ext. intros.
apply total_S.
Qed.

Lemma weigh_window A (p : program A) M (f : Z -> A -> R) :
  weigh p (fun a => window M (fun z => f z a)) = window M (fun z => weigh p (f z)).
Proof. apply weigh_total. Qed.

Lemma finitely_many (p : program Z) :
  exists D, forall M, (D <= M)%nat -> forall w, weigh p w = window M (fun z => w z * weigh p (is z)).
Proof.
induction p as [a|next IH|].
- exists (Z.abs_nat a). intros M H w. rewrite (window_single M a).
  + cbn [weigh]. unfold passes. rewrite Z.eqb_refl. ring.
  + lia.
  + intros z Hz. cbn [weigh]. unfold passes. destruct (Z.eqb_spec z a); [contradiction|ring].
- destruct (largest_of (fun M b => forall w, weigh (next b) w = window M (fun z => w z * weigh (next b) (is z))) 256 IH)
    as [D H].
  exists D. intros M HM w. cbn [weigh]. unfold byte_mean.
  rewrite (total_ext 256 _ (fun i => window M (fun z => w z * weigh (next (Z.of_nat i)) (is z)))) by (intros; now apply H).
  unfold window. rewrite total_swap. unfold Rdiv. rewrite Rmult_comm, <- total_scal. apply total_ext. intros j _.
  rewrite total_scal. ring.
- exists O. intros M _ w. cbn [weigh]. unfold window. symmetry. apply total_zero. intros. ring.
Qed.

(** * The sampler on a list of bytes, and the share of lists that pass a test *)

(** The fuel is more than any list of so many bytes can use. *)
Definition sample (t s : Z) (bytes : list Z) : option (Z * list Z) := run (laplace (S (S (length bytes))) t s) bytes.

(** Of all lists of n bytes, the part that passes a test. *)
Definition share (n : nat) (test : list Z -> bool) : R := INR (length (filter test (strings n))) / 256 ^ n.

(** A number plus noise, in an event. *)
Definition noisy (t s : Z) (total : Z) (event : Z -> bool) (bytes : list Z) : bool :=
  match sample t s bytes with Some (z, _) => event (total + z)%Z | None => false end.

Definition probability (test : list Z -> bool) (p : R) := Un_cv (fun n => share n test) p.

Transparent strings.
Lemma strings_length n bytes : In bytes (strings n) -> length bytes = n.
Proof.
revert bytes. induction n as [|n IH]; intros bytes.
- intros [<-|[]]. reflexivity.
- rewrite strings_S. intros H. apply in_flat_map in H as (b & _ & H). apply in_map_iff in H as (l & <- & H).
  cbn [length]. f_equal. auto.
Qed.
Opaque strings.

Lemma filter_length_ext A (P Q : A -> bool) l :
  (forall x, In x l -> P x = Q x) -> length (filter P l) = length (filter Q l).
Proof.
intros H. induction l as [|x l IH]; auto. cbn [filter]. rewrite (H x) by now left.
destruct (Q x); cbn [length]; rewrite IH; auto; intros; apply H; now right.
Qed.

Lemma share_is_chance t s total event n :
  share n (noisy t s total event) = chance n (laplace (S (S n)) t s) (fun z => event (total + z)%Z).
Proof.
unfold share, chance. do 2 f_equal. apply filter_length_ext. intros bytes H. apply strings_length in H.
unfold noisy, sample, gives. now rewrite H.
Qed.

(** * The law *)
Definition laplace_mass (t s : Z) (z : Z) : R :=
  (1 - exp (- (IZR s / IZR t))) / (1 + exp (- (IZR s / IZR t))) * exp (- (IZR s / IZR t) * IZR (Z.abs z)).

Lemma mass_is t s z : (0 < t)%Z -> (0 < s)%Z -> mass (Z.to_nat t) (Z.to_nat s) z = laplace_mass t s z.
Proof.
intros T S. unfold mass, laplace_mass. rewrite q_is. rewrite !(INR_IZR_INZ (Z.to_nat _)), !Z2Nat.id by lia. f_equal.
rewrite exp_powers, INR_IZR_INZ, Zabs2Nat.id_abs. f_equal. ring.
Qed.

Theorem laplace_tends t s z :
  (0 < t)%Z -> (0 < s)%Z -> Un_cv (fun fuel => weigh (laplace fuel t s) (is z)) (laplace_mass t s z).
Proof.
intros T S. rewrite <- mass_is by auto.
assert (L := laplace_law (Z.to_nat t) (Z.to_nat s) ltac:(lia) ltac:(lia) z). now rewrite !Z2Nat.id in L by lia.
Qed.

Section Law.
Variables t s : Z.
Hypothesis t_pos : (0 < t)%Z.
Hypothesis s_pos : (0 < s)%Z.

Lemma fuel_grows w : (forall z, 0 <= w z) -> Un_growing (fun fuel => weigh (laplace fuel t s) w).
Proof. intros W n. apply extended_weigh; auto. apply laplace_extended. lia. Qed.

Lemma at_most_its_mass fuel z : weigh (laplace fuel t s) (is z) <= laplace_mass t s z.
Proof.
apply (growing_ineq (fun fuel => weigh (laplace fuel t s) (is z))); [|now apply laplace_tends].
apply fuel_grows. intros; apply passes_range.
Qed.

Lemma bounded_tends w :
  (forall z, 0 <= w z <= 1) -> { p | Un_cv (fun fuel => weigh (laplace fuel t s) w) p }.
Proof.
intros W. apply growing_cv; [now apply fuel_grows; intros; apply W|]. exists 1. intros x [n ->].
apply weigh_at_most; [lra|]. intros; apply W.
Qed.

Lemma event_tends total event p :
  Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => passes event (total + z)%Z)) p
  -> probability (noisy t s total event) p.
Proof.
intros C. destruct (chances_tend _ (fun fuel => laplace fuel t s) (fun n => S (S n)) (fun z => event (total + z)%Z) p)
  as [T _]; auto.
- intros; now apply laplace_extended.
- unfold probability. apply tends_ext with (2 := T). intros n. symmetry. apply share_is_chance.
Qed.

(** The mass of every integer is as it should be, *)
Theorem the_noise_is_exact z :
  probability (fun bytes => match sample t s bytes with Some (z', _) => (z =? z')%Z | None => false end)
    (laplace_mass t s z).
Proof.
apply (event_tends 0 (Z.eqb z)). apply tends_ext with (2 := laplace_tends t s z t_pos s_pos). intros fuel.
apply weigh_ext. reflexivity.
Qed.

(** and they add up to 1: the sampler ends, except with probability 0. *)
Theorem masses_add_up : Un_cv (fun M => window M (laplace_mass t s)) 1.
Proof.
set (q := exp (- (IZR s / IZR t))). assert (Q : 0 < q < 1).
{ split; [apply exp_pos|]. unfold q. rewrite <- exp_0. apply exp_increasing.
  assert (0 < IZR s / IZR t); [|lra]. apply Rmult_lt_0_compat; [|apply Rinv_0_lt_compat]; now apply IZR_lt. }
assert (E : forall M, window M (laplace_mass t s) = 1 - 2 * q / (1 + q) * q ^ M).
{ intros M. set (f := laplace_mass t s).
  assert (V : forall n, f (Z.of_nat n) = (1 - q) / (1 + q) * q ^ n /\ f (- Z.of_nat n)%Z = (1 - q) / (1 + q) * q ^ n).
  { intros n. unfold f, laplace_mass. fold q. rewrite Z.abs_opp, Z.abs_eq by lia. rewrite <- INR_IZR_INZ.
    assert (X : exp (- (IZR s / IZR t) * INR n) = q ^ n) by (unfold q; rewrite exp_powers; f_equal; ring).
    rewrite X. split; reflexivity. }
  assert (W : forall n, window n f = total n (fun i => f (- Z.of_nat (S i))%Z) + total (S n) (fun i => f (Z.of_nat i))).
  { intros n. unfold window. replace (S (2 * n)) with (n + S n)%nat by lia. rewrite total_split. f_equal.
    - clear. induction n as [|n IH]; [reflexivity|].
      rewrite (total_S n (fun i => f (- Z.of_nat (S i))%Z)), <- IH.
      change (S n) with (1 + n)%nat at 1. rewrite total_split. cbn [total].
      rewrite Rplus_0_l, Rplus_comm. f_equal. apply total_ext. intros. f_equal. lia.
    - apply total_ext. intros; f_equal; lia. }
  rewrite W. rewrite (total_ext M _ (fun i => (1 - q) / (1 + q) * q * q ^ i)) by
    (intros i _; rewrite (proj2 (V (S i))); change (q ^ S i) with (q * q ^ i); ring).
  rewrite (total_ext (S M) _ (fun i => (1 - q) / (1 + q) * q ^ i)) by (intros i _; apply V).
  rewrite (total_scal M _ (fun i => q ^ i)), (total_scal (S M) _ (fun i => q ^ i)).
  assert (G := total_geometric M q). assert (G' := total_geometric (S M) q).
  set (x := total M _) in *. set (y := total (S M) _) in *.
  replace ((1 - q) / (1 + q) * q * x + (1 - q) / (1 + q) * y) with ((q * ((1 - q) * x) + (1 - q) * y) / (1 + q))
    by (field; lra).
  rewrite G, G'. change (q ^ S M) with (q * q ^ M). field. lra. }
apply tends_ext with (fun M => 1 - 2 * q / (1 + q) * q ^ M); [intros; now rewrite E|].
replace 1 with (1 - 2 * q / (1 + q) * 0) at 1 by ring.
apply (CV_minus (fun _ => 1)); [apply tends_const|]. apply tends_scal, tends_powers. lra.
Qed.

Lemma window_below w M fuel :
  (forall z, 0 <= w z) -> window M (fun z => w z * weigh (laplace fuel t s) (is z)) <= weigh (laplace fuel t s) w.
Proof.
intros W. rewrite (window_ext M _ (fun z => weigh (laplace fuel t s) (fun x => w z * is z x)))
  by (intros; symmetry; apply weigh_scal).
rewrite <- (weigh_window _ (laplace fuel t s) M (fun z x => w z * is z x)). apply weigh_le. intros x.
destruct (Z_le_gt_dec (Z.abs x) (Z.of_nat M)) as [h|h].
- rewrite (window_single M x); auto.
  + unfold passes. rewrite Z.eqb_refl. lra.
  + intros z Hz. unfold passes. destruct (Z.eqb_spec z x); [contradiction|ring].
- unfold window. rewrite total_zero; auto. intros i I. unfold passes.
  destruct (Z.eqb_spec (Z.of_nat i - Z.of_nat M) x); [lia|ring].
Qed.

Theorem it_ends :
  probability (fun bytes => match sample t s bytes with Some _ => true | None => false end) 1.
Proof.
assert (P := bounded_tends (fun _ => 1) ltac:(intros; lra)). destruct P as [p C].
assert (E : p = 1).
{ apply Rle_antisym.
  - apply (limits_le (fun fuel => weigh (laplace fuel t s) (fun _ => 1)) (fun _ => 1)); auto using tends_const.
    intros n. apply weigh_at_most; [|intros _]; lra.
  - apply (limits_le (fun M => window M (laplace_mass t s)) (fun _ => p)); auto using masses_add_up, tends_const.
    intros M. apply (limits_le (fun fuel => window M (fun z => weigh (laplace fuel t s) (is z)))
      (fun fuel => weigh (laplace fuel t s) (fun _ => 1))); auto.
    + intros fuel. generalize (window_below (fun _ => 1) M fuel ltac:(intros; lra)).
      rewrite (window_ext M _ (fun z => weigh (laplace fuel t s) (is z))) by (intros; ring). auto.
    + apply (tends_total _ (fun fuel i => weigh (laplace fuel t s) (is (Z.of_nat i - Z.of_nat M)%Z))
        (fun i => laplace_mass t s (Z.of_nat i - Z.of_nat M)%Z)).
      intros i _. now apply laplace_tends. }
rewrite <- E. assert (T := event_tends 0 (fun _ => true) p C). apply tends_ext with (2 := T). intros n. unfold share.
do 2 f_equal. apply filter_length_ext. intros bytes _. unfold noisy. destruct (sample t s bytes) as [[z l]|]; auto.
Qed.

(** * Privacy *)
Variables (Delta : Z) (epsilon : R).
Hypothesis enough : IZR s * IZR Delta <= epsilon * IZR t.

Lemma masses_are_close z z' : (Z.abs (z - z') <= Delta)%Z -> laplace_mass t s z <= exp epsilon * laplace_mass t s z'.
Proof.
intros H. unfold laplace_mass. set (x := IZR s / IZR t). assert (T : 0 < IZR t) by now apply IZR_lt.
assert (X : 0 < x) by (apply Rmult_lt_0_compat; [now apply IZR_lt|now apply Rinv_0_lt_compat]).
assert (Q : exp (- x) < 1) by (rewrite <- exp_0; apply exp_increasing; lra). assert (Q0 := exp_pos (- x)).
assert (F : 0 < (1 - exp (- x)) / (1 + exp (- x))) by (apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra]).
set (f := (1 - exp (- x)) / (1 + exp (- x))) in *.
replace (exp epsilon * (f * exp (- x * IZR (Z.abs z')))) with (f * exp (epsilon + - x * IZR (Z.abs z')))
  by (rewrite exp_plus; ring).
apply Rmult_le_compat_l; [lra|].
assert (B : - x * IZR (Z.abs z) <= epsilon + - x * IZR (Z.abs z')).
{ assert (xD : x * IZR Delta <= epsilon).
  { unfold x. apply Rmult_le_reg_r with (IZR t); auto.
    replace (IZR s / IZR t * IZR Delta * IZR t) with (IZR s * IZR Delta) by (field; lra). exact enough. }
  assert (D : IZR (Z.abs z') - IZR (Z.abs z) <= IZR Delta) by (rewrite <- minus_IZR; apply IZR_le; lia).
  apply Rmult_le_compat_l with (r := x) in D; lra. }
destruct B as [B|B]; [now apply Rlt_le, exp_increasing|]. rewrite B. lra.
Qed.

(** For every weight of the results in [0, 1]. *)
Theorem shifted_weights a b w p p' :
  (Z.abs (a - b) <= Delta)%Z -> (forall z, 0 <= w z <= 1)
  -> Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => w (a + z)%Z)) p
  -> Un_cv (fun fuel => weigh (laplace fuel t s) (fun z => w (b + z)%Z)) p' -> p <= exp epsilon * p'.
Proof.
intros H W C C'.
apply (limits_le (fun fuel => weigh (laplace fuel t s) (fun z => w (a + z)%Z)) (fun _ => exp epsilon * p'));
  auto using tends_const.
intros fuel. destruct (finitely_many (laplace fuel t s)) as [D F]. rewrite (F D (le_n D)).
apply Rle_trans with (window D (fun z => w (a + z)%Z * laplace_mass t s z)).
{ apply window_le. intros z. apply Rmult_le_compat_l; [apply W|apply at_most_its_mass]. }
apply Rle_trans with (window D (fun z => exp epsilon * (w (a + z)%Z * laplace_mass t s (z + a - b)))).
{ apply window_le. intros z. rewrite <- Rmult_assoc, (Rmult_comm (exp epsilon)), Rmult_assoc.
  apply Rmult_le_compat_l; [apply W|]. apply masses_are_close. lia. }
rewrite window_scal. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
apply (limits_le (fun fuel => window D (fun z => w (a + z)%Z * weigh (laplace fuel t s) (is (z + a - b)%Z)))
  (fun fuel => weigh (laplace fuel t s) (fun z => w (b + z)%Z))); auto.
- intros k. rewrite (window_ext D _ (fun z => weigh (laplace k t s) (fun x => w (a + z)%Z * is (z + a - b)%Z x)))
    by (intros; symmetry; apply weigh_scal).
  rewrite <- (weigh_window _ (laplace k t s) D (fun z x => w (a + z)%Z * is (z + a - b)%Z x)). apply weigh_le. intros x.
  destruct (Z_le_gt_dec (Z.abs (x + b - a)) (Z.of_nat D)) as [h|h].
  + rewrite (window_single D (x + b - a)%Z); auto.
    * unfold passes. replace (a + (x + b - a))%Z with (b + x)%Z by ring.
      replace (x + b - a + a - b)%Z with x by ring. rewrite Z.eqb_refl. lra.
    * intros z Hz. unfold passes. destruct (Z.eqb_spec (z + a - b) x); [lia|ring].
  + unfold window. rewrite total_zero; [apply W|]. intros i I. unfold passes.
    destruct (Z.eqb_spec (Z.of_nat i - Z.of_nat D + a - b) x); [lia|ring].
- apply (tends_total _ (fun fuel i => w (a + (Z.of_nat i - Z.of_nat D))%Z
      * weigh (laplace fuel t s) (is (Z.of_nat i - Z.of_nat D + a - b)%Z))
    (fun i => w (a + (Z.of_nat i - Z.of_nat D))%Z * laplace_mass t s (Z.of_nat i - Z.of_nat D + a - b)%Z)).
  intros i _. apply tends_scal. now apply laplace_tends.
Qed.

Theorem laplace_is_private a b event :
  (Z.abs (a - b) <= Delta)%Z
  -> exists p p', probability (noisy t s a event) p /\ probability (noisy t s b event) p' /\ p <= exp epsilon * p'.
Proof.
intros H. assert (W : forall z, 0 <= passes event z <= 1) by (intros; apply passes_range).
destruct (bounded_tends (fun z => passes event (a + z)%Z) (fun z => W (a + z)%Z)) as [p C].
destruct (bounded_tends (fun z => passes event (b + z)%Z) (fun z => W (b + z)%Z)) as [p' C'].
exists p, p'. split; [now apply event_tends|split; [now apply event_tends|]].
now apply (shifted_weights a b (passes event)).
Qed.
End Law.
