VERSION = "0.9.0"
# The limit on the body of a request that is not an upload, such as a form or an annotator's changes.
REQUEST_BYTES = 2_621_440
