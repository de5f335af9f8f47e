(** toward_zero (docs/theorems/toward_zero.md): split by sign, rounded toward zero, one last addition to nearest.

    Here is one half, of records at least 0: write p(b) for the power of two at or below b; a record more moves it by at
    most U + p(U), a changed one by at most U - L + p_n(U). Any precision p = k + 1, any smallest exponent, subnormals
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

(** Two signs: each half apart, then one addition rounded to nearest. *)
Lemma half_opp l : half (map Ropp l) = - half l.
Proof.
unfold half, half_from. rewrite <- Ropp_0 at 1. generalize 0. induction l as [|x l IH]; intros s; simpl; auto.
rewrite <- Ropp_plus_distr, held_opp. apply IH.
Qed.

Definition ups (l : list R) := filter (fun x => Rle_bool 0 x) l.
Definition downs (l : list R) := filter (fun x => Rlt_bool x 0) l.
Definition parts l := half (ups l) + half (downs l).
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

End TowardZero.
