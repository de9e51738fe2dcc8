// node load.cjs PORT: reads one job a line, {kind: "raw" | "own", clients, count, warm}, and answers each with a line
// {rate, latencies (ms)}. Every client plays a match of its own, one move after the other, all at the same time.
const readline = require("node:readline");
const { io } = require("socket.io-client");
const { Client } = require("boardgame.io/client");
const { SocketIO } = require("boardgame.io/multiplayer");
const { Annalike, STEPS } = require("./game.cjs");

const server = `http://127.0.0.1:${process.argv[2]}`;
const post = async (path, body) => {
  const answer = await fetch(`${server}/games/annalike/${path}`, {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};
const seated = async () => {
  const { matchID } = await post("create", { numPlayers: 1 });
  const { playerCredentials } = await post(`${matchID}/join`, { playerID: "0", playerName: "bench" });
  return { matchID, credentials: playerCredentials };
};

// One who speaks the protocol over a bare socket.
const raw = async () => {
  const { matchID, credentials } = await seated();
  const socket = io(`${server}/annalike`, { transports: ["websocket"], forceNew: true });
  let version, told, closing = false;
  socket.on("disconnect", (why) => { if (!closing) { console.error(`the server ended a connection: ${why}`); process.exit(1); } });
  const moved = (id, state) => { version = state._stateID; told(); };
  socket.on("update", moved);
  socket.on("sync", (id, info) => moved(id, info.state));
  await new Promise((done) => { told = done; socket.on("connect", () => socket.emit("sync", matchID, "0", credentials, 1)); });
  let number = 0;
  return {
    move: () => new Promise((done) => {
      told = done;
      const payload = { type: "step", args: [STEPS[number++ % STEPS.length]], playerID: "0", credentials };
      socket.emit("update", { type: "MAKE_MOVE", payload }, version, matchID, "0");
    }),
    close: () => { closing = true; socket.close(); },
  };
};

// Its own client.
const own = async () => {
  const { matchID, credentials } = await seated();
  const client = Client({
    game: Annalike, multiplayer: SocketIO({ server, socketOpts: { transports: ["websocket"] } }),
    matchID, playerID: "0", credentials, debug: false, numPlayers: 1,
  });
  let told = () => {}, version = -1;
  client.start();
  await new Promise((done) => client.subscribe((state) => {
    if (state === null || state._stateID === version) return;
    version = state._stateID;
    done();
    told();
  }));
  let number = 0;
  return {
    move: () => new Promise((done) => { told = done; client.moves.step(STEPS[number++ % STEPS.length]); }),
    close: () => client.stop(),
  };
};

const run = async ({ kind, clients, count, warm }) => {
  const players = [];
  for (let number = 0; number < clients; number++) players.push(await (kind === "own" ? own : raw)());
  for (const player of players) for (let number = 0; number < (warm ?? 1); number++) await player.move();
  const latencies = [];
  let ended = 0, counted = 0;
  const begun = performance.now();
  await Promise.all(players.map(async (player) => {
    for (let number = 0; number < count; number++) {
      const since = performance.now();
      await player.move();
      latencies.push(performance.now() - since);
    }
    if (!ended) { ended = performance.now(); counted = latencies.length; }
  }));
  for (const player of players) player.close();
  return { rate: (counted / (ended - begun)) * 1000, latencies };
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  run(JSON.parse(line)).then((told) => console.log(JSON.stringify(told)), (error) => { console.error(error); process.exit(1); });
}).on("close", () => process.exit(0));
