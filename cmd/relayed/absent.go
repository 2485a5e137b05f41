package relayed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/relay"
	"c2c/relay/hosts"
)

// Another host may send mail for a project that this one does not have. The relay refuses that mail for good, so that the sender
// gets a notice. Refused mail has numbers, too: the relay keeps them in absent/<project> beside its other files, and moves them
// into the root when the project gets one.

const (
	absentDir  = "absent"
	mostAbsent = 64 // refused projects; packets for more are dropped
)

// absent makes the relay refuse the mail for a project from now on.
func (r *roots) absent(name string) error {
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.at(name) != nil {
		return nil
	}
	if err := hosts.CheckProjectName(name); err != nil {
		return err
	}
	all, err := r.h.Dir.Sub(absentDir, true)
	if err != nil {
		return err
	}
	defer all.Close()
	dir, err := all.Sub(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		names, nerr := all.Names()
		if nerr != nil || len(names) >= mostAbsent {
			return errors.Join(nerr, fmt.Errorf("mail for project %q: more than %d projects are not here", name, mostAbsent))
		}
		dir, err = all.Sub(name, true)
	}
	if err != nil {
		return err
	}
	r.h.Log.Warn("other hosts write in a project that is not here", "project", name)
	return r.begin(&root{name: name, path: dir.Path(), close: dir.Close, absent: true}, dir, refuser{})
}

// present ends the refusal for a project that this host has now.
func (r *roots) present(here project.Root) error {
	r.end(here.Name)
	if hosts.CheckProjectName(here.Name) != nil {
		return nil
	}
	from := filepath.Join(r.h.Dir.Path(), absentDir, here.Name)
	if err := moveNumbers(from, here.Path); err != nil {
		return fmt.Errorf("go on with the numbers of mail that was refused: %w", err)
	}
	return os.RemoveAll(from)
}

// moveNumbers makes a root go on with the numbers of mail that was refused before. Without them the relay would suspect a restored
// backup.
func moveNumbers(from, to string) error {
	old, err := atomicfile.Open(filepath.Join(from, relay.Directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer old.Close()
	dir, err := atomicfile.Create(filepath.Join(to, relay.Directory))
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := old.Names()
	for _, name := range names {
		if _, serr := dir.Stat(name); !strings.HasSuffix(name, ".hw.json") || !errors.Is(serr, fs.ErrNotExist) {
			continue
		}
		data, rerr := old.Read(name)
		if rerr == nil {
			rerr = dir.Replace(name, data)
		}
		err = errors.Join(err, rerr)
	}
	return err
}

// refuser is the local end of a project that this host does not have.
type refuser struct{}

func (refuser) Deliver(context.Context, string, string, []mail.Message, bool) (relay.Reason, error) {
	return relay.NoProject, nil
}

func (refuser) Refused(context.Context, string, mail.Message, relay.Reason) error { return nil }
