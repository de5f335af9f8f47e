(** grid_randomised (docs/theorems/grid.md): randomised rounding as a function of its random bits, executable.

    A record and the bits drawn for it give one of the two integers next to (clamp(x) - offset) / D, held between J and
    K, whatever the bits are; so the sum is as sensitive as with any other rounding. The bits are compared, as one
    number, with the part of the way to the next integer. Where finitely many bits can write this part, as on a grid
    whose step is a power of two, the next integer is reached exactly as often as it should be; elsewhere t bytes miss
    that by less than 256^-t. *)

From Coq Require Import List Permutation ZArith QArith Qminmax Qreals Reals Lra Lia.
From Flocq Require Import Core IEEE754.Binary IEEE754.Bits.
From Soundsum Require Import Relations Sums Wide Grid Bounds Rationals.
Import ListNotations.
Open Scope Z_scope.

(** * Coins *)

(** `Stream.bernoulli`: digits of n/d in base 256, until one is not the byte drawn. *)
Fixpoint bernoulli (bytes : list Z) (n d : Z) : bool :=
  if (0 <? n) && (n <? d) then
    match bytes with
    | [] => false
    | drawn :: bytes =>
        if drawn =? 256 * n / d then bernoulli bytes ((256 * n) mod d) d else drawn <? 256 * n / d
    end
  else 0 <? n.

Definition is_byte b := 0 <= b < 256.
Definition number (bytes : list Z) := fold_left (fun a b => 256 * a + b) bytes 0.
Definition size (bytes : list Z) := 256 ^ Z.of_nat (length bytes).

Lemma size_pos bytes : 0 < size bytes.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma size_cons b bytes : size (b :: bytes) = 256 * size bytes.
Proof. unfold size. cbn [length]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. reflexivity. Qed.

Lemma number_cons b bytes : number (b :: bytes) = b * size bytes + number bytes.
Proof.
unfold number. cbn [fold_left]. rewrite Z.mul_0_r, Z.add_0_l.
assert (G : forall a,
  fold_left (fun a b => 256 * a + b) bytes a = a * size bytes + fold_left (fun a b => 256 * a + b) bytes 0).
{ induction bytes as [|c bytes IH]; intros a; [unfold size; simpl; lia|]. cbn [fold_left]. rewrite size_cons.
  rewrite (IH (256 * a + c)), (IH (256 * 0 + c)). ring. }
apply G.
Qed.

Lemma number_range bytes : Forall is_byte bytes -> 0 <= number bytes < size bytes.
Proof.
induction 1 as [|b bytes Hb H IH]; [unfold number, size; simpl; lia|]. rewrite number_cons, size_cons.
unfold is_byte in Hb. assert (S := size_pos bytes). nia.
Qed.

(** One comparison of all that was drawn. *)
Theorem bernoulli_compares bytes n d :
  Forall is_byte bytes -> 0 <= n <= d -> 0 < d -> bernoulli bytes n d = (number bytes <? n * size bytes / d).
Proof.
intros F. revert n. induction F as [|b bytes Hb F IH]; intros n Hn Hd.
- unfold number, size. simpl. rewrite Z.mul_1_r. destruct (Z.ltb_spec 0 n), (Z.ltb_spec n d); cbn [andb]; symmetry.
  + apply Z.ltb_ge. rewrite Z.div_small; lia.
  + apply Z.ltb_lt. replace n with d by lia. rewrite Z.div_same; lia.
  + apply Z.ltb_ge. rewrite Z.div_small; lia.
  + apply Z.ltb_ge. rewrite Z.div_small; lia.
- assert (R := number_range bytes F). assert (S := size_pos bytes). unfold is_byte in Hb. cbn [bernoulli].
  rewrite number_cons, size_cons.
  destruct (Z.ltb_spec 0 n) as [n0|n0], (Z.ltb_spec n d) as [nd|nd]; cbn [andb].
  + assert (E := Z.div_mod (256 * n) d ltac:(lia)). assert (M := Z.mod_pos_bound (256 * n) d Hd).
    set (digit := 256 * n / d) in *. set (rest := (256 * n) mod d) in *.
    assert (T : n * (256 * size bytes) / d = digit * size bytes + rest * size bytes / d).
    { replace (n * (256 * size bytes)) with (rest * size bytes + digit * size bytes * d) by nia.
      rewrite Z.div_add by lia. ring. }
    assert (B : 0 <= rest * size bytes / d < size bytes).
    { split; [apply Z.div_pos; nia|]. apply Z.div_lt_upper_bound; nia. }
    rewrite T. destruct (Z.eqb_spec b digit) as [->|ne].
    * rewrite IH by lia. destruct (Z.ltb_spec (number bytes) (rest * size bytes / d)); symmetry;
        [apply Z.ltb_lt|apply Z.ltb_ge]; lia.
    * destruct (Z.ltb_spec b digit); symmetry; [apply Z.ltb_lt|apply Z.ltb_ge]; nia.
  + symmetry. apply Z.ltb_lt. replace (n * (256 * size bytes)) with (256 * size bytes * d) by nia.
    rewrite Z.div_mul by lia. nia.
  + symmetry. apply Z.ltb_ge. replace n with 0 by lia. rewrite Z.mul_0_l, Z.div_0_l by lia. nia.
  + symmetry. apply Z.ltb_ge. replace n with 0 by lia. rewrite Z.mul_0_l, Z.div_0_l by lia. nia.
Qed.

(** * One record *)

(** 64 bits first, and bytes where they are a draw: whether to go on by one, after `rest` / p of the way. *)
Definition goes_on (word : Z) (bytes : list Z) (rest p : Z) : bool :=
  let digits := rest * 2 ^ 64 / p in
  if word <? digits then true
  else if digits <? word then false
  else bernoulli bytes ((rest * 2 ^ 64) mod p) p.

Theorem goes_on_compares word bytes rest p :
  Forall is_byte bytes -> 0 <= rest < p
  -> goes_on word bytes rest p = (word * size bytes + number bytes <? rest * (2 ^ 64 * size bytes) / p).
Proof.
intros F H. assert (R := number_range bytes F). assert (S := size_pos bytes). unfold goes_on. cbv zeta.
assert (E := Z.div_mod (rest * 2 ^ 64) p ltac:(lia)). assert (M := Z.mod_pos_bound (rest * 2 ^ 64) p ltac:(lia)).
set (digits := rest * 2 ^ 64 / p) in *. set (left := (rest * 2 ^ 64) mod p) in *.
assert (T : rest * (2 ^ 64 * size bytes) / p = digits * size bytes + left * size bytes / p).
{ rewrite Z.mul_assoc, E.
  replace ((p * digits + left) * size bytes) with (left * size bytes + digits * size bytes * p) by ring.
  rewrite Z.div_add by lia. ring. }
assert (B : 0 <= left * size bytes / p < size bytes).
{ split; [apply Z.div_pos; nia|]. apply Z.div_lt_upper_bound; nia. }
rewrite T. destruct (Z.ltb_spec word digits) as [h|h]; [|destruct (Z.ltb_spec digits word) as [h'|h']].
- symmetry. apply Z.ltb_lt. nia.
- symmetry. apply Z.ltb_ge. nia.
- rewrite bernoulli_compares by (auto; lia). replace word with digits by lia.
  destruct (Z.ltb_spec (number bytes) (left * size bytes / p)); symmetry; [apply Z.ltb_lt|apply Z.ltb_ge]; lia.
Qed.

(** As often as it should. All that can be drawn, each as likely as any other: 64 bits and t bytes. *)
Definition up_to (n : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat n)).

Fixpoint strings (t : nat) : list (list Z) :=
  match t with O => [[]] | S t => flat_map (fun b => map (cons b) (strings t)) (up_to 256) end.

Definition draws (t : nat) : list (Z * list Z) := list_prod (up_to (2 ^ 64)) (strings t).

Lemma in_up_to n z : In z (up_to n) -> 0 <= z < n.
Proof. intros H. apply in_map_iff in H as (i & <- & H). apply in_seq in H. lia. Qed.

Lemma strings_are_bytes t bytes : In bytes (strings t) -> length bytes = t /\ Forall is_byte bytes.
Proof.
revert bytes; induction t as [|t IH]; intros bytes H; cbn [strings] in H.
- destruct H as [<-|[]]. split; constructor.
- apply in_flat_map in H as (b & Hb & H). apply in_map_iff in H as (l & <- & H). apply IH in H as [H1 H2].
  apply in_up_to in Hb. split; [cbn [length]; lia|]. constructor; auto.
Qed.

Lemma pairs_in_order (N M : nat) :
  flat_map (fun a => map (fun b => (a * M + b)%nat) (seq 0 M)) (seq 0 N) = seq 0 (N * M).
Proof.
induction N as [|N IH]; [reflexivity|]. rewrite seq_S, flat_map_app, IH. cbn [flat_map plus]. rewrite app_nil_r.
rewrite (Nat.mul_succ_l N M), seq_app. f_equal. rewrite Nat.add_0_l. generalize (N * M)%nat. intros a.
clear. revert a. induction M as [|M IH]; intros a; [reflexivity|]. cbn [seq map]. rewrite Nat.add_0_r. f_equal.
rewrite <- (IH (S a)), <- seq_shift, map_map. apply map_ext. intros; lia.
Qed.

Lemma products_in_order N M :
  0 <= N -> 0 <= M -> flat_map (fun a => map (fun b => a * M + b) (up_to M)) (up_to N) = up_to (N * M).
Proof.
intros HN HM. unfold up_to. rewrite Z2Nat.inj_mul, <- pairs_in_order by lia.
generalize (Z.to_nat N). intros i. rewrite !flat_map_concat_map, concat_map, !map_map. f_equal. apply map_ext. intros a.
rewrite !map_map. apply map_ext. intros b. rewrite Nat2Z.inj_add, Nat2Z.inj_mul, Z2Nat.id; lia.
Qed.

Lemma strings_in_order t : map number (strings t) = up_to (256 ^ Z.of_nat t).
Proof.
induction t as [|t IH]; [reflexivity|]. cbn [strings].
replace (256 ^ Z.of_nat (S t)) with (256 * 256 ^ Z.of_nat t) by (rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia).
rewrite <- products_in_order, <- IH by (try lia; apply Z.pow_nonneg; lia).
rewrite !flat_map_concat_map, concat_map, map_map. f_equal. apply map_ext. intros b. rewrite !map_map.
apply map_ext_in. intros bytes H. apply strings_are_bytes in H as [<- _]. apply number_cons.
Qed.

Notation drawn d := (fst d * size (snd d) + number (snd d)).

Lemma draws_in_order t : map (fun d => drawn d) (draws t) = up_to (2 ^ 64 * 256 ^ Z.of_nat t).
Proof.
unfold draws. rewrite <- products_in_order by (apply Z.pow_nonneg; lia). rewrite <- strings_in_order.
assert (E : forall l, map (fun d => drawn d) (list_prod l (strings t))
  = flat_map (fun a => map (fun b => a * 256 ^ Z.of_nat t + b) (map number (strings t))) l); [|apply E].
induction l as [|a l IH]; [reflexivity|]. cbn [list_prod flat_map]. rewrite map_app, IH. f_equal. rewrite !map_map.
apply map_ext_in. intros bytes H. apply strings_are_bytes in H as [<- _]. reflexivity.
Qed.

Lemma counted_below N T : 0 <= T <= N -> length (filter (fun z => z <? T) (up_to N)) = Z.to_nat T.
Proof.
intros H. unfold up_to. replace (Z.to_nat N) with (Z.to_nat T + Z.to_nat (N - T))%nat by lia.
rewrite seq_app, map_app, filter_app, app_length.
assert (A : forall l,
  (forall i, In i l -> Z.of_nat i < T) -> length (filter (fun z => z <? T) (map Z.of_nat l)) = length l).
{ induction l as [|i l IH]; intros Hl; [reflexivity|]. cbn [map filter].
  rewrite (proj2 (Z.ltb_lt _ _)) by (apply Hl; now left). cbn [length]. f_equal. apply IH. intros; apply Hl.
  now right. }
assert (B : forall l,
  (forall i, In i l -> T <= Z.of_nat i) -> length (filter (fun z => z <? T) (map Z.of_nat l)) = 0%nat).
{ induction l as [|i l IH]; intros Hl; [reflexivity|]. cbn [map filter].
  rewrite (proj2 (Z.ltb_ge _ _)) by (apply Hl; now left). apply IH. intros; apply Hl. now right. }
rewrite A, B, seq_length; [lia| |]; intros i Hi; apply in_seq in Hi; lia.
Qed.

Lemma filtered {A B} (f : A -> bool) (g : B -> bool) (h : A -> B) l :
  (forall x, In x l -> f x = g (h x)) -> length (filter f l) = length (filter g (map h l)).
Proof.
induction l as [|x l IH]; intros H; [reflexivity|]. cbn [map filter]. rewrite (H x) by now left.
assert (E := IH (fun y Hy => H y (or_intror Hy))). destruct (g (h x)); cbn [length]; lia.
Qed.

Lemma second_of_a_draw t d : In d (draws t) -> In (snd d) (strings t).
Proof.
unfold draws. generalize (up_to (2 ^ 64)). intros l H. destruct d as [word bytes]. now apply in_prod_iff in H as [_ H].
Qed.

(** If t bytes are enough to write rest / p, then exactly this part of all draws goes on. *)
Theorem goes_on_as_often_as_it_should t rest p :
  0 <= rest < p -> (p | rest * (2 ^ 64 * 256 ^ Z.of_nat t))
  -> Z.of_nat (length (filter (fun d => goes_on (fst d) (snd d) rest p) (draws t))) * p
     = rest * Z.of_nat (length (draws t)).
Proof.
intros H Hp. assert (L : length (draws t) = Z.to_nat (2 ^ 64 * 256 ^ Z.of_nat t)).
{ rewrite <- (map_length (fun d => drawn d)), draws_in_order. unfold up_to. now rewrite map_length, seq_length. }
assert (N0 : 0 <= 2 ^ 64 * 256 ^ Z.of_nat t) by (apply Z.mul_nonneg_nonneg; apply Z.pow_nonneg; lia).
rewrite L. clear L. set (T := rest * (2 ^ 64 * 256 ^ Z.of_nat t) / p).
rewrite (filtered _ (fun z => z <? T) (fun d => drawn d)).
- rewrite draws_in_order. revert Hp N0 T. generalize (2 ^ 64 * 256 ^ Z.of_nat t). intros N Hp N0 T.
  assert (E : T * p = rest * N) by (unfold T; destruct Hp as [z ->]; now rewrite Z.div_mul by lia).
  rewrite counted_below by nia. rewrite !Z2Nat.id by nia. exact E.
- intros [word bytes] Hd. apply second_of_a_draw, strings_are_bytes in Hd as [<- Hd]. now apply goes_on_compares.
Qed.

(** For any other n/d: of all draws of t bytes as many as are whole in n/d of them, so less than one too few. *)
Theorem bernoulli_as_often_as_it_should t n d :
  0 <= n <= d -> 0 < d
  -> Z.of_nat (length (filter (fun bytes => bernoulli bytes n d) (strings t)))
     = n * Z.of_nat (length (strings t)) / d.
Proof.
intros H Hd. assert (N0 : 0 <= 256 ^ Z.of_nat t) by (apply Z.pow_nonneg; lia).
assert (L : length (strings t) = Z.to_nat (256 ^ Z.of_nat t)).
{ rewrite <- (map_length number), strings_in_order. unfold up_to. now rewrite map_length, seq_length. }
rewrite L, Z2Nat.id by lia. rewrite (filtered _ (fun z => z <? n * 256 ^ Z.of_nat t / d) number).
- rewrite strings_in_order. revert N0. generalize (256 ^ Z.of_nat t). intros N N0.
  assert (B : 0 <= n * N / d <= N).
  { split; [apply Z.div_pos; nia|]. apply Z.div_le_upper_bound; nia. }
  rewrite counted_below by exact B. apply Z2Nat.id. lia.
- intros bytes Hb. apply strings_are_bytes in Hb as [<- Hb]. now apply bernoulli_compares.
Qed.

(** n/p becomes one of the integers next to it: away from 0, as the code does for many records at once, or upward, as it
    does for one. *)
Definition around (word : Z) (bytes : list Z) (n p : Z) : Z :=
  let whole := Z.abs n / p + (if goes_on word bytes (Z.abs n mod p) p then 1 else 0) in
  if n <? 0 then - whole else whole.

Definition upward (bytes : list Z) (n p : Z) : Z := n / p + (if bernoulli bytes (n mod p) p then 1 else 0).

Lemma nothing_left bytes p : bernoulli bytes 0 p = false.
Proof. destruct bytes; reflexivity. Qed.

Theorem around_is_a_neighbour word bytes n p :
  0 <= word -> 0 < p -> exists coin : bool, around word bytes n p = n / p + (if coin then 1 else 0).
Proof.
intros W P. unfold around. assert (E := Z.div_mod (Z.abs n) p ltac:(lia)). assert (M := Z.mod_pos_bound (Z.abs n) p P).
set (w := Z.abs n / p) in *. set (r := Z.abs n mod p) in *. destruct (Z.ltb_spec n 0) as [h|h].
- rewrite (Z.abs_neq n) in E by lia. destruct (Z.eq_dec r 0) as [z|z].
  + exists false. rewrite z. unfold goes_on. rewrite Z.mul_0_l, Z.div_0_l, Z.mod_0_l, nothing_left by lia.
    replace (word <? 0) with false by (symmetry; apply Z.ltb_ge; lia).
    assert (D : n / p = - w) by (symmetry; apply Z.div_unique with 0; lia). rewrite D.
    destruct (0 <? word); lia.
  + assert (D : n / p = - w - 1) by (symmetry; apply Z.div_unique with (p - r); lia). rewrite D.
    destruct (goes_on word bytes r p); [exists false|exists true]; lia.
- exists (goes_on word bytes r p). unfold w. rewrite (Z.abs_eq n) by lia. destruct (goes_on word bytes r p); lia.
Qed.

Theorem upward_is_a_neighbour bytes n p : exists coin : bool, upward bytes n p = n / p + (if coin then 1 else 0).
Proof. now exists (bernoulli bytes (n mod p) p). Qed.

(** A double in the bounds: NaN counts as 0, and infinities clamp. *)
Definition clampQ (L U x : Q) := Qmax L (Qmin U x).

Definition clean64 (L U : Q) (x : binary64) : Q :=
  match x with
  | B754_zero _ _ _ | B754_nan _ _ _ _ _ => clampQ L U 0
  | B754_infinity _ _ s => if s then L else U
  | B754_finite _ _ s m e _ => clampQ L U (inject_Z (cond_Zopp s (Zpos m)) * pow2 e)
  end.

(** The integer of a record, from a base that lies `shift` steps above the offset; or from the offset itself, upward. *)
Definition randomised64 (L U D base : Q) (shift J K : Z) (record : Z * list Z * binary64) : Z :=
  let '(word, bytes, x) := record in
  let y := ((clean64 L U x - base) / D)%Q in
  clamp J K (around word bytes (Qnum y) (Zpos (Qden y)) + shift).

Definition randomised_up64 (L U D offset : Q) (J K : Z) (record : list Z * binary64) : Z :=
  let '(bytes, x) := record in
  let y := ((clean64 L U x - offset) / D)%Q in
  clamp J K (upward bytes (Qnum y) (Zpos (Qden y))).

(** * Whatever the bits are, it is the rounding of Grid.v with one coin or the other, and so within a step. *)

Open Scope R_scope.

Section Neighbours.
Variables L U D offset : Q.
Hypothesis LU : Q2R L <= Q2R U.
Hypothesis D_pos : 0 < Q2R D.
Notation J := (Grid.low (Q2R L) (Q2R U) (Q2R D) (Q2R offset)).
Notation K := (Grid.high (Q2R L) (Q2R U) (Q2R D) (Q2R offset)).

Lemma Q2R_clamp x : Q2R (clampQ L U x) = clampR (Q2R L) (Q2R U) (Q2R x).
Proof. unfold clampQ, clampR. now rewrite Q2R_max, Q2R_min. Qed.

(** The real number a double counts as. *)
Definition real_of (x : binary64) : R :=
  match x with B754_infinity _ _ s => if s then Q2R L else Q2R U | _ => Binary.B2R 53 1024 x end.

Lemma clean_is_clamped x : Q2R (clean64 L U x) = clampR (Q2R L) (Q2R U) (real_of x).
Proof.
destruct x as [s|s|s p h|s m e h]; unfold clean64, real_of; cbn [Binary.B2R].
- rewrite Q2R_clamp. f_equal. unfold Q2R. simpl. lra.
- unfold clampR. destruct s; [rewrite Rmin_right, Rmax_left|rewrite Rmin_left, Rmax_right]; auto; lra.
- rewrite Q2R_clamp. f_equal. unfold Q2R. simpl. lra.
- rewrite Q2R_clamp. f_equal. rewrite Q2R_mult, Q2R_Z, Q2R_pow2. reflexivity.
Qed.

Lemma floor_of_quotient y : Zfloor (Q2R y) = (Qnum y / Zpos (Qden y))%Z.
Proof. unfold Q2R. apply (Zfloor_div (Qnum y) (Zpos (Qden y))). discriminate. Qed.

Lemma D_not_0 : ~ (D == 0)%Q.
Proof. intros E. apply Qeq_eqR in E. rewrite E, RMicromega.Q2R_0 in D_pos. lra. Qed.

Theorem randomised_is_rounded base shift record :
  Q2R base = Q2R offset + IZR shift * Q2R D -> (0 <= fst (fst record))%Z
  -> exists coin,
       randomised64 L U D base shift J K record
         = Grid.rounded (Q2R L) (Q2R U) (Q2R D) (Q2R offset) coin (real_of (snd record)).
Proof.
destruct record as [[word bytes] x]. cbn [fst snd]. intros B W. unfold randomised64, Grid.rounded. cbv zeta.
set (y := ((clean64 L U x - base) / D)%Q).
destruct (around_is_a_neighbour word bytes (Qnum y) (Zpos (Qden y)) W eq_refl) as [coin E]. exists coin.
assert (Y : (clampR (Q2R L) (Q2R U) (real_of x) - Q2R offset) / Q2R D = Q2R y + IZR shift).
{ unfold y. rewrite Q2R_div, Q2R_minus, clean_is_clamped, B by exact D_not_0. field. lra. }
rewrite Y, E, <- floor_of_quotient.
assert (F : Zfloor (Q2R y + IZR shift) = (Zfloor (Q2R y) + shift)%Z).
{ apply Zfloor_imp. rewrite !plus_IZR. generalize (Zfloor_lb (Q2R y)) (Zfloor_ub (Q2R y)). lra. }
rewrite F. f_equal. destruct coin; lia.
Qed.

Theorem randomised_up_is_rounded record :
  exists coin,
    randomised_up64 L U D offset J K record
      = Grid.rounded (Q2R L) (Q2R U) (Q2R D) (Q2R offset) coin (real_of (snd record)).
Proof.
destruct record as [bytes x]. cbn [snd]. unfold randomised_up64, Grid.rounded. cbv zeta.
set (y := ((clean64 L U x - offset) / D)%Q).
destruct (upward_is_a_neighbour bytes (Qnum y) (Zpos (Qden y))) as [coin E]. exists coin.
assert (Y : (clampR (Q2R L) (Q2R U) (real_of x) - Q2R offset) / Q2R D = Q2R y).
{ unfold y. now rewrite Q2R_div, Q2R_minus, clean_is_clamped by exact D_not_0. }
rewrite Y, E, <- floor_of_quotient. f_equal. destruct coin; lia.
Qed.
End Neighbours.

(** * Sensitivity: a record carries its bits with it, as it does in any draw of them. *)
Section Sensitivity.
Variables (L U D base : Q) (shift J K : Z).
Hypothesis JK : (J <= K)%Z.
Notation q := (randomised64 L U D base shift J K).

Lemma randomised_within record : (J <= q record <= K)%Z.
Proof. destruct record as [[word bytes] x]. now apply clamp_within. Qed.

Theorem randomised_symmetric u v : symmetric u v -> (Z.abs (wide q u - wide q v) <= magnitudeZ J K)%Z.
Proof. apply wide_symmetric, randomised_within. Qed.

Theorem randomised_change_one u v : change_one u v -> (Z.abs (wide q u - wide q v) <= K - J)%Z.
Proof. apply wide_change_one; auto using randomised_within. Qed.

(** The same where one record is rounded at a time, upward from the offset. *)
Variable offset : Q.
Notation q_up := (randomised_up64 L U D offset J K).

Lemma randomised_up_within record : (J <= q_up record <= K)%Z.
Proof. destruct record as [bytes x]. now apply clamp_within. Qed.

Theorem randomised_up_symmetric u v : symmetric u v -> (Z.abs (wide q_up u - wide q_up v) <= magnitudeZ J K)%Z.
Proof. apply wide_symmetric, randomised_up_within. Qed.

Theorem randomised_up_change_one u v : change_one u v -> (Z.abs (wide q_up u - wide q_up v) <= K - J)%Z.
Proof. apply wide_change_one; auto using randomised_up_within. Qed.
End Sensitivity.
