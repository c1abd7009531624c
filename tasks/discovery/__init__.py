"""Steps of a discovery, from the requested columns to the published answers; each is named after its verb."""
