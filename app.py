"""The Start page; `streamlit run app.py` serves the dashboard behind its guard."""

import streamlit as st
from streamlit.starlette import App

# Streamlit runs this file as a page, and imports it as a server that looks for `app`.
if __name__ == "__main__":
    from judgepanel.ui.frame import frame
    from judgepanel.ui.session import compares

    # A link from Start to Start changes the parameters of the page but not the address in the
    # browser, and the next click would send the old one.
    st.query_params.from_dict(st.query_params.to_dict())
    if compares():
        context = frame("Two analyses", "What changed, and what did it do to the answer?")
    else:
        context = frame("Start", "Which votes, and are they ready?")
    if context is not None and compares():
        from judgepanel.ui.pages import compare

        compare.page(context)
    elif context is not None:
        from judgepanel.ui.pages import start_votes

        start_votes.existing(context)
    else:
        from judgepanel.ui.pages import start

        start.fresh()
else:
    from judgepanel.ui.server import protection

    app = App(__file__, **protection())
