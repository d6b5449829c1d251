"""The SQL: each function takes a connection and runs inside one transaction."""
