"""What the service signed for a browser: kept there, held against the chain that it shows, and told when it differs."""

import json
from typing import Any

RECEIPTS = """least => {
  const mark = document.querySelector('#checked [data-receipts]');
  return mark && Number(mark.dataset.receipts) >= least ? mark.dataset.receipts : null;
}"""


def notes(page: Any, game: str) -> list[str]:
    kept: list[str] = json.loads(page.evaluate("name => localStorage.getItem(name)", f"annals.notes.{game}"))["notes"]
    return kept


def test_a_browser_keeps_its_receipts_and_says_so_when_they_are_on_the_chain(visitor: Any) -> None:
    ada = visitor()
    path = ada.opens_a_table(seats=2, seat2="me")
    version = ada.settled()
    ada.page.wait_for_function(RECEIPTS, arg=2)
    ada.page.click("#buttons button.main")
    ada.settled(version + 1)
    ada.page.wait_for_function(RECEIPTS, arg=4)
    kept = notes(ada.page, path.rpartition("/")[2])
    assert all(note.startswith("annals/1 receipt\n") for note in kept)
    seqs = [int(note.split("\n")[3]) for note in kept]
    assert seqs == sorted(set(seqs))
    assert "✓" in ada.page.text_content("#checked [data-receipts]")
    ada.page.reload()
    ada.page.wait_for_function(RECEIPTS, arg=4)


def test_a_receipt_that_the_chain_contradicts_is_told(visitor: Any) -> None:
    ada = visitor()
    game = ada.opens_a_table(seats=2, seat2="me").rpartition("/")[2]
    ada.settled()
    ada.page.wait_for_function(RECEIPTS, arg=2)
    place, put = f"annals.notes.{game}", "([name, kept]) => localStorage.setItem(name, kept)"
    another: Any = lambda note: note.replace("\n2\n", "\n1\n")  # noqa: E731 # the number of another event
    unsigned: Any = lambda note: note[:-9] + "AAAAAAA=\n"  # noqa: E731 # a signature that is none
    for forged, event in ((another, "1"), (unsigned, "2")):
        before = ada.page.evaluate("name => localStorage.getItem(name)", place)
        kept = json.loads(before)
        kept["notes"][0] = forged(kept["notes"][0])
        ada.page.evaluate(put, [place, json.dumps(kept)])
        ada.page.reload()
        ada.page.wait_for_selector("#checked .wrong[data-receipts='0']")
        assert f"event {event} " in ada.page.text_content("#checked .wrong")
        ada.page.evaluate(put, [place, before])


def test_notes_of_many_games_do_not_fill_the_browser(visitor: Any) -> None:
    page = visitor().goes("/").page
    counts = page.evaluate(
        """async () => {
          const { keepNote, notesOf } = await import("/static/notes.mjs");
          const note = (game, seq) => `annals/1 receipt\\no\\n${game}\\n${seq}\\nhash\\n\\n— k s\\n`;
          for (let game = 0; game < 30; game++) keepNote(note(`g${game}`, 1));
          for (let seq = 1; seq <= 500; seq++) keepNote(note("g29", seq));
          keepNote(note("g29", 500));
          keepNote(undefined);
          const kept = notesOf("g29").notes;
          return [Object.keys(localStorage).filter((name) => name.startsWith("annals.notes.")).length,
            kept.length, kept[0].split("\\n")[3], notesOf("g0").notes.length];
        }"""
    )
    assert counts == [20, 400, "101", 0]
