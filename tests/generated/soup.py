"""Source text that is no program, or one that is spoilt: what a compiler must refuse with a CompileError, and never stumble over.

A spoilt text is a real one, generated or written by people, after a few changes to its characters, lines, tokens or tree.
`verdict` puts it through the whole compiler, up to CUDA C++.
"""

from __future__ import annotations

import ast
import copy
import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, ENCODING, ENDMARKER, TokenError, generate_tokens, untokenize
from typing import Any

import prism
import prism.lang
from prism.lang.diagnostics import CompileError, InternalError
from prism.runtime.build import entry_of
from tests.generated.programs import LANGUAGE, loaded, program
from tests.generated.written import entries, modules

POOL = """
    0 1 -1 2 3 7 16 32 48 64 128 0.5 -0.0 1e400 99999999999999999999 True False None "text" b"x" ... ( ) [ ] { } , : ; = == !=
    < > + - * / // % ** << >> & | ^ ~ @ := -> . and or not is in if elif else for while with as match case break continue
    return pass lambda def class del global yield await async try except raise assert import from int float bool half bf16
    double int8 uint8 int16 int64 uint32 uint64 float4 int2 half8 T OP N ITEMS K dtype function ptr const constexpr shared
    vector mailbox fragment CUtensorMap grid block thread warp warpgroup group split partition claim async_ wgmma_async unsafe
    extern roles one ring swizzle align unroll races in_flight id count range min max abs row column out x y n p s t own mine a
    k kernel broadcast shuffle_up warp_sum atomic_add load_vector store_vector cp_async bulk_load bulk_store tma_load wgmma
    publish receive float4_cast print_ assert_ template requires attr prism thread[1] thread[32] block[1] grid[1] warp[1]
    warpgroup[1] thread[n] thread[0] id() id(thread[1]) count(warp[1]) x[0] x[n] {0} {} () [] lambda:0 p[0][1] x.y reads=[x]
""".split()
PIECES = (
    "x: shared(int[4]) @ block[1]", "y: int @ thread[1] = id()", "with group(thread[1]): pass", "with async_(x) as y: pass",
    "with claim(x, thread[1]) as y: pass", "with partition(x, thread[1], id()) as y: pass", "a, b = roles(thread, 1, 1)",
    "match split(thread):\n    case 1: pass", "for k in range(4): pass", "while True: break", "return", "return x", "x = x",
    "x[0] = 0", "x: ptr(int) @ block[1] = x", 'unsafe("x = 1;")', "z: float4 = float4(1.0)", "z: int[2][3] = {0}", "x.y = 1",
    "with one(thread): pass", "x: shared(int[4], ring=2)", "f: fragment(float, 64, 8) @ warpgroup[1] = 0", "pass", "x += 1",
    "with wgmma_async(): pass", "with x: pass", "with group(warp[1]), one(thread): cp_async(x[0], y[0], 4)", "0", "...",
    "def inner(): pass", "class C: pass", "x = y = z = 0", "x, y = y, x", "*x, = y", "try:\n    pass\nfinally:\n    pass",
    "if x:\n    pass\nelif y:\n    pass", "print_('{}', x)", "assert_(x > 0)", "lambda: 0", "x[0:1] = 2", "x @ y", "'text'",
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A text, the kernel of it to check, its template arguments, and names that the text needs."""

    text: str
    kernel: str
    template: Mapping[str, Any] = field(default_factory=dict)


def sources(programs: int, first: int = 0) -> list[Source]:
    """Return the texts to spoil: generated programs, and the files that people wrote."""
    found = [Source(program(seed).text, "kernel") for seed in range(first, first + programs)]
    for module in modules():
        for kernel, template in entries(module):
            found.append(Source(Path(str(module.__file__)).read_text(), kernel.__name__, template))
    return found


def verdict(source: Source, text: str) -> tuple[str, str]:
    """Return `python` where Python itself refuses a text, `refused`, or `legal` with the CUDA C++ text.

    Raises whatever the compiler raises that is no CompileError, or is one with something amiss.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with loaded(text, LANGUAGE) as names:
                return checked(names.get(source.kernel), source.template)
    except Stumbled as error:
        raise error.__cause__ or error from None
    except Exception:  # of Python, or of a decorator, while the module was made
        return "python", ""


class Stumbled(Exception):
    """The compiler raised something else than a CompileError: its cause."""


def checked(kernel: Any, template: Mapping[str, Any]) -> tuple[str, str]:
    """Check a kernel, and emit it where it is legal."""
    if not isinstance(kernel, prism.lang.Kernel):
        return "python", ""
    try:
        built = prism.check(kernel, template)
        return "legal", entry_of(built, "sm_90a").source if kernel.kind == "global" else ""
    except CompileError as error:
        try:
            sound(error)
        except Exception as amiss:
            raise Stumbled from amiss
        return "refused", ""
    except Exception as error:
        raise Stumbled from error


def sound(error: CompileError) -> None:
    """Fail where an error is the compiler's own fault, or does not say what it must."""
    assert not isinstance(error, InternalError), "an internal error"
    assert error.errors, "an error of nothing"
    for fault in error.errors:
        assert fault.code and fault.title_text and fault.help, f"{fault}: something is missing"
        assert fault.span.line >= 1 and fault.span.column >= 0, f"{fault}: nowhere"
    assert "error[" in str(error), "no message"


# -- ways to spoil a text ---------------------------------------------------------------------------------------------


def spoil(text: str, choices: random.Random, changes: int) -> str:
    """Return a text after so many changes; one of ten is such that Python itself may not read it."""
    ways: tuple[Callable[[str, random.Random], str], ...] = (
        characters,
        lines,
        tokens,
        tokens,
        tree,
        tree,
        tree,
        insert,
    )
    for _ in range(changes):
        attempts = (choices.choice(ways)(text, choices) for _ in range(4))
        text = next((new for new in attempts if parses(new)), text)
    return choices.choice(ways)(text, choices) if choices.random() < 0.1 else text


def spoilt(seed: int, every: list[Source]) -> tuple[Source, str]:
    """Return one of some sources, and its text spoilt: both of a seed."""
    choices = random.Random(seed)
    source = choices.choice(every)
    return source, spoil(source.text, choices, choices.choice((1, 1, 2, 3)))


def parses(text: str) -> bool:
    """Whether Python reads a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def characters(text: str, choices: random.Random) -> str:
    """One character removed, doubled or changed."""
    at = choices.randrange(len(text) or 1)
    new = choices.choice(["", text[at : at + 1] * 2, choices.choice("()[]{},:=+-*@.#'\"\\\t 0a_é\0\n")])
    return text[:at] + new + text[at + 1 :]


def lines(text: str, choices: random.Random) -> str:
    """A line removed, doubled, moved, or put at another depth."""
    every = text.splitlines(keepends=True)
    at, other = choices.randrange(len(every) or 1), choices.randrange(len(every) or 1)
    line = every[at] if every else "\n"
    match choices.randrange(4):
        case 0:
            del every[at : at + 1]
        case 1:
            every.insert(other, line)
        case 2:
            every[at : at + 1] = ["    " + line]
        case _:
            every[at : at + 1] = [line.removeprefix("    ")]
    return "".join(every)


def tokens(text: str, choices: random.Random) -> str:
    """A token removed, doubled, replaced, or one more."""
    try:
        found = [t for t in generate_tokens(StringIO(text).readline) if t.type not in (COMMENT, ENCODING, ENDMARKER)]
    except (TokenError, SyntaxError):
        return characters(text, choices)
    words = [(t.type, t.string) for t in found]
    places = [k for k, (_, word) in enumerate(words) if word.strip()]
    if not places:
        return text
    at, word = choices.choice(places), choices.choice(POOL)
    old = words[at][1]
    new = choices.choice(["", f"{old} {old}", word, word, f"{old} {word}", words[choices.choice(places)][1]])
    words[at] = (1, new)
    try:
        return untokenize(words)
    except ValueError:
        return text


def insert(text: str, choices: random.Random) -> str:
    """A piece of a kernel before some line, at its depth."""
    every = text.splitlines(keepends=True)
    at = choices.randrange(len(every) or 1)
    margin = " " * (len(every[at]) - len(every[at].lstrip())) if every else ""
    piece = "".join(f"{margin}{line}\n" for line in choices.choice(PIECES).splitlines())
    return "".join([*every[:at], piece, *every[at:]])


def tree(text: str, choices: random.Random) -> str:
    """An expression replaced by another, or a statement removed, doubled, moved, or its body spilled: mostly still Python."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return tokens(text, choices)
    if choices.random() < 0.6:
        slots = [slot for node in ast.walk(module) for slot in expression_slots(node)]
        if slots:
            owner, name, index = choices.choice(slots)
            replace(owner, name, index, another(slots, choices))
    else:
        move(module, choices)
    try:
        return ast.unparse(ast.fix_missing_locations(module)) + "\n"
    except (ValueError, AttributeError, RecursionError):
        return text


Slot = tuple[ast.AST, str, int | None]


def expression_slots(node: ast.AST) -> list[Slot]:
    """Return where expressions that are read hang from a node."""
    found: list[Slot] = []
    for name, value in ast.iter_fields(node):
        for index, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(each, ast.expr) and not isinstance(getattr(each, "ctx", None), ast.Store | ast.Del):
                found.append((node, name, index))
    return found


def another(slots: list[Slot], choices: random.Random) -> ast.expr:
    """Return an expression: one of the text's own, or of the pool's."""
    if choices.random() < 0.5:
        owner, name, index = choices.choice(slots)
        value = getattr(owner, name)
        return copy.deepcopy(value if index is None else value[index])
    while True:
        try:
            return ast.parse(choices.choice(POOL), mode="eval").body
        except SyntaxError:
            continue


def replace(owner: ast.AST, name: str, index: int | None, value: ast.expr) -> None:
    """Hang another expression there."""
    if index is None:
        setattr(owner, name, value)
    else:
        getattr(owner, name)[index] = value


def move(module: ast.Module, choices: random.Random) -> None:
    """Remove, double, move or unwrap a statement."""
    bodies = [n.body for n in ast.walk(module) if isinstance(getattr(n, "body", None), list) and n is not module]
    if not bodies:
        return
    body, other = choices.choice(bodies), choices.choice(bodies)
    at = choices.randrange(len(body))
    match choices.randrange(4):
        case 0 if len(body) > 1:
            del body[at]
        case 1:
            body.insert(at, copy.deepcopy(body[at]))
        case 2 if not isinstance(body[at], ast.FunctionDef):
            other.insert(choices.randrange(len(other) + 1), copy.deepcopy(body[at]))
        case _:
            inner = getattr(body[at], "body", None)
            if isinstance(inner, list) and not isinstance(body[at], ast.FunctionDef):
                body[at : at + 1] = inner


# -- text that was never a program ----------------------------------------------------------------------------------------

KERNEL = Source("", "kernel")
HEAD = (
    "from __future__ import annotations\n\n\n"
    '@prism("global")\n@requires(grid[1], block[1], warpgroup[1])\n'
    "def kernel(x: ptr(int) @ grid[1], y: ptr(const(float)) @ grid[1], n: int @ grid[1]):\n"
)


def soup(choices: random.Random) -> str:
    """A kernel whose body is words in no order, pieces of kernels, or any characters: mostly such that Python reads it."""
    texts = (brew(choices) for _ in range(40))
    return next((text for text in texts if parses(text)), "") if choices.random() < 0.9 else brew(choices)


def brew(choices: random.Random) -> str:
    """Such a kernel, whether Python reads it or not."""
    shape = choices.randrange(3)
    if shape == 0:
        body = [" ".join(choices.choices(POOL, k=choices.randint(1, 8))) for _ in range(choices.randint(1, 4))]
    elif shape == 1:
        body = [line for _ in range(choices.randint(1, 6)) for line in nest(choices.choice(PIECES), choices)]
    else:
        body = ["".join(chr(choices.randrange(1, 0x2FF)) for _ in range(choices.randint(0, 60)))]
    margin = "        " if choices.random() < 0.5 else "    "
    opened = "    with group(block[1]):\n" if margin == "        " else ""
    return HEAD + opened + "".join(f"{margin}{line}\n" for line in body)


def nest(piece: str, choices: random.Random) -> list[str]:
    """A piece, perhaps inside another."""
    outer = choices.choice(PIECES)
    if outer.endswith(": pass") and choices.random() < 0.5:
        return [outer.removesuffix(" pass"), *("    " + line for line in piece.splitlines())]
    return piece.splitlines()
