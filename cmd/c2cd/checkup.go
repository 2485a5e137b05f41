// This part finds problems with c2c on this machine, for c2c doctor: in the settings, the root, the
// daemon, the clients and their sessions. It changes nothing.

package main

import (
	"context"
	"slices"
	"time"

	"c2c/cmd/relay"
	"c2c/install"
	"c2c/internal/format"
)

// checkup checks this machine, as seen from one directory. It has a method for each part.
type checkup struct {
	*app
	o install.Options
}

// repairSenders is the hint for a list of senders that cannot be read.
const repairSenders = "repair it (with mode 0600), or move it away and allow each sender anew"

// check checks everything. The result clients is the part of the report about clients.
func (c checkup) check(ctx context.Context) (report, clients []format.Finding, err error) {
	if clients, err = c.checkClients(ctx); err != nil {
		return nil, nil, err
	}
	return slices.Concat(c.checkSettings(), c.checkRoot(ctx), c.checkRoots(), c.checkDaemon(), c.checkServe(ctx), relay.Check(c.getenv, time.Now()), c.checkPrograms(), install.InspectJournal(c.o), clients), clients, nil
}
