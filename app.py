"""Start: what did you bring?"""

import streamlit as st

from judgepanel.ui.frame import frame
from judgepanel.ui.pages import compare, start

# A link from Start to Start changes what the page is told and not the address that the browser
# shows, and the next click would send that old one.
st.query_params.from_dict(st.query_params.to_dict())
if compare.is_asked():
    shown = frame("Two analyses", "What changed, and what did it do to the answer?")
else:
    shown = frame("Start", "What did you bring?")
if shown is None:
    start.fresh()
elif compare.is_asked():
    compare.page(shown)
else:
    start.existing(shown)
