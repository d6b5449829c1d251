"""Searches, answered from the segments of an index."""
