"""The public folder: staged, checked, and renamed whole, or not there at all.

release_folder: its files. data_package: datapackage.json, for other people's tools.
"""
