"""Products of matrices, as NumPy's."""
