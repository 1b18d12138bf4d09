"""The sorts that compute-sanitizer watches on a GPU launch the kernels that their names say: see tests/gpu/sanitized.py.

Tests of tests/gpu/long_sorts.py.
"""

import numpy as np
import pytest

from prism import lib
from prism.runtime.instance import Instance
from tests.gpu.long_sorts import Sorted, as_if_long, sorted_arrays
from tests.lib.test_shipped_plans import launched  # noqa: F401 - a fixture


@pytest.mark.parametrize("one", sorted_arrays(), ids=lambda one: one.text)
def test_what_is_watched_is_launched(launched: list[Instance], one: Sorted) -> None:  # noqa: F811
    for call, wanted in (
        (lambda: lib.sort(one.data), one.keys),
        (lambda: lib.argsort(one.data), one.positions),
        (lambda: lib.sort_by_key(one.data, np.zeros(one.data.size, np.uint32)), one.values),
    ):
        launched.clear()
        as_if_long(call, one.long)()
        names = {step.kernel.__name__ for step in launched}
        assert names >= set(wanted), names
        others = {"sort_ranges", "sort_shares", "sort_groups", "sort_wide", "sort_windows"} - set(wanted)
        assert not names & others, names
