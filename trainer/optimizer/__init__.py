"""How gradients become weights."""
