"""How a worker holds a job: claim, lease, heartbeat, fence, and one transaction for result and state.

The database row is the truth. Whoever holds `lease_token` may write; everybody else is refused by a conditional update.
"""

from models_runtime.runner.claims import MAX_ATTEMPTS, Claim, HandBack, LostLease, take
from models_runtime.runner.execute import run
from models_runtime.runner.shares import settling, take_share
from models_runtime.runner.stopping import stop_soon

__all__ = ["MAX_ATTEMPTS", "Claim", "HandBack", "LostLease", "run", "settling", "stop_soon", "take", "take_share"]
