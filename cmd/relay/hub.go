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
	"c2c/internal/daemon"
	"c2c/internal/format"
	"c2c/relay"
	"c2c/relay/nats"
)

// hubOwner is the file with the Access of a hub's owner, who has a directory for each hub.
const hubOwner = "owner.json"

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

// writeHub writes the files that the servers of a hub need, and a file for each host. If the hub
// exists, it adds hosts, or removes one. A server's configuration belongs to the owner of the hub:
// once it is there, c2c does not change it.
func (c *call) writeHub(path, fleet, remove string) error {
	hub, seeds, err := c.planHub(path, fleet, remove)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(hub, "", " ")
	if err != nil {
		return err
	}
	files := map[string][]byte{hubFile: append(data, '\n'), nats.HostsFile: []byte(hub.HostsConfig())}
	configs := hub.ServerConfig(path, seeds[""])
	for name, text := range configs {
		if _, err := os.Lstat(filepath.Join(path, name)); errors.Is(err, fs.ErrNotExist) {
			files[name] = []byte(text)
		} else if err != nil {
			return err
		}
	}
	dir, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer dir.Close()
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
	for name, text := range files {
		if err := dir.Replace(name, text); err != nil {
			return err
		}
	}
	if err := atomicfile.UnlessAbsent(dir.Remove(hubHost(remove))); err != nil {
		return err
	}
	c.printHub(path, slices.Sorted(maps.Keys(configs)), hub)
	return nil
}

// printHub prints the next steps for the owner of a hub.
func (c *call) printHub(path string, servers []string, hub nats.Hub) {
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
}

// planHub returns the hub as it will be, and the known seeds by host; the owner's seed has the key
// "".
func (c *call) planHub(path, fleet, remove string) (hub nats.Hub, seeds map[string]string, err error) {
	seeds = map[string]string{}
	hub, err = readHub(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && remove == "":
		hub.Fleet = fleet
		if seeds[""], hub.Owner, err = nats.NewSeed(); err != nil {
			return hub, nil, err
		}
	case err != nil:
		return hub, nil, err
	case *c.listen != "":
		return hub, nil, fmt.Errorf("%w: --listen is for a new hub: change listen in the configuration of the server, which is yours", cli.ErrUsage)
	default: // write the files of the owner and the hosts again, because they have the hub's address
		owner, err := readAccess(filepath.Join(path, hubOwner))
		if err != nil {
			return hub, nil, err
		}
		seeds[""] = owner.Seed
		for _, m := range hub.Hosts {
			if a, err := readAccess(filepath.Join(path, hubHost(m.Name))); err == nil && m.Name != remove { // the owner may have deleted it
				seeds[m.Name] = a.Seed
			}
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
	for _, name := range words(*c.members) {
		if slices.ContainsFunc(hub.Hosts, func(m nats.Member) bool { return m.Name == name }) {
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

func readHub(path string) (hub nats.Hub, err error) {
	path = filepath.Join(path, hubFile)
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &hub)
	}
	if err != nil {
		return hub, fmt.Errorf("read %s: %w", path, err)
	}
	return hub, nil
}

func readAccess(path string) (nats.Access, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nats.Access{}, err
	}
	a, err := nats.ParseAccess(data)
	if err != nil {
		return a, fmt.Errorf("read %s: %w", path, err)
	}
	return a, nil
}

// makeStreams makes the streams at a running hub.
func (c *call) makeStreams(ctx context.Context, path string) error {
	owner, err := readAccess(filepath.Join(path, hubOwner))
	if err != nil {
		return err
	}
	hub, err := readHub(path)
	if err != nil {
		return err
	}
	if err := nats.MakeStreams(ctx, owner, hub.Streams()); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s has the streams of its %s\n", owner.URL, format.Count(len(hub.Hosts), "host", "hosts"))
	return nil
}

// joinHub makes mail for the paired hosts of a fleet go through the fleet's hub.
func (c *call) joinHub(ctx context.Context, path string) error {
	a, err := readAccess(path)
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
	fmt.Fprintf(c.Stdout, "this machine is %s at the hub %s of the fleet %s\nmail goes through it to: %s\n", a.Host, a.URL, a.Fleet, cmp.Or(strings.Join(names, ", "), "no host that is paired yet"))
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
		if err := c.hosts().Add(ctx, h); err != nil {
			return err
		}
	}
	// The relay reads its files again. It also starts if it did not run, because nothing else starts
	// it when mail waits at a hub.
	if err := c.r.Start(ctx, daemon.Begin{Anew: true, Unasked: true}); errors.Is(err, ErrStopped) {
		fmt.Fprintf(c.Stderr, "c2c: hint: %v\n", err)
	} else if err != nil {
		return fmt.Errorf("the hub is recorded, but the relay does not start: %w", err)
	}
	fmt.Fprintln(c.Stdout, "done; c2c relay status shows the link to each host")
	return nil
}
