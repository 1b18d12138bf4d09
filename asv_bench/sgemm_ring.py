"""The sixth sgemm variant beside cuBLAS (torch.matmul, TF32 off): one process, graphs of launches, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/sgemm_ring.py [--shapes 4096,8192x128x1024] [--rounds 7] [--long]

Needs a Hopper GPU and torch. Random normal data, rotated past the L2; every result is compared with float64 (sampled rows).
`--long` also times 64 of K at a time where A is row-major.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from prism.kernels.sgemm.ring import combine, ring
from prism.kernels.sgemm.ring_configurations import LONG, MEASURED, TALL, Cut, choose, grid

L2 = 60 << 20
EPS = 2.0**-24


def launcher(cut: Cut, a: Any, b: Any, out: Any, transpose_a: bool) -> Callable[[], None]:
    """Return what makes `out = a @ b`; `a` is k x m where it is transposed. All dense, n a multiple of 4."""
    import torch

    (k, n), m, found = b.shape, out.shape[0], cut.configuration
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    blocks, template = grid(cut, m, n, processors), found.template(transpose_a=transpose_a, wide=True, beta=False)
    target = out.view(-1) if cut.parts == 1 else torch.empty(cut.parts * m * n, device="cuda")

    def launch() -> None:
        ring[blocks, found.threads](a, b, target, n, m, n, k, cut.length, TALL, 1.0, 0.0, template=template)
        if cut.parts > 1:
            ways = {"WIDE": True, "BETA": False}
            combine[-(-m * n // 1024), 256](target, cut.parts, out.view(-1), n, m, n, 1.0, 0.0, template=ways)

    return launch


def graph(calls: list[Callable[[], None]], turns: int) -> Any:
    """Return a graph of `turns` launches, that take the copies of the data in turn."""
    import torch

    for call in calls:
        call()
    torch.cuda.synchronize()
    found = torch.cuda.CUDAGraph()
    with torch.cuda.graph(found):
        for turn in range(turns):
            calls[turn % len(calls)]()
    return found


def clock(replay: Callable[[], None]) -> float:
    """Return how long a graph takes, in seconds."""
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def error(out: Any, a: Any, b: Any, transpose_a: bool) -> float:
    """Return the largest error of 64 rows, in units of the bound: (k + 3) * 2**-24 times the sum of products' sizes."""
    import torch

    rows = torch.randperm(out.shape[0], device="cuda")[:64]
    left = (a.t() if transpose_a else a)[rows].double()
    bound = (b.shape[0] + 3) * EPS * (left.abs() @ b.double().abs())
    return float(((out[rows].double() - left @ b.double()).abs() / bound).max())


def timed(m: int, n: int, k: int, transpose_a: bool, rounds: int, long: bool) -> None:
    """Print a shape's line for each configuration."""
    import torch

    copies = max(1, -(-2 * L2 // (4 * (m * k + k * n + m * n))))
    sets = [
        (torch.randn(*((k, m) if transpose_a else (m, k)), device="cuda"), torch.randn(k, n, device="cuda"),
         torch.empty(m, n, device="cuda"))
        for _ in range(copies)
    ]  # fmt: skip
    cuts = [choose(m, n, k, transpose_a)]
    if long and not transpose_a:
        cuts.append(Cut(LONG, -(-k // LONG.bk) * LONG.bk, 1))
    calls = {cut: [launcher(cut, a, b, out, transpose_a) for a, b, out in sets] for cut in cuts}
    for cut, ways in calls.items():
        ways[0]()
        a, b, out = sets[0]
        if (found := error(out, a, b, transpose_a)) > 1:
            raise SystemExit(f"{cut.configuration.name}: {found:.2f} of the bound at {m}x{n}x{k}")
    peers = [lambda a=a, b=b, out=out: torch.mm(a.t() if transpose_a else a, b, out=out) for a, b, out in sets]
    turns = max(2, copies, min(200, int(0.01 / (2 * m * n * k / 5e13 + 4e-6))))
    graphs = {"cublas": graph(peers, turns), **{cut: graph(ways, turns) for cut, ways in calls.items()}}
    times: dict[Any, list[float]] = {name: [] for name in graphs}
    for turn in range(rounds + 1):
        for name in list(graphs)[:: 1 if turn % 2 else -1]:
            times[name].append(clock(graphs[name].replay) / turns)
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    for cut in cuts:
        rate, beside = 2 * m * n * k / medians[cut] / 1e12, medians["cublas"] / medians[cut]
        layout = "T" if transpose_a else "N"
        print(
            f"{m}x{n}x{k} {layout}N  {cut.configuration.name} parts {cut.parts}  {rate:.2f} TFLOP/s  {beside:.3f} x cuBLAS"
        )


def main() -> None:
    """Time the shapes that are asked for, or those of the table."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", help="as 4096,8192x128x1024; A both row-major and column-major")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--long", action="store_true")
    given = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    shapes = list(MEASURED)
    if given.shapes:
        sizes = [tuple(map(int, text.split("x") if "x" in text else [text] * 3)) for text in given.shapes.split(",")]
        shapes = [(m, n, k, transposed) for m, n, k in sizes for transposed in (False, True)]
    for m, n, k, transpose_a in shapes:
        timed(m, n, k, transpose_a, given.rounds, given.long)


if __name__ == "__main__":
    main()
