import asyncio
import json
import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Serve the tools of refinements to an MCP client, over standard input and output, or over HTTP."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--http",
            metavar="HOST:PORT",
            help="Serve streamable HTTP at http://HOST:PORT/mcp. Requests have the header Authorization: Bearer TOKEN. "
            "Default: standard input and output, with the token in DEIDREVIEW_TOKEN.",
        )

        parser.add_argument("--json", action="store_true", help="Print one JSON object when a server over HTTP stops.")

    def handle(self, *args: Any, **options: Any) -> None:
        # Other commands start without the packages of the protocol.
        from deidreview import mcp_server

        if options["http"]:
            host, port = _address(options["http"])
            self._http(host, port)
            if options["json"]:
                self.stdout.write(json.dumps({"host": host, "port": port}))
            return
        secret = os.environ.get(mcp_server.VARIABLE, "")
        try:
            mcp_server.check_token(secret)
        except mcp_server.NoToken as error:
            raise CommandError(f"{mcp_server.VARIABLE}: {error}") from None
        asyncio.run(mcp_server.serve_stdio(secret))

    def _http(self, host: str, port: int) -> None:
        import uvicorn

        from deidreview.mcp_server import PATH, http_app

        shown = f"[{host}]" if ":" in host else host
        # The app's own logging stays: uvicorn's would write addresses of clients.
        config = uvicorn.Config(
            http_app(shown), host=host, port=port, log_config=None, access_log=False, server_header=False
        )
        self.stderr.write(f"MCP server at http://{shown}:{port}{PATH}. Press Ctrl+C to stop.")
        try:
            uvicorn.Server(config).run()
        except SystemExit as error:
            raise CommandError(f"Can't serve on {shown}:{port}. Is the port in use?") from error


def _address(words: str) -> tuple[str, int]:
    """The host and port. Raises CommandError."""
    host, _, port = words.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise CommandError(f"“{words[:80]}” is not HOST:PORT, such as 127.0.0.1:8100.")
    return host.strip("[]"), int(port)
