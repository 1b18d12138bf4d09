"""The pages on how it works follow one program, docs/how/program.py, and show it as it is."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how"


def test_the_page_shows_the_program() -> None:
    program = (FOLDER / "program.py").read_text(encoding="utf-8")
    assert f"<!-- numbered -->\n```python\n{program}```\n" in (FOLDER / "index.md").read_text(encoding="utf-8")


def test_every_stage_leads_to_the_program() -> None:
    pages = sorted(FOLDER.glob("*.md"))
    assert len(pages) == 8
    assert all("docs.how.program" in page.read_text(encoding="utf-8") for page in pages if page.stem != "index")
