(* The three checkers as OCaml, with their natural numbers as OCaml's (63 bits; the reader refuses those of more than 12 digits). *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Bundl Require Skeleton Valid Rings Syntax Typing Step Check Apart.

Extraction "extracted/valid.ml" Valid.bars Valid.keys Valid.check Valid.ringed Rings.rings Rings.in_registers Rings.valid.
Extraction "extracted/typed.ml" Check.check_program.
Extraction "extracted/argued.ml" Apart.proves Apart.plus Apart.mono_insert.
