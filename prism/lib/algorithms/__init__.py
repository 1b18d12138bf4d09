"""The algorithms of the library: a folder each, and here a row each. All that lists algorithms reads these rows.

What an algorithm has, its folder says by the names of its modules. Only `api` must be there:

    api       its public functions, with their docstrings
    plan      what a call comes to: which kernels, on what memory
    ships     `instances(gpu)`: the kernels that are compiled ahead of time for a GPU
    tables    `TABLE`: the choices that `prism tune NAME` measures again
    cases     `CASES`: calls, and what they must give: for tests, safety runs and benchmarks

Rows are read when `prism.lib` is imported, and a module when something of it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple


class Algorithm(NamedTuple):
    """A row: `functions` are what `prism.lib` has of it, `page` the place in docs/ that says what they do.

    `scripts` are its own benchmarks in asv_bench/, of those that `prism bench run` runs.
    """

    name: str
    functions: tuple[str, ...]
    page: str
    scripts: tuple[str, ...] = ()

    def part(self, name: str) -> ModuleType | None:
        """Return a module of its folder, or None where there is no such module."""
        path = f"{__name__}.{self.name}.{name}"
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as missing:
            if missing.name != path:
                raise
            return None

    @property
    def module(self) -> str:
        """The name of the module that has its functions."""
        return f"{__name__}.{self.name}.api"


MANIFEST = (
    Algorithm("scan", ("scan",), "library.md#scans", ("measure", "scan_axis")),
    Algorithm(
        "cumulative",
        ("cumsum", "cumprod", "cummax", "cummin", "cumulative_sum", "cumulative_prod"),
        "library.md#scans",
    ),
    Algorithm(
        "segments",
        ("segmented_scan", "segmented_reduce"),
        "library.md#segments-and-runs-of-equal-keys",
    ),
    Algorithm(
        "segment_positions",
        ("segmented_argmin", "segmented_argmax"),
        "library.md#segments-and-runs-of-equal-keys",
    ),
    Algorithm("sort", ("sort", "argsort", "sort_by_key"), "library.md#sorts", ("sort",)),
    Algorithm(
        "sort_rows",
        ("segmented_sort", "segmented_argsort", "segmented_sort_by_key", "segmented_top_k"),
        "library.md#sorted-rows-and-segments",
        ("sort_rows",),
    ),
    Algorithm("lexsort", ("lexsort", "sort_complex"), "library.md#orders-of-several-keys"),
    Algorithm(
        "sets",
        (
            "unique",
            "unique_all",
            "unique_counts",
            "unique_inverse",
            "unique_values",
            "isin",
            "in1d",
            "intersect1d",
            "union1d",
            "setdiff1d",
            "setxor1d",
        ),
        "library.md#sets",
        ("sets",),
    ),
    Algorithm("merge", ("merge", "merge_by_key"), "library.md#merges", ("merge",)),
    Algorithm(
        "keys", ("scan_by_key", "reduce_by_key", "run_length_encode"), "library.md#segments-and-runs-of-equal-keys"
    ),
    Algorithm(
        "select",
        (
            "select",
            "split",
            "split3",
            "compress",
            "extract",
            "flatnonzero",
            "nonzero",
            "argwhere",
            "unique_consecutive",
            "unique_by_key",
        ),
        "library.md#selection",
        ("selection",),
    ),
    Algorithm(
        "histogram", ("histogram", "histogram2d", "histogramdd", "bincount"), "library.md#histograms", ("histogram",)
    ),
    Algorithm(
        "reduce",
        (
            "reduce",
            "sum",
            "prod",
            "max",
            "min",
            "minmax",
            "argmax",
            "argmin",
            "argminmax",
            "any",
            "all",
            "count_nonzero",
        ),
        "library.md#reductions",
        ("reduce",),
    ),
    Algorithm("difference", ("diff", "ediff1d", "adjacent_difference"), "library.md#differences"),
    Algorithm("search", ("searchsorted", "digitize", "find"), "library.md#search", ("searching",)),
    Algorithm("topk", ("top_k", "topk"), "library.md#first-elements-medians-and-ranks", ("topk",)),
    Algorithm(
        "ranks",
        (
            "kthvalue",
            "partition",
            "argpartition",
            "median",
            "percentile",
            "quantile",
            "nanmedian",
            "nanpercentile",
            "nanquantile",
        ),
        "library.md#first-elements-medians-and-ranks",
    ),
    Algorithm("take", ("take", "take_along_axis"), "library.md#elements-at-indices"),
    Algorithm("repeat", ("repeat", "run_length_decode"), "library.md#elements-at-indices"),
    Algorithm("copies", ("copy", "transpose", "permute"), "transposes.md", ("transposes",)),
    Algorithm("activations", ("gelu", "gelu_backward", "swiglu", "swiglu_backward"), "layers.md#activations"),
    Algorithm("losses", ("cross_entropy", "cross_entropy_backward"), "layers.md#cross-entropy"),
    Algorithm("rotary", ("rope",), "layers.md#rotary-positions"),
    Algorithm("quantize", ("quantize",), "layers.md#numbers-of-8-bits"),
    Algorithm(
        "rows",
        (
            "softmax",
            "log_softmax",
            "rms_norm",
            "layer_norm",
            "rows",
            "softmax_backward",
            "log_softmax_backward",
            "rms_norm_backward",
            "layer_norm_backward",
        ),
        "rows.md",
        ("normalise",),
    ),
    Algorithm("transform", ("evaluate",), "lazy.md#arrays-of-them", ("lazy",)),
    Algorithm("matmul", ("matmul",), "library.md#products-of-matrices", ("matmul",)),
    Algorithm("sgemm", ("sgemm",), "sgemm.md", ("sgemm",)),
    Algorithm("attention", ("attention",), "attention.md", ("attention", "attention_packed")),
    Algorithm("attention_backward", ("attention_backward",), "attention.md#gradients", ("attention_backward",)),
    Algorithm(
        "attention_decode",
        ("attention_decode", "attention_decode_latent"),
        "attention.md#few-queries-and-pages",
        ("attention_decode",),
    ),
    Algorithm("hgemm", ("hgemm",), "hgemm.md", ("hgemm", "hgemm_layers", "hgemm_float8", "hgemm_kinds", "epilogues")),
    Algorithm("grouped", ("grouped_matmul",), "grouped.md", ("grouped",)),
    Algorithm("mixed", ("quantized_matmul", "pack_weights", "unpack_weights"), "mixed.md", ("mixed",)),
)


def parts(name: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield the algorithms that have such a module, by name, and it."""
    for one in MANIFEST:
        if (module := one.part(name)) is not None:
            yield one.name, module
