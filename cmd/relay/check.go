package relay

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/relay"
)

const part = "relay"

// Check reports, for c2c doctor, problems with the mail to other machines. It reports nothing if no
// machine was ever paired.
func Check(getenv func(string) string, now time.Time) []format.Finding {
	r, err := Open(getenv, false)
	if r == nil {
		return nil // checkSettings reports an invalid state directory
	}
	path := filepath.Join(r.State, relay.HostsDir)
	if err == nil && r.Dir == nil {
		return nil
	}
	if err != nil {
		return []format.Finding{{Status: format.Problem, Part: part, Path: path, Detail: fmt.Sprintf("%v: no mail goes to other machines, or comes from them; move it away, or correct it", err)}}
	}
	defer r.Close()
	all, err := r.Hosts(time.Now).All()
	if err == nil && len(all) == 0 {
		return nil
	}
	if err == nil {
		_, err = relay.ReadKey(r.Dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f := format.Failed(part, path, err)
		if errors.As(err, new(*atomicfile.DamagedError)) {
			f.Detail += ": " + mendHosts
		}
		return []format.Finding{f}
	}
	found := []format.Finding{r.checkRuns(format.Finding{Status: format.OK, Part: part, Path: path}, all)}
	if _, err := r.hub(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		found = append(found, format.Failed(part, filepath.Join(path, hubFile), fmt.Errorf("%w: mail does not go through the hub; c2c relay hub join reads the file of this host again", err)))
	}
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

func (r *Relay) checkRuns(f format.Finding, all []relay.Host) format.Finding {
	pid, err := r.PID()
	s, serr := r.Switches()
	_, noSSH := exec.LookPath("ssh")
	switch {
	case errors.Join(err, serr) != nil:
		return format.Failed(f.Part, f.Path, errors.Join(err, serr))
	case noSSH != nil:
		f.Status, f.Detail = format.Warning, "there is no ssh in the PATH: this machine reaches no other machine"
	case pid != 0 && !isThere(filepath.Join(r.Dir.Path(), socketFile)):
		f.Status, f.Detail = format.Problem, "its socket is gone, so no other machine can connect: c2c relay restart"
	case pid != 0:
		f.Detail = fmt.Sprintf("runs, process %d", pid)
	case s.Stopped(Name):
		f.Status, f.Detail = format.Warning, "was stopped, so mail for other machines waits, and no mail comes from them: c2c relay start"
	case slices.ContainsFunc(all, func(h relay.Host) bool { return h.Revoked == 0 && (h.Dest != "" || kinds[h.Carrier].hub) }): // this machine connects
		f.Status, f.Detail = format.Warning, "does not run, so no mail comes from other machines: c2c relay start; if it does not start, the end of "+r.Log()+" says why"
	default:
		f.Detail = "does not run; it starts with the next session or c2c list, and when a machine connects"
	}
	return f
}
