"""Held-out errors: of one step, of whole trajectories, and of finished trainings."""
