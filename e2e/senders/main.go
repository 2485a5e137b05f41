// Command senders measures many processes that send to one mailbox at once. It compares c2c's
// combined commits with a plain lock, both on this disk and on a simulated disk whose syncs take
// longer:
//
//	go run ./e2e/senders [-processes 8,32,100] [-each 20] [-sync 5ms]
//
// It prints the number of messages in a second and the time for a message, for
// docs/inside/performance.md. For each variant it builds the sources with a few lines changed (go
// build -overlay), so that c2c itself needs no switch for the variants.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "send" {
		exitOn(send(os.Args[2], os.Args[3]))
		return
	}
	processes := flag.String("processes", "8,32,100", "number of senders at once")
	each := flag.Int("each", 20, "number of messages of each sender")
	sync := flag.Duration("sync", 5*time.Millisecond, "additional time for a sync on the slow disk")
	rounds := flag.Int("rounds", 3, "number of rounds; the median counts")
	flag.Parse()
	exitOn(measure(strings.Split(*processes, ","), *each, *rounds, *sync))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "senders: %v\n", err)
		os.Exit(1)
	}
}

// send waits until its input ends, so that all senders begin at once. It prints how many
// microseconds each message took.
func send(path, each string) error {
	n, err := strconv.Atoi(each)
	if err != nil {
		return err
	}
	root, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	box, err := inbox.Open(root, "amber", inbox.Config{})
	if err != nil {
		return err
	}
	os.Stdin.Read(make([]byte, 1))
	for range n {
		start := time.Now()
		if _, err := box.Deliver(context.Background(), mail.Message{From: "birch", To: "amber", Content: strings.Repeat("x", 200)}); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Microseconds())
	}
	return nil
}

func measure(processes []string, each, rounds int, sync time.Duration) error {
	dir, err := os.MkdirTemp("", "c2c-senders-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| syncs | processes | commits | messages/s | median ms | p99 ms | longest ms |\n|---|--:|---|--:|--:|--:|--:|")
	for _, slow := range []time.Duration{0, sync} {
		var bins []string
		for _, plain := range []bool{true, false} {
			bin, err := build(dir, plain, slow)
			if err != nil {
				return err
			}
			bins = append(bins, bin)
		}
		for _, words := range processes {
			n, err := strconv.Atoi(words)
			if err != nil {
				return err
			}
			for i, bin := range bins {
				var all []figures
				for range rounds {
					f, err := burst(bin, dir, n, each)
					if err != nil {
						return err
					}
					all = append(all, f)
				}
				slices.SortFunc(all, func(a, b figures) int { return int(a.rate - b.rate) })
				f := all[len(all)/2]
				fmt.Printf("| %s | %d | %s | %.0f | %.1f | %.0f | %.0f |\n", []string{"of this disk", "+ " + slow.String()}[min(1, int(slow))],
					n, []string{"plain lock", "combined"}[i], f.rate, f.median, f.p99, f.longest)
			}
		}
	}
	return nil
}

type figures struct{ rate, median, p99, longest float64 }

func burst(bin, dir string, n, each int) (f figures, err error) {
	root := filepath.Join(dir, "root")
	if err := os.RemoveAll(root); err != nil {
		return f, err
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		return f, err
	}
	hold, release, err := os.Pipe()
	if err != nil {
		return f, err
	}
	defer release.Close()
	outs := make([]bytes.Buffer, n)
	var all []*exec.Cmd
	for i := range n {
		cmd := exec.Command(bin, "send", root, strconv.Itoa(each))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = hold, &outs[i], os.Stderr
		if err := cmd.Start(); err != nil {
			return f, err
		}
		all = append(all, cmd)
	}
	hold.Close()
	time.Sleep(time.Duration(n) * 10 * time.Millisecond) // until all have started
	start := time.Now()
	release.Close()
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			return f, err
		}
	}
	took := time.Since(start)
	var ms []float64
	for i := range outs {
		for word := range strings.FieldsSeq(outs[i].String()) {
			us, err := strconv.Atoi(word)
			if err != nil {
				return f, err
			}
			ms = append(ms, float64(us)/1000)
		}
	}
	slices.Sort(ms)
	if len(ms) != n*each {
		return f, fmt.Errorf("%d of %d messages were measured", len(ms), n*each)
	}
	return figures{float64(len(ms)) / took.Seconds(), ms[len(ms)/2], ms[len(ms)*99/100], ms[len(ms)-1]}, nil
}

// change is a text in a source file, and the text that replaces it in a variant.
type change struct{ file, old, new string }

func build(dir string, plain bool, slow time.Duration) (string, error) {
	var changes []change
	if plain {
		changes = append(changes, change{"inbox/deliver.go", "if err == nil && !held {", "if err == nil && !held {\n\terr = lk.Wait(ctx)\n\t}\n\tif false {"})
	}
	if slow > 0 {
		changes = append(changes, change{"internal/atomicfile/write.go", "f.Sync()", fmt.Sprintf("func() error { time.Sleep(%d); return f.Sync() }()", slow)})
		changes = append(changes, change{"internal/atomicfile/dir.go", `"syscall"`, "\"syscall\"\n\t\"time\""})
		changes = append(changes, change{"internal/atomicfile/dir.go", "d.f.Sync()", fmt.Sprintf("func() error { time.Sleep(%d); return d.f.Sync() }()", slow)})
	}
	overlay := map[string]string{}
	for i, c := range changes {
		path, err := filepath.Abs(c.file)
		if err != nil {
			return "", err
		}
		from := path
		if overlay[path] != "" {
			from = overlay[path]
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		text := strings.ReplaceAll(string(data), "\t"+c.old, "\t"+c.new)
		text = strings.ReplaceAll(text, "= "+c.old, "= "+c.new)
		if text == string(data) {
			return "", fmt.Errorf("%s has no %q", c.file, c.old)
		}
		overlay[path] = filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(overlay[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, data, 0o600); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, fmt.Sprintf("senders-%v-%s", plain, slow))
	cmd := exec.Command("go", "build", "-overlay", list, "-o", bin, "./e2e/senders")
	cmd.Stderr = os.Stderr
	return bin, cmd.Run()
}
