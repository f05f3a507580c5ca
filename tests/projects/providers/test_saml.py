"""Sign-in by SAML: what works, and every forged or replayed response that is refused."""

import copy
import os
from datetime import timedelta

import pytest
from allauth.socialaccount.internal import statekit
from django.contrib.auth import get_user
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from lxml import etree

from annotations.models import ProviderAccount, ProviderSession, User
from tests.worlds import saml_provider as idp
from tests.worlds.saml_provider import OTHER, SAML, at, packed, response, sign

DSIG = "{http://www.w3.org/2000/09/xmldsig#}"
MARK = f"{DSIG}Signature"
LOGIN, ACS = "/accounts/saml/idp/", "/accounts/saml/idp/acs/"


@pytest.fixture(autouse=True)
def configured(db, tmp_path, settings):
    path = tmp_path / "idp.xml"
    idp.write_metadata(path)
    settings.SIGN_IN = (idp.settings(path),)
    return path


def begin(client: Client, query: str = "") -> str:
    return idp.request_id(client.get(LOGIN + query).headers["Location"])


def send(client: Client, posted: str):
    """Send a response as the provider's page does, and follow where it leads."""
    answer = client.post(ACS, {"SAMLResponse": posted})
    return client.get(answer.headers["Location"]) if answer.status_code == 302 else answer


def sign_in(client: Client, **more):
    return send(client, packed(sign(response(begin(client), **more))))


def test_the_first_sign_in_makes_an_account(client):
    answer = sign_in(client)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/") and get_user(client).username == "ada"
    assert ProviderAccount.objects.get().subject == "n-1"
    client.post("/accounts/logout/")
    tree = sign(response(begin(client), id="assertion-2"))
    send(client, packed(sign(tree, what="Response")))  # the response is signed, too
    assert get_user(client).is_authenticated and User.objects.count() == 1


def test_an_attribute_is_known_by_its_friendly_name(client):
    tree = response(begin(client))
    uid = tree.find(f".//{{{SAML}}}Attribute[@Name='uid']")
    uid.attrib.update({"Name": "urn:oid:0.9.2342.1", "FriendlyName": "uid"})
    send(client, packed(sign(tree)))
    assert get_user(client).username == "ada"


def test_our_metadata_and_those_of_the_provider_that_break_while_the_app_runs(client, configured, caplog):
    text = client.get("/accounts/saml/idp/metadata/").text
    assert f'entityID="{idp.AUDIENCE}"' in text and idp.ACS in text and idp.SLS in text
    configured.write_text("<!doctype html><p>Sign in")
    for path in (LOGIN, "/accounts/saml/idp/metadata/"):
        assert client.get(path).status_code == 403
    assert "metadata can't be read: XMLSyntaxError" in caplog.text


def test_new_keys_of_the_provider_count_without_a_restart(client, configured):
    def answer() -> int:
        return send(client, packed(sign(response(begin(client)), pair=OTHER))).status_code

    assert answer() == 403
    idp.write_metadata(configured, pair=OTHER)
    os.utime(configured, (1, 1))
    assert answer() == 302


@pytest.mark.parametrize("minutes", [15, 4])
def test_the_session_ends_after_its_minutes_or_the_providers(client, minutes):
    sign_in(client, **({"session_until": at(minutes)} if minutes < 15 else {}))
    until = ProviderSession.objects.get().until
    assert abs(until - timezone.now() - timedelta(minutes=minutes)) < timedelta(minutes=1)
    assert client.get("/help/").status_code == 200
    ProviderSession.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert client.get("/help/").status_code == 302


def test_the_context_counts_as_a_second_factor_only_if_configured(client, settings, configured):
    mfa = "https://refeds.org/profile/mfa"
    settings.SECOND_FACTOR = True
    sign_in(client, context=mfa)
    assert client.get("/help/").status_code == 403
    settings.SIGN_IN = (idp.settings(configured, second_factor=(mfa,)),)
    sign_in(client, id="assertion-2", context=idp.PASSWORD)
    assert client.get("/help/").status_code == 403
    sign_in(client, id="assertion-3", context=mfa)
    assert client.get("/help/").status_code == 200


def test_a_comment_does_not_cut_a_name(client):
    """A comment cuts the text node: a reader of the first part would see another person."""
    sign_in(client, name="n-1<!-- -->.evil")
    assert ProviderAccount.objects.get().subject == "n-1.evil"


# ── Forged responses ─────────────────────────────────────────────────────────────────────────────────────────────────


def forge(answers):
    """Return a signed response, its assertion, and an unsigned assertion about somebody else, made from that."""
    tree = sign(response(answers))
    signed = tree.find(f"{{{SAML}}}Assertion")
    evil = copy.deepcopy(signed)
    evil.set("ID", "evil")
    evil.find(f".//{{{SAML}}}NameID").text = "n-admin"
    evil.remove(evil.find(MARK))
    return tree, signed, evil


def wrapped_before(answers, **changes):
    tree, _, evil = forge(answers)
    evil.attrib.update(changes)
    tree.insert(2, evil)
    return tree


def wrapped_after(answers):
    tree, _, evil = forge(answers)
    tree.append(evil)
    return tree


def wrapped_in_extensions(answers):
    """The signed assertion is hidden where nobody reads it, and another one stands in its place (XSW)."""
    tree, signed, evil = forge(answers)
    tree.replace(signed, evil)
    etree.SubElement(tree, "{urn:oasis:names:tc:SAML:2.0:protocol}Extensions").append(signed)
    return tree


def wrapped_in_signature(answers):
    """The forged assertion carries the signature, in whose Object the signed assertion lies."""
    tree, signed, evil = forge(answers)
    mark = copy.deepcopy(signed.find(MARK))
    held = etree.SubElement(mark, f"{DSIG}Object")
    tree.replace(signed, evil)
    held.append(signed)
    evil.insert(1, mark)
    return tree


def changed(answers):
    tree, signed, _ = forge(answers)
    signed.find(f".//{{{SAML}}}NameID").text = "n-admin"
    return tree


def with_entities(answers, declared, used):
    text = etree.tostring(sign(response(answers)))
    return b"<!DOCTYPE r [" + declared + b"]>" + text.replace(b">n-1<", b">" + used + b"<")


FORGED = {
    "unsigned": lambda a: response(a), "only the response is signed": lambda a: sign(response(a), what="Response"),
    "another key": lambda a: sign(response(a), OTHER), "SHA-1": lambda a: sign(response(a), weak=True),
    "changed": changed, "wrapped before": wrapped_before, "wrapped after": wrapped_after,
    "wrapped in extensions": wrapped_in_extensions, "wrapped in the signature": wrapped_in_signature,
    "the same id twice": lambda a: wrapped_before(a, ID="assertion-1"),
    "another audience": lambda a: sign(response(a, audience="https://another.example")),
    "another recipient": lambda a: sign(response(a, recipient="https://another.example/acs")),
    "another destination": lambda a: sign(response(a, destination="https://another.example/acs")),
    "another issuer": lambda a: sign(response(a, issuer="https://evil.example")),
    "expired": lambda a: sign(response(a, expires=at(-10))),
    "confirmation expired": lambda a: sign(response(a, until=at(-10))),
    "not yet valid": lambda a: sign(response(a, not_before=at(10))),
    "session over": lambda a: sign(response(a, session_until=at(-10))),
    "not a success": lambda a: sign(response(a, status="Requester")), "answers nothing": lambda a: sign(response(None)),
    "answers another request": lambda a: sign(response("ONELOGIN_another")),
    "a stolen assertion of another request": lambda a: sign(response(a, irt="ONELOGIN_another")),
    "a stolen assertion of no request": lambda a: sign(response(a, irt=None)),
    "a name that changes": lambda a: sign(response(a, format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient")),
    "empty name": lambda a: sign(response(a, name="")),
    "external entity": lambda a: with_entities(a, b'<!ENTITY x SYSTEM "file:///etc/passwd">', b"&x;"),
    "entities in entities": lambda a: with_entities(a, b'<!ENTITY a "aa"><!ENTITY b "&a;&a;">', b"&b;"),
    "no XML": lambda a: b"abc", "too long": lambda a: b"<a>" + b"x" * 300_000 + b"</a>",
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_response_is_refused(client, kind):
    answer = send(client, packed(FORGED[kind](begin(client))))
    assert answer.status_code == 403 and b"Sign-in failed" in answer.content
    assert not get_user(client).is_authenticated and not User.objects.exists()


def test_a_response_works_once_and_only_in_its_browser(client):
    posted = packed(sign(response(begin(client))))
    assert send(Client(), posted).status_code == 403
    send(client, posted)
    client.post("/accounts/logout/")
    assert send(client, posted).status_code == 403 and not get_user(client).is_authenticated


def test_an_assertion_works_once_even_where_the_request_is_repeated(client, monkeypatch):
    posted = packed(sign(response(begin(client))))
    monkeypatch.setattr(statekit, "unstash_state", lambda *_, **__: {"next": None})
    assert send(client, posted).status_code == 302
    client.post("/accounts/logout/")
    assert send(client, posted).status_code == 403


def test_a_stranger_stores_nothing(client):
    assert send(client, "%%%").status_code == 403  # no base64
    before = Session.objects.count()
    client.post(ACS, {"SAMLResponse": packed(response("x"))})
    assert Session.objects.count() == before


# ── Logout by the provider ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_provider_ends_the_session_in_every_browser(client):
    sign_in(client)
    answer = Client().get(f"/accounts/saml/idp/sls/?{idp.logout_query()}")
    assert answer.status_code == 302 and answer.headers["Location"].startswith("https://idp.example/slo?SAMLResponse=")
    assert client.get("/help/").status_code == 302


def test_a_forged_logout_ends_nothing(client):
    sign_in(client)
    unsigned, by_another, good = idp.logout_query(pair=None), idp.logout_query(pair=OTHER), idp.logout_query()
    for query in (unsigned, by_another, good.replace("SAMLRequest", "SAMLResponse"), ""):
        assert Client().get(f"/accounts/saml/idp/sls/?{query}").status_code == 403
        assert client.get("/help/").status_code == 200
