"""What one run has measured, on all ranks, and how it becomes metrics.jsonl."""
