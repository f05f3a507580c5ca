"""The domain: spans, tokens, BIO, segments, matching and label sets as modules, and a package for each use of them.

Pure Python with plain dataclasses; nothing here imports Django, the queue or a model library. Offsets are Unicode code
points, end-exclusive, everywhere.
"""
