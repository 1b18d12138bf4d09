"""The single-pass scan: its kernel and how it is cut into tiles."""

from prism.kernels.scan.single_pass import scan

__all__ = ["scan"]
