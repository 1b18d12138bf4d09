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

Lemma precedes_in W p q r t : before p q None -> precedes (W ++ p ++ r) (W ++ q ++ t).
Proof. intro H; exists None; apply before_prefix, before_app; auto. Qed.

Lemma clash_sym a b k m : clash a b k m -> clash b a m k.
Proof. destruct k, m; simpl; auto. Qed.

Lemma ringed_sym x y : ringed x y = ringed y x.
Proof. unfold ringed; destruct (filled x), (filled y); auto; apply Nat.eqb_sym. Qed.

Lemma overlap_sym x y : overlap x y = overlap y x.
Proof. unfold overlap; rewrite (Nat.eqb_sym (space x)), <- !andb_assoc, (andb_comm (first x <? _)); auto. Qed.

Lemma outside_sym L x y : outside L x y = outside L y x.
Proof. unfold outside; f_equal; apply andb_comm. Qed.

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
Notation rounds_in c := (cycle_rules N F s c = true).
Notation round c := (round o s c).
Notation M c := (all_barriers c s).
Notation I c W := (items (body_at c s W) [Part 0] []).
Notation sites_at c W := (flat_map (in_ring c) (sites (body_at c s W) [Part 0] [])).

Let Checked : (bars N s [] [] = true /\ check N F ringed s [] [] = true) /\ rings N F s = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

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

Definition issued g p x r e : Prop := In g agents /\ In (p, access_ x) (acts g) /\ issues g p r e x.

Lemma agent_is g : In g agents -> is_thread (by_ g).
Proof. intro I; apply (agent_thread B N tr) in I; destruct g; auto. Qed.

Lemma in_access g p x : In g agents -> In (p, access_ x) (acts g) -> exists r e, issued g p x r e.
Proof.
  intros Ig I; enough (E : exists r e, issues g p r e x) by (destruct E as (r & e & E); exists r, e; split; auto).
  unfold issues; destruct g as [a|a r]; rewrite ?in_thread, ?in_engine in I.
  - destruct I as (r & e & I & J); exists r, e; split; auto; ops e; simpl in J; try awaits J; undo; try discriminate;
      simpl; auto.
  - destruct I as (e & I & J); exists r, e; split; auto; ops e; simpl in J; unfold waits_done in J; undo;
      try discriminate; match goal with K : In _ (listed _ _ _) |- _ => apply in_listed in K as (X0 & j & _ & ->);
        apply in_map_iff in X0 end;
      destruct X0 as (y & Ey & Y); try discriminate; inversion Ey; subst; simpl; split; auto; right; eauto.
Qed.

Lemma async_issued e x : is_async e = true -> In x (accesses e) -> is_issued e = true.
Proof. intros A X; ops e; simpl in *; auto; try discriminate; destruct X. Qed.

(* What comes before some act of the thread where it issues comes before the access. *)
Lemma reached {g p x r e} : issued g p x r e -> exists t f, In (r ++ t, f) (acts (Thread (by_ g))) /\
  forall h q, ord h q (Thread (by_ g)) (r ++ t) -> ord h q g p.
Proof.
  intros (Ig & I & J & X & [(Eg & -> & As)|(Eg & As & j & ->)]).
  - exists [], (access_ x); rewrite app_nil_r, <- Eg; auto.
  - destruct g as [|b r']; [discriminate|]; injection Eg as ->; simpl in *.
    destruct (issued_acts B N tr b r e J (async_issued e x As X)) as [P Q]; do 2 eexists; split; [exact P|];
      intros h q O.
    eapply ord_trans; [exact O|].
    eapply ord_trans; [eapply ord_signal; [exact (thread_ok _ (agent_is _ Ig)) | exact Ig | exact P | exact Q]|].
    eapply ord_own; [exact Ig | exact Q | exact I | apply parts_precede; lia].
Qed.

(* A thread's own access is what it does there. *)
Lemma own_access {g p r e x} : issues g p r e x -> is_async e = false -> g = Thread (by_ g) /\ p = r /\ e = EAcc x.
Proof.
  intros (_ & X & [(E & -> & _)|(_ & As & _)]) A; [|congruence].
  destruct e; simpl in *; try discriminate; [destruct X as [->|[]]; auto | destruct X].
Qed.

(* Of a group, its thread has waited where at most so many are under way as are newer. *)
Lemma waited g p v x r k l S n : In g agents -> In (p, v) (acts g) -> issues g p r (EOp (Group k l)) x ->
  In (S, EOp (Settle k n)) (tr (by_ g)) -> precedes r S ->
  n <= length (filter (fun q => if precedes_dec r q then true else false) (since tr (is_group k) (by_ g) S)) ->
  exists u w, In (S ++ u, w) (acts (Thread (by_ g))) /\ ord g p (Thread (by_ g)) (S ++ u).
Proof.
  intros Ig I (J & X & [(_ & _ & A)|(Eg & _ & j & ->)]) Js P L; [discriminate|].
  destruct g as [|b r']; [discriminate|]; injection Eg as ->; simpl in *.
  exact (group_done B N tr b r l k S n j v Ig J I Js (settled_if tr b k l S n r J P L)).
Qed.

(* -- accesses to rings -------------------------------------------------------------------------------------------------- *)

(* An access to a ring stands in a round. *)
Definition stands (c : nat) (g : agent) (p : path) (x : access) (f : mbarrier) (k : nat) (W : path) (r : path) (e : event) (z : site) : Prop :=
  rounds_in c /\ In f (M c) /\ stage f = 1 /\ le N (owner x) Block = true /\ round c (by_ g) k W /\
  issued g p x r e /\ deed_ z = e /\ sats (who_ z) (by_ g) /\ (exists t, r = W ++ place z ++ t) /\
  In (r, e) (trace o (body_at c s W) (W ++ [Part 0]) (by_ g)) /\ (exists t, r = W ++ Part 0 :: t) /\ In (z, x) (sites_at c W).

(* At which station it is. *)
Definition fence_of (c : nat) (W : path) : bool := existsb (fun z : site * access => is_load (deed_ (fst z))) (sites_at c W).
Definition station_at (c : nat) (W : path) (z : site) (x : access) (f : mbarrier) : option nat :=
  station N (I c W) (M c) c (fence_of c W) (read_out (sites_at c W) f) z x f.

Lemma site_path t : forall w C z, In z (sites t w C) -> exists r, place z = w ++ r.
Proof.
  induction t; simpl; intros w C z I; try (apply in_map_iff in I as (? & <- & _)); Ordered.stands; subst; eauto;
    try (exists []; rewrite app_nil_r; reflexivity).
  all: (apply IHt1 in I || apply IHt2 in I); destruct I as [r ->]; rewrite <- app_assoc; eauto.
Qed.

Lemma stands_somewhere g p x f : In g agents -> In (p, access_ x) (acts g) -> filled x = Some f ->
  exists k W r e z j, stands (cycle f) g p x f k W r e z /\ station_at (cycle f) W z x f = Some j.
Proof.
  intros Ig J0 Fx; destruct (in_access g p x Ig J0) as (r & e & Is); pose proof Is as (_ & _ & J & X & _);
    set (c := cycle f) in *.
  assert (Cy : In c (cycles_of e)).
  { unfold cycles_of; apply in_or_app; right; apply in_flat_map; exists x; rewrite Fx; simpl; auto. }
  pose proof (cycle_there N F s Valid e c (trace_events _ _ _ _ _ _ J) Cy) as R.
  assert (Or : of_ring c x = true) by (unfold of_ring; rewrite Fx; apply Nat.eqb_refl).
  assert (Be : belongs c e = true) by (unfold belongs; apply orb_true_intro; right; apply existsb_exists; eauto).
  assert (En : ends c e = false) by (ops e; simpl; auto; destruct X).
  destruct (outer_weaker N o c s true (is_outer R) [] _ r e J Be En) as (W & V & T); simpl in V, T.
  apply In_nth_error in V as [k V]; destruct (in_round _ k W V) as [Ib _].
  destruct (site_of o W _ [Part 0] [] _ r e (fun k f => match f with end) T) as (q & t & K & Er & S & Sa);
    set (z := (q, e, K)).
  assert (Iz : In (z, x) (sites_at c W)).
  { apply in_flat_map; exists z; split; auto; unfold in_ring; apply in_map_iff; exists x; split; auto; apply filter_In; auto. }
  pose proof (ruled R _ Ib) as Ru; unfold ring_rules in Ru; ands Ru as [[_ Ru] _]; rewrite forallb_forall in Ru.
  specialize (Ru _ (in_map _ _ _ Iz)); cbn [fst snd] in Ru; rewrite Fx in Ru.
  fold (fence_of c W) in Ru; fold (station_at c W z x f) in Ru; destruct (station_at c W z x f) as [j|] eqn:St;
    [|discriminate].
  ands Ru as [[Ex Sf] Ow]; apply existsb_exists in Ex as (f' & If & Ef); apply same_as_eq in Ef; subst f'.
  apply Nat.eqb_eq in Sf; exists k, W, r, e, z, j; split; auto; destruct (site_path _ [Part 0] [] z S) as [t' Et].
  unfold stands; splits; split; [|exact Iz].
  exists (t' ++ t); rewrite Er; change q with (place z); rewrite Et, <- ?app_assoc; auto.
Qed.

Lemma standing_round {c g p x f k W r e z} : stands c g p x f k W r e z -> round_of tr f (by_ g) p = k.
Proof.
  intros (R & If & _ & _ & Rk & (_ & _ & _ & _ & Is) & _ & _ & _ & _ & (t & ->) & _).
  unfold round_of; rewrite (barriers_in f If).
  destruct Is as [(_ & -> & _)|(_ & _ & j & ->)]; [|rewrite <- app_assoc; simpl]; eapply number_at; eauto.
Qed.

(* Who is at a station has waited for what comes last before it. *)
Lemma come_last c g p x f k W r e z j d n h q :
  stands c g p x f k W r e z -> has_come N (I c W) (M c) j z f = true -> j <= top (M c) ->
  In d (M c) -> (j = 1 -> d = f) -> S (time s c d n) = (k / copies f) * S (top (M c)) + j ->
  In (h, q) (arrivals (Ring (fst (by_ g)) d (k mod copies f)) n) -> ord h q g p.
Proof.
  intros (R & If & _ & _ & Rk & Is & De & Sa & (t & Et) & _) Co Lj Id Df Ti A.
  pose proof (agent_is g (proj1 Is)) as T; destruct (reached Is) as (t' & f' & Fr & Re).
  apply Re; pose proof (same_copies R d f Id If) as Ec; pose proof (seat_top d Id) as Sd;
    pose proof (top_stage d Id) as Td.
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
  assert (X : exists u, r ++ t' = W ++ place z ++ u) by (exists (t ++ t'); rewrite Et, <- !app_assoc; auto).
  rewrite <- Ec in A; eapply (waited_for R d (place z) (who_ z) (by_ g) k W h q _ f' n); eauto.
  unfold back; rewrite Sj, Ec; destruct j; simpl; auto.
Qed.

(* So all that comes before it, but for other rings that are filled in the same round. *)
Lemma come_after c g p x f k W r e z j b n h q :
  stands c g p x f k W r e z -> has_come N (I c W) (M c) j z f = true -> j <= top (M c) ->
  In b (M c) -> time s c b n < (k / copies f) * S (top (M c)) + j -> (j = 1 -> time s c b n = (k / copies f) * S (top (M c)) -> b = f) ->
  In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies f)) n) -> ord h q g p.
Proof.
  intros St Co Lj Ib Ti Bf A; pose proof St as (R & If & Sf & _ & Rk & Is & _); pose proof (agent_is g (proj1 Is)) as T.
  destruct (stages R) as (Tp & Sg & _).
  destruct (Nat.eq_dec (S (time s c b n)) ((k / copies f) * S (top (M c)) + j)) as [E|E].
  { apply (come_last c g p x f k W r e z j b n h q); auto; intro J1; apply Bf; auto; lia. }
  assert (Last : exists d m z', In d (M c) /\ (j = 1 -> d = f) /\ S (time s c d m) = (k / copies f) * S (top (M c)) + j /\
            In z' (arrivals (Ring (fst (by_ g)) d (k mod copies f)) m)).
  { destruct j as [|i].
    - destruct (k / copies f) as [|m] eqn:Em; [simpl in Ti; lia|]; destruct (Sg 0 ltac:(lia)) as (d & Id & Sd).
      pose proof (same_copies R d f Id If) as Ec; pose proof (positive R f If) as Pos.
      destruct (last_round (by_ g) k W (copies f) m Rk Pos Em) as (V & Rv & _ & X & Y).
      destruct (some_there R (by_ g) _ V d T Rv Id) as [z' Z]; rewrite Ec, X, Y in Z; exists d, m, z'.
      split; auto; split; [discriminate|]; split; auto; unfold time, seat; rewrite Sd, Nat.mul_succ_l; simpl; lia.
    - assert (D : exists d, In d (M c) /\ stage d = S i /\ (S i = 1 -> d = f)).
      { destruct i as [|i]; [exists f; auto|]; destruct (Sg (S (S i)) Lj) as (d & Id & Sd); exists d; repeat split; auto; lia. }
      destruct D as (d & Id & Sd & Df); destruct (some_there R (by_ g) k W d T Rk Id) as [z' Z].
      rewrite (same_copies R d f Id If) in Z; exists d, (k / copies f), z'; splits; split; auto.
      unfold time, seat; rewrite Sd; simpl; lia. }
  destruct Last as (d & m & [h' q'] & Id & Df & Td & Z); apply ord_trans with h' q'; [|apply (come_last c g p x f k W r e z j d m h' q'); auto].
  apply (in_order R (fst (by_ g)) b n d m (k mod copies f) (h, q) (h', q')); auto; lia.
Qed.

(* And says that it is filled. *)
Lemma seen_told {I fence K p choose} : seen N I fence K p choose = true ->
  exists p', told N I K p' choose = true /\ forall W t w, before p' w None -> precedes (W ++ p ++ t) (W ++ w).
Proof.
  assert (Pre : forall W p w t, before p w None -> precedes (W ++ p ++ t) (W ++ w)).
  { intros W p0 w t H; rewrite <- (app_nil_r w); apply precedes_in; auto. }
  unfold seen; destruct fence; intro H; [|exists p; auto].
  apply existsb_exists in H as (i & _ & H); ands H as [[[_ Pr] _] To]; apply prec_sound in Pr; exists (place i); split;
    auto.
  intros W t w Bw; apply precedes_trans with (W ++ place i); [|exists None; apply before_prefix]; auto.
Qed.

(* `p'`: of an engine, any of its acts that is an access's. *)
Lemma fill_before c g p x f k W r e z fence out p' v :
  stands c g p x f k W r e z -> In (p', v) (acts g) -> issues g p' r e x -> fill N (I c W) fence out z f = true ->
  exists h q, In (h, q) (arrivals (Ring (fst (by_ g)) f (k mod copies f)) (k / copies f)) /\ ord g p' h q.
Proof.
  intros St I0 Is Fi; pose proof St as (R & If & _ & _ & Rk & (Ig & _) & De & Sa & (t & Et) & _ & (u & Eu) & _).
  pose proof (agent_is g Ig) as T; pose proof (barriers_in f If) as Cf.
  unfold fill in Fi; rewrite De in Fi; destruct Is as (J & X & Is).
  assert (Rr : round_of tr f (by_ g) r = k) by (unfold round_of; rewrite Cf, Eu; eapply number_at; eauto).
  destruct e as [y|v' hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
  - ands Fi as [_ Fi]; destruct Is as [(Eg & -> & _)|(_ & As & _)]; [|discriminate]; rewrite Eg in I0 |- *; simpl.
    destruct (seen_told Fi) as (q' & To & Bef).
    destruct (told_by R (by_ g) k W q' (who_ z) (mbarrier_eqb f) r v T Rk Sa To)
      as (b & h & q & Eb & Ib & A & Or); auto.
    + intros b Eb; apply same_as_eq in Eb; congruence.
    + intros w Bw; rewrite Et; apply Bef; auto.
    + apply same_as_eq in Eb; subst b; eauto.
  - apply same_as_eq in Fi; subst d; destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|].
    assert (A : told_at o s (by_ g) f k r (EOp (Load f l))) by (unfold told_at; simpl; rewrite Rr; auto).
    apply (arrival_at _ _ _ _ _ T) in A; simpl in A; rewrite <- Eg in A; exists g, (r ++ [Part 3]); split; auto.
    apply are_arrivals in A as [_ A]; eapply ord_own; [exact Ig | exact I0 | exact A | apply parts_precede; lia].
  - apply existsb_exists in Fi as (z' & Iz & Fi); ands Fi as [[La Pr] Im]; unfold is_later in La.
    destruct (deed_ z') as [|?|[| | | | | |d| | | | | |]] eqn:Dz; try discriminate; apply same_as_eq in La; subst d.
    destruct Is as [(_ & _ & As)|(Eg & _ & j & ->)]; [discriminate|]; set (w := W ++ place z').
    assert (Lt : In (w, EOp (Later f)) (tr (by_ g))).
    { rewrite <- Dz; apply (do_item _ _ _ _ Rk); auto; eapply implies_sound; eauto. }
    assert (Pz : precedes r w).
    { rewrite Et; unfold w; rewrite <- (app_nil_r (place z')); apply precedes_in, prec_sound; auto. }
    assert (Ie : In (Engine (by_ g) w) agents) by (apply engine_agent; split; eauto).
    pose proof (done_act B N tr (by_ g) r _ J eq_refl) as Dn; rewrite <- Eg in Dn.
    assert (Aw : exists i, In (w ++ [Part 2; Part i], await_ (Done (by_ g) r) 0) (acts (Engine (by_ g) w))).
    { destruct (listed_in w (map (fun q => await_ (Done (by_ g) q) 0) (copies_before tr (by_ g) w))
        (await_ (Done (by_ g) r) 0) 0) as [i L]; [apply in_map_iff; exists r; split; auto; apply in_since; eauto|].
      exists i; apply in_engine; exists (EOp (Later f)); split; auto; right; apply in_or_app; left; exact L. }
    destruct Aw as [i Aw]. assert (A : told_at o s (by_ g) f k w (EOp (Later f))).
    { unfold told_at; simpl; unfold round_of, w; rewrite Cf, (item_number R (by_ g) k W z' Rk Iz); auto. }
    apply (arrival_at _ _ _ _ _ T) in A; simpl in A; exists (Engine (by_ g) w), (w ++ [Part 3]); split; auto.
    apply are_arrivals in A as [_ A]; eapply ord_trans;
      [eapply ord_own; [exact Ig | exact I0 | exact Dn | apply parts_precede; lia]|].
    eapply ord_trans; [eapply ord_signal; [exact Ig | exact Ie | exact Dn | exact Aw]|].
    eapply ord_own; [exact Ie | exact Aw | exact A | apply parts_precede; lia].
Qed.

(* Of a group, its thread has waited when it says so. *)
Lemma group_read c g p x f k W r gk l z j0 p' v0 :
  stands c g p x f k W r (EOp (Group gk l)) z -> In (p', v0) (acts g) -> issues g p' r (EOp (Group gk l)) x ->
  existsb (fun i => told N (I c W) (who_ z) (place i) (fun b => (cycle b =? c) && (stage b =? j0) && settles (I c W) z i gk b)) (I c W) = true ->
  exists d b i y v, In d (M c) /\ stage d = j0 /\ In (b, i) (arrivals (Ring (fst (by_ g)) d (k mod copies d)) (k / copies d)) /\
    In (y, v) (acts (Thread (by_ g))) /\ ord g p' (Thread (by_ g)) y /\ ord (Thread (by_ g)) y b i.
Proof.
  intros St I0 Is En; set (It := I c W) in *;
    pose proof St as (R & _ & _ & _ & Rk & (Ig & _) & De & Sa & (t & Et) & _ & (t0 & Er0) & _).
  pose proof (agent_is g Ig) as T.
  apply existsb_exists in En as (i & Ii & En); unfold told in En; apply existsb_exists in En as (j & Ij & En).
  destruct (tells (deed_ j)) as [b|] eqn:Te; [|discriminate]; ands En as [[[Cb Bb] Se] Cv]; apply Nat.eqb_eq in Cb;
    apply Nat.eqb_eq in Bb.
  assert (Ib : In b (M c)) by (eapply tells_in; eauto).
  unfold settles in Se; destruct (deed_ i) as [|?|[| | | | | | | |k' n| | | |]] eqn:Di; try discriminate;
    ands Se as [[[Ek Pz] Im] Nn].
  apply Nat.eqb_eq in Ek; subst k'; apply prec_sound in Pz; pose proof (implies_sound _ _ _ Im Sa) as Si.
  assert (In_round : forall q, before (place z) q None -> precedes r (W ++ q)).
  { intros q Bq; rewrite Et, <- (app_nil_r q); apply precedes_in; auto. }
  destruct (covered_by (o := o) R It (by_ g) (place i) (who_ z) j T Sa Cv) as (a' & Ta' & Bl & U & Sj & Cov).
  assert (R' : round c a' k W) by (eapply (round_same R (by_ g)); eauto).
  destruct (told_there R a' k W j b Ta' R' Ij Te Ib Sj) as (P & e & H1 & H2).
  enough (Y : exists y v, In (y, v) (acts (Thread (by_ g))) /\ ord g p' (Thread (by_ g)) y /\
            ord (Thread (by_ g)) y (fst (arrival a' P e k)) (snd (arrival a' P e k))).
  { destruct Y as (y & v & Y); exists b, (fst (arrival a' P e k)), (snd (arrival a' P e k)), y, v.
    rewrite <- surjective_pairing, <- Bl; repeat (split; [solve [auto using arrival_at]|]); auto. }
  (* settled in a round, behind which so many groups are newer *)
  assert (By : forall n' V l, round c (by_ g) n' V -> I c V = It -> precedes r (V ++ place i) -> n <= length l ->
    NoDup l ->
            (forall q, In q l -> precedes r q /\ precedes q (V ++ place i) /\ exists e, In (q, e) (tr (by_ g)) /\
              is_group gk e = true) ->
            P = V ++ place j \/ precedes (V ++ place j) P ->
            exists y v, In (y, v) (acts (Thread (by_ g))) /\ ord g p' (Thread (by_ g)) y /\
              ord (Thread (by_ g)) y (fst (arrival a' P e k)) (snd (arrival a' P e k))).
  { intros n' V l' Rv Ev Pv Nl D Al Le;
      destruct (waited g p' v0 x r gk l (V ++ place i) n Ig I0 Is) as (u & v & Y & O); auto.
    - rewrite <- Di; apply (do_item _ _ _ _ Rv); auto; rewrite Ev; auto.
    - eapply Nat.le_trans; [exact Nl|]; apply NoDup_incl_length; auto; intros q Jq; destruct (Al q Jq) as (P1 & P2 & E).
      apply filter_In; split; [apply in_since; auto | destruct (precedes_dec r q); tauto].
    - exists ((V ++ place i) ++ u), v; splits; eapply Cov; eauto.
      intros q Bq; rewrite <- app_assoc, <- (app_nil_r q); apply precedes_in; auto. }
  set (own := filter (fun i0 => is_group gk (deed_ i0) && prec (place i0) (place i) && implies (who_ z) (who_ i0)) It) in *.
  assert (Own : forall x', In x' own ->
    In x' It /\ is_group gk (deed_ x') = true /\ before (place x') (place i) None /\ sats (who_ x') (by_ g)).
  { intros x' Ix; apply filter_In in Ix as [Ix Gx]; ands Gx as [[Gx Px] Imx]; apply prec_sound in Px.
    splits; eapply implies_sound; eauto. }
  apply orb_prop in Nn as [Nn|Nn].
  { apply Nat.leb_le in Nn; apply (By k W (map (fun x' => W ++ place x') (filter (fun x' => prec (place z) (place x')) own)) Rk eq_refl); auto.
    - rewrite map_length; exact Nn.
    - assert (Rise : StronglySorted (fun x1 x2 => precedes (place x1) (place x2)) It) by apply items_rising;
        apply nodup_map.
      + apply NoDup_filter, NoDup_filter; eapply sorted_nodup; [|exact Rise]; intro x0; apply precedes_irr.
      + intros x1 x2 I1 I2 E; apply filter_In in I1 as [I1 _]; apply filter_In in I2 as [I2 _]; apply app_inv_head in E.
        destruct (sorted_two _ _ _ x1 x2 Rise (proj1 (Own _ I1)) (proj1 (Own _ I2))) as [|[Q|Q]]; auto; exfalso;
          rewrite E in Q; exact (precedes_irr _ Q).
    - intros q Jq; apply in_map_iff in Jq as (x' & <- & Ix); apply filter_In in Ix as [Ix Zx]; apply prec_sound in Zx.
      destruct (Own x' Ix) as (Jx & Gx & Px & Sx); split; [apply In_round; auto|]; split;
        [exists None; apply before_prefix; auto|].
      exists (deed_ x'); split; auto; apply (do_item _ _ _ _ Rk); auto.
    - eapply told_behind; eauto. }
  ands Nn as [[Ek Le] Ex]; apply Nat.eqb_eq in Ek; apply Nat.leb_le in Le.
  assert (Ln : exists x', In x' own) by (destruct own as [|x' t']; [discriminate | exists x'; left; auto]).
  destruct Ln as (x' & Ix); destruct (Own x' Ix) as (Jx & Gx & Px & Sx); destruct (Nat.eq_dec n 0) as [->|Nz].
  { apply (By k W [] Rk eq_refl); auto using NoDup_nil; [intros ? []|]; eapply told_behind; eauto. }
  destruct H2 as [(L & _)|[(L & V & Rv & -> & ->)|(L & -> & Pd & _)]]; [lia| |].
  - assert (Rva : round c (by_ g) (k + late b) V) by (eapply (round_same R a'); eauto).
    set (vs := visits o c s [] (by_ g)); pose proof (rising_nth _ (visits_rising o c s [] (by_ g))) as Rise.
    assert (Nth : forall m, m < late b -> round c (by_ g) (k + 1 + m) (nth (k + 1 + m) vs [])).
    { intros m Lm; apply nth_error_nth'; apply Nat.le_lt_trans with (k + late b); [lia|].
      apply nth_error_Some; unfold vs, Turns.round in *; congruence. }
    apply (By (k + late b) V (map (fun m => nth (k + 1 + m) vs [] ++ place x') (seq 0 (late b))) Rva); auto.
    + apply (late_alone R b _ _ _ _ _ _ Ib L Rva Rk).
    + rewrite Et; apply precedes_app; exact (Rise _ _ _ _ Rk Rva ltac:(lia)).
    + rewrite map_length, seq_length; auto.
    + apply nodup_map; [apply seq_NoDup|]; intros m m' I1 I2 E; apply in_seq in I1; apply in_seq in I2;
        apply app_inv_tail in E.
      pose proof (Nth m ltac:(lia)) as X1; pose proof (Nth m' ltac:(lia)) as X2.
      destruct (Nat.lt_trichotomy m m') as [G|[G|G]]; auto; exfalso;
        [pose proof (Rise _ _ _ _ X1 X2 ltac:(lia)) as Q | pose proof (Rise _ _ _ _ X2 X1 ltac:(lia)) as Q];
        rewrite E in Q; exact (precedes_irr _ Q).
    + intros q Jq; apply in_map_iff in Jq as (m & <- & Im1); apply in_seq in Im1; pose proof (Nth m ltac:(lia)) as X1.
      set (V1 := nth (k + 1 + m) vs []) in *; split;
        [rewrite Et; apply precedes_app; exact (Rise _ _ _ _ Rk X1 ltac:(lia))|]; split.
      * destruct (Nat.eq_dec (k + 1 + m) (k + late b)) as [E|E].
        -- assert (V1 = V) by (unfold Turns.round in *; rewrite E in X1; congruence); subst V; exists None;
             apply before_prefix; auto.
        -- apply precedes_app; exact (Rise _ _ _ _ X1 Rva ltac:(lia)).
      * exists (deed_ x'); split; auto; apply (do_item _ _ _ _ X1); auto.
        rewrite (late_alone R b _ _ _ _ _ _ Ib L X1 Rk); auto.
  - destruct (late_rules (o := o) R b Ib L) as (_ & _ & _ & _ & _ & Dr & _); destruct H1 as (Jd & Ar & Kt).
    destruct (drain_at N o c b s Cb true [] a' P (is_outer R) Dr Jd) as (w & u & t' & _ & EP & Pat & Ba & Vi).
    destruct (Vi W) as [Q|Q]; [eapply nth_error_In; exact R' | exfalso | ].
    { apply (precedes_irr P); eapply precedes_trans; [apply (Q []) | eapply precedes_trans; [|exact Pd]]; apply parts_precede; lia. }
    assert (Ba' : In (w ++ [Part 1; Part 0], EBar (Threads 32) Warp) (tr (by_ g))) by (apply (bars_meet B N F s Valid o a'); auto using same_sym).
    destruct (waited g p' v0 x r gk l (w ++ [Part 0]) 0 Ig I0 Is) as (u' & v & Y & O); [| |lia|].
    { rewrite Ek; apply Pat; exact Ba'. }
    { eapply precedes_trans; [|exact Q]; rewrite Er0; apply parts_precede; lia. }
    exists ((w ++ [Part 0]) ++ u'), v; splits.
    destruct (issues_from B N tr a' P _ b k Ta' Jd Ar Kt) as (t2 & v2 & X2 & Y2).
    assert (O1 : ord (Thread (by_ g)) ((w ++ [Part 0]) ++ u') (Thread a') (P ++ t2)).
    { apply (across B N tr (by_ g) a' (Threads 32) Warp (w ++ [Part 1; Part 0]) _ v _ v2); auto.
      - rewrite <- app_assoc; apply parts_precede; lia.
      - rewrite EP, <- app_assoc; exists None; apply before_prefix; constructor 2; constructor; constructor; lia. }
    destruct Y2 as [->|Y2]; [exact O1 | eapply ord_trans; eauto].
Qed.

(* Who is at a station says that the next stage is reached: of the first, those do that say so of its ring. *)
Lemma go_before c g p x f k W r e z fence out j :
  stands c g p x f k W r e z -> at_station N (I c W) (M c) c fence out z x f j = true -> j <= top (M c) ->
  exists b h q, In b (M c) /\ seat s c b = j /\ (j = 0 -> b = f) /\
    In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies f)) (k / copies f)) /\ ord g p h q.
Proof.
  intros St At Lj; unfold at_station in At; ands At as [_ At].
  pose proof St as (R & If & Sf & _ & Rk & (Ig & J0 & Is) & De & Sa & (t & Et) & _).
  destruct (Nat.eqb_spec j 0) as [->|Nj].
  { destruct (fill_before c g p x f k W r e z _ _ p _ St J0 Is At) as (h & q & A & Or); exists f, h, q; split; auto;
      split; auto.
    unfold seat; rewrite Sf; auto. }
  assert (Seat : forall b, stage b = next (M c) j -> seat s c b = j).
  { intros b; unfold next, seat; destruct (Nat.eqb_spec j (top (M c))); intros ->; simpl; lia. }
  unfold use in At; rewrite De in At.
  assert (Y : exists b h q, In b (M c) /\ stage b = next (M c) j /\
            In (h, q) (arrivals (Ring (fst (by_ g)) b (k mod copies b)) (k / copies b)) /\ ord g p h q).
  { destruct e as [y|v hw|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate.
    - destruct (own_access Is eq_refl) as (Eg & -> & _); rewrite Eg in J0. destruct (seen_told At) as (p' & To & Bef).
      destruct (told_by R (by_ g) k W p' (who_ z) _ r (access_ x) (agent_is g Ig) Rk Sa To)
        as (b & h & q & Eb & Ib & A & Or); auto.
      + intros b Eb; bools; auto.
      + intros w Bw; rewrite Et; apply Bef; auto.
      + bools; rewrite <- Eg in Or; exists b, h, q; auto.
    - ands At as [_ At]; destruct (group_read c g p x f k W r gk l z _ p _ St J0 Is At)
        as (b & h & q & y & v & Ib & Bb & A & _ & O1 & O2).
      exists b, h, q; splits; eapply ord_trans; eauto. }
  destruct Y as (b & h & q & Ib & Sb & A & Or); rewrite (same_copies R b f Ib If) in A.
  exists b, h, q; split; auto; split; auto; split; [lia | auto].
Qed.

Lemma station_spec {c W z x f j} : station_at c W z x f = Some j ->
  at_station N (I c W) (M c) c (fence_of c W) (read_out (sites_at c W) f) z x f j = true /\ j <= top (M c).
Proof. intro E; apply find_some in E as [E At]; apply in_seq in E; split; auto; lia. Qed.

(* At an earlier time, in rounds and stations, is before. *)
Lemma ring_order c g p x f k W r e z i h q y k' W' r' e' z' j :
  stands c g p x f k W r e z -> station_at c W z x f = Some i -> stands c h q y f k' W' r' e' z' ->
    station_at c W' z' y f = Some j -> fst (by_ g) = fst (by_ h) -> k mod copies f = k' mod copies f ->
  (k / copies f) * S (top (M c)) + i < (k' / copies f) * S (top (M c)) + j -> ord g p h q.
Proof.
  intros St Si St' Sj Bl Mo Lt; destruct (station_spec Si) as [Ai Li], (station_spec Sj) as [Aj Lj].
  destruct (go_before c g p x f k W r e z _ _ i St Ai Li) as (b & h' & q' & Ib & Sb & Bf & A & Or).
  eapply ord_trans; [exact Or|]; unfold at_station in Aj; ands Aj as [Co _].
  apply (come_after c h q y f k' W' r' e' z' j b (k / copies f) h' q'); auto.
  - unfold time; rewrite Sb; auto.
  - intros -> E; apply Bf; unfold time in E; rewrite Sb in E.
    destruct (same_phase (top (M c)) (k / copies f) i (k' / copies f) 0); auto; lia.
  - rewrite <- Bl, <- Mo; auto.
Qed.

(* -- two accesses that conflict ----------------------------------------------------------------------------------------- *)

Lemma alone_sound K u a b : alone N K u = true -> is_thread a -> is_thread b -> sats K a -> sats K b -> same u a b -> a = b.
Proof.
  intros H Ta Tb Sa Sb U; unfold alone in H; apply orb_prop in H as [H|H].
  - apply same_as_eq in H; subst u; unfold same, name in U; rewrite !Nat.div_1_r in U; destruct a, b; simpl in U; congruence.
  - bools; pose proof (le_sound B N u Block a b H Ta Tb U) as V; unfold same in V; simpl in V; inversion V as [V1].
    assert (Ia : In (snd a) (satisfying N K)) by (apply in_satisfying; split; [apply Ta | exact Sa]).
    assert (Ib : In (snd b) (satisfying N K)) by (apply in_satisfying; split; [apply Tb | exact Sb]).
    destruct (satisfying N K) as [|x [|y l]]; simpl in *; try lia; destruct Ia as [Ia|[]], Ib as [Ib|[]].
    destruct a as [a1 a2], b as [b1 b2]; simpl in *; congruence.
Qed.

Lemma part_sym p q d : part p q d -> part q p d.
Proof. unfold part; intuition; subst; auto. Qed.

Lemma issued_part g p r e x h q r' e' y d : issues g p r e x -> issues h q r' e' y -> before r r' d -> part p q d.
Proof.
  intros (_ & _ & Is) (_ & _ & Is') Bd; left.
  destruct Is as [(_ & -> & _)|(_ & _ & j & ->)], Is' as [(_ & -> & _)|(_ & _ & j' & ->)];
    [exact Bd | apply before_r | apply before_l | apply before_app]; exact Bd.
Qed.

(* How the positions of two accesses part, in a part of the text; where they do not, an access that stands once is one operation. *)
Lemma how_parted u w g p r e x h q r' e' y : issues g p r e x -> issues h q r' e' y ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  exists d, In d (None :: map Some (loops (number x) (number y) u)) /\ part p q d /\
    (r = r' \/ (number x = number y -> times (number x) u <= 1 -> d <> None)).
Proof.
  intros Iss Iss' Tr Tr'; pose proof Iss as (_ & Xe & Is); pose proof Iss' as (_ & Ye & Is').
  destruct (parted o u w _ _ r r' e e' Tr Tr') as [[<- <-]|(d & D & P)].
  - exists None; split; [left; auto|]; split; [|left; auto].
    destruct Is as [(_ & -> & A1)|(_ & A1 & j & ->)], Is' as [(_ & -> & A2)|(_ & A2 & j' & ->)]; try congruence; unfold part; auto.
    destruct (Nat.lt_trichotomy j j') as [Lt|[->|Lt]]; auto; [left | right; left];
      apply before_prefix; constructor 2; constructor; constructor; auto.
  - destruct (P x y Xe Ye) as [In_d On]; exists d; split; [exact In_d|]; split; [|right; exact On].
    destruct D; [|apply part_sym]; eapply issued_part; eauto.
Qed.

(* A thread's group has ended before what the thread does next there. *)
Lemma own_before K0 k g p r l x h q r' f y : issued g p x r (EOp (Group k l)) -> issued h q y r' f -> by_ g = by_ h ->
  sats K0 (by_ h) -> snd (clear K0 k (number x) (number y) s false) = true -> precedes r r' -> ord g p h q.
Proof.
  intros (Ig & J1 & Is) (Ih & J2 & A2 & Y & Is') E SK Cl P; rewrite <- E in A2, Is', SK;
    pose proof (agent_is g Ig) as T.
  pose proof Is as (A1 & X & _); destruct (clear_sound o K0 k (number x) (number y) s (by_ g) SK Cl) as [Bt _].
  destruct (Bt r r') as (S & K & P1 & P2); auto.
  { exists l; split; auto; apply existsb_exists; exists x; split; auto; apply Nat.eqb_refl. }
  { exists f; split; auto; apply existsb_exists; exists y; split; auto; apply Nat.eqb_refl. }
  destruct (waited g p _ x r k l S 0 Ig J1 Is K P1 ltac:(lia)) as (u & w & Aw & O); eapply ord_trans; [exact O|].
  destruct Is' as [(Eh & Eq & B2)|(Eh & B2 & j' & Eq)]; rewrite Eq, Eh in *.
  - eapply ord_own; [exact (thread_ok _ T) | exact Aw | exact J2 | apply precedes_app_r; auto].
  - apply (to_engine B N tr (by_ g) r' _ _ _ (r' ++ [Part 2; Part j'], access_ y) T A2 (async_issued f y B2 Y) Aw);
      auto.
    + apply precedes_app_r; auto.
    + simpl; apply parts_precede; lia.
Qed.

(* What a thread does before it issues comes before what is issued. *)
Lemma own_first g p r e x h q r' f y : issued g p x r e -> issued h q y r' f -> is_async e = false -> by_ g = by_ h ->
  precedes r r' -> ord g p h q.
Proof.
  intros (Ig & J1 & Is) Js A E P; destruct (own_access Is A) as (Eg & -> & ->).
  destruct (reached Js) as (t & f2 & Fr & Re); apply Re; rewrite <- E in *; rewrite Eg at 1; rewrite Eg in J1.
  eapply ord_own; [exact (thread_ok _ (agent_is _ Ig)) | exact J1 | exact Fr | apply precedes_app_l; auto].
Qed.

Section Pairs.

Context {L : Type}.
Variable t : reaches L.
Hypothesis Pre : premises t.

Definition meet g p x r e h q y r' e' : Prop := issued g p x r e /\ issued h q y r' e' /\ conflicts t g p x h q y.

Lemma meet_sym {g p x r e h q y r' e'} : meet g p x r e h q y r' e' -> meet h q y r' e' g p x r e.
Proof. intros (Is & Js & Ne & Cl & l & X & Y); repeat (split; [auto using clash_sym|]); eauto. Qed.

Lemma meet_overlap {g p x r e h q y r' e'} : meet g p x r e h q y r' e' ->
  overlap x y = true /\ same (owner x) (by_ g) (by_ h).
Proof. intros ((? & ? & _) & (? & ? & _) & ? & _ & l & ? & ?); eapply (of_spaces _ Pre g h); eauto. Qed.

Lemma fact_holds {g p x r e h q y r' e'} : meet g p x r e h q y r' e' ->
  forall f d, In f F -> is_of x y d f = true -> part p q d -> exists c, Valid.what f = Some c /\ same c (by_ g) (by_ h).
Proof.
  intros ((Ig & I & _) & (Ih & J & _) & Ne & _ & l & X & Y) f d K Of P; unfold is_of in Of; ands Of as [Pe Of].
  apply same_as_eq in Pe; subst d; apply orb_prop in Of as [Of|Of]; bools.
  - pose proof (of_facts _ Pre f g h p q x y l K Ig Ih Ne I J X Y ltac:(auto) ltac:(auto) P) as Fa.
    destruct (Valid.what f); [eauto | destruct Fa].
  - pose proof (of_facts _ Pre f h g q p y x l K Ih Ig ltac:(auto) J I Y X ltac:(auto) ltac:(auto) (part_sym _ _ _ P)) as Fa.
    destruct (Valid.what f); [eauto using same_sym | destruct Fa].
Qed.

Lemma concerned {g p x r e h q y r' e'} d : meet g p x r e h q y r' e' -> part p q d ->
  forall k, In k (concerns (about F (number y)) x y d) -> exists c, k = Some c /\ same c (by_ g) (by_ h).
Proof.
  intros Me P k K; destruct (meet_overlap Me) as [Ov Ow]; unfold concerns in K; rewrite Ov in K.
  destruct K as [<-|K]; [eauto|]; apply in_map_iff in K as (f & <- & K); apply filter_In in K as [K Of].
  eapply fact_holds; eauto; apply about_incl in K; auto.
Qed.

(* Accesses that are one thread's wherever they touch one place. *)
Lemma one_thread_sound g p x r e z h q y r' e' z' d more : meet g p x r e h q y r' e' -> part p q d ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> one_thread N F (z, x) (z', y) d more = true ->
    by_ g = by_ h /\ more = true.
Proof.
  intros Me Pd Sa Sa' Ru; unfold one_thread in Ru; apply existsb_exists in Ru as (k' & Ik & Ru);
    cbn [fst snd] in Ru, Ik.
  destruct (concerned d Me Pd k' Ik) as (v & -> & U); ands Ru as [[Al Im] M']; split; auto.
  destruct Me as ((Ig & _) & (Ih & _) & _); apply (alone_sound (who_ z) v); auto using agent_is; eapply implies_sound;
    eauto.
Qed.

Lemma apart_sound u w g p x r e z h q y r' e' z' : meet g p x r e h q y r' e' -> deed_ z = e -> deed_ z' = e' ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> In (r, e) (trace o u w (by_ g)) ->
    In (r', e') (trace o u w (by_ h)) -> apart_always N F u (z, x) (z', y) = true -> False.
Proof.
  intros Me De De' Sa Sa' Tr Tr' Ru; pose proof Me as ((_ & _ & Iss) & (_ & _ & Iss') & Ne & _).
  unfold apart_always in Ru; rewrite forallb_forall in Ru; cbn [fst snd] in Ru.
  destruct (how_parted u w g p r e x h q r' e' y Iss Iss' Tr Tr') as (d & In_d & Pd & On).
  destruct (one_thread_sound _ _ _ _ _ z _ _ _ _ _ z' d _ Me Pd Sa Sa' (Ru d In_d)) as [E As]; unfold in_turn in As;
    cbn [fst snd] in As.
  assert (Same : part_eqb d None && (number x =? number y) && (times (number x) u <=? 1) = true -> r = r' /\ e = e').
  { intro H; ands H as [[Pn Nu] Ti]; apply same_as_eq in Pn; bools; destruct On as [<-|On]; [|destruct (On Nu Ti Pn)].
    split; auto; exact (same_event o u _ _ _ _ _ _ Tr Tr'). }
  destruct Iss as (_ & _ & [(Eg & _ & A1)|(Eg & A1 & j & _)]), Iss' as (_ & _ & [(Eh & _ & A2)|(Eh & A2 & j' & _)]);
    rewrite De, De', A1, A2 in As; simpl in As; try (apply Ne; rewrite Eg, Eh, E; auto; fail);
    destruct (Same As) as [Er Ee]; [congruence | congruence | apply Ne; rewrite Eg, Eh, E, Er; auto].
Qed.

Lemma before_both p q r : before p q None -> before q r None -> before p r None.
Proof.
  intros H; remember None as d eqn:Ed; revert r; induction H as [v w a b d V|v a b d P IH]; intros c Q; inversion Q;
    subst.
  - inversion V; subst; match goal with E : earlier (Part _) _ _ |- _ => inversion E; subst; constructor; constructor;
      lia end.
  - constructor; auto.
  - constructor; auto.
  - constructor 2; auto.
Qed.

(* A barrier stands between. *)
Lemma barrier_order g p x r e z h q y r' e' z' : meet g p x r e h q y r' e' -> is_async e' = false ->
  sats (who_ z) (by_ g) -> sats (who_ z') (by_ h) -> (exists u, r = place z ++ u) -> (exists u, r' = place z' ++ u) ->
  barrier_before N F s (z, x) (z', y) = true -> ord h q g p.
Proof.
  intros Me A Sa Sa' (u & Er) (u' & Er') H; unfold barrier_before in H; apply existsb_exists in H as (i & Ii & H).
  cbn [fst snd] in H; destruct (deed_ i) as [|v hw|] eqn:Di; try discriminate;
    ands H as [[[[[[_ P1] P2] Im'] Im] _] Co].
  apply prec_sound in P1; apply prec_sound in P2; pose proof (meet_sym Me) as Me'.
  destruct Me as (Is & (Ih & J & Js) & _); pose proof (agent_is h Ih) as Th; pose proof (agent_is g (proj1 Is)) as Tg.
  assert (Pd : part q p None).
  { apply (issued_part h q r' e' y g p r e x None Js (proj2 (proj2 Is))); rewrite Er, Er'; apply before_app.
    exact (before_both _ _ _ P1 P2). }
  apply existsb_exists in Co as (c & Ic & Co); destruct (concerned None Me' Pd c Ic) as (w & -> & U).
  destruct (own_access Js A) as (Eh & Eq & _); subst q; destruct (reached Is) as (t2 & f2 & Fr & Re); apply Re.
  assert (Bar : forall K a, implies K (who_ i) = true -> sats K a -> In (place i, EBar v hw) (tr a)).
  { intros K a Ik Sk; destruct i as [[pi ei] Ki]; unfold place, deed_, who_ in *; simpl in *; subst ei.
    apply (item_there o [] s [] [] a pi (EBar v hw) Ki Ii (implies_sound _ _ _ Ik Sk)). }
  rewrite Eh in J; rewrite Eh at 1; eapply (across B N tr (by_ h) (by_ g) v hw (place i)); eauto.
  - exact (le_sound B N w v _ _ Co Th Tg U).
  - rewrite Er'; exists None; apply before_l; auto.
  - rewrite Er, <- app_assoc; exists None; apply before_r; auto.
Qed.

Lemma async_quiet {g p x r1 e h q y r2 f} : meet g p x r1 e h q y r2 f -> is_async e = true ->
  ringed x y = true \/ ord g p h q \/ ord h q g p.
Proof.
  intros Me As; pose proof Me as (Is & Js & Ne & Cl & _); pose proof Is as (Ig & I & I1 & Xe & _);
    pose proof Js as (Ih & J & J1 & Ye & _).
  destruct (site_of o [] s [] [] (by_ g) r1 e (fun k f => match f with end) I1) as (q1 & u1 & K1 & P1 & S1 & Sa1).
  destruct (site_of o [] s [] [] (by_ h) r2 f (fun k f => match f with end) J1) as (q2 & u2 & K2 & P2 & S2 & Sa2).
  pose proof (proj2 Checked) as Q; unfold rings in Q; ands Q as [[_ Q] _]; unfold quiet in Q;
    rewrite forallb_forall in Q.
  set (A := flat_map (fun z => map (pair z) (accesses (deed_ z))) (sites s [] [])) in *.
  assert (In_A : forall z v, In z (sites s [] []) -> In v (accesses (deed_ z)) -> In (z, v) A).
  { intros z v A1 A2; apply in_flat_map; exists z; split; auto; apply in_map; auto. }
  specialize (Q ((q1, e, K1), x)); rewrite forallb_forall in Q; specialize (Q ltac:(apply filter_In; split; [apply In_A; auto | exact As])
    ((q2, f, K2), y) ltac:(apply In_A; auto)); cbn [fst snd] in Q.
  rewrite (proj1 (meet_overlap Me)) in Q; simpl in Q; rewrite orb_false_r, !orb_true_iff in Q.
  destruct Q as [[[[Q|Q]|Q]|Q]|Q]; auto; right.
  - destruct (does x), (does y); try discriminate; destruct Cl.
  - destruct (apart_sound s [] g p x r1 e (q1, e, K1) h q y r2 f (q2, f, K2)); auto.
  - unfold own_order, ended_before, deed_ in Q; cbn [fst snd] in Q; ands Q as [[Cw Cw'] One_];
      rewrite forallb_forall in One_.
    destruct e as [|?|[| | | | | | |k l1| | | | |]]; try discriminate.
    destruct (how_parted s [] g p r1 _ x h q r2 _ y (proj2 (proj2 Is)) (proj2 (proj2 Js)) I1 J1) as (d & In_d & Pd & _).
    destruct (one_thread_sound _ _ _ _ _ (q1, EOp (Group k l1), K1) _ _ _ _ _ (q2, f,
      K2) d _ Me Pd Sa1 Sa2 (One_ d In_d)) as [E _].
    destruct (comparable o s [] (by_ g) (by_ h) r1 r2 _ _ I1 J1) as [[<- <-]|[Er|Er]].
    + exfalso; apply Ne. destruct Is as (_ & _ & _ & _ & [(_ & _ & B1)|(E1 & _)]); [discriminate|].
      destruct Js as (_ & _ & _ & _ & [(_ & _ & B2)|(E2 & _)]); [discriminate | rewrite E1, E2, E; auto].
    + left; eapply own_before; eauto.
    + right; destruct (is_async f) eqn:Af; [|eapply own_first; eauto].
      destruct f as [|?|[| | | | | | |k' l2| | | | |]]; try discriminate; eapply own_before; eauto.
  - ands Q as [Af Q]; unfold deed_ in Af; cbn [fst snd] in Af; apply negb_true_iff in Af; right.
    eapply barrier_order; try exact Q; unfold who_, place; cbn [fst snd]; eauto.
Qed.

(* Accesses of threads in a part of the text, of which the rule of barriers is asked. *)
Lemma thread_pair pass u w g p x r e h q y r' e' : bars N u [] [] = true -> check N F pass u [] [] = true ->
  incl (trace o u w (by_ g)) (tr (by_ g)) -> In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) ->
  meet g p x r e h q y r' e' -> is_async e = false -> is_async e' = false -> pass x y = false ->
    r = r' \/ precedes r r' -> ord g p h q.
Proof.
  intros Bu Cu Inc T1 T2 Me A A' Ps Le; destruct (meet_overlap Me) as [Ov Ow].
  pose proof (fact_holds Me) as Fact; destruct Me as ((Ig & J1 & Is) & (Ih & J2 & Js) & Ne & Cl & _).
  destruct (own_access Is A) as (Eg & -> & ->), (own_access Js A') as (Eh & -> & ->).
  pose proof (agent_is g Ig) as Ta; pose proof (agent_is h Ih) as Tb; destruct g as [a|], h as [b|]; try discriminate;
    cbn [by_] in *.
  destruct (barrier_between B N o u w a b F pass r r' x y) as (r0 & v & hw & U & Ir & P1 & P2); auto; [congruence|];
    apply Inc in Ir.
  eapply (across B N tr a b v hw r0); eauto; apply (bars_meet B N F s Valid o a); auto.
Qed.

Lemma both_threads pass u w g p x r e h q y r' e' : bars N u [] [] = true -> check N F pass u [] [] = true ->
  incl (trace o u w (by_ g)) (tr (by_ g)) -> incl (trace o u w (by_ h)) (tr (by_ h)) ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) -> meet g p x r e h q y r' e' ->
  is_async e = false -> is_async e' = false -> pass x y = false -> pass y x = false -> ord g p h q \/ ord h q g p.
Proof.
  intros Bu Cu In1 In2 T1 T2 Me A A' P1 P2; pose proof (meet_sym Me) as Me'.
  destruct (comparable o u w (by_ g) (by_ h) r r' _ _ T1 T2) as [[E _]|[E|E]]; [left | left | right];
    eapply (thread_pair pass u w); eauto.
Qed.

(* -- products and threads at one station -------------------------------------------------------------------------------- *)

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
  assert (Refl : forall v, is_access v v = true) by (intro v; apply same_as_eq; auto).
  intro Co; induction u as [|s1 IH1 s2 IH2|v|v g|v s1 IH1 s2 IH2|l m v u IH|k u IH|oo]; simpl; intros w a p I;
    Ordered.stands; there.
  - right; apply IH2 in I; destruct (joined_cases s1 s2 (alike x y s2)) as [->|(t0 & t' & _ & _ & E & ->)]; auto.
    rewrite E in I; right; exact I.
  - destruct Co as [[Ev ->]|(l & Ev & _)]; inversion Ev; subst; rewrite Refl; left; auto.
  - destruct Co as [[Ev _]|(l & Ev & _)]; discriminate.
  - destruct Co as [[Ev _]|(l & Ev & X & ->)]; inversion Ev; subst; simpl.
    replace (existsb (is_access x) l) with true; [left; auto|]; symmetry; apply existsb_exists; eauto.
Qed.

(* A barrier there is one behind a wait for all products; what else comes before it comes before the wait. *)
Definition settled_behind (T : list (path * event)) (p : path) : Prop := exists S,
  In (S, EOp (Settle products 0)) T /\ In (p, EBar (Threads 32) Warp) T /\ precedes S p /\
  forall r e, In (r, e) T -> precedes r p -> r = S \/ precedes r S.

Lemma alike_back x y u : forall w a p v h, In (p, EBar v h) (trace o (alike x y u) w a) ->
  v = Threads 32 /\ settled_behind (trace o u w a) p.
Proof.
  assert (Never : forall p q : path, precedes p q -> precedes q p -> False)
    by (intros p q A1 A2; eapply precedes_irr, precedes_trans; eauto).
  (* what is added to a trace, before or behind, does not come between *)
  assert (More : forall T T' p, settled_behind T p -> incl T T' ->
            (forall r e, In (r, e) T' -> In (r, e) T \/ (forall r' e', In (r', e') T -> precedes r r') \/
               (forall r' e', In (r', e') T -> precedes r' r)) -> settled_behind T' p).
  { intros T T' p (S & A1 & A2 & A4 & A5) Inc B1; exists S; splits.
    intros r e J P; destruct (B1 r e J) as [K|[K|K]]; eauto; exfalso; eauto. }
  induction u as [|s1 IH1 s2 IH2|v0|v0 g|v0 s1 IH1 s2 IH2|l m v0 u IH|k u IH|oo]; intros w a p v h I; simpl in I |- *.
  - destruct I.
  - assert (Parts : forall r e r' e', In (r, e) (trace o s1 (w ++ [Part 0]) a) ->
              In (r', e') (trace o s2 (w ++ [Part 1]) a) -> precedes r r').
    { intros r e r' e' A1 A2; exists None; exact (parts_in_order o w a a true true s1 s2 _ _ _ _ A1 A2). }
    apply in_app_iff in I as [I|I].
    { apply IH1 in I as [-> I]; split; auto; apply (More _ _ _ I); [intros z Z; there|].
      intros r e J; Ordered.stands; eauto 6. }
    assert (Deeper : In (p, EBar v h) (trace o (alike x y s2) (w ++ [Part 1]) a) ->
              v = Threads 32 /\ settled_behind (trace o s1 (w ++ [Part 0]) a ++ trace o s2 (w ++ [Part 1]) a) p).
    { intro J; apply IH2 in J as [-> J]; split; auto; apply (More _ _ _ J); [intros z Z; there|].
      intros r e K; Ordered.stands; eauto 6. }
    destruct (joined_cases s1 s2 (alike x y s2)) as [E|(t0 & t' & -> & -> & E & Ej)]; [rewrite E in I; auto|].
    rewrite Ej in I; rewrite E in Deeper; simpl in I, Deeper; destruct I as [I|I]; [|auto].
    inversion I; subst; split; auto; exists (w ++ [Part 0]); simpl; rewrite <- app_assoc; simpl.
    split; [auto|]; split; [auto|]; split; [apply parts_precede; lia|]; intros r e [J|[J|J]] P; [inversion J; auto | |].
    + inversion J; subst; exfalso; eapply precedes_irr; eauto.
    + exfalso; apply (in_tr_path o true) in J as [q ->]; apply (Never _ _ P); rewrite <- !app_assoc; simpl.
      exists None; apply before_prefix; constructor 2; constructor; constructor; lia.
  - destruct (is_access v0 y); simpl in I; Ordered.stands; discriminate.
  - destruct I.
  - destruct (o w (name v0 a) =? 0); eauto.
  - apply in_flat_map in I as (j & J & I); apply IH in I as [-> I]; split; auto; apply (More _ _ _ I);
      [intros z Z; there|].
    intros r e K; apply in_flat_map in K as (i & _ & K); destruct (Nat.lt_trichotomy i j) as [Lt|[->|Lt]]; auto; right;
      [left | right]; intros r' e' K'; exists (Some l); eapply trips_in_order with (c := true) (d := true); eauto.
  - destruct (sat k (snd a)); [eauto | destruct I].
  - destruct oo; simpl in I; try destruct ((k =? products) && _); simpl in I; Ordered.stands; discriminate.
Qed.

Lemma together_order u w g p x r e z h q y r' e' z' : sats (who_ z') (by_ h) ->
  incl (trace o u w (by_ g)) (tr (by_ g)) -> incl (trace o u w (by_ h)) (tr (by_ h)) ->
  In (r, e) (trace o u w (by_ g)) -> In (r', e') (trace o u w (by_ h)) -> deed_ z = e -> deed_ z' = e' ->
  meet g p x r e h q y r' e' -> together N F s u (z, x) (z', y) = true -> ord g p h q \/ ord h q g p.
Proof.
  intros Sy In1 In2 T1 T2 De De' Me H; unfold together in H; cbn [fst snd] in H; rewrite De, De' in H.
  destruct e as [|?|[| | | | | | |k l| | | | |]]; try discriminate; ands H as [[[[Ek As] En] Bu] Cu];
    apply Nat.eqb_eq in Ek; subst k.
  apply negb_true_iff in As; unfold ended_before in En; cbn [fst snd] in En; rewrite De in En.
  pose proof Me as (Is & Js & Ne & Cl & _); pose proof Is as (Ig & J1 & Iss); pose proof Js as (Ih & J2 & Jss).
  pose proof (meet_overlap Me) as [Ov Ow]; pose proof (agent_is g Ig) as Tg; pose proof (agent_is h Ih) as Th.
  destruct (own_access Jss As) as (Eh & -> & ->).
  destruct (comparable o u w (by_ g) (by_ h) r r' _ _ T1 T2) as [[_ E]|Ord]; [discriminate|].
  destruct (thread_dec (by_ g) (by_ h)) as [Eb|Nb].
  { destruct Ord; [left; eapply own_before | right; eapply own_first]; eauto. }
  assert (Xl : In x l) by apply Iss.
  pose proof (alike_there x y u _ x (or_intror (ex_intro _ l (conj eq_refl (conj Xl eq_refl)))) w (by_ g) r T1) as Vx.
  pose proof (alike_there x y u _ y (or_introl (conj eq_refl eq_refl)) w (by_ h) r' T2) as Vy.
  assert (Fact : forall f d, In f F -> is_of x y d f = true -> part r r' d ->
    exists c, Valid.what f = Some c /\ same c (by_ g) (by_ h)).
  { intros f d If Of Pa; apply (fact_holds Me f d If Of).
    destruct Pa as [B1|[B1|[<- _]]]; [|apply part_sym|destruct Ord as [P|P]; destruct (precedes_irr _ P)];
      eapply issued_part; eauto. }
  assert (Pass : beside_pair x y x y = false /\ beside_pair x y y x = false).
  { unfold beside_pair; rewrite !Nat.eqb_refl; simpl; split; auto; rewrite orb_true_r; auto. }
  rewrite Eh in J2; destruct Ord as [P|P].
  - left; destruct (barrier_between B N o (alike x y u) w (by_ g) (by_ h) F (beside_pair x y) r r' x y)
      as (b & v & hw & U & Ib & P1 & P2); auto; [tauto|].
    apply alike_back in Ib as (-> & S & A1 & A2 & A4 & A5); destruct (A5 _ _ T1 P1) as [->|Rs].
    { pose proof (same_event o u _ _ _ _ _ _ T1 A1); discriminate. }
    destruct (waited g p _ x r products l S 0 Ig J1 Iss (In1 _ A1) Rs ltac:(lia)) as (t0 & v0 & Aw & O);
      eapply ord_trans; [exact O|].
    rewrite Eh; eapply (across B N tr (by_ g) (by_ h) (Threads 32) Warp b); eauto; [|apply precedes_app_r; auto].
    apply (bars_meet B N F s Valid o (by_ g)); auto.
  - right; destruct (barrier_between B N o (alike x y u) w (by_ h) (by_ g) F (beside_pair x y) r' r y x)
      as (b & v & hw & U & Ib & P1 & P2); auto using clash_sym; [tauto | rewrite overlap_sym; auto |
        apply (meet_overlap (meet_sym Me)) | |].
    { intros f d If Of Pa; destruct (Fact f d If) as (c & -> & U); eauto using same_sym, part_sym.
      unfold is_of in *; rewrite orb_comm; exact Of. }
    apply alike_back in Ib as (-> & S & A1 & A2 & A4 & A5); destruct (reached Is) as (t2 & f2 & Fr & Re); apply Re.
    rewrite Eh; eapply (across B N tr (by_ h) (by_ g) (Threads 32) Warp b); eauto; [|apply precedes_app_l; auto].
    apply (bars_meet B N F s Valid o (by_ h)); auto.
Qed.

(* Two at one station in one round are in order, if they conflict. *)
Lemma meet_order c g p x f k W r e z h q y r' e' z' j : conflicts t g p x h q y -> filled x = Some f ->
  filled y = Some f -> stands c g p x f k W r e z -> stands c h q y f k W r' e' z' -> station_at c W z x f = Some j ->
    station_at c W z' y f = Some j -> fst (by_ g) = fst (by_ h) -> ord g p h q \/ ord h q g p.
Proof.
  intros C Fx Fy St St' Si Sj Bl; destruct (station_spec Si) as [_ Lj].
  destruct St as (R & _ & _ & _ & Rk & Is & De & Sa & _ & Tr & _ & Iz).
  destruct St' as (_ & _ & _ & _ & Rk' & Js & De' & Sa' & _ & Tr' & _ & Iz').
  assert (Me : meet g p x r e h q y r' e') by (split; auto).
  destruct (in_round _ k W Rk) as [Ib Inc], (in_round _ k W Rk') as [_ Inc'].
  pose proof (ruled R _ Ib) as Ru; unfold ring_rules in Ru; ands Ru as [_ Ru]; rewrite forallb_forall in Ru;
    specialize (Ru j ltac:(apply in_seq; lia)).
  match type of Ru with meet_well _ _ _ _ ?l = true => set (T := l) in * end.
  assert (In_T : forall zz xx, In (zz, xx) (sites_at c W) -> filled xx = Some f -> station_at c W zz xx f = Some j -> In (zz, xx) T).
  { intros zz xx A1 A2 A3; apply in_map_iff; exists ((zz, xx), Some j); split; auto; apply filter_In; split; [|simpl; apply Nat.eqb_refl].
    apply in_map_iff; exists (zz, xx); split; auto; cbn [fst snd]; rewrite A2; f_equal; exact A3. }
  pose proof (In_T z x Iz Fx Si) as Tx; pose proof (In_T z' y Iz' Fy Sj) as Ty; unfold meet_well in Ru.
  destruct (free_pair N F (body_at c s W) (z, x) (z', y)) eqn:Fp.
  { exfalso; unfold free_pair in Fp; cbn [snd] in Fp; rewrite (proj1 (meet_overlap Me)) in Fp.
    simpl negb in Fp; rewrite orb_false_r, !orb_true_iff in Fp; destruct Fp as [[Fp|Fp]|Fp].
    - destruct C as (_ & Cl & _), (does x), (does y); try discriminate; exact Cl.
    - destruct Is as (Ig & _ & _ & Xe & _), Js as (Ih & _ & _ & Ye & _).
      exact (exclusive_sound B N o _ _ _ _ _ _ _ _ x y Fp (agent_is g Ig) (agent_is h Ih) Bl Tr Tr' Xe Ye).
    - eapply apart_sound; eauto. }
  destruct (together N F s (body_at c s W) (z, x) (z', y)) eqn:T1; [eapply together_order; eauto|].
  destruct (together N F s (body_at c s W) (z', y) (z, x)) eqn:T2;
    [apply or_comm, (together_order _ _ _ _ _ _ _ _ _ _ _ _ _ _ Sa Inc' Inc Tr' Tr De' De (meet_sym Me) T2)|].
  assert (Bad : In ((z, x), (z', y)) (filter (fun p0 => negb (free_pair N F (body_at c s W) (fst p0) (snd p0)
    || together N F s (body_at c s W) (fst p0) (snd p0) || together N F s (body_at c s W) (snd p0) (fst p0))) (list_prod T T))).
  { apply filter_In; split; [apply in_prod; auto | cbn [fst snd]; rewrite Fp, T1, T2; auto]. }
  destruct (filter _ (list_prod T T)) as [|b0 bad]; [destruct Bad|]; ands Ru as [[Al Bu] Cu].
  rewrite forallb_forall in Al; specialize (Al _ Bad); unfold by_threads in Al; cbn [fst snd] in Al;
    rewrite De, De' in Al.
  ands Al as [A1 A2]; apply negb_true_iff in A1; apply negb_true_iff in A2. assert (Out : outside T x y = false).
  { unfold outside; apply negb_false_iff, andb_true_intro; split; apply existsb_exists;
      [exists (z, x) | exists (z', y)]; split; auto; simpl; apply Nat.eqb_refl. }
  eapply (both_threads (outside T) (body_at c s W) (W ++ [Part 0])); eauto; rewrite outside_sym; auto.
Qed.

Lemma ring_pair g p x h q y : In g agents -> In h agents -> In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  conflicts t g p x h q y -> ringed x y = true -> ord g p h q \/ ord h q g p.
Proof.
  intros Ig Ih J1 J2 C Rg; pose proof C as (Ne & Cl & l & X & Y); unfold ringed in Rg.
  destruct (filled x) as [f|] eqn:Fx; [|discriminate]; destruct (filled y) as [f'|] eqn:Fy; [|discriminate]; apply Nat.eqb_eq in Rg.
  destruct (stands_somewhere g p x f Ig J1 Fx) as (k & W & r & e & z & i & St & Si).
  destruct (stands_somewhere h q y f' Ih J2 Fy) as (k' & W' & r' & e' & z' & j & St' & Sj).
  destruct (of_spaces _ Pre g h p q x y l Ig Ih Ne J1 J2 X Y) as [Ov Ow]; assert (Ef : f' = f).
  { pose proof (proj2 Checked) as O1; unfold rings in O1; ands O1 as [[[_ O1] _] _]; unfold one_filled in O1;
      rewrite forallb_forall in O1.
    destruct St as (_ & _ & _ & _ & _ & (_ & _ & I1 & A1 & _) & _), St'
      as (_ & _ & _ & _ & _ & (_ & _ & I2 & A2 & _) & _).
    specialize (O1 x ltac:(apply filter_In; rewrite Fx; split; auto; apply in_flat_map; exists e; split; eauto using trace_events)).
    rewrite forallb_forall in O1.
    specialize (O1 y ltac:(apply filter_In; rewrite Fy; split; auto; apply in_flat_map; exists e'; split; eauto using trace_events)).
    unfold ringed in O1; rewrite Fx, Fy, Rg, Nat.eqb_refl, Ov in O1; unfold same_ring in O1; rewrite Fx, Fy in O1; simpl in O1.
    apply same_as_eq in O1; auto. }
  subst f'; clear Rg; set (c := cycle f) in *;
    pose proof (of_copies _ Pre g h p q x y l f f Ig Ih Ne J1 J2 X Y Fx Fy eq_refl) as Co.
  rewrite (standing_round St), (standing_round St') in Co.
  pose proof St as (R & If & Sf & Le & Rk & _); pose proof St' as (_ & _ & _ & _ & Rk' & _).
  pose proof (positive R f If) as Pos; destruct (station_spec Si) as [_ Li], (station_spec Sj) as [_ Lj].
  assert (Bl : fst (by_ g) = fst (by_ h)).
  { pose proof (le_sound B N _ _ _ _ Le (agent_is g Ig) (agent_is h Ih) Ow) as V; unfold same in V; simpl in V; congruence. }
  destruct (Nat.lt_trichotomy ((k / copies f) * S (top (M c)) + i) ((k' / copies f) * S (top (M c)) + j)) as [Lt|[Eq|Lt]].
  - left; eapply ring_order; eauto.
  - destruct (same_phase _ _ _ _ _ Li Lj Eq) as [Ek <-]; pose proof (round_equal _ _ _ Pos Co Ek) as <-.
    assert (Rg : round c (by_ g) k W') by (eapply (round_same R (by_ h)); eauto using agent_is).
    assert (W' = W) by (unfold Turns.round in *; congruence); subst W'; eapply meet_order; eauto.
  - right; eapply ring_order; eauto.
Qed.

End Pairs.

(* Accesses that conflict are ordered by happens-before. *)
Theorem no_race {L} (t : reaches L) ls S i j g p x h q y : premises t -> run start ls S -> In g agents -> In h agents ->
  In (p, access_ x) (acts g) -> In (q, access_ y) (acts h) ->
  At ls i g p -> At ls j h q -> i < j -> conflicts t g p x h q y -> Hb ls i j.
Proof.
  intros Pre R Ig Ih I J Ai Aj Lt C; assert (O : ord g p h q \/ ord h q g p).
  { destruct (ringed x y) eqn:Rg; [eapply (ring_pair t); eauto|].
    destruct (in_access g p x Ig I) as (r & e & Is), (in_access h q y Ih J) as (r' & e' & Js).
    assert (Me : meet t g p x r e h q y r' e') by (split; auto); pose proof (meet_sym t Me) as Me'.
    destruct (is_async e) eqn:A; [destruct (async_quiet t Pre Me A) as [E|E]; [congruence | exact E]|].
    destruct (is_async e') eqn:A'.
    { destruct (async_quiet t Pre Me' A') as [E|E]; [rewrite ringed_sym in E; congruence | tauto]. }
    destruct Checked as [[Bars Check] _]; pose proof Is as (_ & _ & I1 & _); pose proof Js as (_ & _ & J1 & _).
    eapply (both_threads t Pre ringed s []); eauto using incl_refl; rewrite ringed_sym; auto. }
  destruct O as [O|O].
  - destruct (before_it B N F s Valid Clusters o ls S g p h q j R O Aj) as (i' & Ai' & Li & Hb).
    destruct (Nat.lt_trichotomy i i') as [G|[->|G]]; auto; exfalso;
      [exact (once B N F s Valid Clusters o ls S g p _ i i' R Ig I Ai Ai' G) |
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
  intros Ig I; destruct (in_access _ _ _ Ig I) as (r1 & e & _ & _ & Is); pose proof Is as (J & X & Cs).
  destruct Cs as [(E & _)|(E & As & j & ->)]; [discriminate|]; injection E as <-; simpl in J;
    pose proof (agent_is _ Ig) as T; simpl in T.
  assert (Y : (exists y f, In y (accesses e) /\ filled y = Some f) \/ ((exists l, e = EOp (Group written l)) /\ le N (owner x) Block = false) \/
            exists k l, e = EOp (Group k l) /\ clear [] k (number x) (unused s) s false = (false, true)).
  { pose proof (proj2 Checked) as G; unfold rings in G; ands G as [_ G]; rewrite forallb_forall in G.
    specialize (G e (trace_events _ _ _ _ _ _ J)); unfold goes in G.
    assert (Ring_ : existsb (fun x => match filled x with Some _ => true | None => false end) (accesses e) = true ->
              exists y f, In y (accesses e) /\ filled y = Some f).
    { intro H; apply existsb_exists in H as (y & Iy & H); destruct (filled y) as [f|] eqn:Fy; try discriminate; eauto. }
    destruct e as [y|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in *; try discriminate; try (destruct X; fail); try (left; auto; fail).
    destruct gk as [|gk].
    - right; left; rewrite forallb_forall in G; specialize (G x X); ands G as [G _]; apply negb_true_iff in G; eauto.
    - apply orb_prop in G as [G|G]; [left; auto | right; right].
      rewrite forallb_forall in G; specialize (G x X); destruct (clear [] (S gk) (number x) (unused s) s false) as [v w] eqn:Ec.
      ands G as [G ->]; apply negb_true_iff in G; subst v; eauto. }
  destruct Y as [(y & f & Iy & Fy)|[((l & ->) & F1)|(k & l & -> & Ec)]]; [left | right; eauto | left].
  2: { destruct (clear_sound o [] k (number x) (unused s) s a (fun _ f => match f with end)) as [_ C3]; rewrite Ec in *; auto.
       destruct (C3 eq_refl r) as (S & K & P).
       { exists l; split; auto; apply existsb_exists; exists x; split; auto; apply Nat.eqb_refl. }
       destruct (waited _ _ _ x r k l S 0 Ig I Is K P ltac:(lia)) as (u & w & Aw & O); eauto 8. }
  (* where its access to the ring stands *)
  assert (Ay : exists i, In (r ++ [Part 2; Part i], access_ y) (acts (Engine a r))).
  { destruct (listed_in r (map access_ (accesses e)) (access_ y) 0) as [i L]; [apply in_map; auto|].
    exists i; apply in_engine; exists e; split; auto.
    ops e; simpl in *; try discriminate; try (destruct X; fail); right; apply in_or_app; left; exact L. }
  destruct Ay as [i Ay]; destruct (stands_somewhere (Engine a r) _ y f Ig Ay Fy) as (k & W & r' & e' & z & st & St & Ru).
  pose proof St as (R & If & Sf & _ & Rk & (_ & _ & B1 & B2 & [(E & _)|(E & As' & _)]) & De & _); [discriminate|];
    injection E as <-.
  simpl in B1, Rk; assert (Isy : issues (Engine a r) (r ++ [Part 2; Part j]) r e' y)
    by (splits; right; eauto).
  set (c := cycle f) in *; destruct (station_spec Ru) as [At _].
  unfold at_station in At; ands At as [_ At]; destruct (st =? 0).
  2: { unfold use in At; rewrite De in At.
       destruct e' as [v|u h|[d|d|c'| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; try discriminate; ands At as [_ Re].
       destruct (group_read c _ _ y f k W r gk l z _ _ _ St I Isy Re) as (d & b & q & w & v & _ & _ & _ & Iw & O & _).
       exists a, w, v; auto. }
  destruct (fill_before c _ _ y f k W r e' z _ _ _ _ St I Isy At) as (h & q & A & Or).
  destruct (at_next R f 0 If) as (d & _ & Id & _ & Nx & _); destruct (some_there R a k W d T Rk Id) as [[h' q'] A'].
  destruct (arrival_of R a k W d h' q' T Rk Id A') as (b & z' & P & e0 & Tb & Bl & Rb & Iz & Te & Sb & _).
  destruct (rules R _ (proj1 (in_round b k W Rb))) as (_ & _ & Wt & _).
  pose proof (Wt z' d f Iz Te (barriers_in d Id) If Nx) as Hw.
  destruct (has_waited_spec f (place z') (who_ z') b k W Hw Tb Rb Sb) as (i' & Ii & Di & _ & Si & _).
  pose proof (wait_now (B := B) R b k W i' f (k / copies f) Rb Ii Di Si eq_refl) as Aw.
  assert (Bf : back f = false) by (unfold back; rewrite Sf; auto); rewrite Bf in Aw; specialize (Aw eq_refl);
    rewrite Bl in Aw.
  exists b, (W ++ place i'), (await_ (Ring (fst a) f (k mod copies f)) (k / copies f)); splits.
  eapply ord_trans; [exact Or|]; eapply signalled; eauto.
Qed.

End Sound.
