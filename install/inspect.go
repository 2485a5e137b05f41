package install

import (
	"slices"

	"c2c/internal/format"
)

// Inspect reports for each part of c2c whether the part is in place for client and can work. It
// changes nothing. If no part is there, it returns one finding, about PartNone.
func Inspect(client string, o Options) ([]format.Finding, error) {
	s, targets, err := findSetup(client, o)
	if err != nil {
		return nil, err
	}
	j, err := readJournal(o.StateDir)
	if err != nil {
		j = &journal{} // InspectJournal reports the error
	}
	var servers, others []format.Finding
	var server *target   // the file into which install would put the server; if there is none, another file that may have the server
	var missing []target // the files that install would edit, and in which another part of ours is missing
	for _, t := range slices.Backward(targets) {
		p, err := t.find()
		found := p.findings(t, o)
		if err != nil {
			p.there, found = true, []format.Finding{problem(client, t.part(), t.path, err.Error())}
		}
		for _, f := range found {
			if f.Part == partServer {
				servers = append(servers, f)
			} else {
				others = append(others, f)
			}
		}
		if t.part() != partServer && !p.there && !t.other {
			missing = append(missing, t)
		} else if t.part() == partServer && (server == nil || !t.other) {
			server = &t
		}
	}
	installed := servers != nil || others != nil
	plugin := s.inspectPlugin(o, installed)
	if !installed && plugin == nil {
		return []format.Finding{notSetUp(client, j)}, nil
	} else if !installed {
		return plugin, nil
	}
	if servers == nil && server != nil {
		servers = []format.Finding{noServer(*server, j)}
	}
	// A person who has set up the tools by hand over HTTP needs no other part, so the other parts
	// are not missing.
	if others == nil && HTTPByHand(client, o) {
		missing = nil
	}
	for _, t := range missing {
		if slices.ContainsFunc(others, func(f format.Finding) bool { return f.Part == t.part() }) {
			continue // the part is there in another scope
		}
		others = append(others, t.broken(t.part(), "no entry"))
	}
	if s.inspect != nil {
		others = append(others, s.inspect(o)...)
	}
	return slices.Concat(servers, others, plugin), nil
}

// InspectJournal reports undo records that cannot be read. It checks nothing else.
func InspectJournal(o Options) []format.Finding {
	if _, err := readJournal(o.StateDir); err != nil {
		return []format.Finding{format.Failed("undo records", journalPath(o.StateDir), err)}
	}
	return nil
}

// notSetUp returns that client has no part of c2c. This is a problem only if c2c was installed for
// it: not every client must have mail.
func notSetUp(client string, j *journal) format.Finding {
	f := format.Finding{Client: client, Status: format.OK, Part: PartNone, Detail: "not set up: c2c install " + client + " sets it up"}
	if slices.ContainsFunc(j.Files, func(r *record) bool { return r.Client == client }) {
		f.Status, f.Detail = format.Problem, "was set up, but all parts are gone: run c2c install "+client
	}
	return f
}

// noServer returns a problem that client has no MCP server, or a warning if c2c was installed in
// other projects and not in this one.
func noServer(t target, j *journal) format.Finding {
	f := t.broken(partServer, "no entry")
	if j.find(t.path) == nil && slices.ContainsFunc(j.Files, func(r *record) bool { return r.Client == t.client && r.Kind == t.editor.kind() }) {
		f.Status, f.Detail = format.Warning, "there is no entry in this project: c2c install "+t.client+" adds it"
	}
	return f
}
