"""Pictures by URL: a whole replay moving, made once, one at a time, elsewhere, and kept; packed; a part of an event."""

import gzip
import subprocess
import threading
from io import BytesIO
from typing import Any

import pytest

from events.log import Unavailable
from replay.pictures import export
from service import animations
from service.animations import Animations

pytestmark = pytest.mark.skipif(not export.available(), reason="the extra `export` is not installed")
GAME = b"\1" * 16


def over(house: Any) -> Any:
    """A table whose game is over."""
    table = house.player().opens(2, options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    return table


@pytest.mark.parametrize("format", animations.FORMATS)
def test_a_game_that_is_over_is_shown_moving(house: Any, format: str) -> None:
    from PIL import Image

    table = over(house)
    answer = house.nobody.get(f"{table.path}/replay.{format}?lang=ja&theme=dark")
    assert answer.status_code == 200
    assert answer.content_type == animations.FORMATS[format]
    assert "immutable" in answer.headers["Cache-Control"]
    with Image.open(BytesIO(answer.data)) as image:
        assert image.format == format.upper()
        assert 1 < image.n_frames <= animations.FRAMES
        assert image.width == 360
    again = house.nobody.get(
        f"{table.path}/replay.{format}?lang=ja&theme=dark", {"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304


def test_while_it_is_played_there_is_none_yet(house: Any) -> None:
    table = house.player().opens(2)
    table.seat(table.creator)
    table.starts()
    answer = house.nobody.get(f"{table.path}/replay.webp")
    assert answer.status_code == 409
    assert answer.json["code"] == "wrong-status"


def test_without_the_extra_there_is_none(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "available", lambda: False)
    assert house.nobody.get(f"{over(house).path}/replay.webp").status_code == 404


def test_it_is_made_once_for_everybody_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    begun, go = threading.Event(), threading.Event()

    def slowly(game: bytes, *variant: str) -> bytes:
        made.append(game)
        begun.set()
        assert go.wait(20)
        return b"picture"

    monkeypatch.setattr(animations, "make", slowly)
    shelf, given = Animations(), list[bytes]()
    variant = (GAME, 9, "webp", "en", "light")
    waiting = [threading.Thread(target=lambda: given.append(shelf.of(variant, [b"a", b"b"]))) for _ in range(3)]
    for one in waiting:
        one.start()
    assert begun.wait(20)
    go.set()
    for one in waiting:
        one.join(20)
    assert given == [b"picture"] * 3
    assert made == [b"ab"]


def test_who_comes_when_many_wait_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Semaphore(0), threading.Event()
    monkeypatch.setattr(animations, "make", lambda *_: (begun.release(), go.wait(20), b"p")[2])
    shelf = Animations()
    fly = [
        threading.Thread(target=shelf.of, args=((GAME, n, "gif", "en", "light"), [])) for n in range(animations.WAITING)
    ]
    for one in fly:
        one.start()
    assert begun.acquire(timeout=20)
    while shelf.free:
        threading.Event().wait(0.01)
    with pytest.raises(Unavailable):
        shelf.of((GAME, 99, "gif", "en", "light"), [])
    go.set()
    for one in fly:
        one.join(20)
    assert shelf.of((GAME, 99, "gif", "en", "light"), []) == b"p"


def test_what_was_not_asked_for_lately_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(animations, "make", lambda game, *_: (made.append(len(game)), b"x" * 10)[1])
    shelf = Animations(limit=20)
    for n in (1, 2, 1, 3, 1, 2):
        shelf.of((GAME, n, "gif", "en", "light"), [b"e" * n])
    assert made == [1, 2, 3, 2]


def test_one_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, timeout: float, **more: Any) -> None:
        raise subprocess.TimeoutExpired("x", timeout)

    monkeypatch.setattr(subprocess, "run", never)
    with pytest.raises(Unavailable):
        animations.make(b"", "gif", "en", "light")


def test_a_picture_is_packed_for_whoever_unpacks_it(house: Any) -> None:
    table = over(house)
    plain = house.nobody.get(f"{table.path}/positions/7.svg")
    packed = house.nobody.get(f"{table.path}/positions/7.svg", {"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert "Accept-Encoding" in packed.headers["Vary"]
    tag = {"If-None-Match": packed.headers["ETag"]}
    assert house.nobody.get(f"{table.path}/positions/7.svg", tag | {"Accept-Encoding": "gzip"}).status_code == 304
    assert house.nobody.get(f"{table.path}/positions/7.svg", tag).status_code == 200


def test_of_the_last_event_only_so_much_is_told_as_was_asked_for(house: Any) -> None:
    table = over(house)
    told: dict[int, int] = {}
    for step in house.nobody.get(f"{table.path}/replay?limit=100").json["steps"]:
        told[step["version"]] = step["of"]
    version = max(n for n, of in told.items() if of > 1)
    whole = house.nobody.get(f"{table.path}/positions/{version}.svg")
    for step in (told[version], told[version] + 1):
        assert house.nobody.get(f"{table.path}/positions/{version}.svg?step={step}").data == whole.data
    first = house.nobody.get(f"{table.path}/positions/{version}.svg?step=1")
    assert first.data != whole.data
    assert first.headers["ETag"] != whole.headers["ETag"]
