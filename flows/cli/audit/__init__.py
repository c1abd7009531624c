"""Commands that need the state folder or run a release again: release, replay."""
