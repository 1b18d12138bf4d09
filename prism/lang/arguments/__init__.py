"""Arguments: why two accesses touch one element only in one unit, or in one trip, so that a proved checker agrees.

`express` reads indices as the machine computes them; `search` looks for an argument for a claim, with what it knows in `bounds`
and `atoms`. The checker is `prism.lang.certify.steps`; whatever the search does, what that accepts is true.
"""

from prism.lang.arguments.search import find

__all__ = ["find"]
