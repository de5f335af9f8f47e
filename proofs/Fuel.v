(** Fuel is not part of the algorithm: two more than there are bytes is as good as any more. So `sample` and
    `gaussian_sample` are unfinished only where the code would ask for another byte.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Bool Arith Lia.
From Soundsum Require Import Programs Samplers Private Gaussian.
Import ListNotations.

(** The same results on lists of at most L bytes. *)
Definition agrees {A} (L : nat) (p q : program A) :=
  forall bytes, (length bytes <= L)%nat -> run p bytes = run q bytes.

Lemma agrees_less A L L' (p q : program A) : (L' <= L)%nat -> agrees L p q -> agrees L' p q.
Proof. intros H G bytes B. apply G. lia. Qed.

Lemma rest_is_shorter A (p : program A) bytes a rest : run p bytes = Some (a, rest) -> (length rest <= length bytes)%nat.
Proof.
revert bytes. induction p as [x|next IH|]; intros bytes H; cbn [run] in H.
- injection H as _ <-. lia.
- destruct bytes as [|b bytes]; [discriminate|]. apply IH in H. cbn [length]. lia.
- discriminate.
Qed.

Lemma agrees_bind A B L (p q : program A) (f g : A -> program B) :
  agrees L p q
  -> (forall bytes a rest, (length bytes <= L)%nat -> run p bytes = Some (a, rest) -> run (f a) rest = run (g a) rest)
  -> agrees L (bind p f) (bind q g).
Proof.
intros P F bytes H. rewrite !run_bind, <- (P bytes H). destruct (run p bytes) as [[a rest]|] eqn:E; auto. eauto.
Qed.

Lemma bernoulli_agrees L i j n d : (L <= i)%nat -> (L <= j)%nat -> agrees L (bernoulli i n d) (bernoulli j n d).
Proof.
revert L j n. induction i as [|i IH]; intros L j n HI HJ bytes HB.
- destruct bytes as [|b bytes]; [|cbn [length] in HB; lia]. destruct j; auto.
  cbn [bernoulli]. destruct (_ && _); reflexivity.
- destruct bytes as [|b bytes].
  + destruct j; cbn [bernoulli]; destruct (_ && _); reflexivity.
  + cbn [length] in HB. destruct j as [|j]; [lia|]. cbn [bernoulli]. destruct (_ && _); auto. cbn [run].
    destruct (b =? _)%Z; auto. apply (IH (L - 1)%nat); lia.
Qed.

(** A coin that is neither sure to fail nor sure to succeed takes a byte. *)
Lemma bernoulli_eats i n d bytes a rest :
  (0 < n < d)%Z -> run (bernoulli i n d) bytes = Some (a, rest) -> (length rest < length bytes)%nat.
Proof.
intros H R. destruct i; cbn [bernoulli] in R; (destruct (Z.ltb_spec 0 n); [|lia]); (destruct (Z.ltb_spec n d); [|lia]);
  cbn [andb run] in R; [discriminate|].
destruct bytes as [|b bytes]; [discriminate|]. apply rest_is_shorter in R. cbn [length]. lia.
Qed.

Lemma bernoulli_fails i n d bytes a rest : (n <= 0)%Z -> run (bernoulli i n d) bytes = Some (a, rest) -> a = false.
Proof.
intros H R. destruct i; cbn [bernoulli] in R; (destruct (Z.ltb_spec 0 n); [lia|]); cbn [andb run] in R; now injection R.
Qed.

Lemma first_failure_agrees L i i' j j' k n d :
  (n < d * Z.of_nat k)%Z -> (0 < d)%Z -> (S L <= i)%nat -> (S L <= i')%nat -> (L <= j)%nat -> (L <= j')%nat
  -> agrees L (first_failure i j k n d) (first_failure i' j' k n d).
Proof.
revert L i' k. induction i as [|i IH]; intros L i' k N D I I' J J'; [lia|]. destruct i' as [|i']; [lia|]. cbn [first_failure].
apply agrees_bind; [now apply bernoulli_agrees|]. intros bytes a rest B R. destruct a; [|reflexivity].
destruct (Z_le_gt_dec n 0) as [n0|n0]; [now apply bernoulli_fails in R|].
apply bernoulli_eats in R; [|lia]. apply (IH (L - 1)%nat); lia.
Qed.

Lemma bernoulli_exp_agrees L i i' j j' n d :
  (n <= d)%Z -> (0 < d)%Z -> (S (S L) <= i)%nat -> (S (S L) <= i')%nat -> (L <= j)%nat -> (L <= j')%nat
  -> agrees L (bernoulli_exp i j n d) (bernoulli_exp i' j' n d).
Proof.
intros N D I I' J J'. unfold bernoulli_exp. destruct (Z.eq_dec n d) as [->|ne].
- destruct i as [|i]; [lia|]. destruct i' as [|i']; [lia|]. cbn [first_failure].
  apply agrees_bind; [now apply bernoulli_agrees|]. intros bytes a rest B R. destruct a; [|reflexivity].
  apply rest_is_shorter in R. apply (first_failure_agrees L); lia.
- apply first_failure_agrees; lia.
Qed.

(** exp(-1) takes a byte, and so does any x strictly between 0 and 1; x = 0 does not, and is true. *)
Lemma exp_one_eats i j bytes a rest : run (bernoulli_exp i j 1 1) bytes = Some (a, rest) -> (length rest < length bytes)%nat.
Proof.
unfold bernoulli_exp. destruct i as [|i]; [discriminate|]. cbn [first_failure]. rewrite run_bind.
replace (run (bernoulli j 1 (1 * Z.of_nat 1)) bytes) with (Some (true, bytes)) by (destruct j; reflexivity).
destruct i as [|i]; [discriminate|]. cbn [first_failure]. rewrite run_bind.
destruct (run (bernoulli j 1 (1 * Z.of_nat 2)) bytes) as [[b rest']|] eqn:E; [|discriminate].
apply bernoulli_eats in E; [|lia]. intros R. apply rest_is_shorter in R. lia.
Qed.

Lemma exp_eats i j n d bytes a rest :
  (0 < n < d)%Z -> run (bernoulli_exp i j n d) bytes = Some (a, rest) -> (length rest < length bytes)%nat.
Proof.
intros N. unfold bernoulli_exp. destruct i as [|i]; [discriminate|]. cbn [first_failure]. rewrite run_bind.
destruct (run (bernoulli j n (d * Z.of_nat 1)) bytes) as [[b rest']|] eqn:E; [|discriminate].
apply bernoulli_eats in E; [|lia]. intros R. apply rest_is_shorter in R. lia.
Qed.

Lemma exp_zero i j n d bytes a rest : (n <= 0)%Z -> run (bernoulli_exp i j n d) bytes = Some (a, rest) -> a = true.
Proof.
intros N. unfold bernoulli_exp. destruct i as [|i]; [discriminate|]. cbn [first_failure]. rewrite run_bind.
destruct (run (bernoulli j n (d * Z.of_nat 1)) bytes) as [[b r]|] eqn:E; [|discriminate].
apply bernoulli_fails in E as ->; auto. cbn [run]. intros H. now injection H.
Qed.

Lemma successes_agrees L i i' p q v :
  (forall L', (L' <= L)%nat -> agrees L' p q)
  -> (forall bytes a rest, run p bytes = Some (a, rest) -> (length rest < length bytes)%nat)
  -> (S L <= i)%nat -> (S L <= i')%nat -> agrees L (successes i p v) (successes i' q v).
Proof.
revert L i' v. induction i as [|i IH]; intros L i' v P E I I'; [lia|]. destruct i' as [|i']; [lia|]. cbn [successes].
apply agrees_bind; [now apply P|]. intros bytes a rest B R. destruct a; [|reflexivity]. apply E in R.
apply (IH (L - 1)%nat); auto; try lia. intros; apply P; lia.
Qed.

(** A loop each of whose rejected attempts takes a byte. *)
Lemma again_agrees A L i i' (p q : program (option A)) :
  (forall L', (L' <= L)%nat -> agrees L' p q)
  -> (forall bytes rest, run p bytes = Some (None, rest) -> (length rest < length bytes)%nat)
  -> (S L <= i)%nat -> (S L <= i')%nat -> agrees L (again i p) (again i' q).
Proof.
revert L i'. induction i as [|i IH]; intros L i' P E I I'; [lia|]. destruct i' as [|i']; [lia|]. cbn [again].
apply agrees_bind; [now apply P|]. intros bytes [a|] rest B R; [reflexivity|]. apply E in R.
apply (IH (L - 1)%nat); auto; try lia. intros; apply P; lia.
Qed.

(** What holds of the result of every attempt that succeeds. *)
Lemma again_result A (T : list Z -> A -> list Z -> Prop) i (p : program (option A)) bytes a rest :
  (forall b x r, run p b = Some (Some x, r) -> forall b', (length b <= length b')%nat -> T b' x r)
  -> run (again i p) bytes = Some (a, rest) -> T bytes a rest.
Proof.
intros H R. assert (G : forall b, (length b <= length bytes)%nat -> run (again i p) b = Some (a, rest) -> T bytes a rest).
{ clear R. induction i as [|i IH]; intros b B R; [discriminate|]. cbn [again] in R. rewrite run_bind in R.
  destruct (run p b) as [[[x|] r]|] eqn:E; [| |discriminate].
  - cbn [run] in R. injection R as <- <-. eauto.
  - apply rest_is_shorter in E. apply IH with r; auto. lia. }
apply G with bytes; auto.
Qed.

Lemma number_of_eats count acc bytes a rest :
  run (number_of count acc) bytes = Some (a, rest) -> (length rest + count = length bytes)%nat.
Proof.
revert acc bytes. induction count as [|count IH]; intros acc bytes H; cbn [number_of run] in H.
- injection H as _ <-. lia.
- destruct bytes as [|b bytes]; [discriminate|]. apply IH in H. cbn [length]. lia.
Qed.

Lemma below_agrees L i i' n : (0 < n)%Z -> (S L <= i)%nat -> (S L <= i')%nat -> agrees L (below i n) (below i' n).
Proof.
intros N I I'. apply again_agrees; auto; [intros L' _ bytes _; reflexivity|]. intros bytes rest R. rewrite run_bind in R.
destruct (run (number_of _ 0) bytes) as [[m r]|] eqn:E; [|discriminate]. cbn [run] in R. injection R as R <-.
destruct (Z.eq_dec n 1) as [->|n1].
- exfalso. change (Z.to_nat (bytes_below 1)) with O in E. cbn [number_of run] in E. injection E as <- _. discriminate R.
- apply number_of_eats in E. assert (B : (0 < bytes_below n)%Z).
  { unfold bytes_below, bits_below. assert (0 < Z.log2_up n)%Z by (apply Z.log2_up_pos; lia).
    apply Z.div_str_pos. lia. }
  lia.
Qed.

Lemma below_is_below i n bytes u rest : run (below i n) bytes = Some (u, rest) -> (u < n)%Z.
Proof.
intros R. revert R. apply (again_result Z (fun _ u _ => (u < n)%Z)). intros b x r R b' _. rewrite run_bind in R.
destruct (run (number_of _ 0) b) as [[m r']|] eqn:E; [|discriminate]. cbn [run] in R.
destruct (Z.ltb_spec (m / 2 ^ (8 * bytes_below n - bits_below n)) n); [|discriminate]. injection R as <- _. assumption.
Qed.

Theorem laplace_agrees L i i' t s :
  (0 < t)%Z -> (S (S L) <= i)%nat -> (S (S L) <= i')%nat -> agrees L (laplace i t s) (laplace i' t s).
Proof.
intros T I I'. unfold laplace, laplace_within. apply again_agrees; try lia.
- intros L' HL. apply agrees_bind; [apply below_agrees; lia|]. intros bytes u rest B R.
  assert (U := below_is_below _ _ _ _ _ R). apply rest_is_shorter in R.
  apply (agrees_bind _ _ L'); [apply bernoulli_exp_agrees; lia| |lia]. intros bytes1 kept rest1 B1 R1.
  apply rest_is_shorter in R1. destruct kept; [|reflexivity].
  apply (agrees_bind _ _ L'); [|intros bytes2 v rest2 B2 R2|lia].
  + apply successes_agrees; try lia; [|intros; eapply exp_one_eats; eauto].
    intros L2 H2. apply bernoulli_exp_agrees; lia.
  + apply rest_is_shorter in R2. apply (agrees_bind _ _ L'); [apply bernoulli_agrees; lia| |lia]. reflexivity.
- intros bytes rest R. unfold attempt in R. rewrite run_bind in R.
  destruct (run (below i t) bytes) as [[u r]|] eqn:E; [|discriminate]. assert (U := below_is_below _ _ _ _ _ E).
  apply rest_is_shorter in E. rewrite run_bind in R.
  destruct (run (bernoulli_exp i i u t) r) as [[kept r1]|] eqn:E1; [|discriminate]. destruct kept.
  + apply rest_is_shorter in E1. rewrite run_bind in R.
    destruct (run (successes i _ 0) r1) as [[v r2]|] eqn:E2; [|discriminate]. apply rest_is_shorter in E2.
    unfold signed in R. rewrite run_bind in R.
    destruct (run (bernoulli i 1 2) r2) as [[neg r3]|] eqn:E3; [|discriminate]. apply bernoulli_eats in E3; [|lia].
    cbn [run] in R. injection R as _ <-. lia.
  + cbn [run] in R. injection R as <-. destruct (Z_le_gt_dec u 0) as [u0|u0].
    * now apply exp_zero in E1.
    * apply exp_eats in E1; lia.
Qed.

(** `sample` finds whatever any fuel finds. *)
Theorem fuel_is_enough t s bytes fuel r :
  (0 < t)%Z -> run (laplace fuel t s) bytes = Some r -> sample t s bytes = Some r.
Proof.
intros T R. unfold sample. rewrite (laplace_agrees (length bytes) _ (max fuel (S (S (length bytes)))) t s T) by lia.
apply (extended_run _ (laplace fuel t s)); auto. apply laplace_extended. lia.
Qed.

(** * The Gaussian sampler *)
Lemma laplace_eats i t s bytes a rest : run (laplace i t s) bytes = Some (a, rest) -> (length rest < length bytes)%nat.
Proof.
intros R. revert R. unfold laplace, laplace_within.
apply (again_result Z (fun bytes _ rest => (length rest < length bytes)%nat)). intros b x r R b' B.
unfold attempt in R. rewrite run_bind in R.
destruct (run (below i t) b) as [[u r0]|] eqn:E; [|discriminate]. apply rest_is_shorter in E. rewrite run_bind in R.
destruct (run (bernoulli_exp i i u t) r0) as [[kept r1]|] eqn:E1; [|discriminate]. apply rest_is_shorter in E1.
destruct kept; [|discriminate R]. rewrite run_bind in R.
destruct (run (successes i _ 0) r1) as [[v r2]|] eqn:E2; [|discriminate]. unfold signed in R. rewrite run_bind in R.
destruct (run (bernoulli i 1 2) r2) as [[neg r3]|] eqn:E3; [|discriminate]. apply bernoulli_eats in E3; [|lia].
apply rest_is_shorter in E2. cbn [run] in R. assert (r3 = r) as -> by (now injection R). lia.
Qed.

Lemma exp_coins_agrees whole L i j n d :
  (n <= d)%Z -> (0 < d)%Z -> (S (S L) <= i)%nat -> (S (S L) <= j)%nat
  -> agrees L (exp_coins whole i i n d) (exp_coins whole j j n d).
Proof.
intros N D I J. induction whole as [|whole IH]; cbn [exp_coins]; [apply bernoulli_exp_agrees; lia|].
apply agrees_bind; [apply bernoulli_exp_agrees; lia|]. intros bytes c rest B R. apply rest_is_shorter in R.
destruct c; [|reflexivity]. apply IH. lia.
Qed.

Theorem gaussian_agrees L i j p q :
  (0 < p)%Z -> (0 < q)%Z -> (S (S L) <= i)%nat -> (S (S L) <= j)%nat -> agrees L (gaussian i p q) (gaussian j p q).
Proof.
intros P Q I J. unfold gaussian, gaussian_from. assert (0 < Z.sqrt (p / q) + 1)%Z by (generalize (Z.sqrt_nonneg (p / q)); lia).
set (t := (Z.sqrt (p / q) + 1)%Z) in *. assert (D : (0 < 2 * p * q * t ^ 2)%Z) by nia.
apply again_agrees; try lia.
- intros L' HL. apply agrees_bind; [apply laplace_agrees; lia|]. intros bytes y rest B R. apply rest_is_shorter in R.
  unfold bernoulli_exp_any. apply (agrees_bind _ _ L'); [|reflexivity|lia].
  apply exp_coins_agrees; try lia. apply Z.lt_le_incl, Z.mod_pos_bound, D.
- intros bytes rest R. unfold gaussian_attempt in R. rewrite run_bind in R.
  destruct (run (laplace i t 1) bytes) as [[y r]|] eqn:E; [|discriminate]. apply laplace_eats in E. rewrite run_bind in R.
  destruct (run (bernoulli_exp_any i i _ _) r) as [[c r']|] eqn:E1; [|discriminate]. apply rest_is_shorter in E1.
  cbn [run] in R. assert (r' = rest) as -> by (now injection R). lia.
Qed.

Theorem gaussian_fuel_is_enough p q bytes fuel r :
  (0 < p)%Z -> (0 < q)%Z -> run (gaussian fuel p q) bytes = Some r
  -> run (gaussian (S (S (length bytes))) p q) bytes = Some r.
Proof.
intros P Q R. rewrite (gaussian_agrees (length bytes) _ (max fuel (S (S (length bytes)))) p q P Q) by lia.
apply (extended_run _ (gaussian fuel p q)); auto. apply gaussian_extended. lia.
Qed.
