"""The single-pass scan: its kernel, and how it is cut into tiles."""

from prism.kernels.scan.configurations import DEVICE, HOST_LARGE, HOST_SMALL, Configuration
from prism.kernels.scan.single_pass import scan

__all__ = ["DEVICE", "HOST_LARGE", "HOST_SMALL", "Configuration", "scan"]
