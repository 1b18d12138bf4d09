"""Activations and their gradients: GELU, and gated units as SwiGLU."""
