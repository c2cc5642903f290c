"""The dashboard's parts; the only package that imports streamlit."""
