(** The conditions as the code checks them: `Method.unmet`, as booleans, executable.

    The files named Allowed prove that a method whose condition is true keeps its promise, without a further hypothesis on type,
    bounds or n; the tests compare the conditions with what src/soundsum/methods refuses. A limit is the public number
    of records, or the largest number that is added; None where none is known. The code also refuses to permute more
    than 2^28 records, which have to be in memory: no theorem needs that. *)

From Coq Require Import ZArith QArith Qabs Qround.
From Soundsum Require Import Bounds.
Open Scope Z_scope.

(** Types. An integer type has w bits, a float type k mantissa and l exponent bits. *)
Record integer_type := IntegerType { bits : Z; signed : bool }.

Definition least (T : integer_type) := if signed T then - 2 ^ (bits T - 1) else 0.
Definition greatest (T : integer_type) := if signed T then 2 ^ (bits T - 1) - 1 else 2 ^ bits T - 1.
Definition is_integer_type (T : integer_type) := 1 <=? bits T.

Record float_type := FloatType { mantissa : Z; exponent : Z }.

Definition emax (T : float_type) := 2 ^ (exponent T - 1).
Definition smallest_exponent (T : float_type) := 3 - emax T - (mantissa T + 1). (* of a subnormal *)
Definition largest (T : float_type) : Q := inject_Z (2 ^ (mantissa T + 1) - 1) * pow2 (emax T - (mantissa T + 1)).
Definition is_float_type (T : float_type) := ((1 <=? mantissa T) && (2 <=? exponent T))%bool.

(** Every value of T is one of A. *)
Definition holds (A T : float_type) :=
  (is_float_type A && (mantissa T <=? mantissa A) && (exponent T <=? exponent A))%bool.

(** Bounds. *)
Definition is_whole (x : Q) := Qeq_bool (inject_Z (Qfloor x)) x.

Definition in_integer_type (T : integer_type) (x : Q) :=
  (is_whole x && Qle_bool (inject_Z (least T)) x && Qle_bool x (inject_Z (greatest T)))%bool.

Definition integer_bounds (T : integer_type) (L U : Q) :=
  (is_integer_type T && Qle_bool L U && in_integer_type T L && in_integer_type T U)%bool.

Definition in_float_type (T : float_type) (x : Q) :=
  (Qle_bool (Qabs x) (largest T) && Qeq_bool (nearest_float (mantissa T) (smallest_exponent T) x) x)%bool.

Definition float_bounds (T : float_type) (L U : Q) :=
  (is_float_type T && Qle_bool L U && in_float_type T L && in_float_type T U)%bool.

(** Numbers of records. *)
Definition count (n : N) : Q := inject_Z (Z.of_N n).
Definition fewer_than_2_64 (limit : option N) := match limit with Some n => Z.of_N n <? 2 ^ 64 | None => true end.
Definition is_known (limit : option N) := match limit with Some _ => true | None => false end.

Definition fits (T : integer_type) (n : N) (L U : Q) :=
  (Qle_bool (count n * U) (inject_Z (greatest T)) && Qle_bool (inject_Z (least T)) (count n * L))%bool.

(** Integers. *)
Definition wide_allowed (T : integer_type) (limit : option N) (L U : Q) :=
  (is_integer_type T && (Z.max (Qceiling L) (least T) <=? Z.min (Qfloor U) (greatest T)) && fewer_than_2_64 limit)%bool.

Definition checked_allowed (T : integer_type) (limit : option N) (L U : Q) :=
  match limit with Some n => (integer_bounds T L U && fits T n L U)%bool | None => false end.

(** modular, saturating, split and split_modular ask for `integer_bounds` alone. *)
Definition split_checked_allowed (sized : bool) (T : integer_type) (limit : option N) (L U : Q) :=
  (negb sized && negb (one_sign L U) && checked_allowed T limit L U)%bool.

(** Our grid: its step, its offset, and the least and the greatest integer. *)
Definition whole_grid (sized : bool) (eta : Z) (L U : Q) : Q * Q * Z * Z :=
  if is_zero (ideal sized L U) then (1%Q, (if sized then L else 0%Q), 0, 0) else
  let '(Grid g m l h) := our_grid sized eta L U in (pow2 g, (inject_Z m * pow2 g)%Q, l, h).

(** The constants with which doubles compute its integers (`as_doubles`), if they do and there is more than one integer:
    the first double from the offset inward, the exponents of two scales, and what the doubles are clamped to. *)
Record doubles := Doubles { base : Q; scale : Z; more : Z; least_double : Z; greatest_double : Z; shift : Z }.

Definition double_from (x : Q) : Q :=
  if is_zero x then 0%Q else
  let ulp := pow2 (Z.max (floor_log2 (Qabs x) - 52) (-1074)) in
  (inject_Z (if below x 0 then Qfloor (x / ulp) else Qceiling (x / ulp)) * ulp)%Q.

Definition in_doubles (sized : bool) (T : float_type) (L U : Q) : option doubles :=
  if is_zero (ideal sized L U) then None else
  let '(Grid g m l h) := our_grid sized (smallest_exponent T) L U in
  let offset := (inject_Z m * pow2 g)%Q in
  let b := double_from offset in
  let s := Qfloor ((b - offset) / pow2 g) in
  if ((l <? h) && (-1074 <=? g) && (g <=? 1022) && ((m =? 0) || below (magnitude L U) (pow2 1024))
      && below (Qabs b) (pow2 1024) && Qeq_bool b (offset + inject_Z s * pow2 g)
      && (Z.abs (l - s) <=? 2 ^ 51) && (Z.abs (h - s) <=? 2 ^ 51))%bool
  then let e := Z.min (- g) 1000 in Some (Doubles b e (- g - e) (l - s) (h - s) s)
  else None.

Definition grid_allowed (T : float_type) (limit : option N) (L U : Q) :=
  (is_float_type T && Qle_bool L U && fewer_than_2_64 limit)%bool.

(** Where integers are written out, as for randomised rounding, a signed type of w bits holds them. *)
Definition written_out (w : Z) (J K : Z) :=
  ((least (IntegerType w true) <=? J) && (K <=? greatest (IntegerType w true)))%bool.

(** A grid with a step of one's own, or the paper's for n records, which leaves room for noise in w bits. *)
Definition stepped_allowed (limit : option N) (D L U : Q) :=
  (Qle_bool L U && below 0 D && fewer_than_2_64 limit)%bool.

Definition paper_allowed (w : Z) (limit : option N) (L U : Q) :=
  match limit with
  | Some n => (Qle_bool L U && (Z.of_N n <? 2 ^ (w - 2)) && fewer_than_2_64 limit)%bool
  | None => false
  end.

(** Floats added as floats, each addition rounded to the type A: n is known, the error bound is proved for it, and no
    sum of n records can be above the largest finite value. *)
Definition sum_allowed (proved : N -> bool) (reach : N -> Q -> Q) (T A : float_type) (limit : option N) (L U : Q) :=
  match limit with
  | Some n => (float_bounds T L U && holds A T && proved n && Qle_bool (reach n (magnitude L U)) (largest A))%bool
  | None => false
  end.

Definition iterated_reach (k : Z) (n : N) (M : Q) : Q := (count n * M + count n * (count n - 1) * u k * M)%Q.
Definition iterated_allowed (T A : float_type) := sum_allowed (fun _ => true) (iterated_reach (mantissa A)) T A.

Definition is_low (k h : Z) := below (inject_Z h * u k) 1.

Definition tree_reach (k h : Z) (n : N) (M : Q) : Q :=
  (count n * M + inject_Z h * u k / (1 - inject_Z h * u k) * (count n * M))%Q.

Definition pairwise_height (n : N) := Z.log2_up (Z.of_N n).

Definition pairwise_allowed (T A : float_type) :=
  sum_allowed (fun n => is_low (mantissa A) (pairwise_height n))
    (fun n => tree_reach (mantissa A) (pairwise_height n) n) T A.

Definition highest_numpy_tree (n : N) :=
  let n := Z.of_N n in
  if n <? 8 then Z.max (n - 1) 0 else if n <=? 128 then 24 else 25 + Z.log2_up ((n + 127) / 128).

(** np.sum adds in this order in float32 and float64 only. *)
Definition is_numpy_type (T : float_type) :=
  (((mantissa T =? 23) && (exponent T =? 8)) || ((mantissa T =? 52) && (exponent T =? 11)))%bool.

Definition numpy_pairwise_allowed (T : float_type) (limit : option N) (L U : Q) :=
  (is_numpy_type T
   && sum_allowed (fun n => is_low (mantissa T) (highest_numpy_tree n))
        (fun n => tree_reach (mantissa T) (highest_numpy_tree n) n) T T limit L U)%bool.

Definition kahan_reach (k : Z) (n : N) (M : Q) : Q := (count n * M + 3 * u k * count n * M)%Q.

Definition kahan_allowed (T A : float_type) :=
  sum_allowed (fun n => Z.of_N n <=? 2 ^ (mantissa A - 1)) (kahan_reach (mantissa A)) T A.

(** Of each of these, with the two signs apart: in addition to its own condition. *)
Definition split_allowed (sized : bool) (L U : Q) := (negb sized && negb (one_sign L U))%bool.

Definition toward_zero_allowed (sized : bool) (T : float_type) (limit : option N) (L U : Q) :=
  (float_bounds T L U && (negb sized || is_known limit))%bool.

(** Shifted: in addition to the inner method's condition for bounds 0 and U' = fl(U - L). *)
Definition shift_allowed (sized : bool) (T : float_type) (L U : Q) :=
  (sized && float_bounds T L U
   && Qle_bool (shifted_upper (mantissa T) (smallest_exponent T) L U) (largest T))%bool.

(** Accuracy is claimed of modular, saturating and split sums where n records cannot leave the type; of a sum rounded
    toward zero where they cannot reach the largest finite value. *)
Definition stays_in_type (T : integer_type) (limit : option N) (L U : Q) :=
  match limit with Some n => fits T n L U | None => false end.

Definition stays_finite (T : float_type) (limit : option N) (L U : Q) :=
  match limit with Some n => Qle_bool (count n * magnitude L U) (largest T) | None => false end.

(** Relations, and which sums are of a permuted dataset under them: those that are cut to a limit (checked,
    split_checked, iterated, pairwise, numpy_pairwise, kahan), saturating ones and those rounded toward zero. No others
    are. *)
Inductive relation := Symmetric | InsertDelete | ChangeOne | Hamming.

Definition is_sized (r : relation) := match r with ChangeOne | Hamming => true | _ => false end.
Definition is_ordered (r : relation) := match r with InsertDelete | Hamming => true | _ => false end.
Definition cut_permutes (r : relation) := match r with Symmetric => true | _ => false end.
Definition saturating_permutes (r : relation) (L U : Q) := (negb (is_ordered r) && negb (one_sign L U))%bool.
Definition toward_zero_permutes (r : relation) := negb (is_ordered r).
