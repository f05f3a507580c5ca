"""Sign-in by SAML: what works, and every forged or replayed response that is refused."""

import copy
import os
from datetime import timedelta

import pytest
from django.contrib.auth import get_user
from django.test import Client
from django.utils import timezone
from lxml import etree

from annotations.models import ProviderAccount, ProviderSession, User
from tests.worlds import saml_provider as idp
from tests.worlds.saml_provider import OTHER, SAML, at, packed, response, sign

pytestmark = pytest.mark.django_db
LOGIN, ACS = "/accounts/saml/idp/", "/accounts/saml/idp/acs/"


@pytest.fixture(autouse=True)
def configured(tmp_path, settings):
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
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert get_user(client).username == "ada"
    assert ProviderAccount.objects.get().subject == "n-1"
    client.post("/accounts/logout/")
    sign_in(client, id="assertion-2")
    assert get_user(client).is_authenticated and User.objects.count() == 1


def test_a_signed_response_around_a_signed_assertion_works(client):
    tree = sign(response(begin(client)))
    assert send(client, packed(sign(tree, what="Response"))).status_code == 302


def test_metadata_that_break_while_the_app_runs_are_no_error_of_the_server(client, configured, caplog):
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


def test_our_metadata_name_the_addresses(client):
    text = client.get("/accounts/saml/idp/metadata/").content.decode()
    assert f'entityID="{idp.AUDIENCE}"' in text and idp.ACS in text and idp.SLS in text


def test_the_session_ends_after_its_minutes(client, clock):
    sign_in(client)
    clock.forward(minutes=14)
    assert client.get("/help/").status_code == 200
    clock.forward(minutes=1.1)
    assert client.get("/help/").status_code == 302


def test_the_provider_may_end_it_earlier(client):
    sign_in(client, session_until=at(4))
    until = ProviderSession.objects.get().until
    assert until is not None and until < timezone.now() + timedelta(minutes=5)


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


def comment_in_name(answers):
    """A comment cuts the text node: a reader of the first part would see another person."""
    return response(answers, name="n-1<!-- -->.evil")


def test_a_comment_does_not_cut_a_name(client):
    send(client, packed(sign(comment_in_name(begin(client)))))
    assert ProviderAccount.objects.get().subject == "n-1.evil"


# ── Forged responses ─────────────────────────────────────────────────────────────────────────────────────────────────


def evil(tree):
    """Return an unsigned assertion about somebody else, made from a signed one."""
    found = copy.deepcopy(tree.find(f"{{{SAML}}}Assertion"))
    found.set("ID", "evil")
    found.find(f".//{{{SAML}}}NameID").text = "n-admin"
    mark = found.find("{http://www.w3.org/2000/09/xmldsig#}Signature")
    found.remove(mark)
    return found


def wrapped_before(answers):
    tree = sign(response(answers))
    tree.insert(2, evil(tree))
    return tree


def wrapped_after(answers):
    tree = sign(response(answers))
    tree.append(evil(tree))
    return tree


def wrapped_in_extensions(answers):
    """The signed assertion is hidden where nobody reads it, and another one stands in its place (XSW)."""
    tree = sign(response(answers))
    signed = tree.find(f"{{{SAML}}}Assertion")
    forged = evil(tree)
    tree.replace(signed, forged)
    hidden = etree.SubElement(tree, "{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    hidden.append(signed)
    return tree


def wrapped_in_signature(answers):
    """The forged assertion carries the signature, in whose Object the signed assertion lies."""
    tree = sign(response(answers))
    signed = tree.find(f"{{{SAML}}}Assertion")
    forged = evil(tree)
    mark = copy.deepcopy(signed.find("{http://www.w3.org/2000/09/xmldsig#}Signature"))
    held = etree.SubElement(mark, "{http://www.w3.org/2000/09/xmldsig#}Object")
    tree.replace(signed, forged)
    held.append(signed)
    forged.insert(1, mark)
    return tree


def with_the_same_id(answers):
    tree = sign(response(answers))
    forged = evil(tree)
    forged.set("ID", "assertion-1")
    tree.insert(2, forged)
    return tree


def changed(answers):
    tree = sign(response(answers))
    tree.find(f".//{{{SAML}}}NameID").text = "n-admin"
    return tree


def entity(answers):
    """An external entity (XXE)."""
    text = etree.tostring(sign(response(answers)))
    return b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + text.replace(b">n-1<", b">&x;<")


def bomb(answers):
    text = etree.tostring(sign(response(answers)))
    return b'<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>' + text.replace(b">n-1<", b">&b;<")


FORGED = {
    "unsigned": lambda a: response(a),
    "only the response is signed": lambda a: sign(response(a), what="Response"),
    "another key": lambda a: sign(response(a), OTHER),
    "SHA-1": lambda a: sign(response(a), weak=True),
    "changed": changed,
    "wrapped before": wrapped_before,
    "wrapped after": wrapped_after,
    "wrapped in extensions": wrapped_in_extensions,
    "wrapped in the signature": wrapped_in_signature,
    "the same id twice": with_the_same_id,
    "another audience": lambda a: sign(response(a, audience="https://another.example")),
    "another recipient": lambda a: sign(response(a, recipient="https://another.example/acs")),
    "another destination": lambda a: sign(response(a, destination="https://another.example/acs")),
    "another issuer": lambda a: sign(response(a, issuer="https://evil.example")),
    "expired": lambda a: sign(response(a, expires=at(-10))),
    "confirmation expired": lambda a: sign(response(a, until=at(-10))),
    "not yet valid": lambda a: sign(response(a, not_before=at(10))),
    "session over": lambda a: sign(response(a, session_until=at(-10))),
    "not a success": lambda a: sign(response(a, status="Requester")),
    "answers nothing": lambda a: sign(response(None)),
    "answers another request": lambda a: sign(response("ONELOGIN_another")),
    "a stolen assertion of another request": lambda a: sign(response(a, irt="ONELOGIN_another")),
    "a stolen assertion of no request": lambda a: sign(response(a, irt=None)),
    "a name that changes": lambda a: sign(response(a, format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient")),
    "empty name": lambda a: sign(response(a, name="")),
    "external entity": entity,
    "entities in entities": bomb,
    "no XML": lambda a: b"abc",
    "nothing": lambda a: b"",
    "too long": lambda a: b"<a>" + b"x" * 300_000 + b"</a>",
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_response_is_refused(client, kind):
    answer = send(client, packed(FORGED[kind](begin(client))))
    assert answer.status_code == 403 and b"Sign-in failed" in answer.content
    assert not get_user(client).is_authenticated and not User.objects.exists()


def test_no_base64_is_refused(client):
    assert send(client, "%%%").status_code == 403


def test_a_response_works_once(client):
    posted = packed(sign(response(begin(client))))
    send(client, posted)
    client.post("/accounts/logout/")
    assert send(client, posted).status_code == 403
    # Not even with a second request that has the same id, as after a restored backup.
    from allauth.socialaccount.internal import statekit

    assert statekit.STATE_TTL == 600
    assert not get_user(client).is_authenticated


def test_an_assertion_works_once_even_where_the_request_is_repeated(client, monkeypatch):
    from allauth.socialaccount.internal import statekit

    posted = packed(sign(response(begin(client))))
    monkeypatch.setattr(statekit, "unstash_state", lambda *_, **__: {"next": None})
    assert send(client, posted).status_code == 302
    client.post("/accounts/logout/")
    assert send(client, posted).status_code == 403


def test_a_response_in_another_browser_is_refused(client):
    posted = packed(sign(response(begin(client))))
    assert send(Client(), posted).status_code == 403


def test_a_stranger_stores_nothing(client):
    from django.contrib.sessions.models import Session

    before = Session.objects.count()
    client.post(ACS, {"SAMLResponse": packed(response("x"))})
    assert Session.objects.count() == before


# ── Logout by the provider ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_provider_ends_the_session_in_every_browser(client):
    sign_in(client)
    answer = Client().get(f"/accounts/saml/idp/sls/?{idp.logout_query()}")
    assert answer.status_code == 302 and answer.headers["Location"].startswith("https://idp.example/slo?SAMLResponse=")
    assert client.get("/help/").status_code == 302


@pytest.mark.parametrize(
    "query",
    [
        idp.logout_query(pair=None),
        idp.logout_query(pair=OTHER),
        idp.logout_query().replace("SAMLRequest", "SAMLResponse"),
        "",
    ],
    ids=["unsigned", "another key", "a response", "nothing"],
)
def test_a_forged_logout_ends_nothing(client, query):
    sign_in(client)
    assert Client().get(f"/accounts/saml/idp/sls/?{query}").status_code == 403
    assert client.get("/help/").status_code == 200
