"""Elements repeated: runs made of values and lengths."""
