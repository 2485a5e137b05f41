// Package desktop shows notifications through the session's bus (the Desktop Notifications Specification of freedesktop.org), with a
// program that is installed there.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNone: no notification can be shown from here.
var ErrNone = errors.New("no notification of the desktop from here")

// shownWithin bounds the program that shows a notification.
const shownWithin = 5 * time.Second

// Check returns an error that says why no notification can be shown from here.
func Check(getenv func(string) string) error {
	_, _, err := command(getenv, "")
	return err
}

// command returns a program that shows a text, with its arguments, and the address of the bus.
func command(getenv func(string) string, text string) (words []string, bus string, err error) {
	bus = getenv("DBUS_SESSION_BUS_ADDRESS")
	if bus == "" { // of a process that was not started below the desktop
		path := filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus")
		if _, err := os.Stat(path); err != nil {
			return nil, "", fmt.Errorf("%w: there is no session bus", ErrNone)
		}
		bus = "unix:path=" + path
	}
	if path, err := exec.LookPath("notify-send"); err == nil {
		return []string{path, "--app-name=c2c", "--", "c2c", text}, bus, nil
	}
	path, err := exec.LookPath("gdbus")
	if err != nil {
		return nil, "", fmt.Errorf("%w: neither notify-send nor gdbus is installed", ErrNone)
	}
	quoted := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
	return []string{path, "call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path", "/org/freedesktop/Notifications",
		"--method", "org.freedesktop.Notifications.Notify", "'c2c'", "uint32 0", "''", "'c2c'", quoted, "@as []", "@a{sv} {}", "int32 -1"}, bus, nil
}

// Show shows a text. The caller leaves out what others have written.
func Show(ctx context.Context, getenv func(string) string, text string) error {
	words, bus, err := command(getenv, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+bus)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("show a notification with %s: %w: %.200s", filepath.Base(words[0]), err, said)
	}
	return nil
}
