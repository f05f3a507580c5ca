"""Settings of the tests: the app's settings with a separate data folder and key."""

import os
import tempfile

os.environ.setdefault("DEIDREVIEW_DATA", tempfile.mkdtemp(prefix="deidreview-test-"))
os.environ.setdefault("DEIDREVIEW_SECRET_KEY", "only-for-tests-" + "x" * 40)

from deidreview.settings import *  # noqa: F403

# A slow machine has many requests of one page open at once, so most tests set no limit of threads for a person.
WEB_THREADS = 1000
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # A file, so that a test's threads and processes see its commits. It need not survive a power cut.
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}  # noqa: F405
    _options = DATABASES["default"]["OPTIONS"]  # noqa: F405
    _options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
