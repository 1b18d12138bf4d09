"""Where threads must meet: which accesses conflict, what each thread knows of the others, and the walk that places barriers."""
