package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/rooms"
	"c2c/sessions/callers"
)

// inRoom makes sessions members of a room.
func inRoom(t *testing.T, root, room string, aliases ...string) {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, alias := range aliases {
		s, err := callers.Resolve(t.Context(), b.Registry, callers.Caller{Explicit: alias})
		if err == nil {
			_, err = rooms.Join(t.Context(), b, s, room, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func setLevel(t *testing.T, root, room, sid string, level rooms.Level) {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, err := rooms.StoreOf(b.Registry).Open(room)
	if err == nil {
		defer r.Close()
		err = r.SetLevel(t.Context(), sid, level)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNewInARoomComesOnceWithTheNextTurn(t *testing.T) {
	root := scratch(t)
	inRoom(t, root, "review", "amber", "birch")
	event := func(name string) string {
		t.Helper()
		out, errs, code := claudeEvent(t, root, name)
		if errs != "" || code != cli.Done {
			t.Errorf("%s: exit %d, %s", name, code, errs)
		}
		return out
	}
	event("SessionStart")
	mustRun(t, root, "birch", "send", "#review", "the build is green")
	for _, name := range []string{"PostToolUse", "Stop", "SessionStart"} {
		if out := event(name); strings.Contains(out, "green") {
			t.Errorf("%s shows it: %s", name, out)
		}
	}
	if out := event("UserPromptSubmit"); !strings.Contains(out, `c2c event=\"rooms\" from=\"others\" authority=\"none\"`) || !strings.Contains(out, ": the build is green") {
		t.Errorf("%s", out)
	}
	if out := event("UserPromptSubmit"); out != "" {
		t.Errorf("again: %s", out)
	}
	// Beside mail, and cut to what the answer takes.
	for range 200 {
		mustRun(t, root, "birch", "send", "#review", strings.Repeat("words ", 50))
	}
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("x", 6800))
	if out := event("UserPromptSubmit"); !strings.Contains(out, " more: look posts") || !strings.Contains(out, "xxx") || len(out) > 10_500 {
		t.Errorf("%d bytes: %.3000s", len(out), out)
	}
	if out := event("Stop"); out != "" {
		t.Errorf("the end of a turn begins another one: %s", out)
	}
	setLevel(t, root, "review", "amber", rooms.Open)
	mustRun(t, root, "birch", "send", "#review", "at once")
	if out := event("Stop"); out != "" {
		t.Errorf("the end of a turn begins another one: %s", out)
	}
	if out := event("PostToolUse"); !strings.Contains(out, ": at once") {
		t.Errorf("a session that is open to the room does not see it at work: %s", out)
	}
	setLevel(t, root, "review", "amber", rooms.Muted)
	mustRun(t, root, "birch", "send", "#review", "not this")
	if out := event("UserPromptSubmit"); out != "" {
		t.Errorf("muted: %s", out)
	}
}

// A caller takes an exit status as the failure of all, and asks again for mail that was handed over already.
func TestMailThatWasPrintedIsNoFailure(t *testing.T) {
	root := scratch(t)
	inRoom(t, root, "review", "amber", "birch")
	mustRun(t, root, "birch", "send", "amber", "is it green?")
	mustRun(t, root, "birch", "send", "#review", "new")
	places := filepath.Join(root, "amber.rooms")
	os.Remove(places)
	if err := os.Mkdir(places, 0o700); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, root, "amber", "poll-inbox")
	if !strings.Contains(out, "is it green?") || strings.Count(errs, "amber.rooms") != 1 || code != cli.Done {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestASearchShowsPostsWithTheirRoom(t *testing.T) {
	root := scratch(t)
	inRoom(t, root, "review", "amber", "birch")
	mustRun(t, root, "birch", "send", "#review", "the build is green")
	if out := mustRun(t, root, "amber", "search", "green"); !strings.Contains(out, "birch (claimed) to #review  the build is green\n") {
		t.Errorf("%s", out)
	}
	var all []struct{ From, To, Content, State, Room string }
	out := mustRun(t, root, "amber", "search", "green", "--json")
	out = strings.NewReplacer("from_alias", "from", "to_alias", "to").Replace(out)
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || all[0].From != "birch" || all[0].To != "#review" || all[0].State != rooms.Posted || all[0].Room != "review" {
		t.Errorf("%v, %s", err, out)
	}
	if out := mustRun(t, root, "amber", "search", "red", "--json"); out != "[]\n" {
		t.Errorf("%s", out)
	}
}

func TestASearchThatIsCutSaysSo(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "register")
	for _, text := range []string{"green 1", "green 2", "green 3"} {
		mustRun(t, root, "amber", "send", "birch", text)
	}
	for limit, want := range map[string]string{"2": "c2c: these are the newest 2; --limit 0 shows all\n", "3": "", "0": ""} {
		out, errs, code := run(t, root, "amber", "search", "green", "--limit", limit)
		if errs != want || code != cli.Done || strings.Contains(out, "green 1") != (want == "") || !strings.Contains(out, "green 2") {
			t.Errorf("--limit %s: exit %d, %q, %q", limit, code, out, errs)
		}
	}
}

// The script starts c2c for a member of a room at a prompt, and for one that is open to it always.
func TestTheHookScriptStartsC2cForMembersOfRooms(t *testing.T) {
	root := scratch(t)
	home := filepath.Dir(root)
	script, err := os.ReadFile(filepath.Join("..", "..", "hooks", "c2c-inbox-check.sh"))
	if err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(home, "started")
	text := strings.Replace(string(script), "\nc2c=c2c\n", "\nc2c="+started+".sh\n", 1)
	for path, content := range map[string]string{filepath.Join(home, "hook.sh"): text, started + ".sh": "#!/bin/sh\n: >" + started + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	claudeEvent(t, root, "SessionStart") // it writes the pointer
	claudeEvent(t, root, "UserPromptSubmit")
	if err := os.WriteFile(filepath.Join(root, "amber.calm"), nil, 0o600); err != nil { // it has worked since mail came
		t.Fatal(err)
	}
	starts := func(args ...string) bool {
		t.Helper()
		cmd := exec.Command("sh", append([]string{filepath.Join(home, "hook.sh")}, args...)...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CLAUDE_CODE_SESSION_ID=u1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, err := os.Stat(started)
		os.Remove(started)
		return err == nil
	}
	if starts() || starts("prompt") {
		t.Error("it starts c2c where nothing waits")
	}
	inRoom(t, root, "review", "amber", "birch")
	if starts() || !starts("prompt") {
		t.Error("it starts c2c in a turn of a member, or not at its begin")
	}
	setLevel(t, root, "review", "amber", rooms.Open)
	if !starts() {
		t.Error("a session that is open to the room is not shown what is new")
	}
}
