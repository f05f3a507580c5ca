"""The child process of a training on a machine without spaCy."""

import sys
from pathlib import Path

from models_runtime.backends.children import main


class _Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "spacy":
            raise ModuleNotFoundError("No module named 'spacy'", name="spacy")


if __name__ == "__main__":
    sys.meta_path.insert(0, _Missing())
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:-1], Path(sys.argv[-1]))
