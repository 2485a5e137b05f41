#!/usr/bin/env bash
# Runs every fuzzer for the given time, ten seconds if none is given.
set -euo pipefail
cd "$(dirname "$0")/.."

go=${GO:-go} time=${1:-10s}
for package in $("$go" list ./...); do
	for name in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $name"
		out=$("$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" 2>&1) && continue
		# Go before 1.27 sometimes reports the end of the time as a failure (go.dev/issue/75804). A real failure leaves its input.
		if [[ $out == *'context deadline exceeded'* && $out != *'Failing input written'* ]]; then
			echo "  the time was over, and nothing was found"
			continue
		fi
		printf '%s\n' "$out"
		exit 1
	done
done
