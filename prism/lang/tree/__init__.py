"""The typed tree: what the checker makes, and what flow, sync, races, place, emit and the reference machine read.

    function  = Function(name, kind, bound, parameters, result, body, ...)
    statement = Declare(symbol, value?)            -- a local; arrays without a value are uninitialised
              | SharedDeclare(symbol, align)       -- a shared object; symbol.type is Pointer(space="shared", shape=...)
              | Assign(target, value)              -- target = Var | Item | Element | Component; `+=` is spelled out
              | Evaluate(call)                     -- a call for its effect
              | If(condition, then, otherwise) | While(condition, body) | For(symbol, start, stop, step, body, unroll)
              | Break | Continue | Return(value?)
              | Group(unit, body)                  -- all units run the body, each for itself
              | Split(unit_level, arms)            -- Arm(first, size, body): sizes and offsets in threads or blocks
              | Partition(view, body) | Claim(view, body)   -- view.view tells what the new name means
                                                   -- (an alias: what a function that is compiled in was given)
              | Async(view, body)                  -- the view is the destination of copies that end after the body, not before
              | Batch(body)                        -- wgmma_async(): the wgmmas of the body are one group
              | Turns(first, size, unit, body)     -- the units of a role go through the body one after the other
              | Specialise(roles)                  -- made by specialise.py only: each thread runs the body of its role
              | Assert(condition, text) | Assume(condition) | Distinct(values, unit) | Print(texts, values)
              | Breakpoint()
              | Unsafe(text, ...)                  -- text for the emitted code, with its effects as declared
    expression = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply

Nodes are compared by identity: a statement is its own key in a plan. Each expression has `.type` and `.perspective`: the
value is the same for all threads of one such unit. `Element` is memory: read where it is an operand, written where it is a
target, an address where it is an argument of an intrinsic whose parameter is an `element`.
"""

from prism.lang.tree import expr, nodes, stmt
from prism.lang.tree.expr import *  # noqa: F403 - all that it has
from prism.lang.tree.nodes import *  # noqa: F403
from prism.lang.tree.stmt import *  # noqa: F403
from prism.lang.tree.walk import children, expressions, operands
from prism.lang.types import Array, Fragment, Pointer, Scalar, TensorMap, Vector

__all__ = ["Array", "Fragment", "Pointer", "Scalar", "TensorMap", "Vector", "children", "expressions", "operands"]
__all__ += [*nodes.__all__, *expr.__all__, *stmt.__all__]
