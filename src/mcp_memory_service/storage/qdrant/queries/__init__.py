"""What is asked of a collection."""
