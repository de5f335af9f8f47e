(** Floats on a step: a power of two of which sums are multiples (used by every attack on floats).

    Sums that stay on multiples of a step, at most 2^(k+1) of them, are exact; others go to the nearest multiple.

    Page: docs/theorems/attack_proofs.md. *)

From Coq Require Import List ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Soundsum Require Import GridKernel.
Import ListNotations.
Open Scope R_scope.

Lemma pow_real e : (0 <= e)%Z -> IZR (2 ^ e) = bpow radix2 e.
Proof. intros. change 2%Z with (radix_val radix2). now rewrite IZR_Zpower. Qed.

Section Steps.
Variables k emin : Z.
Notation fl := (round radix2 (FLT_exp emin (k + 1)) ZnearestE).

(** (q + d) 2^e with q + d between 2^k and 2^(k+1) goes to the nearest multiple of 2^e. *)
Lemma rounds_to y e :
  (emin <= e)%Z -> bpow radix2 k <= y < bpow radix2 (k + 1)
  -> fl (y * bpow radix2 e) = IZR (ZnearestE y) * bpow radix2 e.
Proof.
intros He [H1 H2]. assert (P := bpow_gt_0 radix2 k). unfold round, scaled_mantissa.
assert (C : cexp radix2 (FLT_exp emin (k + 1)) (y * bpow radix2 e) = e).
{ unfold cexp. rewrite mag_mult_bpow by lra. rewrite (mag_unique radix2 y (k + 1)); [unfold FLT_exp; lia|].
  rewrite Rabs_pos_eq by lra. now replace (k + 1 - 1)%Z with k by ring. }
rewrite C, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl (bpow _ 0). now rewrite Rmult_1_r.
Qed.

(** Additions that stay on multiples of a step, at most 2^(k+1) of them, are exact. *)
Lemma exact_run m e i :
  (2 <= k)%Z -> (emin <= e)%Z -> (0 <= m)%Z -> (m + Z.of_nat i <= 2 ^ (k + 1))%Z
  -> fold_left (fun s x => fl (s + x)) (repeat (bpow radix2 e) i) (IZR m * bpow radix2 e)
       = IZR (m + Z.of_nat i) * bpow radix2 e.
Proof.
intros Hk He Hm. assert (P : Prec_gt_0 (k + 1)) by (unfold Prec_gt_0; lia).
revert m Hm; induction i as [|i IH]; intros m Hm H; [now rewrite Z.add_0_r|]. cbn [repeat fold_left].
replace (IZR m * bpow radix2 e + bpow radix2 e) with (IZR (m + 1) * bpow radix2 e) by (rewrite plus_IZR; ring).
rewrite round_generic; auto with typeclass_instances; [|apply multiple_format; lia].
rewrite IH by lia. do 2 f_equal. lia.
Qed.
End Steps.
