"""Steps that measure utility and risk, and apply the spec's thresholds and policy."""
