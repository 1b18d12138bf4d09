"""Calls of `hgemm`."""

from prism.lib.algorithms.matmul.cases import case

CASES = (case("hgemm", "float16"),)
