package relay

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/internal/format"
	"c2c/project"
	"c2c/relay"
	"c2c/rooms"
	"c2c/sessions/callers"
)

// Program has the input, output and environment of the verbs.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Cwd            string
	C2C            string // path of the c2c in the directory of this program
	Log            *slog.Logger
	// Person returns nil if a person has typed the command. The argument does completes the error
	// "only a person ...".
	Person func(ctx context.Context, does string) error
	Switch func(d daemon.Daemon, verb string) error // starts the relay, stops it, or runs it
}

// mendHosts is the hint for damaged files.
const mendHosts = "no mail goes to other machines, or comes from them, until you repair the file (its mode must be 0600), or move it away and pair each host again"

// call is one run of the verb.
type call struct {
	Program
	*cli.Flags
	r                                *Relay
	in                               *bufio.Reader // reads the typed lines
	as, name, projects, aliases, ssh *string
	members, listen, url, ca         *string
	yes, dry, asJSON                 *bool
}

// Run runs c2c relay. The arguments args are the words and options that follow the word relay.
func Run(ctx context.Context, p Program, args []string) error {
	if done, err := p.inside(ctx, args); done {
		return err
	}
	v, _ := cli.Find(Name)
	own, args := v.Of(args)
	verb := strings.TrimPrefix(own.Name, v.Name)
	c := p.bind(own)
	words, err := c.Parse(args)
	if err != nil {
		return err
	}
	switch verb = strings.TrimSpace(verb); {
	case verb == "":
		return fmt.Errorf("%w: relay needs a verb: %s", cli.ErrUsage, strings.Join(strings.Fields(v.First), ", "))
	case len(words) != len(strings.Fields(own.Args)) && verb != "hub" && verb != "pair" || len(words) > 1 && verb == "pair":
		return fmt.Errorf("%w: %s takes %s", cli.ErrUsage, own.Name, own.Args)
	}
	c.r, err = Open(p.Getenv, verb != "status" && verb != "stop" && verb != "list")
	if err != nil {
		return err
	}
	defer c.r.Close()
	switch verb {
	case "start", "stop", "restart", "run":
		err = p.Switch(c.r.Daemon, verb)
	case "hub": // pairs no machines, so it needs no person
		err = c.hubVerbs(ctx, words)
	default:
		err = c.do(ctx, verb, strings.Join(words, ""))
	}
	switch {
	case errors.As(err, new(*atomicfile.DamagedError)):
		return cli.WithHint(err, mendHosts)
	case errors.Is(err, relay.ErrKeyLost):
		return cli.WithHint(err, "put the file back; or remove each machine with c2c relay remove, here and there, and pair again")
	case errors.Is(err, relay.ErrUnknown):
		return cli.WithHint(err, "c2c relay list shows all hosts")
	}
	return err
}

// bind makes a call of a verb. A variable whose option the verb does not have stays empty.
func (p Program) bind(own cli.Verb) *call {
	f := cli.NewFlags(own)
	text := func(name string) *string {
		if f.Has(name) {
			return f.Text(name)
		}
		return new(string)
	}
	flag := func(name string) *bool {
		if f.Has(name) {
			return f.Bool(name)
		}
		return new(bool)
	}
	return &call{Program: p, Flags: f, in: bufio.NewReader(p.Stdin), as: text("as"), name: text("name"), projects: text("projects"), aliases: text("aliases"),
		members: text("hosts"), listen: text("listen"), url: text("url"), ca: text("ca"), ssh: text("ssh"), yes: flag("yes"), dry: flag("dry-run"), asJSON: flag("json")}
}

// inside runs the verbs that only ssh and c2c call.
func (p Program) inside(ctx context.Context, args []string) (done bool, err error) {
	if len(args) == 0 || args[0] != "--stdio" && args[0] != "exchange" {
		return false, nil
	}
	r, err := Open(p.Getenv, true)
	if err != nil {
		return true, err
	}
	defer r.Close()
	if args[0] == "--stdio" {
		return true, r.Stdio(ctx, os.Stdin, os.Stdout)
	}
	var e Exchange
	if err := json.NewDecoder(io.LimitReader(p.Stdin, 64<<10)).Decode(&e); err != nil {
		return true, fmt.Errorf("read the request of the other host: %w", err)
	}
	a, err := r.Answer(ctx, e, p.c2cd(), machineName(), p.Getenv, time.Now)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(p.Stdout).Encode(a)
}

func (p Program) c2cd() string {
	if self, err := os.Executable(); err == nil {
		return self
	}
	return filepath.Join(filepath.Dir(p.C2C), "c2cd")
}

// machineName returns the name of this machine, as a valid name of a host.
func machineName() string {
	name, _ := os.Hostname()
	return cmp.Or(relay.HostNameOf(name), "host")
}

// personTime bounds the check that a person has typed a command. Other processes may hold the locks
// of the root.
const personTime = 30 * time.Second

func (c *call) checkPerson(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, personTime)
	defer cancel()
	return c.Person(ctx, "decides with which machines c2c exchanges mail")
}

func (c *call) do(ctx context.Context, verb, word string) error {
	switch verb {
	case "list":
		return c.list()
	case "status":
		return c.status()
	}
	if verb == "pair" {
		return c.pair(ctx, word)
	}
	if !*c.dry {
		if err := c.checkPerson(ctx); err != nil {
			return err
		}
	}
	switch verb {
	case "add":
		return c.add(ctx, word)
	case "allow":
		return c.allow(ctx, word)
	case "project":
		return c.nameProject(ctx, word)
	}
	return c.leave(ctx, verb == "remove", word)
}

func (c *call) hosts() *relay.HostList { return c.r.Hosts(time.Now) }

// allowed returns the lists in --projects and --aliases; a list is nil if its option is missing.
func (c *call) allowed() (projects, aliases []string, err error) {
	for _, p := range words(*c.projects) {
		if p == "this" {
			if p, err = c.projectHere(); err != nil {
				return nil, nil, err
			}
		}
		projects = append(projects, p)
	}
	return projects, words(*c.aliases), nil
}

// words splits a text at its commas.
func words(text string) (all []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// projectHere returns the name that other hosts use for this directory's project.
func (c *call) projectHere() (string, error) {
	path, _, err := broker.RootFor(callers.Caller{Getenv: c.Getenv}, c.Cwd)
	if err != nil {
		return "", err
	}
	named, err := c.hosts().Projects()
	if err != nil {
		return "", err
	}
	for _, p := range named {
		if p.Root == path {
			return p.Name, nil
		}
	}
	all, err := project.RootsIn(c.r.State)
	for _, r := range all {
		if r.Path == path && r.Name != "" {
			return r.Name, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", cli.WithHint(errors.New("this project has no name that other machines know"), "run c2c relay project NAME, with the same name on both machines")
}

func (c *call) allow(ctx context.Context, host string) error {
	projects, aliases, err := c.allowed()
	if err != nil {
		return err
	}
	if projects == nil && aliases == nil {
		return fmt.Errorf("%w: give --aliases or --projects, the sessions and projects that the host may write to; - is none, * is all", cli.ErrUsage)
	}
	h, err := c.hosts().Allow(ctx, host, none(projects), none(aliases))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s may write to %s\n", h.Name, reaches(h.Projects, h.Aliases))
	return nil
}

// none turns a single hyphen into an empty list.
func none(all []string) []string {
	if len(all) == 1 && all[0] == "-" {
		return []string{}
	}
	return all
}

// reaches describes, for a person, the sessions to which a host may write.
func reaches(projects, aliases []string) string {
	if len(projects) == 0 || len(aliases) == 0 {
		return "no session"
	}
	who, where := strings.Join(aliases, ", "), "the projects "+strings.Join(projects, ", ")
	if len(projects) == 1 {
		where = "the project " + projects[0]
	}
	if aliases[0] == relay.AnyName {
		who = "all sessions"
	}
	if projects[0] == relay.AnyName {
		where = "all projects"
	}
	return who + " of " + where
}

func (c *call) nameProject(ctx context.Context, name string) error {
	path, _, err := broker.RootFor(callers.Caller{Getenv: c.Getenv}, c.Cwd)
	if err != nil {
		return err
	}
	if err := c.hosts().NameProject(ctx, relay.NamedProject{Name: name, Root: path}); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "this project is %s for other machines; give it the same name there\n", name)
	return nil
}

// leave revokes or removes a host, and removes its key from authorized_keys.
func (c *call) leave(ctx context.Context, remove bool, name string) error {
	list := c.hosts()
	h, err := list.ByName(name)
	if err != nil {
		return err
	}
	does := "revoked"
	if remove {
		does = "removed"
	}
	path := AuthorizedKeys(c.Getenv)
	if *c.dry {
		fmt.Fprintf(c.Stdout, "%s would be %s here, and its line removed from %s\n", name, does, path)
		return nil
	}
	if err := list.Revoke(ctx, name); err != nil { // change the list first: from then on the relay refuses the host
		return err
	}
	was, err := Unauthorize(path, h.Key.ID())
	if err != nil {
		err = fmt.Errorf("%s is revoked, but its ssh key is still in authorized_keys: remove its line there: %w", name, err)
	}
	if ferr := c.forget(ctx, name); ferr != nil {
		err = errors.Join(err, fmt.Errorf("%s is revoked, but some room here still has members or invitations of it; run this command again: %w", name, ferr))
	}
	if err == nil && remove {
		err = list.Remove(ctx, name)
	}
	if err != nil {
		return err
	}
	link := []Link{{LinkStatus: relay.LinkStatus{Peer: name}}}
	if err := c.r.addFacts(c.hosts(), link); err != nil {
		fmt.Fprintf(c.Stderr, "c2c: how many messages wait for %s is not known: %v\n", name, err)
	}
	fmt.Fprintf(c.Stdout, "%s is %s: c2c refuses its mail, and sends it none\n", name, does)
	if n := link[0].Waiting; n > 0 {
		fmt.Fprintf(c.Stdout, "%s for it here, until a machine is paired by this name again\n", format.Count(n, "message waits", "messages wait"))
	}
	if was {
		fmt.Fprintf(c.Stdout, "its line is removed from %s\n", path)
	}
	if h.Dest != "" {
		fmt.Fprintf(c.Stderr, "c2c: hint: on that machine, run c2c relay remove to remove this machine from its list\n")
	}
	return nil
}

// forget ends what the sessions of a host may do in the rooms here. Otherwise the next machine with
// its name could do the same.
func (c *call) forget(ctx context.Context, host string) error {
	roots, err := c.r.rootsOf(c.hosts())
	for _, root := range roots {
		err = errors.Join(err, rooms.ForgetHostIn(ctx, root.Path, host))
	}
	return err
}

// confirm asks the person once. Only a typed yes means yes.
func (c *call) confirm(question string) (bool, error) {
	if *c.yes {
		return true, nil
	}
	fmt.Fprintf(c.Stderr, "%s [y/N] ", question)
	line, err := c.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
