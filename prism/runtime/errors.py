"""What a launch is refused with."""

from __future__ import annotations


class LaunchError(ValueError):
    """A launch that the kernel's bound doesn't admit, or too many or too few arguments. Nothing was launched."""

    code = "launch"


class AssumedError(LaunchError):
    """A launch of which what the kernel assumes does not hold. Nothing was launched."""
