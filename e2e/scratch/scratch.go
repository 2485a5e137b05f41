// Package scratch makes a home directory with mail, for tests that kill processes or cut the power
// there and then look for every message.
package scratch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Home is a home directory with a root. C2C is the program under test. Older, if set, is the same
// program in another version; about half of the processes run it. Project is the id of the root's
// project; if it is empty, the root belongs to no project, and has no mail with others.
type Home struct{ C2C, Dir, Older, Project string }

// Root returns the directory with the mail.
func (h Home) Root() string {
	if h.Project != "" {
		return filepath.Join(h.Dir, ".c2c", "repos", h.Project, "broker")
	}
	return filepath.Join(h.Dir, "root")
}

// Command returns a command of c2c, run as a session.
func (h Home) Command(ctx context.Context, as string, args ...string) *exec.Cmd {
	return h.program(ctx, as, h.either(), args...)
}

// either returns one of the two versions at random.
func (h Home) either() string {
	if h.Older != "" && rand.IntN(2) == 0 {
		return h.Older
	}
	return h.C2C
}

func (h Home) program(ctx context.Context, as, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = h.Dir
	cmd.Env = []string{"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + h.Root(), "C2C_MCP_SESSION_ID=" + as}
	return cmd
}

// Run runs a command that has to succeed.
func (h Home) Run(as string, args ...string) error {
	return Check(h.Command(context.Background(), as, args...))
}

// Check runs a command. The error contains the command's output.
func Check(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// Send returns a send with a text of random length: mostly short, but one in twenty may be longer
// than the 60 KiB of an inbox.
func (h Home) Send(as, to, id string) *exec.Cmd {
	longest := 3000
	switch n := rand.IntN(100); {
	case n < 5:
		longest = 160_000
	case n < 20:
		longest = 30_000
	}
	cmd := h.Command(context.Background(), as, "send", to, "--id", id, "-")
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 1+rand.IntN(longest)))
	return cmd
}

// Moving is the alias that passes from client to client.
const Moving = "moving"

// client is a shell script that acts as a client: its first hook registers it, it takes the alias,
// and its hooks bring mail.
const client = `
event='{"hook_event_name":"PostToolUse","session_id":"'$C2C_MCP_SESSION_ID'"}'
printf %s "$event" | CLAUDE_PID=$$ "$C2C" hook
"$C2C" register moving
while :; do printf %s "$event" | CLAUDE_PID=$$ "$C2C" hook; done
`

// Client starts a client that takes the alias [Moving], and its mail, from the client that had it.
// After lifetime Client kills the client with all processes that it has started. Then the next
// client finds it absent.
func (h Home) Client(sid string, lifetime time.Duration) error {
	cmd := h.program(context.Background(), sid, "/bin/sh", "-c", client)
	cmd.Env = append(cmd.Env, "C2C="+h.either(), "C2C_MCP_CLIENT_TYPE=claude")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(lifetime)
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	for { // reap the processes that the client had started, if this process is their reaper
		if _, err := syscall.Wait4(-cmd.Process.Pid, nil, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	return err
}

// FirstClient starts clients, each with a longer life than the one before, until one of them has
// the alias [Moving].
func (h Home) FirstClient() error {
	for lifetime := 100 * time.Millisecond; lifetime < time.Minute; lifetime *= 2 {
		if err := h.Client(fmt.Sprintf("client-first-%d", lifetime.Milliseconds()), lifetime); err != nil {
			return err
		}
		if out, err := h.Command(context.Background(), "", "list", "--all").Output(); err == nil && bytes.Contains(out, []byte(Moving)) {
			return nil
		}
	}
	return fmt.Errorf("no client has got the alias %s", Moving)
}

// ReadAll reads the waiting mail of some mailboxes, and the mail that the last client of [Moving]
// has left.
func (h Home) ReadAll(names ...string) error {
	const last = "last-owner"
	if err := h.Run(last, "register", Moving); err != nil {
		return err
	}
	for _, name := range append(names, last) {
		if err := h.Run(name, "poll-inbox"); err != nil {
			return err
		}
	}
	return nil
}

// Archived counts each message in all archives, as "sender/id", and the lines that are not records.
func (h Home) Archived() (found map[string]int, unreadable int, err error) {
	found = map[string]int{}
	err = filepath.WalkDir(filepath.Join(h.Root(), "archive"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			var record struct {
				ID   string `json:"message_id"`
				From string `json:"from_alias"`
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			// The kernel may store only the first pages of a write whose process is killed. Readers of an
			// archive skip such a line: its messages are not acknowledged.
			torn := new(json.SyntaxError)
			if err := json.Unmarshal(line, &record); errors.As(err, &torn) && torn.Offset == int64(len(line)) {
				continue
			} else if err != nil || record.ID == "" {
				unreadable++
				continue
			}
			found[record.From+"/"+record.ID]++
		}
		return nil
	})
	if os.IsNotExist(err) {
		err = nil // nothing was ever read
	}
	return found, unreadable, err
}

// Where returns the files that contain an id. It helps to find out what became of a lost message.
func (h Home) Where(id string) (files []string) {
	filepath.WalkDir(h.Root(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "broker.log" {
			if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(`"`+id+`"`)) {
				files = append(files, strings.TrimPrefix(path, h.Root()+"/"))
			}
		}
		return nil
	})
	return files
}
