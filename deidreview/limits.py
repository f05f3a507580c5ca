"""Limits that the web server and the pages share. No Django here: the web server reads this before it is set up."""

# The body of a request that is no upload: a form, an annotator's changes.
REQUEST_BYTES = 2_621_440
