"""Differences of elements that stand beside each other."""
