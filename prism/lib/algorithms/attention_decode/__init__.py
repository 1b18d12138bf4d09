"""Attention for decoding: few queries of each sequence, many keys."""
