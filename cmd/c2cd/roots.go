package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/format"
	"c2c/merge"
	"c2c/project"
	"c2c/sessions/callers"
)

// migrateRoot merges the other roots of a project into the project's present root.
func (a *call) migrateRoot(ctx context.Context) error {
	dry, asJSON := a.Bool("dry-run"), a.Bool("json")
	words, err := a.words()
	if err != nil {
		return err
	}
	root, others, err := project.Roots(a.getenv, a.cwd)
	if err != nil {
		return err
	}
	if a.getenv("C2C_MCP_BROKER_ROOT") != "" {
		return errors.New("C2C_MCP_BROKER_ROOT names the root: run this command without that variable")
	}
	if !*dry { // nothing takes them apart again
		if err := a.checkPerson("merges roots"); err != nil {
			return err
		}
	}
	known := others
	if len(words) > 0 {
		others = words
	}
	merged := []merge.Merged{}
	for _, other := range others {
		other = a.rootOf(other)
		if merr := a.mayMerge(root, other, *dry || slices.Contains(known, other)); merr != nil {
			err = errors.Join(err, merr)
			continue
		}
		m, merr := a.mergeRoot(ctx, root, other, *dry)
		if err = errors.Join(err, merr); merr == nil || *asJSON {
			merged = append(merged, m)
		}
	}
	if *asJSON {
		return errors.Join(err, cli.JSON(a.stdout, merged))
	}
	for _, m := range merged {
		a.printMerged(m, *dry)
	}
	if len(others) == 0 {
		fmt.Fprintf(a.stdout, "this project has one root: %s\n", root)
	}
	if running := new(merge.LiveError); errors.As(err, &running) {
		return cli.WithHint(err, "end them, and run this again")
	}
	return err
}

// rootOf returns the path of the root that a word names.
func (a *call) rootOf(word string) string {
	if filepath.Base(word) != "broker" { // the word names the directory above the root
		word = filepath.Join(word, "broker")
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(a.cwd, word)
	}
	return word
}

// mayMerge returns an error if another project has the root other. A merge cannot be undone, so for a root that is not known to be one of
// this project, it asks the person.
func (a *call) mayMerge(root, other string, known bool) error {
	if strangers := project.Strangers(a.getenv, a.cwd, other); len(strangers) > 0 {
		return fmt.Errorf("%s is the root of another project, %s: nothing is merged", other, strangers[0])
	}
	if known {
		return nil
	}
	if _, err := os.Stat(other); err != nil {
		return nil // mergeRoot reports this error
	}
	was := "a project that c2c does not know"
	if folders := project.FoldersOf(other); len(folders) > 0 {
		was = folders[0].String()
	}
	if !callers.UserHere(a.getenv, a.stdin).IsTyping() {
		return fmt.Errorf("%s was the root of %s: run this in a terminal, where c2c asks whether to merge it", other, was)
	}
	fmt.Fprintf(a.stderr, "%s was the root of %s.\nMove all its mail and sessions to this project? Nothing takes them apart again. [y/N] ", other, was)
	if line, _ := bufio.NewReader(a.stdin).ReadString('\n'); strings.ToLower(strings.TrimSpace(line)) != "y" {
		return errors.New("nothing is merged")
	}
	return nil
}

func (a *call) mergeRoot(ctx context.Context, root, other string, dry bool) (merge.Merged, error) {
	if _, err := os.Stat(other); err != nil { // a mistyped path must not make a root
		return merge.Merged{From: other, Into: root}, cli.WithHint(err, "c2c doctor shows the other roots of a project")
	}
	b, err := broker.Open(broker.Config{Root: root, Log: a.log})
	if err != nil {
		return merge.Merged{From: other, Into: root}, err
	}
	defer b.Close()
	return merge.MergeRoot(ctx, b.Registry, other, dry)
}

func (a *call) printMerged(m merge.Merged, dry bool) {
	verb := "moved"
	if dry {
		verb = "would move"
	}
	fmt.Fprintf(a.stdout, "%s from %s\n  to %s:\n", verb, m.From, m.Into)
	for _, s := range m.Sessions {
		var words []string
		if s.Former != "" {
			words = append(words, "was "+s.Former+", a name that another session has there")
		}
		if s.Joined {
			words = append(words, "joins the same session there")
		}
		name := s.Alias
		if name == "" {
			name = s.ID
		}
		words = append(words, format.Count(s.Messages, "message waits", "messages wait"))
		fmt.Fprintf(a.stdout, "  %-16s %s\n", name, strings.Join(words, "; "))
	}
	if m.DeadLetters > 0 {
		fmt.Fprintf(a.stdout, "  %s\n", format.Count(m.DeadLetters, "dead letter", "dead letters"))
	}
	for _, name := range m.Files {
		fmt.Fprintf(a.stdout, "  kept as %s\n", name)
	}
}
