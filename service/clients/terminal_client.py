"""`annals play`: a client for the terminal that knows nothing but the REST API, and so proves it.

It sits at one table: shows the board, lists the legal actions by number, sends the chosen one, and follows what the
others do as it happens.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from engine.registry import game_name
from events.seat import from_phrase, new_secret, to_phrase
from events.tlog.policy import Policy
from replay.games import telling
from replay.words import words
from service.clients.self_custody import MEDIA_TYPE, Checkpoint, SelfCustody

CLOSED: Final = ("finished", "abandoned", "void")
HELP: Final = "a number plays it · ? what is refused, and why · b board · r resign · q quit"
_TRIES: Final = 5
_LOG_WAIT_S: Final = 10
"""How long the service may take to log the opening of a table, in seconds."""


class Refused(Exception):
    """The service says no, or is not there; the message is for the person at the terminal."""


@dataclass(slots=True)
class Api:
    """The calls of one player to one service. What may fail on the way is sent again: every act carries a key."""

    server: str
    language: str = "en"
    token: str | None = None
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=httpx.Timeout(10.0, read=30.0)))

    def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path.

        :raises Refused: the service says no.
        """
        return self._accepted(self._send("GET", path, params=query)).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """What the service answers to a request to do something, done once however often it is sent.

        :raises Refused: the service says no.
        """
        return self._accepted(self.try_post(path, body, **query)).json()

    def look(self, path: str, **query: Any) -> httpx.Response:
        """What is at a path, a refusal too."""
        return self._send("GET", path, params=query)

    def fetch(self, path: str, media: str, **query: Any) -> bytes:
        """What is at a path, in another media type.

        :raises Refused: the service says no.
        """
        return self._accepted(self._send("GET", path, params=query, headers={"Accept": media})).content

    def try_post(self, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> httpx.Response:
        """The same, where a refusal is an answer too."""
        return self._send(
            "POST", path, json=body or {}, params=query, headers={"Idempotency-Key": secrets.token_hex(16)}
        )

    def follow(self, path: str, after: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """(event type, data) of a live stream from version ``after``, through broken connections, until its end."""
        last = after
        while True:
            headers = self._headers() | {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
            try:
                with self.http.stream("GET", self.server + path, headers=headers) as response:
                    if response.status_code != 200:
                        response.read()
                        self._accepted(response)
                    for kind, number, data in messages(response.iter_lines()):
                        last = number if number is not None else last
                        yield kind, msgspec.json.decode(data)
                        if kind == "end":
                            return
            except httpx.TransportError:
                time.sleep(1)  # the stream asks for so long

    def _send(self, method: str, path: str, headers: Mapping[str, str] = {}, **more: Any) -> httpx.Response:
        for attempt in range(_TRIES):
            try:
                response = self.http.request(
                    method, self.server + path, headers=self._headers() | dict(headers), **more
                )
            except httpx.TransportError as error:
                if attempt == _TRIES - 1:
                    raise Refused(f"{self.server} does not answer: {error}") from error
            else:
                if response.status_code != 503 or attempt == _TRIES - 1:
                    return response
            time.sleep(0.2 * 2**attempt)
        raise AssertionError("unreachable")

    def _headers(self) -> dict[str, str]:
        return {"Accept-Language": self.language} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})

    def _accepted(self, response: httpx.Response) -> httpx.Response:
        if response.is_success:
            return response
        raise Refused(problem(response))


def messages(lines: Iterator[str]) -> Iterator[tuple[str, int | None, bytes]]:
    """(event type, id, data) of the messages in a stream of Server-Sent Events."""
    kind, number, data = "message", None, list[str]()
    for line in lines:
        if not line:
            if data:
                yield kind, number, "\n".join(data).encode()
            kind, number, data = "message", None, []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
        elif name == "id" and value.isdigit():
            number = int(value)


def problem(response: httpx.Response) -> str:
    """What a refusal says."""
    try:
        told = response.json()
    except ValueError:
        return f"{response.status_code} {response.reason_phrase}"
    return str(told.get("detail") or told.get("title") or response.reason_phrase)


def play(
    *,
    game: str | None,
    server: str,
    token: str | None,
    name: str | None,
    new: str | None,
    seats: int,
    bots: bool,
    choose: Sequence[str],
    keep_keys: Path | None,
    policy: Path | None,
    without_log: bool,
    lang: str,
    ask: Callable[[str], str] | None = None,
    console: Console | None = None,
) -> None:
    """Play or watch one game until it is over or the person has had enough.

    ``keep_keys``: a file with an account secret, made if it is not there; we sit down in self-custody, sign whatever we
    do, and check every event of the game before we sign the next. ``policy``: a file with the keys of the log of games
    to trust; without one we trust what the service says are its own. ``without_log``: sit down though the opening of
    the table is in no log.

    :raises Refused: the service says no, or is not there.
    :raises replay.position.Diverged: the service's history of a game whose keys we keep does not hold.
    """
    console = console or Console()
    if game is not None and "://" in game:
        server, _, game = game.rstrip("/").rpartition("/")
        server = server.partition("/v1/")[0].partition("/games")[0]
    api = Api(server.rstrip("/"), lang, token)
    if name is not None:
        registered = api.post("/v1/players", {"name": name})
        api.token = registered["token"]
        console.print(f"You are {registered['name']}. To come back: ANNALS_TOKEN={registered['token']}", markup=False)
    secret = None if keep_keys is None else account_secret(keep_keys)
    chosen = choices(choose)
    if new is not None:
        game = _open(api, new, seats, {"sit": False} if secret else chosen)
        console.print(f"The table is {api.server}/v1/games/{game}", markup=False)
    assert game is not None
    table = Table(api, game.rstrip("/").rpartition("/")[2], console, ask or console.input)
    if secret is not None:
        table.keep_keys(secret, chosen, policy, without_log=without_log)
    if new is not None and bots:
        _fill(api, table.path)
    table.sit()


def account_secret(path: Path) -> bytes:
    """The account secret whose phrase is in a file of mode 0600, made if it is not there.

    :raises Refused: the file holds none.
    """
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(to_phrase(new_secret()) + "\n")
    except FileExistsError:
        pass
    try:
        return from_phrase(path.read_text(encoding="ascii"))
    except ValueError as error:
        raise Refused(f"{path} holds no account phrase: {error}") from error


def choices(pairs: Sequence[str]) -> dict[str, str]:
    """``hero=tala`` as a member of a request."""
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _open(api: Api, game: str, seats: int, chosen: Mapping[str, Any]) -> str:
    """A new table: the newest ruleset of that game, with us on seat 1 unless ``sit`` is false."""
    if api.token is None:
        raise Refused("who opens the table? Give --name to register, or --token")
    offered = [one["ruleset"] for one in api.get("/v1/rulesets")["rulesets"]]
    found = [one for one in offered if game in (one, game_name(one))]
    if not found:
        raise Refused(f"no game {game} is on offer; there are: {', '.join(offered)}")
    return str(api.post("/v1/games", {"ruleset": found[-1], "seats": seats, **chosen})["game_id"])


def _fill(api: Api, table: str) -> None:
    """Bots take the free seats of a table, and it starts."""
    game = api.get(table)
    bot = api.get(f"/v1/rulesets/{game['ruleset']}")["bots"][0]["name"]
    for seat in game["seats"]:
        if seat["player_id"] is None:
            api.post(f"{table}/seats", {"bot": bot})
    api.post(f"{table}/start")


@dataclass(slots=True)
class Table:
    """One game on the screen."""

    api: Api
    game_id: str
    console: Console
    ask: Callable[[str], str]
    told: int = 0
    """The version up to which everything was told."""
    holder: SelfCustody | None = None
    """Our seat in self-custody."""

    def keep_keys(
        self, secret: bytes, chosen: Mapping[str, str], policy: Path | None = None, *, without_log: bool = False
    ) -> None:
        """Go on with the seat that was taken with this secret, or sit down on the first that is free.

        :raises Refused: no seat is free, or the opening of the table is not in the log.
        """

        def post(path: str, body: Mapping[str, Any]) -> Any:
            return self.api.post(f"{self.path}/{path}", body)

        self.holder = SelfCustody(bytes.fromhex(self.game_id), secret, self._stored, post)
        me = self.api.get("/v1/me")["player_id"]
        seats = self.api.get(self.path)["seats"]
        for seat in seats:
            if seat["player_id"] == me and seat["custody"] == "self":
                self.holder.resume(seat["seat"])
                return
        free = next((seat["seat"] for seat in seats if seat["player_id"] is None), None)
        if free is None:
            raise Refused("no seat is free")
        self.holder.join(free, chosen, None if without_log else self._logged(self.holder, policy))

    def _logged(self, holder: SelfCustody, policy: Path | None) -> Checkpoint:
        """Wait until the log of games holds the table's opening.

        :raises Refused: it does not come, or the proof does not hold.
        """
        answer = self.api.look(f"{self.path}/proofs/open", wait=_LOG_WAIT_S)
        if answer.status_code == 404:
            raise Refused(f"{problem(answer)} (--without-log sits down all the same)")
        try:
            text = self.api.look("/v1/log/policy").content if policy is None else policy.read_bytes()
            return holder.opened_in_log(answer.content, Policy.parse(text))
        except (OSError, ValueError) as error:
            raise Refused(f"the log of games does not prove the opening of this table: {error}") from error

    def _stored(self, after: int) -> bytes:
        return self.api.fetch(f"{self.path}/events", MEDIA_TYPE, after=after)

    @property
    def path(self) -> str:
        return f"/v1/games/{self.game_id}"

    def sit(self) -> None:
        """Stay until the end."""
        me = self.api.get("/v1/me")["player_id"] if self.api.token else None
        game = self.api.get(self.path)
        self.told = max(0, game["version"] - 5)
        while True:
            game = self.api.get(self.path)
            mine = [seat["seat"] for seat in game["seats"] if me is not None and seat["player_id"] == me]
            due = [seat for seat in mine if seat in game["to_act"]]
            holder = self.holder
            if holder is not None and holder.seat in game["to_reveal"]:
                holder.reveal()
            elif holder is not None and holder.seat in game["to_sign_off"]:
                holder.sign_off()
            elif game["status"] in CLOSED:
                self._tell(game["version"])
                self._show_end(game)
                return
            if due:
                self._tell(game["version"])
                if not self._turn(game, due[0]):
                    return
            else:
                self._follow(mine)

    def _turn(self, game: Mapping[str, Any], seat: int) -> bool:
        """Let the person act for a seat; False: they have had enough."""
        self._show_board()
        legal = self.api.get(f"{self.path}/actions", seat=seat)
        actions, choices = legal["actions"], legal["choices"]
        for number, listed in enumerate((*actions, *choices), 1):
            self.console.print(Text(f"{number:>3}  {listed['label']}{' ...' if number > len(actions) else ''}"))
        while True:
            try:
                answer = self.ask(f"seat {seat} ({HELP}): ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                return False
            if answer == "q":
                return False
            if answer == "b":
                self._show_board()
            elif answer == "?":
                for refused in legal["refused"]:
                    self.console.print(Text(f"  {refused['target']}: {refused['message']} [{refused['rule']}]"))
            elif answer == "r":
                self._resign(seat)
                return True
            elif answer.isdigit() and 1 <= int(answer) <= len(actions):
                return self._act(actions[int(answer) - 1]["action"], legal["version"], seat)
            elif answer.isdigit() and len(actions) < int(answer) <= len(actions) + len(choices):
                if (built := self._build(choices[int(answer) - len(actions) - 1])) is not None:
                    return self._act(built, legal["version"], seat)
            else:
                self.console.print(Text(f"  {HELP}"))

    def _build(self, choice: Mapping[str, Any]) -> dict[str, Any] | None:
        """Let the person fill in a choice, field by field; None: they thought better of it."""
        action: dict[str, Any] = {"type": choice["type"]}
        for name, wanted in choice["fields"].items():
            for number, label in enumerate(wanted["labels"], 1):
                self.console.print(Text(f"{number:>5}  {label}"))
            least, most = wanted["minimum"], wanted["maximum"]
            many = f"{least}" if least == most else f"{least}-{most}"
            try:
                answer = self.ask(f"{wanted['label']} ({many}, numbers; nothing goes back): ").replace(",", " ").split()
            except (EOFError, KeyboardInterrupt):
                return None
            numbers = [int(one) for one in answer if one.isdigit() and 1 <= int(one) <= len(wanted["ids"])]
            if len(numbers) != len(answer) or not least <= len(numbers) <= most or (least and not numbers):
                return None
            ids = [wanted["ids"][number - 1] for number in numbers]
            action[name] = ids[0] if wanted["single"] else ids
        return action

    def _act(self, action: Mapping[str, Any], version: int, seat: int) -> bool:
        try:
            if self.holder is not None and self.holder.seat == seat:
                args = dict(action)
                self.holder.act(args.pop("type"), args)
            else:
                self.api.post(f"{self.path}/actions", {"action": action, "expected_version": version}, seat=seat)
        except Refused as refused:  # the table moved on meanwhile, say: look again
            self.console.print(Text(f"  {refused}", style="yellow"))
        return True

    def _resign(self, seat: int) -> None:
        if self.holder is not None and self.holder.seat == seat:
            self.holder.resign()
        else:
            self.api.post(f"{self.path}/seats/{seat}/resign")

    def _follow(self, mine: Sequence[int]) -> None:
        """Tell what the others do, until one of our seats is to act or the game is over."""
        for kind, event in self.api.follow(f"{self.path}/events", self.told):
            if kind == "end":
                return
            self._tell_event(event)
            game = self.api.get(self.path)
            if any(seat in mine for seat in (*game["to_act"], *game["to_reveal"], *game["to_sign_off"])):
                return

    def _tell(self, version: int) -> None:
        """Tell what happened up to a version."""
        while self.told < version:
            page = self.api.get(f"{self.path}/events", after=self.told, limit=100)
            for event in page["events"]:
                self._tell_event(event)
            if not page["events"]:
                return

    def _tell_event(self, event: Mapping[str, Any]) -> None:
        self.told = max(self.told, event["seq"])
        self.console.print(Text(f"{event['seq']:>4}  {event['narration']}", style="dim"))

    def _show_board(self) -> None:
        state = self.api.get(f"{self.path}/state")["state"]
        if state is None:
            return
        game = game_name(self.api.get(self.path)["ruleset"])
        spoken = words(self.api.language)

        def name(term: str) -> str:
            found = spoken.term(term, game)
            return found.text if found else term

        self.console.print(Panel(Text("\n".join(telling(game).board(state, name))), expand=False))

    def _show_end(self, game: Mapping[str, Any]) -> None:
        self._show_board()
        outcome = game["outcome"]
        if outcome is None:
            self.console.print(Text(f"The game is {game['status']}.", style="bold"))
            return
        scores = ", ".join(f"seat {seat}: {score}" for seat, score in enumerate(outcome["scores"], 1))
        winners = ", ".join(map(str, outcome["winners"]))
        self.console.print(Text(f"{outcome['ending']}: won by seat {winners} ({scores})", style="bold"))
