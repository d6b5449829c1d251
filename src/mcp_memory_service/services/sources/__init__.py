"""Files as memories: index runs, the vectors that follow them, and what is told of a file when it is found."""
