"""Prefix sums and scans by any associative operator."""
