#!/usr/bin/env bash
# Installs what the tests on the real clients need and this machine lacks: the pinned clients and the programs of others that
# try the HTTP side, from npm, nats-server, which it builds from the module that scripts/nats.mod pins, and a browser from Debian.
# It prints two lines, the folders of the clients and those of the programs, with colons between. Two may run at once. Arguments
# are how the names of packages begin, of which only those are installed.
#
#   C2C_E2E_CACHE   where they are kept (default ${XDG_CACHE_HOME:-~/.cache}/c2c-e2e)
#   C2C_E2E_INSTEAD package@version that is installed in the place of the pinned one (make certify); kept in newest below
#   GO              the go command
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'e2e: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

command -v npm >/dev/null || die 'npm is not installed'
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) die "the clients have no programs for $(uname -m)" ;;
esac

cache=${C2C_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/c2c-e2e}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
scratch=$(mktemp -d "$cache/install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# install puts one pinned package into the given folder. The folder gets its name only when it is complete.
install() {
	say "installing $1 from npm"
	mkdir "$scratch/one"
	# Without scripts: they only copy native programs, which the tests start where npm puts them.
	npm install --prefix "$scratch/one" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "$1" >&2
	# Another run may have been faster.
	mv -T "$scratch/one" "$2" 2>/dev/null || rm -r "$scratch/one"
	[ -d "$2" ] || die "could not move the install to $2"
}

wanted=("$@")
# pins prints the pinned packages of a file, or only the wanted ones.
pins() {
	local pin want
	while read -r pin; do
		[ ${#wanted[@]} -gt 0 ] || echo "$pin"
		for want in "${wanted[@]}"; do
			[[ $pin != "$want"* ]] || echo "$pin"
		done
	done < <(grep -v '^#' "$1")
}

clients=() tools=() installed= instead=${C2C_E2E_INSTEAD:-}
mapfile -t all < <(pins scripts/e2e-clients.txt)
for pin in "${all[@]//'{arch}'/$arch}"; do
	folder=$cache/${pin//\//+}
	if [ "${pin%@*}" = "${instead%@*}" ] && [ "$pin" != "$instead" ]; then
		pin=$instead
		folder=$cache/newest/${pin//\//+}
		mkdir -p "$cache/newest"
		[ -d "$folder" ] || rm -rf "${folder%@*}"@* # an older newest
	fi
	clients+=("$folder")
	case $pin in node-linux-*) tools+=("$folder") ;; esac # the programs below run on it, too
	if [ ! -d "$folder" ]; then
		install "$pin" "$folder"
		installed=yes
	fi
done
mapfile -t all < <(pins scripts/e2e-tools.txt)
for pin in "${all[@]}"; do
	tools+=("$cache/${pin//\//+}")
	if [ ! -d "${tools[-1]}" ]; then
		install "$pin" "${tools[-1]}"
		installed=yes
	fi
done
server=$(sed -n 's|.*github.com/nats-io/nats-server/v2 \(v[^ ]*\).*|nats-server@\1|p' scripts/nats.mod)
if [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *' nats-server '* ]]; then
	tools+=("$cache/$server")
	if [ ! -d "$cache/$server" ]; then
		say "building $server"
		mkdir "$scratch/server"
		CGO_ENABLED=0 "${GO:-go}" build -modfile=scripts/nats.mod -trimpath -ldflags='-s -w' -o "$scratch/server/" github.com/nats-io/nats-server/v2 >&2
		mv -T "$scratch/server" "$cache/$server" 2>/dev/null || true # another run may have been faster
	fi
fi
[ -z "$installed" ] || say "all of them together take $(du -csm "${clients[@]}" "${tools[@]}" | tail -1 | cut -f1) MB in $cache"
[ ${#wanted[@]} -gt 0 ] || bash scripts/setup.sh chromium >&2 || say 'the tests of the page need it'

(IFS=:; echo "${clients[*]}"; echo "${tools[*]}")
