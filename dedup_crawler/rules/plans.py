"""Forms of URLs without a map of each: what a URL is built like is worked out once, for all that are built so.

Which rules can be applied, where in a URL the values stand that they ask for, and how what they make of it is written:
all that is the same for URLs of one *shape* (scheme, number of path pieces, names in the query). It is a plan; a URL is
then a list of values at places that the plan knows. What :class:`~dedup_crawler.rules.engine.RuleEngine` says of rules
in a row holds here too; what goes on for too long is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.rules import deep_keys
from dedup_crawler.rules.actions import Action, Places, Text, Values, compiled
from dedup_crawler.rules.deep_keys import DeepMap
from dedup_crawler.rules.rule import Cut, Rule, UrlMap
from dedup_crawler.rules.shapes import Shape, read_query, written_names
from dedup_crawler.rules.substring_index import SubstringIndex
from dedup_crawler.rules.trie import Node, Trie
from dedup_crawler.urls.keyvalue import KeyValues, is_sorted, read_rest
from dedup_crawler.urls.normal import normal_form

_MAX_PLANS = 5_000  # of one host, about 20 MB; then they are made anew
_MAX_UNTOUCHED = 2_000
_MAX_FIRED = 9  # rules in a row
_MAX_EXTENSION = 9  # characters, with the dot


class Plan:
    """URLs of one shape; where values are read in pieces, those with the same numbers of pieces."""

    __slots__ = (
        "actions",
        "by_count",
        "constants",
        "cut",
        "cuts_left",
        "index",
        "is_inert",
        "is_sorted",
        "is_strange",
        "node",
        "places",
        "text",
        "whole",
    )

    def __init__(self, places: Places, whole: Places, text: Text, *, is_sorted: bool) -> None:
        self.places = places
        self.whole = whole
        """Places with no value in pieces."""
        self.index = places.index
        self.constants = places.constants
        self.text = text
        """How they are written, the query sorted."""
        self.is_sorted = is_sorted
        self.is_inert = False
        """Whether such URLs keep their own form, whatever their values are."""
        self.is_strange = False
        """Whether the query has names that nothing was learnt with: such URLs are left alone."""
        self.cut: tuple[int, str, int] | None = None
        """Place, delimiter and greatest number of cuts of the value that is to be read in pieces next."""
        self.cuts_left: list[tuple[str, deep_keys.Cut]] = []
        self.by_count: dict[int, Plan] = {}
        """Number of pieces -> plan of the URLs with as many."""
        self.node: Node
        self.actions: dict[Node, list[Action]] = {}


class HostPlans:
    """Plans for the URLs of one host.

    Parameters
    ----------
    trie
        The host's rules.
    url_map
        How its URLs are read.
    query_keys
        The only names in a query that are known; None for any.
    substrings
        The host's substring rules, if they are few; applied where no other rule fires.
    untouched
        Takes what stands before the last "=" of URLs that keep their own form, whatever stands behind it but more
        names: to find that there is quicker than to read such a URL.
    """

    def __init__(
        self,
        trie: Trie,
        url_map: UrlMap,
        query_keys: frozenset[str] | None = None,
        substrings: SubstringIndex | None = None,
        untouched: set[str] | None = None,
    ) -> None:
        self._trie = trie
        self.need_query = substrings is None and all(
            any(key.startswith("query[") for key in rule.required()) for rule in trie.rules
        )
        """Whether no rule is meant for a URL without a query."""
        self._query_keys = query_keys
        self._map = url_map
        self._cuts = list(url_map.cuts.items()) if isinstance(url_map, DeepMap) else []
        self._plans: dict[Shape, Plan] = {}
        self._substrings = substrings
        self._starts = tuple(old[1:] for old in substrings.starts) if substrings is not None else ()
        self._others = substrings.others if substrings is not None else ()
        self._untouched = untouched

    def form(self, scheme: str, authority: str, rest: str, fired: list[Rule] | None = None) -> str | None:
        """Form of ``scheme://authority/rest`` (in normal form); None where the engine has to be asked.

        The rules that lead there are added to *fired*, in order.
        """
        if self.need_query and "?" not in rest:
            return f"{scheme}://{authority}/{rest}"
        if rest[:1] == "/":  # a path that begins with "//" may be read anew as something else when a piece is changed
            return None
        plan, values = self._read(scheme, rest)
        if plan.is_inert:
            url = f"{scheme}://{authority}/{rest}"
            if self._untouched is not None:
                _note_untouched(url, self._untouched)
            return url
        is_written = plan.is_sorted
        for _ in range(_MAX_FIRED + 1):
            action = self._fire(plan, values)
            if action is None:
                if not is_written:
                    rest = (plan.text.template % plan.text.pick(values))[1:]
                may_fire = rest.startswith(self._starts) or (self._others and self._holds_other(rest))
                shorter = self._replaced(rest) if may_fire else None
                if shorter is None:
                    return f"{scheme}://{authority}/{rest}"
                if shorter[:1] == "/":
                    return None
                rest = shorter
                plan, values = self._read(scheme, rest)
                is_written = plan.is_sorted
                continue
            if fired is not None:
                fired.append(action.rule)
            if action.following is not None:
                if action.next_plan is None:
                    action.next_plan = self._plan(action.following.shape)
                plan, values = action.next_plan, action.following.pick(values)
                if plan.cut is not None:
                    plan, values = self._settled(plan, values)
                is_written = False
            elif action.cut is not None and (cut := _cut_value(action.cut, values)) is not None:
                values = cut
                is_written = False
            else:
                written = self._written(action, plan, values, authority)
                if written is None or written[1][:1] == "/":
                    return None
                scheme, rest = written
                plan, values = self._read(scheme, rest)
                is_written = plan.is_sorted
        return None

    def _holds_other(self, rest: str) -> bool:
        text = f"/{rest}"
        return any(old in text for old in self._others)

    def _replaced(self, rest: str) -> str | None:
        """What a substring rule makes of what stands behind the first slash; None where none fires."""
        found = self._substrings.fire(f"/{rest}") if self._substrings is not None else None
        return found[1][1:] if found is not None else None

    def _read(self, scheme: str, rest: str) -> tuple[Plan, Values]:
        """As :func:`dedup_crawler.urls.keyvalue.read_rest` reads, without the names of keys."""
        path, question, query = rest.partition("?")
        values: list[str] = []
        extension = ""
        has_slash = False
        if path:
            if path[-1] == "/" and len(path) > 1:
                has_slash = True
                path = path[:-1]
            values = path.split("/")
            last = values[-1]
            dot = last.rfind(".")
            if dot > 0 and len(last) - dot <= _MAX_EXTENSION and last[dot + 1 :].isalnum():
                extension = last[dot:]
                values[-1] = last[:dot]
        n_pieces = len(values)
        names: tuple[str, ...] = ()
        if question:
            names, its = read_query(query)
            values += its
        if extension:
            values.append(extension)
        plan = self._plan((scheme, n_pieces, extension != "", has_slash, names))
        return (plan, values) if plan.cut is None else self._settled(plan, values)

    def _plan(self, shape: Shape) -> Plan:
        plan = self._plans.get(shape)
        if plan is None:
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            plan = self._plans[shape] = self._new_plan(shape)
        return plan

    def _settled(self, plan: Plan, values: Values) -> tuple[Plan, Values]:
        """The plan of a URL and its values, in as many pieces as the rules speak of."""
        while plan.cut is not None:
            place, delimiter, most = plan.cut
            pieces = values[place].split(delimiter, most)
            following = plan.by_count.get(len(pieces))
            if following is None:
                following = plan.by_count[len(pieces)] = self._cut_plan(plan, len(values), len(pieces))
            plan, values = following, [*values, *pieces]
        return plan, values

    def _fire(self, plan: Plan, values: Values) -> Action | None:
        """What the most specific rule does that changes the URL."""
        node = plan.node
        index = plan.index
        key = node.key
        while key is not None:
            value = values[index[key]] if key in index else plan.constants[key]
            node = node.children.get(value) or self._trie.child(node, value)
            key = node.key
        actions = plan.actions.get(node)
        if actions is None:
            actions = self._actions(plan, node)
        for action in actions:
            if action.always_fires or action.fires(plan.places, values):
                return action
        return None

    def _actions(self, plan: Plan, node: Node) -> list[Action]:
        if not self._trie.n_nodes:  # there were too many of them: all begins anew
            self._plans.clear()
        found = [compiled(rule, plan.places, plan.whole, self._map) for _, rule, _ in node.rules]
        plan.actions[node] = [action for action in found if action is not None]
        return plan.actions[node]

    def _written(self, action: Action, plan: Plan, values: Values, authority: str) -> tuple[str, str] | None:
        """Scheme and rest of what a rule makes of a URL; None if it has another authority."""
        if action.text is None:
            changed = action.rule.apply(plan.places.read(values))
            scheme, text = str(changed["scheme"]), self._map.write(changed)
        else:
            scheme, text = action.scheme, action.text.template % action.text.pick(values)
            if action.is_normal:
                return scheme, text[1:]
        parts = normal_form(f"{scheme}://{authority}{text}").split("/", 3)
        return (scheme, parts[3]) if len(parts) == 4 and parts[2] == authority else None

    def _new_plan(self, shape: Shape) -> Plan:
        scheme, n_pieces, has_extension, has_slash, names = shape
        constants: KeyValues = {"scheme": scheme, "path.length": str(n_pieces)}
        if has_slash:
            constants["slash"] = "/"
        index = {f"path[{place}]": place for place in range(n_pieces)}
        query: KeyValues = {}
        parts = "&".join(written_names(names))
        if names:
            read_rest(f"/?{parts}", query)
            del query["path.length"]
        for place, (key, value) in enumerate(query.items(), start=n_pieces):
            if value is None:
                constants[key] = None
            else:
                index[key] = place
        if has_extension:
            index["ext"] = n_pieces + len(query)
        places = Places(index, constants)
        text = Text.of(self._map.write(places.marked()))
        plan = Plan(places, places, text, is_sorted=is_sorted(f"?{parts}"))
        plan.is_strange = (
            self._query_keys is not None
            and bool(parts)
            and not self._query_keys.issuperset([part.partition("=")[0] for part in written_names(names)])
        )
        self._finish(plan, self._needed_cuts(places))
        return plan

    def _cut_plan(self, plan: Plan, first: int, n_pieces: int) -> Plan:
        """Plan of the URLs whose next value has so many pieces, the first of them at the place *first*."""
        (key, _), *left = plan.cuts_left
        index = {name: place for name, place in plan.index.items() if name != key}
        index.update((f"{key}@{i}", first + i) for i in range(n_pieces))
        following = Plan(Places(index, plan.constants), plan.whole, plan.text, is_sorted=plan.is_sorted)
        following.is_strange = plan.is_strange
        self._finish(following, left)
        return following

    def _finish(self, plan: Plan, cuts: Sequence[tuple[str, deep_keys.Cut]]) -> None:
        """Say which value is cut next, or where the plan's rules are found."""
        for number, (key, (delimiter, n_pieces)) in enumerate(cuts):
            if key in plan.index:
                plan.cuts_left = list(cuts[number:])
                plan.cut = plan.index[key], delimiter, n_pieces - 1
                return
        node = self._trie.first_node(sorted((*plan.index, *plan.constants)))
        while node.key is not None and node.key in plan.constants:
            node = self._trie.child(node, plan.constants[node.key])
        plan.node = node
        plan.is_inert = plan.is_strange or (
            plan.is_sorted
            and node.key is None
            and not node.rules
            and self._substrings is None
            and plan.places is plan.whole
        )

    def _needed_cuts(self, places: Places) -> list[tuple[str, deep_keys.Cut]]:
        """Cuts of the values that a rule speaks of that may be meant for such URLs."""
        if not self._cuts:
            return []
        spoken = {key for rule in self._trie.rules if _may_match(rule, places) for key in rule.spoken()}
        return [(key, cut) for key, cut in self._cuts if any(s == key or s.startswith(f"{key}@") for s in spoken)]


def _note_untouched(url: str, heads: set[str]) -> None:
    head, _, last = url.rpartition("=")
    if "?" in head and "&" not in last:
        if len(heads) >= _MAX_UNTOUCHED:
            heads.clear()
        heads.add(head)


def _cut_value(cut: tuple[int, Cut], values: Values) -> Values | None:
    """The values with one of them cut; None where what is left may be read as something else."""
    place, operation = cut
    kept = operation.parts(values[place])[0] or ""
    return [*values[:place], kept, *values[place + 1 :]] if kept and "." not in kept else None


def _may_match(rule: Rule, places: Places) -> bool:
    """Whether a rule may be meant for URLs whose values are not in pieces yet."""
    for key in rule.required():
        whole = key.partition("@")[0]
        if whole not in places.index and whole not in places.constants:
            return False
    return all(
        matcher.matches(places.constants[key]) for key, matcher in rule.context.items() if key in places.constants
    )
