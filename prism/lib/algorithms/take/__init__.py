"""Elements by their positions: taken from there, or put there."""
