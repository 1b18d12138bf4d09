(** Ground for uniformity: the programs it speaks of, units of threads, and what one thread alone can touch. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety.
Import ListNotations.

Local Arguments down : simpl never.
Local Arguments Nat.max : simpl never.

(** * The fragment

    Programs in which what a thread does depends on no other thread: none reads shared memory; and each array of global memory
    is read and not stored to (an input) or stored to and not read (a result). Local arrays are free.
    Nothing is copied asynchronously. [rg x]: the name [x] is
    of inputs, whatever view of one it names; [ro st]: the allocation [st] is an input. *)

Fixpoint efrag (rg : name -> bool) (e : expr) : bool :=
  match e with
  | EInt _ | EBool _ | EVar _ | EId => true
  | ERead l x e => negb (is_shared l) && (rg x || negb (kind_eqb l Global)) && efrag rg e
  | EBop _ e1 e2 | ECmp _ e1 e2 => efrag rg e1 && efrag rg e2
  end.

Definition vfrag (rg : name -> bool) (ro : site -> bool) (x : name) (v : val) : bool :=
  match v with VArr Global st _ _ => Bool.eqb (ro st) (rg x) | _ => true end.

(** The arguments' names are of what they name. *)
Definition nfrag (rg : name -> bool) (ro : site -> bool) (n : env) : Prop :=
  forall x q v, n x = Some (q, v) -> vfrag rg ro x v = true.

Fixpoint args_frag (rg : name -> bool) (es : list expr) (ps : list (name * persp * ty)) : Prop :=
  match es, ps with
  | EVar y :: es, (x, _, TArr _ _) :: ps => rg x = rg y /\ args_frag rg es ps
  | e :: es, _ :: ps => efrag rg e = true /\ args_frag rg es ps
  | _, _ => True
  end.

Fixpoint sfrag `{Functions} (rg : name -> bool) (ro : site -> bool) (s : stmt) : Prop :=
  match s with
  | SSkip | SSync _ | SWait _ _ => True
  | SSeq s1 s2 | SSplit _ _ s1 s2 => sfrag rg ro s1 /\ sfrag rg ro s2
  | SIf e s1 s2 => efrag rg e = true /\ sfrag rg ro s1 /\ sfrag rg ro s2
  | SAssign _ e => efrag rg e = true
  | SStore l x e1 e2 => rg x && kind_eqb l Global = false /\ efrag rg e1 = true /\ efrag rg e2 = true
  | SCopy l x l' z _ => rg x && kind_eqb l Global = false /\ efrag rg (ERead l' z (EInt 0)) = true
  | SDecl _ _ _ e s | SWhile e s => efrag rg e = true /\ sfrag rg ro s
  | SPartition x y _ e s | SLower x y e s => rg x = rg y /\ efrag rg e = true /\ sfrag rg ro s
  | SClaim x y _ _ s => rg x = rg y /\ sfrag rg ro s
  | SAlloc l x _ _ st s => vfrag rg ro x (VArr l st 0 0) = true /\ sfrag rg ro s
  | SScope _ x _ v _ s => vfrag rg ro x v = true /\ sfrag rg ro s
  | SDestruct s | SGroup _ s | SLocal _ _ _ _ s | SArm _ _ s => sfrag rg ro s
  | SCall f es => match fn f with Some fd => args_frag rg es (params fd) | None => True end
  | SAsync _ _ _ _ | SAsyncCopy _ _ _ _ | SFlying _ _ _ _ _ => False
  | SFrame _ outs n s => nfrag rg ro n /\ (forall x y, In (x, y) outs -> rg x = rg y) /\ sfrag rg ro s
  end.

(** All functions are of the fragment. *)
Definition fns_frag `{Functions} (rg : name -> bool) (ro : site -> bool) : Prop :=
  forall f fd, fn f = Some fd -> sfrag rg ro (fbody fd).

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
Ltac unstep H := simpl in H; unfold inside, store_, with_int, with_bool, with_val in H; cbn [negb orb] in H; cases H;
  try discriminate H.

Section Units.
Context {M : Machine} {Fs : Functions}.
Variable rg : name -> bool.
Variable ro : site -> bool.
Local Notation glob m g := (forall st, ro st = true -> gl m st = g st) (only parsing).
Local Notation sfrag := (sfrag rg ro).
Local Notation nfrag := (nfrag rg ro).
Local Notation vfrag := (vfrag rg ro).

Hypothesis Hbody : fns_frag rg ro.

Lemma step_done th k u n m s : step th k u n m s = Done <-> s = SSkip.
Proof. split; [intros H; destruct s; auto; unstep H | intros ->; auto]. Qed.

Lemma nfrag_ups n x q v : nfrag n -> vfrag x v = true -> nfrag (ups n x (Some (q, v))).
Proof. intros Hn Hv y q' v'. names. apply Hn. Qed.

Lemma nfrag_hide hid n : nfrag n -> nfrag (hide hid n).
Proof. intros Hn y q v. names; apply Hn. Qed.

Lemma nfrag_restore hid x n n' : nfrag n -> nfrag n' -> nfrag (restore hid x n n').
Proof. intros Hn Hn' y q v. names; (apply Hn || apply Hn'). Qed.

(** A view is of what its source is of. *)
Lemma vfrag_as x y v : rg x = rg y -> vfrag x v = true -> vfrag y v = true.
Proof. destruct v as [| |[| |] st off len|]; simpl; auto. now intros ->. Qed.

Lemma vfrag_view n x y q l st off len off' :
  nfrag n -> n x = Some (q, VArr l st off len) -> rg x = rg y -> vfrag y (VArr l st off' len) = true.
Proof. intros Hn Hx E. apply (vfrag_as x); auto. pose proof (Hn _ _ _ Hx). now destruct l. Qed.

Lemma bind_frag th k n m : nfrag n -> forall ps es n' outs, args_frag rg es ps -> bind th k n m ps es = AVals n' outs ->
  nfrag n' /\ forall x y, In (x, y) outs -> rg x = rg y.
Proof.
  intros Hn. induction ps as [|[[x q] t] ps IH]; intros [|e es] n' outs Ha H; simpl in H; try discriminate.
  - injection H as <- <-. split; [intros ? ? ?; discriminate | intros ? ? []].
  - destruct (bind th k n m ps es) as [n1 outs1| |] eqn:E; try discriminate.
    assert (A : args_frag rg es ps) by (destruct e, t; simpl in Ha; tauto).
    destruct (IH _ _ _ A E) as [I1 I2]. destruct t as [b|l b|]; try discriminate.
    + destruct (eval th k q n m e); try discriminate. injection H as <- <-. split; auto. now apply nfrag_ups.
    + destruct e as [| |y| | | |]; try discriminate. destruct Ha as [Hxy _].
      destruct (n y) as [[q' v]|] eqn:Hy; try discriminate. destruct (peqb q' q), (is_arr v); try discriminate.
      injection H as <- <-. split; [apply nfrag_ups; auto; apply (vfrag_as y); [now symmetry | exact (Hn _ _ _ Hy)] |].
      intros z w [[= <- <-]|]; auto.
Qed.

Lemma nfrag_back p n0 n outs : nfrag n -> nfrag n0 -> (forall x y, In (x, y) outs -> rg x = rg y) ->
  nfrag (back p outs n0 n).
Proof.
  intros Hn H0. induction outs as [|[x y] outs IH]; intros Ho; auto. simpl.
  assert (I : nfrag (back p outs n0 n)) by (apply IH; intros; apply Ho; now right).
  destruct (n0 x) as [[q0 v]|] eqn:Hx, (n y) as [[q w]|]; auto. destruct (pleb q p && peqb q0 q); auto.
  apply nfrag_ups; auto. apply (vfrag_as x); [apply Ho; now left | exact (H0 _ _ _ Hx)].
Qed.

Lemma step_frag th s : forall k u n m s' n' m' ev, sfrag s -> nfrag n -> step th k u n m s = Next s' n' m' ev ->
  sfrag s' /\ nfrag n' /\ glob m' (gl m).
Proof.
  induction s; intros k u n0 m0 s' n' m' ev Hf Hn H; simpl in Hf; ands; try contradiction; unstep H;
    try (injection H as <- <- <- <-; simpl; repeat split; auto; fail); try match goal with
    | E : step _ _ _ _ _ ?a = Next _ _ _ _, IH : context [step _ _ _ _ _ ?a] |- _ =>
        eapply IH in E; eauto; destruct E as (? & ? & ?); injection H as <- <- <- <-; simpl; repeat split; auto
    end; try (injection H as <- <- <- <-; repeat split; auto; apply nfrag_ups; auto; fail);
    try (injection H as <- <- <- <-; split; [split; [eapply vfrag_view; eassumption | simpl; auto] | auto]; fail).
  - (* store to an array that is not local *)
    injection H as <- <- <- <-. simpl. repeat split; auto. intros st' Hr.
    match goal with H : n0 x = Some _ |- _ => pose proof (Hn _ _ _ H) as Hx end.
    match goal with H : _ && _ = true |- _ => apply andb_true_iff in H as [HH _]; apply andb_true_iff in HH as [_ Hl] end.
    destruct l; simpl in *; auto. destruct l0; try discriminate. simpl in Hx. apply eqb_prop in Hx.
    unfold ups. destruct (Nat.eqb_spec st' st) as [->|]; auto. rewrite <- Hx, Hr in *. discriminate.
  - (* call *)
    match goal with E : bind _ _ _ _ _ _ = _ |- _ => apply bind_frag in E as [? ?]; auto end.
    injection H as <- <- <- <-. split; [split; [assumption | split; [assumption | eapply Hbody; eassumption]] | auto].
  - (* memcpy *)
    injection H as <- <- <- <-. simpl. repeat split; auto; now rewrite ?H1, ?H3.
  - (* scope *)
    match goal with E : step _ _ _ _ _ _ = _ |- _ => eapply IHs in E as (? & Hi & ?); auto end.
    + injection H as <- <- <- <-. simpl. repeat split; auto using nfrag_restore. eapply Hi; eauto.
    + apply nfrag_ups; auto. now apply nfrag_hide.
  - (* frame, done *)
    injection H as <- <- <- <-. split; [exact I|]. split; [now apply nfrag_back | auto].
Qed.

(** * Units *)

Lemma div_coarser a b n n' : Nat.divide n n' -> a / n = b / n -> a / n' = b / n'.
Proof.
  intros [c ->] H. destruct (Nat.eq_dec n 0) as [->|Hn]; [now rewrite Nat.mul_0_r|].
  destruct (Nat.eq_dec c 0) as [->|Hc]; auto. rewrite (Nat.mul_comm c n), <- !Nat.div_div by auto. now rewrite H.
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

(** A split's guard has its second arm aligned, if there is one. *)
Lemma sub_right_max th k n1 n2 : pos_ok th k -> Nat.divide (Nat.max 1 n2) (base k + n1) ->
  n1 <= idx k -> idx k < n1 + n2 -> pos_ok th (sub_right k n1 n2).
Proof. intros. apply sub_right_ok; auto. now replace n2 with (Nat.max 1 n2) by lia. Qed.

(** A statement that narrows: the narrower unit of the thread, if it is in one, what it does there, and what is then left. *)
Definition in_arm (k : pos) (n i : nat) : bool := (i * n <=? idx k) && (idx k <? i * n + n).
Definition narrow (th : tid) (k : pos) (s : stmt) : option (pos * stmt * (stmt -> stmt)) :=
  match s with
  | SSplit n1 n2 s1 s2 =>
      if idx k <? n1 then Some (sub_left k n1, s1, fun s => SSplit n1 n2 s s2)
      else if idx k <? n1 + n2 then Some (sub_right k n1 n2, s2, fun s => SSplit n1 n2 s1 s) else None
  | SDestruct s => match sub_down th k with Some k' => Some (k', s, SDestruct) | None => None end
  | SGroup q s => Some (sub_group k (sz k / q), s, SGroup q)
  | SArm n i s => if in_arm k n i then Some (sub_arm k n i, s, SArm n i) else None
  | _ => None
  end.

(** They narrow to the same units. *)
Definition form (s : stmt) : option (nat * nat * nat) :=
  match s with
  | SSplit n1 n2 _ _ => Some (0, n1, n2) | SDestruct _ => Some (1, 0, 0) | SGroup q _ => Some (2, q, 0) | SArm n i _ => Some (3, n, i)
  | _ => None
  end.
Definition alike (s t : stmt) : Prop := form s <> None /\ form s = form t.

Lemma narrow_again th k s k' t f u : narrow th k s = Some (k', t, f) -> narrow th k (f u) = Some (k', u, f) /\ alike s (f u).
Proof.
  destruct s; simpl; intros H; try discriminate; cases H; injection H as <- <- <-; simpl;
    repeat match goal with E : _ = true |- _ => rewrite E | E : _ = false |- _ => rewrite E | E : _ = Some _ |- _ => rewrite E end;
    repeat split; discriminate.
Qed.

Lemma narrow_frag th k s k' t f : sfrag s -> narrow th k s = Some (k', t, f) -> sfrag t.
Proof. destruct s; simpl; intros Hs H; try discriminate; cases H; injection H as <- <- <-; tauto. Qed.

Lemma group_pos a k q : pos_ok a k -> Nat.divide q (sz k) -> Nat.divide (sz k / q) (base k) ->
  pos_ok a (sub_group k (sz k / q)) /\ idx k / (sz k / q) * (sz k / q) + sz k / q <= sz k.
Proof.
  intros Hp [c Hc] Hd. assert (q <> 0) by (destruct Hp; intros ->; lia).
  assert (Hq : sz k / q = c) by (rewrite Hc; now apply Nat.div_mul).
  rewrite Hq in *. assert (0 < c) by (destruct Hp; nia). split; [apply sub_group_ok; auto|].
  assert (idx k / c < q) by (apply Nat.div_lt_upper_bound; destruct Hp; lia). nia.
Qed.

Lemma narrow_step a k u n m s s' n' m' ev : tid_ok a -> pos_ok a k -> alike s s -> step a k u n m s = Next s' n' m' ev ->
  (narrow a k s = None /\ s' = SSkip /\ n' = n /\ ev = []) \/
  exists k' t f, narrow a k s = Some (k', t, f) /\ inside f n m (step a k' u n m t) = Next s' n' m' ev /\ pos_ok a k' /\
    forall b, inu a k' b -> inu a k b.
Proof.
  intros Ha Hp Hs H. destruct s; try (now destruct (proj1 Hs)); simpl in H |- *; unfold in_arm in *;
    match type of H with (if ?g then _ else _) = _ => destruct g eqn:G; [|discriminate H] | _ => idtac end; spec;
    repeat match type of H with (if ?g then _ else _) = _ => destruct g eqn:? end; spec;
    try (left; injection H as <- <- <- <-; auto; fail);
    match goal with |- context [sub_down a k] => destruct (sub_down a k) as [k'|] eqn:D | _ => idtac end; try discriminate;
    right; do 3 eexists; (split; [reflexivity|]; split; [exact H|]; split);
    try (unfold inu; simpl; destruct (lv k); lia || tauto);
    eauto using sub_left_ok, sub_right_max, sub_arm_ok, sub_down_ok.
  - unfold sub_down, down, inu, pp, pos_ok, coord in *.
    destruct (lv k); try discriminate; auto. destruct (sz k) as [|[|c]]; try discriminate. injection D as <-; simpl in *. lia.
  - now apply group_pos.
  - destruct (group_pos a k q) as [_ ?]; auto. unfold inu; simpl. destruct (lv k); lia || tauto.
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
Proof. intros Hx Hq y. names. right. eauto 8. Qed.

Lemma only_kept a b k n n' x q v : only a b k n n' -> n x = Some (q, v) -> exists w, n' x = Some (q, w).
Proof. intros H Hx. destruct (H x) as [->|(q' & w & w' & A & -> & _)]; [eauto | rewrite Hx in A; injection A as <- <-;
  eauto]. Qed.

Lemma only_up a b k k' n n' : (inu a k' b -> inu a k b) -> only a b k' n n' -> only a b k n n'.
Proof. intros H Ho x. destruct (Ho x) as [|(q & v & v' & ? & ? & ?)]; auto. right. eauto 10. Qed.

Lemma only_scope a b k hid x q v n n' :
  only a b k (ups (hide hid n) x (Some (q, v))) n' -> only a b k n (restore hid x n n').
Proof. intros H y. specialize (H y). names. Qed.

Lemma mine_up a b k k' ev : (inu a k' b -> inu a k b) -> mine a b k' ev -> mine a b k ev.
Proof. intros H Hm e ? ?. eauto. Qed.

Lemma shrink_ple h c n : Nat.divide c n -> 0 < n -> ple (h, n / c) (h, n).
Proof. intros [j ->] Hn. right; split; auto; simpl. exists c. rewrite Nat.div_mul by (intros ->; lia). lia. Qed.

Lemma down_ple p q : down p = Some q -> ple q p.
Proof.
  destruct p as [h n]. unfold down. destruct h, n as [|[|n]]; try discriminate; intros [= <-]; left; simpl;
    (split; [lia | apply Nat.divide_refl]).
Qed.

Lemma only_back a b k p outs n0 n : pos_ok a k -> ple p (pp k) -> only a b k n (back p outs n0 n).
Proof.
  intros Hk Hp. induction outs as [|[x y] outs IH]; [apply only_refl|]. simpl.
  destruct (n0 x) as [[q0 v]|], (n y) as [[q w]|] eqn:Hy; auto. destruct (pleb q p && peqb q0 q) eqn:Hq; auto. apply andb_true_iff in Hq as [Hq _]. apply pleb_spec in Hq.
  intros z. unfold ups. destruct (Nat.eqb_spec z y) as [->|]; [|apply IH]. right. exists q, w, v. repeat split; auto.
  intros Hs. eapply inu_same; auto. eapply same_unit_up; eauto. eapply same_unit_up; eauto.
Qed.

Lemma frame a b : tid_ok a -> forall s k u n m s' n' m' ev,
  pos_ok a k -> step a k u n m s = Next s' n' m' ev -> only a b k n n' /\ mine a b k ev.
Proof.
  intros Ha. assert (Mine : forall k ev, pos_ok a k -> (forall e, In e ev -> ple (ev_persp e) (pp k)) -> mine a b k ev)
    by (intros k ev Hp Hq e He Hs; eapply inu_ple; eauto).
  assert (Shrink : forall k c, pos_ok a k -> Nat.divide c (sz k) -> ple (lv k, sz k / c) (pp k))
    by (intros k c [Hp _] Hc; apply shrink_ple; auto; lia).
  assert (Level : forall k n, Nat.divide n (sz k) -> ple (lv k, n) (pp k)) by (right; auto).
  induction s; intros k u n0 m0 s' n' m' ev Hpos H;
    try (match type of H with step _ _ _ _ _ ?s = _ => assert (Al : alike s s) by (now split) end;
      destruct (narrow_step _ _ _ _ _ _ _ _ _ _ Ha Hpos Al H) as [(_ & -> & -> & ->)|(k' & t & f & N & Z & Hk & Up)];
      [split; [apply only_refl | intros ? []]|]; simpl in N; cases N; injection N as <- <- <-;
      destruct (step a _ _ _ _ _) eqn:E' in Z; simpl in Z; try discriminate; injection Z as <- <- <- <-;
      first [split; [apply only_refl | intros ? []] |
        match goal with IH : forall k u n m s' n' m' ev, pos_ok a k -> step a k u n m ?t = _ -> _, E : step a _ _ _ _ ?t = _ |- _ =>
          destruct (IH _ _ _ _ _ _ _ _ Hk E); split;
            [apply (only_up _ _ _ _ _ _ (Up b)) | apply (mine_up _ _ _ _ _ (Up b))]; auto end]; fail);
    unstep H; spec; try match goal with
    | H : Next _ _ _ _ = Next _ _ _ _ |- _ => injection H as <- <- <- <-
    end;
    try (split; [apply only_refl || (now apply only_back) || (eapply only_set; eauto; intros; eapply inu_ple; eauto) |
      apply Mine; auto; simpl; intros e' He; repeat (destruct He as [<-|He]); simpl;
        intuition eauto using ple_refl, down_ple]; fail).
  - (* seq *) eauto.
  - (* scope *)
    match goal with E : step _ _ _ _ _ _ = _ |- _ => eapply IHs in E as [? ?]; auto end.
    split; auto. eapply only_scope; eauto.
  - (* frame *)
    match goal with E : step _ _ _ _ _ _ = _ |- _ => eapply IHs in E as [? ?]; auto end.
    + split; [apply only_refl|]. eapply mine_up; [|eassumption]. intros I. apply inu_same; auto.
      apply inu_same in I; [|now apply (unit_of_ok a k)]. destruct q. eapply same_unit_up; eauto.
    + now apply (unit_of_ok a k).
  - (* copies under way *)
    match goal with E : step _ _ _ _ _ _ = _ |- _ => eapply IHs in E as [? ?]; auto end.
    split; auto. now apply (only_scope a b k (Some x)) in H.
Qed.

End Units.
