"""The file that describes providers: what it may say, and one line for each mistake."""

import pytest

from annotations.projects.rules import LdapDirectory, OidcProvider, SamlProvider, read

OIDC = '[[provider]]\nid = "a"\nkind = "oidc"\nname = "A"\nissuer = "https://x"\nclient_id = "c"\nclient_secret = "s"\n'
LDAP = '[[provider]]\nid = "l"\nkind = "ldap"\nname = "L"\nurl = "ldaps://x"\npeople = "ou=p"\n'
SSO = '<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://x/"/>'
CERTIFICATE = '<X509Certificate xmlns="http://www.w3.org/2000/09/xmldsig#">MII</X509Certificate>'
METADATA = (
    '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"><IDPSSODescriptor>'
    f"{CERTIFICATE}{SSO}</IDPSSODescriptor></EntityDescriptor>"
)


def saml(metadata):
    return f'[[provider]]\nid = "s"\nkind = "saml"\nname = "S"\nmetadata = "{metadata}"\n'


@pytest.fixture
def metadata(tmp_path):
    path = tmp_path / "idp.xml"
    path.write_text(METADATA)
    return path


@pytest.fixture
def reading(tmp_path):
    def run(text: str):
        path = tmp_path / "sign-in.toml"
        path.write_text(text)
        return read(str(path))

    return run


def test_each_kind_is_read(reading, metadata):
    found = reading(f'{OIDC}second_factor = ["mfa"]\n{saml(metadata)}minutes = 5\n{LDAP}start_tls = true\n')
    assert [type(one) for one in found] == [OidcProvider, SamlProvider, LdapDirectory]
    assert found[0].second_factor == ("mfa",) and found[1].minutes == 5
    # Secrets are in no text of a provider.
    found = reading(OIDC.replace('"s"', '"top secret"') + LDAP + 'bind_password = "top secret"\n')
    assert "top secret" not in repr(found)
    with pytest.raises(ValueError, match="/no/file can't be read: No such file"):
        read("/no/file")


def test_a_provider_may_push_accounts(reading, metadata):
    scim = f'scim_token_hashes = ["{"0" * 64}"]\nscim_groups = true\n'
    oidc, by_saml = reading(OIDC + saml(metadata) + scim)
    assert not oidc.provisions and by_saml.provisions and by_saml.scim_subject == "externalId"
    with pytest.raises(ValueError, match="scim_groups"):
        reading(saml(metadata) + scim + 'groups = "groups"\n')


MISTAKES = [
    ("", r"\[\[provider\]\]"), ("x", "is not TOML"), ("x = 1\n" + OIDC, "“x”"),
    (OIDC + "colour = 1\n", "“a”: “colour”"), (OIDC.replace("oidc", "oauth"), "oidc, saml, ldap"),
    (OIDC.replace('"a"', '"A b"'), "id"), (OIDC.replace('client_id = "c"\n', ""), "client_id"),
    (OIDC.replace('"c"', '""'), "client_id"), (OIDC.replace('"c"', "1"), "client_id"),
    (OIDC.replace("https", "http"), "issuer .*https"), (OIDC + 'scopes = ["profile"]\n', "scopes .*openid"),
    (OIDC + 'scopes = "openid"\n', "scopes"), (OIDC + 'scim_token_hashes = ["a secret"]\n', "scim_token_hashes"),
    (OIDC + 'scim_subject = "id"\n', "scim_subject .*externalId, userName"),
    (OIDC + "scim_groups = true\n", "scim_groups .*scim_token_hashes"),
    (LDAP + 'scim_subject = "userName"\n', "“scim_subject”"), (OIDC + OIDC, "“a”"), (saml("/no"), "/no"),
    (LDAP.replace("ldaps", "ldap"), "Passwords would be readable"), (LDAP.replace("ldaps://x", "x"), "url .*ldaps"),
    (LDAP + 'filter = "(uid=ada)"\n', "{name}"), (LDAP + 'ca_file = "/no"\n', "/no"),
    (LDAP + 'second_factor = ["x"]\n', "LDAP"), (LDAP + 'start_tls = "yes"\n', "start_tls"),
    (LDAP + LDAP.replace('"l"', '"m"'), "Only one provider"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), MISTAKES)
def test_a_mistake_is_one_line_that_says_where(reading, text, reason):
    with pytest.raises(ValueError, match=reason) as found:
        reading(text)
    assert "\n" not in str(found.value) and "sign-in.toml" in str(found.value)


INVALID_METADATA = [
    ("<!doctype html><p>Sign in", "is not XML"),
    ("<x/>", "describes no SAML 2.0 provider"),
    (METADATA.replace("IDPSSO", "SPSSO"), "describes no SAML 2.0 provider"),
    (METADATA.replace(CERTIFICATE, ""), "holds no certificate"),
    (METADATA.replace("Redirect", "POST"), "names no address for sign-in by HTTP-Redirect"),
    ('<!DOCTYPE x [<!ENTITY e "e">]>' + METADATA, "is not XML"),
]


@pytest.mark.parametrize(("text", "reason"), INVALID_METADATA)
def test_metadata_that_can_not_be_used_are_a_mistake(reading, tmp_path, text, reason):
    path = tmp_path / "idp.xml"
    path.write_text(text)
    with pytest.raises(ValueError, match=reason) as found:
        reading(saml(path))
    assert "provider “s”" in str(found.value) and "idp.xml" in str(found.value) and "\n" not in str(found.value)
