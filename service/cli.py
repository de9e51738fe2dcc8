"""The command `annals`. Each command's work stands in its own module, imported only when it is asked for."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from events.log import EventLog
    from replay.replay import Replay
    from service.bootstrap import Deps
    from service.config import Config

Command = TypeVar("Command", bound=Callable[..., Any])
Changed = TypeVar("Changed")


def _database(command: Command) -> Command:
    """The option of every command that works on the database itself: which one."""
    option = click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        help="Directory of the embedded database [ANNALS_DATA, else .annals]; REDIS_URL names another server.",
    )
    return option(command)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _JudgingCommand(click.Command):
    """A command whose exit codes are verdicts: a wrong call, which is 2 for click, exits with 64 (EX_USAGE)."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _wrong_call():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _wrong_call():
            return super().invoke(ctx)


class _WrongCall(click.UsageError):
    exit_code = 64


@contextmanager
def _wrong_call() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        raise _WrongCall(error.format_message(), error.ctx) from error


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="annals", message="%(package)s %(version)s")
def main() -> None:
    """Annals: an event-sourced game service with replays."""


@main.command()
@click.option("--host", help="Address to listen on [ANNALS_HOST, else 127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port, 0 for any that is free [ANNALS_PORT, else 8000].")
@_database
@click.option("--ephemeral", is_flag=True, default=None, help="Keep everything in memory, and lose it at the end.")
@click.option("--workers", type=click.IntRange(1, 256), help="Web processes [ANNALS_WORKERS, else 2].")
@click.option("--demo/--no-demo", default=None, help="Load demo games into an empty database [ANNALS_DEMO, else yes].")
def serve(**settings: Any) -> None:
    """Start the service, its database and its clerk; Ctrl-C stops them."""
    from service.running.serve import CannotServe
    from service.running.serve import serve as run

    try:
        run(_config(**settings))
    except CannotServe as error:
        _give_up(error)


@main.command(hidden=True)
@_database
def clerk(data: Path | None) -> None:
    """The background process of `serve`: bots, idle tables, lists, feeds."""
    from service.running.serve import run_clerk

    run_clerk(_config(data=data))


@main.command()
@click.argument("player")
@click.argument("role", type=click.Choice(["auditor", "operator"]))
@_database
def grant(player: str, role: str, data: Path | None) -> None:
    """Give PLAYER (an id of 32 hex digits) a role."""
    from service.accounts import UnknownPlayer

    try:
        player_id = bytes.fromhex(player)
    except ValueError:
        _give_up(f"{player!r} is not a player's id: 32 hex digits")
    with _Opened(data) as deps:
        try:
            granted = deps.accounts.grant(player_id, role)
        except UnknownPlayer:
            _give_up(f"there is no player {player}")
    click.echo(f"{granted.name} is now: {', '.join(sorted(granted.roles))}")


@main.command()
@click.argument("player")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_database
def erase(player: str, yes: bool, data: Path | None) -> None:
    """Forget PLAYER (an id of 32 hex digits): name, roles, tokens, texts in disputes. Their games stay as they are."""
    from service.accounts import UnknownPlayer
    from service.erasure import forget

    try:
        player_id = bytes.fromhex(player)
    except ValueError:
        _give_up(f"{player!r} is not a player's id: 32 hex digits")
    if not yes:
        click.confirm(f"Forget {player} for ever?", abort=True)
    with _Opened(data) as deps:
        try:
            gone = forget(deps, player_id)
        except UnknownPlayer:
            _give_up(f"there is no player {player}")
    click.echo(f"Forgotten, with {gone.tokens} tokens and {gone.texts} texts.")


@main.command()
@click.argument("reason", type=click.Choice(["restored", "key-lost"]))
@click.argument("games", nargs=-1)
@_database
def void(reason: str, games: tuple[str, ...], data: Path | None) -> None:
    """Close GAMES, by default all, that must not go on.

    After a backup of the log was restored: `restored`, their dice to come are known. After a master key was lost:
    `key-lost`, nobody can make their dice. Games that are over, or whose key is there, are left alone.
    """
    from service import commands
    from service.drafts import WrongStatus
    from service.positions import NotFound

    closed = 0
    with _Opened(data, reading=False) as deps:
        deps.index.catch_up()
        ids = [_game_id(game) for game in games] or [bytes.fromhex(row.game_id) for row in deps.index.open_games()]
        for game_id in ids:
            try:
                commands.void(deps, game_id, reason)
            except (WrongStatus, commands.KeyKnown, commands.MasterMissing, commands.Unsound, NotFound) as error:
                if games or isinstance(error, (commands.MasterMissing, commands.Unsound)):
                    click.echo(f"{game_id.hex()}  left alone: {error}", err=True)
                continue
            closed += 1
            click.echo(f"{game_id.hex()}  void, {reason}")
        deps.index.catch_up()
    click.echo(f"{closed} games closed")


@main.group()
def case() -> None:
    """The auditor's desk: disputes, and rulings on them."""


_AUDITOR = click.option("--auditor", required=True, metavar="PLAYER", help="Who looks and rules: a player's id.")


@case.command("list")
@click.option("--state", type=click.Choice(["open", "answered", "ruled", "closed"]), help="[those not closed]")
@_database
def list_cases(state: str | None, data: Path | None) -> None:
    """List the disputes that wait, those that have waited longest first."""
    from service.disputes.desk import show_list

    with _Opened(data) as deps:
        show_list(deps, state)


@case.command("show")
@click.argument("case_id", metavar="CASE")
@_AUDITOR
@click.option("--lang", default="en", type=click.Choice(["en", "fr", "ja"]), show_default=True)
@_database
def show_case(case_id: str, auditor: str, lang: str, data: Path | None) -> None:
    """Show CASE: the event and those around it, what was said, refusals kept. That it was read is written down."""
    from service.disputes.desk import show

    with _Opened(data) as deps, _on_a_case():
        show(deps, _game_id(case_id), _game_id(auditor), lang)


@case.command("rule")
@click.argument("case_id", metavar="CASE")
@click.argument("ruling", type=click.Choice(["uphold", "void", "correct", "resume"]))
@_AUDITOR
@click.option("--text", required=True, help="The reasons: everybody who may see the game reads them.")
@click.option("--winner", "winners", type=click.IntRange(1, 255), multiple=True, help="correct: a winning seat.")
@click.option("--score", "scores", type=int, multiple=True, help="correct: the score of each seat, in seat order.")
@click.option("--version", type=click.IntRange(1), help="resume: play goes on from here.")
@_database
def rule_case(
    case_id: str,
    ruling: str,
    auditor: str,
    text: str,
    winners: tuple[int, ...],
    scores: tuple[int, ...],
    version: int | None,
    data: Path | None,
) -> None:
    """Rule on CASE: uphold what was recorded, void the game, correct its result, or resume it from a version."""
    from service.disputes.desk import rule

    with _Opened(data, reading=False) as deps, _on_a_case():
        rule(deps, _game_id(case_id), _game_id(auditor), ruling, text, list(winners), list(scores), version)


@contextmanager
def _on_a_case() -> Iterator[None]:
    """Whatever is refused there, as a sentence."""
    from service.access import NotAnAuditor, OwnCase
    from service.api.problems import meaning, problem_of
    from service.commands import MasterMissing, Unsound
    from service.disputes.casebook import CaseNotFound
    from service.disputes.cases import CannotRule, CaseUnsound, WrongState
    from service.positions import NoSuchPosition, NotFound

    try:
        yield
    except (
        CaseNotFound, NotAnAuditor, OwnCase, WrongState, CannotRule, CaseUnsound, MasterMissing, Unsound, NotFound,
        NoSuchPosition,
    ) as error:  # fmt: skip
        problem = problem_of(error, "en")
        assert problem is not None
        _give_up(f"{problem.code}: {meaning(problem.code, 'en')} ({error})")


@main.command()
@click.argument("games", nargs=-1)
@click.option("--older-than", "days", type=click.FloatRange(0), metavar="DAYS", help="All that ended so long ago.")
@_database
def archive(games: tuple[str, ...], days: float | None, data: Path | None) -> None:
    """Move GAMES, which are over, out of the database into the archive. Nobody who reads them sees a difference.

    Exit code: 0 all of them are there now, 1 some are not.
    """
    from service.keeping.by_hand import run_archive

    if bool(games) == (days is not None):
        raise click.UsageError("say which GAMES, or --older-than DAYS")
    with _Opened(data) as deps, _on_keeping():
        code = run_archive(deps, [_game_id(game) for game in games], days)
    sys.exit(code)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--since", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER",
    help="An older backup: games that are as they were then are linked to its files.",
)  # fmt: skip
@_database
def backup(folder: Path, since: Path | None, data: Path | None) -> None:
    """Write everything but the keys into FOLDER, which must not be there yet, while the service runs.

    Exit code: 0 all of it, 1 games whose record is damaged were left out.
    """
    from service.keeping.by_hand import run_backup

    with _Opened(data) as deps, _on_keeping():
        code = run_backup(deps, folder, since)
    sys.exit(code)


@main.command()
@click.argument("games", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every archived game.")
@click.option(
    "--from", "source", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="BACKUP",
    help="Bring a backup back into an empty database.",
)  # fmt: skip
@click.option("--until", metavar="TIME", help="Without the events after TIME (ISO 8601, UTC unless it says more).")
@click.option("--audit", is_flag=True, help="Judge every game of the backup as an auditor would.")
@click.option(
    "--erased", "lists", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="What to erase again: the file `erased` of a newer backup or of the log of games.",
)  # fmt: skip
@_database
def restore(
    games: tuple[str, ...], every: bool, source: Path | None, until: str | None, audit: bool, lists: tuple[Path, ...],
    data: Path | None,
) -> None:  # fmt: skip
    """Bring archived GAMES back into the database, or a whole backup into an empty one.

    No game that was being played goes on after a backup came back: it is closed, void and restored.

    Exit code: 0 all is there, 1 some of it is not, or not sound.
    """
    from service.keeping.by_hand import run_bring_back, run_restore, time_of

    if bool(games) + every + (source is not None) != 1:
        raise click.UsageError("say which GAMES, or --all, or --from BACKUP")
    if source is None and (until or audit or lists):
        raise click.UsageError("--until, --audit and --erased are of --from BACKUP")
    try:
        until_ms = None if until is None else time_of(until)
    except ValueError as error:
        raise click.UsageError(f"--until: {error}") from error
    with _Opened(data, reading=source is None) as deps, _on_keeping():
        if source is None:
            code = run_bring_back(deps, [_game_id(game) for game in games])
        else:
            code = run_restore(deps, source, until_ms, audit, lists)
    sys.exit(code)


@contextmanager
def _on_keeping() -> Iterator[None]:
    """Why something cannot be kept or brought back, as a sentence."""
    from events.log import Unavailable
    from service.keeping.backup import BadBackup
    from service.keeping.restoring import NotEmpty

    try:
        yield
    except (BadBackup, NotEmpty, Unavailable, OSError) as error:
        _give_up(error)


@main.command()
@_database
def reindex(data: Path | None) -> None:
    """Build the lists of games anew from the log."""
    with _Opened(data) as deps, click.progressbar(deps.index.rebuild(), label="games", show_pos=True) as games:
        count = sum(1 for _ in games)
    click.echo(f"{count} games")


@main.command()
@click.argument("game_or_file")
@click.option("--lang", default="en", type=click.Choice(["en", "fr", "ja"]), show_default=True)
@click.option("--at", default=0, type=click.IntRange(0), help="Event to begin after.")
@click.option("--speed", default=1.0, type=click.FloatRange(0.01, 1_000), show_default=True, help="Steps a second.")
@click.option("--play", is_flag=True, help="Play at once.")
@click.option("--plain", is_flag=True, help="Print every step, as where there is no terminal.")
@click.option("--strict", is_flag=True, help="Stop at the first thing that does not hold.")
@_database
def replay(game_or_file: str, data: Path | None, lang: str, **how: Any) -> None:
    """Step through GAME_OR_FILE (an id, an address or an .annals file).

    Exit code: 0 EXACT, 1 UNVERIFIED, 2 DIVERGED.
    """
    from replay.position import Diverged
    from replay.terminal import run_replay

    with ExitStack() as stack:
        opened: list[Deps] = []

        def log() -> "EventLog":
            opened.append(stack.enter_context(_Opened(data)))
            return opened[0].log

        def names(shown: "Replay") -> Mapping[bytes, str]:
            players = [seat.player for seat in shown.at(len(shown)).seats if seat.player is not None]
            return opened[0].accounts.names(players) if opened else {}

        try:
            code = run_replay(game_or_file, log, language=lang, names=names, **how)
        except (OSError, LookupError, Diverged) as error:
            _give_up(error)
    sys.exit(code)


@main.command()
@click.argument("games", nargs=-1)
@click.option("--quiet", is_flag=True, help="List only what is not exact.")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes that share the games [one a core].")
@_database
def validate(games: tuple[str, ...], data: Path | None, quiet: bool, workers: int | None) -> None:
    """Refold every stored game, or GAMES (ids or files), and list which are exact."""
    from service.running.validating import validate as run

    with _Opened(data) as deps:
        code = run(deps, games, quiet=quiet, workers=workers or os.cpu_count() or 1)
    sys.exit(code)


@main.command()
@click.argument("game_or_file")
@click.argument("other", required=False)
@click.option("--from", "old", type=click.IntRange(0), help="Position to begin with [0].")
@click.option("--to", "new", type=click.IntRange(0), help="Position to end with [the last one].")
@click.option("--under", "ruleset", metavar="RULESET", help="What would these rules have said?")
@click.option("--lang", default="en", type=click.Choice(["en", "fr", "ja"]), show_default=True)
@_database
def diff(game_or_file: str, other: str | None, data: Path | None, **how: Any) -> None:
    """What is different between two positions of GAME_OR_FILE, between it and OTHER, or under another RULESET.

    A report: nothing is written. Exit code: 0 nothing is different, 1 something is, 2 it cannot be said.
    """
    from replay.comparing import run_diff

    with ExitStack() as stack:
        try:
            code = run_diff(game_or_file, other, lambda: stack.enter_context(_Opened(data)).log, **how)
        except (OSError, LookupError, ValueError) as error:
            click.echo(f"annals: {error}", err=True)
            code = 2
    sys.exit(code)


@main.command()
@click.argument("game")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="File to write, - is standard output [by id].")
@click.option("--token", envvar="ANNALS_TOKEN", help="Of a player who may see the game, if it is not public.")
@_database
def export(game: str, output: str | None, token: str | None, data: Path | None) -> None:
    """Write the audit bundle of GAME (an id, or an address of a service): what `verify` judges without either."""
    from replay.bundle import SUFFIX
    from service.proofs.exporting import NoBundle, from_database, from_server

    game_id = _game_id(game)
    try:
        if "://" in game:
            bundle = from_server(game, token)
        else:
            with _Opened(data) as deps:
                bundle = from_database(deps, game_id)
    except NoBundle as error:
        _give_up(error)
    with click.open_file(output or game_id.hex() + SUFFIX, "wb") as file:
        file.write(bundle)
    click.echo(f"{len(bundle)} bytes in {output or game_id.hex() + SUFFIX}", err=True)


@main.command(cls=_JudgingCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--policy", type=_FILE, help="Whom to believe: a C2SP tlog-policy. Without it the log is not looked at.")
@click.option("--receipts-key", metavar="VKEY", help="The receipts key [the policy's line '# annals-receipts VKEY'].")
@click.option("--receipt", "receipts", type=_FILE, multiple=True, help="A receipt or refusal that a player kept.")
@click.option("--request", "requests", type=_FILE, multiple=True, help="A signed request that was never answered.")
@click.option("--tlog-only", is_flag=True, help="Without the rules of the game: chains, signatures, log and receipts.")
@click.option("--strict", is_flag=True, help="Exit with 3 where there are limits.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("--lang", "language", default="en", type=click.Choice(["en", "fr", "ja"]), show_default=True)
def verify(file: Path, **how: Any) -> None:
    """Judge FILE, an audit bundle (or .annals events), without a server, a database or a network.

    Exit code: 0 VERIFIED (3 with limits and --strict), 2 REFUTED, 4 NOT PROVEN, 5 UNDETERMINED; 64 a wrong call, 70 a
    crash: no verdict.
    """
    from service.proofs.judging import run_verify

    sys.exit(run_verify(file, **how))


@main.command("export-events")
@click.argument("game")
@click.option("--output", "-o", type=click.File("wb"), default="-", help="File to write [standard output].")
@_database
def export_events(game: str, output: Any, data: Path | None) -> None:
    """Write the stored bytes of GAME as an .annals file: what `replay` opens and an auditor keeps."""
    from events.log import Damage, whole
    from replay.file import frame

    written = 0
    with _Opened(data) as deps:
        for item in whole(deps.log, _game_id(game)):
            if isinstance(item, Damage):
                _give_up(f"{item.place}: {item.reason}")
            output.write(frame(item.data))
            written += 1
    if not written:
        _give_up(f"there is no game {game}")


@main.command()
@click.option("--new", is_flag=True, help="First make the keys that are missing, where the old ones are lost for good.")
@_database
def keys(new: bool, data: Path | None) -> None:
    """List the master keys (by name, never their bytes) and how they are used, and who signs receipts."""
    from service.keys import BadKeyring, Keyring
    from service.proofs.signing_keys import SigningKeys

    if new:
        config = _config(data=data)
        try:
            if not config.keys:
                Keyring.create(config.keyring_path)
            SigningKeys.create(config)
        except (BadKeyring, OSError) as error:
            _give_up(error)
    with _Opened(data, reading=False) as deps:
        ring, used, signing = deps.keyring, deps.index.key_ids(), deps.signing
    for key_id in ring.masters:
        states = [*(["current"] if key_id == ring.current else []), *(["in use"] if key_id in used else [])]
        click.echo(f"{key_id}  {', '.join(states) or 'retired'}")
    for key_id in sorted(used - ring.masters.keys()):
        click.echo(f"{key_id}  MISSING: games in play need it")
    click.echo(f"{signing.receipts.vkey}  receipts" if signing.kept else "no receipts key here")


@main.command(cls=_JudgingCommand)
@click.argument("log")
@click.option("--policy", type=_FILE, help="Whom to believe: a C2SP tlog-policy, got by another way than from the log.")
@click.option("--key", metavar="VKEY", help="The log's key, instead of a policy.")
@click.option(
    "--memory",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("annals-monitor.json"),
    show_default=True,
    help="Where the last checkpoint is kept: one file a log.",
)
@click.option("--days", type=click.FloatRange(0), default=14.0, show_default=True, help="List games open for longer.")
@click.option("--follow", type=click.FloatRange(1), metavar="SECONDS", help="Look again and again.")
@click.option("--strict", is_flag=True, help="Exit with 3 where fewer witnesses signed than the policy asks for.")
def monitor(**how: Any) -> None:
    """Check LOG, a log of games (its folder, or the address of its service), against all that it showed before.

    Without a policy or key the keys are those that the log names at the first look.

    Exit code: 0 sound, 2 proof of misbehaviour (printed), 4 what is served is not what was signed, 5 cannot say; 64 a
    wrong call.
    """
    from service.proofs.monitor import run_monitor

    sys.exit(run_monitor(**how))


@main.group()
def log() -> None:
    """The keys of the log of games, over its life."""


@log.command()
@_database
def rotate(data: Path | None) -> None:
    """Make the next key. Once the running service has added it to the log, both keys sign."""
    from service.proofs.log_keys import rotate as run

    vkey = _on_keys(lambda: run(_config(data=data), _now_ms()))
    click.echo(f"{vkey}\nTell whoever pins the keys of the log. When they have it: annals log retire")


@log.command()
@_database
def retire(data: Path | None) -> None:
    """Retire the current key. To be called again once the running service has written that into the log."""
    from service.proofs.log_keys import retire as run

    vkey = _on_keys(lambda: run(_config(data=data), _now_ms()))
    if vkey is None:
        click.echo("The service retires the key with the next checkpoint; then: annals log retire")
    else:
        click.echo(f"{vkey} is the key of the log. Restart the service.")


@log.command()
@click.argument("origin")
@_database
def restart(origin: str, data: Path | None) -> None:
    """Give up the log, because its key was stolen or its folder lost; begin another under the name ORIGIN.

    The service must not be running. Its first entry says which log it follows; every game is entered anew.
    """
    from service.proofs.log_keys import restart as run

    made = _on_keys(lambda: run(_config(data=data), origin))
    click.echo(f"{made.log.vkey if made.log else ''}\n{made.receipts.vkey}\nTell whoever pins the keys of the log.")


@main.command()
@click.argument("game", required=False)
@click.option(
    "--server", default="http://127.0.0.1:8000", envvar="ANNALS_SERVER", show_default=True, help="The service."
)
@click.option("--token", envvar="ANNALS_TOKEN", help="Whose seats to play; without one you watch.")
@click.option("--name", help="Register as a new player of this name.")
@click.option("--new", metavar="RULESET", help="Open a table of this game instead of joining GAME.")
@click.option("--seats", type=click.IntRange(1, 12), default=2, show_default=True, help="Seats of the new table.")
@click.option("--bots", is_flag=True, help="Bots take the other seats of the new table, and it starts.")
@click.option("--choose", multiple=True, metavar="FIELD=VALUE", help="What your seat chooses, such as hero=tala.")
@click.option(
    "--keep-keys",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Sit down in self-custody, with the account phrase in FILE (made if it is not there).",
)
@click.option("--policy", type=_FILE, help="Trust the log of games by these keys, not by the service's own word.")
@click.option("--without-log", is_flag=True, help="Sit down though the table's opening is in no log of games.")
@click.option("--lang", default="en", type=click.Choice(["en", "fr", "ja"]), show_default=True)
def play(**asked: Any) -> None:
    """Play or watch GAME (an id or an address) in the terminal, over the REST API."""
    from replay.position import Diverged
    from service.clients.self_custody import NotSeated
    from service.clients.terminal_client import Refused
    from service.clients.terminal_client import play as run

    if (asked["game"] is None) == (asked["new"] is None):
        raise click.UsageError("say which GAME, or --new RULESET")
    try:
        run(**asked)
    except (Refused, Diverged, NotSeated) as error:
        _give_up(error)


# -- what the commands share -----------------------------------------------------------------------------------------


def _config(**settings: Any) -> "Config":
    from service.config import BadSetting, Config

    try:
        return Config.read(os.environ, **{name: value for name, value in settings.items() if value is not None})
    except BadSetting as error:
        _give_up(error)


class _Opened:
    """The database of the settings, running embedded if need be, for the time of one command."""

    def __init__(self, data: Path | None, reading: bool = True) -> None:
        """``reading``: keys that are not there are not missed."""
        self._config, self._reading = _config(data=data), reading

    def __enter__(self) -> "Deps":
        from events.embedded import ServerFailed, open_database
        from service.bootstrap import bootstrap
        from service.keys import BadKeyring

        if not (self._config.redis_url or self._config.data.is_dir()):
            _give_up(f"there is no data in {self._config.data}: say where with --data, or set REDIS_URL")
        try:
            self._database = open_database(self._config.data, self._config.redis_url or None)
            return bootstrap(self._config, self._database.client, reading=self._reading)
        except (ServerFailed, BadKeyring) as error:
            _give_up(error)

    def __exit__(self, *_: object) -> None:
        self._database.close()


def _on_keys(change: Callable[[], Changed]) -> Changed:
    """A change of the log's keys, or why it cannot be made."""
    from service.keys import BadKeyring
    from service.proofs.log_keys import CannotChange

    try:
        return change()
    except (CannotChange, BadKeyring, OSError) as error:
        _give_up(error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _game_id(text: str) -> bytes:
    try:
        game_id = bytes.fromhex(text.rstrip("/").rpartition("/")[2])
    except ValueError:
        game_id = b""
    if len(game_id) != 16:
        _give_up(f"{text!r} is not a game's id: 32 hex digits")
    return game_id


def _give_up(why: object) -> NoReturn:
    sys.exit(f"annals: {why}")
