"""The limit on request bodies, for the web server and for pages. The web server reads it before Django is set up."""

# The limit for a request that is not an upload, such as a form or an annotator's changes.
REQUEST_BYTES = 2_621_440
