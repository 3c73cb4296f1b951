"""What the training minimises: one function per term, and their weighted sum."""
