"""Errors about arrays with axes, `array(T, 2)`."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named


class ArrayAxes(Error, code="type"):
    """An array without a constant number of axes."""

    title = "`array` takes what it holds, and its number of axes: a constant from 1 to {most}"
    label = "no such number"
    help_template = "write `array(const(float32), 2)`, or `array(float32, 2)` where the kernel writes it"
    most: int


class ArrayPlace(Named, code="type"):
    """An array that is no parameter."""

    title = "`{name}` is an array of the host's, and so a parameter"
    label = "declared inside a function"
    help_template = "declare `{name}` among the parameters; an array of each unit's own is `{name}: float32[4]`"


class ArrayOwner(Named, code="type"):
    """An array of a kernel that belongs to less than the grid."""

    title = "the kernel's array `{name}` belongs to the grid"
    label = "not grid[1]"
    help_template = "write `@ grid[1]`, and partition it for narrower units"


class ArrayExtents(Named, code="type"):
    """`x.shape` as a whole, or of an axis that is no constant."""

    title = "`{name}.{what}` is a number for each of {axes} axes, counted from 0"
    label = "names none of them"
    help_template = "write `{name}.{what}[0]`, with a constant below {axes}"
    what: str
    axes: int


class ArrayView(Named, code="type"):
    """The shape of a part."""

    title = "`{name}` is a part of the array `{source}`, and has no {what} of its own"
    label = "a part"
    help_template = "write `{source}.{what}[0]`: an array keeps its name for that where a partition hides it"
    source: str
    what: str


class ArrayRun(Named, code="type"):
    """An access to elements that follow one another, in an array of any strides."""

    title = "`{name}` takes elements that lie side by side, and those of the array `{memory}` may lie anywhere"
    label = "of any strides"
    help_template = (
        "access the elements one by one, or declare `{memory}: ptr({element})`, which takes whole arrays in C order"
    )
    memory: str
    element: str


class ArrayPointer(Named, code="call-ptr"):
    """R15: an array, or a part of one, where a pointer is asked for."""

    title = (
        "`{parameter}` of `{name}` is a pointer, whose elements lie side by side; those of `{actual}` may lie anywhere"
    )
    label = "of any strides"
    help_template = "declare the parameter `array({element}, {axes})`, or `{actual}` as `ptr({element})`"
    parameter: str
    actual: str
    element: str
    axes: int
