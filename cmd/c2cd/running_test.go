package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"c2c/broker"
	"c2c/sessions/callers"
)

// scripts are programs that run in a terminal. A client may start itself again, through other
// programs: only its last process is the client.
var scripts = map[string]string{
	"relaunch": "bash ./between; true\n",
	"between":  "bash ./last; true\n",
	"last":     "echo last $$; exec -a gemini cat\n",
}

// aTerminal has a client in it, whose last process is last.
func aTerminal(t *testing.T, home string) (first, last int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", "exec -a gemini bash ./relaunch")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(master)
	for last == 0 && lines.Scan() {
		fmt.Sscanf(lines.Text(), "last %d", &last)
	}
	fmt.Fprintln(master, "hello")
	for n := 0; n < 2 && lines.Scan(); { // what is typed, and cat, which says it once more
		if strings.Contains(lines.Text(), "hello") {
			n++
		}
	}
	if last == 0 || lines.Err() != nil {
		t.Fatal("the client does not run", lines.Err())
	}
	return cmd.Process.Pid, last
}

// The terminal shows the first process of a client. A session has its last process, or the first
// one if c2c start has made it.
func TestAClientThatStartsItselfAgainIsOneClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client  string // of a session; "": there is none
		last    bool   // the session has the last process, not the first
		unknown bool
	}{
		"no session":                         {unknown: true},
		"a session of the first process":     {client: "gemini"},
		"a session of the last process":      {client: "gemini", last: true},
		"another client's session is inside": {client: "claude", last: true, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for name, text := range scripts {
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
			first, last := aTerminal(t, home)
			b, err := broker.OpenHere(getenv, home, broker.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Register(t.Context(), callers.Caller{Explicit: "dana"}, "dana"); err != nil { // it has no process
				t.Fatal(err)
			}
			pid := first
			if c.last {
				pid = last
			}
			if c.client != "" {
				if _, err := b.Attach(t.Context(), callers.Caller{Client: c.client, ClientID: "u-1", PID: pid}); err != nil {
					t.Fatal(err)
				}
			}
			got := unknownClients(t.Context(), getenv, []string{"claude", "gemini"})
			want := []runningClient{{Client: "gemini", PID: first, Folder: home}}
			if !c.unknown {
				want = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("unknown are %v, want %v; the processes are %d and %d", got, want, first, last)
			}
		})
	}
}
