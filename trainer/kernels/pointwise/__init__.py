"""What lies between two matrix products, in one pass over memory."""
