"""The tensor-core product on the reference machine, with all its checks: every schedule, layout, cluster, edge and epilogue."""

import functools
import re
from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.hgemm import NN, TILES, Configuration, cuts, group_m, hgemm, identity
from prism.kernels.hgemm.configurations import PADDED, STRAIGHT
from prism.lang import device, float32, requires, thread
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.types.shorts import bf16_bits, bf16_values
from prism.lib.algorithms.hgemm.plan import program_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.rarely import rarely

SMALL = Configuration(128, 64, 2, slabs=1)
ONE = Configuration(64, 64, 3, 1, ahead=0)
WIDE = Configuration(256, 160, 2, ahead=0, slabs=1, span=64, bk=128)
WIDEST = Configuration(256, 200, 3, ahead=0, span=80)
FITTING = cuts((False, False))[len(TILES) :]  # those that not all layouts have
FUZZ = pytest.mark.fuzz
NO_SCALES = np.zeros(1, np.float32)
NUMPY = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}


@device
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    return x if x > 0.0 else 0.0


def stored(values, kind: str):
    """Small integers as a type keeps them."""
    return bf16_bits(values.astype(np.float32)) if kind == "bfloat16" else values.astype(NUMPY[kind])


def numbers(array, kind: str):
    return bf16_values(array) if kind == "bfloat16" else array.astype(np.float32)


@functools.cache
def program(kind, result, transposed, plain, beta, per, epilogue, cut, trans=False, scales=(0, 0)):
    return program_for(kind, result, transposed, plain, beta, per, epilogue, cut, 0, "", trans, scales)


def multiplied(
    m, n, k, cut=SMALL, *, blocks=2, kind="bfloat16", result="bfloat16", transposed=(False, False), plain=False, beta=0.0,
    per=0, epilogue=identity, high=None, trans=False, scales=(0, 0), prefetch_k=0, **options,
):  # fmt: skip
    """Run the kernel, checked, on small integers, whose sums are exact; return what it makes, and what it should."""
    rng = np.random.default_rng(m + n + k)
    a, b, c = (rng.integers(-2, 3, shape) for shape in ((m, k), (n, k), (m, n)))
    bias = rng.integers(-2, 3, max(m, n))
    factors = [rng.integers(-1, 3, extent if many == 2 else 1) for many, extent in zip(scales, (m, n), strict=True)]
    out = np.full((m, n + 8), np.nan).astype(np.float32)
    out = stored(out, result)
    given = [np.ascontiguousarray(stored(x.T if t else x, kind)) for x, t in zip((a, b), transposed, strict=True)]
    down, across = (n, m) if trans else (m, n)
    arguments = (
        *given[:: -1 if trans else 1], stored(c, result), out[:, :n], out.reshape(-1), n + 8, stored(bias, kind),
        down, across, k, high or group_m(cut, *cut.tiles(down, across), blocks), prefetch_k, 2.0, beta,
        *[x.astype(np.float32) for x in factors[:: -1 if trans else 1]],
    )  # fmt: skip
    layout, of = (transposed[::-1], (0, 2, 1)[per]) if trans else (transposed, per)
    code = program(kind, result, layout, plain, beta != 0, of, epilogue, cut, trans, scales[:: -1 if trans else 1])
    run(code, blocks * cut.cluster, cut.threads, arguments, check=True, **options)
    rows, columns = (np.ones(1) if many == 0 else x for many, x in zip(scales, factors, strict=True))
    wanted = 2.0 * rows[:, None] * columns * (a @ b.T) + beta * c
    wanted = wanted + (bias[:n] if per == 1 else bias[:m, None] if per == 2 else 0)
    assert np.isnan(numbers(out[:, n:], result)).all(), "written beside the result"
    return numbers(out[:, :n], result), np.maximum(wanted, 0) if epilogue is relu else wanted


def batch_is_exact(
    batch, m, n, k, cut, *, blocks=2, transposed=(False, False), plain=False, beta=0.0, per=0, count=3, trans=False, **options
) -> bool:  # fmt: skip
    """Whether so many products in one launch are exact: `batch` says which operands have a matrix for each."""
    rng = np.random.default_rng(m + n + k)
    a, b = (
        rng.integers(-2, 3, (count if batch % 2 else 1, m, k)),
        rng.integers(-2, 3, (count if batch > 1 else 1, k, n)),
    )
    c, bias = rng.integers(-2, 3, (count, m, n)), rng.integers(-2, 3, max(m, n))
    out = np.full((count * m, n + 8), np.nan, np.float32)
    inside = [x.swapaxes(1, 2) if t else x for x, t in ((a, transposed[0]), (b, not transposed[1]))]
    given = [bf16_bits(np.ascontiguousarray(x, np.float32).reshape(-1, x.shape[2])) for x in inside]
    before = c.astype(np.float32).reshape(-1, n)
    down, across = (n, m) if trans else (m, n)
    arguments = (
        *given[:: -1 if trans else 1], before, out[:, :n], out.reshape(-1), n + 8, stored(bias, "bfloat16"),
        count * down, across, k, down, 0, 2.0, beta, NO_SCALES, NO_SCALES,
    )  # fmt: skip
    layout, of = (transposed[::-1], (0, 2, 1)[per]) if trans else (transposed, per)
    which = (0, 2, 1, 3)[batch] if trans else batch
    code = program_for("bfloat16", "float32", layout, plain, beta != 0, of, identity, cut, which, "", trans)
    run(code, blocks * cut.cluster, cut.threads, arguments, check=True, **options)
    wanted = 2.0 * (a @ b) + beta * c + (bias[:n] if per == 1 else bias[:m, None] if per == 2 else 0)
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :n].reshape(count, m, n), wanted)


def exact(*shape, **options) -> bool:
    found, wanted = multiplied(*shape, **options)
    return np.array_equal(found, wanted)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 3))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(200, 136, 200, schedule=schedule, seed=seed)


@pytest.mark.parametrize("k", [1, 8, 64, 65, 128, 136, 192, 320])
def test_every_number_of_rounds(k: int) -> None:
    assert exact(72, 72, k, cut=ONE)
    assert exact(136, 72, k)


@pytest.mark.parametrize("m, n", [(1, 1), (1, 130), (63, 64), (64, 65), (127, 8), (128, 64), (129, 63), (260, 200)])
def test_edges(m: int, n: int) -> None:
    assert exact(m, n, 72)


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("trans", [False, True])
def test_tiles_asked_for_early(transposed: tuple[bool, bool], trans: bool) -> None:
    """Asking changes nothing, also for what is beyond the edges; in the text it comes before the loader's wait."""
    assert exact(136, 72, 128, prefetch_k=192, blocks=4, transposed=transposed, trans=trans)
    layout = transposed[::-1] if trans else transposed
    text = emit(lower(program("bfloat16", "bfloat16", layout, False, False, 0, identity, SMALL, trans))).source
    asked = [re.search(rf"px_tma_prefetch_2d<\d, 64>\(&map_{name}", text).start() for name in "ab"]
    assert max(asked) < text.index("px_follow();  // for what")


@pytest.mark.covering(1)
@pytest.mark.parametrize("scales", [(0, 1), (1, 2), pytest.param((2, 0), marks=FUZZ), pytest.param((2, 2), marks=FUZZ)])
@pytest.mark.parametrize("trans", [False, True])
def test_scales(scales: tuple[int, int], trans: bool) -> None:
    """Of rows and columns, beside a bias and what was there before; a last tile reads none beyond the last."""
    options = {"beta": 1.0, "per": 1, "scales": scales, "trans": trans, "result": "float32"}
    assert exact(100, 72, 64, **options)
    assert exact(200, 136, 72, plain=True, **options)
    assert exact(200, 136, 72, scales=scales, trans=trans, per=2, blocks=1, result="float32", schedule="random")


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
def test_any_number_of_blocks(blocks: int) -> None:
    assert exact(260, 130, 72, blocks=blocks, high=2)


@pytest.mark.covering(1)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("trans", [False, True])
def test_layouts(transposed, kind: str, trans: bool) -> None:
    assert exact(136, 72, 136, kind=kind, result=kind, transposed=transposed, trans=trans)


FEATURES = [
    replace(SMALL, cluster_m=2), replace(SMALL, cluster_n=2), replace(SMALL, cluster_m=4, stages=3),
    replace(ONE, cluster_n=2), replace(SMALL, cluster_m=2, cluster_n=2), replace(ONE, cluster_m=4, cluster_n=2),
    replace(ONE, cluster_m=2, cluster_n=4),
    Configuration(128, 64, 2, 1, slabs=1), Configuration(256, 64, 2, slabs=1),
    Configuration(128, 96, 2, span=64),
    replace(ONE, bk=128), replace(ONE, stages=1), replace(SMALL, cluster_m=2, ahead=0, stages=1),
    Configuration(192, 64, 2, 3, slabs=1), Configuration(256, 96, 2, slabs=1, span=64, cluster_n=2),
]  # fmt: skip
OFTEN = [*FEATURES, TILES[0], TILES[-1], STRAIGHT[0], PADDED[0]]
"""One of each kind: slabs, spans that don't divide the columns, written straight, one warpgroup, three. Others differ in size."""


@pytest.mark.parametrize("cut", rarely([*FEATURES, *TILES, *STRAIGHT, *PADDED], but=OFTEN), ids=lambda cut: cut.name)
def test_cuts(cut: Configuration) -> None:
    assert exact(136, 72, 200, cut=cut, transposed=(False, True))
    assert exact(136, 72, 72, cut=cut, transposed=(True, False), schedule="random", trans=True)


@pytest.mark.parametrize("cut", rarely(FITTING, but=FITTING[::10]), ids=lambda cut: cut.name)
def test_tiles_that_fit_some_layouts(cut: Configuration) -> None:
    """Of few rows, made as the transpose, and of `b` that has K inside, of any columns."""
    assert exact(200, 136, 200, cut=cut, trans=cut.trans)
    assert exact(40, 200, 136, cut=cut, trans=cut.trans, schedule="random", beta=1.0, per=1)
    assert exact(17, 72, 136, cut=cut, trans=cut.trans, plain=True, result="float16", per=2, epilogue=relu)
    if cut in cuts(NN):
        assert exact(40, 200, 136, cut=cut, transposed=NN, trans=True)


def test_slabs_of_eight_columns() -> None:
    """88 and 104 columns are eight times a prime: a ring has eight slabs, of 16 bits; clusters, steps of 128 of K too."""
    alone = Configuration(64, 88, 4, 1, trans=True)
    pair = Configuration(64, 104, 2, 1, bk=128, cluster_n=2, trans=True)
    for cut, out_bytes, slabs in ((alone, 2, 8), (alone, 4, 4), (pair, 2, 8)):
        made = cut.cut(transpose_a=False, transpose_b=False, out_bytes=out_bytes, trans=True)
        assert (made.slab, made.slabs) == (8, slabs)
    assert exact(100, 136, 200, cut=alone, trans=True)
    assert exact(100, 72, 72, cut=alone, trans=True, result="float32", beta=1.0, per=1)
    assert exact(136, 112, 264, cut=pair, trans=True, schedule="random")


@pytest.mark.parametrize(("bn", "cluster"), [(24, 4), (88, 2), (104, 4)])
def test_parts_of_any_rows(bn: int, cluster: int) -> None:
    """Blocks of a cluster bring 6, 44 and 26 rows each: the swizzle goes by the address, not by the part."""
    cut = Configuration(64, bn, 3, 1, cluster_m=cluster, trans=True)
    assert exact(2 * bn - 5, 130 * cluster, 200, cut=cut, trans=True, schedule="random")


@pytest.mark.covering(1)
@pytest.mark.parametrize("result", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("trans", [False, True])
def test_results(result: str, plain: bool, trans: bool) -> None:
    assert exact(130, 71, 72, result=result, plain=plain, trans=trans)
    assert exact(130, 71, 72, result=result, plain=plain, trans=trans, beta=3.0, per=1)


@pytest.mark.parametrize(("transposed",), rarely([((False, False),), ((True, True),)], but=[((True, True),)]))
def test_tiles_that_are_not_whole_spans_across(transposed: tuple[bool, bool]) -> None:
    """160 columns are two spans of 128 bytes and a half: slabs, and `b` if it has K outside, are cut into spans of 64.

    200 are three spans of 128 bytes and an eighth, of which the rest is read and not used; slabs of 40 columns aren't swizzled.
    """
    assert exact(264, 168, 72, cut=WIDE, transposed=transposed, result="float32")
    for trans, (m, n) in ((False, (264, 208)), (True, (208, 264))):  # two tiles each way, the second ones almost empty
        options = {"cut": WIDEST, "transposed": transposed, "trans": trans}
        assert exact(m, n, 72, **options)
        if trans == transposed[0]:  # what is read beside the products lies as the result does, however they lie
            assert exact(m, 72, 72, result="float32", beta=1.0, per=2, **options)
            assert exact(72, n, 72, beta=1.0, per=1, **options)
        else:
            assert exact(72, n, 72, per=1, scales=(2, 2), result="float32", **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_batches_in_one_launch(batch: int, transposed: tuple[bool, bool]) -> None:
    """Tiles read the next product's rows, or beyond the last one's, where a product ends inside them, and don't write there."""
    k = 128 if any(transposed) else 72
    assert batch_is_exact(
        batch, 72, 40, k, SMALL, transposed=transposed, plain=True, beta=3.0, per=2, schedule="random"
    )
    if (batch + sum(transposed)) % 2:  # each operand's layout and each batch has both
        clusters = replace(SMALL, cluster_m=2, slabs=2)
        assert batch_is_exact(batch, 256, 72, k, clusters, transposed=transposed, beta=-1.0, per=1, count=2)
    else:
        assert batch_is_exact(batch, 128, 72, 128, SMALL, transposed=transposed)
        assert batch_is_exact(batch, 128, 72, k, SMALL, transposed=transposed, per=1, trans=True, count=2)


@pytest.mark.covering(1)
@pytest.mark.parametrize("per", [0, 1, 2])
@pytest.mark.parametrize("beta", [0.0, -1.0])
@pytest.mark.parametrize("trans", [False, True])
def test_epilogue(per: int, beta: float, trans: bool) -> None:
    assert exact(136, 72, 72, per=per, beta=beta, epilogue=relu, cut=replace(SMALL, cluster_m=2), trans=trans)
    narrow = Configuration(64, 72, 3, 1)  # slabs of 24 columns
    assert exact(136, 83, 72, per=per, beta=beta, epilogue=relu, cut=narrow, trans=trans, plain=True, result="float16")


EVERY = [*TILES, *STRAIGHT, *PADDED]


@pytest.mark.covering(1)
@pytest.mark.parametrize("cut", rarely(EVERY, but=[TILES[0], TILES[2], *STRAIGHT]), ids=lambda cut: cut.name)
@pytest.mark.parametrize("trans", [False, True])
def test_every_configuration_is_clean_machine_code(cut: Configuration, trans: bool) -> None:
    """No spill, and no warning that wgmmas wait one by one or that registers stay where they are.

    Here of large tiles, which have the fewest registers left; that nothing that ships spills, `make release-check` sees.
    """
    trans = trans and not cut.straight
    wide = cut.bm * cut.bn > 128 * 256  # these have the fewest registers left: what is added takes most of them
    for result, beta in (
        ("bfloat16", False),
        *([("float32", True), ("bfloat16", trans or cut.straight)] if wide else []),
    ):
        code = program("bfloat16", result, (trans, not trans), False, beta, 0, identity, cut, trans)
        binary = compile_cubin(entry_of(code, "sm_90a").source, "sm_90a")
        assert (binary.spills, binary.warnings) == (0, ()), result


LARGE = [cut for cut in TILES if cut.bm * cut.bn > 128 * 192]
FITTED = [(cut, layout) for cut in FITTING for layout in ((False, False), NN) if cut in cuts(layout) and cut.bn > 128]


@pytest.mark.parametrize("cut, layout", rarely(FITTED, but=FITTED[::8]))
def test_configurations_that_fit_some_layouts_are_clean_machine_code(cut: Configuration, layout) -> None:
    """`make release-check` looks at all that ship."""
    code = program("bfloat16", "bfloat16", layout[:: -1 if cut.trans else 1], False, False, 0, identity, cut, cut.trans)
    binary = compile_cubin(entry_of(code, "sm_90a").source, "sm_90a")
    assert (binary.spills, binary.warnings) == (0, ()), cut.name


@pytest.mark.covering(1)
@pytest.mark.parametrize("cut", rarely(LARGE, but=LARGE[1:3]), ids=lambda cut: cut.name)
@pytest.mark.parametrize("per, scales", [(0, (2, 2)), (1, (0, 0)), (2, (0, 0)), (1, (2, 2)), (2, (2, 2))])
def test_what_is_read_ahead_takes_few_registers(per: int, scales: tuple[int, int], cut: Configuration) -> None:
    """Scales, or a bias, do not make the largest tiles spill; both do a little, outside of the products."""
    trans = cut.transposes_out((False, False))
    kind = "float8_e4m3fn" if scales[0] else "bfloat16"
    code = program(kind, "bfloat16", (False, False), False, False, per, identity, cut, trans, scales)
    binary = compile_cubin(entry_of(code, "sm_90a").source, "sm_90a")
    most = {256 * 200: 24, 256 * 192: 40}.get(cut.bm * cut.bn, 0) if per and scales[0] else 0
    assert binary.spills <= most and not binary.warnings


# -- prism.lib.hgemm on NumPy arrays ------------------------------------------------------------------------------------


def test_the_library() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((130, 40), (40, 70)))
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    found = prism.lib.hgemm(a, b)
    assert found.dtype == np.float16 and np.array_equal(found, wanted)
    assert np.array_equal(
        prism.lib.hgemm(a[::2, ::2], b[::2]), a[::2, ::2].astype(np.float32) @ b[::2].astype(np.float32)
    )
    assert np.array_equal(prism.lib.hgemm(b.T, a.T, out_dtype="float32"), wanted.T)
    out = np.empty((70, 130), np.float16).T
    assert prism.lib.hgemm(a, b, out=out, epilogue=relu) is out and np.array_equal(out, np.maximum(wanted, 0))
    c = out.copy()
    again = prism.lib.hgemm(a, b, c, alpha=2.0, beta=-1.0, bias=b[0], out=c)
    assert again is c and np.array_equal(c, 2 * wanted - np.maximum(wanted, 0) + b[0])


@pytest.mark.parametrize(
    "a, b",
    [((2, 3, 40, 24), (24, 17)), ((2, 3, 40, 24), (3, 24, 17)), ((40, 24), (3, 24, 17)), ((2, 1, 5, 8), (1, 3, 8, 5))],
)
def test_batches(a, b) -> None:
    """As NumPy broadcasts them; what comes after the product is of the batch, or one bias for all."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-2, 3, shape).astype(np.float16) for shape in (a, b))
    wanted = x.astype(np.float32) @ y.astype(np.float32)
    assert np.array_equal(prism.lib.hgemm(x, y), wanted)
    c = rng.integers(-2, 3, wanted.shape).astype(np.float16)
    columns, rows = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((b[-1],), (a[-2], 1)))
    out = np.full(wanted.shape[::-1], np.nan, np.float16).T
    assert prism.lib.hgemm(x, y, c, beta=-1.0, bias=rows, out=out) is out and np.array_equal(out, wanted - c + rows)
    before = c.copy()
    found = prism.lib.hgemm(x, y, c, beta=2.0, bias=columns, out=c)
    assert found is c and np.array_equal(c, wanted + 2 * before + columns)


@pytest.mark.parametrize("m, n, k", [(0, 0, 0), (0, 5, 3), (5, 0, 3), (5, 3, 0), (1, 1, 1)])
def test_the_library_on_nothing(m: int, n: int, k: int) -> None:
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16)
    assert np.array_equal(prism.lib.hgemm(a, b), np.full((m, n), k, np.float16))
    c = np.full((m, n), 3, np.float16)
    assert np.array_equal(prism.lib.hgemm(a, b, c, beta=2.0), np.full((m, n), k + 6, np.float16))


A, B = np.zeros((4, 3), np.float16), np.zeros((3, 5), np.float16)


@pytest.mark.parametrize(
    "error, call",
    [
        (TypeError, lambda: prism.lib.hgemm([[1.0]], B)),
        (TypeError, lambda: prism.lib.hgemm(A.astype(np.float32), B)),
        (TypeError, lambda: prism.lib.hgemm(A, B.astype(np.float32))),
        (ValueError, lambda: prism.lib.hgemm(A[0], B)),
        (ValueError, lambda: prism.lib.hgemm(B, A)),
        (ValueError, lambda: prism.lib.hgemm(np.stack([A, A]), B, out=np.zeros((4, 5), np.float16))),
        (ValueError, lambda: prism.lib.hgemm(A, B, beta=1.0)),
        (ValueError, lambda: prism.lib.hgemm(A, B, np.zeros((5, 4), np.float16), beta=1.0)),
        (TypeError, lambda: prism.lib.hgemm(A, B, np.zeros((4, 5)), beta=1.0)),
        (ValueError, lambda: prism.lib.hgemm(A, B, out=np.zeros((4, 4), np.float16))),
        (TypeError, lambda: prism.lib.hgemm(A, B, out=np.zeros((4, 5), np.int32))),
        (TypeError, lambda: prism.lib.hgemm(A, B, out=np.zeros((4, 5), np.float16), out_dtype="float32")),
        (TypeError, lambda: prism.lib.hgemm(A, B, out_dtype="float64")),
        (ValueError, lambda: prism.lib.hgemm(A, B, bias=np.zeros(4, np.float16))),
        (TypeError, lambda: prism.lib.hgemm(A, B, bias=np.zeros(5, np.float32))),
        (TypeError, lambda: prism.lib.hgemm(A, B, epilogue=max)),
        (TypeError, lambda: prism.lib.hgemm(A, B, epilogue=hgemm)),
        (ValueError, lambda: prism.lib.hgemm(A, B, stream=1)),
    ],
)
def test_errors(error, call) -> None:
    with pytest.raises(error) as found:
        call()
    assert "`" in str(found.value) and not isinstance(found.value, prism.lang.CompileError)


def test_batches_that_do_not_fit() -> None:
    """NumPy's error, with its words."""
    a, b = np.stack([A, A]), np.stack([B, B, B])
    with pytest.raises(ValueError) as wanted:
        np.matmul(a, b)
    with pytest.raises(ValueError) as found:
        prism.lib.hgemm(a, b)
    assert str(found.value) == str(wanted.value)
