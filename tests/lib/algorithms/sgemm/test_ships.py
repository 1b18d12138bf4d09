"""What ships of float32 products.

Tests of prism/lib/algorithms/sgemm/ships.py.
"""

from collections import Counter

from tests.lib import ships

ARCH = "sm_90a"


def test_of_large_tiles_what_reads_whole_words_ships() -> None:
    found = Counter(
        (template["BM"] * template["BN"] > 64 * 64, template["WIDE_A"])
        for template in (dict(one.template) for one in ships.kernels(ARCH) if one.kernel.__name__ == "warps")
    )
    assert found == {(False, True): 8, (False, False): 8, (True, True): 12}
