from django.urls import URLPattern, path

from annotations.release.views import certificates, verifying

urlpatterns: list[URLPattern] = [
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
