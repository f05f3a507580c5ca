"""A scripted SAML provider: responses signed by xmlsec, and metadata as a file."""

import base64
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from lxml import etree

from annotations.projects.rules import SamlProvider

SAML, SAMLP = "urn:oasis:names:tc:SAML:2.0:assertion", "urn:oasis:names:tc:SAML:2.0:protocol"
ENTITY, SP = "https://idp.example/saml", "http://testserver/accounts/saml/idp"
ACS, AUDIENCE, SLS = f"{SP}/acs/", f"{SP}/metadata/", f"{SP}/sls/"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"


@dataclass(frozen=True)
class Pair:
    """A key and its certificate, as PEM."""

    key: rsa.RSAPrivateKey
    certificate: bytes

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def make_pair() -> Pair:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp")])
    day = datetime(2020, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = builder.serial_number(1).not_valid_before(day).not_valid_after(day + timedelta(days=36500))
    return Pair(key, made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


PAIR, OTHER = make_pair(), make_pair()


def write_metadata(path: Path, site: str = "https://idp.example", pair: Pair = PAIR) -> None:
    """Write the provider's metadata. `site` is where its pages for sign-in and sign-out are."""
    body = b"".join(pair.certificate.splitlines()[1:-1]).decode()
    path.write_text(
        f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{ENTITY}">'
        '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">'
        '<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>'
        f"<X509Certificate>{body}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"
        '<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" '
        f'Location="{site}/slo"/>'
        '<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" '
        f'Location="{site}/sso"/></IDPSSODescriptor></EntityDescriptor>'
    )


def settings(path: Path, **more: Any) -> SamlProvider:
    wanted = {"id": "idp", "name": "Hospital", "metadata": str(path), "username": "uid", "groups": "groups"}
    return SamlProvider(**{**wanted, **more})


def request_id(url: str) -> str:
    """Return the id of the request to which the app leads the browser."""
    packed = base64.b64decode(parse_qs(urlsplit(url).query)["SAMLRequest"][0])
    return str(etree.fromstring(zlib.decompress(packed, -15)).get("ID"))


def at(minutes: float = 0) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def response(answers: str | None, **more: Any) -> etree._Element:
    """Return a response without signature. `more` replaces single values."""
    v = {
        "issuer": ENTITY, "audience": AUDIENCE, "recipient": ACS, "destination": ACS, "name": "n-1",
        "expires": at(5), "not_before": at(-5), "until": at(5), "id": "assertion-1", "format": PERSISTENT,
        "irt": answers, "session_until": at(600), "context": PASSWORD, "groups": (), "status": "Success", "uid": "ada",
        "audiences": None,
    } | more  # fmt: skip
    irt = f'InResponseTo="{answers}"' if answers else ""
    inner = f'InResponseTo="{v["irt"]}"' if v["irt"] else ""
    groups = "".join(f"<saml:AttributeValue>{one}</saml:AttributeValue>" for one in v["groups"])
    audience = f"<saml:AudienceRestriction><saml:Audience>{v['audience']}</saml:Audience></saml:AudienceRestriction>"
    text = f"""<samlp:Response xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" ID="response-1" Version="2.0"
        IssueInstant="{at()}" Destination="{v["destination"]}" {irt}><saml:Issuer>{v["issuer"]}</saml:Issuer>
        <samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:{v["status"]}"/></samlp:Status>
        <saml:Assertion ID="{v["id"]}" Version="2.0" IssueInstant="{at()}"><saml:Issuer>{v["issuer"]}</saml:Issuer>
        <saml:Subject><saml:NameID Format="{v["format"]}">{v["name"]}</saml:NameID>
        <saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
        NotOnOrAfter="{v["until"]}" Recipient="{v["recipient"]}" {inner}/></saml:SubjectConfirmation></saml:Subject>
        <saml:Conditions NotBefore="{v["not_before"]}" NotOnOrAfter="{v["expires"]}">{audience}</saml:Conditions>
        <saml:AuthnStatement AuthnInstant="{at()}" SessionNotOnOrAfter="{v["session_until"]}" SessionIndex="i-1">
        <saml:AuthnContext><saml:AuthnContextClassRef>{v["context"]}</saml:AuthnContextClassRef></saml:AuthnContext>
        </saml:AuthnStatement><saml:AttributeStatement>
        <saml:Attribute Name="uid"><saml:AttributeValue>{v["uid"]}</saml:AttributeValue></saml:Attribute>
        <saml:Attribute Name="groups">{groups}</saml:Attribute></saml:AttributeStatement>
        </saml:Assertion></samlp:Response>"""
    return etree.fromstring(text)


def sign(tree: etree._Element, pair: Pair = PAIR, what: str = "Assertion", weak: bool = False) -> etree._Element:
    """Sign the assertion, or the whole response, in place."""
    node = tree if what == "Response" else tree.find(f"{{{SAML}}}Assertion")
    method = xmlsec.Transform.RSA_SHA1 if weak else xmlsec.Transform.RSA_SHA256
    template = xmlsec.template.create(node, xmlsec.Transform.EXCL_C14N, method, ns="ds")
    node.insert(1, template)
    digest = xmlsec.Transform.SHA1 if weak else xmlsec.Transform.SHA256
    reference = xmlsec.template.add_reference(template, digest, uri="#" + node.get("ID"))
    xmlsec.template.add_transform(reference, xmlsec.Transform.ENVELOPED)
    xmlsec.template.add_transform(reference, xmlsec.Transform.EXCL_C14N)
    xmlsec.template.add_x509_data(xmlsec.template.ensure_key_info(template))
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(pair.key_pem, xmlsec.KeyFormat.PEM)
    context.key.load_cert_from_memory(pair.certificate, xmlsec.KeyFormat.PEM)
    tree.set("ID", tree.get("ID"))
    xmlsec.tree.add_ids(tree, ["ID"])
    context.sign(template)
    return tree


def packed(tree: etree._Element | bytes) -> str:
    return base64.b64encode(tree if isinstance(tree, bytes) else etree.tostring(tree)).decode()


def logout_query(*, pair: Pair | None = PAIR, name: str = "n-1", index: str = "i-1", destination: str = SLS) -> str:
    """Return the query of a signed logout request by redirect; without a key, an unsigned one."""
    text = (
        f'<samlp:LogoutRequest xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" ID="logout-1" Version="2.0" '
        f'IssueInstant="{at()}" Destination="{destination}" NotOnOrAfter="{at(5)}"><saml:Issuer>{ENTITY}</saml:Issuer>'
        f'<saml:NameID Format="{PERSISTENT}">{name}</saml:NameID>'
        f"<samlp:SessionIndex>{index}</samlp:SessionIndex></samlp:LogoutRequest>"
    )
    squeezed = zlib.compress(text.encode())[2:-4]
    query = "SAMLRequest=" + quote(base64.b64encode(squeezed), safe="")
    if pair is None:
        return query
    query += "&SigAlg=" + quote("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", safe="")
    mark = pair.key.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())
    return query + "&Signature=" + quote(base64.b64encode(mark), safe="")
