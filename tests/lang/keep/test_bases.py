"""Frozen data: what a class that declares fields gets from its base."""

import copy
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest

from prism.lang import types
from prism.lang.diagnostics import Span
from prism.lang.emit import merge
from prism.lang.keep import bases
from prism.lang.keep.bases import Frozen, Node, Plain, Value, node, value
from prism.lang.parse import syntax
from prism.lang.tree import expr, nodes, plan, stmt
from prism.lang.types import structs

SPAN = Span("f.py", 1, 2, 3, 4)


class Place(Frozen):
    """Compared by identity, given by position."""

    name: str
    size: int = 1
    notes: dict[str, int] = field(default_factory=dict)


class Leaf(Node):
    """Given by name."""

    span: str = "?"


class Sum(Leaf):
    """A field without a default after one that has one, and one that is nobody's to give."""

    left: Leaf
    found: list[int] = field(default_factory=list, init=False, repr=False)


class Point(Value):
    """Compared by what it holds, but for the note."""

    x: int
    y: int = 0
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        assert self.y >= 0


class Named(Point):
    """With a hash of its own."""

    def __hash__(self) -> int:
        return 7


@node
class PlainLeaf(Plain):
    """As `Leaf`, with no metaclass."""

    span: str = "?"


@node
class PlainSum(PlainLeaf):
    """As `Sum`."""

    left: PlainLeaf
    found: list[int] = field(default_factory=list, init=False, repr=False)


@value
class PlainPoint(Plain):
    """As `Point`."""

    x: int
    note: str = field(default="", compare=False)


@value
class PlainNamed(PlainPoint):
    """With a hash of its own."""

    def __hash__(self) -> int:
        return 7


def test_fields_have_their_defaults_and_each_instance_its_own_of_a_factory() -> None:
    one, two = Place("a"), Place("b", size=2)
    assert (one.name, one.size, two.size) == ("a", 1, 2)
    assert one.notes == two.notes == {} and one.notes is not two.notes
    given = {"x": 1}
    assert Place("c", 1, given).notes is given


def test_a_subclass_adds_fields_to_its_parents_whichever_is_made_first() -> None:
    assert Leaf().span == "?"
    made = Sum(left=Leaf(span="1"))
    assert [one.name for one in fields(made)] == ["span", "left", "found"]
    assert (made.span, made.left.span, made.found) == ("?", "1", [])


class Square(Value):
    """What follows from the fields is a field too, that nobody gives."""

    side: int
    area: int = field(init=False)
    kind: str = field(default="square", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.side**2)


def test_a_field_that_nobody_gives_is_found_at_the_end() -> None:
    assert (Square(3).area, Square(3).kind) == (9, "square")
    assert Square(3) == Square(3) and replace(Square(3), side=4).area == 16
    with pytest.raises(TypeError):
        Square(3, area=9)  # type: ignore[call-arg]


def test_nodes_take_their_fields_by_name_only() -> None:
    with pytest.raises(TypeError, match=r"Sum\.__init__\(\) takes 1 positional argument"):
        Sum(Leaf())  # type: ignore[call-arg, misc]
    with pytest.raises(TypeError, match="left"):
        Sum()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="found"):
        Sum(left=Leaf(), found=[])  # type: ignore[call-arg]


@pytest.mark.parametrize("one", [Place("a"), Sum(left=Leaf()), Point(1)])
def test_nothing_is_assigned_and_nothing_else_is_kept(one: object) -> None:
    name = fields(one)[0].name  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(one, name, 2)
    with pytest.raises(FrozenInstanceError, match="cannot delete"):
        delattr(one, name)
    with pytest.raises(FrozenInstanceError, match="other"):
        one.other = 1  # type: ignore[attr-defined]
    assert is_dataclass(one) and not hasattr(one, "__dict__")


def test_nodes_are_compared_by_identity() -> None:
    one = Place("a")
    assert one != Place("a")
    assert len({one, Place("a")}) == 2


def test_values_are_compared_by_their_fields() -> None:
    assert Point(1) == Point(1, 0, "said") and hash(Point(1)) == hash(Point(1, 0, "said"))
    assert Point(1) != Point(1, 2) and Point(1) != (1, 0)
    assert Named(1) == Named(1) and Named(1) != Point(1) and hash(Named(1)) == 7


def test_what_a_class_asks_of_its_values_is_asked() -> None:
    with pytest.raises(AssertionError):
        Point(1, -1)


def test_it_says_what_it_holds() -> None:
    assert repr(Sum(left=Leaf())) == "Sum(span='?', left=Leaf(span='?'))"
    loop = Place("a")
    loop.notes["itself"] = loop  # type: ignore[assignment]
    assert repr(loop) == "Place(name='a', size=1, notes={'itself': ...})"


def test_it_is_replaced_copied_and_matched() -> None:
    made = Sum(left=Leaf(span="1"))
    made.found.append(3)
    other = replace(made, span="2")
    assert (other.span, other.left, other.found) == ("2", made.left, [])
    assert copy.copy(made).left is made.left and copy.deepcopy(made).left is not made.left
    match Place("a", 4):
        case Place(name, size=4):
            assert name == "a"
        case _:
            pytest.fail("no match")


def test_a_process_that_made_none_reads_what_was_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)
    script = f"import pickle; a, b = map(pickle.loads, [{pickle.dumps(SPAN)!r}] * 2); print(a == b, len({{a, b}}), a)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown == f"True 1 {SPAN!r}\n"


def test_classes_that_are_declared_have_no_metaclass_and_are_as_the_others() -> None:
    leaf = PlainLeaf(span="1")
    made = PlainSum(left=leaf)
    assert (made.span, made.left, made.found) == ("?", leaf, []) and not hasattr(made, "__dict__")
    assert replace(made, span="2").span == "2" and repr(leaf) == "PlainLeaf(span='1')"
    assert made == made and made != PlainSum(left=leaf)
    with pytest.raises(FrozenInstanceError):
        made.span = "3"  # type: ignore[misc]
    with pytest.raises(TypeError):
        PlainLeaf("1")  # type: ignore[misc]
    assert PlainPoint(1, "a") == PlainPoint(1, "b") != PlainPoint(2) and len({PlainPoint(1), PlainPoint(1)}) == 1
    assert hash(PlainNamed(1)) == 7 and PlainNamed(1) == PlainNamed(1) and PlainNamed(1) != PlainPoint(1)
    assert pickle.loads(pickle.dumps(PlainNamed(1, "a"))).note == "a"


@pytest.mark.parametrize("module", [expr, stmt, nodes, plan, syntax, types, structs, merge], ids=lambda m: m.__name__)
def test_what_has_no_metaclass_is_declared(module: ModuleType) -> None:
    """A subclass that is not would have the fields of its parent alone."""
    own = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
    plain = [c for c in own if issubclass(c, Plain) and type(c) is type]
    assert plain and [c for c in plain if "_fields" not in vars(c) or "__slots__" not in vars(c)] == []


def test_nobody_asks_whether_something_is_frozen_but_of_all_kinds() -> None:
    """Nodes and types are none of `Frozen`'s, `Node`'s or `Value`'s: who means those too asks for `Plain`."""
    asked = re.compile(r"isinstance\([^()]*,[^()]*\b(bases\.)?(Frozen|Value)\b|case (bases\.)?(Frozen|Value)\(")
    root = Path(bases.__file__).parents[2]
    found = {path.name for path in root.rglob("*.py") if asked.search(path.read_text(encoding="utf-8"))}
    assert len(list(root.rglob("*.py"))) > 400 and found == set()
    assert asked.search("isinstance(one, Frozen) and") and asked.search("    case Frozen():")
