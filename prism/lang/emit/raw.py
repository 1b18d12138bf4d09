"""Text of `unsafe` and `extern` in the emitted code: as it is, but that the kernel's names mean what they mean in the kernel."""

from __future__ import annotations

import re

from prism.lang.emit.expressions import Scope, address, tight
from prism.lang.tree import Symbol, Unsafe

_PIECE = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|(?<![\w.])[A-Za-z_]\w*', re.S)


def spliced(scope: Scope, s: Unsafe) -> str:
    """Return the text; a name of the kernel's is that of its variable, a view's the address of its first element."""
    return _PIECE.sub(lambda found: _name(scope, s.names[found[0]]) if found[0] in s.names else found[0], s.text)


def _name(scope: Scope, symbol: Symbol) -> str:
    if symbol.view is None:
        return scope.names[symbol]
    return tight(address(scope, symbol, ("0",) * len(symbol.view.params)))
