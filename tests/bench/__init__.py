"""`make bench`: speed and memory of the real product, measured where it runs.

`python -m tests.bench` measures everything, `python -m tests.bench import span` some parts. Nothing of the product is
imported here: it is started by its own run command, set up by its own commands and asked over HTTP, as people do.
"""
