"""Settings of the workers and relays that tests start: the product's settings, the test database and the probes."""

import json
import os

from deidreview.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.jobs.probes.apps.ProbesConfig"]  # noqa: F405
DATABASES["default"].update(json.loads(os.environ["PROBE_DATABASE"]))  # noqa: F405
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # The tests kill processes, which loses nothing that was written. Only a power cut would.
    _options = DATABASES["default"]["OPTIONS"]  # noqa: F405
    _options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
# So that helpers join even short runs.
JOB_JOIN_SECONDS = 0.5
