// As much of node as the second verifier and its tests call.
declare module "node:crypto" {
  export const webcrypto: Crypto;
}
declare module "node:fs" {
  export function readFileSync(file: string): Uint8Array<ArrayBuffer>;
  export function readFileSync(file: string | number, encoding: "utf8"): string;
  export function realpathSync(path: string): string;
}
declare module "node:url" {
  export function pathToFileURL(path: string): URL;
}
declare module "node:zlib" {
  export function inflateRawSync(data: Uint8Array, options: { maxOutputLength: number }): Uint8Array<ArrayBuffer>;
}
declare var process: { argv: string[], exitCode: number, stdout: { write(text: string): boolean } };
