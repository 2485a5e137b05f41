// Package checkup finds what is wrong with c2c on this machine, for c2c doctor: in the settings, the root, the daemons, the clients
// and their sessions. It changes nothing.
package checkup

import (
	"context"
	"slices"
	"time"

	"c2c/cmd/relayed"
	"c2c/doctor"
	"c2c/install"
	"c2c/project"
)

// Checkup is a machine as one directory sees it, with a method for each part.
type Checkup struct {
	Getenv  func(string) string
	Cwd     string
	Program string // the c2c that is installed
	Install install.Options
}

// RepairSenders is what to do about a list of senders that cannot be read.
const RepairSenders = "put it right (mode 0600), or move it away and allow each anew"

// Run looks at everything. clients is what of the report is about clients.
func (c Checkup) Run(ctx context.Context) (report, clients []doctor.Finding, err error) {
	if clients, err = c.checkClients(ctx); err != nil {
		return nil, nil, err
	}
	return slices.Concat(c.checkSettings(), c.checkRoot(ctx), c.checkRoots(), c.checkServe(ctx), relayed.Check(c.Getenv, time.Now()), c.checkPrograms(), install.InspectJournal(c.Install), clients), clients, nil
}

func (c Checkup) root() (string, error) {
	root, _, err := project.FindRoot(c.Getenv, c.Cwd)
	return root, err
}
