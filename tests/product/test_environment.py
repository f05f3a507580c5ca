"""The environment variables of the run command: each invalid value gives one line that names the variable."""

import socket

import pytest

from annotations.installation import CODE
from deidreview.run import environment
from deidreview.run.environment import StartError

pytestmark = pytest.mark.product


def test_defaults():
    options = environment.read({})

    assert (options.host, options.port, options.demo, options.redis_url) == ("127.0.0.1", 8000, True, None)
    assert options.data == CODE / "var"
    assert options.address == "http://127.0.0.1:8000/"


@pytest.mark.parametrize(("word", "demo"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("no", False)])
def test_the_demo_switch(word, demo):
    assert environment.read({"DEIDREVIEW_DEMO": word}).demo is demo


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"DEIDREVIEW_DEMO": "maybe"}, r"DEIDREVIEW_DEMO: “maybe” is not valid\. Set it to 1 or 0\."),
        ({"HOST": "no such host"}, "HOST: “no such host” is not an address"),
    ],
)
def test_an_invalid_value_is_named(given, told):
    with pytest.raises(StartError, match=told):
        environment.read(given)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_the_demo_stays_on_this_machine(host):
    with pytest.raises(StartError, match="demo's passwords are public"):
        environment.read({"HOST": host})
    assert environment.read({"HOST": host, "DEIDREVIEW_DEMO": "0"}).host == host


def test_another_machines_address_is_named():
    with pytest.raises(StartError, match=r"HOST: “192\.0\.2\.1” is not an address of this machine"):
        environment.listen("192.0.2.1", 8000)


def test_a_port_in_use_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(StartError, match=f"PORT: Port {port} on 127.0.0.1 is in use .* Try PORT={port + 1}"):
            environment.listen("127.0.0.1", port)


def test_the_address_is_one_that_a_browser_here_can_open():
    assert environment.read({"HOST": "0.0.0.0", "DEIDREVIEW_DEMO": "0"}).address == "http://127.0.0.1:8000/"
    assert environment.read({"HOST": "::1", "PORT": "81"}).address == "http://[::1]:81/"
