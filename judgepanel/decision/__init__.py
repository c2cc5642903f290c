"""From evidence to a decision: recommendation, exported panel, scoring of new votes."""
