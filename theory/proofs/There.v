(* Where a thread reaches into another block of its cluster, each thread of that block has begun, and has not ended. *)

From Coq Require Import List Arith Lia Bool.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents Turns Phases.
Import ListNotations.

Lemma before_same v p q d : before (v ++ p) (v ++ q) d -> before p q d.
Proof.
  induction v as [|x v IH]; simpl; auto; intro H; inversion H; subst; auto. exfalso; eapply earlier_irr; eauto.
Qed.

(* -- the shadow of a statement: where it has which barriers and accesses ------------------------------------------------ *)

Lemma shadow_bars N c s : forall D C, bars N s D C = true -> bars N (shadow c s) D C = true.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; intros D C H; simpl in *; auto;
    try (bools; rewrite IH1, IH2; auto; fail); [destruct (reaches_ c x); auto | destruct g as [| |[]]; auto; destruct (units_eqb v (Cluster c)); auto].
Qed.

Section Shadow.

Variables (o : oracle) (v : path) (c : nat).
(* The same decisions, where a statement stands further down. *)
Definition deeper : oracle := fun p => o (skipn (length v) p).

Lemma deeper_at w u : deeper (v ++ w) u = o w u.
Proof. unfold deeper; rewrite skipn_app, skipn_all, Nat.sub_diag; auto. Qed.

Lemma shadow_back s : forall w a p u h, In (p, EBar u h) (trace deeper (shadow c s) (v ++ w) a) ->
  exists q, p = v ++ q /\ In (q, EBar u h) (trace o s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u' g|u' s1 IH1 s2 IH2|l m u' s IH|k s IH|oo]; simpl; intros w a p u h I;
    rewrite ?deeper_at, <- ?app_assoc in I; stands; try discriminate.
  1, 2: (apply IH1 in I || apply IH2 in I); destruct I as (q & -> & I); exists q; there.
  3, 4: eauto.
  - destruct (reaches_ c x); simpl in I; stands; discriminate.
  - destruct g as [|i|[]]; try (destruct (units_eqb u' (Cluster c))); simpl in I; stands; try discriminate; eauto.
  - rewrite <- app_assoc in I; apply IH in I as (q & -> & I); exists q; there.
  - eauto.
Qed.

Definition seen_at (e : event) (g : access) : Prop :=
  (exists x, e = EAcc x /\ reaches_ c x = true /\ g = ghost 0 c Read) \/ (e = EBar (Cluster c) (Sent false) /\ g = ghost 1 c Read).

Lemma shadow_there s e g : seen_at e g -> forall w a p, In (p, e) (trace o s w a) ->
  In (v ++ p, EAcc g) (trace deeper (shadow c s) (v ++ w) a).
Proof.
  intro Se; induction s as [|s1 IH1 s2 IH2|x|u g'|u s1 IH1 s2 IH2|l m u s IH|k s IH|oo]; simpl; intros w a p I;
    rewrite ?deeper_at, <- ?app_assoc; stands; there.
  - destruct Se as [(y & Ey & R & ->)|[Ey _]]; inversion Ey; subst; rewrite R; left; auto.
  - destruct Se as [(y & Ey & _)|[Ey ->]]; inversion Ey; subst; simpl;
      rewrite (proj2 (same_as_eq _ units_dec _ _) eq_refl); left; auto.
  - eexists; split; eauto; rewrite <- app_assoc; auto.
  - destruct Se as [(y & Ey & _)|[Ey _]]; discriminate.
Qed.

End Shadow.

Section There.

Variables (B N : nat) (F : list fact) (s : stmt).
Hypotheses (Valid : valid N F s = true) (Whole : whole_clusters B s).
Variable o : oracle.

Notation tr := (tr o s).
Notation is_thread := (is_thread B N).
Notation acts := (acts B N tr).
Notation agents := (agents B N tr).
Notation arrivals := (arrivals B N o s).

Let Bars : bars N s [] [] = true.
Proof. unfold valid, Valid.valid in Valid; bools; auto. Qed.

Notation v := [Part 1; Part 1; Part 0].
Notation whole_trace c := (trace (deeper o v) (around c s) []).

Lemma is_checked c e g q a : seen_at c e g -> In (q, e) (tr a) -> check N [] nobody (around c s) [] [] = true.
Proof.
  intros Se J; unfold valid in Valid; ands Valid as [_ H]; unfold there in H; rewrite forallb_forall in H.
  specialize (H c); apply andb_prop in H; [tauto|]; apply nodup_In, in_flat_map; exists e; split; [eapply trace_events; exact J|].
  unfold clusters; destruct Se as [(x & -> & R & _)|[-> _]]; simpl; [|left; auto].
  unfold reaches_ in R; bools; match goal with E : owner x = _ |- _ => rewrite E; left; auto end.
Qed.

Lemma around_between c a b p x q y : check N [] nobody (around c s) [] [] = true -> is_thread a -> is_thread b -> a <> b ->
  same (Cluster c) a b -> In (p, EAcc x) (whole_trace c a) -> In (q, EAcc y) (whole_trace c b) -> precedes p q ->
  owner x = Cluster c -> overlap x y = true -> clash a b (does x) (does y) ->
  exists r u h, same u a b /\ In (r, EBar u h) (tr a) /\ In (r, EBar u h) (tr b) /\ precedes p (v ++ r) /\ precedes (v ++ r) q.
Proof.
  intros K Ta Tb Ne U I J P Ow Ov Cl.
  assert (Bs : bars N (around c s) [] [] = true) by (simpl; rewrite shadow_bars; auto).
  destruct (barrier_between B N (deeper o v) (around c s) [] a b [] nobody p q x y) as (r & u & h & U' & R & P1 & P2);
    auto.
  - rewrite Ow; auto.
  - intros ? ? [].
  - unfold around in R; cbn [trace] in R; stands; destruct (shadow_back o v c s [] a r u h R) as (r0 & -> & R0).
    exists r0, u, h; repeat (split; auto); apply (bars_meet B N F s Valid o a b r0 u h Ta Tb U' R0).
Qed.

Let born k c a : k = 0 \/ k = 1 -> In (if k =? 0 then [Part 0] else [Part 1; Part 0], EAcc (ghost k c Atomic)) (whole_trace c a).
Proof. intros [-> | ->]; simpl; auto. Qed.

Let born_first k q : precedes (if k =? 0 then [Part 0] else [Part 1; Part 0]) (v ++ q).
Proof. destruct (k =? 0); exists None; [|apply before_next]; apply before_here; constructor; lia. Qed.

Let inside c a z : In z (trace (deeper o v) (shadow c s) (v ++ []) a) -> In z (whole_trace c a).
Proof. intro I; simpl; do 2 right; apply in_or_app; left; exact I. Qed.

(* Where b reaches into a block of its cluster, or sends to it, all threads of the cluster have met before. *)
Lemma met_before c a b q e g : seen_at c e g -> is_thread a -> is_thread b -> a <> b -> same (Cluster c) a b -> In (q, e) (tr b) ->
  exists r u h, same u a b /\ In (r, EBar u h) (tr a) /\ In (r, EBar u h) (tr b) /\ precedes r q.
Proof.
  intros Se Ta Tb Ne U J; pose proof (is_checked c e g q b Se J) as K.
  assert (Ek : exists k, (k = 0 \/ k = 1) /\ g = ghost k c Read) by (destruct Se as [(x & _ & _ & ->)|[_ ->]]; eauto).
  destruct Ek as (k & Ek & ->).
  destruct (around_between c a b _ _ (v ++ q) (ghost k c Read) K Ta Tb Ne U (born k c a Ek)
    (inside c b _ (shadow_there o v c s e _ Se [] b q J)) (born_first k q)) as (r & u & h & A1 & A2 & A3 & _ & P); auto.
  - destruct Ek as [-> | ->]; reflexivity.
  - destruct Ek as [-> | ->]; exact I.
  - exists r, u, h; repeat (split; auto); destruct P as [d P]; apply before_same in P; exists d; auto.
Qed.

(* And where it reaches, they meet behind. *)
Lemma met_behind c a b q x : reaches_ c x = true -> is_thread a -> is_thread b -> a <> b -> same (Cluster c) a b ->
  In (q, EAcc x) (tr b) -> exists r u h, same u a b /\ In (r, EBar u h) (tr a) /\ In (r, EBar u h) (tr b) /\ precedes q r.
Proof.
  intros R Ta Tb Ne U J; assert (Se : seen_at c (EAcc x) (ghost 0 c Read)) by (left; eauto).
  pose proof (is_checked c _ _ q b Se J) as K.
  destruct (around_between c b a (v ++ q) (ghost 0 c Read) [Part 1; Part 1; Part 1] (ghost 0 c Atomic) K Tb Ta) as (r & u & h & A1 & A2 & A3 & P & _); auto.
  - apply same_sym; auto.
  - exact (inside c b _ (shadow_there o v c s _ _ Se [] b q J)).
  - simpl; do 2 right; apply in_or_app; right; left; auto.
  - exists None; simpl; do 2 apply before_next; apply before_here; constructor; lia.
  - exact I.
  - exists r, u, h; repeat (split; auto using same_sym); destruct P as [d P]; apply before_same in P; exists d; auto.
Qed.

(* In a run: each thread of a block into which another one reaches, or to which it sends at once, has made a step. *)
Theorem has_begun c a b q e g ls M j : seen_at c e g -> is_thread a -> is_thread b -> a <> b -> same (Cluster c) a b ->
  In (q, e) (tr b) -> Run B N s o (begin B N s o) ls M -> At ls j (Thread b) q -> exists r i, At ls i (Thread a) r /\ i < j.
Proof.
  intros Se Ta Tb Ne U J R A; destruct (met_before c a b q e g Se Ta Tb Ne U J) as (r & u & h & V & Ia & Ib & P).
  assert (Q : exists f, In (q, f) (acts (Thread b))).
  { destruct Se as [(x & -> & _)|[-> _]]; eexists; apply in_thread; exists q; eexists; (split; [exact J | left; reflexivity]). }
  destruct Q as [f Q]; destruct (before_it B N F s Valid Whole o ls M (Thread a) r (Thread b) q j R)
    as (i & Ai & L & _); eauto.
  apply (ord_bar agents acts _ _ r q (key_of u h a) (count B N u) f); auto; try (apply thread_agent; auto);
    apply in_barrier.
  - exists a, u, h; auto.
  - exists b, u, h; repeat (split; auto); apply key_same; auto.
Qed.

(* And has not made its last one. *)
Theorem has_not_ended c a b q x r ls M : reaches_ c x = true -> is_thread a -> is_thread b -> a <> b -> same (Cluster c) a b ->
  In (q, EAcc x) (tr b) -> Run B N s o (begin B N s o) ls M -> left M (Thread b) = (q, access_ x) :: r ->
  left M (Thread a) <> [].
Proof.
  intros Re Ta Tb Ne U J R E Z; pose proof (reached B N F s Valid Whole o ls M R) as O.
  pose proof (proj2 (thread_agent B N tr a) Ta) as Ga; pose proof (proj2 (thread_agent B N tr b) Tb) as Gb.
  assert (L : In (q, access_ x) (left M (Thread b))) by (rewrite E; left; auto).
  destruct (met_behind c a b q x Re Ta Tb Ne U J) as (p & u & h & V & Ia & Ib & P).
  set (k := key_of u h a); set (n := count B N u).
  assert (Pa : In (p, barrier_ k n) (acts (Thread a))) by (apply in_barrier; exists a, u, h; auto).
  assert (Pb : In (p, barrier_ k n) (acts (Thread b))).
  { apply in_barrier; exists b, u, h; repeat (split; auto); apply key_same; auto. }
  destruct (did_or_left agents acts arrivals M (Thread a) p _ O Ga Pa) as [D|K]; [|rewrite Z in K; destruct K].
  assert (D' : did acts M (Thread b) p)
    by (eapply (atomic agents acts arrivals M O (Thread a) (Thread b) p k n); eauto).
  apply (not_both agents acts (sorted_acts B N s o) arrivals M (Thread b) q (access_ x) O Gb); auto.
  apply (did_earlier agents acts (sorted_acts B N s o) arrivals M (Thread b) q p (access_ x)); auto;
    apply (left_in agents acts arrivals M _ _ O Gb L).
Qed.

End There.
