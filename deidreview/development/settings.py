"""The settings with Django's debug toolbar, which shows queries with their values, including note text.

Only this machine can see the toolbar: it requires an address of `INTERNAL_IPS`, and `make debug` listens on 127.0.0.1.
"""

from deidreview.settings import *  # noqa: F403

DEBUG = True
INSTALLED_APPS = [*INSTALLED_APPS, "debug_toolbar"]  # noqa: F405
MIDDLEWARE = [*MIDDLEWARE, "debug_toolbar.middleware.DebugToolbarMiddleware"]  # noqa: F405
ROOT_URLCONF = "deidreview.development.urls"
INTERNAL_IPS = ["127.0.0.1", "::1"]
STORAGES = {
    **STORAGES,  # noqa: F405
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
