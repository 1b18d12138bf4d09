"""Negation, the toy of tests/lib/algorithms/test_toy.py."""
