package proc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installed has only this program, which writes its arguments and its bus into a file.
func installed(t *testing.T, names ...string) (said func() string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		script := "#!/bin/sh\nprintf '%s\\n' \"$@\" \"$DBUS_SESSION_BUS_ADDRESS\" > '" + dir + "/said'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return func() string {
		data, err := os.ReadFile(filepath.Join(dir, "said"))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
}

func bus(name string) string {
	if name == "DBUS_SESSION_BUS_ADDRESS" {
		return "unix:path=/bus"
	}
	return ""
}

func TestANotificationGoesThroughTheProgramThatIsThere(t *testing.T) {
	for name, want := range map[string]string{
		"notify-send": "--app-name=c2c\n--\nc2c\nbirch's turn is over\nunix:path=/bus\n",
		"gdbus":       "org.freedesktop.Notifications.Notify\n'c2c'\nuint32 0\n''\n'c2c'\n'birch\\'s turn is over'\n@as []\n@a{sv} {}\nint32 -1\nunix:path=/bus\n",
	} {
		said := installed(t, name)
		if err := CheckDesktop(bus); err != nil {
			t.Error(err)
		}
		if err := ShowOnDesktop(t.Context(), bus, "birch's turn is over"); err != nil || !strings.HasSuffix(said(), want) {
			t.Errorf("%s: %q, %v", name, said(), err)
		}
	}
}

func TestWithoutAProgramItSaysWhatIsMissing(t *testing.T) {
	installed(t)
	if err := ShowOnDesktop(t.Context(), bus, "x"); !errors.Is(err, ErrNoDesktop) || !strings.Contains(err.Error(), "notify-send") {
		t.Error(err)
	}
}
