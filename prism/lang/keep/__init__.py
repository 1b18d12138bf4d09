"""What the compiler is made of and keeps: frozen data, facts kept with an object, keys by type and bits, collection put off."""
