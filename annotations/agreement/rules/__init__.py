"""Agreement between annotators: units, granularities, coefficients, intervals and estimated recall.

`figures` computes everything that the page and the command show, from the parts in the other modules.
"""
