(* S-expressions, as certificates and programs of the core are written. *)

type sexp = Word of string | Text of string | List of sexp list

exception Form of string

let fail what = raise (Form what)

(* S-expressions; a comment goes from `;` to the end of the line. *)
let parse text =
  let n = String.length text in
  let rec items at found =
    if at >= n then (List.rev found, at)
    else
      match text.[at] with
      | ' ' | '\n' | '\t' | '\r' -> items (at + 1) found
      | ';' ->
          let e = try String.index_from text at '\n' with Not_found -> n in
          items e found
      | '(' ->
          let inner, e = items (at + 1) [] in
          if e >= n then fail "a parenthesis is left open";
          items (e + 1) (List inner :: found)
      | ')' -> (List.rev found, at)
      | '"' ->
          let b = Buffer.create 16 in
          let rec go i =
            if i >= n then fail "a string is left open"
            else
              match text.[i] with
              | '"' -> i + 1
              | '\\' when i + 1 < n -> Buffer.add_char b text.[i + 1]; go (i + 2)
              | c -> Buffer.add_char b c; go (i + 1)
          in
          let e = go (at + 1) in
          items e (Text (Buffer.contents b) :: found)
      | _ ->
          let rec go i = if i < n && not (String.contains " \n\t\r()\";" text.[i]) then go (i + 1) else i in
          let e = go at in
          items e (Word (String.sub text at (e - at)) :: found)
  in
  let all, e = items 0 [] in
  if e < n then fail "a parenthesis too many";
  all

let number_of = function
  | Word w when w <> "" && String.length w <= 12 && String.for_all (fun c -> c >= '0' && c <= '9') w -> int_of_string w
  | _ -> fail "a number is wanted"

let contents path =
  let channel = open_in_bin path in
  let text = really_input_string channel (in_channel_length channel) in
  close_in channel;
  text
