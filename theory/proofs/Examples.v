(** The theorems are not empty: programs that check and run, and programs that the enforced semantics stops. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety Units Pair Uniform Check.
Import ListNotations.

(** Two blocks of four threads, 32 bytes of shared memory; site 0: eight global integers; site 1: four shared ones. *)
Local Instance machine : Machine := {| T := 4; B := 2; SMEM := 32 |}.
Definition int (z : nat) : expr := EInt (Z.of_nat z).

(** A function of one thread, which stores into a local array of its caller. *)
Definition setter : func := mkfunc [(30, (Thread, 1), TArr Local TInt); (31, (Thread, 1), TBase TInt)] (Thread, 1) 0
  (SStore Local 30 (int 0) (EBop Add (EVar 31) (int 1))).
Local Instance functions : Functions := table [setter].

Definition D (st : site) : kind * bty * nat := match st with 0 => (Global, TInt, 8) | _ => (Shared, TInt, 4) end.

(** Arguments: 0, a global array, and 1, an integer; both at the grid. *)
Definition G0 : ctx := fun x =>
  match x with 0 => Some ((Grid, 1), TArr Global TInt) | 1 => Some ((Grid, 1), TBase TInt) | _ => None end.
Definition n0 : env := fun x =>
  match x with 0 => Some ((Grid, 1), VArr Global 0 0 8) | 1 => Some ((Grid, 1), VB (VInt 100)) | _ => None end.
Definition m0 : mem := mkmem (fun _ _ => VInt 0) (fun _ _ _ => VInt 0) (fun _ _ _ => 0) 0.

Lemma n0_ok : env_ok D G0 n0.
Proof. intros [|[|x]] q t; simpl; intros [= <- <-]; eexists; split; eauto; constructor; auto; discriminate. Qed.
Lemma m0_ok : mem_ok D m0.
Proof. split; [intros [|st] * | intros blk [|st] *]; simpl; intros; congruence. Qed.

(** All threads by turns, a step each: one of the schedules. *)
Inductive outcome := Ended (m : mem) | GotStuck | Other.
Definition turn (acc : list (tid * stmt * env) * mem + outcome) (t : tid * stmt * env) :=
  match acc with
  | inr o => inr o
  | inl (ts, m) =>
      let '(th, s, n) := t in
      match step th pos0 0 n m s with
      | Done => inl (ts ++ [t], m) | Next s' n' m' _ => inl (ts ++ [(th, s', n')], m')
      | Oob => inr Other | Stuck => inr GotStuck end
  end.
Fixpoint turns (fuel : nat) (ts : list (tid * stmt * env)) (m : mem) : outcome :=
  match fuel with
  | 0 => Other
  | S f =>
      if forallb (fun t => match t with (_, SSkip, _) => true | _ => false end) ts then Ended m
      else match fold_left turn ts (inl ([], m)) with inl (ts', m') => turns f ts' m' | inr o => o end
  end.
Definition all_threads : list tid := list_prod [0; 1] [0; 1; 2; 3].
Definition run_all (n : env) (s : stmt) : outcome := turns 100 (map (fun th => (th, s, n)) all_threads) m0.
Definition cells (o : outcome) : list bval :=
  match o with Ended m => map (fun i => gl m 0 (Z.of_nat i)) (seq 0 8) | _ => [] end.

(** Every construct but calls. Each thread stores into its own cell: 100 + 10 * (number of its pair) + 3 passes of a loop of the
    block, + 1 in the first pair; the second pair's threads write to their cells of a claimed shared array. *)
Definition store (e : expr) : stmt := SGroup 2 (SStore Global 14 (int 0) e).
Definition good_program : stmt :=
  SLower 0 10 (int 0)
  (SDestruct
  (SPartition 10 11 2 (EBop Mul EId (int 4))
  (SGroup 2
  (SAlloc Shared 12 TInt 4 1
  (SDecl 16 (Block, 1) TInt (int 0)
  (SSeq (SWhile (ECmp Lt (EVar 16) (int 3)) (SAssign 16 (EBop Add (EVar 16) (int 1))))
  (SLower 11 13 (int 0)
  (SLower 12 17 (int 0)
  (SDestruct
  (SPartition 13 14 4 EId
  (SDecl 15 (Thread, 2) TInt (EBop Add (EVar 1) (EBop Mul EId (int 10)))
  (SLocal 19 (Thread, 2) TInt 2
  (SSeq (SIf (ECmp Eq (EVar 16) (int 3)) (SAssign 15 (EBop Add (EVar 15) (EVar 16))) SSkip)
  (SSeq (SStore Local 19 (int 1) (EVar 15))
  (SSeq (SSplit 2 2 (SSeq (SAssign 15 (EBop Add (EVar 15) (int 1))) (store (EVar 15))) (store (ERead Local 19 (int 1))))
        (SClaim 17 18 2 1 (SPartition 18 20 2 EId (SGroup 2 (SStore Shared 20 (int 0) (EVar 1)))))))))))))))))))).

Example good_checks : check D G0 Grid 1 0 SMEM good_program = true.
Proof. reflexivity. Qed.

Example good_typed : sty D G0 Grid 1 0 SMEM good_program.
Proof. apply check_sound, good_checks. Qed.

Lemma functions_ok : fns_ok D.
Proof. now apply (check_program_sound D [setter] G0 SSkip). Qed.

Example good_safe S : reach (init good_program n0 m0) S -> forall th, tid_ok th ->
  ~ stuck (memory S) th (pool S th) /\ (finished (pool S th) \/ trapped (pool S th) \/ exists S', mstep th S S').
Proof. intros HR. now apply (safety D functions_ok G0 good_program n0 m0 S good_typed n0_ok m0_ok). Qed.

Example good_runs : cells (run_all n0 good_program) = map VInt [104; 104; 113; 113; 104; 104; 113; 113]%Z.
Proof. vm_compute. reflexivity. Qed.

(** Each block has half of the array, and each thread has its cell, called 12. *)
Definition cell_of_each (s : stmt) : stmt :=
  SLower 0 10 (int 0)
  (SDestruct
  (SPartition 10 13 2 (EBop Mul EId (int 4))
  (SGroup 2
  (SLower 13 11 (int 0)
  (SDestruct
  (SPartition 11 12 4 EId s)))))).

(** A call: each thread has its number, and 1, put into an array of its own, and stores that. *)
Definition calls : stmt :=
  cell_of_each (SLocal 19 (Thread, 1) TInt 1
    (SSeq (SCall 0 [EVar 19; EId]) (SGroup 4 (SStore Global 12 (int 0) (ERead Local 19 (int 0)))))).
Example calls_check : check_program D [setter] G0 calls = true.
Proof. reflexivity. Qed.
Example calls_run : cells (run_all n0 calls) = map VInt [1; 2; 3; 4; 1; 2; 3; 4]%Z.
Proof. vm_compute. reflexivity. Qed.

(** Copies: each thread copies its number from one array of its own to another, and has that copied to its cell. *)
Definition copies (s : stmt) : stmt :=
  cell_of_each (SLocal 19 (Thread, 1) TInt 2 (SLocal 20 (Thread, 1) TInt 2
    (SSeq (SStore Local 19 (int 0) EId) (SSeq (SCopy Local 20 Local 19 2) (SGroup 4 (SAsync Global 12 21 s)))))).
Example copies_check : check_program D [setter] G0 (copies (SAsyncCopy 21 Local 20 1)) = true.
Proof. reflexivity. Qed.
Example copies_run : cells (run_all n0 (copies (SAsyncCopy 21 Local 20 1))) = map VInt [0; 1; 2; 3; 0; 1; 2; 3]%Z.
Proof. vm_compute. reflexivity. Qed.

(** The first stores to global memory and reads none of it, so uniformity speaks of it too: at the block, say, whose
    threads thus take the loop equally often. *)
Lemma functions_frag rg ro : rg 30 = false -> fns_frag rg ro.
Proof. intros Hr [|[|f]] fd; simpl; intros [= <-]; simpl; rewrite Hr; auto. Qed.

Example good_uniform S t t' : reach (init good_program n0 m0) S -> t < 4 -> t' < 4 ->
  prefix (at_persp (Block, 1) (hist (pool S (0, t)))) (at_persp (Block, 1) (hist (pool S (0, t')))) \/
  prefix (at_persp (Block, 1) (hist (pool S (0, t')))) (at_persp (Block, 1) (hist (pool S (0, t)))).
Proof.
  intros HR Ht Ht'. apply (uniformity (fun _ => false) (fun _ => false)) with good_program n0 m0; auto.
  - now apply functions_frag.
  - simpl. repeat split.
  - intros [|[|x]] q v; simpl; intros [= <- <-]; reflexivity.
  - split; simpl; auto.
  - split; simpl; auto.
  - reflexivity.
Qed.

(** So it does of one with a call. *)
Example calls_uniform S a b q : reach (init calls n0 m0) S -> tid_ok a -> tid_ok b -> same_unit q a b ->
  prefix (at_persp q (hist (pool S a))) (at_persp q (hist (pool S b))) \/
  prefix (at_persp q (hist (pool S b))) (at_persp q (hist (pool S a))).
Proof.
  apply (uniformity (fun _ => false) (fun _ => false)); [now apply functions_frag | simpl; repeat split |].
  intros [|[|x]] q' v; simpl; intros [= <- <-]; reflexivity.
Qed.

(** An input and a result: the grid reads how often its loop goes round, and each thread stores what it counted. *)
Definition n1 : env := fun x =>
  match x with
  | 0 => Some ((Grid, 1), VArr Global 0 0 8) | 2 => Some ((Grid, 1), VArr Global 2 0 8) | _ => None end.
Definition two_arrays : stmt :=
  SDecl 3 (Grid, 1) TInt (ERead Global 2 (int 0))
  (SDecl 4 (Grid, 1) TInt (int 0)
  (SSeq (SWhile (ECmp Lt (EVar 4) (EVar 3)) (SAssign 4 (EBop Add (EVar 4) (int 1))))
  (cell_of_each (SGroup 4 (SStore Global 12 (int 0) (EVar 4)))))).

Example two_arrays_checks :
  check (fun _ => (Global, TInt, 8)) (fun x => match x with 0 | 2 => Some ((Grid, 1), TArr Global TInt) | _ => None end)
    Grid 1 0 SMEM two_arrays = true.
Proof. reflexivity. Qed.

Example two_arrays_uniform S a b : reach (init two_arrays n1 m0) S -> tid_ok a -> tid_ok b ->
  prefix (at_persp (Grid, 1) (hist (pool S a))) (at_persp (Grid, 1) (hist (pool S b))) \/
  prefix (at_persp (Grid, 1) (hist (pool S b))) (at_persp (Grid, 1) (hist (pool S a))).
Proof.
  intros HR Ha Hb. apply (uniformity (fun x => x =? 2) (fun st => st =? 2)) with two_arrays n1 m0; auto.
  - now apply functions_frag.
  - simpl. repeat split.
  - intros [|[|[|x]]] q v; simpl; intros [= <- <-]; reflexivity.
  - reflexivity.
Qed.

(** * Programs that the enforced semantics stops, and the checker refuses *)
Definition bad (s : stmt) : bool :=
  match run_all n0 s with GotStuck => negb (check D G0 Grid 1 0 SMEM s) | _ => false end.

(** Code of one block; of its four threads; of each of those. *)
Definition block (s : stmt) : stmt := SDestruct (SGroup 2 s).
Definition threads (s : stmt) : stmt := block (SDestruct s).
Definition thread (s : stmt) : stmt := threads (SGroup 4 s).

Example all_bad : forallb bad
  [ thread (SAssign 1 (int 0));                                          (* a variable of the grid, from one thread *)
    (* a block's variable, from a thread's value *)
    block (SDecl 5 (Thread, 1) TInt EId (SDecl 6 (Block, 1) TInt (EVar 5) SSkip));
    (* a decision of all, by what each thread has *)
    threads (SDecl 5 (Thread, 1) TInt EId (SIf (ECmp Lt (EVar 5) (int 2)) SSkip SSkip));
    thread (SDecl 5 (Block, 1) TInt (int 0) SSkip);
    threads (SSplit 1 2 SSkip SSkip);                                    (* the second arm would start at thread 1 *)
    threads (SGroup 3 SSkip);
    SDestruct (SDestruct SSkip);                                         (* two blocks at once *)
    (* the array is in use as 10 *)
    SLower 0 10 (int 0) (SDecl 5 (Grid, 1) TInt (ERead Global 0 (int 0)) SSkip);
    thread (SAlloc Shared 12 TInt 4 1 SSkip);
    (* the offset differs in the unit of the view *)
    SLower 0 10 (int 0) (SDestruct (SPartition 10 11 2 (int 0) (SGroup 2 (SDecl 5 (Thread, 1) TInt EId
      (SLower 11 13 (EVar 5) SSkip)))));
    block (SDecl 5 (Thread, 1) TInt EId (SCall 0 [EVar 5; int 1]));      (* no array *)
    SLocal 5 (Grid, 1) TInt 1 (SCall 0 [EVar 5; int 1]);                 (* another unit's array *)
    (* written, or read, while a copy may be under way into it *)
    copies (SStore Global 12 (int 0) (int 1));
    copies (SDecl 22 (Thread, 1) TInt (ERead Global 12 (int 0)) SSkip);
    (* twelve words, of four bytes each *)
    block (SAlloc Shared 5 TInt 4 1 (SAlloc Shared 6 TInt 4 1 (SAlloc Shared 7 TInt 4 1 SSkip)));
    (* the claim as first printed steps to a split of n into n' and n - n': stuck at four threads and n' = 1 *)
    threads (SSplit 1 3 SSkip SSkip) ] = true.
Proof. reflexivity. Qed.

(** Twelve threads split as 8 and 4, which the condition as first printed refuses; not as 4 and 8. *)
Example twelve : let M := {| T := 12; B := 2; SMEM := 0 |} in
  let split n1 n2 := @check M functions D G0 Grid 1 0 0 (threads (SSplit n1 n2 SSkip SSkip)) in
  split 8 4 = true /\ split 4 8 = false.
Proof. split; reflexivity. Qed.

(** An index out of bounds isn't excluded: the thread stops there, with a state of its own. *)
Definition out_of_bounds : stmt := SDecl 5 (Grid, 1) TInt (ERead Global 0 (int 8)) SSkip.
Example oob_typed : sty D G0 Grid 1 0 SMEM out_of_bounds.
Proof. apply check_sound. reflexivity. Qed.
Example oob_traps : step (0, 0) pos0 0 n0 m0 out_of_bounds = Oob.
Proof. reflexivity. Qed.

(** Why [id_ok] asks that a target of several threads tile the block: with three threads in a block, two threads of one
    unit of two would have different numbers, seen from the grid. *)
Example id_tiling : let M := {| T := 3; B := 2; SMEM := 0 |} in let n := @offset M (1, 0) pos0 / @size M (Thread, 2) in
  let n' := @offset M (1, 1) pos0 / @size M (Thread, 2) in same_unit (Thread, 2) (1, 0) (1, 1) /\ n <> n'.
Proof. simpl. repeat split; auto; discriminate. Qed.
