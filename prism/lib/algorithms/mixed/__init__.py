"""Products of 16-bit floats and weights of 4 or 8 bits."""
