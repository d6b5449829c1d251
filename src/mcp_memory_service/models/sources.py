"""What is known of the places that memories come from."""

from dataclasses import dataclass, field

from .memory import JsonValue, Metadata


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What is known of a file that memories come from, so that it is read again only if it changed."""

    source: str
    fingerprint: str
    """Equal as long as the file need not be looked at again."""
    details: Metadata = field(default_factory=dict[str, JsonValue])
    """What else an index run keeps of it, as JSON."""
