"""Tables of spans, as CSV and as an Excel workbook, with the text files of the notes beside.

A row has `note`, `start`, `end`, `label` and `text`, and a column for each attribute. Offsets are end-exclusive and
count code points; a table that counts UTF-16 code units is recognized by its texts. A row with a note alone says that
the note is annotated and has no spans; a text file without a row is a note without annotations.
"""

from annotations.formats.tables.csv_table import CsvFormat
from annotations.formats.tables.workbook import XlsxFormat

__all__ = ["CsvFormat", "XlsxFormat"]
