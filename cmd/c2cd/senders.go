package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/serve/outside"
	"c2c/sessions"
)

func init() { verbs["senders"] = (*call).senders }

// senders runs the verbs that manage senders outside: programs and people that may write over HTTP.
func (c *call) senders(ctx context.Context) error {
	err := c.sendersVerb(ctx)
	if errors.As(err, new(*outside.DamagedSendersError)) {
		err = cli.WithHint(err, repairSenders)
	}
	return err
}

func (c *call) sendersVerb(ctx context.Context) error {
	s := outside.Sender{}
	to, asJSON := c.Text("to"), c.Bool("json")
	bridge, verdicts := c.Bool("bridge"), c.Bool("verdicts")
	github, standard := c.Bool("github"), c.Bool("standard")
	words, err := c.words()
	if err != nil {
		return err
	}
	verb := strings.Join(words[:min(1, len(words))], "")
	most := map[string]int{"list": 1, "allow": 2, "deny": 2}[verb]
	writer := len(words) == 3 && verb != "list" // the words name a person behind a bridge
	if most == 0 || len(words) != most && !writer {
		return fmt.Errorf("%w: one of list, allow NAME --to ALIAS, allow BRIDGE WRITER, deny NAME [WRITER]", errUsage)
	}
	if (verb != "allow" || writer) && (*to != "" || *bridge || *verdicts || *github || *standard) {
		return fmt.Errorf("%w: these options are for c2c senders allow NAME", errUsage)
	}
	if verb == "list" {
		return c.listSenders(*asJSON)
	}
	s.Bridge, s.Verdicts = *bridge, *verdicts
	for _, alias := range strings.Split(*to, ",") {
		if alias = strings.TrimSpace(alias); alias != "" {
			s.To = append(s.To, alias)
		}
	}
	if s.Scheme, err = schemeOf(*github, *standard); err != nil {
		return err
	}
	if err := c.personAnywhere(ctx, "lets others write from outside"); err != nil {
		return err
	}
	d, err := c.openHTTP(true)
	if err != nil {
		return err
	}
	defer d.Close()
	l := outside.OpenSenders(d.Files, time.Now)
	switch {
	case verb == "deny":
		return c.denySender(ctx, l, words[1:], *asJSON)
	case writer:
		return c.admitWriter(ctx, l, words[1], words[2], *asJSON)
	}
	b, err := c.open(c.log) // this makes the root of a project in which no session has run yet
	if err != nil {
		return err
	}
	defer b.Close()
	s.Name, s.Root = words[1], b.Root()
	return c.allowSender(ctx, d, b, l, s, *asJSON)
}

// schemeOf returns the form of a sender's signature; "" if the sender uses a token.
func schemeOf(github, standard bool) (scheme string, err error) {
	switch {
	case github && standard:
		return "", fmt.Errorf("%w: --github or --standard", errUsage)
	case github:
		return outside.GitHub, nil
	case standard:
		return outside.Standard, nil
	}
	return "", nil
}

// allowed is a new sender with its key. c2c senders allow prints the key only once.
type allowed struct {
	Name   string   `json:"name"`
	To     []string `json:"to"`
	Token  string   `json:"token,omitempty"`
	Secret string   `json:"secret,omitempty"`
	URL    string   `json:"url"`
}

func (c *call) allowSender(ctx context.Context, d *httpDaemon, b *broker.Broker, l *outside.SenderList, s outside.Sender, asJSON bool) error {
	if len(s.To) == 0 {
		return fmt.Errorf("%w: --to is missing: the aliases to which the sender may write", errUsage)
	}
	for _, to := range s.To {
		if err := sessions.CheckAlias(to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	all, err := b.Sessions(ctx)
	if err != nil {
		return err
	}
	key, err := l.Allow(ctx, s) // after all checks, because c2c cannot show the key again
	if errors.Is(err, outside.ErrExists) {
		hint := fmt.Sprintf("c2c senders deny %s takes its key away; then allow it anew", s.Name)
		if there, _ := l.ByName(s.Name); there.Root != s.Root { // the name is in use in another project
			hint = "it writes to sessions of another project, see c2c senders list: take another name here"
		}
		return cli.WithHint(err, hint)
	}
	if err != nil {
		return err
	}
	c.tellReads(ctx, s, outside.ClientOf(s))
	for _, to := range s.To {
		if !slices.ContainsFunc(all, func(one sessions.Session) bool { return strings.EqualFold(one.Alias, to) }) {
			fmt.Fprintf(c.stderr, "c2c: no session is called %s now: mail to it is refused until one is\n", to)
		}
	}
	if runs, err := d.Runs(); err == nil && !runs {
		fmt.Fprintln(c.stderr, "c2c: the daemon that listens there does not run yet: c2c serve start")
	}
	a := allowed{Name: s.Name, To: s.To, URL: outside.URL(d.Files, s)}
	if s.Scheme == "" {
		a.Token = key
	} else {
		a.Secret = key
	}
	if asJSON {
		return cli.JSON(c.stdout, a)
	}
	a.print(c, s)
	return nil
}

func (a allowed) print(c *call, s outside.Sender) {
	fmt.Fprintf(c.stdout, "%s may write to %s, as external-%s\n", a.Name, strings.Join(a.To, ", "), a.Name)
	if a.Secret != "" {
		fmt.Fprintf(c.stdout, "secret %s\nurl %s\nEnter both there. The secret is not shown again.\nOnly this machine reaches that url: docs/http.md says what a service elsewhere needs.\n", a.Secret, a.URL)
		return
	}
	header := ""
	if s.Bridge {
		header = "-H 'X-Sender: <name of the writer>' "
	}
	fmt.Fprintf(c.stdout, "token %s\nIt is not shown again. Use it like this, so that no list of processes shows it:\n  echo 'Authorization: Bearer %s' | curl -H @- %s-d 'build failed' %s\n", a.Token, a.Token, header, a.URL)
}

// denySender revokes a sender's key, or a person's right to write through a bridge.
func (c *call) denySender(ctx context.Context, l *outside.SenderList, names []string, asJSON bool) (err error) {
	denied := names[len(names)-1]
	if len(names) == 1 {
		s, _ := l.ByName(names[0])
		if err = l.Deny(ctx, names[0]); err == nil {
			c.tellReads(ctx, s, sessions.ClientDenied)
		}
	} else {
		err = l.Expel(ctx, names[0], names[1])
	}
	if errors.Is(err, outside.ErrUnknown) {
		return cli.WithHint(err, "c2c senders list shows all")
	}
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(c.stdout, map[string]string{"denied": denied})
	}
	fmt.Fprintf(c.stdout, "%s may not write any more\n", denied)
	return nil
}

// tellReads records whether a program reads the answers to a sender outside. With the record, c2c
// can inform sessions that write to this sender. The sender's rights do not depend on this record.
func (c *call) tellReads(ctx context.Context, s outside.Sender, client string) {
	err := func() error {
		b, err := broker.OpenThere(c.getenv, s.Root, c.log)
		if err != nil {
			return err
		}
		defer b.Close()
		all, err := b.Sessions(ctx)
		if slices.ContainsFunc(all, func(one sessions.Session) bool { return one.ID == mail.ExternalPrefix+s.Name }) {
			_, err = b.ExternalSession(ctx, s.Name, client)
		}
		return err
	}()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the project may have been removed
		fmt.Fprintf(c.stderr, "c2c: sessions that write to external-%s do not see this change: %v\n", s.Name, err)
	}
}

// admitWriter lets a person write through a bridge.
func (c *call) admitWriter(ctx context.Context, l *outside.SenderList, bridge, identity string, asJSON bool) error {
	s, err := l.Admit(ctx, bridge, identity)
	if errors.Is(err, outside.ErrUnknown) {
		return cli.WithHint(err, "c2c senders list shows all; c2c senders allow NAME --to ALIAS --bridge makes a bridge")
	}
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(c.stdout, map[string]any{"sender": s.Name, "identity": identity, "to": s.To})
	}
	fmt.Fprintf(c.stdout, "%s may write through %s to %s\n", identity, s.Name, strings.Join(s.To, ", "))
	return nil
}

func (c *call) listSenders(asJSON bool) error {
	d, err := c.openHTTP(false)
	if err != nil {
		return err
	}
	defer d.Close()
	rows, refused := []outside.Listed{}, outside.Refusal{}
	if d.Files != nil {
		l := outside.OpenSenders(d.Files, time.Now)
		if rows, err = l.Listed(); err != nil {
			return err
		}
		refused = l.Refused()
	}
	if asJSON {
		return cli.JSON(c.stdout, rows)
	}
	if refused.Why != "" {
		defer fmt.Fprintf(c.stdout, "last refused: %s, %s (%s): %s\n", refused.At.Local().Format(time.DateTime), cmp.Or(mail.Visible(refused.Sender, ""), "without a name"), mail.Visible(refused.Scheme, ""), mail.Visible(refused.Why, ""))
	}
	if len(rows) == 0 {
		fmt.Fprintln(c.stdout, "(no sender may write from outside)")
		return nil
	}
	here, _ := c.root()
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTO\tKEY\tMAY\tUSED\tPROJECT")
	for _, r := range rows {
		may := "write"
		if r.Verdicts {
			may += ", decide"
		}
		if r.Bridge {
			may += fmt.Sprintf(", bridge for %d", len(r.Identities))
		}
		project := r.Root
		if project == here {
			project = "this one"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, strings.Join(r.To, ","), r.Scheme, may, cmp.Or(r.LastUsed, "-"), project)
	}
	return w.Flush()
}
