"""Prism's hgemm beside cuBLAS (torch.matmul in bfloat16): one process, alternating rounds, medians, random normal data.

    python asv_bench/hgemm.py [--shapes 4096,8192x1024x8192] [--rounds 5] [--seconds 110] [--json FILE]

Needs a Hopper GPU and torch. Kernels are timed as CUDA graphs of launches, so that the host's time a call does not count; buffers
are rotated past the L2. Every configuration's result is compared with float64 in the same run (sampled rows), after a first run
in a process of its own, which may hang without harm. Where power binds (from 3072 up), what runs is slowed by what ran before it:
the library's choice and the best other one are measured again in long turns, of which the beginning does not count, with watts
and joules a flop.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prism.kernels.hgemm import Configuration as C
from prism.kernels.hgemm import blocks, choose, follows_late, group_m, identity
from prism.kernels.hgemm import prefetch_steps as steps_early
from prism.kernels.hgemm.candidates import PROCESSORS, SHAPES, all_cuts, candidates, parse_size

START = time.monotonic()
L2 = 60 << 20
EPS_OUT, EPS_SUM = 2.0**-8, 2.0**-23

LAYOUTS = ("NN", "NT", "TN", "TT")  # of a, of b: N has a row's elements one after the other
BY_LAYOUT = ("4096", "8192")
FIRST_SHAPES = ((392, 520, 200), (2000, 1304, 64), (128, 256, 2048), (3000, 2600, 136))
ODD = "4097x4095x4104"  # rows that don't begin at multiples of 16 bytes: the library copies


# -- compiling, in processes of their own -----------------------------------------------------------------------------------


def compiled(request: tuple[C, str]) -> tuple[C, str, Any, str]:
    """Return a configuration's entry for a layout, or None and why there is none; its machine code is in the cache."""
    from prism.lib.algorithms.hgemm.plan import program_for
    from prism.runtime.build import entry_of
    from prism.runtime.code import machine_code
    from prism.runtime.compile import compile_cubin

    cut, layout = request
    try:
        transposed = (layout[0] == "T", layout[1] == "N")
        trans = cut.transposes_out(transposed)
        of_kernel = transposed[::-1] if trans else transposed
        program = program_for("bfloat16", "bfloat16", of_kernel, False, False, 0, identity, cut, 0, "", trans)
        entry = entry_of(program, "sm_90a")
        binary = compile_cubin(entry.source, entry.arch)
        machine_code(entry.source, entry.arch)
        facts = f"{binary.registers} registers, {binary.spills} spilled, {entry.shared_bytes} B shared"
        return cut, layout, entry, facts
    except Exception as error:  # one that does not compile is a line of the report, not its end
        return cut, layout, None, f"{type(error).__name__}: {str(error)[:300]}"


def compile_all(requests: Sequence[tuple[C, str]]) -> dict[tuple[C, str], Any]:
    """Compile, print what came out, and return the entries."""
    began = time.monotonic()
    with ProcessPoolExecutor(12, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(compiled, requests))
    for cut, layout, entry, text in found:
        if entry is None or " 0 spilled" not in text:
            print(f"  {cut.name} {layout}: {text}")
    print(f"compiled {len(found)} kernels in {time.monotonic() - began:.1f} s", flush=True)
    return {(cut, layout): entry for cut, layout, entry, _ in found if entry is not None}


# -- calls ------------------------------------------------------------------------------------------------------------------


def matrices(m: int, n: int, k: int, layout: str = "NN", most: int = 3 << 30) -> list[tuple[Any, Any, Any]]:
    """Enough triples of a (m x k), b (k x n) and room for the result to pass the L2 twice."""
    import torch

    def normal(rows: int, columns: int, how: str) -> Any:
        shape = (rows, columns) if how == "N" else (columns, rows)
        found = torch.randn(shape, device="cuda", dtype=torch.float32).to(torch.bfloat16)
        return found if how == "N" else found.T

    size = 2 * (m * n + m * k + n * k)
    sets = max(1, min(1 + 2 * L2 // size, most // size))
    room = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
    return [(normal(m, k, layout[0]), normal(k, n, layout[1]), room.clone()) for _ in range(sets)]


def call_of(
    entry: Any, cut: C, sets: Sequence[tuple[Any, Any, Any]], layout: str = "NN", *, early: bool | None = None,
    steps: int | None = None,
) -> Callable[[int, int], None]:  # fmt: skip
    """Return a call of a configuration on the i-th set, on a stream, launched early or not; None: as by the library.

    `steps`: of K, whose tiles are asked for before the wait; None: as by the library.
    """
    from prism.runtime.arrays import describe
    from prism.runtime.launch import prepare
    from prism.runtime.tensor_maps import encode

    (m, k), n = sets[0][0].shape, sets[0][1].shape[1]
    trans = cut.transposes_out((layout[0] == "T", layout[1] == "N"))
    rows, columns = (n, m) if trans else (m, n)
    made = (layout[1] == "N", layout[0] == "T") if trans else (layout[0] == "T", layout[1] == "N")
    late = follows_late(cut, rows, columns, k, PROCESSORS, made) if early is None else not early
    launch = prepare(replace(entry, programmatic=not late), 0)
    down, across = cut.tiles(rows, columns)
    grid = blocks(cut, down, across, PROCESSORS)
    many = group_m(cut, down, across, PROCESSORS)
    ahead = (steps_early(cut, rows, columns, k, PROCESSORS) if steps is None else steps) * cut.bk
    values = []
    for a, b, c in sets:
        operands = (a.T if layout[0] == "T" else a, b.T if layout[1] == "T" else b)
        operands = (*operands[:: -1 if trans else 1], c, c)
        operands = operands[: 2 if cut.parts > 1 else None]
        maps = [encode(p, describe(x)) for p, x in zip(entry.parameters, operands, strict=False)]
        unread = a.data_ptr()  # in place of a bias, and of scales
        how = (1.0,) if cut.parts > 1 else (many, ahead, 1.0, 0.0)
        values.append((*maps, c.data_ptr(), n, unread, rows, columns, k, *how, unread, unread))
    return lambda i, stream: launch(grid, cut.threads, stream, values[i % len(values)])


def cublas(sets: Sequence[tuple[Any, Any, Any]]) -> Callable[[int, int], None]:
    """Return a call of torch.matmul."""
    import torch

    return lambda i, stream: torch.matmul(sets[i % len(sets)][0], sets[i % len(sets)][1], out=sets[i % len(sets)][2])


def fault(a: Any, b: Any, c: Any) -> str:
    """Return how a result differs from float64's by more than KERNELS.md 6 allows, or nothing; 48 rows of it."""
    import torch

    rows = torch.randint(0, a.shape[0], (48,), device="cuda")
    rows[0], rows[1] = 0, a.shape[0] - 1
    exact, size = a[rows].double() @ b.double(), a[rows].double().abs() @ b.double().abs()
    bound = EPS_OUT * exact.abs() + 2 * a.shape[1] ** 0.5 * EPS_SUM * size
    wrong = ~((c[rows].double() - exact).abs() <= bound)
    return f"{int(wrong.sum())} of {wrong.numel()} sampled elements are wrong" if bool(wrong.any()) else ""


# -- a first run, in a process of its own -----------------------------------------------------------------------------------


def first_run(names: Sequence[str], layout: str) -> int:
    """Run configurations on odd shapes, with exact sums; print a line for each as it is done."""
    import torch

    wanted = dict.fromkeys(names)
    every = {cut.name: cut for cut in all_cuts() if cut.name in wanted}
    for name in wanted:
        print("begin", name, flush=True)
        _, _, entry, text = compiled((every[name], layout))
        bad = "" if entry is not None else text
        for m, n, k in FIRST_SHAPES if entry is not None else ():
            a, b = (torch.randint(-1, 2, s, device="cuda").to(torch.bfloat16) for s in ((m, k), (k, n)))
            a = a.T.contiguous().T if layout[0] == "T" else a
            b = b.T.contiguous().T if layout[1] == "T" else b
            c = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
            call = call_of(entry, every[name], [(a, b, c)], layout)
            for i in range(3):
                call(i, torch.cuda.current_stream().cuda_stream)
            torch.cuda.synchronize()
            exact = (a.float() @ b.float()).to(torch.bfloat16)
            if not torch.equal(c, exact):
                at = (c != exact).nonzero()
                bad += f" {m}x{n}x{k}: {len(at)} of {m * n} elements differ, the first at {at[0].tolist()};"
        print("end", name, "|", bad or "exact", flush=True)
    return 0


def sound(cuts: Sequence[C], layout: str, limit: float) -> set[str]:
    """Return the names of the configurations that are exact; print what the others do. A hang costs `limit` seconds."""
    left, good = [cut.name for cut in cuts], set()
    while left:
        command = [sys.executable, __file__, "--first-run", layout, *left]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            text += "\nHANG"
        done = [line.removeprefix("end ").split(" | ") for line in text.splitlines() if line.startswith("end ")]
        for name, verdict in done:
            if verdict == "exact":
                good.add(name)
            else:
                print(f"  {name} {layout}: {verdict}")
            left.remove(name)
        if left:
            tail = "hangs" if text.endswith("HANG") else "ends the process: " + " / ".join(text.splitlines()[-4:])
            print(f"  {left[0]} {layout}: {tail}", flush=True)
            left.pop(0)
    print(f"{len(good)} of {len(cuts)} configurations are exact in {layout} ({elapsed():.0f} s)", flush=True)
    return good


# -- timing -----------------------------------------------------------------------------------------------------------------


def elapsed() -> float:
    return time.monotonic() - START


def graph_of(call: Callable[[int, int], None], launches: int) -> Any:
    """Return a CUDA graph of so many calls."""
    import torch

    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call(0, stream.cuda_stream)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                call(i, torch.cuda.current_stream().cuda_stream)
    return graph


def compare(graphs: dict[str, Any], launches: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a call in each round. The order alternates: the second of two runs hotter."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(rounds + 1):
        for name in list(graphs)[:: 1 if number % 2 else -1]:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graphs[name].replay()
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if number:
                times[name].append(begin.elapsed_time(end) / launches / 1e3)
    return times


class Meter:
    """The GPU's clock, watts and joules, where NVML tells them."""

    def __init__(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
            self.nvml, self.handle = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception:
            self.nvml = None

    def now(self) -> tuple[float, float, float]:
        """Return MHz, watts, and joules so far."""
        if self.nvml is None:
            return 0.0, 0.0, 0.0
        clock = self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM)
        watts = self.nvml.nvmlDeviceGetPowerUsage(self.handle) / 1e3
        return clock, watts, self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3


def heat(graph: Any, seconds: float) -> None:
    """Keep the GPU busy."""
    import torch

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        graph.replay()
        torch.cuda.synchronize()


@dataclass
class Turns:
    """What a kernel's turns came to: the seconds of a launch in each, and in all of them the joules, seconds and launches."""

    seconds: list[float]
    joules: float = 0.0
    lasted: float = 0.0
    launches: int = 0


def long_turns(graphs: dict[str, Any], launches: int, meter: Meter, rounds: int = 4) -> dict[str, Turns]:
    """Run graphs in turns of 0.25 s each, so that each heats the GPU for itself; the first 0.08 s do not count."""
    import torch

    found = {name: Turns([]) for name in graphs}
    for number in range(rounds):
        for name in list(graphs)[:: 1 if number % 2 else -1]:
            heat(graphs[name], 0.08)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            joules, began, count = meter.now()[2], time.monotonic(), 0
            begin.record()
            while time.monotonic() < began + 0.17:
                graphs[name].replay()
                graphs[name].replay()
                torch.cuda.synchronize()
                count += 2 * launches
            end.record()
            end.synchronize()
            one = found[name]
            one.seconds.append(begin.elapsed_time(end) / count / 1e3)
            one.joules += meter.now()[2] - joules
            one.lasted += time.monotonic() - began
            one.launches += count
    return found


def ratio_of(peer: Sequence[float], mine: Sequence[float]) -> float:
    """Return how much longer the peer takes, the median over the rounds."""
    return statistics.median(p / t for p, t in zip(peer, mine, strict=True))


def measure(text: str, entries: dict[tuple[C, str], Any], good: set[str], meter: Meter, rounds: int) -> dict[str, Any]:
    """Print and return the table of one shape."""
    import torch

    m, n, k = parse_size(text)
    flops, sets = 2.0 * m * n * k, matrices(m, n, k)
    small = flops < 5e10
    tried = {cut.name: entries[cut, "NN"] for cut in candidates(m, n, k) if cut.name in good and (cut, "NN") in entries}
    cuts = {cut.name: cut for cut in candidates(m, n, k)}
    calls = {"cuBLAS": cublas(sets), **{name: call_of(entry, cuts[name], sets) for name, entry in tried.items()}}
    launches = max(2, min(400, int(12e-3 * 6e14 / flops)))
    launches = max(launches, len(sets)) if small else launches
    graphs, wrong = {}, {}
    for name, call in calls.items():
        sets[0][2].fill_(torch.nan)
        graphs[name] = graph_of(call, launches)
        graphs[name].replay()
        torch.cuda.synchronize()
        wrong[name] = fault(*sets[0])
    if not small:
        heat(graphs["cuBLAS"], 0.3)
    times = compare(graphs, launches, 3 * rounds if small else rounds)
    clock, watts, _ = meter.now()
    peer = statistics.median(times["cuBLAS"])
    state = f"{clock:.0f} MHz, {watts:.0f} W, {len(sets)} sets"
    print(f"\n{text}: cuBLAS {peer * 1e6:.2f} us, {flops / peer / 1e12:.0f} TFLOP/s ({state})")
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "us": statistics.median(seen) * 1e6,
            "ratio": ratio_of(times["cuBLAS"], seen),
            "fault": wrong[name],
        }
        for name, seen in times.items()
    ]
    rows.sort(key=lambda row: -row["ratio"])
    for row in rows:
        mark = "  <- the library's choice" if row["name"] == next(iter(cuts)) else ""
        print(f"  {row['ratio']:6.3f} {row['us']:9.2f} us  {row['name']} {row['fault']}{mark}")
    table = {"shape": text, "clock": clock, "watts": watts, "rows": rows}
    chosen = [name for name in list(cuts)[:1] if wrong.get(name) == ""]
    top = list(dict.fromkeys([*chosen, *best(table, 2)]))[:2]
    other = call_of(tried[top[0]], cuts[top[0]], sets, early=False)
    final = {name: graphs[name] for name in ("cuBLAS", *top)} | {f"{top[0]}, not early": graph_of(other, launches)}
    table["again"] = again(flops, final, launches, meter, small)
    print(f"  ({elapsed():.0f} s)", flush=True)
    return table


def again(flops: float, graphs: dict[str, Any], launches: int, meter: Meter, small: bool) -> list[dict[str, Any]]:
    """Measure a few once more, in long turns where power binds, and print them; the first both ways: early, or not."""
    turns = {} if small else long_turns(graphs, launches, meter)
    times = compare(graphs, launches, 20) if small else {name: one.seconds for name, one in turns.items()}
    rows = []
    for name, seen in times.items():
        seconds, text = statistics.median(seen), ""
        row = {"name": name, "us": seconds * 1e6, "ratio": ratio_of(times["cuBLAS"], seen)}
        if turns:
            row |= {"watts": turns[name].joules / turns[name].lasted}
            row |= {"picojoules": turns[name].joules / (turns[name].launches * flops) * 1e12}
            text = f"{row['watts']:5.0f} W {row['picojoules']:6.3f} pJ a flop  "
        rows.append(row)
        rate = flops / seconds / 1e12
        print(f"    again {row['ratio']:6.3f} {row['us']:9.2f} us {rate:5.0f} TFLOP/s  {text}{name}", flush=True)
    return rows


def best(table: dict[str, Any], many: int = 1) -> list[str]:
    """Return the names of the fastest of Prism's in a table."""
    rows = sorted((r for r in table["rows"] if r["name"] != "cuBLAS" and not r["fault"]), key=lambda r: -r["ratio"])
    return [row["name"] for row in rows[:many]]


def layouts(text: str, entries: dict[tuple[C, str], Any], meter: Meter) -> None:
    """Print the speed of the library's choice in each layout, beside cuBLAS's, in long turns."""
    import torch

    m, n, k = parse_size(text)
    flops, cuts = 2.0 * m * n * k, {layout: choice(text, layout) for layout in LAYOUTS}
    graphs: dict[str, Any] = {}
    kept, wrong = [], {}
    launches = max(2, int(12e-3 * 6e14 / flops))
    for layout in LAYOUTS:
        cut = cuts[layout]
        if (cut, layout) not in entries:
            continue
        sets = matrices(m, n, k, layout, most=1 << 30)
        kept.append(sets)
        graphs[f"cuBLAS {layout}"] = graph_of(cublas(sets), launches)
        sets[0][2].fill_(torch.nan)
        graphs[layout] = graph_of(call_of(entries[cut, layout], cut, sets, layout), launches)
        graphs[layout].replay()
        torch.cuda.synchronize()
        wrong[layout] = fault(*sets[0])
    times = {name: one.seconds for name, one in long_turns(graphs, launches, meter).items()}
    print(f"\n{text} by layout, long turns: TFLOP/s, ratio to cuBLAS, ratio to NN")
    for layout in wrong:
        rate = flops / statistics.median(times[layout]) / 1e12
        peer, own = ratio_of(times[f"cuBLAS {layout}"], times[layout]), ratio_of(times["NN"], times[layout])
        print(f"  {layout} {rate:5.0f} {peer:6.3f} {own:6.3f} {cuts[layout].name} {wrong[layout]}")
    print(f"  ({elapsed():.0f} s)", flush=True)


def odd(text: str) -> None:
    """Print the time of `prism.lib.hgemm` at a shape whose operands it must copy, beside torch.matmul."""
    import torch

    from prism.lib import hgemm

    sets, calls = matrices(*parse_size(text)), 60

    def microseconds(call: Callable[..., Any]) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for i in range(calls):
            a, b, c = sets[i % len(sets)]
            call(a, b, out=c)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / calls * 1e3

    times = [(microseconds(hgemm), microseconds(torch.matmul)) for _ in range(5)]
    mine, peer = (statistics.median(one) for one in zip(*times, strict=True))
    a, b, c = sets[0]
    hgemm(a, b, out=c.fill_(torch.nan))
    wrong = fault(a, b, c)
    print(f"\n{text}: prism.lib.hgemm {mine:.1f} us, torch.matmul {peer:.1f} us, ratio {peer / mine:.3f} {wrong}")


# -- main -------------------------------------------------------------------------------------------------------------------


def prepared(shapes: Sequence[str]) -> tuple[dict[tuple[C, str], Any], set[str]]:
    """Compile what the shapes' candidates are, and return it, with the names of those that are exact."""
    cuts = list(dict.fromkeys(cut for text in shapes for cut in candidates(*parse_size(text))))
    others = [(choice(text, layout), layout) for text in BY_LAYOUT if text in shapes for layout in LAYOUTS[1:]]
    requests = list(dict.fromkeys([*((cut, "NN") for cut in cuts), *others]))
    entries = compile_all(requests)
    good = sound([cut for cut in cuts if (cut, "NN") in entries], "NN", 45.0)
    for layout in LAYOUTS[1:]:
        every = [cut for cut, of in requests if of == layout and (cut, of) in entries]
        right = sound(every, layout, 30.0) if every else set()
        entries = {key: entry for key, entry in entries.items() if key[1] != layout or key[0].name in right}
    return entries, good


def choice(text: str, layout: str = "NN") -> C:
    """Return what the library chooses for a shape."""
    return choose(*parse_size(text), PROCESSORS, layout=(layout[0] == "T", layout[1] == "N"), parted=True)


def tables_of(
    shapes: Sequence[str], entries: dict[tuple[C, str], Any], good: set[str], options: Any
) -> list[dict[str, Any]]:
    """Measure shape by shape; what fails is told, and the next goes on."""
    import torch

    meter, found = Meter(), []
    for text in shapes:
        if elapsed() > options.seconds:
            print(f"{text}: no time left")
            continue
        try:
            found.append(measure(text, entries, good, meter, options.rounds))
        except Exception as error:
            print(f"{text}: {type(error).__name__}: {error}", flush=True)
        torch.cuda.empty_cache()
    for text in BY_LAYOUT:
        if text in shapes and elapsed() < options.seconds:
            layouts(text, entries, meter)
    if elapsed() < options.seconds:
        odd(ODD)
    return found


def main() -> int:
    """Measure, print tables, and write what was found."""
    if sys.argv[1:2] == ["--first-run"]:
        return first_run(sys.argv[3:], sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    entries, good = prepared(options.shapes.split(","))

    import torch

    from prism.runtime.compile import nvrtc_version

    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, NVRTC {nvrtc_version()}; above 1: Prism is faster"
    )
    tables = tables_of(options.shapes.split(","), entries, good, options)
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
