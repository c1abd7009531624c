"""Steps on confidential rows: account for the cost, ingest, validate, clean, split."""
