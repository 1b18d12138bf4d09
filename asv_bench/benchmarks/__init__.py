"""The benchmarks that asv tracks; every figure is a ratio of times, ours to the peer's: lower is better."""
