"""Models on other people's servers, by the protocols of INCEpTION's and of Label Studio's servers of models."""
