"""Rows of arrays, and segments, each sorted by itself."""
