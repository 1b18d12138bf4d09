"""The cases of all algorithms, for compute-sanitizer to watch: `python -m tests.gpu.sanitized [aligned] [ALGORITHM ...]`.

With `aligned`, no hgemm whose result's rows begin at odd addresses: see test_sanitizer.py. With names of algorithms, as the
manifest has them, theirs alone.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import cupy

from prism.lib import algorithms
from prism.lib.cases import Case
from tests.lib.calls import check, expected, past


def out_of(case: Case, arrays: Any) -> dict[str, Any]:
    """Zeros for an hgemm's result: initcheck does not see what the tensor copy engine writes."""
    return {"out": cupy.zeros(expected(case, arrays).shape, "float16")} if case.function == "hgemm" else {}


def watch(case: Case, known: set[str]) -> None:
    """Make the calls of a case: of large arrays, and of the first of a function also past an aligned address; of two dtypes."""
    for number, shape in enumerate(case.large if case.function not in known else case.large[:-1]):
        if case.function == "hgemm" and shape[-1] % 4 and "aligned" in sys.argv:
            continue
        arrays = case.arrays(shape, case.dtypes[number == 1 and len(case.dtypes) > 1])
        for elements in (0, 3) if case.function not in known else (3 * (number % 2),):
            place = functools.partial(past, cupy, elements=elements)
            check(case, arrays, place, cupy.asnumpy, **out_of(case, arrays))


if __name__ == "__main__":
    seen: set[str] = set()
    names = [name for name in sys.argv[1:] if name != "aligned"]
    parts = [part for part in algorithms.parts("cases") if not names or part[0] in names]
    for one in (case for _, module in parts for case in module.CASES):
        watch(one, seen)
        seen.add(one.function)
        print(one, flush=True)
    print("all of them", flush=True)
