"""Drafts: the next events of a game, sealed and folded, but not yet written.

A draft works on a copy of a position. What it makes is handed to the log in one append; only then does the copy become
the game's position. Nothing here reads a clock, a key file or the database.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from engine.chance import Committed
from engine.protocol import Action, Happening, Setup, name_and_args
from events import seeds
from events.bodies import (
    Act,
    Body,
    BotName,
    Close,
    Create,
    Drawn,
    Handover,
    Join,
    Leave,
    Lock,
    Resign,
    Reveal,
    Seeded,
    Signoff,
    Timeout,
    plain,
)
from events.event import Event
from events.signing import Sealed, SignedAction
from replay.position import FINISHED, OPEN, PLAYING, VOID, Finding, NotYourTurn, Position

FORK_LIMIT = 49_152
"""Most bytes of a state that a fork begins with: it stands in the lock event."""


class WrongStatus(Exception):
    """The game is not in the status that the act needs."""

    def __init__(self, status: str, needed: str) -> None:
        super().__init__(f"the game is {status}, not {needed}")
        self.status, self.needed = status, needed


class WrongSignature(Exception):
    """What a seat sent is not its next signed action, and why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


class MustSign(Exception):
    """The seat is in self-custody, and what it does has to be signed; or the reverse."""

    def __init__(self, seat: int, signs: bool) -> None:
        super().__init__(f"seat {seat} {'signs' if signs else 'does not sign'} what it does")
        self.seat, self.signs = seat, signs


class Draft:
    """The next events of one game, made at ``now_ms``; ``chain`` is the server's own for this game, None where its key
    was lost: then the game can only be closed."""

    def __init__(self, position: Position, now_ms: int, chain: seeds.Chain | None) -> None:
        self.expected, self.expected_head = position.version, position.head
        self.position = position.copy()
        self.events: list[Event] = []
        self.happenings: list[Happening] = []
        self._now_ms, self._known_chain = max(now_ms, position.t_ms), chain

    # -- before the start ------------------------------------------------------------------------------------------

    def create(self, body: Create) -> None:
        """Open the table."""
        self._fold(self._seal("create", None, body))

    def join(
        self,
        seat: int,
        player: bytes,
        choice: Mapping[str, Any],
        bot: BotName | None = None,
        sealed: Sealed | None = None,
    ) -> None:
        """A player, or a bot, sits down on a free seat; with a signed join, in self-custody.

        :raises WrongSignature: it is not signed as it must be.
        :raises Diverged: the seat is taken or the choice is not to be had (callers check first, for better words).
        """
        self._require(OPEN)
        body = Join(player=player, choice=dict(choice), custody="server", bot=bot or UNSET)
        if sealed is not None:
            self._verify(sealed)
            signed = sealed.action
            pk, signature = signed.args["pk"], sealed.signature
            body = Join(player=player, choice=dict(choice), custody="self", pk=pk, a=signed.data, g=signature)
        self._fold(self._seal("join", seat, body))

    def leave(self, seat: int) -> None:
        """A seat is free again."""
        self._require(OPEN)
        self._fold(self._seal("leave", seat, Leave()))

    def start(self, state: dict[str, Any] | None = None) -> None:
        """Lock the table; the rules begin once the seats in self-custody have revealed a link. ``state``: a fork's."""
        self._require(OPEN)
        table = self.position.table()
        setup = Setup(table.options, table.seats, UNSET if state is None else state)
        self._fold(self._seal("lock", None, Lock(setup=msgspec.to_builtins(setup))))
        self._begin()

    def reveal(self, sealed: Sealed) -> None:
        """A seat in self-custody reveals its first link; behind the last one the rules begin.

        :raises WrongStatus: no reveal of the seat is waited for.
        :raises WrongSignature: it is not signed as it must be.
        """
        if sealed.action.seat not in self.position.to_reveal:
            raise WrongStatus(self.position.status, "locked")
        self._verify(sealed)
        self._fold(self._seal("reveal", sealed.action.seat, Reveal(a=sealed.action.data, g=sealed.signature)))
        self._begin()

    def unlock(self, seat: int) -> None:
        """A seat in self-custody did not reveal its link: it is free, and the table open again."""
        self._fold(self._seal("timeout", seat, Timeout()))

    def _begin(self) -> None:
        """Reveal the server's first link, and let the rules begin, or go on from a fork's state."""
        position = self.position
        if position.to_reveal:
            return
        assert position.rules is not None
        assert position.setup is not None
        link = self._chain.link(1)
        mix = position.setup_mix(link)
        chance = Committed(lambda: seeds.blocks(mix))
        seeded = position.copy()
        if position.setup.state is UNSET:
            seeded.state = position.rules.initial(position.setup)
            position.rules.begin(seeded.state, chance)
        body = Seeded(x=(0, link, chance.draws), f=seeded.state_hash()[:8])
        self._fold(self._seal("seeded", None, body))

    # -- play ------------------------------------------------------------------------------------------------------

    def act(self, seat: int, action: Action, mark: bytes | None = None, sealed: Sealed | None = None) -> None:
        """Carry out one action; ``mark`` is its idempotency key's ``k``. A game that ends is closed with it.

        :raises WrongStatus: the game is not being played.
        :raises MustSign, WrongSignature: it is not signed, or not as it must be.
        :raises NotYourTurn: the seat is not to act.
        :raises Illegal: the rules refuse it.
        """
        self._require(PLAYING)
        position = self.position
        signed = self._signed(seat, sealed)
        if seat not in position.to_act:
            raise NotYourTurn(seat)
        assert position.rules is not None
        number = position.dice.revealed + 1
        own = None if signed is None else signed.r
        chance = Committed(lambda: seeds.blocks(position.mixed(seat, self._chain.link(number), own)))
        self.happenings += position.rules.apply(position.state, seat, action, chance)
        x: Drawn | None = None
        if chance.draws:
            x = (position.dice.j + 1, self._chain.link(number), chance.draws)
        body = Act(
            a=name_and_args(action) if signed is None else signed.data,
            f=position.state_hash()[:8],
            x=x or UNSET,
            k=mark or UNSET,
            g=UNSET if sealed is None else sealed.signature,
        )
        position.adopt(self._seal("act", seat, body), x, signed)
        self._end()

    def time_out(self, seat: int) -> None:
        """The rules settle the absent seat's turn."""
        self._require(PLAYING)
        assert self.position.rules is not None
        self.happenings += self.position.rules.time_out(self.position.state, seat)
        self.position.adopt(self._seal("timeout", seat, Timeout(f=self.position.state_hash()[:8])))
        self._end()

    def resign(self, seat: int, sealed: Sealed | None = None) -> None:
        """The seat leaves for good.

        :raises MustSign, WrongSignature: it is not signed, or not as it must be.
        """
        self._require(PLAYING)
        position = self.position
        signed = self._signed(seat, sealed)
        assert position.rules is not None
        self.happenings += position.rules.withdraw(position.state, seat)
        body = Resign(
            a=("resign", {}) if signed is None else signed.data,
            f=position.state_hash()[:8],
            g=UNSET if sealed is None else sealed.signature,
        )
        position.adopt(self._seal("resign", seat, body), signed=signed)
        self._end()

    def sign_off(self, sealed: Sealed) -> None:
        """A seat in self-custody vouches for how the game ended; behind the last of them it is closed.

        :raises WrongStatus: the seat's word is not waited for.
        :raises WrongSignature: it is not signed as it must be.
        """
        seat = sealed.action.seat
        if seat not in self.position.to_sign_off:
            raise WrongStatus(self.position.status, FINISHED)
        self._verify(sealed)
        self._fold(self._seal("signoff", seat, Signoff(a=sealed.action.data, g=sealed.signature)))
        self._end()

    def hand_over(self, seat: int, by: bytes | BotName) -> None:
        """From here on a player or a bot plays the seat, unsigned."""
        self._require(PLAYING)
        self._fold(self._seal("custody", None, Handover(seat=seat, by=by)))

    def close(self, status: str, reason: str | None = None) -> None:
        """The last event: the server's tail becomes public, where it is known."""
        position = self.position
        state_hash = UNSET if position.state is None else position.state_hash()
        tail = UNSET if self._known_chain is None else self._chain.link(self._chain.length)
        self._fold(
            self._seal(
                "close",
                None,
                Close(status=status, tail=tail, state_hash=state_hash, reason=reason or UNSET),  # type: ignore[arg-type]
            )
        )

    # -- how -------------------------------------------------------------------------------------------------------

    @property
    def _chain(self) -> seeds.Chain:
        assert self._known_chain is not None, "without its key a game can only be closed"
        return self._known_chain

    def _signed(self, seat: int, sealed: Sealed | None) -> SignedAction | None:
        if (sealed is not None) != self.position.seats[seat - 1].signs:
            raise MustSign(seat, self.position.seats[seat - 1].signs)
        return None if sealed is None else self._verify(sealed)

    def _verify(self, sealed: Sealed) -> SignedAction:
        position = self.position
        finding = position.wrong_signature(sealed.action, sealed.signature, position.version, position.head)
        if finding is not None:
            raise WrongSignature(finding)
        return sealed.action

    def _require(self, status: str) -> None:
        if self.position.closed or self.position.status != status:
            raise WrongStatus(self.position.status, status)

    def _seal(self, kind: str, seat: int | None, body: Body) -> Event:
        position = self.position
        event = Event.write(
            position.game_id, position.version + 1, position.head, self._now_ms, kind, seat, plain(body)
        )
        self.events.append(event)
        return event

    def _fold(self, event: Event) -> None:
        self.happenings += self.position.advance(event)

    def _end(self) -> None:
        """A game that is over is closed in the same append, once every seat in self-custody has signed off."""
        position = self.position
        if position.status == FINISHED:
            if not position.to_sign_off or position.spent:
                self.close(FINISHED)
        elif position.spent:
            self.close(VOID, "chain-exhausted")
