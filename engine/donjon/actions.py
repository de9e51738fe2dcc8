"""What a seat may ask for (rules 2.2 and 2.3): one class an action, stored under its kebab-case name."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from engine.donjon.grid import Rotation
from engine.protocol import Action, by_name

Coordinate = Annotated[int, Meta(ge=-99, le=99)]
Cell = tuple[Coordinate, Coordinate]
"""``[x, y]``: x grows eastwards, y southwards, the start tile is ``[0, 0]``."""
Drop = Literal["dagger", "sword", "axe", "attack-scroll", "healing-scroll"] | UnsetType
"""The item left behind for the one taken, named only when every slot of its sort is full."""


class Move(Action, frozen=True):
    """One step: to a neighbour, from portal to portal, or into the dark."""

    to: Cell


class PlaceTile(Action, frozen=True):
    """Turn the drawn tile clockwise by so many degrees, and enter it."""

    rotation: Rotation


class ResolveTrap(Action, frozen=True):
    """Take the trap's blow."""


class Fight(Action, frozen=True):
    """Aderyn attacks what she could have sneaked past."""


class RollDice(Action, frozen=True):
    """Roll for the fight."""


class UseAttackScroll(Action, frozen=True):
    """Add one to the total, at the cost of an attack scroll."""


class Sacrifice(Action, frozen=True):
    """Xanros adds one to the total, at the cost of a hit point."""


class AcceptResult(Action, frozen=True):
    """Let the fight end as it stands."""


class TakeLoot(Action, frozen=True):
    """Take what the beaten monster left."""

    drop: Drop = UNSET


class LeaveLoot(Action, frozen=True):
    """Leave it where it lies."""


class PickUp(Action, frozen=True):
    """Take the item that lies on the tile."""

    drop: Drop = UNSET


class OpenChest(Action, frozen=True):
    """Open the closed chest with a key."""


class UseFountain(Action, frozen=True):
    """Stop at the fountain and be healed."""


class UseHealingScroll(Action, frozen=True):
    """Read a healing scroll: one hit point."""


class Swap(Action, frozen=True):
    """Xanros changes places with the hero of another seat."""

    seat: Annotated[int, Meta(ge=1, le=6)]


class Reincarnate(Action, frozen=True):
    """Horan comes back to life at a fountain."""

    at: Cell


class DeclineReincarnation(Action, frozen=True):
    """Horan stays where he fell."""


class EndTurn(Action, frozen=True):
    """Next."""


ACTIONS: Final[dict[str, type[Action]]] = by_name(
    Move,
    PlaceTile,
    ResolveTrap,
    Fight,
    RollDice,
    UseAttackScroll,
    Sacrifice,
    AcceptResult,
    TakeLoot,
    LeaveLoot,
    PickUp,
    OpenChest,
    UseFountain,
    UseHealingScroll,
    Swap,
    Reincarnate,
    DeclineReincarnation,
    EndTurn,
)
