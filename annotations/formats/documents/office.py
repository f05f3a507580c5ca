"""DOC (Word 97 to 2003): LibreOffice converts it to DOCX, which is then read. Without LibreOffice, DOC is refused.

LibreOffice runs with a profile of its own, in which macros are switched off, and only where it has no network.
"""

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotations.formats.documents import docx
from annotations.formats.documents.base import DocumentSource, Draft, refused

PROGRAMS: Final = ("soffice", "libreoffice")
_NO_MACROS: Final = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse">
<value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse">
<value>3</value></prop></item>
</oor:items>
"""
_ADVICE: Final = "Save the document as DOCX, and import that."


def program() -> str | None:
    """The path of LibreOffice on this machine; None if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def read(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a DOC. Raises NoteError if LibreOffice is not there or can't convert the document."""
    office = program()
    if office is None:
        message = f"DOC can only be read where LibreOffice is installed, and this server has none. {_ADVICE}"
        raise refused(source.name, "no libreoffice", message)
    if not source.programs:
        message = f"DOC can't be read: this server can't cut off LibreOffice from the network. {_ADVICE}"
        raise refused(source.name, "no libreoffice", message)
    with tempfile.TemporaryDirectory() as folder:
        data = _converted(office, Path(folder), source)
    yield from docx.read(replace(source, file=io.BytesIO(data)))


def _converted(office: str, folder: Path, source: DocumentSource) -> bytes:
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_NO_MACROS)
    (folder / "document.doc").write_bytes(source.load())
    command = [
        office,
        f"-env:UserInstallation={profile.parent.as_uri()}",
        "--headless",
        "--norestore",
        "--nologo",
        "--convert-to",
        "docx",
        "--outdir",
        str(folder),
        str(folder / "document.doc"),
    ]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    # It stays in the process group of this process, which is ended as a whole when the time is over.
    done = subprocess.run(  # noqa: S603 - a program found by name, and our own paths
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        return (folder / "document.docx").read_bytes()
    except FileNotFoundError:
        message = f"LibreOffice can't convert the document (status {done.returncode}). {_ADVICE}"
        raise refused(source.name, "damaged", message) from None
