"""Results as text, tables, HTML pages, plots and data frames: one module a subject, such as `release`.

Import the subject. Subjects share `numbers`, `promises`, `style`, `curves` and `writers`.
"""
