"""The domain core: spans, tokens, BIO, segments, matching, majority vote, label sets and file formats.

Pure Python with plain dataclasses; nothing here imports Django, the queue or a model library. Offsets are Unicode code
points, end-exclusive, everywhere.
"""
