class ServiceError(Exception):
    """An error for the user, in whole sentences: what is wrong, where, and what to do. Never holds note text."""

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code


class LimitReached(Exception):
    """A person requests more than one person may have at a time. The message is a sentence for them.

    Not a ServiceError: every page answers it with the status 429 (deidreview.limits). `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, code: str, retry_after: int) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
