"""How a rank fails, how the others learn of it, and failures made for tests."""
