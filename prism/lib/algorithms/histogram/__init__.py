"""Counts of elements in bins."""
