"""Whether this process was asked to end: set by a signal handler, read by the next progress call."""


class _Stop:
    requested = False


_stop = _Stop()


def stop_soon() -> None:
    """Ask the job in hand to give its lease back at the next step. Safe inside a signal handler."""
    _stop.requested = True


def stopping() -> bool:
    return _stop.requested
