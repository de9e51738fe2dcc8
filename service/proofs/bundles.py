"""What the service can show about a game: its bundle, and the verdict on it (docs/audit-bundle.md)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from events.event import Event
from events.log import Damage, Head, whole
from events.tlog.checkpoint import Checkpoint
from events.tlog.policy import Policy
from events.tlog.tiles import Missing
from replay import bundle
from replay.audit import Trust, Verdict, audit, final_state, seen_checkpoint
from replay.case_audit import audit_case
from replay.position import EXACT
from service.proofs.log_folder import LogFolder, NoLog, checkpoint_of, log_at

if TYPE_CHECKING:
    from service.bootstrap import Deps

Items = Sequence[Event | Damage]


def bundle_of(deps: "Deps", game_id: bytes, items: Items) -> bytes:
    """The bundle of the events that may be shown; the final state stands in it once the game is closed.

    :raises replay.bundle.BadBundle: it would be larger than a bundle may be.
    """
    events = [item for item in items if isinstance(item, Event)]
    files = proofs(log_at(deps.config.log_path), game_id, events)
    signing = deps.signing
    keys = [signing.receipts.vkey] if signing.log is None else [signing.log.vkey, signing.receipts.vkey]
    files[bundle.KEYS] = "".join(f"{key}\n" for key in keys).encode()
    if events and events[-1].kind == "close":
        position = deps.positions.load(game_id).position
        if position.grade == EXACT and position.state is not None:
            files[bundle.STATE] = final_state(position)
    stored = (item.data for item in items if item.data is not None)
    return bundle.write(game_id, signing.origin, stored, files, signing.receipts)


def proofs(folder: LogFolder, game_id: bytes, events: Sequence[Event]) -> dict[str, bytes]:
    """What the log of games proves about a game, by the names of a bundle; once the game is closed and that is logged,
    always the same."""
    files: dict[str, bytes] = {}
    try:
        opened = folder.proof("open", game_id)
        closed = folder.proof("close", game_id) if events and events[-1].kind == "close" else None
        if opened is None or opened.extra is None:
            return files
        files |= {bundle.OPEN_ENTRY: opened.extra, bundle.OPEN_PROOF: opened.write()}
        if closed is not None and closed.extra is not None:
            files |= {bundle.CLOSE_ENTRY: closed.extra, bundle.CLOSE_PROOF: closed.write()}
        newest = checkpoint_of(folder.note() if closed is None else closed.checkpoint)
        old = checkpoint_of(opened.checkpoint)
        if old != newest:
            files[bundle.CONSISTENCY] = folder.consistency(old.size, newest.size).write()
        for number, size in enumerate(_seen(events, newest)):
            files[f"{bundle.GOSSIP}{number:04}.txt"] = folder.consistency(size, newest.size).write()
    except NoLog:
        return {}
    return files


def _seen(events: Sequence[Event], newest: Checkpoint) -> list[int]:
    """The sizes of the checkpoints that seats signed, below the newest one."""
    seen = (seen_checkpoint(event) for event in events if event.kind in ("join", "signoff"))
    return sorted({cp[0] for cp in seen if cp is not None and 0 < cp[0] < newest.size})


def own_trust(deps: "Deps") -> Trust:
    """The server's own keys: what it says of itself proves nothing, so every verdict says that it is its own."""
    try:
        return Trust(policy=log_at(deps.config.log_path).read("policy"), own=True)
    except Missing:
        log, receipts = deps.signing.log, deps.signing.receipts
    if log is None:
        return Trust(receipts_key=receipts.vkey, own=True)
    return Trust(policy=Policy((log.verifier,), receipts=receipts.verifier).text, own=True)


def verdict(deps: "Deps", game_id: bytes, items: Items, head: Head, language: str) -> Verdict:
    """The verdict on a stored game, with what the log of games proves about it, where it does."""
    files = proofs(log_at(deps.config.log_path), game_id, [item for item in items if isinstance(item, Event)])
    return audit(game_id, items, head, language, own_trust(deps) if files else Trust(), files)


def case_verdict(deps: "Deps", case_id: bytes, language: str, disputed: bytes | None) -> Verdict:
    """The verdict on a stored case. ``disputed``: the hash of the event that it is about, as the game has it."""
    items: list[Event | Damage] = list(whole(deps.log, case_id))
    files = proofs(log_at(deps.config.log_path), case_id, [item for item in items if isinstance(item, Event)])
    trust = own_trust(deps) if files else Trust()
    return audit_case(case_id, items, deps.log.head(case_id), language, trust, files, disputed)
