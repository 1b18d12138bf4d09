(* Accesses of a valid skeleton that conflict are ordered, and nothing is under way when a block ends: for any number of blocks,
   any decisions, and any order of steps of threads and engines. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents Turns Phases.
Import ListNotations.

(* Whose an engine is. *)
Definition by_ (g : agent) : thread := match g with Thread a | Engine a _ => a end.

(* What places an access touches, where an agent makes it at a position. *)
Definition reaches (L : Type) : Type := access -> path -> agent -> L -> Prop.

Definition conflicts {L} (t : reaches L) (g : agent) (p : path) (x : access) (h : agent) (q : path) (y : access) : Prop :=
  g <> h /\ clash (by_ g) (by_ h) (does x) (does y) /\ exists l, t x p g l /\ t y q h l.

Lemma before_l p q d r : before p q d -> before (p ++ r) q d.
Proof. intro H; rewrite <- (app_nil_r q); apply before_app; auto. Qed.

Lemma before_r p q d r : before p q d -> before p (q ++ r) d.
Proof. intro H; rewrite <- (app_nil_r p); apply before_app; auto. Qed.

Lemma clash_sym a b k m : clash a b k m -> clash b a m k.
Proof. destruct k, m; simpl; auto. Qed.

Lemma ringed_sym x y : ringed x y = ringed y x.
Proof. unfold ringed; destruct (filled x), (filled y); auto; apply Nat.eqb_sym. Qed.

Section Sound.

Variables (B N : nat) (F : list fact) (s : stmt).
Hypotheses (Valid : valid N F s = true) (Clusters : whole_clusters B s).
Variable o : oracle.

Notation tr := (tr o s).
Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation arrivals := (arrivals B N o s).
Notation ord := (ord agent access key signal agents acts).
Notation start := (begin B N s o).
Notation run := (Run B N s o).
Notation rounds_in := (rounds_in N F s).
Notation round c := (round o s c).
Notation M body c := (barriers_of (items body [Part 0] []) c).

Let Bars : bars N s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Check : check N F s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Rings : rings N F s = true.
Proof. unfold valid in Valid; bools; auto. Qed.

Let nothing (a : thread) : true = true -> sats [] a.
Proof. intros _ k []. Qed.

(* What is taken for granted of the places that accesses touch, in a run with these decisions: objects are where they are said to
   be, each round has its copy of a ring, and each fact is so. *)
Record premises {L} (t : reaches L) : Prop := Premises {
  of_spaces : forall g h p q x y l, In g agents -> In h agents -> g <> h ->
    In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l ->
    overlap x y = true /\ same (owner x) (by_ g) (by_ h);
  of_copies : forall g h p q x y l b d, In g agents -> In h agents -> g <> h ->
    In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l ->
    filled x = Some b -> filled y = Some d -> cycle b = cycle d ->
    round_of tr b (by_ g) p mod copies b = round_of tr d (by_ h) q mod copies b;
  of_facts : forall f g h p q x y l, In f F -> In g agents -> In h agents -> g <> h ->
    In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l ->
    number x = Valid.one f -> number y = Valid.two f -> part p q (Valid.parts f) ->
    match Valid.what f with Some c => same c (by_ g) (by_ h) | None => False end }.

(* -- accesses of agents ------------------------------------------------------------------------------------------------- *)

(* Where an agent's access was issued, as what. *)
Definition issues (g : agent) (p : path) (r : path) (e : event) (x : access) : Prop :=
  In (r, e) (tr (by_ g)) /\ In x (accesses e) /\
  ((g = Thread (by_ g) /\ p = r /\ is_async e = false) \/
   (g = Engine (by_ g) r /\ is_async e = true /\ exists j, p = r ++ [Part 2; Part j])).

Lemma in_access g p x : In (p, access_ x) (acts g) -> exists r e, issues g p r e x.
Proof.
  unfold issues; destruct g as [a|a r]; rewrite ?in_thread, ?in_engine.
  - intros (r & e & I & J); exists r, e; split; auto; destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in J;
      waits J d a r; undo; try discriminate; simpl; auto.
  - intros (e & I & J); exists r, e; split; auto; destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in J; unfold waits_done in J; undo; try discriminate;
      match goal with K : In _ (listed _ _ _) |- _ => apply in_listed in K; destruct K as (X0 & j & _ & ->); apply in_map_iff in X0 end;
      destruct X0 as (y & Ey & Y); try discriminate; inversion Ey; subst; simpl; split; auto; right; eauto.
Qed.

(* What a thread did at the place where it issues, or before, comes before the access; and it begins there. *)
Lemma reach g p r e x : In g agents -> In (p, access_ x) (acts g) -> issues g p r e x ->
  exists r' f, (exists t, r' = r ++ t) /\ In (r', f) (acts (Thread (by_ g))) /\ (g = Thread (by_ g) /\ p = r' \/ ord (Thread (by_ g)) r' g p).
Proof.
  intros Ig I (J & X & [(Eg & -> & As)|(Eg & As & j & ->)]).
  - exists r, (access_ x); split; [exists []; rewrite app_nil_r; auto|]; split; [rewrite <- Eg; auto | auto].
  - set (a := by_ g) in *; clearbody a; subst g; assert (Is : is_issued e = true) by (destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; auto; try discriminate; destruct X).
    destruct (issued_acts B N tr a r e J Is) as [P Q]; exists (r ++ [Part 0]), (arrive_ (Issued a r) 0); split; [eauto|]; split; auto; right.
    pose proof Ig as Ig'; apply engine_agent in Ig'; destruct Ig' as [T _]; simpl in T.
    eapply ord_trans; [eapply ord_signal; [apply thread_agent; exact T | exact Ig | exact P | exact Q]|].
    eapply ord_own; [exact Ig | exact Q | exact I | apply parts_precede; lia].
Qed.

Lemma reached_by g p r e x h q r' f : (exists t, r' = r ++ t) -> In (r', f) (acts (Thread (by_ g))) ->
  (g = Thread (by_ g) /\ p = r' \/ ord (Thread (by_ g)) r' g p) -> issues g p r e x ->
  ord h q (Thread (by_ g)) r' -> ord h q g p.
Proof. intros _ _ [[E ->]|Or] _ H; [rewrite E; auto | eapply ord_trans; eauto]. Qed.

(* -- accesses to rings -------------------------------------------------------------------------------------------------- *)

(* An access to a ring stands in a round, and is one that fills or one that reads. *)
Definition stands (c : nat) (body : stmt) (g : agent) (p : path) (x : access) (f : mbarrier) (k : nat) (W : path) (r : path) (e : event) (z : site) : Prop :=
  rounds_in c body /\ In f (M body c) /\ back f = false /\ le N (owner x) Block = true /\ round c (by_ g) k W /\
  issues g p r e x /\ deed_ z = e /\ sats (who_ z) (by_ g) /\ (exists t, r = W ++ place z ++ t) /\
  In (r, e) (trace o body (W ++ [Part 0]) (by_ g)) /\ (exists t, r = W ++ Part 0 :: t) /\
  In (z, x) (flat_map (in_ring c) (sites body [Part 0] [])).

Definition fence_of (c : nat) (body : stmt) : bool :=
  existsb (fun z : site * access => is_load (deed_ (fst z))) (flat_map (in_ring c) (sites body [Part 0] [])).

Definition out_of (c : nat) (body : stmt) : mbarrier -> bool := read_out (flat_map (in_ring c) (sites body [Part 0] [])).

Lemma site_path t : forall w C z, In z (sites t w C) -> exists r, place z = w ++ r.
Proof.
  induction t as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u t IH|k t IH|x]; simpl; intros w C z I.
  - destruct I.
  - apply in_app_iff in I; destruct I as [I|I]; [apply IH1 in I | apply IH2 in I]; destruct I as [r ->]; rewrite <- app_assoc; eauto.
  - destruct I as [<-|[]]; exists []; rewrite app_nil_r; auto.
  - destruct I as [<-|[]]; exists []; rewrite app_nil_r; auto.
  - apply in_map_iff in I; destruct I as (y & <- & _); exists []; rewrite app_nil_r; auto.
  - apply in_map_iff in I; destruct I as (y & <- & _); exists []; rewrite app_nil_r; auto.
  - eauto.
  - destruct I as [<-|[]]; exists []; rewrite app_nil_r; auto.
Qed.

Lemma stands_somewhere g p x f : In g agents -> In (p, access_ x) (acts g) -> filled x = Some f ->
  exists body k W r e z, stands (cycle f) body g p x f k W r e z /\
    (fill N (items body [Part 0] []) (cycle f) (fence_of (cycle f) body) (out_of (cycle f) body f) z f = true \/
     read N (items body [Part 0] []) (cycle f) (fence_of (cycle f) body) z x f = true).
Proof.
  intros Ig I Fx; destruct (in_access g p x I) as (r & e & Is); pose proof Is as (J & X & _); set (c := cycle f) in *.
  assert (Cy : In c (cycles_of e)).
  { unfold cycles_of; apply in_or_app; right; apply in_flat_map; exists x; rewrite Fx; simpl; auto. }
  destruct (cycle_there N F s Valid e c (trace_events _ _ _ _ _ _ J) Cy) as [body R]; pose proof R as (Bo & Ou & Tu & Ru).
  assert (Or : of_ring c x = true) by (unfold of_ring; rewrite Fx; apply Nat.eqb_refl).
  assert (Be : belongs c e = true).
  { unfold belongs; apply orb_true_intro; right; apply existsb_exists; eauto. }
  assert (En : ends c e = false) by (destruct e as [y|u h|[]]; simpl; auto; destruct X).
  destruct (outer_weaker N o c s true Ou [] _ r e J Be En) as (W & b & Ib & V & T).
  rewrite Bo in Ib; destruct Ib as [<-|[]]; apply In_nth_error in V; destruct V as [k V].
  destruct (site_of o W body [Part 0] [] _ r e (fun k f => match f with end) T) as (q & t & K & Er & S & Sa).
  set (z := (q, e, K)).
  assert (Iz : In (z, x) (flat_map (in_ring c) (sites body [Part 0] []))).
  { apply in_flat_map; exists z; split; auto; unfold in_ring; apply in_map_iff; exists x; split; auto; apply filter_In; auto. }
  unfold ring_rules in Ru; apply andb_prop in Ru; destruct Ru as [Ru _]; apply andb_prop in Ru; destruct Ru as [Ru _].
  apply andb_prop in Ru; destruct Ru as [_ Ru]; rewrite forallb_forall in Ru; specialize (Ru (z, x) Iz).
  cbn [fst snd] in Ru; rewrite Fx in Ru; apply andb_prop in Ru; destruct Ru as [Ru Rw]; apply andb_prop in Ru; destruct Ru as [Ru Ow].
  apply andb_prop in Ru; destruct Ru as [Ex Bk]; apply existsb_exists in Ex; destruct Ex as (f' & If & Ef); apply mbarrier_eq in Ef; subst f'.
  apply negb_true_iff in Bk; exists body, k, W, r, e, z; split; [|apply orb_prop in Rw; exact Rw].
  destruct (site_path body [Part 0] [] z S) as [t' Et]; unfold stands; repeat (split; [solve [auto]|]).
  split; [exists t; exact Er|]; split; [exact T|]; split; [|exact Iz].
  exists (t' ++ t); rewrite Er; change q with (place z); rewrite Et; rewrite <- ?app_assoc; auto.
Qed.

Lemma standing_round c body g p x f k W r e z : stands c body g p x f k W r e z -> round_of tr f (by_ g) p = k.
Proof.
  intros (R & If & _ & _ & Rk & (_ & _ & Is) & _ & _ & _ & _ & (t & ->) & _); pose proof R as (Bo & Ou & _).
  unfold round_of; rewrite (barriers_in c body f If).
  destruct Is as [(_ & -> & _)|(_ & _ & j & ->)]; [|rewrite <- app_assoc; simpl]; eapply number_at; eauto.
Qed.

Lemma agent_is g : In g agents -> is_thread (by_ g).
Proof. intro I; apply (agent_thread B N tr) in I; destruct g; auto. Qed.

(* Who fills has waited for the copy to be free, in this round and all before. *)
Lemma fill_after c body g p x f k W r e z fence out d j V m h q :
  In g agents -> In (p, access_ x) (acts g) -> stands c body g p x f k W r e z ->
  fill N (items body [Part 0] []) c fence out z f = true -> In d (M body c) -> back d = true -> j <= k -> round c (by_ g) j V ->
  j / copies d = S m -> In (h, q) (arrivals (Ring (fst (by_ g)) d (j mod copies d)) m) -> ord h q g p.
Proof.
  intros Ig I St Fi Id Bd Le Rj Ph A; pose proof (agent_is g Ig) as T.
  pose proof St as (R & If & _ & _ & Rk & Is & De & Sa & (t & Et) & _); pose proof R as (Bo & Ou & Tu & _).
  destruct (reach g p r e x Ig I Is) as (r' & f' & (t' & Er) & Fr & Re).
  eapply reached_by; [exists t'; exact Er | exact Fr | exact Re | exact Is|].
  unfold fill in Fi; apply andb_prop in Fi; destruct Fi as [Fi _]; rewrite forallb_forall in Fi; specialize (Fi d Id).
  rewrite Bd in Fi; simpl in Fi; assert (X : exists u, r' = W ++ place z ++ u) by (exists (t ++ t'); rewrite Er, Et, <- !app_assoc; auto).
  destruct (Nat.eq_dec j k) as [->|Ne].
  - destruct (waited_for B N o s c body Bo Ou d (place z) (who_ z) (by_ g) k W h q r' f' Fi Id Rk Sa T X Fr) as [_ Wb]; eauto.
  - destruct (waited_earlier B N o s c body Bo Ou d (place z) (who_ z) (by_ g) k W j V h q r' f' Fi Id Rk Rj ltac:(lia) Sa T X Fr) as [_ Wb]; eauto.
Qed.

(* And says that it is filled. *)
Lemma seen_told I fence K p choose : seen N I fence K p choose = true ->
  exists p', told N I K p' choose = true /\ forall W t w, before p' w None -> precedes (W ++ p ++ t) (W ++ w).
Proof.
  unfold seen; destruct fence; intro H.
  - apply existsb_exists in H; destruct H as (i & _ & H); apply andb_prop in H; destruct H as [H To].
    apply andb_prop in H; destruct H as [H _]; apply andb_prop in H; destruct H as [_ Pr].
    exists (place i); split; auto; intros W t w Bw; apply precedes_trans with (W ++ place i).
    + exists None; apply before_prefix; rewrite <- (app_nil_r (place i)); apply before_app, prec_sound; auto.
    + exists None; apply before_prefix; auto.
  - exists p; split; auto; intros W t w Bw; exists None; apply before_prefix; rewrite <- (app_nil_r w); apply before_app; auto.
Qed.

Lemma fill_before c body g p x f k W r e z fence out v0 :
  In g agents -> In (p, v0) (acts g) -> stands c body g p x f k W r e z ->
  fill N (items body [Part 0] []) c fence out z f = true ->
  exists h q, In (h, q) (arrivals (Ring (fst (by_ g)) f (k mod copies f)) (k / copies f)) /\ ord g p h q.
Proof.
  intros Ig I St Fi; pose proof (agent_is g Ig) as T; pose proof (standing_round _ _ _ _ _ _ _ _ _ _ _ St) as Rn.
  pose proof St as (R & If & _ & _ & Rk & Is & De & Sa & (t & Et) & _ & (u & Eu) & _); pose proof R as (Bo & Ou & Tu & _).
  pose proof (barriers_in c body f If) as Cf.
  unfold fill in Fi; apply andb_prop in Fi; destruct Fi as [_ Fi]; rewrite De in Fi; destruct Is as (J & X & Is).
  assert (Rr : round_of tr f (by_ g) r = k) by (unfold round_of; rewrite Cf, Eu; eapply number_at; eauto).
  destruct e as [y|v hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
  - apply andb_prop in Fi; destruct Fi as [_ Fi]; destruct Is as [(Eg & -> & _)|(_ & As & _)]; [|discriminate].
    destruct (seen_told _ _ _ _ _ Fi) as (p' & To & Bef).
    destruct (told_by B N o s c body Bo Ou Tu (by_ g) k W p' (who_ z) (mbarrier_eqb f) r v0 T Rk Sa To) as (b & h & q & Eb & Ib & A & Or).
    + intros b Eb; apply mbarrier_eq in Eb; congruence.
    + intros w Bw; rewrite Et; apply Bef; auto.
    + rewrite <- Eg; auto.
    + apply mbarrier_eq in Eb; subst b; rewrite <- Eg in Or; exists h, q; auto.
  - apply mbarrier_eq in Fi; subst d; destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|].
    assert (A : In (r ++ [Part 3], arrive_ (ring_of tr f (by_ g) r) (phase_of tr f (by_ g) r)) (acts (Engine (by_ g) r))).
    { apply in_engine; exists (EOp (Load f l)); split; auto; right; apply in_or_app; right; left; auto. }
    rewrite <- Eg in A; exists g, (r ++ [Part 3]); split.
    + apply in_ring_arrivals; exists (by_ g), r, (EOp (Load f l)), k; unfold told_at; simpl; rewrite Rr, <- Eg; auto 12.
    + eapply ord_own; [exact Ig | exact I | exact A | apply parts_precede; lia].
  - apply existsb_exists in Fi; destruct Fi as (z' & Iz & Fi); apply andb_prop in Fi; destruct Fi as [Fi Im].
    apply andb_prop in Fi; destruct Fi as [La Pr]; unfold is_later in La; destruct (deed_ z') as [|?|[| | | | | |d| | | | | |]] eqn:Dz; try discriminate.
    apply mbarrier_eq in La; subst d; destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|].
    assert (Sz : sats (who_ z') (by_ g)) by (eapply implies_sound; eauto).
    assert (Lt : In (W ++ place z', EOp (Later f)) (tr (by_ g))) by (rewrite <- Dz; apply (do_item o s c body Bo (by_ g) k); auto).
    assert (Pz : precedes r (W ++ place z')).
    { rewrite Et; exists None; apply before_prefix; rewrite <- (app_nil_r (place z')); apply before_app, prec_sound; auto. }
    set (w := W ++ place z') in *.
    assert (Ie : In (Engine (by_ g) w) agents) by (apply engine_agent; split; eauto).
    assert (Dn : In (r ++ [Part 3], arrive_ (Done (by_ g) r) 0) (acts (Engine (by_ g) r))).
    { apply in_engine; exists (EOp (Copy l)); split; auto; right; apply in_or_app; right; left; auto. }
    assert (Aw : exists i, In (w ++ [Part 2; Part i], await_ (Done (by_ g) r) 0) (acts (Engine (by_ g) w))).
    { destruct (listed_in w (map (fun q => await_ (Done (by_ g) q) 0) (copies_before tr (by_ g) w)) 0 (await_ (Done (by_ g) r) 0)) as [q0 Lq].
      - apply in_map_iff; exists r; split; auto; apply in_since; eauto.
      - pose proof Lq as Lq'; apply in_listed in Lq'; destruct Lq' as (_ & i & _ & ->); exists i; apply in_engine; exists (EOp (Later f)).
        split; auto; right; apply in_or_app; left; exact Lq. }
    destruct Aw as [i Aw].
    assert (A : In (w ++ [Part 3], arrive_ (ring_of tr f (by_ g) w) (phase_of tr f (by_ g) w)) (acts (Engine (by_ g) w))).
    { apply in_engine; exists (EOp (Later f)); split; auto; right; apply in_or_app; right; left; auto. }
    exists (Engine (by_ g) w), (w ++ [Part 3]); split.
    + apply in_ring_arrivals; exists (by_ g), w, (EOp (Later f)), k; unfold told_at; simpl.
      assert (Rw : round_of tr f (by_ g) w = k) by (unfold round_of; rewrite Cf; apply (item_number N o s c body Ou (by_ g) k W z' Rk Iz)).
      rewrite Rw; auto 12.
    + rewrite <- Eg in Dn; eapply ord_trans; [eapply ord_own; [exact Ig | exact I | exact Dn | apply parts_precede; lia]|].
      eapply ord_trans; [eapply ord_signal; [exact Ig | exact Ie | exact Dn | exact Aw]|].
      eapply ord_own; [exact Ie | exact Aw | exact A | apply parts_precede; lia].
Qed.

(* Who reads has waited for the copy to be filled, in this round and all before. *)
Lemma read_after c body g p x f k W r e z fence j V h q :
  In g agents -> In (p, access_ x) (acts g) -> stands c body g p x f k W r e z ->
  read N (items body [Part 0] []) c fence z x f = true -> j <= k -> round c (by_ g) j V ->
  In (h, q) (arrivals (Ring (fst (by_ g)) f (j mod copies f)) (j / copies f)) -> ord h q g p.
Proof.
  intros Ig I St Re Le Rj A; pose proof (agent_is g Ig) as T.
  pose proof St as (R & If & Bf & _ & Rk & (J & X & Is) & De & Sa & (t & Et) & _); pose proof R as (Bo & Ou & Tu & _).
  unfold read in Re; apply andb_prop in Re; destruct Re as [Re _]; destruct (does x); try discriminate.
  destruct (reach g p r e x Ig I (conj J (conj X Is))) as (r' & f' & (t' & Er) & Fr & Rr).
  eapply reached_by; [exists t'; exact Er | exact Fr | exact Rr | exact (conj J (conj X Is))|].
  assert (Ex : exists u, r' = W ++ place z ++ u) by (exists (t ++ t'); rewrite Er, Et, <- !app_assoc; auto).
  destruct (Nat.eq_dec j k) as [->|Ne].
  - destruct (waited_for B N o s c body Bo Ou f (place z) (who_ z) (by_ g) k W h q r' f' Re If Rk Sa T Ex Fr) as [Wf _]; auto.
  - destruct (waited_earlier B N o s c body Bo Ou f (place z) (who_ z) (by_ g) k W j V h q r' f' Re If Rk Rj ltac:(lia) Sa T Ex Fr) as [Wf _]; auto.
Qed.

(* Of a group, its thread has waited when it says so. *)
Lemma group_read c body g p x v0 f k W r gk l z n0 :
  In g agents -> In (p, v0) (acts g) -> stands c body g p x f k W r (EOp (Group gk l)) z ->
  existsb (fun i => told N (items body [Part 0] []) (who_ z) (place i) (fun b => (cycle b =? c) && back b && settles (items body [Part 0] []) z i gk b))
    (items body [Part 0] []) = n0 -> n0 = true ->
  exists d b i y v, In d (M body c) /\ back d = true /\ In (b, i) (arrivals (Ring (fst (by_ g)) d (k mod copies d)) (k / copies d)) /\
    In (y, v) (acts (Thread (by_ g))) /\ ord g p (Thread (by_ g)) y /\ ord (Thread (by_ g)) y b i.
Proof.
  intros Ig I St Re En; subst n0; pose proof (agent_is g Ig) as T; set (It := items body [Part 0] []) in *.
  pose proof St as (R & _ & _ & _ & Rk & (J & X & Is) & De & Sa & (t & Et) & _ & (t0 & Er0) & _); pose proof R as (Bo & Ou & Tu & _).
  apply existsb_exists in En; destruct En as (i & Ii & En); unfold told in En; apply existsb_exists in En; destruct En as (j & Ij & En).
  destruct (tells (deed_ j)) as [b|] eqn:Te; [|discriminate]; apply andb_prop in En; destruct En as [En Cv].
  apply andb_prop in En; destruct En as [En Se]; apply andb_prop in En; destruct En as [Cb Bb]; apply Nat.eqb_eq in Cb.
  assert (Ib : In b (M body c)) by (destruct (tells_on _ _ Te) as (y & E & On); eapply in_barriers; eauto).
  unfold settles in Se; destruct (deed_ i) as [|?|[| | | | | | | |k' n| | | |]] eqn:Di; try discriminate.
  apply andb_prop in Se; destruct Se as [Se Nn]; apply andb_prop in Se; destruct Se as [Se Im]; apply andb_prop in Se; destruct Se as [Ek Pz].
  apply Nat.eqb_eq in Ek; subst k'; pose proof (implies_sound _ _ _ Im Sa) as Si.
  destruct Is as [(_ & _ & As)|(Eg & _ & jj & ->)]; [discriminate|].
  (* where it is settled, its thread knows that it is done *)
  assert (Done_at : forall S m, In (S, EOp (Settle gk m)) (tr (by_ g)) -> In r (settled_at tr (by_ g) gk m S) ->
            exists u v, In (S ++ u, v) (acts (Thread (by_ g))) /\ ord g (r ++ [Part 2; Part jj]) (Thread (by_ g)) (S ++ u)).
  { intros S m Js Rs; destruct (settle_act B N tr (by_ g) S r gk m Js Rs) as [u Aw]; do 2 eexists; split; [exact Aw|].
    pose proof (done_act B N tr (by_ g) r (EOp (Group gk l)) J eq_refl) as Dn; rewrite <- Eg in Dn.
    eapply ord_trans; [eapply ord_own; [exact Ig | exact I | exact Dn | apply parts_precede; lia]|].
    eapply ord_signal; [exact Ig | apply thread_agent; exact T | exact Dn | exact Aw]. }
  assert (Older : forall S m, precedes r S -> m <= length (filter (fun q => if precedes_dec r q then true else false) (since tr (is_group gk) (by_ g) S)) ->
            In r (settled_at tr (by_ g) gk m S)).
  { intros S m P Le; apply filter_In; split; [|apply Nat.leb_le; exact Le]; apply in_since; split; auto; exists (EOp (Group gk l)); split; auto.
    simpl; apply Nat.eqb_refl. }
  assert (In_round : forall q, before (place z) q None -> precedes r (W ++ q)).
  { intros q Bq; rewrite Et; exists None; apply before_prefix; rewrite <- (app_nil_r q); apply before_app; auto. }
  destruct (covered_by B N o s c body Bo Ou (by_ g) (place i) (who_ z) j T Sa Cv) as (a' & Ta' & Bl & U & Sj & Cov).
  assert (R' : round c a' k W) by (apply (round_same B N o s c Ou (by_ g)); auto).
  destruct (told_there B N o s c body Bo Ou Tu a' k W j b Ta' R' Ij Te Ib Sj) as (P & e & H1 & H2).
  assert (A : In (arrival a' P e k) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b))) by (rewrite <- Bl; apply arrival_at; auto).
  exists b, (fst (arrival a' P e k)), (snd (arrival a' P e k)).
  (* settled in a round *)
  assert (By : forall n' V, round c (by_ g) n' V -> In r (settled_at tr (by_ g) gk n (V ++ place i)) -> P = V ++ place j \/ precedes (V ++ place j) P ->
            exists y v, In b (M body c) /\ back b = true /\ In (fst (arrival a' P e k), snd (arrival a' P e k)) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b)) /\
              In (y, v) (acts (Thread (by_ g))) /\ ord g (r ++ [Part 2; Part jj]) (Thread (by_ g)) y /\ ord (Thread (by_ g)) y (fst (arrival a' P e k)) (snd (arrival a' P e k))).
  { intros n' V Rv Rs Le; destruct (Done_at (V ++ place i) n) as (u & v & Y & O); auto.
    { rewrite <- Di; apply (do_item o s c body Bo (by_ g) n'); auto. }
    exists ((V ++ place i) ++ u), v; rewrite <- surjective_pairing; repeat (split; [solve [auto]|]); eapply Cov; eauto.
    intros q Bq; rewrite <- app_assoc; exists None; apply before_prefix; rewrite <- (app_nil_r q); apply before_app; auto. }
  destruct (Nat.eq_dec n 0) as [->|Nz].
  { apply (By k W Rk); [apply Older; [apply In_round, prec_sound; auto | lia]|]; eapply (told_behind o s c body); eauto. }
  assert (Ln : gk = products /\ n <= late b /\ exists x', In x' It /\ is_group gk (deed_ x') = true /\ prec (place x') (place i) = true /\ sats (who_ x') (by_ g)).
  { apply orb_prop in Nn; destruct Nn as [Nn|Nn]; [apply Nat.eqb_eq in Nn; lia|]; apply andb_prop in Nn; destruct Nn as [Nn Ex].
    apply andb_prop in Nn; destruct Nn as [Ek Le]; apply Nat.eqb_eq in Ek; apply Nat.leb_le in Le; split; auto; split; auto.
    apply existsb_exists in Ex; destruct Ex as (x' & Ix & Ex); apply andb_prop in Ex; destruct Ex as [Ex Imx]; apply andb_prop in Ex; destruct Ex as [Gx Px].
    exists x'; split; auto; split; [exact Gx|]; split; auto; eapply implies_sound; eauto. }
  destruct Ln as (Egk & Le & x' & Ix & Gx & Px & Sx); destruct H2 as [(L & _)|[(L & V & Rv & -> & ->)|(L & -> & Pd)]]; [lia| |].
  - assert (Rva : round c (by_ g) (k + late b) V) by (apply (round_same B N o s c Ou a' (by_ g)); auto).
    apply (By (k + late b) V Rva); [|auto]; apply Older.
    { rewrite Et; apply precedes_app; exact (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ Rk Rva ltac:(lia)). }
    set (N_ := fun m => nth (k + 1 + m) (visits o c s [] (by_ g)) [] ++ place x').
    assert (Lv : k + late b < length (visits o c s [] (by_ g))) by (apply nth_error_Some; unfold Turns.round in Rva; congruence).
    assert (Nth : forall m, m < late b -> round c (by_ g) (k + 1 + m) (nth (k + 1 + m) (visits o c s [] (by_ g)) [])).
    { intros m Lm; unfold Turns.round; apply nth_error_nth'; lia. }
    apply Nat.le_trans with (length (map N_ (seq 0 (late b)))); [rewrite map_length, seq_length; auto|]; apply NoDup_incl_length.
    + apply nodup_map; [apply seq_NoDup|]; intros m m' Im1 Im2 E; apply in_seq in Im1; apply in_seq in Im2; unfold N_ in E; apply app_inv_tail in E.
      pose proof (Nth m ltac:(lia)) as X1; pose proof (Nth m' ltac:(lia)) as X2; unfold Turns.round in X1, X2.
      destruct (Nat.lt_trichotomy m m') as [G|[G|G]]; auto; exfalso;
        [pose proof (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ X1 X2 ltac:(lia)) as G'
        |pose proof (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ X2 X1 ltac:(lia)) as G']; rewrite E in G'; exact (precedes_irr _ G').
    + intros q Jq; apply in_map_iff in Jq; destruct Jq as (m & <- & Im1); apply in_seq in Im1; pose proof (Nth m ltac:(lia)) as X1; unfold N_.
      set (V1 := nth (k + 1 + m) (visits o c s [] (by_ g)) []) in *; apply filter_In; split; [apply in_since; split|].
      * destruct (Nat.eq_dec (k + 1 + m) (k + late b)) as [E|E].
        -- assert (V1 = V) by (unfold Turns.round in *; rewrite E in X1; congruence); subst V; exists None; apply before_prefix, prec_sound; auto.
        -- apply precedes_app; exact (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ X1 Rva ltac:(lia)).
      * exists (deed_ x'); split; auto; apply (do_item o s c body Bo (by_ g) (k + 1 + m)); auto.
      * destruct (precedes_dec r (V1 ++ place x')) as [|X2]; auto; exfalso; apply X2; rewrite Et; apply precedes_app.
        exact (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ Rk X1 ltac:(lia)).
  - destruct (late_rules N o s c body Tu b Ib L) as (_ & _ & _ & _ & _ & Dr & _); destruct H1 as (Jd & Ar & Kt).
    destruct (drain_at N o c b s Cb true [] a' P Ou Dr Jd) as (w & u & t' & _ & EP & Pat & Ba & Vi).
    destruct (Vi W) as [Q|Q]; [eapply nth_error_In; exact R' | exfalso | ].
    { apply (precedes_irr P); eapply precedes_trans; [apply (Q []) | eapply precedes_trans; [|exact Pd]]; apply parts_precede; lia. }
    assert (Ba' : In (w ++ [Part 1; Part 0], EBar (Threads 32) Warp) (tr (by_ g))) by (apply (bars_meet B N F s Valid o a'); auto using same_sym).
    destruct (Done_at (w ++ [Part 0]) 0) as (u' & v & Y & O).
    { rewrite Egk; apply Pat; exact Ba'. }
    { apply Older; [|lia]; eapply precedes_trans; [|exact Q]; rewrite Er0; apply parts_precede; lia. }
    exists ((w ++ [Part 0]) ++ u'), v; rewrite <- surjective_pairing; repeat (split; [solve [auto]|]).
    assert (Bar1 : In (w ++ [Part 1; Part 0], barrier_ (key_of (Threads 32) Warp (by_ g)) (count B N (Threads 32))) (acts (Thread (by_ g)))).
    { apply in_barrier; exists (by_ g), (Threads 32), Warp; auto. }
    assert (Bar2 : In (w ++ [Part 1; Part 0], barrier_ (key_of (Threads 32) Warp (by_ g)) (count B N (Threads 32))) (acts (Thread a'))).
    { apply in_barrier; exists a', (Threads 32), Warp; rewrite (key_same (Threads 32) Warp (by_ g) a' U); auto. }
    destruct (issues_from B N tr a' P _ b k Ta' Jd Ar Kt) as (t2 & v2 & X2 & Y2).
    assert (O1 : ord (Thread (by_ g)) ((w ++ [Part 0]) ++ u') (Thread a') (P ++ t2)).
    { eapply ord_trans; [eapply ord_own; [apply thread_agent; exact T | exact Y | exact Bar1 | rewrite <- app_assoc; apply parts_precede; lia]|].
      eapply ord_bar; [apply thread_agent; exact T | apply thread_agent; exact Ta' | exact Bar1 | exact Bar2 | exact X2|].
      rewrite EP, <- app_assoc; exists None; apply before_prefix; constructor 2; constructor; constructor; lia. }
    destruct Y2 as [->|Y2]; [exact O1 | eapply ord_trans; eauto].
Qed.


(* And says that it is free; where copy engines of the asynchronous proxy fill it, after a fence. *)
Lemma read_before c body g p x f k W r e z fence :
  In g agents -> In (p, access_ x) (acts g) -> stands c body g p x f k W r e z ->
  read N (items body [Part 0] []) c fence z x f = true ->
  exists d h q, In d (M body c) /\ back d = true /\ In (h, q) (arrivals (Ring (fst (by_ g)) d (k mod copies d)) (k / copies d)) /\ ord g p h q.
Proof.
  intros Ig I St Re; pose proof (agent_is g Ig) as T.
  pose proof St as (R & If & Bf & _ & Rk & (J & X & Is) & De & Sa & (t & Et) & _); pose proof R as (Bo & Ou & Tu & _).
  unfold read in Re; rewrite De in Re; apply andb_prop in Re; destruct Re as [_ Re].
  destruct e as [y|v hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
  - destruct Is as [(Eg & -> & _)|(_ & As & _)]; [|discriminate].
    assert (I' : In (r, access_ x) (acts (Thread (by_ g)))) by (rewrite <- Eg; exact I).
    destruct (seen_told _ _ _ _ _ Re) as (p' & To & Bef).
    destruct (told_by B N o s c body Bo Ou Tu (by_ g) k W p' (who_ z) _ r (access_ x) T Rk Sa To) as (b & h & q & Eb & Ib & A & Or); auto.
    { intros b Eb; apply andb_prop in Eb; destruct Eb as [Eb _]; apply Nat.eqb_eq in Eb; auto. }
    { intros w Bw; rewrite Et; apply Bef; auto. }
    apply andb_prop in Eb; destruct Eb as [_ Eb]; rewrite <- Eg in Or; exists b, h, q; auto.
  - apply andb_prop in Re; destruct Re as [_ Re].
    destruct (group_read c body g p x _ f k W r gk l z _ Ig I St eq_refl Re) as (b & h & q & y & v & Ib & Bb & A & _ & O1 & O2).
    exists b, h, q; repeat (split; [solve [auto]|]); eapply ord_trans; eauto.
Qed.

Lemma earlier_round c a k W j : round c a k W -> j <= k -> exists V, round c a j V.
Proof.
  unfold Turns.round; intros R L; destruct (nth_error (visits o c s [] a) j) eqn:E; eauto; exfalso; apply nth_error_None in E.
  assert (k < length (visits o c s [] a)) by (apply nth_error_Some; congruence); lia.
Qed.

Lemma next_use k j n : 0 < n -> k mod n = j mod n -> k < j -> k + n <= j.
Proof.
  intros L E Lt; pose proof (Nat.div_mod k n ltac:(lia)) as K; pose proof (Nat.div_mod j n ltac:(lia)) as J; rewrite <- E in J.
  assert (k / n < j / n) by (destruct (le_lt_dec (j / n) (k / n)) as [G|]; auto; pose proof (Nat.mul_le_mono_l _ _ n G); lia).
  assert (n * S (k / n) <= n * (j / n)) by (apply Nat.mul_le_mono_l; lia); rewrite Nat.mul_succ_r in *; lia.
Qed.

(* A later round's filling comes after all that was done in the copy's earlier round. *)
Lemma then_fill c body g p x f k W r e z h q y f' k' W' r' e' z' d b i :
  In g agents -> In (p, access_ x) (acts g) -> stands c body g p x f k W r e z ->
  In h agents -> In (q, access_ y) (acts h) -> stands c body h q y f' k' W' r' e' z' ->
  fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f') z' f' = true ->
  fst (by_ g) = fst (by_ h) -> k < k' -> k mod copies d = k' mod copies d -> In d (M body c) -> back d = true ->
  In (b, i) (arrivals (Ring (fst (by_ g)) d (k mod copies d)) (k / copies d)) -> ord g p b i -> ord g p h q.
Proof.
  intros Ig I St Ih J St' Fi Bl Lt Mo Id Bd A Or; pose proof St' as (R & _ & _ & _ & Rk' & _).
  pose proof (positive N F s c body d R Id) as Pos; pose proof (next_use k k' (copies d) Pos Mo Lt) as Le.
  destruct (earlier_round c (by_ h) k' W' (k + copies d) Rk' Le) as [V Rv]; destruct (next_round k (copies d) Pos) as [Nm Nd].
  eapply ord_trans; [exact Or|]; eapply fill_after with (j := k + copies d) (m := k / copies d); eauto.
  rewrite Nm, <- Bl; exact A.
Qed.

Lemma ring_order c body g p x f k W r e z h q y k' W' r' e' z' :
  In g agents -> In (p, access_ x) (acts g) -> stands c body g p x f k W r e z ->
  In h agents -> In (q, access_ y) (acts h) -> stands c body h q y f k' W' r' e' z' ->
  (fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z f = true \/ read N (items body [Part 0] []) c (fence_of c body) z x f = true) ->
  (fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z' f = true \/ read N (items body [Part 0] []) c (fence_of c body) z' y f = true) ->
  clash (by_ g) (by_ h) (does x) (does y) -> fst (by_ g) = fst (by_ h) -> k mod copies f = k' mod copies f -> k <= k' ->
  ord g p h q \/ ord h q g p \/
  (k = k' /\ fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z f = true /\ fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z' f = true).
Proof.
  intros Ig I St Ih J St' X Y Cl Bl Mo Le; pose proof St as (R & If & Bf & _ & Rk & _); pose proof St' as (_ & _ & _ & _ & Rk' & _).
  pose proof R as (Bo & Ou & Tu & _); pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th.
  destruct X as [X|X], Y as [Y|Y].
  - destruct (Nat.eq_dec k k') as [->|Ne]; [right; right; auto|]; left.
    destruct (fill_before c body g p x f k W r e z _ _ _ Ig I St X) as (b & i & A & Or).
    destruct (exists_back N F s c body R) as (_ & d & Id & Bd); pose proof (same_copies N F s c body f d R If Id) as Ec.
    destruct (some_there B N F s o c body (by_ g) k W d R Tg Rk Id) as [[b' i'] A'].
    apply (then_fill c body g p x f k W r e z h q y f k' W' r' e' z' d b' i'); auto; try lia; [congruence|].
    eapply ord_trans; [exact Or|].
    apply (fill_then_free B N o s c body Bo Ou Tu (by_ g) k W f d (b, i) (b', i')); auto.
  - left; destruct (fill_before c body g p x f k W r e z _ _ _ Ig I St X) as (b & i & A & Or).
    destruct (earlier_round c (by_ h) k' W' k Rk' Le) as [V Rv]; eapply ord_trans; [exact Or|].
    eapply read_after with (j := k); eauto; rewrite <- Bl; exact A.
  - destruct (Nat.eq_dec k k') as [->|Ne].
    + right; left; destruct (fill_before c body h q y f k' W' r' e' z' _ _ _ Ih J St' Y) as (b & i & A & Or).
      eapply ord_trans; [exact Or|]; eapply read_after with (j := k'); eauto; rewrite Bl; exact A.
    + left; destruct (read_before c body g p x f k W r e z _ Ig I St X) as (d & b & i & Id & Bd & A & Or).
      pose proof (same_copies N F s c body f d R If Id) as Ec.
      apply (then_fill c body g p x f k W r e z h q y f k' W' r' e' z' d b i); auto; try lia; congruence.
  - exfalso; unfold read in X, Y; apply andb_prop in X; destruct X as [X _]; apply andb_prop in Y; destruct Y as [Y _].
    destruct (does x); try discriminate; destruct (does y); try discriminate; exact Cl.
Qed.

(* -- two that fill a copy in one round ---------------------------------------------------------------------------------- *)

Lemma alone_sound K u a b : alone N K u = true -> is_thread a -> is_thread b -> sats K a -> sats K b -> same u a b -> a = b.
Proof.
  intros H Ta Tb Sa Sb U; unfold alone in H; apply orb_prop in H; destruct H as [H|H].
  - apply units_eq in H; subst u; unfold same, name in U; rewrite !Nat.div_1_r in U; destruct a, b; simpl in U; congruence.
  - apply andb_prop in H; destruct H as [H L]; apply Nat.leb_le in L.
    pose proof (le_sound B N u Block a b H Ta Tb U) as V; unfold same in V; simpl in V; inversion V as [V1].
    assert (Ia : In (snd a) (satisfying N K)) by (apply in_satisfying; split; [destruct Ta; auto | exact Sa]).
    assert (Ib : In (snd b) (satisfying N K)) by (apply in_satisfying; split; [destruct Tb; auto | exact Sb]).
    destruct (satisfying N K) as [|x [|y l]]; simpl in *; try lia; destruct Ia as [Ia|[]], Ib as [Ib|[]].
    destruct a as [a1 a2], b as [b1 b2]; simpl in *; congruence.
Qed.

Lemma concerned {L} (t : reaches L) g p x h q y l d : premises t -> In g agents -> In h agents -> g <> h ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l -> part p q d ->
  forall k, In k (concerns (about F (number y)) x y d) -> exists c, k = Some c /\ same c (by_ g) (by_ h).
Proof.
  intros Pre Ig Ih Ne I J X Y P k K; destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne I J X Y) as [Ov Ow].
  unfold concerns in K; rewrite Ov in K; destruct K as [<-|K]; [eauto|].
  apply in_map_iff in K; destruct K as (f & <- & K); apply filter_In in K; destruct K as [K Of].
  apply about_incl in K; unfold is_of in Of; apply andb_prop in Of; destruct Of as [Pe Of]; apply part_eq in Pe.
  assert (Pf : part p q (Valid.parts f)) by (rewrite Pe; auto).
  assert (Pf' : part q p (Valid.parts f)) by (unfold part in *; intuition; subst; auto).
  apply orb_prop in Of; destruct Of as [Of|Of]; bools.
  - pose proof (of_facts _ Pre f g h p q x y l K Ig Ih Ne I J X Y ltac:(auto) ltac:(auto) Pf) as Fa; destruct (Valid.what f); [eauto | destruct Fa].
  - pose proof (of_facts _ Pre f h g q p y x l K Ih Ig ltac:(auto) J I Y X ltac:(auto) ltac:(auto) Pf') as Fa.
    destruct (Valid.what f); [eauto using same_sym | destruct Fa].
Qed.

Lemma one_event a r e e' : In (r, e) (tr a) -> In (r, e') (tr a) -> e = e'.
Proof.
  pose proof (trace_sorted o s [] a) as So; change (trace o s [] a) with (tr a) in So; revert So; generalize (tr a) as t.
  intros t So I J; destruct (sorted_two _ _ t (r, e) (r, e') So I J) as [E|[E|E]]; [congruence | | ]; exfalso; exact (precedes_irr _ E).
Qed.

Lemma apart_sound {L} (t : reaches L) u w g p x r e z h q y r' e' z' l :
  premises t -> In g agents -> In h agents -> g <> h -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  t x p g l -> t y q h l -> issues g p r e x -> issues h q r' e' y -> deed_ z = e -> deed_ z' = e' ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  apart_always N F u (z, x) (z', y) = true -> False.
Proof.
  intros Pre Ig Ih Ne I J X Y (_ & Xe & Is) (_ & Ye & Is') De De' Sa Sa' Tr Tr' Ru.
  pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th; unfold apart_always in Ru; rewrite forallb_forall in Ru; cbn [fst snd] in Ru.
  (* how the two places part *)
  assert (Pd : exists d, In d (None :: map Some (loops (number x) (number y) u)) /\ part p q d /\ (r = r' \/ (number x = number y -> times (number x) u <= 1 -> d <> None))).
  { assert (Ext : forall d, before r r' d -> part p q d).
    { intros d Bd; left; destruct Is as [(_ & -> & _)|(_ & _ & j & ->)], Is' as [(_ & -> & _)|(_ & _ & j' & ->)];
        [exact Bd | apply before_r | apply before_l | apply before_app]; exact Bd. }
    assert (Ext' : forall d, before r' r d -> part p q d).
    { intros d Bd; right; left; destruct Is as [(_ & -> & _)|(_ & _ & j & ->)], Is' as [(_ & -> & _)|(_ & _ & j' & ->)];
        [exact Bd | apply before_l | apply before_r | apply before_app]; exact Bd. }
    destruct (path_dec r r') as [Er|Nr].
    - subst r'; exists None; split; [left; auto|]; split; [|left; auto].
      pose proof (same_event o u _ _ _ _ _ _ Tr Tr') as Ee; subst e'.
      destruct Is as [(_ & -> & A1)|(_ & A1 & j & ->)], Is' as [(_ & -> & A2)|(_ & A2 & j' & ->)]; try congruence; unfold part; auto.
      destruct (Nat.lt_trichotomy j j') as [Lt|[->|Lt]]; auto; [left | right; left];
        apply before_prefix; constructor 2; constructor; constructor; auto.
    - destruct (parted o u w _ _ r r' e e' x y Tr Tr' Xe Ye) as [|(d & D & In_d & On)]; [contradiction|].
      exists d; split; [exact In_d|]; split; [destruct D; auto | right; exact On]. }
  destruct Pd as (d & In_d & Pd & On); specialize (Ru d In_d); unfold apart_in_round in Ru; apply existsb_exists in Ru.
  destruct Ru as (k' & Ik & Ru); cbn [fst snd] in Ru, Ik.
  destruct (concerned t g p x h q y l d Pre Ig Ih Ne I J X Y Pd k' Ik) as (v & -> & U).
  apply andb_prop in Ru; destruct Ru as [Ru As]; apply andb_prop in Ru; destruct Ru as [Al Im].
  assert (E : by_ g = by_ h) by (apply (alone_sound (who_ z) v); auto; eapply implies_sound; eauto).
  assert (Once : number x = number y -> times (number x) u <= 1 -> d = None -> r = r') by (intros Nu O1 ->; destruct On as [|On]; auto; exfalso; exact (On Nu O1 eq_refl)).
  destruct Is as [(Eg & _ & A1)|(Eg & A1 & j & _)], Is' as [(Eh & _ & A2)|(Eh & A2 & j' & _)]; rewrite De, De', A1, A2 in As; simpl in As;
    try (apply Ne; rewrite Eg, Eh, E; auto; fail);
    apply andb_prop in As; destruct As as [As Ti]; apply andb_prop in As; destruct As as [Pn Nu];
    apply part_eq in Pn; apply Nat.eqb_eq in Nu; apply Nat.leb_le in Ti; pose proof (Once Nu Ti Pn) as Er; subst r'.
  - pose proof (same_event o u _ _ _ _ _ _ Tr Tr'); congruence.
  - pose proof (same_event o u _ _ _ _ _ _ Tr Tr'); congruence.
  - apply Ne; rewrite Eg, Eh, E; auto.
Qed.

Lemma fills_apart {L} (t : reaches L) c body g p x f k W r e z h q y r' e' z' l :
  premises t -> In g agents -> In h agents -> g <> h -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  t x p g l -> t y q h l -> filled x = Some f -> filled y = Some f ->
  stands c body g p x f k W r e z -> stands c body h q y f k W r' e' z' ->
  fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z f = true ->
  fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) z' f = true ->
  fst (by_ g) = fst (by_ h) -> False.
Proof.
  intros Pre Ig Ih Ne I J X Y Fx Fy St St' Fi Fi' Bl.
  destruct St as ((_ & _ & _ & Ru) & _ & _ & _ & _ & Is & De & Sa & _ & Tr & _ & Iz).
  destruct St' as (_ & _ & _ & _ & _ & Is' & De' & Sa' & _ & Tr' & _ & Iz').
  unfold ring_rules in Ru; apply andb_prop in Ru; destruct Ru as [_ Ru]; rewrite forallb_forall in Ru.
  assert (Zx : forall zz xx, In (zz, xx) (flat_map (in_ring c) (sites body [Part 0] [])) -> filled xx = Some f ->
    fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f) zz f = true ->
    In (zz, xx) (filter (fun z0 => match filled (snd z0) with Some f0 => fill N (items body [Part 0] []) c (fence_of c body) (out_of c body f0) (fst z0) f0 | None => false end)
                   (flat_map (in_ring c) (sites body [Part 0] [])))).
  { intros zz xx A1 A2 A3; apply filter_In; split; auto; simpl; rewrite A2; auto. }
  specialize (Ru (z, x) (Zx z x Iz Fx Fi)); rewrite forallb_forall in Ru; specialize (Ru (z', y) (Zx z' y Iz' Fy Fi')).
  pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th; apply orb_prop in Ru; destruct Ru as [Ru|Ru].
  - cbn [snd] in Ru; destruct Is as (_ & Xe & _), Is' as (_ & Ye & _).
    exact (exclusive_sound B N o body _ _ _ _ _ _ _ x y Ru Tg Th Bl Tr Tr' Xe Ye).
  - exact (apart_sound t body _ g p x r e z h q y r' e' z' l Pre Ig Ih Ne I J X Y Is Is' De De' Sa Sa' Tr Tr' Ru).
Qed.

(* -- no race ------------------------------------------------------------------------------------------------------------ *)

Lemma ring_pair {L} (t : reaches L) g p x h q y : premises t -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> conflicts t g p x h q y -> ringed x y = true ->
  ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih I J (Ne & Cl & l & X & Y) Rg; unfold ringed in Rg.
  destruct (filled x) as [f|] eqn:Fx; [|discriminate]; destruct (filled y) as [f'|] eqn:Fy; [|discriminate]; apply Nat.eqb_eq in Rg.
  destruct (stands_somewhere g p x f Ig I Fx) as (body & k & W & r & e & z & St & Rx).
  destruct (stands_somewhere h q y f' Ih J Fy) as (body' & k' & W' & r' & e' & z' & St' & Ry).
  rewrite <- Rg in St', Ry; assert (body' = body) by (destruct St as ((B1 & _) & _), St' as ((B2 & _) & _); congruence); subst body'.
  destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne I J X Y) as [Ov Ow].
  pose proof (of_copies _ Pre g h p q x y l f f' Ig Ih Ne I J X Y Fx Fy Rg) as Co.
  rewrite (standing_round _ _ _ _ _ _ _ _ _ _ _ St), (standing_round _ _ _ _ _ _ _ _ _ _ _ St') in Co.
  assert (Ef : f' = f).
  { destruct St as ((_ & _ & _ & Ru) & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & Iz), St' as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & Iz').
    unfold ring_rules in Ru; apply andb_prop in Ru; destruct Ru as [Ru _]; apply andb_prop in Ru; destruct Ru as [_ Ru].
    rewrite forallb_forall in Ru; specialize (Ru _ Iz); rewrite forallb_forall in Ru; specialize (Ru _ Iz'); cbn [fst snd] in Ru.
    rewrite Ov in Ru; unfold same_ring in Ru; simpl in Ru; rewrite Fx, Fy in Ru; apply mbarrier_eq in Ru; auto. }
  subst f'; assert (Bl : fst (by_ g) = fst (by_ h)).
  { destruct St as (_ & _ & _ & Le & _); pose proof (le_sound B N _ _ _ _ Le (agent_is g Ig) (agent_is h Ih) Ow) as V.
    unfold same in V; simpl in V; congruence. }
  destruct (le_lt_dec k k') as [Le|Lt].
  - destruct (ring_order (cycle f) body g p x f k W r e z h q y k' W' r' e' z' Ig I St Ih J St' Rx Ry Cl Bl Co Le) as [O|[O|(E & Fi & Fi')]]; auto.
    exfalso; subst k'; assert (W' = W).
    { destruct St as ((_ & Ou & _) & _ & _ & _ & Rk & _), St' as (_ & _ & _ & _ & Rk' & _).
      apply (round_same B N o s (cycle f) Ou (by_ g) (by_ h)) in Rk; auto using agent_is; unfold Turns.round in *; congruence. }
    subst W'; exact (fills_apart t (cycle f) body g p x f k W r e z h q y r' e' z' l Pre Ig Ih Ne I J X Y Fx Fy St St' Fi Fi' Bl).
  - destruct (ring_order (cycle f) body h q y f k' W' r' e' z' g p x k W r e z Ih J St' Ig I St Ry Rx
      (clash_sym _ _ _ _ Cl) (eq_sym Bl) (eq_sym Co) ltac:(lia)) as [O|[O|(E & _)]]; auto; lia.
Qed.

Lemma async_quiet {L} (t : reaches L) g p x h q y : premises t -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> (exists a r, g = Engine a r) -> conflicts t g p x h q y -> ringed x y = true.
Proof.
  intros Pre Ig Ih I J (a & r & Eg) (Ne & Cl & l & X & Y); destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne I J X Y) as [Ov _].
  destruct (in_access g p x I) as (r1 & e & Is); destruct (in_access h q y J) as (r2 & f & Js).
  pose proof Is as (I1 & Xe & [(E & _)|(_ & As & _)]); [rewrite Eg in E; discriminate|]; pose proof Js as (J1 & Ye & _).
  destruct (site_of o [] s [] [] (by_ g) r1 e (fun k f => match f with end) I1) as (q1 & u1 & K1 & _ & S1 & Sa1).
  destruct (site_of o [] s [] [] (by_ h) r2 f (fun k f => match f with end) J1) as (q2 & u2 & K2 & _ & S2 & Sa2).
  pose proof Rings as Q; unfold rings in Q; apply andb_prop in Q; destruct Q as [Q _].
  apply andb_prop in Q; destruct Q as [_ Q]; unfold quiet in Q; rewrite forallb_forall in Q.
  set (A := flat_map (fun z => map (pair z) (accesses (deed_ z))) (sites s [] [])) in *.
  assert (In_A : forall z v, In z (sites s [] []) -> In v (accesses (deed_ z)) -> In (z, v) A).
  { intros z v A1 A2; apply in_flat_map; exists z; split; auto; apply in_map; auto. }
  specialize (Q ((q1, e, K1), x)); rewrite forallb_forall in Q; specialize (Q ltac:(apply filter_In; split; [apply In_A; auto | exact As])
    ((q2, f, K2), y) ltac:(apply In_A; auto)); cbn [fst snd] in Q; rewrite Ov in Q; simpl in Q; rewrite orb_false_r in Q.
  apply orb_prop in Q; destruct Q as [Q|Q]; [apply orb_prop in Q; destruct Q as [Q|Q]; auto|]; exfalso.
  - destruct (does x), (does y); try discriminate; exact Cl.
  - exact (apart_sound t s [] g p x r1 e (q1, e, K1) h q y r2 f (q2, f, K2) l Pre Ig Ih Ne I J X Y Is Js eq_refl eq_refl Sa1 Sa2 I1 J1 Q).
Qed.

Lemma overlap_sym x y : overlap x y = overlap y x.
Proof.
  unfold overlap; rewrite (Nat.eqb_sym (space x)); destruct (space y =? space x); simpl; auto; apply andb_comm.
Qed.

(* A thread's access, and another's behind it or at the same place. *)
Lemma thread_pair {L} (t : reaches L) a p x b q y : premises t -> is_thread a -> is_thread b ->
  In (p, access_ x) (acts (Thread a)) -> In (q, access_ y) (acts (Thread b)) -> conflicts t (Thread a) p x (Thread b) q y ->
  ringed x y = false -> p = q \/ precedes p q -> ord (Thread a) p (Thread b) q.
Proof.
  intros Pre Ta Tb I J (Ne & Cl & l & X & Y) Rg Le.
  destruct (in_access _ _ _ I) as (r1 & e & I1 & X1 & Is); destruct (in_access _ _ _ J) as (r2 & f & J1 & Y1 & Js); simpl in *.
  destruct Is as [(_ & <- & As)|(E & _)]; [|discriminate]; destruct Js as [(_ & <- & Bs)|(E & _)]; [|discriminate].
  assert (Ee : e = EAcc x) by (destruct e; simpl in *; try discriminate; [destruct X1 as [<-|[]]; auto | destruct X1]).
  assert (Ef : f = EAcc y) by (destruct f; simpl in *; try discriminate; [destruct Y1 as [<-|[]]; auto | destruct Y1]).
  subst e f; assert (Nt : a <> b) by congruence.
  destruct (check_sound B N o a b Ta Tb F
    (fun p x q y => (In (p, access_ x) (acts (Thread a)) /\ In (q, access_ y) (acts (Thread b))) /\
       (clash a b (does x) (does y) /\ ringed x y = false) /\ exists l, t x p (Thread a) l /\ t y q (Thread b) l)) with
    (s := s) (w := @nil turn) (D := @nil units) (C := @nil con) (E := @nil entry) (P := @nil (path * event)) (c := true) (p := p) (q := q) (x := x) (y := y)
    as (r & u & hw & U & Ir & Pr & Rq).
  - intros ? ? ? ? (_ & (C & R) & _); auto.
  - intros p' x' q' y' ((I' & J') & _ & k & X' & Y').
    apply (of_spaces _ Pre (Thread a) (Thread b) p' q' x' y' k); auto; apply thread_agent; auto.
  - intros p' x' q' y' f d ((I' & J') & _ & k & X' & Y') If Of Pa.
    assert (Pa' : part q' p' d) by (unfold part in *; intuition; subst; auto); unfold is_of in Of; bools.
    match goal with H : part_eqb _ _ = true |- _ => apply part_eq in H; subst d end.
    match goal with H : _ || _ = true |- _ => apply orb_prop in H; destruct H as [H|H] end; bools.
    + pose proof (of_facts _ Pre f (Thread a) (Thread b) p' q' x' y' k If ltac:(apply thread_agent; auto) ltac:(apply thread_agent; auto)
        Ne I' J' X' Y' ltac:(auto) ltac:(auto) Pa) as Fa; destruct (Valid.what f); [eauto | destruct Fa].
    + pose proof (of_facts _ Pre f (Thread b) (Thread a) q' p' y' x' k If ltac:(apply thread_agent; auto) ltac:(apply thread_agent; auto)
        ltac:(auto) J' I' Y' X' ltac:(auto) ltac:(auto) Pa') as Fa; destruct (Valid.what f); [eauto using same_sym | destruct Fa].
  - exact Bars.
  - exact Check.
  - intros _ _; auto.
  - exact (nothing a).
  - exact (nothing b eq_refl).
  - intros ? ? [].
  - exact J1.
  - exact I1.
  - exact Le.
  - split; [auto|]; split; [auto|]; eauto.
  - assert (Kb : In (r, EBar u hw) (tr b)) by (apply (bars_meet B N F s Valid o a); auto).
    assert (Aa : In (r, barrier_ (key_of u hw a) (count B N u)) (acts (Thread a))) by (apply in_barrier; eauto 8).
    assert (Ab : In (r, barrier_ (key_of u hw a) (count B N u)) (acts (Thread b))).
    { apply in_barrier; exists b, u, hw; rewrite (key_same u hw a b U); auto. }
    assert (Ga : In (Thread a) agents) by (apply thread_agent; auto); assert (Gb : In (Thread b) agents) by (apply thread_agent; auto).
    eapply ord_trans; [eapply ord_own; [exact Ga | exact I | exact Aa | exact Pr]|].
    eapply ord_bar; [exact Ga | exact Gb | exact Aa | exact Ab | exact J | exact Rq].
Qed.

(* Accesses that conflict are ordered by happens-before. *)
Theorem no_race {L} (t : reaches L) ls S i j g p x h q y :
  premises t -> run start ls S -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  At ls i g p -> At ls j h q -> i < j -> conflicts t g p x h q y -> Hb ls i j.
Proof.
  intros Pre R Ig Ih I J Ai Aj Lt C.
  assert (O : ord g p h q \/ ord h q g p).
  { destruct (ringed x y) eqn:Rg; [eapply ring_pair; eauto|]; pose proof C as (Ne & Cl & l & X & Y).
    destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne I J X Y) as [Ov _].
    destruct g as [a|a r].
    2: { rewrite (async_quiet t (Engine a r) p x h q y Pre Ig Ih I J ltac:(eauto) C) in Rg; discriminate. }
    destruct h as [b|b r].
    2: { rewrite ringed_sym, (async_quiet t (Engine b r) q y (Thread a) p x Pre Ih Ig J I ltac:(eauto)) in Rg; [discriminate|].
         split; [auto|]; split; [apply clash_sym; auto | eauto]. }
    apply thread_agent in Ig; apply thread_agent in Ih.
    destruct (in_access _ _ _ I) as (r1 & e & I1 & _ & [(_ & E1 & _)|(E1 & _)]); [|discriminate].
    destruct (in_access _ _ _ J) as (r2 & f & J1 & _ & [(_ & E2 & _)|(E2 & _)]); [|discriminate]; simpl in I1, J1; subst r1 r2.
    destruct (comparable o s [] a b true true p q _ _ I1 J1) as [E|[E|E]].
    - left; eapply thread_pair; eauto.
    - left; eapply thread_pair; eauto.
    - right; apply (thread_pair t b q y a p x); auto; [|rewrite ringed_sym; auto].
      split; [auto|]; split; [apply clash_sym; auto | eauto]. }
  destruct O as [O|O].
  - destruct (before_it B N F s Valid Clusters o ls S g p h q j R O Aj) as (i' & Ai' & Li & Hb).
    destruct (Nat.lt_trichotomy i i') as [G|[->|G]]; auto; exfalso; [exact (once B N F s Valid Clusters o ls S g p _ i i' R Ig I Ai Ai' G) |
      exact (once B N F s Valid Clusters o ls S g p _ i' i R Ig I Ai' Ai G)].
  - exfalso; destruct (before_it B N F s Valid Clusters o ls S h q g p i R O Ai) as (j' & Aj' & Lj & _).
    exact (once B N F s Valid Clusters o ls S h q _ j' j R Ih J Aj' Aj ltac:(lia)).
Qed.

(* What an engine does comes before something that a thread of its block does: nothing is under way when the block has ended, but
   what stores write, which is in no block's memory. *)
Theorem nothing_in_flight a r p x : In (Engine a r) agents -> In (p, access_ x) (acts (Engine a r)) ->
  (exists b q e, is_thread b /\ fst b = fst a /\ In (q, e) (acts (Thread b)) /\ ord (Engine a r) p (Thread b) q) \/
  ((exists l, In (r, EOp (Group written l)) (tr a)) /\ le N (owner x) Block = false).
Proof.
  intros Ig I; destruct (in_access _ _ _ I) as (r1 & e & J & X & Is); destruct Is as [(E & _)|(E & As & j & ->)]; [discriminate|].
  inversion E; subst r1; simpl in J; clear E.
  assert (Y : (exists y f, In y (accesses e) /\ filled y = Some f) \/ (exists l, e = EOp (Group written l)) /\ le N (owner x) Block = false).
  { pose proof Rings as G; unfold rings in G; apply andb_prop in G; destruct G as [_ G]; rewrite forallb_forall in G.
    specialize (G e (trace_events _ _ _ _ _ _ J)); unfold goes in G.
    destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; try discriminate; try (destruct X; fail);
      try (left; apply existsb_exists in G; destruct G as (y & Iy & G); destruct (filled y) as [f|] eqn:Fy; try discriminate; eauto; fail).
    destruct gk as [|gk]; [right | left; apply existsb_exists in G; destruct G as (y & Iy & G); destruct (filled y) as [f|] eqn:Fy; try discriminate; eauto].
    rewrite forallb_forall in G; specialize (G x X); apply andb_prop in G; destruct G as [G _]; apply negb_true_iff in G; eauto. }
  destruct Y as [(y & f & Iy & Fy)|((l & ->) & F1)]; [left | right; eauto].
  (* where its access to the ring stands *)
  assert (Ay : exists i, In (r ++ [Part 2; Part i], access_ y) (acts (Engine a r))).
  { destruct (listed_in r (map access_ (accesses e)) 0 (access_ y)) as [q0 Lq]; [apply in_map; auto|].
    pose proof Lq as Lq'; apply in_listed in Lq'; destruct Lq' as (_ & i & _ & ->); exists i; apply in_engine; exists e; split; auto.
    destruct e as [v|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; try discriminate; try (destruct X; fail); right; apply in_or_app; left; exact Lq. }
  destruct Ay as [i Ay]; destruct (stands_somewhere (Engine a r) _ y f Ig Ay Fy) as (body & k & W & r' & e' & z & St & Ru).
  assert (St' : stands (cycle f) body (Engine a r) (r ++ [Part 2; Part j]) y f k W r' e' z).
  { destruct St as (A1 & A2 & A3 & A4 & A5 & (B1 & B2 & B3) & A7); unfold stands; repeat (split; [assumption|]).
    split; [|exact A7]; split; [exact B1|]; split; [exact B2|]; destruct B3 as [(E & _)|(E & As' & _)]; [discriminate|].
    right; split; [exact E|]; split; [exact As'|]; inversion E; subst r'; eauto. }
  pose proof St as (R & If & Bf & _ & Rk & _); pose proof R as (Bo & Ou & Tu & _); pose proof (agent_is _ Ig) as T; simpl by_ in *.
  destruct Ru as [Fi|Re].
  2: { pose proof St as (_ & _ & _ & _ & _ & (_ & _ & B3) & De & _); unfold read in Re; rewrite De in Re.
       destruct B3 as [(E & _)|(E & As' & _)]; [discriminate|]; inversion E; subst r'; apply andb_prop in Re; destruct Re as [_ Re].
       destruct e' as [v|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate; apply andb_prop in Re; destruct Re as [_ Re].
       pose proof St as (_ & _ & _ & _ & _ & (B1 & B2 & _) & _); assert (e = EOp (Group gk l)) by (eapply one_event; eauto); subst e.
       destruct (group_read (cycle f) body (Engine a r) (r ++ [Part 2; Part i]) y _ f k W r gk l z _ Ig Ay St eq_refl Re) as (_ & _ & _ & w0 & v0 & _).
       destruct (group_read (cycle f) body (Engine a r) (r ++ [Part 2; Part j]) y _ f k W r gk l z _ Ig I St' eq_refl Re) as (d & b & q & w & v & _ & _ & _ & Iw & O & _).
       exists a, w, v; auto. }
  destruct (fill_before (cycle f) body (Engine a r) _ y f k W r' e' z _ _ _ Ig I St' Fi) as (h & q & A & Or).
  destruct (exists_back N F s (cycle f) body R) as (_ & d & Id & Bd); destruct (some_there B N F s o (cycle f) body a k W d R T Rk Id) as [[h' q'] A'].
  destruct (arrival_of B N o s (cycle f) body Bo Ou Tu a k W d h' q' T Rk Id A') as (b & z' & P & e0 & Tb & Bl & Rb & Iz & Te & Sb & _).
  destruct (rules N s (cycle f) body Tu) as (_ & _ & _ & _ & _ & _ & Wt & _).
  pose proof (Wt z' d f Iz Te (barriers_in (cycle f) body d Id) If ltac:(congruence)) as Hw.
  destruct (has_waited_spec o s (cycle f) body Bo f (place z') (who_ z') b k W Hw Rb Sb) as (i' & Ii & Di & _ & Si & _).
  destruct (wait_now B N o s (cycle f) body Bo Ou b k W i' f Rb Ii Di Si eq_refl) as [Aw _]; specialize (Aw Bf); rewrite Bl in Aw.
  exists b, (W ++ place i'), (await_ (Ring (fst a) f (k mod copies f)) (k / copies f)); repeat (split; [auto|]).
  eapply ord_trans; [exact Or|]; eapply signalled; eauto.
Qed.

End Sound.
