"""BioC, in XML and in JSON: collections of documents with passages, annotations and relations.

Source: Comeau et al. 2013, doi:10.1093/database/bat064; the DTD and the JSON form as in the package `bioc`
(https://github.com/bionlplab/bioc). The infon `type` of an annotation is its label, all others are attributes.

The DTD counts offsets in bytes of UTF-8, but NCBI's tools and the package `bioc` count characters
(https://github.com/lfurrer/bconv/issues/5), and tools in Java count UTF-16 code units. A document is read in the unit
in which its passages don't overlap and the most texts of annotations stand at their offsets, code points first. We
write code points and say so in an infon of the collection.
"""

from annotations.formats.bioc.json import BiocJsonFormat
from annotations.formats.bioc.xml import BiocFormat

__all__ = ["BiocFormat", "BiocJsonFormat"]
