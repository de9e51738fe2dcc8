// A game of the size of ours for boardgame.io: a hero walks a growing map; a step draws a tile where there is none,
// and a monster for a room; its state has the parts of ours, and about as many bytes.
const SIDE = 8; // the map closes on itself: at most 64 tiles

const dealt = () => ({
  active: 1, turn: 0, steps: 0, mp: 4, phase: "exploring", progress: 0, safe: "0,0", ending: "",
  heroes: Array.from({ length: 6 }, (_, seat) => ({
    at: "0,0", gold: 0, hp: 5, key: false, name: `hero-${seat}`, scrolls: [], weapons: [], withdrawn: false,
  })),
  pile: { "corridor-i": 20, "corridor-l": 20, "corridor-t": 20, "room-x": 20, "trap-i": 5 },
  bag: { rat: 8, skeleton: 10, spider: 6, mummy: 5, chest: 10, dragon: 1 },
  tiles: { "0,0": { exits: "nesw", kind: "start" } },
  things: {},
});

const drawn = (bag, random) => {
  const names = Object.keys(bag).filter((name) => bag[name] > 0).sort();
  let at = random.Die(names.reduce((sum, name) => sum + bag[name], 0)) - 1;
  return names.find((name) => (at -= bag[name]) < 0);
};

const step = {
  client: false, // the client waits for the server's word, as one who wants to know that it is written must
  move: ({ G, random }, side) => {
    const hero = G.heroes[G.active - 1];
    const [x, y] = hero.at.split(",").map(Number);
    const [dx, dy] = { n: [0, -1], e: [1, 0], s: [0, 1], w: [-1, 0] }[side] ?? [];
    if (dx === undefined) return "INVALID_MOVE";
    const to = `${(x + dx + SIDE) % SIDE},${(y + dy + SIDE) % SIDE}`;
    if (!G.tiles[to]) {
      const tile = drawn(G.pile, random);
      G.tiles[to] = { exits: ["nesw", "nes", "esw"][random.Die(3) - 1], kind: tile.split("-")[0] };
      if (G.tiles[to].kind === "room") G.things[to] = drawn(G.bag, random);
    }
    hero.at = to;
    hero.gold += random.Die(6) + random.Die(6) > 9 ? 1 : 0;
    G.steps += 1;
    G.mp -= 1;
    if (G.mp === 0) {
      G.mp = 4;
      G.turn += 1;
      G.active = (G.active % 6) + 1;
    }
  },
};

exports.STEPS = ["e", "e", "s", "s", "w", "w", "n", "n"]; // round and round: always legal
exports.Annalike = { name: "annalike", setup: dealt, moves: { step }, minPlayers: 1, maxPlayers: 1 };
