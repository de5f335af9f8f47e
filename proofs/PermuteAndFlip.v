(** Permute-and-flip (docs/theorems/quantiles.md): one of the candidates whose coins show heads, all of these equally
    likely; a coin does with the chance exp(-r (error - least error)). If the errors of two tables differ by numbers
    within a range R, the chances of every candidate differ by a factor of at most exp(r R).

    The proof needs no integral: coins that show heads less often, all by one factor, are coins of which each head is
    kept with the chance of that factor. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Bool Arith.
From Soundsum Require Import Sums Selection.
Import ListNotations.
Open Scope R_scope.

(** * Coins *)
(** The mean of f of the number of heads, of coins with these chances. *)
Fixpoint heads (coins : list R) (f : nat -> R) : R :=
  match coins with [] => f O | p :: coins => p * heads coins (fun n => f (S n)) + (1 - p) * heads coins f end.

Definition coin (p : R) := 0 <= p <= 1.

Lemma heads_ext coins f f' : (forall n, f n = f' n) -> heads coins f = heads coins f'.
Proof.
revert f f'. induction coins as [|p coins IH]; intros f f' H; [apply H|]. cbn [heads].
rewrite (IH f f' H), (IH (fun n => f (S n)) (fun n => f' (S n))) by auto. reflexivity.
Qed.

Lemma heads_le coins f f' : Forall coin coins -> (forall n, f n <= f' n) -> heads coins f <= heads coins f'.
Proof.
intros C. revert f f'. induction C as [|p coins P _ IH]; intros f f' H; [apply H|]. cbn [heads]. unfold coin in P.
apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; auto.
Qed.

Lemma heads_scal coins c f : heads coins (fun n => c * f n) = c * heads coins f.
Proof.
revert f. induction coins as [|p coins IH]; intros f; [reflexivity|]. cbn [heads].
rewrite (IH f), (IH (fun n => f (S n))). ring.
Qed.

Lemma heads_plus coins f f' : heads coins (fun n => f n + f' n) = heads coins f + heads coins f'.
Proof.
revert f f'. induction coins as [|p coins IH]; intros f f'; [reflexivity|]. cbn [heads].
rewrite (IH f f'), (IH (fun n => f (S n)) (fun n => f' (S n))). ring.
Qed.

(** More heads, less of what falls with their number. *)
Lemma heads_falls coins coins' f :
  Forall2 (fun p p' => 0 <= p <= p' /\ p' <= 1) coins coins' -> (forall n, f (S n) <= f n) -> heads coins' f <= heads coins f.
Proof.
intros C. revert f. induction C as [|p p' coins coins' P C IH]; intros f F; [cbn; lra|]. cbn [heads].
assert (C' : Forall coin coins') by (clear -C; induction C; constructor; auto; unfold coin; lra).
assert (L := heads_le coins' (fun n => f (S n)) f C' F). assert (H1 := IH f F).
assert (H2 := IH (fun n => f (S n)) (fun n => F (S n))). nra.
Qed.

(** Each of n heads is kept with the chance rho. *)
Fixpoint thinned (rho : R) (n : nat) (f : nat -> R) : R :=
  match n with O => f O | S n => rho * thinned rho n (fun m => f (S m)) + (1 - rho) * thinned rho n f end.

Lemma thinned_coins rho coins f : heads (map (Rmult rho) coins) f = heads coins (fun n => thinned rho n f).
Proof.
revert f. induction coins as [|p coins IH]; intros f; [reflexivity|]. cbn [map heads]. rewrite !IH. cbn [thinned].
set (a := heads coins (fun n => thinned rho n (fun m => f (S m)))). set (b := heads coins (fun n => thinned rho n f)).
assert (E : heads coins (fun n => rho * thinned rho n (fun m => f (S m)) + (1 - rho) * thinned rho n f) = rho * a + (1 - rho) * b).
{ unfold a, b. now rewrite heads_plus, !heads_scal. }
rewrite E. ring.
Qed.

(** The chance of one head among k + 1 + n others and itself. *)
Definition among (k n : nat) : R := / INR (S (k + n)).

Lemma among_S k n : among k (S n) = among (S k) n.
Proof. unfold among. do 2 f_equal. lia. Qed.

Lemma thinned_ext rho n f f' : (forall m, f m = f' m) -> thinned rho n f = thinned rho n f'.
Proof.
revert f f'. induction n as [|n IH]; intros f f' H; [apply H|]. cbn [thinned].
rewrite (IH f f' H), (IH (fun m => f (S m)) (fun m => f' (S m))) by auto. reflexivity.
Qed.

Lemma thinned_S rho n k : thinned rho (S n) (among k) = rho * thinned rho n (among (S k)) + (1 - rho) * thinned rho n (among k).
Proof. cbn [thinned]. f_equal. f_equal. apply thinned_ext. intros m. apply among_S. Qed.

Lemma thinned_balance rho n k :
  rho * INR (S n) * thinned rho n (among (S k)) + INR (S k) * thinned rho (S n) (among k) = 1.
Proof.
revert k. induction n as [|n IH]; intros k.
- rewrite thinned_S. cbn [thinned]. unfold among. rewrite !Nat.add_0_r. change (INR 1) with 1. rewrite (S_INR (S k)).
  assert (0 < INR (S k)) by (apply lt_0_INR; lia). field. lra.
- rewrite (thinned_S rho (S n) k). assert (I := IH (S k)). assert (J := IH k). rewrite (thinned_S rho n (S k)) in *.
  rewrite (S_INR (S k)) in I. rewrite (S_INR (S n)).
  set (A := thinned rho n (among (S (S k)))) in *. set (B := thinned rho n (among (S k))) in *.
  set (D := thinned rho (S n) (among k)) in *. set (N := INR (S n)) in *. set (M := INR (S k)) in *.
  transitivity (rho * (rho * N * A + (M + 1) * (rho * A + (1 - rho) * B)) + (1 - rho) * (rho * N * B + M * D)); [ring|].
  rewrite I, J. ring.
Qed.

Lemma thinned_rarely rho n : rho * INR (S n) * thinned rho n (among 0) = 1 - (1 - rho) ^ S n.
Proof.
induction n as [|n IH].
- cbn [thinned]. unfold among. simpl. field.
- rewrite thinned_S. assert (B := thinned_balance rho n 0). rewrite thinned_S in B. change (INR 1) with 1 in B.
  rewrite (S_INR (S n)). cbn [pow] in *. set (A := thinned rho n (among 1)) in *. set (C := thinned rho n (among 0)) in *.
  set (N := INR (S n)) in *.
  transitivity (rho * (rho * N * A + 1 * (rho * A + (1 - rho) * C)) + (1 - rho) * (rho * N * C)); [ring|].
  rewrite B, IH. ring.
Qed.

(** The chance of a candidate that shows heads, if all coins show heads less often by one factor. *)
Lemma fewer_heads rho coins : Forall coin coins -> 0 < rho <= 1 -> rho * heads (map (Rmult rho) coins) (among 0) <= heads coins (among 0).
Proof.
intros C R. rewrite thinned_coins, <- heads_scal. apply heads_le; auto. intros n.
assert (N : 0 < INR (S n)) by (apply lt_0_INR; lia). apply Rmult_le_reg_l with (INR (S n)); auto.
unfold among at 2. change (0 + n)%nat with n. rewrite Rinv_r by lra.
replace (INR (S n) * (rho * thinned rho n (among 0))) with (rho * INR (S n) * thinned rho n (among 0)) by ring.
rewrite thinned_rarely. assert (0 <= (1 - rho) ^ S n) by (apply pow_le; lra). lra.
Qed.

(** * Candidates *)
(** Every element, with the others. *)
Fixpoint picks {A} (l : list A) : list (A * list A) :=
  match l with [] => [] | a :: l => (a, l) :: map (fun p => (fst p, a :: snd p)) (picks l) end.

Lemma picks_map A B (f : A -> B) l : picks (map f l) = map (fun p => (f (fst p), map f (snd p))) (picks l).
Proof.
induction l as [|a l IH]; [reflexivity|]. cbn [picks map fst snd]. f_equal. rewrite IH, !map_map. reflexivity.
Qed.

Lemma picks_perm A (l : list A) a rest : In (a, rest) (picks l) -> Permutation l (a :: rest).
Proof.
revert a rest. induction l as [|b l IH]; intros a rest I; [contradiction|]. cbn [picks] in I. destruct I as [I|I].
- injection I as -> ->. reflexivity.
- apply in_map_iff in I as ([c u] & E & I). injection E as <- <-. cbn [fst snd].
  rewrite (IH c u I). apply perm_swap.
Qed.

Lemma heads_one coins f : (forall n, f n = 1) -> heads coins f = 1.
Proof.
revert f. induction coins as [|p coins IH]; intros f F; [apply F|]. cbn [heads]. rewrite !IH by auto. ring.
Qed.

Definition nobody (n : nat) : R := match n with O => 1 | S _ => 0 end.

(** Some coin always shows heads. *)
Lemma heads_of_nobody coins : In 1 coins -> heads coins nobody = 0.
Proof.
induction coins as [|p coins IH]; intros I; [contradiction|]. cbn [heads].
assert (Z0 : heads coins (fun n => nobody (S n)) = 0).
{ transitivity (heads coins (fun n => 0 * 1)); [apply heads_ext; intros; cbn [nobody]; ring|]. rewrite heads_scal. ring. }
rewrite Z0. destruct I as [->|I]; [ring|]. rewrite IH by auto. ring.
Qed.

(** Each coin that shows heads counts g of the number of the others that do: together n g (n - 1) of n heads. *)
Lemma picks_add_up coins g f :
  (forall n, g (S n) = f n) -> sum (map (fun '(p, rest) => p * heads rest f) (picks coins)) = heads coins (fun n => INR n * g n).
Proof.
revert g f. induction coins as [|p coins IH]; intros g f G; [cbn; ring|]. cbn [picks map]. unfold sum. cbn [fold_right heads].
fold (sum (map (fun '(p, rest) => p * heads rest f) (map (fun p0 => (fst p0, p :: snd p0)) (picks coins)))).
assert (E : sum (map (fun '(p, rest) => p * heads rest f) (map (fun p0 => (fst p0, p :: snd p0)) (picks coins)))
  = p * sum (map (fun '(p, rest) => p * heads rest (fun n => f (S n))) (picks coins))
    + (1 - p) * sum (map (fun '(p, rest) => p * heads rest f) (picks coins))).
{ generalize (picks coins). clear. induction l as [|[a rest] l IH]; [cbn; ring|]. cbn [map fst snd]. unfold sum in *.
  cbn [fold_right]. rewrite IH. cbn [heads]. ring. }
rewrite E, (IH (fun n => g (S n)) (fun n => f (S n))), (IH g f) by auto.
rewrite (heads_ext coins (fun n => INR (S n) * g (S n)) (fun n => INR n * g (S n) + f n))
  by (intros n; rewrite S_INR, G; ring).
rewrite heads_plus. ring.
Qed.

(** * The law *)
(** The least error among the candidates. *)
Fixpoint least_of (e : Z) (others : list Z) : Z := match others with [] => e | f :: others => Z.min f (least_of e others) end.

Section Law.
Variable r : R.
Hypothesis r_pos : 0 < r.

Definition head (least e : Z) : R := exp (- r * IZR (e - least)).

(** A candidate's chance: its error, and those of all others. *)
Definition chosen (e : Z) (others : list Z) : R :=
  let least := least_of e others in head least e * heads (map (head least) others) (among 0).

Lemma least_is_least e others : (least_of e others <= e)%Z /\ Forall (fun f => least_of e others <= f)%Z others.
Proof.
induction others as [|f others [IH IH']]; cbn [least_of]; [split; [lia|constructor]|].
split; [lia|]. constructor; [lia|]. eapply Forall_impl; [|exact IH']. cbn. lia.
Qed.

Lemma least_is_there e others : In (least_of e others) (e :: others).
Proof.
induction others as [|f others IH]; cbn [least_of]; [now left|].
destruct (Z.min_spec f (least_of e others)) as [[_ ->]|[_ ->]]; [right; now left|]. destruct IH as [H|H]; [now left|].
right. now right.
Qed.

Lemma head_range least e : (least <= e)%Z -> 0 < head least e <= 1.
Proof.
intros H. unfold head. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_grows.
assert (0 <= IZR (e - least)) by (apply (IZR_le 0); lia). nra.
Qed.

Lemma heads_are_coins least others : Forall (fun f => least <= f)%Z others -> Forall coin (map (head least) others).
Proof.
intros H. apply Forall_map. eapply Forall_impl; [|exact H]. intros e He. generalize (head_range least e He). unfold coin. lra.
Qed.

Lemma head_shift least m e : head least e = exp (- r * IZR (m - least)) * head m e.
Proof. unfold head. rewrite <- exp_plus. f_equal. rewrite !minus_IZR. ring. Qed.

(** Errors that are nowhere less, and of the candidate itself no more than R larger: it is chosen at least as often, but
    for a factor of exp(r R). *)
Lemma chosen_if_others_fall_back e others f others' R :
  (e <= f)%Z -> (f <= e + R)%Z -> Forall2 Z.le others others' -> chosen e others <= exp (r * IZR R) * chosen f others'.
Proof.
intros E1 E2 O. unfold chosen. set (m := least_of e others). set (m' := least_of f others').
destruct (least_is_least e others) as [Le Lo], (least_is_least f others') as [Le' Lo']. fold m in Le, Lo. fold m' in Le', Lo'.
assert (M : (m <= m')%Z).
{ assert (G : forall y, In y others' -> (m <= y)%Z).
  { clear - O Lo. clearbody m. induction O as [|a b l l' H O IH]; intros y I; [contradiction|].
    apply Forall_cons_iff in Lo as [La Lo]. destruct I as [<-|I]; [lia|auto]. }
  assert (I := least_is_there f others'). fold m' in I. destruct I as [I|I]; [lia|auto]. }
set (rho := exp (- r * IZR (m' - m))).
assert (R0 : 0 < rho <= 1) by exact (head_range m m' M).
(* As many heads, or more, with the other table's least error; and fewer with this table's. *)
assert (C' := heads_are_coins m' others' Lo').
assert (H1 : heads (map (head m) others) (among 0) <= heads (map (Rmult rho) (map (head m') others')) (among 0)).
{ apply heads_falls.
  - clear - O Lo r_pos M Lo'. subst rho. clearbody m m'. induction O as [|a b l l' H O IH]; cbn [map]; constructor.
    + apply Forall_cons_iff in Lo as [La Lo], Lo' as [Lb Lo']. rewrite <- head_shift. split; [|apply (head_range m a La)].
      split; [apply Rlt_le, exp_pos|]. unfold head. apply exp_grows. assert (IZR (a - m) <= IZR (b - m)) by (apply IZR_le; lia). nra.
    + apply Forall_cons_iff in Lo as [_ Lo], Lo' as [_ Lo']. auto.
  - intros n. unfold among. apply Rinv_le_contravar; [apply lt_0_INR; lia|apply le_INR; lia]. }
assert (H2 := fewer_heads rho _ C' R0).
assert (He : head m e <= exp (r * IZR R) * (head m' f * rho)).
{ rewrite (Rmult_comm (head m' f)). unfold rho. rewrite <- head_shift. unfold head. rewrite <- exp_plus. apply exp_grows.
  assert (IZR (f - m) <= IZR (e - m) + IZR R) by (rewrite <- plus_IZR; apply IZR_le; lia). nra. }
assert (Z0 : 0 <= heads (map (head m') others') (among 0)).
{ apply Rle_trans with (heads (map (head m') others') (fun _ => 0 * 0)).
  - rewrite heads_scal. lra.
  - apply heads_le; auto. intros n. rewrite Rmult_0_l. unfold among. apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia. }
assert (P1 : 0 < head m e) by apply exp_pos. assert (P2 : 0 < head m' f) by apply exp_pos.
assert (P3 : 0 < exp (r * IZR R)) by apply exp_pos.
assert (P4 : 0 <= heads (map (Rmult rho) (map (head m') others')) (among 0)).
{ apply Rle_trans with (2 := H1). apply Rle_trans with (heads (map (head m) others) (fun _ => 0 * 0)).
  - rewrite heads_scal. lra.
  - apply heads_le; [now apply heads_are_coins|]. intros n. rewrite Rmult_0_l. unfold among.
    apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia. }
apply Rle_trans with (head m e * heads (map (Rmult rho) (map (head m') others')) (among 0)).
{ apply Rmult_le_compat_l; lra. }
apply Rle_trans with (exp (r * IZR R) * (head m' f * rho) * heads (map (Rmult rho) (map (head m') others')) (among 0)).
{ apply Rmult_le_compat_r; auto. }
replace (exp (r * IZR R) * (head m' f * heads (map (head m') others') (among 0)))
  with (exp (r * IZR R) * head m' f * heads (map (head m') others') (among 0)) by ring.
replace (exp (r * IZR R) * (head m' f * rho) * heads (map (Rmult rho) (map (head m') others')) (among 0))
  with (exp (r * IZR R) * head m' f * (rho * heads (map (Rmult rho) (map (head m') others')) (among 0))) by ring.
apply Rmult_le_compat_l; [|exact H2]. apply Rlt_le, Rmult_lt_0_compat; auto.
Qed.

(** A choice does not see a number that is added to all errors. *)
Lemma chosen_shift c e others : chosen (e + c) (map (Z.add c) others) = chosen e others.
Proof.
unfold chosen. assert (L : least_of (e + c) (map (Z.add c) others) = (least_of e others + c)%Z).
{ induction others as [|f others IH]; [reflexivity|]. cbn [map least_of]. rewrite IH. lia. }
rewrite L, map_map. assert (H : forall f, head (least_of e others + c) (c + f) = head (least_of e others) f)
  by (intros; unfold head; do 3 f_equal; lia).
f_equal.
- rewrite <- (H e). f_equal. lia.
- f_equal. apply map_ext. apply H.
Qed.

(** The errors differ by numbers from low to low + R. *)
Theorem permute_and_flip_is_private low R e others f others' :
  (low <= f - e <= low + R)%Z -> Forall2 (fun a b => low <= b - a <= low + R)%Z others others'
  -> chosen e others <= exp (r * IZR R) * chosen f others'.
Proof.
intros E O. rewrite <- (chosen_shift (- low) f others'). apply chosen_if_others_fall_back; try lia.
clear - O. induction O as [|a b l l' H O IH]; cbn [map]; constructor; auto. lia.
Qed.

(** * All candidates *)
Definition choice_law (errors : list Z) : list R := map (fun '(e, others) => chosen e others) (picks errors).

Lemma picks_both (T : Z -> Z -> Prop) l l' :
  Forall2 T l l' -> Forall2 (fun a b => T (fst a) (fst b) /\ Forall2 T (snd a) (snd b)) (picks l) (picks l').
Proof.
induction 1 as [|a b l l' H O IH]; cbn [picks]; constructor; [split; auto|].
clear - IH H. induction IH as [|x y u u' [P Q] _ IH]; cbn [map]; constructor; [|exact IH]. cbn [fst snd]. split; [exact P|].
now constructor.
Qed.

Theorem every_choice_is_private low R errors errors' :
  Forall2 (fun a b => low <= b - a <= low + R)%Z errors errors'
  -> Forall2 (fun p p' => p <= exp (r * IZR R) * p') (choice_law errors) (choice_law errors').
Proof.
intros H. unfold choice_law. generalize (picks_both _ _ _ H).
induction 1 as [|[e others] [f others'] u u' [E O] _ IH]; cbn [map]; constructor; auto.
now apply permute_and_flip_is_private with low.
Qed.

Lemma choices_are_chances errors : Forall (fun p => 0 <= p) (choice_law errors).
Proof.
apply Forall_map, Forall_forall. intros [e others] _. unfold chosen. destruct (least_is_least e others) as [Le Lo].
apply Rmult_le_pos; [apply Rlt_le, exp_pos|]. apply Rle_trans with (heads (map (head (least_of e others)) others) (fun _ => 0 * 0)).
- rewrite heads_scal. lra.
- apply heads_le; [now apply heads_are_coins|]. intros n. rewrite Rmult_0_l. unfold among.
  apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia.
Qed.

Lemma least_unique e others f others' :
  Permutation (e :: others) (f :: others') -> least_of e others = least_of f others'.
Proof.
intros P. assert (B : forall a b, (forall y, In y (a :: b) -> least_of a b <= y)%Z).
{ intros a b y Y. destruct (least_is_least a b) as [La Lb]. destruct Y as [<-|Y]; auto. now apply (proj1 (Forall_forall _ _) Lb). }
apply Z.le_antisymm; apply B.
- apply Permutation_in with (1 := Permutation_sym P). apply least_is_there.
- apply Permutation_in with (1 := P). apply least_is_there.
Qed.

(** One of the candidates is chosen: the best shows heads for certain. *)
Theorem one_is_chosen e others : sum (choice_law (e :: others)) = 1.
Proof.
set (least := least_of e others). set (all := e :: others).
assert (E : choice_law all = map (fun '(p, rest) => p * heads rest (among 0)) (picks (map (head least) all))).
{ unfold choice_law. rewrite picks_map, map_map. apply map_ext_in. intros [f rest] I. apply picks_perm in I.
  unfold chosen. rewrite (least_unique f rest e others) by (symmetry; exact I). reflexivity. }
rewrite E, (picks_add_up _ (fun n => / INR n)) by reflexivity.
rewrite (heads_ext _ _ (fun n => 1 + -1 * nobody n)).
- assert (I : In 1 (map (head least) all)).
  { apply in_map_iff. exists least. split; [|apply least_is_there]. unfold head. rewrite Z.sub_diag, Rmult_0_r. apply exp_0. }
  rewrite heads_plus, heads_scal, (heads_of_nobody _ I), (heads_one _ (fun _ => 1)) by reflexivity. ring.
- intros [|n]; [simpl; ring|]. cbn [nobody]. assert (0 < INR (S n)) by (apply lt_0_INR; lia). field. lra.
Qed.
End Law.
