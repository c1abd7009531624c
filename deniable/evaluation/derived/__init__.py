"""Figures that follow from others. A module for each, which declares DERIVED; the registry lists them.

grades: for which uses a release is good. verdict: fit, unfit or unsafe, which declares no figure.
"""
