package machines

import (
	"strconv"
	"strings"

	"c2c/e2e/lab"
)

// Crash kills every process of the machine.
func (m *Machine) Crash() {
	m.t.Helper()
	for {
		pids := strings.Fields(m.net.run("ip", "netns", "pids", m.Space))
		if len(pids) == 0 {
			return
		}
		for _, text := range pids {
			pid, err := strconv.Atoi(text)
			if err == nil {
				err = lab.Stop(pid)
			}
			if err != nil {
				m.t.Fatalf("kill process %s of %s: %v", text, m.Name, err)
			}
		}
	}
}

// Boot starts the machine's programs again after a crash: its sshd, and the relay, which the next
// command of c2c would start.
func (m *Machine) Boot() {
	m.t.Helper()
	if m.sshd {
		m.serveSSH()
	}
	m.C2C("daemon", "want")
}

// Sessions registers more sessions on the machine.
func (m *Machine) Sessions(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.run(m.Cmd([]string{"C2C_MCP_SESSION_ID=" + name}, "c2c", "register", name))
	}
}
