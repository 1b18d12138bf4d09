"""The arrows of the house point one way: who may import whom, and who may know of a device."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A layer, and the layers that it may import besides itself. "collectives" are prism/lib/{thread,warp,block,grid}; "prism" is
# what lies directly in prism/: the public names and the command, which may import everything and which nobody imports.
# "theory" is beside the package, not in it: nothing that is installed may import it.
MAY_IMPORT = {
    "lang": set(),
    "interpret": {"lang"},
    "explanation": {"lang"},
    "runtime": {"lang"},
    "collectives": {"lang"},
    "kernels": {"lang", "collectives"},
    "host": {"lang", "interpret", "runtime"},
    "lib": {"lang", "interpret", "runtime", "host", "kernels", "collectives"},
    "dist": {"lang", "runtime", "host", "lib"},
    "prism": {"lang", "interpret", "explanation", "runtime", "host", "lib", "dist", "kernels", "collectives"},
    "theory": {"lang"},
}
# The rooms of prism/lang from the ground up, and which of the rooms below it each imports. "__init__" is `prism.lang` itself.
LANG_MAY_IMPORT: dict[str, set[str]] = {
    "keep": set(),
    "diagnostics": {"keep"},
    "types": {"keep"},
    "errors": {"diagnostics", "types"},
    "intrinsics": {"keep", "types"},
    "tree": {"diagnostics", "types", "keep", "intrinsics"},
    "cuda": {"diagnostics", "types", "intrinsics", "tree"},
    "surface": {"keep", "diagnostics", "types"},
    "parse": {"keep", "diagnostics", "types", "errors", "intrinsics", "surface"},
    "facts": {"diagnostics", "types", "keep", "errors", "intrinsics", "tree"},
    "check": {
        "diagnostics",
        "types",
        "keep",
        "errors",
        "intrinsics",
        "tree",
        "cuda",
        "surface",
        "parse",
        "facts",
    },
    "barriers": {"diagnostics", "types", "keep", "errors", "tree", "facts"},
    "rings": {"keep", "diagnostics", "types", "errors", "intrinsics", "tree", "facts", "barriers"},
    "lower": {"diagnostics", "types", "keep", "errors", "intrinsics", "tree", "facts", "check", "rings"},
    "sync": {"diagnostics", "types", "errors", "tree", "facts", "check", "barriers", "rings"},
    "emit": {
        "diagnostics",
        "types",
        "keep",
        "errors",
        "intrinsics",
        "tree",
        "cuda",
        "facts",
        "check",
        "barriers",
        "lower",
    },
    "pipeline": {"diagnostics", "keep", "errors", "tree", "surface", "facts", "check", "barriers", "lower", "sync"},
    "certify": set(),  # the checker of certificates knows nothing of how they are made
    "arguments": {"types", "intrinsics", "facts", "tree", "certify"},
    "skeleton": {"keep", "types", "tree", "facts", "barriers", "rings", "certify", "arguments", "pipeline"},
    "safety": {"keep", "diagnostics", "tree", "facts", "barriers", "lower", "skeleton"},
    "__init__": {"diagnostics", "intrinsics", "surface", "check"},
}
WITHOUT_DEVICES = {"lang", "interpret", "explanation", "theory", "collectives", "kernels"}
DEVICE_LIBRARIES = {"cuda", "cupy", "torch"}


def layer_of(module: str) -> str | None:
    """The layer of a module named in full, or None if it isn't ours."""
    match module.split("."):
        case ["prism", "lib", "thread" | "warp" | "block" | "grid", *_]:
            return "collectives"
        case ["prism", layer, *_] if layer in MAY_IMPORT:
            return layer
        case ["prism", *_]:
            return "prism"
        case ["theory", *_]:
            return "theory"
        case ["kernels", *_]:
            return "prism"  # as a bare name it would be a second copy of prism.kernels: nobody may import it
        case _:
            return None


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("prism", *parts) if parts[0] == "kernels" else parts).removesuffix(".__init__")


def is_module(name: str) -> bool:
    """Whether `prism.a.b` is a module, not something defined in one."""
    parts = name.split(".")
    path = ROOT.joinpath(*(parts[1:] if parts[:2] == ["prism", "kernels"] else parts))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported_modules(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of each module imported anywhere in a file: in functions, under TYPE_CHECKING, by name too."""
    package = module_of(path).split(".")[: None if path.name == "__init__.py" else -1]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else []
                source = ".".join([*above, *([module] if module else [])])
                for alias in names:
                    name = f"{source}.{alias.name}"
                    yield node.lineno, name if is_module(name) else source
            case ast.Call(
                func=ast.Name("__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str() as name), *_],
            ):
                yield node.lineno, name


def complaints(path: Path) -> Iterator[str]:
    source = module_of(path)
    layer = layer_of(source)
    assert layer is not None
    for line, module in imported_modules(path, ast.parse(path.read_text(encoding="utf-8"))):
        target = layer_of(module)
        where = f"{path.relative_to(ROOT)}:{line}"
        if target not in {None, layer, *MAY_IMPORT[layer]}:
            yield f"{where}: {layer} imports {module}; it may import only {sorted(MAY_IMPORT[layer] | {layer})}"
        if layer in WITHOUT_DEVICES and module.split(".")[0] in DEVICE_LIBRARIES:
            yield f"{where}: {layer} imports {module}; devices are the runtime's business"


def sources() -> list[Path]:
    return sorted(path for top in ("prism", "kernels", "theory") for path in (ROOT / top).rglob("*.py"))


def test_every_import_points_down() -> None:
    assert sources(), "no source found: the test looks in the wrong place"
    found = [complaint for path in sources() for complaint in complaints(path)]
    assert not found, "\n".join(found)


def room_of(module: str) -> str | None:
    """The room of prism/lang that a module named in full stands in, or None if it stands elsewhere."""
    match module.split("."):
        case ["prism", "lang"]:
            return "__init__"
        case ["prism", "lang", room, *_]:
            return room
        case _:
            return None


def test_the_rooms_of_lang_stand_on_each_other() -> None:
    rooms = list(LANG_MAY_IMPORT)
    used: dict[str, set[str]] = {room: set() for room in rooms}
    for path in sorted((ROOT / "prism" / "lang").rglob("*.py")):
        room = room_of(module_of(path))
        assert room in used, f"{path.relative_to(ROOT)} has no row in LANG_MAY_IMPORT"
        for line, module in imported_modules(path, ast.parse(path.read_text(encoding="utf-8"))):
            target = room_of(module)
            if target not in {None, room}:
                used[room].add(str(target))
                allowed = target in LANG_MAY_IMPORT[room]
                assert allowed, (
                    f"{path.relative_to(ROOT)}:{line}: {room} imports {module}; it has {sorted(LANG_MAY_IMPORT[room])}"
                )
    assert used == LANG_MAY_IMPORT, "a row allows what nobody imports any more: take it out"
    for place, room in enumerate(rooms):
        assert LANG_MAY_IMPORT[room] <= set(rooms[:place]), f"{room} imports what stands above it"


def circle_of(used: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, the first of them again as the last; none, where there is no circle."""
    try:
        graphlib.TopologicalSorter(used).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_modules() -> None:
    """Nor one hidden by an import inside a function, or for types alone. A package's file hands on what its modules have."""
    paths = {module_of(path): path for path in sources()}
    used: dict[str, set[str]] = {}
    for name, path in paths.items():
        found = {module for _, module in imported_modules(path, ast.parse(path.read_text(encoding="utf-8")))}
        used[name] = (found & paths.keys()) - {name, name.rpartition(".")[0]}
    assert circle_of(used) == []
    assert circle_of({"one": {"two"}, "two": {"one"}}) in (["one", "two", "one"], ["two", "one", "two"])


@pytest.mark.parametrize(
    ("file", "text", "refused"),
    [
        ("prism/lang/check.py", "from prism.lang import types\nfrom . import syntax", False),
        ("prism/lang/check.py", "from prism.runtime import launch", True),
        ("prism/lang/check.py", "from ..runtime import launch", True),
        ("prism/lang/check.py", "from .. import interpret", True),
        ("prism/lang/check.py", "def f():\n    import prism", True),
        ("prism/lang/pipeline.py", "from prism.explanation import account", True),
        ("prism/explanation/page.py", "from prism.interpret import explore", True),
        ("prism/lang/check.py", "import cuda.core", True),
        ("prism/lang/check.py", "importlib.import_module('prism.lib')", True),
        ("prism/lang/intrinsics/__init__.py", "from ..types import Scalar", False),
        ("prism/runtime/launch.py", "import cupy\nfrom prism.lang import types", False),
        ("prism/runtime/launch.py", "from prism.interpret import run", True),
        ("prism/lib/scan.py", "from prism.kernels.scan import scan\nfrom prism.runtime import launch", False),
        ("prism/lib/block/scan.py", "from prism.lib.warp import scan", False),
        ("prism/lib/block/scan.py", "from prism.lib import scan", True),
        ("kernels/scan/scan.py", "from prism.lib import block\nfrom prism.lang import prism", False),
        ("kernels/scan/scan.py", "from prism.lib import scan", True),
        ("kernels/scan/scan.py", "import kernels.reduce", True),
        ("prism/cli.py", "from prism import lang, lib", False),
        ("prism/cli.py", "from theory import bundl", True),
        ("prism/lang/check.py", "def f():\n    import theory.bundl.typing", True),
        ("kernels/scan/scan.py", "from theory.bundl import typing", True),
        ("theory/bundl/typing.py", "from prism.lang import types\nfrom theory.bundl import step", False),
        ("theory/bundl/typing.py", "from prism.lib import scan", True),
    ],
)
def test_the_test_sees_what_points_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, refused: bool
) -> None:
    for folder in ("lang/intrinsics", "runtime", "interpret", "explanation", "lib/block", "lib/warp"):
        (tmp_path / "prism" / folder).mkdir(parents=True)
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert bool(list(complaints(path))) == refused
