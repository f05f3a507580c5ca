"""The database models of `annotations`, one subject per module."""

from annotations.models.audio import *  # noqa: F403
from annotations.models.gold import *  # noqa: F403
from annotations.models.job import *  # noqa: F403
from annotations.models.known import *  # noqa: F403
from annotations.models.notes import *  # noqa: F403
from annotations.models.pairs import *  # noqa: F403
from annotations.models.people import *  # noqa: F403
from annotations.models.project import *  # noqa: F403
from annotations.models.records import *  # noqa: F403
from annotations.models.release import *  # noqa: F403  # noqa: F403
from annotations.models.review import *  # noqa: F403
