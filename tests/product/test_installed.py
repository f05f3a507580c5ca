"""deidreview from a wheel, in a folder outside the checkout: its program, its data folder, its pages, completion."""

import json
import re

import pytest

from tests.worlds.installed import Served

pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.nightly]


def test_the_wheel_has_everything_that_the_app_reads(installed):
    shipped = next((installed.folder / "venv").rglob("deidreview/shipped"))
    for name in (
        "templates/base.html", "static/css/tokens.css", "fixtures/label_sets/meddocan.json", "fixtures/demo",
        "docs/guide/README.md", "docs/glossary.md",
    ):  # fmt: skip
        assert (shipped / name).exists(), name
    assert list(shipped.parent.parent.glob("annotations/migrations/0001*.py"))
    assert not (shipped / "fixtures" / "bench").exists()


def test_a_first_command_and_the_pages_with_their_files(installed, tmp_path):
    """Without DEIDREVIEW_DATA, data go to the person's own folder."""
    environ = installed.environ(tmp_path / "data", XDG_DATA_HOME=str(tmp_path / "share"))
    del environ["DEIDREVIEW_DATA"]
    done = installed.run("deidreview", "create_project", "Ward", "--labels", "meddocan", "--json", environ=environ)
    assert json.loads(done.stdout)["project"] == "ward", done.stderr
    data = tmp_path / "share" / "deidreview"
    assert done.stderr == (f"deidreview: Prepared the new data folder {data}: a secret key and an empty database.\n")

    app = Served(["deidreview", "run", "--json"], environ, installed.folder)
    try:
        port = int(environ["PORT"])
        status, page = app.get(port, "/accounts/login/")
        assert status == 200
        for path in re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js|svg))"', page)[:4]:
            assert app.get(port, path)[0] == 200, path
        assert app.get(port, "/healthz")[0] == 200
    finally:
        output = app.end()
    assert app.process.returncode == 0, output
    objects = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert objects == [{"address": f"http://127.0.0.1:{port}/", "data": str(data)}]


def test_a_command_in_bash_is_completed(installed, tmp_path):
    environ = installed.environ(tmp_path / "data")
    script = """
source <(deidreview completion bash)
complete -p deidreview
COMP_WORDS=(deidreview create_pr) COMP_CWORD=1; _deidreview deidreview; echo "${COMPREPLY[@]}"
COMP_WORDS=(deidreview jobs --ca) COMP_CWORD=2; _deidreview deidreview; echo "${COMPREPLY[@]}"
"""
    done = installed.run("bash", "-c", script, environ=environ)
    assert done.stdout.splitlines() == [
        "complete -o default -F _deidreview deidreview", "create_project", "--cancel"
    ]  # fmt: skip


@pytest.mark.parametrize("words", [("run", "--port"), ("create_project",)])
def test_wrong_options_are_refused(installed, tmp_path, words):
    done = installed.run("deidreview", *words, environ=installed.environ(tmp_path / "data"))
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_the_program_is_named_as_people_call_it(installed, tmp_path):
    environ = installed.environ(tmp_path / "data", DATABASE_URL=f"sqlite:///{tmp_path}/other.sqlite3")
    environ["DEIDREVIEW_SECRET_KEY"] = "k" * 50
    done = installed.run("deidreview", "create_project", "Ward", "--labels", "meddocan", environ=environ)
    assert done.returncode == 1 and "Run: deidreview prepare" in done.stderr
