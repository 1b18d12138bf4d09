"""Rings, asynchronous copies, wgmma and clusters on the GPU, against NumPy.

Integers, and floats so small that every sum is exact, must match bit for bit. A product of random bfloat16 may differ by one
rounding of the result and by the order of its float32 sums (KERNELS.md, section 6): `hgemm_of` has the bound.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism.compiler import DEFAULT_ARCH, check
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32, UINT8, UINT16
from prism.runtime import code
from prism.runtime.compile import compile_cubin
from prism.runtime.keys import source_key
from tests.examples import asynchronous as a
from tests.examples import skewed as s
from tests.examples.programs import Launch

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

COPIES = range(1, 8)


def trips(copies: int) -> list[int]:
    """Numbers of tiles around a ring's number of copies, where a count or a phase would go wrong; and many."""
    return sorted({0, 1, copies - 1, copies, copies + 1, 1000})


RINGS = {
    **{f"in-turn-{k}-{n}": (a.in_turn, n, 128, {"COPIES": k}) for k in COPIES for n in trips(k)},
    **{f"piped-{k}-{n}": (a.piped, n, 160, {"COPIES": k}) for k in COPIES for n in trips(k)},
    **{f"two-buffers-{n}": (a.two_buffers, n, 128, {}) for n in (2, 4, 6, 1000)},
}
TILES = {
    f"{scalar}-{rows}x{columns}-{swizzle}-{copies}": (scalar, rows, columns, swizzle, copies)
    for scalar, rows, columns, swizzle, copies in (
        (INT32, 16, 32, 128, 2), (INT32, 16, 64, 128, 3), (INT32, 16, 16, 64, 2), (INT32, 24, 48, 64, 1),
        (INT32, 8, 8, 32, 2), (INT32, 40, 24, 32, 2), (INT32, 7, 20, 0, 2), (FLOAT32, 8, 256, 128, 1),
        (BFLOAT16, 64, 64, 128, 2), (BFLOAT16, 32, 192, 64, 2), (FLOAT16, 16, 16, 32, 4), (UINT16, 3, 8, 0, 5),
        (INT8, 16, 128, 128, 2), (UINT8, 8, 256, 64, 1), (INT8, 9, 16, 0, 2),
    )
}  # fmt: skip
PRODUCTS = {
    f"{scalar}-{columns}x{depth}-{'-'.join(f'{k}{v}' for k, v in more.items())}": (scalar, columns, depth, more)
    for scalar, columns, depth, more in (
        *((BFLOAT16, n, 64, {}) for n in (8, 16, 64, 72, 128, 192, 248, 256)),
        (BFLOAT16, 64, 32, {"swizzle": 64}), (BFLOAT16, 64, 16, {"swizzle": 32}), (BFLOAT16, 128, 192, {"steps": 1}),
        *((BFLOAT16, 64, 64, {"ta": ta, "tb": tb}) for ta, tb in ((True, False), (False, True), (True, True))),
        (BFLOAT16, 128, 32, {"ta": True, "tb": True}), (BFLOAT16, 32, 48, {"tb": True, "swizzle": 32}),
        (BFLOAT16, 16, 64, {"ta": True, "tb": True, "swizzle": 32}),
        *((BFLOAT16, 64, 64, {"ahead": d, "steps": s}) for d in (1, 2, 3) for s in (1, 2, 3, 4, 9)),
        *((FLOAT16, n, 64, {}) for n in (8, 256)), (FLOAT16, 64, 128, {"ta": True}),
        *((FLOAT32, n, 32, {}) for n in (8, 72, 256)), (FLOAT32, 16, 8, {"swizzle": 32}), (FLOAT32, 32, 96, {}),
        *((scalar, n, 128, {}) for scalar in (INT8, UINT8) for n in (8, 24, 32, 256)), (INT8, 64, 32, {"swizzle": 32}),
    )
}  # fmt: skip
GEMMS = {
    f"{'x'.join(map(str, sizes))}-{'-'.join(f'{k}{v}' for k, v in more.items())}": (sizes, more)
    for sizes, more in (
        *(((128, 256, 64 * n), {"exact": True}) for n in (1, 3, 4, 5, 16)),
        *(((256, 256, 64 * n), {"bn": 128, "stages": s, "exact": True}) for s in (1, 2, 5) for n in (s, s + 1, 11)),
        ((384, 768, 512), {}), ((1024, 1024, 1024), {}), ((2048, 1024, 4096), {"bn": 128}),
        ((256, 256, 512), {"bk": 128, "stages": 2}),
    )
}  # fmt: skip

LASTING = {
    f"{m}x{n}x{k}-{blocks}-{bn}-{stages}-{ahead}": (m, n, k, blocks, bn, stages, ahead)
    for bn, stages, ahead in ((64, 1, 0), (64, 3, 1), (128, 4, 0), (128, 4, 2), (256, 2, 1))
    for m, n, k, blocks in ((256, 512, 64, 7), (256, 512, 192, 16), (64, 256, 1024, 1), (1024, 1024, 320, 132))
}

AHEAD = {
    **{f"asked-{k}-{n}": lambda k=k, n=n: a.ring(s.asked, 5, n, COPIES=k) for k in COPIES for n in trips(k)},
    **{f"teams-{k}-{n}": lambda k=k, n=n: s.teams_of(n, k, max(1, k - 1)) for k in COPIES for n in trips(k)},
    **{
        f"edges-{k}-{n}": lambda k=k, n=n: s.edges_of(3, max(0, 128 * n - 50), k) for k in COPIES for n in trips(k)[:-1]
    },
    **{
        f"between-{first}-{last}-{step}-{k}-{scalar.__name__}": lambda first=first, last=last, step=step, k=k, t=scalar: (
            s.between_of(first, last, step, k, t)
        )
        for scalar in (np.int32, np.int64, np.uint32)
        for k in (2, 3, 7)
        for first, last, step in ((0, 7, 1), (3, 3, 1), (9, 2, 1), (1, 20, 3), (20, 0, -1), (20, 1, -6))
        if step > 0 or scalar is not np.uint32
    },
    **{
        f"multiplied-{k}-{late}-{n}": lambda k=k, late=late, n=n: s.multiplied_of(n, k, late)
        for k, late in ((1, 0), (2, 0), (2, 1), (3, 0), (4, 1), (6, 3))
        for n in trips(k)
    },
    **{f"in-turn-{k}-10000": lambda k=k: a.ring(a.in_turn, 2, 10_000, COPIES=k) for k in (2, 4)},
}
"""Rings that the same threads fill and use: filled some visits ahead."""


def launches() -> dict[str, Launch]:
    """One launch of each kernel that the tests compile."""
    found = [a.ring(kernel, 1, 2, threads, **template) for kernel, _, threads, template in RINGS.values()]
    found += [a.tiles_doubled(*case) for case in TILES.values()]
    found += [a.product(scalar, columns, depth, **more) for scalar, columns, depth, more in PRODUCTS.values()]
    found += [
        a.hgemm_of(128, 256, 128, **{k: v for k, v in more.items() if k != "exact"}) for _, more in GEMMS.values()
    ]
    found += [a.lasting_of(64, 256, 64, 1, *case[4:]) for case in LASTING.values()]
    found += [a.drawn_by(1, 1, copies) for copies in COPIES]
    found += [a.halved(1, copies) for copies in COPIES]
    found += [a.exchanged(), a.registers_moved(), *(make() for make in AHEAD.values())]
    return {f"{launch.kernel.__name__}{sorted(launch.template.items(), key=str)}": launch for launch in found}


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Machine code for all of them, made by all cores at once: one after the other it would take most of the time."""
    sources = {emit(lower(check(launch.kernel, launch.template))).source for launch in launches().values()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, binary in zip(
            sources, pool.map(lambda text: compile_cubin(text, DEFAULT_ARCH), sources), strict=True
        ):
            code._made.setdefault(source_key(source, DEFAULT_ARCH), binary.cubin)


@pytest.mark.parametrize("name", RINGS)
def test_a_rings_result_does_not_depend_on_its_copies(name: str) -> None:
    kernel, tiles, threads, template = RINGS[name]
    a.ring(kernel, 5, tiles, threads, **template).compare(cupy.asarray)


@pytest.mark.parametrize("name", AHEAD)
def test_rings_that_are_filled_ahead(name: str) -> None:
    AHEAD[name]().compare(cupy.asarray)


@pytest.mark.parametrize("name", TILES)
def test_tiles_come_in_and_go_out_where_the_compiler_thinks(name: str) -> None:
    a.tiles_doubled(*TILES[name]).compare(cupy.asarray)


@pytest.mark.parametrize("name", PRODUCTS)
def test_wgmma(name: str) -> None:
    scalar, columns, depth, more = PRODUCTS[name]
    a.product(scalar, columns, depth, **more).compare(cupy.asarray)


@pytest.mark.parametrize("name", GEMMS)
def test_hgemm(name: str) -> None:
    sizes, more = GEMMS[name]
    a.hgemm_of(*sizes, **more).compare(cupy.asarray)


@pytest.mark.parametrize("name", LASTING)
def test_rings_that_go_on_from_tile_to_tile(name: str) -> None:
    a.lasting_of(*LASTING[name]).compare(cupy.asarray)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("tiles", [0, 1, 2, 100, 10_000])
def test_tiles_that_blocks_draw(tiles: int, copies: int) -> None:
    a.drawn_by(264, tiles, copies).compare(cupy.asarray)


def test_hgemm_of_arrays_that_are_parts_of_others() -> None:
    """A tensor map has the array's own strides; what is not in the tile of C stays as it was."""
    launch = a.hgemm_of(128, 256, 192, exact=True)
    rows, columns, out, *sizes = launch.arguments
    wide = cupy.zeros((130, 256), np.uint16)
    wide[2:, 64:] = cupy.asarray(rows)
    given = [wide[2:, 64:], cupy.asarray(columns), cupy.asarray(out), *sizes]
    launch.kernel[launch.shape](*given, template=launch.template)
    assert np.array_equal(launch.values(given[2].get()), launch.results[2])


def test_hgemm_of_torchs_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    launch = a.hgemm_of(256, 512, 192, exact=True)
    bits = [torch.from_numpy(x.view(np.int16)).cuda() for x in launch.arguments[:3]]
    given = [*(x.view(torch.bfloat16) for x in bits), *launch.arguments[3:]]
    launch.kernel[launch.shape](*given, template=launch.template)
    assert np.array_equal(given[2].float().cpu().numpy(), launch.results[2])


def test_blocks_of_a_cluster_read_one_anothers_memory() -> None:
    a.exchanged().compare(cupy.asarray)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("tiles", [1, 2, 3, 8, 1000])
def test_copies_for_both_blocks_of_a_cluster(tiles: int, copies: int) -> None:
    a.halved(tiles, copies, 40).compare(cupy.asarray)


def test_registers_move_between_warpgroups() -> None:
    a.registers_moved().compare(cupy.asarray)


MANY = {
    **{
        f"piped-{k}-{n}": lambda k=k, n=n: a.ring(a.piped, 700, n, 160, COPIES=k)
        for k, n in ((1, 7), (2, 8), (3, 3), (5, 12))
    },
    **{f"in-turn-{k}-{n}": lambda k=k, n=n: a.ring(a.in_turn, 700, n, COPIES=k) for k, n in ((1, 3), (4, 9))},
    **{f"halves-{k}-{n}": lambda k=k, n=n: a.halved(n, k, 300) for k, n in ((1, 5), (2, 9))},
    "product-ahead": lambda: a.product(BFLOAT16, 64, 64, ahead=1, steps=5),
    "lasting": lambda: a.lasting_of(512, 512, 192, 132, 128, 3, 1),
}


@pytest.mark.parametrize("name", MANY)
def test_many_launches_end(name: str) -> None:
    """1,000 launches each, 10,000 in all, most of more blocks than fit the device: what hangs once in a while is found here."""
    launch = MANY[name]()
    given = [cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in launch.arguments]
    for _ in range(1000):
        launch.kernel[launch.shape](*given, template=launch.template)
    finished(60.0)
    for place, wanted in launch.results.items():
        assert np.array_equal(given[place].get(), wanted)


def finished(seconds: float) -> None:
    """Wait for the device, but not for ever: a kernel that hangs would hang the tests."""
    event = cupy.cuda.Event()
    event.record()
    end = time.monotonic() + seconds
    while not event.done:
        if time.monotonic() > end:
            pytest.exit("a kernel hangs on the GPU", returncode=3)
        time.sleep(0.001)
