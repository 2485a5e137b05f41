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

// Another host may write in a project that this one does not have. Its mail is refused for good, so that its sender hears of that. What was
// refused has numbers, too: they are kept in absent/<project> beside the other files of the relay, and move into the root when there
// is one.

const (
	absentDir  = "absent"
	mostAbsent = 64 // projects that are refused; packets for more are dropped
)

// absent refuses the mail for a project from now on.
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

// present ends the refusal for a project that is here now, if there was one.
func (r *roots) present(here project.Root) error {
	r.end(here.Name)
	if hosts.CheckProjectName(here.Name) != nil {
		return nil
	}
	from := filepath.Join(r.h.Dir.Path(), absentDir, here.Name)
	return errors.Join(moveNumbers(from, here.Path), os.RemoveAll(from))
}

// moveNumbers has a root go on with the numbers of what was refused before. Without them the relay would tell of a backup that was put
// back.
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

// refuser is the local end of a project that is not here.
type refuser struct{}

func (refuser) Deliver(context.Context, string, string, []mail.Message, bool) (relay.Reason, error) {
	return relay.NoProject, nil
}

func (refuser) Refused(context.Context, string, mail.Message, relay.Reason) error { return nil }
