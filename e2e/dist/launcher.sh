#!/bin/sh
# Starts c2c. The program is in the package of this system, which npm has installed beside this one or inside of it.
# Hooks and servers of clients do not run this script: c2c install writes the path of the program itself.
self=$0
while [ -L "$self" ]; do
	link=$(readlink "$self")
	case $link in
	/*) self=$link ;;
	*) self=${self%/*}/$link ;;
	esac
done
case $(uname -m) in
x86_64 | amd64) cpu=x64 ;;
*) cpu=arm64 ;;
esac
case $(uname -s) in
Darwin) name=c2c-mail-darwin-$cpu ;;
*) name=c2c-mail-linux-$cpu ;;
esac
dir=$(cd "${self%/*}/.." && pwd -P)
while [ -n "$dir" ]; do
	program=$dir/node_modules/$name/bin/c2c
	[ ! -x "$program" ] || exec "$program" "$@"
	dir=${dir%/*}
done
echo "c2c: the package $name is missing: install c2c-mail again, with optional dependencies" >&2
exit 1
