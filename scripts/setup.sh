#!/usr/bin/env bash
# Installs the Debian packages that the tests need and this machine lacks: Python for the peers that lock
# with lockf, strace for the faults, npm for the real clients, tmux and screen to ring in.
set -euo pipefail

missing=()
for need in python3:python3 git:git strace:strace npm:npm tmux:tmux screen:screen; do
	command -v "${need%%:*}" >/dev/null || missing+=("${need##*:}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	printf 'setup: install %s, and run this again\n' "${missing[*]}" >&2
	exit 1
fi
apt-get update -q
apt-get install -q -y --no-install-recommends "${missing[@]}"
