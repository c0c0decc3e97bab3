"""Detection of walls, which answer for many URLs with one page: a log-in form, a captcha, a redirect to the home page.

Read ``walls.py`` first (many answers, and the check whether it is a wall), then ``alike_answers.py`` (a few in a row).
"""
