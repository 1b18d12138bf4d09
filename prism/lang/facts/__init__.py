"""What a text says of numbers and memory: affine forms and polynomials, addresses, what is proved disjoint, aligned, bounded."""
