"""Epilogues that are functions, as a product's caller gives them: what a call is asked by, and where several results go.

Who has none does without the parser of lambdas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, np.generic)


def asked_for(epilogue: Any) -> tuple[Any, Any]:
    """Return what an epilogue is called by, and looked up by: see `prism.lib.algorithms.hgemm.epilogue`."""
    from prism.lib.algorithms.hgemm.epilogue import asked_for, key_of

    after = asked_for(epilogue)
    return after, key_of(after)


def asked_for_prologue(prologue: Any) -> tuple[Any, Any]:
    """Return what a prologue is called by, and looked up by.

    Raises:
        TypeError: it is no function.
    """
    from prism.lib.algorithms.hgemm.epilogue import asked_for_one, key_of

    before = asked_for_one(prologue, "prologue")
    return before, key_of(before)


def extras_of(extra: Any, name: str = "extra") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what an epilogue is given besides, as a tuple, and the arrays of these by name."""
    some = tuple(extra) if isinstance(extra, tuple | list) else (extra,)
    return some, {f"{name}[{k}]": one for k, one in enumerate(some) if not isinstance(one, _NUMBERS)}


def numbers_of(extra: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return extras that are numbers, and None for arrays: a decision outlives these."""
    return tuple(one if isinstance(one, _NUMBERS) else None for one in extra)


def require_several(after: Any, out: Any) -> tuple[Any, ...]:
    """Return the arrays for several results, as many as there are epilogues.

    Raises:
        ValueError: they are not.
    """
    many = len(after) if isinstance(after, tuple) else 1
    if many == 1 or len(out) != many:
        raise ValueError(f"`out` is a tuple of {len(out)}, and `epilogue` makes {many} result{'s' * (many != 1)}")
    return tuple(out)


def copy_several(who: str, found: tuple[Any, ...], several: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
    """Copy results to the arrays that are given for them; `who`: the function that is called."""
    from prism.lib.algorithms.topk.calls import copy_to

    return copy_to(who, found, several, stream)
