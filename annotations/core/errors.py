"""The error of every service, in a module that processes without Django's tables can import."""


class ServiceError(Exception):
    """An error for the user, in whole sentences: what is wrong, where, and what to do. Never holds note text."""

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code
