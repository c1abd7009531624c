"""What people look at: pages, plots, and the figures on them. Everything is made from stored values.

pages: whole pages. plots: pictures. figures: values prepared to be shown. templates: HTML, CSS and scripts.
"""
