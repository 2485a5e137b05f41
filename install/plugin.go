package install

import (
	"slices"

	"c2c/internal/format"
)

// A marketplace plugin (install/marketplace) sets a client up as PlanInstall does. It is for people
// who install plugins with the client's own command. If PlanInstall has set the client up too, the
// plugin does nothing: the command of its hooks looks for our hooks in the client's configuration,
// and its server calls HasServer. If only the plugin is on, PlanInstall writes nothing.

// HasServer reports whether the configuration of client has the MCP server that PlanInstall writes.
func HasServer(client string, o Options) bool {
	_, targets, err := findSetup(client, o)
	return err == nil && slices.ContainsFunc(targets, func(t target) bool { return t.part() == partServer && t.held() })
}

// inspectPlugin reports on the marketplace plugin if it is on; otherwise it returns nil. installed
// means that PlanInstall has set the client up, too.
func (s setup) inspectPlugin(o Options, installed bool) []format.Finding {
	if s.plugin == nil || s.plugin(o) == "" {
		return nil
	}
	f := format.Finding{Client: s.name, Status: format.OK, Part: "plugin", Path: s.plugin(o), Detail: pluginName + " is on"}
	if installed {
		f.Status = format.Warning
		f.Detail += ", and does nothing because c2c install has set up the same: c2c uninstall " + s.name + " removes that"
		return []format.Finding{f}
	}
	return append([]format.Finding{f}, s.inspect(o)...)
}
