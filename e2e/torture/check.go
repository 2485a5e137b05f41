package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// check reads the remaining mail and looks for every message in the archives.
func (t *torture) check() error {
	boxes := t.names()[:mailboxes:mailboxes]
	// A send and a poll complete the work that a killed process had begun.
	for _, name := range boxes {
		if err := t.home.Run("sender-0", "send", name, "--id", "last-"+name, "x"); err != nil {
			return err
		}
		t.acked["sender-0/last-"+name] = true
	}
	if err := t.home.ReadAll(boxes...); err != nil {
		return err
	}
	found, unreadable, err := t.home.Archived()
	if err != nil {
		return err
	}
	lost, twice, ghosts := t.compare(found)
	litter, err := t.litter()
	if err != nil {
		return err
	}
	fmt.Printf("torture: %d acknowledged, %d unknown (killed), %d reads, %d clients came and went, %d other processes killed\n"+
		"torture: %d lost, %d twice in the archives, %d unreadable, %d that nobody sent, %d leftover files\n",
		len(t.acked), len(t.tried), t.reads.Load(), t.clients.Load(), t.kills.Load(), len(lost), len(twice), unreadable, len(ghosts), len(litter))
	for line, n := range t.wrong {
		fmt.Printf("torture: %d sends reported: %s\n", n, line)
	}
	for _, id := range lost[:min(10, len(lost))] {
		_, name, _ := strings.Cut(id, "/")
		fmt.Printf("torture: lost %s, it stands in %q\n", id, t.home.Where(name))
	}
	for what, list := range map[string][]string{"twice": twice, "not sent": ghosts, "litter": litter} {
		if len(list) > 0 {
			fmt.Printf("torture: %s: %q\n", what, list[:min(10, len(list))])
		}
	}
	if len(lost)+len(twice)+unreadable+len(ghosts)+len(litter) > 0 {
		return fmt.Errorf("a promise is broken")
	}
	return nil
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

// litter returns files that should not exist when no process works and all mail is read. It ignores
// files of clients that have ended, because check already finds the messages that these clients may
// have lost.
func (t *torture) litter() (left []string, err error) {
	err = filepath.WalkDir(t.home.Root(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.Contains(path, "client-") {
			return nil
		}
		inLease := strings.HasSuffix(filepath.Dir(path), ".lease")
		if !d.IsDir() && (inLease || strings.Contains(name, ".tmp.c2c") || strings.Contains(name, ".corrupt-")) {
			left = append(left, strings.TrimPrefix(path, t.home.Root()+"/"))
		}
		return nil
	})
	return left, err
}
