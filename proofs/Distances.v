(** The relations are distances of at most 1 (docs/theorems/lemmas.md: relations and their distances; soundsum.tables.relations).

    d_Ham is the number of places that differ, d_Sym the sum over all values of the difference of their counts, d_CO
    half of that between datasets of one length, and d_ID the number of records outside a longest common subsequence.
    Two datasets are neighbours under a relation just when its distance is at most 1. *)

From Coq Require Import List Permutation ZArith Lia Arith.
From Soundsum Require Import Relations Sums Wide Statistics.
Import ListNotations.
Open Scope nat_scope.

Section Distances.
Variable X : Type.
Variable same : forall a b : X, {a = b} + {a <> b}.
Implicit Types u v : list X.

(** Places that differ. *)
Fixpoint places u v : nat :=
  match u, v with x :: u, y :: v => (if same x y then 0 else 1) + places u v | _, _ => 0 end.

Lemma places_none u v : length u = length v -> places u v = 0 -> u = v.
Proof.
revert v; induction u as [|x u IH]; intros [|y v] E H; simpl in *; try lia; auto.
destruct (same x y) as [->|]; [|lia]. f_equal. apply IH; lia.
Qed.

Lemma places_same u : places u u = 0.
Proof. induction u as [|x u IH]; simpl; auto. destruct (same x x); [exact IH|easy]. Qed.

Theorem hamming_distance u v : hamming u v <-> length u = length v /\ places u v <= 1.
Proof.
split.
- intros H. destruct H as [u|a x y b]; [rewrite places_same; lia|]. split; [now rewrite !app_length|].
  induction a as [|z a IH]; simpl; [rewrite places_same; destruct same; lia|]. destruct (same z z); [exact IH|easy].
- revert v; induction u as [|x u IH]; intros [|y v] [E H]; simpl in *; try lia; [constructor|].
  destruct (same x y) as [->|N].
  + destruct (IH v) as [w|a x' y' b]; [split; lia|constructor|apply (ham_change (y :: a))].
  + rewrite (places_none u v) by lia. apply (ham_change [] x y v).
Qed.

(** Counts. `values` lists, each once, at least the values that occur. *)
Variable values : list X.
Hypothesis values_once : NoDup values.
Open Scope Z_scope.

Definition counted := entry X X same (fun x => x) (fun _ => 1).
Definition d_Sym u v := l1 X values (fun z => counted u z - counted v z).

Lemma counted_cons x u z : counted (x :: u) z = (if same x z then 1 else 0) + counted u z.
Proof. reflexivity. Qed.

Lemma counted_app u v z : counted (u ++ v) z = counted u z + counted v z.
Proof. induction u as [|x u IH]; [reflexivity|]. rewrite <- app_comm_cons, !counted_cons, IH. lia. Qed.

Lemma counted_permutation u v z : Permutation u v -> counted u z = counted v z.
Proof. intros P. unfold counted, entry, wide. now apply sumZ_perm, Permutation_map. Qed.

Lemma counted_pos u z : 0 <= counted u z.
Proof. induction u as [|x u IH]; [reflexivity|]. rewrite counted_cons. destruct same; lia. Qed.

Lemma counted_absent u z : ~ In z u -> counted u z = 0.
Proof.
induction u as [|x u IH]; intros H; [reflexivity|]. rewrite counted_cons, IH by (intros I; apply H; now right).
destruct (same x z) as [->|]; [exfalso; apply H; now left|lia].
Qed.

Lemma one_value k : In k values -> sumZ (map (fun z => if same k z then 1 else 0) values) = 1.
Proof.
intros I. assert (G := one_entry X same values values_once k 1 ltac:(lia)).
enough (1 <= sumZ (map (fun z => if same k z then 1 else 0) values)) by lia.
clear G values_once. revert I.
assert (P : forall l, 0 <= sumZ (map (fun z => if same k z then 1 else 0) l))
  by (induction l as [|z l IH]; [reflexivity|]; cbn [map sumZ fold_right]; unfold sumZ in IH; destruct same; lia).
induction values as [|z l IH]; intros I; [destruct I|]. cbn [map sumZ fold_right].
fold (sumZ (map (fun z => if same k z then 1 else 0) l)).
destruct I as [->|I]; [destruct (same k k); [generalize (P l); lia|easy]|]. specialize (IH I). destruct same; lia.
Qed.

Lemma all_counted u : incl u values -> sumZ (map (counted u) values) = Z.of_nat (length u).
Proof.
induction u as [|x u IH]; intros I.
- assert (E : forall l, sumZ (map (counted []) l) = 0)
    by (induction l as [|z l IH]; [reflexivity|]; cbn [map sumZ fold_right]; unfold sumZ in IH; rewrite IH;
        reflexivity).
  apply E.
- replace (map (counted (x :: u)) values) with (map (fun z => (if same x z then 1 else 0) + counted u z) values)
    by reflexivity.
  rewrite sums_add, one_value, IH; [simpl length; lia| |apply I; now left]. intros z Hz. apply I. now right.
Qed.

(** What two datasets have in common, and what each has beyond. *)
Lemma in_common u v : exists w a b, Permutation u (w ++ a) /\ Permutation v (w ++ b) /\ forall z, In z a -> ~ In z b.
Proof.
induction u as [|x u (w & a & b & P & Q & D)].
- exists [], [], v. repeat split; auto.
- destruct (in_dec same x b) as [I|I].
  + apply in_split in I as (b1 & b2 & ->). exists (x :: w), a, (b1 ++ b2). split; [now constructor|]. split.
    * rewrite Q. simpl. rewrite app_assoc, <- Permutation_middle. now rewrite app_assoc.
    * intros z Hz Hb. apply (D z Hz). apply in_app_iff in Hb. apply in_app_iff. simpl. tauto.
  + exists w, (x :: a), b. repeat split; auto.
    * rewrite P. apply Permutation_middle.
    * intros z [<-|Hz]; auto.
Qed.

Lemma d_Sym_beyond u v w a b :
  incl u values -> incl v values -> Permutation u (w ++ a) -> Permutation v (w ++ b) -> (forall z, In z a -> ~ In z b)
  -> d_Sym u v = Z.of_nat (length a) + Z.of_nat (length b).
Proof.
intros Iu Iv P Q D.
assert (Ia : incl a values)
  by (intros z Hz; apply Iu, Permutation_in with (1 := Permutation_sym P), in_or_app; now right).
assert (Ib : incl b values)
  by (intros z Hz; apply Iv, Permutation_in with (1 := Permutation_sym Q), in_or_app; now right).
rewrite <- !all_counted, <- sums_add by auto. unfold d_Sym, l1. f_equal. apply map_ext. intros z.
rewrite (counted_permutation _ _ z P), (counted_permutation _ _ z Q), !counted_app.
destruct (in_dec same z a) as [I|I].
- rewrite (counted_absent b z (D z I)). generalize (counted_pos a z). lia.
- rewrite (counted_absent a z I). generalize (counted_pos b z). lia.
Qed.

Theorem symmetric_distance u v : incl u values -> incl v values -> (symmetric u v <-> d_Sym u v <= 1).
Proof.
intros Iu Iv. split.
- intros H.
  apply
    (groups_symmetric X X same values values_once (fun x => x) (fun _ => 1) 1 1 ltac:(lia) ltac:(intros; lia) u v H).
- intros H. destruct (in_common u v) as (w & a & b & P & Q & D). rewrite (d_Sym_beyond u v w a b) in H by auto.
  apply symmetric_cases.
  destruct a as [|x [|y a]], b as [|x' [|y' b]]; cbn [length] in H; try lia.
  + left. now rewrite P, Q.
  + right. exists x'. left. rewrite Q, P, app_nil_r. symmetry. apply Permutation_cons_append.
  + right. exists x. right. rewrite Q, P, app_nil_r. symmetry. apply Permutation_cons_append.
Qed.

(** d_Sym is even between datasets of one length, and d_CO is half of it. *)
Theorem change_one_distance u v :
  incl u values -> incl v values -> (change_one u v <-> length u = length v /\ d_Sym u v / 2 <= 1).
Proof.
intros Iu Iv.
assert (L : change_one u v -> length u = length v).
{ intros H. apply change_one_cases in H as [P|(x & y & w & P & Q)]; [now apply Permutation_length|].
  now rewrite (Permutation_length P), (Permutation_length Q). }
split.
- intros H. split; [auto|]. assert (d_Sym u v <= 2); [|apply Z.div_le_upper_bound; lia].
  apply
    (groups_change_one X X same values values_once (fun x => x) (fun _ => 1) 1 1 ltac:(lia) ltac:(intros; lia) u v H).
- intros [E H]. destruct (in_common u v) as (w & a & b & P & Q & D). rewrite (d_Sym_beyond u v w a b) in H by auto.
  apply Permutation_length in P as LP. apply Permutation_length in Q as LQ. rewrite app_length in LP, LQ.
  assert (length a = length b) by lia. assert (length a <= 1)%nat.
  { rewrite H0 in H. replace (Z.of_nat (length b) + Z.of_nat (length b)) with (Z.of_nat (length b) * 2) in H by lia.
    rewrite Z.div_mul in H by lia. lia. }
  apply change_one_cases. destruct a as [|x [|y a]], b as [|x' [|y' b]]; simpl in *; try lia.
  + left. now rewrite P, Q.
  + right. exists x, x', w. rewrite P, Q. split; symmetry; apply Permutation_cons_append.
Qed.

Close Scope Z_scope.

(** Common subsequences. *)
Inductive subsequence : list X -> list X -> Prop :=
| sub_nil : subsequence [] []
| sub_keep x s u : subsequence s u -> subsequence (x :: s) (x :: u)
| sub_skip x s u : subsequence s u -> subsequence s (x :: u).

Lemma subsequence_length s u : subsequence s u -> length s <= length u.
Proof. induction 1; simpl; lia. Qed.

Lemma subsequence_itself u : subsequence u u.
Proof. induction u; constructor; auto. Qed.

Lemma subsequence_of_all s u : subsequence s u -> length s = length u -> s = u.
Proof.
induction 1 as [|x s u H IH|x s u H IH]; intros E; simpl in *; auto.
- f_equal. apply IH. lia.
- apply subsequence_length in H. lia.
Qed.

Lemma subsequence_of_all_but_one s u :
  subsequence s u -> length u = S (length s) -> exists a z b, s = a ++ b /\ u = a ++ z :: b.
Proof.
induction 1 as [|x s u H IH|x s u H IH]; intros E; simpl in *; try lia.
- destruct IH as (a & z & b & -> & ->); [lia|]. now exists (x :: a), z, b.
- assert (length s = length u) by lia. apply subsequence_of_all in H; auto. subst. now exists [], x, u.
Qed.

Lemma subsequence_without a z b : subsequence (a ++ b) (a ++ z :: b).
Proof. induction a as [|x a IH]; simpl; [apply sub_skip, subsequence_itself|now apply sub_keep]. Qed.

(** len u + len v - 2 c <= 1, for some common subsequence of length c, and so for a longest one. *)
Theorem insert_delete_distance u v :
  insert_delete u v <-> exists s, subsequence s u /\ subsequence s v /\ length u + length v <= 2 * length s + 1.
Proof.
split.
- intros H. destruct H as [u|a z b|a z b].
  + exists u. repeat split; auto using subsequence_itself. lia.
  + exists (a ++ b). repeat split; auto using subsequence_itself, subsequence_without. rewrite !app_length. simpl. lia.
  + exists (a ++ b). repeat split; auto using subsequence_itself, subsequence_without. rewrite !app_length. simpl. lia.
- intros (s & S & S' & H). assert (L := subsequence_length _ _ S). assert (L' := subsequence_length _ _ S').
  destruct (Nat.eq_dec (length s) (length u)) as [E|E].
  + apply subsequence_of_all in S; auto. subst s. destruct (Nat.eq_dec (length u) (length v)) as [E'|E'].
    * apply subsequence_of_all in S'; auto. subst. constructor.
    * destruct (subsequence_of_all_but_one _ _ S') as (a & z & b & -> & ->); [lia|]. constructor.
  + apply subsequence_of_all in S'; [|lia]. subst s.
    destruct (subsequence_of_all_but_one _ _ S) as (a & z & b & -> & ->); [lia|].
    constructor.
Qed.
End Distances.
