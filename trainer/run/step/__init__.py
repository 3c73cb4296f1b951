"""One update: everything that learns, eager or as a CUDA graph, and its trial where a switch may fail."""
