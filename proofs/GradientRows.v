(** gradients (docs/theorems/gradients.md): the whole clip, from the bits of a gradient to its integers, executable.

    Gradients.v clips integers. Here is how doubles become them (the step, the rounding, the factor and its shift), as
    numbers/clipping.py has it, so that the kernel can be run against it. Whatever the bits are, NaN and infinities
    included, the result is no longer than K; and the integers are the coordinates in steps, rounded half to even. *)

From Coq Require Import List ZArith Reals Lra Lia Bool.
From Flocq Require Import Core IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Gradients.
Import ListNotations.
Open Scope Z_scope.

(** A finite double is mantissa times 2^exponent. *)
Definition parts (x : binary64) : option (Z * Z) :=
  match x with
  | B754_zero _ _ _ => Some (0, 0)
  | B754_finite _ _ s m e _ => Some (cond_Zopp s (Zpos m), e)
  | _ => None
  end.

Fixpoint all_parts (row : list binary64) : option (list (Z * Z)) :=
  match row with
  | [] => Some []
  | x :: row => match parts x, all_parts row with Some p, Some l => Some (p :: l) | _, _ => None end
  end.

(** How many powers of two coarser than 2^a the steps are: the fewest that leave all coordinates below 2^room. *)
Definition coarsening (a room : Z) (l : list (Z * Z)) : Z :=
  fold_right (fun '(m, e) most => if m =? 0 then most else Z.max most (Z.log2 (Z.abs m) + 1 + e - a - room)) 0 l.

(** m / p, and m 2^e in steps of 2^g, rounded half to even. *)
Definition half_even (m p : Z) : Z :=
  let f := m / p in
  match 2 * (m mod p) ?= p with Lt => f | Gt => f + 1 | Eq => if Z.even f then f else f + 1 end.

Definition in_steps (g : Z) (part : Z * Z) : Z :=
  let '(m, e) := part in
  if g <=? e then m * 2 ^ (e - g) else half_even m (2 ^ (g - e)).

(** The shift that makes the factor fill its bits. *)
Definition shift_for (precision K N : Z) : Z :=
  precision + Z.max 0 ((Z.log2_up (- (- N / (K * K))) + 1) / 2 - 1).

Definition clip_integers (precision K : Z) (r : list Z) : list Z :=
  let s := shift_for precision K (squares r) in
  clip K (factor K (squares r) s) s r.

Definition zeros (row : list binary64) : list Z := map (fun _ => 0) row.

Definition clip_row (a room precision K : Z) (row : list binary64) : list Z :=
  match all_parts row with
  | None => zeros row
  | Some l =>
      if K <=? 0 then zeros row else clip_integers precision K (map (in_steps (a + coarsening a room l)) l)
  end.

(** Blocks, each with its limit; all are zeros where the limits are too large together or any block is not finite. *)
Definition is_finite_row (row : list binary64) : bool := match all_parts row with Some _ => true | None => false end.

Definition clip_blocks (a room precision K : Z) (blocks : list (Z * list binary64)) : list (list Z) :=
  if forallb (fun block => (0 <=? fst block) && is_finite_row (snd block)) blocks
     && (squares (map fst blocks) <=? K * K)
  then map (fun block => clip_row a room precision (fst block) (snd block)) blocks
  else map (fun block => zeros (snd block)) blocks.

(** * No longer than K *)

(** The factor has exactly `precision` bits: it is above 0, so that clipping is sound, and below 2^precision, so that it fits. *)
Theorem factor_fills_its_bits precision K N :
  1 <= precision -> 0 < K -> K * K < N
  -> 2 ^ (precision - 1) <= factor K N (shift_for precision K N) < 2 ^ precision.
Proof.
intros P HK HN. unfold factor, shift_for. set (quotient := - (- N / (K * K))).
assert (K2 : 0 < K * K) by nia.
assert (Q : K * K * (quotient - 1) < N <= K * K * quotient).
{ unfold quotient. generalize (Z.div_mod (- N) (K * K) ltac:(lia)) (Z.mod_pos_bound (- N) (K * K) K2). nia. }
assert (Q1 : 1 < quotient) by nia. assert (U := Z.log2_up_spec quotient Q1). set (l := Z.log2_up quotient) in *.
assert (L0 : 0 < l) by (apply Z.log2_up_pos; lia).
set (h := Z.max 0 ((l + 1) / 2 - 1)).
assert (H2 : l <= 2 * (h + 1) /\ (h = 0 \/ 2 * h <= l - 1)).
{ generalize (Z.div_mod (l + 1) 2 ltac:(lia)) (Z.mod_pos_bound (l + 1) 2 ltac:(lia)). unfold h. lia. }
assert (h0 : 0 <= h) by (unfold h; lia).
assert (F : 4 ^ (precision + h) = 4 ^ (h + 1) * 4 ^ (precision - 1))
  by (rewrite <- Z.pow_add_r by lia; f_equal; ring).
assert (F' : 4 ^ (precision + h) = 4 ^ h * 4 ^ precision) by (rewrite <- Z.pow_add_r by lia; f_equal; ring).
assert (G : quotient <= 4 ^ (h + 1)).
{ apply Z.le_trans with (2 ^ l); [apply U|]. change 4 with (2 ^ 2). rewrite <- Z.pow_mul_r by lia.
  apply Z.pow_le_mono_r; lia. }
assert (P1 : 0 < 4 ^ (precision - 1)) by (apply Z.pow_pos_nonneg; lia).
assert (P2 : 0 < 4 ^ precision) by (apply Z.pow_pos_nonneg; lia).
assert (low : 4 ^ (precision - 1) <= K * K * 4 ^ (precision + h) / N).
{ apply Z.div_le_lower_bound; [lia|]. rewrite F. assert (N <= K * K * 4 ^ (h + 1)) by nia. nia. }
assert (high : K * K * 4 ^ (precision + h) / N < 4 ^ precision).
{ apply Z.div_lt_upper_bound; [lia|]. rewrite F'.
  assert (K * K * 4 ^ h < N).
  { destruct H2 as [_ [->|H2]]; [change (4 ^ 0) with 1; lia|].
    assert (4 ^ h <= 2 ^ Z.pred l).
    { change 4 with (2 ^ 2). rewrite <- Z.pow_mul_r by lia. apply Z.pow_le_mono_r; lia. }
    nia. }
  nia. }
split.
- apply Z.sqrt_le_square; [apply Z.le_trans with (2 := low); lia|apply Z.pow_nonneg; lia|].
  rewrite <- four_is_a_square by lia. exact low.
- apply Z.sqrt_lt_square; [apply Z.le_trans with (2 := low); lia|apply Z.pow_nonneg; lia|].
  rewrite <- four_is_a_square by lia. exact high.
Qed.

Theorem clip_integers_at_most precision K r :
  1 <= precision -> 0 < K -> squares (clip_integers precision K r) <= K * K.
Proof.
intros P HK. unfold clip_integers. destruct (Z.le_gt_cases (squares r) (K * K)) as [H|H].
- unfold clip. now rewrite (proj2 (Z.leb_le _ _) H).
- assert (F := factor_fills_its_bits precision K (squares r) P HK ltac:(lia)).
  assert (0 < 2 ^ (precision - 1)) by (apply Z.pow_pos_nonneg; lia).
  apply clipped_by_its_factor; [unfold shift_for; lia|lia|nia].
Qed.

Lemma squares_of_zeros row : squares (zeros row) = 0.
Proof.
unfold squares, sumZ, zeros. induction row as [|x row IH]; cbn [map fold_right]; [reflexivity|]. now rewrite IH.
Qed.

Theorem clip_row_at_most a room precision K row :
  1 <= precision -> squares (clip_row a room precision K row) <= K * K.
Proof.
intros P. assert (S := Z.square_nonneg K). unfold clip_row. destruct (all_parts row) as [l|].
- destruct (Z.leb_spec K 0); [rewrite squares_of_zeros; exact S|]. now apply clip_integers_at_most.
- rewrite squares_of_zeros. exact S.
Qed.

Lemma squares_app q r : squares (q ++ r) = squares q + squares r.
Proof.
unfold squares, sumZ. induction q as [|x q IH]; cbn [app map fold_right]; [reflexivity|]. rewrite IH. ring.
Qed.

Lemma squares_cons x q : squares (x :: q) = x * x + squares q.
Proof. reflexivity. Qed.

Theorem clip_blocks_at_most a room precision K blocks :
  1 <= precision -> squares (concat (clip_blocks a room precision K blocks)) <= K * K.
Proof.
intros P. unfold clip_blocks. destruct (_ && _) eqn:E.
- apply andb_prop in E as [_ E]. apply Z.leb_le in E. apply Z.le_trans with (2 := E). clear E.
  induction blocks as [|[limit row] blocks IH]; [reflexivity|]. cbn [map concat fst snd].
  rewrite squares_app, squares_cons. generalize (clip_row_at_most a room precision limit row P). lia.
- enough (squares (concat (map (fun block : Z * list binary64 => zeros (snd block)) blocks)) = 0)
    by (generalize (Z.square_nonneg K); lia).
  clear E. induction blocks as [|[limit row] blocks IH]; [reflexivity|]. cbn [map concat snd].
  now rewrite squares_app, squares_of_zeros, IH.
Qed.

(** So one example moves the sum of clipped rows by at most K in L2: rows of any bits, in d coordinates. *)
Lemma length2_of_nth d q : length2 d (fun j => nth j q 0) <= squares q.
Proof.
unfold length2. revert d. induction q as [|x q IH]; intros d.
- enough (G : forall l, squares (map (fun j => nth j [] 0) l) = 0) by (rewrite G; apply Z.le_refl).
  induction l as [|[|j] l I]; [reflexivity| |]; cbn [map]; rewrite squares_cons, I; reflexivity.
- destruct d as [|d]; [apply squares_nonneg|]. cbn [seq map nth].
  rewrite !squares_cons, <- seq_shift, map_map. cbn [nth]. generalize (IH d). lia.
Qed.

Theorem one_row_moves_at_most_K d a room precision K u v :
  1 <= precision -> insert_delete u v
  -> length2 d (difference (list binary64) (fun row j => nth j (clip_row a room precision K row) 0) u v) <= K * K.
Proof.
intros P. apply one_example_moves_at_most_K. intros row.
apply Z.le_trans with (1 := length2_of_nth d _). now apply clip_row_at_most.
Qed.

(** * What is rounded *)

Open Scope R_scope.

Lemma half_even_is_nearest m p : (0 < p)%Z -> half_even m p = ZnearestE (IZR m / IZR p).
Proof.
intros P. unfold half_even, Znearest. rewrite Zfloor_div by lia. assert (E := Z.div_mod m p ltac:(lia)).
assert (M := Z.mod_pos_bound m p P). set (f := (m / p)%Z) in *. set (r := (m mod p)%Z) in *.
assert (P' : 0 < IZR p) by now apply IZR_lt.
assert (X : IZR m / IZR p - IZR f = IZR r / IZR p) by (rewrite E, plus_IZR, mult_IZR; field; lra). rewrite X.
assert (C : Rcompare (IZR r / IZR p) (/ 2) = (2 * r ?= p)%Z).
{ rewrite <- (Rcompare_mult_r (2 * IZR p)) by lra.
  replace (IZR r / IZR p * (2 * IZR p)) with (IZR (2 * r)) by (rewrite mult_IZR; field; lra).
  replace (/ 2 * (2 * IZR p)) with (IZR p) by field. apply Rcompare_IZR. }
rewrite C. assert (up : forall T : (0 < r)%Z, Zceil (IZR m / IZR p) = (f + 1)%Z).
{ intros T. apply IZR_lt in T. apply Zceil_imp. rewrite minus_IZR, plus_IZR.
  assert (B : IZR r < IZR p) by (apply IZR_lt; lia).
  assert (0 < IZR r / IZR p) by (apply Rdiv_lt_0_compat; lra).
  assert (IZR r / IZR p < 1)
    by (apply Rmult_lt_reg_r with (IZR p); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  simpl. lra. }
destruct (Z.compare_spec (2 * r) p); auto.
- rewrite up by lia. now destruct (Z.even f).
- symmetry. apply up. lia.
Qed.

(** A finite double's integer is the double in steps of 2^g, rounded half to even. *)
Theorem in_steps_is_nearest g x part :
  parts x = Some part -> in_steps g part = ZnearestE (Binary.B2R 53 1024 x * bpow radix2 (- g)).
Proof.
assert (G : forall m e, in_steps g (m, e) = ZnearestE (F2R (Float radix2 m e) * bpow radix2 (- g))).
{ intros m e. unfold in_steps, F2R. cbn [Fnum Fexp]. rewrite Rmult_assoc, <- bpow_plus.
  destruct (Z.leb_spec g e) as [h|h].
  - rewrite <- IZR_Zpower by lia. rewrite <- mult_IZR, Zrnd_IZR by auto with typeclass_instances.
    change (radix_val radix2) with 2%Z. do 2 f_equal.
  - rewrite half_even_is_nearest by (apply Z.pow_pos_nonneg; lia). f_equal. unfold Rdiv. f_equal.
    change 2%Z with (radix_val radix2) at 1. rewrite IZR_Zpower, <- bpow_opp by lia. f_equal. ring. }
destruct x as [s|s|s pl h|s m e h]; intros E; try discriminate; injection E as <-.
- rewrite G. f_equal. unfold F2R. simpl. ring.
- apply G.
Qed.

Lemma all_parts_of row l : all_parts row = Some l -> Forall2 (fun x part => parts x = Some part) row l.
Proof.
revert l; induction row as [|x row IH]; intros l; cbn [all_parts]; [intros E; injection E as <-; constructor|].
destruct (parts x) eqn:E; [|discriminate]. destruct (all_parts row) as [l'|]; [|discriminate].
intros E'. injection E' as <-. constructor; auto.
Qed.

(** The steps are coarse enough for every coordinate, and no coarser than one of them needs. *)
Lemma size_of m e :
  m <> 0%Z
  -> bpow radix2 (Z.log2 (Z.abs m) + e) <= Rabs (F2R (Float radix2 m e)) < bpow radix2 (Z.log2 (Z.abs m) + 1 + e).
Proof.
intros H. rewrite <- F2R_Zabs. unfold F2R. cbn [Fnum Fexp]. assert (S := Z.log2_spec (Z.abs m) ltac:(lia)).
assert (N := Z.log2_nonneg (Z.abs m)). rewrite !bpow_plus, <- !(IZR_Zpower radix2) by lia.
assert (Q := bpow_gt_0 radix2 e). destruct S as [S1 S2]. unfold Z.succ in S2. rewrite Z.pow_add_r in S2 by lia.
apply IZR_le in S1. apply IZR_lt in S2. rewrite mult_IZR in S2. change (radix_val radix2) with 2%Z.
split; apply Rmult_le_compat_r || apply Rmult_lt_compat_r; auto; lra.
Qed.

Theorem coarse_enough a room row l :
  all_parts row = Some l
  -> Forall (fun x => Rabs (Binary.B2R 53 1024 x) < bpow radix2 (a + room + coarsening a room l)) row.
Proof.
intros H. apply all_parts_of in H. induction H as [|x [m e] row l E H IH]; constructor.
- cbn [coarsening fold_right]. fold (coarsening a room l).
  destruct x as [s|s|s pl h|s m' e' h]; try discriminate; injection E as <- <-; cbn [Binary.B2R].
  + rewrite Rabs_R0. apply bpow_gt_0.
  + assert (N : cond_Zopp s (Zpos m') <> 0%Z) by (destruct s; discriminate).
    rewrite (proj2 (Z.eqb_neq _ _) N). apply Rlt_le_trans with (1 := proj2 (size_of _ _ N)). apply bpow_le. lia.
- apply Forall_impl with (2 := IH). intros y Hy. apply Rlt_le_trans with (1 := Hy). apply bpow_le.
  cbn [coarsening fold_right]. fold (coarsening a room l). destruct (m =? 0)%Z; lia.
Qed.

Theorem no_coarser_than_needed a room row l :
  all_parts row = Some l
  -> coarsening a room l = 0%Z
     \/ Exists (fun x => bpow radix2 (a + room + coarsening a room l - 1) <= Rabs (Binary.B2R 53 1024 x)) row.
Proof.
intros H. apply all_parts_of in H. induction H as [|x [m e] row l E H IH]; [now left|].
cbn [coarsening fold_right]. fold (coarsening a room l). set (c := coarsening a room l) in *.
destruct (Z.eqb_spec m 0) as [z|n]; [destruct IH as [IH|IH]; auto|].
destruct (Z.max_spec c (Z.log2 (Z.abs m) + 1 + e - a - room)) as [[h ->]|[h ->]].
- right. apply Exists_cons_hd.
  destruct x as [s|s|s pl h'|s m' e' h']; try discriminate; injection E as <- <-; [contradiction|]. cbn [Binary.B2R].
  apply Rle_trans with (2 := proj1 (size_of _ _ n)). apply bpow_le. lia.
- destruct IH as [IH|IH]; auto.
Qed.
