"""Arguments: why two accesses touch one element only in one unit, or in one trip, so that a proved checker agrees.

`express` reads indices as the machine computes them, `claims` makes a claim of two accesses, `search` looks for an argument. The
checker is `prism.lang.certify.apart`; whatever the search does, what that accepts is true.
"""

from prism.lang.arguments.claims import make
from prism.lang.arguments.search import find

__all__ = ["find", "make"]
