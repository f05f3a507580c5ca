#!/usr/bin/env python
"""Django's command line for deidreview."""

import sys

from deidreview.run.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv))
