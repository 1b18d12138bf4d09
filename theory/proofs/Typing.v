(** The corrected typing rules. Names in comments are those of the rules (a prime: corrected). *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax.
Import ListNotations.

Section Typing.
Context {M : Machine} {Fs : Functions}.

(** What is known of each allocation: kind, type and number of elements. *)
Variable D : site -> kind * bty * nat.

Definition ctx : Type := name -> option (persp * ty).

(** [G |-^p_d e : t]: in code at [p], [e] has type [t] and is equal over each unit of [d], the demanded perspective. *)
Inductive ety (G : ctx) (p d : persp) : expr -> bty -> Prop :=
| T_Int z : ety G p d (EInt z) TInt
| T_Bool b : ety G p d (EBool b) TBool
| T_Var' x q b : (* T-Var' *)
    G x = Some (q, TBase b) -> ple d q -> ety G p d (EVar x) b
| T_Id' : (* T-Id' *)
    id_ok d p -> ety G p d EId TInt
| T_Read' l x q b e : (* T-Read', T-Arr-Access-Shared *)
    G x = Some (q, TArr l b) -> ple d q -> (l = Shared -> ple p (Block, 1)) ->
    ety G p d e TInt -> ety G p d (ERead l x e) b
| T_Bop o e1 e2 : ety G p d e1 TInt -> ety G p d e2 TInt -> ety G p d (EBop o e1 e2) TInt
| T_Cmp o e1 e2 : ety G p d e1 TInt -> ety G p d e2 TInt -> ety G p d (ECmp o e1 e2) TBool.

(** Typing of values; arrays of kinds other than Local refer to the table of allocations. *)
Inductive vty : val -> ty -> Prop :=
| V_Base v : vty (VB v) (TBase (tyof v))
| V_Local len f b : (forall i, tyof (f i) = b) -> vty (VLoc len f) (TArr Local b)
| V_Array l st off len b : l <> Local -> D st = (l, b, len) -> vty (VArr l st off len) (TArr l b)
| V_Async ps b g : (* V-Async *)
    (forall l z i, In (l, z, i) ps -> exists q, g z = Some (q, TArr l b) /\ ple (Thread, 1) q) ->
      vty (VAsync ps) (TAsync b g).

(** * Environments and memories agree with their typing (G-Int ... G-Global, V-Array) *)

Definition env_ok (G : ctx) (n : env) : Prop :=
  forall x q t, G x = Some (q, t) -> exists v, n x = Some (q, v) /\ vty v t.

Definition mem_ok (m : mem) : Prop :=
  (forall st i b len, D st = (Global, b, len) -> tyof (gl m st i) = b) /\
  (forall blk st i b len, D st = (Shared, b, len) -> tyof (sh m blk st i) = b).

(** * Statements *)

(** Where every unit of a perspective starts: at a multiple of this. *)
Definition whole (q : persp) : nat := match fst q with Grid => 0 | h => if snd q =? tile h then 0 else snd q end.

Fixpoint ctx_of (ps : list (name * persp * ty)) : ctx :=
  match ps with [] => fun _ => None | (x, q, t) :: ps => ups (ctx_of ps) x (Some (q, t)) end.

(** An argument: a scalar, equal over each unit of the parameter's perspective; or an array at exactly that. *)
Inductive arg_ty (G : ctx) (p : persp) : expr -> name * persp * ty -> Prop :=
| A_Scalar e x q b : ety G p q e b -> arg_ty G p e (x, q, TBase b)
| A_Array y x q l b : G y = Some (q, TArr l b) -> arg_ty G p (EVar y) (x, q, TArr l b).

(** The arrays that are passed. *)
Fixpoint passed (es : list expr) (ps : list (name * persp * ty)) : list name :=
  match es, ps with
  | EVar y :: es, (_, _, TArr _ _) :: ps => y :: passed es ps
  | _ :: es, _ :: ps => passed es ps
  | _, _ => []
  end.

(** [G |-^(h,n)_m s], where [al] is the known alignment of the unit's start: it is a multiple of [al]; 0 stands for a unit
    that starts at 0. [m]: bytes of shared memory that [s] may still allocate. *)
Inductive sty : ctx -> level -> nat -> nat -> nat -> stmt -> Prop :=
| T_Skip G h n al m : sty G h n al m SSkip
| T_Seq G h n al m s1 s2 : sty G h n al m s1 -> sty G h n al m s2 -> sty G h n al m (SSeq s1 s2)
| T_Split' G h n al m n1 n2 s1 s2 : (* T-Split', with a second arm or without *)
    0 < n1 -> n1 + n2 <= n -> Nat.divide n1 al ->
      n2 = 0 /\ s2 = SSkip \/ 0 < n2 /\ Nat.divide n2 al /\ Nat.divide n2 n1 ->
    sty G h n1 al m s1 -> sty G h n2 (Nat.gcd al n1) m s2 -> sty G h n al m (SSplit n1 n2 s1 s2)
| T_Destruct G h n al m h' n' s :
    down (h, n) = Some (h', n') -> sty G h' n' 0 m s -> sty G h n al m (SDestruct s)
| T_Group G h n al m q s :
    q <> 0 -> sty G h n (if q =? 1 then al else n) m s -> sty G h (q * n) al m (SGroup q s)
| T_Assn' G h n al m x q b e : (* T-Assn' *)
    G x = Some (q, TBase b) -> ple q (h, n) -> ety G (h, n) q e b -> sty G h n al m (SAssign x e)
| T_Write' G h n al m l x q b e1 e2 : (* T-Write' *)
    G x = Some (q, TArr l b) -> ple q (h, n) -> (l <> Local -> q = (Thread, 1) /\ (h, n) = (Thread, 1)) ->
    ety G (h, n) q e1 TInt -> ety G (h, n) q e2 b -> sty G h n al m (SStore l x e1 e2)
| T_Decl' G h n al m x q b e s : (* T-Decl' *)
    ple q (h, n) -> ety G (h, n) q e b -> sty (ups G x (Some (q, TBase b))) h n al m s ->
    sty G h n al m (SDecl x q b e s)
| T_Alloc_Local G h n al m x q b len s : (* T-Alloc, Local: not charged *)
    ple q (h, n) -> sty (ups G x (Some (q, TArr Local b))) h n al m s -> sty G h n al m (SLocal x q b len s)
| T_Alloc_Global G h n al m x b len st s : (* T-Alloc, Global: not charged *)
    D st = (Global, b, len) -> sty (ups G x (Some ((h, n), TArr Global b))) h n al m s ->
    sty G h n al m (SAlloc Global x b len st s)
| T_Alloc_Shared G al m x b len st s : (* T-Alloc-Shared *)
    D st = (Shared, b, len) -> sty (ups G x (Some ((Block, 1), TArr Shared b))) Block 1 al m s ->
    sty G Block 1 al (m + bytes b len) (SAlloc Shared x b len st s)
| T_If' G h n al m e s1 s2 : (* T-If' *)
    ety G (h, n) (h, n) e TBool -> sty G h n al m s1 -> sty G h n al m s2 -> sty G h n al m (SIf e s1 s2)
| T_While' G h n al m e s : (* T-While' *)
    ety G (h, n) (h, n) e TBool -> sty G h n al m s -> sty G h n al m (SWhile e s)
| T_Partition' G h n al m x y c l b e s : (* T-Partition' *)
    G x = Some ((h, n), TArr l b) -> l <> Local -> Nat.divide c n -> ety G (h, n) (h, n / c) e TInt ->
    sty (ups (ups G x None) y (Some ((h, n / c), TArr l b))) h n al m s ->
    sty G h n al m (SPartition x y c e s)
| T_Lower' G h n al m x y q l b e s : (* T-Lower' *)
    G x = Some ((h, n), TArr l b) -> l <> Local -> down (h, n) = Some q -> ety G (h, n) q e TInt ->
    sty (ups (ups G x None) y (Some (q, TArr l b))) h n al m s ->
    sty G h n al m (SLower x y e s)
| T_Claim' G h n al m x y n' a l b s : (* T-Claim' *)
    G x = Some ((h, n), TArr l b) -> l <> Local -> Nat.divide n' n -> a * n' + n' <= n ->
    sty (ups (ups G x None) y (Some ((h, n'), TArr l b))) h n' (Nat.gcd al (a * n')) m s ->
    sty G h n al m (SClaim x y n' a s)
| T_Call' G h n al m f fd es : (* T-Call' *)
    fn f = Some fd -> ple (fpersp fd) (h, n) -> Forall2 (arg_ty G (h, n)) es (params fd) ->
    NoDup (passed es (params fd)) -> fbytes fd <= m -> sty G h n al m (SCall f es)
| T_Memcpy' G h n al m l x q b l' z r len : (* T-Memcpy' *)
    G x = Some (q, TArr l b) -> G z = Some (r, TArr l' b) -> ple q (h, n) -> ple q r ->
    (l <> Local -> q = (Thread, 1) /\ (h, n) = (Thread, 1)) -> (l' = Shared -> ple (h, n) (Block, 1)) ->
    sty G h n al m (SCopy l x l' z len)
| T_Async_Partition G al m l x y b s : (* T-Async-Partition *)
    G x = Some ((Thread, 1), TArr l b) ->
    sty (ups (ups G x None) y (Some ((Thread, 1), TAsync b (ups G x None)))) Thread 1 al m s ->
    sty G Thread 1 al m (SAsync l x y s)
| T_Async_Memcpy G al m y l z q b g len : (* T-Async-Memcpy: z is bound outside of y's scope *)
    G y = Some ((Thread, 1), TAsync b g) -> G z = Some (q, TArr l b) -> g z = Some (q, TArr l b) -> ple (Thread, 1) q ->
    sty G Thread 1 al m (SAsyncCopy y l z len)
| T_Flying G al m l x y b ps s : (* run time: copies under way *)
    G x = Some ((Thread, 1), TArr l b) -> vty (VAsync ps) (TAsync b (ups G x None)) ->
    sty (ups (ups G x None) y (Some ((Thread, 1), TAsync b (ups G x None)))) Thread 1 al m s ->
    sty G Thread 1 al m (SFlying l x y ps s)
| T_Frame G h n al m q outs eta Gf s : (* run time: a call under way *)
    ple q (h, n) -> env_ok Gf eta ->
    (forall x y, In (x, y) outs -> exists q1 q2 t, Gf x = Some (q1, t) /\ G y = Some (q2, t)) ->
    sty Gf (fst q) (snd q) (whole q) m s -> sty G h n al m (SFrame q outs eta s)
| T_Sync G h n al m x : sty G h n al m (SSync x)
| T_Wait G h n al m x r : sty G h n al m (SWait x r)
| T_Arm G h n al m n' a s : (* run time: the arm of a claim *)
    Nat.divide n' n -> a * n' + n' <= n -> sty G h n' (Nat.gcd al (a * n')) m s ->
    sty G h n al m (SArm n' a s)
| T_Scope G h n al m hid x q v t cost s : (* run time: a scope that has been entered *)
    vty v t -> sty (ups (hide hid G) x (Some (q, t))) h n al m s ->
    sty G h n al (m + cost) (SScope hid x q v cost s).

(** V-Function: a body has a type where it knows its parameters alone. *)
Definition fun_ok (fd : func) : Prop :=
  NoDup (map pname (params fd)) /\
  sty (ctx_of (params fd)) (fst (fpersp fd)) (snd (fpersp fd)) (whole (fpersp fd)) (fbytes fd) (fbody fd).
Definition fns_ok : Prop := forall f fd, fn f = Some fd -> fun_ok fd.

Lemma sty_meet G h n al m x s : sty G h n al m s -> sty G h n al m (meet x s).
Proof. intros. constructor; constructor; auto; constructor. Qed.

(** Less need of shared memory is never worse. *)
Lemma sty_more G h n al m s : sty G h n al m s -> forall m', m <= m' -> sty G h n al m' s.
Proof.
  induction 1; intros m' Hm; try (econstructor; eauto; fail).
  - replace m' with ((m' - bytes b len) + bytes b len) by lia. econstructor; eauto. apply IHsty; lia.
  - econstructor; eauto. lia.
  - replace m' with ((m' - cost) + cost) by lia. econstructor; eauto. apply IHsty; lia.
Qed.

Lemma live_le G h n al m s : sty G h n al m s -> live s <= m.
Proof. induction 1; simpl; lia. Qed.

End Typing.
