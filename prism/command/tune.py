"""`prism tune`: the choices in the tables of configurations made again, on the GPU that is here."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from prism.command.output import BROKEN, DONE, CommandError, write


def run_tune(options: argparse.Namespace) -> int:
    """`prism tune`: tables to paste; progress goes to the error stream."""
    from prism.lib.tune import DTYPES, Unusable, as_json, spell_choice, table_text, tables, tune
    from prism.runtime.driver import DeviceError

    by_bytes = [name for name, table in tables().items() if set(table.entries) <= set(DTYPES)]
    wanted = {name: keys_of(options, name) for name in options.table or by_bytes}
    if options.rounds < 1:
        raise CommandError(f"--rounds must be >= 1, not {options.rounds}")
    try:
        with timer_of(options.device) as timer:
            name = timer.device.name
            texts, found = [f"# Measured on {name}."], []
            for table, keys in wanted.items():
                done = {}
                for key, one in tune(table, keys, timer, options.rounds):
                    done[key] = one
                    best = f"{spell_choice(one.best.choice)}, {one.best.ratio:.3f} of the present time"
                    print(f"{table} {key}: {best}; {len(one.unusable)} unusable", file=sys.stderr, flush=True)
                texts.append(table_text(table, done))
                found += as_json(table, done)
    except DeviceError as error:
        raise CommandError(f"tune needs a GPU: {error}") from None
    except Unusable as error:
        print(f"prism: the present choice does not work: {error}", file=sys.stderr)
        return BROKEN
    write(options, "\n\n".join(texts) + "\n", {"device": name, "found": found})
    return DONE


def timer_of(ordinal: int) -> Any:
    """Return what measures on a GPU.

    Raises:
        DeviceError: there is none.
    """
    from prism.lib.tune_device import Timer

    return Timer(ordinal)


def keys_of(options: argparse.Namespace, name: str) -> list[Any]:
    """Return the keys of a table that the command names: by default all.

    Raises:
        CommandError: there is no such table, or no such key.
    """
    from prism.lib.tune import tables

    there = tables()
    if name not in there:
        raise CommandError(f"no table {name!r}; there are: {', '.join(there)}")
    known = {str(key): key for key in there[name].entries}
    given = list(known) if options.keys is None else options.keys.split(",")
    unknown = [text for text in given if text not in known]
    if unknown:
        raise CommandError(f"{name} has no entry {unknown[0]!r}; it has: {', '.join(known)}")
    return [known[text] for text in given]
