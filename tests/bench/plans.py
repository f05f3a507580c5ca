"""Query plans on a generated 100,000 notes in PostgreSQL."""


def report():
    return None
