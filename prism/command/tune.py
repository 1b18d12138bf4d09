"""`prism tune`: the choices in the tables of configurations made again, on the GPU that is here."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from typing import Any

from prism.command.output import BROKEN, DONE, CommandError, write
from prism.command.progress import say_time


def run_tune(options: argparse.Namespace) -> int:
    """`prism tune`: tables to paste; progress goes to the error stream."""
    from prism.lib.tune import DTYPES, Unusable, as_json, spell_choice, table_text, tables, tune
    from prism.runtime.driver import DeviceError

    if options.shapes is not None:
        return _run_shapes(options)
    by_bytes = [name for name, table in tables().items() if set(table.entries) <= set(DTYPES)]
    wanted = {name: keys_of(options, name) for name in options.table or by_bytes}
    if options.rounds < 1:
        raise CommandError(f"--rounds must be >= 1, not {options.rounds}")
    try:
        with timer_of(options.device) as timer:
            name = timer.device.name
            texts, found = [f"# Measured on {name}."], []
            far = Far(sum(map(len, wanted.values())))
            for table, keys in wanted.items():
                done = {}
                for key, one in tune(table, keys, timer, options.rounds):
                    done[key] = one
                    best = f"{spell_choice(one.best.choice)}, {one.best.ratio:.3f} of the present time"
                    print(
                        f"{table} {key}: {best}; {len(one.unusable)} unusable{far.next()}", file=sys.stderr, flush=True
                    )
                texts.append(table_text(table, done))
                found += as_json(table, done)
    except DeviceError as error:
        raise CommandError(f"tune needs a GPU: {error}") from None
    except Unusable as error:
        print(f"prism: the present choice does not work: {error}", file=sys.stderr)
        return BROKEN
    write(options, "\n\n".join(texts) + "\n", {"device": name, "found": found})
    return DONE


class Far:
    """How many entries are measured, of how many, and how long the others will take if they take as long."""

    def __init__(self, total: int) -> None:
        self.done, self.total, self.begun = 0, total, time.monotonic()

    def next(self) -> str:
        """Count one more, and say where that is, in brackets."""
        self.done += 1
        left = (time.monotonic() - self.begun) / self.done * (self.total - self.done)
        return f" ({self.done} of {self.total}{f', some {say_time(left)} left' if self.done < self.total else ''})"


def _run_shapes(options: argparse.Namespace) -> int:
    """`prism tune TABLE --shapes FILE`: the best choice of each shape, kept in the cache for later calls."""
    from prism.lib import tuned
    from prism.lib.tune import Unusable, as_json, spell_choice, tune
    from prism.runtime.driver import DeviceError

    table, shapes = shapes_of(options)
    done, lines, far = {}, [], Far(len(shapes))
    try:
        with timer_of(options.device) as timer:
            name = timer.device.name
            for shape, one in tune(table, shapes, timer, options.rounds, shapes=True):
                done[shape] = one
                lines.append(
                    f"{table} {shape}: {spell_choice(one.best.choice)}, {one.best.ratio:.3f} of the present time"
                )
                print(f"{lines[-1]}{far.next()}", file=sys.stderr, flush=True)
                if not tuned.keep(table, name, {shape: dataclasses.asdict(one.best.choice)}):
                    raise CommandError("the cache can't be written: nothing would be there for later calls")
    except DeviceError as error:
        raise CommandError(f"tune needs a GPU: {error}") from None
    except Unusable as error:
        print(f"prism: the present choice does not work: {error}", file=sys.stderr)
        return BROKEN
    text = "\n".join([f"# Measured on {name}; later calls on it take these.", *lines]) + "\n"
    write(options, text, {"device": name, "found": as_json(table, done)})
    return DONE


def shapes_of(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the table that the command names, and the shapes of its file: one a line, and nothing from `#` on.

    Raises:
        CommandError: no table, or one without shapes; a file that can't be read, or a line of it.
    """
    from prism.lib.tune import tables

    by_shape = {name: table.every for name, table in tables().items() if table.every is not None}
    if len(options.table) != 1 or options.table[0] not in by_shape:
        raise CommandError(f"--shapes is for one table of: {', '.join(by_shape)}")
    (table,) = options.table
    if options.rounds < 1:
        raise CommandError(f"--rounds must be >= 1, not {options.rounds}")
    try:
        lines = [line.partition("#")[0].split() for line in options.shapes.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise CommandError(f"can't read {options.shapes}: {error.strerror}") from None
    shapes = [" ".join(words) for words in lines if words]
    for shape in shapes:
        try:
            by_shape[table](shape)
        except ValueError as error:
            raise CommandError(f"{options.shapes}: {error}") from None
    return table, [shape if " " in shape else f"{shape} NN" for shape in shapes]


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
