"""What the compiler keeps and compares: facts kept with an object, keys by type and bits, garbage collection put off."""
