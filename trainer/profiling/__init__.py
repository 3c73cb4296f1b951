"""Where time, memory and work of a step go, and how large a batch may be."""
