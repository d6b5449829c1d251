"""REST over the service, with MCP mounted beside it."""

from .app import create_app

__all__ = ["create_app"]
