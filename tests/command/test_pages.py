"""`prism help`: every code, construct, intrinsic and page is found, and words are found in the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from prism.cli import main
from prism.command.pages import folder, pages, search
from prism.lang.intrinsics import TABLE
from tests.docs.test_error_pages import CODES

ROOT = Path(__file__).parents[2]


def told(capsys: pytest.CaptureFixture[str], *topic: str) -> str:
    assert main(["help", *topic]) == 0
    return capsys.readouterr().out


def test_each_error_has_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    codes = {path.stem for path in (ROOT / "docs" / "errors").glob("*.md")}
    assert len(codes) > 50
    for code in sorted(codes):
        assert told(capsys, code).startswith("# "), code
    assert set(CODES) <= codes


def test_names_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "partition").startswith("# `partition`") and "<!--" not in told(capsys, "partition")
    assert "Called by:" in told(capsys, "atomic_add")
    assert "Perspective: block" in told(capsys, "block.scan")
    assert "segmented" not in told(capsys, "lib.cumsum") and "cumsum(" in told(capsys, "prism.lib.cumsum")
    assert told(capsys, "tour").startswith("# A ten-minute tour") and told(capsys, "docs/tour.md") == told(
        capsys, "tour"
    )
    assert "tutorial/scan" in pages() and told(capsys).startswith("# Prism")


def test_words_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("bank conflict")
    assert 0 < len(found) <= 12 and all(set(one) == {"page", "heading", "line"} for one in found)
    assert main(["help", "--json", "dynamic", "schedule"]) == 0
    places = json.loads(capsys.readouterr().out)["places"]
    assert places[0]["page"] == "language" and places[0]["heading"] == "A dynamic schedule"
    assert main(["help", "nothinghasthisword"]) == 2
    assert "no page is named" in capsys.readouterr().err


def test_what_messages_name_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """`prism help TOPIC` in the source of a message leads somewhere; no message names a file that only a clone has."""
    for path in (ROOT / "prism").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for topic in re.findall(r"`prism help ([\w.-]+)`", text):
            if path.name not in ("pages.py", "cli.py") or topic == "command_line":
                assert topic in pages() or topic in TABLE, f"{path}: {topic}"
    for path in (ROOT / "prism" / "lang" / "errors").glob("*.py"):
        assert "docs/" not in path.read_text(encoding="utf-8"), path
    assert (folder() / "tour.md").is_file()
