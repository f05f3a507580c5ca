"""`.ci/size.py`: the project's size can't grow unnoticed."""

import json
import subprocess
import sys

import pytest

from annotations.domain.installation import CODE

SOURCE = '''"""A module's docstring."""

import os  # a comment after code


class Thing:
    """A docstring
    of two lines."""

    # A comment.
    text = """A string
# with a line that looks like a comment

"""

    def name(self):
        # A comment before the docstring.
        "A docstring in single quotes, with a # and a \\" in it."
        return "#" + os.sep
'''
CODE_LINES = 8


@pytest.fixture
def size(tmp_path):
    """A small project; `size(*words)` runs the script on it."""
    for name, content in {
        ".gitignore": "ignored.py\n",
        "annotations/thing.py": SOURCE,
        "annotations/ignored.py": SOURCE,
        "annotations/words.txt": "a\nb\n",
        "tests/test_thing.py": SOURCE,
        "fixtures/thing.py": SOURCE,
        "fixtures/label_sets/some.json": "{}\n",
        "static/js/page.js": "one();\ntwo();\n",
        "static/vendor/library.js": "three();\n",
        "templates/page.html": f"<p>\n{'x' * 161}\n{'x' * 160}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / ".ci").mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    def run(*words):
        command = [sys.executable, CODE / ".ci" / "size.py", "--root", tmp_path, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("--reason", "First measured").returncode == 0
    return run


def values(folder):
    return json.loads((folder / ".ci" / "size.json").read_text())


def test_what_is_counted(size, tmp_path):
    assert {name: entry["value"] for name, entry in values(tmp_path).items()} == {
        "product, code lines": CODE_LINES,
        "product, Python files": 1,
        "tests, code lines": CODE_LINES,
        "fixtures, code lines": CODE_LINES,
        "JavaScript, lines": 2,
        "templates, lines": 3,
        "templates, lines over 160 characters": 1,
        "data, lines": 3,
    }


def test_growth_fails_until_a_reason_is_given(size, tmp_path):
    (tmp_path / "annotations" / "more.py").write_text("one = 1\n")
    (tmp_path / "templates" / "page.html").write_text("<p>\n")
    for words in ((), ("--write",)):
        done = size(*words)
        assert done.returncode == 1
        assert f"product, code lines: {CODE_LINES + 1}, above the value {CODE_LINES}" in done.stderr
        assert "product, Python files" in done.stderr and "--reason" in done.stderr
    assert values(tmp_path)["product, code lines"]["value"] == CODE_LINES
    assert values(tmp_path)["templates, lines"]["value"] == 1
    assert size("--reason", "Needed").returncode == 0
    assert values(tmp_path)["product, code lines"] == {"value": CODE_LINES + 1, "reason": "Needed"}
    assert values(tmp_path)["tests, code lines"]["reason"] == "First measured"
    assert size().returncode == 0


def test_a_value_that_can_be_lowered_is_named_and_lowered(size, tmp_path):
    (tmp_path / "templates" / "page.html").write_text("<p>\n")
    done = size()
    assert done.returncode == 0
    assert "templates, lines: 1, below the value 3" in done.stdout
    assert size("--write").returncode == 0
    assert values(tmp_path)["templates, lines over 160 characters"]["value"] == 0
    assert not size().stdout
