package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
)

// claiming is one run of claim, release or claims.
type claiming struct {
	*call
	b    *broker.Broker
	s    sessions.Session
	want claims.Wanted
	json bool
}

// agree runs the verbs by which sessions agree who does what, and when: notify, claim, release and claims.
func (c *call) agree(ctx context.Context, verb string) error {
	if verb == "notify" {
		return c.notify(ctx)
	}
	return c.claim(ctx, verb)
}

// claim runs claim, release or claims.
func (c *call) claim(ctx context.Context, verb string) error {
	k := claiming{call: c}
	c.BoolVar(&k.json, "json")
	var from, client, root string
	switch verb {
	case "claims":
		c.TextVar(&client, "hook")
		c.TextVar(&root, "root")
		c.TextVar(&from, "session-id")
	case "claim":
		c.TextVar(&k.want.Why, "why")
		fallthrough
	default:
		c.TextVar(&k.want.Task, "task")
		c.TextVar(&from, "session-id")
	}
	words, err := c.words()
	if err != nil {
		return err
	}
	k.want.Paths, k.want.Dir, k.want.Worktree = words, c.cwd, claims.Worktree(c.cwd)
	if verb == "claim" && len(words) == 0 && k.want.Task == "" {
		return fmt.Errorf("%w: which paths, or --task WORDS?", errUsage)
	}
	if getenv := c.getenv; root != "" {
		c.getenv = func(name string) string {
			if name == "C2C_MCP_BROKER_ROOT" {
				return root
			}
			return getenv(name)
		}
	}
	if client != "" {
		return c.warnOfClaims(ctx, client, from, words)
	}
	if k.b, err = c.openThere(); err != nil {
		return err
	}
	defer k.b.Close()
	if verb == "claims" {
		return k.list(ctx)
	}
	k.s, err = k.b.Attach(ctx, callers.Caller{Explicit: from, Getenv: c.getenv, User: callers.UserHere(c.getenv, c.stdin)})
	if err != nil {
		return err
	}
	do, says := claims.Make, "claimed"
	if verb == "release" {
		do, says = claims.Release, "released"
	}
	all, err := do(ctx, k.b.Registry, k.s, k.want)
	if held := new(claims.HeldError); errors.As(err, &held) {
		hint := fmt.Sprintf("c2c send %s asks for it", held.Claim.Alias)
		if !sessions.IsPersonID(held.Claim.SID) { // the session of a person never ends
			hint += fmt.Sprintf("; it becomes free when %s ends", held.Claim.Alias)
		}
		return cli.WithHint(err, hint)
	}
	if err != nil {
		return err
	}
	return k.print(all, func(one claims.Claim) string { return says + " " + one.Shown() }, "nothing "+says)
}

// print prints claims as JSON, or a line for each claim.
func (k claiming) print(all []claims.Claim, line func(claims.Claim) string, none string) error {
	if k.json {
		return cli.JSON(k.stdout, append([]claims.Claim{}, all...))
	}
	for _, one := range all {
		cli.Printf(k.stdout, "%s\n", line(one))
	}
	if len(all) == 0 {
		cli.Printf(k.stdout, "(%s)\n", none)
	}
	return nil
}

func (k claiming) list(ctx context.Context) error {
	all, err := claims.List(ctx, k.b.Registry)
	if err != nil {
		return err
	}
	for i, name := range k.want.Paths {
		if k.want.Paths[i], err = claims.Resolve(k.want.Dir, name); err != nil {
			return err
		}
	}
	if len(k.want.Paths) > 0 {
		all = claims.On(all, k.want.Paths)
	}
	return k.print(all, func(c claims.Claim) string {
		line := c.Alias + ": " + c.Shown() + claims.Reason(c)
		if c.Worktree != "" {
			line += ", in " + mail.Message{Content: c.Worktree}.FirstWords(200) // one line, even if the directory's name has several
		}
		if c.Free() {
			line += ", free: its session is gone; if the session comes back, it has the claim again until " + c.Gone.Add(claims.Grace).Local().Format(time.TimeOnly)
		}
		return line
	}, "no claims")
}

// maxEvent bounds an event of a hook, in bytes.
const maxEvent = 16 << 20

// mostHolders bounds how many claims on one file a model sees.
const mostHolders = 3

// said returns a sentence that says who has claimed a file. If the argument quotes is false, it leaves out the words that the holder wrote.
func said(h claims.Claim, path string, quotes bool) string {
	since := h.At.Local().Format("15:04")
	if !quotes {
		return fmt.Sprintf("%s has claimed %s since %s; c2c claims says why. ", h.Alias, mail.Message{Content: path}.FirstWords(200), since)
	}
	return fmt.Sprintf("%s has claimed %s%s since %s. ", h.Alias, h.Shown(), claims.Reason(h), since)
}

// These texts tell a model what to do about a file that another session has claimed.
const (
	refuses = "This project refuses edits of files that others have claimed: write to the holder with c2c, or work elsewhere."
	edited  = "You have edited it" + agree
	tried   = "You have edited it, or tried to" + agree
	agree   = ": agree with the holder with c2c before you go on, unless your user wants it now."
)

// warnOfClaims answers a client's event before a tool call. It reads the event from standard input, and reports which sessions have claimed
// the files that the call would change. If sid is set, c2c hook has started this command: then warnOfClaims reads no event, and prints which
// sessions other than sid have claimed the paths. An error here never stops the tool call.
func (c *call) warnOfClaims(ctx context.Context, name, sid string, paths []string) error {
	editor := callers.Caller{Explicit: sid, Getenv: c.getenv}
	if sid == "" {
		data, err := io.ReadAll(io.LimitReader(c.stdin, maxEvent))
		if err != nil {
			return err
		}
		e, err := hooks.ParseEdit(data)
		if err != nil || len(e.Paths) == 0 {
			return err
		}
		editor, paths = callers.Caller{Client: name, ClientID: e.SessionID, Getenv: c.getenv}, e.Paths
		c.owner = editor
	}
	b, err := c.openThere()
	if err != nil || !claims.There(b.Registry) {
		return err
	}
	defer b.Close()
	s, err := callers.Resolve(ctx, b.Registry, editor)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	profile, known := client.Find(name)
	text, refused, err := holders(ctx, b, s, paths, known && !profile.HooksCommand && !profile.MailedWarnings)
	if err != nil || text == "" {
		return err
	}
	if profile.MailedWarnings && !refused {
		return owed.WarnOfClaim(ctx, b.Registry, s, text, tried)
	}
	text = "c2c: " + text
	if sid != "" { // print the warning to show after the edit, and the refusal to show before it
		_, err = fmt.Fprintln(c.stdout, text+edited)
		if refused {
			_, err = fmt.Fprintln(c.stdout, text+refuses)
		}
		return err
	}
	if refused {
		text += refuses
	} else {
		text += "Nothing stops you: agree with the holder with c2c first, unless your user wants it now."
	}
	out, err := json.Marshal(hooks.EditAnswer(text, refused))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n", out)
	return err
}

// holders returns a text that names the other sessions with claims on the files that a session edits. refused is true if the project
// refuses the edit. holders also records edits of files that nobody has claimed.
func holders(ctx context.Context, b *broker.Broker, s sessions.Session, paths []string, quotes bool) (text string, refused bool, err error) {
	for _, path := range paths {
		held, err := claims.Held(ctx, b.Registry, s.ID, path)
		if err != nil {
			return "", false, err
		}
		if len(held) == 0 && s.ID != "" {
			if err := owed.SawEdit(ctx, b.Registry, s, path); err != nil {
				return "", false, err
			}
		}
		for i, h := range held {
			// A work tree may refuse edits of its own files, but not of the files of another work tree.
			refused = refused || h.Worktree == claims.Worktree(filepath.Dir(path)) && claims.Refuses(h.Worktree)
			if i < mostHolders {
				text += said(h, path, quotes)
			}
		}
	}
	return text, refused, nil
}
