"""The gallery: docs/gallery.md's programs, how long they are, and pictures of what must be ordered in each.

`python -m docs.site.gallery` writes docs/pictures/gallery/NAME.svg; tests/docs/test_gallery.py --update-golden writes the page.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tokenize
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import prism
from docs.site.language import write
from prism.explanation import account
from prism.explanation.graph_map import graph
from prism.explanation.markup import Markup

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
CSS = (ROOT / "prism" / "explanation" / "page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Exhibit:
    """A program of the gallery: its file in examples/, its kernels, its template, and another's text of the same task."""

    name: str
    title: str
    says: str
    kernels: tuple[str, ...]
    template: dict[str, Any] = field(default_factory=dict)
    peer: tuple[str, int, str] | None = None
    """What the other text is, its lines of code, and its address."""


SAMPLES = "https://github.com/NVIDIA/cuda-samples/blob/c94ff366/Samples"
LIGER = "https://github.com/linkedin/Liger-Kernel/blob/ead96b61/src/liger_kernel/ops"
EXHIBITS = (
    Exhibit(
        "softmax",
        "Softmax of rows",
        "A block loads its row once, keeps it in registers, and stores it once. The barriers are inside the collectives.",
        ("softmax_rows",),
        {"ITEMS": 4},
        ("Triton, in Liger-Kernel", 18, f"{LIGER}/softmax.py"),
    ),
    Exhibit(
        "layernorm",
        "Layer normalisation",
        "A block reads its row once. It computes the mean and the variance from the same registers.",
        ("normalised_rows",),
        {"ITEMS": 4},
        ("Triton, in Liger-Kernel", 40, f"{LIGER}/layer_norm.py"),
    ),
    Exhibit(
        "rope",
        "Rotary positions",
        "Each thread turns one pair. Threads share nothing, so none of them waits.",
        ("turned",),
        {},
        ("Triton, in Liger-Kernel, of q and k, with the gradient", 71, f"{LIGER}/rope.py"),
    ),
    Exhibit(
        "spmv",
        "A sparse matrix times a vector",
        "LANES lanes work on one row together: `thread[LANES]` is a unit, like a warp. All its lanes have the same `row`.",
        ("rows_times",),
        {"LANES": 8},
        ("CUDA, in cuda-samples, a thread a row", 22, f"{SAMPLES}/4_CUDA_Libraries/conjugateGradientMultiBlockCG"),
    ),
    Exhibit(
        "histogram",
        "A histogram of bytes",
        "Atomic additions to shared memory, then to the result. The two barriers are inferred.",
        ("counted",),
        {},
        ("CUDA, in cuda-samples", 51, f"{SAMPLES}/2_Concepts_and_Techniques/histogram/histogram256.cu"),
    ),
    Exhibit(
        "kmeans",
        "A step of k-means",
        "For each centre, a block adds up the coordinates of its points in shared memory. Then it adds these sums to the grid's.",
        ("assign",),
        {"K": 4, "D": 2},
        (
            "CUDA; the centres are added up on the host",
            93,
            "https://github.com/serban/kmeans/blob/83e76bf/cuda_kmeans.cu",
        ),
    ),
    Exhibit(
        "radix_partition",
        "A radix partition",
        "Two short kernels around `prism.lib.scan`. Equal digits keep their order.",
        ("count_tiles", "place"),
        {},
        (
            "CUDA, one pass of GPUSorting's OneSweep, which needs no scan before it",
            120,
            "https://github.com/b0nes164/GPUSorting/blob/09a6081/GPUSortingCUDA/Sort/OneSweep.cu",
        ),
    ),
    Exhibit(
        "stream_compaction",
        "Stream compaction with look-back",
        "One launch. `grid.scan_tiles` deals out tiles and looks back. Three functions in the kernel say what happens to a tile.",
        ("compact",),
        {},
        (
            "CUDA, a scan with look-back in GPUPrefixSums",
            125,
            "https://github.com/b0nes164/GPUPrefixSums/blob/98d93a4/GPUPrefixSumsCUDA/ChainedScanDecoupledLookback.cuh",
        ),
    ),
    Exhibit(
        "tile_ring",
        "A ring of tensor copies",
        "One warp asks for tiles, up to three ahead. Two other warps add them up. Nobody writes an mbarrier.",
        ("sum_columns",),
    ),
    Exhibit(
        "tile_store",
        "Tensor copies both ways",
        "Tiles come by `tma_load` and leave by `tma_store`. Three roles work at the same time, each on its own tile.",
        ("scale_tiles",),
    ),
    Exhibit(
        "linear",
        "A linear layer on tensor cores",
        "`wgmma` multiplies tiles of two rings. The bias and the activation are applied to sums in registers.",
        ("layer",),
        {},
        (
            "CUDA, the product alone, in fast.cu",
            138,
            "https://github.com/pranjalssh/fast.cu/blob/38eb642/examples/matmul/matmul_4.cuh",
        ),
    ),
    Exhibit(
        "attention",
        "Attention",
        "Two products, with a softmax between them. The scores stay in registers.",
        ("attend",),
        {"D": 64},
        (
            "Triton's tutorial, with a causal mask",
            111,
            "https://github.com/triton-lang/triton/blob/003da478/python/tutorials/06-fused-attention.py",
        ),
    ),
)


def code_lines(text: str) -> int:
    """Return how many lines of a Python text have code: no comment, no blank line, no docstring."""
    lines: set[int] = set()
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(StringIO(text).readline):
        kind = token.type
        if kind == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            continue  # a docstring
        if kind not in (
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        ):
            lines.update(range(token.start[0], token.end[0] + 1))
        if kind not in (tokenize.COMMENT, tokenize.NL):
            previous = kind
    return len(lines)


def module(exhibit: Exhibit) -> Any:
    """Return an exhibit's module."""
    return importlib.import_module(f"examples.{exhibit.name}")


def texts(exhibit: Exhibit) -> tuple[str, str]:
    """Return what the page shows: the module behind its docstring up to the kernels' end, and the function that launches them."""
    text = inspect.getsource(module(exhibit))
    text = text[text.index('"""', 3) + 3 :].lstrip("\n")
    parts = re.split(r"^(?=@|def |class |if )", text, flags=re.MULTILINE)
    host = next(k for k, part in enumerate(parts) if part.startswith("def ") and not parts[k - 1].startswith("@"))
    device, launch = (re.sub(r"\n{3,}", "\n\n", part).rstrip() + "\n" for part in ("".join(parts[:host]), parts[host]))
    return device, launch


def device_lines(exhibit: Exhibit) -> int:
    """Return how many lines of code run on the device: without imports and constants, blank lines and comments."""
    text, _ = texts(exhibit)
    return code_lines(text[re.search(r"^@", text, re.MULTILINE).start() :])  # type: ignore[union-attr]


def shown() -> str:
    """Return the page's table and programs."""
    lines = ["| kernel | lines in Prism | lines elsewhere |", "|---|---|---|"]
    for one in EXHIBITS:
        anchor = re.sub(r"[^\w -]", "", one.title).lower().replace(" ", "-")
        peer = f"{one.peer[1]}: [{one.peer[0]}]({one.peer[2]})" if one.peer else ""
        lines.append(f"| [{one.title}](#{anchor}) | {device_lines(one)} | {peer} |")
    for one in EXHIBITS:
        lines += ["", f"## {one.title}", "", f"{one.says} [`examples/{one.name}.py`](../examples/{one.name}.py)", ""]
        device, launch = texts(one)
        lines += ["```python", device, launch.rstrip(), "```", ""]
        lines += [f"![What must be ordered in `{one.kernels[-1]}`, and by what](pictures/gallery/{one.name}.svg)"]
    return "\n".join(lines) + "\n"


def rules() -> str:
    """Return the rules of the page of `prism explain` that its graph needs."""
    light = re.search(r"^:root \{\n(.*?)^\}", CSS, re.MULTILINE | re.DOTALL)
    dark = re.search(
        r"^@media screen and \(prefers-color-scheme: dark\) \{\n  :root \{\n(.*?)^  \}", CSS, re.MULTILINE | re.DOTALL
    )
    assert light and dark
    kept = [
        line
        for line in CSS.splitlines()
        if re.match(r"\.(p-\w+|tick|object-name|lane|node|edge|chip|graph|loop)\b", line)
    ]
    colours = f"svg {{ {light[1]} }} @media (prefers-color-scheme: dark) {{ svg {{ {dark[1]} }} }}"
    text = 'svg { font: 11.5px system-ui, "DejaVu Sans", sans-serif; } svg text { fill: var(--ink); }'
    return re.sub(r"\s+", " ", " ".join([colours, text, *kept])).replace("color-scheme: light dark; ", "")


def picture(exhibit: Exhibit, kernel: str) -> str:
    """Return the graph of a kernel: its accesses, and which of them are ordered by what."""
    chapter = account(prism.check(getattr(module(exhibit), kernel), exhibit.template or None)).chapters[0]
    drawn = graph(chapter.graph, "k")
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    head, _, rest = drawn.partition(">")
    plain = re.sub(r"</?a\b[^>]*>", "", rest)
    return f'{Markup(head)} xmlns="http://www.w3.org/2000/svg"><style>{rules()}</style>{paper}{plain}\n'


def pictures() -> dict[str, str]:
    """Return all pictures by their names: of an exhibit's last kernel."""
    return {exhibit.name: picture(exhibit, exhibit.kernels[-1]) for exhibit in EXHIBITS}


if __name__ == "__main__":
    write("gallery", pictures())
    sys.exit(0)

__all__ = ["EXHIBITS", "PAGE", "Exhibit", "code_lines", "device_lines", "pictures", "shown"]
