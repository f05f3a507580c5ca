"""An operation that creates all tables of an app at once, and the description of one of them."""

from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.models import CreateModel
from django.db.models import BigAutoField


def table(name, *fields, **options):
    """Describe the table of a model: its fields as (name, field), and the options of its Meta.

    A table whose fields have no primary key gets the `id` of all tables.
    """
    if not any(field.primary_key for _name, field in fields):
        id = BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
        fields = (("id", id), *fields)
    return CreateModel(name, list(fields), options)


class CreateTables(Operation):
    """Create the tables of several models, with their indexes and constraints.

    Django renders a model, and all models related to it, again after each CreateModel. Here nearly all models are
    related, so that took 13 s of a first start; this operation renders them once. Foreign keys may form circles.
    """

    def __init__(self, *models: CreateModel) -> None:
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
