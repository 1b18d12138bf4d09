from __future__ import annotations

from typing import NamedTuple

from prism.lang import constexpr, int32, prism, requires, template, thread


class Cut(NamedTuple):
    rows: int = 4
    columns: object = 8

    @property
    def half(self):
        return self.rows / 2

    @property
    def share(self):
        return self.rows // (self.rows - 4)


TEMPLATE = {"CUT": Cut()}


@prism("device")
@requires(thread[1])
@template(CUT=constexpr(Cut))
def case() -> int32 @ thread[1]:
    return CUT.row  # error: template
