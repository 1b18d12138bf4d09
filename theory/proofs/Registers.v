(* Registers: where a thread touches a fragment, it has waited for the products that read it or add to it. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Rounds Agents.
Import ListNotations.

Lemma within_either r q : within_ r (either r q) = true /\ within_ q (either r q) = true.
Proof.
  assert (B : forall x y, implb x (x || y) = true /\ implb y (x || y) = true) by (intros [] []; auto).
  assert (W : forall a b, newer a (worse a b) = true /\ newer b (worse a b) = true)
    by (intros [] []; simpl; split; auto; apply Nat.leb_le; lia).
  unfold within_, within_side; simpl; rewrite !andb_true_iff; repeat split; apply W || apply B.
Qed.

Section Walk.

Variables (o : oracle) (a : thread) (f : nat) (s : stmt).
Notation t := (trace o s [] a).
Notation tr := (fun b => trace o s [] b).

Definition groups (d : list (path * event)) : list path := map fst (filter (fun z => is_group products (snd z)) d).
Definition behind_ (d : list (path * event)) (p : path) : nat := length (filter (fun q => if precedes_dec p q then true else false) (groups d)).

(* The group at p is the first behind what lends it the fragment. *)
Definition lent (w : bool) (d : list (path * event)) (p : path) : Prop :=
  In p (groups d) /\ exists r, In (r, EOp (Lend f w)) d /\ precedes r p /\ forall q, In q (groups d) -> precedes r q -> ~ precedes q p.

Definition settled_ (d : list (path * event)) (p : path) : Prop :=
  exists S n, In (S, EOp (Settle products n)) d /\ In p (settled_at tr a products n S).

(* What is so of a fragment when a thread has done d: whether the next group is lent it; of each group that is lent it, that it is
   waited for or how many are newer; and that the thread waits before it touches the fragment. *)
Definition knows (d : list (path * event)) (r : registers) : Prop := forall w,
  (forall p, In (p, EOp (Lend f w)) d -> (forall q, In q (groups d) -> ~ precedes p q) -> coming (side_of w r) = true) /\
  (forall p, lent w d p -> settled_ d p \/ exists m, under (side_of w r) = Some m /\ m <= behind_ d p) /\
  (forall p q v, lent w d p -> In (q, EOp (Own f v)) d -> precedes p q -> w = true \/ v = true ->
     exists S n, In (S, EOp (Settle products n)) d /\ In p (settled_at tr a products n S) /\ precedes S q).

Lemma in_groups d p : In p (groups d) <-> exists e, In (p, e) d /\ is_group products e = true.
Proof.
  unfold groups; rewrite in_map_iff; split.
  - intros ([q e] & <- & I); apply filter_In in I; eauto.
  - intros (e & I & G); exists (p, e); split; auto; apply filter_In; auto.
Qed.

Lemma since_groups d p0 ev e : t = d ++ (p0, ev) :: e -> since tr (is_group products) a p0 = groups d.
Proof.
  intro E; unfold since, groups; pose proof (trace_sorted o s [] a) as T; rewrite E in *; apply sorted_app in T as (_ & T & Or).
  assert (Dec : forall q, (if precedes_dec q p0 then true else false) = true <-> precedes q p0)
    by (intro q; destruct (precedes_dec q p0); split; auto; discriminate).
  rewrite filter_app, map_app, filter_app, (filter_none _ _ (map fst (filter _ (_ :: _)))), app_nil_r.
  - apply filter_all; intros q I; apply in_map_iff in I as ([q' x] & <- & I); apply filter_In in I as [I _].
    apply Dec, (Or _ (p0, ev) I); left; auto.
  - intros q I; apply in_map_iff in I as ([q' x] & <- & I); apply filter_In in I as [I _]; apply not_true_is_false; rewrite Dec.
    intro P; destruct I as [I|I]; [inversion I; subst; exact (precedes_irr _ P)|].
    apply (precedes_irr p0); eapply precedes_trans; [exact (sorted_head _ _ _ T I) | exact P].
Qed.

Lemma knows_step d p0 ev e r : t = d ++ (p0, ev) :: e -> knows d r -> snd (register f ev r) = true ->
  knows (d ++ [(p0, ev)]) (fst (register f ev r)).
Proof.
  intros E Kn Ok w; destruct (Kn w) as (To & Un & Wt); pose proof (trace_sorted o s [] a) as T; rewrite E in T.
  apply sorted_app in T as (_ & _ & T).
  assert (So : forall q x, In (q, x) d -> precedes q p0) by (intros q x I; exact (T _ (p0, ev) I (or_introl eq_refl))).
  assert (Sg : forall q, In q (groups d) -> precedes q p0) by (intros q I; apply in_groups in I as (x & I & _); eauto).
  assert (Irr : forall p q, precedes p q -> precedes q p -> False) by (intros; eapply precedes_irr, precedes_trans; eauto).
  assert (Gr : forall p, In p (groups (d ++ [(p0, ev)])) <-> In p (groups d) \/ is_group products ev = true /\ p = p0).
  { intro p; unfold groups; rewrite filter_app, map_app, in_app_iff; simpl; destruct (is_group products ev); simpl; intuition. }
  assert (Old : forall p, lent w (d ++ [(p0, ev)]) p -> In p (groups d) -> lent w d p).
  { intros p (_ & x & J & P & No) I; split; auto; exists x; apply in_app_iff in J as [J|[J|[]]].
    - repeat split; auto; intros q Iq; apply No, Gr; auto.
    - inversion J; subst; destruct (Irr _ _ P (Sg _ I)). }
  assert (Keep : forall p, settled_ d p -> settled_ (d ++ [(p0, ev)]) p) by (intros p (S & n & I & J); exists S, n; there).
  split; [|split].
  - intros p J No; apply in_app_iff in J as [J|[J|[]]].
    + assert (G : is_group products ev = false) by (destruct (is_group products ev) eqn:G; auto; destruct (No p0); [apply Gr|]; eauto).
      specialize (To p J (fun q I => No q (proj2 (Gr q) (or_introl I)))); destruct ev as [| |x]; auto; destruct x; simpl in G |- *;
        rewrite ?G; auto; try destruct (_ =? _); unfold side_of, at_side, at_both in *; destruct w; auto;
        match goal with v : bool |- _ => destruct v; auto end.
    + inversion J; subst; simpl; rewrite Nat.eqb_refl; destruct w; auto.
  - intros p L; pose proof L as (I & x & J & P & No); apply Gr in I; destruct (is_group products ev) eqn:G.
    + destruct ev as [|?|[| | | | | | |k l| | | | |]]; try discriminate; simpl in G; apply Nat.eqb_eq in G as ->.
      assert (U : under (side_of w (fst (register f (EOp (Group products l)) r))) = aged (coming (side_of w r)) (under (side_of w r)))
        by (destruct w; reflexivity).
      rewrite U; destruct I as [I|[_ ->]].
      * destruct (Un p (Old p L I)) as [|(m & -> & Le)]; auto; right; unfold behind_, groups in *; rewrite filter_app, map_app, filter_app.
        simpl; rewrite app_length; simpl; destruct (precedes_dec p p0) as [|Np]; [simpl|destruct Np; auto].
        destruct (coming (side_of w r)); simpl; eexists; (split; [reflexivity | lia]).
      * right; apply in_app_iff in J as [J|[J|[]]]; [|inversion J]; rewrite (To x J); [exists 0; split; auto; lia|].
        intros q Iq Pq; apply (No q); auto; apply Gr; auto.
    + destruct I as [I|[? _]]; [|discriminate]; assert (Be : behind_ (d ++ [(p0, ev)]) p = behind_ d p)
        by (unfold behind_, groups; rewrite filter_app; simpl; rewrite G, app_nil_r; auto).
      destruct (Un p (Old p L I)) as [|(m & U & Le)]; auto; rewrite Be.
      assert (Und : under (side_of w (fst (register f ev r))) = under (side_of w r) \/
                exists n, ev = EOp (Settle products n) /\ under (side_of w (fst (register f ev r))) = ended_ n (under (side_of w r))).
      { unfold side_of, at_side, at_both; destruct ev as [| |v]; auto; destruct v; simpl in G |- *; rewrite ?G; auto;
          try destruct (Nat.eqb_spec k products) as [->|]; try destruct (_ =? _);
          try (left; destruct w; auto; match goal with b : bool |- _ => destruct b; auto end; fail); right; exists n; destruct w; auto. }
      destruct Und as [->|(n & -> & ->)]; eauto; rewrite U; simpl; destruct (Nat.leb_spec n m); [left | right; eauto].
      exists p0, n; split; [there; simpl; auto|]; unfold settled_at; rewrite (since_groups d p0 _ e E).
      apply filter_In; split; auto; apply Nat.leb_le; unfold behind_ in Le; lia.
  - intros p q v L J P W; assert (I : In p (groups d)).
    { destruct L as [I _]; apply Gr in I as [I|[G ->]]; auto; exfalso; apply in_app_iff in J as [J|[J|[]]]; [eauto|].
      inversion J; subst; discriminate. }
    apply Old in L; auto; apply in_app_iff in J as [J|[J|[]]].
    + destruct (Wt p q v L J P W) as (S & n & K); exists S, n; there; tauto.
    + inversion J; subst; destruct (Un p L) as [(S & n & Is & K)|(m & U & _)]; [exists S, n; there; eauto 6|exfalso].
      simpl in Ok; rewrite Nat.eqb_refl in Ok; simpl in Ok; bools.
      destruct w, v, W; try discriminate; simpl in *; rewrite U in *; discriminate.
Qed.

End Walk.

(* Where a thread reads a fragment, it has waited for the products that add to it; and where it writes it, also for those that read it. *)
Theorem registers_waited B N F o s a f w w0 p q : Rings.valid N F s = true -> is_thread B N a ->
  lent f w0 (trace o s [] a) p -> In (q, EOp (Own f w)) (trace o s [] a) -> precedes p q -> w0 = true \/ w = true ->
  exists y, precedes y q /\ In (y, await_ (Done a p) 0) (acts B N (fun b => trace o s [] b) (Thread a)).
Proof.
  intros V Tb L Q P Wr; unfold Rings.valid in V; ands V as [[_ V] _]; unfold in_registers in V; rewrite forallb_forall in V.
  specialize (V f ltac:(apply nodup_In, in_flat_map; exists (EOp (Own f w)); split; [eapply trace_events; eauto | left; auto])).
  rewrite forallb_forall in V; specialize (V (snd a) ltac:(apply in_seq; destruct Tb; lia)).
  assert (K : knows o a f s (trace o s [] a) (fst (walk (snd a) f s untouched))).
  { apply (flow_sound o _ _ _ _ a (trace o s [] a) (knows o a f s) within_either) with (d := []) (r := []); eauto using knows_step.
    - intros d x y Le Kn v; destruct (Kn v) as (To & Un & Wt); split; [|split; auto].
      all: unfold within_, within_side in Le; rewrite !andb_true_iff in Le; unfold side_of in *.
      + intros z I No; specialize (To z I No); destruct v; rewrite To in *; simpl in *; tauto.
      + intros z Lz; destruct (Un z Lz) as [|(m & U & Lm)]; auto; right; destruct Le as [[[[A1 _] _] _] [[[A2 _] _] _]].
        destruct v; rewrite U in *; match goal with |- exists _, ?u = _ /\ _ => destruct u as [n|]; [exists n | discriminate] end;
          simpl in *; bools; split; auto; lia.
    - intros c b E; inversion E; auto.
    - rewrite app_nil_r; auto.
    - intro v; split; [intros x []|split; [intros x [[] _] | intros x y u [[] _]]]. }
  destruct (K w0) as (_ & _ & Wt); destruct (Wt p q w L Q P Wr) as (S & n & I & J & Lt).
  destruct (settle_act B N (fun b => trace o s [] b) a S p products n I J) as [i Aw]; exists (S ++ [Part 2; Part i]); split; auto.
  apply precedes_app_r; auto.
Qed.
