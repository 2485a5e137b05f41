package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/format"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// rootTime bounds the check of a root, because other processes may hold its locks.
const rootTime = 10 * time.Second

// checkRoot checks the root, its sessions, and what wakes them.
func (c checkup) checkRoot(ctx context.Context) []format.Finding {
	root, source, err := broker.RootFor(callers.Caller{Getenv: c.getenv}, c.cwd)
	if err != nil {
		return []format.Finding{format.Failed("root", "", err)}
	}
	f := format.Finding{Status: format.OK, Part: "root", Path: root, Detail: "private and ours; decided by " + source}
	if p, err := project.Find(c.getenv, c.cwd); err == nil && p.IsOwn() {
		f.Detail += "; this clone was split from the others of its remote (c2c project split --undo)"
	}
	if v := c.getenv(source); v != "" && !filepath.IsAbs(v) {
		return []format.Finding{{Status: format.Problem, Part: "root", Path: root,
			Detail: fmt.Sprintf("%s is %q, so each directory has its own root: set it to an absolute path, or unset it", source, v)}}
	}
	disk := format.CheckDisk(root)
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		f.Detail = "not there yet; the first session makes it; decided by " + source
		return append(disk, f)
	}
	b, err := broker.Open(broker.Config{Root: root, Now: time.Now, Getenv: c.getenv})
	if err != nil {
		return append(disk, format.Failed("root", root, err))
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, rootTime)
	defer cancel()
	return slices.Concat(disk, []format.Finding{f}, checkWake(ctx, b), checkWire(ctx, b), broker.CheckRoot(ctx, b.Registry), checkSurfaces(ctx, b), checkRooms(b))
}

// checkWake finds sessions whose panes are attached although nothing types there.
func checkWake(ctx context.Context, b *broker.Broker) []format.Finding {
	all, err := b.Sessions(ctx)
	var attached []string
	for _, s := range all {
		if s.Pane != "" && s.State == sessions.Alive {
			attached = append(attached, s.Alias)
		}
	}
	if err != nil || len(attached) == 0 || b.Locks.Held(sessions.WakeLock) { // broker.CheckRoot reports the error
		return nil
	}
	return []format.Finding{{Status: format.Warning, Part: "wake daemon", Detail: "does not run, so it does not type for " + strings.Join(attached, ", ") + ": c2c wake start"}}
}

// checkRoots finds other roots that hold mail of this project.
func (c checkup) checkRoots() (found []format.Finding) {
	root, _ := c.root() // checkRoot reports the error
	for _, other := range cli.Former(c.getenv, c.cwd) {
		found = append(found, format.Finding{Status: format.Warning, Part: "second root", Path: other.Path,
			Detail: "this project has mail here and in its root, " + root + ", and sessions of the two do not see each other: " + other.Advice()})
	}
	return found
}

// checkSurfaces reports for each running session how its tools reach c2c, and whether mail wakes
// it.
func checkSurfaces(ctx context.Context, b *broker.Broker) (found []format.Finding) {
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil // checkRoot reports this error
	}
	for _, s := range all {
		support, why := b.Prober().Surface(s)
		switch support {
		case "":
			continue
		case sessions.SurfaceFull:
			why = "it wakes the session: " + why
		}
		over := "tools over " + s.Transport
		if s.Transport == "" {
			over = "it has called no tool of c2c yet"
		}
		found = append(found, format.Finding{Session: s.Alias, Status: format.OK, Part: "mail of " + s.Alias,
			Detail: why + "; " + over})
	}
	return found
}
