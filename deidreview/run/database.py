"""The one-shot step before the servers: `manage.py prepare`, with every failure as one line for the terminal."""

import os
import sys


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError, call_command
    from django.db import Error

    try:
        django.setup()
        call_command("prepare", *sys.argv[1:])
    except (ImproperlyConfigured, CommandError) as error:
        return _fail(str(error))
    except Error as error:
        # The first line names the host or file; data never gets into a connection or schema error's first line.
        return _fail(f"The database does not answer: {str(error).splitlines()[0]}")
    except OSError as error:
        return _fail(f"{error.filename or 'the data folder'} cannot be written ({error.strerror})")
    return 0


def _fail(line: str) -> int:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
