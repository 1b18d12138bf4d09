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
  - intros z I J; apply in_flat_map in J as (y & J & K). assert (x = y) by (eapply U; eauto); subst; auto.
Qed.

Lemma sorted_two (A : Type) (R : A -> A -> Prop) l x y : StronglySorted R l -> In x l -> In y l -> x = y \/ R x y \/ R y x.
Proof.
  induction 1 as [|z l S IH F]; intros I J; [destruct I|]; rewrite Forall_forall in F.
  destruct I as [<-|I], J as [<-|J]; auto.
Qed.

Lemma sorted_nodup (A : Type) (R : A -> A -> Prop) l : (forall x, ~ R x x) -> StronglySorted R l -> NoDup l.
Proof. intro Irr; induction 1; constructor; auto; rewrite Forall_forall in *; firstorder. Qed.

Lemma tells_on e b : tells e = Some b -> exists x, e = EOp x /\ on x = Some b.
Proof. destruct e as [|?|[]]; simpl; try discriminate; eauto. Qed.

Lemma tell_steps c e b : tells e = Some b -> cycle b = c -> steps c e = true /\ ends c e = false.
Proof. destruct e as [|?|[]]; simpl; try discriminate; intros E <-; inversion E; subst; rewrite Nat.eqb_refl; auto. Qed.

Lemma nodup_map (A C : Type) (f : A -> C) l : NoDup l -> (forall x y, In x l -> In y l -> f x = f y -> x = y) ->
  NoDup (map f l).
Proof.
  induction 1 as [|x l Nx D IH]; simpl; intro Inj; constructor; auto; intro J; apply in_map_iff in J as (y & E & J).
  assert (y = x) by auto; subst; auto.
Qed.

(* Lists whose members are matched one to one are of one length. *)
Lemma matched (A C : Type) (R : A -> C -> Prop) l : NoDup l -> forall m, NoDup m ->
  (forall x, In x l -> exists y, In y m /\ R x y) -> (forall y, In y m -> exists x, In x l /\ R x y) ->
  (forall x x' y, R x y -> R x' y -> x = x') -> (forall x y y', R x y -> R x y' -> y = y') -> length l = length m.
Proof.
  induction 1 as [|x l Nx L IH]; intros m D To From One_x One_y.
  - destruct m as [|y m]; auto; destruct (From y (or_introl eq_refl)) as (? & [] & _).
  - destruct (To x (or_introl eq_refl)) as (y & J & Rxy); destruct (in_split _ _ J) as (m1 & m2 & ->).
    rewrite app_length; simpl; rewrite Nat.add_succ_r, <- app_length; f_equal; apply IH; auto.
    + eapply NoDup_remove_1; eauto.
    + intros z K; destruct (To z (or_intror K)) as (y' & J' & Rz); exists y'; split; auto.
      rewrite in_app_iff in *; destruct J' as [J'|[<-|J']]; auto; rewrite (One_x z x y Rz Rxy) in K; tauto.
    + intros z K; destruct (From z) as (x' & [<-|J'] & R'); [rewrite in_app_iff in *; simpl; tauto | | eauto].
      rewrite (One_y x z y R' Rxy) in K; destruct (NoDup_remove_2 _ _ _ D K).
Qed.

Lemma next_round k n : 0 < n -> (k + n) mod n = k mod n /\ (k + n) / n = S (k / n).
Proof. intro L; replace (k + n) with (k + 1 * n) by lia; rewrite Nat.mod_add, Nat.div_add by lia; split; auto; lia. Qed.

Lemma round_equal k j n : 0 < n -> k mod n = j mod n -> k / n = j / n -> k = j.
Proof. intros L E D; rewrite (Nat.div_mod k n), (Nat.div_mod j n) by lia; congruence. Qed.

Lemma round_unique k j n : 0 < n -> k mod n = j mod n -> S (k / n) = j / n -> j = k + n.
Proof. intros L E D; destruct (next_round k n L) as [X Y]; apply (round_equal _ _ n L); congruence. Qed.

Section Turns.

Context {B N : nat} {o : oracle} {s : stmt} {F : list fact}.

Definition tr (a : thread) : list (path * event) := trace o s [] a.

Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation ord := (ord agents acts).

(* Who arrives at a signal for a phase, and where. *)
Definition is_arrive (g : signal) (n : nat) (z : act) : bool :=
  match snd z with Arrive h m => if signal_dec h g then m =? n else false | _ => false end.

Definition pair_dec (x y : agent * path) : {x = y} + {x <> y}.
Proof. decide equality; [apply path_dec | apply agent_dec]. Defined.

Definition arrivals (g : signal) (n : nat) : list (agent * path) :=
  nodup pair_dec (flat_map (fun h => map (fun z => (h, fst z)) (filter (is_arrive g n) (acts h))) agents).

Lemma are_arrivals g n h q : In (h, q) (arrivals g n) <-> In h agents /\ In (q, arrive_ g n) (acts h).
Proof.
  unfold arrivals; rewrite nodup_In, in_flat_map; split.
  - intros (h' & I & J); apply in_map_iff in J as ([q' x] & E & J); inversion E; subst; apply filter_In in J.
    destruct J as [J K]; unfold is_arrive in K; simpl in K; destruct x; try discriminate.
    destruct (signal_dec s0 g) as [->|]; [|discriminate]; apply Nat.eqb_eq in K; subst; auto.
  - intros [I J]; exists h; split; auto; apply in_map_iff; exists (q, arrive_ g n); split; auto; apply filter_In; split; auto.
    unfold is_arrive; simpl; destruct (signal_dec g g); [apply Nat.eqb_refl | congruence].
Qed.

Lemma each_once g n : NoDup (arrivals g n).
Proof. apply NoDup_nodup. Qed.

(* A thread arrives for round k by what it does at p. *)
Definition told_at (a : thread) (b : mbarrier) (k : nat) (p : path) (e : event) : Prop :=
  In (p, e) (tr a) /\ arrives e = Some b /\ In k (told_rounds tr b a p e).

Lemma in_ring_arrivals h q block b copy n : In (h, q) (arrivals (Ring block b copy) n) <->
  exists a p e k, is_thread a /\ told_at a b k p e /\ (h, q) = arrival a p e k /\ block = fst a /\ copy = k mod copies b /\ n = k / copies b.
Proof.
  unfold told_at; rewrite are_arrivals; split.
  - intros [I J]; apply (arrive_ring B N tr) in J; auto; destruct J as (a & p & e & k & H); exists a, p, e, k; tauto.
  - intros (a & p & e & k & T & (I & Te & K) & E & R); assert (Ih : In h agents).
    { ops e; simpl in Te, E; try discriminate; inversion E; subst;
        rewrite ?thread_agent, ?engine_agent; auto; split; auto; eexists; split; eauto. }
    split; auto; apply (arrive_ring B N tr); auto; exists a, p, e, k; tauto.
Qed.

Section Cycle.

Context {c : nat}.

(* What stands in the round at W, and the cycle's mbarriers. *)
Notation I W := (items (body_at c s W) [Part 0] []).
Notation M := (all_barriers c s).
Hypothesis Rules : cycle_rules N F s c = true.

Lemma is_outer : outer N c s true = true.
Proof. unfold cycle_rules in Rules; bools; auto. Qed.

Lemma ruled body : In body (bodies c s) -> ring_rules N F s c M (length (bodies c s) =? 1) body = true.
Proof. unfold cycle_rules in Rules; ands Rules as [_ Ru]; rewrite forallb_forall in Ru; auto. Qed.

Definition round (a : thread) (k : nat) (W : path) : Prop := nth_error (visits o c s [] a) k = Some W.

Lemma round_same a b k W : is_thread a -> is_thread b -> fst a = fst b -> round a k W -> round b k W.
Proof. unfold round; intros Ta Tb E R; rewrite <- (visits_same B N o c s [] a b true); auto using is_outer. Qed.

Lemma round_before a k W j : round a k W -> j <= k -> exists V, round a j V.
Proof.
  unfold round; intros R L; destruct (nth_error (visits o c s [] a) j) eqn:E; eauto; exfalso; apply nth_error_None in E.
  assert (k < length (visits o c s [] a)) by (apply nth_error_Some; congruence); lia.
Qed.

(* The round in which a copy was used last. *)
Lemma last_round a k W n m : round a k W -> 0 < n -> k / n = S m ->
  exists V, round a (k - n) V /\ k = k - n + n /\ (k - n) mod n = k mod n /\ (k - n) / n = m.
Proof.
  intros R L E; assert (Le : n <= k) by (destruct (le_lt_dec n k) as [|G]; auto; rewrite Nat.div_small in E by auto; discriminate).
  destruct (next_round (k - n) n L) as [X Y]; replace (k - n + n) with k in * by lia.
  destruct (round_before a k W (k - n) R ltac:(lia)) as [V Rv]; exists V; repeat split; auto; lia.
Qed.

Lemma in_round a k W : round a k W ->
  In (body_at c s W) (bodies c s) /\ incl (trace o (body_at c s W) (W ++ [Part 0]) a) (tr a).
Proof. intro R; apply nth_error_In in R; destruct (in_visit o c s [] a W R) as (q & -> & X & Y); auto. Qed.

Lemma bodies_flat : forall t v b, outer N c t v = true -> In b (bodies c t) -> flat c b = true.
Proof. induction t; simpl; intros v b H J; tests; stands; subst; eauto. Qed.

Lemma item_first W z : In z (I W) -> exists r, place z = Part 0 :: r.
Proof. destruct z as [[p e] K]; intro J; apply item_path in J as [r ->]; unfold place; simpl; eauto. Qed.

Lemma do_item a k W z : round a k W -> In z (I W) -> sats (who_ z) a -> In (W ++ place z, deed_ z) (tr a).
Proof. destruct z as [[p e] K]; intros R J S; apply (in_round a k W R); eapply item_there; eauto. Qed.

Lemma number_at a k W r : round a k W -> rounds c (tr a) (W ++ Part 0 :: r) = k.
Proof. intro R; eapply round_number; eauto using is_outer. Qed.

Lemma item_number a k W z : round a k W -> In z (I W) -> rounds c (tr a) (W ++ place z) = k.
Proof. intros R J; destruct (item_first W z J) as [r E]; rewrite E; eapply number_at; eauto. Qed.

Lemma op_item a p e : In (p, e) (tr a) -> steps c e = true -> ends c e = false ->
  exists k W z, round a k W /\ In z (I W) /\ p = W ++ place z /\ e = deed_ z /\ sats (who_ z) a.
Proof.
  intros J St En; destruct (outer_weaker N o c s true is_outer [] a p e J) as (W & Y & Z); auto.
  { unfold belongs; rewrite St; auto. }
  simpl in Y, Z; apply In_nth_error in Y as [k R]; destruct (in_round a k W R) as [X _].
  destruct (item_of o W c _ [Part 0] [] a p e (bodies_flat s true _ is_outer X) (fun k f => match f with end) Z St) as (q & K & -> & Q & S).
  exists k, W, (q, e, K); auto.
Qed.

(* The rules, one by one: of the cycle, and of what stands in a round. *)
Lemma stages : 0 < top M /\ (forall k, k <= top M -> exists b, In b M /\ stage b = k) /\
  (forall b d, In b M -> In d M -> copies b = copies d /\ 0 < copies b) /\ (forall e, In e (events s) -> known M c e = true).
Proof.
  assert (X : exists body, In body (bodies c s)).
  { unfold cycle_rules in Rules; ands Rules as [[_ Ne] _].
    destruct (bodies c s) as [|body l]; [discriminate | exists body; left; auto]. }
  destruct X as [body Ib]; pose proof (ruled body Ib) as T; unfold ring_rules, turns in T.
  ands T as [[[[[[[[[[Tp St] Cp] _] _] Kn] _] _] _] _] _]; rewrite forallb_forall in St, Kn; split; [apply Nat.ltb_lt; auto|].
  split; [|split; auto].
  - intros k L; specialize (St k ltac:(apply in_seq; lia)); bools; eauto.
  - destruct M as [|d0 m]; [discriminate|]; ands Cp as [P Cp]; rewrite forallb_forall in Cp; intros b d Jb Jd.
    pose proof (Cp b Jb); pose proof (Cp d Jd); bools; lia.
Qed.

Lemma positive b : In b M -> 0 < copies b.
Proof. intro J; apply (proj1 (proj2 (proj2 stages)) b b J J). Qed.

Lemma same_copies b d : In b M -> In d M -> copies b = copies d.
Proof. intros J K; apply (proj1 (proj2 (proj2 stages)) b d J K). Qed.

Lemma top_stage b : In b M -> stage b <= top M.
Proof.
  unfold top; generalize M as l; induction l as [|d l IH]; simpl; [intros []|]; intros [->|J]; [lia | specialize (IH J); lia].
Qed.

Lemma rules body : In body (bodies c s) ->
  (forall b, In b M -> counts N (items body [Part 0] []) b = true) /\
  (forall b, In b M -> lates (items body [Part 0] []) (length (bodies c s) =? 1) s b = true) /\
  (forall j b d, In j (items body [Part 0] []) -> tells (deed_ j) = Some b -> cycle b = c -> In d M -> next M (stage d) = stage b ->
     has_waited N (items body [Part 0] []) d (place j) (who_ j) = true) /\
  (forall i d, In i (items body [Part 0] []) -> deed_ i = EOp (Wait d) -> cycle d = c ->
     told N (items body [Part 0] []) (who_ i) (place i) (fun b => (cycle b =? c) && (next M (stage d) =? stage b)) = true /\
     (back d = false -> forall j, In j (items body [Part 0] []) -> is_tell d j = true -> prec (place j) (place i) = true)).
Proof.
  intro Ib; pose proof (ruled body Ib) as T; unfold ring_rules, turns in T; ands T as [[[[[[[[_ Co] La] _] Ar] Wa] _] _] _].
  rewrite forallb_forall in Co, La, Ar, Wa; split; [auto|split; [auto|split]].
  - intros j b d Ij Te Cy Id Ne; specialize (Ar j Ij); rewrite Te, Cy, Nat.eqb_refl in Ar; simpl in Ar.
    rewrite forallb_forall in Ar; specialize (Ar d Id); rewrite Ne, Nat.eqb_refl in Ar; auto.
  - intros i d Ii De Cy; specialize (Wa i Ii); rewrite De, Cy, Nat.eqb_refl in Wa; simpl in Wa; ands Wa as [G L];
      split; auto.
    intros Bd j Ij Tj; rewrite Bd in L; simpl in L; rewrite forallb_forall in L; specialize (L j Ij); rewrite Tj in L; auto.
Qed.

Lemma in_barriers body z x b : In body (bodies c s) -> In z (items body [Part 0] []) -> deed_ z = EOp x -> on x = Some b -> cycle b = c -> In b M.
Proof.
  intros Jb J E On Cy; apply in_flat_map; exists body; split; auto; unfold barriers_of; apply in_flat_map; exists z; split; auto.
  unfold barrier_of; rewrite E, On, Cy, Nat.eqb_refl; left; auto.
Qed.

Lemma tells_in a k W z b : round a k W -> In z (I W) -> tells (deed_ z) = Some b -> cycle b = c -> In b M.
Proof.
  intros R J Te Cy; destruct (tells_on _ _ Te) as (x & E & On); destruct (in_round a k W R) as [X _]; eapply in_barriers; eauto.
Qed.

Lemma barriers_in b : In b M -> cycle b = c.
Proof.
  intro J; apply in_flat_map in J as (body & _ & J); apply in_flat_map in J as (z & _ & J).
  unfold barrier_of in J; destruct (deed_ z) as [|?|x]; try (destruct J; fail).
  destruct (on x) as [d|]; [|destruct J]; destruct (Nat.eqb_spec (cycle d) c); [destruct J as [<-|[]]; auto | destruct J].
Qed.

Lemma in_satisfying K t : In t (satisfying N K) <-> t < N /\ forall x, In x K -> sat x t = true.
Proof. unfold satisfying; rewrite filter_In, in_seq, forallb_forall; split; intros [X Y]; split; auto; lia. Qed.

Lemma is_tell_spec b z : is_tell b z = true -> tells (deed_ z) = Some b.
Proof. unfold is_tell; destruct (tells (deed_ z)); [intro E; apply same_as_eq in E; congruence | discriminate]. Qed.

Lemma tell_is b z : tells (deed_ z) = Some b -> is_tell b z = true.
Proof. unfold is_tell; intros ->; apply same_as_eq; auto. Qed.

Lemma arrival_path a p e k h q : (h, q) = arrival a p e k -> exists r, q = p ++ r.
Proof. ops e; simpl; intro E; inversion E; eauto. Qed.

Lemma tells_arrives e b : tells e = Some b -> arrives e = Some b.
Proof. ops e; simpl; auto; discriminate. Qed.

Lemma arrives_cases e b : arrives e = Some b -> tells e = Some b \/ e = EOp (Drain b).
Proof. ops e; simpl; intro E; inversion E; auto. Qed.

(* -- arrivals that come late -------------------------------------------------------------------------------------------- *)

Lemma rounds_done a p : rounds c (tr a) p = done_before (visits o c s [] a) p.
Proof. unfold rounds, tr, done_before; rewrite (ends_at N o c s [] a true is_outer); auto. Qed.

Lemma is_drain_spec b e : is_drain b e = true <-> e = EOp (Drain b).
Proof. destruct e as [|?|[]]; simpl; split; try discriminate; try destruct (mbarrier_dec b b0); congruence. Qed.

Lemma drained_le b a p k : drained_to tr b a p <= k <->
  forall q, In (q, EOp (Drain b)) (tr a) -> precedes q p -> rounds (cycle b) (tr a) q <= k.
Proof.
  assert (M_ : forall l, fold_right Nat.max 0 l <= k <-> forall x, In x l -> x <= k).
  { induction l as [|x l IH]; simpl; [split; [intros _ y [] | lia]|]; rewrite Nat.max_lub_iff, IH;
      intuition (subst; auto). }
  unfold drained_to; rewrite M_; split.
  - intros H q J P; apply H, in_map, in_since; split; auto; exists (EOp (Drain b)); split; auto; apply is_drain_spec;
      auto.
  - intros H x J; apply in_map_iff in J as (q & <- & J); apply in_since in J as (P & e & J & E).
    apply is_drain_spec in E; subst; auto.
Qed.

(* For which rounds one arrives that does so late: nobody has for all up to them. *)
Lemma told_spec a k b p e : 0 < late b -> cycle b = c -> e = EOp (Tell b) \/ e = EOp (Drain b) ->
  In k (told_rounds tr b a p e) <->
  match e with EOp (Drain _) => k < rounds c (tr a) p <= k + late b | _ => rounds c (tr a) p = k + late b end /\
  forall q, In (q, EOp (Drain b)) (tr a) -> precedes q p -> rounds c (tr a) q <= k.
Proof.
  intros L Cb Ee; pose proof (drained_le b a p k) as D; rewrite Cb in D; rewrite <- D; unfold told_rounds, round_of.
  rewrite Cb; destruct Ee as [->| ->]; [destruct (Nat.eqb_spec (late b) 0); [lia|]|];
    rewrite filter_In, in_seq, andb_true_iff, ?Nat.eqb_eq, !Nat.leb_le; lia.
Qed.

(* A late mbarrier has one place where threads arrive, and one behind all rounds. *)
Lemma late_rules b : In b M -> 0 < late b -> exists j, (forall a k W, round a k W -> In j (I W)) /\ deed_ j = EOp (Tell b) /\
  back b = true /\ late b < copies b /\ drained s = true /\ follow b (who_ j) s = true /\
  (forall a k W i, round a k W -> In i (I W) -> tells (deed_ i) = Some b -> i = j) /\
  (forall a p, In (p, EOp (Drain b)) (tr a) -> sats (who_ j) a).
Proof.
  intros Ib L; destruct (bodies c s) as [|body l] eqn:Eb; [unfold all_barriers in Ib; rewrite Eb in Ib; destruct Ib|].
  destruct (rules body) as (_ & La & _); [rewrite Eb; left; auto|].
  specialize (La b Ib); unfold lates in La; rewrite Eb in La.
  destruct (late b =? 0) eqn:E; [apply Nat.eqb_eq in E; lia|]; clear E; cbn [orb] in La.
  ands La as [[[[Sg Bk] Lc] Dr] Si]; destruct l as [|? ?]; [|discriminate]; clear Sg.
  apply Nat.ltb_lt in Lc; destruct (filter (is_tell b) (items body [Part 0] [])) as [|j [|? ?]] eqn:Fi; try discriminate.
  apply andb_prop in Si as [Si Im].
  assert (Ij : In j (filter (is_tell b) (items body [Part 0] []))) by (rewrite Fi; left; auto).
  apply filter_In in Ij as [Ij Tj]; apply is_tell_spec in Tj.
  assert (Only_ : forall a k W, round a k W -> body_at c s W = body).
  { intros a k W R; destruct (in_round a k W R) as [X _]; rewrite Eb in X; destruct X as [X|[]]; auto. }
  exists j; split; [intros a k W R; rewrite (Only_ a k W R); auto|]; split; [destruct (deed_ j) as [|?|[]]; try discriminate; simpl in Tj; congruence|].
  splits; split; [destruct (deed_ j) as [|?|[]]; try discriminate; exact Si|]; split.
  - intros a k W i R Ii Ti; rewrite (Only_ a k W R) in Ii.
    assert (Ji : In i (filter (is_tell b) (items body [Part 0] []))) by (apply filter_In; split; auto using tell_is).
    rewrite Fi in Ji; destruct Ji as [|[]]; auto.
  - intros a p J; destruct (site_of o [] s [] [] a p (EOp (Drain b)) (fun k f => match f with end) J) as (q & r & K & _ & S & Sa).
    rewrite forallb_forall in Im; specialize (Im _ S); unfold deed_, who_ in Im; simpl in Im.
    destruct (mbarrier_dec b b); [|congruence]; exact (implies_sound K (who_ j) a Im Sa).
Qed.

(* Then all rounds have one body. *)
Lemma late_alone b a k W a' k' W' : In b M -> 0 < late b -> round a k W -> round a' k' W' -> I W = I W'.
Proof.
  intros Ib L R R'; destruct (in_round a k W R) as [X _], (in_round a' k' W' R') as [X' _].
  destruct (rules _ X) as (_ & La & _); specialize (La b Ib); unfold lates in La.
  destruct (Nat.eqb_spec (late b) 0); [lia|]; cbn [orb] in La; repeat (apply andb_prop in La as [La _]).
  destruct (bodies c s) as [|x [|? ?]]; try discriminate; destruct X as [<-|[]], X' as [<-|[]]; auto.
Qed.

Lemma drain_out b a p k W : cycle b = c -> drained s = true -> In (p, EOp (Drain b)) (tr a) -> round a k W ->
  (forall r, precedes p (W ++ Part 0 :: r)) \/ precedes (ended W) p.
Proof.
  intros Cb Dr J R; apply nth_error_In in R; destruct (drain_at N o c b s Cb true [] a p is_outer Dr J) as (w & u & t & _ & -> & _ & _ & H).
  destruct (H W R) as [|P]; auto; right; eapply precedes_trans; [exact P | apply parts_precede; lia].
Qed.

Lemma before_round a k W p : round a k W -> (forall r, precedes p (W ++ Part 0 :: r)) -> rounds c (tr a) p <= k.
Proof.
  intros R P; rewrite rounds_done; eapply done_upto; [apply visits_rising | exact R|].
  eapply precedes_trans; [apply (P []) | apply parts_precede; lia].
Qed.

Lemma behind_round a k W p : round a k W -> precedes (ended W) p -> k < rounds c (tr a) p.
Proof. intros R P; rewrite rounds_done; eapply done_after; [apply visits_rising | exact R | exact P]. Qed.

Lemma in_round_ended W z : In z (I W) -> precedes (W ++ place z) (ended W).
Proof. intro Iz; destruct (item_first W z Iz) as [r ->]; apply parts_precede; lia. Qed.

(* Where a thread arrives for the round k at W, by what stands at j: there; so many rounds later; or behind all rounds. *)
Definition tells_at (a : thread) (b : mbarrier) (k : nat) (W : path) (j : site) (p : path) (e : event) : Prop :=
  (late b = 0 /\ p = W ++ place j /\ e = deed_ j) \/
  (0 < late b /\ exists V, round a (k + late b) V /\ p = V ++ place j /\ e = deed_ j) \/
  (0 < late b /\ e = EOp (Drain b) /\ precedes (ended W) p /\ k < rounds c (tr a) p <= k + late b).

Lemma told_late a k W b j : is_thread a -> round a k W -> In b M -> 0 < late b -> In j (I W) -> tells (deed_ j) = Some b -> sats (who_ j) a ->
  exists p e, told_at a b k p e /\ tells_at a b k W j p e.
Proof.
  intros T R Ib L Ij Tj Sa; pose proof (barriers_in b Ib) as Cb; destruct (late_rules b Ib L) as (j' & All & Dj & _ & _ & Dr & Fo & One & _).
  rewrite <- (One a k W j R Ij Tj) in *; clear j' One.
  destruct (follow_sound o b (who_ j) s a Sa [] W Fo) as (p0 & J0 & P0); [rewrite Cb; eapply nth_error_In; exact R|].
  set (l := filter (fun z => is_drain b (snd z) && (if precedes_dec (ended W) (fst z) then true else false)) (tr a)).
  assert (In_l : forall q e, In (q, e) l <-> In (q, e) (tr a) /\ e = EOp (Drain b) /\ precedes (ended W) q).
  { intros q e; unfold l; rewrite filter_In, andb_true_iff; cbn [fst snd]; rewrite is_drain_spec.
    destruct (precedes_dec (ended W) q); intuition congruence. }
  destruct (first_of _ fst l) as ([p1 e1] & J1 & Min).
  { intro E; assert (X : In (p0, EOp (Drain b)) l) by (apply In_l; auto); rewrite E in X; destruct X. }
  apply In_l in J1 as (J1 & -> & P1).
  assert (Dn : forall x, x = p1 \/ precedes x p1 ->
            forall q, In (q, EOp (Drain b)) (tr a) -> precedes q x -> rounds c (tr a) q <= k).
  { intros x Px q Jq Pq; assert (Pq1 : precedes q p1) by (destruct Px as [->|Px]; eauto using precedes_trans).
    destruct (drain_out b a q k W Cb Dr Jq R) as [X|X]; [eapply before_round; eauto|].
    exfalso; apply (Min (q, EOp (Drain b))); [apply In_l; auto | exact Pq1]. }
  pose proof (behind_round a k W p1 R P1) as Lk; destruct (le_lt_dec (rounds c (tr a) p1) (k + late b)) as [Le|Gt].
  - exists p1, (EOp (Drain b)); split; [|right; right; auto]; splits; apply told_spec; auto.
    split; [auto | exact (Dn p1 (or_introl eq_refl))].
  - rewrite rounds_done in Gt; destruct (done_exists _ _ (visits_rising o c s [] a) _ Gt) as (V & Rv & Pv).
    pose proof (All a _ V Rv) as Ijv; exists (V ++ place j), (deed_ j); split; [|right; left; eauto].
    split; [apply (do_item a (k + late b)); auto|]; split; [apply tells_arrives; auto|]; rewrite Dj; apply told_spec;
      auto.
    split; [apply (item_number a (k + late b)); auto | apply Dn; right].
    eapply precedes_trans; [apply in_round_ended; exact Ijv | exact Pv].
Qed.

(* What a thread arrives for, and where it does so. *)
Lemma told_where a k b p e : In b M -> is_thread a -> told_at a b k p e ->
  exists j W, In j (I W) /\ tells (deed_ j) = Some b /\ sats (who_ j) a /\ round a k W /\ tells_at a b k W j p e.
Proof.
  intros Ib T (J & Ar & K); pose proof (barriers_in b Ib) as Cb; destruct (arrives_cases e b Ar) as [Te| ->].
  - destruct (tell_steps c e b Te Cb) as [St En]; destruct (op_item a p e J St En) as (k1 & V & z & Rv & Iz & -> & -> & Sz).
    destruct (Nat.eq_dec (late b) 0) as [L0|L].
    + exists z, V; assert (k = k1); [|subst; unfold tells_at; auto 10].
      unfold told_rounds, round_of in K; rewrite L0, Cb, (item_number a k1 V z Rv Iz) in K.
      destruct (deed_ z) as [|?|[]]; simpl in Te, K; try discriminate; destruct K as [<-|[]]; auto.
    + destruct (late_rules b Ib ltac:(lia)) as (j & All & Dj & _ & _ & _ & _ & One & _); pose proof (One a k1 V z Rv Iz Te); subst z.
      rewrite Dj in K; apply told_spec in K as [K _]; auto; [|lia]; rewrite (item_number a k1 V j Rv Iz) in K; subst k1.
      destruct (round_before a (k + late b) V k Rv ltac:(lia)) as [W Rk]; exists j, W; split; [exact (All a k W Rk)|].
      splits; right; left; split; [lia | eauto].
  - assert (L : 0 < late b).
    { unfold told_rounds, round_of in K; apply filter_In in K as [Ks K]; apply in_seq in Ks; bools; lia. }
    apply told_spec in K as [K _]; auto; destruct (late_rules b Ib L) as (j & All & Dj & _ & _ & _ & _ & _ & Who).
    assert (Lt : k < rounds c (tr a) p) by lia; rewrite rounds_done in Lt.
    destruct (done_exists _ _ (visits_rising o c s [] a) _ Lt) as (W & Rk & Pk); exists j, W; rewrite Dj.
    split; [exact (All a k W Rk)|]; splits; right; right; auto.
Qed.

Lemma told_once a k b p e p' e' : In b M -> 0 < late b -> is_thread a -> told_at a b k p e -> told_at a b k p' e' -> p = p'.
Proof.
  intros Ib L T H H'; pose proof (barriers_in b Ib) as Cb.
  destruct (late_rules b Ib L) as (j0 & All & Dj & _ & _ & Dr & _ & One & _).
  assert (Kind : forall q f, told_at a b k q f -> (f = EOp (Drain b) /\ k < rounds c (tr a) q <= k + late b) \/
            exists V, round a (k + late b) V /\ q = V ++ place j0 /\ f = EOp (Tell b)).
  { intros q f Hq; destruct (told_where a k b q f Ib T Hq)
      as (j & W & Ij & Te & _ & Rk & [(L0 & _)|[(_ & V & Rv & -> & ->)|(_ & -> & _ & Rp)]]); [lia | right | left; auto].
    rewrite (One a k W j Rk Ij Te), Dj; eauto. }
  assert (Half : forall x f y g, told_at a b k x f -> told_at a b k y g -> precedes x y -> False).
  { intros x f y g Hx Hy P; destruct (Kind x f Hx) as [[-> Rx]|(V & Rv & -> & ->)].
    - assert (Eg : g = EOp (Tell b) \/ g = EOp (Drain b))
        by (destruct (Kind y g Hy) as [[-> _]|(V & _ & _ & ->)]; auto).
      destruct Hx as (Jx & _), Hy as (_ & _ & Ky); apply told_spec in Ky as [_ Ky]; auto; specialize (Ky x Jx P); lia.
    - destruct (Kind y g Hy) as [[-> Ry]|(V' & Rv' & -> & ->)].
      + destruct (drain_out b a y (k + late b) V Cb Dr (proj1 Hy) Rv) as [X|X];
          [|pose proof (behind_round a _ V y Rv X); lia].
        destruct (item_first V j0 (All a _ V Rv)) as [r Er]; rewrite Er in P.
        exact (precedes_irr _ (precedes_trans _ _ _ P (X r))).
      + assert (V' = V) by (unfold round in *; congruence); subst V'; exact (precedes_irr _ P). }
  destruct (sorted_two _ _ (tr a) _ _ (trace_sorted o s [] a) (proj1 H) (proj1 H')) as [E|[E|E]]; simpl in E;
    [congruence | |]; exfalso; eauto.
Qed.

(* An arrival of a round, by site. *)
Lemma told_there a k W j b : is_thread a -> round a k W -> In j (I W) -> tells (deed_ j) = Some b -> In b M -> sats (who_ j) a ->
  exists p e, told_at a b k p e /\ tells_at a b k W j p e.
Proof.
  intros T R Ij Te Ib Sa; pose proof (barriers_in b Ib) as Cb; destruct (Nat.eq_dec (late b) 0) as [L|L].
  - exists (W ++ place j), (deed_ j); split; [|left; auto]; split; [apply (do_item a k); auto|]; split;
      [apply tells_arrives; auto|].
    unfold told_rounds, round_of; rewrite Cb, (item_number a k W j R Ij), L; destruct (deed_ j) as [|?|[]]; simpl in *; auto; discriminate.
  - apply told_late; auto; lia.
Qed.

(* Where it arrives for a round, this comes at the site in the round, or later. *)
Lemma told_behind a k W j b p e : round a k W -> In j (I W) ->
  tells_at a b k W j p e -> p = W ++ place j \/ precedes (W ++ place j) p.
Proof.
  intros R Ij [(_ & -> & _)|[(L & V & Rv & -> & _)|(_ & _ & P & _)]]; auto; right.
  - apply precedes_app; exact (rising_nth _ (visits_rising o c s [] a) _ _ _ _ R Rv ltac:(lia)).
  - eapply precedes_trans; [apply in_round_ended; auto | exact P].
Qed.

Lemma arrival_of a k W b h q : is_thread a -> round a k W -> In b M ->
  In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) ->
  exists a' j p e, is_thread a' /\ fst a' = fst a /\ round a' k W /\ In j (I W) /\ tells (deed_ j) = Some b /\ sats (who_ j) a' /\
    told_at a' b k p e /\ (h, q) = arrival a' p e k /\ (p = W ++ place j \/ precedes (W ++ place j) p) /\
    (late b = 0 -> p = W ++ place j /\ e = deed_ j).
Proof.
  intros T R Ib J; apply in_ring_arrivals in J as (a' & p & e & k' & T' & H & E & Bl & Co & Ph).
  rewrite <- (round_equal k k' _ (positive b Ib) Co Ph) in *; destruct (told_where a' k b p e Ib T' H) as (j & W' & Ij & Te & Sa & Rk & Cs).
  assert (R' : round a k W') by (apply (round_same a'); auto); assert (W' = W) by (unfold round in *; congruence); subst W'.
  exists a', j, p, e; splits; split; [eapply told_behind; eauto|].
  destruct Cs as [(L & -> & ->)|[(L & _)|(L & _)]]; auto; lia.
Qed.

Lemma arrival_at a k b p e : is_thread a -> told_at a b k p e ->
  In (arrival a p e k) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)).
Proof. intros T H; destruct (arrival a p e k) as [h q] eqn:E; apply in_ring_arrivals; exists a, p, e, k; auto 8. Qed.

(* All threads that come to a site at which one arrives do so once for the round. *)
Lemma full a k W b : is_thread a -> round a k W -> In b M ->
  length (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) = need b /\ 0 < need b.
Proof.
  intros Ta R Ib; destruct (rules _ (proj1 (in_round a k W R))) as (Co & _); specialize (Co b Ib); unfold counts in Co;
    bools.
  split; auto; rewrite H0; pose proof (items_rising (body_at c s W) [Part 0] []) as Rise.
  transitivity (length (flat_map (fun j => map (pair j) (satisfying N (who_ j))) (filter (is_tell b) (I W)))).
  2: rewrite sum_length; f_equal; apply map_ext; intro; apply map_length.
  apply (matched _ _ (fun x y => exists p e, is_thread (fst a, snd y) /\ told_at (fst a, snd y) b k p e /\
    x = arrival (fst a, snd y) p e k /\ In (fst y) (I W) /\ tells (deed_ (fst y)) = Some b /\
    (late b = 0 -> p = W ++ place (fst y) /\ e = deed_ (fst y)))).
  - apply each_once.
  - apply nodup_flat_map.
    + apply NoDup_filter; eapply sorted_nodup; [|exact Rise]; intro; apply precedes_irr.
    + intros j _; apply Injective_map_NoDup; [intros t u E; congruence | apply NoDup_filter, seq_NoDup].
    + intros j i z _ _ J K; apply in_map_iff in J as (? & <- & _); apply in_map_iff in K as (? & E & _); congruence.
  - intros [h q] J.
    destruct (arrival_of a k W b h q Ta R Ib J) as (a' & j & p & e & T' & Bl & _ & Ij & Te & Sa & H1 & E & _ & H2).
    exists (j, snd a'); split; [|exists p, e; simpl; rewrite <- Bl, <- surjective_pairing; auto 8].
    apply in_flat_map; exists j; split; [apply filter_In; auto using tell_is | apply in_map, in_satisfying].
    split; [apply T' | exact Sa].
  - intros [j t] J; apply in_flat_map in J as (j' & Ij & J); apply in_map_iff in J as (t' & E & J); inversion E;
      subst j' t'.
    apply filter_In in Ij as [Ij Te]; apply is_tell_spec in Te; apply in_satisfying in J as [Lt Sa].
    assert (Tt : is_thread (fst a, t)) by (destruct Ta; split; auto).
    destruct (told_there (fst a, t) k W j b Tt) as (p & e & H1 & H2); auto; [apply (round_same a); auto|].
    exists (arrival (fst a, t) p e k); split; [apply (arrival_at (fst a, t)); auto|]; exists p, e; simpl.
    splits; intros L; destruct H2 as [(_ & -> & ->)|[(L' & _)|(L' & _)]]; auto; lia.
  - intros x x' [j t] (p & e & T1 & H1 & -> & Ij & Te & H2) (p' & e' & _ & H1' & -> & _ & _ & H2'); simpl in *.
    destruct (Nat.eq_dec (late b) 0) as [L|L]; [destruct (H2 L) as [-> ->], (H2' L) as [-> ->]; auto|].
    assert (p = p') by (eapply told_once; eauto; lia); subst p'.
    rewrite (same_event o s [] _ _ p e e' (proj1 H1) (proj1 H1')); auto.
  - intros x [j t] [j' t'] (p & e & _ & H1 & E & Ij & Te & H2) (p' & e' & _ & H1' & E' & Ij' & Te' & H2'); simpl in *.
    assert (Who : forall v p e, match fst (arrival v p e k) with Thread z | Engine z _ => z end = v)
      by (intros v ? e0; ops e0; auto).
    pose proof (Who (fst a, t) p e) as Wt; rewrite <- E, E', Who in Wt; inversion Wt; subst t'; f_equal.
    destruct (Nat.eq_dec (late b) 0) as [L|L].
    + destruct (H2 L) as [-> _], (H2' L) as [-> _], x as [h q].
      destruct (arrival_path _ _ _ _ _ _ E) as [r Q], (arrival_path _ _ _ _ _ _ E') as [r' Q'].
      rewrite Q in Q'; rewrite <- !app_assoc in Q'; apply app_inv_head in Q'.
      destruct (sorted_two _ _ _ j j' Rise Ij Ij') as [|[P|P]]; auto; exfalso; apply (precedes_irr (place j ++ r));
        [rewrite Q' at 2 | rewrite Q' at 1]; apply precedes_app; auto.
    + destruct (late_rules b Ib ltac:(lia)) as (i & _ & _ & _ & _ & _ & _ & One & _).
      rewrite (One a k W j), (One a k W j'); auto.
Qed.

Lemma some_there a k W b : is_thread a -> round a k W -> In b M ->
  exists x, In x (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)).
Proof. intros T R J; destruct (full _ _ _ _ T R J), (arrivals _ _); simpl in *; [lia | eauto]. Qed.

(* -- the order of turns ------------------------------------------------------------------------------------------------- *)

Lemma has_waited_spec b p K a k W : has_waited N (I W) b p K = true -> is_thread a -> round a k W -> sats K a ->
  exists i, In i (I W) /\ deed_ i = EOp (Wait b) /\ before (place i) p None /\ sats (who_ i) a /\ In (W ++ place i, EOp (Wait b)) (tr a).
Proof.
  unfold has_waited; intros H [_ T] R S; rewrite forallb_forall in H.
  specialize (H (snd a) ltac:(apply in_satisfying; split; [exact T | exact S])); apply existsb_exists in H as (i & J & H); bools.
  unfold is_wait in H; destruct (deed_ i) as [|?|[d| | | | | | | | | | | |]] eqn:E; try discriminate; apply same_as_eq in H; subst d.
  assert (Si : sats (who_ i) a) by (match goal with X : forallb _ (who_ i) = true |- _ => rewrite forallb_forall in X; exact X end).
  exists i; repeat (split; [solve [auto using prec_sound]|]); rewrite <- E; apply (do_item a k); auto.
Qed.

(* What a thread that waits in a round does. *)
Lemma wait_now a k W i b m : round a k W -> In i (I W) -> deed_ i = EOp (Wait b) -> sats (who_ i) a -> cycle b = c ->
  k / copies b = (if back b then S m else m) ->
  In (W ++ place i, await_ (Ring (fst a) b (k mod copies b)) m) (acts (Thread a)).
Proof.
  intros R J E S Cy Ph; assert (It : In (W ++ place i, EOp (Wait b)) (tr a))
    by (rewrite <- E; apply (do_item a k); auto).
  pose proof (wait_acts B N tr a _ b m It) as X; unfold ring_of, phase_of, round_of in X.
  rewrite Cy, (item_number a k W i R J) in X; auto.
Qed.

Lemma thread_ok a : is_thread a -> In (Thread a) agents.
Proof. apply thread_agent. Qed.

(* Arrivals are before those who wait for them. *)
Lemma signalled g n h q a p : In (h, q) (arrivals g n) -> is_thread a -> In (p, await_ g n) (acts (Thread a)) -> ord h q (Thread a) p.
Proof. intros J T W; apply are_arrivals in J; destruct J; eapply ord_signal; eauto using thread_ok. Qed.

(* What a thread has waited for in a round was there: for a copy to be filled in this round, or to be free since its last use. *)
Lemma waited_for b p K a k W h q x f m :
  has_waited N (I W) b p K = true -> In b M -> round a k W -> sats K a -> is_thread a ->
  (exists r, x = W ++ p ++ r) -> In (x, f) (acts (Thread a)) -> k / copies b = (if back b then S m else m) ->
  In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) m) -> ord h q (Thread a) x.
Proof.
  intros H Ib R S T [r ->] Fx Ph L; destruct (has_waited_spec b p K a k W H T R S) as (i & J & E & P & Si & It).
  pose proof (wait_now a k W i b m R J E Si (barriers_in b Ib) Ph) as Aw.
  eapply ord_trans; [eapply signalled; eauto|]; eapply ord_own; eauto using thread_ok.
  exists None; apply before_prefix; rewrite <- (app_nil_r (place i)); apply before_app; auto.
Qed.

(* Who arrives at a site for what threads under K have done at p: each itself, or one of its warp. *)
Lemma covered_by I0 a p K j : is_thread a -> sats K a -> covers N I0 p K j = true ->
  exists a', is_thread a' /\ fst a' = fst a /\ same (Threads 32) a a' /\ sats (who_ j) a' /\
    forall k V x f b n P e, round a k V -> I V = I0 -> In (x, f) (acts (Thread a)) -> (forall t, before p t None -> precedes x (V ++ t)) ->
      told_at a' b n P e -> P = V ++ place j \/ precedes (V ++ place j) P -> ord (Thread a) x (fst (arrival a' P e n)) (snd (arrival a' P e n)).
Proof.
  intros Ta S H; unfold covers in H; apply orb_prop in H as [H|H].
  - bools; assert (Sj : sats (who_ j) a) by (eapply implies_sound; eauto); exists a; repeat (split; [solve [auto using same_refl]|]).
    intros k V x f b n P e R _ Fx Bef (J & Ar & K') Le; eapply (issue B N tr); eauto.
    assert (X : precedes x (V ++ place j)) by (apply Bef, prec_sound; auto); destruct Le as [->|Le]; eauto using precedes_trans.
  - apply existsb_exists in H as (i & Ii & H); bools.
    destruct (deed_ i) as [|[n| |?|] hw|] eqn:Ei; try discriminate; destruct n as [|n]; try discriminate.
    assert (n = 31) by (repeat (destruct n as [|n]; try discriminate); auto); subst n.
    match goal with X : implies K (who_ i) = true |- _ => pose proof (implies_sound _ _ a X S) as Si end.
    set (b' := (fst a, 32 * (snd a / 32)) : thread). pose proof (Nat.mul_div_le (snd a) 32 ltac:(lia)) as Le.
    assert (Tb : is_thread b') by (destruct Ta as [T1 T2]; split; [exact T1 | exact (Nat.le_lt_trans _ _ _ Le T2)]).
    assert (U : same (Threads 32) a b').
    { unfold same, name, b'; cbn [fst snd]; rewrite (Nat.mul_comm 32 (snd a / 32)), Nat.div_mul by lia; auto. }
    match goal with X : whole N (Threads 32) (who_ i) = true |- _ => pose proof (whole_sats N _ _ a b' X U Si) as Sb end.
    assert (Sj : sats (who_ j) b').
    { eapply implies_sound; [eassumption|]; intros y [<-|Iy]; [|auto]; unfold sat, lane, b'; cbn [cmod clo chi fst snd Nat.eqb].
      rewrite (Nat.mul_comm 32 (snd a / 32)), Nat.mod_mul by lia; auto. }
    exists b'; splits; intros k V x f b n P e Rk E0 Fx Bef (J & Ar & K') LeP; rewrite <- E0 in Ii.
    assert (Rb : round b' k V) by (apply (round_same a); auto).
    assert (Bar : forall v, round v k V -> sats (who_ i) v -> In (V ++ place i, EBar (Threads 32) hw) (tr v))
      by (intros; rewrite <- Ei; apply (do_item v k); auto).
    assert (Pij : precedes (V ++ place i) P).
    { assert (X : precedes (V ++ place i) (V ++ place j)) by (exists None; apply before_prefix, prec_sound; auto).
      destruct LeP as [->|Y]; eauto using precedes_trans. }
    destruct (issues_from B N tr b' P e b n Tb J Ar K') as (t & g & X & Y).
    assert (O : ord (Thread a) x (Thread b') (P ++ t)).
    { apply (across B N tr a b' (Threads 32) hw (V ++ place i) x f (P ++ t) g); auto; [|apply precedes_app_l; auto].
      apply Bef, prec_sound; auto. }
    destruct Y as [->|Y]; [auto | eapply ord_trans; eauto].
Qed.

Lemma told_by a k W p K choose x f : is_thread a -> round a k W -> sats K a -> told N (I W) K p choose = true ->
  (forall b, choose b = true -> cycle b = c) -> (forall t, before p t None -> precedes x (W ++ t)) -> In (x, f) (acts (Thread a)) ->
  exists b h q, choose b = true /\ In b M /\ In (h, q) (arrivals (Ring (fst a) b (k mod copies b)) (k / copies b)) /\ ord (Thread a) x h q.
Proof.
  intros Ta R S H Ch X Fx; unfold told in H; apply existsb_exists in H as (j & J & H).
  destruct (tells (deed_ j)) as [b|] eqn:Te; [|discriminate]; bools. assert (Ib : In b M) by (eapply tells_in; eauto).
  destruct (covered_by (I W) a p K j Ta S) as (a' & Ta' & Bl & _ & Sj & Cv); auto.
  assert (R' : round a' k W) by (apply (round_same a); auto).
  destruct (told_there a' k W j b Ta' R' J Te Ib Sj) as (P & e & H1 & H2); pose proof (told_behind a' k W j b P e R' J H2) as H3.
  exists b, (fst (arrival a' P e k)), (snd (arrival a' P e k)); split; auto; split; auto; split; [|eapply Cv; eauto].
  rewrite <- Bl; rewrite <- surjective_pairing; apply arrival_at; auto.
Qed.

(* -- time --------------------------------------------------------------------------------------------------------------- *)

(* Who arrives for a stage has waited for the one before: in this round, or of the copy's last one. *)
Lemma then_next a k W n f r x y : is_thread a -> round a k W -> In f M -> In r M -> next M (stage f) = stage r ->
  k / copies f = (if back f then S n else n) -> In x (arrivals (Ring (fst a) f (k mod copies f)) n) ->
  In y (arrivals (Ring (fst a) r (k mod copies r)) (k / copies r)) -> ord (fst x) (snd x) (fst y) (snd y).
Proof.
  intros Ta R If Ir Nx Ph X Y; destruct x as [g p], y as [h q]; simpl.
  destruct (arrival_of a k W r h q Ta R Ir Y)
    as (a' & j & P & e & Ta' & Bl & R' & J & Te & S & (H1 & H2 & H3) & E & Le & _).
  destruct (rules _ (proj1 (in_round a' k W R'))) as (_ & _ & Wt & _).
  pose proof (Wt j r f J Te (barriers_in r Ir) If Nx) as H.
  destruct (has_waited_spec f (place j) (who_ j) a' k W H Ta' R' S) as (i & Ii & Ei & Pi & Si & It).
  pose proof (wait_now a' k W i f n R' Ii Ei Si (barriers_in f If) Ph) as Aw; rewrite Bl in Aw.
  eapply ord_trans; [eapply signalled; [exact X | exact Ta' | exact Aw]|].
  replace h with (fst (arrival a' P e k)) by (rewrite <- E; auto).
  replace q with (snd (arrival a' P e k)) by (rewrite <- E; auto); eapply (issue B N tr); eauto.
  assert (Pj : precedes (W ++ place i) (W ++ place j)) by (exists None; apply before_prefix; auto).
  destruct Le as [->|Le]; eauto using precedes_trans.
Qed.

(* When the phase n of a copy's mbarriers ends, in the order of stages and rounds. *)
Definition seat (b : mbarrier) : nat := if stage b =? 0 then top M else stage b - 1.
Definition time (b : mbarrier) (n : nat) : nat := n * S (top M) + seat b.

Lemma seat_top b : In b M -> seat b <= top M.
Proof. intro J; pose proof (top_stage b J); unfold seat; destruct (stage b =? 0); lia. Qed.

Lemma later_phase t m x n y : x <= t -> y <= t -> m * S t + x <= n * S t + y -> m <= n.
Proof. nia. Qed.

Lemma same_phase t m x n y : x <= t -> y <= t -> m * S t + x = n * S t + y -> m = n /\ x = y.
Proof. intros X Y E; assert (m = n) by nia; subst; lia. Qed.

(* The mbarriers whose phase comes next. *)
Lemma at_next b n : In b M -> exists d m, In d M /\ time d m = S (time b n) /\ next M (stage b) = stage d /\
  m = if stage b =? 0 then S n else n.
Proof.
  intro Ib; destruct stages as (Tp & St & _); pose proof (top_stage b Ib) as Lb; unfold time, seat, next.
  destruct (Nat.eqb_spec (stage b) 0) as [Z|Z].
  - destruct (St 1 Tp) as (d & Id & Sd); exists d, (S n); rewrite Sd, Z; destruct (Nat.eqb_spec 0 (top M)); simpl; repeat split; auto; lia.
  - destruct (Nat.eqb_spec (stage b) (top M)) as [E|E].
    + destruct (St 0 ltac:(lia)) as (d & Id & Sd); exists d, n; rewrite Sd; simpl; repeat split; auto; lia.
    + destruct (St (S (stage b)) ltac:(lia)) as (d & Id & Sd); exists d, n; rewrite Sd; simpl; repeat split; auto; lia.
Qed.

Lemma next_time b d n : In b M -> In d M -> next M (stage b) = stage d -> time d (if back b then S n else n) = S (time b n).
Proof.
  intros Ib Id E; destruct (at_next b n Ib) as (e & m & _ & T & Nx & ->); rewrite <- T.
  assert (X : stage d = stage e) by congruence; unfold time, seat, back; rewrite X; auto.
Qed.

Lemma next_seat b d m n : In b M -> In d M -> time d m = S (time b n) ->
  next M (stage b) = stage d /\ m = if stage b =? 0 then S n else n.
Proof.
  intros Ib Id E; destruct (at_next b n Ib) as (e & p & Ie & Ep & -> & ->); rewrite <- E in Ep; unfold time in Ep.
  destruct (same_phase _ _ _ _ _ (seat_top e Ie) (seat_top d Id) Ep) as [-> S]; split; auto; unfold seat in S.
  pose proof (top_stage e Ie); pose proof (top_stage d Id); destruct stages as (Tp & _).
  destruct (Nat.eqb_spec (stage e) 0), (Nat.eqb_spec (stage d) 0); lia.
Qed.

Lemma arrival_at_round h q block b r n : In b M -> In (h, q) (arrivals (Ring block b r) n) ->
  exists a k W, is_thread a /\ round a k W /\ block = fst a /\ r = k mod copies b /\ n = k / copies b.
Proof.
  intros Ib J; apply in_ring_arrivals in J as (a & p & e & k & T & H & _ & Bl & Co & Ph).
  destruct (told_where a k b p e Ib T H) as (j & W & _ & _ & _ & R & _); exists a, k, W; auto.
Qed.

(* Arrivals of an earlier time come before those of a later one. *)
Lemma in_step block b m d n r x y : In b M -> In d M -> time d n = S (time b m) ->
  In x (arrivals (Ring block b r) m) -> In y (arrivals (Ring block d r) n) -> ord (fst x) (snd x) (fst y) (snd y).
Proof.
  destruct y as [h q]; intros Ib Id E X Y; destruct (next_seat b d n m Ib Id E) as [Nx En].
  pose proof (same_copies b d Ib Id) as Ec.
  destruct (arrival_at_round h q block d r n Id Y) as (a & k & W & T & R & -> & -> & ->).
  eapply (then_next a k W m b d x (h, q)); eauto; rewrite Ec; auto.
Qed.

Lemma in_steps l : forall block b m d n r x y, In b M -> In d M -> time d n = l + S (time b m) ->
  In x (arrivals (Ring block b r) m) -> In y (arrivals (Ring block d r) n) -> ord (fst x) (snd x) (fst y) (snd y).
Proof.
  induction l as [|l IH]; intros block b m d n r x y Ib Id E X Y; [apply (in_step block b m d n r x y); auto|].
  - destruct y as [h q]; destruct (at_next b m Ib) as (e & i & Ie & Ei & _); assert (Z : exists z, In z (arrivals (Ring block e r) i)).
    { destruct (arrival_at_round h q block d r n Id Y) as (a & k & W & T & R & -> & -> & ->).
      pose proof (same_copies e d Ie Id) as Ec; pose proof (positive d Id) as Pos.
      assert (Le : i <= k / copies d) by (apply (later_phase (top M) _ (seat e) _ (seat d)); auto using seat_top; unfold time in *; lia).
      set (n := copies d) in *; set (r := k mod n) in *. assert (Lt : r < n) by (apply Nat.mod_upper_bound; lia).
      assert (Mo : (i * n + r) mod n = r) by (rewrite Nat.add_comm, Nat.mod_add by lia; apply Nat.mod_small; auto).
      assert (Di : (i * n + r) / n = i) by (rewrite Nat.add_comm, Nat.div_add by lia; rewrite Nat.div_small by auto; lia).
      destruct (round_before a k W (i * n + r) R) as [V Rv].
      { rewrite (Nat.div_mod k n) by lia; fold r; pose proof (Nat.mul_le_mono_l _ _ n Le); lia. }
      destruct (some_there a _ V e T Rv Ie) as [z Z]; rewrite Ec, Mo, Di in Z; eauto. }
    destruct Z as [z Z]; apply ord_trans with (fst z) (snd z).
    + apply (in_step block b m e i r x z); auto.
    + apply (IH block e i d n r z (h, q)); auto; lia.
Qed.

Lemma in_order block b m d n r x y : In b M -> In d M -> time b m < time d n ->
  In x (arrivals (Ring block b r) m) -> In y (arrivals (Ring block d r) n) -> ord (fst x) (snd x) (fst y) (snd y).
Proof. intros Ib Id L; apply (in_steps (time d n - S (time b m))); auto; lia. Qed.

End Cycle.

End Turns.

Arguments tr : clear implicits.
Arguments arrivals : clear implicits.
Arguments told_at : clear implicits.
Arguments round : clear implicits.
Arguments tells_at : clear implicits.
Arguments seat : clear implicits.
Arguments time : clear implicits.
