"""Sign-in by LDAP and SAML in the running product: with the settings of docs/sign-in.md, in Chromium."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.chromium import chromium
from tests.slapd import BASE, GROUPS, PASSWORD, PEOPLE, Slapd, private_slapd
from tests.waiting import in_browser
from tests.worlds.product import Product
from tests.worlds.saml_provider import write_metadata
from tests.worlds.saml_server import SamlServer

pytestmark = [pytest.mark.product, pytest.mark.processes]
SERVICE = f"cn=deidreview,ou=services,{BASE}"
REVIEWERS = f"cn=Reviewers,{GROUPS}"
SETTINGS = """
[[provider]]
id = "hospital"
kind = "saml"
name = "Hospital"
metadata = "{metadata}"
groups = "groups"
username = "uid"

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
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=in_browser())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def product(
    start: Callable[..., Product], manage: Any, slapd: Slapd, saml_server: SamlServer, tmp_path: Path
) -> Product:
    metadata, file = tmp_path / "hospital.xml", tmp_path / "sign-in.toml"
    write_metadata(metadata, saml_server.site)
    file.write_text(
        SETTINGS.format(
            metadata=metadata, url=slapd.secure_url, service=SERVICE, password=PASSWORD, people=PEOPLE,
            certificate=slapd.certificate,
        )
    )  # fmt: skip
    product = start(DEIDREVIEW_SIGN_IN=str(file)).wait_ready()
    for words in (
        ("create_project", "Ward 7", "--labels", "meddocan"),
        ("map_group", "ward-7", "ldap", REVIEWERS, "--role", "reviewer"),
        ("map_group", "ward-7", "hospital", "annotators", "--role", "annotator"),
    ):
        done = manage(*words, DEIDREVIEW_SIGN_IN=str(file))
        assert done.returncode == 0, done.stderr
    return product


def test_people_sign_in_and_out(product: Product, browser: Browser, slapd: Slapd, saml_server: SamlServer) -> None:
    site = f"http://127.0.0.1:{product.port}"
    page = browser.new_page()
    page.on("console", lambda m: print("CONSOLE", m.text))
    t = time.time()
    page.goto(site)
    print(page.locator("main").inner_text())
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("their password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_load_state()
    print(page.url, page.locator("body").inner_text())
    page.goto(site + "/projects/ward-7/")
    print(page.url, page.locator("body").inner_text())
    # sign out
    page.screenshot(path="/tmp/shot.png")
    page.locator("summary", has_text="Account menu").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_load_state()
    print(page.url)
    page.goto(site + "/projects/ward-7/")
    print(page.url)
    # SAML
    saml_server.register(site + "/accounts/saml/hospital/metadata/")
    print(saml_server.acs, saml_server.sls, saml_server.audience)
    saml_server.person = {"name": "p-1", "uid": "grace", "groups": ["annotators"]}
    page.get_by_role("link", name="Sign in with Hospital").click()
    page.get_by_role("button", name="Continue as grace").click()
    page.wait_for_load_state()
    print(page.url, page.locator("body").inner_text())
    page.goto(saml_server.logout_address())
    print(page.url, page.locator("body").inner_text())
    t0 = time.time()
    while "login" not in page.url:
        page.goto(site + "/projects/ward-7/")
        time.sleep(0.5)
    print("saml out after", time.time() - t0, page.url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("their password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_load_state()
    print(page.url)
    slapd.delete(f"uid=ada,{PEOPLE}")
    t0 = time.time()
    while "login" not in page.url:
        page.goto(site + "/projects/ward-7/")
        time.sleep(0.5)
    print("ldap out after", time.time() - t0)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("their password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_load_state()
    print(page.url, page.locator("main").inner_text())
    assert 0
