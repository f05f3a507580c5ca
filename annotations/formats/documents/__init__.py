"""Documents as they come (PDF, Word, HTML, e-mail, archives and others): the text of their notes, and where it stands.

`extracting` is the entrance: it reads documents in a child process without network and with limits. Offsets are code
points, end-exclusive.
"""
