"""Sites that answer with one page for everything: a log-in form, a captcha, a redirect to the home page.

Read ``walls.py`` first, then ``freeze.py`` (many answers), ``alike_answers.py`` (a few in a row) and ``sinks.py``
(redirects). Two pages are compared elsewhere, in ``live/comparing/``.
"""
