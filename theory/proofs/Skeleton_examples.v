(* Skeletons that are valid, and ones that are refused: those, with a run that waits for ever or a race. *)

From Coq Require Import List Arith Lia Bool.
From Bundl Require Import Skeleton Ordered Valid Valid_sound.
Import ListNotations.

(* A word of shared memory for each thread of the block. *)
Definition words (n : nat) (k : kind) : access := Access n 0 Block 0 128 k.
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
Example hang_hangs (o : oracle) : exists ls S,
  run 1 3 (start o (hang 2)) ls S /\ ~ finished 1 3 S /\ forall l S', ~ step 1 3 S l S'.
Proof.
  set (w := [(0, 0); (0, 1)]).
  set (S := fun a : thread => if in_dec thread_dec a w then [] else start o (hang 2) a).
  assert (Third : ~ In (0, 2) w) by (intros [E|[E|[]]]; discriminate).
  exists [LBar w], S; split; [|split].
  - eapply run_step; [|apply run_nil]; apply step_bar with (k := KNamed 0 1).
    + discriminate.
    + constructor; [intros [E|[]]; discriminate | constructor; [auto | constructor]].
    + intros a I; assert (E : S a = []) by (unfold S; destruct (in_dec thread_dec a w); tauto).
      split; [destruct I as [<-|[<-|[]]]; split; simpl; lia|].
      exists [], (Threads 2), (Named 1), []; repeat split; auto; destruct I as [<-|[<-|[]]]; reflexivity.
    + intros b I; unfold S; destruct (in_dec thread_dec b w); [tauto | auto].
  - intro E; specialize (E (0, 2)); assert (X : S (0, 2) = []) by (apply E; split; simpl; lia).
    unfold S in X; destruct (in_dec thread_dec (0, 2) w); [tauto | discriminate].
  - intros l S' H; inversion H as [? ? a p x r T E _ _|? ? v k NE ND All _]; subst.
    + unfold S in E; destruct (in_dec thread_dec a w); simpl in E; discriminate.
    + assert (Alone : forall a, In a v -> In a [(0, 2)] /\ length v = 2).
      { intros [x t] I; destruct (All _ I) as ([T1 T2] & p & u & h & r & E & _ & C & _); simpl in T1, T2.
        unfold S in E; destruct (in_dec thread_dec (x, t) w) as [J|J]; [discriminate|].
        simpl in E; inversion E; subst; split; [|rewrite <- C; reflexivity].
        left; destruct t as [|[|[|t]]]; try lia; f_equal; try lia; exfalso; apply J; unfold w;
          (replace x with 0 by lia); simpl; auto. }
      assert (Le : length v <= length [(0, 2)]) by (apply NoDup_incl_length; auto; intros a I; apply Alone; auto).
      destruct v as [|a v]; [congruence|]; destruct (Alone a (or_introl eq_refl)) as [_ L]; simpl in *; lia.
Qed.
