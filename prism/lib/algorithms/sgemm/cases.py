"""Calls of `sgemm`."""

from prism.lib.algorithms.matmul.cases import case

CASES = (case("sgemm", "float32"),)
