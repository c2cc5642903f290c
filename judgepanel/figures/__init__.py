"""Results as plotly figures: no data access, no Streamlit; every name in them is escaped."""
