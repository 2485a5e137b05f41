package relay

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"c2c/internal/format"
	"c2c/relay"
)

const part = "relay"

// Check reports, for c2c doctor, problems with the mail to other machines. It reports nothing if no machine was ever paired.
func Check(getenv func(string) string, now time.Time) []format.Finding {
	r, err := Open(getenv, false)
	if r == nil {
		return nil // checkSettings reports an invalid state directory
	}
	path := filepath.Join(r.State, relay.HostsDir)
	if err == nil && r.Dir == nil {
		if _, lerr := os.Lstat(path); errors.Is(lerr, fs.ErrNotExist) {
			return nil
		}
		err = errors.New("it is a link that leads nowhere")
	}
	if err != nil {
		return []format.Finding{{Status: format.Problem, Part: part, Path: path, Detail: fmt.Sprintf("%v: no mail goes to other machines, or comes from them; move it away, or correct it", err)}}
	}
	defer r.Close()
	found := r.checkFiles()
	damaged := func(err error) []format.Finding {
		if slices.ContainsFunc(found, func(f format.Finding) bool { return f.Status == format.Problem }) {
			return found // found has the reason already
		}
		f := format.Failed(part, path, err)
		if errors.As(err, new(*relay.DamagedHostsError)) {
			f.Detail += ": " + mendHosts
		}
		return append(found, f)
	}
	all, err := r.Hosts(time.Now).All()
	if err != nil {
		return damaged(err)
	}
	if len(all) == 0 {
		return found
	}
	if _, err := relay.ReadKey(r.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return damaged(err)
	}
	if _, err := r.hub(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		found = append(found, format.Failed(part, filepath.Join(path, hubFile), fmt.Errorf("%w: mail does not go through the hub; c2c relay hub join reads the file of this host again", err)))
	}
	found = append(found, r.checkRuns(format.Finding{Status: format.OK, Part: part, Path: path}, all))
	links, err := r.Links()
	if err = cmp.Or(err, r.addFacts(r.Hosts(time.Now), links)); err != nil {
		return append(found, format.Failed(part, path, err))
	}
	for _, l := range links {
		found = append(found, checkLink(l, now))
	}
	return found
}

// checkLink reports how mail gets to one machine.
func checkLink(l Link, now time.Time) format.Finding {
	f := format.Finding{Status: format.OK, Part: "host " + l.Peer, Detail: l.says(now)}
	if !l.Up && (l.Dest != "" || l.Hub != "") { // otherwise the host connects when it is awake
		f.Status, f.Detail = format.Warning, f.Detail+": "+l.Error
	}
	return f
}

// secret has the names of the files that nobody else may read.
var secret = []string{"key", "hosts.json", "invitations.json", hubFile, sshKeyFile}

// checkFiles finds files that have a wrong kind, owner or mode. It opens none of them.
func (r *Relay) checkFiles() (found []format.Finding) {
	dir := r.Dir.Path()
	bad := func(name, what string) {
		found = append(found, format.Finding{Status: format.Problem, Part: part, Path: filepath.Join(dir, name), Detail: what})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []format.Finding{format.Failed(part, dir, err)}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() && !isOurs(e.Name()) {
			continue // the file is gone, or it is not c2c's
		}
		want, what := fs.FileMode(0), "a file"
		if e.Name() == socketFile {
			want, what = fs.ModeSocket, "a socket"
		}
		switch mode := info.Mode(); {
		case mode.Type() != want:
			bad(e.Name(), fmt.Sprintf("it is no %s (%s): move it away", strings.TrimPrefix(what, "a "), mode))
		case uint32(os.Geteuid()) != info.Sys().(*syscall.Stat_t).Uid:
			bad(e.Name(), "it belongs to another user: move it away, or chown it to this user")
		case mode.Perm()&0o077 != 0 && slices.Contains(secret, e.Name()):
			bad(e.Name(), fmt.Sprintf("others may read it, or write to it (mode %04o): chmod 600 it", mode.Perm()))
		}
	}
	return found
}

// isOurs reports whether c2c makes a file of this name.
func isOurs(name string) bool {
	return slices.Contains(secret, name) || strings.HasPrefix(name, "relay.") || strings.HasSuffix(name, ".lock") ||
		slices.Contains([]string{linksFile, stoppedFile, sshKeyFile + ".pub"}, name)
}

func (r *Relay) checkRuns(f format.Finding, all []relay.Host) format.Finding {
	pid, err := r.PID()
	_, stopped := r.Dir.Stat(stoppedFile)
	_, noSSH := exec.LookPath("ssh")
	switch {
	case err != nil:
		return format.Failed(f.Part, f.Path, err)
	case noSSH != nil:
		f.Status, f.Detail = format.Warning, "there is no ssh in the PATH: this machine reaches no other machine"
	case pid != 0 && !isThere(filepath.Join(r.Dir.Path(), socketFile)):
		f.Status, f.Detail = format.Problem, "its socket is gone, so no other machine can connect: c2c relay restart"
	case pid != 0:
		f.Detail = fmt.Sprintf("runs, process %d", pid)
	case stopped == nil:
		f.Status, f.Detail = format.Warning, "was stopped, so mail for other machines waits, and no mail comes from them: c2c relay start"
	case slices.ContainsFunc(all, func(h relay.Host) bool { return h.Revoked == 0 && (h.Dest != "" || h.Carrier == relay.NATS) }): // this machine connects
		f.Status, f.Detail = format.Warning, "does not run, so no mail comes from other machines: c2c relay start; if it does not start, the end of "+r.Log()+" says why"
	default:
		f.Detail = "does not run; it starts with the next session or c2c list, and when a machine connects"
	}
	return f
}
