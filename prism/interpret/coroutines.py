"""Control flow in which something may wait, as generators: they yield while they wait, and tell what `Run` tells."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from prism.interpret.calls import narrow
from prism.interpret.frame import Frame, Wait
from prism.interpret.lanes import both, minus, union
from prism.interpret.scope import Eval, Piece, Steps
from prism.lang.diagnostics import Span
from prism.lang.types.perspective import Perspective

Waiting = Generator[None, None, bool]


def steps_of(piece: Piece) -> Steps:
    """Return a piece as a generator, also where nothing in it waits."""
    if piece.steps is not None:
        return piece.steps
    run = piece.run
    assert run is not None

    def steps(frame: Frame) -> Waiting:
        return run(frame)
        yield

    return steps


def wait(step: Callable[[Frame], Generator[None, None, None]]) -> Steps:
    """Return what waits for an operand of a statement."""

    def steps(frame: Frame) -> Waiting:
        yield from step(frame)
        return False

    return steps


def sequence(pieces: list[Piece]) -> Steps:
    """Return a statement list."""

    def steps(frame: Frame) -> Waiting:
        for piece in pieces:
            if piece.run is not None:
                dead = piece.run(frame)
            else:
                assert piece.steps is not None
                dead = yield from piece.steps(frame)
            if dead:
                return True
        return False

    return steps


def interleave(strands: list[Generator[None, None, Any]]) -> Generator[None, None, list[Any]]:
    """Run strands side by side, and return what each returned."""
    results: list[Any] = [None] * len(strands)
    left = list(range(len(strands)))
    while left:
        still = []
        for number in left:
            try:
                next(strands[number])
            except StopIteration as stop:
                results[number] = stop.value
            else:
                still.append(number)
        left = still
        if left:
            yield
    return results


def branch(condition: Eval, then: Steps, otherwise: Steps) -> Steps:
    """Return a branch; threads that go different ways go side by side."""

    def steps(frame: Frame) -> Waiting:
        chosen = condition(frame)
        if not isinstance(chosen, np.ndarray):
            return (yield from (then if chosen else otherwise)(frame))
        yes = both(frame.mask, chosen)
        no = minus(frame.mask, yes)
        if yes is False or no is False:
            return (yield from (otherwise if yes is False else then)(frame))
        frames = [_fork(frame, yes), _fork(frame, no)]
        dead = yield from interleave([then(frames[0]), otherwise(frames[1])])
        frame.mask = False
        for inner, gone, mask in zip(frames, dead, (yes, no), strict=True):
            frame.mask = union(frame.mask, False if gone else inner.mask)
            frame.breaking = union(frame.breaking, inner.breaking)
            frame.continuing = union(frame.continuing, inner.continuing)
            if inner.result is not None:
                frame.result = inner.result if frame.result is None else _pick(frame, inner, mask)
        return frame.mask is False

    return steps


def _fork(frame: Frame, mask: Any) -> Frame:
    inner = frame.arm(mask, frame.lanes, frame.bid)
    inner.result = frame.result
    return inner


def _pick(frame: Frame, inner: Frame, mask: Any) -> Any:
    """Return the results of `frame` with those of the threads `mask`, which ran in `inner`."""
    threads = frame.block.machine.threads
    new, old = (np.broadcast_to(np.asarray(r), (threads,)) for r in (inner.result, frame.result))
    return np.where(mask, new, old)


def loop(condition: Eval, body: Steps, advance: Callable[[Frame], None] | None, polls: Span | None) -> Steps:
    """Return a loop; one that polls memory lets others run after each trip."""

    def steps(frame: Frame) -> Waiting:
        breaking, continuing = frame.breaking, frame.continuing
        frame.breaking = frame.continuing = False
        done: Any = False
        while True:
            stay = condition(frame)
            inside = both(frame.mask, stay) if isinstance(stay, np.ndarray) else frame.mask if stay else False
            done = union(done, minus(frame.mask, inside))
            if inside is False:
                break
            frame.mask = inside
            dead = yield from body(frame)
            left = union(False if dead else frame.mask, frame.continuing)
            frame.continuing = False
            if left is False:
                break
            frame.mask = left
            if advance is not None:
                advance(frame)
            if polls is not None:
                yield from _poll(frame, polls)
        frame.mask = union(done, frame.breaking)
        frame.breaking, frame.continuing = breaking, continuing
        return frame.mask is False

    return steps


def _poll(frame: Frame, span: Span) -> Generator[None, None, None]:
    state = Wait(span, "this loop polls", frame.first(), spins=True, calls=frame.calls)
    frame.block.waits.append(state)
    yield
    frame.block.waits.remove(state)


def after(begin: Callable[[Frame], None], body: Steps) -> Steps:
    """Return a body with what is done before it: a loop's bounds, a view's offset."""

    def steps(frame: Frame) -> Waiting:
        begin(frame)
        return (yield from body(frame))

    return steps


def group(unit: Perspective, body: Steps) -> Steps:
    """Return a group."""

    def steps(frame: Frame) -> Waiting:
        lanes, bid = frame.lanes, frame.bid
        narrow(frame, unit)
        dead = yield from body(frame)
        frame.lanes, frame.bid = lanes, bid
        return dead

    return steps
