"""What the schemas of all features share."""

from ninja import Schema


class Body(Schema):
    """The JSON object of a request. A field that it doesn't know is an error, since it is mostly a typing error."""

    model_config = {"extra": "forbid"}


class Done(Schema):
    """The answer to a change that says everything with its status."""

    changed: bool
