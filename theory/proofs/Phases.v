(* The traces of a valid skeleton's threads and engines are as Signals.v asks for. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents Turns.
Import ListNotations.

(* The launch has whole clusters. *)
Definition whole_clusters (B : nat) (s : stmt) : Prop := forall c h, In (Cluster c, h) (barriers s) -> exists d, B = d * c.

Section Phases.

Variables (B N : nat) (F : list fact) (s : stmt).
Hypotheses (Valid : valid N F s = true) (Clusters : whole_clusters B s).
Variable o : oracle.

Notation tr := (tr o s).
Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation arrivals := (arrivals B N o s).
Notation ord := (ord agents acts).

Let Bars : bars N s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Rings : rings N F s = true.
Proof. unfold valid in Valid; bools; auto. Qed.

(* -- barriers ----------------------------------------------------------------------------------------------------------- *)

Lemma in_barrier g q k n : In (q, barrier_ k n) (acts g) <->
  exists a u h, g = Thread a /\ In (q, EBar u h) (tr a) /\ k = key_of u h a /\ n = count B N u.
Proof.
  split.
  - destruct g as [a|a p]; rewrite ?in_thread, ?in_engine.
    + intros (p & e & I & J); ops e; simpl in J; try awaits J; undo; try discriminate; eauto 8.
    + intros (e & I & J); exfalso; ops e; simpl in J; undo; try discriminate; unlist; discriminate.
  - intros (a & u & h & -> & I & -> & ->); apply in_thread; exists q, (EBar u h); split; auto; left; reflexivity.
Qed.

Lemma bars_meet a b p u h : is_thread a -> is_thread b -> same u a b -> In (p, EBar u h) (tr a) -> In (p, EBar u h) (tr b).
Proof. intros Ta Tb U I; apply (unit_meets B N o s [] [] [] a b true true); auto; [intros _ k [] | intros _ _; auto].
Qed.

Lemma bars_own a b p q u v h g : is_thread a -> is_thread b ->
  In (p, EBar u h) (tr a) -> In (q, EBar v g) (tr b) -> key_of u h a = key_of v g b -> u = v /\ h = g /\ same u a b.
Proof. intros; unfold valid, Valid.valid in Valid; bools; eapply keys_own; eauto. Qed.

Lemma met g p k n : In g agents -> In (p, barrier_ k n) (acts g) ->
  exists w, NoDup w /\ length w = n /\ forall b, In b w <-> In b agents /\ In (p, barrier_ k n) (acts b).
Proof.
  intros Ig I; apply in_barrier in I as (a & u & h & -> & I & -> & ->); apply thread_agent in Ig.
  destruct (bars_at N o s [] [] [] a true p u h Bars (fun _ _ f => match f with end) I) as (J & C & W & Sa & _).
  destruct (whole_counts B N u C a) as (w & D & L & M); auto.
  { intros c ->; eapply Clusters; eauto. }
  exists (map Thread w); split; [|split].
  - apply FinFun.Injective_map_NoDup; auto; intros x y E; congruence.
  - rewrite map_length; auto.
  - intro b; rewrite in_map_iff; split.
    + intros (b' & <- & K); apply M in K as [Tb U]; split; [apply thread_agent; auto|].
      apply in_barrier; exists b', u, h; split; auto; split; [apply (bars_meet a); auto|]; split; auto; apply key_same; auto.
    + intros [Ib K]; apply in_barrier in K as (b' & v & g & -> & K & Ek & _); apply thread_agent in Ib.
      exists b'; split; auto; apply M; split; auto; destruct (bars_own a b' p p u v h g) as (_ & _ & U); auto.
Qed.

Lemma own f g p q k n m : In f agents -> In g agents -> In (p, barrier_ k n) (acts f) -> In (q, barrier_ k m) (acts g) ->
  In (p, barrier_ k n) (acts g) /\ In (q, barrier_ k m) (acts f).
Proof.
  intros If Ig I J; apply in_barrier in I; apply in_barrier in J.
  destruct I as (a & u & h & -> & I & Ek & ->), J as (b & v & h' & -> & J & Ek' & ->).
  apply thread_agent in If; apply thread_agent in Ig.
  destruct (bars_own a b p q u v h h') as (<- & <- & U); auto; [congruence|].
  split; apply in_barrier; [exists b | exists a]; exists u, h; repeat (split; auto).
  - apply (bars_meet a); auto.
  - apply (bars_meet b); auto; apply same_sym; auto.
Qed.

(* -- cycles ------------------------------------------------------------------------------------------------------------- *)

Notation M c := (all_barriers c s).
Notation I c W := (items (body_at c s W) [Part 0] []).
Notation round c := (round o s c).
Notation rounds_in c := (cycle_rules N F s c = true).

Lemma cycle_there e c : In e (events s) -> In c (cycles_of e) -> rounds_in c.
Proof.
  intros J K; pose proof Rings as H; unfold rings in H; ands H as [[[H _] _] _]; rewrite forallb_forall in H.
  apply H, nodup_In, in_flat_map; eauto.
Qed.

Lemma op_there a p x b : In (p, EOp x) (tr a) -> on x = Some b -> rounds_in (cycle b).
Proof.
  intros J On; apply trace_events in J; apply (cycle_there _ (cycle b) J); destruct x; simpl in On; inversion On; left; auto.
Qed.

(* What an arrival tells: its round; where it stands there; or, if it comes late, that it is before the copy is used again. *)
Lemma arrival_round h q block b copy n : In (h, q) (arrivals (Ring block b copy) n) ->
  exists a k W, rounds_in (cycle b) /\ is_thread a /\ round (cycle b) a k W /\ In b (M (cycle b)) /\
    block = fst a /\ copy = k mod copies b /\ n = k / copies b /\
    ((exists z r, In z (I (cycle b) W) /\ tells (deed_ z) = Some b /\ q = W ++ place z ++ r) \/
     (back b = true /\ forall i V t, round (cycle b) a i V -> k + copies b <= i -> precedes q (V ++ Part 0 :: t))).
Proof.
  intro J; apply in_ring_arrivals in J as (a & p & e & k & T & H & E & Bl & Co & Ph); pose proof H as (J & Ar & _).
  assert (X : rounds_in (cycle b) /\ In b (M (cycle b))).
  { destruct (arrives_cases e b Ar) as [Te| ->].
    - destruct (tells_on _ _ Te) as (x & -> & On); pose proof (op_there a p x b J On) as R.
      destruct (tell_steps (cycle b) (EOp x) b Te eq_refl) as [St En].
      destruct (op_item R a p _ J St En) as (k' & W & z & Rk & Iz & -> & De & Sz); split; auto.
      eapply tells_in; eauto; rewrite <- De; exact Te.
    - apply trace_events in J; pose proof (cycle_there _ (cycle b) J (or_introl eq_refl)) as R; split; auto.
      destruct (stages R) as (_ & _ & _ & Kn); specialize (Kn _ J).
      unfold known in Kn; rewrite Nat.eqb_refl in Kn; simpl in Kn; apply existsb_exists in Kn as (d & Id & Ed).
      apply same_as_eq in Ed; subst; auto. }
  destruct X as (R & Ib); exists a, k.
  destruct (told_where R a k b p e Ib T H) as (j & W & Ij & Te & Sa & Rk & Cs); exists W.
  splits; destruct (arrival_path _ _ _ _ _ _ E) as [r ->]; destruct Cs as [(L & -> & ->)|[(L & V & Rv & -> & ->)|(L & -> & P & Rp)]].
  - left; exists j, r; rewrite <- app_assoc; auto.
  - destruct (late_rules (o := o) R b Ib L) as (_ & _ & _ & Bk & Lc & _); right; split; auto; intros i Vi t Ri Le.
    rewrite <- app_assoc; apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a)); [exact Rv | exact Ri | lia].
  - destruct (late_rules (o := o) R b Ib L) as (_ & _ & _ & Bk & Lc & Dr & _); right; split; auto; intros i Vi t Ri Le.
    apply precedes_app_r; destruct (drain_out R b a p i Vi eq_refl Dr J Ri) as [X|X]; auto; exfalso.
    pose proof (behind_round R a i Vi p Ri X); lia.
Qed.

Lemma wait_round h q block b copy n : In h agents -> In (q, await_ (Ring block b copy) n) (acts h) ->
  exists a k W i, rounds_in (cycle b) /\ h = Thread a /\ is_thread a /\ round (cycle b) a k W /\ In b (M (cycle b)) /\
    In i (I (cycle b) W) /\ deed_ i = EOp (Wait b) /\ sats (who_ i) a /\ q = W ++ place i /\
    block = fst a /\ copy = k mod copies b /\ k / copies b = if back b then S n else n.
Proof.
  intros Ih J; apply (await_ring B N tr) in J; auto; destruct J as (a & -> & T & J & Bl & Co & Ph).
  pose proof (op_there a q _ b J eq_refl) as R.
  assert (St : steps (cycle b) (EOp (Wait b)) = true) by (simpl; apply Nat.eqb_refl).
  destruct (op_item R a q _ J St eq_refl) as (k & W & z & Rk & Iz & -> & De & Sz).
  exists a, k, W, z; unfold round_of in Co, Ph; rewrite (item_number R a k W z Rk Iz) in Co, Ph.
  splits; destruct (in_round a k W Rk) as [X _]. split; [eapply in_barriers; eauto; reflexivity|]; splits; auto.
Qed.

(* -- what Signals.v asks for -------------------------------------------------------------------------------------------- *)

Lemma sized g : 0 < size g.
Proof. destruct g; unfold size; lia. Qed.

(* Who gives a signal that is no ring's. *)
Definition given (g : signal) : option (agent * path) :=
  match g with Issued a p => Some (Thread a, p ++ [Part 0]) | Done a p => Some (Engine a p, p ++ [Part 3]) |
    _ => None end.

Lemma given_one g y n x : given g = Some y -> In x (arrivals g n) -> n = 0 /\ x = y.
Proof.
  destruct x as [h q], g; intros [= <-] I; apply are_arrivals in I as [_ I].
  - apply (arrive_issued B N tr) in I as (-> & -> & -> & _); auto.
  - apply (arrive_done B N tr) in I as (-> & -> & -> & _); auto.
Qed.

Ltac given_in I := eapply given_one in I; [|reflexivity]; let E := fresh in destruct I as [E I]; try discriminate E.

Lemma all_there g n x : In x (arrivals g n) -> length (arrivals g n) = size g.
Proof.
  assert (Given : forall y, given g = Some y -> In x (arrivals g n) -> length (arrivals g n) = 1).
  { intros y G J; pose proof (@each_once B N o s g n) as D; pose proof (fun x => given_one g y n x G) as One.
    destruct (arrivals g n) as [|z [|z' l]]; auto; [destruct J|]; exfalso; inversion D as [|? ? Nx _]; subst; apply Nx; left.
    destruct (One z), (One z'); simpl; auto; congruence. }
  intro J; destruct g as [block b copy| |]; [|exact (Given _ eq_refl J)..]; destruct x as [h q].
  destruct (arrival_round h q block b copy n J) as (a & k & W & R & T & Rk & Ib & -> & -> & -> & _).
  destruct (full R a k W b T Rk Ib) as [L P]; unfold size; lia.
Qed.

Lemma awaited h p g n : In h agents -> In (p, await_ g n) (acts h) -> exists x, In x (arrivals g n).
Proof.
  intros Ih I; destruct g as [block b copy|a r|a r].
  - destruct (wait_round h p block b copy n Ih I) as (a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
    destruct (back b); [|rewrite <- Ph; eapply some_there; eauto].
    destruct (last_round a k W (copies b) n Rk (positive R b Ib) Ph) as (V & Rv & _ & X & Y).
    rewrite <- X, <- Y; eapply some_there; eauto.
  - apply (await_issued B N tr) in I as (-> & -> & -> & e & I & J); exists (Thread a, r ++ [Part 0]).
    apply engine_agent in Ih; apply are_arrivals; split; [apply thread_agent; tauto | apply (issued_acts B N tr a r e I J)].
  - apply (await_done B N tr) in I as (-> & q & G & _ & P & e & J & S); exists (Engine a r, r ++ [Part 3]).
    apply are_arrivals; split; [|eapply done_act; eauto]; apply engine_agent; split.
    + apply (agent_thread B N tr) in Ih; destruct G as [->| ->]; auto.
    + exists e; split; auto; destruct e as [|?|[]]; try discriminate; auto.
Qed.

Lemma some_before g n x : In x (arrivals g (1 + n)) -> exists y, In y (arrivals g n).
Proof.
  intro J; destruct g as [block b copy| |]; [|given_in J..]; destruct x as [h q].
  destruct (arrival_round h q block b copy _ J) as (a & k & W & R & T & Rk & Ib & -> & -> & Ph & _).
  destruct (last_round a k W (copies b) n Rk (positive R b Ib) (eq_sym Ph)) as (V & Rv & _ & X & Y).
  rewrite <- X, <- Y; eapply some_there; eauto.
Qed.

Lemma arrives_first f g p q r n : In (f, p) (arrivals r n) -> In g agents -> In (q, await_ r n) (acts g) -> precedes p q.
Proof.
  intros I Ig J; destruct r as [block b copy|a r|a r].
  - destruct (wait_round g q block b copy n Ig J) as (a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
    destruct (arrival_round f p _ b _ n I) as (a' & k' & W' & R' & T' & Rk' & Ib' & Bl & Co & Ph' & At).
      pose proof (positive R b Ib) as Pos; destruct (item_first W i Ii) as [t Ei].
    assert (Rk1 : round (cycle b) a' k W) by exact (round_same R a a' k W T T' Bl Rk). destruct (back b) eqn:Bb.
    + assert (k = k' + copies b) by (apply round_unique; auto; congruence); subst k.
      destruct At as [(z & r & Iz & Tz & ->)|(_ & Be)]; [|rewrite Ei; eapply Be; eauto].
      apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a')); [exact Rk' | exact Rk1 | lia].
    + destruct At as [(z & r & Iz & Tz & ->)|(X & _)]; [|congruence].
      assert (k = k') by (apply (round_equal k k' (copies b)); congruence); subst k'.
      assert (W' = W) by (unfold Turns.round in *; congruence); subst W'.
      destruct (rules R _ (proj1 (in_round a k W Rk))) as (_ & _ & _ & Wa). destruct (Wa i b Ii De eq_refl) as [_ Be].
      specialize (Be Bb z Iz (tell_is b z Tz)); exists None; apply before_prefix; rewrite <- (app_nil_r (place i)).
      apply before_app, prec_sound; auto.
  - apply (await_issued B N tr) in J as (-> & -> & -> & _); given_in I; inversion I; apply parts_precede; lia.
  - apply (await_done B N tr) in J as (-> & p' & _ & (t & ->) & P & _); given_in I; inversion I.
    apply precedes_app; auto.
Qed.

Lemma phases g n f p h q : In (f, p) (arrivals g n) -> In (h, q) (arrivals g (1 + n)) -> ord f p h q.
Proof.
  intros J K; destruct g as [block b copy| |]; [|given_in K..].
  destruct (arrival_round f p block b copy n J) as (a & k & W & R & _ & _ & Ib & _).
  apply (in_order R block b n b (1 + n) copy (f, p) (h, q)); auto; unfold time; simpl; lia.
Qed.

Lemma in_time g p r n h q : In g agents -> In (p, await_ r n) (acts g) -> In (h, q) (arrivals r (1 + n)) -> ord g p h q.
Proof.
  intros Ig J K; destruct r as [block b copy| |]; [|given_in K..].
  destruct (wait_round g p block b copy n Ig J) as (a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
  destruct (rules R _ (proj1 (in_round a k W Rk))) as (_ & _ & _ & Wa); destruct (Wa i b Ii De eq_refl) as [To _].
  destruct (told_by R a k W (place i) (who_ i) _ (W ++ place i) (await_ (Ring (fst a) b (k mod copies b)) n)
              T Rk Sa To) as (d & h' & q' & Ch & Id & A & Or).
  { intros d Cd; bools; auto. }
  { intros t Pt; exists None; apply before_prefix; auto. }
  { exact J. }
  apply andb_prop in Ch as [_ Ch]; apply Nat.eqb_eq in Ch.
  rewrite <- (same_copies R b d Ib Id) in A; apply ord_trans with h' q'; auto.
  apply (in_order R (fst a) d (k / copies b) b (1 + n) (k mod copies b) (h', q') (h, q)); auto.
  rewrite Ph, (next_time R b d n Ib Id Ch); destruct (stages R) as (Tp & _). unfold time; rewrite Nat.mul_succ_l; lia.
Qed.

Lemma not_early g p r n h q : In g agents -> In (p, await_ r (1 + n)) (acts g) -> In (h, q) (arrivals r n) ->
  exists p' e, In (p', e) (acts g) /\ precedes p' p /\ ord h q g p'.
Proof.
  intros Ig I J; destruct r as [block b copy|a r|a r];
    [|apply (await_issued B N tr) in I as (_ & E & _); discriminate | apply (await_done B N tr) in I as (E & _); discriminate].
  destruct (wait_round g p block b copy _ Ig I) as (a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
  pose proof (positive R b Ib) as Pos.
  assert (Ph' : exists m, k / copies b = S m /\ m = if back b then S n else n) by (destruct (back b); eauto).
  destruct Ph' as (m & Pm & Em); destruct (last_round a k W (copies b) m Rk Pos Pm) as (V & Rv & Ek & X & Y).
  destruct (in_round a k W Rk) as [Bk _], (in_round a _ V Rv) as [Bv _].
  pose proof (ruled R _ Bk) as Sd; unfold ring_rules in Sd; ands Sd as [[[_ Sd] _] _].
  unfold steady in Sd; rewrite forallb_forall in Sd; specialize (Sd i Ii); rewrite De, Nat.eqb_refl in Sd; simpl in Sd.
  rewrite forallb_forall in Sd; specialize (Sd _ Bv).
  destruct (has_waited_spec b _ (who_ i) a _ V Sd T Rv Sa) as (i' & Ii' & De' & _ & Sa' & _).
  pose proof (wait_now (B := B) R a (k - copies b) V i' b n Rv Ii' De' Sa' eq_refl) as Aw.
  rewrite X, Y in Aw; specialize (Aw Em).
  exists (V ++ place i'), (await_ (Ring (fst a) b (k mod copies b)) n); split; auto; split.
  - apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a)); [exact Rv | exact Rk | lia].
  - eapply signalled; eauto.
Qed.

(* -- so no state is stuck, runs end, and what is meant to come before happens before ------------------------------------- *)

Definition begin := start acts.
Definition Run := @run agent access key signal agents size.
Definition Step := @step agent access key signal agents size.
Definition At := @at_ agent access key signal.
Definition Hb := @hb agent access key signal signal_dec size.

Lemma sorted_acts g : In g agents -> isorted (acts g).
Proof. apply acts_sorted; intros a _; apply trace_sorted. Qed.

(* What is proved of the machine, of these traces. *)
Ltac of_machine lemma := eapply (lemma agent access key signal); try exact agent_dec; try exact signal_dec; first
  [ exact sorted_acts | exact met | exact own | exact sized | exact (@each_once B N o s) | exact (@are_arrivals B N o s)
  | exact all_there | exact awaited | exact some_before | exact arrives_first | exact phases | exact in_time |
    exact not_early
  | idtac ].

Notation Ok := (ok agents acts arrivals).

Lemma reached ls M : Run begin ls M -> Ok M.
Proof. intro R; of_machine @ok_run; [apply start_ok | exact R]. Qed.

(* Whatever the decisions and the order of steps: a state that is reached is the end, or some thread or engine can go on. *)
Theorem no_deadlock ls M : Run begin ls M -> finished agents M \/ exists l M', Step M l M'.
Proof. intro R; of_machine @progress; exact (reached ls M R). Qed.

(* No run goes on for ever. *)
Theorem runs_end : exists n, forall ls M, Run begin ls M -> length ls <= n.
Proof. exists (total agents begin); intros ls M R; apply (run_bounded agent_dec) in R; lia. Qed.

Lemma before_it ls M g p h q j : Run begin ls M -> ord g p h q -> At ls j h q -> exists i, At ls i g p /\ i < j /\ Hb ls i j.
Proof. intros R O A; of_machine @ordered; eauto. Qed.

(* What an agent does at a position it does once. *)
Lemma once ls M g p x i j : Run begin ls M -> In g agents -> In (p, x) (acts g) -> At ls i g p -> At ls j g p -> i < j -> False.
Proof. intros R Ig I Ai Aj L; of_machine @Signals.once; [exact R | exact Ig | exact I | exact Ai | exact Aj | exact L].
Qed.

(* Threads that the hardware cannot tell apart wait at one barrier. *)
Theorem no_mixture ls M f g p q k n m r r' : Run begin ls M -> In f agents -> In g agents ->
  left M f = (p, barrier_ k n) :: r -> left M g = (q, barrier_ k m) :: r' -> p = q /\ n = m.
Proof. intros R If Ig Ef Eg; of_machine @one_barrier;
  [exact (reached ls M R) | exact If | exact Ig | exact Ef | exact Eg]. Qed.

End Phases.
