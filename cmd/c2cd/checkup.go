// This part finds problems with c2c on this machine, for c2c doctor: in the settings, the root, the
// daemon, the clients and their sessions. It changes nothing.

package main

import (
	"context"
	"slices"
	"time"

	"c2c/broker"
	"c2c/cmd/relay"
	"c2c/install"
	"c2c/internal/format"
	"c2c/sessions/callers"
)

// Checkup checks this machine, as seen from one directory. It has a method for each part.
type Checkup struct {
	Getenv  func(string) string
	Cwd     string
	Program string // the path of the installed c2c
	Install install.Options
}

// RepairSenders is the hint for a list of senders that cannot be read.
const RepairSenders = "repair it (with mode 0600), or move it away and allow each sender anew"

// Run checks everything. The result clients is the part of the report about clients.
func (c Checkup) Run(ctx context.Context) (report, clients []format.Finding, err error) {
	if clients, err = c.checkClients(ctx); err != nil {
		return nil, nil, err
	}
	return slices.Concat(c.checkSettings(), c.checkRoot(ctx), c.checkRoots(), c.checkDaemon(), c.checkServe(ctx), relay.Check(c.Getenv, time.Now()), c.checkPrograms(), install.InspectJournal(c.Install), clients), clients, nil
}

func (c Checkup) root() (string, error) {
	root, _, err := broker.RootFor(callers.Caller{Getenv: c.Getenv}, c.Cwd)
	return root, err
}
