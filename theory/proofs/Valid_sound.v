(* A valid skeleton never waits for ever and has no race, for any number of blocks, any decisions, and any run. *)

From Coq Require Import List Arith Lia Bool FinFun.
From Bundl Require Import Skeleton Ordered Valid.
Import ListNotations.

(* -- arithmetic --------------------------------------------------------------------------------------------------------- *)

Lemma divides_spec k n : divides k n = true -> 0 < k /\ exists m, n = m * k.
Proof. unfold divides; intro H; bools; split; auto; exists (n / k). rewrite Nat.mul_comm; apply Nat.div_exact; lia. Qed.

Lemma leb_mul k m x : 0 < k -> (m * k <=? x) = (m <=? x / k).
Proof.
  intro K; apply eq_true_iff_eq; rewrite !Nat.leb_le; pose proof (Nat.mul_div_le x k).
  split; intro; [apply Nat.div_le_lower_bound; lia | nia].
Qed.

Lemma mod_div k m x : 0 < k -> (x mod (m * k)) / k = (x / k) mod m.
Proof.
  intro K; destruct (Nat.eq_dec m 0) as [->|M]; [simpl; auto|]. rewrite (Nat.mul_comm m k), Nat.mod_mul_r by lia.
  rewrite Nat.mul_comm, Nat.div_add by lia; rewrite (Nat.div_small (x mod k)); [lia|]. apply Nat.mod_upper_bound; lia.
Qed.

Lemma coarser k m x y : 0 < k -> 0 < m -> x / k = y / k -> x / (m * k) = y / (m * k).
Proof. intros K M E; rewrite (Nat.mul_comm m k), <- !Nat.div_div by lia; rewrite E; auto. Qed.

Lemma NoDup_list_prod (A C : Type) (l : list A) (m : list C) : NoDup l -> NoDup m -> NoDup (list_prod l m).
Proof.
  intros L M; induction L as [|x l I L IH]; simpl; [constructor|]; apply nodup_app; auto.
  - apply Injective_map_NoDup; auto; intros y z E; congruence.
  - intros [y z] J K; apply in_map_iff in J as (? & E & _); inversion E; subst. apply in_prod_iff in K; tauto.
Qed.

Lemma same_refl u a : same u a a. Proof. reflexivity. Qed.
Lemma same_sym u a b : same u a b -> same u b a. Proof. unfold same; auto. Qed.

(* -- what the checks of units mean -------------------------------------------------------------------------------------- *)

Definition sats (C : list con) (a : thread) : Prop := forall c, In c C -> sat c (snd a) = true.

Lemma sat_scaled k m lo hi t : 0 < k -> sat (Con (m * k) (lo * k) (hi * k)) t = sat (Con m lo hi) (t / k).
Proof.
  intro K; unfold sat; cbn [cmod clo chi]; rewrite !Nat.ltb_antisym, !leb_mul by auto; destruct m as [|m]; [auto|].
  replace (S m * k =? 0) with false by (symmetry; apply Nat.eqb_neq; nia); rewrite mod_div by auto; auto.
Qed.

Lemma respects_sound u c a b : respects u c = true -> same u a b -> sat c (snd a) = sat c (snd b).
Proof.
  destruct u as [k| | |], c as [m lo hi]; unfold respects, same; cbn [name cmod clo chi]; try discriminate; intros H E.
  inversion E as [[E1 E2]]; ands H as [[Lo Hi] Mo].
  apply divides_spec in Lo as [K [lo' ->]]; apply divides_spec in Hi as [_ [hi' ->]];
    assert (X : exists m', m = m' * k).
  { apply orb_prop in Mo as [Mo|Mo]; [exists 0; bools; auto | apply divides_spec in Mo; tauto]. }
  destruct X as [m' ->]; rewrite !sat_scaled, E2; auto.
Qed.

Lemma sat_range c t : sat c t = true -> exists x, (if cmod c =? 0 then x = t else x = t mod cmod c) /\ clo c <= x < chi c.
Proof. unfold sat; destruct (cmod c =? 0); intro H; bools; eexists; split; eauto. Qed.

Lemma between m lo hi x : 0 < m -> lo / m = (hi - 1) / m -> lo <= x < hi -> x / m = lo / m.
Proof. intros M E [H1 H2]; apply Nat.le_antisymm; [rewrite E|]; apply Nat.div_le_mono; lia. Qed.

Lemma within_sound c u v a b :
  within c u v = true -> sat c (snd a) = true -> sat c (snd b) = true -> same u a b -> same v a b.
Proof.
  destruct v as [m| | |]; simpl; try discriminate; intros H Sa Sb U; bools.
  apply sat_range in Sa; apply sat_range in Sb; destruct Sa as (x & Ex & Rx), Sb as (y & Ey & Ry).
  pose proof (between m (clo c) (chi c) x) as Bx; pose proof (between m (clo c) (chi c) y) as By.
  assert (XY : x / m = y / m) by (rewrite Bx, By; auto). unfold same; simpl; destruct (cmod c =? 0) eqn:Z.
  - subst x y; rewrite XY; f_equal; destruct u; try discriminate; unfold same in U; simpl in U; congruence.
  - bools; destruct u as [k| | |]; try discriminate.
    match goal with H : divides m _ = true |- _ => apply divides_spec in H as [M [j J]] end.
    match goal with H : divides k _ = true |- _ => apply divides_spec in H as [K [i I]] end.
    unfold same in U; simpl in U; inversion U as [[U1 U2]]; f_equal. assert (Q : snd a / cmod c = snd b / cmod c).
    { rewrite I; apply Nat.eqb_neq in Z; apply coarser; auto; destruct i; simpl in *; lia. }
    apply Nat.eqb_neq in Z. rewrite (Nat.div_mod (snd a) (cmod c)), (Nat.div_mod (snd b) (cmod c)) by auto.
    rewrite <- Ex, <- Ey, Q, J. replace (j * m * (snd b / (j * m)) + x) with (x + (j * (snd b / (j * m))) * m) by lia.
    replace (j * m * (snd b / (j * m)) + y) with (y + (j * (snd b / (j * m))) * m) by lia.
    rewrite !Nat.div_add by lia; lia.
Qed.

Section Sound.

Variables B N : nat.
Notation is_thread := (is_thread B N).

Lemma le_sound u v a b : le N u v = true -> is_thread a -> is_thread b -> same u a b -> same v a b.
Proof.
  unfold Skeleton.is_thread, same; destruct u as [k| |c|], v as [m| |d|]; simpl; try discriminate; auto;
    intros H [A1 A2] [B1 B2] E; try (inversion E; congruence).
  - inversion E as [[E1 E2]]; f_equal; apply divides_spec in H as [K [j J]]; subst m.
    destruct j as [|j]; [auto | apply coarser; auto; lia].
  - inversion E as [[E1]]; f_equal; bools; rewrite !Nat.div_small by lia; auto.
  - inversion E as [[E1]]; f_equal; apply divides_spec in H as [K [j J]]; subst d.
    destruct j as [|j]; [auto | apply coarser; auto; lia].
Qed.

Lemma le_in_sound C D u v a b :
  le_in N C D u v = true -> is_thread a -> is_thread b -> sats C a -> sats D b -> same u a b -> same v a b.
Proof.
  unfold le_in; intros H Ta Tb Sa Sb U; apply orb_prop in H as [H|H]; [eapply le_sound; eauto|].
  apply existsb_exists in H as (c & I & H); bools. subst; eapply within_sound; eauto.
Qed.

(* The members of a barrier's unit, counted. *)
Lemma whole_sats u C a b : whole N u C = true -> same u a b -> sats C a -> sats C b.
Proof.
  intros H U Sa c I; specialize (Sa c I).
  destruct u as [k| | |]; simpl in H; [|destruct C; [destruct I|discriminate]..].
  bools; match goal with H : forallb _ _ = true |- _ => rewrite forallb_forall in H; specialize (H c I) end.
  rewrite <- Sa; symmetry; eapply respects_sound; eauto.
Qed.

Lemma whole_counts u C a : (forall c, u = Cluster c -> exists d, B = d * c) ->
  whole N u C = true -> is_thread a -> sats C a ->
  exists w, NoDup w /\ length w = count B N u /\ forall b, In b w <-> is_thread b /\ same u a b.
Proof.
  intros Cl H [A1 A2] Sa; destruct a as [ab at_]; unfold Skeleton.is_thread, same.
  (* they are the threads of some blocks in a row, from one to another *)
  assert (Box : forall b0 bn t0 tn, bn * tn = count B N u ->
    (forall b, b0 <= fst b < b0 + bn /\ t0 <= snd b < t0 + tn <->
      (fst b < B /\ snd b < N) /\ name u (ab, at_) = name u b) ->
    exists w, NoDup w /\ length w = count B N u /\
      forall b, In b w <-> (fst b < B /\ snd b < N) /\ name u (ab, at_) = name u b).
  { intros b0 bn t0 tn E W; exists (list_prod (seq b0 bn) (seq t0 tn)); unfold thread in *.
    rewrite prod_length, !seq_length; repeat split; auto using NoDup_list_prod, seq_NoDup;
      destruct b as [bb bt]; rewrite in_prod_iff, !in_seq in *; apply (W (bb, bt)); auto. }
  assert (Quot : forall k i j, 0 < k -> i / k = j / k <-> k * (i / k) <= j < k * (i / k) + k).
  { intros k i j K; pose proof (Nat.div_mod j k); pose proof (Nat.mod_upper_bound j k); split; nia. }
  destruct u as [k| |c|]; simpl in *; bools.
  - assert (Top : k * (at_ / k) + k <= N).
    { match goal with H : _ || _ = true |- _ => apply orb_prop in H as [H|H] end; bools.
      - match goal with H : divides _ _ = true |- _ => apply divides_spec in H as [_ [m ->]] end.
        assert (at_ / k < m) by (apply Nat.div_lt_upper_bound; lia); nia.
      - match goal with H : divides k (chi ?c) = true, I : In ?c C |- _ =>
          specialize (Sa c I); apply divides_spec in H as [_ [m M]] end.
        unfold sat in Sa; match goal with H : cmod _ = 0 |- _ => rewrite H in Sa end; simpl in Sa; bools.
        assert (at_ / k < m) by (apply Nat.div_lt_upper_bound; lia); nia. }
    apply (Box ab 1 (k * (at_ / k)) k); [lia|]; intros [bb bt]; simpl; rewrite pair_equal_spec, Quot by auto; lia.
  - apply (Box ab 1 0 N); [lia|]; intros [bb bt]; simpl; rewrite pair_equal_spec; lia.
  - destruct (Cl c eq_refl) as [d Bd]; assert (0 < c) by (destruct c; lia).
    assert (c * (ab / c) + c <= B) by (assert (ab / c < d) by (apply Nat.div_lt_upper_bound; lia); nia).
    apply (Box (c * (ab / c)) c 0 N); auto; intros [bb bt]; simpl; rewrite pair_equal_spec, Quot by auto; lia.
  - apply (Box 0 B 0 N); auto; intros [bb bt]; simpl; rewrite pair_equal_spec; lia.
Qed.

(* -- traces ------------------------------------------------------------------------------------------------------------- *)

Variable o : oracle.

(* What a thread does in a statement, if it comes there. *)
Definition tr (c : bool) (s : stmt) (w : path) (a : thread) : list (path * event) := if c then trace o s w a else [].

Definition decides (w : path) (u : units) (a : thread) : bool := o w (name u a) =? 0.
Definition trips (w : path) (m : nat) (u : units) (a : thread) : nat := m + o w (name u a).

Lemma tr_seq c s1 s2 w a : tr c (Seq s1 s2) w a = tr c s1 (w ++ [Part 0]) a ++ tr c s2 (w ++ [Part 1]) a.
Proof. destruct c; auto. Qed.

Lemma tr_if c u s1 s2 w a :
  tr c (If u s1 s2) w a = tr (c && decides w u a) s1 (w ++ [Part 0]) a ++ tr (c && negb (decides w u a)) s2 (w ++ [Part 1]) a.
Proof. unfold tr, decides; destruct c; simpl; auto; destruct (_ =? 0); simpl; rewrite ?app_nil_r; auto. Qed.

Lemma tr_only c k s w a : tr c (Only k s) w a = tr (c && sat k (snd a)) s w a.
Proof. destruct c; auto. Qed.

Lemma in_loop c l m u s w a x :
  In x (tr c (Loop l m u s) w a) <-> exists k, In x (tr (c && (k <? trips w m u a)) s (w ++ [Trip l k]) a).
Proof.
  unfold tr, trips; destruct c; simpl; [|split; [intros [] | intros [? F]; destruct F]]. rewrite in_flat_map; split.
  - intros (k & I & J); apply in_seq in I; exists k; destruct (Nat.ltb_spec k (m + o w (name u a))); [auto|lia].
  - intros [k J]; destruct (Nat.ltb_spec k (m + o w (name u a))); [|destruct J].
    exists k; split; auto; apply in_seq; lia.
Qed.

(* Where something in a trace stands. *)
Ltac comes := repeat match goal with
  | H : In _ (tr _ (Seq _ _) _ _) |- _ => rewrite tr_seq, in_app_iff in H; destruct H as [H|H]
  | H : In _ (tr _ (If _ _ _) _ _) |- _ => rewrite tr_if, in_app_iff in H; destruct H as [H|H]
  | H : In _ (tr _ (Loop _ _ _ _) _ _) |- _ => apply in_loop in H as [? H]
  | H : In _ (tr _ (Only _ _) _ _) |- _ => rewrite tr_only in H
  | H : In _ (tr ?c Skip _ _) |- _ => destruct c; destruct H
  | H : In _ (tr ?c (Acc _) _ _) |- _ => destruct c; [destruct H as [H|[]]; inversion H; subst; clear H | destruct H]
  | H : In _ (tr ?c (Bar _ _) _ _) |- _ => destruct c; [destruct H as [H|[]]; inversion H; subst; clear H | destruct H]
  | H : In _ (tr ?c (Do _) _ _) |- _ => destruct c; [destruct H as [H|[]]; inversion H; subst; clear H | destruct H]
  end.

Lemma in_tr_path c s w a p e : In (p, e) (tr c s w a) -> exists q, p = w ++ q.
Proof.
  revert c w; induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|oo]; intros c w I; comes; eauto;
    try (exists []; rewrite app_nil_r; auto; fail); (apply IH1 in I || apply IH2 in I || apply IH in I);
    destruct I as [q ->]; rewrite <- app_assoc; eauto.
Qed.

Lemma parts_in_order w a b c d s1 s2 p q e f :
  In (p, e) (tr c s1 (w ++ [Part 0]) a) -> In (q, f) (tr d s2 (w ++ [Part 1]) b) -> before p q None.
Proof.
  intros I J; apply in_tr_path in I; apply in_tr_path in J; destruct I as [p' ->], J as [q' ->].
  rewrite <- !app_assoc; apply before_turns; constructor; lia.
Qed.

Lemma trips_in_order l w a b c d s1 s2 j k p q e f : j < k ->
  In (p, e) (tr c s1 (w ++ [Trip l j]) a) -> In (q, f) (tr d s2 (w ++ [Trip l k]) b) -> before p q (Some l).
Proof.
  intros L I J; apply in_tr_path in I; apply in_tr_path in J; destruct I as [p' ->], J as [q' ->].
  rewrite <- !app_assoc; apply before_turns; constructor; lia.
Qed.

Lemma trace_sorted s : forall w a, sorted (trace o s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|oo]; intros w a; simpl;
    try (repeat constructor; fail).
  - apply sorted_app; split; [auto|split; [auto|]]; intros [p e] [q f] I J; exists None.
    exact (parts_in_order w a a true true s1 s2 _ _ _ _ I J).
  - destruct (o w (name u a) =? 0); auto.
  - generalize 0 as i; induction (m + o w (name u a)) as [|n IHn]; intro i; simpl; [constructor|].
    apply sorted_app; split; [auto|split; [auto|]]; intros [p e] [q f] I J; exists (Some l).
    apply in_flat_map in J as (k & K & J); apply in_seq in K.
    refine (trips_in_order l w a a true true s s i k _ _ _ _ _ I J); lia.
  - destruct (sat k (snd a)); auto; constructor.
Qed.

(* -- barriers are met by all of a unit ---------------------------------------------------------------------------------- *)

(* If threads satisfy the same constraints, and decide alike above, both come to a place or neither. *)
Definition linked (D : list units) (C : list con) (a b : thread) (c d : bool) : Prop :=
  (forall k, In k C -> sat k (snd a) = sat k (snd b)) -> (forall u, In u D -> same u a b) -> c = d.

Lemma linked_if D C a b c d w u : linked D C a b c d ->
  linked (u :: D) C a b (c && decides w u a) (d && decides w u b) /\
  linked (u :: D) C a b (c && negb (decides w u a)) (d && negb (decides w u b)).
Proof.
  intro L; split; intros H1 H2; rewrite (L H1) by (intros; apply H2; right; auto);
    unfold decides; rewrite (H2 u) by (left; auto); auto.
Qed.

Lemma linked_loop D C a b c d w m u k : linked D C a b c d ->
  linked (u :: D) C a b (c && (k <? trips w m u a)) (d && (k <? trips w m u b)).
Proof. intros L H1 H2; unfold trips; rewrite (L H1), (H2 u); simpl in *; auto. Qed.

Lemma linked_only D C a b c d k : linked D C a b c d -> linked D (k :: C) a b (c && sat k (snd a)) (d && sat k (snd b)).
Proof. intros L H1 H2; rewrite L by (intros; auto; apply H1; right; auto); rewrite H1 by (left; auto); auto. Qed.

Lemma sats_cons k C a c : (c = true -> sats C a) -> c && sat k (snd a) = true -> sats (k :: C) a.
Proof. intros H E i [<-|I]; apply andb_prop in E; [tauto | apply H; tauto]. Qed.

(* A barrier's unit decides alike, and satisfies the same. *)
Lemma unit_comes u C D a b c d :
  whole N u C = true -> forallb (le_in N C C u) D = true -> is_thread a -> is_thread b -> same u a b ->
  sats C a -> linked D C a b c d -> c = d.
Proof.
  intros W F Ta Tb U Sa L; pose proof (whole_sats u C a b W U Sa) as Sb; apply L.
  - intros k I; rewrite Sa, Sb; auto.
  - intros v I; rewrite forallb_forall in F; eapply le_in_sound; eauto.
Qed.

Lemma unit_meets s : forall w D C a b c d p u h,
  bars N s D C = true -> is_thread a -> is_thread b -> (c = true -> sats C a) -> linked D C a b c d -> same u a b ->
  In (p, EBar u h) (tr c s w a) -> In (p, EBar u h) (tr d s w b).
Proof.
  assert (And : forall c d C a, (c = true -> sats C a) -> c && d = true -> sats C a)
    by (intros c d C a S E; apply andb_prop in E; tauto).
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; intros w D C a b c d p u h H Ta Tb Sa L U I;
    simpl in H; bools; comes; rewrite ?tr_seq, ?tr_if, ?tr_only, ?in_app_iff, ?in_loop; eauto.
  - replace d with true by (apply (unit_comes u C D a b); auto); simpl; auto.
  - left; apply (IH1 _ (v :: D) C a b (c && decides w v a)); eauto; apply (linked_if D C a b c d w v L).
  - right; apply (IH2 _ (v :: D) C a b (c && negb (decides w v a))); eauto; apply (linked_if D C a b c d w v L).
  - eexists; apply (IH _ (v :: D) C a b (c && (x <? trips w m v a))); eauto using linked_loop.
  - apply (IH _ D (k :: C) a b (c && sat k (snd a))); auto using linked_only; intro E; eapply sats_cons; eauto.
Qed.

Lemma bars_at s : forall w D C a c p u h,
  bars N s D C = true -> (c = true -> sats C a) -> In (p, EBar u h) (tr c s w a) ->
  In (u, h) (barriers s) /\ exists C', whole N u C' = true /\ sats C' a /\ exists_in_hardware N u h = true.
Proof.
  assert (And : forall c d C a, (c = true -> sats C a) -> c && d = true -> sats C a)
    by (intros c d C a S E; apply andb_prop in E; tauto).
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; intros w D C a c p u h H Sa I;
    simpl in H; bools; simpl; comes; rewrite ?in_app_iff; try (split; [auto | exists C; auto]; fail);
    match goal with IH : forall w D C a c p u h, bars N ?t D C = true -> _, J : In _ (tr ?c' ?t _ _) |- _ =>
      destruct (IH _ _ _ a c' p u h ltac:(eassumption) ltac:(eauto using sats_cons) J) as (X & Y); auto end.
Qed.

Lemma ids_hold n t : 0 < n -> t < N -> t / n < ids N (Threads n).
Proof.
  intros P L; simpl; apply Nat.div_lt_upper_bound; [lia|].
  pose proof (Nat.div_mod (N + (n - 1)) n); pose proof (Nat.mod_upper_bound (N + (n - 1)) n); nia.
Qed.

Lemma separate_named u v i j : separate N (u, Named i) (v, Named j) = true ->
  (u = v /\ i = j) \/ i + ids N u <= j \/ j + ids N v <= i.
Proof.
  destruct u, v; cbn [separate]; rewrite !orb_true_iff, andb_true_iff, !Nat.leb_le, Nat.eqb_eq; intros [[[E ->]|H]|H];
    auto; apply same_as_eq in E; auto.
Qed.

Lemma separate_own u v h g C D a b : separate N (u, h) (v, g) = true -> whole N u C = true -> whole N v D = true ->
  exists_in_hardware N u h = true -> exists_in_hardware N v g = true -> is_thread a -> is_thread b ->
  key_of u h a = key_of v g b -> u = v /\ h = g /\ same u a b.
Proof.
  intros S Wu Wv Hu Hv [A1 A2] [B1 B2] K; unfold same.
  assert (Pu : forall n, u = Threads n -> 0 < n) by (intros n ->; simpl in Wu; bools; auto).
  assert (Pv : forall n, v = Threads n -> 0 < n) by (intros n ->; simpl in Wv; bools; auto).
  destruct u as [n| |c|], h as [|i|s]; try discriminate; destruct v as [m| |e|], g as [|j|z]; try discriminate; simpl in K;
    try discriminate; inversion K; subst; auto; try (apply separate_named in S as [[E Eq]|S]); try discriminate;
    try pose proof (ids_hold n (snd a) (Pu n eq_refl) A2); try pose proof (ids_hold m (snd b) (Pv m eq_refl) B2);
    simpl in *; try lia; try (repeat split; auto; congruence); [|bools; subst; auto..].
  inversion E; subst; repeat split; auto; f_equal; lia.
Qed.

Lemma distinct_in l x : In x l -> In x (distinct l).
Proof.
  induction l as [|y l IH]; simpl; auto; intros [->|I].
  - destruct (existsb _ _) eqn:E; [|left; auto]; bools. destruct x, x0; simpl in *; subst; auto.
  - destruct (existsb _ _); [|right]; auto.
Qed.

Lemma keys_own s a b p q u v h g : keys N s = true -> bars N s [] [] = true -> is_thread a -> is_thread b ->
  In (p, EBar u h) (trace o s [] a) -> In (q, EBar v g) (trace o s [] b) -> key_of u h a = key_of v g b ->
  u = v /\ h = g /\ same u a b.
Proof.
  intros K H Ta Tb I J E; unfold keys in K; rewrite forallb_forall in K.
  destruct (bars_at s [] [] [] a true p u h H (fun _ _ f => match f with end) I) as (I' & C & WC & SC & HC).
  destruct (bars_at s [] [] [] b true q v g H (fun _ _ f => match f with end) J) as (J' & D & WD & SD & HD).
  specialize (K _ (distinct_in _ _ I')); rewrite forallb_forall in K; specialize (K _ (distinct_in _ _ J')).
  eapply separate_own; eauto.
Qed.

(* -- accesses with a barrier between ------------------------------------------------------------------------------------ *)

(* A barrier that all pass who satisfy theirs stands where decisions are its unit's, and under the constraints around. *)
Lemma passed_at s : forall D C u K, bars N s D C = true -> In (u, K) (passed s C) ->
  whole N u K = true /\ forallb (le_in N K K u) D = true.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; simpl; intros D C u K H I; bools; stands;
    eauto.
  - destruct g; stands; auto.
  - apply filter_In in I as [I _]; apply (IH1 _ _ _ _ H) in I as [X Y]; simpl in Y; bools; auto.
  - apply (IH _ _ _ _ H) in I as [X Y]; simpl in Y; bools; auto.
Qed.

Lemma passed_incl s : forall C u K, In (u, K) (passed s C) -> incl C K.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; simpl; intros C u K I; stands; eauto.
  - destruct g; stands; apply incl_refl.
  - apply filter_In in I as [I _]; eauto.
  - intros x J; apply (IH _ _ _ I); right; auto.
Qed.

Lemma passed_met s : forall w C u K a, In (u, K) (passed s C) -> sats K a ->
  exists r h, In (r, EBar u h) (trace o s w a).
Proof.
  induction s as [|s1 IH1 s2 IH2|x|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; simpl; intros w C u K a I Sa; stands.
  - destruct (IH1 (w ++ [Part 0]) _ _ _ a I Sa) as (r & h & J); exists r, h; there.
  - destruct (IH2 (w ++ [Part 1]) _ _ _ a I Sa) as (r & h & J); exists r, h; there.
  - destruct g; stands; eauto.
  - apply filter_In in I as [I J]; bools. subst; destruct (o w (name v a) =? 0); eauto.
  - destruct m; [discriminate|]; destruct (IH (w ++ [Trip l 0]) _ _ _ a I Sa) as (r & h & J); exists r, h; simpl; there.
  - pose proof (passed_incl _ _ _ _ I) as X; rewrite Sa by (apply X; left; auto); eauto.
Qed.

(* Accesses that are made have their entries. *)
Lemma makes_all s : forall w C a p x, sats C a -> In (p, EAcc x) (trace o s w a) ->
  exists e, In e (makes s C) /\ made e = x /\ sats (under e) a /\ at_ e = None /\ apart e = [] /\
    forall u K, In (u, K) (past e) -> sats K a -> exists r h, In (r, EBar u h) (trace o s w a) /\ precedes p r.
Proof.
  induction s as [|s1 IH1 s2 IH2|x'|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo]; simpl; intros w C a p x Sa I; stands;
    try discriminate; try match goal with IH : context [In _ (makes ?t _)], J : In _ (trace _ ?t _ _) |- _ =>
      destruct (IH _ _ _ _ _ Sa J) as (e & M & Em & Eu & Ea & Ex & Ep) end.
  - exists (behind (passed s2 C) e); simpl; split; [apply in_or_app; left; apply in_map; auto|].
    splits; intros u K L SK; apply in_app_iff in L as [L|L].
    + apply filter_In in L as [L _]; destruct (passed_met s2 (w ++ [Part 1]) C u K a L SK) as (r & h & R).
      exists r, h; split; there; exists None; exact (parts_in_order w a a true true s1 s2 _ _ _ _ I R).
    + destruct (Ep u K L SK) as (r & h & R & P); exists r, h; there.
  - exists e; there; splits; intros u K L SK; destruct (Ep u K L SK) as (r & h & R & P); exists r, h; there.
  - exists (Entry x C [] [] None); simpl; repeat split; auto; intros ? ? [].
  - exists e; there; repeat split; auto.
  - exists e; there; repeat split; auto.
  - exists e; splits; intros u K L SK; destruct (Ep u K L SK) as (r & h & R & P); exists r, h; there.
  - apply (IH w (k :: C)); auto; intros c [<-|J]; auto.
Qed.

Lemma includes_sats C D a : includes C D = true -> sats C a -> sats D a.
Proof. unfold includes; intros H S d I; rewrite forallb_forall in H; specialize (H d I); bools. subst; auto. Qed.

Lemma disjoint_sound c d t : disjoint c d = true -> sat c t = true -> sat d t = true -> False.
Proof.
  unfold disjoint, sat; intros H S T; bools; match goal with H : cmod c = cmod d |- _ => rewrite H in * end.
  match goal with H : _ || _ = true |- _ => apply orb_prop in H as [H|H] end; bools; lia.
Qed.

Section Two.

(* Two accesses that conflict, of two threads, where facts hold; and all that the first thread does. *)
Variables (a b : thread) (F : list fact) (pass : access -> access -> bool) (p q : path) (x y : access).
Hypotheses (Ta : is_thread a) (Tb : is_thread b) (Ne : a <> b) (Cl : clash a b (does x) (does y)) (Pass : pass x y =
  false)
  (Ov : overlap x y = true) (Ow : same (owner x) a b) (Le : p = q \/ precedes p q).
Hypothesis fact_holds : forall f d, In f F -> is_of x y d f = true -> part p q d ->
  exists c, what f = Some c /\ same c a b.
Variable T : list (path * event).

Definition between_them : Prop := exists r u h, same u a b /\ In (r, EBar u h) T /\ precedes p r /\ precedes r q.

(* An entry that is fine: a barrier of both threads came since. *)
Lemma fine_sound e C G :
  fine N pass G y C e = true -> incl G F -> made e = x -> sats (under e) a -> sats C b -> part p q (at_ e) ->
  (forall d, In d (apart e) -> ~ same d a b) -> exists u K, In (u, K) (past e) /\ sats K a /\ same u a b.
Proof.
  intros H GF Ex Sa Sb P X; unfold fine in H; rewrite Ex, Pass, orb_false_r in H; apply orb_prop in H as [H|H].
  { exfalso; destruct (does x), (does y); try discriminate; exact Cl. }
  apply existsb_exists in H as (c & I & H); assert (Y : exists c', c = Some c' /\ same c' a b).
  { unfold concerns in I; rewrite Ov in I; destruct I as [<-|I]; eauto.
    apply in_map_iff in I as (f & <- & I); apply filter_In in I as [I J]; eauto. }
  destruct Y as (c' & -> & U); unfold settled in H; rewrite Ex in H.
  repeat match goal with H : _ || _ = true |- _ => apply orb_prop in H as [H|H] end; bools.
  - exfalso; subst c'; unfold same, name in U; rewrite !Nat.div_1_r in U.
    apply Ne; destruct a, b; simpl in U; congruence.
  - exfalso; assert (V : same Block a b) by (eapply le_sound; eauto); unfold same in V; simpl in V; inversion V.
    destruct (does x), (does y); simpl in *; try discriminate; tauto.
  - destruct x0 as [u K]; simpl in *; exists u, K; repeat split; eauto using includes_sats, le_in_sound.
  - exfalso; eapply X; eauto using le_in_sound.
  - exfalso; rename x0 into k, x1 into m; pose proof (Sa k ltac:(auto)); pose proof (Sb m ltac:(auto)).
    match goal with H : _ || _ = true |- _ => apply orb_prop in H as [R|R] end;
      pose proof (respects_sound _ _ a b R U) as E;
        [apply (disjoint_sound k m (snd b)) | apply (disjoint_sound k m (snd a))]; auto; congruence.
Qed.

Lemma about_incl j : incl (about F j) F.
Proof. intros f I; apply filter_In in I as [I _]; exact I. Qed.

(* The first access is known where the second thread is at w, and so are the barriers since. *)
Definition passes (e : entry) (w : path) : Prop := forall u K, In (u, K) (past e) -> sats K a -> same u a b ->
  exists r h, In (r, EBar u h) T /\ precedes p r /\ precedes r w.

Definition known (E : list entry) (w : path) : Prop := exists e, In e E /\ made e = x /\ sats (under e) a /\
  before p w (at_ e) /\ (forall d, In d (apart e) -> ~ same d a b) /\ passes e w.

Lemma known_deeper E E' w t : incl E E' -> known E w -> known E' (w ++ [t]).
Proof.
  assert (Deep : forall r d, before r w d -> before r (w ++ [t]) d).
  { intros r d H; rewrite <- (app_nil_r r); apply before_app; auto. }
  intros Inc (e & J & Em & Eu & Ea & Ex & Ep); exists e; splits; intros u K L SK U.
  destruct (Ep u K L SK U) as (r & h & M & P & [d Q]); exists r, h; repeat split; auto; exists d; auto.
Qed.

(* What stands under an earlier turn comes before. *)
Lemma turn_before c s w t t' d r e v : earlier t t' d -> In (r, e) (tr c s (w ++ [t]) v) -> before r (w ++ [t']) d.
Proof. intros Er I; apply in_tr_path in I as [r' ->]; rewrite <- app_assoc; apply before_turns; auto. Qed.

Lemma made_before c s w C t t' d : earlier t t' d -> (c = true -> sats C a) -> incl (tr c s (w ++ [t]) a) T ->
  In (p, EAcc x) (tr c s (w ++ [t]) a) -> c = true /\ exists e, In e (makes s C) /\ made e = x /\ sats (under e) a /\
    at_ e = None /\ apart e = [] /\ before p (w ++ [t']) d /\ passes e (w ++ [t']).
Proof.
  intros Er Sa Inc I; destruct c; [|destruct I]; split; auto.
  destruct (makes_all s _ C a p x (Sa eq_refl) I) as (e & Je & Em & Eu & Ea & Ex & Ep).
  exists e; repeat (split; [solve [eauto using turn_before]|]); intros u K L SK _.
  destruct (Ep u K L SK) as (r & h & R & Pr); exists r, h; repeat split; auto.
  exists d; exact (turn_before true s w t t' d r _ a Er R).
Qed.

Lemma check_sound s : forall w D C E c,
  bars N s D C = true -> check N F pass s C E = true -> linked D C a b c true -> (c = true -> sats C a) -> sats C b ->
  incl (tr c s w a) T -> In (p, EAcc x) (tr c s w a) \/ known E w -> In (q, EAcc y) (trace o s w b) -> between_them.
Proof.
  assert (Never : ~ precedes q p) by (intro X; apply (precedes_irr p); destruct Le as [->|Y];
    eauto using precedes_trans).
  assert (And : forall c d C, (c = true -> sats C a) -> c && d = true -> sats C a)
    by (intros c d C S E; apply andb_prop in E; tauto).
  induction s as [|s1 IH1 s2 IH2|z|v g|v s1 IH1 s2 IH2|l m v s IH|k s IH|oo];
    intros w D C E c H K L Sa Sb Inc I J; simpl in H, K; bools.
  - destruct J.
  - rewrite tr_seq in *; apply incl_app_inv in Inc as [In1 In2]; simpl in J; apply in_app_iff in J as [J|J].
    + apply (IH1 (w ++ [Part 0]) D C E c); auto; destruct I as [I|I]; [|eauto using known_deeper, incl_refl].
      apply in_app_iff in I as [I|I]; auto; destruct Never; exists None.
      exact (parts_in_order w b a true c s1 s2 _ _ _ _ J I).
    + apply (IH2 (w ++ [Part 1]) D C (map (behind (passed s1 C)) E ++ makes s1 C) c); auto.
      destruct I as [I|(e & Je & Em & Eu & Ea & Ex & Ep)]; [apply in_app_iff in I as [I|I]; auto|]; right.
      * destruct (made_before c s1 w C (Part 0) (Part 1) None ltac:(constructor; lia) Sa In1 I)
          as (_ & e & Je & Em & Eu & Ea & Ex & Be & Ep).
        exists e; rewrite Ea, Ex, in_app_iff; splits; auto.
      * destruct (known_deeper [e] [e] w (Part 1) (incl_refl _)) as (e' & [<-|[]] & _ & _ & Be & _ & Ep').
        { exists e; simpl; auto 8. }
        exists (behind (passed s1 C) e); rewrite in_app_iff; repeat (split; [solve [auto using in_map]|]).
        intros u K' L' SK U; apply in_app_iff in L' as [L'|L']; [|eauto]; apply filter_In in L' as [L' _].
        destruct (passed_at s1 D C u K' H L') as (Wh & Al); pose proof (passed_incl _ _ _ _ L') as Ic.
        assert (SKb : sats K' b) by (eapply whole_sats; eauto). assert (ct : c = true).
        { apply L; [intros k Ik; rewrite SK, SKb; auto|]; intros d Id; rewrite forallb_forall in Al;
            eapply le_in_sound; eauto. }
        subst c; destruct (passed_met s1 (w ++ [Part 0]) C u K' a L' SK) as (r & h & R); exists r, h; split; auto.
        split; [exists (at_ e) | exists None; eapply turn_before with (c := true); [|exact R]; constructor; lia].
        apply (in_tr_path true) in R as [r' ->]; rewrite <- app_assoc, <- (app_nil_r p); apply before_app; auto.
  - simpl in J; destruct J as [J|[]]; injection J as -> ->; rewrite forallb_forall in *.
    destruct I as [I|(e & Je & Em & Eu & Ea & Ex & Ep)].
    + destruct c; [|destruct I]; destruct I as [I|[]]; injection I as E1 E2.
      destruct (fine_sound (Entry x C [] [] None) C (about F (number y))) as (u & K' & [] & _); auto using about_incl.
      * rewrite <- E2; auto.
      * right; right; auto.
    + destruct (fine_sound e C (about F (number y))) as (u & K' & Ik & SK & U); auto using about_incl.
      * left; auto.
      * destruct (Ep u K' Ik SK U) as (r & h & R & Q); exists r, u, h; auto.
  - destruct J as [J|[]]; discriminate.
  - rewrite tr_if in *; apply incl_app_inv in Inc as [In1 In2]; simpl in J.
    destruct (linked_if D C a b c true w v L) as [L1 L2]; simpl in L1, L2.
    destruct (decides w v b) eqn:Db; pose proof Db as Db'; unfold decides in Db'; rewrite Db' in J; simpl in L2.
    + apply (IH1 (w ++ [Part 0]) (v :: D) C E (c && decides w v a)); eauto; destruct I as [I|I];
        [|eauto using known_deeper, incl_refl].
      apply in_app_iff in I as [I|I]; auto; destruct Never; exists None;
        exact (parts_in_order w b a true _ s1 s2 _ _ _ _ J I).
    + apply (IH2 (w ++ [Part 1]) (v :: D) C (E ++ map (beside v) (makes s1 C)) (c && negb (decides w v a))); eauto.
      destruct I as [I|I]; [apply in_app_iff in I as [I|I]; auto|]; right;
        [|eauto using known_deeper, incl_appl, incl_refl].
      destruct (made_before _ s1 w C (Part 0) (Part 1) None ltac:(constructor; lia) (And _ _ _ Sa) In1 I)
        as (Da & e & Je & Em & Eu & Ea & Ex & Be & Ep).
      exists (beside v e); simpl; rewrite Ea, Ex, in_app_iff; repeat (split; [solve [auto using in_map]|]); split; auto.
      intros d [<-|[]] U; apply andb_prop in Da as [_ Da]; unfold decides in *; rewrite U in Da; congruence.
  - change (trace o (Loop l m v s) w b) with (tr true (Loop l m v s) w b) in J; apply in_loop in J as [k J]; simpl in J.
    destruct (k <? trips w m v b) eqn:Kb; [|destruct J]; simpl in J.
    assert (Trip_ : forall j, incl (tr (c && (j <? trips w m v a)) s (w ++ [Trip l j]) a) T)
      by (intros j z Z; apply Inc, in_loop; eauto).
    apply (IH (w ++ [Trip l k]) (v :: D) C (E ++ map (later l) (makes s C)) (c && (k <? trips w m v a))); eauto.
    { pose proof (linked_loop D C a b c true w m v k L) as L'; rewrite Kb in L'; auto. }
    destruct I as [I|I]; [|eauto using known_deeper, incl_appl, incl_refl].
    apply in_loop in I as [j I]; destruct (Nat.lt_trichotomy j k) as [Lt|[->|Lt]]; auto.
    + right; destruct (made_before _ s w C (Trip l j) (Trip l k) (Some l) ltac:(constructor;
        lia) (And _ _ _ Sa) (Trip_ j) I)
        as (_ & e & Je & Em & Eu & Ea & Ex & Be & Ep).
      exists (later l e); simpl; rewrite Ex, in_app_iff; repeat (split; [solve [auto using in_map]|]); auto.
    + destruct Never; exists (Some l); exact (trips_in_order l w b a true _ s s k j _ _ _ _ Lt J I).
  - simpl in J; rewrite tr_only in *; destruct (sat k (snd b)) eqn:Sk; [|destruct J].
    apply (IH w D (k :: C) E (c && sat k (snd a))); auto.
    + pose proof (linked_only D C a b c true k L) as L'; rewrite Sk in L'; auto.
    + apply sats_cons; auto.
    + intros i [<-|Ii]; auto.
  - destruct J as [J|[]]; discriminate.
Qed.

End Two.

(* Of a whole statement: a barrier of both threads stands between two accesses that conflict. *)
Lemma barrier_between s w a b F pass p q x y : bars N s [] [] = true -> check N F pass s [] [] = true ->
  is_thread a -> is_thread b -> a <> b -> clash a b (does x) (does y) -> pass x y = false -> overlap x y = true ->
  same (owner x) a b ->
  (forall f d, In f F -> is_of x y d f = true -> part p q d -> exists c, what f = Some c /\ same c a b) ->
  In (p, EAcc x) (trace o s w a) -> In (q, EAcc y) (trace o s w b) -> p = q \/ precedes p q ->
  exists r u h, same u a b /\ In (r, EBar u h) (trace o s w a) /\ precedes p r /\ precedes r q.
Proof.
  intros H K Ta Tb Ne Cl Pass Ov Ow Fact I J Le.
  eapply (check_sound a b F pass p q x y) with (c := true) (D := []) (C := []) (E := []); eauto using incl_refl.
  1: intros _ _; auto.
  all: intros; intros ? [].
Qed.

End Sound.

(* -- a role's body ------------------------------------------------------------------------------------------------------ *)

(* What of a statement the threads `lo .. hi - 1` of a block run. *)
Fixpoint project (lo hi : nat) (s : stmt) : stmt :=
  match s with
  | Seq s1 s2 => Seq (project lo hi s1) (project lo hi s2)
  | If u s1 s2 => If u (project lo hi s1) (project lo hi s2)
  | Loop l m u s => Loop l m u (project lo hi s)
  | Only c s =>
      if forallb (sat c) (seq lo (hi - lo)) then project lo hi s
      else if existsb (sat c) (seq lo (hi - lo)) then Only c (project lo hi s) else Skip
  | _ => s
  end.

Theorem project_same o lo hi s : forall w a, lo <= snd a < hi -> trace o (project lo hi s) w a = trace o s w a.
Proof.
  induction s as [|s1 IH1 s2 IH2|x|u h|u s1 IH1 s2 IH2|l m u s IH|k s IH|oo]; intros w a R; simpl;
    rewrite ?IH1, ?IH2 by auto; auto; [apply flat_map_ext; intro j; auto|].
  assert (I : In (snd a) (seq lo (hi - lo))) by (apply in_seq; lia).
  destruct (forallb (sat k) _) eqn:All; [|destruct (existsb (sat k) _) eqn:Some_]; simpl; rewrite ?IH; auto.
  - rewrite forallb_forall in All; rewrite All; auto.
  - destruct (sat k (snd a)) eqn:E; auto.
    assert (X : existsb (sat k) (seq lo (hi - lo)) = true) by (apply existsb_exists; eauto); congruence.
Qed.
