"""The session of docs/session.md as examples of doctest, in its order."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "session.md"
BLOCK = re.compile(r"^```pycon(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def session(kind: str) -> doctest.DocTest:
    """Return what is typed where arrays are of `kind`: "gpu" (CuPy's) or "numpy", whose results may be scalars."""
    text = PAGE.read_text(encoding="utf-8")
    examples: list[doctest.Example] = []
    for block in BLOCK.finditer(text):
        if block["kind"].strip() not in ("", kind):
            continue
        first = text[: block.start("text")].count("\n")
        for example in doctest.DocTestParser().get_examples(block["text"]):
            example.lineno += first
            if kind == "numpy":
                example.source = example.source.replace("import cupy as cp", "import numpy as cp")
            else:  # CuPy's results of no dimensions are arrays
                example.want = re.sub(r"^np\.\w+\((.*)\)$", r"array(\1)", example.want)
            examples.append(example)
    return doctest.DocTest(examples, {"__name__": "session"}, f"session.md ({kind})", str(PAGE), 0, text)


def replay(kind: str) -> str:
    """Type the session; return what differs from the page, nothing where all is as printed."""
    said: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(session(kind), out=said.append)
    return "".join(said)
