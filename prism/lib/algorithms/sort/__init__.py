"""Arrays sorted by digits, and the functions that sort along an axis."""
