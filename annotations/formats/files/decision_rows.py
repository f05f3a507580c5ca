"""A person's decisions as a CSV file: one row for each."""

from typing import Final

from annotations.formats.files.csv_rows import CsvRow, RowError
from annotations.text.numbers import MAX_OFFSET, whole

DECISION: Final = "decision"
"""The column with the decision. Rows without one are left out."""


class DecisionRow(CsvRow):
    """One decision."""

    def offset(self, column: str) -> int:
        """A position in code points. Raises RowError."""
        found = whole(self.text(column), MAX_OFFSET)
        if found is None:
            raise RowError(f"The column “{column}” has “{self.text(column)[:40]}” instead of a whole number.")
        return found
