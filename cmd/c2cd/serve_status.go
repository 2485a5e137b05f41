package main

import (
	"context"
	"fmt"
	"time"

	"c2c/doctor"
	"c2c/senders"
)

// checkServe looks at the HTTP daemon. Where nobody has ever started one there is nothing to say.
func (c checkup) checkServe(ctx context.Context) []doctor.Finding {
	f := doctor.Finding{Status: doctor.OK, Part: "HTTP daemon"}
	d, err := c.httpDaemon(false)
	if err != nil {
		return []doctor.Finding{doctor.Failed(f.Part, "", err)}
	}
	defer d.Close()
	if d.Dir == nil {
		return nil
	}
	f.Path = d.Log()
	outside, damage := senders.Open(d.Dir, time.Now).All()
	st, err := d.Look(ctx, d.a.c2c+"d")
	switch {
	case err != nil:
		return []doctor.Finding{doctor.Failed(f.Part, f.Path, err)}
	case st.Stranger:
		f.Status, f.Detail = doctor.Problem, "does not run, and "+st.WarnStranger()
	case st.Token != "" && !st.Private:
		f.Status, f.Path, f.Detail = doctor.Problem, st.Token, "others may read its token: run c2c serve rotate-token"
	case !st.Running && st.Reaped:
		f.Status, f.Detail = doctor.Warning, "was killed, and its port file is removed: c2c serve start"
	case !st.Running && len(outside) > 0:
		f.Status, f.Detail = doctor.Warning, "does not run, so nobody whom c2c senders list shows reaches a session: c2c serve start"
	case !st.Running:
		f.Path, f.Detail = "", "does not run; only clients that c2c reaches over HTTP need it"
	case !st.Answers:
		f.Status, f.Detail = doctor.Problem, fmt.Sprintf("process %d does not answer at %s: c2c serve restart", st.PID, st.URL)
	case st.Other:
		f.Status, f.Detail = doctor.Warning, fmt.Sprintf("process %d is another build of c2c than the one that is installed: c2c serve restart", st.PID)
	default:
		f.Detail = fmt.Sprintf("runs, process %d, %s", st.PID, st.URL)
	}
	if damage != nil {
		return []doctor.Finding{f, {Status: doctor.Problem, Part: "senders", Detail: fmt.Sprintf("%v; nobody outside is let in: %s", damage, mendSenders)}}
	}
	return []doctor.Finding{f}
}
