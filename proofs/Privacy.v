(** What a bound is for (docs/theorems/lemmas.md: random permutation, "It is enough for privacy"; noise on a grid).

    If noise makes two numbers within Delta of each other hard to tell apart, it does the same for two draws that are
    coupled within Delta: the noisy function of a uniformly permuted dataset is as private as the noise. And a sum
    floored to a grid of step G moves by at most ceil(Delta / G) steps. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Arith.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums.
Import ListNotations.
Open Scope R_scope.

(** The mean over equally likely outcomes. *)
Definition mean {A} (g : A -> R) (draw : list A) := sum (map g draw) / INR (length draw).

Lemma sum_times A (g : A -> R) m l : sum (map g (times m l)) = INR m * sum (map g l).
Proof. induction m as [|m IH]; [simpl; ring|]. cbn [times]. rewrite map_app, sum_app, IH, S_INR. ring. Qed.

Lemma length_times A m (l : list A) : length (times m l) = (m * length l)%nat.
Proof. induction m as [|m IH]; simpl; auto. now rewrite app_length, IH. Qed.

Lemma mean_times A (g : A -> R) m l : (0 < m)%nat -> l <> [] -> mean g (times m l) = mean g l.
Proof.
intros Hm Hl. unfold mean. rewrite sum_times, length_times, mult_INR.
assert (INR m <> 0) by (apply not_0_INR; lia).
assert (INR (length l) <> 0) by (apply not_0_INR; destruct l; simpl; [easy|lia]). field; auto.
Qed.

Lemma mean_permutation A (g : A -> R) l l' : Permutation l l' -> mean g l = mean g l'.
Proof. intros P. unfold mean. now rewrite (sum_perm _ _ (Permutation_map g P)), (Permutation_length P). Qed.

(** `chance a S` is the probability that the number a, noise added, falls into S. e^epsilon is `factor`. *)
Section Coupling.
Variables (Event : Type) (chance : R -> Event -> R) (factor slack Delta : R).
Hypothesis close : forall a b S, Rabs (a - b) <= Delta -> chance a S <= factor * chance b S + slack.

Theorem coupling_is_private A (f : A -> R) (d d' : list A) S :
  d <> [] -> d' <> [] -> coupled d d' (fun o o' => Rabs (f o - f o') <= Delta)
  -> mean (fun o => chance (f o) S) d <= factor * mean (fun o => chance (f o) S) d' + slack.
Proof.
intros Hd Hd' (m & m' & pairs & Hm & Hm' & P & P' & H). set (g := fun o => chance (f o) S).
rewrite <- (mean_times A g m d), <- (mean_times A g m' d'), <- (mean_permutation A g _ _ P),
<- (mean_permutation A g _ _ P') by auto.
assert (N : 0 < INR (length pairs)).
{ apply lt_0_INR. rewrite <- (map_length fst), (Permutation_length P), length_times. destruct d; [easy|]. simpl.
  destruct m; lia. }
unfold mean. rewrite !map_map, !map_length.
assert (T :
    sum (map (fun p => g (fst p)) pairs) <= factor * sum (map (fun p => g (snd p)) pairs) + INR (length pairs) * slack).
{ clear N P P'. induction pairs as [|p pairs IH]; [simpl; lra|]. cbn [map sum fold_right length].
  fold (sum (map (fun p => g (fst p)) pairs)) (sum (map (fun p => g (snd p)) pairs)).
  rewrite S_INR.
  generalize (IH (fun q Hq => H q (or_intror Hq))) (close (f (fst p)) (f (snd p)) S (H p (or_introl eq_refl))).
  unfold g. lra. }
apply Rmult_le_reg_r with (INR (length pairs)); auto. unfold Rdiv.
rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** A uniform secret permutation, then f, then the noise. *)
Theorem permuted_is_private X rel (f : list X -> R) u v S :
  permuted_sensitivity rel f Delta -> rel u v
  -> mean (fun o => chance (f o) S) (orders u) <= factor * mean (fun o => chance (f o) S) (orders v) + slack.
Proof.
intros H R. assert (N : forall w : list X, orders w <> []).
{ intros w E. generalize (orders_length w). rewrite E. simpl. generalize (lt_O_fact (length w)). lia. }
apply coupling_is_private; auto.
Qed.
End Coupling.

Theorem noise_on_a_grid a b G Delta :
  0 < G -> Rabs (a - b) <= Delta -> (Z.abs (Zfloor (a / G) - Zfloor (b / G)) <= Zceil (Delta / G))%Z.
Proof.
intros HG H. assert (K : forall x y, x - y <= Delta -> (Zfloor (x / G) - Zfloor (y / G) <= Zceil (Delta / G))%Z).
{ intros x y h. assert (T : (Zfloor (x / G) < Zfloor (y / G) + Zceil (Delta / G) + 1)%Z); [|lia].
  apply lt_IZR. rewrite !plus_IZR. apply Rle_lt_trans with (1 := Zfloor_lb _).
  generalize (Zfloor_ub (y / G)) (Zceil_ub (Delta / G)). intros.
  assert (x / G <= y / G + Delta / G); [|lra]. unfold Rdiv. rewrite <- Rmult_plus_distr_r.
  apply Rmult_le_compat_r; [|lra].
  apply Rlt_le, Rinv_0_lt_compat, HG. }
apply Rabs_le_inv in H. generalize (K a b ltac:(lra)) (K b a ltac:(lra)). lia.
Qed.
