"""Keeps an index in step with the rows while the store is open."""
