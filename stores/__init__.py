"""Where things are kept: sources, the vault, MLflow, the release folder. No mathematics, no orchestration."""
