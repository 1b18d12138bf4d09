(* Rings: what threads and copy engines do for them, and the rules of the checker. *)

From Coq Require Import List Arith Bool.
From Bundl Require Import Skeleton Ordered Valid Signals.
Import ListNotations.

(* -- the machine -------------------------------------------------------------------------------------------------------- *)

(* Who acts: a thread, or the engine that does what a thread has issued at a position. *)
Inductive agent : Type := Thread (a : thread) | Engine (a : thread) (p : path).

(* The mbarrier of a ring's copy in a block; what an engine waits for; and what it tells when its accesses are made. *)
Inductive signal : Type := Ring (block : nat) (b : mbarrier) (copy : nat) | Issued (a : thread) (p : path) | Done (a : thread) (p : path).

Definition size (s : signal) : nat := match s with Ring _ b _ => Nat.max 1 (need b) | _ => 1 end.

Definition doing : Type := @action access key signal.
Definition act : Type := path * doing.
Definition access_ : access -> doing := Signals.Access.
Definition barrier_ : key -> nat -> doing := Barrier.
Definition arrive_ : signal -> nat -> doing := Arrive.
Definition await_ : signal -> nat -> doing := Await.

Lemma mbarrier_dec (b d : mbarrier) : {b = d} + {b <> d}.
Proof. decide equality; try apply Nat.eq_dec; apply bool_dec. Defined.

(* The number of a cycle's rounds that have ended before a position. *)
Definition ends (c : nat) (e : event) : bool := match e with EOp (Advance d) => d =? c | _ => false end.
Definition rounds (c : nat) (t : list (path * event)) (p : path) : nat :=
  length (filter (fun q => if precedes_dec q p then true else false) (map fst (filter (fun z => ends c (snd z)) t))).

Section Acts.

Variables B N : nat.
Variable tr : thread -> list (path * event).

Definition round_of (b : mbarrier) (a : thread) (p : path) : nat := rounds (cycle b) (tr a) p.
Definition ring_of (b : mbarrier) (a : thread) (p : path) : signal := Ring (fst a) b (round_of b a p mod copies b).
Definition phase_of (b : mbarrier) (a : thread) (p : path) : nat := round_of b a p / copies b.

(* Positions before p of what is chosen. *)
Definition since (choose : event -> bool) (a : thread) (p : path) : list path :=
  filter (fun q => if precedes_dec q p then true else false) (map fst (filter (fun z => choose (snd z)) (tr a))).

(* How many rounds had ended when a thread last arrived for all that were left. *)
Definition is_drain (b : mbarrier) (e : event) : bool :=
  match e with EOp (Drain d) => if mbarrier_dec b d then true else false | _ => false end.
Definition drained_to (b : mbarrier) (a : thread) (p : path) : nat :=
  fold_right Nat.max 0 (map (rounds (cycle b) (tr a)) (since (is_drain b) a p)).

(* For which rounds a thread arrives at p. *)
Definition told_rounds (b : mbarrier) (a : thread) (p : path) (e : event) : list nat :=
  let v := round_of b a p in
  match e with
  | EOp (Tell _) => if late b =? 0 then [v] else filter (fun k => (k + late b =? v) && (drained_to b a p <=? k)) (seq 0 v)
  | EOp (Drain _) => filter (fun k => (v <=? k + late b) && (drained_to b a p <=? k)) (seq 0 v)
  | _ => [v]
  end.
Definition tell_acts (b : mbarrier) (a : thread) (p : path) (e : event) : list act :=
  map (fun k => (p ++ [Part 2; Part k], arrive_ (Ring (fst a) b (k mod copies b)) (k / copies b))) (told_rounds b a p e).

(* Groups of a kind before p: those that at least n newer ones follow are waited for. *)
Definition is_group (k : nat) (e : event) : bool := match e with EOp (Group j _) => j =? k | _ => false end.
Definition settled_at (a : thread) (k n : nat) (p : path) : list path :=
  let l := since (is_group k) a p in
  filter (fun q => n <=? length (filter (fun r => if precedes_dec q r then true else false) l)) l.

(* What stands at p, part 2, one after the other. *)
Fixpoint listed (p : path) (i : nat) (l : list doing) : list act :=
  match l with [] => [] | x :: l => (p ++ [Part 2; Part i], x) :: listed p (S i) l end.

Definition waits_done (a : thread) (p : path) (l : list path) : list act := listed p 0 (map (fun q => await_ (Done a q) 0) l).

Definition thread_acts (a : thread) (z : path * event) : list act :=
  let (p, e) := z in
  match e with
  | EAcc x => [(p, access_ x)]
  | EBar u h => [(p, barrier_ (key_of u h a) (count B N u))]
  | EOp (Wait b) =>
      if back b then match phase_of b a p with 0 => [] | S m => [(p, await_ (ring_of b a p) m)] end
      else [(p, await_ (ring_of b a p) (phase_of b a p))]
  | EOp (Tell b) | EOp (Drain b) => tell_acts b a p e
  | EOp (Load _ _) | EOp (Copy _) | EOp (Later _) | EOp (Group _ _) => [(p ++ [Part 0], arrive_ (Issued a p) 0)]
  | EOp (Settle k n) => waits_done a p (settled_at a k n p)
  | EOp (Advance _) | EOp (Fence _) | EOp (Own _ _) | EOp (Lend _ _) | EOp Order => []
  end.

Definition is_copy (e : event) : bool := match e with EOp (Copy _) => true | _ => false end.
Definition copies_before : thread -> path -> list path := since is_copy.

Definition engine_acts (a : thread) (z : path * event) : list act :=
  let (p, e) := z in
  match e with
  | EOp (Load b l) =>
      (p ++ [Part 1], await_ (Issued a p) 0) :: listed p 0 (map access_ l)
        ++ [(p ++ [Part 3], arrive_ (ring_of b a p) (phase_of b a p))]
  | EOp (Copy l) | EOp (Group _ l) =>
      (p ++ [Part 1], await_ (Issued a p) 0) :: listed p 0 (map access_ l) ++ [(p ++ [Part 3], arrive_ (Done a p) 0)]
  | EOp (Later b) =>
      (p ++ [Part 1], await_ (Issued a p) 0) :: waits_done a p (copies_before a p)
        ++ [(p ++ [Part 3], arrive_ (ring_of b a p) (phase_of b a p))]
  | _ => []
  end.

Definition acts (g : agent) : list act :=
  match g with
  | Thread a => flat_map (thread_acts a) (tr a)
  | Engine a p => flat_map (fun z => if path_dec (fst z) p then engine_acts a z else []) (tr a)
  end.

Definition is_issued (e : event) : bool :=
  match e with EOp (Load _ _) | EOp (Copy _) | EOp (Later _) | EOp (Group _ _) => true | _ => false end.

Definition all_threads : list thread := list_prod (seq 0 B) (seq 0 N).

Definition agents : list agent :=
  map Thread all_threads
    ++ flat_map (fun a => map (fun z => Engine a (fst z)) (filter (fun z => is_issued (snd z)) (tr a))) all_threads.

End Acts.

(* -- where rounds are --------------------------------------------------------------------------------------------------- *)

Notation mbarrier_eqb := (same_as mbarrier_dec).

Definition access_dec (x y : access) : {x = y} + {x <> y}.
Proof. decide equality; try apply Nat.eq_dec; try apply bool_dec; repeat decide equality. Defined.
Notation is_access := (same_as access_dec).

Definition on (x : op) : option mbarrier := match x with Wait b | Tell b | Load b _ | Later b => Some b | _ => None end.
Definition tells (e : event) : option mbarrier :=
  match e with EOp (Tell b) | EOp (Load b _) | EOp (Later b) => Some b | _ => None end.
Definition arrives (e : event) : option mbarrier := match e with EOp (Drain b) => Some b | _ => tells e end.

(* Accesses of an event: a thread's own, or an engine's. *)
Definition accesses (e : event) : list access :=
  match e with EAcc x => [x] | EOp (Load _ l) | EOp (Copy l) | EOp (Group _ l) => l | _ => [] end.

Definition of_ring (c : nat) (x : access) : bool := match filled x with Some b => cycle b =? c | None => false end.

(* What belongs to a cycle: its operations, and accesses to its rings. *)
Definition steps (c : nat) (e : event) : bool :=
  match e with EOp (Advance d) => d =? c | EOp x => match on x with Some b => cycle b =? c | None => false end | _ => false end.
Definition belongs (c : nat) (e : event) : bool := steps c e || existsb (of_ring c) (accesses e).

(* All that a statement may do. *)
Fixpoint events (s : stmt) : list event :=
  match s with
  | Skip => []
  | Seq s1 s2 | If _ s1 s2 => events s1 ++ events s2
  | Acc x => [EAcc x]
  | Bar u h => [EBar u h]
  | Loop _ _ _ s | Only _ s => events s
  | Do x => [EOp x]
  end.

Definition free (f : event -> bool) (s : stmt) : bool := forallb (fun e => negb (f e)) (events s).

(* What stands at one place of a round alone, or outside. *)
Definition drains (c : nat) (e : event) : bool := match e with EOp (Drain b) => cycle b =? c | _ => false end.
Definition sure (c : nat) (e : event) : bool := steps c e || drains c e.

(* No operation of the cycle under a decision, and no end of a round. *)
Fixpoint flat (c : nat) (s : stmt) : bool :=
  match s with
  | Seq s1 s2 => flat c s1 && flat c s2
  | Only _ s => flat c s
  | If _ s1 s2 => free (sure c) s1 && free (sure c) s2
  | Loop _ _ _ s => free (sure c) s
  | Do (Advance d) => negb (d =? c)
  | Do (Drain b) => negb (cycle b =? c)
  | _ => true
  end.

(* A round is what stands before its end, in one sequence. *)
Definition is_end (c : nat) (s : stmt) : bool := match s with Do (Advance d) => d =? c | _ => false end.

Fixpoint bodies (c : nat) (s : stmt) : list stmt :=
  match s with
  | Seq s1 s2 => if is_end c s2 then [s1] else bodies c s1 ++ bodies c s2
  | If _ s1 s2 => bodies c s1 ++ bodies c s2
  | Loop _ _ _ s | Only _ s => bodies c s
  | _ => []
  end.

(* What may be so behind a statement, if x may be before it; and whether all that is done in between may be done. `goes`: whether
   threads satisfy a constraint, where that is known. A second walk of a loop says that the first one has what any number of trips
   may leave. *)
Section Flow.

Context {A : Type} (step : event -> A -> A * bool) (join : A -> A -> A) (less : A -> A -> bool) (goes : con -> option bool).

Fixpoint flow (s : stmt) (x : A) : A * bool :=
  match s with
  | Skip => (x, true)
  | Seq s1 s2 => let (y, a) := flow s1 x in let (z, b) := flow s2 y in (z, a && b)
  | Acc z => step (EAcc z) x
  | Bar u h => step (EBar u h) x
  | If _ s1 s2 => let (y, a) := flow s1 x in let (z, b) := flow s2 x in (join y z, a && b)
  | Loop _ _ _ s => let y := join x (fst (flow s x)) in let (z, b) := flow s y in (y, b && less z y)
  | Only c s =>
      match goes c with
      | Some b => if b then flow s x else (x, true)
      | None => let (y, a) := flow s x in (join x y, a)
      end
  | Do z => step (EOp z) x
  end.

End Flow.

Section Rules.

Variable N : nat.

(* All of a cycle stands in rounds, which all threads of a block make or none. *)
Fixpoint outer (c : nat) (s : stmt) (wide : bool) : bool :=
  match s with
  | Seq s1 s2 => if is_end c s2 then wide && flat c s1 else outer c s1 wide && outer c s2 wide
  | If u s1 s2 => let d := wide && le N Block u in outer c s1 d && outer c s2 d
  | Loop _ _ u s => outer c s (wide && le N Block u)
  | Only _ s => outer c s false
  | Acc x => negb (belongs c (EAcc x))
  | Do x => negb (belongs c (EOp x))
  | Skip | Bar _ _ => true
  end.

(* -- what stands in a round --------------------------------------------------------------------------------------------- *)

Definition site : Type := (path * event * list con)%type.
Definition place (z : site) : path := fst (fst z).
Definition deed_ (z : site) : event := snd (fst z).
Definition who_ (z : site) : list con := snd z.

(* What all threads do who satisfy the constraints, once in each round. *)
Fixpoint items (s : stmt) (w : path) (C : list con) : list site :=
  match s with
  | Seq s1 s2 => items s1 (w ++ [Part 0]) C ++ items s2 (w ++ [Part 1]) C
  | Only c s => items s w (c :: C)
  | Do x => [(w, EOp x, C)]
  | Bar u h => [(w, EBar u h, C)]
  | _ => []
  end.

(* And what they do if decisions say so: it stands where the outermost decision does. *)
Fixpoint sites (s : stmt) (w : path) (C : list con) : list site :=
  match s with
  | Skip => []
  | Seq s1 s2 => sites s1 (w ++ [Part 0]) C ++ sites s2 (w ++ [Part 1]) C
  | Acc x => [(w, EAcc x, C)]
  | Bar u h => [(w, EBar u h, C)]
  | If _ s1 s2 => map (fun z => (w, deed_ z, who_ z)) (sites s1 w C ++ sites s2 w C)
  | Loop _ _ _ s => map (fun z => (w, deed_ z, who_ z)) (sites s w C)
  | Only c s => sites s w (c :: C)
  | Do x => [(w, EOp x, C)]
  end.

Fixpoint prec (p q : path) : bool :=
  match p, q with
  | Part k :: p, Part m :: q => (k <? m) || ((k =? m) && prec p q)
  | _, _ => false
  end.

(* Who satisfies C satisfies D. *)
Definition implies (C D : list con) : bool :=
  forallb (fun d => existsb (fun c => (cmod c =? cmod d) && (clo d <=? clo c) && (chi c <=? chi d)) C) D.

Definition satisfying (C : list con) : list nat := filter (fun t => forallb (fun c => sat c t) C) (seq 0 N).

(* -- arrivals that come late ------------------------------------------------------------------------------------------- *)

(* Threads under K surely arrive for what is left, in a statement; and do so behind each of its rounds. *)
Fixpoint surely (b : mbarrier) (K : list con) (s : stmt) : bool :=
  match s with
  | Seq s1 s2 => surely b K s1 || surely b K s2
  | If _ s1 s2 => surely b K s1 && surely b K s2
  | Loop _ m _ s => negb (m =? 0) && surely b K s
  | Only c s => implies K [c] && surely b K s
  | Do (Drain d) => mbarrier_eqb b d
  | _ => false
  end.

Fixpoint follow (b : mbarrier) (K : list con) (s : stmt) : bool :=
  match s with
  | Seq s1 s2 => negb (is_end (cycle b) s2) && follow b K s2 && (follow b K s1 || surely b K s2)
  | If _ s1 s2 => follow b K s1 && follow b K s2
  | Loop _ _ _ s | Only _ s => follow b K s
  | _ => true
  end.

Definition lane : con := Con 32 0 1.

(* Behind a wait for all products and a barrier of the warp, one of its threads arrives for what is left; and nowhere else. *)
Definition any_drain (e : event) : bool := match e with EOp (Drain _) => true | _ => false end.
Definition guarded (s : stmt) : bool :=
  match s with
  | Seq (Do (Settle k 0)) (Seq (Bar (Threads 32) Warp) (Seq (Only c t) Skip)) =>
      (k =? products) && con_eqb c lane && forallb any_drain (events t)
  | _ => false
  end.
Fixpoint drained (s : stmt) : bool :=
  match s with
  | Seq s1 s2 => guarded s || (drained s1 && drained s2)
  | If _ s1 s2 => drained s1 && drained s2
  | Loop _ _ _ s | Only _ s => drained s
  | Do (Drain _) => false
  | _ => true
  end.

Section Round.

Variable I : list site.

Definition is_wait (b : mbarrier) (z : site) : bool := match deed_ z with EOp (Wait d) => mbarrier_eqb b d | _ => false end.
Definition is_tell (b : mbarrier) (z : site) : bool := match tells (deed_ z) with Some d => mbarrier_eqb b d | None => false end.

(* Threads under K that come to p have waited for b in the round, each of them somewhere. *)
Definition has_waited (b : mbarrier) (p : path) (K : list con) : bool :=
  forallb (fun t => existsb (fun i => is_wait b i && prec (place i) p && forallb (fun k => sat k t) (who_ i)) I) (satisfying K).

(* What threads under K do at p comes before a site that they come to themselves, or that one of each warp comes to for all. *)
Definition covers (p : path) (K : list con) (j : site) : bool :=
  (prec p (place j) && implies K (who_ j))
  || existsb (fun i =>
       match deed_ i with EBar (Threads 32) _ => true | _ => false end
       && prec p (place i) && implies K (who_ i) && prec (place i) (place j)
       && whole N (Threads 32) (who_ i) && implies (lane :: who_ i) (who_ j)) I.

Definition told (K : list con) (p : path) (choose : mbarrier -> bool) : bool :=
  existsb (fun j => match tells (deed_ j) with Some b => choose b && covers p K j | None => false end) I.

(* The cycle's mbarriers. *)
Definition barrier_of (c : nat) (z : site) : list mbarrier :=
  match deed_ z with EOp x => match on x with Some b => if cycle b =? c then [b] else [] | None => [] end | _ => [] end.
Definition barriers_of (c : nat) : list mbarrier := flat_map (barrier_of c) I.

Fixpoint sum (l : list nat) : nat := match l with [] => 0 | x :: l => x + sum l end.

Definition counts (b : mbarrier) : bool :=
  (0 <? need b) && (need b =? sum (map (fun j => length (satisfying (who_ j))) (filter (is_tell b) I))).

(* All mbarriers of the cycle, and whether its rounds stand in one place. *)
Variable M : list mbarrier.
Variable c : nat.
Variable single : bool.
Variable prog : stmt.

(* The last stage, behind which a copy is free; and the stage that comes next. *)
Definition top : nat := fold_right Nat.max 0 (map stage M).
Definition next (k : nat) : nat := if k =? top then 0 else S k.

(* Who arrives some rounds late does so at one place, before the copy is asked for again, and behind the rounds for what is left. *)
Definition lates (b : mbarrier) : bool :=
  (late b =? 0)
  || single && back b && (late b <? copies b) && drained prog
     && match filter (is_tell b) I with
        | [j] =>
            match deed_ j with EOp (Tell _) => follow b (who_ j) prog | _ => false end
            && forallb (fun z => negb (is_drain b (deed_ z)) || implies (who_ z) (who_ j)) (sites prog [] [])
        | _ => false
        end.
Definition known (e : event) : bool := match e with EOp (Drain d) => negb (cycle d =? c) || existsb (mbarrier_eqb d) M | _ => true end.

(* Who arrives has waited for all of the stage before; who waits is followed by one who arrives for the next one; and who waits for
   this round stands behind those who arrive. *)
Definition turns : bool :=
  (0 <? top) && forallb (fun k => existsb (fun b => stage b =? k) M) (seq 0 (S top))
  && match M with [] => false | d :: _ => (0 <? copies d) && forallb (fun b => copies b =? copies d) M end
  && forallb counts M && forallb lates M && forallb known (events prog)
  && forallb (fun j =>
       match tells (deed_ j) with
       | Some b =>
           negb (cycle b =? c) || forallb (fun d => negb (next (stage d) =? stage b) || has_waited d (place j) (who_ j)) M
       | None => true
       end) I
  && forallb (fun i =>
       match deed_ i with
       | EOp (Wait d) =>
           negb (cycle d =? c)
           || (told (who_ i) (place i) (fun b => (cycle b =? c) && (next (stage d) =? stage b))
               && (back d || forallb (fun j => negb (is_tell d j) || prec (place j) (place i)) I))
       | _ => true
       end) I.

(* -- accesses to rings -------------------------------------------------------------------------------------------------- *)

Definition is_load (e : event) : bool := match e with EOp (Load _ _) => true | _ => false end.
Definition is_later (f : mbarrier) (z : site) : bool := match deed_ z with EOp (Later d) => mbarrier_eqb f d | _ => false end.

(* Behind z, where its threads come to a fence, if one is asked for: they say so. *)
Definition sees (m : memory) (u : units) : bool :=
  match m, u with
  | All, _ | Global, Grid | Clusters, (Cluster _ | Block | Threads _) | Shared, (Block | Threads _) => true
  | _, _ => false
  end.
Definition is_fence (u : units) (z : site) : bool := match deed_ z with EOp (Fence m) => sees m u | _ => false end.
Definition seen (fence : bool) (K : list con) (p : path) (choose : mbarrier -> bool) : bool :=
  if fence then existsb (fun i => is_fence Block i && prec p (place i) && implies K (who_ i) && told K (place i) choose) I
  else told K p choose.

(* A station is what stands behind the waits for one stage, and before it is said that the next one is reached. Threads at station k
   have waited for all of the stage; for a copy to be filled, they have waited for those that say so of their ring. *)
Definition has_come (k : nat) (z : site) (f : mbarrier) : bool :=
  if k =? 1 then has_waited f (place z) (who_ z)
  else forallb (fun d => negb (stage d =? k) || has_waited d (place z) (who_ z)) M.

(* At station 0 a copy is filled. `out`: engines of groups read it, so that what threads fill is behind a fence. *)
Definition fill (fence out : bool) (z : site) (f : mbarrier) : bool :=
  match deed_ z with
  | EAcc _ => negb fence && seen out (who_ z) (place z) (mbarrier_eqb f)
  | EOp (Load b _) => mbarrier_eqb f b
  | EOp (Copy _) => existsb (fun j => is_later f j && prec (place z) (place j) && implies (who_ z) (who_ j)) I
  | _ => false
  end.

(* A wait for groups of kind k that is for the one at z: so many newer ones stand between; or when its own round comes there, or one
   as late as who arrives. *)
Definition settles (z g : site) (k : nat) (b : mbarrier) : bool :=
  let own := filter (fun i => is_group k (deed_ i) && prec (place i) (place g) && implies (who_ z) (who_ i)) I in
  match deed_ g with
  | EOp (Settle i n) =>
      (i =? k) && prec (place z) (place g) && implies (who_ z) (who_ g)
      && ((n <=? length (filter (fun i => prec (place z) (place i)) own))
          || (k =? products) && (n <=? late b) && match own with [] => false | _ => true end)
  | _ => false
  end.

(* At other stations it is used. Where copy engines of the asynchronous proxy touch a ring, threads say by a fence first what they
   have done. *)
Definition reads_ (x : access) : bool := match does x with Read => true | _ => false end.
Definition use (k : nat) (fence out : bool) (z : site) (x : access) : bool :=
  match deed_ z with
  | EAcc _ => seen (fence || negb (reads_ x) && out) (who_ z) (place z) (fun b => (cycle b =? c) && (stage b =? next k))
  | EOp (Group i _) =>
      reads_ x && negb (i =? written)
      && existsb (fun g => told (who_ z) (place g) (fun b => (cycle b =? c) && (stage b =? next k) && settles z g i b)) I
  | _ => false
  end.

Definition at_station (fence out : bool) (z : site) (x : access) (f : mbarrier) (k : nat) : bool :=
  has_come k z f && if k =? 0 then fill fence out z f else use k fence out z x.
Definition station (fence out : bool) (z : site) (x : access) (f : mbarrier) : option nat :=
  find (at_station fence out z x f) (seq 0 (S top)).

End Round.

Definition in_ring (c : nat) (z : site) : list (site * access) := map (pair z) (filter (of_ring c) (accesses (deed_ z))).

Definition is_async (e : event) : bool := match e with EOp _ => true | _ => false end.

Variable F : list fact.

(* Two threads of one unit under these constraints are one thread. *)
Definition alone (K : list con) (u : units) : bool :=
  units_eqb u (Threads 1) || (le N u Block && (length (satisfying K) <=? 1)).

(* Of two accesses whose positions part so, what is known of their threads: where they touch one place, they are one thread. *)
Definition one_thread (x y : site * access) (d : option nat) (more : bool) : bool :=
  existsb (fun k =>
    match k with
    | None => true
    | Some u => alone (who_ (fst x)) u && implies (who_ (fst y)) (who_ (fst x)) && more
    end) (concerns (about F (number (snd y))) (snd x) (snd y) d).

(* Then they are one after the other, where the thread makes them itself; or one operation. *)
Definition in_turn (once : nat -> bool) (x y : site * access) (d : option nat) : bool :=
  if is_async (deed_ (fst x)) || is_async (deed_ (fst y))
  then part_eqb d None && (number (snd x) =? number (snd y)) && once (number (snd x)) else true.
Definition apart_in_round (once : nat -> bool) (x y : site * access) (d : option nat) : bool :=
  one_thread x y d (in_turn once x y d).

Definition times (m : nat) (s : stmt) : nat := length (filter (fun x => number x =? m) (flat_map accesses (events s))).

(* Loops around two accesses. *)
Fixpoint loops (m n : nat) (s : stmt) : list nat :=
  match s with
  | Seq s1 s2 | If _ s1 s2 => loops m n s1 ++ loops m n s2
  | Loop l _ _ s => (if (1 <=? times m s) && (1 <=? times n s) then [l] else []) ++ loops m n s
  | Only _ s => loops m n s
  | _ => []
  end.

(* Two accesses stand on two ways of which all threads of a block take one. *)
Fixpoint exclusive (m n : nat) (s : stmt) : bool :=
  match s with
  | Seq s1 s2 =>
      if (times m s2 =? 0) && (times n s2 =? 0) then exclusive m n s1
      else (times m s1 =? 0) && (times n s1 =? 0) && exclusive m n s2
  | If u s1 s2 =>
      if (times m s2 =? 0) && (times n s2 =? 0) then exclusive m n s1
      else if (times m s1 =? 0) && (times n s1 =? 0) then exclusive m n s2
      else le N Block u && (((times m s2 =? 0) && (times n s1 =? 0)) || ((times m s1 =? 0) && (times n s2 =? 0)))
  | Only _ s => exclusive m n s
  | _ => false
  end.

Definition same_ring (x y : access) : bool :=
  match filled x, filled y with Some f, Some g => mbarrier_eqb f g | _, _ => false end.

Definition is_grouped (e : event) : bool := match e with EOp (Group _ _) => true | _ => false end.
Definition read_out (R : list (site * access)) (f : mbarrier) : bool :=
  existsb (fun z => is_grouped (deed_ (fst z)) && match filled (snd z) with Some d => mbarrier_eqb f d | None => false end) R.

Definition apart_always (s : stmt) (x y : site * access) : bool :=
  forallb (apart_in_round (fun m => times m s <=? 1) x y) (None :: map Some (loops (number (snd x)) (number (snd y)) s)).

(* Whether a thread's groups of kind k that make access m may be under way behind a statement, if they may be before; and whether
   they are not where it makes access n, of threads under K. *)
Definition made_by (n : nat) (e : event) : bool := existsb (fun x => number x =? n) (accesses e).
Definition cleared (k m n : nat) (e : event) (w : bool) : bool * bool :=
  (match e with
   | EOp (Settle j 0) => negb (j =? k) && w
   | EOp (Group j _) => w || (j =? k) && made_by m e
   | _ => w
   end, negb (w && made_by n e)).
Definition clear (K : list con) (k m n : nat) : stmt -> bool -> bool * bool :=
  flow (cleared k m n) orb implb (fun c => if implies K [c] then Some true else None).

(* A thread's group that makes one access has ended where the thread makes another, itself or by an engine. *)
Definition ended_before (s : stmt) (x y : site * access) : bool :=
  match deed_ (fst x) with EOp (Group k _) => snd (clear (who_ (fst y)) k (number (snd x)) (number (snd y)) s false) | _ => false end.

(* As if the products that make access x were made by the threads that issue them. Of barriers there are those of warps that stand right
   behind a wait for all products, and no others. *)
Definition joined (s1 s2 r : stmt) : stmt :=
  match s1, s2, r with
  | Do (Settle 2 0), Seq (Bar (Threads 32) Warp) _, Seq Skip t => Seq (Bar (Threads 32) Warp) t
  | _, _, _ => r
  end.
Fixpoint alike (x y : access) (s : stmt) : stmt :=
  match s with
  | Seq s1 s2 => Seq (alike x y s1) (joined s1 s2 (alike x y s2))
  | If u s1 s2 => If u (alike x y s1) (alike x y s2)
  | Loop l m u s => Loop l m u (alike x y s)
  | Only c s => Only c (alike x y s)
  | Acc z => if is_access z y then Acc y else Skip
  | Do (Group k l) => if (k =? products) && existsb (is_access x) l then Acc x else Skip
  | Bar _ _ => Skip
  | Do _ | Skip => s
  end.

(* Products read a copy, and threads change it at the same station: its thread waits for them first, and the warp, too. *)
Definition beside_pair (x y u v : access) : bool :=
  negb ((number u =? number x) && (number v =? number y) || (number u =? number y) && (number v =? number x)).
Definition together (prog s : stmt) (x y : site * access) : bool :=
  match deed_ (fst x) with
  | EOp (Group k _) =>
      let u := alike (snd x) (snd y) s in
      (k =? products) && negb (is_async (deed_ (fst y))) && ended_before prog x y
      && bars N u [] [] && check N F (beside_pair (snd x) (snd y)) u [] []
  | _ => false
  end.

(* Two at one station in one round: they are apart or in order; or barriers are asked about all that threads do there. *)
Definition free_pair (s : stmt) (x y : site * access) : bool :=
  compatible (does (snd x)) (does (snd y)) || negb (overlap (snd x) (snd y))
  || exclusive (number (snd x)) (number (snd y)) s || apart_always s x y.
Definition by_threads (x y : site * access) : bool := negb (is_async (deed_ (fst x))) && negb (is_async (deed_ (fst y))).
Definition outside (L : list (site * access)) (x y : access) : bool :=
  negb (existsb (fun z => number (snd z) =? number x) L && existsb (fun z => number (snd z) =? number y) L).
Definition meet_well (prog s : stmt) (L : list (site * access)) : bool :=
  match filter (fun p => negb (free_pair s (fst p) (snd p) || together prog s (fst p) (snd p) || together prog s (snd p) (fst p))) (list_prod L L) with
  | [] => true
  | bad => forallb (fun p => by_threads (fst p) (snd p)) bad && bars N s [] [] && check N F (outside L) s [] []
  end.

(* Who waits in one round waits in the others. *)
Definition steady (prog : stmt) (c : nat) (s : stmt) : bool :=
  forallb (fun i => match deed_ i with
    | EOp (Wait d) =>
        negb (cycle d =? c) || forallb (fun t => has_waited (items t [Part 0] []) d [Part 1] (who_ i)) (bodies c prog)
    | _ => true end) (items s [Part 0] []).

Definition ring_rules (prog : stmt) (c : nat) (M : list mbarrier) (single : bool) (s : stmt) : bool :=
  let I := items s [Part 0] [] in
  let R := flat_map (in_ring c) (sites s [Part 0] []) in
  let fence := existsb (fun z => is_load (deed_ (fst z))) R in
  let T := map (fun z => (z, match filled (snd z) with
    | Some f => station I M c fence (read_out R f) (fst z) (snd z) f | None => None end)) R in
  turns I M c single prog && steady prog c s
  && forallb (fun z => match filled (snd (fst z)), snd z with
       | Some f, Some _ => existsb (mbarrier_eqb f) M && (stage f =? 1) && le N (owner (snd (fst z))) Block
       | _, _ => false end) T
  && forallb (fun k => meet_well prog s (map fst (filter (fun z => match snd z with Some j => j =? k | None => false end) T)))
       (seq 0 (S (top M))).

(* -- the whole ---------------------------------------------------------------------------------------------------------- *)

Definition cycles_of (e : event) : list nat :=
  match e with EOp (Drain b) => [cycle b] | EOp x => match on x with Some b => [cycle b] | None => [] end | _ => [] end
    ++ flat_map (fun x => match filled x with Some b => [cycle b] | None => [] end) (accesses e).

Definition all_barriers (c : nat) (s : stmt) : list mbarrier :=
  flat_map (fun b => barriers_of (items b [Part 0] []) c) (bodies c s).

Definition cycle_rules (s : stmt) (c : nat) : bool :=
  outer c s true && negb (length (bodies c s) =? 0)
  && forallb (ring_rules s c (all_barriers c s) (length (bodies c s) =? 1)) (bodies c s).

(* Where two are of two proxies, nothing is said. *)
Definition one_proxy (x : site * access) : bool := match deed_ (fst x) with EOp (Group k _) => k =? copied | _ => false end.
Definition own_order (s : stmt) (x y : site * access) : bool :=
  ended_before s x y && (if is_async (deed_ (fst y)) then ended_before s y x else one_proxy x)
  && forallb (fun d => one_thread x y d true) (None :: map Some (loops (number (snd x)) (number (snd y)) s)).

Definition orders (h : hardware) : bool := match h with Sent _ => false | _ => true end.

(* Whose memory an access is to: as fences know it. *)
Definition home (x : access) : units := if near x then Block else owner x.

(* A barrier stands once between what threads do at y and what engines do at x, and joins those who touch one place; and before it a
   fence, where they are of two proxies. *)
Definition barrier_before (s : stmt) (x y : site * access) : bool :=
  existsb (fun i =>
    match deed_ i with
    | EBar u h =>
        orders h && prec (place (fst y)) (place i) && prec (place i) (place (fst x)) && implies (who_ (fst y)) (who_ i)
        && implies (who_ (fst x)) (who_ i)
        && (one_proxy x || existsb (fun f => is_fence (home (snd y)) f && prec (place (fst y)) (place f) && prec (place f) (place i)
                                             && implies (who_ (fst y)) (who_ f)) (items s [] []))
        && existsb (fun c => match c with None => true | Some c => le N c u end)
             (concerns (about F (number (snd x))) (snd y) (snd x) None)
    | _ => false
    end) (items s [] []).

(* What engines touch, apart from their rings, nobody else writes, unless that is apart, or in order. *)
Definition quiet (s : stmt) : bool :=
  let A := flat_map (fun z => map (pair z) (accesses (deed_ z))) (sites s [] []) in
  forallb (fun x => forallb (fun y =>
    compatible (does (snd x)) (does (snd y)) || ringed (snd x) (snd y) || negb (overlap (snd x) (snd y)) || apart_always s x y
    || own_order s x y || negb (is_async (deed_ (fst y))) && barrier_before s x y) A)
    (filter (fun x => is_async (deed_ (fst x))) A).

(* What is copied goes to a ring, or is waited for; what stores write goes to no block's memory. *)
Definition unused (s : stmt) : nat := S (fold_right Nat.max 0 (map number (flat_map accesses (events s)))).
Arguments unused : simpl never.
Definition goes (s : stmt) (e : event) : bool :=
  let ring := existsb (fun x => match filled x with Some _ => true | None => false end) (accesses e) in
  match e with
  | EOp (Group 0 l) => forallb (fun x => negb (le N (owner x) Block) && match filled x with Some _ => false | None => true end) l
  | EOp (Group k l) =>
      ring || forallb (fun x => let (v, a) := clear [] k (number x) (unused s) s false in negb v && a) l
  | EOp (Load _ _) | EOp (Copy _) => ring
  | _ => true
  end.

(* -- registers ---------------------------------------------------------------------------------------------------------- *)

(* Of one fragment, what may be so where a thread is, of what writes it and of what reads it: the newest group under way that does so,
   by how many newer ones there are; whether the next group does;
     and since the thread's last `Order`, whether it has, and a group. *)
Record side : Type := Side { under : option nat; coming : bool; touched : bool; lent_out : bool }.
Definition registers : Type := side * side.
Definition side_of (w : bool) (r : registers) : side := if w then fst r else snd r.
Definition at_side (w : bool) (f : side -> side) (r : registers) : registers :=
  (if w then f (fst r) else fst r, if w then snd r else f (snd r)).
Definition at_both (f : side -> side) (r : registers) : registers := (f (fst r), f (snd r)).

Definition worse (a b : option nat) : option nat :=
  match a, b with Some m, Some n => Some (Nat.min m n) | None, x | x, None => x end.
Definition either_ (x y : side) : side :=
  Side (worse (under x) (under y)) (coming x || coming y) (touched x || touched y) (lent_out x || lent_out y).
Definition either (r q : registers) : registers := (either_ (fst r) (fst q), either_ (snd r) (snd q)).

(* q has all that r has. *)
Definition newer (a b : option nat) : bool := match a, b with None, _ => true | Some m, Some n => n <=? m | Some _, None => false end.
Definition within_side (x y : side) : bool :=
  newer (under x) (under y) && implb (coming x) (coming y) && implb (touched x) (touched y) &&
    implb (lent_out x) (lent_out y).
Definition within_ (r q : registers) : bool := within_side (fst r) (fst q) && within_side (snd r) (snd q).

Definition ended_ (n : nat) (a : option nat) : option nat := match a with Some m => if n <=? m then None else a | None => None end.
Definition aged (now : bool) (a : option nat) : option nat := if now then Some 0 else option_map S a.
Definition idle (a : option nat) : bool := match a with None => true | _ => false end.

(* What a thing that is done makes of it, and whether it may be done. *)
Definition registered (f : nat) (x : op) (r : registers) : registers * bool :=
  match x with
  | Own g w =>
      if g =? f then
        (at_side w (fun s => Side (under s) (coming s) true (lent_out s)) r,
         idle (under (fst r)) && (negb w || idle (under (snd r))))
      else (r, true)
  | Lend g w =>
      if g =? f then
        (at_side w (fun s => Side (under s) true (touched s) true) r,
         negb (touched (fst r)) && (if w then idle (under (snd r)) && negb (touched (snd r)) && negb (lent_out (snd r))
                                    else idle (under (fst r)) && negb (lent_out (fst r))))
      else (r, true)
  | Order => (at_both (fun s => Side (under s) (coming s) false (lent_out s && negb (idle (under s)))) r, true)
  | Group k _ =>
      (if k =? products then at_both (fun s => Side (aged (coming s) (under s)) false (touched s) (lent_out s)) r else r, true)
  | Settle k n =>
      (if k =? products then at_both (fun s => Side (ended_ n (under s)) (coming s) (touched s) (lent_out s)) r else r,
        true)
  | _ => (r, true)
  end.

Definition register (f : nat) (e : event) (r : registers) : registers * bool :=
  match e with EOp x => registered f x r | _ => (r, true) end.

(* Of thread t of a block. *)
Definition walk (t f : nat) : stmt -> registers -> registers * bool :=
  flow (register f) either within_ (fun c => Some (sat c t)).

Definition fragments (e : event) : list nat := match e with EOp (Own f _) | EOp (Lend f _) => [f] | _ => [] end.
Definition untouched : registers := (Side None false false false, Side None false false false).
Definition in_registers (s : stmt) : bool :=
  forallb (fun f => forallb (fun t => snd (walk t f s untouched)) (seq 0 N)) (nodup Nat.eq_dec (flat_map fragments (events s))).

(* One ring has one mbarrier that says that its copies are filled. *)
Definition one_filled (s : stmt) : bool :=
  let A := filter (fun x => match filled x with Some _ => true | None => false end) (flat_map accesses (events s)) in
  forallb (fun x => forallb (fun y => negb (ringed x y) || negb (overlap x y) || same_ring x y) A) A.

Definition rings (s : stmt) : bool :=
  forallb (cycle_rules s) (nodup Nat.eq_dec (flat_map cycles_of (events s)))
  && one_filled s && quiet s && forallb (goes s) (events s).

End Rules.

(* -- blocks of a cluster that are there --------------------------------------------------------------------------------- *)

(* As if a thread touched a place of a cluster of c blocks that all of them touch when they begin (0: and when they end). *)
Definition ghost (k c : nat) (d : kind) : access := Skeleton.Access 0 k (Cluster c) 0 1 d None false.

Definition reaches_ (c : nat) (x : access) : bool := units_eqb (owner x) (Cluster c) && negb (near x).

(* Where a thread may reach into another block, or sends to it without waiting until all have begun. *)
Fixpoint shadow (c : nat) (s : stmt) : stmt :=
  match s with
  | Seq s1 s2 => Seq (shadow c s1) (shadow c s2)
  | If u s1 s2 => If u (shadow c s1) (shadow c s2)
  | Loop l m u s => Loop l m u (shadow c s)
  | Only k s => Only k (shadow c s)
  | Acc x => if reaches_ c x then Acc (ghost 0 c Read) else Skip
  | Bar u (Sent false) => if units_eqb u (Cluster c) then Acc (ghost 1 c Read) else s
  | _ => s
  end.

Definition around (c : nat) (s : stmt) : stmt :=
  Seq (Acc (ghost 0 c Atomic)) (Seq (Acc (ghost 1 c Atomic)) (Seq (shadow c s) (Acc (ghost 0 c Atomic)))).

Definition nobody (x y : access) : bool := false.

Definition clusters (e : event) : list nat :=
  flat_map (fun x => match owner x with Cluster c => [c] | _ => [] end) (accesses e)
    ++ match e with EBar (Cluster c) (Sent _) => [c] | _ => [] end.

(* No block of a cluster is missing yet, or gone, where another one reaches into it; and no engine does so. *)
Definition there (N : nat) (s : stmt) : bool :=
  forallb (fun c =>
    check N [] nobody (around c s) [] [] && forallb (fun e => negb (is_async e) || forallb (fun x => negb (reaches_ c x)) (accesses e)) (events s))
    (nodup Nat.eq_dec (flat_map clusters (events s))).

Definition valid (N : nat) (F : list fact) (s : stmt) : bool :=
  Valid.valid N F s && rings N F s && in_registers N s && there N s.
