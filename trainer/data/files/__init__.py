"""Fields on disk: whose files they are, their splits, and the units they are measured in."""
