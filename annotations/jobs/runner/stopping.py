"""Whether this process was asked to end. A signal handler sets it; the next progress call reads it."""


class _Stop:
    requested = False


_stop = _Stop()


def stop_soon() -> None:
    """Make the current job go back to the queue at its next step. Safe inside a signal handler."""
    _stop.requested = True


def stopping() -> bool:
    return _stop.requested
