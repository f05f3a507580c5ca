"""Property tests of the domain run without a deadline (the machine may be busy) and leave no folder behind."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "domain", deadline=None, database=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("domain")
