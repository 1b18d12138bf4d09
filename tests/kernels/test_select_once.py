"""Selections of few tiles, each of which is a block's own: as many blocks as tiles, none of which draws a number.

Tests of kernels/select: part_loop, compaction, parts, pairs, encode; prism/lib/algorithms/select: plan.
"""

import functools
from typing import Any

import pytest

import prism
from prism.interpret import RaceError
from prism.kernels import select as kernels
from prism.kernels.select.encode import encode
from prism.kernels.select.pairs import unique_pairs
from prism.kernels.select.parts import split_apart
from prism.lang.tree.plan import Program
from prism.lib.algorithms.select.plan import Kind, held_as, instance_for, is_once
from tests.kernels import test_encode, test_pairs, test_select
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

TILE = 256
SHAPE = {**test_select.SIZES, "ONCE": True}


@functools.cache
def program(name: str) -> Program:
    if name == "encode":
        return prism.check(encode, {"T": "float32", "TI": "float32", **test_encode.KINDS["float32"], **SHAPE})
    if name == "pairs":
        of = {"T": "float32", "H": "float32", "TI": "float32", "C": "float32", "V": "float32", "HV": "float32"}
        return prism.check(unique_pairs, {**of, "VI": "float32", **SHAPE})
    if name.startswith("parts"):
        ways = int(name[-1])
        of = {
            "T": "uint16",
            "H": held_as("uint16"),
            "TI": "uint16",
            "M": "uint8",
            "C": "uint8",
            "O": "uint8",
            "D": "uint8",
        }
        tests = {"TEST": kernels.is_set, "OTHER": kernels.is_set, "OWN": False, "WAYS": ways}
        return prism.check(split_apart, {**of, **tests, "W": "uint32" if ways == 2 else "uint64", **SHAPE})
    kind = test_select.KINDS[name]
    return prism.check(kernels.select, {**kind.template(kernels.SHORT[4]), **SHAPE})


def check(name: str, n: int, code: Any = None, scratch: Any = None, **options: Any) -> None:
    """Select of `n` elements by as many blocks as tiles, and compare with the definition."""
    code, blocks = code or program(name), -(-n // TILE)
    if name.startswith("parts"):
        test_select.parts(n, blocks, int(name[-1]), code=code, **options)
    elif name == "encode":
        test_encode.check(n, 3, code=code, blocks=blocks, scratch=scratch, **options)
    elif name == "pairs":
        test_pairs.check(n, 3, code=code, blocks=blocks, scratch=scratch, **options)
    else:
        test_select.check(name, n, mutant=code, blocks=blocks, scratch=scratch, **options)


NAMES = ("mask", "own", "edges", "places", "encode", "pairs", "parts 2", "parts 3")


@pytest.mark.parametrize("name", NAMES)
def test_sizes(name: str) -> None:
    for n in (1, 255, 256, 257, 2900):
        check(name, n)


@pytest.mark.parametrize("name", rarely(NAMES, but=["mask", "encode", "parts 3"]))
def test_whatever_runs_first(name: str) -> None:
    for schedule, seed in SCHEDULES:
        check(name, 2100, schedule=schedule, seed=seed)
    check(name, 2100, resident=1)  # blocks begin in their order, as a GPU has it: none waits for one that has not begun


def test_launches_of_both_loops_share_words() -> None:
    """A launch of blocks that draw their tiles, behind one of blocks that have one each, and the other way round."""
    scratch = test_select.fresh()
    for number in range(1, 9):
        if number % 2:
            check("mask", 300 * number, scratch=scratch)
        else:
            test_select.check("mask", 300 * number, blocks=number, scratch=scratch)
        assert scratch[1][0] == number << 32


@pytest.mark.parametrize("name", rarely(NAMES, but=["places", "pairs", "parts 2"]))
def test_each_inferred_barrier_is_needed(name: str) -> None:
    found = list(without_barriers(program(name)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                check(name, 2300, code=mutant, schedule=schedule, seed=seed)


def test_which_arrays_have_them() -> None:
    """Those of few elements, and no others; none on the reference machine."""
    few, *others = Kind("uint32", "uint32").configurations()
    assert is_once(few) and dict(instance_for(Kind("uint32", "uint32"), few).template)["ONCE"]
    assert not any(map(is_once, (*others, kernels.HOST_SMALL, kernels.HOST_LARGE)))
