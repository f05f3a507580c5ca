"""A start with a missing or malformed environment ends with one clear line and no traceback."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from deidreview import gunicorn
from tests.waiting import HANGS

ROOT = Path(__file__).resolve().parents[2]
KEY = "k" * 50


@pytest.fixture
def load(tmp_path, monkeypatch):
    """`load(NAME="value")`: the settings for these environment variables."""

    def load(**environment):
        monkeypatch.setattr(
            os, "environ", {"DEIDREVIEW_DATA": str(tmp_path), "DEIDREVIEW_SECRET_KEY": KEY} | environment
        )
        monkeypatch.setattr("environ.Env.ENVIRON", os.environ)
        return runpy.run_path(str(ROOT / "deidreview" / "settings.py"), run_name="deidreview.settings")

    return load


def run(tmp_path, *command, **environment):
    """Run a command of `manage.py` in a process of its own, with HTTPS."""
    env = {
        "PATH": os.environ["PATH"], "DEIDREVIEW_DATA": str(tmp_path), "DEIDREVIEW_SECRET_KEY": "a1b2c3d4e5" * 6,
        "DEIDREVIEW_HTTPS": "true", "DEIDREVIEW_HOSTS": "deid.example", **environment,
    }  # fmt: skip
    words = [sys.executable, "manage.py", *command]
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS, check=False)


def test_the_secret_key_comes_from_the_environment_or_the_data_folder(load, tmp_path):
    for short in ("", "hunter2"):
        with pytest.raises(ImproperlyConfigured, match=r"^DEIDREVIEW_SECRET_KEY: ") as refused:
            load(DEIDREVIEW_SECRET_KEY=short)
        assert "hunter2" not in str(refused.value)
    (tmp_path / "secret_key").write_text("f" * 50 + "\n")
    assert load()["SECRET_KEY"] == KEY
    found = load(DEIDREVIEW_SECRET_KEY="")
    assert (found["SECRET_KEY"], found["DEBUG"], found["SESSION_COOKIE_SECURE"]) == ("f" * 50, False, False)


def test_https_makes_the_cookies_strict(load):
    found = load(DEIDREVIEW_HTTPS="true")
    assert (found["SESSION_COOKIE_SECURE"], found["SESSION_COOKIE_NAME"]) == (True, "__Host-deidreview")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEIDREVIEW_IDLE_MINUTES", "half an hour", "is not a whole number"),
        ("DEIDREVIEW_IDLE_MINUTES", "0", "Set it to 1 or more"),
        ("DEIDREVIEW_LOGIN_ATTEMPTS", "-1", "Set it to 1 or more"),
        ("DEIDREVIEW_LOCKOUT_MINUTES", "1.5", "is not a whole number"),
        ("DEIDREVIEW_PROXIES", "nginx", "is not a whole number"),
        ("DEIDREVIEW_PROXIES", "-1", "0 or more"),
        ("DEIDREVIEW_FEED_ROOT", "feeds", "not an absolute path"),
        ("DEIDREVIEW_UPLOAD_MB", "many", "is not a whole number"),
        ("DEIDREVIEW_HTTPS", "perhaps", "is not true or false"),
        ("DEIDREVIEW_DEBUG", "2", "is not true or false"),
        ("DEIDREVIEW_LOG_LEVEL", "loud", "is not one of"),
        ("DEIDREVIEW_ORIGINS", "deid.example", "must begin with https:// or http://"),
        ("DEIDREVIEW_LLM_SERVERS", "ollama", "“ollama” is not a name=address pair"),
        ("DEIDREVIEW_METRICS_FROM", "10.0.0.0/24, nowhere", "nowhere"),
        ("DATABASE_URL", "mysql://u:secret@h/db", "Only postgres:// and sqlite:///"),
        ("DATABASE_URL", "not a url", "DATABASE_URL"),
        ("REDIS_URL", "http://h", "must begin with redis://"),
        ("REDIS_URL", "redis://redis.example:port", "not a Redis URL"),
        ("REDIS_URL", "redis://redis.example:6379/0", "needs a password"),
        ("REDIS_URL", "redis://10.0.0.7", "or TLS (rediss://)"),
        ("REDIS_URL", "redis://127.0.0.1.example", "needs a password"),
        # redis-py takes the host from the query if the URL names none.
        ("REDIS_URL", "redis:///0?host=redis.example", "needs a password"),
        ("TZ", "Mars/Olympus", "is not a time zone name"),
    ],
)
def test_malformed_values_are_named(load, name, value, says):
    with pytest.raises(ImproperlyConfigured) as refused:
        load(**{name: value})
    assert str(refused.value).startswith(name) and says in str(refused.value) and "secret@" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0", "redis://localhost", "redis://[::1]:6379", "redis://",
        "redis://:secret@redis.example", "rediss://redis.example", "unix:///run/redis.sock",
    ],
)  # fmt: skip
def test_a_redis_on_this_machine_or_with_authentication_is_accepted(load, url):
    assert load(REDIS_URL=url)["REDIS_URL"] == url


def test_a_refused_start_has_no_traceback(tmp_path):
    done = run(tmp_path, "check", DEIDREVIEW_PROXIES="nginx")
    assert done.returncode and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1 and "DEIDREVIEW_PROXIES: “nginx”" in done.stderr


@pytest.mark.nightly
def test_django_finds_nothing_to_warn_of_at_full_size(tmp_path):
    done = run(tmp_path, "check", "--deploy", "--fail-level", "WARNING", DEIDREVIEW_PROXIES="1")
    assert done.returncode == 0, done.stderr


def test_prepare_prints_the_warning_first(tmp_path):
    # This PostgreSQL does not exist, so the step ends after its first line.
    done = run(tmp_path, "prepare", DATABASE_URL="postgres://u@127.0.0.1:1/d")
    assert done.stderr.startswith("deidreview: DEIDREVIEW_PROXIES: HTTPS is on"), done.stderr


def test_the_web_server_accepts_only_whole_numbers_above_0(monkeypatch):
    for word, number in (("", 4), ("12", 12)):
        monkeypatch.setenv("DEIDREVIEW_WEB_THREADS", word)
        assert gunicorn._number("DEIDREVIEW_WEB_THREADS", 4) == number
    for word in ("²", "٣", "0", "-1", "1.5", "two", " 3", "9" * 30):
        monkeypatch.setenv("DEIDREVIEW_WEB_THREADS", word)
        with pytest.raises(SystemExit, match=r"DEIDREVIEW_WEB_THREADS: .+ is not a whole number above 0"):
            gunicorn._number("DEIDREVIEW_WEB_THREADS", 4)


def test_no_release_contains_the_debug_toolbar():
    """The toolbar shows queries with their values, including note text."""
    assert not any("debug_toolbar" in name for name in (*settings.INSTALLED_APPS, *settings.MIDDLEWARE))
    assert "debug_toolbar" not in (ROOT / "deidreview/settings.py").read_text()
    assert "django-debug-toolbar" not in (ROOT / "requirements.lock").read_text()


POST = """
from debug_toolbar.middleware import DebugToolbarMiddleware
from django.db import connection
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import get_resolver

def view(request):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE a (b, c)")
        cursor.executemany("INSERT INTO a VALUES (%s, %s)", [(1, 2), (3, 4)])
        return HttpResponse(str(cursor.execute("SELECT COUNT(*) FROM a").fetchall()))

get_resolver().url_patterns
request = RequestFactory(REMOTE_ADDR="127.0.0.1").post("/", headers={"host": "localhost"})
print(DebugToolbarMiddleware(view)(request).content.decode())
"""


def test_the_debug_toolbar_lets_a_statement_for_many_rows_pass(tmp_path):
    pytest.importorskip("debug_toolbar")
    about = {"DJANGO_SETTINGS_MODULE": "deidreview.development.settings", "DATABASE_URL": f"sqlite:///{tmp_path}/db"}
    done = run(tmp_path, "shell", "-c", POST, **about)
    assert "[(2,)]" in done.stdout, done.stderr
