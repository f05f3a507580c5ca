from annotations.core.access import Can
from annotations.jobs.registry import JobKind
from models_runtime.core.registry import BackendKind

_HERE = "tests.jobs.probes.handlers."

KINDS = {
    "count": JobKind(title="Count", handler=_HERE + "count", right=Can.MANAGE, undo=_HERE + "uncount", can_pause=True),
    "once": JobKind(title="Once", handler=_HERE + "once", right=Can.EXPORT),
    "hold": JobKind(title="Hold", handler=_HERE + "hold", right=Can.MANAGE),
    "fails": JobKind(title="Fails", handler=_HERE + "fails", right=Can.MANAGE, undo=_HERE + "uncount"),
    "dies": JobKind(title="Dies", handler=_HERE + "dies", right=Can.MANAGE, undo=_HERE + "uncount"),
    "stubborn": JobKind(title="Stubborn", handler=_HERE + "stubborn", right=Can.MANAGE),
    "threads": JobKind(title="Threads", handler=_HERE + "threads", right=Can.MANAGE),
}

FAKE = BackendKind(title="Fake", factory="tests.worlds.fake_backend.FakeBackend", description="For tests.")
