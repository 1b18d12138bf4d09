"""The product whose K is in parts, on the reference machine with all its checks, and when it is chosen."""

import functools

import numpy as np
import pytest

from prism.interpret import SCHEDULES, run
from prism.kernels.hgemm import Configuration, choose, cuts, identity
from prism.kernels.hgemm.candidates import PROCESSORS
from prism.kernels.hgemm.configurations import clocks, resident_clusters
from prism.lang import device, float32, requires, thread
from prism.lang.types.shorts import bf16_bits
from prism.lib.algorithms.hgemm.plan import instance_for, program_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.rarely import rarely

NN = False, True
LAYOUTS = ((False, False), (False, True), (True, False), (True, True))
TWO, FOUR = Configuration(64, 64, 2, 1, parts=2), Configuration(128, 64, 2, bk=64, parts=4)
THIN = Configuration(64, 32, 2, 1, parts=4)  # made as the transpose, where `b` has K outside and `a` inside


@device
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    return x if x > 0.0 else 0.0


@functools.cache
def program(kind, result, transposed, per, epilogue, cut, scales, trans):
    return program_for(kind, result, transposed, False, False, per, epilogue, cut, 0, "", trans, scales)


def exact(
    m,
    n,
    k,
    cut=TWO,
    *,
    kind="bfloat16",
    transposed=NN,
    per=0,
    epilogue=identity,
    scales=(0, 0),
    trans=False,
    **options,
) -> bool:
    """Whether small integers, whose sums are exact, come out right, and nothing beside them is written."""
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-2, 3, (m, k)), rng.integers(-2, 3, (k, n))
    bias = rng.integers(-2, 3, max(m, n))
    factors = [rng.integers(-1, 3, extent if many == 2 else 1) for many, extent in zip(scales, (m, n), strict=True)]
    out = np.full((m, n + 8), np.nan, np.float32)
    bits = bf16_bits if kind == "bfloat16" else lambda x: x.astype(np.float16)
    given = (a.T if transposed[0] else a, b if transposed[1] else b.T)
    step = -1 if trans else 1  # the kernel makes the transpose, of b and a
    arguments = (
        *[bits(np.ascontiguousarray(x, np.float32)) for x in given[::step]], out.reshape(-1), n + 8,
        bits(bias.astype(np.float32)), *(m, n)[::step], k, 2.0, *[x.astype(np.float32) for x in factors[::step]],
    )  # fmt: skip
    down, across = cut.tiles(*(m, n)[::step])
    of = (0, 2, 1)[per] if trans else per
    code = program(kind, "float32", transposed[::step], of, epilogue, cut, scales[::step], trans)
    run(code, down * across * cut.cluster, cut.threads, arguments, check=True, **options)
    rows, columns = (np.ones(1) if many == 0 else x for many, x in zip(scales, factors, strict=True))
    wanted = 2.0 * rows[:, None] * columns * (a @ b)
    wanted = wanted + (bias[:n] if per == 1 else bias[:m, None] if per == 2 else 0)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :n], np.maximum(wanted, 0) if epilogue is relu else wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    assert exact(72, 72, 600, schedule=schedule, seed=1)


@pytest.mark.parametrize("k", [1, 64, 65, 128, 136, 320, 520])
def test_parts_of_few_steps_and_of_none(k: int) -> None:
    assert exact(40, 72, k) and exact(136, 8, k, FOUR)


@pytest.mark.covering(1)
@pytest.mark.parametrize("transposed", LAYOUTS)
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_layouts(transposed: tuple[bool, bool], kind: str) -> None:
    assert exact(72, 136, 264, transposed=transposed, kind=kind)
    assert exact(136, 72, 264, FOUR, transposed=transposed, kind=kind)
    assert exact(20, 136, 264, THIN, transposed=transposed, kind=kind, trans=THIN.transposes_out(transposed))


@pytest.mark.parametrize("m, n", [(1, 1), (1, 130), (63, 64), (64, 65), (129, 63)])
def test_edges(m: int, n: int) -> None:
    assert exact(m, n, 200) and exact(m, n, 200, FOUR)


@pytest.mark.covering(1)
@pytest.mark.parametrize("scales", [(0, 1), (1, 2), (2, 0), (2, 2)])
@pytest.mark.parametrize("per", [0, 1, 2])
def test_what_comes_after(scales: tuple[int, int], per: int) -> None:
    assert exact(72, 72, 136, scales=scales, per=per, epilogue=relu)
    assert exact(20, 72, 136, THIN, scales=scales, per=per, epilogue=relu, trans=True)


CHOSEN = cuts((False, False), parted=True)


@pytest.mark.parametrize("cut", rarely(CHOSEN, but=CHOSEN[::4]), ids=lambda found: found.name)
def test_all_that_are_chosen(cut: Configuration) -> None:
    """They are exact on the reference machine: most blocks have two steps, the last one fewer."""
    assert exact(20 if cut.trans else 72, 72, 2 * cut.parts * cut.bk - 76, cut, trans=cut.transposes_out(NN))


@pytest.mark.covering(1)
@pytest.mark.parametrize("cut", rarely(CHOSEN, but=CHOSEN[::3]), ids=lambda found: found.name)
@pytest.mark.parametrize("kind, layout", [("bfloat16", NN), ("float8_e4m3fn", (False, False))])
def test_machine_code_of_all_that_are_chosen(cut: Configuration, kind: str, layout: tuple[bool, bool]) -> None:
    """No register is spilled, and a multiprocessor has room for them; `make release-check` looks at all that ship."""
    trans = cut.transposes_out(layout)
    facts = kind, "bfloat16", layout[:: -1 if trans else 1], False, False, 0, identity, cut, 0, "", trans
    made = entry_of(instance_for(*facts).program, "sm_90a")
    assert made.shared_bytes <= 227 << 10 and made.block_multiple == cut.parts
    assert compile_cubin(made.source, "sm_90a").spills == 0


@pytest.mark.parametrize("parts", [3, 5, 6])
def test_blocks_that_add_up_other_numbers_of_rows(parts: int) -> None:
    """Where rows of a tile are no multiple of the blocks, or threads have more elements than others."""
    assert exact(72, 72, 600, Configuration(64, 64, 2, 1, parts=parts))
    assert exact(70, 24, 200, Configuration(64, 24, 3, 1, parts=parts), transposed=(False, False))


def test_what_has_no_kernel() -> None:
    """What reads c, and a batch."""
    for beta, batch in ((True, 0), (False, 1)):
        with pytest.raises(AssertionError, match="reads no c"):
            instance_for("bfloat16", "bfloat16", NN, False, beta, 0, identity, TWO, batch)


def test_large_results_are_not_in_parts() -> None:
    for side in (640, 1000, 2000, 4000, 9000):
        for k in (64, 640, 4000):
            assert choose(side, side, k, PROCESSORS, layout=NN, parted=True).parts == 1


def test_clusters_that_run_at_once() -> None:
    """Of four blocks and of eight a chip has room for fewer than its multiprocessors say; what doesn't fit takes a round more."""
    two, four, eight = cuts(NN, parted=True)[:3]
    assert [resident_clusters(cut, PROCESSORS) for cut in (cuts(NN)[0], two, four, eight)] == [132, 66, 30, 15]
    assert choose(64, 64, 8192, 1, layout=NN, parted=True).parts == 1  # no room for two blocks
    assert choose(64, 64, 8192, 8, layout=NN, parted=True).parts in (2, 4)  # nor for eight
    large = next(
        cut for cut in cuts(NN, parted=True) if (cut.bm, cut.bn, cut.parts) == (128, 128, 4)
    )  # products bind, not memory
    one, more = (clocks(large, 128 * down, 128 * across, 8192, PROCESSORS) for down, across in ((6, 5), (8, 4)))
    assert more > 1.5 * one
