(* Where the rounds of a ring's cycle are in threads' traces. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings.
Import ListNotations.

(* -- events ------------------------------------------------------------------------------------------------------------- *)

Lemma trace_events o s : forall w a p e, In (p, e) (trace o s w a) -> In e (events s).
Proof. induction s; simpl; intros w a p e I; stands; auto; there.  Qed.

Lemma free_none f s e : free f s = true -> In e (events s) -> f e = false.
Proof. unfold free; intros H I; rewrite forallb_forall in H; specialize (H e I); destruct (f e); auto; discriminate. Qed.

Lemma ends_steps c e : ends c e = true -> steps c e = true.
Proof. destruct e as [x|u h|[b|b|d| |b l|l|b|gk l|gk gn|b|rf rw|rf rw|]]; simpl; auto; discriminate. Qed.

Lemma sure_steps c e : sure c e = false -> steps c e = false /\ drains c e = false.
Proof. unfold sure; apply orb_false_elim. Qed.

Lemma flat_drains c s e : flat c s = true -> In e (events s) -> drains c e = false /\ ends c e = false.
Proof.
  assert (Free : forall s, free (sure c) s = true -> In e (events s) -> drains c e = false /\ ends c e = false).
  { intros t H I; apply (free_none _ _ _ H), sure_steps in I as [I1 I2]; split; auto.
    destruct (ends c e) eqn:E; auto; apply ends_steps in E; congruence. }
  induction s as [| | | | | | |x]; simpl; intros H I; bools; stands; eauto; subst; auto.
  destruct x; simpl; auto; apply negb_true_iff in H; auto.
Qed.

Arguments le : simpl never.

Section Rounds.

Variables B N : nat.
Variable o : oracle.
Notation is_thread := (is_thread B N).

(* Where a thread's rounds are. *)
Fixpoint visits (c : nat) (s : stmt) (w : path) (a : thread) : list path :=
  match s with
  | Seq s1 s2 => if is_end c s2 then [w] else visits c s1 (w ++ [Part 0]) a ++ visits c s2 (w ++ [Part 1]) a
  | If u s1 s2 => if o w (name u a) =? 0 then visits c s1 (w ++ [Part 0]) a else visits c s2 (w ++ [Part 1]) a
  | Loop l m u s => flat_map (fun k => visits c s (w ++ [Trip l k]) a) (seq 0 (m + o w (name u a)))
  | Only k s => if sat k (snd a) then visits c s w a else []
  | _ => []
  end.

(* What stands in a round, by where it is. *)
Fixpoint body_at (c : nat) (s : stmt) (p : path) : stmt :=
  match s with
  | Seq s1 s2 => if is_end c s2 then s1 else match p with Part k :: p => body_at c (if k =? 0 then s1 else s2) p | _ => Skip end
  | If _ s1 s2 => match p with Part k :: p => body_at c (if k =? 0 then s1 else s2) p | _ => Skip end
  | Loop _ _ _ s => match p with Trip _ _ :: p => body_at c s p | _ => Skip end
  | Only _ s => body_at c s p
  | _ => Skip
  end.

Lemma is_end_spec c s : is_end c s = true -> s = Do (Advance c).
Proof. destruct s as [| | | | | | |[]]; simpl; try discriminate; intro; bools; congruence. Qed.

Lemma filter_none (A : Type) (f : A -> bool) l : (forall x, In x l -> f x = false) -> filter f l = [].
Proof. induction l as [|x l IH]; simpl; auto; intro H; rewrite H by auto; auto. Qed.

Lemma filter_all (A : Type) (f : A -> bool) l : (forall x, In x l -> f x = true) -> filter f l = l.
Proof. induction l as [|x l IH]; simpl; auto; intro H; rewrite H, IH by auto; auto. Qed.

Lemma filter_flat_map (A C : Type) (f : C -> bool) (g : A -> list C) l : filter f (flat_map g l) = flat_map (fun x => filter f (g x)) l.
Proof. induction l as [|x l IH]; simpl; auto; rewrite filter_app, IH; auto. Qed.

Lemma map_flat_map (A C D : Type) (f : C -> D) (g : A -> list C) l : map f (flat_map g l) = flat_map (fun x => map f (g x)) l.
Proof. induction l as [|x l IH]; simpl; auto; rewrite map_app, IH; auto. Qed.

Lemma flat_map_none (A C : Type) (f : A -> list C) l : (forall x, f x = []) -> flat_map f l = [].
Proof. intro H; induction l as [|x l IH]; simpl; auto; rewrite H; auto. Qed.

Lemma filter_length (A : Type) (f : A -> bool) l : length (filter f l) <= length l.
Proof. induction l as [|x l IH]; simpl; auto; destruct (f x); simpl; lia. Qed.

Lemma snoc (w : path) t q : w ++ t :: q = (w ++ [t]) ++ q.
Proof. rewrite <- app_assoc; auto. Qed.

Lemma in_visit c s : forall w a W, In W (visits c s w a) ->
  exists q, W = w ++ q /\ In (body_at c s q) (bodies c s) /\ incl (trace o (body_at c s q) (W ++ [Part 0]) a) (trace o s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w a W I; stands.
  1: exists []; rewrite app_nil_r; subst; repeat split; simpl; auto; intros z J; there.
  all: match goal with IH : forall w a W, In W (visits ?c ?t _ _) -> _, J : In _ (visits ?c ?t _ _) |- _ =>
    apply IH in J as (q & -> & X & Y) end.
  5: eauto.
  all: rewrite <- !app_assoc in *; eexists; split; [reflexivity|]; simpl; there; split; auto; intros z J; there.
Qed.

Lemma outer_weaker c s : forall v, outer N c s v = true -> forall w a p e, In (p, e) (trace o s w a) -> belongs c e = true -> ends c e = false ->
  exists q, In (w ++ q) (visits c s w a) /\ In (p, e) (trace o (body_at c s q) ((w ++ q) ++ [Part 0]) a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros v H w a p e I Be En.
  2: destruct (is_end c s2) eqn:E.
  2: { apply is_end_spec in E; subst s2; simpl in I; stands; [exists []; rewrite app_nil_r; simpl; auto|].
       simpl in En; rewrite Nat.eqb_refl in En; discriminate. }
  all: bools; stands; try discriminate; try (rewrite Be in H; discriminate).
  all: match goal with IH : forall v, outer _ ?c ?t v = true -> _, J : In _ (trace o ?t _ _) |- _ =>
    destruct (IH _ ltac:(eassumption) _ _ _ _ J Be En) as (q & X & Y) end.
  6: eauto.
  1, 3: exists (Part 0 :: q). 3, 4: exists (Part 1 :: q). 5: exists (Trip l x :: q).
  all: rewrite (snoc w _ q); simpl; there.
Qed.

Lemma visits_path c s w a W : In W (visits c s w a) -> exists q, W = w ++ q.
Proof. intro I; destruct (in_visit c s w a W I) as (q & E & _); eauto. Qed.

Definition rising (l : list path) : Prop := StronglySorted precedes l.

Lemma rising_app l m : rising l -> rising m -> (forall x y, In x l -> In y m -> precedes x y) -> rising (l ++ m).
Proof. intros L M H; apply strongly_app; auto. Qed.

Lemma visits_rising c s : forall w a, rising (visits c s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w a; try constructor.
  - destruct (is_end c s2); [repeat constructor|]; apply rising_app; auto.
    intros x y I J; apply visits_path in I; apply visits_path in J; destruct I as [p ->], J as [q ->]; exists None.
    rewrite <- !app_assoc; apply before_turns; constructor; lia.
  - destruct (o w (name u a) =? 0); auto.
  - generalize 0 as i; induction (m + o w (name u a)) as [|n IHn]; intro i; simpl; [constructor|].
    apply rising_app; auto; intros x y I J; apply in_flat_map in J as (k & K & J); apply in_seq in K.
    apply visits_path in I; apply visits_path in J; destruct I as [p ->], J as [q ->]; exists (Some l).
    rewrite <- !app_assoc; apply before_turns; constructor; lia.
  - destruct (sat k (snd a)); [auto | constructor].
Qed.

Lemma visits_none c s : forall w a, outer N c s false = true -> visits c s w a = [].
Proof. induction s; simpl; intros w a H; tests; rewrite ?IHs1, ?IHs2 by auto; auto using flat_map_none. Qed.

(* A block's threads have the same rounds. *)
Lemma visits_same c s : forall w a b v, outer N c s v = true -> is_thread a -> is_thread b -> fst a = fst b ->
  visits c s w a = visits c s w b.
Proof.
  assert (Same : forall u a b, le N Block u = true -> is_thread a -> is_thread b -> fst a = fst b ->
    name u a = name u b).
  { intros u a b E Ta Tb Bl; apply (le_sound B N Block u); auto; unfold same; simpl; rewrite Bl; auto. }
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w a b v H Ta Tb Bl; auto.
  1: destruct (is_end c s2); auto; bools; f_equal; eauto.
  3: destruct (sat k (snd a)), (sat k (snd b)); rewrite ?visits_none; auto.
  all: destruct (v && le N Block u) eqn:E; bools; [rewrite (Same u a b) by auto | ].
  - destruct (o w (name u b) =? 0); eauto.
  - destruct (o w (name u a) =? 0), (o w (name u b) =? 0); rewrite !visits_none; auto.
  - apply flat_map_ext; intro k; eauto.
  - rewrite !flat_map_none; auto; intro; apply visits_none; auto.
Qed.

(* What ends rounds stands behind each. *)
Definition ended (W : path) : path := W ++ [Part 1].


Lemma ends_at c s : forall w a v, outer N c s v = true ->
  map fst (filter (fun z => ends c (snd z)) (trace o s w a)) = map ended (visits c s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w a v H; auto.
  - rewrite filter_app, map_app; destruct (is_end c s2) eqn:E; bools.
    + apply is_end_spec in E; subst s2; simpl; rewrite Nat.eqb_refl; simpl.
      rewrite filter_none; auto; intros [p e] I; apply trace_events in I; simpl; eapply flat_drains; eauto.
    + rewrite map_app; f_equal; eauto.
  - tests; eauto.
  - rewrite filter_flat_map, !map_flat_map; apply flat_map_ext; intro k; eauto.
  - tests; eauto.
  - destruct x; simpl in *; auto; destruct (c0 =? c) eqn:E; auto; unfold belongs in H; simpl in H; rewrite E in H; discriminate.
Qed.

Lemma rising_nth l : rising l -> forall i j x y, nth_error l i = Some x -> nth_error l j = Some y -> i < j -> precedes x y.
Proof.
  unfold rising; induction 1 as [|z l S IH F]; intros i j x y Hi Hj L; destruct i as [|i]; destruct j as [|j]; simpl in *; try lia; try discriminate.
  - inversion Hi; subst; rewrite Forall_forall in F; apply F; eapply nth_error_In; eauto.
  - eapply IH; eauto; lia.
Qed.

(* Of a rising list, how many are ended before p. *)
Definition done_before (l : list path) (p : path) : nat := length (filter (fun q => if precedes_dec q p then true else false) (map ended l)).

Lemma done_iff l p : rising l -> forall k W, nth_error l k = Some W -> precedes (ended W) p <-> k < done_before l p.
Proof.
  unfold done_before; induction 1 as [|x l S IH F]; intros [|k] W E; simpl in *; try discriminate;
    assert (No : ~ precedes (ended x) p ->
      filter (fun q => if precedes_dec q p then true else false) (map ended l) = []).
  1, 3: intro N'; apply filter_none; intros q I; apply in_map_iff in I as (y & <- & I); rewrite Forall_forall in F;
    destruct (precedes_dec (ended y) p); auto; destruct N';
    destruct (F y I) as [d D]; eapply precedes_trans; [|eassumption]; exists d; apply before_app; exact D.
  - inversion E; subst; destruct (precedes_dec (ended W) p); simpl; [split; [lia | auto] | rewrite No by auto; simpl;
      split; [tauto | lia]].
  - rewrite (IH k W E); destruct (precedes_dec (ended x) p); simpl; [lia | rewrite No by auto; simpl; lia].
Qed.

Lemma done_after l p : rising l -> forall k W, nth_error l k = Some W -> precedes (ended W) p -> k < done_before l p.
Proof. intros R k W E; apply done_iff; auto. Qed.

Lemma done_upto l p : rising l -> forall k W, nth_error l k = Some W -> precedes p (ended W) -> done_before l p <= k.
Proof.
  intros R k W E P; apply Nat.nlt_ge; rewrite <- (done_iff l p R k W E); intro Q; apply (precedes_irr p);
    eapply precedes_trans; eauto.
Qed.

Lemma done_exists l p : rising l -> forall k, k < done_before l p -> exists W, nth_error l k = Some W /\ precedes (ended W) p.
Proof.
  intros R k L; destruct (nth_error l k) as [W|] eqn:E; [exists W; split; auto; apply (done_iff l p R k W E); auto|].
  apply nth_error_None in E.
  pose proof (filter_length _ (fun q => if precedes_dec q p then true else false) (map ended l)) as G.
  rewrite map_length in G; unfold done_before in L; lia.
Qed.

(* The number of a round, at a place in it. *)
Lemma round_number c s a v k W r : outer N c s v = true -> nth_error (visits c s [] a) k = Some W ->
  rounds c (trace o s [] a) (W ++ Part 0 :: r) = k.
Proof.
  intros H E; unfold rounds; rewrite (ends_at c s [] a v H); fold (done_before (visits c s [] a) (W ++ Part 0 :: r)).
  pose proof (visits_rising c s [] a) as R; apply Nat.le_antisymm.
  - apply (done_upto _ _ R k W E); exists None; apply before_prefix; constructor; constructor; lia.
  - destruct k as [|k]; [lia|]; destruct (nth_error (visits c s [] a) k) as [V|] eqn:Ev.
    + apply (done_after _ _ R k V Ev); destruct (rising_nth _ R k (S k) V W Ev E ltac:(lia)) as [d D]; exists d;
        apply before_app; auto.
    + apply nth_error_None in Ev; assert (S k < length (visits c s [] a)) by (apply nth_error_Some; congruence); lia.
Qed.

(* -- what stands in a round --------------------------------------------------------------------------------------------- *)

Lemma item_there V s : forall w C a p e K, In (p, e, K) (items s w C) -> sats K a ->
  incl C K /\ In (V ++ p, e) (trace o s (V ++ w) a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w C a p e K I S; stands;
    try (split; [apply incl_refl | auto]; fail).
  1, 2: (eapply IH1 in I || eapply IH2 in I); [destruct I as [X Y]; rewrite app_assoc in Y; there | exact S].
  destruct (IH _ _ _ _ _ _ I S) as [X Y]; split; [intros z J; apply X; right; auto|].
  rewrite S by (apply X; left; auto); auto.
Qed.

Lemma item_of V c s : forall w C a p e, flat c s = true -> sats C a -> In (p, e) (trace o s (V ++ w) a) -> steps c e = true ->
  exists q K, p = V ++ q /\ In (q, e, K) (items s w C) /\ sats K a.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w C a p e H S I St; bools;
    stands; try discriminate; try (exists w, C; auto; fail).
  1, 2: rewrite <- app_assoc in I; (eapply IH1 in I || eapply IH2 in I); eauto; destruct I as (q & K & X & Y & Z);
    exists q, K; there.
  1, 2, 3: exfalso; apply trace_events in I; apply (free_none (sure c)), sure_steps in I; auto; destruct I; congruence.
  apply (IH w (k :: C)); auto; intros i [<-|J]; auto.
Qed.

Lemma site_some s : forall v w C a p e, sats C a -> In (p, e) (trace o s v a) ->
  exists q K, In (q, e, K) (sites s w C) /\ sats K a /\ forall V, v = V ++ w -> exists r, p = V ++ q ++ r.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros v w C a p e S I; stands;
    try (exists w, C; repeat split; auto; intros V ->; exists []; rewrite app_nil_r; auto; fail).
  1: destruct (IH1 _ (w ++ [Part 0]) C _ _ _ S I) as (q & K & X & Y & Z).
  2: destruct (IH2 _ (w ++ [Part 1]) C _ _ _ S I) as (q & K & X & Y & Z).
  1, 2: exists q, K; there; repeat split; auto; intros V ->; apply Z; rewrite app_assoc; auto.
  4: apply (IH v w (k :: C) a p e); auto; intros i [<-|J]; auto.
  all: pose proof (in_tr_path o true _ _ _ _ _ I) as [r ->]; (eapply IH1 in I || eapply IH2 in I || eapply IH in I);
    [|exact S]; destruct I as (q & K & X & Y & _); exists w, K; rewrite in_map_iff; repeat split; auto;
    [exists (q, e, K); there | intros V ->; rewrite <- !app_assoc; eauto].
Qed.

Lemma site_of V s : forall w C a p e, sats C a -> In (p, e) (trace o s (V ++ w) a) ->
  exists q r K, p = V ++ q ++ r /\ In (q, e, K) (sites s w C) /\ sats K a.
Proof.
  intros w C a p e S I; destruct (site_some s _ w C a p e S I) as (q & K & X & Y & Z); destruct (Z V eq_refl) as [r E].
  exists q, r, K; auto.
Qed.

(* Where items stand. *)
Lemma item_path s : forall w C p e K, In (p, e, K) (items s w C) -> exists r, p = w ++ r.
Proof.
  induction s; simpl; intros w C p e K I; stands; eauto; try (exists []; rewrite app_nil_r; auto; fail);
    (apply IHs1 in I || apply IHs2 in I); destruct I as [r ->]; rewrite <- app_assoc; eauto.
Qed.

Lemma items_rising s : forall w C, StronglySorted (fun x y => precedes (place x) (place y)) (items s w C).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w C; try (repeat constructor; fail); auto.
  apply strongly_app; repeat split; auto; intros [[p e] K] [[q f] J] I I'; apply item_path in I; apply item_path in I'.
  destruct I as [r ->], I' as [r' ->]; exists None; unfold place; simpl; rewrite <- !app_assoc; apply before_turns; constructor; lia.
Qed.

Lemma prec_sound p : forall q, prec p q = true -> before p q None.
Proof.
  induction p as [|[k|? ?] p IH]; intros [|[m|? ?] q]; simpl; try discriminate; intro H.
  apply orb_prop in H as [H|H]; bools; [constructor; constructor; auto | subst; constructor 2; auto].
Qed.

Lemma implies_sound C D a : implies C D = true -> sats C a -> sats D a.
Proof.
  unfold implies; intros H S d I; rewrite forallb_forall in H; specialize (H d I); bools; specialize (S x ltac:(auto)).
  unfold sat in *; replace (cmod d) with (cmod x) by auto; destruct (cmod x =? 0); bools; rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt; lia.
Qed.

Lemma times_seq m s1 s2 : length (filter (fun x => number x =? m) (flat_map accesses (events s1 ++ events s2))) = times m s1 + times m s2.
Proof. unfold times; rewrite flat_map_app, filter_app, app_length; auto. Qed.

Lemma some_times s w a p e x : In (p, e) (trace o s w a) -> In x (accesses e) -> 1 <= times (number x) s.
Proof.
  intros I J; apply trace_events in I; unfold times.
  assert (K : In x (filter (fun y => number y =? number x) (flat_map accesses (events s)))).
  { apply filter_In; split; [apply in_flat_map; eauto | apply Nat.eqb_refl]. }
  destruct (filter _ _); [destruct K | simpl; lia].
Qed.

(* What is so of all that a thread has done, and of what is said to be, is so where a statement ends. *)
Section Flow.

Context {A : Type} (step : event -> A -> A * bool) (join : A -> A -> A) (less : A -> A -> bool) (goes : con -> option bool).
Variables (a : thread) (T : list (path * event)) (Inv : list (path * event) -> A -> Prop).
Hypotheses (Join : forall x y, less x (join x y) = true /\ less y (join x y) = true)
  (Less : forall d x y, less x y = true -> Inv d x -> Inv d y) (Goes : forall c b, goes c = Some b -> sat c (snd a) = b)
  (Step : forall d p e r x, T = d ++ (p, e) :: r -> Inv d x -> snd (step e x) = true -> Inv (d ++ [(p, e)]) (fst (step e x))).

Lemma flow_sound s : forall w d r x, T = d ++ trace o s w a ++ r -> Inv d x -> snd (flow step join less goes s x) = true ->
  Inv (d ++ trace o s w a) (fst (flow step join less goes s x)).
Proof.
  induction s as [|s1 IH1 s2 IH2|z|u h|u s1 IH1 s2 IH2|l m u s IH|c s IH|z]; cbn [flow trace]; intros w d r x E I G; eauto.
  - rewrite app_nil_r; auto.
  - specialize (IH1 (w ++ [Part 0]) d (trace o s2 (w ++ [Part 1]) a ++ r) x); destruct (flow _ _ _ _ s1 x) as [y b1].
    specialize (IH2 (w ++ [Part 1]) (d ++ trace o s1 (w ++ [Part 0]) a) r y); destruct (flow _ _ _ _ s2 y) as [z b2].
    simpl in *; bools; rewrite <- !app_assoc in *; auto.
  - specialize (IH1 (w ++ [Part 0]) d r x); specialize (IH2 (w ++ [Part 1]) d r x).
    destruct (flow _ _ _ _ s1 x) as [y b1], (flow _ _ _ _ s2 x) as [z b2]; simpl in *; bools.
    destruct (o w (name u a) =? 0); [apply (Less _ y) | apply (Less _ z)]; try apply Join; auto.
  - set (y := join x _) in *; assert (Iy : Inv d y) by (apply (Less _ x); auto; apply Join).
    assert (Once : forall i d r, T = d ++ trace o s (w ++ [Trip l i]) a ++ r -> Inv d y -> Inv (d ++ trace o s (w ++ [Trip l i]) a) y).
    { intros i d' r' E' I'; specialize (IH (w ++ [Trip l i]) d' r' y E' I').
      destruct (flow _ _ _ _ s y) as [z b]; simpl in *; bools; eauto. }
    assert (T' : fst (let (z, b) := flow step join less goes s y in (y, b && less z y)) = y) by (destruct (flow _ _ _ _ s y); auto).
    rewrite T'; clear T' IH I G; clearbody y; revert d r E Iy; generalize 0 as i.
    induction (m + o w (name u a)) as [|n IHn]; simpl; intros i d r E I; [rewrite app_nil_r; auto|].
    rewrite <- app_assoc in E; pose proof (Once i d _ E I) as I'; rewrite app_assoc in *; eapply IHn; eauto.
  - destruct (goes c) as [b|] eqn:Gc; [rewrite (Goes _ _ Gc) in *; destruct b; [eauto | rewrite app_nil_r; auto]|].
    specialize (IH w d r x); destruct (flow _ _ _ _ s x) as [y b]; simpl in *.
    destruct (sat c (snd a)); [apply (Less _ y) | rewrite app_nil_r; apply (Less _ x)]; try apply Join; auto.
Qed.

End Flow.

(* Where a group is known to have ended, its thread has waited for it. *)
Definition made_at (n : nat) (t : list (path * event)) (q : path) : Prop := exists e, In (q, e) t /\ made_by n e = true.
Definition grouped_at (k m : nat) (t : list (path * event)) (p : path) : Prop :=
  exists l, In (p, EOp (Group k l)) t /\ made_by m (EOp (Group k l)) = true.
Definition settled_in (k : nat) (t : list (path * event)) (r : path) : Prop := In (r, EOp (Settle k 0)) t.

Lemma clear_sound K k m n s a : sats K a -> snd (clear K k m n s false) = true -> let T := trace o s [] a in
  (forall p q, grouped_at k m T p -> made_at n T q -> precedes p q -> exists r, settled_in k T r /\ precedes p r /\ precedes r q) /\
  (fst (clear K k m n s false) = false -> forall p, grouped_at k m T p -> exists r, settled_in k T r /\ precedes p r).
Proof.
  intros SK G T; pose proof (trace_sorted o s [] a : sorted T) as So.
  apply (flow_sound _ _ _ _ a T (fun d w =>
    (forall p q, grouped_at k m d p -> made_at n d q -> precedes p q -> exists r, settled_in k d r /\ precedes p r /\ precedes r q) /\
    (w = false -> forall p, grouped_at k m d p -> exists r, settled_in k d r /\ precedes p r))) with (d := []) (r := []); auto.
  - intros [] []; auto.
  - intros d [] [] L [A1 A2]; try discriminate; split; auto; discriminate.
  - intros c b E; destruct (implies K [c]) eqn:Im; inversion E; exact (implies_sound K [c] a Im SK c (or_introl eq_refl)).
  - intros d p0 e r w E [A1 A2] Ok; rewrite E in So; apply sorted_app in So as (_ & So & Or).
    assert (Lt : forall q f, In (q, f) d -> precedes q p0) by (intros q f I; exact (Or _ (p0, e) I (or_introl eq_refl))).
    unfold settled_in in *; simpl in Ok; apply negb_true_iff in Ok; split.
    + intros p q (l & I & M1) (f & J & M2) P; apply in_app_iff in I as [I|[I|[]]]; apply in_app_iff in J as [J|[J|[]]].
      * destruct (A1 p q) as (r' & R & Q); [exists l | exists f | |]; auto; exists r'; there.
      * inversion J; subst; rewrite M2, andb_true_r in Ok; destruct (A2 Ok p) as (r' & R & Q); [exists l; auto|].
        exists r'; there.
      * inversion I; subst; exfalso; eapply precedes_irr, precedes_trans; eauto.
      * inversion I; inversion J; subst; exfalso; eapply precedes_irr; eauto.
    + intros W p (l & I & M1); simpl in W; stands; [|subst; rewrite Nat.eqb_refl, M1, orb_true_r in W; discriminate].
      assert (Cs : w = false \/ e = EOp (Settle k 0)).
      { destruct e as [|?|[| | | | | | |j ?|j [|i]| | | |]]; simpl in W; auto; [apply orb_false_elim in W; tauto|].
        destruct (Nat.eqb_spec j k); simpl in W; subst; auto. }
      destruct Cs as [-> | ->]; [destruct (A2 eq_refl p) as (r' & R & Q); [exists l; auto|]; exists r' | exists p0]; there; simpl; eauto 6.
  - unfold T; rewrite app_nil_r; auto.
  - split; [intros p q (l & [] & _) | intros _ p (l & [] & _)].
Qed.

(* Two places in one statement: the same, where all do one thing; or they part at its loops or elsewhere, and an access that
   stands once is made in other trips alone. *)
Lemma parted s : forall w a b p q e f, In (p, e) (trace o s w a) -> In (q, f) (trace o s w b) ->
  (p = q /\ e = f) \/ exists d, (before p q d \/ before q p d) /\ forall x y, In x (accesses e) -> In y (accesses f) ->
    In d (None :: map Some (loops (number x) (number y) s)) /\
    (number x = number y -> times (number x) s <= 1 -> d <> None).
Proof.
  assert (Two : forall s1 s2 w a b p q e f, In (p, e) (trace o s1 (w ++ [Part 0]) a) ->
            In (q, f) (trace o s2 (w ++ [Part 1]) b) -> before p q None /\ forall x y, In x (accesses e) ->
            In y (accesses f) -> number x = number y -> 2 <= times (number x) s1 + times (number x) s2).
  { intros s1 s2 w a b p q e f I J; split; [exact (parts_in_order o w a b true true s1 s2 _ _ _ _ I J)|]; intros x y X Y Ny.
    pose proof (some_times _ _ _ _ _ _ I X); pose proof (some_times _ _ _ _ _ _ J Y); rewrite <- Ny in *; lia. }
  induction s as [|s1 IH1 s2 IH2|z|u h|u s1 IH1 s2 IH2|l n u s IH|k s IH|z]; intros w a b p q e f I J;
    simpl in I, J; stands; auto.
  10: exact (IH _ _ _ _ _ _ _ I J).
  9: { rename x0 into i, x into j.
    assert (Both : forall x y, In x (accesses e) -> In y (accesses f) ->
              loops (number x) (number y) (Loop l n u s) = l :: loops (number x) (number y) s).
    { intros x y X Y; pose proof (some_times _ _ _ _ _ _ I X) as Tx; pose proof (some_times _ _ _ _ _ _ J Y) as Ty.
      apply Nat.leb_le in Tx; apply Nat.leb_le in Ty; cbn [loops]; rewrite Tx, Ty; auto. }
    destruct (Nat.lt_trichotomy i j) as [L|[->|L]].
    2: { destruct (IH _ _ _ _ _ _ _ I J) as [|(d & D & P)]; [auto|]; right; exists d; split; [auto|].
         intros x y X Y; destruct (P x y X Y) as [L O]; rewrite Both by auto; split; [simpl in L |- *; tauto | exact O]. }
    all: right; exists (Some l); split; [|intros; rewrite Both by auto; split; [right; left; auto | discriminate]].
    - left; exact (trips_in_order o l w a b true true s s i j _ _ _ _ L I J).
    - right; exact (trips_in_order o l w b a true true s s j i _ _ _ _ L J I). }
  2, 3, 6, 7: first [destruct (Two s1 s2 w a b p q e f I J) as [D L] | destruct (Two s1 s2 w b a q p f e J I) as [D L]];
    right; exists None; split; [auto|]; intros x y X Y; split; [left; auto|]; intros E L'; exfalso; unfold times in L';
    simpl in L'; rewrite times_seq in L'; [specialize (L x y X Y E) || specialize (L y x Y X (eq_sym E))];
    rewrite ?E in *; lia.
  all: (destruct (IH1 _ _ _ _ _ _ _ I J) as [|(d & D & P)] || destruct (IH2 _ _ _ _ _ _ _ I J) as [|(d & D & P)]);
    [auto|]; right; exists d; split; [auto|]; intros x y X Y; destruct (P x y X Y) as [L O]; split.
  1, 3, 5, 7: simpl in L |- *; rewrite map_app, in_app_iff; tauto.
  all: intros E L'; apply O; auto; unfold times in L' at 1; simpl in L'; rewrite times_seq in L'; lia.
Qed.

Lemma comparable s w a b p q e f : In (p, e) (trace o s w a) -> In (q, f) (trace o s w b) ->
  (p = q /\ e = f) \/ precedes p q \/ precedes q p.
Proof. intros I J; destruct (parted s w a b p q e f I J) as [|(d & [D|D] & _)]; unfold precedes; eauto. Qed.

(* At one position all do one thing. *)
Lemma same_event s w a b p e f : In (p, e) (trace o s w a) -> In (p, f) (trace o s w b) -> e = f.
Proof. intros I J; destruct (comparable s w a b p p e f I J) as [[_ E]|[P|P]]; auto; destruct (precedes_irr p P). Qed.

Lemma exclusive_sound s : forall w a b p q e f x y, exclusive N (number x) (number y) s = true ->
  is_thread a -> is_thread b -> fst a = fst b -> In (p, e) (trace o s w a) -> In (q, f) (trace o s w b) ->
  In x (accesses e) -> In y (accesses f) -> False.
Proof.
  assert (Some_ : forall t w a p e x, In (p, e) (trace o t w a) -> In x (accesses e) -> (times (number x) t =? 0) = true -> False).
  { intros t w a p e x I J Z; apply Nat.eqb_eq in Z; pose proof (some_times _ _ _ _ _ _ I J); lia. }
  induction s as [|s1 IH1 s2 IH2|z|u h|u s1 IH1 s2 IH2|l n u s IH|k s IH|z]; simpl; intros w a b p q e f x y H Ta Tb Bl I J X Y;
    try discriminate.
  - destruct (_ && _) eqn:E in H; repeat (apply andb_prop in H as [H ?]); repeat (apply andb_prop in E as [E ?]);
      stands; eauto.
  - assert (U : le N Block u = true -> name u a = name u b).
    { intro Le; apply (le_sound B N Block u); auto; unfold same; simpl; rewrite Bl; auto. }
    destruct (_ && _) eqn:E in H; [|destruct (_ && _) eqn:E' in H]; repeat (apply andb_prop in E as [E ?]);
      try (repeat (apply andb_prop in E' as [E' ?])); [stands; eauto | stands; eauto |].
    apply andb_prop in H as [Le H]; rewrite (U Le) in I; apply orb_prop in H as [H|H]; apply andb_prop in H as [H1 H2];
      destruct (o w (name u b) =? 0); eauto.
  - stands; eauto.
Qed.

(* -- arrivals for what is left ------------------------------------------------------------------------------------------ *)

Lemma no_visits c s : forall w a, forallb any_drain (events s) = true -> visits c s w a = [].
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w a H;
    rewrite ?forallb_app in H; tests; rewrite ?IH1, ?IH2 by auto; auto using flat_map_none.
  match goal with E : is_end _ _ = true |- _ => apply is_end_spec in E; subst; discriminate end.
Qed.

(* Threads that come to a place behind a wait and a barrier have come to these. *)
Definition pattern (s : stmt) (w w' : path) : Prop := forall a,
  In (w' ++ [Part 1; Part 0], EBar (Threads 32) Warp) (trace o s w a) -> In (w' ++ [Part 0], EOp (Settle products 0)) (trace o s w a).

Lemma guarded_spec s : guarded s = true -> exists t,
  s = Seq (Do (Settle products 0)) (Seq (Bar (Threads 32) Warp) (Seq (Only lane t) Skip)) /\ forallb any_drain (events t) = true.
Proof.
  unfold guarded; repeat match goal with |- context [match ?z with _ => _ end] => is_var z; destruct z; try discriminate end.
  intro H; bools; subst; eauto.
Qed.

(* So p stands in a part of s, and behind these or before each round. *)
Definition waits_before (c : nat) (s : stmt) (w : path) (a : thread) (p : path) : Prop := exists w' u t,
  w' = w ++ u /\ p = w' ++ Part 1 :: Part 1 :: t /\ pattern s w w' /\
  In (w' ++ [Part 1; Part 0], EBar (Threads 32) Warp) (trace o s w a) /\
  forall W, In W (visits c s w a) -> (forall r, precedes p (W ++ Part 0 :: r)) \/ precedes (ended W) (w' ++ [Part 0]).

Lemma waits_under c s s1 w x a p : waits_before c s1 (w ++ [x]) a p -> incl (trace o s1 (w ++ [x]) a) (trace o s w a) ->
  (forall a' y e, In (w ++ x :: y, e) (trace o s w a') ->
     In (w ++ x :: y, e) (trace o s1 (w ++ [x]) a') /\ incl (trace o s1 (w ++ [x]) a') (trace o s w a')) ->
  (forall W, In W (visits c s w a) ->
     In W (visits c s1 (w ++ [x]) a) \/ exists x' y d, W = w ++ x' :: y /\ (earlier x x' d \/ earlier x' x d)) ->
  waits_before c s w a p.
Proof.
  intros (w' & u & t & -> & -> & Pa & Ba & Vi) Inc Back Vis; exists ((w ++ [x]) ++ u), (x :: u), t.
  split; [rewrite <- app_assoc; auto|]; split; auto; split; [|split; auto].
  - intros a' J; rewrite <- !app_assoc in J; destruct (Back a' _ _ J) as [J' I']; apply I', Pa; rewrite <- !app_assoc;
      exact J'.
  - intros W V; destruct (Vis W V) as [V'|(x' & y & d & -> & [E|E])]; auto; [left; intro r | right]; exists d;
      unfold ended; rewrite <- !app_assoc; apply before_turns; exact E.
Qed.

Lemma drain_at c b s : cycle b = c -> forall v w a p, outer N c s v = true -> drained s = true ->
  In (p, EOp (Drain b)) (trace o s w a) -> waits_before c s w a p.
Proof.
  (* a position under a turn is that turn's *)
  assert (Turn : forall s w x x' y e a, In (w ++ x :: y, e) (trace o s (w ++ [x']) a) -> x = x').
  { intros s0 w x x' y e a I; apply (in_tr_path o true) in I as [q E]; rewrite <- app_assoc in E;
      apply app_inv_head in E.
    inversion E; auto. }
  intro Cb; induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; intros v w a p Ou Dr I.
  1, 3, 4: simpl in I; stands; discriminate.
  - cbn [drained] in Dr; apply orb_prop in Dr as [G|Dr].
    { destruct (guarded_spec _ G) as (t & E & Nd); inversion E; subst s1 s2; clear E; exists w, [].
      simpl in I; destruct I as [I|[I|I]]; try discriminate; rewrite app_nil_r in I.
      destruct (sat lane (snd a)) eqn:Sa; [|destruct I]; pose proof I as I'; apply (in_tr_path o true) in I' as [q ->].
      exists (Part 0 :: q); rewrite app_nil_r, <- !app_assoc; split; auto; split; auto; split;
        [intros a' _; left; auto|].
      split; [right; left; rewrite <- app_assoc; auto|].
      intros W V; exfalso; simpl in V; rewrite Sa, app_nil_r, no_visits in V; auto. }
    ands Dr as [D1 D2]; cbn [outer] in Ou; destruct (is_end c s2) eqn:En.
    { exfalso; apply is_end_spec in En; subst s2; ands Ou as [_ Fl]; simpl in I; stands.
      apply trace_events in I; destruct (flat_drains c s1 _ Fl I) as [X _]; simpl in X; rewrite Cb, Nat.eqb_refl in X;
        discriminate. }
    ands Ou as [O1 O2]; assert (Vis : forall W, In W (visits c (Seq s1 s2) w a) ->
      In W (visits c s1 (w ++ [Part 0]) a) \/ In W (visits c s2 (w ++ [Part 1]) a)) by (simpl; rewrite En; intros;
        stands; auto).
    simpl in I; apply in_app_iff in I as [I|I];
      [apply (waits_under _ _ s1 w (Part 0)) | apply (waits_under _ _ s2 w (Part 1))];
      eauto; try (intros z Z; simpl; there; fail);
      try (intros a' y e J; split; [|intros z Z; simpl; there]; simpl in J; stands; auto; apply Turn in J;
        discriminate); intros W V; destruct (Vis W V) as [V'|V']; auto; right; apply visits_path in V' as [q ->].
    + exists (Part 1), q, None; rewrite <- app_assoc; split; auto; left; constructor; lia.
    + exists (Part 0), q, None; rewrite <- app_assoc; split; auto; right; constructor; lia.
  - cbn [drained outer] in Dr, Ou; cbv zeta in Ou; ands Dr as [D1 D2]; ands Ou as [O1 O2]; simpl in I.
    destruct (o w (name u a) =? 0) eqn:Oa;
      [apply (waits_under _ _ s1 w (Part 0)) | apply (waits_under _ _ s2 w (Part 1))];
      eauto; try (simpl; rewrite Oa; auto using incl_refl; fail);
      intros a' y e J; simpl in J |- *; destruct (o w (name u a') =? 0); auto using incl_refl; apply Turn in J;
        discriminate.
  - cbn [drained outer] in Dr, Ou; simpl in I; apply in_flat_map in I as (k & Ik & I);
      apply (waits_under _ _ s w (Trip l k)); eauto.
    + intros z Z; simpl; there.
    + intros a' y e J; simpl in J; apply in_flat_map in J as (j & Ij & J); pose proof (Turn _ _ _ _ _ _ _ J) as E.
      inversion E; subst j; split; auto; intros z Z; simpl; there.
    + intros W V; cbn [visits] in V; apply in_flat_map in V as (j & Ij & V);
        destruct (Nat.lt_trichotomy j k) as [L|[->|L]]; auto;
        right; apply visits_path in V as [q ->]; exists (Trip l j), q, (Some l); rewrite <- app_assoc; split; auto;
        [right | left]; constructor; auto.
  - cbn [drained outer] in Dr, Ou; simpl in I; unfold waits_before; cbn [visits trace];
      destruct (sat k (snd a)) eqn:Sa; [|destruct I].
    destruct (IH _ _ _ _ Ou Dr I) as (w' & u' & t & -> & -> & Pa & Ba & Vi); exists (w ++ u'), u', t; splits.
    split; auto; intros a' J; simpl in J |- *; destruct (sat k (snd a')); [auto | destruct J].
  - discriminate || (destruct I as [E|[]]; inversion E; subst; discriminate).
Qed.

Lemma surely_sound b K s a : sats K a -> surely b K s = true -> forall w, exists p, In (p, EOp (Drain b)) (trace o s w a).
Proof.
  intro Sa; induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros H w; try discriminate.
  - apply orb_prop in H as [H|H]; [destruct (IH1 H (w ++ [Part 0])) as [p I] |
      destruct (IH2 H (w ++ [Part 1])) as [p I]]; exists p; there.
  - bools; destruct (o w (name u a) =? 0); auto.
  - bools; destruct m as [|m]; [discriminate|]; destruct (IH H0 (w ++ [Trip l 0])) as [p I]; exists p; simpl; there.
  - apply andb_prop in H as [H1 H2]; change (implies K [k] = true) in H1.
    rewrite (implies_sound _ _ a H1 Sa k) by (left; auto); auto.
  - destruct x; try discriminate; apply same_as_eq in H; subst; exists w; left; auto.
Qed.

Lemma follow_sound b K s a : sats K a -> forall w W, follow b K s = true -> In W (visits (cycle b) s w a) ->
  exists p, In (p, EOp (Drain b)) (trace o s w a) /\ precedes (ended W) p.
Proof.
  intro Sa; induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|x]; simpl; intros w W H V; try (destruct V; fail).
  - apply andb_prop in H as [H H1]; apply andb_prop in H as [H H2]; apply negb_true_iff in H; rewrite H in V; stands.
    + apply orb_prop in H1 as [H1|H1]; [destruct (IH1 _ _ H1 V) as (p & I & P); exists p; there|].
      destruct (surely_sound b K s2 a Sa H1 (w ++ [Part 1])) as [p I]; exists p; there; split; auto.
      apply (in_tr_path o true) in I as [q ->]; apply visits_path in V as [r ->].
      exists None; unfold ended; rewrite <- !app_assoc; apply before_turns; constructor; lia.
    + destruct (IH2 _ _ H2 V) as (p & I & P); exists p; there.
  - bools; stands; eauto.
  - stands; destruct (IH _ _ H V) as (p & I & P); exists p; there.
  - stands; eauto.
Qed.

End Rounds.
