#!/bin/sh
# Installs what the tests need beside Python: Debian's redis-server, the second real server under the log's contract tests.
# Asks nobody. Where it cannot be had this says so, and the tests that need it are skipped with a reason; in CI they fail.
set -u

command -v redis-server >/dev/null && exit 0

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
	"$@" && $as_root update-rc.d redis-server disable
}

echo "Installing Debian's redis-server for the tests; its service is kept off"
command -v apt-get >/dev/null && $as_root apt-get update -qq && without_service \
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends redis-server >/dev/null ||
	echo "redis-server 7.0 or newer is not here and could not be installed: the tests that need it are skipped" >&2
exit 0
