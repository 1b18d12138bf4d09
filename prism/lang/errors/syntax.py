"""What parse refuses: Python that Prism doesn't have, and constructs that are spelled wrongly."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Span


class SyntaxFault(Error, code="syntax"):
    """What all errors of this file have."""


class Unsupported(SyntaxFault):
    """A piece of Python with no meaning in Prism; UNSUPPORTED has the texts."""

    title = "{what} is not part of Prism"
    label = "{why}"
    what: str
    why: str
    change: str


# The class of Python's tree -> what the user wrote, why it isn't there, and what to write instead.
UNSUPPORTED: dict[str, tuple[str, str, str]] = {
    "AsyncFunctionDef": ("`async def`", "kernels have no coroutines", "write `def`"),
    "ClassDef": ("`class`", "kernels have no objects", "keep each field in a variable of its own"),
    "Delete": ("`del`", "a variable ends with its block", "remove the line"),
    "Import": ("`import` inside a kernel", "the kernel runs where there is no Python", "import at the top of the file"),
    "ImportFrom": ("`import` inside a kernel", "the kernel runs where there is no Python",
                   "import at the top of the file"),
    "Global": ("`global`", "a kernel cannot assign to Python's variables",
               "pass a `ptr(T)` parameter and write through it"),
    "Nonlocal": ("`nonlocal`", "a kernel cannot assign to Python's variables",
                 "pass a `ptr(T)` parameter and write through it"),
    "Try": ("`try`", "kernels have no exceptions", "test for the condition with `if`"),
    "TryStar": ("`try`", "kernels have no exceptions", "test for the condition with `if`"),
    "Raise": ("`raise`", "kernels have no exceptions", "write an error code to memory, and test it on the host"),
    "Assert": ("`assert`", "Python's assertion cannot run on the GPU", 'write `assert_(x > 0, "text")`'),
    "AsyncFor": ("`async for`", "kernels have no coroutines", "write `for`"),
    "AsyncWith": ("`async with`", "kernels have no coroutines",
                  "for asynchronous copies, write `with async_(x) as y:`"),
    "TypeAlias": ("`type`", "an annotation is read as it is written", "write the type out where it is used"),
    "NamedExpr": ("`:=`", "an expression assigns nothing", "assign on a line of its own, before this one"),
    "Dict": ("a dict", "kernels have scalars, vectors, arrays and pointers",
             "use an array, as in `x: int[2] @ thread[1] = [a, b]`; zeros are `{0}`"),
    "List": ("a list as a value", "kernels have scalars, vectors, arrays and pointers",
             "give it to an array of its own line, as in `x: int[2] = [a, b]`"),
    "Tuple": ("a tuple", "kernels have scalars, vectors, arrays and pointers",
              "use a variable for each value; an offset of two dimensions is a lambda, `lambda i, j: (r + i, c + j)`"),
    "ListComp": ("a comprehension", "kernels have no lists that grow", "fill an array in a `for i in range(...)` loop"),
    "SetComp": ("a comprehension", "kernels have no sets", "fill an array in a `for i in range(...)` loop"),
    "DictComp": ("a comprehension", "kernels have no dicts", "fill an array in a `for i in range(...)` loop"),
    "GeneratorExp": ("a generator", "kernels have no iterators", "accumulate in a `for i in range(...)` loop"),
    "Await": ("`await`", "kernels have no coroutines", "remove `await`: Prism waits where the data is read"),
    "Yield": ("`yield`", "a kernel is not a generator", "write the value through a `ptr(T)` parameter"),
    "YieldFrom": ("`yield`", "a kernel is not a generator", "write the value through a `ptr(T)` parameter"),
    "JoinedStr": ("an f-string", "text is not made on the GPU", "use a plain string"),
    "TemplateStr": ("a t-string", "text is not made on the GPU", "use a plain string"),
    "Starred": ("`*` before an argument", "the number of values is not known to the compiler",
                "write the values one by one"),
    "Slice": ("a slice", "an access is to one element",
              "index one element; for a part of an array, use `with partition(x, unit, offset) as y:`"),
    "Pow": ("`**` of variables", "the GPU has no such instruction",
            "multiply, as in `x * x`; for a power of two, shift: `1 << n`; of floats there is `pow(x, y)`"),
    "MatMult": ("`@=`", "`@` only gives a declaration its perspective", "multiply the elements in a loop"),
    "In": ("`in`", "kernels have no containers to search", "compare with each value"),
    "NotIn": ("`not in`", "kernels have no containers to search", "compare with each value"),
    "Is": ("`is`", "values have no identity", "compare with `==`"),
    "IsNot": ("`is not`", "values have no identity", "compare with `!=`"),
}  # fmt: skip


def unsupported_error(span: Span, kind: str) -> Unsupported:
    """Return the error for a node or an operator of Python's tree, by the name of its class."""
    nothing = (f"`{kind}`", "Prism has nothing like it", "compute it on the host and pass the result")
    what, why, change = UNSUPPORTED.get(kind, nothing)
    return Unsupported(span=span, what=what, why=why, change=change)


class NestedAssign(SyntaxFault):
    """`n += 1` in a function inside another one, of a name that it neither declares nor says to be of the other."""

    title = "`{name}` is changed here, and is neither declared in this function nor said to be of the one around it"
    label = "which `{name}`?"
    help_template = "write `nonlocal {name}` at the function's start, as Python wants it; or declare `{name}` in it"
    name: str


class NestedDecorator(SyntaxFault):
    """A decorator of a function inside another one that is not `@requires(...)`."""

    title = "`@{text}` has no place above `{name}`, which is defined inside another function"
    label = "not `@requires(...)`"
    help_template = "write `@requires(...)` alone: constants are those of the function around it; or define it outside"
    text: str
    name: str


class UnsupportedConstant(SyntaxFault):
    """`None`, a complex number, bytes, `...` where a value is needed."""

    title = "`{text}` is not a value of Prism"
    label = "neither a number nor a truth value"
    help_template = "use a number, `True` or `False`"
    text: str


class StarredKeywords(SyntaxFault):
    """`f(**options)`."""

    title = "`**` before an argument is not part of Prism"
    label = "the names are not known to the compiler"
    help_template = "write each argument, as in `name=value`"


class LambdaParameters(SyntaxFault):
    """A lambda with defaults, or with `*args`."""

    title = "a lambda's parameters are plain names"
    label = "an index function takes exactly the indices"
    help_template = "write `lambda i: ...`, or `lambda i, j: ...` for two subscripts"


class StringValue(SyntaxFault):
    """A string that is no argument."""

    title = "a string is not a value of Prism"
    label = 'only calls take text, as `unsafe("...")` does'
    help_template = "{change}"
    change: str = "use a number for what the string stands for"


class NoEffect(SyntaxFault):
    """An expression as a statement that is no call."""

    title = "this statement does nothing"
    label = "computed, and not used"
    change: str


class TooDeep(SyntaxFault):
    """An expression or block nested so deep that Python's stack ends."""

    title = "`{name}` is nested too deeply"
    label = "an expression or block in here exceeds the compiler's stack"
    help_template = "split the longest expression into several assignments"
    name: str


class TooLarge(SyntaxFault):
    """A function with more accesses, or more loops and partitions around them, than the walk over it can compare."""

    title = "`{name}` is too large"
    label = "more accesses that may be pending together than are compared, each with each"
    help_template = "move parts of it into device functions: what these access is looked at once"
    name: str


class TooMany(SyntaxFault):
    """A function with more statements, or more parameters, than are looked at."""

    title = "`{name}` is too large: it has {number} {what}, and at most {most} are looked at"
    label = "counted before anything else is looked at"
    name: str
    number: int
    what: str
    most: int
    change: str


class TooManyReached(SyntaxFault):
    """A program of more functions, or of more statements in all of them, than are looked at."""

    title = "`{name}` is too large: with all that it calls it has more than {most} {what}"
    label = "each function is counted once for each list of template arguments that it is called with"
    help_template = "make several kernels of it, or let a loop do what many lines and functions do alike"
    name: str
    what: str
    most: int


# -- The function itself ----------------------------------------------------------------------------------------------


class NoSource(SyntaxFault):
    """The text of the function is not to be had."""

    title = "the source of `{name}` is not available"
    label = "Prism compiles the text of a function, and this one's is not in a file that Python knows"
    note_templates = ("{why} leaves no text behind",)
    help_template = "{change}"
    name: str
    why: str
    change: str


class SourceChanged(SyntaxFault):
    """The file no longer holds the function where Python found it."""

    title = "the source of `{name}` has changed since it was loaded"
    label = "`def {name}` was here"
    help_template = "load the file again: restart Python, or call `importlib.reload` on the module"
    name: str


class NotAFunction(SyntaxFault):
    """A lambda, class or other object was decorated."""

    title = "`{name}` is not a function written with `def`"
    label = "Prism compiles functions"
    help_template = "write it as `def {name_to_use}(...):` and decorate that"
    name: str
    name_to_use: str


class ForeignDecorator(SyntaxFault):
    """A decorator that isn't Prism's."""

    title = "`@{text}` has no meaning on a function of Prism"
    label = "not one of Prism's decorators"
    note_templates = ("Prism compiles the text of the function: what another decorator makes of it would be lost",)
    help_template = "remove `@{text}`; call what it adds from the host's side, around the launch"
    text: str


class TypeParameters(SyntaxFault):
    """`def f[T](...)`."""

    title = "type parameters in brackets are not part of Prism"
    label = "a template parameter is declared by a decorator"
    help_template = "remove the brackets and write `@template({name}=dtype)` above the function"
    name: str


class VariadicParameter(SyntaxFault):
    """`*args` or `**kwargs`."""

    title = "`{text}` takes any number of arguments"
    label = "a function of Prism has a fixed list of parameters"
    help_template = "declare each parameter with its type and perspective, as in `{name}: int @ thread[1]`"
    text: str
    name: str


class ParameterMarker(SyntaxFault):
    """A parameter after `*`, or before `/`."""

    title = "`{name}` is {how}-only"
    label = "arguments of Prism's functions are given in order"
    help_template = "remove the `{marker}` from the list of parameters"
    name: str
    how: str
    marker: str


class MissingAnnotation(SyntaxFault):
    """A parameter without a type."""

    title = "parameter `{name}` has no type"
    label = "its type and perspective are needed"
    help_template = "declare both, as in `{name}: int @ thread[1]`"
    name: str


class QuotedAnnotation(SyntaxFault):
    """An annotation in quotes."""

    title = "the annotation is in quotes"
    label = "read as a string, not as a type"
    help_template = "remove the quotes; after `from __future__ import annotations` Python doesn't evaluate it"


# -- Assignments ------------------------------------------------------------------------------------------------------


class ChainedAssignment(SyntaxFault):
    """`a = b = 0`."""

    title = "one `=` assigns to several variables"
    label = "a statement assigns to one"
    help_template = "write one assignment a line: `{last} = {value}`, then the others"
    last: str
    value: str


class Unpacking(SyntaxFault):
    """`(a, b), c = ...`, `a, b = 1, 2, 3`."""

    title = "an assignment has not a value for each variable"
    label = "kernels have no tuples; a struct, a vector or a function's several results are unpacked"
    help_template = "write one assignment a line, or a value for each: `a, b = b, a`"


class BadTarget(SyntaxFault):
    """`x.y = ...`, or a declaration of something that is no plain name."""

    title = "cannot {verb} `{text}`"
    label = "not {expected}"
    verb: str
    text: str
    expected: str
    change: str


class ChainedCall(SyntaxFault):
    """`a < f(x) < b`: the middle would be evaluated twice."""

    title = "the middle of a chain of comparisons is a call"
    label = "would be evaluated twice"
    help_template = "assign it to a variable first and compare that"


# -- Loops ------------------------------------------------------------------------------------------------------------


class NotRange(SyntaxFault):
    """`for x in xs`."""

    title = "a `for` loop runs over `range(...)` only"
    label = "not a call of Python's `range`"
    help_template = "{change}"
    change: str


class RangeArguments(SyntaxFault):
    """`range()`, `range(1, 2, 3, 4)`, `range(n, step=2)`."""

    title = "`range` takes `stop`, or `start, stop`, or `start, stop, step`; and `unroll=`"
    label = "{fault}"
    help_template = "write `range(start, stop, step)`; all three in order"
    fault: str


class LoopTarget(SyntaxFault):
    """`for i, j in ...`, `for a[0] in ...`."""

    title = "the index of a `for` loop is one plain name"
    label = "not a name"
    help_template = "write `for i in range(...):` and assign `{text}` in the body"
    text: str


class LoopElse(SyntaxFault):
    """`for ... else`, `while ... else`."""

    title = "a `{loop}` loop has no `else` in Prism"
    label = "would run when the loop ends without `break`"
    help_template = "keep a `bool` that tells whether the loop was left, and test it after the loop with `if`"
    loop: str


# -- Constructs -------------------------------------------------------------------------------------------------------


class UnknownWith(SyntaxFault):
    """`with open(...)`."""

    title = "`with {text}` is not a construct of Prism"
    label = "{why}"
    note_templates = (
        "Prism has `group`, `partition`, `claim`, `async_`, `one`, `wgmma_async` and the roles of a split",
    )
    text: str
    why: str
    change: str


def unknown_with(span: Span, text: str, found: object, unknown: bool) -> UnknownWith:
    """Return the error for a `with` that opens no scope; `found` is what the name stands for."""
    name = text.partition("(")[0]
    short = name.rpartition(".")[2]
    if short in USAGE and unknown:
        why = f"`{name}` is not imported, or is a local variable here"
        change = f"write `from prism.lang import {short}` at the top of the file"
    elif getattr(found, "name", None) == "split":
        why = "a split has one arm for each group of units"
        change = f"write `match {text}:` and a `case` for each arm"
    else:
        why = "a kernel has no context managers"
        change = "remove the `with`; to run the body once a thread, write `with group(thread[1]):`"
    return UnknownWith(span=span, text=text, why=why, change=change)


class ConstructName(SyntaxFault):
    """`with group(...) as x`, or `with partition(...)` without `as`."""

    title = "`with {construct}` {fault}"
    label = "{why}"
    construct: str
    fault: str
    why: str
    change: str


def construct_name(span: Span, construct: str, text: str, *, wants_name: bool) -> ConstructName:
    """Return the error for a scope that lacks its `as` name, or has one too many; `text` is the scope's."""
    construct = f"{construct}(...)" if "(" in text else construct
    if not wants_name:
        return ConstructName(span=span, construct=construct, fault="gives nothing to name", why="names nothing",
                             change="remove the `as`")  # fmt: skip
    return ConstructName(span=span, construct=construct, fault="needs one name after `as`",
                         why="what it gives must have a name", change=f"write `with {text} as y:`")  # fmt: skip


class ConstructArguments(SyntaxFault):
    """A construct with an argument too many, too few, or of an unknown name."""

    title = "`{construct}` {fault}"
    label = "{why}"
    help_template = "write `{usage}`"
    construct: str
    fault: str
    why: str
    usage: str


USAGE = {
    "group": "with group(thread[32]):",
    "partition": "with partition(x, thread[1], offset) as y:",
    "claim": "with claim(x, thread[32]) as y:",
    "async_": "with async_(x) as y:",
    "split": "match split(thread):",
    "one": "with one(thread):",
    "wgmma_async": "with wgmma_async():",
    "turns": "with turns(consumers):",
    "roles": "consumers, producer = roles(warpgroup, 2, 1)",
    "unsafe": 'unsafe("text")',
}
MEANING = {
    "source": "the pointer or array to divide or hand over",
    "unit": "a perspective, as `thread[32]`",
    "level": "`thread`, `warp`, `warpgroup` or `block`",
    "role": "a role, named by `consumers, producer = roles(warpgroup, 2, 1)`",
}


class BareConstruct(SyntaxFault):
    """`group(thread[1])` as a statement or inside an expression."""

    title = "`{construct}` opens a scope; it is not a value"
    label = "nothing runs inside it"
    help_template = "write `{opening}` and indent what belongs inside"
    construct: str
    text: str

    @property
    def opening(self) -> str:
        """The line that opens the scope."""
        match self.construct:
            case "group" | "one" | "turns" | "wgmma_async":
                return f"with {self.text}:"
            case "split":
                return f"match {self.text}:"
            case _:
                return f"with {self.text} as y:"


class NotSplit(SyntaxFault):
    """`match x:`."""

    title = "`match` does not choose by a value in Prism"
    label = "neither `split(level)` nor a level"
    note_templates = ("`match split(level):` divides the units among the arms; every arm runs",)
    help_template = "to choose by a value, use `if`; to divide the threads, write `match split(thread):`"


class SplitUnknown(NotSplit):
    """`match split(thread):` in a file that does not import `split`."""

    label = "`split` is not imported, or is a local variable here"
    help_template = "write `from prism.lang import split` at the top of the file"


class CasePattern(SyntaxFault):
    """A pattern that is no number of units."""

    title = "`case {text}` is not a number of units"
    label = "{why}"
    help_template = "write a number or the name of a template parameter, as in `case 32:`; units of no arm stay idle"
    text: str
    why: str


def case_pattern(span: Span, text: str, wildcard: bool) -> CasePattern:
    """Return the error for a pattern that is neither a number nor a name."""
    rest = "units that no arm takes stay idle; there is no arm for the rest"
    why = rest if wildcard else "all arms run, each on its units"
    return CasePattern(span=span, text=text, why=why)


class CaseGuard(SyntaxFault):
    """`case 32 if x:`."""

    title = "a `case` of a split has no `if`"
    label = "the number of units alone decides who runs the arm"
    help_template = "put the `if` inside the arm"
