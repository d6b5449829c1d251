"""How text is cut into words, tags and snippets, for every store."""
