"""Products of groups of rows, each with a matrix of its own."""
