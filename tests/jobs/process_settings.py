"""Settings of the workers and relays that tests start: the product's settings, the test database and the probes."""

import json
import os

from deidreview.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.jobs.probes.apps.ProbesConfig"]  # noqa: F405
DATABASES["default"].update(json.loads(os.environ["PROBE_DATABASE"]))  # noqa: F405
# So that helpers join even short runs.
JOB_JOIN_SECONDS = 0.5
