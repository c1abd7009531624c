"""The tags of a run in Prefect, by which its pages and `python -m flows runs` find it."""

DATASET, RELEASE = "dataset: ", "release: "
