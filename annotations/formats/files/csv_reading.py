"""Readers of CSV files whose cells may be as long as a note.

Python refuses cells of more than 131,072 characters, and this limit is one for the whole process. It is lifted here
once, so that no reader depends on which file was read before. How long a file may be is checked where it is uploaded.
"""

import csv
from csv import DictReader, Error, reader

__all__ = ["DictReader", "Error", "reader"]

csv.field_size_limit(2**31 - 1)
