"""Plotly figures of results: no data access, no Streamlit; all names in them are escaped."""
