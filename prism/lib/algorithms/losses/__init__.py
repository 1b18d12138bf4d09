"""Losses of rows of scores, and their gradients: cross-entropy."""
