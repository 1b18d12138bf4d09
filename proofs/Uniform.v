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

Lemma step_done th k u n m s : step th k u n m s = Done -> s = SSkip.
Proof. intros H. destruct s; auto; unstep H. Qed.

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

Theorem eval_uniform e : forall d k1 k2 n1 n2 m1 m2 v1 v2,
  efrag e = true -> pos_ok a k1 -> pos_ok b k2 -> sync k1 k2 -> agree n1 n2 -> gl m1 = gl m2 ->
  same_unit d a b ->
  eval a k1 d n1 m1 e = EVal v1 -> eval b k2 d n2 m2 e = EVal v2 -> v1 = v2.
Proof.
  induction e; intros d k1 k2 n1 n2 m1 m2 v1 v2 Hf P1 P2 Hs Hn Hm Hd E1 E2; simpl in *.
  - congruence.
  - congruence.
  - cases E1; cases E2; try discriminate. spec.
    subst. match goal with
    | A : n1 x = Some _, C : n2 x = Some _ |- _ => destruct (agree_get _ _ _ _ _ _ _ Hn A C) as [<- Hv] end.
    match type of Hv with same_unit ?q _ _ -> _ =>
      assert (Hq : same_unit q a b) by (eapply same_unit_up; eauto); specialize (Hv Hq) end.
    congruence.
  - cases E1; cases E2; try discriminate. injection E1 as <-; injection E2 as <-.
    apply id_okb_spec in E. do 2 f_equal. apply id_uniform; auto.
  - ands. cases E1; cases E2; try discriminate; spec; subst.
    all: match goal with
         | A : n1 x = Some _, C : n2 x = Some _ |- _ =>
             destruct (agree_get _ _ _ _ _ _ _ Hn A C) as [<- Hv] end.
    all: match goal with
         | A : eval a _ _ _ _ e = EVal (VInt ?i), C : eval b _ _ _ _ e = EVal (VInt ?j) |- _ =>
             assert (Hi : VInt i = VInt j) by (eapply IHe; eauto); injection Hi as -> end.
    all: match type of Hv with same_unit ?q _ _ -> _ => 
           assert (Hq : same_unit q a b) by (eapply same_unit_up; eauto); specialize (Hv Hq) end.
    all: try discriminate Hv; injection Hv as <-; subst; try congruence.
    injection E1 as <-. injection E2 as <-. Show.
    destruct l; simpl in *; auto; try discriminate. now rewrite Hm.
  - ands. cases E1; cases E2; try discriminate.
    match goal with
    | A : eval a _ _ _ _ e1 = EVal ?i, C : eval b _ _ _ _ e1 = EVal ?j |- _ =>
        assert (Hi : i = j) by (eapply IHe1; eauto); injection Hi as -> end.
    match goal with
    | A : eval a _ _ _ _ e2 = EVal ?i, C : eval b _ _ _ _ e2 = EVal ?j |- _ =>
        assert (Hi : i = j) by (eapply IHe2; eauto); injection Hi as -> end.
    congruence.
  - ands. cases E1; cases E2; try discriminate.
    match goal with
    | A : eval a _ _ _ _ e1 = EVal ?i, C : eval b _ _ _ _ e1 = EVal ?j |- _ =>
        assert (Hi : i = j) by (eapply IHe1; eauto); injection Hi as -> end.
    match goal with
    | A : eval a _ _ _ _ e2 = EVal ?i, C : eval b _ _ _ _ e2 = EVal ?j |- _ =>
        assert (Hi : i = j) by (eapply IHe2; eauto); injection Hi as -> end.
    congruence.
Qed.

End Pair.
End Uniform.
