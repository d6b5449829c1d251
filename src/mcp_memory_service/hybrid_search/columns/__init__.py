"""How a thousand candidates are ranked fast: as columns, not as objects."""
