#!/usr/bin/env bash
# Runs every fuzzer for the given time, ten seconds if none is given. A failing input is left in testdata/fuzz beside its test.
set -euo pipefail
cd "$(dirname "$0")/.."

go=${GO:-go} time=${1:-10s}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cache=$("$go" env GOCACHE)/fuzz
mapfile -t packages < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u)
for package in "${packages[@]}"; do
	# One build with the fuzzer's probes serves all fuzzers of the package.
	"$go" test -c -fuzz . -o "$scratch/fuzz.test" "$package"
	for name in $(cd "$package" && "$scratch/fuzz.test" -test.list '^Fuzz'); do
		echo "$package $name"
		out=$(cd "$package" && "$scratch/fuzz.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" \
			-test.fuzzminimizetime 1x -test.fuzzcachedir "$cache/$package" 2>&1) && continue
		# Go before 1.27 sometimes reports the end of the time as a failure (go.dev/issue/75804). A real failure leaves its input.
		if [[ $out == *'context deadline exceeded'* && $out != *'Failing input written'* ]]; then
			echo "  the time was over, and nothing was found"
			continue
		fi
		printf '%s\n' "$out"
		exit 1
	done
done
