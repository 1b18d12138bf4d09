(** The checks of the semantics can be left out: for well-typed programs, a machine that compares no perspectives, no
    alignment and no budget takes the same steps, as compiled code does. What stays are the positions, which say where
    a thread is, and the shapes of values. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety.
Import ListNotations.

Section Erase.
Context {M : Machine} {Fs : Functions}.

Fixpoint eval' (th : tid) (k : pos) (d : persp) (n : env) (m : mem) (e : expr) : eres :=
  match e with
  | EInt z => EVal (VInt z)
  | EBool b => EVal (VBool b)
  | EVar x => match n x with Some (_, VB v) => EVal v | _ => EStuck end
  | EId => EVal (VInt (Z.of_nat (offset th k / size d)))
  | ERead l x e1 =>
      match eval' th k d n m e1 with
      | EVal (VInt i) =>
          match n x with
          | Some (_, VLoc len f) => if inb i len then EVal (f i) else EOob
          | Some (_, VArr _ st off len) => if inb (off + i) len then EVal (mread m th l st (off + i)) else EOob
          | _ => EStuck
          end
      | EVal _ => EStuck
      | r => r
      end
  | EBop o e1 e2 =>
      match eval' th k d n m e1 with
      | EVal (VInt a) =>
          match eval' th k d n m e2 with
          | EVal (VInt b) => EVal (VInt (do_bop o a b)) | EVal _ => EStuck | r => r end
      | EVal _ => EStuck
      | r => r
      end
  | ECmp o e1 e2 =>
      match eval' th k d n m e1 with
      | EVal (VInt a) =>
          match eval' th k d n m e2 with
          | EVal (VInt b) => EVal (VBool (do_cmp o a b)) | EVal _ => EStuck | r => r end
      | EVal _ => EStuck
      | r => r
      end
  end.

Fixpoint bind' (th : tid) (k : pos) (n : env) (m : mem) (ps : list (name * persp * ty)) (es : list expr) : ares :=
  match ps, es with
  | [], [] => AVals (fun _ => None) []
  | (x, q, t) :: ps, e :: es =>
      match bind' th k n m ps es with
      | AVals n' outs =>
          match t, e with
          | TBase _, _ =>
              match eval' th k q n m e with
              | EVal v => AVals (ups n' x (Some (q, VB v))) outs | EOob => AOob | EStuck => AStuck end
          | TArr _ _, EVar y =>
              match n y with
              | Some (_, VLoc len f) => AVals (ups n' x (Some (q, VLoc len f))) ((x, y) :: outs)
              | Some (_, VArr l st off len) => AVals (ups n' x (Some (q, VArr l st off len))) outs
              | _ => AStuck
              end
          | _, _ => AStuck
          end
      | r => r
      end
  | _, _ => AStuck
  end.

Fixpoint step' (th : tid) (k : pos) (n : env) (m : mem) (s : stmt) : res :=
  match s with
  | SSkip => Done
  | SSeq s1 s2 =>
      match step' th k n m s1 with
      | Done => Next s2 n m []
      | Next s1' n' m' ev => Next (SSeq s1' s2) n' m' ev
      | r => r
      end
  | SSplit n1 n2 s1 s2 =>
      if idx k <? n1 then inside (fun s' => SSplit n1 n2 s' s2) n m (step' th (sub_left k n1) n m s1)
      else if idx k <? n1 + n2 then
        inside (fun s' => SSplit n1 n2 s1 s') n m (step' th (sub_right k n1 n2) n m s2)
      else Next SSkip n m []
  | SDestruct s =>
      match sub_down th k with Some k' => inside SDestruct n m (step' th k' n m s) | None => Stuck end
  | SGroup q s => inside (SGroup q) n m (step' th (sub_group k (sz k / q)) n m s)
  | SAssign x e =>
      match n x with
      | Some (q, VB _) =>
          with_val (eval' th k q n m e) (fun v => Next SSkip (ups n x (Some (q, VB v))) m [EvSet q x (VB v)])
      | _ => Stuck
      end
  | SStore l x e1 e2 =>
      match n x with
      | Some (q, VLoc len f) =>
          with_int (eval' th k q n m e1) (fun i =>
          with_val (eval' th k q n m e2) (fun v =>
            if inb i len then
              Next SSkip (ups n x (Some (q, VLoc len (upz f i v)))) m [EvSet q x (VLoc len (upz f i v))]
            else Oob))
      | Some (q, VArr _ st off len) =>
          with_int (eval' th k q n m e1) (fun i =>
          with_val (eval' th k q n m e2) (fun v =>
            if inb (off + i) len then
              Next SSkip n (mwrite m th l st (off + i) v) [EvStore q l st (off + i) v]
            else Oob))
      | _ => Stuck
      end
  | SDecl x q _ e s =>
      with_val (eval' th k q n m e) (fun v => Next (SScope None x q (VB v) 0 s) n m [EvSet q x (VB v)])
  | SLocal x q b len s => let v := VLoc len (fun _ => zero b) in Next (SScope None x q v 0 s) n m [EvSet q x v]
  | SAlloc l x b len st s =>
      let v := VArr l st 0 len in
      match l with
      | Local => Stuck
      | Global => Next (SScope None x (pp k) v 0 s) n m [EvEnter (pp k) x; EvSet (pp k) x v]
      | Shared => Next (SScope None x (pp k) v (bytes b len) s) n m [EvEnter (pp k) x; EvSet (pp k) x v]
      end
  | SIf e s1 s2 =>
      with_bool (eval' th k (pp k) n m e) (fun b => Next (if b then s1 else s2) n m [EvIf (pp k) b])
  | SWhile e s => Next (SIf e (SSeq s (SWhile e s)) SSkip) n m []
  | SPartition x y c e s =>
      match n x with
      | Some (q, VArr l st off len) =>
          let q' := (lv k, sz k / c) in
          with_int (eval' th k q' n m e) (fun i =>
            let v := VArr l st (off + i) len in
            Next (SScope (Some x) y q' v 0 s) n m [EvEnter (pp k) x; EvSet q' y v])
      | _ => Stuck
      end
  | SLower x y e s =>
      match n x, down (pp k) with
      | Some (q, VArr l st off len), Some q' =>
          with_int (eval' th k q' n m e) (fun i =>
            let v := VArr l st (off + i) len in
            Next (SScope (Some x) y q' v 0 s) n m [EvEnter (pp k) x; EvSet q' y v])
      | _, _ => Stuck
      end
  | SClaim x y n' a s =>
      match n x with
      | Some (q, VArr l st off len) =>
          let v := VArr l st off len in
          Next (SScope (Some x) y (lv k, n') v 0 (SArm n' a s)) n m [EvEnter (pp k) x; EvSet (lv k, n') y v]
      | _ => Stuck
      end
  | SCall f es =>
      match fn f with
      | Some fd =>
          match bind' th k n m (params fd) es with
          | AVals n' outs => Next (SFrame (fpersp fd) outs n' (fbody fd)) n m []
          | AOob => Oob
          | AStuck => Stuck
          end
      | None => Stuck
      end
  | SFrame q outs n0 s =>
      match step' th (unit_of th q) n0 m s with
      | Done => Next SSkip (back q outs n0 n) m []
      | Next s' n' m' ev => Next (SFrame q outs n' s') n m' ev
      | r => r
      end
  | SArm n' a s =>
      if (a * n' <=? idx k) && (idx k <? a * n' + n') then
        inside (SArm n' a) n m (step' th (sub_arm k n' a) n m s)
      else Next SSkip n m []
  | SScope hid x q v cost s =>
      match step' th k (ups (hide hid n) x (Some (q, v))) m s with
      | Done => Next SSkip n m []
      | Next s' n' m' ev =>
          match n' x with
          | Some (_, v') => Next (SScope hid x q v' cost s') (restore hid x n n') m' ev
          | None => Stuck
          end
      | r => r
      end
  end.

Lemma eval_erase th k d n m e : eval th k d n m e <> EStuck -> eval' th k d n m e = eval th k d n m e.
Proof.
  induction e; simpl; intros H; auto.
  - destruct (n x) as [[q [v| |]]|]; auto. destruct (pleb d q); congruence.
  - destruct (id_okb d (pp k)); congruence.
  - assert (E : eval th k d n m e <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe E).
    destruct (eval th k d n m e) as [[z|b]| |]; auto.
    destruct (n x) as [[q [v|len f|l' st off len]]|]; auto.
    + destruct (pleb d q && kind_eqb l Local); [auto | congruence].
    + destruct (pleb d q && kind_eqb l l' && may_touch l (pp k)); [auto | congruence].
  - assert (E : eval th k d n m e1 <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe1 E).
    destruct (eval th k d n m e1) as [[z|b]| |]; auto.
    assert (E2 : eval th k d n m e2 <> EStuck) by (intros E2; rewrite E2 in H; auto). now rewrite (IHe2 E2).
  - assert (E : eval th k d n m e1 <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe1 E).
    destruct (eval th k d n m e1) as [[z|b]| |]; auto.
    assert (E2 : eval th k d n m e2 <> EStuck) by (intros E2; rewrite E2 in H; auto). now rewrite (IHe2 E2).
Qed.

Lemma inside_stuck f n m r : inside f n m r <> Stuck -> r <> Stuck.
Proof. destruct r; simpl; congruence. Qed.

Lemma with_val_erase th k d n m e f :
  with_val (eval th k d n m e) f <> Stuck -> with_val (eval' th k d n m e) f = with_val (eval th k d n m e) f.
Proof. intros H. rewrite eval_erase; auto. intros E. rewrite E in H. auto. Qed.

Lemma bind_erase th k n m ps : forall es, bind th k n m ps es <> AStuck -> bind' th k n m ps es = bind th k n m ps es.
Proof.
  induction ps as [|[[x q] t] ps IH]; intros [|e es]; simpl; intros H; auto.
  assert (E : bind th k n m ps es <> AStuck) by (intros E; rewrite E in H; auto). rewrite (IH _ E).
  destruct (bind th k n m ps es); auto. destruct t as [b|l b].
  - assert (E' : eval th k q n m e <> EStuck) by (intros E'; rewrite E' in H; auto). now rewrite (eval_erase _ _ _ _ _ _ E').
  - destruct e; auto. destruct (n x0) as [[q' [v|len f|l' st off len]]|]; auto; destruct (peqb q' q); congruence.
Qed.

(** A guard that did not fail may go. *)
Ltac unguard H := match type of H with (if ?g then _ else _) <> Stuck => destruct g; [|congruence] end.

Theorem step_erase th s : forall k u n m, step th k u n m s <> Stuck -> step' th k n m s = step th k u n m s.
Proof.
  Local Arguments down : simpl never.
  Local Arguments Nat.max : simpl never.
  Local Arguments eval : simpl never.
  Local Arguments eval' : simpl never.
  unfold with_int, with_bool in *.
  induction s; simpl; intros k u n0 m0 H; auto.
  - assert (E : step th k u n0 m0 s1 <> Stuck) by (intros E; rewrite E in H; auto). now rewrite (IHs1 k u n0 m0 E).
  - unguard H. destruct (idx k <? n1).
    + now rewrite (IHs1 _ u) by (eapply inside_stuck; eauto).
    + destruct (idx k <? n1 + n2); auto. now rewrite (IHs2 _ u) by (eapply inside_stuck; eauto).
  - destruct (sub_down th k); auto. now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - unguard H. now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - destruct (n0 x) as [[q [v| |]]|]; auto. unguard H. now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len]]|]; auto; unguard H.
    all: assert (E : eval th k q n0 m0 e1 <> EStuck) by (intros E; rewrite E in H; auto).
    all: rewrite (eval_erase _ _ _ _ _ _ E).
    all: destruct (eval th k q n0 m0 e1) as [[z|z]| |]; simpl in *; auto; now apply with_val_erase.
  - unguard H. now apply with_val_erase.
  - unguard H. reflexivity.
  - destruct l; auto. unguard H. reflexivity.
  - now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len]]|]; auto. unguard H. now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len]]|]; auto. destruct (down (pp k)); auto.
    unguard H. now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len]]|]; auto. unguard H. reflexivity.
  - destruct (fn f) as [fd|]; auto. unguard H.
    assert (E : bind th k n0 m0 (params fd) es <> AStuck) by (intros E; rewrite E in H; auto).
    now rewrite (bind_erase _ _ _ _ _ _ E).
  - unguard H. destruct ((a * n <=? idx k) && (idx k <? a * n + n)); auto.
    now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - assert (E : step th k (u + cost) (ups (hide hid n0) x (Some (q, v))) m0 s <> Stuck)
      by (intros E; rewrite E in H; auto).
    now rewrite (IHs _ _ _ _ E).
  - unguard H. assert (E : step th (unit_of th q) u n m0 s <> Stuck) by (intros E; rewrite E in H; auto).
    now rewrite (IHs _ _ _ _ E).
Qed.

(** The machine without checks. *)
Inductive mstep' (th : tid) : state -> state -> Prop :=
| M_Step' P m s n h s' n' m' ev :
    tid_ok th -> P th = Run s n h -> step' th pos0 n m s = Next s' n' m' ev ->
    mstep' th (mkstate P m) (mkstate (upt P th (Run s' n' (h ++ ev))) m')
| M_Oob' P m s n h :
    tid_ok th -> P th = Run s n h -> step' th pos0 n m s = Oob ->
    mstep' th (mkstate P m) (mkstate (upt P th (Trap h)) m).
Inductive reach' (A : state) : state -> Prop :=
| R_refl' : reach' A A
| R_step' th S S' : reach' A S -> mstep' th S S' -> reach' A S'.

Variable D : site -> kind * bty * nat.
Hypothesis Hfns : fns_ok D.

(** From a well-typed program it reaches the states that the machine with checks reaches, and no others. *)
Theorem erasure G s n m S :
  sty D G Grid 1 0 SMEM s -> env_ok D G n -> mem_ok D m -> (reach' (init s n m) S <-> reach (init s n m) S).
Proof.
  intros Hs Hn Hm. split; intros HR.
  - induction HR as [|th S S' HR IH Hst]; [constructor|]. eapply R_step; [exact IH|].
    destruct (safety D Hfns G s n m S Hs Hn Hm IH) as [_ HS].
    inversion Hst; subst; destruct (HS th) as [Hk _]; auto; simpl in Hk; rewrite H0 in Hk; simpl in Hk;
      rewrite (step_erase _ _ _ _ _ _ Hk) in H1; [eapply M_Step | eapply M_Oob]; eauto.
  - induction HR as [|th S S' HR IH Hst]; [constructor|]. eapply R_step'; [exact IH|].
    destruct (safety D Hfns G s n m S Hs Hn Hm HR) as [_ HS].
    inversion Hst; subst; destruct (HS th) as [Hk _]; auto; simpl in Hk; rewrite H0 in Hk; simpl in Hk;
      rewrite <- (step_erase _ _ _ _ _ _ Hk) in H1; [eapply M_Step' | eapply M_Oob']; eauto.
Qed.

End Erase.
