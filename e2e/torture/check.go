package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lastOwner is the session that gets the mail of the moving alias in the end.
const lastOwner = "last-owner"

// check reads what is left and looks for every message in the archives.
func (t *torture) check() error {
	if out, err := t.command(context.Background(), lastOwner, "register", moving).CombinedOutput(); err != nil {
		return fmt.Errorf("take the alias over: %w: %s", err, out)
	}
	boxes := append(t.names()[:mailboxes:mailboxes], moving)
	for _, name := range boxes {
		as := name
		if name == moving {
			as = lastOwner
		}
		// Two writes end what a killed process had begun: a send, and a poll.
		send := t.command(context.Background(), "sender-0", "send", name, "--id", "last-"+name, "x")
		if out, err := send.CombinedOutput(); err != nil {
			return fmt.Errorf("send: %w: %s", err, out)
		}
		if out, err := t.command(context.Background(), as, "poll-inbox").CombinedOutput(); err != nil {
			return fmt.Errorf("poll-inbox: %w: %s", err, out)
		}
		t.acked["sender-0/last-"+name] = true
	}
	found, unreadable, err := t.archived()
	if err != nil {
		return err
	}
	lost, twice, ghosts := t.compare(found)
	litter, err := t.litter()
	if err != nil {
		return err
	}
	fmt.Printf("torture: %d acknowledged, %d unknown (killed), %d reads, %d clients came and went, %d other processes killed\n"+
		"torture: %d lost, %d twice in the archives, %d unreadable, %d that nobody sent, %d files of litter\n",
		len(t.acked), len(t.tried), t.reads.Load(), t.clients.Load(), t.kills.Load(), len(lost), len(twice), unreadable, len(ghosts), len(litter))
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

// archived counts the messages in all archives, and the lines that are no records.
func (t *torture) archived() (found map[string]int, unreadable int, err error) {
	found = map[string]int{}
	err = filepath.WalkDir(filepath.Join(t.root, "archive"), func(path string, d os.DirEntry, err error) error {
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
				continue // the end of a torn line
			}
			if err := json.Unmarshal(line, &record); err != nil || record.ID == "" {
				unreadable++
				continue
			}
			found[record.From+"/"+record.ID]++
		}
		return nil
	})
	return found, unreadable, err
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
		if !t.acked[id] && !t.tried[id] && !strings.HasPrefix(id, "python/") {
			ghosts = append(ghosts, id)
		}
	}
	return lost, twice, ghosts
}

// litter lists what should not be there when nobody is at work and all is read. Nobody writes for the clients that are
// gone any more: what is left of them is found as lost, or is none of anybody's.
func (t *torture) litter() (left []string, err error) {
	err = filepath.WalkDir(t.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.Contains(path, "client-") {
			return nil
		}
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
