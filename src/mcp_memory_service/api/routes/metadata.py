"""Who issues tokens for this service (RFC 9728), for MCP clients that find their way by themselves."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from ...access.caller import Scope

router = APIRouter(tags=["operations"])


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    public_url: str | None
    issuer: str | None


class MetadataOut(BaseModel):
    resource: str
    authorization_servers: list[str] = Field(description="Empty: keys come from whoever runs the service")
    scopes_supported: list[str]
    bearer_methods_supported: list[str]


@router.get("/.well-known/oauth-protected-resource")
async def service_metadata(request: Request) -> MetadataOut:
    """What this service is called, and which authorization servers it trusts."""
    return _metadata(request, "")


@router.get("/.well-known/oauth-protected-resource/mcp")
async def mcp_metadata(request: Request) -> MetadataOut:
    """The same of MCP at /mcp."""
    return _metadata(request, "/mcp")


def _metadata(request: Request, path: str) -> MetadataOut:
    known: ResourceMetadata = request.app.state.metadata
    base = known.public_url or f"{request.url.scheme}://{request.headers['host']}"
    return MetadataOut(
        resource=f"{base.rstrip('/')}{path}",
        authorization_servers=[known.issuer] if known.issuer else [],
        scopes_supported=list(Scope.ADMIN.names),
        bearer_methods_supported=["header"],
    )
