"""Certificates of releases: their content, signatures and PDF, and checking one against released files.

Everything here works without a database, so that a recipient can verify a certificate on another machine.
"""
