"""Products of 16-bit and 8-bit float matrices."""
