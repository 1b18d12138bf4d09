"""Positions in the order of several keys."""
