"""Programs whose lines stand in functions: those of other kinds, with some statements moved into functions.

Of the generators of `roles`, `loops` and `async` a program is taken, and runs of its statements become functions: inside the
kernel, naming what is around them, or outside, with rings, roles, tiles, parts of tiles, pointers and numbers as parameters;
and values that are assigned become results. The program by hand is the oracle: both are refused, or both are right, with the
same plan.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import prism
from prism.lang.diagnostics import CompileError
from prism.lang.tree.walk import statements
from tests.generated import edge_async, edge_loops, edge_roles
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import loaded
from tests.lang.plans import words

SOURCES = (edge_roles, edge_roles, edge_loops, edge_async)
MOST = 3
"""Functions of a program."""
UNITS = {"thread": 1, "warp": 32, "warpgroup": 128}


@dataclass(frozen=True)
class Known:
    """A name in scope: what it would be as a parameter (nothing: it cannot be one), and the number of units of a role."""

    annotation: str = ""
    role: int = 0


@dataclass(frozen=True)
class Place:
    """A statement list: the unit that its code speaks for, and the names in scope before each statement."""

    body: list[ast.stmt]
    unit: str
    names: tuple[dict[str, Known], ...]


@dataclass
class Writer:
    """What is moved out of one kernel."""

    rng: random.Random
    tree: ast.Module
    outside: list[ast.stmt] = field(default_factory=list)
    count: int = 0

    @property
    def kernel(self) -> ast.FunctionDef:
        """The kernel."""
        return next(s for s in self.tree.body if isinstance(s, ast.FunctionDef) and s.name == "kernel")

    @property
    def threads(self) -> str:
        """The units of threads that the kernel relies on."""
        bounds = next(
            d for d in self.kernel.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func) == "requires"
        )
        return next(
            (text for text in map(ast.unparse, bounds.args) if not text.startswith(("grid", "block"))), "thread[1]"
        )

    def move(self) -> None:
        """Move something into a function, if a place is found for it."""
        places = list(listed(self.kernel))
        wanted = self.rng.random() < 0.5  # outside, which few runs of statements can be
        for attempt in range(60):
            place = self.rng.choice(places)
            first = self.rng.randrange(len(place.body))
            last = min(self.rng.randrange(first, first + 4), len(place.body) - 1)
            run, rest = place.body[first : last + 1], place.body[last + 1 :]
            if not movable(run, rest):
                continue
            parameters = as_parameters(run, place.names[first]) if wanted and place.unit != "grid[1]" else None
            if wanted and attempt < 50 and (parameters is None or place.unit == "thread[1]"):
                continue
            self.count += 1
            name, names = f"part_{self.count}", place.names[first]
            if parameters is None and len(run) == 1 and (moved := self.value(run[0], name, place, names)) is not None:
                place.body[first : last + 1] = moved
            elif parameters is not None:
                bound = f"block[1], {self.threads}" if place.unit == "block[1]" else place.unit
                self.outside.append(function(name, parameters, bound, run, marked=True))
                given = [self.argument(one, text, names) for one, text in parameters.items()]
                place.body[first : last + 1] = ast.parse(f"{name}({', '.join(given)})").body
            else:
                inside = function(name, {}, place.unit, with_nonlocal(run), marked=False)
                place.body[first : last + 1] = [inside, *ast.parse(f"{name}()").body]
            return

    def argument(self, name: str, annotation: str, names: dict[str, Known]) -> str:
        """Return what a parameter is given: a name, or, of a tile, what begins at its first element."""
        if not annotation.startswith("shared") or "ring=" in annotation or self.rng.random() < 0.5:
            return name
        rank = annotation.partition("[")[2].partition("]")[0].count(",") + 1
        zero = "n - n" if "n" in names and self.rng.random() < 0.5 else "0"
        return f"{name}[{', '.join([zero] * (rank - 1) + ['0' if rank > 1 else zero])}]"  # wgmma wants constant columns

    def value(self, s: ast.stmt, name: str, place: Place, names: dict[str, Known]) -> list[ast.stmt] | None:
        """Return what becomes of a number that is assigned to a variable of the code's own unit: the result of a function."""
        if not (isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and self.rng.random() < 0.7):
            return None
        type_, _, unit = names.get(s.targets[0].id, Known()).annotation.rpartition(" @ ")
        if type_ != "int32" or unit != place.unit or "id()" in ast.unparse(s.value):
            return None
        made = function(name, {}, place.unit, [ast.Return(s.value)], marked=False)
        made.returns = ast.parse(f"int32 @ {unit}", mode="eval").body
        return [made, *ast.parse(f"{s.targets[0].id} = {name}()").body]


def listed(kernel: ast.FunctionDef) -> Iterator[Place]:
    """Yield the statement lists of a kernel, but for those of functions inside it."""
    given = {a.arg: Known(ast.unparse(a.annotation)) for a in kernel.args.args if a.annotation is not None}
    yield from inside(kernel.body, "grid[1]", given)


def inside(body: list[ast.stmt], unit: str, names: dict[str, Known]) -> Iterator[Place]:
    """Yield a statement list, and those inside it."""
    before = []
    lists: list[tuple[list[ast.stmt], str, dict[str, Known]]] = []
    names = dict(names)
    for s in body:
        before.append(dict(names))
        match s:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                text = ast.unparse(annotation)
                names[name] = Known(text if " @ " in text else f"{text} @ {'block[1]' if 'shared' in text else unit}")
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id="roles"), args=[level, *sizes])):
                every = target.elts if isinstance(target, ast.Tuple) else [target]
                for one, size in zip(every, sizes, strict=True):
                    number = UNITS[ast.unparse(level)] * int(ast.unparse(size))
                    names[ast.unparse(one)] = Known(f"roles(thread, {number})", number)
            case ast.For(target=ast.Name(id=name)):
                lists.append((s.body, unit, {**names, name: Known(f"int32 @ {unit}")}))
            case ast.FunctionDef(name=name):
                names[name] = Known()
            case ast.While():
                lists.append((s.body, unit, names))
            case ast.If():
                lists += [(s.body, unit, names), (s.orelse, unit, names)]
            case ast.With():
                lists.append((s.body, *entered(s, unit, names)))
            case _:
                pass
    if body:
        yield Place(body, unit, tuple(before))
    for inner, there, known in lists:
        yield from inside(inner, there, known)


def entered(s: ast.With, unit: str, names: dict[str, Known]) -> tuple[str, dict[str, Known]]:
    """Return the unit and the names inside a `with`."""
    names, role = dict(names), 0
    for item in s.items:
        text, call = ast.unparse(item.context_expr), item.context_expr
        if isinstance(call, ast.Name):
            role = names[call.id].role
        elif text.startswith("group("):
            unit = text.removeprefix("group(").removesuffix(")")
        elif text == "one(thread)":
            unit = "thread[1]"
        elif text.startswith("one("):
            unit = f"{text.removeprefix('one(').removesuffix(')')}[1]"
        elif isinstance(call, ast.Call) and text.startswith("claim(") and isinstance(call.args[1], ast.Name):
            role = names[call.args[1].id].role
        if isinstance(item.optional_vars, ast.Name):
            names[item.optional_vars.id] = Known(part(call, names))
        if role:
            unit, role = f"thread[{role}]", 0
    return unit, names


def part(call: ast.expr, names: dict[str, Known]) -> str:
    """Return what a part of memory would be as a parameter: a pointer, where it lies side by side."""
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "partition" and len(call.args) == 3):
        return ""
    source, unit, offset = call.args
    held = names.get(ast.unparse(source), Known()).annotation
    found = re.search(r"u?int\d+|float\d+", held)
    if found is None or isinstance(offset, ast.Lambda) or "," in held or any(k.arg == "races" for k in call.keywords):
        return ""
    element = f"const({found[0]})" if "const(" in held else found[0]
    return f"ptr({element}) @ {ast.unparse(unit)}"


def movable(run: list[ast.stmt], rest: list[ast.stmt]) -> bool:
    """Whether statements may stand in a function: nothing leaves them, and nothing after them needs what they declare."""
    every = [node for s in run for node in ast.walk(s)]
    if any(isinstance(node, ast.Break | ast.Continue | ast.Return | ast.FunctionDef) for node in every):
        return False
    made = {node.target.id for node in run if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    made |= {n.id for s in run if isinstance(s, ast.Assign) and "roles" in ast.unparse(s.value)
             for n in ast.walk(s.targets[0]) if isinstance(n, ast.Name)}  # fmt: skip
    return not made & {node.id for s in rest for node in ast.walk(s) if isinstance(node, ast.Name)}


def bound_in(run: list[ast.stmt]) -> set[str]:
    """Return the names that statements declare."""
    found: set[str] = set()
    for node in (node for s in run for node in ast.walk(s)):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                found.add(name)
            case ast.With():
                found |= {item.optional_vars.id for item in node.items if isinstance(item.optional_vars, ast.Name)}
            case ast.Lambda():
                found |= {a.arg for a in node.args.args}
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id="roles"))):
                found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            case _:
                pass
    return found


def assigned_in(run: list[ast.stmt]) -> set[str]:
    """Return the names of variables around them that statements assign."""
    found = set()
    for node in (node for s in run for node in ast.walk(s)):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            every = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {one.id for one in every if isinstance(one, ast.Name)}
    return found - bound_in(run)


def with_nonlocal(run: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements behind the `nonlocal` that they need."""
    names = sorted(assigned_in(run))
    return [ast.Nonlocal(names), *run] if names else run


def as_parameters(run: list[ast.stmt], names: dict[str, Known]) -> dict[str, str] | None:
    """Return the parameters that statements would have; None where there is something that is none, or that they assign.

    And where there is neither a tile, a ring nor a role: such a function stays one, of whose inside its caller knows less.
    """
    free = {n.id for s in run for n in ast.walk(s) if isinstance(n, ast.Name)} - bound_in(run)
    found = {name: names[name].annotation for name in sorted(free & names.keys())}
    compiled_in = any(text.startswith(("shared", "roles")) for text in found.values())
    return found if compiled_in and all(found.values()) and not assigned_in(run) else None


def function(
    name: str, parameters: dict[str, str], unit: str, body: list[ast.stmt], *, marked: bool
) -> ast.FunctionDef:
    """Return a function of these statements."""
    given = ", ".join(f"{one}: {annotation}" for one, annotation in parameters.items())
    head = f"@requires({unit})\ndef {name}({given}):\n    pass\n"
    made = ast.parse(f'@prism("device")\n{head}' if marked else head).body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return pair(seed)[1]


def pair(seed: int) -> tuple[Edge, Edge]:
    """Return a program as it is written by hand, and with functions."""
    rng = random.Random(seed)
    edge: Edge = rng.choice(SOURCES).program(seed)
    writer = Writer(rng, ast.parse(edge.text))
    for _ in range(rng.randint(1, MOST)):
        writer.move()
    writer.tree.body[:0] = writer.outside[::-1]
    text = ast.unparse(ast.fix_missing_locations(writer.tree))
    return edge, replace(edge, text=f"{text}\n")


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed: as of the one by hand."""
    plain, edge = pair(seed)
    found = judged(edge, seed)
    if found.kind == FAILED:
        return found
    one, other = plan_of(plain), plan_of(edge)
    if isinstance(one, str) or isinstance(other, str):
        if isinstance(one, str) != isinstance(other, str):
            kind = FAILED if isinstance(one, str) else "too strict"
            return Outcome(kind, f"by hand: {one if isinstance(one, str) else 'accepted'}\n{found.found}", found.code)
        return found
    if one != other and one[0] == other[0]:
        return Outcome(FAILED, f"the plans differ:\n{one}\n{other}")
    return found


def plan_of(edge: Edge) -> list[str] | str:
    """Return the plan of a program in words, in the order of the program; the code of its error where it is refused.

    First stands whether rings are filled ahead. They may be by hand alone: the lines of a function that is given memory are one
    scope, and what else it does is in the way of its fills.
    """
    with loaded(edge.head + edge.text) as names:
        try:
            checked = prism.check(names["kernel"])
        except CompileError as error:
            return error.code
    plan = checked.plans[checked.entry]
    before, after = plan.before(), plan.after()
    found = [f"{len(plan.skews)} ahead"]
    for s in statements(checked.entry.body):
        found += [f"< {words(step)}" for step in before.get(s, ())] + [f"> {words(step)}" for step in after.get(s, ())]
    return found
