(** Perspectives, values and the syntax of the corrected sequential core of Bundl. *)
From Coq Require Import Arith ZArith List Bool Lia.
Import ListNotations.

(** A machine: [B] blocks of [T] threads, and [SMEM] bytes of shared memory that a program may hold at once. *)
Class Machine := { T : nat; B : nat; SMEM : nat }.

(** * Perspectives *)

Inductive level := Thread | Block | Grid.
Definition persp : Type := level * nat.

Definition rank_of (h : level) : nat := match h with Thread => 0 | Block => 1 | Grid => 2 end.

(** How many threads or blocks one unit of the next level has. *)
Definition tile `{Machine} (h : level) : nat := match h with Thread => T | Block => B | Grid => 1 end.

(** [(h,n) <= (h',n')]: a lower level, and [n] divides how many of it one unit of the next level has; or the same level and
    [n] divides [n']. Every unit of the narrower then lies in one of the broader. *)
Definition ple `{Machine} (a b : persp) : Prop :=
  rank_of (fst a) < rank_of (fst b) /\ Nat.divide (snd a) (tile (fst a)) \/ (fst a = fst b /\ Nat.divide (snd a) (snd b)).

Definition dvdb (a b : nat) : bool := b mod a =? 0.
Definition pleb `{Machine} (a b : persp) : bool :=
  ((rank_of (fst a) <? rank_of (fst b)) && dvdb (snd a) (tile (fst a))) || ((rank_of (fst a) =? rank_of (fst b)) && dvdb (snd a) (snd b)).

Definition peqb (a b : persp) : bool := (rank_of (fst a) =? rank_of (fst b)) && (snd a =? snd b).

Lemma dvdb_spec a b : dvdb a b = true <-> Nat.divide a b.
Proof.
  unfold dvdb. rewrite Nat.eqb_eq. destruct a as [|a].
  - simpl. split; [intros ->; apply Nat.divide_refl | intros [k ->]; lia].
  - apply Nat.mod_divide. lia.
Qed.

Lemma rank_inj h h' : rank_of h = rank_of h' -> h = h'.
Proof. destruct h, h'; simpl; congruence. Qed.

Lemma pleb_spec `{Machine} a b : pleb a b = true <-> ple a b.
Proof.
  unfold pleb, ple. rewrite orb_true_iff, !andb_true_iff, Nat.ltb_lt, Nat.eqb_eq, !dvdb_spec.
  split; intros [H0|[H1 H2]]; auto; right; split; auto; [now apply rank_inj | now rewrite H1].
Qed.

Lemma peqb_spec a b : peqb a b = true <-> a = b.
Proof.
  destruct a as [h n], b as [h' n']. unfold peqb; simpl. rewrite andb_true_iff, !Nat.eqb_eq. split.
  - intros [H ->]. now rewrite (rank_inj _ _ H).
  - now intros [= -> ->].
Qed.

Lemma ple_refl `{Machine} a : ple a a.
Proof. right; split; [reflexivity | apply Nat.divide_refl]. Qed.

(** A thread: its block, and its number in the block. *)
Definition tid : Type := nat * nat.
Definition tid_ok `{Machine} (th : tid) : Prop := fst th < B /\ snd th < T.

(** Two threads belong to one unit of a perspective. Units are absolute: those of [(Thread,n)] are the runs of [n] threads
    of a block that start at multiples of [n]; those of [(Block,n)] the like runs of blocks; all threads share the grid. *)
Definition same_unit (q : persp) (a b : tid) : Prop :=
  match fst q with
  | Thread => fst a = fst b /\ snd a / snd q = snd b / snd q
  | Block => fst a / snd q = fst b / snd q
  | Grid => True
  end.

Definition same_unitb (q : persp) (a b : tid) : bool :=
  match fst q with
  | Thread => (fst a =? fst b) && (snd a / snd q =? snd b / snd q)
  | Block => fst a / snd q =? fst b / snd q
  | Grid => true
  end.

Lemma same_unitb_spec q a b : same_unitb q a b = true <-> same_unit q a b.
Proof. unfold same_unitb, same_unit. destruct (fst q); rewrite ?andb_true_iff, ?Nat.eqb_eq; tauto. Qed.

(** * Positions: where a thread stands in the unit that runs the code

    [lv], [sz]: the perspective; [base]: where the unit starts, counted in threads of the block or in blocks of the grid;
    [idx]: the place of this thread (or of its block) in the unit, called p in the rules. *)
Record pos := mkpos { lv : level; sz : nat; base : nat; idx : nat }.
Definition pp (k : pos) : persp := (lv k, sz k).

Definition coord (th : tid) (h : level) : nat := match h with Thread => snd th | Block => fst th | Grid => 0 end.

(** The invariant of positions; [sz | base] says that units are aligned. *)
Definition pos_ok (th : tid) (k : pos) : Prop :=
  idx k < sz k /\ Nat.divide (sz k) (base k) /\ base k + idx k = coord th (lv k).

Definition pos0 : pos := mkpos Grid 1 0 0.

Definition sub_left (k : pos) (n1 : nat) := mkpos (lv k) n1 (base k) (idx k).
Definition sub_right (k : pos) (n1 n2 : nat) := mkpos (lv k) n2 (base k + n1) (idx k - n1).
Definition sub_group (k : pos) (n : nat) := mkpos (lv k) n (base k + idx k / n * n) (idx k mod n).
Definition sub_arm (k : pos) (n a : nat) := mkpos (lv k) n (base k + a * n) (idx k - a * n).

(** One grid is [B] blocks, one block is [T] threads: the operator written with a down arrow. *)
Definition down `{Machine} (q : persp) : option persp :=
  match q with (Grid, 1) => Some (Block, B) | (Block, 1) => Some (Thread, T) | _ => None end.
Definition sub_down `{Machine} (th : tid) (k : pos) : option pos :=
  match down (pp k) with Some (h, n) => Some (mkpos h n 0 (coord th h)) | None => None end.

(** Size in threads, and the number of a thread in the unit counted in threads. *)
Definition size `{Machine} (q : persp) : nat :=
  match fst q with Thread => snd q | Block => snd q * T | Grid => snd q * (B * T) end.
Definition offset `{Machine} (th : tid) (k : pos) : nat :=
  match lv k with Thread => idx k | Block => idx k * T + snd th | Grid => fst th * T + snd th end.

(** [partition_id] for a target [d] in code at [k]: [d] is no broader than the code. A target of several threads, seen from
    code at a level above, must tile the block: otherwise units, which never cross blocks, cannot be counted by division. *)
Definition id_ok `{Machine} (d p : persp) : Prop :=
  ple d p /\ (fst d = Thread -> fst p <> Thread -> Nat.divide (snd d) T).
Definition id_okb `{Machine} (d p : persp) : bool :=
  pleb d p && match fst d, fst p with Thread, Block | Thread, Grid => dvdb (snd d) T | _, _ => true end.

Lemma id_okb_spec `{Machine} d p : id_okb d p = true <-> id_ok d p.
Proof.
  unfold id_okb, id_ok. rewrite andb_true_iff, pleb_spec. split; intros [H1 H2]; split; auto.
  - intros Hd Hp. destruct (fst d), (fst p); try discriminate; try congruence; now apply dvdb_spec.
  - destruct (fst d), (fst p); auto; apply dvdb_spec; apply H2; auto; discriminate.
Qed.

(** Read tests as facts. *)
Ltac spec :=
  repeat match goal with
  | H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?]
  | H : negb _ = true |- _ => apply negb_true_iff in H
  | H : dvdb _ _ = true |- _ => apply dvdb_spec in H
  | H : pleb _ _ = true |- _ => apply pleb_spec in H
  | H : peqb _ _ = true |- _ => apply peqb_spec in H
  | H : (_ <=? _) = true |- _ => apply Nat.leb_le in H
  | H : (_ <? _) = true |- _ => apply Nat.ltb_lt in H
  | H : (_ <? _) = false |- _ => apply Nat.ltb_ge in H
  | H : (_ =? _) = true |- _ => apply Nat.eqb_eq in H
  | H : (_ =? _) = false |- _ => apply Nat.eqb_neq in H
  end.

(** * Values, types, memories *)

Inductive bty := TInt | TBool.
Inductive bval := VInt (z : Z) | VBool (b : bool).
Definition tyof (v : bval) : bty := match v with VInt _ => TInt | VBool _ => TBool end.
Definition bytes (b : bty) (len : nat) : nat := match b with TInt => 4 * len | TBool => len end.
Definition zero (b : bty) : bval := match b with TInt => VInt 0 | TBool => VBool false end.

Definition name := nat.
Definition site := nat.

(** [TAsync b g]: an array of [b] that copies are under way into; what is copied is of [g]. *)
Inductive kind := Local | Shared | Global.
Inductive ty := TBase (b : bty) | TArr (l : kind) (b : bty) | TAsync (b : bty) (g : name -> option (persp * ty)).

(** A local array is a value of its thread. An array of another kind is a view [<l, site, offset, length>] of the cells
    of an allocation; [site] names the allocation, as names do for locations in the rules. [VAsync]: the elements, each
    of an array, that are on their way. *)
Inductive val :=
| VB (v : bval)
| VLoc (len : nat) (f : Z -> bval)
| VArr (l : kind) (st : site) (off : Z) (len : nat)
| VAsync (ps : list (kind * name * Z)).

(** [br x q u]: how many have arrived at the barrier [x] of the unit [u] of perspective [q], ever. [who]: which of a
    thread's agents goes next, as the scheduler chooses: one of the elements on their way, by number, or else the thread
    itself. *)
Record mem := mkmem
  { gl : site -> Z -> bval; sh : nat -> site -> Z -> bval; br : name -> persp -> nat * nat -> nat; who : nat }.
Definition pick (w : nat) (m : mem) : mem := mkmem (gl m) (sh m) (br m) w.

Definition ups {A} (f : nat -> A) (x : nat) (a : A) : nat -> A := fun y => if y =? x then a else f y.
Definition upz {A} (f : Z -> A) (x : Z) (a : A) : Z -> A := fun y => if (y =? x)%Z then a else f y.

(** Shared memory is that of the thread's block; nothing of kind Local is in these memories. *)
Definition mread (m : mem) (th : tid) (l : kind) (st : site) (i : Z) : bval :=
  match l with Global => gl m st i | Shared => sh m (fst th) st i | Local => VInt 0 end.
Definition mwrite (m : mem) (th : tid) (l : kind) (st : site) (i : Z) (v : bval) : mem :=
  match l with
  | Global => mkmem (ups (gl m) st (upz (gl m st) i v)) (sh m) (br m) (who m)
  | Shared => mkmem (gl m) (ups (sh m) (fst th) (ups (sh m (fst th)) st (upz (sh m (fst th) st) i v))) (br m) (who m)
  | Local => m
  end.

Definition arrive (m : mem) (x : name) (q : persp) (u : nat * nat) : mem :=
  mkmem (gl m) (sh m) (fun x' q' u' =>
    (if (x' =? x) && peqb q' q && ((fst u' =? fst u) && (snd u' =? snd u)) then 1 else 0) + br m x' q' u') (who m).

(** The local memory of a thread: variables, each with its perspective. *)
Definition env : Type := name -> option (persp * val).

(** * Expressions and statements *)

Inductive bop := Add | Sub | Mul | Div | Mod.
Inductive cmp := Lt | Le | Eq.

Inductive expr :=
| EInt (z : Z)
| EBool (b : bool)
| EVar (x : name)
| EId                                       (* partition_id *)
| ERead (l : kind) (x : name) (e : expr)    (* x[e], x of kind l *)
| EBop (o : bop) (e1 e2 : expr)
| ECmp (o : cmp) (e1 e2 : expr).

Inductive stmt :=
| SSkip
| SSeq (s1 s2 : stmt)
| SSplit (n1 n2 : nat) (s1 s2 : stmt)
| SDestruct (s : stmt)
| SGroup (q : nat) (s : stmt)
| SAssign (x : name) (e : expr)
| SStore (l : kind) (x : name) (e1 e2 : expr)                      (* x[e1] = e2, x of kind l *)
| SDecl (x : name) (q : persp) (b : bty) (e : expr) (s : stmt)    (* x : b @ q = e in s *)
| SLocal (x : name) (q : persp) (b : bty) (len : nat) (s : stmt)  (* a local array *)
| SAlloc (l : kind) (x : name) (b : bty) (len : nat) (st : site) (s : stmt)
| SIf (e : expr) (s1 s2 : stmt)
| SWhile (e : expr) (s : stmt)
| SPartition (x y : name) (c : nat) (e : expr) (s : stmt)         (* x into y by c, offset e, in s *)
| SLower (x y : name) (e : expr) (s : stmt)
| SClaim (x y : name) (n a : nat) (s : stmt)                      (* the a-th sub-unit of size n runs s *)
| SCall (f : nat) (es : list expr)                                (* the f-th function *)
| SCopy (l : kind) (x : name) (l' : kind) (z : name) (len : nat)  (* memcpy of the first elements of z into x *)
| SAsync (l : kind) (x y : name) (s : stmt)                       (* async_partition: s copies into x, called y in it *)
| SAsyncCopy (y : name) (l : kind) (z : name) (len : nat)         (* async_memcpy *)
(* Those below arise only while a program runs. *)
| SSync (x : name)                                                (* arrive at the barrier x of the unit *)
| SWait (x : name) (r : nat)                                      (* until it has gone off more than [r] times *)
| SArm (n a : nat) (s : stmt)                                     (* only the a-th sub-unit of size n runs s *)
| SScope (hid : option name) (x : name) (q : persp) (v : val) (cost : nat) (s : stmt)
   (* [s] in the scope of x = v at q; [hid] cannot be used in it; it holds [cost] bytes of shared memory *)
| SFrame (q : persp) (outs : list (name * name)) (n : env) (s : stmt)
   (* a call under way: [s], with variables [n] of its own, run by each unit of [q]; [outs]: parameters that are arrays, with
      the caller's names of them *)
| SFlying (l : kind) (x y : name) (ps : list (kind * name * Z)) (s : stmt).
   (* [s], while the elements [ps] are on their way into x *)

(** Around what is done with parts of [x], the unit that has it meets. *)
Definition meet (x : name) (s : stmt) : stmt := SSeq (SSync x) (SSeq s (SSync x)).

(** A function: its parameters, each with its perspective and type; the perspective of its code; how many bytes of shared
    memory it may allocate; its body. A program has a table of them. *)
Record func := mkfunc { params : list (name * persp * ty); fpersp : persp; fbytes : nat; fbody : stmt }.
Class Functions := fn : nat -> option func.
Definition pname (p : name * persp * ty) : name := fst (fst p).

Definition hide {A} (hid : option name) (g : name -> option A) : name -> option A :=
  match hid with Some z => ups g z None | None => g end.
Definition restore {A} (hid : option name) (x : name) (g0 g1 : name -> option A) : name -> option A :=
  let g := ups g1 x (g0 x) in match hid with Some z => ups g z (g0 z) | None => g end.

(** What is known of a name, by which of those that are set it is. *)
Ltac names := unfold restore, hide, ups in *; repeat match goal with
  | hid : option name |- _ => destruct hid
  | |- context [?x =? ?y] => destruct (Nat.eqb_spec x y); subst
  | H : context [?x =? ?y] |- _ => destruct (Nat.eqb_spec x y); subst
  end; try congruence; auto.

(** Shared memory that a statement holds now: that of the scopes entered and not left. *)
Fixpoint live (s : stmt) : nat :=
  match s with
  | SSeq s1 s2 | SSplit _ _ s1 s2 | SIf _ s1 s2 => Nat.max (live s1) (live s2)
  | SDestruct s | SGroup _ s | SDecl _ _ _ _ s | SLocal _ _ _ _ s | SAlloc _ _ _ _ _ s | SWhile _ s
  | SPartition _ _ _ _ s | SLower _ _ _ s | SClaim _ _ _ _ s | SArm _ _ s | SFrame _ _ _ s | SAsync _ _ _ s
  | SFlying _ _ _ _ s => live s
  | SScope _ _ _ _ c s => c + live s
  | SSkip | SAssign _ _ | SStore _ _ _ _ | SCall _ _ | SCopy _ _ _ _ _ | SAsyncCopy _ _ _ _ | SSync _ | SWait _ _ => 0
  end.
