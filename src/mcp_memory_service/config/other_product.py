"""Settings of the other product of a similar name: they have no effect here, and who sets them should hear so.

Read in its release 12.4.0; MCP_MEMORY_CHROMA_PATH and MCP_MEMORY_HTTP_AUTO_START are of releases before it.
"""

from collections.abc import Iterable, Iterator, Mapping

from ..product_names import OTHER_PRODUCT
from .sources import ENV_PREFIX

BACKENDS = frozenset({"chroma", "chromadb", "cloudflare", "hybrid", "milvus", "sqlite-vec"})
"""What MCP_MEMORY_STORAGE_BACKEND may be there and not here."""

VARIABLES = frozenset(
    ENV_PREFIX + name
    for name in (
        "ALLOW_HASH_EMBEDDINGS",
        "ALLOW_SELF_SIGNED_CERTS",
        "ARCHIVE_PATH",
        "BACKUPS_PATH",
        "BASE_DIR",
        "CHROMA_PATH",
        "DB_PATH",
        "HTTP_AUTO_START",
        "INCLUDE_HOSTNAME",
        "INTEGRITY_CHECK_ENABLED",
        "INTEGRITY_CHECK_INTERVAL",
        "OFFLINE",
        "ONNX_ALLOW_DOWNLOAD",
        "ONNX_PROVIDERS",
        "SQLITEVEC_PATH",
        "SQLITE_PRAGMAS",
        "USE_ONNX",
    )
)
"""Those that begin as ours do."""

# Of its many that begin otherwise, those that somebody may rely on here.
_IN_ITS_PLACE: Mapping[str, str] = {
    "MCP_API_KEY": f"{ENV_PREFIX}API_KEY",
    "MCP_CORS_ORIGINS": f"{ENV_PREFIX}ALLOWED_ORIGINS",
    "MCP_EXTERNAL_EMBEDDING_URL": f"{ENV_PREFIX}EMBEDDING_URL",
    "MCP_HTTP_ENABLED": "the command mcp-memory serve",
    "MCP_HTTP_HOST": f"{ENV_PREFIX}HTTP_HOST",
    "MCP_HTTP_PORT": f"{ENV_PREFIX}HTTP_PORT",
    "MCP_OAUTH_ISSUER": f"{ENV_PREFIX}OAUTH_ISSUER",
    "MCP_SSL_CERT_FILE": f"{ENV_PREFIX}CERTFILE",
    "MCP_SSL_KEY_FILE": f"{ENV_PREFIX}KEYFILE",
}


def about_other_product(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each of its variables; none where ours that stands in its place is set as well."""
    given = {name.upper() for name in names}
    for name in sorted(given & VARIABLES):
        yield f"{name} is a setting of {OTHER_PRODUCT}; it has no effect here."
    for name, ours in _IN_ITS_PLACE.items():
        if name in given and ours not in given:
            yield f"{name} is a setting of {OTHER_PRODUCT}; it has no effect here, {ours} has."
