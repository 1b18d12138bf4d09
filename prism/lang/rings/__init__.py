"""Rings: their stations, cycles and visits; which waits are needed, and what happens before what."""
