"""Print the program of a seed: `python -m tests.generated.show SEED`."""

import sys

from tests.generated.programs import program

if __name__ == "__main__":
    print(program(int(sys.argv[1])).text)
