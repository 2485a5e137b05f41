package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/cmd/cli"
	"c2c/internal/format"
	"c2c/project"
	"c2c/relay/cache"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// mergeRoots moves the other roots of a project into the project's present root.
func mergeRoots(c *call, f *cli.Flags) action {
	dry := f.Bool("dry-run")
	return func(ctx context.Context) error { return c.merge(ctx, *dry) }
}

func (c *call) merge(ctx context.Context, dry bool) error {
	root, others, err := project.Roots(c.getenv, c.cwd)
	if err != nil {
		return err
	}
	if c.getenv("C2C_MCP_BROKER_ROOT") != "" {
		return errors.New("C2C_MCP_BROKER_ROOT names the root: run this command without that variable")
	}
	if !dry { // nothing takes them apart again
		if err := cli.CheckPerson(c.caller(""), "merges roots"); err != nil {
			return err
		}
	}
	known := others
	if len(c.words) > 0 {
		others = c.words
	}
	taken := []moves.TakenRoot{}
	for _, other := range others {
		other = c.rootOf(other)
		if merr := c.mayMerge(other, dry || slices.Contains(known, other)); merr != nil {
			err = errors.Join(err, merr)
			continue
		}
		t, terr := c.takeRoot(ctx, root, other, dry)
		if err = errors.Join(err, terr); terr == nil || c.json {
			taken = append(taken, t)
		}
	}
	if c.json {
		return errors.Join(err, cli.JSON(c.stdout, taken))
	}
	for _, t := range taken {
		c.printTaken(t, dry)
	}
	if len(others) == 0 {
		c.printf("this project has one root: %s\n", root)
	}
	if errors.Is(err, moves.ErrRuns) {
		return cli.WithHint(err, "end them, and run this again")
	}
	return err
}

const seeRoots = "c2c doctor shows the other roots of a project"

// rootOf returns the path of the root that a word names.
func (c *call) rootOf(word string) string {
	if filepath.Base(word) != "broker" { // the word names the directory above the root
		word = filepath.Join(word, "broker")
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(c.cwd, word)
	}
	return word
}

// mayMerge returns an error if another project has the root other. A merge cannot be undone, so for
// a root that is not known to be one of this project, it asks the person.
func (c *call) mayMerge(other string, known bool) error {
	if project.StateOf(other) == "" { // opening it would make a root there
		return cli.WithHint(fmt.Errorf("%s is not a root that c2c has made: its path does not end in %s/<fingerprint>/broker", other, project.ReposDir), seeRoots)
	}
	if strangers := project.Strangers(c.getenv, c.cwd, other); len(strangers) > 0 {
		return fmt.Errorf("%s is the root of another project, %s: nothing is merged", other, strangers[0])
	}
	if known {
		return nil
	}
	if _, err := os.Stat(other); err != nil {
		return nil // takeRoot reports this error
	}
	was := "a project that c2c does not know"
	if folders := project.FoldersOf(other); len(folders) > 0 {
		was = folders[0].String()
	}
	if !callers.UserHere(c.getenv, c.stdin).IsTyping() {
		return fmt.Errorf("%s was the root of %s: run this in a terminal, where c2c asks whether to merge it", other, was)
	}
	fmt.Fprintf(c.stderr, "%s was the root of %s.\nMove all its mail and sessions to this project? Nothing takes them apart again. [y/N] ", other, was)
	if line, _ := bufio.NewReader(c.stdin).ReadString('\n'); strings.ToLower(strings.TrimSpace(line)) != "y" {
		return errors.New("nothing is merged")
	}
	return nil
}

func (c *call) takeRoot(ctx context.Context, root, other string, dry bool) (t moves.TakenRoot, err error) {
	t.From, t.Into = other, root
	if _, err := os.Stat(filepath.Dir(other)); err != nil { // a mistyped path must not make a root
		return t, cli.WithHint(err, seeRoots)
	}
	b, err := broker.Open(broker.Config{Root: root, Log: c.log()})
	if err != nil {
		return t, err
	}
	defer b.Close()
	from, err := broker.Open(broker.Config{Root: other, Log: c.log()})
	if err != nil {
		return t, err
	}
	defer from.Close()
	if err := isUsed(from.Registry); err != nil && !dry {
		return t, err
	}
	return moves.TakeRoot(ctx, b.Registry, from.Registry, dry)
}

// isUsed returns an error if something else than sessions uses a root.
func isUsed(reg *sessions.Registry) error {
	root := reg.Root()
	if reg.Locks.Held(sessions.WakeLock) {
		return fmt.Errorf("the wake daemon of %s runs: C2C_MCP_BROKER_ROOT=%[1]s c2c wake stop ends it", root)
	}
	relayed, err := cache.IsRelayed(reg.Dir())
	if err == nil && relayed { // the relay would refuse mail for sessions that have just moved
		err = fmt.Errorf("the relay carries the mail of %s: end it with c2c relay stop, and start it again afterwards", root)
	}
	if err != nil {
		return err
	}
	names, err := rooms.StoreOf(reg).Names()
	if err == nil && len(names) > 0 { // their members would miss posts
		err = fmt.Errorf("%s has rooms, which this does not move: %s. Archive each: C2C_MCP_BROKER_ROOT=%[1]s c2c rooms archive %[3]s", root, broker.Few(names), names[0])
	}
	return err
}

func (c *call) printTaken(t moves.TakenRoot, dry bool) {
	verb := "moved"
	if dry {
		verb = "would move"
	}
	c.printf("%s from %s\n  to %s:\n", verb, t.From, t.Into)
	for _, s := range t.Sessions {
		var words []string
		if s.Former != "" {
			words = append(words, "was "+s.Former+", a name that another session has there")
		}
		if s.Joined {
			words = append(words, "joins the same session there")
		}
		words = append(words, format.Count(s.Messages, "message waits", "messages wait"))
		c.printf("  %-16s %s\n", cmp.Or(s.Alias, s.ID), strings.Join(words, "; "))
	}
	c.printf("  other files are kept in %s\n", t.Kept)
}
