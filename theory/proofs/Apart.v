(* Two accesses of a kernel, whose indices a machine computes in types that wrap; and a checker of arguments that they
   touch one element only where they are of one unit, or in one trip. *)

From Coq Require Import List ZArith Bool.
Import ListNotations.
Open Scope Z_scope.

(* -- the machine -------------------------------------------------------------------------------------------------------- *)

Record type : Type := Type_ { signed : bool; bits : Z }.

Definition size (t : type) : Z := 2 ^ bits t.
Definition least (t : type) : Z := if signed t then - 2 ^ (bits t - 1) else 0.
Definition wrap (t : type) (z : Z) : Z := least t + (z - least t) mod size t.

Inductive op : Type := Add | Sub | Mul | Quo | Rem | Shr | And | Or | Xor | Min | Max.

Definition apply (o : op) (a b : Z) : Z :=
  match o with
  | Add => a + b | Sub => a - b | Mul => a * b
  | Quo => Z.quot a b | Rem => Z.rem a b
  | Shr => Z.shiftr a b | And => Z.land a b | Or => Z.lor a b | Xor => Z.lxor a b
  | Min => Z.min a b | Max => Z.max a b
  end.

(* `Conv t e`: the value of e as the type t has it, which wraps. `Fit t e` too, but the program promises that nothing is lost. *)
Inductive expr : Type :=
| Num (z : Z)
| Var (v : nat)
| Bin (o : op) (a b : expr)
| Conv (t : type) (a : expr)
| Fit (t : type) (a : expr).

Fixpoint eval (r : nat -> Z) (e : expr) : Z :=
  match e with
  | Num z => z
  | Var v => r v
  | Bin o a b => apply o (eval r a) (eval r b)
  | Conv t a | Fit t a => wrap t (eval r a)
  end.

(* Whether the promises in an expression are kept. *)
Fixpoint kept (r : nat -> Z) (e : expr) : bool :=
  match e with
  | Num _ | Var _ => true
  | Bin _ a b => kept r a && kept r b
  | Conv _ a => kept r a
  | Fit t a => kept r a && (0 <=? eval r a - least t) && (eval r a - least t <? size t)
  end.

(* -- claims ------------------------------------------------------------------------------------------------------------- *)

(* A number: whether it is one for both accesses, and the least and the greatest that it can be. *)
Record var : Type := Variable_ { shared : bool; low : option Z; high : option Z }.

Inductive rel : Type := Less | AtMost | Equal.
Record cond : Type := Cond { how : rel; left : expr; right : expr }.

(* What is said of numbers of both accesses: where some comparisons hold for each, and some expressions are equal, others are. *)
Record rule : Type := Rule {
  if1 : list cond; if2 : list cond;
  equal : list (expr * expr); therefore : list (expr * expr) }.

Record claim : Type := Claim {
  vars : list var;
  agree : list expr;               (* expressions that are equal for both *)
  told : list rule;
  where1 : list cond;              (* what holds where the first access is made *)
  where2 : list cond;
  index : list (expr * expr);      (* the places of both, along each axis *)
  goal : option (list expr) }.     (* what is equal if they meet; None: they never do *)

Definition within (x : var) (z : Z) : bool :=
  match low x with Some l => l <=? z | None => true end && match high x with Some h => z <=? h | None => true end.

Definition holds (r : nat -> Z) (c : cond) : bool :=
  let a := eval r (left c) in
  let b := eval r (right c) in
  match how c with Less => a <? b | AtMost => a <=? b | Equal => a =? b end.

Definition pair_kept (r1 r2 : nat -> Z) (e : expr * expr) : bool := kept r1 (fst e) && kept r2 (snd e).
Definition pair_equal (r1 r2 : nat -> Z) (e : expr * expr) : bool := eval r1 (fst e) =? eval r2 (snd e).
Definition same_kept (r1 r2 : nat -> Z) (e : expr) : bool := kept r1 e && kept r2 e.
Definition cond_kept (r : nat -> Z) (k : cond) : bool := kept r (left k) && kept r (right k).

Definition obeys (r1 r2 : nat -> Z) (t : rule) : bool :=
  forallb (cond_kept r1) (if1 t) && forallb (cond_kept r2) (if2 t) &&
    forallb (pair_kept r1 r2) (equal t ++ therefore t) &&
  implb (forallb (holds r1) (if1 t) && forallb (holds r2) (if2 t) && forallb (pair_equal r1 r2) (equal t))
    (forallb (pair_equal r1 r2) (therefore t)).

Definition goals (c : claim) : list expr := match goal c with Some l => l | None => [] end.

Fixpoint vars_kept (vs : list var) (v : nat) (r1 r2 : nat -> Z) : bool :=
  match vs with
  | [] => true
  | x :: vs => within x (r1 v) && within x (r2 v) && implb (shared x) (r1 v =? r2 v) && vars_kept vs (S v) r1 r2
  end.

(* Values of the numbers that two accesses may have: they keep to the ranges, to what both agree on, and to the promises. *)
Definition possible (c : claim) (r1 r2 : nat -> Z) : bool :=
  vars_kept (vars c) 0 r1 r2 && forallb (fun e => same_kept r1 r2 e && (eval r1 e =? eval r2 e)) (agree c) &&
  forallb (obeys r1 r2) (told c) && forallb (same_kept r1 r2) (goals c) && forallb (pair_kept r1 r2) (index c) &&
  forallb (cond_kept r1) (where1 c) && forallb (cond_kept r2) (where2 c).

Definition made (c : claim) (r1 r2 : nat -> Z) : Prop :=
  possible c r1 r2 = true /\ forallb (holds r1) (where1 c) = true /\ forallb (holds r2) (where2 c) = true.

Definition meet (c : claim) (r1 r2 : nat -> Z) : Prop := Forall (fun e => eval r1 (fst e) = eval r2 (snd e)) (index c).

(* What a claim says: accesses that meet are of one unit; or that none do. *)
Definition true_claim (c : claim) : Prop :=
  forall r1 r2, made c r1 r2 -> meet c r1 r2 ->
    match goal c with Some l => Forall (fun e => eval r1 e = eval r2 e) l | None => False end.

(* -- polynomials over atoms --------------------------------------------------------------------------------------------- *)

Definition mono : Type := list nat.
Definition poly : Type := list (mono * Z).

Fixpoint mono_cmp (m n : mono) : comparison :=
  match m, n with
  | [], [] => Eq
  | [], _ => Lt
  | _, [] => Gt
  | i :: m, j :: n => match Nat.compare i j with Eq => mono_cmp m n | d => d end
  end.

Fixpoint mono_insert (i : nat) (m : mono) : mono :=
  match m with [] => [i] | j :: n => if Nat.leb i j then i :: m else j :: mono_insert i n end.
Definition mono_mul (m n : mono) : mono := fold_right mono_insert n m.

(* Add a term to a sum of terms, which stay in order. *)
Fixpoint plus (m : mono) (c : Z) (p : poly) : poly :=
  match p with
  | [] => if c =? 0 then [] else [(m, c)]
  | (n, d) :: q =>
      match mono_cmp m n with
      | Lt => if c =? 0 then p else (m, c) :: p
      | Eq => if c + d =? 0 then q else (n, c + d) :: q
      | Gt => (n, d) :: plus m c q
      end
  end.

Definition const (z : Z) : poly := plus [] z [].
Definition atom (i : nat) : poly := [([i], 1)].
Definition add (p q : poly) : poly := fold_right (fun t s => plus (fst t) (snd t) s) q p.
Definition term_mul (m : mono) (c : Z) (q s : poly) : poly :=
  fold_right (fun t s => plus (mono_mul m (fst t)) (c * snd t) s) s q.
Definition mul (p q : poly) : poly := fold_right (fun t s => term_mul (fst t) (snd t) q s) [] p.
Definition scale (c : Z) (p : poly) : poly := term_mul [] c p [].
Definition sub (p q : poly) : poly := add (scale (-1) q) p.
Definition is_zero (p : poly) : bool := match p with [] => true | _ => false end.
Definition same (p q : poly) : bool := is_zero (sub p q).

(* The value of a polynomial that is a number. *)
Definition number (p : poly) : option Z := match p with [] => Some 0 | [([], c)] => Some c | _ => None end.

(* -- atoms -------------------------------------------------------------------------------------------------------------- *)

(* A number of the first or the second access; a name of a polynomial; a quotient by a number, rounded down; another operator. *)
Inductive def : Type :=
| DVar (second : bool) (v : nat)
| DName (p : poly)
| DDiv (p : poly) (c : Z)
| DBin (o : op) (p q : poly).

Definition op_dec (a b : op) : {a = b} + {a <> b}.
Proof. decide equality. Defined.
Definition op_eqb (a b : op) : bool := if op_dec a b then true else false.

Definition def_eqb (a b : def) : bool :=
  match a, b with
  | DVar s v, DVar s' v' => Bool.eqb s s' && Nat.eqb v v'
  | DDiv p c, DDiv q d => same p q && (c =? d)
  | DBin o p q, DBin o' p' q' => op_eqb o o' && same p p' && same q q'
  | _, _ => false
  end.

Definition below (n : nat) (p : poly) : bool := forallb (fun t => forallb (fun i => Nat.ltb i n) (fst t)) p.

Definition def_below (n : nat) (d : def) : bool :=
  match d with
  | DVar _ _ => true
  | DName p | DDiv p _ => below n p
  | DBin _ p q => below n p && below n q
  end.

(* Each atom is made of those before it. *)
Fixpoint in_order (n : nat) (ds : list def) : bool :=
  match ds with [] => true | d :: ds => def_below n d && in_order (S n) ds end.

Fixpoint find (n : nat) (d : def) (ds : list def) : option nat :=
  match ds with [] => None | e :: ds => if def_eqb d e then Some n else find (S n) d ds end.

Definition bind {A B} (x : option A) (f : A -> option B) : option B := match x with Some a => f a | None => None end.

(* Which power of 2 a number is. *)
Definition power (c : Z) : option Z := if (0 <? c) && (2 ^ Z.log2 c =? c) then Some (Z.log2 c) else None.

(* No machine has types, or shifts, of more bits. *)
Definition most_bits : Z := 256.

Section Checker.

Variable c : claim.
Variable ds : list def.

Definition named (d : def) : option poly := option_map atom (find 0 d ds).

Definition is_shared (v : nat) : bool := match nth_error (vars c) v with Some x => shared x | None => false end.

(* The polynomial that is an expression's value for one of the accesses. *)
Definition combined (o : op) (p q : poly) : option poly :=
  match o with
  | Add => Some (add p q)
  | Sub => Some (sub p q)
  | Mul => Some (mul p q)
  | Rem => bind (named (DBin Quo p q)) (fun x => Some (sub p (mul q x)))
  | Shr => bind (number q) (fun n => if (0 <=? n) && (n <=? most_bits) then named (DDiv p (2 ^ n)) else None)
  | And =>
      match bind (number q) (fun n => power (n + 1)) with
      | Some k => bind (named (DDiv p (2 ^ k))) (fun x => Some (sub p (scale (2 ^ k) x)))
      | None => named (DBin And p q)
      end
  | _ => named (DBin o p q)
  end.

Fixpoint value (second : bool) (e : expr) : option poly :=
  match e with
  | Num z => Some (const z)
  | Var v => named (DVar (second && negb (is_shared v)) v)
  | Bin o a b => bind (value second a) (fun p => bind (value second b) (combined o p))
  | Conv t a => bind (value second a) (fun p =>
      if (0 <? bits t) && (bits t <=? most_bits) then
        bind (named (DDiv (sub p (const (least t))) (size t))) (fun x => Some (sub p (scale (size t) x)))
      else None)
  | Fit t a => value second a
  end.

(* -- what is known ------------------------------------------------------------------------------------------------------ *)

(* A polynomial is not negative, or is 0. *)
Inductive fact : Type := Ge (p : poly) | Is (p : poly).

Definition impossible : fact := Ge (const (-1)).

Definition of_var (second : bool) (v : nat) : option (list fact) :=
  bind (nth_error (vars c) v) (fun x => bind (value second (Var v)) (fun p =>
    Some ((match low x with Some l => [Ge (sub p (const l))] | None => [] end) ++
          (match high x with Some h => [Ge (sub (const h) p)] | None => [] end)))).

Definition of_cond (second : bool) (k : cond) : option (list fact) :=
  bind (value second (left k)) (fun p => bind (value second (right k)) (fun q =>
    Some [match how k with
          | Less => Ge (sub (sub q p) (const 1))
          | AtMost => Ge (sub q p)
          | Equal => Is (sub p q)
          end])).

Definition of_pair (a b : expr) : option (list fact) :=
  bind (value false a) (fun p => bind (value true b) (fun q => Some [Is (sub p q)])).

(* What a promise gives: the value in an expression at this place fits. *)
Inductive at_ : Type := Left | Right | Inside.
Fixpoint inner (w : list at_) (e : expr) : option expr :=
  match w, e with
  | [], _ => Some e
  | Left :: w, Bin _ a _ => inner w a
  | Right :: w, Bin _ _ b => inner w b
  | Inside :: w, Conv _ a | Inside :: w, Fit _ a => inner w a
  | _, _ => None
  end.

(* The expressions of a claim whose promises are kept, for one of the accesses. *)
Definition said (second : bool) : list expr :=
  flat_map (fun k => [left k; right k]) (if second then where2 c else where1 c) ++ agree c ++
  flat_map (fun t => flat_map (fun k => [left k; right k]) (if second then if2 t else if1 t) ++
     map (fun e => if second then snd e else fst e) (equal t ++ therefore t)) (told c) ++ goals c ++
  map (fun e => if second then snd e else fst e) (index c).

Definition of_promise (second : bool) (n : nat) (w : list at_) : option (list fact) :=
  bind (nth_error (said second) n) (fun e => bind (inner w e) (fun e =>
    match e with
    | Fit t a => bind (value second a) (fun p =>
        Some [Ge (sub p (const (least t))); Ge (sub (const (least t + size t - 1)) p)])
    | _ => None
    end)).

(* -- steps of an argument ----------------------------------------------------------------------------------------------- *)

Inductive step : Type :=
| Range (second : bool) (v : nat)                  (* what a number can be *)
| Where (second : bool) (n : nat)                  (* a condition *)
| Agreed (n : nat) | Meets (n : nat)               (* what both agree on; where they meet *)
| Told (n : nat) (l1 l2 l : list nat)              (* a rule: facts that say what it asks for *)
| Promised (second : bool) (n : nat) (w : list at_)
| Sum (l : list (poly * nat))                      (* a sum of facts, each as often as said *)
| Product (f g : nat)
| Round (c : Z) (f : nat)                          (* a fact divided by a number *)
| Radix (f : nat) (g a : poly) (hi lo : nat)       (* g a + b = 0 where b is less than g from 0: a = 0 and b = 0 *)
| Made (i : nat)                                   (* what an atom is by itself *)
| Divided (i f g : nat)                            (* a quotient of what is not negative by what is positive *)
| Masked (i f : nat)                               (* x & m is from 0 to m *)
| Mixed (k : Z) (i f g h j : nat)                  (* an xor of numbers of k bits has k bits *)
| Both (f g : nat)                                 (* neither p nor -p is negative: p = 0 *)
| Undone (i j f g : nat)                           (* a ^ b = c ^ d with a = c: then b = d; with b = d: then a = c *)
| Joined (k : Z) (i : nat) (a : poly) (f g : nat)  (* 2^k a | b is 2^k a + b *)
| Alike (i j f g : nat).                           (* operators of equal numbers are equal *)

Definition Ge_at (fs : list fact) (f : nat) (p : poly) : bool :=
  match nth_error fs f with Some (Ge q) => same p q | Some (Is q) => same p q | None => false end.
Definition Is_at (fs : list fact) (f : nat) (p : poly) : bool :=
  match nth_error fs f with Some (Is q) => same p q | _ => false end.

(* Whether facts say of each pair that it is equal, and of each comparison that it holds. *)
Fixpoint equal_at (fs : list fact) (es : list (expr * expr)) (l : list nat) : bool :=
  match es, l with
  | [], [] => true
  | e :: es, f :: l =>
      match value false (fst e), value true (snd e) with
      | Some p, Some q => Is_at fs f (sub p q) && equal_at fs es l
      | _, _ => false
      end
  | _, _ => false
  end.

Fixpoint hold_at (second : bool) (fs : list fact) (ks : list cond) (l : list nat) : bool :=
  match ks, l with
  | [], [] => true
  | k :: ks, f :: l =>
      match of_cond second k with
      | Some [Ge p] => Ge_at fs f p && hold_at second fs ks l
      | Some [Is p] => Is_at fs f p && hold_at second fs ks l
      | _ => false
      end
  | _, _ => false
  end.

Fixpoint all_pairs (es : list (expr * expr)) : option (list fact) :=
  match es with
  | [] => Some []
  | e :: es => bind (of_pair (fst e) (snd e)) (fun fs => option_map (app fs) (all_pairs es))
  end.

Fixpoint sum (fs : list fact) (l : list (poly * nat)) : option fact :=
  match l with
  | [] => Some (Is [])
  | (q, f) :: l =>
      bind (sum fs l) (fun s => bind (nth_error fs f) (fun x =>
        match x, s with
        | Is p, Is r => Some (Is (add (mul q p) r))
        | Is p, Ge r => Some (Ge (add (mul q p) r))
        | Ge p, Is r | Ge p, Ge r =>
            bind (number q) (fun n => if 0 <=? n then Some (Ge (add (scale n p) r)) else None)
        end))
  end.

(* A polynomial's constant, and the rest of it. *)
Definition split (p : poly) : Z * poly := match p with ([], k) :: q => (k, q) | _ => (0, p) end.
Definition quotient (n : Z) (p : poly) : poly := fold_right (fun t s => plus (fst t) (snd t / n) s) [] p.
Definition whole (n : Z) (p : poly) : bool := forallb (fun t => snd t mod n =? 0) p.

Definition when {A} (b : bool) (x : A) : option A := if b then Some x else None.

(* What is made of an atom that an operator gives. *)
Definition made_of (o : op) (i : nat) (f : poly -> poly -> option (list fact)) : option (list fact) :=
  match nth_error ds i with Some (DBin o' p q) => if op_eqb o' o then f p q else None | _ => None end.

Definition follow (fs : list fact) (s : step) : option (list fact) :=
  match s with
  | Range b v => of_var b v
  | Where b n => bind (nth_error (if b then where2 c else where1 c) n) (of_cond b)
  | Agreed n => bind (nth_error (agree c) n) (fun e => of_pair e e)
  | Meets n => bind (nth_error (index c) n) (fun e => of_pair (fst e) (snd e))
  | Told n l1 l2 l =>
      bind (nth_error (told c) n) (fun t =>
        if hold_at false fs (if1 t) l1 && hold_at true fs (if2 t) l2 && equal_at fs (equal t) l
        then all_pairs (therefore t) else None)
  | Promised b n w => of_promise b n w
  | Sum l => option_map (fun x => [x]) (sum fs l)
  | Product f g =>
      match nth_error fs f, nth_error fs g with
      | Some (Ge p), Some (Ge q) => Some [Ge (mul p q)]
      | _, _ => None
      end
  | Round n f =>
      bind (nth_error fs f) (fun x =>
        let (k, q) := split (match x with Ge p | Is p => p end) in
        let rounded := plus [] (k / n) (quotient n q) in
        when ((0 <? n) && whole n q)
          [match x with Ge _ => Ge rounded | Is _ => if k mod n =? 0 then Is rounded else impossible end])
  | Radix f g a hi lo =>
      bind (nth_error fs f) (fun x =>
        match x with
        | Is e =>
            let b := sub e (mul g a) in
            when (Ge_at fs hi (sub (sub g (const 1)) b) && Ge_at fs lo (add (sub g (const 1)) b)) [Is a; Is b]
        | Ge _ => None
        end)
  | Made i =>
      bind (nth_error ds i) (fun d =>
        match d with
        | DName p => Some [Is (sub (atom i) p)]
        | DDiv p n =>
            let r := sub p (scale n (atom i)) in
            when (0 <? n) [Ge r; Ge (sub (const (n - 1)) r)]
        | DBin Min p q => Some [Ge (sub p (atom i)); Ge (sub q (atom i))]
        | DBin Max p q => Some [Ge (sub (atom i) p); Ge (sub (atom i) q)]
        | _ => None
        end)
  | Divided i f g =>
      made_of Quo i (fun p q =>
        let r := sub p (mul q (atom i)) in
        when (Ge_at fs f p && Ge_at fs g (sub q (const 1))) [Ge (atom i); Ge r; Ge (sub (sub q (const 1)) r)])
  | Masked i f => made_of And i (fun p q => when (Ge_at fs f q) [Ge (atom i); Ge (sub q (atom i))])
  | Mixed k i f g h j =>
      made_of Xor i (fun p q =>
        let m := const (2 ^ k - 1) in
        when ((0 <=? k) && (k <=? most_bits) && Ge_at fs f p && Ge_at fs g (sub m p) && Ge_at fs h q && Ge_at fs j (sub m q))
          [Ge (atom i); Ge (sub m (atom i))])
  | Both f g =>
      bind (nth_error fs f) (fun x =>
        match x with Ge p => when (Ge_at fs g (scale (-1) p)) [Is p] | Is _ => None end)
  | Undone i j f g =>
      made_of Xor i (fun p q => made_of Xor j (fun p' q' =>
        if Is_at fs f (sub (atom i) (atom j)) then
          if Is_at fs g (sub p p') then Some [Is (sub q q')] else when (Is_at fs g (sub q q')) [Is (sub p p')]
        else None))
  | Joined k i a f g =>
      made_of Or i (fun p q =>
        when ((0 <=? k) && (k <=? most_bits) && same p (scale (2 ^ k) a) && Ge_at fs f q && Ge_at fs g (sub (const (2 ^ k - 1)) q))
          [Is (sub (atom i) (add p q))])
  | Alike i j f g =>
      match nth_error ds i, nth_error ds j with
      | Some (DBin o p q), Some (DBin o' p' q') =>
          when (op_eqb o o' && Is_at fs f (sub p p') && Is_at fs g (sub q q')) [Is (sub (atom i) (atom j))]
      | Some (DDiv p n), Some (DDiv p' n') =>
          when ((n =? n') && Is_at fs f (sub p p')) [Is (sub (atom i) (atom j))]
      | _, _ => None
      end
  end.

Fixpoint follow_all (fs : list fact) (ss : list step) : option (list fact) :=
  match ss with
  | [] => Some fs
  | s :: ss => bind (follow fs s) (fun more => follow_all (fs ++ more) ss)
  end.

Definition absurd (f : fact) : bool :=
  match f with
  | Ge p => match number p with Some n => n <? 0 | None => false end
  | Is p => match number p with Some n => negb (n =? 0) | None => false end
  end.

Definition shown (fs : list fact) (e : expr) : bool :=
  match value false e, value true e with
  | Some p, Some q =>
      same p q || existsb (fun f => match f with Is r => same r (sub p q) || same r (sub q p) | Ge _ => false end) fs
  | _, _ => false
  end.

(* Whether an argument proves the claim. *)
Definition argued (ss : list step) : bool :=
  in_order 0 ds &&
  match follow_all [] ss with
  | Some fs => existsb absurd fs || match goal c with Some l => forallb (shown fs) l | None => false end
  | None => false
  end.

End Checker.

(* -- promises that can be kept ------------------------------------------------------------------------------------------ *)

(* A promise that no two units can keep would make any claim true. So where a claim has promises, two are shown that keep them. *)
Definition of_list (l : list Z) (v : nat) : Z := nth v l 0.

Definition witnessed (c : claim) (one two : list Z) : bool :=
  let r1 := of_list one in
  let r2 := of_list two in
  possible c r1 r2 && match goal c with Some l => existsb (fun e => negb (eval r1 e =? eval r2 e)) l | None => true end.

Fixpoint promises (e : expr) : bool :=
  match e with
  | Num _ | Var _ => false
  | Bin _ a b => promises a || promises b
  | Conv _ a => promises a
  | Fit _ _ => true
  end.

Definition has_promises (c : claim) : bool := existsb promises (said c false) || existsb promises (said c true).

Definition proves (c : claim) (ds : list def) (ss : list step) (one two : list Z) : bool :=
  argued c ds ss && (negb (has_promises c) || witnessed c one two).
