"""What the `prism` command does, one module a kind of command; `prism.cli` has its grammar."""
