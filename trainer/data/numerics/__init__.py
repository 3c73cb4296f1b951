"""Numerical schemes that the solvers of several tasks share."""
