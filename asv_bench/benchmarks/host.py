"""What needs no GPU: the import, the compiler's stages, the reference machine. Seconds, measured by asv."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy

import prism
from prism.kernels import sgemm
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lib import operators
from prism.lib.algorithms.reduce.ships import instances
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.sgemm import api as sgemms
from prism.runtime.compile import MissingCompiler, compile_cubin
from prism.runtime.instance import Instance, instance

KERNELS = ["scan", "reduce", "sgemm"]


def _instance(name: str) -> Instance:
    """A kernel of the library, as its functions take it."""
    if name == "scan":
        way = scan_plans.many_tiles(Task(operators.add, "float32", "float32"), Shape(1, 1 << 28, 1, True))
        return instance(way.kernel, tuple(way.template.items()))
    if name == "reduce":
        return next(instances(SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132)))
    layout = sgemms.Layout(False, True)
    return sgemms.instance_for(sgemm.TILES[0], layout, layout, layout)


class Import:
    """In a process of its own."""

    def timeraw_import_prism(self) -> str:
        return "import prism"

    def timeraw_import_the_scan(self) -> str:
        return "import prism; prism.lib.scan"


class Compiler:
    """A kernel through the compiler: checked, its barriers inferred; made CUDA C++; made machine code for sm_90a."""

    params = (KERNELS,)
    param_names = ("kernel",)

    def setup(self, name: str) -> None:
        self.instance = _instance(name)
        self.program = build(self.instance.kernel, dict(self.instance.template))
        self.source = emit(lower(self.program)).source

    def time_check(self, name: str) -> None:
        build(self.instance.kernel, dict(self.instance.template))

    def time_emit(self, name: str) -> None:
        emit(lower(self.program))

    def time_nvrtc(self, name: str) -> None:
        try:
            compile_cubin(self.source, "sm_90a")
        except MissingCompiler as missing:
            raise NotImplementedError(str(missing)) from None


class Machine:
    """The library on the reference machine: arrays of 10,000 int32."""

    params = (["scan", "sum"],)
    param_names = ("function",)

    def setup(self, name: str) -> None:
        self.x = numpy.arange(10_000, dtype=numpy.int32)
        self.call: Any = getattr(prism.lib, name)
        self.call(self.x)

    def time_call(self, name: str) -> None:
        self.call(self.x)
