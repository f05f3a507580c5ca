"""The key of a served model."""

import hmac

from models_runtime.serving.services.answering import Accepts


def one_key(key: str) -> Accepts:
    """Accept exactly this key."""
    return lambda given: hmac.compare_digest(given.encode(), key.encode())
