"""From evidence to a decision: recommendation, the exported panel, scoring new votes."""
