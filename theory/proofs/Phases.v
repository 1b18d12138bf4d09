(* The traces of a valid skeleton's threads and engines are as Signals.v asks for. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents Turns.
Import ListNotations.

(* The launch has whole clusters. *)
Definition whole_clusters (B : nat) (s : stmt) : Prop := forall c h, In (Cluster c, h) (barriers s) -> exists d, B = d * c.

Lemma single (A : Type) (l : list A) y : NoDup l -> (forall x, In x l -> x = y) -> In y l -> length l = 1.
Proof.
  intros D H I; destruct l as [|x [|z l]]; [destruct I | auto|]; exfalso.
  inversion D as [|? ? N _]; subst; apply N; left; rewrite (H x), (H z); simpl; auto.
Qed.

Lemma at_most_one (A : Type) (l : list A) y : NoDup l -> (forall x, In x l -> x = y) -> length l <= 1.
Proof.
  intros D H; destruct l as [|x [|z l]]; simpl; auto; exfalso.
  inversion D as [|? ? N _]; subst; apply N; left; rewrite (H x), (H z); simpl; auto.
Qed.

Lemma not_empty (A : Type) (l : list A) : 0 < length l -> exists x, In x l.
Proof. destruct l as [|x l]; simpl; [lia|]; intros _; exists x; auto. Qed.

Ltac unlist := unfold waits_done in *; match goal with
  | J : In _ (listed _ _ _) |- _ => apply in_listed in J; destruct J as [J _]; apply in_map_iff in J; destruct J as (? & J & _)
  end.
Ltac waits J d a p := match type of J with
  | context [back d] => destruct (back d); [destruct (phase_of _ d a p)|]
  | In _ (tell_acts _ _ _ _ _) => apply in_tell in J; destruct J as (? & ? & ? & J)
  | In _ (waits_done _ _ _) => unlist
  | _ => idtac end.

Section Phases.

Variables (B N : nat) (F : list fact) (s : stmt).
Hypotheses (Valid : valid N F s = true) (Clusters : whole_clusters B s).
Variable o : oracle.

Notation tr := (tr o s).
Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation arrivals := (arrivals B N o s).
Notation ord := (ord agent access key signal agents acts).

Let Bars : bars N s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Keys : keys N s = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Let Rings : rings N F s = true.
Proof. unfold valid in Valid; bools; auto. Qed.

Let nothing (a : thread) : true = true -> sats [] a.
Proof. intros _ k []. Qed.

Definition order := tr_order B N o s.

(* -- barriers ----------------------------------------------------------------------------------------------------------- *)

Lemma in_barrier g q k n : In (q, barrier_ k n) (acts g) <->
  exists a u h, g = Thread a /\ In (q, EBar u h) (tr a) /\ k = key_of u h a /\ n = count B N u.
Proof.
  split.
  - destruct g as [a|a p]; rewrite ?in_thread, ?in_engine.
    + intros (p & e & I & J); destruct e as [x|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in J; waits J d a p;
        undo; try discriminate; eauto 8.
    + intros (e & I & J); exfalso; destruct e as [x|u h|[d|d|c| |d l|l|d|gk l|gk gn|d|rf rw|rf rw|]]; simpl in J; undo; try discriminate; unlist; discriminate.
  - intros (a & u & h & -> & I & -> & ->); apply in_thread; exists q, (EBar u h); split; auto; left; reflexivity.
Qed.

Lemma bars_meet a b p u h : is_thread a -> is_thread b -> same u a b -> In (p, EBar u h) (tr a) -> In (p, EBar u h) (tr b).
Proof. intros Ta Tb U I; apply (unit_meets B N o s [] [] [] a b true true); auto; intros _ _; auto. Qed.

Lemma bars_own a b p q u v h g : is_thread a -> is_thread b ->
  In (p, EBar u h) (tr a) -> In (q, EBar v g) (tr b) -> key_of u h a = key_of v g b -> u = v /\ h = g /\ same u a b.
Proof. intros; eapply keys_own; eauto. Qed.

Lemma met g p k n : In g agents -> In (p, barrier_ k n) (acts g) ->
  exists w, NoDup w /\ length w = n /\ forall b, In b w <-> In b agents /\ In (p, barrier_ k n) (acts b).
Proof.
  intros Ig I; apply in_barrier in I; destruct I as (a & u & h & -> & I & -> & ->); apply thread_agent in Ig.
  destruct (bars_at N o s [] [] [] a true p u h Bars (nothing a) I) as (J & C & W & Sa & _).
  destruct (whole_counts B N u C a) as (w & D & L & M); auto.
  { intros c ->; eapply Clusters; eauto. }
  exists (map Thread w); split; [|split].
  - apply FinFun.Injective_map_NoDup; auto; intros x y E; congruence.
  - rewrite map_length; auto.
  - intro b; rewrite in_map_iff; split.
    + intros (b' & <- & K); apply M in K; destruct K as [Tb U]; split; [apply thread_agent; auto|].
      apply in_barrier; exists b', u, h; split; auto; split; [apply (bars_meet a); auto|]; split; auto; apply key_same; auto.
    + intros [Ib K]; apply in_barrier in K; destruct K as (b' & v & g & -> & K & Ek & _); apply thread_agent in Ib.
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

Definition rounds_in (c : nat) (body : stmt) : Prop :=
  bodies c s = [body] /\ outer N c s true = true /\ turns N (items body [Part 0] []) c s = true /\ ring_rules N F s c body = true.

Lemma cycle_there e c : In e (events s) -> In c (cycles_of e) -> exists body, rounds_in c body.
Proof.
  intros I J; unfold rings in Rings; bools; rename H into H'; rewrite forallb_forall in H'.
  assert (K : In c (nodup Nat.eq_dec (flat_map cycles_of (events s)))) by (apply nodup_In, in_flat_map; eauto).
  specialize (H' c K); unfold cycle_rules in H'; bools; destruct (bodies c s) as [|b [|? ?]] eqn:E; try discriminate.
  exists b; split; auto; split; auto; split; auto; unfold ring_rules in H2; bools; auto.
Qed.

Lemma op_there a p x b : In (p, EOp x) (tr a) -> on x = Some b -> exists body, rounds_in (cycle b) body.
Proof.
  intros I On; apply trace_events in I; apply (cycle_there _ (cycle b) I); destruct x; simpl in On; inversion On; left; auto.
Qed.

Notation round c := (round o s c).
Notation M body c := (barriers_of (items body [Part 0] []) c).

(* What an arrival tells: its round; where it stands there; or, if it comes late, that it is before the copy is used again. *)
Lemma arrival_round h q block b copy n : In (h, q) (arrivals (Ring block b copy) n) ->
  exists body a k W, rounds_in (cycle b) body /\ is_thread a /\ round (cycle b) a k W /\ In b (M body (cycle b)) /\
    block = fst a /\ copy = k mod copies b /\ n = k / copies b /\
    ((exists z r, In z (items body [Part 0] []) /\ tells (deed_ z) = Some b /\ q = W ++ place z ++ r) \/
     (back b = true /\ forall i V t, round (cycle b) a i V -> k + copies b <= i -> precedes q (V ++ Part 0 :: t))).
Proof.
  intro I; apply in_ring_arrivals in I; destruct I as (a & p & e & k & T & H & E & Bl & Co & Ph); pose proof H as (I & Ar & _).
  assert (X : exists body, rounds_in (cycle b) body /\ In b (M body (cycle b))).
  { destruct (arrives_cases e b Ar) as [Te| ->].
    - destruct (tells_on _ _ Te) as (x & -> & On); destruct (op_there a p x b I On) as [body R]; pose proof R as (Bo & Ou & Tu & _).
      destruct (tell_steps (cycle b) (EOp x) b Te eq_refl) as [St En].
      destruct (op_item N o s (cycle b) body Bo Ou a p _ I St En) as (k' & W & z & Rk & Iz & -> & De & Sz); exists body; split; auto.
      eapply in_barriers; eauto.
    - apply trace_events in I; destruct (cycle_there _ (cycle b) I (or_introl eq_refl)) as [body R]; exists body; split; auto.
      pose proof R as (Bo & Ou & Tu & _); destruct (rules N s (cycle b) body Tu) as (_ & _ & _ & _ & _ & Kn & _); specialize (Kn _ I).
      unfold known in Kn; rewrite Nat.eqb_refl in Kn; simpl in Kn; apply existsb_exists in Kn; destruct Kn as (d & Id & Ed).
      apply mbarrier_eq in Ed; subst; auto. }
  destruct X as (body & R & Ib); pose proof R as (Bo & Ou & Tu & _); exists body, a, k.
  destruct (told_where B N o s (cycle b) body Bo Ou Tu a k b p e Ib T H) as (j & W & Ij & Te & Sa & Rk & Cs); exists W.
  repeat (split; [solve [auto]|]); destruct (arrival_path _ _ _ _ _ _ E) as [r ->]; destruct Cs as [(L & -> & ->)|[(L & V & Rv & -> & ->)|(L & -> & P & Rp)]].
  - left; exists j, r; rewrite <- app_assoc; auto.
  - destruct (late_rules N o s (cycle b) body Tu b Ib L) as (_ & _ & _ & Bk & Lc & _); right; split; auto; intros i Vi t Ri Le.
    rewrite <- app_assoc; apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a)); [exact Rv | exact Ri | lia].
  - destruct (late_rules N o s (cycle b) body Tu b Ib L) as (_ & _ & _ & Bk & Lc & Dr & _); right; split; auto; intros i Vi t Ri Le.
    apply precedes_app_r; destruct (drain_out N o s (cycle b) Ou b a p i Vi eq_refl Dr I Ri) as [X|X]; auto; exfalso.
    pose proof (behind_round N o s (cycle b) Ou a i Vi p Ri X); lia.
Qed.

Lemma wait_round h q block b copy n : In h agents -> In (q, await_ (Ring block b copy) n) (acts h) ->
  exists body a k W i, rounds_in (cycle b) body /\ h = Thread a /\ is_thread a /\ round (cycle b) a k W /\ In b (M body (cycle b)) /\
    In i (items body [Part 0] []) /\ deed_ i = EOp (Wait b) /\ sats (who_ i) a /\ q = W ++ place i /\
    block = fst a /\ copy = k mod copies b /\ k / copies b = if back b then S n else n.
Proof.
  intros Ih I; apply (await_ring B N tr) in I; auto; destruct I as (a & -> & T & I & Bl & Co & Ph).
  destruct (op_there a q _ b I eq_refl) as [body R]; pose proof R as (Bo & Ou & Tu & _).
  assert (St : steps (cycle b) (EOp (Wait b)) = true) by (simpl; apply Nat.eqb_refl).
  destruct (op_item N o s (cycle b) body Bo Ou a q _ I St eq_refl) as (k & W & z & Rk & Iz & -> & De & Sz).
  exists body, a, k, W, z; unfold round_of in Co, Ph; rewrite (item_number N o s (cycle b) body Ou a k W z Rk Iz) in Co, Ph.
  repeat (split; [auto|]); [eapply in_barriers; eauto; reflexivity|]; repeat (split; [auto|]); auto.
Qed.

Lemma positive c body b : rounds_in c body -> In b (M body c) -> 0 < copies b.
Proof. intros (_ & _ & Tu & _) I; destruct (rules N s c body Tu) as (_ & _ & Cp & _); destruct (Cp b b I I); auto. Qed.

Lemma same_copies c body b d : rounds_in c body -> In b (M body c) -> In d (M body c) -> copies b = copies d.
Proof. intros (_ & _ & Tu & _) I J; destruct (rules N s c body Tu) as (_ & _ & Cp & _); destruct (Cp b d I J); auto. Qed.

Lemma exists_back c body : rounds_in c body -> (exists f, In f (M body c) /\ back f = false) /\ (exists r, In r (M body c) /\ back r = true).
Proof.
  intros (_ & _ & Tu & _); destruct (rules N s c body Tu) as (Eb & Ef & _); apply existsb_exists in Eb; apply existsb_exists in Ef.
  destruct Eb as (r & Ir & Br), Ef as (f & If & Bf); apply negb_true_iff in Bf; split; [exists f | exists r]; auto.
Qed.

(* All that arrive for a round are there. *)
Lemma all_there c body a k W b : rounds_in c body -> is_thread a -> round c a k W -> In b (M body c) ->
  length (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) = need b /\ 0 < need b.
Proof. intros (Bo & Ou & Tu & _) T R I; eapply full; eauto. Qed.

Lemma some_there c body a k W b : rounds_in c body -> is_thread a -> round c a k W -> In b (M body c) ->
  exists x, In x (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)).
Proof. intros R T Rk I; destruct (all_there c body a k W b R T Rk I); apply not_empty; lia. Qed.

(* The round in which a copy was used last. *)
Lemma last_round c a k W n m : round c a k W -> 0 < n -> k / n = S m ->
  exists V, round c a (k - n) V /\ k = k - n + n /\ (k - n) mod n = k mod n /\ (k - n) / n = m.
Proof.
  intros R L E; assert (Le : n <= k) by (destruct (le_lt_dec n k) as [|G]; auto; rewrite Nat.div_small in E by auto; discriminate).
  destruct (next_round (k - n) n L) as [X Y]; replace (k - n + n) with k in * by lia.
  assert (Ex : exists V, round c a (k - n) V).
  { unfold Turns.round in *; destruct (nth_error (visits o c s [] a) (k - n)) eqn:G; eauto; exfalso; apply nth_error_None in G.
    assert (k < length (visits o c s [] a)) by (apply nth_error_Some; congruence); lia. }
  destruct Ex as [V Rv]; exists V; split; auto; split; auto; split; auto; lia.
Qed.

Lemma round_unique k j n : 0 < n -> k mod n = j mod n -> S (k / n) = j / n -> j = k + n.
Proof.
  intros L E D; pose proof (Nat.div_mod k n ltac:(lia)) as K; pose proof (Nat.div_mod j n ltac:(lia)) as J.
  rewrite <- D, <- E, Nat.mul_succ_r in J; lia.
Qed.

Lemma round_equal k j n : 0 < n -> k mod n = j mod n -> k / n = j / n -> k = j.
Proof.
  intros L E D; pose proof (Nat.div_mod k n ltac:(lia)) as K; pose proof (Nat.div_mod j n ltac:(lia)) as J.
  rewrite <- D, <- E in J; congruence.
Qed.

(* -- what Signals.v asks for -------------------------------------------------------------------------------------------- *)

Lemma sized g : 0 < size g.
Proof. destruct g; unfold size; lia. Qed.

Lemma ring_size block b copy n : length (arrivals (Ring block b copy) n) = need b /\ 0 < need b ->
  length (arrivals (Ring block b copy) n) = size (Ring block b copy).
Proof. unfold size; lia. Qed.

Lemma issued_one a p x : In x (arrivals (Issued a p) 0) -> x = (Thread a, p ++ [Part 0]).
Proof.
  destruct x as [h q]; intro I; apply are_arrivals in I; destruct I as [_ I]; apply (arrive_issued B N tr) in I.
  destruct I as (-> & -> & _); auto.
Qed.

Lemma done_one a p x : In x (arrivals (Done a p) 0) -> x = (Engine a p, p ++ [Part 3]).
Proof.
  destruct x as [h q]; intro I; apply are_arrivals in I; destruct I as [_ I]; apply (arrive_done B N tr) in I.
  destruct I as (-> & _ & -> & _); auto.
Qed.

Lemma issued_phase a p n x : In x (arrivals (Issued a p) n) -> n = 0.
Proof. destruct x as [h q]; intro I; apply are_arrivals in I; destruct I as [_ I]; apply (arrive_issued B N tr) in I; tauto. Qed.

Lemma done_phase a p n x : In x (arrivals (Done a p) n) -> n = 0.
Proof. destruct x as [h q]; intro I; apply are_arrivals in I; destruct I as [_ I]; apply (arrive_done B N tr) in I; tauto. Qed.

Lemma enough h p g n : In h agents -> In (p, await_ g n) (acts h) -> length (arrivals g n) = size g.
Proof.
  intros Ih I; destruct g as [block b copy|a r|a r].
  - destruct (wait_round h p block b copy n Ih I) as (body & a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
    destruct (back b); apply ring_size; [|rewrite <- Ph; eapply all_there; eauto].
    destruct (last_round _ a k W (copies b) n Rk (positive _ _ _ R Ib) Ph) as (V & Rv & _ & X & Y); rewrite <- X, <- Y; eapply all_there; eauto.
  - apply (await_issued B N tr) in I; destruct I as (-> & -> & -> & e & I & J).
    apply (single _ _ (Thread a, r ++ [Part 0])); [apply each_once | apply issued_one|].
    apply engine_agent in Ih; apply are_arrivals; split; [apply thread_agent; tauto | apply (issued_acts B N tr a r e I J)].
  - apply (await_done B N tr) in I; destruct I as (-> & q & G & _ & P & e & J & S).
    apply (single _ _ (Engine a r, r ++ [Part 3])); [apply each_once | apply done_one|].
    assert (T : is_thread a) by (apply (agent_thread B N tr) in Ih; destruct G as [->| ->]; auto).
    apply are_arrivals; split; [|eapply done_act; eauto].
    apply engine_agent; split; auto; exists e; split; auto; destruct e as [|?|[]]; try discriminate; auto.
Qed.

Lemma at_most g n : length (arrivals g n) <= size g.
Proof.
  destruct g as [block b copy|a r|a r]; unfold size.
  - destruct (arrivals (Ring block b copy) n) as [|[h q] t] eqn:E; [simpl; lia|].
    assert (I : In (h, q) (arrivals (Ring block b copy) n)) by (rewrite E; left; auto).
    destruct (arrival_round h q block b copy n I) as (body & a & k & W & R & T & Rk & Ib & -> & -> & -> & _).
    destruct (all_there _ body a k W b R T Rk Ib) as [L _]; rewrite E in L; lia.
  - destruct n as [|n]; [apply (at_most_one _ _ (Thread a, r ++ [Part 0])); [apply each_once | apply issued_one]|].
    destruct (arrivals (Issued a r) (S n)) as [|x t] eqn:E; [simpl; lia|].
    assert (I : In x (arrivals (Issued a r) (S n))) by (rewrite E; left; auto); apply issued_phase in I; discriminate.
  - destruct n as [|n]; [apply (at_most_one _ _ (Engine a r, r ++ [Part 3])); [apply each_once | apply done_one]|].
    destruct (arrivals (Done a r) (S n)) as [|x t] eqn:E; [simpl; lia|].
    assert (I : In x (arrivals (Done a r) (S n))) by (rewrite E; left; auto); apply done_phase in I; discriminate.
Qed.

Lemma enough_before g n : arrivals g (1 + n) <> [] -> length (arrivals g n) = size g.
Proof.
  intro NE; destruct (arrivals g (1 + n)) as [|[h q] t] eqn:E; [congruence|].
  assert (I : In (h, q) (arrivals g (1 + n))) by (rewrite E; left; auto); clear NE E.
  destruct g as [block b copy|a r|a r]; [|apply issued_phase in I; discriminate | apply done_phase in I; discriminate].
  destruct (arrival_round h q block b copy _ I) as (body & a & k & W & R & T & Rk & Ib & -> & -> & Ph & _).
  destruct (last_round _ a k W (copies b) n Rk (positive _ _ _ R Ib) (eq_sym Ph)) as (V & Rv & _ & X & Y).
  apply ring_size; rewrite <- X, <- Y; eapply all_there; eauto.
Qed.

Lemma arrives_first f g p q r n : In (f, p) (arrivals r n) -> In g agents -> In (q, await_ r n) (acts g) -> precedes p q.
Proof.
  intros I Ig J; destruct r as [block b copy|a r|a r].
  - destruct (wait_round g q block b copy n Ig J) as (body & a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
    destruct (arrival_round f p _ b _ n I) as (body' & a' & k' & W' & R' & T' & Rk' & Ib' & Bl & Co & Ph' & At).
    assert (body' = body) by (destruct R as [R _], R' as [R' _]; congruence); subst body'.
    pose proof (positive _ _ _ R Ib) as Pos; pose proof R as (Bo & Ou & Tu & _); destruct (item_first body i Ii) as [t Ei].
    assert (Rk1 : round (cycle b) a' k W) by (apply (round_same B N o s (cycle b) Ou a a'); auto).
    destruct (back b) eqn:Bb.
    + assert (k = k' + copies b) by (apply round_unique; auto; congruence); subst k.
      destruct At as [(z & r & Iz & Tz & ->)|(_ & Be)]; [|rewrite Ei; eapply Be; eauto].
      apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a')); [exact Rk' | exact Rk1 | lia].
    + destruct At as [(z & r & Iz & Tz & ->)|(X & _)]; [|congruence].
      assert (k = k') by (apply (round_equal k k' (copies b)); congruence); subst k'.
      assert (W' = W) by (unfold Turns.round in *; congruence); subst W'.
      destruct (rules N s (cycle b) body Tu) as (_ & _ & _ & _ & _ & _ & _ & Wa); destruct (Wa i b Ii De eq_refl) as [_ Be].
      specialize (Be Bb z Iz (tell_is b z Tz)); exists None; apply before_prefix; rewrite <- (app_nil_r (place i)).
      apply before_app, prec_sound; auto.
  - apply (await_issued B N tr) in J; destruct J as (-> & -> & -> & _); apply issued_one in I; inversion I; subst; apply parts_precede; lia.
  - apply (await_done B N tr) in J; destruct J as (-> & p' & _ & (t & ->) & P & _); apply done_one in I; inversion I; subst.
    apply precedes_app; auto.
Qed.

Lemma phases g n f p h q : In (f, p) (arrivals g n) -> In (h, q) (arrivals g (1 + n)) -> ord f p h q.
Proof.
  intros I J; destruct g as [block b copy|a r|a r]; [|apply issued_phase in J; discriminate | apply done_phase in J; discriminate].
  destruct (arrival_round f p block b copy n I) as (body & a & k & W & R & T & Rk & Ib & Bl & Co & Ph & _).
  destruct (arrival_round h q block b copy _ J) as (body' & a' & k' & W' & R' & T' & Rk' & Ib' & Bl' & Co' & Ph' & _).
  assert (body' = body) by (destruct R as [R _], R' as [R' _]; congruence); subst body' block copy.
  pose proof (positive _ _ _ R Ib) as Pos; pose proof R as (Bo & Ou & Tu & _).
  assert (Rk2 : round (cycle b) a k' W') by (apply (round_same B N o s (cycle b) Ou a' a); auto).
  assert (k' = k + copies b) by (apply round_unique; auto; try congruence; lia); clear R' Rk'.
  destruct (exists_back _ _ R) as ((d & Id & Bd) & (r & Ir & Br)).
  destruct (back b) eqn:Bb.
  - destruct (some_there _ body a k' W' d R T Rk2 Id) as [z Z]; subst n; rewrite Co' in J; rewrite Ph' in J.
    pose proof (same_copies _ _ _ _ R Ib Id) as E.
    apply ord_trans with (fst z) (snd z).
    + apply (free_then_fill B N o s (cycle b) body Bo Ou Tu a k W k' W' d b (f, p) z); auto; congruence.
    + apply (fill_then_free B N o s (cycle b) body Bo Ou Tu a k' W' d b z (h, q)); auto.
  - destruct (some_there _ body a k W r R T Rk Ir) as [z Z]; subst n; rewrite Co' in J; rewrite Ph' in J.
    apply ord_trans with (fst z) (snd z).
    + apply (fill_then_free B N o s (cycle b) body Bo Ou Tu a k W b r (f, p) z); auto.
    + apply (free_then_fill B N o s (cycle b) body Bo Ou Tu a k W k' W' b r z (h, q)); auto.
Qed.

Lemma in_time g p r n : In g agents -> In (p, await_ r n) (acts g) -> arrivals r (1 + n) <> [] ->
  exists h q, In (h, q) (arrivals r (1 + n)) /\ ord g p h q.
Proof.
  intros Ig I NE; destruct (arrivals r (1 + n)) as [|[h q] t] eqn:E; [congruence|].
  assert (J : In (h, q) (arrivals r (1 + n))) by (rewrite E; left; auto); rewrite <- E; clear NE E t.
  exists h, q; split; auto; destruct r as [block b copy|a r|a r]; [|apply issued_phase in J; discriminate | apply done_phase in J; discriminate].
  destruct (wait_round g p block b copy n Ig I) as (body & a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
  destruct (arrival_round h q _ b _ _ J) as (body' & a' & k' & W' & R' & T' & Rk' & Ib' & Bl & Co & Ph' & _).
  assert (body' = body) by (destruct R as [R _], R' as [R' _]; congruence); subst body'.
  pose proof (positive _ _ _ R Ib) as Pos; pose proof R as (Bo & Ou & Tu & _).
  assert (Rk2 : round (cycle b) a k' W') by (apply (round_same B N o s (cycle b) Ou a' a); auto).
  destruct (rules N s (cycle b) body Tu) as (_ & _ & _ & _ & _ & _ & _ & Wa); destruct (Wa i b Ii De eq_refl) as [To _].
  destruct (told_by B N o s (cycle b) body Bo Ou Tu a k W (place i) (who_ i) _ (W ++ place i) (await_ (Ring (fst a) b (k mod copies b)) n)
              T Rk Sa To) as (d & h' & q' & Ch & Id & A & Or).
  { intros d Cd; bools; auto. }
  { intros t Pt; exists None; apply before_prefix; auto. }
  { exact I. }
  apply andb_prop in Ch; destruct Ch as [_ Ch]; apply negb_true_iff, eqb_false in Ch.
  pose proof (same_copies _ _ _ _ R Ib Id) as Ec.
  change (1 + n) with (S n) in *; apply ord_trans with h' q'; auto; destruct (back b) eqn:Bb; simpl in Ch.
  - assert (k' = k) by (apply (round_equal k' k (copies b)); congruence); subst k'; rewrite Ph' in J.
    apply (fill_then_free B N o s (cycle b) body Bo Ou Tu a k W d b (h', q') (h, q)); auto.
  - assert (k' = k + copies b) by (apply round_unique; auto; congruence); rewrite Co, Ph' in J.
    apply (free_then_fill B N o s (cycle b) body Bo Ou Tu a k W k' W' b d (h', q') (h, q)); auto.
Qed.

Lemma not_early g p r n h q : In g agents -> In (p, await_ r (1 + n)) (acts g) -> In (h, q) (arrivals r n) ->
  exists p' e, In (p', e) (acts g) /\ precedes p' p /\ ord h q g p'.
Proof.
  intros Ig I J; destruct r as [block b copy|a r|a r];
    [|apply (await_issued B N tr) in I; destruct I as (_ & E & _); discriminate | apply (await_done B N tr) in I; destruct I as (E & _); discriminate].
  destruct (wait_round g p block b copy _ Ig I) as (body & a & k & W & i & R & -> & T & Rk & Ib & Ii & De & Sa & -> & -> & -> & Ph).
  pose proof (positive _ _ _ R Ib) as Pos; pose proof R as (Bo & Ou & Tu & _).
  assert (Ph' : exists m, k / copies b = S m /\ m = if back b then S n else n) by (destruct (back b); eauto).
  destruct Ph' as (m & Pm & Em); destruct (last_round _ a k W (copies b) m Rk Pos Pm) as (V & Rv & Ek & X & Y).
  destruct (wait_now B N o s (cycle b) body Bo Ou a (k - copies b) V i b Rv Ii De Sa eq_refl) as [Wf Wb]; rewrite X, Y in Wf; rewrite X, Y in Wb.
  assert (Aw : In (V ++ place i, await_ (Ring (fst a) b (k mod copies b)) n) (acts (Thread a))) by (destruct (back b) eqn:Bb; subst m; auto).
  exists (V ++ place i), (await_ (Ring (fst a) b (k mod copies b)) n); split; auto; split.
  - apply precedes_app; eapply (rising_nth _ (visits_rising o (cycle b) s [] a)); [exact Rv | exact Rk | lia].
  - eapply signalled; eauto.
Qed.

(* -- so no state is stuck, runs end, and what is meant to come before happens before ------------------------------------- *)

Definition begin : state agent access key signal := start agent access key signal acts.
Definition Run := run agent access key signal agents size.
Definition Step := step agent access key signal agents size.
Definition At := at_ agent access signal.
Definition Hb := hb agent access signal signal_dec size.

Lemma sorted_acts g : In g agents -> isorted (acts g).
Proof. apply acts_sorted; intros a _; apply trace_sorted. Qed.

Notation Ok := (ok agent access key signal agents acts arrivals).

Lemma reached ls M : Run begin ls M -> Ok M.
Proof.
  intro R; refine (ok_run agent access key signal agent_dec signal_dec agents size acts sorted_acts met own arrivals sized
    (each_once B N o s) (are_arrivals B N o s) enough enough_before at_most phases in_time not_early begin ls M _ R); apply start_ok.
Qed.

(* Whatever the decisions and the order of steps: a state that is reached is the end, or some thread or engine can go on. *)
Theorem no_deadlock ls M : Run begin ls M -> finished agent access key signal agents M \/ exists l M', Step M l M'.
Proof.
  intro R; apply (progress agent access key signal agent_dec signal_dec agents size acts sorted_acts met arrivals sized
    (each_once B N o s) (are_arrivals B N o s) enough enough_before at_most arrives_first phases in_time not_early).
  exact (reached ls M R).
Qed.

(* No run goes on for ever. *)
Theorem runs_end : exists n, forall ls M, Run begin ls M -> length ls <= n.
Proof.
  exists (total agent access key signal agents begin); intros ls M R.
  apply (run_bounded agent access key signal agent_dec) in R; lia.
Qed.

Lemma before_it ls M g p h q j : Run begin ls M -> ord g p h q -> At ls j h q -> exists i, At ls i g p /\ i < j /\ Hb ls i j.
Proof.
  exact (ordered agent access key signal agent_dec signal_dec agents size acts sorted_acts met own arrivals sized
    (each_once B N o s) (are_arrivals B N o s) enough enough_before at_most phases in_time not_early ls M g p h q j).
Qed.

(* What an agent does at a position it does once. *)
Lemma once ls M g p x i j : Run begin ls M -> In g agents -> In (p, x) (acts g) -> At ls i g p -> At ls j g p -> i < j -> False.
Proof.
  intros R Ig I (l & Ni & Wi) (m & Nj & Wj) L.
  destruct (run_split _ _ _ _ _ _ _ _ _ _ _ R Nj) as (l1 & l2 & M1 & M2 & -> & E & R1 & St & _).
  pose proof (reached _ _ R1) as O1.
  assert (D : did agent access key signal acts M1 g p).
  { apply (run_did agent access key signal agent_dec signal_dec agents size acts sorted_acts met own arrivals sized
      (each_once B N o s) (are_arrivals B N o s) enough enough_before at_most phases in_time not_early begin l1 M1 g p); auto.
    - apply start_ok.
    - right; exists i, l; split; auto; rewrite nth_error_app1 in Ni by lia; auto. }
  destruct (step_action agent access key signal agents size acts sorted_acts met own arrivals sized
      (each_once B N o s) (are_arrivals B N o s) enough enough_before at_most phases in_time not_early M1 m M2 g p x O1 St Ig Wj I) as [Lf _].
  exact (not_both agent access key signal agents acts sorted_acts arrivals M1 g p x O1 Ig D Lf).
Qed.

(* Threads that the hardware cannot tell apart wait at one barrier. *)
Theorem no_mixture ls M f g p q k n m r r' : Run begin ls M -> In f agents -> In g agents ->
  left agent access key signal M f = (p, barrier_ k n) :: r -> left agent access key signal M g = (q, barrier_ k m) :: r' -> p = q /\ n = m.
Proof.
  intros R If Ig Ef Eg; pose proof (reached _ _ R) as O.
  assert (Jf : In (p, barrier_ k n) (acts f)) by (apply (left_in agent access key signal agents acts arrivals M f _ O If); rewrite Ef; left; auto).
  assert (Jg : In (q, barrier_ k m) (acts g)) by (apply (left_in agent access key signal agents acts arrivals M g _ O Ig); rewrite Eg; left; auto).
  destruct (own f g p q k n m If Ig Jf Jg) as [Pg Qf].
  assert (Lg : In (p, barrier_ k n) (left agent access key signal M g)).
  { destruct (did_or_left agent access key signal agents acts arrivals M g p _ O Ig Pg) as [D|]; auto; exfalso.
    apply (not_both agent access key signal agents acts sorted_acts arrivals M f p (barrier_ k n) O If); [|rewrite Ef; left; auto].
    eapply (atomic agent access key signal agents acts arrivals M O g f p k n); eauto. }
  assert (Lf : In (q, barrier_ k m) (left agent access key signal M f)).
  { destruct (did_or_left agent access key signal agents acts arrivals M f q _ O If Qf) as [D|]; auto; exfalso.
    apply (not_both agent access key signal agents acts sorted_acts arrivals M g q (barrier_ k m) O Ig); [|rewrite Eg; left; auto].
    eapply (atomic agent access key signal agents acts arrivals M O f g q k m); eauto. }
  rewrite Eg in Lg; rewrite Ef in Lf; destruct Lg as [E|Lg]; [inversion E; auto|].
  destruct Lf as [E|Lf]; [inversion E; auto|]; exfalso.
  pose proof (head_first agent access key signal agents acts sorted_acts arrivals M g _ _ _ O Ig Eg Lg) as P1.
  pose proof (head_first agent access key signal agents acts sorted_acts arrivals M f _ _ _ O If Ef Lf) as P2.
  apply (precedes_irr p); eapply precedes_trans; [exact P2 | exact P1].
Qed.

End Phases.
