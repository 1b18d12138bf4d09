(* The checker of skeletons as OCaml, with its numbers as OCaml's (63 bits; the reader refuses those beyond 2^40). *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Bundl Require Import Skeleton Valid.

Extraction "extracted/valid.ml" bars keys check valid.
