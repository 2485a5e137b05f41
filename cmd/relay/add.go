package relay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/relay"
)

// remoteExchange is the command that runs c2c on the other host. It extends the PATH: in a shell
// that ssh starts, the PATH may lack the directories of a person's programs.
const remoteExchange = `sh -c 'PATH="$PATH:$HOME/.local/bin:$HOME/bin:$HOME/go/bin:/usr/local/bin:/opt/homebrew/bin"; export PATH; exec c2c relay exchange'`

const (
	exchangeTime = 5 * time.Minute  // how long ssh may ask for a password, and the other host may take to answer
	linkWait     = 10 * time.Second // how long add waits for the first link
)

// add pairs this machine with a machine that ssh reaches. It connects there twice, with the
// person's own ssh keys: to query the machine, and to exchange the hosts' keys.
func (c *call) add(ctx context.Context, dest string) error {
	if err := relay.CheckDest(dest); err != nil {
		return fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	projects, aliases, err := c.allowed()
	if err != nil {
		return err
	}
	if projects == nil {
		projects = anyName
	}
	if aliases == nil {
		aliases = anyName
	}
	key, err := relay.LoadKey(ctx, c.r.Dir)
	if err != nil {
		return err
	}
	public := key.Public()
	e := Exchange{Name: cmp.Or(*c.name, machineName()), Key: &public}
	if err := mail.CheckHost(e.Name); err != nil {
		return fmt.Errorf("%w: --name: %w", cli.ErrUsage, err)
	}
	if e.SSHKey, err = c.r.SSHKey(ctx); err != nil {
		return err
	}
	there, err := c.exchange(ctx, dest, e)
	if err != nil {
		return err
	}
	h := relay.Host{Name: cmp.Or(*c.as, there.Name), Carrier: relay.SSH, Dest: dest, Projects: none(projects), Aliases: none(aliases), Key: *there.Key}
	if known, err := c.hosts().ByID(there.Key.ID()); err == nil && *c.as == "" {
		h.Name = known.Name
	} else if err != nil && there.Known == "" && h.Name == e.Name {
		return sameName(e.Name, "c2c relay add "+dest)
	}
	if err := mail.CheckHost(h.Name); err != nil {
		return cli.WithHint(err, "give the host another name here: c2c relay add --as NAME")
	}
	c.showPlan(h, e, there)
	if *c.dry {
		return nil
	}
	if ok, err := c.confirm("Do this?"); err != nil || !ok {
		return errors.Join(err, errors.New("nothing was changed"))
	}
	e.Apply = true
	if there, err = c.exchange(ctx, dest, e); err != nil {
		return err
	}
	if there.Key.ID() != h.Key.ID() {
		return fmt.Errorf("the key of %s changed between two connections: find out why, then pair again", dest)
	}
	return c.paired(ctx, h)
}

// sameName is the error for two machines with the same name. Nobody could tell which of them
// birch@vm means.
func sameName(name, again string) error {
	return cli.WithHint(fmt.Errorf("both machines are called %s", name), "give them different names: "+again+" --as devbox --name laptop")
}

// paired adds a host to the list here, and starts the relay.
func (c *call) paired(ctx context.Context, h relay.Host) error {
	links, _ := c.r.Links()
	if err := c.hosts().Add(ctx, h); err != nil {
		return err
	}
	anew := slices.ContainsFunc(links, func(l Link) bool { return l.Peer == h.Name && !l.Up }) // it may not try ssh again for minutes
	if err := c.r.Start(ctx, daemon.Begin{Anew: anew}); err != nil {
		return fmt.Errorf("%s is in the list; start the relay: %w", h.Name, err)
	}
	st, err := c.firstLink(ctx, h), error(nil)
	if h.Dest != "" && !st.Up {
		err = cli.WithHint(fmt.Errorf("%s and this machine know each other now, but there is no link: %s", h.Name, cmp.Or(st.Error, "ssh has not answered yet")),
			"c2c tries again and again; c2c relay status shows when there is a link")
	}
	if *c.asJSON {
		return cmp.Or(cli.JSON(c.Stdout, struct {
			shown
			Link `json:"link"`
		}{shownHost(h), st}), err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "paired with %s: c2c send NAME@%[1]s 'text'\n", h.Name)
	if st.Up {
		fmt.Fprintln(c.Stdout, "the link is up")
	}
	return nil
}

// firstLink waits until there is a link to a host, or an error; at most linkWait.
func (c *call) firstLink(ctx context.Context, h relay.Host) (st Link) {
	late := time.After(linkWait)
	for h.Dest != "" && !st.Up && st.Error == "" {
		all, _ := c.r.Links()
		for _, one := range all {
			if one.Peer == h.Name {
				st = one
			}
		}
		select {
		case <-ctx.Done():
			return st
		case <-late:
			return st
		case <-time.After(50 * time.Millisecond):
		}
	}
	return st
}

// showPlan prints what add will change.
func (c *call) showPlan(h relay.Host, e Exchange, there Exchanged) {
	out := c.Stdout
	if *c.asJSON {
		out = c.Stderr
	}
	fmt.Fprintf(out, "this machine: %s, key %s\n%s: key %s\n\n", e.Name, e.Key.Fingerprint(), h.Name, there.Key.Fingerprint())
	fmt.Fprintf(out, "on %s, into ~/.ssh/authorized_keys:\n  %s\n", h.Name, there.Line)
	fmt.Fprintf(out, "on %s: %s may write to %s\n", h.Name, cmp.Or(there.Known, e.Name), reaches(anyName, anyName))
	fmt.Fprintf(out, "here: %s may write to %s\n", h.Name, reaches(h.Projects, h.Aliases))
}

// exchange runs c2c on the other host, with the person's own ssh keys.
func (c *call) exchange(ctx context.Context, dest string, e Exchange) (a Exchanged, err error) {
	asked, err := json.Marshal(e)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, exchangeTime, fmt.Errorf("no answer within %s", exchangeTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, "ssh", "-T", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3", "--", dest, remoteExchange)
	cmd.WaitDelay = time.Second // a connection that ssh keeps for later commands may keep the output open
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), &said, c.Stderr // ssh asks for passwords at the terminal
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		exit := (*exec.ExitError)(nil)
		if errors.As(err, &exit) && exit.ExitCode() == 127 {
			return a, cli.WithHint(fmt.Errorf("c2c is not in the PATH on %s", dest), "install c2c there, in a directory of the PATH")
		}
		if exit != nil && exit.ExitCode() == 255 { // ssh itself failed, and has printed why
			return a, cli.WithHint(fmt.Errorf("ssh %s failed, see above", dest), fmt.Sprintf("pair again when 'ssh %s true' works; c2c relay pair needs no ssh", dest))
		}
		return a, fmt.Errorf("pair through ssh %s: %w", dest, err)
	}
	text := said.String()
	if i := strings.LastIndex(strings.TrimSpace(text), "\n"); i >= 0 { // the shell may have printed something first
		text = text[i+1:]
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Key == nil || mail.CheckHost(a.Name) != nil || checkLine(a.Line) != nil {
		return a, cli.WithHint(fmt.Errorf("pair through ssh %s: the answer is not from c2c of this version: %.200q", dest, text), "install the same version of c2c on both machines")
	}
	return a, nil
}

// checkLine returns an error if a line has characters that could control a terminal.
func checkLine(line string) error {
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || len(line) > 4096 {
		return errors.New("not a line for authorized_keys: it is too long, or has characters other than printable ASCII")
	}
	return nil
}

// pair makes an invitation, accepts an invitation, or accepts the answer to one.
func (c *call) pair(ctx context.Context, text string) error {
	key, err := relay.LoadKey(ctx, c.r.Dir)
	if err != nil {
		return err
	}
	if text == "-" {
		if text, err = c.readPasted(); err != nil {
			return err
		}
	}
	if c.isToken(text) {
		*c.yes = true
	} else if text == "" || !*c.dry {
		if err := c.checkPerson(ctx); err != nil {
			return err
		}
	}
	switch {
	case text == "":
		return c.invite(ctx, key)
	case relay.IsAnswer(text):
		return c.takeAnswer(ctx, key, text)
	}
	return c.takeInvitation(ctx, key, text)
}

// isToken reports whether a text pairs without a person: as an answer to an invitation that a
// person has made with --yes, and as an invitation with --yes on a machine that is new, so that no
// agent can have been here.
func (c *call) isToken(text string) bool {
	if a, err := relay.ParseInvitationAnswer(text); err == nil {
		return c.hosts().Unattended(a)
	}
	all, err := c.hosts().All()
	roots, rerr := project.RootsIn(c.r.State)
	return *c.yes && text != "" && err == nil && rerr == nil && len(all) == 0 && len(roots) == 0
}

// readPasted reads lines until they form an invitation or an answer, or the input ends.
func (c *call) readPasted() (text string, err error) {
	for len(text) <= relay.MaxPasted {
		line, err := c.in.ReadString('\n')
		text += line
		_, ierr := relay.ParseInvitation(text)
		_, aerr := relay.ParseInvitationAnswer(text)
		if ierr == nil || aerr == nil || errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

func (c *call) invite(ctx context.Context, key *relay.Key) error {
	projects, aliases, err := c.allowed()
	if err != nil {
		return err
	}
	h := relay.Host{Name: *c.as, Carrier: relay.NATS, Projects: none(projects), Aliases: none(aliases)}
	if *c.ssh != "" {
		h.Carrier = relay.SSH
	}
	i, err := c.hosts().Invite(ctx, key, cmp.Or(*c.name, machineName()), *c.ssh, h, *c.yes)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "key of this machine: %s\nWithin an hour, run on the other machine: c2c relay pair INVITATION, with the line below. Then run here: c2c relay pair ANSWER, with the line it prints.\n", i.Key.Fingerprint())
	if *c.yes {
		fmt.Fprintln(c.Stderr, "c2c: hint: the line is a secret: whoever has it can pair a machine with this one, and nobody is asked")
	}
	fmt.Fprintln(c.Stdout, i)
	if h.Projects == nil || h.Aliases == nil {
		fmt.Fprintln(c.Stderr, "c2c: hint: the other machine may write to no session here; allow some with --aliases and --projects, now or later with c2c relay allow")
	}
	return nil
}

func (c *call) takeInvitation(ctx context.Context, key *relay.Key, text string) error {
	i, err := relay.ParseInvitation(text)
	if err != nil {
		return fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	projects, aliases, err := c.allowed()
	if err != nil {
		return err
	}
	h := relay.Host{Name: cmp.Or(*c.as, i.Name), Carrier: i.Carrier, Projects: none(projects), Aliases: none(aliases), Key: i.Key}
	name, sshKey := cmp.Or(*c.name, machineName()), ""
	if h.Name == name {
		return sameName(name, "c2c relay pair -")
	}
	if i.Carrier == relay.SSH {
		h.Dest = i.Address
		if sshKey, err = c.r.SSHKey(ctx); err != nil {
			return err
		}
	}
	answer, err := i.Answer(key, name, sshKey)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "%s has the key %s; here it may write to %s\n", h.Name, h.Key.Fingerprint(), reaches(h.Projects, h.Aliases))
	if *c.dry {
		return nil
	}
	if ok, err := c.confirm("Does its person see the same key?"); err != nil || !ok {
		return errors.Join(err, errors.New("nothing was changed"))
	}
	if err := c.hosts().Add(ctx, h); err != nil {
		return err
	}
	if err := c.r.Start(ctx, daemon.Begin{}); err != nil { // the relay tries to connect until the inviter has accepted the answer
		return fmt.Errorf("start the relay: %w", err)
	}
	fmt.Fprintf(c.Stderr, "key of this machine: %s\nOn %s, run: c2c relay pair ANSWER, with the line below:\n", answer.Key.Fingerprint(), h.Name)
	fmt.Fprintln(c.Stdout, answer)
	return nil
}

func (c *call) takeAnswer(ctx context.Context, key *relay.Key, text string) error {
	a, err := relay.ParseInvitationAnswer(text)
	if err != nil {
		return fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	line := ""
	fmt.Fprintf(c.Stderr, "%s has the key %s\n", a.Name, a.Key.Fingerprint())
	if a.SSHKey != "" {
		if line, err = AuthorizedLine(c.c2cd(), a.SSHKey, a.Key); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "into %s:\n  %s\n", AuthorizedKeys(c.Getenv), line)
	}
	if *c.dry {
		return nil
	}
	if ok, err := c.confirm("Does its person see the same key?"); err != nil || !ok {
		return errors.Join(err, errors.New("nothing was changed; the answer can still be used"))
	}
	h, err := c.hosts().Redeem(ctx, key, a)
	if err != nil {
		return err
	}
	if line != "" {
		if err := Authorize(AuthorizedKeys(c.Getenv), line, a.Key); err != nil {
			return err
		}
	}
	return c.paired(ctx, h)
}
