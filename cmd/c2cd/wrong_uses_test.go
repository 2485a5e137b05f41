package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrongUse is something that a new engineer types and that cannot work.
type wrongUse struct {
	line  string // for a shell
	exit  int
	says  string // a part of what is said about it
	typed string // a command line of the hint, which works as it stands there
}

// Each is typed in the shell of birch, beside amber and coral. $ID is the end of an id.
var wrongUses = []wrongUse{
	// Verbs.
	{"c2c read", 2, "use c2c poll-inbox: ", "c2c poll-inbox"},
	{"c2c inbox", 2, "use c2c poll-inbox: ", "c2c poll-inbox"},
	{"c2c wait", 2, "use c2c poll-inbox: ", "c2c poll-inbox"},
	{"c2c ls", 2, "use c2c list: ", "c2c list"},
	{"c2c -v", 2, "use c2c version: ", "c2c version"},
	{"c2c msg amber hi", 2, "use c2c send: ", ""},
	{"c2c tell amber hi", 2, "use c2c send: ", ""},
	{"c2c chat amber", 2, "use c2c send: ", ""},
	{"c2c broadcast hi", 2, "use c2c send-all: ", ""},
	{"c2c ack $ID", 2, "use c2c reply: ", ""},
	{"c2c delete $ID", 2, "use c2c prune: ", ""},
	{"c2c rm amber", 2, "use c2c prune: ", ""},
	{"c2c setup", 2, "use c2c install: ", ""},
	{"c2c login birch", 2, "use c2c register: ", ""},
	{"c2c kill amber", 2, "a session ends when its client ends", "c2c list"},
	{"c2c stop", 2, "a session ends when its client ends", "c2c list"},
	{"c2c sned amber hi", 2, "did you mean send?", ""},
	{"c2c hepl", 2, "did you mean help?", "c2c help all"},
	{"c2c histroy", 2, "did you mean history?", "c2c history"},
	{"c2c SEND amber hi", 2, "did you mean send?", ""},
	{"c2c amber hi", 2, "to write to a session", "c2c send amber 'text'"},
	{"c2c @amber hi", 2, "to write to a session", "c2c send amber 'text'"},
	{"c2c help read", 2, "use c2c help poll-inbox", "c2c help poll-inbox"},
	{"c2c help nonsense", 2, "no verb or topic", "c2c help all"},
	{"c2c ''", 2, "no such verb", "c2c help all"},
	{"c2c -- list", 2, "options come after the verb", ""},
	// Options before the verb, or of other programs.
	{"c2c --json list", 2, "options come after the verb", "c2c list --json"},
	{"c2c --from amber send birch 'hi there'", 2, "options come after the verb: c2c send --from amber birch hi there", "c2c send --from amber birch hi there"},
	{"c2c send --to amber hi", 2, "no option --to", "c2c send amber 'The build is green again.'"},
	{"c2c send amber -m hi", 2, "no option -m", "c2c send amber 'The build is green again.'"},
	{"c2c send amber --file letter.txt", 2, "did you mean -F?", "c2c send amber -F letter.txt"},
	{"c2c send amber deploy with --file x", 2, "stand in quotes", "c2c send amber 'deploy with --file x'"},
	{"c2c send amber --urgnt hi", 2, "did you mean --urgent?", ""},
	{"c2c ask amber hi --timeout 5m", 2, "did you mean --wait?", ""},
	{"c2c poll-inbox --timeout 5", 2, "did you mean --wait?", ""},
	{"c2c history -n 5", 2, "did you mean --limit?", "c2c history --limit 5"},
	{"c2c history --since 10m", 2, "has no option --since", "c2c history --limit 5"},
	{"c2c outbox --since yesterday", 2, "has no option --since", "c2c help history"},
	{"c2c list -a", 2, "did you mean --all?", "c2c list --all"},
	{"c2c list -l", 2, "has no option -l", "c2c list"},
	{"c2c start --name eve codex", 2, "did you mean --alias?", ""},
	{"c2c install --dryrun", 2, "did you mean --dry-run?", ""},
	{"c2c status --message-id $ID", 2, "has no option --message-id", "c2c help status"},
	// To whom.
	{"c2c send", 2, "to whom?", "c2c send amber 'The build is green again.'"},
	{"c2c send #review hi", 2, "a room's name needs quotes, '#review'", "c2c send amber 'The build is green again.'"},
	{"c2c send '#nosuch' hi", 4, "no such room", "c2c rooms list"},
	{"c2c send '#nosuch' '@amber hi'", 4, "no such room", "c2c rooms list"},
	{"c2c rooms history nosuch", 4, "no such room", "c2c rooms list"},
	{"c2c send hi amber", 4, "the alias stands first", `c2c send amber "hi"`},
	{"c2c send 'hi there' amber", 4, "the alias stands first", `c2c send amber "hi there"`},
	{"c2c send amber,coral hi", 4, "once for each", ""},
	{"c2c send 'amber coral' hi", 4, "once for each", ""},
	{"c2c send amber, hi", 4, `did you mean "amber"?`, "c2c send amber hi"},
	{"c2c send amber: hi", 4, `did you mean "amber"?`, "c2c send amber hi"},
	{"c2c send @amber hi", 4, `did you mean "amber"?`, "c2c send amber hi"},
	{"c2c send ambr hi", 4, `did you mean "amber"?`, "c2c send amber hi"},
	{"c2c send ghost hi", 4, `no such alias "ghost"`, "c2c list"},
	{"c2c send '' hi", 4, `no such alias ""`, "c2c list"},
	{"c2c send all hi --id job-17", 2, "for a message to one session", ""},
	{"c2c send @everyone hi", 4, "c2c send all writes to everybody", "c2c send all hi"},
	{"c2c send '*' hi", 4, "c2c send all writes to everybody", "c2c send all hi"},
	{"c2c send birch hi", 1, "this session's own alias", "c2c list"},
	{"c2c ask birch hi", 1, "this session's own alias", "c2c list"},
	{"c2c send amber hi --from ghost", 4, "to make this session", "c2c register --session-id ghost ghost"},
	{"C2C_MCP_SESSION_ID= c2c send amber hi", 1, "who sends? add --from NAME", "c2c register --session-id NAME NAME"},
	{"C2C_MCP_SESSION_ID= c2c poll-inbox", 1, "for whom? add --session-id NAME", "c2c poll-inbox --session-id NAME"},
	{"C2C_MCP_SESSION_ID=ghost2 c2c whoami", 4, "to make a session with this id", "C2C_MCP_SESSION_ID=ghost2 c2c register"},
	// The text.
	{"c2c send amber", 2, "no body", "c2c send amber 'The build is green again.'"},
	{"echo hi | c2c send amber", 2, "- for standard input", "echo hi | c2c send amber -"},
	{"printf '' | c2c send amber -", 2, "the body is empty", "c2c send amber 'The build is green again.'"},
	{"printf '\\n \\n' | c2c send amber -", 2, "the body is empty", ""},
	{"c2c send amber '  '", 2, "the body is empty", ""},
	{"c2c send amber -F", 2, "-F needs a file", ""},
	{"c2c send amber -F no-such-file", 1, "-F takes the path of a text file", ""},
	{"c2c send amber -F .", 1, "-F takes the path of a text file", ""},
	{`printf '\377\376' | c2c send amber -`, 1, "send text, or encode the bytes first", ""},
	{"head -c 1500000 /dev/zero | c2c send amber -", 1, "put it into a file and send its path", ""},
	{"c2c send all", 2, "no body", "c2c send amber 'The build is green again.'"},
	// Ids.
	{"c2c status", 2, "which message? one id", "c2c help status"},
	{"c2c status $ID $ID", 2, "which message? one id", "c2c help status"},
	{"c2c status '#'$ID", 2, "the id alone", "c2c status $ID"},
	{"c2c status $ID.", 1, "the id alone", "c2c status $ID"},
	{"c2c status id:$ID,", 2, "the id alone", "c2c status $ID"},
	{"c2c status 12345678", 1, "no such message", "c2c outbox"},
	{"c2c status 7", 1, "no such message", "c2c outbox"},
	{"c2c status same-end", 1, "type more of the id", "c2c status one-same-end"},
	{"c2c status amber", 1, "no such message", "c2c outbox"},
	{"c2c thread amber", 1, "no such message", "c2c history"},
	{"c2c thread $ID.", 1, "no such message", "c2c history"},
	{"c2c thread '#'$ID", 2, "the id alone", "c2c status $ID"},
	{"c2c reply", 2, "no body", "c2c reply 'Done, see main.'"},
	{"c2c reply 12345678 hi", 1, "no such message", "c2c reply 'text'"},
	{"c2c reply hi there you", 1, "in quotes", "c2c reply 'text'"},
	{"c2c reply $ID. hi", 1, "the id alone: c2c reply ", "c2c reply $ID 'text'"},
	{"C2C_MCP_SESSION_ID=coral c2c reply hi", 1, "nothing was handed over to coral yet", "c2c poll-inbox"},
	// Times and numbers.
	{"c2c ask amber hi --wait", 2, "--wait needs a duration", ""},
	{"c2c ask amber hi --wait '5 min'", 2, "such as 90s or 5m", ""},
	{"c2c ask amber hi --wait 1h30", 2, "such as 90s or 5m", ""},
	{"c2c ask amber hi --wait -1", 2, "such as 90s or 5m", ""},
	{"c2c poll-inbox --wait soon", 2, "such as 90s or 5m", ""},
	{"c2c send amber hi --ttl 5", 2, "such as 90s, 20m or 2h", ""},
	{"c2c history --limit many", 2, "want a number", "c2c history --limit 5"},
	{"c2c prune --older yesterday", 2, "such as 90d", "c2c prune --older 90d --dry-run"},
	// Names.
	{"c2c register 'my name'", 2, "may only have the letters A to Z", "c2c register dune"},
	{"c2c register my name", 2, "one alias at most", ""},
	{"c2c register @eve", 2, "may only have the letters A to Z", ""},
	{"c2c register émile", 2, "may only have the letters A to Z", ""},
	{"c2c register c2c", 2, "is reserved", ""},
	{"c2c register all", 2, "is reserved", ""},
	{"c2c register --alias eve", 2, "register has no option --alias", ""},
	{"c2c register amber", 1, "belongs to another session", "c2c register amber-2"},
	{"c2c register AMBER", 1, "belongs to another session", "c2c register AMBER-2"},
	// Words where none belong, and the other verbs.
	{"c2c list amber", 2, "takes no words", "c2c list"},
	{"c2c history amber", 2, "takes no words", "c2c search amber"},
	{"c2c outbox amber", 2, "takes no words", "c2c search amber"},
	{"c2c status amber", 1, "amber is a session", "c2c search amber"},
	{"c2c history --from nobody", 4, `no such alias "nobody"`, "c2c list"},
	{"c2c search ''", 2, "which words?", "c2c search build green"},
	{"c2c dnd yes", 2, "want on or off", "c2c dnd on --session-id amber"},
	{"c2c dnd amber on", 2, "want on or off", "c2c dnd on --session-id amber"},
	{"c2c rooms creat board", 2, "did you mean create?", ""},
	{"c2c completion powershell", 2, "want bash, zsh or fish", "c2c completion bash"},
	{"c2c install claud", 2, "did you mean claude?", "c2c install claude --dry-run"},
	{"c2c install openai", 2, "there are claude, codex, ", "c2c install codex --dry-run"},
	{"c2c uninstall vim", 2, `no such client "vim"`, "c2c help uninstall"},
	{"c2c start vim", 2, "no such client", ""},
	{"c2c start --alias amber", 2, "which client?", ""},
	{"c2c start claude amber", 2, "c2c start --alias amber claude", ""},
	{"PATH=${PATH%%:*} c2c start codex", 1, "c2c doctor tells which clients are found", ""},
	{"c2c serve begin", 2, "want start, stop, ", "c2c serve start"},
	{"c2c serve", 2, "one of start, stop, ", "c2c serve stop"},
	{"c2c open", 1, "only a person opens the page", ""},
	{"c2c watch amber", 2, "takes no words", ""},
	{"env -u C2C_MCP_BROKER_ROOT c2c migrate-root $HOME/nowhere", 1, "only a person merges roots, and this shell has no terminal", ""},
	// Where it is run.
	{"env -u HOME -u C2C_MCP_BROKER_ROOT c2c send amber hi", 1, "set HOME to your home directory", ""},
	{"env -u HOME c2c install codex", 1, "HOME is not set: set it", ""},
	{"mkdir gone; cd gone; rmdir ../gone; env -u C2C_MCP_BROKER_ROOT c2c send amber hi", 1, "go to the project's directory", ""},
	{"C2C_MCP_BROKER_ROOT=nowhere c2c poll-inbox --session-id amber", 4, "if the path is mistyped, correct it", ""},
	{"mkdir -p .claude; echo '{ bad' > .claude/settings.json; c2c install claude", 1, "correct the file or move it away, then run again", ""},
}

// Each is a call of a tool as an agent gets it wrong, and a part of the answer.
var wrongCalls = [][2]string{
	{`send {"receiver":"amber","content":"hi"}`, "it takes no receiver, but to, content, "},
	{`send {"alias":"amber","message":"hi"}`, "it takes no message, but to, content, "},
	{`send {"to_alias":["amber","coral"],"content":"hi"}`, "to_alias: got array, want string"},
	{`send {"to_alias":"amber","content":{"text":"hi"}}`, "content: got object, want string"},
	{`send {"to_alias":"amber","content":"  "}`, "content is empty"},
	{`send {"to_alias":"@amber","content":"hi"}`, "did you mean amber?"},
	{`send {"to_alias":"amber,coral","content":"hi"}`, "takes one alias: call the tool once for each"},
	{`send {"to":"amber","content":"hi","reason":"it is late"}`, "it takes reason only for a room"},
	{`send {"to":"amber","content":"hi","files":["/etc/hosts"]}`, "it takes files only to answer a sender outside"},
	{`send {"to":"amber","content":"hi","exclude_aliases":["coral"]}`, "it takes exclude_aliases only with to \"all\""},
	{`ask {"to":"all","content":"hi"}`, "only send writes to all"},
	{`send {"to_alias":"birch","content":"hi"}`, "call list to see who else is there"},
	{`send {"to_alias":"","content":"hi"}`, "call list to see who is there"},
	{`send {"to_alias":"amber","content":"hi","urgent":true}`, "it takes no urgent, but to, "},
	{`send {"to_alias":"amber","content":"hi","ttl":"5 min"}`, "such as 90s, 20m or 2h"},
	{`ask {"to_alias":"amber","content":"hi","wait":"5m"}`, "it takes no wait, but to, content, wait_seconds"},
	{`ask {"to_alias":"ghost","content":"hi"}`, "call list to see who is there"},
	{`reply {"content":"hi"}`, "in_reply_to for an answer"},
	{`message_status {"id":"x"}`, "it takes no id, but of, limit"},
	{`look {"at":"posts"}`, "the name of the room"},
	{`look {"at":"sessions"}`, "want one of rooms, posts, "},
	{`room {"name":"review","do":"quiet"}`, "no such room"},
	{`thread {"message_id":"12345678"}`, "check the id"},
	{`history {"since":"1h"}`, "since: got string, want number"},
	{`register {"name":"eve"}`, "it takes no name, but alias, "},
	{`register {"alias":"amber"}`, `"amber-2" is free`},
	{`register {"alias":"my name"}`, "may only have the letters A to Z"},
}

func TestWrongCallsOfToolsAreAnsweredByWhatToDo(t *testing.T) {
	w := newMistaken(t)
	for _, call := range wrongCalls {
		if out := w.tool(call[0]); !strings.HasPrefix(out, "tool error: ") || !strings.Contains(out, call[1]) {
			t.Errorf("%s\nwant %q, got %s", call[0], call[1], out)
		}
	}
	for _, name := range []string{"amber", "coral"} {
		if out := w.run("peek-inbox", "--session-id", name); strings.Contains(out, "hi") {
			t.Errorf("%s got mail: %s", name, out)
		}
	}
}

// Every one is answered by what to do, in a few lines, and nothing is done. What is said to type
// works.
func TestWrongUsesAreAnsweredByWhatToDo(t *testing.T) {
	w := newMistaken(t)
	w.run("send", "birch", "first", "--from", "amber", "--id", "one-same-end")
	w.run("send", "birch", "second", "--from", "amber", "--id", "two-same-end")
	w.run("poll-inbox", "--session-id", "birch")
	var id string
	if _, line, ok := strings.Cut(w.run("send", "birch", "third", "--from", "amber"), " as "); ok {
		id = strings.TrimSpace(line)
	}
	w.run("poll-inbox", "--session-id", "birch")
	before := w.tree() + w.top()
	said := make([]string, len(wrongUses))
	for i, use := range wrongUses {
		said[i] = w.shell("ID=" + id + "; " + use.line)
		status, words, _ := strings.Cut(said[i], "\n")
		if status != "exit "+string(rune('0'+use.exit)) || !strings.Contains(words, use.says) {
			t.Errorf("%s\nwant exit %d and %q, got %s", use.line, use.exit, use.says, said[i])
		}
		if lines := strings.Count(words, "\n"); lines > 4 || strings.Contains(words, "answer: ") && !strings.Contains(words, "Try: c2c doctor") {
			t.Errorf("%s\n%d lines:\n%s", use.line, lines, words)
		}
		os.RemoveAll(filepath.Join(w.home, ".claude"))
		if now := w.tree() + w.top(); now != before {
			t.Errorf("%s\nsomething was done. Before:\n%safter:\n%s", use.line, before, now)
			before = now
		}
	}
	for _, use := range wrongUses {
		if use.typed == "" {
			continue
		}
		if out := w.shell("ID=" + id + "; " + use.typed); !strings.HasPrefix(out, "exit 0\n") {
			t.Errorf("%s\nsays to type what fails: %s\n%s", use.line, use.typed, out)
		}
	}
}

// top are the names in the home.
func (w mistaken) top() (names string) {
	entries, err := os.ReadDir(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		names += e.Name() + "\n"
	}
	return names
}
