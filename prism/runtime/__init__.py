"""The runtime: machine code, where it is kept, and how it is launched. Importing it imports no device library."""
