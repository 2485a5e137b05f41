package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// check drains what is left and looks for every message in the archives.
func (t *torture) check() error {
	found := map[string]int{}
	unreadable := 0
	for i := range mailboxes {
		name := fmt.Sprintf("box-%d", i)
		// Two writes end what a killed process had begun: a send, and a poll.
		for _, args := range [][]string{{"send", name, "--id", "last-" + name, "x"}, {"poll-inbox"}} {
			as := name
			if args[0] == "send" {
				as = "sender"
			}
			if out, err := t.command(context.Background(), as, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", args[0], err, out)
			}
		}
		bad, err := t.archived(name, found)
		if err != nil {
			return err
		}
		unreadable += bad
	}
	lost, twice, ghosts := t.compare(found)
	litter, err := t.litter()
	if err != nil {
		return err
	}
	fmt.Printf("torture: %d acknowledged, %d unknown (killed), %d reads, %d processes killed\n"+
		"torture: %d lost, %d twice in the archive, %d unreadable, %d that nobody sent, %d files of litter\n",
		len(t.acked), len(t.tried), t.reads.Load(), t.kills.Load(), len(lost), len(twice), unreadable, len(ghosts), len(litter))
	for what, list := range map[string][]string{"lost": lost, "twice": twice, "not sent": ghosts, "litter": litter} {
		if len(list) > 0 {
			fmt.Printf("torture: %s: %q\n", what, list[:min(10, len(list))])
		}
	}
	if len(lost)+len(twice)+unreadable+len(ghosts)+len(litter) > 0 {
		return fmt.Errorf("a promise is broken")
	}
	return nil
}

// archived counts the ids of one archive, and the lines that are no records.
func (t *torture) archived(name string, found map[string]int) (unreadable int, err error) {
	f, err := os.Open(filepath.Join(t.root, "archive", name+".jsonl"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var record struct {
			ID string `json:"message_id"`
		}
		if len(lines.Bytes()) == 0 {
			continue // the end of a torn line
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil || record.ID == "" {
			unreadable++
			continue
		}
		found[record.ID]++
	}
	return unreadable, lines.Err()
}

func (t *torture) compare(found map[string]int) (lost, twice, ghosts []string) {
	for id := range t.acked {
		if found[id] == 0 {
			lost = append(lost, id)
		}
	}
	for id, n := range found {
		if n > 1 {
			twice = append(twice, id)
		}
		if !t.acked[id] && !t.tried[id] && !strings.HasPrefix(id, "last-") && !strings.HasPrefix(id, "py-") {
			ghosts = append(ghosts, id)
		}
	}
	return lost, twice, ghosts
}

// litter lists what should not be there when nobody is at work and all is read.
func (t *torture) litter() (left []string, err error) {
	err = filepath.WalkDir(t.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		inLease := strings.HasSuffix(filepath.Dir(path), ".lease")
		if !d.IsDir() && (inLease || strings.Contains(name, ".tmp.c2c") || strings.Contains(name, ".corrupt-") || strings.HasSuffix(name, ".spill.jsonl") && size(path) > 0) {
			left = append(left, strings.TrimPrefix(path, t.root+"/"))
		}
		return nil
	})
	return left, err
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
