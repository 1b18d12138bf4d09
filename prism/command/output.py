"""What a command prints: text for who reads it, or one JSON document for who asks for `--json`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from prism.lang.diagnostics import CompileError, Error

DONE, FOUND, WRONG, BROKEN, UNPROVED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes: done; the program breaks a rule, or a run found a fault; the command can't be carried out as typed, or here; an
error of Prism's own, or of the compiler beneath; `check --strict`: something is not proved; the user has stopped it."""


class CommandError(Exception):
    """A command that cannot be carried out as typed."""


def write(options: argparse.Namespace, text: str, facts: Mapping[str, Any] | None = None) -> None:
    """Print text, or its `facts` as JSON where that is asked for; into the file that `-o` names, if there is one.

    Raises:
        CommandError: the file, or the output, can't be written.
    """
    if options.json and facts is not None:
        text = json.dumps(facts, indent=2, default=str) + "\n"
    if getattr(options, "output", None) is None:
        _print(text)
        return
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"can't write {options.output}: {error.strerror}") from None


def _print(text: str) -> None:
    """Print text on the output.

    Raises:
        CommandError: it can't be written.
        BrokenPipeError: nobody reads it any more.
    """
    if sys.stdout is None:  # closed before the program began
        raise CommandError("can't write the output: it is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left in its buffer
        raise CommandError(f"can't write the output: {error.strerror}") from None


def complain(options: argparse.Namespace, error: Exception) -> None:
    """Say what went wrong: on the error stream, and as JSON on the output where that is asked for."""
    if getattr(options, "json", False):
        listed = (
            [error_json(each) for each in error.errors]
            if isinstance(error, CompileError)
            else [{"message": str(error)}]
        )
        try:
            _print(json.dumps({"errors": listed}, indent=2) + "\n")
        except CommandError as why:
            print(f"prism: {why}", file=sys.stderr)
    elif isinstance(error, CompileError):
        print(error.render(colour=sys.stderr.isatty()), file=sys.stderr)
    else:
        print(f"prism: {error}", file=sys.stderr)


def error_json(error: Error) -> Mapping[str, Any]:
    """Return an error of a program as JSON takes it."""
    span = error.span
    place = {"file": span.file, "line": span.line, "column": span.column + 1}
    labels = [{"file": at.span.file, "line": at.span.line, "text": at.text} for at in error.labels]
    return {
        "code": error.code,
        "message": error.title_text,
        **place,
        "labels": labels,
        "notes": list(error.notes),
        "help": error.help,
    }
