"""Steps of a survey, from collected responses to the published folder; each is named after its verb."""
