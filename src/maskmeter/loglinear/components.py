"""Prime components: the small tables that a hierarchical model can be fitted on, one by one.

The interaction graph joins keys that share a term. Where a set of keys that lies in one term cuts
the graph in two, the maximum likelihood fit factorises: `mu = product of components / product of
separators`. Sets of keys are held as the bits of a whole number: a search looks at hundreds of graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from maskmeter.loglinear.terms import Term


@dataclass(frozen=True)
class JunctionTree:
    """Components in an order in which each meets the ones before it in one separator.

    `separators[i]` is what component i shares with `parents[i]`; the first has neither.
    """

    components: tuple[Term, ...]
    separators: tuple[Term, ...]
    parents: tuple[int, ...]

    @cached_property
    def neighbours(self) -> tuple[tuple[tuple[int, Term], ...], ...]:
        """The components that each component shares keys with, along the tree, and these keys."""
        near: list[list[tuple[int, Term]]] = [[] for _ in self.components]
        for child, (parent, shared) in enumerate(zip(self.parents, self.separators, strict=True)):
            if shared:
                near[child].append((parent, shared))
                near[parent].append((child, shared))
        return tuple(map(tuple, near))

    def keys_between(self, term: Term) -> Term:
        """Return the keys of the components that join the keys of a term.

        >>> junction_tree(((0, 1), (1, 2), (2, 3), (4,)), 5).keys_between((0, 2))
        (0, 1, 2)
        """
        holders = [set(keys) for keys in self.components if set(term) <= set(keys)]
        joined = min(holders, key=len, default=set())
        for one, other in combinations(term, 2) if not holders else ():
            for position in self._path(one, other):
                joined |= set(self.components[position])
        return tuple(sorted(joined))

    def _path(self, one: int, other: int) -> list[int]:
        """Return the components on the shortest way from one key to another, or their homes."""
        homes = [position for position, keys in enumerate(self.components) if one in keys]
        came: dict[int, int] = dict.fromkeys(homes, -1)
        for here in (queue := list(homes)):
            if other in self.components[here]:
                path = [here]
                while came[path[-1]] >= 0:
                    path.append(came[path[-1]])
                return path
            fresh = [there for there, _ in self.neighbours[here] if there not in came]
            came.update(dict.fromkeys(fresh, here))
            queue += fresh
        return [homes[0], next(p for p, keys in enumerate(self.components) if other in keys)]


def junction_tree(terms: tuple[Term, ...], keys: int) -> JunctionTree:
    """Return the prime components of a generating class.

    >>> junction_tree(((0, 1), (1, 2)), 3)
    JunctionTree(components=((0, 1), (1, 2)), separators=((), (1,)), parents=(-1, 0))
    """
    held = [_set(term) for term in terms]
    cliques = _cliques_of_triangulation(_graph(held, keys))
    groups, parents, group_of = [cliques[0]], [-1], {0: 0}
    for one, other in _spanning_tree(cliques):
        shared = cliques[one] & cliques[other]
        if any(not shared & ~term for term in held):
            group_of[other] = len(groups)
            groups.append(cliques[other])
            parents.append(group_of[one])
        else:  # both must be fitted together
            group_of[other] = group_of[one]
            groups[group_of[one]] |= cliques[other]
    separators = (
        () if parent < 0 else tuple(_members(groups[parent] & group))
        for group, parent in zip(groups, parents, strict=True)
    )
    components = tuple(tuple(_members(group)) for group in groups)
    return JunctionTree(components, tuple(separators), tuple(parents))


def components_with(tree: JunctionTree, terms: tuple[Term, ...], term: Term) -> list[Term]:
    """Return the prime components that a term more makes of those it joins; others stay.

    `terms` are those of the model with the term, `tree` is that of the model without it.

    >>> tree = junction_tree(((0, 1), (1, 2), (3, 4)), 5)
    >>> components_with(tree, ((0, 1), (1, 2), (0, 2), (3, 4)), (0, 2))
    [(0, 1, 2)]
    """
    near = tree.keys_between(term)
    number = {key: position for position, key in enumerate(near)}
    held = {tuple(number[key] for key in one if key in number) for one in terms}
    parts = junction_tree(tuple(held - {()}), len(near)).components
    return [tuple(near[position] for position in keys) for keys in parts]


def _set(keys: Iterable[int]) -> int:
    """Return a set of keys as the bits of a number."""
    return sum(1 << key for key in keys)


def _members(held: int) -> Iterator[int]:
    """Yield the keys of a set, in order."""
    while held:
        yield (held & -held).bit_length() - 1
        held &= held - 1


def _graph(terms: list[int], keys: int) -> list[int]:
    neighbours = [0] * keys
    for term in terms:
        for key in _members(term):
            neighbours[key] |= term & ~(1 << key)
    return neighbours


def _cliques_of_triangulation(neighbours: list[int]) -> list[int]:
    """Return the maximal cliques of a minimal triangulation (maximum cardinality search, MCS-M)."""
    keys = len(neighbours)
    weight, earlier, left = [0] * keys, [0] * keys, (1 << keys) - 1
    cliques: list[int] = []
    while left:
        chosen = max(_members(left), key=lambda key: weight[key])
        left &= ~(1 << chosen)
        for key in _members(_reached(chosen, left, neighbours, weight)):
            weight[key] += 1
            earlier[key] |= 1 << chosen
        clique = earlier[chosen] | 1 << chosen
        cliques = [one for one in cliques if one & ~clique]
        if all(clique & ~one for one in cliques):
            cliques.append(clique)
    return cliques


def _reached(start: int, left: int, neighbours: list[int], weight: list[int]) -> int:
    """Return the keys that a path from `start` reaches through keys of smaller weight only."""
    levels: dict[int, int] = {}
    for key in _members(left):
        levels[weight[key]] = levels.get(weight[key], 0) | 1 << key
    reached = passed = lighter = 0
    seen = neighbours[start] & left
    for level in sorted(levels):
        while fresh := seen & lighter & ~passed:
            passed |= fresh
            for key in _members(fresh):
                seen |= neighbours[key] & left
        reached |= seen & levels[level]
        lighter |= levels[level]
    return reached


def _spanning_tree(cliques: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the edges of a tree over the cliques that joins those which share most."""
    # For each clique outside, how much it shares with the one inside that it shares most with.
    nearest = {other: (cliques[0] & cliques[other]).bit_count() for other in range(1, len(cliques))}
    inside = dict.fromkeys(nearest, 0)
    while nearest:
        other = min(nearest, key=lambda one: (-nearest[one], inside[one], one))
        yield inside.pop(other), other
        del nearest[other]
        for one, most in nearest.items():
            shared = (cliques[other] & cliques[one]).bit_count()
            if (-shared, other) < (-most, inside[one]):
                nearest[one], inside[one] = shared, other
