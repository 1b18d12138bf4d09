(* The order of positions, and sorted traces. *)

From Coq Require Import List Arith Lia Bool Relations Sorting.Sorted.
From Bundl Require Import Skeleton.
Import ListNotations.

(* Equality as a test. *)
Definition same_as {A : Type} (dec : forall x y : A, {x = y} + {x <> y}) (x y : A) : bool :=
  if dec x y then true else false.

Lemma same_as_eq (A : Type) (dec : forall x y : A, {x = y} + {x <> y}) x y : same_as dec x y = true <-> x = y.
Proof. unfold same_as; destruct (dec x y); intuition congruence. Qed.

(* -- tactics ------------------------------------------------------------------------------------------------------------ *)

(* Tests as facts; those of one hypothesis, by name. *)
Ltac bools := repeat match goal with
  | H : _ && _ = true |- _ => apply andb_prop in H; destruct H
  | H : (_ =? _) = true |- _ => apply Nat.eqb_eq in H
  | H : (_ <=? _) = true |- _ => apply Nat.leb_le in H
  | H : (_ <? _) = true |- _ => apply Nat.ltb_lt in H
  | H : same_as _ _ _ = true |- _ => apply same_as_eq in H
  | H : existsb _ _ = true |- _ => apply existsb_exists in H as (? & ? & ?)
  end.
Tactic Notation "ands" hyp(H) "as" simple_intropattern(p) := rewrite !andb_true_iff in H; destruct H as p.

(* Take apart where something stands; and put it there. *)
Ltac stands := repeat match goal with
  | H : In _ (_ ++ _) |- _ => apply in_app_iff in H as [H|H]
  | H : In _ (flat_map _ _) |- _ => apply in_flat_map in H as (? & ? & H)
  | H : False |- _ => destruct H
  | H : In _ [] |- _ => destruct H
  | H : In _ (_ :: _) |- _ => destruct H as [H|H]
  | H : _ \/ False |- _ => destruct H as [H|[]]
  | H : In _ (if ?c then _ else _) |- _ => destruct c eqn:?
  | H : (_, _) = (_, _) |- _ => inversion H; subst; clear H
  end.
Ltac there := rewrite ?in_app_iff, ?in_flat_map; eauto.

(* Parts that need nothing more. *)
Ltac splits := repeat (split; [solve [eauto]|]).

(* By the cases of what is tested. *)
Ltac tests := repeat match goal with
  | |- context [if ?c then _ else _] => destruct c eqn:?
  | H : context [if ?c then _ else _] |- _ => destruct c eqn:?
  end; bools; try discriminate.

(* -- positions ---------------------------------------------------------------------------------------------------------- *)

Lemma earlier_irr x d : ~ earlier x x d.
Proof. intro H; inversion H; subst; lia. Qed.

Lemma before_irr p d : ~ before p p d.
Proof.
  revert d; induction p as [|x p IH]; intros d H; inversion H; subst.
  - eapply earlier_irr; eauto.
  - eapply IH; eauto.
Qed.

Lemma precedes_irr p : ~ precedes p p.
Proof. intros [d H]; eapply before_irr; eauto. Qed.

Lemma earlier_trans x y z d e : earlier x y d -> earlier y z e -> exists f, earlier x z f.
Proof. intros H K; inversion H; subst; inversion K; subst; eexists; constructor; lia. Qed.

Lemma precedes_trans p q r : precedes p q -> precedes q r -> precedes p r.
Proof.
  intros [d H]; revert r; induction H as [x y p q d H|x p q d H IH]; intros r [e K]; inversion K; subst.
  - match goal with E : earlier y _ _ |- _ => destruct (earlier_trans _ _ _ _ _ H E) as [f F] end.
    exists f; constructor; exact F.
  - exists d; constructor; exact H.
  - exists e; constructor; assumption.
  - match goal with E : before q _ _ |- _ => destruct (IH _ (ex_intro _ _ E)) as [f F] end.
    exists f; constructor 2; exact F.
Qed.

Lemma before_app p q d r s : before p q d -> before (p ++ r) (q ++ s) d.
Proof. induction 1; simpl; [constructor 1 | constructor 2]; auto. Qed.

Lemma before_prefix w p q d : before p q d -> before (w ++ p) (w ++ q) d.
Proof. induction w; simpl; auto; constructor 2; auto. Qed.

Lemma before_turns w x y p q d : earlier x y d -> before (w ++ x :: p) (w ++ y :: q) d.
Proof. intro; apply before_prefix; constructor; auto. Qed.

Lemma turn_dec (x y : turn) : {x = y} + {x <> y}.
Proof. decide equality; apply Nat.eq_dec. Qed.

Lemma earlier_dec x y : {exists d, earlier x y d} + {~ exists d, earlier x y d}.
Proof.
  destruct x as [k|l k], y as [m|j m]; try (right; intros [d E]; inversion E; fail);
    [|destruct (Nat.eq_dec l j) as [<-|Ne]; [|right; intros [d E]; inversion E; congruence]];
    (destruct (lt_dec k m); [left; eexists; constructor; auto | right; intros [d E]; inversion E; lia]).
Qed.

Lemma precedes_dec p q : {precedes p q} + {~ precedes p q}.
Proof.
  revert q; induction p as [|x p IH]; intros [|y q]; try (right; intros [d E]; inversion E; fail).
  destruct (earlier_dec x y) as [H|H]; [left; destruct H as [d H]; exists d; constructor; auto|].
  destruct (turn_dec x y) as [<-|Ne]; [|right; intros [d E]; inversion E; subst; [apply H; eauto | congruence]].
  destruct (IH q) as [K|K]; [left; destruct K as [d K]; exists d; constructor 2; auto|].
  right; intros [d E]; inversion E; subst; [apply H; eauto | apply K; eexists; eauto].
Qed.

(* Of some positions one comes before no other's. *)
Lemma first_of (A : Type) (f : A -> path) (l : list A) :
  l <> [] -> exists m, In m l /\ forall x, In x l -> ~ precedes (f x) (f m).
Proof.
  induction l as [|x l IH]; [congruence|]; intros _; destruct l as [|y l].
  - exists x; simpl; split; auto; intros z [<-|[]]; apply precedes_irr.
  - destruct IH as (m & I & Min); [discriminate|]. destruct (precedes_dec (f x) (f m)) as [P|P].
    + exists x; split; [left; auto|]; intros z [<-|J]; [apply precedes_irr|].
      intro Q; apply (Min z J); eapply precedes_trans; eauto.
    + exists m; split; [right; auto|]; intros z [<-|J]; auto.
Qed.

Lemma key_same u h a b : same u a b -> key_of u h a = key_of u h b.
Proof. unfold same; destruct u, h; simpl; intro E; try inversion E; congruence. Qed.

Lemma thread_dec (a b : thread) : {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Qed.

(* -- sorted traces ------------------------------------------------------------------------------------------------------ *)

Definition sorted (t : list (path * event)) : Prop := StronglySorted (fun x y => precedes (fst x) (fst y)) t.

Lemma strongly_app (A : Type) (R : A -> A -> Prop) t u : StronglySorted R (t ++ u) <->
  StronglySorted R t /\ StronglySorted R u /\ (forall x y, In x t -> In y u -> R x y).
Proof.
  induction t as [|x t IH]; simpl; [split; [repeat split; auto; [constructor | intros ? ? []] | tauto]|]; split.
  - intro H; inversion H as [|? ? H1 H2]; subst; apply IH in H1 as (A1 & C & D); apply Forall_app in H2 as [H2 H3].
    rewrite Forall_forall in H3; repeat split; auto; [constructor; auto | intros y z [<-|I] J; auto].
  - intros (A1 & C & D); inversion A1; subst; constructor; [apply IH; auto|].
    rewrite Forall_app; split; auto; rewrite Forall_forall; auto.
Qed.

Lemma sorted_app t u : sorted (t ++ u) <->
  sorted t /\ sorted u /\ (forall x y, In x t -> In y u -> precedes (fst x) (fst y)).
Proof. apply strongly_app. Qed.

Lemma sorted_head x t y : sorted (x :: t) -> In y t -> precedes (fst x) (fst y).
Proof. intros H I; inversion H as [|? ? _ F]; subst; rewrite Forall_forall in F; auto. Qed.

(* -- lists without repeats --------------------------------------------------------------------------------------------- *)

Lemma nodup_app (A : Type) (l m : list A) : NoDup l -> NoDup m -> (forall x, In x l -> ~ In x m) -> NoDup (l ++ m).
Proof.
  induction l as [|x l IH]; simpl; auto; intros L M D; inversion L; subst; constructor.
  - rewrite in_app_iff; intros [I|I]; [auto | eapply D; eauto].
  - apply IH; auto.
Qed.

(* -- sums --------------------------------------------------------------------------------------------------------------- *)

Lemma sum_less (A : Type) (f g : A -> nat) l a :
  In a l -> (forall x, f x <= g x) -> f a < g a -> list_sum (map f l) < list_sum (map g l).
Proof.
  assert (Le : forall l, (forall x, f x <= g x) -> list_sum (map f l) <= list_sum (map g l)).
  { intros m H; induction m as [|x m IH]; simpl; auto; specialize (H x); lia. }
  intros I H L; induction l as [|x l IH]; [destruct I|]; simpl.
  destruct I as [->|I]; [specialize (Le l H); lia | specialize (IH I); specialize (H x); lia].
Qed.
