(* The checker of skeletons: barriers are met by whole units, and what may conflict has one between. *)

From Coq Require Import List Arith Bool.
From Bundl Require Import Skeleton Ordered.
Import ListNotations.

Definition divides (k n : nat) : bool := (0 <? k) && (n mod k =? 0).

Definition units_dec (u v : units) : {u = v} + {u <> v}.
Proof. decide equality; apply Nat.eq_dec. Defined.
Definition con_dec (c d : con) : {c = d} + {c <> d}.
Proof. decide equality; apply Nat.eq_dec. Defined.
Definition hardware_dec (h g : hardware) : {h = g} + {h <> g}.
Proof. decide equality; [apply Nat.eq_dec | apply bool_dec]. Defined.
Definition part_dec (d e : option nat) : {d = e} + {d <> e}.
Proof. decide equality; apply Nat.eq_dec. Defined.

Notation units_eqb := (same_as units_dec).
Notation con_eqb := (same_as con_dec).
Notation hardware_eqb := (same_as hardware_dec).
Notation part_eqb := (same_as part_dec).

(* Threads of one unit satisfy the constraint, or none of them. *)
Definition respects (u : units) (c : con) : bool :=
  match u with
  | Threads k => divides k (clo c) && divides k (chi c) && ((cmod c =? 0) || divides k (cmod c))
  | _ => false
  end.

(* Two threads of one unit that both satisfy the constraint are in one unit v. *)
Definition within (c : con) (u v : units) : bool :=
  match v with
  | Threads m =>
      (0 <? m) && (clo c <? chi c) && (clo c / m =? (chi c - 1) / m) &&
      (if cmod c =? 0 then match u with Block | Threads _ => true | _ => false end
       else divides m (cmod c) && match u with Threads k => divides k (cmod c) | _ => false end)
  | _ => false
  end.

(* Two constraints that no thread's index satisfies both. *)
Definition disjoint (c d : con) : bool := (cmod c =? cmod d) && ((chi c <=? clo d) || (chi d <=? clo c)).

Definition com : Type := (units * list con)%type.

Definition com_dec (x y : com) : {x = y} + {x <> y}.
Proof. decide equality; [apply (list_eq_dec con_dec) | apply units_dec]. Defined.
Notation com_eqb := (same_as com_dec).

(* What is known of an access that was made: under which constraints; the barriers since, that those meet who satisfy theirs;
   units that its thread does not share with the one that is looked at; how its position parts from where we are. *)
Record entry : Type := Entry { made : access; under : list con; past : list com; apart : list units; at_ : option nat }.

(* A fact: accesses of these numbers, at positions that part so, touch one place only if they never do (None), or if their
   threads are of one unit. *)
Record fact : Type := Fact { one : nat; two : nat; parts : option nat; what : option units }.

Definition is_atomic (k : kind) : bool := match k with Atomic | AtomicBlock => true | _ => false end.

Definition compatible (k m : kind) : bool := match k, m with Read, Read | Atomic, Atomic => true | _, _ => false end.

Definition overlap (x y : access) : bool := (space x =? space y) && (first x <? last y) && (first y <? last x).

(* Accesses to the rings of one cycle: the rules of rings are asked of them. *)
Definition ringed (x y : access) : bool :=
  match filled x, filled y with Some b, Some d => cycle b =? cycle d | _, _ => false end.

Section Valid.

Variable N : nat.

Definition le (u v : units) : bool :=
  match u, v with
  | Threads k, Threads m => divides k m
  | Threads _, _ => true
  | Block, Threads m => N <=? m
  | Block, _ => true
  | Cluster c, Cluster d => divides c d
  | Cluster _, Grid | Grid, Grid => true
  | _, _ => false
  end.

(* Two threads of one unit u, under these constraints, are of one unit v. *)
Definition le_in (C D : list con) (u v : units) : bool :=
  le u v || existsb (fun c => existsb (con_eqb c) D && within c u v) C.

(* -- barriers are met by whole units ------------------------------------------------------------------------------------ *)

Definition whole (u : units) (C : list con) : bool :=
  match u with
  | Threads k =>
      (0 <? k) && forallb (respects u) C &&
      (divides k N || existsb (fun c => (cmod c =? 0) && (chi c <=? N) && divides k (chi c)) C)
  | _ => match C with [] => true | _ => false end
  end.

Definition ids (u : units) : nat := match u with Threads n => (N + (n - 1)) / n | _ => 1 end.

(* A barrier that the hardware has. *)
Definition exists_in_hardware (u : units) (h : hardware) : bool :=
  match u, h with
  | Threads n, Warp => divides n 32
  | Threads n, Named id => id + ids u <=? 16
  | Block, Named id => id <? 16
  | Cluster _, (Warp | Sent _) | Grid, Warp => true
  | _, _ => false
  end.

Fixpoint bars (s : stmt) (D : list units) (C : list con) : bool :=
  match s with
  | Skip | Acc _ | Do _ => true
  | Seq s1 s2 => bars s1 D C && bars s2 D C
  | Bar u h => exists_in_hardware u h && whole u C && forallb (le_in C C u) D
  | If u s1 s2 => bars s1 (u :: D) C && bars s2 (u :: D) C
  | Loop _ _ u s => bars s (u :: D) C
  | Only c s => bars s D (c :: C)
  end.

Fixpoint barriers (s : stmt) : list (units * hardware) :=
  match s with
  | Skip | Acc _ | Do _ => []
  | Bar u h => [(u, h)]
  | Seq s1 s2 | If _ s1 s2 => barriers s1 ++ barriers s2
  | Loop _ _ _ s | Only _ s => barriers s
  end.

(* One key of the hardware is not two barriers'. *)
Definition separate (x y : units * hardware) : bool :=
  match x, y with
  | (u, Named i), (v, Named j) =>
      (units_eqb u v && (i =? j)) || (i + ids u <=? j) || (j + ids v <=? i)
  | (Cluster c, _), (Cluster d, _) => c =? d
  | _, _ => true
  end.

Fixpoint distinct (l : list (units * hardware)) : list (units * hardware) :=
  match l with
  | [] => []
  | x :: l =>
      let r := distinct l in
      if existsb (fun y => units_eqb (fst x) (fst y) && hardware_eqb (snd x) (snd y)) r then r else x :: r
  end.

Definition keys (s : stmt) : bool := let l := distinct (barriers s) in forallb (fun x => forallb (separate x) l) l.

(* -- accesses with a barrier between ------------------------------------------------------------------------------------ *)

(* Barriers that every thread meets in a statement that comes to it, and satisfies theirs, and that order accesses. *)
Fixpoint passed (s : stmt) (C : list con) : list com :=
  match s with
  | Skip | Acc _ | Do _ | Bar _ (Sent _) => []
  | Bar u _ => [(u, C)]
  | Seq s1 s2 => passed s1 C ++ passed s2 C
  | If _ s1 s2 => filter (fun x => existsb (com_eqb x) (passed s2 C)) (passed s1 C)
  | Loop _ m _ s => if m =? 0 then [] else passed s C
  | Only c s => passed s (c :: C)
  end.

Definition more (l m : list com) : list com := filter (fun x => negb (existsb (com_eqb x) m)) l ++ m.

Definition behind (l : list com) (e : entry) : entry := Entry (made e) (under e) (more l (past e)) (apart e) (at_ e).
Definition beside (u : units) (e : entry) : entry := Entry (made e) (under e) (past e) (u :: apart e) (at_ e).
Definition later (l : nat) (e : entry) : entry := Entry (made e) (under e) (past e) (apart e) (Some l).

(* Accesses that a statement has made when it ends. *)
Fixpoint makes (s : stmt) (C : list con) : list entry :=
  match s with
  | Skip | Bar _ _ | Do _ => []
  | Acc x => [Entry x C [] [] None]
  | Seq s1 s2 => let k := passed s2 C in map (behind k) (makes s1 C) ++ makes s2 C
  | If _ s1 s2 => makes s1 C ++ makes s2 C
  | Loop _ _ _ s => makes s C
  | Only c s => makes s (c :: C)
  end.

Variable F : list fact.

(* Pairs of accesses of which nothing is asked here. *)
Variable pass : access -> access -> bool.

Definition about (j : nat) : list fact := filter (fun f => (one f =? j) || (two f =? j)) F.

Definition is_of (x y : access) (d : option nat) (f : fact) : bool :=
  part_eqb (parts f) d &&
  (((one f =? number x) && (two f =? number y)) || ((one f =? number y) && (two f =? number x))).

(* What two accesses that meet tell of their threads; None: they never meet. *)
Definition concerns (G : list fact) (x y : access) (d : option nat) : list (option units) :=
  if overlap x y then Some (owner x) :: map what (filter (is_of x y d) G) else [None].

Definition includes (C D : list con) : bool := forallb (fun d => existsb (con_eqb d) C) D.

(* Why accesses need nothing more, if threads of one unit alone meet there. *)
Definition settled (e : entry) (y : access) (C : list con) (c : option units) : bool :=
  match c with
  | None => true
  | Some c =>
      units_eqb c (Threads 1)
      || (is_atomic (does (made e)) && is_atomic (does y) && le c Block)
      || existsb (fun k => includes (under e) (snd k) && le_in (under e) C c (fst k)) (past e)
      || existsb (fun d => le_in (under e) C c d) (apart e)
      || existsb (fun k => existsb (fun m => disjoint k m && (respects c k || respects c m)) C) (under e)
  end.

Definition fine (G : list fact) (y : access) (C : list con) (e : entry) : bool :=
  compatible (does (made e)) (does y) || pass (made e) y || existsb (settled e y C) (concerns G (made e) y (at_ e)).

Fixpoint check (s : stmt) (C : list con) (E : list entry) : bool :=
  match s with
  | Skip | Bar _ _ | Do _ => true
  | Acc y => let G := about (number y) in forallb (fine G y C) (Entry y C [] [] None :: E)
  | Seq s1 s2 => check s1 C E && check s2 C (map (behind (passed s1 C)) E ++ makes s1 C)
  | If u s1 s2 => check s1 C E && check s2 C (E ++ map (beside u) (makes s1 C))
  | Loop l _ _ s => check s C (E ++ map (later l) (makes s C))
  | Only c s => check s (c :: C) E
  end.

End Valid.

Definition valid (N : nat) (F : list fact) (s : stmt) : bool := bars N s [] [] && keys N s && check N F ringed s [] [].
