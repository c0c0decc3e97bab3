"""A URL as a key-value map."""

import pytest
from hypothesis import given

from dedup_crawler.urls.keyvalue import KEY_VALUES, is_sorted, values_of
from dedup_crawler.urls.normal import normal_form
from url_strategies import urls


def test_counts_the_path_from_the_left():
    """Extension, trailing slash and path length are keys of their own."""
    values = values_of("http://us.php.example/manual/en/function.php")

    assert (values["path[0]"], values["path[2]"], values["ext"]) == ("manual", "function", ".php")
    assert values["path.length"] == "3"
    assert values_of("http://a.example/x/")["slash"] == "/"


def test_keeps_repeated_keys_and_tells_an_empty_value_from_none():
    """``k``, ``k=`` and no ``k`` differ, and a second ``f`` has its own key."""
    values = values_of("http://a.example/?f=1&f=2&empty=&bare")

    assert (values["query[f]"], values["query[f]#2"]) == ("1", "2")
    assert values["query[empty]"] == ""
    assert values["query[bare]"] is None
    assert "query[other]" not in values


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("/x.php?b=2&a=1", "/x.php?a=1&b=2"),
        ("/x?f=b&f=a", "/x?f=b&f=a"),
        ("/x?", "/x?"),
        ("//x//", "//x//"),
        ("/.hidden", "/.hidden"),
        ("x", "x"),
    ],
)
def test_is_written_back_with_a_sorted_query(rest, expected):
    """The map gives the URL back, except for the order of the query, which it does not keep."""
    assert KEY_VALUES.write(KEY_VALUES.read(rest, "http")) == expected


@given(urls)
def test_maps_and_urls_say_the_same(url):
    """For any string: reading a written map gives the same map, and a URL without a query comes back."""
    rest = normal_form(url)
    values = KEY_VALUES.read(rest, "http")
    written = KEY_VALUES.write(values)

    assert sorted(KEY_VALUES.read(written, "http").items(), key=repr) == sorted(values.items(), key=repr)
    if is_sorted(rest):
        assert written == rest
    assert is_sorted(written)
