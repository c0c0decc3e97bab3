"""A URL as a key-value map."""

import pytest
from hypothesis import given

from dedup_crawler.urls.keyvalue import is_sorted, key_values, url_of
from dedup_crawler.urls.normal import normal_form
from url_strategies import urls


def test_counts_the_host_from_the_right_and_the_path_from_the_left():
    """Two country mirrors differ in one key only; extension, trailing slash and path length are keys of their own."""
    american = key_values("http://us.php.example/manual/en/function.php")
    german = key_values("http://de.php.example/manual/en/function.php")

    assert {key for key in american if american[key] != german[key]} == {"host[2]"}
    assert american["host[0]"] == "example"
    assert (american["path[0]"], american["path[2]"], american["ext"]) == ("manual", "function", ".php")
    assert american["path.length"] == "3"
    assert key_values("http://a.example/x/")["slash"] == "/"


def test_keeps_repeated_keys_and_tells_an_empty_value_from_none():
    """``k``, ``k=`` and no ``k`` differ, and a second ``f`` has its own key."""
    values = key_values("http://a.example/?f=1&f=2&empty=&bare")

    assert (values["query[f]"], values["query[f]#2"]) == ("1", "2")
    assert values["query[empty]"] == ""
    assert values["query[bare]"] is None
    assert "query[other]" not in values


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/x.php?b=2&a=1", "http://a.example/x.php?a=1&b=2"),
        ("http://a.example/x?f=b&f=a", "http://a.example/x?f=b&f=a"),
        ("http://a.example/x?", "http://a.example/x?"),
        ("http://me@a.example:8080//x//", "http://me@a.example:8080//x//"),
        ("http://a.example/.hidden", "http://a.example/.hidden"),
    ],
)
def test_is_written_back_with_a_sorted_query(url, expected):
    """The map gives the URL back, except for the order of the query, which it does not keep."""
    assert url_of(key_values(url)) == expected


@given(urls)
def test_maps_and_urls_say_the_same(url):
    """For any string: reading a written map gives the same map, and a URL without a query comes back."""
    values = key_values(url)
    written = url_of(values)

    assert sorted(key_values(written).items(), key=repr) == sorted(values.items(), key=repr)
    if is_sorted(normal_form(url)):
        assert written == normal_form(url)
    assert is_sorted(written)
