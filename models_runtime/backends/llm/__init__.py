"""Language models as a backend: their answers are only ever checked as spans of the text that was sent.

The backend itself is models_runtime.backends.llm.backend, and needs the client's libraries. What pages and settings
need (servers, params, prompts) imports none of them.
"""
