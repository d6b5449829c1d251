"""Where memories are kept: the port that every backend keeps, and the backends."""
