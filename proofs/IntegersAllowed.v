(** Where the condition of a sum of integers holds, it keeps its promise: Conditions.v implies the hypotheses of
    IntegerPromises.v.

    No hypothesis is left but that the records are integers of the type, clamped to the bounds; and where no limit is
    known, that they are fewer than 2^64. That 128 bits hold a sum is proved of integers of at most 64 bits. *)

From Coq Require Import List Permutation ZArith QArith Qabs Qround Qreals Reals Lra Lia Psatz.
From Flocq Require Import Core.
From Soundsum Require Import Relations Permutations Sums Wide Checked Saturating Split Rationals IntegerPromises
  Conditions Types.
From Soundsum Require Bounds Modular.
Import ListNotations.
Open Scope R_scope.

Theorem wide_keeps_its_promise T limit L U :
  wide_allowed T limit L U = true
  -> let l := Z.max (Qceiling L) (least T) in
     let h := Z.min (Qfloor U) (greatest T) in
     (l <= h)%Z
     /\ forall X (c : X -> Z),
          (forall x, l <= c x <= h)%Z
          -> sensitivity symmetric (fun d => IZR (wide c d))
               (Q2R (Bounds.wide_sensitivity false (least T) (greatest T) L U))
             /\ sensitivity change_one (fun d => IZR (wide c d))
                  (Q2R (Bounds.wide_sensitivity true (least T) (greatest T) L U))
             /\ ((bits T <= 64)%Z
                 -> forall d,
                      at_most limit d
                      -> if signed T then (- 2 ^ 127 <= wide c d < 2 ^ 127)%Z else (0 <= wide c d < 2 ^ 128)%Z).
Proof.
intros H l h. unfold wide_allowed in H. fold l h in H. conditions.
assert (lh : (l <= h)%Z) by (now apply Z.leb_le). split; auto.
destruct (integer_type_facts T ltac:(assumption)) as (w1 & Z0 & _). intros X c W.
destruct (wide_promise X (least T) (greatest T) L U c lh W) as [S1 S2]. split; [exact S1|split; [exact S2|]].
intros w64 d D. apply (fewer_records limit) in D; auto.
assert (B : forall e, (Z.of_nat (length e) * least T <= wide c e <= Z.of_nat (length e) * greatest T)%Z).
{ induction e as [|x e IH]; [unfold wide; simpl; lia|]. unfold wide in *. cbn [map sumZ fold_right length].
  fold (sumZ (map c e)). rewrite Nat2Z.inj_succ. generalize (W x). unfold l, h. lia. }
specialize (B d). assert (2 ^ bits T <= 2 ^ 64)%Z by (apply Z.pow_le_mono_r; lia).
assert (2 ^ (bits T - 1) <= 2 ^ 63)%Z by (apply Z.pow_le_mono_r; lia).
assert (0 < 2 ^ (bits T - 1))%Z by (apply Z.pow_pos_nonneg; lia).
unfold least, greatest in B. destruct (signed T); nia.
Qed.

Theorem checked_keeps_its_promise T n L U :
  checked_allowed T (Some n) L U = true
  -> exists l h,
       (L == inject_Z l)%Q
       /\ (U == inject_Z h)%Q
       /\ forall X (c : X -> Z),
            (forall x, l <= c x <= h)%Z
            -> let sum d := checked (least T) (greatest T) (map c d) in
               let kept d := value (sum (firstn (N.to_nat n) d)) in
               (forall d d',
                  length d = N.to_nat n -> change_one d d'
                  -> exists s s',
                       sum d = Some s
                       /\ sum d' = Some s'
                       /\ Rabs (IZR s - IZR s') <= Q2R (Bounds.checked_sensitivity true (inject_Z l) (inject_Z h)))
               /\ sensitivity insert_delete kept (Q2R (Bounds.checked_sensitivity false (inject_Z l) (inject_Z h)))
               /\ permuted_sensitivity symmetric kept
                    (Q2R (Bounds.checked_sensitivity false (inject_Z l) (inject_Z h))).
Proof.
intros H. unfold checked_allowed in H. apply andb_prop in H as [B F].
destruct (integer_bounds_are T L U B) as (_ & Z0 & _ & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W. unfold fits in F. apply andb_prop in F as [F1 F2].
apply Qle_bool_iff in F1, F2. rewrite EU in F1. rewrite EL in F2. unfold count in F1, F2.
rewrite <- inject_Z_mult, <- Zle_Qle in F1, F2.
apply (checked_promise X (least T) (greatest T) Z0 l h A2 c W); lia.
Qed.

Theorem split_checked_keeps_its_promise sized T n L U :
  split_checked_allowed sized T (Some n) L U = true
  -> sized = false
     /\ exists l h,
          (L == inject_Z l)%Q
          /\ (U == inject_Z h)%Q
          /\ forall X (c : X -> Z),
               (forall x, l <= c x <= h)%Z
               -> let sum := split_checked (least T) (greatest T) X c (N.to_nat n) in
                  sensitivity insert_delete sum (Q2R (Bounds.ideal false (inject_Z l) (inject_Z h)))
                  /\ permuted_sensitivity symmetric sum (Q2R (Bounds.ideal false (inject_Z l) (inject_Z h))).
Proof.
intros H. unfold split_checked_allowed, checked_allowed in H. apply andb_prop in H as [H B].
apply andb_prop in H as [S O]. apply Bool.negb_true_iff in S, O. split; auto. apply andb_prop in B as [B F].
destruct (integer_bounds_are T L U B) as (_ & Z0 & _ & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W. unfold fits in F. apply andb_prop in F as [F1 F2].
apply Qle_bool_iff in F1, F2. rewrite EU in F1. rewrite EL in F2. unfold count in F1, F2.
rewrite <- inject_Z_mult, <- Zle_Qle in F1, F2.
assert (Z : (l <= 0 <= h)%Z).
{ unfold Bounds.one_sign in O. apply Bool.orb_false_elim in O as [O1 O2].
  assert (~ (0 <= l)%Z).
  { intros P. rewrite Zle_Qle, <- EL in P. apply Qle_bool_iff in P. change (inject_Z 0) with 0%Q in P. congruence. }
  assert (~ (h <= 0)%Z).
  { intros P. rewrite Zle_Qle, <- EU in P. apply Qle_bool_iff in P. change (inject_Z 0) with 0%Q in P. congruence. }
  lia. }
apply (split_checked_promise X (least T) (greatest T) Z0 l h c W (N.to_nat n) Z); lia.
Qed.

(** modular, saturating and split, for any number of records. *)
Theorem integer_sums_keep_their_promises T L U :
  integer_bounds T L U = true
  -> exists l h,
       (L == inject_Z l)%Q
       /\ (U == inject_Z h)%Q
       /\ forall X (c : X -> Z),
            (forall x, l <= c x <= h)%Z
            -> let modular d := Modular.modular (least T) (greatest T) (map c d) in
               let saturating d := IZR (saturating (least T) (greatest T) (map c d)) in
               let split d := IZR (split (least T) (greatest T) (map c d)) in
               let private := Q2R (Bounds.ideal false (inject_Z l) (inject_Z h)) in
               let public := Q2R (Bounds.ideal true (inject_Z l) (inject_Z h)) in
               (forall d d',
                  symmetric d d'
                  -> IZR (Modular.circle (least T) (greatest T) (modular d) (modular d'))
                       <= Q2R (Bounds.modular_sensitivity false (bits T) (inject_Z l) (inject_Z h)))
               /\ (forall d d',
                     change_one d d'
                     -> IZR (Modular.circle (least T) (greatest T) (modular d) (modular d'))
                          <= Q2R (Bounds.modular_sensitivity true (bits T) (inject_Z l) (inject_Z h)))
               /\ sensitivity insert_delete saturating private
               /\ sensitivity hamming saturating public
               /\ permuted_sensitivity symmetric saturating private
               /\ permuted_sensitivity change_one saturating public
               /\ (Bounds.one_sign L U = true
                   -> sensitivity symmetric saturating private /\ sensitivity change_one saturating public)
               /\ sensitivity symmetric split private
               /\ sensitivity change_one split public.
Proof.
intros H. destruct (integer_bounds_are T L U H) as (w1 & Z0 & EN & l & h & EL & EU & [A1 A2] & A3). exists l, h.
split; [auto|split; [auto|]]. intros X c W.
destruct (modular_promise X (least T) (greatest T) Z0 l h A2 c W (bits T) w1 EN) as [M1 M2].
destruct (saturating_promise X (least T) (greatest T) Z0 l h A2 c W) as ((S1 & S2) & (S3 & S4) & S5).
destruct (split_promise X (least T) (greatest T) Z0 l h A2 c W) as [P1 P2].
cbv zeta. repeat (split; [assumption|]). split; [|now split]. intros O. apply S5. unfold Bounds.one_sign in O.
apply Bool.orb_prop in O as [O|O]; apply Qle_bool_iff in O; [left; rewrite EL in O|right; rewrite EU in O];
  change 0%Q with (inject_Z 0) in O; now rewrite <- Zle_Qle in O.
Qed.
