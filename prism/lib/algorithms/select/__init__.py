"""What is kept of an array by a mask, a condition or its own elements, and where it stands."""
