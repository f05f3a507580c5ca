from typing import Any

from debug_toolbar.panels.sql.tracking import NormalCursorMixin
from debug_toolbar.toolbar import debug_toolbar_urls

from deidreview.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500"]

urlpatterns = [*debug_toolbar_urls(), *urlpatterns]


def _executemany(cursor: Any, statement: str, rows: Any) -> Any:
    """List a statement for many rows without their values, with which the toolbar fails on SQLite."""
    run = super(NormalCursorMixin, cursor).executemany
    return cursor._record(lambda statement, _values: run(statement, rows), statement, None)


NormalCursorMixin.executemany = _executemany  # type: ignore[method-assign]
