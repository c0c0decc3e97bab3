"""Strings that break URL parsers, shared by the tests of laws over them."""

from hypothesis import strategies as st

_ODD = st.text(alphabet="abAé1{}%/?=&.;:#@[]<>arg \x00-_~,+\ud800", max_size=40)

urls = st.one_of(
    st.text(max_size=60),
    _ODD,
    _ODD.map(lambda rest: "http://h.example" + rest),
    _ODD.map(lambda rest: "HTTPS://H.example/" + rest),
    _ODD.map(lambda rest: "http://" + rest),
)
