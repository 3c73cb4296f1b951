"""Pairs to batches: which of them make a step, and how they are read."""
