(** The corrected semantics with perspectives enforced at run time: a step that lacks the perspective, a type, alignment,
    shared memory or the right to a hidden name gives [Stuck]. It is a function, so each thread is deterministic given the
    memory; the machine interleaves the threads in every order. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax.
Import ListNotations.

Section Step.
Context {M : Machine} {Fs : Functions}.

(** With [c] the checks are made; without them it is the semantics of compiled code (Erase). *)
Variable c : bool.

(** * Expressions: [Oob] is an index out of bounds, which the type system doesn't exclude *)

Inductive eres := EVal (v : bval) | EOob | EStuck.

Definition do_bop (o : bop) (a b : Z) : Z :=
  match o with
  | Add => a + b | Sub => a - b | Mul => a * b
  | Div => a / b | Mod => a mod b   (* total: x / 0 = 0, x mod 0 = x, by the library's convention *)
  end%Z.
Definition do_cmp (o : cmp) (a b : Z) : bool := match o with Lt => a <? b | Le => a <=? b | Eq => a =? b end%Z.

Definition inb (i : Z) (len : nat) : bool := ((0 <=? i) && (i <? Z.of_nat len))%Z.

Definition is_shared (l : kind) : bool := match l with Shared => true | _ => false end.
Definition kind_eqb (a b : kind) : bool :=
  match a, b with Local, Local | Shared, Shared | Global, Global => true | _, _ => false end.

(** Shared memory is touched only by code at one block or below. *)
Definition may_touch (l : kind) (p : persp) : bool := negb (is_shared l) || pleb p (Block, 1).

Definition two (r1 r2 : eres) (f : Z -> Z -> bval) : eres :=
  match r1, r2 with
  | EVal (VInt a), EVal (VInt b) => EVal (f a b)
  | EVal (VInt _), EOob => EOob
  | EVal _, _ => EStuck
  | r, _ => r
  end.

(** Value of [e] for thread [th] at position [k] with demanded perspective [d]. *)
Fixpoint eval_ (th : tid) (k : pos) (d : persp) (n : env) (m : mem) (e : expr) : eres :=
  match e with
  | EInt z => EVal (VInt z)
  | EBool b => EVal (VBool b)
  | EVar x => (* E-Var' *)
      match n x with Some (q, VB v) => if negb c || pleb d q then EVal v else EStuck | _ => EStuck end
  | EId => (* E-Id' *)
      if negb c || id_okb d (pp k) then EVal (VInt (Z.of_nat (offset th k / size d))) else EStuck
  | ERead l x e1 => (* E-Arr-Access' *)
      match eval_ th k d n m e1 with
      | EVal (VInt i) =>
          match n x with
          | Some (q, VLoc len f) =>
              if negb c || pleb d q && kind_eqb l Local then if inb i len then EVal (f i) else EOob else EStuck
          | Some (q, VArr l' st off len) =>
              if negb c || pleb d q && kind_eqb l l' && may_touch l (pp k) then
                if inb (off + i) len then EVal (mread m th l st (off + i)) else EOob
              else EStuck
          | _ => EStuck
          end
      | EVal _ => EStuck
      | r => r
      end
  | EBop o e1 e2 => two (eval_ th k d n m e1) (eval_ th k d n m e2) (fun a b => VInt (do_bop o a b))
  | ECmp o e1 e2 => two (eval_ th k d n m e1) (eval_ th k d n m e2) (fun a b => VBool (do_cmp o a b))
  end.

(** * Statements

    Each step_ says what it did, with the perspective at which it did it: a variable or view set, a cell stored, a branch
    taken, a collective entered. Nothing reads these events; uniformity is stated with them. *)
Inductive event :=
| EvSet (q : persp) (x : name) (v : val)
| EvStore (q : persp) (l : kind) (st : site) (i : Z) (v : bval)
| EvIf (q : persp) (b : bool)
| EvEnter (q : persp) (x : name).
Definition ev_persp (e : event) : persp :=
  match e with EvSet q _ _ | EvStore q _ _ _ _ | EvIf q _ | EvEnter q _ => q end.

Inductive res := Done | Next (s : stmt) (n : env) (m : mem) (ev : list event) | Oob | Stuck.

(** Step of a statement from the step_ of the sub-statement that this thread runs. *)
Definition inside (f : stmt -> stmt) (n : env) (m : mem) (r : res) : res :=
  match r with
  | Done => Next SSkip n m []
  | Next s' n' m' ev => Next (f s') n' m' ev
  | r => r
  end.

Definition with_val (r : eres) (f : bval -> res) : res :=
  match r with EVal v => f v | EOob => Oob | EStuck => Stuck end.
Definition with_int (r : eres) (f : Z -> res) : res :=
  with_val r (fun v => match v with VInt i => f i | _ => Stuck end).
Definition with_bool (r : eres) (f : bool -> res) : res :=
  with_val r (fun v => match v with VBool b => f b | _ => Stuck end).

(** A call binds the parameters, in an environment of their own. An array comes as it is: a view; or a local one, whose
    elements are copied back at the end, if the function's code may write them. No array is passed twice, so that is as if the
    caller's had been used. *)
Inductive ares := AVals (n : env) (outs : list (name * name)) | AOob | AStuck.

Definition is_arr (v : val) : bool := match v with VLoc _ _ | VArr _ _ _ _ => true | _ => false end.

Fixpoint bind_ (th : tid) (k : pos) (n : env) (m : mem) (ps : list (name * persp * ty)) (es : list expr) : ares :=
  match ps, es with
  | [], [] => AVals (fun _ => None) []
  | (x, q, t) :: ps, e :: es =>
      match bind_ th k n m ps es with
      | AVals n' outs =>
          match t, e with
          | TBase _, _ =>
              match eval_ th k q n m e with
              | EVal v => AVals (ups n' x (Some (q, VB v))) outs | EOob => AOob | EStuck => AStuck end
          | TArr _ _, EVar y =>
              match n y with
              | Some (q', v) =>
                  if negb c || peqb q' q then
                    if is_arr v then AVals (ups n' x (Some (q, v))) ((x, y) :: outs) else AStuck
                  else AStuck
              | None => AStuck
              end
          | _, _ => AStuck
          end
      | r => r
      end
  | _, _ => AStuck
  end.

Fixpoint back (p : persp) (outs : list (name * name)) (n0 n : env) : env :=
  match outs with
  | [] => n
  | (x, y) :: outs =>
      match n0 x, n y with
      | Some (q0, v), Some (q, _) =>
          if pleb q p && peqb q0 q then ups (back p outs n0 n) y (Some (q, v)) else back p outs n0 n
      | _, _ => back p outs n0 n
      end
  end.

(** Element [e1] of [x] becomes [e2]. *)
Definition store_ (th : tid) (k : pos) (n : env) (m : mem) (l : kind) (x : name) (e1 e2 : expr) : res :=
  match n x with
  | Some (q, VLoc len f) =>
      if negb c || pleb q (pp k) && kind_eqb l Local then
        with_int (eval_ th k q n m e1) (fun i =>
        with_val (eval_ th k q n m e2) (fun v =>
          if inb i len then
            Next SSkip (ups n x (Some (q, VLoc len (upz f i v)))) m [EvSet q x (VLoc len (upz f i v))]
          else Oob))
      else Stuck
  | Some (q, VArr l' st off len) =>
      if negb c || pleb q (pp k) && kind_eqb l l' && may_touch l (pp k) then
        with_int (eval_ th k q n m e1) (fun i =>
        with_val (eval_ th k q n m e2) (fun v =>
          if inb (off + i) len then
            Next SSkip n (mwrite m th l st (off + i) v) [EvStore q l st (off + i) v]
          else Oob))
      else Stuck
  | _ => Stuck
  end.

(** The place of a thread in its unit of [q]. *)
Definition unit_of (th : tid) (q : persp) : pos :=
  let c := coord th (fst q) in mkpos (fst q) (snd q) (c / snd q * snd q) (c mod snd q).

(** Which unit runs the code: its block, if it is one of threads, and where it starts. *)
Definition unit_id (th : tid) (k : pos) : nat * nat := (match lv k with Thread => fst th | _ => 0 end, base k).

(** How often a barrier has gone off: each time that as many threads have arrived as the unit has. *)
Definition rounds (th : tid) (k : pos) (m : mem) (x : name) : nat := br m x (pp k) (unit_id th k) / size (pp k).

(** [step_ th k u n m s]: thread [th] at position [k] holds [u] bytes of shared memory and runs [s]. *)
Fixpoint step_ (th : tid) (k : pos) (u : nat) (n : env) (m : mem) (s : stmt) : res :=
  match s with
  | SSkip => Done
  | SSeq s1 s2 =>
      match step_ th k u n m s1 with
      | Done => Next s2 n m []                                            (* S-Seq-Done *)
      | Next s1' n' m' ev => Next (SSeq s1' s2) n' m' ev                  (* S-Seq-First *)
      | r => r
      end
  | SSplit n1 n2 s1 s2 =>
      if negb c || (n1 + n2 <=? sz k) && dvdb n1 (base k) && dvdb (Nat.max 1 n2) (base k + n1) then
        if idx k <? n1 then                                               (* S-Split-Left, -Done *)
          inside (fun s' => SSplit n1 n2 s' s2) n m (step_ th (sub_left k n1) u n m s1)
        else if idx k <? n1 + n2 then                                     (* S-Split-Right, -Done *)
          inside (fun s' => SSplit n1 n2 s1 s') n m (step_ th (sub_right k n1 n2) u n m s2)
        else Next SSkip n m []                                            (* S-Split-None *)
      else Stuck
  | SDestruct s =>                                                        (* S-Destruct-Block, -Grid, -Done *)
      match sub_down th k with
      | Some k' => inside SDestruct n m (step_ th k' u n m s)
      | None => Stuck
      end
  | SGroup q s =>                                                         (* S-Group, -Done *)
      if negb c || dvdb q (sz k) && dvdb (sz k / q) (base k) then
        inside (SGroup q) n m (step_ th (sub_group k (sz k / q)) u n m s)
      else Stuck
  | SAssign x e =>                                                        (* S-Assn' *)
      match n x with
      | Some (q, VB _) =>
          if negb c || pleb q (pp k) then
            with_val (eval_ th k q n m e) (fun v => Next SSkip (ups n x (Some (q, VB v))) m [EvSet q x (VB v)])
          else Stuck
      | _ => Stuck
      end
  | SStore l x e1 e2 => store_ th k n m l x e1 e2                          (* S-Arr-Assn' *)
  | SDecl x q _ e s =>                                                    (* S-Decl *)
      if negb c || pleb q (pp k) then
        with_val (eval_ th k q n m e) (fun v => Next (SScope None x q (VB v) 0 s) n m [EvSet q x (VB v)])
      else Stuck
  | SLocal x q b len s =>                                                 (* S-Alloc-Local *)
      if negb c || pleb q (pp k) then
        let v := VLoc len (fun _ => zero b) in Next (SScope None x q v 0 s) n m [EvSet q x v]
      else Stuck
  | SAlloc l x b len st s =>
      let v := VArr l st 0 len in
      match l with
      | Local => Stuck
      | Global => Next (SScope None x (pp k) v 0 s) n m [EvEnter (pp k) x; EvSet (pp k) x v]  (* S-Alloc-Global *)
      | Shared =>                                                                     (* S-Alloc-Shared *)
          if negb c || peqb (pp k) (Block, 1) && (u + bytes b len <=? SMEM) then
            Next (SScope None x (pp k) v (bytes b len) s) n m [EvEnter (pp k) x; EvSet (pp k) x v]
          else Stuck
      end
  | SIf e s1 s2 =>                                                        (* S-If-True, S-If-False *)
      with_bool (eval_ th k (pp k) n m e) (fun b => Next (if b then s1 else s2) n m [EvIf (pp k) b])
  | SWhile e s => Next (SIf e (SSeq s (SWhile e s)) SSkip) n m []          (* S-While *)
  | SPartition x y n' e s =>                                               (* S-Partition' *)
      match n x with
      | Some (q, VArr l st off len) =>
          let q' := (lv k, sz k / n') in
          if negb c || peqb q (pp k) && dvdb n' (sz k) then
            with_int (eval_ th k q' n m e) (fun i =>
              let v := VArr l st (off + i) len in
              Next (SScope (Some x) y q' v 0 (meet x s)) n m [EvEnter (pp k) x; EvSet q' y v])
          else Stuck
      | _ => Stuck
      end
  | SLower x y e s =>                                                     (* S-Lower' *)
      match n x, down (pp k) with
      | Some (q, VArr l st off len), Some q' =>
          if negb c || peqb q (pp k) then
            with_int (eval_ th k q' n m e) (fun i =>
              let v := VArr l st (off + i) len in
              Next (SScope (Some x) y q' v 0 (meet x s)) n m [EvEnter (pp k) x; EvSet q' y v])
          else Stuck
      | _, _ => Stuck
      end
  | SClaim x y n' a s =>                                                  (* S-Claim' *)
      match n x with
      | Some (q, VArr l st off len) =>
          if negb c || peqb q (pp k) && dvdb n' (sz k) && dvdb n' (base k) && (a * n' + n' <=? sz k) then
            let v := VArr l st off len in
            Next (SScope (Some x) y (lv k, n') v 0 (meet x (SArm n' a s))) n m [EvEnter (pp k) x; EvSet (lv k, n') y v]
          else Stuck
      | _ => Stuck
      end
  | SCall f es =>                                                         (* S-Function-Call *)
      match fn f with
      | Some fd =>
          if negb c || pleb (fpersp fd) (pp k) then
            match bind_ th k n m (params fd) es with
            | AVals n' outs => Next (SFrame (fpersp fd) outs n' (fbody fd)) n m []
            | AOob => Oob
            | AStuck => Stuck
            end
          else Stuck
      | None => Stuck
      end
  | SFrame q outs n0 s =>                                                 (* S-Frame, -Done *)
      if negb c || pleb q (pp k) then
        match step_ th (unit_of th q) u n0 m s with
        | Done => Next SSkip (back q outs n0 n) m []
        | Next s' n' m' ev => Next (SFrame q outs n' s') n m' ev
        | r => r
        end
      else Stuck
  | SCopy l x l' z len =>                                                 (* S-Memcpy', an element after the other *)
      match len with
      | 0 => Next SSkip n m []
      | S i =>
          let e := EInt (Z.of_nat i) in Next (SSeq (SStore l x e (ERead l' z e)) (SCopy l x l' z i)) n m []
      end
  | SAsync l x y s => Next (SFlying l x y [] s) n m []                     (* S-Async-Partition *)
  | SAsyncCopy y l z len =>                                               (* S-AsyncMemcpy' *)
      match n y with
      | Some (q, VAsync ps) =>
          if negb c || pleb q (pp k) then
            Next SSkip (ups n y (Some (q, VAsync (map (fun i => (l, z, Z.of_nat i)) (seq 0 len) ++ ps)))) m []
          else Stuck
      | _ => Stuck
      end
  | SFlying l x y ps s =>
      match nth_error ps (who m) with
      | Some (l', z, i) =>                                                (* an element comes, whenever it likes *)
          match store_ th k n m l x (EInt i) (ERead l' z (EInt i)) with
          | Next _ n' m' ev => Next (SFlying l x y (firstn (who m) ps ++ skipn (S (who m)) ps) s) n' m' ev
          | r => r
          end
      | None =>
          let n1 := ups (hide (Some x) n) y (Some ((Thread, 1), VAsync ps)) in
          match step_ th k u n1 (pick (who m - length ps) m) s with
          | Done => Next (match ps with [] => SSkip | _ => SFlying l x y ps s end) n m []  (* the end waits for all *)
          | Next s' n' m' ev =>
              match n' y with
              | Some (_, VAsync ps') => Next (SFlying l x y ps' s') (restore (Some x) y n n') m' ev
              | _ => Stuck
              end
          | r => r
          end
      end
  | SSync x =>                                                            (* S-Arrive *)
      Next (SWait x (rounds th k m x)) n (arrive m x (pp k) (unit_id th k)) []
  | SWait x r =>                                                          (* S-Sync-Wait-Done, -Spin *)
      if r <? rounds th k m x then Next SSkip n m [] else Next (SWait x r) n m []
  | SArm n' a s =>
      if negb c || dvdb n' (base k) && (a * n' + n' <=? sz k) then
        if (a * n' <=? idx k) && (idx k <? a * n' + n') then
          inside (SArm n' a) n m (step_ th (sub_arm k n' a) u n m s)
        else Next SSkip n m []
      else Stuck
  | SScope hid x q v cost s =>
      match step_ th k (u + cost) (ups (hide hid n) x (Some (q, v))) m s with
      | Done => Next SSkip n m []
      | Next s' n' m' ev =>
          match n' x with
          | Some (_, v') => Next (SScope hid x q v' cost s') (restore hid x n n') m' ev
          | None => Stuck
          end
      | r => r
      end
  end.

(** * The machine: all threads over the memories, in any order *)

Inductive tstate :=
| Run (s : stmt) (n : env) (hist : list event)   (* [hist]: its events so far, oldest first; nothing reads them *)
| Trap (hist : list event).                      (* stopped by an index out of bounds *)

Record state := mkstate { pool : tid -> tstate; memory : mem }.

Definition tid_eqb (a b : tid) : bool := (fst a =? fst b) && (snd a =? snd b).
Definition upt (P : tid -> tstate) (th : tid) (t : tstate) : tid -> tstate :=
  fun th' => if tid_eqb th' th then t else P th'.

(** S-Program: thread [th], or a copy that it has under way, takes a step. *)
Inductive mstep_ (th : tid) : state -> state -> Prop :=
| M_Step P m s n h s' n' m' ev w :
    tid_ok th -> P th = Run s n h -> step_ th pos0 0 n (pick w m) s = Next s' n' m' ev ->
    mstep_ th (mkstate P m) (mkstate (upt P th (Run s' n' (h ++ ev))) m')
| M_Oob P m s n h w :
    tid_ok th -> P th = Run s n h -> step_ th pos0 0 n (pick w m) s = Oob ->
    mstep_ th (mkstate P m) (mkstate (upt P th (Trap h)) m).

Inductive reach_ (A : state) : state -> Prop :=
| R_refl : reach_ A A
| R_step th S S' : reach_ A S -> mstep_ th S S' -> reach_ A S'.

(** Every thread starts the program at the grid, with its own copy of the arguments. *)
Definition init (s : stmt) (n : env) (m : mem) : state := mkstate (fun _ => Run s n []) m.

Definition finished (t : tstate) : Prop := match t with Run SSkip _ _ => True | _ => False end.
Definition trapped (t : tstate) : Prop := match t with Trap _ => True | _ => False end.
Definition stuck_ (m : mem) (th : tid) (t : tstate) : Prop :=
  match t with Run s n _ => exists w, step_ th pos0 0 n (pick w m) s = Stuck | _ => False end.

Lemma tid_eqb_spec a b : tid_eqb a b = true <-> a = b.
Proof.
  unfold tid_eqb. destruct a, b; simpl. rewrite andb_true_iff, !Nat.eqb_eq.
  split; [intros [-> ->] | intros [= -> ->]]; auto.
Qed.

End Step.

Notation eval := (eval_ true).
Notation bind := (bind_ true).
Notation step := (step_ true).
Notation mstep := (mstep_ true).
Notation reach := (reach_ true).
Notation stuck := (stuck_ true).
