(** Type-and-perspective safety: a well-typed program never reaches a stuck state of the machine. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step.
Import ListNotations.

Section Safety.
Context {M : Machine} {Fs : Functions}.
Variable D : site -> kind * bty * nat.

Notation vty := (vty D).
Notation sty := (sty D).
Notation env_ok := (env_ok D).
Notation fns_ok := (fns_ok D).
Notation mem_ok := (mem_ok D).

(** * Positions stay well formed and aligned *)

Lemma pos0_ok th : pos_ok th pos0.
Proof. repeat split; simpl; auto. exists 0; auto. Qed.

Lemma sub_left_ok th k n1 : pos_ok th k -> idx k < n1 -> Nat.divide n1 (base k) -> pos_ok th (sub_left k n1).
Proof. intros (H1 & H2 & H3) ? ?. repeat split; simpl; auto. Qed.

Lemma sub_right_ok th k n1 n2 :
  pos_ok th k -> n1 <= idx k -> idx k < n1 + n2 -> Nat.divide n2 (base k + n1) -> pos_ok th (sub_right k n1 n2).
Proof. intros (H1 & H2 & H3) ? ? ?. repeat split; simpl; auto; lia. Qed.

Lemma sub_group_ok th k n : pos_ok th k -> 0 < n -> Nat.divide n (base k) -> pos_ok th (sub_group k n).
Proof.
  intros (H1 & H2 & H3) ? ?. repeat split; simpl.
  - apply Nat.mod_upper_bound; lia.
  - apply Nat.divide_add_r; auto. apply Nat.divide_factor_r.
  - rewrite <- H3. pose proof (Nat.div_mod_eq (idx k) n). lia.
Qed.

Lemma sub_arm_ok th k n a :
  pos_ok th k -> a * n <= idx k -> idx k < a * n + n -> Nat.divide n (base k) -> pos_ok th (sub_arm k n a).
Proof.
  intros (H1 & H2 & H3) ? ? ?. repeat split; simpl; try lia. apply Nat.divide_add_r; auto. apply Nat.divide_factor_r.
Qed.

Lemma sub_down_ok th k k' : tid_ok th -> sub_down th k = Some k' -> pos_ok th k'.
Proof.
  intros [Hb Ht] H. unfold sub_down, down in H.
  destruct (pp k) as [[| |] [|[|n]]]; simpl in H; try discriminate;
    injection H as <-; repeat split; simpl; auto; exists 0; auto.
Qed.

Lemma sub_down_pp th k h n : down (pp k) = Some (h, n) -> sub_down th k = Some (mkpos h n 0 (coord th h)).
Proof. unfold sub_down. now intros ->. Qed.

(** A unit of [q] inside one of the code's. *)
Lemma unit_of_ok th k q : tid_ok th -> pos_ok th k -> ple q (pp k) ->
  pos_ok th (unit_of th q) /\ Nat.divide (whole q) (base (unit_of th q)).
Proof.
  intros [Hb Ht] [Hp _] Hq. assert (Hn : snd q <> 0).
  { intros E. unfold ple in Hq. rewrite E in Hq. destruct q as [[| |] n]; simpl in *;
      destruct Hq as [[? [c Hc]]|[_ [c Hc]]]; lia. }
  split.
  - split; [now apply Nat.mod_upper_bound | split; [apply Nat.divide_factor_r |]]. simpl.
    pose proof (Nat.div_mod_eq (coord th (fst q)) (snd q)). lia.
  - unfold whole. destruct q as [h n]; simpl in *.
    destruct h; simpl; [destruct (Nat.eqb_spec n T) as [->|] | destruct (Nat.eqb_spec n B) as [->|] |];
      try apply Nat.divide_factor_r; rewrite Nat.div_small by (auto; lia); exists 0; auto.
Qed.

(** * Environments *)

Lemma env_ok_ups G n x q v t : env_ok G n -> vty v t -> env_ok (ups G x (Some (q, t))) (ups n x (Some (q, v))).
Proof. intros H Hv y q' t'. names. intros [= <- <-]. eauto. Qed.

Lemma env_ok_hide hid G n : env_ok G n -> env_ok (hide hid G) (hide hid n).
Proof. intros H y q t. names. Qed.

Lemma env_ok_set G n x q v t : env_ok G n -> G x = Some (q, t) -> vty v t -> env_ok G (ups n x (Some (q, v))).
Proof. intros H Hx Hv y q' t' Hy. names. rewrite Hx in Hy. injection Hy as <- <-. eauto. Qed.

Lemma env_ok_restore hid G n n' x e : env_ok G n -> env_ok (ups (hide hid G) x e) n' -> env_ok G (restore hid x n n').
Proof. intros H H' y q t Hy. specialize (H' y q t). names. Qed.

(** * Memories: any thread's store keeps them typed for all *)

Lemma mem_ok_read m th st l b len i : mem_ok m -> l <> Local -> D st = (l, b, len) -> tyof (mread m th l st i) = b.
Proof. intros [Hg Hs] Hl Hd. destruct l; simpl; eauto. congruence. Qed.

Lemma mem_ok_write m th l st b len i v :
  mem_ok m -> l <> Local -> D st = (l, b, len) -> tyof v = b -> mem_ok (mwrite m th l st i v).
Proof.
  intros [Hg Hs] Hl Hd Hv. destruct l; simpl; [congruence| |]; split; simpl; eauto; unfold ups, upz.
  - intros blk st' j b' len' Hd'. destruct (blk =? fst th); eauto.
    destruct (Nat.eqb_spec st' st) as [->|]; eauto. destruct (j =? i)%Z; eauto. congruence.
  - intros st' j b' len' Hd'. destruct (Nat.eqb_spec st' st) as [->|]; eauto. destruct (j =? i)%Z; eauto. congruence.
Qed.

(** * Expressions: a well-typed one has a value of its type, or an index is out of bounds *)

Lemma may_touch_ok l p : (l = Shared -> ple p (Block, 1)) -> may_touch l p = true.
Proof. intros H. destruct l; auto. unfold may_touch; simpl. now apply pleb_spec, H. Qed.

Lemma kind_eqb_refl l : kind_eqb l l = true.
Proof. now destruct l. Qed.

Lemma tyof_int v : tyof v = TInt -> exists z, v = VInt z.
Proof. destruct v; [eauto | discriminate]. Qed.
Lemma tyof_bool v : tyof v = TBool -> exists z, v = VBool z.
Proof. destruct v; [discriminate | eauto]. Qed.

Lemma eval_safe th k d G n m e b : ety G (pp k) d e b -> env_ok G n -> mem_ok m ->
  eval th k d n m e = EOob \/ exists v, eval th k d n m e = EVal v /\ tyof v = b.
Proof.
  intros He Hn Hm. induction He; simpl; eauto;
    try (destruct IHHe1 as [->|(v1 & -> & Hv1)]; simpl; auto; apply tyof_int in Hv1 as [z1 ->];
      destruct IHHe2 as [->|(v2 & -> & Hv2)]; simpl; auto; apply tyof_int in Hv2 as [z2 ->]; eauto; fail).
  - destruct (Hn _ _ _ H) as (v & -> & Hv). inversion Hv; subst. rewrite (proj2 (pleb_spec _ _) H0). eauto.
  - rewrite (proj2 (id_okb_spec _ _) H). eauto.
  - destruct IHHe as [->|(v & -> & Hv)]; auto. apply tyof_int in Hv as [z ->]. destruct (Hn _ _ _ H) as (w & -> & Hw).
    rewrite (proj2 (pleb_spec _ _) H0). inversion Hw; subst; simpl.
    + destruct (inb z len); eauto.
    + rewrite kind_eqb_refl, may_touch_ok by auto. simpl.
      destruct (inb (off + z) len); eauto. right. eexists; split; eauto. eapply mem_ok_read; eauto.
Qed.

(** * Calls: the parameters get values of their types *)

Lemma bind_safe th k G n m ps : env_ok G n -> mem_ok m -> NoDup (map pname ps) -> forall es,
  Forall2 (arg_ty G (pp k)) es ps ->
  bind th k n m ps es = AOob \/ exists n' outs, bind th k n m ps es = AVals n' outs /\ env_ok (ctx_of ps) n' /\
    forall x y, In (x, y) outs ->
      In x (map pname ps) /\ exists q1 q2 t, ctx_of ps x = Some (q1, t) /\ G y = Some (q2, t).
Proof.
  intros Hn Hm. induction ps as [|[[x q] t] ps IH]; intros Hd es Ha; inversion Ha; subst; simpl.
  - right. eexists _, _. split; [reflexivity|]. split; [intros ? ? ?; discriminate | intros ? ? []].
  - inversion Hd; subst. destruct (IH ltac:(assumption) _ ltac:(eassumption)) as [->|(n' & outs & -> & He & Ho)]; auto.
    assert (Keep : forall z y, In (z, y) outs -> In z (x :: map pname ps) /\
                     exists q1 q2 t', ups (ctx_of ps) x (Some (q, t)) z = Some (q1, t') /\ G y = Some (q2, t')).
    { intros z y Hz. destruct (Ho _ _ Hz) as [Hin Hex]. split; [now right|]. unfold ups.
      destruct (Nat.eqb_spec z x) as [->|]; auto. contradiction. }
    match goal with H : arg_ty _ _ _ _ |- _ => inversion H; subst end.
    + match goal with H : ety _ _ _ ?e _ |- _ =>
        destruct (eval_safe th k q G n m e b H Hn Hm) as [->|(v & -> & <-)]; auto end.
      right. eexists _, _. split; [reflexivity|]. split; auto. apply env_ok_ups; auto. constructor.
    + match goal with H : G ?y = Some _ |- _ => destruct (Hn _ _ _ H) as (v & -> & Hv) end.
      rewrite (proj2 (peqb_spec _ _) eq_refl). assert (is_arr v = true) as -> by (inversion Hv; auto).
      right. eexists _, _. split; [reflexivity|]. split; [now apply env_ok_ups|]. intros z y' [[= <- <-]|Hz];
        [|now apply Keep].
      split; [now left|]. unfold ups. rewrite Nat.eqb_refl. eauto.
Qed.

Lemma env_ok_back G Gf p n0 n outs : env_ok G n -> env_ok Gf n0 ->
  (forall x y, In (x, y) outs -> exists q1 q2 t, Gf x = Some (q1, t) /\ G y = Some (q2, t)) ->
  env_ok G (back p outs n0 n).
Proof.
  intros Hn H0. induction outs as [|[x y] outs IH]; intros Ho; auto. simpl.
  assert (IH' : env_ok G (back p outs n0 n)) by (apply IH; intros; apply Ho; now right).
  destruct (Ho x y (or_introl eq_refl)) as (q1 & q2 & t & Hx & Hy).
  destruct (H0 _ _ _ Hx) as (v & -> & Hv). destruct (Hn _ _ _ Hy) as (w & -> & _).
  destruct (pleb q2 p && peqb q1 q2); auto. eapply env_ok_set; eauto.
Qed.

(** * Statements: progress and preservation of one thread, together *)

(** What a step of a well-typed statement may give. *)
Definition good (G : ctx) (h : level) (n al m : nat) (s : stmt) (r : res) : Prop :=
  match r with
  | Done => s = SSkip
  | Next s' n' m' _ => sty G h n al m s' /\ env_ok G n' /\ mem_ok m'
  | Oob => True
  | Stuck => False
  end.

Lemma good_inside G h n al m s f h' n' al' m' s' eta mu r :
  good G h' n' al' m' s r -> (forall s, sty G h' n' al' m' s -> sty G h n al m (f s)) ->
  env_ok G eta -> mem_ok mu -> good G h n al m s' (inside f eta mu r).
Proof.
  intros H Hf He Hmu. destruct r; simpl in *; auto.
  - repeat split; auto; try apply Hmu. constructor.
  - destruct H as (H1 & H2 & H3). auto.
Qed.

(** The value of an expression that the typing hypotheses speak of. *)
Ltac value e :=
  match goal with
  | H : ety ?G (pp ?k) ?d e _, He : env_ok ?G ?n, Hm : mem_ok ?m |- context [eval ?th ?k ?d ?n ?m e] =>
      let v := fresh "v" in let Hv := fresh "Hv" in let E := fresh "E" in
      destruct (eval_safe th k d G n m e _ H He Hm) as [E|(v & E & Hv)]; rewrite E; simpl; auto;
      try (apply tyof_int in Hv as [? ->]; simpl); try (apply tyof_bool in Hv as [? ->]; simpl)
  end.
(** The value of a variable. *)
Ltac lookup x :=
  match goal with
  | H : ?G x = Some _, He : env_ok ?G ?n |- _ =>
      let v := fresh "v" in let Hv := fresh "Hv" in
      destruct (He _ _ _ H) as (v & -> & Hv); inversion Hv; subst; try congruence
  end.

Ltac bools :=
  repeat match goal with
  | H : _ <= _ |- context [_ <=? _] => rewrite (proj2 (Nat.leb_le _ _) H)
  | |- context [pleb _ _] => rewrite (proj2 (pleb_spec _ _)) by assumption
  | |- context [dvdb _ _] => rewrite (proj2 (dvdb_spec _ _)) by assumption
  end; simpl.

Local Arguments down : simpl never.
Local Arguments Nat.max : simpl never.

Lemma store_safe th G n al m k eta mu l x q b e1 e2 :
  G x = Some (q, TArr l b) -> ple q (pp k) -> (l <> Local -> q = (Thread, 1) /\ pp k = (Thread, 1)) ->
  ety G (pp k) q e1 TInt -> ety G (pp k) q e2 b -> env_ok G eta -> mem_ok mu ->
  good G (lv k) n al m (SStore l x e1 e2) (store_ true th k eta mu l x e1 e2).
Proof.
  intros Hx Hq Hone H1 H2 He Hmu. unfold store_. lookup x; bools.
  - value e1. value e2. destruct (inb _ len); simpl; auto.
    repeat split; try apply Hmu; [constructor|]. eapply env_ok_set; eauto. constructor.
    intros j. unfold upz. destruct (j =? _)%Z; auto.
  - destruct Hone as [-> Hone]; [congruence|].
    rewrite kind_eqb_refl, may_touch_ok
      by (intros _; rewrite Hone; left; split; [simpl; lia | apply Nat.divide_1_l]). simpl.
    value e1. value e2. destruct (inb _ len); simpl; auto.
    split; [constructor|]. split; auto. eapply mem_ok_write; eauto.
Qed.

Hypothesis Hfns : fns_ok.

(** A scope that holds no shared memory has been entered. *)
Lemma scope_sty G h n al m hid x q v t s : vty v t -> sty (ups (hide hid G) x (Some (q, t))) h n al m s ->
  sty G h n al m (SScope hid x q v 0 s).
Proof. intros Hv Hs. rewrite <- (Nat.add_0_r m). econstructor; eauto. Qed.

(** A step that left what it does not speak of as it was. *)
Ltac sound := repeat split; auto; try (match goal with H : Typing.mem_ok _ _ |- _ => apply H end);
  try (constructor; fail).

(** The position as the rules have it. *)
Ltac placed Hk := unfold pp in Hk; injection Hk as Hh Hn; subst.
Ltac divides := solve [assumption | apply Nat.divide_factor_r | eapply Nat.divide_trans; eauto; apply Nat.gcd_divide_l
  | apply Nat.divide_add_r; solve [assumption | apply Nat.divide_factor_r | apply Nat.gcd_divide_r
      | eapply Nat.divide_trans; eauto | eapply Nat.divide_trans; [apply Nat.gcd_divide_l | assumption]]].

Theorem step_safe th : tid_ok th -> forall s G h n al m k u eta mu,
  sty G h n al m s -> pp k = (h, n) -> pos_ok th k -> Nat.divide al (base k) -> u + m <= SMEM ->
  env_ok G eta -> mem_ok mu -> good G h n al m s (step th k u eta mu s).
Proof.
  intros Hth. induction s; intros G h N al m k u eta mu Hs Hk Hpos Hal Hu He Hmu; inversion Hs; subst; simpl; auto;
    try (sound; constructor; auto; constructor; auto; fail).
  - (* seq *)
    assert (IH : good G h N al m s1 (step th k u eta mu s1)) by eauto.
    destruct (step th k u eta mu s1); simpl in *; auto.
    destruct IH as (I1 & I2 & I3). repeat split; auto; try apply I3. constructor; auto.
  - (* split *)
    placed Hk. assert (Nat.divide n1 (base k)) by divides.
    match goal with H : _ \/ _ |- _ => rename H into Arm end. assert (Nat.divide (Nat.max 1 n2) (base k + n1)).
    { destruct Arm as [[-> _]|(? & ? & ?)]; [apply Nat.divide_1_l | replace (Nat.max 1 n2) with n2 by lia; divides]. }
    bools. destruct (Nat.ltb_spec (idx k) n1); [|destruct (Nat.ltb_spec (idx k) (n1 + n2)); simpl; auto; try sound].
    + eapply good_inside; eauto; [eapply IHs1; eauto; now apply sub_left_ok | intros; constructor; auto].
    + destruct Arm as [[-> _]|(? & ? & ?)]; [lia|]. replace (Nat.max 1 n2) with n2 in * by lia.
      eapply good_inside; eauto; [eapply IHs2; eauto; [now apply sub_right_ok | simpl; divides] | intros; constructor;
        auto].
  - (* destruct *)
    match goal with H : down _ = Some _ |- _ => pose proof H as Hd'; rewrite <- Hk in Hd';
      apply (sub_down_pp th) in Hd' end.
    rewrite Hd'. eapply good_inside; eauto.
    + eapply IHs; eauto; simpl; [eapply sub_down_ok; eauto | exists 0; auto].
    + intros; econstructor; eauto.
  - (* group *)
    placed Hk. assert (n <> 0) by (destruct Hpos; intros ->; lia).
    rewrite Hn, (Nat.mul_comm q n), Nat.div_mul by auto. assert (Nat.divide q (n * q)) by divides.
    assert (Nat.divide n (base k)) by (apply (Nat.divide_trans _ (sz k)); [rewrite Hn; divides | apply Hpos]).
    bools. rewrite (Nat.mul_comm n q). eapply good_inside; eauto.
    + eapply IHs; eauto; [apply sub_group_ok; auto; lia|]. destruct (Nat.eqb_spec q 1) as [->|]; simpl; [|divides].
      rewrite Nat.div_small by (destruct Hpos; lia). now rewrite Nat.add_0_r.
    + intros; constructor; auto.
  - (* assign *)
    lookup x. rewrite <- Hk in *. bools. value e. repeat split; try apply Hmu; [constructor|]. eapply env_ok_set;
      eauto. rewrite <- Hv0. constructor.
  - (* store *)
    rewrite <- Hk in *. injection Hk as <- <-. eapply store_safe; eauto.
  - (* decl *)
    rewrite <- Hk in *. bools. value e. sound. eapply scope_sty; eauto. rewrite <- Hv. constructor.
  - (* local array *)
    rewrite <- Hk in *. bools. sound. eapply scope_sty; eauto. constructor. intros; destruct b; auto.
  - (* alloc global *)
    rewrite Hk. sound. eapply scope_sty; eauto. constructor; auto. discriminate.
  - (* alloc shared *)
    rewrite Hk. assert (u + bytes b len <= SMEM) by lia. bools.
    sound. econstructor; eauto. constructor; auto. discriminate.
  - (* if *)
    rewrite <- Hk in *. value e. sound. match goal with |- context [if ?z then _ else _] => destruct z end; auto.
  - (* partition *)
    placed Hk. lookup x. rewrite (proj2 (peqb_spec _ _) eq_refl). bools. fold (pp k) in *. value e.
    sound. eapply scope_sty; eauto using sty_meet. constructor; auto.
  - (* lower *)
    rewrite <- Hk in *. lookup x. match goal with H : down _ = Some _ |- _ => rewrite H end.
    rewrite (proj2 (peqb_spec _ _) eq_refl). value e. sound. eapply scope_sty; eauto using sty_meet. constructor; auto.
  - (* claim *)
    placed Hk. lookup x. rewrite (proj2 (peqb_spec _ _) eq_refl).
    assert (Nat.divide n (base k)) by (eapply Nat.divide_trans; [eassumption | apply Hpos]). bools.
    sound. eapply scope_sty; [constructor; eauto | apply sty_meet; constructor; eauto].
  - (* call *)
    rewrite <- Hk in *. match goal with H : fn _ = Some _ |- _ => rewrite H; destruct (Hfns _ _ H) as [Hd Hb] end. bools.
    match goal with H : Forall2 _ _ _ |- _ =>
      destruct (bind_safe th k G eta mu _ He Hmu Hd _ H) as [->|(n' & outs & -> & Hn & Ho)]; simpl; auto end.
    split; auto. apply T_Frame with (ctx_of (params fd)); rewrite <- ?Hk; auto.
    + intros x y Hin. now destruct (Ho _ _ Hin).
    + eapply sty_more; eauto.
  - (* memcpy *)
    destruct len; simpl; sound; constructor; [|econstructor; eauto]. econstructor; eauto; repeat (econstructor; eauto).
  - (* async partition *)
    sound. econstructor; eauto. constructor. intros ? ? ? [].
  - (* async memcpy *)
    lookup y. rewrite Hk, (proj2 (pleb_spec _ _) (ple_refl _)). repeat split; try apply Hmu;
      [constructor|]. eapply env_ok_set; eauto. constructor.
    intros l' z' i Hin. apply in_app_iff in Hin as [Hin|Hin]; [|eauto].
    apply in_map_iff in Hin as (j & [= <- <- <-] & _). eauto.
  - (* wait *) destruct (r <? _); sound; constructor.
  - (* arm *)
    placed Hk. assert (Nat.divide n (base k)) by (eapply Nat.divide_trans; [eassumption | apply Hpos]). bools.
    destruct (Nat.leb_spec (a * n) (idx k)), (Nat.ltb_spec (idx k) (a * n + n)); simpl; auto; try sound.
    eapply good_inside; eauto; [eapply IHs; eauto; [now apply sub_arm_ok | simpl; divides] | intros; constructor; auto].
  - (* scope *)
    assert (He' : env_ok (ups (hide hid G) x (Some (q, t))) (ups (hide hid eta) x (Some (q, v))))
      by (apply env_ok_ups; auto; now apply env_ok_hide).
    match type of He' with env_ok ?G' ?eta' =>
      assert (IH : good G' h N al m0 s (step th k (u + cost) eta' mu s)) by (eapply IHs; eauto; lia) end.
    destruct (step th k (u + cost) _ mu s); simpl in *; auto; try sound.
    destruct IH as (I1 & I2 & I3). destruct (I2 x q t) as (v' & -> & Hv'); [unfold ups; now rewrite Nat.eqb_refl|].
    repeat split; try apply I3; [econstructor; eauto | eapply env_ok_restore; eauto].
  - (* frame *)
    rewrite <- Hk in *. bools. destruct (unit_of_ok th k q Hth Hpos ltac:(assumption)) as [Hp Hw].
    assert (IH : good Gf (fst q) (snd q) (whole q) m s (step th (unit_of th q) u n mu s)) by (eapply IHs; eauto).
    destruct (step th (unit_of th q) u n mu s); simpl in *; auto.
    + sound. eapply env_ok_back; eauto.
    + destruct IH as (I1 & I2 & I3). repeat split; auto; try apply I3. apply T_Frame with Gf; rewrite <- ?Hk; auto.
  - (* copies under way *)
    match goal with H : vty _ _ |- _ => pose proof H as Hp; inversion Hp as [| | |? ? ? Hps]; subst end.
    destruct (nth_error ps (who mu)) as [[[l' z] i]|] eqn:E.
    + destruct (Hps l' z i) as (r & Hz & Hr); [eapply nth_error_In; eauto|].
      unfold ups in Hz. destruct (z =? x); [discriminate|]. injection Hk as Hl Hn.
      assert (IH : good G (lv k) 1 al m (SStore l x (EInt i) (ERead l' z (EInt i)))
                     (store_ true th k eta mu l x (EInt i) (ERead l' z (EInt i)))).
      { eapply store_safe; unfold pp; rewrite ?Hl, ?Hn; eauto using ple_refl; [constructor | econstructor; eauto;
          [|constructor]].
        left; split; [simpl; lia | apply Nat.divide_1_l]. }
      destruct (store_ true th k eta mu l x _ _); simpl in *; try tauto; [discriminate|]. destruct IH as (_ & I2 & I3).
      repeat split; auto; try apply I3. econstructor; eauto. constructor. intros l0 z0 i0 Hin. apply (Hps l0 z0 i0).
      apply in_app_iff in Hin as [Hin|Hin];
        [rewrite <- (firstn_skipn (who mu) ps) | rewrite <- (firstn_skipn (S (who mu)) ps)]; apply in_app_iff; auto.
    + set (G' := ups (ups G x None) y (Some ((Thread, 1), TAsync b (ups G x None)))) in *.
      set (eta' := ups (ups eta x None) y (Some ((Thread, 1), VAsync ps))).
      assert (He' : env_ok G' eta') by (apply env_ok_ups; auto; now apply (env_ok_hide (Some x))).
      assert (IH : good G' Thread 1 al m s (step th k u eta' (pick (who mu - length ps) mu) s)) by (eapply IHs; eauto).
      destruct (step th k u eta' _ s); simpl in *; auto.
      * destruct ps; sound; econstructor; eauto.
      * destruct IH as (I1 & I2 & I3). destruct (I2 y (Thread, 1) (TAsync b (ups G x None))) as (v & -> & Hv).
        { unfold G', ups. now rewrite Nat.eqb_refl. }
        inversion Hv; subst. split; [eapply T_Flying; eauto | split; auto;
          exact (env_ok_restore (Some x) G eta n y _ He I2)].
Qed.

(** * The machine *)

(** Well-typed states: the memories are typed, and each thread that was not trapped has typed code and variables. *)
Definition thread_ok (G : ctx) (t : tstate) : Prop :=
  match t with Run s n _ => sty G Grid 1 0 SMEM s /\ env_ok G n | Trap _ => True end.
Definition state_ok (G : ctx) (S : state) : Prop := mem_ok (memory S) /\ forall th, thread_ok G (pool S th).

Lemma thread_step G th s n m : tid_ok th -> sty G Grid 1 0 SMEM s -> env_ok G n -> mem_ok m ->
  good G Grid 1 0 SMEM s (step th pos0 0 n m s).
Proof. intros. eapply step_safe; eauto; try reflexivity. apply pos0_ok. Qed.

Theorem progress G S th :
  state_ok G S -> tid_ok th ->
  ~ stuck (memory S) th (pool S th) /\
  (finished (pool S th) \/ trapped (pool S th) \/ exists S', mstep th S S').
Proof.
  intros [Hm HP] Hth. specialize (HP th). destruct S as [P m]; simpl in *.
  destruct (P th) as [s n h|h] eqn:E; simpl in *; auto.
  destruct HP as [Hs Hn]. pose proof (fun w => thread_step G th s n (pick w m) Hth Hs Hn Hm) as HG.
  split; [intros [w Ew]; specialize (HG w); now rewrite Ew in HG|]. specialize (HG 0).
  destruct (step th pos0 0 n (pick 0 m) s) eqn:Est; simpl in HG; [subst; auto | | | contradiction];
    right; right; eexists; [eapply M_Step | eapply M_Oob]; eauto.
Qed.

Theorem preservation G S S' th : state_ok G S -> mstep th S S' -> state_ok G S'.
Proof.
  intros [Hm HP] Hst. inversion Hst; subst; simpl in *.
  - pose proof (HP th) as Ht. rewrite H0 in Ht. destruct Ht as [Hs Hn].
    pose proof (thread_step G th s n (pick w m) H Hs Hn Hm) as HG. rewrite H1 in HG. destruct HG as (G1 & G2 & G3).
    split; auto. intros th'. simpl. unfold upt. destruct (tid_eqb th' th); simpl; auto. 
  - split; auto. intros th'. simpl. unfold upt. destruct (tid_eqb th' th); simpl; auto.
Qed.

(** Type-and-perspective safety, of every state that the machine can reach, for every thread of it. *)
Theorem safety G s n m S :
  sty G Grid 1 0 SMEM s -> env_ok G n -> mem_ok m -> reach (init s n m) S ->
  state_ok G S /\
  forall th, tid_ok th ->
    ~ stuck (memory S) th (pool S th) /\
    (finished (pool S th) \/ trapped (pool S th) \/ exists S', mstep th S S').
Proof.
  intros Hs Hn Hm HR. assert (HS : state_ok G S).
  { induction HR; [split; simpl; auto | eapply preservation; eauto]. }
  split; auto. intros; now apply (progress G).
Qed.

(** No thread ever holds more shared memory than the machine has. *)
Theorem shared_memory G s n m S th : sty G Grid 1 0 SMEM s -> env_ok G n -> mem_ok m -> reach (init s n m) S ->
  match pool S th with Run s' _ _ => live s' <= SMEM | Trap _ => True end.
Proof.
  intros Hs Hn Hm HR. destruct (safety G s n m S Hs Hn Hm HR) as [[_ HP] _].
  specialize (HP th). destruct (pool S th); simpl in *; auto. destruct HP. eapply live_le; eauto.
Qed.

End Safety.
