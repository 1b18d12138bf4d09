"""A program explained: its source with the inferred barriers in place, what forces each, and what needed none.

`account` gathers the facts (`model`) from the tree, the plan and the layout; `explain` prints them as text (`text`),
`explain_page` as a page (`page`).
"""

from prism.lang.explain.account import account
from prism.lang.explain.model import Account, Resources
from prism.lang.explain.page import explain_page
from prism.lang.explain.text import counted, explain

__all__ = ["Account", "Resources", "account", "counted", "explain", "explain_page"]
