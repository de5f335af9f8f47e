(** The bounds as the code claims them: `Method.sensitivity` and `Method.accuracy`, in rationals, executable.

    The files named Promises prove that the sums keep these bounds; the tests compare them with what src/soundsum/methods computes. A
    float type has k mantissa bits and the smallest subnormal 2^eta; an integer type its least and greatest value. *)

From Coq Require Import ZArith QArith Qminmax Qabs Qround.
From Soundsum Require Import NumpyPairwise.
Open Scope Q_scope.

Definition nat_Q (n : nat) : Q := inject_Z (Z.of_nat n).

Definition pow2 (e : Z) : Q :=
  match e with Z0 => 1 | Zpos p => inject_Z (Z.pow_pos 2 p) | Zneg p => 1 # Pos.pow 2 p end.

Definition is_zero (q : Q) := Qeq_bool q 0.
Definition below (a b : Q) := negb (Qle_bool b a).

(** floor(log2 x), for x > 0. *)
Definition floor_log2 (x : Q) : Z :=
  let e := (Z.log2 (Qnum x) - Z.log2 (Zpos (Qden x)))%Z in
  if Qle_bool (pow2 e) x then e else (e - 1)%Z.

(** The power of two at or below x; 0 for 0. *)
Definition power_below (x : Q) : Q := if is_zero x then 0 else pow2 (floor_log2 x).

(** The nearest integer, ties to even; the nearest float. *)
Definition nearest (x : Q) : Z :=
  let f := Qfloor x in
  match Qcompare (x - inject_Z f)%Q (1 # 2) with
    Lt => f
  | Gt => (f + 1)%Z
  | Eq => if Z.even f then f else (f + 1)%Z
  end.

Definition nearest_float (k eta : Z) (x : Q) : Q :=
  if is_zero x then 0 else
  let ulp := pow2 (Z.max (floor_log2 (Qabs x) - k) eta) in
  inject_Z (nearest (x / ulp)) * ulp.

Definition magnitude (L U : Q) := Qmax (Qabs L) (Qabs U).
Definition ideal (sized : bool) (L U : Q) := if sized then U - L else magnitude L U.

(** Integers. *)
Definition wide_sensitivity (sized : bool) (lo hi : Z) (L U : Q) : Q :=
  let l := Z.max (Qceiling L) lo in
  let h := Z.min (Qfloor U) hi in
  inject_Z (if sized then h - l else Z.max (Z.abs l) (Z.abs h)).

Definition checked_sensitivity (sized : bool) (L U : Q) : Q := if sized then U - L else Qmax (magnitude L U) (U - L).
Definition modular_sensitivity (sized : bool) (w : Z) (L U : Q) : Q := Qmin (pow2 w / 2) (ideal sized L U).

(** saturating, split and split_checked claim the ideal. *)

(** Floats added as floats: the error of n records of magnitude at most M. *)
Definition u (k : Z) : Q := pow2 (- (k + 1)).
Definition iterated_error (k : Z) (n : nat) (M : Q) := nat_Q n * (nat_Q n - 1) * u k * M.
Definition tree_error (k : Z) (h n : nat) (M : Q) := nat_Q h * u k / (1 - nat_Q h * u k) * (nat_Q n * M).
Definition pairwise_error (k : Z) (n : nat) := tree_error k (Nat.log2_up n) n.

Definition numpy_error (sized : bool) (k : Z) (n : nat) :=
  tree_error k (if sized then numpy_height n else safe_height n) n.

Definition kahan_constant (k : Z) (n : nat) : Q :=
  if ((7 <=? k) && (Z.of_nat n <=? 2 ^ (k - 5)))%Z%bool then 9 # 4 else 3.

Definition kahan_error (k : Z) (n : nat) (M : Q) := kahan_constant k n * u k * nat_Q n * M.

Definition from_accuracy (sized : bool) (error : Q -> Q) (L U : Q) : Q :=
  let M := magnitude L U in
  if is_zero (ideal sized L U) then 0
  else if sized then U - L + 2 * error M
  else Qmax M (U - L) + 2 * error M.

Definition split_from_accuracy (error : Q -> Q) (L U : Q) : Q :=
  Qmax (Qabs L + 2 * error (Qabs L)) (Qabs U + 2 * error (Qabs U)).

Definition split_accuracy (error : Q -> Q) (L U : Q) : Q := error (Qabs L) + error (Qabs U).

(** Toward zero; n counts for a public size. *)
Definition one_sign (L U : Q) := (Qle_bool 0 L || Qle_bool U 0)%bool.

Definition drift (sized : bool) (k : Z) (n : nat) (b : Q) : Q :=
  if sized then Qmin (power_below b) (power_below (nat_Q n * b) * pow2 (- k)) else power_below b.

Definition toward_zero_sensitivity (sized : bool) (k : Z) (n : nat) (L U : Q) : Q :=
  if is_zero (ideal sized L U) then 0 else
  let up := Qmax U 0 in
  let down := Qmax (- L) 0 in
  let du := drift sized k n up in
  let dd := drift sized k n down in
  if sized then
    if one_sign L U then U - L + Qmax du dd else du + up + dd + down + Qmax du dd
  else
    let larger := Qmax (du + up) (dd + down) in
    if one_sign L U then larger else larger + Qmax du dd.

(** Where n M is at most the largest finite value. *)
Definition toward_zero_accuracy (k : Z) (n : nat) (L U : Q) : Q :=
  (2 * u k * nat_Q (n - 1) + (if one_sign L U then 0 else u k)) * (nat_Q n * magnitude L U).

(** Shifted: the inner method for bounds 0 and U' = fl(U - L). *)
Definition shifted_upper (k eta : Z) (L U : Q) := nearest_float k eta (U - L).
Definition shifted_accuracy (k : Z) (n : nat) (inner L U : Q) : Q := inner + nat_Q n * u k * (U - L).

(** Our grid. *)
Record grid := Grid { grid_exponent : Z; grid_offset : Z; grid_low : Z; grid_high : Z }. (* the offset in steps *)

Definition our_grid (sized : bool) (eta : Z) (L U : Q) : grid :=
  let g := Z.max (floor_log2 (ideal sized L U) - 50) eta in
  let D := pow2 g in
  let m :=
    if sized then
      if below 0 L then Qfloor (L / D) else if below U 0 then Qceiling (U / D) else 0%Z
    else 0%Z in
  let l := Qceiling ((L - inject_Z m * D) / D) in
  let h := Qfloor ((U - inject_Z m * D) / D) in
  let nearer := if (Z.abs l <=? Z.abs h)%Z then l else h in
  Grid g m (if (l <=? h)%Z then l else nearer) (if (l <=? h)%Z then h else nearer).

Definition grid_sensitivity (sized : bool) (eta : Z) (L U : Q) : Q :=
  if is_zero (ideal sized L U) then 0 else
  let '(Grid g _ l h) := our_grid sized eta L U in
  pow2 g * inject_Z (if sized then h - l else Z.max (Z.abs l) (Z.abs h)).

(** Per record, then for n records: half a step, or a whole one if rounding is randomised. *)
Definition grid_accuracy (randomised sized : bool) (eta : Z) (n : nat) (L U : Q) : Q :=
  if is_zero (ideal sized L U) then 0 else
  let '(Grid g m l h) := our_grid sized eta L U in
  let D := pow2 g in
  let offset := inject_Z m * D in
  nat_Q n * Qmax (if randomised then D else D / 2)
    (Qmax (Qabs (U - (inject_Z h * D + offset))) (Qabs (L - (inject_Z l * D + offset)))).

(** A grid with a step of one's own, or the paper's for n records and an
    accumulator of `bits` bits; the paper's offset. *)
Definition paper_step (sized : bool) (bits : Z) (n : nat) (L U : Q) : Q :=
  let widest := if sized then U - L else Qmax (U - L) (magnitude L U) in
  let D := widest * nat_Q n / (pow2 (bits - 2) - nat_Q n) in
  if is_zero D then 1 else D.

Definition stepped_offset (sized : bool) (L U : Q) : Q :=
  if sized then if Qle_bool (Qabs L) (Qabs U) then Qmax L 0 else Qmin U 0 else 0.

Definition inward (L U D offset : Q) : Z * Z :=
  let l := Qceiling ((L - offset) / D) in
  let h := Qfloor ((U - offset) / D) in
  let nearer := if (Z.abs l <=? Z.abs h)%Z then l else h in
  if (l <=? h)%Z then (l, h) else (nearer, nearer).

Definition stepped_sensitivity (sized : bool) (D L U : Q) : Q :=
  let '(l, h) := inward L U D (stepped_offset sized L U) in
  D * inject_Z (if sized then h - l else Z.max (Z.abs l) (Z.abs h)).

Definition stepped_accuracy (randomised sized : bool) (D : Q) (n : nat) (L U : Q) : Q :=
  let offset := stepped_offset sized L U in
  let '(l, h) := inward L U D offset in
  nat_Q n * Qmax (if randomised then D else D / 2)
    (Qmax (Qabs (U - (inject_Z h * D + offset))) (Qabs (L - (inject_Z l * D + offset)))).
