"""An operation that creates all tables of an app at once."""

from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.models import CreateModel


class CreateTables(Operation):
    """Create the tables of several models, with their indexes and constraints.

    Django renders a model, and all models related to it, again after each CreateModel. Here nearly all models are
    related, so that took 13 s of a first start; this operation renders them once. Foreign keys may form circles.
    """

    serialization_expand_args = ["models"]

    def __init__(self, models: list[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label, state):
        vars(state).pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self):
        return f"Create {len(self.models)} tables"
