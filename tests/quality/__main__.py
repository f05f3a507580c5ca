"""`python -m tests.quality [PART …]`: quality of the learned models, each trained and scored as the product does it."""

import argparse
import sys

from tests.quality import crf

PARTS = {"crf": crf.report}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all when left out")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    return max(PARTS[part]() for part in parts)


if __name__ == "__main__":
    sys.exit(main())
