"""Attention whose keys fit one tile."""
