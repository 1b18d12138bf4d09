"""Arrays copied into another layout: axes exchanged, permuted, with gaps or without."""
