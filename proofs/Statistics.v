(** Built from sums (docs/theorems/statistics.md): means, variances, histograms, groups and persons.

    Records are integers q in [J, K]. Counted from the middle of the bounds in half steps, one record more moves their sum by
    at most K - J and one changed by at most 2 (K - J); the sum of squares moves by at most (K - J)^2 either way. *)
From Coq Require Import List Permutation ZArith Lia.
From Soundsum Require Import Relations Sums Wide.
Import ListNotations.

Section Integers.
Open Scope Z_scope.
Variables (X : Type) (q : X -> Z) (J K : Z).
Hypothesis q_within : forall x, J <= q x <= K.
Hypothesis JK : J <= K.

Definition centred x := 2 * q x - (J + K).
Theorem mean_symmetric u v : symmetric u v -> Z.abs (wide centred u - wide centred v) <= K - J.
Proof.
intros H. assert (W : forall x, - (K - J) <= centred x <= K - J) by (intros x; generalize (q_within x); unfold centred; lia).
generalize (wide_symmetric X centred _ _ W u v H). unfold magnitudeZ. lia.
Qed.
Definition square x := centred x * centred x.
Lemma square_within x : 0 <= square x <= (K - J) * (K - J).
Proof.
assert (W : - (K - J) <= centred x <= K - J) by (generalize (q_within x); unfold centred; lia).
unfold square. revert W. generalize (centred x) (K - J). intros c w W. nia.
Qed.
Theorem variance_symmetric u v : symmetric u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_symmetric X square _ _ square_within u v H). unfold magnitudeZ. nia.
Qed.
Theorem variance_change_one u v : change_one u v -> Z.abs (wide square u - wide square v) <= (K - J) * (K - J).
Proof.
intros H.
generalize (wide_change_one X square _ _ square_within u v). intros G. apply Z.le_trans with (1 := G ltac:(nia) H). lia.
Qed.

(** Persons: a record is a person's rows, of which some r are kept by looking at that person alone. *)
Variable r : Z.
Hypothesis r_pos : 0 <= r.
Definition person (rows : list X) := clamp (r * Z.min J 0) (r * Z.max K 0) (wide q rows).
Theorem persons_symmetric (u v : list (list X)) : symmetric u v -> Z.abs (wide person u - wide person v) <= r * magnitudeZ J K.
Proof.
intros H. assert (W : forall x, r * Z.min J 0 <= person x <= r * Z.max K 0) by (intros x; apply clamp_within; nia).
generalize (wide_symmetric _ person _ _ W u v H). unfold magnitudeZ. nia.
Qed.
(** The clamp changes nothing for a person of at most r rows. *)
Theorem person_exact rows : Z.of_nat (length rows) <= r -> person rows = wide q rows.
Proof.
intros H. unfold person. assert (B : r * Z.min J 0 <= wide q rows <= r * Z.max K 0); [|unfold clamp; lia].
assert (G : forall l, Z.of_nat (length l) * Z.min J 0 <= wide q l <= Z.of_nat (length l) * Z.max K 0).
{ induction l as [|x l IH]; [unfold wide; simpl; lia|]. generalize (q_within x). unfold wide in *.
  cbn [map sumZ fold_right length]. fold (sumZ (map q l)). rewrite Nat2Z.inj_succ. lia. }
generalize (G rows). nia.
Qed.
End Integers.
