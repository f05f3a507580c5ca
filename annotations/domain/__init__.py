"""The domain core: spans, tokens, BIO, segments, matching, majority vote, label sets and file formats.

Pure Python on plain dataclasses; it knows no Django, no queue and no model library. Offsets are Unicode code points,
end-exclusive, everywhere.
"""
