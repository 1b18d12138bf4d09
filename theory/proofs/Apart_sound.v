(* What the checker of Apart.v accepts is true: of all values that the machine's numbers may have. *)

From Coq Require Import List ZArith Bool Lia.
From Bundl Require Import Apart.
Import ListNotations.
Open Scope Z_scope.

(* -- values of polynomials ---------------------------------------------------------------------------------------------- *)

Definition at_ (vs : list Z) (i : nat) : Z := nth i vs 0.
Fixpoint mono_val (vs : list Z) (m : mono) : Z := match m with [] => 1 | i :: m => at_ vs i * mono_val vs m end.
Fixpoint val (vs : list Z) (p : poly) : Z := match p with [] => 0 | (m, c) :: p => c * mono_val vs m + val vs p end.

Lemma mono_cmp_eq m : forall n, mono_cmp m n = Eq -> m = n.
Proof.
  induction m as [|i m IH]; intros [|j n]; simpl; try discriminate; auto.
  destruct (Nat.compare_spec i j); try discriminate. intros H'. f_equal; auto.
Qed.

Lemma mono_insert_val vs i m : mono_val vs (mono_insert i m) = at_ vs i * mono_val vs m.
Proof. induction m as [|j m IH]; simpl; auto. destruct (Nat.leb i j); simpl; auto. rewrite IH. ring. Qed.

Lemma mono_mul_val vs m n : mono_val vs (mono_mul m n) = mono_val vs m * mono_val vs n.
Proof. unfold mono_mul. induction m as [|i m IH]; cbn [fold_right mono_val]; [lia|]. rewrite mono_insert_val, IH. ring. Qed.

Lemma plus_val vs m c p : val vs (plus m c p) = c * mono_val vs m + val vs p.
Proof.
  induction p as [|[n d] p IH]; simpl.
  - destruct (Z.eqb_spec c 0); simpl; subst; ring.
  - destruct (mono_cmp m n) eqn:E; simpl.
    + apply mono_cmp_eq in E; subst. destruct (Z.eqb_spec (c + d) 0); simpl; [|ring]. replace d with (- c) by lia. ring.
    + destruct (Z.eqb_spec c 0); simpl; subst; ring.
    + rewrite IH. ring.
Qed.

Lemma const_val vs z : val vs (const z) = z.
Proof. unfold const. rewrite plus_val. cbn [mono_val val]. ring. Qed.

Lemma atom_val vs i : val vs (atom i) = at_ vs i.
Proof. unfold atom. cbn [mono_val val]. ring. Qed.

Lemma add_val vs p q : val vs (add p q) = val vs p + val vs q.
Proof. unfold add. induction p as [|[m c] p IH]; simpl; auto. rewrite plus_val, IH. ring. Qed.

Lemma term_mul_val vs m c q s : val vs (term_mul m c q s) = c * mono_val vs m * val vs q + val vs s.
Proof.
  unfold term_mul. induction q as [|[n d] q IH]; cbn [fold_right val fst snd]; [ring|]. rewrite plus_val, IH, mono_mul_val. ring.
Qed.

Lemma mul_val vs p q : val vs (mul p q) = val vs p * val vs q.
Proof. unfold mul. induction p as [|[m c] p IH]; cbn [fold_right val fst snd]; [ring|]. rewrite term_mul_val, IH. ring. Qed.

Lemma scale_val vs c p : val vs (scale c p) = c * val vs p.
Proof. unfold scale. rewrite term_mul_val. cbn [mono_val val]. ring. Qed.

Lemma sub_val vs p q : val vs (sub p q) = val vs p - val vs q.
Proof. unfold sub. rewrite add_val, scale_val. ring. Qed.

Lemma same_val vs p q : same p q = true -> val vs p = val vs q.
Proof.
  unfold same, is_zero. destruct (sub p q) eqn:E; [|discriminate]. intros _.
  pose proof (sub_val vs p q) as H. rewrite E in H. simpl in H. lia.
Qed.

Lemma number_val vs p n : number p = Some n -> val vs p = n.
Proof. destruct p as [|[[|i m] c] [|t p]]; simpl; try discriminate; intros [= <-]; ring. Qed.

#[local] Hint Rewrite const_val atom_val add_val mul_val scale_val sub_val plus_val : vals.
#[local] Arguments const : simpl never.
#[local] Arguments atom : simpl never.
#[local] Arguments add : simpl never.
#[local] Arguments mul : simpl never.
#[local] Arguments scale : simpl never.
#[local] Arguments sub : simpl never.

(* -- values of atoms ---------------------------------------------------------------------------------------------------- *)

Section Values.

Variables r1 r2 : nat -> Z.

Definition def_val (vs : list Z) (d : def) : Z :=
  match d with
  | DVar s v => if s then r2 v else r1 v
  | DName p => val vs p
  | DDiv p n => val vs p / n
  | DBin o p q => apply o (val vs p) (val vs q)
  end.

Fixpoint values (vs : list Z) (ds : list def) : list Z :=
  match ds with [] => vs | d :: ds => values (vs ++ [def_val vs d]) ds end.

Lemma below_val n p vs ws : length vs = n -> below n p = true -> val (vs ++ ws) p = val vs p.
Proof.
  intros L. induction p as [|[m c] p IH]; simpl; auto. rewrite andb_true_iff. intros [Hm Hp].
  rewrite IH by auto. f_equal. f_equal. clear IH Hp.
  induction m as [|i m IH]; simpl in *; auto. rewrite andb_true_iff in Hm. destruct Hm as [Hi Hm].
  rewrite IH by auto. f_equal. unfold at_. apply app_nth1. apply Nat.ltb_lt in Hi. lia.
Qed.

Lemma def_below_val n d vs ws : length vs = n -> def_below n d = true -> def_val (vs ++ ws) d = def_val vs d.
Proof.
  intros L. destruct d; simpl; intros H; auto; try rewrite andb_true_iff in H;
    repeat rewrite below_val with (n := n); tauto.
Qed.

Lemma values_split ds : forall vs, exists ws, values vs ds = vs ++ ws.
Proof.
  induction ds as [|d ds IH]; intros vs; simpl; [exists []; rewrite app_nil_r; auto|].
  destruct (IH (vs ++ [def_val vs d])) as [ws E]. rewrite E, <- app_assoc. eauto.
Qed.

Lemma values_at ds : forall vs i d, in_order (length vs) ds = true -> nth_error ds i = Some d ->
  at_ (values vs ds) (length vs + i) = def_val (values vs ds) d.
Proof.
  induction ds as [|e ds IH]; intros vs i d; simpl; [destruct i; discriminate|].
  rewrite andb_true_iff. intros [He Hds]. set (ws := vs ++ [def_val vs e]).
  assert (L : length ws = S (length vs)) by (unfold ws; rewrite app_length; simpl; lia). destruct i as [|i]; simpl.
  - intros [= <-]. destruct (values_split ds ws) as [us E]. rewrite E.
    replace (ws ++ us) with (vs ++ ([def_val vs e] ++ us)) by (unfold ws; rewrite <- app_assoc; reflexivity).
    rewrite def_below_val with (n := length vs); auto.
    unfold at_. rewrite app_nth2, Nat.add_0_r, Nat.sub_diag by lia. reflexivity.
  - intros H. rewrite <- L in Hds. specialize (IH ws i d Hds H). rewrite L in IH.
    replace (length vs + S i)%nat with (S (length vs) + i)%nat by lia. exact IH.
Qed.

End Values.

Lemma find_at d ds : forall n i, find n d ds = Some i -> exists e, nth_error ds (i - n) = Some e /\ def_eqb d e = true /\ (n <= i)%nat.
Proof.
  induction ds as [|e ds IH]; intros n i; simpl; [discriminate|]. destruct (def_eqb d e) eqn:E.
  - intros [= <-]. rewrite Nat.sub_diag. exists e. repeat split; auto.
  - intros H. destruct (IH _ _ H) as (e' & H1 & H2 & H3). exists e'. repeat split; auto; [|lia].
    replace (i - n)%nat with (S (i - S n)) by lia. exact H1.
Qed.

Lemma op_eqb_eq a b : op_eqb a b = true -> a = b.
Proof. unfold op_eqb. destruct (op_dec a b); congruence. Qed.

Lemma def_eqb_val r1 r2 vs d e : def_eqb d e = true -> def_val r1 r2 vs d = def_val r1 r2 vs e.
Proof.
  destruct d, e; simpl; try discriminate; rewrite ?andb_true_iff.
  - intros [H1 H2]. apply eqb_prop in H1. apply Nat.eqb_eq in H2. subst. reflexivity.
  - intros [H1 H2]. rewrite (same_val vs _ _ H1). apply Z.eqb_eq in H2. congruence.
  - intros [[H1 H2] H3]. apply op_eqb_eq in H1. subst. rewrite (same_val vs _ _ H2), (same_val vs _ _ H3). reflexivity.
Qed.

Lemma bind_some {A B} (x : option A) (f : A -> option B) b : bind x f = Some b -> exists a, x = Some a /\ f a = Some b.
Proof. destruct x; simpl; [eauto|discriminate]. Qed.

Lemma when_some {A} b (x y : A) : when b x = Some y -> b = true /\ x = y.
Proof. destruct b; simpl; [intros [= ->]; auto|discriminate]. Qed.

Ltac inv :=
  repeat match goal with
  | H : bind _ _ = Some _ |- _ => apply bind_some in H as (? & ? & H)
  | H : when _ _ = Some _ |- _ => apply when_some in H as (H & <-)
  | H : Some _ = Some _ |- _ => injection H as H; subst
  | H : _ && _ = true |- _ => apply andb_true_iff in H; destruct H
  | H : None = Some _ |- _ => discriminate H
  end.
Ltac nums :=
  repeat match goal with
  | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
  | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
  | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
  end.

Lemma vars_kept_at vs r1 r2 : forall n, vars_kept vs n r1 r2 = true -> forall v x, nth_error vs v = Some x ->
  within x (r1 (n + v)%nat) = true /\ within x (r2 (n + v)%nat) = true /\
  (shared x = true -> r1 (n + v)%nat = r2 (n + v)%nat).
Proof.
  induction vs as [|y vs IH]; intros n H [|v] x; simpl in *; try discriminate; inv.
  - intros [= <-]. rewrite Nat.add_0_r. repeat split; auto.
    match goal with H : implb _ _ = true |- _ => intros S; rewrite S in H; apply Z.eqb_eq; exact H end.
  - intros E. replace (n + S v)%nat with (S n + v)%nat by lia. eauto.
Qed.

(* -- the checker -------------------------------------------------------------------------------------------------------- *)

Section Sound.

Variables (c : claim) (ds : list def) (r1 r2 : nat -> Z).

Hypothesis ordered : in_order 0 ds = true.
Hypothesis is_made : made c r1 r2.
Hypothesis meets : meet c r1 r2.

Let vs : list Z := values r1 r2 [] ds.
Let r (second : bool) : nat -> Z := if second then r2 else r1.

Lemma parts : vars_kept (vars c) 0 r1 r2 = true /\
  (forall e, In e (agree c) -> same_kept r1 r2 e = true /\ eval r1 e = eval r2 e) /\
  (forall t, In t (told c) -> obeys r1 r2 t = true) /\ (forall e, In e (goals c) -> same_kept r1 r2 e = true) /\
  (forall e, In e (index c) -> pair_kept r1 r2 e = true) /\
  forall (s : bool) k, In k (if s then where2 c else where1 c) -> cond_kept (r s) k = true /\ holds (r s) k = true.
Proof.
  destruct is_made as (P & H1 & H2). unfold possible in P. rewrite !andb_true_iff, !forallb_forall in P.
  rewrite forallb_forall in H1, H2. destruct P as [[[[[[V A] T] G] I] W1] W2]. split; auto.
  split; [intros e J; specialize (A e J); inv; nums; auto|]. split; auto. split; auto. split; auto. intros [|]; simpl;
    auto.
Qed.

Lemma atom_def i d : nth_error ds i = Some d -> at_ vs i = def_val r1 r2 vs d.
Proof. intros H. exact (values_at r1 r2 ds [] i d ordered H). Qed.

Lemma named_val d p : named ds d = Some p -> val vs p = def_val r1 r2 vs d.
Proof.
  unfold named. destruct (find 0 d ds) as [i|] eqn:E; simpl; [|discriminate]. intros [= <-].
  destruct (find_at _ _ _ _ E) as (e & H1 & H2 & _). rewrite Nat.sub_0_r in H1.
  rewrite (def_eqb_val r1 r2 vs _ _ H2), <- (atom_def _ _ H1). apply atom_val.
Qed.

Lemma power_is n k : power n = Some k -> 2 ^ k = n /\ 0 <= k.
Proof.
  unfold power. destruct (Z.ltb_spec 0 n); simpl; [|discriminate].
  destruct (Z.eqb_spec (2 ^ Z.log2 n) n); [|discriminate]. intros [= <-]. split; auto. apply Z.log2_nonneg.
Qed.

Lemma combined_val o p q s : combined ds o p q = Some s -> val vs s = apply o (val vs p) (val vs q).
Proof.
  destruct o; simpl; intros H; try (apply named_val in H; exact H); inv; autorewrite with vals; auto.
  - apply named_val in H0. simpl in H0. rewrite H0. pose proof (Z.quot_rem' (val vs p) (val vs q)). lia.
  - destruct ((0 <=? x) && (x <=? most_bits)) eqn:B; [|discriminate].
    apply andb_true_iff in B. destruct B as [B _]. apply Z.leb_le in B. apply named_val in H. simpl in H.
    rewrite H, (number_val vs _ _ H0), Z.shiftr_div_pow2 by lia. reflexivity.
  - destruct (bind (number q) (fun n => power (n + 1))) as [k|] eqn:E.
    + apply bind_some in E. destruct E as (m & Hm & E). apply power_is in E. destruct E as [E K].
      apply bind_some in H. destruct H as (x & Hx & H). injection H as <-. apply named_val in Hx. simpl in Hx.
      autorewrite with vals. rewrite Hx, (number_val vs _ _ Hm).
      replace m with (Z.ones k) by (rewrite Z.ones_equiv; lia).
      rewrite Z.land_ones by lia. rewrite Z.mod_eq by lia. lia.
    + apply named_val in H. exact H.
Qed.

Lemma var_shared v : is_shared c v = true -> r2 v = r1 v.
Proof.
  unfold is_shared. destruct (nth_error (vars c) v) as [x|] eqn:E; [|discriminate].
  intros H. destruct (vars_kept_at _ _ _ _ (proj1 parts) _ _ E) as (_ & _ & S). symmetry. apply S, H.
Qed.

Lemma value_sound e : forall s p, value c ds s e = Some p -> kept (r s) e = true -> val vs p = eval (r s) e.
Proof.
  induction e as [z|v|o a IHa b IHb|t a IH|t a IH]; simpl; intros s p H K.
  - inv. apply const_val.
  - apply named_val in H. rewrite H. simpl. unfold r. destruct s; simpl; auto.
    destruct (is_shared c v) eqn:E; simpl; auto. symmetry. apply var_shared. exact E.
  - inv. rewrite (combined_val _ _ _ _ H). f_equal; auto.
  - inv. destruct ((0 <? bits t) && (bits t <=? most_bits)) eqn:B; [|discriminate].
    apply andb_true_iff in B. destruct B as [B _]. apply Z.ltb_lt in B.
    assert (0 < size t) by (apply Z.pow_pos_nonneg; lia). inv.
    match goal with N : named _ _ = Some _ |- _ => apply named_val in N; simpl in N; rename N into V end.
    autorewrite with vals in *. rewrite V, (IH _ _ H0 K). unfold wrap. rewrite Z.mod_eq by lia. ring.
  - inv. nums. rewrite (IH _ _ H) by auto. unfold wrap. rewrite Z.mod_small by lia. ring.
Qed.

Definition known (f : fact) : Prop := match f with Ge p => 0 <= val vs p | Is p => val vs p = 0 end.

Ltac each :=
  repeat match goal with |- Forall _ (_ :: _) => apply Forall_cons | |- Forall _ [] => apply Forall_nil end;
  cbn [known]; autorewrite with vals.

Lemma Ge_at_sound fs f p : Forall known fs -> Ge_at fs f p = true -> 0 <= val vs p.
Proof.
  unfold Ge_at. intros K. destruct (nth_error fs f) as [x|] eqn:E; [|discriminate].
  apply nth_error_In in E. rewrite Forall_forall in K. specialize (K _ E).
  destruct x; simpl in K; intros H; rewrite (same_val vs _ _ H); lia.
Qed.

Lemma Is_at_sound fs f p : Forall known fs -> Is_at fs f p = true -> val vs p = 0.
Proof.
  unfold Is_at. intros K. destruct (nth_error fs f) as [[q|q]|] eqn:E; try discriminate.
  apply nth_error_In in E. rewrite Forall_forall in K. specialize (K _ E).
  simpl in K. intros H; rewrite (same_val vs _ _ H); lia.
Qed.

Ltac ge := match goal with
  | K : Forall known ?fs, H : Ge_at ?fs ?f ?p = true |- _ =>
      let N := fresh "N" in pose proof (Ge_at_sound _ _ _ K H) as N; clear H; autorewrite with vals in N
  | K : Forall known ?fs, H : Is_at ?fs ?f ?p = true |- _ =>
      let N := fresh "N" in pose proof (Is_at_sound _ _ _ K H) as N; clear H; autorewrite with vals in N
  end.

Lemma at_known fs f x : Forall known fs -> nth_error fs f = Some x -> known x.
Proof. intros K E. apply nth_error_In in E. rewrite Forall_forall in K. auto. Qed.

Lemma sum_sound fs l : forall s, Forall known fs -> sum fs l = Some s -> known s.
Proof.
  induction l as [|[q f] l IH]; simpl; intros s K H; inv; [reflexivity|].
  pose proof (at_known _ _ _ K H1) as Hx. specialize (IH _ K H0).
  destruct x0 as [p|p], x as [t|t]; inv;
    repeat match goal with H : (if 0 <=? ?n then _ else _) = Some _ |- _ => destruct (Z.leb_spec 0 n); inv end;
    simpl in *; autorewrite with vals; try nia; rewrite Hx; lia.
Qed.

Lemma whole_val n p : 0 < n -> whole n p = true -> val vs p = n * val vs (quotient n p).
Proof.
  intros N. unfold quotient. induction p as [|[m k] p IH]; simpl; [lia|]. intros H. inv.
  rewrite plus_val, (IH H0). apply Z.eqb_eq in H. apply Z_div_exact_full_2 in H; [|lia]. rewrite H at 1. ring.
Qed.

Lemma split_val p k q : split p = (k, q) -> val vs p = k + val vs q.
Proof. destruct p as [|[[|i m] d] p]; simpl; intros [= <- <-]; simpl; ring. Qed.

Lemma round_sound n k q x :
  (0 <? n) && whole n q = true -> split (match x with Ge p | Is p => p end) = (k, q) -> known x ->
  known (match x with | Ge _ => Ge (plus [] (k / n) (quotient n q))
         | Is _ => if k mod n =? 0 then Is (plus [] (k / n) (quotient n q)) else impossible end).
Proof.
  intros H S K. inv. apply Z.ltb_lt in H. pose proof (whole_val _ _ H H0) as W.
  pose proof (Z.div_mod k n ltac:(lia)) as D. pose proof (Z.mod_pos_bound k n H) as M.
  destruct x as [p|p]; simpl in K; apply split_val in S.
  - simpl. rewrite plus_val. simpl. nia.
  - destruct (Z.eqb_spec (k mod n) 0); simpl.
    + rewrite plus_val. simpl. nia.
    + exfalso. set (y := k / n + val vs (quotient n q)).
      assert (E : n * y = - (k mod n)) by (unfold y; rewrite Z.mul_add_distr_l; lia). assert (y < 0) by nia. nia.
Qed.

Lemma radix_sound g a b : g * a + b = 0 -> 0 <= g - 1 - b -> 0 <= g - 1 + b -> a = 0 /\ b = 0.
Proof. intros E H L. assert (a = 0) by nia. subst. lia. Qed.

Lemma lxor_bound k p q : 0 <= k -> 0 <= p < 2 ^ k -> 0 <= q < 2 ^ k -> 0 <= Z.lxor p q < 2 ^ k.
Proof.
  intros K P Q. rewrite <- (Z.mod_small p (2 ^ k)), <- (Z.mod_small q (2 ^ k)), <- !Z.land_ones by lia.
  replace (Z.lxor _ _) with (Z.land (Z.lxor p q) (Z.ones k)).
  - rewrite Z.land_ones by lia. apply Z.mod_pos_bound. lia.
  - Z.bitwise. destruct (Z.testbit p m), (Z.testbit q m), (Z.testbit (Z.ones k) m); reflexivity.
Qed.

Lemma land_bound p q : 0 <= q -> 0 <= Z.land p q <= q.
Proof.
  intros Q. split; [apply Z.land_nonneg; auto|]. assert (E : Z.ldiff (Z.land p q) q = 0).
  { Z.bitwise. destruct (Z.testbit p m), (Z.testbit q m); reflexivity. }
  apply Z.sub_nocarry_ldiff in E. assert (0 <= Z.ldiff q (Z.land p q)) by (apply Z.ldiff_nonneg; auto). lia.
Qed.

Lemma lor_sum k a q : 0 <= k -> 0 <= q < 2 ^ k -> Z.lor (2 ^ k * a) q = 2 ^ k * a + q.
Proof.
  intros K Q. assert (D : Z.land (2 ^ k * a) q = 0).
  { rewrite <- (Z.mod_small q (2 ^ k)), <- Z.land_ones, Z.mul_comm by lia. apply Z.bits_inj'. intros i Hi.
    rewrite !Z.land_spec, Z.bits_0. destruct (Z_lt_le_dec i k).
    - rewrite Z.mul_pow2_bits_low by lia. reflexivity.
    - rewrite Z.ones_spec_high, !andb_false_r by lia. reflexivity. }
  rewrite Z.add_nocarry_lxor by exact D. rewrite Z.lxor_lor by exact D. reflexivity.
Qed.

Lemma lxor_undo a b d : Z.lxor a b = Z.lxor a d -> b = d.
Proof.
  intros H. apply (f_equal (Z.lxor a)) in H. rewrite <- !Z.lxor_assoc, Z.lxor_nilpotent, !Z.lxor_0_l in H. exact H.
Qed.

Lemma quot_bound p q : 0 <= p -> 0 <= q - 1 -> let z := Z.quot p q in 0 <= z /\ 0 <= p - q * z /\ 0 <= q - 1 - (p - q * z).
Proof.
  intros P Q. simpl. rewrite Z.quot_div_nonneg by lia. pose proof (Z.div_mod p q ltac:(lia)).
  pose proof (Z.mod_pos_bound p q ltac:(lia)). pose proof (Z.div_pos p q P ltac:(lia)). lia.
Qed.

(* -- what is said -------------------------------------------------------------------------------------------------------- *)

Lemma kept_said s e : In e (said c s) -> kept (r s) e = true.
Proof.
  destruct parts as (_ & A & T & G & I & W). unfold said. rewrite !in_app_iff, !in_flat_map, in_map_iff.
  assert (Cond : forall k, In e [left k; right k] -> cond_kept (r s) k = true -> kept (r s) e = true).
  { intros k D K. unfold cond_kept in K. inv. destruct D as [<-|[<-|[]]]; auto. }
  assert (Both : forall i, same_kept r1 r2 i = true -> kept (r s) i = true)
    by (intros; unfold same_kept in *; inv; destruct s; auto).
  assert (Pair : forall k, pair_kept r1 r2 k = true -> kept (r s) (if s then snd k else fst k) = true)
    by (intros; unfold pair_kept in *; inv; destruct s; auto).
  intros [(k & H & D)|[H|[(k & H & D)|[H|(k & <- & H)]]]]; auto.
  - apply (Cond k D). apply (W s k H).
  - apply Both, A, H.
  - pose proof (T _ H) as O. unfold obeys in O. rewrite !andb_true_iff, !forallb_forall in O.
    destruct O as [[[O1 O2] O3] _].
    rewrite in_app_iff, in_flat_map, in_map_iff in D. destruct D as [(q & D & E)|(q & <- & D)]; auto.
    apply (Cond q E). destruct s; simpl; auto.
Qed.

Lemma kept_inner s w : forall e i, kept (r s) e = true -> inner w e = Some i -> kept (r s) i = true.
Proof.
  induction w as [|x w IH]; simpl; intros e i K H; [inv; auto|].
  destruct x, e; simpl in K; try discriminate; inv; eauto.
Qed.

Lemma of_var_sound s v fs : of_var c ds s v = Some fs -> Forall known fs.
Proof.
  unfold of_var. intros H. inv. pose proof (value_sound (Var v) s _ H1 eq_refl) as V. simpl in V.
  destruct (vars_kept_at _ _ _ _ (proj1 parts) _ _ H0) as (L1 & L2 & _).
  assert (W : within x (r s v) = true) by (destruct s; auto). unfold within in W. inv. apply Forall_app; split;
    [destruct (low x) as [l|] | destruct (high x) as [l|]]; constructor; auto; nums; simpl; autorewrite with vals; lia.
Qed.

Lemma of_cond_sound s k fs : cond_kept (r s) k = true -> holds (r s) k = true -> of_cond c ds s k = Some fs ->
  Forall known fs.
Proof.
  unfold of_cond, cond_kept, holds. intros K H E. inv.
  apply value_sound in H0; auto. apply value_sound in H1; auto. constructor; auto.
  destruct (how k); nums; simpl; autorewrite with vals; lia.
Qed.

Lemma of_pair_sound a b fs :
  kept r1 a = true -> kept r2 b = true -> eval r1 a = eval r2 b -> of_pair c ds a b = Some fs -> Forall known fs.
Proof.
  unfold of_pair. intros K1 K2 E H. inv. apply (value_sound a false) in H0; auto. apply (value_sound b true) in H1; auto.
  constructor; auto. simpl in *. autorewrite with vals. lia.
Qed.

Lemma of_promise_sound s n w fs : of_promise c ds s n w = Some fs -> Forall known fs.
Proof.
  unfold of_promise. intros H. inv. apply nth_error_In in H0. apply kept_said in H0.
  pose proof (kept_inner _ _ _ _ H0 H1) as K. destruct x0; try discriminate. inv. simpl in K. inv. nums.
  apply value_sound in H2; auto. each; lia.
Qed.

Lemma equal_at_sound fs es : forall l, Forall known fs -> forallb (pair_kept r1 r2) es = true ->
  equal_at c ds fs es l = true -> forallb (pair_equal r1 r2) es = true.
Proof.
  induction es as [|e es IH]; intros [|f l] K P H; simpl in H, P |- *; try discriminate; auto.
  destruct (value c ds false (fst e)) eqn:E1; [|discriminate]. destruct (value c ds true (snd e)) eqn:E2;
    [|discriminate].
  unfold pair_kept in P. inv. rewrite (IH l), andb_true_r by auto. ge.
  apply (value_sound (fst e) false) in E1; auto. apply (value_sound (snd e) true) in E2; auto. apply Z.eqb_eq. simpl in E1, E2. lia.
Qed.

Lemma hold_at_sound s fs ks : forall l, Forall known fs -> forallb (cond_kept (r s)) ks = true ->
  hold_at c ds s fs ks l = true -> forallb (holds (r s)) ks = true.
Proof.
  induction ks as [|k ks IH]; intros [|f l] K P H; simpl in H, P |- *; try discriminate; auto.
  unfold of_cond, cond_kept in *. destruct (value c ds s (left k)) as [p|] eqn:E1; [|discriminate].
  destruct (value c ds s (right k)) as [q|] eqn:E2; [|discriminate]. simpl in H. inv.
  apply value_sound in E1; auto. apply value_sound in E2; auto.
  assert (T : forallb (holds (r s)) ks = true) by (destruct (how k); inv; eauto). rewrite T, andb_true_r. unfold holds.
  destruct (how k); inv; rewrite ?Z.ltb_lt, ?Z.leb_le, ?Z.eqb_eq; ge; lia.
Qed.

Lemma all_pairs_sound es : forall fs, forallb (pair_kept r1 r2) es = true ->
  forallb (pair_equal r1 r2) es = true -> all_pairs c ds es = Some fs -> Forall known fs.
Proof.
  induction es as [|e es IH]; simpl; intros fs P Q H; inv; [constructor|]. unfold pair_kept, pair_equal in *. inv. nums.
  destruct (all_pairs c ds es) eqn:E; simpl in H; inv. apply Forall_app. split; [|eapply IH; eauto].
  eapply of_pair_sound; eauto.
Qed.

(* -- steps --------------------------------------------------------------------------------------------------------------- *)

Lemma made_of_val o i f x : made_of ds o i f = Some x ->
  exists p q, at_ vs i = apply o (val vs p) (val vs q) /\ f p q = Some x.
Proof.
  unfold made_of. destruct (nth_error ds i) as [[| | |o' p q]|] eqn:E; try discriminate. apply atom_def in E.
  destruct (op_eqb o' o) eqn:O; [|discriminate]. apply op_eqb_eq in O as ->. eauto.
Qed.

Ltac made_of := repeat match goal with H : made_of _ _ _ _ = Some _ |- _ =>
  apply made_of_val in H as (? & ? & ? & H) end; inv; nums; repeat ge; simpl apply in *.
Lemma follow_sound fs s more : Forall known fs -> follow c ds fs s = Some more -> Forall known more.
Proof.
  intros K. destruct s; simpl; intros H.
  - eapply of_var_sound; eauto.
  - inv. apply nth_error_In in H0. apply parts in H0 as [H1 H2]. eapply of_cond_sound; eauto.
  - inv. apply nth_error_In in H0. apply parts in H0 as [H1 H2]. unfold same_kept in H1. inv.
    eapply of_pair_sound; eauto.
  - inv. apply nth_error_In in H0. pose proof meets as M. unfold meet in M. rewrite Forall_forall in M.
    specialize (M _ H0). apply parts in H0. unfold pair_kept in H0. inv. eapply of_pair_sound; eauto.
  - inv. apply nth_error_In in H0. apply parts in H0. unfold obeys in H0. rewrite forallb_app in H0.
    destruct (hold_at c ds false fs (if1 x) l1 && hold_at c ds true fs (if2 x) l2 && equal_at c ds fs (equal x) l) eqn:E;
      [|discriminate].
    inv. eapply all_pairs_sound; [| |exact H]; auto.
    rewrite (hold_at_sound false fs _ l1), (hold_at_sound true fs _ l2), (equal_at_sound fs _ l) in * by auto. auto.
  - eapply of_promise_sound; eauto.
  - destruct (sum fs l) eqn:E; simpl in H; [|discriminate]. inv. constructor; auto. eapply sum_sound; eauto.
  - destruct (nth_error fs f) as [[p|p]|] eqn:E1, (nth_error fs g) as [[q|q]|] eqn:E2; try discriminate. inv.
    apply (at_known _ _ _ K) in E1. apply (at_known _ _ _ K) in E2. simpl in *. each. nia.
  - inv. destruct (split _) as [k q] eqn:E in H. inv. constructor; auto.
    apply round_sound; [rewrite H, H1; reflexivity|exact E|exact (at_known _ _ _ K H0)].
  - inv. destruct x as [p|e]; [discriminate|]. inv. apply (at_known _ _ _ K) in H0. simpl in H0. repeat ge.
    destruct (radix_sound (val vs g) (val vs a) (val vs e - val vs g * val vs a)) as [Z1 Z2]; try lia. each; lia.
  - inv. pose proof (atom_def _ _ H0) as V. destruct x as [| |p n|o p q]; try discriminate; simpl in V.
    + inv. each. lia.
    + inv. apply Z.ltb_lt in H. pose proof (Z.div_mod (val vs p) n ltac:(lia)).
      pose proof (Z.mod_pos_bound (val vs p) n H). each; rewrite ?V; lia.
    + destruct o; try discriminate; inv; simpl in V; each; rewrite ?V; lia.
  - made_of. destruct (quot_bound (val vs x) (val vs x0)) as (Q1 & Q2 & Q3); try lia. each; rewrite ?H0; lia.
  - made_of. pose proof (land_bound (val vs x) (val vs x0) N). each; rewrite ?H0; lia.
  - made_of. pose proof (lxor_bound k (val vs x) (val vs x0) ltac:(lia) ltac:(lia) ltac:(lia)). each; rewrite ?H0; lia.
  - inv. destruct x as [p|p]; [|discriminate]. inv. apply (at_known _ _ _ K) in H0. simpl in H0. ge. each. lia.
  - made_of. destruct (Is_at fs f (sub (atom i) (atom j))) eqn:X; [|discriminate]. ge.
    destruct (Is_at fs g (sub x x1)) eqn:Y; inv; ge; each.
    + assert (Z.lxor (val vs x) (val vs x0) = Z.lxor (val vs x) (val vs x2)) as E by (replace (val vs x) with (val vs x1) at 2 by lia; lia).
      apply lxor_undo in E. lia.
    + rewrite Z.lxor_comm in H0, H1. replace (val vs x2) with (val vs x0) in H1 by lia.
      assert (E : Z.lxor (val vs x0) (val vs x) = Z.lxor (val vs x0) (val vs x1)) by lia. apply lxor_undo in E. lia.
  - made_of. match goal with H : same x _ = true |- _ => apply (same_val vs) in H; autorewrite with vals in H; rename H into S end.
    each. rewrite H0, S, lor_sum by lia. lia.
  - destruct (nth_error ds i) as [[| |p n|o p q]|] eqn:E1; try discriminate;
      destruct (nth_error ds j) as [[| |p' n'|o' p' q']|] eqn:E2; try discriminate; inv;
      apply atom_def in E1; apply atom_def in E2; simpl in E1, E2; repeat ge; each; rewrite E1, E2;
      replace (val vs p) with (val vs p') by lia.
    + nums; subst; lia.
    + match goal with H : op_eqb o o' = true |- _ => apply op_eqb_eq in H; subst end. replace (val vs q) with (val vs q') by lia. lia.
Qed.

Lemma follow_all_sound ss : forall fs gs, Forall known fs -> follow_all c ds fs ss = Some gs -> Forall known gs.
Proof.
  induction ss as [|s ss IH]; simpl; intros fs gs K H; inv; auto.
  eapply IH; [|exact H]. apply Forall_app; split; auto. eapply follow_sound; eauto.
Qed.

Lemma absurd_sound f : known f -> absurd f = true -> False.
Proof.
  destruct f as [p|p]; simpl; destruct (number p) as [n|] eqn:E; try discriminate; rewrite (number_val _ _ _ E).
  - intros H L. apply Z.ltb_lt in L. lia.
  - intros H L. apply negb_true_iff, Z.eqb_neq in L. lia.
Qed.

Lemma shown_sound fs e : Forall known fs -> kept r1 e = true -> kept r2 e = true -> shown c ds fs e = true ->
  eval r1 e = eval r2 e.
Proof.
  unfold shown. intros K K1 K2.
  destruct (value c ds false e) as [p|] eqn:E1; [|discriminate]. destruct (value c ds true e) as [q|] eqn:E2; [|discriminate].
  apply (value_sound e false) in E1; auto. apply (value_sound e true) in E2; auto. simpl in E1, E2.
  rewrite <- E1, <- E2, orb_true_iff, existsb_exists. intros [H|(f & F & H)].
  - apply same_val. exact H.
  - rewrite Forall_forall in K. specialize (K _ F). destruct f as [t|t]; [discriminate|]. simpl in K.
    apply orb_true_iff in H. destruct H as [H|H]; apply (same_val vs) in H; autorewrite with vals in H; lia.
Qed.

End Sound.

(* An argument that the checker accepts proves its claim. *)
Theorem argued_sound c ds ss : argued c ds ss = true -> true_claim c.
Proof.
  unfold argued, true_claim. intros H r1 r2 M T. apply andb_true_iff in H. destruct H as [O H].
  destruct (follow_all c ds [] ss) as [fs|] eqn:E; [|discriminate].
  pose proof (follow_all_sound c ds r1 r2 O M T ss [] fs ltac:(constructor) E) as K.
  apply orb_true_iff in H. destruct H as [H|H].
  - apply existsb_exists in H. destruct H as (f & F & A). rewrite Forall_forall in K.
    exfalso. exact (absurd_sound ds r1 r2 f (K _ F) A).
  - destruct (parts c r1 r2 M) as (_ & _ & _ & P & _). unfold goals in P.
    destruct (goal c) as [l|] eqn:G; [|discriminate]. rewrite forallb_forall in H. rewrite Forall_forall.
    intros e Ie. specialize (P _ Ie). unfold same_kept in P. inv. eapply (shown_sound c ds r1 r2 O); eauto.
Qed.

(* -- promises ------------------------------------------------------------------------------------------------------------ *)

(* Where a claim has promises, there are two accesses that keep them, and are not of one unit. *)
Theorem witnessed_ok c one two : witnessed c one two = true -> let r1 := of_list one in let r2 := of_list two in
  possible c r1 r2 = true /\ match goal c with Some l => Exists (fun e => eval r1 e <> eval r2 e) l | None => True end.
Proof.
  unfold witnessed. intros H. inv. simpl. split; auto. destruct (goal c); auto. apply Exists_exists.
  apply existsb_exists in H0 as (e & He & N). exists e. split; auto. apply Z.eqb_neq, negb_true_iff. exact N.
Qed.

Theorem proves_sound c ds ss one two : proves c ds ss one two = true -> true_claim c.
Proof. unfold proves. intros H. apply andb_true_iff in H. destruct H as [H _]. eapply argued_sound; eauto. Qed.
