"""A start with a missing or malformed environment ends with one clear line and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANGS

ROOT = Path(__file__).resolve().parents[2]
KEY = "k" * 50


def start(tmp_path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "DEIDREVIEW_DATA": str(tmp_path),
        "DEIDREVIEW_SECRET_KEY": KEY,
        "DJANGO_SETTINGS_MODULE": "deidreview.settings",
    }
    env.update(environment)
    code = """
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
try:
    print(settings.SECRET_KEY, settings.DEBUG, settings.SESSION_COOKIE_SECURE, settings.SESSION_COOKIE_NAME)
except ImproperlyConfigured as error:
    raise SystemExit(f"refused: {error}")
"""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_without_a_secret_key_it_does_not_start(tmp_path):
    done = start(tmp_path, DEIDREVIEW_SECRET_KEY="")
    assert done.returncode == 1
    assert "refused: DEIDREVIEW_SECRET_KEY: Set a random value of at least 40 characters" in done.stderr


def test_a_short_secret_key_is_refused_and_not_repeated(tmp_path):
    done = start(tmp_path, DEIDREVIEW_SECRET_KEY="hunter2")
    assert done.returncode == 1 and "DEIDREVIEW_SECRET_KEY" in done.stderr and "hunter2" not in done.stderr


def test_the_key_in_the_data_folder_is_used(tmp_path):
    (tmp_path / "secret_key").write_text("f" * 50 + "\n")
    done = start(tmp_path, DEIDREVIEW_SECRET_KEY="")
    assert done.stdout.split() == ["f" * 50, "False", "False", "deidreview"]


def test_the_environment_takes_precedence_over_the_folder(tmp_path):
    (tmp_path / "secret_key").write_text("f" * 50)
    assert start(tmp_path).stdout.split()[0] == KEY


def test_no_key_is_written_in_the_code():
    for file in (ROOT / "deidreview").glob("*.py"):
        assert "django-insecure" not in file.read_text(), file


def test_https_makes_the_cookies_strict(tmp_path):
    assert start(tmp_path, DEIDREVIEW_HTTPS="true").stdout.split()[1:] == ["False", "True", "__Host-deidreview"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEIDREVIEW_IDLE_MINUTES", "half an hour", "is not a whole number"),
        ("DEIDREVIEW_IDLE_MINUTES", "0", "is not a number above 0"),
        ("DEIDREVIEW_LOGIN_ATTEMPTS", "-1", "is not a number above 0"),
        ("DEIDREVIEW_LOCKOUT_MINUTES", "1.5", "is not a whole number"),
        ("DEIDREVIEW_PROXIES", "nginx", "is not a whole number"),
        ("DEIDREVIEW_PROXIES", "-1", "0 or more"),
        ("DEIDREVIEW_UPLOAD_MB", "many", "is not a whole number"),
        ("DEIDREVIEW_HTTPS", "perhaps", "is not true or false"),
        ("DEIDREVIEW_DEBUG", "2", "is not true or false"),
        ("DEIDREVIEW_LOG_LEVEL", "loud", "is not one of"),
        ("DEIDREVIEW_ORIGINS", "deid.example", "must begin with https:// or http://"),
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
def test_malformed_values_are_named(tmp_path, name, value, says):
    done = start(tmp_path, **{name: value})
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith(f"refused: {name}") and says in done.stderr
    assert "Traceback" not in done.stderr and "secret@" not in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis://localhost",
        "redis://[::1]:6379",
        "redis://",
        "redis://:secret@redis.example",
        "rediss://redis.example",
        "unix:///run/redis.sock",
    ],
)
def test_a_redis_on_this_machine_or_with_authentication_is_accepted(tmp_path, url):
    done = start(tmp_path, REDIS_URL=url)
    assert done.returncode == 0, done.stderr


def full_size(tmp_path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "DEIDREVIEW_DATA": str(tmp_path),
        "DEIDREVIEW_SECRET_KEY": "a1b2c3d4e5" * 6,
        "DEIDREVIEW_HTTPS": "true",
        "DEIDREVIEW_HOSTS": "deid.example",
        **environment,
    }
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS, check=False
    )


CHECK = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")


@pytest.mark.nightly
def test_django_finds_nothing_to_warn_of_at_full_size(tmp_path):
    done = full_size(tmp_path, *CHECK, DEIDREVIEW_PROXIES="1")
    assert done.returncode == 0, done.stderr


def test_prepare_prints_the_warning_first(tmp_path):
    # This PostgreSQL does not exist, so the step ends after its first line.
    done = full_size(tmp_path, "manage.py", "prepare", DATABASE_URL="postgres://u@127.0.0.1:1/d")
    warning = "deidreview: DEIDREVIEW_PROXIES: HTTPS is on and the number of proxies is 0"
    assert done.stderr.startswith(warning), done.stderr
    assert "usually 1" in done.stderr.splitlines()[0]


def test_a_malformed_list_of_language_models_stops_the_start(tmp_path):
    done = start(tmp_path, DEIDREVIEW_LLM_SERVERS="ollama")
    assert done.returncode == 1
    assert "refused: DEIDREVIEW_LLM_SERVERS: “ollama” is not a name=address pair" in done.stderr
