"""Attention: the softmax of queries' products with keys, times values."""
