"""The state of a run on disk: when it is saved, how it is read, and how a run goes on from it."""
