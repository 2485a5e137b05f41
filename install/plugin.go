package install

import (
	"slices"

	"c2c/doctor"
)

// A marketplace plugin (install/marketplace) does the same in a client as PlanInstall, for people who install plugins with
// the client's own command. If both are there, the plugin does nothing: the command of its hooks looks for our hooks in the
// client's configuration, and its server asks HasServer. If the plugin is on and PlanInstall has written nothing yet,
// PlanInstall writes nothing.

// HasServer reports whether the configuration of client has the MCP server that PlanInstall writes.
func HasServer(client string, o Options) bool {
	_, targets, err := findSetup(client, o)
	return err == nil && slices.ContainsFunc(targets, func(t target) bool { return t.part() == partServer && t.held() })
}

// inspectPlugin reports on a plugin that is on; otherwise it returns nil. installed means that PlanInstall has also
// written something for the client.
func (s setup) inspectPlugin(o Options, installed bool) []doctor.Finding {
	if s.plugin == nil || s.plugin(o) == "" {
		return nil
	}
	f := doctor.Finding{Client: s.name, Status: doctor.OK, Part: "plugin", Path: s.plugin(o), Detail: pluginName + " is on"}
	if installed {
		f.Status = doctor.Warning
		f.Detail += ", and steps back for what c2c install has written: c2c uninstall " + s.name + " takes that out"
		return []doctor.Finding{f}
	}
	return append([]doctor.Finding{f}, s.inspect(o)...)
}
