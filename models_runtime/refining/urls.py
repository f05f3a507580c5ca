from django.urls import URLPattern, path

from models_runtime.refining.views import injecting, judging, refining

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/refinements/", refining.refinements, name="refinements"),
    path("projects/<slug:slug>/skills/", refining.skills, name="skills"),
    path("projects/<slug:slug>/skills/<slug:name>/", refining.skill, name="skill"),
    path("projects/<slug:slug>/injections/", injecting.injections, name="injections"),
    path("projects/<slug:slug>/injections/systemic", injecting.systemic, name="systemic_errors"),
    path("projects/<slug:slug>/injections/<int:pk>/", injecting.injection, name="injection"),
    path("projects/<slug:slug>/injections/<int:pk>/errors", injecting.injected_errors, name="injected_errors"),
    path("projects/<slug:slug>/judges/", judging.judgings, name="judgings"),
    path("projects/<slug:slug>/judges/ask", judging.judge, name="judge"),
    path("projects/<slug:slug>/judges/<int:pk>/", judging.judging, name="judging"),
    path("projects/<slug:slug>/judges/<int:pk>/entities", judging.judging_entities, name="judging_entities"),
    path("projects/<slug:slug>/judges/<int:pk>/again", judging.judging_again, name="judging_again"),
    path(
        "projects/<slug:slug>/releases/<int:number>/model-scores",
        refining.surrogate_scores_start,
        name="surrogate_scores_start",
    ),
]
