"""Intrinsics of the user's own: `@intrinsic("C++ or PTX")` above a signature with perspectives makes one."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from prism.lang import surface
from prism.lang.check import annotation
from prism.lang.cuda.names import element_cuda, field_names, function_name, variable_name
from prism.lang.cuda.raw_text import field_words, rename_words
from prism.lang.intrinsics import NAMES
from prism.lang.intrinsics.declaration import Intrinsic, Parameter
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
from prism.lang.parse.instantiate import instantiate
from prism.lang.types import Array, Mailbox, Pointer, Scalar, Vector
from prism.lang.types.perspective import THREAD, Level, Perspective

EFFECTS = ("read", "write", "update")
_PAIRS = {")": "(", "]": "[", "}": "{"}


def declare(
    python: FunctionType,
    text: str,
    *,
    meaning: Callable[..., Any] | None,
    effects: Mapping[str, str],
    preamble: str,
    min_arch: str,
) -> Intrinsic:
    """Return the intrinsic that a decorated signature declares. Raises ValueError, or CompileError for its annotations."""
    if not isinstance(python, FunctionType):
        raise TypeError(f"@intrinsic stands above a function written with `def`, not above {python!r}")
    name = python.__name__
    check_name(name)
    for part in (text, preamble):
        check_text(name, part)
    if not re.fullmatch(r"sm_\d+a?", min_arch):
        raise ValueError(f"`{name}`: an architecture is spelled like `sm_90`, not {min_arch!r}")
    kernel = surface.device(python)
    parsed = instantiate(kernel, parse(kernel), {})
    parameters = tuple(parameter_of(name, p, effects) for p in parsed.parameters)
    if unknown := sorted(set(effects) - {p.name for p in parameters if p.kind in ("element", "array")}):
        raise ValueError(f"`{name}`: effects are of operands in memory and of arrays, which `{unknown[0]}` is not")
    requires = max(
        (place for p in parsed.parameters if (place := place_of(p.place)).size > 1), default=THREAD, key=_size
    )
    result, unit = result_of(name, parsed, requires)
    arrays = any(p.kind in ("element", "array") for p in parameters)
    called = helper_name(name, text, preamble, parameters, result)
    elementwise = unit is None and not arrays and requires == THREAD
    return Intrinsic(
        name=name,
        doc=" ".join((inspect.getdoc(python) or f"{name}: declared by the user.").split()),
        parameters=parameters,
        result=result,
        cuda=lambda binding, *texts: f"{called}({', '.join(texts)})",
        preamble=lambda binding: f"{preamble.strip()}\n\n{helper(called, text, parameters, result)}",
        meaning=None if meaning is None else (lambda binding, *operands: meaning(*operands)),
        requires=requires,
        result_unit=None if elementwise else unit or THREAD,
        min_arch=min_arch,
        source="user",
    )


def _size(place: Perspective) -> int:
    return place.size


def check_name(name: str) -> None:
    """Refuse a name that the table has."""
    if name in NAMES:
        raise ValueError(f"there is an intrinsic `{name}` already: choose another name")


def check_text(name: str, text: str) -> None:
    """Refuse text whose brackets or quotes are not closed: it would swallow the kernel that follows."""
    if not isinstance(text, str):
        raise TypeError(f"`{name}`: the text of an intrinsic is a string")
    bare = re.sub(r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'" + r"|//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    if '"' in bare or "'" in bare or "/*" in bare:
        raise ValueError(f"`{name}`: a quote or a comment in its text is not closed")
    if re.search(r"^\s*#", bare, re.MULTILINE):
        raise ValueError(f"`{name}`: its text holds a preprocessor line")
    opened: list[str] = []
    for c in bare:
        if c in "([{":
            opened.append(c)
        elif c in ")]}" and (not opened or opened.pop() != _PAIRS[c]):
            raise ValueError(f"`{name}`: `{c}` in its text closes nothing")
    if opened:
        raise ValueError(f"`{name}`: `{opened[-1]}` in its text is not closed")


def place_of(place: s.Expr | None) -> Perspective:
    """Return the perspective of a parameter: thread[1] where none is written."""
    return THREAD if place is None else annotation.place(place)


def parameter_of(name: str, p: s.Parameter, effects: Mapping[str, str]) -> Parameter:
    """Return the operand that an annotated parameter declares."""
    type_, unit = annotation.read(p.annotation).type, place_of(p.place)
    if unit.level != Level.THREAD:
        raise ValueError(f"`{name}`: `{p.name}` is at {unit}; an intrinsic's operands are at thread[n]")
    words = effects.get(p.name, "").split()
    atomic = words[:1] == ["atomic"]
    effect = words[-1] if words[atomic:] else ""
    if len(words) > 1 + atomic or (effect and effect not in EFFECTS):
        raise ValueError(f"`{name}`: an effect is `read`, `write` or `update`, with `atomic` before or not")
    match type_:
        case Scalar():
            return Parameter(p.name, "value", type_, unit=unit)
        case Array(element=Scalar() as element) if len(type_.shape) == 1:
            return Parameter(p.name, "array", element, effect=effect or "update", length=type_.shape)
        case Pointer(element=Scalar() as element):
            if type_.const and effect not in ("", "read"):
                raise ValueError(f"`{name}`: `{p.name}` is const, and its effect is `{effect}`")
            default = "read" if type_.const else "update"
            return Parameter(p.name, "element", element, effect=effect or default, atomic=atomic, exact=False)
        case Array() | Vector() | Pointer() | Mailbox() | _:
            raise ValueError(
                f"`{name}`: `{p.name}` is {type_}; operands are numbers, arrays of numbers, and ptr(number)"
            )


def result_of(name: str, parsed: s.Function, requires: Perspective) -> tuple[Scalar | None, Perspective | None]:
    """Return the result's type, and its perspective where the signature says so."""
    if parsed.result is None:
        return None, THREAD
    type_ = annotation.read(parsed.result).type
    if not isinstance(type_, Scalar):
        raise ValueError(f"`{name}`: an intrinsic gives a number, not {type_}; write others to an array")
    if parsed.result_place is None:
        return type_, None
    place = annotation.place(parsed.result_place)
    if not place <= requires:
        raise ValueError(f"`{name}`: a result at {place} needs an operand at {place}, whose threads run it together")
    return type_, None if place == THREAD and requires == THREAD else place


def helper_name(name: str, text: str, preamble: str, parameters: tuple[Parameter, ...], result: Scalar | None) -> str:
    """Return the helper's name. C++ would choose among intrinsics of one name by their operands: a digest tells them apart."""
    whole = repr((text, preamble, [(p.name, p.kind, str(p.type), p.effect, p.length) for p in parameters], str(result)))
    return f"{function_name(name, (), 'px_user_')}_{hashlib.sha256(whole.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def helper(called: str, text: str, parameters: tuple[Parameter, ...], result: Scalar | None) -> str:
    """Return the C++ function that an application calls; the text's operands have names of our own."""
    taken: set[str] = set()
    words = {p.name: variable_name(p.name, taken) for p in parameters}
    formals = []
    for p in parameters:
        assert isinstance(p.type, Scalar)
        cuda = element_cuda(p.type)
        match p.kind:
            case "element":
                formals.append(f"{'const ' if p.effect == 'read' else ''}{cuda}* {words[p.name]}")
            case "array":
                formals.append(f"{'const ' if p.effect == 'read' else ''}{cuda} (&{words[p.name]})[{p.length[0]}]")
            case _:
                formals.append(f"{cuda} {words[p.name]}")
    names = {name: functools.partial(str, word) for name, word in words.items()}
    body = rename_words(text, names, field_words((p.type for p in parameters), field_names)).strip()
    if ";" not in body:
        body = f"{'return ' if result is not None else ''}{body};"
    returns = "void" if result is None else result.cuda
    lines = "\n".join(f"    {line.strip()}" for line in body.splitlines() if line.strip())
    return f"static __device__ __forceinline__ {returns} {called}({', '.join(formals)}) {{\n{lines}\n}}\n"
