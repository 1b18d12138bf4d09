"""Prints what the compiler's stages make, without the places in the text that every node carries."""

from dataclasses import fields, is_dataclass
from enum import Enum

from prism.lang.diagnostics import Span, source_text
from prism.lang.tree import Function, Partition, expressions
from prism.lang.tree.walk import statements, subexpressions


def brief(node: object) -> str:
    """Return a node and what is in it, on one line."""
    if isinstance(node, tuple):
        return f"[{', '.join(map(brief, node))}]"
    if not is_dataclass(node) or isinstance(node, Enum):
        return repr(node)
    kept = (value for field in fields(node) if not isinstance(value := getattr(node, field.name), Span | None))
    return f"{type(node).__name__}({', '.join(map(brief, kept))})"


def typed(function: Function, line: int) -> str:
    """Return each expression on a line of the source, as it is written, with its type and its perspective."""
    found = [
        (source_text(part.span), f"{part.type} @ {part.perspective}", type(part).__name__)
        for statement in statements(function.body)
        if not isinstance(statement, Partition)
        for expression in expressions(statement)
        for part in subexpressions(expression)
        if part.span.line == line
    ]
    return "\n".join(f"{text:<32} {what:<24} {kind}" for text, what, kind in found)
