"""The cases of all algorithms, for compute-sanitizer to watch: `python -m tests.gpu.sanitized [FLAG] [MOST] [ALGORITHM ...]`.

With `aligned`, no hgemm whose result's rows begin at odd addresses; with `apart`, no decoding by pages and no large
products of groups: see test_sanitizer.py. With `further`, the calls alone that no case makes: in a minute what a change needs.
With a number, arrays of at most so many elements: racecheck takes minutes for what a kernel does in a second. With names of
algorithms, as the manifest has them, theirs alone. `1/4`: the second of four shares of all calls, for as many processes.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cupy
import numpy as np
import pytest
import torch

from prism import lib
from prism.kernels import select as kernels
from prism.lang import uint32
from prism.lib import (
    algorithms,
    argsort,
    attention,
    attention_backward,
    attention_decode,
    segmented_argsort,
    segmented_sort,
    sort,
)
from prism.lib.algorithms.attention.cases import CASES
from prism.lib.algorithms.attention_backward.cases import CASES as GRADIENTS
from prism.lib.cases import Case
from tests.gpu.long_sorts import as_if_long, sorted_arrays
from tests.lib.calls import check, expected, past
from tests.lib.long_selections import Long, limits, long_selections


def out_of(case: Case, arrays: Any) -> dict[str, Any]:
    """Zeros for the result of an hgemm, or of attention: initcheck does not see what the tensor copy engine writes."""
    stored = case.function in ("hgemm", "attention")
    return {"out": cupy.zeros(expected(case, arrays).shape, "float16")} if stored else {}


def zero_first(function: str) -> None:
    """Have results lie where zeros were, if nobody can give memory for them that the tensor copy engine writes: as `out_of`."""
    if function == "attention_backward":
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.zeros(1 << 26, cupy.uint8)  # given back at once: what is made next lies there


def attentions() -> list[tuple[str, Callable[[], Any], Any]]:
    """Return calls of attention of which results are exact: causal, of wide heads, packed sequences, and of 8-bit floats."""
    case, random = CASES[0], np.random.default_rng(0)
    found = []
    for text, shape, options in (
        ("causal", (1, 2, 150, 64), {"causal": True}),
        ("wide", (1, 1, 70, 256), {}),
        ("8 bits", (1, 1, 150, 64), {}),
    ):
        q, k, v = case.make(random, shape, "float16")
        if options:  # each query looks for its own key
            q = 60 * k
        wanted = v if options else case.oracle(q, k, v)
        kind = torch.float8_e4m3fn if text == "8 bits" else torch.float16
        given = [torch.as_tensor(x, device="cuda").to(kind) for x in (q, k, v)]
        out = torch.zeros(shape, device="cuda", dtype=torch.float16)
        call = functools.partial(attention, *given, out=out, **options)
        found.append((f"of {text}", lambda call=call: cupy.asarray(call()), wanted))
    parts = [case.make(random, (2, length, 64), "float16") for length in (70, 0, 129, 1)]
    given = [cupy.asarray(np.concatenate(one, 1)) for one in zip(*parts, strict=True)]
    wanted, out = np.concatenate([case.oracle(*part) for part in parts], 1), cupy.zeros((2, 200, 64), "float16")
    offsets = cupy.array([0, 70, 70, 199, 200], "int32")
    call = functools.partial(attention, *given, offsets=offsets, layout="bhld", out=out)
    return [*found, ("of packed sequences", call, wanted)]


def pages() -> list[tuple[str, Callable[[], Any], Any]]:
    """Return a call of decoding with pages, of which the last one is not full."""
    case, random = CASES[0], np.random.default_rng(0)
    q, k, v = case.make(random, (1, 2, 70, 64), "float16")
    wanted, table = case.oracle(q[:, :, -1:], k, v), np.array([[3, 0, 5, 1, 2]], np.int32)
    given = [cupy.asarray(q[:, :, -1:])]
    for x in (k, v):
        cache = np.zeros((6, 2, 16, 64), np.float16)
        cache[table[0]] = np.pad(x[0], ((0, 0), (0, 10), (0, 0))).reshape(2, 5, 16, 64).swapaxes(0, 1)
        given.append(cupy.asarray(cache))
    more = {"lengths": cupy.array([70], "int32"), "page_table": cupy.asarray(table)}
    return [("of pages", lambda: attention_decode(*given, **more), wanted)]


def gradients() -> list[tuple[str, Callable[[], Any], Any]]:
    """Return calls of the backward of packed sequences: of equal weights, powers of two, so that gradients are exact."""
    case, random = GRADIENTS[0], np.random.default_rng(0)
    parts = [case.make(random, (1, 2, length, 16), "float16") for length in (64, 0, 128, 1)]
    given = [cupy.asarray(np.concatenate(one, 2)[0]) for one in zip(*parts, strict=True)]
    wanted = [np.concatenate(one, 2).ravel() for one in zip(*(case.oracle(*part) for part in parts), strict=True)]
    offsets = cupy.array([0, 64, 64, 192, 193], "int32")

    def call(again: bool) -> Any:
        zero_first("attention_backward")
        found = attention_backward(*given, offsets=offsets, layout="bhld", deterministic=again)
        return cupy.concatenate([x.ravel() for x in found])

    text = "of packed sequences, deterministic {}"
    return [(text.format(x), functools.partial(call, x), np.concatenate(wanted)) for x in (False, True)]


def selections() -> list[tuple[str, Callable[[], Any], Any]]:
    """Return selections of arrays that are cut into tiles as long ones are: by the kernels that those take."""

    def call(one: Long) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in limits(one.longest).items():
                patch.setattr(kernels, name, value)
            results = one.function(*map(cupy.asarray, one.given))
        return cupy.concatenate(results) if isinstance(results, tuple) else results

    return [(one.text, functools.partial(call, one), one.wanted) for one in long_selections()]


def long_sorts() -> list[tuple[str, Callable[[], Any], Any]]:
    """Return sorts in one launch, by groups, by wide digits and by windows: see tests/gpu/long_sorts.py."""
    found = []
    for one in sorted_arrays():
        x, order = cupy.asarray(one.data), np.argsort(one.data, kind="stable")
        values = cupy.arange(one.data.size, dtype=np.uint32)
        calls = (
            (one.text, functools.partial(sort, x), one.data[order]),
            (f"positions, {one.text}", functools.partial(argsort, x), order),
            (f"values, {one.text}", lambda x=x, values=values: lib.sort_by_key(x, values)[1], order),
        )
        found += [(text, as_if_long(call, one.long), wanted) for text, call, wanted in calls]
    return found


def further() -> dict[str, list[tuple[str, Callable[[], Any], Any]]]:
    """Return calls that no case makes, by algorithm, and what they give: of kernels of long rows, clusters and comparators."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 1 << 32, (2, 1 << 14), dtype=np.uint32)
    long = random.integers(0, 1000, 40_000, dtype=np.uint32)
    cuts = np.array([0, 19_000, 40_000])
    parts = [long[begin:end] for begin, end in zip(cuts[:-1], cuts[1:], strict=True)]
    x, y, offsets = cupy.asarray(rows), cupy.asarray(long), cupy.asarray(cuts)
    return {
        "attention": attentions(),
        "attention_backward": gradients(),
        "attention_decode": [] if "apart" in sys.argv else pages(),
        "merge": [("sort by less", lambda: sort(y, less=lambda a, b: uint32(b) < uint32(a)), np.sort(long)[::-1])],
        "select": selections(),
        "sort": [
            ("rows in clusters", lambda: sort(x), np.sort(rows)),
            ("positions in clusters", lambda: argsort(x), np.argsort(rows, kind="stable")),
            *long_sorts(),
        ],
        "sort_rows": [
            ("long segments", lambda: segmented_sort(y, offsets), np.concatenate([np.sort(part) for part in parts])),
            (
                "positions in long segments",
                lambda: segmented_argsort(y, offsets),
                np.concatenate([np.argsort(part, kind="stable") for part in parts]),
            ),
        ],
    }


def watch(case: Case, known: set[str]) -> None:
    """Make the calls of a case: of large arrays, and of the first of a function also past an aligned address; of two dtypes."""
    for number, shape in enumerate(case.large if case.function not in known else case.large[:-1]):
        if case.function == "hgemm" and shape[-1] % 4 and "aligned" in sys.argv:
            continue
        if math.prod(shape) > MOST:
            continue
        if not is_ours():
            continue
        arrays = case.arrays(shape, case.dtypes[number == 1 and len(case.dtypes) > 1])
        for elements in (0, 3) if case.function not in known else (3 * (number % 2),):
            zero_first(case.function)
            place = functools.partial(past, cupy, elements=elements)
            check(case, arrays, place, cupy.asnumpy, **out_of(case, arrays))


MOST = next((int(one) for one in sys.argv[1:] if one.isdigit()), 1 << 62)
SHARE, SHARES = next((tuple(map(int, one.split("/"))) for one in sys.argv[1:] if "/" in one), (0, 1))
turn = itertools.count()


def is_ours() -> bool:
    """Whether the next call is of this process's share."""
    return next(turn) % SHARES == SHARE


if __name__ == "__main__":
    seen: set[str] = set()
    flags = ("aligned", "apart", "further")
    names = [name for name in sys.argv[1:] if name not in flags and not name.isdigit() and "/" not in name]
    parts = [part for part in algorithms.parts("cases") if not names or part[0] in names]
    for one in (case for _, module in parts for case in module.CASES if "further" not in sys.argv):
        if "apart" in sys.argv and one.function == "grouped_matmul":
            one = replace(one, large=one.shapes[:1])
        watch(one, seen)
        seen.add(one.function)
        print(one, flush=True)
    for algorithm, calls in further().items():
        for text, call, wanted in calls if not names or algorithm in names else ():
            if not is_ours():
                continue
            assert np.array_equal(cupy.asnumpy(call()), wanted, equal_nan=wanted.dtype.kind == "f"), text
            print(algorithm, text, flush=True)
    print("all of them", flush=True)
