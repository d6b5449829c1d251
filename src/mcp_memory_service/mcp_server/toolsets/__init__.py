"""The MCP tools, in sets that can be switched off. Docstrings are for the model that chooses among the tools."""
