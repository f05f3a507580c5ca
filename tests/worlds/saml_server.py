"""The scripted SAML provider as a website: it reads our metadata, and signs in and out whom the test says."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

from lxml import etree

from tests.waiting import HANGS
from tests.worlds import saml_provider as saml

_METADATA = "{urn:oasis:names:tc:SAML:2.0:metadata}"
_PAGE = """<!doctype html><title>Provider</title><form method="post" action="{acs}">
<input type="hidden" name="SAMLResponse" value="{response}"><input type="hidden" name="RelayState" value="">
<button>Continue as {name}</button></form>"""


class SamlServer:
    """`person` are values of the next response, as saml_provider.response names them."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.signed_out = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = server.page(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        # Another host than that of the app, so that browsers treat the two as different sites.
        self.site = f"http://localhost:{self._server.server_port}"

    def register(self, address: str) -> None:
        """Read the app's metadata at this address, as an administrator of the provider does."""
        with urlopen(address, timeout=HANGS) as answer:
            tree = etree.fromstring(answer.read())
        self.audience = tree.get("entityID")
        self.acs = tree.find(f".//{_METADATA}AssertionConsumerService").get("Location")
        self.sls = tree.find(f".//{_METADATA}SingleLogoutService").get("Location")

    def page(self, path: str) -> str:
        if path.startswith("/slo"):
            self.signed_out += 1
            return "<title>Provider</title><h1>You are signed out everywhere</h1>"
        if not path.startswith("/sso"):
            return "<title>Provider</title>"
        tree = saml.response(
            saml.request_id(path), audience=self.audience, recipient=self.acs, destination=self.acs, **self.person
        )
        return _PAGE.format(acs=self.acs, response=saml.packed(saml.sign(tree)), name=self.person["uid"])

    def logout_address(self) -> str:
        """Where the provider sends a browser to sign the person out of the app."""
        return f"{self.sls}?{saml.logout_query(name=self.person['name'], destination=self.sls)}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
