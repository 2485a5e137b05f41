#!/usr/bin/env bash
# Runs the tests on the real clients: installs the pinned versions from npm, builds c2c and c2cd,
# and runs ./e2e in namespaces with loopback alone. Arguments go to `go test`, e.g. -run Codex. With -update the screens in
# e2e/testdata are recorded anew.
#
#   C2C_E2E_CACHE   what is kept between runs (default ${XDG_CACHE_HOME:-~/.cache}/c2c-e2e)
#   C2C_E2E_INSTEAD package@version that is tested in the place of the pinned one (make certify); kept in newest below
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
scratch=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) die "the clients have no programs for $(uname -m)" ;;
esac

# install puts one pin into the folder given, which has the name only when it is whole.
install() {
	say "installing $1 from npm"
	mkdir "$scratch/install"
	# Without scripts: they only copy native programs, which the tests start where npm puts them.
	npm install --prefix "$scratch/install" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "$1" >&2
	# Another run may have been faster.
	mv -T "$scratch/install" "$2" 2>/dev/null || rm -r "$scratch/install"
	[ -d "$2" ] || die "could not move the install to $2"
}

clients=() installed= instead=${C2C_E2E_INSTEAD:-}
mapfile -t pins < <(grep -v '^#' scripts/e2e-clients.txt)
for pin in "${pins[@]//'{arch}'/$arch}"; do
	folder=$cache/${pin//\//+}
	if [ "${pin%@*}" = "${instead%@*}" ] && [ "$pin" != "$instead" ]; then
		pin=$instead
		folder=$cache/newest/${pin//\//+}
		mkdir -p "$cache/newest"
		[ -d "$folder" ] || rm -rf "${folder%@*}"@* # an older newest
	fi
	clients+=("$folder")
	if [ ! -d "$folder" ]; then
		install "$pin" "$folder"
		installed=yes
	fi
done
# The programs of others that try the HTTP side (e2e/face).
tools=()
mapfile -t pins < <(grep -v '^#' scripts/e2e-tools.txt)
for pin in "${pins[@]}"; do
	tools+=("$cache/${pin//\//+}")
	[ -d "${tools[-1]}" ] || install "$pin" "${tools[-1]}"
done
for folder in "${clients[@]}"; do
	case ${folder##*/} in node-linux-*) tools+=("$folder") ;; esac
done
[ -z "$installed" ] || say "all clients together take $(du -csm "${clients[@]}" | tail -1 | cut -f1) MB in $cache"

say 'building c2c and c2cd'
CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$scratch/bin/" ./cmd/c2c ./cmd/c2cd
cp -r install/marketplace "$scratch/bin/"
# A clone for the test that follows the README. It builds without the network, so the build needs what is here already.
mkdir "$scratch/source"
git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$scratch/source"
goenv=$("${GO:-go}" env GOROOT GOCACHE GOMODCACHE | paste -sd:)

packages=./e2e/...
[[ " $* " != *' -update '* ]] || packages=./e2e # the others have no such flag

say 'running the tests'
C2C_E2E=1 C2C_E2E_CLIENTS=$(IFS=:; echo "${clients[*]}") C2C_E2E_TOOLS=$(IFS=:; echo "${tools[*]}") C2C_E2E_BIN=$scratch/bin C2C_E2E_SCRATCH=$scratch \
	C2C_E2E_SOURCE=$scratch/source C2C_E2E_GO=$goenv \
	"${GO:-go}" test -count=1 -timeout 30m -v "$packages" "$@"
