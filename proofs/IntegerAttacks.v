(** Attacks on integer sums (docs/theorems/attack_proofs.md), for every type: overflow and reordering.

    Overflow: one changed record, or one more, moves a modular sum by 2^w - 1. Saturation: a reordering moves a
    saturating sum by 2^w - 1. *)

From Coq Require Import List Permutation ZArith Lia.
From Soundsum Require Import Relations Sums Modular Saturating.
Import ListNotations.

Section Integers.
Open Scope Z_scope.
Variables lo hi L U : Z.
Hypothesis lo_hi : lo <= 0 <= hi.

Lemma sumZ_repeat x n : sumZ (repeat x n) = Z.of_nat n * x.
Proof.
induction n as [|n IH]; [reflexivity|]. cbn [repeat sumZ fold_right]. fold (sumZ (repeat x n)). rewrite IH. lia.
Qed.

Lemma all_repeat (P : Z -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H. apply Forall_forall. intros y Hy. apply repeat_spec in Hy. now subst. Qed.

(** Fill the type to its greatest value, then add 0, or 1. *)
Definition filled := repeat U (Z.to_nat (hi / U)) ++ [hi mod U].

Lemma filled_sum : 1 <= U -> sumZ filled = hi.
Proof.
intros HU. unfold filled. rewrite sumZ_app, sumZ_repeat. assert (D := Z.div_mod hi U ltac:(lia)).
assert (0 <= hi / U) by (apply Z.div_pos; lia).
rewrite Z2Nat.id by auto. simpl. lia.
Qed.

Lemma filled_bounds : 1 <= U -> L <= 0 -> in_bounds L U filled.
Proof.
intros HU HL. unfold filled. apply Forall_app. split; [apply all_repeat; lia|]. constructor; [|constructor].
generalize (Z.mod_pos_bound hi U ltac:(lia)). lia.
Qed.

Theorem overflow_attack :
  L <= 0 -> 1 <= U
  -> exists u v w,
       in_bounds L U u
       /\ in_bounds L U v
       /\ in_bounds L U w
       /\ hamming u v
       /\ insert_delete w v
       /\ modular lo hi u - modular lo hi v = hi - lo
       /\ modular lo hi w - modular lo hi v = hi - lo.
Proof.
intros HL HU. assert (B := filled_bounds HU HL). assert (S := filled_sum HU).
assert (E : modular lo hi (filled ++ [0]) = hi /\ modular lo hi (filled ++ [1]) = lo /\ modular lo hi filled = hi).
{ rewrite !modular_wraps_once, !sumZ_app, S by auto. simpl. unfold wrap. rewrite Z.add_0_r.
  replace (hi + 1 - lo) with (0 + 1 * N lo hi) by (unfold N; ring).
  rewrite Z_mod_plus_full, (Z.mod_small 0), (Z.mod_small (hi - lo)) by (unfold N; lia). lia. }
destruct E as (E0 & E1 & E2). exists (filled ++ [0]), (filled ++ [1]), filled. rewrite E0, E1, E2.
repeat split; try lia; try (apply Forall_app; split; [exact B|constructor; [lia|constructor]]); auto.
- apply ham_change.
- rewrite <- (app_nil_r filled) at 1. apply id_insert.
Qed.

(** All L first and then all U, or the other way round. *)
Lemma saturating_climbs s n :
  lo <= s <= hi -> 0 <= U -> saturating_from lo hi s (repeat U n) = Z.min hi (s + Z.of_nat n * U).
Proof.
revert s; induction n as [|n IH]; intros s Hs HU; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *.
cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.

Lemma saturating_falls s n :
  lo <= s <= hi -> L <= 0 -> saturating_from lo hi s (repeat L n) = Z.max lo (s + Z.of_nat n * L).
Proof.
revert s; induction n as [|n IH]; intros s Hs HL; [simpl; lia|]. cbn [repeat]. unfold saturating_from in *.
cbn [fold_left].
rewrite IH; unfold sat, clamp; lia.
Qed.

Theorem saturation_reordering b c :
  L < 0 < U -> hi - lo <= Z.of_nat b * - L -> hi - lo <= Z.of_nat c * U
  -> Permutation (repeat L b ++ repeat U c) (repeat U c ++ repeat L b)
     /\ saturating lo hi (repeat L b ++ repeat U c) - saturating lo hi (repeat U c ++ repeat L b) = hi - lo.
Proof.
intros [HL HU] Hb Hc. split; [apply Permutation_app_comm|].
assert (A : forall s l m, saturating_from lo hi s (l ++ m) = saturating_from lo hi (saturating_from lo hi s l) m)
  by (intros; apply fold_left_app).
unfold saturating. rewrite !A, (saturating_falls 0), (saturating_climbs 0) by lia.
rewrite saturating_climbs, saturating_falls by lia. lia.
Qed.
End Integers.
