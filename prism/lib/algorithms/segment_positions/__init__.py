"""Where the smallest or largest element of each segment is."""
