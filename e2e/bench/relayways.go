package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"time"

	"c2c/relay"
	"c2c/relay/nats"
	"c2c/relay/ssh"
)

const sshd = "/usr/sbin/sshd"

// sshMissing returns why no sshd can be started on this machine, "" if one can.
func sshMissing() string {
	for _, tool := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "there is no " + tool
		}
	}
	if _, err := os.Stat("/run/sshd"); err != nil && os.Geteuid() == 0 {
		return "sshd needs the directory /run/sshd"
	}
	return ""
}

// joinBySSH connects two machines by an sshd on loopback. laptop runs ssh. The sshd runs this
// program again, which connects ssh to the carrier of devbox (see stdio).
func joinBySSH(w *world, laptop, devbox *machine) (end func() error, err error) {
	dir, err := os.MkdirTemp(w.home, "ssh")
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	public := map[string]string{}
	for _, file := range []string{"id", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(file)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
		data, err := os.ReadFile(at(file) + ".pub")
		if err != nil {
			return nil, err
		}
		public[file] = string(data)
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"authorized": fmt.Sprintf("restrict,command=%q %s", self+" "+stdioWord+" "+at("socket"), public["id"]),
		"sshd_config": fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nPidFile none\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n",
			port, at("host"), at("authorized")),
		"known": fmt.Sprintf("[127.0.0.1]:%s %s", port, public["host"]),
		"ssh_config": fmt.Sprintf("Host devbox\n HostName 127.0.0.1\n Port %s\n User %s\n UserKnownHostsFile %s\n",
			port, me.Username, at("known")),
		"ssh": fmt.Sprintf("#!/bin/sh\nexec ssh -F %s \"$@\"\n", at("ssh_config")),
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(at("id"), 0o600); err != nil {
		return nil, err
	}
	server := exec.Command(sshd, "-D", "-E", at("log"), "-f", at("sshd_config"))
	if err := server.Start(); err != nil {
		return nil, err
	}
	end = func() error { server.Process.Kill(); server.Wait(); return nil }
	l, err := net.Listen("unix", at("socket"))
	if err == nil {
		err = listens(addr)
	}
	if err != nil {
		end()
		return nil, err
	}
	devbox.carrier = ssh.New(ssh.Config{Peers: relay.Peers{Key: devbox.key, List: devbox.list}, Dials: func() []ssh.Dial { return nil }, Listener: l, Now: time.Now})
	laptop.carrier = ssh.New(ssh.Config{Peers: relay.Peers{Key: laptop.key, List: laptop.list}, Program: at("ssh"), Identity: at("id"), Now: time.Now,
		Dials: func() []ssh.Dial { return []ssh.Dial{{Peer: "devbox", Dest: "devbox"}} }})
	return end, nil
}

// stdioWord is the argument with which sshd runs this program, so that it calls stdio.
const stdioWord = "--stdio"

// stdio copies standard input to a socket, and the socket to standard output.
func stdio(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	return ssh.Stdio(conn, os.Stdin, os.Stdout)
}

// natsServer returns the path of the program that scripts/e2e-install.sh has built, "" if there is
// none.
func natsServer() string {
	places := filepath.SplitList(os.Getenv("C2C_E2E_TOOLS"))
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "c2c-e2e", "nats-server@*"))
		places = append(places, found...)
	}
	for _, dir := range places {
		path := filepath.Join(dir, "nats-server")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func natsMissing() string {
	if natsServer() == "" {
		return "there is no nats-server; scripts/e2e-install.sh builds it"
	}
	return ""
}

// joinByNATS connects two machines by a nats-server on loopback, with the configuration that c2c
// relay hub writes.
func joinByNATS(w *world, laptop, devbox *machine) (end func() error, err error) {
	all := []*machine{laptop, devbox}
	dir, err := os.MkdirTemp(w.home, "hub")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	hub, seeds := nats.Hub{Fleet: "bench", Listen: addr, URL: "nats://" + addr}, map[string]string{}
	owner, public, err := nats.NewSeed()
	if err != nil {
		return nil, err
	}
	hub.Owner = public
	for _, m := range all {
		seed, public, err := nats.NewSeed()
		if err != nil {
			return nil, err
		}
		seeds[m.name], hub.Hosts = seed, append(hub.Hosts, nats.Member{Name: m.name, Key: public})
	}
	config := filepath.Join(dir, "nats-server.conf")
	err = os.WriteFile(config, []byte(hub.ServerConfig(dir, owner)["nats-server.conf"]), 0o600)
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, nats.HostsFile), []byte(hub.HostsConfig()), 0o600)); err != nil {
		return nil, err
	}
	server := exec.Command(natsServer(), "-c", config, "-l", filepath.Join(dir, "log"))
	if err := server.Start(); err != nil {
		return nil, err
	}
	end = func() error { server.Process.Kill(); server.Wait(); return nil }
	if err = listens(addr); err == nil {
		for late := time.Now().Add(relayTimeout); ; time.Sleep(20 * time.Millisecond) { // it may answer before its store is ready
			if err = nats.MakeStreams(context.Background(), hub.Access("", owner), hub.Streams()); err == nil || time.Now().After(late) {
				break
			}
		}
	}
	if err != nil {
		end()
		return nil, err
	}
	for i, m := range all {
		other := all[1-i].name
		m.carrier = nats.New(nats.Config{Access: hub.Access(m.name, seeds[m.name]), Peers: func() []string { return []string{other} }, Now: time.Now})
	}
	return end, nil
}
