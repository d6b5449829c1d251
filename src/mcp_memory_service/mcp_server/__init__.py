"""MCP over the same service: the tools, and how they are served."""

from .server import build_mcp_server, http_sessions

__all__ = ["build_mcp_server", "http_sessions"]
