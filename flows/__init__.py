"""The story of a release, one screen a flow."""
