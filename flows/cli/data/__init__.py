"""Commands about answers: survey, which publishes randomized responses."""
