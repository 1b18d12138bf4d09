"""Rotary positions: pairs of elements turned by angles."""
