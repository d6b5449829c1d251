"""Reading Python."""
