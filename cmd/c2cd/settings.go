package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/internal/format"
	"c2c/rooms"
)

// settings has the variables that c2c obeys, each with a text about its default. Some clients add
// more variables.
var settings = [][2]string{
	{"C2C_MCP_BROKER_ROOT", "the repository decides"},
	{"C2C_MCP_SESSION_ID", "the client says which session calls"},
	{"C2C_MCP_AUTO_REGISTER_ALIAS", "a new session gets an alias made up"},
	{owed.HopsVariable + ", " + rooms.WakesVariable + ", " + "C2C_PERMISSION_TTL",
		"agents answer each other at most 50 times in a row without any work in between; posts in a room wake at most 50 agents while no person posts there; a permission request waits 10 minutes for a verdict"},
	{"C2C_MCP_CLIENT_TYPE", "the MCP client says what it is"},
	{"C2C_MCP_CHANNEL_DELIVERY", "no channel: the client is woken in another way"},
	{"XDG_STATE_HOME", "~/.c2c for mail, ~/.local/state/c2c for undo records"},
}

func (c checkup) checkSettings() []format.Finding {
	all := slices.Clone(settings)
	var unset, dirs []string // the clients' variables that are not set, and their defaults; the report has one line for all
	for _, p := range client.All() {
		for _, s := range [][2]string{{p.ConfigEnv, filepath.Join("~", p.ConfigDir)}, {p.ConfigParentEnv, filepath.Join("~", filepath.Dir(p.ConfigDir))}} {
			switch {
			case s[0] == "":
			case c.getenv(s[0]) == "":
				unset, dirs = append(unset, s[0]), append(dirs, s[1])
			default:
				all = append(all, s)
			}
		}
	}
	if len(unset) > 0 {
		all = append(all, [2]string{strings.Join(unset, ", "), strings.Join(dirs, ", ")})
	}
	report := []format.Finding{{Status: format.OK, Part: "version", Detail: broker.Version}}
	for _, s := range all {
		var unset []string // those variables of s that are not set; they share a line
		for _, name := range strings.Split(s[0], ", ") {
			switch v := c.getenv(name); {
			case v == "":
				unset = append(unset, name)
			case (name == owed.HopsVariable || name == rooms.WakesVariable) && owed.LimitOf(c.getenv, name) == 0:
				report = append(report, format.Finding{Status: format.Warning, Part: name,
					Detail: fmt.Sprintf("%q from the environment is not a number, so c2c ignores it: set it to a number, or unset it", v)})
			default:
				report = append(report, format.Finding{Status: format.OK, Part: name, Detail: fmt.Sprintf("%q from the environment", v)})
			}
		}
		if len(unset) > 0 {
			report = append(report, format.Finding{Status: format.OK, Part: strings.Join(unset, ", "), Detail: "not set: " + s[1]})
		}
	}
	return report
}
