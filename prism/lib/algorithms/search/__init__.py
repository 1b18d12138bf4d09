"""Where values belong in sorted arrays."""
