"""The container is hostile input: whatever is done to it, it is read in one way or not at all."""

import io
import json
import random
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.notes import Signer
from replay import bundle
from replay.audit import NOT_PROVEN, UNDETERMINED, VERIFIED, Trust, audit_bundle
from replay.bundle import BadBundle, Bundle
from tests.audit.corpus import CASES, ORIGIN, Case, custodial, own, packed, receipts

GAME = bytes(range(16))
EVENTS = [b"one", b"two"]


def small(**files: bytes) -> bytes:
    return bundle.write(GAME, ORIGIN, EVENTS, {name.replace("__", "."): data for name, data in files.items()})


def parts(data: bytes) -> dict[str, bytes]:
    return dict(Bundle.read(data).files)


def refused(data: bytes, why: str) -> None:
    with pytest.raises(BadBundle, match=why):
        Bundle.read(data)
    verdict = audit_bundle(data, Trust())
    assert (verdict.verdict, verdict.code, verdict.who) == (NOT_PROVEN, "V0", None)


# -- writing ---------------------------------------------------------------------------------------------------------


def test_the_same_evidence_gives_the_same_bytes_in_whatever_order_it_comes() -> None:
    signer = Signer.of(ORIGIN + "/receipts", bytes(32))
    files = {"open.entry": b"1", "keys.txt": b"2", "state.json": b"3"}
    first = bundle.write(GAME, ORIGIN, EVENTS, files, signer)
    assert bundle.write(GAME, ORIGIN, iter(EVENTS), dict(reversed(files.items())), signer) == first


def test_other_tools_read_what_is_written() -> None:
    with zipfile.ZipFile(io.BytesIO(small(keys__txt=b"keys"))) as opened:
        assert opened.testzip() is None
        assert opened.namelist() == ["README.txt", "events.bin", "keys.txt", "manifest.json"]
        assert opened.read("events.bin") == b"\0\0\0\3one\0\0\0\3two"
        manifest = json.loads(opened.read("manifest.json"))
    assert manifest["game_id"] == GAME.hex()
    assert manifest["files"]["keys.txt"]["size"] == 4


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_other_tools_write_is_read(method: int) -> None:
    files = parts(small())
    packed_again = io.BytesIO()
    with zipfile.ZipFile(packed_again, "w", method) as made:
        for name, data in files.items():
            made.writestr(name, data)
        made.writestr("receipts/mine.note", b"a note")
    read = Bundle.read(packed_again.getvalue())
    assert {name: read.files[name] for name in files} == files
    assert read.under("receipts/") == {"receipts/mine.note": b"a note"}
    assert read.damaged == ()


def test_the_writer_writes_no_name_and_no_size_that_the_reader_refuses() -> None:
    for name in ("../evil", "events.bin/x", "heads/0001.entry", "receipts/a b.note"):
        with pytest.raises(BadBundle):
            bundle.write(GAME, ORIGIN, EVENTS, {name: b""})
    with pytest.raises(BadBundle):
        bundle.write(GAME, ORIGIN, EVENTS, {f"gossip/{n:04}.txt": b"" for n in range(300)})
    with pytest.raises(BadBundle):
        bundle.write(GAME, ORIGIN, EVENTS, {"keys.txt": bytes(bundle.UNPACKED_LIMIT + 1)})


# -- names and sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../manifest.json", "/etc/passwd", "C:\\windows", "receipts/../../x.note", "receipts/", "receipts/.note/x.note",
        "gossip/1.txt", "gossip/00001.txt", "EVENTS.BIN", "events.bin ", "events.bin\0", "évents.bin", "", "x",
        "receipts/" + "x" * 65 + ".note", "heads/0001.entry",
    ],
)  # fmt: skip
def test_a_name_that_is_not_on_the_list_is_refused(name: str) -> None:
    refused(bundle.zipped({**parts(small()), name: b""}), "no bundle has an entry")


def test_an_entry_that_is_there_twice_is_refused() -> None:
    data = small(keys__txt=b"keys", state__json=b"keys")
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert "keys.txt" in opened.namelist()
    twice = bundle.zipped({**parts(data), "receipts/aaaa.note": b"1", "receipts/bbbb.note": b"2"})
    refused(twice.replace(b"receipts/bbbb.note", b"receipts/aaaa.note"), "there twice")


def test_more_entries_than_a_bundle_has_are_refused() -> None:
    files = parts(small()) | {f"receipts/{n}.note": b"" for n in range(300)}
    refused(bundle.zipped(files), "1 to 256 entries")


def test_a_bundle_without_its_manifest_or_its_events_is_refused() -> None:
    for name in ("manifest.json", "events.bin"):
        files = parts(small())
        del files[name]
        refused(bundle.zipped(files), f"there is no {name}")


@pytest.mark.parametrize(
    "manifest",
    [
        b"", b"{}", b"[]", b"null", b"\xff", b"[" * 60_000, b'{"files":' * 5_000,
        b'{"files":{},"format":"annals/1 bundle","game_id":"00","origin":"x"}',
        b'{"files":{},"format":"annals/2 bundle","game_id":"' + b"0" * 32 + b'","origin":"x"}',
        b'{"files":{},"format":"annals/1 bundle","game_id":"' + b"0" * 32 + b'","origin":"x","more":1}',
        b'{"format":"annals/1 bundle","files":{},"game_id":"' + b"0" * 32 + b'","origin":"x"}',
        b'{"files":{}, "format":"annals/1 bundle","game_id":"' + b"0" * 32 + b'","origin":"x"}',
        b'{"files":{},"files":{},"format":"annals/1 bundle","game_id":"' + b"0" * 32 + b'","origin":"x"}',
        b'{"files":{"a":{"sha256":"","size":1}},"format":"annals/1 bundle","game_id":"' + b"0" * 32 + b'","origin":""}',
        b" " * 70_000,
    ],
    ids=range(15),
)  # fmt: skip
def test_a_manifest_has_one_form(manifest: bytes) -> None:
    refused(bundle.zipped({**parts(small()), "manifest.json": manifest}), "manifest.json")


def test_a_file_that_the_manifest_does_not_name_or_that_is_missing_is_damage() -> None:
    files = parts(small(keys__txt=b"keys"))
    more = Bundle.read(bundle.zipped({**files, "state.json": b"{}"}))
    assert more.damaged == ("state.json is not in the manifest",)
    del files["keys.txt"]
    assert Bundle.read(bundle.zipped(files)).damaged == ("keys.txt is missing",)
    other = Bundle.read(bundle.zipped({**files, "keys.txt": b"Keys"}))
    assert other.damaged == ("keys.txt is not the one of the manifest",)


# -- tricks with the container -----------------------------------------------------------------------------------------

LOCAL, CENTRAL, END = 30, 46, 22
"""Sizes of the headers (APPNOTE.TXT 4.3)."""


class Zip:
    """A bundle's container in parts that can be forged."""

    def __init__(self) -> None:
        self.data = bytearray(small(keys__txt=b"keys " * 40))
        self.end = len(self.data) - END
        self.directory = struct.unpack_from("<I", self.data, self.end + 16)[0]

    def put(self, place: int, form: str, value: int) -> None:
        struct.pack_into("<" + form, self.data, place, value)

    def both(self, local: int, central: int, form: str, value: int) -> None:
        self.put(local, form, value)
        self.put(self.directory + central, form, value)

    def bytes(self) -> bytes:
        return bytes(self.data)


def _encrypted(forged: Zip) -> None:
    forged.both(6, 8, "H", 1)


def _streamed(forged: Zip) -> None:
    forged.both(6, 8, "H", 8)


def _other_method(forged: Zip) -> None:
    forged.both(8, 10, "H", 12)


def _newer_version(forged: Zip) -> None:
    forged.both(4, 6, "H", 45)


def _zip64_sizes(forged: Zip) -> None:
    forged.both(18, 20, "I", 0xFFFFFFFF)
    forged.both(22, 24, "I", 0xFFFFFFFF)


def _larger_than_it_is(forged: Zip) -> None:
    forged.both(22, 24, "I", 5_000)


def _local_says_another_name(forged: Zip) -> None:
    forged.data[LOCAL] ^= 0x20


def _local_says_another_size(forged: Zip) -> None:
    forged.put(22, "I", 3)


def _local_says_another_method(forged: Zip) -> None:
    forged.put(8, "H", 8)


def _wrong_sum(forged: Zip) -> None:
    forged.both(14, 16, "I", 7)


def _extra_field(forged: Zip) -> None:
    forged.put(28, "H", 4)


def _symbolic_link(forged: Zip) -> None:
    forged.put(forged.directory + 38, "I", 0o120777 << 16)


def _folder(forged: Zip) -> None:
    forged.put(forged.directory + 38, "I", 0x10)


def _second_disk(forged: Zip) -> None:
    forged.put(forged.directory + 34, "H", 1)


def _two_entries_at_one_place(forged: Zip) -> None:
    second = forged.directory + CENTRAL + len("README.txt")
    forged.put(second + 42, "I", 0)


def _beyond_the_end(forged: Zip) -> None:
    forged.put(forged.directory + 42, "I", 2**31)


def _comment(forged: Zip) -> None:
    forged.put(forged.end + 20, "H", 5)
    forged.data += b"hello"


def _behind_the_end(forged: Zip) -> None:
    forged.data += b"PK"


def _before_the_beginning(forged: Zip) -> None:
    forged.data[:0] = b"#!/bin/sh\n"


def _fewer_entries_than_there_are(forged: Zip) -> None:
    forged.put(forged.end + 8, "H", 2)
    forged.put(forged.end + 10, "H", 2)


def _two_counts(forged: Zip) -> None:
    forged.put(forged.end + 8, "H", 2)


def _zip64_count(forged: Zip) -> None:
    forged.put(forged.end + 8, "H", 0xFFFF)
    forged.put(forged.end + 10, "H", 0xFFFF)


def _no_entries(forged: Zip) -> None:
    forged.data = forged.data[-END:]
    forged.data[8:20] = bytes(12)


def _between_entries_and_directory(forged: Zip) -> None:
    forged.data[forged.directory : forged.directory] = b"hidden"
    forged.put(len(forged.data) - END + 16, "I", forged.directory + 6)


TRICKS: list[Callable[[Zip], None]] = [
    _encrypted, _streamed, _other_method, _newer_version, _zip64_sizes, _larger_than_it_is, _local_says_another_name,
    _local_says_another_size, _local_says_another_method, _wrong_sum, _extra_field, _symbolic_link, _folder,
    _second_disk, _two_entries_at_one_place, _beyond_the_end, _comment, _behind_the_end, _before_the_beginning,
    _fewer_entries_than_there_are, _two_counts, _zip64_count, _no_entries, _between_entries_and_directory,
]  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__.strip("_"))
def test_a_trick_with_the_container_is_refused(trick: Callable[[Zip], None]) -> None:
    forged = Zip()
    assert Bundle.read(forged.bytes()).damaged == ()
    trick(forged)
    refused(forged.bytes(), ".")


def test_what_unpacks_to_more_or_less_than_it_says_is_refused() -> None:
    files = parts(small())
    for content, said in ((bytes(50_000), 100), (bytes(100), 50_000)):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        squeezed = deflate.compress(content) + deflate.flush()
        forged = bytearray(bundle.zipped({**files, "keys.txt": squeezed}))
        for mark, method, size in ((b"PK\3\4", 8, 22), (b"PK\1\2", 10, 24)):
            at = forged.index(mark, 0)
            while forged[at + (30 if mark == b"PK\3\4" else 46) :][:8] != b"keys.txt":
                at = forged.index(mark, at + 4)
            struct.pack_into("<H", forged, at + method, 8)
            struct.pack_into("<I", forged, at + size, said)
        refused(bytes(forged), "keys.txt")


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("manifest.json", "events.bin", "keys.txt"):
            made.writestr(name, bytes(40_000_000))
    tracemalloc.start()
    begun = time.perf_counter()
    refused(bomb.getvalue(), "bytes when unpacked")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
    assert time.perf_counter() - begun < 1


def test_a_bundle_of_nothing_but_events_that_are_none_is_judged_in_bounded_time() -> None:
    data = bundle.write(GAME, ORIGIN, [b"\x98\x01\xc4\x10"] * 200_000)
    begun = time.perf_counter()
    verdict = audit_bundle(data, Trust())
    assert time.perf_counter() - begun < 20
    assert (verdict.verdict, verdict.code, verdict.who) == (NOT_PROVEN, "V2", None)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_get_a_verdict_and_accuse_nobody(data: bytes) -> None:
    for tried in (data, b"PK\3\4" + data, small()[:60] + data, data + small()[-200:]):
        verdict = audit_bundle(tried, Trust())
        assert (verdict.verdict, verdict.who) == (NOT_PROVEN, None)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_in_the_place_of_events_get_a_verdict_and_accuse_nobody(data: bytes, rules: bool) -> None:
    files = {"events.bin": data, "open.tlog-proof": data, "consistency.txt": data, "receipts/a.note": data}
    for name, content in files.items():
        made = bundle.write(GAME, ORIGIN, EVENTS, {name: content})
        verdict = audit_bundle(made, replace(CASES["own-finished"]().trust, rules=rules))
        assert verdict.verdict in (NOT_PROVEN, UNDETERMINED)
        assert verdict.who is None


# -- single bits -------------------------------------------------------------------------------------------------------

HARMLESS = {
    "made by": "which program wrote the zip",
    "attributes": "what a file system would make of an entry",
}
"""Where a single bit of a bundle may change without failing a check, and what it is then."""
REPACKED = {
    "README.txt": "for people",
    "keys.txt": "for information, never used",
    "extra": "the line of a proof that proves nothing (C2SP tlog-proof)",
    "witness": "name and key id of a signature that is then nobody's: fewer witnesses, and a limit says so",
}
"""The same where somebody changes a bit of an entry and packs everything anew, with a manifest that is not signed."""


def places(data: bytes) -> dict[int, str]:
    """The bytes of a container that mean nothing, by what they are."""
    named: dict[int, str] = {}
    at = struct.unpack_from("<I", data, len(data) - END + 16)[0]
    while data[at : at + 4] == b"PK\1\2":
        (size,) = struct.unpack_from("<H", data, at + 28)
        named |= dict.fromkeys((at + 4, at + 5), "made by")
        named |= dict.fromkeys(range(at + 36, at + 42), "attributes")
        at += CENTRAL + size
    return named


def flipped(data: bytes, bit: int) -> bytes:
    spoiled = bytearray(data)
    spoiled[bit // 8] ^= 1 << bit % 8
    return bytes(spoiled)


def honest(name: str) -> Case:
    game = (own("bits", 24) if name == "own" else custodial("bits too", 24)).finish()
    return Case(packed(game), game.house.policy(), VERIFIED, receipts=receipts(game, 5))


@pytest.mark.parametrize("name", ["own", "custodial"])
def test_every_single_bit_is_refused_or_harmless_by_name(name: str) -> None:
    case = honest(name)
    before, may = audit_bundle(case.data, case.trust), places(case.data)
    chosen = random.Random(7).sample(range(len(case.data) * 8), 600)
    for bit in [*chosen, *(place * 8 + place % 8 for place in may)]:
        verdict = audit_bundle(flipped(case.data, bit), case.trust)
        if verdict.verdict == before.verdict:
            assert may.get(bit // 8) in HARMLESS, bit
        else:
            assert (verdict.verdict, verdict.who) == (NOT_PROVEN, None), bit


def repacked(files: dict[str, bytes], game_id: bytes) -> bytes:
    """As anybody can: the manifest is right, and nobody signed it."""
    kept = {name: data for name, data in files.items() if name not in ("manifest.json", "manifest.note")}
    return bundle.write(game_id, ORIGIN, [], kept)


def meaning(name: str, data: bytes, place: int) -> str:
    """What a byte of an entry is, where it may change."""
    line = data[: data.find(b"\n", place)].rpartition(b"\n")[2]
    if line.startswith(b"extra "):
        return "extra"
    signer = line.startswith("— witness.example ".encode())
    return "witness" if signer else name


@pytest.mark.parametrize("name", ["own", "custodial"])
def test_a_bit_of_an_entry_that_somebody_changes_and_packs_anew_accuses_nobody(name: str) -> None:
    case = honest(name)
    read = Bundle.read(case.data)
    files = {name: data for name, data in read.files.items() if not name.startswith("manifest.")}
    before = audit_bundle(repacked(dict(read.files), read.game_id), case.trust).verdict
    whims = random.Random(9)
    for entry in [*files, *["events.bin"] * 25]:
        for bit in whims.sample(range(len(files[entry]) * 8), 12):
            data = flipped(files[entry], bit)
            verdict = audit_bundle(repacked({**files, entry: data}, read.game_id), case.trust)
            assert verdict.who is None, (entry, bit)
            if verdict.verdict == before:
                assert meaning(entry, files[entry], bit // 8) in REPACKED, (entry, bit)
            else:
                assert verdict.verdict in (NOT_PROVEN, UNDETERMINED), (entry, bit)
