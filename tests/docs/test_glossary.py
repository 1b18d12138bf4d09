"""Names follow docs/glossary.md: no public function is a bare participle or adverb, and no banned word is a name."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

# Participles that don't end in -ed, and adverbs and prepositions. `read`, `put`, `run`, `cut`, `bound` and `split` are verbs too.
IRREGULAR = set(
    """made found told held kept seen known given brought shown written built drawn done gone taken chosen duration spent
    left lost met meant paid said sold taught thought begun caught fallen felt forgotten got hidden laid led lent stuck
    sent won wound unseen inside outside within without together apart again ahead behind beneath above below beyond alike alone
    early late far near here there once twice along across around aside beside between over under
    through on off""".split()
)
# Verbs and nouns that end in -ed.
NO_PARTICIPLES = {"need", "feed", "seed", "shed", "embed", "speed"}
# What is a participle, and stays: by its full name, with the reason.
ALLOWED = {
    "prism.kernels.sgemm.elements.coalesced": "a kernel, called as the field calls that step of the way to a fast one",
    "prism.kernels.sgemm.tiles.tiled": "likewise",
    "prism.kernels.sgemm.tiles.vectorized": "likewise",
    "prism.lib.algorithms.search.api.searchsorted": "NumPy's name",
}


def is_participle(name: str) -> bool:
    """Whether a name is one participle, adverb or preposition, and nothing else."""
    return name in IRREGULAR or (re.fullmatch(r"[a-z]+ed", name) is not None and name not in NO_PARTICIPLES)


def public_functions(body: list[ast.stmt], owner: str) -> Iterator[str]:
    """Yield the full names of a module's public functions and methods; properties may be adjectives."""
    for node in body:
        match node:
            case ast.ClassDef():
                yield from public_functions(node.body, f"{owner}.{node.name}")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kinds = {ast.unparse(kind).split(".")[-1] for kind in node.decorator_list}
                if not node.name.startswith("_") and not kinds & {
                    "property",
                    "cached_property",
                    "lazy_property",
                    "setter",
                }:
                    yield f"{owner}.{node.name}"


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("prism", *parts) if parts[0] == "kernels" else parts).removesuffix(".__init__")


def banned() -> list[tuple[str, tuple[str, ...]]]:
    """The words of the glossary's last table, and the folders in which they are no names."""
    table = GLOSSARY.partition("## Words that are not names")[2]
    return [
        (word, tuple(folders.split(", ")))
        for word, folders in re.findall(r"^\| `(\w+)` \|.*\| ([a-z, /]+) \|$", table, re.M)
    ]


def names_in(text: str) -> set[str]:
    return {
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.NAME
    }


def test_no_public_function_is_a_bare_participle() -> None:
    every = [
        name
        for path in sources("prism", "kernels", "theory")
        for name in public_functions(ast.parse(path.read_text(encoding="utf-8")).body, module_of(path))
    ]
    assert len(every) > 1000, "the test looks in the wrong place"
    wrong = {name for name in every if is_participle(name.rpartition(".")[2])}
    assert sorted(wrong - ALLOWED.keys()) == []
    assert wrong >= ALLOWED.keys(), "an exception that is none any more: take it out"


def test_no_module_is_named_by_an_adverb() -> None:
    assert [
        str(path.relative_to(ROOT)) for path in sources("prism", "kernels", "theory") if path.stem in IRREGULAR
    ] == []


@pytest.mark.parametrize(("word", "folders"), banned())
def test_no_banned_word_is_a_name(word: str, folders: tuple[str, ...]) -> None:
    wrong = [
        str(path.relative_to(ROOT)) for path in sources(*folders) if word in names_in(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def rows(text: str) -> list[str]:
    """The first cells of a text's tables, without their heads; several in one cell are several."""
    cells = re.findall(r"^\| ([a-z][\w ,-]*) \|", text, re.M)
    return [word for cell in cells if cell not in {"term", "verb", "not"} for word in cell.split(", ")]


def test_each_term_and_each_verb_stands_once() -> None:
    text, _, verbs = GLOSSARY.partition("## Words that are not names")[0].partition("## Verbs")
    for words, least in ((rows(text), 50), (rows(verbs), 35)):
        assert len(words) > least and len(words) == len(set(words))
    assert not [verb for verb in rows(verbs) if is_participle(verb)]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("told", True), ("joined", True), ("inside", True), ("read", False), ("feed", False), ("is_proved", False)],
)
def test_what_a_participle_is(name: str, wrong: bool) -> None:
    assert is_participle(name) == wrong
