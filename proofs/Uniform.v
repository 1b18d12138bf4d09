(** Uniformity: threads of one unit of a perspective agree on what happens at that perspective.

    For programs that neither read shared memory nor store to global memory (arguments in global memory may be read, local
    arrays read and written, shared memory written), so that what a thread does depends on no other thread. No typing is
    needed: the perspectives that the semantics enforces suffice, and Safety says that well-typed programs pass. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety.
Import ListNotations.

Local Arguments down : simpl never.

(** * The fragment *)

Fixpoint efrag (e : expr) : bool :=
  match e with
  | EInt _ | EBool _ | EVar _ | EId => true
  | ERead l _ e => negb (is_shared l) && efrag e
  | EBop _ e1 e2 | ECmp _ e1 e2 => efrag e1 && efrag e2
  end.

Fixpoint sfrag (s : stmt) : bool :=
  match s with
  | SSkip => true
  | SSeq s1 s2 | SSplit _ _ s1 s2 => sfrag s1 && sfrag s2
  | SIf e s1 s2 => efrag e && (sfrag s1 && sfrag s2)
  | SAssign _ e => efrag e
  | SStore l _ e1 e2 => negb (kind_eqb l Global) && (efrag e1 && efrag e2)
  | SDecl _ _ e s | SWhile e s | SPartition _ _ _ e s | SLower _ _ e s => efrag e && sfrag s
  | SDestruct s | SGroup _ s | SLocal _ _ _ _ s | SAlloc _ _ _ _ _ s | SClaim _ _ _ _ s | SArm _ _ s
  | SScope _ _ _ _ _ s => sfrag s
  end.

(** Take a hypothesis about a step or a value apart, case by case. *)
Ltac cases H :=
  repeat match type of H with
  | context [match ?c with _ => _ end] =>
      lazymatch c with context [match _ with _ => _ end] => fail | _ => idtac end;
      let E := fresh "E" in destruct c eqn:E; try discriminate H
  end.
Ltac ands :=
  repeat match goal with
  | H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?]
  | H : _ /\ _ |- _ => destruct H
  end.
Ltac unstep H := simpl in H; unfold inside, with_int, with_bool, with_val in H; cases H; try discriminate H.

Section Uniform.
Context {M : Machine}.

Lemma step_done th k u n m s : step th k u n m s = Done <-> s = SSkip.
Proof. split; [intros H; destruct s; auto; unstep H | intros ->; auto]. Qed.

Lemma step_frag th s : forall k u n m s' n' m' ev,
  sfrag s = true -> step th k u n m s = Next s' n' m' ev -> sfrag s' = true /\ gl m' = gl m.
Proof.
  induction s; intros k u n0 m0 s' n' m' ev Hf H; simpl in Hf; ands; unstep H;
    try (injection H as <- <- <- <-; simpl; split; auto; rewrite ?andb_true_iff; auto; fail);
    try match goal with
    | E : step _ _ _ _ _ ?a = Next _ _ _ _, IH : context [step _ _ _ _ _ ?a] |- _ =>
        eapply IH in E; eauto; destruct E as [? ?];
        injection H as <- <- <- <-; simpl; split; auto; rewrite ?andb_true_iff; auto
    end.
  all: injection H as <- <- <- <-; simpl; split; auto; rewrite ?andb_true_iff; auto.
  destruct l; simpl in *; auto; discriminate.
Qed.

(** * Units *)

Lemma div_coarser a b n n' : Nat.divide n n' -> a / n = b / n -> a / n' = b / n'.
Proof.
  intros [c ->] H. destruct (Nat.eq_dec n 0) as [->|Hn]; [now rewrite Nat.mul_0_r|].
  destruct (Nat.eq_dec c 0) as [->|Hc]; auto.
  rewrite (Nat.mul_comm c n), <- !Nat.div_div by auto. now rewrite H.
Qed.

(** A unit of a narrower perspective lies in one unit of a broader. *)
Lemma same_unit_up p q a b : ple p q -> same_unit p a b -> same_unit q a b.
Proof.
  destruct p as [h n], q as [h' n']. unfold ple, same_unit; simpl. intros [H|[<- H]].
  - destruct h, h'; simpl in *; try lia; auto. now intros [-> _].
  - destruct h; auto.
    + intros [? ?]. split; auto. eapply div_coarser; eauto.
    + intros ?. eapply div_coarser; eauto.
Qed.

Lemma same_unit_sym q a b : same_unit q a b -> same_unit q b a.
Proof. unfold same_unit. destruct (fst q); intuition. Qed.

(** Thread [b] is in the unit that runs the code of thread [a] at [k]. *)
Definition inu (a : tid) (k : pos) (b : tid) : Prop :=
  match lv k with
  | Thread => fst a = fst b /\ base k <= snd b < base k + sz k
  | Block => base k <= fst b < base k + sz k
  | Grid => True
  end.

Lemma div_range x y n p : p < n -> Nat.divide n y -> (y + p) / n = x / n -> y <= x < y + n.
Proof.
  intros Hp [j ->] H. rewrite Nat.add_comm, Nat.div_add, (Nat.div_small p) in H by lia. simpl in H.
  pose proof (Nat.div_mod_eq x n). pose proof (Nat.mod_upper_bound x n). nia.
Qed.

Lemma range_div x y n p : p < n -> Nat.divide n y -> y <= x < y + n -> (y + p) / n = x / n.
Proof.
  intros Hp [j ->] H. rewrite Nat.add_comm, Nat.div_add, (Nat.div_small p) by lia.
  replace x with ((x - j * n) + j * n) by lia. rewrite Nat.div_add, Nat.div_small by lia. lia.
Qed.

Lemma inu_same a k b : pos_ok a k -> (inu a k b <-> same_unit (pp k) a b).
Proof.
  intros (H1 & H2 & H3). unfold inu, same_unit, coord in *; simpl in *. destruct (lv k); [| |tauto].
  - rewrite <- H3. split; intros [? ?]; split; auto; [apply range_div | eapply div_range]; eauto.
  - rewrite <- H3. split; intros; [apply range_div | eapply div_range]; eauto.
Qed.

(** What a thread does at [p <= pp k] concerns only its unit. *)
Lemma inu_ple a k b p : pos_ok a k -> ple p (pp k) -> same_unit p a b -> inu a k b.
Proof. intros. apply inu_same; auto. eapply same_unit_up; eauto. Qed.

Lemma inu_left a k b n1 n : n1 + n <= sz k -> inu a (sub_left k n1) b -> inu a k b.
Proof. unfold inu; simpl. destruct (lv k); lia || tauto. Qed.
Lemma inu_right a k b n1 n2 : n1 + n2 <= sz k -> inu a (sub_right k n1 n2) b -> inu a k b.
Proof. unfold inu; simpl. destruct (lv k); lia || tauto. Qed.
Lemma inu_arm a k b n i : i * n + n <= sz k -> inu a (sub_arm k n i) b -> inu a k b.
Proof. unfold inu; simpl. destruct (lv k); lia || tauto. Qed.
Lemma inu_group a k b n : idx k < sz k -> Nat.divide n (sz k) -> inu a (sub_group k n) b -> inu a k b.
Proof.
  intros H [c Hc]. assert (idx k / n * n + n <= sz k).
  { assert (idx k / n < c) by (apply Nat.div_lt_upper_bound; lia). nia. }
  unfold inu; simpl. destruct (lv k); lia || tauto.
Qed.
Lemma inu_down a k b k' : pos_ok a k -> sub_down a k = Some k' -> inu a k' b -> inu a k b.
Proof.
  intros (H1 & H2 & H3). unfold sub_down, down, inu, pp, coord in *.
  destruct (lv k); try discriminate; auto. destruct (sz k) as [|[|n]]; try discriminate.
  intros [= <-]; simpl in *. lia.
Qed.

(** * One thread alone: a step touches only what belongs to its unit *)

Definition only (a b : tid) (k : pos) (n n' : env) : Prop :=
  forall x, n' x = n x \/
    exists q v v', n x = Some (q, v) /\ n' x = Some (q, v') /\ (same_unit q a b -> inu a k b).
Definition mine (a b : tid) (k : pos) (ev : list event) : Prop :=
  forall e, In e ev -> same_unit (ev_persp e) a b -> inu a k b.

Lemma only_refl a b k n : only a b k n n.
Proof. intros x; auto. Qed.

Lemma only_set a b k n x q v v' :
  n x = Some (q, v) -> (same_unit q a b -> inu a k b) -> only a b k n (ups n x (Some (q, v'))).
Proof.
  intros Hx Hq y. unfold ups. destruct (Nat.eqb_spec y x) as [->|]; auto. right. eauto 8.
Qed.

Lemma only_up a b k k' n n' : (inu a k' b -> inu a k b) -> only a b k' n n' -> only a b k n n'.
Proof. intros H Ho x. destruct (Ho x) as [|(q & v & v' & ? & ? & ?)]; auto. right. eauto 10. Qed.

Lemma only_scope a b k hid x q v n n' :
  only a b k (ups (hide hid n) x (Some (q, v))) n' -> only a b k n (restore hid x n n').
Proof.
  intros H y. specialize (H y). unfold restore, ups in *. destruct hid as [z|]; simpl in *; unfold ups in *.
  - destruct (y =? z) eqn:Ez; [apply Nat.eqb_eq in Ez as ->; auto|].
    destruct (y =? x) eqn:Ex; [apply Nat.eqb_eq in Ex as ->; auto|auto].
  - destruct (y =? x) eqn:Ex; [apply Nat.eqb_eq in Ex as ->; auto|auto].
Qed.

Lemma mine_up a b k k' ev : (inu a k' b -> inu a k b) -> mine a b k' ev -> mine a b k ev.
Proof. intros H Hm e ? ?. eauto. Qed.

Ltac spec :=
  repeat match goal with
  | E : _ && _ = true |- _ => apply andb_true_iff in E as [? ?]
  | E : dvdb _ _ = true |- _ => apply dvdb_spec in E
  | E : pleb _ _ = true |- _ => apply pleb_spec in E
  | E : peqb _ _ = true |- _ => apply peqb_spec in E
  | E : (_ <=? _) = true |- _ => apply Nat.leb_le in E
  | E : (_ <? _) = true |- _ => apply Nat.ltb_lt in E
  | E : (_ <? _) = false |- _ => apply Nat.ltb_ge in E
  end.

Lemma group_pos a k q : pos_ok a k -> Nat.divide q (sz k) -> Nat.divide (sz k / q) (base k) ->
  pos_ok a (sub_group k (sz k / q)) /\ Nat.divide (sz k / q) (sz k).
Proof.
  intros Hp [c Hc] Hd. assert (q <> 0) by (destruct Hp; intros ->; lia).
  assert (Hq : sz k / q = c) by (rewrite Hc; now apply Nat.div_mul).
  rewrite Hq in *. split; [apply sub_group_ok; auto; destruct Hp; nia | exists q; lia].
Qed.

Lemma shrink_ple h c n : Nat.divide c n -> 0 < n -> ple (h, n / c) (h, n).
Proof.
  intros [j ->] Hn. right; split; auto; simpl. exists c. rewrite Nat.div_mul by (intros ->; lia). lia.
Qed.

Lemma down_ple p q : down p = Some q -> ple q p.
Proof.
  destruct p as [h n]. unfold down. destruct h, n as [|[|n]]; try discriminate; intros [= <-]; left; simpl; lia.
Qed.

Lemma frame a b : tid_ok a -> forall s k u n m s' n' m' ev,
  pos_ok a k -> step a k u n m s = Next s' n' m' ev -> only a b k n n' /\ mine a b k ev.
Proof.
  intros Ha. assert (Hnil : forall k, mine a b k []) by (intros k e []).
  assert (H1 : forall k q e, pos_ok a k -> ple q (pp k) -> ev_persp e = q -> mine a b k [e]).
  { intros k q e Hp Hq He e' [<-|[]]. rewrite He. now apply inu_ple. }
  assert (H2 : forall k q e e', pos_ok a k -> ple q (pp k) -> ev_persp e = pp k -> ev_persp e' = q ->
                 mine a b k [e; e']).
  { intros k q e e' Hp Hq He He' f [<-|[<-|[]]]; rewrite ?He, ?He'; apply inu_ple; auto using ple_refl. }
  induction s; intros k u n0 m0 s' n' m' ev Hpos H; unstep H; spec;
    try match goal with
    | H : Next _ _ _ _ = Next _ _ _ _ |- _ => injection H as <- <- <- <-
    end;
    try (split; [apply only_refl | now auto using ple_refl]; fail);
    try (split; [apply only_refl | eapply H1; eauto using ple_refl]; fail);
    try (split; [apply only_refl | eapply H2; eauto using ple_refl, down_ple]; fail);
    try (split; [eapply only_set; eauto; intros; eapply inu_ple; eauto | eapply H1; eauto]; fail);
    try match goal with
    | E : step a ?k' _ _ _ _ = Next _ _ _ _, IH : forall _ _ _ _ _ _ _ _, pos_ok _ _ -> _ -> _ |- _ =>
        assert (Hk' : pos_ok a k');
        [ eauto using sub_left_ok, sub_right_ok, sub_arm_ok, sub_down_ok; try now apply group_pos
        | eapply IH in E as [? ?]; eauto; split;
          [ eapply only_up; [|eassumption] | eapply mine_up; [|eassumption] ];
          eauto using inu_left, inu_right, inu_arm, inu_down; fail ]
    end.
  - (* seq *) eauto.
  - (* group *)
    destruct (group_pos a k q) as [? ?]; auto. eapply IHs in E0 as [? ?]; eauto.
    assert (idx k < sz k) by apply Hpos.
    split; [eapply only_up; [|eassumption] | eapply mine_up; [|eassumption]]; intros; eapply inu_group; eauto.
  - (* partition *)
    split; [apply only_refl|]. eapply (H2 _ (lv k, sz k / c)); auto.
    apply shrink_ple; auto. destruct Hpos; lia.
  - (* lower *)
    split; [apply only_refl|].
    match goal with E : down _ = Some ?q |- _ => apply (H2 _ q); auto; apply down_ple; exact E end.
  - (* claim *)
    split; [apply only_refl|]. apply (H2 _ (lv k, n)); auto. right; auto.
  - (* scope *)
    match goal with E : step _ _ _ _ _ _ = _ |- _ => eapply IHs in E as [? ?]; auto end.
    split; auto. eapply only_scope; eauto.
Qed.

(** * Two threads *)

Section Pair.
Variables a b : tid.
Hypothesis Ha : tid_ok a.
Hypothesis Hb : tid_ok b.

(** Both stand in one unit of the code's perspective. *)
Definition sync (k1 k2 : pos) : Prop :=
  lv k1 = lv k2 /\ sz k1 = sz k2 /\ base k1 = base k2 /\ (lv k1 = Thread -> fst a = fst b).

Lemma sync_dec k1 k2 : {sync k1 k2} + {~ sync k1 k2}.
Proof.
  unfold sync.
  assert (D1 : {lv k1 = lv k2} + {lv k1 <> lv k2}) by decide equality.
  assert (D2 : {lv k1 = Thread -> fst a = fst b} + {~ (lv k1 = Thread -> fst a = fst b)}).
  { destruct (lv k1); try (left; discriminate).
    destruct (Nat.eq_dec (fst a) (fst b)); [left; auto | right; auto]. }
  destruct D1, (Nat.eq_dec (sz k1) (sz k2)), (Nat.eq_dec (base k1) (base k2)), D2; auto; right; tauto.
Qed.

Lemma sync_inu k1 k2 : pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> inu a k1 b.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3) (S1 & S2 & S3 & S4).
  unfold inu, coord in *. rewrite <- S1, <- S2, <- S3 in *.
  destruct (lv k1); simpl in *; [split; [auto | lia] | lia | auto].
Qed.

(** The two environments: the same variables at the same perspectives, equal where the perspective is shared. *)
Definition agree (n1 n2 : env) : Prop :=
  forall x, match n1 x, n2 x with
            | Some (q1, v1), Some (q2, v2) => q1 = q2 /\ (same_unit q1 a b -> v1 = v2)
            | None, None => True
            | _, _ => False
            end.

Lemma agree_get n1 n2 x q1 v1 q2 v2 :
  agree n1 n2 -> n1 x = Some (q1, v1) -> n2 x = Some (q2, v2) -> q1 = q2 /\ (same_unit q1 a b -> v1 = v2).
Proof. intros H H1 H2. specialize (H x). rewrite H1, H2 in H. auto. Qed.

Lemma agree_ups n1 n2 x q v1 v2 :
  agree n1 n2 -> (same_unit q a b -> v1 = v2) ->
  agree (ups n1 x (Some (q, v1))) (ups n2 x (Some (q, v2))).
Proof. intros H Hv y. unfold ups. destruct (y =? x); auto. apply H. Qed.

Lemma agree_ups1 n1 n2 x q v v1 :
  agree n1 n2 -> n1 x = Some (q, v) -> ~ same_unit q a b -> agree (ups n1 x (Some (q, v1))) n2.
Proof.
  intros H Hx Hq y. specialize (H y). unfold ups. destruct (Nat.eqb_spec y x) as [->|]; auto.
  rewrite Hx in H. destruct (n2 x) as [[q2 v2]|]; auto. tauto.
Qed.
Lemma agree_ups2 n1 n2 x q v v1 :
  agree n1 n2 -> n2 x = Some (q, v) -> ~ same_unit q a b -> agree n1 (ups n2 x (Some (q, v1))).
Proof.
  intros H Hx Hq y. specialize (H y). unfold ups. destruct (Nat.eqb_spec y x) as [->|]; auto.
  rewrite Hx in H. destruct (n1 x) as [[q2 v2]|]; auto. destruct H as [-> H]. tauto.
Qed.

Lemma agree_hide hid n1 n2 : agree n1 n2 -> agree (hide hid n1) (hide hid n2).
Proof.
  intros H y. destruct hid as [z|]; simpl; [|apply H]. unfold ups. destruct (y =? z); auto. apply H.
Qed.

Lemma agree_restore hid x n1 n2 m1 m2 :
  agree n1 n2 -> agree m1 m2 -> agree (restore hid x n1 m1) (restore hid x n2 m2).
Proof.
  intros H H' y. unfold restore. destruct hid as [z|]; unfold ups.
  - destruct (y =? z); [apply H|]. destruct (y =? x); [apply H | apply H'].
  - destruct (y =? x); [apply H | apply H'].
Qed.

Lemma restore_id hid x (n : env) e y : restore hid x n (ups (hide hid n) x e) y = n y.
Proof.
  unfold restore. destruct hid as [z|]; simpl; unfold ups.
  - destruct (y =? z) eqn:Ez; [now apply Nat.eqb_eq in Ez as -> |].
    destruct (y =? x) eqn:Ex; [now apply Nat.eqb_eq in Ex as -> | auto].
  - destruct (y =? x) eqn:Ex; [now apply Nat.eqb_eq in Ex as -> | auto].
Qed.

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

Lemma id_uniform k1 k2 d :
  pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> id_ok d (pp k1) -> same_unit d a b ->
  offset a k1 / size d = offset b k2 / size d.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3) (S1 & S2 & S3 & S4) [Hd Ht] Hs.
  destruct d as [h n]. unfold offset, size, same_unit, ple, id_ok, coord, pp in *; simpl in *.
  rewrite <- S1, <- S2, <- S3 in *. destruct Ha as [Ha1 Ha2], Hb as [Hb1 Hb2].
  assert (Hdiv : forall x y j, y < j -> (x * j + y) / j = x)
    by (intros; rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia; lia).
  assert (Hsub : forall i j c, Nat.divide c (base k1) -> (base k1 + i) / c = (base k1 + j) / c -> i / c = j / c).
  { intros i j c [w Hw] E. destruct (Nat.eq_dec c 0) as [->|]; auto.
    rewrite Hw, !(Nat.add_comm (w * c)), !Nat.div_add in E by auto. lia. }
  assert (Hbig : forall x y j, y < T -> (x * T + y) / (j * T) = x / j).
  { intros x y j Hy. destruct (Nat.eq_dec j 0) as [->|]; auto.
    rewrite (Nat.mul_comm j T), <- Nat.div_div by lia. now rewrite Hdiv. }
  destruct h; simpl in *.
  - destruct Hs as [Hs1 Hs2]. destruct (lv k1) eqn:L; simpl in *.
    + destruct Hd as [?|[_ Hd]]; [lia|]. apply Hsub; [eapply Nat.divide_trans; eauto|]. now rewrite A3, B3.
    + destruct (Ht eq_refl) as [c Hc]; [discriminate|]. destruct (Nat.eq_dec n 0) as [->|]; auto.
      replace (idx k2) with (idx k1) by lia.
      rewrite Hc, Nat.mul_assoc, !(Nat.add_comm (idx k1 * c * n)), !Nat.div_add by auto. lia.
    + destruct (Ht eq_refl) as [c Hc]; [discriminate|]. destruct (Nat.eq_dec n 0) as [->|]; auto.
      rewrite Hs1, Hc, Nat.mul_assoc, !(Nat.add_comm (fst b * c * n)), !Nat.div_add by auto. lia.
  - destruct (lv k1) eqn:L; simpl in *.
    + destruct Hd as [?|[? _]]; [lia|discriminate].
    + destruct Hd as [?|[_ Hd]]; [lia|]. rewrite !Hbig by auto.
      apply Hsub; [eapply Nat.divide_trans; eauto|]. now rewrite A3, B3.
    + now rewrite !Hbig by auto.
  - destruct (lv k1) eqn:L; simpl in *; try (destruct Hd as [?|[? _]]; [lia|discriminate]).
    destruct (Nat.eq_dec n 0) as [->|]; auto.
    assert (Hlt : forall x y, x < B -> y < T -> x * T + y < n * (B * T)).
    { intros x y Hx Hy. assert (x * T + y < B * T) by nia. assert (1 * (B * T) <= n * (B * T)); [|lia].
      apply Nat.mul_le_mono_r. lia. }
    now rewrite !Nat.div_small by auto.
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
  efrag e = true -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 -> gl m1 = gl m2 ->
  same_unit d a b ->
  eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2.
Proof.
  induction e; intros d k1 k2 n1 n2 m1 m2 v1 v2 Hf P1 P2 Hs Hn Hm Hd E1 E2; simpl in *.
  - congruence.
  - congruence.
  - cases E1; cases E2; try discriminate. spec. subst. both Hn. congruence.
  - cases E1; cases E2; try discriminate. injection E1 as <-; injection E2 as <-.
    apply id_okb_spec in E. do 2 f_equal. apply id_uniform; auto.
  - ands. cases E1; cases E2; try discriminate; spec; subst; same e IHe; both Hn; try discriminate Hv.
    + congruence.
    + injection Hv as -> -> -> ->. injection E1 as <-. injection E2 as <-.
      destruct l; simpl in *; auto; try discriminate. now rewrite Hm.
  - ands. cases E1; cases E2; try discriminate. same e1 IHe1. same e2 IHe2. congruence.
  - ands. cases E1; cases E2; try discriminate. same e1 IHe1. same e2 IHe2. congruence.
Qed.

(** ** Statements: the two threads in step, except inside units that only one of them belongs to *)

Definition atomic (s : stmt) : bool :=
  match s with
  | SSeq _ _ | SSplit _ _ _ _ | SDestruct _ | SGroup _ _ | SArm _ _ _ | SScope _ _ _ _ _ _ => false
  | _ => true
  end.

Definition in_arm (k : pos) (n i : nat) : bool := (i * n <=? idx k) && (idx k <? i * n + n).

(** What the two threads still have to do, at positions of one unit: the same, up to values that they need not share and
    up to the insides of narrower units that they aren't both in. *)
Inductive rel : pos -> pos -> stmt -> stmt -> Prop :=
| r_atomic k1 k2 s : atomic s = true -> rel k1 k2 s s
| r_seq k1 k2 s1 s2 s : rel k1 k2 s1 s2 -> rel k1 k2 (SSeq s1 s) (SSeq s2 s)
| r_split k1 k2 n1 n2 s1 s2 t1 t2 :
    (idx k1 < n1 -> idx k2 < n1 -> rel (sub_left k1 n1) (sub_left k2 n1) s1 s2) ->
    (n1 <= idx k1 < n1 + n2 -> n1 <= idx k2 < n1 + n2 -> rel (sub_right k1 n1 n2) (sub_right k2 n1 n2) t1 t2) ->
    rel k1 k2 (SSplit n1 n2 s1 t1) (SSplit n1 n2 s2 t2)
| r_destruct k1 k2 s1 s2 :
    (forall k1' k2', sub_down a k1 = Some k1' -> sub_down b k2 = Some k2' -> rel k1' k2' s1 s2) ->
    rel k1 k2 (SDestruct s1) (SDestruct s2)
| r_group k1 k2 q s1 s2 :
    (sync (sub_group k1 (sz k1 / q)) (sub_group k2 (sz k2 / q)) ->
     rel (sub_group k1 (sz k1 / q)) (sub_group k2 (sz k2 / q)) s1 s2) ->
    rel k1 k2 (SGroup q s1) (SGroup q s2)
| r_arm k1 k2 n i s1 s2 :
    (in_arm k1 n i = true -> in_arm k2 n i = true -> rel (sub_arm k1 n i) (sub_arm k2 n i) s1 s2) ->
    rel k1 k2 (SArm n i s1) (SArm n i s2)
| r_scope k1 k2 hid x q v1 v2 c s1 s2 :
    rel k1 k2 s1 s2 -> (same_unit q a b -> v1 = v2) ->
    rel k1 k2 (SScope hid x q v1 c s1) (SScope hid x q v2 c s2).

Lemma rel_refl s : forall k1 k2, rel k1 k2 s s.
Proof.
  induction s; intros; first [ apply r_atomic; reflexivity | apply r_seq; auto | apply r_split; auto
    | apply r_destruct; auto | apply r_group; auto | apply r_arm; auto | apply r_scope; auto ].
Qed.

Lemma rel_skip k1 k2 s1 s2 : rel k1 k2 s1 s2 -> (s1 = SSkip <-> s2 = SSkip).
Proof. intros H; inversion H; subst; try tauto; split; discriminate. Qed.

(** The events of perspectives whose unit has both threads. *)
Definition shared (ev : list event) : list event := filter (fun e => same_unitb (ev_persp e) a b) ev.

Lemma shared_app e f : shared (e ++ f) = shared e ++ shared f.
Proof. apply filter_app. Qed.

Lemma shared_two e f : shared [e; f] = shared [e] ++ shared [f].
Proof. apply (shared_app [e] [f]). Qed.

Lemma shared_none ev : (forall e, In e ev -> ~ same_unit (ev_persp e) a b) -> shared ev = [].
Proof.
  induction ev as [|e ev IH]; intros H; auto. simpl.
  destruct (same_unitb (ev_persp e) a b) eqn:E.
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

(** A statement that narrows, both threads in the narrower unit. *)
Lemma keeps_joint k1 k2 k1' k2' f1 f2 s1 s2 n1 n2 m1 m2 r1 r2 t1 n1' m1' ev1 t2 n2' m2' ev2 :
  agree n1 n2 -> (r1 = Done <-> s1 = SSkip) -> (r2 = Done <-> s2 = SSkip) ->
  rel k1' k2' s1 s2 ->
  (forall u v, rel k1' k2' u v -> rel k1 k2 (f1 u) (f2 v)) ->
  (forall u1 l1 p1 e1 u2 l2 p2 e2, r1 = Next u1 l1 p1 e1 -> r2 = Next u2 l2 p2 e2 ->
     keeps k1' k2' s1 n1 s2 n2 u1 l1 e1 u2 l2 e2) ->
  inside f1 n1 m1 r1 = Next t1 n1' m1' ev1 -> inside f2 n2 m2 r2 = Next t2 n2' m2' ev2 ->
  keeps k1 k2 (f1 s1) n1 (f2 s2) n2 t1 n1' ev1 t2 n2' ev2.
Proof.
  intros Hn D1 D2 R Hf Hk H1 H2. apply rel_skip in R as R'.
  destruct r1 as [|u1 l1 p1 e1| |], r2 as [|u2 l2 p2 e2| |]; try discriminate; simpl in *;
    try (destruct D1 as [D1 D1'], D2 as [D2 D2'], R' as [R1 R2]; exfalso;
         (discriminate D1' + discriminate D2'); auto; fail);
    injection H1 as <- <- <- <-; injection H2 as <- <- <- <-.
  - left. repeat split; auto. apply rel_refl.
  - destruct (Hk _ _ _ _ _ _ _ _ eq_refl eq_refl) as [(?&?&?)|[(?&?&?)|(?&?&?)]];
      [left | right; left | right; right]; auto.
Qed.

(** A statement that narrows, the threads in different units or one of them in none. *)
Lemma keeps_apart k1 k2 f1 f2 s1 s2 n1 n2 m1 m2 r1 r2 t1 n1' m1' ev1 t2 n2' m2' ev2 :
  agree n1 n2 ->
  (forall u v, rel k1 k2 (f1 u) (f2 v)) ->
  (forall u1 l1 p1 e1, r1 = Next u1 l1 p1 e1 -> agree l1 n2 /\ shared e1 = []) ->
  (forall u2 l2 p2 e2, r2 = Next u2 l2 p2 e2 -> agree n1 l2 /\ shared e2 = []) ->
  inside f1 n1 m1 r1 = Next t1 n1' m1' ev1 -> inside f2 n2 m2 r2 = Next t2 n2' m2' ev2 ->
  keeps k1 k2 (f1 s1) n1 (f2 s2) n2 t1 n1' ev1 t2 n2' ev2.
Proof.
  intros Hn Hf O1 O2 H1 H2.
  destruct r1 as [|u1 l1 p1 e1| |], r2 as [|u2 l2 p2 e2| |]; try discriminate; simpl in *;
    injection H1 as <- <- <- <-; injection H2 as <- <- <- <-.
  - left. repeat split; auto. apply rel_refl.
  - right; right. destruct (O2 _ _ _ _ eq_refl). auto.
  - right; left. destruct (O1 _ _ _ _ eq_refl). auto.
  - right; left. destruct (O1 _ _ _ _ eq_refl). auto.
Qed.

Lemma alone1 k' u n m s s' n' m' ev n2 :
  pos_ok a k' -> ~ inu a k' b -> agree n n2 -> step a k' u n m s = Next s' n' m' ev ->
  agree n' n2 /\ shared ev = [].
Proof.
  intros Hp Hk Hn H. destruct (frame a b Ha s k' u n m s' n' m' ev Hp H) as [F1 F2].
  split; [eapply agree_only1; eauto | eapply mine_none1; eauto].
Qed.
Lemma alone2 k' u n m s s' n' m' ev n1 :
  pos_ok b k' -> ~ inu b k' a -> agree n1 n -> step b k' u n m s = Next s' n' m' ev ->
  agree n1 n' /\ shared ev = [].
Proof.
  intros Hp Hk Hn H. destruct (frame b a Hb s k' u n m s' n' m' ev Hp H) as [F1 F2].
  split; [eapply agree_only2; eauto | eapply mine_none2; eauto].
Qed.

(** ** Steps of the statements that don't narrow *)
Ltac vars Hx n1 n2 :=
  match goal with A : n1 _ = Some _, C : n2 _ = Some _ |- _ =>
    let Hv := fresh "Hv" in destruct (Hx _ _ _ _ _ A C) as [<- Hv] end.

Lemma atomic_keeps s k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 :
  atomic s = true -> sfrag s = true -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 ->
  gl m1 = gl m2 ->
  step a k1 u1 n1 m1 s = Next s1' n1' m1' ev1 -> step b k2 u2 n2 m2 s = Next s2' n2' m2' ev2 ->
  rel k1 k2 s1' s2' /\ agree n1' n2' /\ shared ev1 = shared ev2.
Proof.
  intros Hat Hf P1 P2 Hs Hn Hg H1 H2.
  assert (Hpp : pp k2 = pp k1) by (destruct Hs as (A & B & _); unfold pp; congruence).
  assert (Hl : lv k2 = lv k1) by (destruct Hs as (A & B & _); congruence).
  assert (Hz : sz k2 = sz k1) by (destruct Hs as (A & B & _); congruence).
  assert (Hin : same_unit (pp k1) a b) by (apply inu_same; auto; eapply sync_inu; eauto).
  assert (Hx : forall x q1 v1 q2 v2, n1 x = Some (q1, v1) -> n2 x = Some (q2, v2) ->
                 q1 = q2 /\ (same_unit q1 a b -> v1 = v2)) by (intros; eapply agree_get; eauto).
  assert (He : forall e d v1 v2, efrag e = true -> same_unit d a b ->
                 eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2)
    by (intros; eapply eval_uniform; eauto).
  assert (Hev : forall q e1 e2, ev_persp e1 = q -> ev_persp e2 = q -> (same_unit q a b -> e1 = e2) ->
                  shared [e1] = shared [e2]).
  { intros q e1 e2 Q1 Q2 Q. unfold shared; simpl. rewrite Q1, Q2.
    destruct (same_unitb q a b) eqn:E; auto. apply same_unitb_spec in E. now rewrite Q. }
  destruct s; try discriminate Hat; simpl in Hf; ands; simpl in H1, H2;
    unfold with_int, with_bool, with_val in H1, H2; rewrite ?Hpp, ?Hl, ?Hz in H2;
    cases H1; try discriminate H1; cases H2; try discriminate H2;
    injection H1 as <- <- <- <-; injection H2 as <- <- <- <-; subst.
  (* assignment *)
  - vars Hx n1 n2. assert (Q : same_unit p0 a b -> VB v1 = VB v4) by (intros; f_equal; eauto).
    repeat split; [apply rel_refl | apply agree_ups; auto | apply (Hev p0); auto; intros; now rewrite Q].
  (* store: both to local arrays; one local, one not; both not *)
  - vars Hx n1 n2.
    assert (Q : same_unit p0 a b -> VLoc len (upz f z v1) = VLoc len0 (upz f0 z0 v4)).
    { intros Q. specialize (Hv Q). injection Hv as -> ->. assert (VInt z = VInt z0) as [= ->] by eauto.
      assert (v1 = v4) as -> by eauto. reflexivity. }
    repeat split; [apply rel_refl | apply agree_ups; auto | apply (Hev p0); auto; intros; now rewrite Q].
  - vars Hx n1 n2. assert (Q : ~ same_unit p0 a b) by (intros Q; discriminate (Hv Q)).
    repeat split; [apply rel_refl | eapply agree_ups1; eauto | apply (Hev p0); auto; tauto].
  - vars Hx n1 n2. assert (Q : ~ same_unit p0 a b) by (intros Q; discriminate (Hv Q)).
    repeat split; [apply rel_refl | eapply agree_ups2; eauto | apply (Hev p0); auto; tauto].
  - vars Hx n1 n2. repeat split; [apply rel_refl | auto | apply (Hev p0); auto; intros Q].
    specialize (Hv Q). injection Hv as -> -> -> ->. assert (VInt z = VInt z0) as [= ->] by eauto.
    assert (v1 = v4) as -> by eauto. reflexivity.
  (* declarations *)
  - assert (Q : same_unit q a b -> VB v = VB v0) by (intros; f_equal; eauto).
    repeat split; [apply r_scope; auto using rel_refl | auto | apply (Hev q); auto; intros; now rewrite Q].
  - repeat split; auto using rel_refl.
  - repeat split; auto using rel_refl.
  - repeat split; auto using rel_refl.
  (* if *)
  - repeat split; auto using rel_refl.
  - exfalso. assert (VBool true = VBool false) by eauto. discriminate.
  - exfalso. assert (VBool false = VBool true) by eauto. discriminate.
  - repeat split; auto using rel_refl.
  - repeat split; auto using rel_refl.
  (* partition, lower, claim *)
  - vars Hx n1 n2. spec. subst.
    assert (Q : same_unit (lv k1, sz k1 / c) a b -> VArr l st (off + z) len = VArr l0 st0 (off0 + z0) len0).
    { intros Q. specialize (Hv Hin). injection Hv as -> -> -> ->. assert (VInt z = VInt z0) as [= ->] by eauto. auto. }
    repeat split; [apply r_scope; auto using rel_refl | auto |].
    rewrite !shared_two. f_equal. apply (Hev (lv k1, sz k1 / c)); auto; intros; now rewrite Q.
  - vars Hx n1 n2. spec. subst.
    match goal with |- context [EvSet ?q _ _] =>
      assert (Q : same_unit q a b -> VArr l st (off + z) len = VArr l0 st0 (off0 + z0) len0);
      [ intros Q; specialize (Hv Hin); injection Hv as -> -> -> ->; assert (VInt z = VInt z0) as [= ->] by eauto; auto
      | repeat split; [apply r_scope; auto using rel_refl | auto |];
        rewrite !shared_two; f_equal; apply (Hev q); auto; intros; now rewrite Q ]
    end.
  - vars Hx n1 n2. spec. subst. specialize (Hv Hin). injection Hv as -> -> -> ->.
    repeat split; auto using rel_refl.
Qed.

(** ** Steps of any statement *)
Lemma inu_coord c k d : pos_ok c k -> inu c k d -> base k <= coord d (lv k) < base k + sz k.
Proof. intros (H1 & H2 & H3). unfold inu, coord in *. destruct (lv k); lia. Qed.

Ltac guards H1 H2 :=
  match type of H1 with (if ?g then _ else _) = _ => let G := fresh "G" in destruct g eqn:G; [|discriminate H1] end;
  match type of H2 with (if ?g then _ else _) = _ => let G := fresh "G" in destruct g eqn:G; [|discriminate H2] end;
  spec.

Lemma sync_down k1 k2 k1' k2' :
  pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> sub_down a k1 = Some k1' -> sub_down b k2 = Some k2' -> sync k1' k2'.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3) (S1 & S2 & S3 & S4). unfold sub_down, down, pp, sync, coord in *.
  rewrite <- S1, <- S2, <- S3 in *.
  destruct (lv k1); try discriminate; destruct (sz k1) as [|[|n]]; try discriminate;
    intros [= <-] [= <-]; repeat split; simpl in *; auto; try lia; discriminate.
Qed.

Lemma group_apart k1 k2 q :
  let d1 := sub_group k1 (sz k1 / q) in let d2 := sub_group k2 (sz k2 / q) in
  pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> pos_ok a d1 -> pos_ok b d2 -> ~ sync d1 d2 ->
  ~ inu a d1 b /\ ~ inu b d2 a.
Proof.
  intros d1 d2 P1 P2 (S1 & S2 & S3 & S4) Q1 Q2 Hn.
  assert (C1 : base k1 + idx k1 = coord a (lv k1)) by apply P1.
  assert (C2 : base k2 + idx k2 = coord b (lv k1)) by (rewrite S1; apply P2).
  assert (Hj : idx k1 / (sz k1 / q) <> idx k2 / (sz k1 / q)).
  { intros E. apply Hn. unfold d1, d2. rewrite <- S2. repeat split; simpl; auto; try (now rewrite E, S3). }
  assert (R : sz k1 / q <> 0) by (destruct Q1 as [Q1 _]; simpl in Q1; lia).
  pose proof (Nat.div_mod_eq (idx k1) (sz k1 / q)) as M1. pose proof (Nat.div_mod_eq (idx k2) (sz k1 / q)) as M2.
  pose proof (Nat.mod_upper_bound (idx k1) _ R). pose proof (Nat.mod_upper_bound (idx k2) _ R).
  split; intros I; apply inu_coord in I; auto; unfold d1, d2 in I; simpl in I.
  - rewrite <- C2, <- S3 in I. nia.
  - rewrite <- S1, <- C1, <- S2, <- S3 in I. nia.
Qed.

Ltac one1 :=
  match goal with E : step a ?k _ _ _ _ = Next _ _ _ _ |- _ => eapply (alone1 k); [| | |exact E]; auto end.
Ltac one2 :=
  match goal with E : step b ?k _ _ _ _ = Next _ _ _ _ |- _ => eapply (alone2 k); [| | |exact E]; auto end.
Ltac joint k1' k2' f1 f2 s1 s2 Hn Z1 Z2 :=
  refine (keeps_joint _ _ k1' k2' f1 f2 s1 s2 _ _ _ _ _ _ _ _ _ _ _ _ _ _ Hn
            (step_done _ _ _ _ _ _) (step_done _ _ _ _ _ _) _ _ _ Z1 Z2).
Ltac apart f1 f2 s1 s2 Hn Z1 Z2 :=
  refine (keeps_apart _ _ f1 f2 s1 s2 _ _ _ _ _ _ _ _ _ _ _ _ _ _ Hn _ _ _ Z1 Z2).
Ltac apart_r f1 f2 s1 s2 Hn Z1 Z2 := (* the second thread is in no unit *)
  refine (keeps_apart _ _ f1 f2 s1 s2 _ _ _ _ _ Done _ _ _ _ _ _ _ _ Hn _ _ _ Z1 Z2); [| |discriminate].
Ltac apart_l f1 f2 s1 s2 Hn Z1 Z2 :=
  refine (keeps_apart _ _ f1 f2 s1 s2 _ _ _ _ Done _ _ _ _ _ _ _ _ _ Hn _ _ _ Z1 Z2); [|discriminate|].

Theorem step_keeps s1 : forall s2 k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2,
  rel k1 k2 s1 s2 -> sfrag s1 = true -> sfrag s2 = true ->
  pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 -> gl m1 = gl m2 ->
  step a k1 u1 n1 m1 s1 = Next s1' n1' m1' ev1 -> step b k2 u2 n2 m2 s2 = Next s2' n2' m2' ev2 ->
  keeps k1 k2 s1 n1 s2 n2 s1' n1' ev1 s2' n2' ev2.
Proof.
  intros s2 k1 k2 u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 R. 
  revert u1 u2 n1 n2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2.
  induction R; intros u1 u2 l1 l2 m1 m2 s1' n1' m1' ev1 s2' n2' m2' ev2 F1 F2 P1 P2 Hs Hn Hg Z1 Z2.
  - left. eapply atomic_keeps; eauto.
  - (* seq *)
    simpl in *. ands. apply rel_skip in R as R'.
    destruct (step a k1 u1 l1 m1 s1) as [|t1 o1 p1 e1| |] eqn:E1; try discriminate;
    destruct (step b k2 u2 l2 m2 s2) as [|t2 o2 p2 e2| |] eqn:E2; try discriminate;
    injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-.
    + left. repeat split; auto. apply rel_refl.
    + apply step_done in E1. subst. destruct R' as [R1 _]. rewrite R1 in E2 by auto. discriminate.
    + apply step_done in E2. subst. destruct R' as [_ R1]. rewrite R1 in E1 by auto. discriminate.
    + destruct (IHR _ _ _ _ _ _ _ _ _ _ _ _ _ _ ltac:(eassumption) ltac:(eassumption) P1 P2 Hs Hn Hg E1 E2)
        as [(?&?&?)|[(?&?&?)|(?&?&?)]]; [left | right; left | right; right]; auto using r_seq.
  - (* split *)
    simpl in F1, F2, Z1, Z2. ands. guards Z1 Z2. destruct Hs as (S1 & S2 & S3 & S4).
    assert (C1 : base k1 + idx k1 = coord a (lv k1)) by apply P1.
    assert (C2 : base k2 + idx k2 = coord b (lv k1)) by (rewrite S1; apply P2).
    assert (PL1 : idx k1 < n1 -> pos_ok a (sub_left k1 n1)) by auto using sub_left_ok.
    assert (PL2 : idx k2 < n1 -> pos_ok b (sub_left k2 n1)) by auto using sub_left_ok.
    assert (PR1 : n1 <= idx k1 -> idx k1 < n1 + n2 -> pos_ok a (sub_right k1 n1 n2)) by auto using sub_right_ok.
    assert (PR2 : n1 <= idx k2 -> idx k2 < n1 + n2 -> pos_ok b (sub_right k2 n1 n2)) by auto using sub_right_ok.
    assert (NL1 : idx k1 < n1 -> n1 <= idx k2 -> ~ inu a (sub_left k1 n1) b).
    { intros I1 I2 I. apply inu_coord in I; auto. simpl in I. lia. }
    assert (NL2 : idx k2 < n1 -> n1 <= idx k1 -> ~ inu b (sub_left k2 n1) a).
    { intros I1 I2 I. apply inu_coord in I; auto. simpl in I. rewrite <- S1 in I. lia. }
    assert (NR1 : n1 <= idx k1 -> idx k1 < n1 + n2 -> idx k2 < n1 \/ n1 + n2 <= idx k2 -> ~ inu a (sub_right k1 n1 n2) b).
    { intros I1 I2 I3 I. apply inu_coord in I; auto. simpl in I. lia. }
    assert (NR2 : n1 <= idx k2 -> idx k2 < n1 + n2 -> idx k1 < n1 \/ n1 + n2 <= idx k1 -> ~ inu b (sub_right k2 n1 n2) a).
    { intros I1 I2 I3 I. apply inu_coord in I; auto. simpl in I. rewrite <- S1 in I. lia. }
    set (fl1 := fun s => SSplit n1 n2 s t1) in *. set (fl2 := fun s => SSplit n1 n2 s t2) in *.
    set (fr1 := fun s => SSplit n1 n2 s1 s) in *. set (fr2 := fun s => SSplit n1 n2 s2 s) in *.
    destruct (idx k1 <? n1) eqn:I1, (idx k2 <? n1) eqn:I2; spec.
    + joint (sub_left k1 n1) (sub_left k2 n1) fl1 fl2 s1 s2 Hn Z1 Z2; auto.
      * intros. apply r_split; auto; lia.
      * intros. eapply H0; eauto. repeat split; auto.
    + destruct (idx k2 <? n1 + n2) eqn:J2; spec.
      * apart fl1 fr2 s1 t2 Hn Z1 Z2; [intros; apply r_split; lia | |]; intros; [one1 | one2].
      * apart_r fl1 fr2 s1 t2 Hn Z1 Z2; [intros; apply r_split; lia |]; intros; one1.
    + destruct (idx k1 <? n1 + n2) eqn:J1; spec.
      * apart fr1 fl2 t1 s2 Hn Z1 Z2; [intros; apply r_split; lia | |]; intros; [one1 | one2].
      * apart_l fr1 fl2 t1 s2 Hn Z1 Z2; [intros; apply r_split; lia |]; intros; one2.
    + destruct (idx k1 <? n1 + n2) eqn:J1, (idx k2 <? n1 + n2) eqn:J2; spec.
      * joint (sub_right k1 n1 n2) (sub_right k2 n1 n2) fr1 fr2 t1 t2 Hn Z1 Z2; auto.
        -- intros. apply r_split; auto; lia.
        -- intros. eapply H2; eauto. repeat split; simpl; auto; lia.
      * apart_r fr1 fr2 t1 t2 Hn Z1 Z2; [intros; apply r_split; lia |]; intros; one1.
      * apart_l fr1 fr2 t1 t2 Hn Z1 Z2; [intros; apply r_split; lia |]; intros; one2.
      * injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-. left. repeat split; auto. apply rel_refl.
  - (* destruct *)
    simpl in F1, F2, Z1, Z2.
    destruct (sub_down a k1) as [k1'|] eqn:D1; [|discriminate].
    destruct (sub_down b k2) as [k2'|] eqn:D2; [|discriminate].
    joint k1' k2' SDestruct SDestruct s1 s2 Hn Z1 Z2; auto.
    + intros. apply r_destruct. intros j1 j2 X X'. assert (j1 = k1') as -> by congruence. now assert (j2 = k2') as -> by congruence.
    + intros. eapply H0; eauto using sub_down_ok. eapply sync_down; eauto.
  - (* group *)
    simpl in F1, F2, Z1, Z2. guards Z1 Z2.
    set (d1 := sub_group k1 (sz k1 / q)) in *. set (d2 := sub_group k2 (sz k2 / q)) in *.
    destruct (group_pos a k1 q P1) as [Q1 _]; auto. destruct (group_pos b k2 q P2) as [Q2 _]; auto.
    destruct (sync_dec d1 d2) as [Y|Y].
    + joint d1 d2 (SGroup q) (SGroup q) s1 s2 Hn Z1 Z2; auto.
      * intros. apply r_group. auto.
      * intros. eapply H0; eauto.
    + assert (~ inu a d1 b /\ ~ inu b d2 a) as [N1 N2] by (apply group_apart; auto).
      apart (SGroup q) (SGroup q) s1 s2 Hn Z1 Z2; [intros; apply r_group; tauto | |];
        intros; [one1 | one2].
  - (* arm *)
    simpl in F1, F2, Z1, Z2. guards Z1 Z2. fold (in_arm k1 n i) in Z1. fold (in_arm k2 n i) in Z2.
    destruct Hs as (S1 & S2 & S3 & S4).
    assert (C1 : base k1 + idx k1 = coord a (lv k1)) by apply P1.
    assert (C2 : base k2 + idx k2 = coord b (lv k1)) by (rewrite S1; apply P2).
    assert (Q1 : in_arm k1 n i = true -> pos_ok a (sub_arm k1 n i)).
    { unfold in_arm. intros. spec. auto using sub_arm_ok. }
    assert (Q2 : in_arm k2 n i = true -> pos_ok b (sub_arm k2 n i)).
    { unfold in_arm. intros. spec. auto using sub_arm_ok. }
    assert (N1 : in_arm k1 n i = true -> in_arm k2 n i = false -> ~ inu a (sub_arm k1 n i) b).
    { intros A1 A2 I. apply inu_coord in I; auto. unfold in_arm in *. simpl in I.
      apply andb_false_iff in A2 as [A2|A2]; [apply Nat.leb_gt in A2 | apply Nat.ltb_ge in A2]; spec; lia. }
    assert (N2 : in_arm k2 n i = true -> in_arm k1 n i = false -> ~ inu b (sub_arm k2 n i) a).
    { intros A1 A2 I. apply inu_coord in I; auto. unfold in_arm in *. simpl in I. rewrite <- S1 in I.
      apply andb_false_iff in A2 as [A2|A2]; [apply Nat.leb_gt in A2 | apply Nat.ltb_ge in A2]; spec; lia. }
    destruct (in_arm k1 n i) eqn:A1, (in_arm k2 n i) eqn:A2.
    + joint (sub_arm k1 n i) (sub_arm k2 n i) (SArm n i) (SArm n i) s1 s2 Hn Z1 Z2; auto.
      * intros. apply r_arm; auto.
      * intros. eapply H0; eauto. repeat split; simpl; auto; lia.
    + apart_r (SArm n i) (SArm n i) s1 s2 Hn Z1 Z2; [intros; apply r_arm; congruence |].
      intros; one1.
    + apart_l (SArm n i) (SArm n i) s1 s2 Hn Z1 Z2; [intros; apply r_arm; congruence |].
      intros; one2.
    + injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-. left. repeat split; auto. apply rel_refl.
  - (* scope *)
    simpl in *.
    set (i1 := ups (hide hid l1) x (Some (q, v1))) in *. set (i2 := ups (hide hid l2) x (Some (q, v2))) in *.
    assert (Hi : agree i1 i2) by (apply agree_ups; auto; now apply agree_hide).
    apply rel_skip in R as R'.
    destruct (step a k1 (u1 + c) i1 m1 s1) as [|t1 o1 p1 e1| |] eqn:E1; try discriminate;
    destruct (step b k2 (u2 + c) i2 m2 s2) as [|t2 o2 p2 e2| |] eqn:E2; try discriminate.
    + injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-. left. repeat split; auto. apply rel_refl.
    + apply step_done in E1. subst. destruct R' as [R1 _]. rewrite R1 in E2 by auto. discriminate.
    + apply step_done in E2. subst. destruct R' as [_ R1]. rewrite R1 in E1 by auto. discriminate.
    + pose proof (IHR _ _ _ _ _ _ _ _ _ _ _ _ _ _ F1 F2 P1 P2 Hs Hi Hg E1 E2) as HK.
      destruct (frame a b Ha _ _ _ _ _ _ _ _ _ P1 E1) as [O1 _].
      destruct (frame b a Hb _ _ _ _ _ _ _ _ _ P2 E2) as [O2 _].
      assert (X1 : exists w1, o1 x = Some (q, w1)).
      { destruct (O1 x) as [->|(q' & w & w' & A & -> & _)].
        - exists v1. unfold i1, ups. now rewrite Nat.eqb_refl.
        - unfold i1, ups in A. rewrite Nat.eqb_refl in A. injection A as <- <-. eauto. }
      assert (X2 : exists w2, o2 x = Some (q, w2)).
      { destruct (O2 x) as [->|(q' & w & w' & A & -> & _)].
        - exists v2. unfold i2, ups. now rewrite Nat.eqb_refl.
        - unfold i2, ups in A. rewrite Nat.eqb_refl in A. injection A as <- <-. eauto. }
      destruct X1 as [w1 X1], X2 as [w2 X2]. rewrite X1 in Z1. rewrite X2 in Z2.
      injection Z1 as <- <- <- <-; injection Z2 as <- <- <- <-.
      assert (Y1 : i1 x = Some (q, v1)) by (unfold i1, ups; now rewrite Nat.eqb_refl).
      assert (Y2 : i2 x = Some (q, v2)) by (unfold i2, ups; now rewrite Nat.eqb_refl).
      destruct HK as [(K1 & K2 & K3)|[(K1 & K2 & K3)|(K1 & K2 & K3)]].
      * left. split; [|split]; auto using agree_restore.
        apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 X1 X2).
      * right; left. split; [|split]; auto.
        -- apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 X1 Y2).
        -- eapply agree_ext; [reflexivity | apply (restore_id hid x l2 (Some (q, v2))) |].
           apply agree_restore; auto.
      * right; right. split; [|split]; auto.
        -- apply r_scope; auto. now apply (agree_get _ _ _ _ _ _ _ K2 Y1 X2).
        -- eapply agree_ext; [apply (restore_id hid x l1 (Some (q, v1))) | reflexivity |].
           apply agree_restore; auto.
Qed.

(** * Runs of one thread *)

(** [run th g c s n h s' n']: [c] steps of [th] from [s], [n] to [s'], [n'] with events [h]; other threads may have changed
    shared memory between the steps, and global memory holds [g]. *)
Inductive run (th : tid) (g : site -> Z -> bval) : nat -> stmt -> env -> list event -> stmt -> env -> Prop :=
| run_nil s n : run th g 0 s n [] s n
| run_cons c s n s1 n1 m m1 ev h s2 n2 :
    gl m = g -> step th pos0 0 n m s = Next s1 n1 m1 ev -> run th g c s1 n1 h s2 n2 ->
    run th g (S c) s n (ev ++ h) s2 n2.

Definition prefix {A} (l l' : list A) : Prop := exists w, l' = l ++ w.

Lemma prefix_nil {A} (l : list A) : prefix [] l.
Proof. exists l; auto. Qed.
Lemma prefix_refl {A} (l : list A) : prefix l l.
Proof. exists []. now rewrite app_nil_r. Qed.
Lemma prefix_app {A} (l l1 l2 : list A) : prefix l1 l2 -> prefix (l ++ l1) (l ++ l2).
Proof. intros [w ->]. exists w. now rewrite app_assoc. Qed.

Lemma run_skip th g c n h s n' : run th g c SSkip n h s n' -> c = 0 /\ h = [] /\ s = SSkip /\ n' = n.
Proof. intros H. inversion H; subst; auto. discriminate. Qed.

(** What two runs from related states share: one shared history is a prefix of the other; it's the longer one if the run has
    finished; and if both have, the variables agree. *)
Lemma runs_agree N : forall c1 c2 g s1 s2 n1 n2 h1 h2 t1 t2 l1 l2, c1 + c2 <= N ->
  rel pos0 pos0 s1 s2 -> agree n1 n2 -> sfrag s1 = true -> sfrag s2 = true ->
  run a g c1 s1 n1 h1 t1 l1 -> run b g c2 s2 n2 h2 t2 l2 ->
  (prefix (shared h1) (shared h2) \/ prefix (shared h2) (shared h1)) /\
  (t1 = SSkip -> prefix (shared h2) (shared h1)) /\
  (t2 = SSkip -> prefix (shared h1) (shared h2)) /\
  (t1 = SSkip -> t2 = SSkip -> agree l1 l2).
Proof.
  induction N; intros c1 c2 g s1 s2 n1 n2 h1 h2 t1 t2 l1 l2 Hc R Hn F1 F2 H1 H2;
    apply rel_skip in R as R'; pose proof H1 as H1'; pose proof H2 as H2'.
  - assert (c1 = 0) by lia; assert (c2 = 0) by lia; subst. inversion H1; inversion H2; subst.
    repeat split; simpl; auto using prefix_nil.
  - inversion H1; subst.
    + (* the first thread has not moved *)
      repeat split; simpl; auto using prefix_nil.
      * intros ->. assert (s2 = SSkip) as -> by tauto. apply run_skip in H2 as (_ & -> & _). apply prefix_nil.
      * intros -> ->. assert (s2 = SSkip) as -> by tauto. now apply run_skip in H2 as (_ & _ & _ & ->).
    + inversion H2; subst.
      * (* the second has not *)
        repeat split; simpl; auto using prefix_nil.
        -- intros ->. assert (s1 = SSkip) as -> by tauto. apply run_skip in H1 as (? & _). discriminate.
        -- intros -> ->. assert (s1 = SSkip) as -> by tauto. apply run_skip in H1 as (? & _). discriminate.
      * match goal with
        | A : step a _ _ _ _ s1 = Next ?u1 ?o1 _ ?e1, B : step b _ _ _ _ s2 = Next ?u2 ?o2 _ ?e2,
          A' : run a _ c _ _ _ _ _, B' : run b _ c0 _ _ _ _ _ |- _ =>
            destruct (step_frag _ _ _ _ _ _ _ _ _ _ F1 A) as [F1' _];
            destruct (step_frag _ _ _ _ _ _ _ _ _ _ F2 B) as [F2' _];
            assert (K : keeps pos0 pos0 s1 n1 s2 n2 u1 o1 e1 u2 o2 e2);
            [ eapply step_keeps; eauto using pos0_ok; repeat split; auto; discriminate |];
            rename A' into R1; rename B' into R2
        end.
        destruct K as [(K1 & K2 & K3)|[(K1 & K2 & K3)|(K1 & K2 & K3)]].
        -- destruct (IHN _ _ _ _ _ _ _ _ _ _ _ _ _ ltac:(shelve) K1 K2 F1' F2' R1 R2) as (I1 & I2 & I3 & I4).
           rewrite !shared_app, K3. repeat split; auto using prefix_app. destruct I1; auto using prefix_app.
           Unshelve. lia.
        -- destruct (IHN _ _ _ _ _ _ _ _ _ _ _ _ _ ltac:(shelve) K1 K2 F1' F2 R1 H2') as (I1 & I2 & I3 & I4).
           match type of K3 with shared ?e = [] => rewrite (shared_app e) end. rewrite K3. auto. Unshelve. lia.
        -- destruct (IHN _ _ _ _ _ _ _ _ _ _ _ _ _ ltac:(shelve) K1 K2 F1 F2' H1' R2) as (I1 & I2 & I3 & I4).
           match type of K3 with shared ?e = [] => rewrite (shared_app e) end. rewrite K3. auto. Unshelve. lia.
Qed.

End Pair.

(** * The machine *)

Lemma run_snoc th g c s n h s1 n1 m m1 ev s2 n2 :
  run th g c s n h s1 n1 -> gl m = g -> step th pos0 0 n1 m s1 = Next s2 n2 m1 ev ->
  run th g (S c) s n (h ++ ev) s2 n2.
Proof.
  induction 1; intros Hm Hst.
  - rewrite <- (app_nil_r ([] ++ ev)). eapply run_cons; eauto. constructor.
  - rewrite <- app_assoc. eapply run_cons; eauto.
Qed.

Definition hist (t : tstate) : list event := match t with Run _ _ h => h | Trap h => h end.

(** Every thread of a reachable state has run from the start on its own, stores to shared memory apart. *)
Lemma reach_run s n m S : sfrag s = true -> reach (init s n m) S ->
  gl (memory S) = gl m /\
  forall th, exists c s' n', run th (gl m) c s n (hist (pool S th)) s' n' /\ sfrag s' = true /\
    match pool S th with Run s1 n1 _ => s1 = s' /\ n1 = n' | Trap _ => True end.
Proof.
  intros Hf HR. induction HR as [|th S S' HR [IHg IH] Hst].
  - split; auto. intros th. exists 0, s, n. repeat split; auto. constructor.
  - inversion Hst; subst; simpl in *.
    + destruct (IH th) as (c & s'' & n'' & R & F & E). rewrite H0 in *. destruct E as [<- <-].
      destruct (step_frag _ _ _ _ _ _ _ _ _ _ F H1) as [F' Hg]. split; [congruence|].
      intros th'. unfold upt. destruct (tid_eqb th' th) eqn:E; [|apply IH].
      apply tid_eqb_spec in E as ->. exists (Datatypes.S c), s', n'. repeat split; auto.
      simpl in *. eapply run_snoc; eauto.
    + split; auto. intros th'. unfold upt. destruct (tid_eqb th' th) eqn:E; [|apply IH].
      apply tid_eqb_spec in E as ->. destruct (IH th) as (c & s'' & n'' & R & F & E). rewrite H0 in *.
      exists c, s'', n''. auto.
Qed.

(** The events of a thread at one perspective. *)
Definition at_persp (q : persp) (h : list event) : list event := filter (fun e => peqb q (ev_persp e)) h.

Lemma at_persp_shared a b q h : same_unit q a b -> at_persp q (shared a b h) = at_persp q h.
Proof.
  intros Hq. induction h as [|e h IH]; auto. simpl.
  destruct (same_unitb (ev_persp e) a b) eqn:E; simpl; [now rewrite IH|].
  destruct (peqb q (ev_persp e)) eqn:Q; auto. apply peqb_spec in Q. subst q.
  apply same_unitb_spec in Hq. congruence.
Qed.

Lemma prefix_filter {A} (f : A -> bool) l l' : prefix l l' -> prefix (filter f l) (filter f l').
Proof. intros [w ->]. exists (filter f w). apply filter_app. Qed.

Lemma agree_refl a b n : agree a b n n.
Proof. intros x. destruct (n x) as [[q v]|]; auto. Qed.

(** Uniformity: in every reachable state, of two threads of one unit of [q], one's history at [q] (variables set, branches
    taken, collectives entered, cells stored) is a prefix of the other's. *)
Theorem uniformity s n m S a b q :
  sfrag s = true -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  prefix (at_persp q (hist (pool S a))) (at_persp q (hist (pool S b))) \/
  prefix (at_persp q (hist (pool S b))) (at_persp q (hist (pool S a))).
Proof.
  intros Hf HR Ha Hb Hq. destruct (reach_run _ _ _ _ Hf HR) as [_ H].
  destruct (H a) as (c1 & s1 & n1 & R1 & _). destruct (H b) as (c2 & s2 & n2 & R2 & _).
  destruct (runs_agree a b Ha Hb (c1 + c2) c1 c2 _ _ _ _ _ _ _ _ _ _ _ (le_n _) (rel_refl a b s pos0 pos0)
              (agree_refl a b n) Hf Hf R1 R2) as [[P|P] _];
    apply (prefix_filter (fun e => peqb q (ev_persp e))) in P;
    [left|right]; now rewrite <- (at_persp_shared a b q (hist (pool S a))),
      <- (at_persp_shared a b q (hist (pool S b))) by auto.
Qed.

(** The i-th event at [q], of any two threads of a unit of [q], is one event: same variable, same value. *)
Corollary uniform_event s n m S a b q i e e' :
  sfrag s = true -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  nth_error (at_persp q (hist (pool S a))) i = Some e ->
  nth_error (at_persp q (hist (pool S b))) i = Some e' -> e = e'.
Proof.
  intros Hf HR Ha Hb Hq He He'.
  assert (X : forall l l' : list event, prefix l l' -> nth_error l i <> None -> nth_error l' i = nth_error l i).
  { intros l l' [w ->] Hi. apply nth_error_app1. now apply nth_error_Some. }
  destruct (uniformity s n m S a b q Hf HR Ha Hb Hq) as [P|P]; apply X in P; congruence.
Qed.

(** Once both have finished, their histories at [q] are equal, and so are their arguments held at [q]. *)
Theorem uniform_end s n m S a b q :
  sfrag s = true -> reach (init s n m) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  forall na ha nb hb, pool S a = Run SSkip na ha -> pool S b = Run SSkip nb hb ->
  at_persp q ha = at_persp q hb /\
  forall x va vb, na x = Some (q, va) -> nb x = Some (q, vb) -> va = vb.
Proof.
  intros Hf HR Ha Hb Hq na ha nb hb Ea Eb. destruct (reach_run _ _ _ _ Hf HR) as [_ H].
  destruct (H a) as (c1 & s1 & n1 & R1 & _ & E1). destruct (H b) as (c2 & s2 & n2 & R2 & _ & E2).
  rewrite Ea in *; rewrite Eb in *. destruct E1 as [<- <-], E2 as [<- <-]. simpl in *.
  destruct (runs_agree a b Ha Hb (c1 + c2) c1 c2 _ _ _ _ _ _ _ _ _ _ _ (le_n _) (rel_refl a b s pos0 pos0)
              (agree_refl a b n) Hf Hf R1 R2) as (_ & P1 & P2 & P3).
  split.
  - destruct (P1 eq_refl) as [w W], (P2 eq_refl) as [w' W']. rewrite W in W'.
    rewrite <- app_assoc in W'. rewrite <- (app_nil_r (shared a b hb)) in W' at 1.
    apply app_inv_head in W'. symmetry in W'. apply app_eq_nil in W' as [-> _]. rewrite app_nil_r in W.
    now rewrite <- (at_persp_shared a b q ha), <- (at_persp_shared a b q hb), W by auto.
  - intros x va vb A1 A2. now apply (agree_get _ _ _ _ _ _ _ _ _ (P3 eq_refl eq_refl) A1 A2).
Qed.

End Uniform.
