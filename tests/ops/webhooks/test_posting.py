"""Requests over real connections: which addresses are reached, limits, redirects, TLS, answers that are no HTTP."""

import socket
import time

import pytest
from django.conf import settings as django_settings

from annotations.ops.rules import read_hosts
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
