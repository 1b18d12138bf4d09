"""Products of float32 matrices."""
