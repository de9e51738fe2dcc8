#!/bin/sh
# Checks the types of all scripts of the pages: tsc --checkJs, as tsconfig.json says. The compiler comes by npm into .venv,
# checked against its hash. Where there is no node or npm, or npm reaches no registry, that is said, and nothing is checked.
set -eu

version=5.9.3
sha512=jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw==
folder=.venv/typescript-$version

skip() {
	echo "The types of the pages' scripts are not checked: $1" >&2
	exit 0
}

for program in node npm; do
	command -v $program >/dev/null || skip "$program is not installed"
done
if [ ! -e $folder/package/lib/tsc.js ]; then
	rm -rf $folder
	mkdir -p $folder
	npm pack --silent --fetch-retries=1 --fetch-timeout=20000 --pack-destination $folder typescript@$version >/dev/null ||
		skip "npm reaches no registry that has TypeScript $version"
	node -e 'const { createHash } = require("crypto"), [file, hash] = process.argv.slice(1);
		process.exit(createHash("sha512").update(require("fs").readFileSync(file)).digest("base64") === hash ? 0 : 1)' \
		$folder/typescript-$version.tgz $sha512 || { echo "TypeScript $version is not the one that was locked" >&2; exit 1; }
	tar -xzf $folder/typescript-$version.tgz -C $folder
	rm $folder/typescript-$version.tgz
fi
node $folder/package/lib/tsc.js --project .
echo "tsc --checkJs: no issues found"
