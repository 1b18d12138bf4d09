(* Reads the arguments in a folder's files `*.apart` and says of each, a line each, whether the extracted checker accepts it. *)

open Argued
open Sexp

(* Coq's whole numbers, of decimal digits. *)
let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n / 2)) else XO (positive (n / 2))
let small n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let whole = function
  | Word w when w <> "" && String.length w <= 400 ->
      let minus = w.[0] = '-' in
      let digits = if minus then String.sub w 1 (String.length w - 1) else w in
      if digits = "" then fail "a number is wanted";
      let next z c =
        if c < '0' || c > '9' then fail "a number is wanted";
        Z.add (Z.mul z (small 10)) (small (Char.code c - 48))
      in
      let z = String.fold_left next Z0 digits in
      if minus then Z.opp z else z
  | _ -> fail "a number is wanted"

let list = function List l -> l | _ -> fail "a list is wanted"

let type_of = function
  | Word w when String.length w >= 2 && (w.[0] = 'i' || w.[0] = 'u') && w.[1] <> '0' ->
      let bits = number_of (Word (String.sub w 1 (String.length w - 1))) in
      if bits > 256 then fail "a type is wanted";
      { signed = w.[0] = 'i'; bits = small bits }
  | _ -> fail "a type is wanted"

let ops =
  [ ("add", Add); ("sub", Sub); ("mul", Mul); ("quo", Quo); ("rem", Rem); ("shr", Shr); ("and", And); ("or", Or);
    ("xor", Xor); ("min", Min); ("max", Max) ]

let op_of w = match List.assoc_opt w ops with Some o -> o | None -> fail "an operator is wanted"

let rec expr = function
  | Word _ as w -> Num (whole w)
  | List [ Word "var"; v ] -> Var (number_of v)
  | List [ Word "as"; t; e ] -> let t = type_of t in Conv (t, expr e)
  | List [ Word "fits"; t; e ] -> let t = type_of t in Fit (t, expr e)
  | List [ Word o; a; b ] -> let o = op_of o in let a = expr a in Bin (o, a, expr b)
  | _ -> fail "an expression is wanted"

let condition = function
  | List [ Word rel; a; b ] ->
      let how = match rel with "less" -> Less | "atmost" -> AtMost | "equal" -> Equal | _ -> fail "a comparison is wanted" in
      { how; left = expr a; right = expr b }
  | _ -> fail "a comparison is wanted"

let pair f = function List [ a; b ] -> let a = f a in (a, f b) | _ -> fail "a pair is wanted"

let rule = function
  | List [ List one; List two; List equal; List therefore ] ->
      { if1 = List.map condition one; if2 = List.map condition two; equal = List.map (pair expr) equal;
        therefore = List.map (pair expr) therefore }
  | _ -> fail "a rule is wanted"

let number = function
  | List [ Word kind; low; high ] ->
      let end_ = function Word "_" -> None | w -> Some (whole w) in
      let shared = match kind with "one" -> true | "own" -> false | _ -> fail "a number is wanted" in
      { shared; low = end_ low; high = end_ high }
  | _ -> fail "a number is wanted"

let poly = function
  | List (Word "p" :: terms) ->
      let term p = function
        | List (c :: mono) -> plus (List.fold_right mono_insert (List.map number_of mono) []) (whole c) p
        | _ -> fail "a term is wanted"
      in
      List.fold_left term [] terms
  | _ -> fail "a polynomial is wanted"

let atom_of = function
  | List [ Word "first"; v ] -> DVar (false, number_of v)
  | List [ Word "second"; v ] -> DVar (true, number_of v)
  | List [ Word "name"; p ] -> DName (poly p)
  | List [ Word "div"; p; n ] -> DDiv (poly p, whole n)
  | List [ Word o; p; q ] -> let o = op_of o in let p = poly p in DBin (o, p, poly q)
  | _ -> fail "an atom is wanted"

let side = function Word "0" -> false | Word "1" -> true | _ -> fail "a side is wanted"
let turn = function Word "left" -> Left | Word "right" -> Right | Word "inside" -> Inside | _ -> fail "a way is wanted"
let n = number_of

let step = function
  | List [ Word "range"; s; v ] -> Range (side s, n v)
  | List [ Word "where"; s; k ] -> Where (side s, n k)
  | List [ Word "agreed"; k ] -> Agreed (n k)
  | List [ Word "meets"; k ] -> Meets (n k)
  | List [ Word "told"; k; a; b; l ] ->
      let places x = List.map n (list x) in
      let k = n k in
      let a = places a in
      let b = places b in
      Told (k, a, b, places l)
  | List (Word "promised" :: s :: k :: w) -> Promised (side s, n k, List.map turn w)
  | List (Word "sum" :: l) -> Sum (List.map (function List [ p; f ] -> (poly p, n f) | _ -> fail "a fact is wanted") l)
  | List [ Word "product"; f; g ] -> Product (n f, n g)
  | List [ Word "round"; c; f ] -> Round (whole c, n f)
  | List [ Word "radix"; f; g; a; hi; lo ] -> Radix (n f, poly g, poly a, n hi, n lo)
  | List [ Word "both"; f; g ] -> Both (n f, n g)
  | List [ Word "made"; i ] -> Made (n i)
  | List [ Word "divided"; i; f; g ] -> Divided (n i, n f, n g)
  | List [ Word "masked"; i; f ] -> Masked (n i, n f)
  | List [ Word "mixed"; k; i; f; g; h; j ] -> Mixed (whole k, n i, n f, n g, n h, n j)
  | List [ Word "undone"; i; j; f; g ] -> Undone (n i, n j, n f, n g)
  | List [ Word "joined"; k; i; a; f; g ] -> Joined (whole k, n i, poly a, n f, n g)
  | List [ Word "alike"; i; j; f; g ] -> Alike (n i, n j, n f, n g)
  | _ -> fail "a step is wanted"

let judge = function
  | List
      [ Word "argument"; Text name; List (Word "numbers" :: vars); List (Word "agree" :: agree); List (Word "told" :: told);
        List (Word "first" :: one); List (Word "second" :: two); List (Word "index" :: index); goal;
        List (Word "atoms" :: atoms); List (Word "steps" :: steps); List [ Word "witness"; left; right ] ] ->
      let goal =
        match goal with
        | List [ Word "never" ] -> None
        | List (Word "goal" :: l) -> Some (List.map expr l)
        | _ -> fail "a goal is wanted"
      in
      let claim =
        { vars = List.map number vars; agree = List.map expr agree; told = List.map rule told;
          where1 = List.map condition one; where2 = List.map condition two; index = List.map (pair expr) index; goal }
      in
      let values l = List.map whole (list l) in
      (name, proves claim (List.map atom_of atoms) (List.map step steps) (values left) (values right))
  | _ -> fail "an argument is wanted"

let () =
  let folder = Sys.argv.(1) in
  let names = List.filter (fun n -> Filename.check_suffix n ".apart") (Array.to_list (Sys.readdir folder)) in
  let one file =
    let stem = Filename.chop_suffix file ".apart" in
    match List.map judge (parse (contents (Filename.concat folder file))) with
    | exception Form _ -> Printf.printf "%s malformed\n" stem
    | found -> List.iter (fun (name, ok) -> Printf.printf "%s %s %s\n" stem name (if ok then "proved" else "not proved")) found
  in
  List.iter one (List.sort compare names)
