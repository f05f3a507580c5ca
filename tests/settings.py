"""Settings of the tests: the product's own, with a data folder and keys of their own."""

import os
import tempfile

os.environ.setdefault("DEIDREVIEW_DATA", tempfile.mkdtemp(prefix="deidreview-test-"))
os.environ.setdefault("DEIDREVIEW_SECRET_KEY", "only-for-tests-" + "x" * 40)

from deidreview.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
