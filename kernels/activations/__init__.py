"""Activations: of each element by itself, alone or as gates of another array, and their gradients."""

from prism.kernels.activations.functions import GELU, GELU_TANH, SILU
from prism.kernels.activations.rotary import turn_pairs
from prism.kernels.activations.rows import activate, activate_backward

__all__ = ["GELU", "GELU_TANH", "SILU", "activate", "activate_backward", "turn_pairs"]
