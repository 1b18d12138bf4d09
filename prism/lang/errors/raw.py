"""Errors about text for the emitted code, `unsafe` and `extern`, and about `set_registers`."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import Perspective


class UnsafeText(Error, code="unsafe"):
    """R27: a text that isn't known when the kernel is compiled."""

    title = "`unsafe` takes a literal text"
    label = "not a literal"
    help_template = 'write the text itself: `unsafe("x += 1;", reads=[x], writes=[x])`'


class UnsafeKeyword(Named, code="unsafe"):
    """R27: an argument that `unsafe` doesn't have."""

    title = "`unsafe` has no argument `{name}`"
    label = "not known"
    help_template = "its arguments are the text, `reads=[...]`, `writes=[...]` and `meaning=`"


class UnsafeName(Error, code="unsafe"):
    """R27: an effect that is no name."""

    title = "the effects of `unsafe` are names of variables and memory"
    label = "not a name"
    help_template = "write the pointer or variable that is touched, without an index: `reads=[p], writes=[x]`"


class UnsafeMeaning(Error, code="unsafe"):
    """R27: a meaning that is no function."""

    title = "`meaning` is a Python function, for the reference machine"
    label = "not the name of one"
    help_template = "define the function at the top of the file, and pass its name"


class ExternEffect(Named, code="extern"):
    """R29: an effect on what is no pointer parameter."""

    title = "`{function}` has no pointer parameter `{name}` that it could read or write"
    label = "its effects"
    help_template = "name pointer parameters: `@extern(text, reads=[...], writes=[...])`"
    function: str


class ExternBody(Named, code="extern"):
    """R29: a body beside the text that stands for it."""

    title = "`{name}` is extern, and has a body as well"
    label = "its text is the body"
    help_template = "write `pass` as the body, or remove `@extern`"


class RegistersCode(Error, code="registers"):
    """`set_registers` by code that is not whole warpgroups."""

    title = "`set_registers` is run by whole warpgroups, and this code speaks for {code_perspective}"
    label = "not warpgroup[k]"
    help_template = "call it once for each role: `with producer: set_registers(40)`"
    code_perspective: Perspective


class RegistersPlace(Error, code="registers"):
    """`set_registers` where it may be run more than once, or not at all."""

    title = "`set_registers` stands {where}"
    label = "not once, by all its warpgroups"
    help_template = "call it at the kernel's beginning, outside loops and conditions, once for each role"
    where: str


class RegistersBlock(Error, code="registers"):
    """`set_registers` in a block whose size is not known."""

    title = "`set_registers` divides the registers that a block is launched with, and their number is not fixed"
    label = "how many are there?"
    help_template = 'write `@attr("__launch_bounds__({threads}, 1)")` on the kernel, and require the same threads of it'
    threads: int


class RegistersTwice(Error, code="registers"):
    """Two numbers of registers for one warpgroup."""

    title = "warpgroup {warpgroup} of the block sets its registers twice"
    label = "the second time"
    help_template = "keep one of the two calls"
    warpgroup: int


class RegistersSum(Error, code="registers"):
    """More registers than the block was launched with."""

    title = "the warpgroups ask for {asked} registers a thread in all, and the block is launched with {given}"
    label = "{sum} = {asked}"
    note_templates = (
        "{threads} threads are launched with {each} registers each: {warpgroups} x {each} = {given}; asking for more hangs",
    )
    help_template = "ask for {over} fewer in all: less for the warpgroups that only copy, or for those that compute"
    sum: str
    asked: int
    given: int
    threads: int
    each: int
    warpgroups: int
    over: int
