from debug_toolbar.toolbar import debug_toolbar_urls

from deidreview.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500"]

urlpatterns = [*debug_toolbar_urls(), *urlpatterns]
