(** toward_zero's accuracy (docs/theorems/toward_zero.md): where nothing is held, every addition but the first loses at
    most 2 u of the sum, the last one u. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
From Soundsum Require Import Relations Sums TowardZero.
Import ListNotations.
Open Scope R_scope.

Section TowardZero.
Variables p emin : Z.
Context {p_pos : Prec_gt_0 p}.
Notation fexp := (FLT_exp emin p).
Notation format := (generic_format radix2 fexp).
Notation ulp := (ulp radix2 fexp).
Notation down := (round radix2 fexp Zfloor).
Notation rz := (round radix2 fexp Ztrunc).
Notation fl := (round radix2 fexp ZnearestE).
Variable Omega : R.
Hypothesis Omega_format : format Omega.
Hypothesis Omega_pos : 0 <= Omega.
Notation held := (held p emin Omega).
Notation half_from := (half_from p emin Omega).
Notation half := (half p emin Omega).
Notation record := (record p emin).
Notation parts := (parts p emin Omega).
Notation total := (total p emin Omega).
Notation held_down := (held_down p emin Omega Omega_pos).
Notation half_record := (half_record p emin Omega Omega_format Omega_pos).
Notation half_opp := (half_opp p emin Omega Omega_pos).
Notation down_le := (down_le p emin).
Notation half_from_app := (half_from_app p emin Omega).

(** Accuracy: where nothing is held, every addition but the first loses at most 2 u of the sum, the last one u. *)
Section Accuracy.
Notation u := (bpow radix2 (- p)).

Lemma lost_by_one a b : format a -> format b -> 0 <= a + b -> 0 <= a + b - down (a + b) <= 2 * u * (a + b).
Proof.
intros Fa Fb H. generalize (down_le (a + b)); intros D. split; [lra|].
destruct (Rle_lt_dec (a + b) (bpow radix2 (p + emin))) as [h|h].
- rewrite round_generic; auto with typeclass_instances.
  + rewrite Rminus_diag_eq by reflexivity. apply Rmult_le_pos; auto. generalize (bpow_gt_0 radix2 (- p)); lra.
  + apply FLT_format_plus_small; auto. now rewrite Rabs_pos_eq.
- assert (E := relative_error_FLT radix2 emin p p_pos Zfloor (a + b)). rewrite (Rabs_pos_eq (a + b)) in E by auto.
  specialize (E ltac:(apply Rle_trans with (2 := Rlt_le _ _ h); apply bpow_le; lia)).
  rewrite Rabs_minus_sym, Rabs_pos_eq in E by lra.
  replace (2 * u) with (bpow radix2 (- p + 1)) by (rewrite bpow_plus; change (bpow radix2 1) with 2; ring).
  lra.
Qed.

Lemma sum_pos l : Forall record l -> 0 <= sum l.
Proof.
induction l as [|x l IH]; intros F; [simpl; lra|]. destruct (Forall_inv F) as [_ Px].
generalize (IH (Forall_inv_tail F)). simpl. fold (sum l). lra.
Qed.

Lemma lost_by_a_half l :
  Forall record l -> sum l <= Omega -> 0 <= sum l - half l <= 2 * u * (INR (length l) - 1) * sum l \/ l = [].
Proof.
assert (u0 := bpow_gt_0 radix2 (- p)). assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
induction l as [|x l IH] using rev_ind; intros F H; [now right|left]. apply Forall_app in F as [F Fx].
destruct (Forall_inv Fx) as [Fx1 Px].
rewrite sum_app, app_length, plus_INR in *. simpl in H. simpl (sum [x]). simpl (length [x]). simpl (INR 1).
rewrite Rplus_0_r in *.
assert (S0 := sum_pos l F). unfold half. rewrite half_from_app. fold (half l). cbn [half_from fold_left].
assert (Rl : record (half l)) by (apply half_record; auto). destruct (Rl) as [Fl Pl].
destruct (lost_by_one (half l) x Fl Fx1 ltac:(lra)) as [A1 A2].
assert (Hd : forall B, half l + x <= B -> B <= Omega -> held (half l + x) = down (half l + x)).
{ intros B HB HO. rewrite held_down by lra. apply Rmin_right. generalize (down_le (half l + x)). lra. }
destruct (IH F ltac:(lra)) as [[I1 I2]|E].
- unfold half_from. cbn [fold_left]. rewrite (Hd (sum l + x)) by lra.
  assert (N1 : 1 <= INR (length l) \/ l = []) by (destruct l; [now right|left; apply (le_INR 1); simpl; lia]).
  destruct N1 as [N1|E];
  [|subst; unfold half, half_from in *; cbn [fold_left sum fold_right length INR] in *; rewrite Rplus_0_l in *;
   rewrite round_generic; auto with typeclass_instances; lra].
  split; [lra|]. replace (INR (length l) + 1 - 1) with (INR (length l)) by ring.
  assert (G1 : 2 * u * (INR (length l) - 1) * sum l <= 2 * u * (INR (length l) - 1) * (sum l + x))
    by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  assert (G2 : 2 * u * (half l + x) <= 2 * u * (sum l + x)) by (apply Rmult_le_compat_l; lra). lra.
- subst. unfold half_from. cbn [fold_left]. unfold half, half_from in *.
  cbn [fold_left sum fold_right length INR] in *. rewrite !Rplus_0_l in *.
  rewrite (Hd x) by lra. rewrite round_generic; auto with typeclass_instances. lra.
Qed.

Lemma lost_by_half l n :
  Forall record l -> sum l <= Omega -> (length l <= n)%nat -> 0 <= sum l - half l <= 2 * u * INR (n - 1) * sum l.
Proof.
intros F H Hn. assert (u0 := bpow_gt_0 radix2 (- p)). assert (S0 := sum_pos l F).
destruct (lost_by_a_half l F H) as [[A B]|E].
- split; auto. apply Rle_trans with (1 := B). apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; [lra|].
  destruct l as [|x l].
  + simpl. generalize (pos_INR (n - 1)). lra.
  + simpl in Hn. replace (INR (length (x :: l)) - 1) with (INR (length l)) by (cbn [length]; rewrite S_INR; ring).
    apply le_INR. lia.
- subst. unfold half, half_from. simpl. lra.
Qed.

Lemma sum_of_parts l : sum l = sum (ups l) + sum (downs l) /\ (length l = length (ups l) + length (downs l))%nat.
Proof.
unfold ups, downs. induction l as [|x l [IH IH']]; [simpl; split; [lra|lia]|]. cbn [filter].
case Rle_bool_spec; case Rlt_bool_spec; intros; try lra; cbn [sum fold_right length];
 fold (sum l) (sum (filter (fun x => Rle_bool 0 x) l)) (sum (filter (fun x => Rlt_bool x 0) l)); split; try lia; lra.
Qed.

Lemma sum_opp l : sum (map Ropp l) = - sum l.
Proof. induction l as [|x l IH]; simpl; [ring|]. fold (sum l) (sum (map Ropp l)). rewrite IH. ring. Qed.

Variables (M : R) (n : nat).
Hypothesis M_pos : 0 <= M.
Hypothesis fits : INR n * M <= Omega.

Theorem toward_zero_accuracy l :
  Forall (fun x => format x /\ Rabs x <= M) l -> (length l <= n)%nat
  -> Rabs (parts l - sum l) <= 2 * u * INR (n - 1) * (INR n * M)
     /\ Rabs (total l - sum l) <= (2 * u * INR (n - 1) + u) * (INR n * M)
     /\ (Forall (fun x => 0 <= x) l \/ Forall (fun x => x <= 0) l
         -> Rabs (total l - sum l) <= 2 * u * INR (n - 1) * (INR n * M)).
Proof.
intros F Hn. assert (u0 := bpow_gt_0 radix2 (- p)).
assert (RU : Forall record (ups l)).
{ apply Forall_forall. intros x Hx. apply filter_In in Hx as [Hx S]. rewrite Forall_forall in F. destruct (F x Hx).
  split; auto. revert S. case Rle_bool_spec; intros; [auto|discriminate]. }
assert (RD : Forall record (map Ropp (downs l))).
{ apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx). apply filter_In in Hx as [Hx S].
  rewrite Forall_forall in F. destruct (F x Hx).
  split; [now apply generic_format_opp|]. revert S. case Rlt_bool_spec; intros; [lra|discriminate]. }
assert (B : forall (m : list R) (b : R), Forall (fun x => x <= b) m -> 0 <= b -> sum m <= INR (length m) * b).
{ intros m b G b0. induction m as [|x m IH]; [simpl; lra|]. generalize (Forall_inv G) (IH (Forall_inv_tail G)).
  cbn [sum fold_right length]. fold (sum m). rewrite S_INR. lra. }
destruct (sum_of_parts l) as [ES EL].
assert (BU : sum (ups l) <= INR (length (ups l)) * M).
{ apply B; auto. apply Forall_forall. intros x Hx. apply filter_In in Hx as [Hx _]. rewrite Forall_forall in F.
  destruct (F x Hx) as [_ G]. generalize (Rle_abs x). lra. }
assert (BD : sum (map Ropp (downs l)) <= INR (length (downs l)) * M).
{ rewrite <- (map_length Ropp). apply B; auto. apply Forall_forall. intros y Hy.
  apply in_map_iff in Hy as (x & <- & Hx). apply filter_In in Hx as [Hx _]. rewrite Forall_forall in F.
  destruct (F x Hx) as [_ G].
  generalize (Rle_abs (- x)). rewrite Rabs_Ropp. lra. }
assert (BL : INR (length (ups l)) * M + INR (length (downs l)) * M <= INR n * M).
{ rewrite <- Rmult_plus_distr_r, <- plus_INR, <- EL. apply Rmult_le_compat_r; auto. now apply le_INR. }
assert (PU := sum_pos _ RU). assert (PD := sum_pos _ RD).
destruct (lost_by_half (ups l) n RU ltac:(lra) ltac:(lia)) as [U1 U2].
destruct (lost_by_half (map Ropp (downs l)) n RD ltac:(lra) ltac:(rewrite map_length; lia)) as [D1 D2].
rewrite half_opp, sum_opp in *.
set (w := 2 * u * INR (n - 1)) in *. assert (w0 : 0 <= w) by (apply Rmult_le_pos; [lra|apply pos_INR]).
assert (W : w * (sum (ups l) + - sum (downs l)) <= w * (INR n * M)) by (apply Rmult_le_compat_l; lra).
assert (WU : 0 <= w * sum (ups l)) by (apply Rmult_le_pos; lra).
assert (WD : 0 <= w * - sum (downs l)) by (apply Rmult_le_pos; lra).
assert (P : Rabs (parts l - sum l) <= w * (INR n * M)) by (rewrite ES; unfold parts; apply Rabs_le; lra).
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (FP : format (half (ups l))) by (apply half_record; auto).
assert (FN : format (half (downs l)))
  by (rewrite <- (Ropp_involutive (half (downs l))), <- half_opp; apply generic_format_opp; apply half_record; auto).
assert (PP : 0 <= half (ups l)) by (apply half_record; auto).
assert (NN : half (downs l) <= 0)
  by (assert (0 <= half (map Ropp (downs l))) by (apply half_record; auto); rewrite half_opp in *; lra).
split; [exact P|]. split.
- assert (Q : Rabs (total l - parts l) <= u * (INR n * M)).
  { unfold total, parts. destruct (Rle_lt_dec (Rabs (half (ups l) + half (downs l))) (bpow radix2 (p + emin))) as [h|h].
    - rewrite round_generic; auto with typeclass_instances;
      [rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; apply Rmult_le_pos;
       [lra|apply Rmult_le_pos; [apply pos_INR|auto]]|].
      now apply FLT_format_plus_small.
    - assert (E := relative_error_N_FLT radix2 emin p p_pos (fun x => negb (Z.even x)) (half (ups l) + half (downs l))
            ltac:(apply Rle_trans with (2 := Rlt_le _ _ h); apply bpow_le; lia)).
      apply Rle_trans with (1 := E).
      replace (/ 2 * bpow radix2 (- p + 1)) with u by (rewrite bpow_plus; change (bpow radix2 1) with 2; field).
      apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra. }
  replace (total l - sum l) with ((total l - parts l) + (parts l - sum l)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
- intros S. assert (T : total l = parts l).
  { destruct S as [S|S].
    - assert (Rl : Forall record l) by (rewrite Forall_forall in *; intros x Hx; split; [apply F|apply S]; auto).
      assert (D : downs l = []). { unfold downs. clear - S. induction l as [|x l IH]; [reflexivity|]. simpl.
      rewrite Rlt_bool_false by now apply Forall_inv in S. apply IH. now apply Forall_inv_tail in S. }
      unfold total, parts. rewrite D. unfold half at 2 4, half_from. cbn [fold_left]. rewrite !Rplus_0_r.
      apply round_generic; auto with typeclass_instances.
    - assert (D : half (ups l) = 0).
      { assert (0 <= sum (ups l) <= 0); [|lra]. split; auto. apply Rle_trans with (INR (length (ups l)) * 0); [|lra].
        apply B; [|lra]. apply Forall_forall. intros x Hx. apply filter_In in Hx as [Hx _].
        rewrite Forall_forall in S. auto. }
      unfold total, parts. rewrite D, Rplus_0_l. apply round_generic; auto with typeclass_instances. }
  now rewrite T.
Qed.
End Accuracy.

End TowardZero.
