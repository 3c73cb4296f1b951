"""One file per speed switch: how it is turned on, and how one sees that it is."""
