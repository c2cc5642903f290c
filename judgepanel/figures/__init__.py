"""From a result to a plotly figure; no data access, no Streamlit."""
