"""Whatever the shape, dtype, axis and alignment: what the host functions launch is among the kernels that ship.

Tests of prism/lib/algorithms/scan/ships.py; prism/lib/algorithms/segments/ships.py; prism/lib/algorithms/keys/ships.py;
prism/lib/algorithms/reduce/ships.py; prism/lib/algorithms/rows/ships.py.
"""

import random
from collections.abc import Iterator

import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 then
import numpy as np
import pytest

from prism import lib
from prism.host import call, machine
from prism.host.axes import c_strides, collapse
from prism.lib import algorithms, operators, shipped_kernels
from prism.lib.algorithms.reduce import api as reductions
from prism.lib.algorithms.reduce import calls as reduce_calls
from prism.lib.algorithms.reduce.plan import plan_reduction, plan_search, stages
from prism.lib.algorithms.reduce.ships import ships_along, ships_search_along
from prism.lib.algorithms.scan import api as scans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan import ships as scan_ships
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.scan.ships import COMMON
from prism.runtime.arrays import BFLOAT16
from prism.runtime.instance import Instance, instance
from tests.lib import ships

DRAWS, MANY = 100, 4000
SUM = next(one for one in reductions.NAMED if one.name == "sum")
DTYPES = [*(np.dtype(name) for name in (*scans.NATIVE, "float16", "bool")), BFLOAT16]
REDUCTIONS = (*reductions.NAMED, *reductions.OPERATORS)
SMALL = 24  # multiprocessors of a small GPU, which no kernel was chosen for
GPUS = [
    (arch, count) for arch in shipped_kernels.ARCHITECTURES for count in (*shipped_kernels._PROCESSORS[arch], SMALL)
]


def shape_of(draw: random.Random) -> tuple[int, ...]:
    """A shape of up to three dimensions and 2^28 elements: powers of two, and others."""
    sizes = []
    room = draw.randrange(1, 29)
    for _ in range(draw.randrange(1, 4)):
        log = draw.randrange(0, room + 1)
        room -= log
        sizes.append(max(1, (1 << log) + draw.choice((0, 0, 0, -1, 1, draw.randrange(0, 1 + (1 << log) // 2)))))
    draw.shuffle(sizes)
    return tuple(sizes)


def reduced(draw: random.Random, arch: str, processors: int) -> Iterator[Instance]:
    """What a random reduction, or search for a position, launches."""
    gpu, shape, dtype = shipped_kernels._Gpu(arch, processors), shape_of(draw), draw.choice(DTYPES)
    misaligned = draw.choice((0, dtype.itemsize * draw.randrange(16 // dtype.itemsize)))
    if draw.random() < 0.25:
        axes = tuple(range(len(shape))) if draw.random() < 0.3 else (draw.randrange(len(shape)),)
        stage = collapse(shape, c_strides(shape), axes)
        assert stage is not None, "one axis of a C-contiguous array, or all, are one stage"
        if len(axes) < len(shape) and not ships_search_along(dtype):
            return
        plan = plan_search(reduce_calls.search_of(draw.random() < 0.5, dtype), stage, misaligned, gpu)
    else:
        axes = tuple(sorted(draw.sample(range(len(shape)), draw.randrange(1, len(shape) + 1))))
        along = [one for one in reductions.NAMED if ships_along(one, dtype)]
        known = REDUCTIONS if len(axes) == len(shape) else along
        work = reduce_calls.work_of(draw.choice(known), dtype) or reduce_calls.work_of(SUM, dtype)
        assert work is not None
        found = stages(shape, c_strides(shape), axes, commutative=True)
        assert found is not None
        plan = plan_reduction(work, found, misaligned, gpu)
    yield from (step.instance for step in plan.steps)


def scanned(draw: random.Random, processors: int) -> Iterator[Instance]:
    """What a random scan launches: of a whole array by any operator of numbers, along axes what a cumulative function does.

    Nothing where it is one that is compiled when it is first asked for.
    """
    shape, dtype = shape_of(draw), draw.choice(("bool", *scans.SUPPORTED))
    axis = draw.choice((None, *range(len(shape))))
    extents = scans.split_shape(shape, axis)
    if axis is None and dtype != "bool":
        known = [one for one in operators.BY_NAME.values() if not one.integral]
        task = Task(draw.choice(known), dtype, dtype)
    else:
        name = draw.choice(("add", "multiply", "maximum", "minimum"))
        sums = name in ("add", "multiply") and dtype != "bfloat16"
        result = np.zeros(0, dtype).cumsum().dtype.name if sums else dtype  # NumPy's promotion
        task = Task(operators.BY_NAME[name], dtype, result)
    if not (scan_ships.ships_along_columns if extents[1] > 1 and extents[2] > 1 else scan_ships.ships)(task):
        return
    past = (0, 0) if draw.random() < 0.7 else (draw.randrange(8), draw.randrange(8))
    way = scan_plans.on_device(task, Shape(*extents, past == (0, 0), past), processors)
    yield instance(way.kernel, tuple(way.template.items()))


def check(arch: str, processors: int, draws: int) -> None:
    draw = random.Random(f"{arch} {processors}")
    for _ in range(draws):
        for one in (*reduced(draw, arch, processors), *scanned(draw, processors)):
            assert one.request in ships.requests(arch), (one.kernel.__name__, dict(one.template))


@pytest.mark.parametrize(("arch", "processors"), GPUS)
def test_what_random_calls_launch_ships(arch: str, processors: int) -> None:
    check(arch, processors, DRAWS)


@pytest.mark.fuzz
@pytest.mark.parametrize(("arch", "processors"), GPUS)
def test_what_many_random_calls_launch_ships(arch: str, processors: int) -> None:
    check(arch, processors, MANY)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Instance]]:
    """What calls with NumPy arrays launch, none of which is run: the reference machine says that it is an H200."""
    found: list[Instance] = []
    for name, value in (("host", False), ("arch", "sm_90a"), ("multiprocessors", 132)):
        monkeypatch.setattr(machine.Host, name, value)
    monkeypatch.setattr(machine.Host, "wave", lambda self, instance, threads: 264)
    monkeypatch.setattr(machine, "run_step", lambda step, *_, **__: found.append(step.instance))
    call.forget()
    yield found
    call.forget()


@pytest.mark.parametrize("dtype", COMMON)
@pytest.mark.parametrize("key", ["int32", "uint32", "int64", "uint64"])
def test_what_usual_calls_by_key_launch_ships(launched: list[Instance], key: str, dtype: str) -> None:
    keys, x = np.zeros(1 << 12, key), np.zeros(1 << 12, dtype)
    lib.scan_by_key(keys, x)
    lib.reduce_by_key(keys, x)
    assert [one.kernel.__name__ for one in launched] == ["scan_segments", "reduce_runs"]
    assert all(one.request in ships.requests("sm_90a") for one in launched)


@pytest.mark.parametrize("n", [32, 128, 768, 1024, 2048, 8192, 65_536])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_usual_calls_along_rows_launch_ships(launched: list[Instance], dtype: str, n: int) -> None:
    x, weight = np.zeros((16, n), dtype), np.ones(n, dtype)
    lib.softmax(x)
    lib.softmax(x, scale=0.5)
    lib.rms_norm(x, weight)
    lib.layer_norm(x, weight, weight)
    assert [one.kernel.__name__ for one in launched] == ["softmax_rows", "softmax_rows", "norm_rows", "norm_rows"]
    assert all(one.request in ships.requests("sm_90a") for one in launched)


@pytest.mark.parametrize("n", [2048, 4096, 5120, 16_384])
def test_norms_of_8_bits_before_products_ship(launched: list[Instance], n: int) -> None:
    x, weight = np.zeros((16, n), "bfloat16"), np.ones(n, "bfloat16")
    lib.rms_norm(x, weight, dtype="float8_e4m3fn")
    if n <= 8192:  # of two arrays wider rows are shared by clusters
        lib.rms_norm(x, weight, residual=x, dtype="float8_e4m3fn")
    lib.layer_norm(x, weight, weight, dtype="float8_e4m3fn")
    assert {one.kernel.__name__ for one in launched} == {"rms_quantize_rows", "norm_quantize_rows"}
    assert all(one.request in ships.requests("sm_90a") for one in launched)


BUDGET = {
    "reduce": 530, "scan": 330, "hgemm": 235, "sgemm": 105, "select": 125, "sort": 128, "sort_rows": 99, "topk": 70,
    "histogram": 60, "attention_decode": 55, "attention_backward": 50, "segments": 40, "ranks": 40, "search": 39,
    "attention": 25, "rows": 39, "keys": 20, "take": 10, "transform": 15, "copies": 40, "merge": 20,
}  # fmt: skip
"""How many kernels an algorithm may ship for Hopper: of one, `prism build` takes about 0.4 s of a processor.

Rows: those that sort the lists of three lengths in one launch are beside those that sort rows where they lie.
Sorts: positions of many float32, and their values in two cuts, are sorted by wide digits too; keys of 4 bytes by shares and
by groups, and, where these fail, by digits.
Searches: of 8 bytes a thread has more values where there are many, as those that rise go down together.
Searches: four of them, one block each, say which way the edges of `digitize` run, so that the host needs no copy.
"""


def test_no_algorithm_ships_more_kernels_than_it_should() -> None:
    gpus = [shipped_kernels._Gpu("sm_90a", count) for count in shipped_kernels._PROCESSORS["sm_90a"]]
    seen: set[str | None] = set()
    for row, module in algorithms.parts("ships"):
        mine = {one.request for gpu in gpus for one in module.instances(gpu)} - seen
        assert len(mine) <= BUDGET[row], f"{row} ships {len(mine)}: merge some, or say here why not"
        seen |= mine
