"""Steps of a discovery, from the columns requested to the published answers; each is named by its verb."""
