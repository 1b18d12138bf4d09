"""Text of `unsafe` and `extern` in the emitted code: as it is, but that the kernel's names mean what they mean in the kernel."""

from __future__ import annotations

import functools

from prism.lang.cuda.names import field_names
from prism.lang.cuda.raw_text import field_words, rename_words
from prism.lang.emit.expressions import Scope, address, tight
from prism.lang.tree import Symbol, Unsafe


def splice(scope: Scope, s: Unsafe) -> str:
    """Return the text; a name of the kernel's is that of its variable, a view's the address of its first element."""
    names = {name: functools.partial(_name, scope, symbol) for name, symbol in s.names.items()}
    return rename_words(s.text, names, field_words((symbol.type for symbol in s.names.values()), field_names))


def _name(scope: Scope, symbol: Symbol) -> str:
    if symbol.view is None:
        return scope.names[symbol]
    return tight(address(scope, symbol, ("0",) * len(symbol.view.params)))
