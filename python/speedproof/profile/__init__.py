"""What a step is made of: traces of a few steps, and their summary."""
