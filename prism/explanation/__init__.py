"""A program explained: its source with the inferred barriers in place, what forces each, and what needed none.

`account` gathers the facts (`model`) from the tree, the plan and the layout; `explain` prints them as text (`text`),
`explain_page` as a page (`page`).
"""

from prism.explanation.account import account
from prism.explanation.model import Account, Resources
from prism.explanation.page import explain_page
from prism.explanation.text import describe_counts, explain

__all__ = ["Account", "Resources", "account", "describe_counts", "explain", "explain_page"]
