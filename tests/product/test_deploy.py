"""The files for larger installations: each is parsed, and each command line in them is run on the installed wheel."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.product.nginx import configured
from tests.waiting import HANGS, wait_for
from tests.worlds.installed import Served
from tests.worlds.product import ROOT, free_port

pytestmark = [pytest.mark.product, pytest.mark.processes]
DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
HOST = "deidreview.example.org"


def variables(file: Path) -> dict[str, str]:
    """Read a file of variables."""
    rows = [line.partition("=") for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in rows}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its arguments on one line."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def composed() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def own_services() -> dict:
    return {name: one for name, one in composed()["services"].items() if one["image"] == "deidreview"}


def command_of(name: str) -> list[str]:
    """The command of a service, or of the image."""
    [default] = [rest for word, rest in instructions() if word == "CMD"]
    return own_services()[name].get("command") or yaml.safe_load(default)


@pytest.fixture(scope="module")
def environ(installed):
    """The environment of one installation for all tests of this file, with HTTPS behind one proxy."""
    data = installed.folder / "data"
    environ = installed.environ(
        data, DEIDREVIEW_SECRET_KEY="k" * 64, DEIDREVIEW_HOSTS=HOST, DEIDREVIEW_ORIGINS=f"https://{HOST}",
        DEIDREVIEW_HTTPS="1", DEIDREVIEW_PROXIES="1", DEIDREVIEW_LOG_FORMAT="json", DEIDREVIEW_WEB_PROCESSES="2",
    )  # fmt: skip
    done = installed.run(*command_of("prepare"), environ=environ)
    assert done.returncode == 0, done.stderr
    return environ


@pytest.fixture
def serve(installed, environ):
    """`serve(words, NAME=value)`: start a process. Return it, and its port."""
    started = []

    def one(words, **changes):
        port = free_port()
        started.append(Served(words, {**environ, "PORT": str(port), **changes}, installed.folder))
        return started[-1], port

    yield one
    for process in started:
        process.end()


def test_the_image_is_built_from_what_it_may_read_and_runs_as_a_user():
    found = instructions()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for word, rest in found:
        if word == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert source in allowed and (ROOT / source).exists(), source
    assert [word for word, _ in found].count("FROM") == 2
    words = [word for word, _ in found]
    assert ("USER", "deidreview") in found and words.index("USER") < words.index("CMD")


def test_compose_names_what_it_has_and_what_must_be_set():
    services = composed()["services"]
    known = variables(DEPLOY / "env.example")
    assert set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text())) <= set(known)
    assert {"postgres", "redis", "web", "worker", "relay", "nginx"} <= set(services)
    for one in services.values():
        assert set(one.get("depends_on", ())) <= set(services)
        for condition in one.get("depends_on", {}).values():
            assert condition["condition"] in {"service_healthy", "service_completed_successfully"}
        for volume in one.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in composed()["volumes"] or source.startswith("${") or (ROOT / source).exists(), source
    assert "ports" not in services["web"], "only nginx reaches the web server"


@pytest.fixture
def proxied(serve, tmp_path):
    """`proxied(address, words)`: start nginx with TLS and docs/deploy/nginx.conf. Return its port."""
    started = []

    def one(web: str) -> int:
        port = free_port()
        # As envsubst does it: only these two variables, since nginx has its own.
        text = (DEPLOY / "nginx.conf").read_text()
        for name, value in (("DEIDREVIEW_WEB", web), ("DEIDREVIEW_CERTIFICATES", str(tmp_path))):
            text = text.replace(f"${{{name}}}", value)
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        words = configured(tmp_path, text, HOST)
        tested = subprocess.run([*words, "-t"], capture_output=True, text=True, timeout=HANGS, check=False)
        assert tested.returncode == 0, tested.stderr
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(words, **quiet))
        return port

    yield one
    for process in started:
        process.terminate()
        process.wait(HANGS)


def ask(port: int, path: str) -> tuple[str, str]:
    """Ask nginx as a browser does. Return status and response with its headers."""
    words = ["curl", "--silent", "--include", "--insecure", "--max-time", "30"]
    found = subprocess.run(
        [*words, "--resolve", f"{HOST}:{port}:127.0.0.1", f"https://{HOST}:{port}{path}"],
        capture_output=True, text=True, timeout=HANGS, check=False,
    ).stdout  # fmt: skip
    return [*found.split(), "", ""][1], found


@pytest.mark.nightly
def test_the_web_server_of_compose_is_healthy_alone_and_behind_nginx(serve, installed, environ, proxied, tmp_path):
    socket = tmp_path / "web.sock"
    port = free_port()
    server, _ = serve([*command_of("web"), "--bind", f"127.0.0.1:{port}", "--bind", f"unix:{socket}"])
    assert server.get(port, "/healthz", Host=HOST) == (200, '{"status": "ok"}')
    words = own_services()["web"]["healthcheck"]["test"]
    assert words[0] == "CMD"
    check = [word.replace(":8000", f":{port}") for word in words[1:]]
    assert installed.run(*check, environ=environ).returncode == 0

    # Two processes answer, and each of them knows the requests of both.
    for _ in range(20):
        server.get(port, "/accounts/login/", **{"Host": HOST, "X-Forwarded-Proto": "https"})
    counted = 'deidreview_requests_total{method="GET",status="200",view="account_login"} 20.0'
    for _ in range(4):
        assert counted in server.get(port, "/metrics", Host=HOST)[1]
    assert server.get(port, "/metrics", **{"Host": HOST, "X-Forwarded-For": "192.0.2.7"})[0] == 403

    outside = proxied(f"http://unix:{socket}:")
    page = wait_for(lambda: (found := ask(outside, "/accounts/login/"))[0] == "200" and found[1], 60, "nginx")
    assert "Strict-Transport-Security" in page and re.search(r"X-Request-ID: [0-9a-f]{32}\b", page)
    assert ask(outside, "/metrics")[0] == "404"
    assert ask(outside, re.search(r'/static/css/[^"]+', page)[0])[0] == "200"
    output = server.end()
    assert all(json.loads(line)["level"] for line in output.splitlines()), output
    assert installed.run(*check, environ=environ).returncode != 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["worker", "relay"])
def test_worker_and_relay_of_compose_run_until_they_are_ended(serve, name):
    process, _ = serve(command_of(name))
    process.wait_until_it_heeds_sigterm()
    process.end()
    assert process.process.returncode == 0


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_of_systemd_run_the_commands_of_compose(unit, tmp_path):
    text = unit.read_text()
    [line] = re.findall(r"^ExecStart=/opt/deidreview/bin/(.*)$", text, re.MULTILINE)
    [file] = re.findall(r"^EnvironmentFile=(.*)$", text, re.MULTILINE)
    assert file == "/etc/deidreview.env"
    assert shlex.split(line) == command_of(unit.stem.removeprefix("deidreview-").removesuffix("@"))

    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed; the command was compared")
    folder, programs = tmp_path / "units", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    for name in ("deidreview", "gunicorn"):
        (programs / name).touch(mode=0o755)
    for each in UNITS:
        copied = each.read_text().replace("/opt/deidreview/bin", str(programs)).replace("User=deidreview\n", "")
        (folder / each.name).write_text(copied)
    name = folder / unit.name.replace("@", "@1")
    if name.name != unit.name:
        (folder / unit.name).rename(name)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", str(name)], capture_output=True, text=True,
        timeout=HANGS, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_the_variables_of_systemd_are_those_of_the_app():
    known = variables(DEPLOY / "systemd" / "deidreview.env.example")
    text = (ROOT / "deidreview" / "settings.py").read_text() + (ROOT / "annotations/installation.py").read_text()
    assert all(f'"{name}"' in text for name in known)
