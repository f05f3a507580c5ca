"""The debug toolbar exists in the settings for development, and in no other settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = """
import django
from django.conf import settings
django.setup()
from django.test import Client
for address in ("127.0.0.1", "192.0.2.7"):
    page = Client(REMOTE_ADDR=address).get("/accounts/login/")
    print(address, page.status_code, b'id="djDebug"' in page.content, settings.DEBUG)
"""


@pytest.mark.nightly
@pytest.mark.product
@pytest.mark.parametrize(
    ("module", "shown"),
    [
        ("deidreview.development.settings", ["127.0.0.1 200 True True", "192.0.2.7 200 False True"]),
        ("deidreview.settings", ["127.0.0.1 200 False False", "192.0.2.7 200 False False"]),
    ],
)
def test_the_toolbar_is_only_for_this_machine(module: str, shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": module,
        "DEIDREVIEW_DATA": str(tmp_path),
        "DEIDREVIEW_SECRET_KEY": "only-for-tests-" + "x" * 40,
        "DEIDREVIEW_HOSTS": "testserver",
    }
    if module == "deidreview.settings":
        subprocess.run(
            [sys.executable, "manage.py", "collectstatic", "--noinput"],
            cwd=ROOT,
            env=environ,
            check=True,
            capture_output=True,
        )
    done = subprocess.run(
        [sys.executable, "-c", PAGE], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == shown, done.stderr


def test_no_release_contains_the_toolbar() -> None:
    """The toolbar shows queries with their values, including note text."""
    assert not any("debug_toolbar" in name for name in (*settings.INSTALLED_APPS, *settings.MIDDLEWARE))
    assert "debug_toolbar" not in (ROOT / "deidreview/settings.py").read_text()
    assert "django-debug-toolbar" not in (ROOT / "requirements.lock").read_text()
