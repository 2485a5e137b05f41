#!/usr/bin/env bash
# Runs the tests on the real clients: installs the pinned versions from npm, builds c2c and c2cd,
# and runs ./e2e in namespaces with loopback alone. Arguments go to `go test`, e.g. -run Codex.
#
#   C2C_E2E_CACHE   what is kept between runs (default ${XDG_CACHE_HOME:-~/.cache}/c2c-e2e)
#   GO              the go command
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'e2e: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

[ "$(uname -s)" = Linux ] || die 'the real-client tests need the namespaces of Linux'
for tool in "${GO:-go}" git npm; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done

cache=${C2C_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/c2c-e2e}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
mapfile -t pins < <(grep -v '^#' scripts/e2e-clients.txt)

# A folder per set of pins: a changed pin installs anew, and half an install never gets the name.
clients=$cache/clients-$(printf '%s\n' "${pins[@]}" | cksum | cut -d' ' -f1)
if [ ! -d "$clients" ]; then
	say "installing ${pins[*]} from npm (about 770 MB on disk, once)"
	fresh=$(mktemp -d "$cache/install.XXXXXX")
	trap 'rm -rf "$fresh"' EXIT
	# Without scripts: they only copy the native programs, which the tests start where npm puts them.
	npm install --prefix "$fresh" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "${pins[@]}" >&2
	mv -T "$fresh" "$clients"
fi

scratch=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
say 'building c2c and c2cd'
CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$scratch/bin/" ./cmd/c2c ./cmd/c2cd

say "running the tests with ${pins[*]}"
C2C_E2E=1 C2C_E2E_CLIENTS=$clients C2C_E2E_BIN=$scratch/bin C2C_E2E_SCRATCH=$scratch \
	"${GO:-go}" test -count=1 -timeout 15m -v "$@" ./e2e/...
