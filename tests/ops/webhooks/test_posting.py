"""Which hosts a webhook may name and reach; requests over real connections: limits, redirects, TLS, odd answers."""

import socket
import time

import pytest
from django.conf import settings as django_settings

from annotations.ops.rules import HostError, HostList, address_of, is_public, read_hosts, read_target
from annotations.ops.services.webhooks.sending import NotSent, WebhookRequest, post
from tests.waiting import crowding


def posting(url):
    return WebhookRequest(url, b'{"a":1}', {"webhook-id": "1"})


def code_of(url, hosts=None, **options):
    with pytest.raises(NotSent) as error:
        post(posting(url), django_settings.WEBHOOK_HOSTS if hosts is None else hosts, **options)
    return error.value.code


def answers(*addresses):
    """A resolver with one answer for each call; the last one is repeated."""
    given = list(addresses)

    def resolve(host, port, **_):
        found = given.pop(0) if len(given) > 1 else given[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port))]

    resolve.left = given
    return resolve


def test_a_request_arrives_with_its_headers(receiver):
    assert post(posting(receiver.url("/a?b=c")), django_settings.WEBHOOK_HOSTS) == 204
    (got,) = receiver.received
    assert (got.path, got.body, got.headers["webhook-id"]) == ("/a?b=c", b'{"a":1}', "1")
    assert (got.headers["host"], got.headers["content-type"]) == (f"127.0.0.1:{receiver.port}", "application/json")


def test_only_listed_hosts_and_addresses_are_asked(receiver):
    for listed in (["hooks.example.org"], []):
        assert code_of(receiver.url(), read_hosts(listed)) == "host"
    for host in ("localhost", "hooks.test"):  # a listed name with a private address
        hosts = read_hosts([f"{host}:{receiver.port}"])
        assert code_of(receiver.url(host=host), hosts, resolve=answers("127.0.0.1")) == "address"
    assert not receiver.received
    hosts = read_hosts([f"hooks.test:{receiver.port}", "127.0.0.1/32"])
    assert post(posting(receiver.url(host="hooks.test")), hosts, resolve=answers("127.0.0.1")) == 204
    assert receiver.received[0].headers["host"] == f"hooks.test:{receiver.port}"

    def both(host, port, **_):
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in ("169.254.169.254", "127.0.0.1")]

    assert post(posting(receiver.url(host="hooks.test")), hosts, resolve=both) == 204


def test_an_answer_that_changes_changes_nothing(receiver):
    """Rebinding: the address that was checked is the address that is used, since the name is resolved once."""
    hosts = read_hosts([f"hooks.test:{receiver.port}"])
    resolve = answers("93.184.216.34", "127.0.0.1")
    began = time.monotonic()
    assert code_of(receiver.url(host="hooks.test"), hosts, resolve=resolve, seconds=0.3) in ("time", "connection")
    assert time.monotonic() - began < 5 * crowding()
    assert resolve.left == ["127.0.0.1"], "resolved once"
    assert not receiver.received


def test_unknown_names_and_closed_ports():
    def nothing(*_, **__):
        raise socket.gaierror

    assert code_of("https://hooks.test/", read_hosts(["hooks.test"]), resolve=nothing) == "name"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert code_of(f"http://127.0.0.1:{port}/", read_hosts([f"127.0.0.1:{port}"])) == "connection"


def test_the_status_is_returned_and_redirects_are_not_followed(receiver):
    receiver.statuses, receiver.location = [200, 302, 404, 503], receiver.url("/other")
    for status in tuple(receiver.statuses):
        assert post(posting(receiver.url()), django_settings.WEBHOOK_HOSTS) == status
    assert [each.path for each in receiver.received] == ["/hook"] * 4


def test_interim_responses_are_skipped(receiver):
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 C\r\n\r\n"
    receiver.raw = lambda handler: handler.wfile.write(answer)
    assert post(posting(receiver.url()), django_settings.WEBHOOK_HOSTS) == 201


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", b"", b"HTTP/1.1 999 x\r\n", b"x" * 40_000])
def test_an_answer_that_is_no_http(receiver, answer):
    receiver.raw = lambda handler: handler.wfile.write(answer)
    assert code_of(receiver.url()) in ("answer", "connection")


def test_a_slow_server_is_left_at_the_limit(receiver):
    def drip(handler):
        for letter in b"HTTP/1.1 200 OK":
            handler.wfile.write(bytes([letter]))
            time.sleep(0.05)

    receiver.raw = drip
    began = time.monotonic()
    assert code_of(receiver.url(), seconds=0.3) == "time" and time.monotonic() - began < 5 * crowding()


def test_tls_is_checked_against_the_name(tls_receiver):
    resolve = answers("127.0.0.1")
    assert post(posting(tls_receiver.url(host="hooks.test")), django_settings.WEBHOOK_HOSTS, resolve=resolve) == 204
    assert code_of(tls_receiver.url(host="other.test"), resolve=resolve) == "tls"
    assert len(tls_receiver.received) == 1


# ── Which hosts a webhook may name, and which addresses it may reach, in every form that programs understand ──


PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
NOT_PUBLIC = [
    "127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.0.1", "192.168.1.1",
    # Metadata; that of Azure, in public space; that of Alibaba, in shared space
    "169.254.169.254", "168.63.129.16", "100.100.100.200",
    "0.0.0.0", "255.255.255.255", "224.0.0.1", "192.88.99.1", "198.18.0.1", "192.0.2.1",
    "::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "fc00::1",
    "fd00:ec2::254",  # metadata of Amazon
    "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address):
    assert is_public(address_of(address))
    assert read_hosts(["*"]).may_reach(address)


@pytest.mark.parametrize("address", [*NOT_PUBLIC, "hooks.example.org"])
def test_other_addresses_are_not_reached(address):
    assert not read_hosts(["*", "hooks.example.org"]).may_reach(address)


@pytest.mark.parametrize("form", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203"])
def test_a_listed_network_is_reached_in_each_form(form):
    assert read_hosts(["10.1.0.0/16"]).may_reach(form)
    assert not read_hosts(["10.2.0.0/16"]).may_reach(form)


LISTED = [
    ("hooks.example.org", "hooks.example.org", 443), ("Hooks.Example.org", "hooks.example.org", 80),
    ("ci.lan:8443", "ci.lan", 8443), ("*.example.org", "a.b.example.org", 443), ("*", "anything.example", 443),
    ("10.0.0.0/8", "10.1.2.3", 443), ("10.1.2.3:8080", "10.1.2.3", 8080), ("[fd00::1]:8080", "fd00::1", 8080),
    ("fd00::1", "fd00::1", 443),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "host", "port"), LISTED)
def test_listed(listed, host, port):
    assert read_hosts([listed]).lists(host, port)


NOT_LISTED = [
    ("hooks.example.org", "other.example.org", 443), ("hooks.example.org", "hooks.example.org.evil.net", 443),
    ("hooks.example.org", "hooks.example.org", 22), ("ci.lan:8443", "ci.lan", 443),
    ("*.example.org", "example.org", 443), ("*.example.org", "badexample.org", 443), ("10.0.0.0/8", "10.1.2.3", 6379),
    ("10.0.0.0/8", "11.1.2.3", 443),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "host", "port"), NOT_LISTED)
def test_not_listed(listed, host, port):
    assert not read_hosts([listed]).lists(host, port)
    assert not HostList().lists(host, port)


@pytest.mark.parametrize("word", ["https://a.org", "a b", "-a.org", "10.1.2.3/8", "a:0", "a:99999", "", "*x"])
def test_the_list_says_what_is_wrong(word):
    with pytest.raises(ValueError, match="is not a host"):
        read_hosts([word])


TARGETS = [
    ("https://Hooks.Example.org./a?b=c", "hooks.example.org", 443, "/a?b=c", "hooks.example.org"),
    ("http://ci.lan:8080", "ci.lan", 8080, "/", "ci.lan:8080"),
    ("https://[::1]/x", "::1", 443, "/x", "[::1]"),
    ("https://[::ffff:10.0.0.1]:444/", "10.0.0.1", 444, "/", "10.0.0.1:444"),
    ("https://[64:ff9b::a00:1]/", "10.0.0.1", 443, "/", "10.0.0.1"),
]


@pytest.mark.parametrize(("url", "host", "port", "path", "authority"), TARGETS)
def test_targets(url, host, port, path, authority):
    target = read_target(url)
    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)


URLS = [
    "", "hooks.example.org", "ftp://hooks.example.org/", "file:///etc/passwd", "https://",
    "https://user:word@hooks.example.org/", "https://hooks.example.org@evil.net/", "https://hooks.example.org/#x",
    "https://hooks.example.org/a b", "https://hooks.example.org/\r\nX: y", "https://hooks.example.org:99999/",
    "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/",
    "https://１２７.0.0.1/", "https://exámple.org/", "https://[::1/", "https://a..b/",
]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_other_urls_are_refused(url):
    with pytest.raises(HostError):
        read_target(url)
