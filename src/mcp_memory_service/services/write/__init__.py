"""What changes memories: checks of what comes in, storing, idempotency keys, import and migration."""
