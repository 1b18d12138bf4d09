"""A plugin of asv: its pages have what is recorded at any revision of the history, not only at first parents.

Work is measured at its own revisions, which a merge makes second parents; asv would leave all of these out.
"""

from __future__ import annotations

from typing import Any


def setup() -> None:
    """Have asv list all revisions that a branch has, the newest first."""
    from asv.plugins.git import Git

    def get_branch_commits(self: Any, branch: str | None) -> list[str]:
        listed = ["rev-list", "--date-order", self.get_branch_name(branch), "--"]
        hashes: list[str] = self._run_git(listed, dots=False).split()
        return hashes

    Git.get_branch_commits = get_branch_commits
