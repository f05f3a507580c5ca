"""Events of audits."""
