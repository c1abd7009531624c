"""The tags of a run in Prefect, by which its pages and `deniable release runs` find it."""

DATASET, RELEASE = "dataset: ", "release: "
