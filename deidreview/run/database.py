"""The database step before the servers start: `manage.py prepare`, with each failure as one line on the terminal."""

import sys
from collections.abc import Sequence


def prepare(arguments: Sequence[str]) -> int:
    """Run `prepare` after Django was set up. Return the exit status."""
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError, call_command
    from django.db import Error

    try:
        call_command("prepare", *arguments)
    except (ImproperlyConfigured, CommandError) as error:
        return fail(str(error))
    except Error as error:
        # The first line names the host or file; data never gets into a connection or schema error's first line.
        return fail(f"The database does not answer: {str(error).splitlines()[0]}")
    except OSError as error:
        return fail(f"{error.filename or 'The data folder'} cannot be written ({error.strerror}).")
    return 0


def fail(line: str) -> int:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)
    return 1
