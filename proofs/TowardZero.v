(** toward_zero (docs/theorems/toward_zero.md): split by sign, rounded toward zero, one last addition to nearest.

    Write p(b) for the power of two at or below b. One sign: a record more moves the sum by at most U + p(U), a changed
    one by at most U - L + p_n(U). Two signs: max(U + p(U), |L| + p(|L|)) + max(p(U), p(|L|)),
    and U + p_n(U) + |L| + p_n(|L|) + max(p_n(U), p_n(|L|)). Any precision p = k + 1, any smallest exponent, subnormals
    included; sums are held at the largest finite value. *)

From Coq Require Import List Permutation ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
From Soundsum Require Import Relations Sums.
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

(** A sum held at the largest finite value. *)
Definition held x := Rmax (- Omega) (Rmin Omega (rz x)).
Definition half_from s l := fold_left (fun s x => held (s + x)) l s.
Definition half l := half_from 0 l.
Definition record x := format x /\ 0 <= x.

Lemma half_from_app s l l' : half_from s (l ++ l') = half_from (half_from s l) l'.
Proof. apply fold_left_app. Qed.

Lemma rz_down x : 0 <= x -> rz x = down x.
Proof. apply round_ZR_DN. Qed.

Lemma down_pos x : 0 <= x -> 0 <= down x.
Proof. intros; apply round_ge_generic; auto with typeclass_instances. apply generic_format_0. Qed.

Lemma down_format x : format (down x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma down_le x : down x <= x.
Proof. apply round_DN_pt; auto with typeclass_instances. Qed.

Lemma held_down x : 0 <= x -> held x = Rmin Omega (down x).
Proof.
intros H. unfold held. rewrite rz_down by auto. apply Rmax_right. generalize (down_pos x H).
unfold Rmin; destruct Rle_dec; lra.
Qed.

Lemma held_opp x : held (- x) = - held x.
Proof. unfold held. rewrite round_ZR_opp. unfold Rmax, Rmin; repeat destruct Rle_dec; lra. Qed.

Lemma held_record x : 0 <= x -> record (held x).
Proof.
intros H. rewrite held_down by auto. generalize (down_pos x H) (down_format x). intros.
unfold Rmin, record; destruct Rle_dec; auto.
Qed.

Lemma held_le x : 0 <= x -> held x <= x.
Proof. intros H. rewrite held_down by auto. apply Rle_trans with (1 := Rmin_r _ _), down_le. Qed.

Lemma held_Omega x : 0 <= x -> held x <= Omega.
Proof. intros H. rewrite held_down by auto. apply Rmin_l. Qed.

Lemma held_mono x y : 0 <= x <= y -> held x <= held y.
Proof.
intros H. rewrite !held_down by lra. apply Rle_min_compat_l.
apply round_le; auto with typeclass_instances; lra.
Qed.

Lemma held_id x : record x -> x <= Omega -> held x = x.
Proof. intros [F P] H. rewrite held_down, round_generic by auto with typeclass_instances. now apply Rmin_right. Qed.

Lemma below_next x : 0 <= x -> x < down x + ulp (down x).
Proof.
intros H. assert (F := down_format x). assert (P := down_pos x H).
apply Rnot_le_lt; intros C.
assert (G : down x + ulp (down x) <= down x).
{ apply (round_DN_pt radix2 fexp x); auto. rewrite <- succ_eq_pos by auto.
  now apply generic_format_succ; auto with typeclass_instances. }
assert (0 < ulp (down x)); [|lra].
destruct (Req_dec (down x) 0) as [->|n]; [rewrite ulp_FLT_0; auto with typeclass_instances; apply bpow_gt_0|].
rewrite ulp_neq_0 by auto. apply bpow_gt_0.
Qed.

Definition ulp_e s := if Req_bool s 0 then emin else cexp radix2 fexp s.

Lemma ulp_bpow s : ulp s = bpow radix2 (ulp_e s).
Proof.
unfold ulp_e. case Req_bool_spec; intros H; [rewrite H; apply ulp_FLT_0; auto|now apply ulp_neq_0].
Qed.

Lemma ulp_pos s : 0 < ulp s.
Proof. rewrite ulp_bpow. apply bpow_gt_0. Qed.

Lemma multiple s x : format s -> format x -> 0 <= s <= x -> exists m, x = IZR m * ulp s.
Proof.
intros Fs Fx H.
assert (G : exists m e, x = IZR m * bpow radix2 e /\ (ulp_e s <= e)%Z).
{ unfold ulp_e. case Req_bool_spec; intros Hs.
  - apply FLT_format_generic in Fx; auto. destruct Fx as [[m e] -> _ He]. now exists m, e.
  - exists (Ztrunc (scaled_mantissa radix2 fexp x)), (cexp radix2 fexp x). split; [exact Fx|].
    unfold cexp. apply monotone_exp; auto with typeclass_instances. apply mag_le; lra. }
destruct G as (m & e & -> & He). exists (m * 2 ^ (e - ulp_e s))%Z. rewrite mult_IZR, ulp_bpow.
change 2%Z with (radix_val radix2). rewrite IZR_Zpower by lia. rewrite Rmult_assoc, <- bpow_plus. do 2 f_equal. ring.
Qed.

Lemma ulp_multiple s t : 0 <= s <= t -> exists m, ulp t = IZR m * ulp s.
Proof.
intros H. assert (E : ulp s <= ulp t) by (apply ulp_le_pos; auto with typeclass_instances; lra).
rewrite !ulp_bpow in *. apply le_bpow in E. exists (2 ^ (ulp_e t - ulp_e s))%Z.
change 2%Z with (radix_val radix2). rewrite IZR_Zpower, <- bpow_plus by lia. f_equal. ring.
Qed.

(** Lemma 1: one step, without the hold. *)
Lemma step_gap s s' v :
  format s -> format s' -> 0 <= v -> 0 <= s <= s'
  -> down (s' + v) - down (s + v) <= (s' - s) + ulp (down (s + v)) - ulp s.
Proof.
intros Fs Fs' Hv Hs. set (t := down (s + v)). set (t' := down (s' + v)). set (g := ulp s).
assert (gp : 0 < g) by apply ulp_pos.
assert (ts : s <= t) by (apply round_ge_generic; auto with typeclass_instances; lra).
assert (ts' : s <= t') by (apply round_ge_generic; auto with typeclass_instances; lra).
destruct (multiple s s) as (ms & Es); auto; [lra|].
destruct (multiple s s') as (ms' & Es'); auto.
destruct (multiple s t) as (mt & Et); auto; [apply down_format|lra|].
destruct (multiple s t') as (mt' & Et'); auto; [apply down_format|lra|].
destruct (ulp_multiple s t) as (ma & Ea); [lra|]. fold g in Es, Es', Et, Et', Ea.
set (V := Zfloor (v / g)).
assert (Ev : v = v / g * g) by (field; lra).
assert (Vl : IZR V * g <= v).
{ rewrite Ev. apply Rmult_le_compat_r; [lra|]. apply Zfloor_lb. }
assert (Vu : v < (IZR V + 1) * g).
{ rewrite Ev at 1. apply Rmult_lt_compat_r; auto. apply Zfloor_ub. }
assert (A : (mt' <= ms' + V)%Z).
{ apply Z.lt_succ_r. apply lt_IZR. unfold Z.succ. rewrite !plus_IZR. apply Rmult_lt_reg_r with g; auto.
  generalize (down_le (s' + v)). fold t'. lra. }
assert (B : (ms + V + 1 <= mt + ma)%Z).
{ apply Zlt_le_succ. apply lt_IZR. rewrite !plus_IZR. apply Rmult_lt_reg_r with g; auto.
  generalize (below_next (s + v)). fold t. lra. }
apply IZR_le in A, B. rewrite !plus_IZR in A. rewrite !plus_IZR in B. rewrite Ea, Et, Et', Es, Es'.
clearbody g V; clear - A B gp.
assert (C : (IZR mt' - IZR mt) * g <= (IZR ms' - IZR ms + IZR ma - 1) * g) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** Lemma 1 with the hold, and Lemma 2: the ulps telescope. *)
Lemma held_gap s s' v :
  record s -> record s' -> s <= s' <= Omega -> 0 <= v
  -> held (s' + v) - held (s + v) <= (s' - s) + ulp (held (s + v)) - ulp s.
Proof.
intros [Fs Ps] [Fs' Ps'] H Hv. rewrite !held_down by lra.
generalize (step_gap s s' v Fs Fs' Hv). intros G.
destruct (Rle_dec (down (s + v)) Omega) as [h|h].
- rewrite (Rmin_right Omega (down (s + v))) by auto. generalize (Rmin_r Omega (down (s' + v))). lra.
- rewrite (Rmin_left Omega (down (s + v))) by lra. generalize (Rmin_l Omega (down (s' + v))).
  assert (ulp s <= ulp Omega) by (apply ulp_le_pos; auto with typeclass_instances; lra). lra.
Qed.

Lemma half_record l s : record s -> Forall record l -> record (half_from s l).
Proof.
revert s; induction l as [|x l IH]; intros s Hs F; simpl; auto.
destruct (Forall_inv F) as [_ Px]. destruct Hs as [_ Ps].
apply IH; [apply held_record; lra|now apply Forall_inv_tail in F].
Qed.

Lemma half_Omega l s : record s -> s <= Omega -> Forall record l -> half_from s l <= Omega.
Proof.
revert s; induction l as [|x l IH]; intros s Hs Ho F; simpl; auto.
destruct (Forall_inv F) as [_ Px]. destruct Hs as [_ Ps].
apply IH; [apply held_record; lra|apply held_Omega; lra|now apply Forall_inv_tail in F].
Qed.

Lemma telescope l s s' :
  record s -> record s' -> s <= s' <= Omega -> Forall record l
  -> half_from s l <= half_from s' l /\ half_from s' l - half_from s l <= (s' - s) + ulp (half_from s l) - ulp s.
Proof.
revert s s'; induction l as [|x l IH]; intros s s' Hs Hs' H F; simpl; [lra|].
destruct (Forall_inv F) as [_ Px]. destruct (Hs) as [_ Ps]. destruct (Hs') as [_ Ps'].
assert (M : held (s + x) <= held (s' + x)) by (apply held_mono; lra).
destruct (IH (held (s + x)) (held (s' + x))) as [I1 I2]; try (apply held_record; lra).
- split; auto. apply held_Omega; lra.
- now apply Forall_inv_tail in F.
- split; auto. generalize (held_gap s s' x Hs Hs' H Px). lra.
Qed.

(** A record more; a record changed. *)
Theorem half_insert l z l' :
  Forall record l -> record z -> Forall record l'
  -> 0 <= half (l ++ z :: l') - half (l ++ l') <= z + ulp (half (l ++ l')).
Proof.
intros F [Fz Pz] F'. unfold half. rewrite !half_from_app. simpl.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
set (s := half_from 0 l). assert (Rs : record s) by now apply half_record.
assert (So : s <= Omega) by now apply half_Omega. destruct (Rs) as [_ Ps].
assert (S1 : s <= held (s + z)). { rewrite <- (held_id s) at 1 by auto. apply held_mono; lra. }
destruct (telescope l' s (held (s + z))) as [T1 T2]; auto; [apply held_record; lra|split; auto; apply held_Omega; lra|].
generalize (held_le (s + z)) (ulp_pos s). lra.
Qed.

Theorem half_change l x x' l' :
  Forall record l -> record x -> record x' -> x <= x' -> Forall record l'
  -> 0 <= half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x + ulp (half (l ++ x :: l')).
Proof.
intros F [Fx Px] [Fx' Px'] H F'. unfold half. rewrite !half_from_app. simpl.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
set (s := half_from 0 l). assert (Rs : record s) by now apply half_record. destruct (Rs) as [_ Ps].
assert (S1 : held (s + x) <= held (s + x')) by (apply held_mono; lra).
destruct (telescope l' (held (s + x)) (held (s + x'))) as [T1 T2]; auto; try (apply held_record; lra);
  [split; auto; apply held_Omega; lra|].
assert (G : held (s + x') - held (s + x) <= x' - x + ulp (held (s + x))).
{ generalize (held_le (s + x')) (held_Omega (s + x')) (ulp_pos (held (s + x))). rewrite (held_down (s + x)) by lra.
  destruct (Rle_dec (down (s + x)) Omega) as [h|h].
  - rewrite Rmin_right by auto. generalize (below_next (s + x)). lra.
  - rewrite Rmin_left by lra. lra. }
lra.
Qed.

(** The power of two at or below b, and 0 for 0. *)
Definition pw b := if Req_bool b 0 then 0 else bpow radix2 (mag radix2 b - 1).

Lemma pw_le b : 0 <= b -> pw b <= b.
Proof.
intros H. unfold pw. case Req_bool_spec; intros E; [lra|].
apply Rle_trans with (1 := bpow_mag_le radix2 b E). rewrite Rabs_pos_eq; lra.
Qed.

Lemma pw_pos b : 0 <= pw b.
Proof. unfold pw. case Req_bool_spec; intros; [lra|apply bpow_ge_0]. Qed.

Definition ceiling b := bpow radix2 (p + mag radix2 b - 1).

Lemma emin_mag b : format b -> 0 < b -> (emin <= mag radix2 b - 1)%Z.
Proof.
intros F H. assert (G : bpow radix2 emin <= b).
{ apply (generic_format_ge_bpow radix2 fexp); auto. intros; unfold FLT_exp; lia. }
assert (emin < mag radix2 b)%Z; [|lia]. apply lt_bpow with radix2. apply Rle_lt_trans with (1 := G).
rewrite <- (Rabs_pos_eq b) at 1 by lra. apply bpow_mag_gt.
Qed.

Lemma ulp_below b y e :
  format b -> 0 < b -> 0 <= y -> y < bpow radix2 (p + e) -> (emin <= e)%Z -> ulp y <= bpow radix2 e.
Proof.
intros F Hb Hy H He. rewrite ulp_bpow. apply bpow_le. unfold ulp_e. case Req_bool_spec; intros E; auto.
unfold cexp, FLT_exp. assert (mag radix2 y <= p + e)%Z; [|lia]. apply mag_le_bpow; auto. rewrite Rabs_pos_eq; lra.
Qed.

Section Bounded.
Variable b : R.
Hypothesis b_format : format b.
Hypothesis b_pos : 0 < b.

Definition small x := record x /\ x <= b.

Lemma small_record l : Forall small l -> Forall record l.
Proof. apply Forall_impl. now intros x []. Qed.

Lemma ceiling_format : format (ceiling b).
Proof. apply generic_format_FLT_bpow; auto. generalize (emin_mag b b_format b_pos). unfold Prec_gt_0 in p_pos; lia. Qed.

Lemma ceiling_next : b < ulp (ceiling b).
Proof.
unfold ceiling. rewrite ulp_bpow. unfold ulp_e. rewrite Req_bool_false by (apply Rgt_not_eq, bpow_gt_0).
unfold cexp. rewrite mag_bpow. apply Rlt_le_trans with (bpow radix2 (mag radix2 b)).
- rewrite <- (Rabs_pos_eq b) at 1 by lra. apply bpow_mag_gt.
- apply bpow_le. unfold FLT_exp; lia.
Qed.

Lemma step_ceiling s x : record s -> s <= ceiling b -> small x -> held (s + x) <= ceiling b.
Proof.
intros [Fs Ps] Hs [[Fx Px] Bx]. apply Rnot_lt_le; intros C.
assert (G : succ radix2 fexp (ceiling b) <= held (s + x)).
{ apply succ_le_lt; auto using ceiling_format with typeclass_instances. apply held_record; lra. }
rewrite succ_eq_pos in G by apply bpow_ge_0. generalize (held_le (s + x)) ceiling_next. lra.
Qed.

Lemma half_ceiling l s : record s -> s <= ceiling b -> Forall small l -> half_from s l <= ceiling b.
Proof.
revert s; induction l as [|x l IH]; intros s Hs Hc F; simpl; auto.
generalize (Forall_inv F); intros Sx. destruct (Sx) as [[_ Px] _]. destruct (Hs) as [_ Ps].
apply IH; [apply held_record; lra|now apply step_ceiling|now apply Forall_inv_tail in F].
Qed.

Lemma half_exceeds l s : record s -> Forall record l -> half_from s l <= s + sum l.
Proof.
revert s; induction l as [|x l IH]; intros s Hs F; simpl; [lra|].
destruct (Forall_inv F) as [_ Px]. destruct (Hs) as [_ Ps].
apply Rle_trans with (1 := IH (held (s + x)) ltac:(apply held_record; lra) ltac:(now apply Forall_inv_tail in F)).
generalize (held_le (s + x)). fold (sum l). lra.
Qed.

Lemma half_ulp l : Forall small l -> half l = ceiling b \/ ulp (half l) <= pw b.
Proof.
intros F. assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
destruct (half_ceiling l 0 R0 ltac:(apply bpow_ge_0) F) as [H|H]; [right|now left].
unfold pw. rewrite Req_bool_false by lra. apply ulp_below with b; auto using emin_mag.
- apply half_record; auto using small_record.
- unfold ceiling in H. now replace (p + (mag radix2 b - 1))%Z with (p + mag radix2 b - 1)%Z by ring.
Qed.

(** One half: statements for private n. *)
Theorem one_half_insert l z l' :
  Forall small l -> small z -> Forall small l' -> 0 <= half (l ++ z :: l') - half (l ++ l') <= b + pw b.
Proof.
intros F Fz F'. destruct (half_insert l z l') as [H1 H2]; auto using small_record. apply Fz. split; auto.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (A : Forall small (l ++ l')) by (apply Forall_app; auto).
assert (A' : Forall small (l ++ z :: l')) by (apply Forall_app; auto).
generalize (half_ceiling (l ++ z :: l') 0 R0 ltac:(apply bpow_ge_0) A') (pw_pos b). fold (half (l ++ z :: l')). intros.
destruct Fz as [_ Bz]. destruct (half_ulp (l ++ l') A); lra.
Qed.

Theorem one_half_change l x x' l' :
  Forall small l -> small x -> small x' -> x <= x' -> Forall small l'
  -> 0 <= half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x + pw b.
Proof.
intros F Fx Fx' H F'. destruct (half_change l x x' l') as [H1 H2]; auto using small_record; try apply Fx; try apply Fx'.
split; auto.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (A : Forall small (l ++ x :: l')) by (apply Forall_app; auto).
assert (A' : Forall small (l ++ x' :: l')) by (apply Forall_app; auto).
generalize (half_ceiling (l ++ x' :: l') 0 R0 ltac:(apply bpow_ge_0) A') (pw_pos b). fold (half (l ++ x' :: l')).
intros.
destruct (half_ulp (l ++ x :: l') A); lra.
Qed.
End Bounded.

(** Public n: p_n. Either the ulp stays the smallest and nothing is lost, or it is at most p(n b) / 2^k. *)
Lemma ulp_emin s : bpow radix2 emin <= ulp s.
Proof.
rewrite ulp_bpow. apply bpow_le. unfold ulp_e. case Req_bool_spec; intros; [lia|]. unfold cexp, FLT_exp; lia.
Qed.

Lemma half_insert_small l z l' :
  Forall record l -> record z -> Forall record l' -> half (l ++ l') < bpow radix2 (emin + p)
  -> half (l ++ z :: l') - half (l ++ l') <= z.
Proof.
intros F [Fz Pz] F' H. unfold half in *. rewrite !half_from_app in *. simpl in *.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
set (s := half_from 0 l) in *. assert (Rs : record s) by now apply half_record.
assert (So : s <= Omega) by now apply half_Omega. destruct (Rs) as [_ Ps].
assert (S1 : s <= held (s + z)). { rewrite <- (held_id s) at 1 by auto. apply held_mono; lra. }
destruct (telescope l' s (held (s + z))) as [T1 T2]; auto; [apply held_record; lra|split; auto; apply held_Omega; lra|].
destruct (half_record l' s Rs F') as [_ P].
rewrite (ulp_FLT_small radix2 emin p (half_from s l')) in T2 by (rewrite Rabs_pos_eq; auto).
generalize (held_le (s + z)) (ulp_emin s). lra.
Qed.

Lemma half_change_small l x x' l' :
  Forall record l -> record x -> record x' -> x <= x' -> Forall record l'
  -> half (l ++ x :: l') < bpow radix2 (emin + p)
  -> half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x.
Proof.
intros F [Fx Px] [Fx' Px'] H F' B. unfold half in *. rewrite !half_from_app in *. simpl in *.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
set (s := half_from 0 l) in *. assert (Rs : record s) by now apply half_record. destruct (Rs) as [Fs Ps].
assert (S1 : held (s + x) <= held (s + x')) by (apply held_mono; lra).
assert (R1 : record (held (s + x))) by (apply held_record; lra).
destruct (telescope l' (held (s + x)) (held (s + x'))) as [T1 T2]; auto;
[apply held_record; lra|split; auto; apply held_Omega; lra|].
destruct (half_record l' _ R1 F') as [_ P].
rewrite (ulp_FLT_small radix2 emin p (half_from _ l')) in T2 by (rewrite Rabs_pos_eq; auto).
assert (U0 : held (s + x) <= half_from (held (s + x)) l').
{ assert (Up : forall m t, record t -> t <= Omega -> Forall record m -> t <= half_from t m).
  { induction m as [|w m IH]; intros t Rt Ht Fm; simpl; [lra|]. destruct (Forall_inv Fm) as [_ Pw].
    destruct (Rt) as [_ Pt].
    apply Rle_trans with (held (t + w)).
    - rewrite <- (held_id t) at 1 by auto. apply held_mono; lra.
    - apply IH; [apply held_record; lra|apply held_Omega; lra|now apply Forall_inv_tail in Fm]. }
  apply Up; auto. apply held_Omega; lra. }
assert (G : held (s + x') - held (s + x) <= x' - x).
{ generalize (held_le (s + x')) (held_Omega (s + x')). rewrite (held_down (s + x)) in * by lra.
  destruct (Rle_dec (down (s + x)) Omega) as [h|h].
  - rewrite Rmin_right in * by auto. intros.
    assert (E : down (s + x) = s + x); [|lra]. apply round_generic; auto with typeclass_instances.
    apply FLT_format_plus_small; auto. rewrite Rabs_pos_eq by lra. rewrite Zplus_comm.
    apply Rnot_lt_le; intros C. assert (bpow radix2 (emin + p) <= down (s + x)); [|lra].
    apply round_ge_generic; auto with typeclass_instances; [|lra].
    apply generic_format_FLT_bpow; auto. unfold Prec_gt_0 in p_pos; lia.
  - rewrite Rmin_left in * by lra. lra. }
generalize (ulp_emin (held (s + x))). lra.
Qed.

Definition pwn n b := Rmin (pw b) (pw (INR n * b) * bpow radix2 (1 - p)).

Section PublicN.
Variable b : R.
Hypothesis b_format : format b.
Hypothesis b_pos : 0 < b.
Variable n : nat.

Lemma half_n l : Forall (small b) l -> (length l <= n)%nat -> half l <= INR n * b.
Proof.
intros F Hn. assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
apply Rle_trans with (1 := half_exceeds l 0 R0 ltac:(now apply small_record with b)). rewrite Rplus_0_l.
apply Rle_trans with (INR (length l) * b); [|apply Rmult_le_compat_r; [lra|now apply le_INR]].
clear Hn. induction l as [|x l IH]; [simpl; lra|]. cbn [sum fold_right length]. fold (sum l). rewrite S_INR.
generalize (IH (Forall_inv_tail F)). destruct (Forall_inv F) as [_ Hx]. lra.
Qed.

Lemma ulp_n l :
  Forall (small b) l -> (length l <= n)%nat -> ~ INR n * b < bpow radix2 (emin + p)
  -> ulp (half l) <= pw (INR n * b) * bpow radix2 (1 - p).
Proof.
intros F Hn H. apply Rnot_lt_le in H. generalize (bpow_gt_0 radix2 (emin + p)); intros B.
unfold pw. rewrite Req_bool_false by lra. rewrite <- bpow_plus.
assert (T : half l < bpow radix2 (mag radix2 (INR n * b))).
{ apply Rle_lt_trans with (1 := half_n l F Hn). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra. apply bpow_mag_gt. }
assert (E : (emin + p < mag radix2 (INR n * b))%Z).
{ apply lt_bpow with radix2. apply Rle_lt_trans with (1 := H). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra.
  apply bpow_mag_gt. }
apply ulp_below with b; auto; try lia.
- apply half_record; [split; [apply generic_format_0|lra]|now apply small_record with b].
- now replace (p + (mag radix2 (INR n * b) - 1 + (1 - p)))%Z with (mag radix2 (INR n * b) : Z) by ring.
Qed.

Lemma pwn_pos : 0 <= pwn n b.
Proof. apply Rmin_glb; [apply pw_pos|apply Rmult_le_pos; [apply pw_pos|apply bpow_ge_0]]. Qed.

Theorem one_half_insert_n l z l' :
  Forall (small b) l -> small b z -> Forall (small b) l' -> (length (l ++ z :: l') <= n)%nat
  -> 0 <= half (l ++ z :: l') - half (l ++ l') <= b + pwn n b.
Proof.
intros F Fz F' Hn. assert (A : Forall (small b) (l ++ l')) by (apply Forall_app; auto).
assert (Hn' : (length (l ++ l') <= n)%nat) by (rewrite app_length in *; simpl in Hn; lia).
generalize (one_half_insert b b_format b_pos l z l' F Fz F') pwn_pos; intros G P. split; [lra|].
destruct Fz as [Rz Bz]. assert (C : half (l ++ z :: l') - half (l ++ l') <= b + pw (INR n * b) * bpow radix2 (1 - p)
  \/ half (l ++ z :: l') - half (l ++ l') <= b).
{ destruct (Rlt_dec (INR n * b) (bpow radix2 (emin + p))) as [h|h].
  - right. apply Rle_trans with z; auto. apply half_insert_small; auto; try now apply small_record with b.
    apply Rle_lt_trans with (2 := h). now apply half_n.
  - left. generalize (half_insert l z l' (small_record b l F) Rz (small_record b l' F')) (ulp_n _ A Hn' h). lra. }
unfold pwn in *. unfold Rmin in *; destruct Rle_dec; lra.
Qed.

Theorem one_half_change_n l x x' l' :
  Forall (small b) l -> small b x -> small b x' -> x <= x' -> Forall (small b) l' -> (length (l ++ x :: l') <= n)%nat
  -> 0 <= half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x + pwn n b.
Proof.
intros F Fx Fx' H F' Hn. assert (A : Forall (small b) (l ++ x :: l')) by (apply Forall_app; auto).
generalize (one_half_change b b_format b_pos l x x' l' F Fx Fx' H F') pwn_pos; intros G P. split; [lra|].
destruct Fx as [Rx Bx], Fx' as [Rx' Bx'].
assert (C : half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x + pw (INR n * b) * bpow radix2 (1 - p)
    \/ half (l ++ x' :: l') - half (l ++ x :: l') <= x' - x).
{ destruct (Rlt_dec (INR n * b) (bpow radix2 (emin + p))) as [h|h].
  - right. apply half_change_small; auto; try now apply small_record with b.
    apply Rle_lt_trans with (2 := h). now apply half_n.
  - left. generalize (half_change l x x' l' (small_record b l F) Rx Rx' H (small_record b l' F')) (ulp_n _ A Hn h).
    lra. }
unfold pwn in *. unfold Rmin in *; destruct Rle_dec; lra.
Qed.
End PublicN.

(** One sign, 0 <= L: the table's first column (private n exactly; public n with p for p_n). *)
Theorem one_sign_insert_delete U d d' :
  format U -> 0 < U -> Forall (small U) d -> Forall (small U) d' -> insert_delete d d'
  -> Rabs (half d - half d') <= U + pw U.
Proof.
intros FU PU F F' H.
assert (K : forall a z c, Forall (small U) (a ++ z :: c) -> Rabs (half (a ++ z :: c) - half (a ++ c)) <= U + pw U).
{ intros a z c G. apply Forall_app in G as [Ga Gc].
  generalize (one_half_insert U FU PU a z c Ga (Forall_inv Gc) (Forall_inv_tail Gc)).
  intros. rewrite Rabs_pos_eq; lra. }
destruct H as [u|a z c|a z c].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. generalize (pw_pos U); lra.
- rewrite Rabs_minus_sym. now apply K.
- now apply K.
Qed.

Theorem one_sign_hamming L U d d' :
  format U -> 0 < U -> 0 <= L <= U -> Forall (small U) d -> Forall (small U) d' -> Forall (within L U) d
  -> Forall (within L U) d' -> hamming d d'
  -> Rabs (half d - half d') <= U - L + pw U.
Proof.
intros FU PU LU F F' W W' H. destruct H as [u|a x y c].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. generalize (pw_pos U); lra.
- apply Forall_app in F as [Fa Fc]. apply Forall_app in F' as [_ Fc'].
  apply Forall_app in W as [_ W]. apply Forall_app in W' as [_ W'].
  generalize (Forall_inv W) (Forall_inv W'). unfold within; intros Wx Wy.
  destruct (Rle_lt_dec x y) as [h|h].
  + generalize (one_half_change U FU PU a x y c Fa (Forall_inv Fc) (Forall_inv Fc') h (Forall_inv_tail Fc)).
    intros. rewrite Rabs_minus_sym, Rabs_pos_eq; lra.
  + generalize (one_half_change U FU PU a y x c Fa (Forall_inv Fc') (Forall_inv Fc) ltac:(lra) (Forall_inv_tail Fc)).
    intros. rewrite Rabs_pos_eq; lra.
Qed.

(** Two signs: each half apart, then one addition rounded to nearest. *)
Lemma half_opp l : half (map Ropp l) = - half l.
Proof.
unfold half, half_from. rewrite <- Ropp_0 at 1. generalize 0. induction l as [|x l IH]; intros s; simpl; auto.
rewrite <- Ropp_plus_distr, held_opp. apply IH.
Qed.

Definition ups (l : list R) := filter (fun x => Rle_bool 0 x) l.
Definition downs (l : list R) := filter (fun x => Rlt_bool x 0) l.
Definition total l := fl (half (ups l) + half (downs l)).

Lemma ceiling_half b l : format b -> 0 < b -> Forall (small b) l -> 0 <= half l <= ceiling b.
Proof.
intros Fb Pb F. assert (R0 : record 0) by (split; [apply generic_format_0|lra]). split.
- apply (half_record l 0 R0). now apply small_record with b.
- apply half_ceiling; auto. apply bpow_ge_0.
Qed.

Lemma last_up b y : format b -> 0 < b -> 0 <= y <= ceiling b -> Rabs (fl y - y) <= pw b / 2.
Proof.
intros Fb Pb [H1 [H2|H2]].
- apply Rle_trans with (/ 2 * ulp y); [apply error_le_half_ulp; auto with typeclass_instances|].
  assert (ulp y <= pw b); [|lra]. unfold pw. rewrite Req_bool_false by lra. apply ulp_below with b; auto using emin_mag.
  unfold ceiling in H2. now replace (p + (mag radix2 b - 1))%Z with (p + mag radix2 b - 1)%Z by ring.
- subst. rewrite round_generic, Rminus_diag_eq, Rabs_R0; auto with typeclass_instances; [|now apply ceiling_format].
  generalize (pw_pos b); lra.
Qed.

Section TwoSigns.
Variables L U : R.
Hypothesis FL : format L.
Hypothesis FU : format U.
Hypothesis L_neg : L < 0.
Hypothesis U_pos : 0 < U.

Definition fit x := format x /\ L <= x <= U.
Notation pU := (pw U).
Notation pL := (pw (- L)).

Lemma ups_small l : Forall fit l -> Forall (small U) (ups l).
Proof.
intros F. apply Forall_forall. intros x H. apply filter_In in H as [H S]. rewrite Forall_forall in F.
destruct (F x H) as [Fx Bx].
revert S; case Rle_bool_spec; intros; [|discriminate]. split; [split|]; auto; lra.
Qed.

Lemma downs_small l : Forall fit l -> Forall (small (- L)) (map Ropp (downs l)).
Proof.
intros F. apply Forall_forall. intros x H. apply in_map_iff in H as (z & <- & H). apply filter_In in H as [H S].
rewrite Forall_forall in F. destruct (F z H) as [Fx Bx].
revert S; case Rlt_bool_spec; intros; [|discriminate]. split; [split|]; auto using generic_format_opp; lra.
Qed.

Lemma last_addition l : Forall fit l -> Rabs (total l - (half (ups l) + half (downs l))) <= Rmax pU pL / 2.
Proof.
intros F. generalize (ceiling_half U (ups l) FU U_pos (ups_small l F)).
generalize (ceiling_half (- L) _ (generic_format_opp _ _ _ FL) ltac:(lra) (downs_small l F)). rewrite half_opp.
intros HN HP.
unfold total. set (y := half (ups l) + half (downs l)).
generalize (Rmax_l pU pL) (Rmax_r pU pL); intros.
destruct (Rle_lt_dec 0 y) as [h|h].
- apply Rle_trans with (pU / 2); [apply last_up; auto; unfold y in *; lra|lra].
- replace y with (- (- y)) by ring. rewrite round_NE_opp.
  replace (- fl (- y) - - - y) with (- (fl (- y) - - y)) by ring. rewrite Rabs_Ropp.
  apply Rle_trans with (pL / 2); [|lra]. apply last_up; auto using generic_format_opp; unfold y in *; lra.
Qed.

(** How far P + N moves. *)
Lemma up_cons z l : ups (z :: l) = if Rle_bool 0 z then z :: ups l else ups l. Proof. reflexivity. Qed.

Lemma down_cons z l : downs (z :: l) = if Rlt_bool z 0 then z :: downs l else downs l. Proof. reflexivity. Qed.

Lemma ups_insert a z b :
  Forall fit (a ++ z :: b) -> 0 <= z -> 0 <= half (ups (a ++ z :: b)) - half (ups (a ++ b)) <= U + pU.
Proof.
intros F Hz. apply ups_small in F. unfold ups in *. rewrite !filter_app in *. fold (ups (z :: b)) in *.
fold (ups a) (ups b) in *.
rewrite up_cons, Rle_bool_true in * by auto. apply Forall_app in F as [Fa F].
apply one_half_insert; auto; [now apply Forall_inv in F|now apply Forall_inv_tail in F].
Qed.

Lemma downs_insert a z b :
  Forall fit (a ++ z :: b) -> z < 0 -> 0 <= half (downs (a ++ b)) - half (downs (a ++ z :: b)) <= - L + pL.
Proof.
intros F Hz. apply downs_small in F. unfold downs in *. rewrite !filter_app in *. fold (downs (z :: b)) in *.
fold (downs a) (downs b) in *.
rewrite down_cons, Rlt_bool_true in * by auto. rewrite !map_app in F. apply Forall_app in F as [Fa F]. simpl in F.
generalize (one_half_insert (- L) (generic_format_opp _ _ _ FL) ltac:(lra) (map Ropp (downs a)) (- z)
    (map Ropp (downs b)) Fa (Forall_inv F) (Forall_inv_tail F)).
replace (map Ropp (downs a) ++ - z :: map Ropp (downs b)) with (map Ropp (downs a ++ z :: downs b))
  by now rewrite map_app.
rewrite <- map_app, !half_opp. lra.
Qed.

Lemma ups_skip a z b : z < 0 -> ups (a ++ z :: b) = ups (a ++ b).
Proof. intros H. unfold ups. rewrite !filter_app. simpl. now rewrite Rle_bool_false. Qed.

Lemma downs_skip a z b : 0 <= z -> downs (a ++ z :: b) = downs (a ++ b).
Proof. intros H. unfold downs. rewrite !filter_app. simpl. now rewrite Rlt_bool_false. Qed.

Definition parts l := half (ups l) + half (downs l).

Lemma parts_insert a z b :
  Forall fit (a ++ z :: b)
  -> (0 <= z -> 0 <= parts (a ++ z :: b) - parts (a ++ b) <= U + pU)
     /\ (z < 0 -> - (- L + pL) <= parts (a ++ z :: b) - parts (a ++ b) <= 0).
Proof.
intros F. unfold parts. split; intros H.
- rewrite (downs_skip a z b H). generalize (ups_insert a z b F H). lra.
- rewrite (ups_skip a z b H). generalize (downs_insert a z b F H). lra.
Qed.

Lemma joined d d' x :
  Forall fit d -> Forall fit d' -> Rabs (parts d - parts d') <= x -> Rabs (total d - total d') <= x + Rmax pU pL.
Proof.
intros F F' H. generalize (last_addition d F) (last_addition d' F'). fold (parts d) (parts d'). revert H.
unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Theorem two_signs_insert_delete d d' :
  Forall fit d -> Forall fit d' -> insert_delete d d'
  -> Rabs (total d - total d') <= Rmax (U + pU) (- L + pL) + Rmax pU pL.
Proof.
intros F F' H. apply joined; auto.
generalize (Rmax_l (U + pU) (- L + pL)) (Rmax_r (U + pU) (- L + pL)) (pw_pos U); intros A1 A2 A3.
destruct H as [d|a z b|a z b].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- destruct (parts_insert a z b F') as [I1 I2].
  destruct (Rle_lt_dec 0 z) as [h|h]; [specialize (I1 h)|specialize (I2 h)]; apply Rabs_le; lra.
- destruct (parts_insert a z b F) as [I1 I2].
  destruct (Rle_lt_dec 0 z) as [h|h]; [specialize (I1 h)|specialize (I2 h)]; apply Rabs_le; lra.
Qed.

(** Through the dataset without the record; two records in one half move it in opposite directions. *)
Theorem two_signs_hamming d d' :
  Forall fit d -> Forall fit d' -> hamming d d' -> Rabs (total d - total d') <= U + pU + (- L + pL) + Rmax pU pL.
Proof.
intros F F' H. apply joined; auto. generalize (pw_pos U) (pw_pos (- L)); intros A1 A2. destruct H as [d|a x y b].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- destruct (parts_insert a x b F) as [I1 I2], (parts_insert a y b F') as [J1 J2].
  destruct (Rle_lt_dec 0 x) as [h|h]; [specialize (I1 h)|specialize (I2 h)];
  (destruct (Rle_lt_dec 0 y) as [g|g]; [specialize (J1 g)|specialize (J2 g)]; apply Rabs_le; lra).
Qed.

Corollary at_most_3_M d d' :
  Forall fit d -> Forall fit d' -> insert_delete d d' -> Rabs (total d - total d') <= 3 * magnitude L U.
Proof.
intros F F' H. apply Rle_trans with (1 := two_signs_insert_delete d d' F F' H).
generalize (pw_le U) (pw_le (- L)) (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)). fold (magnitude L U).
rewrite (Rabs_pos_eq U), (Rabs_left L) by lra. intros.
assert (Rmax (U + pU) (- L + pL) <= 2 * magnitude L U) by (apply Rmax_lub; lra).
assert (Rmax pU pL <= magnitude L U) by (apply Rmax_lub; lra). lra.
Qed.

(** Public n: p_n in place of p. *)
Section PublicSize.
Variable n : nat.
Notation nU := (pwn n U).
Notation nL := (pwn n (- L)).

Lemma halves_are_shorter l : (length (ups l) <= length l)%nat /\ (length (downs l) <= length l)%nat.
Proof.
unfold ups, downs. induction l as [|x l [IH IH']]; [simpl; lia|]. simpl.
destruct (Rle_bool 0 x), (Rlt_bool x 0); simpl; lia.
Qed.

Lemma last_up_n b P N :
  format b -> 0 < b -> format P -> format N -> 0 <= P + N -> P + N <= ceiling b -> P + N <= INR n * b
  -> Rabs (fl (P + N) - (P + N)) <= pwn n b / 2.
Proof.
intros Fb Pb FP FN H1 H2 H3. generalize (last_up b (P + N) Fb Pb (conj H1 H2)) (pwn_pos b n); intros A B.
destruct (Rlt_dec (INR n * b) (bpow radix2 (emin + p))) as [h|h].
- rewrite (round_generic _ _ _ (P + N)), Rminus_diag_eq, Rabs_R0; auto with typeclass_instances; [lra|].
  apply FLT_format_plus_small; auto. rewrite Rabs_pos_eq by lra. rewrite Zplus_comm. lra.
- apply Rnot_lt_le in h. generalize (bpow_gt_0 radix2 (emin + p)); intros B0.
  assert (C : Rabs (fl (P + N) - (P + N)) <= pw (INR n * b) * bpow radix2 (1 - p) / 2).
  { apply Rle_trans with (/ 2 * ulp (P + N)); [apply error_le_half_ulp; auto with typeclass_instances|].
    assert (ulp (P + N) <= pw (INR n * b) * bpow radix2 (1 - p)); [|lra].
    unfold pw. rewrite Req_bool_false by lra. rewrite <- bpow_plus.
    assert (E : (emin + p < mag radix2 (INR n * b))%Z).
    { apply lt_bpow with radix2. apply Rle_lt_trans with (1 := h). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra.
      apply bpow_mag_gt. }
    apply ulp_below with b; auto; try lia.
    replace (p + (mag radix2 (INR n * b) - 1 + (1 - p)))%Z with (mag radix2 (INR n * b) : Z) by ring.
    apply Rle_lt_trans with (1 := H3). rewrite <- (Rabs_pos_eq (INR n * b)) at 1 by lra. apply bpow_mag_gt. }
  unfold pwn, Rmin. destruct Rle_dec; lra.
Qed.

Lemma last_addition_n l : Forall fit l -> (length l <= n)%nat -> Rabs (total l - parts l) <= Rmax nU nL / 2.
Proof.
intros F Hn. assert (FL' : format (- L)) by now apply generic_format_opp. destruct (halves_are_shorter l) as [S1 S2].
assert (SU := ups_small l F). assert (SD := downs_small l F).
generalize (ceiling_half U (ups l) FU U_pos SU) (half_n U U_pos n (ups l) SU ltac:(lia)).
generalize (ceiling_half (- L) _ FL' ltac:(lra) SD) (half_n (- L) ltac:(lra) n _ SD ltac:(rewrite map_length; lia)).
rewrite half_opp. intros HN HN' HP HP'.
assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (FP : format (half (ups l))) by (apply half_record; auto; now apply small_record with U).
assert (FN : format (- half (downs l)))
  by (rewrite <- half_opp; apply half_record; auto; now apply small_record with (- L)).
assert (FN' : format (half (downs l))) by (rewrite <- (Ropp_involutive (half (downs l))); now apply generic_format_opp).
unfold total, parts. generalize (Rmax_l nU nL) (Rmax_r nU nL); intros.
destruct (Rle_lt_dec 0 (half (ups l) + half (downs l))) as [h|h].
- apply Rle_trans with (nU / 2); [apply last_up_n; auto; lra|lra].
- set (y := half (ups l) + half (downs l)) in *.
  replace y with (- (- half (ups l) + - half (downs l))) by (unfold y; ring).
  rewrite round_NE_opp.
  match goal with |- Rabs (- ?a - - ?b) <= _ => replace (- a - - b) with (- (a - b)) by ring end. rewrite Rabs_Ropp.
  apply Rle_trans with (nL / 2); [|lra]. apply last_up_n; auto using generic_format_opp; try lra; unfold y in h; lra.
Qed.

Lemma parts_insert_n a z b :
  Forall fit (a ++ z :: b) -> (length (a ++ z :: b) <= n)%nat
  -> (0 <= z -> 0 <= parts (a ++ z :: b) - parts (a ++ b) <= U + nU)
     /\ (z < 0 -> - (- L + nL) <= parts (a ++ z :: b) - parts (a ++ b) <= 0).
Proof.
intros F Hn. destruct (halves_are_shorter (a ++ z :: b)) as [S1 S2]. unfold parts. split; intros H.
- rewrite (downs_skip a z b H). apply ups_small in F. revert S1. unfold ups in *. rewrite !filter_app in *.
  fold (ups (z :: b)) in *. fold (ups a) (ups b) in *.
  rewrite up_cons, Rle_bool_true in * by auto. intros S1. apply Forall_app in F as [Fa F].
  generalize (one_half_insert_n U FU U_pos n (ups a) z (ups b) Fa (Forall_inv F) (Forall_inv_tail F) ltac:(lia)). lra.
- rewrite (ups_skip a z b H). apply downs_small in F. revert S2. unfold downs in *. rewrite !filter_app in *.
  fold (downs (z :: b)) in *. fold (downs a) (downs b) in *.
  rewrite down_cons, Rlt_bool_true in * by auto. intros S2. rewrite !map_app in F. apply Forall_app in F as [Fa F].
  simpl in F.
  assert (len : (length (map Ropp (downs a) ++ - z :: map Ropp (downs b)) <= n)%nat).
  { replace (length (map Ropp (downs a) ++ - z :: map Ropp (downs b))) with (length (downs a ++ z :: downs b)); [lia|].
    rewrite !app_length. cbn [length]. now rewrite !map_length. }
  generalize (one_half_insert_n (- L) (generic_format_opp _ _ _ FL) ltac:(lra) n (map Ropp (downs a)) (- z)
      (map Ropp (downs b)) Fa (Forall_inv F) (Forall_inv_tail F) len).
  replace (map Ropp (downs a) ++ - z :: map Ropp (downs b)) with (map Ropp (downs a ++ z :: downs b))
    by now rewrite map_app.
  rewrite <- map_app, !half_opp. lra.
Qed.

Theorem two_signs_hamming_n d d' :
  Forall fit d -> Forall fit d' -> length d = n -> hamming d d'
  -> Rabs (total d - total d') <= U + nU + (- L + nL) + Rmax nU nL.
Proof.
intros F F' Hn H. assert (Hn' : length d' = n) by (destruct H; auto; rewrite app_length in *; simpl in *; lia).
generalize (last_addition_n d F ltac:(lia)) (last_addition_n d' F' ltac:(lia)). intros E E'.
assert (G : Rabs (parts d - parts d') <= U + nU + (- L + nL)).
{ generalize (pwn_pos U n) (pwn_pos (- L) n); intros A1 A2. clear E E'. destruct H as [d|a x y b].
  - rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - destruct (parts_insert_n a x b F ltac:(lia)) as [I1 I2], (parts_insert_n a y b F' ltac:(lia)) as [J1 J2].
    destruct (Rle_lt_dec 0 x) as [h|h]; [specialize (I1 h)|specialize (I2 h)];
    (destruct (Rle_lt_dec 0 y) as [g|g]; [specialize (J1 g)|specialize (J2 g)]; apply Rabs_le; lra). }
revert E E' G. unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Corollary at_most_5_M d d' :
  Forall fit d -> Forall fit d' -> length d = n -> hamming d d' -> Rabs (total d - total d') <= 5 * magnitude L U.
Proof.
intros F F' Hn H. apply Rle_trans with (1 := two_signs_hamming_n d d' F F' Hn H).
assert (P : forall b, 0 < b -> pwn n b <= b) by (intros b Hb; apply Rle_trans with (1 := Rmin_l _ _), pw_le; lra).
generalize (P U U_pos) (P (- L) ltac:(lra)) (Rmax_l (Rabs L) (Rabs U)) (Rmax_r (Rabs L) (Rabs U)). fold (magnitude L U).
rewrite (Rabs_pos_eq U), (Rabs_left L) by lra. intros.
assert (Rmax nU nL <= magnitude L U) by (apply Rmax_lub; lra). lra.
Qed.
End PublicSize.
End TwoSigns.

(** One sign: the other half is empty, or zeros, and the last addition rounds nothing. *)
Section OneSign.

Lemma zeros_add_nothing l s :
  record s -> s <= Omega -> Forall record l -> half_from s (filter (fun x => Rlt_bool 0 x) l) = half_from s l.
Proof.
revert s; induction l as [|x l IH]; intros s Rs Hs F; [reflexivity|]. destruct (Forall_inv F) as [Fx Px].
destruct (Rs) as [_ Ps]. simpl.
case Rlt_bool_spec; intros h; simpl.
- apply IH; [apply held_record; lra|apply held_Omega; lra|now apply Forall_inv_tail in F].
- assert (x = 0) by lra. subst. rewrite Rplus_0_r, held_id by auto. apply IH; auto. now apply Forall_inv_tail in F.
Qed.

Lemma total_up l : Forall record l -> total l = half l.
Proof.
intros F. assert (E : ups l = l /\ downs l = []).
{ unfold ups, downs. induction l as [|x l IH]; [auto|]. destruct (IH (Forall_inv_tail F)) as [E1 E2].
  destruct (Forall_inv F) as [_ Px].
  simpl. rewrite Rle_bool_true, Rlt_bool_false, E1, E2 by lra. auto. }
unfold total. rewrite (proj1 E), (proj2 E). unfold half at 2. simpl. rewrite Rplus_0_r.
apply round_generic; auto with typeclass_instances.
apply (half_record l 0); auto. split; [apply generic_format_0|lra].
Qed.

Lemma total_down l : Forall record (map Ropp l) -> total l = - half (map Ropp l).
Proof.
intros F. assert (R0 : record 0) by (split; [apply generic_format_0|lra]).
assert (U0 : half (ups l) = 0).
{ unfold half. rewrite <- (zeros_add_nothing (ups l) 0 R0 Omega_pos).
  - replace (filter _ (ups l)) with (@nil R); [reflexivity|]. unfold ups. symmetry. clear - F.
    induction l as [|x l IH]; [reflexivity|]. destruct (Forall_inv F) as [_ Px]. simpl.
    case Rle_bool_spec; intros; simpl; [rewrite Rlt_bool_false by lra|]; apply IH; now apply Forall_inv_tail in F.
  - unfold ups. clear - F p_pos. induction l as [|x l IH]; [constructor|]. destruct (Forall_inv F) as [Fx Px]. simpl.
    case Rle_bool_spec; intros; [|apply IH; now apply Forall_inv_tail in F].
    constructor; [|apply IH; now apply Forall_inv_tail in F].
    split; [|lra]. rewrite <- (Ropp_involutive x). now apply generic_format_opp. }
assert (D0 : half (downs l) = - half (map Ropp l)).
{ rewrite <- (Ropp_involutive (half (downs l))), <- half_opp. f_equal. unfold half.
  rewrite <- (zeros_add_nothing (map Ropp l) 0 R0 Omega_pos F). f_equal.
  unfold downs. clear. induction l as [|x l IH]; [reflexivity|]. simpl.
  case Rlt_bool_spec; case Rlt_bool_spec; intros; simpl; try lra; now rewrite IH. }
unfold total. rewrite U0, D0, Rplus_0_l. apply round_generic; auto with typeclass_instances. apply generic_format_opp.
apply (half_record (map Ropp l) 0); auto.
Qed.

Variable n : nat.

Lemma one_half_hamming_n L U d d' :
  format U -> 0 < U -> 0 <= L <= U -> Forall (fun x => format x /\ L <= x <= U) d
  -> Forall (fun x => format x /\ L <= x <= U) d' -> length d = n -> hamming d d'
  -> Rabs (half d - half d') <= U - L + pwn n U.
Proof.
intros FU PU LU F F' Hn H. generalize (pwn_pos U n); intros P0.
assert (S : forall l, Forall (fun x => format x /\ L <= x <= U) l -> Forall (small U) l).
{ intros l. apply Forall_impl. intros x [Fx Bx]. repeat split; auto; lra. }
destruct H as [u|a x y c].
- rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
- assert (W := F). assert (W' := F'). apply S in F, F'. apply Forall_app in F as [Fa Fc].
  apply Forall_app in F' as [_ Fc'].
  apply Forall_app in W as [_ W]. apply Forall_app in W' as [_ W'].
  destruct (Forall_inv W) as [_ Wx], (Forall_inv W') as [_ Wy].
  assert (Hn' : (length (a ++ y :: c) <= n)%nat) by (rewrite app_length in *; simpl in *; lia).
  destruct (Rle_lt_dec x y) as [h|h].
  + generalize
      (one_half_change_n U FU PU n a x y c Fa (Forall_inv Fc) (Forall_inv Fc') h (Forall_inv_tail Fc) ltac:(lia)).
    intros. rewrite Rabs_minus_sym, Rabs_pos_eq; lra.
  + generalize
      (one_half_change_n U FU PU n a y x c Fa (Forall_inv Fc') (Forall_inv Fc) ltac:(lra) (Forall_inv_tail Fc) Hn').
    intros. rewrite Rabs_pos_eq; lra.
Qed.

Variables L U : R.
Hypothesis FL : format L.
Hypothesis FU : format U.
Hypothesis LU : L <= U.
Notation fit := (fun x => format x /\ L <= x <= U).

Lemma mirrored l : Forall fit l -> Forall (fun x => format x /\ - U <= x <= - L) (map Ropp l).
Proof.
intros F. apply Forall_forall. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx).
rewrite Forall_forall in F. destruct (F x Hx). split; [now apply generic_format_opp|lra].
Qed.

Theorem positive_insert_delete d d' :
  0 <= L -> 0 < U -> Forall fit d -> Forall fit d' -> insert_delete d d' -> Rabs (total d - total d') <= U + pw U.
Proof.
intros L0 U0 F F' H.
assert (S : forall l, Forall fit l -> Forall (small U) l)
  by (intros l; apply Forall_impl; intros x [Fx Bx]; repeat split; auto; lra).
rewrite !total_up by (apply small_record with U; auto). apply one_sign_insert_delete; auto.
Qed.

Theorem positive_hamming d d' :
  0 <= L -> 0 < U -> Forall fit d -> Forall fit d' -> length d = n -> hamming d d'
  -> Rabs (total d - total d') <= U - L + pwn n U.
Proof.
intros L0 U0 F F' Hn H.
assert (S : forall l, Forall fit l -> Forall (small U) l)
  by (intros l; apply Forall_impl; intros x [Fx Bx]; repeat split; auto; lra).
rewrite !total_up by (apply small_record with U; auto). apply one_half_hamming_n; auto.
Qed.

Theorem negative_insert_delete d d' :
  U <= 0 -> L < 0 -> Forall fit d -> Forall fit d' -> insert_delete d d' -> Rabs (total d - total d') <= - L + pw (- L).
Proof.
intros U0 L0 F F' H. apply mirrored in F, F'.
assert (S : forall l, Forall (fun x => format x /\ - U <= x <= - L) l -> Forall (small (- L)) l)
  by (intros l; apply Forall_impl; intros x [Fx Bx]; repeat split; auto; lra).
rewrite !total_down by (apply small_record with (- L); auto).
replace (- half (map Ropp d) - - half (map Ropp d')) with (- (half (map Ropp d) - half (map Ropp d'))) by ring.
rewrite Rabs_Ropp.
apply one_sign_insert_delete; auto using generic_format_opp, map_insert_delete. lra.
Qed.

Theorem negative_hamming d d' :
  U <= 0 -> L < 0 -> Forall fit d -> Forall fit d' -> length d = n -> hamming d d'
  -> Rabs (total d - total d') <= U - L + pwn n (- L).
Proof.
intros U0 L0 F F' Hn H. apply mirrored in F, F'.
assert (S : forall l, Forall (fun x => format x /\ - U <= x <= - L) l -> Forall (small (- L)) l)
  by (intros l; apply Forall_impl; intros x [Fx Bx]; repeat split; auto; lra).
rewrite !total_down by (apply small_record with (- L); auto).
replace (- half (map Ropp d) - - half (map Ropp d')) with (- (half (map Ropp d) - half (map Ropp d'))) by ring.
rewrite Rabs_Ropp.
replace (U - L) with (- L - - U) by ring. apply one_half_hamming_n; auto using generic_format_opp, map_hamming; try lra.
now rewrite map_length.
Qed.
End OneSign.

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
