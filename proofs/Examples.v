(** The paper's own examples, computed by vm_compute in IEEE binary64 (Flocq) and in integers.

    One of 17 doubles, changed by U - L, moves the iterated sum and Kahan's by 16 (U - L); one record of 8 bits, changed
    by 1, moves a modular sum by 255; and a reordering moves a saturating sum of 8 bits by 255.

    Page: docs/theorems/attack_proofs.md. *)

From Coq Require Import List ZArith.
From Soundsum Require Import Binary64 Modular Saturating.
Import ListNotations.
Open Scope Z_scope.

(** f64 rounding: j = 4, m = -1, n = 17: L = (1 + 2^-49) / 2, U = L + 2^-53; the sums differ by 2^-49 = 16 (U - L). *)
Definition L17 := 0x3FE0000000000008.
Definition U17 := 0x3FE0000000000009.

Example rounding_17 :
  iterated64 (repeat L17 16 ++ [U17]) - iterated64 (repeat L17 16 ++ [L17]) = 1
  /\ iterated64 (repeat L17 16 ++ [L17]) = 0x4021000000000008. (* 8.5 + 2^-46; doubles there are spaced 2^-49 *)
Proof. vm_compute. split; reflexivity. Qed.

Example rounding_17_kahan : kahan64 (repeat L17 16 ++ [U17]) - kahan64 (repeat L17 16 ++ [L17]) = 1.
Proof. vm_compute. reflexivity. Qed.

(** Overflow, u8 in place of u64: U = 2^4, n = ceil(255/16) + 1 = 17, r = 255 - 15 * 16 = 15. *)
Example overflow_u8 : modular 0 255 (repeat 16 15 ++ [15; 0]) - modular 0 255 (repeat 16 15 ++ [15; 1]) = 255.
Proof. vm_compute. reflexivity. Qed.

(** Saturation reordering, i8: L = -16, U = 32. *)
Example reorder_i8 :
  saturating (-128) 127 (repeat (-16) 16 ++ repeat 32 8) - saturating (-128) 127 (repeat 32 8 ++ repeat (-16) 16) = 255.
Proof. vm_compute. reflexivity. Qed.
