package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/nats"
)

// The files of a hub's owner. The owner has a directory for each hub.
const (
	hubStreams = "streams.json"
	hubOwner   = "owner.json"
)

func hubHost(name string) string { return "host-" + name + ".json" }

// hubVerbs runs c2c relay hub.
func (c *call) hubVerbs(ctx context.Context, words []string) error {
	switch {
	case len(words) == 2 && words[0] == "join":
		return c.joinHub(ctx, c.path(words[1]))
	case len(words) == 2 && words[0] == "streams":
		return c.makeStreams(ctx, c.path(words[1]))
	case len(words) == 3 && words[0] == "remove":
		return c.writeHub(c.path(words[1]), "", words[2])
	case len(words) == 1 && words[0] != "join" && words[0] != "streams" && words[0] != "remove":
		return c.writeHub(c.path("c2c-hub-"+words[0]), words[0], "")
	}
	return fmt.Errorf("%w: hub FLEET --hosts NAME,NAME; hub streams DIRECTORY; hub join FILE; hub remove DIRECTORY HOST", cli.ErrUsage)
}

func (c *call) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Cwd, name)
}

// writeHub writes the files that the servers of a hub need, and a file for each host. If the hub exists, it adds hosts, or removes one. A
// server's configuration belongs to the owner of the hub: once it is there, c2c does not change it.
func (c *call) writeHub(path, fleet, remove string) error {
	open := atomicfile.Create
	if remove != "" {
		open = atomicfile.Open
	} else if err := relay.CheckName(fleet); err != nil {
		return fmt.Errorf("%w: fleet: %w", cli.ErrUsage, err)
	}
	dir, err := open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	hub, seeds, err := c.planHub(dir, fleet, remove)
	if err != nil {
		return err
	}
	files := map[string]string{nats.HostsFile: hub.HostsConfig()}
	var servers, old []string
	for name, text := range hub.ServerConfig(path, seeds[""]) {
		servers = append(servers, name)
		there, err := os.ReadFile(filepath.Join(path, name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && seeds[""] == "":
			return fmt.Errorf("write %s: %s is missing: put it back", name, filepath.Join(path, hubOwner))
		case errors.Is(err, fs.ErrNotExist):
			files[name] = text
		case err != nil:
			return err
		case !strings.Contains(string(there), nats.HostsFile):
			old = append(old, name)
		}
	}
	slices.Sort(servers)
	if *c.dry {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(c.Stdout, "# %s:\n%s\n", filepath.Join(path, name), files[name])
		}
		return nil
	}
	// Write the secrets first: the hub could never accept a host whose secret is lost.
	for name, seed := range seeds {
		text, err := hub.Access(name, seed).Text()
		file := hubOwner
		if name != "" {
			file = hubHost(name)
		}
		if err == nil {
			err = dir.Replace(file, text)
		}
		if err != nil {
			return err
		}
	}
	streams, err := mergeStreams(dir, hub.Streams(), remove)
	if err != nil {
		return err
	}
	for file, what := range map[string]any{hubStreams: streams, hubFile: hub} {
		data, err := json.MarshalIndent(what, "", " ")
		if err == nil {
			err = dir.Replace(file, append(data, '\n'))
		}
		if err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := dir.Replace(name, []byte(text)); err != nil {
			return err
		}
	}
	for _, name := range old {
		fmt.Fprintf(c.Stderr, "c2c: hint: %s does not include %s, so the hub does not learn of its hosts: write include %[2]q in place of users: [...], and check that %[2]s has only the hosts that you want\n", name, nats.HostsFile)
	}
	if err := dir.Remove(hubHost(remove)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.printHub(path, servers, hub)
}

// printHub prints the next steps for the owner of a hub.
func (c *call) printHub(path string, servers []string, hub nats.Hub) error {
	if *c.asJSON {
		return cli.JSON(c.Stdout, map[string]any{"directory": path, "hub": hub})
	}
	fmt.Fprintf(c.Stdout, "%s is written; nothing was started. Start each server with its file and %s, or let it read them again (nats-server --signal reload); then make the streams:\n", path, nats.HostsFile)
	for _, name := range servers {
		fmt.Fprintf(c.Stdout, "  nats-server -c %s\n", filepath.Join(path, name))
	}
	fmt.Fprintf(c.Stdout, "  c2c relay hub streams %s\nGive each host its file, which is secret, and run there:\n", path)
	for _, m := range hub.Hosts {
		fmt.Fprintf(c.Stdout, "  c2c relay hub join %s\n", hubHost(m.Name))
	}
	if host, _, _ := net.SplitHostPort(hub.Listen); !net.ParseIP(host).IsLoopback() && strings.HasPrefix(hub.URL, "nats:") {
		fmt.Fprintf(c.Stderr, "c2c: hint: without TLS, others in the network see which hosts write to each other; %s says where a certificate goes\n", servers[0])
	}
	return nil
}

// planHub returns the hub as it will be, and the known seeds by host; the owner's seed has the key "".
func (c *call) planHub(dir *atomicfile.Dir, fleet, remove string) (hub nats.Hub, seeds map[string]string, err error) {
	seeds = map[string]string{}
	data, err := dir.ReadIf(hubFile)
	switch {
	case err != nil:
		return hub, nil, err
	case data != nil:
		if err := json.Unmarshal(data, &hub); err != nil {
			return hub, nil, fmt.Errorf("read %s: %w", filepath.Join(dir.Path(), hubFile), err)
		}
		if *c.listen != "" {
			return hub, nil, fmt.Errorf("%w: --listen is for a new hub: change listen in the configuration of the server, which is yours", cli.ErrUsage)
		}
	default:
		hub.Fleet = fleet
		if seeds[""], hub.Owner, err = nats.NewSeed(); err != nil {
			return hub, nil, err
		}
	}
	hub.Listen = cmp.Or(*c.listen, hub.Listen, "127.0.0.1:4222")
	hub.URL = cmp.Or(*c.url, hub.URL, "nats://"+hub.Listen)
	there := len(hub.Hosts)
	if hub.Hosts = slices.DeleteFunc(hub.Hosts, func(m nats.Member) bool { return m.Name == remove }); remove != "" && len(hub.Hosts) == there {
		return hub, nil, fmt.Errorf("the hub has no host %q", remove)
	}
	if *c.ca != "" {
		data, err := os.ReadFile(c.path(*c.ca))
		if hub.CA = string(data); err != nil {
			return hub, nil, err
		}
	}
	if a, err := readAccess(dir, hubOwner); err == nil && seeds[""] == "" { // write the owner's file again, because it has the hub's address
		seeds[""] = a.Seed
	}
	for _, m := range hub.Hosts { // do not write a host's file again if the owner has deleted it
		if a, err := readAccess(dir, hubHost(m.Name)); err == nil {
			seeds[m.Name] = a.Seed
		}
	}
	for _, name := range strings.Split(*c.members, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.ContainsFunc(hub.Hosts, func(m nats.Member) bool { return m.Name == name }) {
			continue
		}
		seed, public, err := nats.NewSeed()
		if err != nil {
			return hub, nil, err
		}
		seeds[name] = seed
		hub.Hosts = append(hub.Hosts, nats.Member{Name: name, Key: public})
	}
	if len(hub.Hosts) == 0 {
		return hub, nil, fmt.Errorf("%w: a hub has at least one host: --hosts NAME,NAME", cli.ErrUsage)
	}
	if err := hub.Check(); err != nil {
		return hub, nil, fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	return hub, seeds, nil
}

func readAccess(dir *atomicfile.Dir, name string) (nats.Access, error) {
	data, err := dir.ReadMost(name, nats.MaxAccess)
	if err != nil {
		return nats.Access{}, err
	}
	a, err := nats.ParseAccess(data)
	if err != nil {
		return a, fmt.Errorf("read %s: %w", filepath.Join(dir.Path(), name), err)
	}
	return a, nil
}

// mergeStreams returns the streams in the file, in which the owner may have changed sizes, and the streams of new hosts, without the
// stream of a removed host.
func mergeStreams(dir *atomicfile.Dir, all []nats.Stream, removed string) ([]nats.Stream, error) {
	there, err := readStreams(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	there = slices.DeleteFunc(there, func(t nats.Stream) bool { return t.Config.Name == nats.StreamName(removed) })
	for _, s := range all {
		if !slices.ContainsFunc(there, func(t nats.Stream) bool { return t.Config.Name == s.Config.Name }) {
			there = append(there, s)
		}
	}
	return there, nil
}

func readStreams(dir *atomicfile.Dir) (all []nats.Stream, err error) {
	data, err := dir.ReadMost(hubStreams, 4<<20)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir.Path(), hubStreams), err)
	}
	return all, nil
}

// makeStreams makes the streams at a running hub.
func (c *call) makeStreams(ctx context.Context, path string) error {
	dir, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	owner, err := readAccess(dir, hubOwner)
	if err != nil {
		return err
	}
	all, err := readStreams(dir)
	if err != nil {
		return err
	}
	if !*c.dry {
		if err := nats.MakeStreams(ctx, owner, all); err != nil {
			return err
		}
	}
	names := []string{}
	for _, s := range all {
		names = append(names, s.Config.Name)
	}
	if *c.asJSON {
		return cli.JSON(c.Stdout, map[string]any{"hub": owner.URL, "streams": names})
	}
	fmt.Fprintf(c.Stdout, "%s has the streams %s\n", owner.URL, strings.Join(names, ", "))
	return nil
}

// restart makes the relay read its files again. It also starts a relay that did not run, because nothing else starts the relay when mail
// waits at a hub. It returns ErrStopped if a person has stopped the relay.
func (r *Relay) restart(ctx context.Context, env []string) error {
	if _, err := r.Daemon.Stop(ctx); err != nil {
		return err
	}
	return r.Ensure(ctx, env)
}

// joinHub makes mail for the paired hosts of a fleet go through the fleet's hub.
func (c *call) joinHub(ctx context.Context, path string) error {
	from, err := atomicfile.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer from.Close()
	a, err := readAccess(from, filepath.Base(path))
	if err != nil {
		return err
	}
	if a.Host == "" {
		return fmt.Errorf("%s is the file of the hub's owner: give c2c relay hub join the file of a host", path)
	}
	all, err := c.hosts().All()
	if err != nil {
		return err
	}
	var change []relay.Host
	names := []string{}
	for _, h := range all {
		if slices.Contains(a.Hosts, h.Name) && h.Name != a.Host && h.Revoked == 0 {
			h.Carrier, h.Dest = relay.NATS, ""
			change, names = append(change, h), append(names, h.Name)
		}
	}
	if !*c.asJSON {
		fmt.Fprintf(c.Stdout, "this machine is %s at the hub %s of the fleet %s\nmail goes through it to: %s\n", a.Host, a.URL, a.Fleet, cmp.Or(strings.Join(names, ", "), "no host that is paired yet"))
	}
	if *c.dry {
		return nil
	}
	if ok, err := c.confirm("Do this?"); err != nil || !ok {
		return errors.Join(err, errors.New("nothing was changed"))
	}
	text, err := a.Text()
	if err == nil {
		err = c.r.Dir.Replace(hubFile, text)
	}
	if err != nil {
		return err
	}
	for _, h := range change {
		if _, err := c.hosts().Add(ctx, h); err != nil {
			return err
		}
	}
	if err := c.r.restart(ctx, c.Environ); errors.Is(err, ErrStopped) {
		fmt.Fprintf(c.Stderr, "c2c: hint: %v\n", err)
	} else if err != nil {
		return fmt.Errorf("the hub is recorded, but the relay does not start: %w", err)
	}
	if *c.asJSON {
		return cli.JSON(c.Stdout, map[string]any{"hub": a.URL, "fleet": a.Fleet, "host": a.Host, "hosts": names})
	}
	fmt.Fprintln(c.Stdout, "done; c2c relay status shows the link to each host")
	return nil
}
