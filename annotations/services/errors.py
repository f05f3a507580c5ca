class ServiceError(Exception):
    """A refusal in plain words for whoever asked: what, where, what was kept. Never holds note text."""

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code
