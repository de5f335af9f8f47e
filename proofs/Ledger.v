(** The ledger in its file (src/soundsum/budget/), as a transition system: what each transaction reads and writes, and the
    processes and the owner around it. A transaction happens whole or not at all, whenever its process is killed.

    Executable; tests/proofs/test_ledger.py replays random histories, with kills, on the real file. Proved: charges that
    are not given back stay within the limit, nothing is shown without a charge that stays, once, and how many reads may
    fail. Shares of analysts are not in it.

    Page: docs/theorems/noise.md. *)

From Coq Require Import List ZArith QArith Qminmax Bool Lia Lqa.
Import ListNotations.
Open Scope Q_scope.

(** * Costs and limits *)
(** `Cost` and `Limit`: an epsilon, a delta and a rho. *)
Record cost := Cost { epsilon : option Q; delta : Q; rho : option Q }.
Record limit := Limit { most_epsilon : option Q; most_delta : Q; most_rho : option Q }.

Definition or_0 (x : option Q) : Q := match x with Some x => x | None => 0 end.
Definition is_some (x : option Q) : bool := match x with Some _ => true | None => false end.
Definition is_zero (x : Q) : bool := Qeq_bool x 0.

(** `Cost.zcdp` *)
Definition zcdp (c : cost) : option Q :=
  match epsilon c with
  | None => rho c
  | Some e =>
      if is_zero (delta c) then
        let pure := e * e / 2 in Some (match rho c with None => pure | Some r => Qmin r pure end)
      else rho c
  end.

Section Limits.
(** The rho that implies (epsilon, delta)-DP, `zcdp_rho`. *)
Variable implied : Q -> Q -> Q.
Variable lim : limit.

Definition nothing : cost := match most_rho lim with None => Cost (Some 0) 0 None | Some _ => Cost None 0 (Some 0) end.

Definition counts_by_rho (spent c : cost) : bool :=
  is_some (most_rho lim) || is_some (rho spent)
  || (negb (is_some (epsilon c)) && negb (match rho c with Some r => is_zero r | None => false end)).

Definition plus (spent c : cost) : cost :=
  if counts_by_rho spent c then Cost (epsilon spent) (delta spent) (Some (or_0 (rho spent) + or_0 (zcdp c)))
  else Cost (Some (or_0 (epsilon spent) + or_0 (epsilon c))) (delta spent + delta c) None.

Definition minus (spent c : cost) (by_rho : bool) : cost :=
  if by_rho then
    let r := or_0 (rho spent) - or_0 (zcdp c) in
    Cost (epsilon spent) (delta spent) (if negb (is_some (most_rho lim)) && is_zero r then None else Some r)
  else Cost (Some (or_0 (epsilon spent) - or_0 (epsilon c))) (delta spent - delta c) (rho spent).

Definition rho_left_by (e d : Q) : Q := if Qle_bool e 0 || Qle_bool d 0 then 0 else implied e d.

Definition rho_limit (spent : cost) : Q :=
  match most_rho lim with
  | Some r => r
  | None => rho_left_by (or_0 (most_epsilon lim) - or_0 (epsilon spent)) (most_delta lim - delta spent)
  end.

Definition countable (spent c : cost) : bool :=
  negb (counts_by_rho spent c && (negb (is_some (zcdp c)) || negb (is_zero (delta c))))
  && (is_some (most_rho lim) || negb (is_zero (most_delta lim)) || (is_some (epsilon c) && is_zero (delta c))).

Definition fits (spent c : cost) : bool :=
  let total := plus spent c in
  countable spent c
  && match rho total with
     | Some r => Qle_bool r (rho_limit spent)
     | None => Qle_bool (or_0 (epsilon total)) (or_0 (most_epsilon lim)) && Qle_bool (delta total) (most_delta lim)
     end.

(** * The file *)
Inductive state := Charged | Released | Failed | Refunded.

Record charge := Charge { number : Z; price : cost; by_rho : bool; became : state }.
Record ledger := Ledger { lines : Z; charges : list charge; spent : cost; failures : Z }.

Definition empty : ledger := Ledger 0 [] nothing 0.

Fixpoint find (n : Z) (l : list charge) : option charge :=
  match l with [] => None | c :: l => if (number c =? n)%Z then Some c else find n l end.

Fixpoint change (n : Z) (s : state) (l : list charge) : list charge :=
  match l with
  | [] => []
  | c :: l => if (number c =? n)%Z then Charge n (price c) (by_rho c) s :: l else c :: change n s l
  end.

(** A transaction. *)
Inductive operation := Pay (c : cost) | Settle (n : Z) | Fail (n : Z) | Withdraw (n : Z) | Refund (n : Z) | Reopen.

Definition state_eqb (a b : state) : bool :=
  match a, b with Charged, Charged | Released, Released | Failed, Failed | Refunded, Refunded => true | _, _ => false end.

Definition conclude (l : ledger) (n : Z) (before after : state) : option ledger :=
  match find n (charges l) with
  | None => None
  | Some c =>
      if state_eqb (became c) before then
        Some (Ledger (lines l + 1) (change n after (charges l))
          (match after with Refunded => minus (spent l) (price c) (by_rho c) | _ => spent l end)
          (match after with Failed => failures l + 1 | _ => failures l end))
      else None
  end.

Variable max_failures : Z.

(** What it writes; None is a refusal, which writes nothing. *)
Definition apply (l : ledger) (o : operation) : option ledger :=
  match o with
  | Pay c =>
      if (failures l <? max_failures)%Z && fits (spent l) c then
        Some (Ledger (lines l + 1) (Charge (lines l + 1) c (counts_by_rho (spent l) c) Charged :: charges l)
          (plus (spent l) c) (failures l))
      else None
  | Settle n => conclude l n Charged Released
  | Fail n => conclude l n Charged Failed
  | Withdraw n => conclude l n Charged Refunded
  | Refund n => conclude l n Failed Refunded
  | Reopen => Some (Ledger (lines l + 1) (charges l) (spent l) 0)
  end.

(** * The processes and the owner *)
(** `paid`: charges whose release is being made. `settled`: those that are noted as released, and about to be shown. *)
Record world := World { file : ledger; paid : list Z; settled : list Z; shown : list Z; failed_ever : Z; reopened : Z }.

Definition without (n : Z) := remove Z.eq_dec n.

Definition nonnegative (c : cost) := 0 <= or_0 (epsilon c) /\ 0 <= delta c /\ 0 <= or_0 (rho c).

Variable width : Z. (* so many releases are made at once, at most *)

Inductive step : world -> world -> Prop :=
| pays f p st sh fe re c f' :
    nonnegative c -> (Z.of_nat (length p) < width)%Z -> apply f (Pay c) = Some f'
    -> step (World f p st sh fe re) (World f' (lines f' :: p) st sh fe re)
| settles f p st sh fe re n f' :
    In n p -> apply f (Settle n) = Some f' -> step (World f p st sh fe re) (World f' (without n p) (n :: st) sh fe re)
| shows f p st sh fe re n :
    In n st -> step (World f p st sh fe re) (World f p (without n st) (n :: sh) fe re)
| fails f p st sh fe re n f' :
    In n p -> apply f (Fail n) = Some f' -> step (World f p st sh fe re) (World f' (without n p) st sh (fe + 1) re)
| withdraws f p st sh fe re n f' : (* a process for a public reason, or the owner; of any charge *)
    apply f (Withdraw n) = Some f' -> step (World f p st sh fe re) (World f' (without n p) st sh fe re)
| withdraws_under_way f p st sh fe re n f' : (* the owner, while its process goes on and will be refused *)
    apply f (Withdraw n) = Some f' -> step (World f p st sh fe re) (World f' p st sh fe re)
| refunds f p st sh fe re n f' :
    apply f (Refund n) = Some f' -> step (World f p st sh fe re) (World f' p st sh fe re)
| reopens f p st sh fe re f' :
    apply f Reopen = Some f' -> step (World f p st sh fe re) (World f' p st sh fe (re + 1))
| crashes f p st sh fe re n : (* the process of charge n is killed, or gives up *)
    step (World f p st sh fe re) (World f (without n p) (without n st) sh fe re).

Inductive reachable : world -> Prop :=
| starts : reachable (World empty [] [] [] 0 0)
| goes_on w w' : reachable w -> step w w' -> reachable w'.

(** * What is spent is what the charges cost that are not given back *)
Definition is_live (c : charge) : bool := negb (state_eqb (became c) Refunded).
Definition cost_epsilon (c : charge) : Q := if by_rho c then 0 else or_0 (epsilon (price c)).
Definition cost_delta (c : charge) : Q := if by_rho c then 0 else delta (price c).
Definition cost_rho (c : charge) : Q := if by_rho c then or_0 (zcdp (price c)) else 0.

Fixpoint total (m : charge -> Q) (l : list charge) : Q := match l with [] => 0 | c :: l => m c + total m l end.

Definition live (l : list charge) := filter is_live l.

Definition same_price (m : charge -> Q) := forall n p b s s', m (Charge n p b s) = m (Charge n p b s').

Lemma total_change m n s l c :
  same_price m -> find n l = Some c -> is_live c = true
  -> total m (live (change n s l)) == total m (live l) - (if state_eqb s Refunded then m c else 0).
Proof.
intros S F L. induction l as [|[k p b t] l IH]; [discriminate|]. cbn [find change number price by_rho] in *.
destruct (Z.eqb_spec k n) as [->|N].
- injection F as <-. unfold live, is_live in *. cbn [filter became] in *. rewrite L. specialize (S n p b s t).
  destruct s; cbn [state_eqb negb total] in *; try rewrite S; ring.
- specialize (IH F). unfold live in *. cbn [filter]. destruct (is_live (Charge k p b t)); cbn [total]; [|exact IH].
  rewrite IH. ring.
Qed.

Lemma epsilon_same : same_price cost_epsilon. Proof. now intros ? ? ? ? ?. Qed.
Lemma delta_same : same_price cost_delta. Proof. now intros ? ? ? ? ?. Qed.
Lemma rho_same : same_price cost_rho. Proof. now intros ? ? ? ? ?. Qed.

Definition adds_up (l : ledger) :=
  or_0 (epsilon (spent l)) == total cost_epsilon (live (charges l))
  /\ delta (spent l) == total cost_delta (live (charges l))
  /\ or_0 (rho (spent l)) == total cost_rho (live (charges l)).

Definition numbered (l : ledger) :=
  NoDup (map number (charges l)) /\ (forall c, In c (charges l) -> (number c <= lines l)%Z).

Definition priced (l : ledger) := forall c, In c (charges l) -> nonnegative (price c).

(** Where a limit is an epsilon and a delta, rhos count against what was left of it when the last was charged. *)
Definition within (s : cost) :=
  match most_rho lim with
  | Some r => or_0 (rho s) <= r
  | None =>
      or_0 (epsilon s) <= or_0 (most_epsilon lim) /\ delta s <= most_delta lim
      /\ match rho s with
         | None => True
         | Some r =>
             exists e d, or_0 (epsilon s) <= e /\ delta s <= d
               /\ r <= rho_left_by (or_0 (most_epsilon lim) - e) (most_delta lim - d)
         end
  end.

Definition sound (l : ledger) := adds_up l /\ numbered l /\ priced l /\ within (spent l).

Hypothesis limit_is_one : 0 <= or_0 (most_epsilon lim) /\ 0 <= most_delta lim /\ 0 <= or_0 (most_rho lim).

Lemma empty_is_sound : sound empty.
Proof.
unfold sound, adds_up, numbered, priced, within, empty, nothing. cbn [charges spent lines].
destruct (most_rho lim) as [r|] eqn:E; cbn; repeat split; try constructor; try tauto; try lra.
all: try (now intros ? []). all: cbn in *; lra.
Qed.

Lemma zcdp_nonnegative c : nonnegative c -> 0 <= or_0 (zcdp c).
Proof.
intros (E & D & R). unfold zcdp. destruct (epsilon c) as [e|]; [|exact R]. destruct (is_zero _); [|exact R].
cbn [or_0] in *. assert (0 <= e * e / 2).
{ apply Qle_shift_div_l; [lra|]. rewrite Qmult_0_l. now apply Qmult_le_0_compat. }
destruct (rho c) as [r|]; cbn [or_0]; [|assumption]. now apply Q.min_glb.
Qed.

Lemma find_in n l c : find n l = Some c -> In c l /\ number c = n.
Proof.
induction l as [|d l IH]; [discriminate|]. cbn [find]. destruct (Z.eqb_spec (number d) n) as [E|E].
- intros [= <-]. split; [now left|exact E].
- intros F. destruct (IH F). split; [now right|assumption].
Qed.

Lemma numbers_change n s l : map number (change n s l) = map number l.
Proof.
induction l as [|c l IH]; [reflexivity|]. cbn [change]. destruct (Z.eqb_spec (number c) n) as [<-|E]; [reflexivity|].
cbn [map]. now rewrite IH.
Qed.

Lemma in_change n s l c : In c (change n s l) -> exists d, In d l /\ number c = number d /\ price c = price d.
Proof.
induction l as [|d l IH]; [intros []|]. cbn [change]. destruct (Z.eqb_spec (number d) n) as [E|E].
- intros [<-|H]; [|exists c; split; [now right|auto]]. exists d. split; [now left|]. cbn. auto.
- intros [<-|H]; [exists d; split; [now left|auto]|]. destruct (IH H) as (x & Hx & K). exists x. split; [now right|auto].
Qed.

Lemma is_zero_spec x : is_zero x = true -> x == 0.
Proof. apply Qeq_bool_eq. Qed.

Lemma minus_within s c b :
  (b = true -> 0 <= or_0 (zcdp c) /\ 0 <= or_0 (rho s) - or_0 (zcdp c))
  -> (b = false -> 0 <= or_0 (epsilon c) /\ 0 <= delta c)
  -> within s -> within (minus s c b).
Proof.
intros B B'. unfold within, minus. destruct b.
- destruct (B eq_refl) as [B1 B2]. destruct (most_rho lim) as [r|].
  + cbn [is_some negb andb rho or_0]. intros H. lra.
  + cbn [is_some negb andb epsilon delta rho]. intros (H1 & H2 & H3). repeat split; auto.
    destruct (is_zero _) eqn:Z; [exact I|]. destruct (rho s) as [x|].
    * destruct H3 as (e & d & He & Hd & Hr). exists e, d. repeat split; auto. cbn [or_0] in *. lra.
    * exfalso. unfold is_zero in Z. assert (E : or_0 None - or_0 (zcdp c) == 0) by (cbn [or_0] in *; lra).
      apply Qeq_bool_iff in E. congruence.
- destruct (B' eq_refl) as [B1 B2]. cbn [epsilon delta rho or_0]. destruct (most_rho lim) as [r|]; [auto|].
  intros (H1 & H2 & H3). repeat split; try lra. destruct (rho s) as [x|]; [|exact I].
  destruct H3 as (e & d & He & Hd & Hr). exists e, d. repeat split; auto; lra.
Qed.

Lemma plus_within s c : within s -> fits s c = true -> within (plus s c).
Proof.
unfold within, fits, rho_limit. intros W F. apply andb_prop in F as [_ F].
assert (C : match most_rho lim with Some _ => counts_by_rho s c = true | None => True end).
{ unfold counts_by_rho. destruct (most_rho lim); [reflexivity|exact I]. }
revert F. unfold plus. destruct (counts_by_rho s c); cbn [rho epsilon delta or_0]; intros F.
- apply Qle_bool_iff in F. destruct (most_rho lim) as [r|]; [exact F|]. destruct W as (H1 & H2 & _). repeat split; auto.
  exists (or_0 (epsilon s)), (delta s). repeat split; auto; lra.
- destruct (most_rho lim); [discriminate|]. apply andb_prop in F as [F1 F2]. apply Qle_bool_iff in F1, F2. tauto.
Qed.

Lemma total_nonnegative m l : (forall c, In c l -> 0 <= m c) -> 0 <= total m l.
Proof.
induction l as [|c l IH]; intros H; cbn [total]; [lra|]. assert (0 <= m c) by (apply H; now left).
assert (0 <= total m l) by (apply IH; intros; apply H; now right). lra.
Qed.

Lemma rho_nonnegative l : priced l -> forall c, In c (charges l) -> 0 <= cost_rho c.
Proof. intros P c H. unfold cost_rho. destruct (by_rho c); [now apply zcdp_nonnegative, P|lra]. Qed.

Lemma conclude_is_sound l n before after l' :
  before <> Refunded -> sound l -> conclude l n before after = Some l' -> sound l'.
Proof.
intros NR (A & N & P & W). unfold conclude. destruct (find n (charges l)) as [c|] eqn:F; [|discriminate].
destruct (state_eqb (became c) before) eqn:S; [|discriminate]. intros [= <-].
assert (L : is_live c = true).
{ unfold is_live. destruct (became c), before; cbn in *; congruence. }
destruct (find_in _ _ _ F) as [Hc _]. assert (Pc := P c Hc).
assert (T : forall m, same_price m -> total m (live (change n after (charges l)))
  == total m (live (charges l)) - (if state_eqb after Refunded then m c else 0)) by (intros; now apply total_change).
assert (P' : forall d, In d (change n after (charges l)) -> nonnegative (price d)).
{ intros d Hd. destruct (in_change _ _ _ _ Hd) as (x & Hx & _ & ->). now apply P. }
assert (N' : NoDup (map number (change n after (charges l)))
  /\ forall d, In d (change n after (charges l)) -> (number d <= lines l + 1)%Z).
{ split; [rewrite numbers_change; apply N|]. intros d Hd. destruct (in_change _ _ _ _ Hd) as (x & Hx & -> & _).
  destruct N as [_ N]. generalize (N x Hx). lia. }
destruct A as (A1 & A2 & A3).
assert (T1 := T cost_epsilon epsilon_same). assert (T2 := T cost_delta delta_same). assert (T3 := T cost_rho rho_same).
assert (R0 : 0 <= total cost_rho (live (change n after (charges l)))).
{ apply total_nonnegative. intros d Hd. unfold live in Hd. apply filter_In in Hd as [Hd _].
  unfold cost_rho. destruct (by_rho d); [now apply zcdp_nonnegative, P'|lra]. }
assert (K : forall s', (s' = match after with Refunded => minus (spent l) (price c) (by_rho c) | _ => spent l end)
  -> or_0 (epsilon s') == total cost_epsilon (live (change n after (charges l)))
     /\ delta s' == total cost_delta (live (change n after (charges l)))
     /\ or_0 (rho s') == total cost_rho (live (change n after (charges l))) /\ within s').
{ intros s' ->. rewrite T1, T2, T3. destruct after; cbn [state_eqb]; try (repeat split; auto; lra).
  rewrite T3 in R0. cbn [state_eqb] in R0. unfold cost_epsilon, cost_delta, cost_rho in *. unfold minus at 1 2 3.
  destruct (by_rho c) eqn:B; cbn [epsilon delta rho or_0].
  - split; [lra|split; [lra|split]].
    + destruct (negb (is_some (most_rho lim)) && is_zero _)%bool eqn:Z.
      * apply andb_prop in Z as [_ Z]. apply is_zero_spec in Z. cbn [or_0]. lra.
      * cbn [or_0]. lra.
    + apply minus_within; auto; [|discriminate]. intros _. split; [now apply zcdp_nonnegative|]. lra.
  - split; [lra|split; [lra|split; [lra|]]]. apply minus_within; auto; [discriminate|]. intros _.
    destruct Pc as (? & ? & ?). split; assumption. }
destruct (K _ eq_refl) as (K1 & K2 & K3 & K4). unfold sound, adds_up, numbered, priced. cbn [spent charges lines].
split; [auto|split; [exact N'|split; [exact P'|exact K4]]].
Qed.

Theorem apply_is_sound l o l' :
  match o with Pay c => nonnegative c | _ => True end -> sound l -> apply l o = Some l' -> sound l'.
Proof.
intros C S. destruct o as [c|n|n|n|n|]; cbn [apply].
- destruct (_ && _)%bool eqn:E; [|discriminate]. intros [= <-]. apply andb_prop in E as [_ F].
  destruct S as ((A1 & A2 & A3) & (N1 & N2) & P & W). unfold sound, adds_up, numbered, priced. cbn [spent charges lines].
  split; [|split; [|split]].
  + unfold live. cbn [filter is_live became state_eqb negb total]. fold (live (charges l)).
    unfold cost_epsilon at 1, cost_delta at 1, cost_rho at 1. cbn [by_rho price].
    unfold plus. destruct (counts_by_rho (spent l) c) eqn:B; cbn [epsilon delta rho or_0];
      rewrite <- ?A1, <- ?A2, <- ?A3; repeat split; try lra.
    unfold counts_by_rho in B. destruct (rho (spent l)); [|cbn [or_0]; lra].
    rewrite orb_true_r in B. discriminate.
  + split.
    * cbn [map number]. constructor; auto. intros H. apply in_map_iff in H as (d & E & Hd). generalize (N2 d Hd). lia.
    * intros d [<-|Hd]; [cbn [number]; lia|]. generalize (N2 d Hd). lia.
  + intros d [<-|Hd]; [exact C|now apply P].
  + now apply plus_within.
- now apply conclude_is_sound.
- now apply conclude_is_sound.
- now apply conclude_is_sound.
- now apply conclude_is_sound.
- intros [= <-]. destruct S as (A & (N1 & N2) & P & W). unfold sound, adds_up, numbered, priced in *.
  cbn [spent charges lines]. split; [exact A|split; [|split; assumption]]. split; [exact N1|]. intros d Hd.
  generalize (N2 d Hd). lia.
Qed.

(** * Whatever happens, in whatever order *)
Definition has_become (s : state) (l : ledger) (n : Z) := exists c, find n (charges l) = Some c /\ became c = s.

Lemma find_change n s k l : (* of the first with this number *)
  find k (change n s l) = if (k =? n)%Z then option_map (fun c => Charge n (price c) (by_rho c) s) (find k l) else find k l.
Proof.
induction l as [|c l IH]; [now destruct (k =? n)%Z|]. cbn [change find]. destruct (Z.eqb_spec (number c) n) as [<-|E].
- cbn [find number]. rewrite (Z.eqb_sym k). destruct (number c =? k)%Z; reflexivity.
- cbn [find]. destruct (Z.eqb_spec (number c) k) as [<-|E']; [|exact IH].
  destruct (Z.eqb_spec (number c) n); [contradiction|reflexivity].
Qed.

Lemma concluded l n before after l' :
  conclude l n before after = Some l'
  -> has_become before l n /\ has_become after l' n /\ (forall k s, k <> n -> has_become s l k -> has_become s l' k)
     /\ failures l' = (failures l + (if state_eqb after Failed then 1 else 0))%Z.
Proof.
unfold conclude, has_become. destruct (find n (charges l)) as [c|] eqn:F; [|discriminate].
destruct (state_eqb (became c) before) eqn:S; [|discriminate]. intros [= <-]. cbn [charges failures].
split; [|split; [|split]].
- exists c. split; [reflexivity|]. destruct (became c), before; (reflexivity || discriminate S).
- rewrite find_change, Z.eqb_refl, F. eexists. split; reflexivity.
- intros k s K (d & D & B). exists d. rewrite find_change. apply Z.eqb_neq in K. now rewrite K.
- destruct after; cbn [state_eqb]; lia.
Qed.

Lemma one_state s s' l n : has_become s l n -> has_become s' l n -> s = s'.
Proof. intros (c & F & <-) (c' & F' & <-). congruence. Qed.

Definition bound := (max_failures - 1 + width)%Z.

Definition invariant (w : world) :=
  sound (file w)
  /\ NoDup (settled w ++ shown w)
  /\ (forall n, In n (settled w ++ shown w) -> has_become Released (file w) n)
  /\ (failures (file w) <= max_failures - 1 \/ failures (file w) + Z.of_nat (length (paid w)) <= bound)%Z
  /\ (Z.of_nat (length (paid w)) <= width)%Z
  /\ (0 <= reopened w)%Z /\ (failed_ever w <= reopened w * bound + failures (file w))%Z.

Hypothesis some_failures : (1 <= max_failures)%Z.
Hypothesis some_width : (0 <= width)%Z.

Lemma shorter n l : In n l -> (S (length (without n l)) <= length l)%nat.
Proof. intros H. apply Lt.lt_le_S. now apply remove_length_lt. Qed.

Lemma not_longer n l : (length (without n l) <= length l)%nat.
Proof. apply remove_length_le. Qed.

Lemma without_in n k l : In k (without n l) -> In k l /\ k <> n.
Proof. apply in_remove. Qed.

Lemma without_once n (l l' : list Z) : NoDup (l ++ l') -> NoDup (without n l ++ l').
Proof.
induction l as [|k l IH]; [auto|]. intros H. cbn [app] in H. inversion H as [|? ? N D]; subst. unfold without in *.
cbn [remove]. destruct (Z.eq_dec n k); [now apply IH|]. cbn [app]. constructor; [|now apply IH]. intros I. apply N.
apply in_app_iff in I as [I|I]; apply in_app_iff; [left|now right]. now apply in_remove in I.
Qed.

Lemma shown_once n (l l' : list Z) : In n l -> NoDup (l ++ l') -> NoDup (without n l ++ n :: l').
Proof.
intros I D. apply NoDup_Add with (a := n) (l := without n l ++ l'); [apply Add_app|]. split; [now apply without_once|].
intros H. apply in_app_iff in H as [H|H]; [apply in_remove in H; tauto|].
apply in_split in I as (x & y & ->). rewrite <- app_assoc in D. cbn [app] in D. apply NoDup_remove_2 in D. apply D.
apply in_app_iff. right. apply in_app_iff. now right.
Qed.

Lemma pays_is c l l' : apply l (Pay c) = Some l' -> (failures l < max_failures)%Z
  /\ failures l' = failures l /\ (forall k s, (k <= lines l)%Z -> has_become s l k -> has_become s l' k).
Proof.
cbn [apply]. destruct (_ && _)%bool eqn:E; [|discriminate]. apply andb_prop in E as [E _]. intros [= <-].
apply Z.ltb_lt in E. split; [exact E|split; [reflexivity|]]. intros k s K (d & F & B). exists d. cbn [charges find number].
destruct (Z.eqb_spec (lines l + 1) k); [lia|]. auto.
Qed.

Lemma known l n s : sound l -> has_become s l n -> (n <= lines l)%Z.
Proof. intros (_ & (_ & N) & _) (c & F & _). apply find_in in F as [H <-]. now apply N. Qed.

Theorem always w : reachable w -> invariant w.
Proof.
induction 1 as [|w w' R IH S].
{ unfold invariant. cbn. split; [apply empty_is_sound|]. repeat split; try constructor; try lia. }
unfold invariant, bound in *. destruct S; cbn [file paid settled shown failed_ever reopened] in *;
  destruct IH as (I1 & I2 & I3 & I4 & I5 & I6 & I7).
- assert (S' := apply_is_sound _ (Pay c) _ H I1 H1). destruct (pays_is _ _ _ H1) as (P1 & P2 & P3).
  split; [exact S'|split; [exact I2|split]].
  + intros n Hn. apply P3; auto. now apply (known f n Released), I3.
  + cbn [length]. rewrite P2, Nat2Z.inj_succ. repeat split; lia.
- assert (S' := apply_is_sound _ (Settle n) _ I I1 H0). destruct (concluded _ _ _ _ _ H0) as (C1 & C2 & C3 & C4).
  cbn [state_eqb] in C4. generalize (shorter n p H). intros Sh.
  assert (N : ~ In n (st ++ sh)) by (intros J; generalize (one_state _ _ _ _ C1 (I3 n J)); discriminate).
  split; [exact S'|split; [cbn [app]; constructor; auto|split]].
  + intros k [<-|Hk]; [exact C2|]. destruct (Z.eq_dec k n) as [->|D]; [exact C2|]. apply C3; auto.
  + rewrite C4. repeat split; lia.
- split; [exact I1|split; [now apply shown_once|split]]; [|repeat split; lia].
  intros k Hk. apply I3. apply in_app_iff in Hk as [Hk|[<-|Hk]]; apply in_app_iff; auto. left. now apply without_in in Hk.
- assert (S' := apply_is_sound _ (Fail n) _ I I1 H0). destruct (concluded _ _ _ _ _ H0) as (C1 & C2 & C3 & C4).
  cbn [state_eqb] in C4. generalize (shorter n p H). intros Sh. split; [exact S'|split; [exact I2|split]].
  + intros k Hk. apply C3; auto. intros ->. generalize (one_state _ _ _ _ C1 (I3 n Hk)). discriminate.
  + rewrite C4. repeat split; lia.
- assert (S' := apply_is_sound _ (Withdraw n) _ I I1 H). destruct (concluded _ _ _ _ _ H) as (C1 & C2 & C3 & C4).
  cbn [state_eqb] in C4. generalize (not_longer n p). intros Sh. split; [exact S'|split; [exact I2|split]].
  + intros k Hk. apply C3; auto. intros ->. generalize (one_state _ _ _ _ C1 (I3 n Hk)). discriminate.
  + rewrite C4. repeat split; lia.
- assert (S' := apply_is_sound _ (Withdraw n) _ I I1 H). destruct (concluded _ _ _ _ _ H) as (C1 & C2 & C3 & C4).
  cbn [state_eqb] in C4. split; [exact S'|split; [exact I2|split]].
  + intros k Hk. apply C3; auto. intros ->. generalize (one_state _ _ _ _ C1 (I3 n Hk)). discriminate.
  + rewrite C4. repeat split; lia.
- assert (S' := apply_is_sound _ (Refund n) _ I I1 H). destruct (concluded _ _ _ _ _ H) as (C1 & C2 & C3 & C4).
  cbn [state_eqb] in C4. split; [exact S'|split; [exact I2|split]].
  + intros k Hk. apply C3; auto. intros ->. generalize (one_state _ _ _ _ C1 (I3 n Hk)). discriminate.
  + rewrite C4. repeat split; lia.
- assert (S' := apply_is_sound _ Reopen _ I I1 H). cbn [apply] in H. injection H as <-.
  split; [exact S'|split; [exact I2|split]]; [exact I3|]. cbn [failures]. repeat split; try lia.
- generalize (not_longer n p). intros Sh. split; [exact I1|split; [now apply without_once|split]].
  + intros k Hk. apply I3. apply in_app_iff in Hk as [Hk|Hk]; apply in_app_iff; auto. left. now apply without_in in Hk.
  + repeat split; lia.
Qed.

(** Charges that are not given back add up to what is spent, and stay within the limit. *)
Theorem the_limit_is_kept w : reachable w -> adds_up (file w) /\ within (spent (file w)).
Proof. intros R. destruct (always w R) as ((A & _ & _ & W) & _). now split. Qed.

(** Everything shown has a charge that is noted as released, and stays so. Nothing is shown twice. *)
Theorem nothing_is_shown_uncharged w n : reachable w -> In n (shown w) -> has_become Released (file w) n.
Proof. intros R H. destruct (always w R) as (_ & _ & I & _). apply I. apply in_app_iff. now right. Qed.

Theorem nothing_is_shown_twice w : reachable w -> NoDup (shown w).
Proof.
intros R. destruct (always w R) as (_ & D & _). induction (settled w) as [|n l IH]; [exact D|]. inversion D. now apply IH.
Qed.

(** What is shown costs no more than what is spent, in each measure. *)
Definition is_shown (w : world) (c : charge) : bool := if in_dec Z.eq_dec (number c) (shown w) then true else false.

Lemma find_own c l : NoDup (map number l) -> In c l -> find (number c) l = Some c.
Proof.
induction l as [|d l IH]; [intros _ []|]. cbn [map find]. intros D H. inversion D as [|? ? N D']; subst.
destruct H as [->|H]; [now rewrite Z.eqb_refl|]. destruct (Z.eqb_spec (number d) (number c)) as [E|_]; [|now apply IH].
exfalso. apply N. rewrite E. now apply in_map.
Qed.

Theorem shown_is_spent w m :
  reachable w -> (forall c, In c (charges (file w)) -> 0 <= m c)
  -> total m (filter (is_shown w) (charges (file w))) <= total m (live (charges (file w))).
Proof.
intros R P. assert (A := nothing_is_shown_uncharged w).
destruct (always w R) as ((_ & (N & _) & _) & _).
assert (L : forall c, In c (charges (file w)) -> is_shown w c = true -> is_live c = true).
{ intros c H S. unfold is_shown in S. destruct in_dec as [I|]; [|discriminate]. destruct (A (number c) R I) as (d & F & B).
  rewrite find_own in F by assumption. injection F as <-. unfold is_live. now rewrite B. }
clear A N. unfold live. induction (charges (file w)) as [|c l IH]; cbn [filter total]; [lra|].
assert (P0 : 0 <= m c) by (apply P; now left).
assert (IH' : total m (filter (is_shown w) l) <= total m (filter is_live l))
  by (apply IH; intros; [apply P|apply L]; auto; now right).
destruct (is_shown w c) eqn:S.
- rewrite (L c (or_introl eq_refl) S). cbn [total]. lra.
- destruct (is_live c); cbn [total]; lra.
Qed.

Theorem shown_within_an_epsilon w :
  reachable w -> most_rho lim = None
  -> total cost_epsilon (filter (is_shown w) (charges (file w))) <= or_0 (most_epsilon lim)
     /\ total cost_delta (filter (is_shown w) (charges (file w))) <= most_delta lim.
Proof.
intros R N. destruct (always w R) as ((A & _ & P & W) & _). unfold within in W. rewrite N in W.
destruct W as (W1 & W2 & _). destruct A as (A1 & A2 & _).
assert (E := shown_is_spent w cost_epsilon R). assert (D := shown_is_spent w cost_delta R). split.
- apply Qle_trans with (or_0 (epsilon (spent (file w)))); [rewrite A1; apply E|exact W1].
  intros c H. unfold cost_epsilon. destruct (by_rho c); [lra|]. apply (P c H).
- apply Qle_trans with (delta (spent (file w))); [rewrite A2; apply D|exact W2].
  intros c H. unfold cost_delta. destruct (by_rho c); [lra|]. apply (P c H).
Qed.

Theorem shown_within_a_rho w r :
  reachable w -> most_rho lim = Some r -> total cost_rho (filter (is_shown w) (charges (file w))) <= r.
Proof.
intros R N. destruct (always w R) as ((A & _ & P & W) & _). unfold within in W. rewrite N in W. destruct A as (_ & _ & A).
apply Qle_trans with (or_0 (rho (spent (file w)))); [|exact W]. rewrite A. apply shown_is_spent; auto.
now apply rho_nonnegative.
Qed.

(** Reads fail, since the ledger was reopened, at most max_failures - 1 + width times: the ledger closes at max_failures,
    and releases that were paid before may fail after. So they are max_failures at most if one is made at a time. *)
Theorem failures_are_few w : reachable w -> (failures (file w) <= max_failures - 1 + width)%Z.
Proof. intros R. destruct (always w R) as (_ & _ & _ & F & _). unfold bound in F. lia. Qed.

(** Refunds and reopenings answer failed reads, and let out that these failed. There are at most so many, ever. *)
Theorem failures_ever_are_few w : reachable w -> (failed_ever w <= (reopened w + 1) * (max_failures - 1 + width))%Z.
Proof.
intros R. assert (F := failures_are_few w R). destruct (always w R) as (_ & _ & _ & _ & _ & _ & E). unfold bound in E. lia.
Qed.

(** A closed ledger takes no charge until its owner reopens it. *)
Theorem closed_is_closed l c : (max_failures <= failures l)%Z -> apply l (Pay c) = None.
Proof. intros H. cbn [apply]. destruct (Z.ltb_spec (failures l) max_failures); [lia|reflexivity]. Qed.
End Limits.
