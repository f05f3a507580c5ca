from django.urls import URLPattern, path

from annotations.release.views import certificates, findings, new, notes, policies, releases, surrogates, verifying
from annotations.release.views.audits import leaks, plans, reading
from annotations.release.views.known import lists, master, people

_AUDIT = "projects/<slug:slug>/releases/<int:number>/audit/"

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/releases/", releases.releases, name="releases"),
    path("projects/<slug:slug>/releases/new/", new.release_new, name="release_new"),
    path("projects/<slug:slug>/releases/policies/", policies.release_policies, name="release_policies"),
    path("projects/<slug:slug>/releases/policies/<slug:policy>/", policies.release_policy, name="release_policy"),
    path("projects/<slug:slug>/releases/<int:number>/", releases.release, name="release"),
    path("projects/<slug:slug>/releases/<int:number>/export", releases.release_export, name="release_export"),
    path("projects/<slug:slug>/releases/<int:number>/prepare", releases.release_prepare, name="release_prepare"),
    path("projects/<slug:slug>/releases/<int:number>/withdraw", releases.release_withdraw, name="release_withdraw"),
    path("projects/<slug:slug>/releases/<int:number>/findings/", findings.findings, name="release_findings"),
    path("projects/<slug:slug>/releases/<int:number>/findings/decide", findings.release_decide, name="release_decide"),
    path("projects/<slug:slug>/releases/<int:number>/notes/<int:pk>/", notes.release_note, name="release_note"),
    path("projects/<slug:slug>/notes/<int:pk>/surrogates", notes.note_surrogates, name="note_surrogates"),
    path("projects/<slug:slug>/known/", master.known, name="known"),
    path("projects/<slug:slug>/known/lists", lists.known_lists, name="known_lists"),
    path("projects/<slug:slug>/known/lists.csv", lists.known_lists_csv, name="known_lists_csv"),
    path("projects/<slug:slug>/known/uploads/<int:pk>/", master.known_upload, name="known_upload"),
    path("projects/<slug:slug>/known/patients/", people.known_people, name="known_people"),
    path("projects/<slug:slug>/known/patients/<int:pk>/", people.known_person, name="known_person"),
    path("projects/<slug:slug>/surrogates/", surrogates.surrogates, name="surrogates"),
    path("projects/<slug:slug>/surrogates/merge", surrogates.surrogates_merge, name="surrogates_merge"),
    path("projects/<slug:slug>/surrogates/<int:pk>/", surrogates.surrogate, name="surrogate"),
    path("projects/<slug:slug>/surrogates/<int:pk>/change", surrogates.surrogate_change, name="surrogate_change"),
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
    path(
        "projects/<slug:slug>/releases/<int:number>/certificate/sign",
        certificates.certificate_sign,
        name="certificate_sign",
    ),
    path(
        "projects/<slug:slug>/releases/<int:number>/certificates/<int:certificate>.json",
        certificates.certificate_json,
        name="certificate_json",
    ),
    path(
        "projects/<slug:slug>/releases/<int:number>/certificates/<int:certificate>.pdf",
        certificates.certificate_pdf,
        name="certificate_pdf",
    ),
    path("certificates/verify", verifying.certificate_verify, name="certificate_verify"),
    path("certificates/keys/", verifying.signing_keys, name="signing_keys"),
    path("certificates/keys/<str:fingerprint>.pem", verifying.signing_key_pem, name="signing_key_pem"),
]
