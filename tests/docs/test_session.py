"""docs/session.md typed with NumPy arrays in place of CuPy's, but for what speaks of the GPU."""

from tests.docs.session import BLOCK, PAGE, replay, session


def test_the_session_prints_what_the_page_shows() -> None:
    assert replay("numpy") == ""


def test_every_block_is_typed_somewhere() -> None:
    """On a GPU, on NumPy arrays, or on both; and nearly all on both."""
    kinds = [block["kind"].strip() for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    assert set(kinds) == {"", "gpu", "numpy"}
    assert len(session("numpy").examples) > 60 and len(session("gpu").examples) > 70
