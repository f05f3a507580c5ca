from django.urls import URLPattern, path

from annotations.release.views.audits import leaks, plans, reading

_AUDIT = "projects/<slug:slug>/releases/<int:number>/audit/"

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/releases/audits/", plans.audits, name="audits"),
    path(_AUDIT, plans.release_audit, name="release_audit"),
    path(f"{_AUDIT}start", plans.audit_start, name="audit_start"),
    path(f"{_AUDIT}discard", plans.audit_discard, name="audit_discard"),
    path(f"{_AUDIT}next", reading.audit_next, name="audit_next"),
    path(f"{_AUDIT}read/", reading.audit_read, name="audit_read"),
    path(f"{_AUDIT}mark", reading.audit_mark, name="audit_mark"),
    path(f"{_AUDIT}unmark", reading.audit_unmark, name="audit_unmark"),
    path(f"{_AUDIT}finish", reading.audit_finish, name="audit_finish"),
    path(f"{_AUDIT}reopen", reading.audit_reopen, name="audit_reopen"),
    path(f"{_AUDIT}leaks/", leaks.audit_leaks, name="audit_leaks"),
    path(f"{_AUDIT}decide", leaks.audit_decide, name="audit_decide"),
]
