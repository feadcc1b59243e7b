"""The second port: ``/healthz``, ``/readyz`` and ``/metrics``. Plain HTTP, and never a review."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .bridge import Receive, Scope, Send


class Probes:
    """An ASGI application for kubelet and Prometheus.

    ``find_obstacle`` says why the webhook should get no traffic, or None when it is ready; ``render_metrics`` gives
    the metrics and their content type; ``find_remarks`` what is wrong although it is ready, a line each.
    """

    def __init__(
        self,
        find_obstacle: Callable[[], str | None],
        render_metrics: Callable[[], tuple[bytes, str]],
        find_remarks: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._find_obstacle = find_obstacle
        self._render_metrics = render_metrics
        self._find_remarks = find_remarks

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answers one request."""
        code, body, content_type = self._answer(scope["method"], scope["path"])
        headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
        if code == 405:
            headers.append((b"allow", b"GET, HEAD"))
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, method: str, path: str) -> tuple[int, bytes, str]:
        plain = "text/plain; charset=utf-8"
        if path not in ("/healthz", "/readyz", "/metrics"):
            return 404, b"not found\n", plain
        if method not in ("GET", "HEAD"):
            return 405, b"method not allowed\n", plain
        if path == "/metrics":
            return 200, *self._render_metrics()
        if path == "/healthz":
            return 200, b"ok\n", plain
        obstacle = self._find_obstacle()
        told = "".join(f"{line}\n" for line in (obstacle or "ok", *self._find_remarks()))
        return 503 if obstacle else 200, told.encode(), plain
