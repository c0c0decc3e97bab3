"""Spellings of one value: abbreviated hashes, capitals and small letters, spaces."""

import hashlib

from dedup_crawler.methods import make_method

HOST = "http://code.example"


def commits(n):
    """Names of commits: a hash function makes some that look like numbers, and some that begin with ten digits."""
    return [hashlib.sha1(b"commit %d" % number, usedforsecurity=False).hexdigest() for number in range(n)]


def fit(shown):
    """Learn from pairs of URL (without the host) and page."""
    pages = list(dict.fromkeys(page for _, page in shown))
    return make_method("verified").fit([HOST + rest for rest, _ in shown], [pages.index(page) for _, page in shown])


def form(method, rest):
    return method.canonicalize(HOST + rest).removeprefix(HOST)


def test_a_hash_and_its_first_digits_are_one():
    """In a path with further parts, and in a query; the rule says so."""
    names = commits(60)
    shown = [
        (rest.format(name), f"{kind} {number}")
        for number, name in enumerate(names)
        for kind, rest in (("commit", "/commit/{}"), ("commit", "/commit/{:.8}"), ("file", "/file?rev={}"))
    ]
    shown += [(f"/file?rev={name:.8}", f"file {number}") for number, name in enumerate(names)]
    method = fit(shown)
    new = hashlib.sha1(b"another", usedforsecurity=False).hexdigest()

    assert form(method, f"/commit/{new}") == f"/commit/{new[:8]}"
    assert form(method, f"/file?rev={new}") == f"/file?rev={new[:8]}"
    assert "keep the first 8 digits of a hash in path part 2" in " ".join(method.learnt())


def test_beginnings_of_other_values_are_no_hashes():
    """Ticket 12345678 is not ticket 1234, nor are two pages one because their hashes begin alike."""
    names = commits(60)
    shown = [(f"/commit/{name}", f"commit {number}") for number, name in enumerate(names)]
    shown += [(f"/commit/{name[:8]}", f"list {number}") for number, name in enumerate(names)]
    shown += [(f"/ticket/{number}", f"ticket {number}") for number in range(12345600, 12345660)]
    method = fit(shown)

    assert form(method, f"/commit/{names[0]}") == f"/commit/{names[0]}"
    assert form(method, "/ticket/1234567890") == "/ticket/1234567890"


def test_the_letter_case_of_whole_paths():
    """Links with other capitals in several parts at once, as people write them for a server that ignores them."""
    words = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa", "Lambda", "Omega"]
    shown = []
    for number, (one, other) in enumerate((one, other) for one in words for other in words if one != other):
        shown.append((f"/{one}/{other}.aspx", number))
        if number % 3 == 0:
            shown.append((f"/{one}/{other}.aspx".lower(), number))
        if number % 5 == 0:
            shown.append((f"/{one}/{other}.aspx".upper(), number))
    method = fit(shown)

    assert form(method, "/News/Archive.aspx") == form(method, "/NEWS/ARCHIVE.ASPX") == "/news/archive.aspx"
    assert "ignore the letter case of the extension, path part 1 and path part 2" in " ".join(method.learnt())


def test_the_letter_case_of_names_that_were_never_written_two_ways_matters():
    """A list shows a thread under /T/ and /t/; two names in the part before may differ in nothing but their case."""
    shown = []
    for number in range(40):
        shown += [(f"/Mail{number}x{number * number}/T/", number), (f"/Mail{number}x{number * number}/t/", number)]
    method = fit(shown)

    assert form(method, "/Mail99/T/") == form(method, "/Mail99/t/")
    assert form(method, "/Mail99/T/") != form(method, "/mail99/T/")


def test_the_letter_case_of_titles_matters():
    """In a wiki, /wiki/Windows and /wiki/windows are two pages."""
    shown = [(f"/wiki/{prefix}ord-{number}", f"{prefix} {number}") for number in range(40) for prefix in "Ww"]

    assert form(fit(shown), "/wiki/Word-99") == "/wiki/Word-99"


def test_the_letter_case_of_one_key():
    """A search ignores it, the path does not."""
    shown = []
    for number in range(40):
        shown += [(f"/search?q=Term{number}", f"found {number}"), (f"/search?q=term{number}", f"found {number}")]
        shown += [(f"/Doc/{number}", f"old {number}"), (f"/doc/{number}", f"new {number}")]
    method = fit(shown)

    assert form(method, "/search?q=Another") == "/search?q=another"
    assert form(method, "/Doc/77") == "/Doc/77"


def test_spaces_of_forms():
    """A search form sends ``+``, links say ``%20``; an underscore is another character there."""
    shown = []
    for number in range(40):
        shown += [(f"/search?q=red+shoe+{number}", number), (f"/search?q=red%20shoe%20{number}", number)]
        shown += [(f"/search?q=red_shoe_{number}", -1 - number)]
    method = fit(shown)

    assert form(method, "/search?q=blue+hat") == form(method, "/search?q=blue%20hat") == "/search?q=blue%20hat"
    assert form(method, "/search?q=blue_hat") == "/search?q=blue_hat"


def test_spaces_of_wikis():
    """``/wiki/Main_Page`` is ``/wiki/Main%20Page``; in the path of its files it is not."""
    shown = []
    for number in range(40):
        shown += [(f"/wiki/Old_Town_{number}", f"page {number}"), (f"/wiki/Old%20Town%20{number}", f"page {number}")]
        shown += [(f"/files/a_{number}.png", f"new {number}"), (f"/files/a%20{number}.png", f"old {number}")]
    method = fit(shown)

    assert form(method, "/wiki/New%20Page") == "/wiki/New_Page"
    assert form(method, "/files/b%201.png") == "/files/b%201.png"


def test_a_plus_sign_in_a_path_is_no_space():
    """It stands for a space only in queries: even forty pages with both spellings teach nothing about paths."""
    shown = []
    for number in range(40):
        shown += [(f"/tag/c+{number}", number), (f"/tag/c_{number}", number)]

    assert form(fit(shown), "/tag/new+1") == "/tag/new+1"
