"""The program `deidreview`: the same commands as `manage.py`. `deidreview run` does what `make run` does."""

import sys

from deidreview.run.commands import main as command_line


def main() -> int:
    """Run the command that the arguments of this process name, and return the exit status."""
    arguments = list(sys.argv)
    if arguments[0].endswith("__main__.py"):
        arguments[0] = "deidreview"  # as messages about the usage name the program
    return command_line(arguments)


if __name__ == "__main__":
    sys.exit(main())
