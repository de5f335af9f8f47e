(** toward_zero of one sign (docs/theorems/toward_zero.md): a record more moves the sum by at most U + p(U), a changed
    one by at most U - L + p_n(U). *)

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
Notation half_from := (half_from p emin Omega).
Notation half := (half p emin Omega).
Notation record := (record p emin).
Notation small := (small p emin).
Notation pwn := (pwn p).
Notation total := (total p emin Omega).
Notation held_record := (held_record p emin Omega Omega_format Omega_pos).
Notation held_Omega := (held_Omega p emin Omega Omega_pos).
Notation held_id := (held_id p emin Omega Omega_pos).
Notation half_record := (half_record p emin Omega Omega_format Omega_pos).
Notation half_opp := (half_opp p emin Omega Omega_pos).
Notation small_record := (small_record p emin).
Notation pwn_pos := (pwn_pos p).
Notation one_half_insert := (one_half_insert p emin Omega Omega_format Omega_pos).
Notation one_half_change := (one_half_change p emin Omega Omega_format Omega_pos).
Notation one_half_change_n := (one_half_change_n p emin Omega Omega_format Omega_pos).

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

End TowardZero.
