"""The OpenAPI document: what FastAPI makes of the routes, and what every route has beside."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from ..services.write.checks import MAX_NAME_CHARS, NAMESPACE_PATTERN
from .security import OPEN_PATHS

_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_ERRORS_OF_ALL = {
    "400": "The request is not valid HTTP or JSON",
    "403": "The web origin may not call",
    "408": "The request did not arrive in time",
    "413": "The body is too large",
    "421": "The host is not served here",
    "431": "The head of the request is too large",
    "503": "The service cannot answer now",
}
_ERRORS_BEHIND_THE_KEY = {
    "401": "The key is missing or wrong",
    "422": "What was sent breaks a rule",
    "429": "The key was used too often",
}
_NAMESPACE = {
    "name": "X-Namespace",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": NAMESPACE_PATTERN, "maxLength": MAX_NAME_CHARS},
    "description": "Which of the caller's namespaces; left out, their own or `default`",
}
_ERRORS_OF_BODIES = {"415": "The body is not announced as JSON"}


def describe(app: FastAPI, *, key_required: bool) -> None:
    """Have the document tell the errors and the key of every route."""
    made_by_fastapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(made_by_fastapi(), key_required=key_required)
        return app.openapi_schema

    app.openapi = openapi


def _completed(document: dict[str, Any], *, key_required: bool) -> dict[str, Any]:
    components = document["components"]
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for path, operation in _operations(document):
        is_open = path in OPEN_PATHS
        operation["security"] = [] if is_open else [{"bearer": []}] if key_required else [{"bearer": []}, {}]
        if not is_open:
            operation.setdefault("parameters", []).append(_NAMESPACE)
        errors = _ERRORS_OF_ALL | ({} if is_open else _ERRORS_BEHIND_THE_KEY)
        errors |= _ERRORS_OF_BODIES if "requestBody" in operation else {}
        responses: dict[str, Any] = operation["responses"]
        for status, description in errors.items():
            responses.setdefault(status, {"description": description})
        for status, response in responses.items():
            if int(status) >= 400:
                _answer_with_problem(response.setdefault("content", {}))
        operation["responses"] = dict(sorted(responses.items()))
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation


def _answer_with_problem(content: dict[str, Any]) -> None:
    """FastAPI describes every model as application/json."""
    if content.get("application/json", {}).get("schema") == _PROBLEM:
        del content["application/json"]
    content["application/problem+json"] = {"schema": _PROBLEM}
