import os

import django
from django.core.handlers.wsgi import WSGIHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
django.setup(set_prefix=False)

from deidreview.middleware import TwoWays  # noqa: E402 - needs the settings and the models


class Application(TwoWays, WSGIHandler):
    """The application of the web server."""


application = Application()
