(** The samplers (src/soundsum/privacy/samplers.py, src/soundsum/randomness.py, src/kernels/noise.cpp), byte for byte.

    Loops have fuel: `digits` for one comparison of digits, `terms` for the failures of Bernoulli(x / k), `ones` for the
    number of coins of exp(-1), `attempts` for what is drawn again.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith Bool Arith Lia.
From Soundsum Require Import Programs.
Import ListNotations.
Open Scope Z_scope.

(** `Stream.bernoulli`: true with probability n/d. *)
Fixpoint bernoulli (digits : nat) (n d : Z) : program bool :=
  if (0 <? n) && (n <? d) then
    match digits with
    | O => Unfinished
    | S digits =>
        Draw (fun drawn =>
          if drawn =? 256 * n / d then bernoulli digits ((256 * n) mod d) d else Return (drawn <? 256 * n / d))
    end
  else Return (0 <? n).

(** `bernoulli` of noise.cpp, without division. *)
Fixpoint kernel_bernoulli (digits : nat) (n d : Z) : program bool :=
  if (0 <? n) && (n <? d) then
    match digits with
    | O => Unfinished
    | S digits =>
        Draw (fun drawn =>
          if 256 * n <? d * drawn then Return false
          else if d <=? 256 * n - d * drawn then Return true
          else kernel_bernoulli digits (256 * n - d * drawn) d)
    end
  else Return (0 <? n).

(** `_bernoulli_exp_at_most_one`, from its k-th coin on: true with probability exp(-n/d), for n <= d. *)
Fixpoint first_failure (terms digits k : nat) (n d : Z) : program bool :=
  match terms with
  | O => Unfinished
  | S terms =>
      let* coin := bernoulli digits n (d * Z.of_nat k) in
      if coin then first_failure terms digits (S k) n d else Return (Nat.odd k)
  end.

Definition bernoulli_exp (terms digits : nat) (n d : Z) : program bool := first_failure terms digits 1 n d.

(** How often a coin shows true before it shows false. *)
Fixpoint successes (ones : nat) (coin : program bool) (v : nat) : program nat :=
  match ones with
  | O => Unfinished
  | S ones => let* c := coin in if c then successes ones coin (S v) else Return v
  end.

(** Until there is a result. *)
Fixpoint again (attempts : nat) {A} (attempt : program (option A)) : program A :=
  match attempts with
  | O => Unfinished
  | S attempts => let* r := attempt in match r with Some a => Return a | None => again attempts attempt end
  end.

(** `Stream.below`: a uniform integer below n. *)
Fixpoint number_of (count : nat) (acc : Z) : program Z :=
  match count with O => Return acc | S count => Draw (fun byte => number_of count (256 * acc + byte)) end.

Definition bits_below (n : Z) : Z := Z.log2_up n.
Definition bytes_below (n : Z) : Z := (bits_below n + 7) / 8.

Definition below (attempts : nat) (n : Z) : program Z :=
  again attempts
    (let* drawn := number_of (Z.to_nat (bytes_below n)) 0 in
     let u := drawn / 2 ^ (8 * bytes_below n - bits_below n) in
     Return (if u <? n then Some u else None)).

(** `_laplace`, of scale t/s. *)
Definition signed (digits : nat) (magnitude : Z) : program (option Z) :=
  let* negative := bernoulli digits 1 2 in
  Return (if negative then if magnitude =? 0 then None else Some (- magnitude) else Some magnitude).

Definition attempt (attempts digits terms ones : nat) (t s : Z) : program (option Z) :=
  let* u := below attempts t in
  let* kept := bernoulli_exp terms digits u t in
  if kept then
    let* v := successes ones (bernoulli_exp terms digits 1 1) 0 in signed digits ((u + t * Z.of_nat v) / s)
  else Return None.

Definition laplace_within (attempts digits terms ones : nat) (t s : Z) : program Z :=
  again attempts (attempt attempts digits terms ones t s).

Definition laplace (fuel : nat) (t s : Z) : program Z := laplace_within fuel fuel fuel fuel t s.

(** * More fuel, same results *)
Lemma bernoulli_extended i j n d : (i <= j)%nat -> extended (bernoulli i n d) (bernoulli j n d).
Proof.
revert j n. induction i as [|i IH]; intros j n H.
- destruct j; cbn [bernoulli]; destruct (_ && _); constructor.
- destruct j; [lia|]. cbn [bernoulli]. destruct (_ && _); constructor. intros b.
  destruct (b =? _); [apply IH; lia|constructor].
Qed.

Lemma first_failure_extended i j i' j' k n d :
  (i <= j)%nat -> (i' <= j')%nat -> extended (first_failure i i' k n d) (first_failure j j' k n d).
Proof.
revert j k. induction i as [|i IH]; intros j k H H'; [constructor|]. destruct j; [lia|]. cbn [first_failure].
apply extended_bind; [now apply bernoulli_extended|]. intros []; [apply IH; lia|constructor].
Qed.

Lemma successes_extended i j p q v : (i <= j)%nat -> extended p q -> extended (successes i p v) (successes j q v).
Proof.
revert j v. induction i as [|i IH]; intros j v H E; [constructor|]. destruct j; [lia|]. cbn [successes].
apply extended_bind; auto. intros []; [apply IH; auto; lia|constructor].
Qed.

Lemma again_extended i j A (p q : program (option A)) :
  (i <= j)%nat -> extended p q -> extended (again i p) (again j q).
Proof.
revert j. induction i as [|i IH]; intros j H E; [constructor|]. destruct j; [lia|]. cbn [again].
apply extended_bind; auto. intros [a|]; [constructor|apply IH; auto; lia].
Qed.

Theorem laplace_within_extended a a' d d' k k' o o' t s :
  (a <= a')%nat -> (d <= d')%nat -> (k <= k')%nat -> (o <= o')%nat
  -> extended (laplace_within a d k o t s) (laplace_within a' d' k' o' t s).
Proof.
intros A D K O. apply again_extended; auto. apply extended_bind.
- apply again_extended; auto. apply extended_refl.
- intros u. apply extended_bind; [now apply first_failure_extended|]. intros []; [|constructor].
  apply extended_bind; [apply successes_extended; auto; now apply first_failure_extended|]. intros v.
  apply extended_bind; [now apply bernoulli_extended|]. intros; apply extended_refl.
Qed.

Theorem laplace_extended i j t s : (i <= j)%nat -> extended (laplace i t s) (laplace j t s).
Proof. intros. now apply laplace_within_extended. Qed.

(** The kernel's comparison of digits is the reference's. *)
Theorem the_kernels_coin digits n d bytes :
  0 < d -> run (kernel_bernoulli digits n d) bytes = run (bernoulli digits n d) bytes.
Proof.
intros D. revert n bytes. induction digits as [|digits IH]; intros n bytes; cbn [kernel_bernoulli bernoulli];
  destruct ((0 <? n) && (n <? d)) eqn:H; auto. apply andb_prop in H as [H1 H2]. apply Z.ltb_lt in H1, H2.
cbn [run]. destruct bytes as [|b bytes]; auto.
assert (E := Z.div_mod (256 * n) d ltac:(lia)). assert (M := Z.mod_pos_bound (256 * n) d D).
set (q := 256 * n / d) in *. set (r := (256 * n) mod d) in *.
destruct (Z.ltb_spec (256 * n) (d * b)) as [h|h].
- assert (q < b) by nia. destruct (Z.eqb_spec b q); [lia|]. destruct (Z.ltb_spec b q); [lia|reflexivity].
- destruct (Z.leb_spec d (256 * n - d * b)) as [h'|h'].
  + assert (b < q) by nia. destruct (Z.eqb_spec b q); [lia|]. destruct (Z.ltb_spec b q); [reflexivity|lia].
  + assert (b = q) as -> by nia. rewrite Z.eqb_refl. replace (256 * n - d * q) with r by lia. apply IH.
Qed.

(** The samplers of noise.cpp, with that comparison. They give up after 255 terms (`most`), or where the bytes end; the
    reference then starts again from the same bytes. *)
Fixpoint kernel_first_failure (terms digits k : nat) (n d : Z) : program bool :=
  match terms with
  | O => Unfinished
  | S terms =>
      let* coin := kernel_bernoulli digits n (d * Z.of_nat k) in
      if coin then kernel_first_failure terms digits (S k) n d else Return (Nat.odd k)
  end.

Definition kernel_exp (digits : nat) (n d : Z) : program bool := kernel_first_failure 255 digits 1 n d.

Definition kernel_laplace (fuel : nat) (t s : Z) : program Z :=
  again fuel
    (let* u := below fuel t in
     let* kept := kernel_exp fuel u t in
     if kept then
       let* v := successes 256 (kernel_exp fuel 1 1) 0 in
       let magnitude := (u + t * Z.of_nat v) / s in
       let* negative := kernel_bernoulli fuel 1 2 in
       Return (if negative then if magnitude =? 0 then None else Some (- magnitude) else Some magnitude)
     else Return None).

Definition kernel_then_reference (fuel : nat) (t s : Z) (bytes : list Z) : option (Z * list Z) :=
  match run (kernel_laplace fuel t s) bytes with Some r => Some r | None => run (laplace fuel t s) bytes end.

(** Programs that make the same of all bytes. *)
Definition alike {A} (p q : program A) := forall bytes, run p bytes = run q bytes.

Lemma alike_bind A B (p q : program A) (f g : A -> program B) :
  alike p q -> (forall a, alike (f a) (g a)) -> alike (bind p f) (bind q g).
Proof. intros P F bytes. rewrite !run_bind, P. destruct (run q bytes) as [[a rest]|]; [apply F|reflexivity]. Qed.

Lemma alike_refl A (p : program A) : alike p p.
Proof. intros bytes. reflexivity. Qed.

Lemma alike_again attempts A (p q : program (option A)) : alike p q -> alike (again attempts p) (again attempts q).
Proof.
intros H. induction attempts as [|attempts IH]; [apply alike_refl|]. apply alike_bind; auto.
intros [a|]; [apply alike_refl|exact IH].
Qed.

Lemma alike_successes ones p q v : alike p q -> alike (successes ones p v) (successes ones q v).
Proof.
intros H. revert v. induction ones as [|ones IH]; intros v; [apply alike_refl|]. apply alike_bind; auto.
intros []; [apply IH|apply alike_refl].
Qed.

Lemma kernel_first_failure_alike terms digits k n d :
  0 < d -> (1 <= k)%nat -> alike (kernel_first_failure terms digits k n d) (first_failure terms digits k n d).
Proof.
intros D. revert k. induction terms as [|terms IH]; intros k K; [apply alike_refl|].
apply alike_bind; [intros bytes; apply the_kernels_coin; nia|]. intros []; [apply IH; lia|apply alike_refl].
Qed.

Lemma kernel_exp_alike digits n d : 0 < d -> alike (kernel_exp digits n d) (bernoulli_exp 255 digits n d).
Proof. intros D. now apply kernel_first_failure_alike. Qed.

Lemma kernel_laplace_alike fuel t s : 0 < t -> alike (kernel_laplace fuel t s) (laplace_within fuel fuel 255 256 t s).
Proof.
intros T. apply alike_again, alike_bind; [apply alike_refl|]. intros u. apply alike_bind; [now apply kernel_exp_alike|].
intros []; [|apply alike_refl]. apply alike_bind; [apply alike_successes, kernel_exp_alike; lia|]. intros v.
apply alike_bind; [intros bytes; apply the_kernels_coin; lia|]. intros; apply alike_refl.
Qed.

(** What the kernel does find the reference would have found. *)
Theorem the_kernel_changes_nothing fuel t s bytes :
  0 < t -> (256 <= fuel)%nat -> kernel_then_reference fuel t s bytes = run (laplace fuel t s) bytes.
Proof.
intros T H. unfold kernel_then_reference. rewrite kernel_laplace_alike by exact T.
destruct (run (laplace_within fuel fuel 255 256 t s) bytes) as [r|] eqn:E; [|reflexivity].
symmetry. apply (extended_run _ (laplace_within fuel fuel 255 256 t s)); auto. apply laplace_within_extended; lia.
Qed.
