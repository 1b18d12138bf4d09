"""Arrays as sets: their unique elements, which of them are in others, and what several have in common."""
