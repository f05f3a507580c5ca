class ServiceError(Exception):
    """A refusal in plain words for whoever asked: what, where, what was kept. Never holds note text."""

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code


class LimitReached(Exception):
    """Somebody asks for more than one person may have at a time. The message is a sentence for them.

    No ServiceError: a page answers it with the status 429, wherever it comes up (deidreview.limits).
    """

    def __init__(self, message: str, *, code: str, retry_after: int) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
