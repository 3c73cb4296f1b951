"""Fields on disk to batches of pairs on a device."""
