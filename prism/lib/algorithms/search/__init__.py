"""Where values belong in sorted arrays, and where the first element is of which something holds."""
