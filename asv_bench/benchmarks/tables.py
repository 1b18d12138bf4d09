"""Sorts, rows, merges, first elements, selections, histograms and searches, beside CUB, CuPy and torch. Lower is better.

`CALLS` names what the scripts of these algorithms measure; a script finds its own there (asv_bench/rows.py), and so do the
pictures and the tables of the documentation, in the manifest's order.
"""

from __future__ import annotations

from itertools import product

from benchmarks import raw

PEERS = ("cub", "newest", "cupy", "torch")
WAITING = ("cupy", "torch")
"""Peers that may wait for a number of elements: a call of ours that waits too, `whole`, stands beside them where there is one."""
DATA = ("uniform", "skewed", "equal", "sorted", "reversed", "few")
TOPS = (
    (1, 1 << 28, 10), (1, 1 << 28, 100), (1, 1 << 28, 1000), (1, 1 << 24, 10), (1, 1 << 24, 1000), (1, 1 << 20, 100),
    (1024, 1024, 10), (1024, 8192, 10), (1024, 8192, 100), (1024, 8192, 1000), (1024, 1 << 17, 100), (64, 1 << 20, 100),
    (264, 1 << 20, 1000), (1, 264_000, 1000), (1, 1 << 24, 100_000), (1, (1 << 26) + 17, 37), (1000, 5000, 37), (77, 300_001, 37),
)  # fmt: skip
"""Rows, their length, and how many elements are taken."""
SORTED = ("uint32", "float32", "uint64", "uint16", "uint8")
NARROW = ("keys float16", "keys int64 narrow")
"""Sorts of keys alone: of 16 bits with zeros of both signs, and of 8 bytes of which three differ."""
HELD_OUT = (10_000_019, 100_000_007)
"""Numbers of elements for which nothing was tuned: they stand at the logarithm below."""


def names_of(*parts: tuple[str, ...]) -> list[str]:
    """Return names of one part each."""
    return [" ".join(chosen) for chosen in product(*parts)]


def alone_too(names: list[str]) -> list[str]:
    """Return names, then those of the same behind another library's kernel."""
    return [*names, *(f"{name}, alone" for name in names)]


CALLS: dict[str, list[str]] = {
    "sort": [
        *names_of(("keys", "pairs", "argsort"), SORTED), *names_of(("keys",), SORTED[:2], DATA[1:]), *NARROW,
        *names_of(("keys",), SORTED[:2], ("alone",)),
        *(f"{what} {dtype} of {n}" for what, dtype, n in product(("keys", "pairs", "argsort"), SORTED[:3], HELD_OUT)),
    ],
    "sort_rows": [
        *names_of(("keys", "argsort", "segments", "uneven", "top 8"), ("uint32", "float32")), "columns uint8",
    ],
    "sets": [*names_of(("unique", "unique few", "unique inverse", "isin"), ("int32",)), "union1d int32"],
    "merge": names_of(("merge", "merge_by_key", "sort", "sort_pairs"), ("uint32", "uint64")),
    "topk": [
        *(f"top_k {rows} x {n}, k {k}" for rows, n, k in TOPS),
        *(f"top_k 1 x {1 << 28}, k 100, {kind}" for kind in ("few", "equal", "sorted", "reversed")),
        "median, 2^28", "median, 2^20", "median, 1024 x 8192", "quantile 0.9, 2^24", "partition, 2^24",
    ],
    "selection": names_of(
        ("compress", "flatnonzero", "nonzero", "unique", "encode", "split", "select", "split3", "unique_by_key"),
        ("float32", "uint8", "int64"), ("0.5", "0.05", "0.5, alone", "0.05, alone"),
    ),
    "histogram": alone_too([
        *names_of(("even 256", "even 4096", "edges 256"), ("uint8", "int32", "float32", "int64"), ("uniform", "skewed", "one")),
        *names_of(("bincount",), ("uint8", "int32", "int64"), ("uniform", "skewed", "one")),
        *names_of(("2^21 bins int32",), ("uniform", "skewed", "one")),
    ]),
    "searching": alone_too([
        "axpy float32", "axpy int8",
        *(f"diff {kind}" for kind in ("float32", "int32", "uint8", "float64", "rows float32")),
        *(
            f"searchsorted {kind} in 2^{log}{order}"
            for kind, log, order in product(("float32", "int32", "int64"), (10, 16, 20, 24), ("", " sorted"))
        ),
        *(f"take {kind}{order}" for kind, order in product(("float32", "int64", "uint8"), ("", " sorted"))),
        *names_of(("split",), ("float32", "uint8", "int64"), ("0.5", "0.05")),
        *(f"repeat {kind} runs of {length}" for kind, length in product(("float32", "uint8", "int64"), (4, 256))),
    ]),
}  # fmt: skip
LOGS = {
    "sort": [16, 20, 23, 24, 26, 28],
    "sort_rows": [2, 4, 6, 8, 10, 12, 14, 24],
    "sets": [20, 24, 28],
    "merge": [24, 28],
    "topk": list(range(18, 29)),
    "selection": [16, 20, 24, 28],
}
"""Logarithms of sizes, else 20, 24, 28: of arrays, of rows' lengths, or of all elements, where a name says the rest."""
SIZES = {"sort_rows": "log2 columns"}


def ratio(found: dict[str, object]) -> float:
    """Return Prism's time by that of the fastest peer, of a row of times."""

    def ratio_to(peer: str) -> float:
        ours = "whole" if peer in WAITING and "whole" in found else "prism"
        return raw.number(found, ours) / raw.number(found, peer)

    there = [name for name in PEERS if found.get(name) is not None]
    if not there:
        raise NotImplementedError("no peer was measured")
    return max(ratio_to(name) for name in there)


def classes(script: str) -> tuple[type, type]:
    """Return two classes of a script's figures: ratios to the fastest peer, and times."""
    calls, logs = CALLS[script], LOGS.get(script, [20, 24, 28])
    size = SIZES.get(script, "log2 size")
    name = script.title().replace("_", "")

    @raw.tracked("x (prism/best)")
    def track_vs_best(self: object, call: str, log2: int) -> float:
        return ratio(raw.row(raw.read(script)[script], call=call, log2=log2))

    @raw.tracked("us")
    def track_us(self: object, impl: str, call: str, log2: int) -> float:
        return raw.number(raw.row(raw.read(script)[script], call=call, log2=log2), impl)

    body = {"__module__": __name__, "params": (calls, logs), "param_names": ("call", size)}
    ratios = type(
        name, (), {**body, "__doc__": "Prism's time by that of the fastest peer.", "track_vs_best": track_vs_best}
    )
    body |= {"params": (["prism", *PEERS, "floor"], calls, logs), "param_names": ("impl", "call", size)}
    return ratios, type(f"{name}Times", (), {**body, "__doc__": "Microseconds of a call.", "track_us": track_us})


Sort, SortTimes = classes("sort")
SortRows, SortRowsTimes = classes("sort_rows")
Sets, SetsTimes = classes("sets")
Merge, MergeTimes = classes("merge")
Topk, TopkTimes = classes("topk")
Selection, SelectionTimes = classes("selection")
Histogram, HistogramTimes = classes("histogram")
Searching, SearchingTimes = classes("searching")
