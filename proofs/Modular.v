(** modular (docs/theorems/modular.md): integers added modulo 2^w.

    On the circle of N = 2^w integers the sums of neighbours are at most min(N/2, M) apart, or min(N/2, U - L) for a
    public n; and integer noise added on the same circle keeps its privacy. *)

From Coq Require Import List Permutation ZArith Reals Lia.
From Soundsum Require Import Relations Sums.
Import ListNotations.
Open Scope Z_scope.

Section Type_.
Variables lo hi : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

(** Modular. *)
Definition N := hi - lo + 1.
Definition wrap z := (z - lo) mod N + lo.
Definition modular l := fold_left (fun s x => wrap (s + x)) l 0.
Definition circle a b := Z.min ((a - b) mod N) ((b - a) mod N).

Lemma N_pos : 0 < N. Proof. unfold N; lia. Qed.

Lemma wrap_range z : lo <= wrap z <= hi.
Proof. unfold wrap. generalize (Z.mod_pos_bound (z - lo) N N_pos). unfold N; lia. Qed.

Lemma wrap_cong z : exists k, wrap z = z + k * N.
Proof. exists (- ((z - lo) / N)). unfold wrap. generalize (Z.div_mod (z - lo) N). generalize N_pos. nia. Qed.

Lemma modular_cong l : exists k, modular l = sumZ l + k * N.
Proof.
unfold modular. induction l as [|x l (k & IH)] using rev_ind; [now exists 0|].
rewrite fold_left_app, sumZ_app, IH. simpl. destruct (wrap_cong (sumZ l + k * N + x)) as (k' & ->). exists (k + k').
ring.
Qed.

Lemma circle_bound a b : circle a b <= Z.min (N / 2) (Z.abs (a - b)).
Proof.
unfold circle. assert (P := N_pos). replace (b - a) with (- (a - b)) by ring. set (z := a - b).
generalize (Z.mod_pos_bound z N P) (Z.mod_pos_bound (- z) N P). intros B B'.
assert (H : z mod N + (- z) mod N = 0 \/ z mod N + (- z) mod N = N).
{ destruct (Z.eq_dec (z mod N) 0) as [e|e].
  - left. now rewrite Z.mod_opp_l_z, e by lia.
  - right. rewrite Z.mod_opp_l_nz by lia. lia. }
assert (D := Z.div_mod N 2). assert (D' := Z.mod_pos_bound N 2).
assert (A : z mod N <= Z.abs z \/ (- z) mod N <= Z.abs z).
{ destruct (Z_le_gt_dec 0 z).
  - left. generalize (Z.mod_le z N). lia.
  - right. generalize (Z.mod_le (- z) N). lia. }
lia.
Qed.

Lemma circle_cong a b k k' : circle (a + k * N) (b + k' * N) = circle a b.
Proof.
unfold circle. replace (a + k * N - (b + k' * N)) with (a - b + (k - k') * N) by ring.
replace (b + k' * N - (a + k * N)) with (b - a + (k' - k) * N) by ring. now rewrite !Z_mod_plus_full.
Qed.

Theorem modular_symmetric L U u v :
  in_bounds L U u -> in_bounds L U v -> symmetric u v
  -> circle (modular u) (modular v) <= Z.min (N / 2) (magnitudeZ L U).
Proof.
intros Fu Fv H. destruct (modular_cong u) as (k & ->), (modular_cong v) as (k' & ->). rewrite circle_cong.
generalize (circle_bound (sumZ u) (sumZ v)) (exact_symmetric L U u v Fu Fv H). lia.
Qed.

Theorem modular_change_one L U u v :
  L <= U -> in_bounds L U u -> in_bounds L U v -> change_one u v
  -> circle (modular u) (modular v) <= Z.min (N / 2) (U - L).
Proof.
intros LU Fu Fv H. destruct (modular_cong u) as (k & ->), (modular_cong v) as (k' & ->). rewrite circle_cong.
generalize (circle_bound (sumZ u) (sumZ v)) (exact_change_one L U u v LU Fu Fv H). lia.
Qed.

(** Where the sum fits the type it is the exact one. *)
Theorem modular_exact L U n l :
  in_bounds L U l -> Z.of_nat (length l) <= n -> n * U <= hi -> lo <= n * L -> modular l = sumZ l.
Proof.
intros F Hn HU HL. unfold modular. revert F Hn. induction l as [|x l IH] using rev_ind; intros F Hn; [reflexivity|].
assert (B := sumZ_bounds L U _ F). rewrite fold_left_app, sumZ_app. apply Forall_app in F as [F Fx].
rewrite app_length in *. simpl in Hn.
rewrite IH by (auto; lia). simpl in *. rewrite sumZ_app in B. simpl in B. unfold wrap.
replace (sumZ l + (x + 0)) with (sumZ l + x) in * by lia.
assert (A1 : lo <= sumZ l + x) by nia. assert (A2 : sumZ l + x <= hi) by nia.
rewrite Z.mod_small by (unfold N; lia). lia.
Qed.

Lemma wrap_period z t : wrap (z + t * N) = wrap z.
Proof. unfold wrap. replace (z + t * N - lo)%Z with (z - lo + t * N)%Z by ring. now rewrite Z_mod_plus_full. Qed.

(** Reducing once at the end is reducing at every step. *)
Theorem modular_wraps_once l : modular l = wrap (sumZ l).
Proof.
unfold modular. induction l as [|x l IH] using rev_ind.
- unfold wrap. simpl. rewrite Z.mod_small by (unfold N; lia). lia.
- rewrite fold_left_app, sumZ_app, IH. simpl. destruct (wrap_cong (sumZ l)) as (k & ->).
  replace (sumZ l + k * N + x) with (sumZ l + x + k * N) by ring. rewrite wrap_period. f_equal. lia.
Qed.

(** Modular noise. `chance a S` is the probability that a + Z falls into S, Z integer noise. *)
Section Noise.
Open Scope R_scope.
Variables (chance : Z -> (Z -> Prop) -> R) (factor slack : R) (c : Z).
Hypothesis same_event : forall a S S', (forall z, S z <-> S' z) -> chance a S = chance a S'.
Hypothesis additive : forall a t S, chance (a + t)%Z S = chance a (fun z => S (z + t)%Z).
Hypothesis close : forall a b S, (Z.abs (a - b) <= c)%Z -> chance a S <= factor * chance b S + slack.

Lemma the_short_way_round a b : (circle a b <= c)%Z -> exists t, (Z.abs (a - (b + t * N)) <= c)%Z.
Proof.
unfold circle. intros H. assert (P := N_pos).
destruct (Z.min_spec ((a - b) mod N) ((b - a) mod N)) as [[_ E]|[_ E]]; rewrite E in H.
- exists ((a - b) / N)%Z. generalize (Z.div_mod (a - b) N ltac:(lia)) (Z.mod_pos_bound (a - b) N P). lia.
- exists (- ((b - a) / N))%Z. generalize (Z.div_mod (b - a) N ltac:(lia)) (Z.mod_pos_bound (b - a) N P). lia.
Qed.

Theorem modular_noise a b S :
  (circle a b <= c)%Z -> chance a (fun z => S (wrap z)) <= factor * chance b (fun z => S (wrap z)) + slack.
Proof.
intros H. destruct (the_short_way_round a b H) as (t & Ht).
rewrite <- (same_event b (fun z => S (wrap (z + t * N)))) by (intros z; now rewrite wrap_period).
rewrite <- (additive b (t * N) (fun z => S (wrap z))). now apply close.
Qed.
End Noise.
End Type_.
