"""Records of constants as keys, and as texts: `prism/lang/keep/records.py`."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest

from prism.lang.keep.keys import exact
from prism.lang.keep.records import is_record_class, items_of, spell
from prism.lang.types import SCALARS


@dataclass(frozen=True)
class Cut:
    rows: int
    turned: Any = False


@dataclass
class Loose:
    rows: int


class Pair(NamedTuple):
    first: int
    second: Any = True


def test_frozen_dataclasses_and_named_tuples_are_records() -> None:
    assert is_record_class(Cut) and is_record_class(Pair)
    assert not any(map(is_record_class, (Loose, tuple, int, Cut(1), type(SCALARS["int32"]), None)))


def test_fields_stand_in_the_order_of_their_declaration() -> None:
    assert items_of(Cut(turned=True, rows=3)) == (("rows", 3), ("turned", True))
    assert items_of(Pair(second=2, first=3)) == (("first", 3), ("second", 2))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Cut(3), "Cut(rows=3, turned=False)"),
        (Pair(3, SCALARS["bfloat16"]), "Pair(first=3, second=bfloat16)"),
        (spell, "spell"),
        (3, "3"),
    ],
)
def test_a_record_is_spelt_as_one_writes_it(value: Any, text: str) -> None:
    assert spell(value) == text


def test_keys_are_of_the_class_and_the_exact_fields() -> None:
    assert exact(Cut(3)) == exact(replace(Cut(4), rows=3))
    apart = [Cut(1), Cut(True), Cut(1, True), Cut(1, 1), Pair(1, False), (1, False)]
    assert len({exact(each) for each in apart}) == len(apart)


def test_what_has_no_hash_is_told_by_its_identity() -> None:
    given = [1]
    assert exact(Cut(1, given)) == exact(Cut(1, given)) != exact(Cut(1, [1]))
    assert exact(Loose(1)) != exact(Loose(1))
