"""Errors as RFC 9457 problem+json."""

from collections.abc import Sequence
from email.message import Message
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Scope

from ..access.error_table import ERROR_TABLE
from ..errors import AmbiguousId, BatchIncomplete, InvalidInput, MemoryServiceError, ScopeMissing, TooMuch
from ..schemas import MAX_ERRORS, path_of, unlisted
from .headers import SECURITY_HEADERS

RETRY_AFTER_SECONDS = 5

_CODE_BY_STATUS = {400: "malformed_request", 404: "route_not_found", 405: "method_not_allowed", 413: "body_too_large"}


def problem(
    status: int, code: str, detail: str, errors: Sequence[dict[str, str]] = (), headers: dict[str, str] | None = None
) -> JSONResponse:
    body: dict[str, Any] = {
        "type": f"urn:mcp-memory:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors:
        body["errors"] = list(errors)
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")


def install_problem_handlers(app: FastAPI) -> None:
    app.add_exception_handler(MemoryServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)


def challenge(scope: Scope, host: str, scopes: Sequence[str] = (), error: str | None = None) -> dict[str, str]:
    """How to get in (RFC 6750), and where it is said who issues tokens (RFC 9728)."""
    parts = [f'resource_metadata="{scope["scheme"]}://{host}/.well-known/oauth-protected-resource"']
    if error:
        parts.insert(0, f'error="{error}"')
    parts.append(f'scope="{" ".join(scopes or ("read",))}"')
    return {"WWW-Authenticate": f"Bearer {', '.join(parts)}"}


def scope_missing(scope: Scope, host: str, error: ScopeMissing) -> JSONResponse:
    return problem(403, error.code, error.message, headers=challenge(scope, host, error.scopes, "insufficient_scope"))


def too_much(error: TooMuch) -> JSONResponse:
    return problem(429, error.code, error.message, headers={"Retry-After": str(error.retry_after_seconds)})


async def _service_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemoryServiceError)
    if isinstance(error, TooMuch):
        return too_much(error)
    if isinstance(error, ScopeMissing):
        return scope_missing(request.scope, request.headers["host"], error)
    answer = ERROR_TABLE[type(error)]
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if answer.retry_may_help else None
    return problem(answer.status, error.code, error.message, _errors_by_field(error), headers)


def _errors_by_field(error: MemoryServiceError) -> list[dict[str, str]]:
    if isinstance(error, InvalidInput) and error.field:
        return [{"field": error.field, "message": error.message}]
    if isinstance(error, BatchIncomplete):
        unknown = [number for number, stored in enumerate(error.stored) if not stored]
        return [{"field": f"memories.{number}", "message": "Not known to be stored."} for number in unknown]
    if isinstance(error, AmbiguousId):
        return [{"field": "id", "message": candidate} for candidate in error.candidates]
    return []


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    """Says what is wrong with which field, and never repeats what was sent: it may be no valid text."""
    assert isinstance(error, RequestValidationError)
    if request.method in {"POST", "PATCH"} and not _is_json(request.headers.get("content-type", "")):
        return problem(415, "unsupported_media_type", "Send JSON, with the header 'Content-Type: application/json'.")
    found = error.errors()
    if any(item["type"] == "json_invalid" for item in found):
        return problem(400, "malformed_json", "The body is not valid JSON.")
    listed = [(_field_name(item["loc"]), str(item["msg"])) for item in found[:MAX_ERRORS]]
    errors = [{"field": field, "message": message} for field, message in listed]
    detail = "; ".join([f"{field}: {message}" for field, message in listed[:5]] + unlisted(len(found)))
    return problem(422, "validation_failed", detail, errors)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _CODE_BY_STATUS.get(error.status_code, "http_error")
    headers = dict(error.headers or {})
    if error.status_code == 405 and (methods := _documented_methods(request)):
        headers["Allow"] = ", ".join(methods)
    return problem(error.status_code, code, str(error.detail), headers=headers)


def _documented_methods(request: Request) -> list[str]:
    """Of all routes with this path; the router names those of the first."""
    path = getattr(request.scope.get("route"), "path", None)
    return [method.upper() for method in request.app.openapi()["paths"].get(path, {})]


async def _unexpected_error(_request: Request, _error: Exception) -> JSONResponse:
    """The server below logs it, with its traceback. It is answered outside of all our middleware."""
    detail = "Something unexpected went wrong; the log has the details."
    return problem(500, "internal_error", detail, headers=SECURITY_HEADERS)


def _is_json(content_type: str) -> bool:
    """Whether the body of such a request is read as JSON at all."""
    message = Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _field_name(location: Sequence[str | int]) -> str:
    """`("body", "memories", 0, "content")` → `memories.0.content`."""
    return path_of(location[1:] if len(location) > 1 else location)
