"""Launches of both forms: what a recorded one says, and that compared ones differ in one thing alone."""
