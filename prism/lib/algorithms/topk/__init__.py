"""The first elements of an order, and elements of some rank, without sorting the rest."""
