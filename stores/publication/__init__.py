"""The public folder: staged, checked and moved into place as a whole, or not created at all.

release_folder: its files. data_package: datapackage.json, for other tools.
"""
