"""What a start of the product needs: valid environment variables, and a private data folder of its own."""

import os
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from annotations.installation import CODE
from deidreview.run import environment, folder
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


# ── The data folder: private, locked against a second instance, and with a secret key ──


def quiet(line: str) -> None:
    """Discard a message."""


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_and_its_key_are_private(tmp_path):
    data = tmp_path / "deep" / "data"
    lock = folder.prepare(data, quiet)

    key = data / "secret_key"
    assert mode(data) == 0o700
    assert mode(key) == 0o600
    assert len(key.read_text().strip()) >= 64
    os.close(lock)


def test_a_folder_that_others_can_read_is_named_and_left_as_it_is(tmp_path):
    messages = []
    tmp_path.chmod(0o750)
    os.close(folder.prepare(tmp_path, messages.append))
    assert messages == [
        f"DEIDREVIEW_DATA: Other users of this machine can look into {tmp_path}. "
        f"To prevent this, run: chmod 700 {tmp_path}"
    ]
    assert mode(tmp_path) == 0o750


def test_of_two_keys_the_first_is_the_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: folder.ready(tmp_path, {}, quiet), range(8)))
    key = (tmp_path / "secret_key").read_text()
    folder.ready(tmp_path, {}, quiet)
    assert (tmp_path / "secret_key").read_text() == key
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_no_key_is_made_for_a_database_that_machines_share(tmp_path):
    folder.ready(tmp_path / "data", {"DATABASE_URL": "postgres://host/db"}, quiet)
    assert mode(tmp_path / "data") == 0o700
    assert not (tmp_path / "data" / "secret_key").exists()


def test_a_key_in_the_environment_is_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("DEIDREVIEW_SECRET_KEY", "k" * 50)
    os.close(folder.prepare(tmp_path, quiet))

    assert not (tmp_path / "secret_key").exists()


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("DEIDREVIEW_SECRET_KEY", raising=False)


def test_two_instances_do_not_share_a_folder(tmp_path):
    lock = folder.prepare(tmp_path, quiet)
    with pytest.raises(StartError, match=f"in use by another deidreview .process {os.getpid()}.. Stop it first"):
        folder.prepare(tmp_path, quiet)
    os.close(lock)
    os.close(folder.prepare(tmp_path, quiet))


def test_a_file_in_the_folders_place(tmp_path):
    (tmp_path / "data").write_text("not a folder")

    with pytest.raises(StartError, match=r"DEIDREVIEW_DATA: .*data is not a folder"):
        folder.prepare(tmp_path / "data", quiet)


def test_a_place_where_nobody_can_write():
    with pytest.raises(StartError, match="DEIDREVIEW_DATA: /proc/deidreview cannot be written"):
        folder.prepare(Path("/proc/deidreview"), quiet)
