"""Numbers that are far too large: each is refused where it stands, at once, and never ends the compiler in another way."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

import prism
from prism.lang import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from tests.generated.programs import HEAD, loaded

PLAIN = "grid[1], block[1], thread[32]"
HEX = "0x" + "f" * 5000
KERNEL = """\
@prism("global")
@requires({bound})
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    {body}
"""
RING = """with group(block[1]):
        s: shared(int32[4], ring={})
        a, b = roles(warp, 1, 1)
        for k in range(4):
            with claim(s, a) as w, one(thread): bulk_load(w, x[0])
            with claim(s, b) as w, group(thread[1]): v: int32 = w[0]"""


def code(text: str, template: Mapping[str, object] | None = None) -> str:
    """What a program is refused as, or `legal`; either way before long."""
    begun = time.process_time()
    try:
        with loaded(HEAD + text) as names:
            emit(lower(prism.check(names["kernel"], template=template)))
        return "legal"
    except CompileError as error:
        assert len(str(error)) < 20_000
        return error.code
    finally:
        assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("bound", "refused"),
    [
        ("grid[1], block[1], thread[1024]", "legal"),
        ("grid[1], block[1], warp[32]", "legal"),
        ("grid[1], block[16], thread[32]", "legal"),
        ("grid[1], block[1], thread[1025]", "bound-wf"),
        ("grid[1], block[1], thread[65536]", "bound-wf"),
        ("grid[1], thread[2**31]", "bound-wf"),
        ("grid[1], block[1], warp[33]", "bound-wf"),
        ("grid[1], block[17], thread[32]", "bound-wf"),
        ("grid[1], block[2**40], thread[32]", "bound-wf"),
        (f"grid[1], block[1], thread[{HEX}]", "bound-wf"),
        ("grid[1], block[1], thread[10**5000]", "bound-wf"),
    ],
)
def test_bounds_that_no_launch_can_have(bound: str, refused: str) -> None:
    assert code(KERNEL.format(bound=bound, body="z: int32 = 1")) == refused


def test_a_device_function_for_more_threads_than_a_block() -> None:
    text = '@prism("device")\n@requires(block[1], thread[2048])\ndef many(a: int32 @ block[1]): z: int32 = 1\n\n'
    assert code(text + KERNEL.format(bound="grid[1], thread[32]", body="with group(block[1]): many(1)")) == "bound-wf"


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (RING.format(500), "legal"),
        (RING.format(7300), "ring"),
        (RING.format(2**20).replace("int32[4]", "int32[8, 4]"), "ring"),
        (RING.format(2**40), "ring"),
        (RING.format(HEX), "type"),
        (f"with group(block[1]):\n        s: shared(int32[{HEX}])", "type"),
        (f"z: int32 = {HEX}", "type"),
        (f"z: float32 = {HEX}", "type"),
        ("z: float32 = 10**400", "type"),
        (f"z: float64 = 1.0 + {10**400}", "type"),
        (f"for k in range({HEX}): z: int32 = 1", "type"),
        (f"for k in range(n, unroll={HEX}): z: int32 = 1", "type"),
        (f"for k in range(0, n, {HEX}): z: int32 = 1", "type"),
        ("for k in range(n, unroll=2**40): z: int32 = 1", "legal"),
        ("for k in range(1000000000, unroll=True): z: int32 = 1", "legal"),
        (f"with group(block[1]), group(thread[{HEX}]): z: int32 = 1", "type"),
        (f"with group(block[1]):\n        a, b = roles(warp, {HEX}, 1)", "type"),
        (f"v: int32[{HEX}] = {{0}}", "type"),
        (f"with partition(y, thread[1], id() * {10**30}) as p, group(thread[1]): p[0] = 1", "type"),
    ],
)
def test_sizes_and_constants(body: str, refused: str) -> None:
    assert code(KERNEL.format(bound="grid[1], block[1], thread[64]", body=body)) == refused


@pytest.mark.parametrize(
    "factor", ["(int64(id()) + {0})", "(int64(id()) * {0})", "(uint64(n) + {0})", "(uint64(id()) + {0})"]
)
def test_products_of_many_large_numbers(factor: str) -> None:
    """Their factors are more than a float can hold, which infinity is."""
    product = "*".join([factor.format(2**62)] * 18)
    guard = f"if {product.replace('id()', 'n')} < 5: "
    for offset in (f"{product} + i", f"({product} + i) % 1000 // 7 ^ 5", f"({product}) & 3"):
        body = f"with partition(y, thread[1], lambda i: {offset}) as p, group(thread[1]):\n        {guard}p[0] = 1"
        assert code(KERNEL.format(bound=PLAIN, body=body)) in ("legal", "race")


@pytest.mark.parametrize("value", [10**5000, -(10**5000), 2**70, 2**31], ids=["long", "negative", "70 bits", "32 bits"])
def test_template_arguments(value: int) -> None:
    text = KERNEL.format(bound=PLAIN, body="z: int32 = N")
    assert code(text.replace("@requires", "@template(N=constexpr(int))\n@requires"), {"N": value}) == "type"


BOUNDS = {"1024": "legal", "64, 4": "legal", "1025": "name", "64, 9999999999": "name", "10**30": "name", HEX: "name"}


@pytest.mark.parametrize("bounds", BOUNDS)
def test_launch_bounds(bounds: str) -> None:
    text = KERNEL.format(bound=PLAIN, body="z: int32 = 1")
    assert code(text.replace("@requires", f'@attr("__launch_bounds__({bounds})")\n@requires')) == BOUNDS[bounds]
