package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Authorized returns the path of the machine's authorized_keys.
func (m *Machine) Authorized() string { return filepath.Join(m.Home, ".ssh", "authorized_keys") }

// Reach lets one machine log in to another with `ssh <name>`. It starts sshd on the other machine
// if none runs there. Neither ssh nor sshd reads files of the person who runs the tests.
func (n *Net) Reach(from, to *Machine) {
	n.t.Helper()
	if slices.Contains(from.reaches, to) {
		return
	}
	from.reaches = append(from.reaches, to)
	key := filepath.Join(from.Home, ".ssh", "id")
	if _, err := os.Stat(key); err != nil {
		n.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	}
	n.append(to.Authorized(), n.read(key+".pub"))
	if !to.sshd {
		n.startSSHD(to)
		to.sshd = true
	}
	n.Point(from, to)
}

// Point writes the address of another machine into the configuration of ssh. After a home was
// copied, call it for the copy.
func (n *Net) Point(from, to *Machine) {
	n.t.Helper()
	from.Through("/usr/bin/ssh")
	n.append(filepath.Join(from.Home, ".ssh", "known"), fmt.Sprintf("[%s]:2222 %s", to.Addr, n.read(to.Home+"/.ssh/host.pub")))
	n.append(filepath.Join(from.Home, ".ssh", "conf"), fmt.Sprintf("Host %s\n HostName %s\n Port 2222\n User root\n UserKnownHostsFile %s\n IdentityFile %s\n"+
		" ServerAliveInterval 1\n", to.Name, to.Addr, filepath.Join(from.Home, ".ssh", "known"), filepath.Join(from.Home, ".ssh", "id")))
}

// Through makes the machine's ssh run command instead, a shell command that ends with the path of
// ssh.
func (m *Machine) Through(command string) {
	m.t.Helper()
	text := fmt.Sprintf("#!/bin/sh\nexec %s -F %s/.ssh/conf \"$@\"\n", command, m.Home)
	if err := os.WriteFile(filepath.Join(m.Home, "bin", "ssh"), []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

func (n *Net) append(file, text string) {
	n.t.Helper()
	before, _ := os.ReadFile(file)
	if err := os.WriteFile(file, append(before, text...), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *Net) read(file string) string {
	n.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(data)
}

func (n *Net) startSSHD(m *Machine) {
	n.t.Helper()
	host, config := filepath.Join(m.Home, ".ssh", "host"), filepath.Join(m.Home, ".ssh", "sshd_config")
	n.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host)
	n.append(config, fmt.Sprintf("Port 2222\nListenAddress %s\nHostKey %s\nPidFile none\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"+
		"MaxStartups 100\nSetEnv HOME=%s PATH=%s\n", m.Addr, host, m.Authorized(), m.Home, m.Path()))
	m.serveSSH()
}

func (m *Machine) serveSSH() {
	m.t.Helper()
	Serve(m.t, "Server listening on", inside(m.Space, sshd, "-D", "-e", "-f", filepath.Join(m.Home, ".ssh", "sshd_config"))...)
}
