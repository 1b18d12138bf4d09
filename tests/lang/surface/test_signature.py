"""What `help` and `inspect.signature` say of a kernel: its parameters with types and perspectives, and its template's."""

import copy
import inspect
import pickle
import pydoc

import pytest

from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    float32,
    function,
    grid,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from prism.lang.surface.signature import DEDUCED, signature_of
from prism.lib import block as collectives


@prism("device")
@template(T=dtype, OP=function, N=constexpr(int), HALF=constexpr(int), SPAN=constexpr(int), SIZE=constexpr(int))
@requires(block[1], thread[32])
def some(
    x: ptr(const(T)) @ block[1],
    tile: shared(T[8, 2 * N], swizzle=SPAN) @ block[1],  # noqa: F821
    items: T[HALF] @ thread[1],  # noqa: F821
) -> T @ thread[SIZE]:  # noqa: F821
    """Something."""
    return items[0]


def test_types_and_perspectives_are_as_they_are_written() -> None:
    found = inspect.signature(some)
    assert str(found) == (
        "(x: ptr(const(T)) @ block[1], tile: shared(T[8, 2 * N], swizzle=SPAN) @ block[1], items: T[HALF] @ thread[1], *, "
        "OP: function, N: constexpr(int), SIZE: constexpr(int), T: dtype = ..., HALF: constexpr(int) = ..., "
        "SPAN: constexpr(int) = ...) -> T @ thread[SIZE]"
    )
    assert found.parameters["x"].annotation == "ptr(const(T)) @ block[1]"
    assert found.parameters["T"].default is DEDUCED and found.parameters["N"].default is inspect.Parameter.empty


def test_help_shows_the_signature_and_the_docstring() -> None:
    text = pydoc.plain(pydoc.render_doc(collectives.scan))
    assert "\nscan(items: T[ITEMS] @ thread[1], identity: T @ block[1], *, WIDTH: constexpr(int), OP: function" in text
    assert ") -> T @ block[1]\n" in text and "Perspective: block" in text
    assert "scan_valid(items: T[ITEMS] @ thread[1]" in pydoc.plain(pydoc.render_doc(collectives))


def test_a_kernel_is_what_it_was() -> None:
    assert copy.deepcopy(some) is some and pickle.loads(pickle.dumps(collectives.scan)) is collectives.scan
    assert type("Holder", (), {"some": some})().some is some and not hasattr(some, "nothing")
    with pytest.raises(TypeError, match="call it inside a kernel"):
        some()
    assert "python" in inspect.signature(type(some)).parameters


def test_a_kernel_without_a_text_has_python_s_annotations() -> None:
    names = {"grid": grid, "ptr": ptr, "T": "T"}
    exec("def lost(x: ptr(T) @ grid[1], n: T): pass", names)
    found = signature_of(names["lost"], {"T": dtype, "N": int}, {})
    assert list(found.parameters) == ["x", "n", "N", "T"] and found.parameters["N"].annotation == "int"


def test_defaults_of_the_template_are_shown() -> None:
    @prism("device")
    @template(
        T=dtype(default=float32),
        N=constexpr(int, default=4),
        M=constexpr(int, default=lambda N: N * 2),
        K=constexpr(int),
    )
    def padded(x: T @ thread[1]):
        pass

    found = inspect.signature(padded).parameters
    assert {name: str(found[name].default) for name in "TNM"} == {"T": "float32", "N": "4", "M": "..."}
    assert found["K"].default is inspect.Parameter.empty and list(found) == ["x", "K", "T", "N", "M"]
