"""Elements of some rank along axes: medians, quantiles, partitions."""
