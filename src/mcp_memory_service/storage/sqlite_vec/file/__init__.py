"""The file itself: its connections, the queue of its writers, and where it may lie."""
