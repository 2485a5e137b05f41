#!/bin/sh
# c2c: shows waiting mail to the model. Claude Code runs this after every tool
# call, so an empty mailbox is found with the shell's own commands alone and
# nothing is started then. It never fails a tool call: the exit status is 0.
# With "ring" it answers FileChanged, where 2 wakes an idle session, and with
# "prompt" UserPromptSubmit, which begins a turn.
c2c=c2c
ring=$1

start() {
	export C2C_HOOK_ANSWERS=1
	if command -v timeout >/dev/null 2>&1; then
		timeout 5 "$c2c" hook --client claude
	else
		"$c2c" hook --client claude # bounds itself
	fi
	[ $? != 2 ] || [ "$ring" != ring ] || exit 2
	exit 0
}

# The model has failed.
[ "$ring" != failed ] || start
# Claude Code sets this for SessionStart, where c2c learns of a new process or a
# new session id, and for FileChanged.
[ -z "$CLAUDE_ENV_FILE" ] || [ "$ring" = ring ] || start
if [ -n "$XDG_STATE_HOME" ]; then state=$XDG_STATE_HOME/c2c; else state=$HOME/.c2c; fi
case $CLAUDE_CODE_SESSION_ID in
'' | *[!A-Za-z0-9._-]*) start ;;
esac
box=
pointer=$state/pointers/$CLAUDE_CODE_SESSION_ID
[ -f "$pointer" ] && IFS= read -r box 2>/dev/null <"$pointer" # a named pipe would block
[ -n "$box" ] || start

# A tool is about to change a file.
if [ "$ring" = edit ]; then
	[ ! -e "${box%/*}/claims.json" ] || C2C_MCP_BROKER_ROOT=${box%/*} "$c2c" hook --client claude --edit
	exit 0
fi

# Our inbox has its bracket on a line of its own, so this reads two bytes.
line=
[ ! -e "$box.inbox.json" ] || [ -f "$box.inbox.json" ] || start
[ -r "$box.inbox.json" ] && IFS= read -r line <"$box.inbox.json"
case $line in
'' | '[]') ;;
*) start ;;
esac
for f in "$box.lease"/*; do
	[ ! -e "$f" ] || start
done
# Until it has worked, and its model answered, after the last mail: this event may
# tell of that.
[ -e "$box.calm" ] || start
# It is in a room: a turn begins with what is new there, and a session that is open
# to a room sees that within the turn, too.
[ ! -e "$box.rooms-open" ] || start
[ "$ring" != prompt ] || [ ! -e "$box.rooms" ] || start
exit 0
