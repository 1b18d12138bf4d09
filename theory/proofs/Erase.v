(** The checks of the semantics can be left out: for well-typed programs, a machine that compares no perspectives, no
    alignment and no budget takes the same steps, as compiled code does. What stays are the positions, which say where
    a thread is, and the shapes of values. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Bundl Require Import Syntax Typing Step Safety.
Import ListNotations.

Section Erase.
Context {M : Machine} {Fs : Functions}.

Notation eval' := (eval_ false).
Notation bind' := (bind_ false).
Notation step' := (step_ false).
Notation mstep' := (mstep_ false).
Notation reach' := (reach_ false).

(** In what is not stuck, a guard holds; and what it is made of is not stuck, so an equation for that may be used. *)
Ltac sure H := intros E; rewrite E in H; now apply H.
Ltac unguard H := repeat match type of H with
  | context [if ?g then _ else _] => destruct g; try congruence
  | context [match ?v with _ => _ end] =>
      lazymatch type of v with res => fail | eres => fail | ares => fail | _ => destruct v; try congruence end
  end.

Lemma eval_erase th k d n m e : eval th k d n m e <> EStuck -> eval' th k d n m e = eval th k d n m e.
Proof.
  induction e; simpl; intros H; auto;
    try (rewrite IHe1 by sure H; destruct (eval th k d n m e1) as [[z|b]| |]; simpl in *; auto; now rewrite IHe2 by sure H);
    try (unguard H; auto; fail).
  - rewrite IHe by sure H. destruct (eval th k d n m e) as [[z|b]| |]; auto; unguard H; auto.
Qed.

Lemma with_val_erase th k d n m e f :
  with_val (eval th k d n m e) f <> Stuck -> with_val (eval' th k d n m e) f = with_val (eval th k d n m e) f.
Proof. intros H. now rewrite eval_erase by sure H. Qed.

Lemma bind_erase th k n m ps : forall es, bind th k n m ps es <> AStuck -> bind' th k n m ps es = bind th k n m ps es.
Proof.
  induction ps as [|[[x q] t] ps IH]; intros [|e es]; simpl; intros H; auto. rewrite IH by sure H.
  destruct (bind th k n m ps es); auto. destruct t; auto; [now rewrite eval_erase by sure H | unguard H; auto].
Qed.

Lemma store_erase th k n m l x e1 e2 :
  store_ true th k n m l x e1 e2 <> Stuck -> store_ false th k n m l x e1 e2 = store_ true th k n m l x e1 e2.
Proof.
  unfold store_, with_int. simpl. intros H. unguard H; auto; rewrite eval_erase by sure H;
    destruct (eval th k p n m e1) as [[z|z]| |]; simpl in *; auto; now apply with_val_erase.
Qed.

Theorem step_erase th s : forall k u n m, step th k u n m s <> Stuck -> step' th k u n m s = step th k u n m s.
Proof.
  Local Arguments down : simpl never.
  Local Arguments Nat.max : simpl never.
  Local Arguments eval_ : simpl never.
  unfold with_int, with_bool in *. induction s; simpl; intros k u n0 m0 H; auto using store_erase; unguard H; auto;
    try (now apply with_val_erase); try (now rewrite IHs by sure H); try (now rewrite IHs1 by sure H);
      try (now rewrite IHs2 by sure H).
  all: first [now rewrite bind_erase by sure H | now rewrite store_erase by sure H].
Qed.

Variable D : site -> kind * bty * nat.
Hypothesis Hfns : fns_ok D.

(** From a well-typed program it reaches the states that the machine with checks reaches, and no others. *)
Theorem erasure G s n m S :
  sty D G Grid 1 0 SMEM s -> env_ok D G n -> mem_ok D m -> (reach' (init s n m) S <-> reach (init s n m) S).
Proof.
  intros Hs Hn Hm. assert (no : forall (P : nat -> Prop) w, ~ (exists w, P w) -> ~ P w) by firstorder.
  split; intros HR; (induction HR as [|th S S' HR IH Hst]; [constructor|]); (eapply R_step; [exact IH|]);
    (destruct (safety D Hfns G s n m S Hs Hn Hm) as [_ HS]; [assumption|]);
    inversion Hst; subst; destruct (HS th) as [Hk _]; auto; simpl in Hk; rewrite H0 in Hk;
      apply (no _ w), step_erase in Hk;
    rewrite Hk in H1 || rewrite <- Hk in H1; [eapply M_Step | eapply M_Oob | eapply M_Step | eapply M_Oob]; eauto.
Qed.

End Erase.
