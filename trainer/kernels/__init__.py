"""Kernels of our own, each with the plain code that it must agree with."""
