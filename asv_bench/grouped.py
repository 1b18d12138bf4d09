"""Products of groups of rows: prism.lib.grouped_matmul beside torch._grouped_mm, and beside cuBLAS, a product for each group.

    python asv_bench/grouped.py [--cases deepseek:4096:up,...] [--rounds 7] [--json FILE]

Needs a Hopper GPU and torch. One process, alternating rounds, medians, CUDA graphs, random normal data, bfloat16; the weights of
all groups are larger than the L2. Every result is compared with float64 in the same run (sampled rows), and whole with torch's.
cuBLAS is told by the host where groups end, as no call of a library is that finds it on the device. A case is MODEL:ROWS:WAY, as
of a mixture of experts: `up` and `down` are its two products, `wgrad` the gradient of the first one's weights, `gathered` the
first one of rows that are taken by an index, `swiglu` the first one and the gate that is made of it. `skewed`: groups have any
numbers of rows, by a Dirichlet distribution; else as many.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

import prism
from prism.lib.epilogues import swiglu

MODELS = {  # experts, K and N of the first product (gate and up together), K of the way back
    "mixtral": (8, 4096, 28672, 14336),
    "qwen3": (128, 2048, 1536, 768),
    "deepseek": (32, 7168, 4096, 2048),  # 32 of its 256
    "gpt-oss": (128, 2880, 5760, 2880),
}
CASES = (
    "deepseek:256:up,deepseek:256:down,qwen3:256:up,mixtral:256:up,gpt-oss:256:up,deepseek:4096:up,deepseek:4096:up:skewed,"
    "deepseek:4096:down,qwen3:4096:up,qwen3:4096:up:skewed,mixtral:4096:up,mixtral:4096:up:skewed,gpt-oss:4096:up,"
    "deepseek:32768:up,deepseek:32768:up:skewed,qwen3:32768:up,qwen3:32768:up:skewed,mixtral:32768:up,deepseek:4096:gathered,"
    "deepseek:4096:swiglu,deepseek:32768:wgrad"
)
SECONDS = 0.012  # a turn


class Case(NamedTuple):
    """What is multiplied: `a`, `w` of groups x k x n (along K k x n), where groups begin and end, and how long they are."""

    a: Any
    w: Any
    offsets: Any
    sizes: list[int]
    rows: Any
    out: Any
    flops: float
    weights: float
    gated: bool = False


def sizes_of(rows: int, experts: int, skewed: bool, to: int = 1) -> list[int]:
    """Return how many rows groups have."""
    torch.manual_seed(1)
    share = torch.distributions.Dirichlet(torch.ones(experts)).sample() if skewed else torch.ones(experts) / experts
    sizes = (share * rows).floor().long() // to * to
    sizes[0] += rows - sizes.sum()
    return [int(size) for size in sizes]


def case_of(text: str) -> Case:
    """Return the operands of a case."""
    model, many, way, *more = text.split(":")
    experts, k, n, back = MODELS[model]
    rows, skewed = int(many), more == ["skewed"]
    if way == "down":
        k, n = back, k
    sizes = sizes_of(rows, experts, skewed, 16 if way == "wgrad" else 1)
    offsets = torch.tensor([0, *sizes], device="cuda").cumsum(0).int()

    def normal(*shape: int, scale: float = 1.0) -> Any:
        return torch.empty(*shape, device="cuda", dtype=torch.bfloat16).normal_(0, scale)

    index = None
    if way == "wgrad":
        a, w, out = normal(rows, k).T, normal(rows, n), normal(experts, k, n)
        return Case(a, w, offsets, sizes, None, out, 2.0 * rows * k * n, 0.0)
    a, w = normal(rows, k), normal(experts, n, k, scale=k**-0.5).transpose(1, 2)
    if way == "gathered":
        index = torch.randperm(rows, device="cuda", dtype=torch.int32)
    used = sum(size > 0 for size in sizes)
    out = normal(rows, n // 2 if way == "swiglu" else n)
    return Case(a, w, offsets, sizes, index, out, 2.0 * rows * k * n, 2.0 * used * k * n, way == "swiglu")


def by_groups(case: Case) -> Any:
    """The same by cuBLAS, a product for each group."""
    begin = 0
    for g, size in enumerate(case.sizes):
        if size and case.w.dim() == 3:
            torch.mm(case.a[begin : begin + size], case.w[g], out=case.out[begin : begin + size])
        elif case.w.dim() == 2:
            torch.mm(case.a[:, begin : begin + size], case.w[begin : begin + size], out=case.out[g])
        begin += size
    return case.out


def torch_grouped(case: Case) -> Any:
    """The same by torch; gathered rows are taken first."""
    a = case.a if case.rows is None else case.a[case.rows]
    y = torch._grouped_mm(a, case.w, offs=case.offsets[1:])
    return gate(y) if case.gated else y


def gate(y: Any) -> Any:
    """SwiGLU of both halves of columns, as torch has it."""
    first, second = y.chunk(2, dim=-1)
    return torch.nn.functional.silu(first) * second


def fault(case: Case, found: Any) -> str:
    """Return how a result differs from float64's by more than one rounding and float32's sums allow, or from torch's."""
    k = case.a.shape[1]
    a = case.a if case.rows is None else case.a[case.rows]
    ends = case.offsets.tolist()
    bad = 0
    for _ in range(6):
        i = int(torch.randint(0, found.shape[-2], (1,)))
        if case.w.dim() == 2:
            g = int(torch.randint(0, len(case.sizes), (1,)))
            x, w, mine = a[i, ends[g] : ends[g + 1]], case.w[ends[g] : ends[g + 1]], found[g, i]
        else:
            g = sum(end <= i for end in ends) - 1
            x, w, mine = a[i], case.w[g], found[i]
        exact, most = x.double() @ w.double(), (x.double().abs() @ w.double().abs()).max() if len(x) else 0
        if case.gated:
            exact, most = gate(exact), 2 * most * exact.abs().max()
        bad += int((~((mine.double() - exact).abs() <= 2.0**-8 * exact.abs() + 4 * k**0.5 * 2.0**-24 * most)).sum())
    theirs = torch_grouped(case)
    worst = float((theirs.float() - found.float()).abs().max())
    if bad or not worst <= 2.0**-6 * float(theirs.float().abs().max()):
        return f"{bad} sampled elements are wrong; torch's differ by up to {worst}"
    return ""


def graph_of(call: Callable[[], Any], launches: int) -> Any:
    """Return a CUDA graph of so many calls."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(launches):
            call()
    return graph


def seconds(calls: dict[str, Callable[[], Any]], launches: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of a call, by name; turns alternate, and go back and forth."""
    graphs = {name: graph_of(call, launches) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            graphs[name].replay()
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if number:
                times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return {name: statistics.median(found) for name, found in times.items() if found}


def prism_call(case: Case) -> Any:
    """The same by Prism."""
    if case.gated:
        n = case.w.shape[2] // 2
        both = case.w[:, :, :n], case.w[:, :, n:]
        return prism.lib.grouped_matmul(case.a, both, case.offsets, epilogue=swiglu, out=case.out)
    return prism.lib.grouped_matmul(case.a, case.w, case.offsets, rows=case.rows, out=case.out)


def measure(text: str, rounds: int) -> dict[str, Any]:
    """Return the times of a case, and print them."""
    case = case_of(text)
    calls = {
        "prism": lambda: prism_call(case),
        "torch": lambda: torch_grouped(case),
        "cublas": lambda: by_groups(case),
    }
    if case.rows is not None or case.gated:
        del calls["cublas"]
    wrong = fault(case, prism_call(case).clone())
    floor = max(case.flops / 7e14, case.weights / 4.5e12)
    launches = max(1, round(SECONDS / 2 / floor))
    found = seconds(calls, launches, rounds) if rounds else {}
    row: dict[str, Any] = {"case": text, "fault": wrong, "flops": case.flops, "weights": case.weights, **found}
    rates = [
        f"{name} {1e6 * each:.1f} us, {case.flops / each / 1e12:.0f} TFLOP/s, {case.weights / each / 1e12:.2f} TB/s, "
        f"{each / found['prism']:.2f}"
        for name, each in found.items()
    ]
    print(f"{text:26} {wrong or 'right'}: " + " | ".join(rates), flush=True)
    return row


def main() -> int:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for text in given.cases.split(","):
        rows.append(measure(text, given.rounds))
        torch.cuda.empty_cache()
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["fault"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
