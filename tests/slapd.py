"""A private slapd for tests, on a loopback port, in a temporary folder that is deleted afterwards."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from deidreview.run.environment import StartError
from tests.waiting import MOMENT, wait_for

BASE, ADMIN, PASSWORD = "dc=hospital,dc=example", "cn=admin,dc=hospital,dc=example", "admin's password"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
SCHEMAS = Path("/etc/ldap/schema")


@dataclass(frozen=True)
class Slapd:
    """`url` is without TLS, `secure_url` with the certificate in the file `certificate`."""

    url: str
    secure_url: str
    certificate: Path

    def apply(self, ldif: str) -> None:
        """Change the directory by LDIF, as its administrator does."""
        _run("ldapmodify", "-x", "-H", self.url, "-D", ADMIN, "-w", PASSWORD, given=ldif)

    def add_person(self, uid: str, password: str = "their password") -> str:
        dn = f"uid={uid},{PEOPLE}"
        self.apply(
            f"dn: {dn}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid.title()} Rossi\nsn: Rossi\n"
            f"givenName: {uid.title()}\nuserPassword: {password}\n"
        )
        return dn

    def delete(self, dn: str) -> None:
        self.apply(f"dn: {dn}\nchangetype: delete\n")


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin")
    if not found:
        raise StartError(f"{name} is missing. Run `make setup-dev`, or on Debian: apt-get install slapd ldap-utils")
    return found


def _run(name: str, *words: object, given: str = "") -> None:
    done = subprocess.run([_program(name), *map(str, words)], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StartError(f"{name} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


CONFIG = """
dn: cn=config
objectClass: olcGlobal
cn: config
olcPidFile: {folder}/pid
olcTLSCertificateFile: {folder}/certificate.pem
olcTLSCertificateKeyFile: {folder}/key.pem

dn: cn=module,cn=config
objectClass: olcModuleList
cn: module
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb
olcModuleLoad: memberof

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file://{schemas}/core.ldif
include: file://{schemas}/cosine.ldif
include: file://{schemas}/inetorgperson.ldif

dn: olcDatabase=mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: mdb
olcSuffix: {base}
olcRootDN: {admin}
olcRootPW: {password}
olcDbDirectory: {folder}/data
olcDbIndex: uid eq
olcDbNoSync: TRUE
olcDbMaxSize: 10485760
olcAccess: to attrs=userPassword by anonymous auth by * none
olcAccess: to * by * read

dn: olcOverlay=memberof,olcDatabase={{1}}mdb,cn=config
objectClass: olcOverlayConfig
objectClass: olcMemberOf
olcOverlay: memberof
"""
TREE = f"""
dn: {BASE}
changetype: add
objectClass: dcObject
objectClass: organization
o: Hospital
dc: hospital

dn: {PEOPLE}
changetype: add
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
changetype: add
objectClass: organizationalUnit
ou: groups
"""


@contextlib.contextmanager
def private_slapd() -> Iterator[Slapd]:
    """Run a directory during the block. It belongs to the current user and needs no rights of root."""
    folder = Path(tempfile.mkdtemp(prefix="deidreview-slapd-", dir="/tmp"))
    try:
        (folder / "data").mkdir()
        (folder / "config").mkdir()
        text = CONFIG.format(folder=folder, schemas=SCHEMAS, base=BASE, admin=ADMIN, password=PASSWORD)
        (folder / "config.ldif").write_text(text.lstrip())
        _run("slapadd", "-n", "0", "-F", folder / "config", "-l", folder / "config.ldif")
        _write_certificate(folder)
        url, secure_url = f"ldap://127.0.0.1:{_free_port()}", f"ldaps://127.0.0.1:{_free_port()}"
        # -d keeps slapd in the foreground.
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [_program("slapd"), "-F", str(folder / "config"), "-h", f"{url} {secure_url}", "-d", "0"],
                stdout=log,
                stderr=log,
            )
        try:
            wait_for(lambda: _answers(url, server, folder / "log"), what="slapd answers")
            slapd = Slapd(url, secure_url, folder / "certificate.pem")
            slapd.apply(TREE.lstrip())
            yield slapd
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_certificate(folder: Path) -> None:
    """Write a key and a certificate of 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "slapd")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(pem)


def _answers(url: str, server: "subprocess.Popen[bytes]", log: Path) -> bool:
    if server.poll() is not None:
        raise StartError(f"slapd ended: {log.read_text(errors='replace').strip().splitlines()[-1:]}")
    host, port = url.removeprefix("ldap://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=MOMENT):
        return True
    return False
