(* The two checkers as OCaml, with their numbers as OCaml's (63 bits; the reader refuses numbers of more than 12 digits). *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Bundl Require Skeleton Valid Rings Syntax Typing Step Check.

Extraction "extracted/valid.ml" Valid.bars Valid.keys Valid.check Rings.rings Rings.valid.
Extraction "extracted/typed.ml" Check.check.
