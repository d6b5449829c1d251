"""The MCP tools, in sets that can be switched off."""
