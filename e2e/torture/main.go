// Command torture lets many processes send and read at once and kills them at random moments. At
// the same time other programs, which only know the format of c2c's mailbox file and its lock,
// write there. Then torture looks for every message that was acknowledged:
//
//	torture -t 60s [-beside <directory of an older c2c>] <directory of c2c>
//
// A killed send may have stored its message once, or not. A killed reader may have shown messages
// that are then offered again.
//
// Some messages are larger than an inbox may be, so the inbox is rotated all the time. The alias
// "moving" passes from one client to the next: two clients take it at once after its last holder
// has ended, and the mail moves with the alias.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"c2c/e2e/scratch"
)

const (
	senders   = 5
	readers   = 3
	mailboxes = 2
	killed    = 15 // percent of the processes
	longest   = 4 * time.Millisecond
	movers    = 2 // clients that want one alias at the same time
	lifetime  = 150 * time.Millisecond
)

// torture is one run of the test.
type torture struct {
	home scratch.Home

	mu    sync.Mutex
	acked map[string]bool // "sender/id" of messages that send has acknowledged
	tried map[string]bool // "sender/id" of messages whose send was killed or refused
	wrong map[string]int  // how often a send reported this error

	kills, reads, clients atomic.Int64
}

func main() {
	length := flag.Duration("t", time.Minute, "how long")
	beside := flag.String("beside", "", "directory of an older c2c, which makes the root; about half of the processes run it")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: torture [-t 60s] [-beside <directory of an older c2c>] <directory of c2c>")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *beside, *length); err != nil {
		fmt.Fprintf(os.Stderr, "torture: %v\n", err)
		os.Exit(1)
	}
}

func run(bin, beside string, length time.Duration) error {
	c2c, err := filepath.Abs(filepath.Join(bin, "c2c"))
	if err != nil {
		return err
	}
	older := ""
	if beside != "" {
		if older, err = filepath.Abs(filepath.Join(beside, "c2c")); err != nil {
			return err
		}
	}
	home, err := os.MkdirTemp("", "c2c-torture-")
	if err != nil {
		return err
	}
	t := &torture{home: scratch.Home{C2C: c2c, Dir: home}, acked: map[string]bool{}, tried: map[string]bool{}, wrong: map[string]int{}}
	first := t.home
	if older != "" {
		first.C2C, t.home.Older = older, older
	}
	for _, name := range t.names() {
		if err := first.Run(name, "register", name); err != nil {
			return err
		}
	}
	if err := t.home.FirstClient(); err != nil {
		return err
	}
	fmt.Printf("torture: %d senders, %d readers and a Python writer on %d mailboxes, %d clients at once for one alias, for %v, %d %% of "+
		"the processes killed, in %s\n", senders, readers*mailboxes, mailboxes, movers, length, killed, home)
	if err := t.work(length); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("%w; the files are kept in %s", err, home)
	}
	return os.RemoveAll(home)
}

func (t *torture) names() (names []string) {
	for i := range mailboxes {
		names = append(names, fmt.Sprintf("box-%d", i))
	}
	for i := range senders {
		names = append(names, fmt.Sprintf("sender-%d", i))
	}
	return names
}

// work runs all processes for the given time.
func (t *torture) work(length time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() { t.send(ctx, i) })
	}
	for i := range readers * mailboxes {
		all.Go(func() { t.read(ctx, i%mailboxes) })
	}
	errs := make([]error, movers+1)
	for i := range movers {
		all.Go(func() { errs[i] = t.move(ctx, i) })
	}
	all.Go(func() { errs[movers] = t.python(ctx) })
	all.Go(func() { t.prune(ctx) })
	all.Go(func() { t.progress(ctx) })
	all.Wait()
	return errors.Join(errs...)
}

func (t *torture) progress(ctx context.Context) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.mu.Lock()
			fmt.Printf("torture: %d acknowledged, %d processes killed\n", len(t.acked), t.kills.Load())
			t.mu.Unlock()
		}
	}
}

// maybeKill runs a command. Sometimes it kills the command at a random moment.
func (t *torture) maybeKill(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if rand.IntN(100) < killed {
		timer := time.AfterFunc(rand.N(longest), func() {
			if cmd.Process.Kill() == nil {
				t.kills.Add(1)
			}
		})
		defer timer.Stop()
	}
	return cmd.Wait()
}

func (t *torture) send(ctx context.Context, who int) {
	as := fmt.Sprintf("sender-%d", who)
	to := append(t.names()[:mailboxes:mailboxes], scratch.Moving)
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("m-%d", n) // the other senders use the same ids
		cmd := t.home.Send(as, to[rand.IntN(len(to))], id)
		var errs strings.Builder
		cmd.Stderr = &errs
		err := t.maybeKill(cmd)
		t.mu.Lock()
		if err == nil {
			t.acked[as+"/"+id] = true
		} else {
			t.tried[as+"/"+id] = true
		}
		if line, _, _ := strings.Cut(errs.String(), "\n"); line != "" {
			t.wrong[line]++
		}
		t.mu.Unlock()
	}
}

// prune removes files of clients that have ended. Nothing is an hour old, so every message must
// stay.
func (t *torture) prune(ctx context.Context) {
	for ctx.Err() == nil {
		t.maybeKill(t.home.Command(context.Background(), "box-0", "prune", "--older", "1h"))
	}
}

func (t *torture) move(ctx context.Context, who int) error {
	for n := 0; ctx.Err() == nil; n++ {
		if err := t.home.Client(fmt.Sprintf("client-%d-%d", who, n), rand.N(lifetime)); err != nil {
			return err
		}
		t.clients.Add(1)
	}
	return nil
}

func (t *torture) read(ctx context.Context, box int) {
	for ctx.Err() == nil {
		t.maybeKill(t.home.Command(context.Background(), fmt.Sprintf("box-%d", box), "poll-inbox", "--wait=50ms"))
		t.reads.Add(1)
	}
}

// writer is a program that works like the OCaml c2c's tools: it reads, appends and replaces under
// lockf. It prints the id of a message when the message is in the mailbox.
const writer = `
import fcntl, json, os, sys
root, n = sys.argv[1], 0
while True:
    box = root + "/box-%d.inbox" % (n % 2)
    with open(box + ".lock", "a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        try:
            mail = json.load(open(box + ".json"))
        except FileNotFoundError:
            mail = []
        id = "py-%d" % n
        mail.append({"from_alias": "python", "to_alias": "box", "content": id, "ts": 1.5 + n, "message_id": id})
        text = json.dumps(mail)
        if len(text) < 60000:
            with open(box + ".json.tmp.py", "w") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            os.replace(box + ".json.tmp.py", box + ".json")
            print(id, flush=True)
            n += 1
`

func (t *torture) python(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "python3", "-c", writer, t.home.Root())
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); ctx.Err() == nil {
		return fmt.Errorf("the Python writer ended: %w: %s", err, errs.String())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range strings.FieldsSeq(out.String()) {
		t.acked["python/"+id] = true
	}
	return nil
}
