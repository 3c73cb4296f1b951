"""What is seen of a training whose code is unchanged."""
