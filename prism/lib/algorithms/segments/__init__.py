"""Scans and reductions of segments."""
