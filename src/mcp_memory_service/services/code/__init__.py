"""Code as memories: index runs, and what is asked of the symbols and edges that they store."""
