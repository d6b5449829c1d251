"""Text turned into vectors: the port that every embedder keeps, and the embedders."""
