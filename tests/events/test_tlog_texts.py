"""What a log says in words: entries, checkpoints, proofs, and policies of whom to believe."""

import json
import re
from pathlib import Path

import pytest

from events.event import Event, genesis
from events.notes import (
    COSIGNATURE,
    BadSignature,
    Signer,
    Unverified,
    Verifier,
    cosign,
    sign_note,
)
from events.tlog.checkpoint import BadCheckpoint, Checkpoint, open_checkpoint
from events.tlog.entries import ADD, RETIRE, BadEntry, Closed, Key, Link, Opened, read_entry
from events.tlog.merkle import EMPTY_ROOT, BadProof, consistency, inclusion, leaf_hash, node_hash, root
from events.tlog.policy import BadPolicy, Policy
from events.tlog.proof import Continuation, Inclusion

PAGE = (Path(__file__).parents[2] / "docs" / "event-format.md").read_text()
VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "signed-notes.json"
ID = bytes(range(16))
LOG = Signer.of("play.example/gamelog", b"\x01" * 32)
W1, W2, W3 = (Signer.of(f"witness.example/{n}", bytes([n]) * 32, COSIGNATURE) for n in (2, 3, 4))
ROOT = node_hash(leaf_hash(b"a"), leaf_hash(b"b"))


# -- entries ---------------------------------------------------------------------------------------------------------


def game(kind: str, seq: int, **body: object) -> Event:
    return Event.write(ID, seq, genesis(ID), 1_800_000_000_000, kind, None, body)


def test_a_game_is_entered_by_its_first_and_its_last_event() -> None:
    first = game("create", 1, commit=b"\x01" * 32, rules_hash=b"\x02" * 32, rules="donjon@1")
    opened = Opened.of(first)
    assert opened == Opened(ID, first.hash, b"\x01" * 32, b"\x02" * 32, first.t_ms)
    last = game("close", 31, status="finished", tail=b"\x03" * 32)
    closed = Closed.of(last)
    assert closed == Closed(ID, 31, last.hash, "finished", b"\x03" * 32, last.t_ms)
    for entry in (opened, closed):
        assert read_entry(entry.write()) == entry


def test_a_case_is_entered_with_nil_where_a_game_has_more() -> None:
    opened, closed = Opened.of(game("create", 1, about=[ID, 3, b"\x01" * 32])), Closed.of(game("close", 4))
    assert (opened.commit, opened.rules_hash, closed.tail, closed.status) == (None,) * 4
    assert read_entry(opened.write()) == opened
    assert read_entry(closed.write()) == closed


def test_no_other_event_makes_an_entry() -> None:
    for entry, event in ((Opened, game("act", 1)), (Opened, game("create", 2)), (Closed, game("act", 2))):
        with pytest.raises(BadEntry):
            entry.of(event)


def test_the_bytes_of_entries_are_these() -> None:
    assert Link("old.example/log", 3, b"\x07" * 32).write().hex() == (
        "95a46c696e6b01af6f6c642e6578616d706c652f6c6f6703c420" + "07" * 32
    )
    assert Opened(ID, b"\x01" * 32, None, None, 5).write().hex() == (
        "97a46f70656e01c410" + ID.hex() + "c420" + "01" * 32 + "c0c005"
    )


def test_keys_and_links_are_read_back() -> None:
    for entry in (Key(ADD, LOG.vkey, 7), Key(RETIRE, LOG.vkey, 7), Link("old.example/log", 0, EMPTY_ROOT)):
        assert read_entry(entry.write()) == entry


@pytest.mark.parametrize(
    "fields",
    [
        ["open", 1, ID, b"\x01" * 32, None, None],
        ["open", 2, ID, b"\x01" * 32, None, None, 5],
        ["open", True, ID, b"\x01" * 32, None, None, 5],
        ["open", 1, ID[:-1], b"\x01" * 32, None, None, 5],
        ["open", 1, ID, b"\x01" * 31, None, None, 5],
        ["open", 1, ID, b"\x01" * 32, "x" * 32, None, 5],
        ["open", 1, ID, b"\x01" * 32, None, None, -1],
        ["close", 1, ID, 0, b"\x01" * 32, "finished", None, 5],
        ["close", 1, ID, True, b"\x01" * 32, "finished", None, 5],
        ["close", 1, ID, 4, b"\x01" * 32, 7, None, 5],
        ["key", 1, "drop", LOG.vkey, 5],
        ["key", 1, "add", "play.example/gamelog", 5],
        ["link", 1, "old", 3, b""],
        ["head", 1, ID, 5, b"\x01" * 32, 5],
        ["open"],
        "open",
        {},
    ],
)
def test_what_is_not_an_entry_is_refused(fields: object) -> None:
    from events import codec

    with pytest.raises(BadEntry):
        read_entry(codec.encode(fields))


def test_an_entry_has_one_spelling() -> None:
    data = Key(ADD, LOG.vkey, 7).write()
    for broken in (data[:-1], data + b"\0", data[:-1] + b"\xcc\x07", b""):
        with pytest.raises(BadEntry):
            read_entry(broken)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_in_the_docs_is_the_log_of_the_game_in_the_docs() -> None:
    events = [Event.read(bytes.fromhex(block)) for block in blocks("event")]
    first, second = (bytes.fromhex(block) for block in blocks("entry"))
    assert (first, second) == (Opened.of(events[0]).write(), Closed.of(events[-1]).write())
    key = Signer.of(LOG.name, bytes(range(32)))
    assert f"`{key.vkey}`" in PAGE
    one = Checkpoint(LOG.name, 1, leaf_hash(first))
    two = Checkpoint(LOG.name, 2, node_hash(leaf_hash(first), leaf_hash(second)))
    (text,), (way,) = blocks("proof"), blocks("way")
    assert Inclusion.read(text.encode()) == Inclusion(1, (leaf_hash(first),), two.sign(key))
    Inclusion.read(text.encode()).check(second, two)
    assert Continuation.read(way.encode()) == Continuation(1, (leaf_hash(second),), two.sign(key))
    Continuation.read(way.encode()).check(one.root, two)


# -- checkpoints -----------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_three_lines() -> None:
    one = Checkpoint("go.sum database tree", 123456789012, leaf_hash(b"hello world"))
    assert one.text == "go.sum database tree\n123456789012\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n"
    assert Checkpoint.parse(one.text) == one


@pytest.mark.parametrize(
    "text",
    [
        "Log\n9944\n",
        "\n9944\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n123\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=",
        "Log\nbananas\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n-34\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n012\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n٣\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n3438945738945739845734895735\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n9223372036854775808\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "Log\n123\nThisIsn'tBase64\n",
        "Log\n123\nYmFuYW5hcw==\n",
        "Log\n123\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb1=\n",
        "Log\n123\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\nextension\n",
        "Log\n123\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n\n",
        "Log\n0\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "",
    ],
)
def test_what_is_not_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        Checkpoint.parse(text)


def test_a_checkpoint_must_be_signed_under_the_name_of_its_log() -> None:
    one = Checkpoint(LOG.name, 2, ROOT)
    assert open_checkpoint(one.sign(LOG), [LOG.verifier]).checkpoint == one
    assert open_checkpoint(one.sign(LOG), [LOG.verifier], LOG.name).note == one.sign(LOG)
    with pytest.raises(BadCheckpoint, match="not of other"):
        open_checkpoint(one.sign(LOG), [LOG.verifier], "other")
    stranger = Signer.create("stranger.example/log")
    with pytest.raises(Unverified):
        open_checkpoint(one.sign(stranger), [LOG.verifier])
    with pytest.raises(Unverified):  # known, but the key of another log
        open_checkpoint(one.sign(stranger), [LOG.verifier, stranger.verifier])
    with pytest.raises(Unverified):  # a witness is no log
        open_checkpoint(cosign(one.sign(stranger), W1, 5), [LOG.verifier, W1.verifier])
    same = Signer.create(LOG.name, COSIGNATURE)
    with pytest.raises(Unverified):  # not even one that calls itself so
        open_checkpoint(cosign(one.sign(stranger), same, 5), [same.verifier])


# -- proofs ----------------------------------------------------------------------------------------------------------


def small(level: int, index: int) -> bytes:
    leaves = [leaf_hash(entry) for entry in (b"a", b"b", b"c")]
    return leaves[index] if level == 0 else node_hash(leaves[2 * index], leaves[2 * index + 1])


def test_a_proof_of_inclusion_is_written_and_read_back() -> None:
    checkpoint = Checkpoint(LOG.name, 3, root(3, small))
    proof = Inclusion(1, tuple(inclusion(1, 3, small)), checkpoint.sign(LOG), b"b")
    lines = proof.write().decode().split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "extra Yg==", "index 1"]
    assert lines[5] == ""
    assert Inclusion.read(proof.write()) == proof
    proof.check(b"b", checkpoint)
    with pytest.raises(BadProof):
        proof.check(b"c", checkpoint)
    with pytest.raises(BadProof):
        proof.check(b"b", Checkpoint(LOG.name, 2, ROOT))
    bare = Inclusion(0, (), Checkpoint(LOG.name, 1, leaf_hash(b"a")).sign(LOG))
    assert Inclusion.read(bare.write()) == bare
    assert bare.write().startswith(b"c2sp.org/tlog-proof@v1\nindex 0\n\nplay.example/gamelog\n1\n")


def test_a_proof_of_consistency_is_the_body_that_a_witness_takes() -> None:
    checkpoint = Checkpoint(LOG.name, 3, root(3, small))
    proof = Continuation(2, tuple(consistency(2, 3, small)), checkpoint.sign(LOG))
    assert proof.write().startswith(b"old 2\n" + proof.write().split(b"\n")[1] + b"\n\nplay.example/gamelog\n3\n")
    assert Continuation.read(proof.write()) == proof
    proof.check(root(2, small), checkpoint)
    with pytest.raises(BadProof):
        proof.check(root(1, small), checkpoint)
    from_nothing = Continuation(0, (), checkpoint.sign(LOG))
    assert Continuation.read(from_nothing.write()) == from_nothing
    from_nothing.check(EMPTY_ROOT, checkpoint)


NOTE = Checkpoint(LOG.name, 2, ROOT).sign(LOG).decode()
HASH = "TszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0="


@pytest.mark.parametrize(
    "text",
    [
        f"wrong-header\nindex 0\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nextra !!notbase64!!\nindex 0\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nextra YWJ=\nindex 0\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\n\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex notanumber\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex -5\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex 00\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex 0\n!!notbase64!!\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex 0\n{HASH}{HASH}\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex 0\n{'AA' * 44}\n\n{NOTE}",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + f"{HASH}\n" * 65 + f"\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\nindex 0\nextra YQ==\n\n{NOTE}",
        f"c2sp.org/tlog-proof@v1\r\nindex 0\r\n\r\n{NOTE}",
        "c2sp.org/tlog-proof@v1\nindex 0\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + "a" * 65 * 1024 + "\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n\n" + NOTE + "a" * 1_048_576,
        "",
    ],
)
def test_what_is_not_a_proof_of_inclusion_is_refused(text: str) -> None:
    with pytest.raises(BadProof):
        Inclusion.read(text.encode())


@pytest.mark.parametrize(
    "text", ["", f"\n\n{NOTE}", f"old\n\n{NOTE}", f"old 02\n\n{NOTE}", f"old 2\nx\n\n{NOTE}", "old 2\n\n", "old 2\n"]
)
def test_what_is_not_a_proof_of_consistency_is_refused(text: str) -> None:
    with pytest.raises(BadProof):
        Continuation.read(text.encode())


# -- policies --------------------------------------------------------------------------------------------------------

POLICY = f"""
# annals-receipts {Signer.of("play.example/gamelog/receipts", bytes(32)).vkey}
log {LOG.vkey} https://play.example/v1/log
\twitness X1  {W1.vkey}
witness X2 {W2.vkey}
  # a comment
witness Y1 {W3.vkey}
group X any X1 X2
group all-of-them all X Y1

quorum all-of-them
"""


def signed(*witnesses: Signer, by: Signer = LOG) -> bytes:
    note = Checkpoint(LOG.name, 2, ROOT).sign(by)
    for witness in witnesses:
        note = cosign(note, witness, 1_800_000_000)
    return note


@pytest.mark.parametrize(
    ("witnesses", "met"),
    [((), False), ((W1,), False), ((W3,), False), ((W1, W2), False), ((W1, W3), True), ((W2, W3), True)],
)
def test_a_quorum_counts_groups_of_witnesses(witnesses: tuple[Signer, ...], met: bool) -> None:
    policy = Policy.parse(POLICY)
    opened = policy.open(signed(*witnesses))
    assert policy.met(opened) is met
    assert len(policy.witnessed(opened)) == len(witnesses)


def test_a_policy_is_written_as_it_is_read() -> None:
    policy = Policy.parse(POLICY.encode())
    assert policy.logs == (LOG.verifier,)
    assert policy.receipts is not None
    assert policy.receipts.name == "play.example/gamelog/receipts"
    assert policy.urls == {LOG.verifier: "https://play.example/v1/log"}
    assert Policy.parse(policy.text) == policy


def test_a_policy_may_ask_for_nobody() -> None:
    policy = Policy.parse(f"log {LOG.vkey}\nquorum none\n")
    assert policy.met(policy.open(signed()))
    assert Policy.parse("quorum none").logs == ()


def test_a_number_of_a_group_is_enough() -> None:
    lines = "".join(f"witness w{n} {w.vkey}\n" for n, w in enumerate((W1, W2, W3)))
    policy = Policy.parse(f"log {LOG.vkey}\n{lines}group two 2 w0 w1 w2\nquorum two\n")
    assert [policy.met(policy.open(signed(*some))) for some in ((W1,), (W1, W3), (W1, W2, W3))] == [False, True, True]
    assert Policy.parse(f"{lines}quorum w1").quorum == "w1"


def test_a_witness_that_signs_badly_spoils_the_checkpoint() -> None:
    policy = Policy.parse(POLICY)
    note = signed(W1)
    with pytest.raises(BadSignature):
        policy.open(note[:-20] + (b"A" if note[-20:-19] != b"A" else b"B") + note[-19:])
    with pytest.raises(Unverified):
        policy.open(signed(W1, by=Signer.create(LOG.name)))


LINE = f"log {LOG.vkey}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        LINE,
        "quorum none\nquorum none\n",
        "quorum w\n",
        f"quorum w\nwitness w {W1.vkey}\n",
        f"{LINE}{LINE}quorum none\n",
        f"witness a {W1.vkey}\nwitness b {W1.vkey}\nquorum none\n",
        f"witness a {W1.vkey}\nwitness a {W2.vkey}\nquorum none\n",
        f"witness none {W1.vkey}\nquorum none\n",
        f"witness w {LOG.vkey}\nquorum none\n",
        f"log {W1.vkey}\nquorum none\n",
        f"witness w {W1.vkey}\ngroup g 2 w\nquorum g\n",
        f"witness w {W1.vkey}\ngroup g 0 w\nquorum g\n",
        f"witness w {W1.vkey}\ngroup g 01 w\nquorum g\n",
        f"witness w {W1.vkey}\ngroup g any w w\nquorum g\n",
        f"witness w {W1.vkey}\ngroup g any w\ngroup h any w\nquorum g\n",
        f"witness w {W1.vkey}\ngroup g any\nquorum w\n",
        f"witness w {W1.vkey}\ngroup g any h\ngroup h any w\nquorum g\n",
        "group g any none\nquorum g\n",
        f"log {LOG.vkey[:-4]}\nquorum none\n",
        f"log {LOG.vkey} a b\nquorum none\n",
        "quorum none\r\n",
        "quorum none\x00",
        "observe x\nquorum none\n",
        f"# annals-receipts {W1.vkey}\nquorum none\n",
        f"# annals-receipts {LOG.vkey}\n# annals-receipts {LOG.vkey}\nquorum none\n",
        "group\n" * 3 + "quorum none\n",
    ],
)
def test_what_is_not_a_policy_is_refused(text: str) -> None:
    with pytest.raises(BadPolicy):
        Policy.parse(text)


def test_names_in_a_policy_are_octets() -> None:
    data = b"witness \xff " + W1.vkey.encode() + b"\nquorum \xff\n"
    policy = Policy.parse(data)
    assert policy.quorum == "\udcff"
    with pytest.raises(BadPolicy):
        Policy.parse(b"log \xff" + LOG.vkey.encode() + b"\nquorum none\n")


def test_a_real_checkpoint_meets_a_quorum_of_its_real_witnesses() -> None:
    if not VECTORS.exists():
        pytest.skip("the published notes lie beside the repository, and are not there")
    vector = json.loads(VECTORS.read_text())["arche2025h1"]
    log, *witnesses = vector["vkeys"]
    lines = "".join(f"witness w{n} {vkey}\n" for n, vkey in enumerate(witnesses))
    policy = Policy.parse(f"log {log}\n{lines}group most 3 w0 w1 w2 w3\nquorum most\n")
    opened = policy.open(vector["note"].encode(), "arche2025h1.staging.ct.transparency.dev")
    assert opened.checkpoint.size == 1_432_088_532
    assert policy.met(opened)
    lines_of = vector["note"].splitlines(keepends=True)
    fewer = "".join(lines_of[:-2]).encode()
    assert not policy.met(policy.open(fewer))
    shuffled = "".join([*lines_of[:4], *lines_of[:3:-1]]).encode()  # any order of log and witnesses
    assert policy.met(policy.open(shuffled))
    renamed = vector["note"].replace("1432088532", "1432088533").encode()
    with pytest.raises(BadSignature):
        policy.open(renamed)


def test_a_key_of_a_witness_is_not_one_of_a_log() -> None:
    assert Verifier.parse(W1.vkey).kind == COSIGNATURE
    with pytest.raises(ValueError):
        sign_note("text\n", W1)
