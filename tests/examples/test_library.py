"""The examples on the CPU: softmax, layernorm, stream compaction, run lengths, sparse products, histograms, transforms."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest

import prism
from examples import fft, histogram, layernorm, rle, softmax, spmv, stream_compaction
from prism.interpret import run
from tests.examples.library import CASES, CLOSE, HOPPER

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = (
    "softmax", "layernorm", "stream_compaction", "rle", "spmv", "histogram", "fft", "rope", "kmeans", "radix_partition",
    "tile_ring", "tile_store", "linear", "attention",
)  # fmt: skip


@pytest.mark.parametrize("name", [*CASES, *HOPPER])
def test_against_numpy(name: str) -> None:
    compare = {**CASES, **HOPPER}[name]
    compare(lambda x: x)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_script_says_what_numpy_says(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / f"{script}.py"
    most = {
        "spmv": 70,
        "stream_compaction": 70,
        "rle": 80,
        "fft": 85,
        "kmeans": 80,
        "radix_partition": 100,
        "linear": 70,
        "attention": 105,
    }.get(script, 60)
    assert len(path.read_text(encoding="utf-8").splitlines()) < most
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out.strip()
    if "off NumPy's by at most" in printed:
        assert float(printed.split()[-1]) < (CLOSE if script == "attention" else 1e-5)
    else:
        assert printed.endswith("True")


def test_with_all_checks_of_the_reference_machine() -> None:
    x = np.random.default_rng(0).normal(size=(2, 200)).astype(np.float32)
    for schedule, seed in (("round-robin", 0), ("reversed", 0), ("random", 1)):
        options = {"check": True, "schedule": schedule, "seed": seed}
        y = np.zeros_like(x)
        lowest = np.float32(-np.inf)
        softmax.softmax_rows[2, 128](x, y, 200, lowest, template={"ITEMS": 2}, **options)
        assert np.allclose(y, softmax.reference(x))
        ones, zeros, epsilon = np.ones(200, np.float32), np.zeros(200, np.float32), np.float32(1e-5)
        layernorm.normalised_rows[2, 128](x, ones, zeros, y, 200, epsilon, template={"ITEMS": 2}, **options)
        assert np.allclose(y, layernorm.reference(x, ones, zeros), atol=1e-5)
        data = np.random.default_rng(1).normal(size=1000).astype(np.float32)
        many = np.random.default_rng(1).normal(size=5000).astype(np.float32)
        kept, number = np.zeros((many > 0).sum(), np.float32), np.zeros(1, np.int64)
        scratch = np.zeros(6, np.uint64), 3, np.zeros(1, np.uint64)
        stream_compaction.compact[2, 128](many, kept, number, 5000, *scratch, **options)
        assert number[0] == kept.size and np.array_equal(kept, many[many > 0])
        words = np.repeat(np.arange(900, dtype=np.int32), 3)
        starts, number = np.zeros(900, np.int64), np.zeros(1, np.int64)
        scratch = np.zeros(4, np.uint64), 2, np.zeros(1, np.uint64)
        rle.run_starts[2, 128](words, starts, number, 2700, *scratch, **options)
        assert number[0] == 900 and np.array_equal(starts, 3 * np.arange(900))
        matrix = spmv.random_matrix(13, 50, 0.3)
        sums = np.zeros(13, np.float32)
        spmv.rows_times[1, 128](*matrix, x[0, :50].copy(), sums, 13, template={"LANES": 8}, **options)
        assert np.allclose(sums, spmv.reference(*matrix, x[0, :50]), atol=1e-5)
        bytes = np.random.default_rng(2).integers(0, 256, 5003, dtype=np.uint8)
        bins = np.zeros(256, np.uint32)
        histogram.counted[2, 256](bytes, bins, 5003, **options)
        assert np.array_equal(bins, np.bincount(bytes, minlength=256))
        line = data[:512].view(np.complex64).reshape(1, 256)
        turned = np.zeros_like(line)
        fft.transforms[1, 64](line, turned, template={"POINTS": 256, "STEPS": 4}, **options)
        assert np.allclose(turned, np.fft.fft(line), atol=1e-4)


def test_nobody_wrote_a_barrier_and_they_compile() -> None:
    for kernel, template in (
        (softmax.softmax_rows, {"ITEMS": 8}),
        (layernorm.normalised_rows, {"ITEMS": 8}),
        (stream_compaction.compact, {}),
        (rle.run_starts, {}),
        (histogram.counted, {}),
        (fft.transforms, {"POINTS": 1024, "STEPS": 5}),
    ):
        program = prism.check(kernel, template)
        assert any(plan.barriers for plan in program.plans.values())
        assert prism.compile(kernel, template).cubin
    assert prism.compile(spmv.rows_times, {"LANES": 8}).cubin  # whose lanes meet in shuffles alone
    text = "".join((EXAMPLES / f"{script}.py").read_text(encoding="utf-8") for script in SCRIPTS)
    assert "unsafe" not in text and "sync" not in text


MISTAKES = [
    # CUB: "the return value is undefined in threads other than thread 0" - here a thread's sum is no block's.
    ("softmax", "softmax_rows", "= block.reduce(own, OP=operators.maximum)", "= own", "write-down"),
    # CUB: a WarpReduce is a warp's alone.
    (
        "layernorm",
        "normalised_rows",
        "squares: float32 @ block[1] = block.",
        "squares: float32 @ block[1] = warp.",
        "write-down",
    ),
    # CUB: all threads of the block must call its collectives: not one warp.
    (
        "stream_compaction",
        "compact",
        "                block.store_striped(target, items, held)",
        "                match split(warp):\n                    case 1:\n"
        "                        block.store_striped(target, items, held)",
        "call-bound",
    ),
    # ... and not those alone for which an `if` holds.
    (
        "rle",
        "run_starts",
        "            coming = block.compact(",
        "            if first < n:\n                coming = block.compact(",
        "cond",
    ),
]


@pytest.mark.parametrize(
    ("script", "kernel", "right", "wrong", "code"), MISTAKES, ids=lambda x: x if x in SCRIPTS else ""
)
def test_the_mistakes_that_cub_warns_of_do_not_compile(
    script: str, kernel: str, right: str, wrong: str, code: str, tmp_path: Path
) -> None:
    text = (EXAMPLES / f"{script}.py").read_text(encoding="utf-8")
    assert text.count(right) == 1
    text = (
        text.replace(right, wrong)
        .replace("import block, ", "import block, split, warp, ")
        .replace("    block, ", "    block, split, warp, ", 1)
    )
    path = tmp_path / f"{script}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"wrong_{script}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    template = {"softmax": {"ITEMS": 2}, "layernorm": {"ITEMS": 2}}.get(script, {})
    with pytest.raises(prism.CompileError) as caught:
        prism.check(getattr(module, kernel), template)
    assert caught.value.code == code


def test_a_softmax_without_its_barrier_is_reported() -> None:
    """The reduction's scratch is read by all warps: without the barrier the machine sees the race."""
    program = prism.check(softmax.softmax_rows, {"ITEMS": 1})
    plan = next(plan for plan in program.plans.values() if plan.function.name == "reduce" and plan.barriers)
    without = program.with_plan(plan.drop_step(plan.barriers[0]))
    x = np.ones((1, 100), np.float32)
    with pytest.raises(prism.interpret.RaceError):
        run(without, 1, 128, (x, x.copy(), 100, -np.inf), check=True)
