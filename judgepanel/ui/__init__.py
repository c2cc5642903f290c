"""What the pages share; with app.py and pages/ the only code that imports Streamlit."""
