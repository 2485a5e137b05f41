package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/inbox"
)

// A plugin names its sessions, is given the mail of the one that is shown, and says what the model has.
func TestAPluginIsGivenTheMailOfTheSessionThatIsShown(t *testing.T) {
	root := t.TempDir() + "/root"
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	started, err := b.Register(t.Context(), broker.Caller{Start: "amber", Client: "opencode"}, "amber")
	if err != nil {
		t.Fatal(err)
	}
	birch, err := b.Register(t.Context(), broker.Caller{Explicit: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	a := &app{stdin: stdin, stdout: stdout, stderr: io.Discard, log: slog.New(slog.DiscardHandler), getenv: func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, client.StartEnv: started.ID}[name]
	}}
	ended := make(chan int, 1)
	go func() { ended <- a.main(t.Context(), []string{"plugin", "opencode"}) }()
	lines := bufio.NewScanner(out)
	told := func(line string) (got struct {
		SID  string
		Mail []struct{ Key, Text string }
	}) {
		t.Helper()
		if _, err := io.WriteString(in, line); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("told %q, %v", lines.Text(), lines.Err())
		}
		return got
	}
	send := func(alias, id string) {
		t.Helper()
		if _, err := b.Send(t.Context(), birch, inbox.Message{To: alias, Content: "word-" + id, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	one := told(`{"session":"ses-1","shown":true}` + "\n").SID
	if one != started.ID {
		t.Errorf("the first session is %q, want the one that was started, %q", one, started.ID)
	}
	two := told(`{"session":"ses-2","shown":true}` + "\n").SID
	if two == one {
		t.Error("two sessions have one mailbox")
	}
	if again := told(`{"session":"ses-1"}` + "\n").SID; again != one {
		t.Errorf("it is %q now", again)
	}
	s, err := b.Resolve(t.Context(), broker.Caller{Explicit: two})
	if err != nil {
		t.Fatal(err)
	}
	send("amber", "m-1")
	send(s.Alias, "m-2")
	got := told("") // of the one that is shown
	if len(got.Mail) != 1 || !strings.Contains(got.Mail[0].Text, "word-m-2") {
		t.Fatalf("given %+v", got)
	}
	if _, err := io.WriteString(in, `{"session":"ses-2","has":["`+got.Mail[0].Key+`"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	told(`{"session":"ses-1","shown":true}` + "\n")
	if got = told(""); len(got.Mail) != 1 || !strings.Contains(got.Mail[0].Text, "word-m-1") {
		t.Fatalf("given %+v", got)
	}
	in.Close()
	if status := <-ended; status != 0 {
		t.Errorf("exit %d", status)
	}
	for id, want := range map[string]string{"m-1": broker.Queued, "m-2": broker.Read} {
		if st, err := b.Status(t.Context(), id); err != nil || st.State != want && want == broker.Read {
			t.Errorf("%s is %s, %v; want %s", id, st.State, err, want)
		}
	}
}
