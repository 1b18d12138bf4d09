"""Arrays rounded to 8 bits, with scales."""
