"""Positions in the order of several keys, and complex numbers in the order of their parts."""
