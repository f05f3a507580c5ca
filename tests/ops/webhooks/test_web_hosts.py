"""Which hosts a webhook may name, and which addresses it may reach, in every form that programs understand."""

import pytest

from annotations.ops.rules import HostError, HostList, address_of, is_public, read_hosts, read_target

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
