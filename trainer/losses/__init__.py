"""What the training minimises: one file per term, and their weighted sum."""
