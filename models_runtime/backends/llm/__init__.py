"""Language models as a backend. Their answers are only used as spans of the text that was sent.

The backend is models_runtime.backends.llm.backend, and needs the client's libraries. The modules that pages and
settings use (servers, params, prompts) import none of them.
"""
