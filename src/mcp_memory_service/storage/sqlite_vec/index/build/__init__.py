"""Makes an index from the rows, in a process of its own."""
