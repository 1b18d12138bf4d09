"""Products of ranks that write into each other's windows: in which order, on threads; on GPUs, tests/gpu/test_dist.py.

Tests of prism/dist: _windows, _products.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.dist import _again, _boxes, _products, _windows
from prism.runtime.driver import DeviceError
from tests.dist.ranks import Queued, results
from tests.dist.streams import opened

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("cuts", [(0, 3, 8), (0, 5, 5, 11), (0, 1, 9, 10, 16), (0, 0, 3)], ids=str)
def test_products(cuts: tuple[int, ...], kind: str) -> None:
    _again.forget()
    size, m, k, n = len(cuts) - 1, cuts[-1], 16, 24
    a, b = (RANDOM.integers(-2, 3, shape).astype(kind) for shape in ((m, k), (k, n)))
    wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
    columns = [n * rank // size for rank in range(size + 1)]
    inner = [0, 1, *(k * rank // size for rank in range(2, size + 1))]

    def work(c: Any) -> tuple[int, int]:
        r = c.rank
        one, other = a[cuts[r] : cuts[r + 1]].copy(), b[:, columns[r] : columns[r + 1]].copy()
        part, rows = a[:, inner[r] : inner[r + 1]].copy(), b[inner[r] : inner[r + 1]].copy()
        for _ in range(4):  # from the third time on, by what is known
            found = prism.dist.matmul(one, other, comm=c, split="columns")
            np.testing.assert_array_equal(found, wanted[:, columns[r] : columns[r + 1]])
            found = prism.dist.matmul(part, rows, comm=c, split="inner")
            np.testing.assert_array_equal(found, wanted[m * r // size : m * (r + 1) // size])
            assert found.dtype == kind
        return c.windows.sent, c.windows.parts

    for rank, (sent, parts) in enumerate(results(size, work, Queued)):
        own = m * (rank + 1) // size - m * rank // size
        rows = cuts[rank + 1] - cuts[rank]
        assert sent == 4 * ((size - 1) * rows * k * a.itemsize + (m - own) * n * 4)
        assert parts == 8 * (size - 1)
    _again.forget()


@pytest.mark.parametrize(("kind", "most"), [("float32", 2), ("float16", 3), ("bfloat16", 2), ("bfloat16", 3)])
@pytest.mark.parametrize("cuts", [(0, 9), (0, 4, 8), (0, 0, 6), (0, 1, 9, 10)], ids=str)
def test_parts_of_columns(cuts: tuple[int, ...], kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two ranks a part is sent while the next one is multiplied, and added where this rank's own is."""
    monkeypatch.setattr(_products, "_TILE", (2, 4))
    monkeypatch.setattr(_products, "_WAVE", 4)
    monkeypatch.setattr(_products, "_SHORT", 8 if most == 2 else 9)
    epilogues, hgemm = [], prism.lib.hgemm
    monkeypatch.setattr(
        prism.lib, "hgemm", lambda *a, **how: (epilogues.append(how.get("epilogue")), hgemm(*a, **how))[1]
    )
    size, k = len(cuts) - 1, 16
    kind = np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)  # type: ignore[assignment]
    for m in (1, 8, 9):
        _again.forget()
        a, b = (RANDOM.integers(-2, 3, shape).astype(kind) for shape in ((m, k), (k, 24)))
        wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
        inner = [k * one // cuts[-1] for one in cuts]

        def work(c: Any, a: Any = a, b: Any = b, m: int = m, wanted: Any = wanted, inner: Any = inner) -> int:
            r = c.rank
            part, rows = a[:, inner[r] : inner[r + 1]].copy(), b[inner[r] : inner[r + 1]].copy()
            for _ in range(3):
                found = prism.dist.matmul(part, rows, comm=c, split="inner")
                np.testing.assert_array_equal(found, wanted[m * r // size : m * (r + 1) // size])
            parts = int(c.windows.parts)
            for change in (0, 0, 0, 1):  # the window is written anew each time
                own = (a + change)[m * r // size : m * (r + 1) // size].astype(a.dtype)
                found = prism.dist.matmul(own, b, comm=c, split="columns")
                np.testing.assert_array_equal(found, ((a + change).astype("f4") @ b.astype("f4")).astype(a.dtype))
            return parts

        cut, parts = size == 2 and kind != np.float32, 3 if min(np.diff(inner)) < _products._SHORT else 2
        ranks = [
            len(_products._parts_of(m * (r + 1) // 2 - m * r // 2, 24, parts)) if cut else size - 1 for r in range(size)
        ]
        assert results(size, work, Queued) == [3 * one for one in ranks[::-1]]
        assert any(epilogues) == cut and (not cut or m == 1 or max(ranks) == parts)
    _again.forget()


def test_a_product_is_cut_between_waves() -> None:
    """Parts are whole waves of 128 tiles of 128 x 256, but the last one may have some columns more."""
    assert _products._parts_of(2048, 14336, 3) == [(0, 6144), (6144, 10240), (10240, 14336)]  # 7 waves
    assert _products._parts_of(4096, 8192, 2) == [(0, 4096), (4096, 8192)]  # 8
    assert _products._parts_of(100, 32768, 3) == [(0, 32768)] and _products._parts_of(0, 5, 3) == [(0, 5)]
    assert _products._parts_of(2048, 5000, 3) == [(0, 2048), (2048, 5000)]


def test_a_shard_of_another_length() -> None:
    """A rank that goes on by what is known, while another one's shard has grown."""
    _again.forget()
    b = RANDOM.integers(-2, 3, (8, 4)).astype(np.float32)

    def work(c: Any) -> None:
        for many in (3, 3, 3, 5, 5, 3):
            whole = np.arange((many + 2) * 8, dtype=np.float32).reshape(many + 2, 8)
            own = (whole[:many] if c.rank == 0 else whole[many:]).copy()
            found = prism.dist.matmul(own, b[:, 2 * c.rank : 2 * c.rank + 2].copy(), comm=c, split="columns")
            np.testing.assert_array_equal(found, (whole @ b)[:, 2 * c.rank : 2 * c.rank + 2])

    results(2, work, Queued)
    _again.forget()


def test_lengths_of_windows() -> None:
    for nbytes in (1, 1 << 20, (1 << 20) + 1, 1 << 30, (1 << 30) * 33 // 32, 3 << 29):
        length = _windows._rounded(nbytes)
        assert nbytes <= length < nbytes * 5 // 4 + (1 << 20) and not length % (1 << 20)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_streams_of_ranks(size: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts come whole, and nothing is written over before it is read, in whatever order streams go on."""
    driver, every, like = opened(monkeypatch, size, seed)
    monkeypatch.setattr(_windows, "current_stream", lambda like: like.producer)
    random, many, parts = np.random.default_rng(seed), 16, 2
    sources = [np.zeros((parts, many), np.uint8) for _ in every]
    wrong: list[str] = []
    for call in range(5):
        nexts = random.integers(1, 200, (size, parts, many)).astype(np.uint8)
        for rank in random.permutation(size).tolist():
            one = every[rank]
            stream = rank + 10 * int(random.integers(2))  # the caller may change the stream
            aside = bool((seed + call) % 3)  # all ranks call alike
            one.begin(replace(like, producer=stream))
            for part in range(parts):

                def make(rank: int = rank, part: int = part, now: Any = nexts) -> bool:
                    sources[rank][part] = now[rank, part]
                    return True

                driver.queue(stream, make)
                for to in range(size):
                    if to != rank:
                        place = (rank * parts + part) * many
                        one.send(to, [sources[rank][part]], [place], one.mark() if aside else None, aside)
            for part in range(parts):
                one.hear(*[other for other in range(size) if other != rank])

                def look(one: Any = one, rank: int = rank, part: int = part, now: Any = nexts) -> bool:
                    for other in set(range(size)) - {rank}:
                        found = one.room(like, many, (other * parts + part) * many)
                        if (found != now[other, part]).any():
                            wrong.append(f"call {call}, part {part} of rank {other}")
                    return True

                driver.queue(stream, look)
            settle, one._post.boxes.settle_counts = one._post.boxes.settle_counts, lambda: None
            one.end(aside)  # the hosts of all ranks queue all, and then wait
            one._post.boxes.settle_counts = settle
        for one in every:
            one._post.boxes.settle_counts()
            assert (one._post.boxes._counts[_boxes.SENT, one._post.rank] >= one._heard).all()
    while any(driver.streams.values()):
        driver.step()
    assert not wrong, wrong[:3]


def test_a_stream_that_waits_for_a_rank_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host writes the count that its own stream waits for, and no other rank's."""
    wait = _boxes.Boxes.wait
    driver, (one, other, _), like = opened(monkeypatch, 3, 0)
    monkeypatch.setattr(_boxes.Boxes, "wait", wait)
    monkeypatch.setattr(_windows, "current_stream", lambda like: 1)
    one._post.boxes._lives = lambda rank: rank != 2
    one.begin(like)
    one.hear(1, 2)
    counts = one._post.boxes._counts
    counts[_boxes.SENT, 0, 1] = 1  # the other one has sent its part
    with pytest.raises(RuntimeError, match="rank 2 has ended"):
        one.end()
    while any(driver.streams.values()):
        driver.step()
    assert counts[_boxes.SENT, 0].tolist() == [0, 1, 1] and not counts[_boxes.SENT, 1:].any()
    with pytest.raises(RuntimeError, match="rank 2 has ended"):
        one.begin(like)
    other.begin(like)


@pytest.mark.parametrize("refused", ["", "cuStreamCreate", "cuStreamWriteValue64", "cuMemAlloc"])
def test_windows_that_cannot_be_opened(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the engine sends, in this call and in all later ones; ranks say so to each other."""
    driver, (one,), _ = opened(monkeypatch, 1, 0)

    def check(answer: Any, what: str) -> Any:
        if answer == "refused":
            raise DeviceError(what)
        return answer[1] if len(answer) > 1 else None

    for module in (_boxes, _windows):
        monkeypatch.setattr(module, "check", check)
    monkeypatch.setattr(_windows, "_bytes_of", lambda handle: bytes([7]) * 64)
    driver.cuIpcGetMemHandle = lambda base: (0, base)
    if refused:
        monkeypatch.setattr(driver, refused, lambda *given: "refused")
    said: list[bytes] = []
    one._post.tell = lambda text: said.append(text) or np.frombuffer(text, np.uint8)
    one._size = one.stream = 0
    for nbytes in (5000, (1 << 20) + 1, 1 << 20, 1 << 35):
        assert one.open(nbytes) == one.is_open(nbytes) == (not refused and nbytes <= 1 << 34)
    assert one.closed == bool(refused)
    assert [len(text) for text in said] == ([96, 8] if refused else [96, 8] * 2)  # it grows once
