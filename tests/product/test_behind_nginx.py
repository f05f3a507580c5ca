"""The web server behind nginx with the configuration of docs/deploy/nginx.conf, and with several processes."""

import http.client
import re
import ssl
import subprocess
import sys
import time
from contextlib import suppress
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from tests.product.nginx import configured
from tests.waiting import HANGS, wait_for
from tests.worlds import warm
from tests.worlds.product import ROOT, clean_environ, free_port, own_database
from tests.worlds.signing_in import totp

pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.nightly]
PASSWORD = "correct horse battery"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
ATTEMPTS = 5
UNNAMED_PROXY = "DEIDREVIEW_PROXIES: HTTPS is on and the number of proxies is 0"
MAKE_PEOPLE = f"""
from allauth.mfa.totp.internal.auth import TOTP
from annotations.models import User
User.objects.create_user("carla", password={PASSWORD!r})
TOTP.activate(User.objects.create_user("theo", password={PASSWORD!r}), {SECRET!r})
"""


class Browser:
    """An HTTP client with cookies and a local address, which can add headers to every request."""

    def __init__(self, port: int, address: str, *, tls: bool = True) -> None:
        self._port, self._address, self._tls = port, address, tls
        self._cookies: SimpleCookie = SimpleCookie()
        self.headers: dict[str, str] = {}

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Return status, Location header and page."""
        target = {"host": "127.0.0.1", "port": self._port, "timeout": HANGS, "source_address": (self._address, 0)}
        if self._tls:
            trusting = ssl.create_default_context()
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            line: http.client.HTTPConnection = http.client.HTTPSConnection(context=trusting, **target)
        else:
            line = http.client.HTTPConnection(**target)
        headers = {
            "Cookie": "; ".join(f"{name}={one.value}" for name, one in self._cookies.items()),
            "Content-Type": "application/x-www-form-urlencoded", "Referer": f"https://127.0.0.1{path}", **self.headers,
        }  # fmt: skip
        line.request(method, path, urlencode(form) if form else None, headers)
        answer = line.getresponse()
        page = answer.read().decode()
        for value in answer.headers.get_all("Set-Cookie") or []:
            self._cookies.load(value)
        line.close()
        return answer.status, answer.headers.get("Location", ""), page

    def submit(self, path: str, **form: str) -> tuple[int, str]:
        """Fill in the form of a page. Return status and Location header."""
        status, _, page = self.ask("GET", path)
        assert status == 200, (status, page)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        return self.ask("POST", path, {**form, "csrfmiddlewaretoken": token[1]})[:2]

    def sign_in(self, name: str, password: str = PASSWORD) -> tuple[int, str]:
        return self.submit("/accounts/login/", login=name, password=password)


class Running:
    """A process that the test starts and ends."""

    def __init__(self, command, **options) -> None:
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
        )

    def wait_for_port(self, port: int) -> None:
        def answers():
            assert self.process.poll() is None, self.process.stderr.read()
            with suppress(OSError, http.client.HTTPException):
                line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
                line.request("GET", "/healthz")
                return line.getresponse().read()
            return False

        wait_for(answers, 60, "the server")

    def end(self) -> str:
        self.process.terminate()
        return self.process.communicate(timeout=HANGS)[1].decode()


@pytest.fixture(scope="module")
def environ(prepared, tmp_path_factory):
    """The environment of one installation for all tests of this file, with a database and two users."""
    folder = tmp_path_factory.mktemp("behind-nginx") / "data"
    prepared(folder)
    with own_database() as database:
        environ = clean_environ(folder) | database | {"DEIDREVIEW_SECRET_KEY": "a1b2c3d4e5" * 6}
        for words in (["prepare"], ["shell", "-c", MAKE_PEOPLE]):
            done = warm.run(words, environ)
            assert done.returncode == 0, done.stderr
        yield environ


@pytest.fixture
def web_server(environ):
    """`web_server(NAME=value)`: start a web server with these variables. Return its port and its process."""
    started = []

    def one(**changes: str) -> tuple[int, Running]:
        port = free_port()
        command = [sys.executable, "-m", "gunicorn", "-c", "python:deidreview.gunicorn", "deidreview.wsgi"]
        server = Running(command, env={**environ, "DEIDREVIEW_WEB_PROCESSES": "1", **changes, "PORT": str(port)})
        started.append(server)
        server.wait_for_port(port)
        return port, server

    yield one
    for server in started:
        if server.process.poll() is None:
            server.end()


def documented_block(port: int) -> str:
    """Return the location block of docs/deploy/nginx.conf, with the port of the test's server."""
    text = (ROOT / "docs" / "deploy" / "nginx.conf").read_text()
    blocks = re.findall(r"^    location / \{\n(?:     .*\n)*    \}\n", text, re.MULTILINE)
    assert len(blocks) == 1 and blocks[0].count("${DEIDREVIEW_WEB};") == 1
    return blocks[0].replace("${DEIDREVIEW_WEB}", f"http://127.0.0.1:{port}")


@pytest.fixture
def nginx(tmp_path):
    """`nginx(port)`: start nginx with TLS in front of that port, and return its own port. It needs no root."""
    started = []

    def one(behind: int) -> int:
        port = free_port()
        certificate = f"ssl_certificate {tmp_path}/certificate.pem; ssl_certificate_key {tmp_path}/key.pem;"
        block = f"server {{ listen 127.0.0.1:{port} ssl;\n{certificate}\n{documented_block(behind)}}}"
        server = Running(configured(tmp_path, block))
        started.append(server)
        server.wait_for_port(port)
        return port

    yield one
    for server in started:
        server.end()


FORGERIES = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP", "X_Forwarded_For"]


def test_forged_addresses_neither_escape_the_lock_nor_lock_anybody_else_out(web_server, nginx):
    behind, server = web_server(DEIDREVIEW_HTTPS="1", DEIDREVIEW_PROXIES="1")
    port = nginx(behind)
    attacker, owner = Browser(port, "127.0.0.2"), Browser(port, "127.0.0.3")

    statuses = []
    for number in range(ATTEMPTS + 1):
        attacker.headers = dict.fromkeys(FORGERIES, f"10.9.8.{number}")
        statuses.append(attacker.sign_in("carla", "wrong")[0])
    assert statuses == [200] * (ATTEMPTS - 1) + [429] * 2
    attacker.headers = {"X-Forwarded-For": "127.0.0.3"}
    assert attacker.sign_in("Carla")[0] == 429

    assert owner.sign_in("carla") == (302, "/")
    # The lock is on the attacker's real address, not on the forged one.
    for _ in range(ATTEMPTS):
        attacker.headers = {"X-Forwarded-For": "127.0.0.4"}
        attacker.sign_in("theo", "wrong")
    assert Browser(port, "127.0.0.4").sign_in("theo")[0] == 302
    assert UNNAMED_PROXY not in server.end()


def test_https_with_no_proxy_named_is_warned_of_at_the_start(web_server):
    _, server = web_server(DEIDREVIEW_HTTPS="1", DEIDREVIEW_PROXIES="0")
    assert UNNAMED_PROXY in server.end()


def test_a_code_is_accepted_once_by_all_web_processes_together(web_server):
    """Two web processes share no memory, so the used codes must be stored elsewhere."""
    ports = [web_server()[0] for _ in range(2)]
    browsers = [Browser(port, "127.0.0.5", tls=False) for port in ports]
    for browser in browsers:
        assert browser.sign_in("theo")[1].startswith("/accounts/2fa/authenticate/")
    code = totp(SECRET, time.time())  # accepted for at least 30 s
    assert [browser.submit("/accounts/2fa/authenticate/", code=code)[0] for browser in browsers] == [302, 200]
