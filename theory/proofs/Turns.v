(* The turns of a ring's cycle: what the rules of a round say of the phases of its mbarriers. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted FinFun.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents.
Import ListNotations.

Lemma sum_length (A C : Type) (f : A -> list C) l : length (flat_map f l) = sum (map (fun x => length (f x)) l).
Proof. induction l as [|x l IH]; simpl; auto; rewrite app_length, IH; auto. Qed.

Lemma nodup_flat_map (A C : Type) (f : A -> list C) l : NoDup l -> (forall x, In x l -> NoDup (f x)) ->
  (forall x y z, In x l -> In y l -> In z (f x) -> In z (f y) -> x = y) -> NoDup (flat_map f l).
Proof.
  induction l as [|x l IH]; simpl; intros D H U; [constructor|]; inversion D; subst; apply nodup_app; auto.
  - apply IH; auto; intros; eapply U; eauto.
  - intros z I J; apply in_flat_map in J; destruct J as (y & J & K).
    assert (x = y) by (eapply U; eauto); subst; auto.
Qed.

Lemma sorted_two (A : Type) (R : A -> A -> Prop) l x y : StronglySorted R l -> In x l -> In y l -> x = y \/ R x y \/ R y x.
Proof.
  induction 1 as [|z l S IH F]; intros I J; [destruct I|]; rewrite Forall_forall in F.
  destruct I as [<-|I], J as [<-|J]; auto.
Qed.

Lemma sorted_nodup (A : Type) (R : A -> A -> Prop) l : (forall x, ~ R x x) -> StronglySorted R l -> NoDup l.
Proof.
  intro Irr; induction 1 as [|z l S IH F]; constructor; auto; intro I; rewrite Forall_forall in F; exact (Irr z (F z I)).
Qed.

Lemma eqb_false x y : eqb x y = false -> x = negb y.
Proof. destruct x, y; simpl; congruence. Qed.

Lemma tells_on e b : tells e = Some b -> exists x, e = EOp x /\ on x = Some b.
Proof. destruct e as [|?|[]]; simpl; try discriminate; eauto. Qed.

Lemma tell_steps c e b : tells e = Some b -> cycle b = c -> steps c e = true /\ ends c e = false.
Proof. destruct e as [|?|[]]; simpl; try discriminate; intros E <-; inversion E; subst; rewrite Nat.eqb_refl; auto. Qed.

Section Turns.

Variables B N : nat.
Variable o : oracle.
Variable s : stmt.
Variable F : list fact.

Definition tr (a : thread) : list (path * event) := trace o s [] a.

Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation ord := (ord agent access key signal agents acts).

Lemma tr_order a : is_thread a -> sorted (tr a).
Proof. intros _; apply trace_sorted. Qed.

(* Who arrives at a signal for a phase, and where. *)
Definition is_arrive (g : signal) (n : nat) (z : act) : bool :=
  match snd z with Arrive _ _ _ h m => if signal_dec h g then m =? n else false | _ => false end.

Definition pair_dec (x y : agent * path) : {x = y} + {x <> y}.
Proof. decide equality; [apply path_dec | apply agent_dec]. Defined.

Definition arrivals (g : signal) (n : nat) : list (agent * path) :=
  nodup pair_dec (flat_map (fun h => map (fun z => (h, fst z)) (filter (is_arrive g n) (acts h))) agents).

Lemma are_arrivals g n h q : In (h, q) (arrivals g n) <-> In h agents /\ In (q, arrive_ g n) (acts h).
Proof.
  unfold arrivals; rewrite nodup_In, in_flat_map; split.
  - intros (h' & I & J); apply in_map_iff in J; destruct J as ([q' x] & E & J); inversion E; subst; apply filter_In in J.
    destruct J as [J K]; unfold is_arrive in K; simpl in K; destruct x; try discriminate.
    destruct (signal_dec s0 g) as [->|]; [|discriminate]; apply Nat.eqb_eq in K; subst; auto.
  - intros [I J]; exists h; split; auto; apply in_map_iff; exists (q, arrive_ g n); split; auto; apply filter_In; split; auto.
    unfold is_arrive; simpl; destruct (signal_dec g g); [apply Nat.eqb_refl | congruence].
Qed.

Lemma each_once g n : NoDup (arrivals g n).
Proof. apply NoDup_nodup. Qed.

Lemma in_ring_arrivals h q block b copy n : In (h, q) (arrivals (Ring block b copy) n) <->
  exists a p e, is_thread a /\ In (p, e) (tr a) /\ tells e = Some b /\ (h, q) = arrival a p e /\
    block = fst a /\ copy = round_of tr b a p mod copies b /\ n = round_of tr b a p / copies b.
Proof.
  rewrite are_arrivals; split.
  - intros [I J]; apply (arrive_ring B N tr) in J; auto.
  - intros (a & p & e & T & I & Te & E & R); assert (Ih : In h agents).
    { destruct e as [x|u k|[d|d|c| |d l|l|d]]; simpl in Te, E; try discriminate; inversion E; subst;
        rewrite ?thread_agent, ?engine_agent; auto; split; auto; eexists; split; eauto. }
    split; auto; apply (arrive_ring B N tr); auto; exists a, p, e; auto.
Qed.

Section Cycle.

Variable c : nat.
Variable body : stmt.
Hypothesis Bodies : bodies c s = [body].
Hypothesis Outer : outer N c s true = true.

Notation I := (items body [Part 0] []).
Notation M := (barriers_of I c).
Hypothesis Turns : turns N I c = true.

Definition round (a : thread) (k : nat) (W : path) : Prop := nth_error (visits o c s [] a) k = Some W.

Lemma round_same a b k W : is_thread a -> is_thread b -> fst a = fst b -> round a k W -> round b k W.
Proof. unfold round; intros Ta Tb E R; rewrite <- (visits_same B N o c s [] a b true); auto. Qed.

Lemma bodies_flat : forall t v b, outer N c t v = true -> In b (bodies c t) -> flat c b = true.
Proof.
  induction t as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u t IH|k t IH|x]; simpl; intros v b H J; try (destruct J; fail); eauto.
  - destruct (is_end c s2); bools; [destruct J as [<-|[]]; auto|]; apply in_app_iff in J; destruct J; eauto.
  - bools; apply in_app_iff in J; destruct J; eauto.
Qed.

Lemma flat_body : flat c body = true.
Proof. eapply bodies_flat; [exact Outer | rewrite Bodies; left; auto]. Qed.

Lemma round_incl a k W : round a k W -> incl (trace o body (W ++ [Part 0]) a) (tr a).
Proof.
  intro R; apply nth_error_In in R; destruct (in_visit o c s [] a W R) as (b & J & K); rewrite Bodies in J.
  destruct J as [<-|[]]; exact K.
Qed.

Lemma item_first z : In z I -> exists r, place z = Part 0 :: r.
Proof. destruct z as [[p e] K]; intro J; apply item_path in J; destruct J as [r ->]; unfold place; simpl; eauto. Qed.

Lemma do_item a k W z : round a k W -> In z I -> sats (who_ z) a -> In (W ++ place z, deed_ z) (tr a).
Proof.
  destruct z as [[p e] K]; unfold place, deed_, who_; simpl; intros R J S.
  apply (round_incl a k W R); eapply item_there; eauto.
Qed.

Lemma number_at a k W r : round a k W -> rounds c (tr a) (W ++ Part 0 :: r) = k.
Proof. intro R; eapply round_number; eauto. Qed.

Lemma item_number a k W z : round a k W -> In z I -> rounds c (tr a) (W ++ place z) = k.
Proof. intros R J; destruct (item_first z J) as [r E]; rewrite E; eapply number_at; eauto. Qed.

Lemma op_item a p e : In (p, e) (tr a) -> steps c e = true -> ends c e = false ->
  exists k W z, round a k W /\ In z I /\ p = W ++ place z /\ e = deed_ z /\ sats (who_ z) a.
Proof.
  intros J St En; destruct (outer_weaker N o c s true Outer [] a p e J) as (W & b & X & Y & Z); auto.
  { unfold belongs; rewrite St; auto. }
  rewrite Bodies in X; destruct X as [<-|[]]; apply In_nth_error in Y; destruct Y as [k Y].
  destruct (item_of o W c body [Part 0] [] a p e flat_body (fun k f => match f with end) Z St) as (q & K & -> & Q & S).
  exists k, W, (q, e, K); auto.
Qed.

(* The rules, one by one. *)
Lemma rules : existsb back M = true /\ existsb (fun b => negb (back b)) M = true /\
  (forall b d, In b M -> In d M -> copies b = copies d /\ 0 < copies b) /\
  (forall b, In b M -> counts N I b = true) /\
  (forall j b d, In j I -> tells (deed_ j) = Some b -> cycle b = c -> In d M -> back b <> back d -> has_waited I d (place j) (who_ j) = true) /\
  (forall i d, In i I -> deed_ i = EOp (Wait d) -> cycle d = c ->
     told N I (who_ i) (place i) (fun b => (cycle b =? c) && negb (eqb (back b) (back d))) = true /\
     (back d = false -> forall j, In j I -> is_tell d j = true -> prec (place j) (place i) = true)).
Proof.
  pose proof Turns as T0; unfold turns in T0; repeat (apply andb_prop in T0; destruct T0 as [T0 ?]).
  split; [auto|]; split; [auto|]; split; [|split; [|split]].
  - destruct M as [|d0 m]; [discriminate|]; bools; intros b d Ib Id.
    match goal with H : forallb (fun b => copies b =? _) _ = true |- _ => rewrite forallb_forall in H;
      pose proof (H b Ib) as Hb; pose proof (H d Id) as Hd end; bools; lia.
  - intros b Ib; match goal with H : forallb (counts N I) M = true |- _ => rewrite forallb_forall in H; auto end.
  - intros j b d Ij Te Cy Id Ne.
    match goal with H : forallb (fun j => match tells _ with _ => _ end) I = true |- _ => rewrite forallb_forall in H; specialize (H j Ij); rename H into G end.
    rewrite Te, Cy, Nat.eqb_refl in G; simpl in G; rewrite forallb_forall in G; specialize (G d Id).
    apply orb_prop in G; destruct G as [G|G]; auto; apply eqb_prop in G; congruence.
  - intros i d Ii De Cy.
    match goal with H : forallb (fun i => match deed_ i with _ => _ end) I = true |- _ => rewrite forallb_forall in H; specialize (H i Ii); rename H into G end.
    rewrite De, Cy, Nat.eqb_refl in G; simpl in G; apply andb_prop in G; destruct G as [G L]; split; auto.
    intros Bd j Ij Tj; rewrite Bd in L; simpl in L; rewrite forallb_forall in L; specialize (L j Ij); rewrite Tj in L; auto.
Qed.

Lemma in_barriers z x b : In z I -> deed_ z = EOp x -> on x = Some b -> cycle b = c -> In b M.
Proof.
  intros J E On Cy; unfold barriers_of; apply in_flat_map; exists z; split; auto; unfold barrier_of; rewrite E, On, Cy, Nat.eqb_refl.
  left; auto.
Qed.

Lemma barriers_in b : In b M -> cycle b = c.
Proof.
  intro J; apply in_flat_map in J; destruct J as (z & _ & J); unfold barrier_of in J; destruct (deed_ z) as [|?|x]; try (destruct J; fail).
  destruct (on x) as [d|]; [|destruct J]; destruct (Nat.eqb_spec (cycle d) c); [destruct J as [<-|[]]; auto | destruct J].
Qed.

(* The arrivals of a round: those of all threads that come to a site at which one arrives. *)
Definition of_round (block : nat) (W : path) (b : mbarrier) : list (agent * path) :=
  flat_map (fun j => map (fun t => arrival (block, t) (W ++ place j) (deed_ j)) (satisfying N (who_ j))) (filter (is_tell b) I).

Lemma in_satisfying K t : In t (satisfying N K) <-> t < N /\ forall x, In x K -> sat x t = true.
Proof.
  unfold satisfying; rewrite filter_In, in_seq, forallb_forall; split; intros [X Y]; split; auto; lia.
Qed.

Lemma is_tell_spec b z : is_tell b z = true -> tells (deed_ z) = Some b.
Proof. unfold is_tell; destruct (tells (deed_ z)); [intro E; apply mbarrier_eq in E; congruence | discriminate]. Qed.

Lemma tell_is b z : tells (deed_ z) = Some b -> is_tell b z = true.
Proof. unfold is_tell; intros ->; apply mbarrier_refl. Qed.

Lemma arrival_path a p e h q : (h, q) = arrival a p e -> exists r, q = p ++ r.
Proof.
  destruct e as [x|u k|[d|d|c0| |d l|l|d]]; simpl; intro E; inversion E; eauto; exists []; rewrite app_nil_r; auto.
Qed.

Lemma of_round_nodup block W b : NoDup (of_round block W b).
Proof.
  pose proof (items_rising body [Part 0] []) as Rise.
  apply nodup_flat_map.
  - apply NoDup_filter; eapply sorted_nodup; [|exact Rise]; intro x; apply precedes_irr.
  - intros j _; apply Injective_map_NoDup; [|apply NoDup_filter, seq_NoDup].
    intros t u E; destruct (deed_ j) as [x|v k|[d|d|c0| |d l|l|d]]; simpl in E; inversion E; auto.
  - intros j k [h q] J K Hj Hk; apply filter_In in J; apply filter_In in K; destruct J as [J _], K as [K _].
    apply in_map_iff in Hj; apply in_map_iff in Hk; destruct Hj as (t & Ej & _), Hk as (u & Ek & _).
    symmetry in Ej, Ek; destruct (arrival_path _ _ _ _ _ Ej) as [r Q], (arrival_path _ _ _ _ _ Ek) as [r' Q'].
    rewrite Q in Q'; rewrite <- !app_assoc in Q'; apply app_inv_head in Q'.
    destruct (sorted_two _ _ _ j k Rise J K) as [|[P|P]]; auto; exfalso.
    + apply (precedes_irr (place j ++ r)); rewrite Q' at 2; apply precedes_app; auto.
    + apply (precedes_irr (place j ++ r)); rewrite Q' at 1; apply precedes_app; auto.
Qed.

Lemma in_of_round a k W b h q : is_thread a -> round a k W -> In b M ->
  In (h, q) (of_round (fst a) W b) <-> In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)).
Proof.
  intros Ta R Ib; pose proof (barriers_in b Ib) as Cy; rewrite in_ring_arrivals; unfold of_round; rewrite in_flat_map; split.
  - intros (j & J & K); apply filter_In in J; destruct J as [J Tj]; apply is_tell_spec in Tj; apply in_map_iff in K.
    destruct K as (t & E & K); apply in_satisfying in K; destruct K as [L S].
    assert (Tt : is_thread (fst a, t)) by (destruct Ta; split; auto).
    assert (Rt : round (fst a, t) k W) by (apply (round_same a); auto).
    exists (fst a, t), (W ++ place j), (deed_ j); unfold round_of; rewrite Cy, (item_number _ k W j Rt J).
    repeat (split; [auto|]); auto; apply (do_item _ k W); auto.
  - intros (a' & p & e & T & J & Te & E & Bl & Co & Ph); destruct (tell_steps c e b Te Cy) as [St En].
    destruct (op_item a' p e J St En) as (k' & W' & z & R' & Iz & -> & -> & S).
    unfold round_of in Co, Ph; rewrite Cy, (item_number _ k' W' z R' Iz) in Co, Ph.
    destruct rules as (_ & _ & Cp & _); destruct (Cp b b Ib Ib) as [_ Pos].
    assert (k = k') by (rewrite (Nat.div_mod k (copies b)), (Nat.div_mod k' (copies b)) by lia; congruence); subst k'.
    assert (R'' : round a k W') by (apply (round_same a'); auto).
    assert (W' = W) by (unfold round in *; congruence); subst W'.
    exists z; split; [apply filter_In; split; auto using tell_is|]; apply in_map_iff; exists (snd a'); split.
    + rewrite E; f_equal; destruct a'; simpl in *; congruence.
    + apply in_satisfying; split; [destruct T; auto | exact S].
Qed.

Lemma full a k W b : is_thread a -> round a k W -> In b M ->
  length (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) = need b /\ 0 < need b.
Proof.
  intros Ta R Ib; destruct rules as (_ & _ & _ & Co & _); specialize (Co b Ib); unfold counts in Co; bools; split; auto.
  rewrite H0; transitivity (length (of_round (fst a) W b)).
  - symmetry; apply same_length; auto using of_round_nodup, each_once; intros [h q]; apply (in_of_round a k); auto.
  - unfold of_round; rewrite sum_length; f_equal; apply map_ext; intro j; apply map_length.
Qed.

(* -- the order of turns ------------------------------------------------------------------------------------------------- *)

Lemma has_waited_spec b p K a k W : has_waited I b p K = true -> round a k W -> sats K a ->
  exists i, In i I /\ deed_ i = EOp (Wait b) /\ before (place i) p None /\ sats (who_ i) a /\
    In (W ++ place i, EOp (Wait b)) (tr a) /\
    (forall k' W', round a k' W' -> In (W' ++ place i, EOp (Wait b)) (tr a)).
Proof.
  unfold has_waited; intros H R S; apply existsb_exists in H; destruct H as (i & J & H); bools.
  unfold is_wait in H; destruct (deed_ i) as [|?|[d| | | | | |]] eqn:E; try discriminate; apply mbarrier_eq in H; subst d.
  assert (Si : sats (who_ i) a) by (eapply implies_sound; eauto).
  exists i; split; auto; split; auto; split; [apply prec_sound; auto|]; split; [auto|].
  split; [rewrite <- E; apply (do_item a k); auto | intros k' W' R'; rewrite <- E; apply (do_item a k'); auto].
Qed.

(* What a thread that waits in a round does. *)
Lemma wait_now a k W i b : round a k W -> In i I -> deed_ i = EOp (Wait b) -> sats (who_ i) a -> cycle b = c ->
  (back b = false -> In (W ++ place i, await_ (Ring (fst a) b (k mod copies b)) (k / copies b)) (acts (Thread a))) /\
  (forall m, back b = true -> k / copies b = S m -> In (W ++ place i, await_ (Ring (fst a) b (k mod copies b)) m) (acts (Thread a))).
Proof.
  intros R J E S Cy; assert (In (W ++ place i, EOp (Wait b)) (tr a)) as It by (rewrite <- E; apply (do_item a k); auto).
  destruct (wait_acts B N tr a _ b It) as [X Y]; unfold ring_of, phase_of, round_of in X, Y.
  rewrite Cy, (item_number a k W i R J) in X, Y; auto.
Qed.

Lemma thread_ok a : is_thread a -> In (Thread a) agents.
Proof. apply thread_agent. Qed.

(* Arrivals are before those who wait for them. *)
Lemma signalled g n h q a p : In (h, q) (arrivals g n) -> is_thread a -> In (p, await_ g n) (acts (Thread a)) -> ord h q (Thread a) p.
Proof. intros J T W; apply are_arrivals in J; destruct J; eapply ord_signal; eauto using thread_ok. Qed.

(* What a thread has waited for in a round was there: for a copy to be filled in this round, or to be free since its last use. *)
Lemma waited_for b p K a k W h q x f :
  has_waited I b p K = true -> In b M -> round a k W -> sats K a -> is_thread a ->
  (exists r, x = W ++ p ++ r) -> In (x, f) (acts (Thread a)) ->
  (back b = false -> In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) -> ord h q (Thread a) x) /\
  (forall m, back b = true -> k / copies b = S m -> In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) m) -> ord h q (Thread a) x).
Proof.
  intros H Ib R S T [r ->] Fx; destruct (has_waited_spec b p K a k W H R S) as (i & J & E & P & Si & It & _).
  destruct (wait_now a k W i b R J E Si (barriers_in b Ib)) as [X Y].
  assert (Pr : precedes (W ++ place i) (W ++ p ++ r)).
  { exists None; apply before_prefix; rewrite <- (app_nil_r (place i)); apply before_app; auto. }
  split.
  - intros Bb L; eapply ord_trans; [eapply signalled; eauto|]; eapply ord_own; eauto using thread_ok.
  - intros m Bb Ph L; eapply ord_trans; [eapply signalled; eauto|]; eapply ord_own; eauto using thread_ok.
Qed.

(* Also in an earlier round. *)
Lemma waited_earlier b p K a k W j V h q x f :
  has_waited I b p K = true -> In b M -> round a k W -> round a j V -> j < k -> sats K a -> is_thread a ->
  (exists r, x = W ++ p ++ r) -> In (x, f) (acts (Thread a)) ->
  (back b = false -> In (h, q) (arrivals (Ring (fst a) b (j mod copies b)) (j / copies b)) -> ord h q (Thread a) x) /\
  (forall m, back b = true -> j / copies b = S m -> In (h, q) (arrivals (Ring (fst a) b (j mod copies b)) m) -> ord h q (Thread a) x).
Proof.
  intros H Ib R Rj Lt S T [r ->] Fx; destruct (has_waited_spec b p K a k W H R S) as (i & J & E & P & Si & It & _).
  destruct (wait_now a j V i b Rj J E Si (barriers_in b Ib)) as [X Y].
  assert (Pr : precedes (V ++ place i) (W ++ p ++ r)).
  { apply precedes_app; exact (rising_nth _ (visits_rising o c s [] a) _ _ _ _ Rj R Lt). }
  split.
  - intros Bb L; eapply ord_trans; [eapply signalled; eauto|]; eapply ord_own; eauto using thread_ok.
  - intros m Bb Ph L; eapply ord_trans; [eapply signalled; eauto|]; eapply ord_own; eauto using thread_ok.
Qed.

(* An arrival of a round, by site. *)
Lemma arrival_at a k W j b : is_thread a -> round a k W -> In j I -> tells (deed_ j) = Some b -> cycle b = c -> sats (who_ j) a ->
  In (arrival a (W ++ place j) (deed_ j)) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)).
Proof.
  intros Ta R J Te Cy S; destruct (arrival a (W ++ place j) (deed_ j)) as [h q] eqn:E; apply in_ring_arrivals.
  exists a, (W ++ place j), (deed_ j); unfold round_of; rewrite Cy, (item_number a k W j R J); repeat (split; [auto|]); auto.
  apply (do_item a k); auto.
Qed.

Lemma arrival_of a k W b h q : is_thread a -> round a k W -> In b M ->
  In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) ->
  exists a' j, is_thread a' /\ fst a' = fst a /\ round a' k W /\ In j I /\ tells (deed_ j) = Some b /\ sats (who_ j) a' /\
    (h, q) = arrival a' (W ++ place j) (deed_ j).
Proof.
  intros Ta R Ib J; apply (in_of_round a k W b h q Ta R Ib) in J; unfold of_round in J; apply in_flat_map in J.
  destruct J as (j & J & K); apply filter_In in J; destruct J as [J Tj]; apply in_map_iff in K; destruct K as (t & E & K).
  apply in_satisfying in K; destruct K as [L S]; assert (Tt : is_thread (fst a, t)) by (destruct Ta; split; auto).
  exists (fst a, t), j; split; auto; split; auto; split; [apply (round_same a); auto|]; split; auto; split; [apply is_tell_spec; auto|]; auto.
Qed.

(* What a thread does before a site to which it comes, or for which one of its warp comes, is before an arrival there. *)
Lemma covered_by a k W p K j b x f : is_thread a -> round a k W -> sats K a -> In j I -> tells (deed_ j) = Some b -> cycle b = c ->
  covers N I p K j = true -> (forall t, before p t None -> precedes x (W ++ t)) -> In (x, f) (acts (Thread a)) ->
  exists h q, In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) /\ ord (Thread a) x h q.
Proof.
  intros Ta R S J Te Cy H Bef Fx; unfold covers in H; apply orb_prop in H; destruct H as [H|H].
  - bools; assert (Sj : sats (who_ j) a) by (eapply implies_sound; eauto).
    pose proof (arrival_at a k W j b Ta R J Te Cy Sj) as A; destruct (arrival a (W ++ place j) (deed_ j)) as [h q] eqn:E.
    exists h, q; split; auto; replace h with (fst (arrival a (W ++ place j) (deed_ j))) by (rewrite E; auto).
    replace q with (snd (arrival a (W ++ place j) (deed_ j))) by (rewrite E; auto).
    eapply (issue B N tr); eauto; [apply (do_item a k); auto | apply Bef, prec_sound; auto].
  - apply existsb_exists in H; destruct H as (i & Ii & H); bools.
    destruct (deed_ i) as [|[n| |?|] hw|] eqn:Ei; try discriminate; destruct n as [|n]; try discriminate.
    assert (n = 31) by (repeat (destruct n as [|n]; try discriminate); auto); subst n.
    match goal with X : implies K (who_ i) = true |- _ => pose proof (implies_sound _ _ a X S) as Si end.
    set (b' := (fst a, 32 * (snd a / 32)) : thread).
    pose proof (Nat.mul_div_le (snd a) 32 ltac:(lia)) as Le.
    assert (Tb : is_thread b') by (destruct Ta as [T1 T2]; split; [exact T1 | exact (Nat.le_lt_trans _ _ _ Le T2)]).
    assert (U : same (Threads 32) a b').
    { unfold same, name, b'; cbn [fst snd]; rewrite (Nat.mul_comm 32 (snd a / 32)), Nat.div_mul by lia; auto. }
    match goal with X : whole N (Threads 32) (who_ i) = true |- _ => pose proof (whole_sats N _ _ a b' X U Si) as Sb end.
    assert (Sj : sats (who_ j) b').
    { eapply implies_sound; [eassumption|]; intros y [<-|Iy]; [|auto]; unfold sat, lane, b'; cbn [cmod clo chi fst snd Nat.eqb].
      rewrite (Nat.mul_comm 32 (snd a / 32)), Nat.mod_mul by lia; auto. }
    assert (Rb : round b' k W) by (apply (round_same a); auto).
    pose proof (arrival_at b' k W j b Tb Rb J Te Cy Sj) as A; destruct (arrival b' (W ++ place j) (deed_ j)) as [h q] eqn:E.
    exists h, q; split; [exact A|].
    assert (Bar1 : In (W ++ place i, barrier_ (key_of (Threads 32) hw a) (count B N (Threads 32))) (acts (Thread a))).
    { apply in_thread; exists (W ++ place i), (EBar (Threads 32) hw); split; [rewrite <- Ei; apply (do_item a k); auto | left; auto]. }
    assert (Bar2 : In (W ++ place i, barrier_ (key_of (Threads 32) hw a) (count B N (Threads 32))) (acts (Thread b'))).
    { apply in_thread; exists (W ++ place i), (EBar (Threads 32) hw); split; [rewrite <- Ei; apply (do_item b' k); auto | left].
      rewrite (key_same (Threads 32) hw a b' U); auto. }
    eapply ord_trans; [eapply ord_own; [apply thread_ok; auto | exact Fx | exact Bar1 |]|].
    { apply Bef, prec_sound; auto. }
    assert (Pij : precedes (W ++ place i) (W ++ place j)) by (exists None; apply before_prefix, prec_sound; auto).
    assert (Ij : In (W ++ place j, deed_ j) (tr b')) by (apply (do_item b' k); auto).
    clear U Sb Sj Si.
    destruct (deed_ j) as [y|u0 hw0|[d|d|c0| |d l|l|d]] eqn:Ej; simpl in Te, E; try discriminate; inversion Te; subst d; inversion E; subst h q.
    + eapply ord_bar; [apply thread_ok, Ta | apply thread_ok, Tb | exact Bar1 | exact Bar2 | | exact Pij].
      apply in_thread; exists (W ++ place j), (EOp (Tell b)); split; auto; left; reflexivity.
    + eapply ord_trans; [eapply ord_bar; [apply thread_ok, Ta | apply thread_ok, Tb | exact Bar1 | exact Bar2 |
          apply (issued_acts B N tr b' _ _ Ij eq_refl) | apply precedes_app_l; exact Pij]|].
      destruct (issued_acts B N tr b' _ _ Ij eq_refl) as [X Y].
      assert (Te' : In (Engine b' (W ++ place j)) agents) by (apply engine_agent; eauto).
      eapply ord_trans; [eapply ord_signal; [apply thread_ok, Tb | exact Te' | exact X | exact Y]|].
      eapply ord_own; [exact Te' | exact Y | apply in_engine; exists (EOp (Load b l)); split; [auto|]; right; apply in_or_app; right; left; reflexivity |].
      apply parts_precede; lia.
    + eapply ord_trans; [eapply ord_bar; [apply thread_ok, Ta | apply thread_ok, Tb | exact Bar1 | exact Bar2 |
          apply (issued_acts B N tr b' _ _ Ij eq_refl) | apply precedes_app_l; exact Pij]|].
      destruct (issued_acts B N tr b' _ _ Ij eq_refl) as [X Y].
      assert (Te' : In (Engine b' (W ++ place j)) agents) by (apply engine_agent; eauto).
      eapply ord_trans; [eapply ord_signal; [apply thread_ok, Tb | exact Te' | exact X | exact Y]|].
      eapply ord_own; [exact Te' | exact Y | apply in_engine; exists (EOp (Later b)); split; [auto|]; right; apply in_or_app; right; left; reflexivity |].
      apply parts_precede; lia.
Qed.

Lemma told_by a k W p K choose x f : is_thread a -> round a k W -> sats K a -> told N I K p choose = true ->
  (forall b, choose b = true -> cycle b = c) -> (forall t, before p t None -> precedes x (W ++ t)) -> In (x, f) (acts (Thread a)) ->
  exists b h q, choose b = true /\ In b M /\ In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) /\ ord (Thread a) x h q.
Proof.
  intros Ta R S H Ch X Fx; unfold told in H; apply existsb_exists in H; destruct H as (j & J & H).
  destruct (tells (deed_ j)) as [b|] eqn:Te; [|discriminate]; bools.
  destruct (covered_by a k W p K j b x f) as (h & q & A & Or); auto.
  exists b, h, q; split; auto; split; auto; destruct (tells_on _ _ Te) as (y & E & On); eapply in_barriers; eauto.
Qed.

(* A round's arrivals that fill come before those that free, and these before those of the copy's next round that fill. *)
Lemma next_round k n : 0 < n -> (k + n) mod n = k mod n /\ (k + n) / n = S (k / n).
Proof.
  intro L; replace (k + n) with (k + 1 * n) by lia; rewrite Nat.mod_add, Nat.div_add by lia; split; auto; lia.
Qed.

Lemma fill_then_free a k W f r x y : is_thread a -> round a k W -> In f M -> In r M -> back f = false -> back r = true ->
  In x (arrivals (Ring (fst a) f (k mod copies f)) (k / copies f)) ->
  In y (arrivals (Ring (fst a) r (k mod copies r)) (k / copies r)) -> ord (fst x) (snd x) (fst y) (snd y).
Proof.
  intros Ta R If Ir Bf Br X Y; destruct x as [g p], y as [h q]; simpl.
  destruct (arrival_of a k W r h q Ta R Ir Y) as (a' & j & Ta' & Bl & R' & J & Te & S & E).
  destruct rules as (_ & _ & _ & _ & Wt & _); pose proof (Wt j r f J Te (barriers_in r Ir) If ltac:(congruence)) as H.
  destruct (has_waited_spec f (place j) (who_ j) a' k W H R' S) as (i & Ii & Ei & P & Si & It & _).
  destruct (wait_now a' k W i f R' Ii Ei Si (barriers_in f If)) as [Aw _]; specialize (Aw Bf); rewrite Bl in Aw.
  eapply ord_trans; [eapply signalled; [exact X | exact Ta' | exact Aw]|].
  replace h with (fst (arrival a' (W ++ place j) (deed_ j))) by (rewrite <- E; auto).
  replace q with (snd (arrival a' (W ++ place j) (deed_ j))) by (rewrite <- E; auto).
  eapply (issue B N tr); eauto; [apply (do_item a' k); auto | exists None; apply before_prefix; auto].
Qed.

Lemma free_then_fill a k W k' W' f r x y : is_thread a -> round a k W -> round a k' W' -> In f M -> In r M ->
  back f = false -> back r = true -> k' = k + copies f ->
  In x (arrivals (Ring (fst a) r (k mod copies r)) (k / copies r)) ->
  In y (arrivals (Ring (fst a) f (k' mod copies f)) (k' / copies f)) -> ord (fst x) (snd x) (fst y) (snd y).
Proof.
  intros Ta R R' If Ir Bf Br -> X Y; destruct x as [g p], y as [h q]; simpl.
  destruct rules as (_ & _ & Cp & _ & Wt & _); destruct (Cp f r If Ir) as [Ec Pos].
  destruct (next_round k (copies f) Pos) as [Nm Nd].
  destruct (arrival_of a _ W' f h q Ta R' If Y) as (a' & j & Ta' & Bl & R'' & J & Te & S & E).
  pose proof (Wt j f r J Te (barriers_in f If) Ir ltac:(congruence)) as H.
  destruct (has_waited_spec r (place j) (who_ j) a' _ W' H R'' S) as (i & Ii & Ei & P & Si & It & _).
  destruct (wait_now a' _ W' i r R'' Ii Ei Si (barriers_in r Ir)) as [_ Aw].
  rewrite <- Ec in *; specialize (Aw (k / copies f) Br Nd); rewrite Nm, Bl in Aw.
  eapply ord_trans; [eapply signalled; [exact X | exact Ta' | exact Aw]|].
  replace h with (fst (arrival a' (W' ++ place j) (deed_ j))) by (rewrite <- E; auto).
  replace q with (snd (arrival a' (W' ++ place j) (deed_ j))) by (rewrite <- E; auto).
  eapply (issue B N tr); eauto; [apply (do_item a' (k + copies f)); auto | exists None; apply before_prefix; auto].
Qed.

End Cycle.

End Turns.
