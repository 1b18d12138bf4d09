"""The first elements of an order, and those of some rank, found without sorting the rest."""
