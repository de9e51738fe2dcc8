#!/bin/sh
# Installs what the tests need beside Python: Debian's redis-server, the second real server under the log's contract tests;
# Chromium, to open the pages with; node, to run the second verifier; and a font that has kanji. Asks nobody. What cannot be
# had is said, and the tests that need it are skipped with a reason; in CI they fail.
set -u

missing=
command -v redis-server >/dev/null || missing=redis-server
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
	missing="$missing chromium fonts-vlgothic"
command -v node >/dev/null || missing="$missing nodejs"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then as_root=
elif sudo -n true 2>/dev/null; then as_root="sudo -n"
else as_root=false
fi

# The package's own service is kept from starting by the rule that Debian has for it, now and at the next boot.
policy=/usr/sbin/policy-rc.d
without_service() {
	if [ ! -e "$policy" ]; then
		trap '$as_root rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null && $as_root chmod 755 "$policy" || return
	fi
	"$@" || return
	case "$missing" in *redis-server*) $as_root update-rc.d redis-server disable ;; esac
}

echo "Installing for the tests: $missing (no service is started)"
command -v apt-get >/dev/null && $as_root apt-get update -qq && without_service \
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends $missing >/dev/null ||
	echo "$missing: not here and could not be installed; the tests that need it are skipped" >&2
exit 0
