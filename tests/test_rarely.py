"""Which parameters of a test are tried in `make test`: those that `covering` chooses, and `rarely`."""

import itertools
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.rarely import SCHEDULES, cover, is_of_check, rarely, turn_of


@pytest.mark.parametrize("strength", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(5,), (4, 12, 3), (2, 2, 2, 2), (3, 1, 4)])
def test_every_so_many_values_stand_together(sizes: tuple[int, ...], strength: int) -> None:
    rows = list(itertools.product(*map(range, sizes)))
    taken = [rows[at] for at in cover(rows, strength)]
    for columns in itertools.combinations(range(len(sizes)), min(strength, len(sizes))):
        assert {tuple(row[k] for k in columns) for row in taken} == set(
            itertools.product(*(range(sizes[k]) for k in columns))
        )
    if strength == 1:
        assert len(taken) == max(sizes)
    assert cover(rows, strength) == cover(rows, strength)


def test_values_are_taken_as_often_as_one_another() -> None:
    rows = list(itertools.product(range(100), range(3)))
    often = Counter(rows[at][1] for at in cover(rows, 1))
    assert sum(often.values()) == 100 and min(often.values()) >= 33


def test_rows_that_are_no_product() -> None:
    """As where some parameters are `fuzz` already: what stands there together is what counts."""
    assert cover([(0, 0), (0, 1), (1, 1)], 2) == {0, 1, 2}
    assert len(cover([(0, 0), (0, 1), (1, 1)], 1)) == 2


def test_rarely() -> None:
    often, seldom = rarely([1, (2, 3)], but=[1])
    assert often == 1 and seldom.values == (2, 3) and seldom.marks[0].name == "fuzz"
    with pytest.raises(ValueError):
        rarely([1], but=[2])


def items_of(*given: dict[str, object]) -> list[SimpleNamespace]:
    return [SimpleNamespace(callspec=SimpleNamespace(params=params)) for params in given]


def test_schedules_have_their_turns() -> None:
    names = [f"s{k}" for k in range(7)]
    many = items_of(*({"schedule": name, "seed": 0, "x": "x"} for name in names))
    tried = [[one.callspec.params["schedule"] for one in turn_of(many, f"test_{k}")] for k in range(40)]
    assert all(len(set(some)) == SCHEDULES for some in tried) and {one for some in tried for one in some} == set(names)
    assert turn_of(many[:SCHEDULES], "test") == many[:SCHEDULES], "so few are all tried"
    other = items_of(*({"schedule": name, "x": name} for name in names))
    assert turn_of(other, "test") == other, "a value that stands beside one schedule alone"
    seldom = items_of(*({"schedule": name, "x": "y" if name == names[3] else "x"} for name in names))
    for k in range(40):
        own = [one.callspec.params for one in turn_of(seldom, f"test_{k}")]
        assert {one["x"] for one in own} == {"x", "y"} and len(own) <= SCHEDULES + 1
    plain = items_of({"x": 1}, {"x": 2})
    assert turn_of(plain, "test") == plain


@pytest.mark.covering(1)
@pytest.mark.parametrize("a, c", [(0, 0), (1, 0), (2, 1), (3, 1)])
@pytest.mark.parametrize("b", range(3))
def test_what_covers(a: int, b: int, c: int, request: pytest.FixtureRequest) -> None:
    """`make test` has four of these, for `a` and `c` are one; `make fuzz` the other eight; one asked for by its name is run."""
    mine = [item for item in request.session.items if item.name.startswith("test_what_covers[")]
    given = {(item.callspec.params["a"], item.callspec.params["b"]) for item in mine}
    assert (a, b) in given
    if len(mine) == 4:
        assert [{row[k] for row in given} for k in range(2)] == [set(range(4)), set(range(3))]
    else:
        assert len(mine) in (1, 8)


@pytest.mark.parametrize(
    ("name", "of_check"),
    [
        ("tests/docs/test_site.py::test_links", True),
        ("tests/test_import_direction.py::test_every_import_points_down", True),
        ("tests/kernels/test_scan.py::test_the_kernels_do_not_spill[int32]", True),
        ("tests/kernels/test_hgemm.py::test_machine_code", True),
        ("tests/kernels/test_scan.py::test_schedules[random]", False),
        ("tests/lang/intrinsics/test_wgmma.py::test_compiles", True),
        ("tests/lang/rings/test_rings.py::test_each_barrier_is_needed_and_they_compile", False),
        ("tests/lib/block/test_scan.py::test_mistakes_do_not_compile[int32]", False),
    ],
)
def test_what_make_check_has(name: str, of_check: bool) -> None:
    assert is_of_check(name) == of_check
