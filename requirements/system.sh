#!/bin/sh
# Installs what the tests need beside Python: Debian's redis-server, the second real server under the log's contract tests.
# Asks nobody: where apt or the right to use it is missing it says so and the tests that need it are skipped, with a reason.
set -eu

command -v redis-server >/dev/null && exit 0

if [ "$(id -u)" = 0 ]; then as_root=
elif sudo -n true 2>/dev/null; then as_root="sudo -n"
else as_root=none
fi
if ! command -v apt-get >/dev/null || [ "$as_root" = none ]; then
	echo "redis-server (7.0 or newer) is not installed and cannot be installed from here: its tests will be skipped" >&2
	exit 0
fi

# No service may start from this: the package's own is kept off by the rule that Debian has for it, and stays disabled.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap '$as_root rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
	$as_root chmod 755 "$policy"
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends redis-server >/dev/null
$as_root update-rc.d redis-server disable
