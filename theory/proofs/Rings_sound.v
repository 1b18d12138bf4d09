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
Notation ord := (ord agents acts).
Notation start := (begin B N s o).
Notation run := (Run B N s o).
Notation rounds_in := (rounds_in N F s).
Notation round c := (round o s c).
Notation M c := (all_barriers c s).
Notation I c W := (items (body_at c s W) [Part 0] []).
Notation sites_at c W := (flat_map (in_ring c) (sites (body_at c s W) [Part 0] [])).

Let Bars : bars N s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Check : check N F ringed s [] [] = true.
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

Lemma reached_by' g p r' h q : (g = Thread (by_ g) /\ p = r' \/ ord (Thread (by_ g)) r' g p) -> ord h q (Thread (by_ g)) r' -> ord h q g p.
Proof. intros [[E ->]|Or] H; [rewrite E; auto | eapply ord_trans; eauto]. Qed.

Lemma reached_by g p r e x h q r' f : (exists t, r' = r ++ t) -> In (r', f) (acts (Thread (by_ g))) ->
  (g = Thread (by_ g) /\ p = r' \/ ord (Thread (by_ g)) r' g p) -> issues g p r e x ->
  ord h q (Thread (by_ g)) r' -> ord h q g p.
Proof. intros _ _ [[E ->]|Or] _ H; [rewrite E; auto | eapply ord_trans; eauto]. Qed.

(* -- accesses to rings -------------------------------------------------------------------------------------------------- *)

(* An access to a ring stands in a round. *)
Definition stands (c : nat) (g : agent) (p : path) (x : access) (f : mbarrier) (k : nat) (W : path) (r : path) (e : event) (z : site) : Prop :=
  rounds_in c /\ In f (M c) /\ stage f = 1 /\ le N (owner x) Block = true /\ round c (by_ g) k W /\
  issues g p r e x /\ deed_ z = e /\ sats (who_ z) (by_ g) /\ (exists t, r = W ++ place z ++ t) /\
  In (r, e) (trace o (body_at c s W) (W ++ [Part 0]) (by_ g)) /\ (exists t, r = W ++ Part 0 :: t) /\ In (z, x) (sites_at c W).

(* At which station it is. *)
Definition fence_of (c : nat) (W : path) : bool := existsb (fun z : site * access => is_load (deed_ (fst z))) (sites_at c W).
Definition station_at (c : nat) (W : path) (z : site) (x : access) (f : mbarrier) : option nat :=
  station N (I c W) (M c) c (fence_of c W) (read_out (sites_at c W) f) z x f.

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
  exists k W r e z j, stands (cycle f) g p x f k W r e z /\ station_at (cycle f) W z x f = Some j.
Proof.
  intros Ig J0 Fx; destruct (in_access g p x J0) as (r & e & Is); pose proof Is as (J & X & _); set (c := cycle f) in *.
  assert (Cy : In c (cycles_of e)).
  { unfold cycles_of; apply in_or_app; right; apply in_flat_map; exists x; rewrite Fx; simpl; auto. }
  pose proof (cycle_there N F s Valid e c (trace_events _ _ _ _ _ _ J) Cy) as R; pose proof R as (Ou & Ne & Tu & Sd & Ru).
  assert (Or : of_ring c x = true) by (unfold of_ring; rewrite Fx; apply Nat.eqb_refl).
  assert (Be : belongs c e = true).
  { unfold belongs; apply orb_true_intro; right; apply existsb_exists; eauto. }
  assert (En : ends c e = false) by (destruct e as [y|u h|[]]; simpl; auto; destruct X).
  destruct (outer_weaker N o c s true Ou [] _ r e J Be En) as (W & V & T); simpl in V, T.
  apply In_nth_error in V; destruct V as [k V]; destruct (in_round o s c _ k W V) as [Ib _].
  destruct (site_of o W _ [Part 0] [] _ r e (fun k f => match f with end) T) as (q & t & K & Er & S & Sa).
  set (z := (q, e, K)).
  assert (Iz : In (z, x) (sites_at c W)).
  { apply in_flat_map; exists z; split; auto; unfold in_ring; apply in_map_iff; exists x; split; auto; apply filter_In; auto. }
  specialize (Ru _ Ib); unfold ring_rules in Ru; apply andb_prop in Ru; destruct Ru as [Ru _].
  apply andb_prop in Ru; destruct Ru as [_ Ru]; rewrite forallb_forall in Ru; specialize (Ru _ (in_map _ _ _ Iz)).
  cbn [fst snd] in Ru; rewrite Fx in Ru; fold (fence_of c W) in Ru; fold (station_at c W z x f) in Ru.
  destruct (station_at c W z x f) as [j|] eqn:St; [|discriminate]; apply andb_prop in Ru; destruct Ru as [Ru Ow].
  apply andb_prop in Ru; destruct Ru as [Ex Sf]; apply existsb_exists in Ex; destruct Ex as (f' & If & Ef); apply mbarrier_eq in Ef; subst f'.
  apply Nat.eqb_eq in Sf; exists k, W, r, e, z, j; split; auto.
  destruct (site_path _ [Part 0] [] z S) as [t' Et]; unfold stands; repeat (split; [solve [auto]|]).
  split; [exists t; exact Er|]; split; [exact T|]; split; [|exact Iz].
  exists (t' ++ t); rewrite Er; change q with (place z); rewrite Et; rewrite <- ?app_assoc; auto.
Qed.

Lemma standing_round c g p x f k W r e z : stands c g p x f k W r e z -> round_of tr f (by_ g) p = k.
Proof.
  intros (R & If & _ & _ & Rk & (_ & _ & Is) & _ & _ & _ & _ & (t & ->) & _); pose proof R as (Ou & _).
  unfold round_of; rewrite (barriers_in s c f If).
  destruct Is as [(_ & -> & _)|(_ & _ & j & ->)]; [|rewrite <- app_assoc; simpl]; eapply number_at; eauto.
Qed.

Lemma agent_is g : In g agents -> is_thread (by_ g).
Proof. intro I; apply (agent_thread B N tr) in I; destruct g; auto. Qed.

(* Who is at a station has waited for what comes last before it. *)
Lemma come_last c g p x f k W r e z j d n h q :
  In g agents -> In (p, access_ x) (acts g) -> stands c g p x f k W r e z -> has_come N (I c W) (M c) j z f = true -> j <= top (M c) ->
  In d (M c) -> (j = 1 -> d = f) -> S (time s c d n) = (k / copies f) * S (top (M c)) + j ->
  In (h, q) (arrivals (Ring (fst (by_ g)) d (k mod copies f)) n) -> ord h q g p.
Proof.
  intros Ig J0 St Co Lj Id Df Ti A; pose proof (agent_is g Ig) as T.
  pose proof St as (R & If & _ & _ & Rk & Is & De & Sa & (t & Et) & _); pose proof R as (Ou & Ne & Tu & _).
  destruct (reach g p r e x Ig J0 Is) as (r' & f' & (t' & Er) & Fr & Re).
  eapply reached_by; [exists t'; exact Er | exact Fr | exact Re | exact Is|].
  assert (X : exists u, r' = W ++ place z ++ u) by (exists (t ++ t'); rewrite Er, Et, <- !app_assoc; auto).
  pose proof (same_copies N F s c d f R Id If) as Ec; pose proof (seat_top s c d Id) as Sd; pose proof (top_stage s c d Id) as Td.
  assert (Wh : stage d = j /\ match j with 0 => k / copies f = S n | _ => n = k / copies f end).
  { unfold time in Ti; destruct j as [|i].
    - destruct (k / copies f) as [|m]; [simpl in Ti; lia|].
      destruct (same_phase (top (M c)) n (seat s c d) m (top (M c))) as [-> E]; auto; [rewrite Nat.mul_succ_l in Ti; lia|].
      split; auto; unfold seat in E; destruct (Nat.eqb_spec (stage d) 0); lia.
    - destruct (same_phase (top (M c)) n (seat s c d) (k / copies f) i) as [-> E]; auto; try lia.
      split; auto; unfold seat in E; destruct (Nat.eqb_spec (stage d) 0); lia. }
  destruct Wh as [Sj Wh]; assert (Hw : has_waited N (I c W) d (place z) (who_ z) = true).
  { unfold has_come in Co; destruct (Nat.eqb_spec j 1) as [->|_]; [rewrite (Df eq_refl); auto|].
    rewrite forallb_forall in Co; specialize (Co d Id); rewrite Sj, Nat.eqb_refl in Co; auto. }
  destruct (waited_for B N o s c Ou d (place z) (who_ z) (by_ g) k W h q r' f' Hw Id Rk Sa T X Fr) as [Wf Wb]; rewrite Ec in *.
  destruct j as [|j]; [apply (Wb n); auto | apply Wf; [|rewrite <- Wh; auto]]; unfold back; rewrite Sj; auto.
Qed.

(* So all that comes before it, but for other rings that are filled in the same round. *)
Lemma come_after c g p x f k W r e z j b n h q :
  In g agents -> In (p, access_ x) (acts g) -> stands c g p x f k W r e z -> has_come N (I c W) (M c) j z f = true -> j <= top (M c) ->
  In b (M c) -> time s c b n < (k / copies f) * S (top (M c)) + j -> (j = 1 -> time s c b n = (k / copies f) * S (top (M c)) -> b = f) ->
  In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies f)) n) -> ord h q g p.
Proof.
  intros Ig J0 St Co Lj Ib Ti Bf A; pose proof (agent_is g Ig) as T.
  pose proof St as (R & If & Sf & _ & Rk & _); pose proof R as (Ou & Ne & Tu & _); destruct (stages N s c Tu Ne) as (Tp & Sg & _).
  destruct (Nat.eq_dec (S (time s c b n)) ((k / copies f) * S (top (M c)) + j)) as [E|E].
  { apply (come_last c g p x f k W r e z j b n h q); auto; intro J1; apply Bf; auto; lia. }
  assert (Last : exists d m z', In d (M c) /\ (j = 1 -> d = f) /\ S (time s c d m) = (k / copies f) * S (top (M c)) + j /\
            In z' (arrivals (Ring (fst (by_ g)) d (k mod copies f)) m)).
  { destruct j as [|i].
    - destruct (k / copies f) as [|m] eqn:Em; [simpl in Ti; lia|]; destruct (Sg 0 ltac:(lia)) as (d & Id & Sd).
      pose proof (same_copies N F s c d f R Id If) as Ec; pose proof (positive N F s c f R If) as Pos.
      destruct (last_round s o c (by_ g) k W (copies f) m Rk Pos Em) as (V & Rv & _ & X & Y).
      destruct (some_there B N F s o c (by_ g) _ V d R T Rv Id) as [z' Z]; rewrite Ec, X, Y in Z; exists d, m, z'.
      split; auto; split; [discriminate|]; split; auto; unfold time, seat; rewrite Sd, Nat.mul_succ_l; simpl; lia.
    - assert (D : exists d, In d (M c) /\ stage d = S i /\ (S i = 1 -> d = f)).
      { destruct i as [|i]; [exists f; auto|]; destruct (Sg (S (S i)) Lj) as (d & Id & Sd); exists d; repeat split; auto; lia. }
      destruct D as (d & Id & Sd & Df); destruct (some_there B N F s o c (by_ g) k W d R T Rk Id) as [z' Z].
      rewrite (same_copies N F s c d f R Id If) in Z; exists d, (k / copies f), z'; repeat (split; [solve [auto]|]); split; auto.
      unfold time, seat; rewrite Sd; simpl; lia. }
  destruct Last as (d & m & [h' q'] & Id & Df & Td & Z); apply ord_trans with h' q'; [|apply (come_last c g p x f k W r e z j d m h' q'); auto].
  apply (in_order B N o s c Ou Tu (fst (by_ g)) b n d m (k mod copies f) (h, q) (h', q')); auto; lia.
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

Lemma fill_before c g p x f k W r e z fence out v0 :
  In g agents -> In (p, v0) (acts g) -> stands c g p x f k W r e z -> fill N (I c W) fence out z f = true ->
  exists h q, In (h, q) (arrivals (Ring (fst (by_ g)) f (k mod copies f)) (k / copies f)) /\ ord g p h q.
Proof.
  intros Ig J0 St Fi; pose proof (agent_is g Ig) as T; pose proof (standing_round _ _ _ _ _ _ _ _ _ _ St) as Rn.
  pose proof St as (R & If & _ & _ & Rk & Is & De & Sa & (t & Et) & _ & (u & Eu) & _); pose proof R as (Ou & Ne & Tu & _).
  pose proof (barriers_in s c f If) as Cf.
  unfold fill in Fi; rewrite De in Fi; destruct Is as (J & X & Is).
  assert (Rr : round_of tr f (by_ g) r = k) by (unfold round_of; rewrite Cf, Eu; eapply number_at; eauto).
  destruct e as [y|v hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
  - apply andb_prop in Fi; destruct Fi as [_ Fi]; destruct Is as [(Eg & -> & _)|(_ & As & _)]; [|discriminate].
    destruct (seen_told _ _ _ _ _ Fi) as (p' & To & Bef).
    destruct (told_by B N o s c Ou Tu (by_ g) k W p' (who_ z) (mbarrier_eqb f) r v0 T Rk Sa To) as (b & h & q & Eb & Ib & A & Or).
    + intros b Eb; apply mbarrier_eq in Eb; congruence.
    + intros w Bw; rewrite Et; apply Bef; auto.
    + rewrite <- Eg; auto.
    + apply mbarrier_eq in Eb; subst b; rewrite <- Eg in Or; exists h, q; auto.
  - apply mbarrier_eq in Fi; subst d; destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|].
    assert (A : In (r ++ [Part 3], arrive_ (ring_of tr f (by_ g) r) (phase_of tr f (by_ g) r)) (acts (Engine (by_ g) r))).
    { apply in_engine; exists (EOp (Load f l)); split; auto; right; apply in_or_app; right; left; auto. }
    rewrite <- Eg in A; exists g, (r ++ [Part 3]); split.
    + apply in_ring_arrivals; exists (by_ g), r, (EOp (Load f l)), k; unfold told_at; simpl; rewrite Rr, <- Eg; auto 12.
    + eapply ord_own; [exact Ig | exact J0 | exact A | apply parts_precede; lia].
  - apply existsb_exists in Fi; destruct Fi as (z' & Iz & Fi); apply andb_prop in Fi; destruct Fi as [Fi Im].
    apply andb_prop in Fi; destruct Fi as [La Pr]; unfold is_later in La; destruct (deed_ z') as [|?|[| | | | | |d| | | | | |]] eqn:Dz; try discriminate.
    apply mbarrier_eq in La; subst d; destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|].
    assert (Sz : sats (who_ z') (by_ g)) by (eapply implies_sound; eauto).
    assert (Lt : In (W ++ place z', EOp (Later f)) (tr (by_ g))) by (rewrite <- Dz; apply (do_item o s c (by_ g) k); auto).
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
      assert (Rw : round_of tr f (by_ g) w = k) by (unfold round_of; rewrite Cf; apply (item_number N o s c Ou (by_ g) k W z' Rk Iz)).
      rewrite Rw; auto 12.
    + rewrite <- Eg in Dn; eapply ord_trans; [eapply ord_own; [exact Ig | exact J0 | exact Dn | apply parts_precede; lia]|].
      eapply ord_trans; [eapply ord_signal; [exact Ig | exact Ie | exact Dn | exact Aw]|].
      eapply ord_own; [exact Ie | exact Aw | exact A | apply parts_precede; lia].
Qed.

(* Of a group, its thread has waited when it says so. *)
Lemma group_read c g p x v0 f k W r gk l z j0 :
  In g agents -> In (p, v0) (acts g) -> stands c g p x f k W r (EOp (Group gk l)) z ->
  existsb (fun i => told N (I c W) (who_ z) (place i) (fun b => (cycle b =? c) && (stage b =? j0) && settles (I c W) z i gk b)) (I c W) = true ->
  exists d b i y v, In d (M c) /\ stage d = j0 /\ In (b, i) (arrivals (Ring (fst (by_ g)) d (k mod copies d)) (k / copies d)) /\
    In (y, v) (acts (Thread (by_ g))) /\ ord g p (Thread (by_ g)) y /\ ord (Thread (by_ g)) y b i.
Proof.
  intros Ig J0 St En; pose proof (agent_is g Ig) as T; set (It := I c W) in *.
  pose proof St as (R & _ & _ & _ & Rk & (J & X & Is) & De & Sa & (t & Et) & _ & (t0 & Er0) & _); pose proof R as (Ou & Ne & Tu & _).
  apply existsb_exists in En; destruct En as (i & Ii & En); unfold told in En; apply existsb_exists in En; destruct En as (j & Ij & En).
  destruct (tells (deed_ j)) as [b|] eqn:Te; [|discriminate]; apply andb_prop in En; destruct En as [En Cv].
  apply andb_prop in En; destruct En as [En Se]; apply andb_prop in En; destruct En as [Cb Bb]; apply Nat.eqb_eq in Cb; apply Nat.eqb_eq in Bb.
  assert (Ib : In b (M c)) by (eapply (tells_in o s c); eauto).
  unfold settles in Se; destruct (deed_ i) as [|?|[| | | | | | | |k' n| | | |]] eqn:Di; try discriminate.
  apply andb_prop in Se; destruct Se as [Se Nn]; apply andb_prop in Se; destruct Se as [Se Im]; apply andb_prop in Se; destruct Se as [Ek Pz].
  apply Nat.eqb_eq in Ek; subst k'; pose proof (implies_sound _ _ _ Im Sa) as Si.
  destruct Is as [(_ & _ & As)|(Eg & _ & jj & ->)]; [discriminate|].
  (* where it is settled, its thread knows that it is done *)
  assert (Done_at : forall S m, In (S, EOp (Settle gk m)) (tr (by_ g)) -> In r (settled_at tr (by_ g) gk m S) ->
            exists u v, In (S ++ u, v) (acts (Thread (by_ g))) /\ ord g (r ++ [Part 2; Part jj]) (Thread (by_ g)) (S ++ u)).
  { intros S m Js Rs; destruct (settle_act B N tr (by_ g) S r gk m Js Rs) as [u Aw]; do 2 eexists; split; [exact Aw|].
    pose proof (done_act B N tr (by_ g) r (EOp (Group gk l)) J eq_refl) as Dn; rewrite <- Eg in Dn.
    eapply ord_trans; [eapply ord_own; [exact Ig | exact J0 | exact Dn | apply parts_precede; lia]|].
    eapply ord_signal; [exact Ig | apply thread_agent; exact T | exact Dn | exact Aw]. }
  assert (Older : forall S m, precedes r S -> m <= length (filter (fun q => if precedes_dec r q then true else false) (since tr (is_group gk) (by_ g) S)) ->
            In r (settled_at tr (by_ g) gk m S)).
  { intros S m P Le; apply filter_In; split; [|apply Nat.leb_le; exact Le]; apply in_since; split; auto; exists (EOp (Group gk l)); split; auto.
    simpl; apply Nat.eqb_refl. }
  assert (In_round : forall q, before (place z) q None -> precedes r (W ++ q)).
  { intros q Bq; rewrite Et; exists None; apply before_prefix; rewrite <- (app_nil_r q); apply before_app; auto. }
  destruct (covered_by B N o s c Ou It (by_ g) (place i) (who_ z) j T Sa Cv) as (a' & Ta' & Bl & U & Sj & Cov).
  assert (R' : round c a' k W) by (apply (round_same B N o s c Ou (by_ g)); auto).
  destruct (told_there B N o s c Ou Tu a' k W j b Ta' R' Ij Te Ib Sj) as (P & e & H1 & H2).
  assert (A : In (arrival a' P e k) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b))) by (rewrite <- Bl; apply arrival_at; auto).
  exists b, (fst (arrival a' P e k)), (snd (arrival a' P e k)).
  (* settled in a round *)
  assert (By : forall n' V, round c (by_ g) n' V -> I c V = It -> In r (settled_at tr (by_ g) gk n (V ++ place i)) -> P = V ++ place j \/ precedes (V ++ place j) P ->
            exists y v, In b (M c) /\ stage b = j0 /\ In (fst (arrival a' P e k), snd (arrival a' P e k)) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b)) /\
              In (y, v) (acts (Thread (by_ g))) /\ ord g (r ++ [Part 2; Part jj]) (Thread (by_ g)) y /\ ord (Thread (by_ g)) y (fst (arrival a' P e k)) (snd (arrival a' P e k))).
  { intros n' V Rv Ev Rs Le; destruct (Done_at (V ++ place i) n) as (u & v & Y & O); auto.
    { rewrite <- Di; apply (do_item o s c (by_ g) n'); auto; rewrite Ev; auto. }
    exists ((V ++ place i) ++ u), v; rewrite <- surjective_pairing; repeat (split; [solve [auto]|]); eapply Cov; eauto.
    intros q Bq; rewrite <- app_assoc; exists None; apply before_prefix; rewrite <- (app_nil_r q); apply before_app; auto. }
  set (own := filter (fun i0 => is_group gk (deed_ i0) && prec (place i0) (place i) && implies (who_ z) (who_ i0)) It) in *.
  assert (Own : forall x', In x' own -> In x' It /\ is_group gk (deed_ x') = true /\ prec (place x') (place i) = true /\ sats (who_ x') (by_ g)).
  { intros x' Ix; apply filter_In in Ix; destruct Ix as [Ix Gx]; apply andb_prop in Gx; destruct Gx as [Gx Imx]; apply andb_prop in Gx.
    destruct Gx as [Gx Px]; repeat (split; [solve [auto]|]); eapply implies_sound; eauto. }
  apply orb_prop in Nn; destruct Nn as [Nn|Nn].
  { apply Nat.leb_le in Nn; apply (By k W Rk eq_refl); [|eapply (told_behind o s c); eauto]; apply Older; [apply In_round, prec_sound; auto|].
    eapply Nat.le_trans; [exact Nn|]; rewrite <- (map_length (fun x' => W ++ place x')); apply NoDup_incl_length.
    - assert (Rise : StronglySorted (fun x1 x2 => precedes (place x1) (place x2)) It) by apply items_rising.
      apply nodup_map.
      + apply NoDup_filter, NoDup_filter; eapply sorted_nodup; [|exact Rise]; intro x0; apply precedes_irr.
      + intros x1 x2 I1 I2 E; apply filter_In in I1; apply filter_In in I2; destruct I1 as [I1 _], I2 as [I2 _].
        apply Own in I1; apply Own in I2; destruct (sorted_two _ _ _ x1 x2 Rise (proj1 I1) (proj1 I2)) as [|[Q|Q]]; auto; exfalso;
          apply app_inv_head in E; rewrite E in Q; exact (precedes_irr _ Q).
    - intros q Jq; apply in_map_iff in Jq; destruct Jq as (x' & <- & Ix); apply filter_In in Ix; destruct Ix as [Ix Zx].
      destruct (Own x' Ix) as (Jx & Gx & Px & Sx); apply filter_In; split; [apply in_since; split|].
      + exists None; apply before_prefix, prec_sound; auto.
      + exists (deed_ x'); split; auto; apply (do_item o s c (by_ g) k); auto.
      + destruct (precedes_dec r (W ++ place x')) as [|X2]; auto; exfalso; apply X2, In_round, prec_sound; auto. }
  apply andb_prop in Nn; destruct Nn as [Nn Ex]; apply andb_prop in Nn; destruct Nn as [Ek Le]; apply Nat.eqb_eq in Ek; apply Nat.leb_le in Le.
  assert (Ln : exists x', In x' own) by (destruct own as [|x' t']; [discriminate | exists x'; left; auto]).
  destruct Ln as (x' & Ix); destruct (Own x' Ix) as (Jx & Gx & Px & Sx); destruct (Nat.eq_dec n 0) as [->|Nz].
  { apply (By k W Rk eq_refl); [apply Older; [apply In_round, prec_sound; auto | lia]|]; eapply (told_behind o s c); eauto. }
  destruct H2 as [(L & _)|[(L & V & Rv & -> & ->)|(L & -> & Pd)]]; [lia| |].
  - assert (Rva : round c (by_ g) (k + late b) V) by (apply (round_same B N o s c Ou a' (by_ g)); auto).
    pose proof (late_alone N o s c Tu b _ _ _ _ _ _ Ib L Rva Rk) as Ev; apply (By (k + late b) V Rva Ev); [|auto]; apply Older.
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
      * exists (deed_ x'); split; auto; apply (do_item o s c (by_ g) (k + 1 + m)); auto; rewrite (late_alone N o s c Tu b _ _ _ _ _ _ Ib L X1 Rk); auto.
      * destruct (precedes_dec r (V1 ++ place x')) as [|X2]; auto; exfalso; apply X2; rewrite Et; apply precedes_app.
        exact (rising_nth _ (visits_rising o c s [] (by_ g)) _ _ _ _ Rk X1 ltac:(lia)).
  - destruct (late_rules N o s c Tu b Ib L) as (_ & _ & _ & _ & _ & Dr & _); destruct H1 as (Jd & Ar & Kt).
    destruct (drain_at N o c b s Cb true [] a' P Ou Dr Jd) as (w & u & t' & _ & EP & Pat & Ba & Vi).
    destruct (Vi W) as [Q|Q]; [eapply nth_error_In; exact R' | exfalso | ].
    { apply (precedes_irr P); eapply precedes_trans; [apply (Q []) | eapply precedes_trans; [|exact Pd]]; apply parts_precede; lia. }
    assert (Ba' : In (w ++ [Part 1; Part 0], EBar (Threads 32) Warp) (tr (by_ g))) by (apply (bars_meet B N F s Valid o a'); auto using same_sym).
    destruct (Done_at (w ++ [Part 0]) 0) as (u' & v & Y & O).
    { rewrite Ek; apply Pat; exact Ba'. }
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

(* Who is at a station says that the next stage is reached: of the first, those do that say so of its ring. *)
Lemma go_before c g p x f k W r e z fence out j :
  In g agents -> In (p, access_ x) (acts g) -> stands c g p x f k W r e z ->
  at_station N (I c W) (M c) c fence out z x f j = true -> j <= top (M c) ->
  exists b h q, In b (M c) /\ seat s c b = j /\ (j = 0 -> b = f) /\
    In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies f)) (k / copies f)) /\ ord g p h q.
Proof.
  intros Ig J0 St At Lj; pose proof (agent_is g Ig) as T; unfold at_station in At; apply andb_prop in At; destruct At as [_ At].
  pose proof St as (R & If & Sf & _ & Rk & (J & X & Is) & De & Sa & (t & Et) & _); pose proof R as (Ou & Ne & Tu & _).
  destruct (Nat.eqb_spec j 0) as [->|Nj].
  { destruct (fill_before c g p x f k W r e z _ _ _ Ig J0 St At) as (h & q & A & Or); exists f, h, q; split; auto; split; auto.
    unfold seat; rewrite Sf; auto. }
  assert (Seat : forall b, stage b = next (M c) j -> seat s c b = j).
  { intros b; unfold next, seat; destruct (Nat.eqb_spec j (top (M c))); intros ->; simpl; lia. }
  unfold use in At; rewrite De in At.
  assert (Y : exists b h q, In b (M c) /\ stage b = next (M c) j /\
            In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b)) /\ ord g p h q).
  { destruct e as [y|v hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
    - destruct Is as [(Eg & -> & _)|(_ & As & _)]; [|discriminate].
      assert (I' : In (r, access_ x) (acts (Thread (by_ g)))) by (rewrite <- Eg; exact J0).
      destruct (seen_told _ _ _ _ _ At) as (p' & To & Bef).
      destruct (told_by B N o s c Ou Tu (by_ g) k W p' (who_ z) _ r (access_ x) T Rk Sa To) as (b & h & q & Eb & Ib & A & Or); auto.
      { intros b Eb; apply andb_prop in Eb; destruct Eb as [Eb _]; apply Nat.eqb_eq in Eb; auto. }
      { intros w Bw; rewrite Et; apply Bef; auto. }
      apply andb_prop in Eb; destruct Eb as [_ Eb]; apply Nat.eqb_eq in Eb; rewrite <- Eg in Or; exists b, h, q; auto.
    - apply andb_prop in At; destruct At as [_ At].
      destruct (group_read c g p x _ f k W r gk l z _ Ig J0 St At) as (b & h & q & y & v & Ib & Bb & A & _ & O1 & O2).
      exists b, h, q; repeat (split; [solve [auto]|]); eapply ord_trans; eauto. }
  destruct Y as (b & h & q & Ib & Sb & A & Or); rewrite (same_copies N F s c b f R Ib If) in A.
  exists b, h, q; split; auto; split; auto; split; [lia | auto].
Qed.

Lemma station_spec c W z x f j : station_at c W z x f = Some j ->
  at_station N (I c W) (M c) c (fence_of c W) (read_out (sites_at c W) f) z x f j = true /\ j <= top (M c).
Proof. intro E; apply find_some in E; destruct E as [E At]; apply in_seq in E; split; auto; lia. Qed.

(* At an earlier time, in rounds and stations, is before. *)
Lemma ring_order c g p x f k W r e z i h q y k' W' r' e' z' j :
  In g agents -> In (p, access_ x) (acts g) -> stands c g p x f k W r e z -> station_at c W z x f = Some i ->
  In h agents -> In (q, access_ y) (acts h) -> stands c h q y f k' W' r' e' z' -> station_at c W' z' y f = Some j ->
  fst (by_ g) = fst (by_ h) -> k mod copies f = k' mod copies f ->
  (k / copies f) * S (top (M c)) + i < (k' / copies f) * S (top (M c)) + j -> ord g p h q.
Proof.
  intros Ig J0 St Si Ih J1 St' Sj Bl Mo Lt; destruct (station_spec _ _ _ _ _ _ Si) as [Ai Li], (station_spec _ _ _ _ _ _ Sj) as [Aj Lj].
  destruct (go_before c g p x f k W r e z _ _ i Ig J0 St Ai Li) as (b & h' & q' & Ib & Sb & Bf & A & Or).
  eapply ord_trans; [exact Or|]; unfold at_station in Aj; apply andb_prop in Aj; destruct Aj as [Co _].
  apply (come_after c h q y f k' W' r' e' z' j b (k / copies f) h' q'); auto.
  - unfold time; rewrite Sb; auto.
  - intros -> E; apply Bf; unfold time in E; rewrite Sb in E.
    destruct (same_phase (top (M c)) (k / copies f) i (k' / copies f) 0); auto; lia.
  - rewrite <- Bl, <- Mo; auto.
Qed.

(* -- two at one station in one round ------------------------------------------------------------------------------------ *)

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

Lemma issued_part g p r e x h q r' e' y d : issues g p r e x -> issues h q r' e' y -> before r r' d -> part p q d /\ part q p d.
Proof.
  intros (_ & _ & Is) (_ & _ & Is') Bd; assert (B' : before p q d).
  { destruct Is as [(_ & -> & _)|(_ & _ & j & ->)], Is' as [(_ & -> & _)|(_ & _ & j' & ->)];
      [exact Bd | apply before_r | apply before_l | apply before_app]; exact Bd. }
  unfold part; auto.
Qed.

(* How the positions of two accesses part, in a part of the text; where they do not, an access that stands once is one operation. *)
Lemma how_parted u w g p r e x h q r' e' y : issues g p r e x -> issues h q r' e' y ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  exists d, In d (None :: map Some (loops (number x) (number y) u)) /\ part p q d /\
    (r = r' \/ (number x = number y -> times (number x) u <= 1 -> d <> None)).
Proof.
  intros Iss Iss' Tr Tr'; pose proof Iss as (_ & Xe & Is); pose proof Iss' as (_ & Ye & Is').
  destruct (path_dec r r') as [Er|Nr].
  - subst r'; exists None; split; [left; auto|]; split; [|left; auto].
    pose proof (same_event o u _ _ _ _ _ _ Tr Tr') as Ee; subst e'.
    destruct Is as [(_ & -> & A1)|(_ & A1 & j & ->)], Is' as [(_ & -> & A2)|(_ & A2 & j' & ->)]; try congruence; unfold part; auto.
    destruct (Nat.lt_trichotomy j j') as [Lt|[->|Lt]]; auto; [left | right; left];
      apply before_prefix; constructor 2; constructor; constructor; auto.
  - destruct (parted o u w _ _ r r' e e' x y Tr Tr' Xe Ye) as [|(d & D & In_d & On)]; [contradiction|].
    exists d; split; [exact In_d|]; split; [|right; exact On].
    destruct D as [D|D]; [exact (proj1 (issued_part _ _ _ _ _ _ _ _ _ _ d Iss Iss' D)) | exact (proj2 (issued_part _ _ _ _ _ _ _ _ _ _ d Iss' Iss D))].
Qed.

(* Accesses that are one thread's wherever they touch one place. *)
Lemma one_thread_sound {L} (t : reaches L) g p x z h q y z' l d more : premises t -> In g agents -> In h agents -> g <> h ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l -> part p q d ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> one_thread N F (z, x) (z', y) d more = true -> by_ g = by_ h /\ more = true.
Proof.
  intros Pre Ig Ih Ne I J X Y Pd Sa Sa' Ru; unfold one_thread in Ru; apply existsb_exists in Ru; destruct Ru as (k' & Ik & Ru).
  cbn [fst snd] in Ru, Ik; destruct (concerned t g p x h q y l d Pre Ig Ih Ne I J X Y Pd k' Ik) as (v & -> & U).
  apply andb_prop in Ru; destruct Ru as [Ru M']; apply andb_prop in Ru; destruct Ru as [Al Im]; split; auto.
  apply (alone_sound (who_ z) v); auto using agent_is; eapply implies_sound; eauto.
Qed.

Lemma apart_sound {L} (t : reaches L) u w g p x r e z h q y r' e' z' l :
  premises t -> In g agents -> In h agents -> g <> h -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  t x p g l -> t y q h l -> issues g p r e x -> issues h q r' e' y -> deed_ z = e -> deed_ z' = e' ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  apart_always N F u (z, x) (z', y) = true -> False.
Proof.
  intros Pre Ig Ih Ne I J X Y Iss Iss' De De' Sa Sa' Tr Tr' Ru; unfold apart_always in Ru; rewrite forallb_forall in Ru; cbn [fst snd] in Ru.
  destruct (how_parted u w g p r e x h q r' e' y Iss Iss' Tr Tr') as (d & In_d & Pd & On); specialize (Ru d In_d).
  destruct (one_thread_sound t g p x z h q y z' l d _ Pre Ig Ih Ne I J X Y Pd Sa Sa' Ru) as [E As]; unfold in_turn in As; cbn [fst snd] in As.
  assert (Once : number x = number y -> times (number x) u <= 1 -> d = None -> r = r') by (intros Nu O1 ->; destruct On as [|On]; auto; exfalso; exact (On Nu O1 eq_refl)).
  destruct Iss as (_ & _ & [(Eg & _ & A1)|(Eg & A1 & j & _)]), Iss' as (_ & _ & [(Eh & _ & A2)|(Eh & A2 & j' & _)]);
    rewrite De, De', A1, A2 in As; simpl in As;
    try (apply Ne; rewrite Eg, Eh, E; auto; fail);
    apply andb_prop in As; destruct As as [As Ti]; apply andb_prop in As; destruct As as [Pn Nu];
    apply part_eq in Pn; apply Nat.eqb_eq in Nu; apply Nat.leb_le in Ti; pose proof (Once Nu Ti Pn) as Er; subst r'.
  - pose proof (same_event o u _ _ _ _ _ _ Tr Tr'); congruence.
  - pose proof (same_event o u _ _ _ _ _ _ Tr Tr'); congruence.
  - apply Ne; rewrite Eg, Eh, E; auto.
Qed.

(* A thread's own access is what it does there. *)
Lemma own_access g p r e x : issues g p r e x -> is_async e = false -> g = Thread (by_ g) /\ p = r /\ e = EAcc x.
Proof.
  intros (_ & X & [(E & -> & _)|(_ & As & _)]) A; [|congruence]; destruct e; simpl in *; try discriminate; [destruct X as [->|[]]; auto | destruct X].
Qed.

(* A thread's group has ended before what the thread does next there. *)
Lemma own_before K0 k m n g p r l x h q r' f y : In g agents -> In h agents -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  issues g p r (EOp (Group k l)) x -> issues h q r' f y -> by_ g = by_ h ->
  number x = m -> number y = n -> sats K0 (by_ h) -> snd (clear K0 k m n s false) = true -> precedes r r' -> ord g p h q.
Proof.
  intros Ig Ih J1 J2 (A1 & X & Is) (A2 & Y & Is') E Nx Ny SK Cl P; pose proof (agent_is g Ig) as T; rewrite <- E in A2, Is', SK; set (a := by_ g) in *.
  destruct Is as [(_ & _ & B1)|(Eg & _ & j & Ep)]; [discriminate|].
  destruct (clear_sound o K0 k m n s false [] a SK Cl) as (_ & Bt & _); destruct (Bt r r') as (S & K & P1 & P2); auto.
  { exists l; split; auto; apply existsb_exists; exists x; split; auto; apply Nat.eqb_eq; auto. }
  { exists f; split; auto; apply existsb_exists; exists y; split; auto; apply Nat.eqb_eq; auto. }
  assert (In_s : In r (settled_at tr a k 0 S)).
  { apply filter_In; split; auto; apply in_since; split; auto; exists (EOp (Group k l)); split; auto; simpl; apply Nat.eqb_refl. }
  destruct (settle_act B N tr a S r k 0 K In_s) as [i Aw].
  pose proof (done_act B N tr a r _ A1 eq_refl) as Dn; rewrite <- Eg in Dn; rewrite Ep in *.
  eapply ord_trans; [eapply ord_own; [exact Ig | exact J1 | exact Dn | apply parts_precede; lia]|].
  eapply ord_trans; [eapply ord_signal; [exact Ig | apply thread_agent; exact T | exact Dn | exact Aw]|].
  destruct Is' as [(Eh & Eq & B2)|(Eh & B2 & j' & Eq)]; rewrite Eq, Eh in *.
  - eapply ord_own; [apply thread_agent; exact T | exact Aw | exact J2 | apply precedes_app_r; auto].
  - assert (Is : is_issued f = true) by (destruct f as [|?|[]]; simpl in *; auto; try discriminate; destruct Y).
    apply (to_engine B N tr a r' _ _ _ (r' ++ [Part 2; Part j'], access_ y) T A2 Is Aw); auto.
    + apply precedes_app_r; auto.
    + simpl; apply parts_precede; lia.
Qed.

(* What a thread does before it issues comes before what is issued. *)
Lemma own_first g p r e x h q r' f y : In g agents -> In h agents -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  issues g p r e x -> issues h q r' f y -> is_async e = false -> by_ g = by_ h -> precedes r r' -> ord g p h q.
Proof.
  intros Ig Ih J1 J2 Is Is' A E P; destruct (own_access _ _ _ _ _ Is A) as (Eg & -> & ->); pose proof (agent_is g Ig) as T.
  destruct (reach h q r' f y Ih J2 Is') as (r2 & f2 & (t & ->) & Fr & Re); eapply reached_by'; [exact Re|]; rewrite <- E in *.
  rewrite Eg at 1; rewrite Eg in J1; eapply ord_own; [apply thread_agent; exact T | exact J1 | exact Fr | apply precedes_app_l; auto].
Qed.

(* A barrier stands between. *)
Lemma barrier_order {L} (t : reaches L) g p x r e z h q y r' e' z' l : premises t -> In g agents -> In h agents -> g <> h ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> t x p g l -> t y q h l -> issues g p r e x -> issues h q r' e' y ->
  is_async e' = false -> sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> (exists u, r = place z ++ u) -> (exists u, r' = place z' ++ u) ->
  barrier_before N F s (z, x) (z', y) = true -> ord h q g p.
Proof.
  intros Pre Ig Ih Ne I J X Y Is Is' A Sa Sa' (u & Er) (u' & Er') H; unfold barrier_before in H; apply existsb_exists in H.
  destruct H as (i & Ii & H); cbn [fst snd] in H; destruct (deed_ i) as [|v hw|] eqn:Di; try discriminate.
  apply andb_prop in H; destruct H as [H Co]; apply andb_prop in H; destruct H as [H _]; apply andb_prop in H; destruct H as [H Im].
  apply andb_prop in H; destruct H as [H Im'].
  apply andb_prop in H; destruct H as [H P2]; apply andb_prop in H; destruct H as [_ P1]; apply prec_sound in P1; apply prec_sound in P2.
  assert (B1 : precedes r' (place i)) by (rewrite Er'; exists None; rewrite <- (app_nil_r (place i)); apply before_app; auto).
  assert (B2 : precedes (place i) r) by (rewrite Er; exists None; rewrite <- (app_nil_r (place i)); apply before_app; auto).
  assert (Pd : part q p None).
  { apply (issued_part h q r' e' y g p r e x None Is' Is); rewrite Er, Er'; apply before_app.
    clear - P1 P2; revert P2; generalize (place z); induction P1 as [v w a b d V|v a b d P IH]; intros c Q; inversion Q; subst.
    - inversion V; subst; match goal with E : earlier _ _ _ |- _ => inversion E; subst end; constructor; constructor; lia.
    - constructor; auto.
    - constructor; auto.
    - constructor 2; auto. }
  apply existsb_exists in Co; destruct Co as (c & Ic & Co).
  destruct (concerned t h q y g p x l None Pre Ih Ig (not_eq_sym Ne) J I Y X Pd c Ic) as (w & -> & U).
  pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th; pose proof (le_sound B N w v _ _ Co Th Tg U) as V.
  destruct (own_access _ _ _ _ _ Is' A) as (Eh & Eq & _); subst q.
  assert (Bar : forall a, is_thread a -> sats (who_ i) a -> same v (by_ h) a -> In (place i, barrier_ (key_of v hw (by_ h)) (count B N v)) (acts (Thread a))).
  { intros a Ta Ha Va; apply in_barrier; exists a, v, hw; split; auto; split; [|split; auto; apply key_same; auto].
    destruct i as [[pi ei] Ki]; unfold place, deed_, who_ in *; simpl in *; subst ei.
    apply (item_there o [] s [] [] a pi (EBar v hw) Ki Ii Ha). }
  pose proof (Bar (by_ h) Th (implies_sound _ _ _ Im' Sa') eq_refl) as K1; pose proof (Bar (by_ g) Tg (implies_sound _ _ _ Im Sa) V) as K2.
  destruct (reach g p r e x Ig I Is) as (r2 & f2 & (t2 & ->) & Fr & Re); eapply reached_by'; [exact Re|].
  rewrite Eh at 1; rewrite Eh in J; eapply ord_trans; [eapply ord_own; [apply thread_agent; exact Th | exact J | exact K1 | exact B1]|].
  eapply ord_bar; [apply thread_agent; exact Th | apply thread_agent; exact Tg | exact K1 | exact K2 | exact Fr | apply precedes_app_l; auto].
Qed.

Lemma async_quiet {L} (t : reaches L) g p x h q y : premises t -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> (exists a r, g = Engine a r) -> conflicts t g p x h q y ->
  ringed x y = true \/ ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih I J (a & r & Eg) (Ne & Cl & l & X & Y); destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne I J X Y) as [Ov _].
  destruct (in_access g p x I) as (r1 & e & Is); destruct (in_access h q y J) as (r2 & f & Js).
  pose proof Is as (I1 & Xe & [(E & _)|(_ & As & _)]); [rewrite Eg in E; discriminate|]; pose proof Js as (J1 & Ye & _).
  destruct (site_of o [] s [] [] (by_ g) r1 e (fun k f => match f with end) I1) as (q1 & u1 & K1 & P1 & S1 & Sa1).
  destruct (site_of o [] s [] [] (by_ h) r2 f (fun k f => match f with end) J1) as (q2 & u2 & K2 & P2 & S2 & Sa2).
  pose proof Rings as Q; unfold rings in Q; apply andb_prop in Q; destruct Q as [Q _].
  apply andb_prop in Q; destruct Q as [_ Q]; unfold quiet in Q; rewrite forallb_forall in Q.
  set (A := flat_map (fun z => map (pair z) (accesses (deed_ z))) (sites s [] [])) in *.
  assert (In_A : forall z v, In z (sites s [] []) -> In v (accesses (deed_ z)) -> In (z, v) A).
  { intros z v A1 A2; apply in_flat_map; exists z; split; auto; apply in_map; auto. }
  specialize (Q ((q1, e, K1), x)); rewrite forallb_forall in Q; specialize (Q ltac:(apply filter_In; split; [apply In_A; auto | exact As])
    ((q2, f, K2), y) ltac:(apply In_A; auto)); cbn [fst snd] in Q; rewrite Ov in Q; simpl in Q; rewrite orb_false_r in Q.
  apply orb_prop in Q; destruct Q as [Q|Q]; [apply orb_prop in Q; destruct Q as [Q|Q];
    [apply orb_prop in Q; destruct Q as [Q|Q]; [apply orb_prop in Q; destruct Q as [Q|Q]; auto|]; exfalso|right]|right].
  - destruct (does x), (does y); try discriminate; exact Cl.
  - exact (apart_sound t s [] g p x r1 e (q1, e, K1) h q y r2 f (q2, f, K2) l Pre Ig Ih Ne I J X Y Is Js eq_refl eq_refl Sa1 Sa2 I1 J1 Q).
  - unfold own_order, ended_before in Q; cbn [fst snd] in Q; unfold deed_ in Q; cbn [fst snd] in Q; apply andb_prop in Q; destruct Q as [Q One_].
    apply andb_prop in Q; destruct Q as [Cw Cw']; rewrite forallb_forall in One_.
    destruct e as [|?|[| | | | | | |k l1| | | | |]]; try discriminate.
    destruct (how_parted s [] g p r1 _ x h q r2 _ y Is Js I1 J1) as (d & In_d & Pd & _); specialize (One_ d In_d).
    destruct (one_thread_sound t g p x (q1, EOp (Group k l1), K1) h q y (q2, f, K2) l d _ Pre Ig Ih Ne I J X Y Pd Sa1 Sa2 One_) as [E _].
    destruct (comparable o s [] (by_ g) (by_ h) true true r1 r2 _ _ I1 J1) as [Er|[Er|Er]].
    + exfalso; assert (J1' : In (r1, f) (trace o s [] (by_ h))) by (rewrite Er; exact J1).
      pose proof (same_event o s _ _ _ _ _ _ I1 J1') as Ef; subst f; apply Ne.
      destruct Is as (_ & _ & [(_ & _ & B1)|(E1 & _)]); [discriminate|]; destruct Js as (_ & _ & [(_ & _ & B2)|(E2 & _)]); [discriminate|].
      rewrite E1, E2, E, Er; auto.
    + left; exact (own_before K2 k _ _ g p r1 l1 x h q r2 f y Ig Ih I J Is Js E eq_refl eq_refl Sa2 Cw Er).
    + right; destruct (is_async f) eqn:Af; [|exact (own_first h q r2 f y g p r1 _ x Ih Ig J I Js Is Af (eq_sym E) Er)].
      destruct f as [|?|[| | | | | | |k' l2| | | | |]]; try discriminate.
      exact (own_before K1 k' _ _ h q r2 l2 y g p r1 _ x Ih Ig J I Js Is (eq_sym E) eq_refl eq_refl Sa1 Cw' Er).
  - apply andb_prop in Q; destruct Q as [Af Q]; unfold deed_ in Af; cbn [fst snd] in Af; apply negb_true_iff in Af; right.
    exact (barrier_order t g p x r1 e (q1, e, K1) h q y r2 f (q2, f, K2) l Pre Ig Ih Ne I J X Y Is Js Af Sa1 Sa2
      (ex_intro _ u1 P1) (ex_intro _ u2 P2) Q).
Qed.

Lemma overlap_sym x y : overlap x y = overlap y x.
Proof.
  unfold overlap; rewrite (Nat.eqb_sym (space x)); destruct (space y =? space x); simpl; auto; apply andb_comm.
Qed.

(* Accesses of threads in a part of the text, of which the rule of barriers is asked: one, and another behind it or at the same place. *)
Lemma thread_pair {L} (t : reaches L) pass u w a p x b q y : premises t -> is_thread a -> is_thread b ->
  bars N u [] [] = true -> check N F pass u [] [] = true -> incl (trace o u w a) (tr a) ->
  In (p, EAcc x) (trace o u w a) -> In (q, EAcc y) (trace o u w b) ->
  In (p, access_ x) (acts (Thread a)) -> In (q, access_ y) (acts (Thread b)) -> conflicts t (Thread a) p x (Thread b) q y ->
  pass x y = false -> p = q \/ precedes p q -> ord (Thread a) p (Thread b) q.
Proof.
  intros Pre Ta Tb Bu Cu Inc I1 J1 J0 J2 (Ne & Cl & l & X & Y) Rg Le; simpl in Cl.
  assert (Nt : a <> b) by congruence.
  destruct (check_sound B N o a b Ta Tb F pass
    (fun p x q y => (In (p, access_ x) (acts (Thread a)) /\ In (q, access_ y) (acts (Thread b))) /\
       (clash a b (does x) (does y) /\ pass x y = false) /\ exists l, t x p (Thread a) l /\ t y q (Thread b) l)) with
    (s := u) (w := w) (D := @nil units) (C := @nil con) (E := @nil entry) (P := @nil (path * event)) (c := true) (p := p) (q := q) (x := x) (y := y)
    as (r & v & hw & U & Ir & Pr & Rq).
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
  - exact Bu.
  - exact Cu.
  - intros _ _; auto.
  - exact (nothing a).
  - exact (nothing b eq_refl).
  - intros ? ? [].
  - exact J1.
  - exact I1.
  - exact Le.
  - split; [auto|]; split; [auto|]; eauto.
  - apply Inc in Ir; assert (Kb : In (r, EBar v hw) (tr b)) by (apply (bars_meet B N F s Valid o a); auto).
    assert (Aa : In (r, barrier_ (key_of v hw a) (count B N v)) (acts (Thread a))) by (apply in_barrier; eauto 8).
    assert (Ab : In (r, barrier_ (key_of v hw a) (count B N v)) (acts (Thread b))).
    { apply in_barrier; exists b, v, hw; rewrite (key_same v hw a b U); auto. }
    assert (Ga : In (Thread a) agents) by (apply thread_agent; auto); assert (Gb : In (Thread b) agents) by (apply thread_agent; auto).
    eapply ord_trans; [eapply ord_own; [exact Ga | exact J0 | exact Aa | exact Pr]|].
    eapply ord_bar; [exact Ga | exact Gb | exact Aa | exact Ab | exact J2 | exact Rq].
Qed.

Lemma conflicts_sym {L} (t : reaches L) g p x h q y : conflicts t g p x h q y -> conflicts t h q y g p x.
Proof. intros (Ne & Cl & l & X & Y); split; [auto|]; split; [apply clash_sym; auto | eauto]. Qed.

Lemma both_threads {L} (t : reaches L) pass u w g p x r e h q y r' e' : premises t -> In g agents -> In h agents ->
  bars N u [] [] = true -> check N F pass u [] [] = true -> incl (trace o u w (by_ g)) (tr (by_ g)) -> incl (trace o u w (by_ h)) (tr (by_ h)) ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> issues g p r e x -> issues h q r' e' y -> is_async e = false -> is_async e' = false ->
  conflicts t g p x h q y -> pass x y = false -> pass y x = false -> ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih Bu Cu In1 In2 T1 T2 J1 J2 Is Is' A A' C P1 P2; pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th.
  destruct (own_access _ _ _ _ _ Is A) as (Eg & -> & ->), (own_access _ _ _ _ _ Is' A') as (Eh & -> & ->).
  destruct g as [a|]; [|discriminate]; destruct h as [b|]; [|discriminate]; simpl in *.
  destruct (comparable o u w a b true true r r' _ _ T1 T2) as [E|[E|E]].
  - left; eapply (thread_pair t pass u w a r x b r' y); eauto.
  - left; eapply (thread_pair t pass u w a r x b r' y); eauto.
  - right; apply (thread_pair t pass u w b r' y a r x); auto using (conflicts_sym t).
Qed.

Lemma outside_sym L x y : outside L x y = outside L y x.
Proof. unfold outside; f_equal; apply andb_comm. Qed.

(* -- products and threads at one station -------------------------------------------------------------------------------- *)

Lemma is_access_eq x y : is_access x y = true -> x = y.
Proof. unfold is_access; destruct (access_dec x y); auto; discriminate. Qed.
Lemma is_access_refl x : is_access x x = true.
Proof. unfold is_access; destruct (access_dec x x); auto; congruence. Qed.

Lemma joined_cases s1 s2 r : joined s1 s2 r = r \/
  exists t t', s1 = Do (Settle products 0) /\ s2 = Seq (Bar (Threads 32) Warp) t /\ r = Seq Skip t' /\ joined s1 s2 r = Seq (Bar (Threads 32) Warp) t'.
Proof.
  unfold joined; repeat match goal with |- context [match ?z with _ => _ end] => is_var z; destruct z; auto end; right; eauto 8.
Qed.

(* Where an access is among those that are looked at. *)
Definition counted (x y : access) (e : event) (z : access) : Prop :=
  (e = EAcc y /\ z = y) \/ (exists l, e = EOp (Group products l) /\ In x l /\ z = x).

Lemma alike_there x y u e z : counted x y e z -> forall w a p, In (p, e) (trace o u w a) -> In (p, EAcc z) (trace o (alike x y u) w a).
Proof.
  intro Co; induction u as [|s1 IH1 s2 IH2|v|v g|v s1 IH1 s2 IH2|l m v u IH|k u IH|oo]; intros w a p I; simpl in I |- *.
  - destruct I.
  - apply in_app_iff in I; apply in_app_iff; destruct I as [I|I]; auto; right; apply IH2 in I.
    destruct (joined_cases s1 s2 (alike x y s2)) as [->|(t & t' & _ & _ & E & ->)]; auto; rewrite E in I; right; exact I.
  - destruct I as [E|[]]; inversion E; subst; destruct Co as [[Ev ->]|(l & Ev & _)]; inversion Ev; subst; rewrite is_access_refl; left; auto.
  - destruct I as [E|[]]; inversion E; subst; destruct Co as [[Ev _]|(l & Ev & _)]; discriminate.
  - destruct (o w (name v a) =? 0); auto.
  - apply in_flat_map in I; destruct I as (j & J & I); apply in_flat_map; eauto.
  - destruct (sat k (snd a)); [auto | destruct I].
  - destruct I as [E|[]]; inversion E; subst; destruct Co as [[Ev _]|(l & Ev & X & ->)]; inversion Ev; subst; simpl.
    replace (existsb (is_access x) l) with true; [left; auto|]; symmetry; apply existsb_exists; eauto using is_access_refl.
Qed.

(* A barrier there is one behind a wait for all products; what else comes before it comes before the wait. *)
Lemma alike_back x y u : forall w a p v h, In (p, EBar v h) (trace o (alike x y u) w a) -> exists S,
  In (S, EOp (Settle products 0)) (trace o u w a) /\ In (p, EBar (Threads 32) Warp) (trace o u w a) /\ v = Threads 32 /\ precedes S p /\
  forall r e, In (r, e) (trace o u w a) -> precedes r p -> r = S \/ precedes r S.
Proof.
  assert (Never : forall p q : path, precedes p q -> precedes q p -> False) by (intros p q A1 A2; eapply precedes_irr, precedes_trans; eauto).
  induction u as [|s1 IH1 s2 IH2|v0|v0 g|v0 s1 IH1 s2 IH2|l m v0 u IH|k u IH|oo]; intros w a p v h I; simpl in I |- *.
  - destruct I.
  - assert (Parts : forall r e r' e', In (r, e) (trace o s1 (w ++ [Part 0]) a) -> In (r', e') (trace o s2 (w ++ [Part 1]) a) -> precedes r r').
    { intros r e r' e' A1 A2; exists None; exact (parts_in_order o w a a true true s1 s2 _ _ _ _ A1 A2). }
    apply in_app_iff in I; destruct I as [I|I].
    + destruct (IH1 _ _ _ _ _ I) as (S & A1 & A2 & A3 & A4 & A5); exists S; rewrite !in_app_iff; repeat (split; [solve [auto]|]).
      intros r e J P; apply in_app_iff in J; destruct J as [J|J]; eauto; exfalso; eauto.
    + assert (Deeper : In (p, EBar v h) (trace o (alike x y s2) (w ++ [Part 1]) a) -> exists S,
        In (S, EOp (Settle products 0)) (trace o s1 (w ++ [Part 0]) a ++ trace o s2 (w ++ [Part 1]) a) /\
        In (p, EBar (Threads 32) Warp) (trace o s1 (w ++ [Part 0]) a ++ trace o s2 (w ++ [Part 1]) a) /\ v = Threads 32 /\ precedes S p /\
        forall r e, In (r, e) (trace o s1 (w ++ [Part 0]) a ++ trace o s2 (w ++ [Part 1]) a) -> precedes r p -> r = S \/ precedes r S).
      { intro J; destruct (IH2 _ _ _ _ _ J) as (S & A1 & A2 & A3 & A4 & A5); exists S; rewrite !in_app_iff; repeat (split; [solve [auto]|]).
        intros r e K P; apply in_app_iff in K; destruct K as [K|K]; eauto. }
      destruct (joined_cases s1 s2 (alike x y s2)) as [E|(t & t' & -> & -> & E & Ej)]; [rewrite E in I; auto|].
      rewrite Ej in I; rewrite E in Deeper; simpl in I, Deeper; destruct I as [I|I]; [|auto].
      inversion I; subst; exists (w ++ [Part 0]); simpl; split; [auto|]; split; [rewrite <- app_assoc; auto|]; split; [auto|].
      assert (P0 : precedes (w ++ [Part 0]) ((w ++ [Part 1]) ++ [Part 0])).
      { exists None; rewrite <- app_assoc; apply before_prefix; apply before_here; constructor; lia. }
      split; [exact P0|]; intros r e J P; destruct J as [J|[J|J]]; [inversion J; auto | inversion J; subst; exfalso; eapply precedes_irr; eauto|].
      exfalso; apply (Never _ _ P); exists None; exact (parts_in_order o (w ++ [Part 1]) a a true true (Bar (Threads 32) Warp) t _ _ _ _ (or_introl eq_refl) J).
  - destruct (is_access v0 y); destruct I as [E|[]] || destruct I; discriminate.
  - destruct I.
  - destruct (o w (name v0 a) =? 0); eauto.
  - apply in_flat_map in I; destruct I as (j & J & I); destruct (IH _ _ _ _ _ I) as (S & A1 & A2 & A3 & A4 & A5); exists S.
    split; [apply in_flat_map; eauto|]; split; [apply in_flat_map; eauto|]; repeat (split; [assumption|]).
    intros r e K P; apply in_flat_map in K; destruct K as (i & Ji & K); destruct (Nat.lt_trichotomy i j) as [Lt|[->|Lt]]; eauto.
    + right; exists (Some l); exact (trips_in_order o l w a a true true u u i j _ _ _ _ Lt K A1).
    + exfalso; apply (Never _ _ P); exists (Some l); exact (trips_in_order o l w a a true true u u j i _ _ _ _ Lt A2 K).
  - destruct (sat k (snd a)); [eauto | destruct I].
  - destruct oo; simpl in I; try (destruct I as [E|[]]; discriminate); destruct ((k =? products) && _); destruct I as [E|[]] || destruct I; discriminate.
Qed.

Lemma together_order {L} (t : reaches L) u w g p x r e z h q y r' e' z' : premises t -> In g agents -> In h agents -> sats (who_ z') (by_ h) ->
  incl (trace o u w (by_ g)) (tr (by_ g)) -> incl (trace o u w (by_ h)) (tr (by_ h)) ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> issues g p r e x -> issues h q r' e' y -> deed_ z = e -> deed_ z' = e' ->
  conflicts t g p x h q y -> together N F s u (z, x) (z', y) = true -> ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih Sy In1 In2 T1 T2 J1 J2 Is Is' De De' C H; unfold together in H; cbn [fst snd] in H; rewrite De, De' in H.
  destruct e as [|?|[]] eqn:Ee; try discriminate; rewrite <- Ee in *; repeat (apply andb_prop in H; destruct H as [H ?]).
  apply Nat.eqb_eq in H; subst k.
  match goal with A : negb (is_async e') = true |- _ => apply negb_true_iff in A; rename A into As end.
  match goal with A : ended_before _ _ _ = true |- _ => unfold ended_before in A; cbn [fst snd] in A; rewrite De, Ee in A; rename A into En end.
  match goal with A : bars _ _ _ _ = true |- _ => rename A into Bu end.
  match goal with A : check _ _ _ _ _ _ = true |- _ => rename A into Cu end.
  destruct (own_access _ _ _ _ _ Is' As) as (Eh & Eq & Ey); pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th.
  assert (Nr : r <> r').
  { intro E; rewrite <- E in T2; pose proof (same_event o u _ _ _ _ _ _ T1 T2) as E'; rewrite Ee, Ey in E'; discriminate. }
  assert (Ord : precedes r r' \/ precedes r' r).
  { destruct (comparable o u w (by_ g) (by_ h) true true r r' _ _ T1 T2) as [E|E]; [contradiction | exact E]. }
  destruct (thread_dec (by_ g) (by_ h)) as [Eb|Nb].
  { destruct Ord as [P|P].
    - left; rewrite Ee in Is; eapply (own_before (who_ z') products (number x) (number y)); eauto.
    - right; eapply (own_first h q r' e' y g p r e x); eauto. }
  pose proof C as (Ne & Cl & lo & X & Y).
  assert (Is1 : issues g p r (EOp (Group products l)) x) by (rewrite <- Ee; exact Is).
  assert (Xl : In x l) by (destruct Is1 as (_ & A & _); exact A).
  assert (Cx : counted x y e x) by (right; exists l; auto).
  assert (Cy : counted x y e' y) by (left; auto).
  pose proof (alike_there x y u e x Cx w (by_ g) r T1) as Vx; pose proof (alike_there x y u e' y Cy w (by_ h) r' T2) as Vy.
  assert (Fact : forall f d, In f F -> is_of x y d f = true \/ is_of y x d f = true -> part r r' d -> exists c, Valid.what f = Some c /\ same c (by_ g) (by_ h)).
  { intros f d If Of Pa; assert (Pq : part p q d).
    { destruct Pa as [B1|[B1|[B1 _]]]; [exact (proj1 (issued_part _ _ _ _ _ _ _ _ _ _ d Is Is' B1)) |
        exact (proj2 (issued_part _ _ _ _ _ _ _ _ _ _ d Is' Is B1)) | contradiction]. }
    assert (Of' : is_of x y d f = true) by (destruct Of as [Of|Of]; [exact Of|]; unfold is_of in *; rewrite orb_comm; exact Of).
    apply (concerned t g p x h q y lo d Pre Ig Ih Ne J1 J2 X Y Pq (Valid.what f)); unfold concerns.
    destruct (of_spaces _ Pre g h p q x y lo Ig Ih Ne J1 J2 X Y) as [-> _]; right; apply in_map, filter_In; split; [|exact Of'].
    apply filter_In; split; auto; unfold is_of in Of'; apply andb_prop in Of'; destruct Of' as [_ Of']; apply orb_prop in Of'.
    destruct Of' as [K|K]; apply andb_prop in K; destruct K as [K1 K2]; rewrite ?K1, ?K2; auto using orb_true_r. }
  destruct (of_spaces _ Pre g h p q x y lo Ig Ih Ne J1 J2 X Y) as [Ov Ow].
  assert (Pass : beside_pair x y x y = false /\ beside_pair x y y x = false).
  { unfold beside_pair; rewrite !Nat.eqb_refl; simpl; split; auto; rewrite orb_true_r; auto. }
  assert (Together : forall a b, is_thread a -> is_thread b -> forall B0 v hw, same v a b -> In (B0, EBar v hw) (trace o (alike x y u) w a) ->
    incl (trace o u w a) (tr a) -> In (B0, barrier_ (key_of (Threads 32) Warp a) (count B N (Threads 32))) (acts (Thread a)) /\
      In (B0, barrier_ (key_of (Threads 32) Warp a) (count B N (Threads 32))) (acts (Thread b))).
  { intros a b Ta Tb B0 v hw U I Inc; destruct (alike_back x y u w a B0 v hw I) as (S & _ & A2 & -> & _); apply Inc in A2; split.
    - apply in_barrier; eauto 8.
    - apply in_barrier; exists b, (Threads 32), Warp; rewrite (key_same _ _ a b U); repeat (split; auto).
      apply (bars_meet B N F s Valid o a); auto. }
  destruct Ord as [P|P].
  - left; destruct (check_sound B N o (by_ g) (by_ h) Tg Th F (beside_pair x y)
      (fun p0 x0 q0 y0 => p0 = r /\ x0 = x /\ q0 = r' /\ y0 = y)) with (s := alike x y u) (w := w) (D := @nil units) (C := @nil con)
      (E := @nil entry) (P := @nil (path * event)) (c := true) (p := r) (q := r') (x := x) (y := y) as (b & v & hw & U & Ib & P1 & P2); auto.
    + intros ? ? ? ? (-> & -> & -> & ->); split; [auto|]; split; [exact Cl | tauto].
    + intros ? ? ? ? (-> & -> & -> & ->); auto.
    + intros ? ? ? ? f d (-> & -> & -> & ->) If Of Pa; eauto.
    + intros _ _; auto.
    + intros ? ? [].
    + simpl in Ib; destruct (alike_back x y u w (by_ g) b v hw Ib) as (S & A1 & _ & _ & A4 & A5).
      destruct (Together _ _ Tg Th b v hw U Ib In1) as [Ba Bb].
      destruct (A5 r e T1 P1) as [->|Rs]; [exfalso; pose proof (same_event o u _ _ _ _ _ _ T1 A1) as E; rewrite Ee in E; discriminate|].
      apply In1 in A1; apply In1 in T1; rewrite Ee in T1.
      assert (In_s : In r (settled_at tr (by_ g) products 0 S)).
      { apply filter_In; split; auto; apply in_since; split; auto; exists (EOp (Group products l)); split; auto. }
      destruct (settle_act B N tr (by_ g) S r products 0 A1 In_s) as [i Aw].
      destruct Is1 as (_ & _ & [(_ & _ & Bad)|(Eg & _ & j & Ep)]); [discriminate|].
      pose proof (done_act B N tr (by_ g) r _ T1 eq_refl) as Dn; rewrite <- Eg in Dn; rewrite Ep in *.
      pose proof (proj2 (thread_agent B N tr (by_ g)) Tg) as Gg; pose proof (proj2 (thread_agent B N tr (by_ h)) Th) as Gh.
      eapply ord_trans; [eapply ord_own; [exact Ig | exact J1 | exact Dn | apply parts_precede; lia]|].
      eapply ord_trans; [eapply ord_signal; [exact Ig | exact Gg | exact Dn | exact Aw]|].
      eapply ord_trans; [eapply ord_own; [exact Gg | exact Aw | exact Ba | apply precedes_app_r; auto]|].
      rewrite Eh in J2 |- *; rewrite Eq in *; eapply ord_bar; [exact Gg | exact Gh | exact Ba | exact Bb | exact J2 | exact P2].
  - right; destruct (check_sound B N o (by_ h) (by_ g) Th Tg F (beside_pair x y)
      (fun p0 x0 q0 y0 => p0 = r' /\ x0 = y /\ q0 = r /\ y0 = x)) with (s := alike x y u) (w := w) (D := @nil units) (C := @nil con)
      (E := @nil entry) (P := @nil (path * event)) (c := true) (p := r') (q := r) (x := y) (y := x) as (b & v & hw & U & Ib & P1 & P2); auto.
    + intros ? ? ? ? (-> & -> & -> & ->); split; [auto|]; split; [apply clash_sym; exact Cl | tauto].
    + intros ? ? ? ? (-> & -> & -> & ->); rewrite overlap_sym; split; auto.
      destruct (of_spaces _ Pre h g q p y x lo Ih Ig ltac:(auto) J2 J1 Y X) as [_ A]; exact A.
    + intros ? ? ? ? f d (-> & -> & -> & ->) If Of Pa; destruct (Fact f d If ltac:(auto)) as (c & -> & U); eauto using same_sym.
      unfold part in *; intuition; subst; auto.
    + intros _ _; auto.
    + intros ? ? [].
    + simpl in Ib; destruct (Together _ _ Th Tg b v hw U Ib In2) as [Bb Ba].
      pose proof (proj2 (thread_agent B N tr (by_ g)) Tg) as Gg; pose proof (proj2 (thread_agent B N tr (by_ h)) Th) as Gh.
      destruct (reach g p r e x Ig J1 Is) as (r2 & f2 & (t2 & ->) & Fr & Re); eapply reached_by'; [exact Re|].
      rewrite Eh in J2 |- *; rewrite Eq in *; eapply ord_trans; [eapply ord_own; [exact Gh | exact J2 | exact Bb | exact P1]|].
      eapply ord_bar; [exact Gh | exact Gg | exact Bb | exact Ba | exact Fr | apply precedes_app_l; auto].
Qed.

(* Two at one station in one round are in order, if they conflict. *)
Lemma meet_order {L} (t : reaches L) c g p x f k W r e z h q y r' e' z' j :
  premises t -> In g agents -> In h agents -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  conflicts t g p x h q y -> filled x = Some f -> filled y = Some f -> stands c g p x f k W r e z -> stands c h q y f k W r' e' z' ->
  station_at c W z x f = Some j -> station_at c W z' y f = Some j -> fst (by_ g) = fst (by_ h) -> ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih J1 J2 C Fx Fy St St' Si Sj Bl; destruct (station_spec _ _ _ _ _ _ Si) as [_ Lj].
  destruct St as ((_ & _ & _ & _ & Ru) & _ & _ & _ & Rk & Is & De & Sa & _ & Tr & _ & Iz).
  destruct St' as (_ & _ & _ & _ & Rk' & Is' & De' & Sa' & _ & Tr' & _ & Iz').
  destruct (in_round o s c _ k W Rk) as [Ib Inc], (in_round o s c _ k W Rk') as [_ Inc'].
  specialize (Ru _ Ib); unfold ring_rules in Ru; apply andb_prop in Ru; destruct Ru as [_ Ru]; rewrite forallb_forall in Ru.
  specialize (Ru j ltac:(apply in_seq; lia)).
  match type of Ru with meet_well _ _ _ _ ?l = true => set (T := l) in * end.
  assert (In_T : forall zz xx, In (zz, xx) (sites_at c W) -> filled xx = Some f -> station_at c W zz xx f = Some j -> In (zz, xx) T).
  { intros zz xx A1 A2 A3; apply in_map_iff; exists ((zz, xx), Some j); split; auto; apply filter_In; split; [|simpl; apply Nat.eqb_refl].
    apply in_map_iff; exists (zz, xx); split; auto; cbn [fst snd]; rewrite A2; f_equal; exact A3. }
  pose proof (In_T z x Iz Fx Si) as Tx; pose proof (In_T z' y Iz' Fy Sj) as Ty; unfold meet_well in Ru.
  destruct (free_pair N F (body_at c s W) (z, x) (z', y)) eqn:Fp.
  - exfalso; destruct C as (Ne & Cl & l & X & Y); pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th.
    destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne J1 J2 X Y) as [Ov _]; unfold free_pair in Fp; cbn [snd] in Fp; rewrite Ov in Fp.
    simpl negb in Fp; rewrite orb_false_r in Fp; apply orb_prop in Fp; destruct Fp as [Fp|Fp]; [apply orb_prop in Fp; destruct Fp as [Fp|Fp]|].
    + destruct (does x), (does y); try discriminate; exact Cl.
    + destruct Is as (_ & Xe & _), Is' as (_ & Ye & _); exact (exclusive_sound B N o _ _ _ _ _ _ _ _ x y Fp Tg Th Bl Tr Tr' Xe Ye).
    + exact (apart_sound t _ _ g p x r e z h q y r' e' z' l Pre Ig Ih Ne J1 J2 X Y Is Is' De De' Sa Sa' Tr Tr' Fp).
  - destruct (together N F s (body_at c s W) (z, x) (z', y)) eqn:T1.
    { exact (together_order t _ (W ++ [Part 0]) g p x r e z h q y r' e' z' Pre Ig Ih Sa' Inc Inc' Tr Tr' J1 J2 Is Is' De De' C T1). }
    destruct (together N F s (body_at c s W) (z', y) (z, x)) eqn:T2.
    { destruct (together_order t _ (W ++ [Part 0]) h q y r' e' z' g p x r e z Pre Ih Ig Sa Inc' Inc Tr' Tr J2 J1 Is' Is De' De
        (conflicts_sym t _ _ _ _ _ _ C) T2); auto. }
    assert (Bad : In ((z, x), (z', y)) (filter (fun p0 => negb (free_pair N F (body_at c s W) (fst p0) (snd p0)
      || together N F s (body_at c s W) (fst p0) (snd p0) || together N F s (body_at c s W) (snd p0) (fst p0))) (list_prod T T))).
    { apply filter_In; split; [apply in_prod; auto | cbn [fst snd]; rewrite Fp, T1, T2; auto]. }
    destruct (filter _ (list_prod T T)) as [|b0 bad]; [destruct Bad|]; apply andb_prop in Ru; destruct Ru as [Ru Cu].
    apply andb_prop in Ru; destruct Ru as [Al Bu]; rewrite forallb_forall in Al; specialize (Al _ Bad); unfold by_threads in Al.
    cbn [fst snd] in Al; rewrite De, De' in Al; apply andb_prop in Al; destruct Al as [A1 A2]; apply negb_true_iff in A1; apply negb_true_iff in A2.
    assert (Out : outside T x y = false).
    { unfold outside; apply negb_false_iff, andb_true_intro; split; apply existsb_exists; [exists (z, x) | exists (z', y)];
        split; auto; simpl; apply Nat.eqb_refl. }
    apply (both_threads t (outside T) (body_at c s W) (W ++ [Part 0]) g p x r e h q y r' e'); auto; rewrite outside_sym; auto.
Qed.

Lemma ring_pair {L} (t : reaches L) g p x h q y : premises t -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) -> conflicts t g p x h q y -> ringed x y = true ->
  ord g p h q \/ ord h q g p.
Proof.
  intros Pre Ig Ih J1 J2 C Rg; pose proof C as (Ne & Cl & l & X & Y); unfold ringed in Rg.
  destruct (filled x) as [f|] eqn:Fx; [|discriminate]; destruct (filled y) as [f'|] eqn:Fy; [|discriminate]; apply Nat.eqb_eq in Rg.
  destruct (stands_somewhere g p x f Ig J1 Fx) as (k & W & r & e & z & i & St & Si).
  destruct (stands_somewhere h q y f' Ih J2 Fy) as (k' & W' & r' & e' & z' & j & St' & Sj).
  destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne J1 J2 X Y) as [Ov Ow]; assert (Ef : f' = f).
  { pose proof Rings as O1; unfold rings in O1; apply andb_prop in O1; destruct O1 as [O1 _]; apply andb_prop in O1; destruct O1 as [O1 _].
    apply andb_prop in O1; destruct O1 as [_ O1]; unfold one_filled in O1; rewrite forallb_forall in O1.
    destruct St as (_ & _ & _ & _ & _ & (I1 & A1 & _) & _), St' as (_ & _ & _ & _ & _ & (I2 & A2 & _) & _).
    specialize (O1 x ltac:(apply filter_In; rewrite Fx; split; auto; apply in_flat_map; exists e; split; eauto using trace_events)).
    rewrite forallb_forall in O1.
    specialize (O1 y ltac:(apply filter_In; rewrite Fy; split; auto; apply in_flat_map; exists e'; split; eauto using trace_events)).
    unfold ringed in O1; rewrite Fx, Fy, Rg, Nat.eqb_refl, Ov in O1; unfold same_ring in O1; rewrite Fx, Fy in O1; simpl in O1.
    apply mbarrier_eq in O1; auto. }
  subst f'; clear Rg; set (c := cycle f) in *.
  pose proof (of_copies _ Pre g h p q x y l f f Ig Ih Ne J1 J2 X Y Fx Fy eq_refl) as Co.
  rewrite (standing_round _ _ _ _ _ _ _ _ _ _ St), (standing_round _ _ _ _ _ _ _ _ _ _ St') in Co.
  pose proof St as (R & If & Sf & Le & Rk & _); pose proof St' as (_ & _ & _ & _ & Rk' & _); pose proof R as (Ou & _).
  pose proof (positive N F s c f R If) as Pos; destruct (station_spec _ _ _ _ _ _ Si) as [_ Li], (station_spec _ _ _ _ _ _ Sj) as [_ Lj].
  assert (Bl : fst (by_ g) = fst (by_ h)).
  { pose proof (le_sound B N _ _ _ _ Le (agent_is g Ig) (agent_is h Ih) Ow) as V; unfold same in V; simpl in V; congruence. }
  destruct (Nat.lt_trichotomy ((k / copies f) * S (top (M c)) + i) ((k' / copies f) * S (top (M c)) + j)) as [Lt|[Eq|Lt]].
  - left; exact (ring_order c g p x f k W r e z i h q y k' W' r' e' z' j Ig J1 St Si Ih J2 St' Sj Bl Co Lt).
  - destruct (same_phase _ _ _ _ _ Li Lj Eq) as [Ek <-]; pose proof (round_equal _ _ _ Pos Co Ek) as <-.
    assert (Rg : round c (by_ g) k W') by (apply (round_same B N o s c Ou (by_ h)); auto using agent_is).
    assert (W' = W) by (unfold Turns.round in *; congruence); subst W'.
    exact (meet_order t c g p x f k W r e z h q y r' e' z' i Pre Ig Ih J1 J2 C Fx Fy St St' Si Sj Bl).
  - right; exact (ring_order c h q y f k' W' r' e' z' j g p x k W r e z i Ih J2 St' Sj Ig J1 St Si (eq_sym Bl) (eq_sym Co) Lt).
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
    2: { destruct (async_quiet t (Engine a r) p x h q y Pre Ig Ih I J ltac:(eauto) C) as [E|E]; [congruence | exact E]. }
    destruct h as [b|b r].
    2: { destruct (async_quiet t (Engine b r) q y (Thread a) p x Pre Ih Ig J I ltac:(eauto) (conflicts_sym t _ _ _ _ _ _ C)) as [E|E]; [|tauto].
         rewrite ringed_sym in E; congruence. }
    destruct (in_access _ _ _ I) as (r1 & e & Is), (in_access _ _ _ J) as (r2 & f & Js).
    pose proof Is as (I1 & _); pose proof Js as (J1 & _).
    apply (both_threads t ringed s [] (Thread a) p x r1 e (Thread b) q y r2 f); auto using incl_refl; try (rewrite ringed_sym; auto).
    - destruct Is as (_ & _ & [(_ & _ & A)|(E & _)]); [auto | discriminate].
    - destruct Js as (_ & _ & [(_ & _ & A)|(E & _)]); [auto | discriminate]. }
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
  assert (Y : (exists y f, In y (accesses e) /\ filled y = Some f) \/ ((exists l, e = EOp (Group written l)) /\ le N (owner x) Block = false) \/
            exists k l, e = EOp (Group k l) /\ clear [] k (number x) (unused s) s false = (false, true)).
  { pose proof Rings as G; unfold rings in G; apply andb_prop in G; destruct G as [_ G]; rewrite forallb_forall in G.
    specialize (G e (trace_events _ _ _ _ _ _ J)); unfold goes in G.
    assert (Ring_ : existsb (fun x => match filled x with Some _ => true | None => false end) (accesses e) = true ->
              exists y f, In y (accesses e) /\ filled y = Some f).
    { intro H; apply existsb_exists in H; destruct H as (y & Iy & H); destruct (filled y) as [f|] eqn:Fy; try discriminate; eauto. }
    destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; try discriminate; try (destruct X; fail); try (left; auto; fail).
    destruct gk as [|gk].
    - right; left; rewrite forallb_forall in G; specialize (G x X); apply andb_prop in G; destruct G as [G _]; apply negb_true_iff in G; eauto.
    - apply orb_prop in G; destruct G as [G|G]; [left; auto | right; right].
      rewrite forallb_forall in G; specialize (G x X); destruct (clear [] (S gk) (number x) (unused s) s false) as [v w] eqn:Ec.
      apply andb_prop in G; destruct G as [G ->]; apply negb_true_iff in G; subst v; eauto. }
  destruct Y as [(y & f & Iy & Fy)|[((l & ->) & F1)|(k & l & -> & Ec)]]; [left | right; eauto | left].
  2: { destruct (clear_sound o [] k (number x) (unused s) s false [] a (fun _ f => match f with end)) as (_ & _ & C3); [rewrite Ec; auto|]; rewrite Ec in C3.
       destruct (proj2 (C3 eq_refl) r) as (S & K & P).
       { exists l; split; auto; apply existsb_exists; exists x; split; auto; apply Nat.eqb_refl. }
       assert (In_s : In r (settled_at tr a k 0 S)).
       { apply filter_In; split; auto; apply in_since; split; auto; exists (EOp (Group k l)); split; auto; simpl; apply Nat.eqb_refl. }
       destruct (settle_act B N tr a S r k 0 K In_s) as [i Aw]; pose proof (done_act B N tr a r _ J eq_refl) as Dn.
       pose proof (agent_is _ Ig) as T; simpl in T; exists a, (S ++ [Part 2; Part i]), (await_ (Done a r) 0); repeat (split; [solve [auto]|]).
       eapply ord_trans; [eapply ord_own; [exact Ig | exact I | exact Dn | apply parts_precede; lia]|].
       eapply ord_signal; [exact Ig | apply thread_agent; exact T | exact Dn | exact Aw]. }
  (* where its access to the ring stands *)
  assert (Ay : exists i, In (r ++ [Part 2; Part i], access_ y) (acts (Engine a r))).
  { destruct (listed_in r (map access_ (accesses e)) 0 (access_ y)) as [q0 Lq]; [apply in_map; auto|].
    pose proof Lq as Lq'; apply in_listed in Lq'; destruct Lq' as (_ & i & _ & ->); exists i; apply in_engine; exists e; split; auto.
    destruct e as [v|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; try discriminate; try (destruct X; fail); right; apply in_or_app; left; exact Lq. }
  destruct Ay as [i Ay]; destruct (stands_somewhere (Engine a r) _ y f Ig Ay Fy) as (k & W & r' & e' & z & st & St & Ru).
  assert (St' : stands (cycle f) (Engine a r) (r ++ [Part 2; Part j]) y f k W r' e' z).
  { destruct St as (A1 & A2 & A3 & A4 & A5 & (B1 & B2 & B3) & A7); unfold stands; repeat (split; [assumption|]).
    split; [|exact A7]; split; [exact B1|]; split; [exact B2|]; destruct B3 as [(E & _)|(E & As' & _)]; [discriminate|].
    right; split; [exact E|]; split; [exact As'|]; inversion E; subst r'; eauto. }
  pose proof St as (R & If & Sf & _ & Rk & _); pose proof R as (Ou & _ & Tu & _); pose proof (agent_is _ Ig) as T; simpl by_ in *.
  set (c := cycle f) in *; destruct (station_spec _ _ _ _ _ _ Ru) as [At _]; unfold at_station in At; apply andb_prop in At; destruct At as [_ At].
  destruct (st =? 0).
  2: { pose proof St as (_ & _ & _ & _ & _ & (B1 & _ & B3) & De & _); unfold use in At; rewrite De in At.
       destruct B3 as [(E & _)|(E & As' & _)]; [discriminate|]; inversion E; subst r'.
       destruct e' as [v|u h|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate; apply andb_prop in At; destruct At as [_ Re].
       destruct (group_read c (Engine a r) (r ++ [Part 2; Part j]) y _ f k W r gk l z _ Ig I St' Re) as (d & b & q & w & v & _ & _ & _ & Iw & O & _).
       exists a, w, v; auto. }
  destruct (fill_before c (Engine a r) _ y f k W r' e' z _ _ _ Ig I St' At) as (h & q & A & Or).
  destruct (at_next N s c Tu f 0 If) as (d & _ & Id & _ & Nx & _); destruct (some_there B N F s o c a k W d R T Rk Id) as [[h' q'] A'].
  destruct (arrival_of B N o s c Ou Tu a k W d h' q' T Rk Id A') as (b & z' & P & e0 & Tb & Bl & Rb & Iz & Te & Sb & _).
  destruct (rules N s c Tu _ (proj1 (in_round o s c b k W Rb))) as (_ & _ & Wt & _).
  pose proof (Wt z' d f Iz Te (barriers_in s c d Id) If Nx) as Hw.
  destruct (has_waited_spec B N o s c f (place z') (who_ z') b k W Hw Tb Rb Sb) as (i' & Ii & Di & _ & Si & _).
  destruct (wait_now B N o s c Ou b k W i' f Rb Ii Di Si eq_refl) as [Aw _]; rewrite Bl in Aw.
  exists b, (W ++ place i'), (await_ (Ring (fst a) f (k mod copies f)) (k / copies f)).
  assert (Bf : back f = false) by (unfold back; rewrite Sf; auto); repeat (split; [auto|]).
  eapply ord_trans; [exact Or|]; eapply signalled; eauto.
Qed.

End Sound.
