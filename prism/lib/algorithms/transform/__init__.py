"""Each element by itself: arrays made of lazy ones, and functions called for each index."""
