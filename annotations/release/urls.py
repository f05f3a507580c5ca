from django.urls import URLPattern, path

from annotations.release.views import findings, new, notes, policies, releases

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
]
