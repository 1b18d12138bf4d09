"""The backward of attention: gradients of queries, keys and values."""
