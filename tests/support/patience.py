"""How long tests wait for what must happen: long enough for the busiest machine, so that only a hang reaches it."""

HANG_SECONDS = 300
