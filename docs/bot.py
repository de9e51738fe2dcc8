"""A player of any game on Annals, in sixty lines: it takes a seat, waits for its turn, and plays a legal action.

python docs/bot.py http://127.0.0.1:8000 GAME_ID            sits down at a table
python docs/bot.py http://127.0.0.1:8000 --new donjon@1     opens one, against a bot of the server
"""

import json
import random
import sys
import uuid

import httpx


def main(server: str, game_id: str, ruleset: str = "") -> None:
    http = httpx.Client(base_url=server, timeout=httpx.Timeout(10, read=30))
    player = ok(http.post("/v1/players", json={"name": "Sixty Lines"}))
    http.headers["Authorization"] = f"Bearer {player['token']}"
    if game_id == "--new":
        game_id = ok(http.post("/v1/games", json={"ruleset": ruleset, "seats": 2}))["game_id"]
        bot = ok(http.get(f"/v1/rulesets/{ruleset}"))["bots"][0]["name"]
        ok(http.post(f"/v1/games/{game_id}/seats", json={"bot": bot}))
        ok(http.post(f"/v1/games/{game_id}/start"))
    else:
        ok(http.post(f"/v1/games/{game_id}/seats", json={}))
    game = f"/v1/games/{game_id}"
    for _ in events(http, f"{game}/events"):  # something happened: perhaps it is our turn now
        while (legal := ok(http.get(f"{game}/actions")))["actions"]:
            action = random.choice(legal["actions"])["action"]
            body = {"action": action, "expected_version": legal["version"]}
            headers = {"Idempotency-Key": str(uuid.uuid4())}  # so that sending it again does it once
            response = http.post(f"{game}/actions", json=body, headers=headers)
            if response.status_code not in (201, 409, 412):  # 409, 412: somebody was faster, look again
                raise SystemExit(f"{response.status_code}: {response.text}")
    print(game_id, json.dumps(ok(http.get(game))["outcome"]))


def events(http, path, after=0):  # type: ignore[no-untyped-def]
    """The number of each event of a game as it happens, until the game is over; resumes where it was cut off."""
    while True:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        try:
            with http.stream("GET", path, headers=headers) as response:
                for line in response.iter_lines():
                    if line == "event: end":
                        return
                    if line.startswith("id: "):
                        yield (after := int(line[4:]))
        except httpx.TransportError as error:
            print("again:", error, file=sys.stderr)


def ok(response):  # type: ignore[no-untyped-def]
    if response.is_error:
        raise SystemExit(f"{response.status_code}: {response.text}")
    return response.json()


if __name__ == "__main__":
    main(*sys.argv[1:])
