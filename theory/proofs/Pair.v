(** Two threads, each at a well-formed position: their expressions agree over each unit of the demanded perspective, and their
    statements stay in step, except inside units that only one of them belongs to. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety Units.
Import ListNotations.

Local Arguments down : simpl never.
Local Arguments Nat.max : simpl never.

Section Two.
Context {M : Machine} {Fs : Functions}.
Variable rg : name -> bool.
Variable ro : site -> bool.
Local Notation glob m g := (forall st, ro st = true -> gl m st = g st) (only parsing).
Local Notation sfrag := (Units.sfrag rg ro).
Local Notation nfrag := (Units.nfrag rg ro).
Hypothesis Hbody : fns_frag rg ro.
Ltac globs :=
  let st := fresh in let Hr := fresh in intros st Hr;
  repeat match goal with H : forall st, ro st = true -> _ |- _ => specialize (H st Hr) end; congruence.

(** Both stand in one unit of the code's perspective. *)
Definition sync (a b : tid) (k1 k2 : pos) : Prop :=
  lv k1 = lv k2 /\ sz k1 = sz k2 /\ base k1 = base k2 /\ (lv k1 = Thread -> fst a = fst b).

Lemma sync_sym a b k1 k2 : sync a b k1 k2 -> sync b a k2 k1.
Proof. intros (S1 & S2 & S3 & S4). rewrite S1 in S4. repeat split; auto using eq_sym. Qed.

Lemma sync_dec a b k1 k2 : {sync a b k1 k2} + {~ sync a b k1 k2}.
Proof.
  assert (D : {lv k1 = Thread -> fst a = fst b} + {~ (lv k1 = Thread -> fst a = fst b)})
    by (destruct (lv k1), (Nat.eq_dec (fst a) (fst b)); auto; left; discriminate).
  unfold sync. destruct D, (Nat.eq_dec (sz k1) (sz k2)), (Nat.eq_dec (base k1) (base k2)),
    (Nat.eq_dec (rank_of (lv k1)) (rank_of (lv k2)));
    try (left; auto using rank_inj; fail); right; intros (E & ? & ? & ?); try rewrite E in *; auto.
Qed.

Lemma sync_inu a b k1 k2 : pos_ok a k1 -> pos_ok b k2 -> sync a b k1 k2 -> inu a k1 b.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3) (S1 & S2 & S3 & S4). unfold inu, coord in *. rewrite <- S1, <- S2, <- S3 in *.
  destruct (lv k1); simpl in *; [split; [auto | lia] | lia | auto].
Qed.

Lemma inu_coord c k d : pos_ok c k -> inu c k d -> base k <= coord d (lv k) < base k + sz k.
Proof. intros (H1 & H2 & H3). unfold inu, coord in *. destruct (lv k); lia. Qed.

(** A narrower unit of one thread in which the other is, too, is the other's. *)
Lemma arm_sync a b k1 k2 s1 s2 k1' t1 f1 : pos_ok a k1 -> pos_ok b k2 -> sync a b k1 k2 -> alike s1 s2 ->
  narrow a k1 s1 = Some (k1', t1, f1) -> pos_ok a k1' -> inu a k1' b ->
  exists k2' t2 f2, narrow b k2 s2 = Some (k2', t2, f2) /\ sync a b k1' k2'.
Proof.
  intros P1 P2 (S1 & S2 & S3 & S4) Al N Q I. apply inu_coord in I; auto.
  assert (C1 : base k1 + idx k1 = coord a (lv k1)) by apply P1.
  assert (C2 : base k2 + idx k2 = coord b (lv k1)) by (rewrite S1; apply P2).
  destruct Al as [Al E0]. destruct s1; try (now destruct Al); destruct s2; try discriminate; try injection E0; intros; subst;
    simpl in N |- *; unfold in_arm in *; cases N; injection N as <- <- <-; spec; simpl in I; try rewrite <- C2 in I.
  - destruct (Nat.ltb_spec (idx k2) n0); [|lia]. do 3 eexists. split; [reflexivity | repeat split; auto].
  - destruct (Nat.ltb_spec (idx k2) n0); [lia|]. destruct (Nat.ltb_spec (idx k2) (n0 + n3)); [|lia].
    do 3 eexists. split; [reflexivity | repeat split; simpl; auto].
  - unfold sub_down, down, pp in *. rewrite <- S1, <- S2. unfold pos_ok, sync, coord in *.
    destruct (lv k1); try discriminate; destruct (sz k1) as [|[|c]]; try discriminate; injection E as <-;
      do 3 eexists; (split; [reflexivity|]); repeat split; auto; try discriminate; simpl in *; lia.
  - do 3 eexists. split; [reflexivity|]. repeat split; simpl; auto. rewrite <- S2, <- S3. do 2 f_equal.
    match goal with |- context [sz k1 / ?z] => set (r := sz k1 / z) in * end.
    assert (r <> 0) by (destruct Q as [Q _]; simpl in Q; lia).
    pose proof (Nat.div_mod_eq (idx k1) r). pose proof (Nat.div_mod_eq (idx k2) r).
    pose proof (Nat.mod_upper_bound (idx k1) r). pose proof (Nat.mod_upper_bound (idx k2) r). nia.
  - match goal with |- context [?i * ?n <=? idx k2] =>
      destruct (Nat.leb_spec (i * n) (idx k2)), (Nat.ltb_spec (idx k2) (i * n + n)) end; try lia.
    do 3 eexists. split; [reflexivity | repeat split; simpl; auto].
Qed.

Section Pair.
Variables a b : tid.
Hypothesis Ha : tid_ok a.
Hypothesis Hb : tid_ok b.
Local Notation sync := (sync a b).

(** The two environments: the same variables at the same perspectives, equal where the perspective is shared. *)
Definition agree (n1 n2 : env) : Prop :=
  forall x, match n1 x, n2 x with
            | Some (q1, v1), Some (q2, v2) => q1 = q2 /\ (same_unit q1 a b -> v1 = v2)
            | None, None => True
            | _, _ => False
            end.

Lemma agree_refl n : agree n n.
Proof. intros x. destruct (n x) as [[q v]|]; auto. Qed.

Lemma agree_get n1 n2 x q1 v1 q2 v2 :
  agree n1 n2 -> n1 x = Some (q1, v1) -> n2 x = Some (q2, v2) -> q1 = q2 /\ (same_unit q1 a b -> v1 = v2).
Proof. intros H H1 H2. specialize (H x). rewrite H1, H2 in H. auto. Qed.

Lemma agree_ups n1 n2 x q v1 v2 : agree n1 n2 -> (same_unit q a b -> v1 = v2) ->
  agree (ups n1 x (Some (q, v1))) (ups n2 x (Some (q, v2))).
Proof. intros H Hv y. names. apply H. Qed.

Lemma agree_ups1 n1 n2 x q v v1 :
  agree n1 n2 -> n1 x = Some (q, v) -> ~ same_unit q a b -> agree (ups n1 x (Some (q, v1))) n2.
Proof. intros H Hx Hq y. specialize (H y). names. rewrite Hx in H. destruct (n2 x) as [[q2 v2]|]; tauto. Qed.
Lemma agree_ups2 n1 n2 x q v v1 :
  agree n1 n2 -> n2 x = Some (q, v) -> ~ same_unit q a b -> agree n1 (ups n2 x (Some (q, v1))).
Proof.
  intros H Hx Hq y. specialize (H y). names. rewrite Hx in H. destruct (n1 x) as [[q2 v2]|];
    auto. destruct H as [-> H]. tauto.
Qed.

Lemma agree_back p outs n1 n2 l1 l2 : agree n1 n2 -> agree l1 l2 -> agree (back p outs n1 l1) (back p outs n2 l2).
Proof.
  intros Hn Hl. induction outs as [|[x y] outs IH]; auto. simpl. pose proof (Hn x) as Hx. pose proof (Hl y) as Hy.
  destruct (n1 x) as [[q1 v1]|], (n2 x) as [[q2 v2]|]; try contradiction; auto. destruct Hx as [<- Hx].
  destruct (l1 y) as [[q1' w1]|], (l2 y) as [[q2' w2]|]; try contradiction; auto. destruct Hy as [<- _].
  destruct (pleb q1' p && peqb q1 q1') eqn:E; auto. apply andb_true_iff in E as [_ E]. apply peqb_spec in E as <-.
  now apply agree_ups.
Qed.

Lemma agree_hide hid n1 n2 : agree n1 n2 -> agree (hide hid n1) (hide hid n2).
Proof. intros H y. names; apply H. Qed.

Lemma agree_restore hid x n1 n2 m1 m2 : agree n1 n2 -> agree m1 m2 -> agree (restore hid x n1 m1) (restore hid x n2 m2).
Proof. intros H H' y. names; (apply H || apply H'). Qed.

Lemma restore_id hid x (n : env) e y : restore hid x n (ups (hide hid n) x e) y = n y.
Proof. names. Qed.

Lemma agree_ext n1 n2 m1 m2 : (forall y, n1 y = m1 y) -> (forall y, n2 y = m2 y) -> agree n1 n2 -> agree m1 m2.
Proof. intros H1 H2 H y. rewrite <- H1, <- H2. apply H. Qed.

Lemma agree_only1 k n1 n1' n2 : only a b k n1 n1' -> ~ inu a k b -> agree n1 n2 -> agree n1' n2.
Proof.
  intros Ho Hk H x. specialize (H x). destruct (Ho x) as [->|(q & v & v' & Hx & -> & Hq)]; auto.
  rewrite Hx in H. destruct (n2 x) as [[q2 v2]|]; auto. destruct H; split; auto. tauto.
Qed.
Lemma agree_only2 k n1 n2 n2' : only b a k n2 n2' -> ~ inu b k a -> agree n1 n2 -> agree n1 n2'.
Proof.
  intros Ho Hk H x. specialize (H x). destruct (Ho x) as [->|(q & v & v' & Hx & -> & Hq)]; auto.
  rewrite Hx in H. destruct (n1 x) as [[q2 v2]|]; auto. destruct H as [-> H]; split; auto.
  intros Hs. apply same_unit_sym in Hs. tauto.
Qed.

(** ** Expressions: equal over each unit of the demanded perspective *)

Lemma id_uniform k1 k2 d : pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> id_ok d (pp k1) -> same_unit d a b ->
  offset a k1 / size d = offset b k2 / size d.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3) (S1 & S2 & S3 & S4) [Hd Ht] Hs. destruct Ha as [Ha1 Ha2], Hb as [Hb1 Hb2].
  (* both are counted from one place, where a unit of the target starts *)
  assert (From : forall i j c st, Nat.divide c st -> (st + i) / c = (st + j) / c -> i / c = j / c).
  { intros i j c st [w ->] E. destruct (Nat.eq_dec c 0) as [->|]; auto.
    rewrite !(Nat.add_comm (w * c)), !Nat.div_add in E by auto. lia. }
  assert (Big : forall x y j, y < T -> (x * T + y) / (j * T) = x / j).
  { intros x y j Hy. destruct (Nat.eq_dec j 0) as [->|]; auto. rewrite (Nat.mul_comm j T), <- Nat.div_div by lia.
      now rewrite (Nat.add_comm (x * T)), Nat.div_add, (Nat.div_small y T) by lia. }
  assert (Tile : forall x y z c, Nat.divide c T -> y / c = z / c -> (x * T + y) / c = (x * T + z) / c).
  { intros x y z c [w Hw] E. destruct (Nat.eq_dec c 0) as [->|]; auto.
    rewrite Hw, Nat.mul_assoc, !(Nat.add_comm (x * w * c)), !Nat.div_add by auto. lia. }
  destruct d as [h n]. unfold offset, size, same_unit, ple, coord, pp in *; simpl in *;
    rewrite <- S1, <- S2, <- S3 in *.
  destruct h, (lv k1); simpl in *; try (destruct Hd as [?|[? _]]; [lia | discriminate]).
  - destruct Hd as [?|[_ Hd]]; [lia|]. apply (From _ _ _ (base k1));
    [eapply Nat.divide_trans; eauto | now rewrite A3, B3].
  - destruct Hs as [Hs1 Hs2]. replace (idx k2) with (idx k1) by lia. apply Tile; auto. apply Ht; auto; discriminate.
  - destruct Hs as [-> Hs2]. apply Tile; auto. apply Ht; auto; discriminate.
  - destruct Hd as [?|[_ Hd]]; [lia|]. rewrite !Big by auto.
    apply (From _ _ _ (base k1)); [eapply Nat.divide_trans; eauto | now rewrite A3, B3].
  - now rewrite !Big by auto.
  - destruct (Nat.eq_dec n 0) as [->|]; auto.
    assert (1 * (B * T) <= n * (B * T)) by (apply Nat.mul_le_mono_r; lia). rewrite !Nat.div_small; auto; nia.
Qed.

(** A variable that both have: one perspective, and one value where that is shared. *)
Ltac both Hn :=
  match type of Hn with agree ?n1 ?n2 =>
    match goal with A : n1 ?x = Some _, C : n2 ?x = Some _ |- _ =>
      let Hv := fresh "Hv" in destruct (agree_get _ _ _ _ _ _ _ Hn A C) as [? Hv]; subst;
      match type of Hv with same_unit ?q _ _ -> _ =>
        assert (Hq : same_unit q a b) by (eauto using same_unit_up); specialize (Hv Hq) end
    end
  end.
Ltac same e IH :=
  match goal with
  | A : eval a _ _ _ _ e = EVal ?i, C : eval b _ _ _ _ e = EVal ?j |- _ =>
      let Hi := fresh "Hi" in assert (Hi : i = j) by (eapply IH; eauto); try injection Hi as ->; try subst
  end.

Theorem eval_uniform e : forall d k1 k2 n1 n2 m1 m2 v1 v2,
  efrag rg e = true -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 -> nfrag n1 ->
  glob m1 (gl m2) -> same_unit d a b -> eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2.
Proof.
  induction e; intros d k1 k2 n1 n2 m1 m2 v1 v2 Hf P1 P2 Hs Hn Hnf Hm Hd E1 E2; simpl in *;
    try (ands; unfold two in *; cases E1; cases E2; try discriminate; same e1 IHe1; same e2 IHe2; congruence).
  - congruence.
  - congruence.
  - cases E1; cases E2; try discriminate. spec. subst. both Hn. congruence.
  - cases E1; cases E2; try discriminate. injection E1 as <-; injection E2 as <-.
    apply id_okb_spec in E. do 2 f_equal. apply id_uniform; auto.
  - ands. cases E1; cases E2; try discriminate; spec; subst; same e IHe; both Hn; try discriminate Hv.
    + congruence.
    + injection Hv as -> -> -> ->. injection E1 as <-. injection E2 as <-.
      match goal with A : n1 x = Some _ |- _ => pose proof (Hnf _ _ _ A) as Hx end.
      destruct l; simpl in *; auto; try discriminate.
      match goal with H : match ?k with Global => true | _ => _ end = true |- _ => destruct k; try discriminate end.
      rewrite Hm; auto. apply eqb_prop in Hx. rewrite Hx.
      match goal with H : rg x || _ = true |- _ => now destruct (rg x) end.
Qed.

(** ** Statements: the two threads in step, except inside units that only one of them belongs to *)

Definition atomic (s : stmt) : bool :=
  match s with
  | SSync _ | SWait _ _ | SSeq _ _ | SSplit _ _ _ _ | SDestruct _ | SGroup _ _ | SArm _ _ _ | SScope _ _ _ _ _ _ | SFrame _ _ _ _ => false
  | _ => true
  end.

(** What the two threads still have to do, at positions of one unit: the same, up to values that they need not share and
    up to the insides of narrower units that they aren't both in. *)
Inductive rel : pos -> pos -> stmt -> stmt -> Prop :=
| r_atomic k1 k2 s : atomic s = true -> rel k1 k2 s s
| r_sync k1 k2 x : rel k1 k2 (SSync x) (SSync x)
| r_wait k1 k2 x r1 r2 : rel k1 k2 (SWait x r1) (SWait x r2)
| r_seq k1 k2 s1 s2 s : rel k1 k2 s1 s2 -> rel k1 k2 (SSeq s1 s) (SSeq s2 s)
| r_narrow k1 k2 s1 s2 : alike s1 s2 ->
    (forall k1' t1 f1 k2' t2 f2, sync k1 k2 -> narrow a k1 s1 = Some (k1', t1, f1) -> narrow b k2 s2 = Some (k2', t2, f2) ->
       sync k1' k2' -> rel k1' k2' t1 t2) ->
    rel k1 k2 s1 s2
| r_scope k1 k2 hid x q v1 v2 c s1 s2 :
    rel k1 k2 s1 s2 -> (same_unit q a b -> v1 = v2) ->
    rel k1 k2 (SScope hid x q v1 c s1) (SScope hid x q v2 c s2)
| r_frame k1 k2 q outs n1 n2 s1 s2 :
    (same_unit q a b -> agree n1 n2) -> (same_unit q a b -> rel (unit_of a q) (unit_of b q) s1 s2) ->
    rel k1 k2 (SFrame q outs n1 s1) (SFrame q outs n2 s2).

Lemma rel_refl s : forall k1 k2, rel k1 k2 s s.
Proof.
  induction s; intros; try (first [ apply r_atomic; reflexivity | apply r_sync | apply r_wait | apply r_seq; auto | apply r_scope; auto
    | apply r_frame; auto using agree_refl ]; fail);
    (apply r_narrow; [now split|]); intros k1' t1 f1 k2' t2 f2 (_ & _ & B & _) N1 N2 (_ & _ & B' & _);
    simpl in N1, N2; cases N1; cases N2; injection N1 as <- <- <-; injection N2 as <- <- <-; auto; spec; simpl in *; lia.
Qed.

Lemma rel_skip k1 k2 s1 s2 : rel k1 k2 s1 s2 -> (s1 = SSkip <-> s2 = SSkip).
Proof.
  intros H; inversion H as [| | | |? ? ? ? A| |]; subst; try tauto; try (split; discriminate).
  destruct A; split; intros ->; simpl in *; congruence.
Qed.

(** The events of perspectives whose unit has both threads. *)
Definition shared (ev : list event) : list event := filter (fun e => same_unitb (ev_persp e) a b) ev.

Lemma shared_app e f : shared (e ++ f) = shared e ++ shared f.
Proof. apply filter_app. Qed.

Lemma shared_two e f : shared [e; f] = shared [e] ++ shared [f].
Proof. apply (shared_app [e] [f]). Qed.

Lemma shared_none ev : (forall e, In e ev -> ~ same_unit (ev_persp e) a b) -> shared ev = [].
Proof.
  induction ev as [|e ev IH]; intros H; auto. simpl. destruct (same_unitb (ev_persp e) a b) eqn:E.
  - apply same_unitb_spec in E. destruct (H e); simpl; auto.
  - apply IH. intros; apply H; simpl; auto.
Qed.

Lemma mine_none1 k ev : mine a b k ev -> ~ inu a k b -> shared ev = [].
Proof. intros H Hk. apply shared_none. intros e He Hs. eauto. Qed.
Lemma mine_none2 k ev : mine b a k ev -> ~ inu b k a -> shared ev = [].
Proof. intros H Hk. apply shared_none. intros e He Hs. apply same_unit_sym in Hs. eauto. Qed.

(** Given a next step of each thread: both take it and remain related, with the same shared events; or one of them can
    take it alone, without a shared event. *)
Definition keeps k1 k2 s1 (n1 : env) s2 n2 s1' n1' ev1 s2' n2' ev2 : Prop :=
  (rel k1 k2 s1' s2' /\ agree n1' n2' /\ shared ev1 = shared ev2) \/
  (rel k1 k2 s1' s2 /\ agree n1' n2 /\ shared ev1 = []) \/
  (rel k1 k2 s1 s2' /\ agree n1 n2' /\ shared ev2 = []).

Lemma alone1 k' u n m s s' n' m' ev n2 :
  pos_ok a k' -> ~ inu a k' b -> agree n n2 -> step a k' u n m s = Next s' n' m' ev -> agree n' n2 /\ shared ev = [].
Proof.
  intros Hp Hk Hn H. destruct (frame a b Ha s k' u n m s' n' m' ev Hp H) as [F1 F2].
  split; [eapply agree_only1; eauto | eapply mine_none1; eauto].
Qed.
Lemma alone2 k' u n m s s' n' m' ev n1 :
  pos_ok b k' -> ~ inu b k' a -> agree n1 n -> step b k' u n m s = Next s' n' m' ev -> agree n1 n' /\ shared ev = [].
Proof.
  intros Hp Hk Hn H. destruct (frame b a Hb s k' u n m s' n' m' ev Hp H) as [F1 F2].
  split; [eapply agree_only2; eauto | eapply mine_none2; eauto].
Qed.

(** ** Steps of statements that narrow, where the threads are not in one narrower unit *)
Lemma narrow_alone k1 k2 s1 s2 n1 n2 : alike s1 s2 -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 ->
  (forall k1' t1 f1 k2' t2 f2, narrow a k1 s1 = Some (k1', t1, f1) -> narrow b k2 s2 = Some (k2', t2, f2) -> ~ sync k1' k2') ->
  (forall u m s' n' m' ev, step a k1 u n1 m s1 = Next s' n' m' ev ->
     s' = SSkip /\ n' = n1 /\ ev = [] \/ rel k1 k2 s' s2 /\ agree n' n2 /\ shared ev = []) /\
  (forall u m s' n' m' ev, step b k2 u n2 m s2 = Next s' n' m' ev ->
     s' = SSkip /\ n' = n2 /\ ev = [] \/ rel k1 k2 s1 s' /\ agree n1 n' /\ shared ev = []).
Proof.
  intros Al P1 P2 Hs Hn No. pose proof Al as [A1 A2].
  assert (B1 : alike s1 s1) by now split. assert (B2 : alike s2 s2) by (split; congruence).
  assert (B3 : alike s2 s1) by (split; congruence).
  split; intros u m s' n' m' ev Z; [destruct (narrow_step _ _ _ _ _ _ _ _ _ _ Ha P1 B1 Z) as [(_ & ?)|(k & t & f & N & Y & Q & _)]
    | destruct (narrow_step _ _ _ _ _ _ _ _ _ _ Hb P2 B2 Z) as [(_ & ?)|(k & t & f & N & Y & Q & _)]]; auto.
  - assert (NI : ~ inu a k b).
    { intros I. destruct (arm_sync a b _ k2 _ s2 _ _ _ P1 P2 Hs Al N Q I) as (? & ? & ? & ? & ?). eapply No; eauto. }
    destruct (step a k u n1 m t) eqn:E; simpl in Y; try discriminate; injection Y as <- <- <- <-; auto. right.
    destruct (narrow_again _ _ _ _ _ _ s N) as [N' [_ A']]. split; [|eapply alone1; eauto].
    apply r_narrow; [split; congruence|]. intros ? ? ? ? ? ? _ X1 X2 X3. rewrite N' in X1. injection X1 as <- <- <-.
    exfalso. eapply No; eauto.
  - assert (NI : ~ inu b k a).
    { intros I. destruct (arm_sync b a _ k1 _ s1 _ _ _ P2 P1 (sync_sym _ _ _ _ Hs) B3 N Q I) as (? & ? & ? & ? & S).
      apply sync_sym in S. eapply No; eauto. }
    destruct (step b k u n2 m t) eqn:E; simpl in Y; try discriminate; injection Y as <- <- <- <-; auto. right.
    destruct (narrow_again _ _ _ _ _ _ s N) as [N' [_ A']]. split; [|eapply alone2; eauto].
    apply r_narrow; [split; congruence|]. intros ? ? ? ? ? ? _ X1 X2 X3. rewrite N' in X2. injection X2 as <- <- <-.
    exfalso. eapply No; eauto.
Qed.

(** ** Steps of the statements that don't narrow *)
Ltac vars Hx n1 n2 :=
  match goal with A : n1 _ = Some _, C : n2 _ = Some _ |- _ =>
    let Hv := fresh "Hv" in destruct (Hx _ _ _ _ _ A C) as [<- Hv] end.

Lemma bind_agree k1 k2 n1 n2 m1 m2 : (forall e d v1 v2, efrag rg e = true -> same_unit d a b ->
     eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2) ->
  agree n1 n2 -> forall ps es l1 o1 l2 o2, args_frag rg es ps ->
  bind a k1 n1 m1 ps es = AVals l1 o1 -> bind b k2 n2 m2 ps es = AVals l2 o2 -> agree l1 l2 /\ o1 = o2.
Proof.
  intros He Hn. induction ps as [|[[x q] t] ps IH]; intros [|e es] l1 o1 l2 o2 Hf H1 H2; simpl in H1, H2; try discriminate.
  - injection H1 as <- <-. injection H2 as <- <-. split; auto. intros x. exact I.
  - assert (A : args_frag rg es ps) by (destruct e, t; simpl in Hf; tauto).
    destruct (bind a k1 n1 m1 ps es) as [i1 p1| |] eqn:E1; try discriminate.
    destruct (bind b k2 n2 m2 ps es) as [i2 p2| |] eqn:E2; try discriminate.
    destruct (IH _ _ _ _ _ A E1 E2) as [I1 <-]. destruct t as [c|l c|]; try discriminate.
    + destruct (eval a k1 q n1 m1 e) eqn:V1; try discriminate. destruct (eval b k2 q n2 m2 e) eqn:V2; try discriminate.
      injection H1 as <- <-. injection H2 as <- <-. split; auto. apply agree_ups; auto. intros Q. f_equal.
      apply (He e q); auto. destruct e; simpl in *; tauto.
    + destruct e as [| |y| | | |]; try discriminate. pose proof (Hn y) as Hy.
      destruct (n1 y) as [[q1 v1]|], (n2 y) as [[q2 v2]|]; try discriminate. destruct Hy as [<- Hy].
      destruct (peqb q1 q) eqn:Q, (is_arr v1), (is_arr v2); try discriminate. apply peqb_spec in Q as ->.
      injection H1 as <- <-. injection H2 as <- <-. split; [now apply agree_ups | reflexivity].
Qed.

Lemma atomic_keeps s k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 :
  atomic s = true -> sfrag s -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 ->
  nfrag n1 -> glob m1 (gl m2) ->
  step a k1 u1 n1 m1 s = Next s1' n1' m1' ev1 -> step b k2 u2 n2 m2 s = Next s2' n2' m2' ev2 ->
  rel k1 k2 s1' s2' /\ agree n1' n2' /\ shared ev1 = shared ev2.
Proof.
  intros Hat Hf P1 P2 Hs Hn Hnf Hg H1 H2.
  assert (Hpp : pp k2 = pp k1) by (destruct Hs as (A & B & _); unfold pp; congruence).
  assert (Hl : lv k2 = lv k1) by (destruct Hs as (A & B & _); congruence).
  assert (Hz : sz k2 = sz k1) by (destruct Hs as (A & B & _); congruence).
  assert (Hin : same_unit (pp k1) a b) by (apply inu_same; auto; eapply sync_inu; eauto).
  assert (Hx : forall x q1 v1 q2 v2, n1 x = Some (q1, v1) -> n2 x = Some (q2, v2) ->
                 q1 = q2 /\ (same_unit q1 a b -> v1 = v2)) by (intros; eapply agree_get; eauto).
  assert (He : forall e d v1 v2, efrag rg e = true -> same_unit d a b ->
                 eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2)
    by (intros; eapply eval_uniform; eauto).
  assert (Hev : forall q e1 e2, ev_persp e1 = q -> ev_persp e2 = q -> (same_unit q a b -> e1 = e2) ->
                  shared [e1] = shared [e2]).
  { intros q e1 e2 Q1 Q2 Q. unfold shared; simpl. rewrite Q1, Q2.
    destruct (same_unitb q a b) eqn:E; auto. apply same_unitb_spec in E. now rewrite Q. }
  destruct s; try discriminate Hat; simpl in Hf; ands; try contradiction; simpl in H1, H2;
    unfold store_, with_int, with_bool, with_val in H1, H2; cbn [negb orb] in H1, H2; rewrite ?Hpp, ?Hl, ?Hz in H2;
    cases H1; try discriminate H1; cases H2; try discriminate H2;
    injection H1 as <- <- <- <-; injection H2 as <- <- <- <-; subst; try (repeat split; auto using rel_refl; fail);
    try vars Hx n1 n2; spec; subst; try ((* partition, lower *)
      match goal with |- context [EvSet ?q _ _] =>
        assert (Q : same_unit q a b -> VArr l st (off + z) len = VArr l0 st0 (off0 + z0) len0);
        [ intros Q; specialize (Hv Hin); injection Hv as -> -> -> ->; assert (VInt z = VInt z0) as [= ->] by eauto; auto
        | repeat split; [apply r_scope; auto using rel_refl | auto |];
          rewrite !shared_two; f_equal; apply (Hev q); auto; intros; now rewrite Q ]
      end; fail).
  - (* assignment *)
    assert (Q : same_unit p0 a b -> VB v1 = VB v4) by (intros; f_equal; eauto).
    repeat split; [apply rel_refl | apply agree_ups; auto | apply (Hev p0); auto; intros; now rewrite Q].
  - (* store: both to local arrays; one local, one not; both not *)
    assert (Q : same_unit p0 a b -> VLoc len (upz f z v1) = VLoc len0 (upz f0 z0 v4)).
    { intros Q. specialize (Hv Q). injection Hv as -> ->. assert (VInt z = VInt z0) as [= ->] by eauto.
      assert (v1 = v4) as -> by eauto. reflexivity. }
    repeat split; [apply rel_refl | apply agree_ups; auto | apply (Hev p0); auto; intros; now rewrite Q].
  - assert (Q : ~ same_unit p0 a b) by (intros Q; discriminate (Hv Q)).
    repeat split; [apply rel_refl | eapply agree_ups1; eauto | apply (Hev p0); auto; tauto].
  - assert (Q : ~ same_unit p0 a b) by (intros Q; discriminate (Hv Q)).
    repeat split; [apply rel_refl | eapply agree_ups2; eauto | apply (Hev p0); auto; tauto].
  - repeat split; [apply rel_refl | auto | apply (Hev p0); auto; intros Q].
    specialize (Hv Q). injection Hv as -> -> -> ->. assert (VInt z = VInt z0) as [= ->] by eauto.
    assert (v1 = v4) as -> by eauto. reflexivity.
  - (* declaration *)
    assert (Q : same_unit q a b -> VB v = VB v0) by (intros; f_equal; eauto).
    repeat split; [apply r_scope; auto using rel_refl | auto | apply (Hev q); auto; intros; now rewrite Q].
  - (* if *) exfalso. assert (VBool true = VBool false) by eauto. discriminate.
  - exfalso. assert (VBool false = VBool true) by eauto. discriminate.
  - (* claim *) specialize (Hv Hin). injection Hv as -> -> -> ->. repeat split; auto using rel_refl.
  - (* call *)
    match goal with A : bind a _ _ _ _ _ = _, C : bind b _ _ _ _ _ = _ |- _ =>
      destruct (bind_agree k1 k2 n1 n2 m1 m2 He Hn _ _ _ _ _ _ Hf A C) as [Hl' <-] end.
    repeat split; auto. apply r_frame; auto using rel_refl.
Qed.

(** ** Steps of any statement *)

(** Each goes on in a part of it, or both have ended it. *)
Ltac both_go R :=
  let R' := fresh "R'" in pose proof (rel_skip _ _ _ _ R) as R';
  match goal with Z1 : context [step a ?k ?u ?l ?m ?s], Z2 : context [step b ?j ?v ?n ?p ?t] |- _ =>
    destruct (step a k u l m s) as [|go1 o1 p1 e1| |] eqn:E1; try discriminate;
    destruct (step b j v n p t) as [|go2 o2 p2 e2| |] eqn:E2; try discriminate; cbn [inside] in Z1, Z2;
    [injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-; left; auto using rel_refl
    |apply step_done in E1; rewrite (proj1 R' E1) in E2; discriminate|apply step_done in E2; rewrite (proj2 R' E2) in E1; discriminate|]
  end.

Theorem step_keeps s1 : forall s2 k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2,
  rel k1 k2 s1 s2 -> sfrag s1 -> sfrag s2 -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 ->
  nfrag n1 -> nfrag n2 -> glob m1 (gl m2) ->
  step a k1 u1 n1 m1 s1 = Next s1' n1' m1' ev1 -> step b k2 u2 n2 m2 s2 = Next s2' n2' m2' ev2 ->
  keeps k1 k2 s1 n1 s2 n2 s1' n1' ev1 s2' n2' ev2.
Proof.
  intros s2 k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 R.
  revert u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2.
  induction R; intros u1 u2 l1 l2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 F1 F2 P1 P2 Hs Hn G1 G2 Hg Z1 Z2.
  - left. eapply atomic_keeps; eauto.
  - (* arrive *)
    simpl in Z1, Z2. injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-. left. repeat split; auto using r_wait.
  - (* wait: who is kept waiting has done nothing *)
    simpl in Z1, Z2. destruct (r1 <? _), (r2 <? _);
      injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-; unfold keeps; auto 6 using rel_refl, r_wait.
  - (* seq *)
    simpl in *. ands. both_go R. injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-.
    destruct (IHR _ _ _ _ _ _ _ _ _ _ _ _ _ _ ltac:(eassumption) ltac:(eassumption) P1 P2 Hs Hn G1 G2 Hg E1 E2)
        as [(?&?&?)|[(?&?&?)|(?&?&?)]]; [left | right; left | right; right]; auto using r_seq.
  - (* narrower units *)
    assert (A1 : alike s1 s1) by (destruct H; split; auto). assert (A2 : alike s2 s2) by (destruct H; split; congruence).
    assert (Alone : (forall k1' t1 f1 k2' t2 f2, narrow a k1 s1 = Some (k1', t1, f1) ->
                      narrow b k2 s2 = Some (k2', t2, f2) -> ~ sync k1' k2') -> keeps k1 k2 s1 l1 s2 l2 s1' n1' ev1 s2' n2' ev2).
    { intros No. destruct (narrow_alone _ _ _ _ _ _ H P1 P2 Hs Hn No) as [X1 X2].
      destruct (X1 _ _ _ _ _ _ Z1) as [(-> & -> & ->)|]; [|right; left; auto].
      destruct (X2 _ _ _ _ _ _ Z2) as [(-> & -> & ->)|]; [|right; right; auto].
      left. auto using rel_refl. }
    destruct (narrow_step _ _ _ _ _ _ _ _ _ _ Ha P1 A1 Z1) as [(N1 & _)|(k1' & t1 & f1 & N1 & Y1 & Q1 & _)];
      [apply Alone; congruence|].
    destruct (narrow_step _ _ _ _ _ _ _ _ _ _ Hb P2 A2 Z2) as [(N2 & _)|(k2' & t2 & f2 & N2 & Y2 & Q2 & _)];
      [apply Alone; congruence|].
    destruct (sync_dec a b k1' k2') as [Y|Y]; [|apply Alone; congruence].
    assert (Up : forall s t u v f g, alike s t -> narrow a k1 s = Some (k1', u, f) -> narrow b k2 t = Some (k2', v, g) ->
                   rel k1' k2' u v -> rel k1 k2 s t) by (intros; apply r_narrow; auto; intros; congruence).
    both_go (H0 _ _ _ _ _ _ Hs N1 N2 Y). injection Y1 as <- <- <- <-; injection Y2 as <- <- <- <-.
    destruct (narrow_again _ _ _ _ _ _ go1 N1) as [M1 B1], (narrow_again _ _ _ _ _ _ go2 N2) as [M2 B2].
    assert (L : forall s t, alike s1 s -> alike s2 t -> alike s t)
      by (intros s t [? ?] [? ?]; destruct H; split; congruence).
    destruct (H1 _ _ _ _ _ _ Hs N1 N2 Y _ _ _ _ _ _ _ _ _ _ _ _ _ _
      (narrow_frag _ _ _ _ _ _ _ _ F1 N1) (narrow_frag _ _ _ _ _ _ _ _ F2 N2) Q1 Q2 Y Hn G1 G2 Hg E1 E2)
      as [(?&?&?)|[(?&?&?)|(?&?&?)]]; [left | right; left | right; right]; eauto 8.
  - (* scope *)
    simpl in *. destruct F1 as [V1 F1], F2 as [V2 F2].
    set (i1 := ups (hide hid l1) x (Some (q, v1))) in *. set (i2 := ups (hide hid l2) x (Some (q, v2))) in *.
    assert (Hi : agree i1 i2) by (apply agree_ups; auto; now apply agree_hide).
    assert (I1 : nfrag i1) by (apply nfrag_ups; auto; now apply nfrag_hide).
    assert (I2 : nfrag i2) by (apply nfrag_ups; auto; now apply nfrag_hide). both_go R.
    pose proof (IHR _ _ _ _ _ _ _ _ _ _ _ _ _ _ F1 F2 P1 P2 Hs Hi I1 I2 Hg E1 E2) as HK.
    destruct (frame a b Ha _ _ _ _ _ _ _ _ _ P1 E1) as [O1 _].
    destruct (frame b a Hb _ _ _ _ _ _ _ _ _ P2 E2) as [O2 _].
    assert (Y1 : i1 x = Some (q, v1)) by (unfold i1, ups; now rewrite Nat.eqb_refl).
    assert (Y2 : i2 x = Some (q, v2)) by (unfold i2, ups; now rewrite Nat.eqb_refl).
    destruct (only_kept _ _ _ _ _ _ _ _ O1 Y1) as [w1 X1], (only_kept _ _ _ _ _ _ _ _ O2 Y2) as [w2 X2].
      rewrite X1 in Z1. rewrite X2 in Z2.
    injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-.
    destruct HK as [(K1 & K2 & K3)|[(K1 & K2 & K3)|(K1 & K2 & K3)]].
    + left. split; [|split]; auto using agree_restore.
      apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 X1 X2).
    + right; left. split; [|split]; auto.
      * apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 X1 Y2).
      * eapply agree_ext; [reflexivity | apply (restore_id hid x l2 (Some (q, v2))) |].
         apply agree_restore; auto.
    + right; right. split; [|split]; auto.
      * apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 Y1 X2).
      * eapply agree_ext; [apply (restore_id hid x l1 (Some (q, v1))) | reflexivity |].
         apply agree_restore; auto.
  - (* frame *)
    simpl in F1, F2, Z1, Z2. destruct F1 as (N1 & O1 & F1), F2 as (N2 & _ & F2).
    destruct (pleb q (pp k1)) eqn:Q1; [|discriminate]. destruct (pleb q (pp k2)) eqn:Q2; [|discriminate].
    apply pleb_spec in Q1, Q2. destruct (unit_of_ok a k1 q Ha P1 Q1) as [U1 _]. destruct (unit_of_ok b k2 q Hb P2 Q2) as [U2 _].
    destruct (step a (unit_of a q) u1 n1 m1 s1) as [|go1 o1 p1 e1| |] eqn:E1; try discriminate;
    destruct (step b (unit_of b q) u2 n2 m2 s2) as [|t2 o2 p2 e2| |] eqn:E2; try discriminate;
      injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-.
    all: destruct (same_unitb q a b) eqn:S; [apply same_unitb_spec in S; pose proof (H S) as A; pose proof (H0 S) as R|].
    all: try (assert (NU : ~ same_unit q a b) by (rewrite <- same_unitb_spec; congruence);
              assert (NI1 : ~ inu a (unit_of a q) b) by (rewrite inu_same by auto; now destruct q);
              assert (NI2 : ~ inu b (unit_of b q) a)
                by (rewrite inu_same by auto; intros X; apply NU, same_unit_sym; now destruct q)).
    6, 8: right; left; destruct (alone1 _ _ _ _ _ _ _ _ _ n1 U1 NI1 (agree_refl n1) E1) as [_ X];
      repeat split; auto; apply r_frame; tauto.
    + left. repeat split; auto using rel_refl, agree_back.
    + left. repeat split; auto using rel_refl.
      eapply agree_only1; [apply (only_back a b (unit_of a q)); auto; destruct q; apply ple_refl | auto |].
      eapply agree_only2; [apply (only_back b a (unit_of b q)); auto; destruct q; apply ple_refl | auto | auto].
    + apply step_done in E1. subst. apply rel_skip in R as [R _]. rewrite R in E2 by auto. discriminate.
    + right; right. destruct (alone2 _ _ _ _ _ _ _ _ _ n2 U2 NI2 (agree_refl n2) E2) as [_ X].
      repeat split; auto. apply r_frame; tauto.
    + apply step_done in E2. subst. apply rel_skip in R as [_ R]. rewrite R in E1 by auto. discriminate.
    + assert (SY : sync (unit_of a q) (unit_of b q)).
      { unfold same_unit in S. destruct q as [h c]. repeat split; simpl; auto.
        - destruct h; simpl in *; [destruct S as [_ ->] | rewrite S |]; auto.
        - intros ->. apply S. }
      destruct (H1 S _ _ _ _ _ _ _ _ _ _ _ _ _ _ F1 F2 U1 U2 SY A N1 N2 Hg E1 E2) as [(?&?&?)|[(?&?&?)|(?&?&?)]];
        [left | right; left | right; right]; repeat split; auto; apply r_frame; auto.
Qed.

(** * Runs of one thread *)

(** [run th g s n h s' n']: steps of [th] from [s], [n] to [s'], [n'] with events [h]; other threads may have changed
    shared memory between the steps, and global memory holds [g]. *)
Inductive run (th : tid) (g : site -> Z -> bval) : stmt -> env -> list event -> stmt -> env -> Prop :=
| run_nil s n : run th g s n [] s n
| run_cons s n s1 n1 m m1 ev h s2 n2 :
    glob m g -> step th pos0 0 n m s = Next s1 n1 m1 ev -> run th g s1 n1 h s2 n2 -> run th g s n (ev ++ h) s2 n2.

Definition prefix {A} (l l' : list A) : Prop := exists w, l' = l ++ w.

Lemma prefix_nil {A} (l : list A) : prefix [] l.
Proof. exists l; auto. Qed.
Lemma prefix_app {A} (l l1 l2 : list A) : prefix l1 l2 -> prefix (l ++ l1) (l ++ l2).
Proof. intros [w ->]. exists w. now rewrite app_assoc. Qed.

Lemma run_skip th g n h s n' : run th g SSkip n h s n' -> h = [] /\ s = SSkip /\ n' = n.
Proof. intros H. inversion H; subst; auto. discriminate. Qed.

(** What two runs from related states share: one shared history is a prefix of the other; it's the longer one if the run has
    finished; and if both have, the variables agree. *)
Lemma runs_agree g s1 n1 h1 t1 l1 : run a g s1 n1 h1 t1 l1 -> forall s2 n2 h2 t2 l2, run b g s2 n2 h2 t2 l2 ->
  rel pos0 pos0 s1 s2 -> agree n1 n2 -> sfrag s1 -> sfrag s2 -> nfrag n1 -> nfrag n2 ->
  (prefix (shared h1) (shared h2) \/ prefix (shared h2) (shared h1)) /\
  (t1 = SSkip -> prefix (shared h2) (shared h1)) /\
  (t2 = SSkip -> prefix (shared h1) (shared h2)) /\
  (t1 = SSkip -> t2 = SSkip -> agree l1 l2).
Proof.
  induction 1 as [s1 n1|s1 n1 u1 o1 m m1 e1 h1 t1 l1 Hm Z1 R1 IH1]; intros s2 n2 h2 t2 l2 R2 R Hn F1 F2 G1 G2.
  - (* the first thread has not moved *)
    apply rel_skip in R. repeat split; simpl; auto using prefix_nil; intros ->; assert (s2 = SSkip) as -> by tauto;
      apply run_skip in R2 as (-> & _ & ->); simpl; auto using prefix_nil.
  - revert R Hn F2 G2. induction R2 as [s2 n2|s2 n2 u2 o2 m' m2 e2 h2 t2 l2 Hm' Z2 R2 IH2]; intros R Hn F2 G2.
    + (* the second has not *)
      apply rel_skip in R. repeat split; simpl; auto using prefix_nil; intros ->; try intros ->;
        assert (s1 = SSkip) as -> by tauto; discriminate.
    + destruct (step_frag _ _ Hbody _ _ _ _ _ _ _ _ _ _ F1 G1 Z1) as (F1' & G1' & _).
      destruct (step_frag _ _ Hbody _ _ _ _ _ _ _ _ _ _ F2 G2 Z2) as (F2' & G2' & _).
      assert (K : keeps pos0 pos0 s1 n1 s2 n2 u1 o1 e1 u2 o2 e2).
      { eapply step_keeps; [eassumption|eassumption|eassumption|apply pos0_ok|apply pos0_ok|repeat split; auto;
          discriminate| eassumption|exact G1|exact G2| |exact Z1|exact Z2]; globs. }
      destruct K as [(K1 & K2 & K3)|[(K1 & K2 & K3)|(K1 & K2 & K3)]].
      * destruct (IH1 _ _ _ _ _ R2 K1 K2 F1' F2' G1' G2') as (I1 & I2 & I3 & I4).
        rewrite !shared_app, K3. repeat split; auto using prefix_app. destruct I1; auto using prefix_app.
      * rewrite (shared_app e1), K3. exact (IH1 _ _ _ _ _ (run_cons _ _ _ _ _ _ _ _ _ _ _ _ Hm' Z2 R2) K1 K2 F1' F2
          G1' G2).
      * rewrite (shared_app e2), K3. auto.
Qed.

End Pair.

End Two.
