"""The file itself: connections, the queue of writers, private files, and where it may lie."""
