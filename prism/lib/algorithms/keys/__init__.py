"""Scans and reductions of runs of equal keys."""
