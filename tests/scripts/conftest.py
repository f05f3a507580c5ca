"""Stand-ins for the tools that the scripts in `.ci` call."""

import shutil
import subprocess

import pytest

from annotations.domain.installation import CODE

TOOLS = ("sh", "env", "mktemp", "tail", "rm", "cat", "touch", "mkdir")


@pytest.fixture
def bare(tmp_path):
    """A PATH with only TOOLS; `bare.add(name, script)` adds a stand-in for another tool."""

    class Bare:
        folder = tmp_path / "bin"
        calls = tmp_path / "calls"

        def add(self, name, script):
            file = self.folder / name
            file.write_text(f"#!/bin/sh\n{script}\n")
            file.chmod(0o755)
            return file

        def run(self, *command, **environ):
            return subprocess.run(
                command,
                cwd=CODE,
                env={"PATH": str(self.folder), "CALLS": str(self.calls), "TMPDIR": str(tmp_path), **environ},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )

    bare = Bare()
    bare.folder.mkdir()
    for tool in TOOLS:
        (bare.folder / tool).symlink_to(shutil.which(tool))
    bare.add("id", "echo 1000")
    return bare
