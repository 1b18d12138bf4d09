(* Registers: where a thread touches a fragment, it has waited for the products that read it or add to it. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents.
Import ListNotations.

(* -- what the walk says is so in each run -------------------------------------------------------------------------------- *)

Definition step_ (f : nat) (z : path * event) (r : registers) : registers :=
  match snd z with EOp x => fst (registered f x r) | _ => r end.
Definition good (f : nat) (z : path * event) (r : registers) : bool :=
  match snd z with EOp x => snd (registered f x r) | _ => true end.

Fixpoint after_ (f : nat) (l : list (path * event)) (r : registers) : registers :=
  match l with [] => r | z :: l => after_ f l (step_ f z r) end.
Fixpoint all_good (f : nat) (l : list (path * event)) (r : registers) : Prop :=
  match l with [] => True | z :: l => good f z r = true /\ all_good f l (step_ f z r) end.

Lemma after_app f l m : forall r, after_ f (l ++ m) r = after_ f m (after_ f l r).
Proof. induction l as [|z l IH]; simpl; auto. Qed.

Lemma good_app f l m : forall r, all_good f (l ++ m) r <-> all_good f l r /\ all_good f m (after_ f l r).
Proof. induction l as [|z l IH]; simpl; intro r; [tauto | rewrite IH; tauto]. Qed.

Ltac nums := repeat match goal with
  | H : (_ <=? _) = true |- _ => apply Nat.leb_le in H
  | H : (_ <=? _) = false |- _ => apply Nat.leb_gt in H
  | |- (_ <=? _) = true => apply Nat.leb_le
  end.

Lemma newer_trans a b c : newer a b = true -> newer b c = true -> newer a c = true.
Proof. destruct a, b, c; simpl; auto; try discriminate; intros; nums; lia. Qed.

Lemma worse_l a b : newer a (worse a b) = true.
Proof. destruct a, b; simpl; auto; nums; lia. Qed.

Lemma worse_r a b : newer b (worse a b) = true.
Proof. destruct a, b; simpl; auto; nums; lia. Qed.

Lemma newer_aged x y a b : implb x y = true -> newer a b = true -> newer (aged x a) (aged y b) = true.
Proof. destruct x, y, a, b; simpl; auto; try discriminate. Qed.

Lemma newer_ended n a b : newer a b = true -> newer (ended_ n a) (ended_ n b) = true.
Proof.
  destruct a as [x|], b as [y|]; simpl; auto; try discriminate; intro H.
  destruct (n <=? x) eqn:X, (n <=? y) eqn:Y; simpl; auto; nums; lia.
Qed.

Lemma newer_idle a b : newer a b = true -> idle b = true -> idle a = true.
Proof. destruct a, b; simpl; auto; discriminate. Qed.

Lemma implb_trans x y z : implb x y = true -> implb y z = true -> implb x z = true.
Proof. destruct x, y, z; auto. Qed.

Ltac within := unfold within_, within_side in *; rewrite ?andb_true_iff in *; simpl in *.

Lemma within_trans r q p : within_ r q = true -> within_ q p = true -> within_ r p = true.
Proof. within; intuition eauto using newer_trans, implb_trans. Qed.

Lemma within_refl r : within_ r r = true.
Proof.
  assert (B : forall x, implb x x = true) by (intros []; auto); within; repeat split; auto;
    destruct r as [[[] ? ? ?] [[] ? ? ?]];
    simpl; auto; nums; auto.
Qed.

Lemma within_either r q : within_ r (either r q) = true /\ within_ q (either r q) = true.
Proof.
  assert (B : forall x y, implb x (x || y) = true /\ implb y (x || y) = true) by (intros [] []; auto).
  within; repeat split; try apply worse_l; try apply worse_r; apply B.
Qed.

Lemma registered_mono f x r q : within_ r q = true -> snd (registered f x q) = true ->
  snd (registered f x r) = true /\ within_ (fst (registered f x r)) (fst (registered f x q)) = true.
Proof.
  intro W; assert (Neg : forall x y, implb x y = true -> negb y = true -> negb x = true) by (intros [] []; auto).
  assert (Or_ : forall x y w, implb x y = true -> implb (x && negb (idle w)) (y && negb (idle w)) = true)
    by (intros [] [] []; auto).
  assert (Idle : forall a b x y, newer a b = true -> implb x y = true ->
    implb (x && negb (idle a)) (y && negb (idle b)) = true)
    by (intros [] [] [] []; simpl; auto).
  destruct x; cbn [registered]; auto; try (destruct (_ =? _); [|auto]); cbn [fst snd]; intro G; within;
    destruct W as [[[[A1 B1] C1] D1] [[[A2 B2] C2] D2]]; try destruct w; simpl in *;
      rewrite ?andb_true_iff, ?orb_true_r in *;
    intuition eauto using newer_aged, newer_ended, newer_idle; destruct coming; auto.
Qed.

Section Walk.

Variable o : oracle.
Variables (a : thread) (f : nat).

Lemma walk_sound s : forall w q r, within_ r q = true -> snd (walk (snd a) f s q) = true ->
  all_good f (trace o s w a) r /\ within_ (after_ f (trace o s w a) r) (fst (walk (snd a) f s q)) = true.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; intros w q r W G.
  - simpl; auto.
  - cbn [walk] in *; destruct (walk (snd a) f s1 q) as [q1 b1] eqn:E1; destruct (walk (snd a) f s2 q1) as [q2 b2] eqn:E2; simpl in G.
    apply andb_prop in G; destruct G as [G1 G2]; simpl; rewrite good_app, after_app.
    destruct (IH1 (w ++ [Part 0]) q r W) as [A1 B1]; [rewrite E1; auto|]; rewrite E1 in B1.
    destruct (IH2 (w ++ [Part 1]) q1 _ B1) as [A2 B2]; [rewrite E2; auto|]; rewrite E2 in B2; auto.
  - simpl; auto.
  - simpl; auto.
  - cbn [walk] in *; destruct (walk (snd a) f s1 q) as [q1 b1] eqn:E1; destruct (walk (snd a) f s2 q) as [q2 b2] eqn:E2; simpl in G.
    apply andb_prop in G; destruct G as [G1 G2]; simpl; destruct (o w (name u a) =? 0).
    + destruct (IH1 (w ++ [Part 0]) q r W) as [A1 B1]; [rewrite E1; auto|]; rewrite E1 in B1; split; auto;
        eapply within_trans; [exact B1 | apply within_either].
    + destruct (IH2 (w ++ [Part 1]) q r W) as [A1 B1]; [rewrite E2; auto|]; rewrite E2 in B1; split; auto;
        eapply within_trans; [exact B1 | apply within_either].
  - cbn [walk] in *; set (v := either q (fst (walk (snd a) f s q))) in *; destruct (walk (snd a) f s v) as [q1 b1] eqn:E1; simpl in G |- *.
    apply andb_prop in G; destruct G as [G1 G2];
      assert (Wv : within_ r v = true) by (eapply within_trans; [exact W | apply within_either]).
    clear W; revert r Wv; generalize 0 as i; induction (m + o w (name u a)) as [|n IHn]; intros i r Wv; simpl; [auto|].
    rewrite good_app, after_app; destruct (IH (w ++ [Trip l i]) v r Wv) as [A1 B1]; [rewrite E1; auto|]; rewrite E1 in B1; simpl in B1.
    destruct (IHn (S i) (after_ f (trace o s (w ++ [Trip l i]) a) r)) as [A2 B2]; [eapply within_trans; eauto | auto].
  - cbn [walk trace] in *; destruct (sat k (snd a)); auto; simpl; auto.
  - cbn [walk trace] in *; destruct (registered_mono f x r q W G) as [A B]; simpl; auto.
Qed.

(* -- what it means ------------------------------------------------------------------------------------------------------ *)

Variable s : stmt.
Notation t := (trace o s [] a).
Notation tr := (fun b => trace o s [] b).

Definition groups (d : list (path * event)) : list path := map fst (filter (fun z => is_group products (snd z)) d).
Definition behind_ (d : list (path * event)) (p : path) : nat := length (filter (fun q => if precedes_dec p q then true else false) (groups d)).

(* The group at p is the first behind what lends it the fragment. *)
Definition lent (w : bool) (d : list (path * event)) (p : path) : Prop :=
  In p (groups d) /\ exists r, In (r, EOp (Lend f w)) d /\ precedes r p /\ forall q, In q (groups d) -> precedes r q -> ~ precedes q p.

Definition settled_ (d : list (path * event)) (p : path) : Prop :=
  exists S n, In (S, EOp (Settle products n)) d /\ In p (settled_at tr a products n S).

Definition under_way (w : bool) (r : registers) : option nat := under (side_of w r).
Definition to_come (w : bool) (r : registers) : bool := coming (side_of w r).

Lemma in_groups d p : In p (groups d) <-> exists e, In (p, e) d /\ is_group products e = true.
Proof.
  unfold groups; rewrite in_map_iff; split.
  - intros ([q e] & <- & I); apply filter_In in I; eauto.
  - intros (e & I & G); exists (p, e); split; auto; apply filter_In; auto.
Qed.

Lemma groups_snoc d z : groups (d ++ [z]) = groups d ++ (if is_group products (snd z) then [fst z] else []).
Proof. unfold groups; rewrite filter_app, map_app; simpl; destruct (is_group products (snd z)); auto. Qed.

Lemma behind_snoc d z p : behind_ d p <= behind_ (d ++ [z]) p /\
  (is_group products (snd z) = true -> precedes p (fst z) -> behind_ (d ++ [z]) p = S (behind_ d p)).
Proof.
  unfold behind_; rewrite groups_snoc, filter_app, app_length; split; [lia|]; intros G P; rewrite G; simpl.
  destruct (precedes_dec p (fst z)); [simpl; lia | tauto].
Qed.

Lemma invariant w d : forall e, t = d ++ e ->
  (forall r, In (r, EOp (Lend f w)) d -> (forall q, In q (groups d) -> ~ precedes r q) -> to_come w (after_ f d untouched) = true) /\
  (forall p, lent w d p -> settled_ d p \/ exists m, under_way w (after_ f d untouched) = Some m /\ m <= behind_ d p).
Proof.
  induction d as [|z d IH] using rev_ind; intros e E.
  - split; [intros r [] | intros p [I _]; destruct I].
  - rewrite <- app_assoc in E; destruct (IH _ E) as [To Un]; rewrite after_app; simpl; set (r0 := after_ f d untouched) in *.
    assert (So : forall x, In x d -> precedes (fst x) (fst z)).
    { pose proof (trace_sorted o s [] a) as T; rewrite E in T; apply sorted_app in T; destruct T as (_ & _ & T); intros x I; apply T; simpl; auto. }
    assert (Sg : forall q, In q (groups d) -> precedes q (fst z)) by (intros q I; apply in_groups in I; destruct I as (g & I & _); exact (So _ I)).
    assert (Old : forall p, lent w (d ++ [z]) p -> p <> fst z -> lent w d p).
    { intros p (I & r & J & P & No) Ne; rewrite groups_snoc in I; apply in_app_iff in I; split.
      - destruct I as [I|I]; auto; destruct (is_group products (snd z)); [destruct I as [<-|[]]; congruence | destruct I].
      - exists r; apply in_app_iff in J; destruct J as [J|[J|[]]].
        + split; auto; split; auto; intros q Iq; apply No; rewrite groups_snoc; apply in_or_app; auto.
        + exfalso; subst z; simpl in *; destruct I as [I|I]; [|destruct I]; apply (precedes_irr p); eapply precedes_trans; [exact (Sg p I) | exact P]. }
    assert (Keep : forall p, settled_ d p -> settled_ (d ++ [z]) p) by (intros p (S & n & I & J); exists S, n; split; auto; apply in_or_app; auto).
    assert (Lent : forall r, In (r, EOp (Lend f w)) (d ++ [z]) -> (forall q, In q (groups (d ++ [z])) -> ~ precedes r q) ->
              In (r, EOp (Lend f w)) d /\ is_group products (snd z) = false /\ to_come w r0 = true \/ snd z = EOp (Lend f w)).
    { intros r J No; apply in_app_iff in J; destruct J as [J|[J|[]]]; [left | right; subst z; auto]; split; auto; rewrite groups_snoc in No.
      destruct (is_group products (snd z)) eqn:G; [exfalso; apply (No (fst z)); [apply in_or_app; right; left; auto | exact (So _ J)]|].
      split; auto; apply (To r J); intros q Iq; apply No; apply in_or_app; auto. }
    destruct z as [p0 ev]; cbn [fst snd] in *; destruct (is_group products ev) eqn:Gx.
    + destruct ev as [|?|[| | | | | | |k l| | | | |]]; try discriminate; simpl in Gx; apply Nat.eqb_eq in Gx; subst k.
      split; [intros r J No; destruct (Lent r J No) as [(_ & X & _)|X]; discriminate|]; intros p L.
      assert (Aged : under_way w (step_ f (p0, EOp (Group products l)) r0) = aged (to_come w r0) (under_way w r0)).
      { unfold step_; cbn [snd registered]; rewrite Nat.eqb_refl; destruct w; auto. }
      rewrite Aged; destruct (path_dec p p0) as [->|Ne].
      * right; destruct L as (_ & r & J & P & No); exists 0; split; [|lia].
        assert (Jd : In (r, EOp (Lend f w)) d) by (apply in_app_iff in J; destruct J as [J|[J|[]]]; [auto | inversion J]).
        rewrite (To r Jd); auto; intros q Iq Pq; apply (No q);
          [rewrite groups_snoc; apply in_or_app; auto | exact Pq | exact (Sg q Iq)].
      * destruct (Un p (Old p L Ne)) as [|(m & U & Le)]; auto; right; rewrite U.
        assert (Pp : precedes p p0).
        { destruct L as [I _]; rewrite groups_snoc in I; apply in_app_iff in I as [I|[I|[]]];
            [exact (Sg p I) | simpl in I; congruence]. }
        destruct (behind_snoc d (p0, EOp (Group products l)) p) as [_ B]; rewrite (B eq_refl Pp).
        destruct (to_come w r0); simpl; [exists 0 | exists (S m)]; split; auto; lia.
    + (* nothing is newer, and no more is under way *)
      assert (Gr : groups (d ++ [(p0, ev)]) = groups d)
        by (rewrite groups_snoc; cbn [snd]; rewrite Gx; apply app_nil_r).
      assert (Coming : to_come w r0 = true \/ ev = EOp (Lend f w) -> to_come w (step_ f (p0, ev) r0) = true).
      { unfold to_come, step_, side_of; cbn [snd]; intros [T|T];
          [|subst ev; cbn [registered]; rewrite Nat.eqb_refl; destruct w; auto].
        destruct ev as [|?|x]; auto; destruct x; cbn [registered fst]; simpl in Gx; rewrite ?Gx; auto;
          try destruct (_ =? _); cbn [fst]; auto; repeat match goal with b : bool |- _ => destruct b end; auto. }
      assert (Under : under_way w (step_ f (p0, ev) r0) = under_way w r0 \/
                exists n, ev = EOp (Settle products n) /\
                  under_way w (step_ f (p0, ev) r0) = ended_ n (under_way w r0)).
      { unfold under_way, step_, side_of; cbn [snd]; destruct ev as [|?|x]; auto; destruct x; cbn [registered fst];
          simpl in Gx;
          rewrite ?Gx; auto; try destruct (Nat.eqb_spec k products) as [->|]; try destruct (_ =? _); cbn [fst]; auto;
          try (left; repeat match goal with b : bool |- _ => destruct b end; auto; fail); right; exists n; destruct w;
            auto. }
      split; [intros r J No; apply Coming; destruct (Lent r J No) as [(_ & _ & T)|T]; auto|]; intros p L.
      assert (I : In p (groups d)) by (destruct L as [I _]; rewrite <- Gr; exact I).
      destruct (Un p (Old p L ltac:(intros ->; exact (precedes_irr _ (Sg _ I))))) as [|(m & U & Le)]; auto;
        unfold behind_ in *; rewrite Gr.
      destruct Under as [->|(n & -> & ->)]; [eauto|]; rewrite U; destruct (le_lt_dec n m) as [Ln|Gn].
      * left; exists p0, n; split; [apply in_or_app; right; left; auto|]; apply filter_In; split.
        { apply in_since; split; [exact (Sg p I)|]; apply in_groups in I as (g & I & G); exists g; split; auto.
          simpl; rewrite E; apply in_or_app; auto. }
        nums; eapply Nat.le_trans; [exact Ln | eapply Nat.le_trans; [exact Le|]]; apply NoDup_incl_length.
        { apply NoDup_filter; unfold groups; pose proof (trace_sorted o s [] a) as T; rewrite E in T;
            apply sorted_app in T as (T & _).
          clear - T; induction T as [|x l S IH Fa]; simpl; [constructor|]; destruct (is_group products (snd x)); simpl;
            auto.
          constructor; auto; intro I; apply in_map_iff in I as (y & Ey & I); apply filter_In in I as [I _].
          rewrite Forall_forall in Fa; apply (precedes_irr (fst x)); rewrite <- Ey at 2; exact (Fa y I). }
        intros q Iq; apply filter_In in Iq as [Iq Pq]; apply filter_In; split; auto; apply in_since; split;
          [exact (Sg q Iq)|].
        apply in_groups in Iq as (g & Iq & G); exists g; split; auto; simpl; rewrite E; apply in_or_app; auto.
      * right; exists m; split; auto; simpl; destruct (Nat.leb_spec n m); auto; lia.
Qed.

End Walk.

(* Where a thread reads a fragment, it has waited for the products that add to it; and where it writes it, also for those that read it. *)
Theorem registers_waited B N F o s a f w w0 p q : Rings.valid N F s = true -> is_thread B N a ->
  lent f w0 (trace o s [] a) p -> In (q, EOp (Own f w)) (trace o s [] a) -> precedes p q -> w0 = true \/ w = true ->
  exists y, precedes y q /\ In (y, await_ (Done a p) 0) (acts B N (fun b => trace o s [] b) (Thread a)).
Proof.
  intros V T L Q P Wr; unfold Rings.valid in V; apply andb_prop in V; destruct V as [V _]; apply andb_prop in V; destruct V as [_ V]; unfold in_registers in V; rewrite forallb_forall in V.
  assert (If : In f (nodup Nat.eq_dec (flat_map fragments (events s)))).
  { apply nodup_In, in_flat_map; exists (EOp (Own f w)); split; [eapply trace_events; eauto | left; auto]. }
  specialize (V f If); rewrite forallb_forall in V; specialize (V (snd a) ltac:(apply in_seq; destruct T; lia)).
  destruct (walk_sound o a f s [] untouched untouched (within_refl _) V) as [G _].
  destruct (in_split _ _ Q) as (d & e & E); rewrite E in G; apply good_app in G; destruct G as [_ [G _]].
  destruct (invariant o a f s w0 d _ E) as [_ Un].
  assert (So : forall x, In x ((q, EOp (Own f w)) :: e) -> x = (q, EOp (Own f w)) \/ precedes q (fst x)).
  { pose proof (trace_sorted o s [] a) as S; rewrite E in S; apply sorted_app in S; destruct S as (_ & S & _); intros x [<-|I]; auto; right.
    exact (sorted_head _ _ _ S I). }
  assert (Before : forall x g, In (x, g) (trace o s [] a) -> precedes x q -> In (x, g) d).
  { intros x g I X; rewrite E in I; apply in_app_iff in I; destruct I as [I|I]; auto; exfalso; destruct (So _ I) as [J|J]; simpl in J.
    - inversion J; subst; exact (precedes_irr _ X).
    - apply (precedes_irr x); eapply precedes_trans; eauto. }
  assert (Ld : lent f w0 d p).
  { destruct L as (I & r & J & Pr & No); apply in_groups in I; destruct I as (g & I & Gg); split; [apply in_groups; exists g; split; auto|].
    exists r; split; [apply (Before r); auto; eapply precedes_trans; eauto|]; split; auto; intros x Ix; apply No; apply in_groups in Ix.
    destruct Ix as (h & Ix & Gh); apply in_groups; exists h; split; auto; rewrite E; apply in_or_app; auto. }
  destruct (Un p Ld) as [(S & n & I & J)|(m & U & _)].
  - assert (Is : In (S, EOp (Settle products n)) (trace o s [] a)) by (rewrite E; apply in_or_app; auto).
    destruct (settle_act B N (fun b => trace o s [] b) a S p products n Is J) as [i Aw]; exists (S ++ [Part 2; Part i]); split; auto.
    apply precedes_app_r; pose proof (trace_sorted o s [] a) as So'; rewrite E in So'; apply sorted_app in So'; destruct So' as (_ & _ & So'); exact (So' _ (q, EOp (Own f w)) I (or_introl eq_refl)).
  - exfalso; unfold good in G; cbn [snd registered] in G; rewrite Nat.eqb_refl in G; cbn [snd] in G; apply andb_prop in G; destruct G as [G1 G2].
    unfold under_way in U; destruct w0, Wr as [X|X]; try discriminate; subst; simpl in *; rewrite U in *; discriminate.
Qed.
