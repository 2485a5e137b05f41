package inbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/need"
	"c2c/inbox/mail"
)

// The test binary is also the crowd's processes: C2C_TEST_CROWD holds
// "send <root> <name> <count>", "drain <root> <name>" or "die <root> <point>".
func TestMain(m *testing.M) {
	if job := strings.Fields(os.Getenv("C2C_TEST_CROWD")); len(job) > 0 {
		if err := crowd(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func crowd(job []string) error {
	m, err := openAt(job[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch job[0] {
	case "drain":
		return drainUntilEOF(ctx, m, job[2])
	case "die":
		return claimAndDie(m, job[2])
	}
	count, err := strconv.Atoi(job[3])
	for i := 0; i < count && err == nil; i++ {
		_, err = m.Deliver(ctx, mail.Message{From: job[2], To: "amber", Content: strconv.Itoa(i)})
	}
	return err
}

// drainUntilEOF prints what it gets and ends once its input has ended and a
// drain after that found nothing.
func drainUntilEOF(ctx context.Context, m *Mailbox, name string) error {
	ended := make(chan struct{})
	go func() { bufio.NewReader(os.Stdin).ReadByte(); close(ended) }()
	for last := false; ; {
		msgs, err := drain(ctx, m, name)
		if err != nil {
			return err
		}
		for _, msg := range msgs {
			fmt.Println(msg.From, msg.Content)
		}
		if last && len(msgs) == 0 {
			return nil
		}
		select {
		case <-ended:
			last = true
		default:
		}
	}
}

func child(t *testing.T, job ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "C2C_TEST_CROWD="+strings.Join(job, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// A writer as the OCaml c2c's Python tools are: lockf, read, append, rename.
const pythonWriter = `
import fcntl, json, os, sys
root, count = sys.argv[1], int(sys.argv[2])
path = root + "/amber.inbox.json"
for i in range(count):
    with open(root + "/amber.inbox.lock", "a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        try:
            box = json.load(open(path))
        except FileNotFoundError:
            box = []
        box.append({"from_alias": "python", "to_alias": "amber", "content": str(i), "ts": float(i), "message_id": "py-%d" % i})
        with open(path + ".tmp", "w") as out:
            json.dump(box, out)
        os.replace(path + ".tmp", path)
`

func TestCrowdLosesAndDoublesNothing(t *testing.T) {
	need.Tools(t, "python3")
	const senders, each = 12, 200
	m, root := newBox(t)
	var outs [2]bytes.Buffer
	var drains [2]*exec.Cmd
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for i := range drains {
		drains[i] = child(t, "drain", root, "drainer")
		drains[i].Stdin, drains[i].Stdout = hold, &outs[i]
		start(t, drains[i])
	}
	hold.Close()
	writers := []*exec.Cmd{exec.Command("python3", "-c", pythonWriter, root, strconv.Itoa(each))}
	for i := range senders {
		writers = append(writers, child(t, "send", root, fmt.Sprintf("s%d", i), strconv.Itoa(each)))
	}
	for _, w := range writers {
		start(t, w)
	}
	for _, w := range writers {
		if err := w.Wait(); err != nil {
			t.Errorf("%v: %v", w.Args, err)
		}
	}
	release.Close()
	got := map[string]int{}
	for i, d := range drains {
		if err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		last := map[string]int{}
		for line := range strings.Lines(outs[i].String()) {
			from, n, _ := strings.Cut(strings.TrimSpace(line), " ")
			k, _ := strconv.Atoi(n)
			if prev, ok := last[from]; ok && k <= prev {
				t.Errorf("drainer %d got %s %d after %d", i, from, k, prev)
			}
			last[from] = k
			got[from+" "+n]++
		}
	}
	checkCrowd(t, m, root, got, (senders+1)*each)
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
}

func checkCrowd(t *testing.T, m *Mailbox, root string, got map[string]int, want int) {
	t.Helper()
	if len(got) != want {
		t.Errorf("%d messages were handed over, want %d", len(got), want)
	}
	for key, n := range got {
		if n != 1 {
			t.Errorf("%s was handed over %d times", key, n)
		}
	}
	ids := map[string]bool{}
	file, err := os.ReadFile(filepath.Join(root, "archive", "amber.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var a ArchiveRecord
		if err := json.Unmarshal(line, &a); err != nil || ids[a.ID] {
			t.Errorf("archive line %q: %v, twice: %v", line, err, ids[a.ID])
		}
		ids[a.ID] = true
	}
	if len(ids) != want {
		t.Errorf("the archive has %d messages, want %d", len(ids), want)
	}
	if waiting, err := m.Waiting(); waiting || err != nil {
		t.Errorf("something still waits: %v, %v", waiting, err)
	}
}
