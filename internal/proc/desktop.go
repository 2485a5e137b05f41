// This part shows notifications on the user's desktop. For that it runs an installed program,
// notify-send or gdbus, which speaks to the session bus (Desktop Notifications Specification of
// freedesktop.org).

package proc

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

// ErrNone: this process cannot show a notification.
var ErrNoDesktop = errors.New("cannot show a notification of the desktop")

// shownWithin is how long the program that shows a notification may run.
const shownWithin = 5 * time.Second

// Check returns nil if this process can show notifications, and otherwise an error with the reason.
func CheckDesktop(getenv func(string) string) error {
	_, _, err := command(getenv, "")
	return err
}

// command returns the words of a command that shows a text, and the address of the session bus.
func command(getenv func(string) string, text string) (words []string, bus string, err error) {
	bus = getenv("DBUS_SESSION_BUS_ADDRESS")
	if bus == "" { // the process was not started from the desktop
		path := filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus")
		if _, err := os.Stat(path); err != nil {
			return nil, "", fmt.Errorf("%w: there is no session bus", ErrNoDesktop)
		}
		bus = "unix:path=" + path
	}
	if path, err := exec.LookPath("notify-send"); err == nil {
		return []string{path, "--app-name=c2c", "--", "c2c", text}, bus, nil
	}
	path, err := exec.LookPath("gdbus")
	if err != nil {
		return nil, "", fmt.Errorf("%w: neither notify-send nor gdbus is installed", ErrNoDesktop)
	}
	quoted := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
	return []string{path, "call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path", "/org/freedesktop/Notifications",
		"--method", "org.freedesktop.Notifications.Notify", "'c2c'", "uint32 0", "''", "'c2c'", quoted, "@as []", "@a{sv} {}", "int32 -1"}, bus, nil
}

// Show shows a text. The caller must leave words of other sessions out of the text.
func ShowOnDesktop(ctx context.Context, getenv func(string) string, text string) error {
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
