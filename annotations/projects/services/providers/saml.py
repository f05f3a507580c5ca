"""SAML 2.0 by python3-saml, in its strict mode, with what it leaves to others: one sign-in for one request.

Only responses to our own requests count. The signed assertion itself must name the request, so that a stolen assertion
can't be put into a response to another request; each assertion works once.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from allauth.socialaccount.providers.saml.utils import build_saml_config
from django.http import HttpRequest
from django.utils import timezone
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.errors import OneLogin_Saml2_Error
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.logout_request import OneLogin_Saml2_Logout_Request
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from annotations.projects.rules import SamlProvider
from annotations.projects.services.providers.signing_in import Identity, SignInRefused, use_up

# Characters of a response in base64. Usual ones have about ten thousand.
LONGEST: Final = 300_000
_NAMES: Final = {
    "first_name": ("urn:oid:2.5.4.42", "givenName", "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname"),
    "last_name": ("urn:oid:2.5.4.4", "sn", "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname"),
}


@dataclass(frozen=True)
class Response:
    """A verified response: who it is, and the request that it answers."""

    identity: Identity
    request_id: str
    assertion_id: str
    until: datetime


@lru_cache(maxsize=16)
def _idp(path: str, changed: float) -> dict[str, Any]:
    found: dict[str, Any] = OneLogin_Saml2_IdPMetadataParser.parse(Path(path).read_bytes()).get("idp", {})
    return found


def idp_of(provider: SamlProvider) -> dict[str, Any]:
    """Read the provider's metadata, again if the file has changed. Raises SignInRefused."""
    try:
        return _idp(provider.metadata, Path(provider.metadata).stat().st_mtime)
    except Exception as error:
        # The file was valid at the start. Libraries of XML have errors of many types.
        raise SignInRefused(f"The provider's metadata can't be read: {type(error).__name__}.") from None


def _settings(request: HttpRequest, provider: SamlProvider, *, signed_messages: bool = False) -> dict[str, Any]:
    """Settings of python3-saml. Addresses are those under which this request reached the app."""
    advanced = {
        "name_id_format": Names.NAMEID_UNSPECIFIED,
        "want_assertion_signed": True,
        "want_message_signed": signed_messages,
        "want_name_id": True,
        "want_attribute_statement": False,
        "allow_single_label_domains": True,
    }
    # allauth takes one certificate of a provider; metadata may list several.
    unused = {"entity_id": "", "x509cert": "", "sso_url": ""}
    usual: dict[str, Any] = build_saml_config(request, {"idp": unused, "advanced": advanced}, provider.id)
    return {**usual, "idp": idp_of(provider)}


def auth_for(request: HttpRequest, provider: SamlProvider, *, signed_messages: bool = False) -> Any:
    """python3-saml for this request. Raises SignInRefused if the provider's metadata lack something."""
    asked = {
        "https": "on" if request.is_secure() else "off",
        "http_host": request.get_host(),
        "script_name": request.path_info,
        "get_data": request.GET.copy(),
        "post_data": request.POST.copy(),
    }
    try:
        return OneLogin_Saml2_Auth(asked, _settings(request, provider, signed_messages=signed_messages))
    except OneLogin_Saml2_Error as error:
        raise SignInRefused(f"The provider's metadata are not complete: {error}") from None


def metadata_of(request: HttpRequest, provider: SamlProvider) -> bytes:
    """Our metadata, for the provider's administrators."""
    settings = OneLogin_Saml2_Settings(_settings(request, provider), sp_validation_only=True)
    text = settings.get_sp_metadata()
    return text if isinstance(text, bytes) else text.encode()


def verified(request: HttpRequest, provider: SamlProvider) -> Response:
    """Return what the response says that was sent with this request. Raises SignInRefused with the reason."""
    if not 0 < len(request.POST.get("SAMLResponse", "")) <= LONGEST:
        raise SignInRefused("There is no response, or it is too long.")
    auth = auth_for(request, provider)
    try:
        auth.process_response()
        errors = auth.get_errors()
    except Exception as error:
        # Libraries of XML and of signatures have errors of many types for what strangers may send.
        raise SignInRefused(f"The response is not valid: {type(error).__name__}.") from None
    if errors or not auth.is_authenticated():
        raise SignInRefused(f"The response is not valid: {auth.get_last_error_reason() or errors}")
    until = datetime.fromtimestamp(auth.get_last_assertion_not_on_or_after() or 0, UTC)
    return Response(_identity(provider, auth), _request_of(auth), str(auth.get_last_assertion_id()), until)


def _request_of(auth: Any) -> str:
    """Return the id of our request, which the response and the signed assertion both name."""
    tree = OneLogin_Saml2_XML.to_etree(auth.get_last_response_xml())
    named = OneLogin_Saml2_XML.query(tree, "//saml:SubjectConfirmation/saml:SubjectConfirmationData")
    ids = {one.get("InResponseTo") for one in named} | {auth.get_last_response_in_response_to()}
    if len(ids) != 1 or None in ids or not named:
        raise SignInRefused("The assertion does not answer one request of ours.")
    return str(ids.pop())


def _identity(provider: SamlProvider, auth: Any) -> Identity:
    # Some providers send long names, such as "urn:oid:0.9.2342.19200300.100.1.1", and call that "uid" beside it.
    attributes: dict[str, list[str]] = auth.get_friendlyname_attributes() | auth.get_attributes()
    name_id = str(auth.get_nameid() or "")
    if not provider.subject and auth.get_nameid_format() == Names.NAMEID_TRANSIENT:
        raise SignInRefused("The NameID changes at every sign-in. Set `subject` to an attribute.")
    now = timezone.now()
    until = now + timedelta(minutes=provider.minutes)
    expires = auth.get_session_expiration()
    return Identity(
        provider=provider.id,
        subject=_first(attributes, provider.subject) if provider.subject else name_id,
        username=_first(attributes, provider.username) or name_id,
        first_name=next(filter(None, (_first(attributes, name) for name in _NAMES["first_name"])), ""),
        last_name=next(filter(None, (_first(attributes, name) for name in _NAMES["last_name"])), ""),
        groups=frozenset(one for one in attributes.get(provider.groups, []) if one),
        second_factor=bool(set(auth.get_last_authn_contexts()) & set(provider.second_factor)),
        sid=str(auth.get_session_index() or ""),
        name_id=name_id,
        until=min(until, datetime.fromtimestamp(expires, UTC)) if expires else until,
    )


def _first(attributes: dict[str, list[str]], name: str) -> str:
    return next((one for one in attributes.get(name, []) if one), "")


def use_up_response(provider: SamlProvider, response: Response) -> None:
    """Accept each assertion once. Raises SignInRefused for the second time."""
    if not use_up("assertion", f"{provider.id} {response.assertion_id}", max(response.until, timezone.now())):
        raise SignInRefused("The assertion was used before.")


@dataclass(frozen=True)
class Logout:
    """The person and the sessions that the provider ends, and where the browser must go then."""

    name_id: str
    sids: tuple[str, ...]
    back: str


def logged_out(request: HttpRequest, provider: SamlProvider) -> Logout:
    """Return what a signed logout request of the provider ends. Raises SignInRefused."""
    auth = auth_for(request, provider, signed_messages=True)
    try:
        back = auth.process_slo(keep_local_session=True)
        errors = auth.get_errors()
        if errors or "SAMLRequest" not in request.GET:
            raise SignInRefused(f"The logout request is not valid: {auth.get_last_error_reason() or errors}")
        xml = auth.get_last_request_xml()
        name_id = OneLogin_Saml2_Logout_Request.get_nameid(xml)
        sids = tuple(OneLogin_Saml2_Logout_Request.get_session_indexes(xml))
    except SignInRefused:
        raise
    except Exception as error:
        raise SignInRefused(f"The logout request is not valid: {type(error).__name__}.") from None
    return Logout(str(name_id), sids, str(back or ""))
