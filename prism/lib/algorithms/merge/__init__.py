"""Sorted arrays merged, and arrays sorted by merging."""
