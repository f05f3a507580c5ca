"""How a worker runs a job: claim, lease, heartbeat, fence, and one transaction for result and state.

The database row is the truth. Only the worker that holds `lease_token` may write; a conditional update refuses others.
"""

from annotations.jobs.runner.claims import (
    MAX_ATTEMPTS,
    Claim,
    HandBack,
    LostLease,
    stop_soon,
    take,
    take_share,
    writing_share,
)
from annotations.jobs.runner.execute import run

__all__ = ["MAX_ATTEMPTS", "Claim", "HandBack", "LostLease", "run", "stop_soon", "take", "take_share", "writing_share"]
