"""The second verifier, service/web/static/verify.mjs, under node: it agrees with published values and the first one."""

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.bindings import crypto_core_ed25519_is_valid_point

from engine.chance import below
from events import codec, notes, seeds
from events.signing import ACTION_TYPE, pae, usable_key, verified
from events.tlog.policy import BadPolicy, Policy
from tests.web.javascript import NODE, Big, failed, run

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT.parent / "shared" / "vectors"

pytestmark = pytest.mark.skipif(
    NODE is None and os.environ.get("CI") != "true", reason="no node is installed; requirements/system.sh tells how"
)
published = pytest.mark.skipif(not VECTORS.is_dir(), reason="the published test vectors are not beside this checkout")


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


# -- hashes ------------------------------------------------------------------------------------------------------------


def test_sha_256_is_the_one_of_webcrypto_and_of_python_at_every_length_around_a_block() -> None:
    inputs = [bytes(i % 251 for i in range(n)) for n in [*range(132), 1000, 65_535]]
    expected = [hashlib.sha256(data).digest() for data in inputs]
    assert run([["sha256", data] for data in inputs]) == expected
    assert run([["webcrypto", data] for data in inputs]) == expected


def test_hmac_and_hkdf_give_the_values_of_their_rfcs() -> None:
    key, salt, info = b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA))
    assert run(
        [
            ["hmac", b"\x0b" * 20, b"Hi There"],
            ["hmac", b"Jefe", b"what do ya want for nothing?"],
            ["hmac", b"\xaa" * 131, b"Test Using Larger Than Block-Size Key - Hash Key First"],
            ["hmac", salt, key],
            ["hkdf", key, salt, info, 42],
        ]
    ) == [
        bytes.fromhex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        bytes.fromhex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        bytes.fromhex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        bytes.fromhex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"),
        bytes.fromhex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
    ]


@published
def test_hmac_agrees_with_wycheproof() -> None:
    cases = [
        (test, group["tagSize"] // 8)
        for group in load("wycheproof-hmac_sha256_test.json")["testGroups"]
        for test in group["tests"]
    ]
    answers = run([["hmac", bytes.fromhex(case["key"]), bytes.fromhex(case["msg"])] for case, _ in cases])
    assert [answer[:size].hex() == case["tag"] for answer, (case, size) in zip(answers, cases, strict=True)] == [
        case["result"] == "valid" for case, _ in cases
    ]
    assert len(cases) == 174


@published
def test_hkdf_agrees_with_wycheproof() -> None:
    cases = [test for group in load("wycheproof-hkdf_sha256_test.json")["testGroups"] for test in group["tests"]]
    answers = run(
        [["hkdf", *(bytes.fromhex(case[part]) for part in ("ikm", "salt", "info")), case["size"]] for case in cases]
    )
    assert [
        not failed(answer) and answer.hex() == case["okm"] for answer, case in zip(answers, cases, strict=True)
    ] == [case["result"] == "valid" for case in cases]
    assert len(cases) == 86


# -- MP-C1 -------------------------------------------------------------------------------------------------------------


@published
def test_of_all_encodings_of_a_value_only_one_is_accepted_and_none_of_floats_and_timestamps() -> None:
    suite = load("msgpack-test-suite.json")
    cases = [
        (name, [bytes.fromhex(code.replace("-", "")) for code in case["msgpack"]])
        for name, group in suite.items()
        if name.endswith(".yaml")
        for case in group
    ]
    answers = iter(run([["again", code] for _, codes in cases for code in codes]))
    for name, codes in cases:
        again = {code: next(answers) for code in codes}
        accepted = [code for code, answer in again.items() if not failed(answer)]
        assert accepted == [code for code in codes if canonical(code)], name
        assert all(again[code] == code for code in accepted), name
        assert len(accepted) == (0 if accepts_nothing(name, codes) else 1), name
    assert sum(len(codes) for _, codes in cases) == 205


def accepts_nothing(name: str, codes: list[bytes]) -> bool:
    return not any(canonical(code) for code in codes) and ("float" in name or "timestamp" in name)


def canonical(data: bytes) -> bool:
    try:
        codec.decode(data)
    except codec.NotCanonical:
        return False
    return True


def test_what_is_not_mp_c1_is_refused() -> None:
    refused = {
        "a key twice": "82a16101a16102",
        "keys out of order": "82a16201a16101",
        "keys in the order of UTF-16": "82a4f09f988201a3efacb302",
        "a number as key": "810101",
        "a surrogate": "a3eda080",
        "cut off in the middle of a character": "a2c3",
        "the reserved byte": "c1",
        "a byte too many": "c0c0",
        "nothing": "",
        "an array that ends early": "9201",
        "four thousand million items": "ddffffffff",
        "seventeen deep": "91" * 17 + "c0",
        "an extension": "d40001",
        "a float": "cb0000000000000000",
    }
    answers = run([["decode", bytes.fromhex(code)] for code in refused.values()])
    assert [why for why, answer in zip(refused, answers, strict=True) if not failed(answer)] == []
    assert not any(canonical(bytes.fromhex(code)) for code in refused.values())
    largest, larger = b"\xc5\xff\xfc" + bytes(65_532), b"\xc5\xff\xfd" + bytes(65_533)
    assert [failed(answer) for answer in run([["again", largest], ["again", larger]])] == [False, True]
    assert not failed(run([["again", b"\x91" * 16 + b"\xc0"]])[0])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([n + d for n in (0, 127, 255, 65_535, 2**32, 2**53, -32, -128, -(2**31)) for d in (-1, 0, 1)])
    | st.text(max_size=40)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner, max_size=20),
    max_leaves=30,
)


@settings(max_examples=4, deadline=None)
@given(st.lists(VALUES, min_size=30, max_size=60))
def test_both_codecs_write_the_same_bytes(values: list[Any]) -> None:
    written = [codec.encode(value) for value in values]
    assert run([["again", data] for data in written]) == written


@settings(max_examples=4, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=12), min_size=100, max_size=300), st.data())
def test_both_codecs_refuse_the_same_bytes(noise: list[bytes], data: st.DataObject) -> None:
    near = [bytearray(codec.encode(value)) for value in data.draw(st.lists(VALUES, min_size=30, max_size=30))]
    for each in near:
        place = data.draw(st.integers(0, len(each) - 1))
        each[place] ^= 1 << data.draw(st.integers(0, 7))
    inputs = noise + [bytes(each) for each in near]
    assert [not failed(answer) for answer in run([["decode", each] for each in inputs])] == [
        canonical(each) for each in inputs
    ]


# -- dice --------------------------------------------------------------------------------------------------------------


def test_chains_mixing_and_draws_are_those_of_python() -> None:
    game, tail = bytes(range(16)), bytes(range(32))
    for owner, length in ((0, 4096), (255, 7)):
        assert run([["chain", game, owner, tail, length]]) == [seeds.Chain(game, owner, tail, length).commitment]
    c0, c1 = {0: b"a" * 32, 3: b"b" * 32}, {0: b"c" * 32, 3: b"d" * 32}
    mix = seeds.setup_mix(game, c0, c1)
    sides = [6, 20, 2, 256, 257, 100, 65_536, 65_537, 2**32 - 1] * 20
    rolls = (byte for block in seeds.blocks(mix) for byte in block)
    assert run(
        [
            ["setupMix", game, [[owner, c0[owner], c1[owner]] for owner in (0, 3)]],
            ["rollMix", mix, 7, 3, b"e" * 32, b"f" * 32],
            ["rollMix", mix, 8, 0, b"", b"f" * 32],
            ["draws", mix, sides],
        ]
    ) == [
        mix,
        seeds.roll_mix(mix, 7, 3, b"e" * 32, b"f" * 32),
        seeds.roll_mix(mix, 8, 0, None, b"f" * 32),
        [below(n, rolls) for n in sides],
    ]


# -- Ed25519 -----------------------------------------------------------------------------------------------------------


def test_signatures_of_rfc_8032_are_accepted_and_what_libsodium_refuses_is_refused() -> None:
    key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    one = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        "655141438e7a100b"
    )
    again = one[:32] + (int.from_bytes(one[32:], "little") + 2**252 + 27742317777372353535851937790883648493).to_bytes(
        32, "little"
    )
    nobody = b"\x01" + bytes(31)
    assert run(
        [
            ["ed25519", key, b"", one],
            ["ed25519", key, b"!", one],
            ["ed25519", key, b"", again],
            ["ed25519", key, b"", one[:63]],
            ["ed25519", key[:31], b"", one],
            ["ed25519", nobody, b"any message", nobody + bytes(32)],
        ]
    ) == [True, False, False, False, False, False]


def test_the_same_encodings_of_points_are_refused_as_in_python() -> None:
    p = 2**255 - 19
    orders = (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
    low = [0, 1, p - 1, p, p + 1, *(int.from_bytes(bytes.fromhex(text), "little") for text in orders)]
    points = [(y | sign << 255).to_bytes(32, "little") for y in [*low, 2, p - 2, p + 2, 2**255 - 1] for sign in (0, 1)]
    answers = run([["usablePoint", point] for point in points])
    assert answers == [usable_key(point) for point in points]
    assert [point for point, usable in zip(points, answers, strict=True) if usable] == [
        (y | sign << 255).to_bytes(32, "little") for y in (2, p - 2) for sign in (0, 1)
    ]


def published_signatures() -> dict[str, list[tuple[bytes, bytes, bytes]]]:
    return {
        "cctv": [
            (bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
            for case in load("cctv-ed25519vectors.json")
        ],
        "speccheck": [
            tuple(bytes.fromhex(case[part]) for part in ("pub_key", "message", "signature"))
            for case in load("ed25519-speccheck.json")["cases"]
        ],
        "wycheproof": [
            (bytes.fromhex(group["publicKey"]["pk"]), bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"]))
            for group in load("wycheproof-ed25519_test.json")["testGroups"]
            for test in group["tests"]
        ],
    }


@published
@pytest.mark.parametrize(
    ("name", "count", "accepted"), [("cctv", 914, 43), ("speccheck", 10, 1), ("wycheproof", 151, 88)]
)
def test_exactly_the_signatures_that_libsodium_accepts_are_accepted(name: str, count: int, accepted: int) -> None:
    cases = published_signatures()[name]
    answers = run([["ed25519", *case] for case in cases])
    assert answers == [verified(*case) for case in cases]
    assert (len(cases), sum(answers)) == (count, accepted)


def test_a_pinned_key_is_a_point_of_prime_order_as_in_libsodium() -> None:
    basis = bytes.fromhex("5866666666666666666666666666666666666666666666666666666666666666")
    points = [basis, basis[:-1] + b"\xe6", *(hashlib.sha256(bytes([n])).digest() for n in range(60))]
    points += [y.to_bytes(32, "little") for y in range(2, 20)]
    answers = run([["primeOrder", point] for point in points])
    assert answers == [crypto_core_ed25519_is_valid_point(point) for point in points]
    assert answers[:2] == [True, True]
    assert set(answers) == {True, False}


@published
def test_pinned_keys_among_the_edge_cases_are_those_of_libsodium() -> None:
    keys = sorted({case[0] for some in published_signatures().values() for case in some if len(case[0]) == 32})
    assert run([["primeOrder", key] for key in keys]) == [crypto_core_ed25519_is_valid_point(key) for key in keys]
    assert len(keys) > 30


def test_what_a_seat_signs_is_the_encoding_of_dsse() -> None:
    assert run([["actionMessage", b"abc"]]) == [pae(ACTION_TYPE, b"abc")]


# -- notes, checkpoints, policies --------------------------------------------------------------------------------------


def opened(cases: list[tuple[bytes, list[str]]]) -> list[Any]:
    keys = [[verifier_of(vkey) for vkey in vkeys] for _, vkeys in cases]
    return run([["openNote", data, known] for (data, _), known in zip(cases, keys, strict=True)])


def verifier_of(vkey: str) -> dict[str, Any]:
    verifier = notes.Verifier.parse(vkey)
    return {"name": verifier.name, "id": verifier.key_id.hex(), "kind": verifier.kind, "key": verifier.public}


PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
SAYING = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETERS = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
ENOCHS = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"


def test_a_note_is_believed_for_its_known_keys_and_refused_when_malformed() -> None:
    good = f"{SAYING}\n{PETERS}{ENOCHS}".encode()
    for keys, signers in (([PETER, ENOCH], 2), ([PETER], 1), ([ENOCH], 1)):
        (answer,) = opened([(good, keys)])
        assert answer["text"] == SAYING
        assert len(answer["signers"]) == signers
    bad = {
        "no known key": (good, []),
        "another text": (good.replace(b"think", b"thank"), [PETER]),
        "a line of a known key that fails": (
            f"{SAYING}\n{PETERS}{ENOCHS.replace('rwz+eBzm', 'rwz+eBzn')}".encode(),
            [PETER, ENOCH],
        ),
        "twice the same key": (f"{SAYING}\n{PETERS}{PETERS}".encode(), [PETER]),
        "no text": (PETERS.encode(), [PETER]),
        "no empty line": (f"{SAYING}{PETERS}".encode(), [PETER]),
        "no newline at the end": (good[:-1], [PETER]),
        "an empty line more": (good + b"\n", [PETER]),
        "no signature": (f"{SAYING}\n".encode(), [PETER]),
        "a control character": (good.replace(b"think", b"th\x01nk"), [PETER]),
        "not UTF-8": (b"\xff" + good, [PETER]),
        "a hyphen for the dash": (good.replace("—".encode(), b"-"), [PETER]),
        "no base64": (good.replace(b"rwz+", b"rwz*"), [PETER]),
        "base64 with loose bits": (good.replace(b"nAM=", b"nAN="), [PETER]),
        "101 signatures": (f"{SAYING}\n{PETERS}{ENOCHS * 100}".encode(), [PETER]),
    }
    answers = opened(list(bad.values()))
    assert [why for why, answer in zip(bad, answers, strict=True) if not failed(answer)] == []


def test_a_verifier_key_is_read_as_in_python() -> None:
    keys = [
        PETER,
        ENOCH,
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ]
    answers = run([["parseVkey", key] for key in keys])
    assert [not failed(answer) for answer in answers] == [True, True] + [False] * 9
    for key in keys[2:]:
        with pytest.raises(notes.BadKey):
            notes.Verifier.parse(key)


@published
def test_real_notes_and_the_cosignatures_of_four_witnesses_verify() -> None:
    for name, case in load("signed-notes.json").items():
        (answer,) = opened([(case["note"].encode(), case["vkeys"])])
        assert len(answer["signers"]) == len(case["vkeys"]), name
        assert sum(signer["kind"] == notes.COSIGNATURE for signer in answer["signers"]) == 4 * (name == "arche2025h1")


def test_a_checkpoint_has_three_lines_and_one_form() -> None:
    root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
    good = f"example.com/log\n20852163\n{root}\n"
    bad = [
        good[:-1],
        good + "more\n",
        good.replace("2085", "+2085"),
        good.replace("2085", "02085"),
        good.replace("2085", "-2085"),
        good.replace("20852163", "1" * 28),
        good.replace("example.com/log", ""),
        good.replace("q2I=", "q2J="),
        good.replace(root, root[:40]),
    ]
    answers = run([["parseCheckpoint", text] for text in [good, *bad]])
    assert answers[0]["size"] == 20852163
    assert all(failed(answer) for answer in answers[1:])


def test_a_policy_is_read_and_its_quorum_counted() -> None:
    w = [notes.Signer.of(f"w{n}.example", bytes([n]) * 32, notes.COSIGNATURE).vkey for n in range(1, 4)]
    good = (
        f"# a comment\nlog {PETER} https://example.com\n\twitness a {w[0]}\nwitness b {w[1]}\nwitness c {w[2]}\n\n"
        "group bc any b c\ngroup all 2 a bc\nquorum all\n"
    )
    bad = [
        "",
        f"log {PETER}\n",
        f"log {PETER}\nlog {PETER}\nquorum none\n",
        good + "quorum none\n",
        good.replace("any b c", "3 b c"),
        good.replace("any b c", "0 b c"),
        good.replace("any b c", "any b b"),
        good.replace("2 a bc", "2 a b"),
        good.replace("quorum all", "quorum others"),
        good.replace("witness a", "witness none"),
        good.replace("witness b", "witness a"),
        good.replace(w[1], w[0]),
        good.replace(w[1], ENOCH),
        good.replace(" comment", "\r"),
        good.replace("quorum", "Quorum"),
        good + "group d any e\n",
    ]
    answers = run(
        [["parsePolicy", text.encode()] for text in [good, *bad, f"# annals-receipts {ENOCH}\nquorum none\n"]]
    )
    assert answers[0]["quorum"] == "all"
    assert answers[-1]["receipts"]["name"] == "EnochRoot"
    assert [text for text, answer in zip(bad, answers[1:-1], strict=True) if not failed(answer)] == []
    Policy.parse(good)
    for text in bad:
        with pytest.raises(BadPolicy):
            Policy.parse(text)


# -- Merkle tree -------------------------------------------------------------------------------------------------------

LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
FIRST = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
OF_0_IN_8 = [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
]
OF_5_IN_8 = [
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
INCLUSIONS = [
    (0, 8, OF_0_IN_8),
    (5, 8, OF_5_IN_8),
    (2, 3, [ROOTS[2]]),
    (1, 5, [FIRST, OF_0_IN_8[1], OF_5_IN_8[0]]),
    (0, 1, []),
]
CONSISTENCIES = [
    (6, 8, ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a", *OF_5_IN_8[1:]]),
    (2, 5, [OF_0_IN_8[1], OF_5_IN_8[0]]),
    (1, 8, OF_0_IN_8),
    (1, 1, []),
    (8, 8, []),
]


def hashes(texts: list[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


def test_leaves_and_nodes_hash_as_in_rfc_6962() -> None:
    assert run([["sha256"], ["leafHash", b""], ["leafHash", b"L123456"], ["nodeHash", b"N123", b"N456"]]) == hashes(
        [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            FIRST,
            "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56",
            "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb",
        ]
    )


def test_proofs_of_the_reference_tree_hold_and_no_changed_one_does() -> None:
    leaves = run([["leafHash", bytes.fromhex(leaf)] for leaf in LEAVES])
    calls: list[list[Any]] = [
        ["included", leaves[index], Big(index), Big(size), hashes(path), bytes.fromhex(ROOTS[size])]
        for index, size, path in INCLUSIONS
    ] + [
        ["consistent", Big(first), bytes.fromhex(ROOTS[first]), Big(second), bytes.fromhex(ROOTS[second]), hashes(path)]
        for first, second, path in CONSISTENCIES
    ]
    assert run(calls) == [True] * len(calls)
    changed: list[list[Any]] = []
    for call in calls:
        for place, part in enumerate(call):
            if isinstance(part, bytes):
                changed.append([*call[:place], bytes([part[0] ^ 1]) + part[1:], *call[place + 1 :]])
            elif isinstance(part, list):
                changed.append([*call[:place], [*part, bytes(32)], *call[place + 1 :]])
                changed += [[*call[:place], part[:n] + part[n + 1 :], *call[place + 1 :]] for n in range(len(part))]
            elif isinstance(part, Big):
                # another index or size; a tree of 0 or of 4 leaves more changes the shape of no short path
                changed.append([*call[:place], Big(part.value + 8), *call[place + 1 :]])
    assert set(run(changed)) == {False}


@published
def test_proofs_are_judged_as_in_the_published_probes() -> None:
    probes = load("transparency-dev-merkle.json")
    expected, calls = [], []
    for name, case in probes["inclusion"].items():
        expected.append((name, not case["wantErr"]))
        calls.append(
            [
                "included",
                b64(case["leafHash"]),
                Big(case["leafIdx"]),
                Big(case["treeSize"]),
                path_of(case),
                b64(case["root"]),
            ]
        )
    for name, case in probes["consistency"].items():
        # one case is to hold with hashes of 12 bytes, which are no hashes here
        expected.append((name, not case["wantErr"] and len(b64(case["root1"])) == 32))
        calls.append(
            [
                "consistent",
                Big(case["size1"]),
                b64(case["root1"]),
                Big(case["size2"]),
                b64(case["root2"]),
                path_of(case),
            ]
        )
    assert [(name, answer) for (name, _), answer in zip(expected, run(calls), strict=True)] == expected
    assert len(calls) == 196


@published
def test_a_real_log_of_961_984_013_certificates_verifies() -> None:
    log = load("ct-argon2020.json")
    size, root = Big(log["sth"]["tree_size"]), b64(log["sth"]["sha256_root_hash"])
    leaf = run([["leafHash", b64(log["entries"]["entries"][0]["leaf_input"])]])[0]
    assert leaf.hex() == "9c2b3799f232761f71e022b243ebb6c6d9a9c66160800e4c2f2987c0d41294b8"
    proof, grown = log["proof"], log["consistency"]["consistency"]
    assert run(
        [
            ["included", leaf, Big(proof["leaf_index"]), size, [b64(part) for part in proof["audit_path"]], root],
            ["consistent", Big(int(log["old_size"])), b64(log["old_root"]), size, root, [b64(part) for part in grown]],
        ]
    ) == [True, True]


def b64(text: str) -> bytes:
    return base64.b64decode(text)


def path_of(case: dict[str, Any]) -> list[bytes]:
    return [b64(part) for part in case["proof"] or []]


def test_a_proof_file_has_one_form() -> None:
    root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
    checkpoint = f"example.com/log\n5\n{root}\n\n— x AAAAAAA=\n"
    good = f"c2sp.org/tlog-proof@v1\nextra AAEC\nindex 73894\n{root}\n{root}\n\n{checkpoint}"
    bad = [
        good.replace("@v1", "@v2"),
        good.replace("extra AAEC", "extra AAE"),
        good.replace("index 73894\n", ""),
        good.replace("73894", "073894"),
        good.replace("73894", "-1"),
        good.replace("73894", "1" * 28),
        good.replace(f"{root}\n\nex", f"{root[:-4]}\n\nex"),
        good.replace("\n\n", "\n"),
        good.replace("index 73894\n", "index 73894\n" + f"{root}\n" * 64),
    ]
    answers = run([["parseProof", text.encode()] for text in [good, *bad]])
    assert (answers[0]["index"], answers[0]["extra"], len(answers[0]["path"])) == (73894, b"\0\1\2", 2)
    assert answers[0]["checkpoint"].startswith(b"example.com/log\n5\n")
    assert [text for text, answer in zip(bad, answers[1:], strict=True) if not failed(answer)] == []
    older = f"old 3\n{root}\n\n{checkpoint}"
    answers = run([["parseConsistency", text.encode()] for text in (older, older.replace("old", "new"), "old 3\n")])
    assert [failed(answer) for answer in answers] == [False, True, True]
    assert answers[0]["old"] == 3
