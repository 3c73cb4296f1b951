"""What a run writes into metrics.jsonl."""
