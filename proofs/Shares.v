(** The noise of a release, as the code computes it from what was asked (src/soundsum/privacy/units.py, guarantee.py,
    noises/, src/soundsum/statistics/): how far one unit moves each part, how epsilon or rho is divided between the parts
    that need noise, and the scale of each part's noise. Executable; the tests compare it with the code.

    What the parts cost together is at most what was asked for.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Bool Lia Qfield Lqa.
From Soundsum Require Import Bounds.
Import ListNotations.
Open Scope Z_scope.

(** `Norms`: how far a vector of integers can move, in L1 and in L2 squared, and how many entries at once. *)
Record norms := Norms { norm1 : Z; norm2 : Z; entries : Z }.

(** `Unit`: a record, or a person with at most so many rows in each of so many groups. None means one sum of every row. *)
Record privacy_unit := Unit { groups : option Z; max_rows : option Z; max_groups : Z }.

Definition is_plain (u : privacy_unit) :=
  match groups u, max_rows u with None, None => true | _, _ => false end.

(** `Unit.norms`, where a record adds something in [low, high]. *)
Definition unit_norms (u : privacy_unit) (low high : Z) (sized : bool) : norms :=
  let most := Z.max (Z.abs low) (Z.abs high) in
  match max_rows u with
  | Some r =>
      let g := Z.min (max_groups u) (match groups u with Some m => m | None => 1 end) in
      Norms (g * r * most) (g * (r * most) ^ 2) g
  | None =>
      if sized then
        match groups u with
        | None => Norms (high - low) ((high - low) ^ 2) 1
        | Some m =>
            if m =? 1 then let widest := Z.max most (high - low) in Norms widest (widest ^ 2) 1
            else Norms (2 * most) (Z.max (2 * most ^ 2) ((high - low) ^ 2)) 2
        end
      else Norms most (most ^ 2) 1
  end.

(** The parts of each statistic: what a record adds to each, where its integer is in [J, K]. *)
Inductive statistic := Sum | Count | Mean | Variance | Histogram.

Definition ranges (k : statistic) (is_size_public : bool) (J K : Z) : list (Z * Z) :=
  let counted := if is_size_public then [] else [(1, 1)] in
  match k with
  | Sum => [(J, K)]
  | Count | Histogram => [(1, 1)]
  | Mean => (- (K - J), K - J) :: counted
  | Variance => (- (K - J), K - J) :: (0, (K - J) ^ 2) :: counted
  end.

Definition statistic_norms (k : statistic) (u : privacy_unit) (sized : bool) (J K : Z) : list norms :=
  map (fun '(low, high) => unit_norms u low high sized) (ranges k (is_plain u && sized) J K).

(** The grid of a mean (50 bits) and of a variance (28), and of every other statistic. *)
Definition fine_grid (fineness : Z) (sized : bool) (eta : Z) (L U : Q) : grid :=
  let g := Z.max (floor_log2 (ideal sized L U) - fineness) eta in
  let D := pow2 g in
  let m :=
    if sized then
      if below 0 L then Qround.Qfloor (L / D) else if below U 0 then Qround.Qceiling (U / D) else 0
    else 0 in
  let l := Qround.Qceiling ((L - inject_Z m * D) / D) in
  let h := Qround.Qfloor ((U - inject_Z m * D) / D) in
  let nearer := if Z.abs l <=? Z.abs h then l else h in
  Grid g m (if l <=? h then l else nearer) (if l <=? h then h else nearer).

Lemma our_grid_is_fine sized eta L U : our_grid sized eta L U = fine_grid 50 sized eta L U.
Proof. reflexivity. Qed.

Lemma fine_grid_order fineness sized eta L U :
  grid_low (fine_grid fineness sized eta L U) <= grid_high (fine_grid fineness sized eta L U).
Proof.
unfold fine_grid. cbv zeta. cbn [grid_low grid_high]. set (l := Qround.Qceiling _). set (h := Qround.Qfloor _).
destruct (Z.leb_spec l h); lia.
Qed.

(** Is the grid counted from zero, or from near the bounds? *)
Definition from_near (k : statistic) (u : privacy_unit) (sized : bool) :=
  match k with Mean | Variance => true | _ => sized && is_plain u end.

Definition fineness (k : statistic) := match k with Variance => 28 | _ => 50 end.

(** Step, offset, J and K of a column of floats; where L = U = 0, or L = U and the grid starts there, every integer is 0. *)
Definition steps_of (k : statistic) (u : privacy_unit) (sized : bool) (eta : Z) (L U : Q) : Q * Q * Z * Z :=
  let near := from_near k u sized in
  if is_zero (ideal near L U) then (1%Q, (if near then L else 0%Q), 0, 0) else
  let '(Grid g m l h) := fine_grid (fineness k) near eta L U in (pow2 g, (inject_Z m * pow2 g)%Q, l, h).

(** `Guarantee.divide` and `noises_for`: a part of the whole for each part of each task, by weight. *)
Definition is_moved (n : norms) := 0 <? norm1 n.
Definition needs_noise (parts : list norms) := existsb is_moved parts.
Definition task := (Q * list norms)%type. (* its weight and its parts *)

Open Scope Q_scope.
Fixpoint sum_Q (l : list Q) : Q := match l with [] => 0 | x :: l => x + sum_Q l end.

Definition needy (tasks : list task) := sum_Q (map fst (filter (fun t => needs_noise (snd t)) tasks)).
Definition every (tasks : list task) := sum_Q (map fst tasks).

Definition task_share (tasks : list task) (t : task) : Q :=
  fst t / (if needs_noise (snd t) then needy tasks else every tasks).

Definition part_share (parts : list norms) : Q := 1 / inject_Z (Z.max 1 (Z.of_nat (length (filter is_moved parts)))).

Definition shares (tasks : list task) : list (list (norms * Q)) :=
  map (fun t => map (fun n => (n, task_share tasks t * part_share (snd t))) (snd t)) tasks.

(** What is asked of a part, and how much noise that takes. *)
Inductive noise := NoNoise | LaplaceNoise (scale : Q) | GaussianNoise (sigma_squared : Q).

Definition laplace_for (epsilon : Q) (n : norms) : noise :=
  if is_moved n then LaplaceNoise (Qred (inject_Z (norm1 n) / epsilon)) else NoNoise.

Definition gaussian_for (rho : Q) (n : norms) : noise :=
  if is_moved n then GaussianNoise (Qred (inject_Z (norm2 n) / (2 * rho))) else NoNoise.

(** `Gaussian.fit`, of an epsilon and a delta: where one entry moves, some sigma^2 found for a number that moves by norm1
    (`gaussian_sigma2`); elsewhere that of a rho (`zcdp_rho`). *)
Definition gaussian_within (own : Z -> Q -> Q -> Q) (rho : Q -> Q -> Q) (epsilon delta share : Q) (n : norms) : noise :=
  if is_moved n then
    if (entries n =? 1)%Z then GaussianNoise (own (norm1 n) (epsilon * share) (delta * share))
    else gaussian_for (rho (epsilon * share) (delta * share)) n
  else NoNoise.

Definition noises (fit : Q -> norms -> noise) (whole : Q) (tasks : list task) : list (list noise) :=
  map (map (fun '(n, share) => fit (whole * share) n)) (shares tasks).

(** * The shares of those that need noise add up to the whole. *)
Lemma sum_Q_app l l' : sum_Q (l ++ l') == sum_Q l + sum_Q l'.
Proof. induction l as [|x l IH]; cbn [sum_Q app]; [ring|]. rewrite IH. ring. Qed.

Definition spent (l : list (norms * Q)) : Q := sum_Q (map snd (filter (fun p => is_moved (fst p)) l)).

Lemma spent_app l l' : spent (l ++ l') == spent l + spent l'.
Proof. unfold spent. now rewrite filter_app, map_app, sum_Q_app. Qed.

Lemma spent_equally parts x :
  spent (map (fun n => (n, x)) parts) == inject_Z (Z.of_nat (length (filter is_moved parts))) * x.
Proof.
unfold spent. induction parts as [|n parts IH]; [cbn; ring|]. cbn [map filter fst]. destruct (is_moved n); auto.
cbn [map sum_Q snd length]. rewrite IH, Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus. ring.
Qed.

Lemma needs_some parts : needs_noise parts = negb (length (filter is_moved parts) =? 0)%nat.
Proof.
induction parts as [|n parts IH]; [reflexivity|]. unfold needs_noise in *. cbn [existsb filter].
destruct (is_moved n); [reflexivity|]. exact IH.
Qed.

Lemma spent_by_a_task parts x :
  spent (map (fun n => (n, x * part_share parts)) parts) == if needs_noise parts then x else 0.
Proof.
rewrite spent_equally, needs_some. unfold part_share. destruct (length (filter is_moved parts)) as [|k].
- cbn. ring.
- cbn [Nat.eqb negb]. rewrite Z.max_r by lia. field. unfold inject_Z, Qeq. cbn. lia.
Qed.

Lemma positive_sum l : (forall x, In x l -> 0 < x) -> l = [] \/ 0 < sum_Q l.
Proof.
induction l as [|x l IH]; intros H; [now left|right]. cbn [sum_Q]. assert (0 < x) by (apply H; now left).
destruct IH as [->|IH]; [intros; apply H; now right|cbn [sum_Q]; lra|lra].
Qed.

Theorem shares_add_up tasks :
  (forall t, In t tasks -> 0 < fst t)
  -> spent (concat (shares tasks)) == if existsb (fun t => needs_noise (snd t)) tasks then 1 else 0.
Proof.
intros W. assert (N : forall rest, spent (concat (map (fun t =>
  map (fun n => (n, task_share tasks t * part_share (snd t))) (snd t)) rest)) == needy rest / needy tasks).
{ induction rest as [|t rest IH].
  - cbn. unfold Qdiv. ring.
  - cbn [map concat]. rewrite spent_app, IH, spent_by_a_task. unfold task_share.
    replace (needy (t :: rest)) with (if needs_noise (snd t) then fst t + needy rest else needy rest)
      by (unfold needy; cbn [filter]; now destruct (needs_noise (snd t))).
    destruct (needs_noise (snd t)); unfold Qdiv; ring. }
unfold shares. rewrite N.
assert (P : existsb (fun t => needs_noise (snd t)) tasks = false -> needy tasks == 0).
{ intros E. unfold needy. clear - E. induction tasks as [|t l IH]; [reflexivity|]. cbn [existsb filter] in *.
  apply orb_false_iff in E as [-> E]. now apply IH. }
destruct (existsb _ tasks) eqn:E.
- destruct (positive_sum (map fst (filter (fun t => needs_noise (snd t)) tasks))) as [Z|Z].
  + intros x Hx. apply in_map_iff in Hx as (t & <- & Ht). apply filter_In in Ht as [Ht _]. now apply W.
  + exfalso. apply existsb_exists in E as (t & Ht & Hn).
    assert (In t (filter (fun t => needs_noise (snd t)) tasks)) by now apply filter_In.
    destruct (filter _ tasks); [contradiction|discriminate].
  + fold (needy tasks) in Z. field. lra.
- rewrite P by reflexivity. reflexivity.
Qed.

Corollary no_more_than_the_whole tasks :
  (forall t, In t tasks -> 0 < fst t) -> spent (concat (shares tasks)) <= 1.
Proof. intros W. rewrite shares_add_up by exact W. destruct existsb; lra. Qed.

(** Every part that needs noise has a positive share. *)
Theorem shares_are_positive tasks n x :
  (forall t, In t tasks -> 0 < fst t) -> In (n, x) (concat (shares tasks)) -> is_moved n = true -> 0 < x.
Proof.
intros W H M. apply in_concat in H as (l & Hl & H). unfold shares in Hl. apply in_map_iff in Hl as (t & <- & Ht).
apply in_map_iff in H as (m & E & Hm). injection E as -> <-.
assert (Nd : needs_noise (snd t) = true) by (apply existsb_exists; eauto).
assert (0 < needy tasks).
{ destruct (positive_sum (map fst (filter (fun t => needs_noise (snd t)) tasks))) as [Z|Z]; auto.
  - intros y Hy. apply in_map_iff in Hy as (t' & <- & Ht'). apply filter_In in Ht' as [Ht' _]. now apply W.
  - assert (In t (filter (fun t => needs_noise (snd t)) tasks)) by now apply filter_In.
    destruct (filter _ tasks); [contradiction|discriminate]. }
unfold task_share. rewrite Nd. assert (0 < fst t) by now apply W.
assert (P : 0 < part_share (snd t)).
{ unfold part_share. apply Qlt_shift_div_l; [unfold Qlt, inject_Z; cbn; lia|lra]. }
apply Qmult_lt_0_compat; auto. apply Qlt_shift_div_l; [assumption|lra].
Qed.

Theorem shares_are_at_most_one tasks n x :
  (forall t, In t tasks -> 0 < fst t) -> In (n, x) (concat (shares tasks)) -> is_moved n = true -> x <= 1.
Proof.
intros W H M. apply Qle_trans with (2 := no_more_than_the_whole tasks W). unfold spent.
assert (P : forall p, In p (filter (fun p => is_moved (fst p)) (concat (shares tasks))) -> 0 < snd p).
{ intros [m y] I. apply filter_In in I as [I J]. now apply (shares_are_positive tasks m). }
assert (I : In (n, x) (filter (fun p => is_moved (fst p)) (concat (shares tasks)))) by now apply filter_In.
induction (filter _ _) as [|p l IH]; [contradiction|]. cbn [map sum_Q].
assert (0 < snd p) by (apply P; now left). assert (L : 0 <= sum_Q (map snd l)).
{ destruct (positive_sum (map snd l)) as [->|L]; [|cbn [sum_Q]; lra|lra]. intros y Y. apply in_map_iff in Y as (q & <- & Q).
  apply P. now right. }
destruct I as [-> | I]; [cbn [snd]; lra|]. assert (x <= sum_Q (map snd l)) by (apply IH; auto; intros q Q; apply P; now right). lra.
Qed.
