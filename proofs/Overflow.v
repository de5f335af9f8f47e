(** No overflow (docs/theorems/iterated.md): under the page's check the IEEE binary64 sum is finite and is the sum of the
    unbounded format that Accuracy.v speaks about. *)
From Coq Require Import List ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Accuracy Trees Iterated Binary64 GridBinary64.
Import ListNotations.
Open Scope R_scope.
Local Instance prec53 : Prec_gt_0 53. Proof. reflexivity. Qed.
Notation even_ties := (fun x => negb (Z.even x)).
Definition Omega64 := IZR (2 ^ 53 - 1) * bpow radix2 971.

Lemma Omega64_format : generic_format radix2 (FLT_exp (-1074) 53) Omega64.
Proof. apply generic_format_FLT. now exists (Float radix2 (2 ^ 53 - 1) 971). Qed.
Lemma Omega64_lt : Omega64 < bpow radix2 1024.
Proof.
unfold Omega64. replace (bpow radix2 1024) with (IZR (2 ^ 53) * bpow radix2 971).
- apply Rmult_lt_compat_r; [apply bpow_gt_0|]. now apply IZR_lt.
- change (IZR (2 ^ 53)) with (bpow radix2 53). now rewrite <- bpow_plus.
Qed.

Lemma sum_abs l : Rabs (sum l) <= sum (map Rabs l).
Proof. induction l as [|x l IH]; simpl; [rewrite Rabs_R0; lra|]. apply Rle_trans with (1 := Rabs_triang _ _). fold (sum l) (sum (map Rabs l)). lra. Qed.

Theorem iterated64_finite M (l : list binary64) : 0 <= M ->
  Forall (fun x => fin x = true /\ Rabs (B2R64 x) <= M) l ->
  INR (length l) * M + INR (length l) * (INR (length l) - 1) * u 53 * M <= Omega64 ->
  fin (fold_left add l zero) = true /\
  B2R64 (fold_left add l zero) = iterated 53 (-1074) even_ties (map (Binary.B2R 53 1024) l).
Proof.
intros M0. assert (u0 : 0 < u 53) by apply bpow_gt_0.
induction l as [|x l IH] using rev_ind; intros F H; [split; reflexivity|].
apply Forall_app in F as [F Fx]. destruct (Forall_inv Fx) as [Fin Bx].
rewrite app_length, plus_INR in H. simpl (INR (length [x])) in H. set (n := INR (length l)) in *.
assert (n0 : 0 <= n) by apply pos_INR.
assert (uM : 0 <= u 53 * M) by (apply Rmult_le_pos; lra).
destruct IH as [I1 I2]; auto.
{ apply Rle_trans with (2 := H). assert (n * (n - 1) * (u 53 * M) <= (n + 1) * (n + 1 - 1) * (u 53 * M)) by (apply Rmult_le_compat_r; nra). lra. }
assert (E0 : iterated 53 (-1074) even_ties (map (Binary.B2R 53 1024) (l ++ [x])) =
  fl64 (iterated 53 (-1074) even_ties (map (Binary.B2R 53 1024) l) + B2R64 x)).
{ unfold iterated. rewrite map_app, fold_left_app. reflexivity. }
rewrite E0, <- I2, fold_left_app. set (s := fold_left add l zero) in *. change (fold_left add [x] s) with (add s x).
generalize (Binary.Bplus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE s x I1 Fin).
change (round radix2 (SpecFloat.fexp 53 1024) (round_mode mode_NE)) with fl64.
rewrite Rlt_bool_true; [intros (E1 & E2 & _); auto|].
apply Rle_lt_trans with (2 := Omega64_lt). apply abs_round_le_generic; auto using Omega64_format with typeclass_instances.
assert (FF : Forall (fun y => generic_format radix2 (FLT_exp (-1074) 53) y) (map (Binary.B2R 53 1024) l)).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (z & <- & _). apply format64. }
assert (BB : sum (map Rabs (map (Binary.B2R 53 1024) l)) <= n * M).
{ replace n with (INR (length (map (Binary.B2R 53 1024) l))) by (unfold n; f_equal; apply map_length). apply sum_of_magnitudes. apply Forall_forall. intros y Hy.
  apply in_map_iff in Hy as (z & <- & Hz). rewrite Forall_forall in F. now destruct (F z Hz). }
generalize (sum_abs (map (Binary.B2R 53 1024) l)); intros SA.
assert (K : Rabs (B2R64 s) <= n * M + (n + 1) * n * (u 53 * M)).
{ rewrite I2. destruct (iterated_error 53 (-1074) even_ties _ FF) as [E|E].
  - replace (INR (length (map (Binary.B2R 53 1024) l))) with n in E by (unfold n; f_equal; symmetry; apply map_length).
    set (f := iterated _ _ _ _) in *. set (S := sum (map (Binary.B2R 53 1024) l)) in *.
    assert (Rabs f <= Rabs (f - S) + Rabs S) by (replace f with ((f - S) + S) at 1 by ring; apply Rabs_triang).
    assert ((n - 1) * u 53 * sum (map Rabs (map (Binary.B2R 53 1024) l)) <= (n + 1) * n * (u 53 * M)); [|lra].
    apply Rle_trans with ((n + 1) * u 53 * (n * M)); [|right; ring].
    assert (P : 0 <= sum (map Rabs (map (Binary.B2R 53 1024) l))) by (apply Rle_trans with (2 := SA), Rabs_pos).
    apply Rle_trans with ((n + 1) * u 53 * sum (map Rabs (map (Binary.B2R 53 1024) l))).
    + apply Rmult_le_compat_r; auto. apply Rmult_le_compat_r; lra.
    + apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra.
  - rewrite E. unfold iterated; simpl. rewrite Rabs_R0. apply Rplus_le_le_0_compat; [nra|]. apply Rmult_le_pos; nra. }
apply Rle_trans with (1 := Rabs_triang _ _). apply Rle_trans with (2 := H).
replace ((n + 1) * (n + 1 - 1) * u 53 * M) with ((n + 1) * n * (u 53 * M)) by ring. lra.
Qed.
