"""docs/session.md typed at a prompt, with CuPy arrays: it prints what the page shows."""

from tests.docs.session import replay


def test_the_session_prints_what_the_page_shows() -> None:
    assert replay("gpu") == ""
