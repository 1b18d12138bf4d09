"""What Prism stands on, beside the package and not in it: `bundl`, the calculus as a program, and `proofs`, the same in Coq."""
