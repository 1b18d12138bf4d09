"""prism.lib.hgemm at the layers of language models, by rows, beside cuBLAS: one process, alternating rounds, medians.

    python asv_bench/hgemm_layers.py [--rows 1,16,256] [--layout NN] [--seconds 200] [--json FILE]

Needs a Hopper GPU and torch. As asv_bench/hgemm.py: bfloat16, random normal data, CUDA graphs of launches, buffers rotated past
the L2, each result compared with float64 (sampled rows). Weights are kept n x k, as torch.nn.Linear's (NT), or k x n (NN). Short
turns: of long products the GPU's power says who ran before as much as who is fast.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

from hgemm import compare, cublas, elapsed, fault, graph_of, matrices, ratio_of

# n x k of layers: queries, keys and values together; what follows attention; the two (together) and the one of the MLP.
LAYERS = (
    "6144x4096", "4096x4096", "28672x4096", "4096x14336",  # Llama 3 8B
    "10240x8192", "8192x8192", "57344x8192", "8192x28672",  # Llama 3 70B
    "1280x8192", "8192x1024", "7168x8192", "8192x3584",  # the same on eight GPUs
    "4608x3584", "3584x3584", "37888x3584", "3584x18944",  # Qwen 2 7B
)  # fmt: skip
ROWS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
FASTEST, BANDWIDTH = 6e14, 3.5e12  # about, for how many launches a graph should have


def measure(m: int, layer: str, layout: str) -> dict[str, Any]:
    """Return the times of one product, and how its result is wrong, or nothing."""
    import torch

    import prism.lib

    n, k = map(int, layer.split("x"))
    sets = matrices(m, n, k, layout, most=1 << 29)
    seconds = 2 * n * k / BANDWIDTH + 2.0 * m * n * k / FASTEST
    launches = max(8, min(30, int(3e-3 / seconds)), min(len(sets), 30))

    def library(i: int, stream: int) -> None:
        a, b, out = sets[i % len(sets)]
        prism.lib.hgemm(a, b, out=out)

    for i in range(len(sets)):  # nothing is made ready in a capture
        library(i, 0)
    graphs = {"cublas": graph_of(cublas(sets), launches)}
    sets[0][2].fill_(torch.nan)
    graphs["prism"] = graph_of(library, launches)
    graphs["prism"].replay()
    torch.cuda.synchronize()
    wrong = fault(*sets[0])
    times = compare(graphs, launches, 7)
    us = {name: statistics.median(seen) * 1e6 for name, seen in times.items()}
    return {"m": m, "layer": layer, **us, "ratio": ratio_of(times["cublas"], times["prism"]), "fault": wrong}


def mean(table: list[dict[str, Any]]) -> float:
    """Return the geometric mean of the ratios."""
    return math.exp(sum(math.log(row["ratio"]) for row in table) / len(table))


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--layers", default=",".join(LAYERS), help="n x k of each")
    parser.add_argument("--layout", choices=("NT", "NN"), default="NT", help="weights n x k, or k x n")
    parser.add_argument("--seconds", type=float, default=200.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, layers = list(map(int, options.rows.split(","))), options.layers.split(",")

    import torch

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.layout}; above 1: Prism is faster")
    print(f"{'n x k':>12}" + "".join(f"{m:>8}" for m in rows))
    table: list[dict[str, Any]] = []
    for layer in layers:
        if elapsed() > options.seconds:
            print(f"{layer}: no time left")
            continue
        found = [measure(m, layer, options.layout) for m in rows]
        marks = "".join(f"{row['ratio']:7.3f}{'!' if row['fault'] else ' '}" for row in found)
        print(f"{layer:>12}{marks}", flush=True)
        for row in found:
            if row["fault"]:
                print(f"{row['m']} rows: {row['fault']}")
        table += found
        torch.cuda.empty_cache()
    means = [mean([row for row in table if row["m"] == m]) for m in rows] if table else []
    print(
        f"{'mean':>12}" + "".join(f"{value:7.3f} " for value in means) + (f"  all {mean(table):.3f}" if table else "")
    )
    if options.json is not None:
        options.json.write_text(json.dumps({"layout": options.layout, "products": table}, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
