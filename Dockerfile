FROM python:3.12-slim AS build
WORKDIR /app
COPY requirements/qdrant.lock requirements/qdrant.lock
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/qdrant.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 memory && install -d -o memory -g memory -m 700 /data /keys
COPY --from=build /venv /venv
USER memory
VOLUME /data
# Reachable from outside the container, so the service refuses to start without MCP_MEMORY_API_KEY, in the environment
# or as a file of MCP_MEMORY_SECRETS_DIR.
ENV MCP_MEMORY_SQLITE_PATH=/data/memories.db \
    MCP_MEMORY_HTTP_HOST=0.0.0.0 \
    MCP_MEMORY_HTTP_PORT=8000 \
    PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
  CMD ["/venv/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
ENTRYPOINT ["/venv/bin/mcp-memory"]
CMD ["serve"]
