(* Reads programs of the core, a line each with the verdict of theory/bundl, and says on which the extracted checker differs. *)

open Typed
open Sexp

let base_of = function Word "int" -> TInt | Word "bool" -> TBool | _ -> fail "a type is wanted"

let unit_of = function
  | List [ Word "thread"; n ] -> (Thread, number_of n)
  | List [ Word "block"; n ] -> (Block, number_of n)
  | List [ Word "grid"; n ] -> (Grid, number_of n)
  | _ -> fail "a perspective is wanted"

(* Accesses say of what kind an array is: `kinds` has that of each name in scope. *)
let kind kinds x = try List.assoc x kinds with Not_found -> Global

let rec expr kinds = function
  | Word "0" -> EInt Z0
  | Word "true" -> EBool true
  | Word "id" -> EId
  | List [ Word "var"; x ] -> EVar (number_of x)
  | List [ Word "read"; x; e ] ->
      let x = number_of x in
      ERead (kind kinds x, x, expr kinds e)
  | List [ Word "bop"; l; r ] -> EBop (Add, expr kinds l, expr kinds r)
  | List [ Word "cmp"; l; r ] -> ECmp (Eq, expr kinds l, expr kinds r)
  | _ -> fail "an expression is wanted"

let type_of = function List [ Word l; b ] -> TArr ((if l = "local" then Local else if l = "shared" then Shared else Global), base_of b) | b -> TBase (base_of b)

let program body functions =
  let sites = Hashtbl.create 16 in
  let rec stmt kinds = function
    | Word "skip" -> SSkip
    | List [ Word "seq"; s; r ] -> SSeq (stmt kinds s, stmt kinds r)
    | List [ Word "split"; n; m; s; r ] -> SSplit (number_of n, number_of m, stmt kinds s, stmt kinds r)
    | List [ Word "destruct"; s ] -> SDestruct (stmt kinds s)
    | List [ Word "group"; q; s ] -> SGroup (number_of q, stmt kinds s)
    | List [ Word "if"; e; s; r ] -> SIf (expr kinds e, stmt kinds s, stmt kinds r)
    | List [ Word "while"; e; s ] -> SWhile (expr kinds e, stmt kinds s)
    | List [ Word "assign"; x; e ] -> SAssign (number_of x, expr kinds e)
    | List [ Word "store"; x; i; e ] ->
        let x = number_of x in
        SStore (kind kinds x, x, expr kinds i, expr kinds e)
    | List [ Word "declare"; x; b; q; e; s ] -> SDecl (number_of x, unit_of q, base_of b, expr kinds e, stmt kinds s)
    | List [ Word "alloc"; x; Word "shared"; b; n; st; s ] -> alloc Shared kinds x b n st s
    | List [ Word "alloc"; x; Word "global"; b; n; st; s ] -> alloc Global kinds x b n st s
    | List [ Word "alloc"; x; q; b; n; _; s ] ->
        let x = number_of x in
        SLocal (x, unit_of q, base_of b, number_of n, stmt ((x, Local) :: kinds) s)
    | List [ Word "partition"; x; y; c; e; s ] ->
        let x, y = (number_of x, number_of y) in
        SPartition (x, y, number_of c, expr kinds e, stmt ((y, kind kinds x) :: kinds) s)
    | List [ Word "claim"; x; y; n; a; s ] ->
        let x, y = (number_of x, number_of y) in
        SClaim (x, y, number_of n, number_of a, stmt ((y, kind kinds x) :: kinds) s)
    | List [ Word "lower"; x; y; s ] ->
        let x, y = (number_of x, number_of y) in
        SLower (x, y, EInt Z0, stmt ((y, kind kinds x) :: kinds) s)
    | List [ Word "copy"; x; z ] ->
        let x, z = (number_of x, number_of z) in
        SCopy (kind kinds x, x, kind kinds z, z, 1)
    | List [ Word "fetch"; y; z ] ->
        let z = number_of z in
        SAsyncCopy (number_of y, kind kinds z, z, 1)
    | List [ Word "async"; x; y; s ] ->
        let x = number_of x in
        SAsync (kind kinds x, x, number_of y, stmt kinds s)
    | List (Word "call" :: f :: es) -> SCall (number_of f, List.map (expr kinds) es)
    | _ -> fail "a statement is wanted"
  and alloc l kinds x b n st s =
    let x, b, n, st = (number_of x, base_of b, number_of n, number_of st) in
    Hashtbl.replace sites st ((l, b), n);
    SAlloc (l, x, b, n, st, stmt ((x, l) :: kinds) s)
  in
  let func = function
    | List [ Word "function"; List ps; q; bytes; s ] ->
        let ps = List.map (function List [ x; q; t ] -> ((number_of x, unit_of q), type_of t) | _ -> fail "a parameter is wanted") ps in
        let kinds = List.filter_map (function (x, _), TArr (l, _) -> Some (x, l) | _ -> None) ps in
        { params = ps; fpersp = unit_of q; fbytes = number_of bytes; fbody = stmt kinds s }
    | _ -> fail "a function is wanted"
  in
  let fs = List.map func functions in
  let s = stmt [] body in
  (fs, (fun st -> try Hashtbl.find sites st with Not_found -> ((Local, TInt), 0)), s)

let judge = function
  | [ List (Word verdict :: blocks :: threads :: bytes :: List inputs :: body :: functions) ] ->
      let given = List.map (function List [ x; b ] -> (number_of x, base_of b) | _ -> fail "an input is wanted") inputs in
      let g x = Option.map (fun b -> ((Grid, 1), TArr (Global, b))) (List.assoc_opt x given) in
      let m = { t = number_of threads; b = number_of blocks; sMEM = number_of bytes } in
      let fs, sites, s = program body functions in
      (verdict = "typed", check_program m sites fs g s)
  | _ -> fail "a program is wanted"

let () =
  let many = ref 0 and typed = ref 0 and differ = ref 0 in
  (try
     while true do
       let line = input_line stdin in
       let theirs, ours = judge (parse line) in
       incr many;
       if ours then incr typed;
       if theirs <> ours then begin
         incr differ;
         if !differ <= 20 then Printf.printf "%s here: %s\n" (if ours then "typed" else "untyped") line
       end
     done
   with End_of_file -> ());
  Printf.printf "Check.v and theory/bundl: %d programs of the core, %d typed; they differ on %d\n" !many !typed !differ;
  exit (if !differ = 0 && !many > 0 then 0 else 1)
