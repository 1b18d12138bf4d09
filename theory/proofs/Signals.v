(* A machine with the hardware's mbarriers too, and traces that agree on an order: progress, and order.

   Agents are threads, and engines that do what a thread has issued: an engine waits for a signal of its own that its thread gives.
   A signal is an mbarrier, of which a phase ends when `size` have arrived. Who waits sees the parity of the phase alone. *)

From Coq Require Import List Arith Lia Bool Relations Sorting.Sorted.
From Bundl Require Import Skeleton Ordered.
Import ListNotations.

Definition path_dec : forall p q : path, {p = q} + {p <> q} := list_eq_dec turn_dec.

Section Machine.

Context {A X K S : Type}.
Hypothesis agent_dec : forall a b : A, {a = b} + {a <> b}.
Hypothesis signal_dec : forall s t : S, {s = t} + {s <> t}.

(* The n of a barrier is what it counts to. Those of signals are the phases that are meant: the machine looks at the parity of
   one that is waited for, and at nothing else. *)
Inductive action : Type := Access (x : X) | Barrier (k : K) (n : nat) | Arrive (s : S) (n : nat) | Await (s : S) (n : nat).

Variable agents : list A.
Variable size : S -> nat.

Record state : Type := State { left : A -> list (path * action); came : S -> nat }.

(* Who did what, at which positions. *)
Record label : Type := Label { who : list (A * path); what : action }.

(* What an action of one agent does to the signals; and whether it may be done. *)
Definition effect (e : action) (C C' : S -> nat) : Prop :=
  match e with
  | Access _ => C' = C
  | Barrier _ _ => False
  | Arrive s _ => C' s = 1 + C s /\ forall t, t <> s -> C' t = C t
  | Await s n => C' = C /\ (C s / size s) mod 2 = (1 + n) mod 2
  end.

Inductive step : state -> label -> state -> Prop :=
| step_one L C L' C' a p e r :
    In a agents -> L a = (p, e) :: r -> L' a = r -> (forall b, b <> a -> L' b = L b) -> effect e C C' ->
    step (State L C) (Label [(a, p)] e) (State L' C')
| step_bar L C L' w k :
    w <> [] -> NoDup (map fst w) ->
    (forall a p, In (a, p) w -> In a agents /\ exists r, L a = (p, Barrier k (length w)) :: r /\ L' a = r) ->
    (forall b, ~ In b (map fst w) -> L' b = L b) ->
    step (State L C) (Label w (Barrier k (length w))) (State L' C).

Inductive run : state -> list label -> state -> Prop :=
| run_nil M : run M [] M
| run_step M l M1 ls M2 : step M l M1 -> run M1 ls M2 -> run M (l :: ls) M2.

Definition finished (M : state) : Prop := forall a, In a agents -> left M a = [].

(* -- traces ------------------------------------------------------------------------------------------------------------- *)

Variable tr : A -> list (path * action).
Definition start : state := State tr (fun _ => 0).

Definition isorted (t : list (path * action)) : Prop := StronglySorted (fun x y => precedes (fst x) (fst y)) t.

Hypothesis in_order : forall a, In a agents -> isorted (tr a).

(* A barrier of a position and a key is met by as many as it counts to; who uses the key belongs to it. *)
Hypothesis met : forall a p k n, In a agents -> In (p, Barrier k n) (tr a) ->
  exists w, NoDup w /\ length w = n /\ forall b, In b w <-> In b agents /\ In (p, Barrier k n) (tr b).
Hypothesis own : forall a b p q k n m, In a agents -> In b agents ->
  In (p, Barrier k n) (tr a) -> In (q, Barrier k m) (tr b) -> In (p, Barrier k n) (tr b) /\ In (q, Barrier k m) (tr a).

(* What is meant to come before: an agent's own order, barriers, and arrivals before those who wait for their phase. *)
Inductive ord : A -> path -> A -> path -> Prop :=
| ord_own a p q e f : In a agents -> In (p, e) (tr a) -> In (q, f) (tr a) -> precedes p q -> ord a p a q
| ord_bar a b p q k n f : In a agents -> In b agents -> In (p, Barrier k n) (tr a) -> In (p, Barrier k n) (tr b) ->
    In (q, f) (tr b) -> precedes p q -> ord a p b q
| ord_signal a b p q s n : In a agents -> In b agents -> In (p, Arrive s n) (tr a) -> In (q, Await s n) (tr b) -> ord a p b q
| ord_trans a p b q c r : ord a p b q -> ord b q c r -> ord a p c r.

(* The arrivals of each phase: as many as the signal counts to, or none; some of one that is waited for, and of all phases
   before one that has some. *)
Variable arrivals : S -> nat -> list (A * path).
Hypothesis sized : forall s, 0 < size s.
Hypothesis each_once : forall s n, NoDup (arrivals s n).
Hypothesis are_arrivals : forall s n a p, In (a, p) (arrivals s n) <-> In a agents /\ In (p, Arrive s n) (tr a).
Hypothesis full : forall s n x, In x (arrivals s n) -> length (arrivals s n) = size s.
Hypothesis awaited : forall a p s n, In a agents -> In (p, Await s n) (tr a) -> exists x, In x (arrivals s n).
Hypothesis some_before : forall s n x, In x (arrivals s (1 + n)) -> exists y, In y (arrivals s n).

(* An arrival stands before those who wait for it. *)
Hypothesis arrives_first : forall a b p q s n, In (a, p) (arrivals s n) -> In b agents -> In (q, Await s n) (tr b) -> precedes p q.

(* A phase's arrivals come before the next one's. *)
Hypothesis phases : forall s n a p b q, In (a, p) (arrivals s n) -> In (b, q) (arrivals s (1 + n)) -> ord a p b q.

(* Who waits for a phase has passed before the next one can end. *)
Hypothesis in_time : forall a p s n b q, In a agents -> In (p, Await s n) (tr a) -> In (b, q) (arrivals s (1 + n)) ->
  ord a p b q.

(* And has not begun to wait before the last one has ended. *)
Hypothesis not_early : forall a p s n b q, In a agents -> In (p, Await s (1 + n)) (tr a) -> In (b, q) (arrivals s n) ->
  exists p' e, In (p', e) (tr a) /\ precedes p' p /\ ord b q a p'.

(* -- what is done ------------------------------------------------------------------------------------------------------- *)

Definition did (M : state) (a : A) (p : path) : Prop := exists d e, In (p, e) d /\ tr a = d ++ left M a.

Record ok (M : state) : Prop := Ok {
  suffix : forall a, In a agents -> exists d, tr a = d ++ left M a;
  atomic : forall a b p k n, In a agents -> In b agents -> In (p, Barrier k n) (tr a) -> In (p, Barrier k n) (tr b) ->
    did M a p -> did M b p;
  waited : forall a p s n b q, In a agents -> In (p, Await s n) (tr a) -> did M a p -> In (b, q) (arrivals s n) -> did M b q;
  counted : forall s, exists l, NoDup l /\ length l = came M s /\
    forall b q, In (b, q) l <-> In b agents /\ did M b q /\ exists n, In (q, Arrive s n) (tr b) }.

Lemma isorted_app t u : isorted (t ++ u) <->
  isorted t /\ isorted u /\ (forall x y, In x t -> In y u -> precedes (fst x) (fst y)).
Proof. apply strongly_app. Qed.

(* One position of a trace has one action. *)
Lemma one_action a p e f : In a agents -> In (p, e) (tr a) -> In (p, f) (tr a) -> e = f.
Proof.
  intro T; pose proof (in_order a T) as H; revert H; generalize (tr a) as t.
  induction t as [|x t IH]; simpl; [intros _ []|]; intro H; inversion H as [|? ? H1 H2]; subst.
  rewrite Forall_forall in H2; intros [E|I] [F|J]; auto.
  - congruence.
  - subst x; exfalso; exact (precedes_irr _ (H2 _ J)).
  - subst x; exfalso; exact (precedes_irr _ (H2 _ I)).
Qed.

Lemma left_in M a x : ok M -> In a agents -> In x (left M a) -> In x (tr a).
Proof. intros O T I; destruct (suffix M O a T) as [d E]; rewrite E; apply in_or_app; auto. Qed.

Lemma not_both M a p e : ok M -> In a agents -> did M a p -> In (p, e) (left M a) -> False.
Proof.
  intros O T (d & f & I & E) J; pose proof (in_order a T) as H; rewrite E in H; apply isorted_app in H.
  destruct H as (_ & _ & H); exact (precedes_irr _ (H _ _ I J)).
Qed.

Lemma did_or_left M a p e : ok M -> In a agents -> In (p, e) (tr a) -> did M a p \/ In (p, e) (left M a).
Proof.
  intros O T I; destruct (suffix M O a T) as [d E]; rewrite E in I; apply in_app_or in I; destruct I; auto.
  left; exists d, e; auto.
Qed.

Lemma did_earlier M a p q e : ok M -> In a agents -> In (p, e) (tr a) -> precedes p q -> did M a q -> did M a p.
Proof.
  intros O T I P D; destruct (did_or_left M a p e O T I) as [|J]; auto.
  destruct D as (d & f & Id & E); pose proof (in_order a T) as H; rewrite E in H; apply isorted_app in H.
  destruct H as (_ & _ & H); exfalso; apply (precedes_irr p); eapply precedes_trans; [exact P | exact (H _ _ Id J)].
Qed.

Lemma head_first M a x r y : ok M -> In a agents -> left M a = x :: r -> In y r -> precedes (fst x) (fst y).
Proof.
  intros O T E I; destruct (suffix M O a T) as [d F]; pose proof (in_order a T) as H; rewrite F, E in H.
  apply isorted_app in H as (_ & H & _); inversion H as [|? ? _ G]; subst; rewrite Forall_forall in G; auto.
Qed.

(* What came before something done is done. *)
Lemma closed M a p b q : ok M -> ord a p b q -> did M b q -> did M a p.
Proof.
  intros O H; induction H as [a p q e f T I J P|a b p q k n f Ta Tb I J Iq P|a b p q s n Ta Tb I J|a p b q c r _ IH1 _ IH2]; intro D.
  - eapply did_earlier; eauto.
  - apply (atomic M O b a p k n); auto; eapply did_earlier; eauto.
  - apply (waited M O b q s n); auto; apply are_arrivals; auto.
  - auto.
Qed.

(* -- phases ------------------------------------------------------------------------------------------------------------- *)

Definition all_did (M : state) (s : S) (n : nat) : Prop := forall a p, In (a, p) (arrivals s n) -> did M a p.

Lemma before_did M s n m a p : ok M -> n < m -> In (a, p) (arrivals s m) -> did M a p -> all_did M s n.
Proof.
  intros O L; revert a p; induction L as [|m L IH]; intros a p I D b q J.
  - eapply closed; [exact O | eapply phases; eauto | exact D].
  - destruct (some_before s m _ I) as [[c r] Ic]; apply (IH c r Ic); [|exact J].
    eapply closed; [exact O | eapply phases; [exact Ic | exact I] | exact D].
Qed.

(* All phases below n have as many arrivals as they count to, if phase n has any. *)
Fixpoint upto (s : S) (n : nat) : list (A * path) := match n with 0 => [] | Datatypes.S m => upto s m ++ arrivals s m end.

Lemma in_upto s n x : In x (upto s n) <-> exists m, m < n /\ In x (arrivals s m).
Proof.
  induction n as [|n IH]; simpl; [split; [intros [] | intros (m & L & _); lia]|]. rewrite in_app_iff, IH; split.
  - intros [(m & L & I)|I]; [exists m | exists n]; auto.
  - intros (m & L & I); destruct (Nat.eq_dec m n) as [->|Ne]; auto; left; exists m; split; auto; lia.
Qed.

Lemma one_phase s n m a p : In (a, p) (arrivals s n) -> In (a, p) (arrivals s m) -> n = m.
Proof.
  intros I J; apply are_arrivals in I; apply are_arrivals in J; destruct I as [T I], J as [_ J].
  pose proof (one_action a p _ _ T I J) as E; congruence.
Qed.

Lemma upto_nodup s n : NoDup (upto s n).
Proof.
  induction n as [|n IH]; simpl; [constructor|]; apply nodup_app; auto.
  intros [a p] I J; apply in_upto in I as (m & L & I); pose proof (one_phase _ _ _ _ _ I J); lia.
Qed.

Lemma upto_length s n : (forall m, m < n -> length (arrivals s m) = size s) -> length (upto s n) = n * size s.
Proof. induction n as [|n IH]; simpl; auto; intro H; rewrite app_length, IH, H; auto; lia. Qed.

Lemma some_below s n m : m <= n -> (exists x, In x (arrivals s n)) -> exists x, In x (arrivals s m).
Proof. induction 1 as [|n L IH]; auto; intros [x I]; eauto. Qed.

Lemma at_most s n : length (arrivals s n) <= size s.
Proof. pose proof (full s n) as Fu; destruct (arrivals s n) as [|x l]; [simpl; lia | rewrite (Fu x); simpl; auto]. Qed.

Lemma upto_most s n : length (upto s n) <= n * size s.
Proof. induction n as [|n IH]; simpl; auto; rewrite app_length; pose proof (at_most s n); lia. Qed.

(* As many phases are shown as have ended: if those below n have, n are; and if more are, n has. *)
Lemma shown_low M s n : ok M -> (forall m, m < n -> all_did M s m /\ length (arrivals s m) = size s) ->
  n <= came M s / size s.
Proof.
  intros O D; destruct (counted M O s) as (l & Nl & <- & Il); pose proof (sized s); apply Nat.div_le_lower_bound;
    [lia|].
  rewrite Nat.mul_comm, <- (upto_length s n) by (intros; apply D; auto); apply NoDup_incl_length; [apply upto_nodup|].
  intros [b q] I; apply in_upto in I as (m & L & J); apply Il; pose proof (proj1 (D m L) b q J);
    apply are_arrivals in J as [T J]; eauto.
Qed.

Lemma shown M s n : ok M -> n < came M s / size s -> length (arrivals s n) = size s /\ all_did M s n.
Proof.
  intros O G; destruct (counted M O s) as (l & Nl & Ll & Il); pose proof (sized s) as Sz.
  assert (G' : (1 + n) * size s <= length l).
  { rewrite Ll; pose proof (Nat.mul_div_le (came M s) (size s) ltac:(lia)); nia. }
  assert (In_upto : incl l (upto s (1 + n)) \/ (length (arrivals s n) = size s /\ all_did M s n)).
  { assert (H : forall x, In x l -> In x (upto s (1 + n)) \/ (length (arrivals s n) = size s /\ all_did M s n)).
    { intros [b q] I; apply Il in I as (T & D & m & J);
        assert (Jm : In (b, q) (arrivals s m)) by (apply are_arrivals; auto).
      destruct (le_lt_dec m n) as [Le|Gt]; [left; apply in_upto; exists m; split; auto; lia | right; split].
      - destruct (some_below s m n ltac:(lia)) as [x Ix]; [eauto | exact (full s n x Ix)].
      - exact (before_did M s n m b q O Gt Jm D). }
    clear - H; induction l as [|x l IH]; [left; intros ? []|]; destruct (H x (or_introl eq_refl)) as [I|]; auto.
    destruct IH as [J|]; auto; [intros; apply H; right; auto|]; left; intros y [<-|K']; auto. }
  destruct In_upto as [Inc|]; auto; pose proof (NoDup_incl_length Nl Inc) as Le; pose proof (upto_most s n).
  simpl in Le; rewrite app_length in Le; pose proof (at_most s n); split; [lia|]; intros a p J.
  assert (I : In (a, p) l).
  { eapply (NoDup_length_incl Nl); [|exact Inc | apply in_upto; eauto]; simpl; rewrite app_length; lia. }
  apply Il in I; tauto.
Qed.

(* Where an agent waits for phase n next, the hardware shows n phases or one more, and the latter if all have arrived. *)
Lemma phases_shown M a p s n r : ok M -> In a agents -> left M a = (p, Await s n) :: r ->
  all_did M s n /\ came M s / size s = 1 + n \/ ~ all_did M s n /\ came M s / size s = n.
Proof.
  intros O T E. assert (I : In (p, Await s n) (tr a)) by (apply (left_in M a _ O T); rewrite E; left; auto).
  pose proof (awaited a p s n T I) as Aw; pose proof (sized s) as Sz.
  assert (Full : length (arrivals s n) = size s) by (destruct Aw as [x Ix]; exact (full s n x Ix)).
  assert (Below : forall m, m < n -> all_did M s m /\ length (arrivals s m) = size s).
  { intros m L; split; [|destruct (some_below s n m ltac:(lia) Aw) as [x Ix]; exact (full s m x Ix)]; destruct n as [|n]; [lia|].
    assert (Last : all_did M s n).
    { intros b' q' J'; destruct (not_early a p s n b' q' T I J') as (p' & e & Ip & Pp & Or).
      apply (closed M b' q' a p' O Or); destruct (did_or_left M a p' e O T Ip) as [|K']; auto.
      rewrite E in K'; destruct K' as [K'|K']; [inversion K'; subst; exfalso; exact (precedes_irr _ Pp)|].
      pose proof (head_first M a _ _ _ O T E K') as Q; simpl in Q; exfalso.
      apply (precedes_irr p); eapply precedes_trans; eauto. }
    destruct (Nat.eq_dec m n) as [->|Ne]; [auto|]. destruct (some_below s _ n (Nat.le_succ_diag_r n) Aw) as [[c r'] Ic].
    apply (before_did M s m n c r' O ltac:(lia) Ic); auto. }
  pose proof (shown_low M s n O Below) as Low; destruct (Nat.lt_trichotomy (came M s / size s) (1 + n)) as [L|[L|L]].
  - right; split; [|lia]; intro D; enough (1 + n <= came M s / size s) by lia; apply shown_low; auto; intros m Lm.
    destruct (Nat.eq_dec m n) as [->|]; auto; apply Below; lia.
  - left; split; auto; apply (shown M s n O); lia.
  - exfalso; destruct (shown M s _ O L) as [F D]. destruct (arrivals s (1 + n)) as [|[b q] l] eqn:G; [simpl in F; lia|].
    assert (J : In (b, q) (arrivals s (1 + n))) by (rewrite G; left; auto).
    apply (not_both M a p (Await s n) O T (closed M a p b q O (in_time a p s n b q T I J) (D b q J))); rewrite E; left; auto.
Qed.

Lemma next_parity n : n mod 2 <> (1 + n) mod 2.
Proof.
  pose proof (Nat.div_mod n 2); pose proof (Nat.div_mod (1 + n) 2); pose proof (Nat.mod_upper_bound n 2).
  pose proof (Nat.mod_upper_bound (1 + n) 2); lia.
Qed.

(* So the parity says whether the phase that is meant has ended. *)
Lemma shows M a p s n r : ok M -> In a agents -> left M a = (p, Await s n) :: r ->
  (came M s / size s) mod 2 = (1 + n) mod 2 <-> all_did M s n.
Proof.
  intros O T E; destruct (phases_shown M a p s n r O T E) as [[D V]|[D V]]; rewrite V; [tauto|].
  split; [intro P; exfalso; exact (next_parity n P) | tauto].
Qed.

(* -- steps -------------------------------------------------------------------------------------------------------------- *)

Lemma start_ok : ok start.
Proof.
  assert (No : forall a p, ~ did start a p).
  { intros a p (d & e & I & E); simpl in E; apply (f_equal (@length _)) in E; rewrite app_length in E.
    destruct d; [destruct I | simpl in E; lia]. }
  split.
  - intros a _; exists []; auto.
  - intros a b p k n _ _ _ _ D; exfalso; eapply No; eauto.
  - intros a p s n b q _ _ D; exfalso; eapply No; eauto.
  - intro s; exists []; split; [constructor | split; [reflexivity|]].
    intros b q; split; [intros [] | intros (_ & D & _); exfalso; exact (No _ _ D)].
Qed.

Lemma step_left M l M' a : step M l M' -> (left M' a = left M a /\ forall p, ~ In (a, p) (who l)) \/
  (In a agents /\ exists p e, left M a = (p, e) :: left M' a /\ forall q, In (a, q) (who l) <-> q = p).
Proof.
  assert (One : forall (b : A) (p : path), (a = b /\ forall q, In (a, q) [(b, p)] <-> q = p) \/
            (a <> b /\ forall q, ~ In (a, q) [(b, p)])).
  { intros b p; destruct (agent_dec a b) as [->|Ne]; [left | right]; (split; [auto|]); intro q; simpl.
    - split; [intros [E|[]]; congruence | intros ->; auto].
    - intros [E|[]]; congruence. }
  intro H; inversion H as [L C L' C' b p e r T E F Else _|L C L' w k NE ND All Else]; subst; simpl;
    [destruct (One b p) as [[<- Q]|[Ne Q]]; [right; split; eauto | left; auto]|].
  destruct (in_dec agent_dec a (map fst w)) as [I|I]; [right | left; split; auto].
  - apply in_map_iff in I as ([a' p] & Ea & I); simpl in Ea; subst a'.
    destruct (All a p I) as (T & r & E & F); split; auto; exists p, (Barrier k (length w)); split; [congruence|].
    intro q; split; [|intros ->; auto]; intro J; destruct (All a q J) as (_ & r' & E' & _); congruence.
  - intros p J; apply I, in_map_iff; exists (a, p); auto.
Qed.

Lemma did_step M l M' a p : ok M -> In a agents -> step M l M' -> did M' a p <-> did M a p \/ In (a, p) (who l).
Proof.
  intros O T H; destruct (step_left M l M' a H) as [[E No]|[_ (q & e & E & W)]]; unfold did.
  - rewrite E; split; [auto | intros [|I]; auto; exfalso; eapply No; eauto].
  - destruct (suffix M O a T) as [d F]; split.
    + intros (d' & f & I & F'); assert (G : d' = d ++ [(q, e)]).
      { apply (app_inv_tail (left M' a)); rewrite <- F', F, E, <- app_assoc; auto. }
      subst d'; apply in_app_or in I as [I|[I|[]]]; [left; exists d, f; auto | right; apply W; congruence].
    + intros [(d' & f & I & F')|I].
      * exists (d' ++ [(q, e)]), f; split; [apply in_or_app; auto | rewrite F', E, <- app_assoc; auto].
      * apply W in I; subst p; exists (d ++ [(q, e)]), e; split; [apply in_or_app; simpl; auto | rewrite F, E, <- app_assoc; auto].
Qed.

(* Agents that wait at one key wait at one barrier. *)
Lemma one_barrier M a b p q k n m r r' : ok M -> In a agents -> In b agents ->
  left M a = (p, Barrier k n) :: r -> left M b = (q, Barrier k m) :: r' -> p = q /\ n = m.
Proof.
  intros O; assert (Half : forall a b p q n m r r', In a agents -> In b agents ->
    left M a = (p, Barrier k n) :: r -> left M b = (q, Barrier k m) :: r' -> (p = q /\ n = m) \/ precedes q p).
  { clear a b p q n m r r'; intros a b p q n m r r' Ta Tb Ea Eb;
      assert (La : In (p, Barrier k n) (left M a)) by (rewrite Ea; left; auto).
    assert (Ib : In (q, Barrier k m) (tr b)) by (apply (left_in M b _ O Tb); rewrite Eb; left; auto).
    destruct (own a b p q k n m Ta Tb (left_in M a _ O Ta La) Ib) as [I _];
      destruct (did_or_left M b p _ O Tb I) as [D|L].
    - exfalso; apply (not_both M a p (Barrier k n) O Ta); auto; apply (atomic M O b a p k n); eauto using left_in.
    - rewrite Eb in L; destruct L as [L|L]; [left; inversion L; auto | right; exact (head_first M b _ _ _ O Tb Eb L)]. }
  intros Ta Tb Ea Eb; destruct (Half a b p q n m r r') as [|P]; auto; destruct (Half b a q p m n r' r) as [[]|Q]; auto.
  exfalso; apply (precedes_irr p); eapply precedes_trans; eauto.
Qed.

(* A barrier that goes off is one barrier, and all of it. *)
Lemma goes_off L C L' w k : ok (State L C) -> w <> [] -> NoDup (map fst w) ->
  (forall a p, In (a, p) w -> In a agents /\ exists r, L a = (p, Barrier k (length w)) :: r /\ L' a = r) ->
  exists p, forall b q, In (b, q) w <-> q = p /\ In b agents /\ In (p, Barrier k (length w)) (tr b).
Proof.
  intros O NE ND All; destruct w as [|[a p] w]; [congruence|]; set (W := (a, p) :: w) in *; exists p.
  assert (Eq : forall b q, In (b, q) W -> q = p /\ In b agents /\ In (p, Barrier k (length W)) (tr b)).
  { intros b q I; destruct (All b q I) as (Tb & r & E & _), (All a p (or_introl eq_refl)) as (Ta & r' & E' & _).
    destruct (one_barrier (State L C) b a q p k _ _ r r' O Tb Ta E E') as [-> _]; repeat split; auto.
    apply (left_in (State L C) b _ O Tb); simpl; rewrite E; left; auto. }
  intros b q; split; [apply Eq|]; intros (-> & Tb & Ib); destruct (Eq a p (or_introl eq_refl)) as (_ & Ta & Ia).
  destruct (met a p k _ Ta Ia) as (m & Dm & Lm & Mm). assert (Sub : incl (map fst W) m).
  { intros c J; apply in_map_iff in J as ([c' r] & <- & J); destruct (Eq _ _ J) as (-> & Tc & Ic); apply Mm; auto. }
  assert (J : In b (map fst W)).
  { eapply (NoDup_length_incl ND); [|exact Sub | apply Mm; auto]; rewrite Lm, map_length; auto. }
  apply in_map_iff in J as ([b' r] & <- & J); destruct (Eq _ _ J) as (-> & _); auto.
Qed.

(* What a step does is what stands in the trace. *)
Lemma step_action M l M' a p e : ok M -> step M l M' -> In a agents -> In (a, p) (who l) -> In (p, e) (tr a) ->
  In (p, e) (left M a) /\ what l = e /\
  match e with
  | Access _ => True
  | Barrier _ _ => forall b, In b agents -> In (p, e) (tr b) -> In (b, p) (who l)
  | Arrive s _ => came M' s = 1 + came M s
  | Await s n => all_did M s n
  end.
Proof.
  intros O H T W I. assert (Lf : forall f r, left M a = (p, f) :: r -> e = f).
  { intros f r E; apply (one_action a p e f T I); apply (left_in M a _ O T); rewrite E; left; auto. }
  inversion H as [L C L' C' b q f r Tb E F Else D|L C L' w k NE ND All Else]; subst; simpl in *.
  - destruct W as [W|[]]; inversion W; subst; rewrite (Lf _ _ E) in *; split; [rewrite E; left; auto | split; auto].
    destruct f; simpl in D; try tauto; apply (shows (State L C) a p s n _ O T E); tauto.
  - destruct (All a p W) as (_ & r & E & F); rewrite (Lf _ _ E) in *; split; [rewrite E; left; auto | split; auto].
    destruct (goes_off L C L' w k O NE ND All) as (p' & G); apply G in W as W'; destruct W' as (-> & _ & _).
    intros b Tb Ib; apply G; auto.
Qed.

Lemma who_agents M l M' a p : step M l M' -> In (a, p) (who l) -> In a agents.
Proof. intros H I; destruct (step_left M l M' a H) as [[_ No]|[T _]]; auto; exfalso; eapply No; eauto. Qed.

Definition arrives_at (s : S) (e : action) : bool :=
  match e with Arrive t _ => if signal_dec t s then true else false | _ => false end.

Lemma step_came M l M' s : step M l M' -> came M' s = (if arrives_at s (what l) then 1 else 0) + came M s.
Proof.
  intro H; inversion H as [L C L' C' a p e r T E F Else D|]; subst; simpl; auto.
  destruct e as [x|k n|t n|t n]; simpl in D |- *; [congruence | tauto | | destruct D; congruence].
  destruct D as [D D'], (signal_dec t s) as [<-|Ne]; [auto | apply D'; congruence].
Qed.

Lemma ok_step M l M' : ok M -> step M l M' -> ok M'.
Proof.
  intros O H; split.
  - intros a T; destruct (suffix M O a T) as [d E]; destruct (step_left M l M' a H) as [[F _]|[_ (p & e & F & _)]].
    + exists d; congruence.
    + exists (d ++ [(p, e)]); rewrite E, F, <- app_assoc; auto.
  - intros a b p k n Ta Tb Ia Ib D; apply (did_step M l M' a p O Ta H) in D; apply (did_step M l M' b p O Tb H).
    destruct D as [D|W]; [left; eapply (atomic M O a b); eauto|right].
    destruct (step_action M l M' a p _ O H Ta W Ia) as (_ & _ & All); auto.
  - intros a p s n b q Ta Ia D J; apply (did_step M l M' a p O Ta H) in D; pose proof (proj1 (are_arrivals _ _ _ _) J) as [Tb _].
    apply (did_step M l M' b q O Tb H); left; destruct D as [D|W]; [eapply (waited M O a); eauto|].
    destruct (step_action M l M' a p _ O H Ta W Ia) as (_ & _ & All); auto.
  - intro s; destruct (counted M O s) as (m & Nm & Lm & Im); rewrite (step_came M l M' s H).
    destruct (arrives_at s (what l)) eqn:Ar.
    + inversion H as [L C L' C' a p e r T E F Else D|]; subst; [|discriminate]; destruct e as [| |t n|]; try discriminate.
      simpl in Ar; destruct (signal_dec t s) as [->|]; [clear Ar | discriminate].
      assert (Ia : In (p, Arrive s n) (tr a)) by (apply (left_in (State L C) a _ O T); simpl; rewrite E; left; auto).
      exists ((a, p) :: m); split; [|split; [simpl in *; lia|]].
      * constructor; auto; intro J; apply Im in J as (_ & Da & _).
        apply (not_both (State L C) a p (Arrive s n) O T Da); simpl; rewrite E; left; auto.
      * intros b q; simpl; rewrite Im; split.
        -- intros [W|(Tb & Db & J)]; [inversion W; subst|]; repeat split; eauto; apply (did_step _ _ _ _ _ O ltac:(eassumption) H);
             simpl; auto.
        -- intros (Tb & Db & J); apply (did_step _ _ _ b q O Tb H) in Db as [Db|[W|[]]]; auto.
    + exists m; split; [auto|]; split; [auto|].
      intros b q; rewrite Im; split; intros (Tb & D & n & J); (split; [auto|]; split; [|eauto]).
      * apply (did_step M l M' b q O Tb H); auto.
      * apply (did_step M l M' b q O Tb H) in D as [D|W]; auto; exfalso.
        destruct (step_action M l M' b q _ O H Tb W J) as (_ & El & _); rewrite El in Ar; simpl in Ar.
        destruct (signal_dec s s); congruence.
Qed.

Lemma ok_run M ls M' : ok M -> run M ls M' -> ok M'.
Proof. intros O H; induction H; eauto using ok_step. Qed.

(* -- progress ----------------------------------------------------------------------------------------------------------- *)

Definition set (L : A -> list (path * action)) (a : A) (r : list (path * action)) : A -> list (path * action) :=
  fun b => if agent_dec b a then r else L b.

Lemma set_same L a r : set L a r a = r.
Proof. unfold set; destruct (agent_dec a a); congruence. Qed.
Lemma set_other L a r b : b <> a -> set L a r b = L b.
Proof. unfold set; destruct (agent_dec b a); congruence. Qed.

Theorem progress M : ok M -> finished M \/ exists l M', step M l M'.
Proof.
  intro O; destruct M as [L C]; set (live := filter (fun a => match L a with [] => false | _ => true end) agents).
  assert (Live : forall a, In a live <-> In a agents /\ L a <> []).
  { intro a; unfold live; rewrite filter_In; destruct (L a); intuition congruence. }
  set (next := fun a => match L a with [] => [] | x :: _ => fst x end). destruct live as [|a0 l0] eqn:E.
  { left; intros a T; simpl; destruct (L a) as [|x r] eqn:F; auto.
    exfalso; apply (proj2 (Live a)); split; auto; congruence. }
  right; destruct (first_of _ next live) as (a & I & Min); [rewrite E; discriminate|].
  rewrite E in *; clear E; apply Live in I as [T NE]. destruct (L a) as [|[p e] r] eqn:Ea; [congruence|]; clear NE.
  assert (Na : next a = p) by (unfold next; rewrite Ea; auto).
  assert (Ia : In (p, e) (tr a)) by (apply (left_in (State L C) a _ O T); simpl; rewrite Ea; left; auto).
  (* whatever stands before p in a trace is done *)
  assert (Least : forall b q f, In b agents -> In (q, f) (tr b) -> precedes q p -> did (State L C) b q).
  { intros b q f Tb Ib P; destruct (did_or_left (State L C) b q f O Tb Ib) as [|J]; auto; exfalso; simpl in J.
    destruct (L b) as [|[q' f'] s] eqn:Eb; [destruct J|].
    apply (Min b); [apply Live; split; auto; congruence|]; rewrite Na; unfold next; rewrite Eb; simpl.
    destruct J as [J|J]; [inversion J; subst; auto|].
    eapply precedes_trans; [exact (head_first (State L C) b _ _ (q, f) O Tb Eb J) | exact P]. }
  destruct e as [x|k n|s n|s n].
  - exists (Label [(a, p)] (Access x)), (State (set L a r) C); econstructor; simpl; eauto using set_same, set_other.
  - destruct (met a p k n T Ia) as (w & Dw & Lw & Mw).
    assert (Heads : forall b, In b w -> exists s, L b = (p, Barrier k n) :: s).
    { intros b Ib; apply Mw in Ib as [Tb Ib]. destruct (did_or_left (State L C) b p _ O Tb Ib) as [D|J].
      - exfalso; apply (not_both (State L C) a p (Barrier k n) O T); [|simpl; rewrite Ea; left; auto].
        apply (atomic (State L C) O b a p k n); auto.
      - simpl in J; destruct (L b) as [|[q f] s] eqn:Eb; [destruct J|]; destruct J as [J|J]; [inversion J; subst; eauto|].
        exfalso; apply (Min b); [apply Live; split; auto; congruence|]; rewrite Na; unfold next; rewrite Eb; simpl.
        exact (head_first (State L C) b _ _ (p, Barrier k n) O Tb Eb J). }
    set (W := map (fun b => (b, p)) w); assert (Fst : map fst W = w) by (unfold W; rewrite map_map; simpl; apply map_id).
    assert (LW : length W = n) by (unfold W; rewrite map_length; auto).
    exists (Label W (Barrier k (length W))), (State (fun b => if in_dec agent_dec b w then tl (L b) else L b) C).
    apply step_bar; rewrite ?LW.
    + intro F; rewrite F in Fst; simpl in Fst; subst w; apply (proj2 (Mw a)); auto.
    + rewrite Fst; auto.
    + intros b q J; apply in_map_iff in J as (b' & F & J); inversion F; subst b' q.
      destruct (Heads b J) as [s Eb]; apply Mw in J as J'; destruct J' as [Tb _]; split; auto.
      exists s; split; auto; destruct (in_dec agent_dec b w); [rewrite Eb; auto | tauto].
    + intros b J; rewrite Fst in J; destruct (in_dec agent_dec b w); tauto.
  - exists (Label [(a, p)] (Arrive s n)), (State (set L a r) (fun t => if signal_dec t s then 1 + C t else C t)).
    econstructor; eauto using set_same, set_other; simpl; split; [destruct (signal_dec s s); congruence|].
    intros t Ne; destruct (signal_dec t s); congruence.
  - exists (Label [(a, p)] (Await s n)), (State (set L a r) C); econstructor; eauto using set_same, set_other.
    split; auto; apply (shows (State L C) a p s n r O T Ea); intros b q J; apply are_arrivals in J as J'; destruct J' as [Tb Ib].
    apply (Least b q _ Tb Ib); exact (arrives_first b a q p s n J T Ia).
Qed.

Definition total (M : state) : nat := list_sum (map (fun a => length (left M a)) agents).

Lemma step_total M l M' : step M l M' -> total M' < total M.
Proof.
  intro H; assert (Who : exists a p, In (a, p) (who l)).
  { inversion H as [|L C L' w k NE ND All Else]; subst; simpl; eauto; destruct w as [|[a p] w]; [congruence | simpl; eauto]. }
  destruct Who as (a & p & W); pose proof (who_agents M l M' a p H W) as T. apply sum_less with (a := a); auto.
  - intro b; destruct (step_left M l M' b H) as [[E _]|[_ (q & e & E & _)]]; rewrite E; simpl; auto.
  - destruct (step_left M l M' a H) as [[_ No]|[_ (q & e & E & _)]]; [exfalso; eapply No; eauto | rewrite E; simpl; auto].
Qed.

Lemma run_bounded M ls M' : run M ls M' -> length ls + total M' <= total M.
Proof. induction 1; simpl; auto; match goal with E : step _ _ _ |- _ => apply step_total in E end; lia. Qed.

(* -- happens-before ----------------------------------------------------------------------------------------------------- *)

Definition at_ (ls : list label) (i : nat) (a : A) (p : path) : Prop := exists l, nth_error ls i = Some l /\ In (a, p) (who l).

(* Arrivals at a signal in the first steps of a run. *)
Definition come (s : S) (ls : list label) : nat := length (filter (fun l => arrives_at s (what l)) ls).

(* Of the steps of a run: an agent takes part in both; or the second has waited for a phase that the first arrived for. *)
Inductive hb (ls : list label) : nat -> nat -> Prop :=
| hb_agent i j a p q : i < j -> at_ ls i a p -> at_ ls j a q -> hb ls i j
| hb_signal i j l m s n : i < j -> nth_error ls i = Some l -> what l = Arrive s n -> nth_error ls j = Some m -> what m = Await s n ->
    come s (firstn i ls) / size s < come s (firstn j ls) / size s -> hb ls i j
| hb_trans i j k : hb ls i j -> hb ls j k -> hb ls i k.

Lemma run_split M ls M' i l : run M ls M' -> nth_error ls i = Some l ->
  exists before after M1 M2, ls = before ++ l :: after /\ length before = i /\ run M before M1 /\ step M1 l M2 /\ run M2 after M'.
Proof.
  intro H; revert i; induction H as [M|M m M1 ls M2 H R IH]; intros [|i] E; simpl in E; try discriminate.
  - inversion E; subst; exists [], ls, M, M1; repeat split; auto; constructor.
  - destruct (IH i E) as (b & c & Y & Z & -> & <- & Rb & St & Rc).
    exists (m :: b), c, Y, Z; repeat split; auto; econstructor; eauto.
Qed.

Lemma run_did M ls M' a p : ok M -> run M ls M' -> In a agents -> did M' a p <-> did M a p \/ exists i, at_ ls i a p.
Proof.
  intros O H T; revert O; induction H as [M|M l M1 ls M2 H R IH]; intro O.
  - split; auto; intros [|[i (l & E & _)]]; auto; destruct i; discriminate.
  - rewrite (IH (ok_step _ _ _ O H)), (did_step M l M1 a p O T H); split.
    + intros [[|W]|[i (m & E & W)]]; auto; right; [exists 0, l | exists (Datatypes.S i), m]; auto.
    + intros [|[[|i] (m & E & W)]]; auto; simpl in E; [inversion E; subst; auto | right; exists i, m; auto].
Qed.

Lemma run_came M ls M' s : run M ls M' -> came M' s = come s ls + came M s.
Proof.
  induction 1 as [M|M l M1 ls M2 H R IH]; auto; rewrite IH, (step_came _ _ _ _ H); unfold come; simpl.
  destruct (arrives_at s (what l)); simpl; lia.
Qed.

Lemma firstn_app_length (B : Type) (l m : list B) : firstn (length l) (l ++ m) = l.
Proof. rewrite firstn_app, Nat.sub_diag, firstn_all; simpl; apply app_nil_r. Qed.

(* What stands before a step's positions is done before it, by an earlier step. *)

Lemma earlier_done M l M' a p q e : ok M -> step M l M' -> In a agents -> In (p, e) (tr a) -> precedes p q ->
  In (a, q) (who l) -> did M a p.
Proof.
  intros O St T I P W; destruct (did_or_left M a p e O T I) as [|J]; auto; exfalso.
  destruct (step_left M l M' a St) as [[_ No]|[_ (q' & f & E & Q)]]; [eapply No; eauto|]; apply Q in W; subst q'.
  rewrite E in J; destruct J as [J|J]; [inversion J; subst; exact (precedes_irr _ P)|].
  pose proof (head_first M a _ _ _ O T E J) as P'; apply (precedes_irr p); eapply precedes_trans; eauto.
Qed.

Lemma done_at ls rest M a p : run start ls M -> In a agents -> did M a p ->
  exists i, at_ (ls ++ rest) i a p /\ i < length ls.
Proof.
  intros R T D; apply (run_did start ls M a p start_ok R T) in D as [(d & g & Id & E)|[i (m & Ni & Wi)]].
  - exfalso; simpl in E; apply (f_equal (@length _)) in E; rewrite app_length in E; destruct d;
      [destruct Id | simpl in E; lia].
  - assert (i < length ls) by (apply nth_error_Some; congruence); exists i; split; auto; exists m;
      rewrite nth_error_app1; auto.
Qed.

(* What is meant to come before something that was done was done before it, and happens before it. *)
Theorem ordered ls M a p b q j : run start ls M -> ord a p b q -> at_ ls j b q -> exists i, at_ ls i a p /\ i < j /\ hb ls i j.
Proof.
  intros R Or; revert j; induction Or as [a p q e f T I J P|a b p q k n f Ta Tb Ia Ib J P|a b p q s n Ta Tb I J|a p b q c r _ IH1 _ IH2];
    intros j Aj.
  4: { destruct (IH2 j Aj) as (i & Ai & Li & Hi); destruct (IH1 i Ai) as (k & Ak & Lk & Hk).
       exists k; split; [auto|]; split; [lia|]; eapply hb_trans; eauto. }
  all: pose proof Aj as (l & Nj & W);
    destruct (run_split _ _ _ _ _ R Nj) as (l1 & l2 & M1 & M2 & -> & <- & R1 & St & R2);
    pose proof (ok_run _ _ _ start_ok R1) as O1.
  - destruct (done_at l1 (l :: l2) M1 a p R1 T (earlier_done _ _ _ _ _ _ _ O1 St T I P W)) as (i & Ai & Li).
    exists i; split; [auto|]; split; auto; apply hb_agent with (a := a) (p := p) (q := q); auto.
  - destruct (done_at l1 (l :: l2) M1 b p R1 Tb (earlier_done _ _ _ _ _ _ _ O1 St Tb Ib P W)) as (i & Ai & Li).
    exists i; split; [|split; auto; apply hb_agent with (a := b) (p := p) (q := q); auto].
    destruct Ai as (m & Ni & Wi); exists m; split; auto;
      destruct (run_split _ _ _ _ _ R Ni) as (l3 & l4 & M3 & M4 & _ & _ & R3 & St3 & _).
    destruct (step_action M3 m M4 b p _ (ok_run _ _ _ start_ok R3) St3 Tb Wi Ib) as (_ & _ & All); auto.
  - destruct (step_action M1 l M2 b q _ O1 St Tb W J) as (Lf & Wl & D); assert (Ja : In (a, p) (arrivals s n)) by (apply are_arrivals; auto).
    destruct (done_at l1 (l :: l2) M1 a p R1 Ta (D a p Ja)) as (i & Ai & Li); exists i; split; [auto|]; split; auto.
    destruct Ai as (m & Ni & Wi); pose proof Ni as Ni1; rewrite nth_error_app1 in Ni1 by auto.
    destruct (run_split _ _ _ _ _ R1 Ni1) as (l3 & l4 & M3 & M4 & E1 & Ei & R3 & St3 & _).
    pose proof (ok_run _ _ _ start_ok R3) as O3.
    destruct (step_action M3 m M4 a p _ O3 St3 Ta Wi I) as (La & Wm & _); apply hb_signal with (l := m) (m := l) (s := s) (n := n); auto.
    rewrite firstn_app_length, E1, <- app_assoc, <- Ei, firstn_app_length, <- E1.
    pose proof (run_came start l3 M3 s R3) as C3; pose proof (run_came start _ M1 s R1) as C1; simpl in C3, C1.
    rewrite Nat.add_0_r in C3, C1; rewrite <- C3, <- C1. assert (V3 : came M3 s / size s <= n).
    { apply Nat.nlt_ge; intro G; exact (not_both M3 a p _ O3 Ta (proj2 (shown M3 s n O3 G) a p Ja) La). }
    destruct (step_left M1 l M2 b St) as [[_ No]|[_ (q' & e' & E & Q)]]; [exfalso; eapply No; eauto|]; apply Q in W;
      subst q'.
    assert (e' = Await s n) by (apply (one_action b q); auto; apply (left_in M1 b _ O1 Tb); rewrite E; left; auto).
    subst e'; destruct (phases_shown M1 b q s n _ O1 Tb E) as [[_ V]|[No _]]; [lia | tauto].
Qed.

(* What an agent does at a position it does once. *)
Lemma once ls M a p x i j : run start ls M -> In a agents -> In (p, x) (tr a) -> at_ ls i a p -> at_ ls j a p ->
  i < j -> False.
Proof.
  intros R T I (l & Ni & Wi) (m & Nj & Wj) L;
    destruct (run_split _ _ _ _ _ R Nj) as (l1 & l2 & M1 & M2 & -> & E & R1 & St & _).
  pose proof (ok_run _ _ _ start_ok R1) as O1; destruct (step_action M1 m M2 a p x O1 St T Wj I) as [Lf _].
  apply (not_both M1 a p x O1 T); auto; apply (run_did start l1 M1 a p start_ok R1 T).
  right; exists i, l; split; auto; rewrite nth_error_app1 in Ni by lia; auto.
Qed.

End Machine.
