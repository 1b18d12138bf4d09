(* Reads the certificates in a folder and says what the extracted checker says of each, a line each, by name. *)

open Valid
open Sexp

let units_of = function
  | Word "block" -> Block
  | Word "grid" -> Grid
  | List [ Word "thread"; n ] -> Threads (number_of n)
  | List [ Word "cluster"; n ] -> Cluster (number_of n)
  | _ -> fail "a unit is wanted"

let kind_of = function
  | Word "read" -> Read
  | Word "write" -> Write
  | Word "atomic" -> Atomic
  | Word "atomic_block" -> AtomicBlock
  | _ -> fail "a kind of access is wanted"

let hardware_of = function
  | Word "warp" -> Warp
  | List [ Word "named"; n ] -> Named (number_of n)
  | Word "sent" -> Sent false
  | Word "sent_late" -> Sent true
  | _ -> fail "a barrier of the hardware is wanted"

let group_of = function
  | Word "out" -> written
  | Word "bulk" -> 1
  | Word "cp_async" -> 3
  | Word "wgmma" -> products
  | _ -> fail "a kind of groups is wanted"

let memory_of = function
  | Word "shared" -> Shared
  | Word "cluster" -> Clusters
  | Word "global" -> Global
  | Word "all" -> All
  | _ -> fail "a memory is wanted"

let writes_of = function
  | Word "read" -> false
  | Word "write" -> true
  | _ -> fail "a read or a write is wanted"

let way_of = function
  | Word "free" -> (0, 0)
  | Word "filled" -> (1, 0)
  | List [ Word "free"; d ] -> (0, number_of d)
  | List [ Word "filled"; s ] when number_of s > 1 -> (number_of s, 0)
  | _ -> fail "a way is wanted"

let stmt_of accesses barriers =
  let find table i = match Hashtbl.find_opt table (number_of i) with Some x -> x | None -> fail "a row is missing" in
  let loops = Hashtbl.create 16 in
  let loop l =
    let l = number_of l in
    if Hashtbl.mem loops l then fail "a loop stands twice";
    Hashtbl.add loops l ();
    l
  in
  let rec stmt = function
    | List (Word "seq" :: l) -> List.fold_right (fun s r -> Seq (stmt s, r)) l Skip
    | List [ Word "acc"; i ] -> (
        match Hashtbl.find_opt accesses (number_of i) with Some x -> Acc x | None -> fail "an access has no row")
    | List [ Word "bar"; u; h ] -> Bar (units_of u, hardware_of h)
    | List [ Word "if"; u; s; r ] ->
        let s = stmt s in
        If (units_of u, s, stmt r)
    | List [ Word "loop"; l; u; s ] ->
        let l = loop l in
        Loop (l, 0, units_of u, stmt s)
    | List [ Word "loop1"; l; u; s ] ->
        let l = loop l in
        Loop (l, 1, units_of u, stmt s)
    | List [ Word "round"; c; s ] -> Seq (stmt s, Do (Advance (number_of c)))
    | List [ Word "wait"; m ] -> Do (Wait (find barriers m))
    | List [ Word "tell"; m ] -> Do (Tell (find barriers m))
    | List [ Word "later"; m ] -> Do (Later (find barriers m))
    | List [ Word "fence"; m ] -> Do (Fence (memory_of m))
    | List [ Word "order" ] -> Do Order
    | List [ Word "own"; w; f ] -> Do (Own (number_of f, writes_of w))
    | List [ Word "lend"; w; f ] -> Do (Lend (number_of f, writes_of w))
    | List [ Word "drain"; m ] -> Do (Drain (find barriers m))
    | List (Word "group" :: k :: l) -> Do (Group (group_of k, List.map (find accesses) l))
    | List [ Word "settle"; k; n ] -> Do (Settle (group_of k, number_of n))
    | List (Word "copy" :: l) -> Do (Copy (List.map (find accesses) l))
    | List (Word "load" :: m :: told :: come :: l) ->
        if number_of told <> number_of come then fail "a load brings other bytes than are announced";
        Do (Load (find barriers m, List.map (find accesses) l))
    | List [ Word "only"; n; lo; hi; s ] -> Only ({ cmod = number_of n; clo = number_of lo; chi = number_of hi }, stmt s)
    | _ -> fail "a statement is wanted"
  in
  stmt

type certificate = Beyond | Body of int * fact list * stmt

let read forms =
  let threads = ref None and spaces = Hashtbl.create 16 and objects = Hashtbl.create 16 in
  let accesses = Hashtbl.create 16 and nears = Hashtbl.create 16 and barriers = Hashtbl.create 16 and rings = Hashtbl.create 16 and facts = ref [] and body = ref None in
  let once table key value = if Hashtbl.mem table key then fail "a row stands twice" else Hashtbl.add table key value in
  let find table key = match Hashtbl.find_opt table key with Some v -> v | None -> fail "a row is missing" in
  let form = function
    | List [ Word "certificate"; Word "1" ] | List [ Word "kernel"; Text _ ] -> ()
    | List [ Word "threads"; n ] when !threads = None -> threads := Some (number_of n)
    | List [ Word "space"; k; u ] -> once spaces (number_of k) (units_of u)
    | List [ Word "object"; o; k; lo; hi; Text _ ] -> once objects (number_of o) (number_of k, number_of lo, number_of hi)
    | List [ Word "mbarrier"; m; c; n; w; k; Text _ ] ->
        let m = number_of m and stage, late = way_of w in
        once barriers m { serial = m; cycle = number_of c; copies = number_of n; stage; need = number_of k; late }
    | List [ Word "ring"; o; m ] -> once rings (number_of o) (find barriers (number_of m))
    | List [ Word "near"; i ] -> once nears (number_of i) ()
    | List [ Word "access"; i; o; k; Text _ ] ->
        let s, lo, hi = find objects (number_of o) in
        let i = number_of i and filled = Hashtbl.find_opt rings (number_of o) in
        once accesses i { number = i; space = s; owner = find spaces s; first = lo; last = hi; does = kind_of k; filled; near = Hashtbl.mem nears i }
    | List [ Word "fact"; i; j; p; c; Word _; Text _ ] ->
        let parts = match p with Word "same" -> None | l -> Some (number_of l) in
        let what = match c with Word "never" -> None | u -> Some (units_of u) in
        facts := { one = number_of i; two = number_of j; parts; what } :: !facts
    | List [ Word "body"; s ] when !body = None -> body := Some (Body (0, [], stmt_of accesses barriers s))
    | List [ Word "beyond"; _; Text _ ] when !body = None -> body := Some Beyond
    | _ -> fail "an unknown form"
  in
  List.iter form forms;
  match (!threads, !body) with
  | Some n, Some (Body (_, _, s)) -> Body (n, !facts, s)
  | _, Some Beyond -> Beyond
  | _ -> fail "no threads, or no body"

let verdict text =
  match read (parse text) with
  | exception Form _ -> "rejected: form"
  | Beyond -> "not covered"
  | Body (n, facts, s) ->
      if not (bars n s [] []) then "rejected: bars"
      else if not (keys n s) then "rejected: keys"
      else if not (check n facts ringed s [] []) then "rejected: race"
      else if not (rings n facts s) then "rejected: rings"
      else if not (in_registers n s) then "rejected: registers"
      else if not (there n s) then "rejected: there"
      else begin
        assert (valid n facts s);
        "accepted"
      end

let () =
  let folder = Sys.argv.(1) in
  let names = List.filter (fun n -> Filename.check_suffix n ".cert") (Array.to_list (Sys.readdir folder)) in
  let one n = Printf.printf "%s %s\n" (Filename.chop_suffix n ".cert") (verdict (contents (Filename.concat folder n))) in
  List.iter one (List.sort compare names)
