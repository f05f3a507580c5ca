"""The size of a request, for web server and pages. No Django here: the web server reads this before set-up."""

# The body of a request that is no upload: a form, an annotator's changes.
REQUEST_BYTES = 2_621_440
