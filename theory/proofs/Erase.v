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

Lemma eval_erase th k d n m e : eval th k d n m e <> EStuck -> eval' th k d n m e = eval th k d n m e.
Proof.
  induction e; simpl; intros H; auto.
  - destruct (n x) as [[q [v| | |]]|]; auto. destruct (pleb d q); congruence.
  - destruct (id_okb d (pp k)); congruence.
  - assert (E : eval th k d n m e <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe E).
    destruct (eval th k d n m e) as [[z|b]| |]; auto.
    destruct (n x) as [[q [v|len f|l' st off len|]]|]; auto.
    + destruct (pleb d q && kind_eqb l Local); [auto | congruence].
    + destruct (pleb d q && kind_eqb l l' && may_touch l (pp k)); [auto | congruence].
  - assert (E : eval th k d n m e1 <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe1 E).
    destruct (eval th k d n m e1) as [[z|b]| |]; auto.
    assert (E2 : eval th k d n m e2 <> EStuck) by (intros E2; rewrite E2 in H; auto). now rewrite (IHe2 E2).
  - assert (E : eval th k d n m e1 <> EStuck) by (intros E; rewrite E in H; auto). rewrite (IHe1 E).
    destruct (eval th k d n m e1) as [[z|b]| |]; auto.
    assert (E2 : eval th k d n m e2 <> EStuck) by (intros E2; rewrite E2 in H; auto). now rewrite (IHe2 E2).
Qed.

Lemma inside_stuck f n m r : inside f n m r <> Stuck -> r <> Stuck.
Proof. destruct r; simpl; congruence. Qed.

Lemma with_val_erase th k d n m e f :
  with_val (eval th k d n m e) f <> Stuck -> with_val (eval' th k d n m e) f = with_val (eval th k d n m e) f.
Proof. intros H. rewrite eval_erase; auto. intros E. rewrite E in H. auto. Qed.

Lemma bind_erase th k n m ps : forall es, bind th k n m ps es <> AStuck -> bind' th k n m ps es = bind th k n m ps es.
Proof.
  induction ps as [|[[x q] t] ps IH]; intros [|e es]; simpl; intros H; auto.
  assert (E : bind th k n m ps es <> AStuck) by (intros E; rewrite E in H; auto). rewrite (IH _ E).
  destruct (bind th k n m ps es); auto. destruct t as [b|l b|]; auto.
  - assert (E' : eval th k q n m e <> EStuck) by (intros E'; rewrite E' in H; auto). now rewrite (eval_erase _ _ _ _ _ _ E').
  - destruct e; auto. destruct (n x0) as [[q' [v|len f|l' st off len|]]|]; auto; destruct (peqb q' q); congruence.
Qed.

(** A guard that did not fail may go. *)
Ltac unguard H := match type of H with (if ?g then _ else _) <> Stuck => destruct g; [|congruence] end.

Lemma store_erase th k n m l x e1 e2 :
  store_ true th k n m l x e1 e2 <> Stuck -> store_ false th k n m l x e1 e2 = store_ true th k n m l x e1 e2.
Proof.
  unfold store_, with_int. intros H. destruct (n x) as [[q [v|len f|l' st off len|]]|]; auto; simpl in *; unguard H.
  all: assert (E : eval th k q n m e1 <> EStuck) by (intros E; rewrite E in H; auto).
  all: rewrite (eval_erase _ _ _ _ _ _ E).
  all: destruct (eval th k q n m e1) as [[z|z]| |]; simpl in *; auto; now apply with_val_erase.
Qed.

Theorem step_erase th s : forall k u n m, step th k u n m s <> Stuck -> step' th k u n m s = step th k u n m s.
Proof.
  Local Arguments down : simpl never.
  Local Arguments Nat.max : simpl never.
  Local Arguments eval_ : simpl never.
  unfold with_int, with_bool in *.
  induction s; simpl; intros k u n0 m0 H; auto.
  - assert (E : step th k u n0 m0 s1 <> Stuck) by (intros E; rewrite E in H; auto). now rewrite (IHs1 k u n0 m0 E).
  - unguard H. destruct (idx k <? n1).
    + now rewrite (IHs1 _ u) by (eapply inside_stuck; eauto).
    + destruct (idx k <? n1 + n2); auto. now rewrite (IHs2 _ u) by (eapply inside_stuck; eauto).
  - destruct (sub_down th k); auto. now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - unguard H. now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - destruct (n0 x) as [[q [v| | |]]|]; auto. unguard H. now apply with_val_erase.
  - now apply store_erase.
  - unguard H. now apply with_val_erase.
  - unguard H. reflexivity.
  - destruct l; auto. unguard H. reflexivity.
  - now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len|]]|]; auto. unguard H. now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len|]]|]; auto. destruct (down (pp k)); auto.
    unguard H. now apply with_val_erase.
  - destruct (n0 x) as [[q [v|len f|l' st off len|]]|]; auto. unguard H. reflexivity.
  - destruct (fn f) as [fd|]; auto. unguard H.
    assert (E : bind th k n0 m0 (params fd) es <> AStuck) by (intros E; rewrite E in H; auto).
    now rewrite (bind_erase _ _ _ _ _ _ E).
  - destruct (n0 y) as [[q [v|len' f|l' st off len'|ps]]|]; auto. unguard H. reflexivity.
  - unguard H. destruct ((a * n <=? idx k) && (idx k <? a * n + n)); auto.
    now rewrite (IHs _ u) by (eapply inside_stuck; eauto).
  - assert (E : step th k (u + cost) (ups (hide hid n0) x (Some (q, v))) m0 s <> Stuck)
      by (intros E; rewrite E in H; auto).
    now rewrite (IHs _ _ _ _ E).
  - unguard H. assert (E : step th (unit_of th q) u n m0 s <> Stuck) by (intros E; rewrite E in H; auto).
    now rewrite (IHs _ _ _ _ E).
  - destruct (nth_error ps (who m0)) as [[[l' z] i]|].
    + rewrite store_erase; auto. intros E. now rewrite E in H.
    + match type of H with match ?r with _ => _ end <> _ => assert (E : r <> Stuck) by (intros E; rewrite E in H; auto) end.
      now rewrite (IHs _ _ _ _ E).
Qed.

Variable D : site -> kind * bty * nat.
Hypothesis Hfns : fns_ok D.

(** From a well-typed program it reaches the states that the machine with checks reaches, and no others. *)
Theorem erasure G s n m S :
  sty D G Grid 1 0 SMEM s -> env_ok D G n -> mem_ok D m -> (reach' (init s n m) S <-> reach (init s n m) S).
Proof.
  intros Hs Hn Hm.
  assert (no : forall (P : nat -> Prop) w, ~ (exists w, P w) -> ~ P w) by firstorder.
  split; intros HR.
  - induction HR as [|th S S' HR IH Hst]; [constructor|]. eapply R_step; [exact IH|].
    destruct (safety D Hfns G s n m S Hs Hn Hm IH) as [_ HS].
    inversion Hst; subst; destruct (HS th) as [Hk _]; auto; simpl in Hk; rewrite H0 in Hk;
      rewrite (step_erase _ _ _ _ _ _ (no _ w Hk)) in H1; [eapply M_Step | eapply M_Oob]; eauto.
  - induction HR as [|th S S' HR IH Hst]; [constructor|]. eapply R_step; [exact IH|].
    destruct (safety D Hfns G s n m S Hs Hn Hm HR) as [_ HS].
    inversion Hst; subst; destruct (HS th) as [Hk _]; auto; simpl in Hk; rewrite H0 in Hk;
      rewrite <- (step_erase _ _ _ _ _ _ (no _ w Hk)) in H1; [eapply M_Step | eapply M_Oob]; eauto.
Qed.

End Erase.
