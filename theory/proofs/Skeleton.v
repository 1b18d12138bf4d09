(* Skeletons: what is left of a kernel when values are gone. Their threads, statements, traces, and the machine that runs them. *)

From Coq Require Import List Arith Bool.
Import ListNotations.

(* A block's number and the thread's in it. *)
Definition thread : Type := nat * nat.

Inductive units : Type :=
| Threads (n : nat)
| Block
| Cluster (c : nat)
| Grid.

(* The name of a thread's unit: threads with one name are one unit. *)
Definition name (u : units) (a : thread) : nat * nat :=
  match u with
  | Threads n => (fst a, snd a / n)
  | Block => (fst a, 0)
  | Cluster c => (fst a / c, 0)
  | Grid => (0, 0)
  end.

Definition same (u : units) (a b : thread) : Prop := name u a = name u b.

(* A constraint on a thread's index in its block, or on what is left of it modulo `cmod`, if that is not 0. *)
Record con : Type := Con { cmod : nat; clo : nat; chi : nat }.

Definition sat (c : con) (t : nat) : bool :=
  let x := if cmod c =? 0 then t else t mod cmod c in (clo c <=? x) && (x <? chi c).

Inductive kind : Type := Read | Write | Atomic | AtomicBlock.

(* The mbarriers of a ring, one for each of its copies: their number, the cycle whose rounds they go with, the copies, and how many
   arrive for a round. Of stage 1 they say that a copy is filled, of stage 2 that it is changed, and so on; of stage 0 that it is
   free: then who waits waits for the round in which the copy was used last, and else for this round. `late`: a thread that arrives
   does so for the round that was so many rounds ago. *)
Record mbarrier : Type := Mbarrier { serial : nat; cycle : nat; copies : nat; stage : nat; need : nat; late : nat }.

Definition back (b : mbarrier) : bool := stage b =? 0.

(* An access: its number, the space with the unit whose threads alone share a place of it, the bytes of the object, the kind, of a
   ring the mbarriers that say that a copy is filled, and whether it is sure to be to the memory of the thread's own block. *)
Record access : Type := Access {
  number : nat; space : nat; owner : units; first : nat; last : nat; does : kind; filled : option mbarrier; near : bool }.

(* What a thread does for a ring: it waits, or arrives; its next round begins; its accesses so far to some memory are seen by copy
   engines, too; a copy engine makes accesses, and then arrives; another makes accesses; and one arrives when those of the thread's have ended.
   A group of some kind: an engine, or the tensor cores, make accesses. The thread waits until at most n of its newest groups of a
   kind are under way. It arrives for all rounds for which it has not yet, as its arrivals come late. It reads or writes a
   fragment of its registers; the next group of products does; what it has done with registers so far comes before such a group. *)
Inductive memory : Type := Shared | Clusters | Global | All.

Inductive op : Type :=
| Wait (b : mbarrier)
| Tell (b : mbarrier)
| Advance (c : nat)
| Fence (m : memory)
| Load (b : mbarrier) (l : list access)
| Copy (l : list access)
| Later (b : mbarrier)
| Group (k : nat) (l : list access)
| Settle (k n : nat)
| Drain (b : mbarrier)
| Own (f : nat) (w : bool)
| Lend (f : nat) (w : bool)
| Order.

(* Kinds of groups: what stores write, for which the grid's end waits; what they read; matrix products; and copies that are of the
   same proxy as what threads do. *)
Definition written : nat := 0.
Definition products : nat := 2.
Definition copied : nat := 3.

(* How the hardware knows a barrier: the warp's, or a number. Or the blocks of a cluster send to one another, and each waits for what
   is sent to it: it orders no access. `late`: it waits first until all of them have begun. *)
Inductive hardware : Type := Warp | Named (id : nat) | Sent (late : bool).

Inductive stmt : Type :=
| Skip
| Seq (s1 s2 : stmt)
| Acc (x : access)
| Bar (u : units) (h : hardware)
| If (u : units) (s1 s2 : stmt)
| Loop (l m : nat) (u : units) (s : stmt)  (* the loop's number, and the least number of trips *)
| Only (c : con) (s : stmt)
| Do (x : op).

(* -- positions ---------------------------------------------------------------------------------------------------------- *)

(* A way down the tree of statements: to a part of one, or to a trip of a loop. *)
Inductive turn : Type := Part (k : nat) | Trip (l k : nat).
Definition path : Type := list turn.

(* One turn comes before another; `Some l`: they are trips of the loop l. *)
Inductive earlier : turn -> turn -> option nat -> Prop :=
| earlier_part k m : k < m -> earlier (Part k) (Part m) None
| earlier_trip l k m : k < m -> earlier (Trip l k) (Trip l m) (Some l).

(* One position comes before another; the last index says where they part: in trips of a loop, or elsewhere. *)
Inductive before : path -> path -> option nat -> Prop :=
| before_here x y p q d : earlier x y d -> before (x :: p) (y :: q) d
| before_next x p q d : before p q d -> before (x :: p) (x :: q) d.

Definition precedes (p q : path) : Prop := exists d, before p q d.

(* Two positions part so, whichever comes first; a position and itself part nowhere. *)
Definition part (p q : path) (d : option nat) : Prop := before p q d \/ before q p d \/ (p = q /\ d = None).

(* -- traces ------------------------------------------------------------------------------------------------------------- *)

Inductive event : Type := EAcc (x : access) | EBar (u : units) (h : hardware) | EOp (x : op).

(* What decides branches and trips: at a position, for a unit. *)
Definition oracle : Type := path -> nat * nat -> nat.

Fixpoint trace (o : oracle) (s : stmt) (p : path) (a : thread) : list (path * event) :=
  match s with
  | Skip => []
  | Seq s1 s2 => trace o s1 (p ++ [Part 0]) a ++ trace o s2 (p ++ [Part 1]) a
  | Acc x => [(p, EAcc x)]
  | Bar u h => [(p, EBar u h)]
  | If u s1 s2 =>
      if o p (name u a) =? 0 then trace o s1 (p ++ [Part 0]) a else trace o s2 (p ++ [Part 1]) a
  | Loop l m u s => flat_map (fun k => trace o s (p ++ [Trip l k]) a) (seq 0 (m + o p (name u a)))
  | Only c s => if sat c (snd a) then trace o s p a else []
  | Do x => [(p, EOp x)]
  end.

(* -- the machine -------------------------------------------------------------------------------------------------------- *)

(* Where a thread waits. The hardware counts who waits there, and knows no names. *)
Inductive key : Type := KWarp (n b i : nat) | KNamed (b id : nat) | KCluster (i : nat) | KSent (late : bool) (i : nat) | KGrid.

Definition key_of (u : units) (h : hardware) (a : thread) : key :=
  match u, h with
  | Threads n, Named id => KNamed (fst a) (id + snd a / n)
  | Threads n, _ => KWarp n (fst a) (snd a / n)
  | Block, Named id => KNamed (fst a) id
  | Block, _ => KWarp 0 (fst a) 0
  | Cluster c, Sent l => KSent l (fst a / c)
  | Cluster c, _ => KCluster (fst a / c)
  | Grid, _ => KGrid
  end.

Section Machine.

(* Blocks, and threads of each. *)
Variables B N : nat.

Definition is_thread (a : thread) : Prop := fst a < B /\ snd a < N.

(* To how many a barrier counts. *)
Definition count (u : units) : nat := match u with Threads n => n | Block => N | Cluster c => c * N | Grid => B * N end.

End Machine.

(* -- conflicts ---------------------------------------------------------------------------------------------------------- *)

(* Kinds of accesses by two threads that must be ordered if they touch one place. *)
Definition clash (a b : thread) (k m : kind) : Prop :=
  match k, m with
  | Read, Read => False
  | Atomic, Atomic => False
  | Atomic, AtomicBlock | AtomicBlock, Atomic | AtomicBlock, AtomicBlock => fst a <> fst b
  | _, _ => True
  end.
