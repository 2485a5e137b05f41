package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"c2c/internal/atomicfile"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

// asker is an MCP server with a channel, as a client runs it.
type asker struct {
	*keeper
	in   io.WriteCloser
	out  *bufio.Reader
	caps map[string]any // what it offered
}

// newAsker starts the server of a session, below a shell of its own: the test itself is not the
// client.
func newAsker(t *testing.T) *asker {
	t.Helper()
	a := &asker{keeper: &keeper{t, keptPrograms(t), t.TempDir()}}
	a.starts()
	return a
}

func (a *asker) starts() {
	t := a.t
	t.Helper()
	cmd := a.command("mcp")
	cmd.Args = []string{"sh", "-c", cmd.Path + " mcp; exit 0"}
	cmd.Path = "/bin/sh"
	a.start(cmd)
}

// start starts its server.
func (a *asker) start(cmd *exec.Cmd) {
	t := a.t
	t.Helper()
	cmd.Env = append(cmd.Env, "C2C_MCP_CHANNEL_DELIVERY=doorbell", "C2C_MCP_CLIENT_TYPE=claude", "CLAUDE_CODE_SESSION_ID=claude-1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if a.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := a.in // a second server has another
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	a.out = bufio.NewReader(out)
	a.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.329"}}}`)
	var answer struct {
		Result struct {
			Capabilities struct{ Experimental map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(a.hear()), &answer); err != nil {
		t.Fatal(err)
	}
	a.caps = answer.Result.Capabilities.Experimental
}

// store is opened anew for each use, as other processes do.
func (k *keeper) store() *permission.Store {
	k.t.Helper()
	dir, err := atomicfile.Create(k.root())
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { dir.Close() })
	return permission.Open(dir, time.Now)
}

func (a *asker) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

func (a *asker) hear() string {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatalf("the server says %q, %v", line, err)
	}
	return line
}

// ask returns when others see the request.
func (a *asker) ask(id string) {
	a.t.Helper()
	a.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":%q,"tool_name":"Bash","description":"show the date\u001b[2J","input_preview":"{\"command\":\"date\"}"}}`, id))
	a.awaits(id)
}

func (a *asker) awaits(id string) {
	a.t.Helper()
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Minute)
	defer cancel()
	store := a.store()
	err := changes.Until(ctx, store.LockPath(), func() (bool, error) {
		all, err := store.List(ctx)
		return slices.ContainsFunc(all, func(r permission.Request) bool { return r.ID == id }), err
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// types is what a person gets to see who types it in a terminal. env is what an agent has in
// addition.
func (k *keeper) types(line string, env ...string) string {
	k.t.Helper()
	cmd := k.command()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", line}
	cmd.Env = append(cmd.Env, append(env, "USER=ada", "TERM=xterm")...)
	screen, err := pty.Start(cmd)
	if err != nil {
		k.t.Fatal(err)
	}
	defer screen.Close()
	shown, _ := io.ReadAll(screen) // until the shell has ended
	cmd.Wait()
	return strings.ReplaceAll(string(shown), "\r\n", "\n")
}

func TestAPersonAllowsAndDenies(t *testing.T) {
	a := newAsker(t)
	if _, ok := a.caps["claude/channel/permission"]; !ok {
		t.Fatalf("the server offers %v", a.caps)
	}
	a.store() // this makes the root
	if out := a.types("c2c allow"); !strings.Contains(out, "knows of no session that waits for a permission") || !strings.Contains(out, "c2c start --channel") {
		t.Errorf("nothing is open: %s", out)
	}
	if out := a.types("c2c allow --json"); out != "[]\n" {
		t.Errorf("nothing is open, as JSON: %s", out)
	}
	a.ask("abcde")
	if out := a.types("c2c deny"); !strings.HasPrefix(out, "abcde  claude-") || !strings.Contains(out, "c2c allow ID lets it run") || !strings.Contains(out, " asks for Bash, for ") ||
		!strings.Contains(out, "\n    show the date\\u001b[2J\n    command: date\n") {
		t.Errorf("one is open: %s", out)
	}
	if out := a.types("c2c allow abcdx; echo exit $?"); !strings.Contains(out, `no permission request has this id: "abcdx"`) ||
		!strings.Contains(out, "c2c allow shows those that are open") || !strings.Contains(out, "exit 1") {
		t.Errorf("another id: %s", out)
	}
	if out := a.types("c2c allow ABCDE"); !strings.HasPrefix(out, "sent to claude-") || !strings.HasSuffix(out, ": allow for Bash\n") {
		t.Errorf("allowed: %s", out)
	}
	if got := a.hear(); !strings.Contains(got, `"method":"notifications/claude/channel/permission"`) || !strings.Contains(got, `{"behavior":"allow","request_id":"abcde"}`) {
		t.Errorf("the client got %s", got)
	}
	if out := a.types("c2c deny abcde; echo exit $?"); !strings.Contains(out, "was allowed already, by ada (terminal)") || !strings.Contains(out, "exit 1") {
		t.Errorf("a second verdict: %s", out)
	}
	a.ask("bcdef")
	var r permission.Request
	if out := a.types("c2c deny bcdef --json"); json.Unmarshal([]byte(out), &r) != nil || r.State != permission.StateDenied || r.By != "ada" || r.SentAt == 0 {
		t.Errorf("denied: %s", out)
	}
	if got := a.hear(); !strings.Contains(got, `{"behavior":"deny","request_id":"bcdef"}`) {
		t.Errorf("the client got %s", got)
	}
	log, err := os.ReadFile(filepath.Join(a.root(), "broker.log"))
	if want := `"tool":"Bash","verdict":"deny","by":"ada","via":"terminal","proof":"terminal","result":"recorded"`; err != nil || !strings.Contains(string(log), want) || strings.Contains(string(log), "date") {
		t.Errorf("the log: %s, %v", log, err)
	}
}

// A model types what its user could type.
func TestAnAgentGivesNoVerdict(t *testing.T) {
	a := newAsker(t)
	a.ask("abcde")
	for _, env := range []string{"CLAUDE_CODE_SESSION_ID=claude-1", "CLAUDE_CODE_SESSION_ID=another", "C2C_MCP_SESSION_ID=dune"} {
		if out := a.types("c2c allow abcde; echo exit $?", env); !strings.Contains(out, "only a person answers a permission request, and this is the shell of ") ||
			!strings.Contains(out, "exit 1") {
			t.Errorf("%s: %s", env, out)
		}
	}
	if out, err := a.try("allow", "abcde"); err == nil || !strings.Contains(out, "no terminal") {
		t.Errorf("without a terminal: %s", out)
	}
	all, err := a.store().List(t.Context())
	if err != nil || len(all) != 1 || all[0].State != permission.StateOpen {
		t.Errorf("it is %+v, %v", all, err)
	}
	audit, err := os.ReadFile(filepath.Join(a.root(), "permission", "audit.jsonl"))
	if err != nil || strings.Count(string(audit), `"result":"refused: no right"`) != 4 {
		t.Errorf("audit %s, %v", audit, err)
	}
}

// noLogin is what c2c says in a terminal that an agent has opened.
const noLogin = "no login and no terminal program has opened this terminal"

// An agent opens a terminal that has nothing above it, and says that it is the person.
func TestATerminalThatAnAgentHasOpenedIsNobodys(t *testing.T) {
	a := newAsker(t)
	a.ask("abcde")
	a.types("c2c rooms create review; c2c serve start")
	t.Cleanup(func() { a.try("serve", "stop") })
	for _, line := range []string{"allow abcde", "deny abcde", "senders allow ci --to amber", "senders allow chat u1", "open --print", "relay pair --yes --ssh me@laptop",
		"send '#review' --wake hi", "resume amber birch", "send amber hi"} {
		out := a.forges("mkdir -p new; cd new; c2c " + line)
		if !strings.Contains(out, noLogin) || !strings.Contains(out, "exit 1") {
			t.Errorf("%s: %s", line, out)
		}
	}
	if all, err := a.store().List(t.Context()); err != nil || len(all) != 1 || all[0].State != permission.StateOpen {
		t.Errorf("it is %+v, %v", all, err)
	}
	audit, err := os.ReadFile(filepath.Join(a.root(), "permission", "audit.jsonl"))
	if err != nil || strings.Count(string(audit), `"result":"refused: no right"`) != 2 {
		t.Errorf("audit %s, %v", audit, err)
	}
	if out := a.types("c2c allow abcde"); !strings.HasPrefix(out, "sent to claude-") {
		t.Errorf("a person behind it: %s", out)
	}
}

// The terminal is older than the client: an earlier session has opened it, or the client was
// started again.
func TestATerminalThatAnAgentHasPlantedIsNobodys(t *testing.T) {
	a := &asker{keeper: &keeper{t, keptPrograms(t), t.TempDir()}}
	if err := syscall.Mkfifo(filepath.Join(a.home, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() { shown <- a.forges("read id <go; c2c allow $id") }()
	begin, err := os.OpenFile(filepath.Join(a.home, "go"), os.O_WRONLY, 0) // waits for the terminal
	if err != nil {
		t.Fatal(err)
	}
	a.starts()
	a.ask("abcde")
	if _, err := begin.WriteString("abcde\n"); err != nil {
		t.Fatal(err)
	}
	if out := <-shown; !strings.Contains(out, noLogin) || !strings.Contains(out, "exit 1") {
		t.Error(out)
	}
}

// A job without parents in the person's own terminal may be an agent's.
func TestACommandThatHasLeftItsTerminalsShellIsNobodys(t *testing.T) {
	k := &keeper{t, keptPrograms(t), t.TempDir()}
	out := k.types(`mkfifo begin end
		sh -c '(read line <begin; c2c relay pair --yes --ssh me@laptop 8>end) & true'
		cat end & exec 9>begin; echo >&9; wait`)
	if !strings.Contains(out, "left in the background of its terminal") {
		t.Error(out)
	}
}

func TestAPersonLetsOthersInBeforeTheFirstSession(t *testing.T) {
	k := &keeper{t, keptPrograms(t), t.TempDir()}
	t.Cleanup(func() { k.try("serve", "stop") })
	out := k.types(`unset C2C_MCP_BROKER_ROOT; c2c serve start --port 0; mkdir one two; cd one; git init -q; c2c senders allow ci --to amber; echo exit $?; cd ../two; git init -q; c2c open --print; echo exit $?`)
	if strings.Count(out, "exit 0") != 2 {
		t.Error(out)
	}
}

// An agent makes a project of its own, and takes its variables out of the environment. Here the
// test is the client.
func TestAnAgentPairsNoMachineInAFreshFolder(t *testing.T) {
	a := &asker{keeper: &keeper{t, keptPrograms(t), t.TempDir()}}
	cmd := a.command("mcp")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "C2C_MCP_BROKER_ROOT=") })
	a.start(cmd)
	a.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"register","arguments":{"alias":"dune"}}}`)
	a.hear()
	for _, line := range []string{"relay pair --yes --ssh me@laptop", "senders allow ci --to amber", "open --print"} {
		out := a.types("mkdir -p new; cd new; git init -q; unset C2C_MCP_BROKER_ROOT; c2c " + line + "; echo exit $?")
		if !strings.Contains(out, "this is the shell of dune") || !strings.Contains(out, "exit 1") {
			t.Errorf("%s: %s", line, out)
		}
	}
}

// A client ends while its hook runs. Then init or a user's systemd, which is older than all
// terminals, becomes the parent of the hook.
func TestAnOrphanedHookKeepsNoPersonOut(t *testing.T) {
	a := newAsker(t)
	a.ask("abcde")
	out := a.types(`printf '{"session_id":"gem-1","hook_event_name":"AfterTool","tool_name":"x"}' >in; mkfifo begin end
		sh -c '(read line <begin; exec c2c hook --client gemini <in 8>end) & true'
		cat end & exec 9>begin; echo >&9; wait # cat ends with the hook
		sh -c 'c2c hook --client gemini <in; true' # the client is started again
		c2c senders allow ci --to amber --verdicts; echo exit $?`)
	if !strings.Contains(out, "exit 0") {
		t.Errorf("an honest person: %s", out)
	}
	if found, err := filepath.Glob(filepath.Join(a.root(), "sessions", "*.json")); err != nil || len(found) != 3 { // of the client, of the hook, of the person
		t.Errorf("sessions %q, %v", found, err)
	}
}

// forges types a line in a terminal that is made for it, below no client and with nothing in its
// environment.
func (k *keeper) forges(line string) string {
	k.t.Helper()
	dir := k.t.TempDir()
	shown, begin := filepath.Join(dir, "shown"), filepath.Join(dir, "begin")
	if err := syscall.Mkfifo(begin, 0o600); err != nil {
		k.t.Fatal(err)
	}
	cmd := k.command()
	env := append(slices.Clone(cmd.Env), "USER=ada", "TERM=xterm")
	cmd.Path, cmd.Env = "/bin/sh", nil
	cmd.Args = append([]string{"sh", "-c", `out=$1; shift; exec setsid -f env -i "$@" script -qec "$LINE; echo exit \$?; mv $out.part $out" $out.part >/dev/null 2>&1 </dev/null`, "sh", shown}, env...)
	cmd.Env = append(os.Environ(), "LINE=: <"+begin+"; "+line)
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	begun, err := os.OpenFile(begin, os.O_RDWR, 0) // setsid has ended: nothing is above the terminal any more
	if err != nil {
		k.t.Fatal(err)
	}
	defer begun.Close()
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	var text []byte
	err = changes.Until(ctx, shown, func() (bool, error) {
		var err error
		text, err = os.ReadFile(shown)
		return err == nil && strings.Contains(string(text), "Script done"), nil
	})
	if err != nil {
		k.t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

// The client has left something out.
func TestWhatIsNotShownInFullTakesASecondWord(t *testing.T) {
	a := newAsker(t)
	a.say(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":"abcde","tool_name":"Bash","description":"run it","input_preview":"{ \"command\": \"echo one\n⋯ 4,000 code points elided ⋯\necho two\" }"}}`)
	a.awaits("abcde")
	if out := a.types("c2c allow"); !strings.Contains(out, "\n    NOT SHOWN IN FULL: look at it in its own dialog") {
		t.Errorf("shown: %s", out)
	}
	if out := a.types("c2c allow abcde; echo exit $?"); !strings.Contains(out, "is not shown in full") || !strings.Contains(out, "c2c allow --partial abcde") || !strings.Contains(out, "exit 1") {
		t.Errorf("allowed: %s", out)
	}
	if out := a.types("c2c allow --partial abcde"); !strings.HasPrefix(out, "sent to claude-") {
		t.Errorf("said: %s", out)
	}
	if got := a.hear(); !strings.Contains(got, `{"behavior":"allow","request_id":"abcde"}`) {
		t.Errorf("the client got %s", got)
	}
}

// Somebody writes the verdict into the file of the request, or other words for a person to see.
func TestAForgedVerdictIsNotTold(t *testing.T) {
	a := newAsker(t)
	for id, change := range map[string][2]string{"abcde": {`"state":"open"`, `"state":"allowed","by":"ada","via":"terminal","at":1`}, "bcdef": {"date", "ls"}} {
		a.ask(id)
		files, err := filepath.Glob(filepath.Join(a.root(), "permission", id+".*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(data), change[0]) {
			t.Fatalf("%s, %v", data, err)
		}
		a.overwrites(files[0], strings.ReplaceAll(string(data), change[0], change[1]), len(data))
		a.types("c2c allow " + id) // of bcdef the person sees other words
		if out := a.types("c2c deny " + id + "; echo exit $?"); !strings.Contains(out, "somebody has changed its file") || !strings.Contains(out, "exit 1") {
			t.Errorf("%s: %s", id, out)
		}
	}
	a.ask("cdefg")
	a.types("c2c allow cdefg")
	if got := a.hear(); !strings.Contains(got, `{"behavior":"allow","request_id":"cdefg"}`) { // nothing came before it
		t.Errorf("the client got %s", got)
	}
}

// overwrites puts a text over the file of a request with one write: the server looks when the file
// is closed, and half a file would end the request in another way.
func (a *asker) overwrites(path, text string, size int) {
	a.t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	text += strings.Repeat(" ", max(0, size-len(text)))
	if _, err := f.WriteString(text); err != nil {
		a.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		a.t.Fatal(err)
	}
}

// Whatever a model takes out of the environment, and with a terminal of its own: its client is
// above it. Here the test is the client.
func TestWhoRunsBelowAClientGivesNoVerdict(t *testing.T) {
	a := &asker{keeper: &keeper{t, keptPrograms(t), t.TempDir()}}
	if err := os.Mkdir(a.root(), 0o700); err != nil {
		t.Fatal(err)
	}
	a.start(a.command("mcp"))
	a.ask("abcde")
	for _, line := range []string{"c2c allow abcde", "setsid -w c2c allow abcde", "c2c allow abcde --json </dev/null", "sh -c '(c2c allow abcde; true)'"} {
		if out := a.types(line); strings.Contains(out, "sent to") || !strings.Contains(out, "only a person answers") && !strings.Contains(out, "no terminal") {
			t.Errorf("%s: %s", line, out)
		}
	}
	if all, err := a.store().List(t.Context()); err != nil || len(all) != 1 || all[0].State != permission.StateOpen {
		t.Errorf("it is %+v, %v", all, err)
	}
}

// Whoever may decide may come later: a page, a sender, a terminal. A server that does nothing makes
// nothing.
func TestAClientIsAskedForItsDialogsBeforeAnybodyCanDecide(t *testing.T) {
	a := newAsker(t)
	if _, ok := a.caps["claude/channel/permission"]; !ok {
		t.Errorf("the server offers %v", a.caps)
	}
	if _, err := os.Stat(a.root()); !os.IsNotExist(err) {
		t.Errorf("it has made its root: %v", err)
	}
	a.ask("abcde")
	if out := a.types("c2c allow abcde"); !strings.HasPrefix(out, "sent to claude-") {
		t.Errorf("a person behind it: %s", out)
	}
}

func TestPermissionLifetimeIsATime(t *testing.T) {
	for value, want := range map[string]time.Duration{"": permission.Lifetime, "90s": 90 * time.Second, "24h": 24 * time.Hour} {
		if got, err := permissionLifetime(value); got != want || err != nil {
			t.Errorf("%q: %v, %v", value, got, err)
		}
	}
	for _, value := range []string{"10", "0s", "-1m", "25h", "soon"} {
		if _, err := permissionLifetime(value); err == nil || !strings.Contains(err.Error(), "C2C_PERMISSION_TTL is") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
