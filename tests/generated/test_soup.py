"""Whatever a text says, the compiler refuses it with a CompileError or makes CUDA C++ of it: it never fails in another way."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.generated.soup import KERNEL, Source, parses, soup, sources, spoil, spoilt, verdict
from tests.generated.verify import accepted

CHUNKS = 4
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


@pytest.fixture(scope="module")
def real() -> list[Source]:
    return sources(8)


def test_the_sources_are_legal(real: list[Source]) -> None:
    assert len(real) > 20
    assert [verdict(source, source.text)[0] for source in real[:12]] == ["legal"] * 12


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_spoilt_program_is_refused_or_legal(chunk: int, real: list[Source]) -> None:
    found = Counter(verdict(*spoilt(seed, real))[0] for seed in range(chunk, 60, CHUNKS))
    assert found["refused"] >= 3, f"little was tested: {found}"


def test_soup_is_refused_or_legal() -> None:
    found = Counter(verdict(KERNEL, soup(random.Random(seed)))[0] for seed in range(60))
    assert found["refused"] >= 20, f"little was tested: {found}"


def test_each_way_of_spoiling_changes_a_text(real: list[Source]) -> None:
    texts = {spoil(real[0].text, random.Random(seed), 1) for seed in range(20)}
    assert len(texts) > 10 and sum(map(parses, texts)) > 10


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_spoilt_programs(chunk: int) -> None:
    """What is still legal is taken by NVRTC too, but where the text holds C++ of its own."""
    first, count = 1_000_000, max(FUZZ // 5, 100)
    every = sources(40, first)
    made: dict[int, str] = {}
    for seed in range(first + chunk, first + count, CHUNKS):
        source, text = spoilt(seed, every)
        try:
            said, cuda = verdict(source, text)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        if said == "legal" and "unsafe" not in text and "extern" not in text:
            made[seed] = cuda
        if len(made) == 32:
            assert accepted(list(made.values())) == {}, f"one of {list(made)}"
            made.clear()


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_much_soup(chunk: int) -> None:
    for seed in range(1_000_000 + chunk, 1_000_000 + max(FUZZ // 5, 100), CHUNKS):
        try:
            assert verdict(KERNEL, soup(random.Random(seed)))[0] in ("legal", "refused", "python")
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
