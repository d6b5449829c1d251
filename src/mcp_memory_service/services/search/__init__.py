"""A search: prepare, ask the signals, rank, cut the page; and why a memory is where it is."""
