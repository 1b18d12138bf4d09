"""`python -m prism.lang.certify FOLDER`: a line for each certificate, by name, as the checker that is made from Coq prints."""

from __future__ import annotations

import sys
from pathlib import Path

from prism.lang.certify import REJECTED, check_text


def main(folder: str) -> None:
    """Print what the checker says of each `*.cert` in a folder."""
    for path in sorted(Path(folder).glob("*.cert")):
        found = check_text(path.read_text(encoding="utf-8"))
        print(f"{path.stem} {found.status}{f': {found.rule}' if found.status == REJECTED else ''}")


if __name__ == "__main__":
    main(sys.argv[1])
