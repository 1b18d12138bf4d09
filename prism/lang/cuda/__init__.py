"""How things are spelled in CUDA C++: names, literals, and texts that users write themselves."""
