"""The wheel: the packages, and in `deidreview/shipped` the folders that a checkout has beside them.

Everything else about the project is in pyproject.toml, and what belongs into the packages in MANIFEST.in.
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

SHIPPED = (
    "templates",
    "static",
    "fixtures/demo",
    "fixtures/label_sets",
    "fixtures/pipeline_labels.json",
    "docs/guide",
    "docs/glossary.md",
)


class BuildWithShipped(build_py):
    """Copies the shipped folders into the package `deidreview`. `deidreview/shipped` exists only in a wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "deidreview", "shipped")
        shutil.rmtree(target, ignore_errors=True)
        for name in SHIPPED:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(name, target / name)


setup(
    packages=find_packages(include=["annotations*", "models_runtime*", "deidreview*"]),
    cmdclass={"build_py": BuildWithShipped},
)
