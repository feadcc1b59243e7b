"""The admission webhook: a Flask application and the server that faces the API server."""

if __name__ != "gpupolicy.webhook":
    raise ImportError("import gpupolicy.webhook, not webhook; first run: pip install -e .")

from .app import create_app

__all__ = ["create_app"]
