"""Where an error is, what it says, and how it is printed."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from itertools import groupby
from string import Formatter
from typing import Any, ClassVar
from unicodedata import category, east_asian_width

from prism.lang.keep.bases import Node, Value


class Span(Value):
    """A piece of source: lines count from 1, columns (characters, not bytes) from 0; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __hash__(self) -> int:
        return self.line << 10 ^ self.column


class Label(Value):
    """A piece of source and what is to be said about it."""

    span: Span
    text: str


RULES = (
    "bound-wf", "group", "split-sum", "split-align", "split-body", "decl", "read-up", "write-down", "cond", "loop", "jump",
    "id", "call-bound", "call-scalar", "call-ptr", "call-smem", "const", "ptr-write", "ptr-read", "partition", "hide", "claim",
    "claim-one", "async", "shared-alloc", "template", "unsafe", "ptr-rebind", "extern", "recursion",
)  # fmt: skip
"""The codes of the errors that enforce R1, R2 and so on."""


class Error(Node):
    """One error. A subclass declares its texts, which are `str.format` templates over its own fields and properties:

        class CallKernel(Named, code="type"):
            title = "`{name}` is a kernel: it is launched from the host, not called"

    A class whose help depends on more has it as its `change`, a field or a property, and no `help_template`. A note or help that
    comes out empty is left out. `labels` point at the cause; `trace` is the chain of calls and
    template arguments that led to the function, innermost first.
    """

    code: ClassVar[str] = ""
    rule: ClassVar[str] = ""
    title: ClassVar[str] = ""
    label: ClassVar[str] = ""
    note_templates: ClassVar[tuple[str, ...]] = ()
    help_template: ClassVar[str] = "{change}"

    span: Span
    labels: tuple[Label, ...] = ()
    trace: tuple[Label, ...] = ()

    def __init_subclass__(cls, *, code: str = "") -> None:
        cls.code = code or cls.code
        if code in RULES:
            cls.rule = f"R{RULES.index(code) + 1}"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash(tuple(self.__getstate__()))

    def _fill(self, template: str) -> str:
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        return template.format(**{name: getattr(self, name) for name in names})

    @property
    def title_text(self) -> str:
        """What is wrong, in one line."""
        return self._fill(self.title)

    @property
    def label_text(self) -> str:
        """What stands under the carets."""
        return self._fill(self.label)

    @property
    def notes(self) -> tuple[str, ...]:
        """What one needs to know to understand the error."""
        return tuple(note for note in map(self._fill, self.note_templates) if note)

    @property
    def help(self) -> str:
        """One change that mends the program."""
        return self._fill(self.help_template)


class Named(Error):
    """An error about what has a name."""

    name: str


Fields = dict[str, Any]
"""Some fields of an error or a node, by name: mypy does not ask of what type each is."""


class ProgramError(Exception):
    """An error of the user's program. It says where that is wrong: no frame of Prism's own belongs in its traceback."""


class CompileError(ProgramError):
    """A program that Prism refuses: one error or several, in the order of the source. `str` is the whole message."""

    def __init__(self, first: Error, *others: Error) -> None:
        placed: dict[tuple[str, int, int], list[Error]] = {}
        for error in (first, *others):
            there = placed.setdefault((error.span.file, error.span.line, error.span.column), [])
            if error not in there:
                there.append(error)
        self.errors = tuple(error for place in sorted(placed) for error in placed[place])
        super().__init__(*self.errors)

    @property
    def code(self) -> str:
        """The code of the first error."""
        return self.errors[0].code

    @property
    def rule(self) -> str:
        """The rule that the first error enforces, or the empty string."""
        return self.errors[0].rule

    @property
    def span(self) -> Span:
        """Where the first error is."""
        return self.errors[0].span

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first error."""
        return self.errors[0].notes

    @property
    def help(self) -> str:
        """The help of the first error."""
        return self.errors[0].help

    def render(self, *, colour: bool = False) -> str:
        """Return the whole message."""
        return "\n\n".join(render(error, colour=colour) for error in self.errors)

    def __str__(self) -> str:
        return self.render()


class InternalError(Exception):
    """Prism itself is wrong; the program may be right."""

    def __str__(self) -> str:
        return f"this is a bug in Prism, please report it: {super().__str__()}"


# -- Source -----------------------------------------------------------------------------------------------------------

_SOURCES: dict[str, list[str]] = {}
_AS_READ: dict[str, list[str]] = {}
"""Those whose lines still have their ends: each function of a file brings all of it, and most are never shown."""


def register_source(file: str, lines: list[str]) -> None:
    """Remember the text that spans of `file` refer to: what was parsed, not what the file has become since."""
    _AS_READ[file] = lines


def source_lines(file: str) -> list[str]:
    """Return the lines of a file, notebook cell or entry of the interactive prompt; none where the text is unknown."""
    if file in _AS_READ:
        _SOURCES[file] = [line.rstrip("\r\n") for line in _AS_READ.pop(file)]
    return _SOURCES.get(file) or [line.rstrip("\r\n") for line in linecache.getlines(file)]


def place_name(file: str) -> str:
    """Return the name by which a reader knows a file: of a notebook's cell `Cell In[3]`, as IPython's tracebacks have it."""
    ipython: Any = sys.modules.get("IPython")
    compiler: Any = getattr(ipython and ipython.get_ipython(), "compile", None)
    cell = compiler.format_code_name(file) if hasattr(compiler, "format_code_name") else None
    return " ".join(cell) if cell else file


def source_text(span: Span, otherwise: str = "...") -> str:
    """Return the text that lies on a span of one line; `otherwise` of several lines, or where the source is unknown."""
    lines = source_lines(span.file)
    if span.end_line != span.line or span.line > len(lines):
        return otherwise
    return lines[span.line - 1][span.column : span.end_column] or otherwise


# -- Printing ---------------------------------------------------------------------------------------------------------

_COLOURS = {"error": "1;31", "bold": "1", "frame": "1;34", "primary": "1;31", "secondary": "1;34"}
_TAB = 4
_SHOWN = 4  # lines of a longer span or chain of calls are left out in the middle
Run = tuple[str, str]  # a text and its style


class _Mark(Value):
    """The part of a label that lies on one line, in columns of the screen; its text stands at the label's last line."""

    start: int
    end: int
    text: str
    primary: bool

    @property
    def style(self) -> str:
        return "primary" if self.primary else "secondary"


def render(error: Error, *, colour: bool = False) -> str:
    """Return an error's message, in the form that rustc has made familiar."""
    return "\n".join("".join(_paint(run, colour) for run in line).rstrip() for line in _message(error))


def _paint(run: Run, colour: bool) -> str:
    text, style = run
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if colour and style else text


def _message(error: Error) -> Iterator[list[Run]]:
    spans = [error.span, *(label.span for label in (*error.labels, *error.trace))]
    width = max(len(str(span.end_line)) for span in spans)
    yield [(f"error[{error.code}]", "error"), (f": {error.title_text}", "bold")]
    primary = Label(error.span, error.label_text)
    files = dict.fromkeys([error.span.file, *(label.span.file for label in error.labels)])
    for file in files:
        here = [(label, False) for label in error.labels if label.span.file == file]
        if file == error.span.file:
            yield from _excerpt([(primary, True), *here], "-->", width)
        else:
            yield [(" " * (width + 1) + "|", "frame")]
            yield from _excerpt(here, ":::", width)
    for step in _shorten(error.trace):
        yield [(" " * (width + 1) + "|", "frame")]
        if isinstance(step, str):
            yield [(" " * width + step, "frame")]
        else:
            yield from _excerpt([(step, False)], ":::", width)
    for kind, texts in (("note", error.notes), ("help", (error.help,) if error.help else ())):
        for text in texts:
            yield from _remark(kind, text, width)


def _shorten(trace: tuple[Label, ...]) -> list[Label | str]:
    if len(trace) <= 2 * _SHOWN:
        return list(trace)
    return [*trace[:_SHOWN], f"... {len(trace) - 2 * _SHOWN} more", *trace[-_SHOWN:]]


def _remark(kind: str, text: str, width: int) -> Iterator[list[Run]]:
    first, *rest = text.split("\n")
    yield [(" " * (width + 1) + "= ", "frame"), (kind, "bold"), (f": {first}", "")]
    for line in rest:
        yield [(" " * (width + len(kind) + 5) + line, "")]


def _excerpt(labels: list[tuple[Label, bool]], arrow: str, width: int) -> Iterator[list[Run]]:
    """Yield one file's lines that labels lie on, with their marks; the labels alone where the source is unknown."""
    span = labels[0][0].span
    yield [(" " * width + arrow, "frame"), (f" {place_name(span.file)}:{span.line}:{span.column + 1}", "")]
    source = source_lines(span.file)
    marks: dict[int, list[_Mark]] = {}
    for label, primary in labels:
        if label.span.line > len(source):
            if label.text:
                yield [(" " * (width + 1) + "= ", "frame"), (f"line {label.span.line}: {label.text}", "")]
            continue
        for number, mark in _marks(label, primary, source):
            marks.setdefault(number, []).append(mark)
    if marks:
        yield [(" " * (width + 1) + "|", "frame")]
    previous = None
    for number in sorted(marks):
        if previous is not None and number == previous + 2:
            yield _source_line(number - 1, source, width)
        elif previous is not None and number > previous + 2:
            yield [("...", "frame")]
        yield _source_line(number, source, width)
        for line in _underline(marks[number]):
            yield [(" " * (width + 1) + "| ", "frame"), *line]
        previous = number


def _source_line(number: int, source: list[str], width: int) -> list[Run]:
    return [(f"{number:>{width}} | ", "frame"), (_cells(source[number - 1])[0], "")]


def _cells(line: str) -> tuple[str, list[int]]:
    """Return a line as the screen shows it, and the column of the screen where each character starts, and the end."""
    shown, columns, column = [], [], 0
    for character in line:
        columns.append(column)
        kind = category(character)
        if character == "\t":
            character = " " * _TAB
            column += _TAB
        elif kind in ("Mn", "Me", "Cf"):
            pass
        else:
            character = "\N{REPLACEMENT CHARACTER}" if kind == "Cc" else character
            column += 2 if east_asian_width(character) in ("W", "F") else 1
        shown.append(character)
    return "".join(shown), [*columns, column]


def _marks(label: Label, primary: bool, source: list[str]) -> Iterator[tuple[int, _Mark]]:
    """Yield the line and the mark of each line of a label that is shown: of a long one its first lines and its last."""
    span = label.span
    last = min(span.end_line, len(source))
    while last > span.line and not source[last - 1][: span.end_column if last == span.end_line else None].strip():
        last -= 1
    for number in range(span.line, last + 1):
        text = source[number - 1]
        start = span.column if number == span.line else len(text) - len(text.lstrip())
        end = span.end_column if number == span.end_line else len(text.rstrip())
        if number != last and (number >= span.line + _SHOWN - 1 < last - 1 or start >= end):
            continue
        columns = _cells(text)[1]
        start = min(start, len(text))
        left, right = columns[start], columns[max(start, min(end, len(text)))]
        yield number, _Mark(left, max(right, left + 1), label.text if number == last else "", primary)


def _underline(marks: list[_Mark]) -> Iterator[list[Run]]:
    """Yield what stands below a line of source: the marks, the last one's text beside it, the others' below them."""
    cells: list[Run] = [(" ", "")] * max(mark.end for mark in marks)
    for mark in sorted(marks, key=lambda mark: (mark.primary, mark.start - mark.end)):
        for column in range(mark.start, mark.end):
            cells[column] = ("^" if mark.primary else "-", mark.style)
    hanging = sorted((mark for mark in marks if mark.text), key=lambda mark: (mark.start, mark.primary))
    beside: list[Run] = []
    if hanging and hanging[-1].end == len(cells) and all(mark.start < hanging[-1].start for mark in hanging[:-1]):
        beside = [(f" {hanging[-1].text}", hanging.pop().style)]
    yield _join(cells) + beside
    if hanging:
        yield _bars(hanging)
    while hanging:
        mark = hanging.pop()
        outer = [other for other in hanging if other.start < mark.start]
        yield [*_bars(outer, mark.start), (mark.text, mark.style)]


def _bars(marks: list[_Mark], width: int | None = None) -> list[Run]:
    size = max(mark.start for mark in marks) + 1 if width is None else width
    cells: list[Run] = [(" ", "")] * size
    for mark in marks:
        cells[mark.start] = ("|", mark.style)
    return _join(cells)


def _join(cells: list[Run]) -> list[Run]:
    return [("".join(text for text, _ in run), style) for style, run in groupby(cells, lambda cell: cell[1])]
