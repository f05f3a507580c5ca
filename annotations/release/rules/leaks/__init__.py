"""The leak gate: identifiers that are still in a released text. Offsets are code points, end-exclusive."""
