"""The command line: `mcp-memory`."""

from .main import main

__all__ = ["main"]
