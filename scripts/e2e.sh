#!/usr/bin/env bash
# Runs the tests on the real clients and those of the HTTP side with programs of others: installs what they need
# (scripts/e2e-install.sh, which names the variables for that), builds c2c and c2cd, and runs ./e2e and ./e2e/face in namespaces
# with loopback alone, and ./e2e/hub. Arguments go to `go test`, e.g. -run Codex; one of the packages may stand before them. With -update
# the screens in e2e/testdata are recorded anew.
#
#   GO              the go command
#   TAGS            more build tags, such as portable, for c2c and for the tests
#   C2C_E2E_NEEDS   how the names of the packages begin that the chosen tests need (default: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'e2e: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

[ "$(uname -s)" = Linux ] || die 'the real-client tests need the namespaces of Linux'
for tool in "${GO:-go}" git; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done
read -ra needs <<<"${C2C_E2E_NEEDS-}"
folders=$(bash scripts/e2e-install.sh "${needs[@]}")
{ read -r clients; read -r tools || true; } <<<"$folders" # no line of tools, if only clients are needed
first=${clients:-$tools}
scratch=$(mktemp -d "$(dirname "${first%%:*}")/run.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

say 'building c2c and c2cd'
CGO_ENABLED=0 "${GO:-go}" build -trimpath -tags="nethttpomithttp2${TAGS:+,$TAGS}" -o "$scratch/bin/" ./cmd/c2c ./cmd/c2cd ./e2e/wording
cp -r install/marketplace "$scratch/bin/"
# A clone for the test that follows the README. It builds without the network, so all modules must be here already.
mkdir "$scratch/source"
git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$scratch/source"
goenv=$("${GO:-go}" env GOROOT GOCACHE GOMODCACHE | paste -sd:)

packages=(./e2e ./e2e/face ./e2e/hub)
case ${1-} in
./*) packages=("$1"); shift ;;
esac
[[ " $* " != *' -update '* ]] || packages=(./e2e) # the others have no such flag

say 'running the tests'
C2C_E2E=1 C2C_E2E_CLIENTS=$clients C2C_E2E_TOOLS=$tools C2C_E2E_BIN=$scratch/bin C2C_E2E_SCRATCH=$scratch \
	C2C_E2E_SOURCE=$scratch/source C2C_E2E_GO=$goenv \
	"${GO:-go}" test ${TAGS:+-tags="$TAGS"} -count=1 -p 1 -timeout 60m -v "${packages[@]}" "$@"
