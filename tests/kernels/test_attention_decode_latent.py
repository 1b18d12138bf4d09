"""Decoding with a latent cache on the reference machine, with all its checks, beside float64: heads, tokens, lengths, pages."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import run
from prism.kernels.attention import DecodeCut, latent_cut_of
from prism.lib.algorithms.attention_decode.plan import instance_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.kernels.test_attention import exact
from tests.rarely import rarely


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpret, "run", functools.partial(run, check=True))


def attended(
    batches: int,
    heads: int,
    tokens: int,
    keys: int,
    lengths: list[int],
    page: int = 0,
    layout: str = "blhd",
    causal: bool = True,
) -> bool:
    """Call the function on normal numbers, NaN behind the last keys; say whether it is near float64's result."""
    rng = np.random.default_rng(keys)
    q, cache = (
        rng.normal(size=shape).astype(np.float16) for shape in ((batches, tokens, heads, 576), (batches, keys, 1, 576))
    )
    wanted = []
    for b, n in enumerate(lengths):
        rows, kept = q[b : b + 1].swapaxes(1, 2), np.broadcast_to(cache[b, :n].swapaxes(0, 1), (1, heads, n, 576))
        ahead = n - tokens if causal else None
        wanted.append(
            exact(*(x.astype(np.float64) for x in (rows, kept, kept[..., :512])), 1 / math.sqrt(576), ahead=ahead)
        )
        cache[b, n:] = np.nan
    more: dict[str, Any] = {"lengths": np.array(lengths, np.int32)} if page or lengths != [keys] * batches else {}
    if page:
        wide = -(-keys // page)
        table = rng.permutation(batches * wide).reshape(batches, wide).astype(np.int32)
        padded = np.full((batches, wide * page, 1, 576), np.nan, np.float16)
        padded[:, :keys] = cache
        cache = np.empty((batches * wide, page, 1, 576), np.float16)
        cache[table.ravel()] = padded.reshape(-1, page, 1, 576)
        more["page_table"] = table
    if layout == "bhld":
        q, cache = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, cache))
    found, logs = prism.lib.attention_decode_latent(q, cache, layout=layout, lse=True, causal=causal, **more)
    found = found if layout == "bhld" else found.swapaxes(1, 2)
    exactly, size, logarithms = (np.concatenate([one[part] for one in wanted]) for part in range(3))
    bound = (2.0**-11 + 2.0**-17) * size + 2.0**-11 * np.abs(exactly) + 2.0**-24 * (1 + keys)  # as of attention
    return bool(
        (np.abs(found - exactly) <= bound).all() and np.allclose(logs, logarithms, rtol=2.0**-18, atol=2.0**-18)
    )


CASES = [
    (1, 16, 1, 130, [130]), (2, 128, 1, 100, [100, 33]), (2, 16, 2, 200, [200, 70], 64), (1, 48, 2, 70, [70], 0, "bhld"),
    (2, 9, 3, 150, [7, 150], 24, "blhd", False), (1, 16, 1, 70, [70], 1),
]  # fmt: skip


@pytest.mark.parametrize("case", rarely([*range(len(CASES))], but=[2, 5]))
def test_results(case: int) -> None:
    """Some heads, two strips of 64 queries, several tokens, lengths, pages, of which rest may be anything."""
    assert attended(*CASES[case])


def test_what_is_refused() -> None:
    q, cache = np.zeros((1, 1, 16, 576), np.float16), np.zeros((1, 5, 1, 576), np.float16)
    with pytest.raises(ValueError, match="`cache` has 512 elements a head: attention_decode_latent takes 576"):
        prism.lib.attention_decode_latent(q, cache[..., :512])
    with pytest.raises(ValueError, match="`q` has 16 heads and `cache` 3"):
        prism.lib.attention_decode_latent(q, np.zeros((1, 5, 3, 576), np.float16))
    with pytest.raises(TypeError, match="`cache` has dtype float32, and attention_decode takes float16 or bfloat16"):
        prism.lib.attention_decode_latent(q, cache.astype(np.float32))
    with pytest.raises(ValueError, match=r"`out` has shape \(1, 1, 16, 576\)"):
        prism.lib.attention_decode_latent(q, cache, out=q)
    assert not prism.lib.attention_decode_latent(q, cache[:, :0]).any()


@pytest.mark.parametrize(
    "cut",
    rarely(
        [latent_cut_of(), latent_cut_of(page=1, lengths=True), latent_cut_of(page=64, lengths=True, lse=True)],
        but=[latent_cut_of(page=64, lengths=True, lse=True)],
    ),
)
def test_machine_code(cut: DecodeCut) -> None:
    """No register is spilled, no wgmma waits for itself, and a multiprocessor has room for the tiles."""
    made = entry_of(instance_for("bfloat16", cut).program, "sm_90a")
    binary = compile_cubin(made.source, "sm_90a")
    assert (binary.spills, binary.warnings) == (0, ())
    assert made.shared_bytes <= 227 << 10
