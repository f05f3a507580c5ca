from django.urls import URLPattern, path

from annotations.release.views import audits, certificates, findings, known, policies, releases, surrogates

_ONE = "projects/<slug:slug>/releases/<int:number>/"
_AUDIT = f"{_ONE}audit/"
_CERTIFICATE = f"{_ONE}certificates/<int:certificate>"

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/releases/", releases.releases, name="releases"),
    path("projects/<slug:slug>/releases/new/", releases.release_new, name="release_new"),
    path("projects/<slug:slug>/releases/policies/", policies.release_policies, name="release_policies"),
    path("projects/<slug:slug>/releases/policies/<slug:policy>/", policies.release_policy, name="release_policy"),
    path(_ONE, releases.release, name="release"),
    path(f"{_ONE}export", releases.release_export, name="release_export"),
    path(f"{_ONE}prepare", releases.release_prepare, name="release_prepare"),
    path(f"{_ONE}withdraw", releases.release_withdraw, name="release_withdraw"),
    path(f"{_ONE}findings/", findings.findings, name="release_findings"),
    path(f"{_ONE}findings/decide", findings.release_decide, name="release_decide"),
    path(f"{_ONE}notes/<int:pk>/", findings.release_note, name="release_note"),
    path("projects/<slug:slug>/notes/<int:pk>/surrogates", findings.note_surrogates, name="note_surrogates"),
    path("projects/<slug:slug>/known/", known.known, name="known"),
    path("projects/<slug:slug>/known/lists", known.known_lists, name="known_lists"),
    path("projects/<slug:slug>/known/lists.csv", known.known_lists_csv, name="known_lists_csv"),
    path("projects/<slug:slug>/known/uploads/<int:pk>/", known.known_upload, name="known_upload"),
    path("projects/<slug:slug>/known/patients/", known.known_people, name="known_people"),
    path("projects/<slug:slug>/known/patients/<int:pk>/", known.known_person, name="known_person"),
    path("projects/<slug:slug>/surrogates/", surrogates.surrogates, name="surrogates"),
    path("projects/<slug:slug>/surrogates/merge", surrogates.surrogates_merge, name="surrogates_merge"),
    path("projects/<slug:slug>/surrogates/<int:pk>/", surrogates.surrogate, name="surrogate"),
    path("projects/<slug:slug>/surrogates/<int:pk>/change", surrogates.surrogate_change, name="surrogate_change"),
    path("projects/<slug:slug>/releases/audits/", audits.audits, name="audits"),
    path(_AUDIT, audits.release_audit, name="release_audit"),
    path(f"{_AUDIT}start", audits.audit_start, name="audit_start"),
    path(f"{_AUDIT}discard", audits.audit_discard, name="audit_discard"),
    path(f"{_AUDIT}next", audits.audit_next, name="audit_next"),
    path(f"{_AUDIT}read/", audits.audit_read, name="audit_read"),
    path(f"{_AUDIT}listen/<int:part>", audits.audit_listen, name="audit_listen"),
    path(f"{_AUDIT}mark", audits.audit_mark, name="audit_mark"),
    path(f"{_AUDIT}finish", audits.audit_finish, name="audit_finish"),
    path(f"{_AUDIT}reopen", audits.audit_reopen, name="audit_reopen"),
    path(f"{_AUDIT}leaks/", audits.audit_leaks, name="audit_leaks"),
    path(f"{_AUDIT}decide", audits.audit_decide, name="audit_decide"),
    path(f"{_ONE}certificate/sign", certificates.certificate_sign, name="certificate_sign"),
    path(f"{_CERTIFICATE}.json", certificates.certificate_download, {"format": "json"}, name="certificate_json"),
    path(f"{_CERTIFICATE}.pdf", certificates.certificate_download, {"format": "pdf"}, name="certificate_pdf"),
    path("certificates/verify", certificates.certificate_verify, name="certificate_verify"),
    path("certificates/keys/", certificates.signing_keys, name="signing_keys"),
    path("certificates/keys/<str:fingerprint>.pem", certificates.signing_key_pem, name="signing_key_pem"),
]
