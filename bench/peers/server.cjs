// node server.cjs PORT [DIRECTORY]: boardgame.io's own server, in memory or with its FlatFile storage.
const { Server, FlatFile } = require("boardgame.io/server");
const { Annalike } = require("./game.cjs");

const [port, dir] = process.argv.slice(2);
const db = dir ? { db: new FlatFile({ dir }) } : {};
Server({ games: [Annalike], origins: ["*"], ...db }).run({ port: Number(port), callback: () => console.log("listening") });
