"""What the two protocols have in common: their errors."""


class Malformed(ValueError):
    """A message that doesn't follow the protocol. The message is a sentence without text of a note."""


class UnknownLabel(Malformed):
    """A span has a label that the list of the model's labels lacks."""
