"""`python -m prism.lang.certify FOLDER`: a line for each certificate and argument, as the checkers from Coq print."""

from __future__ import annotations

import sys
from pathlib import Path

from prism.lang.certify import REJECTED, check_text
from prism.lang.certify.arguments import verdicts
from prism.lang.certify.text import Malformed


def main(folder: str) -> None:
    """Print what the checkers say of each `*.cert` and each `*.apart` in a folder."""
    for path in sorted(Path(folder).glob("*.cert")):
        found = check_text(path.read_text(encoding="utf-8"))
        print(f"{path.stem} {found.status}{f': {found.rule}' if found.status == REJECTED else ''}")
    for path in sorted(Path(folder).glob("*.apart")):
        try:
            for name, proved in verdicts(path.read_text(encoding="utf-8")):
                print(f"{path.stem} {name} {'proved' if proved else 'not proved'}")
        except Malformed:
            print(f"{path.stem} malformed")


if __name__ == "__main__":
    main(sys.argv[1])
