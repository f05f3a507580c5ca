"""The gold and the people of trainings."""

from tests.training.conftest import made_gold, manager, trained, world

__all__ = ["made_gold", "manager", "trained", "world"]
