"""Signed notes against notes that others wrote, and against every way to spoil one."""

import json
from pathlib import Path
from typing import Any

import pytest

from events.notes import (
    COSIGNATURE,
    BadKey,
    BadNote,
    BadSignature,
    Signer,
    Unverified,
    Verifier,
    cosign,
    open_note,
    sign_note,
    split_note,
)

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "signed-notes.json"

SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)
NOTE = TEXT + "\n" + PETER_LINE


def opened(note: str, *vkeys: str) -> tuple[str, ...]:
    return tuple(signer.name for signer in open_note(note.encode(), map(Verifier.parse, vkeys)).signers)


def published() -> dict[str, Any]:
    if not VECTORS.exists():
        pytest.skip("the published notes lie beside the repository, and are not there")
    notes: dict[str, Any] = json.loads(VECTORS.read_text())
    return notes


def test_a_published_note_is_signed_byte_for_byte() -> None:
    assert sign_note(TEXT, Signer.parse(SKEY)).decode() == NOTE
    assert Signer.parse(SKEY).vkey == PETER
    assert Signer.parse(SKEY).skey == SKEY


def test_a_private_key_is_not_shown_by_accident() -> None:
    signer = Signer.parse(SKEY)
    assert repr(signer.seed)[2:-1] not in repr(signer)
    assert SKEY[-20:] not in repr(signer)
    with pytest.raises(BadKey) as refused:
        Signer.parse(SKEY[:-1] + "!")
    assert SKEY[-20:-1] not in str(refused.value)


def test_each_known_key_counts_and_others_are_passed_over() -> None:
    assert opened(NOTE + ENOCH_LINE, PETER, ENOCH) == ("PeterNeumann", "EnochRoot")
    assert opened(NOTE + ENOCH_LINE, PETER) == ("PeterNeumann",)
    assert opened(NOTE + ENOCH_LINE, ENOCH) == ("EnochRoot",)
    assert opened(NOTE + ENOCH_LINE + ENOCH_LINE, PETER) == ("PeterNeumann",)


def test_a_note_that_no_known_key_signed_is_refused_as_such() -> None:
    with pytest.raises(Unverified, match="PeterNeumann, EnochRoot"):
        open_note((NOTE + ENOCH_LINE).encode(), ())
    other = Signer.create("PeterNeumann")
    with pytest.raises(Unverified):  # the name alone does not make a key
        open_note(NOTE.encode(), [other.verifier])


def test_one_bad_signature_of_a_known_key_spoils_the_note() -> None:
    bad = ENOCH_LINE.replace("2/5n2t", "2/5n3t")
    with pytest.raises(BadSignature, match="EnochRoot"):
        opened(NOTE + bad, PETER, ENOCH)
    with pytest.raises(BadSignature):
        opened(TEXT + "\n" + PETER_LINE[:60] + "ABCD" + PETER_LINE[60:], PETER)
    with pytest.raises(BadSignature):
        opened(NOTE.replace("answer", "Answer"), PETER)


def test_two_lines_of_one_known_key_are_refused() -> None:
    with pytest.raises(BadNote, match="two signatures"):
        opened(NOTE + PETER_LINE, PETER)


def test_more_than_a_hundred_signatures_are_refused_known_or_not() -> None:
    many = TEXT + "\n" + ENOCH_LINE * 99 + PETER_LINE
    assert opened(many, PETER) == ("PeterNeumann",)
    for vkeys in ((PETER,), ()):
        with pytest.raises(BadNote, match="more than 100"):
            opened(many + ENOCH_LINE, *vkeys)
    with pytest.raises(BadNote, match="more than 100"):
        cosign(many.encode(), Signer.create("witness", COSIGNATURE), 1)


@pytest.mark.parametrize(
    "note",
    [
        TEXT,
        TEXT + "\n",
        NOTE[:-1],
        "\x01" + NOTE,
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Bad Name"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Bad Name")[:-1],
        NOTE + "Unexpected line.\n",
        NOTE + "\n",
        NOTE.replace("\n", "\r\n"),
        TEXT + PETER_LINE,
        TEXT + "\n— PeterNeumann \n",
        TEXT + "\n— PeterNeumann\n",
        TEXT + "\n— PeterNeumann x08gow==\n",
        TEXT + "\n" + PETER_LINE.replace("— ", "- "),
        TEXT + "\n" + PETER_LINE.replace("JnAM=", "JnAN="),  # the same bytes, spelt otherwise
        TEXT + "\n" + PETER_LINE.replace("JnAM=", "JnAM"),
        TEXT + "\n" + PETER_LINE.replace("x08g", "x0 8g"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Peter+Neumann"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Peter\u00a0Neumann"),
        "",
    ],
)
def test_what_is_not_a_note_is_refused(note: str) -> None:
    with pytest.raises(BadNote):
        opened(note, PETER)
    with pytest.raises(BadNote):
        split_note(b"\xff" + NOTE.encode())


@pytest.mark.parametrize("text", ["abc", "", "a\tb\n", "a\x00\n"])
def test_a_text_that_no_note_can_hold_is_not_signed(text: str) -> None:
    with pytest.raises(BadNote):
        sign_note(text, Signer.parse(SKEY))


def test_a_text_may_hold_empty_lines() -> None:
    signer = Signer.create("example.org/log")
    for text in ("one\n\ntwo\n", "\n", "one\n\n"):
        assert open_note(sign_note(text, signer), [signer.verifier]).text == text


def test_no_part_and_no_mangling_of_a_key_is_a_key() -> None:
    for key, parse in ((PETER, Verifier.parse), (SKEY, Signer.parse)):
        parse(key)
        for start in range(len(key)):
            for end in range(start, len(key) + 1):
                if (start, end) != (0, len(key)):
                    with pytest.raises(BadKey):
                        parse(key[start:end])
        for at in range(len(key)):
            with pytest.raises(BadKey):
                parse(key[:at] + chr(ord(key[at]) + 1) + key[at + 1 :])


@pytest.mark.parametrize(
    "vkey",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER + "\n",
        "Peter Neumann" + PETER[12:],
    ],
)
def test_a_key_of_wrong_length_type_or_spelling_is_refused(vkey: str) -> None:
    with pytest.raises(BadKey):
        Verifier.parse(vkey)


@pytest.mark.parametrize(
    "public",
    [
        "00" * 32,
        "01" + "00" * 31,
        "01" + "00" * 30 + "80",
        "ec" + "ff" * 30 + "7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 31,
    ],
)
def test_a_key_under_which_anybody_could_sign_is_refused(public: str) -> None:
    with pytest.raises(BadKey):
        Verifier.of("log", bytes.fromhex(public))


def test_keys_that_cannot_be_told_apart_are_refused() -> None:
    peter = Verifier.parse(PETER)
    twin = Verifier(peter.name, peter.key_id, peter.kind, Verifier.parse(ENOCH).public)
    with pytest.raises(BadKey, match="two different keys"):
        open_note(NOTE.encode(), (peter, twin))
    assert open_note(NOTE.encode(), (peter, peter)).signers == (peter,)


def test_a_witness_signs_the_text_and_the_time() -> None:
    log, witness = Signer.create("example.org/log"), Signer.create("witness.example/w1", COSIGNATURE)
    text = "example.org/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    note = cosign(sign_note(text, log), witness, 1_679_315_147)
    found = open_note(note, (log.verifier, witness.verifier))
    assert found.signers == (log.verifier, witness.verifier)
    assert found.times == {witness.verifier: 1_679_315_147}
    assert Signer.parse(witness.skey) == witness

    _, lines = split_note(note)
    _, identity, signature = lines[1]
    late = signature[:7] + bytes((signature[7] ^ 1,)) + signature[8:]
    with pytest.raises(BadSignature):
        witness.verifier.verify(text, late)
    with pytest.raises(BadSignature):
        witness.verifier.verify(text, signature[8:])
    with pytest.raises(BadSignature, match="no possible time"):
        witness.verifier.verify(text, b"\x80" + signature[1:])
    assert identity == witness.verifier.key_id
    for signer, seconds in ((log, 5), (witness, None)):
        with pytest.raises(ValueError):
            signer.line(text, seconds)


def test_the_key_under_two_types_has_two_ids() -> None:
    log = Signer.create("example.org/log")
    assert Signer.of(log.name, log.seed, COSIGNATURE).verifier.key_id != log.verifier.key_id


@pytest.mark.parametrize(
    "name", ["golang-note", "c2sp-signed-note-example", "sum.golang.org", "arche2025h1", "c2sp-issue-99"]
)
def test_notes_that_others_signed_verify(name: str) -> None:
    vector = published()[name]
    verifiers = [Verifier.parse(vkey) for vkey in vector["vkeys"]]
    found = open_note(vector["note"].encode(), verifiers)
    assert set(found.signers) == set(verifiers)
    if name == "golang-note":
        assert vector["skey"] == SKEY


def test_a_real_checkpoint_carries_four_witnesses_and_a_line_to_ignore() -> None:
    vector = published()["arche2025h1"]
    log, *witnesses = (Verifier.parse(vkey) for vkey in vector["vkeys"])
    found = open_note(vector["note"].encode(), (log, *witnesses))
    assert found.times == dict.fromkeys(witnesses, 1_779_573_024)
    assert len(split_note(vector["note"].encode())[1]) == 6
    for drop in range(8):  # any one bit of the time spoils the line of a witness
        spoilt = vector["note"].replace("2AQqhwAAAABqEiEg", "2AQqhwAAAABqEiE" + "ABCDEFGH"[drop])
        with pytest.raises(BadSignature):
            open_note(spoilt.encode(), (log, *witnesses))


def test_a_key_of_a_known_seed_has_the_id_that_was_corrected_later() -> None:
    name = "sigsum.org/v1/tree/e796172b92befd62d9dc67e41c2f5bc9d3100a3023b20b1ca40288dd1c679e69"
    signer = Signer.of(name, b"\x11" + bytes(31))
    assert signer.verifier.public.hex() == "66e0b858e462a609e66fe71370c816d8846ff103d5499a22a7fec37fdbc424a7"
    assert signer.verifier.key_id.hex() == "809da1a3"
    body = "10\nHA5HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
    rest = "n8F8olcerUF1FFdv235A/5as/coWrpLrtE7ovMeP5whgwouYExowG/lTznxu6OUGjjt5yJQ6bXtTcf718MqAQ="
    right, wrong = (f"{name}\n{body}\n— {name} {head}{rest}\n".encode() for head in ("gJ2ho0", "pOZUn0"))
    assert open_note(right, [signer.verifier]).signers == (signer.verifier,)
    assert sign_note(f"{name}\n{body}", signer) == right
    with pytest.raises(Unverified):  # the same signature under an id that is not this key's, as first published
        open_note(wrong, [signer.verifier])
