(** From records to a private release: the default of soundsum, whole. Doubles, whatever their bits, become integers on
    the grid by the kernel's expression, are added exactly, and discrete Laplace noise of scale (sensitivity) / epsilon is
    added, drawn from random bytes by the sampler of the code.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qreals Reals Lra Lia Bool Arith.
From Flocq Require Import Core.
From Flocq Require IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Wide Grid.
From Soundsum Require Bounds Binary64 GridKernel.
From Soundsum Require Import Conditions GridsAllowed Claims.
From Soundsum Require Import Programs Samplers Coins Laplace Private.
Import ListNotations.
Open Scope R_scope.

(** How far one record moves the sum, in steps of the grid. *)
Definition steps (sized : bool) (J K : Z) : Z := if sized then (K - J)%Z else magnitudeZ J K.

Lemma grid_steps r limit J K X (q : X -> Z) d d' :
  (forall x, J <= q x <= K)%Z -> (J <= K)%Z -> neighbours r limit d d'
  -> (Z.abs (wide q d - wide q d') <= steps (is_sized r) J K)%Z
     /\ (is_sized r = true -> length d = length d').
Proof.
intros W JK N. destruct r; cbn [neighbours is_sized steps] in *.
- split; [now apply wide_symmetric|discriminate].
- split; [now apply wide_insert_delete|discriminate].
- destruct N as [_ N]. split; [now apply wide_change_one|intros _; now apply change_one_length].
- destruct N as [_ N]. split; [now apply wide_hamming|intros _]. now apply change_one_length, hamming_is_change_one.
Qed.

(** A release: the sum and its noise, in steps, scaled back to the data's units; nothing where the bytes are too few. *)
Definition release (t s : Z) (D offset : R) {X} (q : X -> Z) (d : list X) (bytes : list Z) : option R :=
  match sample t s bytes with
  | Some (noise, _) => Some (D * IZR (wide q d + noise) + INR (length d) * offset)
  | None => None
  end.

Definition in_event (event : R -> bool) (released : option R) : bool :=
  match released with Some r => event r | None => false end.

(** Any integers that lie in the bounds of the grid, whatever computed them. *)
Theorem release_is_private r T limit L U D offset J K t s epsilon :
  grid_allowed T limit L U = true
  -> whole_grid (is_sized r) (smallest_exponent T) L U = (D, offset, J, K)
  -> (0 < t)%Z -> (0 < s)%Z -> IZR s * IZR (steps (is_sized r) J K) <= epsilon * IZR t
  -> forall X (q : X -> Z),
       (forall x, J <= q x <= K)%Z
       -> forall d d' event,
            neighbours r limit d d'
            -> exists p p',
                 probability (fun bytes => in_event event (release t s (Q2R D) (Q2R offset) q d bytes)) p
                 /\ probability (fun bytes => in_event event (release t s (Q2R D) (Q2R offset) q d' bytes)) p'
                 /\ p <= exp epsilon * p'.
Proof.
intros A G T0 S0 E X q W d d' event N.
destruct (grid_keeps_its_promise T _ limit L U D offset J K A G) as (_ & Wq & _).
assert (JK : (J <= K)%Z) by (generalize (Wq 0); lia).
destruct (grid_steps r limit J K X q d d' W JK N) as [C Len].
assert (O : INR (length d') * Q2R offset = INR (length d) * Q2R offset).
{ destruct (is_sized r) eqn:Z; [now rewrite Len|].
  assert (O : Q2R offset = 0); [|rewrite O; ring].
  unfold whole_grid in G. destruct (Bounds.is_zero _) eqn:I.
  - injection G as _ <- _ _. unfold Q2R; simpl; lra.
  - unfold Bounds.our_grid in G. revert G. cbv zeta.
    repeat match goal with |- context [let '(_, _) := ?x in _] => destruct x end.
    intros G. injection G as <- <- <- <-. rewrite Q2R_mult. unfold Q2R at 1. simpl. lra. }
destruct (laplace_is_private t s T0 S0 _ epsilon E (wide q d) (wide q d')
  (fun z => event (Q2R D * IZR z + INR (length d) * Q2R offset)) C) as (p & p' & P & P' & H).
exists p, p'. split; [|split]; auto.
- unfold probability in *. apply tends_ext with (2 := P). intros n. unfold share. do 2 f_equal.
  apply filter_length_ext. intros bytes _. unfold noisy, release. destruct (sample t s bytes) as [[z l]|]; reflexivity.
- unfold probability in *. apply tends_ext with (2 := P'). intros n. unfold share. do 2 f_equal.
  apply filter_length_ext. intros bytes _. unfold noisy, release. destruct (sample t s bytes) as [[z l]|]; [|reflexivity].
  cbn [in_event]. now rewrite O.
Qed.

(** The default for arrays of floats: the kernel's integers of every double, NaN and infinities included. *)
Theorem default_release_is_private r T limit L U D offset J K c t s epsilon :
  grid_allowed T limit L U = true
  -> whole_grid (is_sized r) (smallest_exponent T) L U = (D, offset, J, K)
  -> in_doubles (is_sized r) T L U = Some c
  -> (0 < t)%Z -> (0 < s)%Z -> IZR s * IZR (steps (is_sized r) J K) <= epsilon * IZR t
  -> let is (z : Bits.binary64) r := Binary.is_finite 53 1024 z = true /\ Binary.B2R 53 1024 z = r in
     forall base64 scale64 more64 low64 high64,
       is base64 (Q2R (base c)) -> is scale64 (bpow radix2 (scale c)) -> is more64 (bpow radix2 (more c))
       -> is low64 (GridKernel.anchor 53 + IZR (least_double c))
       -> is high64 (GridKernel.anchor 53 + IZR (greatest_double c))
       -> let q x :=
            (Binary64.block64 base64 scale64 more64 low64 high64 (least_double c) (greatest_double c) x + shift c)%Z in
          forall d d' event,
            neighbours r limit d d'
            -> exists p p',
                 probability (fun bytes => in_event event (release t s (Q2R D) (Q2R offset) q d bytes)) p
                 /\ probability (fun bytes => in_event event (release t s (Q2R D) (Q2R offset) q d' bytes)) p'
                 /\ p <= exp epsilon * p'.
Proof.
intros A G C T0 S0 E is base64 scale64 more64 low64 high64 Hb Hs Hm Hl Hh q d d' event N.
apply (release_is_private r T limit L U D offset J K t s epsilon A G T0 S0 E); auto.
intros x. unfold q.
rewrite (doubles_are_exact T _ limit L U D offset J K c A G C base64 scale64 more64 low64 high64 x Hb Hs Hm Hl Hh).
destruct (grid_keeps_its_promise T _ limit L U D offset J K A G) as (_ & W & _).
assert (JK : (J <= K)%Z) by (generalize (W 0); lia).
destruct x as [sg|sg|sg pl Hpl|sg mx ex Hx]; cbn [q_of_double]; try apply W. destruct sg; lia.
Qed.


