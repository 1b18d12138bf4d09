"""Reductions of whole arrays and along axes."""
