(** toward_zero keeps the bounds of Bounds.v, which are the ones the code claims, and its accuracy. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Accuracy TowardZero TowardZeroOneSign TowardZeroTwoSigns
  TowardZeroAccuracy Rationals.
From Soundsum Require Bounds.
Import ListNotations.
Open Scope R_scope.

Lemma power_below_is_pw x : 0 <= Q2R x -> Q2R (Bounds.power_below x) = pw (Q2R x).
Proof.
intros Hx. unfold Bounds.power_below, pw. destruct (Bounds.is_zero x) eqn:Z.
- apply Q2R_zero in Z. rewrite Z, Req_bool_true by auto. apply Q2R_0.
- apply Q2R_nonzero in Z. rewrite Req_bool_false by auto. rewrite Q2R_pow2, floor_log2_is_mag by lra. reflexivity.
Qed.

Section Floats.
Variables k eta : Z.
Hypothesis k_pos : (1 <= k)%Z.
Hypothesis eta_neg : (eta <= 0)%Z.

Local Instance p_pos : Prec_gt_0 (k + 1). Proof. unfold Prec_gt_0; lia. Qed.

Notation format := (generic_format radix2 (FLT_exp eta (k + 1))).
Notation even := (fun x => negb (Z.even x)).
Variables (X : Type) (c : X -> R) (L U : Q) (n : nat).
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis c_within : forall x, within (Q2R L) (Q2R U) (c x).
Hypothesis c_format : forall x, format (c x).

Variable Omega : R.
Hypothesis Omega_format : format Omega.
Hypothesis Omega_pos : 0 <= Omega.
Hypothesis L_format : format (Q2R L).
Hypothesis U_format : format (Q2R U).
Notation toward_zero d := (total (k + 1) eta Omega (map c d)).

Lemma Q2R_drift b :
  0 <= Q2R b -> Q2R (Bounds.drift true k n b) = pwn (k + 1) n (Q2R b) /\ Q2R (Bounds.drift false k n b) = pw (Q2R b).
Proof.
intros Hb. unfold Bounds.drift, pwn. split; [|now apply power_below_is_pw].
rewrite Q2R_min, Q2R_mult, Q2R_pow2, !power_below_is_pw, Q2R_mult, Q2R_nat; auto.
- now replace (1 - (k + 1))%Z with (- k)%Z by ring.
- rewrite Q2R_mult, Q2R_nat. apply Rmult_le_pos; [apply pos_INR|auto].
Qed.

Lemma pw_0 : pw 0 = 0. Proof. unfold pw. now rewrite Req_bool_true. Qed.

Lemma pwn_0 : pwn (k + 1) n 0 = 0.
Proof. unfold pwn. rewrite Rmult_0_r, pw_0, Rmult_0_l. apply Rmin_left; lra. Qed.

Lemma all_fit d : Forall (fun x => format x /\ Q2R L <= x <= Q2R U) (map c d).
Proof. apply Forall_forall. intros y H. apply in_map_iff in H as (x & <- & _). split; auto. apply c_within. Qed.

Lemma constant_records d d' : Q2R U - Q2R L = 0 -> length d = length d' -> map c d = map c d'.
Proof.
intros Z Len. assert (E : forall e : list X, map c e = repeat (Q2R L) (length e)).
{ induction e as [|x e IH]; [reflexivity|]. simpl. rewrite IH. f_equal. destruct (c_within x). lra. }
now rewrite !E, Len.
Qed.

Lemma hamming_length (d d' : list X) : hamming d d' -> length d = length d'.
Proof. intros H. destruct H; auto. rewrite !app_length. reflexivity. Qed.

Theorem toward_zero_insert_delete_promise :
  sensitivity insert_delete (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U))
  /\ permuted_sensitivity symmetric (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U)).
Proof.
enough (S : sensitivity insert_delete (fun d => toward_zero d) (Q2R (Bounds.toward_zero_sensitivity false k n L U)))
  by (split; [exact S|now apply permutation_symmetric]).
intros d d' H. unfold Bounds.toward_zero_sensitivity. cbn [Bounds.ideal].
assert (Eu : Q2R (Qmax U 0) = Rmax (Q2R U) 0) by now rewrite Q2R_max, Q2R_0.
assert (Ed : Q2R (Qmax (- L) 0) = Rmax (- Q2R L) 0) by now rewrite Q2R_max, Q2R_0, Q2R_opp.
destruct (Q2R_drift (Qmax U 0)) as [_ Du]; [rewrite Eu; apply Rmax_r|].
destruct (Q2R_drift (Qmax (- L) 0)) as [_ Dd]; [rewrite Ed; apply Rmax_r|].
rewrite Eu in Du. rewrite Ed in Dd.
assert (Iz : Q2R (Bounds.magnitude L U) = 0 -> Q2R L = 0 /\ Q2R U = 0).
{ rewrite Q2R_magnitude. unfold magnitude. intros Z.
  generalize (Rmax_l (Rabs (Q2R L)) (Rabs (Q2R U))) (Rmax_r (Rabs (Q2R L)) (Rabs (Q2R U))) (Rabs_pos (Q2R L))
    (Rabs_pos (Q2R U)).
  rewrite Z. intros.
  split; [destruct (Req_dec (Q2R L) 0) as [e|e]; auto; generalize (Rabs_pos_lt _ e);
    lra|destruct (Req_dec (Q2R U) 0) as [e|e]; auto; generalize (Rabs_pos_lt _ e); lra]. }
destruct (Bounds.is_zero (Bounds.magnitude L U)) eqn:Z.
- apply Q2R_zero in Z. destruct (Iz Z) as [ZL ZU]. rewrite Q2R_0.
  assert (E : forall e : list X, toward_zero e = 0).
  { intros e. assert (R0 : record (k + 1) eta 0) by (split; [apply generic_format_0|lra]).
    assert (M : map c e = repeat 0 (length e)).
    { induction e as [|x e IH]; [reflexivity|]. simpl. rewrite IH. f_equal. destruct (c_within x). lra. }
    rewrite M, total_up; auto with typeclass_instances;
    [|apply Forall_forall; intros y Hy; apply repeat_spec in Hy; now subst].
    unfold half.
    rewrite <- (zeros_add_nothing (k + 1) eta Omega Omega_format Omega_pos (repeat 0 (length e)) 0 R0 Omega_pos);
    [|apply Forall_forall; intros y Hy; apply repeat_spec in Hy; now subst].
    replace (filter _ (repeat 0 (length e))) with (@nil R); [reflexivity|]. generalize (length e). intros m.
    induction m as [|m IH]; [reflexivity|]. simpl. now rewrite Rlt_bool_false by lra. }
  rewrite !E, Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- apply Q2R_nonzero in Z. destruct (Bounds.one_sign L U) eqn:O.
  + rewrite Q2R_max, !Q2R_plus, Du, Dd, Eu, Ed. unfold Bounds.one_sign in O.
    apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O.
    * assert (0 < Q2R U). { destruct (Rle_lt_dec (Q2R U) 0); auto. exfalso. apply Z. rewrite Q2R_magnitude.
      unfold magnitude. replace (Q2R L) with 0 by lra. replace (Q2R U) with 0 by lra. rewrite Rabs_R0.
      apply Rmax_left; lra. }
      apply Rle_trans with (2 := Rmax_l _ _). rewrite Rmax_left by lra. rewrite Rplus_comm.
      apply (positive_insert_delete (k + 1) eta Omega) with (Q2R L);
      auto using all_fit, map_insert_delete with typeclass_instances.
    * assert (Q2R L < 0). { destruct (Rle_lt_dec 0 (Q2R L)); auto. exfalso. apply Z. rewrite Q2R_magnitude.
      unfold magnitude. replace (Q2R L) with 0 by lra. replace (Q2R U) with 0 by lra. rewrite Rabs_R0.
      apply Rmax_left; lra. }
      apply Rle_trans with (2 := Rmax_r _ _). rewrite (Rmax_left (- Q2R L)) by lra. rewrite Rplus_comm.
      apply (negative_insert_delete (k + 1) eta Omega) with (Q2R U);
      auto using all_fit, map_insert_delete with typeclass_instances.
  + unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
    assert (L0 : Q2R L < 0) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    assert (U0 : 0 < Q2R U) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    rewrite Q2R_plus, !Q2R_max, !Q2R_plus, Du, Dd, Eu, Ed. rewrite (Rmax_left (Q2R U)), (Rmax_left (- Q2R L)) by lra.
    rewrite (Rplus_comm (pw (Q2R U))), (Rplus_comm (pw (- Q2R L))).
    apply two_signs_insert_delete; auto using all_fit, map_insert_delete with typeclass_instances.
Qed.

Theorem toward_zero_accuracy_promise d :
  INR n * magnitude (Q2R L) (Q2R U) <= Omega -> (length d <= n)%nat
  -> Rabs (toward_zero d - sum (map c d)) <= Q2R (Bounds.toward_zero_accuracy k n L U).
Proof.
intros H Hd.
assert (F : Forall (fun x => format x /\ Rabs x <= magnitude (Q2R L) (Q2R U)) (map c d)).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & _). split; auto.
  apply magnitude_bound, c_within. }
destruct
  (toward_zero_accuracy (k + 1) eta Omega Omega_format Omega_pos _ n (magnitude_pos (Q2R L) (Q2R U)) H (map c d) F
     ltac:(now rewrite map_length)) as (_ & A & B).
assert (E : Q2R (2 * Bounds.u k * Bounds.nat_Q (n - 1)) = 2 * bpow radix2 (- (k + 1)) * INR (n - 1))
  by (rewrite !Q2R_mult, Q2R_2, Q2R_nat, u_is_u; reflexivity).
unfold Bounds.toward_zero_accuracy. rewrite Q2R_mult, Q2R_plus, E, Q2R_mult, Q2R_nat, Q2R_magnitude.
destruct (Bounds.one_sign L U) eqn:O.
- rewrite Q2R_0, Rplus_0_r. apply B. unfold Bounds.one_sign in O.
  apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O; [left|right]; apply Forall_forall;
  intros y Hy; apply in_map_iff in Hy as (x & <- & _); destruct (c_within x); lra.
- rewrite u_is_u. exact A.
Qed.

Theorem toward_zero_hamming_promise d d' :
  length d = n -> hamming d d'
  -> Rabs (toward_zero d - toward_zero d') <= Q2R (Bounds.toward_zero_sensitivity true k n L U).
Proof.
intros Hn H. unfold Bounds.toward_zero_sensitivity. cbn [Bounds.ideal].
assert (Eu : Q2R (Qmax U 0) = Rmax (Q2R U) 0) by now rewrite Q2R_max, Q2R_0.
assert (Ed : Q2R (Qmax (- L) 0) = Rmax (- Q2R L) 0) by now rewrite Q2R_max, Q2R_0, Q2R_opp.
destruct (Q2R_drift (Qmax U 0)) as [Du _]; [rewrite Eu; apply Rmax_r|].
destruct (Q2R_drift (Qmax (- L) 0)) as [Dd _]; [rewrite Ed; apply Rmax_r|].
rewrite Eu in Du. rewrite Ed in Dd.
assert (Hm : length (map c d) = n) by now rewrite map_length.
destruct (Bounds.is_zero (U - L)) eqn:Z.
- apply Q2R_zero in Z. rewrite Q2R_minus in Z.
  rewrite (constant_records d d'), Rminus_diag_eq, Rabs_R0, Q2R_0 by auto using hamming_length.
  lra.
- apply Q2R_nonzero in Z. rewrite Q2R_minus in Z. destruct (Bounds.one_sign L U) eqn:O.
  + rewrite Q2R_plus, Q2R_max, Q2R_minus, Du, Dd. unfold Bounds.one_sign in O.
    apply Bool.orb_prop in O as [O|O]; apply Q2R_le in O; rewrite Q2R_0 in O.
    * apply Rle_trans with (Q2R U - Q2R L + pwn (k + 1) n (Q2R U)).
      -- apply (positive_hamming (k + 1) eta Omega); auto using all_fit, map_hamming with typeclass_instances. lra.
      -- apply Rplus_le_compat_l. rewrite (Rmax_left (Q2R U)) by lra. apply Rmax_l.
    * apply Rle_trans with (Q2R U - Q2R L + pwn (k + 1) n (- Q2R L)).
      -- apply (negative_hamming (k + 1) eta Omega); auto using all_fit, map_hamming with typeclass_instances. lra.
      -- apply Rplus_le_compat_l. rewrite (Rmax_left (- Q2R L)) by lra. apply Rmax_r.
  + unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
    assert (L0 : Q2R L < 0) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    assert (U0 : 0 < Q2R U) by (rewrite <- Q2R_0; apply Rnot_le_lt; intros h; apply Q2R_le in h; congruence).
    rewrite !Q2R_plus, Eu, Ed, Q2R_max, Du, Dd. rewrite (Rmax_left (Q2R U)), (Rmax_left (- Q2R L)) by lra.
    generalize (two_signs_hamming_n (k + 1) eta Omega Omega_format Omega_pos (Q2R L) (Q2R U) L_format U_format L0 U0 n
        (map c d) (map c d') (all_fit d) (all_fit d') Hm (map_hamming c H)).
    lra.
Qed.

(** Unordered, after a permutation. *)
Theorem toward_zero_change_one_promise d d' :
  length d = n -> change_one d d'
  -> coupled (orders d) (orders d')
       (fun o o' => Rabs (toward_zero o - toward_zero o') <= Q2R (Bounds.toward_zero_sensitivity true k n L U)).
Proof.
apply (permutation_change_one_of_size (fun e => toward_zero e)). intros e e'. now apply toward_zero_hamming_promise.
Qed.

End Floats.
