"""The front end of JavaScript and TypeScript: files in, what they define and what names in them mean out."""
