"""What symbols of code are called, and what their edges are addressed to."""

import hashlib

PROJECT_DIGITS = 12


def project_id(root: str) -> str:
    """Tells symbols of two projects apart that have the same names."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:PROJECT_DIGITS]


def symbol_name(project: str, qualified_name: str) -> str:
    """What an edge to a symbol is addressed to."""
    return f"symbol:{project}:{qualified_name}"


def open_name(project: str, name: str) -> str:
    """What a call that was not resolved is addressed to; nobody is called this."""
    return f"open:{project}:{name}"
