"""The packages, found rather than listed. Everything else about the distribution is in pyproject.toml."""

from setuptools import find_packages, setup

kernels = ["prism.kernels", *("prism.kernels." + name for name in find_packages("kernels"))]
setup(packages=[*find_packages(include=["prism", "prism.*"]), *kernels, "prism.docs"])
