"""One file per PDE: its solver and its parameters."""
