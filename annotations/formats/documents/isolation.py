"""What the child process may do: no network, limited memory, no other programs but LibreOffice and OCR.

The network is cut off by a namespace of its own (Linux; `CLONE_NEWNET`), which holds for every program and library.
Where the kernel or a container forbids that, an audit hook of Python refuses sockets: this holds for all Python code,
but not for C libraries that open sockets themselves (none that reads documents here does), and neither
LibreOffice nor OCR is started.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
# A file that the child writes: LibreOffice's, in the scratch folder.
_LONGEST_FILE: Final = 1 << 30
_MOST_FILES: Final = 256

_FORBIDDEN: Final = (
    "socket.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "pty.spawn",
    "ftplib.",
    "http.",
    "smtplib.",
    "urllib.",
)


def die_with(parent: int) -> bool:
    """End this process when its parent ends. False if the parent has ended already."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def cut_network() -> bool:
    """Move this process, which must have one thread, to a namespace without network. False where that is forbidden."""
    user, group = os.getuid(), os.getgid()
    try:
        unshare = ctypes.CDLL(None).unshare
    except AttributeError:  # not Linux
        return False
    if unshare(_CLONE_NEWNET) == 0:
        return True
    if unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # In a new user namespace, this user and group keep their numbers.
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def limit(memory: int) -> None:
    """Limit the address space of this process (bytes), its files, and write no memory to disk when it crashes."""
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _LONGEST_FILE),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
    ):
        _soft, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def guard(programs: Collection[str]) -> None:
    """Refuse sockets and all programs but those at these paths, for the rest of this process."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN) or (event == "subprocess.Popen" and arguments[0] not in programs):
            raise PermissionError(f"{event} is not allowed while documents are read.")

    sys.addaudithook(hook)
