"""Sign-in by LDAP and SAML in the running product: with the settings of docs/sign-in.md, in Chromium."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from lxml import etree
from playwright.sync_api import Browser, Locator, Page, expect

from tests.slapd import BASE, GROUPS, PASSWORD, PEOPLE, Slapd, private_slapd
from tests.waiting import HANGS, in_browser, wait_for
from tests.worlds import saml_provider as saml
from tests.worlds.product import Product
from tests.worlds.saml_provider import write_metadata
from tests.worlds.scim_provider import HASH, PATCH, TOKEN, USER

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


# By day, tests/providers has the same with a directory and a provider, and tests/browser/accounts the pages.
pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.nightly]
SERVICE = f"cn=deidreview,ou=services,{BASE}"
REVIEWERS = f"cn=Reviewers,{GROUPS}"
PROJECT = "/projects/ward-7/"
SETTINGS = """
[[provider]]
id = "hospital"
kind = "saml"
name = "Hospital"
metadata = "{metadata}"
groups = "groups"
username = "uid"
scim_token_hashes = ["{token_hash}"]

[[provider]]
id = "ldap"
kind = "ldap"
name = "Hospital"
url = "{url}"
bind_dn = "{service}"
bind_password = "{password}"
people = "{people}"
ca_file = "{certificate}"
"""


@pytest.fixture
def slapd() -> Iterator[Slapd]:
    with private_slapd() as running:
        running.apply(
            f"dn: ou=services,{BASE}\nchangetype: add\nobjectClass: organizationalUnit\nou: services\n\n"
            f"dn: {SERVICE}\nchangetype: add\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\n"
            f"cn: deidreview\nuserPassword: {PASSWORD}\n"
        )
        running.add_person("ada")
        running.apply(
            f"dn: {REVIEWERS}\nchangetype: add\nobjectClass: groupOfNames\ncn: Reviewers\nmember: uid=ada,{PEOPLE}\n"
        )
        yield running


@pytest.fixture
def saml_server() -> Iterator[SamlServer]:
    server = SamlServer()
    yield server
    server.stop()


@pytest.fixture
def product(
    start: Callable[..., Product], manage: Any, slapd: Slapd, saml_server: SamlServer, tmp_path: Path
) -> Product:
    metadata, file = tmp_path / "hospital.xml", tmp_path / "sign-in.toml"
    write_metadata(metadata, saml_server.site)
    file.write_text(
        SETTINGS.format(
            metadata=metadata, url=slapd.secure_url, service=SERVICE, password=PASSWORD, people=PEOPLE,
            certificate=slapd.certificate, token_hash=HASH,
        )
    )  # fmt: skip
    product = start(DEIDREVIEW_SIGN_IN=str(file)).wait_ready()
    commands = (
        ("create_project", "Ward 7", "--labels", "meddocan"),
        ("map_group", "ward-7", "ldap", REVIEWERS, "--role", "reviewer"),
        ("map_group", "ward-7", "hospital", "annotators", "--role", "annotator"),
    )
    # In one process, which saves the start of two.
    code = f"from django.core.management import call_command\nfor words in {commands!r}: call_command(*words)"
    done = manage("shell", "-c", code, DEIDREVIEW_SIGN_IN=str(file))
    assert done.returncode == 0, done.stderr
    return product


def test_people_sign_in_and_out(product: Product, browser: Browser, slapd: Slapd, saml_server: SamlServer) -> None:
    assert "There is no administrator yet." in product.output
    site = f"http://127.0.0.1:{product.port}"
    expect.set_options(timeout=in_browser())
    ada, grace = browser.new_page(), browser.new_page()

    def sees_project(page: Page) -> bool:
        """Ask for the project's page with the cookies of the browser, as a new tab does."""
        answer = page.request.get(f"{site}{PROJECT}", max_redirects=0)
        assert answer.status in (200, 302)
        return answer.status == 200

    def sign_in_by_ldap() -> None:
        ada.get_by_label("Username").fill("ada")
        ada.get_by_label("Password").fill("their password")
        ada.get_by_role("button", name="Sign in", exact=True).click()

    def sign_out(page: Page) -> None:
        page.get_by_text("Account menu").locator("..").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert not sees_project(page)

    def open_by_ldap() -> None:
        ada.goto(f"{site}{PROJECT}")
        sign_in_by_ldap()
        expect(ada.get_by_text("Your role: reviewer.")).to_be_visible()

    open_by_ldap()
    sign_out(ada)
    open_by_ldap()
    slapd.delete(f"uid=ada,{PEOPLE}")
    deleted = time.monotonic()

    def push(method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request of SCIM, as the provider does. Return the answer."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/scim+json"}
        sent = Request(f"{site}/scim/v2/hospital/{path}", json.dumps(body).encode(), headers, method=method)
        with urlopen(sent, timeout=HANGS) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    pushed = push("POST", "Users", {"schemas": [USER], "userName": "grace", "externalId": "p-1"})
    saml_server.register(f"{site}/accounts/saml/hospital/metadata/")
    saml_server.person = {"name": "p-1", "uid": "grace", "groups": ["annotators"]}
    grace.goto(f"{site}{PROJECT}")
    grace.get_by_role("link", name="Sign in with Hospital").click()
    grace.get_by_role("button", name="Continue as grace").click()
    expect(grace.get_by_text("Your role: annotator.")).to_be_visible()
    assert grace.url == f"{site}{PROJECT}"
    sign_out(grace)

    ward = grace.get_by_role("link", name="Ward 7", exact=True).first

    def sign_in_by_saml(assertion: int, shown: Locator) -> None:
        saml_server.person |= {"id": f"assertion-{assertion}"}
        grace.goto(f"{site}/accounts/saml/hospital/")
        grace.get_by_role("button", name="Continue as grace").click()
        expect(shown).to_be_visible()

    # The provider ends the next session, in each web process at once or a few seconds later.
    sign_in_by_saml(2, ward)
    assert sees_project(grace)
    assert saml_server.signed_out == 0, "signing out of deidreview does not sign out of the provider"
    grace.goto(saml_server.logout_address())
    expect(grace.get_by_role("heading", name="You are signed out everywhere")).to_be_visible()
    ended = time.monotonic()
    wait_for(lambda: not sees_project(grace), 10, "the end of the session by SAML")
    print(f"By SAML: out after {time.monotonic() - ended:.1f} s")

    # The provider removes the person, who is out with the next request.
    sign_in_by_saml(3, ward)
    assert sees_project(grace)
    inactive = {"op": "replace", "value": {"active": False}}
    push("PATCH", f"Users/{pushed['id']}", {"schemas": [PATCH], "Operations": [inactive]})
    assert not sees_project(grace)
    sign_in_by_saml(4, grace.get_by_role("heading", name="Sign-in failed"))

    def is_out() -> bool:
        time.sleep(0.5)
        return not sees_project(ada)

    wait_for(is_out, 60, "the end of the session by LDAP")
    print(f"By LDAP: out after {time.monotonic() - deleted:.1f} s")
    ada.reload()
    sign_in_by_ldap()
    expect(ada.get_by_text("are not correct")).to_be_visible()
