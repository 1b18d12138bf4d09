(** A type checker for programs, that decides the rules of Typing. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step.
Import ListNotations.

Section Check.
Context {M : Machine} {Fs : Functions}.
Variable D : site -> kind * bty * nat.

Definition bty_eqb (a b : bty) : bool := match a, b with TInt, TInt | TBool, TBool => true | _, _ => false end.
Lemma bty_eqb_spec a b : bty_eqb a b = true <-> a = b.
Proof. destruct a, b; simpl; split; congruence. Qed.
Lemma kind_eqb_spec a b : kind_eqb a b = true <-> a = b.
Proof. destruct a, b; simpl; split; congruence. Qed.

Definition is_ty (o : option bty) (b : bty) : bool := match o with Some b' => bty_eqb b' b | None => false end.
Lemma is_ty_spec o b : is_ty o b = true <-> o = Some b.
Proof. destruct o; simpl; rewrite ?bty_eqb_spec; split; congruence. Qed.

Fixpoint echeck (G : ctx) (p d : persp) (e : expr) : option bty :=
  match e with
  | EInt _ => Some TInt
  | EBool _ => Some TBool
  | EVar x => match G x with Some (q, TBase b) => if pleb d q then Some b else None | _ => None end
  | EId => if id_okb d p then Some TInt else None
  | ERead l x e =>
      match G x with
      | Some (q, TArr l' b) =>
          if kind_eqb l l' && pleb d q && may_touch l p && is_ty (echeck G p d e) TInt then Some b else None
      | _ => None
      end
  | EBop _ e1 e2 => if is_ty (echeck G p d e1) TInt && is_ty (echeck G p d e2) TInt then Some TInt else None
  | ECmp _ e1 e2 => if is_ty (echeck G p d e1) TInt && is_ty (echeck G p d e2) TInt then Some TBool else None
  end.

Definition site_is (st : site) (l : kind) (b : bty) (len : nat) : bool :=
  let '(l', b', len') := D st in kind_eqb l' l && bty_eqb b' b && (len' =? len).

Fixpoint args_check (G : ctx) (p : persp) (es : list expr) (ps : list (name * persp * ty)) : bool :=
  match es, ps with
  | [], [] => true
  | e :: es, (x, q, t) :: ps =>
      match t, e with
      | TBase b, _ => is_ty (echeck G p q e) b
      | TArr l b, EVar y =>
          match G y with Some (q', TArr l' b') => peqb q' q && kind_eqb l' l && bty_eqb b' b | _ => false end
      | _, _ => false
      end && args_check G p es ps
  | _, _ => false
  end.
Fixpoint distinct (l : list name) : bool :=
  match l with [] => true | x :: l => negb (existsb (Nat.eqb x) l) && distinct l end.

(** The run-time forms are not programs, hence refused. *)
Fixpoint check (G : ctx) (h : level) (n al m : nat) (s : stmt) : bool :=
  match s with
  | SSkip => true
  | SSeq s1 s2 => check G h n al m s1 && check G h n al m s2
  | SSplit n1 n2 s1 s2 =>
      (0 <? n1) && (n1 + n2 <=? n) && dvdb n1 al && check G h n1 al m s1 &&
      (if n2 =? 0 then match s2 with SSkip => true | _ => false end
       else dvdb n2 al && dvdb n2 n1 && check G h n2 (Nat.gcd al n1) m s2)
  | SDestruct s => match down (h, n) with Some (h', n') => check G h' n' 0 m s | None => false end
  | SGroup q s => negb (q =? 0) && dvdb q n && check G h (n / q) (if q =? 1 then al else n / q) m s
  | SAssign x e =>
      match G x with
      | Some (q, TBase b) => pleb q (h, n) && is_ty (echeck G (h, n) q e) b
      | _ => false
      end
  | SStore l x e1 e2 =>
      match G x with
      | Some (q, TArr l' b) =>
          kind_eqb l l' && pleb q (h, n) && (kind_eqb l Local || (peqb q (Thread, 1) && peqb (h, n) (Thread, 1))) &&
          is_ty (echeck G (h, n) q e1) TInt && is_ty (echeck G (h, n) q e2) b
      | _ => false
      end
  | SDecl x q b e s =>
      pleb q (h, n) && is_ty (echeck G (h, n) q e) b && check (ups G x (Some (q, TBase b))) h n al m s
  | SLocal x q b len s => pleb q (h, n) && check (ups G x (Some (q, TArr Local b))) h n al m s
  | SAlloc Local _ _ _ _ _ => false
  | SAlloc Global x b len st s =>
      site_is st Global b len && check (ups G x (Some ((h, n), TArr Global b))) h n al m s
  | SAlloc Shared x b len st s =>
      site_is st Shared b len && peqb (h, n) (Block, 1) && (bytes b len <=? m) &&
      check (ups G x (Some ((Block, 1), TArr Shared b))) h n al (m - bytes b len) s
  | SIf e s1 s2 => is_ty (echeck G (h, n) (h, n) e) TBool && check G h n al m s1 && check G h n al m s2
  | SWhile e s => is_ty (echeck G (h, n) (h, n) e) TBool && check G h n al m s
  | SPartition x y c e s =>
      match G x with
      | Some (q, TArr l b) =>
          peqb q (h, n) && negb (kind_eqb l Local) && dvdb c n && is_ty (echeck G (h, n) (h, n / c) e) TInt &&
          check (ups (ups G x None) y (Some ((h, n / c), TArr l b))) h n al m s
      | _ => false
      end
  | SLower x y e s =>
      match G x, down (h, n) with
      | Some (q, TArr l b), Some q' =>
          peqb q (h, n) && negb (kind_eqb l Local) && is_ty (echeck G (h, n) q' e) TInt &&
          check (ups (ups G x None) y (Some (q', TArr l b))) h n al m s
      | _, _ => false
      end
  | SClaim x y n' a s =>
      match G x with
      | Some (q, TArr l b) =>
          peqb q (h, n) && negb (kind_eqb l Local) && dvdb n' n && (a * n' + n' <=? n) &&
          check (ups (ups G x None) y (Some ((h, n'), TArr l b))) h n' (Nat.gcd al (a * n')) m s
      | _ => false
      end
  | SCall f es =>
      match fn f with
      | Some fd =>
          pleb (fpersp fd) (h, n) && args_check G (h, n) es (params fd) && distinct (passed es (params fd)) && (fbytes fd <=? m)
      | None => false
      end
  | SCopy l x l' z _ =>
      match G x, G z with
      | Some (q, TArr lx b), Some (r, TArr lz b') =>
          kind_eqb lx l && kind_eqb lz l' && bty_eqb b b' && pleb q (h, n) && pleb q r &&
          (kind_eqb l Local || (peqb q (Thread, 1) && peqb (h, n) (Thread, 1))) && may_touch l' (h, n)
      | _, _ => false
      end
  | SAsync l x y s =>
      match G x with
      | Some (q, TArr l' b) =>
          kind_eqb l l' && peqb q (Thread, 1) && peqb (h, n) (Thread, 1) &&
          check (ups (ups G x None) y (Some ((Thread, 1), TAsync b (ups G x None)))) h n al m s
      | _ => false
      end
  | SAsyncCopy y l z _ =>
      match G y, G z with
      | Some (q, TAsync b g), Some (r, TArr lz b1) =>
          match g z with
          | Some (r', TArr lz' b2) =>
              peqb q (Thread, 1) && peqb (h, n) (Thread, 1) && kind_eqb lz l && kind_eqb lz' l &&
              bty_eqb b1 b && bty_eqb b2 b && peqb r' r && pleb (Thread, 1) r
          | _ => false
          end
      | _, _ => false
      end
  | SSync _ | SWait _ _ | SArm _ _ _ | SScope _ _ _ _ _ _ | SFrame _ _ _ _ | SFlying _ _ _ _ _ => false
  end.

Lemma may_touch_spec l p : may_touch l p = true <-> (l = Shared -> ple p (Block, 1)).
Proof. unfold may_touch. destruct l; simpl; rewrite ?pleb_spec; intuition discriminate. Qed.

Ltac split_all :=
  repeat (spec; match goal with
  | H : kind_eqb _ _ = true |- _ => apply kind_eqb_spec in H
  | H : bty_eqb _ _ = true |- _ => apply bty_eqb_spec in H
  | H : is_ty _ _ = true |- _ => apply is_ty_spec in H
  | H : may_touch _ _ = true |- _ => pose proof (proj1 (may_touch_spec _ _) H); clear H
  | H : id_okb _ _ = true |- _ => apply id_okb_spec in H
  | H : (if ?c then Some _ else None) = Some _ |- _ => destruct c eqn:?; [injection H as <-|discriminate H]
  end); spec.

Ltac cases_of H :=
  repeat match type of H with
  | context [match ?v with _ => _ end] =>
      lazymatch type of v with bool => fail | option bty => fail | stmt => fail | _ => destruct v eqn:?;
        try discriminate H end
  end.

Lemma echeck_sound G p d e : forall b, echeck G p d e = Some b -> ety G p d e b.
Proof. induction e; simpl; intros b' H; cases_of H; split_all; try injection H as <-; subst; econstructor; eauto. Qed.

Lemma site_is_spec st l b len : site_is st l b len = true <-> D st = (l, b, len).
Proof.
  unfold site_is. destruct (D st) as [[l' b'] len']. split; intros H.
  - split_all. now subst.
  - injection H as -> -> ->. now rewrite (proj2 (kind_eqb_spec _ _) eq_refl), (proj2 (bty_eqb_spec _ _) eq_refl), Nat.eqb_refl.
Qed.

Lemma not_local l : kind_eqb l Local = false -> l <> Local.
Proof. destruct l; simpl; congruence. Qed.

Lemma echeck_complete G p d e b : ety G p d e b -> echeck G p d e = Some b.
Proof.
  induction 1; simpl; auto; try (now rewrite IHety1, IHety2).
  - now rewrite H, (proj2 (pleb_spec _ _) H0).
  - now rewrite (proj2 (id_okb_spec _ _) H).
  - rewrite H, (proj2 (pleb_spec _ _) H0), (proj2 (may_touch_spec _ _) H1), (proj2 (kind_eqb_spec _ _) eq_refl).
    now rewrite IHety.
Qed.

Lemma is_ty_complete G p d e b : ety G p d e b -> is_ty (echeck G p d e) b = true.
Proof. intros H. now apply is_ty_spec, echeck_complete. Qed.

Lemma args_check_spec G p es ps : args_check G p es ps = true <-> Forall2 (arg_ty G p) es ps.
Proof.
  revert ps. induction es as [|e es IH]; intros [|[[x q] t] ps]; simpl; try (split; [discriminate | intros H; inversion H]).
  - split; constructor.
  - rewrite andb_true_iff, IH. split.
    + intros [He Ha]. constructor; auto.
      destruct t as [b|l b|]; try discriminate; [constructor; now apply echeck_sound, is_ty_spec|].
      destruct e; try discriminate. destruct (G x0) as [[q' [b'|l' b'|]]|] eqn:E; try discriminate. split_all. subst.
      now constructor.
    + intros H. inversion H; subst. split; auto.
      match goal with H : arg_ty _ _ _ _ |- _ => inversion H; subst end; [now apply is_ty_complete|].
      match goal with H : G _ = Some _ |- _ => rewrite H end.
      now rewrite (proj2 (peqb_spec _ _) eq_refl), (proj2 (kind_eqb_spec _ _) eq_refl), (proj2 (bty_eqb_spec _ _) eq_refl).
Qed.

Lemma distinct_spec l : distinct l = true <-> NoDup l.
Proof.
  induction l as [|x l IH]; simpl; [split; constructor|]. rewrite andb_true_iff, negb_true_iff, IH.
  assert (X : existsb (Nat.eqb x) l = true <-> In x l).
  { rewrite existsb_exists. split; [intros (y & Hy & E) | intros Hx; exists x; split; [auto | apply Nat.eqb_refl]].
    apply Nat.eqb_eq in E as ->. auto. }
  rewrite NoDup_cons_iff, <- X. destruct (existsb (Nat.eqb x) l); intuition congruence.
Qed.

Lemma orb_store l q p : kind_eqb l Local || (peqb q (Thread, 1) && peqb p (Thread, 1)) = true ->
  l <> Local -> q = (Thread, 1) /\ p = (Thread, 1).
Proof. rewrite orb_true_iff, andb_true_iff, !peqb_spec, kind_eqb_spec. tauto. Qed.

Theorem check_sound s : forall G h n al m, check G h n al m s = true -> sty D G h n al m s.
Proof.
  Local Arguments down : simpl never.
  induction s; simpl; intros G h N al m H; try discriminate; cases_of H; split_all; subst;
    try match goal with H : (h, N) = (_, _) |- _ => injection H as -> -> end;
    try (econstructor; eauto using echeck_sound, not_local, orb_store; fail).
  - (* split *)
    match goal with H : (if n2 =? 0 then _ else _) = true |- _ => destruct (Nat.eqb_spec n2 0) as [->|] end.
    + destruct s2; try discriminate. apply T_Split'; auto.
    + split_all. apply T_Split'; auto. right. repeat split; auto; lia.
  - (* group *)
    match goal with H : Nat.divide q N |- _ => destruct H as [c ->] end.
    rewrite Nat.div_mul in * by auto. rewrite (Nat.mul_comm c q). constructor; auto.
  - (* alloc shared *)
    replace m with ((m - bytes b len) + bytes b len) by lia. constructor; auto. now apply site_is_spec.
  - (* alloc global *) constructor; auto. now apply site_is_spec.
  - (* call *) econstructor; eauto; [now apply args_check_spec | now apply distinct_spec].
Qed.

(** Programs: statements without the run-time forms. *)
Fixpoint source (s : stmt) : bool :=
  match s with
  | SSkip | SAssign _ _ | SStore _ _ _ _ | SCall _ _ | SCopy _ _ _ _ _ | SAsyncCopy _ _ _ _ => true
  | SSeq s1 s2 | SSplit _ _ s1 s2 | SIf _ s1 s2 => source s1 && source s2
  | SDestruct s | SGroup _ s | SDecl _ _ _ _ s | SLocal _ _ _ _ s | SAlloc _ _ _ _ _ s | SWhile _ s
  | SPartition _ _ _ _ s | SLower _ _ _ s | SClaim _ _ _ _ s | SAsync _ _ _ s => source s
  | SSync _ | SWait _ _ | SArm _ _ _ | SScope _ _ _ _ _ _ | SFrame _ _ _ _ | SFlying _ _ _ _ _ => false
  end.

Theorem check_complete G h n al m s : sty D G h n al m s -> source s = true -> check G h n al m s = true.
Proof.
  assert (P : forall q, peqb q q = true) by (intros; now apply peqb_spec).
  assert (L : forall l, l <> Local -> kind_eqb l Local = false) by (intros [| |]; simpl; congruence).
  induction 1; simpl; intros Hs; try discriminate; repeat match goal with
    | H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?]
    | H : ?g _ = Some (_, _) |- _ => rewrite H; clear H
    | H : down _ = Some _ |- _ => rewrite H; clear H
    | H : ety _ _ _ _ _ |- _ => first [ rewrite (is_ty_complete _ _ _ _ _ H) | rewrite (echeck_complete _ _ _ _ _ H) ]; clear H
    | H : Nat.divide _ _ |- _ => rewrite (proj2 (dvdb_spec _ _) H); clear H
    | H : ple _ _ |- _ => rewrite (proj2 (pleb_spec _ _) H); clear H
    | H : D _ = _ |- _ => rewrite (proj2 (site_is_spec _ _ _ _) H); clear H
    | H : 0 < ?n |- context [?n =? 0] => rewrite (proj2 (Nat.eqb_neq n 0)) by lia
    | H : 0 < _ |- _ => rewrite (proj2 (Nat.ltb_lt _ _) H); clear H
    | H : _ <= _ |- _ => rewrite (proj2 (Nat.leb_le _ _) H); clear H
    | H : _ = Shared -> _ |- _ => rewrite (proj2 (may_touch_spec _ _) H); clear H
    | H : ?l <> Local |- _ => rewrite (L _ H); clear H
    | H : fn _ = Some _ |- _ => rewrite H; clear H
    | H : Forall2 _ _ _ |- _ => rewrite (proj2 (args_check_spec _ _ _ _) H); clear H
    | H : NoDup _ |- _ => rewrite (proj2 (distinct_spec _) H); clear H
    end; rewrite ?P, ?(proj2 (kind_eqb_spec _ _) eq_refl), ?(proj2 (bty_eqb_spec _ _) eq_refl); simpl;
      rewrite ?IHsty, ?IHsty1, ?IHsty2 by auto; auto.
  all: try (match goal with H : ?l <> Local -> _ |- _ => destruct l; auto; destruct H as [-> E]; try discriminate;
    rewrite E; auto end; fail).
  - destruct H2 as [[-> ->]|(P' & D1 & D2)]; auto.
    now rewrite (proj2 (Nat.eqb_neq n2 0)), (proj2 (dvdb_spec _ _) D1), (proj2 (dvdb_spec _ _) D2) by lia.
  - rewrite (proj2 (Nat.eqb_neq _ _) H), (Nat.mul_comm q n), Nat.div_mul by auto.
    rewrite (proj2 (dvdb_spec q (n * q))) by apply Nat.divide_factor_r. simpl. now rewrite IHsty by auto.
  - replace (m + bytes b len - bytes b len) with m by lia. apply andb_true_iff; split; [apply Nat.leb_le; lia | apply IHsty; auto].
Qed.

(** * Programs: a table of functions, each of which calls those before it alone *)

Fixpoint below (i : nat) (s : stmt) : bool :=
  match s with
  | SCall f _ => f <? i
  | SSkip | SAssign _ _ | SStore _ _ _ _ | SSync _ | SWait _ _ | SCopy _ _ _ _ _ | SAsyncCopy _ _ _ _ => true
  | SSeq s1 s2 | SSplit _ _ s1 s2 | SIf _ s1 s2 => below i s1 && below i s2
  | SDestruct s | SGroup _ s | SDecl _ _ _ _ s | SLocal _ _ _ _ s | SAlloc _ _ _ _ _ s | SWhile _ s
  | SPartition _ _ _ _ s | SLower _ _ _ s | SClaim _ _ _ _ s | SArm _ _ s | SScope _ _ _ _ _ s | SFrame _ _ _ s
  | SAsync _ _ _ s | SFlying _ _ _ _ s => below i s
  end.

Definition check_fun (i : nat) (fd : func) : bool :=
  distinct (map pname (params fd)) && below i (fbody fd) &&
  check (ctx_of (params fd)) (fst (fpersp fd)) (snd (fpersp fd)) (whole (fpersp fd)) (fbytes fd) (fbody fd).

Lemma check_fun_ok i fd : check_fun i fd = true -> fun_ok D fd.
Proof. unfold check_fun, fun_ok. intros H. split_all. split; [now apply distinct_spec | now apply check_sound]. Qed.

End Check.

Definition table (fs : list func) : Functions := fun f => nth_error fs f.
Definition check_program `{Machine} D (fs : list func) (G : ctx) (s : stmt) : bool :=
  let Fs := table fs in
  forallb (fun i => match fn i with Some fd => check_fun D i fd | None => false end) (seq 0 (length fs)) &&
  check D G Grid 1 0 SMEM s.

(** All functions of a program that checks have types, and so has the program. *)
Theorem check_program_sound `{Machine} D fs G s : check_program D fs G s = true ->
  @fns_ok _ (table fs) D /\ @sty _ (table fs) D G Grid 1 0 SMEM s.
Proof.
  unfold check_program. intros H0. apply andb_true_iff in H0 as [Hf Hs]. split; [|now apply check_sound].
  intros f fd Hfd. apply (@check_fun_ok _ (table fs) D f). rewrite forallb_forall in Hf. specialize (Hf f).
  unfold fn in *. rewrite Hfd in Hf. apply Hf, in_seq. unfold table in Hfd.
  assert (f < length fs) by (apply nth_error_Some; congruence). lia.
Qed.
