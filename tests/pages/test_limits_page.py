"""Too much work: the page says so, and continues when there is room."""

from judgepanel.service import jobs as jobs_module
from tests.pages.driver import CURVE, answer_of, checked, htmls, open_app, prepared, until_done


def test_a_page_without_room_for_its_work_says_so_and_tries_again(monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(jobs_module, "PER_USER", 0)
        app = open_app(CURVE, analysis=prepared("one_class", 5))  # Nobody else has asked.
        (html,) = htmls(app, "jp-problem")
        assert html.endswith("cancel one, or close its page.")
    app = until_done(checked(app.button(key="full").click().run()))
    assert htmls(app, "jp-problem") == []
    assert answer_of(app)
