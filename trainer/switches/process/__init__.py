"""Switches of the whole process, none of which changes how the model computes."""
