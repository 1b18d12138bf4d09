"""Cumulative sums, products and extrema, as NumPy and the array API name them."""
