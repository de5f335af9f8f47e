(** The additions of IEEE binary64, executable (Flocq's Bits): what the theorems about machines speak of, and what the
    tests run against the Python models and the C++ kernels. *)

From Coq Require Import List ZArith Bool.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Trees Pairwise NumpyPairwise.
Import ListNotations.
Open Scope Z_scope.

Definition add := b64_plus mode_NE.
Definition sub := b64_minus mode_NE.
Definition mul := b64_mult mode_NE.
Definition less (x y : binary64) := match b64_compare x y with Some Lt => true | _ => false end.
Definition zero := b64_of_bits 0.
Definition anchor64 := b64_of_bits 0x4338000000000000. (* 0x1.8p52 *)

(** src/kernels/exact.cpp, `anchored`, less the anchor's bits; low and high carry the anchor. *)
Inductive missing := Low | High | Zero. (* `NaN`: what a missing record comes out as *)

Definition clamp64 (low high y : binary64) :=
  let y := if less low y then y else low in
  if less y high then y else high.

Definition clamp64_from_above (low high y : binary64) :=
  let y := if less y high then y else high in
  if less low y then y else low.

Definition not_nan (x : binary64) := match b64_compare x x with Some Eq => x | _ => zero end.

Definition anchored64 (how : missing) (plain : bool) (base scale more low high x : binary64) : Z :=
  let x := match how with Zero => not_nan x | _ => x end in
  let y := if plain then add (mul x scale) anchor64 else add (mul (mul (sub x base) scale) more) anchor64 in
  let y := match how with High => clamp64_from_above low high y | _ => clamp64 low high y end in
  bits_of_b64 y - bits_of_b64 anchor64.

Notation kernel64 := (anchored64 Zero false).

(** Which of them a block of records gets (`grid_block_of`). *)
Definition same (x y : binary64) := match b64_compare x y with Some Eq => true | _ => false end.
Definition one := b64_of_bits 0x3FF0000000000000.

Definition block64 (base scale more low high : binary64) (J K : Z) : binary64 -> Z :=
  if (negb (same base zero) || negb (same more one))%bool then anchored64 Zero false base scale more low high
  else if 0 <=? J then anchored64 Low true base scale more low high
  else if K <=? 0 then anchored64 High true base scale more low high
  else anchored64 Zero true base scale more low high.

(** A lane: patterns added modulo 2^64, the anchors taken off at the end, read as a signed number. *)
Definition lane64 (patterns : list Z) (anchors : Z) : Z :=
  let unsigned :=
    (fold_left (fun s b => (s + b) mod 2 ^ 64) patterns 0 - Z.of_nat (length patterns) * anchors mod 2 ^ 64)
      mod 2 ^ 64 in
  if unsigned <? 2 ^ 63 then unsigned else unsigned - 2 ^ 64.

(** src/kernels/ordered.cpp and np.sum, for any additions: `add` to nearest, `subtract`, `add_down` toward zero. *)
Section Ordered.
Variables (A : Type) (zero : A) (add subtract add_down : A -> A -> A) (positive negative : A -> bool).

Definition iterated_sum (l : list A) := fold_left add l zero.

Definition kahan_step (sc : A * A) (x : A) :=
  let '(s, c) := sc in
  let y := subtract x c in
  let t := add s y in
  (t, subtract (subtract t s) y).

Definition kahan_sum (l : list A) := fst (fold_left kahan_step l (zero, zero)).

Definition toward_zero_sum (l : list A) :=
  add (fold_left (fun s x => add_down s (if positive x then x else zero)) l zero)
    (fold_left (fun s x => add_down s (if negative x then x else zero)) l zero).

Definition pairwise_sum (l : list A) := evaluate add (pairwise_tree zero l).
Definition numpy_sum (l : list A) := evaluate add (numpy_tree zero l).
End Ordered.

Definition sums64 (l : list binary64) : list binary64 :=
  [iterated_sum _ zero add l;
   kahan_sum _ zero add sub l;
   toward_zero_sum _ zero add (b64_plus mode_ZR) (less zero) (fun x => less x zero) l;
   pairwise_sum _ zero add l;
   numpy_sum _ zero add l].

Definition zero32 := b32_of_bits 0.
Definition less32 (x y : binary32) := match b32_compare x y with Some Lt => true | _ => false end.

Definition sums32 (l : list binary32) : list binary32 :=
  let add := b32_plus mode_NE in
  [iterated_sum _ zero32 add l;
   kahan_sum _ zero32 add (b32_minus mode_NE) l;
   toward_zero_sum _ zero32 add (b32_plus mode_ZR) (less32 zero32) (fun x => less32 x zero32) l;
   pairwise_sum _ zero32 add l;
   numpy_sum _ zero32 add l].

(** src/kernels/prepare.cpp: what `shifted` does to clamped records first. *)
Definition shift64 (L : binary64) (l : list binary64) := map (fun x => sub x L) l.
Definition shift32 (L : binary32) (l : list binary32) := map (fun x => b32_minus mode_NE x L) l.

Definition iterated64 (l : list Z) := bits_of_b64 (iterated_sum _ zero add (map b64_of_bits l)).
Definition kahan64 (l : list Z) := bits_of_b64 (kahan_sum _ zero add sub (map b64_of_bits l)).
