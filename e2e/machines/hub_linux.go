package machines

import (
	"os"
	"path/filepath"
	"strings"
)

// Hub is a machine that runs a nats-server as `c2c relay hub` sets it up.
type Hub struct {
	*Machine
	Dir string // has its configuration, its store, and the files for its hosts

	program string
	server  *Server
}

// Hub makes a hub for machines with these names, and starts it.
func (n *Net) Hub(hosts ...string) *Hub {
	n.t.Helper()
	home := filepath.Join(n.dir, "hub")
	h := &Hub{Machine: n.Bare("hub", home, filepath.Join(home, "fleet")), program: NATSServer(n.t)}
	h.Dir = filepath.Join(h.Project, "c2c-hub-team")
	h.Person("relay", "hub", "team", "--hosts", strings.Join(hosts, ","), "--listen", h.Addr+":4222")
	h.Start()
	h.Person("relay", "hub", "streams", h.Dir)
	return h
}

// Start starts the nats-server and returns when hosts can connect to it.
func (h *Hub) Start() {
	h.t.Helper()
	h.server = Serve(h.t, "Server is ready", inside(h.Space, h.program, "-c", filepath.Join(h.Dir, "nats-server.conf"))...)
}

// Kill kills the nats-server.
func (h *Hub) Kill() { h.server.Kill() }

// Pid returns the process id of the nats-server.
func (h *Hub) Pid() int { return h.server.Pid() }

// Wipe kills the nats-server, removes all that it has stored, and starts it again.
func (h *Hub) Wipe() {
	h.t.Helper()
	h.Kill()
	if err := os.RemoveAll(filepath.Join(h.Dir, "jetstream")); err != nil {
		h.t.Fatal(err)
	}
	h.Start()
	h.Person("relay", "hub", "streams", h.Dir)
}

// Join makes a machine send its mail for paired hosts through the hub. name is the machine's name
// at the hub.
func (h *Hub) Join(m *Machine, name string) {
	h.t.Helper()
	m.Person("relay", "hub", "join", filepath.Join(h.Dir, "host-"+name+".json"))
}
