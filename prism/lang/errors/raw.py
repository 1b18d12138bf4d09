"""Errors about `unsafe` and `extern`: text for the emitted code, and its declared effects."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named


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
