"""spaCy's named entity recognition: trained from blank on a project's gold, or a pipeline that is installed here."""
