"""What this program is called where it is installed, and what the other product of a similar name is called there."""

DISTRIBUTION = "mcp-memory-backend"
"""What pip and uv install: the name of the project was taken."""
OTHER_DISTRIBUTION = "mcp-memory-service"
OTHER_PRODUCT = f"another product of a similar name ({OTHER_DISTRIBUTION} on PyPI)"
