(* Skeletons that are valid, and ones that are refused: those, with a run that waits for ever or a race. *)

From Coq Require Import List Arith Lia Bool.
From Bundl Require Import Skeleton Ordered Valid Valid_sound Signals Rings Agents Turns Phases.
Import ListNotations.

(* A word of shared memory for each thread of the block. *)
Definition words (n : nat) (k : kind) : access := Skeleton.Access n 0 Block 0 128 k None false.
Definition mine : fact := Fact 0 0 None (Some (Threads 1)).

(* Each thread writes its word; a barrier; each reads all; round a loop, with a barrier before the next write. *)
Definition exchange : stmt :=
  Loop 0 0 Block (Seq (Acc (words 0 Write)) (Seq (Bar Block (Named 0)) (Seq (Acc (words 1 Read)) (Bar Block (Named 0))))).

Example exchange_valid : valid 32 [mine] exchange = true.
Proof. reflexivity. Qed.

(* Without the second barrier a trip's write meets the last trip's read. *)
Example exchange_races :
  valid 32 [mine] (Loop 0 0 Block (Seq (Acc (words 0 Write)) (Seq (Bar Block (Named 0)) (Acc (words 1 Read))))) = false.
Proof. reflexivity. Qed.

(* A barrier of some threads of a block that are not whole units of it. *)
Definition hang (n : nat) : stmt := Bar (Threads n) (Named 1).

Example hang_refused : valid 384 [] (hang 256) = false /\ valid 3 [] (hang 2) = false.
Proof. split; reflexivity. Qed.

(* It does wait for ever: where three threads come to a barrier of two, one waits and none can step. *)
Example hang_hangs (o : oracle) : exists ls M,
  Run 1 3 (hang 2) o (begin 1 3 (hang 2) o) ls M /\ ~ finished (agents 1 3 (Turns.tr o (hang 2))) M /\
  forall l M', ~ Step 1 3 (hang 2) o M l M'.
Proof.
  set (w := [(Thread (0, 0), @nil turn); (Thread (0, 1), @nil turn)]).
  set (L := fun g : agent => if in_dec agent_dec g (map fst w) then [] else acts 1 3 (Turns.tr o (hang 2)) g).
  assert (Third : ~ In (Thread (0, 2)) (map fst w)) by (intros [E|[E|[]]]; discriminate).
  exists [Label w (Barrier (KNamed 0 1) 2)], (State L (fun _ => 0)); split; [|split].
  - eapply run_step; [|apply run_nil]; apply (step_bar _ _ _ _ _ w (KNamed 0 1)).
    + discriminate.
    + constructor; [intros [E|[]]; discriminate | constructor; [auto | constructor]].
    + intros a p I; assert (E : L a = []) by (unfold L; destruct (in_dec agent_dec a (map fst w)) as [|X]; [auto | destruct X; apply in_map_iff; exists (a, p); auto]).
      split; [destruct I as [I|[I|[]]]; inversion I; subst; simpl; auto|].
      exists []; split; [|exact E]; destruct I as [I|[I|[]]]; inversion I; subst; reflexivity.
    + intros b I; unfold L; destruct (in_dec agent_dec b (map fst w)); [tauto | auto].
  - intro E; specialize (E (Thread (0, 2))); simpl in E.
    unfold L in E; destruct (in_dec agent_dec (Thread (0, 2)) (map fst w)); [tauto|]; discriminate E; simpl; auto.
  - assert (Left : forall g x r, In g (agents 1 3 (Turns.tr o (hang 2))) -> L g = x :: r -> g = Thread (0, 2) /\ snd x = barrier_ (KNamed 0 2) 2).
    { intros g x r I E; unfold L in E; destruct (in_dec agent_dec g (map fst w)) as [|X]; [discriminate|].
      simpl in I; destruct I as [<-|[<-|[<-|[]]]]; simpl in E.
      - destruct X; simpl; auto.
      - destruct X; simpl; auto.
      - inversion E; subst; auto. }
    intros l M' H; inversion H as [? ? ? ? g p e r I E _ _ D|? ? ? v k NE ND All]; subst;
      [destruct (Left _ _ _ I E) as [_ X]; simpl in X; subst; destruct D|].
    destruct v as [|[a p] v]; [congruence|]; destruct (All a p (or_introl eq_refl)) as (I & r & E & _).
    destruct (Left _ _ _ I E) as [-> X]; simpl in X; inversion X as [[Kk Ln]]; destruct v as [|[b q] [|? ?]]; try discriminate.
    destruct (All b q (or_intror (or_introl eq_refl))) as (Ib & r' & Eb & _); destruct (Left _ _ _ Ib Eb) as [-> _].
    simpl in ND; inversion ND as [|? ? Nin _]; apply Nin; left; auto.
Qed.

(* -- rings -------------------------------------------------------------------------------------------------------------- *)

(* A ring of two copies: a thread of the second warp asks a copy engine to fill a copy, and the first warp reads it. *)
Definition full : mbarrier := Mbarrier 0 0 2 1 2 0.
Definition free : mbarrier := Mbarrier 1 0 2 0 1 0.
Definition item (n : nat) (k : kind) : access := Skeleton.Access n 0 Block 0 256 k (Some full) false.
Definition source : access := Skeleton.Access 2 1 Grid 0 1 Read None false.

Definition fill_it (s : stmt) : stmt := Only (Con 0 32 33) s.
Definition use_it (s : stmt) : stmt := Only (Con 0 0 32) s.
Definition turn_of (fill use : stmt) : stmt := Loop 0 0 Block (Seq (Seq fill use) (Do (Advance 0))).
Definition fill_all : stmt := fill_it (Seq (Do (Wait free)) (Seq (Do (Load full [source; item 0 Write])) (Do (Tell full)))).
Definition use_all : stmt :=
  use_it (Seq (Do (Wait full)) (Seq (Acc (item 1 Read)) (Seq (Do (Fence Shared)) (Seq (Bar (Threads 32) Warp) (Only (Con 32 0 1) (Do (Tell free))))))).

Example ring_valid : Rings.valid 64 [] (turn_of fill_all use_all) = true.
Proof. reflexivity. Qed.

(* Tensor cores read the ring, and the warp says so a round late; and behind the loop. *)
Definition late_free : mbarrier := Mbarrier 1 0 2 0 1 1.
Definition read_late (n : nat) : stmt :=
  use_it (Seq (Do (Wait full)) (Seq (Do (Group products [item 1 Read])) (Seq (Do (Settle products n)) (Seq (Bar (Threads 32) Warp)
    (Only (Con 32 0 1) (Do (Tell late_free))))))).
Definition fill_late : stmt := fill_it (Seq (Do (Wait late_free)) (Seq (Do (Load full [source; item 0 Write])) (Do (Tell full)))).
Definition what_is_left (n : nat) : stmt :=
  use_it (Seq (Do (Settle products n)) (Seq (Bar (Threads 32) Warp) (Seq (Only (Con 32 0 1) (Do (Drain late_free))) Skip))).

(* It is refused with one more under way in a round, with one under way behind the loop, and with nothing behind the loop. *)
Example late_valid :
  Rings.valid 64 [] (Seq (turn_of fill_late (read_late 1)) (what_is_left 0)) = true /\
  Rings.valid 64 [] (Seq (turn_of fill_late (read_late 2)) (what_is_left 0)) = false /\
  Rings.valid 64 [] (Seq (turn_of fill_late (read_late 1)) (what_is_left 1)) = false /\
  Rings.valid 64 [] (turn_of fill_late (read_late 1)) = false.
Proof. repeat split; reflexivity. Qed.

(* Nobody waits for the copy to be free; nobody for it to be filled; it is free before it is read; one arrival too few; no fence. *)
Example ring_refused :
  Rings.valid 64 [] (turn_of (fill_it (Seq (Do (Load full [source; item 0 Write])) (Do (Tell full)))) use_all) = false /\
  Rings.valid 64 [] (turn_of fill_all (use_it (Seq (Acc (item 1 Read)) (Seq (Do (Fence Shared)) (Seq (Bar (Threads 32) Warp)
    (Only (Con 32 0 1) (Do (Tell free)))))))) = false /\
  Rings.valid 64 [] (turn_of fill_all (use_it (Seq (Do (Wait full)) (Seq (Do (Fence Shared)) (Seq (Bar (Threads 32) Warp)
    (Seq (Only (Con 32 0 1) (Do (Tell free))) (Acc (item 1 Read)))))))) = false /\
  Rings.valid 64 [] (turn_of (fill_it (Seq (Do (Wait free)) (Do (Load full [source; item 0 Write])))) use_all) = false /\
  Rings.valid 64 [] (turn_of fill_all (use_it (Seq (Do (Wait full)) (Seq (Acc (item 1 Read)) (Seq (Bar (Threads 32) Warp)
    (Only (Con 32 0 1) (Do (Tell free)))))))) = false.
Proof. repeat split; reflexivity. Qed.

(* A copy is filled, changed in place by a second warp, whose threads each change a part, and stored by a third. *)
Definition changed : mbarrier := Mbarrier 2 0 2 2 1 0.
Definition own_part : fact := Fact 3 3 None (Some (Threads 1)).
Definition third (s : stmt) : stmt := Only (Con 0 64 65) s.
Definition change_it (tell : stmt) : stmt :=
  use_it (Seq (Do (Wait full)) (Seq (Acc (item 3 Write)) (Seq (Do (Fence Shared)) (Seq (Bar (Threads 32) Warp) (Only (Con 32 0 1) tell))))).
Definition store_it (wait : mbarrier) : stmt :=
  third (Seq (Do (Wait wait)) (Seq (Do (Group 1 [item 4 Read])) (Seq (Do (Settle 1 0)) (Do (Tell free))))).
Definition stations (tell : stmt) (wait : mbarrier) : stmt := turn_of fill_all (Seq (change_it tell) (store_it wait)).

(* It is refused where no thread says that the copy is changed, where the store waits for it to be filled alone, and where parts meet. *)
Example stations_valid :
  Rings.valid 96 [own_part] (stations (Do (Tell changed)) changed) = true /\
  Rings.valid 96 [own_part] (stations Skip changed) = false /\
  Rings.valid 96 [own_part] (stations (Do (Tell changed)) full) = false /\
  Rings.valid 96 [] (stations (Do (Tell changed)) changed) = false.
Proof. repeat split; reflexivity. Qed.

(* Turns: a ring of one copy with a station for each warp. One that does not wait, and one that does not say that it has left. *)
Definition first_turn : mbarrier := Mbarrier 0 0 1 0 32 0.
Definition second_turn : mbarrier := Mbarrier 1 0 1 1 32 0.
Definition passage (wait : stmt) (tell : stmt) : stmt :=
  Loop 0 0 Block (Seq (Seq
    (Only (Con 0 0 32) (Seq (Do (Wait first_turn)) (Do (Tell second_turn))))
    (Only (Con 0 32 64) (Seq wait tell))) (Do (Advance 0))).

Example turns_valid :
  Rings.valid 64 [] (passage (Do (Wait second_turn)) (Do (Tell first_turn))) = true /\
  Rings.valid 64 [] (passage Skip (Do (Tell first_turn))) = false /\
  Rings.valid 64 [] (passage (Do (Wait second_turn)) Skip) = false.
Proof. repeat split; reflexivity. Qed.

(* Blocks of a cluster of two write their own words, and read one another's: they meet between, and before one of them ends. *)
Definition part_of (n : nat) (k : kind) (near : bool) : access := Skeleton.Access n 0 (Cluster 2) 0 128 k None near.
Definition meets : stmt := Bar (Cluster 2) Warp.
Definition swap (last : stmt) : stmt := Seq (Acc (part_of 0 Write true)) (Seq meets (Seq (Acc (part_of 1 Read false)) last)).

Example swap_valid : Rings.valid 32 [mine] (swap meets) = true /\ Rings.valid 32 [mine] (swap Skip) = false
  /\ Rings.valid 32 [mine] (Seq (Acc (part_of 1 Read false)) meets) = false.
Proof. repeat split; reflexivity. Qed.

(* Who sends to the others at once waits first until they have begun; and what is sent orders nothing else. *)
Example sends_late : Rings.valid 32 [] (Bar (Cluster 2) (Sent true)) = true /\ Rings.valid 32 [] (Bar (Cluster 2) (Sent false)) = false
  /\ Rings.valid 32 [mine] (swap (Seq (Bar (Cluster 2) (Sent false)) (swap meets))) = false.
Proof. repeat split; reflexivity. Qed.
