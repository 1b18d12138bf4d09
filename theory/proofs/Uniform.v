(** Uniformity: threads of one unit of a perspective agree on what happens at that perspective, in every state that the
    machine can reach. No typing is needed: the perspectives that the semantics enforces suffice, and Safety says that
    well-typed programs pass. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety Units Pair.
Import ListNotations.

Section Uniform.
Context {M : Machine} {Fs : Functions}.
Variable rg : name -> bool.
Variable ro : site -> bool.
Notation run := (run ro).
Notation runs_agree := (runs_agree rg ro).
Local Notation sfrag := (Units.sfrag rg ro).
Local Notation nfrag := (Units.nfrag rg ro).
Hypothesis Hbody : fns_frag rg ro.
Local Notation glob m g := (forall st, ro st = true -> gl m st = g st) (only parsing).
Ltac globs :=
  let st := fresh in let Hr := fresh in intros st Hr;
  repeat match goal with H : forall st, ro st = true -> _ |- _ => specialize (H st Hr) end; congruence.

(** * The machine *)

Lemma run_snoc th g s n h s1 n1 m m1 ev s2 n2 :
  run th g s n h s1 n1 -> glob m g -> step th pos0 0 n1 m s1 = Next s2 n2 m1 ev -> run th g s n (h ++ ev) s2 n2.
Proof.
  induction 1 as [s n|s n s3 n3 m3 m4 ev3 h s4 n4 Hg Hs Hr IH]; intros Hm Hst.
  - simpl. rewrite <- (app_nil_r ev). eapply run_cons; eauto. constructor.
  - rewrite <- app_assoc. eapply run_cons; [exact Hg | exact Hs | auto].
Qed.

Definition hist (t : tstate) : list event := match t with Run _ _ h => h | Trap h => h end.

(** Every thread of a reachable state has run from the start on its own, stores to shared memory apart. *)
Lemma reach_run s n m S : sfrag s -> nfrag n -> reach (init s n m) S ->
  glob (memory S) (gl m) /\
  forall th, exists s' n', run th (gl m) s n (hist (pool S th)) s' n' /\ sfrag s' /\ nfrag n' /\
    match pool S th with Run s1 n1 _ => s1 = s' /\ n1 = n' | Trap _ => True end.
Proof.
  intros Hf Hn HR. induction HR as [|th S S' HR [IHg IH] Hst].
  - split; auto. intros th. exists s, n. repeat split; auto. constructor.
  - inversion Hst; subst; simpl in *.
    + destruct (IH th) as (s'' & n'' & R & F & G & E). rewrite H0 in *. destruct E as [<- <-].
      destruct (step_frag _ _ Hbody _ _ _ _ _ _ _ _ _ _ F G H1) as (F' & G' & Hg). simpl in Hg; split; [globs|].
      intros th'. unfold upt. destruct (tid_eqb th' th) eqn:E; [|apply IH].
      apply tid_eqb_spec in E as ->. exists s', n'. repeat split; auto.
      simpl in *. exact (run_snoc _ _ _ _ _ _ _ (pick w m0) _ _ _ _ R IHg H1).
    + split; auto. intros th'. unfold upt. destruct (tid_eqb th' th) eqn:E; [|apply IH].
      apply tid_eqb_spec in E as ->. destruct (IH th) as (s'' & n'' & R & F & G & E). rewrite H0 in *.
      exists s'', n''. auto.
Qed.

(** The events of a thread at one perspective. *)
Definition at_persp (q : persp) (h : list event) : list event := filter (fun e => peqb q (ev_persp e)) h.

Lemma at_persp_shared a b q h : same_unit q a b -> at_persp q (shared a b h) = at_persp q h.
Proof.
  intros Hq. induction h as [|e h IH]; auto. simpl.
  destruct (same_unitb (ev_persp e) a b) eqn:E; simpl; [now rewrite IH|].
  destruct (peqb q (ev_persp e)) eqn:Q; auto. apply peqb_spec in Q. subst q. apply same_unitb_spec in Hq. congruence.
Qed.

Lemma prefix_filter {A} (f : A -> bool) l l' : prefix l l' -> prefix (filter f l) (filter f l').
Proof. intros [w ->]. exists (filter f w). apply filter_app. Qed.

(** Uniformity: in every reachable state, of two threads of one unit of [q], one's history at [q] (variables set, branches
    taken, collectives entered, cells stored) is a prefix of the other's. *)
Theorem uniformity s n m S a b q :
  sfrag s -> nfrag n -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  prefix (at_persp q (hist (pool S a))) (at_persp q (hist (pool S b))) \/
  prefix (at_persp q (hist (pool S b))) (at_persp q (hist (pool S a))).
Proof.
  intros Hf Hn HR Ha Hb Hq. destruct (reach_run _ _ _ _ Hf Hn HR) as [_ H].
  destruct (H a) as (s1 & n1 & R1 & _). destruct (H b) as (s2 & n2 & R2 & _).
  destruct (runs_agree Hbody a b Ha Hb _ _ _ _ _ _ R1 _ _ _ _ _ R2 (rel_refl a b s pos0 pos0) (agree_refl a b n) Hf Hf
    Hn Hn) as [[P|P] _]; apply (prefix_filter (fun e => peqb q (ev_persp e))) in P;
    [left|right]; now rewrite <- (at_persp_shared a b q (hist (pool S a))),
      <- (at_persp_shared a b q (hist (pool S b))) by auto.
Qed.

(** The i-th event at [q], of any two threads of a unit of [q], is one event: same variable, same value. *)
Corollary uniform_event s n m S a b q i e e' :
  sfrag s -> nfrag n -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  nth_error (at_persp q (hist (pool S a))) i = Some e -> nth_error (at_persp q (hist (pool S b))) i = Some e' -> e = e'.
Proof.
  intros Hf Hn HR Ha Hb Hq He He'.
  assert (X : forall l l' : list event, prefix l l' -> nth_error l i <> None -> nth_error l' i = nth_error l i).
  { intros l l' [w ->] Hi. apply nth_error_app1. now apply nth_error_Some. }
  destruct (uniformity s n m S a b q Hf Hn HR Ha Hb Hq) as [P|P]; apply X in P; congruence.
Qed.

(** Once both have finished, their histories at [q] are equal, and so are their arguments held at [q]. *)
Theorem uniform_end s n m S a b q :
  sfrag s -> nfrag n -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  forall na ha nb hb, pool S a = Run SSkip na ha -> pool S b = Run SSkip nb hb ->
  at_persp q ha = at_persp q hb /\
  forall x va vb, na x = Some (q, va) -> nb x = Some (q, vb) -> va = vb.
Proof.
  intros Hf Hn HR Ha Hb Hq na ha nb hb Ea Eb. destruct (reach_run _ _ _ _ Hf Hn HR) as [_ H].
  destruct (H a) as (s1 & n1 & R1 & _ & _ & E1). destruct (H b) as (s2 & n2 & R2 & _ & _ & E2).
  rewrite Ea in *; rewrite Eb in *. destruct E1 as [<- <-], E2 as [<- <-]. simpl in *.
  destruct (runs_agree Hbody a b Ha Hb _ _ _ _ _ _ R1 _ _ _ _ _ R2 (rel_refl a b s pos0 pos0) (agree_refl a b n) Hf Hf
    Hn Hn) as (_ & P1 & P2 & P3).
  split.
  - destruct (P1 eq_refl) as [w W], (P2 eq_refl) as [w' W']. rewrite W in W'.
    rewrite <- app_assoc in W'. rewrite <- (app_nil_r (shared a b hb)) in W' at 1.
    apply app_inv_head in W'. symmetry in W'. apply app_eq_nil in W' as [-> _]. rewrite app_nil_r in W.
    now rewrite <- (at_persp_shared a b q ha), <- (at_persp_shared a b q hb), W by auto.
  - intros x va vb A1 A2. now apply (agree_get _ _ _ _ _ _ _ _ _ (P3 eq_refl eq_refl) A1 A2).
Qed.

End Uniform.
