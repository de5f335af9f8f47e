"""The documentation as a site: the Markdown of the repository, a reference from docstrings and help, in one folder."""
