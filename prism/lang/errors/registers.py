"""Errors of `set_registers`."""

from __future__ import annotations

from prism.lang.diagnostics import Error
from prism.lang.types.perspective import Perspective


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
