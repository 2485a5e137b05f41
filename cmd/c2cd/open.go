package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"c2c/cmd/cli"
	"c2c/project"
	"c2c/serve/page"
	"c2c/sessions/callers"
)

func init() { verbs["serve open"] = (*call).openPage }

// openPage makes a link that opens this project's page once, and gives the link to the browser.
func (c *call) openPage(ctx context.Context) error {
	onlyPrint := c.Bool("print")
	if words, err := c.words(); err != nil {
		return err
	} else if len(words) > 0 {
		return fmt.Errorf("%w: open takes no words", errUsage)
	}
	b, err := c.open(c.log)
	if err != nil {
		return err
	}
	root := b.Root()
	err = c.onlyPerson(ctx, b, "opens the page") // this also gives the person a mailbox here
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	d, err := c.openHTTP(false)
	if err != nil {
		return err
	}
	defer d.Close()
	at, err := d.at()
	if err != nil {
		return err
	}
	if at.Port == 0 {
		return cli.WithHint(errors.New("c2c serve does not run, so there is no page"), "c2c serve start")
	}
	dir := c.cwd
	if place, err := project.Find(c.getenv, c.cwd); err == nil {
		dir = cmp.Or(place.Top(), dir)
	}
	code, err := page.NewCode(d.Files, page.Who{Root: root, Dir: dir, UID: os.Getuid(), Login: callers.UserHere(c.getenv, c.stdin).Name()}, time.Now())
	if err != nil {
		return fmt.Errorf("make a link: %w", err)
	}
	link := fmt.Sprintf("http://127.0.0.1:%d/login#%s", at.Port, code)
	if !*onlyPrint {
		err := c.browse(ctx, link)
		if err == nil {
			fmt.Fprintln(c.stdout, "the browser has a link to the page, which works once, within a minute")
			return nil
		}
		fmt.Fprintf(c.stderr, "c2c: no browser was started: %v\n", err)
	}
	_, err = fmt.Fprintf(c.stdout, "%s\nopen this within a minute; it works once\n", link)
	return err
}

// browsers lists the programs that open a link, by operating system.
var browsers = map[string][]string{"darwin": {"open"}, "linux": {"xdg-open", "sensible-browser", "wslview"}}

// browseTime is how long c2c waits for such a program to fail. Most of them run as long as the
// browser.
const browseTime = 3 * time.Second

// browse gives a link to the person's browser. Other users of this machine may see the link among
// the program's arguments, but the page accepts it only from this user.
func (a *app) browse(ctx context.Context, link string) error {
	screen := func(name string) bool { return a.getenv(name) != "" }
	if runtime.GOOS == "linux" && !slices.ContainsFunc([]string{"DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"}, screen) {
		return errors.New("this terminal has no screen for a browser")
	}
	for _, name := range browsers[runtime.GOOS] {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, link)
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case <-time.After(browseTime):
		case <-ctx.Done():
		}
		return nil
	}
	return errors.New("no program that opens links is installed")
}
