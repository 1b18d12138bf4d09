"""The reference machine is imported when the first array of the host comes, and not before."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import sys
import numpy as np
import prism.lib
assert "prism.interpret.machine" not in sys.modules
assert prism.lib.sum(np.arange(100, dtype=np.int32)) == 4950
assert "prism.interpret.machine" in sys.modules
print("both held")
"""


def test_it_is_imported_when_it_runs() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "both held\n", done.stderr
