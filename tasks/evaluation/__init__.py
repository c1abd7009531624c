"""Steps that measure utility and risk, and decide by the spec's thresholds and policy."""
