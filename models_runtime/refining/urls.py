from django.urls import URLPattern, path

from models_runtime.refining.views import injecting, judging

PROJECT = "projects/<slug:slug>"

urlpatterns: list[URLPattern] = [
    path(f"{PROJECT}/refinements/", judging.refinements, name="refinements"),
    path(f"{PROJECT}/skills/", judging.skills, name="skills"),
    path(f"{PROJECT}/skills/<slug:name>/", judging.skill, name="skill"),
    path(f"{PROJECT}/injections/", injecting.injections, name="injections"),
    path(f"{PROJECT}/injections/systemic", injecting.systemic, name="systemic_errors"),
    path(f"{PROJECT}/injections/<int:pk>/", injecting.injection, name="injection"),
    path(f"{PROJECT}/injections/<int:pk>/errors", injecting.injected_errors, name="injected_errors"),
    path(f"{PROJECT}/judges/", judging.judgings, name="judgings"),
    path(f"{PROJECT}/judges/ask", judging.judge, name="judge"),
    path(f"{PROJECT}/judges/<int:pk>/", judging.judging, name="judging"),
    path(f"{PROJECT}/judges/<int:pk>/entities", judging.judging_entities, name="judging_entities"),
    path(f"{PROJECT}/judges/<int:pk>/again", judging.judging_again, name="judging_again"),
    path(
        f"{PROJECT}/releases/<int:number>/model-scores", judging.surrogate_scores_start, name="surrogate_scores_start"
    ),
]
