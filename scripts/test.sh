#!/usr/bin/env bash
# Runs all tests but those of the real clients. As root on Debian it first installs the tools that are missing.
# Elsewhere the tests that need them are skipped: the last line names them and says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=(python3 strace tmux zsh fish mandoc rpm curl)
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	bash scripts/setup.sh "${tools[@]}" || echo 'test: not everything could be installed; the tests run without it' >&2
fi

skipped=$(mktemp)
trap 'rm -f "$skipped"' EXIT
status=0
C2C_TEST_SKIPPED=$skipped "${GO:-go}" test -count=1 -timeout 30m ./... || status=$?
# Each line of the list is "TestName/part: what to do about it"; several tests need the same.
sed 's|/[^:]*:|:|' "$skipped" | sort -u | awk '
	{ i = index($0, ": "); why = substr($0, i + 2); names[why] = names[why] " " substr($0, 1, i - 1) }
	END { for (why in names) { all = all sep why " for" names[why]; sep = "; " }
	      if (all) print "skipped tests: " all }'
exit "$status"
