"""Prime components: the small tables that a hierarchical model can be fitted on, one by one.

The interaction graph joins keys that share a term. Where a set of keys that lies in one term cuts
the graph in two, the maximum likelihood fit factorises: `mu = product of components / product of
separators`.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def junction_tree(terms: tuple[Term, ...], keys: int) -> JunctionTree:
    """Return the prime components of a generating class.

    >>> junction_tree(((0, 1), (1, 2)), 3)
    JunctionTree(components=((0, 1), (1, 2)), separators=((), (1,)), parents=(-1, 0))
    """
    cliques = _cliques_of_triangulation(_graph(terms, keys))
    groups, parents, group_of = [set(cliques[0])], [-1], {0: 0}
    for one, other in _spanning_tree(cliques):
        shared = cliques[one] & cliques[other]
        if any(shared <= set(term) for term in terms):
            group_of[other] = len(groups)
            groups.append(set(cliques[other]))
            parents.append(group_of[one])
        else:  # both must be fitted together
            group_of[other] = group_of[one]
            groups[group_of[one]] |= cliques[other]
    components = tuple(tuple(sorted(group)) for group in groups)
    separators = tuple(
        () if parent < 0 else tuple(sorted(groups[parent] & group))
        for group, parent in zip(groups, parents, strict=True)
    )
    return JunctionTree(components, separators, tuple(parents))


def _graph(terms: tuple[Term, ...], keys: int) -> list[set[int]]:
    neighbours: list[set[int]] = [set() for _ in range(keys)]
    for term in terms:
        for one, other in combinations(term, 2):
            neighbours[one].add(other)
            neighbours[other].add(one)
    return neighbours


def _cliques_of_triangulation(neighbours: list[set[int]]) -> list[set[int]]:
    """Return the maximal cliques of a minimal triangulation (maximum cardinality search, MCS-M)."""
    keys = len(neighbours)
    filled = [set(near) for near in neighbours]
    weight, order, left = [0] * keys, [], set(range(keys))
    while left:
        chosen = max(sorted(left), key=lambda key: weight[key])
        left.remove(chosen)
        for key in _reached(chosen, left, neighbours, weight):
            weight[key] += 1
            filled[chosen].add(key)
            filled[key].add(chosen)
        order.append(chosen)
    cliques: list[set[int]] = []
    for position, key in enumerate(order):
        clique = {key} | (filled[key] & set(order[:position]))
        cliques = [one for one in cliques if not one <= clique]
        if not any(clique <= one for one in cliques):
            cliques.append(clique)
    return cliques


def _reached(
    start: int, left: set[int], neighbours: list[set[int]], weight: list[int]
) -> list[int]:
    """Return keys that a path from `start` reaches through keys of smaller weight only."""
    reached = []
    for goal in left:
        inner = {key for key in left if weight[key] < weight[goal]}
        seen, stack = {start}, [start]
        while stack:
            here = stack.pop()
            if goal in neighbours[here]:
                reached.append(goal)
                break
            fresh = (neighbours[here] & inner) - seen
            seen |= fresh
            stack += fresh
    return reached


def _spanning_tree(cliques: list[set[int]]) -> list[tuple[int, int]]:
    """Return a tree over the cliques that joins those which share most (a junction tree)."""
    joined, edges = {0}, []
    while len(joined) < len(cliques):
        one, other = max(
            ((a, b) for a in joined for b in range(len(cliques)) if b not in joined),
            key=lambda pair: len(cliques[pair[0]] & cliques[pair[1]]),
        )
        joined.add(other)
        edges.append((one, other))
    return edges
