"""One training run: the ranks, the loop, what it measures and how it ends."""
