"""Which tiles a product is cut into: that they fit, and that the model agrees with what was measured."""

import pytest

from prism.kernels.hgemm import TILES, choose
from prism.kernels.hgemm.candidates import SHAPES, all_cuts, candidates, parsed
from prism.kernels.hgemm.configurations import MEASURED, PROCESSORS, clocks, modelled

# The time of cuBLAS divided by a tile's, of those of TILES that were measured at a shape, on an H200 (docs/hgemm.md); a tile is
# BM x BN x BK here, which is one of TILES only. Where power binds: in turns of 0.25 s, of which the first 0.08 s do not count.
STEADY = {
    "3072": {"192x192x128": 1.00, "128x256x64": 0.85},
    "4096": {"128x256x128": 1.00, "128x256x64": 0.99},
    "5120": {"256x160x128": 0.97, "128x256x128": 0.92},
    "8192": {"128x256x128": 1.03, "128x256x64": 0.99},
    "16384": {"128x256x128": 1.02, "128x256x64": 0.98},
    "4096x14336x4096": {"128x256x128": 1.00, "128x256x64": 0.99},
    "8192x1024x8192": {"128x256x128": 0.99, "128x256x64": 0.98},
}
# In alternating rounds of single launches: up to 2560 power doesn't bind.
SHORT = {
    "512": {"128x128x64": 0.76, "128x64x64": 1.04, "64x128x64": 1.05, "64x64x128": 1.27, "64x32x128": 1.27},
    "768": {"128x128x64": 0.76, "128x64x64": 1.04, "64x128x64": 1.04, "64x64x128": 0.97, "64x32x128": 0.77},
    "1024": {"128x128x64": 0.78, "128x64x64": 1.10, "64x128x64": 1.09, "64x64x128": 0.92, "64x32x128": 0.56},
    "1280": {
        "128x256x64": 0.65, "128x192x64": 0.78, "192x96x64": 0.89, "128x128x64": 1.08, "128x64x64": 0.85, "64x128x64": 0.93,
    },
    "1536": {
        "128x256x64": 0.68, "128x192x64": 0.83, "192x96x64": 1.05, "128x128x64": 0.66, "128x64x64": 0.64, "64x128x64": 0.70,
    },
    "2048": {"128x256x128": 1.00, "128x256x64": 1.02, "192x96x64": 0.79, "128x128x64": 0.99},
    "2304": {
        "128x256x128": 0.76, "128x256x64": 0.77, "256x160x128": 0.64, "192x192x128": 0.69, "128x192x64": 0.99,
        "192x96x64": 0.78,
    },
    "2560": {
        "128x256x128": 0.98, "128x256x64": 0.99, "256x160x128": 0.78, "128x192x64": 0.87, "192x96x64": 0.88,
        "128x128x64": 0.94,
    },
    "64x8192x8192": {"64x128x64": 0.93, "64x64x128": 1.00},
    "256x4096x4096": {"128x128x64": 0.63, "128x64x64": 0.90, "64x128x64": 0.86, "64x64x128": 0.72, "64x32x128": 0.41},
}  # fmt: skip
RATIOS = {**STEADY, **SHORT}
SIZES = {f"{tile.bm}x{tile.bn}x{tile.bk}": tile for tile in TILES}


@pytest.mark.parametrize("text", RATIOS)
def test_the_model_agrees_with_what_was_measured(text: str) -> None:
    """It chooses the best, or near: figures vary by 2 to 3 % between runs."""
    seen = {SIZES[size]: ratio for size, ratio in RATIOS[text].items()}
    chosen = modelled(*parsed(text), PROCESSORS)
    assert seen.get(chosen, 0.0) >= 0.97 * max(seen.values()), chosen.name


def test_the_model_tells_how_much_slower_others_are() -> None:
    """Within a tenth on average, of all tiles that were measured beside a shape's best (it is 6 %; one is 28 % off)."""
    errors = []
    for text, ratios in RATIOS.items():
        times = {size: clocks(SIZES[size], *parsed(text), PROCESSORS) for size in ratios}
        best = max(ratios, key=lambda size: ratios[size])
        errors += [abs(times[best] / times[size] * ratios[best] / ratios[size] - 1) for size in ratios if size != best]
    assert len(SIZES) == len(TILES) and sum(errors) / len(errors) < 0.1


def test_what_was_measured_is_chosen() -> None:
    for text, found in MEASURED.items():
        m, n, k = parsed(text)
        assert choose(m, n, k, PROCESSORS) == found == candidates(m, n, k)[0]
        assert choose(m, n, k, 78) == modelled(m, n, k, 78)


def test_choices_fit_the_device() -> None:
    for cut in dict.fromkeys([*TILES, *all_cuts()]):
        assert cut.shared_bytes + 1024 + 256 <= 227 << 10, cut.name
        assert cut.fits(2), cut.name
        workers, helpers = cut.registers()
        assert 128 * (cut.consumers * workers + helpers) <= 65536, cut.name


@pytest.mark.parametrize("out_bytes", [2, 4])
def test_any_shape_has_a_choice(out_bytes: int) -> None:
    for m, n, k in ((1, 1, 1), (64, 64, 8), (500, 500, 500), (1, 1 << 20, 64), (1 << 20, 8, 64), *map(parsed, SHAPES)):
        for processors in (PROCESSORS, 114, 2):
            assert choose(m, n, k, processors, out_bytes).fits(out_bytes)


def test_more_work_takes_longer() -> None:
    for cut in TILES:
        times = [clocks(cut, size, size, size, PROCESSORS) for size in (256, 1024, 4096, 16384)]
        assert times == sorted(times) and times[0] < times[-1]
    assert clocks(TILES[0], 4096, 4096, 4096, PROCESSORS) < clocks(TILES[-1], 4096, 4096, 4096, PROCESSORS)
