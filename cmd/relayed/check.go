package relayed

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"c2c/doctor"
	"c2c/format"
	"c2c/relay/hosts"
)

// Check reports, for c2c doctor, problems of the mail to other machines. Without a paired machine it reports nothing.
func Check(getenv func(string) string, now time.Time) []doctor.Finding {
	const part = "relay"
	r, err := Open(getenv, false)
	if err != nil || r.Dir == nil {
		return nil // checkSettings reports an invalid state directory
	}
	defer r.Close()
	path := r.Dir.Path()
	damaged := func(err error) []doctor.Finding {
		f := doctor.Failed(part, path, err)
		if errors.As(err, new(*hosts.DamagedError)) {
			f.Detail += ": " + mendHosts
		}
		return []doctor.Finding{f}
	}
	all, err := r.Hosts(time.Now).All()
	if err != nil {
		return damaged(err)
	}
	if len(all) == 0 {
		return nil
	}
	if _, err := hosts.ReadKey(r.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return damaged(err)
	}
	found := []doctor.Finding{r.checkRuns(doctor.Finding{Status: doctor.OK, Part: part, Path: path})}
	links, err := r.Links()
	if err != nil {
		return append(found, doctor.Failed(part, path, err))
	}
	for _, l := range links {
		f := doctor.Finding{Status: doctor.OK, Part: "host " + l.Peer, Detail: "linked"}
		switch {
		case l.Up:
		case l.Hub != "":
			f.Status, f.Detail = doctor.Warning, fmt.Sprintf("the hub %s takes no mail for it: %s", l.Hub, l.Error)
		case l.Dest == "": // the host connects when it is awake
			f.Detail = "it is not here now; its mail waits"
		default:
			f.Status, f.Detail = doctor.Warning, fmt.Sprintf("no link through ssh %s: %s", l.Dest, l.Error)
			if !l.Since.IsZero() {
				f.Detail = fmt.Sprintf("no link through ssh %s for %s: %s", l.Dest, format.Age(now.Sub(l.Since)), l.Error)
			}
		}
		found = append(found, f)
	}
	return found
}

func (r *Relay) checkRuns(f doctor.Finding) doctor.Finding {
	pid, err := r.PID()
	_, stopped := r.Dir.Stat(stoppedFile)
	_, noSSH := exec.LookPath("ssh")
	switch {
	case err != nil:
		return doctor.Failed(f.Part, f.Path, err)
	case noSSH != nil:
		f.Status, f.Detail = doctor.Warning, "there is no ssh in the PATH: no other machine is reached from here"
	case pid != 0:
		f.Detail = fmt.Sprintf("runs, process %d", pid)
	case stopped == nil:
		f.Status, f.Detail = doctor.Warning, "was stopped, so mail for other machines waits, and none comes: c2c relay start"
	default:
		f.Detail = "does not run; it starts when mail goes to another machine, or one comes"
	}
	return f
}
