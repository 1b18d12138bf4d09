(* What threads and engines do, read off their traces. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings.
Import ListNotations.

Lemma agent_dec (g h : agent) : {g = h} + {g <> h}.
Proof. decide equality; try apply path_dec; apply thread_dec. Qed.

Lemma signal_dec (s t : signal) : {s = t} + {s <> t}.
Proof.
  decide equality; try apply Nat.eq_dec; try apply path_dec; try apply thread_dec.
  decide equality; try apply Nat.eq_dec; apply bool_dec.
Qed.

Lemma precedes_app p q r s : precedes p q -> precedes (p ++ r) (q ++ s).
Proof. intros [d H]; exists d; apply before_app; auto. Qed.

Lemma precedes_app_l p q s : precedes p q -> precedes p (q ++ s).
Proof. intro H; rewrite <- (app_nil_r p); apply precedes_app; auto. Qed.

Lemma precedes_app_r p q s : precedes p q -> precedes (p ++ s) q.
Proof. intro H; rewrite <- (app_nil_r q); apply precedes_app; auto. Qed.

Lemma parts_precede p i j r s : i < j -> precedes (p ++ Part i :: r) (p ++ Part j :: s).
Proof. intro L; exists None; apply before_turns; constructor; auto. Qed.

Lemma flat_sorted (t : list (path * event)) (f : path * event -> list act) :
  sorted t -> (forall z, In z t -> isorted (f z)) ->
  (forall z q x, In z t -> In (q, x) (f z) -> exists r, q = fst z ++ r) -> isorted (flat_map f t).
Proof.
  intros S; induction S as [|z t S IH Fa]; intros H P; simpl; [constructor|].
  apply isorted_app; split; [apply H; left; auto|]; split.
  - apply IH; intros; [apply H | eapply P]; eauto; right; eauto.
  - intros [q x] [q' x'] I J; apply in_flat_map in J as (z' & Iz & J); rewrite Forall_forall in Fa.
    destruct (P z q x (or_introl eq_refl) I) as [r ->], (P z' q' x' (or_intror Iz) J) as [r' ->]; simpl.
    apply precedes_app; auto.
Qed.

Ltac undo := repeat match goal with
  | H : In _ (_ :: _) |- _ => destruct H
  | H : In _ [] |- _ => destruct H
  | H : False |- _ => destruct H
  | H : In _ (_ ++ _) |- _ => apply in_app_iff in H
  | H : _ \/ _ |- _ => destruct H
  | H : (_, _) = (_, _) |- _ => inversion H; subst; clear H
  end.

Ltac acted := repeat match goal with
  | H : arrive_ _ _ = arrive_ _ _ |- _ => inversion H; subst; clear H
  | H : await_ _ _ = await_ _ _ |- _ => inversion H; subst; clear H
  end.

Ltac ops e := destruct e as [?|? ?|[d|d|?| |d ?|?|d|? ?|? ?|d|? ?|? ?|]].
Ltac conjs := repeat match goal with |- _ /\ _ => split end.

Lemma in_listed p l : forall i q x, In (q, x) (listed p i l) -> In x l /\ exists j, i <= j /\ q = p ++ [Part 2; Part j].
Proof.
  induction l as [|y l IH]; simpl; intros i q x I; [destruct I|]; destruct I as [E|I].
  - inversion E; subst; split; auto; exists i; auto.
  - apply IH in I as (I & j & L & ->); split; auto; exists j; split; auto; lia.
Qed.

Ltac unlist := unfold waits_done in *; match goal with
  | J : In _ (listed _ _ _) |- _ => apply in_listed in J as [J _]; apply in_map_iff in J as (? & J & _)
  end.

Lemma listed_in p l x : forall i, In x l -> exists j, In (p ++ [Part 2; Part j], x) (listed p i l).
Proof.
  induction l as [|y l IH]; simpl; intros i I; [destruct I|].
  destruct I as [->|I]; eauto; destruct (IH (S i) I) as [j J]; eauto.
Qed.

Lemma listed_sorted p l : forall i, isorted (listed p i l).
Proof.
  induction l as [|y l IH]; simpl; intro i; constructor; [apply IH|]; rewrite Forall_forall; intros [q x] I.
  apply in_listed in I as (_ & j & L & ->); simpl.
  exists None; apply before_prefix; constructor 2; constructor; constructor; lia.
Qed.

(* Arrivals of one thread for several rounds, at one place. *)
Lemma in_tell tr b a p e q x : In (q, x) (tell_acts tr b a p e) <-> exists k, In k (told_rounds tr b a p e) /\ q = p ++ [Part 2; Part k] /\
  x = arrive_ (Ring (fst a) b (k mod copies b)) (k / copies b).
Proof.
  unfold tell_acts; rewrite in_map_iff; split; [intros (k & E & I); inversion E; subst; eauto | intros (k & I & -> & ->); eauto].
Qed.

Ltac untell := match goal with J : In _ (tell_acts _ _ _ _ _) |- _ => apply in_tell in J as (? & ? & ? & J) end.

Ltac awaits J := match type of J with
  | context [back ?d] => destruct (back d);
    [match type of J with context [phase_of ?t ?b ?a ?p] => destruct (phase_of t b a p) end|]
  | In _ (tell_acts _ _ _ _ _) => untell
  | In _ (waits_done _ _ _) => unlist
  | _ => idtac end.
Ltac acts_of e J := ops e; simpl in J; try awaits J; undo; try discriminate; try (unlist; discriminate); acted; conjs;
  eauto.

Section Agents.

Variables B N : nat.
Variable tr : thread -> list (path * event).
Hypothesis in_order : forall a, is_thread B N a -> sorted (tr a).

Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation is_thread := (is_thread B N).

Lemma in_threads a : In a (all_threads B N) <-> is_thread a.
Proof. destruct a as [b t]; unfold all_threads, Skeleton.is_thread, thread; rewrite in_prod_iff, !in_seq; simpl; lia. Qed.

Lemma thread_agent a : In (Thread a) agents <-> is_thread a.
Proof.
  unfold Rings.agents; rewrite in_app_iff, in_map_iff; split.
  - intros [(b & E & I)|I]; [inversion E; subst; apply in_threads; auto|].
    apply in_flat_map in I as (b & _ & I); apply in_map_iff in I as (? & E & _); discriminate.
  - intro T; left; exists a; split; auto; apply in_threads; auto.
Qed.

Lemma engine_agent a p : In (Engine a p) agents <-> is_thread a /\ exists e, In (p, e) (tr a) /\ is_issued e = true.
Proof.
  unfold Rings.agents; rewrite in_app_iff; split.
  - intros [I|I]; [apply in_map_iff in I as (? & E & _); discriminate|].
    apply in_flat_map in I as (b & T & I); apply in_map_iff in I as ([q e] & E & I).
    inversion E; subst; apply filter_In in I as [I J]; split; [apply in_threads; auto | eauto].
  - intros (T & e & I & J); right; apply in_flat_map; exists a; split; [apply in_threads; auto|].
    apply in_map_iff; exists (p, e); split; auto; apply filter_In; auto.
Qed.

Lemma tell_sorted b a p e : isorted (tell_acts tr b a p e).
Proof.
  assert (F : forall f v i, isorted (map (fun k => (p ++ [Part 2; Part k], arrive_ (Ring (fst a) b (k mod copies b)) (k / copies b)))
                        (filter f (seq i v)))).
  { intros f v; induction v as [|v IH]; simpl; intro i; [constructor|]; destruct (f i); auto; constructor; [apply IH|].
    rewrite Forall_forall; intros z I; apply in_map_iff in I as (k & <- & I); apply filter_In in I as [I _].
    apply in_seq in I; exists None; simpl; apply before_prefix; constructor 2; constructor; constructor; lia. }
  unfold tell_acts, told_rounds; ops e; try (repeat constructor; fail); [|apply F].
  destruct (late b =? 0); [repeat constructor | apply F].
Qed.

Lemma listed_between p l q x i j : i < 2 < j -> In (q, x) (listed p 0 l) ->
  precedes (p ++ [Part i]) q /\ precedes q (p ++ [Part j]).
Proof. intros L I; apply in_listed in I as (_ & k & _ & ->); split; apply parts_precede; lia. Qed.

Lemma three_sorted p x l y : isorted ((p ++ [Part 1], x) :: listed p 0 l ++ [(p ++ [Part 3], y)]).
Proof.
  constructor; [apply isorted_app; split; [apply listed_sorted|split; [repeat constructor|]]|].
  - intros [q z] w I [<-|[]]; apply (listed_between p l q z 1 3); auto.
  - rewrite Forall_forall; intros [q z] I; stands;
      [apply (listed_between p l q z 1 3); auto | simpl; apply parts_precede; lia].
Qed.

Lemma engine_sorted a z : isorted (engine_acts tr a z).
Proof. destruct z as [p e]; ops e; simpl; first [apply SSorted_nil | apply three_sorted]. Qed.

Lemma thread_sorted a z : isorted (thread_acts B N tr a z).
Proof.
  destruct z as [p e]; ops e; simpl; try (repeat constructor; fail); try apply tell_sorted; try apply listed_sorted.
  destruct (back d); [destruct (phase_of tr d a p)|]; repeat constructor.
Qed.

Lemma thread_path a z q x : In (q, x) (thread_acts B N tr a z) -> exists r, q = fst z ++ r.
Proof.
  destruct z as [p e]; ops e; simpl; try destruct (back d); try destruct (phase_of tr d a p); intro I; try untell; undo;
    subst; eauto; try (apply in_listed in I as (_ & j & _ & ->); eauto); exists []; rewrite app_nil_r; auto.
Qed.

Lemma engine_path a z q x : In (q, x) (engine_acts tr a z) -> exists r, q = fst z ++ r.
Proof.
  destruct z as [p e]; ops e; simpl; unfold waits_done; intro I; undo; eauto;
    match goal with J : In _ (listed _ _ _) |- _ => apply in_listed in J as (_ & j & _ & ->) end; eauto.
Qed.

Lemma agent_thread g : In g agents -> match g with Thread a | Engine a _ => is_thread a end.
Proof. destruct g; intro I; [apply thread_agent; auto | apply engine_agent in I; tauto]. Qed.

Lemma acts_sorted g : In g agents -> isorted (acts g).
Proof.
  intro I; apply agent_thread in I; destruct g as [a|a p]; simpl; apply flat_sorted; auto.
  - intros z _; apply thread_sorted.
  - intros z q x _; apply thread_path.
  - intros z _; destruct (path_dec (fst z) p); [apply engine_sorted | constructor].
  - intros z q x _ J; destruct (path_dec (fst z) p); [eapply engine_path; eauto | destruct J].
Qed.

Lemma in_thread a q x : In (q, x) (acts (Thread a)) <-> exists p e, In (p, e) (tr a) /\ In (q, x) (thread_acts B N tr a (p, e)).
Proof. simpl; rewrite in_flat_map; split; [intros ([p e] & I & J); eauto | intros (p & e & I & J); eauto]. Qed.

Lemma in_engine a p q x : In (q, x) (acts (Engine a p)) <-> exists e, In (p, e) (tr a) /\ In (q, x) (engine_acts tr a (p, e)).
Proof.
  simpl; rewrite in_flat_map; split.
  - intros ([p' e] & I & J); simpl in J; destruct (path_dec p' p) as [->|]; [eauto | destruct J].
  - intros (e & I & J); exists (p, e); split; auto; simpl fst; destruct (path_dec p p); [auto | congruence].
Qed.

(* Who arrives for a round by what a thread does at a position, and where. *)
Definition arrival (a : thread) (p : path) (e : event) (k : nat) : agent * path :=
  match e with EOp (Tell _) | EOp (Drain _) => (Thread a, p ++ [Part 2; Part k]) | _ => (Engine a p, p ++ [Part 3]) end.

Lemma arrive_ring g q block b copy n : In g agents ->
  In (q, arrive_ (Ring block b copy) n) (acts g) <->
  exists a p e k, is_thread a /\ In (p, e) (tr a) /\ arrives e = Some b /\ In k (told_rounds tr b a p e) /\ (g, q) = arrival a p e k /\
    block = fst a /\ copy = k mod copies b /\ n = k / copies b.
Proof.
  intro Ig; pose proof (agent_thread g Ig) as T; split.
  - destruct g as [a|a p]; rewrite ?in_thread, ?in_engine.
    + intros (p & e & I & J); ops e; simpl in J; awaits J; undo; try discriminate; subst;
        acted; (exists a, p); eexists; exists x; simpl; conjs; eauto; reflexivity.
    + intros (e & I & J); exists a, p, e, (round_of tr b a p); ops e; simpl in J; undo; try discriminate;
        try (unlist; discriminate); acted; simpl; conjs; auto.
  - intros (a & p & e & k & Ta & I & Te & K & E & -> & -> & ->).
    ops e; simpl in Te; try discriminate; inversion Te; subst; simpl in E; inversion E; subst;
      rewrite ?in_thread, ?in_engine.
    1, 4: exists p; eexists; split; [exact I | apply in_tell; eauto].
    all: destruct K as [<-|[]]; eexists; split; [exact I|]; simpl; right; apply in_or_app; right; left; auto.
Qed.

Lemma await_ring g q block b copy n : In g agents -> In (q, await_ (Ring block b copy) n) (acts g) ->
  exists a, g = Thread a /\ is_thread a /\ In (q, EOp (Wait b)) (tr a) /\ block = fst a /\
    copy = round_of tr b a q mod copies b /\ round_of tr b a q / copies b = if back b then S n else n.
Proof.
  intro Ig; pose proof (agent_thread g Ig) as T; destruct g as [a|a p]; rewrite ?in_thread, ?in_engine.
  - intros (p & e & I & J); exists a; ops e; simpl in J; try untell; try unlist; undo; try discriminate.
    destruct (back d) eqn:Bd; [destruct (phase_of tr d a p) eqn:Ph|]; undo; try discriminate; acted;
      rewrite Bd; conjs; auto.
  - intros (e & I & J); exfalso; ops e; simpl in J; undo; try discriminate; unlist; discriminate.
Qed.

Lemma wait_acts a q b m : In (q, EOp (Wait b)) (tr a) -> phase_of tr b a q = (if back b then S m else m) ->
  In (q, await_ (ring_of tr b a q) m) (acts (Thread a)).
Proof.
  intros I Ph; rewrite in_thread; exists q, (EOp (Wait b)); split; auto; simpl; destruct (back b); rewrite Ph; left;
    auto.
Qed.

Ltac by_acts g := destruct g as [?b|?b ?r]; rewrite ?in_thread, ?in_engine;
  [intros (? & ?e & ? & ?J) | intros (?e & ? & ?J)]; match goal with J : In _ (_ _ (_, ?e)) |- _ => acts_of e J end.

Lemma arrive_issued g q a p n : In (q, arrive_ (Issued a p) n) (acts g) ->
  g = Thread a /\ q = p ++ [Part 0] /\ n = 0 /\ exists e, In (p, e) (tr a) /\ is_issued e = true.
Proof. by_acts g. Qed.

Lemma await_issued g q a p n : In (q, await_ (Issued a p) n) (acts g) ->
  g = Engine a p /\ n = 0 /\ q = p ++ [Part 1] /\ exists e, In (p, e) (tr a) /\ is_issued e = true.
Proof. by_acts g. Qed.

(* What says that it is done, and is waited for. *)
Definition says (e : event) : bool := match e with EOp (Copy _) | EOp (Group _ _) => true | _ => false end.

Lemma arrive_done g q a p n : In (q, arrive_ (Done a p) n) (acts g) ->
  g = Engine a p /\ n = 0 /\ q = p ++ [Part 3] /\ exists e, In (p, e) (tr a) /\ says e = true.
Proof. by_acts g. Qed.

Lemma in_since f a p q : In q (since tr f a p) <-> precedes q p /\ exists e, In (q, e) (tr a) /\ f e = true.
Proof.
  unfold since; rewrite filter_In, in_map_iff; destruct (precedes_dec q p) as [P|P]; split; try tauto;
    try (intros [_ E]; discriminate).
  - intros [([q' e] & E & I) _]; simpl in E; subst q'; apply filter_In in I as [I J]; eauto.
  - intros [_ (e & I & J)]; split; auto; exists (q, e); split; auto; apply filter_In; auto.
Qed.

(* What an engine or a thread waits for that is done was issued before. *)
Lemma await_done g q a r n : In (q, await_ (Done a r) n) (acts g) ->
  n = 0 /\ exists p, (g = Engine a p \/ g = Thread a) /\ (exists t, q = p ++ t) /\ precedes r p /\ exists e, In (r, e) (tr a) /\ says e = true.
Proof.
  assert (Says : forall f p, (forall e, f e = true -> says e = true) -> In r (since tr f a p) ->
            precedes r p /\ exists e, In (r, e) (tr a) /\ says e = true).
  { intros f p F K; apply in_since in K as (P & e & K & E); eauto. }
  assert (Copies : forall e, is_copy e = true -> says e = true) by (intros e; ops e; simpl; auto; discriminate).
  assert (Groups : forall k e, is_group k e = true -> says e = true) by (intros k e; ops e; simpl; auto; discriminate).
  destruct g as [b|b s]; rewrite ?in_thread, ?in_engine.
  - intros (s & e & I & J); ops e; simpl in J; try (awaits J; undo; discriminate).
    apply in_listed in J as (J & j & _ & ->); apply in_map_iff in J as (y & J & K); acted; split; auto.
    apply filter_In in K as [K _]; exists s; eapply Says in K as [? ?]; eauto 6.
  - intros (e & I & J); ops e; simpl in J; unfold waits_done in J; undo; try discriminate;
      match goal with J : In _ (listed _ _ _) |- _ => apply in_listed in J as (J & j & _ & ->);
        apply in_map_iff in J as (y & J & K) end; try discriminate; acted.
    split; auto; exists s; eapply Says in K as [? ?]; eauto 6.
Qed.

(* An engine's accesses come before it says that it is done. *)
Lemma done_act a r e : In (r, e) (tr a) -> says e = true -> In (r ++ [Part 3], arrive_ (Done a r) 0) (acts (Engine a r)).
Proof.
  intros I S; apply in_engine; exists e; split; auto; ops e; try discriminate;
    right; apply in_or_app; right; left; auto.
Qed.

(* A thread waits at p for a group that so many newer ones follow. *)
Lemma settle_act a p r k n : In (p, EOp (Settle k n)) (tr a) -> In r (settled_at tr a k n p) ->
  exists i, In (p ++ [Part 2; Part i], await_ (Done a r) 0) (acts (Thread a)).
Proof.
  intros I R; destruct (listed_in p (map (fun q => await_ (Done a q) 0) (settled_at tr a k n p)) (await_ (Done a r) 0) 0).
  - apply in_map_iff; eauto.
  - eexists; apply in_thread; exists p, (EOp (Settle k n)); eauto.
Qed.

(* What a thread did before it issues comes before what is issued for it. *)
Notation ord := (ord agents acts).

Lemma issued_acts a p e : In (p, e) (tr a) -> is_issued e = true ->
  In (p ++ [Part 0], arrive_ (Issued a p) 0) (acts (Thread a)) /\ In (p ++ [Part 1], await_ (Issued a p) 0) (acts (Engine a p)).
Proof.
  intros I J; rewrite in_thread, in_engine; split; [exists p, e | exists e]; split; auto;
    ops e; simpl in J |- *; try discriminate; left; auto.
Qed.

Lemma to_engine a p e q f r : is_thread a -> In (p, e) (tr a) -> is_issued e = true -> In (q, f) (acts (Thread a)) -> precedes q p ->
  In r (acts (Engine a p)) -> precedes (p ++ [Part 1]) (fst r) -> ord (Thread a) q (Engine a p) (fst r).
Proof.
  intros T I J Q P R Pr; destruct (issued_acts a p e I J) as [X Y].
  assert (Ta : In (Thread a) agents) by (apply thread_agent; auto).
  assert (Te : In (Engine a p) agents) by (apply engine_agent; eauto).
  eapply ord_trans; [eapply ord_own; [exact Ta | exact Q | exact X | apply precedes_app_l; auto]|].
  eapply ord_trans; [eapply ord_signal; [exact Ta | exact Te | exact X | exact Y]|].
  destruct r as [r x]; eapply ord_own; eauto.
Qed.

(* Of a group, its thread has waited where this has been said. *)
Lemma group_done a r l k S n j v : In (Engine a r) agents -> In (r, EOp (Group k l)) (tr a) ->
  In (r ++ [Part 2; Part j], v) (acts (Engine a r)) -> In (S, EOp (Settle k n)) (tr a) ->
    In r (settled_at tr a k n S) ->
  exists u w, In (S ++ u, w) (acts (Thread a)) /\ ord (Engine a r) (r ++ [Part 2; Part j]) (Thread a) (S ++ u).
Proof.
  intros Ig J I Js Rs; destruct (settle_act a S r k n Js Rs) as [i Aw]; do 2 eexists; split; [exact Aw|].
  pose proof (done_act a r _ J eq_refl) as Dn.
  eapply ord_trans; [eapply ord_own; [exact Ig | exact I | exact Dn | apply parts_precede; lia]|].
  eapply ord_signal; [exact Ig | apply thread_agent; apply engine_agent in Ig; tauto | exact Dn | exact Aw].
Qed.

Lemma settled_if a k l S n r : In (r, EOp (Group k l)) (tr a) -> precedes r S ->
  n <= length (filter (fun q => if precedes_dec r q then true else false) (since tr (is_group k) a S)) ->
  In r (settled_at tr a k n S).
Proof.
  intros I P L; apply filter_In; split; [|apply Nat.leb_le; exact L]; apply in_since; split; auto.
  exists (EOp (Group k l)); simpl; auto using Nat.eqb_refl.
Qed.

(* What a thread does before a barrier comes before what another does behind it. *)
Lemma across a b u h r p e q f : is_thread a -> is_thread b -> same u a b ->
  In (r, EBar u h) (tr a) -> In (r, EBar u h) (tr b) -> In (p, e) (acts (Thread a)) -> precedes p r ->
  In (q, f) (acts (Thread b)) -> precedes r q -> ord (Thread a) p (Thread b) q.
Proof.
  intros Ta Tb U Ia Ib I P J Q; pose proof (proj2 (thread_agent a) Ta) as Ga;
    pose proof (proj2 (thread_agent b) Tb) as Gb.
  assert (Bar : forall c, same u a c -> In (r, EBar u h) (tr c) ->
            In (r, barrier_ (key_of u h a) (count B N u)) (acts (Thread c))).
  { intros c V K; rewrite (key_same u h a c V); apply in_thread; exists r, (EBar u h); split; auto; left; auto. }
  eapply ord_trans; [eapply ord_own; [exact Ga | exact I | apply (Bar a); auto; reflexivity | exact P]|].
  eapply ord_bar; [exact Ga | exact Gb | apply Bar; auto; reflexivity | apply (Bar b); auto | exact J | exact Q].
Qed.

Lemma issues_from a p e b k : is_thread a -> In (p, e) (tr a) -> arrives e = Some b -> In k (told_rounds tr b a p e) ->
  exists t f, In (p ++ t, f) (acts (Thread a)) /\
    (arrival a p e k = (Thread a, p ++ t) \/ ord (Thread a) (p ++ t) (fst (arrival a p e k)) (snd (arrival a p e k))).
Proof.
  intros T I Te K; assert (Ta : In (Thread a) agents) by (apply thread_agent; auto).
  assert (Eng : forall e, In (p, e) (tr a) -> is_issued e = true -> forall r x, In (r, x) (acts (Engine a p)) -> precedes (p ++ [Part 1]) r ->
            exists t f, In (p ++ t, f) (acts (Thread a)) /\ ((Engine a p, r) = (Thread a, p ++ t) \/ ord (Thread a) (p ++ t) (Engine a p) r)).
  { intros e' I' J r x R P; destruct (issued_acts a p e' I' J) as [X Y]; assert (Te' : In (Engine a p) agents) by (apply engine_agent; eauto).
    do 2 eexists; split; [exact X|]; right; eapply ord_trans; [eapply ord_signal; [exact Ta | exact Te' | exact X | exact Y]|].
    eapply ord_own; eauto. }
  ops e; simpl in Te |- *; try discriminate; inversion Te; subst.
  1, 4: do 2 eexists; split; [apply in_thread; exists p; eexists; split; [exact I | apply in_tell; eauto] | auto].
  all: eapply (Eng _ I eq_refl); [|apply parts_precede; lia].
  all: apply in_engine; eexists; split; [exact I|]; right; apply in_or_app; right; left; auto.
Qed.

Lemma issue a p e b k q f : is_thread a -> In (p, e) (tr a) -> arrives e = Some b -> In k (told_rounds tr b a p e) ->
  In (q, f) (acts (Thread a)) -> precedes q p -> ord (Thread a) q (fst (arrival a p e k)) (snd (arrival a p e k)).
Proof.
  intros T I Te K Q P; destruct (issues_from a p e b k T I Te K) as (t & g & X & Y).
  assert (O : ord (Thread a) q (Thread a) (p ++ t)) by (eapply ord_own; eauto; [apply thread_agent; auto | apply precedes_app_l; auto]).
  destruct Y as [->|Y]; [auto | eapply ord_trans; eauto].
Qed.

End Agents.
