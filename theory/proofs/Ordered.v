(* Traces that agree on an order of barriers: the machine that runs them never waits for ever, and orders what conflicts. *)

From Coq Require Import List Arith Lia Bool Relations Sorting.Sorted.
From Bundl Require Import Skeleton.
Import ListNotations.

(* -- positions ---------------------------------------------------------------------------------------------------------- *)

Lemma earlier_irr x d : ~ earlier x x d.
Proof. intro H; inversion H; subst; lia. Qed.

Lemma before_irr p d : ~ before p p d.
Proof.
  revert d; induction p as [|x p IH]; intros d H; inversion H; subst.
  - eapply earlier_irr; eauto.
  - eapply IH; eauto.
Qed.

Lemma precedes_irr p : ~ precedes p p.
Proof. intros [d H]; eapply before_irr; eauto. Qed.

Lemma earlier_trans x y z d e : earlier x y d -> earlier y z e -> exists f, earlier x z f.
Proof. intros H K; inversion H; subst; inversion K; subst; eexists; constructor; lia. Qed.

Lemma precedes_trans p q r : precedes p q -> precedes q r -> precedes p r.
Proof.
  intros [d H]; revert r; induction H as [x y p q d H|x p q d H IH]; intros r [e K]; inversion K; subst.
  - match goal with E : earlier y _ _ |- _ => destruct (earlier_trans _ _ _ _ _ H E) as [f F] end.
    exists f; constructor; exact F.
  - exists d; constructor; exact H.
  - exists e; constructor; assumption.
  - match goal with E : before q _ _ |- _ => destruct (IH _ (ex_intro _ _ E)) as [f F] end.
    exists f; constructor 2; exact F.
Qed.

Lemma before_app p q d r s : before p q d -> before (p ++ r) (q ++ s) d.
Proof. induction 1; simpl; [constructor 1 | constructor 2]; auto. Qed.

Lemma before_prefix w p q d : before p q d -> before (w ++ p) (w ++ q) d.
Proof. induction w; simpl; auto; constructor 2; auto. Qed.

Lemma before_turns w x y p q d : earlier x y d -> before (w ++ x :: p) (w ++ y :: q) d.
Proof. intro; apply before_prefix; constructor; auto. Qed.

Lemma turn_dec (x y : turn) : {x = y} + {x <> y}.
Proof. decide equality; apply Nat.eq_dec. Qed.

Lemma earlier_dec x y : {exists d, earlier x y d} + {~ exists d, earlier x y d}.
Proof.
  destruct x as [k|l k], y as [m|j m].
  - destruct (lt_dec k m) as [H|H]; [left; eexists; constructor; auto | right; intros [d E]; inversion E; lia].
  - right; intros [d E]; inversion E.
  - right; intros [d E]; inversion E.
  - destruct (Nat.eq_dec l j) as [<-|Ne]; [|right; intros [d E]; inversion E; congruence].
    destruct (lt_dec k m) as [H|H]; [left; eexists; constructor; auto | right; intros [d E]; inversion E; lia].
Qed.

Lemma precedes_dec p q : {precedes p q} + {~ precedes p q}.
Proof.
  revert q; induction p as [|x p IH]; intros [|y q]; try (right; intros [d E]; inversion E; fail).
  destruct (earlier_dec x y) as [H|H].
  - left; destruct H as [d H]; exists d; constructor; auto.
  - destruct (turn_dec x y) as [<-|Ne].
    + destruct (IH q) as [K|K].
      * left; destruct K as [d K]; exists d; constructor 2; auto.
      * right; intros [d E]; inversion E; subst; [apply H; eauto | apply K; eexists; eauto].
    + right; intros [d E]; inversion E; subst; [apply H; eauto | congruence].
Qed.

(* Of some positions one comes before no other's. *)
Lemma first_of (A : Type) (f : A -> path) (l : list A) :
  l <> [] -> exists m, In m l /\ forall x, In x l -> ~ precedes (f x) (f m).
Proof.
  induction l as [|x l IH]; [congruence|]; intros _; destruct l as [|y l].
  - exists x; simpl; split; auto; intros z [<-|[]]; apply precedes_irr.
  - destruct IH as (m & I & Min); [discriminate|].
    destruct (precedes_dec (f x) (f m)) as [P|P].
    + exists x; split; [left; auto|]; intros z [<-|J]; [apply precedes_irr|].
      intro Q; apply (Min z J); eapply precedes_trans; eauto.
    + exists m; split; [right; auto|]; intros z [<-|J]; auto.
Qed.

Lemma key_same u h a b : same u a b -> key_of u h a = key_of u h b.
Proof. unfold same; destruct u, h; simpl; intro E; try inversion E; congruence. Qed.

Lemma thread_dec (a b : thread) : {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Qed.

(* -- sorted traces ------------------------------------------------------------------------------------------------------ *)

Definition sorted (t : list (path * event)) : Prop := StronglySorted (fun x y => precedes (fst x) (fst y)) t.

Lemma sorted_app t u : sorted (t ++ u) <-> sorted t /\ sorted u /\ (forall x y, In x t -> In y u -> precedes (fst x) (fst y)).
Proof.
  unfold sorted; induction t as [|x t IH]; simpl.
  - split; [intro H; repeat split; auto; try constructor; intros ? ? [] | tauto].
  - split.
    + intro H; inversion H as [|? ? H1 H2]; subst; apply IH in H1; destruct H1 as (A & C & D).
      rewrite Forall_app in H2; destruct H2 as [H2 H3].
      repeat split; auto; try (constructor; auto).
      intros y z [<-|I] J; [rewrite Forall_forall in H3; auto | auto].
    + intros (A & C & D); inversion A; subst; constructor.
      * apply IH; repeat split; auto.
      * rewrite Forall_app; split; auto; rewrite Forall_forall; auto.
Qed.

Lemma sorted_head x t y : sorted (x :: t) -> In y t -> precedes (fst x) (fst y).
Proof. intros H I; inversion H as [|? ? _ F]; subst; rewrite Forall_forall in F; auto. Qed.

(* In a sorted trace, what comes after something that is left is left too. *)
Lemma sorted_left d s x y :
  sorted (d ++ s) -> In x s -> In y (d ++ s) -> precedes (fst x) (fst y) -> In y s.
Proof.
  intros H I J P; apply in_app_or in J; destruct J as [J|J]; auto.
  apply sorted_app in H; destruct H as (_ & _ & H).
  exfalso; eapply precedes_irr; eapply precedes_trans; [exact P | apply H; auto].
Qed.

Section Machine.

Variables B N : nat.
Notation is_thread := (is_thread B N).
Notation count := (count B N).
Notation step := (step B N).
Notation run := (run B N).

Variable tr : thread -> list (path * event).

(* Positions of a trace are in order. *)
Hypothesis in_order : forall a, is_thread a -> sorted (tr a).

(* All threads of a barrier's unit meet it, and as many there are as it counts to. *)
Hypothesis met : forall a p u h, is_thread a -> In (p, EBar u h) (tr a) ->
  exists w, NoDup w /\ length w = count u /\ forall b, In b w <-> is_thread b /\ same u a b.
Hypothesis meets : forall a b p u h, is_thread a -> is_thread b -> same u a b ->
  In (p, EBar u h) (tr a) -> In (p, EBar u h) (tr b).

(* A key is one unit's. *)
Hypothesis own : forall a b p q u v h g, is_thread a -> is_thread b ->
  In (p, EBar u h) (tr a) -> In (q, EBar v g) (tr b) -> key_of u h a = key_of v g b -> u = v /\ h = g /\ same u a b.

(* Each thread has done a part of its trace, and a unit's threads have met the same barriers. *)
Definition ok (S : state) : Prop :=
  (forall a, is_thread a -> exists d, tr a = d ++ S a) /\
  (forall a b p u h, is_thread a -> is_thread b -> same u a b -> In (p, EBar u h) (tr a) ->
     In (p, EBar u h) (S a) -> In (p, EBar u h) (S b)).

Lemma ok_start : ok tr.
Proof. split; [intros a _; exists []; auto | eauto]. Qed.

Lemma left_in S a x : ok S -> is_thread a -> In x (S a) -> In x (tr a).
Proof. intros [H _] T I; destruct (H a T) as [d E]; rewrite E; apply in_or_app; auto. Qed.

Lemma left_sorted S a : ok S -> is_thread a -> sorted (S a).
Proof. intros [H _] T; destruct (H a T) as [d E]; pose proof (in_order a T) as K; rewrite E in K; apply sorted_app in K; tauto. Qed.

Lemma left_later S a x y :
  ok S -> is_thread a -> In x (S a) -> In y (tr a) -> precedes (fst x) (fst y) -> In y (S a).
Proof.
  intros [H _] T I J P; destruct (H a T) as [d E]; pose proof (in_order a T) as K; rewrite E in *.
  eapply sorted_left; eauto.
Qed.

(* Two threads that wait at one key wait at one barrier. *)
Lemma one_barrier S a b p q u v h g r s :
  ok S -> is_thread a -> is_thread b -> S a = (p, EBar u h) :: r -> S b = (q, EBar v g) :: s ->
  key_of u h a = key_of v g b -> p = q /\ u = v /\ h = g /\ same u a b.
Proof.
  intros O Ta Tb Ea Eb K.
  assert (Ia : In (p, EBar u h) (S a)) by (rewrite Ea; simpl; auto).
  assert (Ib : In (q, EBar v g) (S b)) by (rewrite Eb; simpl; auto).
  destruct (own a b p q u v h g) as (<- & <- & U); eauto using left_in.
  pose proof (left_in S a _ O Ta Ia) as Ja; pose proof (left_in S b _ O Tb Ib) as Jb.
  pose proof (proj2 O a b p u h Ta Tb U Ja Ia) as Ia'.
  pose proof (proj2 O b a q u h Tb Ta (eq_sym U) Jb Ib) as Ib'.
  split; [|auto].
  pose proof (left_sorted S a O Ta) as Sa; pose proof (left_sorted S b O Tb) as Sb; rewrite Ea in *; rewrite Eb in *.
  simpl in Ia', Ib'; destruct Ia' as [E|Ia']; [congruence|]; destruct Ib' as [E|Ib']; [congruence|].
  exfalso; apply (precedes_irr p).
  eapply precedes_trans; [exact (sorted_head _ _ _ Sa Ib') | exact (sorted_head _ _ _ Sb Ia')].
Qed.

(* A barrier that goes off is one barrier, and all of a unit. *)
Lemma goes_off S w S' : ok S -> step S (LBar w) S' ->
  exists p u h, forall a, In a w ->
    is_thread a /\ (exists r, S a = (p, EBar u h) :: r /\ S' a = r) /\
    forall b, In b w <-> is_thread b /\ same u a b.
Proof.
  intros O H; inversion H as [|? ? ? k NE ND All Else]; subst.
  destruct w as [|a w]; [congruence|]; set (W := a :: w) in *.
  destruct (All a (or_introl eq_refl)) as (Ta & p & u & h & r & Ea & Ka & Ca & Fa).
  exists p, u, h.
  assert (Same : forall b, In b W -> is_thread b /\ same u a b /\ exists r, S b = (p, EBar u h) :: r /\ S' b = r).
  { intros b Ib; destruct (All b Ib) as (Tb & q & v & g & s & Eb & Kb & _ & Fb).
    destruct (one_barrier S a b p q u v h g r s) as (<- & <- & <- & U); auto; [congruence|].
    split; [exact Tb|]; split; [exact U|]; exists s; auto. }
  assert (Ia : In (p, EBar u h) (tr a)) by (eapply left_in; eauto; rewrite Ea; simpl; auto).
  destruct (met a p u h Ta Ia) as (m & Dm & Lm & Mm).
  assert (Sub : incl W m) by (intros b Ib; apply Mm; destruct (Same b Ib) as (? & ? & _); auto).
  assert (Sup : incl m W) by (apply NoDup_length_incl; auto; rewrite Lm, Ca; lia).
  intros c Ic; destruct (Same c Ic) as (Tc & Uc & Rc); split; [exact Tc|]; split; [exact Rc|]; intro b; split.
  - intro Ib; destruct (Same b Ib) as (Tb & Ub & _); split; auto; unfold same in *; congruence.
  - intros [Tb Ub]; apply Sup, Mm; split; auto; unfold same in *; congruence.
Qed.

Lemma ok_step S l S' : ok S -> step S l S' -> ok S'.
Proof.
  intros O H; destruct l as [a p x|w].
  - inversion H as [? ? ? ? ? r Ta Ea Fa Else|]; subst; split.
    + intros b Tb; destruct (thread_dec a b) as [->|Ne].
      * destruct (proj1 O b Tb) as [d E]; exists (d ++ [(p, EAcc x)]); rewrite E, Ea, <- app_assoc; auto.
      * rewrite Else by auto; apply O; auto.
    + intros b c q u h Tb Tc U I J.
      assert (forall d, is_thread d -> In (q, EBar u h) (S d) <-> In (q, EBar u h) (S' d)) as Keep.
      { intros d Td; destruct (thread_dec a d) as [->|Ne].
        - rewrite Ea; simpl; split; [intros [E|?]; [discriminate|auto] | auto].
        - rewrite Else by auto; tauto. }
      apply Keep; auto; eapply (proj2 O) with (a := b); eauto; apply Keep; auto.
  - destruct (goes_off S w S' O H) as (p & u & h & All).
    inversion H as [|? ? ? k NE ND _ Else]; subst; split.
    + intros b Tb; destruct (in_dec thread_dec b w) as [I|I].
      * destruct (All b I) as (_ & (r & Eb & Fb) & _).
        destruct (proj1 O b Tb) as [d E]; exists (d ++ [(p, EBar u h)]); rewrite E, Eb, Fb, <- app_assoc; auto.
      * rewrite Else by auto; apply O; auto.
    + intros b c q v g Tb Tc U I J.
      assert (J' : In (q, EBar v g) (S b)).
      { destruct (in_dec thread_dec b w) as [K|K]; [|rewrite <- Else; auto].
        destruct (All b K) as (_ & (r & Eb & Fb) & _); rewrite Eb; rewrite Fb in J; simpl; auto. }
      pose proof (proj2 O b c q v g Tb Tc U I J') as Jc.
      destruct (in_dec thread_dec c w) as [K|K]; [|rewrite Else; auto].
      destruct (All c K) as (_ & (r & Ec & Fc) & Wc); rewrite Ec in Jc; simpl in Jc.
      rewrite Fc; destruct Jc as [E|?]; auto; inversion E; subst.
      (* then b was at that barrier too, and has passed it *)
      assert (K' : In b w) by (apply Wc; split; auto; symmetry; auto).
      destruct (All b K') as (_ & (s & Eb & Fb) & _).
      pose proof (left_sorted S b O Tb) as Sb; rewrite Eb in Sb; rewrite Fb in J.
      exfalso; apply (precedes_irr q); exact (sorted_head _ _ _ Sb J).
Qed.

Lemma ok_run S ls S' : ok S -> run S ls S' -> ok S'.
Proof. intros O H; induction H; eauto using ok_step. Qed.

(* -- progress ----------------------------------------------------------------------------------------------------------- *)

Definition threads : list thread := list_prod (seq 0 B) (seq 0 N).

Lemma in_threads a : In a threads <-> is_thread a.
Proof. destruct a as [b t]; unfold threads, Skeleton.is_thread, thread; rewrite in_prod_iff, !in_seq; simpl; lia. Qed.

Definition next (S : state) (a : thread) : path := match S a with [] => [] | x :: _ => fst x end.

Definition set (S : state) (a : thread) (r : list (path * event)) : state := fun b => if thread_dec b a then r else S b.

Lemma progress S : ok S -> finished B N S \/ exists l S', step S l S'.
Proof.
  intro O; set (live := filter (fun a => match S a with [] => false | _ => true end) threads).
  assert (Live : forall a, In a live <-> is_thread a /\ S a <> []).
  { intro a; unfold live; rewrite filter_In, in_threads; destruct (S a); intuition congruence. }
  destruct live as [|a0 l0] eqn:E.
  { left; intros a T; destruct (S a) as [|x r] eqn:F; auto.
    exfalso; apply (proj2 (Live a)); split; auto; congruence. }
  right; destruct (first_of _ (next S) live) as (a & I & Min); [rewrite E; discriminate|].
  rewrite E in *; clear E; set (lives := a0 :: l0) in *; apply Live in I; destruct I as [T NE].
  destruct (S a) as [|[p e] r] eqn:Ea; [congruence|]; clear NE.
  assert (Np : next S a = p) by (unfold next; rewrite Ea; auto).
  destruct e as [x|u h].
  { exists (LAcc a p x), (set S a r); econstructor; eauto.
    - unfold set; destruct (thread_dec a a); congruence.
    - intros b Ne; unfold set; destruct (thread_dec b a); congruence. }
  assert (Ia : In (p, EBar u h) (S a)) by (rewrite Ea; simpl; auto).
  pose proof (left_in S a _ O T Ia) as Ta.
  destruct (met a p u h T Ta) as (w & Dw & Lw & Mw).
  (* all of the unit wait there: whose next event is another would come before *)
  assert (Heads : forall b, In b w -> exists s, S b = (p, EBar u h) :: s).
  { intros b Ib; apply Mw in Ib; destruct Ib as [Tb U].
    pose proof (proj2 O a b p u h T Tb U Ta Ia) as Jb.
    destruct (S b) as [|[q f] s] eqn:Eb; [destruct Jb|].
    destruct Jb as [<-|Jb]; eauto.
    exfalso; apply (Min b); [apply Live; split; auto; congruence|].
    pose proof (left_sorted S b O Tb) as Sb; rewrite Eb in Sb.
    unfold next; rewrite Eb, Ea; exact (sorted_head _ _ _ Sb Jb). }
  exists (LBar w), (fun b => if in_dec thread_dec b w then tl (S b) else S b).
  apply step_bar with (k := key_of u h a); auto.
  - intros ->; apply (proj2 (Mw a)); split; auto; reflexivity.
  - intros b Ib; destruct (Heads b Ib) as [s Eb]; apply Mw in Ib as Ub; destruct Ub as [Tb U]; split; auto.
    exists p, u, h, s; repeat split; auto.
    + apply key_same; auto; symmetry; auto.
    + destruct (in_dec thread_dec b w); [rewrite Eb; auto | tauto].
  - intros b Ib; destruct (in_dec thread_dec b w); tauto.
Qed.

(* -- termination -------------------------------------------------------------------------------------------------------- *)

Definition total (S : state) : nat := list_sum (map (fun a => length (S a)) threads).

Lemma sum_less (A : Type) (f g : A -> nat) l a :
  In a l -> (forall x, f x <= g x) -> f a < g a -> list_sum (map f l) < list_sum (map g l).
Proof.
  assert (Le : forall l, (forall x, f x <= g x) -> list_sum (map f l) <= list_sum (map g l)).
  { intros m H; induction m as [|x m IH]; simpl; auto; specialize (H x); lia. }
  intros I H L; induction l as [|x l IH]; [destruct I|]; simpl.
  destruct I as [->|I]; [specialize (Le l H); lia | specialize (IH I); specialize (H x); lia].
Qed.

Lemma step_total S l S' : step S l S' -> total S' < total S.
Proof.
  intro H; inversion H as [? ? a p x r T E F Else|? ? w k NE ND All Else]; subst; unfold total.
  - apply sum_less with (a := a); [apply in_threads; auto | | rewrite E; simpl; auto].
    intro b; destruct (thread_dec b a) as [->|Ne]; [rewrite E; simpl; auto | rewrite Else; auto].
  - destruct w as [|a w]; [congruence|].
    assert (Each : forall b, In b (a :: w) -> length (S' b) < length (S b)).
    { intros b I; destruct (All b I) as (_ & p & u & h & r & E & _ & _ & F); rewrite E, F; simpl; auto. }
    apply sum_less with (a := a); [apply in_threads; apply All; left; auto | | apply Each; left; auto].
    intro b; destruct (in_dec thread_dec b (a :: w)) as [I|I]; [apply Nat.lt_le_incl, Each; auto | rewrite Else; auto].
Qed.

Lemma run_bounded S ls S' : run S ls S' -> length ls + total S' <= total S.
Proof. induction 1; simpl; auto; match goal with E : step _ _ _ |- _ => apply step_total in E end; lia. Qed.

(* -- order -------------------------------------------------------------------------------------------------------------- *)

(* What a thread had left and has not any more, it did in a step; a barrier, with its whole unit. *)
Lemma was_met S ls S' a p u h :
  ok S -> run S ls S' -> is_thread a -> In (p, EBar u h) (S a) -> ~ In (p, EBar u h) (S' a) ->
  exists i w, nth_error ls i = Some (LBar w) /\ forall b, In b w <-> is_thread b /\ same u a b.
Proof.
  intros O H T; induction H as [S|S l S1 ls S2 H R IH]; intros I J; [tauto|].
  assert (Dec : In (p, EBar u h) (S1 a) \/ ~ In (p, EBar u h) (S1 a) /\ exists w, l = LBar w /\ In a w /\
                exists r, S a = (p, EBar u h) :: r).
  { inversion H as [? ? b q x r Tb E F Else|? ? w k NE ND All Else]; subst.
    - left; destruct (thread_dec a b) as [->|Ne]; [|rewrite Else; auto].
      rewrite E in I; destruct I as [I|I]; [discriminate | auto].
    - destruct (in_dec thread_dec a w) as [K|K]; [|left; rewrite Else; auto].
      destruct (All a K) as (_ & q & v & g & r & E & _ & _ & F); rewrite E in I; destruct I as [I|I]; [|left; rewrite F; auto].
      inversion I; subst; right; split; [|eauto 6].
      intro M; pose proof (left_sorted S a O T) as So; rewrite E in So.
      apply (precedes_irr p); exact (sorted_head _ _ _ So M). }
  destruct Dec as [K|(K & w & -> & M & r & E)].
  - destruct (IH (ok_step _ _ _ O H) K J) as (i & w & Nth & W); exists (Datatypes.S i), w; auto.
  - exists 0, w; split; auto; destruct (goes_off S w S1 O H) as (q & v & g & All).
    destruct (All a M) as (_ & (s & F & _) & W); rewrite E in F; inversion F; subst; exact W.
Qed.

Lemma run_split S ls S' i l :
  run S ls S' -> nth_error ls i = Some l ->
  exists before after S1 S2, ls = before ++ l :: after /\ length before = i /\ run S before S1 /\ step S1 l S2 /\ run S2 after S'.
Proof.
  intro H; revert i; induction H as [S|S m S1 ls S2 H R IH]; intros [|i] E; simpl in E; try discriminate.
  - inversion E; subst; exists [], ls, S, S1; repeat split; auto; constructor.
  - destruct (IH i E) as (b & c & X & Y & -> & <- & Rb & St & Rc).
    exists (m :: b), c, X, Y; repeat split; auto; econstructor; eauto.
Qed.

Lemma stays_left S ls S' a x : run S ls S' -> is_thread a -> In x (S' a) -> In x (S a).
Proof.
  intros H T; induction H as [|S l S1 ls S2 H R IH]; auto; intro I; specialize (IH I).
  inversion H as [? ? b q y r Tb E F Else|? ? w k NE ND All Else]; subst.
  - destruct (thread_dec a b) as [->|Ne]; [rewrite E; simpl; auto | rewrite <- Else; auto].
  - destruct (in_dec thread_dec a w) as [K|K]; [|rewrite <- Else; auto].
    destruct (All a K) as (_ & q & v & g & r & E & _ & _ & F); rewrite E; rewrite F in IH; simpl; auto.
Qed.

(* Accesses with a barrier between, of a unit of both threads, are ordered in each run as they are in the program. *)
Lemma ordered ls S' i j a b p q x y r u h :
  run tr ls S' -> is_thread a -> is_thread b -> i < j ->
  nth_error ls i = Some (LAcc a p x) -> nth_error ls j = Some (LAcc b q y) ->
  same u a b -> In (r, EBar u h) (tr a) ->
  (precedes p r /\ precedes r q) \/ (precedes q r /\ precedes r p) ->
  hb ls i j.
Proof.
  intros H Ta Tb Less Ni Nj U Ia P.
  assert (Ib : In (r, EBar u h) (tr b)) by (eapply meets with (a := a); eauto).
  destruct (run_split _ _ _ _ _ H Ni) as (l1 & l2 & S1 & S2 & -> & <- & R1 & St & R2).
  rewrite nth_error_app2 in Nj by lia; destruct (j - length l1) as [|k] eqn:Ej; [lia|]; simpl in Nj.
  destruct (run_split _ _ _ _ _ R2 Nj) as (l3 & l4 & S3 & S4 & -> & <- & R3 & St' & R4).
  pose proof (ok_run _ _ _ ok_start R1) as O1; pose proof (ok_step _ _ _ O1 St) as O2.
  pose proof (ok_run _ _ _ O2 R3) as O3.
  assert (St1 : run S1 [LAcc a p x] S2) by (econstructor; [exact St | constructor]).
  inversion St as [? ? ? ? ? ra _ Ea Fa Else|]; subst; inversion St' as [? ? ? ? ? rb _ Eb Fb _|]; subst.
  assert (Ap : In (p, EAcc x) (S1 a)) by (rewrite Ea; simpl; auto).
  assert (Bq : In (q, EAcc y) (S3 b)) by (rewrite Eb; simpl; auto).
  destruct P as [[P Q]|[P Q]].
  - (* the barrier is left when a makes its access, and not when b does *)
    assert (L1 : In (r, EBar u h) (S1 a)) by (exact (left_later S1 a (p, EAcc x) (r, EBar u h) O1 Ta Ap Ia P)).
    assert (L2 : In (r, EBar u h) (S2 a)) by (rewrite Ea in L1; destruct L1 as [E|?]; [discriminate|auto]).
    assert (L3 : In (r, EBar u h) (S2 b)) by (eapply (proj2 O2) with (a := a); eauto).
    assert (L4 : ~ In (r, EBar u h) (S3 b)).
    { pose proof (left_sorted S3 b O3 Tb) as So; rewrite Eb in *; intros [E|I]; [discriminate|].
      apply (precedes_irr r); eapply precedes_trans; [exact Q | exact (sorted_head _ _ _ So I)]. }
    destruct (was_met S2 l3 S3 b r u h O2 R3 Tb L3 L4) as (i & w & Ni' & W).
    assert (Li : i < length l3) by (apply nth_error_Some; congruence).
    apply hb_trans with (j := length l1 + Datatypes.S i).
    + apply hb_thread with (l := LAcc a p x) (m := LBar w) (a := a); auto; [lia| | reflexivity |].
      * rewrite nth_error_app2 by lia; replace (length l1 + Datatypes.S i - length l1) with (Datatypes.S i) by lia.
        simpl; rewrite nth_error_app1; auto.
      * simpl; apply W; split; auto; symmetry; auto.
    + apply hb_thread with (l := LBar w) (m := LAcc b q y) (a := b); [lia| | | |reflexivity].
      * rewrite nth_error_app2 by lia; replace (length l1 + Datatypes.S i - length l1) with (Datatypes.S i) by lia.
        simpl; rewrite nth_error_app1; auto.
      * rewrite nth_error_app2 by lia; rewrite Ej; simpl; auto.
      * simpl; apply W; split; auto; reflexivity.
  - (* a has passed the barrier, so b has, and its access came before *)
    exfalso.
    assert (L1 : ~ In (r, EBar u h) (S1 a)).
    { pose proof (left_sorted S1 a O1 Ta) as So; rewrite Ea in *; intros [E|I]; [discriminate|].
      apply (precedes_irr r); eapply precedes_trans; [exact Q | exact (sorted_head _ _ _ So I)]. }
    assert (B1 : In (q, EAcc y) (S1 b)).
    { exact (stays_left _ _ _ b _ St1 Tb (stays_left S2 l3 S3 b _ R3 Tb Bq)). }
    apply L1; eapply (proj2 O1) with (a := b); eauto; [symmetry; auto|].
    exact (left_later S1 b (q, EAcc y) (r, EBar u h) O1 Tb B1 Ib P).
Qed.

End Machine.
