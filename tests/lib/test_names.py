"""Names of other libraries, asked of the modules of collectives: what is missing says how it is written."""

import pytest

from prism.lib import block, warp


@pytest.mark.parametrize("module", [block, warp], ids=["block", "warp"])
def test_a_sum_is_a_reduction(module: object) -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'sum': write `\w+\.reduce\(value, OP=operators\.add\)`"):
        module.sum
    with pytest.raises(AttributeError, match="no attribute 'summ'$"):
        module.summ
    assert module.__doc__ and not hasattr(module, "max")
