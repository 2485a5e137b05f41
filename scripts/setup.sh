#!/usr/bin/env bash
# Installs the Debian packages of the tools that the checks need and this machine lacks. Arguments choose some of them.
#
#   python3  peers that lock with lockf      strace  system calls that fail    tmux  panes to type into
#   npm      the real clients                gcc     the race detector         git           projects
#   zsh, fish  shells that complete c2c's words    mandoc   checks the man pages
#   rpm      the package for it              chromium  the page (make e2e)
#   curl     mail from outside                sshd, ip  mail between machines
set -euo pipefail

[ $# -gt 0 ] || set -- python3 strace tmux zsh fish mandoc rpm curl git npm gcc sshd ip # chromium: scripts/e2e-install.sh
PATH=$PATH:/usr/sbin:/sbin
missing=()
for tool in "$@"; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
for i in "${!missing[@]}"; do
	case ${missing[i]} in
	sshd) missing[i]=openssh-server ;;
	ip) missing[i]=iproute2 ;;
	esac
done
# The compiler needs the headers of C.
[[ " ${missing[*]-} " != *' gcc '* ]] || missing+=(libc6-dev)
# A browser needs a font to show text.
[[ " ${missing[*]-} " != *' chromium '* ]] || missing+=(fonts-dejavu-core)
[ "${#missing[@]}" -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	printf 'setup: install %s, and run this again\n' "${missing[*]}" >&2
	exit 1
fi
apt-get update -q
apt-get install -q -y --no-install-recommends "${missing[@]}"
